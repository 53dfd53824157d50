"""Commands on what runs left: figures, reports, diagnoses; and the checks and measurements of the code."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from splitmerge_cli.cli.base import (
    ConfigDir,
    Edition,
    Figures,
    Out,
    Scale,
    Workers,
    app,
    complain,
    complete_figure,
    console,
    explain_errors,
    fail,
)

if TYPE_CHECKING:
    from splitmerge_cli.diagnostics.topic_report import RunTopics
    from splitmerge_cli.results.read import Run

_LEARNT = (
    "These chains learn from each other: that they agree says less than it does of others. Compare restarts, runs with "
    "other seeds."
)


@app.command()
@explain_errors
def reproduce(
    ids: Figures,
    scale: Annotated[
        str | None,
        typer.Option("--scale", help="quick (minutes; the default) or paper (the paper's sizes); --check: as kept."),
    ] = None,
    out: Out = Path("results"),
    workers: Workers = None,
    check: Annotated[
        bool, typer.Option("--check", help="Make the runs again in a new folder, and compare with what was kept.")
    ] = False,
    kept: Annotated[
        Path, typer.Option("--kept", metavar="FOLDER", help="With --check: a folder that smcmc keep wrote.")
    ] = Path("docs/reproduction"),
    edition: Edition = 1,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="KEY=VALUE",
            help="In place of a chosen setting, in all runs that have the key; again for each other key.",
        ),
    ] = None,
    config_dir: ConfigDir = None,
) -> None:
    """Run what figures need (skipping what is done), draw them, check their claims."""
    from splitmerge_cli.config import ConfigError
    from splitmerge_cli.papers import reproduce as papers

    if check:
        if overrides:
            raise ConfigError(f"--with {overrides[0]}: does not go with --check, whose settings are the kept ones")
        from splitmerge_cli.cli.kept import check_kept

        chosen = None if scale is None else checked_scale(scale)
        raise typer.Exit(check_kept(ids, chosen, out, kept, workers, config_dir, edition))
    at = checked_scale(scale or "quick")
    raise typer.Exit(papers.reproduce(ids, at, out, workers, config_dir, edition, overrides or ()))


@app.command()
@explain_errors
def plot(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="ID|PAPER|all|RUN ...",
            autocompletion=complete_figure,
            help="Figures, as smcmc list figures names them, or folders of runs.",
        ),
    ],
    scale: Scale = "quick",
    out: Out = Path("results"),
    show: Annotated[bool, typer.Option("--list", help="Say what can be drawn of the runs; draw nothing.")] = False,
    only: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Which pictures of the runs, such as pairs,projection.")
    ] = None,
    width: Annotated[
        str, typer.Option("--width", help="page (183 mm at most), or column (89 mm; of runs, what can be read so).")
    ] = "page",
    edition: Edition = 1,
    config_dir: ConfigDir = None,
) -> None:
    """Draw figures, or the pictures of a run, from stored results and the data of the run alone."""
    from splitmerge_cli.papers import reproduce as papers

    if show:
        papers.show_pictures(targets, config_dir)
        return
    if width not in ("page", "column"):
        fail(f"--width {width}: expected page or column", 2)
    names = None if only is None else only.split(",")
    raise typer.Exit(papers.plot(targets, checked_scale(scale), out, config_dir, names, edition, width == "column"))


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
    """Write one page of HTML about runs, or, without runs, about the reproduction of the papers.

    Of runs: verdict, clusters with intervals, certainty, pictures, whether the model fits, how the answer moves with
    prior, model and start, what to do next, and how to repeat it; of several first the table that compares them. One
    run: RUN/report.html; several: OUT/reports/ID.html, beside them. The page loads nothing from elsewhere.

    The folder of a sweep or race stands for its runs; that of a certificate has a page of its own, report.html.

    Without RUN: all finished runs of the present folder, or of OUT. Where figures of papers are drawn in OUT, or there
    is no run: results/report.html, every figure, the papers' numbers beside ours, verdicts.
    """
    from splitmerge_cli.runs import open_run

    named = runs or []
    if not named:
        from splitmerge_cli.papers.report import has_figures
        from splitmerge_cli.papers.report import report as write_report

        finished = [] if has_figures(out) else _runs_here(out)
        if not finished:
            typer.echo(write_report(out, config_dir))
            return
        named = [one.path for one in finished]
    from splitmerge_cli.pages.runs import write_report as write_page

    certificates = [each for path in named for each in certificates_in(path)]
    if certificates:
        from splitmerge_cli.pages.certificates import write_report as write_certificate
        from splitmerge_cli.studies.certify import open_certificate

        for each in dict.fromkeys(certificates):
            typer.echo(write_certificate(open_certificate(each)))
    found = {one.path.resolve(): one for path in named if not certificates_in(path) for one in runs_in(path)}
    if found:
        typer.echo(write_page([open_run(one.path, config_dir) for one in found.values()]))


def _runs_here(out: Path) -> "list[Run]":
    """The finished runs of the present folder where it is that of a run, of results or of a sweep; else those of
    `out`."""
    from splitmerge_cli.results.names import LISTED_RUNS, STATUS
    from splitmerge_cli.results.read import find_runs

    here = Path()
    if not any(next(here.glob(place), None) for place in (STATUS, LISTED_RUNS, f"*/{STATUS}", f"*/*/{STATUS}")):
        here = out
    return [run for run in find_runs(here) if run.is_done]


def checked_scale(scale: str) -> str:
    from splitmerge_cli.config import ConfigError

    if scale not in ("quick", "paper"):
        raise ConfigError(f"--scale {scale}: expected quick or paper")
    return scale


@app.command()
@explain_errors
def diagnose(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, or folders above them.")],
    everything: Annotated[
        bool, typer.Option("--all", help="Every quantity of every chain, and why a value is missing.")
    ] = False,
    config_dir: ConfigDir = None,
) -> None:
    """Say whether chains have converged and what to do next; show R-hat, effective sample size, acceptance, scores.

    Of several runs of topics also how far their topics agree.
    """
    from splitmerge_cli.config import ConfigError
    from splitmerge_cli.diagnostics.summary import as_frame, short_lines, short_table, table
    from splitmerge_cli.results.files import DamagedRun
    from splitmerge_cli.runs import closing, open_run, summaries
    from splitmerge_cli.runs.judgement import evidence_of
    from splitmerge_cli.runs.stored import specification_of

    shown = console(200)
    status, of_topics = 0, []
    for path in _show_certificates(runs):
        for one in runs_in(path):
            try:
                one = open_run(one.path, config_dir)
                rows = [] if one.is_done else evidence_of(one)
                frame = one.diagnostics() if one.is_done else as_frame(rows)
                for line in closing.verdict(one) if one.is_done else summaries.unfinished_lines(one, rows):
                    shown.print(line, highlight=False, markup=False)
                title = f"{one.path} ({one.status['state']})"
                shown.print(table(frame, title) if everything else short_table(frame, title))
                for line in () if everything else short_lines(frame):
                    shown.print(line, highlight=False, markup=False)
                for line in summaries.interval_lines(one) if one.is_done else ():
                    shown.print(line, highlight=False, markup=False)
                if one.is_done and (scores := summaries.score_line(one.summary)):
                    shown.print(scores, highlight=False, markup=False)
                if specification_of(one).is_adaptive:
                    shown.print(_LEARNT, highlight=False)
                if one.is_done and one.has_topics:
                    of_topics.append(_topics_of(one))
            except (ConfigError, DamagedRun, FileNotFoundError) as error:
                complain(str(error))
                status = max(status, 2 if isinstance(error, ConfigError) else 1)
    if len(of_topics) > 1:
        from splitmerge_cli.diagnostics.topic_report import between_runs

        shown.print(between_runs(of_topics))
    raise typer.Exit(status)


@app.command()
@explain_errors
def summary(
    words: Annotated[
        list[str],
        typer.Argument(metavar="RUN|KEY=VALUE...", help="Folders of runs, or folders above them; what is shown."),
    ],
    columns: Annotated[
        bool, typer.Option("--columns", help="Also the columns of every cluster: mean or share, interval, divergence.")
    ] = False,
    levels: Annotated[
        bool, typer.Option("--levels", help="The clusters merged pair by pair: expected distance, held-out density.")
    ] = False,
    config_dir: ConfigDir = None,
) -> None:
    """Show the clusters of runs: size, certainty, what tells each from the others.

    clusters=5 shows the level of 5 clusters, to which those of the run are merged where that costs least; answers=3
    three partitions that stand for the posterior, with weights; core=0.95 the items that are together as listed, all at
    once, with that probability.

    What is shown stands in cluster_summary.csv and column_summary.csv; where a run has no such files, its data are
    loaded again.
    """
    from shutil import get_terminal_size

    from splitmerge_cli.config import ConfigError
    from splitmerge_cli.data.base import DataError
    from splitmerge_cli.diagnostics.cluster_table import WIDTH
    from splitmerge_cli.results.files import DamagedRun
    from splitmerge_cli.runs import open_run, summaries

    width = max(WIDTH, get_terminal_size().columns) if sys.stdout.isatty() else WIDTH
    runs, shown = _read_words(words)
    if columns and (levels or shown):
        raise ConfigError("--columns: expected by itself, without --levels, clusters=, answers= and core=")
    status = 0
    for path in runs if levels or columns or shown else _show_certificates(runs):
        found = runs_in(path)
        for one in found:
            try:
                one = open_run(one.path, config_dir)
                if not one.is_done:
                    raise ConfigError(f"{one.path}: expected a finished run, got one that is {one.missing}")
                if len(runs) > 1 or len(found) > 1:
                    typer.echo(one.path)
                if not levels and not shown:
                    for line in summaries.lines(one, width=width, columns=columns):
                        typer.echo(line)
                    continue
                from splitmerge_cli.studies import levels as beyond

                made = [beyond.tree_lines(one)] if levels else []
                made += [beyond.level_lines(one, int(value), width) for value in shown.get("clusters", ())]
                made += [beyond.answer_lines(one, int(value), width) for value in shown.get("answers", ())]
                made += [beyond.core_lines(one, value) for value in shown.get("core", ())]
                for lines in made:
                    for line in lines:
                        typer.echo(line)
            except (ConfigError, DataError, DamagedRun) as error:
                complain(str(error))
                status = max(status, 1 if isinstance(error, DamagedRun) else 2)
    raise typer.Exit(status)


def _read_words(words: list[str]) -> tuple[list[Path], dict[str, list[float]]]:
    """The folders among the words of `summary`, and the values of its keys; raises `ConfigError` for another key or
    value."""
    from splitmerge_cli.config import ConfigError

    keys = {"clusters": int, "answers": int, "core": float}
    runs: list[Path] = []
    shown: dict[str, list[float]] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or Path(word).exists():
            runs.append(Path(word))
            continue
        if key not in keys:
            raise ConfigError(f"{word}: expected the folder of a run, or one of {', '.join(f'{k}=' for k in keys)}")
        try:
            shown.setdefault(key, []).append(keys[key](value))
        except ValueError:
            kind = "a number from 0 to 1" if key == "core" else "a whole number"
            raise ConfigError(f"{word}: expected {kind}, such as {key}={'0.95' if key == 'core' else '5'}") from None
    if not runs:
        raise ConfigError(f"{' '.join(words)}: expected the folder of a run beside it")
    return runs, shown


def runs_in(path: Path) -> "list[Run]":
    """Find the run of a folder, those below it, or those of its sweep or race; raises `ConfigError` without one."""
    from splitmerge_cli.config import ConfigError
    from splitmerge_cli.results.read import find_runs

    found = find_runs(path)
    if not found and certificates_in(path):
        raise ConfigError(
            f"{path}: a certificate, whose coupled chains are no runs; expected runs (smcmc diagnose {path} shows it)"
        )
    if not found:
        raise ConfigError(
            f"{path}: no run here; expected a folder that smcmc run, sweep, race or certify printed, or one above"
        )
    return found


def certificates_in(path: Path) -> list[Path]:
    """The folders of certificates at or below a folder without runs."""
    from splitmerge_cli.results.read import find_runs
    from splitmerge_cli.studies.certify import find_certificates

    return [] if find_runs(path) else find_certificates(path)


def _show_certificates(paths: list[Path]) -> list[Path]:
    """Print the certificates among some folders, and return the other folders."""
    from splitmerge_cli.cli.certificates import show_certificate
    from splitmerge_cli.studies.certify import open_certificate

    others = []
    for path in paths:
        found = certificates_in(path)
        for each in found:
            typer.echo(f"{each} (certificate)")
            show_certificate(open_certificate(each))
        if not found:
            others.append(path)
    return others


def _topics_of(run: "Run") -> "RunTopics":
    """The topics of a run's best chain."""
    from splitmerge_cli.diagnostics.topic_report import RunTopics

    words, summary = run.topic_words(["chain", "topic", "word", "count"]), run.summary
    words = words[words["chain"] == summary["topics_of"]["chain"]]
    eta, V = summary["hyperparameters"]["eta"], summary["documents"]["words"]
    return RunTopics(str(run.path), words, run.tokens(["document", "word", "topic"]), eta, V)


