"""Tables that models read in another form: on scales (``data.scale``), as principal components (``data.reduce``; their
number and the density of what they leave out: docs/derivations.md, "Columns reduced to principal components"), and as
matrices in files: arrays in .npy, kept as they are or mapped where they are large, and sparse in .npz.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from splitmerge_cli.data import values as scales
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.opening import check_archive, check_rows, readable
from splitmerge_cli.data.tables.cells import mark_missing
from splitmerge_cli.data.tables.columns import position
from splitmerge_cli.data.tables.formats import load_npy
from splitmerge_cli.data.tables.inference import COMPARED
from splitmerge_cli.data.tables.table import Table
from splitmerge_cli.data.values import FINITE, LARGEST, MAGNITUDE, is_csr, is_sparse, place_not_finite, require
from splitmerge_cli.extras import sparse
from splitmerge_cli.received import DataError, reject_machine_error

NO_REDUCTION, PCA, AUTO = "none", "pca", "auto"
FOLDS = 10
SHUFFLED = 10
"""Tables of permuted columns."""
MOST = 50
"""Principal components that are considered."""
LEAST_VARIANCE = 1e-12
"""Least variance in a direction that is left out: rounding errors, where columns determine each other."""
DIGITS = 9
"""Digits of a score behind the point, which all libraries of linear algebra agree on."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of standardised columns, fitted to rows."""

    mean: Numbers
    deviation: Numbers
    """Each float64 ``[D]``, of the columns; a constant column has deviation 1."""
    directions: Numbers
    """float64 ``[r, D]``, orthonormal."""
    residual: float
    """Variance, in each of the D - r other directions, of standardised rows."""
    share: float
    """Share of variance that the components have, in standardised columns."""

    def scores(self, x: Numbers) -> Numbers:
        """Coordinates of rows ``[N, D]`` along the directions, ``[N, r]``."""
        return np.asarray(np.round((x - self.mean) / self.deviation @ self.directions.T, DIGITS))

    def log_rest(self, x: Numbers) -> Numbers:
        """Log density to add to the scores', ``[N]``, to get the density of the rows ``[N, D]``: normal residuals, and
        the Jacobian of standardising."""
        r, D = self.directions.shape
        rows = (x - self.mean) / self.deviation
        remaining = (rows**2).sum(axis=1) - ((rows @ self.directions.T) ** 2).sum(axis=1)
        normal = (D - r) * np.log(2.0 * np.pi * self.residual) + remaining / self.residual
        return np.asarray(-0.5 * normal - np.log(self.deviation).sum())


def fit_components(x: Numbers, r: int) -> Components:
    """Fit r principal components to rows ``[N, D]``, r at most D and N - 1."""
    mean, spread = x.mean(axis=0), np.sqrt(scales.variances_of(x))
    deviation = np.where(spread > 0.0, spread, 1.0)
    variance, directions = _principal((x - mean) / deviation)
    directions = directions[:r]
    # either sign is right: the largest entry is positive
    largest = np.abs(directions).argmax(axis=1)[:, None]
    directions = directions * np.sign(np.take_along_axis(directions, largest, axis=1))
    total = max(variance.sum(), LEAST_VARIANCE)
    residual = max(variance[r:].sum() / max(x.shape[1] - r, 1), LEAST_VARIANCE)
    return Components(mean, deviation, directions, residual, float(variance[:r].sum() / total))


