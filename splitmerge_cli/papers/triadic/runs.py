"""Settings of the runs in Table 1 of van Rossum et al. 2018, and the scores of their states."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.races import option
from splitmerge_cli.analysis.plots.style import look_of
from splitmerge_cli.papers.verdicts import Verdict
from splitmerge_cli.runs.store.read import Run


class Setting(NamedTuple):
    """Settings that the runs of one comparison share."""

    sigma1: float = 1.0
    noise: str = "known"
    conjugate: bool = True
    schedule: str = "move_only"
    timed: bool = False
    """Whether a time ends the chains, not a number of iterations."""


SETTINGS = {
    "main": Setting(),
    "main_scan": Setting(schedule="full_scan"),
    "main_timed": Setting(timed=True),
    "kept": Setting(conjugate=False),
    "kept_timed": Setting(conjugate=False, timed=True),
    "narrow": Setting(sigma1=0.1),
    "unknown": Setting(noise="nig"),
}
"""The settings of ``conf/experiment/triadic-table1.yaml``; as_printed runs have `main` and `kept`."""
WORDS = {
    "main": "sigma1 = 1, lines integrated out",
    "main_scan": "sigma1 = 1, lines integrated out, full Gibbs scan after each move",
    "main_timed": "sigma1 = 1, lines integrated out, equal time",
    "kept": "sigma1 = 1, lines kept",
    "kept_timed": "sigma1 = 1, lines kept, equal time",
    "narrow": "sigma1 = 0.1, lines integrated out",
    "unknown": "noise unknown, lines integrated out",
}
"""The settings in claims."""
TITLES = {name: words.replace("sigma1", "σ₁") for name, words in WORDS.items()}
TITLES |= {name: f"{TITLES[name]}: {{budget:g}} s" for name in ("main_timed", "kept_timed")}
TITLES["kept"] += ", as in the paper"
TITLES["unknown"] = TITLES["unknown"].replace("unknown", "unknown (mean variance 1)")
"""The settings in tables."""
METHODS = {
    "dyadic": "dyadic (SAMS)",
    "neal8": "auxiliary variables (m = 3)",
    "triadic": "triadic (SAMS, β = 0.1)",
    "as_printed_formula": "triadic as_printed, printed q",
    "as_printed_one": "triadic as_printed, q = 1",
}
METRICS = {"purity": "purity", "rand": "Rand index", "ari": "adjusted Rand index"}
"""Scores as they are stored, and how the paper calls them."""
CLAIMED = {"purity": "purity", "rand": "rand_index", "ari": "adjusted_rand_index"}
"""Their names in claims."""
STATES = {"last": "last state", "best_lik": "likeliest state"}
"""The scored states: the last one, and the likeliest, as in the authors' scripts."""


def setting_of(run: Run) -> str:
    """The name in `SETTINGS`."""
    model, c = run.config["model"], run.config
    timed = c["iterations"] is None
    used = Setting(model["sigma1"], model["noise"], model["conjugate"], option(run, "schedule"), timed)
    return next(name for name, setting in SETTINGS.items() if setting == used)


def method_of(run: Run) -> str:
    """The name in `METHODS`."""
    sampler = run.config["sampler"]
    if sampler["mode"] == "as_printed":
        return f"as_printed_{sampler['q_ratio']}"
    return "dyadic" if sampler["name"] == "sams" else str(sampler["name"])


def colour_key(method: str) -> str:
    """The sampler whose colour a method has."""
    return {"dyadic": "sams", "neal8": "neal8"}.get(method, "triadic")


def look_of_method(method: str) -> dict[str, Any]:
    """Colour, marker and dashes of a method."""
    return look_of(colour_key(method))


def number_of(run: Run) -> int:
    """Which data set: its number among the published ones, or the seed of the generated one."""
    data: dict[str, Any] = run.config["data"]
    return int(data["dataset"] if "dataset" in data else data["seed"])


def select_runs(runs: Sequence[Run], setting: str, method: str) -> list[Run]:
    """The runs of a setting and a method, by data set."""
    return sorted((r for r in runs if setting_of(r) == setting and method_of(r) == method), key=number_of)


