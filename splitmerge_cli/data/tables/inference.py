"""Types of columns in a mixed table, by their cells: binary, categorical, count, real, or none.

The rules, in this order; values that are missing do not count:

===========================================================  =================================================
the column                                                   is read as
===========================================================  =================================================
no value; one value                                          nothing: it is left out
dates; text that is free, or of too many words               nothing: it is rejected
words beside numbers, numbers with signs, units, commas      nothing: it is rejected
categories that the file itself declares                     categorical (two: binary)
two words, or two whole numbers                              binary
text of which every cell differs                             the names of the items; left out
whole numbers that count the rows, or all differ in a        nothing: they are left out
column that is named as an id
words, `SOME` at most, or `MOST` and twice each on average   categorical
whole numbers from 0 to `LARGEST_CODE`, `SOME` at most       categorical
(`SOME_FROM_0` with 0 among them), twice each on average
whole numbers from 0 to `LARGEST_COUNT`, half of them        count
`TYPICAL_COUNT` at most
other numbers                                                real
===========================================================  =================================================
"""

import re
import shlex
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.base import FINITE, LARGEST, MAGNITUDE, ColumnType
from splitmerge_cli.data.tables.cells import DATE, DECORATED, Cells
from splitmerge_cli.data.tables.table import Table, quote

SOME = 10
"""Different values that are categories wherever they are not all different."""
SOME_FROM_0 = 5
"""As `SOME`, for whole numbers that begin with 0: more are counts."""
MOST = 100
"""Most words of a column that is read as categories without being asked to."""
LARGEST_CODE = 20
"""Largest whole number that is taken for the code of a category."""
TYPICAL_COUNT = 10
LARGEST_COUNT = 1000
"""Upper limits of the median count, and of the largest."""
LONG = 60
"""Mean number of characters from which on text is free."""
NAMED_AS_ID = re.compile(
    r"(?i:id|ids|uid|uuid|guid|idx|index|key|name|names|row|rowid|rownum|record|case|nr|no|number|serial)"
    r"|(?i:.*[_ .-](id|ids|uid|uuid|idx|index|key|nr|no|number))|\w*[a-z](Id|ID)"
)
"""Names of columns that tell the items apart."""
NAMED_AS_CLASS = re.compile(
    r"(?i:(true|class|cluster|known)?[_ .-]?(target|class|classes|label|labels|cluster|clusters)|y[_ .-]true"
    r"|truth|ground[_ .-]?truth|species|diagnosis|outcome)"
)
"""Names of columns that hold the classes of the items."""


@dataclass(frozen=True)
class Reading:
    """A column as it is read, or why it is not read.

    Attributes
    ----------
    type : ColumnType or None
        None: it is not read.
    values : numpy.ndarray or None
        float64 ``[N]``, NaN where a cell is missing.
    why : str
        Of a column that is left out, why.
    names : bool
        Whether its cells are the names of the items.
    problem : str
        Of a column that is rejected, what is wrong, with its place.
    ways : tuple of str
        What would read it all the same.
    """

    type: ColumnType | None = None
    values: NDArray[np.float64] | None = None
    why: str = ""
    names: bool = False
    problem: str = ""
    ways: tuple[str, ...] = ()


def infer(cells: Cells, key: str, chosen: bool = False) -> Reading:
    """Read a column by the rules.

    Parameters
    ----------
    key : str
        The column as it is typed.
    chosen : bool
        Whether the user names it among those to read: it is no id then.
    """
    name = (cells.table.names or [""] * (cells.j + 1))[cells.j]
    if not cells.present:
        return Reading(why="it holds no value")
    if cells.other is not None:
        return _foreign(cells)
    if cells.numbers is not None and not cells.category:
        return _of_numbers(cells, key, name, chosen)
    codes, words, _ = cells.values()
    if len(words) == 1:
        return Reading(why=f"every value is {quote(words[0])}")
    return _as_levels(codes, words) if cells.category else _of_words(cells, key, codes, words)


