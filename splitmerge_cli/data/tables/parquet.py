"""Tables in .parquet files."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from splitmerge_cli.data.base import DataError
from splitmerge_cli.data.opening import CHUNK, Limit, content
from splitmerge_cli.data.tables.table import Table

MOST_PARQUET = 200_000
"""Most columns of a .parquet file, each of which takes some 50 microseconds to open and read."""
_MORE = "; .csv and .npy hold more"


def read_parquet(path: Path, most: int = MOST_PARQUET) -> Table:
    """The columns of a .parquet file in the plain types of their values.

    Parameters
    ----------
    path : Path
        The file.
    most : int
        How many columns it may have.

    Raises
    ------
    DataError
        It is no such file, has more columns, or holds more than the limit (data.max_bytes).
    """
    limit = Limit.now()
    packed = pa.BufferReader(content(path))
    try:
        source = pyarrow.parquet.ParquetFile(packed)
        if (width := source.metadata.num_columns) > most:
            raise DataError(f"{path}: {width} columns; expected at most {most}{_MORE if most == MOST_PARQUET else ''}")
        schema = source.schema_arrow
        # words that stand in a dictionary stay there until it is known what they take
        if texts := [field.name for field in schema if _is_text(field.type)]:
            source = pyarrow.parquet.ParquetFile(packed, read_dictionary=texts)
        coded = [j for j, kind in enumerate(source.schema_arrow.types) if pa.types.is_dictionary(kind)]
        plain = pa.schema([(field.name, _plain_type(field.type)) for field in schema]) if coded else schema
        batches, total = [], 0
        # what pages hold is known when they are unpacked
        for batch in source.iter_batches(max(1, min(1 << 16, CHUNK // max(1, width)))):
            total += _plain_size(batch, coded)
            limit.check(path, total, " unpacked")
            columns = batch.columns
            for j in coded:
                columns[j] = pc.cast(columns[j], plain.field(j).type)
            batches.append(pa.RecordBatch.from_arrays(columns, schema=plain) if coded else batch)
        table = pa.Table.from_batches(batches, plain if coded else schema)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a readable parquet file: {error}") from error
    return Table(path, table.columns, table.column_names)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _plain_size(batch: pa.RecordBatch, coded: Sequence[int]) -> int:
    """Bytes of a batch in the plain types of its values; columns that are `coded` have dictionaries."""
    if not coded:
        return int(batch.nbytes)
    size, others = 0, set(range(batch.num_columns)) - set(coded)
    for j, column in enumerate(batch.columns):
        if j in others:
            size += column.nbytes
            continue
        values = column.dictionary
        each = pc.binary_length(values) if _is_text(values.type) else pa.repeat(8, len(values))
        size += 8 * len(column) + (pc.sum(pc.take(pc.cast(each, pa.int64()), column.indices)).as_py() or 0)
    return size


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    # pandas' categories and views of strings are encodings
    return pa.large_string() if _is_text(kind) and kind != pa.string() else kind
