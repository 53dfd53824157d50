"""Graphs: the items are the nodes of a simple undirected network."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.kinds.base import Kind, Labels
from splitmerge_cli.received import DataError

if TYPE_CHECKING:
    from splitmerge_cli.data.base import Dataset

TELLING = 3
"""Nodes that are named of a cluster."""


class Graph(Kind):
    """A simple undirected network: its adjacency matrix, a symmetric csr_array ``[N, N]`` of uint8."""

    name = "graph"
    item = "node"
    model = "irm"
    reader = "edges"
    has_rows = False
    quantities = "splitmerge_cli.studies.quantities:Network"
    pictures = (*Kind.pictures, "network")

    def check(self, dataset: Dataset) -> None:
        from scipy.sparse import csr_array

        from splitmerge_cli.data.base import check_rows

        x, name = dataset.values, dataset.name
        if not isinstance(x, csr_array) or x.ndim != 2 or x.shape[0] != x.shape[1] or x.dtype != np.uint8:
            found = f"{type(x).__name__} of {getattr(x, 'dtype', 'no type')}, shape {getattr(x, 'shape', 'unknown')}"
            raise DataError(f"{name}: {found}; expected a csr_array [N, N] of uint8")
        if (x.data != 1).any():
            raise DataError(f"{name}: an entry that is not 1; expected 1 for every edge and no stored zero")
        check_rows(name, x)
        row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        if (row == x.indices).any():
            raise DataError(f"{name}: an entry on the diagonal; expected no item tied to itself")
        other = x.T.tocsr()
        if not (np.array_equal(x.indptr, other.indptr) and np.array_equal(x.indices, other.indices)):
            raise DataError(f"{name}: expected a symmetric matrix")

    def example(self, N: int, seed: int = 0) -> Dataset:
        from splitmerge_cli.data.generated.network import generate

        return generate(N, blocks=min(5, N), seed=seed)

    def outline(self, N: int, D: int) -> Dataset:
        from scipy.sparse import csr_array

        from splitmerge_cli.data.base import Dataset

        return Dataset("simulated", self.name, csr_array((N, N), dtype=np.uint8))

    # -- readers
    def recognises(self, data: Any) -> bool:
        return hasattr(data, "nodes") and hasattr(data, "edges")

    def from_object(self, data: Any, truth: Labels, name: str) -> Dataset:
        from splitmerge_cli.data.base import Dataset, notes_entry
        from splitmerge_cli.data.graphs.adjacency import A_WEIGHT, adjacency, losses, merge, read_weights, sizes
        from splitmerge_cli.data.objects import table_of

        names: list[str] | None = None
        if self.recognises(data):
            names = [str(node) for node in data.nodes]
            number = {node: k for k, node in enumerate(data.nodes)}
            ties = list(data.edges(data="weight", default=1))
            ends = np.array([(number[a], number[b]) for a, b, _ in ties], dtype=np.int64).reshape(-1, 2)
            N, directed = len(number), data.is_directed()
            weight, bad = read_weights([tie[2] for tie in ties])
            if bad is not None:
                a, b, found = ties[bad]
                raise DataError(f"data: edge ({a!r}, {b!r}), 'weight': {found!r}; expected {A_WEIGHT}")
        else:
            values, names, _ = table_of(data, "an adjacency matrix")
            if values.shape[0] != values.shape[1]:
                raise DataError(f"data: shape {values.shape}; expected an adjacency matrix [N, N]")
            N = values.shape[0]
            ends, weight = _ties(values, names)
            there, back = (np.unique(ends[:, k] * N + ends[:, 1 - k]) for k in (0, 1))
            directed = not np.array_equal(there, back)
        weighted = len(np.unique(weight)) > 1
        loops = ends[:, 0] == ends[:, 1]
        given = ends if directed or not self.recognises(data) else np.sort(ends, axis=1)
        further = len(ends) - len(np.unique(given, axis=0)) if len(ends) else 0
        notes = [f"data: {one}" for one in losses(directed, weighted, int(loops.sum()), further)]
        merged = merge(N, ends[:, 0], ends[:, 1], weight)
        matrix = adjacency(N, merged.i, merged.j)
        if zeros := merged.counts["below_threshold"]:
            notes.append(f"data: pairs of weight 0: {zeros}; they are no edges")
        meta = sizes(matrix) | notes_entry(notes)
        return Dataset(name, self.name, matrix, truth, names=names, meta=meta)

    # -- new items
    def new_items(self, dataset: Dataset, new: Any) -> Dataset:
        """New nodes: an array or sparse matrix ``[n, N]``, not 0 where one is tied to a node of the data."""
        from scipy.sparse import issparse

        from splitmerge_cli.data.base import Dataset

        values = np.atleast_2d(new.toarray() if issparse(new) else np.asarray(new))
        if values.ndim != 2 or values.shape[1] != dataset.N:
            raise DataError(
                f"new nodes: shape {values.shape}; expected [n, {dataset.N}], their ties to the nodes of the data"
            )
        # held in a data set of another kind: it is no graph
        ends, _ = _ties(values, None)
        found = np.zeros(values.shape, dtype=np.uint8)
        found[ends[:, 0], ends[:, 1]] = 1
        return Dataset("new nodes", "binary", found)

    def stack(self, dataset: Dataset, new: Dataset) -> Dataset:
        """The graph with new nodes behind the old ones, to which alone they are tied."""
        from scipy.sparse import block_array, csr_array

        ties = csr_array(new.values)
        matrix = csr_array(block_array([[dataset.values, ties.T], [ties, None]]), dtype=np.uint8)
        matrix.sort_indices()
        return replace(dataset, values=matrix, truth=None, names=None)

    # -- descriptions
    def facts(self, dataset: Dataset) -> dict[str, Any]:
        return {"graph": {k: v for k, v in dataset.meta.items() if k != "notes"}} | super().facts(dataset)

    def describe(self, dataset: Dataset, here: NDArray[np.bool_], first: int) -> dict[str, Any]:
        """The nodes of most ties; the share of pairs that are tied among the nodes, and between them and others."""
        items, matrix = np.flatnonzero(here), dataset.values
        degree = np.diff(matrix.indptr)[items]
        most = [(items[at], degree[at]) for at in np.argsort(-degree, kind="stable")[:TELLING]]
        named = [f"{i + first if dataset.names is None else dataset.names[i]} ({ties})" for i, ties in most]
        n, rest = len(items), len(here) - len(items)
        inside, outside = matrix[here][:, here].sum(), matrix[here][:, ~here].sum()
        return {
            "telling": "; ".join(named),
            "density": inside / (n * (n - 1)) if n > 1 else np.nan,
            "density_outside": outside / (n * rest) if rest else np.nan,
        }


def _ties(values: Any, names: list[str] | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Read a matrix whose entries above 0 are edges: their rows and columns, int64 ``[entries, 2]``, and weights.

    Raises
    ------
    DataError
        An entry is no weight.
    """
    from scipy.sparse import coo_array, issparse

    from splitmerge_cli.data.base import place_of
    from splitmerge_cli.data.graphs.adjacency import A_WEIGHT, read_weights

    if issparse(values):
        entries = coo_array(values)
        entries.sum_duplicates()
        row, column, given = entries.row, entries.col, entries.data
        weight, bad = read_weights(given)
        place = None if bad is None else (int(row[bad]), int(column[bad]))
    else:
        given = values.ravel()
        weight, bad = read_weights(given)
        place = None if bad is None else divmod(bad, values.shape[1])
        row, column = np.nonzero(weight.reshape(values.shape))
        weight = weight[weight != 0]
    if place is not None:
        raise DataError(f"data: {place_of(*place, names)}: {given[bad]}; expected {A_WEIGHT} (0: no edge)")
    there = weight > 0
    return np.stack([row[there], column[there]], axis=1).astype(np.int64), weight[there]
