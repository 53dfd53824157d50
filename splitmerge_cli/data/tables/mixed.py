"""Mixed tables: columns of several types, cells that may be missing, notes on what each column is read as.

Neighbouring columns of whole numbers that are alike, as species, pixels and answers are, are all read as one type. One
column alone does not show what its neighbours do: a species with the values 0, 1 and 2 looks like a category, one with
larger values like a count or a real number. Columns that stand side by side are alike if most of them begin and end at
the same two numbers (a scale), or if most begin at 0 and hold that most often, and some are counts when read alone. A
short scale is categorical; all else are counts. So are columns of large numbers whose rows have totals that differ as
in samples of unequal size.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from textwrap import shorten
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from splitmerge_cli.data import objects, opening
from splitmerge_cli.data.dataset import COLUMN_TYPES, READ_AS, ColumnType, Dataset, Labels, kinds
from splitmerge_cli.data.reading import KindReading, read_new
from splitmerge_cli.data.tables import formats, inference, notes, written
from splitmerge_cli.data.tables.cells import cells_of, find_none_levels, note_missing
from splitmerge_cli.data.tables.columns import Wanted, index, true_labels
from splitmerge_cli.data.tables.table import MOST_COLUMNS, Table, column_key, list_names, quote
from splitmerge_cli.data.values import LARGEST, is_sparse, notes_entry, positions_in, require, width_entry
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.overrides import shell_word, write
from splitmerge_cli.received import DataError, reject_machine_error

FEWEST = 5
"""Columns that hold three values or more, at least, among those that are alike."""
WIDE = 10
"""Columns of mostly zeros, at least, among which others of whole numbers that overlap them are counts, too."""
ON_SCALE = 0.75
"""Share of the columns that begin and end at the same two numbers, on a scale."""
COUNTS = 0.1
"""Share of the columns that are counts when read alone, at least, where all are read as counts."""
EXPECTED = 3.0
"""Rows with 2 or more that a Poisson distribution expects: a column of 0 and 1 for which it expects more is no count.
"""


UNEQUAL = 0.3
"""Columns of large numbers are counts if row totals have at least this standard deviation over mean. Five tables of
measurements (digits, letters, linnerud, satellite, vehicle) have 0.11 to 0.20."""


@dataclass(frozen=True)
class Numbers:
    """A column of whole numbers from 0 on: its place, type, different values, and the rows that hold each."""

    j: int
    type: str
    different: NDArray[np.float64]
    rows: NDArray[np.int64]

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return float(self.different[0]), float(self.different[-1])

    @property
    def is_flag(self) -> bool:
        """Whether the values are 0 and 1 in a way that counts are not, or any other two without 0."""
        if len(self.different) > 2 or self.ends[0] == 0 < self.ends[1] - 1:
            return False
        mean = self.rows[-1] / self.rows.sum()
        return self.ends != (0, 1) or bool(self.rows.sum() * (1 - np.exp(-mean) * (1 + mean)) > EXPECTED)


def read_alike(columns: Sequence[Numbers | None], cells: Callable[[int], NDArray[np.float64] | None]) -> dict[int, str]:
    """Types of columns that are to be read as their neighbours, by position. `columns`: in the order of the table; None
    stands for any other column. `cells`: the numbers of the column at a position; None where cells are missing.
    """
    types: dict[int, str] = {}
    for _, neighbours in groupby(columns, key=lambda one: one is None):
        run = [one for one in neighbours if one is not None]
        numbers = [one for one in run if not one.is_flag]
        may_be_counts = len(run) >= FEWEST and {one.type for one in run} <= {"real", "count"} and _are_small(run)
        if may_be_counts and _are_samples(run, cells):
            types |= {one.j: "count" for one in run if one.type != "count"}
        elif len({one.type for one in numbers}) > 1:
            members, type = _choose_type(numbers)
            if type == "count" and not _are_small(members):
                continue
            # a binary column is one of two categories
            same = {type, "binary"} if type == "categorical" else {type}
            types |= {one.j: type for one in members if one.type not in same}
    return types


def _are_small(run: Iterable[Numbers]) -> bool:
    """Whether the model of counts takes all numbers."""
    return all(one.ends[1] <= LARGEST for one in run)


def _are_samples(run: Iterable[Numbers], cells: Callable[[int], NDArray[np.float64] | None]) -> bool:
    """Whether row totals differ as in samples of unequal size."""
    totals: NDArray[np.float64] | float = 0.0
    for one in run:
        if (numbers := cells(one.j)) is None:
            return False
        totals = totals + numbers
    return float(np.std(totals)) >= UNEQUAL * float(np.mean(totals))


def _choose_type(numbers: list[Numbers]) -> tuple[list[Numbers], str]:
    """The columns that are alike, and their type; no columns where too few are."""
    several = [one.ends for one in numbers if len(one.different) > 2]
    # 0 is the commonest value
    zeros = [one for one in numbers if one.ends[0] == 0 and int(np.argmax(one.rows)) == 0]
    are_zeros, ends = 2 * len(zeros) > len(numbers), max(set(several), key=several.count, default=(0, 0))
    if len(several) < FEWEST:
        return [], ""
    if several.count(ends) >= ON_SCALE * len(several):
        members = [one for one in numbers if ends[0] <= one.ends[0] and one.ends[1] <= ends[1]]
        different = np.unique(np.concatenate([one.different for one in members]))
        if len(different) <= (inference.SOME_FROM_0 if are_zeros else inference.MOST_NUMBERS):
            return members, "categorical"
    counts = sum(one.type == "count" for one in numbers)
    if not are_zeros or sum(len(one.different) > 2 for one in zeros) < FEWEST or counts < COUNTS * len(numbers):
        return [], ""
    if len(zeros) < WIDE:
        return zeros, "count"
    largest = max(one.ends[1] for one in zeros)
    near = [one for one in numbers if one.ends[0] <= largest]
    beyond = [one for one in near if one.ends[1] > largest]
    # a few species are common; more columns of larger numbers are something else
    return [one for one in near if one not in beyond or WIDE * len(beyond) < len(near)], "count"


SKIP = "skip"
SHOWN = 6
"""Levels of a column that a note lists."""
SHORT = 30
"""Characters for the names of columns in a note that fits on a line."""


class NoMixedTable(DataError):
    """A matrix of numbers that cannot be read as a mixed table: it is sparse, or has too many columns."""


ONE_OF_LEVELS = (
    "one column of categories is all that is read: it has no groups of rows but its levels; expected further columns, "
    "or one of numbers"
)
"""The note on a table that shows no clusters."""


class RefusedTable(DataError):
    """A table that is not read as it is: the `problem`, whose parts are lines, and ways to read it, overrides each."""

    def __init__(self, message: str, problem: str, ways: Sequence[Sequence[str]]) -> None:
        super().__init__(message)
        self.problem, self.ways = problem, ways


class RejectedColumns(RefusedTable):
    """Columns that no type fits: the problem of the first, the columns to leave out, with the ones that the user leaves
    out (none if the user chose the columns), and ways to read the table."""

    def __init__(self, message: str, problem: str, drop: list[str | int], ways: Sequence[Sequence[str]]) -> None:
        super().__init__(message, problem, ways)
        self.drop = drop


def read_types(table: Table, types: Mapping[str | int, Any] | None) -> dict[int, str]:
    """Read the option data.types, by the positions of the columns; the table receives the orders of words."""
    known = (*COLUMN_TYPES, *written.DATE_TYPES, SKIP)
    if types is None:
        return {}
    require(isinstance(types, Mapping), "data.types", types, "columns and their types, such as {age: real}")
    type_by_column: dict[int, str] = {}
    for column, type in types.items():
        j, is_order = index(table, "data.types", column), isinstance(type, Sequence) and not isinstance(type, str)
        is_order = is_order and len(set(map(str, type))) == len(type) > 1
        known_types = f"one of {', '.join(known)}, or words in their order, such as [low,high]"
        require(is_order or (isinstance(type, str) and type in known), f"data.types.{column}", type, known_types)
        type_by_column[j] = inference.ORDINAL if is_order else type
        if is_order:
            table.orders[j] = [str(word).lower() if isinstance(word, bool) else str(word) for word in type]
    return type_by_column


def read_mixed(table: Table, wanted: Wanted, N: int | None, name: str) -> Dataset:
    """A table as kind ``mixed``; see `splitmerge_cli.data.tables.inference` for the rules. `RejectedColumns` names the
    first cell that none reads, and what leaves all such columns out."""
    if table.width > MOST_COLUMNS:
        raise NoMixedTable(f"data.kind=mixed: expected at most {MOST_COLUMNS} columns in {table.path}")
    types = read_types(table, wanted.types)
    rows = table.rows
    table.take(N)
    labels, columns_read = wanted.resolve(table)
    columns_read = [j for j in columns_read if types.get(j) != SKIP]
    opening.Limit.current().check(table.path, 8 * table.rows * len(columns_read), " as numbers")
    readings: dict[int, inference.Reading] = {}
    names, spelt, other_kind, many = table.names_of_items(), list[str](), "", dict[int, Sequence[str]]()
    neighbours: list[Numbers | None] = []
    with_none = find_none_levels(table, columns_read, wanted.missing)
    for j in columns_read:
        cells = cells_of(table, j, wanted.missing, j in with_none)
        key = column_key(table, j)
        chosen = wanted.columns is not None
        readings[j] = inference.read_as_type(cells, types[j]) if j in types else inference.infer(cells, key, chosen)
        blank = np.flatnonzero(cells.missing).tolist() if readings[j].names else []
        if readings[j].names and names is None and (not blank or blank == table.blank_rows()):
            names, held = list[str](), set[str]()
            for i, cell in enumerate(table.cells(j).to_pylist()):
                name = f"row {table.row(i)}" if cells.missing[i] else str(cell).strip()
                names.append(f"{name} (row {table.row(i)})" if name in held else name)
                held.add(name)
            readings[j] = replace(readings[j], why=f"{readings[j].why}: {notes.NAMES_OF_ITEMS}")
        if (type := readings[j].type) is not None:
            is_named = j in types or cells.category or cells.boolean or cells.is_coded
            present = None if is_named or cells.numbers is None else cells.numbers[~cells.missing]
            if present is None or not ((present >= 0) & (present == np.floor(present))).all():
                neighbours.append(None)
            else:
                neighbours.append(Numbers(j, type.type, *np.unique(present, return_counts=True)))
        if cells.text is None or not (cells.numbers is None or cells.is_padded):
            continue
        by_name = readings[j].why.startswith("every value differs")
        words = cells.values()[1]
        name_note, reads_words = notes.ask_kinds("say_words", table, j, words, cells.present, by_name)
        if not name_note:
            if readings[j].type is None and not readings[j].problem and len(words) > inference.SOME:
                many[j] = words
            continue
        if readings[j].problem:
            readings[j] = replace(readings[j], problem=f"{readings[j].problem}; {name_note}")
        else:
            spelt.append(f"{table.path}: {table.column(j)}: {name_note}")
            other_kind = reads_words
    _raise_problems(table, wanted, readings)

    def numbers_of(j: int) -> NDArray[np.float64] | None:
        cells = cells_of(table, j, wanted.missing, j in with_none)
        return None if cells.missing.any() else cells.numbers

    alike = read_alike(neighbours, numbers_of)
    for j, type_of_neighbours in alike.items():
        readings[j] = inference.read_as_type(cells_of(table, j, wanted.missing, j in with_none), type_of_neighbours)
    for shared_type in dict.fromkeys(alike.values()):
        columns = [table.names[j] if table.names else str(j + 1) for j in alike if alike[j] == shared_type]
        read_as = "categories" if shared_type == "categorical" else f"{shared_type}s"
        how_many = f"{len(columns)} columns are" if len(columns) > 1 else "1 column holds"
        listed = shorten(", ".join(columns), SHORT, placeholder=" ...")
        table.note(f"{how_many} {read_as}, judged together: {listed}")
    without = {j: one for j, one in readings.items() if one.type is None}
    reads = {j: one.ways[0] for j, one in without.items() if one.ways}
    categories = "data.types={{{}:categorical}} would read it"
    notes.note_left_out(table, {j: one.why for j, one in without.items()}, reads, categories)
    if not spelt:
        names_note, other_kind = notes.ask_kinds("say_columns", table, many)
        spelt = [f"{table.path}: {names_note}"] if names_note else []
    table.notes += spelt
    read = [j for j in columns_read if readings[j].type is not None]
    if not read:
        name_note = "; ".join(note.partition(": ")[2] for note in table.notes)
        others = [read_so for kind in kinds().values() if (read_so := kind.note_table(table, columns_read))]
        texts = [j for j in columns_read if _is_text(table, j)]
        documents = [inference.as_documents(table, column_key(table, j)) for j in texts[:1]]
        none_left = f"{table.path}: no column is left for the data"
        reasons = [f"{table.column(j)}: {one.why}" for j, one in without.items()]
        reasons += [*(note.partition(": ")[2] for note in spelt[:1]), *documents]
        typed = [column_key(table, j) for j, way in reads.items() if way.startswith("data.types")]
        as_read = others or [[f"data.types={{{key}:categorical}}"] for key in typed[:1]]
        if spelt and len(columns_read) > 1:
            as_read = [[other_kind]]
        ways = "".join(f", or of texts: {way}" for way in documents)
        message = f"{none_left}{f' ({name_note})' if name_note else ''}; expected one{ways}"
        raise RefusedTable(message, "; ".join([none_left, *reasons]), as_read)
    values = np.column_stack([values for j in read if (values := readings[j].values) is not None])
    asked_for = types if wanted.columns is None else columns_read
    types_read = [type for j in read if (type := readings[j].type) is not None]

    def way(d: int) -> str:
        return f"data.types={{{column_key(table, read[d])}:{types_read[d].type}}} would read it"

    data = notes.leave_out_determined(table, read, values, way, types_read, asked_for)
    read, values = [read[d] for d in data], values[:, data]
    _note_readings(table, {j: readings[j] for j in read})
    _note_read(table, readings, read, values)
    if labels is None and wanted.columns is None:
        notes.note_names(table, read, values)
        for kind in kinds().values():
            kind.note_table(table, columns_read)
    numeric = [d for d, j in enumerate(read) if (type := readings[j].type) is not None and not type.levels]
    if numeric:
        notes.note_numbers(table, [read[d] for d in numeric], values[:, numeric])
    is_one_of_levels = len(read) == 1 and types_read[data[0]].type in ("binary", "categorical")
    return Dataset(
        name,
        wanted.kind,
        values,
        None if labels is None else true_labels(table, labels, wanted.missing),
        columns=[table.names[j] for j in read] if table.names else None,
        types=tuple(types_read[d] for d in data),
        names=names,
        meta={
            "path": str(table.path),
            "rows": rows,
            "typed": [column_key(table, j) for j in read],
            "dates": {d: types[j] for d, j in enumerate(read) if types.get(j) in written.DATE_TYPES},
        }
        | notes_entry([*table.notes, ONE_OF_LEVELS] if is_one_of_levels else table.notes)
        | width_entry(read, table.width)
        | table.entries(read),
        is_recorded=True,
        positions=positions_in(read, table.width),
    )


def _is_text(table: Table, j: int) -> bool:
    """Whether most cells in column `j` have several words."""
    cells = [str(cell) for cell in table.cells(j).to_pylist()]
    return 2 * sum(len(cell.split()) > 1 for cell in cells) > len(cells)


def _raise_problems(table: Table, wanted: Wanted, readings: Mapping[int, inference.Reading]) -> None:
    """Raise what is wrong with the first column that is rejected, with what leaves out all such columns."""
    bad = [j for j, reading in readings.items() if reading.problem]
    if not bad:
        return
    first = readings[bad[0]]
    drop: list[str | int] = []
    if wanted.columns is not None:
        others = [column_key(table, j) for j in readings if j not in bad]
        leaves_out = f"data.columns=[{','.join(others)}] reads the others" if others else ""
    else:
        # as data.drop takes them: names, or numbers
        keys = [column_key(table, j) for j in bad]
        drop = [*wanted.drop, *(int(key) if key.isdecimal() else key for key in keys)]
        columns_text = f"all {len(bad)} unreadable columns" if len(bad) > 1 else "it"
        leaves_out = f"data.drop={write(drop)} leaves {columns_text} out"
    ways = [*first.ways, *[leaves_out] * bool(leaves_out)]
    # of several columns the first one's ways read that one alone
    whole = ways[::-1] if len(bad) < 2 else [leaves_out]
    reads = [[re.split(" (?:reads|leaves) ", way)[0]] for way in whole if way.startswith("data.")]
    raise RejectedColumns(f"{first.problem}{': ' if ways else ''}{', or '.join(ways)}", first.problem, drop, reads)


def _note_readings(table: Table, readings: Mapping[int, inference.Reading]) -> None:
    """Note how columns became what they are, in one line where the notes differ in numbers alone."""
    by_form: dict[str, list[int]] = {}
    for j, reading in readings.items():
        if reading.said:
            changes = r"-?\d[\d,.]*|\{.*?\}|data.drop=\S*"
            by_form.setdefault(re.sub(changes, "", reading.said), []).append(j)
    for first, *others in by_form.values():
        numbers = {re.sub(r"\{.*?\}|data.drop=\S*", "", readings[j].said) for j in (first, *others)}
        how = "likewise" if len(numbers) < 2 else "likewise, with other numbers,"
        likewise = f"; {how} {list_names([table.column(j) for j in others])}" if others else ""
        table.note(f"{table.column(first)}: {readings[first].said}{likewise}")
    if codes := list(dict.fromkeys(code for reading in readings.values() for code in reading.codes)):
        table.note(f"{shell_word(f'data.missing={write(codes)}')} reads what may be a code as missing in all columns")


def _note_read(table: Table, readings: Mapping[int, inference.Reading], read: Sequence[int], values: Any) -> None:
    """Note what every column is read as, in one line."""
    by_type: dict[str, list[str]] = {type: [] for type in COLUMN_TYPES}
    for d, j in enumerate(read):
        type = readings[j].type
        assert type is not None
        name = table.names[j] if table.names else f"column {j + 1}"
        held = describe_cells(values[:, d], type)
        by_type[type.type].append(f"{name} ({held})" if held else name)
    shown = "; ".join(f"{type}: {list_names(columns)}" for type, columns in by_type.items() if columns)
    table.note(f"{READ_AS}{shown} (data.types={{NAME:TYPE}} changes a type)")
    note_missing(table, read, values)


def describe_cells(values: NDArray[np.float64], type: ColumnType) -> str:
    """Say what a column holds: its levels and how often they come, or its range; empty if all cells are missing."""
    if np.isnan(values).all():
        return ""
    if not type.levels:
        return f"{np.nanmin(values):g} to {np.nanmax(values):g}"
    n = len(type.levels)
    counts = np.bincount(values[~np.isnan(values)].astype(np.int64), minlength=n)
    shown_levels = sorted(range(n), key=lambda k: -counts[k])[:SHOWN] if n > SHOWN else range(n)
    shown = ", ".join(f"{' '.join(quote(type.levels[k])[1:-1].split())} {counts[k]}" for k in shown_levels)
    return f"{n} levels: {shown}, ..." if n > SHOWN else shown


def frame_table(data: Any, name: str) -> tuple[Table, list[str] | None]:
    """A data frame, or what becomes one, as a table, and the names of its rows."""
    data = objects.as_pandas(data)
    data = data.to_frame() if isinstance(data, pd.Series) else data
    if not isinstance(data, pd.DataFrame):
        values, columns, names = objects.table_of(data, "cells")
        data = pd.DataFrame(values.toarray() if is_sparse(values) else values, columns=columns, index=names)
        data.columns = data.columns.map(str)
    _, _, names = objects.frame_of(data)
    # several columns may share a name
    plain = data.set_axis(range(data.shape[1]), axis=1)
    intervals = [j for j in plain if isinstance(plain[j].dtype, pd.IntervalDtype)]
    plain = plain.astype(dict.fromkeys(intervals, pd.CategoricalDtype(ordered=True)))
    categories = {j for j in plain if isinstance(plain[j].dtype, pd.CategoricalDtype)}
    orders = {j: [str(word) for word in plain[j].dtype.categories] for j in categories if plain[j].dtype.ordered}
    plain = plain.astype(dict.fromkeys(categories, object))
    table = formats.from_arrow(name, pa.table({str(j): _arrow_column(plain[j], name) for j in plain}))
    table.names, table.categories, table.orders = [str(column) for column in data.columns], categories, orders
    notes.check_names(table)
    return table, names


def _arrow_column(cells: "pd.Series", name: str) -> Any:
    """A column of a data frame for Arrow: what that does not take, as text; months and quarters as their first days."""
    cells = cells.dt.to_timestamp() if isinstance(cells.dtype, pd.PeriodDtype) else cells
    try:
        column = pa.Array.from_pandas(cells)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reject_machine_error(error, name)
    else:
        if not isinstance(column.type, pa.BaseExtensionType):
            return column
    return pa.Array.from_pandas(cells.map(str, na_action="ignore"))


class MixedReading(KindReading):
    """Reads tables whose columns are of several types, as the function `read` does."""

    read = staticmethod(read_mixed)

    def from_object(
        self,
        data: Any,
        truth: Labels,
        name: str,
        whole: bool = False,
        types: Mapping[str | int, str | Sequence[str]] | None = None,
    ) -> Dataset:
        """Convert an object; `types` as data.types of a file, `whole`: every column is data."""
        table, names = frame_table(data, name)
        chosen: list[str | int] | None = list(range(1, table.width + 1)) if whole else None
        dataset = self.read(table, Wanted(self.kind, None, chosen, [], types), None, name)
        return replace(dataset, truth=truth, names=dataset.names if names is None else names)

    def from_table(self, table: Table, wanted: Wanted, N: int | None, header: str | bool) -> Dataset:
        """Convert the first N rows of a table."""
        return self.read(table, wanted, N, table.title)

    def align(self, dataset: Dataset, new: Any) -> Dataset:
        """Code new cells as in the data; a level that the data do not have is missing, as nothing is known of it."""
        if isinstance(new, Dataset) and new.types == dataset.types:
            return new
        types, frame = dataset.types or (), new
        if not isinstance(new, pd.DataFrame):
            values, _, _ = objects.table_of(new, "cells")
            if not is_sparse(values) and not isinstance(new, pd.Series):
                values = np.asarray(new, dtype=object)  # the cells of a list keep their types
            frame = pd.DataFrame(dataset.read_columns(values.toarray() if is_sparse(values) else values))
        if frame.shape[1] != len(types):
            raise DataError(f"new items: {frame.shape[1]} column{'s' * (frame.shape[1] != 1)}; expected {len(types)}")
        values, told = np.full(frame.shape, np.nan), []
        for j, column in enumerate(types):
            cells = frame.iloc[:, j]
            present = np.flatnonzero(cells.notna())
            if column.levels:
                levels = inference.Levels(column.levels)
                values[present, j] = [levels.code(cell) for cell in cells.iloc[present]]
                unknown = present[np.isnan(values[present, j])]
                if len(unknown):
                    name = f"'{dataset.columns[j]}'" if dataset.columns else f"column {j + 1}"
                    what = f"new items: {len(unknown):,} of {len(cells):,} cells of {name} are read as missing"
                    told.append(f"{what}: the data do not have '{cells.iloc[unknown[0]]}'")
            elif pd.api.types.is_numeric_dtype(cells.dtype):
                values[:, j] = cells.to_numpy(dtype=np.float64, na_value=np.nan)
            else:
                values[:, j] = read_new(cells, dataset.meta.get("dates", {}).get(j, column.type))
        meta = {"notes": told} if told else {}
        return Dataset("new items", self.kind, values, columns=dataset.columns, types=types, meta=meta)

    def as_given(self, dataset: Dataset) -> Any:
        """The items as a data frame, levels in place of codes."""
        frame = super().as_given(dataset)
        for column, type_ in zip(dataset.columns or (), dataset.types or (), strict=False):
            if type_.levels:
                cells = [None if np.isnan(code) else type_.levels[int(code)] for code in frame[column]]
                frame[column] = pd.Series(cells, dtype=object)
        return frame
