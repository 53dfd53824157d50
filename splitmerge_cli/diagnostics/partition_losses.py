"""Losses between partitions, and their mean over sampled ones.

Both losses compare the sizes n_k and m_l of the clusters of two partitions of N items with the sizes n_kl of their
intersections, through one function f:

    loss = (sum_k f(n_k) + sum_l f(m_l) - 2 sum_kl f(n_kl)) / scale.

====== ============ ========== ==========================================================================
loss   f(n)         scale      meaning
====== ============ ========== ==========================================================================
vi     n log n      N          variation of information: the sum of the two conditional entropies, in nats
binder n (n - 1)/2  N (N-1)/2  Binder's loss at equal costs: the share of pairs of items that one
                               partition joins and the other separates, 1 - Rand index
====== ============ ========== ==========================================================================

The generalised losses weigh the two errors of an estimate with clusters m_l for a partition with clusters n_k: to
separate what is together, at cost a, and to join what is apart, at cost 2 - a:

    loss = (a (sum_k f(n_k) - sum_kl f(n_kl)) + (2 - a) (sum_l f(m_l) - sum_kl f(n_kl))) / scale.

With a = 1 they are the losses above. The larger a is, the fewer clusters the estimate has.

Source: Meila 2007 (variation of information); Binder 1978; Wade and Ghahramani 2018, section 2 (both as losses); Dahl,
Johnson and Mueller 2022, section 2 (unequal costs).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.partition_kernels import cross_terms, shared_terms

LOSSES = ("vi", "binder")
ROUNDING = 1e-12
"""Two losses no further apart than this are the same but for rounding."""


def by_appearance(labels: ArrayLike) -> NDArray[np.int32]:
    """Number the clusters of a partition 0, 1, ... in the order of their first items."""
    labels_given = np.asarray(labels)
    # labels of a run are numbered like this: no need to sort
    numbered = labels_given.dtype.kind == "i" and labels_given.size and labels_given[0] == 0 and labels_given.min() == 0
    if numbered and (labels_given[1:] <= np.maximum.accumulate(labels_given)[:-1] + 1).all():
        return labels_given.astype(np.int32)
    _, first, inverse = np.unique(labels_given, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32)


def by_size(
    labels: ArrayLike, sizes: NDArray[np.float64] | None = None, last: NDArray[np.bool_] | None = None
) -> NDArray[np.int32]:
    """Number the clusters of a partition 0, 1, ..., the largest first; clusters of equal size by their first items.

    `sizes`, ``[N]``, is what each item adds to the size of its cluster; without it each adds 1. Clusters of items that
    are `last`, ``[N]``, come behind the others.
    """
    numbered = by_appearance(labels)
    is_last = np.zeros(1) if last is None else np.bincount(numbered, last) > 0
    order = np.lexsort(np.broadcast_arrays(-np.bincount(numbered, sizes), is_last))
    return np.argsort(order)[numbered].astype(np.int32)


def number_sorted(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Number what is the same 0, 1, ... in ascending order: int64 ``[N]``, and how many numbers there are.

    Values from 0 to a few times their number are counted instead of sorted.

    Examples
    --------
    >>> number_sorted(np.array([7, 7, 2, 7]))
    (array([1, 1, 0, 1]), 2)
    """
    if values.size and values.dtype.kind in "iu" and values.min() >= 0 and values.max() < 4 * values.size + 64:
        counted = np.cumsum(np.bincount(values) > 0)
        return counted[values] - 1, int(counted[-1])
    distinct, number = np.unique(values, return_inverse=True)
    return number.reshape(values.shape), len(distinct)


def find_distinct(rows: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which rows of numbers from 0 differ: the first of each in ascending order of the rows, and how often each stands
    there, ``[D]``, as ``numpy.unique`` by rows, whose records of a field an item take long."""
    firsts: dict[bytes, int] = {}
    times: dict[bytes, int] = {}
    for m, row in enumerate(rows):
        # bytes in this order compare as the numbers do
        key = row.astype(">u4").tobytes()
        firsts.setdefault(key, m)
        times[key] = times.get(key, 0) + 1
    keys = sorted(firsts)
    return np.array([firsts[key] for key in keys]), np.array([times[key] for key in keys])


def find_blocks(rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Blocks of items that no partition ``[M, N]`` separates, as ``numpy.unique`` by columns: their clusters
    ``[M, A]``, the block of each item ``[N]``, and items of each ``[A]``."""
    block, number = np.zeros(rows.shape[1], dtype=np.int64), 1
    for row in rows:
        block, number = number_sorted(block * (int(row.max()) + 1) + row)
    some = np.empty(number, dtype=np.int64)
    some[block] = np.arange(len(block))
    return rows[:, some], block, np.bincount(block)


def find_components(first: NDArray[Any], second: NDArray[Any], n: int) -> NDArray[np.int32]:
    """Connected components of a graph with n nodes and edges between `first` and `second`: int32 ``[n]``, numbered by
    first appearance."""
    from scipy.sparse import csgraph, csr_array  # takes long to import

    graph = csr_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(n, n))
    return by_appearance(csgraph.connected_components(graph, directed=False)[1])


