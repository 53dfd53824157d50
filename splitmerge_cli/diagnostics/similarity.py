"""Co-clustering of items over sampled partitions: the posterior similarity matrix, and who belongs to a cluster.

The co-clustering of items i and j is the share of the sampled partitions in which they are in one cluster, an estimate
of their posterior probability of being together. The matrix as a whole is there for up to `MAX_DENSE` items; for any
number there are single rows, and means over the clusters of a partition.

In all functions `partitions` are the sampled ones, int ``[M, N]``, of which one that came up twice stands there twice;
`labels` describe a partition, int ``[N]``, its K clusters numbered 0, 1, ... A ValueError reports shapes that do
not fit, and labels that leave a number out.

Source: Binder 1978 (the matrix); Fritsch and Ickstadt 2009, section 2.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics import partition_losses, point_estimate, small_clusters
from splitmerge_cli.extras import sparse

MAX_DENSE = 10_000
"""Items up to which the matrix is made as a whole: 800 MB."""

_CELLS = 2**24
"""Number of cells held at a time, in addition to the result."""
_FEW_CELLS = 16
"""Cells per item in a table of two partitions up to which counting into the table is faster than sorting."""
_FEW_CLUSTERS = 8
"""Clusters up to which whole tables of them are added up, which needs no sparse matrices."""
_MANY_CLUSTERS = 1000
"""Clusters from which on pairs of items that are together are listed, if they are fewer than items times clusters."""
_PAIR_COST = 1500
"""Counting one pair of items takes as long as so many products in a multiplication of matrices; measured."""


class TooManyItems(ValueError):
    """There are more items than the whole matrix is made for."""


@dataclass(frozen=True)
class Membership:
    """How certain each item's cluster in a partition is.

    `certainty` and `second_probability` are probabilities of events that exclude each other, so their sum is at most 1.
    What is left is the probability that the item is with neither.
    """

    certainty: NDArray[np.float64]
    """``[N]``: probability that an item is in one cluster with a random other member of its own cluster: its mean
    co-clustering with them. For an item that is alone in its cluster the probability of being alone."""
    second: NDArray[np.int64]
    """``[N]``: the other cluster that the item most probably is in instead, the first of equals; -1 where it is in none
    instead."""
    second_probability: NDArray[np.float64]
    """``[N]``: probability that the item is with a random member of `second` and not with a random other member of its
    own cluster (is not alone, where it is alone in its cluster). Draws in which both clusters are one count by the
    chance that the member of its own is elsewhere. NaN without another cluster."""


def co_clustering(partitions: ArrayLike) -> NDArray[np.float64]:
    """The co-clustering of every pair of items: float64 ``[N, N]``, symmetric, its diagonal 1. Raises `TooManyItems`
    (more than `MAX_DENSE` items)."""
    rows = partition_losses.check_partitions(partitions)
    if rows.shape[1] > MAX_DENSE:
        raise TooManyItems(f"{rows.shape[1]} items: expected at most {MAX_DENSE} for the matrix as a whole")
    # items that no partition separates have the same row
    blocks, block, _ = partition_losses.find_blocks(rows)
    A = blocks.shape[1]
    # counts below 2^24 are exact in single precision
    together = np.zeros((A, A), dtype=np.float32)
    is_fine = _has_small_clusters(blocks)
    for row in blocks[is_fine]:
        order = np.argsort(row, kind="stable")
        ordered = row[order]
        together[order, order] += 1
        # members of one cluster so many places apart: a pair comes once
        for step in range(1, int(np.bincount(row).max())):
            here = np.flatnonzero(ordered[step:] == ordered[:-step])
            together[order[here], order[here + step]] += 1
            together[order[here + step], order[here]] += 1
    for some in _bands(blocks[~is_fine], A):
        columns = _columns_of(some)
        shown = np.zeros((A, int(columns.max(initial=-1)) + 1), dtype=np.float32)
        shown[np.arange(A)[:, None], columns] = 1
        together += shown @ shown.T
    return together[np.ix_(block, block)].astype(np.float64) / len(rows)


def co_clustering_rows(partitions: ArrayLike, items: ArrayLike) -> NDArray[np.float64]:
    """Rows of the co-clustering matrix, float64 ``[n, N]``, of the n items of these numbers, from 0; an IndexError for
    one that is not there."""
    rows, wanted = partition_losses.check_partitions(partitions), np.asarray(items, dtype=np.int64)
    out = np.zeros((len(wanted), rows.shape[1]))
    for row in rows:
        out += row[wanted][:, None] == row
    return out / len(rows)


def mean_co_clustering(
    partitions: ArrayLike, labels: ArrayLike
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Mean co-clustering of the items with the other members of each cluster, some items at a time: their numbers,
    int64 ``[n]``, and means ``[n, K]``. If an item is alone in its cluster, the entry of this cluster is the
    probability of being alone."""
    rows, own_labels, sizes = _fitting(partitions, labels)
    N, K = len(own_labels), len(sizes)
    alone = np.zeros(N)
    for row in rows:
        alone += np.bincount(row)[row] == 1
    for some, total in _sum_members(rows, own_labels, K):
        means = total / len(rows)
        positions, mine = np.arange(len(some)), own_labels[some]
        # an item is no other member of its own cluster
        means[positions, mine] -= 1
        means /= np.where(np.arange(K) == mine[:, None], sizes - 1, sizes).clip(1)
        single = sizes[mine] == 1
        means[positions[single], mine[single]] = alone[some[single]] / len(rows)
        yield some, means.clip(0, 1)


