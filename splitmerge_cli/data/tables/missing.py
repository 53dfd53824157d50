"""What stands in a cell where a value is missing."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.base import require
from splitmerge_cli.data.tables.table import WRITTEN


def asked(missing: object) -> list[str | int | float]:
    """The option data.missing as a list; one value may stand without its brackets."""
    if missing is None:
        return []
    listed = [missing] if isinstance(missing, str | int | float) else missing
    good = isinstance(listed, Sequence) and all(type(v) in (str, int, float) for v in listed)
    require(good, "data.missing", missing, "what stands in missing cells, such as [-99,unknown]")
    return list(listed)  # type: ignore[call-overload]


def in_text(cells: pa.ChunkedArray, also: Sequence[str | int | float] = ()) -> NDArray[np.bool_]:
    """Which cells of text, spaces around them stripped, are missing; numbers of `also` are looked for `in_numbers`."""
    known = pa.array([*WRITTEN, *map(str, also)], cells.type)
    found: NDArray[np.bool_] = pc.or_(pc.is_null(cells), pc.is_in(cells, known)).to_numpy()
    return found


def in_numbers(values: NDArray[np.float64], also: Sequence[str | int | float] = ()) -> NDArray[np.bool_]:
    """Which numbers are missing: NaN, and those of `also`."""
    found = np.isnan(values)
    for value in also:
        try:
            found |= values == float(value)
        except (ValueError, OverflowError):  # a word
            continue
    return found