def check_partitions(partitions: ArrayLike) -> NDArray[np.int32]:
    """Check sampled partitions ``[M, N]``, and number their clusters by first appearance; a ValueError for another
    shape, no partition or no item."""
    rows = np.asarray(partitions)
    if rows.ndim != 2 or not rows.size:
        raise ValueError(f"partitions: expected labels [M, N], M and N at least 1; got shape {rows.shape}")
    # labels of a run are numbered like this: no need to look at each
    if rows.dtype.kind == "i" and not rows[:, 0].any() and rows.min() == 0:
        seen = np.maximum.accumulate(rows, axis=1)
        if (rows[:, 1:] <= seen[:, :-1] + 1).all():
            return np.ascontiguousarray(rows, dtype=np.int32)
    return np.stack([by_appearance(row) for row in rows])


def terms(loss: str, N: int) -> tuple[NDArray[np.float64], float]:
    """f(0), ..., f(N) of a loss, float64 ``[N + 1]``, and its scale; a ValueError for another than `LOSSES`."""
    n = np.arange(N + 1, dtype=np.float64)
    if loss == "vi":
        return n * np.log(np.maximum(n, 1)), float(N)
    if loss == "binder":
        return n * (n - 1) / 2, max(1.0, N * (N - 1) / 2)
    raise ValueError(f"loss={loss!r}: expected one of {', '.join(LOSSES)}")


def distances(labels: ArrayLike, partitions: ArrayLike, loss: str = "vi") -> NDArray[np.float64]:
    """The loss between a partition, labels ``[N]``, and each of others ``[M, N]``: float64 ``[M]``, otherwise as
    `all_distances`."""
    rows, reference = check_partitions(partitions), by_appearance(labels)
    if reference.shape != rows.shape[1:]:
        raise ValueError(f"labels: expected [{rows.shape[1]}]; got shape {reference.shape}")
    return _cross_distances(reference[None, :], rows, loss)[0]


def all_distances(partitions: ArrayLike, others: ArrayLike, loss: str = "vi") -> NDArray[np.float64]:
    """The loss between each partition of a list and each of another: float64 ``[A, B]``, nats (vi) or shares of pairs
    (binder). A ValueError for an unknown loss, or shapes that do not fit."""
    rows, columns = check_partitions(partitions), check_partitions(others)
    if rows.shape[1] != columns.shape[1]:
        raise ValueError(f"others: expected [B, {rows.shape[1]}]; got shape {columns.shape}")
    return _cross_distances(rows, columns, loss)


def _cross_distances(rows: NDArray[np.int32], others: NDArray[np.int32], loss: str) -> NDArray[np.float64]:
    f, scale = terms(loss, rows.shape[1])
    own_sums, theirs = (np.array([f[np.bincount(row)].sum() for row in partitions]) for partitions in (rows, others))
    cross_distances = own_sums[:, None] + theirs[None, :] - 2 * cross_terms(rows, others, f)
    return np.maximum(cross_distances / scale, 0.0)


