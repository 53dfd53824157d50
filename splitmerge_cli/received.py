"""How files that may come from anywhere are opened and parsed: every reader of them begins here.

A file is opened only where it is a regular one; of a folder of results only where it lies in that folder. What a file
says of its size or of its content is not believed: no more of it is read than its kind may hold, JSON is parsed to a
bounded depth, and the list of a zip is measured before it is read. Imports nothing that takes time to import.
"""

import errno
import hashlib
import json
import math
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, FileIO
from pathlib import Path
from typing import IO, Any

SMALL = 1 << 26
"""Bytes of a text that the program wrote, and that does not grow with the data."""
LARGE = 1 << 30
"""Bytes of one that does, such as the summary of a run, which lists the cluster of every item."""
PACKING = 1 << 16
"""How many bytes one packed byte can stand for: more than zstd (32,768), zlib (1,032) and lz4 (255) reach."""
DEPTH = 64
"""How deep lists and objects of JSON are nested at most."""
LISTED = 150
"""Bytes that a file takes in the list of a zip, on average, at most."""

_BEYOND = r"\d{301}"
"""Whole numbers that are none of our own, and beyond all others."""
_OTHERS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISDIR, "a folder"),
)


class DataError(ValueError):
    """Data that cannot be used; the message (one line) names the file, row and column and what was expected."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.splitlines()))


_NAMES = ("ENOMEM", "EMFILE", "ENFILE", "ENOSPC", "EDQUOT", "EACCES", "EPERM", "EROFS", "EIO", "ESTALE", "ENOLCK")
_OF_MACHINE = frozenset(getattr(errno, name) for name in _NAMES if hasattr(errno, name))
"""Errors of the system that say nothing of what a file holds."""


def reject_machine_error(error: BaseException, called: object) -> None:
    """Raise an error again, as MemoryError or OSError, if the machine caused it and not the file: a lack of
    memory, of threads, of open files, of room on the disk, or of a permission; others are left to the caller.

    A request for more memory than the file `called` can hold, however packed, is no lack of memory: the library
    believed a number of a damaged file.

    A library may have turned it into another error: whatever `error` follows from counts as well. Messages say that
    the file, `called` so, is left as it is.
    """
    cause: BaseException | None = error
    while cause is not None:
        lacks_threads = isinstance(cause, RuntimeError) and "start new thread" in str(cause)
        # what zlib says that has no other error for it
        lacks_memory = isinstance(cause, zlib.error) and str(cause).startswith("Error -4 ")
        message = " ".join(str(cause).split())
        if isinstance(cause, MemoryError) and _requested_bytes(cause, message) > _most_held(called):
            return
        if isinstance(cause, MemoryError) or lacks_threads or lacks_memory:
            raise MemoryError(f"{called} is left as it is" + (f" ({message})" if message else "")) from error
        if isinstance(cause, OSError) and cause.errno in _OF_MACHINE:
            raise OSError(cause.errno, cause.strerror, str(cause.filename or called)) from error
        cause = cause.__cause__ or cause.__context__


def _requested_bytes(error: MemoryError, message: str) -> int:
    """Bytes that an allocation of NumPy (shape and type) or Arrow (its message) asked for; 0 if it does not say."""
    if hasattr(error, "shape") and hasattr(error, "dtype"):
        return math.prod(error.shape) * int(error.dtype.itemsize)
    size = re.match(r"(?:malloc|realloc) of size (\d+) failed", message)
    return int(size[1]) if size else 0


def _most_held(called: object) -> int:
    """Most bytes that a file can hold, at least `LARGE`; of what is no file, `LARGE` bytes are taken for packed."""
    try:
        packed = os.path.getsize(str(called))
    except (OSError, ValueError):
        packed = LARGE
    return max(LARGE, PACKING * packed)


class Refused(DataError):
    """A file, `called` so, that is not read: it is no regular one, lies elsewhere, or holds more than its kind may."""

    def __init__(self, called: object, why: str) -> None:
        super().__init__(f"{called}: {why}")
        self.why = why


def kind_of(mode: int) -> str | None:
    """Kind of a file with this mode; None for a regular one."""
    if stat.S_ISREG(mode):
        return None
    return next((name for known, name in _OTHERS if known(mode)), "no file")


@contextmanager
def open_file(path: str | Path, called: object = None) -> Iterator[BufferedReader]:
    """Open a regular file to read its bytes; messages call it so, by default by its path. Raises `FileNotFoundError` or
    `NotADirectoryError` or `IsADirectoryError` (there is no such file: who asks knows what was expected) or `DataError`
    (it is no regular file, or cannot be opened)."""
    called = path if called is None else called
    try:
        # to open a pipe waits for its other end; what is another file by then is seen below
        _refuse_others(called, os.stat(path).st_mode)
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (DataError, FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise
    except (OSError, ValueError) as error:
        raise Refused(called, f"cannot be read: {reason(error)}") from error
    reader: BufferedReader = BufferedReader(_Ready(number))
    with reader as file:
        _refuse_others(called, os.fstat(number).st_mode)
        yield file


class _Ready(FileIO):
    """A file that fails where it has nothing to give yet, as some of the kernel's do that pass for regular ones."""

    def readinto(self, buffer: Any) -> int:
        n_read = super().readinto(buffer)
        if n_read is None:
            raise BlockingIOError(errno.EAGAIN, "it waits for more to come; expected a regular file")
        return n_read


