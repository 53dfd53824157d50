"""Small posteriors by enumeration, from formulas of their own: nothing here calls a model's compiled likelihood, nor a
prior's tables and weights.

A *state* is ``(labels, K)``: cluster of each item, numbered by first appearance, and the number of clusters kept (EMM:
with the empty ones). Of a model that keeps parameters it is ``(labels, K, parameters)``, with a tuple of numbers per
cluster, in the order of their first appearance. A *concentration* is a number, or the pair (shape, rate) of a gamma
density over which it is integrated; the scale b0 and the weight kappa0 of a normal mixture likewise, the rate of b0 a
number or one for each column.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln, logsumexp, multigammaln
from scipy.stats import nbinom

from splitmerge_cli.priors import priors, specification

Parameters = tuple[tuple[float, ...], ...]
State = tuple[tuple[int, ...], int] | tuple[tuple[int, ...], int, Parameters]
Concentration = float | tuple[float, float]
Scales = ArrayLike | tuple[float, ArrayLike]


def partitions(n: int) -> Iterator[tuple[int, ...]]:
    """Every partition of n items, as labels numbered by first appearance."""

    def extend(prefix: tuple[int, ...], used: int) -> Iterator[tuple[int, ...]]:
        if len(prefix) == n:
            yield prefix
            return
        for k in range(used + 1):
            yield from extend((*prefix, k), max(used, k + 1))

    yield from extend((), 0)


def state_of(labels: ArrayLike, K: int, parameters: NDArray[np.float64] | None = None) -> State:
    """The state of a model's labels: clusters numbered by first appearance.

    Parameters
    ----------
    labels : array of int, shape (N,)
    K : int
    parameters : ndarray of float, shape (K, P), optional
        A row for each cluster, in the order of the model's list; they are put in the order of first appearance.
    """
    number: dict[int, int] = {}
    shown = tuple(number.setdefault(int(k), len(number)) for k in np.asarray(labels))
    if parameters is None:
        return shown, K
    return shown, K, tuple(tuple(float(value) for value in parameters[k]) for k in number)


def emm_states(n: int, kmax: int) -> list[State]:
    """Every state of an entity/mention model: partitions with 0 or more empty entities."""
    return [(p, K) for p in partitions(n) for K in range(max(p) + 1, kmax + 1)]


def mixture_states(n: int) -> list[State]:
    """Every state of a mixture without empty clusters."""
    return [(p, max(p) + 1) for p in partitions(n)]


def candidates_states(n: int, candidates: Sequence[Sequence[float]]) -> list[State]:
    """Every state of a mixture without empty clusters whose clusters each keep one of finitely many parameters."""
    lines = [tuple(float(value) for value in line) for line in candidates]
    return [(p, max(p) + 1, kept) for p in partitions(n) for kept in itertools.product(lines, repeat=max(p) + 1)]


def emm_log_weight(
    tokens: NDArray[np.int32], n_tokens: int, alpha: float, mu: float, sigma: float, label_prior: str
) -> Callable[[State], float]:
    """Log weight of unlabelled states: pi(K, S) K! / (K - T)!, T entities that hold mentions.

    ``label_prior`` 'partition' divides by K!, 'as_printed' multiplies by 2^K / K!. Source: Wang & Russell 2015, section
    3.1.
    """

    def log_weight(state: State) -> float:
        z, K = np.array(state[0]), state[1]
        T = z.max() + 1
        total = -np.log(K) - (np.log(K) - mu) ** 2 / (2 * sigma**2) - len(z) * np.log(K)
        total += gammaln(K + 1) - gammaln(K - T + 1)
        if label_prior in ("partition", "as_printed"):
            total -= gammaln(K + 1)
        if label_prior == "as_printed":
            total += K * np.log(2)
        for k in range(T):
            n = np.bincount(tokens[z == k], minlength=n_tokens)
            total += gammaln(n_tokens * alpha) - gammaln(n_tokens * alpha + n.sum())
            total += (gammaln(alpha + n) - gammaln(alpha)).sum()
        return float(total)

    return log_weight


def bernoulli_log_weight(
    x: NDArray[np.uint8], concentration: Concentration, beta1: float, beta0: float, prior: str
) -> Callable[[State], float]:
    """Log weight of partitions of a Bernoulli mixture."""

    def log_lik(z: NDArray[np.int64]) -> float:
        total = 0.0
        for k in range(z.max() + 1):
            rows = x[z == k]
            ones = rows.sum(axis=0, dtype=float)
            zeros = len(rows) - ones
            total += (gammaln(ones + beta1) + gammaln(zeros + beta0) - gammaln(len(rows) + beta1 + beta0)).sum()
            total -= x.shape[1] * (gammaln(beta1) + gammaln(beta0) - gammaln(beta1 + beta0))
        return total

    return mixture_log_weight(log_lik, concentration, prior)


def irm_log_weight(
    adjacency: ArrayLike, concentration: Concentration, beta1: float, beta0: float, prior: str
) -> Callable[[State], float]:
    """Log weight of partitions of the nodes of an undirected graph, the probabilities of edges integrated out.

    Parameters
    ----------
    adjacency : array of int, shape (N, N)
        1 where there is an edge: symmetric, with an empty diagonal.
    concentration : float or (shape, rate)
    beta1, beta0 : float
        Pseudo-counts of edges and of missing edges.
    prior : str
        As ``model.prior`` gives it.

    Returns
    -------
    callable
        Source: Herlau et al. 2014, section 3.2, with the sum over k <= k': the printed k < k' leaves out the pairs
        within.
    """
    A = np.asarray(adjacency, dtype=float)

    def log_lik(z: NDArray[np.int64]) -> float:
        member = np.eye(z.max() + 1)[z]
        sizes = member.sum(axis=0)
        edges, pairs = member.T @ A @ member, np.outer(sizes, sizes)
        np.fill_diagonal(edges, np.diag(edges) / 2)
        np.fill_diagonal(pairs, sizes * (sizes - 1) / 2)
        blocks = np.triu_indices(len(sizes))
        terms = betaln(edges + beta1, pairs - edges + beta0) - betaln(beta1, beta0)
        return float(terms[blocks].sum())

    return mixture_log_weight(log_lik, concentration, prior)


def lines_log_weight(
    x: ArrayLike, concentration: Concentration, sigma0: float, sigma1: float, noise: str, a0: float, prior: str
) -> Callable[[State], float]:
    """Log weight of partitions of points on lines, the parameters of every line integrated out.

    Parameters
    ----------
    x : array of float, shape (N, 2)
        Abscissa and ordinate of each point.
    concentration : float or (shape, rate)
    sigma0, sigma1 : float
        Standard deviations of intercept and slope, and of the noise.
    noise : {'known', 'nig'}
        nig: the noise has variance InvGamma(a0, sigma1^2 (a0 - 1)), and sigma0 grows with it in proportion.
    a0 : float
    prior : str
        As ``model.prior`` gives it.

    Returns
    -------
    callable
        Source: the ordinates of a cluster are multivariate normal, with covariance sigma1^2 I + sigma0^2 X X',
        X = [1, abscissa]; unknown noise: multivariate t.
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
    """Log weight of states (labels, K, lines): each cluster's (intercept, slope) is uniform over the candidates.

    Parameters
    ----------
    x : array of float, shape (N, 2)
        Abscissa and ordinate of each point.
    concentration : float or (shape, rate)
    sigma1 : float
        Standard deviation of the noise.
    prior : str
        As ``model.prior`` gives it.
    candidates : sequence of (intercept, slope)
    """
    points = np.asarray(x, dtype=float)

    def log_weight(state: State) -> float:
        assert len(state) == 3
        z = np.array(state[0])
        total = _log_prior(concentration, prior, z) - len(state[2]) * np.log(len(candidates))
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
    kappa0: Concentration,
    a0: float,
    b0: Scales,
) -> Callable[[State], float]:
    """Log weight of partitions of a Gaussian mixture, means and covariances integrated out.

    Parameters
    ----------
    x : array of float, shape (N, D)
    concentration : float or (shape, rate)
    prior : str
        As ``model.prior`` gives it.
    covariance : {'diag', 'iso', 'full'}
        diag: a variance InvGamma(a0, b0) of each dimension; iso: one for all; full: Sigma ~ InvWishart(2 a0 + D - 1,
        2 diag(b0)). The mean has covariance 1/kappa0 times that of the points.
    m0 : float or array of float, shape (D,)
    kappa0 : float or (shape, rate)
    a0 : float
    b0 : float or array of float, shape (D,), or (shape, rate)
        The rate a number or one for each column. iso: one number.

    Returns
    -------
    callable
        Source: diag and iso: the points of a cluster are multivariate t. full: Murphy, Conjugate Bayesian analysis of
        the Gaussian distribution (2007), equation 266.
    """
    if isinstance(kappa0, tuple) or isinstance(b0, tuple):
        about_m0 = np.asarray(x, dtype=float) - np.asarray(m0, dtype=float)
        return mixture_log_weight(_scales_log_lik(about_m0, covariance, kappa0, a0, b0), concentration, prior)
    points = np.asarray(x, dtype=float)
    D = points.shape[1]
    centred, scale0 = points - np.asarray(m0, dtype=float), np.broadcast_to(np.asarray(b0, dtype=float), D)

    def log_lik_full(y: NDArray[np.float64]) -> float:
        n, nu0, psi0 = len(y), 2 * a0 + D - 1, 2 * np.diag(scale0)
        mean = y.mean(axis=0)
        psi = psi0 + (y - mean).T @ (y - mean) + kappa0 * n / (kappa0 + n) * np.outer(mean, mean)
        total = multigammaln((nu0 + n) / 2, D) - multigammaln(nu0 / 2, D) - n * D / 2 * np.log(np.pi)
        total += nu0 / 2 * np.linalg.slogdet(psi0)[1] - (nu0 + n) / 2 * np.linalg.slogdet(psi)[1]
        return float(total + D / 2 * np.log(kappa0 / (kappa0 + n)))

    def log_lik(z: NDArray[np.int64]) -> float:
        total = 0.0
        for k in range(z.max() + 1):
            y = centred[z == k]
            scale = np.eye(len(y)) + 1 / kappa0
            if covariance == "full":
                total += log_lik_full(y)
            elif covariance == "iso":
                total += _log_student(y.T.ravel(), np.kron(np.eye(D), scale), a0, scale0[0])
            else:
                total += sum(_log_student(y[:, d], scale, a0, scale0[d]) for d in range(D))
        return total

    return mixture_log_weight(log_lik, concentration, prior)


