"""Log weights of small partitions under lines, normal mixtures and mixed tables, for `enumerate`.

They are the dense formulas, which nothing compiled has a part in.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp, multigammaln, ndtr, ndtri, roots_genlaguerre

from splitmerge_cli.verify.enumerate import Concentration, Hyper, Scales, State, log_prior, mixture_log_weight

DEGREES = 2.0 ** (0.5 * np.arange(15))
"""Degrees of freedom of tails, of which each is as probable as the others."""


def lines_log_weight(
    x: ArrayLike, concentration: Concentration, sigma0: float, sigma1: float, noise: str, a0: float, prior: str
) -> Callable[[State], float]:
    """Log weight of partitioned points ``[N, 2]`` on lines, each line's parameters integrated out. sigma0 and sigma1
    are standard deviations of intercept and slope, and of the noise. With ``noise=nig`` the noise has variance
    InvGamma(a0, sigma1^2 (a0 - 1)), and sigma0 grows with it in proportion.

    Source: the ordinates of a cluster are multivariate normal, with covariance sigma1^2 I + sigma0^2 X X', X = [1,
    abscissa]; unknown noise: multivariate t.
    """
    points = np.asarray(x, dtype=float)

    def log_lik(z: NDArray[np.int64]) -> float:
        total = 0.0
        for k in range(z.max() + 1):
            abscissa, y = points[z == k].T
            X = np.column_stack([np.ones_like(abscissa), abscissa])
            scale = np.eye(len(y)) + (sigma0 / sigma1) ** 2 * X @ X.T
            if noise == "nig":
                total += _log_student(y, scale, a0, sigma1**2 * (a0 - 1))
            else:
                total += _log_normal(y, sigma1**2 * scale)
        return total

    return mixture_log_weight(log_lik, concentration, prior)


def candidates_log_weight(
    x: ArrayLike, concentration: Concentration, sigma1: float, prior: str, candidates: Sequence[Sequence[float]]
) -> Callable[[State], float]:
    """Log weight of states (labels, K, lines) of points ``[N, 2]``: each cluster's (intercept, slope) is uniform over
    the candidates, sigma1 the standard deviation of the noise."""
    points = np.asarray(x, dtype=float)

    def log_weight(state: State) -> float:
        assert len(state) == 3
        z = np.array(state[0])
        total = log_prior(concentration, prior, z) - len(state[2]) * np.log(len(candidates))
        for k, (intercept, slope) in enumerate(state[2]):
            abscissa, y = points[z == k].T
            total += _log_normal(y - intercept - slope * abscissa, sigma1**2 * np.eye(len(y)))
        return float(total)

    return log_weight


def gaussian_log_weight(
    x: ArrayLike,
    concentration: Concentration,
    prior: str,
    covariance: str,
    m0: ArrayLike,
    kappa0: Hyper,
    a0: float,
    b0: Scales,
    resolution: ArrayLike = 0.0,
    power: float = 1.0,
) -> Callable[[State], float]:
    """Log weight of a partition for points ``[N, D]`` (NaN where a cell is missing: diag has no factor for it, full
    integrates it out, which takes power=1) under a Gaussian mixture, means and covariances integrated out. diag: a
    variance InvGamma(a0, b0) of each dimension; iso: one for all; full: Sigma ~ InvWishart(2 a0 + D - 1, 2 diag(b0)).
    The mean has covariance 1/kappa0 times the points' covariance, and is m0; m0, b0 and resolution may be one for each
    column, b0 and kappa0 pairs (shape, rate), the rate of b0 one for each column, too. A point has its mean log density
    over x - r / 2 to x + r / 2, raised to the power.

    Source: Gelman et al. 2013, section 3.3 (the numbers of each column: diag; of all columns: iso); Murphy, Conjugate
    Bayesian analysis of the Gaussian distribution (2007), equation 266 (full). A resolution: the factor exp(-r^2 / (24
    v)) of every point is taken into the prior of the variance v, which becomes the prior of another b0. A power: as
    written in docs/derivations.md, "A power of the likelihood", from weighted sums.
    """
    points = np.asarray(x, dtype=float)
    grain = np.broadcast_to(np.asarray(resolution, dtype=float), points.shape[1]) ** 2 / 12
    if covariance == "iso" and not isinstance(b0, tuple):
        b0 = np.ravel(b0)[0]
    log_lik = _normal_log_lik(points - np.asarray(m0, dtype=float), covariance, kappa0, a0, b0, grain, power)
    return mixture_log_weight(log_lik, concentration, prior)


def tailed_log_weight(
    x: ArrayLike,
    concentration: Concentration,
    prior: str,
    covariance: str,
    m0: ArrayLike,
    kappa0: float,
    a0: float,
    b0: ArrayLike,
    weights: ArrayLike | None,
    resolution: ArrayLike = 0.0,
) -> Callable[[State], float]:
    """Log weight of a partition under a Gaussian mixture whose rows have weights: the covariance of a row is over its.
    Where `weights` are None they and the degrees of freedom are integrated out: in each weight the trapezoidal rule in
    its logarithm below 8 degrees of freedom, above them Gauss-Laguerre quadrature; then the sum over the degrees of
    freedom. A missing cell (NaN), which diag alone takes, has no factor; nor does another covariance take a resolution.

    Source: Gelman et al. 2013, section 3.3, and Murphy 2007, equation 266, with weighted sums.
    """
    y = np.asarray(x, dtype=float) - np.asarray(m0, dtype=float)
    grain = np.broadcast_to(np.asarray(resolution, dtype=float), y.shape[1]) ** 2 / 12

    def log_lik_of_rows(items: tuple[int, ...], w: NDArray[np.float64]) -> NDArray[np.float64]:
        return weighted_log_lik(y[list(items)], covariance, kappa0, a0, b0, w, grain)

    @cache
    def of_cluster(items: tuple[int, ...]) -> NDArray[np.float64]:
        """Log marginal likelihood, one number, or one for each of the degrees of freedom."""
        if weights is not None:
            w = np.asarray(weights, dtype=float)[None, list(items)]
            return log_lik_of_rows(items, w)
        on_grid, found = None, []
        for nu in DEGREES:
            if nu < 8:
                w = _every(_WIDE, len(items))
                on_grid = log_lik_of_rows(items, w) if on_grid is None else on_grid
                half, log_lik_of = 0.5 * nu, on_grid
                share = half * np.log(half) - gammaln(half) + half * np.log(_WIDE) - half * _WIDE + np.log(_WIDE_STEP)
            else:
                node, share = roots_genlaguerre(12, nu / 2 - 1)
                log_lik_of = log_lik_of_rows(items, _every(2 * node / nu, len(items)))
                share = np.log(share / share.sum())
            found.append(logsumexp(log_lik_of + _every(share, len(items)).sum(axis=-1)))
        return np.array(found)

    def log_lik(z: NDArray[np.int64]) -> float:
        return float(logsumexp(sum(of_cluster(tuple(np.flatnonzero(z == k).tolist())) for k in range(z.max() + 1))))

    return mixture_log_weight(log_lik, concentration, prior)


def selected_log_weight(
    x: ArrayLike, concentration: Concentration, prior: str, *of_column: ArrayLike, power: float = 1.0
) -> Callable[[State], float]:
    """Log weight of a partition under a Gaussian mixture of independent columns, each of which is the same in all
    clusters with probability 1 - rho, rho uniform: summed over the 2^D ways.

    `of_column` are m0, kappa0, a0, b0 and resolution as of `gaussian_log_weight`, a number or one for each column.
    """
    points = np.asarray(x, dtype=float)
    N, D = points.shape
    hyper: Any = np.column_stack([np.broadcast_to(values, D) for values in of_column])
    columns = [
        gaussian_log_weight(points[:, [d]], 1.0, "uniform", "diag", m0, kappa0, a0, b0, step, power)
        for d, (m0, kappa0, a0, b0, step) in enumerate(hyper)
    ]
    return sum_over_indicators(columns, N, concentration, prior)


def sum_over_indicators(
    columns: Sequence[Callable[[State], float]], N: int, concentration: Concentration, prior: str
) -> Callable[[State], float]:
    """`selected_log_weight` of independent columns whose log likelihoods are given."""
    D = len(columns)
    whole = np.array([log_weight(((0,) * N, 1)) for log_weight in columns])
    ways = np.array(list(itertools.product([0, 1], repeat=D)))
    log_ways = gammaln(1 + ways.sum(axis=1)) + gammaln(1 + D - ways.sum(axis=1)) - gammaln(2 + D)

    def log_lik(z: NDArray[np.int64]) -> float:
        apart = np.array([log_weight((tuple(z.tolist()), int(z.max()) + 1)) for log_weight in columns])
        return float(logsumexp(log_ways + ways @ apart + (1 - ways) @ whole))

    return mixture_log_weight(log_lik, concentration, prior)


_WIDE_STEP = 0.6
_WIDE = np.exp(np.arange(-10.0, 3.4, _WIDE_STEP))
"""Weights of a row over which the trapezoidal rule goes."""


def _every(values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return all n-tuples of these values, shape ``[values, ..., values, n]``."""
    return np.stack(np.meshgrid(*[values] * n, indexing="ij"), axis=-1)


