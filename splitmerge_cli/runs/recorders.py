"""Recorders of a run, for one kind of data: their interface, which partitions they keep, and whether the disk holds
them.

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

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import ConfigError, RunSpecification
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics import point_estimate, summary
from splitmerge_cli.runs.store import files, schema
from splitmerge_cli.runs.store.store import ChainStore, RunStore


def recorder_of(spec: RunSpecification, dataset: Dataset) -> "Recorder":
    """The recorder of a data set."""
    recorder: Recorder = resolve_name(dataset.kind.recorder)(spec, dataset)
    return recorder


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
    """Which iterations have their partition recorded: chains hand out one after `every` so many iterations (0: none);
    after `doubled_after` of these, and again at every doubling of the iteration, only every second of those that were
    recorded before is (None: never)."""

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


def spacing_of(spec: RunSpecification, N: int, most_rows: int = MOST_ROWS) -> Spacing:
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


NEVER = 2**62
"""Number of iterations that stands for "no further evaluation"."""


@dataclass(frozen=True)
class Streamed:
    """A table that the chains write while they run, such as `schema.TRACE`: most values in the list of a row (`width`),
    for estimates of its size; iterations between two rows (`every`, 0: there are none), and the `key` of the
    configuration that sets it; `is_kept`: whether a finished run has it."""

    table: str
    width: int
    every: int
    key: str
    is_kept: bool = True


@dataclass(frozen=True)
class Late:
    """Recorded partitions of the second half of a chain."""

    iterations: NDArray[np.int64]
    """``[M]``, ascending."""
    labels: NDArray[np.int32]
    """``[M, N]``."""
    parameters: NDArray[np.float64] | None = None
    """``[M, P]``: `schema.PARAMETERS`, where they are recorded."""
    apart: NDArray[np.bool_] | None = None
    """``[M, N]``: rows of no cluster, all of which have one label; None: all rows have clusters."""

    def take(self, draws: Any) -> "Late":
        """Some of the draws, without parameters."""
        return Late(self.iterations[draws], self.labels[draws], apart=None if self.apart is None else self.apart[draws])

    def count_clusters(self, sizes: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
        """The number of clusters of each draw that are not listed as outliers, ``[M]``; `sizes` of rows."""
        if self.apart is not None:
            sizes = np.where(self.apart, 0.0, 1.0 if sizes is None else sizes)
        return point_estimate.counts_larger(self.labels, sizes)


class Recorder:
    """Records that a run keeps of one kind of data; this class records clusters of items."""

    sizes: ClassVar[bool] = False
    """Whether the chains record the sizes of all clusters."""
    describes: ClassVar[bool] = True
    """Whether clusters can be described in the data's own terms (`splitmerge_cli.runs.summaries`)."""

    def __init__(self, spec: RunSpecification, dataset: Dataset) -> None:
        self.spec, self.dataset = spec, dataset

    @property
    def streamed_tables(self) -> list[Streamed]:
        """The tables that the chains write while they run."""
        spec = self.spec
        return [
            Streamed(schema.TRACE, 5, spec.thin, "thin"),
            Streamed(schema.PARTITIONS, self.dataset.N, self.spacing.on_average(spec.iterations), "trace.partitions"),
        ]

    @property
    def spacing(self) -> Spacing:
        """Which partitions are recorded. Without a request, only if an estimate is made of them."""
        if self.spec.trace.partitions is None and self.not_estimated:
            return Spacing(0)
        return spacing_of(self.spec, self.dataset.N)

    @property
    def is_listed(self) -> bool:
        """Whether the clusters of the items are listed in ``summary.json`` and ``clusters.csv``."""
        return True

    @property
    def not_estimated(self) -> str | None:
        """Reason why no partition is estimated from the recorded ones; None if one is."""
        return None

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the data, for the summary."""
        return self.dataset.kind.facts(self.dataset)

    def check(self, together: int) -> None:
        """Raise a `ConfigError` where `together` chains at the same time cannot record what is asked for."""
        if every := self.spec.perplexity.every:
            raise ConfigError(
                f"perplexity.every={every}: expected 0, because perplexity needs held-out documents; "
                f"model={self.spec.model.name} reads {self.dataset.kind}"
            )

    @property
    def evaluates(self) -> bool:
        """Whether there is something to evaluate while the chains run."""
        return False

    def until_evaluation(self, iteration: int) -> int:
        """Iterations from `iteration` to the next evaluation."""
        return NEVER

    def evaluate(self, chain: Chain, store: ChainStore) -> None:
        """Evaluate the present state of a chain and record it, where it is one to evaluate."""

    def evaluations(self, chain: ChainStore) -> dict[str, Any] | None:
        """Return what was evaluated while a chain ran, to go on from; None if nothing was."""
        return None

    def take_up(self, chain: ChainStore, evaluated: Mapping[str, Any]) -> None:
        """Record what an earlier run evaluated (`evaluations`)."""

    def outcome(self, chain: Chain) -> dict[str, Any]:
        """Fields of a chain that `assemble` needs in addition to the fields of every chain."""
        return {}

    def assemble(
        self, store: RunStore, chains: Sequence[ChainStore], outcomes: Sequence[Mapping[str, Any]]
    ) -> tuple[dict[str, Any], list[summary.Row]]:
        """Write the tables that this kind of data has at the end of a run. Returns the entries of the summary that not
        all runs have, and rows of the diagnosis."""
        return {}, []


def best(outcomes: Sequence[Mapping[str, Any]], key: str) -> int:
    """The first chain that has the highest value."""
    return max(range(len(outcomes)), key=lambda c: outcomes[c][key])


DISK_SHARE = 0.5
"""Share of the free disk beyond which a run is not begun."""


def recorded_bytes(
    spec: RunSpecification, recorder: Recorder, columns: Sequence[str], steps: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Bytes of the rows that the chains of a run record, by table; none if a budget alone ends them.

    The list of a row is taken to have as many values as it can have. `columns`: the optional columns of the trace and
    of the partitions; `steps`: other values of some keys that set how often a table has a row.
    """
    if spec.iterations is None:
        return {}
    bytes_by_table = {}
    parameters = spec.model.target.most_parameters(recorder.dataset) if schema.PARAMETERS in columns else 0
    for streamed in recorder.streamed_tables:
        every = (steps or {}).get(streamed.key, streamed.every)
        rows = spec.iterations // every + 1 if every else 0
        size = schema.row_bytes(streamed.table, streamed.width, columns, parameters)
        bytes_by_table[streamed.table] = spec.chains * rows * size
    return bytes_by_table


