"""Enumerated distributions that released programs draw from: partitions, or topic counts, under their own models."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln, logsumexp

from splitmerge_cli.verify import enumerate as exact
from splitmerge_cli.verify.large_posteriors import cases

LogWeight = Callable[[exact.State], float]


@dataclass(frozen=True)
class Distribution:
    """States with their probabilities.

    Attributes
    ----------
    number : dict
        Place of each state in the arrays.
    probability : ndarray of float
    clusters : ndarray of int
        Clusters, or topics, that hold an item.
    key : callable
        The state of a draw as the program gives it.
    """

    number: dict[Hashable, int]
    probability: NDArray[np.float64]
    clusters: NDArray[np.int64]
    key: Callable[[Any], Hashable]

    def find(self, chains: Sequence[Sequence[Any]]) -> NDArray[np.int64]:
        """Places of draws, ``[chains, draws]``.

        Raises
        ------
        KeyError
            A draw that is no state.
        """
        return np.array([[self.number[self.key(draw)] for draw in draws] for draws in chains])


def labels_key(labels: ArrayLike) -> Hashable:
    """Labels from 0 by first appearance."""
    return exact.state_of(labels, 0)[0]


def counts_key(topics: Iterable[Sequence[int]]) -> Hashable:
    """Topics that hold a token, without order; each with its tokens of every document, then of every word."""
    return tuple(sorted(tuple(map(int, topic)) for topic in topics if any(topic)))


def of_partitions(N: int, log_weight: LogWeight) -> Distribution:
    """Over all partitions of N items."""
    states = exact.mixture_states(N)
    p = exact.normalise([log_weight(state) for state in states])
    clusters = np.array([state[1] for state in states])
    return Distribution({state[0]: i for i, state in zip(range(len(p)), states, strict=True)}, p, clusters, labels_key)


def of_case(id: str) -> Distribution:
    """Return the distribution of a ``smcmc posteriors`` case."""
    case = next(case for case in cases() if case.id == id)
    return of_partitions(case.n_items, case.log_weight)


def of_entropy(partitions: Sequence[tuple[int, ...]], entropy: ArrayLike) -> Distribution:
    """Probability in proportion to exp(-entropy); of partitions, not of their numberings."""
    p = exact.normalise(-np.asarray(entropy, dtype=float))
    clusters = np.array([max(z) + 1 for z in partitions])
    return Distribution({z: i for i, z in zip(range(len(p)), partitions, strict=True)}, p, clusters, labels_key)


def _numberings(K: int, T: int) -> float:
    """log of the ways to give T clusters different labels out of K; none if there are not as many."""
    return float(gammaln(K + 1) - gammaln(K - T + 1)) if T <= K else -np.inf


def finite_topics(docs: Sequence[int], words: Sequence[int], V: int, K: int, alpha: float, eta: float) -> LogWeight:
    """Return the log weight of token partitions into at most K topics, all weights summed out (LDA).

    Parameters
    ----------
    docs, words : sequence of int, length N
    V, K : int
        Words, topics.
    alpha, eta : float
        Pseudo-counts of each topic in a document, of each word in a topic.
    """
    j, w = np.asarray(docs), np.asarray(words)

    def log_weight(state: exact.State) -> float:
        z = np.array(state[0])
        total = _numberings(K, state[1])
        for k in range(state[1]):
            n = np.bincount(w[z == k], minlength=V)
            total += gammaln(V * eta) - gammaln(V * eta + n.sum()) + (gammaln(eta + n) - gammaln(eta)).sum()
            total += (gammaln(alpha + np.bincount(j[z == k])) - gammaln(alpha)).sum()
        return float(total)

    return log_weight


def of_counts(docs: Sequence[int], words: Sequence[int], V: int, log_weight: LogWeight) -> Distribution:
    """Distribution of each topic's counts, from the distribution of partitions of tokens."""
    partitions, j, w = of_partitions(len(docs), log_weight), np.asarray(docs), np.asarray(words)
    weight: dict[Hashable, float] = {}
    clusters: dict[Hashable, int] = {}
    for labels, index in partitions.number.items():
        z = np.array(labels)
        K = int(partitions.clusters[index])
        of_topic = [
            [*np.bincount(j[z == k], minlength=max(docs) + 1), *np.bincount(w[z == k], minlength=V)] for k in range(K)
        ]
        key = counts_key(of_topic)
        weight[key] = weight.get(key, 0.0) + partitions.probability[index]
        clusters[key] = K
    number = {key: i for i, key in zip(range(len(weight)), weight, strict=True)}
    return Distribution(number, np.array(list(weight.values())), np.array(list(clusters.values())), counts_key)


def finite_bernoulli(x: ArrayLike, K: int, a: float, beta1: float, beta0: float) -> LogWeight:
    """Return the log weight of partitions under a mixture of K components, for rows of 0 and 1.

    Parameters
    ----------
    x : array of int, shape (N, D)
    K : int
    a : float
        Pseudo-count of each component in the symmetric Dirichlet of their weights.
    beta1, beta0 : float
        Of ones and zeros.
    """
    return finite(exact.bernoulli_log_weight(x, 1.0, beta1, beta0, "uniform"), K, a)


def finite(log_lik: LogWeight, K: int, a: float) -> LogWeight:
    """Return the log weight of partitions under a mixture of K components, from the log likelihood of a state.

    Parameters
    ----------
    log_lik : callable
        Parameters of the components integrated out: a log weight under the uniform prior.
    K : int
    a : float
        Pseudo-count of each component in the symmetric Dirichlet of their weights.
    """

    def log_weight(state: exact.State) -> float:
        sizes = np.bincount(state[0])
        return float(_numberings(K, state[1]) + (gammaln(a + sizes) - gammaln(a)).sum() + log_lik(state))

    return log_weight


