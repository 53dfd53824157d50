"""Races of the comparisons: one for each data set, with a row for each chain, and their picture."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from splitmerge_cli.analysis.plots.style import FULL, title_of
from splitmerge_cli.analysis.race import race_of
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.runs.store.read import Run

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
    words = (title_of(word) for word in schedule.split())
    return " ".join(words)


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Race the runs of each data set, of any models, and put all chains into one table.

    A row a chain: model, items, data (the options that tell data sets of a model apart), schedule, start (``one``
    cluster or ``many``), seconds (to the target; inf: never), end (seconds of the whole chain), agree (share of the
    chains of the race that agree with the best), and a second: ess_n_clusters, ess_log_joint, ess_partition, accepted.
    """
    key = tuple(str(run.path) for run in runs)
    if key not in _last:
        _last.clear()
        _last[key] = _table(runs)
    return _last[key].copy()


def _table(runs: Sequence[Run]) -> pd.DataFrame:
    """See `table`."""
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
    options = {number: of_set[0].config["data"] for number, of_set in enumerate(groups.values())}
    named = dict(_name_sets(whole, options))
    whole.insert(2, "data", [named[number] for number in whole.pop("set")])
    return whole


def _name_sets(whole: pd.DataFrame, options: Mapping[int, Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    """For each data set the options that differ among the data sets of its model."""
    for _, of_model in whole.groupby("model"):
        sets = [int(number) for number in of_model["set"].unique()]
        keys = [key for key in options[sets[0]] if len({json.dumps(options[one].get(key)) for one in sets}) > 1]
        for one in sets:
            yield one, " ".join(f"{key}={options[one][key]}" for key in keys if key != "N")


def log_times(table: pd.DataFrame) -> pd.DataFrame:
    """Mean logarithm of the seconds to the target over the starts of a data set; NaN where a schedule did not run.

    A row for each data set (index `TRIAL`), a column for each schedule. A chain that never gets there counts with all
    its time, so that its seconds are too few.
    """
    seconds = np.log(np.maximum(np.minimum(table["seconds"], table["end"]), 1e-6))
    return table.assign(log=seconds).pivot_table(index=TRIAL, columns="schedule", values="log", aggfunc="mean")


def losses(chains: pd.DataFrame) -> pd.DataFrame:
    """Logarithm of the time to the target over the best one in hindsight, of chains as in `table`: a row for each
    data set, a column for each schedule; 0 of the best."""
    logs = log_times(chains)
    return logs.sub(logs.min(axis=1), axis=0)


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
    times = relative_times(numbers)
    # effective draws a second over the most of any schedule on the same data, means over data sets
    by = numbers.pivot_table(index=TRIAL, columns="schedule", values="ess_log_joint", aggfunc="mean")
    most = by.max(axis=1)
    draws = by[most > 0].div(most[most > 0], axis=0).groupby(level="model").mean().T
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
