"""Which sampler to take where none is named: by model, from the races of the matrix, judged on data sets left out."""

from collections.abc import Sequence
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, entry, legend
from splitmerge_cli.config.resolution import ANY, AUTO
from splitmerge_cli.papers.comparisons.races import MODELS, losses, schedule_title, table
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.runs.store.read import Run

NOT_ALWAYS = ("lshsm", "arm", "sarm", "bsm")
"""Samplers that no model takes in all its forms (lshsm needs vectors without missing cells), or whose chains learn from
each other, after a warm-up, and have no certificate: `auto` takes none of them."""
FIXED = "#0072b2"
"""Colour of a sampler that is the same on all data sets."""
CLEARLY = 2.0
"""Standard errors by which a model's own best has to be better than the usual choice."""


def best(behind: pd.DataFrame) -> str:
    """The schedule of the smallest mean loss, among those that `auto` may take and that ran on all data sets."""
    return str(behind.drop(columns=list(NOT_ALWAYS), errors="ignore").dropna(axis=1).mean().idxmin())


def best_for_model(behind: pd.DataFrame, model: str) -> str:
    """The schedule for a model: the usual one, of the smallest mean loss over the data sets of all models, unless the
    model's own best is better by `CLEARLY` standard errors of the mean difference, paired by data set."""
    of_model = behind.loc[[model]]
    usual, favourite = best(behind), best(of_model)
    gap = of_model[usual] - of_model[favourite]
    clear = len(gap) > 1 and gap.mean() > CLEARLY * gap.std(ddof=1) / np.sqrt(len(gap))
    return favourite if clear else usual


def heldout_losses(behind: pd.DataFrame) -> pd.Series:
    """Loss on each data set of the schedule that all other data sets choose."""
    loss_by_row = {row: behind.loc[row, best_for_model(behind.drop(index=[row]), row[0])] for row in behind.index}
    return pd.Series(loss_by_row).reindex(behind.index)


def rule(chains: pd.DataFrame) -> pd.DataFrame:
    """The choices of ``sampler=auto``, the columns of `Choice`: a row for each model, and
    one for `ANY`."""
    behind = losses(chains)
    out = np.exp(heldout_losses(behind))
    one_move = behind[[name for name in behind.columns if " " not in name]]
    rows: list[list[object]] = []
    for model in behind.index.unique(level="model"):
        moves, sampler = ["1", *best_for_model(behind, model).split()][-2:]
        lost = out.loc[[model]]
        rows.append([model, sampler, int(moves), best_for_model(one_move, model), len(lost), lost.median(), lost.max()])
    moves, sampler = ["1", *best(behind).split()][-2:]
    rows.append([ANY, sampler, int(moves), best(one_move), len(behind), np.nan, np.nan])
    return pd.DataFrame(rows, columns=["model", "sampler", "moves", "single", "sets", "median", "worst"])


def draw(runs: Sequence[Run]) -> Drawing:
    """Losses of ``sampler=auto`` on data sets left out, compared with each fixed sampler."""
    chains = table(runs)
    behind = losses(chains)
    fixed = {AUTO: heldout_losses(behind)} | {name: behind[name] for name in behind.columns}
    order = sorted(fixed, key=lambda name: (name != AUTO, float(fixed[name].mean())))
    columns = [model for model in MODELS if model in behind.index.get_level_values("model")]
    rows = []
    for model, name in product(columns, order):
        if len(multiples := np.exp(fixed[name].loc[[model]].dropna().to_numpy())):
            rows.append(
                [model, name, len(multiples), np.median(multiples), np.quantile(multiples, 0.9), multiples.max()]
            )
    numbers = pd.DataFrame(rows, columns=["model", "schedule", "sets", "median", "nine_tenths", "worst"])
    taken = rule(chains).set_index("model")
    whole = np.exp(fixed[AUTO])
    taken_by = "; ".join(f"{MODELS[m]}: {taken['sampler'][m]}, {taken['moves'][m]} before a scan" for m in columns)
    notes = (
        "Points: medians over data sets; ends: the worst. auto: on each data set what all other data sets choose: the "
        "sampler that is best over all models, or the model's own best where it is clearly better, by "
        f"{CLEARLY:g} standard errors; median {whole.median():.2g}, 90 % below {whole.quantile(0.9):.2g}, worst "
        f"{whole.max():.3g}, over {len(whole)} data sets. All of them together choose {taken_by}. It takes none of "
        f"{', '.join(NOT_ALWAYS)}: they do not take all forms of a model, or learn from other chains after a warm-up. "
        "The best in hindsight is the fastest of some twenty samplers with one chain from each start, so that a "
        "sampler that were the best everywhere would lose something to chance as well."
    )
    return Drawing(picture_draw(numbers, order), numbers, (), notes)


def picture_draw(numbers: pd.DataFrame, order: Sequence[str] = ()) -> Figure:
    """A panel for each model and a row for each schedule, in this order; by default in the order of the numbers."""
    columns, order = list(dict.fromkeys(numbers["model"])), list(order or dict.fromkeys(numbers["schedule"]))
    figure, axes = plt.subplots(
        1, len(columns), figsize=(FULL, 0.16 * len(order) + 1.0), sharey=True, sharex=True, squeeze=False
    )
    for ax, model in zip(axes[0], columns, strict=True):
        _losses(ax, numbers[numbers["model"] == model], order)
        ax.set_title(MODELS[model], fontsize=7.5)
    axes[0, 0].set_yticks(range(len(order)), [schedule_title(name) for name in order], fontsize=6.5)
    axes[0, 0].set_ylim(len(order) - 0.4, -0.6)
    marks = [
        entry(color=FIXED, marker="o", markersize=3, linestyle="", label="median over data sets"),
        entry(color=FIXED, marker="|", markersize=5, linewidth=0.8, label="to the worst"),
    ]
    legend(figure, [entry(linestyle="", label="Time to the target, as a multiple of the best in hindsight:"), *marks])
    return figure


def _losses(ax: Axes, numbers: pd.DataFrame, order: Sequence[str]) -> None:
    """Median and worst of each schedule, in the rows of their order."""
    for row in numbers.itertuples(index=False):
        y, colour = order.index(row.schedule), REFERENCE if row.schedule == AUTO else FIXED
        ax.plot([row.median, row.worst], [y, y], color=colour, linewidth=0.8)
        ax.plot(row.median, y, "o", color=colour, markersize=3)
        ax.plot(row.worst, y, "|", color=colour, markersize=5)
    ax.set_xscale("log")
    ax.set_xlabel("times the best", fontsize=7)
    low, high = ax.get_xlim()
    # within one power of ten there may be no tick
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 20 * low else (1.0,)))
    ax.xaxis.set_major_formatter("{x:,g}")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.grid(axis="y", linewidth=0.3)
