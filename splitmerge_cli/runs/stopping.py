"""When chains have run long enough: ``until={rhat: 1.01, ess: 400}``, the default where no length is named.

Chains are looked at when all of them have made `FIRST` iterations, and each time half as many more: at iterations that
depend on nothing else, so that a run ends where it ends whatever the workers. What is looked at is the second half of
what each chain has made by then.

Where no length is named the most that a chain makes is a number of iterations, too
(`splitmerge_cli.runs.limits.most_iterations`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.runs import search

if TYPE_CHECKING:
    from splitmerge_cli.results.store import ChainStore
    from splitmerge_cli.runs.plan import Plan

FIRST = 1_000
"""Iterations before the first look."""
GROWTH = 1.5
"""Times as many before the next."""
SOONEST = 200
"""Iterations before the first look at such a chain that may make few: 400 draws of four second halves."""
EARLY = (30, 60, 120)
"""Iterations before looks at chains of large data, of which no draw may differ from another: these have no more to
tell, and any others are too short for ESS."""
EARLY_MOST = 4_000
"""Most iterations that a chain of such data makes."""
APART, APART_AFTER = 1.5, 10_000
"""R-hat from which on a run whose length nobody names, of a table that may start by search, ends at the first look
after so many iterations: such chains lie in different modes, and most stay there (decision 31)."""
DISTANCE = "distance"
"""Variation of information between a partition and the last one of the first chain, after Duttweiler et al.: chains
whose partitions differ may have as many clusters, as large ones, and as high a density."""


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
    """

    iterations: int
    reached: bool
    rhat: float | None
    rhat_of: str | None
    ess: float | None
    ess_of: str | None


def looks(plan: "Plan") -> Iterator[int]:
    """Iterations after which chains are looked at; the last is their end."""
    if plan.spec.until.is_given:
        if plan.spec.is_open and plan.iterations <= EARLY_MOST:
            yield from EARLY
        at = float(min(FIRST, max(SOONEST, plan.iterations // 50)) if plan.spec.is_open else FIRST)
        while at < plan.iterations:
            yield int(at)
            at *= GROWTH
    yield plan.iterations


def look(plan: "Plan", chains: "Sequence[ChainStore]", upto: int) -> Look:
    """Whether the chains have run long enough after so many iterations."""
    # a run without `until` does not need it
    from splitmerge_cli.diagnostics import mixing

    rhat, ess = {}, {}
    series = _series(plan, chains, upto)
    few = not series or series["log_joint"].shape[1] < mixing.MIN_DRAWS
    for name, draws in series.items():
        if draws.shape[1] < mixing.MIN_DRAWS or np.all(draws == draws[0, 0]):
            continue  # the same in all chains at all times: nothing that could differ
        # undefined for another reason than that chains differ: of one chain
        rhat[name] = math.inf if mixing.why_no_rhat(draws) in mixing.INFINITE else mixing.rhat(draws)
        if name != DISTANCE:  # of which few are recorded
            ess[name] = min(mixing.ess(draws), mixing.ess_tail(draws))
    worst = max(rhat, key=lambda name: _fill_nan(math.inf, rhat[name]), default=None)
    least = min(ess, key=lambda name: _fill_nan(0.0, ess[name]), default=None)
    until = plan.spec.until
    reached = not few
    if until.rhat is not None and worst is not None:
        reached &= _fill_nan(math.inf, rhat[worst]) <= until.rhat
    if until.ess is not None and least is not None:
        reached &= _fill_nan(0.0, ess[least]) >= until.ess
    numbers = [values.get(name or "", math.nan) for values, name in ((rhat, worst), (ess, least))]
    shown = [value if math.isfinite(value) else None for value in numbers]
    return Look(upto, reached, shown[0], worst, shown[1], least)


def are_apart(plan: "Plan", found: Look) -> bool:
    """Whether chains that would go on are better started again, by search."""
    if not plan.spec.is_open or found.iterations < APART_AFTER or found.rhat_of is None:
        return False
    return search.is_next(plan.spec, plan.dataset.N) and (found.rhat is None or found.rhat >= APART)


def describe_aim(plan: "Plan") -> str:
    """Say until when the chains of a run go on whose length nobody names."""
    until = plan.spec.until
    return (
        f"until R-hat is at most {until.rhat:g} and ESS at least {until.ess:g}, at most {plan.iterations:,} iterations "
        "(of another number: iterations=N)"
    )


def describe_look(found: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Describe in words what a look has found; `found` as of `Look`."""
    kinds = [one for one in (("rhat", "R-hat", "at most"), ("ess", "ESS", "at least")) if asked[one[0]] is not None]
    after = f"long enough after {found['iterations']:,} iterations"
    if found["reached"]:
        if found["rhat_of"] is None and found["ess_of"] is None:
            return f"{after}: no draw differs from another"
        held = (f"{name} {bound} {asked[key]:g}" for key, name, bound in kinds)
        return f"{after}: {' and '.join(held)}, as asked for"
    missed = []
    for key, name, bound in kinds:
        value = "undefined" if found[key] is None else f"{bound} {found[key]:.4g} (of {found[f'{key}_of']})"
        missed.append(f"{name} {value}, asked for {asked[key]:g}")
    return f"not {after}: {'; '.join(missed)}"


def _fill_nan(instead: float, value: float) -> float:
    return instead if math.isnan(value) else value


def _series(plan: "Plan", chains: "Sequence[ChainStore]", upto: int) -> dict[str, NDArray[np.float64]]:
    """Second halves of what the chains recorded by then: arrays ``[chains, draws]`` by name."""
    import pandas as pd

    from splitmerge_cli.diagnostics.summary import LONGEST, second_half, without_rounding
    from splitmerge_cli.results import schema

    traces = []
    for chain in chains:
        trace = chain.table(schema.TRACE, plan.spec.chains).to_pandas()
        traces.append(trace[trace["iteration"] <= upto])
    if any(trace.empty for trace in traces):
        return {}
    trace = pd.concat(traces, ignore_index=True)
    largest = np.stack(trace.pop("largest").tolist())
    each = pd.DataFrame(largest, columns=[f"largest{s + 1}" for s in range(largest.shape[1])])
    series = second_half(pd.concat([trace, each], axis=1))
    if distances := _distances(plan, chains, upto):
        # a budget ends chains at different iterations
        draws = min(map(len, distances))
        series[DISTANCE] = np.stack([of_chain[len(of_chain) - draws :] for of_chain in distances])
    return {name: without_rounding(name, x[:, :: -(-x.shape[1] // LONGEST)]) for name, x in series.items()}


def _late(table: Any, upto: int) -> NDArray[np.bool_]:
    """Rows of the second half of so many iterations."""
    at = table["iteration"].to_numpy()
    return np.asarray((at > upto / 2) & (at <= upto))


def _distances(plan: "Plan", chains: "Sequence[ChainStore]", upto: int) -> list[NDArray[np.float64]]:
    """Distances between recorded partitions of each chain, where every chain has recorded some."""
    from splitmerge_cli.diagnostics.partition_losses import distances
    from splitmerge_cli.results import schema

    if schema.PARTITIONS not in [streamed.table for streamed in plan.recorder.streamed_tables]:
        return []
    late = []
    for chain in chains:
        table = chain.table(schema.PARTITIONS, plan.spec.chains)
        rows = _late(table, upto)
        if not rows.any():
            return []
        late.append(np.stack(table["labels"].to_numpy()[rows]).astype(np.int32))
    return [distances(late[0][-1], labels) for labels in late]
