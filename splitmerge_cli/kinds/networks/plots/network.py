"""A network and the clusters found in it: the adjacency matrix by cluster, and the nodes in their colours."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from splitmerge_cli.analysis.plots.labels import write_apart
from splitmerge_cli.analysis.plots.marks import ALONE, by_size, numbers_by_size, style_of
from splitmerge_cli.analysis.plots.runs import data_name, option
from splitmerge_cli.analysis.plots.style import FULL, footnote, legend, plain_text, title_of
from splitmerge_cli.diagnostics.cluster_table import shorten
from splitmerge_cli.kinds.networks.data import network_of
from splitmerge_cli.kinds.networks.plots.blocks import MOST_LAYERS, draw_facing, title_panels
from splitmerge_cli.kinds.networks.plots.relation_matrix import MOST_NODES, draw_matrix, number_blocks
from splitmerge_cli.runs.grouping import count_listed
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.stored import dataset_of

MOST_NAMES = 150
"""Number of nodes up to which names cover no mark. With more, the `IN_A_CROWD` nodes of most ties have names over
marks."""
IN_A_CROWD = 15
NAME = 18
"""Letters of a name."""
SPREAD = 0.7
"""Power of the distance from the middle of a layout: below 1, a crowded middle is drawn apart."""


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
    """Draw the network of a run in the colours of its point estimate: a matrix of each layer, and of one layer (up to
    `MOST_NODES`) the nodes, two kinds in two columns."""
    dataset = dataset_of(run)
    relations = network_of(dataset)
    estimate = run.summary["point_estimate"]
    labels = np.array(estimate["labels"])
    layers = relations.layers[:MOST_LAYERS]
    one, small = len(layers) == 1, dataset.N <= MOST_NODES
    across = min(len(layers), 3)
    down = -(-len(layers) // across)
    size, ratios = ((FULL, 3.9), [1, 1.35]) if small else ((FULL, 7.6), [1])
    if not one:
        size, ratios = (FULL, 0.6 + 2.5 * down), [1] * across
    figure, axes = plt.subplots(down, len(ratios), squeeze=False, figsize=size, width_ratios=ratios)
    numbers, entries = numbers_by_size(run, labels), list[Artist]()
    for n, ax in enumerate(axes.ravel()[: len(layers)]):
        entries += draw_matrix(ax, relations, n, labels)
        number_blocks(ax, relations, labels, numbers)
    for ax in axes.ravel()[len(layers) :] if not one else ():
        ax.axis("off")
    places: NDArray[np.float64] | None = None
    if one and small and relations.sides is not None:
        draw_facing(axes[0, 1], relations, 0, labels.astype(np.int64), dataset.names)
    elif one and small:
        places = layout(dataset.values)
        draw_network(axes[0, 1], dataset.values, labels, places)
    alone = bool((np.bincount(labels) == 1).any())
    sampler, edges = option(run, "sampler"), sum(len(layer.ends) for layer in relations.layers)
    title = f"{title_of(sampler)} on {data_name(run)}: {dataset.N:,} nodes, {edges:,} edges; {count_listed(labels)}"
    if one and relations.sides is not None:
        figure.suptitle(title, x=0.01, ha="left")
    else:
        title_panels(axes, title, [layer.name for layer in layers])
    if entries:
        legend(figure, [*{str(each.get_label()): each for each in entries}.values()])
    shown = "" if small else " Darker cells hold more edges (square root of their share)."
    cross = " Crosses: alone in a cluster." if alone and places is not None else ""
    named = " Names of nodes where they fit, nodes of most ties first." if dataset.names and places is not None else ""
    more = f" The first {MOST_LAYERS} of {len(relations.layers)} layers." if len(relations.layers) > MOST_LAYERS else ""
    ways = " Rows: sources; columns: targets." if any(layer.directed for layer in layers) else ""
    footnote(
        figure,
        f"Clusters: {plain_text(estimate['criterion'])}. Matrix: nodes sorted by cluster, then degree; lines between "
        f"clusters; numbers as in clusters.csv.{ways}{shown}{cross}{named}{more}",
    )
    if places is not None and dataset.names:
        figure.canvas.draw()
        write_names(axes[0, 1], dataset.values, places, dataset.names)
    return figure
