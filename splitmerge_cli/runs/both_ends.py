"""Two more chains from both ends, where all chains of a run keep one number of clusters.

A run that nobody gave a length ends when its chains agree. Where all of them keep one number of clusters, to which none
came from fewer, or none from more, their agreement shows nothing about those numbers: it may be that no move between is
ever accepted. Two chains then begin at one cluster and at as many as there can be, 500 at most, and make as many
iterations. They are evidence on convergence only; the estimate uses the chains of the run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.runs import interrupts
from splitmerge_cli.runs.clusterings import late_rows

if TYPE_CHECKING:
    from splitmerge_cli.core.chain import Chain
    from splitmerge_cli.diagnostics.convergence import Convergence
    from splitmerge_cli.runs.plan import Plan

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
    spec = plan.spec
    # chains of adaptive samplers learn from all that there are
    can_be = not spec.is_adaptive and spec.model.kind.has_both_ends
    return can_be and spec.is_open and judged.is_one_sided and judged.converged is None


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
    for number, K0 in enumerate((1, largest_K), plan.spec.chains):
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
