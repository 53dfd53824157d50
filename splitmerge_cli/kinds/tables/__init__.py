"""Tables of numbers, counts, 0 and 1, and columns of several types."""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data import values
from splitmerge_cli.data.dataset import COLUMN_TYPES, ColumnType, Dataset, Kind
from splitmerge_cli.received import DataError

ANSWER = 10
"""Values that take as long as an ordinal cell."""


class Columns(Kind):
    """A table whose columns describe clusters."""

    has_columns = True
    answers = "splitmerge_cli.kinds.tables.answers:ColumnAnswers"
    quantities = "splitmerge_cli.kinds.tables.quantities:Table"
    cases = "splitmerge_cli.kinds.tables.cases:CASES"
    start = "splitmerge_cli.kinds.tables.start:TableStart"
    summary_keys: ClassVar = {
        "outcome": (
            0.2,
            "holds out a fifth of the rows, and compares how well clusters predict model.outcome there if it helps to "
            "form them, and if it does not",
            "splitmerge_cli.kinds.tables.outcomes:gain_lines",
        )
    }
    pictures = (*Kind.pictures, "pairs", "projection", "cluster_means")
    drawings = "splitmerge_cli.kinds.tables.plots:PICTURES"

    def options_of_items(self, options: dict[str, Any]) -> dict[str, Any]:
        # rows of one file are the same items, whatever columns are looked at
        return {}

    def count_values(self, dataset: Dataset, options: Mapping[str, Any]) -> int:
        """A value of a jointly normal row counts as a quarter of its columns, and one more, a value of a row with a
        weight (``model.tails=t``) twice, and an ordinal one as `ANSWER`."""
        size = super().count_values(dataset, options)
        if options.get("covariance") == "full":
            size += size * dataset.values.shape[1] // 4
        size *= 1 + (options.get("tails") == "t")
        return int(size + (ANSWER - 1) * dataset.N * dataset.count_columns("ordinal"))

    def in_shards(self, types: Mapping[Any, str] | None) -> tuple[bool, bool]:
        return True, False

    def statistics(self, dataset: Dataset, labels: Any) -> Any:
        from splitmerge_cli.kinds.tables.columns import statistics

        return statistics(dataset, labels)

    def describe_clusters(
        self,
        dataset: Dataset,
        labels: NDArray[np.int64],
        order: NDArray[np.int64],
        known: Any,
        first: int,
        first_cluster: int,
    ) -> dict[str, list[Any]]:
        from splitmerge_cli.kinds.tables.columns import describe_pairs, describe_telling

        pairs = describe_pairs(dataset, labels, known)
        return {"telling": ["; ".join(describe_telling(known, int(k), pairs.get(int(k)))) for k in order]}

    def describe_columns(self, known: Any, first_cluster: int) -> Any:
        from splitmerge_cli.kinds.tables.columns import columns

        return columns(known, first_cluster)


