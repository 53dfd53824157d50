"""Columns of a table by cluster: their statistics, how a column is described in a cluster compared with all others, and
the columns that tell a cluster from the rest."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.data.values import Scales, is_sparse, titles
from splitmerge_cli.diagnostics.cluster_table import FIRST, number, number_clusters
from splitmerge_cli.diagnostics.mixing import student_quantile
from splitmerge_cli.extras import special

MOST_CELLS = 20_000_000
"""Most clusters times columns that are described: the columns of largest variance."""
BY_LEVEL = ("categorical", "ordinal")
"""Types of columns with a feature for each level."""
RESOLUTION = 1e-12
"""Standard deviation of a constant column, relative to its values, that rounding may leave."""

Numbers = NDArray[np.float64]
ROUNDING = 1e-9
"""Standard deviations below this share of that in all other clusters are rounding errors."""
FEWEST_PAIRED = 5
"""Items of a cluster, at least, whose slopes are looked at."""
MOST_PAIRED = 50_000_000
"""Items times pairs of columns that are looked at, at most."""
CLEAR = 2.0
"""Divergence from which on one column is enough, in nats: two normal distributions two standard deviations apart."""
CLEARER = 2.0
"""Times the divergence of the best column that the pair has, at least."""
LEAST_PAIRED = 0.5
"""Divergence of a pair that is named, at least, in nats: two normal distributions one standard deviation apart."""
TELLING = 3
"""Columns that are named of a cluster."""
FAINT = 0.125
"""Divergence in nats below which a column does not tell a cluster apart: two normal distributions half a standard
deviation apart have it."""
EQUAL = 0.005
"""Divergence in nats below which a column of numbers is not named: a tenth of a standard deviation."""
MIDDLE = (1 / 6, 5 / 6)
"""Quantiles that a range of a column on a scale goes from and to: about a standard deviation on both sides of the mean.
"""
NO_COLUMN = "no column alone"
LEVEL = 0.95
"""Level of the intervals."""


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
    rows: Mapping[int, "Rows"] = field(default_factory=dict, kw_only=True)
    """The cells of each column on a scale of its own."""
    spiked: dict[int, "Statistics"] = field(default_factory=dict, kw_only=True)
    """The parts of columns that hold one number in many cells: whether a cell is this number, and all other cells. The
    divergence of such a column is the first part's, and the second's in the share of cells that it has."""

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
    def above_chance(self) -> Numbers:
        """float64 ``[K, D]``: divergences less the mean that columns have which the clusters have nothing to do with:
        half of 1 / n + 1 / rest for each parameter, fewer where there are few cells for it. A column of many levels
        differs in any cluster."""
        first, features = np.unique(self.column, return_index=True, return_counts=True)[1:]
        of_numbers = [{"real": 2, "count": 1, "binary": 1}.get(type, 0) for type in self.types]
        parameters = np.where(of_numbers, of_numbers, features - 1)
        n = self.n[:, first]
        cells, rest = (part + parameters / 4 for part in (n, n.sum(axis=0) - n))
        with np.errstate(divide="ignore"):
            return np.asarray(self.divergence - parameters / 2 * (1 / cells + 1 / rest))

    @property
    def telling(self) -> Numbers:
        """float64 ``[D]``: mean divergence over the items, a measure of how well a column separates the clusters."""
        shares = self.n[:, np.searchsorted(self.column, np.arange(len(self.columns)))]
        weight = np.where(np.isnan(self.divergence), 0.0, shares)
        return np.asarray((weight * np.nan_to_num(self.divergence)).sum(axis=0) / np.maximum(weight.sum(axis=0), 1.0))


@dataclass(frozen=True)
class Rows:
    """The cells ``[N]`` of a column in the units of the data, nan where one is missing, the cluster of each row, and
    how often each counts; None: once."""

    cells: Numbers
    labels: NDArray[np.int64]
    counts: Numbers | None

    def quantiles(self, k: int, levels: Sequence[float]) -> list[list[float]]:
        """Quantiles in cluster `k` and in all others, each the middle between two cells where it lies between them; nan
        without cells."""
        known, found = ~np.isnan(self.cells), []
        for part in (self.labels == k, self.labels != k):
            rows = np.flatnonzero(known & part)
            if not len(rows):
                found.append([math.nan] * len(levels))
                continue
            rows = rows[np.argsort(self.cells[rows], kind="stable")]
            below = np.cumsum(np.ones(len(rows)) if self.counts is None else self.counts[rows])
            at = np.array(levels) * below[-1]
            near = ROUNDING * below[-1]
            first, last = np.searchsorted(below, at - near, "left"), np.searchsorted(below, at + near, "right")
            found.append(np.mean([self.cells[rows[first]], self.cells[rows[last]]], axis=0).tolist())
        return found


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
    spiked = {
        j: _part_spike(
            names[j], column.spike[0], x[:, j], (cluster_labels, counts), clusters, scales[j] if scales else None
        )
        for j, column in enumerate(columns)
        if column.spike is not None
    }
    for j, of_parts in spiked.items():
        of_spike, of_others = of_parts.divergence.T
        described[-1][:, parts.index(j)] = of_spike + (1.0 - of_parts.mean[:, 0]) * np.nan_to_num(of_others)
    rows = _rows_on_scales(x, scales, cluster_labels, counts)
    known: dict[str, Any] = {"scales": scales, "rows": rows, "spiked": spiked}
    if whole:
        levels = [_second(column) for column in columns]
        return Statistics(names, types, np.arange(len(names)), levels, *described, **known)
    by_column = {j: tuple(value[..., [position]] for value in described) for position, j in enumerate(parts)}
    levels_of: list[list[str | None]] = []
    for j, column in enumerate(columns):
        if column.type in BY_LEVEL:
            by_column[j] = _levels(x[:, j], cluster_labels, K, len(column.levels), counts)
        levels_of.append(list(column.levels) if column.type in BY_LEVEL else [_second(column)])
    stacked = [np.concatenate([by_column[j][part] for j in range(len(names))], axis=-1) for part in range(6)]
    of_feature = np.repeat(np.arange(len(names)), [len(levels) for levels in levels_of])
    levels = [level for levels in levels_of for level in levels]
    return Statistics(names, types, of_feature, levels, *stacked, **known)


def _rows_on_scales(x: Any, scales: Scales, labels: NDArray[np.int64], counts: Numbers | None) -> dict[int, Rows]:
    """As `Statistics.rows`."""
    scaled = [(j, scale) for j, scale in enumerate(scales) if scale is not None]
    return {j: Rows(scale.undo(x[:, j]), labels, counts) for j, scale in scaled}


def _part_spike(
    name: str,
    spike: float,
    cells: Numbers,
    labelled: tuple[NDArray[np.int64], Numbers | None],
    clusters: list[NDArray[np.int64]],
    scale: Any,
) -> Statistics:
    """Statistics of the two parts of a column, as of `Statistics.spiked`."""
    are_spikes = np.where(np.isnan(cells), np.nan, cells == spike)
    table = np.column_stack([are_spikes, np.where(are_spikes == 0.0, cells, np.nan)])
    counts = labelled[1]
    moments = [_moments(table[items], None if counts is None else counts[items]) for items in clusters]
    forms, scales = ["binary", "real"], (None, scale) if scale is not None else ()
    n, mean, squares = (np.stack(part) for part in zip(*moments, strict=True))
    described = _numbers(n, mean, squares, forms)
    number_text = f"{spike if scale is None else float(scale.undo(np.array([spike]))[0]):.6g}"
    names = [name, f"{name} other than {number_text}"]
    rows = _rows_on_scales(table, scales, *labelled)
    return Statistics(names, forms, np.arange(2), [number_text, None], *described, scales=scales, rows=rows)


def _second(column: Any) -> str | None:
    """The level that a binary column is described by; None for numbers."""
    return str(column.levels[1]) if column.type == "binary" else None


def _moments(rows: Any, counts: Numbers | None = None) -> tuple[Numbers, Numbers, Numbers]:
    """Number of cells, mean and sum of squared deviations from it, by column; `counts`: how often each row counts."""
    if counts is not None:
        cells = np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)
        weights = np.where(np.isnan(cells), 0.0, counts[:, None])
        n, cells = weights.sum(axis=0), np.nan_to_num(cells)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (weights * cells).sum(axis=0) / n
        return n, mean, (weights * (cells - mean) ** 2).sum(axis=0)
    if is_sparse(rows):
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
        # one observation of the variance of all
        v, w = (squares + spread) / (n + 1), (within + spread) / (rest + 1)
        divergence = np.where(spread > 0, 0.5 * (np.log(w / v) + (v + (held - other) ** 2) / w - 1), 0.0)
        of_column = np.array(types)
        count, binary = of_column == "count", of_column == "binary"
        # half an observation of the mean of all
        a, b = (n * held + overall / 2) / (n + 0.5), (rest * other + overall / 2) / (rest + 0.5)
        divergence[:, count] = np.where(overall > 0, a * np.log(a / b) - a + b, 0.0)[:, count]
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


def _discrete(p: Numbers, q: Numbers, n: Numbers, rest: Numbers) -> Numbers:
    """Divergence of shares ``[..., L]`` of n and rest cells ``[...]``, an observation more spread over all levels."""
    L = p.shape[-1]
    p = (p * n[..., None] + 1 / L) / (n[..., None] + 1)
    q = (q * rest[..., None] + 1 / L) / (rest[..., None] + 1)
    return np.asarray((p * np.log(p / q)).sum(axis=-1))


def _describe_count(known: Statistics, k: int, j: int) -> str:
    f = int(np.searchsorted(known.column, j))
    mean, deviation = _against_others(known, k, f)
    cluster_mean, others = format_two(*mean, min(filter(None, deviation), default=0.0))
    return f"{known.columns[j]} = {cluster_mean} (others {others})"


def _describe_real(known: Statistics, k: int, j: int) -> str:
    if (parts := known.spiked.get(j)) is not None:
        telling = [part for part in range(2) if parts.divergence[k, part] > EQUAL] or [0]
        return ", ".join((_describe_level, _describe_real)[part](parts, k, part) for part in telling)
    f = int(np.searchsorted(known.column, j))
    (mean, others), (deviation, spread) = _against_others(known, k, f)
    scale, name = known.scale_of(j), known.columns[j]
    by_spread = deviation > 0 and spread > 0
    if by_spread:
        # twice the divergence of two normal distributions of one mean, or of one standard deviation
        ratio = deviation / spread
        by_spread = ratio**2 - 1.0 - 2.0 * math.log(ratio) > ((mean - others) / spread) ** 2
    if scale is not None:
        ends = known.rows[j].quantiles(k, MIDDLE)
        width = min(high - low for low, high in ends) / 2
        [own_median], [of_others] = known.rows[j].quantiles(k, [0.5])
        if by_spread or own_median == of_others:
            (low, high), of_rest = (format_two(start, end, width) for start, end in ends)
            own_range = f"= {low}" if low == high else f"from {low} to {high}"
            rest = of_rest[0] if of_rest[0] == of_rest[1] else f"from {of_rest[0]} to {of_rest[1]}"
            return f"{name} {own_range} (others {rest})"
        own_range, rest = format_two(own_median, of_others, width)
        return f"{name} = {own_range} (others {rest}, medians)"
    digits = min(filter(None, (deviation, spread)), default=0.0)
    if by_spread:
        texts = [number(value, digits) for value in (mean, deviation, others, spread)]
        return "{} = {} ± {} (others {} ± {})".format(name, *texts)
    own_range, rest = format_two(mean, others, digits)
    return f"{name} = {own_range} (others {rest})"


def _describe_level(known: Statistics, k: int, j: int) -> str:
    start, stop = np.searchsorted(known.column, [j, j + 1])
    shares = [_against_others(known, k, f)[0] for f in range(start, stop)]
    farthest = int(np.argmax([abs(cluster_share - others) for cluster_share, others in shares]))
    cluster_share, rest = shares[farthest]
    # as many decimals as it takes to differ
    texts = [(f"{cluster_share:.{d}%}", f"{rest:.{d}%}") for d in range(3)]
    own_text, rest_text = next((pair for pair in texts if pair[0] != pair[1]), texts[0])
    return f"{known.columns[j]}={known.level[start + farthest]}: {own_text} (others {rest_text})"


def _describe_ordinal(known: Statistics, k: int, j: int) -> str:
    start, stop = np.searchsorted(known.column, [j, j + 1])
    shares = np.array([_against_others(known, k, f)[0] for f in range(start, stop)]).T
    own_level, rest = (known.level[start + median_level(level_shares)] for level_shares in shares)
    if own_level == rest:
        return _describe_level(known, k, j)
    return f"{known.columns[j]} = {own_level} (others {rest}, medians)"


def median_level(shares: Any) -> int:
    """The first level at or below which half of the cells are; 0 without cells."""
    below = np.cumsum(np.nan_to_num(shares))
    return int(np.argmax(below >= 0.5 * below[-1] - 1e-9))


DESCRIPTIONS: dict[str, Callable[[Statistics, int, int], str]] = {
    "binary": _describe_level,
    "categorical": _describe_level,
    "ordinal": _describe_ordinal,
    "count": _describe_count,
    "real": _describe_real,
}
"""In what column `j` of cluster `k` differs from the same column in all other clusters, by the type of the column.

