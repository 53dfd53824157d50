"""A network and the clusters found in it: the adjacency matrix by cluster, and the nodes in their colours."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from splitmerge_cli.analysis.plots.labels import write_apart
from splitmerge_cli.analysis.plots.points import ALONE, by_size, numbers_by_size, order_items, style_of
from splitmerge_cli.analysis.plots.runs import data_name, option
from splitmerge_cli.analysis.plots.style import FULL, SMALLEST, footnote, plain_text, title_of
from splitmerge_cli.diagnostics.cluster_table import shorten
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.stored import dataset_of

MOST_NODES = 2000
"""Nodes up to which a network is laid out; of larger ones the matrix alone is drawn, as a density."""
CELLS = 600
"""Rows and columns of that density."""
MOST_NAMES = 150
"""Number of nodes up to which names cover no mark. With more, the `IN_A_CROWD` nodes of most ties have names over
marks."""
IN_A_CROWD = 15
NAME = 18
"""Letters of a name."""
SPREAD = 0.7
"""Power of the distance from the middle of a layout: below 1, a crowded middle is drawn apart."""
BORDER = "#D55E00"
NARROWEST = 0.03
"""Share of the nodes that a cluster has at least for its number to stand beside it."""


def density(adjacency: csr_array, order: NDArray[np.int64], cells: int = CELLS) -> NDArray[np.float64]:
    """Share of edges among the pairs in every cell of a coarser matrix, float64 ``[cells, cells]``."""
    N = adjacency.shape[0]
    place = np.empty(N, np.int64)
    place[order] = np.arange(N)
    cell = place * cells // N
    rows, columns = adjacency.nonzero()
    counts = np.zeros((cells, cells))
    np.add.at(counts, (cell[rows], cell[columns]), 1.0)
    held = np.bincount(cell, minlength=cells).astype(float)
    return counts / np.maximum(np.outer(held, held), 1.0)


def draw_matrix(ax: Axes, adjacency: csr_array, labels: ArrayLike) -> None:
    """The adjacency matrix, items sorted by cluster, lines between clusters, colours of clusters at the edge."""
    N = adjacency.shape[0]
    order, ends = order_items(labels, np.diff(adjacency.indptr))
    if N <= MOST_NODES:
        ax.imshow(adjacency[order][:, order].toarray(), cmap="gray_r", vmin=0, vmax=1, extent=(0, N, N, 0), zorder=1)
    else:
        shown = density(adjacency, order)
        norm = PowerNorm(0.5, 0, max(float(shown.max()), 1e-12))
        ax.imshow(shown, cmap="gray_r", norm=norm, extent=(0, N, N, 0), zorder=1)
    width = max(0.15, 0.6 - 0.01 * len(ends))
    for end in ends[:-1]:
        ax.plot([end, end], [0, N], color=BORDER, linewidth=width, zorder=2)
        ax.plot([0, N], [end, end], color=BORDER, linewidth=width, zorder=2)
    start = 0
    for rank, end in enumerate(ends):
        colour = ALONE if end - start == 1 else style_of(rank)[0]
        ax.fill_between([-0.035 * N, -0.01 * N], start, end, color=colour, linewidth=0, clip_on=False, zorder=3)
        start = int(end)
    ax.set(xlim=(-0.04 * N, N), ylim=(N, 0), aspect="equal", xticks=[], yticks=[])
    ax.grid(False)
    ax.spines[:].set_visible(False)


def _number_blocks(ax: Axes, labels: NDArray[np.int64], numbers: list[str]) -> None:
    """Write numbers of clusters, the largest first, beside the blocks that are high enough."""
    _, ends = order_items(labels)
    begins = np.concatenate([[0], ends[:-1]])
    high = np.flatnonzero(ends - begins >= NARROWEST * len(labels))
    ax.set_yticks((begins + ends)[high] / 2, [numbers[k] for k in high.tolist()], fontsize=SMALLEST + 1)
    ax.tick_params(axis="y", length=0, pad=1)


def layout(adjacency: csr_array, seed: int = 0) -> NDArray[np.float64]:
    """Places of the nodes, float64 ``[N, 2]``, within a disc around 0; the same at every call.

    The largest component is laid out by networkx's springs, its middle spread; all others stand around it.
    """
    import networkx

    graph = networkx.from_scipy_sparse_array(adjacency)
    components = sorted((sorted(part) for part in networkx.connected_components(graph)), key=len, reverse=True)
    places = np.zeros((len(graph), 2))
    main = components[0]
    by_node = networkx.spring_layout(graph.subgraph(main), seed=seed, iterations=200 if len(main) <= 500 else 60)
    positions = np.array([by_node[node] for node in main])
    positions -= np.median(positions, axis=0)
    # wider than high, as its panel
    positions = positions @ np.linalg.eigh(positions.T @ positions)[1][:, ::-1]
    radius = np.linalg.norm(positions, axis=1, keepdims=True)
    places[main] = positions / np.maximum(radius, 1e-12) * (radius / max(radius.max(), 1e-12)) ** SPREAD
    for k, part in enumerate(components[1:]):
        angle = 2 * np.pi * k / (len(components) - 1)
        by_part = networkx.circular_layout(graph.subgraph(part), scale=0.03 if len(part) > 1 else 0.0)
        for node in part:
            places[node] = 1.12 * np.array([np.cos(angle), np.sin(angle)]) + by_part[node]
    return places


def draw_network(ax: Axes, adjacency: csr_array, labels: ArrayLike, places: NDArray[np.float64]) -> None:
    """Nodes in the colours of their clusters, edges between them."""
    N = adjacency.shape[0]
    rows, columns = adjacency.nonzero()
    above = rows < columns
    faint = float(np.clip(60.0 / max(above.sum(), 1) ** 0.7, 0.03, 0.5))
    segments = np.stack([places[rows[above]], places[columns[above]]], axis=1)
    ax.add_collection(LineCollection(list(segments), color="#888888", linewidth=0.5, alpha=faint, zorder=1))
    size = _mark_size(N)
    for rank, items in enumerate(by_size(labels)):
        colour, marker = style_of(rank)
        x, y = places[items].T
        if len(items) == 1:
            ax.scatter(x, y, s=0.7 * size, marker="x", color=ALONE, linewidth=0.8, zorder=3)
        else:
            ax.scatter(x, y, s=size, marker=marker, color=colour, edgecolor="white", linewidth=0.3, zorder=3)
    ax.axis("off")
    ax.margins(0.04)
    ax.set_aspect("equal", adjustable="datalim")


def write_names(ax: Axes, adjacency: csr_array, places: NDArray[np.float64], names: list[str]) -> int:
    """Write names next to nodes, where they cover no other, and return how many; the layout is final."""
    N = len(names)
    order = np.argsort(-np.diff(adjacency.indptr), kind="stable").tolist()
    short = [shorten(name, NAME) for name in names]
    mark = np.sqrt(_mark_size(N))
    # in a crowd every name covers marks: a few stand all the same
    most_names, marks = (N, 0.8 * mark) if N <= MOST_NAMES else (IN_A_CROWD, 0.0)
    return len(write_apart(ax, places, short, order[:most_names], offset=0.75 * mark, marks=marks, color="#222222"))


def _mark_size(N: int) -> float:
    """Area of a node's mark, in points squared."""
    return float(np.clip(2400.0 / N, 3.0, 36.0))


