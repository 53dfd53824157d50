"""Lines that ``smcmc run`` prints at the end of a run, on stderr."""

import shlex
import sys
from collections.abc import Iterator

from splitmerge_cli.config import choice, choices
from splitmerge_cli.config.files import value_text
from splitmerge_cli.results.read import Run
from splitmerge_cli.runs import recorders, summaries

FEW_DRAWS = 100
"""Effective sample size below which intervals and certainties are noisy."""
MOST_CLUSTERS = 10
"""Clusters that are shown; `smcmc summary` shows all."""


def say(run: Run) -> None:
    """Print what a recorder says of a finished run, its clusters where it describes them, how like the truth they are
    where that is known, what to be warned of, and last whether its chains have converged."""
    recorders.say(run)
    if run.has_cluster_summary:
        for line in summaries.lines(run, MOST_CLUSTERS):
            print(line, file=sys.stderr, flush=True)
    if scores := summaries.score_line(run.summary):
        print(scores, file=sys.stderr, flush=True)
    if stopped := run.summary.get("until"):
        # a run without `until` does not need it
        from splitmerge_cli.runs import stopping

        print(stopping.describe_look(stopped, run.config["until"]), file=sys.stderr, flush=True)
    for line in (*warnings(run), *verdict(run)):
        print(line, file=sys.stderr, flush=True)


def verdict(run: Run) -> Iterator[str]:
    """Whether the chains of a run have converged, why not, and what to do next.

    Parameters
    ----------
    run : Run
        A finished one.

    Yields
    ------
    str
        The verdict, then a line ``next: ...`` where something is to be done. Nothing of a run that was made before
        runs were judged.
    """
    judged = run.summary.get("convergence")
    if judged is None:
        return
    if names := judged.get("not_sampled"):
        model = run.config["model"]["name"]
        known = choice("model", model) if model in choices("model") else {}
        fixed = " ".join(f"model.{name}={value_text(known[name]) if name in known else 'NUMBER'}" for name in names)
        yield f"not sampled: {', '.join(names)} (unknown, but one value in the second half of every chain)"
        yield f"next: a value in place of the prior, {fixed}"
        return
    if judged["converged"] is None:
        if run.config["chains"] == 1:
            yield "cannot tell whether the chain has converged: R-hat compares chains"
            yield "next: several chains, such as chains=4"
        else:
            yield f"cannot tell whether the chains have converged: {judged['note']}"
            if (judged["note"] or "").startswith("fewer"):
                yield f"next: {_longer_run(run)}"
        return
    rhat = "infinite" if judged["rhat"] is None else f"{judged['rhat']:.3g}"
    if judged["converged"] is False:
        held = "the best state stands in place of an estimate over all chains"
        yield f"not converged, because R-hat of {judged['quantity']} is {rhat}: {held}"
        shown = f"smcmc diagnose --all {shlex.quote(str(run.path))} shows every quantity"
        yield f"next: {_longer_run(run)}, or {_other_sampler(run)}; {shown}"
        return
    ess = judged.get("ess")  # runs made earlier do not have it
    few = ess is not None and ess < FEW_DRAWS
    draws = "" if ess is None else f", ESS at least {ess:,.0f} (of {judged['ess_of']})"
    held = "converged as far as R-hat shows" + ", with few independent draws" * few
    yield f"{held}: R-hat at most {rhat} (of {judged['quantity']}){draws}"
    if few:
        yield f"next: {_longer_run(run)}; intervals and certainties are noisy below an ESS of {FEW_DRAWS}"


def _longer_run(run: Run) -> str:
    """The keys of a run twice as long."""
    limits = {key: run.config[key] for key in ("iterations", "budget")}
    return "run longer, " + " ".join(f"{key}={2 * limit:.12g}" for key, limit in limits.items() if limit)


def _other_sampler(run: Run) -> str:
    """Sampler that may mix better, with the words that choose it for such a run."""
    model, sampler = run.config["model"]["name"], run.config["sampler"]["name"]
    in_list = run.config["schedule"]["name"] == "mix"
    # of normal and mixed tables it mixes best by measurement: docs/decisions/0018-sampler-of-own-tables.md
    if model in ("gaussian", "mixed") and sampler != "sams":
        if in_list:
            return "schedule=full_scan sampler=sams in place of the list"
        return f"sampler=sams in place of {sampler} and its options"
    # one of the user's own is in no list
    names = f"smcmc model info {model}" if model in choices("model") else "smcmc list samplers"
    return f"{'other samplers in the list' if in_list else 'another sampler'} ({names} names them)"


def warnings(run: Run) -> Iterator[str]:
    """Warn of a run that could not move."""
    tables = run.summary.get("hash_tables")
    if tables and tables["empty"] == tables["empty_opposite"] == 1.0:
        fewer = tables["bits"] // 2
        yield (
            f"lshsm proposed nothing: no item finds another in its hash tables ({tables['without_direction']} of "
            f"{run.summary['N']} items equal the mean and have no direction)"
            + (f"; with sampler.bits={fewer} some may" if fewer else "")
        )
