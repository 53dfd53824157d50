"""Columns of tables: those that the user asks for, found by name or number, read as numbers, words or codes."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data import arrow, dataset, opening
from splitmerge_cli.data.tables import separators, text
from splitmerge_cli.data.tables.cells import mark_missing
from splitmerge_cli.data.tables.table import MISSING, Table, is_of_numbers, is_text, list_names
from splitmerge_cli.data.values import FINITE, first_not_finite, place_not_finite, require
from splitmerge_cli.overrides import path_word, shell_word, write
from splitmerge_cli.received import DataError


def header_key(key: str, header: str | int, rows: bool = False) -> str | bool:
    """An option auto, true or false, checked; ``auto`` or a bool. If it takes `rows`, two rows of names are ``2``."""
    value: str | bool = {"true": True, "false": False}.get(str(header).lower(), str(header))
    two_rows = ", or 2, which joins two rows of names" * rows
    require(value in ("auto", True, False) or (rows and value == "2"), key, header, f"auto, true or false{two_rows}")
    return value


def index(table: Table, key: str, column: str | int) -> int:
    """Position of a column, from its name or its number (1 the first, -1 the last); `key` asks for it."""
    width = table.width
    numbers = f"a number from 1 to {width} (-1: the last)"
    named = table.positions_of(str(column))
    shared = named or [j for j, name in enumerate(table.written or []) if name == str(column)]
    if len(shared) > 1:
        names = list_names([table.names[j] for j in shared]) if table.names and not named else ""
        expected = f"{names}, or {numbers}" if names else numbers
        raise DataError(f"{key}={column}: {table.path} has {len(shared)} columns with that name; expected {expected}")
    j = position(column, width)
    if named:
        k = named[0]
        if isinstance(column, int) and j is not None and j != k:
            from_other_end = column - width - 1 if column > 0 else column + width + 1
            raise DataError(
                f"{key}={column}: {table.path}: {table.column(k)} has that name, but {table.column(j)} that number; "
                f"expected '{column}' in quotes, the name, or {from_other_end}, the number from the other end"
            )
        return k
    if j is None:
        known = f"one of {list_names(table.names)}, or " if table.names else ""
        raise DataError(f"{key}={column}: {table.path} has no such column; expected {known}{numbers}")
    return j


def rename(table: Table, names: Mapping[str | int, str | int]) -> None:
    """Give columns other names (data.names) where the table has no columns of these."""
    for column, name in names.items():
        if not table.positions_of(str(name)):
            j = index(table, "data.names", column)
            require(table.names is not None, "data.names", name, f"null: {table.path} has no names of columns")
            table.names = [str(name) if k == j else known for k, known in enumerate(table.names or [])]


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


def words(table: Table, j: int, expected: str, gaps: bool = False) -> pa.ChunkedArray:
    """Column `j` as strings, whole numbers or truth values: floats must be whole numbers, with `gaps` NaN is null,
    decimal numbers become strings. `expected` says what the column is for."""
    column = table.cells(j)
    if pa.types.is_floating(column.type):
        values = arrow.numbers_of(column, np.nan).astype(np.float64)
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(values) < 2.0**63) | (values != np.round(values))
        absent = np.isnan(values) if gaps else np.zeros(len(values), dtype=bool)
        bad &= ~absent
        if bad.any():
            i = int(np.argmax(bad))
            raise table.error(i, j, f"{expected}: a string or a 64-bit integer")
        return pa.chunked_array([pa.array(np.where(absent, 0, values).astype(np.int64), mask=absent)])
    if pa.types.is_decimal(column.type):
        return pc.replace_substring_regex(pc.cast(column, pa.string()), r"\.0+$", "")
    if not (is_text(column) or pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
        raise DataError(f"{table.path}: {table.column(j)} holds {column.type}; expected strings or integers")
    return column


def codes(
    table: Table, j: int, expected: str, missing: Collection[str] = MISSING
) -> tuple[NDArray[np.int32], list[str]]:
    """Code the cells of column `j`, none of them `missing` (by default empty or NaN), by first appearance; also the
    word of each code."""
    coded, distinct = _encode(words(table, j, expected))
    for code, word in enumerate(distinct):
        if word.strip().lower() in missing:
            raise table.error(int(np.argmax(coded == code)), j, expected)
    return coded, distinct


def _encode(cells: pa.ChunkedArray) -> tuple[NDArray[np.int32], list[str]]:
    encoded = pc.dictionary_encode(cells, null_encoding="encode").combine_chunks()
    distinct = ["" if word is None else str(word) for word in encoded.dictionary.to_pylist()]
    return arrow.numbers_of(encoded.indices).astype(np.int32), distinct


def labels_in(
    table: Table, j: int, expected: str, plural: str, also: Sequence[str | int | float] = ()
) -> tuple[NDArray[np.int32], list[str]]:
    """The labels in column `j`, numbered by first appearance, and what they are (`plural`, for messages); -1 where the
    cell is empty, NaN or one of `also`."""
    coded, distinct = _encode(words(table, j, expected, gaps=True))
    unknown = np.array([word.strip().lower() in MISSING or word.strip() in map(str, also) for word in distinct])
    labels = np.where(unknown, -1, np.cumsum(~unknown) - 1).astype(np.int32)[coded]
    if (labels < 0).all():
        raise DataError(f"{table.path}: {table.column(j)}: every cell is empty; expected {plural}")
    return labels, [word for word, gap in zip(distinct, unknown, strict=True) if not gap]


FRACTION = re.compile(r"[+-]?\d*[.,]\d*[1-9]\d*")
"""A number that is not whole."""


def true_labels(table: Table, j: int, also: Sequence[str | int | float] = ()) -> NDArray[np.int32]:
    """The true labels in column `j`, as `labels_in` reads them; rows without one are noted."""
    labels, found = labels_in(table, j, "a true label", "true labels (data.truth)", also)
    fractions = [word for word in found if FRACTION.fullmatch(word.strip())]
    if 2 * len(fractions) > len(found):
        table.note(
            f"{table.column(j)}: true labels are {len(found):,} different numbers, such as {fractions[0].strip()}: "
            "rows are of one class if their numbers are equal"
        )
    if missing := int((labels < 0).sum()):
        table.note(
            f"{table.column(j)} has no true label in {missing} of {len(labels)} rows: scores are over the others"
        )
    return labels


def numbers(table: Table, j: int, hint: str) -> NDArray[np.float64]:
    """Column `j` as float64, without NaN, of magnitude 1e30 at most; `hint` says which option chooses the columns."""
    values = _as_numbers(table, j, hint)
    if (bad := first_not_finite(values)) is not None:
        raise table.error(bad, j, "a number" if np.isnan(values[bad]) else FINITE)
    return values


def _as_numbers(table: Table, j: int, hint: str) -> NDArray[np.float64]:
    """Column `j` as float64; raises as `numbers` for a column of another type."""
    column = table.cells(j)
    if column.type == pa.float64():
        return arrow.numbers_of(column, np.nan)
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not is_of_numbers(column):
        raise DataError(f"{table.path}: {table.column(j)} holds {column.type}; expected numbers ({hint})")
    return arrow.numbers_of(pc.cast(column, pa.float64(), safe=False), np.nan)


def matrix_of(
    table: Table, columns: Sequence[int], hint: str, also: Sequence[str | int | float] = ()
) -> NDArray[np.float64]:
    """Columns as float64 ``[rows, columns]``, NaN where a cell is missing; `also`: what else stands for that."""
    x = table.block(columns)
    if x is None:
        opening.Limit.current().check(table.path, 8 * table.rows * len(columns), " as numbers")
        x = np.empty((table.rows, len(columns)))
        for d, j in enumerate(columns):
            x[:, d] = _as_numbers(table, j, hint)
    x = mark_missing(x, also)
    if (place := place_not_finite(x, missing=True)) is not None:
        i, d = place
        raise table.error(i, columns[d], FINITE)
    return x


TOTAL = "total"
"""The exposure of a row that is the sum of its counts."""
POSITIVE = "a positive number (data.exposure)"
ROLES = ("truth", "exposure", "weights", "group", "labels", "files")
"""Keys of columns that are no data."""


@dataclass(frozen=True)
class Wanted:
    """The columns of a file that are read, and how: as the keys of the same names say (`columns` None: all others)."""

    kind: dataset.Kind
    truth: str | int | None
    columns: list[str | int] | None
    drop: list[str | int]
    types: Mapping[str | int, str | Sequence[str]] | None = None
    missing: list[str | int | float] = field(default_factory=list)
    exposure: str | int | None = None
    weights: str | int | None = None
    group: str | int | None = None
    labels: str | int | None = None
    files: str | int | None = None
    duplicates: bool = False

    @property
    def roles(self) -> dict[str, str | int]:
        """The columns that are no data, by their keys (`ROLES`)."""
        named = {key: getattr(self, key) for key in ROLES}
        if self.exposure == TOTAL:
            del named["exposure"]
        return {key: column for key, column in named.items() if column is not None}

    @property
    def mentioned_columns(self) -> list[str | int]:
        """Columns that are named or numbered anywhere."""
        typed = list(self.types) if isinstance(self.types, Mapping) else []
        return [*self.roles.values(), *(self.columns or []), *self.drop, *typed]

    def find_roles(self, table: Table) -> dict[str, int]:
        """Positions of the columns that are no data, by their keys; a `DataError` if two keys name one."""
        found: dict[str, int] = {}
        for key, column in self.roles.items():
            j = index(table, f"data.{key}", column)
            if (other := next((name for name, k in found.items() if k == j), None)) is not None:
                raise DataError(f"data.{key}={column}: {table.path}: expected another column than data.{other}")
            found[key] = j
        return found

    def resolve(self, table: Table) -> tuple[int | None, list[int]]:
        """Positions of the true labels and of the data among the columns."""
        roles = self.find_roles(table)
        if self.columns is not None:
            columns = [index(table, "data.columns", column) for column in self.columns]
            count = Counter(columns)
            for column, j in zip(self.columns, columns, strict=True):
                if j in roles.values() or count[j] > 1:
                    role = next((key for key, k in roles.items() if k == j), "truth")
                    once = f"expected each column once, and data.{role} not at all"
                    raise DataError(f"data.columns={column}: {table.path}: {once}")
        else:
            dropped = [index(table, "data.drop", column) for column in self.drop]
            left_out = {*dropped, *roles.values(), *table.unnamed_columns(), *table.blank(), *table.left_out}
            columns = [j for j in range(table.width) if j not in left_out]
        if not columns:
            # of two files: which columns each lacks, and the key that reads them
            lacking = "".join(f" ({rest})" for note in table.notes if (rest := note.partition(": left out: ")[2]))
            raise DataError(f"{table.path}: no column is left for the data{lacking}; expected at least one")
        if self.kind.one_column and len(columns) != 1:
            rest = "".join(f" besides data.{key}" for key in list(roles)[:1])
            expected = f"1 column of tokens (data.columns=[NAME]); several columns of words: {self.as_mixed(table)}"
            raise DataError(f"{table.path}: {len(columns)} columns{rest}; expected {expected}")
        return roles.get("truth"), columns

    def as_mixed(self, table: Table) -> str:
        """The command that reads the same as a mixed table."""
        options = ("columns", self.columns), ("drop", self.drop), *self.roles.items()
        overrides = [f"data.{key}={write(value)}" for key, value in options if value]
        return " ".join(["smcmc run data=csv", path_word(table.path), *map(shell_word, overrides), "model=mixed"])

    def set_hint(self, table: Table, columns: Sequence[int]) -> None:
        """Let messages about cells of some columns say what reads missing cells."""
        table.hint, table.hinted = f"missing cells are read by {self.as_mixed(table)}", frozenset(columns)

    def note(self, table: Table) -> None:
        """Let a table note what is left out, or kept, of its columns though nobody asked for that."""
        if self.columns is not None:
            return
        dropped = {index(table, "data.drop", column) for column in self.drop} | set(self.find_roles(table).values())
        ask = "data.drop=[{n}], which leaves it out, or data.columns, which lists what is read"
        blank = [j for j in table.blank() if j not in dropped]
        unnamed = [j for j in table.unnamed_columns() if j not in (*dropped, *blank)]
        table.leave_out(unnamed, "data.columns would read it", ask, items=True)
        for j in blank:
            held = pc.not_equal(pc.utf8_length(pc.utf8_trim_whitespace(table.cells(j))), 0)
            if pc.any(held).as_py():
                place = table.place(int(np.argmax(held.to_numpy())), j)
                raise DataError(f"{place}: the column has no name; expected {ask.format(n=j + 1)}")
            table.note(f"{table.column(j)} has neither a name nor a value: it is left out")
        if self.kind.one_column and isinstance(table, text.Text) and (delimiter := table.other_delimiter()):
            separator = next(name for name, words in separators.WORDS.items() if words == delimiter)
            way = f"data.separator={separator} lets it end a cell"
            table.note(f"every row holds {delimiter}, which is read as part of the token ({way})")


def as_list(key: str, value: Sequence[str | int] | str | int | None) -> list[str | int] | None:
    """Columns as a list; one may stand without its brackets."""
    if value is None:
        return None
    listed = [value] if isinstance(value, str | int) else value
    good = isinstance(listed, Sequence) and all(isinstance(v, str | int) and not isinstance(v, bool) for v in listed)
    require(good, key, value, "names or numbers of columns, such as [x,y] or [1,2]")
    return list(listed)
