"""Points: rows of real numbers, dense or sparse."""

from typing import Any

import numpy as np

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.values import FINITE, MAGNITUDE, check_rows, first_entry, is_csr, is_sparse, place_not_finite
from splitmerge_cli.kinds.rows import Rows
from splitmerge_cli.received import DataError


class Points(Rows):
    """Rows of real numbers: float64 or float32 ``[N, D]``, NaN where a cell is missing; or a csr_array."""

    name = "points"
    item = "point"
    model = "gaussian"
    generator = "splitmerge_cli.data.generated.gaussian:generate"
    expected = FINITE
    column_types = ("real", "count")
    reads_matrices = True
    pictures = (*Rows.pictures, "points")

    def fits(self, x: Any) -> Any:
        return np.abs(x) <= MAGNITUDE

    def example_options(self, N: int) -> dict[str, Any]:
        return {"components": min(5, N)}

    def outline(self, N: int, D: int) -> Dataset:
        """Places from -2 to 2 in the first column."""
        dataset = super().outline(N, D)
        dataset.values[:, 0] = np.linspace(-2.0, 2.0, N)
        return dataset

    def check(self, dataset: Dataset) -> None:
        x, name = dataset.values, dataset.name
        sparse = is_csr(x)
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
        return is_sparse(data)
