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

    def pack(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays[f"a{len(arrays)}"] = value
            return {_ARRAY: f"a{len(arrays) - 1}"}
        if isinstance(value, dict):
            return {str(key): pack(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [pack(item) for item in value]
        return value.item() if isinstance(value, np.generic) else value

    text = json.dumps(pack(state))
    with replaced(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, json=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)


def load(path: Path) -> dict[str, Any]:
    """The state that `save` wrote; raises `DamagedRun` where the file holds something else."""
    with undamaged(path), np.load(path, allow_pickle=False) as stored:

        def unpack(value: Any) -> Any:
            if isinstance(value, dict):
                return stored[value[_ARRAY]] if _ARRAY in value else {k: unpack(v) for k, v in value.items()}
            return [unpack(item) for item in value] if isinstance(value, list) else value

        state: dict[str, Any] = unpack(json.loads(stored["json"].tobytes()))
    return state
