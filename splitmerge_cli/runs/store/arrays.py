"""Arrow arrays from values, and back. pyarrow's own conversions import pandas, which takes longer than a short run."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def _dtype(type: pa.DataType) -> np.dtype[Any]:
    """NumPy's type of numbers; `pyarrow.DataType.to_pandas_dtype` imports pandas in pyarrow 21 and before."""
    return np.dtype(np.float32 if pa.types.is_float32(type) else str(type))


def array_of(values: NDArray[Any] | list[Any], type: pa.DataType) -> pa.Array:
    """Return the Arrow array of numbers or texts, or of lists ``[n, length]`` of numbers; None and NaN in a list are
    missing values."""
    if pa.types.is_list(type):
        lists = np.asarray(values)
        ends = np.arange(len(lists) + 1) * lists.shape[1]
        return pa.ListArray.from_arrays(array_of(ends, pa.int32()), array_of(lists.ravel(), type.value_type))
    text, validity = pa.types.is_string(type), None
    if isinstance(values, list):
        known = [value is not None and value == value for value in values]
        if not all(known):
            filler = "" if text else 0
            validity = pa.py_buffer(np.packbits(known, bitorder="little"))
            values = [value if is_known else filler for value, is_known in zip(values, known, strict=True)]
    if text:
        texts = [value.encode() for value in values]
        buffers = [np.cumsum([0, *map(len, texts)], dtype=np.int32), b"".join(texts)]
    else:
        buffers = [np.ascontiguousarray(values, dtype=_dtype(type))]
    return pa.Array.from_buffers(type, len(values), [validity, *map(pa.py_buffer, buffers)])


def table_of(rows: Iterable[Iterable[Any]], columns: pa.Schema) -> pa.Table:
    """Return the table of these rows, each with a value for every column."""
    each = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [array_of(list(values), field.type) for values, field in zip(each, columns, strict=True)]
    return pa.Table.from_arrays(arrays, schema=columns)


def numbers_of(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return the numbers of a column without missing values; lists follow one after the other."""
    lists = pa.types.is_list(column.type)
    dtype = _dtype(column.type.value_type if lists else column.type)
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    if lists:
        ends = [(chunk.offsets[0].as_py(), chunk.offsets[-1].as_py()) for chunk in chunks]
        chunks = [chunk.values[start:stop] for chunk, (start, stop) in zip(chunks, ends, strict=True)]
    each = [np.frombuffer(c.buffers()[1], dtype, len(c), c.offset * dtype.itemsize) for c in chunks if len(c)]
    return np.concatenate([np.empty(0, dtype), *each])
