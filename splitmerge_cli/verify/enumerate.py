"""Small posteriors by enumeration, from formulas of their own: nothing here calls a model's compiled likelihood.

A *state* is ``(labels, K)``: cluster of each item, numbered by first appearance, and the number of clusters kept (EMM:
with the empty ones).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

State = tuple[tuple[int, ...], int]


def partitions(n: int) -> Iterator[tuple[int, ...]]:
    """Every partition of n items, as labels numbered by first appearance."""

    def extend(prefix: tuple[int, ...], used: int) -> Iterator[tuple[int, ...]]:
        if len(prefix) == n:
            yield prefix
            return
        for k in range(used + 1):
            yield from extend((*prefix, k), max(used, k + 1))

    yield from extend((), 0)


def state_of(labels: NDArray[np.int32], K: int) -> State:
    """The state of a model's labels: clusters numbered by first appearance."""
    number: dict[int, int] = {}
    return tuple(number.setdefault(int(k), len(number)) for k in labels), K


def emm_states(n: int, kmax: int) -> list[State]:
    """Every state of an entity/mention model: partitions with 0 or more empty entities."""
    return [(p, K) for p in partitions(n) for K in range(max(p) + 1, kmax + 1)]


def mixture_states(n: int) -> list[State]:
    """Every state of a mixture without empty clusters."""
    return [(p, max(p) + 1) for p in partitions(n)]


def emm_log_weight(
    tokens: NDArray[np.int32], n_tokens: int, alpha: float, mu: float, sigma: float, labels: str
) -> Callable[[State], float]:
    """Log weight of unlabelled states: pi(K, S) K! / (K - T)!, T entities that hold mentions.

    ``labels`` 'partition' divides by K!, 'literal' multiplies by 2^K / K!. Source: mathematics of paper 000, section
    3.1.
    """

    def log_weight(state: State) -> float:
        z, K = np.array(state[0]), state[1]
        T = z.max() + 1
        total = -np.log(K) - (np.log(K) - mu) ** 2 / (2 * sigma**2) - len(z) * np.log(K)
        total += gammaln(K + 1) - gammaln(K - T + 1)
        if labels in ("partition", "literal"):
            total -= gammaln(K + 1)
        if labels == "literal":
            total += K * np.log(2)
        for k in range(T):
            n = np.bincount(tokens[z == k], minlength=n_tokens)
            total += gammaln(n_tokens * alpha) - gammaln(n_tokens * alpha + n.sum())
            total += (gammaln(alpha + n) - gammaln(alpha)).sum()
        return float(total)

    return log_weight


def bernoulli_log_weight(
    x: NDArray[np.uint8], concentration: float, beta1: float, beta0: float, prior: str
) -> Callable[[State], float]:
    """Log weight of partitions of a Bernoulli mixture."""

    def log_weight(state: State) -> float:
        z = np.array(state[0])
        total = 0.0
        for k in range(z.max() + 1):
            rows = x[z == k]
            ones = rows.sum(axis=0, dtype=float)
            zeros = len(rows) - ones
            total += (gammaln(ones + beta1) + gammaln(zeros + beta0) - gammaln(len(rows) + beta1 + beta0)).sum()
            total -= x.shape[1] * (gammaln(beta1) + gammaln(beta0) - gammaln(beta1 + beta0))
            if prior == "crp":
                total += np.log(concentration) + gammaln(len(rows))
        return float(total)

    return log_weight


def normalise(log_weights: Any) -> NDArray[np.float64]:
    """Probabilities from log weights."""
    w = np.asarray(log_weights, dtype=float)
    p = np.exp(w - w.max())
    return p / p.sum()
