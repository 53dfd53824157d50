"""Files that are whole or absent, and the lock of a folder."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Locked(RuntimeError):
    """Another process holds the lock."""


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its name once it is complete and on the disk."""
    temporary = path.with_name(f".{path.name}.partial")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file, whole or not at all."""
    write_text(path, json.dumps(value, indent=2) + "\n")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file `path`; the system frees it when the process dies, however it dies.

    Raises
    ------
    Locked
        Another process holds it.
    """
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Locked(f"{path.parent} is being written by another process") from error
        yield


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock on the file `path`."""
    if not path.exists():
        return False
    try:
        with locked(path):
            return False
    except Locked:
        return True
