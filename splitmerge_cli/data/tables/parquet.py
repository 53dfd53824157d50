"""Tables in .parquet and .feather files."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet

from splitmerge_cli.data.opening import CHUNK, Limit, content
from splitmerge_cli.data.tables.table import Table
from splitmerge_cli.received import DataError, parse_json, reject_machine_error

MOST_PARQUET = 200_000
"""Most columns of a .parquet file, each of which takes some 50 microseconds to open and read."""
_A_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_MORE = "; .csv and .npy hold more"


def read_parquet(path: Path, most_columns: int = MOST_PARQUET) -> Table:
    """The columns of a .parquet file, so many at `most_columns`, in the plain types of their values; a `DataError` if
    it is no such file, has more columns, or holds more than the limit (data.max_bytes).
    """
    packed = pa.BufferReader(content(path))
    try:
        source = pyarrow.parquet.ParquetFile(packed)
        _check_width(path, source.metadata.num_columns, most_columns)
        schema = source.schema_arrow
        # words that stand in a dictionary stay there until it is known what they take
        if texts := [field.name for field in schema if _is_text(field.type)]:
            source = pyarrow.parquet.ParquetFile(packed, read_dictionary=texts)
        width = source.metadata.num_columns
        # what pages hold is known when they are unpacked
        batches = source.iter_batches(max(1, min(1 << 16, CHUNK // max(1, width))))
        return _plain_table(path, schema, source.schema_arrow, batches)
    except (pa.ArrowException, OSError) as error:
        reject_machine_error(error, path)
        raise DataError(f"{path}: not a readable parquet file: {error}") from error


def from_arrow(name: str, table: pa.Table) -> Table:
    """The columns of a table that is in memory, in the plain types of their values; messages call it `name`. Raises a
    `DataError` for more columns than a .parquet file may have.
    """
    _check_width(Path(name), table.num_columns, MOST_PARQUET)
    return _plain_table(Path(name), table.schema, table.schema, table.to_batches())


def read_feather(path: Path) -> Table:
    """The columns of a .feather file (version 2, which is Arrow's file format) in the plain types of their values; a
    `DataError` as of `read_parquet`.
    """
    data = content(path)
    if data.startswith(b"FEA1"):
        raise DataError(f"{path}: a file of Feather's version 1; expected version 2, .parquet or .csv")
    try:
        if not data.startswith(b"ARROW1"):
            raise pa.ArrowInvalid("it does not begin as one")
        # the messages in their order; the footer, which may be damaged, is left alone
        source = pa.ipc.open_stream(pa.py_buffer(data).slice(8))
        _check_width(path, len(source.schema), MOST_PARQUET)
        return _plain_table(path, source.schema, source.schema, map(_valid, source))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reject_machine_error(error, path)
        raise DataError(f"{path}: not a readable feather file: {error}") from error


def _valid(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch whose offsets and words were checked: the reader takes them as they are."""
    batch.validate(full=True)
    return batch


def _check_width(path: Path, width: int, most_columns: int) -> None:
    if width > most_columns:
        raise DataError(
            f"{path}: {width} columns; expected at most {most_columns}{_MORE if most_columns == MOST_PARQUET else ''}"
        )


def _plain_table(path: Path, declared: pa.Schema, read: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Table:
    """A table of batches whose columns are as `read`, where the file has them as `declared`."""
    limit = Limit.current()
    coded = [j for j, kind in enumerate(read.types) if pa.types.is_dictionary(kind) or pa.types.is_string_view(kind)]
    plain = pa.schema([(field.name, _plain_type(field.type)) for field in declared]) if coded else declared
    arrays, total = [], 0
    orders = {
        j: dict[str, None]() for j, kind in enumerate(declared.types) if pa.types.is_dictionary(kind) and kind.ordered
    }
    for batch in batches:
        total += _plain_size(batch)
        limit.check(path, total, " unpacked")
        columns = batch.columns
        for j in coded:
            if j in orders:
                orders[j].update(dict.fromkeys(map(str, columns[j].dictionary.to_pylist())))
            columns[j] = pc.cast(columns[j], plain.field(j).type)
        arrays.append(pa.RecordBatch.from_arrays(columns, schema=plain) if coded else batch)
    arrow = pa.Table.from_batches(arrays, plain)
    table = Table(path, arrow.columns, arrow.column_names)
    for j, kind in enumerate(plain.types):
        if pa.types.is_duration(kind):
            seconds = pc.cast(pc.cast(arrow.column(j), pa.int64()), pa.float64(), safe=False)
            table.columns[j] = pc.divide(seconds, _A_SECOND[kind.unit])
            table.notes.append(f"{path}: {table.column(j)}: durations are read as seconds")
    table.categories = _categories(declared)
    table.orders = {j: list(words) for j, words in orders.items()}
    return table


def _categories(schema: pa.Schema) -> set[int]:
    """Columns that hold categories: as dictionaries, or as what pandas notes of numbers."""
    columns = {j for j, kind in enumerate(schema.types) if pa.types.is_dictionary(kind)}
    try:
        noted = parse_json((schema.metadata or {}).get(b"pandas", b"{}")).get("columns", [])
        names = {column["field_name"] for column in noted if column["pandas_type"] == "categorical"}
    except (ValueError, TypeError, KeyError, AttributeError):  # the note is damaged: the columns are read as they are
        return columns
    return columns | {j for j, name in enumerate(schema.names) if name in names}


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _plain_size(batch: pa.RecordBatch) -> int:
    """Bytes of a batch in the plain types of its values."""
    size = 0
    for column in batch.columns:
        if not pa.types.is_dictionary(column.type):
            # of views some versions of pyarrow know no `nbytes`
            size += column.get_total_buffer_size() if pa.types.is_string_view(column.type) else column.nbytes
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
