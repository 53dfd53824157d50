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

    def outline(self, N: int, D: int) -> Dataset:
        from splitmerge_cli.data.base import Dataset

        return Dataset("simulated", self.name, np.zeros((N, D), dtype=self.dtype))

    # -- readers
    def from_object(self, data: Any, truth: Labels, name: str, whole: bool = False) -> Dataset:
        """Convert an object; `whole`: every column is data, as those of new items are."""
        from scipy.sparse import issparse

        from splitmerge_cli.data.base import place_of
        from splitmerge_cli.data.objects import numbers_of, object_table, table_of, with_nan

        values, columns, names = table_of(data, self.cells)
        table = object_table(columns, values.shape[1])
        values = with_nan(values.toarray() if issparse(values) else values)
        values = numbers_of(table, values, self.expected, whole)

        def fail(i: int, j: int) -> DataError:
            return DataError(f"data: {place_of(i, j, columns)}: {values[i, j]:g}; expected {self.expected}")

        return self.of_object(name, table, self.hold(values, fail), truth, names, whole)

    def of_object(self, name: str, table: Table, values: Any, truth: Labels, names: Any, whole: bool) -> Dataset:
        """Hold the columns of an object that are data; `table` has their names, and notes which are not."""
        from splitmerge_cli.data.base import Dataset, notes_entry, positions_in, width_entry
        from splitmerge_cli.data.tables.notes import leave_out_copies, note_classes

        width = values.shape[1]
        if not whole and isinstance(values, np.ndarray):
            leave_out_copies(table, lambda j, k: np.array_equal(values[:, j], values[:, k], equal_nan=True))
        kept = [j for j in range(width) if j not in table.left_out]
        values = values if len(kept) == width else np.take(values, kept, axis=1)
        if not whole:
            kept, values = self.leave_out(table, kept, values)
            if isinstance(values, np.ndarray):
                note_classes(table, kept, values)
        columns = [table.names[j] for j in kept] if table.names else None
        return Dataset(
            name,
            self.name,
            values,
            truth,
            columns=columns,
            names=table.item_names if names is None else names,
            meta=notes_entry(table.notes) | width_entry(kept, width),
            is_recorded=True,
            positions=positions_in(kept, width),
        )

    def leave_out(self, table: Table, columns: Sequence[int], x: Any) -> tuple[list[int], Any]:
        """The columns of those that are read that are data, and their cells; `table` notes which are not.

        Raises
        ------
        DataError
            No column is left.
        """
        from splitmerge_cli.data.base import has_nan
        from splitmerge_cli.data.tables.notes import note_left_out, without_data

        read = list(columns)
        names = [table.names[j] for j in read] if table.names else None
        without = without_data(x, names, self, not table.left_out)
        if not without:
            return read, x
        kept = [d for d in range(len(read)) if d not in without]
        note_left_out(table, {read[d]: why for d, why in without.items()}, None, "data.columns would read it")
        if not kept:
            said = "; ".join(note.partition(": ")[2] for note in table.notes)
            raise DataError(f"{table.path}: no column is left for the data ({said}); expected one")
        x = x[:, kept] if not isinstance(x, np.ndarray) else np.take(x, kept, axis=1)
        # without its missing cells a table is held as one that has none
        whole = isinstance(x, np.ndarray) and self.dtype is not np.float64 and not (x.dtype.kind == "f" and has_nan(x))
        return [read[d] for d in kept], x.astype(self.dtype, copy=False) if whole else x

    def hold(self, x: NDArray[Any], fail: Callable[[int, int], DataError]) -> NDArray[Any]:
        """Numbers as they are held; raises what `fail` returns for the place of the first that is no cell."""
        absent = np.isnan(x)
        good = self.fits(x) | absent
        if not good.all():
            raise fail(*(int(at) for at in np.argwhere(~good)[0]))
        return np.ascontiguousarray(x, dtype=np.float64 if absent.any() else self.dtype)

    def from_table(self, table: Table, wanted: Wanted, N: int | None, header: str | bool) -> Dataset:
        from scipy.sparse import issparse

        from splitmerge_cli.data.base import Dataset, has_nan, notes_entry, positions_in, width_entry
        from splitmerge_cli.data.tables import missing
        from splitmerge_cli.data.tables.columns import true_labels
        from splitmerge_cli.data.tables.notes import note_classes, note_rounding, set_aside
        from splitmerge_cli.data.tables.table import column_key

        rows = table.rows
        table.take(N)
        if wanted.columns is None:
            for j in wanted.resolve(table)[1]:
                set_aside(table, j, wanted.missing)
        t, kept = wanted.resolve(table)
        for j in kept if wanted.columns is not None else ():
            note_rounding(table, j, wanted.missing)
        labels = None if t is None else true_labels(table, t, wanted.missing)
        x: Any = self.read_columns(table, kept, wanted)
        read = kept
        if wanted.columns is None:
            kept, x = self.leave_out(table, kept, x)
        if wanted.truth is None and wanted.columns is None:
            note_classes(table, kept, x)
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and has_nan(x):
            missing.note(table, kept, x)
        columns = [table.names[j] for j in kept] if table.names else None
        meta = {"path": str(table.path), "rows": rows} | notes_entry(table.notes) | width_entry(kept, table.width)
        if issparse(x):
            meta["nonzeros"] = int(x.nnz)
        if len(kept) < len(read) or table.left_out:
            meta["typed"] = [column_key(table, j) for j in kept]
        names = table.names_of_items()
        positions = positions_in(kept, table.width)
        return Dataset(
            table.title, self.name, x, labels, None, columns, None, names, meta, is_recorded=True, positions=positions
        )

    # -- new items
    def _align_items(self, dataset: Dataset, new: Any) -> Dataset:
        from splitmerge_cli.data.base import Dataset as Data
        from splitmerge_cli.data.objects import table_of

        if not isinstance(new, Data):
            if dataset.positions is not None:
                values, columns, _ = table_of(new, self.cells)
                new = dataset.read_columns(values) if columns is None else new
            new = self.from_object(new, None, "new items", whole=True)
        return super()._align_items(dataset, new)

    def reader_options(self, dataset: Dataset) -> dict[str, Any]:
        # a column that is left out of the data may look like data in a few rows
        if "typed" not in dataset.meta:
            return {}
        return {"columns": dataset.meta["typed"], "drop": None, "truth": None}

    def read_columns(self, table: Table, columns: Sequence[int], wanted: Wanted) -> NDArray[Any]:
        """Columns of a table as they are held; raises a `DataError` that names the first cell that is none."""
        from splitmerge_cli.data.tables.columns import matrix_of

        x = matrix_of(table, columns, "data.columns and data.drop choose", wanted.missing)
        return self.hold(x, lambda i, j: table.error(i, columns[j], self.expected))
