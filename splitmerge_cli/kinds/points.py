"""Points: rows of real numbers, dense or sparse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.kinds.base import Labels
from splitmerge_cli.kinds.rows import Rows
from splitmerge_cli.received import DataError

if TYPE_CHECKING:
    from splitmerge_cli.data.base import Dataset
    from splitmerge_cli.data.tables.table import Table
    from splitmerge_cli.data.tables.wanted import Wanted


class Points(Rows):
    """Rows of real numbers: float64 or float32 ``[N, D]``, NaN where a cell is missing; or a csr_array."""

    name = "points"
    item = "point"
    model = "gaussian"
    generator = "splitmerge_cli.data.generated.gaussian:generate"
    column_types = ("real", "count")
    reads_matrices = True
    pictures = (*Rows.pictures, "points")

    @property
    def expected(self) -> str:  # type: ignore[override]
        from splitmerge_cli.data.base import FINITE

        return FINITE

    def fits(self, x: Any) -> Any:
        from splitmerge_cli.data.base import MAGNITUDE

        return np.abs(x) <= MAGNITUDE

    def outline(self, N: int, D: int) -> Dataset:
        """Places from -2 to 2 in the first column."""
        made = super().outline(N, D)
        made.values[:, 0] = np.linspace(-2.0, 2.0, N)
        return made

    def check(self, dataset: Dataset) -> None:
        from scipy.sparse import csr_array

        from splitmerge_cli.data.base import FINITE, check_rows, first_entry, place_not_finite

        x, name = dataset.values, dataset.name
        sparse = isinstance(x, csr_array)
        if not sparse and not isinstance(x, np.ndarray):
            raise DataError(f"{name}: {type(x).__name__}; expected an array or a csr_array")
        types: tuple[Any, ...] = (np.float64,) if sparse else (np.float64, np.float32)
        if x.ndim != 2 or x.shape[1] == 0 or x.dtype not in types:
            expected = "a csr_array of float64" if sparse else "float64 or float32"
            raise DataError(f"{name}: {x.dtype} of shape {x.shape}; expected {expected} [N, D], D at least 1")
        if sparse:
            check_rows(name, x)
        if (bad := place_not_finite(x, missing=not sparse)) is not None:
            raise DataError(f"{name}: {dataset.place(*bad)}: {x[bad]:g}; expected {FINITE}")
        if sparse and (zero := first_entry(x, lambda data: data == 0)) is not None:
            raise DataError(f"{name}: {dataset.place(*zero)}: a stored zero; expected none")

    def recognises(self, data: Any) -> bool:
        from scipy.sparse import issparse

        return issparse(data)

    def from_object(self, data: Any, truth: Labels, name: str, whole: bool = False) -> Dataset:
        from scipy.sparse import csr_array, issparse

        from splitmerge_cli.data.objects import numbers_of, object_table, table_of, with_nan

        values, columns, names = table_of(data, self.cells)
        table = object_table(columns, values.shape[1])
        if issparse(values):
            values = csr_array(values).astype(np.float64)
            values.sum_duplicates()
            values.eliminate_zeros()
        else:
            values = with_nan(values)
            if values.dtype not in (np.float32, np.float64):
                values = numbers_of(table, values, "a number", whole)
            # the caller's array stays writable, and what the models read does not change
            values = np.array(values, order="C")
        return self.of_object(name, table, values, truth, names, whole)

    def _align_items(self, dataset: Dataset, new: Any) -> Dataset:
        from scipy.sparse import issparse

        # what was fitted as an array may have a resolution, which sparse points have not
        dense = issparse(new) and not issparse(dataset.values)
        return super()._align_items(dataset, new.toarray() if dense else new)

    def hold(self, x: NDArray[Any], fail: Callable[[int, int], DataError]) -> NDArray[Any]:
        # matrices of numbers are checked where they are read
        return x

    def read_columns(self, table: Table, columns: Sequence[int], wanted: Wanted) -> Any:
        from splitmerge_cli.data.tables.matrices import Matrix

        if isinstance(table, Matrix):
            return table.points(columns, wanted.missing)
        return super().read_columns(table, columns, wanted)
