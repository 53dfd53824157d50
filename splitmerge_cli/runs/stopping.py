"""When chains have run long enough: ``until={rhat: 1.05, ess: 100, mcse: 0.02}``, the default where no length is named.

Chains are looked at when all of them have made `FIRST` iterations (where no length is named `FIRST_OPEN`), and each
time half as many more: at iterations that depend on nothing else, so that a run ends where it ends whatever the
workers. What is looked at is the second half of what each chain has made by then.

Where no length is named the most that a chain makes is a number of iterations, too
(`splitmerge_cli.runs.schedule.most_iterations`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.arrow import numbers_of
from splitmerge_cli.diagnostics.convergence import convergence, format_rhat
from splitmerge_cli.diagnostics.monte_carlo_errors import report_errors
from splitmerge_cli.diagnostics.summary import measure, series_of
from splitmerge_cli.runs import starts
from splitmerge_cli.runs.answers import answers_of, late_rows, select_averaged
from splitmerge_cli.runs.judgement import lie_apart
from splitmerge_cli.runs.recorders import Late
from splitmerge_cli.runs.store import schema

if TYPE_CHECKING:
    from splitmerge_cli.config.schema import Until
    from splitmerge_cli.diagnostics.convergence import Convergence
    from splitmerge_cli.runs.plan import Plan
    from splitmerge_cli.runs.store.store import ChainStore

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


@dataclass(frozen=True)
class Look:
    """Findings of one look.

    Attributes
    ----------
    iterations : int
        Of every chain, the first half of which was left out.
    reached : bool
        Whether all that ``until`` asks for holds.
    rhat, ess : float or None
        The largest R-hat, and the smallest bulk or tail effective sample size; None: undefined, or infinite.
    rhat_of, ess_of : str or None
        The quantities that have them; None where every quantity is the same in all chains at all times.
    mcse, mcse_of
        The largest Monte Carlo error, and of what; as of `Convergence`.
    """

    iterations: int
    reached: bool
    rhat: float | None
    rhat_of: str | None
    ess: float | None
    ess_of: str | None
    mcse: float | None = None
    mcse_of: str | None = None


NAMES = (("rhat", "R-hat", "largest"), ("ess", "ESS", "smallest"), ("mcse", "Monte Carlo error", "largest"))
"""Targets, what they are called, and which value of all quantities counts."""


def looks(plan: "Plan") -> Iterator[int]:
    """Iterations after which chains are looked at; the last is their end."""
    if plan.until.is_given:
        if plan.is_open and plan.iterations <= starts.EARLY_MOST:
            yield from EARLY
        at = float(min(FIRST_OPEN, max(SOONEST, plan.iterations // 50)) if plan.is_open else FIRST)
        while at < plan.iterations:
            yield int(at)
            at *= GROWTH
    yield plan.iterations


def look(plan: "Plan", chains: "Sequence[ChainStore]", upto: int) -> Look:
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
    until, judged = plan.until, convergence(rows)
    if plan.is_open and upto < SOONEST and not judged.is_constant:
        return replace(look_of(judged, until, upto), reached=False)
    # errors take longer than R-hat
    if until.mcse is not None and judged.reaches(until.rhat, until.ess):
        averaged = {} if plan.recorder.not_estimated else select_averaged(late)
        judged = convergence([*rows, *report_errors(series["n_clusters"], averaged)])
    return look_of(judged, until, upto)


def look_of(judged: "Convergence", until: "Until", iterations: int) -> Look:
    """Findings of a look at chains of so many iterations that were judged."""
    reached = judged.reaches(until.rhat, until.ess, until.mcse)
    values = judged.rhat, judged.quantity, judged.ess, judged.ess_of, judged.mcse, judged.mcse_of
    return Look(iterations, reached, *values)


def are_apart(plan: "Plan", found: Look) -> bool:
    """Whether chains of a table that would go on lie in different modes, after a search, before one, or of so many rows
    that going on is for the person to decide."""
    if not plan.is_open or found.rhat_of is None or not lie_apart(found.rhat):
        return False
    after = starts.start_of(plan.spec).apart_after(plan.dataset, plan.iterations)
    return after is not None and found.iterations >= after


def describe_aim(plan: "Plan") -> str:
    """Describe when the chains of a run without a fixed length stop."""
    asked = [(key, name, bound) for key, name, _ in NAMES if (bound := getattr(plan.until, key)) is not None]
    aims = [f"{name} {'>=' if key == 'ess' else '<='} {bound:g}" for key, name, bound in asked]
    return f"running until {_join(aims)}, at most {plan.iterations:,} iterations"


def describe_look(found: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Describe the findings of a look in words; `found` as in `Look`."""
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
            value = f"{name} undefined"
        else:
            shown = f"{found[key]:,.0f}" if key == "ess" else format_rhat(found[key])
            value = f"{extreme} {name} {shown} ({found[f'{key}_of']})"
        missed.append(f"{value}, target {asked[key]:g}")
    return f"not long enough {after}: {'; '.join(missed)}"


def _join(words: Sequence[str]) -> str:
    return " and ".join(", ".join(words).rsplit(", ", 1))


def _late_partitions(plan: "Plan", chains: "Sequence[ChainStore]", made: Sequence[int]) -> dict[int, Late]:
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
            late[number] = Late(at[rows], labels[rows].astype(np.int32))
    return late
