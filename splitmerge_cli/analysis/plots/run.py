"""The pictures of one run: what they answer, in the order in which they are shown."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from pkgutil import resolve_name
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.cluster import hierarchy

from splitmerge_cli import config, received
from splitmerge_cli.analysis.alternatives import dendrogram_of
from splitmerge_cli.analysis.plots import races, uncertainty
from splitmerge_cli.analysis.plots.races import Picture, option, subject, thinned_rows
from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, colour_of, draw_in_fonts, footnote, narrow
from splitmerge_cli.data.dataset import Kind, kinds
from splitmerge_cli.diagnostics.cluster_table import count_of, number_clusters, plural_of
from splitmerge_cli.runs import answers, grouping, initial
from splitmerge_cli.runs.store.read import Run

MOST_LEAVES = 40
"""Most leaves. With more clusters the level with so many is drawn."""
ROW = 0.19
"""Height of a leaf, in inches."""
NUMBER: dict[str, Any] = {
    "va": "center",
    "fontsize": 6.5,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.8},
}


def has_levels(run: Run) -> bool:
    """Whether a finished run lists at least two clusters of its items, and partitions to compare them with."""
    if answers.answers_of(answers.kind_of(run)).no_levels or not uncertainty.can_draw(run):
        return False
    labels = np.array(run.summary["point_estimate"].get("labels", ()))
    is_apart = grouping.rows_apart(labels, run.summary)
    return len(np.unique(labels if is_apart is None else labels[~is_apart])) > 1


def dendrogram(run: Run) -> Figure:
    """Draw how clusters are merged, over the expected distance from the posterior."""
    levels = dendrogram_of(run)
    K = levels.n_clusters
    begun = max(0, K - MOST_LEAVES)
    # merging may bring a partition nearer, and lines do not go back
    height = np.maximum.accumulate(levels.expected_loss)
    members: list[list[int]] = [[k] for k in range(K)]
    for a, b in levels.merges:
        members.append(members[a] + members[b])
    # the number of a merge stands for its height, which others may have, too
    links = np.column_stack([levels.merges, np.arange(1, K), list(map(len, members[K:]))]).astype(np.float64)
    tree = hierarchy.dendrogram(links, MOST_LEAVES, "lastp", no_plot=True)
    order = tree["leaves"]
    figure, ax = plt.subplots(figsize=(FULL * 0.8, 1.6 + ROW * len(order)))
    colour = colour_of(option(run, "sampler"))
    low, high = answers.interval_of_run(run)
    if low < K:
        edges = [height[max(0, K - high)], height[min(K - 1, K - low + 1)]]
        label = f"{low} to {high} clusters, 95 % of the posterior"
        ax.axvspan(*edges, color=REFERENCE, alpha=0.12, linewidth=0, label=label)
        ax.legend(loc="lower right", fontsize=6.5)
    for x, y in zip(np.array(tree["dcoord"], np.int64), np.array(tree["icoord"]) / 10 - 0.5, strict=True):
        ax.plot(height[np.maximum(x, begun)], y, color=colour, linewidth=1.1)
        place = (height[x[1]], y[1:3].mean())
        ax.annotate(f"{K - x[1]}", place, (2.5, 0), textcoords="offset points", **NUMBER)
    item, sizes = grouping.nouns(run.summary)[0], [int(np.isin(levels.labels, node).sum()) for node in members]
    numbers = [number_clusters(np.array(node), run.first_cluster).tolist() for node in members]
    few = ["+".join(map(str, sorted(clusters)[:3])) + "+…" * (len(clusters) > 3) for clusters in numbers]
    names = [f"{few[node]} ({count_of(sizes[node], item)})" for node in order]
    ax.set_yticks(range(len(order)), names, fontsize=6.5)
    ax.set(ylim=(len(order) - 0.4, -0.6), xlabel="expected variation of information (nats)")
    ax.margins(x=0.04)
    ax.grid(False, axis="y")
    ax.set_title(f"Which clusters are merged first: {subject(run)}")
    footnote(
        figure,
        "Each merge leaves the partition nearest to the posterior; its number counts the\n"
        f"clusters left. Leaves: {count_of(len(order), 'cluster')} with their {plural_of(item)}; numbers as in "
        "clusters.csv.",
    )
    return figure


def calibration(run: Run) -> Figure:
    """Draw fit over number of clusters, a point for each power, where the power was taken from such a curve."""
    chosen = run.summary["chosen"]
    curve = pd.DataFrame(chosen["model.power"])
    figure, ax = plt.subplots(figsize=(FULL * 0.6, 3.0), layout="constrained")
    colour = colour_of(option(run, "sampler"))
    ax.plot(curve["clusters"], curve["fit"], color=colour, marker="o", markersize=3.5, linewidth=1.0)
    chosen_point = curve[curve["taken"]]
    ax.plot(chosen_point["clusters"], chosen_point["fit"], "o", color="none", markeredgecolor=REFERENCE, markersize=9)
    least, labelled = 0.1 * (curve["clusters"].max() - curve["clusters"].min()), list[float]()
    for _, row in curve.sort_values("taken", ascending=False, kind="stable").iterrows():
        # points of much the same number of clusters lie on top of each other
        if all(abs(row["clusters"] - place) > least for place in labelled):
            place = (row["clusters"], row["fit"])
            ax.annotate(f"{row['power']:g}", place, (5, -10), textcoords="offset points", fontsize=6.5)
            labelled.append(row["clusters"])
    ax.margins(0.08, 0.1)
    ax.set(xlabel="clusters with at least 2 % of the rows", ylabel="held-out log density, nats a row")
    ax.set_title(f"{subject(run)}: powers on {chosen['rows']:,} rows", fontsize=7.5)
    return figure


def fractions(chain: pd.DataFrame, most_rows: int) -> pd.DataFrame:
    """Fractions of the items in the largest cluster of one chain (column largest_1), in the two largest (largest_2),
    ..., by iteration, from `most_rows` rows of its trace."""
    rows = thinned_rows(len(chain), most_rows)
    stacked = np.cumsum(np.stack(chain["largest"].tolist())[rows], axis=1)
    frame = pd.DataFrame(stacked, columns=[f"largest_{k + 1}" for k in range(stacked.shape[1])])
    frame.insert(0, "iteration", chain["iteration"].to_numpy()[rows])
    return frame


PICTURES = {
    "n_clusters": Picture(
        "How many clusters are there?",
        "bars of the posterior probability of each number of clusters, dots for each chain",
        lambda run: run.is_done,
        uncertainty.n_clusters,
        in_column=True,
        section="number",
    ),
    "dendrogram": Picture(
        "Which clusters are nearest to each other?",
        "tree diagram of the clusters over the expected distance from the posterior; the merge that adds least comes "
        "first",
        has_levels,
        dendrogram,
        section="number",
    ),
    "calibration": Picture(
        "Where does the fit level off?",
        "line of held-out log density over the number of clusters, a point for each power of the likelihood",
        lambda run: run.is_done and "model.power" in (run.summary.get("chosen") or {}),
        calibration,
        in_column=True,
        section="number",
    ),
    "co_clustering": Picture(
        "Which items are together, and how often?",
        "matrix of items by items, sorted by cluster, darker where two are more often in one cluster",
        uncertainty.can_draw,
        uncertainty.co_clustering,
        in_column=True,
        section="certainty",
    ),
    "credible_ball": Picture(
        "How far may the clusters differ from the point estimate?",
        "four panels: the point estimate and three extremes of its credible ball, as points or as matrices",
        uncertainty.can_draw,
        uncertainty.credible_ball,
        section="certainty",
    ),
    "traces": Picture(
        "Do the chains agree?",
        "lines of log joint, K and the quantity of largest R-hat, a strip for each chain; bars of ranks; running means",
        lambda run: True,
        races.traces,
        section="chains",
    ),
}
"""Pictures that runs of all kinds may have, by name: how many clusters, how certain they are, the chains."""


@cache
def pictures_of(kind: Kind) -> dict[str, Picture]:
    """Pictures for runs on a kind of data, in the order in which they are shown: its own come first."""
    own: Mapping[str, Picture] = resolve_name(kind.drawings) if kind.drawings else {}
    named = {**{name: one for name, one in own.items() if name not in PICTURES}, **PICTURES, **own}
    return {name: one for name, one in named.items() if name in kind.pictures}


@cache
def all_pictures() -> dict[str, Picture]:
    """Pictures of all kinds, by name, in the order in which they are shown."""
    own = {name: one for kind in kinds().values() for name, one in pictures_of(kind).items() if name not in PICTURES}
    return own | PICTURES


def available(run: Run) -> Iterator[str]:
    """The names of the pictures that a run has; errors as `pictures`."""
    return (name for name, _ in _make_each(run, lambda name, picture: name, lambda name, picture: True))


def pictures(run: Run, only: Collection[str] | None = None, column: bool = False) -> Iterator[tuple[str, Figure]]:
    """The pictures of a run, each with its name; `only` some of them, where they can be drawn; `column`: at the width
    of a column, those that can be read so. Errors of `Picture` are raised after all others are drawn."""

    def draw(name: str, picture: Picture) -> Figure:
        figure = draw_in_fonts(partial(picture.draw, run))
        if column:
            narrow(figure)
        return figure

    def is_asked_for(name: str, picture: Picture) -> bool:
        return (only is None or name in only) and (picture.in_column or not column)

    return _make_each(run, draw, is_asked_for)


def _make_each(
    run: Run, make: Callable[[str, Picture], Any], is_asked_for: Callable[[str, Picture], bool]
) -> Iterator[tuple[str, Any]]:
    """Make something of each picture that a run has; the first error of all is raised last."""
    failed: config.ConfigError | received.DataError | None = None
    try:
        drawn = pictures_of(initial.specification_of(run).model.kind)
    except (config.ConfigError, received.DataError) as error:
        # a model of the user's own that is not at hand: what every run has can be drawn
        failed, drawn = error, PICTURES
    for name, picture in drawn.items():
        if not is_asked_for(name, picture):
            continue
        try:
            figures = [make(name, picture)] if picture.can_draw(run) else []
        except (config.ConfigError, received.DataError) as error:
            failed = failed or error
        else:
            yield from ((name, each) for each in figures)
    if failed is not None:
        raise failed
