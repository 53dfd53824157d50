"""The runs of Rana et al. 2013: which they are, when a chain has found its topics, and what was accepted by then."""

from collections.abc import Iterable, Sequence
from typing import Any

from splitmerge_cli.analysis.plots.runs import option, pick
from splitmerge_cli.analysis.plots.style import look_of, mark
from splitmerge_cli.runs.store.read import Run

METHODS = {
    "gibbs": "Gibbs alone",
    "coin": "split-merge, exact, coin",
    "pair": "split-merge, exact, pair",
    "text": "as printed, text",
    "box": "as printed, Algorithm 1",
}
"""Gibbs scans alone, and with the forms of split-merge, in the order of legends and tables."""
FORMS = {"coin": "exact", "text": "as printed"}
"""Forms of split-merge under which claims are judged."""
STYLES: dict[str, dict[str, Any]] = {
    "gibbs": look_of("gibbs"),
    "coin": look_of("smag", dashed=False),
    "pair": {"color": "#5A3E99", "linestyle": (0, (5, 1.5)), **mark("^")},
    "text": {"color": "#D55E00", "linestyle": (0, (4, 1, 1, 1)), **mark("s")},
    "box": {"color": "#CC79A7", "linestyle": (0, (1.5, 1)), **mark("v")},
}
STARTS = {"one_cluster": "from one topic", "random": "from five random topics"}
SETTINGS = {"groups4": "four groups", "docs200": "200 documents", "nearest": "40 documents (nearest)"}
"""Generated corpora with their hyper-parameters: the paper's, another, and where its claims come nearest."""
TRUE_K = 10


def method_of(run: Run) -> str:
    """Gibbs alone, or the form of split-merge."""
    sampler = run.config["sampler"]
    if sampler["name"] == "gibbs":
        return "gibbs"
    return str(sampler["form"] if sampler["mode"] == "as_printed" else sampler["choice"])


def start_of(run: Run) -> str:
    """The start of a run."""
    return str(run.config["init"] or "random")


def setting_of(run: Run) -> str:
    """Data and model of a generated corpus: ``groups4`` and ``docs200`` as they are, or ``nearest``."""
    return "nearest" if isinstance(run.config["model"]["gamma"], (int, float)) else str(option(run, "data"))


def describe_setting(run: Run) -> tuple[str, str]:
    """Documents, and hyper-parameters, in words."""
    data, model = run.config["data"], run.config["model"]
    kept = [f"{name} = {_value(model[key])}" for key, name in (("gamma", "γ"), ("alpha0", "α₀"), ("eta", "η"))]
    return f"{run.config['N']} × {data['length']:,} words, Dir({data['concentration']:g})", ", ".join(kept)


def _value(prior: object) -> str:
    return f"{prior:g}" if isinstance(prior, (int, float)) else str(prior).replace("gamma", "Γ")


def select(runs: Iterable[Run], setting: str, start: str, method: str) -> list[Run]:
    """The runs of a method on a setting from a start, by seed, of the largest number of iterations."""
    candidates = beginnings(runs, setting, start, method)
    longest = max((run.config["iterations"] for run in candidates), default=0)
    return [run for run in candidates if run.config["iterations"] == longest]


def beginnings(runs: Iterable[Run], setting: str, start: str, method: str) -> list[Run]:
    """Return the runs of a setting, start and method, whatever their number of iterations."""
    return pick(r for r in runs if (setting_of(r), start_of(r), method_of(r)) == (setting, start, method))


def reading(setting: str, start: str, method: str) -> str:
    """How the paper was read, for a verdict."""
    return ", ".join([SETTINGS[setting], STARTS[start], *([FORMS[method]] if method in FORMS else [])])


def describe_seeds(runs: Sequence[Run]) -> str:
    """Data sets and chains in words."""
    seeds = len({run.config["seed"] for run in runs})
    chains = max(run.config["chains"] for run in runs)
    return f"{seeds} data sets, {chains} chains on each" if seeds > 1 else f"One data set, {chains} chains"
