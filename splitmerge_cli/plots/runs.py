"""The runs of a figure: chosen by their options, their traces as arrays."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.results.read import Run


def option(run: Run, key: str) -> Any:
    """The value of a dotted configuration key; of a group its name."""
    node: Any = run.config
    for part in key.split("."):
        node = node[part]
    return node["name"] if isinstance(node, dict) else node


def pick(runs: Iterable[Run], **where: Any) -> list[Run]:
    """The runs with these options, by seed; a dot in a key is written as two underscores."""
    chosen = [r for r in runs if all(option(r, key.replace("__", ".")) == value for key, value in where.items())]
    return sorted(chosen, key=lambda r: option(r, "seed"))


def values(runs: Iterable[Run], key: str) -> list[Any]:
    """The different values of an option among runs, ascending."""
    return sorted({option(run, key) for run in runs})


def series(runs: Sequence[Run], column: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """One column of the traces of runs of equal length.

    Returns
    -------
    iteration : numpy.ndarray
        int64 ``[rows]``.
    values : numpy.ndarray
        float64 ``[chains of all runs, rows]``.
    """
    rows = []
    iteration = np.empty(0, np.int64)
    for run in runs:
        for _, chain in run.trace(["chain", "iteration", column]).groupby("chain", sort=True):
            iteration = chain["iteration"].to_numpy()
            rows.append(chain[column].to_numpy(float))
    return iteration, np.stack(rows)


def thinned(n: int, points: int = 400, log: bool = False) -> NDArray[np.int64]:
    """Positions of at most `points` of `n` rows, the first and the last among them, evenly (`log`: geometrically)."""
    at = np.geomspace(1, n, points) - 1 if log else np.linspace(0, n - 1, points)
    return np.unique(at.round().astype(np.int64))
