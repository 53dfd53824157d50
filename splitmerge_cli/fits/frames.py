"""Data frames that show all of their columns in a terminal."""

import shutil
import sys

import pandas as pd

NUMBERED = 8
"""Letters for the number of a row, next to a column as wide as the terminal."""


class Table(pd.DataFrame):
    """A data frame that hides no column in a narrow terminal: columns that do not fit follow below."""

    @property
    def _constructor(self) -> type["Table"]:
        return Table

    def __repr__(self) -> str:
        # a notebook or a file is as wide as pandas says, wherever it is written
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else pd.get_option("display.width") or 80
        widest = max(width - NUMBERED, NUMBERED)
        with pd.option_context(
            *("display.max_columns", None), *("display.width", width), *("display.max_colwidth", widest)
        ):
            return super().__repr__()
