"""Graphs: the items are the nodes of a simple undirected network."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset, Kind
from splitmerge_cli.data.values import check_rows, is_csr
from splitmerge_cli.received import DataError

TELLING = 3
"""Nodes that are named of a cluster."""


class Graph(Kind):
    """A simple undirected network: its adjacency matrix, a symmetric csr_array ``[N, N]`` of uint8."""

    name = "graph"
    item = "node"
    model = "irm"
    reader = "edges"
    generator = "splitmerge_cli.data.generated.network:generate"
    reading = "splitmerge_cli.data.graphs.objects:GraphReading"
    has_rows = False
    is_network = True
    quantities = "splitmerge_cli.runs.quantities:Network"
    pictures = (*Kind.pictures, "network")

    def check(self, dataset: Dataset) -> None:
        x, name = dataset.values, dataset.name
        if not is_csr(x) or x.ndim != 2 or x.shape[0] != x.shape[1] or x.dtype != np.uint8:
            described = (
                f"{type(x).__name__} of {getattr(x, 'dtype', 'no type')}, shape {getattr(x, 'shape', 'unknown')}"
            )
            raise DataError(f"{name}: {described}; expected a csr_array [N, N] of uint8")
        if (x.data != 1).any():
            raise DataError(f"{name}: an entry that is not 1; expected 1 for every edge and no stored zero")
        check_rows(name, x)
        row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        if (row == x.indices).any():
            raise DataError(f"{name}: an entry on the diagonal; expected no item tied to itself")
        other = x.T.tocsr()
        if not (np.array_equal(x.indptr, other.indptr) and np.array_equal(x.indices, other.indices)):
            raise DataError(f"{name}: expected a symmetric matrix")

    def example_options(self, N: int) -> dict[str, Any]:
        return {"blocks": min(5, N)}

    def outline(self, N: int, D: int) -> Dataset:
        from scipy.sparse import csr_array

        return Dataset("simulated", self, csr_array((N, N), dtype=np.uint8))

    def recognises(self, data: Any) -> bool:
        """Graphs of networkx, and of igraph by its interface."""
        of_networkx = hasattr(data, "nodes") and hasattr(data, "edges")
        return of_networkx or all(hasattr(data, name) for name in ("vcount", "vs", "es", "is_directed"))

    def facts(self, dataset: Dataset) -> dict[str, Any]:
        return {"graph": {k: v for k, v in dataset.meta.items() if k != "notes"}} | super().facts(dataset)

    def describe(self, dataset: Dataset, here: NDArray[np.bool_], first: int) -> dict[str, Any]:
        """The nodes of most ties; the share of pairs that are tied among the nodes, and between them and others."""
        items, matrix = np.flatnonzero(here), dataset.values
        degree = np.diff(matrix.indptr)[items]
        tied = [(items[position], degree[position]) for position in np.argsort(-degree, kind="stable")[:TELLING]]
        named = [f"{i + first if dataset.names is None else dataset.names[i]} ({ties})" for i, ties in tied]
        n, rest = len(items), len(here) - len(items)
        inside, outside = matrix[here][:, here].sum(), matrix[here][:, ~here].sum()
        return {
            "telling": "; ".join(named),
            "density": inside / (n * (n - 1)) if n > 1 else np.nan,
            "density_outside": outside / (n * rest) if rest else np.nan,
        }
