"""The clusters of a run that was interrupted, from the draws that its chains have made so far."""

from collections.abc import Iterator
from contextlib import suppress
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
    import pandas as pd

    from splitmerge_cli.runs.plan import Plan

PARTITIONS = 60
"""Draws that the estimate averages, at most: whoever interrupts a run does not wait."""
CELLS = 300_000
"""Items in these draws, at most; the best state stands for more."""


def _draws_of(rows: "pd.DataFrame") -> tuple[int, Late]:
    """A chain and its draws, by the rows of its table."""
    values = [np.stack(rows[name].to_list()) for name in ("labels", PARAMETERS) if name in rows]
    return int(rows["chain"].iloc[0]), Late(rows["iteration"].to_numpy(), values[0].astype(np.int32), *values[1:])


def lines_so_far(plan: "Plan", most_clusters: int) -> Iterator[str]:
    """Lines about an interrupted run: its clusters, `most_clusters` at most, and after how many iterations it ended.

    A run that would not describe its clusters, or has stored nothing, has no such lines.
    """
    run, N = Run(plan.path), plan.dataset.N
    answers = answers_of(plan.dataset.kind)
    if answers.by_share and not summaries.is_described(plan):
        return
    try:
        trace = run.trace()
    except FileNotFoundError:
        return
    iterations_made, late = trace.groupby("chain")["iteration"].max(), []
    begun = (
        "" if len(iterations_made) == plan.spec.chains else f" of {len(iterations_made)} of {plan.spec.chains} chains"
    )
    ended = f"interrupted after {iterations_made.min():,} iterations{begun}; not judged as converged"
    with suppress(FileNotFoundError):  # no partition is recorded yet
        for chain, rows in run.partitions().groupby("chain"):
            late.append(rows.iloc[late_rows(rows["iteration"].to_numpy(), iterations_made[chain], N)])
    if not answers.by_share:
        first, *others = answers.so_far(plan, by_size(run.best_state()), dict(map(_draws_of, filter(len, late))))
        yield from (first, ended, *others)
        return
    labels, certainty, source = by_size(run.best_state(), plan.dataset.row_sizes), None, "the best state so far"
    per_chain = min(PARTITIONS, CELLS // N) // max(len(late), 1)
    if per_chain and late and all(map(len, late)):
        partitions = [rows["labels"].iloc[evenly_spaced(len(rows), per_chain)] for rows in late]
        draws = np.stack([row for of_chain in partitions for row in of_chain]).astype(np.int32)
        with suppress(TooManyClusters):
            items = plan.dataset.items
            apart = plan.dataset.pairs_apart
            labels = estimate_partition(draws, interval=interval_of_trace(trace), items=items, apart=apart).labels
            certainty = uncertainty.membership_of(labels, draws, items)["certainty"]
            source = "an estimate from the draws so far"
    clusters, _ = summaries.describe_clusters(plan.dataset, labels, certainty, {})
    facts = {"N": N, "model": plan.spec.model.name} | plan.dataset.facts_of_bundles
    rows, _ = summaries.set_apart(summaries.as_text(clusters), total_size(facts))
    heading = f"{summaries.count(labels, facts)}, {source}"
    yield from map(one_line, cluster_lines(rows, heading, most_clusters))
    yield ended
