"""Races of every sampler, one for each data set with a row for each chain; what they choose where no sampler is named;
how cost grows with the data; and how far every sampler is from the posterior of small data, which is enumerated."""

import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from splitmerge_cli.analysis.plots import style
from splitmerge_cli.analysis.race import race_of
from splitmerge_cli.config.resolution import ANY, AUTO
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.verify.command import records

MODELS = {
    "gaussian": "Gaussian",
    "bernoulli": "Bernoulli",
    "mixed": "mixed",
    "emm": "EMM",
    "lines": "lines",
    "irm": "network",
    "hdp": "topics",
}
"""Models in the order in which they are shown, and what they are called there."""
TRIAL = ["model", "items", "data"]
"""Columns that tell a data set from another."""
_last: dict[tuple[str, ...], pd.DataFrame] = {}
"""The last table by the folders of its runs: two figures are drawn from the same thousands of them."""


def schedule_of(config: Mapping[str, Any]) -> str:
    """Name the moves of a run: its sampler, or ``5 sams`` where several come before each scan."""
    moves = config["schedule"].get("moves", 1)
    return f"{moves} {config['sampler']['name']}" if moves > 1 else str(config["sampler"]["name"])


def schedule_title(schedule: str) -> str:
    """The name of a schedule in pictures."""
    return " ".join(map(style.title_of, schedule.split()))


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Race the runs of each data set, of any models, and put all chains into one table.

    A row a chain: model, items, data (the options that tell data sets of a model apart), schedule, start (``one``
    cluster or ``many``), seconds (to the target; inf: never), end (seconds of the whole chain), agree (share of the
    chains of the race that agree with the best), and a second: ess_n_clusters, ess_log_joint, ess_partition, accepted.
    """
    key = tuple(str(run.path) for run in runs)
    if key in _last:
        return _last[key].copy()
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(json.dumps([run.config[key] for key in ("data", "model", "N")]), []).append(run)
    parts = []
    for number, of_set in enumerate(groups.values()):
        race = race_of(of_set)
        config = of_set[0].config
        frame = race.chains.drop(columns=["sampler", "seed"])
        frame.insert(0, "set", number)
        frame.insert(0, "model", config["model"]["name"])
        frame.insert(2, "items", of_set[0].summary["N"])
        frame.insert(3, "schedule", [schedule_of(run.config) for run in of_set for _ in range(run.config["chains"])])
        frame["start"] = np.where(frame["start"] == "one_cluster", "one", "many")
        frame.insert(6, "agree", race.target.chains / len(race.tracks))
        parts.append(frame)
    whole = pd.concat(parts, ignore_index=True)
    # each data set has the options that differ among the data sets of its model
    options = [of_set[0].config["data"] for of_set in groups.values()]
    name_of_set: dict[int, str] = {}
    for _, sets in whole.groupby("model")["set"].unique().items():
        keys = [key for key in options[sets[0]] if len({json.dumps(options[one].get(key)) for one in sets}) > 1]
        name_of_set |= {one: " ".join(f"{key}={options[one][key]}" for key in keys if key != "N") for one in sets}
    whole.insert(2, "data", whole.pop("set").map(name_of_set))
    _last.clear()
    _last[key] = whole
    return whole.copy()


def losses(chains: pd.DataFrame) -> pd.DataFrame:
    """Logarithm of the time to the target over the best one in hindsight, of chains as in `table`: a row for each
    data set (index `TRIAL`), a column for each schedule; 0 of the best, NaN where a schedule did not run.

    The time is a mean over the starts of a data set. A chain that never gets there counts with all its time, so that
    its seconds are too few.
    """
    seconds = np.log(np.maximum(np.minimum(chains["seconds"], chains["end"]), 1e-6))
    logs = chains.assign(log=seconds).pivot_table(index=TRIAL, columns="schedule", values="log", aggfunc="mean")
    return logs.sub(logs.min(axis=1), axis=0)


SLOWEST = 100.0
"""Times the fastest where colours end."""
LEAST = 0.01
"""Share of the most effective draws where colours end."""


def matrix(runs: Sequence[Run]) -> Drawing:
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
    return Drawing(picture_matrix(chains), chains, (), notes)


def _models(chains: pd.DataFrame) -> list[str]:
    """The models that were raced, in the order of `MODELS`."""
    present = set(chains["model"])
    return [name for name in MODELS if name in present]


def picture_matrix(numbers: pd.DataFrame) -> Figure:
    """Two heat maps with numbers."""
    times = relative_times(numbers)
    # effective draws a second over the most of any schedule on the same data, means over data sets
    by = numbers.pivot_table(index=TRIAL, columns="schedule", values="ess_log_joint", aggfunc="mean")
    most = by.max(axis=1)
    draws = by[most > 0].div(most[most > 0], axis=0).groupby(level="model").mean().T
    rows = sorted(times.index, key=lambda name: float(np.log(times.loc[name]).mean()))
    columns = _models(numbers)
    figure, (left, right) = plt.subplots(1, 2, figsize=(style.FULL, 0.17 * len(rows) + 0.9), sharey=True)
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


def auto(runs: Sequence[Run]) -> Drawing:
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
    return Drawing(picture_auto(numbers, order), numbers, (), notes)


def picture_auto(numbers: pd.DataFrame, order: Sequence[str] = ()) -> Figure:
    """A panel for each model and a row for each schedule, in this order; by default in the order of the numbers."""
    columns, order = list(dict.fromkeys(numbers["model"])), list(order or dict.fromkeys(numbers["schedule"]))
    figure, axes = plt.subplots(
        1, len(columns), figsize=(style.FULL, 0.16 * len(order) + 1.0), sharey=True, sharex=True, squeeze=False
    )
    for ax, model in zip(axes[0], columns, strict=True):
        # median and worst of each schedule
        for row in numbers[numbers["model"] == model].itertuples(index=False):
            y, colour = order.index(row.schedule), style.REFERENCE if row.schedule == AUTO else FIXED
            ax.plot([row.median, row.worst], [y, y], color=colour, linewidth=0.8)
            ax.plot(row.median, y, "o", color=colour, markersize=3)
            ax.plot(row.worst, y, "|", color=colour, markersize=5)
        ax.set(xscale="log")
        ax.set_xlabel("times the best", fontsize=7)
        low, high = ax.get_xlim()
        # within one power of ten there may be no tick
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 20 * low else (1.0,)))
        ax.xaxis.set_major_formatter("{x:,g}")
        ax.xaxis.set_minor_locator(NullLocator())
        ax.grid(axis="y", linewidth=0.3)
        ax.set_title(MODELS[model], fontsize=7.5)
    axes[0, 0].set_yticks(range(len(order)), [schedule_title(name) for name in order], fontsize=6.5)
    axes[0, 0].set_ylim(len(order) - 0.4, -0.6)
    marks = [
        style.entry(color=FIXED, marker="o", markersize=3, linestyle="", label="median over data sets"),
        style.entry(color=FIXED, marker="|", markersize=5, linewidth=0.8, label="to the worst"),
    ]
    style.legend(
        figure, [style.entry(linestyle="", label="Time to the target, as a multiple of the best in hindsight:"), *marks]
    )
    return figure


AXES = {"items": "items N", "dimensions": "dimensions D", "clusters": "clusters K"}
DASHES = (0, (3, 1.5))
"""Dashes of samplers that make several moves before a scan; their marks belong to the sampler."""


def scaling(runs: Sequence[Run]) -> Drawing:
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
    return Drawing(picture_scaling(chains), chains, (), notes)


def _usual(chains: pd.DataFrame) -> dict[str, int]:
    """Values of the axes where another one varies."""
    usual = {axis: chains[axis].mode()[0] for axis in ("dimensions", "clusters")}
    # the size at which anything else varies
    usual["items"] = chains[chains["dimensions"] != usual["dimensions"]]["items"].max()
    return usual


def picture_scaling(numbers: pd.DataFrame) -> Figure:
    """Two rows of panels, a column for each axis."""
    usual = _usual(numbers)
    figure, axes = plt.subplots(2, len(AXES), figsize=(style.FULL, 4.0), sharex="col", sharey="row")
    for column, (axis, words) in zip(axes.T, AXES.items(), strict=True):
        others = [other for other in AXES if other != axis]
        of_axis = numbers[np.logical_and.reduce([numbers[other] == usual[other] for other in others])]
        _lines(column[0], of_axis.assign(pace=1e6 * of_axis["iteration"] / of_axis["items"]), axis, "pace")
        _lines(column[1], of_axis, axis, "time")
        column[1].set(xscale="log", xlabel=words)
        if axis == "items":
            style.powers(column[1].xaxis)
        else:
            values = sorted(of_axis[axis].unique())
            column[1].set_xticks(values, [f"{x:g}" for x in values])
            column[1].xaxis.set_minor_locator(NullLocator())
    for ax, words in zip(axes[:, 0], ("μs an iteration and item", "seconds to the target"), strict=True):
        ax.set(yscale="log", ylabel=words)
        style.log_ticks(ax.yaxis)
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
        look = style.look_of(str(schedule).split()[-1], dashed=False)
        if " " in str(schedule):
            look["linestyle"] = DASHES
        ax.plot(medians.index, medians, linewidth=1, label=schedule_title(str(schedule)), **look)
        if value == "time":
            late = medians[~reached]
            ax.plot(late.index, late, **style.hollow(look))


ALL = ("all",)
NUMBERS = ("defect", "gibbs_defect", "tv", "gibbs_tv", "sampled_tv", "noise")
ROUNDING = 1e-17
"""Where deviations end that are rounding alone."""
MARKS: dict[tuple[str, str], dict[str, Any]] = {
    ("exact", "defect"): {"label": "exact, alone", "color": "#0072b2", "marker": "o"},
    ("exact", "gibbs_defect"): {"label": "exact, with a Gibbs scan", "color": "#0072b2", "marker": "o", "hollow": True},
    ("as_printed", "defect"): {"label": "as printed, alone", "color": "#d55e00", "marker": "D"},
}
MARKS["as_printed", "gibbs_defect"] = MARKS["as_printed", "defect"] | {
    "label": "as printed, with a Gibbs scan",
    "hollow": True,
}
"""Marks by mode and column, from above to below in a row."""


def compute(iterations: int | None) -> pd.DataFrame:
    """Compare all samplers with the enumerated posteriors of all small cases, exact and as printed, and by chains as
    long as the configuration's.

    A row for each form of a sampler on each case: sampler, model, case, form, mode; defect and gibbs_defect (max abs(pi
    P - pi), alone and with a Gibbs scan), tv and gibbs_tv (total variation of the stationary distribution), sampled_tv
    and noise (of a chain, and what an exact sampler shows by chance), verdict. NaN where a choice cannot be listed, or
    the kernel alone does not reach every state.
    """
    asked = {"sampler": ",".join(ALL), "mode": "both", "iterations": str(iterations or 0)}
    table = pd.DataFrame(records(asked))
    for name in NUMBERS:
        # marks behind a number say how it was sampled
        table[name] = pd.to_numeric(table[name].str.rstrip("*+"), errors="coerce")
    return table[["sampler", "model", "case", "form", "mode", *NUMBERS, "verdict"]]


def exactness(table: pd.DataFrame) -> Drawing:
    """Deviation of the kernels, and of sampled chains compared with chance for an exact one."""
    # a stored table has empty cells where there is no number
    table = table.assign(**{name: pd.to_numeric(table[name], errors="coerce") for name in NUMBERS})
    rows = sorted(table["sampler"].unique())
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(style.FULL, 0.24 * len(rows) + 1.1), sharey=True, width_ratios=[1.9, 1]
    )
    for step, ((mode, column), mark) in enumerate(MARKS.items()):
        _marks(left, table[table["mode"] == mode], column, rows, (step - 1.5) / 6, mark)
    for step, mode in enumerate(("exact", "as_printed")):
        of_mode = table[table["mode"] == mode].assign(ratio=lambda t: t["sampled_tv"] / t["noise"])
        mark = {**MARKS[mode, "defect"], "label": None}
        _marks(right, of_mode, "ratio", rows, (step - 0.5) / 3, mark)
    left.set(xscale="log", xlabel="max |πP − π| of the kernel", xlim=(ROUNDING / 3, 1))
    right.set(xscale="log", xlabel="TV of a chain / TV by chance")
    for ax in (left, right):
        style.powers(ax.xaxis)
        ax.grid(axis="y", linewidth=0.3)
    right.axvline(1, color=style.REFERENCE, linewidth=0.8, linestyle=(0, (4, 3)))
    left.set_yticks(range(len(rows)), [style.title_of(name) for name in rows])
    left.set_ylim(len(rows) - 0.4, -0.6)
    figure.legend(loc="outside upper left", ncols=4)
    exact, printed = (table[table["mode"] == mode] for mode in ("exact", "as_printed"))
    biased = printed[printed["verdict"].str.startswith("biased")]
    notes = (
        f"{len(table)} forms of {len(rows)} samplers on {table['case'].nunique()} small data sets of "
        f"{table['model'].nunique()} models. Exact: max |πP − π| is at most {exact['defect'].max():.1g} alone and "
        f"{exact['gibbs_defect'].max():.1g} with a scan, which is rounding. As printed: {len(biased)} of "
        f"{len(printed)} forms have another stationary distribution, at a total variation distance of up to "
        f"{biased['tv'].max():.2g} alone and {biased['gibbs_tv'].max():.2g} with a Gibbs scan. Right: total "
        "variation between the frequencies of a chain and the posterior, over what an exact sampler shows by chance."
    )
    return Drawing(figure, table, (), notes)


def _marks(ax: Axes, table: pd.DataFrame, column: str, rows: Sequence[str], shift: float, mark: dict[str, Any]) -> None:
    """Marks of all forms in the rows of their samplers."""
    measured = table[table[column].notna()]
    heights = np.array([rows.index(name) for name in measured["sampler"]]) + shift
    face = "none" if mark.get("hollow") else mark["color"]
    look = {"marker": mark["marker"], "facecolors": face, "edgecolors": mark["color"], "label": mark["label"]}
    ax.scatter(np.maximum(measured[column], ROUNDING), heights, s=9, linewidths=0.5, alpha=0.7, **look)
