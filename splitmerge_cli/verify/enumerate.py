"""Small posteriors by enumeration, from formulas of their own: nothing here calls a model's compiled likelihood, nor a
prior's tables and weights.

A *state* is ``(labels, K)``: cluster of each item, numbered by first appearance, and the number of clusters kept (EMM:
with the empty ones). A model that keeps parameters has ``(labels, K, parameters)``, with a tuple of numbers per
cluster, in the order of their first appearance. A *concentration* is a number, or the pair (shape, rate) of a gamma
density over which it is integrated, or the present values of a prior's hyper-parameters by name; the scale b0 and the
weight kappa0 of a normal mixture are numbers or such pairs, too, the rate of b0 a number or one for each column.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln, logsumexp

from splitmerge_cli.core.hyperpriors import Beta, CountPrior, from_line, log_density_on_line
from splitmerge_cli.core.options import Gamma
from splitmerge_cli.priors import priors, specification

Parameters = tuple[tuple[float, ...], ...]
State = tuple[tuple[int, ...], int] | tuple[tuple[int, ...], int, Parameters]
Hyper = float | tuple[float, float]
Concentration = Hyper | Mapping[str, float]
LARGEST = 100
"""Number of components up to which probabilities are summed."""
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
    """The state of a model's labels ``[N]``: clusters numbered by first appearance. `parameters` has a row for each
    cluster, in the order of the model's list; they are put in the order of first appearance."""
    number: dict[int, int] = {}
    renumbered = tuple(number.setdefault(int(k), len(number)) for k in np.asarray(labels))
    if parameters is None:
        return renumbered, K
    return renumbered, K, tuple(tuple(float(value) for value in parameters[k]) for k in number)


def emm_states(n: int, kmax: int) -> list[State]:
    """Every state of `emm`: partitions with 0 or more empty clusters."""
    return [(p, K) for p in partitions(n) for K in range(max(p) + 1, kmax + 1)]


def mixture_states(n: int) -> list[State]:
    """Every state of a mixture without empty clusters."""
    return [(p, max(p) + 1) for p in partitions(n)]


def candidates_states(n: int, candidates: Sequence[Sequence[float]]) -> list[State]:
    """Every state of a mixture without empty clusters whose clusters each keep one of finitely many parameters."""
    lines = [tuple(float(value) for value in line) for line in candidates]
    return [
        (p, max(p) + 1, parameters) for p in partitions(n) for parameters in itertools.product(lines, repeat=max(p) + 1)
    ]


def emm_log_weight(
    tokens: NDArray[np.int32], n_tokens: int, alpha: float, mu: float, sigma: float, label_prior: str
) -> Callable[[State], float]:
    """Log weight of unlabelled states: pi(K, S) K! / (K - T)!, T clusters that hold items.

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
    x: ArrayLike, concentration: Concentration, beta1: float, beta0: float, prior: str, power: float = 1.0
) -> Callable[[State], float]:
    """Log weight of a partition under a Bernoulli mixture, the probability of every cell to this power; a missing cell
    (NaN) has no factor."""
    values = np.asarray(x, dtype=float)

    def log_lik(z: NDArray[np.int64]) -> float:
        total = 0.0
        for k in range(z.max() + 1):
            rows = values[z == k]
            ones, zeros = power * (rows == 1).sum(axis=0), power * (rows == 0).sum(axis=0)
            total += (gammaln(ones + beta1) + gammaln(zeros + beta0) - gammaln(ones + zeros + beta1 + beta0)).sum()
            total -= values.shape[1] * (gammaln(beta1) + gammaln(beta0) - gammaln(beta1 + beta0))
        return total

    return mixture_log_weight(log_lik, concentration, prior)


def multinomial_log_weight(
    x: ArrayLike, concentration: Concentration, alpha: float, prior: str, power: float = 1.0
) -> Callable[[State], float]:
    """Log weight of partitioned counts ``[N, D]``: multinomials to a power whose shares are integrated out; alpha is
    the pseudo-count of every column.

    Source: Gelman et al. 2013, section 3.4, with the sums of a cluster weighted by the power.
    """
    counts = np.asarray(x, dtype=float)
    pseudo = np.full(counts.shape[1], float(alpha))
    ways = power * float((gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)).sum())

    def log_lik(z: NDArray[np.int64]) -> float:
        total = ways
        for k in range(z.max() + 1):
            sums = pseudo + power * counts[z == k].sum(axis=0)
            total += gammaln(pseudo.sum()) - gammaln(sums.sum()) + gammaln(sums).sum() - gammaln(pseudo).sum()
        return float(total)

    return mixture_log_weight(log_lik, concentration, prior)


def irm_log_weight(
    adjacency: ArrayLike, concentration: Concentration, beta1: float, beta0: float, prior: str
) -> Callable[[State], float]:
    """Log weight of a partition under a graph's block model, edge probabilities integrated out: beta1 and beta0 are
    pseudo-counts of edges and of missing edges. The matrix has 1 where there is an edge: symmetric, with an empty
    diagonal.

    Source: Herlau et al. 2014, section 3.2, with the sum over k <= k': the printed k < k' leaves out the pairs within.
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


