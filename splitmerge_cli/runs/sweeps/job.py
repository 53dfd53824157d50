"""One job of a sweep, in its own process: a killed process costs no other job. On other machines, too.

`Processes` hands one job after another to each of its processes (`support`) and tells by the exit status of one how
it died. A job crosses as text (`RunSpecification.pack`); its run is written to the folder of the results,
where the sweep follows it.

A job for another machine is sent as text (`RemoteTask`); a worker hands it to a process of its own, as here. All
machines have to share the folder `out`: whether they do, and whether locks hold between them, is looked at by every job
before it begins.

On the workers of Dask (``hydra/launcher=dask``) a worker that is killed loses its job to another one, which goes on
from the last checkpoint; a job that takes more workers with it than the scheduler allows
(``distributed.scheduler.allowed-failures``, 3) has failed. Clusters of Kubernetes, of batch systems (dask-jobqueue) or
of clouds are started by their own programs; what counts here is the address of their scheduler.
"""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4
from weakref import WeakSet

from splitmerge_cli import plugins, runs
from splitmerge_cli.config import composition, errors, specification
from splitmerge_cli.runs import interrupts, progress
from splitmerge_cli.runs.store.files import is_locked, lock_file

Ended = tuple[str, str | None]
"""How a job ended: ``done``, ``elsewhere`` (another process has finished it), ``locked`` (another process writes
it), ``interrupted`` or ``failed``; and why it failed."""

LOOK = 0.25
"""Seconds between two looks at whether the process that started this one is still there."""
GRACE = 1.0
"""Seconds that a job has to store its batch when it is interrupted from above."""

_SAFE = "PYTHONSAFEPATH"


@dataclass(frozen=True)
class Task:
    """A job for another process: its specification as text, and the working directory."""

    packed: Mapping[str, Any]
    folder: str


def task_of(job: specification.RunSpecification, folder: str) -> Task:
    """A job that can be sent to another process; its chains have one thread unless it says otherwise."""
    packed = job.pack()
    packed["config"]["workers"] = packed["config"]["workers"] or 1
    return Task(packed, folder)


def make_beside(jobs: Mapping[Path, specification.RunSpecification], at_once: int) -> Iterator[tuple[Path, Ended]]:
    """Make jobs, so many at the same time (-1: one per processor), in other processes. `jobs`: by the folders of their
    runs. Yields how each ended, as it ends. On Ctrl-C the jobs under way store what they have."""
    if not at_once:
        raise errors.ConfigError("hydra.launcher.n_jobs=0: expected a number of jobs, or -1 for one per processor")
    folder, processors = os.getcwd(), os.cpu_count() or 1
    n_processes = at_once if at_once > 0 else max(1, processors + 1 + at_once)
    with ThreadPoolExecutor(min(n_processes, len(jobs))) as threads:
        running = {threads.submit(make_here, task_of(job, folder)): path for path, job in jobs.items()}
        try:
            yield from ((running[ended], ended.result()) for ended in as_completed(running))
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            # a signal to the whole group has reached jobs too, and a second would end them at once
            while wait([one for one in running if not one.cancelled()], LOOK).not_done:
                end_jobs()
            raise
        finally:
            for process in list(_processes):
                process.end()


def make_alone(jobs: Mapping[Path, specification.RunSpecification]) -> Iterator[tuple[Path, Ended]]:
    """Make jobs one after another in the process of the sweep itself. Raises KeyboardInterrupt on Ctrl-C, which ends
    the others, too."""
    for path, job in jobs.items():
        if (ended := _make(job))[0] == "interrupted":
            raise KeyboardInterrupt
        yield path, ended


def make_composed(composed: Any, folder: str) -> Ended:
    """Make a job that a launcher of Hydra's has passed to this process as its `text_of`, in a process of its own."""
    return make_here(Task(json.loads(composed.job), folder))


def text_of(spec: specification.RunSpecification) -> str:
    """A job as text, which `make_composed` reads."""
    return json.dumps(task_of(spec, "").packed)


