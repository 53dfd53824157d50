"""Tables of many columns and the clusters found in them: pairs of the columns that differ most, projections, a map of
columns by cluster: means and shares, coloured by their distance from all items."""

from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from scipy.sparse import issparse

from splitmerge_cli.analysis.plots import style
from splitmerge_cli.analysis.plots.races import state_of, subject
from splitmerge_cli.diagnostics.cluster_table import number, plural_of
from splitmerge_cli.kinds.tables.columns import BY_LEVEL, Numbers, Statistics, named_columns, statistics
from splitmerge_cli.kinds.tables.plots.points import UNSURE
from splitmerge_cli.runs.grouping import has_units, name_clusters, nouns, row_sizes, total_size
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run

PAIRED = 4
"""Columns that are drawn against each other."""
MOST_POINTS = 5_000
"""Items that are drawn; of more every n-th."""
MOST_ROWS = 20_000
"""Most items of which directions are computed: every n-th."""
MOST_COLUMNS = 1_000
"""Most columns of which directions are computed: the ones of largest variance."""
MOST_KEYS = 18
"""Clusters in a legend."""
NAMED = 3
"""Columns that are named of a direction."""
NAME = 34
"""Most letters of a column's name on an axis."""
SHORT = 17
"""Letters of such a name among several."""
SHRINKAGE = 0.05
"""Share of the identity in the covariance within clusters."""

MOST_CLUSTERS = 40
"""Clusters that are drawn: the largest."""
MOST_FEATURES = 56
"""Features that are drawn."""
MOST_NUMBERS = 11
"""Clusters up to which the means are written into the map."""
NAME_BESIDE = 38
"""Most letters of a column's name beside the map."""
LIMIT = 2.0
"""Standard deviations at the ends of the colours."""
BELOW = -0.5
"""Standard deviations below which a cell is hatched: both ends of the colours are alike in grey."""
HATCH: dict[str, Any] = {"facecolor": "none", "edgecolor": "#FFFFFF90", "hatch": "//////", "linewidth": 0.0}
LUMINANCE = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the lightness of a colour."""
_SCALE = LinearSegmentedColormap.from_list("below and above", ["#2B5C9E", "#9DBBDD", "#FFFFFF", "#F3B48A", "#C4511A"])


@dataclass(frozen=True)
class Found:
    """The drawn part of a run: some of its items, their clusters, and statistics of all items."""

    dataset: Any
    known: Statistics
    rows: NDArray[np.int64]
    """int64 ``[n]``: the items that are drawn."""
    labels: NDArray[np.int64]
    """int64 ``[N]``."""
    unsure: NDArray[np.bool_]
    """bool ``[N]``: items of a certainty below `UNSURE`."""
    alone: NDArray[np.bool_]
    """bool ``[N]``: items that are alone in their cluster."""
    looks: dict[int, tuple[str, str]]
    """Colour and marker of every cluster, the largest first."""
    names: list[str]
    """Name of each cluster."""

    @classmethod
    def from_run(cls, run: Run) -> "Found":
        """Read a finished run; its data are loaded again."""
        dataset = dataset_of(run).original
        labels = np.array(run.summary["point_estimate"]["labels"])
        certainty = run.clusters()["certainty"].to_numpy(dtype=float)
        looks, names = style.looks_of(run, labels), name_clusters(labels, run.summary, run.first_cluster)
        alone = (np.bincount(labels) == 1)[labels]
        rows = evenly(len(labels), MOST_POINTS)
        return cls(dataset, statistics(dataset, labels), rows, labels, certainty < UNSURE, alone, looks, names)

    def marks_at(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Labels of some items, and whether each is unsure, alone."""
        return self.labels[rows], self.unsure[rows], self.alone[rows]

    @property
    def drawn_note(self) -> str:
        """The number of drawn items, if it is not all."""
        return "" if len(self.rows) == len(self.labels) else f" {len(self.rows):,} of {len(self.labels):,} rows."


