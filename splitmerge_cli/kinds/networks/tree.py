"""The levels above the clusters of a network as a tree, next to the edges between its clusters."""

from functools import reduce
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots import style
from splitmerge_cli.analysis.plots.races import data_name
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.cluster_table import number_clusters, shorten
from splitmerge_cli.kinds.networks.data import Relations, network_of
from splitmerge_cli.kinds.networks.hierarchy import FILE, KEY, describe
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run

Labels = NDArray[np.int64]
MOST_LEAVES = 60
"""Clusters that are leaves; with more the groups of a higher level are."""
MOST_NUMBERED = 30
"""Leaves with numbers on the matrix."""
NAMES, LETTERS = 2, 18
"""Nodes of most edges by which a leaf is named, and letters of each."""
LARGEST = 90.0
"""Area of a mark in points squared, at most."""
BORDER = "#d55e00"


def order_leaves(levels: list[Labels]) -> Labels:
    """Order the leaves so that every group stands together.

    >>> order_leaves([np.array([1, 0, 1, 2]), np.array([1, 0, 1])])
    array([0, 2, 1, 3])
    """
    above, keys = np.arange(len(levels[0])), list[Labels]()
    for level in levels:
        keys.append(above)
        above = level[above]
    return np.lexsort([*keys, above])


def edges_between(relations: Relations, labels: Labels) -> NDArray[np.float64]:
    """Edges of all layers for each pair of nodes, between clusters, float64 ``[K, K]``, rows: sources."""
    tables = [layer.block_table(labels, relations.sides) for layer in relations.layers]
    edges, pairs = (np.sum([getattr(table, name) for table in tables], axis=0) for name in ("edges", "pairs"))
    return np.divide(edges, pairs, out=np.zeros_like(edges), where=pairs > 0)


def draw_tree(ax: Axes, levels: list[Labels], nodes: Labels, names: list[str], row: Labels, first: int) -> None:
    """Draw leaves of so many `nodes` with their `names`, each in its `row`, and the levels to the right of them."""
    y, most = row.astype(np.float64), max(float(nodes.max()), 4.0 * nodes.sum() / len(nodes))
    for place, name in zip(y, names, strict=True):
        ax.text(-0.12, place, name, ha="right", va="center", fontsize=style.SMALLEST)
    line: dict[str, Any] = {"color": "#555555", "linewidth": 0.8, "zorder": 1}
    for x, level in enumerate(levels, 1):
        middle = np.bincount(level, y * nodes) / np.bincount(level, nodes)
        for k, group in enumerate(level):
            ax.plot([x - 1, x - 0.5, x - 0.5, x], [y[k], y[k], middle[group], middle[group]], **line)
        colour = "#0072b2" if x == 1 else BORDER
        ax.scatter(np.full(len(y), x - 1.0), y, s=LARGEST * np.minimum(nodes / most, 1.0), color=colour, zorder=2)
        y, nodes = middle, np.bincount(level, nodes)
        for k, place in enumerate(y):
            ax.text(x + 0.08, place - 0.1, str(number_clusters(k, first)), va="bottom", fontsize=style.SMALLEST)
    top = len(levels)
    for place in y:
        ax.plot([top, top + 0.5, top + 0.5], [place, place, y @ nodes / nodes.sum()], **line)
    ax.scatter(np.full(len(y), float(top)), y, s=LARGEST, color=BORDER, zorder=2)
    ax.set(xlim=(-0.2, top + 0.6), ylim=(len(row) - 0.4, -0.6))
    ax.axis("off")


def _name_leaves(dataset: Dataset, relations: Relations, labels: Labels, first: int) -> list[str]:
    """Number, nodes of most edges and size of each leaf."""
    degree = np.sum([np.bincount(layer.ends.ravel(), minlength=dataset.N) for layer in relations.layers], axis=0)
    names = []
    for k in range(int(labels.max()) + 1):
        inside = np.flatnonzero(labels == k)
        top = inside[np.argsort(-degree[inside], kind="stable")[:NAMES]]
        named = "" if dataset.names is None else ": " + ", ".join(shorten(dataset.names[i], LETTERS) for i in top)
        more = " …" if named and len(inside) > NAMES else ""
        names.append(style.plain_text(f"{number_clusters(k, first)}{named}{more} ({len(inside):,})"))
    return names


def tree(run: Run) -> Figure:
    """Draw the levels of a run as a tree, and the edges between its leaves as a matrix with the same rows."""
    dataset, first = dataset_of(run), run.first_cluster
    relations, levels = network_of(dataset), [np.asarray(level) for level in run.summary[KEY]]
    labels = np.asarray(run.summary["point_estimate"]["labels"], dtype=np.int64)
    title = f"{data_name(run)}: {describe(run.summary[KEY], first)}"
    leaves = "clusters"
    while len(levels) > 1 and len(levels[0]) > MOST_LEAVES:
        labels, leaves = levels[0][labels], "groups of clusters"
        levels = levels[1:]
    order = order_leaves(levels)
    height = float(np.clip(1.2 + 0.17 * len(order), 2.6, 7.6))
    figure, (left, right) = plt.subplots(1, 2, figsize=(style.FULL, height), width_ratios=[1.25, 1])
    names = _name_leaves(dataset, relations, labels, first)
    draw_tree(left, levels, np.bincount(labels), names, np.argsort(order), first)
    left.set_title(title)
    share = edges_between(relations, labels)[np.ix_(order, order)]
    norm = PowerNorm(0.5, 0.0, max(float(share.max()), 1e-12))
    image = right.imshow(share, cmap="Greys", norm=norm, aspect="auto")
    top = reduce(lambda below, level: level[below], levels)
    for edge in np.flatnonzero(np.diff(top[order])) + 0.5:
        right.axhline(edge, color=BORDER, linewidth=0.8)
        right.axvline(edge, color=BORDER, linewidth=0.8)
    shown = order if len(order) <= MOST_NUMBERED else order[:0]
    numbers = [str(number_clusters(k, first)) for k in shown]
    right.set_xticks(range(len(shown)), numbers, fontsize=style.SMALLEST, rotation=90)
    right.set_yticks(range(len(shown)), numbers, fontsize=style.SMALLEST)
    right.set_ylim(len(order) - 0.4, -0.6)
    right.grid(visible=False)
    figure.colorbar(image, ax=right, fraction=0.05, pad=0.03).set_label("share of pairs with an edge")
    ways = " (rows: sources)" if any(layer.directed for layer in relations.layers) else ""
    style.footnote(
        figure,
        f"Leaves: {leaves}, named by their nodes of most edges (number of nodes). Matrix: the leaves in the order of "
        f"the tree{ways}, with lines between the groups of the top level. Groups: those that describe the edges "
        f"between clusters in fewest nats ({FILE}).",
    )
    return figure
