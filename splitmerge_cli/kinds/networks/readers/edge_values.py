"""Values of edges: cells of a column, attributes or entries of a matrix as weights, counts, numbers or levels."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.tables.table import NUMBER, encode, is_text
from splitmerge_cli.data.values import A_WEIGHT, FINITE, LARGEST, MAGNITUDE
from splitmerge_cli.kinds.networks.data import BINARY, COUNT, LEVELS, REAL

UNKNOWN = ("", "NA", "N/A", "na", "n/a", "<NA>", "NaN", "nan", "null", "NULL", "None", "?")
"""Values of edges that are missing, as they are written; ``-`` may be a sign."""
MOST_LEVELS = 100
FEW_LEVELS = 20
"""Levels of edges that are read without being asked for, at most."""
TIME = re.compile("time|date|year|month|day|^t$|^ts$|^id$|_id$")
"""Names of columns whose numbers are no values of edges."""
TIME_UNITS = np.array([1.0, 1e3, 1e6, 1e9])
"""Parts of a second in which times are written."""
DATE_TIME = r"^\s*\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}.*)?\s*$"
MANY_ROWS, MOST_DIFFERENT = 20, 0.9
"""Rows from which on numbers are no counts if more than this share of them differ."""
VALUE_WORDS = {
    *("weight", "weights", "value", "values", "count", "counts", "sign", "rating", "score", "strength", "freq"),
    *("frequency", "n", "w"),
}
"""Names of columns and attributes that hold values of edges."""
LAYER_WORDS = {"layer", "relation", "relationship", "predicate", "wave"}
"""Names of columns and attributes that hold the layers of edges."""
EXPECTED = {
    BINARY: A_WEIGHT,
    COUNT: f"a whole number from 0 to {LARGEST}",
    REAL: FINITE,
    LEVELS: f"one of {MOST_LEVELS} levels at most",
}
"""Description of a value by its form, for messages."""


class EdgeValues(NamedTuple):
    """Values of edges, NaN where one is missing; what the codes of ``levels`` stand for; the position of the first that
    has not the form, None if all have it."""

    numbers: NDArray[np.float64]
    levels: tuple[str, ...] = ()
    bad: int | None = None


def read_values(cells: pa.ChunkedArray | NDArray[Any] | Sequence[Any], form: str) -> EdgeValues:
    """Read values of edges in one of the forms of `splitmerge_cli.kinds.networks.data`.

    Levels that are numbers ascend; words are in alphabetical order.
    """
    column = _column(cells)
    if is_text(column):
        text = pc.utf8_trim_whitespace(pc.cast(column, pa.large_string()))
        text = pc.if_else(pc.is_in(text, value_set=pa.array(UNKNOWN, pa.large_string())), None, text)
        is_number = pc.match_substring_regex(text, f"(?i)^({NUMBER.pattern})$")
        if pc.all(is_number).as_py() is False:
            if form == LEVELS:
                return _levels_of_words(text)
            return EdgeValues(np.empty(0), (), int(np.argmin(pc.fill_null(is_number, True).to_numpy())))
        column = pc.cast(text, pa.float64())
    numbers = np.array(pc.cast(column, pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    present = ~np.isnan(numbers)
    if form == LEVELS:
        distinct, codes = np.unique(numbers[present], return_inverse=True)
        numbers[present] = codes
        bad = int(np.argmax(numbers >= MOST_LEVELS)) if len(distinct) > MOST_LEVELS else None
        return EdgeValues(numbers, tuple(f"{level:.15g}" for level in distinct), bad)
    least, largest = {COUNT: (0, LARGEST), REAL: (-MAGNITUDE, MAGNITUDE)}.get(form, (0, MAGNITUDE))
    with np.errstate(invalid="ignore"):
        good = (numbers >= least) & (numbers <= largest) & ((form != COUNT) | (numbers == np.floor(numbers)))
    good |= ~present
    return EdgeValues(numbers, (), None if good.all() else int(np.argmin(good)))


def read_weights(weights: Sequence[Any] | NDArray[Any]) -> tuple[NDArray[np.float64], int | None]:
    """Weights of edges as numbers, and the position of the first that is none; None if all are weights.

    Words, complex numbers, missing, negative and infinite ones are no weights; they become NaN or stay as they are.
    """
    values = np.asarray(weights)
    numbers = values.astype(np.float64) if values.dtype.kind in "biuf" else np.array(list(map(_number, weights)))
    with np.errstate(invalid="ignore"):
        good = (numbers >= 0) & (numbers <= MAGNITUDE)
    return numbers, None if good.all() else int(np.argmin(good))


def _number(value: Any) -> float:
    try:
        return np.nan if isinstance(value, str | bytes | complex | np.complexfloating) else float(value)
    except (TypeError, ValueError):
        return np.nan


def are_times(cells: pa.ChunkedArray | NDArray[Any] | Sequence[Any]) -> bool:
    """Whether values of edges are times: whole numbers all of which are seconds, milliseconds, microseconds or
    nanoseconds of the years 1973 to 2100, or dates with four digits of the year.

    >>> are_times(["1415731200", "1415731260"]), are_times(["2014-11-11", "2014-11-12"]), are_times(["3", "12"])
    (True, True, False)
    """
    real = read_values(cells, REAL)
    if real.bad is None:
        known = real.numbers[~np.isnan(real.numbers)]
        units = (known >= 1e8 * TIME_UNITS[:, None]) & (known <= 4.1e9 * TIME_UNITS[:, None])
        return len(known) > 0 and bool((known == np.floor(known)).all() and units.all(axis=1).any())
    column = _column(cells)
    return is_text(column) and bool(pc.all(pc.match_substring_regex(column, DATE_TIME)).as_py())


def are_signed(cells: pa.ChunkedArray | NDArray[Any] | Sequence[Any]) -> bool:
    """Whether values of edges are few whole numbers, some of them below 0.

    >>> [are_signed(cells) for cells in (["-1", "1"], ["1", "2"], ["-0.5", "1"], ["low", "high"])]
    [True, False, False, False]
    """
    described = describe_values(cells)
    if described is None or described[0] != LEVELS:
        return False
    # numbers are levels only if some are below 0
    return len(read_values(cells, LEVELS).levels) <= FEW_LEVELS and read_values(cells, REAL).bad is None


def describe_values(cells: pa.ChunkedArray | NDArray[Any] | Sequence[Any]) -> tuple[str, str] | None:
    """The form that values of edges have, and what they are in words; None where they do not differ, and of lists and
    the like, which the reader refuses."""
    if isinstance(cells, pa.ChunkedArray) and pa.types.is_nested(cells.type):
        return None
    real = read_values(cells, REAL)
    if real.bad is None:
        distinct = np.unique(real.numbers[~np.isnan(real.numbers)])
        if len(distinct) < 2:
            return None
        whole = (distinct == np.floor(distinct)).all()
        few, rows = len(distinct) <= MOST_LEVELS, len(real.numbers)
        if are_times(cells):
            return None
        # numbers that differ in nearly every row count nothing
        counts = distinct[0] >= 0 and (rows < MANY_ROWS or len(distinct) <= MOST_DIFFERENT * rows)
        form = (COUNT if counts else LEVELS if few and distinct[0] < 0 else REAL) if whole else REAL
        signs = ", edges below 0 count as the others" if distinct[0] < 0 else ""
        return form, f"weights ({len(distinct)} values, {distinct[0]:g} to {distinct[-1]:g}{signs})"
    levels = read_values(cells, LEVELS)
    shown = ", ".join([*levels.levels[:4], *["..."] * (len(levels.levels) > 4)])
    return None if levels.bad is not None else (LEVELS, f"levels ({shown})")


def _levels_of_words(text: pa.ChunkedArray) -> EdgeValues:
    codes, words = encode(text)
    levels = sorted(words)
    place = {level: k for k, level in enumerate(levels)}
    # -1, the code of a missing value, is the last
    numbers = np.array([*(place[word] for word in words), np.nan])[codes]
    bad = int(np.argmax(numbers >= MOST_LEVELS)) if len(words) > MOST_LEVELS else None
    return EdgeValues(numbers, tuple(levels), bad)


def _column(cells: pa.ChunkedArray | NDArray[Any] | Sequence[Any]) -> pa.ChunkedArray:
    """Cells as one column of numbers or of text."""
    if isinstance(cells, pa.ChunkedArray):
        return pc.cast(cells, pa.large_string()) if pa.types.is_dictionary(cells.type) else cells
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        return pa.chunked_array([pa.array(cells)])
    # a missing one is written so, too
    plain = bool | int | float | np.number | np.bool_
    texts = [str(float(cell)) if isinstance(cell, plain) else str(cell) for cell in cells]
    return pa.chunked_array([pa.array(texts, pa.large_string())])