A number has the digits that its spread leaves: ``119.8 (others 120.2)``. Real columns have means, with standard
deviations if these differ more than the means. Columns on a scale have medians, in the units of the data, or the range
of the middle two thirds of the cells. Ordinal columns have median levels. Categorical columns have the share of the
level that differs most.
"""


def _against_others(known: Statistics, k: int, f: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Mean of a feature in cluster `k` and in all others, and the two standard deviations."""
    n, mean, variance = (np.nan_to_num(part[:, f]) for part in (known.n, known.mean, known.variance))
    rest = np.where(np.arange(len(n)) == k, 0.0, n)
    others = float((rest * mean).sum() / rest.sum())
    spread = float((rest * (variance + (mean - others) ** 2)).sum() / rest.sum())
    deviation = math.sqrt(variance[k])
    # equal cells have a spread of rounding errors
    return (float(mean[k]), others), (deviation if deviation > ROUNDING * math.sqrt(spread) else 0.0, math.sqrt(spread))


def format_two(cluster_value: float, others: float, spread: float) -> tuple[str, str]:
    """Two numbers as text, with the digits that differ in view of the spread.
    >>> format_two(120.2, 119.8, 1.3), format_two(9.3e-15, 2.0, 0.4), format_two(90928.1, 43968.2, 8e3)
    (('120.2', '119.8'), ('0.0', '2.0'), ('90928', '43968'))
    """
    pairs = [(number(cluster_value, spread / by), number(others, spread / by)) for by in (1.0, 10.0, 100.0)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])


