"""Seals of a run's folder, by which damage to it is seen.

* The manifest of a finished run: its files, with size and SHA-256, and whether they are still what was written. Like
  ``status.json`` it holds the SHA-256 of its own content.
* The checkpoint of a chain: nested dicts of plain values and numpy arrays, stored exactly. The file is an ``.npz`` with
  eight bytes behind it: the CRC-32 of all that stands before them.
* Choices that ``auto`` made, kept in OUT/choices: a run that was interrupted, or that is made longer, does not choose
  again.
"""

import hashlib
import json
import mmap
import os
import re
import struct
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import numpy as np
import yaml
from numpy.typing import NDArray

from splitmerge_cli import received
from splitmerge_cli.config.errors import RENAMED
from splitmerge_cli.received import sha256_of as sha256_of
from splitmerge_cli.runs.store.files import CHOICES, DamagedRun, replace_file, report_damage, write_text
from splitmerge_cli.runs.store.files import MANIFEST as MANIFEST

SEAL = "sha256"
"""Key in a sealed file whose value is the digest of all else."""


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def write_sealed(path: Path, value: dict[str, Any]) -> bytes:
    """Write a JSON object with the digest of its own content, whole or not at all; returns the content."""
    text = _text(value | {SEAL: hashlib.sha256(_text(value).encode()).hexdigest()})
    write_text(path, text)
    return text.encode()


def read_sealed(path: Path, remedy: str | None = None, content: bytes | None = None) -> dict[str, Any]:
    """The object that `write_sealed` wrote, without the digest; from the `content` of the file where that is at hand.
    Raises `DamagedRun` (the file is gone, or not byte for byte what was written; the message says the `remedy`)."""
    with report_damage(path, remedy):
        content = received.read(path) if content is None else content
        value = received.parse_json(content)
        seal = value.pop(SEAL)
        if _text(value | {SEAL: seal}).encode() != content or hashlib.sha256(_text(value).encode()).hexdigest() != seal:
            raise ValueError("not what was written")
        return dict(value)


