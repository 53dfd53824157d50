"""Which partitions of a chain are recorded.

``trace.partitions=n`` records every n-th. Where nothing is asked for as many are recorded as an estimate can use,
spread over the whole run, at less than 2 % of its time:

* at most `MOST_ROWS` a chain, and at most `MOST_LABELS` labels over all chains (160 MB while the run is under way);
* at most one in `OF_SCANS` iterations where each scans all items; else `LABELS_PER_MOVE` labels for each.

A run that has a budget of seconds, or ends when it has run long enough, may end at any iteration. It records every
n-th partition up to `MOST_ROWS` / 2 of them, then every 2n-th up to twice that iteration, every 4n-th up to four times,
and so on: the second half of the run has its share whenever it ends, and what is recorded grows with the logarithm of
the iterations. Which iterations are recorded depends on their numbers alone, never on the time they take: states that
take long would come up too often.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from splitmerge_cli.config import RunSpecification

MOST_ROWS = 500
"""Partitions of a chain."""
MOST_LABELS = 40_000_000
"""Labels of all chains."""
OF_SCANS = 4
"""Iterations with a scan of all items from one partition to the next, at least."""
LABELS_PER_MOVE = 10
"""Labels that are recorded for every iteration without such a scan, at most."""


@dataclass(frozen=True)
class Spacing:
    """Which iterations have their partition recorded.

    Attributes
    ----------
    every : int
        Iterations between two partitions that a chain hands out; 0: none.
    doubled_after : int or None
        After so many of these, and again at every doubling of the iteration, only every second of those that were
        recorded before is; None: never.
    """

    every: int
    doubled_after: int | None = None

    def thin(self, rows: dict[str, Any]) -> dict[str, Any]:
        """Drop the partitions that are not recorded from the rows that ``Chain.advance`` returned."""
        if self.doubled_after is None or not len(rows["partition_iteration"]):
            return rows
        is_kept = self.is_recorded(rows["partition_iteration"])
        return rows | {name: values[is_kept] for name, values in rows.items() if name.startswith("partition_")}

    def is_recorded(self, iterations: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each of these iterations, multiples of `every`, is recorded: bool, of the same shape."""
        number = np.asarray(iterations, dtype=np.int64) // max(self.every, 1)
        if self.doubled_after is None:
            return np.full(number.shape, self.every > 0)
        step = np.ones_like(number)
        while (late := number >= self.doubled_after * step).any():
            step[late] *= 2
        return number % step == 0

    def on_average(self, iterations: int | None) -> int:
        """Iterations between two recorded partitions over a run of so many (None: as many as a budget allows)."""
        if self.doubled_after is None or iterations is None:
            return self.every
        rows = iterations // self.every
        doublings = max(0, rows // self.doubled_after).bit_length()
        return max(self.every, iterations // max(1, self.doubled_after * (2 + doublings) // 2))


def spacing_of(spec: "RunSpecification", N: int, most_rows: int = MOST_ROWS) -> Spacing:
    """Which partitions of `N` items a configuration records: what it asks for, else as this module says, `most_rows` of
    a chain."""
    if spec.trace.partitions is not None:
        return Spacing(spec.trace.partitions)
    rows = max(1, min(most_rows, MOST_LABELS // (N * spec.chains)))
    least = OF_SCANS if spec.schedule.name == "full_scan" else max(OF_SCANS, -(-N // LABELS_PER_MOVE))
    if spec.budget is not None or spec.until.is_given:
        return Spacing(least, max(1, rows // 2))
    assert spec.iterations is not None
    return Spacing(max(least, -(-spec.iterations // rows)))