def make_here(task: Task) -> Ended:
    """Make a job in the process that makes the jobs of this thread, which keeps what it has imported and loaded."""
    process: _Process | None = getattr(_here, "process", None)
    if process is None or not process.alive:
        process = _here.process = _Process()
    return process.make(task)


def end_jobs() -> None:
    """Interrupt the jobs of all threads in this process; what they have sampled is stored."""
    for process in list(_processes):
        process.interrupt()


_here = threading.local()
_processes: "WeakSet[_Process]" = WeakSet()


class _Process:
    """A process that makes one job after another."""

    def __init__(self) -> None:
        self._asked = False
        self._connection, theirs = Pipe()
        call = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import support; support({theirs.fileno()})"
        # Ctrl-C reaches it, too: the signal waits until it is ready for it
        with theirs, block_signal(signal.SIGINT):
            self._popen = subprocess.Popen(
                [sys.executable, "-c", call], stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
            )
        self._connection.send(os.getpid())
        _processes.add(self)

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    def interrupt(self) -> None:
        """Let the job under way store what it has, and end."""
        if not self._asked:
            self._asked = True
            self._popen.terminate()

    def make(self, task: Task) -> Ended:
        """Make a job; what became of it, however the process ended."""
        try:
            self._connection.send(task)
            ended: Ended = self._connection.recv()
            if ended[0] == "failed":  # whatever that job did to its process, as filling its memory, harms no other
                self.end()
            return ended
        except (EOFError, OSError):
            return _outcome_of_exit(self._popen.wait())
        except BaseException:
            self._popen.terminate()
            self.end()
            raise

    def end(self) -> None:
        self._connection.close()
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(GRACE)
        self._popen.kill()
        self._popen.wait()


def _outcome_of_exit(code: int) -> Ended:
    """How a job ended whose process has the exit status `code`."""
    if code == 130:
        return "interrupted", None
    if code >= 0:
        return "failed", f"its process ended with exit status {code}; the same command continues it"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    likely = " (most likely by the system, because memory ran out)" if -code == signal.SIGKILL else ""
    return "failed", f"its process was killed by {name}{likely}; the same command continues it"


@contextmanager
def block_signal(number: signal.Signals) -> Iterator[None]:
    """Hold a signal back from this thread, and from processes that it starts until they let it in."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def safe_imports() -> Iterator[None]:
    """Let processes that are started meanwhile import nothing from the working directory, whose files may be anybody's.

    They begin as ``python -c`` or ``python -m``, which would look there first.
    """
    before = os.environ.get(_SAFE)
    os.environ[_SAFE] = "1"
    try:
        yield
    finally:
        del os.environ[_SAFE]
        os.environ |= {} if before is None else {_SAFE: before}


def support(fd: int) -> None:
    """Make the jobs that come from the socket `fd` until it is closed; the process of `_Process`."""
    interrupts.take_over(tells=False)
    # schedulers of clusters send these to all processes of a job; its parent answers
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    with suppress(KeyboardInterrupt, EOFError, ConnectionError):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        connection: Connection[Any, Any] = Connection(fd)
        parent = connection.recv()
        ended: Ended = "", None
        while ended[0] != "interrupted":  # which has set a timer for this process
            ended = _make_interruptible(connection.recv(), parent)
            connection.send(ended)
    os._exit(0)  # at once: nothing is left to tidy


def _make_interruptible(task: Task, parent: int) -> Ended:
    """Make a job; interrupted, it is, too, when `parent` is gone, however that died."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(LOOK):
            if os.getppid() != parent:
                os.kill(os.getpid(), signal.SIGTERM)
                if not over.wait(GRACE):
                    os._exit(130)
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        with suppress(FileNotFoundError):  # on another machine
            os.chdir(task.folder)
        with interrupts.AnsweredBy(interrupts.interrupt):
            return _make(composition.unpack(task.packed))
    except KeyboardInterrupt:
        return "interrupted", None
    finally:
        over.set()


