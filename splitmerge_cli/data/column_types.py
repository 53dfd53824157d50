"""Types of the columns in a table, and rows that are read once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COLUMN_TYPES = ("binary", "categorical", "ordinal", "count", "real")
"""Types of columns in a mixed table."""


@dataclass(frozen=True)
class ColumnType:
    """Type of a column in a mixed table, one of `COLUMN_TYPES`, and the values (levels) that the codes of a ``binary``,
    ``categorical`` or ``ordinal`` one stand for, code 0 first.
    """

    type: str
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Copies:
    """Rows of a table, each different one of which is read once: the item that each row is (int32 ``[rows]``, numbered
    by first appearance), and names of the rows, where the data give one.
    """

    items: NDArray[np.int32]
    names: list[str] | None = None
