"""Graphs: the items are the nodes of a simple undirected network. Clusters are described by their nodes of most ties,
and blocks in words: edges within each, and with the block that it has most edges with.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config.errors import ConfigError
from splitmerge_cli.data.dataset import OF_NETWORKS, Dataset, Kind
from splitmerge_cli.data.values import check_rows, is_csr
from splitmerge_cli.diagnostics.cluster_table import MEAN_COUNT, PROTOTYPE, number_clusters, shorten
from splitmerge_cli.kinds.networks.data import COUNT, KEYS, LEVELS, REAL, Relation, Relations, network_of
from splitmerge_cli.received import DataError

TELLING = 3
"""Nodes that are named of a cluster."""


class Graph(Kind):
    """A simple undirected network: its adjacency matrix, a symmetric csr_array ``[N, N]`` of uint8."""

    name = "graph"
    item = "node"
    # they may be the hubs
    outlier = "exceptional node"
    model = "irm"
    reader = "edges"
    generator = "splitmerge_cli.kinds.networks.generated:generate"
    reading = "splitmerge_cli.kinds.networks.readers.objects:GraphReading"
    object_options = (*OF_NETWORKS, "columns", "types")
    asked_for = KEYS
    summary_keys: ClassVar = {
        "links": (
            20,
            "lists the pairs of nodes without an edge to which the model gives most probability, and writes them to "
            "links.csv",
            "splitmerge_cli.kinds.networks.links:list_links",
        ),
        "held_out": (
            0.1,
            "removes a tenth of the edges of a network, and shows how well the others predict them",
            "splitmerge_cli.kinds.networks.links:score_lines",
        ),
    }
    start = "splitmerge_cli.kinds.networks.start:NetworkStart"
    answers = "splitmerge_cli.kinds.networks.quantities:NetworkAnswers"
    quantities = "splitmerge_cli.kinds.networks.quantities:Network"
    pictures = (*Kind.pictures, "network", "blocks", "tree")
    drawings = "splitmerge_cli.kinds.networks.pictures:PICTURES"

    def require_rows(self, asked: str) -> None:
        raise ConfigError(f"{asked}; expected rows of a table")

    def check(self, dataset: Dataset) -> None:
        x, name = dataset.values, dataset.name
        if not is_csr(x) or x.ndim != 2 or x.shape[0] != x.shape[1] or x.dtype != np.uint8:
            described = f"of {getattr(x, 'dtype', 'no type')}, shape {getattr(x, 'shape', 'unknown')}"
            raise DataError(f"{name}: {type(x).__name__} {described}; expected a csr_array [N, N] of uint8")
        if (x.data != 1).any():
            raise DataError(f"{name}: an entry that is not 1; expected 1 for every edge and no stored zero")
        check_rows(name, x)
        row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        if (row == x.indices).any():
            raise DataError(f"{name}: an entry on the diagonal; expected no item tied to itself")
        other = x.T.tocsr()
        if not (np.array_equal(x.indptr, other.indptr) and np.array_equal(x.indices, other.indices)):
            raise DataError(f"{name}: expected a symmetric matrix")

    def options_of_object(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        return dict(summary.get("graph", {}).get("use", {}))

    def example_options(self, N: int) -> dict[str, Any]:
        return {"blocks": min(5, N)}

    def outline(self, N: int, D: int) -> Dataset:
        from scipy.sparse import csr_array

        return Dataset("simulated", self, csr_array((N, N), dtype=np.uint8))

    def recognises(self, data: Any) -> bool:
        """Graphs of networkx, and of igraph by its interface."""
        of_networkx = hasattr(data, "nodes") and hasattr(data, "edges")
        return of_networkx or all(hasattr(data, name) for name in ("vcount", "vs", "es", "is_directed"))

    def note_table(self, table: Any, columns: Sequence[int]) -> list[str]:
        from splitmerge_cli.kinds.networks.readers.conversions import note_matrix
        from splitmerge_cli.kinds.networks.readers.edge_rows import note_pairs

        note_matrix(table, columns)
        return note_pairs(table, columns)

    def facts(self, dataset: Dataset) -> dict[str, Any]:
        meta = {k: v for k, v in dataset.meta.items() if k not in ("notes", "shown", "has_directions")}
        return {"graph": meta} | super().facts(dataset)

    def describe(self, dataset: Dataset, here: NDArray[np.bool_], first: int) -> dict[str, Any]:
        """The nodes of most ties; the share of pairs that are tied among the nodes, and between them and others."""
        return _describe(network_of(dataset), here, dataset.names, first)

    def describe_clusters(
        self,
        dataset: Dataset,
        labels: NDArray[np.int64],
        order: NDArray[np.int64],
        known: Any,
        first: int,
        first_cluster: int,
    ) -> dict[str, list[Any]]:
        columns = super().describe_clusters(dataset, labels, order, known, first, first_cluster)
        if dataset.relations is None:
            return columns
        described = describe_blocks(dataset.relations, labels, first_cluster, dataset.names)
        return columns | {"edges": [described[k] for k in order]}


def _describe(relations: Relations, here: NDArray[np.bool_], names: list[str] | None, first: int) -> dict[str, Any]:
    """Describe a cluster by its edges in all layers: shares of known pairs, within, to other nodes and from them; what
    values the edges within and others have; the kind of its nodes."""
    N, n, sides = relations.N, int(here.sum()), relations.sides
    rest = N - n
    if sides is not None:
        rest = int((sides != sides[np.flatnonzero(here)[0]]).sum())
    directed = relations.layers[0].directed
    edges, pairs = np.zeros(3), np.zeros(3)
    values: tuple[list[NDArray[np.float64]], ...] = ([], [])
    degrees = np.zeros((2, N), dtype=np.int64)
    for layer in relations.layers:
        place, unknown = _places(layer.ends, here, directed), _places(layer.unknown, here, directed)
        edges += np.bincount(place, minlength=4)[:3]
        within = n * (n - 1) // (1 if directed else 2) + n * layer.loops
        pairs += [0 if sides is not None else within, n * rest, n * rest * directed]
        pairs -= np.bincount(unknown, minlength=4)[:3]
        for k in (0, 1):
            degrees[k] += np.bincount(layer.ends[:, k], minlength=N)
            if layer.value is not None:
                values[k].append(layer.value[place == 0 if k == 0 else (place == 1) | (place == 2)])
    share = [made / possible if possible > 0 else np.nan for made, possible in zip(edges, pairs, strict=True)]
    total = degrees.sum(axis=0)

    def title(i: int) -> str:
        degree = f"{degrees[0, i]} out, {degrees[1, i]} in" if directed else str(total[i])
        return f"{i + first if names is None else names[i]} ({degree})"

    nodes = np.flatnonzero(here)
    telling = "; ".join(map(title, nodes[np.argsort(-total[nodes], kind="stable")[:TELLING]]))
    described: dict[str, Any] = {"telling": telling, "density": share[0], "density_outside": share[1]}
    if directed:
        described["density_from_outside"] = share[2]
    levels = relations.layers[0].levels
    for name, parts in zip(("value", "value_outside"), values, strict=True):
        held = np.concatenate(parts) if parts else np.empty(0)
        if levels:
            counts = np.bincount(held.astype(np.int64), minlength=len(levels))
            described[name] = levels[int(counts.argmax())] if len(held) else ""
        elif parts:
            described[name] = held.mean() if len(held) else np.nan
    if relations.columns is not None:
        described["columns"] = _describe_columns(relations.columns, here)
    if sides is not None:
        described["kind"] = relations.side_names[int(sides[np.flatnonzero(here)[0]])]
    return described


def _describe_columns(table: Dataset, here: NDArray[np.bool_]) -> str:
    """The commonest level with its share, or the mean, of each column of the nodes."""
    parts = []
    for name, column, cells in zip(table.column_names, table.types or (), table.values[here].T, strict=True):
        known = cells[~np.isnan(cells)]
        if column.levels and len(known):
            counts = np.bincount(known.astype(np.int64))
            parts.append(f"{name}={column.levels[int(counts.argmax())]} {counts.max() / len(known):.0%}")
        elif len(known):
            parts.append(f"{name}={known.mean():.3g}")
    return "; ".join(parts)


def _places(ends: NDArray[np.int32], here: NDArray[np.bool_], directed: bool) -> NDArray[np.int64]:
    """Which pairs are 0: within a cluster, 1: from it to other nodes, 2: from others to it, 3: elsewhere; without
    directions 1 stands for 2."""
    i, j = here[ends[:, 0]], here[ends[:, 1]]
    return np.where(i, np.where(j, 0, 1), np.where(j, 2 if directed else 1, 3))


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
    of_layers = [list(_describe_layer(layer, clusters, relations.sides, numbers)) for layer in relations.layers]
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


def _describe_layer(
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
        measure = f"{MEAN_COUNT} " if parts and layer.form == COUNT else ""
        yield float(max(strength[k].max(), strength[:, k].max()) - chance), measure + ", ".join(parts)


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
