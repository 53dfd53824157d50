"""The pictures of one run: its traces, and the clusters found."""

from collections.abc import Iterator, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from splitmerge_cli.plots import network, points, topics, uncertainty
from splitmerge_cli.plots.runs import option, thinned
from splitmerge_cli.plots.style import COLOURS, NAMES, REFERENCE, footnote
from splitmerge_cli.results.read import Run


def traces(run: Run) -> Figure:
    """Draw K, the log joint, the five largest fractions and (where the truth is known) the adjusted Rand index.

    Every chain is a line; of the fractions the first chain is shown. The axis of the log joint is that of the last 90 %
    of the iterations. A finished run of topics shows the sizes of all topics in place of five, and the perplexity of
    held-out documents, where it was evaluated.
    """
    trace = run.trace()
    sampler = option(run, "sampler")
    colour = COLOURS.get(sampler, "#444444")
    of_topics = topics.can_draw(run)
    series = [("log_joint", "log joint"), ("K", "topics" if of_topics else "K"), ("ari", "adjusted\nRand index")]
    series = [(name, label) for name, label in series if name in trace]
    evaluated = run.perplexity() if of_topics and run.has_perplexity else pd.DataFrame()
    panels = len(series) + 1 + (len(evaluated) > 0)
    figure, axes = plt.subplots(panels, 1, figsize=(7.2, 1.55 * panels + 0.4), sharex=True)
    chains = [chain for _, chain in trace.groupby("chain", sort=True)]
    for ax, (name, label) in zip(axes, series, strict=False):
        for k, chain in enumerate(chains):
            at = thinned(len(chain), 2000)
            shade = 1.0 - 0.6 * k / max(1, len(chains) - 1)
            ax.plot(
                chain["iteration"].to_numpy()[at], chain[name].to_numpy()[at], color=colour, alpha=shade, linewidth=0.9
            )
        ax.set_ylabel(label)
    _clip_climb(figure, axes[0], chains)
    axes[1].yaxis.get_major_locator().set_params(integer=of_topics)
    if of_topics and (true := run.summary["true_topics"]):
        axes[1].axhline(true, color=REFERENCE, linewidth=0.8, linestyle=(0, (4, 3)), label=f"true number, {true}")
        axes[1].legend(loc="lower right", fontsize=6.5)
    if len(evaluated):
        topics.draw_perplexity(axes[-2], evaluated, colour)
    if of_topics:
        sizes = run.topic_sizes()
        topics.stack_sizes(axes[-1], sizes[sizes["chain"] == 0], colour, most=1000)
        axes[-1].set_ylabel("shares of topics,\nchain 0")
    else:
        stack_fractions(axes[-1], chains[0], colour, most=2000)
        axes[-1].set_ylabel("five largest\nfractions")
    axes[-1].set(xlabel="iteration")
    N = run.summary["N"] if run.done else run.config["N"] or "all"
    size = f"{run.summary['documents']['documents']:,} documents" if of_topics else f"N = {N}"
    which = f"{NAMES.get(sampler, sampler)} on {option(run, 'data')}, {size}"
    chains_text = f"{len(chains)} chain{'s' * (len(chains) > 1)}, seed {run.config['seed']}"
    axes[0].set_title(f"{which}, schedule {option(run, 'schedule')}, {chains_text}")
    return figure


def stack_fractions(ax: Axes, chain: pd.DataFrame, colour: str, most: int) -> pd.DataFrame:
    """Draw the fractions of the items in the largest cluster, the two largest, ... of one chain.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    chain : pandas.DataFrame
        Columns iteration and largest of its trace.
    colour : str
    most : int
        Rows that are drawn at most.

    Returns
    -------
    pandas.DataFrame
        What is drawn: iteration, largest_1 (the largest), largest_2 (the two largest), ...
    """
    at = thinned(len(chain), most)
    iteration = chain["iteration"].to_numpy()[at]
    fractions = np.cumsum(np.stack(chain["largest"].tolist())[at], axis=1)
    below = np.zeros(len(at))
    for k, top in enumerate(fractions.T):
        ax.fill_between(iteration, below, top, color=colour, alpha=0.62 - 0.11 * k, linewidth=0)
        below = top
    ax.set_ylim(0, 1)
    if len(iteration) > 1:
        ax.set_xlim(iteration[0], iteration[-1])
    ax.grid(False)
    frame = pd.DataFrame(fractions, columns=[f"largest_{k + 1}" for k in range(fractions.shape[1])])
    frame.insert(0, "iteration", iteration)
    return frame


def pictures(run: Run) -> Iterator[tuple[str, Figure]]:
    """The pictures of a run, each with its name: traces; the clusters found, where points, a network or words show
    them; the number of clusters, and how uncertain they are where that is known.

    Raises
    ------
    ConfigError, DataError
        Its data set cannot be loaded again.
    """
    yield "traces", traces(run)
    if topics.can_draw(run):
        yield "topics", topics.topics(run)
    if points.can_draw(run):
        yield "points", points.clusters(run)
    if network.can_draw(run):
        yield "network", network.clusters(run)
    if run.done:
        yield "n_clusters", uncertainty.n_clusters(run)
    if uncertainty.can_draw(run):
        yield "co_clustering", uncertainty.co_clustering(run)
        yield "credible_ball", uncertainty.credible_ball(run)


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
