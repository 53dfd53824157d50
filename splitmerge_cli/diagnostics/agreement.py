"""Agreement of a clustering with the true one; 1 is perfect for all five scores.

scikit-learn has nmi, ari and rand, SciPy the best match, to which the tests hold these: their import would lengthen a
short run.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.partition_kernels import best_match
from splitmerge_cli.diagnostics.partition_losses import find_components, number_sorted

FEW_CELLS = 200
"""Cells that are matched together, however many parts they fall into."""


def _table(truth: ArrayLike, labels: ArrayLike) -> NDArray[np.int64]:
    """True cluster, cluster and items ``[3, cells]`` of the cells that have some, cluster by cluster."""
    (rows, R), (columns, C) = (number_sorted(np.asarray(each).ravel()) for each in (truth, labels))
    if 4 * len(rows) + 64 >= R * C:  # counted, not sorted
        counts = np.bincount(columns * R + rows)
        cells = np.flatnonzero(counts)
        items = counts[cells]
    else:
        cells, items = np.unique(columns * R + rows, return_counts=True)
    return np.array([cells % R, cells // R, items])


def _sizes(table: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Items of the cells that have some, of true clusters and of clusters."""
    rows, columns, items = table
    return [items, *(np.bincount(each, items).astype(np.int64) for each in (rows, columns))]


def _pairs(truth: ArrayLike, labels: ArrayLike) -> list[int]:
    """Pairs of items that share both clusters, the true one, the found one; and all pairs."""
    table = _table(truth, labels)
    return [int((n * (n - 1) // 2).sum()) for n in (*_sizes(table), table[2].sum())]


def _entropy(sizes: NDArray[np.int64]) -> float:
    share = sizes / sizes.sum()
    return float(-(share * np.log(share)).sum())


def nmi(truth: ArrayLike, labels: ArrayLike) -> float:
    """Normalised mutual information, by the arithmetic mean of the two entropies; of one cluster each 1."""
    both, true, entropy_of_labels = map(_entropy, _sizes(_table(truth, labels)))
    # rounding leaves independent ones, and one cluster, a little above or below zero
    mutual = max(0.0, true + entropy_of_labels - both)
    return min(1.0, 2 * mutual / (true + entropy_of_labels)) if true + entropy_of_labels > 0 else 1.0


def ari(truth: ArrayLike, labels: ArrayLike) -> float:
    """Adjusted Rand index: 0 on average for a random clustering."""
    both, true, pairs_of_labels, every = _pairs(truth, labels)
    expected = true * pairs_of_labels / every if every else 0.0
    largest = (true + pairs_of_labels) / 2
    return (both - expected) / (largest - expected) if true != both or pairs_of_labels != both else 1.0


def purity(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of items whose true cluster is the commonest one of their cluster."""
    _, columns, items = _table(truth, labels)
    begins = np.flatnonzero(np.diff(columns, prepend=-1))
    return float(np.maximum.reduceat(items, begins).sum() / items.sum())


def rand(truth: ArrayLike, labels: ArrayLike) -> float:
    """Rand index: share of pairs on which the two agree, together or apart; not corrected for chance."""
    both, true, pairs_of_labels, every = _pairs(truth, labels)
    return (every + 2 * both - true - pairs_of_labels) / every if every else 1.0


def accuracy(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of items that are right under the best one-to-one match of clusters to true clusters (Hungarian method)."""
    rows, columns, items = _drop_uncontested(_drop_uncontested(_table(truth, labels))[[1, 0, 2]])
    row, column = (np.unique(each, return_inverse=True)[1] for each in (rows, columns))
    parts = _find_parts(row, column)
    right = sum(_match(row[part], column[part], items[part]) for part in parts)
    right += items.sum() - sum(items[part].sum() for part in parts)
    return float(right / np.size(truth))


def _match(row: NDArray[np.intp], column: NDArray[np.intp], items: NDArray[np.int64]) -> float:
    """Items of the cells in the best one-to-one match of rows to columns."""
    i, j = (np.unique(each, return_inverse=True)[1] for each in (row, column))
    if len(i) > FEW_CELLS:
        from scipy.sparse import csgraph, csr_array, hstack

        # a further column for each row, which may have no other; no weight is 0
        cells = csr_array((items + 1.0, (i, j)))
        free = csr_array((np.ones(cells.shape[0]), (np.arange(cells.shape[0]),) * 2))
        both = csr_array(hstack([cells, free]))
        return float(both[csgraph.min_weight_full_bipartite_matching(both, maximize=True)].sum() - cells.shape[0])
    few = np.zeros((i.max() + 1, j.max() + 1))
    few[i, j] = items
    few = few if few.shape[0] <= few.shape[1] else few.T
    row_of = best_match(np.ascontiguousarray(few))
    matched = row_of >= 0
    return float(few[row_of[matched], matched].sum())


def _find_parts(row: NDArray[np.intp], column: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Split cells into parts without a common row or column, each of which is matched on its own; few cells are one. A
    cell that shares neither with another is matched, and in no part."""
    if len(row) <= FEW_CELLS:
        return [np.arange(len(row))]
    part = find_components(row, column + row.max() + 1, int(row.max() + column.max()) + 2)[row]
    order = np.argsort(part, kind="stable")
    order = order[np.bincount(part)[part[order]] > 1]
    return np.split(order, np.flatnonzero(np.diff(part[order])) + 1) if len(order) else []


def pair_scores(truth: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Precision, recall and F1 by pairs of items that share a cluster; without any such pair 1.

    Examples
    --------
    >>> pair_scores([0, 0, 1, 1], [0, 0, 0, 1])
    {'precision': 0.3333333333333333, 'recall': 0.5, 'f1': 0.4}
    """
    both, true, found, _ = _pairs(truth, labels)
    f1 = 2 * both / (true + found) if true + found else 1.0
    return {"precision": both / found if found else 1.0, "recall": both / true if true else 1.0, "f1": f1}


def _drop_uncontested(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Drop the columns that no best match needs: among columns with items of a single row, the largest for each row is
    enough. Singletons by the hundred thousand come down to one for each true cluster."""
    rows, columns, items = table
    single = np.bincount(columns)[columns] == 1
    # the items of a single cell alone, and of every row the last is the largest
    order = np.lexsort((items * single, rows))
    largest = np.diff(rows[order], append=-1) != 0
    is_kept = ~single
    is_kept[order[largest]] = True
    return table[:, is_kept]


SCORES = {"nmi": nmi, "ari": ari, "purity": purity, "rand": rand, "accuracy": accuracy}
