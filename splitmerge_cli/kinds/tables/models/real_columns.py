"""Columns of real numbers before a model reads them: their moments, the step to which they are recorded, and the
location and scale of the prior."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.fixed_point import resolution
from splitmerge_cli.core.options import Gamma
from splitmerge_cli.kinds.tables.models.scale_prior import LEAST_SCALE, MOST_SCALE, start_value

Numbers = NDArray[np.float64]

SAME = 1e-9
"""Values closer than this share of their column's range are one value with rounding errors."""
OFF_GRID = 0.01
"""Steps between a value and the nearest one of a grid that it is on."""


def find_resolution(column: ArrayLike) -> float:
    """The step to which the values of a column are recorded: the least difference between values that occur at least
    twice; of one such value, to its nearest neighbour. Where fewer than half of the cells are on the grid of that step,
    values that repeat are too few to show it: the least difference between any. `column`: float of shape (N,), NaN
    where a cell is missing. 0 where no value occurs twice, or all are the same: a density has no ties.

    Examples
    --------
    >>> round(find_resolution([5.1, 4.9, 4.7, 5.1, 4.9, 6.05]), 9)
    0.2
    >>> find_resolution([0.31, 0.12, 0.73])
    0.0
    >>> round(find_resolution([2.104, 2.104, 7.215, 7.215, 3.117, 4.868, 4.869, 6.542, 5.391]), 9)
    0.001
    """
    cells = np.asarray(column, dtype=np.float64)
    cells = np.sort(cells[~np.isnan(cells)])
    span = np.ptp(cells) if len(cells) > 2 else 0.0
    if span == 0.0:
        return 0.0
    begins = np.flatnonzero(np.append(True, np.diff(cells) > SAME * span))
    values, tied = cells[begins], np.diff(np.append(begins, len(cells))) > 1
    if not tied.any():
        return 0.0
    position = int(tied.argmax())
    shown = values[tied] if tied.sum() > 1 else values[max(position - 1, 0) : position + 2]
    step = np.diff(shown).min()
    steps = (cells - values[position]) / step
    is_on_grid = np.abs(steps - np.rint(steps)) < OFF_GRID
    return float(step if 2 * is_on_grid.sum() >= len(cells) else np.diff(values).min())


def settle_resolution(data: Any, params: dict[str, Any], by_cell: bool = False) -> dict[str, Any]:
    """Return a model's options with the resolution that the data ask for.

    ``auto``, the default, is ``none`` for data that are not a table of the user's own. A model of an array has none
    unless it is asked for; so has one with the tails of Student's t, except where these are `by_cell`: independent
    columns of a `Mixed`.
    """
    if params.get("resolution", "auto") != "auto":
        return params
    has_none = params.get("tails") == "t" and not (by_cell and params.get("covariance", "diag") == "diag")
    if not data.is_recorded or has_none:
        return params | {"resolution": "none"}
    if data.scales is None:
        return params | {"resolution": "auto"}
    # one step in the units of the data, at its mean length on the scale; effects on an outcome have none
    cells, in_units, scales, types = data.values.T, data.values_in_units.T, data.scales, data.kind.types_of(data)
    effects, names = params.get("effects") or (), data.column_names
    columns = [j for j, column in enumerate(types) if column.type == "real" and not {names[j], j + 1} & {*effects}]
    return params | {"resolution": [_on_scale(cells[j], in_units[j], scales[j]) for j in columns]}


def _on_scale(cells: Numbers, in_units: Numbers, scale: Any) -> float:
    step = find_resolution(in_units)
    return step if scale is None or not step else step * float(np.exp(np.nanmean(scale.log_jacobian(cells))))


def resolutions_of(resolution: Any, D: int, columns: Iterable[ArrayLike] | None, items: str = "columns") -> Numbers:
    """Resolutions of D columns, ndarray of float64, from the option; `columns`: an iterable of the cells of each, None
    if they are not at hand and ``auto`` finds none. A ValueError for another number of values."""
    if isinstance(resolution, str):
        if resolution == "none" or columns is None:
            return np.zeros(D)
        return np.array([find_resolution(cells) for cells in columns])
    resolutions: Numbers = per_column("model.resolution", resolution, D, items)
    return resolutions


def per_column(key: str, value: Any, D: int, items: str = "columns") -> Any:
    """A number or one per column as an array of D; None and a `Gamma` stay."""
    if value is None or isinstance(value, Gamma):
        return value
    values = np.array(value, dtype=np.float64)
    if values.shape not in ((), (D,)):
        raise ValueError(f"{key}: expected a number, or one for each of {D} {items}, got {value}")
    return np.broadcast_to(values, (D,)).astype(np.float64)


