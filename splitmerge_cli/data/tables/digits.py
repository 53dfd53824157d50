"""Whole numbers that lose digits as float64: codes of 17 digits, say, which are words digit by digit."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from splitmerge_cli.data.arrow import numbers_of
from splitmerge_cli.data.values import EXACT as EXACT
from splitmerge_cli.data.values import first_rounded

_LONG = r"^[-+]?\d{16,}(\.0*)?$"
"""Whole numbers that may lose digits."""
_MOST_DIGITS = 400
"""Characters from which on a whole number is larger than every float64."""


def long_digits(column: pa.ChunkedArray, also: Sequence[str | int | float] = ()) -> pa.ChunkedArray | None:
    """A column as text, where one of its whole numbers loses digits as float64; None of any other column.

    It holds whole numbers, decimal numbers or text; nothing is known any more of what a column of floats has lost.
    `also`: what else stands for a missing cell.

    Examples
    --------
    >>> import pyarrow as pa
    >>> long_digits(pa.chunked_array([[2**53, 2**53 + 1]])).to_pylist()
    ['9007199254740992', '9007199254740993']
    >>> long_digits(pa.chunked_array([[2**53, 10**18]])) is None
    True
    """
    kind, types = column.type, pa.types
    text = column
    if types.is_integer(kind):
        if kind.bit_width < 64 or not _loses_digits(column):
            return None
        text = pc.cast(column, pa.string())
    elif types.is_decimal(kind):
        text = pc.replace_substring_regex(pc.cast(column, pa.string()), r"\.0+$", "")
    elif not (types.is_string(kind) or types.is_large_string(kind)):
        return None
    return text if has_long_digits(pc.utf8_trim_whitespace(text), also) else None


def _loses_digits(column: pa.ChunkedArray) -> bool:
    """Whether a column of 64-bit whole numbers has one that is no float64."""
    return first_rounded(numbers_of(column.drop_null())) is not None


def has_long_digits(text: pa.ChunkedArray, also: Sequence[str | int | float] = ()) -> bool:
    """Whether a cell of text, without spaces around it, is a whole number that loses digits as float64; `also`: what
    else stands for a missing cell."""
    long_numbers = pc.unique(text.filter(pc.match_substring_regex(text, _LONG))).to_pylist()
    missing = set(map(str, also))
    return any(
        len(word) > _MOST_DIGITS or int(word.partition(".")[0]) != float(word)
        for word in long_numbers
        if word not in missing
    )
