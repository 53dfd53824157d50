"""Advice after a run: one command that can be pasted, for that very run, and why.

The advice looks at what the run shows: how many chains there are, whether they differ in modes or only mix slowly,
what its sampler accepts, where they began, how many clusters have a single item. Longer runs go on where the run ended
(`splitmerge_cli.runs.continuation`).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from splitmerge_cli.config import ConfigError, RunSpecification, auto, choice, choices
from splitmerge_cli.config.commands import command_of
from splitmerge_cli.data.tables.repeats import KEEP, ONCE
from splitmerge_cli.diagnostics.mixing import TOO_FEW
from splitmerge_cli.overrides import shell_word
from splitmerge_cli.runs import misfit, recorders, search, stages
from splitmerge_cli.runs.build import has_powers
from splitmerge_cli.runs.continuation import are_recorded
from splitmerge_cli.runs.grouping import choose_gap, count_larger
from splitmerge_cli.runs.judgement import lie_apart
from splitmerge_cli.runs.store import schema
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.stored import specification_of

if TYPE_CHECKING:
    from splitmerge_cli.diagnostics.convergence import Convergence

ENOUGH_DRAWS = 400
"""Effective sample size to which a longer run is to lead."""
KEPT = "none"
"""Value of ``data.stop_words`` with which all words stay."""
MIXTURE = "mixture"
"""Starts of one cluster, of single items, and from the prior."""
MANY_COPIES = 0.1
"""Share of rows that repeat others from which on reading each once is advised."""
CHAINS = 4
"""Chains whose R-hat tells from more than one pair whether they agree."""
FEW_DRAWS = 100
"""Effective sample size below which intervals and certainties are noisy."""
MOST_TIMES = 8
"""Most times as long as a run is the next."""
REPLICAS, LEAST_POWER = 4, 0.3
"""Replicas of each chain, and their least power, where chains stay in several modes after a search."""
SWAPPED = 200
"""Items up to which chains are advised to swap states with replicas: of more, few swaps are accepted."""
MOVES = 20
"""Moves before each scan, where those of the run are not enough."""
SHORT = 500
"""Iterations below which a run is made longer before anything else is changed."""
FAR = 10.0
"""Difference of log joint densities from which on the lower mode counts for little: a factor of 20,000."""
SINGLE = 100
"""Clusters of one item from which on the model is looked at."""


def say_next(run: Run, judged: "Convergence", spec: RunSpecification | None = None) -> Iterator[str]:
    """Say what to do next: a line why, and a line ``next: smcmc run ...``; nothing where nothing is to be done.

    Parameters
    ----------
    run : Run
        A finished one. Of data that a program held the line has the keys that are to be changed, not a command.
    judged : Convergence
        Of its chains.
    spec : RunSpecification, optional
        Of the run; it is read where it is not at hand.
    """
    try:
        spec = spec or specification_of(run)
    except ConfigError:  # choices of the user's own that are not at hand
        return
    step = _choose_step(run, spec, judged)
    if step is None:
        if judged.converged and _can_be_merged(run.summary, spec):
            yield "the clusters merged pair by pair, down to one, and which level predicts held-out rows best:"
            yield f"next: smcmc summary {shell_word(str(run.path))} --levels"
        return
    why, changed = step
    try:
        command = command_of(spec, changed, run.config_dir or spec.config_dir)
    except ConfigError:  # likewise
        return
    yield why
    yield "next: " + (command or ", ".join(f"{key}={value}" for key, value in changed.items()))


def _can_be_merged(summary: Mapping[str, Any], spec: RunSpecification) -> bool:
    """Whether the clusters overlap, and levels of them can be compared by held-out rows, not by their density."""
    is_table = spec.model.kind.has_rows and spec.data.name != "given"
    several = is_table and misfit.do_overlap(summary) and count_larger(summary["point_estimate"]["labels"]) > 1
    return several and schema.GROUPS not in summary


def has_many_copies(summary: Mapping[str, Any]) -> bool:
    """Whether many rows of the data repeat another row as chance does not make them, and are items of their own."""
    found = summary.get("repeated_rows")
    if found is None or found["read"] != KEEP:
        return False
    return bool(found["rows"] - found["different"] >= MANY_COPIES * found["rows"])


def _choose_step(run: Run, spec: RunSpecification, judged: "Convergence") -> tuple[str, dict[str, Any]] | None:
    """Why, and the keys that are to be changed."""
    if has_many_copies(run.summary):
        changed: dict[str, Any] = {"data.repeated": ONCE}
        # what was chosen by held-out rows was chosen for clusters of copies
        if "model.covariance" in (run.summary.get("chosen") or {}):
            changed |= {"model.covariance": auto.AUTO}
        return "each different row once:", changed
    if (other := misfit.choose_model(run.summary, spec)) is not None:
        return other
    until = run.summary.get("until")
    if names := judged.not_sampled:
        return "a value in place of the prior:", {f"model.{name}": _choose_value(spec, name) for name in names}
    if spec.chains == 1:
        return "one chain cannot show convergence; run several:", {"chains": CHAINS}
    if judged.converged is None:
        if judged.note == TOO_FEW:
            return "longer chains:", _prolong(run, spec, MOST_TIMES)
        return _advise_starts(spec) if judged.is_one_sided else None
    if judged.converged is False:
        return _advise_apart(run, spec, judged)
    if judged.ess is not None and judged.ess < FEW_DRAWS:
        why = f"intervals and certainties are noisy below an ESS of {FEW_DRAWS}; the chains go on:"
        return why, _prolong(run, spec, _count_times(judged.ess))
    if until and not until["reached"]:
        return "the chains go on:", _prolong(run, spec, _count_times(judged.ess or 0.0))
    return _advise_single(run, spec) or choose_gap(run.summary, spec)


def _advise_starts(spec: RunSpecification) -> tuple[str, dict[str, Any]] | None:
    """Advise where all chains keep one number of clusters, to which none came from more, or none from fewer."""
    if spec.init == MIXTURE:
        return None
    why = "starts of one cluster, of single items, or from the prior, which show whether chains from elsewhere agree:"
    return why, {"init": MIXTURE} | ({} if spec.K0 is None else {"K0": None})


def _advise_apart(run: Run, spec: RunSpecification, judged: "Convergence") -> tuple[str, dict[str, Any]] | None:
    """Advise where chains have not converged."""
    modes, ess, stands_still = run.summary.get("modes"), judged.ess or 0.0, _stands_still(spec, judged)
    if not stands_still and max(run.summary["iterations"]) < SHORT and not spec.is_open:
        return "longer chains:", _prolong(run, spec, MOST_TIMES)
    # an open run has been as long as its data allow: eight times that is minutes to hours
    is_enough = not spec.is_open or ess * MOST_TIMES >= ENOUGH_DRAWS
    if not stands_still and modes is None and not lie_apart(judged.rhat) and is_enough:
        return "the chains mix slowly, and go on:", _prolong(run, spec, _count_times(ess))
    if (other := _choose_other_moves(run, spec)) is None:
        if spec.init == search.SEARCH:  # the lines on the modes are the answer
            return None
        return "longer chains:", _prolong(run, spec, 4)
    why, changed = other
    if spec.chains < CHAINS:
        why, changed = f"{why}, and {CHAINS} chains", changed | {"chains": CHAINS}
    # other chains have no reason to be as long as these
    if spec.budget is None and not spec.until.is_given and not spec.is_adaptive:
        changed |= {"iterations": None}
    return f"{why}:", changed


def _choose_other_moves(run: Run, spec: RunSpecification) -> tuple[str, dict[str, Any]] | None:
    """Other words, another sampler, another start or more moves, and why; None where all that was tried."""
    if spec.values["data"].get("stop_words") == KEPT and spec.model.kind.has_topics:
        return "topics without the words that most documents have", {"data.stop_words": auto.AUTO}
    if run.summary["N"] >= stages.LARGE and spec.init == "random" and stages.why_not_in_stages(spec) is None:
        changed = {"init": stages.STAGES} | ({} if spec.K0 is None else {"K0": None})
        return "the start of large tables, by a chain on a sample of the rows", changed
    sampler, moves = auto.choose(spec.values["model"], {"name": auto.SCAN})
    if spec.sampler_name != sampler or spec.schedule.name != auto.SCAN or spec.schedule.moves < moves:
        return "another sampler, the one that races found the fastest", {"sampler": auto.AUTO}
    if (
        sampler in auto.CROSSES.values()
    ):  # its proposals do not depend on where a chain is, so other starts change little
        return None
    if search.is_next(spec, run.summary["N"]):
        changed = {"init": search.SEARCH} | ({} if spec.K0 is None else {"K0": None})
        return "starts that look for the best mode first, each chain by itself", changed
    if spec.init == search.SEARCH:
        # more moves from the same starts leave the chains in the same modes
        if spec.tempering.levels or run.summary["N"] > SWAPPED or not has_powers(spec):
            return None
        swaps: dict[str, Any] = {"tempering.levels": REPLICAS, "tempering.least": LEAST_POWER}
        return "replicas under powers of the likelihood, which cross between modes", swaps
    if spec.init == "random" and spec.K0 is None:
        model = spec.values["model"]
        # a number of clusters that is bounded, or parameters that are not integrated out: no start item by item
        if "kmax" in model or model.get("conjugate") is False:
            return "other starts, of one cluster, of single items, or from the prior", {"init": MIXTURE}
        return "another start, item by item", {"init": "sequential"}
    if spec.schedule.moves < MOVES:
        return "more moves of the sampler before each scan", {"schedule.moves": MOVES}
    return None


def _stands_still(spec: RunSpecification, judged: "Convergence") -> bool:
    """Whether no move of the samplers was accepted in the second half of any chain, those of the schedule aside."""
    return {move for sampler in spec.samplers for move in sampler.target.MOVES} <= set(judged.never_accepted)


def _advise_single(run: Run, spec: RunSpecification) -> tuple[str, dict[str, Any]] | None:
    """Advise on clusters of one item each."""
    labels = run.summary["point_estimate"].get("labels")
    if not labels:
        return None
    sizes = [0] * (max(labels) + 1)
    for label in labels:
        sizes[label] += 1
    single = sizes.count(1)
    if single < SINGLE or single < len(sizes) / 2:
        return None
    covariance = spec.values["model"].get("covariance")
    if spec.data.name != "csv" or covariance is None or covariance == "full":
        return None
    return f"{single:,} clusters have one item each; the covariance that predicts best:", {
        "model.covariance": auto.AUTO
    }


def _choose_value(spec: RunSpecification, name: str) -> Any:
    """Choose a number in place of a prior: the default, where that is one."""
    model = spec.model.name
    known = choice("model", model).get(name) if model in choices("model") else None
    return known if isinstance(known, int | float) else 1


def _count_times(ess: float) -> int:
    """Count how many times as long chains are to be, by the smallest effective sample size that they have."""
    return max(2, min(MOST_TIMES, math.ceil(ENOUGH_DRAWS / max(ess, 1.0))))


def _prolong(run: Run, spec: RunSpecification, times: int) -> dict[str, Any]:
    """Limits with which a run goes on to be so many times as long, or somewhat longer."""
    if spec.budget is not None:
        limits: dict[str, Any] = {"budget": times * spec.budget}
        return limits if spec.iterations is None else limits | {"iterations": times * spec.iterations}
    least = times * (max(run.summary["iterations"]) if spec.iterations is None else spec.iterations)
    return {"iterations": least if spec.until.is_given else _find_fitting(run, spec, least)}


def _find_fitting(run: Run, spec: RunSpecification, least: int) -> int:
    """The fewest iterations, at least so many, whose recorded partitions are among those of the run."""
    items = SimpleNamespace(N=run.summary["N"], kind=spec.model.kind, values=None)

    def spacing(iterations: int) -> Any:
        return recorders.recorder_of(replace(spec, iterations=iterations), items).spacing  # type: ignore[arg-type]

    own, made = spacing(spec.iterations or least), max(run.summary["iterations"])
    step = max(1, own.every)
    wanted = spacing(least)
    if are_recorded(wanted, own, made):
        return least
    # spacings grow with the iterations: the last number that has the next multiple
    low, high, goal = least, 2 * least + step, (wanted.every // step + 1) * step
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if spacing(middle).every <= goal else (low, middle - 1)
    return low


def describe_modes(modes: Mapping[str, Any]) -> Iterator[str]:
    """Say near which partitions groups of chains stay, and in what the first two differ."""
    told = []
    for group in modes["groups"]:
        if "shares" in group:
            said = "of chains " + ", ".join(f"{share:.0%}" for share in group["shares"])
        else:
            said = ("chain " if len(group["chains"]) == 1 else "chains ") + ", ".join(map(str, group["chains"]))
        told.append(f"{said}: {group['n_clusters']:.3g} clusters, log joint {group['log_joint']:,.1f}")
    does = "move seldom between" if "shares" in modes["groups"][0] else "stay near"
    yield f"the chains {does} {len(told)} different partitions ({'; '.join(told)})"
    yield f"of the first and the second: {modes['difference']}"
    first, second = (group["log_joint"] for group in modes["groups"][:2])
    if first - second > FAR:
        yield (
            f"the log joint of the first is {first - second:.1f} higher: the others have next to no probability beside "
            "it, unless they are far wider"
        )
    else:
        yield "the densities are alike, so the data allow each; how probable each is the chains do not say"
