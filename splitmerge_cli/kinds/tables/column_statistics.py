"""Statistics of each column in each cluster: counts, means, divergence of the cluster from all others."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from splitmerge_cli.data.scales import Scales, titles

MOST_CELLS = 20_000_000
"""Most clusters times columns that are described: the columns of largest variance."""
BY_LEVEL = ("categorical", "ordinal")
"""Types of columns with a feature for each level."""
RESOLUTION = 1e-12
"""Standard deviation of a constant column, relative to its values, that rounding may leave."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Statistics:
    """Columns of a table by cluster. A feature is a column of numbers, the second level of a binary column, or a level
    of a categorical or ordinal one."""

    columns: list[str]
    """D names."""
    types: list[str]
    """A word of ``COLUMN_TYPES`` for each column."""
    column: NDArray[np.int64]
    """int64 ``[F]``: the column of each feature, ascending."""
    level: list[str | None]
    """``[F]``: its level; None of numbers."""
    n: Numbers
    """float64 ``[K, F]``: cells that are present."""
    mean: Numbers
    """float64 ``[K, F]``: their mean, or the share of the level; nan without any."""
    variance: Numbers
    """float64 ``[K, F]``: divided by n."""
    overall: Numbers
    """float64 ``[F]``: mean over all items."""
    deviation: Numbers
    """float64 ``[F]``: standard deviation over all items, 0 of a constant column."""
    divergence: Numbers
    """float64 ``[K, D]``: Kullback-Leibler divergence, in nats, of the column in the cluster from the column in all
    other clusters, both as normal, Poisson or categorical distributions; nan where one has no cells."""
    scales: Scales = field(default=(), kw_only=True)
    """``[D]``: the scale of each column on which means and variances are; None of
    a column in the units of the data. Empty: no column has a scale of its own."""

    @property
    def titles(self) -> list[str]:
        """``[D]``: names of the columns for pictures, with their scales."""
        return titles(self.columns, self.scales or None)

    def scale_of(self, j: int) -> Any:
        """The scale of column `j`, None of one in the units of the data."""
        return self.scales[j] if self.scales else None

    @property
    def standardised_means(self) -> Numbers:
        """float64 ``[K, F]``: means less the mean of all items, in standard deviations of all; 0 for a constant
        column."""
        scale = np.where(self.deviation > 0, self.deviation, np.inf)
        return (self.mean - self.overall) / scale

    @property
    def telling(self) -> Numbers:
        """float64 ``[D]``: mean divergence over the items, a measure of how well a column separates the clusters."""
        shares = self.n[:, np.searchsorted(self.column, np.arange(len(self.columns)))]
        weight = np.where(np.isnan(self.divergence), 0.0, shares)
        return np.asarray((weight * np.nan_to_num(self.divergence)).sum(axis=0) / np.maximum(weight.sum(axis=0), 1.0))


