"""How well chains mix: R-hat, effective sample size, autocorrelation time.

As Vehtari et al. 2021 define them. arviz-stats has the same numbers, to which the tests hold these: its import would
lengthen a short run. A series that never changes, or a single chain, has no such value: NaN is returned for it
instead of a number that looks like good news.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.quantiles import normal_quantile

MIN_DRAWS = 4
TOO_FEW = f"fewer than {MIN_DRAWS} draws a chain"
CONSTANT = "constant within every chain"
ONE = "one chain: R-hat compares chains"
THE_SAME = "constant: the same value in every draw of every chain"
STUCK = "constant within every chain, and the chains differ: they have not mixed at all"
HALVES_DIFFER = "infinite: constant within every half chain, and the halves differ"
DISTANCES_DIFFER = "infinite: every half chain keeps its distance from the median, and the halves differ"
INFINITE = (STUCK, HALVES_DIFFER, DISTANCES_DIFFER)
"""Why R-hat is undefined where it would be infinite: the chains have not converged."""
_LARGE = 1e100
"""Magnitude from which on a series is divided by its largest: no measure here depends on the scale, squares do."""


def _chains(draws: ArrayLike) -> NDArray[np.float64]:
    x = np.atleast_2d(np.asarray(draws, dtype=np.float64))
    if x.ndim != 2:
        raise ValueError(f"draws: array of {x.ndim} dimensions; expected [chains, draws]")
    return x


def _scale(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale a series down whose squares would be infinite."""
    largest = np.abs(x).max(initial=0.0)
    return x / largest if largest > _LARGE else x


def why_no_rhat(draws: ArrayLike, split: bool = True) -> str | None:
    """Reason why R-hat of these draws ``[chains, draws]`` (of half chains if `split`) is undefined; None if defined."""
    x = _chains(draws)
    if x.shape[0] < 2:
        return ONE
    if x.shape[1] < MIN_DRAWS:
        return TOO_FEW
    if np.all(x == x[0, 0]):
        return THE_SAME
    if np.all(x == x[:, :1]):
        return STUCK
    half = x.shape[1] // 2
    if split and np.all(x[:, :half] == x[:, :1]) and np.all(x[:, -half:] == x[:, -1:]):
        return HALVES_DIFFER
    if split and _folds_are_constant(x):
        return DISTANCES_DIFFER
    return None


def _folds_are_constant(x: NDArray[np.float64]) -> bool:
    """Whether the distances from the median differ between half chains and within none."""
    half = x.shape[1] // 2
    halves = np.vstack([x[:, :half], x[:, -half:]])
    folded = np.abs(halves - np.median(halves))
    return bool(np.all(folded == folded[:, :1]) and np.any(folded != folded[0, 0]))


def why_no_ess(draws: ArrayLike) -> str | None:
    """Why the effective sample size of these draws ``[chains, draws]`` is undefined; None if it is defined."""
    x = _chains(draws)
    if x.shape[1] < MIN_DRAWS:
        return TOO_FEW
    return CONSTANT if np.all(x == x[:, :1]) else None


def rhat(draws: ArrayLike) -> float:
    """Rank-normalised split R-hat.

    Source: Vehtari et al. 2021. `draws` is ``[chains, draws]``; NaN where undefined (see `why_no_rhat`).
    """
    x = _chains(draws)
    if why_no_rhat(x):
        return np.nan
    halves = _halves(_scale(x))
    bulk = _rhat(_normal_scores(halves))
    folded = np.abs(halves - np.median(halves))
    # two values that are as far from their median leave the folded part without a value; the other one is taken
    return bulk if np.all(folded == folded[0, 0]) else max(bulk, _rhat(_normal_scores(folded)))


def rhat_classic(draws: ArrayLike) -> float:
    """Gelman-Rubin R-hat, sqrt(((n - 1)/n W + B/n) / W), of ``[chains, draws]``; NaN where undefined."""
    x = _chains(draws)
    return np.nan if why_no_rhat(x, split=False) else _rhat(_scale(x))


def _rhat(x: NDArray[np.float64]) -> float:
    """sqrt(((n - 1) W + B) / (n W)), B being n times the variance of the means (equations 1 to 4)."""
    n = x.shape[1]
    within = np.mean(np.var(x, axis=1, ddof=1))
    between = n * np.var(np.mean(x, axis=1), ddof=1)
    return float(np.sqrt((between / within + n - 1) / n))


