"""Mixed tables: columns of several types, cells that may be missing, notes on what each column is read as."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from splitmerge_cli.data.dataset import COLUMN_TYPES, Dataset
from splitmerge_cli.data.opening import Limit
from splitmerge_cli.data.tables import missing
from splitmerge_cli.data.tables.cells import Cells, cells_of
from splitmerge_cli.data.tables.columns import index, true_labels
from splitmerge_cli.data.tables.inference import Reading, as_documents, infer, read_as_type
from splitmerge_cli.data.tables.letters import say_names
from splitmerge_cli.data.tables.notes import NAMES_OF_ITEMS, READ_AS, note_classes, note_left_out
from splitmerge_cli.data.tables.table import MOST_COLUMNS, Table, column_key, list_names, quote
from splitmerge_cli.data.tables.wanted import Wanted
from splitmerge_cli.data.tables.written import DATE_TYPES
from splitmerge_cli.data.values import notes_entry, positions_in, require, width_entry
from splitmerge_cli.overrides import write
from splitmerge_cli.received import DataError

SKIP = "skip"
ALIASES = {"ordinal": "categorical"}
"""Types that are read as others: the order of the levels is not used."""
SHOWN = 6
"""Levels of a column that a note lists."""


class NoMixedTable(DataError):
    """A matrix of numbers that cannot be read as a mixed table: it is sparse, or has too many columns."""


class RejectedColumns(DataError):
    """Columns that no type fits.

    Attributes
    ----------
    problem : str
        What is wrong with the first.
    drop : list of str or int
        Columns to leave out, those that the user leaves out among them; empty where the user chose the columns.
    """

    def __init__(self, message: str, problem: str, drop: list[str | int]) -> None:
        super().__init__(message)
        self.problem, self.drop = problem, drop


def read_types(table: Table, types: Mapping[str | int, str] | None) -> dict[int, str]:
    """Read the option data.types, by the positions of the columns."""
    known = (*COLUMN_TYPES, *ALIASES, *DATE_TYPES, SKIP)
    if types is None:
        return {}
    require(isinstance(types, Mapping), "data.types", types, "columns and their types, such as {age: real}")
    found: dict[int, str] = {}
    for column, type in types.items():
        require(type in known, f"data.types.{column}", type, f"one of {', '.join(known)}")
        found[index(table, "data.types", column)] = ALIASES.get(type, type)
    return found


def read_mixed(table: Table, wanted: Wanted, N: int | None, name: str) -> Dataset:
    """A table as kind ``mixed``; see `splitmerge_cli.data.tables.inference` for the rules.

    Raises
    ------
    RejectedColumns
        A column that cannot be read (the message names the first such cell, and what leaves all of them out).
    DataError
        No column is left; a type that its column does not fit; more than `MOST_COLUMNS` columns (`NoMixedTable`).
    """
    if table.width > MOST_COLUMNS:
        raise NoMixedTable(f"data.kind=mixed: expected at most {MOST_COLUMNS} columns in {table.path}")
    types = read_types(table, wanted.types)
    rows = table.rows
    table.take(N)
    labels, kept = wanted.resolve(table)
    kept = [j for j in kept if types.get(j) != SKIP]
    Limit.current().check(table.path, 8 * table.rows * len(kept), " as numbers")
    readings: dict[int, Reading] = {}
    names, spelt = table.names_of_items(), list[str]()
    for j in kept:
        cells = cells_of(table, j, wanted.missing)
        key = column_key(table, j)
        chosen = wanted.columns is not None
        readings[j] = read_as_type(cells, types[j]) if j in types else infer(cells, key, chosen)
        if readings[j].names and names is None:
            names = [str(cell).strip() for cell in table.cells(j).to_pylist()]
            readings[j] = replace(readings[j], why=NAMES_OF_ITEMS)
        if (
            cells.text is not None
            and (cells.numbers is None or cells.is_padded)
            and (said := _say_names(cells, readings[j]))
        ):
            if readings[j].problem:
                readings[j] = replace(readings[j], problem=f"{readings[j].problem}; {said}")
            else:
                spelt.append(f"{table.path}: {table.column(j)}: {said}")
    _raise_problems(table, wanted, readings)
    without = {j: one for j, one in readings.items() if one.type is None}
    reads = {j: one.ways[0] for j, one in without.items() if one.ways}
    categories = "data.types={{{}:categorical}} would read it"
    note_left_out(table, {j: one.why for j, one in without.items()}, reads, categories)
    table.notes += [f"{table.path}: {table.column(j)}: {one.said}" for j, one in readings.items() if one.said]
    table.notes += spelt
    read = [j for j in kept if readings[j].type is not None]
    if not read:
        said = "; ".join(note.partition(": ")[2] for note in table.notes)
        texts = [j for j in kept if _is_text(table, j)]
        ways = "".join(f", or of texts: {as_documents(table, column_key(table, j))}" for j in texts[:1])
        raise DataError(
            f"{table.path}: no column is left for the data{f' ({said})' if said else ''}; expected one{ways}"
        )
    values = np.column_stack([values for j in read if (values := readings[j].values) is not None])
    _note_read(table, readings, read, values)
    if labels is None and wanted.columns is None:
        note_classes(table, read, values)
    found = [readings[j].type for j in read]
    return Dataset(
        name,
        wanted.kind,
        values,
        None if labels is None else true_labels(table, labels, wanted.missing),
        columns=[table.names[j] for j in read] if table.names else None,
        types=tuple(type for type in found if type is not None),
        names=names,
        meta={
            "path": str(table.path),
            "rows": rows,
            "typed": [column_key(table, j) for j in read],
            "dates": {d: types[j] for d, j in enumerate(read) if types.get(j) in DATE_TYPES},
        }
        | notes_entry(table.notes)
        | width_entry(read, table.width),
        is_recorded=True,
        positions=positions_in(read, table.width),
    )


def _say_names(cells: Cells, reading: Reading) -> str:
    left_out = reading.type is None and not reading.problem
    return say_names(cells.table, cells.j, cells.values()[1], cells.present, left_out)


def _is_text(table: Table, j: int) -> bool:
    """Whether most cells in column `j` have several words."""
    cells = [str(cell) for cell in table.cells(j).to_pylist()]
    return 2 * sum(len(cell.split()) > 1 for cell in cells) > len(cells)


def _raise_problems(table: Table, wanted: Wanted, readings: Mapping[int, Reading]) -> None:
    """Raise what is wrong with the first column that is rejected, with what leaves out all such columns."""
    bad = [j for j, reading in readings.items() if reading.problem]
    if not bad:
        return
    first = readings[bad[0]]
    if wanted.columns is not None:
        others = [column_key(table, j) for j in readings if j not in bad]
        leaves_out = f"data.columns=[{','.join(others)}] reads the others" if others else ""
    else:
        dropped = [*wanted.drop, *(_typed_key(table, j) for j in bad)]
        what = f"all {len(bad)} columns that cannot be read" if len(bad) > 1 else "it"
        leaves_out = f"data.drop={write(dropped)} leaves {what} out"
    ways = [*first.ways, *[leaves_out] * bool(leaves_out)]
    drop = [] if wanted.columns is not None else [*wanted.drop, *(_typed_key(table, j) for j in bad)]
    raise RejectedColumns(f"{first.problem}{': ' if ways else ''}{', or '.join(ways)}", first.problem, drop)


def _typed_key(table: Table, j: int) -> str | int:
    """Column `j` as `data.drop` takes it: its name, or its number."""
    key = column_key(table, j)
    return int(key) if key.isdecimal() else key


def _note_read(table: Table, readings: Mapping[int, Reading], read: Sequence[int], values: Any) -> None:
    """Note what every column is read as, in one line."""
    by_type: dict[str, list[str]] = {type: [] for type in COLUMN_TYPES}
    for d, j in enumerate(read):
        type = readings[j].type
        assert type is not None
        name = table.names[j] if table.names else f"column {j + 1}"
        by_type[type.type].append(name + _DETAILS[type.type](values[:, d], type.levels))
    shown = "; ".join(f"{type}: {list_names(columns)}" for type, columns in by_type.items() if columns)
    table.notes.append(f"{table.path}: {READ_AS}{shown} (data.types={{NAME:TYPE}} says otherwise)")
    missing.note(table, read, values)


def _levels(values: Any, levels: tuple[str, ...]) -> str:
    counts = np.bincount(values[~np.isnan(values)].astype(np.int64), minlength=len(levels))
    most = sorted(range(len(levels)), key=lambda k: -counts[k])[:SHOWN] if len(levels) > SHOWN else range(len(levels))
    shown = [f"{' '.join(quote(levels[k])[1:-1].split())} {counts[k]}" for k in most]
    more = f"{len(levels)} levels: " if len(levels) > SHOWN else ""
    return f" ({more}{', '.join(shown)}{', ...' if more else ''})"


def _range(values: Any, levels: tuple[str, ...]) -> str:
    return f" ({np.nanmin(values):g} to {np.nanmax(values):g})" if not np.isnan(values).all() else ""


_DETAILS: dict[str, Callable[[Any, tuple[str, ...]], str]] = {
    "binary": _levels,
    "categorical": _levels,
    "count": _range,
    "real": _range,
}
