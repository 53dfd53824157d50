"""Edges of a network as a matrix sorted by block: directions, values by shade, signs in two colours."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, LogNorm, Normalize, PowerNorm
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from splitmerge_cli.analysis.plots.style import ALONE, SMALLEST, by_size, plain_text, style_of
from splitmerge_cli.kinds.networks.data import BINARY, COUNT, LEVELS, REAL, Relation, Relations

MOST_NODES = 2000
"""Nodes up to which every pair has a cell; of larger networks cells are densities."""
CELLS = 600
"""Rows and columns of densities."""
BORDER = "#D55E00"
NEGATIVE, POSITIVE = "#0B3C78", "#F0A830"
"""Colours of signs: dark and light, so that they differ in grey."""
UNKNOWN = "#CC3311"
NARROWEST = 0.03
"""Share of the nodes that a cluster has at least for its number to stand next to it."""

_GREY = LinearSegmentedColormap.from_list("grey", ["#c8c8c8", "#000000"])
_SIGNED = LinearSegmentedColormap.from_list(
    "signed", [(0.0, "#06224a"), (0.499, "#5f8fc4"), (0.501, "#fbe6b8"), (1.0, "#e08a00")]
)


@dataclass(frozen=True)
class Blocks:
    """Nodes in the order of a matrix's rows, or of its columns, by block."""

    order: NDArray[np.int64]
    """int64: nodes."""
    ranks: list[int]
    """Rank in size of every block, the largest 0."""
    ends: NDArray[np.int64]
    """int64 ``[blocks]``: where the nodes of a block end."""
    alone: list[bool]
    """Whether a block has one node."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the nodes of a block begin."""
        return np.concatenate([[0], self.ends])[:-1]


def sort_nodes(labels: ArrayLike, degree: NDArray[np.float64], chosen: NDArray[np.bool_] | None = None) -> Blocks:
    """Order nodes (the `chosen` ones) by block, the largest first, in a block by degree."""
    parts, ranks, alone = [], [], []
    for rank, nodes in enumerate(by_size(labels)):
        here = nodes if chosen is None else nodes[chosen[nodes]]
        if len(here):
            parts.append(here[np.argsort(-degree[here], kind="stable")])
            ranks.append(rank)
            alone.append(len(nodes) == 1)
    order = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    return Blocks(order, ranks, np.cumsum([len(part) for part in parts], dtype=np.int64), alone)


def has_signs(relation: Relation) -> bool:
    """Whether values, or two levels, have both signs."""
    if relation.form == LEVELS:
        return len(relation.levels) == 2
    value = relation.value
    return relation.form == REAL and value is not None and len(value) > 0 and value.min() < 0 < value.max()


def matrix_of(relation: Relation, sides: NDArray[np.int8] | None, N: int) -> csr_array:
    """Values of edges (binary: 1; levels: codes from 1), ``[N, N]``, undirected ones in both directions."""
    values = np.ones(len(relation.ends)) if relation.value is None else np.asarray(relation.value, dtype=np.float64)
    values = values + 1.0 if relation.form == LEVELS else values
    i, j = relation.ends.T
    if not relation.directed and sides is None:
        apart = i != j
        i, j, values = np.append(i, j[apart]), np.append(j, i[apart]), np.append(values, values[apart])
    return csr_array((values, (i, j)), shape=(N, N))


def density(
    matrix: csr_array, rows: NDArray[np.int64], columns: NDArray[np.int64], cells: int = CELLS
) -> NDArray[np.float64]:
    """Mean over the pairs in every cell of a coarser matrix, float64 ``[cells, cells]``."""

    def place(order: NDArray[np.int64]) -> NDArray[np.int64]:
        cell = np.full(matrix.shape[0], -1, dtype=np.int64)
        cell[order] = np.arange(len(order)) * cells // len(order)
        return cell

    row_cell, column_cell = place(rows), place(columns)
    found = matrix.tocoo()
    sums = np.zeros((cells, cells))
    np.add.at(sums, (row_cell[found.row], column_cell[found.col]), found.data)
    heights, widths = (np.bincount(cell[cell >= 0], minlength=cells).astype(float) for cell in (row_cell, column_cell))
    return sums / np.maximum(np.outer(heights, widths), 1.0)


