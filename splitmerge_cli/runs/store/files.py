"""Files of a run's folder, whole or absent: their names, and the lock of the folder.

A folder may come from somebody else: where a file is written a link that stands there is replaced, not followed.
"""

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

import pyarrow as pa

from splitmerge_cli.data.arrow import array_of
from splitmerge_cli.received import Refused, reject_machine_error


def table_of(values: Iterable[Any], columns: pa.Schema) -> pa.Table:
    """Return the table of these values, in the order of the columns."""
    arrays = [array_of(each, field.type) for each, field in zip(values, columns, strict=True)]
    return pa.Table.from_arrays(arrays, schema=columns)


class Locked(RuntimeError):
    """Another process holds the lock."""


class DamagedRun(RuntimeError):
    """A file of a run is missing or does not hold what was written to it. `remedy`: what to do about it, by default
    about a run; `problem`: what is wrong, by default that it is damaged, or missing."""

    def __init__(self, path: Path, remedy: str | None = None, problem: str | None = None) -> None:
        problem = problem or ("damaged" if path.is_file() else "missing")
        super().__init__(f"{path}: {problem}; {remedy or 'smcmc run with resume=false starts the run again'}")


@contextmanager
def report_damage(path: Path, remedy: str | None = None) -> Iterator[None]:
    """Read the file `path` of a run: whatever its content does to the reader becomes a `DamagedRun`, what the machine
    lacks does not."""
    try:
        yield
    except DamagedRun:
        raise
    except Exception as error:
        reject_machine_error(error, path)
        raise DamagedRun(path, remedy, error.why if isinstance(error, Refused) else None) from error


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let errors of the system that name no file, or that in the making, name `path`."""
    try:
        yield
    except OSError as error:
        if error.filename is None or Path(os.fsdecode(error.filename)) == _partial(path):
            error.filename = str(path)
        raise


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.partial")


def open_new(path: Path) -> BinaryIO:
    """A new file in place of what stands at `path`, open for writing."""
    path.unlink(missing_ok=True)
    return path.open("xb")


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """A temporary file next to `path` that takes its name once it is complete and on the disk."""
    temporary = _partial(path)
    with naming(path):
        try:
            open_new(temporary).close()
            yield temporary
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def require_writable(path: Path) -> None:
    """Raise an `OSError`, which names the folder, where no file can be made in the folder `path`; none is left there.

    For a folder that does not exist its nearest parent counts.
    """
    folder = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replace_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def json_text(value: Any) -> str:
    """The text of a JSON file: a line for each value, and one for a list of numbers."""
    return "".join(_write_parts(value, "\n")) + "\n"


_NUMBERS = {int, float, bool, type(None)}


def _write_parts(value: Any, end: str) -> Iterator[str]:
    """The parts of a JSON text. json's own indenting takes a line, and a microsecond, for each number of a list."""
    within = end + "  "
    if isinstance(value, dict) and value:
        for i, (key, one) in enumerate(value.items()):
            yield f"{',' if i else '{'}{within}{json.dumps(str(key))}: "
            yield from _write_parts(one, within)
        yield end + "}"
    elif isinstance(value, list | tuple) and not _NUMBERS.issuperset(map(type, value)):
        for i, one in enumerate(value):
            yield f"{',' if i else '['}{within}"
            yield from _write_parts(one, within)
        yield end + "]"
    else:
        yield json.dumps(value, allow_nan=False)


@contextmanager
def lock_file(path: Path, patience: float = 1.0) -> Iterator[None]:
    """Hold an exclusive lock on the file `path`, which is created, and its folder; the system frees it when the process
    dies, however it dies. `patience`: seconds to go on trying: `is_locked` of another process may hold the lock for a
    moment. Raises `Locked` (another process holds it)."""
    end = time.monotonic() + patience
    while (file := _acquire(path)) is None:
        if time.monotonic() > end:
            raise Locked(f"{path.parent} is being written by another process")
        time.sleep(0.02)
    with file:
        yield


def _acquire(path: Path) -> IO[str] | None:
    """The file `path`, locked; None if another process holds it, or has just removed it with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack, suppress(FileNotFoundError):
        file = stack.enter_context(open(path, "a", opener=_open_regular))
        # the lock on a file that is gone keeps nobody out
        if _lock(file, fcntl.LOCK_EX) and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            stack.pop_all()
            return file
    return None


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock on the file `path`."""
    with suppress(FileNotFoundError), open(path, opener=_open_regular) as file:
        return not _lock(file, fcntl.LOCK_SH)
    return False


def _open_regular(path: str, flags: int) -> int:
    # a pipe without a process at its other end would be waited for
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW, 0o666)


def _lock(file: IO[str], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


CONFIG = "config.yaml"
STATUS = "status.json"
SUMMARY = "summary.json"
CLUSTERS = "clusters.csv"
CLUSTER_SUMMARY = "cluster_summary.csv"
COLUMN_SUMMARY = "column_summary.csv"
LISTED_RUNS = "runs.txt"
"""The runs that a sweep or a race made or compared, a folder on each line."""
CHOICES = "choices"
"""Folder of the choices that ``auto`` made, in the folder of the results."""
MANIFEST = "manifest.json"
STATES = "states-{}.npz"
"""States of the chains at the end of a run, named by the identity of the chains."""
WORK = "work"
LOCK = "lock"
