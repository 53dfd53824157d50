"""Tables in files: delimited text (also gzipped), .parquet and .npy, and where their cells are.

A file is parsed by pyarrow or NumPy at full speed. Only when that fails, or finds a cell that does not fit, is a text
file read again line by line, to name the first offending row (line of the file, counted from 1) and column.
"""

import codecs
import csv as csv_module
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from io import BytesIO, TextIOWrapper
from itertools import islice, product, takewhile
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from splitmerge_cli.data.base import FINITE, MAGNITUDE, DataError, first_not_finite, place_not_finite, require
from splitmerge_cli.data.opening import CHUNK, GZIP, Limit, as_numbers, check_rows, content, header_of, readable

MISSING = {"", "nan"}  # compared in lower case, spaces stripped
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
"""What the parser takes for a finite number; `float` takes more (0_1, digits of other scripts)."""
WIDE = 1000
"""Columns from which on a text is parsed cell by cell, not column by column: each column costs the parser as much as
some hundred cells."""
COLUMN_BYTES = 100
"""Memory that a column takes, whatever it holds: its name and two cells as text."""
_BLOCK = 1 << 24
"""Bytes of a wide text that are parsed at the same time."""
MOST_COLUMNS = 10_000
"""Most columns of a list, of which few are read (edges, nodes, tokens of documents)."""
MOST_PARQUET = 200_000
"""Most columns of a .parquet file, each of which takes some 50 microseconds to open and read."""
_MORE = "; .csv and .npy hold more"
LISTED = 20
"""Names of columns that a message lists at most."""
PLAIN = re.compile(r"[-+]?\d+", re.ASCII)
"""A whole number, written without a point or an exponent."""
NAME = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
"""A whole number that may be the name of a column."""
NAMELESS = re.compile(r"(Unnamed: \d+(_level_\d+)?(\.\d+)?)?")
"""The name of a column that has none, as it is written, or as pandas writes it when it has read the table."""
INDEX = re.compile(r"__index_level_\d+__")
"""What pandas calls the numbers of the rows in a .parquet file, where they are a column."""
LOOKED_AT = 1000
LOOKED_AT_CELLS = 100_000
"""Rows below the first, and their cells, that are looked at to tell whether it names the columns."""

csv_module.field_size_limit(sys.maxsize)  # a cell may be as long as the file


