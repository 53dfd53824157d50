"""Columns of real numbers before a model reads them: their moments, the step to which they are recorded, the location
and scale of the prior, and the points in units from the middle of their columns that a `DenseGaussian` reads."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.checks import Columns, resolution
from splitmerge_cli.core.options import Gamma

Numbers = NDArray[np.float64]

SAME = 1e-9
"""Values closer than this share of their column's range are one value with rounding errors."""
OFF_GRID = 0.01
"""Steps between a value and the nearest one of a grid that it is on."""
LEAST_SCALE, MOST_SCALE = 1e-10, 1e10
"""b0 is between these multiples of its column's variance: beyond the first, clusters of equal points have no digits
left to compare."""
COLUMNS = 1 << 17
"""Numbers of the data that are prepared at the same time, a column at least."""
REACH = 8.0
"""A missing cell is within so many times its column's half range from the middle, or where the prior puts it, if that
is farther: sums have room for that."""
BEYOND = 1e-4
"""Prior probability of a cell beyond the reach, b0 and kappa0 at their numbers or at such quantiles of their priors as
`UNLIKELY` says."""
UNLIKELY = 0.01
OF_WEIGHTS = 1 << 28
"""Terms in the place of one, so that sums have room for weights of rows (``normal.pyx``)."""
MOST_SCALES = 1e3
"""The reach is no more than so many scales from the prior's mean, which a0 below 0.6 would make it."""


def box_of(points: NDArray[Any], box: Any, resolutions: Any) -> Numbers:
    """The lowest and the highest value of each column, shape (2, D), from the option `box` or from the data: half a
    step beyond these; a column without spread, or without a cell, has a range of 1."""
    D = points.shape[1]
    if box is not None:
        low, high = per_column("model.box", box, 2 * D, "ends of columns").reshape(D, 2).T
        if not (low < high).all():
            raise ValueError(f"model.box: expected the lowest and the highest value of each column, got {box}")
        return np.array([low, high])
    half = resolutions_of(resolutions, D, points.T) / 2.0
    absent = np.isnan(points)
    low = np.where(absent, np.inf, points).min(axis=0) - half
    high = np.where(absent, -np.inf, points).max(axis=0) + half
    low, high = np.where(absent.all(axis=0), 0.0, [low, high])
    half = np.where(low == high, 0.5, 0.0)
    return np.array([low - half, high + half], dtype=np.float64)


def start_value(value: Gamma | float, least: float, most: float) -> float:
    """Starting value of a chain: the value itself, or the mean of its `Gamma`, within the range."""
    return min(max(value.mean, least), most) if isinstance(value, Gamma) else value


def find_resolution(column: ArrayLike) -> float:
    """The step to which the values of a column are recorded: the least difference between values that occur at least
    twice; of one such value, to its nearest neighbour. Where fewer than half of the cells are on the grid of that step,
    values that repeat are too few to show it: the least difference between any. `column`: float of shape (N,), NaN
    where a cell is missing. 0 where no value occurs twice: a density has no ties. Where all cells are one number, as in
    some rows of a table, its last digit: without a step the density would have no bound.
    >>> round(find_resolution([5.1, 4.9, 4.7, 5.1, 4.9, 6.05]), 9)
    0.2
    >>> find_resolution([0.31, 0.12, 0.73])
    0.0
    >>> round(find_resolution([2.104, 2.104, 7.215, 7.215, 3.117, 4.868, 4.869, 6.542, 5.391]), 9)
    0.001
    """
    cells = np.asarray(column, dtype=np.float64)
    cells = np.sort(cells[~np.isnan(cells)])
    if len(cells) < 3:
        return 0.0
    if (span := np.ptp(cells)) == 0.0:
        return last_digit(cells[0])
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


