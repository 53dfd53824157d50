"""The pictures of one run: what they answer, in the order in which they are shown."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from splitmerge_cli.analysis.plots import chains, dendrogram, power, uncertainty
from splitmerge_cli.analysis.plots.runs import Picture, thinned_rows
from splitmerge_cli.analysis.plots.style import draw_in_fonts, narrow
from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.dataset import Kind, kinds
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


PICTURES = {
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
    failed: ConfigError | DataError | None = None
    try:
        drawn = pictures_of(specification_of(run).model.kind)
    except (ConfigError, DataError) as error:
        # a model of the user's own that is not at hand: what every run has can be drawn
        failed, drawn = error, PICTURES
    for name, picture in drawn.items():
        if not is_asked_for(name, picture):
            continue
        try:
            figures = [make(name, picture)] if picture.can_draw(run) else []
        except (ConfigError, DataError) as error:
            failed = failed or error
        else:
            yield from ((name, each) for each in figures)
    if failed is not None:
        raise failed
