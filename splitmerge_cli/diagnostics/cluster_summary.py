"""Clusters in the data's own terms: sizes, certainties, and what their kind of data says of them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from splitmerge_cli.diagnostics.cluster_table import FIRST, number_clusters


def clusters(
    dataset: Any,
    labels: ArrayLike,
    certainty: ArrayLike | None = None,
    first: int = 0,
    known: Any = None,
    first_cluster: int = FIRST,
) -> dict[str, Any]:
    """An entry for each cluster of a partition, `labels` ``[N]`` from 0, the largest first.

    Columns cluster, size (items; units, or weights of rows, where rows have these), share; certainty (mean over the
    items) and prototype (name or number of the item of highest certainty), where `certainty` is given, the probability
    ``[N]`` that each item belongs where it is; and the columns of `Kind.describe_clusters`. Items without names are
    numbered from `first`, clusters from `first_cluster`; `known`: `Kind.statistics` of these clusters, if they are at
    hand.
    """
    cluster_labels = np.asarray(labels)
    sizes = np.bincount(cluster_labels, dataset.row_sizes)
    order = np.argsort(-sizes, kind="stable")
    described: dict[str, Any] = {
        "cluster": number_clusters(order, first_cluster),
        "size": np.rint(sizes[order]).astype(np.int64),
        "share": sizes[order] / sizes.sum(),
    }
    if certainty is not None:
        sure = np.asarray(certainty, dtype=np.float64)
        weights = 1.0 if dataset.row_sizes is None else dataset.row_sizes
        described["certainty"] = (np.bincount(cluster_labels, weights * sure) / sizes)[order]
        best = [int(np.flatnonzero(cluster_labels == k)[np.argmax(sure[cluster_labels == k])]) for k in order]
        names = dataset.names if dataset.unit_names is None else dataset.unit_names
        described["prototype"] = [i + first if names is None else names[i] for i in best]
    kind = dataset.kind
    if known is None:
        known = kind.statistics(dataset, cluster_labels)
    return described | kind.describe_clusters(dataset, cluster_labels, order, known, first, first_cluster)


def columns(dataset: Any, labels: ArrayLike, known: Any = None, first_cluster: int = FIRST) -> dict[str, Any] | None:
    """An entry for each cluster and column of a table (`Kind.describe_columns`); None of other data.

    Parameters as for `clusters`.
    """
    kind = dataset.kind
    return kind.describe_columns(kind.statistics(dataset, labels) if known is None else known, first_cluster)
