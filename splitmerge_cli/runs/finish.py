"""Runs that end: the tables and the summary of complete chains, and the clusters of a run that was interrupted."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.data.arrow import numbers_of
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics import agreement, around_estimate, cluster_table, point_estimate, similarity
from splitmerge_cli.diagnostics.convergence import Convergence, convergence
from splitmerge_cli.diagnostics.partition_losses import by_size, distances
from splitmerge_cli.diagnostics.summary import Row, score, second_half
from splitmerge_cli.runs import answers, checks, grouping, judgement, recorders, summaries
from splitmerge_cli.runs.judgement import evidence, judge_anew
from splitmerge_cli.runs.plan import Plan
from splitmerge_cli.runs.store import files, read, schema
from splitmerge_cli.runs.store.store import ChainStore, RunStore
from splitmerge_cli.terminal import one_line


def assemble(
    plan: Plan,
    store: RunStore,
    chains: Sequence[ChainStore],
    outcomes: Sequence[Mapping[str, Any]],
    say: Callable[[str], None],
) -> None:
    """Write the parquet files, the diagnosis and the summary of complete chains; `say` receives what takes time."""
    store.write_streamed(schema.TRACE, chains, width=12)
    store.write_streamed(schema.PARTITIONS, chains, width=plan.dataset.N)
    moves = [{"chain": c} | move for c, outcome in enumerate(outcomes) for move in outcome["moves"]]
    names = schema.recorded_columns(schema.MOVES).names
    store.write_rows(schema.MOVES, [[move[name] for name in names] for move in moves])
    iterations = [outcome["iterations"] for outcome in outcomes]
    kind_answers = answers.answers_of(plan.dataset.kind)
    late = kind_answers.leave_apart(plan, answers.late_partitions(store.path, plan.dataset.N, iterations))
    averaged_draws = answers.select_draws(late)
    partitions = {c: rows.labels for c, rows in averaged_draws.items()}
    trace = _diagnosed_trace(store.path, kind_answers.unjudged)
    counts = answers.late_counts(trace)
    interval = point_estimate.interval_of_counts(counts)
    pooled, why_not = answers.pooled_estimate(plan.recorder, partitions, interval)
    fields, rows = plan.recorder.assemble(store, chains, outcomes)
    of_chains = {c: rows.labels for c, rows in late.items()}
    rows = [*rows, *kind_answers.judge(of_chains)]
    averaged = {} if plan.recorder.not_estimated else partitions
    possible_K = plan.largest_K, plan.dataset.smallest_K
    diagnostics = evidence(trace, moves, of_chains, plan.spec.init, *possible_K, rows, averaged)
    judged = convergence(diagnostics)
    ends = None
    if judgement.are_needed(plan, judged):
        say("all chains keep one number of clusters: two more chains, from both ends, check it")
        ends = judgement.run_from_both_ends(plan, min(iterations), trace, of_chains)
        diagnostics = judge_anew(diagnostics, evidence(ends.trace, [], ends.partitions, plan.spec.init, *possible_K))
        judged = convergence(diagnostics)
    groups, gap, joined_by = None, plan.spec.gap, None
    may_have_groups = plan.recorder.is_listed and not plan.is_experiment and judged.converged is not False
    if not gap and pooled is not None and may_have_groups:
        groups = grouping.find_groups(plan.dataset, pooled.estimate.labels, averaged_draws)
        if gap is None and groups is not None and grouping.are_sure(groups, pooled.estimate.labels, pooled.sampled):
            gap, groups = groups["gap"], None
    if gap:
        components, _ = answers.listed_counts(plan.recorder, averaged_draws, counts)
        averaged_draws, counts, joined_by = _join(plan, store, averaged_draws, counts, gap)
        joined_by["components"] = list(point_estimate.interval_of_counts(components))
        interval = point_estimate.interval_of_counts(counts)
        partitions = {c: rows.labels for c, rows in averaged_draws.items()}
        pooled, why_not = answers.pooled_estimate(plan.recorder, partitions, interval)
    listed, is_apart = answers.listed_counts(plan.recorder, averaged_draws, counts)
    # what pools chains that differ describes none of them
    if judged.converged is False:
        instead = "the clusters are the single best state, not an estimate over all chains"
        message = f"the chains have not converged ({judged.description}): {instead}"
        if joined_by is not None:
            joined_by["why_not"] = "the chains have not converged"
        why_not = message if why_not is None else f"{message}; {why_not}"
    if plan.dataset.truth is not None:
        diagnostics += score(answers.clusterings_of(plan.recorder, outcomes, pooled, why_not), plan.dataset.truth)
    store.write_rows(schema.DIAGNOSTICS, diagnostics)
    summary = _summary(plan, outcomes, diagnostics, pooled, judged, why_not) | fields
    chosen = summary["point_estimate"]
    if apart := grouping.find_apart(averaged_draws, kind_answers.apart):
        summary[schema.APART] = apart

        def number_apart_last(labels: ArrayLike) -> NDArray[np.int32]:
            return by_size(labels, plan.dataset.row_sizes, grouping.rows_apart(labels, summary))

        if "labels" in chosen:
            chosen["labels"] = number_apart_last(chosen["labels"]).tolist()
        if pooled is not None:
            labels = number_apart_last(pooled.estimate.labels)
            pooled = replace(pooled, estimate=replace(pooled.estimate, labels=labels))
    summary[schema.INTERVAL] = list(point_estimate.interval_of_counts(listed))
    summary[schema.OUTLIERS_APART] = is_apart
    summary[schema.AS_THE_ESTIMATE] = float(np.mean(listed == grouping.listed_clusters(summary)))
    if joined_by is not None:
        summary[schema.JOINED_BY] = joined_by
    if groups is not None:
        summary[schema.GROUPS] = groups
    summary[schema.FIT] = checks.find_misfit(plan, late)
    if ends is not None:
        summary["both_ends"] = ends.summary
    if plan.stopping_rule.is_given:
        found = judgement.look_of(judged, plan.stopping_rule, max(iterations))
        is_early = found.iterations < plan.iterations and not found.reached
        is_far = is_early and judgement.are_apart(plan, found)
        clusters = float(np.mean(trace["n_clusters"]))
        is_dear = is_early and not is_far and judgement.are_dear(plan, clusters, found.iterations)
        summary["until"] = asdict(found) | {"ended_apart": is_far, "ended_dear": is_dear}
    if judged.converged is False and plan.recorder.is_listed:
        modes = _modes(trace, partitions, outcomes, grouping.nouns(summary))
        summary |= {"modes": modes} if modes else {}
    membership = None
    if pooled is not None and why_not is None:
        labels = pooled.estimate.labels
        summary["credible_ball"] = credible_ball_of(labels, pooled.sampled, plan.recorder.is_listed)
        if plan.recorder.is_listed:
            membership = vars(similarity.membership(pooled.sampled, labels, plan.dataset.items))
            certainty = np.average(membership["certainty"], weights=plan.dataset.row_sizes)
            summary[schema.FIT]["certainty"] = float(certainty)
            write_similarity(store, pooled.sampled)
    if plan.recorder.is_listed:
        data = plan.dataset
        names = data.names if data.copies is None else data.copies.names
        copies = None if data.copies is None else data.copies.items
        further = {} if apart is None else {apart["word"]: np.array(apart["probability"])}
        further |= kind_answers.columns(plan, late)
        store.write_clusters(summary["point_estimate"]["labels"], names, membership, copies, further, data.unit_names)
    certainty = None if membership is None else membership["certainty"]
    summary |= kind_answers.write(plan, store, summary["point_estimate"].get("labels", ()), late, certainty)
    if summaries.is_described(plan):
        summaries.write(store, plan.dataset, summary["point_estimate"]["labels"], certainty, summary)
    store.keep_text(files.SUMMARY, files.json_text(summary))


def _join(
    plan: Plan, store: RunStore, draws: dict[int, recorders.Late], components: NDArray[np.int64], gap: float
) -> tuple[dict[int, recorders.Late], NDArray[np.int64], dict[str, Any]]:
    """Join the clusters of draws as ``gap`` asks, and write them: the joined draws by chain, their numbers of clusters,
    and an entry for the summary. Draws that cannot be joined stay as they are, with their numbers, `components`."""
    joined, why_not = grouping.join_draws(plan.dataset, draws, [gap])
    joined_by: dict[str, Any] = {"gap": gap, "why_not": why_not}
    if not joined:
        return draws, components, joined_by
    partitions = {c: rows.labels for c, rows in joined[0].items()}
    chain = np.repeat(list(partitions), [len(labels) for labels in partitions.values()])
    iteration = np.concatenate([rows.iterations for rows in joined[0].values()])
    store.write_columns(schema.JOINED, (chain, iteration, np.concatenate(list(partitions.values()))))
    counts = np.concatenate([labels.max(axis=1) + 1 for labels in partitions.values()])
    return joined[0], counts, joined_by


def _diagnosed_trace(path: Path, unjudged: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The columns of the trace that judge chains, the largest fractions as ``[rows, 5]``."""
    with pq.ParquetFile(path / f"{schema.TRACE}.parquet") as file:
        present = file.schema_arrow.names
        wanted = schema.recorded_columns(schema.TRACE, [*schema.hyperparameters(present), *schema.OPTIONAL]).names
        names = [name for name in wanted if name in present and name not in (*schema.SCORES, *unjudged)]
        table = file.read(columns=names)
    columns = {name: numbers_of(table[name]) for name in names}
    if "largest" in columns:
        columns["largest"] = columns.pop("largest").reshape(len(table), -1)
    return columns


