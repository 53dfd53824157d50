"""The traces of one run."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from splitmerge_cli.figures.base import option, thinned
from splitmerge_cli.figures.style import COLOURS, NAMES
from splitmerge_cli.results.read import Run


def traces(run: Run) -> Figure:
    """Draw K, the log joint, the five largest fractions and (where the truth is known) the adjusted Rand index.

    Every chain is a line; of the fractions the first chain is shown.
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
    which = f"{NAMES.get(sampler, sampler)} on {option(run, 'data')}, N = {run.config['N'] or 'all'}"
    chains_text = f"{len(chains)} chain{'s' * (len(chains) > 1)}, seed {run.config['seed']}"
    axes[0].set_title(f"{which}, schedule {option(run, 'schedule')}, {chains_text}")
    return figure
