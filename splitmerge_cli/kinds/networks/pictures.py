"""A network and its clusters: nodes in their colours next to the matrix of edges; blocks as a graph of circles, with
arrows where two have more edges than chance; nodes of two kinds face each other.
"""

import math
from typing import Any

import matplotlib.patheffects as effects
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from splitmerge_cli.analysis.plots import style
from splitmerge_cli.analysis.plots.races import Picture, data_name, option
from splitmerge_cli.diagnostics.cluster_table import shorten
from splitmerge_cli.kinds.networks import relation_matrix
from splitmerge_cli.kinds.networks.data import COUNT, REAL, Relation, Relations, network_of
from splitmerge_cli.kinds.networks.hierarchy import KEY
from splitmerge_cli.kinds.networks.tree import tree
from splitmerge_cli.runs.grouping import count_listed
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run

MOST_BLOCKS = 16
"""Blocks that are drawn, the largest ones."""
LABELLED = 14
"""Arrows whose number is written, the strongest ones."""
MOST_LAYERS = 6
"""Layers that have a panel."""
NAMES, LETTERS = 2, 14
"""Nodes of most edges by which a block is named, and letters of each."""
IN_LEGEND = 9
"""Blocks that a legend names."""
LARGEST, SMALLEST_CIRCLE = 0.2, 0.06
"""Radii of circles; they stand on a circle of radius 1."""
NUMBER = (0.24, 0.12)
"""Width and height of a number, where circles stand on a circle of radius 1."""
WIDEST = 5.0
"""Points of the widest arrow."""
INK = "#555555"
ROWS = 36
"""Names that have room below each other."""
FACING = 3_000
"""Edges between two kinds of nodes that are drawn one by one, at most."""


def _strengths(relation: Relation, labels: NDArray[np.int64], sides: NDArray[np.int8] | None) -> tuple[Any, ...]:
    """Share of pairs, or mean count of a pair, between blocks ``[K, K]``; the same of all pairs; and the mean sign of
    edges (nan of edges without one)."""
    table = relation.block_table(labels, sides)
    with np.errstate(invalid="ignore", divide="ignore"):
        strength = np.where(table.pairs > 0, table.total / table.pairs, 0.0)
        if relation.directed or sides is not None:
            chance = table.total.sum() / table.pairs.sum()
        else:
            upper = np.triu_indices(len(strength))
            chance = table.total[upper].sum() / table.pairs[upper].sum()
        sign = np.full(strength.shape, np.nan)
        if relation_matrix.has_signs(relation) and relation.value is not None:
            signs = np.sign(relation.value) if relation.form == REAL else 2.0 * relation.value - 1.0
            both = not relation.directed and sides is None
            sign = relation.sum_blocks(labels, len(strength), relation.ends, signs, both) / table.edges
    return strength, float(chance), sign


def _name(nodes: NDArray[np.int64], degree: NDArray[np.float64], names: list[str] | None) -> str:
    """The nodes of most edges in a block."""
    if names is None:
        return ""
    first = nodes[np.argsort(-degree[nodes], kind="stable")[:NAMES]]
    return ", ".join(style.plain_text(shorten(names[i], LETTERS)) for i in first) + (" …" if len(nodes) > NAMES else "")


