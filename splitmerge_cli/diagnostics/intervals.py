"""Intervals of level 0.95 over what is independent: data sets, restarts, splits; never over chains that share them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

LEVEL = 0.95
Summary = Callable[[ArrayLike], tuple[float, float, float]]
"""Centre, low and high end of independent samples."""
TAIL = (1 - LEVEL) / 2
MOST_UNITS = 1_000
"""Units beyond which no number of units is proposed."""


def by_unit(samples: ArrayLike, units: ArrayLike | None) -> NDArray[np.float64]:
    """Mean of the finite samples of each unit, in the order of the units.

    Parameters
    ----------
    samples : array_like of float, ``[n]``
    units : array_like, ``[n]``, optional
        What each sample belongs to: chains of one data set, or with a common past, are one unit. None: each is a unit.

    Returns
    -------
    ndarray of float64, ``[units]``
        Units without a finite sample are left out.
    """
    x = np.asarray(samples, dtype=float).ravel()
    if units is None:
        return x[np.isfinite(x)]
    where = np.asarray(units).ravel()
    means = [x[(where == unit) & np.isfinite(x)] for unit in np.unique(where)]
    return np.array([of.mean() for of in means if len(of)])


def mean_interval(samples: ArrayLike) -> tuple[float, float, float]:
    """Mean and t interval of independent samples.

    One sample, or a sample with no finite value, has no interval (NaN).
    """
    x = np.asarray(samples, dtype=float)
    x = x[np.isfinite(x)]
    if not len(x):
        return np.nan, np.nan, np.nan
    half = stats.t.ppf(1 - TAIL, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x)) if len(x) > 1 else np.nan
    return float(x.mean()), float(x.mean() - half), float(x.mean() + half)


def overlapping_interval(share: float) -> Summary:
    """Build the mean and t interval for scores on random splits of one set, whose parts overlap.

    Parameters
    ----------
    share : float
        Share of the set that is held out.

    References
    ----------
    Nadeau & Bengio (2003), "Inference for the generalization error", Machine Learning 52: the variance of the mean of
    n splits is that of one times 1/n + share / (1 - share).
    """

    def summary(samples: ArrayLike) -> tuple[float, float, float]:
        mean, low, high = mean_interval(samples)
        n = int(np.isfinite(np.asarray(samples, dtype=float)).sum())
        wider = np.sqrt(1 + n * share / (1 - share))
        return mean, mean - wider * (mean - low), mean + wider * (high - mean)

    return summary


def geometric_interval(samples: ArrayLike) -> tuple[float, float, float]:
    """Geometric mean of positive samples and its interval."""
    x = np.asarray(samples, dtype=float)
    mean, low, high = np.exp(mean_interval(np.log(x[np.isfinite(x)])))
    return float(mean), float(low), float(high)


def median_interval(samples: ArrayLike) -> tuple[float, float, float]:
    """Median and its distribution-free interval, between two order statistics (NaN for fewer than 6 samples)."""
    x = np.asarray(samples, dtype=float)
    x = np.sort(x[np.isfinite(x)])
    if not len(x):
        return np.nan, np.nan, np.nan
    rank = int(stats.binom.ppf(TAIL, len(x), 0.5)) - 1
    low, high = (x[rank], x[-1 - rank]) if rank >= 0 else (np.nan, np.nan)
    return float(np.median(x)), float(low), float(high)


def jackknife_interval(statistic: Callable[[NDArray[np.int64]], float], units: int) -> tuple[float, float, float]:
    """A statistic of all units and its interval by leaving out one unit at a time.

    Resampling with replacement would pair restarts with themselves, which an R-hat between restarts cannot bear.

    Parameters
    ----------
    statistic : callable
        Takes the numbers of the units that are kept, int64 ``[m]``.
    units : int
        Number of units; 3 at least, else the interval is NaN.

    Returns
    -------
    tuple of float
        Value of all units, and the t interval of Tukey's pseudo-values around it.
    """
    every = np.arange(units)
    whole = statistic(every)
    if units < 3 or not np.isfinite(whole):
        return whole, np.nan, np.nan
    without = np.array([statistic(np.delete(every, k)) for k in every])
    if not np.isfinite(without).all():
        return whole, np.nan, np.nan
    pseudo = units * whole - (units - 1) * without
    half = stats.t.ppf(1 - TAIL, units - 1) * pseudo.std(ddof=1) / np.sqrt(units)
    return whole, float(whole - half), float(whole + half)


def share_interval(successes: int, n: int) -> tuple[float, float]:
    """Jeffreys interval of a share, closed at 0 and 1 when none or all succeed."""
    low = stats.beta.ppf(TAIL, successes + 0.5, n - successes + 0.5) if successes else 0.0
    high = stats.beta.ppf(1 - TAIL, successes + 0.5, n - successes + 0.5) if successes < n else 1.0
    return float(low), float(high)


def units_for_mean(interval: tuple[float, float, float], units: int, least: float, most: float) -> int | None:
    """Units that an interval with this spread needs to lie within the range or outside.

    Parameters
    ----------
    interval : tuple of float
        Centre, low and high end.
    units : int
        Behind it.
    least, most : float
        The range; infinite ends have no bound.

    Returns
    -------
    int or None
        None where the interval is not known, or its centre is on an end of the range.
    """
    centre, low, high = interval
    half = max(centre - low, high - centre)
    gap = min(abs(centre - end) for end in (least, most) if np.isfinite(end))
    if not np.isfinite(half) or gap <= 0:
        return None
    return max(units + 1, int(np.ceil(units * (half / gap) ** 2)))


def units_for_share(successes: int, n: int) -> int | None:
    """Units that a share needs whose interval is to exclude one half; None for a share of one half or of nothing."""
    if n == 0 or 2 * successes == n:
        return None
    share = successes / n
    for m in range(n + 1, MOST_UNITS + 1):
        low, high = share_interval(round(share * m), m)
        if low > 0.5 or high < 0.5:
            return m
    return MOST_UNITS + 1
