"""One chain of `subcluster` on a table in shards, which are actors on the workers of Dask.

The chain runs in the compiled driver (`splitmerge_cli.core.chain`), like the chains of all runs. No process holds all
rows while it runs: labels are saved by the workers that hold them, each its own file, and a worker that is lost ends
the attempt, which the next one continues.
"""

import hashlib
import json
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from splitmerge_cli.config import Component, ConfigError, RunSpecification, classes
from splitmerge_cli.core import capabilities, chain, checks
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.values import LARGEST
from splitmerge_cli.diagnostics.cluster_table import number_clusters
from splitmerge_cli.received import DataError
from splitmerge_cli.runs import initial, interrupts
from splitmerge_cli.runs.shards.items import sharded_subcluster
from splitmerge_cli.runs.shards.source import Shard, ShardLost, Shards, Source, open_source
from splitmerge_cli.runs.store import manifest, schema
from splitmerge_cli.runs.store.files import MANIFEST, DamagedRun, Locked, lock_file, report_damage, require_writable
from splitmerge_cli.runs.sweeps.job import DaskWorkers
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.subcluster import Subcluster

PATIENCE = 5.0
"""Seconds between two looks whether the worker that is waited for is still there."""


class DaskShards:
    """Shards as actors: each stays in the memory of one worker. `bounds`: first row of each, and the one after its
    last."""

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
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

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


HEEDED = (
    *("data.path", "data.columns", "data.drop", "data.types", "model", "sampler", "seed", "iterations", "workers"),
    *("timing", "out"),
)
"""Keys of a run that one on shards takes, with all options of its model and sampler."""
ATTEMPTS = 5
"""Times that a run is begun, or continued, where workers are lost."""
MOST = {"binary": 1, "categorical": 10_000, "count": LARGEST}
"""The largest value in a column, by type."""
RUN = "run.json"
CHECKPOINT = "checkpoint.npz"
LABELS = "labels"


def check(spec: RunSpecification, words: Sequence[str]) -> None:
    """Reject keys that a run on shards does not take. Raises `ConfigError` (the message names the key)."""
    for override in words:
        key = override.lstrip("+").partition("=")[0]
        if key in ("data", "data.name") or any(key == one or key.startswith(f"{one}.") for one in HEEDED):
            continue
        raise ConfigError(f"{override}: a run on shards does not take this key; expected {', '.join(HEEDED)}")
    if spec.samplers[0].target is not Subcluster:
        raise ConfigError(f"sampler={spec.sampler_name}: expected subcluster, whose items may be in shards")
    named = any(re.match(r"[+]*model(@\S*)?=", one) for one in words)
    if not named or not _may_be_sharded(spec.model.target):
        offered = [name for name, cls in classes("model").items() if _may_be_sharded(cls)]
        expected = f"{', '.join(offered[:-1])} or {offered[-1]}"
        called = f"model={spec.model.name}" if named else "model"
        raise ConfigError(f"{called}: expected model={expected}, whose items may be in shards")
    if spec.iterations is None:
        raise ConfigError("iterations: expected a number")


def _may_be_sharded(model: type[Model]) -> bool:
    """Whether the items of such a model can be in shards."""
    return model.find_capability(capabilities.Shards) is not None


def source_of(spec: RunSpecification) -> Source:
    """The table of a configuration; columns of several types may miss cells. Raises `ConfigError` or `DataError` (the
    message names key or file)."""
    kind, data = spec.model.kind, spec.data.options
    missing, binary = kind.in_shards(data["types"])
    source = open_source(data["path"], data["columns"], data["drop"], missing)
    # as everywhere, digits are lost only where somebody asks for it
    real = (str(name) for name, word in (data["types"] or {}).items() if word == "real")
    return replace(source, binary=binary, rounded=(*(data["columns"] or ()), *real))


