"""Rows of a table whose columns are all alike: what points, 0 and 1, and other numbers have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.kinds.base import Kind, Labels
from splitmerge_cli.received import DataError

if TYPE_CHECKING:
    from splitmerge_cli.data.base import ColumnType, Dataset
    from splitmerge_cli.data.tables.table import Table
    from splitmerge_cli.data.tables.wanted import Wanted


class Rows(Kind):
    """Rows of numbers.

    A subclass says which numbers are cells (`fits`, `expected`), how they are held (`dtype`) and what a column is
    (`column_types`). Tables with missing cells are held as float64, these NaN.
    """

    dtype: ClassVar[type] = np.float64
    """Type of the values where no cell is missing."""
    levels: ClassVar[tuple[str, ...]] = ()
    """Levels of a column, where these are few."""
    cells = "numbers"
    """Plural of a cell, for messages."""
    text_types: ClassVar[tuple[str, ...]] = ("float64", "string")
    of_numbers = True
    has_columns = True
    column_types: ClassVar[tuple[str, ...]] = ("real",)
    pictures = (*Kind.pictures, "pairs", "projection", "cluster_means")

    def check(self, dataset: Dataset) -> None:
        from splitmerge_cli.data.base import blocks

        x = dataset.values
        if not isinstance(x, np.ndarray) or x.ndim != 2 or x.shape[1] == 0 or x.dtype.kind not in "biuf":
            found = f"{getattr(x, 'dtype', type(x).__name__)} of shape {getattr(x, 'shape', 'unknown')}"
            raise DataError(f"{dataset.name}: {found}; expected {self.cells} [N, D], D at least 1")
        for start, block in blocks(x):
            good = self.fits(block) | np.isnan(block) if block.dtype.kind == "f" else self.fits(block)
            if not good.all():
                i, j = (int(at) for at in np.argwhere(~good)[0])
                raise DataError(
                    f"{dataset.name}: {dataset.place(start + i, j)}: {block[i, j]:g}; expected {self.expected}"
                )

    def types_of(self, dataset: Dataset) -> tuple[ColumnType, ...]:
        from splitmerge_cli.data.base import ColumnType

        return (ColumnType(self.column_types[0], self.levels),) * dataset.values.shape[1]

    # -- readers
    def from_object(self, data: Any, truth: Labels, name: str) -> Dataset:
        from scipy.sparse import issparse

        from splitmerge_cli.data.base import Dataset, place_of
        from splitmerge_cli.data.objects import numbers_of, table_of, with_nan

        values, columns, names = table_of(data, self.cells)
        values = numbers_of(with_nan(values.toarray() if issparse(values) else values), columns, self.expected)

        def fail(i: int, j: int) -> DataError:
            return DataError(f"data: {place_of(i, j, columns)}: {values[i, j]:g}; expected {self.expected}")

        return Dataset(name, self.name, self.hold(values, fail), truth, columns=columns, names=names)

    def hold(self, x: NDArray[Any], fail: Callable[[int, int], DataError]) -> NDArray[Any]:
        """Numbers as they are held; raises what `fail` returns for the place of the first that is no cell."""
        absent = np.isnan(x)
        good = self.fits(x) | absent
        if not good.all():
            raise fail(*(int(at) for at in np.argwhere(~good)[0]))
        return np.ascontiguousarray(x, dtype=np.float64 if absent.any() else self.dtype)

    def from_table(self, table: Table, wanted: Wanted, N: int | None, header: str | bool) -> Dataset:
        from scipy.sparse import issparse

        from splitmerge_cli.data.base import Dataset, has_nan, notes_entry
        from splitmerge_cli.data.tables import missing
        from splitmerge_cli.data.tables.columns import true_labels
        from splitmerge_cli.data.tables.notes import note_classes, note_identifiers

        rows = table.rows
        table.take(N)
        t, kept = wanted.resolve(table)
        labels = None if t is None else true_labels(table, t, wanted.missing)
        x: Any = self.read_columns(table, kept, wanted)
        if self.of_numbers and wanted.columns is None:
            note_identifiers(table, kept, x)
        if wanted.truth is None and wanted.columns is None:
            note_classes(table, kept, x)
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and has_nan(x):
            missing.note(table, kept, x)
        columns = [table.names[j] for j in kept] if table.names else None
        meta = {"path": str(table.path), "rows": rows} | notes_entry(table.notes)
        if issparse(x):
            meta["nonzeros"] = int(x.nnz)
        return Dataset(table.title, self.name, x, labels, columns=columns, names=table.names_of_items(), meta=meta)

    def read_columns(self, table: Table, columns: Sequence[int], wanted: Wanted) -> NDArray[Any]:
        """Columns of a table as they are held; raises a `DataError` that names the first cell that is none."""
        from splitmerge_cli.data.tables.columns import matrix_of

        x = matrix_of(table, columns, "data.columns and data.drop choose", wanted.missing)
        return self.hold(x, lambda i, j: table.error(i, columns[j], self.expected))