def weighted_log_lik(
    y: NDArray[np.float64],
    covariance: str,
    kappa0: float,
    a0: float,
    b0: ArrayLike,
    w: NDArray[np.float64],
    grain: ArrayLike = 0.0,
) -> NDArray[np.float64]:
    """Log marginal likelihood of rows about m0 as one cluster, shape ``[...]`` for weights ``[..., rows]``; missing
    cells of diag have no factor. The mean of a log density over a step has w times the `grain` of its column in the
    squares."""
    (n, D), mass = y.shape, w.sum(axis=-1)
    if (absent := np.isnan(y)).any():
        by_column = (np.broadcast_to(np.asarray(value, dtype=float), D) for value in (b0, grain))
        every = zip(y.T, ~absent.T, *by_column, strict=True)
        cells = [(column[there, None], b, w[..., there], step) for column, there, b, step in every if there.any()]
        total = sum(weighted_log_lik(column, covariance, kappa0, a0, *rest) for column, *rest in cells)
        return np.broadcast_to(np.asarray(total), mass.shape)
    scale = np.ravel(b0)[0] if covariance == "iso" else np.broadcast_to(np.asarray(b0, dtype=float), D)
    mean = w @ y / mass[..., None]
    off = y - mean[..., None, :]
    scatter = np.einsum("...n,...nd,...ne->...de", w, off, off)
    scatter = scatter + (kappa0 * mass / (kappa0 + mass))[..., None, None] * mean[..., None] * mean[..., None, :]
    total = 0.5 * D * (np.log(w).sum(axis=-1) + np.log(kappa0 / (kappa0 + mass)) - n * np.log(np.pi))
    scatter = scatter + mass[..., None, None] * np.diag(np.broadcast_to(np.asarray(grain, dtype=float), D))
    if covariance == "full":
        nu = 2 * a0 + D - 1
        constant = multigammaln((nu + n) / 2, D) - multigammaln(nu / 2, D) + nu / 2 * np.log(2 * scale).sum()
        return np.asarray(total + constant - (nu + n) / 2 * _log_det(2 * scale * np.eye(D) + scatter))
    squares = np.diagonal(scatter, axis1=-2, axis2=-1)
    squares, columns = (squares.sum(axis=-1, keepdims=True), D) if covariance == "iso" else (squares, 1)
    a = a0 + n * columns / 2
    each = gammaln(a) - gammaln(a0) + a0 * np.log(2 * scale) - a * np.log(2 * scale + squares)
    return np.asarray(total + each.sum(axis=-1))


