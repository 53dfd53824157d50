"""``smcmc certify``, and ``smcmc race``: samplers on one posterior."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from splitmerge_cli import terminal
from splitmerge_cli.analysis import coupled_pairs, predictive
from splitmerge_cli.analysis.race import jobs_of, race_of
from splitmerge_cli.api import certifying
from splitmerge_cli.cli import base, results, running
from splitmerge_cli.config import ConfigError, RunSpecification, specify
from splitmerge_cli.runs import interrupts
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.sweeps import sweep as sweeps


@base.app.command()
@base.explain_errors
def certify(
    overrides: base.Overrides = None,
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
    workers: base.Workers = None,
    config_dir: base.ConfigDir = None,
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
    job = specify(base.with_workers(running.with_file(overrides or []), workers), config_dir, leave_to_data=True)
    if "init" not in job.given_keys.keys:
        job = job.with_(init=coupled_pairs.MIXTURE)
    plan = coupled_pairs.check_coupling(running.settle_run(job)[0])
    items = None if new is None else predictive.items_of(plan.data, plan.dataset, new)
    for note in plan.dataset.notes:
        base.complain(f"note: {note}")
    certificate = certifying.make_certificate(plan, pairs, lag, k, m, seconds, coupling, items, job.progress)
    results.show_certificate(certificate)
    typer.echo(certificate.path)


@base.app.command()
@base.explain_errors
def race(
    words: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE...|RUN...", help="Keys of smcmc run, or folders of finished runs.")
    ],
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds per initial state, unless seed is named.")] = 10,
    seconds: Annotated[
        float, typer.Option(min=0.01, help="Seconds of each chain, unless iterations or budget is named.")
    ] = 5.0,
    certify: Annotated[
        int, typer.Option(min=0, help="Pairs of coupled chains of each sampler, for unbiased variances. 0: none.")
    ] = 0,
    workers: base.Workers = None,
    config_dir: base.ConfigDir = None,
) -> None:
    """Compare samplers on one posterior: which reaches it first.

    smcmc race sampler=sams,sdds,rgsm data=csv data.path=FILE

    Every sampler runs from one cluster and from singletons (unless init is named) with every seed, all for the same
    time. The target is a log joint density and a distance to the partitions of the best chains; 95 % of the draws of
    these chains reach it. The table shows the time to the target, effective draws and accepted moves per second. The
    last line names the fastest sampler, with an interval over initial states and seeds, or says that the race is
    undecided.

    Finished runs of one posterior are compared by: smcmc race RUN RUN ... Runs are stored and not made twice. The last
    line on stdout is the folder of the table and the figure.
    """
    keys = running.with_file([each for each in words if "=" in each or Path(each).is_file()])
    folders = [each for each in words if "=" not in each and not Path(each).is_file()]
    if keys and folders:
        raise ConfigError(f"{folders[0]}: expected keys of smcmc run, or folders of finished runs, not both")
    jobs: list[RunSpecification] = []
    if folders:
        runs = [run for folder in folders for run in results.runs_in(Path(folder))]
        if certify:
            raise ConfigError("--certify makes pairs of chains; expected keys of smcmc run, not folders")
    else:
        keys, launcher = sweeps.split_hydra(keys)
        sweeps.check_workers(workers, launcher)
        jobs = jobs_of(keys, seeds, seconds, config_dir, base.settle_jobs)
        outcomes = sweeps.run_jobs(jobs, workers=workers, launcher=launcher)
        for said in dict.fromkeys(said for outcome in outcomes for said in outcome.notes):
            base.note(said)
        for error in dict.fromkeys(outcome.error for outcome in outcomes if outcome.error):
            base.complain(str(error))
        if any(outcome.status == "rejected" for outcome in outcomes):
            raise typer.Exit(2)
        if line := sweeps.interruption(outcomes):
            base.fail(f"{line}; the same command continues the race", interrupts.STATUS)
        if any(not outcome.complete for outcome in outcomes):
            raise typer.Exit(1)
        runs = [Run(outcome.path, config_dir) for outcome in outcomes if outcome.path]
    comparison = race_of(runs)
    table = Table(box=None, pad_edge=False)
    for name in ("sampler", "from", "reached", "median s", "ESS/s K", "log joint", "partition", "moves/s"):
        table.add_column(name, justify="left" if name in ("sampler", "from") else "right")
    for row in comparison.table().itertuples(index=False):
        median = f"{row.seconds:.3g}" if row.seconds < float("inf") else f"> {row.end:.3g}"
        counted = (row.ess_n_clusters, row.ess_log_joint, row.ess_partition, row.accepted)
        cells = ["–" if value != value else f"{value:,.4g}" for value in counted]
        table.add_row(row.sampler, row.start, f"{row.reached} of {row.chains}", median, *cells)
    terminal.console(160).print(table)
    for line in comparison.lines():
        base.print_line(line)
    if certify:
        for each in certifying.efficiencies(jobs, certify, workers):
            base.print_line(each)
    # next to the runs: results/SAMPLER-DATA/ID
    typer.echo(certifying.write_race(comparison, runs[0].path.parents[1]))
