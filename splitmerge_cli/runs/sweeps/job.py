"""One job of a sweep, in its own process: a killed process costs no other job.

`Processes` hands one job after another to each of its processes (`support`) and tells by the exit status of one how
it died. A job crosses as text (`RunSpecification.pack`); its run is written to the folder of the results,
where the sweep follows it.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any
from weakref import WeakSet

from splitmerge_cli import runs
from splitmerge_cli.config import composition, errors, specification
from splitmerge_cli.runs import interrupts, progress

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
    runs. Yields how each ended, as it ends. On Ctrl-C the jobs under way store what they have.
    """
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
        ended = _make(job)
        if ended[0] == "interrupted":
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
        if before is None:
            del os.environ[_SAFE]
        else:
            os.environ[_SAFE] = before


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
        return "failed", f"{type(error).__name__}: {error}"
    return "done", None
