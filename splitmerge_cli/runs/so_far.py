"""The clusters of a run that was interrupted, from the draws that its chains have made so far."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from splitmerge_cli.diagnostics.cluster_table import cluster_lines
from splitmerge_cli.diagnostics.partition_losses import by_size
from splitmerge_cli.diagnostics.point_estimate import TooManyClusters, estimate_partition, evenly_spaced
from splitmerge_cli.runs import summaries, uncertainty
from splitmerge_cli.runs.answers import answers_of, interval_of_trace, late_rows
from splitmerge_cli.runs.grouping import total_size
from splitmerge_cli.runs.recorders import Late
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.store.schema import PARAMETERS
from splitmerge_cli.terminal import one_line

if TYPE_CHECKING:
    from splitmerge_cli.runs.plan import Plan

PARTITIONS = 60
"""Draws that the estimate averages, at most: whoever interrupts a run does not wait."""
CELLS = 300_000
"""Items in these draws, at most; the best state stands for more."""


def lines_so_far(plan: "Plan", most_clusters: int) -> Iterator[str]:
    """Lines about an interrupted run: its clusters, `most_clusters` at most, and after how many iterations it ended.

    A run that would not describe its clusters, or has stored nothing, has no such lines.
    """
    run = Run(plan.path)
    try:
        trace = run.trace()
    except FileNotFoundError:
        return
    made, chains = trace.groupby("chain")["iteration"].max(), plan.n_chains
    begun = "" if len(made) == chains else f" of {len(made)} of {chains} chains"
    ended = f"interrupted after {made.min():,} iterations{begun}; not judged as converged"
    late = partial(_late_draws, run, made.to_dict(), plan.dataset.N)
    if (own := answers_of(plan.dataset.kind).so_far(plan, run, late)) is not None:
        first, *others = own
        yield from (first, ended, *others)
    elif summaries.is_described(plan):
        yield from map(one_line, _cluster_lines(plan, run, late(), interval_of_trace(trace), most_clusters))
        yield ended


def _late_draws(run: Run, made: Mapping[int, int], N: int) -> dict[int, Late]:
    """By chain the draws of its second half, after it `made` so many iterations."""
    late = {}
    with suppress(FileNotFoundError):  # no partition is recorded yet
        for chain, of_chain in run.partitions().groupby("chain"):
            rows = of_chain.iloc[late_rows(of_chain["iteration"].to_numpy(), made[chain], N)]
            if len(rows):
                values = [np.stack(rows[name].to_list()) for name in ("labels", PARAMETERS) if name in rows]
                late[int(chain)] = Late(rows["iteration"].to_numpy(), values[0].astype(np.int32), *values[1:])
    return late


def _cluster_lines(
    plan: "Plan", run: Run, late: Mapping[int, Late], interval: tuple[int, int], most_clusters: int
) -> Iterator[str]:
    """Lines about the clusters of an estimate from the draws, or, without draws of every chain, of the best state."""
    dataset, N = plan.dataset, plan.dataset.N
    labels, certainty, source = by_size(run.best_state(), dataset.row_sizes), None, "the best state so far"
    per_chain = min(PARTITIONS, CELLS // N) // max(len(late), 1)
    if per_chain and late and len(late) == len(run.partitions(["chain"])["chain"].unique()):
        draws = np.concatenate([rows.labels[evenly_spaced(len(rows.labels), per_chain)] for rows in late.values()])
        with suppress(TooManyClusters):
            items, apart = dataset.items, dataset.pairs_apart
            labels = estimate_partition(draws, interval=interval, items=items, apart=apart).labels
            certainty = uncertainty.membership_of(labels, draws, items)["certainty"]
            source = "an estimate from the draws so far"
    clusters, _ = summaries.describe_clusters(dataset, labels, certainty, {})
    facts = {"N": N, "model": plan.model.name} | dataset.facts_of_bundles
    rows, _ = summaries.set_apart(summaries.as_text(clusters), total_size(facts))
    heading = f"{summaries.count(labels, facts)}, {source}"
    yield from cluster_lines(rows, heading, most_clusters)
