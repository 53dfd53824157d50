"""The search for the partition of least expected loss: sequential allocation, then sweeps of single moves.

Every start is improved until no block of items is better in another cluster, an empty one among the choices. Starts are
the best sampled partition, a single cluster and sequential allocations in random orders. Of a few blocks all partitions
are compared instead.

Source: Rastelli and Friel 2018 (moving items by the exact mean); Dahl, Johnson and Mueller 2022, section 3 (SALSO:
sequential allocation, sweetening, several runs).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.diagnostics.partition_losses import ROUNDING, ExpectedLoss

ALLOCATIONS = 4
"""Sequential allocations."""
FEW = 7
"""Of so few blocks all partitions are compared, 877 at most: single moves do not leave every local minimum, least of
all where the number of clusters is limited."""
STEP = 2000
"""What a placement costs beside the cells that it looks up, in cells."""
LEAST_WORK = 2**24
"""What the improvement of a start may look up in any case."""

_SPARE = 8
_NOWHERE = -1


def candidates(loss: ExpectedLoss, max_work: int) -> Iterator[NDArray[np.int64]]:
    """Labels of the blocks among which the one of least expected loss is to be chosen: at its local minima, the best
    sampled partition first; of few blocks all.

    Parameters
    ----------
    loss : ExpectedLoss
    max_work : int
        Once so many cells were looked up no further start is tried; after four times as many nothing is moved any more.
    """
    blocks = len(loss.size)
    if blocks <= FEW:
        yield from _all_partitions(blocks, loss.most_clusters)
        return
    best = min(loss.sampled, key=loss, default=None)
    starts = [np.zeros(blocks, dtype=np.int64)]
    if best is not None:
        yield best
        starts.insert(0, best)
    rng = np.random.Generator(np.random.PCG64(0))
    nowhere = np.full(blocks, _NOWHERE, dtype=np.int64)
    work = 0
    for start in [*starts, *[nowhere] * ALLOCATIONS]:
        if work > max_work:
            return
        search = Search(loss, start, max(4 * max_work - work, LEAST_WORK))
        if start is nowhere:
            # one that cannot be finished is not begun
            if blocks * STEP > search.max_work:
                return
            for i in rng.permutation(blocks):
                search.place(i)
        while search.sweep():
            pass
        work += search.work
        yield search.labels


def _all_partitions(n: int, most_clusters: int) -> Iterator[NDArray[np.int64]]:
    """All partitions of `n` items into at most so many clusters, numbered by first appearance."""
    rows = [[0]]
    for _ in range(n - 1):
        rows = [[*row, k] for row in rows for k in range(min(max(row) + 2, most_clusters))]
    yield from np.array(rows, dtype=np.int64)


class Search:
    """A partition of the blocks, and moves that lower its expected loss.

    Parameters
    ----------
    loss : ExpectedLoss
    labels : ndarray of int, shape (A,)
        The start; -1 for blocks that are yet to be placed.
    max_work : int
        Cells after which sweeps end.
    """

    def __init__(self, loss: ExpectedLoss, labels: NDArray[np.int64], max_work: int) -> None:
        self.loss, self.max_work = loss, max_work
        self.labels = labels.copy()
        self.least_gain = ROUNDING * loss.scale
        self.weight = loss.weight.ravel()
        self.sizes = np.empty(0, dtype=np.int64)
        self.table = np.empty((len(loss.cluster_weight), 0), dtype=np.int32)
        if labels.max() >= 0:
            self.sizes = loss.sizes(labels)
            self.table = loss.intersections(labels).toarray().astype(np.int32)
        self.work = 0
        self.used = 0
        """Columns in front that hold items, or held some since they were packed."""
        self.pack()

    def place(self, i: int) -> bool:
        """Put block `i` where the expected loss is least; whether that is elsewhere than it was."""
        size, rows, old = int(self.loss.size[i]), self.loss.cluster[i], int(self.labels[i])
        # the clusters that hold items, and one that is empty where there may be one more
        width = min(self.used + 1, self.table.shape[1])
        grown, sizes, shared = self.loss.grown(size), self.sizes[:width], self.table[:, :width].take(rows, axis=0)
        self.work += shared.size + STEP
        if old >= 0:
            sizes = sizes.copy()
            sizes[old] -= size
            shared[:, old] -= size
        cost = grown[sizes] - 2 * (self.weight @ grown.take(shared, mode="clip"))
        new = int(cost.argmin())
        if old >= 0 and cost[new] > cost[old] - self.least_gain:
            return False
        if old >= 0:
            self.table[rows, old] -= size
            self.sizes[old] -= size
        self.table[rows, new] += size
        self.sizes[new] += size
        self.labels[i] = new
        self.used = max(self.used, new + 1)
        if self.used == self.table.shape[1] < self.loss.most_clusters:
            self.pack()
        return new != old

    def sweep(self) -> bool:
        """Place every block once more, as long as there is work left; whether one moved and a further sweep may pay."""
        self.pack()
        moved = False
        for i in range(len(self.labels)):
            if self.work > self.max_work:
                return False
            moved |= self.place(i)
        return moved

    def pack(self) -> None:
        """Number the clusters 0, 1, ... again, with a few empty ones behind them: as many columns as are looked at."""
        kept = np.flatnonzero(self.sizes)
        spare = min(_SPARE, self.loss.most_clusters - len(kept))
        numbers = np.full(len(self.sizes) + 1, _NOWHERE)
        numbers[kept] = np.arange(len(kept))
        self.labels = numbers[self.labels]
        self.sizes = np.append(self.sizes[kept], np.zeros(spare, dtype=np.int64))
        self.table = np.pad(self.table[:, kept], ((0, 0), (0, spare)))
        self.used = len(kept)
