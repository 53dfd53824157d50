"""The posterior mean of the number of entities: in the limit of concentration 0, and at a concentration above it."""

from collections.abc import Sequence
from math import exp, inf, lgamma, log, perm

import numpy as np
from scipy.special import gammaln, logsumexp

CAPS = (60, 100, 300, 1000, 2000, 10_000)
"""Largest K under which the mean is tabled. The paper names none; from 10,000 on the mean no longer changes."""


def mean_K(
    N: int, entities: int, n_tokens: int, kmax: int, mu: float, sigma: float, label_prior: str = "labelled"
) -> float:
    """Posterior mean of K in the limit alpha -> 0, when each of `entities` entities says one token of its own.

    In that limit a cluster of one token has g = 1/L, whatever its size, and one of several has g = 0. So a state with K
    entities, T of them occupied, weighs P(K) K^-N L^-T, and their number is K!/(K-T)! times the number of partitions of
    the mentions into T pure clusters: a coefficient of the product over tokens of sum_j S(n_t, j) x^j, with Stirling
    numbers of the second kind. Counted in exact integers.

    The N mentions are spread evenly, `n_tokens` is the size L of the vocabulary, and the target is the model's
    posterior pi (labelled), pi / K! (partition), or pi 2^K / K! (as_printed).
    """
    pure = np.array([1], dtype=object)
    for e in range(entities):
        row = [1]
        for m in range(N // entities + (e < N % entities)):
            row = [row[j - 1] * (j > 0) + j * (row[j] if j <= m else 0) for j in range(m + 2)]
        pure = np.convolve(pure, np.array(row, dtype=object))[: kmax + 1]
    log_weights = []
    for K in range(1, kmax + 1):
        top = min(K, len(pure) - 1)
        states = sum(pure[T] * perm(K, T) * n_tokens ** (top - T) for T in range(top + 1))
        extra = {"labelled": 0.0, "partition": -lgamma(K + 1), "as_printed": K * log(2) - lgamma(K + 1)}[label_prior]
        prior = -log(K) - (log(K) - mu) ** 2 / (2 * sigma**2)
        log_weights.append(log(states) - top * log(n_tokens) - N * log(K) + prior + extra if states else -inf)
    peak = max(log_weights)
    weights = [exp(w - peak) for w in log_weights]
    return sum(K * w for K, w in enumerate(weights, start=1)) / sum(weights)


def mean_K_by_cap(
    N: int,
    mu: float,
    alpha: float = 0.001,
    caps: Sequence[int] = CAPS,
    tokens: int = 10,
    label_prior: str = "labelled",
) -> list[float]:
    """Posterior mean of K under each cap on K, at a concentration `alpha` of the dictionaries above 0 and sigma = 1,
    with ``N // tokens`` mentions of each token and the location `mu` of the prior of K; `label_prior` as for `mean_K`.

    Summed over the states whose entities have one token each; an entity of two has a factor of the order of `alpha`.
    """
    m = N // tokens
    g = np.cumsum(np.log(alpha + np.arange(m)) - np.log(tokens * alpha + np.arange(m)))
    # log of the sum over partitions of n mentions of a token into j parts of the product of g
    parts = np.full((m + 1, m + 1), -np.inf)
    parts[0, 0] = 0.0
    for n in range(1, m + 1):
        first = np.arange(1, n + 1)  # size of the part of the first mention
        choose = gammaln(n) - gammaln(first) - gammaln(n - first + 1) + g[:n]
        parts[n] = logsumexp(choose[:, None] + np.roll(parts[n - first], 1, axis=1), axis=0)
    pure = np.array([0.0])
    for _ in range(tokens):
        pairs = pure[:, None] + parts[m]
        pure = np.array([logsumexp(np.diag(pairs[:, ::-1], m - t)) for t in range(len(pure) + m)])
    K, T = np.arange(1, max(caps) + 1), np.arange(len(pure))
    log_weights = np.empty(len(K))
    for part in np.array_split(np.arange(len(K)), 1 + len(K) // 2000):
        k = K[part, None]
        numbered = np.where(k >= T, gammaln(k + 1) - gammaln(np.maximum(k - T, 0) + 1), -np.inf)
        log_weights[part] = logsumexp(pure + numbered, axis=1)
    log_weights -= (N + 1) * np.log(K) + (np.log(K) - mu) ** 2 / 2
    if label_prior == "as_printed":
        log_weights += K * log(2) - gammaln(K + 1)
    weights = np.exp(log_weights - log_weights.max())
    return [float(K[:cap] @ weights[:cap] / weights[:cap].sum()) for cap in caps]
