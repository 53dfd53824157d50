"""The evidence on the chains of a run, and the judgement on it, which every line, table and page reads."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.diagnostics.convergence import NOT_CONVERGED, Convergence, convergence
from splitmerge_cli.diagnostics.monte_carlo_errors import report_errors
from splitmerge_cli.diagnostics.summary import count_arrivals, count_found, diagnose, second_half
from splitmerge_cli.runs.starts import SEARCHES

if TYPE_CHECKING:
    from splitmerge_cli.diagnostics.convergence import Convergence
    from splitmerge_cli.diagnostics.summary import Row
    from splitmerge_cli.runs.store.read import Run


APART = 1.5
"""R-hat from which on chains lie in different modes; below it chains that have not converged only mix slowly."""


def lie_apart(rhat: float | None) -> bool:
    """Whether chains with this largest R-hat (None: it is infinite) lie in different modes."""
    return rhat is None or rhat >= APART


def differ(judged: Convergence) -> bool:
    """Whether R-hat shows that chains differ, whatever else is judged of them."""
    return judged.rhat is not None and judged.rhat >= NOT_CONVERGED


def evidence(
    trace: Mapping[Any, Any],
    moves: Iterable[Mapping[str, Any]],
    partitions: Mapping[int, NDArray[np.int32]],
    init: str,
    largest_K: int | None = None,
    smallest_K: int = 1,
    further: Iterable["Row"] = (),
    averaged: Mapping[int, NDArray[np.int32]] | None = None,
) -> list["Row"]:
    """The diagnosis of a run.

    Parameters
    ----------
    trace, moves, partitions
        As of `splitmerge_cli.diagnostics.summary.diagnose`.
    init : str
        Where chains began: those that each build a start of their own share none that they could leave.
    largest_K : int, optional
        Most clusters that there can be, where that is known.
    smallest_K : int
        Fewest clusters that there can be.
    further : iterable of Row
        Rows that a kind of data adds.
    averaged : mapping of int to numpy.ndarray, optional
        The `partitions` that an estimate averages, where Monte Carlo errors are asked for.
    """
    rows = list(further)
    if averaged is not None:
        rows += report_errors(second_half({name: trace[name] for name in OF_COUNTS})["n_clusters"], averaged)
    if len(set(np.asarray(trace["chain"]).tolist())) > 1:
        rows += count_found(trace, init in SEARCHES)
        # chains of init=pairs come from more clusters and from fewer
        rows += [] if init in (*SEARCHES, "pairs") else count_arrivals(trace, largest_K, smallest_K)
    return diagnose(trace, moves, rows, partitions)


OF_COUNTS = ("chain", "iteration", "n_clusters")
"""Columns of a trace that give the number of clusters."""
LATER = ("mcse", "mcse_of")
"""Fields of a judgement that runs were stored without: None."""
JUDGED = ("rhat", "rhat_classic", "ess", "ess_tail", "found", "arrivals")
"""Kinds of rows, over all chains, by which chains are judged."""


def judge_anew(diagnosis: Iterable["Row"], others: Iterable["Row"]) -> list["Row"]:
    """Replace the rows of a diagnosis that judge its chains by the rows of another diagnosis."""

    def is_judged(row: "Row") -> bool:
        return row[1] is None and row[0].partition("/")[0] in JUDGED

    instead = {row[0]: row for row in others if is_judged(row)}
    rows = [instead.pop(row[0], None) if is_judged(row) else row for row in diagnosis]
    return [*(row for row in rows if row is not None), *instead.values()]


def evidence_of(run: "Run") -> list["Row"]:
    """The diagnosis of a run, finished or not, from what its chains have recorded so far."""
    from splitmerge_cli.runs.clusterings import late_rows

    trace, late = run.trace(), {}
    iterations_made = trace.groupby("chain")["iteration"].max()
    if (recorded := run.partitions()) is not None:
        for chain, rows in recorded.groupby("chain"):
            chosen = late_rows(rows["iteration"].to_numpy(), int(iterations_made[chain]), len(rows["labels"].iloc[0]))
            if len(chosen):
                late[int(chain)] = np.stack(rows["labels"].iloc[chosen].tolist()).astype(np.int32)
    return evidence(trace, run.moves().to_dict("records"), late, run.config["init"])


def judgement_of(run: "Run") -> "Convergence":
    """The judgement on the chains of a run: as stored, or made from its files if the run is unfinished or older."""
    stored = (run.summary.get("convergence") if run.is_done else None) or {}
    names = [field.name for field in fields(Convergence)]
    if not stored.keys() >= set(names) - set(LATER):
        return convergence(evidence_of(run))
    values: dict[str, Any] = {name: stored.get(name) for name in names}
    values |= {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return Convergence(**values)
