"""The evidence on the chains of a run, the judgement on it, which every line, table and page reads, and when chains
have run long enough.

**Stopping** by ``until={rhat: 1.05, ess: 100, mcse: 0.02}``, the default where no length is named: chains are looked at
when all of them have made `FIRST` iterations (where no length is named `FIRST_OPEN`), and each time half as many more:
at iterations that depend on nothing else, so that a run ends where it ends whatever the workers. What is looked at is
the second half of what each chain has made by then. Where no length is named the most that a chain makes is a number of
iterations, too (`splitmerge_cli.runs.initial.most_iterations`).

**Two more chains from both ends.** A run that nobody gave a length ends when its chains agree. Where all of them keep
one number of clusters, to which none came from fewer, or none from more, their agreement shows nothing about those
numbers: it may be that no move between is ever accepted. Two chains then begin at one cluster and at as many as there
can be, 500 at most, and make as many iterations. They are evidence on convergence only; the estimate uses the chains of
the run.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config.schema import Until
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.data.arrow import numbers_of
from splitmerge_cli.diagnostics.convergence import Convergence, convergence, format_clear, format_rhat, report_errors
from splitmerge_cli.diagnostics.summary import (
    Row,
    count_arrivals,
    count_found,
    diagnose,
    measure,
    second_half,
    series_of,
)
from splitmerge_cli.runs import initial, interrupts, recorders, starts
from splitmerge_cli.runs.answers import answers_of, late_draws, late_rows, select_draws
from splitmerge_cli.runs.plan import Plan
from splitmerge_cli.runs.store import read, schema, store

APART = 1.5
"""R-hat from which on chains lie in different modes; below it chains that have not converged only mix slowly."""


def lie_apart(rhat: float | None) -> bool:
    """Whether chains with this largest R-hat (None: it is infinite) lie in different modes."""
    return rhat is None or rhat >= APART


def evidence(
    trace: Mapping[Any, Any],
    moves: Iterable[Mapping[str, Any]],
    partitions: Mapping[int, NDArray[np.int32]],
    init: str,
    largest_K: int | None = None,
    smallest_K: int = 1,
    further: Iterable[Row] = (),
    averaged: Mapping[int, NDArray[np.int32]] | None = None,
) -> list[Row]:
    """The diagnosis of a run; `trace`, `moves` and `partitions` are as of
    `splitmerge_cli.diagnostics.summary.diagnose`.

    `init` says where chains began: those that each build a start of their own share none that they could leave.
    `largest_K`, if known, and `smallest_K` are the most and the fewest clusters that there can be; `further` rows are
    those that a kind of data adds; `averaged` the `partitions` that an estimate averages, where Monte Carlo errors are
    asked for.
    """
    rows = list(further)
    if averaged is not None:
        rows += report_errors(second_half({name: trace[name] for name in OF_COUNTS})["n_clusters"], averaged)
    if len(set(np.asarray(trace["chain"]).tolist())) > 1:
        rows += count_found(trace, init in starts.SEARCHES)
        # chains of init=pairs come from more clusters and from fewer
        rows += [] if init in (*starts.SEARCHES, "pairs") else count_arrivals(trace, largest_K, smallest_K)
    return diagnose(trace, moves, rows, partitions)


OF_COUNTS = ("chain", "iteration", "n_clusters")
"""Columns of a trace that give the number of clusters."""
LATER = ("mcse", "mcse_of", "classic")
"""Fields of a judgement that runs were stored without: None."""
JUDGED = ("rhat", "rhat_classic", "ess", "ess_tail", "found", "arrivals")
"""Kinds of rows, over all chains, by which chains are judged."""


def judge_anew(diagnosis: Iterable[Row], others: Iterable[Row]) -> list[Row]:
    """Replace the rows of a diagnosis that judge its chains by the rows of another diagnosis."""

    def is_judged(row: Row) -> bool:
        return row[1] is None and row[0].partition("/")[0] in JUDGED

    instead = {row[0]: row for row in others if is_judged(row)}
    rows = [instead.pop(row[0], None) if is_judged(row) else row for row in diagnosis]
    return [*(row for row in rows if row is not None), *instead.values()]


def evidence_of(run: read.Run) -> list[Row]:
    """The diagnosis of a run, finished or not, from what its chains have recorded so far."""
    trace = run.trace()
    late = late_draws(run.partitions(), trace.groupby("chain")["iteration"].max())
    partitions = {c: rows.labels for c, rows in late.items()}
    return evidence(trace, run.moves().to_dict("records"), partitions, run.config["init"])


def judgement_of(run: read.Run) -> Convergence:
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


def are_needed(plan: Plan, judged: Convergence) -> bool:
    """Whether chains that were judged are to be compared with two more."""
    # chains of adaptive samplers learn from all that there are
    can_be = not plan.is_adaptive and not plan.dataset.kind.no_search
    return can_be and plan.is_open and judged.is_one_sided and judged.converged is None


def run_from_both_ends(
    plan: Plan,
    iterations: int,
    trace: Mapping[str, NDArray[Any]],
    partitions: Mapping[int, NDArray[np.int32]],
) -> BothEnds:
    """Make the two chains of so many `iterations`. `trace`: columns that the run's own chains traced; `partitions`:
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