def evenly(n: int, most: int) -> NDArray[np.int64]:
    """Choose at most `most` of the n numbers from 0, evenly spaced."""
    return np.arange(0, n, -(-n // most))


def can_draw(run: Run) -> bool:
    """Whether a run is finished and its items are rows with three columns or more, or not of numbers alone."""
    if not run.is_done or "labels" not in run.summary["point_estimate"]:
        return False
    dataset = dataset_of(run)
    # two columns of points have a picture of their own
    return "points" not in dataset.kind.pictures or dataset.values.shape[1] > 2


def can_pair(run: Run) -> bool:
    """Whether two or more columns of such a table are numbers."""
    return can_draw(run) and len(_numeric(Found.from_run(run).known)) > 1


def _numeric(known: Statistics) -> list[int]:
    """Columns of numbers that are not constant."""
    first = np.searchsorted(known.column, np.arange(len(known.columns)))
    return [j for j, type in enumerate(known.types) if type in ("real", "count") and known.deviation[first[j]] > 0]


def choose_columns(drawn: Found) -> list[int]:
    """Columns of numbers that are drawn against each other, `PAIRED` at most: first the columns that the summary names,
    the largest cluster first, then the columns of largest mean divergence."""
    numeric, order = _numeric(drawn.known), list(drawn.looks)
    ranked = [*named_columns(drawn.known, order), *np.argsort(-drawn.known.telling, kind="stable").tolist()]
    return [j for j in dict.fromkeys(ranked) if j in numeric][:PAIRED]


def column(dataset: Any, j: int, rows: NDArray[np.int64]) -> Numbers:
    """Cells of one column, float64 ``[n]``."""
    if issparse(dataset.values):
        return np.asarray(dataset.values[rows][:, [j]].toarray()[:, 0], dtype=np.float64)
    return np.asarray(dataset.values[rows, j], dtype=np.float64)


def pairs(run: Run) -> Figure:
    """Draw the columns that the summary names against each other, and each by cluster."""
    drawn_part = Found.from_run(run)
    chosen = choose_columns(drawn_part)
    n = len(chosen)
    labels, unsure, alone = drawn_part.marks_at(drawn_part.rows)
    every = style.shorten_names(drawn_part.known.titles, NAME)
    names = [every[j] for j in chosen]
    cells = [column(drawn_part.dataset, j, drawn_part.rows) for j in chosen]
    # whole numbers move by up to a quarter, the same at every call: equal ones would cover each other
    moved = np.random.default_rng(0).uniform(-0.25, 0.25, len(drawn_part.rows))
    drawn = [x + moved if drawn_part.known.types[j] == "count" else x for x, j in zip(cells, chosen, strict=True)]
    side = style.FULL / n
    figure, axes = plt.subplots(n, n, figsize=(style.FULL, n * side * 0.86 + 0.5), squeeze=False, sharex="col")
    for a in range(n):
        for b in range(n):
            ax = axes[a, b]
            ax.grid(False)
            if b > a:
                ax.axis("off")
            elif a == b:
                present = ~np.isnan(cells[a])
                edges = np.histogram_bin_edges(cells[a][present], bins=24)
                below = np.zeros(len(edges) - 1)
                for cluster, (of_cluster, _) in drawn_part.looks.items():
                    inside = labels == cluster
                    colour = style.ALONE if alone[inside].any() else of_cluster
                    held, _ = np.histogram(cells[a][present & inside], edges)
                    ax.stairs(below + held, edges, baseline=below, fill=True, color=colour, edgecolor="white", lw=0.3)
                    below += held
                ax.set(yticks=[], ylim=(0, None))
                ax.spines["left"].set_visible(False)
            else:
                both = ~np.isnan(cells[a]) & ~np.isnan(cells[b])
                points = np.column_stack([drawn[b], drawn[a]])[both]
                style.scatter(ax, points, labels[both], 9.0, unsure[both], drawn_part.looks, alone[both])
            ax.xaxis.set_major_locator(MaxNLocator(4, integer=drawn_part.known.types[chosen[b]] == "count"))
            # numbers that are short without powers of ten
            plain = all(1e-3 <= np.nanmax(np.abs(x)) < 1e6 for x in (cells[b], cells[a]))
            ax.ticklabel_format(style="plain" if plain else "sci")
            ax.label_outer()
            if a == n - 1:
                ax.set_xlabel(style.plain_text(names[b]))
            if b == 0 and a > 0:
                ax.set_ylabel(style.plain_text(names[a]))
    figure.suptitle(f"Columns in which the clusters differ most: {subject(run)}", x=0.01, ha="left")
    _keys(axes[0, n - 1], drawn_part)
    gaps = sum(int(np.isnan(x).sum()) for x in cells)
    style.footnote(
        figure,
        'Columns of numbers: first those that the summary names ("differs most in"), the largest cluster\'s first. '
        f"Diagonal: rows by cluster, stacked, the largest at the bottom.{drawn_part.drawn_note}{_marks(drawn_part)}"
        + state_of(run)
        + (f" Rows without a value are left out ({gaps} cells)." if gaps else ""),
    )
    return figure


def _marks(drawn: Found) -> str:
    """Meaning of crosses and open marks, where there are any."""
    open_marks = f" Open marks: certainty below {UNSURE:g}." if drawn.unsure.any() else ""
    return open_marks + (" Crosses: alone in a cluster." if drawn.alone.any() else "")


def _keys(ax: Axes, drawn: Found) -> None:
    """Clusters and their sizes, as ``clusters.csv`` numbers them, where the panel is free."""
    sizes = np.bincount(drawn.labels)
    order = [k for k in drawn.looks if sizes[k] > 1]
    handles = []
    for cluster in order[:MOST_KEYS]:
        colour, marker = drawn.looks[cluster]
        name = drawn.names[cluster]
        label = f"{'cluster ' * name.isdigit()}{name}: {sizes[cluster]:,}"
        handles.append(style.entry(color=colour, marker=marker, linestyle="", markersize=4, label=label))
    if (more := len(order) - MOST_KEYS) > 0:
        handles.append(style.entry(linestyle="", label=f"{more} smaller ones"))
    if alone := int((sizes == 1).sum()):
        label = f"{alone} of one row"
        handles.append(style.entry(color=style.ALONE, marker="x", linestyle="", markersize=4, label=label))
    columns = 1 if len(handles) <= 9 else 2
    ax.legend(handles=handles, loc="upper right", fontsize=6.5, ncols=columns, title="rows", handlelength=0.8)
    ax.get_legend().get_title().set_fontsize(7)  # type: ignore[union-attr]


@dataclass(frozen=True)
class Directions:
    """Two directions in the space of standardised columns: items along them, ``[n, 2]``; the share of the variance (of
    the means of the clusters) that lies along each; and correlations of the columns with the places, ``[2, F]``."""

    places: Numbers
    shares: Numbers
    loadings: Numbers


def standardise(drawn: Found) -> tuple[Numbers, list[str]]:
    """Return the features of a table with mean 0 and variance 1, 0 where a cell is missing, ``[rows, F]``; and names.

    Levels of a categorical column have a total variance of their number less 1, as in an analysis of mixed data.
    """
    known, dataset = drawn.known, drawn.dataset
    rows = evenly(len(drawn.labels), MOST_ROWS)
    widest = np.arange(len(known.column))
    if len(widest) > MOST_COLUMNS:
        widest = np.sort(np.argsort(-known.deviation, kind="stable")[:MOST_COLUMNS])
    parts, names = [], []
    place = {name: j for j, name in enumerate(dataset.column_names)}
    for f in widest[known.deviation[widest] > 0]:
        j, level = int(known.column[f]), known.level[f]
        type = known.types[j]
        # statistics may be of the widest columns alone
        position = place.get(known.columns[j], j) if len(known.columns) < dataset.values.shape[1] else j
        x = column(dataset, position, rows)
        if type in BY_LEVEL:
            x = np.where(np.isnan(x), np.nan, x == dataset.types[j].levels.index(level))
        scale = np.sqrt(known.overall[f]) if type in BY_LEVEL else known.deviation[f]
        parts.append(np.nan_to_num((x - known.overall[f]) / scale))
        names.append(known.titles[j] if type in ("real", "count") else f"{known.columns[j]}={level}")
    return np.column_stack(parts), style.shorten_names(names, SHORT)


def principal(x: Numbers) -> Directions:
    """Directions of largest variance."""
    x = x - x.mean(axis=0)
    variances, vectors = np.linalg.eigh(x.T @ x / len(x))
    order = np.argsort(-variances)[:2]
    return _project(x, vectors[:, order], variances[order] / max(variances.sum(), 1e-300))


def discriminating(x: Numbers, labels: NDArray[np.int64]) -> Directions:
    """Directions in which the means of clusters differ most, in units of the spread within (Fisher's).

    Two clusters have one direction; the second is the direction of largest variance within them.
    """
    x = x - x.mean(axis=0)
    clusters = [items for items in style.by_size(labels) if len(items) > 1]
    means = np.stack([x[items].mean(axis=0) for items in clusters])
    sizes = np.array([len(items) for items in clusters], dtype=float)
    rest = np.concatenate([x[items] - mean for items, mean in zip(clusters, means, strict=True)])
    within = rest.T @ rest / len(rest)
    within = (1 - SHRINKAGE) * within + SHRINKAGE * np.eye(len(within)) * max(np.trace(within) / len(within), 1e-12)
    values, vectors = np.linalg.eigh(within)
    whiten = vectors / np.sqrt(values) @ vectors.T
    centred = (means - sizes @ means / sizes.sum()) @ whiten * np.sqrt(sizes / sizes.sum())[:, None]
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    variances = singular**2
    shares = variances / max(variances.sum(), 1e-300)
    if len(clusters) > 2 and len(singular) > 1 and shares[1] > 1e-9:
        return _project(x, whiten @ directions[:2].T, shares[:2])
    first = directions[:1]
    remainder = rest @ whiten
    remainder = remainder - remainder @ first.T @ first
    second = np.linalg.svd(remainder, full_matrices=False)[2][:1]
    return _project(x, whiten @ np.concatenate([first, second]).T, np.array([1.0, 0.0]))


def _project(x: Numbers, vectors: Numbers, shares: Numbers) -> Directions:
    # the sign of a direction is free: the largest entry is positive
    largest = np.argmax(np.abs(vectors), axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
    places = x @ vectors
    scale = np.outer(places.std(axis=0), x.std(axis=0))
    loadings = (places - places.mean(axis=0)).T @ x / len(x) / np.where(scale > 0, scale, np.inf)
    return Directions(places, shares, loadings)


def projection(run: Run) -> Figure:
    """Draw all items along the directions of largest variance, and along those that discriminate the clusters."""
    drawn = Found.from_run(run)
    x, names = standardise(drawn)
    rows = evenly(len(drawn.labels), MOST_ROWS)
    labels, unsure, alone = drawn.marks_at(rows)
    shown = evenly(len(rows), MOST_POINTS)
    panels = [("Principal components", "component", principal(x), "of variance")]
    if (np.bincount(labels) > 1).sum() > 1:
        panels += [("Directions that separate the clusters", "direction", discriminating(x, labels), "of separation")]
    size = (style.FULL, 4.1) if len(panels) > 1 else (5.4, 5.0)
    figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False)
    figure.suptitle(f"All {len(drawn.known.columns):,} columns: {subject(run)}", x=0.01, ha="left")
    style.footnote(
        figure,
        "Standardised columns; each axis names the columns of largest correlation with it, + or −. Numbers: clusters, "
        f"as in clusters.csv.{drawn.drawn_note}{_marks(drawn)}{state_of(run)} "
        "With many columns, directions that separate clusters show them further apart than they are.",
    )
    for ax, (title, word, found_here, of_what) in zip(axes[0], panels, strict=True):
        places = found_here.places[shown]
        style.scatter(ax, places, labels[shown], 9.0, unsure[shown], drawn.looks, alone[shown])
        ax.grid(False)
        ax.set_title(title)
        within = of_what == "of separation" and found_here.shares[1] == 0
        for axis, axis_index in (("x", 0), ("y", 1)):
            share = f"{word} {axis_index + 1}, {found_here.shares[axis_index]:.0%} {of_what}"
            label = "variance within clusters" if within and axis_index == 1 else share
            # the columns of largest correlation, with their signs
            loadings = found_here.loadings[axis_index]
            order = np.argsort(-np.abs(loadings), kind="stable")[:NAMED]
            terms = [f"{'+' if loadings[j] >= 0 else '−'} {names[j]}" for j in order if loadings[j]]
            ax.set(**{f"{axis}label": f"{label}\n{style.plain_text('  '.join(terms))}"})
            getattr(ax, f"{axis}axis").label.set_fontsize(6.5)
    figure.canvas.draw()
    for ax, (_, _, found_here, _) in zip(axes[0], panels, strict=True):
        style.write_numbers(ax, found_here.places, labels, style.numbers_by_size(run, labels))
    return figure


def rows_of(known: Statistics, clusters: NDArray[np.int64], most_rows: int = MOST_FEATURES) -> NDArray[np.int64]:
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
    ordered = [int(labels[items[0]]) for items in style.by_size(labels)]
    clusters = np.array(ordered[:MOST_CLUSTERS])
    chosen = rows_of(known, clusters)
    names, means, far, are_shares = _map_rows(known, chosen, clusters)
    K, R = len(clusters), len(names)
    written = K <= MOST_NUMBERS
    across = min(style.FULL, 3.8 + 0.45 * K) if written else style.FULL
    size, ratios = (across, min(9.4, 1.85 + 0.165 * max(R, 3))), [0.5, max(0.165 * R, 0.3), 0.09]
    figure, (top, ax, below) = plt.subplots(3, 1, figsize=size, height_ratios=ratios)
    held = np.ma.masked_invalid(far)
    image = ax.imshow(held, cmap=_SCALE, vmin=-LIMIT, vmax=LIMIT, aspect="auto", interpolation="nearest")
    ax.set_facecolor("#E4E4E4")
    ax.set_yticks(range(R), [style.plain_text(name) for name in style.shorten_names(names, NAME_BESIDE)], fontsize=6.5)
    turned = 0 if K <= 25 else 90
    cluster_names = name_clusters(labels, run.summary, run.first_cluster)
    fontsize = 6.5 if K <= 30 else style.SMALLEST
    ax.set_xticks(range(K), [cluster_names[k] for k in clusters], fontsize=fontsize, rotation=turned)
    ax.set_xlabel("cluster")
    ax.grid(False)
    ax.tick_params(length=0)
    ax.hlines(np.arange(R + 1) - 0.5, -0.5, K - 0.5, color="white", linewidth=0.6)
    ax.vlines(np.arange(K + 1) - 0.5, -0.5, R - 0.5, color="white", linewidth=0.6)
    ax.spines[:].set_visible(False)
    _write(ax, are_shares, means, far, written)
    sizes = np.bincount(labels, row_sizes(run.summary, whole=True))[clusters].round().astype(np.int64)
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
    if len(chosen) < R:
        notes.append("A column with one number in many cells has two rows: its share, and the mean of the other cells.")
    if (hidden := len(known.column) - len(chosen)) > 0:
        notes.append(f"{hidden:,} rows in which the clusters differ less are left out.")
    if (hidden := len(ordered) - K) > 0:
        notes.append(f"{hidden:,} smaller clusters are left out.")
    if np.isnan(far).any():
        notes.append("Grey: the cluster has no such cells.")
    style.footnote(figure, " ".join(notes) + state_of(run), round(style.LINE * across / style.FULL))
    return figure


def _map_rows(
    known: Statistics, features: NDArray[np.int64], clusters: NDArray[np.int64]
) -> tuple[list[str], Numbers, Numbers, list[bool]]:
    """Names of the map's rows, their means and standardised means by cluster, ``[rows, K]``, and which of them are
    shares: a row for each feature, and two for the parts of a column with a spike."""
    whole, made = known.standardised_means, list[tuple[str, Numbers, Numbers, bool]]()
    for f in features:
        parts = known.spiked.get(int(known.column[f]))
        if parts is None:
            made.append((_name(known, f), known.mean[clusters, f], whole[clusters, f], known.level[f] is not None))
            continue
        for name, part in zip((f"{parts.columns[0]}={parts.level[0]}", parts.titles[1]), range(2), strict=True):
            made.append((name, parts.mean[clusters, part], parts.standardised_means[clusters, part], part == 0))
    shape = len(made), len(clusters)
    means, far = (np.reshape(numbers, shape) for numbers in ([row[1] for row in made], [row[2] for row in made]))
    return [row[0] for row in made], means, far, [row[3] for row in made]


def _name(known: Statistics, f: int) -> str:
    level, j = known.level[f], known.column[f]
    alone = level is None or (known.types[j] == "binary" and level == "1")
    return known.titles[j] if alone else f"{known.columns[j]}={level}"


def _write(ax: Axes, are_shares: list[bool], means: Numbers, far: Numbers, written: bool) -> None:
    """Write the means, and hatch the cells far below the mean of all."""
    for r, k in np.ndindex(*means.shape):
        if np.isnan(means[r, k]):
            continue
        if hatched := far[r, k] < BELOW:
            ax.add_patch(Rectangle((k - 0.5, r - 0.5), 1, 1, **HATCH))
        if written:
            text = f"{means[r, k]:.0%}" if are_shares[r] else number(float(f"{means[r, k]:.3g}")).replace("-", "−")
            cell = _SCALE((far[r, k] / LIMIT + 1) / 2)
            colour = "white" if np.dot(cell[:3], LUMINANCE) < 0.48 else "#222222"
            # lines of a hatch would cross the letters
            look: dict[str, Any] = {"path_effects": [withStroke(linewidth=3.4, foreground=cell)]} if hatched else {}
            ax.text(k, r, text, ha="center", va="center", fontsize=style.SMALLEST, color=colour, **look)


def _sizes(ax: Axes, sizes: NDArray[np.int64], counted: str) -> None:
    """Sizes of the clusters, by what is counted, above the map, in the colours of the other pictures."""
    turned = len(sizes) > 14 and int(sizes.max()) > 99
    look: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": style.SMALLEST, "rotation": 90 if turned else 0}
    for rank, size in enumerate(sizes):
        ax.bar(rank, size, width=0.72, color=style.style_of(rank)[0])
        ax.annotate(f"{size:,}", (rank, size), (0, 1.5), textcoords="offset points", **look)
    ax.set(yticks=[], ylim=(0, 1.45 * sizes.max()))
    ax.set_ylabel(counted, fontsize=6.5, rotation=0, ha="right", va="center")
    ax.grid(False)
    ax.set_xticks([])
    ax.spines["left"].set_visible(False)
