"""The pictures of one run: its traces, and the clusters found."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from splitmerge_cli.analysis.plots import cluster_means as means
from splitmerge_cli.analysis.plots import columns, dendrogram, network, points, power, topics, uncertainty
from splitmerge_cli.analysis.plots.runs import data_name, option, thinned_rows
from splitmerge_cli.analysis.plots.style import (
    FULL,
    REFERENCE,
    chain_look,
    colour_of,
    draw_in_fonts,
    footnote,
    narrow,
    title_of,
)
from splitmerge_cli.kinds import Kind
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.stored import specification_of

MOST_CHAINS = 8
"""Chains up to which a legend names them."""


def traces(run: Run) -> Figure:
    """Draw K, the log joint, the five largest fractions and (where the truth is known) the adjusted Rand index.

    Every chain is a line; of the fractions the first chain is shown. The axis of the log joint is that of the last 90 %
    of the iterations. A finished run of topics shows the sizes of all topics in place of five, and the perplexity of
    held-out documents, where it was evaluated.
    """
    trace = run.trace()
    sampler = option(run, "sampler")
    colour = colour_of(sampler)
    of_topics = topics.can_draw(run)
    labels = {"log_joint": "log joint", "K": "topics" if of_topics else "clusters K", "ari": "adjusted\nRand index"}
    series = [(name, label) for name, label in labels.items() if name in trace]
    evaluated = run.perplexity() if of_topics and run.has_perplexity else pd.DataFrame()
    panels = len(series) + 1 + (len(evaluated) > 0)
    figure, axes = plt.subplots(panels, 1, figsize=(FULL, 1.55 * panels + 0.4), sharex=True)
    chains = [chain for _, chain in trace.groupby("chain", sort=True)]
    for ax, (name, label) in zip(axes, series, strict=False):
        for k, chain in enumerate(chains):
            at = thinned_rows(len(chain), 2000)
            x, y = (chain[column].to_numpy()[at] for column in ("iteration", name))
            looks = chain_look(colour, k, len(chains))
            ax.plot(x, y, linewidth=0.9, label=f"chain {chain['chain'].iloc[0]}", **looks)
        ax.set_ylabel(label)
    _clip_climb(figure, axes[0], chains)
    if 1 < len(chains) <= MOST_CHAINS:
        figure.legend(handles=axes[0].lines, loc="outside upper left", ncols=len(chains), handlelength=2.4, fontsize=7)
    axes[1].yaxis.get_major_locator().set_params(integer=of_topics)
    if of_topics and (true := run.summary["true_topics"]):
        line = axes[1].axhline(true, color=REFERENCE, linewidth=0.8, linestyle=(0, (4, 3)))
        axes[1].legend([line], [f"true number, {true}"], loc="lower right", fontsize=6.5)
    if len(evaluated):
        topics.draw_perplexity(axes[-2], evaluated, colour)
    if of_topics:
        sizes = run.topic_sizes()
        topics.stack_sizes(axes[-1], sizes[sizes["chain"] == 0], colour, most=1000)
        axes[-1].set_ylabel("shares of topics,\nchain 0")
    else:
        stack_fractions(axes[-1], fractions(chains[0], 2000), colour)
        axes[-1].set_ylabel(f"largest fractions,\nchain {chains[0]['chain'].iloc[0]}")
    axes[-1].set(xlabel="iteration")
    N = run.summary["N"] if run.is_done else run.config["N"] or "all"
    size = f"{run.summary['documents']['documents']:,} documents" if of_topics else f"N = {N}"
    which = f"{title_of(sampler)} on {data_name(run)}, {size}"
    made = f"{len(chains)} chain{'s' * (len(chains) > 1)}"
    if not run.is_done:
        made = f"{len(chains)} of {run.config['chains']} chains ({run.status['state']})"
    axes[0].set_title(f"{which}, schedule {option(run, 'schedule')}, {made}, seed {run.config['seed']}")
    return figure


def fractions(chain: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the fractions of the items in the largest cluster of one chain, in the two largest, ...

    `chain` has iteration and largest of its trace, of which `most` rows are taken. Columns iteration, largest_1 (the
    largest), largest_2 (the two largest), ...
    """
    at = thinned_rows(len(chain), most)
    stacked = np.cumsum(np.stack(chain["largest"].tolist())[at], axis=1)
    frame = pd.DataFrame(stacked, columns=[f"largest_{k + 1}" for k in range(stacked.shape[1])])
    frame.insert(0, "iteration", chain["iteration"].to_numpy()[at])
    return frame


def stack_fractions(ax: Axes, numbers: pd.DataFrame, colour: str, edge: float = 0.0) -> None:
    """Draw `fractions` as stacked areas; `edge` is the width of a line at each."""
    iteration = numbers["iteration"].to_numpy()
    below = np.zeros(len(iteration))
    for k, name in enumerate(name for name in numbers if name.startswith("largest_")):
        top = numbers[name].to_numpy()
        ax.fill_between(iteration, below, top, color=colour, alpha=0.62 - 0.11 * k, linewidth=0)
        if edge:
            ax.plot(iteration, top, color=colour, linewidth=edge)
        below = top
    ax.set_ylim(0, 1)
    if len(iteration) > 1:
        ax.set_xlim(iteration[0], iteration[-1])
    ax.grid(False)