def last_digit(number: float) -> float:
    """The step of a number's last digit, without rounding errors: 0.01 of 3.25, 1 of whole numbers."""
    _, point, digits = np.format_float_positional(number, precision=12, trim="-").partition(".")
    return 10.0 ** -len(digits) if point else 1.0


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
    # one step in the units of the data, at its length on the scale; effects on an outcome have none
    cells, in_units, scales, types = data.values.T, data.values_in_units.T, data.scales, data.kind.types_of(data)
    effects, names = params.get("effects") or (), data.column_names
    columns = [j for j, column in enumerate(types) if column.type == "real" and not {names[j], j + 1} & {*effects}]
    apart = params.get("zeros") == "apart"
    steps = [_on_scale(cells[j], in_units[j], scales[j], types[j].spike, apart) for j in columns]
    return params | {"resolution": steps}


def _on_scale(cells: Numbers, in_units: Numbers, scale: Any, spike: tuple[float, float] | None, apart: bool) -> float:
    """The step of a column on a scale, one number for all cells.

    Each cell has its own step there, r_i. The likelihood subtracts r^2 / 24 v for each cell, so the root mean square of
    the r_i makes the sum over all rows right (docs/derivations.md, "A resolution of real columns"). Cells at a spike,
    which is on any grid, do not show the step; set apart they are not in that likelihood either.
    """
    other = np.ones(len(cells), dtype=bool) if spike is None else cells != spike[0]
    step = find_resolution(in_units[other])
    if scale is None or not step:
        return step
    seen = cells[other] if apart else cells
    return step * float(np.sqrt(np.nanmean(np.exp(2 * scale.log_jacobian(seen)))))


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


