"""How well chains mix: R-hat, effective sample size, autocorrelation time.

Thin calls into arviz-stats, plus what it leaves to the caller: a series that never changes, or a single chain, has no
such value, and NaN is returned for it instead of a number that looks like good news.
"""

from typing import Any

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import ArrayLike, NDArray

MIN_DRAWS = 4
TOO_FEW = f"fewer than {MIN_DRAWS} draws a chain"
CONSTANT = "constant within every chain"
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


def _scaled(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """A series without numbers whose squares are infinite."""
    most = np.abs(x).max(initial=0.0)
    return x / most if most > _LARGE else x


def why_no_rhat(draws: ArrayLike, split: bool = True) -> str | None:
    """Why R-hat of these draws ``[chains, draws]`` is undefined, that of half chains if `split`; None if defined."""
    x = _chains(draws)
    if x.shape[0] < 2:
        return "one chain: R-hat compares chains"
    if x.shape[1] < MIN_DRAWS:
        return TOO_FEW
    if np.all(x == x[0, 0]):
        return "constant: the same value in every draw of every chain"
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
    return _rhat(draws, "rank")


def rhat_classic(draws: ArrayLike) -> float:
    """Gelman-Rubin R-hat, sqrt(((n - 1)/n W + B/n) / W), of ``[chains, draws]``; NaN where undefined."""
    return _rhat(draws, "identity")


def _rhat(draws: ArrayLike, method: str) -> float:
    x = _chains(draws)
    if why_no_rhat(x, split=method == "rank"):
        return np.nan
    # two values that are as far from their median leave the folded part without a value; the other one is taken
    with np.errstate(invalid="ignore"):
        return float(array_stats.rhat(_scaled(x), chain_axis=0, draw_axis=1, method=method))


def ess(draws: ArrayLike) -> float:
    """Bulk effective sample size of ``[chains, draws]`` (or of one chain ``[draws]``); NaN where undefined."""
    return _ess(draws, method="bulk")


def ess_tail(draws: ArrayLike) -> float:
    """Effective sample size of the .05 and .95 quantiles, the smaller one; NaN where undefined."""
    return _ess(draws, method="tail", prob=(0.05, 0.95))


def _ess(draws: ArrayLike, **how: Any) -> float:
    x = _chains(draws)
    return np.nan if why_no_ess(x) else float(array_stats.ess(_scaled(x), chain_axis=0, draw_axis=1, **how))


def autocorrelation_time(series: ArrayLike) -> float:
    """Integrated autocorrelation time 1 + 2 sum r(lag), in draws.

    The sum ends with Geyer's initial positive sequence: at the first pair r(2m) + r(2m + 1) that is not positive.

    Parameters
    ----------
    series : array_like
        One chain, ``[draws]``.

    Returns
    -------
    float
        NaN for a constant series or fewer than 4 draws.
    """
    return float(autocorrelation_times(series))


def autocorrelation_times(series: ArrayLike) -> NDArray[np.float64]:
    """The same for many series at a time.

    Parameters
    ----------
    series : array_like
        ``[..., draws]``.

    Returns
    -------
    numpy.ndarray
        float64 ``[...]``, NaN as in `autocorrelation_time`.
    """
    x = np.asarray(series, dtype=np.float64)
    times = np.full(x.shape[:-1], np.nan)
    changes = (x != x[..., :1]).any(axis=-1)
    if x.shape[-1] < MIN_DRAWS or not changes.any():
        return times
    r = array_stats.autocorr(_scaled(x[changes]))
    pairs = r[..., : r.shape[-1] // 2 * 2].reshape(len(r), -1, 2).sum(axis=-1)
    counted = np.logical_and.accumulate(pairs > 0, axis=-1)
    times[changes] = 2 * np.where(counted, pairs, 0).sum(axis=-1) - 1
    return times
