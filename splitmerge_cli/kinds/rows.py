"""Rows of a table whose columns are all alike: what points, 0 and 1, and other numbers have in common."""

from typing import Any, ClassVar

import numpy as np

from splitmerge_cli.data.dataset import ColumnType, Dataset, Kind
from splitmerge_cli.data.values import blocks
from splitmerge_cli.received import DataError


class Rows(Kind):
    """Rows of numbers.

    A subclass says which numbers are cells (`fits`, `expected`), how they are held (`dtype`) and what a column is
    (`column_types`). Tables with missing cells are held as float64, these NaN.
    """

    levels: ClassVar[tuple[str, ...]] = ()
    """Levels of a column, where these are few."""
    reading = "splitmerge_cli.data.tables.rows:RowsReading"
    text_types: ClassVar[tuple[str, ...]] = ("float64", "string")
    of_numbers = True
    has_columns = True
    column_types: ClassVar[tuple[str, ...]] = ("real",)
    pictures = (*Kind.pictures, "pairs", "projection", "cluster_means")

    def check(self, dataset: Dataset) -> None:
        x = dataset.values
        if not isinstance(x, np.ndarray) or x.ndim != 2 or x.shape[1] == 0 or x.dtype.kind not in "biuf":
            described = f"{getattr(x, 'dtype', type(x).__name__)} of shape {getattr(x, 'shape', 'unknown')}"
            raise DataError(f"{dataset.name}: {described}; expected {self.cells} [N, D], D at least 1")
        for start, block in blocks(x):
            good = self.fits(block) | np.isnan(block) if block.dtype.kind == "f" else self.fits(block)
            if not good.all():
                i, j = (int(index) for index in np.argwhere(~good)[0])
                raise DataError(
                    f"{dataset.name}: {dataset.place(start + i, j)}: {block[i, j]:g}; expected {self.expected}"
                )

    def types_of(self, dataset: Dataset) -> tuple[ColumnType, ...]:
        return (ColumnType(self.column_types[0], self.levels),) * dataset.values.shape[1]

    def outline(self, N: int, D: int) -> Dataset:
        return Dataset("simulated", self, np.zeros((N, D), dtype=self.dtype))

    def reader_options(self, dataset: Dataset) -> dict[str, Any]:
        # a column that is left out of the data may look like data in a few rows
        if "typed" not in dataset.meta:
            return {}
        return {"columns": dataset.column_keys, "drop": None, "truth": None}
