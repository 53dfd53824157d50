"""A map of columns by cluster: means and shares, coloured by their distance from all items."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.labels import shorten_names
from splitmerge_cli.analysis.plots.marks import by_size, style_of
from splitmerge_cli.analysis.plots.runs import state_of, subject
from splitmerge_cli.analysis.plots.style import FULL, LINE, SMALLEST, footnote, plain_text
from splitmerge_cli.diagnostics.cluster_table import number, number_clusters, plural_of
from splitmerge_cli.kinds.tables.columns import Numbers, Statistics, named_columns, statistics
from splitmerge_cli.runs.grouping import has_units, nouns, row_sizes, total_size
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.stored import dataset_of

MOST_CLUSTERS = 40
"""Clusters that are drawn: the largest."""
MOST_ROWS = 56
"""Features that are drawn."""
MOST_NUMBERS = 11
"""Clusters up to which the means are written into the map."""
NAME = 38
"""Most letters of a column's name."""
LIMIT = 2.0
"""Standard deviations at the ends of the colours."""
BELOW = -0.5
"""Standard deviations below which a cell is hatched: both ends of the colours are alike in grey."""
HATCH: dict[str, Any] = {"facecolor": "none", "edgecolor": "#FFFFFF90", "hatch": "//////", "linewidth": 0.0}
LUMINANCE = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the lightness of a colour."""

_SCALE = LinearSegmentedColormap.from_list("below and above", ["#2B5C9E", "#9DBBDD", "#FFFFFF", "#F3B48A", "#C4511A"])


def rows_of(known: Statistics, clusters: NDArray[np.int64], most_rows: int = MOST_ROWS) -> NDArray[np.int64]:
    """Features to draw, int64 ``[rows]``, `most_rows` at most, ordered by the one of the `clusters` in which they are
    highest: features of the columns that the summary names, then of the columns of largest mean divergence.
    Levels of one column stand together, in their order."""
    groups = [np.flatnonzero(known.column == j) for j in range(len(known.columns))]
    chosen: list[int] = []
    room = most_rows
    for j in dict.fromkeys([*named_columns(known, clusters), *np.argsort(-known.telling, kind="stable").tolist()]):
        # of a column of many levels the commonest
        levels = groups[j][np.argsort(-known.overall[groups[j]], kind="stable")][: max(2, most_rows // 4)]
        if len(levels) > room or np.isnan(known.overall[levels]).any():
            continue
        groups[j] = np.sort(levels)
        chosen.append(j)
        room -= len(levels)
    far = np.nan_to_num(known.standardised_means[clusters])

    def key(j: int) -> tuple[int, float]:
        place = np.unravel_index(far[:, groups[j]].argmax(), (len(clusters), len(groups[j])))
        return int(place[0]), -float(far[:, groups[j]].max())

    return np.concatenate([groups[j] for j in sorted(chosen, key=key)]) if chosen else np.empty(0, np.int64)


def cluster_means(run: Run) -> Figure:
    """Draw means of columns and shares of levels by cluster."""
    dataset = dataset_of(run).original
    labels = np.array(run.summary["point_estimate"]["labels"])
    known = statistics(dataset, labels)
    ordered = [int(labels[items[0]]) for items in by_size(labels)]
    clusters = np.array(ordered[:MOST_CLUSTERS])
    rows = rows_of(known, clusters)
    K, R = len(clusters), len(rows)
    written = K <= MOST_NUMBERS
    names = [_name(known, f) for f in rows]
    across = min(FULL, 3.8 + 0.45 * K) if written else FULL
    size, ratios = (across, min(9.4, 1.85 + 0.165 * max(R, 3))), [0.5, max(0.165 * R, 0.3), 0.09]
    figure, (top, ax, below) = plt.subplots(3, 1, figsize=size, height_ratios=ratios)
    means, far = known.mean[np.ix_(clusters, rows)].T, known.standardised_means[np.ix_(clusters, rows)].T
    image = ax.imshow(
        np.ma.masked_invalid(far), cmap=_SCALE, vmin=-LIMIT, vmax=LIMIT, aspect="auto", interpolation="nearest"
    )
    ax.set_facecolor("#E4E4E4")
    ax.set_yticks(range(R), [plain_text(name) for name in shorten_names(names, NAME)], fontsize=6.5)
    turned = 0 if K <= 25 else 90
    ax.set_xticks(
        range(K),
        [str(k) for k in number_clusters(clusters, run.first_cluster)],
        fontsize=6.5 if K <= 30 else SMALLEST,
        rotation=turned,
    )
    ax.set_xlabel("cluster")
    ax.grid(False)
    ax.tick_params(length=0)
    ax.hlines(np.arange(R + 1) - 0.5, -0.5, K - 0.5, color="white", linewidth=0.6)
    ax.vlines(np.arange(K + 1) - 0.5, -0.5, R - 0.5, color="white", linewidth=0.6)
    ax.spines[:].set_visible(False)
    _write(ax, known, rows, means, far, written)
    sizes = np.bincount(labels, row_sizes(run.summary))[clusters].round().astype(np.int64)
    of_rows = total_size(run.summary) == run.summary["N"]
    _sizes(top, sizes, plural_of(nouns(run.summary)[0]) if of_rows or has_units(run.summary) else "size")
    top.set_xlim(ax.get_xlim())
    bar = figure.colorbar(image, cax=below, orientation="horizontal", extend="both", ticks=[-2, -1, 0, 1, 2])
    bar.set_label("standard deviations from the mean of all rows", fontsize=6.5)
    bar.ax.tick_params(labelsize=6.5)
    bar.ax.add_patch(Rectangle((-LIMIT, 0), LIMIT + BELOW, 1, **HATCH))
    figure.suptitle(f"What the clusters are like: {subject(run)}", x=0.01, ha="left")
    notes = ["Numbers: means, or shares of levels."] if written else []
    notes.append(f"Hatched: below −{-BELOW:g} standard deviations.")
    if (hidden := len(known.column) - R) > 0:
        notes.append(f"{hidden:,} rows in which the clusters differ less are left out.")
    if (hidden := len(ordered) - K) > 0:
        notes.append(f"{hidden:,} smaller clusters are left out.")
    if np.isnan(far).any():
        notes.append("Grey: all cells are missing.")
    footnote(figure, " ".join(notes) + state_of(run), round(LINE * across / FULL))
    return figure


def _name(known: Statistics, f: int) -> str:
    level, j = known.level[f], known.column[f]
    alone = level is None or (known.types[j] == "binary" and level == "1")
    return known.titles[j] if alone else f"{known.columns[j]}={level}"


def _write(ax: Axes, known: Statistics, rows: NDArray[np.int64], means: Numbers, far: Numbers, written: bool) -> None:
    """Write the means, and hatch the cells far below the mean of all."""
    for r, k in np.ndindex(*means.shape):
        if np.isnan(means[r, k]):
            continue
        if hatched := far[r, k] < BELOW:
            ax.add_patch(Rectangle((k - 0.5, r - 0.5), 1, 1, **HATCH))
        if written:
            share = known.level[rows[r]] is not None
            text = f"{means[r, k]:.0%}" if share else number(float(f"{means[r, k]:.3g}")).replace("-", "−")
            cell = _SCALE((far[r, k] / LIMIT + 1) / 2)
            colour = "white" if np.dot(cell[:3], LUMINANCE) < 0.48 else "#222222"
            # lines of a hatch would cross the letters
            look: dict[str, Any] = {"path_effects": [withStroke(linewidth=3.4, foreground=cell)]} if hatched else {}
            ax.text(k, r, text, ha="center", va="center", fontsize=SMALLEST, color=colour, **look)


def _sizes(ax: Axes, sizes: NDArray[np.int64], counted: str) -> None:
    """Sizes of the clusters, by what is counted, above the map, in the colours of the other pictures."""
    turned = len(sizes) > 14 and int(sizes.max()) > 99
    look: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": SMALLEST, "rotation": 90 if turned else 0}
    for rank, size in enumerate(sizes):
        ax.bar(rank, size, width=0.72, color=style_of(rank)[0])
        ax.annotate(f"{size:,}", (rank, size), (0, 1.5), textcoords="offset points", **look)
    ax.set(yticks=[], ylim=(0, 1.45 * sizes.max()))
    ax.set_ylabel(counted, fontsize=6.5, rotation=0, ha="right", va="center")
    ax.grid(False)
    ax.set_xticks([])
    ax.spines["left"].set_visible(False)
