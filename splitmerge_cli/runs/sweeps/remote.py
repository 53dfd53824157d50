"""Jobs of a sweep on other machines, and the engine for the workers of Dask.

Jobs on other machines: what every engine that runs them has in common.

A job is sent as text (`Task`); a worker hands it to a process of its own, as ``sweeps/job.py`` does here. Its run is
written to the folder `out`, which all machines have to share: the sweep follows the runs there. Whether they do, and
whether locks hold between them, is looked at by every job before it begins.

Jobs on the workers of Dask: ``hydra/launcher=dask``.

A worker that is killed loses its job to another one, which goes on from the last checkpoint; a job that takes more
workers with it than the scheduler allows (``distributed.scheduler.allowed-failures``, 3) has failed. Clusters of
Kubernetes, of batch systems (dask-jobqueue) or of clouds are started by their own programs; what counts here is the
address of their scheduler.
"""

import logging
import os
import signal
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from splitmerge_cli.config import ConfigError, RunSpecification
from splitmerge_cli.runs.interrupts import RunError
from splitmerge_cli.runs.store.files import is_locked, lock_file
from splitmerge_cli.runs.sweeps.job import Ended, Task, block_signal, end_jobs, make_here, safe_imports, task_of


@dataclass(frozen=True)
class RemoteTask:
    """A job for another machine: the folder of its run as the sweep has it (`path`), and of the results as the jobs
    name it (`out`); the `version` of this package, where the sweep is; and a file in the run's `out` that the sweep
    holds a lock on (`mark`; None: the job may begin when the sweep is gone)."""

    task: Task
    path: Path
    out: str
    version: str
    mark: str | None


class Engine(Protocol):
    """Runs jobs somewhere; `waits`: whether they begin only while the sweep is there."""

    waits: bool

    def run(self, tasks: Sequence[RemoteTask]) -> list[Ended]:
        """Make all jobs; return how each ended, in their order. Raises where the engine cannot run jobs: nothing is
        known of any."""
        ...


def make_remotely(engine: Engine, jobs: Mapping[Path, RunSpecification]) -> Iterator[tuple[Path, Ended]]:
    """Make jobs by an engine, by the folders of their runs; how each ended, in their order."""
    outs = {path: str(path.parents[1]) for path in jobs}
    with _mark_folders(set(outs.values()) if engine.waits else set()) as marks:
        sent = [
            RemoteTask(task_of(job, os.getcwd()), path.resolve(), outs[path], version("smcmc"), marks.get(outs[path]))
            for path, job in jobs.items()
        ]
        yield from zip(jobs, engine.run(sent), strict=True)


@contextmanager
def _mark_folders(folders: set[str]) -> Iterator[dict[str, str]]:
    """In each of these folders a file with a lock that this process holds."""
    marks = {folder: Path(folder).resolve() / f".sweep-{uuid4().hex}" for folder in folders}
    with ExitStack() as stack:
        for mark in marks.values():
            stack.callback(mark.unlink, missing_ok=True)
            stack.enter_context(lock_file(mark))
        yield {folder: str(mark) for folder, mark in marks.items()}


def on_worker(remote: RemoteTask) -> Ended:
    """Make a job here, in a process of its own, or say why this machine cannot."""
    if reason := _unfit(remote):
        return "failed", f"{reason}; the same command continues it"
    task = remote.task
    if not Path(task.folder).is_dir() and not Path(remote.out).is_absolute():
        return "failed", f"worker {socket.gethostname()} has no folder {task.folder}; expected out= with a whole path"
    return make_here(task)


def _unfit(remote: RemoteTask) -> str | None:
    """Why a run that is made here would not be the sweep's; None: nothing stands against it."""
    here = socket.gethostname()
    if (local_version := version("smcmc")) != remote.version:
        return f"worker {here} has smcmc {local_version}, the sweep {remote.version}"
    if remote.mark is None:
        return None
    mark = Path(remote.mark)
    with suppress(OSError):
        # a network file system may show a new file late: listing its folder asks again
        list(mark.parent.iterdir())
    if not mark.exists():
        return f"worker {here} does not share the folder {mark.parent}; expected out= in one that all machines have"
    if not is_locked(mark):
        return (
            f"locks in {mark.parent} do not hold between machines (worker {here}); expected a file system with locks, "
            "such as NFS 4, or NFS 3 with its lock service"
        )
    return None


