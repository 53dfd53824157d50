"""Graphs from objects: graphs of networkx, and matrices of ties."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, coo_array, csr_array, issparse

from splitmerge_cli.data.dataset import Dataset, Labels
from splitmerge_cli.data.graphs.adjacency import A_WEIGHT, adjacency, losses, merge, read_weights, sizes
from splitmerge_cli.data.objects import table_of
from splitmerge_cli.data.reading import KindReading
from splitmerge_cli.data.values import notes_entry, place_of
from splitmerge_cli.received import DataError


class GraphReading(KindReading):
    """Reads networks, and new nodes that are tied to their nodes."""

    def from_object(self, data: Any, truth: Labels, name: str) -> Dataset:
        """Convert a network, or a matrix of ties."""
        names: list[str] | None = None
        if self.kind.recognises(data):
            names = [str(node) for node in data.nodes]
            number = {node: k for k, node in enumerate(data.nodes)}
            ties = list(data.edges(data="weight", default=1))
            ends = np.array([(number[a], number[b]) for a, b, _ in ties], dtype=np.int64).reshape(-1, 2)
            N, directed = len(number), data.is_directed()
            weight, bad = read_weights([tie[2] for tie in ties])
            if bad is not None:
                a, b, wrong_weight = ties[bad]
                raise DataError(f"data: edge ({a!r}, {b!r}), 'weight': {wrong_weight!r}; expected {A_WEIGHT}")
        else:
            values, names, _ = table_of(data, "an adjacency matrix")
            if values.shape[0] != values.shape[1]:
                raise DataError(f"data: shape {values.shape}; expected an adjacency matrix [N, N]")
            N = values.shape[0]
            ends, weight = _ties(values, names)
            forth, back = (np.unique(ends[:, k] * N + ends[:, 1 - k]) for k in (0, 1))
            directed = not np.array_equal(forth, back)
        weighted = len(np.unique(weight)) > 1
        loops = ends[:, 0] == ends[:, 1]
        ordered_ends = ends if directed or not self.kind.recognises(data) else np.sort(ends, axis=1)
        further = len(ends) - len(np.unique(ordered_ends, axis=0)) if len(ends) else 0
        notes = [f"data: {one}" for one in losses(directed, weighted, int(loops.sum()), further)]
        merged = merge(N, ends[:, 0], ends[:, 1], weight)
        matrix = adjacency(N, merged.i, merged.j)
        if zeros := merged.counts["below_threshold"]:
            notes.append(f"data: pairs of weight 0: {zeros}; they are no edges")
        meta = sizes(matrix) | notes_entry(notes)
        return Dataset(name, self.kind, matrix, truth, names=names, meta=meta)

    def new_items(self, dataset: Dataset, new: Any) -> Dataset:
        """New nodes: an array or sparse matrix ``[n, N]``, not 0 where one is tied to a node of the data."""
        values = np.atleast_2d(new.toarray() if issparse(new) else np.asarray(new))
        if values.ndim != 2 or values.shape[1] != dataset.N:
            raise DataError(
                f"new nodes: shape {values.shape}; expected [n, {dataset.N}], their ties to the nodes of the data"
            )
        # held in a data set of another kind: it is no graph
        ends, _ = _ties(values, None)
        ties_found = np.zeros(values.shape, dtype=np.uint8)
        ties_found[ends[:, 0], ends[:, 1]] = 1
        return Dataset("new nodes", "binary", ties_found)

    def stack(self, dataset: Dataset, new: Dataset) -> Dataset:
        """The graph with new nodes behind the old ones, to which alone they are tied."""
        ties = csr_array(new.values)
        matrix = csr_array(block_array([[dataset.values, ties.T], [ties, None]]), dtype=np.uint8)
        matrix.sort_indices()
        return replace(dataset, values=matrix, truth=None, names=None)


def _ties(values: Any, names: list[str] | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Read a matrix whose entries above 0 are edges: their rows and columns, int64 ``[entries, 2]``, and weights."""
    if issparse(values):
        entries = coo_array(values)
        entries.sum_duplicates()
        row, column, weights_given = entries.row, entries.col, entries.data
        weight, bad = read_weights(weights_given)
        place = None if bad is None else (int(row[bad]), int(column[bad]))
    else:
        weights_given = values.ravel()
        weight, bad = read_weights(weights_given)
        place = None if bad is None else divmod(bad, values.shape[1])
        row, column = np.nonzero(weight.reshape(values.shape))
        weight = weight[weight != 0]
    if place is not None:
        raise DataError(f"data: {place_of(*place, names)}: {weights_given[bad]}; expected {A_WEIGHT} (0: no edge)")
    is_tie = weight > 0
    return np.stack([row[is_tie], column[is_tie]], axis=1).astype(np.int64), weight[is_tie]
