"""Tables in memory: columns of a file, where their cells are in it, and how messages name them. Whole numbers that lose
digits as float64, codes of 17 digits, say, are words digit by digit.
"""

import re
from collections.abc import Collection, Sequence
from itertools import count, pairwise, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli import overrides, received
from splitmerge_cli.data import arrow, values
from splitmerge_cli.data.values import EXACT as EXACT

IN_MEMORY = Path("data")
"""Path of a table that a program holds, as messages name it."""

WRITTEN = (
    *("", "NA", "N/A", "Na", "na", "n/a", "<NA>", "NaN", "nan", "NAN", "-nan", "-NaN"),
    *("null", "NULL", "Null", "None", "#N/A", "#NA", "?", "-", "--", "."),
)
"""Missing cells of a mixed table as they are written, spaces around them stripped. ``none`` may be a level."""
EMPTY = "an empty cell"
"""Name of a cell that holds nothing, in messages."""
MISSING = {"", "nan"}  # of tokens and labels, compared in lower case, spaces stripped
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
"""A finite number for the parser; `float` takes more (0_1, digits of other scripts)."""
CURRENCY = "$€£¥₹"
LIMIT = r"[<>≤≥]=? ?"
"""The sign of a number that was too small or too large to be measured: <0.5."""
DECORATED = (
    rf"(?i)^({LIMIT})?['\"(]?[-+]?[{CURRENCY}]?[-+]? ?(\d+|\d{{1,3}}([,.' \x{{a0}}\x{{202f}}]\d{{3}})+)([.,]\d+)?"
    rf" ?(%|[{CURRENCY}]|eur|usd|gbp|chf)?['\")]?$"
)
"""Numbers with commas, a currency or a percent sign, in brackets or quotes of another kind."""
COLUMN_BYTES = 100
"""Memory that a column takes, whatever it holds: its name and two cells as text."""
MOST_COLUMNS = 10_000
"""Most columns of a list, of which few are read (edges, nodes, tokens of documents)."""
LISTED = 20
"""Names of columns that a message lists at most."""
NUMBERED = 10
"""Rows from which values that differ, or counts, in a column without a name are names of rows, as R and pandas write
them for a part of a table."""
NAMELESS = re.compile(r"(Unnamed: \d+(_level_\d+)?(\.\d+)?)?")
"""The name of a column that has none, as it is written, or as pandas writes it when it has read the table."""
INDEX = re.compile(r"__index_level_\d+__")
"""Name that pandas gives the numbers of the rows in a .parquet file, where they are a column."""
_PLAIN = re.compile(r"(?!(?:null|true|false|nan|inf)$)[^\W\d][\w.-]*", re.IGNORECASE)
"""Names of columns that need no quotes on the command line."""