def _advance(plan: Plan, chain: Chain, iterations: int) -> dict[str, NDArray[Any]]:
    parts: list[dict[str, NDArray[Any]]] = []
    while not parts or chain.iteration < iterations:
        if interrupts.is_interrupted():
            raise KeyboardInterrupt
        parts.append(plan.recorder.spacing.thin(chain.advance(iterations - chain.iteration, wall=BATCH)))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


FIRST = 1_000
"""Iterations before the first look."""
FIRST_OPEN = 400
"""Iterations before the first look where no length is named: 50 recorded partitions in each second half."""
GROWTH = 1.5
"""Times as many before the next."""
SOONEST = 200
"""Iterations before the first look at such a chain that may make few: 400 draws of four second halves."""
EARLY = (30, 60, 120)
"""Iterations before looks at chains of large data, of which no draw may differ from another: these have no more to
tell, and others go on."""


COMPARED = 2
"""Comparisons of an item with a cluster that take the time of one value."""


@dataclass(frozen=True)
class Look:
    """Findings of one look at chains of so many `iterations`, the first half of which was left out: whether all that
    ``until`` asks for holds (`reached`); the largest R-hat, the smallest bulk or tail effective sample size (None:
    undefined, or infinite) and the largest Monte Carlo error, as of `Convergence`; and the quantities that have them
    (None where every quantity is the same in all chains at all times); and the largest classical R-hat (None:
    undefined, or infinite)."""

    iterations: int
    reached: bool
    rhat: float | None
    rhat_of: str | None
    ess: float | None
    ess_of: str | None
    mcse: float | None = None
    mcse_of: str | None = None
    classic: float | None = None


NAMES = (("rhat", "R-hat", "largest"), ("ess", "ESS", "smallest"), ("mcse", "Monte Carlo error", "largest"))
"""Targets, what they are called, and which value of all quantities counts."""


