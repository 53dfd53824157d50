"""What ``smcmc run`` says of a run at its end, on stderr."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from splitmerge_cli.results.read import Run
from splitmerge_cli.runs import recorders, summaries

MOST_CLUSTERS = 10
"""Clusters that are shown; `smcmc summary` shows all."""


def say(run: Run) -> None:
    """Print what a recorder says of a finished run, its clusters where it describes them, then what to be warned of."""
    recorders.say(run)
    if run.has_cluster_summary:
        for line in summaries.lines(run, MOST_CLUSTERS):
            print(line, file=sys.stderr, flush=True)
    if stopped := run.summary.get("until"):
        print(stopping(stopped, run.config["until"]), file=sys.stderr, flush=True)
    for warning in warnings(run):
        print(warning, file=sys.stderr, flush=True)


def stopping(found: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """What the last look at chains has found that end when they have run long enough."""
    held = []
    for key, name, bound in (("rhat", "R-hat", "at most"), ("ess", "ESS", "at least")):
        if asked[key] is not None:
            value = "undefined" if found[key] is None else f"{bound} {found[key]:.4g} (of {found[f'{key}_of']})"
            held.append(f"{name} {value}, asked for {asked[key]:g}")
    ended = "long enough" if found["reached"] else "not long enough"
    return f"{ended} after {found['iterations']:,} iterations: {'; '.join(held)}"


def warnings(run: Run) -> Iterator[str]:
    """What to say of a run whose chains have not converged or cannot show it, or could not move."""
    summary = run.summary
    # runs made earlier do not have it
    judged = summary.get("convergence") or {"converged": True}
    if judged["converged"] is False:
        rhat = "infinite" if judged["rhat"] is None else f"{judged['rhat']:.3g}"
        budget = run.config["budget"]
        more = f"budget={2 * budget:g}" if budget else f"iterations={2 * max(summary['iterations'])}"
        # of normal and mixed tables it mixes best by measurement: docs/decisions/0018-sampler-of-own-tables.md
        named = run.config["model"]["name"] in ("gaussian", "mixed") and run.config["sampler"]["name"] != "sams"
        other = "sampler=sams" if named else "another sampler (smcmc list sampler)"
        yield (
            f"the chains have not converged (R-hat of {judged['quantity']}: {rhat}): the best state stands in place of "
            f"an estimate over all chains; run longer ({more}) or try {other}, and see smcmc diagnose {run.path}"
        )
    elif judged["converged"] is None and summary["chains"] == 1:
        yield "one chain cannot show whether it has converged; several can, such as chains=4"
    tables = summary.get("hash_tables")
    if tables and tables["empty"] == tables["empty_opposite"] == 1.0:
        yield (
            f"lshsm proposed nothing: no item finds another in its hash tables ({tables['without_direction']} of "
            f"{summary['N']} items equal the mean and have no direction); fewer than sampler.bits={tables['bits']} may"
        )
