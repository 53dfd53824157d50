"""Intervals of level 0.95 over what is independent: data sets, restarts, splits, pairs of coupled chains; never over
chains that share them.

Certificates from coupled chains are bounds of the distance to the posterior, and unbiased estimates. Two chains of lag
L, X ahead of Y, meet at time tau: X_t = Y_{t-L} from t = tau on. Both start from one distribution.

Sources: Biswas, Jacob and Vanetti 2019, theorem 2.5 (the bounds, of the total variation and the Wasserstein distance);
Jacob, O'Leary and Atchade 2020, section 2 (the estimates), with the lags of its discussion by Vanetti and Doucet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.special import betaincinv, stdtrit

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
    mean of n splits is the variance of one times 1/n + share / (1 - share).
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


FEW = 5
"""Pairs still apart at t that are enough to estimate the mean of their terms."""
DENSE = 256
"""First iterations that have a sum of distances each; then half as many sums to each doubling (`TIMES`)."""
_octave, _step = np.divmod(np.arange(DENSE // 2 * 40), DENSE // 2)
TIMES: NDArray[np.int64] = np.r_[np.arange(DENSE), (DENSE + 2 * _step) << _octave]
"""Iterations t that have a sum of distances: 0 to 255, 256, 258, ..., 510, 512, 516, ..."""


def lag_terms(tau: ArrayLike, lag: int, t: ArrayLike) -> NDArray[np.float64]:
    """max(0, ceil((tau - lag - t) / lag)), shape (times, pairs), whose expectation bounds the total variation distance:
    `tau` ``[pairs]`` are meeting times, at least `lag`, and `t` ``[times]`` iterations of a chain."""
    over = np.asarray(tau)[None, :] - lag - np.asarray(t)[:, None]
    return np.maximum(0, -(-over // lag)).astype(np.float64)


def distance_terms(distances: NDArray[np.floating], lag: int) -> NDArray[np.float64]:
    """sum over j >= 1 of d(X_{t + j lag}, Y_{t + (j - 1) lag}), whose expectation bounds the Wasserstein distance.

    `distances` lie between X after s and Y after s - `lag`, s = lag, lag + 1, ..., until the chains have met. Returns
    the sums for t = 0, 1, ..., 255; then for the iterations from each of `TIMES` to the next the largest, so that a
    mean over pairs bounds the Wasserstein distance after each of them. What follows the last is 0.

    Examples
    --------
    >>> distance_terms(np.array([0.5, 0.25, 0.25]), lag=2).tolist()
    [0.75, 0.25, 0.25]
    """
    n = len(distances)
    # entry t is the distance at s = t + lag: the sum takes every lag-th from there on
    by_lag = np.zeros((-(-n // lag), lag))
    by_lag.ravel()[:n] = distances
    terms = by_lag[::-1].cumsum(axis=0)[::-1].ravel()[:n]
    return np.maximum.reduceat(terms, TIMES[: np.searchsorted(TIMES, n)]) if n else terms


@dataclass(frozen=True, eq=False)
class Bound:
    """An estimated upper bound of a distance to the posterior after t iterations: total variation, or Wasserstein."""

    t: NDArray[np.int64]
    """Shape (times,)."""
    estimate: NDArray[np.float64]
    """Shape (times,): mean over pairs, at most 1."""
    standard_error: NDArray[np.float64]
    """Shape (times,): of the mean over pairs, before it is cut at 1; nan of one pair."""
    upper: NDArray[np.float64]
    """Shape (times,): one-sided confidence limit of the expectation that the bound is, at most 1."""

    def first_below(self, distance: float) -> int | None:
        """The first t from which on the confidence limit is at most `distance`; None: not in `t`."""
        above = np.flatnonzero(self.upper > distance)
        if above.size == 0:
            return int(self.t[0])
        return int(self.t[above[-1] + 1]) if above[-1] + 1 < len(self.t) else None

    def reaches(self, distances: Sequence[float]) -> str:
        """In words, from which iteration on the limit is at most each of these; empty: at none."""
        first_by_distance = {distance: self.first_below(distance) for distance in distances}
        return ", ".join(
            f"{distance:g} from iteration {t} on" for distance, t in first_by_distance.items() if t is not None
        )


def bound(tau: ArrayLike, lag: int, t: ArrayLike, level: float = LEVEL) -> Bound:
    """The bound of the total variation distance at iterations t, from the meeting times of all pairs that were made:
    the rest makes it too small. `level` is the level of the confidence limit.

    The expectation is P(b > 0) E(b | b > 0) for the terms b. The limit is Clopper and Pearson's for P(b > 0),
    times the mean of the positive terms plus its standard error; or Student's t limit for the mean of all, if larger.
    If fewer than `FEW` terms are positive, their mean is taken from the last t at which so many are, as if the tail of
    the meeting times were geometric. So the limit never falls below 1 - (1 - level)^(1/pairs), some 3/pairs. Simulated
    coverage of 0.95 limits: 0.92 to 0.98.

    Examples
    --------
    >>> found = bound([12, 15, 11, 40], lag=10, t=[0, 10, 30])
    >>> found.estimate.tolist()
    [1.0, 0.5, 0.0]
    """
    terms, pairs = lag_terms(tau, lag, t), len(np.asarray(tau))
    last = max(0, int(np.sort(tau)[-min(FEW, pairs)]) - lag - 1)
    size, error = _positive_mean(lag_terms(tau, lag, np.minimum(t, last)))
    return _limit(np.asarray(t), terms, np.maximum(size, 1.0), error, level)


def wasserstein_bound(terms: Sequence[NDArray[np.floating]], level: float = LEVEL) -> Bound:
    """Bound the Wasserstein distance, at `TIMES` and from each of them to the next, by the `distance_terms` of all
    pairs that were made, of a metric that is at most 1.

    Of a metric d of states that is at most 1, W(p, q) is the least E d(X, Y) of X from p and Y from q. With pi_t the
    distribution of X_t,

        W(pi_t, pi) <= sum over j >= 1 of W(pi_{t + j lag}, pi_{t + (j - 1) lag})
                    <= E sum over j >= 1 of d(X_{t + j lag}, Y_{t + (j - 1) lag})

    where the chain converges in total variation, since W(pi_t, pi) <= TV(pi_t, pi). The sum is at most the sum of
    `lag_terms`, 1 for each j at which the chains have not met. The limit is made as in `bound`; if fewer than
    `FEW` pairs ever have a sum above 0, such a sum counts as 1 at least. Simulated coverage of 0.95 limits, for sums
    that differ much from pair to pair: 0.91 to 1.

    Examples
    --------
    >>> found = wasserstein_bound([distance_terms(np.array(d), 2) for d in ([0.5, 0.25, 0.25], [0.125])])
    >>> found.estimate.tolist()
    [0.4375, 0.125, 0.125, 0.0]
    """
    longest = max(len(each) for each in terms) + 1
    table = np.array([np.pad(each.astype(np.float64), (0, longest - len(each))) for each in terms]).T
    enough = np.flatnonzero((table > 0).sum(axis=1) >= min(FEW, len(terms)))
    last = enough[-1] if enough.size else 0
    size, error = _positive_mean(table[np.minimum(np.arange(longest), last)])
    return _limit(TIMES[:longest], table, size if enough.size else np.maximum(size, 1.0), error, level)


def _limit(
    t: NDArray[np.int64],
    terms: NDArray[np.float64],
    size: NDArray[np.float64],
    error: NDArray[np.float64],
    level: float,
) -> Bound:
    """The bound from terms of shape (times, pairs); `size`: what a positive term is on the average, and its error."""
    pairs = terms.shape[1]
    mean, positive = terms.mean(axis=1), (terms > 0).sum(axis=1)
    share = np.where(positive < pairs, betaincinv(positive + 1, np.maximum(pairs - positive, 1), level), 1.0)
    upper, standard_error = share * (size + error), np.full(len(terms), np.nan)
    if pairs > 1:
        standard_error = terms.std(axis=1, ddof=1) / np.sqrt(pairs)
        upper = np.maximum(upper, mean + stdtrit(pairs - 1, level) * standard_error)
    return Bound(t, np.minimum(mean, 1.0), standard_error, np.minimum(upper, 1.0))


def _positive_mean(terms: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard error of the positive terms of each row; 0 without any."""
    n = np.maximum((terms > 0).sum(axis=1), 1)
    mean = terms.sum(axis=1) / n
    spread = np.maximum((terms**2).sum(axis=1) - n * mean**2, 0.0)
    return mean, np.sqrt(spread / np.maximum(n - 1, 1) / n)


