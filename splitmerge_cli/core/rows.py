"""Rows of a table of which others are elsewhere, in other shards."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Rows:
    """Rows of a table that stand in for it in the constructor of a model.

    Parameters
    ----------
    values : ndarray, shape (n, D)
        The rows that are here, perhaps none. The model may write into them.
    total : int
        Rows for which the model keeps tables by the size of a cluster.
    summary : object
        What the model's class needs to know of all rows; None: nothing.
    """

    values: np.ndarray
    total: int
    summary: Any = None
