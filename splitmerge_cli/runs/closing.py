"""Lines that ``smcmc run`` prints at the end of a run, on stderr."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from splitmerge_cli.core.tempering import MOST_LEVELS
from splitmerge_cli.data.values import CANNOT_SHOW
from splitmerge_cli.diagnostics.convergence import Convergence, format_rhat
from splitmerge_cli.overrides import shell_word
from splitmerge_cli.runs import advice, misfit, stopping, summaries
from splitmerge_cli.runs.answers import answers_of, kind_of
from splitmerge_cli.runs.grouping import describe_groups
from splitmerge_cli.runs.judgement import differ, judgement_of
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.terminal import fold

if TYPE_CHECKING:
    from splitmerge_cli.config import RunSpecification

MOST_CLUSTERS = 10
"""Number of clusters shown; `smcmc summary` shows all."""

OPTIONAL = {"exchange"}
"""Moves for which there may be no occasion: chains that agree lack nothing."""


def say(run: Run, spec: "RunSpecification | None" = None) -> None:
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
        print(fold(line), file=sys.stderr, flush=True)
    if (scores := summaries.score_line(run)) and own is None:
        print(fold(scores), file=sys.stderr, flush=True)
    if stopped := run.summary.get("until"):
        print(fold(stopping.describe_look(stopped, run.config["until"])), file=sys.stderr, flush=True)
    for line in (*warnings(run), *verdict(run, spec)):
        print(fold(line), file=sys.stderr, flush=True)


def verdict(run: Run, spec: "RunSpecification | None" = None) -> Iterator[str]:
    """Describe whether the chains of a run have converged, why not, and what to do next. `run`: a finished one; `spec`:
    its specification, if it is known already. Yields the verdict, which names first what the model does not describe;
    then, if something is to be done, the reason and a line ``next: smcmc run ...``.
    """
    judged = judgement_of(run)
    first, *others = _describe_judgement(run, judged)
    yield misfit.put_first(run.summary, judged, first)
    yield from others
    yield from misfit.describe_misfit(run.summary)
    if groups := describe_groups(run.summary):
        yield groups
    yield from advice.say_next(run, judged, spec)


def _describe_judgement(run: Run, judged: Convergence) -> Iterator[str]:
    """Describe the judgement and its evidence."""
    rhat = format_rhat(judged.rhat)
    if names := judged.not_sampled:
        yield f"not sampled: {', '.join(names)} (unknown, but constant in the second half of every chain)"
        if differ(judged):
            yield f"R-hat of {judged.quantity} is {rhat}"
    elif judged.converged is None:
        chains = "chain has" if run.config["chains"] == 1 else "chains have"
        yield f"cannot tell whether the {chains} converged: {judged.note}"
    elif judged.converged is False:
        yield (
            f"not converged: R-hat of {judged.quantity} is {rhat}. The clusters shown are the single best state, not "
            "an estimate over all chains"
        )
        yield f"every quantity: smcmc diagnose --all {shell_word(str(run.path))}"
        if modes := run.summary.get("modes"):
            yield from advice.describe_modes(modes)
    elif judged.rhat is None:
        yield f"no sign of non-convergence: {judged.note}"
    else:
        few = " (few: intervals are noisy)" * (judged.ess is not None and judged.ess < advice.FEW_DRAWS)
        draws = "" if judged.ess is None else f", smallest ESS {judged.ess:,.0f} ({judged.ess_of}){few}"
        yield f"no sign of non-convergence: largest R-hat {rhat} ({judged.quantity}){draws}"
    if ends := run.summary.get("both_ends"):
        yield describe_ends(ends, judged.converged is True)
    if moves := [move for move in judged.never_accepted if not (judged.converged and move in OPTIONAL)]:
        *others, last = (move.replace("_", " ") for move in moves)
        named = f"{', '.join(others)} or {last}" if others else last
        agree = ", yet the chains agree" if judged.converged else ""
        yield f"no {named} was accepted in the second half of any chain{agree}"


def describe_ends(ends: Sequence[Mapping[str, float]], agree: bool) -> str:
    """Describe where the two chains from both ends ended (`splitmerge_cli.runs.both_ends`)."""
    starts = " and ".join(f"{end['start']:,}" for end in ends)
    if agree:
        return f"two more chains, from {starts} clusters, agree with them"
    K, heights = (
        " and ".join(f"{end[name]:{form}}" for end in ends)
        for name, form in (("n_clusters", ",.3g"), ("log_joint", ",.1f"))
    )
    return f"two more chains, from {starts} clusters, ended at {K}; their mean log joint is {heights}"


def warnings(run: Run) -> Iterator[str]:
    """Warn of a run that could not move."""
    yield from (line for line in run.summary.get("notes", ()) if line in CANNOT_SHOW)
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