def statistics(dataset: Any, labels: ArrayLike) -> Statistics:
    """Describe the columns of a table by cluster, `labels` ``[N]`` from 0.

    Rows count as often as their weights say (`Dataset.counts`). Divergences are computed with one observation more,
    spread like all items: a cluster of one item has no variance, a level that does not occur no logarithm.
    """
    cluster_labels, dataset = np.asarray(labels, dtype=np.int64), dataset.original
    x, D, counts = dataset.values, dataset.values.shape[1], dataset.counts
    names = dataset.column_names
    columns, scales = dataset.kind.types_of(dataset), dataset.scales or ()
    K = int(cluster_labels.max()) + 1
    order = np.argsort(cluster_labels, kind="stable")
    clusters = np.split(order, np.cumsum(np.bincount(cluster_labels, minlength=K))[:-1])
    if K * D > MOST_CELLS and dataset.types is None:
        chosen = np.sort(np.argsort(-_moments(x)[2], kind="stable")[: max(1, MOST_CELLS // K)])
        x, names, columns = x[:, chosen], [names[j] for j in chosen], tuple(columns[j] for j in chosen)
        scales = tuple(scales[j] for j in chosen) if scales else ()
    types = [column.type for column in columns]
    parts = [j for j, type in enumerate(types) if type not in BY_LEVEL]
    whole = len(parts) == len(types)
    weights = [None if counts is None else counts[items] for items in clusters]
    moments = [
        _moments(x[items] if whole else x[items][:, parts], of_items)
        for items, of_items in zip(clusters, weights, strict=True)
    ]
    n, mean, squares = (np.stack(part) for part in zip(*moments, strict=True))
    described = _numbers(n, mean, squares, [types[j] for j in parts])
    if whole:
        levels = [_second(column) for column in columns]
        return Statistics(names, types, np.arange(len(names)), levels, *described, scales=scales)
    by_column = {j: tuple(value[..., [position]] for value in described) for position, j in enumerate(parts)}
    levels_of: list[list[str | None]] = []
    for j, column in enumerate(columns):
        if column.type in BY_LEVEL:
            by_column[j] = _levels(x[:, j], cluster_labels, K, len(column.levels), counts)
        levels_of.append(list(column.levels) if column.type in BY_LEVEL else [_second(column)])
    stacked = [np.concatenate([by_column[j][part] for j in range(len(names))], axis=-1) for part in range(6)]
    of_feature = np.repeat(np.arange(len(names)), [len(levels) for levels in levels_of])
    levels = [level for levels in levels_of for level in levels]
    return Statistics(names, types, of_feature, levels, *stacked, scales=scales)


def _second(column: Any) -> str | None:
    """The level that a binary column is described by; None for numbers."""
    return str(column.levels[1]) if column.type == "binary" else None


def _moments(rows: Any, counts: Numbers | None = None) -> tuple[Numbers, Numbers, Numbers]:
    """Number of cells, mean and sum of squared deviations from it, by column; `counts`: how often each row counts."""
    if counts is not None:
        cells = np.asarray(rows.toarray() if issparse(rows) else rows, dtype=np.float64)
        weights = np.where(np.isnan(cells), 0.0, counts[:, None])
        n, cells = weights.sum(axis=0), np.nan_to_num(cells)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (weights * cells).sum(axis=0) / n
        return n, mean, (weights * (cells - mean) ** 2).sum(axis=0)
    if issparse(rows):
        n = np.full(rows.shape[1], float(rows.shape[0]))
        mean = np.asarray(rows.sum(axis=0)).ravel() / np.maximum(n, 1)
        squares = np.asarray(rows.multiply(rows).sum(axis=0)).ravel() - n * mean**2
        return n, np.where(n > 0, mean, np.nan), np.maximum(squares, 0.0)
    cells = np.asarray(rows, dtype=np.float64)
    present = ~np.isnan(cells)
    n = present.sum(axis=0).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(present, cells, 0.0).sum(axis=0) / n
    return n, mean, (np.where(present, cells - mean, 0.0) ** 2).sum(axis=0)


def _numbers(n: Numbers, mean: Numbers, squares: Numbers, types: list[str]) -> tuple[Numbers, ...]:
    """Describe columns of numbers, or of 0 and 1: n, mean, variance, overall, deviation, divergence."""
    held = np.where(n > 0, mean, 0.0)
    total = n.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        overall = (n * held).sum(axis=0) / total
        about = squares + n * (held - overall) ** 2
        spread = about.sum(axis=0) / total
        spread = np.where(spread <= (RESOLUTION * overall) ** 2, 0.0, spread)
        rest = total - n
        other = (total * overall - n * held) / rest
        within = np.maximum(about.sum(axis=0) - about - rest * (other - overall) ** 2, 0.0)
        divergence = _normal(n, held, squares, rest, other, within, spread)
        of_column = np.array(types)
        count, binary = of_column == "count", of_column == "binary"
        divergence[:, count] = _poisson(n, held, rest, other, overall)[:, count]
        p, q = (np.stack([1 - share, share], axis=-1)[:, binary] for share in (held, other))
        divergence[:, binary] = _discrete(p, q, n[:, binary], rest[:, binary])
        divergence[(n == 0) | (rest == 0)] = np.nan
        return n, mean, np.where(n > 0, squares / n, np.nan), overall, np.sqrt(spread), divergence


def _levels(
    codes: Numbers, cluster_labels: NDArray[np.int64], K: int, L: int, weights: Numbers | None
) -> tuple[Numbers, ...]:
    """Describe a categorical column as `_numbers` does others, a feature for each level."""
    present = ~np.isnan(codes)
    cells = cluster_labels[present] * L + codes[present].astype(np.int64)
    of_cells = None if weights is None else weights[present]
    counts = np.bincount(cells, of_cells, minlength=K * L).reshape(K, L).astype(np.float64)
    n, total = counts.sum(axis=1, keepdims=True), counts.sum()
    outside = counts.sum(axis=0) - counts
    with np.errstate(invalid="ignore", divide="ignore"):
        p, q, overall = counts / n, outside / (total - n), counts.sum(axis=0) / total
        divergence = _discrete(np.nan_to_num(p), np.nan_to_num(q), n[:, 0], total - n[:, 0])[:, None]
    divergence[(n == 0) | (total == n)] = np.nan
    return np.repeat(n, L, axis=1), p, p * (1 - p), overall, np.sqrt(overall * (1 - overall)), divergence


def _normal(
    n: Numbers, mean: Numbers, squares: Numbers, rest: Numbers, other: Numbers, within: Numbers, spread: Numbers
) -> Numbers:
    # one observation of the variance of all
    v, w = (squares + spread) / (n + 1), (within + spread) / (rest + 1)
    return np.where(spread > 0, 0.5 * (np.log(w / v) + (v + (mean - other) ** 2) / w - 1), 0.0)


def _poisson(n: Numbers, mean: Numbers, rest: Numbers, other: Numbers, overall: Numbers) -> Numbers:
    # half an observation of the mean of all
    a, b = (n * mean + overall / 2) / (n + 0.5), (rest * other + overall / 2) / (rest + 0.5)
    return np.where(overall > 0, a * np.log(a / b) - a + b, 0.0)


def _discrete(p: Numbers, q: Numbers, n: Numbers, rest: Numbers) -> Numbers:
    """Divergence of shares ``[..., L]`` of n and rest cells ``[...]``, an observation more spread over all levels."""
    L = p.shape[-1]
    p = (p * n[..., None] + 1 / L) / (n[..., None] + 1)
    q = (q * rest[..., None] + 1 / L) / (rest[..., None] + 1)
    return np.asarray((p * np.log(p / q)).sum(axis=-1))
