"""Tables in files of other formats: JSON (.json, .jsonl, .ndjson: an object in each row of a text, or a list of them,
whose keys name the columns), .npy, .parquet and .feather, and .xlsx, a sheet of which is read as the text table that it
would be saved as.
"""

import csv as csv_module
import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime, time
from io import BytesIO, StringIO
from math import prod
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet
from numpy.typing import NDArray

from splitmerge_cli.data.opening import CHUNK, Limit, bytes_as_numbers, content, header_of, readable
from splitmerge_cli.data.tables.separators import read_text
from splitmerge_cli.data.tables.table import Table, list_names
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.received import DataError, parse_json, reject_machine_error

JSON = (".json", ".jsonl", ".ndjson")
_LIST = "a list of objects"
CELL_BYTES = 64
"""Memory that a cell takes while it is read, apart from its text."""
LARGEST_INT = 1 << 53
"""Whole numbers beyond it are words: as numbers they would lose digits."""


def read_json(path: Path) -> Table:
    """Read a list of JSON objects, an object in each line, or one object that holds such a list or columns.

    A cell whose key an object lacks is missing. Objects within rows are columns of their own; lists are left out.
    """
    limit = Limit.current()
    rows, notes = _read_objects(path, read_text(path), limit)
    columns: dict[str, list[Any]] = {}
    nested: dict[str, None] = {}
    for i, row in enumerate(rows):
        try:
            cells = parse_json(row) if isinstance(row, bytes) else row
        except ValueError as error:
            problem = f"{error}; expected an object of JSON in each row, or {_LIST}"
            raise DataError(f"{path}: row {i + 1}: {problem}") from error
        if not isinstance(cells, dict):
            raise DataError(f"{path}: row {i + 1}: no object of JSON; expected one in each row, or {_LIST}")
        row_cells = list(_flat(cells))
        if len(dict(row_cells)) < len(row_cells):
            raise DataError(f"{path}: row {i + 1}: two keys become one column, such as 'a.b' and 'b' within 'a'")
        for key, value in row_cells:
            if isinstance(value, list):
                nested[key] = None
                continue
            if key not in columns:
                limit.check(path, (len(columns) + 1) * len(rows) * CELL_BYTES, " of cells")
                columns[key] = [None] * len(rows)
            columns[key][i] = value
    names = [name for name in columns if name not in nested]
    table = Table(path, [_column(columns[name]) for name in names], names)
    table.notes.extend(notes)
    if nested:
        shown = list_names([repr(name) for name in nested])
        table.notes.append(f"{path}: {shown}: left out, as rows hold lists of it")
    return table


