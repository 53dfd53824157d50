"""The search for the partition of least expected loss: sequential allocation, then sweeps of single moves.

Every start is improved until no block of items is better in another cluster, an empty one among the choices. Starts are
the best sampled partition, a single cluster and sequential allocations in random orders. Of a few blocks all partitions
are compared instead.

Source: Rastelli and Friel 2018 (moving items by the exact mean); Dahl, Johnson and Mueller 2022, section 3 (SALSO:
sequential allocation, sweetening, several runs).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.diagnostics.partition_kernels import place_blocks
from splitmerge_cli.diagnostics.partition_losses import ROUNDING, ExpectedLoss

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


def candidates(loss: ExpectedLoss, max_work: int) -> Iterator[NDArray[np.int64]]:
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

    def __init__(self, loss: ExpectedLoss, labels: NDArray[np.int64], max_work: int) -> None:
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
            position, self.used, work, some = place_blocks(
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
                ROUNDING * self.loss.scale,
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
    packed[:, : len(columns)] = table[:, columns]
    return packed
