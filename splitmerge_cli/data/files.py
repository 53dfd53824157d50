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
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from splitmerge_cli.data.base import KINDS, DataError, Dataset, require

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
FORMATS = ".csv, .tsv, .txt (also .gz), .parquet, .npy"
HEADER_WORDS = {"token", "tokens", "mention", "mentions", "word", "words"}
MISSING = {"", "nan"}  # compared in lower case, spaces stripped
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
"""What the parser takes for a finite number; `float` takes more (0_1, digits of other scripts)."""

csv_module.field_size_limit(sys.maxsize)  # a cell may be as long as the file


def csv(
    path: str | Path,
    kind: str,
    truth: str | int | None = None,
    header: str | bool = "auto",
    N: int | None = None,
) -> Dataset:
    """Read a table, one item per row.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv or .txt file (optionally .gz), .parquet or .npy.
    kind : {"tokens", "binary"}
        ``tokens``: one column of tokens, any strings or integers. ``binary``: columns of 0 and 1.
    truth : str or int, optional
        Column of the true labels, by name or by number: 1 is the first, -1 the last.
    header : {"auto", True, False}
        Whether the first line of a text file names the columns. ``auto``: it does if it holds the name given as
        `truth`; for ``binary`` if a cell of it is not a number; for ``tokens`` if a cell is "token", "mention" or
        "word" (or the plural), or if it is the only token that is not a number.
    N : int, optional
        Take the first N rows; all by default.

    Returns
    -------
    Dataset
        Tokens and true labels are coded in the order of their first appearance.

    Raises
    ------
    DataError
        The file is missing, empty or not readable as such; a row is ragged; a cell is empty, NaN or (``binary``) not
        0 or 1; a quote is not closed; the truth column is unknown, or two columns have its name; N is larger than the
        number of rows.
    """
    require(kind in KINDS, "data.kind", kind, f"one of {', '.join(KINDS)}")
    header = {"true": True, "false": False}.get(str(header).lower(), header)
    require(header in ("auto", True, False), "data.header", header, "auto, true or false")
    require(N is None or N >= 1, "N", N, "at least 1")
    path = Path(path)
    if not os.path.isfile(path):
        raise DataError(f"{path}: no such file; expected a table ({FORMATS})")
    suffixes = [s.lower() for s in path.suffixes[-2:]]
    suffix = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) == 2 else "".join(suffixes[-1:])
    if suffix in DELIMITERS:
        table: _Table = _Text(path, kind, truth, header, DELIMITERS[suffix])
    elif suffix == ".parquet":
        table = _parquet(path)
    elif suffix == ".npy":
        table = _npy(path)
    else:
        raise DataError(f"{path}: unknown format '{suffix}'; expected one of {FORMATS}")
    return _dataset(table, kind, truth, N)


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

    def error(self, i: int, j: int, found: str, expected: str) -> DataError:
        return DataError(f"{self.path}: row {self.row(i)}, {self.column(j)}: {found}; expected {expected}")


class _Text(_Table):
    """A delimited text file; a cell in quotes may hold line breaks, so that a row is not always a line."""

    def __init__(self, path: Path, kind: str, truth: str | int | None, header: str | bool, delimiter: str) -> None:
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
        named = self._has_header(top, kind, truth) if header == "auto" else bool(header)
        self.names = [cell.strip() for cell in top[0]] if named else None
        self.first = 1 + named
        rows = sum(1 for _ in self._lines()) - named if self.quoted else None
        if named and len(top) == 1:
            raise DataError(f"{path}: the file holds a header and no row of data; expected at least one row")
        width = len(top[0])
        labels = None if truth is None else _truth_index(self, truth, width)
        # the parser's block must hold whole rows
        block = min(max(1 << 20, 4 * sum(map(len, top[0])) + 4 * width), 2**31 - 1)
        # numbers are read as bytes; a file that writes them as 0.0 and 1.0 fails and is read once more as floats
        for number in [pa.uint8(), pa.float64()] if kind == "binary" else [pa.string()]:
            types = {str(j): pa.string() if j == labels else number for j in range(width)}
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
            raise self._diagnose(width, labels, kind, failure)
        if rows not in (None, table.num_rows):
            raise DataError(f"{path}: {table.num_rows} rows or {rows}, as its quotes are read; expected one reading")
        self.columns = table.columns

    def row(self, i: int) -> int:
        if not self.quoted:
            return super().row(i)
        return next(islice(self._lines(), i + self.first - 1, None))[0]

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

    def _has_header(self, top: list[list[str]], kind: str, truth: str | int | None) -> bool:
        head = [cell.strip() for cell in top[0]]
        if isinstance(truth, str) and truth in head:
            return True
        # true labels may be words: their column does not tell
        skip = _position(truth, len(head))
        told = [j for j in range(len(head)) if j != skip]
        if kind == "binary":
            # an empty cell or a NaN is a faulty number, not a name
            return any(not _is_number(head[j]) and head[j].lower() not in MISSING for j in told)
        if HEADER_WORDS & {head[j].lower() for j in told}:
            return True
        if len(told) != 1 or len(top) == 1 or _is_number(head[told[0]]):
            return False
        rows = islice(self._lines(), 1, None)
        return all(_is_number(cells[told[0]]) for _, cells in rows if len(cells) == len(head))

    def _diagnose(self, width: int, labels: int | None, kind: str, failure: pa.ArrowInvalid) -> DataError:
        """What is wrong with the first row that does not fit."""
        for i, (line, cells) in enumerate(self._lines(), start=1 - self.first):
            if len(cells) != width:
                return DataError(f"{self.path}: row {line}: cells: {len(cells)}; expected {width}, as in row 1")
            if kind != "binary" or i < 0:
                continue
            for j, cell in enumerate(cells):
                if j != labels and not (NUMBER.fullmatch(cell.strip()) and float(cell) in (0, 1)):
                    return self.error(i, j, _quoted(cell), "0 or 1")
        return DataError(f"{self.path}: cannot be parsed: {failure}")


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
        table = pyarrow.parquet.read_table(path)
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
    except (ValueError, EOFError, OSError, BadZipFile) as error:
        raise DataError(f"{path}: not a readable .npy file of plain numbers or strings: {error}") from error
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.ndim not in (1, 2):
        raise DataError(f"{path}: array of {array.ndim} dimensions; expected [N] or [N, columns]")
    matrix = array.reshape(len(array), -1) if len(array) else array.reshape(0, 1)
    try:
        columns = [pa.chunked_array([pa.array(np.ascontiguousarray(column))]) for column in matrix.T]
    except pa.ArrowException as error:
        raise DataError(f"{path}: array of {array.dtype}; expected numbers or strings") from error
    return _Table(path, columns, None)