def _refuse_others(called: object, mode: int) -> None:
    """Raise unless a mode belongs to a regular file."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{called}: a folder")
    if (kind := kind_of(mode)) is not None:
        raise Refused(called, f"{kind}; expected a regular file")


def reason(error: Exception) -> object:
    """Message of a system error, without the name of the file."""
    return (error.strerror or error) if isinstance(error, OSError) else error


@contextmanager
def member(path: Path) -> Iterator[BufferedReader]:
    """Open a file in a folder of results, as `open_file`: one of that folder, not what a link elsewhere leads to.

    The folder itself may be a link, and a link may lead to another file of the folder. Raises FileNotFoundError or
    NotADirectoryError where there is no such file; `Refused` if it is no regular file of that folder, or cannot be
    opened.
    """
    if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(path.parent)):
        raise Refused(path, f"a link to {os.readlink(path)}; expected a regular file in that folder")
    try:
        with open_file(path) as file:
            yield file
    except IsADirectoryError as error:
        raise Refused(path, "a folder; expected a regular file") from error


def read(path: Path, most_bytes: int = SMALL) -> bytes:
    """Return the content of a file in a folder of results, at most so many bytes; raises as `member`."""
    with member(path) as file:
        # room for what the file says that it holds, not for all that it may hold
        size = min(os.fstat(file.fileno()).st_size, most_bytes)
        content = file.read(size + 1)
        if len(content) > size:
            content += file.read(most_bytes + 1 - len(content))
    if len(content) > most_bytes:
        raise Refused(path, f"more than {most_bytes} bytes; expected at most these")
    return content


def sha256_of(path: Path) -> str:
    """SHA-256 of a file in a folder of results; raises as `member`."""
    with member(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# JSON


def parse_json(content: bytes | str) -> Any:
    """The value of a JSON text of no more than `DEPTH` levels, of finite numbers, in which a key stands once. Raises
    `ValueError` (it is none)."""
    text = content.decode() if isinstance(content, bytes) else content
    if re.search(_BEYOND, text):
        raise ValueError("expected numbers of magnitude 1e300 at most")
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_number, parse_float=_number)
    except RecursionError:  # beyond what the parser takes
        raise ValueError(f"expected at most {DEPTH} levels") from None
    check_nested(value, len(text))
    return value


def check_nested(value: Any, most_nodes: int) -> None:
    """Raise a `ValueError` where lists and dicts are nested in more than `DEPTH` levels, or hold more parts than
    `most_nodes`, which is what a text of so many letters can say without references to itself."""
    level, total = [value], 0
    for _ in range(DEPTH):
        nested = [part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list)]
        total += sum(map(len, nested))
        if total > most_nodes:
            raise ValueError(f"expected at most {most_nodes} values")
        level = [part for parts in nested for part in parts]
        if not level:
            return
    raise ValueError(f"expected at most {DEPTH} levels")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("expected every key once")
    return members


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text}: expected a finite number")
    return value


# archives


@contextmanager
def open_zip(called: object, file: IO[bytes], most_bytes: int) -> Iterator[zipfile.ZipFile]:
    """Open a zip of at most so many files, measured before its list is read; raises `Refused`, `zipfile.BadZipFile`."""
    # what the module itself will believe; no other part of it tells before all names are held
    end = zipfile._EndRecData(file)  # type: ignore[attr-defined]
    # the list is read to its end, whatever number of files it claims to have
    if end and (end[zipfile._ECD_ENTRIES_TOTAL] > most_bytes or end[zipfile._ECD_SIZE] > most_bytes * LISTED):  # type: ignore[attr-defined]
        raise Refused(called, f"a zip of more than {most_bytes} files, or of long names; expected fewer")
    file.seek(0)
    try:
        opened = zipfile.ZipFile(file)
    except NotImplementedError as error:  # of a version that nobody writes
        raise zipfile.BadZipFile(str(error)) from error
    with opened as archive:
        if len(archive.infolist()) > most_bytes:
            raise Refused(called, f"a zip of {len(archive.infolist())} files; expected at most {most_bytes}")
        yield archive