def membership(partitions: ArrayLike, labels: ArrayLike, items: NDArray[np.int32] | None = None) -> Membership:
    """For every item of a partition the probability that it belongs where it is, and the second choice.

    `items`, int ``[N]``, says which rows are one item, where some are: members are items then.
    """
    if items is not None:
        of_items = membership(point_estimate.first_rows(partitions, items), point_estimate.first_rows(labels, items))
        return Membership(*(getattr(of_items, each.name)[items] for each in fields(of_items)))
    rows, own_labels, sizes = _fitting(partitions, labels)
    N, K = len(own_labels), len(sizes)
    if K >= _MANY_CLUSTERS and max(map(small_clusters.count_pairs, rows)) < N * K / 16:
        return _membership_by_pairs(rows, own_labels, sizes)
    certainty, second, probability = np.empty(N), np.full(N, -1, dtype=np.int64), np.full(N, np.nan)
    for some, means in mean_co_clustering(rows, own_labels):
        certainty[some] = means[np.arange(len(some)), own_labels[some]]
    if K == 1:
        return Membership(certainty, second, probability)
    # a draw counts by the share of the own cluster that the item is apart from
    separation = _measure_separation(rows, own_labels, sizes)
    for some, total in _sum_members(rows, own_labels, K, separation):
        means = total / len(rows) / sizes
        positions = np.arange(len(some))
        means[positions, own_labels[some]] = -1
        # sums in another order differ by rounding: equals are equals
        best = means.round(12).argmax(axis=1)
        probability[some] = means[positions, best].clip(0, 1)
        second[some] = np.where(probability[some].round(12) > 0, best, -1)
    return Membership(certainty, second, probability)


