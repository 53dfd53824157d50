"""Runs and shards that break off."""

from typing import Any

import pytest
from local_shards import LocalShards

from splitmerge_cli.config import compose
from splitmerge_cli.runs import RunError, drive, progress, run
from splitmerge_cli.runs.shards.source import ShardLost


class Breaks(progress.Reporter):
    """Fails the run after the first batch."""

    def update(self, chain: int, at: progress.ChainProgress) -> None:
        raise OSError("enough")


def break_off(*overrides: str) -> None:
    """Begin a run and break it off after a short first batch."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(RunError):
        patch.setattr(drive, "FIRST_BATCH", 0.005)
        run(compose(list(overrides)), Breaks())


class BreakingShards(LocalShards):
    """Shards that are lost at the message of number `left`, counted from now."""

    left = 0

    def all(self, method: str, *args: Any) -> list[Any]:
        self.left -= 1
        if self.left == 0:
            raise ShardLost("gone")
        return super().all(method, *args)