@dataclass(frozen=True)
class Picture:
    """A picture that a run may have.

    `can_draw` and `draw` raise `ConfigError` or `DataError` where they need the data again, which cannot be loaded.
    """

    answers: str
    """The question that it answers."""
    shows: str
    """The kind of chart and its axes, in a line."""
    can_draw: Callable[[Run], bool]
    """Whether a run has it."""
    draw: Callable[[Run], Figure]
    in_column: bool = False
    """Whether it can be read at the width of a column."""


PICTURES = {
    "traces": Picture(
        "Do the chains agree?",
        "lines of log joint and K over iterations, one for each chain; stacked fractions of the largest clusters",
        lambda run: True,
        traces,
        in_column=True,
    ),
    "n_clusters": Picture(
        "How many clusters are there?",
        "bars of the posterior probability of each number of clusters, dots for each chain",
        lambda run: run.is_done,
        uncertainty.n_clusters,
        in_column=True,
    ),
    "co_clustering": Picture(
        "Which items are together, and how often?",
        "matrix of items by items, sorted by cluster, darker where two are more often in one cluster",
        uncertainty.can_draw,
        uncertainty.co_clustering,
        in_column=True,
    ),
    "credible_ball": Picture(
        "How far may the clusters differ from the point estimate?",
        "four panels: the point estimate and three extremes of its credible ball, as points or as matrices",
        uncertainty.can_draw,
        uncertainty.credible_ball,
    ),
    "dendrogram": Picture(
        "Which clusters are nearest to each other?",
        "tree diagram of the clusters over the expected distance from the posterior, merged where that rises least",
        dendrogram.can_draw,
        dendrogram.dendrogram,
    ),
    "calibration": Picture(
        "Where does the fit level off?",
        "line of held-out log density over the number of clusters, a point for each power of the likelihood",
        power.can_draw,
        power.calibration,
        in_column=True,
    ),
    "topics": Picture(
        "What are the topics about?",
        "bars of the probabilities of the top words, a panel for each topic; of few words a heat map",
        topics.can_draw,
        topics.topics,
    ),
    "points": Picture(
        "Where are the clusters?",
        "scatter plot of two columns, marks and colours by cluster, with the line or ellipse fitted to each",
        points.can_draw,
        points.clusters,
        in_column=True,
    ),
    "pairs": Picture(
        "Which columns tell the clusters apart?",
        "scatter plots of the most telling columns against each other, stacked histograms on the diagonal",
        columns.can_pair,
        columns.pairs,
    ),
    "projection": Picture(
        "Are the clusters apart?",
        "scatter plots of all items along two principal components and along two directions that separate the clusters",
        columns.can_draw,
        columns.projection,
    ),
    "cluster_means": Picture(
        "What is each cluster like?",
        "heat map of columns by cluster, means and shares coloured by their distance from those of all items",
        columns.can_draw,
        means.cluster_means,
    ),
    "network": Picture(
        "Which nodes have the same ties?",
        "adjacency matrix sorted by cluster, and the network with a colour and a mark for each cluster",
        lambda run: run.is_done,
        network.clusters,
    ),
}
"""Pictures of a run, by name; those that need its data again come last."""


def available(run: Run) -> Iterator[str]:
    """The names of the pictures that a run has; errors as of `Picture`, after those that do not need its data."""
    return filter(partial(_has, run), PICTURES)


def pictures(run: Run, only: Collection[str] | None = None, column: bool = False) -> Iterator[tuple[str, Figure]]:
    """The pictures of a run, each with its name; `only` some of them, where they can be drawn; `column`: at the width
    of a column, those that can be read so."""
    for name, picture in PICTURES.items():
        if (only is None or name in only) and (picture.in_column or not column) and _has(run, name):
            figure = draw_in_fonts(partial(picture.draw, run))
            if column:
                narrow(figure)
            yield name, figure


def _has(run: Run, name: str) -> bool:
    """Whether the data of a run are of a kind that has a picture, and it can be drawn."""
    kind = Kind if name in Kind.pictures else specification_of(run).model.kind
    return name in kind.pictures and PICTURES[name].can_draw(run)


SETTLED = 0.1
"""Share of the iterations after which the log joint sets the limits of its axis."""
MARGIN = 0.06


def _clip_climb(figure: Figure, ax: Axes, chains: Sequence[pd.DataFrame]) -> None:
    """Limit the axis of the log joint to what it has after the first tenth of the iterations, and say what is cut."""
    last = max(chain["iteration"].max() for chain in chains)
    late = np.concatenate([c.loc[c["iteration"] > SETTLED * last, "log_joint"].to_numpy() for c in chains])
    lowest = min(chain["log_joint"].min() for chain in chains)
    if not len(late) or lowest >= late.min():
        return
    highest = max(chain["log_joint"].max() for chain in chains)
    room = MARGIN * (highest - late.min()) or 1.0
    if lowest < late.min() - room:
        ax.set_ylim(late.min() - room, highest + room)
        note = f"Log joint: the axis is that of the iterations after the first {SETTLED:.0%}; the climb begins at "
        footnote(figure, f"{note}{lowest:,.1f}.".replace("-", "−"))
