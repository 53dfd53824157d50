"""Nested dicts of plain values and numpy arrays, stored exactly: the checkpoint of a chain.

The file is an ``.npz`` with eight bytes behind it: the CRC-32 of all that stands before them.
"""

import json
import mmap
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.received import member, open_zip
from splitmerge_cli.runs.store.files import replace_file, report_damage

_ARRAY = "__array__"
_MAGIC = b"CRC:"
MOST_ARRAYS = 100_000
"""Most arrays in a checkpoint."""
_TRAILER = struct.Struct("<4sI")


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
    with report_damage(path, remedy), member(path) as file:
        _check(file)
        with open_zip(path, file, MOST_ARRAYS) as archive:
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
                raise ValueError("arrays that are packed")
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
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
