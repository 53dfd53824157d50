"""How uncertain the clusters of a run are: co-clustering, the credible ball, the number of clusters."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.analysis.plots import races, style
from splitmerge_cli.analysis.plots.style import FULL, HALF, colour_of, footnote, plain_text
from splitmerge_cli.diagnostics import point_estimate, similarity
from splitmerge_cli.diagnostics.cluster_table import number_clusters, plural_of, shorten
from splitmerge_cli.diagnostics.summary import second_half
from splitmerge_cli.runs import answers, grouping, initial
from splitmerge_cli.runs.store import schema
from splitmerge_cli.runs.store.read import Run

BORDER = "#D55E00"
MOST_NUMBERS = 12
"""A block has a number where both of its clusters have at least one in so many of the items."""
LEAST_NUMBER = 0.005
"""Probability below which it has none."""
MOST_NAMES = 90
"""Number of items up to which their names are next to the matrix."""
NAME = 22
"""Letters of such a name."""
NARROWEST = 0.025
"""Least share of the items with which a cluster has its number below it; next to a panel twice as much."""
LEAST_PART = 0.1
"""Least share of a cluster's items that another has where it takes the name of the other."""
MOST_ROWS = 12
"""Number of items whose rows are next to the matrix."""
BOUNDS = {"vertical_upper": "fewest clusters", "vertical_lower": "most clusters", "horizontal": "furthest"}


def can_draw(run: Run) -> bool:
    """Whether a finished run lists the clusters of its items and a credible ball around them."""
    return bool(run.is_done and run.summary.get("credible_ball") and "labels" in run.summary["point_estimate"])


def co_clustering(run: Run) -> Figure:
    """Draw the posterior probability of every two items being in one cluster, items ordered by the point estimate;
    where the run does not hold the whole matrix, its mean over the clusters of the point estimate."""
    labels, items = np.array(run.summary["point_estimate"]["labels"]), plural_of(grouping.nouns(run.summary)[0])
    figure, ax = plt.subplots(figsize=(5.4, 4.7))
    drawn: Any = None
    order, ends = style.order_items(labels, run.clusters()["certainty"])
    N = len(labels)
    if run.has_similarity:
        pairs = run.similarity(["row", "other", "probability"])
        place = np.empty(N, np.int64)
        place[order] = np.arange(N)
        shown = np.eye(N)
        a, b = place[pairs["row"] - 1], place[pairs["other"] - 1]
        shown[a, b] = shown[b, a] = pairs["probability"]
        drawn = ax.imshow(shown, cmap="gray_r", vmin=0, vmax=1, extent=(0, N, N, 0), interpolation="nearest")
        caption = f"Each cell is a pair of {items}"
    else:
        drawn, _, _ = _draw_means(ax, answers.sampled_partitions(run), labels)
        caption = f"Each block is the mean over pairs of {items} from two clusters"
    _outline(ax, ends)
    names = run.clusters().get("name")
    if names is not None and N <= MOST_NAMES:
        # at the left, in a figure that is high enough for them; a page is higher than wide
        figure.set_figheight(max(figure.get_figheight(), 1.3 + 0.088 * N))
        figure.set_figwidth(min(FULL, max(figure.get_figwidth(), 1.9 + 0.088 * N)))
        ax.set_aspect("auto")
        ax.set_yticks(np.arange(N) + 0.5, [plain_text(shorten(str(names[i]), NAME)) for i in order], fontsize=6)
        ax.tick_params(axis="y", length=0, pad=2)
    else:
        places = races.thinned_rows(N, MOST_ROWS)
        ax.set_yticks(places + 0.5, [f"{row}" for row in run.clusters()["row"].to_numpy()[order[places]]])
        ax.set_ylabel(f"row in clusters.csv ({items} are sorted by cluster)")
    _name_blocks(ax.xaxis, ends, style.numbers_by_size(run, labels), NARROWEST * N)
    ax.set_xlabel("cluster")
    bar = figure.colorbar(drawn, ax=ax, shrink=0.8, pad=0.02)
    bar.set_label("probability of being in one cluster")
    ax.set_title(f"Which {items} belong together: {races.subject(run)}")
    footnote(
        figure,
        f"{caption}. Lines: the {grouping.count_listed(labels, run.summary)} of the point estimate, the\n"
        f"largest first; rows and numbers as in clusters.csv. In a cluster the most certain {items} come first.",
    )
    return figure


