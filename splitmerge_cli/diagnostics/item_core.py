"""The core of a posterior: items, and a partition of them, that are together as drawn with a given probability.

A partition of some of the items has the probability that a sampled partition, cut to these items, is it. The core of
level 0.95 is one of as many items as possible whose probability is at least 0.95. The search adds, one at a time, the
item and the place (a cluster of the core, or a new one) that keep most of the sampled partitions in agreement, as long
as they are enough; an item on which all of those agree costs nothing.

Source: Page et al. 2025 (conditional high inclusion probability subset).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.partition_losses import by_appearance, check_partitions, find_blocks

STARTS = 16
MOST_LABELS = 2**22
"""Labels that all starts together have; two are made in any case."""


@dataclass(frozen=True)
class ItemCore:
    """Items that are together as drawn."""

    labels: NDArray[np.int32]
    """``[N]``: cluster of each item in the core, numbered by first appearance; -1 of the others."""
    probability: float
    """Share of the sampled partitions that agree."""
    level: float

    @property
    def n_items(self) -> int:
        """Items in the core."""
        return int((self.labels >= 0).sum())

    @property
    def n_clusters(self) -> int:
        """Clusters of the core."""
        return int(self.labels.max()) + 1


def find_item_core(partitions: ArrayLike, level: float = 0.95) -> ItemCore:
    """The core of a level, a probability above 0 and at most 1, as a greedy search from several starts finds it; the
    same at every call.

    Of the sampled partitions ``[M, N]`` one that came up twice stands there twice. A ValueError for a level out of
    range, or partitions of another shape.

    Examples
    --------
    >>> core = find_item_core([[0, 0, 1, 1]] * 10 + [[0, 0, 1, 0]] * 9 + [[0, 1, 2, 2]])
    >>> core.labels.tolist(), core.probability
    ([0, 0, 1, -1], 0.95)
    """
    if not 0 < level <= 1:
        raise ValueError(f"core={level}: expected above 0, at most 1")
    rows = check_partitions(partitions)
    blocks, block, size = find_blocks(rows)
    needed = max(1, math.ceil(level * len(rows) - 1e-9))
    rng = np.random.default_rng(0)
    best, largest = (np.full(len(size), -1), 0), (-1, 0)
    for _ in range(max(2, min(STARTS, MOST_LABELS // blocks.size))):
        labels, agree = _grow(blocks, size, needed, rng)
        reached = int(size[labels >= 0].sum()), agree
        if reached > largest:
            best, largest = (labels, agree), reached
    labels, agree = best
    of_items = labels[block]
    inside = of_items >= 0
    out = np.full(len(of_items), -1, dtype=np.int32)
    out[inside] = by_appearance(of_items[inside])
    return ItemCore(out, agree / len(rows), level)


def _grow(
    rows: NDArray[np.int32], size: NDArray[np.int64], needed: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], int]:
    """A core of blocks ``[A]``, -1 of those left out, and how many of the partitions ``[M, A]`` agree; of equals the
    largest block is added, then one at random."""
    M, A = rows.shape
    labels = np.full(A, -1)
    alive = np.arange(M)
    place = np.full((M, int(rows.max()) + 1), -1)
    rank = size + rng.random(A)
    # a block is in no cluster of an empty core
    clusters, seed = 0, int(rng.choice(A, p=size / size.sum()))
    first: int | None = seed
    while True:
        where = np.take_along_axis(place[alive], rows[alive], axis=1)
        # how many of the partitions have the block in each cluster of the core, the last column in none
        counts = np.stack([(where == k).sum(axis=0) for k in [*range(clusters), -1]], axis=1)
        counts[labels >= 0] = -1
        free = (counts[:, :-1] == len(alive)).any(axis=1) if clusters else np.zeros(A, dtype=bool)
        if free.any():
            labels[free] = counts[free, :-1].argmax(axis=1)
            counts[free] = -1
        if first is None:
            reach = counts.max(axis=1)
            if (largest := int(reach.max())) < needed:
                return labels, len(alive)
            among = np.flatnonzero(reach == largest)
            i = int(among[rank[among].argmax()])
        else:
            i, first = first, None
        k = int(counts[i].argmax())
        agree = where[:, i] == (k if k < clusters else -1)
        alive = alive[agree]
        labels[i] = k
        if k == clusters:
            place[alive, rows[alive, i]] = k
            clusters += 1
