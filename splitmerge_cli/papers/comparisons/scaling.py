"""Cost of an iteration, and time to the target, as data grow."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from splitmerge_cli.analysis.plots.style import FULL, hollow, log_ticks, look_of, powers
from splitmerge_cli.papers.comparisons.races import schedule_of, schedule_title, table
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.runs.store.read import Run

AXES = {"items": "items N", "dimensions": "dimensions D", "clusters": "clusters K"}
DASHES = (0, (3, 1.5))
"""Dashes of samplers that make several moves before a scan; their marks belong to the sampler."""


def draw(runs: Sequence[Run]) -> Drawing:
    """Seconds of an iteration and to the target, against items, dimensions and clusters."""
    chains = _chains(runs)
    usual = _usual(chains)
    reached = np.isfinite(chains["seconds"])
    notes = (
        f"Gaussian mixtures of {usual['clusters']} clusters in {usual['dimensions']} dimensions, "
        f"{usual['items']:,} points, unless it is what varies; chains from one cluster. Medians over "
        f"{chains.groupby(['schedule', *AXES]).size().max()} seeds. Hollow: fewer than half of the chains have reached "
        f"the target, and the mark is the time that they had ({reached.mean():.0%} of all have). An iteration is a "
        "move, or five where a 5 stands before the name, and a full Gibbs scan."
    )
    return Drawing(picture_draw(chains), chains, (), notes)


def _usual(chains: pd.DataFrame) -> dict[str, int]:
    """Values of the axes where another one varies."""
    usual = {axis: chains[axis].mode()[0] for axis in ("dimensions", "clusters")}
    # the size at which anything else varies
    usual["items"] = chains[chains["dimensions"] != usual["dimensions"]]["items"].max()
    return usual


def picture_draw(numbers: pd.DataFrame) -> Figure:
    """Two rows of panels, a column for each axis."""
    usual = _usual(numbers)
    figure, axes = plt.subplots(2, len(AXES), figsize=(FULL, 4.0), sharex="col", sharey="row")
    for column, (axis, words) in zip(axes.T, AXES.items(), strict=True):
        others = [other for other in AXES if other != axis]
        of_axis = numbers[np.logical_and.reduce([numbers[other] == usual[other] for other in others])]
        _lines(column[0], of_axis.assign(pace=1e6 * of_axis["iteration"] / of_axis["items"]), axis, "pace")
        _lines(column[1], of_axis, axis, "time")
        column[1].set(xscale="log", xlabel=words)
        if axis == "items":
            powers(column[1].xaxis)
        else:
            values = sorted(of_axis[axis].unique())
            column[1].set_xticks(values, [f"{x:g}" for x in values])
            column[1].xaxis.set_minor_locator(NullLocator())
    for ax, words in zip(axes[:, 0], ("μs an iteration and item", "seconds to the target"), strict=True):
        ax.set(yscale="log", ylabel=words)
        log_ticks(ax.yaxis)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=5, handlelength=2.6)
    return figure


def _chains(runs: Sequence[Run]) -> pd.DataFrame:
    """The table of `races.table`, with what varies, and seconds an iteration."""
    about = [
        {
            "dimensions": run.config["data"]["D"],
            "clusters": run.config["data"]["components"],
            "items": run.summary["N"],
            "schedule": schedule_of(run.config),
            "seed": run.config["seed"],
            "iteration": float(np.sum(run.summary["seconds"]) / np.sum(run.summary["iterations"])),
        }
        for run in runs
    ]
    described = pd.DataFrame(about)
    parts = []
    for _, of_set in described.groupby(["items", "dimensions", "clusters"], sort=False):
        raced = table([runs[k] for k in of_set.index])
        parts.append(of_set.assign(seconds=raced["seconds"].to_numpy(), end=raced["end"].to_numpy()))
    whole = pd.concat(parts, ignore_index=True)
    return whole.assign(time=np.minimum(whole["seconds"], whole["end"]))


def _lines(ax: Axes, chains: pd.DataFrame, axis: str, value: str) -> None:
    """A line of medians for each schedule; hollow marks where most chains have not reached the target."""
    for schedule, of_schedule in chains.groupby("schedule", sort=False):
        by = of_schedule.groupby(axis)
        medians, reached = by[value].median(), by["seconds"].apply(lambda x: np.isfinite(x).mean() >= 0.5)
        look = look_of(str(schedule).split()[-1], dashed=False)
        if " " in str(schedule):
            look["linestyle"] = DASHES
        ax.plot(medians.index, medians, linewidth=1, label=schedule_title(str(schedule)), **look)
        if value == "time":
            late = medians[~reached]
            ax.plot(late.index, late, **hollow(look))
