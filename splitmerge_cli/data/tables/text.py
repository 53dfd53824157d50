"""Tables in delimited text files.

A file is parsed by pyarrow at full speed. Only when that fails, or finds a cell that does not fit, is it read again
line by line, to name the first offending row (line of the file, counted from 1) and column.
"""

import csv as csv_module
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from io import BytesIO, TextIOWrapper
from itertools import islice, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from splitmerge_cli.data.arrow import array_of, numbers_of
from splitmerge_cli.data.opening import Limit, check_rows
from splitmerge_cli.data.tables.table import COLUMN_BYTES, EXACT, NAMELESS, NUMBER, WRITTEN, Table, long_digits, quote
from splitmerge_cli.data.values import MAGNITUDE, blocks
from splitmerge_cli.received import DataError

_ENDS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
WIDE = 1000
"""Columns from which on a text is parsed cell by cell, not column by column: each column costs the parser as much as
some hundred cells."""
_BLOCK = 1 << 24
"""Bytes of a wide text that are parsed at the same time."""
FOOTNOTES = 10
"""Rows at the end that may be footnotes."""
PLAIN = re.compile(r"[-+]?\d+", re.ASCII)
"""A whole number, written without a point or an exponent."""
NAME = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
"""A whole number that may be the name of a column."""
MOST_TOP, LOOKED_AT_LEAST = 3, 10
"""Rows that are needed to tell a second row of names, and to tell that a row of numbers may be names."""
TYPES = {"c", "d", "s", "t", "continuous", "discrete", "string", "time"}
ROLES = {"", "class", "meta", "ignore", "weight", "c", "m", "i", "w"}
"""Types and roles of columns that Orange writes below their names."""
LOOKED_AT = 1000
LOOKED_AT_CELLS = 100_000
"""Rows below the first, and their cells, that are looked at to tell whether it names the columns."""

csv_module.field_size_limit(sys.maxsize)  # a cell may be as long as the file


