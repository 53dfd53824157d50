"""Marks of items in the colours of their clusters, and text inside a picture, written where it covers no other text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.patheffects as effects
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.analysis.plots.style import SMALLEST, plain_text
from splitmerge_cli.diagnostics.cluster_table import number_clusters, shorten
from splitmerge_cli.runs.store.read import Run

FURTHER = (5.0, 10.0)
"""Points from a place to a text that would cover another at the place itself."""
ENDS = 3
"""Letters that a common beginning or end has at least, where it is cut out."""


def shorten_names(names: Sequence[str], most_letters: int) -> list[str]:
    """Shorten names to at most so many letters: long ones lose the words that all begin or end with, then are cut.

    Examples
    --------
    >>> shorten_names(["item 1 of the form", "item 2 of the form"], 10)
    ['…1…', '…2…']
    """
    if all(len(name) <= most_letters for name in names):
        return list(names)
    begin = _common(names)
    begin = begin[: begin.rfind(" ") + 1]
    end = _common([name[len(begin) :][::-1] for name in names])[::-1]
    end = end[end.find(" ") :] if " " in end else ""
    begin, end = (part if len(part) > ENDS else "" for part in (begin, end))
    middle = [name[len(begin) : len(name) - len(end)] for name in names]
    if len(names) < 2 or not all(middle):
        return [shorten(name, most_letters) for name in names]
    return [shorten(f"{'…' if begin else ''}{name}{'…' if end else ''}", most_letters) for name in middle]


def _common(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    same = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:same]


def write_apart(
    ax: Axes,
    places: NDArray[np.float64],
    texts: Sequence[str],
    order: Iterable[int],
    offset: float = 0.0,
    marks: float = 0.0,
    **style: Any,
) -> list[int]:
    """Write texts at or next to places ``[n, 2]`` of the data, in `order`; a text that would cover another is
    left out. The limits of the axes are final.

    `offset`: points from the place to the text, which stands on any of four sides; 0: on the place itself, or, where
    another text is, `FURTHER` away. `marks`:
    points that a mark at every place is wide, which no text covers; 0: it may. Returns those that were written.
    """
    figure = ax.figure
    assert isinstance(figure, Figure)
    boxes: list[Any] = []
    written = []
    inside = ax.get_window_extent()
    pixels = ax.transData.transform(places)
    room = marks / 2 * figure.dpi / 72
    halo = [effects.withStroke(linewidth=1.6, foreground="white")]
    sides = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    tried = [(dx, dy, offset) for dx, dy in sides] if offset else [(0, 0, 0.0)]
    tried += [] if offset else [(dx, dy, far) for far in FURTHER for dx, dy in sides]
    aligned = {1: "left", -1: "right", 0: "center"}
    above = {1: "bottom", -1: "top", 0: "center"}
    for k in order:
        for dx, dy, distance in tried:
            text = ax.annotate(
                plain_text(texts[k]),
                places[k],
                (dx * distance, dy * distance),
                textcoords="offset points",
                ha=aligned[dx],
                va=above[dy],
                path_effects=halo,
                annotation_clip=False,
                **{"fontsize": SMALLEST, "zorder": 8} | style,
            )
            box = text.get_window_extent()
            within = inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1
            covers = marks and box.padded(room).count_contains(pixels)
            if within and not covers and not any(box.overlaps(other) for other in boxes):
                boxes.append(box)
                written.append(k)
                break
            text.remove()
    return written


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