def moments_of(cells: Numbers) -> tuple[float, float, float, float, float]:
    """Middle, mean from there, variance, range and largest distance from the middle, for the cells of a column; zeros
    where there is none."""
    if not cells.size:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    # the middle as a number that loses no digit of cells near it
    centre = cells.min() / 2 + cells.max() / 2
    cells = cells - centre
    return centre, cells.mean(), cells.var(), np.ptp(cells), np.abs(cells).max()


def prior_of(
    covariance: str, m0: Any, b0: Any, mean: Numbers, variance: Numbers, span: Numbers, centre: Numbers
) -> tuple[Numbers, Numbers]:
    """Location and scale of the prior, from the options or from the data, each float of shape (D,): the location from
    `centre`, of iso the scale D times the same number. `m0` and `b0`: of the configuration; of a `Gamma` the scale is
    the one at the start. `mean`, `variance`, `span` and `centre`, of shape (D,): of the data, means from `centre`. A
    ValueError for a parameter out of range."""
    D = len(mean)
    variance = unit_of(covariance, b0, variance)
    location = mean if m0 is None else per_column("model.m0", m0, D) - centre
    scale = per_column("model.b0", b0, D)
    if isinstance(b0, Gamma):
        scale = start_value(b0, LEAST_SCALE, MOST_SCALE) * variance
    elif scale is None:
        scale = 0.1 * variance
    elif covariance == "iso" and np.ptp(scale) > 0.0:
        raise ValueError("model.b0: expected one number, since model.covariance=iso has one variance")
    least = 1e-24 * span**2
    if not ((scale >= 1e-100) & (scale <= 1e100)).all():
        raise ValueError(f"model.b0: expected positive numbers from 1e-100 to 1e100, got {scale.min():g}")
    if (scale < least).any():
        raise ValueError(
            f"model.b0: expected at least {least.max():.3g}, 1e-24 of the squared range of the data, "
            f"got {scale.min():.3g}: less leaves no digits to compare clusters"
        )
    if not (np.abs(location) <= 1e30).all():
        raise ValueError("model.m0: expected numbers of magnitude at most 1e30")
    return location, scale


def prior_options(
    covariance: str, m0: Any, b0: Any, mean: Numbers, variance: Numbers, items: str = "columns"
) -> dict[str, Any]:
    """The options m0 and b0 with numbers in the place of what is left to the data, so that another model's data change
    nothing."""
    D = len(mean)
    m0, b0 = per_column("model.m0", m0, D, items), per_column("model.b0", b0, D, items)
    location, scale = prior_of(covariance, m0, b0, mean, variance, np.zeros(D), np.zeros(D))
    if isinstance(b0, Gamma):
        # in units of its own
        unit = tuple(variance_of(covariance, variance).tolist())
        return {"m0": location.tolist(), "b0": Gamma(b0.shape, b0.rate, unit)}
    return {"m0": location.tolist(), "b0": float(scale[0]) if covariance == "iso" else scale.tolist()}


def variance_of(covariance: str, variance: Numbers) -> Numbers:
    """Units of scales, ndarray of float of shape (D,): the variances of the columns, iso their mean; of
    columns without spread 1."""
    if covariance == "iso":
        variance = np.full(len(variance), variance.mean())
    return np.where(variance == 0.0, 1.0, variance)


def unit_of(covariance: str, b0: Any, variance: Numbers) -> Numbers:
    """Units of a resampled b0, ndarray of float of shape (D,): as `variance_of` says, but where the prior
    has units of its own."""
    if isinstance(b0, Gamma) and b0.unit is not None:
        return np.array(b0.unit)
    return variance_of(covariance, variance)


def factor_piece(widest: Numbers, location: Numbers, scale: Numbers, units: Numbers) -> int:
    """How many factors 1 + g (x - m)^2 of a product over columns cannot leave the range of a double; `scale`: the
    least b0 of each column."""
    factor = 1.0 + ((widest + np.abs(location)) / units) ** 2 * 2.0 / (scale / units**2)
    return max(1, min(max(len(units), 1), int(300.0 / max(np.log10(factor).max(initial=0.0), 0.01))))


def units_of(widest: Numbers, N: int, covariance: str, terms: int = 1) -> Numbers:
    """Units of columns with cells at most so far from their middle, of N rows that count as so many terms each."""
    units: Numbers = resolution(widest, N, terms)
    if covariance == "iso":
        units[:] = resolution(widest.max(), N, terms * len(widest))
    return units
