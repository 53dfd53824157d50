"""Shards in the process of a test."""

from collections.abc import Sequence
from typing import Any

from splitmerge_cli.runs.shards.source import Shard


class LocalShards:
    """Shards in this process, one after the other.

    Parameters
    ----------
    shards : sequence of Shard
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = list(shards)

    def all(self, method: str, *args: Any) -> list[Any]:
        return [shard.call(method, args) for shard in self.shards]

    def each(self, method: str, args: Sequence[Sequence[Any]], shards: Sequence[int] | None = None) -> list[Any]:
        asked = self.shards if shards is None else [self.shards[number] for number in shards]
        return [shard.call(method, given) for shard, given in zip(asked, args, strict=True)]