def check_disk(spec: RunSpecification, recorder: Recorder, columns: Sequence[str], path: Path) -> None:
    """Raise a `ConfigError` if the run of the folder `path` would record more than a share of the disk's free space.
    `columns`: the optional columns of the trace and of the partitions."""
    sizes = recorded_bytes(spec, recorder, columns)
    free = free_bytes(path)
    # at the end the rows are there twice for a while, in the streams of the chains and in the tables; what an
    # unfinished run has recorded is no longer free
    stored_bytes = sum(file.stat().st_size for file in path.glob(f"{files.WORK}/*.arrows"))
    needed = 2 * sum(sizes.values()) - stored_bytes
    limit = DISK_SHARE * free
    if needed <= limit:
        return
    every = {streamed.key: streamed.every for streamed in recorder.streamed_tables if streamed.every}
    bytes_of = dict.fromkeys(every, 0)
    for streamed in recorder.streamed_tables:
        bytes_of[streamed.key] = bytes_of.get(streamed.key, 0) + 2 * sizes[streamed.table]
    largest = max(every, key=bytes_of.__getitem__)
    room = max(1.0, limit + stored_bytes)

    def longer_step(key: str, factor: float) -> int:
        """The next step of one digit, at which a chain has two rows at least."""
        enough = math.ceil(every[key] * max(1.0, factor))
        digit = 10 ** (len(str(enough)) - 1)
        return max(every[key], min(digit * math.ceil(enough / digit), spec.iterations))

    others = sum(bytes_of.values()) - bytes_of[largest]
    proposals: list[dict[str, int]] = [
        {largest: longer_step(largest, bytes_of[largest] / max(1.0, room - others))},
        {key: longer_step(key, sum(bytes_of.values()) / room) for key in every},
        # all but the trace may be left out
        {key: longer_step(key, bytes_of[key] / room) if key == "thin" else 0 for key in every},
    ]
    sizes_of = partial(recorded_bytes, spec, recorder, columns)
    fitting = [steps for steps in proposals if 2 * sum(sizes_of(steps).values()) <= room]
    advice = "or another out="
    if fitting:
        advice = "such as " + " ".join(f"{key}={step}" for key, step in fitting[0].items() if step != every[key])
    raise ConfigError(
        f"{largest}={every[largest]}: the run would record up to {format_bytes(needed)}, of {spec.chains} chains of "
        f"{spec.iterations:,} iterations; expected at most {DISK_SHARE:.0%} of the {format_bytes(free)} that are "
        f"free for out={spec.out}, {advice}"
    )


def free_bytes(path: Path) -> int:
    """Bytes that are free for a folder that need not be there."""
    folder = next(place for place in [path, *path.absolute().parents] if place.is_dir())
    return shutil.disk_usage(folder).free


def format_bytes(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1000:
            return f"{count:,.3g} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"
