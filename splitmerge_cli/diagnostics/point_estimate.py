"""One clustering for a whole posterior: the partition of least expected variation of information.

The variation of information of two partitions of N items (Meila 2007) is the sum of their two conditional entropies;
with f(n) = n log n, n_k and m_l the sizes of their clusters and n_kl those of the intersections,

    VI = (sum_k f(n_k) + sum_l f(m_l) - 2 sum_kl f(n_kl)) / N.

Its mean over the sampled partitions is computed as it is, not by the lower bound that puts the mean inside the
logarithm, and minimised greedily: from the best sampled partition, from a single cluster and from a few sequential
allocations, items are moved one after another to the cluster that is best for them, an empty one among the choices,
until none moves.

Items that share a cluster in every sampled partition move as one. Nothing is lost by it: in the number of such items
that lie in one of two clusters, the others in the other, the mean is concave (f'' = 1/n, and no intersection is larger
than its cluster), so that an end, where they are together, is best.

Source: Wade and Ghahramani 2018 (the loss); Rastelli and Friel 2018 (moving items by the exact mean); Dahl, Johnson and
Mueller 2022 (starts by sequential allocation).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

MAX_PARTITIONS = 256
"""So many sampled partitions are averaged at most."""
MAX_LABELS = 4_000_000
"""So many labels, over all of them, at most."""
MAX_CELLS = 2**24
"""So many cells has the table of intersections at most."""
MIN_PARTITIONS = 8
"""Where fewer would fit that table there is no estimate."""
MAX_WORK = 2**29
"""Once the search has looked up so many cells, about five seconds' work, it tries no further start; after four times as
many it makes no further sweep."""

_ALLOCATIONS = 4
_SPARE = 8
# two losses no further apart than this, in nats, are the same but for rounding
_ROUNDING = 1e-12


class TooManyClusters(ValueError):
    """The sampled partitions have so many clusters that too few of them could be averaged."""


@dataclass(frozen=True)
class PointEstimate:
    """A partition, and how far the sampled ones are from it."""

    labels: NDArray[np.int32]
    """``[N]``, numbered by first appearance."""
    expected_vi: float
    """Mean variation of information to the sampled partitions, in nats."""
    partitions: int
    """How many sampled partitions were averaged."""


def evenly(n: int, most: int) -> NDArray[np.int64]:
    """Numbers of at most `most` of `n` rows, evenly spaced; all of them where they are no more."""
    kept = min(n, most)
    return (2 * np.arange(kept, dtype=np.int64) + 1) * n // (2 * max(kept, 1))


def most_partitions(N: int) -> int:
    """How many partitions of `N` items are averaged at most: `MAX_PARTITIONS`, and no more than `MAX_LABELS` labels."""
    return max(MIN_PARTITIONS, min(MAX_PARTITIONS, MAX_LABELS // N))


def by_appearance(labels: ArrayLike) -> NDArray[np.int32]:
    """The same partition with clusters numbered 0, 1, ... in the order of their first items."""
    _, first, inverse = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32)


def minimise_expected_vi(partitions: ArrayLike) -> PointEstimate:
    """The partition of least expected variation of information, as far as a greedy search finds it.

    It is never worse than the best of the partitions that were averaged, and depends neither on the numbers of their
    clusters nor, unless they are thinned, on their order. They are thinned evenly to `most_partitions` of them and to
    what fits a table of `MAX_CELLS` cells.

    Parameters
    ----------
    partitions : array_like of int, shape (M, N)
        Sampled partitions, M and N at least 1; one that came up twice stands there twice.

    Raises
    ------
    TooManyClusters
        Fewer than `MIN_PARTITIONS` of them would fit the table.
    ValueError
        `partitions` has another shape.
    """
    rows = np.asarray(partitions)
    if rows.ndim != 2 or not rows.size:
        raise ValueError(f"partitions: expected labels [M, N], M and N at least 1; got shape {rows.shape}")
    rows = np.stack([by_appearance(row) for row in rows[evenly(len(rows), most_partitions(rows.shape[1]))]])
    widest = int(rows.max()) + 1
    fitting = MAX_CELLS // widest**2
    if fitting < min(MIN_PARTITIONS, len(rows)):
        raise TooManyClusters(f"{widest} clusters in a partition are too many for the expected distance to be found")
    rows = rows[evenly(len(rows), fitting)]
    loss = _Loss(rows)
    best, least = None, np.inf
    for labels in _candidates(loss):
        value = loss(labels)
        if value < least - _ROUNDING:
            best, least = labels, value
    assert best is not None
    return PointEstimate(by_appearance(best[loss.block]), least, len(rows))


def _candidates(loss: "_Loss") -> Iterator[NDArray[np.int64]]:
    """Labels of the blocks at local minima of the expected loss, from the best sampled partition and other starts."""
    blocks = len(loss.size)
    sampled = min(loss.sampled, key=loss)
    yield sampled
    rng = np.random.Generator(np.random.PCG64(0))
    nowhere = np.full(blocks, -1, dtype=np.int64)
    work = 0
    for start in [sampled, np.zeros_like(nowhere), *[nowhere] * _ALLOCATIONS]:
        if work > MAX_WORK:
            return
        search = _Search(loss, start)
        if start is nowhere:
            for i in rng.permutation(blocks):
                search.place(i)
        while search.sweep() and work + search.work <= 4 * MAX_WORK:
            pass
        work += search.work
        yield search.labels


class _Loss:
    """Expected variation of information to weighted partitions, of blocks of items that those never separate.

    Attributes
    ----------
    f : ndarray of float, shape (N + 1,)
        n log n.
    block : ndarray of int, shape (N,)
        Block of every item.
    size : ndarray of int, shape (A,)
        Items of every block.
    cluster : ndarray of int, shape (A, M)
        Cluster of every block in every distinct partition, in one numbering for the clusters of all of them.
    weight : ndarray of float, shape (M, 1)
        Share of every distinct partition among the sampled ones.
    cluster_weight : ndarray of float, shape (C,)
        The same for each of the C clusters.
    """

    def __init__(self, rows: NDArray[np.int32]) -> None:
        n = np.arange(rows.shape[1] + 1, dtype=np.float64)
        self.f = n * np.log(np.maximum(n, 1))
        distinct, times = np.unique(rows, axis=0, return_counts=True)
        blocks, block, self.size = np.unique(distinct, axis=1, return_inverse=True, return_counts=True)
        self.block = block.ravel()
        self.weight = (times / times.sum())[:, None]
        widths = blocks.max(axis=1) + 1
        self.most_clusters = min(len(self.size), max(int(widths.max()), MAX_CELLS // int(widths.sum())))
        self.first = np.cumsum(widths) - widths
        self.cluster = np.ascontiguousarray((blocks + self.first[:, None]).T)
        self.cluster_weight = np.repeat(self.weight.ravel(), widths)
        items, members = np.repeat(self.size, len(times)), np.repeat(np.arange(len(self.size)), len(times))
        self.members = csr_array((items, (self.cluster.ravel(), members)))
        self.grown = lru_cache(maxsize=64)(self._grown)
        theirs = self.members.sum(axis=1).ravel()
        self.theirs = float((self.f[theirs] * self.cluster_weight).sum())

    @property
    def sampled(self) -> Iterator[NDArray[np.int64]]:
        """Labels ``[A]`` of every distinct partition."""
        yield from (self.cluster - self.first).T

    def sizes(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Items in the clusters of `labels` ``[A]``: ``[K]``."""
        return np.bincount(labels, weights=self.size).astype(np.int64)

    def intersections(self, labels: NDArray[np.int64]) -> csr_array:
        """Items that the C clusters share with the clusters of `labels` ``[A]``: ``[C, K]``."""
        starts = np.arange(len(labels) + 1)
        return self.members @ csr_array((np.ones_like(labels), labels, starts), shape=(len(labels), labels.max() + 1))

    def __call__(self, labels: NDArray[np.int64]) -> float:
        """The expected loss of the labels of the blocks ``[A]``, in nats."""
        shared = self.intersections(labels)
        each = self.f[shared.data] * np.repeat(self.cluster_weight, np.diff(shared.indptr))
        return max(0.0, float(self.f[self.sizes(labels)].sum() + self.theirs - 2 * each.sum()) / (len(self.f) - 1))

    def _grown(self, size: int) -> NDArray[np.float64]:
        """What f grows by when so many items join n others, n = 0 .. N - size."""
        return self.f[size:] - self.f[: len(self.f) - size]


