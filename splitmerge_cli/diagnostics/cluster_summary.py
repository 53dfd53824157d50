"""Clusters in the data's own terms: sizes, means with intervals, the columns that tell a cluster from the rest."""

from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special  # scipy.stats takes a second to import

from splitmerge_cli.diagnostics.block_summary import describe_blocks
from splitmerge_cli.diagnostics.cluster_table import FIRST, number_clusters
from splitmerge_cli.diagnostics.column_descriptions import describe, median_level
from splitmerge_cli.diagnostics.column_pairs import describe_pairs
from splitmerge_cli.diagnostics.column_statistics import Statistics, statistics

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


def clusters(
    dataset: Any,
    labels: ArrayLike,
    certainty: ArrayLike | None = None,
    first: int = 0,
    described: Statistics | None = None,
    first_cluster: int = FIRST,
) -> pd.DataFrame:
    """A row for each cluster of a partition, `labels` ``[N]`` from 0, the largest first.

    Parameters
    ----------
    certainty : array_like of float, optional
        ``[N]``, the probability that each item belongs where it is.
    first : int
        Number of the first item, for items without names.
    described : Statistics, optional
        `statistics` of a table, if they are known.
    first_cluster : int
        Number of the cluster with label 0.

    Returns
    -------
    pandas.DataFrame
        Columns cluster, size (items; units, or weights of rows, where rows have these), share; certainty (mean over the
        items) and prototype (name or number of the item of highest certainty), where `certainty` is given; of a table:
        telling, the columns of most divergence (see `columns`), each as in `describe`; other data use `Kind.describe`.
        Networks with relations: edges (`block_summary.describe_blocks`).
    """
    cluster_labels = np.asarray(labels)
    sizes = np.bincount(cluster_labels, dataset.row_sizes)
    order = np.argsort(-sizes, kind="stable")
    frame = pd.DataFrame(
        {
            "cluster": number_clusters(order, first_cluster),
            "size": np.rint(sizes[order]).astype(np.int64),
            "share": sizes[order] / sizes.sum(),
        }
    )
    if certainty is not None:
        sure = np.asarray(certainty, dtype=np.float64)
        frame["certainty"] = _mean_by_cluster(sure, cluster_labels, dataset.row_sizes)[order]
        best = [int(np.flatnonzero(cluster_labels == k)[np.argmax(sure[cluster_labels == k])]) for k in order]
        names = dataset.names if dataset.unit_names is None else dataset.unit_names
        frame["prototype"] = [i + first if names is None else names[i] for i in best]
    kind = dataset.kind
    if kind.has_columns:
        known = statistics(dataset, cluster_labels) if described is None else described
        pairs = describe_pairs(dataset, cluster_labels, known)
        frame["telling"] = ["; ".join(_describe_telling(known, int(k), pairs.get(int(k)))) for k in order]
    else:
        descriptions = [kind.describe(dataset, cluster_labels == k, first) for k in order]
        for column in descriptions[0]:
            frame[column] = [description[column] for description in descriptions]
    if dataset.relations is not None:
        described_blocks = describe_blocks(dataset.relations, cluster_labels, first_cluster, dataset.names)
        frame["edges"] = [described_blocks[k] for k in order]
    return frame


def _mean_by_cluster(
    values: NDArray[np.float64], labels: NDArray[np.int64], row_sizes: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    weights = np.ones(len(labels)) if row_sizes is None else row_sizes
    return np.asarray(np.bincount(labels, weights * values) / np.bincount(labels, weights))


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


def columns(
    dataset: Any, labels: ArrayLike, described: Statistics | None = None, first_cluster: int = FIRST
) -> pd.DataFrame:
    """A row for each cluster and column of a table.

    Columns: cluster, column, level (the commonest level of a categorical column, the median of an ordinal one, the
    second of a binary one; None of numbers), mean (of numbers, or the share of the level), low, high (interval of the
    mean of level 0.95, which takes the clusters as known: Student's t; of a share Jeffreys' interval), divergence
    (Kullback-Leibler divergence, in nats, of the column in the cluster from the column in all other clusters, both as
    normal, Poisson or categorical distributions; nan where there is one cluster), deviation (standard deviation of
    numbers). Missing cells are left out. Where columns have scales of their own, also scale: mean, low and high of such
    a column are those on the scale, in the units of the data (``log``: the geometric mean).

    Parameters as for `clusters`.
    """
    known = statistics(dataset, labels) if described is None else described
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
