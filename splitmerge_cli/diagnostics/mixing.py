"""How well chains mix: R-hat, effective sample size, autocorrelation time.

As Vehtari et al. 2021 define them. arviz-stats has the same numbers, and SciPy the quantiles of t, to which the tests
hold these: their import takes longer than a short run. A series that never changes, or a single chain, has no such
value: NaN is returned for it instead of a number that looks like good news.
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.extras import special

_MANY_DEGREES = 500.0
"""Degrees of freedom from which a series in their inverse is exact."""
_MANY = 200
"""Different degrees of freedom for which the import of SciPy is faster."""
_NODES = 512
"""Intervals of Simpson's rule."""


def normal_quantile(p: ArrayLike) -> NDArray[np.float64]:
    """Quantiles of the standard normal distribution for probabilities between 0 and 1, of the shape of `p`."""
    share = np.asarray(p, dtype=np.float64)
    return np.array(list(map(NormalDist().inv_cdf, share.ravel().tolist())), dtype=np.float64).reshape(share.shape)


def student_quantile(p: float, freedom: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of Student's t for p > 1/2 and an array of degrees of freedom; nan where these are not above 0."""
    different, place = np.unique(np.where(freedom > 0, freedom, np.nan), return_inverse=True)
    is_smooth = (different >= 2) | (different == 1) | np.isnan(different)
    if len(different) > _MANY or not is_smooth.all():
        return np.asarray(special.stdtrit(freedom, p))
    quantiles = [math.nan if nu != nu else _student_quantile(p, nu) for nu in different.tolist()]
    return np.array(quantiles)[place].reshape(np.shape(freedom))


def _student_quantile(p: float, nu: float) -> float:
    """The quantile: Newton's method for the logarithm of the probability beyond exp(u), which is close to linear.

    With t = sqrt(nu) tan(a) that is a multiple of the integral of cos(a)^(nu - 1), which is smooth.
    """
    # of Gamma((nu + 1) / 2) / Gamma(nu / 2), whose two logarithms are large where nu is
    h = 1 / (4 * nu)
    ratio = math.sqrt(nu / 2) * (1 - h + h**2 / 2 + 5 * h**3 / 2 - 21 * h**4 / 8)
    if nu < _MANY_DEGREES:
        ratio = math.exp(math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2))
    u = math.log(float(normal_quantile(p)))
    for _ in range(100):
        angle = math.atan(math.exp(u) / math.sqrt(nu))
        cosines = np.cos(np.linspace(0, angle, _NODES + 1)) ** (nu - 1)
        area = (
            angle / _NODES / 3 * float(cosines[0] + cosines[-1] + 4 * cosines[1::2].sum() + 2 * cosines[2:-1:2].sum())
        )
        beyond = 0.5 - ratio / math.sqrt(math.pi) * area
        density = ratio / math.sqrt(math.pi * nu) * math.cos(angle) ** (nu + 1)
        step = beyond * math.log(beyond / (1 - p)) / (density * math.exp(u))
        u += step
        if abs(step) < 1e-13:
            break
    return math.exp(u)


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
    if not split:
        return None
    halves = _halves(x)
    if np.all(halves == halves[:, :1]):
        return HALVES_DIFFER
    # the distances from the median differ between half chains and within none
    folded = np.abs(halves - np.median(halves))
    return DISTANCES_DIFFER if np.all(folded == folded[:, :1]) and np.any(folded != folded[0, 0]) else None


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
