"""What ``smcmc run`` says of a run at its end, on stderr."""

import sys
from collections.abc import Iterator

from splitmerge_cli.results.read import Run
from splitmerge_cli.runs import recorders

NOT_CONVERGED = 1.1
"""R-hat from which on a run says that its chains have not converged."""


def say(run: Run) -> None:
    """Print what a recorder says of a finished run, then what to be warned of."""
    recorders.say(run)
    for warning in warnings(run):
        print(warning, file=sys.stderr, flush=True)


def warnings(run: Run) -> Iterator[str]:
    """What to say of a run whose chains have not converged, or could not move."""
    summary = run.summary
    of = {name: summary["diagnostics"].get(f"rhat/{name}") for name in ("n_clusters", "log_joint")}
    name, rhat = max(of.items(), key=lambda item: item[1] or 0.0)
    if (rhat or 0.0) >= NOT_CONVERGED:
        yield (
            f"the chains have not converged (R-hat of {name}: {rhat:.3g}); run longer, and see smcmc diagnose "
            f"{run.path}"
        )
    tables = summary.get("hash_tables")
    if tables and tables["empty"] == tables["empty_opposite"] == 1.0:
        yield (
            f"lshsm proposed nothing: no item finds another in its hash tables ({tables['without_direction']} of "
            f"{summary['N']} items equal the mean and have no direction); fewer than sampler.bits={tables['bits']} may"
        )
