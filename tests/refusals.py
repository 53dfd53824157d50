"""Files of any content, and an error of NumPy's own."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


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


def make_numpy_error(n_bytes: int) -> MemoryError:
    """NumPy's own error about an array of so many bytes; its class stands elsewhere in each version."""
    try:
        np.empty(1 << 59)
    except MemoryError as error:
        return type(error)((n_bytes // 8,), np.dtype(float))
    raise AssertionError("no error")
