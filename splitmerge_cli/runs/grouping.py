"""Groups of clusters without a gap of density between them: they are found for a run, and named."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config import ConfigError
from splitmerge_cli.diagnostics.density_gaps import density_groups
from splitmerge_cli.runs.store.read import Run

if TYPE_CHECKING:
    from splitmerge_cli.data.dataset import Dataset

FEW_ITEMS = 3
"""Items of a cluster that is listed as outliers, at most, and so few that they are less than `FEW_SHARE` of all."""
FEW_SHARE = 0.05


def is_outlying(size: int, N: int) -> bool:
    """Whether a cluster so small, among N items, is listed as outliers.

    Examples
    --------
    >>> is_outlying(3, 150), is_outlying(3, 40), is_outlying(4, 150)
    (True, False, False)
    """
    return size <= FEW_ITEMS and size < FEW_SHARE * N


def find_groups(dataset: "Dataset", labels: ArrayLike, partitions: Mapping[int, NDArray[np.int32]]) -> list[int] | None:
    """Group the clusters of an estimate (`splitmerge_cli.diagnostics.density_gaps`).

    Rows with missing cells are left out. Outliers, and clusters with as few complete rows, stay alone.

    Parameters
    ----------
    dataset : Dataset
    labels : array_like of int
        ``[N]``, the estimate.
    partitions : mapping of int to numpy.ndarray
        By chain, the partitions ``[M, N]`` over which the density is averaged.

    Returns
    -------
    list of int, or None
        The group of each cluster. None for other data than dense real columns, for too many clusters or columns, for
        columns that depend on each other, and without partitions.
    """
    x, own = dataset.values, np.asarray(labels)
    if not dataset.kind.has_columns or not isinstance(x, np.ndarray) or not partitions:
        return None
    if any(column.type != "real" for column in dataset.kind.types_of(dataset)):
        return None
    complete = ~np.isnan(x).any(axis=1)
    sizes = np.bincount(own[complete], minlength=int(own.max()) + 1)
    alone = [size == 0 or is_outlying(size, len(own)) for size in sizes.tolist()]
    draws = np.concatenate(list(partitions.values()))
    try:
        found = density_groups(x[complete], own[complete], draws[:, complete], alone).tolist()
    except (ValueError, np.linalg.LinAlgError):
        return None
    # the last clusters may have no complete row
    after = max(found, default=-1) + 1
    return [*found, *range(after, after + len(sizes) - len(found))]


def groups_of(run: Run) -> NDArray[np.int32]:
    """Return the group that each cluster of a finished run is in; raise `ConfigError` where none were looked for."""
    found = run.summary.get("groups") if run.is_done else None
    if found is None:
        raise ConfigError(
            f"{run.path}: groups of clusters were not looked for; expected a finished run on dense real columns, "
            "none of them a sum of others, with few clusters"
        )
    return np.asarray(found, dtype=np.int32)


def name_groups(run: Run) -> dict[int, str]:
    """Name each group of a finished run by its clusters, such as ``0+2+5``, outliers left out."""
    labels = np.asarray(run.summary["point_estimate"]["labels"])
    sizes = np.bincount(labels)
    members: dict[int, list[str]] = {}
    for cluster, group in enumerate(groups_of(run).tolist()):
        if not is_outlying(sizes[cluster], len(labels)):
            members.setdefault(group, []).append(str(cluster))
    return {group: "+".join(clusters) for group, clusters in members.items()}