def _halves(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half chains; of an odd number of draws the one in the middle is left out."""
    half = x.shape[1] // 2
    return np.vstack([x[:, :half], x[:, -half:]])


def _normal_scores(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normal quantiles of the ranks over all chains, ties having their mean rank (equation 14)."""
    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    ranks = np.cumsum(count) - (count - 1) / 2
    return normal_quantile((ranks - 3 / 8) / (x.size + 1 / 4))[place].reshape(x.shape)


def ess(draws: ArrayLike) -> float:
    """Bulk effective sample size of ``[chains, draws]`` (or of one chain ``[draws]``); NaN where undefined."""
    x = _chains(draws)
    return np.nan if why_no_ess(x) else _ess(_normal_scores(_halves(_scale(x))))


def ess_of_mean(draws: ArrayLike) -> float:
    """Effective sample size for the mean of ``[chains, draws]``, without ranks; all draws where none differs."""
    return _ess(_halves(_scale(_chains(draws))))


def ess_tail(draws: ArrayLike) -> float:
    """Effective sample size of the 0.05 and 0.95 quantiles, the smaller one; NaN where undefined."""
    x = _chains(draws)
    if why_no_ess(x):
        return np.nan
    x = _scale(x)
    return min(_ess(_halves((x <= np.quantile(x, p)).astype(np.float64))) for p in (0.05, 0.95))


def _ess(x: NDArray[np.float64]) -> float:
    """Draws over the integrated autocorrelation time, the sum of which ends with Geyer's initial monotone sequence
    (equations 10 to 13)."""
    chains, n = x.shape
    if np.ptp(x) < np.finfo(np.float64).resolution:
        return float(x.size)
    covariance = _autocovariance(x)
    within = np.mean(covariance[:, 0]) * n / (n - 1)
    total = within * (n - 1) / n + (np.var(np.mean(x, axis=1), ddof=1) if chains > 1 else 0.0)
    rho = 1 - (within - np.mean(covariance, axis=0)) / total
    rho[0] = 1.0
    # sums at lags 2 k and 2 k + 1, up to the first that is not positive: of it, or of the last that there may be, the
    # even lag alone counts, once
    last_lag = max(0, (n - 3) // 2)
    pairs = rho[: 2 * last_lag + 2].reshape(-1, 2).sum(axis=1)
    last = int(np.argmax(pairs <= 0)) if np.any(pairs <= 0) else last_lag
    even = rho[2 * last] if rho[2 * last] > 0 or pairs[last] >= 0 else 0.0
    time = 2 * np.minimum.accumulate(pairs[:last]).sum() + even - 1
    return float(x.size / max(time, 1 / np.log10(x.size)))


def _autocovariance(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Autocovariance of each chain ``[..., draws]`` at all lags, divided by the number of draws."""
    n = x.shape[-1]
    padded = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(x - x.mean(axis=-1, keepdims=True), padded)
    return np.fft.irfft(np.abs(spectrum) ** 2, padded)[..., :n] / n


def autocorrelation_times(series: ArrayLike) -> NDArray[np.float64]:
    """Integrated autocorrelation times 1 + 2 sum r(lag), in draws, of series ``[..., draws]``: float64 ``[...]``, NaN
    for a constant series or fewer than 4 draws.

    The sum ends with Geyer's initial positive sequence: at the first pair r(2m) + r(2m + 1) that is not positive.
    """
    x = np.asarray(series, dtype=np.float64)
    times = np.full(x.shape[:-1], np.nan)
    changes = (x != x[..., :1]).any(axis=-1)
    if x.shape[-1] < MIN_DRAWS or not changes.any():
        return times
    r = _autocovariance(_scale(x[changes]))
    r = r / r[..., :1]
    pairs = r[..., : r.shape[-1] // 2 * 2].reshape(len(r), -1, 2).sum(axis=-1)
    counted = np.logical_and.accumulate(pairs > 0, axis=-1)
    times[changes] = 2 * np.where(counted, pairs, 0).sum(axis=-1) - 1
    return times
