"""Points in units from the middle of their columns, and the prior with them: what a `DenseGaussian` reads."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv, stdtrit

from splitmerge_cli.core.options import Gamma
from splitmerge_cli.core.rows import Columns
from splitmerge_cli.kinds.tables.models.real_columns import (
    Numbers,
    factor_piece,
    moments_of,
    prior_of,
    resolutions_of,
    unit_of,
    units_of,
)
from splitmerge_cli.kinds.tables.models.scale_prior import LEAST_SCALE

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
"""Terms in the place of one, so that sums have room for weights of rows (``row_weights.pyx``)."""
MOST_SCALES = 1e3
"""The reach is no more than so many scales from the prior's mean, which a0 below 0.6 would make it."""


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
        gapped = absent[:known].any(axis=0)
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
        _check_digits(scale, largest, zeta, isinstance(b0, Gamma))
    for first in range(0, D, step):
        here = slice(first, min(first + step, D))
        x[:, here] = np.rint((np.array(points[:, here], dtype=np.float64, order="C") - centre[here]) / units[here])
    if absent is not None and draws:
        np.copyto(x, np.rint(mean / units), where=absent)
    if known is not None:
        np.clip(x[known:], -widest / units, widest / units, out=x[known:])
    narrowest = least * unit / zeta if isinstance(b0, Gamma) else scale
    return {
        "x": x,
        "middle": centre,
        "units": units,
        "m0": location / units,
        "b0": scale / units**2,
        "grain": (resolutions / units) ** 2 / 12.0,
        "coarse": bool(resolutions.any()),
        "log_units": float(np.log(units).sum()),
        "log_b0": float(np.log(scale / units**2).sum()),
        "piece": factor_piece(widest, location, narrowest, units),
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
        moments[:, first : first + len(part)] = (
            centre,
            part.mean(axis=1),
            part.var(axis=1),
            np.ptp(part, axis=1),
            np.abs(part).max(axis=1),
        )
    return moments


def _check_digits(scale: Numbers, largest: Numbers, zeta: float, is_resampled: bool) -> None:
    """A ValueError where a factorisation would lose what the scatter exceeds the prior's by."""
    narrow = 2.0 * scale < 1e-10 * largest
    if narrow.any():
        d = int(narrow.argmax())
        described = f"a prior of mean {zeta * scale[d]:.3g}" if is_resampled else f"{zeta * scale[d]:.3g}"
        raise ValueError(
            f"model.b0: expected at least {zeta * 5e-11 * largest[d]:.3g} in column {d + 1} with "
            f"model.covariance=full and this model.m0, got {described}: less leaves no digits of the "
            "covariances"
        )


def _reach_of(half: Numbers, location: Numbers, scale: Numbers, b0: Any, kappa0: Any, a0: float) -> Numbers:
    """How far from the middle of its column a missing cell may be, ndarray of float of shape (D,); `scale`: b0 and the
    grain of a cell."""
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