def moments_of_sparse(points: Any) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Mean, variance, least and largest number of each column of sparse points ``[N, D]``, what is 0 included."""
    N, D = points.shape
    column, value = points.indices, points.data.astype(np.float64)
    mean = np.bincount(column, value, D) / N
    filled = np.bincount(column, minlength=D)
    variance = (np.bincount(column, (value - mean[column]) ** 2, D) + (N - filled) * mean**2) / N
    least, most = np.zeros(D), np.zeros(D)
    np.minimum.at(least, column, value)
    np.maximum.at(most, column, value)
    full = filled == N
    if full.any():
        dense = points[:, np.flatnonzero(full)]
        least[full], most[full] = dense.min(axis=0).toarray().ravel(), dense.max(axis=0).toarray().ravel()
    # the mean of equal numbers may be off by a rounding
    variance[least == most] = 0.0
    return mean, variance, least, most


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


def prepare(
    array: NDArray[Any],
    covariance: str,
    kappa0: Any,
    m0: Any,
    b0: Any,
    steps: Any,
    zeta: float,
    a0: float,
    tails: str = "normal",
    reads_gaps: bool = False,
    known: int | None = None,
    columns: Columns | None = None,
) -> dict[str, Any]:
    """Points in units from their column's middle, and the prior with them, some columns at a time, so that no other
    array of the data's size is made; a ValueError for what are no points, or a prior out of range. For the points the
    first `known` say what these are; new ones beyond their range are put on its edge. With the `Columns` of all rows,
    of which these are a part, they are written over."""
    points = np.asarray(array, dtype=None if array.dtype == np.float32 and columns is None else np.float64)
    absent = _find_absent(points, reads_gaps) if columns is None else None
    draws = absent is not None and covariance == "full"
    N, D = points.shape
    if columns is None:
        step = max(1, COLUMNS // N)
        centre, mean, variance, span, widest = _moments(points[:known], absent, step)
        x = np.empty(points.shape)
    else:
        # no pointer leads into an empty array
        x = points = points if len(points) else np.zeros((1, D))
        N, step = columns.rows, max(1, COLUMNS // len(points))
        centre, mean, variance, span, widest = moments_of_columns(columns)
    location, scale = prior_of(covariance, m0, b0, mean, variance, span, centre)
    resolutions = resolutions_of(steps, D, (points[:known, d] for d in range(D)) if columns is None else None)
    usual, rare = widest, np.zeros(D)
    if absent is not None and draws:
        # room for what is drawn in place of missing cells
        gapped = np.any(absent[:known], axis=0)
        reach = _reach_of(widest, location, scale + resolutions**2 / 24.0, b0, kappa0, a0)
        usual = np.where(gapped, REACH * np.where(widest > 0.0, widest, 1.0), widest)
        widest = np.where(gapped, reach, widest)
        # a single cell there, which is all that is likely to be
        rare = np.where(gapped, (widest + np.abs(location)) ** 2, 0.0)
    units = units_of(widest, N, covariance, OF_WEIGHTS if tails == "t" else 1)
    if known is not None:
        N = known
    scale, kappa0 = scale / zeta, kappa0 if isinstance(kappa0, Gamma) else kappa0 / zeta
    unit = unit_of(covariance, b0, variance)
    # the least multiple of the variance that a resampled scale may become
    least = LEAST_SCALE
    if covariance == "full" and D > 1:
        largest_n = N if isinstance(kappa0, Gamma) else min(kappa0, N)
        largest = N * variance + np.maximum(largest_n * (usual + np.abs(location)) ** 2, min(largest_n, 1.0) * rare)
        least = max(least, zeta * 5e-11 * (largest / unit).max())
        narrow = 2.0 * scale < 1e-10 * largest
        if narrow.any():
            # a factorisation would lose what the scatter exceeds the prior's by
            d = int(narrow.argmax())
            described = f"a prior of mean {zeta * scale[d]:.3g}" if isinstance(b0, Gamma) else f"{zeta * scale[d]:.3g}"
            raise ValueError(
                f"model.b0: expected at least {zeta * 5e-11 * largest[d]:.3g} in column {d + 1} with "
                f"model.covariance=full and this model.m0, got {described}: less leaves no digits of the covariances"
            )
    for first in range(0, D, step):
        here = slice(first, min(first + step, D))
        x[:, here] = np.rint((np.array(points[:, here], dtype=np.float64, order="C") - centre[here]) / units[here])
    if absent is not None and draws:
        np.copyto(x, np.rint(mean / units), where=absent)
    if known is not None:
        np.clip(x[known:], -widest / units, widest / units, out=x[known:])
    narrowest = least * unit / zeta if isinstance(b0, Gamma) else scale
    order, complete = np.arange(D), D
    if covariance == "diag":
        # columns without missing cells first: they share what depends on the number of cells
        lacking: NDArray[np.bool_] = np.zeros(D, dtype=bool) if absent is None else np.any(absent, axis=0)
        lacking = lacking if columns is None else columns.observed < columns.rows
        if tails == "t" and (lacking.any() or resolutions.any()):
            # a row's weight makes of its grain another one for each
            lacking[:] = True
        order, complete = np.argsort(lacking, kind="stable"), D - int(lacking.sum())
    if complete < D:
        x = np.ascontiguousarray(x[:, order])
    together = order[:complete]
    return {
        "x": x,
        "order": order.astype(np.int32),
        "complete": complete,
        "middle": centre[order],
        "units": units[order],
        "m0": (location / units)[order],
        "b0": (scale / units**2)[order],
        "grain": ((resolutions / units) ** 2 / 12.0)[order],
        "coarse": bool(resolutions[together].any()),
        "log_units": float(np.log(units[together]).sum()),
        "log_b0": float(np.log((scale / units**2)[together]).sum()),
        "piece": factor_piece(widest, location, narrowest, units),
        "start": zeta * (scale / units**2),
        "square": units**2,
        "unit": unit / units**2,
        "log_unit": float(np.log(unit[: 1 if covariance == "iso" else D]).sum()),
        "least": float(least),
        "points": None if columns is not None or points.dtype == array.dtype else points,
        **_gaps(absent[:known] if absent is not None and draws else None, len(x), widest / units),
    }


def moments_of_columns(columns: Columns) -> NDArray[np.float64]:
    """Middles, means from there, variances, ranges and largest distances, shape (5, D); a ValueError beyond 1e30."""
    _check_range(columns.low, columns.high)
    return np.ascontiguousarray(np.transpose([columns.moments(d) for d in range(len(columns.low))]))


def _check_range(least: ArrayLike, largest: ArrayLike) -> None:
    # a NaN fails both
    if not (np.all(np.greater_equal(least, -1e30)) and np.all(np.less_equal(largest, 1e30))):
        raise ValueError("x: a coordinate is not a finite number of magnitude at most 1e30")


def _find_absent(points: NDArray[Any], reads_gaps: bool) -> NDArray[np.bool_] | None:
    """Where a cell is missing; None of points that are complete. A ValueError for what are no points, or missing cells
    that are not read."""
    if points.ndim != 2 or not points.size:
        raise ValueError(f"x: expected points, an array of shape (N, D), got {points.shape}")
    absent = np.isnan(points) if reads_gaps and np.isnan(points.min()) else None
    seen = points if absent is None else points[~absent]
    if seen.size:
        _check_range(seen.min(), seen.max())
    return absent


def _moments(points: NDArray[Any], absent: NDArray[np.bool_] | None, step: int) -> NDArray[np.float64]:
    """Middles, means from there, variances, ranges and largest distances of columns, shape (5, D); so many columns at a
    time."""
    D = points.shape[1]
    moments = np.empty((5, D))
    for first in range(0, D, step):
        # a column is a row here: its sum is the same whether it stands alone or not
        part = np.array(points[:, first : first + step].T, dtype=np.float64, order="C")
        if absent is not None:
            # the cells that are there determine all
            moments[:, first : first + len(part)] = np.array([moments_of(cells[~np.isnan(cells)]) for cells in part]).T
            continue
        # the middle as a number that loses no digit of points near it
        centre = part.min(axis=1) / 2 + part.max(axis=1) / 2
        part -= centre[:, None]
        of_part = centre, part.mean(axis=1), part.var(axis=1), np.ptp(part, axis=1), np.abs(part).max(axis=1)
        moments[:, first : first + len(part)] = of_part
    return moments


def _reach_of(half: Numbers, location: Numbers, scale: Numbers, b0: Any, kappa0: Any, a0: float) -> Numbers:
    """How far from the middle of its column a missing cell may be, ndarray of float of shape (D,); `scale`: b0 and the
    grain of a cell."""
    from scipy.special import gammaincinv, stdtrit  # points without missing cells do without

    if isinstance(b0, Gamma):
        scale = scale * gammaincinv(b0.shape, 1.0 - UNLIKELY) / b0.shape
    if isinstance(kappa0, Gamma):
        kappa0 = max(gammaincinv(kappa0.shape, UNLIKELY) / kappa0.rate, 1e-9)
    # a cell of a cluster without others has a t distribution
    quantile = min(stdtrit(2.0 * a0, 1.0 - 0.5 * BEYOND), MOST_SCALES)
    farthest = np.abs(location) + quantile * np.sqrt(scale / a0 * (1.0 + 1.0 / kappa0))
    return np.maximum(REACH * np.where(half > 0.0, half, 1.0), farthest)


def _gaps(absent: NDArray[np.bool_] | None, N: int, reach: Numbers) -> dict[str, Any]:
    """Rows with missing cells among those that are data, and these cells."""
    if absent is None or not absent.any():
        return {"gaps": 0}
    rows, columns = np.nonzero(absent)
    items, begin = np.unique(rows, return_index=True)
    gap_of = np.full(N, -1, dtype=np.int32)
    gap_of[items] = np.arange(len(items))
    return {
        "gaps": len(items),
        "gap_of": gap_of,
        "gap_item": items.astype(np.int32),
        "reach": reach,
        "gap_begin": np.append(begin, len(rows)).astype(np.int32),
        "gap_column": columns.astype(np.int32),
    }