def credible_ball(run: Run, x: NDArray[np.float64] | None = None) -> Figure:
    """Draw the point estimate and the extremes of its credible ball: the items at places `x` ``[N, 2]``, or without
    these means of co-clustering over the clusters of each.
    """
    summary = run.summary
    ball, estimate = summary["credible_ball"], summary["point_estimate"]
    listed = np.array(estimate["labels"])
    numbers = number_clusters(listed, run.first_cluster)
    words = dict(enumerate(grouping.name_clusters(listed, summary, run.first_cluster), run.first_cluster))
    items = plural_of(grouping.nouns(summary)[0])
    shown = [("point estimate", estimate)]
    shown += [(f"{name} (distance {ball[key]['distance']:.2f})", ball[key]) for key, name in BOUNDS.items()]
    figure, axes = plt.subplots(2, 2, figsize=(FULL, 6.2))
    sampled = None if x is not None else answers.sampled_partitions(run)
    drawn: Any = None
    for k, (ax, (name, partition)) in enumerate(zip(axes.flat, shown, strict=True)):
        labels = np.array(partition["labels"])
        if x is not None:
            style.scatter(ax, x, labels, 8.0, looks=_looks_of_parts(run, labels, listed))
            ax.grid(False)
            names = initial.dataset_of(run).column_titles
            ax.set(xlabel=plain_text(names[0]) if k > 1 else "", ylabel=plain_text(names[1]) if k % 2 == 0 else "")
        else:
            assert sampled is not None
            drawn = _blocks(ax, sampled, labels, numbers, words)
            ax.set_ylabel("cluster" if k % 2 == 0 else "")
        ax.set_title(f"{name[0].upper()}{name[1:]}:\n{grouping.count_listed(labels, summary)}")
    if drawn is not None:
        figure.colorbar(drawn, ax=axes, shrink=0.6, pad=0.04).set_label("mean probability of being in one cluster")
    figure.suptitle(f"The credible ball, how far the clusters may differ: {races.subject(run)}", x=0.01, ha="left")
    footnote(
        figure,
        f"Credible ball of level {ball['level']:g}: the partitions within a variation of information of "
        f"{ball['radius']:.2f} nats of the point estimate hold {ball['share']:.1%} of {ball['partitions']:,} sampled "
        "ones. The name of a cluster: the clusters of the point estimate (numbers as in clusters.csv) that hold at "
        f"least a tenth of its {items}; several of one name are 1.1, 1.2, ..., the largest first.\n"
        + (
            f"Colours: the cluster of the point estimate that holds most of the {items}; its parts have other marks. "
            "Crosses: points alone."
            if x is not None
            else f"Blocks: clusters, the largest first, as wide as their number of {items}; with the mean probability "
            f"from {LEAST_NUMBER:g} on, where both clusters have at least 1 in {MOST_NUMBERS} {items}."
        ),
    )
    if x is not None:
        figure.canvas.draw()
        for ax, (_, partition) in zip(axes.flat, shown, strict=True):
            style.write_numbers(ax, x, partition["labels"], name_parts(partition["labels"], numbers, words))
    return figure


def _looks_of_parts(run: Run, labels: NDArray[np.int64], estimate: NDArray[np.int64]) -> dict[int, tuple[str, str]]:
    """Choose colours and markers for clusters by number: the colour of the estimated cluster that holds most of the
    items, the marker for the largest such part."""
    of_estimate, is_apart = style.looks_of(run, estimate), grouping.rows_apart(estimate, run.summary)
    looks, parts = {}, Counter[int]()
    for items in style.by_size(labels):
        whole = int(np.bincount(estimate[items]).argmax())
        colour, marker = of_estimate[whole]
        if is_apart is None or not is_apart[estimate == whole].any():
            marker = style.MARKERS[(style.MARKERS.index(marker) + parts[whole]) % len(style.MARKERS)]
        looks[int(labels[items[0]])] = colour, marker
        parts[whole] += 1
    return looks


def name_parts(labels: ArrayLike, numbers: NDArray[np.int64], words: Mapping[int, str]) -> list[str]:
    """Name the clusters of a partition, the largest first, by the clusters of the point estimate, whose `numbers`
    ``[N]`` people read as these `words`, with a share of at least `LEAST_PART` of their items."""
    names = []
    for items in style.by_size(labels):
        counts = np.bincount(numbers[items])
        held = np.flatnonzero(counts >= LEAST_PART * len(items))
        names.append("+".join(words.get(k, str(k)) for k in held[:3].tolist()) + "+…" * (len(held) > 3))
    return [f"{n}.{names[: k + 1].count(n)}" if names.count(n) > 1 else n for k, n in enumerate(names)]


