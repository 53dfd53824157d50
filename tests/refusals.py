"""One path for all files that are refused: they are written, a reader is called, and its one message is compared."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from splitmerge_cli.received import DataError


def write(content: Any, name: str) -> str:
    """Write a file of the working folder: text, bytes, an array, a table, or arrays of a sparse matrix of two rows.

    Returns
    -------
    str
        Its name, whose ending is that of what it holds.
    """
    if isinstance(content, np.ndarray):
        np.save(name := "x.npy", content)
    elif isinstance(content, pa.Table):
        pq.write_table(content, name := "x.parquet")
    elif isinstance(content, dict):
        whole = {"format": "csr", "shape": [2, 2], "data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2]} | content
        np.savez(name := "x.npz", **{key: np.array(array) for key, array in whole.items() if array is not None})
    else:
        data = content.encode() if isinstance(content, str) else content
        Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") and isinstance(content, str) else data)
    return name


def check_refusal(read: Callable[..., Any], content: Any, options: dict[str, Any], message: str, name: str) -> None:
    """Check that `read` refuses a file in one line, which begins with `message`, and that it writes nothing.

    A message about the file has its name in front, which `message` leaves out. ``options["name"]`` is another name.
    """
    options = dict(options)
    name = write(content, options.pop("name", name))
    before = sorted(Path().iterdir())
    with pytest.raises(DataError) as raised:
        read(Path(name), **options)
    said = str(raised.value)
    assert said.removeprefix(f"{name}: ").startswith(message), said
    assert "\n" not in said and sorted(Path().iterdir()) == before


def make_numpy_error(n_bytes: int) -> MemoryError:
    """NumPy's own error about an array of so many bytes; its class stands elsewhere in each version."""
    try:
        np.empty(1 << 59)
    except MemoryError as error:
        return type(error)((n_bytes // 8,), np.dtype(float))
    raise AssertionError("no error")
