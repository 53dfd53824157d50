"""One clustering for a whole posterior: the partition of least expected loss.

The mean of the loss over the sampled partitions is computed as it is, not by a bound, and minimised by a greedy search
(`partition_search`). Of the variation of information it is not the lower bound that puts the mean inside the logarithm.

Source: Wade and Ghahramani 2018 (the estimate); Rastelli and Friel 2018; Dahl, Johnson and Mueller 2022 (the search).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.partition_losses import ROUNDING, ExpectedLoss, by_appearance, check_partitions
from splitmerge_cli.diagnostics.partition_search import candidates

MAX_PARTITIONS = 256
"""Sampled partitions that are averaged at most."""
MAX_LABELS = 4_000_000
"""Labels of all these partitions together, at most."""
MAX_CELLS = 2**24
"""Cells that the table of intersections has at most."""
MIN_PARTITIONS = 8
"""Where fewer would fit that table there is no estimate."""
MAX_WORK = 2**32
"""Once the search has looked up so many cells, four seconds' work or so, it tries no further start; after four times as
many it moves nothing any more."""


class TooManyClusters(ValueError):
    """The sampled partitions have so many clusters that too few of them could be averaged."""


@dataclass(frozen=True)
class Estimate:
    """A partition, and how far the sampled ones are from it."""

    labels: NDArray[np.int32]
    """``[N]``, numbered by first appearance."""
    loss: str
    """``vi`` or ``binder``."""
    expected_loss: float
    """Mean loss over the sampled partitions: nats (vi), or a share of the pairs (binder)."""
    partitions: int
    """Number of sampled partitions that were averaged."""


def evenly_spaced(n: int, most: int) -> NDArray[np.int64]:
    """Numbers of at most `most` of `n` rows, evenly spaced; all of them where they are no more."""
    kept = min(n, most)
    return (2 * np.arange(kept, dtype=np.int64) + 1) * n // (2 * max(kept, 1))


def most_partitions(N: int) -> int:
    """How many partitions of `N` items are averaged at most: `MAX_PARTITIONS`, and no more than `MAX_LABELS` labels."""
    return max(MIN_PARTITIONS, min(MAX_PARTITIONS, MAX_LABELS // N))


def minimise_expected_loss(
    partitions: ArrayLike,
    loss: str = "vi",
    max_partitions: int | None = None,
) -> Estimate:
    """The partition of least expected loss, as far as a greedy search finds it.

    It is never worse than the best of the partitions that were averaged, has no more clusters than the table of
    intersections holds, and depends neither on the numbers of their clusters nor, unless they are thinned, on their
    order. The search is the same at every call: its seed is fixed.

    Parameters
    ----------
    partitions : array_like of int, shape (M, N)
        Sampled partitions, M and N at least 1; one that came up twice stands there twice.
    loss : {"vi", "binder"}
        Variation of information, or Binder's loss at equal costs (`partition_losses`).
    max_partitions : int, optional
        Partitions that are averaged, evenly spaced; `most_partitions` by default, and never more than fit a table of
        `MAX_CELLS` cells.

    Raises
    ------
    TooManyClusters
        Fewer than `MIN_PARTITIONS` of them would fit the table.
    ValueError
        `partitions` has another shape, `loss` is unknown, or `max_partitions` is below 1.

    Examples
    --------
    >>> minimise_expected_loss([[0, 0, 1], [0, 0, 1], [0, 1, 1]], "binder").labels.tolist()
    [0, 0, 1]
    """
    if max_partitions is not None and max_partitions < 1:
        raise ValueError(f"max_partitions={max_partitions}: expected at least 1")
    rows = np.asarray(partitions)
    if rows.ndim == 2 and rows.size:
        most = most_partitions(rows.shape[1]) if max_partitions is None else max_partitions
        rows = rows[evenly_spaced(len(rows), most)]
    rows = check_partitions(rows)
    widest = int(rows.max()) + 1
    fitting = MAX_CELLS // widest**2
    if fitting < min(MIN_PARTITIONS, len(rows)):
        raise TooManyClusters(f"{widest} clusters in a partition are too many for the expected distance to be found")
    rows = rows[evenly_spaced(len(rows), fitting)]
    expected = ExpectedLoss(rows, loss, MAX_CELLS)
    best, least = None, np.inf
    for labels in candidates(expected, MAX_WORK):
        value = expected(labels)
        if value < least - ROUNDING:
            best, least = labels, value
    assert best is not None
    return Estimate(by_appearance(best[expected.block]), loss, least, len(rows))