class Table:
    """Columns of a file, all of one length (empty if they were not asked for), and where their rows are in it.

    Columns have names where the file has them, and `written` ones, as the file has them, where those that several share
    have got a number. Messages count rows from `first`, the number of the first row of data. `categories` are columns
    that the file itself says to hold categories, `classes` those with a class of each row, `left_out` those that are no
    data, whatever the kind; `item_names` are of all rows of the file, where a column without a name holds them;
    `determined` columns follow from others, and are left out, `followers` are levels that do so and are data. `units`
    and `orders` of levels are by column; `renamed` has names that a second file has for columns of the first. `hint` is
    advice in the error for a missing cell in one of the columns `hinted`.
    """

    def __init__(self, path: Path, columns: list[pa.ChunkedArray], names: list[str] | None, first: int = 1) -> None:
        self.path, self.columns, self.names, self.first = path, columns, names, first
        self._positions: tuple[list[str], dict[str, list[int]]] | None = None
        self.notes: list[str] = []
        self.categories: set[int] = set()
        self.classes: set[int] = set()
        self.hint, self.hinted = "", frozenset[int]()
        self.item_names: list[str] | None = None
        self.left_out: set[int] = set()
        self.written: list[str] | None = None
        self.units: dict[int, str] = {}
        self.orders: dict[int, list[str]] = {}
        self.renamed: dict[str, str] = {}
        self.determined: list[str] = []
        self.followers: list[str] = []

    def command_or_call(self, keys: str, call: str) -> str:
        """The command that reads the file with these keys; of a frame, which has none, the call in Python."""
        return call if self.path == IN_MEMORY else f"smcmc run {overrides.path_word(self.path)} {keys}"

    def note(self, text: str) -> None:
        """Add a note on the file."""
        self.notes.append(f"{self.path}: {text}")

    @property
    def title(self) -> str:
        """Name of the file without its endings."""
        return self.path.name.split(".")[0]

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

    def entries(self, columns: Sequence[int]) -> dict[str, Any]:
        """Entries of ``Dataset.meta``: the units of the columns that are read, and columns that follow from others."""
        units_by_column = {d: self.units[j] for d, j in enumerate(columns) if j in self.units}
        entries = {"units": units_by_column, "determined": self.determined, "followers": self.followers}
        return {key: value for key, value in entries.items() if value}

    def names_of_items(self) -> list[str] | None:
        """`item_names` of the rows that are kept."""
        return None if self.item_names is None else self.item_names[: self.rows]

    @staticmethod
    def is_decorated(cell: str) -> bool:
        """Whether a cell is a number with commas, a currency or a percent sign."""
        return re.match(DECORATED.replace(r"\x{a0}", "\xa0").replace(r"\x{202f}", "\u202f"), cell.strip()) is not None

    def blank_rows(self) -> list[int]:
        """Rows in which no column holds a cell."""
        absent = np.ones(self.rows, dtype=bool)
        for j in range(self.width):
            column = self.cells(j)
            if len(column) < len(absent) or not absent.any():
                continue
            if is_text(column):
                absent &= arrow.numbers_of(pc.utf8_length(pc.utf8_trim_whitespace(column)), 0) == 0
            else:
                absent &= arrow.numbers_of(pc.is_null(column, nan_is_null=True))
        return np.flatnonzero(absent).tolist()

    def row_names(self, j: int) -> list[str] | None:
        """The cells of column `j` if they are words, another one in each row; None if they are not. Blank rows are
        named by their numbers."""
        cells = [str(cell).strip() for cell in self.cells(j).to_pylist()]
        if not all(cells):
            for i in self.blank_rows():
                cells[i] = f"row {self.row(i)}"
        words = all(cell[:1].isalpha() and not is_missing(cell) for cell in cells)
        return cells if words and len(set(cells)) == len(cells) > 1 else None

    def block(self, columns: Sequence[int]) -> NDArray[Any] | None:
        """Numbers ``[rows, columns]`` of some columns where the table has them as one array, else None."""
        return None

    def positions_of(self, name: str) -> list[int]:
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

    def long_digits(self, j: int, also: Sequence[str | int | float] = ()) -> pa.ChunkedArray | None:
        """Column `j` as `splitmerge_cli.data.tables.table.long_digits` has it, as it is written."""
        return long_digits(self.cells(j), also)

    def unnamed_columns(self) -> list[int]:
        """Columns that hold no data by default: the first ones where they have no name, and pandas' index."""
        names = self.names or []
        index = [j for j, name in enumerate(names) if INDEX.fullmatch(name)]
        # a table of one column holds nothing else
        leading = takewhile(lambda j: NAMELESS.fullmatch(names[j]) or j in index, range(len(names) - 1))
        return sorted({*leading, *index})

    def tell_names_apart(self) -> None:
        """Rename columns that share a name, once, and note that."""
        if self.names is None or self.written is not None:
            return
        self.written = self.names
        self.names, notes = names_apart(self.names)
        self.notes += [f"{self.path}: {one}" for one in notes]

    def blank(self) -> list[int]:
        """Columns without a name that seem to hold no cell, as a separator at the end of every row makes them."""
        return []

    def leave_out(self, unnamed: Collection[int], reads: str, ask: str, items: bool = False) -> None:
        """Note which of the `unnamed` columns are left out, and what `reads` them. If rows are `items`, values that
        differ from row to row, as the row names that R writes, become `item_names`. A column without a name that
        neither numbers nor names the rows may hold data, and is refused; `ask` says what says which columns are read,
        with ``{n}`` for its number."""
        for j in unnamed:
            if self.names and INDEX.fullmatch(self.names[j]):
                why = "is the index of pandas"
            elif (start := self.counts_from(j)) is not None:
                why = f"has no name and counts the rows from {start}"
            else:
                cells = [str(cell).strip() for cell in self.cells(j).to_pylist()]
                all_differ = len(set(cells)) == len(cells) >= NUMBERED and all(cells)
                names = self.row_names(j) or (cells if all_differ else None)
                if items and names:
                    self.item_names = self.item_names or names
                    why = "has no name and a different value in every row, the names of the items"
                elif items and len(cells) >= NUMBERED and _counts_again(cells):
                    why = f"has no name and counts the rows from {cells[0]}, more than once"
                else:
                    start = next((start for start in (0, 1) if cells and _is(cells[0], start)), 0)
                    uncounted = next((i for i, cell in enumerate(cells) if not _is(cell, start + i)), 0)
                    problem = f"{self.place(uncounted, j)}: the column has no name and does not count the rows"
                    raise received.DataError(f"{problem}; expected {ask.format(n=j + 1)}")
            self.note(f"{self.column(j)} {why}: it is left out ({reads})")

    def counts_from(self, j: int) -> int | None:
        """0 or 1 if the cells of column `j` are 0, 1, 2, ... or 1, 2, 3, ...; None if they are not."""
        column = self.cells(j)
        return _count_start(column) if len(column) else None

    def row(self, i: int) -> int:
        """Row number of item `i` as messages count it: the line of a text file."""
        return self.first + i

    def column(self, j: int) -> str:
        """Column `j` as messages name it."""
        return f"column {j + 1}" + (f" ('{self.names[j]}')" if self.names else "")

    def show_cell(self, i: int, j: int) -> str:
        """Show a cell, item `i` in column `j`, as in messages."""
        value = self.cells(j)[i].as_py()
        return quote("" if value is None else f"{value:g}" if isinstance(value, float) else str(value))

    def place(self, i: int, j: int, cell: str | None = None) -> str:
        """Place and content of a cell, item `i` in column `j`, as messages begin."""
        cell = self.show_cell(i, j) if cell is None else cell
        return f"{self.path}: row {self.row(i)}, {self.column(j)}: {cell}"

    def error(self, i: int, j: int, expected: str, cell: str | None = None) -> received.DataError:
        """Build the error for a cell, item `i` in column `j`, where something else was `expected`."""
        cell = self.show_cell(i, j) if cell is None else cell
        hint = f" ({self.hint})" if j in self.hinted and is_missing(cell.strip("'")) else ""
        return received.DataError(f"{self.place(i, j, cell)}; expected {expected}{hint}")