def find_rank(x: Numbers) -> int:
    """The number of principal components to read rows ``[N, D]`` by, one at least: the larger of two.

    The first predicts held-out rows best, which have the density of probabilistic principal components (Tipping and
    Bishop 1999): the fewest components whose mean is within one standard error of the best. With few rows it is too
    small, since directions that are not known well predict badly. The second comes from `count_above_chance`.
    """
    N = len(x)
    spread = np.sqrt(scales.variances_of(x))
    rows = (x - x.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    fold = np.random.default_rng(0).permutation(N) % min(FOLDS, N)
    largest_rank = max(1, min(MOST, N - int(np.bincount(fold).max()) - 1, x.shape[1] - 1))
    density = np.empty((N, largest_rank + 1))
    for k in range(fold.max() + 1):
        density[fold == k] = densities_by_rank(rows[fold != k], rows[fold == k], largest_rank)
    behind = density[:, [density.mean(axis=0).argmax()]] - density
    within = behind.mean(axis=0) <= behind.std(axis=0) / np.sqrt(N)
    return max(1, int(within.argmax()), count_above_chance(rows, largest_rank))


def count_above_chance(rows: Numbers, largest_rank: int) -> int:
    """Count the first principal components, `largest_rank` at most, of more variance than columns without correlation
    have: than in each of `SHUFFLED` tables whose columns are permuted (parallel analysis, Horn 1965)."""
    generator = np.random.default_rng(0)
    chance = np.zeros(largest_rank)
    for _ in range(SHUFFLED):
        chance = np.maximum(chance, _variances(generator.permuted(rows, axis=0))[:largest_rank])
    above = _variances(rows)[:largest_rank] > chance
    return int(np.append(above, False).argmin())


def densities_by_rank(train: Numbers, test: Numbers, largest_rank: int) -> Numbers:
    """Log densities of the rows in `test` under 0, 1, ..., `largest_rank` probabilistic principal components that are
    fitted to `train`, ``[rows, most + 1]``."""
    D = train.shape[1]
    mean = train.mean(axis=0)
    variance, directions = _principal(train - mean)
    variances, rows = np.maximum(variance[:largest_rank], LEAST_VARIANCE), test - mean
    squares = (rows @ directions[:largest_rank].T) ** 2
    log_kept, explained, scaled = (
        np.concatenate([np.zeros((len(part), 1)), np.cumsum(part, axis=1)], axis=1)
        for part in (np.log(variances)[None], squares, squares / variances)
    )
    remaining_dimensions = D - np.arange(largest_rank + 1)
    residual = np.maximum(
        (variance.sum() - np.append(0.0, np.cumsum(variance[:largest_rank]))) / remaining_dimensions, LEAST_VARIANCE
    )
    squared = ((rows**2).sum(axis=1, keepdims=True) - explained) / residual
    return np.asarray(
        -0.5 * (D * np.log(2.0 * np.pi) + log_kept + remaining_dimensions * np.log(residual) + scaled + squared)
    )


def _variances(rows: Numbers) -> Numbers:
    """Variances of centred rows along their principal directions, the largest first."""
    N, D = rows.shape
    return np.asarray(np.linalg.eigvalsh(rows @ rows.T if N < D else rows.T @ rows)[::-1] / N)


def _principal(rows: Numbers) -> tuple[Numbers, Numbers]:
    """Variances of centred rows along their principal directions, the largest first, and the directions."""
    _, lengths, directions = np.linalg.svd(rows, full_matrices=False)
    return lengths**2 / len(rows), directions


REDUCE = "data.reduce"

ReduceOption = str | int | None
"""Type of the option: null or ``none``, ``pca``, ``auto``, or a number of components."""


def reduce_keys(dataset: Dataset) -> dict[str, str]:
    """The key that ``model=auto`` sets for a table with more real columns than rows."""
    types = dataset.kind.types_of(dataset) if dataset.kind.has_columns and not is_sparse(dataset.values) else ()
    return {REDUCE: AUTO} if sum(column.type == "real" for column in types) > dataset.N else {}


def without_spikes(dataset: Dataset) -> Dataset:
    """A table without the notes on numbers that many cells hold: components repeat none."""
    return replace(dataset, meta=dataset.meta | {"notes": [one for one in dataset.notes if COMPARED not in one]})


@dataclass(frozen=True, eq=False)
class Reduction:
    """How the real columns of a `table` became scores: `real` are their places, all other columns stay."""

    table: Dataset
    real: NDArray[np.intp]
    components: Components

    def project(self, table: Dataset) -> Dataset:
        """Rows of a table with the columns of the data, reduced as these are."""
        if table.missing and np.isnan(table.values[:, self.real]).any():
            raise DataError(f"{REDUCE}: {table.first_missing}; expected real columns without missing cells")
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
    """A table whose real columns, on their scales, are replaced by their principal components: ``pca``: standardised,
    as many as predict held-out rows (`find_rank`); ``auto``: that, where there are more real columns than rows and none
    of them lacks a cell; or so many. It takes two real columns and three rows without missing cells in them."""
    if reduce in (None, NO_REDUCTION):
        return dataset
    is_number = isinstance(reduce, int) and not isinstance(reduce, bool) and reduce >= 1
    known = f"{NO_REDUCTION}, {PCA}, {AUTO}, or a number of components"
    require(reduce in (PCA, AUTO) or is_number, REDUCE, reduce, known)
    place = dataset.meta.get("path", "data")
    readable = dataset.kind.has_columns and not is_sparse(dataset.values)
    types = dataset.kind.types_of(dataset) if readable else ()
    real = np.array([j for j, column in enumerate(types) if column.type == "real"], dtype=np.intp)
    missing = dataset.missing and bool(np.isnan(dataset.values[:, real]).any())
    if reduce == AUTO and (len(real) <= dataset.N or missing or dataset.N < 3 or dataset.counts is not None):
        return dataset
    uncounted = f"{NO_REDUCTION} with data.weights, which principal components do not count"
    require(dataset.counts is None, REDUCE, reduce, uncounted)
    if len(real) < 2 or dataset.N < 3:
        raise DataError(f"{REDUCE}={reduce}: {place}: expected at least 2 real columns, not sparse, and 3 rows")
    if missing:
        expected = f"{NO_REDUCTION}, or real columns without missing cells"
        raise DataError(f"{REDUCE}={reduce}: {place}: {dataset.first_missing}; expected {expected}")
    x = np.asarray(dataset.values[:, real], dtype=np.float64)
    most_components = min(len(real), dataset.N - 1)
    asked = int(str(reduce)) if is_number else 0
    require(asked <= most_components, REDUCE, reduce, f"at most {most_components} components")
    components = fit_components(x, asked or find_rank(x))
    r = len(components.directions)
    note = (
        f"{len(real):,} real columns are reduced to {r} principal component{'s' * (r > 1)} "
        f"({100 * components.share:.0f} % of the variance); {REDUCE}={NO_REDUCTION} reads them as they are"
    )
    reduced = {"columns": len(real), "components": r}
    meta = dataset.meta | {"notes": [*without_spikes(dataset).notes, note], "reduced": reduced}
    return Reduction(dataset, real, components).project(replace(dataset, meta=meta))


NONE = "none"
SCALE = "data.scale"
EXPECTED = (
    f"{scales.LOG}, {scales.SQRT}, {scales.YEO_JOHNSON}, or a power from {scales.LEAST_POWER:g} to "
    f"{scales.MOST_POWER:g}"
)

ScaleOption = Mapping[str | int, str | int | float] | str | None
"""Type of the option: null or ``none``, or scales by the name or number of their column."""


def read_scales(dataset: Dataset, scale: ScaleOption) -> Dataset:
    """A table, in the units of the data, with some real columns on a `scale` of their own, by name or number of a
    column (1 is the first of the table): ``log``, ``sqrt``, ``yeo-johnson``, whose power has the largest likelihood of
    one normal distribution, or a number, the power of ``yeo-johnson``."""
    if scale in (None, NONE):
        return dataset
    expected = f"{NONE}, or scales by column, such as {{income: {scales.LOG}}}"
    require(isinstance(scale, Mapping), SCALE, scale, f"{expected} (auto: smcmc run and smcmc.sample choose)")
    assert isinstance(scale, Mapping)
    place = dataset.meta.get("path", "data")
    kind = dataset.kind
    if is_sparse(dataset.values) or not kind.has_columns:
        raise DataError(
            f"{SCALE}: {place}: expected {NONE}: only columns of a table without a sparse matrix have scales"
        )
    types = kind.types_of(dataset)
    scale_by_column: list[scales.Scale | None] = [None] * len(types)
    for column, word in scale.items():
        j, key = _find_column(dataset, column), f"{SCALE}.{column}"
        require(types[j].type == "real", key, word, f"a real column; this one is read as {types[j].type}")
        scale_by_column[j] = _read_scale(key, word, dataset.values[:, j], dataset.counts)
    if not any(scale_by_column):
        return dataset
    named = {dataset.column_names[j]: one.option for j, one in enumerate(scale_by_column) if one is not None}
    meta = dataset.meta | {"scales": named}
    return put_on_scales(replace(dataset, meta=meta), tuple(scale_by_column))


def put_on_scales(dataset: Dataset, of_columns: scales.Scales | None) -> Dataset:
    """A table in the units of the data on these scales; one that is on scales stays as it is."""
    if of_columns is None or dataset.scales is not None:
        return dataset
    try:
        values = scales.on_scales(dataset.values, of_columns, dataset.columns, dataset.positions)
    except DataError as error:
        raise DataError(f"{dataset.meta.get('path', dataset.name)}: {error}") from None
    types = list(dataset.types or ())
    for j, (scale, column) in enumerate(zip(of_columns, types, strict=False)):
        if scale is not None and column.spike is not None:
            number, step = column.spike
            on_scale = float(scale.read(np.array([number]))[0])
            # every cell that holds it is the same number on the scale
            values[dataset.values[:, j] == number, j] = on_scale
            types[j] = replace(column, spike=(on_scale, step))
    return replace(dataset, values=values, scales=of_columns, types=dataset.types and tuple(types))


def _find_column(dataset: Dataset, column: str | int) -> int:
    """The place, among the columns that are data, of a column by its name or its number in the table."""
    names = dataset.columns or []
    if str(column) in names:
        return names.index(str(column))
    positions = list(dataset.positions or range(dataset.values.shape[1]))
    j = position(column, int(dataset.meta.get("width", dataset.values.shape[1])))
    if j is None or j not in positions:
        place, known = dataset.meta.get("path", "data"), ", ".join(dataset.column_names)
        raise DataError(f"{SCALE}={column}: {place} reads no such column; expected one of {known}")
    return positions.index(j)


def _read_scale(key: str, word: Any, cells: NDArray[np.floating], counts: NDArray[np.float64] | None) -> scales.Scale:
    if word in (scales.LOG, scales.SQRT):
        return scales.Scale(word)
    if word == scales.YEO_JOHNSON:
        is_present = ~np.isnan(cells)
        present = cells[is_present].astype(np.float64)
        weights = None if counts is None else counts[is_present]
        return scales.Scale(scales.YEO_JOHNSON, fit_power(present, weights) if len(np.unique(present)) > 1 else 1.0)
    is_number = isinstance(word, int | float) and not isinstance(word, bool)
    require(is_number and scales.LEAST_POWER <= word <= scales.MOST_POWER, key, word, EXPECTED)
    return scales.Scale(scales.YEO_JOHNSON, float(word))


def has_digits(y: NDArray[np.float64], least: float = 1e-6) -> bool:
    """Whether cells on a scale are numbers that models read, and differ by more than a share `least` of their size: a
    power far from it leaves no digits to tell them apart."""
    largest = np.abs(y).max()
    return bool(largest <= MAGNITUDE and least * largest < np.ptp(y))


def fit_power(cells: NDArray[np.float64], counts: NDArray[np.float64] | None = None) -> float:
    """Power of ``yeo-johnson`` under which one normal distribution has the largest likelihood, from `LEAST_POWER` to
    `MOST_POWER`, to two decimals; `counts`: how often each cell counts."""

    def log_lik(power: float) -> float:
        scale = scales.Scale(scales.YEO_JOHNSON, power)
        y = scale.read(cells)
        if not has_digits(y, 1e-9):
            return -np.inf
        variance = np.average((y - np.average(y, weights=counts)) ** 2, weights=counts)
        return float(np.average(scale.log_jacobian(y), weights=counts) - 0.5 * np.log(variance))

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        low, high = scales.LEAST_POWER, scales.MOST_POWER
        # the likelihood has one maximum; scipy.optimize takes longer to import than all this
        while high - low > 1e-3:
            powers = np.linspace(low, high, 21)
            best = int(np.argmax([log_lik(power) for power in powers]))
            low, high = powers[max(best - 1, 0)], powers[min(best + 1, 20)]
    return round(float(powers[best]), 2)


MAPPED = 1 << 26
"""Bytes of an array from which on it is mapped from its file: read where it is looked at, and shared by processes."""

EMPTY_BYTES = 100
"""Memory that a row or column of a sparse matrix takes in a model at least, whatever it holds."""


class Matrix(Table):
    """A matrix of a file (`values`) as a table without names of columns; a column is made where it is asked for."""

    def __init__(self, path: Path, values: Any) -> None:
        super().__init__(path, [], None)
        self.values = values

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    @property
    def rows(self) -> int:
        return int(self.values.shape[0])

    def take(self, rows: int | None) -> None:
        self.values = self.values[:rows]

    def cells(self, j: int) -> pa.ChunkedArray:
        dense = self.values[:, [j]].toarray() if is_csr(self.values) else self.values[:, j]
        return pa.chunked_array([pa.array(np.ascontiguousarray(dense).ravel())])

    def counts_from(self, j: int) -> int | None:
        # the ends first: a column of a large array is dear
        rows = self.values.shape[0]
        ends = self.values[0, j], self.values[rows - 1, j]
        return super().counts_from(j) if ends[0] in (0, 1) and ends[1] == ends[0] + rows - 1 else None

    def points(self, columns: Sequence[int], also: Sequence[str | int | float] = ()) -> Any:
        """Some columns in this order, as `Dataset` takes them; all of them in theirs are not copied. `also`: what else
        than NaN stands for a missing cell, but of a sparse matrix, which may have none."""
        x: Any = self.values
        if list(columns) != list(range(self.width)):
            x = x[:, list(columns)] if is_csr(x) else np.take(x, columns, axis=1)
            if is_csr(x):
                x.sort_indices()
        dense = not is_csr(x)
        x = mark_missing(x, also) if dense else x
        if (bad := place_not_finite(x, missing=dense)) is not None:
            i, d = bad
            raise self.error(i, columns[d], "a number" if np.isnan(x[bad]) else FINITE, f"'{x[bad]:g}'")
        return x


def read_numbers(path: Path) -> Matrix | None:
    """The array ``[N]`` or ``[N, columns]`` of float64 or float32 in an .npy file; None if it holds another type."""
    array = load_npy(path, mapped_from=MAPPED)
    if array.dtype not in (np.float64, np.float32):
        return None
    return Matrix(path, np.ascontiguousarray(array.reshape(len(array), -1) if array.size else array.reshape(0, 1)))


def read_sparse(path: Path) -> "sparse.csr_array":
    """The sparse matrix of an .npz file that ``scipy.sparse.save_npz`` wrote, of any of its formats: float64, entries
    of the same place added up, no stored zeros, indices of a row ascending."""
    try:
        with readable(path) as file:
            check_archive(path, file)
            # it loads no pickled object
            matrix = sparse.load_npz(file)
        if matrix.ndim != 2:
            raise ValueError(f"it has {matrix.ndim} dimension")
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        if matrix.dtype.kind not in "biuf":
            raise ValueError(f"it holds {matrix.dtype}")
        if max(matrix.shape) > LARGEST:
            raise ValueError(f"its shape is {matrix.shape}")
        # rows and columns that hold nothing are in no file
        for count, noun in zip(matrix.shape, ("rows", "columns"), strict=True):
            check_rows(path, count, EMPTY_BYTES, noun)
        # before entries are added up: small types wrap round
        matrix = sparse.csr_array(matrix.astype(np.float64))
        matrix.check_format(full_check=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    except DataError:
        raise
    except Exception as error:  # a damaged archive raises all kinds
        reject_machine_error(error, path)
        expected = "sparse matrix of real numbers, as scipy.sparse.save_npz writes it"
        raise DataError(f"{path}: not a readable {expected}: {error}") from error
    return matrix
