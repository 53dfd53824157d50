"""Blocks of a network in words: edges within each, and with the block that it has most edges with."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.cluster_table import PROTOTYPE, number_clusters, shorten
from splitmerge_cli.kinds.networks.data import COUNT, LEVELS, REAL, Relation, Relations

Array = NDArray[np.float64]
MOST_LAYERS = 3
"""Layers of which a cluster has an entry."""


def describe_blocks(
    relations: Relations, labels: ArrayLike, first_cluster: int, names: Sequence[str] | None = None
) -> list[str]:
    """Describe every cluster, in the order of labels: entries of its layers, with a semicolon between them.

    An entry has the share of pairs with an edge (of counts the mean count of a pair) within the cluster, and with the
    other cluster where it is largest, if it is larger than among all pairs; directed edges in both directions. The mean
    of real values follows, or the commonest level with its share. Only the `MOST_LAYERS` layers with most edges
    beyond chance have an entry. With `names` of nodes the other cluster has the
    name of its node of most edges.

    Examples
    --------
    >>> ends = np.array([[0, 1], [1, 0], [0, 2], [1, 2]], dtype=np.int32)
    >>> relations = Relations(4, (Relation("", ends, directed=True),))
    >>> describe_blocks(relations, [0, 0, 1, 1], 1, ["a", "b", "c", "d"])
    ['within 1, to 2 (c) 0.5', 'within 0, from 1 (a) 0.5']
    """
    clusters = np.asarray(labels)
    numbers = [str(number_clusters(k, first_cluster)) for k in range(int(clusters.max()) + 1)]
    if names is not None:
        ends = np.concatenate([layer.ends.ravel() for layer in relations.layers])
        degree = np.bincount(ends, minlength=len(clusters))
        # of each cluster the last one in ascending order of degree, of equal ones the first node
        order = np.argsort(-degree, kind="stable")[::-1]
        top = dict(zip(clusters[order].tolist(), order.tolist(), strict=True))
        numbers = [f"{number} ({shorten(names[top[k]], PROTOTYPE)})" for k, number in enumerate(numbers)]
    of_layers = [list(_describe(layer, clusters, relations.sides, numbers)) for layer in relations.layers]
    places = [f"{layer.name}: " if layer.name else "" for layer in relations.layers]
    described = []
    for entries in zip(*of_layers, strict=True):
        shown = [(excess, f"{place}{entry}") for place, (excess, entry) in zip(places, entries, strict=True) if entry]
        texts = [text for _, text in shown]
        if (more := len(shown) - MOST_LAYERS) > 0:
            # of many layers those with most edges beyond chance
            texts = [text for _, text in sorted(shown, key=lambda one: -one[0])[:MOST_LAYERS]]
            texts.append(f"{more} more layers")
        described.append("; ".join(texts))
    return described


def _describe(
    layer: Relation, labels: NDArray[Any], sides: NDArray[np.int8] | None, numbers: Sequence[str]
) -> Iterator[tuple[float, str]]:
    """The entry of each cluster in one layer, and by how much its largest number exceeds the mean over all pairs."""
    table = layer.block_table(labels, sides)
    K, both = len(table.rows), not layer.directed and sides is None
    strength = np.divide(table.total, table.pairs, out=np.zeros((K, K)), where=table.pairs > 0)
    cells = np.triu_indices(K) if both else tuple(np.indices((K, K)).reshape(2, -1))
    chance = table.total[cells].sum() / max(table.pairs[cells].sum(), 1.0)
    value = _name_values(layer, labels, K, both, table.edges)
    if sides is not None:
        # a cluster has nodes of one kind
        strength = strength + strength.T
        value = [[value[k][m] or value[m][k] for m in range(K)] for k in range(K)]
    apart = strength * (1.0 - np.eye(K))
    for k in range(K):
        parts = [f"within {strength[k, k]:.2g}{value[k][k]}"] if table.pairs[k, k] else []
        for word, row, named in (("to" if layer.directed else "with", apart[k], value[k]), ("from", apart[:, k], None)):
            m = int(row.argmax())
            if row[m] > chance and (layer.directed or named is not None):
                parts.append(f"{word} {numbers[m]} {row[m]:.2g}{value[m][k] if named is None else named[m]}")
        yield float(max(strength[k].max(), strength[:, k].max()) - chance), ", ".join(parts)


def _name_values(layer: Relation, labels: NDArray[Any], K: int, both: bool, edges: Array) -> list[list[str]]:
    """Values of edges between two blocks in words, an empty word without values."""
    names = [[""] * K for _ in range(K)]
    if layer.value is None or layer.form == COUNT:
        return names
    if layer.form == REAL:
        means = layer.sum_blocks(labels, K, layer.ends, layer.value, both) / np.maximum(edges, 1.0)
        return [[f" (mean {means[k, m]:.2g})" if edges[k, m] else "" for m in range(K)] for k in range(K)]
    assert layer.form == LEVELS
    codes = range(len(layer.levels))
    counts = [layer.sum_blocks(labels, K, layer.ends, np.equal(layer.value, code) * 1.0, both) for code in codes]
    commonest = np.argmax(counts, axis=0)
    share = np.max(counts, axis=0) / np.maximum(edges, 1.0)
    return [
        [f" ({share[k, m]:.0%} {layer.levels[commonest[k, m]]})" if edges[k, m] else "" for m in range(K)]
        for k in range(K)
    ]
