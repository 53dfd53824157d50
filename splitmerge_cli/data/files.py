"""The user's own data: text tables (.csv with commas, .tsv and .txt with tabs; also gzipped), .parquet and .npy.

A file is parsed by pyarrow or NumPy at full speed. Only when that fails, or finds a cell that does not fit, is a text
file read again line by line, to name the first offending row (line of the file, counted from 1) and column.
"""

import csv as csv_module
import gzip
import os
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from splitmerge_cli.data.base import FINITE, KINDS, MAGNITUDE, DataError, Dataset, first_not_finite, require

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
FORMATS = ".csv, .tsv, .txt (also .gz), .parquet, .npy"
HEADER_WORDS = {"token", "tokens", "mention", "mentions", "word", "words"}
MISSING = {"", "nan"}  # compared in lower case, spaces stripped
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
"""What the parser takes for a finite number; `float` takes more (0_1, digits of other scripts)."""

_PARSED_AS = {"tokens": [pa.string()], "binary": [pa.uint8(), pa.float64()], "points": [pa.float64()]}
"""Types that a text file's columns of data are tried as."""

csv_module.field_size_limit(sys.maxsize)  # a cell may be as long as the file


def csv(
    path: str | Path,
    kind: str,
    truth: str | int | None = None,
    header: str | bool = "auto",
    columns: Sequence[str | int] | str | int | None = None,
    drop: Sequence[str | int] | str | int | None = None,
    N: int | None = None,
) -> Dataset:
    """Read a table, one item per row.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv or .txt file (optionally .gz), .parquet or .npy.
    kind : {"tokens", "binary", "points"}
        ``tokens``: one column of tokens, any strings or integers. ``binary``: columns of 0 and 1. ``points``: columns
        of numbers.
    truth : str or int, optional
        Column of the true labels, by name or by number: 1 is the first, -1 the last.
    header : {"auto", True, False}
        Whether the first line of a text file names the columns. ``auto``: it does if it holds a name given as `truth`,
        in `columns` or in `drop`; for ``binary`` and ``points`` if it holds words and no number; for ``tokens`` if a
        cell is "token", "mention" or "word" (or the plural), or if it is the only token that is not a number.
    columns : sequence of str or int, optional
        Columns of the data, in this order, each as in `truth`; by default all but those of `truth` and `drop`.
    drop : sequence of str or int, optional
        Columns to leave out.
    N : int, optional
        Take the first N rows; all by default.

    Returns
    -------
    Dataset
        Tokens and true labels are coded in the order of their first appearance.

    Raises
    ------
    DataError
        The file is missing, empty or not readable as such; a row is ragged; a cell is empty, NaN, (``binary``) not 0
        or 1, or (``points``) no number of magnitude 1e30 at most; a quote is not closed; a column that is asked for is
        unknown, or two have its name; no column is left; N is larger than the number of rows.
    """
    require(kind in KINDS, "data.kind", kind, f"one of {', '.join(KINDS)}")
    header = {"true": True, "false": False}.get(str(header).lower(), header)
    require(header in ("auto", True, False), "data.header", header, "auto, true or false")
    require(N is None or N >= 1, "N", N, "at least 1")
    wanted = _Wanted(kind, truth, _listed("data.columns", columns), _listed("data.drop", drop) or [])
    require(wanted.columns != [], "data.columns", columns, "at least one column")
    require(not (columns and drop), "data.drop", drop, "null beside data.columns, which names all that are read")
    path = Path(path)
    if not os.path.isfile(path):
        raise DataError(f"{path}: no such file; expected a table ({FORMATS})")
    suffixes = [s.lower() for s in path.suffixes[-2:]]
    suffix = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) == 2 else "".join(suffixes[-1:])
    if suffix in DELIMITERS:
        table: _Table = _Text(path, wanted, header, DELIMITERS[suffix])
    elif suffix == ".parquet":
        table = _parquet(path)
    elif suffix == ".npy":
        table = _npy(path)
    else:
        raise DataError(f"{path}: unknown format '{suffix}'; expected one of {FORMATS}")
    return _dataset(table, wanted, N)


