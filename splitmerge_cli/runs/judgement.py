"""The evidence on the chains of a run, and the judgement on it.

The evidence on the chains of a run, and the judgement on it, which every line, table and page reads.

Two more chains from both ends, where all chains of a run keep one number of clusters.

A run that nobody gave a length ends when its chains agree. Where all of them keep one number of clusters, to which none
came from fewer, or none from more, their agreement shows nothing about those numbers: it may be that no move between is
ever accepted. Two chains then begin at one cluster and at as many as there can be, 500 at most, and make as many
iterations. They are evidence on convergence only; the estimate uses the chains of the run.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.diagnostics.convergence import NOT_CONVERGED, Convergence, convergence
from splitmerge_cli.diagnostics.monte_carlo_errors import report_errors
from splitmerge_cli.diagnostics.summary import count_arrivals, count_found, diagnose, second_half
from splitmerge_cli.runs import interrupts
from splitmerge_cli.runs.answers import late_rows
from splitmerge_cli.runs.starts import SEARCHES

if TYPE_CHECKING:
    from splitmerge_cli.core.chain import Chain
    from splitmerge_cli.diagnostics.convergence import Convergence
    from splitmerge_cli.diagnostics.summary import Row
    from splitmerge_cli.runs.plan import Plan
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


MOST_CLUSTERS = 500
"""Clusters at the start of the second chain, at most: a scan of a network costs the square of their number a node."""
BATCH = 1.0
"""Seconds between two looks for Ctrl-C."""


@dataclass(frozen=True)
class BothEnds:
    """Draws of two more chains."""

    trace: dict[str, NDArray[Any]]
    """Columns of the run's trace, the rows of both chains last."""
    partitions: dict[int, NDArray[np.int32]]
    """Recorded partitions ``[M, N]`` of the second half of every chain, by its number."""
    summary: list[dict[str, float]]
    """For each its clusters at the `start`, and the means of `n_clusters` and `log_joint` over its second half."""


def are_needed(plan: "Plan", judged: "Convergence") -> bool:
    """Whether chains that were judged are to be compared with two more."""
    # chains of adaptive samplers learn from all that there are
    can_be = not plan.is_adaptive and plan.dataset.kind.has_both_ends
    return can_be and plan.is_open and judged.is_one_sided and judged.converged is None


def run_from_both_ends(
    plan: "Plan",
    iterations: int,
    trace: Mapping[str, NDArray[Any]],
    partitions: Mapping[int, NDArray[np.int32]],
) -> BothEnds:
    """Make the two chains. `iterations`: of each; `trace`: columns of the trace of the run's own chains; `partitions`:
    recorded partitions ``[M, N]`` of their second halves. Raises `KeyboardInterrupt` (after Ctrl-C).
    """
    columns, late, summary = {name: [values] for name, values in trace.items()}, dict(partitions), []
    largest_K = min(plan.dataset.N, plan.largest_K, MOST_CLUSTERS)
    for number, K0 in enumerate((1, largest_K), plan.n_chains):
        builder = replace(plan.builder, spec=replace(plan.spec, init="random", K0=K0), labels=None)
        rows = _advance(plan, builder.chain(number), iterations)
        rows["chain"] = np.full(len(rows["iteration"]), number)
        for name, parts in columns.items():
            parts.append(rows[name])
        recorded_at = rows["partition_iteration"]
        if len(chosen := late_rows(recorded_at, iterations, plan.dataset.N)):
            late[number] = rows["partition_labels"][chosen]
        half = rows["iteration"] > iterations / 2
        means = {name: float(rows[name][half].mean()) for name in ("n_clusters", "log_joint")}
        summary.append({"start": int(rows["n_clusters"][0])} | means)
    return BothEnds({name: np.concatenate(parts) for name, parts in columns.items()}, late, summary)


def _advance(plan: "Plan", chain: "Chain", iterations: int) -> dict[str, NDArray[Any]]:
    parts: list[dict[str, NDArray[Any]]] = []
    while not parts or chain.iteration < iterations:
        if interrupts.is_interrupted():
            raise KeyboardInterrupt
        parts.append(plan.recorder.spacing.thin(chain.advance(iterations - chain.iteration, wall=BATCH)))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
