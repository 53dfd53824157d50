"""``smcmc certify``."""

from typing import Annotated

import typer

from splitmerge_cli.analysis.coupled_pairs import MIXTURE, check_coupling
from splitmerge_cli.analysis.predictive import items_of
from splitmerge_cli.api.certifying import make_certificate
from splitmerge_cli.cli.base import (
    ConfigDir,
    Overrides,
    Workers,
    app,
    complain,
    explain_errors,
    settle_run,
    with_workers,
)
from splitmerge_cli.cli.files import with_file
from splitmerge_cli.cli.folders import show_certificate
from splitmerge_cli.config import specify


@app.command()
@explain_errors
def certify(
    overrides: Overrides = None,
    pairs: Annotated[int, typer.Option(help="Pairs of coupled chains.")] = 100,
    lag: Annotated[
        int | None, typer.Option(help="Iterations by which one chain of a pair is ahead.", show_default="by a pilot")
    ] = None,
    k: Annotated[int | None, typer.Option("-k", help="First iteration of the means.", show_default="the lag")] = None,
    m: Annotated[int | None, typer.Option("-m", help="Last iteration of the means.", show_default="5 k")] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Begin no pair after this many seconds (the pilot: after a fifth of them). Pairs that were begun are "
            "finished.",
            show_default="no limit",
        ),
    ] = None,
    coupling: Annotated[
        str, typer.Option(help="Coupling of the draws of a cluster: maximal, common (uniform numbers) or transport.")
    ] = "maximal",
    new: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Estimate the predictive densities of the rows of this file. Its columns are as in data.path.",
        ),
    ] = None,
    workers: Workers = None,
    config_dir: ConfigDir = None,
) -> None:
    """Bound the distance of a chain from its posterior.

    smcmc certify sampler=sams data=csv data.path=FILE

    Keys are as in smcmc run. Pairs of chains are coupled so that they meet. How soon they meet gives an estimated bound
    on the distance between a chain's distribution after t iterations and the posterior, and posterior means that need
    no burn-in. `iterations` is the most that a pair may take. Chains start from a mixture of one cluster, singletons
    and draws from the prior, unless `init` is named. If a pair has not met, or no sampler updates a hyper-parameter,
    the bound is unknown, and a note says why.

    The same command continues an interrupted certificate, and finishes the pairs that were begun before it reports.
    With more --pairs it adds the missing ones. The last line on stdout is the folder of the certificate.
    """
    spec = specify(with_workers(with_file(overrides or []), workers), config_dir, leave_to_data=True)
    if "init" not in spec.given_keys.keys:
        spec = spec.with_(init=MIXTURE)
    plan = check_coupling(settle_run(spec)[0])
    items = None if new is None else items_of(plan.spec, plan.dataset, new)
    for note in plan.dataset.notes:
        complain(f"note: {note}")
    certificate = make_certificate(plan, pairs, lag, k, m, seconds, coupling, items)
    show_certificate(certificate)
    typer.echo(certificate.path)
