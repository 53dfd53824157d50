"""Arrays in .npy files, and the tables that they make."""

import os
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from splitmerge_cli.data.opening import Limit, bytes_as_numbers, header_of, readable
from splitmerge_cli.data.tables.table import Table
from splitmerge_cli.received import DataError, reject_machine_error


def load_npy(path: Path, mapped_from: int | None = None) -> NDArray[Any]:
    """The array of an .npy file in the byte order of this machine; a `DataError` if it is no file of plain numbers or
    strings, or its array has more than two dimensions.

    A file of at least `mapped_from` bytes is mapped, not read, if nothing of it must be copied; such an array cannot
    be written.
    """
    try:
        with readable(path) as file:
            size = os.fstat(file.fileno()).st_size
            shape, in_columns, dtype = header_of(file)
            promised, held = prod(shape) * dtype.itemsize, size - file.tell()
            if promised > held:
                raise ValueError(f"its header promises {promised} bytes, {held} follow")
            as_it_is = dtype in (np.float64, np.float32) and (not in_columns or len(shape) < 2)
            if mapped_from is not None and size >= mapped_from and as_it_is:
                array = np.load(path, mmap_mode="r", allow_pickle=False)
            else:
                Limit.current().check(path, bytes_as_numbers(shape, dtype), " as numbers")
                file.seek(0)
                array = np.lib.format.read_array(file, allow_pickle=False)
    except DataError:
        raise
    except Exception as error:  # a damaged header raises all kinds
        reject_machine_error(error, path)
        raise DataError(f"{path}: not a readable .npy file of plain numbers or strings: {error}") from error
    array = np.asarray(array)
    if array.ndim not in (1, 2):
        raise DataError(f"{path}: array of {array.ndim} dimensions; expected [N] or [N, columns]")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def read_npy(path: Path) -> Table:
    """The columns of an array ``[N]`` or ``[N, columns]`` in an .npy file."""
    array = load_npy(path)
    matrix = array.reshape(len(array), -1) if len(array) else array.reshape(0, 1)
    try:
        columns = [pa.chunked_array([pa.array(np.ascontiguousarray(column))]) for column in matrix.T]
    except (pa.ArrowException, UnicodeDecodeError) as error:
        reject_machine_error(error, path)
        raise DataError(f"{path}: array of {array.dtype}; expected numbers or strings") from error
    return Table(path, columns, None)
