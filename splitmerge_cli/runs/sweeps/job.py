"""One job of a sweep, in a process of its own beside the launcher's: what kills that process costs no other job.

The process of the launcher (`run_isolated`) starts the one that makes the runs (`support`), hands it one job after
another and tells by its exit status how it died. It imports little, so that it starts soon and is not the one that the
system kills when memory runs out. Every job leaves a record in a folder of the sweep, which is read where the launcher
cannot tell what became of it: the lock of ``NUMBER`` says that its process lives, ``NUMBER.json`` how it ended.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from splitmerge_cli.runs.interrupts import AnsweredBy, interrupt, take_over
from splitmerge_cli.runs.store.files import is_locked, lock_file
from splitmerge_cli.runs.store.manifest import read_sealed, write_sealed

if TYPE_CHECKING:
    from splitmerge_cli.config.naming import Composed

Ended = tuple[str, str | None]
"""How a job ended: ``done``, ``elsewhere`` (another process has finished it), ``locked`` (another process writes
it), ``interrupted`` or ``failed``; and why it failed."""

LOOK = 0.25
"""Seconds between two looks at whether the process that started this one is still there."""
GRACE = 1.0
"""Seconds that a job has to store its batch when it is interrupted from above."""

_ORPHANED = "orphaned"
_SAFE = "PYTHONSAFEPATH"


@dataclass(frozen=True)
class Sweep:
    """Facts about its sweep that a job needs.

    Attributes
    ----------
    pid, folder
        Id of its process, in which a launcher may run jobs, and its working directory.
    records : Path
        Folder of the records.
    parental : bool
        Whether the processes of the launcher are its children.
    """

    pid: int
    folder: str
    records: Path
    parental: bool


@dataclass(frozen=True)
class Task:
    """A job: its configuration, the working directory, and where its process leaves its record."""

    composed: "Composed"
    folder: str
    record: Path


def in_process(composed: Any) -> Ended:
    """Make a job in the process of the sweep itself. Raises KeyboardInterrupt on Ctrl-C, which ends the others, too."""
    ended = _make(_read_job(composed))
    if ended[0] == "interrupted":
        raise KeyboardInterrupt
    return ended


def run_isolated(composed: Any, sweep: Sweep) -> Ended:
    """Make a job, as Hydra composed it, in a process of its own, its chains in one thread."""
    from splitmerge_cli.config.hydra_adapter import job_number

    if os.getpid() != sweep.pid:
        _attend(sweep.pid if sweep.parental else os.getppid())
    return make_here(task_of(_read_job(composed), sweep, job_number()))


def _read_job(composed: Any) -> "Composed":
    """The configuration of a job that Hydra's launcher composed in this process."""
    from splitmerge_cli.config.composition import read_hydra
    from splitmerge_cli.config.hydra_adapter import job_config, raw_texts

    node = job_config()
    return read_hydra(composed, node, raw_texts(node.overrides.task), raw_texts(node.searchpath))


def task_of(composed: "Composed", sweep: Sweep, number: int) -> Task:
    """A job that can be sent to another process; its chains have one thread unless it says otherwise."""
    if composed.values["workers"] is None:
        composed = replace(composed, values={**composed.values, "workers": 1})
    return Task(composed, sweep.folder, sweep.records / str(number))


def make_here(task: Task) -> Ended:
    """Make a job in the process that makes the jobs of this thread."""
    return _process().make(task)


def end_jobs() -> None:
    """Interrupt the jobs of all threads in this process; what they have sampled is stored."""
    for process in list(_processes):
        process.interrupt()


_here = threading.local()
_processes: "WeakSet[_Process]" = WeakSet()


def _process() -> "_Process":
    """The process that makes the jobs of this thread; it keeps what it has imported and loaded."""
    process: _Process | None = getattr(_here, "process", None)
    if process is None or not process.alive:
        process = _here.process = _Process()
    return process


class _Process:
    """A process that makes one job after another."""

    def __init__(self) -> None:
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
        self._popen.terminate()

    def make(self, task: Task) -> Ended:
        """Make a job; what became of it, however the process ended."""
        try:
            self._connection.send(task)
            ended: Ended = self._connection.recv()
            if ended[0] == "failed":  # whatever that job did to its process, as filling its memory, harms no other
                self._end()
            return ended
        except (EOFError, OSError):
            return _outcome_of_exit(self._popen.wait())
        except BaseException:
            self._popen.terminate()
            self._end()
            raise

    def _end(self) -> None:
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
    likely = " (most likely by the system, for want of memory)" if -code == signal.SIGKILL else ""
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


