"""Networks as they are: directed, weighted, with signs, layers, unknown pairs, two kinds of nodes, columns of nodes.

``Dataset.values`` is the simple undirected network of a data set, by which it is drawn and described;
``Dataset.relations``, where the user asks for more, is what the model reads
(`splitmerge_cli.kinds.networks.irm`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.values import numbered_labels, require
from splitmerge_cli.extras import sparse
from splitmerge_cli.received import DataError

Nodes = NDArray[np.int64]
"""Numbers of nodes, int64 ``[edges]``."""

KEYS = ("directed", "values", "loops", "layer", "bipartite", "unknown", "columns")
"""Keys of data by which a command asks for more than a simple network."""
BINARY, COUNT, REAL, LEVELS = "binary", "count", "real", "levels"
FORMS = (BINARY, COUNT, REAL, LEVELS)
"""Forms of the values of edges: no value; a count, 0 where no edge is; a number of each edge; one of a few levels of
each edge, such as a sign or a rank."""


@dataclass(frozen=True)
class BlockTable:
    """Sums over the pairs of nodes between blocks; each array ``[K, K]``, rows: blocks of sources.

    Undirected relations have symmetric arrays, where a pair within a block counts once. Between two kinds of nodes rows
    are the nodes of the first kind in a block, columns the nodes of the second kind.
    """

    edges: NDArray[np.float64]
    pairs: NDArray[np.float64]
    """Edges, and pairs of which it is known whether they are edges."""
    total: NDArray[np.float64]
    """Edges, each as often as it counts."""
    sources: NDArray[np.float64]
    targets: NDArray[np.float64]
    """float64 ``[N]``: edges that leave a node and that reach it, each as often as it counts; undirected: both are the
    degree."""
    rows: NDArray[np.float64]
    columns: NDArray[np.float64]
    """float64 ``[K]``: nodes of a block that may be a source, and that may be a target."""


@dataclass(frozen=True, eq=False)
class Relation:
    """One relation between nodes: its edges, and the value of each. Raises `DataError` (edges or values that are not as
    described)."""

    name: str
    """Name of the layer; empty if it is the only one."""
    ends: NDArray[np.int32]
    """int32 ``[edges, 2]``: source and target of every edge, each pair once. Undirected: the smaller number first;
    between two kinds of nodes: the node of the first kind first."""
    form: str = BINARY
    """One of `FORMS`."""
    value: NDArray[np.float64] | None = None
    """float64 ``[edges]``: positive whole numbers (``count``), finite numbers (``real``), or codes of ``levels``; None:
    ``binary``."""
    levels: tuple[str, ...] = ()
    """``levels``: what the codes stand for."""
    directed: bool = False
    """Whether an edge has a direction."""
    loops: bool = False
    """Whether a node may have an edge to itself; else such pairs are no data."""
    unknown: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int32))
    """int32 ``[pairs, 2]``: pairs of which it is not known whether they are edges, ordered as `ends`; no edges."""

    def __post_init__(self) -> None:
        called = f"relation {self.name}" if self.name else "the relation"
        if self.form not in FORMS or (self.value is None) != (self.form == BINARY):
            raise DataError(f"{called}: form {self.form!r} {'without' if self.value is None else 'with'} values")
        if self.value is not None:
            whole = self.form == REAL or bool((self.value == np.floor(self.value)).all())
            low = {COUNT: 1.0, LEVELS: 0.0}.get(self.form, -np.inf)
            high = len(self.levels) - 1.0 if self.form == LEVELS else np.inf
            inside = (np.isfinite(self.value) & (self.value >= low) & (self.value <= high)).all()
            if not whole or not inside or len(self.value) != len(self.ends):
                raise DataError(f"{called}: expected {len(self.ends)} values of form {self.form}, one of each edge")
        pairs = np.concatenate([self.ends, self.unknown])
        # the hash table of np.unique takes several times as long
        codes = np.sort((pairs[:, 0].astype(np.int64) << 32) + pairs[:, 1])
        if (codes[1:] == codes[:-1]).any():
            raise DataError(f"{called}: a pair of nodes stands twice")
        if not self.loops and (pairs[:, 0] == pairs[:, 1]).any():
            raise DataError(f"{called}: an edge of a node to itself")

    @property
    def weights(self) -> NDArray[np.float64]:
        """float64 ``[edges]``: how often each edge counts: its count, or 1."""
        return self.value if self.form == COUNT and self.value is not None else np.ones(len(self.ends))

    def sum_blocks(
        self, labels: NDArray[Any], K: int, pairs: NDArray[np.int32], weights: NDArray[np.float64] | None, both: bool
    ) -> NDArray[np.float64]:
        """Sums of `weights` (None: 1 each) of `pairs` of nodes by block, ``[K, K]``; `both`: in either order."""
        cell = labels[pairs[:, 0]].astype(np.int64) * K + labels[pairs[:, 1]]
        sums = np.bincount(cell, weights, K * K).reshape(K, K).astype(np.float64)
        return sums + sums.T - np.diag(np.diag(sums)) if both else sums

    def block_table(
        self, labels: NDArray[Any], sides: NDArray[np.int8] | None = None, K: int | None = None
    ) -> BlockTable:
        """The relation between blocks; `labels` ``[N]`` from 0, `sides` as `Relations` has them, `K` blocks at least
        (None: those that hold a node)."""
        N, K = len(labels), int(labels.max()) + 1 if K is None else K
        both = not self.directed and sides is None
        first, second = (None, None) if sides is None else (sides == 0, sides == 1)
        rows, columns = (np.bincount(labels, of, K).astype(np.float64) for of in (first, second))
        pairs = np.outer(rows, columns)
        if sides is None:
            own = rows * (rows - 1.0) / (2.0 if both else 1.0) + (rows if self.loops else 0.0)
            pairs[np.diag_indices(K)] = own
        source, target = self.ends.T
        counts = self.weights
        out, into = (np.bincount(end, counts, N).astype(np.float64) for end in (source, target))
        if not self.directed:
            out = into = out + into
        return BlockTable(
            self.sum_blocks(labels, K, self.ends, None, both),
            pairs - self.sum_blocks(labels, K, self.unknown, None, both),
            self.sum_blocks(labels, K, self.ends, counts, both),
            out,
            into,
            rows,
            columns,
        )

    def count_pairs(self, N: int, sides: NDArray[np.int8] | None, loops: bool) -> int:
        """Pairs of N nodes that may be edges, known or not; with `loops` also each node with itself."""
        if sides is not None:
            first = int((sides == 0).sum())
            return first * (N - first)
        return N * (N - 1) // (1 if self.directed else 2) + N * loops

    def default_rate(self, N: int, sides: NDArray[np.int8] | None, shape: float, corrected: bool) -> float:
        """Rate of the gamma prior of counts where none is given: `shape` over the mean count of a known pair."""
        pairs = self.count_pairs(N, sides, self.loops or corrected) - len(self.unknown)
        # without pairs or edges the rate matters little, but it is a number
        return shape * max(pairs, 1) / max(float(self.weights.sum()), 1.0)

    @property
    def form_number(self) -> int:
        """Place of the form in `FORMS`."""
        return FORMS.index(self.form)

    def take(self, number: NDArray[np.int64]) -> Relation:
        """The edges between nodes that are kept; `number`: the new number of each node, -1 of one that is left out."""
        kept = (number[self.ends] >= 0).all(axis=1)
        unknown = self.unknown[(number[self.unknown] >= 0).all(axis=1)]
        return replace(
            self,
            ends=number[self.ends[kept]].astype(np.int32),
            value=None if self.value is None else self.value[kept],
            unknown=number[unknown].astype(np.int32),
        )


@dataclass(frozen=True, eq=False)
class Relations:
    """All relations of some nodes. Raises `DataError` (no layer; nodes that do not exist; an edge that joins nodes of
    one kind, where there are two; a table of other nodes)."""

    N: int
    """Number of nodes."""
    layers: tuple[Relation, ...]
    """One or more."""
    sides: NDArray[np.int8] | None = None
    """int8 ``[N]``, 0 and 1: which of two kinds each node is. Edges go from a node of kind 0 to one of kind 1 and have
    no direction; nodes of different kinds share no cluster. None: one kind."""
    side_names: tuple[str, str] = ("row", "column")
    """Names of the two kinds."""
    columns: Any = None
    """Kind ``mixed``: a row of a table for each node."""
    is_simple: bool = False
    """Whether this is the one relation of a simple undirected network."""

    def __post_init__(self) -> None:
        if not self.layers:
            raise DataError("relations: no layer; expected at least one")
        for layer in self.layers:
            pairs = np.concatenate([layer.ends, layer.unknown])
            if len(pairs) and not (pairs.min() >= 0 and pairs.max() < self.N):
                raise DataError(f"relations: a node beyond the {self.N} there are")
            if self.sides is None:
                if not layer.directed and (pairs[:, 0] > pairs[:, 1]).any():
                    raise DataError("relations: an undirected edge whose larger node stands first")
                continue
            if layer.directed or layer.loops:
                raise DataError("relations: directed edges, or edges of a node to itself, between two kinds of nodes")
            if (self.sides[pairs] != [0, 1]).any():
                raise DataError("relations: an edge that does not go from a node of the first kind to the second")
        if self.sides is not None and (len(self.sides) != self.N or not np.isin(self.sides, (0, 1)).all()):
            raise DataError(f"relations: kinds of nodes; expected {self.N} numbers 0 and 1")
        if self.columns is not None and self.columns.N != self.N:
            raise DataError(f"relations: a table of {self.columns.N} rows for {self.N} nodes")

    @classmethod
    def of_graph(cls, matrix: sparse.csr_array) -> Relations:
        """The one relation of a simple undirected network, a symmetric matrix."""
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        upper = row < matrix.indices
        ends = np.stack([row, matrix.indices], axis=1)[upper].astype(np.int32)
        return cls(matrix.shape[0], (Relation("", ends),), is_simple=True)

    def density(self, r: int) -> float:
        """Share of the known pairs of layer `r` that are edges, half an edge and half a missing one added."""
        layer = self.layers[r]
        pairs = layer.count_pairs(self.N, self.sides, layer.loops) - len(layer.unknown)
        return (len(layer.ends) + 0.5) / (pairs + 1.0)

    def edge_prior(self, r: int, options: Mapping[str, Any]) -> tuple[Any, Any]:
        """Pseudo-counts of edges and of missing edges in layer `r`: their sum is ``beta1 + beta0``, their mean the
        option ``density``, by default the density of the layer if the two are equal and the network is not simple.
        Where they were learned (`layout.shares_of`) each has two numbers: within blocks, and between two."""
        if options.get("shares") is not None:
            mean, total = options["shares"][r].T
            return total * mean, total * (1.0 - mean)
        total = options["beta1"] + options["beta0"]
        mean = options.get("density")
        if isinstance(mean, list):
            mean = mean[r]
        elif isinstance(mean, str):
            # where it begins
            return total * self.density(r), total * (1.0 - self.density(r))
        if mean is None and (self.is_simple or options["beta1"] != options["beta0"]):
            return options["beta1"], options["beta0"]
        mean = self.density(r) if mean is None else mean
        return total * mean, total * (1.0 - mean)

    def take(self, nodes: NDArray[np.int64]) -> Relations:
        """These nodes, ascending, and what is between them."""
        number = np.full(self.N, -1, dtype=np.int64)
        number[nodes] = np.arange(len(nodes))
        return replace(
            self,
            N=len(nodes),
            layers=tuple(layer.take(number) for layer in self.layers),
            sides=None if self.sides is None else self.sides[nodes],
            columns=None if self.columns is None else self.columns.take(nodes),
        )


def network_of(dataset: Any) -> Relations:
    """Return the relations of a network: those that were read, or the one of a simple network, made once."""
    if "network" not in dataset.__dict__:
        dataset.__dict__["network"] = dataset.relations or Relations.of_graph(dataset.values)
    network: Relations = dataset.__dict__["network"]
    return network


def adjacency(N: int, i: Nodes, j: Nodes) -> sparse.csr_array:
    """Adjacency matrix of `N` nodes, uint8 ``[N, N]`` as `Dataset` has it; `i` and `j`: the ends of every edge, where
    every pair i < j or i > j stands once.
    """
    ones = np.ones(2 * len(i), dtype=np.uint8)
    # half the memory of int64
    one, other = i.astype(np.int32), j.astype(np.int32)
    matrix = sparse.csr_array((ones, (np.concatenate([one, other]), np.concatenate([other, one]))), shape=(N, N))
    matrix.sort_indices()
    return matrix


def simple_graph(relations: Relations) -> sparse.csr_array:
    """The simple undirected network of the pairs that any layer joins, uint8 ``[N, N]`` as `Dataset` has it."""
    i, j = np.concatenate([layer.ends for layer in relations.layers]).astype(np.int64).T
    code = distinct((np.minimum(i, j) * relations.N + np.maximum(i, j))[i != j])
    return adjacency(relations.N, *np.divmod(code, relations.N))


def distinct(codes: Nodes) -> Nodes:
    """The different ones of these numbers, ascending; the hash table of `numpy.unique` takes several times as long."""
    ordered = np.sort(codes)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def tally(counts: Nodes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The different ones of these counts, ascending, and how often each is there, both float64."""
    if int(counts.max(initial=0)) < 16 * len(counts) + 4096:
        times = np.bincount(counts)
        numbers = np.flatnonzero(times)
        return numbers.astype(np.float64), times[numbers].astype(np.float64)
    # an array of all counts up to the largest would be far longer than they are
    numbers, times = np.unique(counts, return_counts=True)
    return numbers.astype(np.float64), times.astype(np.float64)


def merge(
    N: int, source: Nodes, target: Nodes, weight: NDArray[np.float64] | None = None, threshold: float = 0.0
) -> tuple[Nodes, Nodes, dict[str, int]]:
    """Merge listed edges, which may repeat, reverse or tie a node to itself, into a simple graph of N nodes.

    Herlau et al. 2014 prepare its networks so: the transpose is added, what is not above the threshold and the
    diagonal are dropped. A pair is an edge if the weights (float64 ``[rows]``, not negative, by default 1) of its
    rows, in both directions, add up to more than the threshold. Returns the edges, i < j, ascending; and what was left
    out: ``self_loops`` (rows), ``repeated`` and ``reversed`` (further rows of a pair, in the direction of its first row
    and in the other), ``below_threshold`` (pairs).
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
    return *np.divmod(pair[is_edge], N), counts


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


def sizes(matrix: sparse.csr_array) -> dict[str, int]:
    """Numbers of nodes, edges and nodes without an edge."""
    isolated = int((np.diff(matrix.indptr) == 0).sum())
    return {"nodes": matrix.shape[0], "edges": matrix.nnz // 2, "isolated": isolated}