class _Search:
    """A partition of the blocks, and moves that lower its expected loss.

    Parameters
    ----------
    loss : _Loss
    labels : ndarray of int, shape (A,)
        The start; -1 for blocks that are yet to be placed.
    """

    def __init__(self, loss: _Loss, labels: NDArray[np.int64]) -> None:
        self.loss = loss
        self.labels = labels.copy()
        self.least_gain = _ROUNDING * (len(loss.f) - 1)
        self.sizes = np.empty(0, dtype=np.int64)
        self.table = np.empty((len(loss.cluster_weight), 0), dtype=np.int32)
        if labels.max() >= 0:
            self.sizes = loss.sizes(labels)
            self.table = loss.intersections(labels).toarray().astype(np.int32)
        self.work = 0
        self.pack()

    def place(self, i: int) -> bool:
        """Put block `i` where the expected loss is least; whether that is elsewhere than it was."""
        size, rows, old = int(self.loss.size[i]), self.loss.cluster[i], int(self.labels[i])
        if old >= 0:
            self.table[rows, old] -= size
            self.sizes[old] -= size
        grown, shared = self.loss.grown(size), self.table[rows]
        self.work += shared.size
        cost = grown[self.sizes] - 2 * (grown[shared] * self.loss.weight).sum(axis=0)
        new = int(cost.argmin())
        if old >= 0 and cost[new] > cost[old] - self.least_gain:
            new = old
        self.table[rows, new] += size
        self.sizes[new] += size
        self.labels[i] = new
        if self.sizes.all() and len(self.sizes) < self.loss.most_clusters:
            self.pack()
        return new != old

    def sweep(self) -> bool:
        """Place every block once more; whether one moved."""
        self.pack()
        return sum([self.place(i) for i in range(len(self.labels))]) > 0

    def pack(self) -> None:
        """Number the clusters 0, 1, ... again, with a few empty ones behind them: as many columns as are looked at."""
        kept = np.flatnonzero(self.sizes)
        spare = min(_SPARE, self.loss.most_clusters - len(kept))
        numbers = np.full(len(self.sizes) + 1, -1)
        numbers[kept] = np.arange(len(kept))
        self.labels = numbers[self.labels]
        self.sizes = np.append(self.sizes[kept], np.zeros(spare, dtype=np.int64))
        self.table = np.pad(self.table[:, kept], ((0, 0), (0, spare)))
