"""Posteriors of a few records by brute force: every true value, and shares of distorted cells by quadrature."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_jacobi

from splitmerge_cli.core.hyperpriors import Beta
from splitmerge_cli.models.similar_values import near_values
from splitmerge_cli.verify.enumerate import Concentration, State, mixture_log_weight

NODES = 12
"""Of a beta prior: exact for polynomials of degree 23."""


def probabilities(
    shares: NDArray[np.float64], levels: Sequence[str], kind: str, distortion: float, similar: float
) -> NDArray[np.float64]:
    """P(x | y) of a field, float64 ``[V, V]``: row y, column x."""
    begin, other, weight = near_values(levels, kind)
    P = np.empty((len(levels), len(levels)))
    for y in range(len(levels)):
        near = slice(begin[y], begin[y + 1])
        slips = np.zeros(len(levels))
        slips[other[near]] = weight[near]
        psi = similar * slips / slips.sum() + (1.0 - similar) * shares if slips.any() else shares
        P[y] = distortion * psi
        P[y, y] += 1.0 - distortion
    return P


def records_log_weight(
    values: NDArray[np.int32],
    fields: Sequence[Any],
    sources: NDArray[np.int32] | None,
    concentration: Concentration,
    *,
    prior: object,
    distortion: float | Beta,
    similar: float | Beta,
) -> Callable[[State], float]:
    """Log weight of a state: shares of distorted cells that have a beta prior are integrated out."""
    tables = []
    for f, field in enumerate(fields):
        known = values[values[:, f] >= 0, f]
        shares = np.bincount(known, minlength=len(field.levels)) / len(known)
        grid = list(product(_nodes(distortion), _nodes(similar)))
        by_node = [probabilities(shares, field.levels, field.type, a[0], b[0]) for a, b in grid]
        tables.append((shares, np.array(by_node), np.array([a[1] * b[1] for a, b in grid])))

    def log_lik(z: NDArray[np.int64]) -> float:
        if sources is not None and len(set(zip(z.tolist(), sources.tolist(), strict=True))) < len(z):
            return -np.inf
        total = 0.0
        for f, (shares, P, weight) in enumerate(tables):
            by_node = np.ones(len(weight))
            for k in set(z.tolist()):
                own = values[z == k, f]
                by_node *= P[:, :, own[own >= 0]].prod(axis=2) @ shares
            total += float(np.log(weight @ by_node))
        return total

    return mixture_log_weight(log_lik, concentration, prior)


def _nodes(share: float | Beta) -> list[tuple[float, float]]:
    """Values of a share and their weights; a share that is fixed has one."""
    if not isinstance(share, Beta):
        return [(float(share), 1.0)]
    x, weight = roots_jacobi(NODES, share.b - 1.0, share.a - 1.0)
    return list(zip((1.0 + x) / 2.0, weight / weight.sum(), strict=True))