def clusters(run: Run) -> Figure:
    """Draw the network of a run in the colours of its point estimate: matrix, and (up to `MOST_NODES`) layout."""
    dataset = dataset_of(run)
    estimate = run.summary["point_estimate"]
    labels = np.array(estimate["labels"])
    small = dataset.N <= MOST_NODES
    size, ratios = ((FULL, 3.9), [1, 1.35]) if small else ((FULL, 7.6), [1])
    figure, axes = plt.subplots(1, len(ratios), squeeze=False, figsize=size, width_ratios=ratios)
    draw_matrix(axes[0, 0], dataset.values, labels)
    if small:
        places = layout(dataset.values)
        draw_network(axes[0, 1], dataset.values, labels, places)
    _number_blocks(axes[0, 0], labels, numbers_by_size(run, labels))
    sizes = np.bincount(labels)
    alone = int((sizes == 1).sum())
    counted = f"{len(sizes)} cluster{'s' * (len(sizes) > 1)}" + (f", {alone} of one node" if alone else "")
    sampler, edges = option(run, "sampler"), dataset.values.nnz // 2
    axes[0, 0].set_title(f"{title_of(sampler)} on {data_name(run)}: {dataset.N:,} nodes, {edges:,} edges; {counted}")
    shown = "" if small else " Darker cells hold more edges (square root of their share)."
    cross = " Crosses: alone in a cluster." if alone and small else ""
    named = " Names of nodes where they fit, nodes of most ties first." if dataset.names and small else ""
    footnote(
        figure,
        f"Clusters: {plain_text(estimate['criterion'])}. Matrix: nodes sorted by cluster, then degree; lines between "
        f"clusters; numbers as in clusters.csv.{shown}{cross}{named}",
    )
    if small and dataset.names:
        figure.canvas.draw()
        write_names(axes[0, 1], dataset.values, places, dataset.names)
    return figure