@dataclass(frozen=True)
class _Wanted:
    """What is read of a file, as the user says it."""

    kind: str
    truth: str | int | None
    columns: list[str | int] | None
    drop: list[str | int]

    @property
    def mentioned(self) -> list[str | int]:
        """Columns that are named or numbered anywhere."""
        return [*([] if self.truth is None else [self.truth]), *(self.columns or []), *self.drop]

    def resolve(self, table: "_Table", width: int) -> tuple[int | None, list[int]]:
        """Positions of the true labels and of the data among `width` columns."""
        labels = None if self.truth is None else _index(table, "data.truth", self.truth, width)
        if self.columns is not None:
            kept = [_index(table, "data.columns", column, width) for column in self.columns]
            for column, j in zip(self.columns, kept, strict=True):
                if j == labels or kept.count(j) > 1:
                    raise DataError(f"data.columns={column}: {table.path}: expected each column once, data.truth not")
        else:
            left_out = {_index(table, "data.drop", column, width) for column in self.drop} | {labels}
            kept = [j for j in range(width) if j not in left_out]
        if not kept:
            raise DataError(f"{table.path}: no column is left for the data; expected at least one")
        return labels, kept


def _listed(key: str, value: Sequence[str | int] | str | int | None) -> list[str | int] | None:
    """Columns as a list; one may stand without its brackets."""
    if value is None:
        return None
    listed = [value] if isinstance(value, str | int) else value
    good = isinstance(listed, Sequence) and all(isinstance(v, str | int) and not isinstance(v, bool) for v in listed)
    require(good, key, value, "names or numbers of columns, such as [x,y] or [1,2]")
    return list(listed)


class _Table:
    """Columns of a file, and where their rows are in it.

    Attributes
    ----------
    columns : list of pyarrow.Array or ChunkedArray
        One per column, all of one length.
    names : list of str or None
        Column names where the file has them.
    first : int
        Number of the first row of data, as messages count rows.
    """

    def __init__(self, path: Path, columns: list[pa.ChunkedArray], names: list[str] | None, first: int = 1) -> None:
        self.path, self.columns, self.names, self.first = path, columns, names, first

    def row(self, i: int) -> int:
        """Row number of item `i` as messages count it: the line of a text file."""
        return self.first + i

    def column(self, j: int) -> str:
        """Column `j` as messages name it."""
        return f"column {j + 1}" + (f" ('{self.names[j]}')" if self.names else "")

    def found(self, i: int, j: int) -> str:
        """The cell of item `i` in column `j` as messages show it."""
        value = self.columns[j][i].as_py()
        return _quoted("" if value is None else f"{value:g}" if isinstance(value, float) else str(value))

    def error(self, i: int, j: int, expected: str, found: str | None = None) -> DataError:
        found = self.found(i, j) if found is None else found
        return DataError(f"{self.path}: row {self.row(i)}, {self.column(j)}: {found}; expected {expected}")


