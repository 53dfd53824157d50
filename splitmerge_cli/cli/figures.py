"""``smcmc reproduce``, ``smcmc plot`` and ``smcmc report``."""

from pathlib import Path
from typing import Annotated

import typer

from splitmerge_cli.analysis.certificate import open_certificate
from splitmerge_cli.analysis.pages.runs import write_certificate, write_report
from splitmerge_cli.cli import base
from splitmerge_cli.cli.results import certificates_in, runs_in
from splitmerge_cli.config import ConfigError
from splitmerge_cli.papers import report as pages_of_papers
from splitmerge_cli.papers import reproduce as papers
from splitmerge_cli.runs import open_run
from splitmerge_cli.runs.store import files, read

Everything = Annotated[
    bool, typer.Option("--all", help="Print every claim with its reason, and the verdicts under other readings.")
]


@base.app.command()
@base.explain_errors
def reproduce(
    ids: base.Figures,
    scale: base.Scale = "quick",
    out: base.Out = Path("results"),
    workers: base.Workers = None,
    edition: base.Edition = 1,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="KEY=VALUE",
            help="Replace a chosen setting in all runs that have the key. May be repeated.",
        ),
    ] = None,
    everything: Everything = False,
    config_dir: base.ConfigDir = None,
) -> None:
    """Make the runs of figures, draw the figures, check their claims.

    Runs that are done already are not made again.
    """
    chosen = overrides or ()
    raise typer.Exit(papers.reproduce(ids, checked_scale(scale), out, workers, config_dir, edition, chosen, everything))


@base.app.command()
@base.explain_errors
def plot(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="ID|PAPER|all|RUN ...",
            autocompletion=base.complete_figure,
            help="Names from smcmc list figures, or folders of runs.",
        ),
    ],
    scale: base.Scale = "quick",
    out: base.Out = Path("results"),
    show: Annotated[
        bool, typer.Option("--list", help="List the pictures that can be drawn of the runs; draw nothing.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="Draw only these pictures of the runs, such as pairs,projection."),
    ] = None,
    width: Annotated[
        str,
        typer.Option(
            "--width",
            help="Width: page (at most 183 mm) or column (89 mm; only pictures of runs that are readable at that "
            "width).",
        ),
    ] = "page",
    edition: base.Edition = 1,
    everything: Everything = False,
    config_dir: base.ConfigDir = None,
) -> None:
    """Draw the pictures of runs, or figures of the papers, from stored results.

    The data of a run are read again; nothing is sampled.
    """
    if show:
        papers.show_pictures(targets, config_dir)
        return
    if width not in ("page", "column"):
        base.fail(f"--width {width}: expected page or column", 2)
    names = None if only is None else only.split(",")
    raise typer.Exit(
        papers.plot(targets, checked_scale(scale), out, config_dir, names, edition, width == "column", everything)
    )


def checked_scale(scale: str) -> str:
    """Return the scale; raise a `ConfigError` for another word."""
    if scale not in ("quick", "paper"):
        raise ConfigError(f"--scale {scale}: expected quick or paper")
    return scale


@base.app.command()
@base.explain_errors
def report(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUN]...", show_default=False, help="Folders of finished runs, or folders above them."),
    ] = None,
    out: base.Out = Path("results"),
    config_dir: base.ConfigDir = None,
) -> None:
    """Write one page of HTML about runs; without runs, about the papers.

    The page of a run, RUN/report.html, has its clusters, their number and certainty, with pictures; whether the model
    fits; how the answer moves with prior, model and start; what to do next; the chains; and how to repeat it. The page
    of several runs, OUT/reports/ID.html, begins with a table that compares them. Pages load nothing from elsewhere.

    The folder of a sweep or race stands for its runs. A certificate has its own page, report.html.

    Without RUN, the page is about all finished runs of the present folder, or of OUT. If OUT holds figures of papers,
    or no run, it is results/report.html: every figure, the papers' numbers next to ours, and the verdicts.
    """
    named = runs or []
    if not named:
        here = Path()
        places = files.STATUS, files.LISTED_RUNS, f"*/{files.STATUS}", f"*/*/{files.STATUS}"
        if not any(next(here.glob(place), None) for place in places):  # no folder of a run, of results or of a sweep
            here = out
        finished = [] if pages_of_papers.has_figures(out) else [run for run in read.find_runs(here) if run.is_done]
        if not finished:
            typer.echo(pages_of_papers.report(out, config_dir))
            return
        named = [one.path for one in finished]
    certificates = [each for path in named for each in certificates_in(path)]
    for each in dict.fromkeys(certificates):
        typer.echo(write_certificate(open_certificate(each)))
    run_by_path = {one.path.resolve(): one for path in named if not certificates_in(path) for one in runs_in(path)}
    if run_by_path:
        typer.echo(write_report([open_run(one.path, config_dir) for one in run_by_path.values()]))