def _summary(
    plan: Plan,
    outcomes: Sequence[Mapping[str, Any]],
    diagnostics: Sequence[Row],
    pooled: answers.Pooled | None,
    judged: Convergence,
    why_not: str | None,
) -> dict[str, Any]:
    def describe_best(density: str, value: str, iteration: str, labels: str) -> dict[str, Any]:
        chain = recorders.best(outcomes, f"best_{value}")
        return {
            "criterion": f"highest log {density} over all iterations of all chains",
            "chain": chain,
            "iteration": outcomes[chain][iteration],
            value: outcomes[chain][f"best_{value}"],
            **_describe_labels(outcomes[chain][labels], plan.recorder.is_listed, plan.dataset),
        }

    highest = describe_best("joint density", "log_joint", "best_iteration", "best_labels")
    likeliest = describe_best("likelihood", "log_lik", "best_lik_iteration", "best_lik_labels")
    estimate, central = (None, None) if pooled is None else _describe_estimates(pooled, plan)
    if estimate is None or why_not is not None:
        chosen = highest | {"note": why_not}
    else:
        chosen = estimate if judged.converged else estimate | {"note": judged.note}
    # counts of the samplers in addition to their moves, each a list by chain
    tallies = [{name: counts for tally in o["tallies"] for name, counts in tally.items()} for o in outcomes]
    moves: dict[str, Counter[str]] = {}
    for move in (move for outcome in outcomes for move in outcome["moves"]):
        moves.setdefault(move["move"], Counter()).update({name: move[name] for name in ("proposed", "accepted")})
    return {
        "run_id": plan.id,
        **plan.recorder.facts,
        **{name: value for report in outcomes[0]["reports"] for name, value in report.items()},
        **{name: {key: [one[name][key] for one in tallies] for key in tallies[0][name]} for name in tallies[0]},
        "moves": {name: dict(counts) for name, counts in moves.items()},
        "sampler": plan.spec.sampler_name,
        "model": plan.model.name,
        "data": plan.data.name,
        "schedule": plan.spec.schedule.name,
        "N": plan.dataset.N,
        schema.FIRST_CLUSTER: cluster_table.FIRST,
        "seed": plan.seed,
        "chains": plan.n_chains,
        "iterations": [o["iterations"] for o in outcomes],
        "seconds": [o["seconds"] for o in outcomes],
        "diagnostics": {
            quantity: float(value) if math.isfinite(value) else None
            for quantity, chain, value, _ in diagnostics
            if chain is None
        },
        "point_estimate": chosen,
        "highest_log_joint": highest,
        "highest_log_lik": likeliest,
        "least_expected_vi": central,
        "credible_ball": None,
        "convergence": asdict(judged),
        **plan.dataset.facts_of_bundles,
        **({} if plan.chosen is None else {"chosen": plan.chosen}),
    }