def unbiased_estimate(
    x: NDArray[np.float64], y: NDArray[np.float64], tau: int, lag: int, k: int, m: int
) -> NDArray[np.float64]:
    """Estimate the posterior mean of a function without bias, from one pair of chains: the mean of H_k, ..., H_m. `x`:
    values of the function along X: iterations 0 to at least max(m, tau - 1); `y`: along Y: iterations 0 to at least tau
    - lag - 1.

    H_k = h(X_k) + sum over j >= 1 with k + j lag < tau of h(X_{k + j lag}) - h(Y_{k + (j - 1) lag}). An iteration s > k
    of X stands in as many of H_k, ..., H_m as there are l in k..m below s with s - l a multiple of the lag.
    """
    if not 0 <= k <= m:
        raise ValueError(f"k={k}, m={m}: expected 0 <= k <= m")
    total = x[k : m + 1].sum(axis=0)
    s = np.arange(k + lag, tau)
    if s.size:
        # numbers of j >= 1 with k <= s - j lag <= m
        weight = (s - k) // lag - np.maximum(0, -(-(s - m) // lag) - 1)
        shape = (-1,) + (1,) * (x.ndim - 1)
        total = total + (weight.reshape(shape) * (x[s] - y[s - lag])).sum(axis=0)
    return np.asarray(total / (m - k + 1))


