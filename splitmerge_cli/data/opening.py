"""Where files of the user's data are opened, up to a limit that memory allows, and standard input, which is read once,
held in memory, and known by its first bytes.

Every reader of data goes through here. What a file says of its size is not believed: what is packed is counted while it
expands, and nothing is allocated for a number that a header promises.
"""

import bz2
import gzip
import hashlib
import lzma
import os
import re
import shlex
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, BinaryIO, cast
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np

from splitmerge_cli import received
from splitmerge_cli.data.values import LARGEST, require
from splitmerge_cli.received import DataError, kind_of, reason

SIGN = "-"
"""The path that stands for it."""
_SUFFIXES = {b"PAR1": ".parquet", b"ARROW1": ".feather", b"PK\3\4": ".xlsx", b"\x93NUMPY": ".npy"}
"""Endings of names that go with the first bytes of formats that are not text."""
_PACKED = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\0": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
_PACKED |= {b"BZh%d1AY&SY" % level: ".bz2" for level in range(1, 10)}
"""Endings that go with the first bytes of what is packed; a zip cannot be told from an .xlsx file."""

_held: tuple[BinaryIO, bytes] | None = None
"""The stream that was read, and what came on it."""


class StandardInput(type(Path())):  # type: ignore[misc]
    """The path of standard input, as messages show it; on a command line it is `SIGN`."""

    typed = SIGN


def path_of_input() -> Path:
    """The path that stands for standard input."""
    input_path: Path = StandardInput("standard input")
    return input_path


def is_standard_input(path: object) -> bool:
    """Whether a path, as it is typed or from `path`, means standard input."""
    return path == SIGN or isinstance(path, StandardInput)


def read_input(read_all: Callable[[str, BinaryIO], bytes]) -> bytes:
    """Read standard input to its end with `read_all`, once: later calls return the same bytes."""
    global _held
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.closed:
        raise DataError(f"data.path={SIGN}: standard input is closed; expected a table on it")
    if _held is None or _held[0] is not stream:
        if stream.isatty():
            raise DataError(f"data.path={SIGN}: standard input is a terminal; expected a table on it (... < FILE)")
        _held = stream, read_all("standard input", stream)
    return _held[1]


def suffix_of(data: bytes, packed: bool = False) -> str:
    """The ending of a name that goes with what came, by which it is `packed` or not; empty for text."""
    known = _PACKED if packed else _SUFFIXES
    return next((suffix for magic, suffix in known.items() if data.startswith(magic)), "")


PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""Endings of files that are unpacked while they are read."""
ARCHIVES = (*PACKED, ".tar", ".tgz", ".7z", ".rar")
MOST_MEMBERS = 1000
"""Most files of a zip whose list is read, one of which may hold data."""
MAPPABLE = ".npy"
"""Ending of the files that may be mapped, and so be larger than memory."""
SHARE = 4
"""The limit by default is memory divided by this: what is read is held about so often while it is parsed."""
CHUNK = 1 << 20
"""Bytes that are unpacked at the same time."""
SAMPLED = 8
"""The unpacked part of a file foretells the rest once it has this share of the limit: a file may begin with zeros."""
FORETOLD = 2
"""How many times the limit has to be foretold for a file to be rejected before it is reached."""

_UNTOLD = 1 << 38
"""Memory of a machine that does not tell how much it has."""
_ADDRESS = re.compile(r"(https?|ftp|s3|gs):/+(.+)")
"""An address of the network, as it is typed or as a path."""
_kept: ContextVar[Mapping[Path, bytes]] = ContextVar("kept", default=MappingProxyType({}))
_set: ContextVar[tuple[int | None, str]] = ContextVar("max_bytes", default=(None, ""))


def memory() -> int:
    """Bytes of memory that this process may have: the least of the machine, its control group and its own limit."""
    try:
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, ValueError, OSError):
        limits = [_UNTOLD]
    with suppress(ImportError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        limits += [soft] * (soft != resource.RLIM_INFINITY)
    return min(limits + _of_groups())


def _of_groups() -> list[int]:
    """Limits of the control groups of this process, of both versions."""
    places = [Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")]
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            number, _, name = line.split(":", 2)
            path = Path(name.lstrip("/"))
            if number == "0":
                places += [Path("/sys/fs/cgroup", part, "memory.max") for part in (path, *path.parents)]
    limits = []
    for place in dict.fromkeys(places):
        # no such group, or no limit: max
        with suppress(OSError, ValueError):
            limits.append(int(place.read_text()))
    return limits


@contextmanager
def limit_bytes(max_bytes: int | None, origin: str = "data.max_bytes") -> Iterator[None]:
    """Read files up to `max_bytes` each, unpacked, while this context lasts; None: a share of memory. Messages say the
    `origin` of the limit."""
    good = max_bytes is None or (type(max_bytes) is int and max_bytes >= 1)
    require(good, "data.max_bytes", max_bytes, "a whole number of bytes, at least 1, or null")
    token = _set.set((max_bytes, origin))
    try:
        yield
    finally:
        _set.reset(token)


@dataclass(frozen=True)
class Limit:
    """How many bytes of a file may be held in memory, and where that limit comes from, for messages."""

    size: int
    origin: str

    @classmethod
    def current(cls, times: int = 1) -> "Limit":
        """The limit that `limit_bytes` set, for data that take `times` the bytes of their file while they are read."""
        size, origin = _set.get()
        if size is None:
            size, origin = memory() // SHARE, "a quarter of the memory; data.max_bytes=BYTES sets another limit"
        if times > 1:
            origin += f"; such a file takes {times} times its size"
        return cls(size // times, origin)

    def error(self, called: object, problem: str) -> DataError:
        """Build the error for a file, `called` so, in which more was `problem`."""
        return DataError(f"{called}: {problem}; expected at most {self.size} bytes ({self.origin})")

    def check(self, called: object, size: int, suffix: str = "") -> None:
        """Raise a `DataError` if `size` bytes, of `suffix`, are more than the limit."""
        if size > self.size:
            raise self.error(called, f"{size} bytes{suffix}")

    def read(
        self, called: object, stream: IO[bytes], size: int = 0, how: str = "", packed: BinaryIO | None = None
    ) -> bytes:
        """Read a stream of `size` bytes, if it is what it says, to its end; raise as soon as it is beyond the limit, or
        what was read of the `packed` file that it unpacks foretells much more.
        """
        first = stream.read(min(size, self.size) + 1)
        total, parts = len(first), [first]
        while parts[-1]:
            if total > self.size:
                raise self.error(called, f"more than {self.size} bytes{how}")
            if packed is not None and total > self.size // SAMPLED and (place := packed.tell()) > 0:
                foretold = total * size_of(packed) // place
                if foretold > FORETOLD * self.size:
                    raise self.error(called, f"about {float(foretold):.2g} bytes{how}, by the first {total} of them")
            parts.append(stream.read(CHUNK))
            total += len(parts[-1])
        return first if total == len(first) else b"".join(parts)


def require_file(path: str | Path, expected: str) -> Path:
    """Return the path of a regular file, or of standard input; a `DataError` says what was `expected` in its place."""
    if is_standard_input(path):
        return path_of_input()
    path = Path(path)
    try:
        mode = kind_of(os.stat(path).st_mode)
    except FileNotFoundError:
        reject_address(path)
        mode = f"a link to {os.readlink(path)}, which is not there" if path.is_symlink() else "no such file"
    except NotADirectoryError:
        mode = "no such file"
    except (OSError, ValueError) as error:
        mode = f"cannot be read: {reason(error)}"
    if mode is not None and str(path) in ("/dev/stdin", "/proc/self/fd/0"):
        expected = f"{SIGN}, which stands for standard input, or {expected}"
    if mode is not None:
        raise DataError(f"{path}: {mode}; expected {expected}")
    return path


def reject_address(path: str | Path) -> None:
    """Raise `DataError` if a path that is not there is an address of the web."""
    if address := _ADDRESS.match(str(path)):
        where = f"{address[1]}://{address[2]}"
        fetch = f"curl -LO {shlex.quote(where)}"
        raise DataError(f"{where}: an address; expected a file: download it first ({fetch}), name it then") from None


@contextmanager
def open_file(path: str | Path, called: object = None) -> Iterator[BinaryIO]:
    """Open a file as `splitmerge_cli.received.open_file` does, or standard input for ``-`` and its path."""
    if is_standard_input(path):
        yield BytesIO(read_input(Limit.current().read))
        return
    with received.open_file(path, called) as file:
        yield file


@contextmanager
def readable(path: str | Path) -> Iterator[BinaryIO]:
    """As `open_file`, for a file that must be there; what fails while it is read is a `DataError` too."""
    try:
        with open_file(path) as file:
            yield file
    except (OSError, EOFError, zlib.error, lzma.LZMAError, BadZipFile, NotImplementedError) as error:
        if isinstance(error, BadZipFile) and Path(path).suffix.lower() not in PACKED:
            raise  # an .npz file, of which its reader says more
        raise DataError(f"{path}: cannot be read: {reason(error)}") from error


def unpack(path: Path, file: BinaryIO) -> BinaryIO:
    """Unpack an open file whose name ends in one of `PACKED`; standard input where it begins as such a file."""
    suffix = path.suffix.lower()
    if isinstance(file, BytesIO):
        suffix = suffix_of(file.getvalue(), packed=True)
    if suffix == ".zst":
        from pyarrow import CompressedInputStream  # takes longer than a short run

        return cast(BinaryIO, BufferedReader(CompressedInputStream(file, "zstd")))
    if suffix == ".zip":
        archive, member = _only_member(path, file)
        return cast(BinaryIO, archive.open(member))
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return cast(BinaryIO, openers[suffix](file)) if suffix in openers else file


def _only_member(path: Path, file: BinaryIO) -> tuple[ZipFile, ZipInfo]:
    """The one file in a zip, neither packed again nor elsewhere in the tree of folders. Nothing is written."""
    with received.open_zip(path, file, MOST_MEMBERS) as archive:
        # the second folder is what macOS adds
        members = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    problem = ""
    if len(members) != 1:
        problem = f"a zip of {len(members)} files"
    elif members[0].flag_bits & 1:
        problem = "a zip with a password"
    elif (name := Path(members[0].filename)).suffix.lower() in ARCHIVES and not _is_text_by_name(
        path, file, members[0]
    ):
        problem = f"a zip of a packed file, {name.name!r}"
    elif name.is_absolute() or ".." in name.parts or "\\" in members[0].filename:
        problem = f"a zip of {members[0].filename!r}, which leads out of its folder"
    if problem:
        raise DataError(f"{path}: {problem}; expected one file of data: unpack it, and name the file or the folder")
    return ZipFile(file), members[0]


def _is_text_by_name(path: Path, file: BinaryIO, member: ZipInfo) -> bool:
    """Whether a file in a zip is named as the zip is, and is no archive: pandas' ``to_csv("t.zip")`` writes it."""
    if Path(member.filename).name != path.name:
        return False
    with ZipFile(file).open(member) as inner:
        head = inner.read(8)
    return not (suffix_of(head, packed=True) or suffix_of(head))