def n_clusters(run: Run) -> Figure:
    """Draw the posterior of the number of clusters, as a result's first line counts them: for all chains, for each."""
    clusters = plural_of(grouping.nouns(run.summary)[1])
    # of each chain's second half, without outliers where the interval leaves them out; one series where clusters are
    # joined
    if run.summary.get(schema.OUTLIERS_APART):
        joined = answers.joined_partitions(run)
        by_chain = answers.second_half_partitions(run.path, run.summary["N"], run.summary["iterations"])
        counted = by_chain.values() if joined is None else [joined]
        sizes_of = partial(grouping.row_sizes, run.summary)
        series = [np.array([point_estimate.count_larger(row, sizes_of(row)) for row in rows]) for rows in counted]
    else:
        series = list(second_half(run.trace(["chain", "iteration", "n_clusters"]))["n_clusters"].astype(np.int64))
    values = np.arange(min(map(np.min, series)), max(map(np.max, series)) + 1)
    figure, ax = plt.subplots(figsize=(HALF, 2.7))
    share = np.array([[(chain == k).mean() for k in values] for chain in series])
    colour = colour_of(races.option(run, "sampler"))
    ax.bar(values, share.mean(axis=0), width=0.8, color=colour, alpha=0.45, label="all chains")
    if len(series) > 1:
        for of_chain in share:
            ax.plot(values, of_chain, ".", color="#222222", markersize=3.5, label="each chain", zorder=4)
        handles, names = ax.get_legend_handles_labels()
        ax.legend([handles[-1], handles[0]], [names[-1], names[0]], fontsize=7)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    # one bar is as narrow as one of several
    limits = (values[0] - 0.6, values[-1] + 0.6) if len(values) > 2 else (values[0] - 1.6, values[-1] + 1.6)
    ax.set(xlabel=clusters, ylabel="posterior probability", xlim=limits, ylim=(0, None))
    ax.set_title(f"Number of {clusters}:\n{races.subject(run)}")
    return figure


def _blocks(
    ax: Axes,
    sampled: NDArray[np.int32],
    labels: NDArray[np.int64],
    numbers: NDArray[np.int64],
    words: Mapping[int, str],
) -> Any:
    """Mean co-clustering between the clusters of a partition, and its values; `numbers`, `words` as of `name_parts`."""
    drawn, means, edges = _draw_means(ax, sampled, labels)
    ax.set_xticks([])
    _name_blocks(ax.yaxis, edges[1:], name_parts(labels, numbers, words), 2 * NARROWEST * len(labels))
    _outline(ax, edges[1:])
    wide, middles = np.flatnonzero(np.diff(edges) >= len(labels) / MOST_NUMBERS), (edges[:-1] + edges[1:]) / 2
    for a, b in product(wide, wide):
        if (mean := means[a, b]) >= LEAST_NUMBER:
            colour = "white" if mean > 0.55 else "#222222"
            ax.text(middles[b], middles[a], f"{mean:.2f}", ha="center", va="center", fontsize=6.5, color=colour)
    return drawn


def _draw_means(
    ax: Axes, sampled: NDArray[np.int32], labels: NDArray[np.int64]
) -> tuple[Any, NDArray[np.float64], NDArray[np.int64]]:
    """Draw mean co-clustering between clusters, each as wide as it has items; the drawing, the means, the edges."""
    order, ends = style.order_items(labels)
    by_rank = np.empty(len(labels), np.int64)
    by_rank[order] = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    means, edges = similarity.block_means(sampled, by_rank), np.concatenate([[0], ends])
    drawn = ax.pcolormesh(edges, edges, means, cmap="gray_r", vmin=0, vmax=1)
    ax.set(ylim=(len(labels), 0), aspect="equal")
    return drawn, means, edges


def _name_blocks(axis: Axis, ends: NDArray[np.int64], names: Sequence[str], least: float) -> None:
    """Names at the middle of the blocks that have at least so many items."""
    begins = np.concatenate([[0], ends[:-1]])
    wide = np.flatnonzero(ends - begins >= least)
    axis.set_ticks((begins + ends)[wide] / 2, [names[k] for k in wide.tolist()])
    axis.set_tick_params(length=0)


def _outline(ax: Axes, ends: NDArray[np.int64]) -> None:
    """Lines around the blocks of the clusters on the diagonal."""
    ax.grid(False)
    start = 0
    width = max(0.3, 1.0 - 0.01 * len(ends))
    for end in ends.tolist():
        x, y = [start, end, end, start, start], [start, start, end, end, start]
        ax.plot(x, y, color=BORDER, linewidth=width, zorder=3, clip_on=False)
        start = end