class Rows(Columns):
    """Rows of numbers.

    A subclass says which numbers are cells (`fits`, `expected`), how they are held (`dtype`) and what a column is
    (`column_types`). Tables with missing cells are held as float64, these NaN.
    """

    levels: ClassVar[tuple[str, ...]] = ()
    """Levels of a column, where these are few."""
    reading = "splitmerge_cli.kinds.tables.rows:RowsReading"
    text_types: ClassVar[tuple[str, ...]] = ("float64", "string")
    of_numbers = True
    column_types: ClassVar[tuple[str, ...]] = ("real",)

    def check(self, dataset: Dataset) -> None:
        x = dataset.values
        if not isinstance(x, np.ndarray) or x.ndim != 2 or x.shape[1] == 0 or x.dtype.kind not in "biuf":
            described = f"{getattr(x, 'dtype', type(x).__name__)} of shape {getattr(x, 'shape', 'unknown')}"
            raise DataError(f"{dataset.name}: {described}; expected {self.cells} [N, D], D at least 1")
        for start, block in values.blocks(x):
            good = self.fits(block) | np.isnan(block) if block.dtype.kind == "f" else self.fits(block)
            if not good.all():
                i, j = (int(index) for index in np.argwhere(~good)[0])
                raise DataError(
                    f"{dataset.name}: {dataset.place(start + i, j)}: {block[i, j]:g}; expected {self.expected}"
                )

    def types_of(self, dataset: Dataset) -> tuple[ColumnType, ...]:
        return (ColumnType(self.column_types[0], self.levels),) * dataset.values.shape[1]

    def in_shards(self, types: Mapping[Any, str] | None) -> tuple[bool, bool]:
        if types:
            raise DataError("data.types: expected model=mixed with types of columns")
        return False, bool(self.truth_values)

    def outline(self, N: int, D: int) -> Dataset:
        return Dataset("simulated", self, np.zeros((N, D), dtype=self.dtype))

    def reader_options(self, dataset: Dataset) -> dict[str, Any]:
        # a column that is left out of the data may look like data in a few rows
        if "typed" not in dataset.meta:
            return {}
        return {"columns": dataset.column_keys, "drop": None, "truth": None}


class Points(Rows):
    """Rows of real numbers: float64 or float32 ``[N, D]``, NaN where a cell is missing; or a csr_array."""

    name = "points"
    model = "gaussian"
    generator = "splitmerge_cli.kinds.tables.generated:gaussian"
    expected = values.FINITE
    column_types = ("real", "count")
    reads_matrices = True
    pictures = (*Rows.pictures, "points")

    def fits(self, x: Any) -> Any:
        return np.abs(x) <= values.MAGNITUDE

    def example_options(self, N: int) -> dict[str, Any]:
        return {"components": min(5, N)}

    def outline(self, N: int, D: int) -> Dataset:
        """Places from -2 to 2 in the first column."""
        dataset = super().outline(N, D)
        dataset.values[:, 0] = np.linspace(-2.0, 2.0, N)
        return dataset

    def check(self, dataset: Dataset) -> None:
        x, name = dataset.values, dataset.name
        sparse = values.is_csr(x)
        if not sparse and not isinstance(x, np.ndarray):
            raise DataError(f"{name}: {type(x).__name__}; expected an array or a csr_array")
        types: tuple[Any, ...] = (np.float64,) if sparse else (np.float64, np.float32)
        if x.ndim != 2 or x.shape[1] == 0 or x.dtype not in types:
            expected = "a csr_array of float64" if sparse else "float64 or float32"
            raise DataError(f"{name}: {x.dtype} of shape {x.shape}; expected {expected} [N, D], D at least 1")
        if sparse:
            values.check_rows(name, x)
        if (bad := values.place_not_finite(x, missing=not sparse)) is not None:
            raise DataError(f"{name}: {dataset.place(*bad)}: {x[bad]:g}; expected {values.FINITE}")
        if sparse and (zero := values.first_entry(x, lambda data: data == 0)) is not None:
            raise DataError(f"{name}: {dataset.place(*zero)}: a stored zero; expected none")

    def recognises(self, data: Any) -> bool:
        return values.is_sparse(data)

    def conversion(self, dataset: Dataset) -> str:
        """Sparse cells of 0 and 1, and of counts, are read as these."""
        held = dataset.values.data if values.is_csr(dataset.values) else np.array([0.5])
        if (held < 0).any() or (held % 1 != 0).any():
            return self.name
        return Binary.name if (held <= 1).all() else Counts.name


class Binary(Rows):
    """Rows of 0 and 1, or of words for them: uint8 ``[N, D]``; float64 where cells are missing, these NaN."""

    name = "binary"
    model = "bernoulli"
    generator = "splitmerge_cli.kinds.tables.generated:jain_neal"
    dtype = np.uint8
    levels = ("0", "1")
    cells = "0 and 1"
    text_types = ("uint8", "float64", "string")
    of_numbers = False
    truth_values: ClassVar = {"true": 1, "yes": 1, "false": 0, "no": 0}
    expected = "0 or 1"
    advice = " (other numbers: model=gaussian, other values: model=mixed)"
    column_types = ("binary",)

    def fits(self, x: Any) -> Any:
        return (x == 0) | (x == 1)