def names_apart(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of columns, those that several have with a number behind them, and a note for each such name.

    >>> names_apart(["a", "a", "b"])
    (['a.1', 'a.2', 'b'], ["columns 1, 2 are all called 'a': they are read as 'a.1', 'a.2'"])
    """
    plain = [name.strip() for name in names]
    if len(set(plain)) == len(plain):
        return list(names), []
    unique, notes, used = list(names), [], set(plain)
    for name in dict.fromkeys(plain):
        positions = [j for j, other in enumerate(plain) if other == name]
        if len(positions) < 2 or NAMELESS.fullmatch(name):
            continue
        free = (f"{name}.{n}" for n in count(1) if f"{name}.{n}" not in used)
        for j in positions:
            unique[j] = next(free)
        used.update(unique[j] for j in positions)
        shown = list_names([repr(unique[j]) for j in positions])
        notes.append(
            f"columns {list_names([str(j + 1) for j in positions])} are all called {name!r}: they are read as {shown}"
        )
    return unique, notes


def list_names(names: Sequence[str]) -> str:
    """List names of columns as in messages."""
    return ", ".join([*names[:LISTED], *(["..."] if len(names) > LISTED else [])])


def is_text(column: pa.ChunkedArray) -> bool:
    """Whether a column holds strings."""
    return pa.types.is_string(column.type) or pa.types.is_large_string(column.type)


def is_of_numbers(column: pa.ChunkedArray) -> bool:
    """Whether a column holds numbers, or true and false."""
    kind, types = column.type, pa.types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)


def _count_start(column: pa.ChunkedArray) -> int | None:
    """Start of the count in a column of one cell at least; None as for `Table.counts_from`."""
    first, last = (str(column[i].as_py()).strip() for i in (0, -1))
    start = next((start for start in (0, 1) if _is(first, start) and _is(last, start + len(column) - 1)), None)
    if start is None:
        return None
    expected = arrow.array_of(np.arange(start, start + len(column)))
    if is_text(column):
        same = pc.equal(pc.utf8_trim_whitespace(column), pc.cast(expected, column.type))
    else:
        same = pc.equal(pc.cast(column, pa.float64(), safe=False), pc.cast(expected, pa.float64()))
    return start if pc.all(same, skip_nulls=False).as_py() else None


def _counts_again(cells: Sequence[str]) -> bool:
    """Whether cells count from 0 or 1, and again from there each time that the count ends, as the index of tables that
    pandas has put one below the other."""
    if cells[0] not in {"0", "1"} or not all(map(str.isdecimal, cells)):
        return False
    numbers = [int(cell) for cell in cells]
    return all(later in (earlier + 1, numbers[0]) for earlier, later in pairwise(numbers)) and max(numbers) > 1


def _is(cell: str, number: int) -> bool:
    return cell in (str(number), f"{number}.0")


def encode(cells: pa.ChunkedArray) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the codes of cells, -1 where one is missing, and the different values, by first appearance."""
    encoded = pc.dictionary_encode(cells).combine_chunks()
    return arrow.numbers_of(encoded.indices, -1).astype(np.int64), encoded.dictionary.to_pylist()


def quote(cell: str) -> str:
    """Quote a cell as in messages."""
    short = cell if len(cell) <= 40 else f"{cell[:37]}..."
    return f"'{short}'" if cell.strip() else EMPTY


def is_missing(cell: str) -> bool:
    """Whether a cell of text, or `EMPTY`, stands for a missing one."""
    return cell == EMPTY or cell.strip() in WRITTEN


def column_key(table: Table, j: int) -> str:
    """Column `j` as a user types it: its name where that needs no quotes and is unique, else its number."""
    name = table.names[j] if table.names else ""
    return name if _PLAIN.fullmatch(name) and len(table.positions_of(name)) == 1 else str(j + 1)


_LONG = r"^[-+]?\d{16,}(\.0*)?$"
"""Whole numbers that may lose digits."""
_MOST_DIGITS = 400
"""Characters from which on a whole number is larger than every float64."""


def long_digits(column: pa.ChunkedArray, also: Sequence[str | int | float] = ()) -> pa.ChunkedArray | None:
    """A column of whole numbers, decimal numbers or text as text, where one of its whole numbers loses digits as
    float64; None of any other column. `also`: what else stands for a missing cell.

    >>> import pyarrow as pa
    >>> long_digits(pa.chunked_array([[2**53, 2**53 + 1]])).to_pylist()
    ['9007199254740992', '9007199254740993']
    >>> long_digits(pa.chunked_array([[2**53, 10**18]])) is None
    True
    """
    kind, types = column.type, pa.types
    text = column
    if types.is_integer(kind):
        if kind.bit_width < 64 or values.first_rounded(arrow.numbers_of(column.drop_null())) is None:
            return None
        text = pc.cast(column, pa.string())
    elif types.is_decimal(kind):
        text = pc.replace_substring_regex(pc.cast(column, pa.string()), r"\.0+$", "")
    elif not (types.is_string(kind) or types.is_large_string(kind)):
        return None
    return text if has_long_digits(pc.utf8_trim_whitespace(text), also) else None


def has_long_digits(text: pa.ChunkedArray, also: Sequence[str | int | float] = ()) -> bool:
    """Whether a cell of text, without spaces around it, is a whole number that loses digits as float64; `also`: what
    else stands for a missing cell."""
    long_numbers = pc.unique(text.filter(pc.match_substring_regex(text, _LONG))).to_pylist()
    present = {*long_numbers} - {*map(str, also)}
    return any(len(word) > _MOST_DIGITS or int(word.partition(".")[0]) != float(word) for word in present)