class ExpectedLoss:
    """Mean loss to weighted partitions, of blocks of items that those never separate.

    Items that share a cluster in every sampled partition move as one. Nothing is lost by it: in the number of such
    items that lie in one of two clusters, the others in the other, the mean is concave (f'' is 1/n or constant, no
    intersection is larger than its cluster, and 2 - a, the weight of the clusters, is no larger than 2, the weight of
    the intersections), so that an end, where they are together, is best.

    `rows` ``[M, N]`` are sampled partitions, clusters numbered by first appearance: one that came up twice stands there
    twice, or they differ and `times` ``[M]`` says how often each came up. `most_cells`: cells that a table of
    intersections may have; `a`: cost of separating what is together, from 0 to 2, joining what is apart costs 2 - a;
    `clusters`: fewest and most clusters of the partitions whose loss is asked for, by default any number; `accepts`:
    whether a partition ``[N]`` may be the estimate, as one of the rows must be.

    It has `f` and `own` ``[N + 1]`` (see `terms`; (2 - a) f, the term of a cluster of the estimate); the `block` of
    every item ``[N]`` and items of every block (`size` ``[A]``); the `cluster` of every block in every distinct
    partition ``[A, M]``, in one numbering for the clusters of all of them; the `weight` of every distinct partition
    ``[M]``, its share among the sampled ones, and the `cluster_weight` of that to which each cluster belongs ``[C]``;
    `fewest_clusters` and `most_clusters`.
    """

    def __init__(
        self,
        rows: NDArray[np.int32],
        loss: str,
        most_cells: int,
        a: float = 1.0,
        clusters: tuple[int, int] | None = None,
        times: NDArray[np.int64] | None = None,
        accepts: Callable[[NDArray[np.int64]], bool] | None = None,
    ) -> None:
        self._accepts = accepts
        self.f, self.scale = terms(loss, rows.shape[1])
        self.own, self._a = (2 - a) * self.f, a
        if times is None:
            first, times = find_distinct(rows)
        else:
            first = np.arange(len(rows))
        blocks, self.block, self.size = find_blocks(rows[first])
        self.weight = times / times.sum()
        self._blocks = np.ascontiguousarray(blocks)
        self.widths = self._blocks.max(axis=1).astype(np.int64) + 1
        fitting = max(int(self.widths.max()), most_cells // int(self.widths.sum()))
        self.fewest_clusters, most_clusters = clusters or (1, len(self.size))
        self.most_clusters = min(len(self.size), fitting, most_clusters)
        first = np.cumsum(self.widths) - self.widths  # cluster of each partition
        self.cluster = np.ascontiguousarray((self._blocks + first[:, None]).T.astype(np.int32))
        self.cluster_weight = np.repeat(self.weight, self.widths)
        one = self.intersections(np.zeros(len(self.size), dtype=np.int64))
        self._of_each = np.add.reduceat(self.f[one.ravel()], first)
        self.theirs = a * float(self._of_each @ self.weight)

    def best_sampled(self) -> NDArray[np.int64]:
        """Labels ``[A]`` of the sampled partition of least expected loss, of those with as many clusters as it may
        have; one of them must."""
        shared = shared_terms(self._blocks, self.size, self.widths, self.weight, self.f)
        expected = (2 - self._a) * self._of_each - 2 * shared
        expected[(self.widths < self.fewest_clusters) | (self.widths > self.most_clusters)] = np.inf
        # the first that may be: most are
        order = np.argsort(expected, kind="stable")
        best = next((row for row in order if self.accepts(self._blocks[row])), order[0])
        return self._blocks[best].astype(np.int64)

    def accepts(self, labels: NDArray[Any]) -> bool:
        """Whether a partition, given the labels of the blocks ``[A]``, may be the estimate whatever its loss."""
        return self._accepts is None or self._accepts(labels[self.block])

    def find_linked(self) -> NDArray[np.bool_]:
        """Whether some sampled partition puts two blocks in one cluster: ``[A, A]``."""
        linked = np.zeros((len(self.size), len(self.size)), dtype=bool)
        for row in self._blocks:
            linked |= row[:, None] == row
        return linked

    def fits(self, labels: NDArray[np.int64]) -> bool:
        """Whether a partition, given the labels of the blocks ``[A]``, has as many clusters as it may have."""
        return self.fewest_clusters <= len(np.unique(labels)) <= self.most_clusters and self.accepts(labels)

    def sizes(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Items in the clusters of `labels` ``[A]``: ``[K]``."""
        return np.bincount(labels, weights=self.size).astype(np.int64)

    def intersections(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Items that the C clusters share with the clusters of `labels` ``[A]``: ``[C, K]``."""
        C, K = len(self.cluster_weight), int(labels.max()) + 1
        cells = (self.cluster * np.int64(K) + labels[:, None]).ravel()
        items = None if len(self.size) == len(self.block) else np.repeat(self.size, len(self.weight))
        return np.bincount(cells, weights=items, minlength=C * K).astype(np.int64).reshape(C, K)

    def __call__(self, labels: NDArray[np.int64]) -> float:
        """Expected loss of a partition, given the labels of the blocks ``[A]``."""
        K, C = int(labels.max()) + 1, len(self.cluster_weight)
        most_cells = 4 * max(self.cluster.size, 2**16)
        if most_cells >= C * K:
            each = float(self.cluster_weight @ self.f[self.intersections(labels)].sum(axis=1))
        else:
            from scipy.sparse import csr_array  # takes long to import: a short run has no table as large

            A, M = self.cluster.shape
            items, members = np.repeat(self.size, M), np.repeat(np.arange(A), M)
            indicators = csr_array((np.ones_like(labels), labels, np.arange(A + 1)), shape=(A, K))
            shared = csr_array((items, (self.cluster.ravel(), members))) @ indicators
            each = float((self.f[shared.data] * np.repeat(self.cluster_weight, np.diff(shared.indptr))).sum())
        return max(0.0, (float(self.own[self.sizes(labels)].sum()) + self.theirs - 2 * each) / self.scale)
