"""The posterior mean of the number of entities in the limit of concentration 0, as a reference for figures."""

from math import exp, inf, lgamma, log, perm

import numpy as np


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