def _modes(
    trace: Mapping[str, NDArray[Any]],
    late: Mapping[int, NDArray[np.int32]],
    outcomes: Sequence[Mapping[str, Any]],
    nouns: tuple[str, str],
) -> dict[str, Any] | None:
    """Groups of chains that stay near different partitions, the highest log joint first; for one group kinds of
    partitions between which its chains move seldom; None if there is one of these, too. `nouns`: of an item and a
    cluster."""
    if len(late) < len(outcomes):
        return None
    series, described = second_half(trace), list[tuple[dict[str, Any], ArrayLike]]()

    def means(where: Any) -> dict[str, float]:
        return {name: float(series[name][where].mean()) for name in ("n_clusters", "log_joint")}

    if len(groups := agreement.chain_groups(late)) < 2:
        if (kinds := agreement.draw_groups(late)) is None:
            return None
        # a draw of the trace is of the kind of the partition that stands at its place in the record
        length = series["log_joint"].shape[1]
        positions = np.arange(length)
        drawn = np.stack([of_chain[positions * len(of_chain) // length] for of_chain in kinds.values()])
        for kind in range(int(drawn.max()) + 1):
            chain = next(c for c, of_chain in kinds.items() if kind in of_chain)
            example = late[chain][np.flatnonzero(kinds[chain] == kind)[-1]]
            described.append(({"shares": (drawn == kind).mean(axis=1).tolist()} | means(drawn == kind), example))
    else:
        described = [({"chains": group} | means(group), outcomes[group[0]]["last_labels"]) for group in groups]
    described.sort(key=lambda one: -one[0]["log_joint"])
    difference = agreement.describe_difference(described[0][1], described[1][1], *nouns)
    return {"groups": [description for description, _ in described], "difference": difference}


def _describe_estimates(pooled: answers.Pooled, plan: Plan) -> tuple[dict[str, Any], dict[str, Any]]:
    """The estimate over all chains, and the partition of least expected variation of information."""
    over = "over partitions of the second halves of all chains"
    estimate, least, listed, dataset = pooled.estimate, pooled.least, plan.recorder.is_listed, plan.dataset
    labels, sampled = estimate.labels, pooled.sampled
    if dataset.items is not None:
        labels, sampled = (point_estimate.first_rows(rows, dataset.items) for rows in (labels, sampled))
    kind_answers = answers.answers_of(dataset.kind)
    expected = float(distances(labels, kind_answers.thin_draws(sampled)).mean())
    return {
        "criterion": f"least expected variation of information {over}{kind_answers.within}",
        "expected_vi": expected,
        "interval": list(pooled.interval),
        "partitions": estimate.partitions,
        **_describe_labels(estimate.labels, listed, dataset),
    }, {
        "criterion": f"least expected variation of information {over}",
        "expected_vi": least.expected_loss,
        "partitions": least.partitions,
        **_describe_labels(least.labels, listed, dataset),
    }


def _describe_labels(labels: NDArray[Any], listed: bool, dataset: Dataset) -> dict[str, Any]:
    return {
        "n_clusters": int(labels.max()) + 1,
        **({"labels": by_size(labels, dataset.row_sizes).tolist()} if listed else {}),
    }


LEVEL = 0.95
"""Probability of the credible ball."""
MOST_ITEMS = 2_000
"""Items up to which the co-clustering of every pair is stored: 2 million rows."""


def credible_ball_of(labels: NDArray[np.int32], sampled: NDArray[np.int32], listed: bool) -> dict[str, Any]:
    """Summary of the credible ball around the estimate; `listed`: with the labels of its bounds."""
    ball = around_estimate.credible_ball(labels, sampled, LEVEL)
    described = {name: getattr(ball, name) for name in ("loss", "level", "radius", "share", "partitions")}
    bounds = {"horizontal": ball.horizontal, "vertical_upper": ball.upper, "vertical_lower": ball.lower}
    for name, bound in bounds.items():
        described[name] = {
            "n_clusters": bound.n_clusters,
            "distance": bound.distance,
            "equals": len(bound.partitions),
            **({"labels": bound.partitions[0].tolist()} if listed else {}),
        }
    return described


def write_similarity(store: RunStore, sampled: NDArray[np.int32]) -> None:
    """Write the co-clustering of every pair of at most `MOST_ITEMS` items, pairs that were never together left out."""
    if sampled.shape[1] > MOST_ITEMS:
        return
    together = np.triu(similarity.co_clustering(sampled), k=1)
    row, other = np.nonzero(together)
    store.write_columns(schema.SIMILARITY, (row + 1, other + 1, together[row, other]))


PARTITIONS = 60
"""Draws that the estimate averages, at most: whoever interrupts a run does not wait."""
CELLS = 300_000
"""Items in these draws, at most; the best state stands for more."""


def lines_so_far(plan: Plan, most_clusters: int) -> Iterator[str]:
    """Lines about an interrupted run: its clusters, `most_clusters` at most, and after how many iterations it ended.

    A run that would not describe its clusters, or has stored nothing, has no such lines.
    """
    run = read.Run(plan.path)
    try:
        trace = run.trace()
    except FileNotFoundError:
        return
    made, chains = trace.groupby("chain")["iteration"].max(), plan.n_chains
    begun = "" if len(made) == chains else f" of {len(made)} of {chains} chains"
    ended = f"interrupted after {made.min():,} iterations{begun}; not judged as converged"

    def late() -> dict[int, recorders.Late]:
        with suppress(FileNotFoundError):  # no partition is recorded yet
            return answers.late_draws(run.partitions(), made)
        return {}

    if (own := answers.answers_of(plan.dataset.kind).so_far(plan, run, late)) is not None:
        first, *others = own
        yield from (first, ended, *others)
    elif summaries.is_described(plan):
        yield from map(one_line, _cluster_lines(plan, run, late(), answers.interval_of_trace(trace), most_clusters))
        yield ended


def _cluster_lines(
    plan: Plan, run: read.Run, late: Mapping[int, recorders.Late], interval: tuple[int, int], most_clusters: int
) -> Iterator[str]:
    """Lines about the clusters of an estimate from the draws, or, without draws of every chain, of the best state."""
    dataset, N = plan.dataset, plan.dataset.N
    labels, certainty, source = by_size(run.best_state(), dataset.row_sizes), None, "the best state so far"
    per_chain = min(PARTITIONS, CELLS // N) // max(len(late), 1)
    if per_chain and late and len(late) == len(run.partitions(["chain"])["chain"].unique()):
        draws = np.concatenate(
            [rows.labels[point_estimate.evenly_spaced(len(rows.labels), per_chain)] for rows in late.values()]
        )
        with suppress(point_estimate.TooManyClusters):
            items, apart = dataset.items, dataset.pairs_apart
            labels = point_estimate.estimate_partition(draws, interval=interval, items=items, apart=apart).labels
            certainty = similarity.membership(draws, labels, items).certainty
            source = "an estimate from the draws so far"
    clusters, _ = summaries.describe_clusters(dataset, labels, certainty, {})
    facts = {"N": N, "model": plan.model.name} | dataset.facts_of_bundles
    rows, _ = summaries.set_apart(summaries.as_text(clusters), grouping.total_size(facts))
    heading = f"{summaries.count(labels, facts)}, {source}"
    yield from cluster_table.cluster_lines(rows, heading, most_clusters)
