"""The option ``data.scale``: columns that models read on a scale of their own."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.scales import LEAST_POWER, LOG, MOST_POWER, SQRT, YEO_JOHNSON, Scale, Scales, on_scales
from splitmerge_cli.data.tables.columns import position
from splitmerge_cli.data.values import MAGNITUDE, is_sparse, require
from splitmerge_cli.received import DataError

NONE = "none"
KEY = "data.scale"
EXPECTED = f"{LOG}, {SQRT}, {YEO_JOHNSON}, or a power from {LEAST_POWER:g} to {MOST_POWER:g}"

ScaleOption = Mapping[str | int, str | int | float] | str | None
"""Type of the option: null or ``none``, or scales by the name or number of their column."""


def read_scales(dataset: Dataset, scale: ScaleOption) -> Dataset:
    """A table, in the units of the data, with some real columns on a `scale` of their own.

    Scales are by name or number of a column (1 is the first of the table): ``log``, ``sqrt``, ``yeo-johnson``, whose
    power has the largest likelihood of one normal distribution, or a number, the power of ``yeo-johnson``. Raises a
    `DataError` for another option, a column that is not there or not real, a value that the scale does not take, and a
    sparse matrix.
    """
    if scale in (None, NONE):
        return dataset
    expected = f"{NONE}, or scales by column, such as {{income: {LOG}}}"
    require(isinstance(scale, Mapping), KEY, scale, f"{expected} (auto: smcmc run and smcmc.sample choose)")
    assert isinstance(scale, Mapping)
    place = dataset.meta.get("path", "data")
    kind = dataset.kind
    if is_sparse(dataset.values) or not kind.has_columns:
        raise DataError(f"{KEY}: {place}: expected {NONE}: only columns of a table without a sparse matrix have scales")
    types = kind.types_of(dataset)
    scale_by_column: list[Scale | None] = [None] * len(types)
    for column, word in scale.items():
        j = _find_column(dataset, column)
        require(types[j].type == "real", f"{KEY}.{column}", word, f"a real column; this one is read as {types[j].type}")
        scale_by_column[j] = _read_scale(f"{KEY}.{column}", word, dataset.values[:, j], dataset.counts)
    if not any(scale_by_column):
        return dataset
    named = {dataset.column_names[j]: one.option for j, one in enumerate(scale_by_column) if one is not None}
    meta = dataset.meta | {"scales": named}
    return put_on_scales(replace(dataset, meta=meta), tuple(scale_by_column))


def put_on_scales(dataset: Dataset, scales: Scales | None) -> Dataset:
    """A table in the units of the data on these scales; one that is on scales stays as it is."""
    if scales is None or dataset.scales is not None:
        return dataset
    try:
        values = on_scales(dataset.values, scales, dataset.columns, dataset.positions)
    except DataError as error:
        raise DataError(f"{dataset.meta.get('path', dataset.name)}: {error}") from None
    return replace(dataset, values=values, scales=scales)


def _find_column(dataset: Dataset, column: str | int) -> int:
    """The place, among the columns that are data, of a column by its name or its number in the table."""
    names = dataset.columns or []
    if str(column) in names:
        return names.index(str(column))
    positions = list(dataset.positions or range(dataset.values.shape[1]))
    j = position(column, int(dataset.meta.get("width", dataset.values.shape[1])))
    if j is None or j not in positions:
        expected = f"one of {', '.join(dataset.column_names)}"
        raise DataError(f"{KEY}={column}: {dataset.meta.get('path', 'data')} reads no such column; expected {expected}")
    return positions.index(j)


def _read_scale(key: str, word: Any, cells: NDArray[np.floating], counts: NDArray[np.float64] | None) -> Scale:
    if word in (LOG, SQRT):
        return Scale(word)
    if word == YEO_JOHNSON:
        is_present = ~np.isnan(cells)
        present = cells[is_present].astype(np.float64)
        weights = None if counts is None else counts[is_present]
        return Scale(YEO_JOHNSON, fit_power(present, weights) if len(np.unique(present)) > 1 else 1.0)
    is_power = isinstance(word, int | float) and not isinstance(word, bool) and LEAST_POWER <= word <= MOST_POWER
    require(is_power, key, word, EXPECTED)
    return Scale(YEO_JOHNSON, float(word))


def has_digits(y: NDArray[np.float64], least: float = 1e-6) -> bool:
    """Whether cells on a scale are numbers that models read, and differ by more than a share `least` of their size: a
    power far from it leaves no digits to tell them apart."""
    largest = np.abs(y).max()
    return bool(largest <= MAGNITUDE and least * largest < np.ptp(y))


def fit_power(cells: NDArray[np.float64], counts: NDArray[np.float64] | None = None) -> float:
    """Power of ``yeo-johnson`` under which one normal distribution has the largest likelihood, from `LEAST_POWER` to
    `MOST_POWER`, to two decimals; `counts`: how often each cell counts."""

    def log_lik(power: float) -> float:
        scale = Scale(YEO_JOHNSON, power)
        y = scale.read(cells)
        if not has_digits(y, 1e-9):
            return -np.inf
        variance = np.average((y - np.average(y, weights=counts)) ** 2, weights=counts)
        return float(np.average(scale.log_jacobian(y), weights=counts) - 0.5 * np.log(variance))

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        low, high = LEAST_POWER, MOST_POWER
        # the likelihood has one maximum; scipy.optimize takes longer to import than all this
        while high - low > 1e-3:
            powers = np.linspace(low, high, 21)
            best = int(np.argmax([log_lik(power) for power in powers]))
            low, high = powers[max(best - 1, 0)], powers[min(best + 1, 20)]
    return round(float(powers[best]), 2)