def _membership_by_pairs(
    rows: NDArray[np.int32], own_labels: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Membership:
    """`membership` from the pairs of items that are together in each partition, which are few in small clusters."""
    N, K = len(own_labels), len(sizes)
    size = sizes[own_labels]
    certainty = np.zeros(N)
    keys: list[NDArray[np.int64]] = []
    weights: list[NDArray[np.float64]] = []
    for m, row in enumerate(rows):
        i, j = np.divmod(small_clusters.pairs_of(row), N)
        one, other = np.concatenate([i, j]), own_labels[np.concatenate([j, i])]
        is_own = other == own_labels[one]
        alone = np.bincount(row)[row] == 1
        together = np.where(size == 1, alone, np.bincount(one[is_own], minlength=N) / np.maximum(size - 1, 1))
        certainty += together
        keys.append(one[~is_own] * K + other[~is_own])
        weights.append(((1 - together)[one] / sizes[other])[~is_own])
        if sum(map(len, keys)) > _CELLS or m == len(rows) - 1:
            distinct, place = np.unique(np.concatenate(keys), return_inverse=True)
            keys, weights = [distinct], [np.bincount(place, np.concatenate(weights), len(distinct)).astype(np.float64)]
    item, cluster = np.divmod(keys[0], K)
    share = weights[0] / len(rows)
    # the first of equals; sums in another order differ by rounding
    order = np.lexsort((cluster, -share.round(12), item))
    best = order[np.unique(item[order], return_index=True)[1]]
    best = best[share[best].round(12) > 0]
    second, probability = np.full(N, -1, dtype=np.int64), np.zeros(N)
    second[item[best]], probability[item[best]] = cluster[best], share[best].clip(0, 1)
    return Membership((certainty / len(rows)).clip(0, 1), second, probability)


def _measure_separation(
    rows: NDArray[np.int32], own_labels: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Share of the other members of its own cluster that an item is apart from, in every partition; for an item that is
    alone in its cluster 1 where it is not alone in the partition: float64 ``[N, M]``."""
    N, single = len(own_labels), sizes[own_labels] == 1
    separation = np.empty((N, len(rows)))
    for m, row in enumerate(rows):
        both = row.astype(np.int64) * len(sizes) + own_labels
        if (int(row.max()) + 1) * len(sizes) <= _FEW_CELLS * N:
            together = np.bincount(both)[both]
        else:
            _, place, counts = np.unique(both, return_inverse=True, return_counts=True)
            together = counts[place]
        separation[:, m] = 1 - (together - 1) / np.maximum(sizes[own_labels] - 1, 1)
        separation[single, m] = np.bincount(row)[row[single]] > 1
    return separation


def _sum_members(
    rows: NDArray[np.int32], own_labels: NDArray[np.int64], K: int, weights: NDArray[np.float64] | None = None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Sum over the partitions how many members of K clusters an item is together with; partitions count by `weights`
    ``[N, M]``. Yields some items at a time, their numbers ``[n]`` and the sums ``[n, K]``."""
    N = len(own_labels)
    if K <= _FEW_CLUSTERS:
        members = [np.bincount(row * K + own_labels, minlength=(int(row.max()) + 1) * K).reshape(-1, K) for row in rows]
        for some in _bands_of_items(N, K):
            total = np.zeros((len(some), K))
            for m, row in enumerate(rows):
                total += members[m][row[some]] if weights is None else weights[some, m, None] * members[m][row[some]]
            yield some, total
        return
    sampled = _one_hot(rows)
    shared = (sampled.T @ sparse.csr_array((np.ones(N), (np.arange(N), own_labels)), shape=(N, K))).tocsr()
    if weights is not None:
        sampled = sparse.csr_array((weights.ravel(), sampled.indices, sampled.indptr), shape=sampled.shape)
    for some in _bands_of_items(N, K):
        yield some, (sampled[some] @ shared).toarray()


def _bands_of_items(N: int, K: int) -> Iterator[NDArray[np.int64]]:
    """The items, some at a time, so that a dense table of them and K clusters has `_CELLS` cells."""
    width = max(1, _CELLS // max(K, 1))
    for begin in range(0, N, width):
        yield np.arange(begin, min(begin + width, N))


def block_means(partitions: ArrayLike, labels: ArrayLike) -> NDArray[np.float64]:
    """Mean co-clustering between the clusters of a partition, over all pairs of different items: float64 ``[K, K]``,
    symmetric; 1 on the diagonal where a cluster has one item, which has no pair."""
    rows, own_labels, sizes = _fitting(partitions, labels)
    K = len(sizes)
    total = np.zeros((K, K))
    for row in rows:
        shared = sparse.csr_array((np.ones(len(own_labels)), (own_labels, row)), shape=(K, int(row.max()) + 1))
        total += (shared @ shared.T).toarray()
    pairs = np.outer(sizes, sizes).astype(float)
    np.fill_diagonal(total, total.diagonal() - len(rows) * sizes)
    np.fill_diagonal(pairs, sizes * (sizes - 1.0))
    means = total / len(rows) / np.maximum(pairs, 1)
    means[np.diag(sizes == 1)] = 1.0
    return means


def _fitting(
    partitions: ArrayLike, labels: ArrayLike
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Partitions, labels and sizes of the clusters, checked."""
    rows, own_labels = partition_losses.check_partitions(partitions), np.asarray(labels)
    if own_labels.shape != rows.shape[1:]:
        raise ValueError(f"labels: expected [{rows.shape[1]}]; got shape {own_labels.shape}")
    if own_labels.min() < 0 or not (sizes := np.bincount(own_labels)).all():
        raise ValueError("labels: expected clusters numbered 0, 1, ..., none left out")
    return rows, own_labels.astype(np.int64), sizes


def _has_small_clusters(rows: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which partitions have clusters so small that it is faster to count the pairs in each than to multiply indicator
    matrices, which looks at all pairs of items for every cluster: bool ``[M]``."""
    N, K = rows.shape[1], rows.max(axis=1) + 1
    pairs = np.array([float((np.bincount(row).astype(float) ** 2).sum()) for row in rows])
    return np.asarray(_PAIR_COST * pairs < float(N) ** 2 * K)


def _one_hot(rows: NDArray[np.int32]) -> "sparse.csr_array":
    """Indicators of the clusters that hold each item, over all partitions: float32 ``[N, C]``."""
    columns = _columns_of(rows)
    N, M = columns.shape
    starts = np.arange(N + 1) * M
    ones = np.ones(M * N, dtype=np.float32)
    return sparse.csr_array((ones, columns.ravel(), starts), shape=(N, int(columns.max(initial=-1)) + 1))


def _columns_of(rows: NDArray[np.int32]) -> NDArray[np.int64]:
    """The clusters that hold each item, numbered through all partitions: ``[N, M]``."""
    widths = rows.max(axis=1) + 1
    return np.asarray((rows + (np.cumsum(widths) - widths)[:, None]).T)


def _bands(rows: NDArray[np.int32], N: int) -> Iterator[NDArray[np.int32]]:
    """The partitions, some at a time, so that a dense table of items and their clusters has `_CELLS` cells."""
    most_items, begin, held = max(1, _CELLS // N), 0, 0
    for m, width in enumerate((rows.max(axis=1) + 1).tolist()):
        if held + width > most_items and m > begin:
            yield rows[begin:m]
            begin, held = m, 0
        held += width
    yield rows[begin:]
