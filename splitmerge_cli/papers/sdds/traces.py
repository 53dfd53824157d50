"""Traces of the Bernoulli mixture: fractions of the five largest components."""

from collections.abc import Mapping, Sequence
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.run import fractions, stack_fractions
from splitmerge_cli.analysis.plots.runs import data_sets, option, pick, values
from splitmerge_cli.analysis.plots.style import FULL, colour_of, title_of
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.sdds.runs import samplers_of
from splitmerge_cli.papers.verdicts import by_majority
from splitmerge_cli.runs.store.read import Run

COMPONENT = 0.05
"""Share of the items from which on a cluster counts as a component."""


def traces(runs: Sequence[Run]) -> Drawing:
    """Jain-Neal traces: cumulative fractions of the five largest components."""
    sizes, samplers = values(runs, "N"), samplers_of(runs)
    (claim,) = published_claims("sdds-traces")
    verdicts, frames = [], []
    five: dict[tuple[int, str], str] = {}
    for N, sampler in product(sizes, samplers):
        here = pick(runs, N=N, sampler=sampler)
        shown = here[0].trace(["chain", "iteration", "largest"])
        drawn = fractions(shown[shown["chain"] == shown["chain"].min()], most_rows=600)
        frames.append(drawn.assign(N=N, sampler=sampler, seed=option(here[0], "seed")))
        components = _components(here)
        has_five = components == claim.value
        five[N, sampler] = f"five in {has_five.sum()} of {len(has_five)}"
        if sampler == claim.sampler:
            rule = f"five clusters of at least {COMPONENT:.0%} of the items in the second half"
            verdicts.append(by_majority(claim, components, has_five, rule, f"N = {N:,}", units=data_sets(here)))
    plotted = pd.concat(frames, ignore_index=True)
    notes = (
        "Areas: fraction of the items in the largest component, in the two largest, ... in the five largest, of the "
        f"first chain. Five: clusters of at least {COMPONENT:.0%} of the items, median of the second half, "
        "in so many of the chains."
    )
    return Drawing(picture_traces(plotted, five), plotted, verdicts, notes)


def picture_traces(numbers: pd.DataFrame, five: Mapping[tuple[int, str], str] | None = None) -> Figure:
    """Stacked areas; `five`: words on the chains that found five components, by size and sampler."""
    sizes, samplers = sorted(numbers["N"].unique()), list(dict.fromkeys(numbers["sampler"]))
    figure, axes = plt.subplots(
        len(sizes), len(samplers), figsize=(FULL, 1.9 * len(sizes) + 0.6), sharey=True, sharex="row", squeeze=False
    )
    for row, N in zip(axes, sizes, strict=True):
        for ax, sampler in zip(row, samplers, strict=True):
            rows = numbers[(numbers["N"] == N) & (numbers["sampler"] == sampler)]
            stack_fractions(ax, rows, colour_of(sampler), edge=0.7)
            ax.set_title(f"{title_of(sampler)}, N = {N:,}")
            ax.set_title((five or {}).get((N, sampler), ""), loc="right", fontsize=7, color="#555555")
        row[0].set_ylabel("cumulative fraction")
    for ax in axes[-1]:
        ax.set_xlabel("iteration")
    for ax in axes.flat:
        ax.xaxis.set_major_locator(plt.MaxNLocator(4))
    return figure


def _components(runs: Sequence[Run]) -> NDArray[np.float64]:
    """Median number of components in the second half of each chain (five at most are looked at, and the rest)."""
    components = []
    for run in runs:
        for _, trace in run.trace(["chain", "iteration", "largest"]).groupby("chain", sort=True):
            half = trace[trace["iteration"] > trace["iteration"].max() / 2]
            fractions = np.stack(half["largest"].tolist())
            # a sixth component would leave the five largest without it
            rest = 1 - fractions.sum(axis=1)
            components.append(np.median((fractions >= COMPONENT).sum(axis=1) + (rest >= COMPONENT)))
    return np.array(components)