class Table:
    """Columns of a file, and where their rows are in it.

    Attributes
    ----------
    columns : list of pyarrow.Array or ChunkedArray
        One per column, all of one length; empty arrays for columns that were not asked for.
    names : list of str or None
        Column names where the file has them.
    first : int
        Number of the first row of data, as messages count rows.
    notes : list of str
        What the user should know of how the table was read.
    """

    def __init__(self, path: Path, columns: list[pa.ChunkedArray], names: list[str] | None, first: int = 1) -> None:
        self.path, self.columns, self.names, self.first = path, columns, names, first
        self._positions: tuple[list[str], dict[str, list[int]]] | None = None
        self.notes: list[str] = []

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return max(map(len, self.columns), default=0)

    def take(self, rows: int | None) -> None:
        """Keep the first so many rows; None: all."""
        if rows is not None:
            self.columns = [column.slice(0, rows) for column in self.columns]

    def block(self, columns: Sequence[int]) -> NDArray[Any] | None:
        """Numbers ``[rows, columns]`` of some columns where the table has them as one array, else None."""
        return None

    def named(self, name: str) -> list[int]:
        """Positions of the columns of that name."""
        if self.names is None:
            return []
        if self._positions is None or self._positions[0] is not self.names:
            positions: dict[str, list[int]] = {}
            for j, known in enumerate(self.names):
                positions.setdefault(known, []).append(j)
            self._positions = self.names, positions
        return self._positions[1].get(name, [])

    def cells(self, j: int) -> pa.ChunkedArray:
        """Column `j`."""
        return self.columns[j]

    def unnamed(self) -> list[int]:
        """Columns that hold no data by default: the first ones where they have no name, and pandas' index."""
        names = self.names or []
        index = [j for j, name in enumerate(names) if INDEX.fullmatch(name)]
        # a table of one column holds nothing else
        leading = takewhile(lambda j: NAMELESS.fullmatch(names[j]) or j in index, range(len(names) - 1))
        return sorted({*leading, *index})

    def leave_out(self, unnamed: Collection[int], reads: str, ask: str) -> None:
        """Note which of the `unnamed` columns are left out.

        Parameters
        ----------
        unnamed : collection of int
            Some of the columns that `unnamed` tells.
        reads : str
            What would read them, for the notes.
        ask : str
            What says which columns are read, for messages; ``{n}`` stands for the number of the column.

        Raises
        ------
        DataError
            One that has no name does not number the rows, so that it may hold data.
        """
        for j in unnamed:
            if self.names and INDEX.fullmatch(self.names[j]):
                why = "is the index of pandas"
            elif (start := self.counts_from(j)) is not None:
                why = f"has no name and counts the rows from {start}"
            else:
                i = _first_uncounted(self.cells(j))
                raise DataError(
                    f"{self.path}: row {self.row(i)}, {self.column(j)}: {self.found(i, j)}: the column has no name and "
                    f"does not count the rows; expected {ask.format(n=j + 1)}"
                )
            self.notes.append(f"{self.path}: {self.column(j)} {why}: it is left out ({reads})")

    def counts_from(self, j: int) -> int | None:
        """0 or 1 if the cells of column `j` are 0, 1, 2, ... or 1, 2, 3, ...; None if they are not."""
        column = self.cells(j)
        return _counted_from(column) if len(column) else None

    def row(self, i: int) -> int:
        """Row number of item `i` as messages count it: the line of a text file."""
        return self.first + i

    def column(self, j: int) -> str:
        """Column `j` as messages name it."""
        return f"column {j + 1}" + (f" ('{self.names[j]}')" if self.names else "")

    def found(self, i: int, j: int) -> str:
        """The cell of item `i` in column `j` as messages show it."""
        value = self.cells(j)[i].as_py()
        return quoted("" if value is None else f"{value:g}" if isinstance(value, float) else str(value))

    def error(self, i: int, j: int, expected: str, found: str | None = None) -> DataError:
        """What is said of the cell of item `i` in column `j`, where something else was `expected`."""
        found = self.found(i, j) if found is None else found
        return DataError(f"{self.path}: row {self.row(i)}, {self.column(j)}: {found}; expected {expected}")