def types_of(names: Sequence[str], columns: checks.Columns, named_types: Mapping[Any, str]) -> tuple[str, ...]:
    """The type of each column: as `named_types` says, binary where all cells are 0 or 1, real where one is no whole
    number. Raises `ConfigError` (a name that is no column's, a word that is no type, whole numbers without a type)."""
    type_by_name = {str(name): word for name, word in named_types.items()}
    for name, word in type_by_name.items():
        if name not in names:
            raise ConfigError(f"data.types: no column {name}; expected one of {', '.join(names)}")
        if word not in (*MOST, "real"):
            raise ConfigError(f"data.types: {name}: {word}; expected {', '.join((*MOST, 'real'))}")
    types, unclear = [], []
    for name, low, high, whole in zip(names, columns.low, columns.high, columns.whole, strict=True):
        word = type_by_name.get(name, "")
        if not word:
            word = "real" if low > high or not whole else "binary" if low >= 0 and high <= 1 else "count"
            if word == "count":
                unclear.append(name)
        elif low <= high and word != "real" and not (whole and low >= 0 and high <= MOST[word]):
            raise ConfigError(
                f"data.types: {name}: {word}: values from {low:g} to {high:g}; expected whole numbers from 0 to "
                f"{MOST[word]:,}"
            )
        types.append(word)
    if unclear:
        example = ",".join(f"{name}:count" for name in unclear)
        raise ConfigError(
            f"data.types: columns of whole numbers; choose categorical, count or real: data.types={{{example}}}"
        )
    return tuple(types)