def hdp_log_weight(
    docs: ArrayLike,
    words: ArrayLike,
    V: int,
    gamma: Hyper,
    alpha0: Hyper,
    eta: float,
    log_unseen: float | None = None,
) -> Callable[[State], float]:
    """Log weight of assigning tokens, of documents and words ``[N]``, to topics, the topics' weights summed out.

    With `log_unseen`, log beta_u, the weight is given the share that no topic holds; `gamma` and `alpha0` are then
    numbers.

    Source: docs/derivations-topics.md: tables of the Chinese restaurant franchise, counted by Stirling numbers; beta
    given the number of tables is Dirichlet.
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
def _log_dishes(K: int, m: int, gamma: Hyper) -> float:
    """log of gamma^K Gamma(gamma)/Gamma(gamma + m), or of its integral against a gamma density."""
    if isinstance(gamma, tuple):
        return _log_moment(K, m, *gamma)
    return float(K * np.log(gamma) + gammaln(gamma) - gammaln(gamma + m))


@cache
def _log_tables(m: int, lengths: tuple[int, ...], alpha0: Hyper) -> float:
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
        return float(log_prior(concentration, prior, z) + log_lik(z))

    return log_weight


def log_prior(concentration: Concentration, prior: object, z: NDArray[np.int64]) -> float:
    """Log weight of a partition, up to a constant: 0 (uniform), of the Chinese restaurant process, or what any
    other prior gives as its ``log_probability``."""
    sizes, prior = np.bincount(z), str(prior)
    if prior == "uniform":
        return 0.0
    held = concentration if isinstance(concentration, Mapping) else {}
    concentration = held.get("concentration", 1.0) if isinstance(concentration, Mapping) else concentration
    if prior != "crp":
        return _log_integral(prior, tuple(sizes.tolist()), concentration, tuple(held.items()))
    total = float(gammaln(sizes).sum())
    if isinstance(concentration, tuple):
        return total + _log_moment(len(sizes), len(z), *concentration)
    return total + len(sizes) * float(np.log(concentration))


@cache
def _log_integral(
    prior: str, sizes: tuple[int, ...], concentration: float | tuple[float, float], held: tuple[tuple[str, float], ...]
) -> float:
    """Log weight of a partition by the ``log_probability`` of a prior, its hyper-parameters integrated over their own
    priors, the ones in `held` put at these values.

    The trapezoidal rule on the line on which each is moved, where the integrand is analytic and falls exponentially at
    both ends; of a whole number the sum up to `LARGEST`. The error is below 1e-13 where one hyper-parameter from a
    continuum is integrated out, and about 2e-6 where two are.
    """
    chosen = specification(prior)
    cls = priors()[chosen.name]
    options: dict[str, Any] = dict(chosen.options)
    options["concentration"] = Gamma(*concentration) if isinstance(concentration, tuple) else concentration
    resampled = chosen.build(sum(sizes), options["concentration"]).hyperparameters
    axes = {name: options[name] for name in resampled if name not in dict(held)}
    options |= dict(held)
    one = sum(not isinstance(axis, CountPrior) for axis in axes.values()) == 1
    nodes: list[list[tuple[float, float]]] = []
    for axis in axes.values():
        if isinstance(axis, CountPrior):
            weighed = [(float(m), float(axis.log_probability(m))) for m in range(1, LARGEST + 1)]
        else:
            step, reach, left = (_step_of(axis, sum(sizes)), 230.0, 40.0) if one else (0.75, 36.0, 20.0)
            # where a density of a small shape has fallen by exp(-left)
            reach = max(reach, left / (axis.shape if isinstance(axis, Gamma) else min(axis.a, axis.b)))
            places = (step * np.arange(np.ceil(-reach / step), reach / step)).tolist()
            weighed = [(from_line(axis, t), log_density_on_line(axis, t) + np.log(step)) for t in places]
        nodes.append([(value, log_p) for value, log_p in weighed if log_p > -80.0])
    total = []
    for node in itertools.product(*nodes):
        numbers: dict[str, Any] = options | dict(zip(axes, (value for value, _ in node), strict=True))
        total.append(sum(log_p for _, log_p in node) + float(cls.log_probability(np.array(sizes), **numbers)))
    return float(logsumexp(total))


def _step_of(axis: Gamma | Beta, N: int) -> float:
    """Step of the trapezoidal rule over the density of a hyper-parameter times the probability of N items.

    Along a line at a distance y < pi / 2 above the real one a gamma density falls only like exp(-rate c cos y), while
    the probability of the items may grow like a power of c: near pi / 2 the integrand is large, and the error is
    exp(-2 pi y / step) times about (1 / cos y)^shape at the best y. A step of 0.4 leaves 6e-9 of the integral, 0.2
    leaves 1e-18. No peak is narrower than 1 / sqrt(shape + N / 4). The logit of a beta density has no singularity
    below a distance of pi.
    """
    return min(0.2, 0.7 / np.sqrt(axis.shape + N / 4)) if isinstance(axis, Gamma) else 0.4


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
