"""Quantities of networks with directions, values, layers or two kinds of nodes, for checks of the model."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.relations import COUNT, REAL, Relation, Relations

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Found = dict[tuple[str, str], float]

RECIPROCITY = "share of edges that go both ways"


def count_edges(relations: Relations) -> int:
    """Edges of all layers."""
    return sum(len(layer.ends) for layer in relations.layers)


def measure_relations(relations: Relations, labels: Labels, names: dict[str, str], lonely: bool) -> Found:
    """Edges, degrees and values of every layer.

    Parameters
    ----------
    relations : Relations
    labels : numpy.ndarray
        int64 ``[N]``, from 0.
    names : dict
        Names of quantities: spread (standard deviation within clusters), closed, dispersion, skewness, kurtosis.
    lonely : bool
        Whether nodes without an edge are counted.
    """
    found: Found = {}
    for layer in relations.layers:
        place = f"{layer.name}: " if layer.name else ""
        for subject, quantity, value in _measure(layer, relations.sides, labels, names):
            found[f"{place}{subject}", quantity] = value
        if lonely:
            found[f"{place}degrees", "nodes without an edge"] = float(relations.N - len(np.unique(layer.ends)))
    return found


def _measure(
    layer: Relation, sides: NDArray[np.int8] | None, labels: Labels, names: dict[str, str]
) -> Iterator[tuple[str, str, float]]:
    """Subject, quantity and value."""
    N, (source, target) = len(labels), layer.ends.T
    yield "edges", "number", float(len(source))
    out, into = (np.bincount(end, layer.weights, N).astype(np.float64) for end in (source, target))
    degrees = {"degrees out": out, "degrees in": into} if layer.directed else {"degrees": out + into}
    for subject, degree in degrees.items():
        size = np.maximum(np.bincount(labels), 1)
        within = degree - (np.bincount(labels, degree) / size)[labels]
        yield subject, names["spread"], math.sqrt(float((within**2).mean()))
        yield subject, "largest", float(degree.max())
    if layer.directed:
        there = source.astype(np.int64) * N + target
        both = np.isin(target.astype(np.int64) * N + source, there) & (source != target)
        yield "edges", RECIPROCITY, float(both.mean()) if len(both) else math.nan
    elif sides is None:
        yield "edges", names["closed"], _transitivity(layer, N)
    yield from _measure_values(layer, sides, labels, names)


def _transitivity(layer: Relation, N: int) -> float:
    """Transitivity: which share of paths of two edges a third one closes."""
    from scipy.sparse import csr_array

    ends = layer.ends[layer.ends[:, 0] != layer.ends[:, 1]]
    places = np.concatenate([ends, ends[:, ::-1]]).T
    edges: Any = csr_array((np.ones(len(places[0])), (places[0], places[1])), shape=(N, N))
    degree = np.diff(edges.indptr).astype(np.float64)
    paths = (degree * (degree - 1)).sum()
    return float((edges @ edges).multiply(edges).sum() / paths) if paths else math.nan


def _measure_values(
    layer: Relation, sides: NDArray[np.int8] | None, labels: Labels, names: dict[str, str]
) -> Iterator[tuple[str, str, float]]:
    """Quantities of counts over pairs, and of real values over edges, each against two blocks."""
    if layer.form == COUNT:
        table = layer.block_table(labels, sides)
        K = len(table.rows)
        squares = layer.sum_blocks(labels, K, layer.ends, layer.weights**2, not layer.directed and sides is None)
        with np.errstate(invalid="ignore", divide="ignore"):
            # each two blocks weigh by their pairs: sum of squares about the mean, over the mean
            ratio = (squares - table.total**2 / table.pairs) / (table.total / table.pairs)
        seen = table.total > 0
        yield "counts", names["dispersion"], float(ratio[seen].sum() / table.pairs[seen].sum())
        yield "counts", "largest", float(layer.weights.max()) if len(layer.ends) else math.nan
    if layer.form == REAL and layer.value is not None and len(layer.value):
        first, second = labels[layer.ends].T
        if not layer.directed and sides is None:
            first, second = np.minimum(first, second), np.maximum(first, second)
        cell = np.unique(first * (int(labels.max()) + 1) + second, return_inverse=True)[1]
        n = np.bincount(cell)
        off = layer.value - (np.bincount(cell, layer.value) / n)[cell]
        spread = np.sqrt(np.bincount(cell, off**2) / n)[cell]
        residual = off[spread > 0] / spread[spread > 0]
        yield "values", names["skewness"], float((residual**3).mean()) if len(residual) else math.nan
        yield "values", names["kurtosis"], float((residual**4).mean()) if len(residual) else math.nan
