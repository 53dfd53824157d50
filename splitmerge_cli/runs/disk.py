"""How much a run would record, and whether the disk holds that."""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from splitmerge_cli.config import ConfigError
from splitmerge_cli.results import schema
from splitmerge_cli.results.names import WORK
from splitmerge_cli.runs.recorders.base import Recorder

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from splitmerge_cli.runs.plan import Plan

DISK_SHARE = 0.5
"""Share of the free disk beyond which a run is not begun."""


def recorded_bytes(plan: "Plan") -> dict[str, int]:
    """Bytes of the rows that the chains of a run record, by table; none where a budget alone ends them.

    The list of a row is taken to have as many values as it can have.
    """
    return _recorded_bytes(plan.cfg, plan.recorder, plan.optional_columns)


def _recorded_bytes(cfg: "DictConfig", recorder: Recorder, columns: Sequence[str]) -> dict[str, int]:
    if cfg.iterations is None:
        return {}
    found = {}
    # a scale for each column, and kappa0
    parameters = recorder.dataset.values.shape[1] + 1 if schema.PARAMETERS in columns else 0
    for streamed in recorder.streamed:
        rows = cfg.iterations // streamed.every + 1 if streamed.every else 0
        size = schema.row_bytes(streamed.table, streamed.width, columns, parameters)
        found[streamed.table] = cfg.chains * rows * size
    return found


def check_disk(cfg: "DictConfig", recorder: Recorder, columns: Sequence[str], path: Path) -> None:
    """Raise a `ConfigError` where the run of the folder `path` would record more than a share of the disk's free space.

    Parameters
    ----------
    cfg : DictConfig
    recorder : Recorder
    columns : sequence of str
        The optional columns of the trace and of the partitions.
    path : Path
    """
    sizes = _recorded_bytes(cfg, recorder, columns)
    folder = next(place for place in [path, *path.absolute().parents] if place.is_dir())
    free = shutil.disk_usage(folder).free
    # at the end the rows are there twice for a while, in the streams of the chains and in the tables; what an
    # unfinished run has recorded is no longer free
    kept = sum(file.stat().st_size for file in path.glob(f"{WORK}/*.arrows"))
    needed = 2 * sum(sizes.values()) - kept
    if needed <= DISK_SHARE * free:
        return
    largest = max(recorder.streamed, key=lambda streamed: sizes[streamed.table])
    key, step = largest.key, largest.every
    # the next step of one digit that fits, where this table is what does not
    other = 2 * (sum(sizes.values()) - sizes[largest.table])
    enough = step * 2 * sizes[largest.table] / max(1.0, DISK_SHARE * free - other)
    digit = 10 ** math.floor(math.log10(max(enough, 1)))
    proposed = digit * math.ceil(enough / digit)
    raise ConfigError(
        f"{key}={step}: the run would record up to {_size(needed)}, of {cfg.chains} chains of "
        f"{cfg.iterations:,} iterations; expected at most {DISK_SHARE:.0%} of the {_size(free)} that are "
        f"free for out={cfg.out}, such as {key}={proposed}"
    )


def _size(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1000:
            return f"{count:,.3g} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"
