"""Intervals of level 0.95 over what is independent: data sets, restarts, splits; never over chains that share them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # scipy.stats takes a second to import

LEVEL = 0.95
Summary = Callable[[ArrayLike], tuple[float, float, float]]
"""Centre, low and high end of independent samples."""
TAIL = (1 - LEVEL) / 2
MOST_UNITS = 1_000
"""Units beyond which no number of units is proposed."""


def split_units(samples: ArrayLike, units: ArrayLike | None) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Mean of the finite samples of each unit, and what the unit is called: names and float64 means, ``[units]``, in
    their order, without units that have no finite sample.

    `units` says what each sample belongs to: chains of one data set, or with a common past, are one unit. None: each is
    a unit, and they are numbered from 1.
    """
    x = np.asarray(samples, dtype=float).ravel()
    where = np.arange(1, len(x) + 1) if units is None else np.asarray(units).ravel()
    names = np.unique(where[np.isfinite(x)])
    return names, np.array([x[(where == name) & np.isfinite(x)].mean() for name in names])


def by_unit(samples: ArrayLike, units: ArrayLike | None) -> NDArray[np.float64]:
    """Mean of the finite samples of each unit; see `split_units`."""
    return split_units(samples, units)[1]


@dataclass(frozen=True)
class TInterval:
    """Centre of independent samples and its t interval, on a scale; called with the samples.

    One sample, or a sample with no finite value, has no interval (NaN).
    """

    name: str
    """As tables of units name it."""
    to_scale: Callable[[ArrayLike], Any] = np.asarray
    from_scale: Callable[[ArrayLike], Any] = np.asarray
    """The scale on which samples are averaged, and the way back; increasing functions."""
    floor: float = 0.0
    """The part of one sample's variance that the mean keeps however many samples there are."""

    def __call__(self, samples: ArrayLike) -> tuple[float, float, float]:
        """Centre, low and high end."""
        x = np.asarray(samples, dtype=float)
        y = self.to_scale(x[np.isfinite(x)])
        if not len(y):
            return np.nan, np.nan, np.nan
        n, half = len(y), np.nan
        if n > 1:
            half = special.stdtrit(n - 1, 1 - TAIL) * y.std(ddof=1) / np.sqrt(n) * np.sqrt(1 + n * self.floor)
        centre, low, high = self.from_scale(np.array([y.mean(), y.mean() - half, y.mean() + half]))
        return float(centre), float(low), float(high)

    def units_needed(self, interval: tuple[float, float, float], n: int, least: float, most: float) -> float | None:
        """Units with which an interval of the spread and centre that `n` units gave lies within a range or outside;
        infinite ends have no bound.

        It is the smallest number m above `n` for which t(m - 1) s sqrt(1 / m + floor) is at most the distance of the
        centre from the nearer end, on the scale; ``MOST_UNITS + 1`` stands for more than `MOST_UNITS`. Infinite where
        no number is enough; None where the interval is not known, or its centre is on an end.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            centre, low, high, *ends = (float(self.to_scale(value)) for value in (*interval, least, most))
        gap = min((abs(centre - end) for end in ends if np.isfinite(end)), default=np.nan)
        if not np.isfinite([low, high, gap]).all() or gap <= 0:
            return None
        spread = (high - low) / 2 / (special.stdtrit(n - 1, 1 - TAIL) * np.sqrt(1 / n + self.floor))
        if special.ndtri(1 - TAIL) * spread * np.sqrt(self.floor) >= gap:
            return np.inf
        m = np.arange(n + 1, MOST_UNITS + 1)
        enough = special.stdtrit(m - 1, 1 - TAIL) * spread * np.sqrt(1 / m + self.floor) <= gap
        return int(m[enough.argmax()]) if enough.any() else MOST_UNITS + 1


mean_interval = TInterval("mean")
"""Mean and t interval."""
geometric_interval = TInterval("geometric", np.log, np.exp)
"""Geometric mean of positive samples."""
excess_interval = TInterval("log(x - 1)", lambda x: np.log(np.asarray(x, dtype=float) - 1), lambda y: 1 + np.exp(y))
"""The scale of an R-hat: of what it has above 1."""


def overlapping_interval(share: float) -> TInterval:
    """Build the mean and t interval for scores on random splits of one set that hold out such a share: their parts
    overlap.

    Source: Nadeau and Bengio 2003, "Inference for the generalization error", Machine Learning 52: the variance of the
    mean of n splits is that of one times 1/n + share / (1 - share).
    """
    return TInterval(f"overlapping {share:g}", floor=share / (1 - share))


@dataclass(frozen=True)
class MedianInterval:
    """Median of samples and its distribution-free interval, between two order statistics; called with the samples.

    Fewer than 6 samples have no interval (NaN).
    """

    name: str = "median"
    """As tables of units name it."""

    def __call__(self, samples: ArrayLike) -> tuple[float, float, float]:
        """Centre, low and high end."""
        x = np.asarray(samples, dtype=float)
        x = np.sort(x[np.isfinite(x)])
        if not len(x):
            return np.nan, np.nan, np.nan
        rank = int(np.searchsorted(special.bdtr(np.arange(len(x) + 1), len(x), 0.5), TAIL)) - 1
        low, high = (x[rank], x[-1 - rank]) if rank >= 0 else (np.nan, np.nan)
        return float(np.median(x)), float(low), float(high)

    def units_needed(self, interval: tuple[float, float, float], n: int, least: float, most: float) -> float | None:
        """Units that would do, see `TInterval.units_needed`: the side towards the nearer end shrinks as 1 / sqrt(n)."""
        centre, low, high = interval
        if centre < least:
            sides = [(high - centre, least - centre)]
        elif centre > most:
            sides = [(centre - low, centre - most)]
        else:
            sides = [(centre - low, centre - least), (high - centre, most - centre)]
        ratios = [half / gap for half, gap in sides if gap > 0]
        if len(ratios) < len(sides) or not np.isfinite(ratios).all():
            return None
        return int(np.clip(np.ceil(n * max(ratios) ** 2), n + 1, MOST_UNITS + 1))


median_interval = MedianInterval()
"""Median and its distribution-free interval."""
Interval = TInterval | MedianInterval
"""Ways to an interval that can be told again from a table of units."""


def leave_one_out(statistic: Callable[[NDArray[np.int64]], float], units: int) -> tuple[float, NDArray[np.float64]]:
    """A statistic of all units, and of all but each, float64 ``[units]``; it takes the numbers of the units that are
    kept, int64 ``[m]``."""
    every = np.arange(units)
    without = [statistic(np.delete(every, k)) for k in every] if units > 1 else []
    return statistic(every), np.array(without, dtype=float)


def jackknife_interval(
    whole: float, without: NDArray[np.float64], of: TInterval = mean_interval
) -> tuple[float, float, float]:
    """A statistic of all units and its interval by leaving out one unit at a time: the t interval of Tukey's
    pseudo-values around it, on the scale of an interval; NaN for fewer than 3 units. `whole` and `without` are as in
    `leave_one_out`.

    Resampling with replacement would pair restarts with themselves, which an R-hat between restarts cannot bear.
    """
    n = len(without)
    if n < 3 or not np.isfinite([whole, *without]).all():
        return float(whole), np.nan, np.nan
    pseudo = n * of.to_scale(whole) - (n - 1) * of.to_scale(without)
    half = special.stdtrit(n - 1, 1 - TAIL) * pseudo.std(ddof=1) / np.sqrt(n)
    low, high = of.from_scale(of.to_scale(whole) + half * np.array([-1.0, 1.0]))
    return float(whole), float(low), float(high)


def share_interval(successes: float, n: int) -> tuple[float, float]:
    """Jeffreys interval of a share, closed at 0 and 1 when none or all succeed; a tie is half a success."""
    low = special.betaincinv(successes + 0.5, n - successes + 0.5, TAIL) if successes else 0.0
    high = special.betaincinv(successes + 0.5, n - successes + 0.5, 1 - TAIL) if successes < n else 1.0
    return float(low), float(high)


def units_for_share(successes: float, n: int, least: int = 1) -> float | None:
    """Units that a share needs whose interval is to exclude one half, at `least` so many; None for a share of one half
    or of nothing."""
    if n == 0 or 2 * successes == n:
        return None
    share = successes / n
    for m in range(max(n + 1, least), MOST_UNITS + 1):
        low, high = share_interval(round(share * m), m)
        if low > 0.5 or high < 0.5:
            return m
    return MOST_UNITS + 1
