"""Shards that are actors on the workers of Dask."""

from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from splitmerge_cli.received import DataError
from splitmerge_cli.runs.shards.shard import Shard
from splitmerge_cli.runs.shards.source import ShardLost, Source

PATIENCE = 5.0
"""Seconds between two looks whether the worker that is waited for is still there."""


class DaskShards:
    """Shards as actors: each stays in the memory of one worker. `bounds`: first row of each shard, and the one after
    its last.
    """

    def __init__(self, client: Any, source: Source, bounds: Sequence[tuple[int, int]]) -> None:
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            raise ShardLost("no worker is left")
        self._client = client
        self._workers = [workers[number % len(workers)] for number in range(len(bounds))]
        # an actor lives as long as its future
        self._futures = [
            client.submit(Shard, source, *bound, actor=True, workers=[worker], pure=False, retries=0)
            for worker, bound in zip(self._workers, bounds, strict=True)
        ]
        self.actors = self._results(self._futures, range(len(bounds)))

    def all(self, method: str, *args: Any) -> list[Any]:
        return self.each(method, [args] * len(self.actors))

    def each(self, method: str, args: Sequence[Sequence[Any]], shards: Sequence[int] | None = None) -> list[Any]:
        numbers = range(len(self.actors)) if shards is None else shards
        # an actor asks the present client
        with _report_lost(), self._client.as_current():
            answers = [
                self.actors[number].call(method, tuple(arguments))
                for number, arguments in zip(numbers, args, strict=True)
            ]
        return self._results(answers, numbers)

    def _results(self, answers: Sequence[Any], shards: Sequence[int]) -> list[Any]:
        """The results; a lost worker is noticed while they are waited for."""
        results = []
        for answer, number in zip(answers, shards, strict=True):
            while True:
                try:
                    with _report_lost(), self._client.as_current():
                        results.append(answer.result(timeout=PATIENCE))
                    break
                except TimeoutError:
                    if self._workers[number] not in self._client.scheduler_info(n_workers=-1)["workers"]:
                        raise ShardLost(f"the worker {self._workers[number]} was lost") from None
        return results


@contextmanager
def _report_lost() -> Any:
    """Report Dask errors that mean a lost shard as one error; errors of data stay as they are."""
    try:
        yield
    except (DataError, ValueError, TimeoutError):
        raise
    except RuntimeError as error:
        # what an actor of a worker that is gone answers, depending on who notices first
        if "Actor was lost" not in str(error):
            raise
        raise ShardLost(f"a worker was lost: {error}") from error
    except (KilledWorker, CommClosedError, FutureCancelledError, OSError) as error:
        raise ShardLost(f"a worker was lost: {error or type(error).__name__}") from error