def describe_pairs(dataset: Any, labels: NDArray[np.int64], known: Statistics) -> dict[int, str]:
    """The pair of columns that tells a cluster apart, by cluster: ``y - 0.98 x = 1.2 (others -1.1)``.

    A cluster that one column describes nearly as well has none, nor have rows with weights. Columns with gaps or with
    scales of their own are left out.
    """
    values = dataset.original.values
    if is_sparse(values) or dataset.counts is not None or len(known.types) != values.shape[1]:
        return {}
    reals = [j for j, type in enumerate(known.types) if type == "real" and known.scale_of(j) is None]
    reals = [j for j in reals if j not in known.spiked]
    reals = [j for j in reals if np.ptp(values[:, j]) > 0]  # no gaps either
    if len(reals) < 2 or len(labels) * len(reals) ** 2 > MOST_PAIRED:
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
    for k in np.flatnonzero((sizes >= FEWEST_PAIRED) & (sizes < len(labels) - 1) & (alone < CLEAR)):
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
        if divergence[i, j] > max(LEAST_PAIRED, CLEARER * alone[k]):
            # the multiple as it is printed
            multiple, first, other = f"{abs(slopes[i, j]):.3g}", reals[i], reals[j]
            difference = values[:, first] - np.sign(slopes[i, j]) * float(multiple) * values[:, other]
            here, others = difference[labels == k], difference[labels != k]
            texts = format_two(float(here.mean()), float(others.mean()), float(min(here.std(), others.std())))
            sign = "-" if slopes[i, j] > 0 else "+"
            times = f"{multiple} " if multiple != "1" else ""
            pair = f"{known.columns[first]} {sign} {times}{known.columns[other]}"
            descriptions[int(k)] = f"{pair} = {texts[0]} (others {texts[1]})"
    return descriptions