class Text(Table):
    """A delimited text file; a cell in quotes may hold line breaks, so that a row is not always a line.

    Parameters
    ----------
    path : Path
        The file, for messages.
    data : bytes
        Its rows, from `read_text`.
    delimiter : str
        What ends a cell.
    before : int
        Number of lines of the file before the rows.
    most : int, optional
        How many columns it may have; by default as many as memory holds.

    Attributes
    ----------
    top : list of list of str
        Cells of the first two rows.

    Raises
    ------
    DataError
        There is no row, or the first has too many cells.
    """

    def __init__(self, path: Path, data: bytes, delimiter: str, before: int = 0, most: int | None = None) -> None:
        super().__init__(path, [], None, 1 + before)
        self.data, self.delimiter, self.before = data, delimiter, before
        # quotes in the first line alone cannot hide a line break: such a file need not be read row by row
        self.quoted = self.data.rfind(b'"') > self.data.find(b"\n")
        if not self.data.strip():
            raise DataError(f"{path}: the file is empty; expected at least one row")
        end = self.data.find(b"\n")
        cells = self.data.count(delimiter.encode(), 0, len(self.data) if end < 0 else end) + 1
        check_rows(path, cells, COLUMN_BYTES, "columns")
        if most is not None and cells > most:
            raise DataError(f"{path}: row {self.first}: cells: {cells}; expected at most {most}")
        self._block: tuple[list[int], NDArray[Any]] | None = None
        self.top = [cells for _, cells in islice(self.lines(), 2)]

    @property
    def width(self) -> int:
        """Number of cells of the first row."""
        return len(self.top[0])

    def below(self) -> list[list[str]]:
        """Cells of the rows below the first: `LOOKED_AT` rows at most, of a wide table fewer, but three."""
        rows = min(LOOKED_AT, max(3, LOOKED_AT_CELLS // self.width))
        return [[cell.strip() for cell in cells] for _, cells in islice(self.lines(), 1, 1 + rows)]

    def other_delimiter(self) -> str | None:
        """What seems to end the cells of a table of one column: it stands as often in every row; None if nothing."""
        if self.width > 1:
            return None
        rows = [self.top[0][0], *(cells[0] for cells in self.below())]
        known = {";": "a semicolon", "\t": "a tab", ",": "a comma"}
        for end, what in known.items():
            if len(rows) > 1 and rows[0].count(end) and len({row.count(end) for row in rows}) == 1:
                return what
        return None

    def heads_index(self) -> bool:
        """Whether the first row begins with an empty cell, or pandas' name for one, above cells that count the rows."""
        head = [cell.strip() for cell in self.top[0]]
        if len(head) < 2 or len(self.top) < 2 or not NAMELESS.fullmatch(head[0]) or not any(head[1:]):
            return False
        first = [cells[0] for cells in self.below()]
        return any(first == [str(start + i) for i in range(len(first))] for start in (0, 1))

    def names_by_number(self, told: Sequence[int], binary: bool = False) -> bool:
        """Whether the first row, where it is of numbers alone, names the columns.

        It does if it counts them, from 0 (two columns or more) or from 1 (three or more), and cannot well be data: all
        cells below are written with a point or an exponent, or (`binary`) one of its own is neither 0 nor 1.

        Parameters
        ----------
        told : sequence of int
            Positions of the columns that are read.
        binary : bool
            Whether these hold nothing but 0 and 1.

        Raises
        ------
        DataError
            It may be either: it counts them so above other cells; or it holds whole numbers, each once, above rows that
            are written with a point in two columns or more (of one column: the number 0); or, where `binary`, such
            numbers that are neither 0 nor 1.
        """
        head = [self.top[0][j].strip() for j in told]
        if not head or not all(NAME.fullmatch(cell) for cell in head) or len(set(head)) < len(head):
            return False
        below = self.below()
        if not below or not all(len(cells) == self.width for cells in below):
            return False
        read = [[cells[j] for cells in below] for j in told]

        def fits(number: float) -> bool:
            return number in (0, 1) if binary else abs(number) <= MAGNITUDE

        good = all(NUMBER.fullmatch(cell) and fits(float(cell)) for cells in read for cell in cells)
        if not good:
            return False  # what is wrong with it is said when it is read
        pointed = sum(not any(PLAIN.fullmatch(cell) for cell in cells) for cells in read)
        # the columns of the file, or those that are read
        whole = [cell.strip() for cell in self.top[0]]
        counted = head if _counting(whole) is None else whole
        start = _counting(counted)
        faulty = binary and max(map(int, head)) > 1
        counts = start is not None and len(counted) > 1 + start
        if counts and (pointed == len(head) or faulty):
            self.notes.append(
                f"{self.path}: row {1 + self.before} counts the columns from {start}: it is read as their names "
                "(data.header=false reads it as data)"
            )
            return True
        plausible = pointed > (0 if head == ["0"] else 1) and len(below) > 1
        if counts or plausible or (faulty and len(head) > 1):
            raise self.asks()
        return False

    def counts_columns(self) -> bool:
        """Whether the first of three rows or more counts the columns, from 0 (of two or more) or from 1 (of three)."""
        start = _counting([cell.strip() for cell in self.top[0]])
        return start is not None and self.width > 1 + start and len(self.below()) > 1

    def asks(self) -> DataError:
        """What is said of a first row of numbers that may be data or names."""
        shown = ", ".join(cell.strip() for cell in self.top[0][:4]) + ", ..." * (self.width > 4)
        return DataError(
            f"{self.path}: row {1 + self.before}: {quoted(shown)} may name the columns or be the first row of data; "
            "expected data.header=true or false, which says which"
        )

    def take_header(self) -> None:
        """Take the first row for the names of the columns."""
        self.names = [cell.strip() for cell in self.top[0]]
        self.first = 2 + self.before

    def parse(
        self,
        kinds: Sequence[Mapping[int, pa.DataType]],
        misfit: Callable[[str], str | None] | None = None,
        columns: Sequence[int] | None = None,
    ) -> None:
        """Fill `columns`.

        Parameters
        ----------
        kinds : sequence of mapping of int to pyarrow.DataType
            Types of some columns, the others are strings; the first of these that all rows fit is taken.
        misfit : callable, optional
            What is expected in place of a cell of those columns; None if the cell is well.
        columns : sequence of int, optional
            The columns that are asked for; all by default.

        Raises
        ------
        DataError
            A ragged row, a cell that fits none of the types, or more cells than the limit (data.max_bytes) allows.
        """
        skipped = self.first - 1 - self.before
        rows = sum(1 for _ in self.lines()) - skipped if self.quoted else None
        # the parser's block must hold whole rows
        usual = min(max(1 << 20, 4 * sum(map(len, self.top[0])) + 4 * self.width), 2**31 - 1)
        whole = min(len(self.data) + 1, 2**31 - 1)
        failure: pa.ArrowInvalid | None = None
        asked = list(range(self.width) if columns is None else columns)
        for kind, block in product(kinds, (usual, whole)):
            if block > usual and "straddling" not in str(failure):
                continue
            types = {str(j): kind.get(j, pa.string()) for j in asked}
            self._check_cells(types.values())
            try:
                if self.width >= WIDE and (wide := self._cell_by_cell(kind, asked)):
                    found, self._block = wide
                    break
                table = _parsed(
                    self.data, self.delimiter, list(map(str, range(self.width))), types, skipped, block, self.quoted
                )
                found = dict(zip(asked, table.columns, strict=True))
                if rows not in (None, table.num_rows):
                    raise DataError(
                        f"{self.path}: {table.num_rows} rows or {rows}, as its quotes are read; expected one reading"
                    )
                break
            except pa.ArrowInvalid as error:
                failure = error
        else:
            raise self._diagnose(list(kinds[-1]), misfit, failure)
        empty = pa.chunked_array([], pa.string())
        self.columns = [found.get(j, empty) for j in range(self.width)]

    def _check_cells(self, types: Collection[pa.DataType]) -> None:
        """Refuse a text whose short cells take more memory than the limit once they are parsed."""
        each = sum(4 if kind == pa.string() else kind.bit_width // 8 for kind in types)
        lines = max(self.data.count(b"\n"), self.data.count(b"\r")) + 1
        Limit.now().check(self.path, lines * each, " as cells")

    def _cell_by_cell(
        self, kind: Mapping[int, pa.DataType], asked: list[int]
    ) -> tuple[dict[int, pa.ChunkedArray], tuple[list[int], NDArray[Any]]] | None:
        """The columns of strings, and the others as one array of numbers; None where that takes the parser's reading.

        Raises
        ------
        pyarrow.ArrowInvalid
            A ragged row, or a cell that does not fit.
        """
        numeric, words = [j for j in asked if j in kind], [j for j in asked if j not in kind]
        start = self.data.find(b"\n") + 1 if self.first - 1 > self.before else 0
        if not numeric or len(set(kind.values())) > 1 or self.data.find(b'"', start) >= 0:
            return None
        if self.data.count(b"\r") != self.data.count(b"\r\n"):
            return None
        delimiter, whole = self.delimiter.encode(), numeric == list(range(self.width))
        texts: dict[int, list[str]] = {j: [] for j in words}
        blocks = []
        for lines in _lines_in_blocks(self.data, start):
            cells = []
            for line in lines:
                if line.count(delimiter) + 1 != self.width:
                    raise pa.ArrowInvalid("a ragged row")
                if whole:
                    cells.append(line.replace(delimiter, b"\n"))
                    continue
                row = line.split(delimiter)
                cells.append(b"\n".join([row[j] for j in numeric]))
                for j in words:
                    texts[j].append(row[j].decode("utf-8"))
            data = b"\n".join([*cells, b""])
            block = min(max(1 << 20, len(data) + 1), 2**31 - 1)
            column = _parsed(data, self.delimiter, ["0"], {"0": kind[numeric[0]]}, 0, block).column(0).to_numpy()
            if len(column) != len(cells) * len(numeric):
                return None
            blocks.append(column.reshape(len(cells), len(numeric)))
        found = {j: pa.chunked_array([pa.array(words_of, pa.string())]) for j, words_of in texts.items()}
        return found, (numeric, np.concatenate(blocks))

    @property
    def rows(self) -> int:
        return super().rows if self._block is None else len(self._block[1])

    def take(self, rows: int | None) -> None:
        super().take(rows)
        if self._block is not None:
            self._block = self._block[0], self._block[1][:rows]

    def cells(self, j: int) -> pa.ChunkedArray:
        if self._block is not None and j in self._block[0]:
            kept, values = self._block
            return pa.chunked_array([np.ascontiguousarray(values[:, kept.index(j)])])
        return super().cells(j)

    def block(self, columns: Sequence[int]) -> NDArray[Any] | None:
        if self._block is None:
            return None
        kept, values = self._block
        if list(columns) == kept:
            return values
        at = {j: d for d, j in enumerate(kept)}
        return values[:, [at[j] for j in columns]]

    def row(self, i: int) -> int:
        if not self.quoted:
            return super().row(i)
        return self._line(i)[0]

    def found(self, i: int, j: int) -> str:
        # the parser takes an empty line for a row of empty cells
        return quoted(next(islice(self._line(i)[1], j, None), ""))

    def _line(self, i: int) -> tuple[int, list[str]]:
        return next(islice(self.lines(), i + self.first - 1 - self.before, None))

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        """Number of the first line and cells of each row."""
        # decoded as it is read: a text as a whole takes up to four times its bytes
        text = TextIOWrapper(BytesIO(self.data), "utf-8", newline="")
        reader = csv_module.reader(text, delimiter=self.delimiter, strict=True)
        while True:
            line = reader.line_num + 1 + self.before
            try:
                cells = next(reader, None)
            except csv_module.Error as error:
                raise DataError(
                    f"{self.path}: row {line}: a quote that does not end its cell; expected quotes around whole cells"
                ) from error
            if cells is None:
                return
            yield line, cells or [""]

    def _diagnose(
        self, kept: list[int], misfit: Callable[[str], str | None] | None, failure: pa.ArrowInvalid | None
    ) -> DataError:
        """What is wrong with the first row that does not fit."""
        top = self.before + 1
        for i, (line, cells) in enumerate(self.lines(), start=top - self.first):
            if len(cells) != self.width:
                hint = "" if self.delimiter != "," or ";" not in self.top[0][0] else " (a comma ends a cell, not ';')"
                return DataError(
                    f"{self.path}: row {line}: cells: {len(cells)}; expected {self.width}, as in row {top}{hint}"
                )
            for j in kept if misfit and i >= 0 else []:
                if misfit and (expected := misfit(cells[j])):
                    return self.error(i, j, expected, quoted(cells[j]))
        return DataError(f"{self.path}: cannot be parsed: {failure}")


def _lines_in_blocks(data: bytes, start: int) -> Iterator[list[bytes]]:
    """The lines of a text from a place on, in blocks of some 16 MiB, a line at least."""
    while start <= len(data):
        end = data.find(b"\n", min(start + _BLOCK, len(data)))
        end = len(data) if end < 0 else end
        yield data[start:end].replace(b"\r\n", b"\n").split(b"\n")
        start = end + 1


def _parsed(
    data: bytes,
    delimiter: str,
    names: list[str],
    types: Mapping[str, pa.DataType],
    skipped: int,
    block: int,
    quoted: bool = False,
) -> pa.Table:
    """The columns of `types` of a text; `names` are those of all."""
    return pyarrow.csv.read_csv(
        pa.py_buffer(data),
        read_options=pyarrow.csv.ReadOptions(column_names=names, skip_rows_after_names=skipped, block_size=block),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=delimiter, ignore_empty_lines=False, newlines_in_values=quoted
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types, strings_can_be_null=False, include_columns=list(types)
        ),
    )


def listed(names: Sequence[str]) -> str:
    """Names of columns as messages list them."""
    return ", ".join([*names[:LISTED], *(["..."] if len(names) > LISTED else [])])


def _counting(cells: Sequence[str]) -> int | None:
    """0 or 1 if the cells are 0, 1, 2, ... or 1, 2, 3, ...; None if they are not."""
    return next((start for start in (0, 1) if list(cells) == [str(start + i) for i in range(len(cells))]), None)


def _counted_from(column: pa.ChunkedArray) -> int | None:
    """The same of a column, which holds a cell at least."""
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    first, last = (str(column[i].as_py()).strip() for i in (0, -1))
    start = next((start for start in (0, 1) if _is(first, start) and _is(last, start + len(column) - 1)), None)
    if start is None:
        return None
    expected = pa.array(np.arange(start, start + len(column)))
    if text:
        same = pc.equal(pc.utf8_trim_whitespace(column), pc.cast(expected, column.type))
    else:
        same = pc.equal(pc.cast(column, pa.float64(), safe=False), pc.cast(expected, pa.float64()))
    return start if pc.all(same, skip_nulls=False).as_py() else None


def _first_uncounted(column: pa.ChunkedArray) -> int:
    """Position of the first cell that does not count the rows on from 0 or 1; 0 where there is no cell."""
    cells = [str(cell).strip() for cell in column.to_pylist()]
    start = next((start for start in (0, 1) if cells and _is(cells[0], start)), 0)
    return next((i for i, cell in enumerate(cells) if not _is(cell, start + i)), 0)


def _is(cell: str, number: int) -> bool:
    return cell in (str(number), f"{number}.0")


def suffix_of(path: Path) -> str:
    """Ending of a file's name in lower case, that of what is packed for a .gz; empty if there is none."""
    suffixes = [s.lower() for s in path.suffixes[-2:]]
    return suffixes[-2] if suffixes[-1:] == [GZIP] and len(suffixes) == 2 else "".join(suffixes[-1:])


def read_text(path: Path, encoding: str | None = None) -> bytes:
    """Content of a text file as UTF-8, unpacked if its name ends in .gz, without byte order mark and last line ends.

    Parameters
    ----------
    path : Path
        The file.
    encoding : str, optional
        How its text is encoded, by the key data.encoding; by default UTF-8.

    Raises
    ------
    DataError
        It cannot be read, holds more than the limit (data.max_bytes), or is not so encoded; with an `encoding`, the
        character 0 is in it.
    """
    data = content(path)
    try:
        if encoding is None or codecs.lookup(encoding).name == "utf-8":
            _check_utf8(data)
        else:
            data = data.decode(encoding).encode("utf-8")
            Limit.now().check(path, len(data), " in UTF-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        expected = "UTF-8 text" if encoding is None else f"text in {encoding} (data.encoding)"
        raise DataError(f"{path}: row {line}: byte {data[error.start]:#04x}; expected {expected}") from error
    except UnicodeError as error:
        raise DataError(f"{path}: {error}; expected text in {encoding} (data.encoding)") from error
    if encoding is not None and (null := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, null) + 1
        raise DataError(f"{path}: row {line}: byte 0x00; expected text in {encoding} (data.encoding)")
    return data.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")


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


def _check_utf8(data: bytes) -> None:
    """Raise a `UnicodeDecodeError` with its place in `data` unless they are UTF-8."""
    start, view = 0, memoryview(data)
    while start < len(data):
        end = start + CHUNK
        try:
            # a character that is cut is left to the next part
            start += codecs.utf_8_decode(view[start:end], "strict", end >= len(data))[1]
        except UnicodeDecodeError as error:
            raise UnicodeDecodeError("utf-8", data, start + error.start, start + error.end, error.reason) from None


def load_npy(path: Path, mapped_from: int | None = None) -> NDArray[Any]:
    """The array of an .npy file in the byte order of this machine.

    Parameters
    ----------
    path : Path
        The file.
    mapped_from : int, optional
        Bytes of a file from which on it is mapped, not read, if nothing of it must be copied; such an array cannot be
        written.

    Raises
    ------
    DataError
        The file is no .npy file of plain numbers or strings, or its array has more than two dimensions.
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
                Limit.now().check(path, as_numbers(shape, dtype), " as numbers")
                file.seek(0)
                array = np.lib.format.read_array(file, allow_pickle=False)
    except DataError:
        raise
    except Exception as error:  # a damaged header raises all kinds
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
        raise DataError(f"{path}: array of {array.dtype}; expected numbers or strings") from error
    return Table(path, columns, None)


def header_key(key: str, header: str | bool) -> str | bool:
    """An option auto, true or false, checked; ``auto`` or a bool."""
    header = {"true": True, "false": False}.get(str(header).lower(), header)
    require(header in ("auto", True, False), key, header, "auto, true or false")
    return header


def index(table: Table, key: str, column: str | int) -> int:
    """Position of a column, from its name or its number (1 the first, -1 the last); `key` asks for it."""
    width = table.width
    numbers = f"a number from 1 to {width} (-1: the last)"
    named = table.named(str(column))
    if len(named) > 1:
        raise DataError(f"{key}={column}: {table.path} has {len(named)} columns of that name; expected {numbers}")
    j = position(column, width)
    if named:
        k = named[0]
        if isinstance(column, int) and j is not None and j != k:
            raise DataError(
                f"{key}={column}: {table.path}: {table.column(k)} has that name, but {table.column(j)} that number; "
                f"expected '{column}' in quotes, the name, or {_other(column, width)}, the number from the other end"
            )
        return k
    if j is None:
        known = f"one of {listed(table.names)}, or " if table.names else ""
        raise DataError(f"{key}={column}: {table.path} has no such column; expected {known}{numbers}")
    return j


def _other(number: int, width: int) -> int:
    """The number of the same column, counted from the other end."""
    return number - width - 1 if number > 0 else number + width + 1


def position(number: str | int | None, width: int) -> int | None:
    """Position 0 .. width - 1 of the column with that number; None if it is not the number of a column."""
    try:
        n = int(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return (n - 1 if n > 0 else width + n) if 1 <= abs(n) <= width else None


def is_number(cell: str) -> bool:
    """Whether a cell of text is a number, an infinity among them."""
    try:
        return not np.isnan(float(cell))
    except ValueError:
        return False


def quoted(cell: str) -> str:
    """A cell as messages show it."""
    short = cell if len(cell) <= 40 else f"{cell[:37]}..."
    return f"'{short}'" if cell.strip() else "an empty cell"


def words(table: Table, j: int, expected: str) -> pa.ChunkedArray:
    """Column `j` as strings, whole numbers or truth values; floats that are whole numbers become these.

    Raises
    ------
    DataError
        Another type, or a float that is none; `expected` says what the column is for.
    """
    column = table.cells(j)
    if pa.types.is_floating(column.type):
        values = column.to_numpy().astype(np.float64)
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(values) < 2.0**63) | (values != np.round(values))
        if bad.any():
            i = int(np.argmax(bad))
            raise table.error(i, j, f"{expected}: a string or a 64-bit integer")
        return pa.chunked_array([values.astype(np.int64)])
    if not (
        pa.types.is_integer(column.type)
        or pa.types.is_string(column.type)
        or pa.types.is_large_string(column.type)
        or pa.types.is_boolean(column.type)
    ):
        raise DataError(f"{table.path}: {table.column(j)} holds {column.type}; expected strings or integers")
    return column


def codes(
    table: Table, j: int, expected: str, missing: Collection[str] = MISSING
) -> tuple[NDArray[np.int32], list[str]]:
    """Codes of the cells of column `j`, by first appearance, and what they stand for.

    Raises
    ------
    DataError
        As for `words`; a cell is one of the `missing`, by default empty or NaN.
    """
    encoded = pc.dictionary_encode(words(table, j, expected), null_encoding="encode").combine_chunks()
    distinct = ["" if word is None else str(word) for word in encoded.dictionary.to_pylist()]
    coded = encoded.indices.to_numpy().astype(np.int32)
    for code, word in enumerate(distinct):
        if word.strip().lower() in missing:
            raise table.error(int(np.argmax(coded == code)), j, expected)
    return coded, distinct


def numbers(table: Table, j: int, hint: str) -> NDArray[np.float64]:
    """Column `j` as float64, checked to be finite and of magnitude 1e30 at most.

    Raises
    ------
    DataError
        Another type (`hint` says which option chooses the columns); a NaN, or a number that is too large.
    """
    values = _as_numbers(table, j, hint)
    if (bad := first_not_finite(values)) is not None:
        raise table.error(bad, j, "a number" if np.isnan(values[bad]) else FINITE)
    return values


def _as_numbers(table: Table, j: int, hint: str) -> NDArray[np.float64]:
    """Column `j` as float64; raises as `numbers` for a column of another type."""
    column = table.cells(j)
    kind, types = column.type, pa.types
    if kind == pa.float64():
        return column.to_numpy()
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
        raise DataError(f"{table.path}: {table.column(j)} holds {kind}; expected numbers ({hint})")
    return pc.cast(column, pa.float64(), safe=False).to_numpy()


def matrix_of(table: Table, columns: Sequence[int], hint: str) -> NDArray[np.float64]:
    """Columns as float64 ``[rows, columns]``, checked as `numbers` checks one.

    Raises
    ------
    DataError
        As `numbers`; or they are more than the limit (data.max_bytes).
    """
    x = table.block(columns)
    if x is None:
        Limit.now().check(table.path, 8 * table.rows * len(columns), " as numbers")
        x = np.empty((table.rows, len(columns)))
        for d, j in enumerate(columns):
            x[:, d] = _as_numbers(table, j, hint)
    if (place := place_not_finite(x)) is not None:
        i, d = place
        raise table.error(i, columns[d], "a number" if np.isnan(x[place]) else FINITE)
    return x