class Text(Table):
    """A delimited text file; a cell in quotes may hold line breaks, so that a row is not always a line.

    `data` are its rows, from `read_text`, `before` is the number of lines above them, `most` limits the columns, which
    are else as many as memory holds. `top` holds the cells of the first two rows. Raises a `DataError` if there is
    no row, or the first has too many cells.
    """

    def __init__(
        self,
        path: Path,
        data: bytes,
        delimiter: str,
        before: int = 0,
        most_cells: int | None = None,
        decimal: str = ".",
    ) -> None:
        super().__init__(path, [], None, 1 + before)
        self.data, self.delimiter, self.before, self.decimal = data, delimiter, before, decimal
        # quotes in the first line alone cannot hide a line break: such a file need not be read row by row
        self.quoted = self.data.rfind(b'"') > self.data.find(b"\n")
        if not self.data.strip():
            raise DataError(f"{path}: the file is empty; expected at least one row")
        end = self.data.find(b"\n")
        cells = self.data.count(delimiter.encode(), 0, len(self.data) if end < 0 else end) + 1
        check_rows(path, cells, COLUMN_BYTES, "columns")
        if most_cells is not None and cells > most_cells:
            raise DataError(f"{path}: row {self.first}: cells: {cells}; expected at most {most_cells}")
        self._block: tuple[dict[int, int], NDArray[Any]] | None = None
        self._numbers = list[int]()
        self.top = [cells for _, cells in islice(self.lines(), 2)]

    @property
    def width(self) -> int:
        """Number of cells in the first row."""
        return len(self.top[0])

    def rows_below(self) -> list[list[str]]:
        """Cells of the rows below the first: `LOOKED_AT` rows at most, of a wide table fewer, but three."""
        rows = min(LOOKED_AT, max(3, LOOKED_AT_CELLS // self.width))
        return [[cell.strip() for cell in cells] for _, cells in islice(self.lines(), 1, 1 + rows)]

    def number(self, cell: str) -> str:
        """A cell as a number is written with a decimal point."""
        return cell if self.decimal == "." or "." in cell else cell.replace(self.decimal, ".")

    def blank(self) -> list[int]:
        if self.names is None or not any(NAMELESS.fullmatch(name) for name in self.names):
            return []
        below = self.rows_below()
        nameless = [j for j, name in enumerate(self.names) if NAMELESS.fullmatch(name)]
        return [j for j in nameless if not any(cells[j] for cells in below if j < len(cells))]

    def other_delimiter(self) -> str | None:
        """A character in a table of one column that may end its cells, as often in every row; None without one."""
        if self.width > 1:
            return None
        rows = [self.top[0][0], *(cells[0] for cells in self.rows_below())]
        for end, noun in _ENDS.items():
            if len(rows) > 1 and rows[0].count(end) and len({row.count(end) for row in rows}) == 1:
                return noun
        return None

    def heads_index(self) -> bool:
        """Whether the first row begins with an empty cell, or pandas' name for one, above cells that count the rows."""
        head = [cell.strip() for cell in self.top[0]]
        if len(head) < 2 or len(self.top) < 2 or not NAMELESS.fullmatch(head[0]) or not any(head[1:]):
            return False
        return _count_start([cells[0] for cells in self.rows_below()]) is not None

    def names_by_number(self, positions: Sequence[int], binary: bool = False) -> bool:
        """Whether the first row, where it is of numbers alone, names the columns, as docs/files.md, "The first line",
        says; a `DataError` where it may be either. `positions`: the columns that are read; `binary`: the data are
        nothing but 0 and 1."""
        head = [self.top[0][j].strip() for j in positions]
        if not head or not all(NAME.fullmatch(cell) for cell in head) or len(set(head)) < len(head):
            return False
        below = self.rows_below()
        if not below or not all(len(cells) == self.width for cells in below):
            return False
        read = [[cells[j] for cells in below] for j in positions]

        def fits(number: float) -> bool:
            return number in (0, 1) if binary else abs(number) <= MAGNITUDE

        numbers = [self.number(cell) for cells in read for cell in cells]
        if not all(NUMBER.fullmatch(number) and fits(float(number)) for number in numbers):
            return False  # reading it reports what is wrong
        pointed = sum(not any(PLAIN.fullmatch(cell) for cell in cells) for cells in read)
        # the columns of the file, or those that are read
        whole = [cell.strip() for cell in self.top[0]]
        counted = head if _count_start(whole) is None else whole
        start = _count_start(counted)
        faulty = binary and max(map(int, head)) > 1
        counts = start is not None and len(counted) > 1 + start
        if counts and (pointed == len(head) or faulty):
            as_names = "it is read as their names (data.header=false reads it as data)"
            self.note(f"row {1 + self.before} counts the columns from {start}: {as_names}")
            return True
        steps = {int(later) - int(earlier) for earlier, later in pairwise(head)}
        columns = ([float(self.number(cell)) for cell in cells] for cells in read)
        pairs = zip(map(int, head), columns, strict=True)
        below_or_above = all(max(held) < name or name < min(held) for name, held in pairs)
        if len(head) > 2 and len(steps) == 1 and min(steps) > 0 and pointed == len(head) and below_or_above:
            self.note(
                f"row {1 + self.before}: its numbers, {head[0]} to {head[-1]} in equal steps, lie outside what "
                "the rows below hold: they are read as names of columns (data.header=false reads them as data)"
            )
            return True
        plausible = pointed > (0 if head == ["0"] else 1) and len(below) > 1
        if counts or plausible or (faulty and len(head) > 1):
            raise self.header_error()
        return False

    def counts_columns(self) -> bool:
        """Whether the first of three rows or more counts the columns, from 0 (of two or more) or from 1 (of three)."""
        start = _count_start([cell.strip() for cell in self.top[0]])
        return start is not None and self.width > 1 + start and len(self.rows_below()) > 1

    def header_error(self) -> DataError:
        """Build the error for a first row of numbers that may be data or names."""
        shown = ", ".join(cell.strip() for cell in self.top[0][:4]) + ", ..." * (self.width > 4)
        problem = f"{quote(shown)} may name the columns or be the first row of data"
        return DataError(f"{self.path}: row {1 + self.before}: {problem}; expected data.header=true or false")

    def take_header(self, rows: int = 1) -> None:
        """Take the first row, or two, for the names of the columns; an empty cell of the first is as the one before."""
        self.names = [cell.strip() for cell in self.top[0]]
        self.first = 1 + rows + self.before
        if rows > 1:
            group, second = "", [cell.strip() for cell in self.top[1]]
            for j, (above, name) in enumerate(zip(self.names, second, strict=True)):
                group = above or group
                self.names[j] = name if group == name else f"{group} {name}".strip() if name else above
            below = self.rows_below()
            self.first += len(below) > 1 and not any(below[1])  # pandas writes an empty row there
            shown = ", ".join(map(quote, filter(None, self.names[:4]))) + ", ..." * (self.width > 4)
            rows_text = f"rows {1 + self.before} and {2 + self.before} name the columns together, as {shown}"
            self.note(f"{rows_text} (data.header=true takes the first alone)")

    def has_two_headers(self) -> bool:
        """Whether the second row holds words above numbers, and no number, as a second row of names does."""
        below = self.rows_below()
        if len(below) < MOST_TOP or not all(len(cells) == self.width for cells in below[:MOST_TOP]):
            return False
        second = [(j, cell) for j, cell in enumerate(below[0]) if cell]
        if any(self.is_number(cell) or cell in WRITTEN for _, cell in second):
            return False
        columns = [(j, name, [row[j] for row in below[1:] if len(row) == self.width]) for j, name in second]
        above_numbers = [
            j
            for j, name, cells in columns
            # cells such as n.a. may stand among the numbers
            if name not in cells and 2 * sum(self.is_number(cell) or cell in WRITTEN for cell in cells) > len(cells)
        ]
        return 2 * len(above_numbers) > len(second) and any(self.top[0][j].strip() for j in above_numbers)

    def is_number(self, cell: str) -> bool:
        """Whether a cell is a number, perhaps with a currency or a percent sign."""
        return NUMBER.fullmatch(self.number(cell)) is not None or self.is_decorated(cell)

    def has_roles_below(self) -> bool:
        """Whether the two rows below the names hold types and roles of the columns, as Orange writes them.

        A type is one of `TYPES`, nothing, or a list of values; a role is one of `ROLES`, nothing, or KEY=VALUE.
        """
        below = self.rows_below()
        if len(below) < MOST_TOP:
            return False
        types, roles = below[0], below[1]
        typed = sum(cell in TYPES for cell in types)
        listed = all(cell in TYPES or not cell or " " in cell for cell in types)
        return 0 < typed >= len(types) / 2 and listed and all(cell in ROLES or "=" in cell for cell in roles)

    def has_title(self) -> bool:
        """Whether the first row holds a word in its first cell alone, or nothing, and a row soon below holds more."""
        rows = [self.top[0], *self.rows_below()[:MOST_TOP]]
        filled = [[j for j, cell in enumerate(cells) if cell.strip()] for cells in rows]
        title = self.top[0][0].strip()
        is_word = "\n" not in title and not NUMBER.fullmatch(self.number(title))
        holds_more = any(len(places) > 1 or (self.width > 2 and places not in ([], [0])) for places in filled[1:])
        return is_word and self.width > 1 and filled[0] in ([], [0]) and holds_more

    def leave_out_title(self) -> None:
        """Leave out the first row, and note that."""
        row, title = 1 + self.before, quote(self.top[0][0])
        self.note(f"row {row}: {title} is left out as a title (data.header=true reads it as a name)")
        self.data = self.data[self.data.find(b"\n") + 1 :]
        self.before, self.first = self.before + 1, self.first + 1
        self.top = [cells for _, cells in islice(self.lines(), 2)]

    def is_shorter(self) -> bool:
        """Whether the first row, of numbers alone, is written with fewer letters than all rows below, as names are."""
        below = self.rows_below()
        head = [cell.strip() for cell in self.top[0]]
        is_of_numbers = all(NUMBER.fullmatch(self.number(cell)) for cell in head)
        least = min((len("".join(cells)) for cells in below), default=0)
        return len(below) > LOOKED_AT_LEAST and is_of_numbers and len("".join(head)) < least

    def parse(
        self,
        kinds: Sequence[Mapping[int, pa.DataType]],
        misfit: Callable[[str], str | None] | None = None,
        columns: Sequence[int] | None = None,
        missing: Sequence[str] | None = None,
    ) -> None:
        """Fill `columns`, or those that are asked for. `kinds` are types of some columns, the others are strings; the
        first of these that all rows fit is taken. `misfit` says what is expected in place of a cell of those columns,
        None if the cell is well. Cells of columns of numbers become null where they are `missing`, by default what
        pyarrow takes for that."""
        skipped = self.first - 1 - self.before
        rows = sum(1 for _ in self.lines()) - skipped if self.quoted else None
        # the parser's block must hold whole rows
        usual = min(max(1 << 20, 4 * sum(map(len, self.top[0])) + 4 * self.width), 2**31 - 1)
        whole = min(len(self.data) + 1, 2**31 - 1)
        failure: pa.ArrowInvalid | None = None
        columns_asked = list(range(self.width) if columns is None else columns)
        for kind, block in product(kinds, (usual, whole)):
            if block > usual and "straddling" not in str(failure):
                continue
            types = {str(j): kind.get(j, pa.string()) for j in columns_asked}
            # short cells may take more memory than the limit once they are parsed
            each = sum(4 if one == pa.string() else one.bit_width // 8 for one in types.values())
            lines = max(self.data.count(b"\n"), self.data.count(b"\r")) + 1
            Limit.current().check(self.path, lines * each, " as cells")
            try:
                if self.width >= WIDE and (wide := self._cell_by_cell(kind, columns_asked, missing)):
                    parsed, self._block = wide
                    break
                table = self._parse(self.data, self.width, types, block, skipped, missing, self.quoted)
                parsed = dict(zip(columns_asked, table.columns, strict=True))
                if rows not in (None, table.num_rows):
                    problem = f"{table.num_rows} rows or {rows}, depending on how its quotes are read"
                    raise DataError(f"{self.path}: {problem}; expected quotes with one reading")
                break
            except pa.ArrowInvalid as error:
                failure = error
        else:
            raise self.diagnosis(list(kinds[-1]), misfit, failure)
        empty = pa.chunked_array([], pa.string())
        self.columns = [parsed.get(j, empty) for j in range(self.width)]

    def _parse(
        self,
        data: bytes,
        width: int,
        types: Mapping[str, pa.DataType],
        block: int,
        skipped: int,
        missing: Sequence[str] | None,
        quoted: bool = False,
    ) -> pa.Table:
        """Parse the columns, called by their positions, that `types` names."""
        names = list(map(str, range(width)))
        return pyarrow.csv.read_csv(
            pa.py_buffer(data),
            pyarrow.csv.ReadOptions(column_names=names, skip_rows_after_names=skipped, block_size=block),
            pyarrow.csv.ParseOptions(delimiter=self.delimiter, ignore_empty_lines=False, newlines_in_values=quoted),
            pyarrow.csv.ConvertOptions(
                column_types=types,
                strings_can_be_null=False,
                null_values=missing,
                include_columns=list(types),
                decimal_point=self.decimal,
            ),
        )

    def _cell_by_cell(
        self, kind: Mapping[int, pa.DataType], columns_asked: list[int], missing: Sequence[str] | None
    ) -> tuple[dict[int, pa.ChunkedArray], tuple[dict[int, int], NDArray[Any]]] | None:
        """The columns of strings, and the others as one array of numbers; None if that takes the parser's reading."""
        numeric, words = [j for j in columns_asked if j in kind], [j for j in columns_asked if j not in kind]
        start = 0
        for _ in range(self.first - 1 - self.before):
            start = self.data.find(b"\n", start) + 1
        if (
            not numeric
            or len(set(kind.values())) > 1
            or kind[numeric[0]] == pa.string()
            or self.data.find(b'"', start) >= 0
            or self.data.count(b"\r") != self.data.count(b"\r\n")
        ):
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
            column = numbers_of(self._parse(data, 1, {"0": kind[numeric[0]]}, block, 0, missing).column(0), np.nan)
            if len(column) != len(cells) * len(numeric):
                return None
            blocks.append(column.reshape(len(cells), len(numeric)))
        arrays = {j: pa.chunked_array([array_of(words_of, pa.string())]) for j, words_of in texts.items()}
        return arrays, ({j: d for d, j in enumerate(numeric)}, np.concatenate(blocks))

    @property
    def rows(self) -> int:
        return super().rows if self._block is None else len(self._block[1])

    def take(self, rows: int | None) -> None:
        super().take(rows)
        if self._block is not None:
            self._block = self._block[0], self._block[1][:rows]

    def cells(self, j: int) -> pa.ChunkedArray:
        if self._block is not None and j in self._block[0]:
            place, values = self._block
            return pa.chunked_array([array_of(values[:, place[j]])])
        return super().cells(j)

    def block(self, columns: Sequence[int]) -> NDArray[Any] | None:
        if self._block is None:
            return None
        place, values = self._block
        if list(columns) == list(place):
            return values
        return values[:, [place[j] for j in columns]]

    def long_digits(self, j: int, also: Sequence[str | int | float] = ()) -> pa.ChunkedArray | None:
        if self._block is not None and not self._holds_large and j in self._block[0]:
            return None
        column = self.cells(j)
        if not pa.types.is_floating(column.type):
            return long_digits(column, also)
        ends = pc.min_max(column).as_py()
        if max(-(ends["min"] or 0.0), ends["max"] or 0.0) < EXACT or not self._has_long_digits:
            return None
        # numbers were parsed as such
        whole, skipped = min(len(self.data) + 1, 2**31 - 1), self.first - 1 - self.before
        written = self._parse(self.data, self.width, {str(j): pa.string()}, whole, skipped, None, self.quoted)
        return long_digits(written.column(0).slice(0, len(column)), also)

    @cached_property
    def _holds_large(self) -> bool:
        """Whether the one array of numbers has one beyond those that are all float64: columns need a look each."""
        return self._block is None or any((np.abs(part) >= EXACT).any() for _, part in blocks(self._block[1]))

    @cached_property
    def _has_long_digits(self) -> bool:
        """Whether a whole number of 16 digits stands anywhere: without one, no column is parsed again."""
        return re.search(rb"(?<![\d.])\d{16,}(?![\d.eE])", self.data) is not None

    def row(self, i: int) -> int:
        if not self.quoted:
            return super().row(i)
        # as far as it was asked for: a quote that is not closed may stand below
        at = self._position(i)
        self._numbers += [line for line, _ in islice(self._lines_left, at + 1 - len(self._numbers))]
        return self._numbers[at]

    @cached_property
    def _lines_left(self) -> Iterator[tuple[int, list[str]]]:
        """The rows whose numbers nobody asked for yet; before them stand `_numbers`."""
        return self.lines()

    def show_cell(self, i: int, j: int) -> str:
        # the parser takes an empty line for a row of empty cells
        _, cells = next(islice(self.lines(), self._position(i), None))
        return quote(next(islice(cells, j, None), ""))

    def _position(self, i: int) -> int:
        return i + self.first - 1 - self.before

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
                problem = f"row {line}: a quote that does not end its cell"
                raise DataError(f"{self.path}: {problem}; expected quotes around whole cells") from error
            if cells is None:
                return
            yield line, cells or [""]

    def diagnosis(
        self, columns: list[int], misfit: Callable[[str], str | None] | None, failure: pa.ArrowInvalid | None = None
    ) -> DataError:
        """Describe the first row that does not fit."""
        top = self.before + 1
        for i, (line, cells) in enumerate(self.lines(), start=top - self.first):
            if len(cells) != self.width:
                ways = []
                if any(end in self.top[0][0] for end in _ENDS if end != self.delimiter):
                    ways.append(f"{_ENDS[self.delimiter]} ends a cell; data.separator names another")
                widths = {number: len(row) for number, row in islice(self.lines(), LOOKED_AT)}
                usual = Counter(widths.values()).most_common(1)[0][0]
                title = next(number for number, width in widths.items() if width == usual) - 1
                if title >= top and len(cells) > 1:
                    ways.append(f"data.skip={title} leaves out all up to row {title}, as a title")
                hint = f" ({'; '.join(ways)})" if ways else ""
                last = self.data.count(b"\n") + 1 + self.before
                footnotes = line > last - FOOTNOTES and all(len(rest) == 1 for at, rest in self.lines() if at >= line)
                if footnotes and not ways:
                    rows = f"last {last - line + 1} rows, as footnotes" if line < last else "last row, as a footnote"
                    hint = f" (data.skip=[0,{last - line + 1}] leaves out the {rows})"
                return DataError(
                    f"{self.path}: row {line}: cells: {len(cells)}; expected {self.width}, as in row {top}{hint}"
                )
            for j in columns if misfit and i >= 0 else []:
                if misfit and (expected := misfit(cells[j])):
                    return self.error(i, j, expected, quote(cells[j]))
        return DataError(f"{self.path}: cannot be parsed: {failure}")


def _lines_in_blocks(data: bytes, start: int) -> Iterator[list[bytes]]:
    """The lines of a text from a place on, in blocks of some 16 MiB, a line at least."""
    while start <= len(data):
        end = data.find(b"\n", min(start + _BLOCK, len(data)))
        end = len(data) if end < 0 else end
        yield data[start:end].replace(b"\r\n", b"\n").split(b"\n")
        start = end + 1


def _count_start(cells: Sequence[str]) -> int | None:
    """0 or 1 if the cells are 0, 1, 2, ... or 1, 2, 3, ...; None if they are not."""
    return next((start for start in (0, 1) if list(cells) == [str(start + i) for i in range(len(cells))]), None)