def _variances(covariance: NDArray[np.float64], slopes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variances ``[D, D]`` of column i less its slope times column j."""
    variance = np.diag(covariance)
    return np.asarray(variance[:, None] - 2 * slopes * covariance + slopes**2 * variance)


def named_columns(known: Statistics, clusters: Iterable[int]) -> list[int]:
    """Columns that the summary names of these clusters: those that it names first in the order of the clusters, then
    those that it names second, ..."""
    ranked = zip_longest(*(_telling(known, k) for k in clusters))
    return [j for j in dict.fromkeys(chain.from_iterable(ranked)) if j is not None]


def _telling(known: Statistics, k: int) -> list[int]:
    """The columns in which a cluster differs most from the others, the most different first."""
    differs = np.nan_to_num(known.divergence[k], nan=-1.0) > [EQUAL if form == "real" else 0.0 for form in known.types]
    order = np.argsort(-np.where(differs, known.above_chance[k], -np.inf), kind="stable")
    return [int(j) for j in order[:TELLING] if differs[j]]


def describe_telling(known: Statistics, k: int, pair: str | None) -> Iterator[str]:
    """Descriptions of the columns in which a cluster differs most; first two that do so together."""
    if pair is not None:
        yield pair
    elif len(known.columns) > 1 and np.nanmax(known.divergence[k], initial=0.0) > 0:
        yield from [NO_COLUMN] * bool(np.nanmax(known.above_chance[k]) < FAINT)
    for j in _telling(known, k):
        yield DESCRIPTIONS[known.types[j]](known, k, j)


def _feature(known: Statistics, k: int, j: int) -> int:
    """The feature that stands for a column in a cluster: a categorical one has its commonest level, an ordinal one its
    median."""
    of_column = slice(*np.searchsorted(known.column, [j, j + 1]))
    if known.types[j] == "ordinal":
        return int(of_column.start + median_level(known.mean[k, of_column]))
    return int(of_column.start + np.argmax(np.nan_to_num(known.mean[k, of_column])))


def columns(known: Statistics, first_cluster: int = FIRST) -> dict[str, Any]:
    """A row for each cluster and column of a table.

    Columns: cluster, column, level (the commonest level of a categorical column, the median of an ordinal one, the
    second of a binary one; None of numbers), mean (of numbers, or the share of the level), low, high (interval of the
    mean of level 0.95, which takes the clusters as known: Student's t; of a share Jeffreys' interval), divergence
    (Kullback-Leibler divergence, in nats, of the column in the cluster from the column in all other clusters, both as
    normal, Poisson or categorical distributions; nan where there is one cluster), deviation (standard deviation of
    numbers). Missing cells are left out. Where columns have scales of their own, also scale: mean, low and high of such
    a column are those on the scale, in the units of the data (``log``: the geometric mean).
    """
    K, D = known.divergence.shape
    order = np.array([[_feature(known, k, j) for k in range(K)] for j in range(D)]).ravel()
    cluster, column = np.tile(np.arange(K), D), np.repeat(np.arange(D), K)
    n, mean, variance = (values[cluster, order] for values in (known.n, known.mean, known.variance))
    level = [known.level[f] for f in order]
    share = np.array([value is not None for value in level], dtype=bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = student_quantile(0.5 + LEVEL / 2, n - 1) * np.sqrt(variance / (n - 1))
        low, high = mean - half, mean + half
    if share.any():
        held = n[share] * np.nan_to_num(mean[share])
        low[share], high[share] = (
            special.betaincinv(held + 0.5, n[share] - held + 0.5, q) for q in (0.5 - LEVEL / 2, 0.5 + LEVEL / 2)
        )
    on_scale = np.zeros(len(column), dtype=bool)
    for j, scale in enumerate(known.scales):
        if scale is not None:
            of_column = column == j
            on_scale |= of_column
            mean[of_column], low[of_column], high[of_column] = (
                scale.undo(values[of_column]) for values in (mean, low, high)
            )
    of_scale = {"scale": [str(known.scales[j] or "") for j in column]} if known.scales else {}
    return {
        "cluster": number_clusters(cluster, first_cluster),
        "column": [known.columns[j] for j in column],
        "level": np.array(level, dtype=object),
        "mean": mean,
        "low": low,
        "high": high,
        "divergence": known.divergence[cluster, column],
        "deviation": np.where(share | on_scale, np.nan, np.sqrt(variance)),
    } | of_scale
