"""The last lines of a run, which ``smcmc run`` prints on stderr: what it found, and what to do next, as one command to
paste and the reason for it.

The advice looks at what the run shows: how many chains there are, whether they differ in modes or only mix slowly,
what its sampler accepts, where they began, how many clusters have a single item. Longer runs go on where the run ended
(`splitmerge_cli.runs.continuation`).
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

from splitmerge_cli import overrides, terminal
from splitmerge_cli.config import ConfigError, RunSpecification, choice, choices, resolution, specification
from splitmerge_cli.config.schema import RUNTIME_KEYS
from splitmerge_cli.core.tempering import MOST_LEVELS
from splitmerge_cli.diagnostics import around_estimate, convergence, mixing
from splitmerge_cli.diagnostics.cluster_table import plural_of
from splitmerge_cli.diagnostics.convergence import Convergence, format_rhat
from splitmerge_cli.runs import checks, continuation, grouping, initial, judgement, recorders, starts, summaries
from splitmerge_cli.runs.answers import answers_of, kind_of, sampled_partitions
from splitmerge_cli.runs.judgement import judgement_of, lie_apart
from splitmerge_cli.runs.store import files, read, schema

ENOUGH_DRAWS = 400
"""Effective sample size that a longer run aims at."""
MOVED = 0.05
"""A chain moves between two kinds of partitions if each has this share among its draws, at least."""
MIXTURE = "mixture"
"""Starts of one cluster, of single items, and from the prior."""
CHAINS = 4
"""Number of chains that is advised, so that R-hat compares more than one pair."""
FEW_DRAWS = 100
"""Effective sample size below which intervals and certainties are noisy."""
MOST_TIMES = 8
"""Largest factor by which the next run is longer."""
REPLICAS, LEAST_POWER = 4, 0.3
"""Replicas of each chain, and their least power, where chains stay in several modes after a search."""
SWAPPED = 200
"""Rows, each as often as it counts, up to which the advice is to swap states with replicas: with more, few swaps are
accepted."""
CORE = 0.95
"""Probability with which items are together in the core of a run that has not converged."""
SHORT = 500
"""Iterations below which a run is made longer before anything else is changed."""
FAR = 10.0
"""Difference of log joint densities from which the lower mode hardly counts: a factor of 20,000."""


EARLIER = 20
"""Runs next to one that are looked at, the latest first."""


def find_earlier(run: read.Run) -> list[read.Run]:
    """Find finished runs of the same data and kind of model in the folder of a run: those that led to it, often."""
    status = run.path.parent.glob(f"*/{files.STATUS}") if isinstance(run, read.Run) and run.path.is_dir() else ()
    others = sorted((file for file in status if file.parent != run.path), key=lambda file: -file.stat().st_mtime)
    found, asked = [], (run.config["data"], run.config["model"]["name"], run.summary["N"]) if others else ()
    for one in (read.Run(file.parent) for file in others[:EARLIER]):
        try:
            if one.is_done and (one.config["data"], one.config["model"]["name"], one.summary["N"]) == asked:
                found.append(one)
        except files.DamagedRun:
            continue
    return found


def _was_no_gain(run: read.Run, earlier: Sequence[read.Run], judged: Convergence, changed: Mapping[str, Any]) -> bool:
    """Whether a run differs from an earlier one in keys that are `changed` alone, and has no smaller R-hat."""
    groups = {key.partition(".")[0] for key in changed} | {"until", "iterations", "budget"}
    for one in earlier:
        differs = {key for key, value in run.config.items() if key not in RUNTIME_KEYS and one.config.get(key) != value}
        if differs and differs <= groups and (judgement_of(one).rhat or math.inf) <= (judged.rhat or math.inf):
            return True
    return False


COMMAND = "smcmc run "
"""How a command begins that a note on the data offers."""


def say_next(run: read.Run, judged: Convergence, spec: RunSpecification | None = None) -> Iterator[str]:
    """Say what to do next: a line with the reason, and a line ``next: smcmc run ...``; nothing if nothing is needed.
    `run`: a finished one. If a program held the data, the line has the keys to change, not a command. `judged`:
    judgement of its chains. `spec`: specification of the run. Read from the run if it is not given.
    """
    try:
        spec = spec or initial.specification_of(run)
    except ConfigError:  # choices of the user's own that are not at hand
        return
    if checks.name_limit(run.summary):
        # another way to read the file stands in its notes
        commands = [note[note.index(COMMAND) :] for note in run.summary.get("notes", ()) if COMMAND in note]
        if commands and run.summary["N"] > 1:
            yield "to read the file in another way:"
            yield f"next: {commands[0]}"
        return
    earlier = find_earlier(run)
    # what an earlier run of these data compared, and left, is not advised
    choices = [one.summary["chosen"] for one in (run, *earlier) if one.summary.get("chosen")]
    step = _choose_step(run, spec, judged, choices[0] if choices else {})
    if step is not None and judged.converged is False and _was_no_gain(run, earlier, judged, step[1]):
        step = None
    # who looks at the components has seen the clusters that join them
    if step is not None and "gap" in step[1] and any(one.summary.get(schema.JOINED_BY) for one in earlier):
        step = None
    joined = run.summary.get(schema.JOINED_BY) if step is None and judged.converged and spec.gap is None else None
    # clusters were joined without being asked to, and there are surely more components than clusters
    if joined and joined["why_not"] is None and joined["components"][0] > grouping.listed_clusters(run.summary):
        step = "to see the components of the model, which overlap:", {"gap": 0}
    if step is None:
        if spec.data.name != "given":
            yield from answers_of(spec.model.kind).merging_lines(run) if judged.converged else _core_lines(run, judged)
        return
    why, changed = step
    try:
        command = specification.command_of(spec, changed, run.config_dir or spec.config_dir)
    except ConfigError:  # likewise
        return
    yield why
    yield "next: " + (command or ", ".join(f"{key}={value}" for key, value in changed.items()))


def _core_lines(run: read.Run, judged: Convergence) -> Iterator[str]:
    """Lines that lead to what chains share, where they have not converged and no further step is known."""
    if judged.converged is None or answers_of(kind_of(run)).no_levels:
        return
    try:
        core = around_estimate.find_item_core(sampled_partitions(run), CORE)
    except (ConfigError, ValueError):  # no partition is recorded, or no two items are together so surely
        return
    if core.n_items > 1:
        by_rhat = [(judgement_of(one).rhat or math.inf, one) for one in find_earlier(run)]
        rhat, best = min(by_rhat, key=itemgetter(0), default=(math.inf, run))
        if rhat < (judged.rhat or math.inf):
            yield f"an earlier run of these data has a smaller R-hat, {format_rhat(rhat)}: {best.path}"
        yield "nothing further is known here that brings these chains together; what they share all the same:"
        yield f"next: smcmc summary {overrides.shell_word(str(run.path))} core={CORE}"


def _choose_step(
    run: read.Run, spec: RunSpecification, judged: Convergence, chosen: Mapping[str, Any]
) -> tuple[str, dict[str, Any]] | None:
    """Choose the next step: the reason and the keys to change. `chosen`: what ``auto`` compared for these data."""
    if (other := choose_model({**run.summary, "chosen": chosen}, spec)) is not None:
        return other
    until = run.summary.get("until")
    if names := judged.not_sampled:
        # the default, if that is a number
        known = choice("model", spec.model.name) if spec.model.name in choices("model") else {}
        values = {name: known.get(name) for name in names}
        return "fix a value instead of the prior:", {
            f"model.{name}": value if isinstance(value, int | float) else 1 for name, value in values.items()
        }
    if spec.chains == 1:
        return "one chain cannot show convergence; run several:", {"chains": CHAINS}
    if judged.converged is None:
        if judged.note == mixing.TOO_FEW:
            return "longer chains:", _prolong(run, spec, MOST_TIMES)
        # all chains keep one number of clusters that none reached from above, or none from below
        if not judged.is_one_sided or spec.init == MIXTURE:
            return None
        why = "start from one cluster, from single items and from the prior, to see whether these chains agree:"
        return why, {"init": MIXTURE} | ({} if spec.K0 is None else {"K0": None})
    if judged.converged is False:
        return _advise_apart(run, spec, judged)
    if judged.ess is not None and judged.ess < FEW_DRAWS:
        why = f"intervals and certainties are noisy below an ESS of {FEW_DRAWS}; continue the chains:"
        return why, _prolong(run, spec, _count_times(judged.ess))
    if until and not until["reached"]:
        return "continue the chains:", _prolong(run, spec, _count_times(judged.ess or 0.0))
    own = answers_of(spec.model.kind).next_keys(run, spec.data.values)
    return own or grouping.choose_gap(run.summary, spec.gap)


def choose_model(summary: Mapping[str, Any], spec: RunSpecification) -> tuple[str, dict[str, Any]] | None:
    """Reason and keys to change, if another model describes what this one does not."""
    parts = spec.model.values, spec.data.values, spec.given_keys.keys
    return answers_of(spec.model.kind).another_model(checks.find_unlike(summary), summary, *parts)


def _advise_apart(run: read.Run, spec: RunSpecification, judged: Convergence) -> tuple[str, dict[str, Any]] | None:
    """Advise if chains have not converged."""
    modes, ess = run.summary.get("modes"), judged.ess or 0.0
    # no move of the samplers, except the schedule's, was accepted in the second half of any chain
    moves = {move for sampler in spec.samplers for move in sampler.target.MOVES}
    stands_still = moves <= set(judged.never_accepted)
    if not stands_still and max(run.summary["iterations"]) < SHORT and not spec.is_open:
        return "longer chains:", _prolong(run, spec, MOST_TIMES)
    # an open run has been as long as its data allow: eight times that is minutes to hours
    is_enough = not spec.is_open or ess * MOST_TIMES >= ENOUGH_DRAWS
    if not stands_still and modes is None and not lie_apart(judged.rhat) and is_enough:
        return "the chains mix slowly; continue them:", _prolong(run, spec, _count_times(ess))
    if not stands_still and modes and any(MOVED < share < 1 - MOVED for share in modes["groups"][0].get("shares", ())):
        return "the chains move between these partitions, if rarely; continue them:", _prolong(run, spec, 4)
    if (run.summary.get("until") or {}).get("ended_dear"):
        return "each iteration takes long, so the chains are short; continue them:", _prolong(run, spec, 4)
    if (other := _choose_other_moves(run, spec)) is None:
        # the lines on the modes, or on what all chains have, are the answer
        is_large = spec.init == starts.STAGES and lie_apart(judged.rhat)
        if spec.init in (starts.BEST, starts.SEARCH) or is_large:
            return None
        return answers_of(spec.model.kind).longer, _prolong(run, spec, 4)
    why, changed = other
    if spec.chains < CHAINS:
        why, changed = f"{why}, and {CHAINS} chains", changed | {"chains": CHAINS}
    # other chains have no reason to be as long as these
    if spec.budget is None and not spec.until.is_given and not spec.is_adaptive:
        changed |= {"iterations": None}
    return f"{why}:", changed


def _choose_other_moves(run: read.Run, spec: RunSpecification) -> tuple[str, dict[str, Any]] | None:
    """Choose other words, another sampler, another start or more moves, and why; None if all were tried."""
    answers = answers_of(spec.model.kind)
    if (otherwise := answers.read_otherwise(spec.data.values)) is not None:
        return otherwise
    if run.summary["N"] >= starts.LARGE and spec.init == "random" and not starts.start_of(spec).why_not_in_stages:
        changed = {"init": starts.STAGES} | ({} if spec.K0 is None else {"K0": None})
        return "start from a chain on a sample of the rows, the default for large tables", changed
    sampler, moves = resolution.choose(spec.values["model"], {"name": resolution.SCAN})
    if spec.sampler_name != sampler or spec.schedule.name != resolution.SCAN or spec.schedule.moves < moves:
        return "use the default sampler, the fastest in races", {"sampler": resolution.AUTO}
    if spec.model.kind.sampler_crosses and sampler == spec.model.kind.sampler:
        return None
    if (start := starts.start_of(spec)).may_go_on_by_search(run.summary["N"]):
        changed = {"init": starts.SEARCH if start.simpler is None else starts.BEST}
        changed |= {} if spec.K0 is None else {"K0": None}
        return "let each chain search for the best mode first", changed
    if spec.init in (starts.BEST, starts.SEARCH):
        # more moves from the same starts leave the chains in the same modes
        rows = max(run.summary["N"], grouping.total_size(run.summary))
        if spec.tempering.levels or rows > SWAPPED or not spec.model.target.has_powers():
            return None
        swaps: dict[str, Any] = {"tempering.levels": REPLICAS, "tempering.least": LEAST_POWER}
        return "add replicas under powers of the likelihood, which move between modes", swaps
    if spec.init == "random" and spec.K0 is None:
        model = spec.values["model"]
        # a number of clusters that is bounded, or parameters that are not integrated out: no start item by item
        if "kmax" in model or model.get("conjugate") is False:
            return "start from one cluster, from single items and from the prior", {"init": MIXTURE}
        return "start by adding item after item", {"init": "sequential"}
    # more moves leave large tables in the modes that their starts found
    return None if spec.init == starts.STAGES else answers.more_moves(spec.schedule.moves)


def _count_times(ess: float) -> int:
    """Factor by which chains should become longer, from their smallest effective sample size."""
    return max(2, min(MOST_TIMES, math.ceil(ENOUGH_DRAWS / max(ess, 1.0))))


def _prolong(run: read.Run, spec: RunSpecification, times: int) -> dict[str, Any]:
    """Limits with which a run becomes `times` as long, or somewhat longer."""
    start = starts.start_of(spec).keep(run.summary["N"])
    if spec.budget is not None:
        limits: dict[str, Any] = {"budget": float(f"{times * spec.budget:.6g}")} | start
        return limits if spec.iterations is None else limits | {"iterations": times * spec.iterations}
    least = times * (max(run.summary["iterations"]) if spec.iterations is None else spec.iterations)
    return {"iterations": least if spec.until.is_given else _find_fitting(run, spec, least)} | start


def _find_fitting(run: read.Run, spec: RunSpecification, least: int) -> int:
    """Find the fewest iterations, at least `least`, whose recorded partitions are all partitions of the run."""
    items = SimpleNamespace(N=run.summary["N"], kind=spec.model.kind, values=None)

    def spacing(iterations: int) -> Any:
        return recorders.recorder_of(replace(spec, iterations=iterations), items).spacing  # type: ignore[arg-type]

    spacing_of_run, iterations_made = spacing(spec.iterations or least), max(run.summary["iterations"])
    step = max(1, spacing_of_run.every)
    wanted = spacing(least)
    if continuation.are_recorded(wanted, spacing_of_run, iterations_made):
        return least
    # spacings grow with the iterations: the last number that has the next multiple
    low, high, goal = least, 2 * least + step, (wanted.every // step + 1) * step
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if spacing(middle).every <= goal else (low, middle - 1)
    return low


def describe_modes(modes: Mapping[str, Any], clusters: str) -> Iterator[str]:
    """Describe the partitions near which groups of chains stay, and the difference between the first two; `clusters`:
    their noun, a plural."""
    descriptions = []
    for group in modes["groups"]:
        if "shares" in group:
            chains = "of chains " + ", ".join(f"{share:.0%}" for share in group["shares"])
        else:
            chains = ("chain " if len(group["chains"]) == 1 else "chains ") + ", ".join(map(str, group["chains"]))
        mean = group["n_clusters"]  # as whole as it is: chains with 5,000 and 5,001 differ
        number = f"{mean:,.0f}" if mean == round(mean) or mean >= 1e5 else f"{mean:,.1f}"
        descriptions.append(f"{chains}: {number} {clusters}, log joint {group['log_joint']:,.1f}")
    does = "rarely move between" if "shares" in modes["groups"][0] else "stay near"
    yield f"the chains {does} {len(descriptions)} different partitions ({'; '.join(descriptions)})"
    yield f"difference between the first and the second: {modes['difference']}"
    first, second = (group["log_joint"] for group in modes["groups"][:2])
    if first - second > FAR:
        yield (
            f"the log joint of the first is {first - second:.1f} higher, so the others have almost no probability, "
            "unless those modes are much broader"
        )
    else:
        yield "the log joints are similar, so the data support each; the chains do not show how probable each is"


MOST_CLUSTERS = 10
"""Number of clusters shown; `smcmc summary` shows all."""

OPTIONAL = {"exchange"}
"""Moves for which there may be no occasion: chains that agree lack nothing."""


def say(run: read.Run, spec: RunSpecification | None = None) -> None:
    """Print the closing lines of a finished run: clusters, interval of their number, agreement with the truth,
    warnings.

    The last lines say whether its chains have converged and what to do next.
    """
    answers = answers_of(kind_of(run))
    answers.say(run)
    # the lines of clusters end with the interval's
    brief = (*summaries.joined_lines(run.summary), *summaries.interval_lines(run))
    own = answers.lines(run)
    for line in own or (summaries.lines(run, MOST_CLUSTERS) if run.has_cluster_summary else brief):
        print(terminal.fold(line), file=sys.stderr, flush=True)
    last = [scores] if (scores := summaries.score_line(run)) and own is None else []
    stopped = run.summary.get("until")
    if stopped and not (stopped["reached"] and judgement_of(run).converged):  # what was reached, the verdict says
        last.append(judgement.describe_look(stopped, run.config["until"]))
    for line in (*last, *warnings(run), *verdict(run, spec)):
        print(terminal.fold(line), file=sys.stderr, flush=True)


def verdict(run: read.Run, spec: RunSpecification | None = None) -> Iterator[str]:
    """Describe whether the chains of a run have converged, why not, and what to do next. `run`: a finished one; `spec`:
    its specification, if it is known already. Yields the verdict, which names first what the model does not describe;
    then, if something is to be done, the reason and a line ``next: smcmc run ...``.
    """
    judged = judgement_of(run)
    first, *others = _describe_judgement(run, judged)
    yield checks.put_first(run.summary, judged, first)
    yield from others
    yield from checks.describe_misfit(run.summary)
    if groups := grouping.describe_groups(run.summary):
        yield groups
    yield from say_next(run, judged, spec)


def _describe_judgement(run: read.Run, judged: Convergence) -> Iterator[str]:
    """Describe the judgement and its evidence."""
    rhat, clusters = format_rhat(judged.rhat), plural_of(grouping.nouns(run.summary)[1])
    if names := judged.not_sampled:
        yield f"not sampled: {', '.join(names)} (unknown, but constant in the second half of every chain)"
        if (
            judged.rhat is not None and judged.rhat >= convergence.NOT_CONVERGED
        ):  # chains differ, whatever else is judged
            yield f"R-hat of {judged.quantity} is {rhat}"
    elif judged.converged is None:
        chains = "chain has" if run.config["chains"] == 1 else "chains have"
        yield f"cannot tell whether the {chains} converged: {judged.note}"
    elif judged.converged is False:
        yield (
            f"not converged: R-hat of {judged.quantity} is {rhat}. The {clusters} shown are the single best state, not "
            "an estimate over all chains"
        )
        yield f"every quantity: smcmc diagnose --all {overrides.shell_word(str(run.path))}"
        if modes := run.summary.get("modes"):
            yield from describe_modes(modes, clusters)
    elif judged.rhat is None:
        yield f"no sign of non-convergence: {judged.note}"
    else:
        few = " (few: intervals are noisy)" * (judged.ess is not None and judged.ess < FEW_DRAWS)
        draws = "" if judged.ess is None else f", smallest ESS {judged.ess:,.0f} ({judged.ess_of}){few}"
        stopped = run.summary.get("until") or {"reached": False}
        missed = "iterations" in stopped and not stopped["reached"]
        after = f" after {stopped['iterations']:,} iterations" if stopped["reached"] else ""
        said = f"no sign of non-convergence{after}"
        if missed:
            said = f"targets not reached, though no R-hat is {convergence.NOT_CONVERGED:g} or more"
        yield f"{said}: largest R-hat {rhat} ({judged.quantity}){draws}"
    if ends := run.summary.get("both_ends"):
        begun = " and ".join(f"{end['start']:,}" for end in ends)
        if judged.converged:
            yield f"two more chains, from {begun} {clusters}, agree with them"
        else:
            K, heights = (
                " and ".join(f"{end[name]:{form}}" for end in ends)
                for name, form in (("n_clusters", ",.3g"), ("log_joint", ",.1f"))
            )
            yield f"two more chains, from {begun} {clusters}, ended at {K}; their mean log joint is {heights}"
    if moves := [move for move in judged.never_accepted if not (judged.converged and move in OPTIONAL)]:
        *others, last = ("Gibbs move of an item" if move == "gibbs" else move.replace("_", " ") for move in moves)
        named = f"{', '.join(others)} or {last}" if others else last
        agree = ", yet the chains agree" if judged.converged else ""
        yield f"no {named} was accepted in the second half of any chain{agree}"


def warnings(run: read.Run) -> Iterator[str]:
    """Warn of a run that could not move."""
    yield from (line for line in run.summary.get("notes", ()) if line in answers_of(kind_of(run)).cannot_show)
    if tempering := run.summary.get("tempering"):
        yield _describe_swaps(tempering["powers"], run.summary["moves"])
    if portfolio := run.summary.get("portfolio"):
        yield _describe_portfolio(portfolio, min(run.summary["iterations"]))
    tables = run.summary.get("hash_tables")
    if tables and tables["empty"] == tables["empty_opposite"] == 1.0:
        fewer = tables["bits"] // 2
        yield (
            f"lshsm proposed nothing: no item shares a hash bucket with another ({tables['without_direction']} of "
            f"{run.summary['N']} items equal the mean and have no direction)"
            + (f"; with sampler.bits={fewer} some may" if fewer else "")
        )


SELDOM = 0.1
"""A swap rate below which more replicas are advised."""


def _describe_portfolio(portfolio: Mapping[str, Any], iterations: int) -> str:
    """Describe the final weights of the samplers, and whether draws that count were made while these changed."""
    by_weight = sorted(portfolio["weights"].items(), key=lambda item: -item[1])
    parts = ", ".join(f"{name} {weight:.0%}" for name, weight in by_weight)
    learned = portfolio["learned"]
    how = f"learned in {learned:,} steps by the change that a unit of work brings" if learned else "as given"
    moves = f"{portfolio['moves']} move{'s' * (portfolio['moves'] > 1)} a step"
    line = f"portfolio: {moves}, {parts} ({how}; of chain 0)"
    enough = 2 * portfolio.get("learning", learned)
    if enough <= iterations:
        return line
    return f"{line}; the weights still change in the second half of {iterations:,} iterations; {enough:,} are enough"


def _describe_swaps(powers: Sequence[float], moves: Mapping[str, Mapping[str, int]]) -> str:
    """Describe how often chains and replicas swapped states."""
    rates = [moves[f"swap {t}"]["accepted"] / max(moves[f"swap {t}"]["proposed"], 1) for t in range(1, len(powers) + 1)]
    text = f"tempering: {', '.join(f'{rate:.0%}' for rate in rates)} of the swaps between neighbours were accepted"
    text += f" (powers of the first chain: 1, {', '.join(f'{power:.3g}' for power in powers)})"
    if min(rates) >= SELDOM:
        return text
    more = f"tempering.levels={len(powers) + 1}, or " if len(powers) < MOST_LEVELS else ""
    return f"{text}; they swap more often with {more}a larger tempering.least"