class DaskWorkers:
    """An engine of `splitmerge_cli.runs.sweeps.remote`. `address` of a scheduler, such as ``tcp://127.0.0.1:8786``;
    messages call it `called`. By default a cluster of this machine is started, of `n_workers` processes (as many as
    there are processors, or jobs if these are fewer). `patience`: seconds to wait for the first worker. Raises
    `ConfigError` (Dask is not installed, or an option is out of range)."""

    waits = True

    def __init__(
        self,
        address: str | None = None,
        n_workers: int | None = None,
        patience: float = 300.0,
        called: str = "hydra.launcher.address",
    ) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError as error:
            raise ConfigError(f"dask: {error}; pip install 'smcmc[dask]' installs it") from error
        if n_workers is not None and (not isinstance(n_workers, int) or n_workers < 1):
            raise ConfigError(f"n_workers={n_workers}: expected a whole number of at least 1, or null")
        if not isinstance(patience, int | float) or not patience > 0:
            raise ConfigError(f"patience={patience}: expected a positive number of seconds")
        if address is not None and not isinstance(address, str):
            raise ConfigError(f"address={address}: expected one such as tcp://127.0.0.1:8786, or null")
        self.address, self.n_workers, self.patience, self.called = address, n_workers, patience, called

    def run(self, tasks: Sequence[RemoteTask]) -> list[Ended]:
        """Make all jobs; return how each ended, in their order. Raises `ConfigError` (there is no scheduler at the
        address, or it has no worker) or `RunError` (the scheduler was lost on the way).
        """
        from distributed import as_completed
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        ended: dict[str, Ended] = {}
        with self.client(len(tasks)) as client:
            futures = [
                client.submit(on_worker, task, key=f"smcmc-{client.id}-{number}", pure=False)
                for number, task in enumerate(tasks)
            ]
            try:
                for future in as_completed(futures, loop=client.loop):
                    try:
                        ended[future.key] = future.result()
                    except KilledWorker as error:
                        ended[future.key] = ("failed", f"{error}; the same command continues it")
                    except (FutureCancelledError, CommClosedError) as error:
                        raise RunError(
                            f"the scheduler {client.scheduler.address} was lost; the same command continues the sweep"
                        ) from error
            except BaseException:
                with suppress(Exception):  # the scheduler may be gone
                    client.cancel(futures, force=True)
                    client.run(end_jobs)
                raise
            return [ended[future.key] for future in futures]

    def _check_address(self) -> None:
        """A client that could not be made would take a minute to close."""
        from distributed.comm.addressing import parse_address, parse_host_port

        if self.address is None:
            return
        try:
            scheme, location = parse_address(self.address)
            if scheme in ("tcp", "tls", "ws", "wss"):
                parse_host_port(location)
        except ValueError as error:
            raise ConfigError(
                f"{self.called}={self.address}: {error}; expected one such as tcp://127.0.0.1:8786"
            ) from error

    @contextmanager
    def client(self, jobs: int) -> Iterator[Any]:
        """Connect to the scheduler, or to a cluster on this machine for at most so many jobs."""
        from distributed import Client, LocalCluster

        # they log what they do on the way down, and warn of it; what matters is in what they raise
        for library in ("distributed", "tornado"):
            logging.getLogger(library).setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        self._check_address()
        with ExitStack() as stack:
            address: Any = self.address
            if address is None:
                workers = min(self.n_workers or os.cpu_count() or 1, jobs)
                with safe_imports():
                    _start_tracker()
                    # Ctrl-C is answered by the sweep
                    with block_signal(signal.SIGINT):
                        address = stack.enter_context(
                            LocalCluster(
                                n_workers=workers,
                                threads_per_worker=1,
                                memory_limit=0,
                                dashboard_address=":0",  # any port that is free
                                silence_logs=logging.CRITICAL,
                            )
                        )
            try:
                client = stack.enter_context(Client(address, timeout=min(self.patience, 30), set_as_default=False))
                client.wait_for_workers(1, timeout=self.patience)
            except (OSError, TimeoutError, ValueError) as error:
                shown = self.address or "a cluster of this machine"
                raise ConfigError(f"{self.called}={shown}: no worker: {error or type(error).__name__}") from error
            yield client


def _start_tracker() -> None:
    """Start Python's tracker of resources before the workers, whose first would start it and let signals in.

    On SIGHUP it would end before what it tracks, and when the sweep is killed it would print what it tidies up.
    """
    options = list(sys.warnoptions)
    try:
        sys.warnoptions.append("ignore:resource_tracker:UserWarning")  # a new interpreter takes these over
        with block_signal(signal.SIGHUP):
            resource_tracker.ensure_running()
    finally:
        sys.warnoptions[:] = options