def draw_blocks(
    ax: Axes,
    relations: Relations,
    layer: int,
    labels: NDArray[np.int64],
    numbers: list[str],
    names: list[str] | None,
    scale: float = 1.0,
) -> tuple[float, float]:
    """Draw the blocks of a layer, arrows `scale` times as wide as usual; return the value of all pairs, and the
    value of the widest arrow."""
    relation, sides = relations.layers[layer], relations.sides
    strength, chance, sign = _strengths(relation, labels, sides)
    blocks = style.by_size(labels)[:MOST_BLOCKS]
    K = [int(labels[nodes[0]]) for nodes in blocks]
    table = relation.block_table(labels, sides)
    degree = table.sources + table.targets
    places = _place(blocks, sides)
    largest = max(len(nodes) for nodes in blocks)
    room = min(1.0, 2.6 / max(len(blocks), 1) / LARGEST)
    radii = np.maximum(LARGEST * room * np.sqrt([len(nodes) / largest for nodes in blocks]), SMALLEST_CIRCLE * room)
    arrows = [
        (float(strength[K[a], K[b]]), a, b)
        for a in range(len(K))
        for b in range(len(K))
        if strength[K[a], K[b]] > chance and (relation.directed or sides is not None or a <= b)
    ]
    most = max((arrow[0] for arrow in arrows), default=1.0)
    arrows.sort(reverse=True)
    written = np.empty((0, 2))
    for rank, (value, a, b) in enumerate(arrows):
        colour = relation_matrix.POSITIVE if sign[K[a], K[b]] > 0 else relation_matrix.NEGATIVE
        colour = colour if np.isfinite(sign[K[a], K[b]]) else INK
        width = max(0.4, WIDEST * scale * value / most)
        spots = _draw_arrow(ax, places, radii, a, b, relation.directed, width, colour)
        if rank < LABELLED:
            room = (np.abs(spots[:, None] - written) / NUMBER * scale).max(axis=2).min(axis=1, initial=np.inf)
            at = spots[np.argmax(np.minimum(room, 1.0))]  # the first that is clear of the others, or the clearest
            written = np.vstack([written, at])
            box = {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.9}
            _write(ax, at, f"{value:.2g}", fontsize=style.SMALLEST, color="#111111", zorder=7, bbox=box)
    for rank, (nodes, place, radius) in enumerate(zip(blocks, places, radii, strict=True)):
        look: dict[str, Any] = {
            "facecolor": style.style_of(rank)[0],
            "edgecolor": "white",
            "linewidth": 0.8,
            "zorder": 4,
        }
        ax.add_patch(Circle(tuple(place), radius, **look))
        _write(ax, place, numbers[rank], fontsize=8, fontweight="bold", color="#111111", zorder=8)
        if label := _name(nodes, degree, names):
            out = np.array([np.sign(place[0]), 0.0]) if sides is not None else _outwards(place)
            aligned = "center" if abs(out[0]) < 0.3 else ("left" if out[0] > 0 else "right")
            has_ring = sides is None and strength[K[rank], K[rank]] > chance
            at = place + out * (1.85 * radius + 0.16 if has_ring else radius + 0.06)
            _write(ax, at, f"{label} ({len(nodes):,})", fontsize=style.SMALLEST, ha=aligned, color="#222222", zorder=8)
    wide = 2.1 if names is not None else 1.5
    ax.set(xlim=(-wide, wide), ylim=(-1.7, 1.7), aspect="equal")
    ax.axis("off")
    return chance, most


def _outwards(place: NDArray[np.float64]) -> NDArray[np.float64]:
    """Direction away from the middle; upwards from the middle itself."""
    length = float(np.linalg.norm(place))
    return place / length if length > 1e-9 else np.array([0.0, 1.0])


def _write(ax: Axes, at: Any, text: str, **look: Any) -> None:
    halo = [effects.withStroke(linewidth=1.4, foreground="white")]
    ax.text(at[0], at[1], text, **{"ha": "center", "va": "center", "path_effects": halo} | look)


def _place(blocks: list[NDArray[np.int64]], sides: NDArray[np.int8] | None) -> NDArray[np.float64]:
    """Places of blocks: on a circle; of two kinds in two columns."""
    n = len(blocks)
    if sides is not None:
        kinds = np.array([sides[nodes[0]] for nodes in blocks])
        places = np.zeros((n, 2))
        for kind in (0, 1):
            here = np.flatnonzero(kinds == kind)
            places[here, 0] = (-0.75, 0.75)[kind]
            places[here, 1] = (0.5 - (np.arange(len(here)) + 0.5) / max(len(here), 1)) * 2.5
        return places
    if n == 1:
        return np.zeros((1, 2))
    angle = math.pi / 2 - 2 * math.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _draw_arrow(
    ax: Axes,
    places: NDArray[np.float64],
    radii: NDArray[np.float64],
    a: int,
    b: int,
    directed: bool,
    width: float,
    colour: str,
) -> NDArray[np.float64]:
    """Draw the edges from one block to another, or within one, and return places for their number ``[n, 2]``, the best
    first."""
    head = "-|>,head_length=5,head_width=2.6" if directed else "-"
    look: dict[str, Any] = {"arrowstyle": head, "color": colour, "linewidth": width, "zorder": 3}
    if a == b:
        # a ring that leaves the circle on its outer side
        out = _outwards(places[a])
        middle = places[a] + out * radii[a] * 1.1
        ax.add_patch(Circle(tuple(middle), radii[a] * 0.75, fill=False, edgecolor=colour, linewidth=width, zorder=2))
        return np.asarray([middle + out * radii[a] * 0.75])
    bend = 0.16 if directed else 0.0
    along = places[b] - places[a]
    length = float(np.linalg.norm(along))
    begin, end = places[a] + along * radii[a] / length, places[b] - along * (radii[b] + 0.01) / length
    look |= {"connectionstyle": f"arc3,rad={bend}", "shrinkA": 0, "shrinkB": 0}
    arrow = FancyArrowPatch(tuple(begin), tuple(end), capstyle="butt", joinstyle="miter", **look)
    ax.add_patch(arrow)
    across = np.array([along[1], -along[0]])
    # lines cross in the middle; a quadratic curve is this far from its chord
    t = np.array([0.36, 0.26, 0.46, 0.6, 0.7, 0.18])[:, None]
    return np.asarray(begin + t * (end - begin) + across * bend * 2.0 * t * (1.0 - t))


