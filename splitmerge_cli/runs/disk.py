"""Room on the disk: how much a run or a certificate would write, and whether the disk holds that."""

import math
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from splitmerge_cli.config import ConfigError
from splitmerge_cli.runs.recorders import Recorder
from splitmerge_cli.runs.store import schema
from splitmerge_cli.runs.store.files import WORK

if TYPE_CHECKING:
    from splitmerge_cli.config import RunSpecification

DISK_SHARE = 0.5
"""Share of the free disk beyond which a run is not begun."""


def recorded_bytes(
    spec: "RunSpecification", recorder: Recorder, columns: Sequence[str], steps: Mapping[str, int] | None = None
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


def check_disk(spec: "RunSpecification", recorder: Recorder, columns: Sequence[str], path: Path) -> None:
    """Raise a `ConfigError` if the run of the folder `path` would record more than a share of the disk's free space.
    `columns`: the optional columns of the trace and of the partitions.
    """
    sizes = recorded_bytes(spec, recorder, columns)
    free = free_bytes(path)
    # at the end the rows are there twice for a while, in the streams of the chains and in the tables; what an
    # unfinished run has recorded is no longer free
    stored_bytes = sum(file.stat().st_size for file in path.glob(f"{WORK}/*.arrows"))
    needed = 2 * sum(sizes.values()) - stored_bytes
    limit = DISK_SHARE * free
    if needed <= limit:
        return
    every = {streamed.key: streamed.every for streamed in recorder.streamed_tables if streamed.every}
    bytes_of = {
        key: 2 * sum(sizes[streamed.table] for streamed in recorder.streamed_tables if streamed.key == key)
        for key in every
    }
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
