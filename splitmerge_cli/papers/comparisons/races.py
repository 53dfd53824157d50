"""Races of the comparisons: one for each data set, and a row for each of its chains."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from splitmerge_cli.analysis.plots.style import title_of
from splitmerge_cli.analysis.race import race_of
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