@app.command()
@explain_errors
def verify(
    args: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", show_default=False, help="What is checked, as the examples show it."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="A table for every small data set.")] = False,
    config_dir: ConfigDir = None,
) -> None:
    """Compare samplers with the enumerated posterior of small data, alone and with Gibbs.

    A line for each model says which samplers are exact. Of one that is not it names the transition that is furthest
    from balance, its move, and what its ratio would need.

    smcmc verify sampler=sdds,ss model=emm mode=both size=4 seed=0 iterations=200000 sampler.kernel=ssdm model.alpha=0.1

    sampler and model default to all; mode is exact, as_printed or both; size the number of items; iterations the length
    of a sampled check beside the exact one (0: none). Exit status 1 when an exact sampler is not exact.

    smcmc verify 'schedule=[{sams: 1}, {gibbs: 1}]' model=bernoulli 'model.concentration=gamma(2,1)'

    With a schedule, as `smcmc run` takes it, its iterations are checked in place of the samplers by themselves.
    """
    from splitmerge_cli.config import ConfigError
    from splitmerge_cli.verify.command import verify as verify_command

    pairs = [arg.partition("=") for arg in args or []]
    for key, equals, value in pairs:
        if not key or not equals or not value:
            raise ConfigError(f"{key}{equals}{value}: expected KEY=VALUE")
    raise typer.Exit(verify_command({key: value for key, _, value in pairs}, config_dir, everything))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@explain_errors
def bench(
    ctx: typer.Context,
    scaling: Annotated[bool, typer.Option("--scaling", help="Growth with N, D and K.")] = False,
) -> None:
    """Measure kernels and whole iterations against a plain C baseline (needs a checkout of the repository)."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "bench" / "__main__.py").is_file():
        fail("bench: the benchmarks are part of the repository, not of the package; run it in a checkout", 2)
    command = [sys.executable, "-m", "bench", *["--scaling"] * scaling, *ctx.args]
    raise typer.Exit(subprocess.run(command, cwd=root, check=False).returncode)
