"""The option ``data.reduce``: real columns that models read as their principal components."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.components import Components, find_rank, fit_components
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.values import is_sparse, require
from splitmerge_cli.received import DataError

NONE, PCA, AUTO = "none", "pca", "auto"
KEY = "data.reduce"

ReduceOption = str | int | None
"""Type of the option: null or ``none``, ``pca``, ``auto``, or a number of components."""


def reduce_keys(dataset: Dataset) -> dict[str, str]:
    """The key that ``model=auto`` sets for a table with more real columns than rows."""
    types = dataset.kind.types_of(dataset) if dataset.kind.has_columns and not is_sparse(dataset.values) else ()
    return {KEY: AUTO} if sum(column.type == "real" for column in types) > dataset.N else {}


@dataclass(frozen=True, eq=False)
class Reduction:
    """How the real columns of a `table` became scores: `real` are their places, all other columns stay."""

    table: Dataset
    real: NDArray[np.intp]
    components: Components

    def project(self, table: Dataset) -> Dataset:
        """Rows of a table with the columns of the data, reduced as these are."""
        if table.missing and np.isnan(table.values[:, self.real]).any():
            raise DataError(f"{KEY}: {table.first_missing}; expected real columns without missing cells")
        x = np.asarray(table.values, dtype=np.float64)
        others = np.delete(np.arange(x.shape[1]), self.real)
        scores, types = self.components.scores(x[:, self.real]), table.kind.types_of(table)
        names = [f"component {j + 1}" for j in range(scores.shape[1])] + [table.column_names[j] for j in others]
        return replace(
            table,
            values=np.ascontiguousarray(np.column_stack([scores, x[:, others]])),
            columns=names,
            types=table.types and (*[ColumnType("real")] * scores.shape[1], *[types[j] for j in others]),
            positions=None,
            scales=None,
            is_recorded=False,
            reduction=replace(self, table=table),
        )

    def take(self, rows: NDArray[np.int64] | slice) -> "Reduction":
        """These rows of the table alone."""
        return replace(self, table=self.table.take(rows))

    @property
    def log_jacobian(self) -> NDArray[np.float64]:
        """float64 ``[N]``: added to the log density of the scores it makes one in the units of the data."""
        return self.components.log_rest(self.table.values[:, self.real]) + self.table.log_jacobian


def reduce_columns(dataset: Dataset, reduce: ReduceOption) -> Dataset:
    """A table whose real columns are replaced by their principal components. `dataset`: its columns on their scales.
    `reduce`: {"none", "pca", "auto"} or int: ``pca``: standardised, and as many as predict held-out rows (`find_rank`);
    ``auto``: that, where there are more real columns than rows and none of them lacks a cell; or the number of
    components. Raises `DataError` (another option; a table without two real columns and three rows, or with missing
    cells in them; a sparse matrix).
    """
    if reduce in (None, NONE):
        return dataset
    is_number = isinstance(reduce, int) and not isinstance(reduce, bool) and reduce >= 1
    require(reduce in (PCA, AUTO) or is_number, KEY, reduce, f"{NONE}, {PCA}, {AUTO}, or a number of components")
    place = dataset.meta.get("path", "data")
    readable = dataset.kind.has_columns and not is_sparse(dataset.values)
    types = dataset.kind.types_of(dataset) if readable else ()
    real = np.array([j for j, column in enumerate(types) if column.type == "real"], dtype=np.intp)
    missing = dataset.missing and bool(np.isnan(dataset.values[:, real]).any())
    if reduce == AUTO and (len(real) <= dataset.N or missing or dataset.N < 3 or dataset.counts is not None):
        return dataset
    require(dataset.counts is None, KEY, reduce, f"{NONE} with data.weights, which principal components do not count")
    if len(real) < 2 or dataset.N < 3:
        raise DataError(f"{KEY}={reduce}: {place}: expected at least 2 real columns, not sparse, and 3 rows")
    if missing:
        raise DataError(
            f"{KEY}={reduce}: {place}: {dataset.first_missing}; expected {NONE}, or real columns without missing cells"
        )
    x = np.asarray(dataset.values[:, real], dtype=np.float64)
    most_components = min(len(real), dataset.N - 1)
    require(not is_number or int(str(reduce)) <= most_components, KEY, reduce, f"at most {most_components} components")
    components = fit_components(x, int(str(reduce)) if is_number else find_rank(x))
    r = len(components.directions)
    note = (
        f"{len(real):,} real columns are reduced to {r} principal component{'s' * (r > 1)} "
        f"({100 * components.share:.0f} % of the variance); {KEY}={NONE} reads them as they are"
    )
    meta = dataset.meta | {"notes": [*dataset.notes, note], "reduced": {"columns": len(real), "components": r}}
    return Reduction(dataset, real, components).project(replace(dataset, meta=meta))
