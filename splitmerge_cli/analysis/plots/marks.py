"""Marks of items in the colours of their clusters."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.analysis.plots.labels import write_apart
from splitmerge_cli.diagnostics.cluster_table import number_clusters
from splitmerge_cli.runs.store.read import Run

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#8A8A2B")
MARKERS = ("o", "s", "^", "D", "v", "P")
"""Clusters by size: colours and markers in turn, so that clusters differ without colours too."""
ALONE = "#777777"
"""Colour of points that are alone in their cluster."""
RASTER = 3_000
"""Points from which on a PDF holds an image of them."""

Points = NDArray[np.float64]


def style_of(rank: int) -> tuple[str, str]:
    """Colour and marker of a cluster by its rank in size, 0 the largest."""
    # 24 ranks take each colour with three markers, the next 24 with the others
    return COLOURS[rank % len(COLOURS)], MARKERS[(rank + rank // 24) % len(MARKERS)]


def by_size(labels: ArrayLike) -> list[NDArray[np.int64]]:
    """Items of every cluster, the largest cluster first."""
    labels = np.asarray(labels)
    clusters = [np.flatnonzero(labels == k) for k in np.unique(labels)]
    return sorted(clusters, key=lambda items: (-len(items), items[0]))


def order_items(labels: ArrayLike, rank: ArrayLike | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order items by cluster, the largest first, in it by `rank`, the highest first: int64 ``[N]``; and the ends of the
    clusters, ``[K]``."""
    high = np.zeros(len(np.asarray(labels))) if rank is None else np.asarray(rank)
    clusters = [items[np.argsort(-high[items], kind="stable")] for items in by_size(labels)]
    return np.concatenate(clusters), np.cumsum([len(items) for items in clusters])


def scatter(
    ax: Axes,
    points: Points,
    labels: ArrayLike,
    size: float = 11.0,
    unsure: ArrayLike | None = None,
    looks: Mapping[int, tuple[str, str]] | None = None,
    alone: ArrayLike | None = None,
) -> None:
    """Draw points ``[N, 2]`` in the colours of their clusters; those alone in one are small grey crosses.

    `size` is the size of a mark, in points squared; marks that are `unsure`, ``[N]``, are open. `looks` has
    the colour and marker of each cluster, by default by its rank in size. Where the points are some of all items,
    `alone`, ``[N]``, says which are alone in their cluster.
    """
    labels = np.asarray(labels)
    single = (np.bincount(labels) == 1)[labels] if alone is None else np.asarray(alone)
    open_ = np.zeros(len(labels), dtype=bool) if unsure is None else np.asarray(unsure)
    raster = len(labels) > RASTER
    for rank, items in enumerate(by_size(labels)):
        colour, marker = style_of(rank) if looks is None else looks[int(labels[items[0]])]
        if single[items[0]]:
            x, y = points[items].T
            ax.scatter(x, y, s=size, marker="x", color=ALONE, linewidth=0.8, zorder=5, rasterized=raster)
            continue
        filled: dict[str, Any] = {"color": colour, "edgecolor": "white", "linewidth": 0.25}
        hollow: dict[str, Any] = {"facecolor": "white", "edgecolor": colour, "linewidth": 0.7}
        for these, drawn in ((items[~open_[items]], filled), (items[open_[items]], hollow)):
            if len(these):
                x, y = points[these].T
                ax.scatter(x, y, s=size, marker=marker, zorder=5, rasterized=raster, **drawn)


def write_numbers(ax: Axes, points: Points, labels: ArrayLike, names: Sequence[str]) -> None:
    """Write names of clusters, the largest first, in the middle of the points ``[N, 2]`` of each that has several; the
    layout of the figure is final."""
    clusters = [points[items][~np.isnan(points[items]).any(axis=1)] for items in by_size(labels)]
    several = [(name, places) for name, places in zip(names, clusters, strict=True) if len(places) > 1]
    middles = np.array([np.median(places, axis=0) for _, places in several]).reshape(-1, 2)
    bold: dict[str, Any] = {"fontsize": 8, "fontweight": "bold", "color": "#111111"}
    write_apart(ax, middles, [name for name, _ in several], range(len(several)), **bold)


def numbers_by_size(run: Run, labels: ArrayLike) -> list[str]:
    """Numbers of clusters as the files of a run have them, the largest cluster first."""
    found = np.asarray(labels)
    return [str(number_clusters(int(found[items[0]]), run.first_cluster)) for items in by_size(found)]