def pitman_yor(log_lik: LogWeight, discount: float, concentration: float) -> LogWeight:
    """Return the log weight of partitions under a Pitman-Yor process, from the log likelihood of a state.

    Source: Pitman (1995), Exchangeable and partially exchangeable random partitions, equation 16.
    """

    def log_weight(state: exact.State) -> float:
        sizes = np.bincount(state[0])
        new = np.log(concentration + discount * np.arange(1, state[1])).sum()
        return float(new + (gammaln(sizes - discount) - gammaln(1.0 - discount)).sum() + log_lik(state))

    return log_weight


def half_normal_log_lik(x: ArrayLike, tau: float, scale: float) -> LogWeight:
    """Return the log likelihood of partitioned numbers: means N(0, tau^2), standard deviations half-normal of `scale`.

    The trapezoidal rule in the logarithm of the deviation, in which the integrand is smooth and falls at both ends.
    """
    values = np.asarray(x, dtype=float).ravel()
    places = np.linspace(-30.0, np.log(12.0 * scale), 4001)
    sigma = np.exp(places)
    log_density = np.log(2.0) - 0.5 * np.log(2.0 * np.pi) - np.log(scale) - 0.5 * (sigma / scale) ** 2 + places

    @cache
    def log_marginal(items: tuple[int, ...]) -> float:
        y, n = values[list(items)], len(items)
        v = sigma**2
        # of v I + tau^2 1 1'
        log_det = (n - 1) * np.log(v) + np.log(v + n * tau**2)
        quadratic = (y @ y - tau**2 * y.sum() ** 2 / (v + n * tau**2)) / v
        terms = log_density - 0.5 * (n * np.log(2.0 * np.pi) + log_det + quadratic)
        return float(logsumexp(terms) + np.log(places[1] - places[0]))

    def log_lik(state: exact.State) -> float:
        z = np.array(state[0])
        return sum(log_marginal(tuple(np.flatnonzero(z == k).tolist())) for k in range(state[1]))

    return log_lik


@dataclass(frozen=True)
class Grids:
    """Prior of bayesm's rDPGibbs: its limits, and `size` points of each hyper-parameter.

    Attributes
    ----------
    a, log_nu, v : (float, float)
        Of mu ~ N(0, Sigma/a), Sigma ~ InvWishart(nu, nu v I), nu = D - 1 + exp(log_nu).
    clusters : (float, float)
        Istarmin, Istarmax, from which the limits of the concentration follow.
    power : float
        The concentration c has a density in proportion to (1 - (c - cmin)/(cmax - cmin))^power.
    size : int
    """

    a: tuple[float, float]
    log_nu: tuple[float, float]
    v: tuple[float, float]
    clusters: tuple[float, float]
    power: float = 0.8
    size: int = 20

    def numbers(self) -> list[float]:
        """As the script of R takes them."""
        return [*self.a, *self.log_nu, *self.v, *self.clusters, self.power, self.size]


def bayesm(x: ArrayLike, grids: Grids) -> LogWeight:
    """Return the log weight of partitions under the model of rDPGibbs, hyper-parameters summed over their grids.

    Source: the documentation of rDPGibbs in bayesm; Murphy, Conjugate Bayesian analysis of the Gaussian distribution
    (2007), equation 266.
    """
    y = np.asarray(x, dtype=float)
    N, D = y.shape
    low, high = (np.exp(digamma(largest)) / (np.euler_gamma + np.log(N)) for largest in grids.clusters)
    c = np.linspace(low, high - 1e-6, grids.size)
    log_c = grids.power * np.log1p(-(c - low) / (high - low)) + gammaln(c) - gammaln(c + N)

    def points(limits: tuple[float, float]) -> NDArray[np.float64]:
        return np.linspace(*limits, grids.size if limits[0] < limits[1] else 1)

    a, nu, v = (
        grid.ravel() for grid in np.meshgrid(points(grids.a), D - 1 + np.exp(points(grids.log_nu)), points(grids.v))
    )
    weight_by_partition: dict[tuple[int, ...], NDArray[np.float64]] = {}

    def log_marginal(items: tuple[int, ...]) -> NDArray[np.float64]:
        if items not in weight_by_partition:
            rows = y[list(items)]
            n, mean = len(rows), rows.mean(axis=0)
            scatter = (rows - mean).T @ (rows - mean)
            psi = scatter + (a * n / (a + n))[:, None, None] * np.outer(mean, mean)
            psi = psi + (nu * v)[:, None, None] * np.eye(D)
            total = multigammaln_of((nu + n) / 2, D) - multigammaln_of(nu / 2, D) + D / 2 * np.log(a / (a + n))
            total += nu / 2 * D * np.log(nu * v) - (nu + n) / 2 * np.linalg.slogdet(psi)[1]
            weight_by_partition[items] = total - n * D / 2 * np.log(np.pi)
        return weight_by_partition[items]

    def log_weight(state: exact.State) -> float:
        z, K = np.array(state[0]), state[1]
        log_lik = sum(log_marginal(tuple(np.flatnonzero(z == k).tolist())) for k in range(K))
        sizes = np.bincount(z)
        return float(logsumexp(log_c + K * np.log(c)) + gammaln(sizes).sum() + logsumexp(log_lik))

    return log_weight


def multigammaln_of(values: NDArray[np.float64], D: int) -> NDArray[np.float64]:
    """log of the multivariate gamma function of each value."""
    halves = np.arange(D) / 2
    return D * (D - 1) / 4 * np.log(np.pi) + gammaln(values[:, None] - halves).sum(axis=1)
