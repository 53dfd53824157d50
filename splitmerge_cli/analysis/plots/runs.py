"""The runs of a figure: chosen by their options, their traces as arrays."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.style import plain_text, title_of
from splitmerge_cli.diagnostics.cluster_table import shorten
from splitmerge_cli.runs.grouping import describe_rows, has_units, total_size
from splitmerge_cli.runs.judgement import judgement_of
from splitmerge_cli.runs.store.read import Run

LONGEST = 40
"""Most letters of a data set's name in a title."""


@dataclass(frozen=True)
class Picture:
    """A picture that a run may have.

    `can_draw` and `draw` raise `ConfigError` or `DataError` if they need the data again, which cannot be loaded.
    """

    answers: str
    """The question that it answers."""
    shows: str
    """The kind of chart and its axes, in a line."""
    can_draw: Callable[[Run], bool]
    """Whether a run has it."""
    draw: Callable[[Run], Figure]
    in_column: bool = False
    """Whether it can be read at the width of a column."""


def option(run: Run, key: str) -> Any:
    """The value of a dotted configuration key; of a group its name."""
    node: Any = run.config
    for part in key.split("."):
        node = node[part]
    return node["name"] if isinstance(node, dict) else node


def data_name(run: Run) -> str:
    """Name of a run's data in titles: the file without its ending, the network, or the data set."""
    data = run.config["data"]
    if path := data.get("path"):
        name = PurePath(path).name
        stem = name.removesuffix(".gz").rpartition(".")[0] or name
        return plain_text("standard input" if path == "-" else shorten(stem, LONGEST))
    if data["name"] == "networkx":
        return plain_text(str(data["graph"]).replace("_", " "))
    return plain_text("data from Python" if data["name"] == "given" else str(data["name"]))


def subject(run: Run) -> str:
    """Sampler, data and number of items, as titles begin."""
    sampler = option(run, "sampler")
    counted = f"{run.summary['N']:,}"
    if has_units(run.summary):
        counted = describe_rows(run.summary)
    elif (size := total_size(run.summary)) != run.summary["N"]:
        counted = f"{size:,.10g} in {counted} rows"
    return f"{title_of(sampler)} on {data_name(run)}, N = {counted}"


def state_of(run: Run) -> str:
    """A sentence, after a space, if a run shows the clusters of its best state; otherwise nothing."""
    if "expected_vi" in run.summary["point_estimate"]:
        return ""
    apart = judgement_of(run).converged is False
    return " The clusters are the best state" + (": the chains have not converged." if apart else ".")


def pick(runs: Iterable[Run], **where: Any) -> list[Run]:
    """The runs with these options, by seed; a dot in a key is written as two underscores."""
    chosen = [r for r in runs if all(option(r, key.replace("__", ".")) == value for key, value in where.items())]
    return sorted(chosen, key=lambda r: option(r, "seed"))


def values(runs: Iterable[Run], key: str) -> list[Any]:
    """The different values of an option among runs, ascending."""
    return sorted({option(run, key) for run in runs})


def series(runs: Sequence[Run], column: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """One column from the traces of several runs, all equally long: iteration, int64 ``[rows]``, and values, float64
    ``[chains of all runs, rows]``."""
    rows = []
    iteration = np.empty(0, np.int64)
    for run in runs:
        for _, chain in run.trace(["chain", "iteration", column]).groupby("chain", sort=True):
            iteration = chain["iteration"].to_numpy()
            rows.append(chain[column].to_numpy(float))
    return iteration, np.stack(rows)


def data_sets(runs: Sequence[Run]) -> NDArray[np.int64]:
    """The data set of every chain, by number, int64 ``[chains of all runs]``.

    Chains that share their data are not independent of each other.
    """
    keys = [json.dumps([run.config["N"], run.config["data"]], sort_keys=True) for run in runs]
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return np.repeat([number[key] for key in keys], [run.config["chains"] for run in runs]).astype(np.int64)


def thinned_rows(n: int, points: int = 400, log: bool = False) -> NDArray[np.int64]:
    """Positions of at most `points` of `n` rows, the first and the last among them, evenly (`log`: geometrically)."""
    places = np.geomspace(1, n, points) - 1 if log else np.linspace(0, n - 1, points)
    return np.unique(places.round().astype(np.int64))