def looks(plan: Plan) -> Iterator[int]:
    """Iterations after which chains are looked at; the last is their end."""
    if plan.stopping_rule.is_given:
        if plan.is_open and plan.iterations <= starts.EARLY_MOST:
            yield from EARLY
        at = float(min(FIRST_OPEN, max(SOONEST, plan.iterations // 50)) if plan.is_open else FIRST)
        while at < plan.iterations:
            yield int(at)
            at *= GROWTH
    yield plan.iterations


def look(plan: Plan, chains: Sequence[store.ChainStore], upto: int) -> Look:
    """Whether the chains have run long enough after so many iterations."""
    answers, made = answers_of(plan.dataset.kind), []
    parts: dict[str, list[NDArray[Any]]] = {}
    for chain in chains:
        trace = chain.table(schema.TRACE, plan.n_chains)
        iterations = numbers_of(trace["iteration"])
        if not len(iterations := iterations[iterations <= upto]):
            return Look(upto, False, None, None, None, None)
        made.append(int(iterations[-1]))
        for name in trace.column_names:
            if name not in answers.unjudged:
                parts.setdefault(name, []).append(numbers_of(trace[name].slice(0, len(iterations))))
    late = _late_partitions(plan, chains, made)
    whole = {name: np.concatenate(of_chains) for name, of_chains in parts.items()}
    series = series_of(whole, {c: rows.labels for c, rows in late.items()})
    rows = [row for name, draws in series.items() for row in measure(name, draws)[1]]
    rows += answers.judge({c: found.labels for c, found in late.items()})
    until, judged = plan.stopping_rule, convergence(rows)
    if plan.is_open and upto < SOONEST and not judged.is_constant:
        return replace(look_of(judged, until, upto), reached=False)
    # errors take longer than R-hat
    if until.mcse is not None and judged.reaches(until.rhat, until.ess):
        averaged = {} if plan.recorder.not_estimated else {c: rows.labels for c, rows in select_draws(late).items()}
        judged = convergence([*rows, *report_errors(series["n_clusters"], averaged)])
    return look_of(judged, until, upto)


def look_of(judged: Convergence, until: Until, iterations: int) -> Look:
    """Findings of a look at chains of so many iterations that were judged."""
    reached = judged.reaches(until.rhat, until.ess, until.mcse)
    values = judged.rhat, judged.quantity, judged.ess, judged.ess_of, judged.mcse, judged.mcse_of, judged.classic
    return Look(iterations, reached, *values)


def are_apart(plan: Plan, found: Look) -> bool:
    """Whether chains of a table that would go on lie in different modes, after a search, before one, or of so many rows
    that going on is for the person to decide."""
    if not plan.is_open or found.rhat_of is None or not lie_apart(found.rhat):
        return False
    distance = math.inf if found.classic is None else found.classic
    after = starts.start_of(plan.spec).apart_after(plan.dataset, plan.iterations, distance)
    return after is not None and found.iterations >= after


def are_dear(plan: Plan, clusters: float, upto: int) -> bool:
    """Whether chains without a named length have made as many comparisons of items with clusters, so many in the mean,
    as they may."""
    made = upto * starts.start_of(plan.spec).comparisons(plan.dataset, clusters) if plan.is_open else 0.0
    return made >= COMPARED * initial.WORK


def describe_aim(plan: Plan) -> str:
    """Describe when the chains of a run without a fixed length stop."""
    asked = [(key, name, bound) for key, name, _ in NAMES if (bound := getattr(plan.stopping_rule, key)) is not None]
    aims = [f"{name} {'>=' if key == 'ess' else '<='} {bound:g}" for key, name, bound in asked]
    return f"running until {_join(aims)}, at most {plan.iterations:,} iterations"


def describe_look(found: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Describe the findings of a look in words; `found` as in `Look`, and whether the run ended for it."""
    names = [one for one in NAMES if asked.get(one[0]) is not None]
    after = f"after {found['iterations']:,} iterations"
    if found["reached"]:
        if found["rhat_of"] is None and found["ess_of"] is None:
            return f"stopped {after}: no draw differs from another"
        held = _join([name for _, name, _ in names])
        return f"stopped {after}: {held} target{'s' * (len(names) > 1)} reached"
    missed: list[str] = []
    for key, name, extreme in names:
        if found[key] is None and key == "mcse" and missed:  # looked at when the others are reached
            continue
        if found[key] is None:
            # R-hat that is infinite has a quantity
            value = f"{name} {'infinite' if key == 'rhat' and found['rhat_of'] else 'undefined'}"
        else:
            bound = asked[key]
            shown = format_clear(found[key], bound, ",.0f") if key == "ess" else format_rhat(found[key], bound)
            value = f"{extreme} {name} {shown} ({found[f'{key}_of']})"
        missed.append(f"{value}, target {asked[key]:g}")
    if found.get("ended_apart"):
        return f"ended {after}, because the chains lie in different modes, which are rarely left: {'; '.join(missed)}"
    if found.get("ended_dear"):
        return f"ended {after}, because each compares every item with many clusters: {'; '.join(missed)}"
    return f"not long enough {after}: {'; '.join(missed)}"


def _join(words: Sequence[str]) -> str:
    return " and ".join(", ".join(words).rsplit(", ", 1))


def _late_partitions(plan: Plan, chains: Sequence[store.ChainStore], made: Sequence[int]) -> dict[int, recorders.Late]:
    """Recorded partitions of the second half of each chain, after it `made` so many iterations."""
    if schema.PARTITIONS not in [streamed.table for streamed in plan.recorder.streamed_tables]:
        return {}
    late = {}
    for number, (chain, end) in enumerate(zip(chains, made, strict=True)):
        table = chain.table(schema.PARTITIONS, plan.n_chains)
        at = numbers_of(table["iteration"])
        rows = late_rows(at[at <= end], end, plan.dataset.N)
        if len(rows):
            labels = numbers_of(table["labels"]).reshape(len(at), -1)
            late[number] = recorders.Late(at[rows], labels[rows].astype(np.int32))
    return late