def unpacked_name(path: Path) -> Path:
    """Name of the unpacked file, which gives its format."""
    if path.suffix.lower() != ".zip":
        return path.with_suffix("") if path.suffix.lower() in PACKED else path
    with readable(path) as file:
        name = Path(_only_member(path, file)[1].filename)
    return name.with_suffix("") if name.suffix.lower() == ".zip" else name


def size_of(file: BinaryIO) -> int:
    """Bytes of an open file, packed as it is."""
    return file.getbuffer().nbytes if isinstance(file, BytesIO) else os.fstat(file.fileno()).st_size


def content(path: Path, times: int = 1) -> bytes:
    """Content of a file, unpacked if its name asks for that, which takes so many `times` its size while it is read."""
    limit, cache = Limit.current(times), _kept.get()
    if path in cache:
        return cache[path]
    with readable(path) as file:
        size = size_of(file)
        limit.check(path, size)
        stream = unpack(path, file)
        unpacked = limit.read(path, stream, size) if stream is file else limit.read(path, stream, 0, " unpacked", file)
    if isinstance(cache, dict):
        cache[path] = unpacked
    return unpacked


@contextmanager
def read_once() -> Iterator[None]:
    """Read a file once while this context lasts, for readers that are tried one after the other."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def sha256(path: str | Path, called: object = None, held: bool = False) -> str:
    """SHA-256 of a file, as messages call it; one that will be `held` in memory must be within the limit."""
    called = path if called is None else called
    with open_file(path, called) as file:
        if held:
            Limit.current().check(called, size_of(file))
        try:
            return hashlib.file_digest(cast(BytesIO, file), "sha256").hexdigest()
        except OSError as error:
            raise DataError(f"{called}: cannot be read: {reason(error)}") from error


def sha256_of(path: Path) -> str:
    """SHA-256 of a file; a `DataError` if it cannot be read."""
    try:
        return sha256(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


# arrays


def header_of(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, whether column by column, and type that the header of an .npy file of no Python objects promises."""
    if isinstance(stream, BufferedReader) and stream.peek(4)[:4] == b"PK\3\4":
        raise ValueError("it is an archive of arrays (.npz)")
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"version {version[0]}.{version[1]} of the format")
    shape, in_columns, dtype = readers[version](stream)
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    if any(n < 0 for n in shape):
        raise ValueError(f"its header promises the shape {shape}")
    return shape, in_columns, dtype


def bytes_as_numbers(shape: tuple[int, ...], dtype: Any) -> int:
    """Bytes of an array once its numbers are float64, which its type may be shorter than."""
    return prod(shape) * max(dtype.itemsize, 8 if dtype.kind in "biuf" else 0)


def check_archive(path: Path, file: BinaryIO) -> None:
    """See that the arrays of an .npz file hold what they promise, within the limit; a ValueError or a BadZipFile for no
    such archive, or an array of fewer bytes."""
    total = 0
    with ZipFile(file) as archive:
        for member in archive.infolist():
            with archive.open(member) as stream:
                shape, _, dtype = header_of(stream)
                promised, held = prod(shape) * dtype.itemsize, member.file_size - stream.tell()
            held = min(held, received.PACKING * member.compress_size)
            if promised > held:
                raise ValueError(f"{member.filename} promises {promised} bytes and holds {held}")
            total += bytes_as_numbers(shape, dtype)
    Limit.current().check(path, total, " unpacked")
    file.seek(0)


def check_rows(called: object, rows: int, each: int, unit: str) -> None:
    """Raise a `DataError` if so many rows, documents or words, of so many bytes `each`, are more than the limit."""
    limit = Limit.current()
    most_rows = min(LARGEST, limit.size // each)
    if rows > most_rows:
        bound = f"at most {most_rows}, for {limit.size} bytes ({limit.origin})"
        raise DataError(f"{called}: {rows} {unit}; expected {bound}")