def mixed_log_weight(
    x: ArrayLike, types: Sequence[str], levels: Sequence[int], concentration: Concentration, **options: Any
) -> Callable[[State], float]:
    """Log weight of partitioned rows ``[N, D]``, NaN where a cell is missing, with columns of several `types` (words of
    ``mixed_cells.TYPES``; `levels` of categorical and ordinal ones), parameters integrated out. The options are the
    model's, a number or one per column of their type; b0 and kappa0 may be pairs as in `gaussian_log_weight`. With
    tails=t the rows have `weights`, as in `tailed_log_weight`. If the rows are a part of a `table`, it has the cuts of
    ordinal columns.

    Source: Gelman et al. 2013, section 2.4 to 2.6, of the observed cells of a column and cluster, sums weighted by the
    power; real cells as in `gaussian_log_weight`.
    """
    values = np.asarray(x, dtype=float)
    options = {"resolution": 0.0, "covariance": "diag", "power": 1.0, "tails": "normal", "table": values, **options}
    whole = options["table"]
    power, reals = options["power"], [j for j, type in enumerate(types) if type == "real"]
    rates = iter(np.broadcast_to(np.asarray(options["rate"], dtype=float), list(types).count("count")))
    rate_of = {j: float(next(rates)) for j, type in enumerate(types) if type == "count"}

    def log_codes(cells: NDArray[np.int64], pseudo: NDArray[np.float64]) -> float:
        counts = pseudo + power * np.bincount(cells, minlength=len(pseudo))
        total = gammaln(counts).sum() - gammaln(pseudo).sum()
        return float(total + gammaln(pseudo.sum()) - gammaln(counts.sum()))

    def log_counts(cells: NDArray[np.int64], shape: float, rate: float) -> float:
        total, all_shape, all_rate = shape * np.log(rate), shape + power * cells.sum(), rate + power * len(cells)
        total += gammaln(all_shape) - gammaln(shape) - power * gammaln(cells + 1).sum()
        return float(total - all_shape * np.log(all_rate))

    has_tails = options["tails"] == "t"
    further = ("weights", "resolution") if has_tails else ("resolution", "power")
    of_reals = [options[key] for key in ("covariance", "m0", "kappa0", "a0", "b0", *further)]

    def log_ordinal(codes: NDArray[np.int64], j: int) -> float:
        column = whole[:, j]
        shares = [(np.sum(column <= v) + (v + 1) / 2) / (np.sum(column >= 0) + levels[j] / 2) for v in range(levels[j])]
        total = []
        for mean in np.linspace(-2.4, 2.4, 27):
            for s in [2 ** (t / 3) for t in range(-5, 3)]:
                below = [0.0, *(float(ndtr((ndtri(share) - mean) / s)) for share in shares[:-1]), 1.0]
                p = np.maximum(np.diff(below), 1e-6)
                total.append(power * np.log(p / p.sum())[codes].sum() - mean**2 / 2)
        return float(logsumexp(total) - np.log(8 * np.exp(-(np.linspace(-2.4, 2.4, 27) ** 2) / 2).sum()))

    # of the uniform prior of partitions the weight is the likelihood
    weigh = tailed_log_weight if has_tails else gaussian_log_weight
    log_reals = weigh(values[:, reals], 1.0, "uniform", *of_reals) if reals else None

    def log_lik(z: NDArray[np.int64]) -> float:
        total = 0.0 if log_reals is None else log_reals((tuple(z.tolist()), int(z.max()) + 1))
        for j, type in enumerate(types):
            for k in range(z.max() + 1) if type != "real" else ():
                cells = values[z == k, j]
                codes = cells[~np.isnan(cells)].astype(int)
                if type == "count":
                    total += log_counts(codes, options["shape"], rate_of[j])
                elif type == "ordinal":
                    total += log_ordinal(codes, j)
                elif type == "binary":
                    total += log_codes(codes, np.array([options["beta0"], options["beta1"]], dtype=float))
                else:
                    total += log_codes(codes, np.full(levels[j], options["alpha"], dtype=float))
        return total

    return mixture_log_weight(log_lik, concentration, options["prior"])


