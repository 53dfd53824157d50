"""The traces of one run."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from splitmerge_cli.figures.base import option, thinned
from splitmerge_cli.figures.style import COLOURS, NAMES, footnote
from splitmerge_cli.results.read import Run


def traces(run: Run) -> Figure:
    """Draw K, the log joint, the five largest fractions and (where the truth is known) the adjusted Rand index.

    Every chain is a line; of the fractions the first chain is shown. The axis of the log joint is that of the last 90 %
    of the iterations.
    """
    trace = run.trace()
    sampler = option(run, "sampler")
    colour = COLOURS.get(sampler, "#444444")
    series = [("log_joint", "log joint"), ("K", "K"), ("ari", "adjusted Rand index")]
    series = [(name, label) for name, label in series if name in trace]
    figure, axes = plt.subplots(len(series) + 1, 1, figsize=(7.2, 1.55 * (len(series) + 1) + 0.4), sharex=True)
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
    first = chains[0]
    at = thinned(len(first), 2000)
    iteration = first["iteration"].to_numpy()[at]
    fractions = np.cumsum(np.stack(first["largest"].tolist())[at], axis=1)
    below = np.zeros(len(at))
    for k in range(fractions.shape[1]):
        axes[-1].fill_between(iteration, below, fractions[:, k], color=colour, alpha=0.62 - 0.11 * k, linewidth=0)
        below = fractions[:, k]
    axes[-1].set(ylim=(0, 1), xlabel="iteration")
    axes[-1].set_ylabel("five largest\nfractions")
    if len(iteration) > 1:
        axes[-1].set_xlim(iteration[0], iteration[-1])
    axes[-1].grid(False)
    N = run.summary["N"] if run.done else run.config["N"] or "all"
    which = f"{NAMES.get(sampler, sampler)} on {option(run, 'data')}, N = {N}"
    chains_text = f"{len(chains)} chain{'s' * (len(chains) > 1)}, seed {run.config['seed']}"
    axes[0].set_title(f"{which}, schedule {option(run, 'schedule')}, {chains_text}")
    return figure


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