def draw_facing(ax: Axes, relations: Relations, layer: int, labels: NDArray[np.int64], names: list[str] | None) -> None:
    """Draw nodes of two kinds in two columns, by block, with the edges between them."""
    relation, sides = relations.layers[layer], relations.sides
    assert sides is not None
    table = relation.block_table(labels, sides)
    degree = table.sources + table.targets
    places = np.zeros((relations.N, 2))
    for kind in (0, 1):
        blocks = relation_matrix.sort_nodes(labels, degree, sides == kind)
        n, gap = len(blocks.order), 0.03 * len(blocks.order)
        shift = np.repeat(np.arange(len(blocks.ends)) * gap, blocks.ends - blocks.starts)
        whole = n + gap * max(len(blocks.ends) - 1, 0)
        places[blocks.order] = np.stack([np.full(n, kind), -(np.arange(n) + 0.5 + shift) / whole], axis=1)
        for rank, start, end in zip(blocks.ranks, blocks.starts, blocks.ends, strict=True):
            here = places[blocks.order[start:end]]
            colour, marker = style.style_of(rank)
            size = float(np.clip(900.0 / n, 2.0, 26.0))
            look: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.2, "zorder": 3}
            ax.scatter(here[:, 0], here[:, 1], s=size, marker=marker, color=colour, **look)
        last = math.inf
        for node in blocks.order.tolist():
            # a name for each node, or for as many as have room
            if names is None or last - places[node, 1] < 1.0 / ROWS:
                continue
            last = float(places[node, 1])
            text, aligned = style.plain_text(shorten(names[node], LETTERS + 4)), ("right", "left")[kind]
            ax.text(kind + (-0.04, 0.04)[kind], last, text, ha=aligned, va="center", fontsize=style.SMALLEST)
    ends = relation.ends
    if len(ends) > FACING:
        ends = ends[np.random.default_rng(0).permutation(len(ends))[:FACING]]
    faint = float(np.clip(40.0 / max(len(ends), 1) ** 0.75, 0.05, 0.6))
    lines = np.stack([places[ends[:, 0]], places[ends[:, 1]]], axis=1)
    ax.add_collection(LineCollection(list(lines), color="#555555", linewidth=0.5, alpha=faint, zorder=1))
    ax.set(xlim=(-0.45, 1.45), ylim=(-1.02, 0.02))
    ax.axis("off")
    for kind, name in enumerate(relations.side_names):
        ax.text(kind, 0.03, style.plain_text(name), ha="center", va="bottom", fontsize=8)


def title_panels(axes: NDArray[Any], title: str, names: list[str]) -> None:
    """Write a title over the first panel, and the names of several layers over theirs."""
    for n, (ax, name) in enumerate(zip(axes.ravel(), names, strict=False)):
        lines = [title] * (n == 0) + [style.plain_text(name)] * (len(names) > 1)
        ax.set_title("\n".join(lines))


