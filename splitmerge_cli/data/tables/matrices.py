"""Matrices of numbers in files: arrays in .npy, kept as they are or mapped where they are large, and sparse in .npz."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.data.opening import check_archive, check_rows, readable
from splitmerge_cli.data.tables.missing import mark_missing
from splitmerge_cli.data.tables.npy import load_npy
from splitmerge_cli.data.tables.table import Table
from splitmerge_cli.data.values import FINITE, LARGEST, place_not_finite
from splitmerge_cli.received import DataError, reject_machine_error

MAPPED = 1 << 26
"""Bytes of an array from which on it is mapped from its file: read where it is looked at, and shared by processes."""

EMPTY_BYTES = 100
"""Memory that a row or column of a sparse matrix takes in a model at least, whatever it holds."""


class Matrix(Table):
    """A matrix of a file (`values`) as a table without names of columns; a column is made where it is asked for."""

    def __init__(self, path: Path, values: NDArray[np.floating] | csr_array) -> None:
        super().__init__(path, [], None)
        self.values = values

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    @property
    def rows(self) -> int:
        return int(self.values.shape[0])

    def take(self, rows: int | None) -> None:
        self.values = self.values[:rows]

    def cells(self, j: int) -> pa.ChunkedArray:
        dense = self.values[:, [j]].toarray() if isinstance(self.values, csr_array) else self.values[:, j]
        return pa.chunked_array([pa.array(np.ascontiguousarray(dense).ravel())])

    def counts_from(self, j: int) -> int | None:
        # the ends first: a column of a large array is dear
        rows = self.values.shape[0]
        ends = self.values[0, j], self.values[rows - 1, j]
        return super().counts_from(j) if ends[0] in (0, 1) and ends[1] == ends[0] + rows - 1 else None

    def points(
        self, columns: Sequence[int], also: Sequence[str | int | float] = ()
    ) -> NDArray[np.floating] | csr_array:
        """Some columns in this order, as `Dataset` takes them; all of them in theirs are not copied.

        `also`: what else than NaN stands for a missing cell, but of a sparse matrix. Raises a `DataError` for a value
        that is no number of magnitude 1e30 at most; of a sparse matrix, for NaN.
        """
        x = self.values
        if list(columns) != list(range(self.width)):
            x = x[:, list(columns)] if isinstance(x, csr_array) else np.take(x, columns, axis=1)
            if isinstance(x, csr_array):
                x.sort_indices()
        dense = not isinstance(x, csr_array)
        x = mark_missing(x, also) if dense else x
        if (bad := place_not_finite(x, missing=dense)) is not None:
            i, d = bad
            raise self.error(i, columns[d], "a number" if np.isnan(x[bad]) else FINITE, f"'{x[bad]:g}'")
        return x


def read_numbers(path: Path) -> Matrix | None:
    """The array ``[N]`` or ``[N, columns]`` of float64 or float32 in an .npy file; None if it holds another type.
    Raises a `DataError` for no readable .npy file, or an array of more dimensions.
    """
    array = load_npy(path, mapped_from=MAPPED)
    if array.dtype not in (np.float64, np.float32):
        return None
    return Matrix(path, np.ascontiguousarray(array.reshape(len(array), -1) if array.size else array.reshape(0, 1)))


def read_sparse(path: Path) -> csr_array:
    """The sparse matrix of an .npz file that ``scipy.sparse.save_npz`` wrote, of any of its formats: float64, entries
    of the same place added up, no stored zeros, indices of a row ascending. Raises a `DataError` if it is no such
    file, damaged, or a matrix of something else than real numbers.
    """
    try:
        with readable(path) as file:
            check_archive(path, file)
            # it loads no pickled object
            matrix = scipy.sparse.load_npz(file)
        if matrix.ndim != 2:
            raise ValueError(f"it has {matrix.ndim} dimension")
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        if matrix.dtype.kind not in "biuf":
            raise ValueError(f"it holds {matrix.dtype}")
        if max(matrix.shape) > LARGEST:
            raise ValueError(f"its shape is {matrix.shape}")
        # rows and columns that hold nothing are in no file
        for count, noun in zip(matrix.shape, ("rows", "columns"), strict=True):
            check_rows(path, count, EMPTY_BYTES, noun)
        # before entries are added up: small types wrap round
        matrix = csr_array(matrix.astype(np.float64))
        matrix.check_format(full_check=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    except DataError:
        raise
    except Exception as error:  # a damaged archive raises all kinds
        reject_machine_error(error, path)
        raise DataError(
            f"{path}: not a readable sparse matrix of real numbers, as scipy.sparse.save_npz writes it: {error}"
        ) from error
    return matrix