def draw_matrix(ax: Axes, relations: Relations, layer: int, labels: ArrayLike) -> list[Artist]:
    """Draw a layer, nodes sorted by block, with lines between blocks and their colours at the edge. Returns entries of
    a legend for its colours; none for edges alone.
    """
    relation, sides, N = relations.layers[layer], relations.sides, relations.N
    table = relation.block_table(np.asarray(labels), sides)
    degree = table.sources + table.targets
    rows = sort_nodes(labels, degree, None if sides is None else sides == 0)
    columns = rows if sides is None else sort_nodes(labels, degree, sides == 1)
    height, width = len(rows.order), len(columns.order)
    if not height or not width:  # all nodes are of one kind
        ax.axis("off")
        return []
    values = matrix_of(relation, sides, N)
    entries: list[Artist] = []
    image: Any = None
    extent = (0, width, height, 0)
    if N <= MOST_NODES:
        # what is not stored is no edge, though a real value may be 0
        edges = csr_array((np.ones(values.nnz), values.indices, values.indptr), shape=values.shape)
        dense, there = (part[rows.order][:, columns.order].toarray() for part in (values, edges))
        norm, colours, entries = _look(relation)
        shown = np.ma.masked_where(there == 0, dense)
        entries += _mark_unknown(ax, relation, sides, rows, columns)
        image = ax.imshow(shown, cmap=colours, norm=norm, extent=extent, zorder=1, interpolation="nearest")
    else:
        if relation.form in (REAL, LEVELS):
            values = csr_array((np.ones(values.nnz), values.indices, values.indptr), shape=values.shape)
        coarse = density(values, rows.order, columns.order)
        scale = PowerNorm(0.5, 0, max(float(coarse.max()), 1e-12))
        ax.imshow(coarse, cmap="gray_r", norm=scale, extent=extent, zorder=1)
    _draw_borders(ax, rows, columns)
    ax.set(xlim=(-0.04 * width, width), ylim=(height, 0), xticks=[], yticks=[])
    # a flat table of many columns is drawn higher
    ax.set_aspect("equal" if 0.4 < height / max(width, 1) < 2.5 else "auto")
    ax.grid(False)
    ax.spines[:].set_visible(False)
    if sides is not None:
        first, second = (plain_text(name) for name in relations.side_names)
        ax.set(ylabel=first, xlabel=second)
    elif relation.directed:
        ax.set(ylabel="source", xlabel="target")
    if image is not None and relation.form in (COUNT, REAL) and len(relation.ends):
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.5, aspect=18, pad=0.02)
        bar.set_label("count" if relation.form == COUNT else "value", fontsize=SMALLEST + 1)
        bar.ax.tick_params(labelsize=SMALLEST)
        if relation.form == COUNT:
            steps = [base * 10**power for power in range(12) for base in (1, 2, 5)]
            steps = [step for step in steps if step <= image.norm.vmax]
            # of many the powers of ten
            steps = steps if len(steps) <= 6 else steps[::3]
            bar.set_ticks(steps, labels=[f"{step:,}" for step in steps])
        bar.minorticks_off()
        bar.ax.grid(False)
    return entries