class _Text(_Table):
    """A delimited text file; a cell in quotes may hold line breaks, so that a row is not always a line."""

    def __init__(self, path: Path, wanted: _Wanted, header: str | bool, delimiter: str) -> None:
        self.path, self.delimiter = path, delimiter
        try:
            data = path.read_bytes()
            if path.suffix.lower() == ".gz":
                data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path}: cannot be read: {error}") from error
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise DataError(f"{path}: row {line}: byte {data[error.start]:#04x}; expected UTF-8 text") from error
        self.data = data.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
        # quotes in the first line alone cannot hide a line break: such a file need not be read row by row
        self.quoted = self.data.rfind(b'"') > self.data.find(b"\n")
        if not self.data.strip():
            raise DataError(f"{path}: the file is empty; expected at least one row")
        top = [cells for _, cells in islice(self._lines(), 2)]
        named = self._has_header(top, wanted) if header == "auto" else bool(header)
        self.names = [cell.strip() for cell in top[0]] if named else None
        self.first = 1 + named
        rows = sum(1 for _ in self._lines()) - named if self.quoted else None
        if named and len(top) == 1:
            raise DataError(f"{path}: the file holds a header and no row of data; expected at least one row")
        width = len(top[0])
        kept = wanted.resolve(self, width)[1]
        # the parser's block must hold whole rows
        block = min(max(1 << 20, 4 * sum(map(len, top[0])) + 4 * width), 2**31 - 1)
        # numbers are read as bytes; a file that writes them as 0.0 and 1.0 fails and is read once more as floats
        for number in _PARSED_AS[wanted.kind]:
            types = dict.fromkeys(map(str, range(width)), pa.string()) | dict.fromkeys(map(str, kept), number)
            try:
                table = pyarrow.csv.read_csv(
                    pa.py_buffer(self.data),
                    read_options=pyarrow.csv.ReadOptions(
                        column_names=list(types), skip_rows_after_names=int(named), block_size=block
                    ),
                    parse_options=pyarrow.csv.ParseOptions(
                        delimiter=delimiter, ignore_empty_lines=False, newlines_in_values=self.quoted
                    ),
                    convert_options=pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False),
                )
                break
            except pa.ArrowInvalid as error:
                failure = error
        else:
            raise self._diagnose(width, kept, wanted.kind, failure)
        if rows not in (None, table.num_rows):
            raise DataError(f"{path}: {table.num_rows} rows or {rows}, as its quotes are read; expected one reading")
        self.columns = table.columns

    def row(self, i: int) -> int:
        if not self.quoted:
            return super().row(i)
        return self._line(i)[0]

    def found(self, i: int, j: int) -> str:
        # the parser takes an empty line for a row of empty cells
        return _quoted(next(islice(self._line(i)[1], j, None), ""))

    def _line(self, i: int) -> tuple[int, list[str]]:
        return next(islice(self._lines(), i + self.first - 1, None))

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Number of the first line and cells of each row."""
        text = StringIO(self.data.decode("utf-8"), newline="")
        reader = csv_module.reader(text, delimiter=self.delimiter, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader, None)
            except csv_module.Error as error:
                raise DataError(
                    f"{self.path}: row {line}: a quote that does not end its cell; expected quotes around whole cells"
                ) from error
            if cells is None:
                return
            yield line, cells or [""]

    def _has_header(self, top: list[list[str]], wanted: _Wanted) -> bool:
        head = [cell.strip() for cell in top[0]]
        if any(isinstance(column, str) and column in head for column in wanted.mentioned):
            return True
        # true labels, and columns that are not read, may be words: they do not tell
        chosen = self._positions(wanted.columns or [], len(head)) or set(range(len(head)))
        told = sorted(chosen - self._positions([wanted.truth, *wanted.drop], len(head)))
        if wanted.kind != "tokens":
            # an empty cell or a NaN is a faulty number, not a name
            words = [head[j] for j in told if not _is_number(head[j]) and head[j].lower() not in MISSING]
            if words and any(_is_number(head[j]) for j in told):
                raise DataError(
                    f"{self.path}: row 1: {_quoted(words[0])} beside numbers; expected names alone or numbers alone "
                    "(data.header=true or false says which)"
                )
            return bool(words)
        if HEADER_WORDS & {head[j].lower() for j in told}:
            return True
        if len(told) != 1 or len(top) == 1 or _is_number(head[told[0]]):
            return False
        rows = islice(self._lines(), 1, None)
        return all(_is_number(cells[told[0]]) for _, cells in rows if len(cells) == len(head))

    @staticmethod
    def _positions(columns: Sequence[str | int | None], width: int) -> set[int]:
        """Positions of the columns that are given as numbers of columns."""
        return {j for column in columns if (j := _position(column, width)) is not None}

    def _diagnose(self, width: int, kept: list[int], kind: str, failure: pa.ArrowInvalid) -> DataError:
        """What is wrong with the first row that does not fit."""
        for i, (line, cells) in enumerate(self._lines(), start=1 - self.first):
            if len(cells) != width:
                return DataError(f"{self.path}: row {line}: cells: {len(cells)}; expected {width}, as in row 1")
            for j in kept if kind != "tokens" and i >= 0 else []:
                if expected := _misfit(kind, cells[j]):
                    return self.error(i, j, expected, _quoted(cells[j]))
        return DataError(f"{self.path}: cannot be parsed: {failure}")


def _misfit(kind: str, cell: str) -> str | None:
    """What is expected in place of a cell of text; None if the cell is well."""
    number = NUMBER.fullmatch(cell.strip(" \t"))
    if kind == "binary":
        return None if number and float(cell) in (0, 1) else "0 or 1"
    if number:
        return None if abs(float(cell)) <= MAGNITUDE else FINITE
    parts = [part for part in re.split(r"[;\s]", cell) if part]
    if parts and all(NUMBER.fullmatch(part.replace(",", "")) for part in parts):
        if len(parts) > 1:
            return "a number (cells end with a comma in .csv, with a tab in .tsv and .txt)"
        return "a number with a decimal point and without commas"
    return "a number (data.columns and data.drop choose the columns)"


def _is_number(cell: str) -> bool:
    try:
        return not np.isnan(float(cell))
    except ValueError:
        return False


def _quoted(cell: str) -> str:
    short = cell if len(cell) <= 40 else f"{cell[:37]}..."
    return f"'{short}'" if cell.strip() else "an empty cell"


def _parquet(path: Path) -> _Table:
    try:
        table = pyarrow.parquet.read_table(path, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a readable parquet file: {error}") from error
    return _Table(path, [_unpacked(column) for column in table.columns], table.column_names)


def _unpacked(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in the plain type of its values: pandas' categories and views of strings are encodings."""
    if pa.types.is_dictionary(column.type):
        return _unpacked(pc.cast(column, column.type.value_type))
    return pc.cast(column, pa.large_string()) if pa.types.is_string_view(column.type) else column


