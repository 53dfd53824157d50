"""Messages to the shards."""

from collections.abc import Sequence
from typing import Any, Protocol


class Shards(Protocol):
    """Shards, and how they are asked."""

    def all(self, method: str, *args: Any) -> list[Any]:
        """Answers of all shards to one message, in their order."""

    def each(self, method: str, args: Sequence[Sequence[Any]], shards: Sequence[int] | None = None) -> list[Any]:
        """Answers of these shards, by default all, to messages of their own, in this order."""


class ShardLost(RuntimeError):
    """A worker that held a shard is gone."""
