"""A table that comes on standard input: read once, held in memory, and known by its first bytes."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from splitmerge_cli.received import DataError

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


def path() -> Path:
    """The path that stands for standard input."""
    input_path: Path = StandardInput("standard input")
    return input_path


def is_standard_input(path: object) -> bool:
    """Whether a path, as it is typed or from `path`, means standard input."""
    return path == SIGN or isinstance(path, StandardInput)


def read(read_all: Callable[[str, BinaryIO], bytes]) -> bytes:
    """Read standard input to its end with `read_all`, once: later calls return the same bytes. Raises a `DataError`
    if it is a terminal, or is closed.
    """
    global _held
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.closed:
        raise DataError(f"data.path={SIGN}: standard input is closed; expected a table on it")
    if _held is None or _held[0] is not stream:
        if stream.isatty():
            raise DataError(f"data.path={SIGN}: standard input is a terminal; expected a table on it (... < FILE)")
        _held = stream, read_all("standard input", stream)
    return _held[1]


def suffix(data: bytes, packed: bool = False) -> str:
    """The ending of a name that goes with what came, by which it is `packed` or not; empty for text."""
    known = _PACKED if packed else _SUFFIXES
    return next((suffix for magic, suffix in known.items() if data.startswith(magic)), "")