def _flat(cells: dict[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """Keys and values of an object, and of the objects in it.

    >>> list(_flat({"name": "Oslo", "at": {"lat": 59.9, "lon": 10.7}}))
    [('name', 'Oslo'), ('at.lat', 59.9), ('at.lon', 10.7)]
    """
    for key, value in cells.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{within}{key}.")
        else:
            yield f"{within}{key}", value


def _read_objects(path: Path, text: bytes, limit: Limit) -> tuple[list[Any], list[str]]:
    """The lines of a text, an object each; the values of the list that the whole text is; or the rows of the one object
    that it is, and a note on them. Cells are counted by their colons or commas before they are parsed."""
    is_list = text.lstrip().startswith(b"[")
    lines = [] if is_list else text.split(b"\n")
    if len(lines) > 1:
        with suppress(ValueError):
            parse_json(lines[0])
            return lines, []
    limit.check(path, text.count(b":" if is_list else b",") * CELL_BYTES, " of cells")
    try:
        whole = parse_json(text)
    except ValueError as error:
        if is_list:
            raise DataError(f"{path}: {error}; expected {_LIST}") from error
        return lines, []
    if is_list and not whole:
        raise DataError(f"{path}: an empty list; expected objects of JSON in it")
    return _rows_of(path, whole) if isinstance(whole, dict) else (whole if is_list else lines, [])


def _rows_of(path: Path, whole: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """The rows that one object holds, and a note on them.

    It holds one list of objects, as services answer; or ``columns`` and ``data``, a list for each column, or objects of
    the same keys for each column or row, as pandas writes tables. Any other object is one row.
    """
    lists = [key for key, value in whole.items() if isinstance(value, list)]
    of_objects = [key for key in lists if whole[key] and all(isinstance(row, dict) for row in whole[key])]
    if len(of_objects) == 1:
        return whole[of_objects[0]], [f"{path}: rows are the objects of the list '{of_objects[0]}'"]
    names, data = whole.get("columns"), whole.get("data")
    if isinstance(names, list) and isinstance(data, list) and data:
        fit = [row for row in data if isinstance(row, list) and len(row) == len(names)]
        if len(fit) == len(data):
            return [dict(zip(map(str, names), row, strict=True)) for row in fit], []
    columns = list(whole.values())
    if len(lists) == len(whole) > 0 and len(columns[0]) > 1 and len({len(column) for column in columns}) == 1:
        return [dict(zip(whole, cells, strict=True)) for cells in zip(*columns, strict=True)], []
    if len(whole) > 1 and all(isinstance(one, dict) and one.keys() == columns[0].keys() for one in columns):
        by_key = whole
        if len(whole) <= len(columns[0]):  # the fewer are the columns
            by_key = {key: {name: whole[name][key] for name in whole} for key in columns[0]}
        are_names = not all(key.isdecimal() for key in by_key)
        return [{"": key, **row} if are_names else row for key, row in by_key.items()], []
    return [whole], []


def _column(values: list[Any]) -> pa.ChunkedArray:
    """Cells as numbers or as true and false, where all are; else as text."""
    types = {type(value) for value in values} - {type(None)}
    if types == {bool}:
        return pa.chunked_array([pa.array(values, pa.bool_())])
    exact = all(abs(value) <= LARGEST_INT for value in values if type(value) is int)
    if types and types <= {int, float} and exact:
        return pa.chunked_array([pa.array(values, pa.float64() if float in types else pa.int64())])
    text = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pa.chunked_array([pa.array(text, pa.string())])


def load_npy(path: Path, mapped_from: int | None = None) -> NDArray[Any]:
    """The array of an .npy file of plain numbers or strings, in the byte order of this machine. A file of at least
    `mapped_from` bytes is mapped, not read, if nothing of it must be copied; it cannot be written then."""
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


MOST_PARQUET = 200_000
"""Most columns of a .parquet file, each of which takes some 50 microseconds to open and read."""
_A_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def read_parquet(path: Path, most_columns: int = MOST_PARQUET) -> Table:
    """The columns of a .parquet file, so many at `most_columns`, in the plain types of their values."""
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
    """The columns of a table that is in memory, in the plain types of their values; messages call it `name`."""
    _check_width(Path(name), table.num_columns, MOST_PARQUET)
    return _plain_table(Path(name), table.schema, table.schema, table.to_batches())


def read_feather(path: Path) -> Table:
    """The columns of a .feather file (version 2, which is Arrow's file format) in the plain types of their values."""
    data = content(path)
    if data.startswith(b"FEA1"):
        raise DataError(f"{path}: a file of Feather's version 1; expected version 2, .parquet or .csv")
    try:
        if not data.startswith(b"ARROW1"):
            raise pa.ArrowInvalid("it does not begin as one")
        # the messages in their order; the footer, which may be damaged, is left alone
        source = pa.ipc.open_stream(pa.py_buffer(data).slice(8))
        _check_width(path, len(source.schema), MOST_PARQUET)
        # the reader takes offsets and words as they are
        batches = (batch for batch in source if batch.validate(full=True) is None)
        return _plain_table(path, source.schema, source.schema, batches)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reject_machine_error(error, path)
        raise DataError(f"{path}: not a readable feather file: {error}") from error


def _check_width(path: Path, width: int, most_columns: int) -> None:
    if width > most_columns:
        more = "; .csv and .npy hold more" if most_columns == MOST_PARQUET else ""
        raise DataError(f"{path}: {width} columns; expected at most {most_columns}{more}")


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


TIMES = 4
"""How many times its text a file takes: its words are objects of their own while it is read."""
KEPT_DIGITS = 15
"""Digits of a number that spreadsheet programs keep."""
_NOT_STORED = re.compile(rb"</f>\s*(<v\s*/>|<v>\s*</v>|</c>)")
"""A formula without the value that it had when the file was saved."""


class Sheet(Text):
    """The rows of a sheet; a cell that holds a line break is no more than a cell."""

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        for number, (_, cells) in enumerate(super().lines(), start=self.before + 1):
            yield number, cells


def read_sheet(path: Path, sheet: str | int | None = None, ask: str = "", skip: tuple[int, int] = (0, 0)) -> Sheet:
    """A sheet of an .xlsx file (name or number, 1 the first; by default the only one that holds cells): the cells that
    are stored, without empty rows and columns around them and the rows to `skip` at the top and the bottom. `ask` says
    what is expected where several hold cells."""
    import openpyxl

    data = content(path)
    try:
        with ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
            Limit.current(TIMES).check(path, sum(member.file_size for member in members), " unpacked")
            sheets = [member for member in members if member.filename.endswith(".xml")]
            lack_values = any(_NOT_STORED.search(archive.read(member)) for member in sheets)
        with warnings.catch_warnings():
            # of styles and extensions, which hold no cells
            warnings.filterwarnings("ignore", module="openpyxl")
            book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True)
            sheet_chosen = _choose_sheet(path, book.worksheets, sheet, ask)
            before, text, longest = _as_text(path, sheet_chosen, skip)
    except DataError:
        raise
    except Exception as error:  # a damaged file raises all kinds
        reject_machine_error(error, path)
        raise DataError(f"{path}: not a readable .xlsx file: {error or type(error).__name__}") from error
    table = Sheet(path, text, ",", before)
    if longest >= 10**KEPT_DIGITS:
        longer = f"there are longer ones, such as '{longest}': write codes as text"
        table.notes.append(f"{path}: a spreadsheet keeps {KEPT_DIGITS} digits of a number, and {longer}")
    if lack_values:
        when = "a spreadsheet program stores values when it saves a file"
        table.notes.append(f"{path}: formulas without a stored value are read as empty cells ({when})")
    return table


def _choose_sheet(path: Path, sheets: list[Any], sheet: str | int | None, ask: str) -> Any:
    names = [each.title for each in sheets]
    for each in sheets:
        each.reset_dimensions()  # what a file says of them may be wrong
    if sheet is None:
        rows_by_sheet = ((each, each.iter_rows(values_only=True)) for each in sheets)
        filled = [each for each, rows in rows_by_sheet if any(v not in (None, "") for row in rows for v in row)]
        if len(filled) > 1:
            # a name where that needs no quotes
            name = filled[0].title
            key = name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else names.index(name) + 1
            titles, expected = [each.title for each in filled], ask or f"data.sheet={key}, or another of them"
            raise DataError(f"{path}: sheets that hold cells: {list_names(titles)}; expected {expected}")
        if not filled:
            raise DataError(f"{path}: the file is empty; expected a sheet with at least one row")
        return filled[0]
    if str(sheet) in names:
        return sheets[names.index(str(sheet))]
    if str(sheet).isdecimal() and 1 <= int(sheet) <= len(sheets):
        return sheets[int(sheet) - 1]
    raise DataError(f"data.sheet={sheet}: {path} has no such sheet; expected one of {list_names(names)}, or its number")


def _as_text(path: Path, sheet: Any, skip: tuple[int, int]) -> tuple[int, bytes, float]:
    """Number of empty rows at the top, the others with commas, and the largest whole number."""
    limit = Limit.current()
    rows: list[list[str]] = []
    before, size, longest = 0, 0, 0.0
    for values in sheet.iter_rows(values_only=True):
        cells = [_cell(value) for value in values]
        longest = max([longest, *(abs(value) for value in values if type(value) in (int, float) and value % 1 == 0)])
        while cells and not cells[-1]:
            cells.pop()
        if not cells and not rows:
            before += 1
            continue
        size += sum(map(len, cells)) + len(cells)
        limit.check(path, size, " as cells")
        rows.append(cells)
    while rows and not rows[-1]:
        rows.pop()
    top = max(0, skip[0] - before)
    rows, before = rows[top : len(rows) - skip[1]], before + top
    width = max(map(len, rows), default=0)
    if not rows:
        raise DataError(f"{path}: sheet {sheet.title} is empty; expected at least one row")
    limit.check(path, len(rows) * width, " as cells")
    out = StringIO(newline="")
    csv_module.writer(out, lineterminator="\n").writerows(cells + [""] * (width - len(cells)) for cells in rows)
    return before, out.getvalue().removesuffix("\n").encode("utf-8"), longest


def _cell(value: object) -> str:
    """A cell as it would stand in a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        midnight = value.time() == time()
        return value.date().isoformat() if midnight else value.isoformat(" ", "seconds")
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value).strip()
