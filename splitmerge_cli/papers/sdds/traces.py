"""Traces of the Bernoulli mixture: fractions of the five largest components."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.sdds.runs import samplers_of
from splitmerge_cli.papers.verdicts import by_majority
from splitmerge_cli.plots.run import stack_fractions
from splitmerge_cli.plots.runs import data_sets, option, pick, values
from splitmerge_cli.plots.style import FULL, colour_of, title_of
from splitmerge_cli.results.read import Run

COMPONENT = 0.05
"""Share of the items from which on a cluster counts as a component."""


def traces(runs: Sequence[Run]) -> Drawing:
    """Jain-Neal traces: cumulative fractions of the five largest components."""
    sizes, samplers = values(runs, "N"), samplers_of(runs)
    figure, axes = plt.subplots(
        len(sizes), len(samplers), figsize=(FULL, 1.9 * len(sizes) + 0.6), sharey=True, sharex="row", squeeze=False
    )
    (claim,) = published_claims("sdds-traces")
    verdicts, plotted = [], []
    for row, N in zip(axes, sizes, strict=True):
        for ax, sampler in zip(row, samplers, strict=True):
            here = pick(runs, N=N, sampler=sampler)
            shown = here[0].trace(["chain", "iteration", "largest"])
            shown = shown[shown["chain"] == shown["chain"].min()]
            drawn = stack_fractions(ax, shown, colour_of(sampler), most=600, edge=0.7)
            plotted.append(drawn.assign(N=N, sampler=sampler, seed=option(here[0], "seed")))
            components = _components(here)
            found = components == claim.value
            ax.set_title(f"{title_of(sampler)}, N = {N:,}")
            ax.set_title(f"five in {found.sum()} of {len(found)}", loc="right", fontsize=7, color="#555555")
            if sampler == claim.sampler:
                rule = f"five clusters of at least {COMPONENT:.0%} of the items in the second half"
                verdicts.append(by_majority(claim, components, found, rule, f"N = {N:,}", units=data_sets(here)))
        row[0].set_ylabel("cumulative fraction")
    for ax in axes[-1]:
        ax.set_xlabel("iteration")
    for ax in axes.flat:
        ax.xaxis.set_major_locator(plt.MaxNLocator(4))
    notes = (
        "Areas: fraction of the items in the largest component, in the two largest, ... in the five largest, of the "
        f"first chain. Five: clusters of at least {COMPONENT:.0%} of the items, median of the second half, "
        "in so many of the chains."
    )
    return Drawing(figure, pd.concat(plotted, ignore_index=True), verdicts, notes)


def _components(runs: Sequence[Run]) -> NDArray[np.float64]:
    """Median number of components in the second half of each chain (five at most are looked at, and the rest)."""
    found = []
    for run in runs:
        for _, trace in run.trace(["chain", "iteration", "largest"]).groupby("chain", sort=True):
            half = trace[trace["iteration"] > trace["iteration"].max() / 2]
            fractions = np.stack(half["largest"].tolist())
            # a sixth component would leave the five largest without it
            rest = 1 - fractions.sum(axis=1)
            found.append(np.median((fractions >= COMPONENT).sum(axis=1) + (rest >= COMPONENT)))
    return np.array(found)