def mixed_log_weight(
    x: ArrayLike, types: Sequence[str], levels: Sequence[int], concentration: Concentration, **options: Any
) -> Callable[[State], float]:
    """Log weight of partitions of a table with columns of several types, the parameters integrated out.

    Parameters
    ----------
    x : array of float, shape (N, D)
        NaN where a cell is missing.
    types : sequence of {'binary', 'categorical', 'count', 'real'}
    levels : sequence of int
        Of each column, where it is categorical.
    concentration : float or (shape, rate)
    **options
        prior, beta1, beta0, alpha, shape, rate (a number or one per count column), m0 and b0 (a number or one per real
        column), kappa0, a0: as the model's.

    Returns
    -------
    callable
        Source: the observed cells of a column and cluster one after the other: codes by counting, counts as negative
        binomial; real cells as one multivariate t.
    """
    values = np.asarray(x, dtype=float)
    per_type = {
        key: np.broadcast_to(np.asarray(options[key], dtype=float), list(types).count(kind))
        for key, kind in (("rate", "count"), ("m0", "real"), ("b0", "real"))
    }

    def log_codes(cells: NDArray[np.int64], pseudo: NDArray[np.float64]) -> float:
        counts, total = pseudo.copy(), 0.0
        for cell in cells:
            total += np.log(counts[cell] / counts.sum())
            counts[cell] += 1
        return float(total)

    def log_counts(cells: NDArray[np.int64], shape: float, rate: float) -> float:
        total = 0.0
        for cell in cells:
            total += nbinom.logpmf(cell, shape, rate / (rate + 1))
            shape, rate = shape + cell, rate + 1
        return total

    def log_reals(cells: NDArray[np.float64], m0: float, b0: float) -> float:
        scale = np.eye(len(cells)) + 1 / options["kappa0"]
        return _log_student(cells - m0, scale, options["a0"], b0)

    def log_lik(z: NDArray[np.int64]) -> float:
        total = 0.0
        number = dict.fromkeys(("count", "real"), 0)
        for j, kind in enumerate(types):
            at = number.get(kind, 0)
            number[kind] = at + 1
            for k in range(z.max() + 1):
                cells = values[z == k, j]
                cells = cells[~np.isnan(cells)]
                if kind == "real":
                    total += log_reals(cells, per_type["m0"][at], per_type["b0"][at])
                elif kind == "count":
                    total += log_counts(cells.astype(int), options["shape"], per_type["rate"][at])
                elif kind == "binary":
                    total += log_codes(cells.astype(int), np.array([options["beta0"], options["beta1"]], dtype=float))
                else:
                    total += log_codes(cells.astype(int), np.full(levels[j], options["alpha"], dtype=float))
        return total

    return mixture_log_weight(log_lik, concentration, options["prior"])


