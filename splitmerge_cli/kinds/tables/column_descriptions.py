"""How a column is described in a cluster, compared with all other clusters: one function for each type of column."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from splitmerge_cli.diagnostics.cluster_table import number
from splitmerge_cli.kinds.tables.column_statistics import Statistics

ROUNDING = 1e-9
"""Standard deviations below this share of that in all other clusters are rounding errors."""


def describe(known: Statistics, k: int, j: int) -> str:
    """In what column `j` of cluster `k` differs from the same column in all other clusters.

    A number has the digits that its spread leaves: ``119.8 (others 120.2)``. Real columns have means, with standard
    deviations if these differ more than the means. Columns on a scale have medians, in the units of the data. Ordinal
    columns have median levels. Categorical columns have the share of the level that differs most.
    """
    return DESCRIPTIONS[known.types[j]](known, k, j)


def _describe_count(known: Statistics, k: int, j: int) -> str:
    f = int(np.searchsorted(known.column, j))
    mean, deviation = _moments(known, k, f)
    cluster_mean, others = format_two(*mean, min(filter(None, deviation), default=0.0))
    return f"{known.columns[j]} = {cluster_mean} (others {others})"


def _describe_real(known: Statistics, k: int, j: int) -> str:
    f = int(np.searchsorted(known.column, j))
    (mean, others), (deviation, spread) = _moments(known, k, f)
    scale, name = known.scale_of(j), known.columns[j]
    by_spread = deviation > 0 and spread > 0 and _gain(deviation / spread) > ((mean - others) / spread) ** 2
    if scale is not None:
        ends = [[float(scale.undo(m + side * s)) for side in (-1, 1)] for m, s in ((mean, deviation), (others, spread))]
        width = min(high - low for low, high in ends) / 2
        if by_spread:
            own_range, rest = (" to ".join(format_two(low, high, width)) for low, high in ends)
            return f"{name} from {own_range} (others from {rest})"
        own_range, rest = format_two(float(scale.undo(mean)), float(scale.undo(others)), width)
        return f"{name} = {own_range} (others {rest}, medians)"
    digits = min(filter(None, (deviation, spread)), default=0.0)
    if by_spread:
        texts = [number(value, digits) for value in (mean, deviation, others, spread)]
        return "{} = {} ± {} (others {} ± {})".format(name, *texts)
    own_range, rest = format_two(mean, others, digits)
    return f"{name} = {own_range} (others {rest})"


def _gain(ratio: float) -> float:
    """Twice the divergence of two normal distributions with one mean and standard deviations in this ratio."""
    return ratio**2 - 1.0 - 2.0 * math.log(ratio)


def _describe_level(known: Statistics, k: int, j: int) -> str:
    start, stop = np.searchsorted(known.column, [j, j + 1])
    shares = [_moments(known, k, f)[0] for f in range(start, stop)]
    farthest = int(np.argmax([abs(cluster_share - others) for cluster_share, others in shares]))
    cluster_share, rest = shares[farthest]
    # as many decimals as it takes to differ
    texts = [(f"{cluster_share:.{d}%}", f"{rest:.{d}%}") for d in range(3)]
    own_text, rest_text = next((pair for pair in texts if pair[0] != pair[1]), texts[0])
    return f"{known.columns[j]}={known.level[start + farthest]}: {own_text} (others {rest_text})"


def _describe_ordinal(known: Statistics, k: int, j: int) -> str:
    start, stop = np.searchsorted(known.column, [j, j + 1])
    shares = np.array([_moments(known, k, f)[0] for f in range(start, stop)]).T
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
"""By the type of a column."""


def _moments(known: Statistics, k: int, f: int) -> tuple[tuple[float, float], tuple[float, float]]:
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

    Examples
    --------
    >>> format_two(120.2, 119.8, 1.3), format_two(9.3e-15, 2.0, 0.4), format_two(90928.1, 43968.2, 8e3)
    (('120.2', '119.8'), ('0.0', '2.0'), ('90928', '43968'))
    """
    pairs = [(number(cluster_value, spread / by), number(others, spread / by)) for by in (1.0, 10.0, 100.0)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