def describe_data(runs: Sequence[Run]) -> str:
    """The data sets in words: how many, and whether they are the published ones."""
    sets, seeds = len({number_of(r) for r in runs}), max(r.config["chains"] for r in runs)
    kind = "generated data sets in place of the published ones" if is_stand_in(runs) else "published data sets"
    return f"{sets} {kind}, {seeds} seed{'s' * (seeds > 1)} each"


def is_stand_in(runs: Sequence[Run]) -> bool:
    """Whether the data were generated in place of the published ones."""
    return option(runs[0], "data") != "noparama_lines"


def name_sets(runs: Sequence[Run]) -> str:
    """Name the independent units: all published data sets there are, or generated ones."""
    return "data sets" if is_stand_in(runs) else "published data sets"


def name_data(runs: Sequence[Run], verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Verdicts that name data which are not the published ones."""
    return [replace(v, on="generated data" if is_stand_in(runs) else "") for v in verdicts]


def scores(runs: Sequence[Run]) -> pd.DataFrame:
    """Scores of the last and the likeliest state of every chain: columns setting, method, set, chain, SCORE_STATE for
    `METRICS` and `STATES`, seconds and iterations."""
    names = {f"{score}/{state}": f"{score}_{state}" for score in METRICS for state in STATES}
    frames = []
    for run in runs:
        rows = run.diagnostics()
        rows = rows[rows["quantity"].isin(names) & rows["chain"].notna()]
        frame = rows.pivot(index="chain", columns="quantity", values="value").rename(columns=names).sort_index()
        frame["seconds"], frame["iterations"] = run.summary["seconds"], run.summary["iterations"]
        where = {"setting": setting_of(run), "method": method_of(run), "set": number_of(run)}
        frames.append(frame.reset_index().assign(**where))
    table = pd.concat(frames, ignore_index=True)
    return table[["setting", "method", "set", "chain", *names.values(), "seconds", "iterations"]]


class Scores:
    """Scores of all chains, asked for by setting and method."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.chains = scores(runs)
        self.sets = name_sets(runs)
        means = self.chains.drop(columns="chain").groupby(["setting", "method", "set"]).mean()
        self._by_set = {key: part.droplevel([0, 1]) for key, part in means.groupby(level=[0, 1])}

    def has(self, setting: str, method: str) -> bool:
        """Whether there are runs of it."""
        return (setting, method) in self._by_set

    def by_set(self, setting: str, method: str, column: str) -> NDArray[np.float64]:
        """Mean over seeds for every data set, ``[sets]``."""
        return self._by_set[setting, method][column].to_numpy(float)

    def by_chain(self, setting: str, method: str, column: str) -> NDArray[np.float64]:
        """Mean over data sets for every number of a chain, ``[chains]``: the sets are all that there are."""
        c = self.chains
        rows = c[(c["setting"] == setting) & (c["method"] == method)]
        return rows.groupby("chain")[column].mean().to_numpy(float)

    def units(self, setting: str, method: str, column: str) -> tuple[NDArray[np.float64], str]:
        """The independent values of a score, and what they are: chains on the published sets, else data sets."""
        each = self.by_chain(setting, method, column)
        if self.sets == "published data sets" and len(each) > 1:
            return each, "chains"
        return self.by_set(setting, method, column), self.sets

    def unit_differences(self, setting: str, method: str, other: str, column: str) -> tuple[NDArray[np.float64], str]:
        """`method` minus `other` in the independent values, and what these are."""
        (first, unit), (second, _) = (self.units(setting, m, column) for m in (method, other))
        if unit == "chains":
            n = min(len(first), len(second))
            return first[:n] - second[:n], unit
        return self.difference(setting, method, other, column), unit

    def difference(self, setting: str, method: str, other: str, column: str) -> NDArray[np.float64]:
        """`method` minus `other`, paired by data set, ``[sets]``."""
        first, second = (self._by_set[setting, m][column] for m in (method, other))
        return (first - second).dropna().to_numpy(float)