def _scales_log_lik(
    y: NDArray[np.float64], covariance: str, kappa0: Concentration, a0: float, b0: Scales
) -> Callable[[NDArray[np.int64]], float]:
    """Log likelihood of labels of points about m0, integrated over gamma densities of b0 or kappa0.

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
        n, mean = len(items), y[list(items)].mean(axis=0)
        deviations = y[list(items)] - mean
        rows = []
        for kappa in at_kappa[:, 0]:
            scatter = deviations.T @ deviations + kappa * n / (kappa + n) * np.outer(mean, mean)
            shrink = 0.5 * np.log(kappa / (kappa + n)) - 0.5 * n * np.log(np.pi)
            if covariance == "full":
                nu = 2 * a0 + D - 1
                psi = 2 * b[:, :, None] * np.eye(D)
                total = multigammaln((nu + n) / 2, D) - multigammaln(nu / 2, D) + nu / 2 * np.log(2 * b).sum(axis=1)
                rows.append(total - (nu + n) / 2 * np.linalg.slogdet(psi + scatter)[1] + D * shrink)
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


def hdp_log_weight(
    docs: ArrayLike,
    words: ArrayLike,
    V: int,
    gamma: Concentration,
    alpha0: Concentration,
    eta: float,
    log_unseen: float | None = None,
) -> Callable[[State], float]:
    """Log weight of partitions of the tokens of documents into topics, the topics' weights summed out.

    Parameters
    ----------
    docs, words : array of int, shape (N,)
        Document and word of each token.
    V : int
    gamma, alpha0 : float or (shape, rate)
    eta : float
    log_unseen : float, optional
        log beta_u: the weight is then that of partitions given what no topic holds; `gamma` and `alpha0` numbers.

    Returns
    -------
    callable
        Source: docs/derivations-topics.md: tables of the Chinese restaurant franchise, counted by Stirling numbers;
        beta given the number of tables is Dirichlet.
    """
    j, w = np.asarray(docs), np.asarray(words)
    lengths = tuple(map(int, np.bincount(j)))

    def log_weight(state: State) -> float:
        z = np.array(state[0])
        K, total, ways = z.max() + 1, 0.0, np.ones(1)
        for k in range(K):
            n = np.bincount(w[z == k], minlength=V)
            total += gammaln(V * eta) - gammaln(V * eta + n.sum()) + (gammaln(eta + n) - gammaln(eta)).sum()
            tables = np.ones(1)
            for n_jk in np.bincount(j[z == k]):
                for t in range(n_jk):
                    tables = np.convolve(tables, [t, 1.0])
            # m tables of topic k: times Gamma(m); none cannot be
            m = np.arange(1, len(tables))
            ways = np.convolve(ways, np.concatenate([[0.0], tables[1:] * np.exp(gammaln(m))]))
        terms = []
        for all_tables in map(int, np.flatnonzero(ways)):
            if log_unseen is None:
                topics = _log_dishes(K, all_tables, gamma)
            else:
                topics = (all_tables - 1) * np.log1p(-np.exp(log_unseen)) - gammaln(all_tables)
            terms.append(np.log(ways[all_tables]) + _log_tables(all_tables, lengths, alpha0) + topics)
        if log_unseen is not None:
            total += K * np.log(gamma)
        return float(total + logsumexp(terms))

    return log_weight


@cache
def _log_dishes(K: int, m: int, gamma: Concentration) -> float:
    """log of gamma^K Gamma(gamma)/Gamma(gamma + m), or of its integral against a gamma density."""
    if isinstance(gamma, tuple):
        return _log_moment(K, m, *gamma)
    return float(K * np.log(gamma) + gammaln(gamma) - gammaln(gamma + m))


@cache
def _log_tables(m: int, lengths: tuple[int, ...], alpha0: Concentration) -> float:
    """log of alpha0^m prod_j Gamma(alpha0)/Gamma(alpha0 + n_j), or of its integral against a gamma density."""

    def log_of(a: Any) -> Any:
        return m * np.log(a) - sum(np.log(a + t) for n in lengths for t in range(n))

    if not isinstance(alpha0, tuple):
        return float(log_of(alpha0))
    shape, rate = alpha0
    # the trapezoidal rule in log alpha0, as in _log_moment; a wide range, since m may be less than the documents
    t = np.linspace(-80 / shape - 10, np.log((4 * (shape + sum(lengths)) + 100) / rate) + 2, 20_001)
    density = shape * np.log(rate) - gammaln(shape) + shape * t - rate * np.exp(t)
    return float(logsumexp(density + log_of(np.exp(t))) + np.log(t[1] - t[0]))


def mixture_log_weight(
    log_lik: Callable[[NDArray[np.int64]], float], concentration: Concentration, prior: str
) -> Callable[[State], float]:
    """Log weight of a partition from the log likelihood of its labels."""

    def log_weight(state: State) -> float:
        z = np.array(state[0])
        return float(_log_prior(concentration, prior, z) + log_lik(z))

    return log_weight


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


def _log_prior(concentration: Concentration, prior: str, z: NDArray[np.int64]) -> float:
    """Log weight of a partition, up to a constant: 0 (uniform), that of the Chinese restaurant process, or what any
    other prior gives as its ``log_probability``."""
    sizes = np.bincount(z)
    if prior == "uniform":
        return 0.0
    if prior != "crp":
        assert not isinstance(concentration, tuple)
        chosen = specification(prior)
        return float(priors()[chosen.name].log_probability(sizes, concentration, **dict(chosen.options)))
    total = float(gammaln(sizes).sum())
    if isinstance(concentration, tuple):
        return total + _log_moment(len(sizes), len(z), *concentration)
    return total + len(sizes) * float(np.log(concentration))


@cache
def _log_moment(K: int, N: int, shape: float, rate: float) -> float:
    """log of the integral of c^K Gamma(c)/Gamma(c + N) against a gamma density of c.

    The trapezoidal rule in log c: the integrand is analytic and log-concave there, so the error falls exponentially in
    the number of points. At both ends it has fallen by exp(-40) at least, by the bounds of its slope.
    """
    harmonic = (1 / np.arange(1, N)).sum()
    low = np.log(shape / (2 * (rate + harmonic))) - 80 / shape
    high = np.log((4 * (shape + N) + 100) / rate)
    step = min(0.1, 0.25 / np.sqrt(shape + N))
    t = np.linspace(low, high, int((high - low) / step) + 2)
    c = np.exp(t)
    density = shape * np.log(rate) - gammaln(shape) + shape * t - rate * c
    crp = (K - 1) * t - np.log(c[:, None] + np.arange(1, N)).sum(axis=1)
    return float(logsumexp(density + crp) + np.log(t[1] - t[0]))


def normalise(log_weights: Any) -> NDArray[np.float64]:
    """Probabilities from log weights."""
    w = np.asarray(log_weights, dtype=float)
    p = np.exp(w - w.max())
    return p / p.sum()
