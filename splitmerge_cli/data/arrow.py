"""Arrays of Arrow from arrays of NumPy, and back. `pyarrow.array`, `pyarrow.scalar` and ``to_numpy`` do that, too, and
import pandas, for longer than a short run takes.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def _dtype(type: pa.DataType) -> np.dtype[Any]:
    """NumPy's type of numbers; `pyarrow.DataType.to_pandas_dtype` imports pandas in pyarrow 21 and before."""
    return np.dtype({"float": "float32", "halffloat": "float16"}.get(str(type), str(type)))


def array_of(values: NDArray[Any] | list[Any], type: pa.DataType | None = None) -> pa.Array:
    """Return the Arrow array of numbers, truth values or texts, or of lists ``[n, length]`` of numbers; None and NaN in
    a list are missing values. An array needs no `type`."""
    if type is None:
        type = pa.type_for_alias(str(np.asarray(values).dtype))
    if pa.types.is_list(type):
        lists = np.asarray(values)
        ends = np.arange(len(lists) + 1) * lists.shape[1]
        return pa.ListArray.from_arrays(array_of(ends, pa.int32()), array_of(lists.ravel(), type.value_type))
    long, validity = pa.types.is_large_string(type), None
    text = long or pa.types.is_string(type)
    if isinstance(values, list):
        known = [value is not None and value == value for value in values]
        if not all(known):
            filler = "" if text else 0
            validity = pa.py_buffer(np.packbits(known, bitorder="little"))
            values = [value if is_known else filler for value, is_known in zip(values, known, strict=True)]
    if text:
        texts = [value.encode() for value in values]
        buffers = [np.cumsum([0, *map(len, texts)], dtype=np.int64 if long else np.int32), b"".join(texts)]
    elif pa.types.is_boolean(type):
        buffers = [np.packbits(np.asarray(values, dtype=bool), bitorder="little")]
    else:
        buffers = [np.ascontiguousarray(values, dtype=_dtype(type))]
    return pa.Array.from_buffers(type, len(values), [validity, *map(pa.py_buffer, buffers)])


def numbers_of(column: pa.ChunkedArray | pa.Array, missing: Any = None) -> NDArray[Any]:
    """Return the numbers or truth values of a column; lists follow one after the other. A column that may have missing
    values needs what stands for them, `missing`."""
    lists = pa.types.is_list(column.type)
    type = column.type.value_type if lists else column.type
    chunks = [chunk for chunk in getattr(column, "chunks", [column]) if len(chunk)]
    if lists:
        ends = [(chunk.offsets[0].as_py(), chunk.offsets[-1].as_py()) for chunk in chunks]
        chunks = [chunk.values[start:stop] for chunk, (start, stop) in zip(chunks, ends, strict=True)]
    is_bit = pa.types.is_boolean(type)
    parts = [np.empty(0, bool if is_bit else _dtype(type))]
    for chunk in filter(len, chunks):
        validity, data = chunk.buffers()
        if is_bit:
            part = _bits(data, chunk)
        else:
            part = np.frombuffer(data, parts[0].dtype, len(chunk), chunk.offset * parts[0].dtype.itemsize)
        parts.append(np.where(_bits(validity, chunk), part, missing) if chunk.null_count else part)
    return np.concatenate(parts)


def _bits(buffer: pa.Buffer, chunk: pa.Array) -> NDArray[np.bool_]:
    """The bits of a buffer that belong to a chunk."""
    end = chunk.offset + len(chunk)
    return np.unpackbits(np.frombuffer(buffer, np.uint8), count=end, bitorder="little")[chunk.offset :].astype(bool)