def _npy(path: Path) -> _Table:
    try:
        array = np.load(path, allow_pickle=False)
        if not isinstance(array, np.ndarray):
            raise ValueError("it is an archive of arrays (.npz)")
    except Exception as error:  # a damaged header raises all kinds
        raise DataError(f"{path}: not a readable .npy file of plain numbers or strings: {error}") from error
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.ndim not in (1, 2):
        raise DataError(f"{path}: array of {array.ndim} dimensions; expected [N] or [N, columns]")
    matrix = array.reshape(len(array), -1) if len(array) else array.reshape(0, 1)
    try:
        columns = [pa.chunked_array([pa.array(np.ascontiguousarray(column))]) for column in matrix.T]
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{path}: array of {array.dtype}; expected numbers or strings") from error
    return _Table(path, columns, None)


def _index(table: _Table, key: str, column: str | int, width: int) -> int:
    """Position of a column, from its name or its number (1 the first, -1 the last)."""
    numbers = f"a number from 1 to {width} (-1: the last)"
    named = table.names.count(str(column)) if table.names else 0
    if named > 1:
        raise DataError(f"{key}={column}: {table.path} has {named} columns of that name; expected {numbers}")
    if table.names and named:
        return table.names.index(str(column))
    position = _position(column, width)
    if position is None:
        known = f"one of {', '.join(table.names)}, or " if table.names else ""
        raise DataError(f"{key}={column}: {table.path} has no such column; expected {known}{numbers}")
    return position


