"""Posteriors of a few records by brute force: every true value, and shares of distorted cells by quadrature."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_jacobi

from splitmerge_cli.core.hyperpriors import Beta
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.options import read_options
from splitmerge_cli.data.dataset import ColumnType
from splitmerge_cli.kinds.records.similar_values import UNSEEN, near_values
from splitmerge_cli.verify.cases import Case, OwnCase, mixture_case
from splitmerge_cli.verify.enumerate import Concentration, State, mixture_log_weight, mixture_states

Values = float | NDArray[np.float64]
"""One value, or many."""
NODES = 12
"""Values at which a beta prior is summed: exact for polynomials of degree 23."""


def slips_of(field: Any, similarity: str = "edit", strength: float = 2.0) -> NDArray[np.float64]:
    """w(x | y) of a field, float64 ``[V, V]``: row y, column x; zeros if no value is near another."""
    begin, other, weight = near_values(field.levels, field.type, similarity, strength)
    number, edits = UNSEEN.get(field.type, (0, 0))
    unseen = number * np.exp(-strength * edits)
    slips = np.zeros((len(field.levels), len(field.levels)))
    for y in range(len(field.levels)):
        near = slice(begin[y], begin[y + 1])
        slips[y, other[near]] = weight[near] / (weight[near].sum() + unseen)
    return slips


def probabilities(
    shares: NDArray[np.float64], slips: NDArray[np.float64], distortion: Values, similar: Values
) -> NDArray[np.float64]:
    """P(x | y) of a field, float64 ``[V, V]``: row y, column x. At many nodes, ``[n, V, V]``: `shares` is
    ``[n, 1, V]``, the others are ``[n, 1, 1]``."""
    psi = similar * slips + (1.0 - similar) * shares if slips.any() else shares
    return distortion * psi + (1.0 - distortion) * np.eye(shares.shape[-1])


def records_log_weight(
    values: NDArray[np.int32],
    fields: Sequence[Any],
    sources: NDArray[np.int32] | None,
    concentration: Concentration,
    *,
    prior: str,
    distortion: float | Beta,
    similar: float | Beta,
    frequencies: float = 0.0,
    **compared: Any,
) -> Callable[[State], float]:
    """Log weight of a state: shares of distorted cells that have a beta prior are integrated out, and so is how often
    each value is true, where it has a Dirichlet prior. `compared`: how values are, for `slips_of`."""
    tables = []
    for f, field in enumerate(fields):
        known = values[values[:, f] >= 0, f]
        shares = np.bincount(known, minlength=len(field.levels)) / len(known)
        grid = list(product(share_nodes(distortion), share_nodes(similar), simplex_nodes(shares, frequencies)))
        slips = slips_of(field, **compared)
        phi, a, b = (np.array([node[t][0] for node in grid]) for t in (2, 0, 1))
        by_node = probabilities(phi[:, None, :], slips, a[:, None, None], b[:, None, None])
        weight = np.array([u * v * w for (_, u), (_, v), (_, w) in grid])
        tables.append((phi, by_node, weight))

    def log_lik(z: NDArray[np.int64]) -> float:
        if sources is not None and len(set(zip(z.tolist(), sources.tolist(), strict=True))) < len(z):
            return -np.inf
        total = 0.0
        for f, (phi, P, weight) in enumerate(tables):
            by_node = np.ones(len(weight))
            for k in set(z.tolist()):
                own = values[z == k, f]
                by_node *= (P[:, :, own[own >= 0]].prod(axis=2) * phi).sum(axis=1)
            total += float(np.log(weight @ by_node))
        return total

    return mixture_log_weight(log_lik, concentration, prior)


def share_nodes(share: float | Beta) -> list[tuple[float, float]]:
    """Values of a share and their weights, which sum to 1; a share that is fixed has one."""
    if not isinstance(share, Beta):
        return [(float(share), 1.0)]
    x, weight = roots_jacobi(NODES, share.b - 1.0, share.a - 1.0)
    return list(zip((1.0 + x) / 2.0, weight / weight.sum(), strict=True))


def simplex_nodes(shares: NDArray[np.float64], frequencies: float) -> list[tuple[NDArray[np.float64], float]]:
    """Vectors phi and their weights, which sum to 1, for a symmetric Dirichlet prior: a stick is broken at nodes of
    beta distributions. Without a prior there is one, `shares`."""
    if frequencies == 0.0:
        return [(shares, 1.0)]
    nodes = [(np.empty(0), 1.0, 1.0)]
    for v in range(len(shares) - 1, 0, -1):
        pieces = share_nodes(Beta(frequencies, frequencies * v))
        nodes = [(np.append(phi, x * rest), rest * (1.0 - x), w * u) for phi, rest, w in nodes for x, u in pieces]
    return [(np.append(phi, rest), w) for phi, rest, w in nodes]


def records_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` records of a name, some near each other, a word and a number, with missing cells unless ``complete``; with
    ``sources`` of two files. Neither is an option of the model."""
    options: dict[str, Any] = {"concentration": 1.3, "prior": "crp", "distortion": "beta(2,6)", "similar": "beta(2,3)"}
    options |= {"similarity": "edit", "strength": 2.0} | dict(params)
    complete = options.pop("complete", False)
    sources = np.arange(size, dtype=np.int32) % 2 if options.pop("sources", False) else None
    words = (("kathrine", "katrin", "katrine"), ("x", "y", "z"), ("1961", "1962", "2024"))
    rng = np.random.default_rng(seed)
    values = rng.integers(3, size=(size, 3)).astype(np.int32)
    values[0], values[1, :2], values[-1] = 0, 1, (2, 0 if complete else -1, 1)
    types = ("string", "categorical", "number")
    names = [tuple(levels[code] for code in np.unique(values[:, f]) if code >= 0) for f, levels in enumerate(words)]
    fields = tuple(ColumnType(kind, levels) for kind, levels in zip(types, names, strict=True))
    for f in range(3):
        known = values[:, f] >= 0
        values[known, f] = np.unique(values[known, f], return_inverse=True)[1]
    another = partial(build, values, fields, sources, **options)
    read: dict[str, Any] = read_options("model", build.OPTIONS, options)  # type: ignore[attr-defined]
    shares = {key: read[key] for key in ("distortion", "similar", "frequencies")}
    held = {key: getattr(share, "mean", share) for key, share in shares.items()} | {"frequencies": 0.0}
    compared = {key: options[key] for key in ("similarity", "strength")}
    weigh = partial(records_log_weight, values, fields, sources, prior=options["prior"], **compared)
    integrated = partial(weigh, **shares) if held != shares else None
    return mixture_case(another, mixture_states(size), partial(weigh, **held), options, "records", integrated)


CASES: dict[str, OwnCase] = {
    "Records": (
        records_case,
        [
            {},
            {"distortion": 0.2, "similar": 0.7, "frequencies": 0, "concentration": "gamma(2,1)"},
            {"sources": True},
        ],
    ),
}