def counts_log_weight(x: ArrayLike, concentration: Concentration, **options: Any) -> Callable[[State], float]:
    """Log weight of partitioned rows of counts, Poisson rates integrated out: of a table of count columns alone."""
    D = np.shape(x)[1]
    unused = {"beta1": 1.0, "beta0": 1.0, "alpha": 1.0, "m0": 0.0, "kappa0": 1.0, "a0": 1.0, "b0": 1.0}
    return mixed_log_weight(x, ["count"] * D, [0] * D, concentration, **unused, **options)


NODES = 80
"""Places of a precision over which it is integrated."""


def scattered_counts_log_weight(
    x: ArrayLike, concentration: Concentration, prior: str, alpha: float, shape: float, rate: float
) -> Callable[[State], float]:
    """Log weight of partitioned counts ``[N, D]``, D at least 2, whose rows are Dirichlet-multinomial: precision and
    shares of a cluster integrated by Gauss quadrature, the shares, of which the likelihood is a polynomial, exactly.

    Source: Mosimann 1962, equation 18, of each row.
    """
    from scipy.special import roots_genlaguerre, roots_jacobi  # verify alone needs them

    counts = np.asarray(x, dtype=float)
    D, places = counts.shape[1], int(counts.sum()) // 2 + 1
    # shares by breaking a stick
    shares, left, log_weights = np.empty((1, 0)), np.ones(1), np.zeros(1)
    for d in range(D - 1):
        t, w = roots_jacobi(places, alpha * (D - 1 - d) - 1, alpha - 1)
        broken = np.tile((t + 1) / 2, len(left))
        log_weights = np.repeat(log_weights, places) + np.tile(np.log(w / w.sum()), len(left))
        shares, left = np.repeat(shares, places, axis=0), np.repeat(left, places)
        shares, left = np.column_stack([shares, left * broken]), left * (1 - broken)
    shares = np.column_stack([shares, left])
    precision, w = roots_genlaguerre(NODES, shape - 1)
    precision, log_w = precision / rate, np.log(w / w.sum())
    ways = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)

    @cache
    def log_cluster(rows: tuple[int, ...]) -> float:
        total = log_weights[:, None] + log_w
        a = shares[:, :, None] * precision
        for row in counts[list(rows)]:
            total += gammaln(precision) - gammaln(precision + row.sum())
            total += (gammaln(a + row[:, None]) - gammaln(a)).sum(axis=1)
        return float(logsumexp(total) + ways[list(rows)].sum())

    def log_lik(z: NDArray[np.int64]) -> float:
        return sum(log_cluster(tuple(np.flatnonzero(z == k))) for k in range(z.max() + 1))

    return mixture_log_weight(log_lik, concentration, prior)