def _make(spec: specification.RunSpecification) -> Ended:
    """Make a job in this process."""
    try:
        plan = runs.prepare(spec)
        if plan.is_done:
            return "elsewhere", None
        if runs.is_written(plan.path):
            return "locked", None
        runs.run(plan, progress.Reporter())
    except runs.Interrupted:
        return "interrupted", None
    except runs.WrittenElsewhere:
        return "locked", None
    except Exception as error:  # whatever fails one job must not stop the others; the table says what it was
        return "failed", plugins.find_foreign(error) or f"{type(error).__name__}: {error}"
    return "done", None


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


def make_remotely(engine: Engine, jobs: Mapping[Path, specification.RunSpecification]) -> Iterator[tuple[Path, Ended]]:
    """Make jobs by an engine, by the folders of their runs; how each ended, in their order."""
    outs = {path: str(path.parents[1]) for path in jobs}
    with _mark_folders(set(outs.values()) if engine.waits else set()) as marks:
        sent = [
            RemoteTask(task_of(job, os.getcwd()), path.resolve(), outs[path], version("smcmc"), marks.get(outs[path]))
            for path, job in jobs.items()
        ]
        # workers that are slow to end their jobs leave no time for more
        with interrupts.Saying("smcmc: interrupted: the same command continues the sweep"):
            ended = engine.run(sent)
        yield from zip(jobs, ended, strict=True)


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
    task, here = remote.task, socket.gethostname()
    if not Path(task.folder).is_dir() and not Path(remote.out).is_absolute():
        return "failed", f"worker {here} has no folder {task.folder}; expected out= with a whole path"
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
    expected = "expected a file system with locks, such as NFS 4, or NFS 3 with its lock service"
    locked = is_locked(mark)
    return None if locked else f"locks in {mark.parent} do not hold between machines (worker {here}); {expected}"


class DaskWorkers:
    """An engine of `splitmerge_cli.runs.sweeps.job`. `address` of a scheduler, such as ``tcp://127.0.0.1:8786``;
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
            raise errors.ConfigError(f"dask: {error}; pip install 'smcmc[dask]' installs it") from error
        if n_workers is not None and (not isinstance(n_workers, int) or n_workers < 1):
            raise errors.ConfigError(f"n_workers={n_workers}: expected a whole number of at least 1, or null")
        if not isinstance(patience, int | float) or not patience > 0:
            raise errors.ConfigError(f"patience={patience}: expected a positive number of seconds")
        if address is not None and not isinstance(address, str):
            raise errors.ConfigError(f"address={address}: expected one such as tcp://127.0.0.1:8786, or null")
        self.address, self.n_workers, self.patience, self.called = address, n_workers, patience, called

    def run(self, tasks: Sequence[RemoteTask]) -> list[Ended]:
        """Make all jobs; return how each ended, in their order. Raises `ConfigError` (there is no scheduler at the
        address, or it has no worker) or `RunError` (the scheduler was lost on the way)."""
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
                        lost = f"the scheduler {client.scheduler.address} was lost"
                        raise interrupts.RunError(f"{lost}; the same command continues the sweep") from error
            except BaseException:
                with suppress(Exception):  # the scheduler may be gone
                    client.cancel(futures, force=True)
                    client.run(end_jobs)
                raise
            return [ended[future.key] for future in futures]

    @contextmanager
    def client(self, jobs: int) -> Iterator[Any]:
        """Connect to the scheduler, or to a cluster on this machine for at most so many jobs."""
        from distributed import Client, LocalCluster
        from distributed.comm.addressing import parse_address, parse_host_port

        # they log what they do on the way down, and warn of it; what matters is in what they raise
        for library in ("distributed", "tornado"):
            logging.getLogger(library).setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        address: Any = self.address
        try:  # a client that could not be made would take a minute to close
            scheme, location = parse_address(address) if address is not None else ("", "")
            if scheme in ("tcp", "tls", "ws", "wss"):
                parse_host_port(location)
        except ValueError as error:
            expected = "expected one such as tcp://127.0.0.1:8786"
            raise errors.ConfigError(f"{self.called}={address}: {error}; {expected}") from error
        with ExitStack() as stack:
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
                shown, why = self.address or "a cluster of this machine", error or type(error).__name__
                raise errors.ConfigError(f"{self.called}={shown}: no worker: {why}") from error
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
