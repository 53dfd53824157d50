"""Agreement of a clustering with the true one; 1 is perfect for all five scores. scikit-learn is imported late."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array


def _table(truth: ArrayLike, labels: ArrayLike) -> csc_array:
    """Items by true cluster (rows) and cluster."""
    from sklearn.metrics.cluster import contingency_matrix

    return csc_array(contingency_matrix(truth, labels, sparse=True))


def nmi(truth: ArrayLike, labels: ArrayLike) -> float:
    """Normalised mutual information, by the arithmetic mean of the two entropies."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(truth, labels))


def ari(truth: ArrayLike, labels: ArrayLike) -> float:
    """Adjusted Rand index: 0 on average for a random clustering."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(truth, labels))


def purity(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of items whose true cluster is the commonest one of their cluster."""
    table = _table(truth, labels)
    return float(table.max(axis=0).sum() / table.sum())


def rand(truth: ArrayLike, labels: ArrayLike) -> float:
    """Rand index: share of the pairs of items on which the two agree, together or apart; not corrected for chance."""
    from sklearn.metrics import rand_score

    return float(rand_score(truth, labels))


def accuracy(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of items that are right under the best one-to-one match of clusters to true clusters (Hungarian method)."""
    from scipy.optimize import linear_sum_assignment

    table = _table(truth, labels)
    few = _contested(csc_array(_contested(table).T)).toarray()
    rows, columns = linear_sum_assignment(few, maximize=True)
    return float(few[rows, columns].sum() / table.sum())


def _contested(table: csc_array) -> csc_array:
    """A table without the columns that no best match needs: of those with items of one row alone the largest of each
    row does. Singletons by the hundred thousand come down to one for each true cluster."""
    single = np.flatnonzero(np.diff(table.indptr) == 1)
    row, count = table.indices[table.indptr[single]], table.data[table.indptr[single]]
    # of every row the last is the largest
    order = np.lexsort((count, row))
    largest = order[np.flatnonzero(np.diff(row[order], append=-1))]
    return table[:, np.union1d(np.flatnonzero(np.diff(table.indptr) > 1), single[largest])]


SCORES = {"nmi": nmi, "ari": ari, "purity": purity, "rand": rand, "accuracy": accuracy}
