"""A table whose rows look like records: several of one person, firm or place, alike but for typing errors.

Columns that name things have many different words or codes. In records a good part of the rows agrees with another row
in most of these, and many such pairs differ where one cell is nearly the other: a typing error. Rows of a household or
of a panel agree as well, but differ in whole cells.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import combinations, islice
from typing import Any, NamedTuple
from unicodedata import combining, normalize

from splitmerge_cli.data.tables import text
from splitmerge_cli.data.tables.separators import is_numeric
from splitmerge_cli.data.tables.table import Table

Cells = Sequence[Sequence[str]]
FEWEST, MOST = 50, 5_000
"""Rows of a table that is looked at, at least; rows that are looked at."""
WIDEST, LOOKED_AT = 40, 200
"""Columns of such a table, at most; rows that tell whether two columns hold words."""
DIFFERENT = 0.15
"""Different values over cells from which on a column names things."""
LONG = 60
"""Letters of a cell on average up to which a column holds names rather than notes."""
SHARED = 4
"""Rows that share a value, at most, for it to hint at one entity."""
IN_PAIRS, ERRORS, NEAR = 0.05, 0.25, 0.75
"""Share of the rows that agree with another one, and share of such pairs with a typing error, at least; share of equal
letters from which on a cell is another one with an error."""


class Found(NamedTuple):
    """Two rows of one entity, and the positions of the columns that name things."""

    rows: tuple[int, int]
    naming: list[int]


def rows_of_a_table(table: Table) -> Found | None:
    """As `find_records`, by the columns of a table, the first row of a text being their names; rows are numbered as in
    all messages."""
    if not 3 <= table.width <= WIDEST:
        return None
    # few rows tell that most tables hold none
    for most in (LOOKED_AT, MOST):
        if isinstance(table, text.Text):
            lines = [(number, row) for number, row in islice(table.lines(), 1, most + 1) if len(row) == table.width]
            numbers = [number for number, _ in lines]
            columns = [[cell.strip() for cell in column] for column in zip(*(row for _, row in lines), strict=True)]
        else:
            cells = (column.slice(0, most).to_pylist() for column in table.columns)
            columns = [["" if cell is None else str(cell).strip() for cell in column] for column in cells]
            numbers = [table.row(i) for i in range(min(most, table.rows))]
        if sum(map(_are_words, columns)) < 2:
            return None
    found = find_records(columns)
    return found and Found((numbers[found.rows[0]], numbers[found.rows[1]]), found.naming)


def rows_of_a_frame(data: Any) -> Found | None:
    """As `find_records`, by the columns of a pandas data frame; None of anything else."""
    if not hasattr(data, "iloc") or getattr(data, "ndim", 1) != 2 or data.shape[1] > WIDEST:
        return None
    first = data.head(MOST)
    words = [
        ["" if missing else str(cell).strip() for cell, missing in zip(column, column.isna(), strict=True)]
        for _, column in first.items()
    ]
    return find_records(words)


def find_records(columns: Cells) -> Found | None:
    """Find out whether rows are records, by the cells of each column, stripped; None: they are rows of a table. Rows
    count from 0.

    >>> names = ["ann", "bob", "cid", "dora", "emil", "fritz", "gerda", "hans", "ida", "jan"]
    >>> people = [(f"{a}{b}", f"{b}son {a}", f"{b} {a} road") for a in names for b in names]
    >>> copies = [(first, last.replace("s", "z"), street) for first, last, street in people[:20]]
    >>> find_records(list(zip(*people, *copies))).rows
    (0, 100)
    """
    N = min(len(columns[0]), MOST) if 3 <= len(columns) <= WIDEST else 0
    typed = [[cell.casefold() for cell in column[:N]] for column in columns]
    cells = [[_plain(cell) for cell in column] for column in typed]
    naming = [j for j, column in enumerate(cells) if _names_things(column)]
    words = [j for j in naming if _are_words(cells[j])]
    # tables of measurements have few columns of names
    if N < FEWEST or len(naming) < 3 or len(words) < 2 or 2 * len(naming) < len(columns):
        return None
    together: Counter[tuple[int, int]] = Counter()
    for j in naming:
        rows = defaultdict[str, list[int]](list)
        for i, cell in enumerate(cells[j]):
            if cell:
                rows[cell].append(i)
        together.update(pair for found in rows.values() if len(found) <= SHARED for pair in combinations(found, 2))
    known = [sum(bool(cells[j][i]) for j in naming) for i in range(N)]
    alike = [(a, b) for (a, b), n in together.items() if n >= 2 and 2 * n >= min(known[a], known[b])]
    with_errors = [pair for pair in alike if any(_has_error(typed[j][pair[0]], typed[j][pair[1]]) for j in words)]
    if len({i for pair in alike for i in pair}) < IN_PAIRS * N or len(with_errors) < ERRORS * len(alike):
        return None
    return Found(min(with_errors), naming)


def _plain(cell: str) -> str:
    """The letters without their accents."""
    return cell if cell.isascii() else "".join(c for c in normalize("NFKD", cell) if not combining(c))


def _are_words(column: Sequence[str]) -> bool:
    return 2 * sum(map(is_numeric, filter(None, column))) < len(column)


def _names_things(column: Sequence[str]) -> bool:
    """Whether the cells of a column are names, or codes that recur, of many things."""
    present = [cell for cell in column if cell]
    different = len(set(present))
    measured = sum("." in cell and is_numeric(cell) for cell in present)
    return bool(
        2 * len(present) > len(column)
        and different >= DIFFERENT * len(present)
        and (different < len(present) or _are_words(column))
        and sum(map(len, present)) <= LONG * len(present)
        and 2 * measured < len(present)
    )


def _has_error(one: str, other: str) -> bool:
    """Whether one cell may be the other with an error of typing."""
    if one == other or min(len(one), len(other)) < 3 or is_numeric(one) != is_numeric(other):
        return False
    matcher = SequenceMatcher(a=_plain(one), b=_plain(other), autojunk=False)
    return matcher.quick_ratio() >= NEAR and matcher.ratio() >= NEAR