def _log_lik_with_missing(
    y: NDArray[np.float64], kappa0: float, a0: float, b0: NDArray[np.float64], grain: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log marginal likelihood of one cluster under a full covariance, missing cells (NaN) integrated out.

    `y` are its points about m0; there is a number for each row of `b0`, shape (nodes, D).

    Every row has its grain, in a missing cell as well. Cells of the column that lacks most are integrated in closed
    form: the regression of this column on the others is independent of the others' distribution, before and after the
    rows that have the cell, so the likelihood is the likelihood of the other columns in all rows, times the likelihood
    of these rows over the likelihood of their other columns, with the grain of all rows in each. Cells of other columns
    are summed over a grid.
    """
    n, D = y.shape
    # places of a missing cell, from the prior mean of its column, and logs of their steps: the tails of a t
    # distribution end there. Fewer where the scales have a grid of many nodes, over which the integrand is smooth
    t = np.linspace(-6.0, 6.0, 481 if len(b0) < 100 else 161)
    grid, log_steps = np.sinh(t), np.log(np.cosh(t) * (t[1] - t[0]))
    lacks = np.isnan(y)
    c = int(lacks.sum(axis=0).argmax())
    rest = [d for d in range(D) if d != c]
    others = [(i, d) for i, d in np.argwhere(lacks).tolist() if d != c]
    filled = np.broadcast_to(y, (*[len(grid)] * len(others), n, D)).copy()
    log_step = np.zeros(filled.shape[:-2])
    for axis, (i, d) in enumerate(others):
        shape = [-1 if axis == number else 1 for number in range(len(others))]
        filled[..., i, d] = grid.reshape(shape)
        log_step = log_step + log_steps.reshape(shape)

    def log_lik(columns: list[int], rows: NDArray[np.bool_], b: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log marginal likelihood of these columns and rows, with the grain of all n rows, shape (nodes, grid...)."""
        x, size = filled[..., rows, :][..., columns], int(rows.sum())
        d, nu = len(columns), 2 * a0 + len(columns) - 1
        mean = x.sum(axis=-2, keepdims=True) / max(size, 1)
        scatter = np.swapaxes(x - mean, -1, -2) @ (x - mean) + n * np.diag(grain[columns])
        scatter = scatter + kappa0 * size / (kappa0 + size) * np.swapaxes(mean, -1, -2) @ mean
        scales = (2 * b[:, columns]).reshape(len(b), *[1] * len(others), d)
        constant = multigammaln((nu + size) / 2, d) - multigammaln(nu / 2, d) - size * d / 2 * np.log(np.pi)
        constant += d / 2 * np.log(kappa0 / (kappa0 + size))
        log_det = _log_det(scatter + scales[..., None] * np.eye(d))
        return np.asarray(constant + nu / 2 * np.log(scales).sum(axis=-1) - (nu + size) / 2 * log_det)

    every, there, both = np.ones(n, dtype=bool), ~lacks[:, c], list(range(D))
    found = []
    for start in range(0, len(b0), 256):
        b = b0[start : start + 256]
        total = log_lik(rest, every, b) + log_lik(both, there, b) - log_lik(rest, there, b) + log_step
        found.append(logsumexp(total, axis=tuple(range(1, total.ndim))))
    return np.concatenate(found)


def _log_det(a: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log determinants of positive definite matrices, shape (..., d, d): of up to two rows without a library."""
    if a.shape[-1] == 1:
        return np.log(a[..., 0, 0])
    if a.shape[-1] == 2:
        return np.log(a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0])
    return np.asarray(np.linalg.slogdet(a)[1])


def _normal_log_lik(
    y: NDArray[np.float64],
    covariance: str,
    kappa0: Hyper,
    a0: float,
    b0: Scales,
    grain: NDArray[np.float64],
    power: float,
) -> Callable[[NDArray[np.int64]], float]:
    """Log likelihood of labels for points about m0, integrated over gamma densities of b0 or kappa0, if they have any.

    The trapezoidal rule in log b0 and log kappa0, in which the integrand is analytic: where b0 has one density for each
    column and covariance=full, on a grid of all of them.
    """
    N, D = y.shape
    n_scales = 1 if covariance == "iso" else D
    at_kappa, log_kappa = _nodes(kappa0, 0.5 * D, N, 1)
    at_scale, log_scale = _nodes(b0, a0 + (0.5 * (D - 1) if covariance == "full" else 0.0), N, n_scales)
    b = at_scale[:, :n_scales]
    if covariance == "full":
        # every combination of the columns' scales
        b = np.stack(np.meshgrid(*b.T, indexing="ij"), axis=-1).reshape(-1, D)

    @cache
    def of_cluster(items: tuple[int, ...]) -> NDArray[np.float64]:
        """Log marginal likelihood of these items, shape (nodes of kappa0, nodes of b0[, columns])."""
        there = ~np.isnan(y[list(items)])
        if covariance == "full" and not there.all():
            return np.array([_log_lik_with_missing(y[list(items)], kappa, a0, b, grain) for kappa in at_kappa[:, 0]])
        # cells of each column: one number but with covariance=diag
        n = there.sum(axis=0) if covariance == "diag" else len(items)
        cells = np.where(there, y[list(items)], 0.0)
        mean = cells.sum(axis=0) / np.maximum(n, 1)
        deviations = np.sqrt(power) * np.where(there, cells - mean, 0.0)
        n = power * n
        rows = []
        for kappa in at_kappa[:, 0]:
            scatter = deviations.T @ deviations + kappa * n / (kappa + n) * np.outer(mean, mean) + n * np.diag(grain)
            shrink = 0.5 * np.log(kappa / (kappa + n)) - 0.5 * n * np.log(np.pi)
            if covariance == "full":
                nu = 2 * a0 + D - 1
                psi = 2 * b[:, :, None] * np.eye(D)
                total = multigammaln((nu + n) / 2, D) - multigammaln(nu / 2, D) + nu / 2 * np.log(2 * b).sum(axis=1)
                rows.append(total - (nu + n) / 2 * _log_det(psi + scatter) + D * shrink)
            else:
                # D columns that share a variance are n D numbers of it
                S, columns = (np.trace(scatter), D) if covariance == "iso" else (np.diag(scatter), 1)
                a = a0 + n * columns / 2
                total = gammaln(a) - gammaln(a0) + a0 * np.log(2 * b) - a * np.log(2 * b + S)
                rows.append(total + columns * shrink)
        return np.array(rows)

    def log_lik(z: NDArray[np.int64]) -> float:
        total = sum(of_cluster(tuple(np.flatnonzero(z == k).tolist())) for k in range(z.max() + 1))
        if covariance == "full":
            log_density = np.stack(np.meshgrid(*log_scale.T, indexing="ij"), axis=-1).reshape(-1, D).sum(axis=1)
            by_kappa = logsumexp(total + log_density, axis=1)
        else:
            by_kappa = logsumexp(total + log_scale[:, :n_scales], axis=1).sum(axis=1)
        return float(logsumexp(by_kappa + log_kappa[:, 0]))

    return log_lik


def _nodes(prior: Any, power: float, most: int, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and log weights, each of shape (nodes, n), of integrals against n gamma densities (shape, rate) of what the
    likelihood goes to 0 with like this power once to `most` times; of a number, or of n, itself."""
    if not isinstance(prior, tuple):
        value = np.broadcast_to(np.asarray(prior, dtype=float), n)[None]
        return value, np.zeros_like(value)
    shape, rate = prior[0], np.broadcast_to(np.asarray(prior[1], dtype=float), n)
    # no peak is narrower than 1 / sqrt(shape + most power)
    step = min(0.3, 0.8 / np.sqrt(shape + most * power))
    t = np.arange(-8.0 - 36 / (shape + power), np.log(shape + 10 * np.sqrt(shape) + 60.0), step)[:, None]
    log_density = shape * t - np.exp(t) - gammaln(shape)
    return np.exp(t) / rate, log_density + np.log(step) + np.zeros(n)


def _log_normal(y: NDArray[np.float64], covariance: NDArray[Any]) -> float:
    """Log density of a multivariate normal vector of mean 0."""
    log_det = np.linalg.slogdet(2 * np.pi * covariance)[1]
    return float(-0.5 * (log_det + y @ np.linalg.solve(covariance, y)))


def _log_student(y: NDArray[np.float64], scale: NDArray[Any], a0: float, b0: float) -> float:
    """Log density of y ~ N(0, v scale) with v ~ InvGamma(a0, b0): multivariate t of 2 a0 degrees of freedom."""
    a = a0 + len(y) / 2
    quadratic = y @ np.linalg.solve(scale, y)
    constant = gammaln(a) - gammaln(a0) - 0.5 * np.linalg.slogdet(2 * np.pi * b0 * scale)[1]
    return float(constant - a * np.log1p(quadratic / (2 * b0)))