def _look(relation: Relation) -> tuple[Normalize, Colormap, list[Artist]]:
    """Scale and colours for values, and entries of a legend."""
    value = np.ones(1) if relation.value is None or not len(relation.value) else relation.value
    low, high = float(value.min()), float(value.max())
    if relation.form == BINARY:
        return Normalize(0, 1), ListedColormap(["#000000"]), []
    if relation.form == LEVELS:
        colours = [NEGATIVE, POSITIVE]
        if len(relation.levels) != 2:
            shades = LinearSegmentedColormap.from_list("levels", ["#f7d55c", "#cc4f6b", "#1d0a4a"])
            colours = [shades(x) for x in np.linspace(0, 1, len(relation.levels))]
        named = [Patch(color=c, label=plain_text(name)) for c, name in zip(colours, relation.levels, strict=True)]
        return Normalize(0.5, len(colours) + 0.5), ListedColormap(colours), [*named]
    if has_signs(relation):
        most = max(-low, high)
        return Normalize(-most, most), _SIGNED, []
    if relation.form == COUNT:
        return LogNorm(1, max(high, 2.0)), _GREY, []
    return Normalize(low, high if high > low else low + 1.0), _GREY, []


def _mark_unknown(
    ax: Axes, relation: Relation, sides: NDArray[np.int8] | None, rows: Blocks, columns: Blocks
) -> list[Artist]:
    """Mark the pairs that are unknown, and return the entry of a legend."""
    if not len(relation.unknown):
        return []
    i, j = relation.unknown.T
    if not relation.directed and sides is None:
        i, j = np.append(i, j), np.append(j, i)
    place = np.zeros((2, int(max(rows.order.max(), columns.order.max())) + 1))
    place[0, rows.order], place[1, columns.order] = np.arange(len(rows.order)), np.arange(len(columns.order))
    size = max((100.0 / max(len(rows.order), len(columns.order))) ** 2, 0.2)
    look = {"marker": "x", "color": UNKNOWN, "linewidth": min(0.8, 0.3 * size**0.5), "rasterized": True}
    ax.scatter(place[1, j] + 0.5, place[0, i] + 0.5, s=size, zorder=1.5, **look)
    return [Line2D([], [], linestyle="", marker="x", color=UNKNOWN, markersize=4, label="unknown")]


def _draw_borders(ax: Axes, rows: Blocks, columns: Blocks) -> None:
    """Draw lines between blocks, and the colours of blocks at the edge."""
    height, width = len(rows.order), len(columns.order)
    line = max(0.15, 0.6 - 0.01 * len(rows.ends))
    for end in columns.ends[:-1]:
        ax.plot([end, end], [0, height], color=BORDER, linewidth=line, zorder=2)
    for end in rows.ends[:-1]:
        ax.plot([0, width], [end, end], color=BORDER, linewidth=line, zorder=2)
    for blocks in (rows,) if columns is rows else (rows, columns):
        for rank, start, end, alone in zip(blocks.ranks, blocks.starts, blocks.ends, blocks.alone, strict=True):
            look: dict[str, Any] = {"color": ALONE if alone else style_of(rank)[0], "linewidth": 0, "zorder": 3}
            if blocks is rows:
                ax.fill_between([-0.035 * width, -0.01 * width], start, end, clip_on=False, **look)
            else:
                ax.fill_between([start, end], -0.035 * height, -0.01 * height, clip_on=False, **look)


def number_blocks(ax: Axes, relations: Relations, labels: ArrayLike, numbers: list[str]) -> None:
    """Write numbers of clusters, in the order of their sizes, next to the blocks that are high or wide enough."""
    sides, flat = relations.sides, np.zeros(relations.N)
    sets = [(ax.set_yticks, None if sides is None else sides == 0)]
    sets += [] if sides is None else [(ax.set_xticks, sides == 1)]
    for set_ticks, chosen in sets:
        blocks = sort_nodes(labels, flat, chosen)
        wide = np.flatnonzero(blocks.ends - blocks.starts >= NARROWEST * len(blocks.order))
        middles = (blocks.starts + blocks.ends)[wide] / 2
        set_ticks(middles, [numbers[blocks.ranks[k]] for k in wide.tolist()], fontsize=SMALLEST + 1)
    ax.tick_params(axis="both", length=0, pad=1)
    if sides is not None:
        ax.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False, pad=5)