def _of_numbers(cells: Cells, key: str, name: str, chosen: bool) -> Reading:
    """A column of numbers alone; parameters as of `infer`, and the name of the column."""
    assert cells.numbers is not None
    present = cells.numbers[~cells.missing]
    low, high = present.min(), present.max()
    if low == high:
        return Reading(why=f"every value is {quote(f'{low:g}')}")
    if not (present == np.floor(present)).all():
        return _as_numbers(cells, "real")
    different, counts = np.unique(present, return_counts=True)
    if len(different) == 2:
        return _as_levels(*cells.values()[:2])
    if not chosen and len(different) == len(present):
        if len(present) == len(cells.missing) and _counts_rows(cells):
            return Reading(why="it counts the rows")
        if NAMED_AS_ID.fullmatch(name):
            return Reading(why="every value differs")
    elif not chosen and re.search(r"(?i)(^|[_ .-])u?u?id$|[a-z]I[dD]$", name):
        i = cells.first(cells.numbers == different[np.argmax(counts)])
        problem = cells.table.error(i, cells.j, "an id that differs in every row, or none").args[0]
        return Reading(problem=problem, ways=(f"data.types={{{key}:categorical}} reads it as categories",))
    most = SOME if low > 0 else SOME_FROM_0
    if low >= 0 and high <= LARGEST_CODE and len(different) <= min(most, len(present) // 2):
        return _as_levels(*cells.values()[:2])
    if low >= 0 and high <= LARGEST_COUNT and np.median(present) <= TYPICAL_COUNT:
        return _as_numbers(cells, "count")
    return _as_numbers(cells, "real")


def read_as_type(cells: Cells, type: str) -> Reading:
    """Read a column as one of the types that data.types may name."""
    if cells.other is not None:
        return _foreign(cells)
    if type in ("count", "real"):
        if cells.numbers is None:
            assert cells.text is not None and cells.is_number is not None
            i = cells.first(~(cells.is_number | cells.missing))
            expected = "a number" if type == "real" else "a whole number from 0"
            return Reading(problem=str(cells.table.error(i, cells.j, f"{expected} (data.types)")))
        return _as_numbers(cells, type)
    codes, words, _ = cells.values()
    if type == "binary" and len(words) != 2:
        shown = ", ".join(words[:5]) + ", ..." * (len(words) > 5)
        problem = f"{cells.table.path}: {cells.table.column(cells.j)}: {len(words)} values ({shown}); expected 2"
        return Reading(problem=f"{problem} (data.types)")
    return _as_levels(codes, words, type)


def _counts_rows(cells: Cells) -> bool:
    assert cells.numbers is not None
    start = cells.numbers[0]
    return start in (0, 1) and bool((cells.numbers == np.arange(start, start + len(cells.numbers))).all())


def _as_levels(codes: NDArray[np.int64], words: list[str], type: str | None = None) -> Reading:
    # in their order the 0 of two comes first: 0 and 1, false and true, no and yes, n and y, off and on
    type = type or ("binary" if len(words) == 2 else "categorical")
    return Reading(ColumnType(type, tuple(words)), np.where(codes >= 0, codes, np.nan).astype(np.float64))


def _as_numbers(cells: Cells, type: str) -> Reading:
    assert cells.numbers is not None
    values = cells.numbers
    good = np.abs(values) <= MAGNITUDE
    expected = FINITE
    if type == "count":
        good = (values >= 0) & (values <= LARGEST) & (values == np.floor(values))
        expected = "a whole number from 0 (data.types)"
    if (bad := ~(good | cells.missing)).any():
        return Reading(problem=str(cells.table.error(cells.first(bad), cells.j, expected)))
    return Reading(ColumnType(type), values)


def _of_words(cells: Cells, key: str, codes: NDArray[np.int64], words: list[str]) -> Reading:
    """A column of text that is not of numbers alone."""
    table, j, present = cells.table, cells.j, cells.present
    assert cells.is_number is not None
    as_categories = f"data.types={{{key}:categorical}} reads it as categories"
    if 2 * (dates := cells.matches(DATE)).sum() >= present:
        return Reading(problem=f"{table.place(cells.first(dates), j)}: no model reads dates")
    if len(words) == 2:
        return _as_levels(codes, words)
    numeric = int(cells.is_number.sum())
    decorated = cells.matches(DECORATED) & ~cells.is_number
    if 2 * (numeric + decorated.sum()) >= present and decorated.any():
        i = cells.first(decorated)
        expected = "numbers alone, without percent signs, currencies or commas between thousands"
        return Reading(problem=str(table.error(i, j, expected)), ways=(as_categories,))
    if (unit := cells.unit()) is not None:
        i = cells.first(~cells.missing)
        return Reading(
            problem=str(table.error(i, j, f"numbers alone, without the unit '{unit}'")), ways=(as_categories,)
        )
    if numeric < present and 2 * numeric >= present and not cells.matches(r"^0\d+$").any():
        i = cells.first(~(cells.is_number | cells.missing))
        found = str(cells.text[i].as_py()) if cells.text is not None else ""
        ways = [as_categories]
        if re.fullmatch(r"[\w.-]+", found, re.ASCII):
            ways.insert(0, f"data.missing=[{found}] reads it as missing")
        expected = f"a number, as in {numeric} of {present} rows"
        return Reading(problem=str(table.error(i, j, expected)), ways=tuple(ways))
    if sum(map(len, words)) > LONG * len(words) and len(words) > SOME:
        what = f"free text, {len(words)} different ones; expected words of a few kinds"
        return _reject(cells, what, as_documents(cells.table, key))
    if len(words) == present:
        return Reading(why="every value differs", names=present == len(codes))
    most = max(SOME, min(MOST, present // 2))
    if len(words) <= most:
        return _as_levels(codes, words)
    what = f"{len(words)} different words in {present} rows; expected at most {most}"
    return _reject(cells, what, as_categories)


def as_documents(table: Table, key: str) -> str:
    """The command that reads a column as documents."""
    return f"smcmc run data=corpus {shlex.quote(f'data.path={table.path}')} data.columns=[{key}] reads it as documents"


def _reject(cells: Cells, what: str, *ways: str) -> Reading:
    """Reject a column for `what`, at its first cell."""
    return Reading(problem=f"{cells.table.place(cells.first(~cells.missing), cells.j)}: {what}", ways=ways)


def _foreign(cells: Cells) -> Reading:
    return _reject(cells, "no model reads dates" if cells.other == "date" else f"the column holds {cells.other}")
