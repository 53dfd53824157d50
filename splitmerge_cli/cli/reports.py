"""``smcmc report``."""

from pathlib import Path
from typing import Annotated

import typer

from splitmerge_cli.analysis.certificate import open_certificate
from splitmerge_cli.analysis.pages.runs import write_certificate, write_report
from splitmerge_cli.cli.base import ConfigDir, Out, app, explain_errors
from splitmerge_cli.cli.folders import certificates_in, runs_in
from splitmerge_cli.papers import report as papers
from splitmerge_cli.runs import open_run
from splitmerge_cli.runs.store.names import LISTED_RUNS, STATUS
from splitmerge_cli.runs.store.read import Run, find_runs


@app.command()
@explain_errors
def report(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUN]...", show_default=False, help="Folders of finished runs, or folders above them."),
    ] = None,
    out: Out = Path("results"),
    config_dir: ConfigDir = None,
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
        finished = [] if papers.has_figures(out) else _runs_here(out)
        if not finished:
            typer.echo(papers.report(out, config_dir))
            return
        named = [one.path for one in finished]
    certificates = [each for path in named for each in certificates_in(path)]
    for each in dict.fromkeys(certificates):
        typer.echo(write_certificate(open_certificate(each)))
    run_by_path = {one.path.resolve(): one for path in named if not certificates_in(path) for one in runs_in(path)}
    if run_by_path:
        typer.echo(write_report([open_run(one.path, config_dir) for one in run_by_path.values()]))


def _runs_here(out: Path) -> list[Run]:
    """Finished runs of the present folder if it is a folder of a run, of results or of a sweep; otherwise of `out`."""
    here = Path()
    if not any(next(here.glob(place), None) for place in (STATUS, LISTED_RUNS, f"*/{STATUS}", f"*/*/{STATUS}")):
        here = out
    return [run for run in find_runs(here) if run.is_done]
