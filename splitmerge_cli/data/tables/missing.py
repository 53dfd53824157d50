"""Missing cells: which cells stand for them, NaN in their place, a note of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.tables.table import WRITTEN, Table, list_names
from splitmerge_cli.data.values import require

NONE = "None"
"""Word of `WRITTEN` that may be a level (`splitmerge_cli.data.tables.cells.find_none_levels`)."""


def read_option(missing: object) -> list[str | int | float]:
    """Read the option data.missing as a list; one value may stand without its brackets."""
    if missing is None:
        return []
    listed = [missing] if isinstance(missing, str | int | float) else missing
    good = isinstance(listed, Sequence) and all(type(v) in (str, int, float) for v in listed)
    require(good, "data.missing", missing, "the contents of missing cells, such as [-99,unknown]")
    return list(listed)  # type: ignore[call-overload]


def in_text(
    cells: pa.ChunkedArray, also: Sequence[str | int | float] = (), has_none: bool = False
) -> NDArray[np.bool_]:
    """Which cells of text, spaces around them stripped, are missing; numbers of `also` are looked for `in_numbers`, and
    ``None`` is a level if the column `has_none`."""
    known = pa.array([*(word for word in WRITTEN if not has_none or word != NONE), *map(str, also)], cells.type)
    is_missing: NDArray[np.bool_] = pc.or_(pc.is_null(cells), pc.is_in(cells, known)).to_numpy()
    return is_missing


def in_numbers(values: NDArray[np.floating], also: Sequence[str | int | float] = ()) -> NDArray[np.bool_]:
    """Which numbers are missing: NaN, and the numbers in `also`."""
    is_missing = np.isnan(values)
    for value in also:
        try:
            is_missing |= values == float(value)
        except (ValueError, OverflowError):  # a word
            continue
    return is_missing


def mark_missing(x: NDArray[Any], also: Sequence[str | int | float]) -> NDArray[Any]:
    """Put NaN in place of the numbers of `also`; an array without any of them is returned as it is."""
    is_marked = in_numbers(x, also) & ~np.isnan(x) if also else np.zeros(0, dtype=bool)
    return np.where(is_marked, np.nan, x) if is_marked.any() else x


def note(table: Table, read: Sequence[int], values: NDArray[np.floating]) -> None:
    """Let a table note which of the columns `read` have missing cells, and how many; `values`: ``[rows, columns]``."""
    absent = np.isnan(values)
    if not absent.any():
        return
    columns: list[int] = np.flatnonzero(absent.any(axis=0)).tolist()
    names = table.names
    counted = [f"{names[read[d]] if names else f'column {read[d] + 1}'} {int(absent[:, d].sum())}" for d in columns]
    nothing = int(absent.all(axis=1).sum())
    empty = f"; rows without any value: {nothing}" if nothing else ""
    table.notes.append(f"{table.path}: missing cells: {list_names(counted)}{empty}")