def write_manifest(path: Path, names: Iterable[str], contents: Mapping[str, bytes] | None = None) -> bytes:
    """Write the manifest `path` of the files next to it, whose `names` may lead into folders; return its content.
    `contents`: contents of files that were just written; the others are read."""
    listed = {}
    for name in sorted(names):
        if (content := (contents or {}).get(name)) is None:
            file = path.parent / name
            listed[name] = {"bytes": file.stat().st_size, "sha256": sha256_of(file)}
        else:
            listed[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return write_sealed(path, {"files": listed})


class Manifest:
    """A manifest that was read, and the files next to it: their `names`, and the SHA-256 of the manifest itself, which
    stands for all of them (`digest`). `remedy`: what to do about damage, for messages; by default what is to be done
    about a run. `contents`: contents of the manifest and of files next to it that this process has written. Raises
    `DamagedRun` (it is gone, or not what was written)."""

    def __init__(self, path: Path, remedy: str | None = None, contents: Mapping[str, bytes] | None = None) -> None:
        self.path, self.remedy, contents = path, remedy, contents or {}
        content = contents.get(path.name)
        listed = read_sealed(path, remedy, content)
        with report_damage(path, remedy):
            self._files = {
                str(name): (int(file["bytes"]), re.fullmatch(r"[0-9a-f]{64}", file["sha256"])[0])  # type: ignore[index]
                for name, file in listed["files"].items()
            }
            if any(PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts for name in self._files):
                raise ValueError("a file elsewhere")
        self.names = list(self._files)
        self.digest = sha256_of(path) if content is None else hashlib.sha256(content).hexdigest()
        self._checked = {*contents}

    def check(self, name: str) -> Path:
        """The path of a file that is what was written; it is read once. Raises `DamagedRun` (it is not, is gone, or is
        not listed)."""
        path = self.path.parent / name
        if name in self._checked:
            return path
        with report_damage(path, self.remedy):
            size, digest = self._files[name]
            with received.member(path) as file:
                good = os.fstat(file.fileno()).st_size == size
                if not good or hashlib.file_digest(file, "sha256").hexdigest() != digest:
                    raise ValueError("not what was written")
        self._checked.add(name)
        return path

    def check_all(self) -> None:
        """Check every file that is listed; raises as `check`."""
        for name in self.names:
            self.check(name)


_ARRAY = "__array__"
_MAGIC = b"CRC:"
MOST_ARRAYS = 100_000
"""Most arrays in a checkpoint."""
_TRAILER = struct.Struct("<4sI")
# numpy parses the header of an array with ast.literal_eval, which in Python before 3.11.8 and 3.12.2 may fail with
# SystemError if two threads call it (CPython issue 106905); the file would be called damaged
_ONE_AT_A_TIME = threading.Lock()


def save(path: Path, state: dict[str, Any]) -> None:
    """Write `state` to an ``.npz`` file, whole or not at all; floats and integers of any size are kept to the bit."""
    arrays: dict[str, NDArray[Any]] = {}
    text = json.dumps(_pack(state, arrays))
    with replace_file(path) as temporary, temporary.open("w+b") as file:
        np.savez(file, allow_pickle=False, json=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            crc = zlib.crc32(content)
        file.seek(0, 2)
        file.write(_TRAILER.pack(_MAGIC, crc))


def load(path: Path, *keys: str | int, remedy: str | None = None) -> Any:
    """The state that `save` wrote, or the part of it under these keys, whose arrays alone are read; raises
    `DamagedRun`, which says the `remedy`, where the file holds something else."""
    with report_damage(path, remedy), received.member(path) as file:
        _check(file)
        with received.open_zip(path, file, MOST_ARRAYS) as archive:
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
                raise ValueError("arrays that are packed")
        file.seek(0)
        with _ONE_AT_A_TIME, np.load(file, allow_pickle=False) as stored:
            part = json.loads(stored["json"].tobytes())
            for key in keys:
                part = part[key]
            return _unpack(part, stored)


def _check(file: BinaryIO) -> None:
    """Raise a `ValueError` unless the file is byte for byte what was written."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content, memoryview(content) as view:
        end = len(view) - _TRAILER.size
        if end < 0 or _TRAILER.unpack(view[end:]) != (_MAGIC, zlib.crc32(view[:end])):
            raise ValueError("not what was written")


# no closures: one that calls itself is a cycle, which keeps the arrays until a late garbage collection
def _pack(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        arrays[f"a{len(arrays)}"] = value
        return {_ARRAY: f"a{len(arrays) - 1}"}
    if isinstance(value, dict):
        return {str(key): _pack(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_pack(item, arrays) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _unpack(value: Any, arrays: Any) -> Any:
    if isinstance(value, dict):
        return arrays[value[_ARRAY]] if _ARRAY in value else {key: _unpack(item, arrays) for key, item in value.items()}
    return [_unpack(item, arrays) for item in value] if isinstance(value, list) else value


FURTHER = ("data.columns", "data.drop", "data.types", "data.scale", "data.reduce", "gap")
"""Keys that ``auto`` may change in addition to options of the model."""


def path_of(out: str | Path, choice_id: str) -> Path:
    """The file of a choice in the folder of the results."""
    return Path(out) / CHOICES / f"{choice_id}.json"


def keep(file: Path, chosen: Any, changes: Mapping[str, Any]) -> None:
    """Store how something was chosen, and the keys of the run that follow; a ValueError for a key that `recall` would
    not believe. A folder that cannot be written is reported by the run itself."""
    if unknown := [key for key in changes if not _may_change(key)]:
        raise ValueError(f"{unknown[0]}: expected an option of the model, model, {', '.join(FURTHER)}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        # YAML, since columns without names are numbers, which are no keys in JSON
        text = yaml.safe_dump(dict(changes), sort_keys=False)
        write_sealed(file, {"id": file.stem, "chosen": chosen, "changes": text})


def _may_change(key: str) -> bool:
    return key.partition(".")[0] == "model" or key in FURTHER


def recall(file: Path, say: Callable[[str], None]) -> dict[str, Any] | None:
    """Read what `keep` stored; None if there is no such file, or it is not what was written, which `say` receives."""
    if not file.is_file():
        return None
    try:
        stored = read_sealed(file)
        with report_damage(file):
            changes: dict[str, Any] = yaml.safe_load(stored["changes"])
            # the folder may come from somebody else
            if not all(map(_may_change, changes)) or stored["id"] != file.stem:
                raise ValueError("not what was written")
            if (former := str(changes.get("model"))) in RENAMED:
                changes["model"] = RENAMED[former]
            return {"chosen": stored["chosen"], "changes": changes}
    except DamagedRun:
        say(f"{file}: damaged; the choice is made again")
        return None
