"""Notes on how a table came about, by its cells: rows of names, columns that tell the items apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.data.base import DataError
from splitmerge_cli.data.tables.inference import NAMED_AS_CLASS, NAMED_AS_ID
from splitmerge_cli.data.tables.table import Table, column_key, is_text, list_names, quote

FEW = 3
"""Rows below which no note says that a column counts them: that may well be chance."""
SOME = 10
"""As `FEW`, for a column that counts from a number other than 0 and 1, or whose values all differ."""


def check_names(table: Table) -> None:
    """Note names that several columns have.

    Raises
    ------
    DataError
        A row holds the names of the columns again, as files do that were put together of several.
    """
    names = [name.strip() for name in table.names or []]
    twice = sorted({name for name in names if name and names.count(name) > 1}) if len(set(names)) < len(names) else []
    for name in twice[:1]:
        others = f", as others that share names: {list_names(twice[1:])}" if len(twice) > 1 else ""
        columns = ", ".join(str(j + 1) for j, other in enumerate(names) if other == name)
        table.notes.append(f"{table.path}: columns {columns} are all called '{name}'; numbers choose them{others}")
    held = [(column, name) for column, name in zip(table.columns, names, strict=bool(names)) if len(column)]
    if len(held) < 2 or not all(is_text(c) for c, _ in held):
        return
    again = np.ones(len(held[0][0]), dtype=bool)
    for column, name in held:
        # one column after the other, until no row is left
        if not again.any():
            return
        again &= pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), name), False).to_numpy()
    if again.any():
        raise DataError(
            f"{table.path}: row {table.row(int(np.argmax(again)))}: the names of the columns again; expected them in "
            "the first row alone"
        )


def note_identifiers(table: Table, columns: Sequence[int], x: NDArray[Any] | csr_array) -> None:
    """Note which columns of points tell the rows apart, and are read as data though nobody named them.

    Parameters
    ----------
    columns : sequence of int
        Positions of the columns that are read.
    x : numpy.ndarray or csr_array
        Their numbers ``[rows, columns]``.
    """
    if len(columns) < 2 or x.shape[0] < FEW:
        return
    # of sparse points, which have many columns, the first alone
    for d, j in enumerate(columns[:1] if isinstance(x, csr_array) else columns):
        name = table.names[j] if table.names else ""
        values = x[:, [d]].toarray().ravel() if isinstance(x, csr_array) else x[:, d]
        if (why := _describe_identifier(values, name)) is not None:
            table.notes.append(
                f"{table.path}: {table.column(j)} {why} and is read as data (data.drop=[{column_key(table, j)}] leaves "
                "it out)"
            )


def note_classes(table: Table, columns: Sequence[int], x: NDArray[Any]) -> None:
    """Note which columns are read as data though their names say that they hold the classes of the rows.

    Parameters
    ----------
    columns : sequence of int
        Positions of the columns that are read.
    x : numpy.ndarray
        Their numbers ``[rows, columns]``; codes of words.
    """
    if len(columns) < 2 or not table.names:
        return
    for d, j in enumerate(columns):
        if NAMED_AS_CLASS.fullmatch(table.names[j].strip()) is None:
            continue
        values = x[:, d][~np.isnan(x[:, d])] if x.dtype.kind == "f" else x[:, d]
        if len(values) >= SOME and (values == np.floor(values)).all() and 2 * len(np.unique(values)) <= len(values):
            key = column_key(table, j)
            table.notes.append(
                f"{table.path}: {table.column(j)} is read as data; if it holds known classes, data.truth={key} leaves "
                f"it out and compares the clusters with it (data.drop=[{key}] leaves it out alone)"
            )


def note_name(table: Table, j: int, tokens: NDArray[np.int32], words: int) -> None:
    """Note that the first of the tokens in column `j` may be the name of the column."""
    first = table.cells(j)[0].as_py() if table.names is None else None
    if not isinstance(first, str) or (tokens == tokens[0]).sum() > 1:
        return
    known = NAMED_AS_ID.fullmatch(first) or NAMED_AS_CLASS.fullmatch(first)
    if known or (len(tokens) > SOME and 2 * words <= len(tokens) and (np.bincount(tokens) == 1).sum() == 1):
        table.notes.append(
            f"{table.path}: row {table.row(0)}: {quote(first)} is read as a token (data.header=true reads it as the "
            "name of the column)"
        )


def note_distinct(table: Table, j: int, tokens: NDArray[np.int32], words: int) -> None:
    """Note that no two tokens of column `j` are the same."""
    if words == len(tokens) >= SOME:
        table.notes.append(
            f"{table.path}: {table.column(j)} holds another token in each row, as identifiers do: model=emm compares "
            "whole tokens"
        )


def _describe_identifier(values: NDArray[Any], name: str) -> str | None:
    """Describe a column of numbers that seems to tell the rows apart; None if it seems to be data."""
    first, last, named = float(values[0]), float(values[-1]), NAMED_AS_ID.fullmatch(name) is not None
    if last - first == len(values) - 1 and (np.diff(values) == 1).all():
        if first in (0, 1):
            return f"counts the rows from {first:g}"
        return f"counts up by one from {first:g}" if named or len(values) >= SOME else None
    if named and len(values) >= SOME and first.is_integer() and (values == np.floor(values)).all():
        return "holds another whole number in each row" if len(np.unique(values)) == len(values) else None
    return None
