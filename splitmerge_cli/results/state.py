"""Nested dicts of plain values and numpy arrays, stored exactly: the checkpoint of a chain."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.results.files import replaced, undamaged

_ARRAY = "__array__"


def save(path: Path, state: dict[str, Any]) -> None:
    """Write `state` to an ``.npz`` file, whole or not at all; floats and integers of any size are kept to the bit."""
    arrays: dict[str, NDArray[Any]] = {}
    text = json.dumps(_pack(state, arrays))
    with replaced(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, json=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)


def load(path: Path, *keys: str | int) -> Any:
    """The state that `save` wrote, or the part of it under these keys, whose arrays alone are read; raises
    `DamagedRun` where the file holds something else."""
    with undamaged(path), np.load(path, allow_pickle=False) as stored:
        part = json.loads(stored["json"].tobytes())
        for key in keys:
            part = part[key]
        return _unpack(part, stored)


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
