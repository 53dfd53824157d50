"""The pictures of one run: what they answer, in the order in which they are shown."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from splitmerge_cli.analysis.plots import (
    blocks,
    chains,
    columns,
    dendrogram,
    entities,
    network,
    points,
    power,
    topics,
    uncertainty,
)
from splitmerge_cli.analysis.plots import cluster_means as means
from splitmerge_cli.analysis.plots.runs import thinned_rows
from splitmerge_cli.analysis.plots.style import draw_in_fonts, narrow
from splitmerge_cli.config import ConfigError
from splitmerge_cli.kinds import Kind
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.stored import specification_of


def fractions(chain: pd.DataFrame, most_rows: int) -> pd.DataFrame:
    """Return the fractions of the items in the largest cluster of one chain, in the two largest, ...

    `chain` has iteration and largest of its trace, of which `most_rows` rows are taken. Columns iteration, largest_1
    (the largest), largest_2 (the two largest), ...
    """
    rows = thinned_rows(len(chain), most_rows)
    stacked = np.cumsum(np.stack(chain["largest"].tolist())[rows], axis=1)
    frame = pd.DataFrame(stacked, columns=[f"largest_{k + 1}" for k in range(stacked.shape[1])])
    frame.insert(0, "iteration", chain["iteration"].to_numpy()[rows])
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

    `can_draw` and `draw` raise `ConfigError` or `DataError` if they need the data again, which cannot be loaded.
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
    "cluster_means": Picture(
        "What is each cluster like?",
        "heat map of columns by cluster; the colour of a mean or share is its distance from all items",
        columns.can_draw,
        means.cluster_means,
    ),
    "pairs": Picture(
        "In which columns do the clusters differ most?",
        "scatter plots of the columns that the summary names, against each other; stacked histograms on the diagonal",
        columns.can_pair,
        columns.pairs,
    ),
    "projection": Picture(
        "Are the clusters apart?",
        "scatter plots of all items along two principal components and along two directions that separate the clusters",
        columns.can_draw,
        columns.projection,
    ),
    "network": Picture(
        "Which nodes have the same ties?",
        "matrix of edges sorted by cluster, for each layer; the network with a colour and a mark for each cluster",
        lambda run: run.is_done,
        network.clusters,
    ),
    "blocks": Picture(
        "Which clusters are tied to which?",
        "clusters as circles, with lines or arrows between those that have more edges than all pairs",
        lambda run: run.is_done,
        blocks.block_graph,
    ),
    "entity_sizes": Picture(
        "How many records do entities have?",
        "bars of the number of entities over their number of records",
        entities.can_draw,
        entities.sizes,
        in_column=True,
    ),
    "uncertain_pairs": Picture(
        "Which pairs of records should a person look at?",
        "table of both records of the most uncertain pairs, with the probability of being of one entity",
        entities.has_pairs,
        entities.uncertain_pairs,
    ),
    "pair_probabilities": Picture(
        "How many pairs of records are certain?",
        "bars of the number of pairs of records over the probability of being of one entity",
        lambda run: entities.can_draw(run) and "pairs" in run.summary["entities"],
        entities.pair_probabilities,
        in_column=True,
    ),
    "pair_calibration": Picture(
        "Are the probabilities of pairs right?",
        "line of the share of pairs that are of one entity in truth over their probability, with the diagonal",
        entities.has_truth,
        entities.pair_calibration,
        in_column=True,
    ),
    "n_clusters": Picture(
        "How many clusters are there?",
        "bars of the posterior probability of each number of clusters, dots for each chain",
        lambda run: run.is_done,
        uncertainty.n_clusters,
        in_column=True,
    ),
    "dendrogram": Picture(
        "Which clusters are nearest to each other?",
        "tree diagram of the clusters over the expected distance from the posterior; the merge that adds least comes "
        "first",
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
    "traces": Picture(
        "Do the chains agree?",
        "lines of log joint, K and the quantity of largest R-hat, a strip for each chain; bars of ranks; running means",
        lambda run: True,
        chains.traces,
    ),
}
"""Pictures of a run, by name: what the clusters are, how many, how certain they are; the chains come last."""


def available(run: Run) -> Iterator[str]:
    """The names of the pictures that a run has; errors as `pictures`."""
    return (name for name, _ in _make_each(run, lambda name: name, PICTURES))


def pictures(run: Run, only: Collection[str] | None = None, column: bool = False) -> Iterator[tuple[str, Figure]]:
    """The pictures of a run, each with its name; `only` some of them, where they can be drawn; `column`: at the width
    of a column, those that can be read so. Errors of `Picture` are raised after all others are drawn."""

    def draw(name: str) -> Figure:
        figure = draw_in_fonts(partial(PICTURES[name].draw, run))
        if column:
            narrow(figure)
        return figure

    names = [name for name in PICTURES if only is None or name in only]
    return _make_each(run, draw, [name for name in names if PICTURES[name].in_column or not column])


def _make_each(run: Run, make: Callable[[str], Any], names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Make something of each picture that a run has; the first error of all is raised last."""
    failed = None
    for name in names:
        try:
            figures = [make(name)] if _has(run, name) else []
        except (ConfigError, DataError) as error:
            failed = failed or error
        else:
            yield from ((name, each) for each in figures)
    if failed is not None:
        raise failed


def _has(run: Run, name: str) -> bool:
    """Whether the data of a run are of a kind that has a picture, and it can be drawn."""
    of_every_kind = name in Kind.pictures and not entities.can_draw(run)
    kind = Kind if of_every_kind else specification_of(run).model.kind
    return name in kind.pictures and PICTURES[name].can_draw(run)