class Counts(Rows):
    """Rows of whole numbers from 0: words of documents, species at sites, reads of genes. int32 ``[N, D]``."""

    name = "counts"
    model = "multinomial"
    generator = "splitmerge_cli.kinds.tables.generated:counts"
    dtype = np.int32
    cells = "counts"
    expected = f"a whole number from 0 to {values.LARGEST}"
    column_types = ("count",)
    allows_missing = False
    takes_exposure = True
    leaves_out_constants = False

    def fits(self, x: Any) -> Any:
        return (x >= 0) & (x <= values.LARGEST) & (x == np.floor(x))

    def example_options(self, N: int) -> dict[str, Any]:
        return {"clusters": min(N, 2), "columns": 3, "total": 4.0, "concentration": 2.0}

    def outline(self, N: int, D: int) -> Dataset:
        """Totals from 3 to 6, in the first column."""
        dataset = super().outline(N, D)
        dataset.values[:, 0] = 3 + np.arange(N) % 4
        return dataset


CONVERSIONS = {"real": "points", "binary": "binary"}
"""The kind of a table whose columns are all of one type."""


class Mixed(Columns):
    """Columns of several types: float64 ``[N, D]``, NaN where a cell is missing, and a `ColumnType` for each column.

    Codes (binary, categorical, ordinal), whole numbers from 0 (count) or finite numbers (real).
    """

    name = "mixed"
    model = "mixed"
    generator = "splitmerge_cli.kinds.tables.generated:mixed"
    reading = "splitmerge_cli.data.tables.mixed:MixedReading"
    text_types = ("string",)
    any_columns = True
    undecided = "splitmerge_cli.kinds.tables.undecided:say_models"
    own_keys = ("model.outcome",)

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
                good, expected = np.abs(cells) <= values.MAGNITUDE, values.FINITE
            else:
                largest = len(column.levels) - 1 if column.type != "count" else values.LARGEST
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

    def given_columns(self, dataset: Dataset, options: Mapping[str, Any]) -> list[int]:
        names = dataset.column_names
        effects = options.get("effects") or ()
        return [names.index(column) if column in names else int(column) - 1 for column in effects]

    def log_steps(self, dataset: Dataset, options: Mapping[str, Any]) -> NDArray[np.float64]:
        found = np.zeros(dataset.N)
        if options.get("zeros") != "apart" or dataset.reduction is not None:
            return found
        names, given = dataset.column_names, self.given_columns(dataset, options)
        for j, column in enumerate(dataset.types or ()):
            if column.spike is None or j in given or options.get("outcome") in (names[j], j + 1):
                continue
            number, step = column.spike
            scale = dataset.scales[j] if dataset.scales else None
            length = 0.0 if scale is None else float(scale.log_jacobian(np.array([number]))[0])
            found[dataset.values[:, j] == number] -= np.log(step) + length
        return found

    def resamples_scales(self, dataset: Dataset, options: Mapping[str, Any]) -> bool:
        # a regressed outcome needs numbers; one of levels may be: another reading of its whole numbers is compared
        outcome, names, types = options.get("outcome"), dataset.column_names, dataset.types or ()
        j = names.index(outcome) if outcome in names else outcome - 1 if isinstance(outcome, int) else -1
        is_number = 0 <= j < len(types) and types[j].type != "binary" and _are_numbers(types[j].levels)
        return not is_number and not options.get("effects")

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


def _are_numbers(levels: Iterable[str]) -> bool:
    with suppress(ValueError):
        return all(math.isfinite(float(level)) for level in levels)
    return False