def bounds_of(rows: int, shards: int) -> list[tuple[int, int]]:
    """First row, and the one after the last, of shards of the same size, or one row less."""
    ends = [rows * number // shards for number in range(shards + 1)]
    return list(pairwise(ends))


class ShardedRun:
    """A chain on items in shards, at its start. `shards`: that hold their rows, as `bounds` says. The name of its
    folder `path` follows from the configuration and what all rows add up to, not from the shards. Raises `ConfigError`
    or `DataError` (a parameter out of range, or rows that the model cannot hold)."""

    def __init__(
        self, spec: RunSpecification, source: Source, shards: Shards, bounds: Sequence[tuple[int, int]]
    ) -> None:
        self.spec, self.source, self.shards, self.bounds = spec, source, shards, bounds
        sampler, model = spec.samplers[0], spec.model
        columns = checks.Columns.join(shards.all("columns"))
        if source.missing:
            columns = columns.with_types(types_of(source.names, columns, spec.data.options["types"] or {}))
        self.model: Model = initial.construct(model, lambda: self._build(model, columns, sampler.options["near"]))
        supported, reason = Subcluster.supports(self.model)
        if not supported:
            raise ConfigError(f"sampler=subcluster: {reason}")
        rng, sizes = Rng(spec.seed), [end - first for first, end in bounds]
        mover, self.items = sharded_subcluster(self.model, rng, shards, sizes, **sampler.options)
        refresh = [Refresh(self.model, rng)] if self.model.refreshes else []
        self.chain = chain.Chain(self.model, rng, [mover, *refresh], timing=spec.timing)
        self.chain.set_threads(spec.workers or 1)
        identity = {
            "model": model.values,
            "sampler": sampler.values,
            "seed": spec.seed,
            "iterations": spec.iterations,
            "columns": source.names,
            "rows": source.rows,
            "data": hashlib.sha256(columns.low.tobytes() + columns.high.tobytes() + self._packed).hexdigest(),
        } | ({"types": columns.types} if columns.types else {})
        self.identity = json.loads(json.dumps(identity, default=str))
        digest = hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()
        self.path = Path(spec.out) / f"shards-{digest[:12]}"

    def _build(self, model: Component, columns: checks.Columns, near: int) -> Model:
        """Build the model of the clusters, once the shards have counted their rows."""
        self.shards.all("build", model.target, columns, model.options, near, self.spec.workers or 1)
        packed = np.concatenate(self.shards.all("count_all"))
        # sums of whole numbers: added as such by the model of one shard's columns
        self._packed = self.shards.each("add_statistics", [(packed,)], [0])[0].tobytes()
        shards_class = model.target.find_capability(capabilities.Shards)
        assert shards_class is not None
        return shards_class.build_whole(columns, self._packed, **model.options)

    # -- running
    def run(self, every: float = 60.0, tell: Callable[[int, int], None] | None = None) -> Path:
        """Go on to the last iteration, and write the results; returns the folder. `every`: seconds between two
        checkpoints; `tell`: called with the iteration and the number of clusters. Raises `ShardLost` (a worker was
        lost; what was done since the last checkpoint with it), `Interrupted` (Ctrl-C, after a checkpoint) or
        `DamagedRun` (a file of the run is not what was written)."""
        if (self.path / MANIFEST).is_file():
            self.check()
            return self.path
        try:
            with lock_file(self.path / ".lock"):
                rows, last = self._restore(), time.monotonic()
                assert self.spec.iterations is not None  # as `check` says
                while len(rows) < self.spec.iterations + 1:
                    # the first row describes the initial state
                    self.chain.advance(len(rows) - self.chain.iteration)
                    rows.append(self._row())
                    if tell is not None:
                        tell(self.chain.iteration, self.model.K)
                    if time.monotonic() - last > every:
                        self._checkpoint(rows)
                        last = time.monotonic()
                self._finish(rows)
        except Locked as error:
            raise interrupts.WrittenElsewhere(f"{self.path}: another process writes this run") from error
        except KeyboardInterrupt as error:
            if (self.path / CHECKPOINT).is_file():
                raise interrupts.Interrupted(self.path) from error
            raise
        return self.path

    def check(self) -> None:
        """Raise `DamagedRun` if a file of the finished run is not what was written, or is of another run."""
        remedy = _remedy(self.path)
        manifest.Manifest(self.path / MANIFEST, remedy).check_all()
        if not self.identity.items() <= manifest.read_sealed(self.path / RUN, remedy).items():
            raise DamagedRun(self.path / RUN, remedy)

    def _row(self) -> dict[str, Any]:
        sizes = np.sort(self.model.sizes)[::-1]
        row = {
            "iteration": self.chain.iteration,
            "n_clusters": int(self.model.n_clusters),
            "log_joint": float(self.model.log_joint()),
            "largest": int(sizes[0]),
            "singletons": int((sizes == 1).sum()),
            "seconds": self.chain.seconds,
        }
        counts = {count["move"]: count for count in self.chain.moves()}
        for move in Subcluster.MOVES:
            row[f"{move}_proposed"], row[f"{move}_accepted"] = counts[move]["proposed"], counts[move]["accepted"]
        return row | self.model.hyperparameter_values

    # -- files
    def _checkpoint(self, rows: list[dict[str, Any]]) -> None:
        """Write the state into a folder of its own, then name it; the one before is removed."""
        folder = self.path / f"checkpoint-{len(rows)}"
        folder.mkdir(exist_ok=True)
        labels = [folder / f"labels-{first}-{end}.npy" for first, end in self.bounds]
        digests = self.shards.each("save", [(str(path.absolute()),) for path in labels])
        stored = {
            "identity": self.identity,
            "bounds": self.bounds,
            "digests": digests,
            "chain": self.chain.state,
            "rows": rows,
            "folder": folder.name,
        }
        manifest.save(self.path / CHECKPOINT, stored)
        for other in self.path.glob("checkpoint-*"):
            if other.name != folder.name:
                shutil.rmtree(other)

    def _restore(self) -> list[dict[str, Any]]:
        """Put the chain into the state of the last checkpoint, or its start; return the rows of the trace."""
        named, remedy = self.path / CHECKPOINT, _remedy(self.path)
        if not named.is_file():
            zeros = [np.zeros(end - first, dtype=np.int32) for first, end in self.bounds]
            self.items.settle(zeros, 1)
            return []
        stored = manifest.load(named, remedy=remedy)
        with report_damage(named, remedy):
            if stored["identity"] != self.identity:
                raise ValueError("another run")
            folder = self.path / Path(stored["folder"]).name
            labels = _labels(folder, stored["bounds"], stored["digests"], remedy)
            rows: list[dict[str, Any]] = stored["rows"]
            # of a file that was written with its digest by somebody else, too
            if [row["iteration"] for row in rows] != list(range(stored["chain"]["iteration"] + 1)):
                raise ValueError("rows")
            if len(labels) != self.source.rows or len(np.unique(labels)) != rows[-1]["n_clusters"]:
                raise ValueError("labels")
            self.chain.state = stored["chain"]
            self.items.settle([labels[first:end] for first, end in self.bounds], stored["chain"]["K"])
            if self.model.n_clusters != self.model.K:
                raise ValueError("K")
            return rows

    def _finish(self, rows: list[dict[str, Any]]) -> None:
        frame, sizes = pd.DataFrame(rows), self.model.sizes
        # a run that was stopped here may have left labels of other shards
        shutil.rmtree(self.path / LABELS, ignore_errors=True)
        (self.path / LABELS).mkdir()
        with schema.SealedFolder(self.path) as files:
            files.add_parquet("trace", frame)
            order = np.argsort(-np.asarray(sizes), kind="stable")
            numbers = np.empty(len(order), dtype=np.int32)
            numbers[order] = number_clusters(np.arange(len(order)))
            files.add_parquet(
                "clusters", pd.DataFrame({"cluster": numbers, "size": sizes}).sort_values("cluster", ignore_index=True)
            )
            labels = [files.add_file(f"{LABELS}/rows-{first:012d}.parquet") for first, _ in self.bounds]
            self.shards.each("write", [(str(path.absolute()), numbers) for path in labels])
            # clusters in the second half of the trace, with a 95 % interval, and the last log joint
            half = frame["n_clusters"].iloc[len(frame) // 2 :]
            low, high = np.quantile(half, [0.025, 0.975], method="inverted_cdf")
            summary = {
                "iterations": int(frame["iteration"].iloc[-1]),
                "n_clusters": int(frame["n_clusters"].iloc[-1]),
                "n_clusters_95": [int(low), int(high)],
                "log_joint": float(frame["log_joint"].iloc[-1]),
                "seconds": float(frame["seconds"].iloc[-1]),
            }
            manifest.write_sealed(files.add_file(RUN), self.identity | {"summary": summary})
        (self.path / CHECKPOINT).unlink(missing_ok=True)
        for folder in self.path.glob("checkpoint-*"):
            shutil.rmtree(folder)


def _remedy(path: Path) -> str:
    return f"remove {path}, and the same command starts again"


def _labels(folder: Path, bounds: Sequence[Sequence[int]], digests: Sequence[str], remedy: str) -> np.ndarray:
    """The labels of all rows; a `DamagedRun` for other ones than were saved."""
    parts = []
    for (first, end), digest in zip(bounds, digests, strict=True):
        file = folder / f"labels-{first}-{end}.npy"
        with report_damage(file, remedy):
            if manifest.sha256_of(file) != digest:
                raise ValueError("not what was written")
            parts.append(np.load(file, allow_pickle=False))
            if parts[-1].shape != (end - first,) or parts[-1].dtype != np.int32:
                raise ValueError(f"labels of rows {first + 1} to {end}")
    return np.concatenate(parts)


def read_summary(path: Path) -> dict[str, Any]:
    """The summary of a finished run. Raises `DamagedRun` (the file that holds it is not what was written)."""
    return dict(manifest.read_sealed(path / RUN, _remedy(path))["summary"])


def run_on_shards(
    spec: RunSpecification,
    source: Source,
    address: str | None = None,
    shards: int | None = None,
    every: float = 60.0,
    patience: float = 300.0,
    tell: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] = print,
) -> Path:
    """Run a chain on the workers of Dask; returns the folder of the results.

    Every worker sees `source` under the same path, and the folder `out` too. `address` is the address of a scheduler,
    by default a cluster of this machine, a process for each processor; `shards`: by default one for each worker;
    `every`: seconds between two checkpoints; `patience`: seconds to wait for the first worker; `tell`: as
    `ShardedRun.run` takes it; `say`: called with a line about a worker that was lost. Raises `RunError` (workers were
    lost again and again; the same command continues the run).
    """
    # of what is finished there nothing is written
    if not any(Path(spec.out).glob(f"shards-*/{MANIFEST}")):
        require_writable(Path(spec.out))
    with ExitStack() as stack:
        client = stack.enter_context(DaskWorkers(address, patience=patience, called="--address").client(source.rows))
        for attempts_left in reversed(range(ATTEMPTS)):
            count = shards or len(client.scheduler_info(n_workers=-1)["workers"]) or 1
            bounds = bounds_of(source.rows, min(count, source.rows))
            try:
                return ShardedRun(spec, source, DaskShards(client, source, bounds), bounds).run(every, tell)
            except ShardLost as error:
                if not attempts_left:
                    raise interrupts.RunError(f"{error}; the same command continues the run") from error
                say(f"{error}; its rows go to another one, from the last checkpoint")
                client.wait_for_workers(1)
    raise AssertionError
