"""Two real columns that tell a cluster from the others together, where neither does alone.

Clusters may lie side by side along a diagonal: each column has nearly the same values in both, the difference of one
and a multiple of the other has not. The multiple is the slope within the clusters, which takes out what both columns
share; without correlation within clusters it is 0, and the difference is the column alone.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from splitmerge_cli.kinds.tables.column_descriptions import format_two
from splitmerge_cli.kinds.tables.column_statistics import Statistics

FEWEST = 5
"""Items of a cluster, at least, whose slopes are looked at."""
WORK = 50_000_000
"""Items times pairs of columns that are looked at, at most."""
CLEAR = 2.0
"""Divergence from which on one column is enough, in nats: two normal distributions two standard deviations apart."""
CLEARER = 2.0
"""Times the divergence of the best column that the pair has, at least."""
LEAST = 0.5
"""Divergence of a pair that is named, at least, in nats: two normal distributions one standard deviation apart."""


def describe_pairs(dataset: Any, labels: NDArray[np.int64], known: Statistics) -> dict[int, str]:
    """The pair of columns that tells a cluster apart, by cluster: ``y - 0.98 x = 1.2 (others -1.1)``.

    A cluster that one column describes nearly as well has none, nor have rows with weights. Columns with gaps or with
    scales of their own are left out.
    """
    values = dataset.original.values
    if issparse(values) or dataset.counts is not None or len(known.types) != values.shape[1]:
        return {}
    reals = [j for j, type in enumerate(known.types) if type == "real" and known.scale_of(j) is None]
    reals = [j for j in reals if np.ptp(values[:, j]) > 0]  # no gaps either
    if len(reals) < 2 or len(labels) * len(reals) ** 2 > WORK:
        return {}
    x = values[:, reals].astype(np.float64)
    x -= x.mean(axis=0)
    sizes = np.bincount(labels)
    means = np.stack([x[labels == k].mean(axis=0) for k in range(len(sizes))])
    within = (x - means[labels]).T @ (x - means[labels])
    slopes = within / np.maximum(np.diag(within), 1e-300)
    spread = _variances(np.cov(x.T, bias=True), slopes)
    descriptions = {}
    alone = np.nan_to_num(known.divergence).max(axis=1)
    for k in np.flatnonzero((sizes >= FEWEST) & (sizes < len(labels) - 1) & (alone < CLEAR)):
        own_covariance, rest = (np.cov(part.T, bias=True) for part in (x[labels == k], x[labels != k]))
        away = means[k] - x[labels != k].mean(axis=0)
        # of column i less a multiple of column j; one observation more is spread as all are, as in `statistics`
        parts = ((own_covariance, sizes[k]), (rest, len(x) - sizes[k]))
        v, w = ((n * _variances(covariance, slopes) + spread) / (n + 1) for covariance, n in parts)
        shift = away[:, None] - slopes * away
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = 0.5 * (np.log(w / v) + (v + shift**2) / w - 1)
        np.fill_diagonal(divergence, 0.0)
        divergence = np.where(np.isfinite(divergence), divergence, 0.0)
        i, j = map(int, np.unravel_index(np.argmax(divergence), divergence.shape))
        if divergence[i, j] > max(LEAST, CLEARER * alone[k]):
            descriptions[int(k)] = _describe(dataset, known, reals[i], reals[j], float(slopes[i, j]), labels == k)
    return descriptions


def _variances(covariance: NDArray[np.float64], slopes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variances ``[D, D]`` of column i less its slope times column j."""
    variance = np.diag(covariance)
    return np.asarray(variance[:, None] - 2 * slopes * covariance + slopes**2 * variance)


def _describe(dataset: Any, known: Statistics, i: int, j: int, slope: float, in_cluster: NDArray[np.bool_]) -> str:
    values = dataset.original.values
    # the multiple as it is printed
    multiple = f"{abs(slope):.3g}"
    difference = values[:, i] - np.sign(slope) * float(multiple) * values[:, j]
    parts = difference[in_cluster], difference[~in_cluster]
    texts = format_two(float(parts[0].mean()), float(parts[1].mean()), float(min(part.std() for part in parts)))
    sign = "-" if slope > 0 else "+"
    return f"{known.columns[i]} {sign} {multiple} {known.columns[j]} = {texts[0]} (others {texts[1]})"
