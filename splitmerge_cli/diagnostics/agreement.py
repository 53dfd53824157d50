"""Agreement of a clustering with the true one; 1 is perfect for all five scores. scikit-learn is imported late."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def _table(truth: ArrayLike, labels: ArrayLike) -> NDArray[np.int64]:
    from sklearn.metrics.cluster import contingency_matrix

    return contingency_matrix(truth, labels)


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
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / table.sum())


SCORES = {"nmi": nmi, "ari": ari, "purity": purity, "rand": rand, "accuracy": accuracy}