class DensitySum:
    """A weighted sum of densities of n items, value exp(log): their logarithms may be beyond the range of a double."""

    def __init__(self, n: int) -> None:
        self.log, self.value = np.full(n, -np.inf), np.zeros(n)

    def add(self, weight: float, log_density: NDArray[np.float64]) -> None:
        """Add densities, times a weight, which may be negative."""
        top = np.maximum(np.maximum(self.log, log_density), -1e300)
        self.value = self.value * np.exp(self.log - top) + weight * np.exp(log_density - top)
        self.log = top


def log_of_mean(
    log: NDArray[np.float64], value: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logarithm of the mean over pairs of value exp(log), and its standard error, shape (n,), from arrays (pairs, n).

    nan if the mean is not positive. The error is the error of the mean over the mean (the delta method).
    """
    top = log.max(axis=0)
    terms = value * np.exp(log - top)
    mean = terms.mean(axis=0)
    positive = mean > 0
    safe = np.where(positive, mean, 1.0)
    error = terms.std(axis=0, ddof=1) / np.sqrt(len(log)) / safe
    return np.where(positive, top + np.log(safe), np.nan), np.where(positive, error, np.nan)


def log_of_mean_of_items(log: NDArray[np.float64], value: NDArray[np.float64]) -> tuple[float, float]:
    """Mean over the items of `log_of_mean`, and its standard error by the jackknife over pairs."""
    n = len(log)
    top = log.max(axis=0)
    terms = value * np.exp(log - top)
    without = (terms.sum(axis=0) - terms) / (n - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        left_out = np.log(without).mean(axis=1)
        mean = float(np.mean(top + np.log(terms.mean(axis=0))))
    spread = np.sum((left_out - left_out.mean()) ** 2)
    return mean, float(np.sqrt((n - 1) / n * spread))
