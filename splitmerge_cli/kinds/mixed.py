"""Mixed tables: columns of several types."""

from typing import Any

import numpy as np

from splitmerge_cli.data.dataset import COLUMN_TYPES, ColumnType, Dataset, Kind
from splitmerge_cli.data.values import FINITE, LARGEST, MAGNITUDE
from splitmerge_cli.received import DataError

CONVERSIONS = {"real": "points", "binary": "binary"}
"""The kind of a table whose columns are all of one type."""


class Mixed(Kind):
    """Columns of several types: float64 ``[N, D]``, NaN where a cell is missing, and a `ColumnType` for each column.

    Codes (binary, categorical, ordinal), whole numbers from 0 (count) or finite numbers (real).
    """

    name = "mixed"
    model = "mixed"
    generator = "splitmerge_cli.data.generated.mixed:generate"
    reading = "splitmerge_cli.data.tables.mixed:MixedReading"
    text_types = ("string",)
    any_columns = True
    has_columns = True
    pictures = (*Kind.pictures, "pairs", "projection", "cluster_means")

    def example_options(self, N: int) -> dict[str, Any]:
        return {"components": min(5, N)}

    def check(self, dataset: Dataset) -> None:
        x, name = dataset.values, dataset.name
        if not isinstance(x, np.ndarray) or x.ndim != 2 or x.shape[1] == 0 or x.dtype != np.float64:
            described = f"{getattr(x, 'dtype', type(x).__name__)} of shape {getattr(x, 'shape', 'unknown')}"
            raise DataError(f"{name}: {described}; expected float64 [N, D], D at least 1")
        if dataset.types is None or len(dataset.types) != x.shape[1]:
            types = "none" if dataset.types is None else len(dataset.types)
            raise DataError(f"{name}: types of columns: {types}; expected {x.shape[1]}")
        for j, column in enumerate(dataset.types):
            if column.type not in COLUMN_TYPES:
                raise DataError(f"{name}: type {column.type}: expected one of {', '.join(COLUMN_TYPES)}")
            if column.type == "binary" and len(column.levels) != 2:
                raise DataError(f"{name}: a binary column of {len(column.levels)} levels; expected 2")
            cells = x[:, j]
            if column.type == "real":
                good, expected = np.abs(cells) <= MAGNITUDE, FINITE
            else:
                largest = len(column.levels) - 1 if column.type != "count" else LARGEST
                good = (cells >= 0) & (cells <= largest) & (cells == np.floor(cells))
                expected = f"a whole number from 0 to {largest}"
            bad = ~(good | np.isnan(cells))
            if bad.any():
                i = int(np.argmax(bad))
                raise DataError(f"{name}: {dataset.place(i, j)}: {cells[i]:g}; expected {expected}")

    def outline(self, N: int, D: int) -> Dataset:
        """A binary column, a categorical one of three levels, one of counts and D real ones."""
        types = [ColumnType("binary", ("0", "1")), ColumnType("categorical", ("0", "1", "2")), ColumnType("count")]
        return Dataset("simulated", self, np.zeros((N, 3 + D)), types=(*types, *[ColumnType("real")] * D))

    def types_of(self, dataset: Dataset) -> tuple[ColumnType, ...]:
        return dataset.types or ()

    def conversion(self, dataset: Dataset) -> str:
        types = {column.type for column in dataset.types or ()}
        if len(types) > 1 or np.isnan(dataset.values).any():
            return self.name
        return CONVERSIONS.get(types.pop(), self.name)

    def reader_options(self, dataset: Dataset) -> dict[str, Any]:
        if "typed" not in dataset.meta:
            return {}
        # a few rows do not show what their columns are: the data do, and their levels are looked up later
        typed = dict(zip(dataset.column_keys, dataset.types or (), strict=True))
        dates = dataset.meta.get("dates", {})
        types = {
            name: "categorical" if column.levels else dates.get(d, column.type)
            for d, (name, column) in enumerate(typed.items())
        }
        return {"columns": list(typed), "drop": None, "truth": None, "types": types}