_attended = False


def _attend(parent: int) -> None:
    """Let this process of the launcher end with `parent`, and leave Ctrl-C to the sweep and to the job."""
    global _attended
    if _attended:
        return
    _attended = True
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    # nobody is left to tell: the launcher would wait for its next job
    _when_orphaned(parent, partial(os._exit, 130), threading.Event())


def _when_orphaned(parent: int, act: Callable[[], Any], over: threading.Event) -> None:
    """Call `act` from a thread once the parent of this process is another one than `parent`, unless `over` is set."""

    def watch() -> None:
        while not over.wait(LOOK):
            if os.getppid() != parent:
                act()
                return

    threading.Thread(target=watch, daemon=True).start()


def support(fd: int) -> None:
    """Make the jobs that come from the socket `fd` until it is closed; the process of `_Process`."""
    take_over(tells=False)
    # schedulers of clusters send these to all processes of a job; its parent answers
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    with suppress(KeyboardInterrupt, EOFError, ConnectionError):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        connection: Connection[Any, Any] = Connection(fd)
        parent = connection.recv()
        ended: Ended = "", None
        while ended[0] != "interrupted":  # which has set a timer for this process
            ended = _make_recorded(connection.recv(), parent)
            connection.send(ended)
    os._exit(0)  # at once: nothing is left to tidy


def _make_recorded(task: Task, parent: int) -> Ended:
    """Make a job and record what becomes of it; interrupted, it is, too, when `parent` is gone, however that died."""
    with ExitStack() as stack:
        # the folder is not there on another machine than the sweep's, and no more when the sweep is gone
        if task.record.name and task.record.parent.is_dir():
            with suppress(OSError):
                stack.enter_context(lock_file(task.record))
        ended = _make_interruptible(task, parent)
        _record_end(task.record, *ended)
    return ended


def _record_end(record: Path, status: str, error: str | None) -> None:
    """Record what became of a job, once."""
    if not record.name:
        return
    result = record.with_suffix(".json")
    if record.exists() and not result.exists():
        with suppress(OSError):
            write_sealed(result, {"status": status, "error": error})


def _make_interruptible(task: Task, parent: int) -> Ended:
    over = threading.Event()

    def stop_as_orphan() -> None:
        _record_end(task.record, _ORPHANED, None)
        os.kill(os.getpid(), signal.SIGTERM)
        if not over.wait(GRACE):
            os._exit(130)

    _when_orphaned(parent, stop_as_orphan, over)
    try:
        with suppress(FileNotFoundError):  # on another machine
            os.chdir(task.folder)
        with AnsweredBy(interrupt):
            return _make(task.composed)
    except KeyboardInterrupt:
        return "interrupted", None
    finally:
        over.set()


def _make(composed: "Composed") -> Ended:
    """Make a job in this process."""
    # late: not needed by the processes of the launcher
    from splitmerge_cli import runs
    from splitmerge_cli.config.specification import finish
    from splitmerge_cli.runs.progress import Reporter

    try:
        plan = runs.prepare(finish(composed))
        if plan.is_done:
            return "elsewhere", None
        if runs.is_written(plan.path):
            return "locked", None
        runs.run(plan, Reporter())
    except runs.Interrupted:
        return "interrupted", None
    except runs.WrittenElsewhere:
        return "locked", None
    except Exception as error:  # whatever fails one job must not stop the others; the table says what it was
        return "failed", f"{type(error).__name__}: {error}"
    return "done", None


@dataclass(frozen=True)
class Recorded:
    """Records of jobs, by their numbers: how they ended; those that outlived the process of the launcher; and those
    that began and left no word."""

    ended: dict[int, Ended]
    orphaned: set[int]
    killed: set[int]

    @property
    def has_begun(self) -> bool:
        """Whether any job began."""
        return bool(self.ended or self.orphaned or self.killed)


def read_records(records: Path) -> Recorded:
    """Read the records of jobs whose launcher is gone, as soon as their processes have ended."""
    found = Recorded({}, set(), set())
    end = time.monotonic() + 3 * GRACE
    for record in records.iterdir():
        if record.suffix:
            continue
        while is_locked(record) and time.monotonic() < end:
            time.sleep(0.02)
        number, result = int(record.name), record.with_suffix(".json")
        if not result.exists():
            found.killed.add(number)
            continue
        end_of_job = read_sealed(result)
        status, error = end_of_job["status"], end_of_job["error"]
        if status == _ORPHANED:
            found.orphaned.add(number)
        else:
            found.ended[number] = status, error
    return found
