"""Columns of 0 and 1, or of words for them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Kind
from splitmerge_cli.data.opening import Limit
from splitmerge_cli.data.tables import missing as missing_cells
from splitmerge_cli.data.tables.table import NUMBER, Table, is_missing, is_text
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.data.tables.text_tables import misfit
from splitmerge_cli.data.tables.wanted import Wanted
from splitmerge_cli.received import DataError


def zeros_and_ones(table: Table, columns: Sequence[int], wanted: Wanted) -> NDArray[np.uint8 | np.float64]:
    """Columns of nothing but 0 and 1 as uint8 ``[rows, columns]``; where cells are missing as float64, these NaN."""
    block = table.block(columns)
    Limit.current().check(table.path, table.rows * len(columns), " as numbers")
    x = np.empty((table.rows, len(columns)), dtype=np.uint8)
    bad: tuple[int, int] | None = None
    absent: dict[int, NDArray[np.bool_]] = {}
    for d, j in enumerate(columns):
        values = _numbers(table, j, wanted) if block is None else block[:, d]
        gaps = missing_cells.in_numbers(values, wanted.missing) if values.dtype.kind == "f" else np.zeros(1, dtype=bool)
        good = (values == 0) | (values == 1) | gaps
        if not good.all() and (bad is None or int(np.argmin(good)) < bad[0]):
            bad = int(np.argmin(good)), j
        x[:, d] = np.where(good & ~gaps, values, 0)
        if gaps.any():
            absent[d] = gaps
    if bad is not None:
        raise _error(table, wanted.kind, *bad)
    if not absent:
        return x
    with_missing = x.astype(np.float64)
    for d, gaps in absent.items():
        with_missing[gaps, d] = np.nan
    return with_missing


def _error(table: Table, kind: Kind, i: int, j: int) -> DataError:
    expected = misfit(kind, str(table.cells(j)[i].as_py()), table) if isinstance(table, Text) else None
    return table.error(i, j, expected or kind.expected)


def _numbers(table: Table, j: int, wanted: Wanted) -> NDArray[Any]:
    """Column `j` as numbers, words for 0 and 1 among them; NaN where a cell is missing, 2 of other words."""
    column = table.cells(j)
    kind = column.type
    if is_text(column):
        encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
        values = np.array([_truth_value(table, word, wanted) for word in encoded.dictionary.to_pylist()])
        if isinstance(table, Text) or not (values == 2).any():
            return values[encoded.indices.to_numpy()]
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise DataError(f"{table.path}: {table.column(j)} holds {kind}; expected numbers, each 0 or 1")
    if pa.types.is_boolean(kind):
        column = pc.cast(column, pa.uint8())
    return column.to_numpy()


def _truth_value(table: Table, word: str | None, wanted: Wanted) -> float:
    """0 or 1 of a word or, in a text, a number; NaN of what stands for a missing cell, 2 of anything else."""
    plain = (word or "").strip(" \t")
    if is_missing(plain) or plain in map(str, wanted.missing):
        return np.nan
    if isinstance(table, Text) and NUMBER.fullmatch(number := table.number(plain)) and float(number) in (0, 1):
        return float(number)
    return wanted.kind.truth_values.get(plain.lower(), 2)