def _truth_index(table: _Table, truth: str | int, width: int) -> int:
    """Position of the truth column, from its name or its number (1 the first, -1 the last)."""
    numbers = f"a number from 1 to {width} (-1: the last)"
    named = table.names.count(str(truth)) if table.names else 0
    if named > 1:
        raise DataError(f"data.truth={truth}: {table.path} has {named} columns of that name; expected {numbers}")
    if table.names and named:
        return table.names.index(str(truth))
    position = _position(truth, width)
    if position is None:
        known = f"one of {', '.join(table.names)}, or " if table.names else ""
        raise DataError(f"data.truth={truth}: {table.path} has no such column; expected {known}{numbers}")
    return position


def _position(number: str | int | None, width: int) -> int | None:
    """Position 0 .. width - 1 of the column with that number; None if it is not the number of a column."""
    try:
        n = int(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return (n - 1 if n > 0 else width + n) if 1 <= abs(n) <= width else None


def _dataset(table: _Table, kind: str, truth: str | int | None, N: int | None) -> Dataset:
    columns = list(table.columns)
    if not columns or not len(columns[0]):
        raise DataError(f"{table.path}: no rows; expected at least one")
    rows = len(columns[0])
    if N is not None:
        require(rows >= N, "N", N, f"at most {rows}, the number of rows of {table.path}")
        columns = [column.slice(0, N) for column in columns]
    labels = None
    kept = list(range(len(columns)))
    if truth is not None:
        t = _truth_index(table, truth, len(columns))
        labels, _ = _codes(table, t, columns[t], "a true label")
        kept.remove(t)
    meta = {"path": str(table.path), "rows": rows}
    name = table.path.name.split(".")[0]
    if kind == "tokens":
        if len(kept) != 1:
            rest = "" if truth is None else " besides data.truth"
            raise DataError(f"{table.path}: {len(kept)} columns{rest}; expected 1 column of tokens")
        tokens, vocabulary = _codes(table, kept[0], columns[kept[0]], "a token")
        return Dataset(name, kind, tokens, labels, vocabulary=vocabulary, meta=meta)
    if not kept:
        raise DataError(f"{table.path}: no column besides data.truth; expected columns of 0 and 1")
    x = np.empty((len(columns[0]), len(kept)), dtype=np.uint8)
    for d, j in enumerate(kept):
        _binary(table, j, columns[j], x[:, d])
    return Dataset(name, kind, x, labels, columns=[table.names[j] for j in kept] if table.names else None, meta=meta)


def _codes(table: _Table, j: int, column: pa.ChunkedArray, expected: str) -> tuple[NDArray[np.int32], list[str]]:
    """Codes of the cells of column `j`, by first appearance, and what they stand for."""
    if pa.types.is_floating(column.type):
        values = column.to_numpy().astype(np.float64)
        bad = ~(np.abs(values) < 2.0**63) | (values != np.round(values))
        if bad.any():
            i = int(np.argmax(bad))
            raise table.error(i, j, f"{values[i]}", f"{expected}: a string or a 64-bit integer")
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
            raise table.error(int(np.argmax(codes == code)), j, _quoted(word), expected)
    return codes, words


def _binary(table: _Table, j: int, column: pa.ChunkedArray, out: NDArray[np.uint8]) -> None:
    """Write column `j`, checked to hold nothing but 0 and 1, to `out`."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise DataError(f"{table.path}: {table.column(j)} holds {kind}; expected numbers, each 0 or 1")
    values = column.to_numpy()
    good = (values == 0) | (values == 1)
    if not good.all():
        i = int(np.argmin(good))
        missing = column[i].as_py() is None or values[i] != values[i]
        raise table.error(i, j, "empty or NaN" if missing else f"'{values[i]:g}'", "0 or 1")
    out[:] = values