def _position(number: str | int | None, width: int) -> int | None:
    """Position 0 .. width - 1 of the column with that number; None if it is not the number of a column."""
    try:
        n = int(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return (n - 1 if n > 0 else width + n) if 1 <= abs(n) <= width else None


def _dataset(table: _Table, wanted: _Wanted, N: int | None) -> Dataset:
    columns = table.columns
    if not columns or not len(columns[0]):
        raise DataError(f"{table.path}: no rows or no columns; expected at least one of each")
    rows = len(columns[0])
    if N is not None:
        require(rows >= N, "N", N, f"at most {rows}, the number of rows of {table.path}")
        columns = [column.slice(0, N) for column in columns]
    t, kept = wanted.resolve(table, len(columns))
    labels = None if t is None else _codes(table, t, columns[t], "a true label")[0]
    meta = {"path": str(table.path), "rows": rows}
    name = table.path.name.split(".")[0]
    if wanted.kind == "tokens":
        if len(kept) != 1:
            rest = "" if t is None else " besides data.truth"
            raise DataError(
                f"{table.path}: {len(kept)} columns{rest}; expected 1 column of tokens (data.columns=[NAME])"
            )
        tokens, vocabulary = _codes(table, kept[0], columns[kept[0]], "a token")
        return Dataset(name, wanted.kind, tokens, labels, vocabulary=vocabulary, meta=meta)
    read, dtype = (_binary, np.uint8) if wanted.kind == "binary" else (_numbers, np.float64)
    x = np.empty((len(columns[0]), len(kept)), dtype=dtype)
    for d, j in enumerate(kept):
        x[:, d] = read(table, j, columns[j])
    names = [table.names[j] for j in kept] if table.names else None
    return Dataset(name, wanted.kind, x, labels, columns=names, meta=meta)


def _codes(table: _Table, j: int, column: pa.ChunkedArray, expected: str) -> tuple[NDArray[np.int32], list[str]]:
    """Codes of the cells of column `j`, by first appearance, and what they stand for."""
    if pa.types.is_floating(column.type):
        values = column.to_numpy().astype(np.float64)
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(values) < 2.0**63) | (values != np.round(values))
        if bad.any():
            i = int(np.argmax(bad))
            raise table.error(i, j, f"{expected}: a string or a 64-bit integer")
        column = pa.chunked_array([values.astype(np.int64)])
    elif not (
        pa.types.is_integer(column.type)
        or pa.types.is_string(column.type)
        or pa.types.is_large_string(column.type)
        or pa.types.is_boolean(column.type)
    ):
        raise DataError(f"{table.path}: {table.column(j)} holds {column.type}; expected strings or integers")
    encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    words = ["" if word is None else str(word) for word in encoded.dictionary.to_pylist()]
    codes = encoded.indices.to_numpy().astype(np.int32)
    for code, word in enumerate(words):
        if word.strip().lower() in MISSING:
            raise table.error(int(np.argmax(codes == code)), j, expected)
    return codes, words


def _binary(table: _Table, j: int, column: pa.ChunkedArray) -> NDArray[Any]:
    """Column `j`, checked to hold nothing but 0 and 1."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise DataError(f"{table.path}: {table.column(j)} holds {kind}; expected numbers, each 0 or 1")
    values = column.to_numpy()
    good = (values == 0) | (values == 1)
    if not good.all():
        raise table.error(int(np.argmin(good)), j, "0 or 1")
    return values


def _numbers(table: _Table, j: int, column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Column `j` as float64, checked to be finite and not too large to be squared."""
    kind = column.type
    types = pa.types
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
        raise DataError(
            f"{table.path}: {table.column(j)} holds {kind}; expected numbers (data.columns and data.drop choose)"
        )
    values = pc.cast(column, pa.float64(), safe=False).to_numpy()
    if (bad := first_not_finite(values)) is not None:
        raise table.error(bad, j, "a number" if np.isnan(values[bad]) else FINITE)
    return values
