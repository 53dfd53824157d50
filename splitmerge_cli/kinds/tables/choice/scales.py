"""Scales of columns that ``data.scale=auto`` considers.

The power that fits one normal distribution best is wrong where a column has several clusters: it bends their places
rather than their shapes. So each column whose marginal is clearly skewed is described by small mixtures of normal
distributions, as it is, on a log scale if all its values are positive, and on scales of Yeo and Johnson: powers of a
grid, and the one of largest likelihood for one distribution. It gets the scale whose best mixture has the least
BIC, in the units of the data. This proposes scales, no more: whether they predict rows better than the columns as they
are is asked of the model itself (`splitmerge_cli.fits.candidates.compare_scales`).
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.scales import LEAST_POWER, LOG, MOST_POWER, YEO_JOHNSON, Scale
from splitmerge_cli.data.tables.scaled import fit_power, has_digits
from splitmerge_cli.data.values import is_sparse
from splitmerge_cli.fits.candidates import MOST_ROWS

SKEWED = 4.0
"""Standard errors of the skewness, under a normal distribution, beyond which a column is clearly skewed."""
LEAST_SKEWNESS = 0.5
MOST_COLUMNS = 200
"""Most real columns whose scales are tried. Each takes about 0.01 seconds."""
FEWEST = 20
"""Fewest cells of a column."""
POWERS = (-1.0, -0.5, 0.0, 0.5, 1.5, 2.0)
COMPONENTS = 3
"""Most components of a mixture."""
STEPS = 40
"""Steps of the EM algorithm."""
SMALLEST = 1e-3
"""Variance added to each component, as a share of the column's variance, so that ties are no peaks."""


def find_scales(dataset: Dataset) -> dict[str | int, str | float]:
    """Scales for the real columns that are clearly skewed, as ``data.scale`` takes them; empty if none has a better
    one than its own, and for more than `MOST_COLUMNS`.

    Parameters
    ----------
    dataset : Dataset
        A table in the units of the data.
    """
    kind, x = dataset.kind, dataset.values
    if not kind.has_columns or is_sparse(x) or dataset.scales is not None or dataset.reduction is not None:
        return {}
    types = kind.types_of(dataset)
    if sum(column.type == "real" for column in types) > MOST_COLUMNS:
        return {}
    rows = np.sort(np.random.default_rng(0).permutation(dataset.N)[:MOST_ROWS])
    positions = dataset.positions or range(x.shape[1])
    scale_by_column: dict[str | int, str | float] = {}
    for j, column in enumerate(types):
        if column.type != "real":
            continue
        cells = x[rows, j].astype(np.float64)
        # rows that are not among these are read on the scale, too
        ends = np.array([np.nanmin(x[:, j]), np.nanmax(x[:, j])], dtype=np.float64)
        scale = _find_scale(cells[~np.isnan(cells)], ends)
        if scale is not None:
            scale_by_column[dataset.columns[j] if dataset.columns else positions[j] + 1] = scale.option
    return scale_by_column


def format_scales(scales: Mapping[str | int, str | float]) -> str:
    """Scales as text: ``x1 log, x2 yeo-johnson(-0.3)``.

    Examples
    --------
    >>> format_scales({"x1": "log", "x2": -0.3})
    'x1 log, x2 yeo-johnson(-0.3)'
    """
    named = (f"{column} {Scale(YEO_JOHNSON, s) if isinstance(s, float) else s}" for column, s in scales.items())
    return ", ".join(named)


def _find_scale(cells: NDArray[np.float64], ends: NDArray[np.float64]) -> Scale | None:
    if len(cells) < FEWEST or np.ptp(cells) == 0.0 or not is_skewed(cells):
        return None
    scales = list(_candidates(cells, ends))
    read = [cells, *(scale.read(cells) for scale in scales)]
    jacobian = [0.0, *(float(scale.log_jacobian(y).sum()) for scale, y in zip(scales, read[1:], strict=True))]
    # a power is a parameter
    powers = np.array([0.0, *(scale.name == YEO_JOHNSON for scale in scales)])
    bic = _least_bic(np.array(read)) - 2.0 * np.array(jacobian) + powers * np.log(len(cells))
    return (None, *scales)[int(bic.argmin())]


def is_skewed(cells: NDArray[np.float64]) -> bool:
    """Whether the skewness of a column is clearly not 0."""
    z = (cells - cells.mean()) / cells.std()
    return abs(float((z**3).mean())) > max(LEAST_SKEWNESS, SKEWED * np.sqrt(6.0 / len(cells)))


def _candidates(cells: NDArray[np.float64], ends: NDArray[np.float64]) -> Iterator[Scale]:
    """Scales that can read all cells between `ends`."""
    if ends[0] > 0.0:
        yield Scale(LOG)
    for power in dict.fromkeys((*POWERS, fit_power(cells))):
        scale = Scale(YEO_JOHNSON, power)
        is_inside = LEAST_POWER + 0.05 < power < MOST_POWER - 0.05  # at the bounds none fits
        if is_inside and power != 1.0 and has_digits(scale.read(np.append(cells, ends))):
            yield scale


def _least_bic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least BIC of mixtures with up to `COMPONENTS` normal distributions, for each row of values ``[scales, cells]``.

    All rows are fitted at the same time, which takes a twentieth of the time of a fit for each.
    """
    spread, n = values.std(axis=1), values.shape[1]
    z = (values - values.mean(axis=1, keepdims=True)) / spread[:, None]
    bic = []
    for K in range(1, COMPONENTS + 1):
        # [scales, components, cells]
        mean = np.quantile(z, (np.arange(K) + 0.5) / K, axis=1).T[..., None]
        variance, weight = np.full_like(mean, 1.0 / K**2), np.full_like(mean, 1.0 / K)
        for _ in range(STEPS if K > 1 else 2):
            log_joint = np.log(weight) - 0.5 * (np.log(2.0 * np.pi * variance) + (z[:, None] - mean) ** 2 / variance)
            log_density = np.logaddexp.reduce(log_joint, axis=1, keepdims=True)
            share = np.exp(log_joint - log_density)
            total = share.sum(axis=2, keepdims=True) + 1e-9
            weight, mean = total / n, (share * z[:, None]).sum(axis=2, keepdims=True) / total
            variance = (share * (z[:, None] - mean) ** 2).sum(axis=2, keepdims=True) / total + SMALLEST
        bic.append((3 * K - 1) * np.log(n) - 2.0 * log_density.sum(axis=(1, 2)))
    return np.asarray(np.min(bic, axis=0) + 2.0 * n * np.log(spread))
