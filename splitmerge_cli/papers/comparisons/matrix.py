"""Every sampler on every model except counts: time to the target, and effective draws per second."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from splitmerge_cli.analysis.plots.style import FULL
from splitmerge_cli.papers.comparisons.races import MODELS, TRIAL, losses, schedule_title, table
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.runs.store.read import Run

SLOWEST = 100.0
"""Times the fastest where colours end."""
LEAST = 0.01
"""Share of the most effective draws where colours end."""


def draw(runs: Sequence[Run]) -> Drawing:
    """Time to the target and effective draws a second, both relative to the best on the same data set."""
    chains = table(runs)
    columns = _models(chains)
    sets = chains.drop_duplicates(TRIAL).groupby("model").size()
    reached = np.isfinite(chains["seconds"]).groupby(chains["model"]).mean()
    listed = ", ".join(f"{MODELS[name]} {sets[name]} ({reached[name]:.0%})" for name in columns)
    notes = (
        f"Data sets of each model, and share of the chains that reach the target: {listed}. Items: "
        f"{chains['items'].min():,} to {chains['items'].max():,}. Of each data set one chain of every sampler from one "
        "cluster, and from as many clusters as items (300 random ones, or 100 under EMM, of many items); none from "
        "many at the largest size. A full Gibbs scan follows each move, or five moves where a 5 stands before the "
        "name. Left: geometric means over data sets and starts of the time, as a multiple of the fastest sampler on "
        "the same data; a chain that never gets there counts with all its time. Right: means of the effective sample "
        "size of the log joint density a second, over the most of any sampler on the same data; 0 of chains that have "
        "not reached the target."
    )
    return Drawing(picture_draw(chains), chains, (), notes)


def _models(chains: pd.DataFrame) -> list[str]:
    """The models that were raced, in the order of `MODELS`."""
    present = set(chains["model"])
    return [name for name in MODELS if name in present]


def picture_draw(numbers: pd.DataFrame) -> Figure:
    """Two heat maps with numbers."""
    times, draws = relative_times(numbers), relative_draws(numbers)
    rows = sorted(times.index, key=lambda name: float(np.log(times.loc[name]).mean()))
    columns = _models(numbers)
    figure, (left, right) = plt.subplots(1, 2, figsize=(FULL, 0.17 * len(rows) + 0.9), sharey=True)
    _cells(left, times.loc[rows, columns], LogNorm(1, SLOWEST), "viridis_r", "{:.1f}")
    _cells(right, draws.reindex(index=rows, columns=columns), LogNorm(LEAST, 1), "viridis", "{:.2f}")
    left.invert_yaxis()  # the other has the same rows
    left.set_title("Time to the target, as a multiple of the fastest", loc="left", fontsize=7.5)
    right.set_title("Effective draws a second, share of the most", loc="left", fontsize=7.5)
    left.set_yticks(np.arange(len(rows)) + 0.5, [schedule_title(name) for name in rows], fontsize=6.5)
    return figure


def relative_times(chains: pd.DataFrame) -> pd.DataFrame:
    """Geometric mean over data sets of the time to the target over the fastest one; schedules x models."""
    return np.exp(losses(chains).groupby(level="model").mean()).T


def relative_draws(chains: pd.DataFrame) -> pd.DataFrame:
    """Mean over data sets of the effective draws a second over the most of any schedule; schedules x models."""
    by = chains.pivot_table(index=TRIAL, columns="schedule", values="ess_log_joint", aggfunc="mean")
    most = by.max(axis=1)
    share = by[most > 0].div(most[most > 0], axis=0)
    return share.groupby(level="model").mean().T


def _cells(ax: Axes, values: pd.DataFrame, norm: LogNorm, colours: str, form: str) -> None:
    """A cell for each sampler and model with its number; a grey one where the model is not supported."""
    grid = values.to_numpy(float)
    ax.set_facecolor("#eeeeee")
    ax.pcolormesh(np.ma.masked_invalid(np.clip(grid, norm.vmin, norm.vmax)), norm=norm, cmap=colours)
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value):
            level = float(norm(np.clip(value, norm.vmin, norm.vmax)))
            dark = level > 0.55 if colours.endswith("_r") else level < 0.45
            text = form.format(value) if value < SLOWEST else f"{value:,.0f}"
            ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=6, color="w" if dark else "k")
    ax.set_xticks(np.arange(len(values.columns)) + 0.5, [MODELS[name] for name in values.columns], fontsize=6)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