def block_graph(run: Run) -> Figure:
    """Draw the blocks of a run's point estimate as a graph, a panel for each layer."""
    dataset = dataset_of(run)
    relations = network_of(dataset)
    estimate = run.summary["point_estimate"]
    labels = np.array(estimate["labels"], dtype=np.int64)
    layers = relations.layers[:MOST_LAYERS]
    across = min(len(layers), 3)
    down = -(-len(layers) // across)
    height = 4.6 if len(layers) == 1 else 0.4 + 2.9 * down
    figure, axes = plt.subplots(down, across, squeeze=False, figsize=(style.FULL, height))
    numbers = style.numbers_by_size(run, labels)
    notes = []
    for n, ax in enumerate(axes.ravel()):
        if n >= len(layers):
            ax.axis("off")
            continue
        # of several layers a legend has the names
        names, scale = (dataset.names, 1.0) if len(layers) == 1 else (None, 0.6)
        chance, most = draw_blocks(ax, relations, n, labels, numbers, names, scale)
        what = "mean count of a pair" if layers[n].form == COUNT else "share of pairs with an edge"
        place = f"{style.plain_text(layers[n].name)}: " if layers[n].name else ""
        notes.append(f"{place}{what}, {chance:.2g} of all pairs, {most:.2g} for the widest")
    K = len(np.unique(labels))
    title = f"{style.title_of(option(run, 'sampler'))} on {data_name(run)}: {count_listed(labels, run.summary)}"
    title_panels(axes, title, [layer.name for layer in layers])
    if any(relation_matrix.has_signs(layer) for layer in layers):
        signs = ((relation_matrix.POSITIVE, "mostly positive"), (relation_matrix.NEGATIVE, "mostly negative"))
        style.legend(figure, [style.entry(color=colour, linewidth=2, label=label) for colour, label in signs])
    if len(layers) > 1 and dataset.names is not None:
        degree = np.sum([np.bincount(layer.ends.ravel(), minlength=dataset.N) for layer in layers], axis=0)
        named = []
        for rank, nodes in enumerate(style.by_size(labels)[:IN_LEGEND]):
            label = f"{numbers[rank]}: {_name(nodes, degree, dataset.names)}"
            named.append(style.entry(linestyle="", marker="o", color=style.style_of(rank)[0], label=label))
        style.legend(figure, *[named[first : first + 3] for first in range(0, len(named), 3)])
    lines = "Arrows" if any(layer.directed for layer in layers) else "Lines"
    lines += " and rings" if relations.sides is None else ""
    few = f" The {MOST_BLOCKS} largest of {K} clusters." if K > MOST_BLOCKS else ""
    by_name = " Named by the nodes of most edges." if dataset.names else ""
    style.footnote(
        figure,
        f"Clusters: {style.plain_text(estimate['criterion'])}; area: nodes. {lines}: more edges than among all pairs "
        f"({'; '.join(notes)}).{few}{by_name}",
    )
    return figure


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
    for rank, items in enumerate(style.by_size(labels)):
        colour, marker = style.style_of(rank)
        x, y = places[items].T
        if len(items) == 1:
            ax.scatter(x, y, s=0.7 * size, marker="x", color=style.ALONE, linewidth=0.8, zorder=3)
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
    return len(
        style.write_apart(ax, places, short, order[:most_names], offset=0.75 * mark, marks=marks, color="#222222")
    )


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
    one, small = len(layers) == 1, dataset.N <= relation_matrix.MOST_NODES
    across = min(len(layers), 3)
    down = -(-len(layers) // across)
    size, ratios = ((style.FULL, 3.9), [1, 1.35]) if small else ((style.FULL, 7.6), [1])
    if not one:
        size, ratios = (style.FULL, 0.6 + 2.5 * down), [1] * across
    figure, axes = plt.subplots(down, len(ratios), squeeze=False, figsize=size, width_ratios=ratios)
    numbers, entries = style.numbers_by_size(run, labels), list[Artist]()
    for n, ax in enumerate(axes.ravel()[: len(layers)]):
        entries += relation_matrix.draw_matrix(ax, relations, n, labels)
        relation_matrix.number_blocks(ax, relations, labels, numbers)
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
    counted = f"{dataset.N:,} nodes, {edges:,} edges; {count_listed(labels, run.summary)}"
    title = f"{style.title_of(sampler)} on {data_name(run)}: {counted}"
    if one and relations.sides is not None:
        figure.suptitle(title, x=0.01, ha="left")
    else:
        title_panels(axes, title, [layer.name for layer in layers])
    if entries:
        style.legend(figure, [*{str(each.get_label()): each for each in entries}.values()])
    shown = "" if small else " Darker cells hold more edges (square root of their share)."
    cross = " Crosses: alone in a cluster." if alone and places is not None else ""
    named = " Names of nodes where they fit, nodes of most ties first." if dataset.names and places is not None else ""
    more = f" The first {MOST_LAYERS} of {len(relations.layers)} layers." if len(relations.layers) > MOST_LAYERS else ""
    ways = " Rows: sources; columns: targets." if any(layer.directed for layer in layers) else ""
    style.footnote(
        figure,
        f"Clusters: {style.plain_text(estimate['criterion'])}. Matrix: nodes sorted by cluster, then degree; lines "
        f"between clusters; numbers as in clusters.csv.{ways}{shown}{cross}{named}{more}",
    )
    if places is not None and dataset.names:
        figure.canvas.draw()
        write_names(axes[0, 1], dataset.values, places, dataset.names)
    return figure


PICTURES = {
    "network": Picture(
        "Which nodes have the same ties?",
        "matrix of edges sorted by cluster, for each layer; the network with a colour and a mark for each cluster",
        lambda run: run.is_done,
        clusters,
    ),
    "blocks": Picture(
        "Which clusters are tied to which?",
        "clusters as circles, with lines or arrows between those that have more edges than all pairs",
        lambda run: run.is_done,
        block_graph,
    ),
    "tree": Picture(
        "Which clusters are alike?",
        "groups of clusters with edges to the same others, level above level, next to the edges between the clusters",
        lambda run: run.is_done and KEY in run.summary,
        tree,
    ),
}
"""Pictures of runs of networks, by name."""
