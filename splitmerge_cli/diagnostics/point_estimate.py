"""Summarise a posterior by one clustering: the partition of least expected loss.

The mean of the loss over the sampled partitions is computed as it is, not by a bound, and minimised by a greedy search.
The variation of information has a lower bound that puts the mean inside the logarithm: it is not used.

The search: sequential allocation, then sweeps of single moves. Every start is improved until no block of items is
better in another cluster, an empty one among the choices. Starts are the best sampled partition, a single cluster and
sequential allocations in random orders. For a few blocks all partitions are compared instead.

The estimate of a run weighs the two errors as `COST` says and has as many clusters as the 0.95 interval of K: of the
rules that `scripts/compare_estimates.py` compares on generated data it finds the true number most often without loss
of adjusted Rand index.

Source: Wade and Ghahramani 2018 (the estimate); Rastelli and Friel 2018 (moving items by the exact mean); Dahl, Johnson
and Mueller 2022, section 3 (SALSO: sequential allocation, sweetening, several runs; unequal costs).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics import partition_kernels, partition_losses

ALLOCATIONS = 4
"""Sequential allocations."""
FEW = 7
"""Blocks up to which all partitions are compared, 877 at most: single moves do not leave every local minimum."""
STEP = 50
"""Cost of a placement besides the cells that it looks up, in cells."""
MOST_KEPT = 2**22
"""Costs of a block in a cluster that are kept until the cluster changes: none if there would be more."""
LEAST_WORK = 2**24
"""Cells that the improvement of a start may look up in any case."""

_SPARE = 8
_NOWHERE = -1


def candidates(loss: partition_losses.ExpectedLoss, max_work: int) -> Iterator[NDArray[np.int64]]:
    """Labels of the blocks among which the one of least expected loss is to be chosen: at its local minima, the best
    sampled partition first; of few blocks all.

    Once `max_work` cells were looked up no further start is tried; after four times as many nothing is moved any more.
    """
    blocks = len(loss.size)
    if blocks <= FEW:
        yield from filter(loss.fits, _all_partitions(blocks))
        return
    yield (best := loss.best_sampled())
    rng = np.random.Generator(np.random.PCG64(0))
    nowhere = np.full(blocks, _NOWHERE, dtype=np.int64)
    work = 0
    for start in [best, np.zeros(blocks, dtype=np.int64), *[nowhere] * ALLOCATIONS]:
        if work > max_work:
            return
        search = Search(loss, start, max(4 * max_work - work, LEAST_WORK))
        if start is nowhere:
            # one that cannot be finished is not begun
            if blocks * STEP > search.max_work:
                return
            search.place(rng.permutation(blocks))
        while search.sweep():
            pass
        work += search.work
        if loss.fits(search.labels):
            yield search.labels


def _all_partitions(n: int) -> Iterator[NDArray[np.int64]]:
    """All partitions of `n` items, numbered by first appearance."""
    rows = [[0]]
    for _ in range(n - 1):
        rows = [[*row, k] for row in rows for k in range(max(row) + 2)]
    yield from np.array(rows, dtype=np.int64)


class Search:
    """A partition of the blocks, and moves that lower its expected loss, until `max_work` cells were looked up.

    It starts at `labels` ``[A]``, -1 for blocks that are yet to be placed.
    """

    def __init__(self, loss: partition_losses.ExpectedLoss, labels: NDArray[np.int64], max_work: int) -> None:
        self.loss, self.max_work = loss, max_work
        self.labels = labels.copy()
        self.grown = np.diff(loss.f)
        self.sizes = np.empty(0, dtype=np.int64)
        counts = np.uint16 if len(loss.block) < 2**16 else np.int32
        self.table = np.empty((len(loss.cluster_weight), 0), dtype=counts)
        if labels.max() >= 0:
            self.sizes = loss.sizes(labels)
            self.table = loss.intersections(labels).astype(counts)
        # see `place_blocks`
        self.changes = np.ones(len(self.sizes), dtype=np.int64)
        self.kept = np.zeros((len(labels), len(self.sizes)))
        self.kept_at = np.zeros(self.kept.shape, dtype=np.int64)
        self.work = 0
        self.used = 0
        """Columns in front that hold items, or held some since they were packed."""
        self.pack()

    def place(self, order: NDArray[np.int64]) -> bool:
        """Put blocks, in their order, where the expected loss is least, as long as there is work left; whether one was
        elsewhere before."""
        position, moved = 0, False
        while position < len(order) and self.work <= self.max_work:
            position, self.used, work, some = partition_kernels.place_blocks(
                order,
                position,
                self.labels,
                self.sizes,
                self.table,
                self.loss.cluster,
                self.loss.size,
                self.loss.weight,
                self.loss.f,
                self.loss.own,
                self.grown,
                self.changes,
                self.kept,
                self.kept_at,
                self.used,
                self.loss.fewest_clusters,
                self.loss.most_clusters,
                partition_losses.ROUNDING * self.loss.scale,
                self.max_work - self.work,
                STEP,
            )
            self.work += work
            moved |= some
            if self.used == self.table.shape[1] < self.loss.most_clusters:
                self.pack()
        return moved

    def sweep(self) -> bool:
        """Place every block once more, as long as there is work left; whether one moved and a further sweep may pay."""
        self.pack()
        return self.place(np.arange(len(self.labels))) and self.work <= self.max_work

    def pack(self) -> None:
        """Number the clusters 0, 1, ... again, with a few empty ones behind them: as many columns as are looked at."""
        filled = np.flatnonzero(self.sizes)
        # some in proportion: a table that grows by a few at a time is copied as often as it has columns
        spare = min(max(_SPARE, len(filled) // 4), self.loss.most_clusters - len(filled))
        numbers = np.full(len(self.sizes) + 1, _NOWHERE)
        numbers[filled] = np.arange(len(filled))
        self.labels = numbers[self.labels]
        self.sizes = np.append(self.sizes[filled], np.zeros(spare, dtype=np.int64))
        self.table = _pack_columns(self.table, filled, spare)
        self.used = len(filled)
        self.changes = np.append(self.changes[filled], np.ones(spare, dtype=np.int64))
        if len(self.labels) * len(self.sizes) <= MOST_KEPT:
            self.kept = _pack_columns(self.kept, filled, spare)
            self.kept_at = _pack_columns(self.kept_at, filled, spare)
        else:
            self.kept, self.kept_at = np.zeros((1, len(self.sizes))), np.zeros((1, len(self.sizes)), dtype=np.int64)


def _pack_columns(table: NDArray[Any], columns: NDArray[np.int64], spare: int) -> NDArray[Any]:
    """Keep some columns of a table, with empty ones behind them; row by row in memory."""
    packed = np.zeros((len(table), len(columns) + spare), dtype=table.dtype)
    # clipping copies into the table itself; no column is beyond its end
    np.take(table, columns, axis=1, out=packed[:, : len(columns)], mode="clip")
    return packed


MAX_PARTITIONS = 256
"""Sampled partitions that are averaged at most."""
MAX_LABELS = 4_000_000
"""Labels of all these partitions together, at most."""
MAX_CELLS = 2**24
"""Cells that the table of intersections has at most."""
MIN_PARTITIONS = 8
"""Where fewer would fit that table there is no estimate."""
MAX_WORK = 2**29
"""Once the search has looked up so many cells, a second's work or so, it tries no further start; after four times as
many it moves nothing any more."""
COST = 1.1
"""Cost of separating what is together, in the estimate of a run; joining what is apart costs 2 less this."""
LEVEL = 0.95
"""Probability of the interval for K."""


FEW_ITEMS = 3
"""Items of a cluster that is listed as outliers, at most, and so few that they are less than `FEW_SHARE` of all."""
FEW_SHARE = 0.05


class TooManyClusters(ValueError):
    """The sampled partitions have so many clusters that too few of them could be averaged."""


@dataclass(frozen=True)
class Estimate:
    """A partition, and how far the sampled ones are from it."""

    labels: NDArray[np.int32]
    """``[N]``, numbered by first appearance; of a run by size, the largest first."""
    loss: str
    """``vi`` or ``binder``."""
    expected_loss: float
    """Mean loss over the sampled partitions: nats (vi), or a share of the pairs (binder)."""
    partitions: int
    """Number of sampled partitions that were averaged."""

    @property
    def n_clusters(self) -> int:
        """Clusters of the partition."""
        return int(self.labels.max()) + 1


def evenly_spaced(n: int, at_most: int) -> NDArray[np.int64]:
    """Numbers of at most `at_most` of `n` rows, evenly spaced; all of them where they are no more."""
    n_kept = min(n, at_most)
    return (2 * np.arange(n_kept, dtype=np.int64) + 1) * n // (2 * max(n_kept, 1))


def most_partitions(N: int) -> int:
    """How many partitions of `N` items are averaged at most: `MAX_PARTITIONS`, and no more than `MAX_LABELS` labels."""
    return max(MIN_PARTITIONS, min(MAX_PARTITIONS, MAX_LABELS // N))


def first_rows(partitions: ArrayLike, items: NDArray[np.int32]) -> NDArray[np.int32]:
    """Partitions of items, given partitions of rows ``[..., N]`` and the item of each row."""
    return np.asarray(partitions)[..., np.unique(items, return_index=True)[1]]


def thin_partitions(partitions: ArrayLike) -> NDArray[np.int32]:
    """The partitions that are averaged, of sampled ones: checked and thinned; raises as `minimise_expected_loss`."""
    rows = np.asarray(partitions)
    if rows.ndim == 2 and rows.size:
        rows = rows[evenly_spaced(len(rows), most_partitions(rows.shape[1]))]
    rows = partition_losses.check_partitions(rows)
    widest = int(rows.max()) + 1
    fitting = MAX_CELLS // widest**2
    if fitting < min(MIN_PARTITIONS, len(rows)):
        raise TooManyClusters(f"{widest} clusters in a partition are too many to compute the expected distance")
    return rows[evenly_spaced(len(rows), fitting)]


def interval_of_counts(counts: ArrayLike, level: float = LEVEL) -> tuple[int, int]:
    """The central posterior interval of this probability for the number of clusters, both ends of which occur."""
    low, high = np.quantile(np.asarray(counts), [0.5 - level / 2, 0.5 + level / 2], method="inverted_cdf")
    return int(low), int(high)


def is_outlying(size: float, N: float) -> bool:
    """Whether a cluster so small, among N items, is listed as outliers.

    Examples
    --------
    >>> is_outlying(3, 150), is_outlying(3, 40), is_outlying(4, 150)
    (True, False, False)
    """
    return bool(size <= FEW_ITEMS and size < FEW_SHARE * N)


def count_larger(labels: ArrayLike, sizes: ArrayLike | None = None) -> int:
    """Count the clusters of a partition that are not listed as outliers; all, if each is so small.

    `sizes`, ``[N]``, is what each item adds to its cluster; by default 1.
    """
    of_clusters = np.bincount(np.asarray(labels), sizes)
    larger = sum(not is_outlying(size, of_clusters.sum()) for size in of_clusters.tolist())
    return larger or int(np.count_nonzero(of_clusters))


def counts_larger(partitions: ArrayLike, sizes: ArrayLike | None = None) -> NDArray[np.int64]:
    """The number of clusters of each partition ``[M, N]`` that are not listed as outliers: int64 ``[M]``. `sizes` as of
    `count_larger`, or ``[M, N]``."""
    rows = np.asarray(partitions)
    each = np.broadcast_to(1.0 if sizes is None else sizes, rows.shape)
    return np.array([count_larger(row, of_row) for row, of_row in zip(rows, each, strict=True)], dtype=np.int64)


def minimise_expected_loss(
    partitions: ArrayLike,
    loss: str = "vi",
    a: float = 1.0,
    clusters: tuple[int, int] | None = None,
    apart: NDArray[np.int32] | None = None,
    accepts: Callable[[NDArray[np.int64]], bool] | None = None,
) -> Estimate:
    """The partition of least expected loss, as far as a greedy search finds it.

    It is never worse than the best of the partitions that were averaged (of those with as many clusters as it may
    have), separates no items that all of them join, has no more clusters than the table of intersections holds, and
    depends neither on the numbers of their clusters nor, unless they are thinned, on their order. The search is the
    same at every call: its seed is fixed.

    Sampled partitions are ``[M, N]``, M and N at least 1; one that came up twice stands there twice. If there are many,
    `most_partitions` are averaged, evenly spaced, and never more than fit a table of `MAX_CELLS` cells. `loss`:
    variation of information (``vi``) or Binder's loss (``binder``, `partition_losses`); `a`: cost of separating what is
    together, from 0 to 2, joining what is apart costs 2 - a; `clusters`: fewest and most clusters that it may have,
    such as `interval_of_counts`, by default any number; `apart` ``[P, 2]``: pairs of items that no sampled partition
    joins, and that the estimate may not join; `accepts`: whether a partition ``[N]`` may be the estimate. At least one
    of the partitions has so many clusters, and is accepted.

    Raises `TooManyClusters` (fewer than `MIN_PARTITIONS` of them would fit the table), `ValueError` (another shape, an
    unknown `loss`, `a` out of range, no partition with so many clusters).
    """
    if not 0 <= a <= 2:
        raise ValueError(f"a={a}: expected from 0 to 2")
    rows = thin_partitions(partitions)
    if clusters is not None:
        K = rows.max(axis=1) + 1
        if not ((clusters[0] <= K) & (clusters[1] >= K)).any():
            raise ValueError(f"clusters={clusters}: expected some between {K.min()} and {K.max()}")
    expected = partition_losses.ExpectedLoss(rows, loss, MAX_CELLS, a, clusters, accepts=accepts)
    best, least = None, np.inf
    for labels in candidates(expected, MAX_WORK):
        value = expected(labels)
        ends = None if apart is None else labels[expected.block][apart]
        if value < least - partition_losses.ROUNDING and (ends is None or (ends[:, 0] != ends[:, 1]).all()):
            best, least = labels, value
    # a sampled partition is among the candidates
    assert best is not None
    return Estimate(partition_losses.by_appearance(best[expected.block]), loss, least, len(rows))


def estimate_partition(
    partitions: ArrayLike,
    loss: str = "vi",
    interval: tuple[int, int] | None = None,
    items: NDArray[np.int32] | None = None,
    apart: NDArray[np.int32] | None = None,
    sizes: ArrayLike | None = None,
) -> Estimate:
    """The estimate of a run: the partition of least expected loss at `COST`, of those with as many clusters as the
    interval of K has, the largest first; raises as `minimise_expected_loss`.

    Without outliers (`count_larger` with the `sizes` of items) its number of clusters is the one that most partitions
    have; where no number is in most of them, one in the 95 % interval of these numbers.

    The interval comes from all draws of the run. Without it the partitions give it, and also if none of the partitions
    that are averaged has as many clusters. `items`, int ``[N]``, says which rows are one item, where some are: the loss
    counts items. `apart` are pairs of items, as of `minimise_expected_loss`.
    """
    if items is not None:
        of_items = None if sizes is None else first_rows(sizes, items)
        estimate = estimate_partition(first_rows(partitions, items), loss, interval, apart=apart, sizes=of_items)
        return replace(estimate, labels=estimate.labels[items])
    counts = counts_larger(partitions, sizes)
    values, times = np.unique(counts, return_counts=True)
    number = int(values[times.argmax()])
    low, high = (number, number) if 2 * times.max() > len(counts) else interval_of_counts(counts)

    def accepts(labels: ArrayLike) -> bool:
        return low <= count_larger(labels, sizes) <= high

    rows = thin_partitions(partitions)
    K = rows.max(axis=1) + 1
    may_be = np.array([accepts(row) for row in rows])
    if not may_be.any():  # of the few that are averaged none has such a number
        may_be[:] = True
        low, high = 1, len(rows[0])
    first, last = interval_of_counts(K) if interval is None else interval
    within = (first <= K) & (last >= K)
    bounds = (first, last) if within.any() else interval_of_counts(K)
    estimate = minimise_expected_loss(rows, loss, COST, bounds, apart)
    if not accepts(estimate.labels):
        may_be = may_be & within if (may_be & within).any() else may_be
        clusters = int(K[may_be].min()), int(K[may_be].max())
        estimate = minimise_expected_loss(rows, loss, COST, clusters, apart, accepts)
        # the search seldom keeps such a number; among the partitions that have it, it does
        other = minimise_expected_loss(rows[may_be], loss, COST, None, apart).labels
        expected = partition_losses.ExpectedLoss(rows, loss, MAX_CELLS, COST)
        value = expected(other[np.unique(expected.block, return_index=True)[1]].astype(np.int64))
        if accepts(other) and value < estimate.expected_loss:
            estimate = replace(estimate, labels=other, expected_loss=value)
    return replace(estimate, labels=partition_losses.by_size(estimate.labels))
