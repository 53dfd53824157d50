"""Clusters of a table in its own terms: means with intervals, the columns that tell a cluster from the rest."""

from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special  # scipy.stats takes a second to import

from splitmerge_cli.diagnostics.cluster_table import FIRST, number_clusters
from splitmerge_cli.kinds.tables.column_descriptions import describe, median_level
from splitmerge_cli.kinds.tables.column_pairs import describe_pairs
from splitmerge_cli.kinds.tables.column_statistics import Statistics

TELLING = 3
"""Columns that are named of a cluster."""
FAINT = 0.125
"""Divergence in nats below which a column does not tell a cluster apart: two normal distributions half a standard
deviation apart have it."""
EQUAL = 0.005
"""Divergence in nats below which a column of numbers is not named: a tenth of a standard deviation."""
NO_COLUMN = "no column alone"
LEVEL = 0.95
"""Level of the intervals."""


def telling_columns(
    dataset: Any, labels: NDArray[np.int64], order: NDArray[np.int64], known: Statistics
) -> dict[str, list[Any]]:
    """The columns of most divergence from the other clusters (see `columns`), for each cluster in `order`."""
    pairs = describe_pairs(dataset, labels, known)
    return {"telling": ["; ".join(_describe_telling(known, int(k), pairs.get(int(k)))) for k in order]}


def named_columns(known: Statistics, clusters: Iterable[int]) -> list[int]:
    """Columns that the summary names of these clusters: those that it names first in the order of the clusters, then
    those that it names second, ..."""
    ranked = zip_longest(*(_telling(known, k) for k in clusters))
    return [j for j in dict.fromkeys(chain.from_iterable(ranked)) if j is not None]


def _telling(known: Statistics, k: int) -> list[int]:
    """The columns in which a cluster differs most from the others, the most different first."""
    divergences = np.nan_to_num(known.divergence[k], nan=-1.0)
    least = [EQUAL if form == "real" else 0.0 for form in known.types]
    return [int(j) for j in np.argsort(-divergences, kind="stable")[:TELLING] if divergences[j] > least[j]]


def _describe_telling(known: Statistics, k: int, pair: str | None) -> Iterator[str]:
    """Descriptions of the columns in which a cluster differs most; first two that do so together."""
    largest = np.nan_to_num(known.divergence[k], nan=-1.0)
    if pair is not None:
        yield pair
    elif len(largest) > 1 and 0 < largest.max() < FAINT:
        yield NO_COLUMN
    for j in _telling(known, k):
        yield describe(known, k, j)


def _feature(known: Statistics, k: int, j: int) -> int:
    """The feature that stands for a column in a cluster: a categorical one has its commonest level, an ordinal one its
    median."""
    of_column = slice(*np.searchsorted(known.column, [j, j + 1]))
    if known.types[j] == "ordinal":
        return int(of_column.start + median_level(known.mean[k, of_column]))
    return int(of_column.start + np.argmax(np.nan_to_num(known.mean[k, of_column])))


def columns(known: Statistics, first_cluster: int = FIRST) -> pd.DataFrame:
    """A row for each cluster and column of a table.

    Columns: cluster, column, level (the commonest level of a categorical column, the median of an ordinal one, the
    second of a binary one; None of numbers), mean (of numbers, or the share of the level), low, high (interval of the
    mean of level 0.95, which takes the clusters as known: Student's t; of a share Jeffreys' interval), divergence
    (Kullback-Leibler divergence, in nats, of the column in the cluster from the column in all other clusters, both as
    normal, Poisson or categorical distributions; nan where there is one cluster), deviation (standard deviation of
    numbers). Missing cells are left out. Where columns have scales of their own, also scale: mean, low and high of such
    a column are those on the scale, in the units of the data (``log``: the geometric mean).

    Parameters
    ----------
    known : Statistics
        Of each column in each cluster.
    first_cluster : int
        Number of the cluster with label 0.
    """
    K, D = known.divergence.shape
    order = np.array([[_feature(known, k, j) for k in range(K)] for j in range(D)]).ravel()
    cluster, column = np.tile(np.arange(K), D), np.repeat(np.arange(D), K)
    n, mean, variance = (values[cluster, order] for values in (known.n, known.mean, known.variance))
    level = [known.level[f] for f in order]
    share = np.array([value is not None for value in level], dtype=bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = special.stdtrit(n - 1, 0.5 + LEVEL / 2) * np.sqrt(variance / (n - 1))
        low, high = mean - half, mean + half
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
    return pd.DataFrame(
        {
            "cluster": number_clusters(cluster, first_cluster),
            "column": [known.columns[j] for j in column],
            "level": pd.Series(level, dtype=object),
            "mean": mean,
            "low": low,
            "high": high,
            "divergence": known.divergence[cluster, column],
            "deviation": np.where(share | on_scale, np.nan, np.sqrt(variance)),
        }
        | of_scale
    )
