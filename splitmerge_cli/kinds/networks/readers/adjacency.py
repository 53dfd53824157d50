"""Simple undirected graphs: the adjacency matrix, and the part of a graph that is kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.values import MAGNITUDE, numbered_labels, require
from splitmerge_cli.extras import sparse
from splitmerge_cli.kinds.networks.data import Relations

Nodes = NDArray[np.int64]
"""Numbers of nodes, int64 ``[edges]``."""


def adjacency(N: int, i: Nodes, j: Nodes) -> "sparse.csr_array":
    """Adjacency matrix of `N` nodes, uint8 ``[N, N]`` as `Dataset` has it; `i` and `j`: the ends of every edge, where
    every pair i < j or i > j stands once.
    """
    ones = np.ones(2 * len(i), dtype=np.uint8)
    # half the memory of int64
    one, other = i.astype(np.int32), j.astype(np.int32)
    matrix = sparse.csr_array((ones, (np.concatenate([one, other]), np.concatenate([other, one]))), shape=(N, N))
    matrix.sort_indices()
    return matrix


def simple_graph(relations: Relations) -> "sparse.csr_array":
    """The simple undirected network of the pairs that any layer joins, uint8 ``[N, N]`` as `Dataset` has it."""
    i, j = np.concatenate([layer.ends for layer in relations.layers]).astype(np.int64).T
    code = distinct((np.minimum(i, j) * relations.N + np.maximum(i, j))[i != j])
    return adjacency(relations.N, *np.divmod(code, relations.N))


def distinct(codes: Nodes) -> Nodes:
    """The different ones of these numbers, ascending; the hash table of `numpy.unique` takes several times as long."""
    ordered = np.sort(codes)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


@dataclass(frozen=True)
class Merged:
    """The edges of a simple graph (i < j, ascending), made of rows that may repeat, reverse or tie a node to itself.

    ``counts`` says what was left out: ``self_loops`` (rows), ``repeated`` and ``reversed`` (further rows of a pair, in
    the direction of its first row and in the other), ``below_threshold`` (pairs).
    """

    i: Nodes
    j: Nodes
    counts: dict[str, int]


def merge(
    N: int, source: Nodes, target: Nodes, weight: NDArray[np.float64] | None = None, threshold: float = 0.0
) -> Merged:
    """Merge listed edges into a simple graph of N nodes.

    Herlau et al. 2014 prepare its networks so: the transpose is added, what is not above the threshold and the
    diagonal are dropped. A pair is an edge if the weights (float64 ``[rows]``, not negative, by default 1) of its
    rows, in both directions, add up to more than the threshold.
    """
    loop = source == target
    source, target = source[~loop], target[~loop]
    code = np.minimum(source, target) * N + np.maximum(source, target)
    pair, first, which = np.unique(code, return_index=True, return_inverse=True)
    forward = source < target
    against = int((forward != forward[first][which]).sum())
    total = np.bincount(which, None if weight is None else weight[~loop], len(pair))
    is_edge = total > threshold
    counts = {
        "self_loops": int(loop.sum()),
        "repeated": len(code) - len(pair) - against,
        "reversed": against,
        "below_threshold": int((~is_edge).sum()),
    }
    i, j = np.divmod(pair[is_edge], N)
    return Merged(i, j, counts)


def check_kept(scale: float, N: int | None) -> None:
    """Raise a `DataError` unless `scale` and `N` say which part of a graph is kept, as in `keep`."""
    require(0 < scale <= 1, "data.scale", scale, "a number above 0, at most 1")
    require(N is None or scale == 1, "data.scale", scale, f"1 with N={N}: each sets how many nodes are kept")


def keep(graph: Dataset, scale: float = 1.0, N: int | None = None) -> Dataset:
    """The nodes of highest degree, and the edges between them; `graph` itself if all nodes are kept.

    Source: Herlau et al., section 3.3: nodes in descending order of degree, nodes of equal degree in descending order
    of their number. The kept nodes stay in their original order; true labels are renumbered. A share of
    them (`scale`: round(scale n)) or N of them are kept; a `DataError` if these are out of range, or both given.
    """
    check_kept(scale, N)
    require(N is None or 1 <= N <= graph.N, "N", N, f"a whole number from 1 to {graph.N}, the number of nodes, or null")
    m = round(scale * graph.N) if N is None else N
    require(m >= 1, "data.scale", scale, f"a share that keeps at least one of {graph.N} nodes")
    if m == graph.N:
        return graph
    degree = np.diff(graph.values.indptr)
    nodes = np.sort(np.lexsort((np.arange(graph.N), degree))[graph.N - m :])
    values = graph.values[nodes][:, nodes]
    values.sort_indices()
    parts: dict[str, Any] = {"values": values, "meta": graph.meta | {"kept": m, "of": graph.N} | sizes(values)}
    if graph.truth is not None:
        parts["truth"] = numbered_labels([None if label < 0 else label for label in graph.truth[nodes]])
    if graph.names is not None:
        parts["names"] = [graph.names[node] for node in nodes]
    if graph.relations is not None:
        parts["relations"] = graph.relations.take(nodes)
        parts["meta"]["edges"] = sum(len(layer.ends) for layer in parts["relations"].layers)
    return replace(graph, **parts)


def sizes(matrix: "sparse.csr_array") -> dict[str, int]:
    """Numbers of nodes, edges and nodes without an edge."""
    isolated = int((np.diff(matrix.indptr) == 0).sum())
    return {"nodes": matrix.shape[0], "edges": matrix.nnz // 2, "isolated": isolated}


def read_weights(weights: Sequence[Any] | NDArray[Any]) -> tuple[NDArray[np.float64], int | None]:
    """Weights of edges as numbers, and the position of the first that is none; None if all are weights.

    Words, complex numbers, missing, negative and infinite ones are no weights; they become NaN or stay as they are.
    """
    values = np.asarray(weights)
    numbers = values.astype(np.float64) if values.dtype.kind in "biuf" else np.array(list(map(_number, weights)))
    with np.errstate(invalid="ignore"):
        good = (numbers >= 0) & (numbers <= MAGNITUDE)
    return numbers, None if good.all() else int(np.argmin(good))


def _number(value: Any) -> float:
    try:
        return np.nan if isinstance(value, str | bytes | complex | np.complexfloating) else float(value)
    except (TypeError, ValueError):
        return np.nan
