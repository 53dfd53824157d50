"""Rows and labels in .parquet files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.parquet import ParquetFile, ParquetWriter

from splitmerge_cli.received import DataError, reject_machine_error
from splitmerge_cli.runs.store.files import replace_file

ROWS = 1 << 18
"""Rows that are written at the same time."""


def read_blocks(
    files: Sequence[tuple[str, int]], names: list[str], first: int, end: int, step: int
) -> Iterator[tuple[NDArray[Any], dict[int, NDArray[Any]]]]:
    """Rows `first` to before `end` of these files, each with the number of its rows, at most `step` at a time; and
    those columns, by their places, whose whole numbers have 64 bits, null being 0."""
    row = 0
    for name, rows in files:
        if row >= end or row + rows <= first:
            row += rows
            continue
        file = ParquetFile(name)
        for group in range(file.metadata.num_row_groups):
            n, here = file.metadata.row_group(group).num_rows, row
            row += n
            if here >= end or row <= first:
                continue
            for batch in file.iter_batches(step, row_groups=[group], columns=names):
                low, high = max(first - here, 0), min(end - here, batch.num_rows)
                here += batch.num_rows
                if low < high:
                    columns = batch.select(names).slice(low, high - low).columns
                    # a cell that is null becomes NaN
                    cells = (column.cast("double", safe=False) for column in columns)
                    block = np.column_stack([column.to_numpy(zero_copy_only=False) for column in cells])
                    kinds = [column.type for column in columns]
                    long = [j for j, kind in enumerate(kinds) if pa.types.is_integer(kind) and kind.bit_width == 64]
                    yield block, {j: columns[j].fill_null(0).to_numpy() for j in long}


def find_columns(
    place: Path, columns: Sequence[str] | None, drop: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    """Names of the columns that are read from a file or a folder of files, and the files with their numbers of rows.
    Raises `DataError` (there is no such file, it is no table of numbers, or it has no such column).
    """
    files = sorted(place.glob("*.parquet")) if place.is_dir() else [place]
    if not files:
        raise DataError(f"{place}: no .parquet file in this folder")
    parts: list[tuple[str, int]] = []
    names: tuple[str, ...] = ()
    for file in files:
        try:
            opened = ParquetFile(file)
        except (pa.ArrowException, OSError) as error:
            reject_machine_error(error, file)
            raise DataError(f"{file}: not a readable parquet file: {error}") from error
        present = opened.schema_arrow.names
        for name in (*(columns or ()), *(drop or ())):
            if name not in present:
                raise DataError(f"{file}: no column {name}; expected one of {', '.join(map(str, present))}")
        wanted = tuple(columns or (name for name in present if name not in (drop or ())))
        if names and wanted != names:
            raise DataError(f"{file}: columns {', '.join(wanted)}; expected {', '.join(names)} as in {files[0]}")
        names = wanted
        for name in names:
            kind = opened.schema_arrow.field(name).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise DataError(f"{file}: column {name}: {kind}; expected numbers (data.drop leaves columns out)")
        parts.append((str(file), opened.metadata.num_rows))
    rows = sum(n for _, n in parts)
    if not names or not rows:
        raise DataError(f"{place}: {rows} rows of {len(names)} columns; expected at least one of each")
    return names, tuple(parts)


def write_labels(path: Path, first: int, labels: NDArray[np.int32]) -> None:
    """Write row numbers, counted from row `first` of a table, and clusters."""
    schema = pa.schema([("row", pa.int64()), ("cluster", pa.int32())])
    # piece by piece, and without pandas, whose import takes as much memory as millions of rows
    with replace_file(path) as temporary, ParquetWriter(temporary, schema) as writer:
        for start in range(0, len(labels), ROWS):
            part = labels[start : start + ROWS]
            rows = np.arange(first + start + 1, first + start + len(part) + 1)
            writer.write_table(pa.table([rows, part], schema=schema))
