"""``smcmc diagnose``, ``summary`` and ``compare``: convergence and clusters of the runs and certificates in folders."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import pandas as pd
import typer
from rich.table import Table
from rich.text import Text

from splitmerge_cli import received, terminal
from splitmerge_cli.analysis import alternatives, comparison
from splitmerge_cli.analysis.certificate import Certificate, find_certificates, open_certificate
from splitmerge_cli.cli.base import ConfigDir, app, complain, explain_errors, print_line
from splitmerge_cli.config import ConfigError
from splitmerge_cli.diagnostics.restarts import as_frame, short_lines, short_table, table
from splitmerge_cli.kinds import kinds
from splitmerge_cli.runs import advice, initial, judgement, open_run, summaries
from splitmerge_cli.runs.answers import Answers, answers_of, kind_of
from splitmerge_cli.runs.store.files import DamagedRun
from splitmerge_cli.runs.store.read import Run, find_runs

_LEARNT = "These chains learn from each other, so their agreement is weaker evidence. Compare runs with other seeds."

OF_KINDS = {key: entry for kind in kinds().values() for key, entry in kind.summary_keys.items()}
"""Keys of ``smcmc summary`` that runs of some kinds have (`splitmerge_cli.data.dataset.Kind.summary_keys`)."""
KEYS = {"clusters": 5, "answers": 5, "core": 0.95} | {key: example for key, (example, _, _) in OF_KINDS.items()}
"""Keys of ``smcmc summary``, each with an example of its value."""
HELP = f"""Show the clusters of runs: sizes, certainty, and what each differs most in.

clusters=5 merges the clusters of the run, the cheapest pair first, until 5 are left. answers=3 shows three
partitions that represent the posterior, with weights. core=0.95 shows the items that are together as listed, all at
once, with that probability. {" ".join(f"{key}={example:g} {text}." for key, (example, text, _) in OF_KINDS.items())}

The numbers are in cluster_summary.csv and column_summary.csv. A run without these files loads its data again.
"""


@app.command()
@explain_errors
def diagnose(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, or folders above them.")],
    everything: Annotated[
        bool, typer.Option("--all", help="Show every quantity of every chain, and why a value is missing.")
    ] = False,
    config_dir: ConfigDir = None,
) -> None:
    """Show whether chains have converged, with R-hat and ESS, and what to do next.

    Several runs of documents, or of records, are also compared with each other.
    """
    shown = terminal.console(200)
    status, answers, found = 0, Answers, list[Any]()
    for path in show_certificates(runs):
        for one in runs_in(path):
            try:
                one = open_run(one.path, config_dir)
                rows = [] if one.is_done else judgement.evidence_of(one)
                frame = one.diagnostics() if one.is_done else as_frame(rows)
                for line in advice.verdict(one) if one.is_done else summaries.unfinished_lines(one, rows):
                    print_line(line)
                title = f"{one.path} ({one.status['state']})"
                shown.print(table(frame, title) if everything else short_table(frame, title))
                lines = [] if everything else [*short_lines(frame)]
                if one.is_done:
                    lines += [*summaries.interval_lines(one), *filter(None, [summaries.score_line(one)])]
                    answers_of_run = answers_of(kind_of(one))
                    if (of_run := answers_of_run.comparable(one)) is not None:
                        answers = answers_of_run
                        found.append(of_run)
                for line in [*lines, *[_LEARNT] * initial.specification_of(one).is_adaptive]:
                    print_line(line)
            except (ConfigError, DamagedRun, FileNotFoundError) as error:
                complain(str(error))
                status = max(status, 2 if isinstance(error, ConfigError) else 1)
    if len(found) > 1:
        shown.print(answers.compare(found))
    raise typer.Exit(status)


@app.command(help=HELP)
@explain_errors
def summary(
    words: Annotated[
        list[str],
        typer.Argument(metavar="RUN|KEY=VALUE...", help="Folders of runs, or folders above them, and what to show."),
    ],
    columns: Annotated[
        bool,
        typer.Option("--columns", help="Also show the columns of every cluster: mean or share, interval, divergence."),
    ] = False,
    levels: Annotated[
        bool,
        typer.Option(
            "--levels", help="Merge the clusters pair by pair, and show expected distance and held-out density."
        ),
    ] = False,
    config_dir: ConfigDir = None,
) -> None:
    """Show the clusters of runs (`HELP`)."""
    width = terminal.width()
    runs, shown = _read_words(words)
    if columns and (levels or shown):
        raise ConfigError(f"--columns: expected alone, without --levels or {'=, '.join(KEYS)}=")
    status = 0
    for path in runs if levels or columns or shown else show_certificates(runs):
        runs_below = runs_in(path)
        for one in runs_below:
            try:
                one = open_run(one.path, config_dir)
                if not one.is_done:
                    raise ConfigError(f"{one.path}: expected a finished run, got one that is {one.missing}")
                if len(runs) > 1 or len(runs_below) > 1:
                    typer.echo(one.path)
                if not (levels or shown):
                    for line in summaries.lines(one, width=width, columns=columns):
                        print_line(line)
                    continue

                answers = [alternatives.dendrogram_lines(one)] if levels else []
                answers += [alternatives.cut_lines(one, int(value), width) for value in shown.get("clusters", ())]
                answers += [alternatives.answer_lines(one, int(value), width) for value in shown.get("answers", ())]
                answers += [alternatives.core_lines(one, value) for value in shown.get("core", ())]
                for key, (_, _, lines_of) in OF_KINDS.items():
                    answers += [resolve_name(lines_of)(one, value) for value in shown.get(key, ())]
                for lines in answers:
                    for line in lines:
                        print_line(line)
            except (ConfigError, received.DataError, DamagedRun) as error:
                complain(str(error))
                status = max(status, 1 if isinstance(error, DamagedRun) else 2)
    raise typer.Exit(status)


def _read_words(words: list[str]) -> tuple[list[Path], dict[str, list[float]]]:
    """Separate folders of runs from keys such as ``clusters=5``; raise `ConfigError` for another key or value."""
    runs: list[Path] = []
    shown: dict[str, list[float]] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or Path(word).exists():
            runs.append(Path(word))
            continue
        if key not in KEYS:
            raise ConfigError(f"{word}: expected the folder of a run, or one of {', '.join(f'{k}=' for k in KEYS)}")
        try:
            shown.setdefault(key, []).append(type(KEYS[key])(value))
        except ValueError:
            kind = "a number from 0 to 1" if isinstance(KEYS[key], float) else "a whole number"
            raise ConfigError(f"{word}: expected {kind}, such as {key}={KEYS[key]}") from None
    if not runs:
        raise ConfigError(f"{' '.join(words)}: expected the folder of a run as well")
    return runs, shown


@app.command()
@explain_errors
def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs, or folders above them.")
    ],
    config_dir: ConfigDir = None,
) -> None:
    """Compare finished runs: clusters, convergence, cost, and their distances.

    Each run has a row: the settings that differ from other runs, the number of clusters K of its estimate, the 95 %
    interval of K (an estimate outside it is marked), the largest R-hat, the smallest effective sample size (also per
    second), seconds of sampling over all chains, and the adjusted Rand index with the true clusters, if they are known.
    If the runs cluster the same items, a second table shows the variation of information (nats; 0: the same partition)
    and the adjusted Rand index (1: the same) between their estimates.
    """
    # folders may hold one another
    run_by_path = {one.path.resolve(): one for path in runs for one in runs_in(path)}
    opened = [open_run(one.path, config_dir) for one in run_by_path.values()]
    table = comparison.compare(opened)
    print_table(table, "differs in", numbered=True)
    if len(opened) < 2:
        return
    if len(opened) > comparison.MOST_RUNS:
        typer.echo(f"distances between estimates: at most {comparison.MOST_RUNS} runs can be compared; name fewer")
        return
    distances, apart = comparison.measure_distances(opened)
    if distances["vi"].notna().any():
        print_line(
            "distances between estimates: variation of information (nats) below the diagonal, adjusted Rand index above"
        )
        out = Table(box=None)
        for head in ["", *(str(k + 1) for k in range(len(opened)))]:
            out.add_column(head, justify="right")
        for k, cells in enumerate(comparison.distance_rows(distances, len(opened)), 1):
            out.add_row(str(k), *cells)
        terminal.console(10_000).print(out)
    if apart:
        typer.echo("no distance, because the items differ:")
        for line in apart:
            print_line(f"  {line}")


def print_table(table: pd.DataFrame, first: str, numbered: bool = False) -> None:
    """Print a row for each run of `splitmerge_cli.analysis.comparison.compare`, its label under `first`; if a terminal
    is too narrow for the rows, labels and runs follow below the table."""
    truth = bool(table["ari"].notna().any())
    heads = comparison.HEAD if truth else comparison.HEAD[:-1]
    cells = [comparison.cells(row, truth) for row in table.itertuples(index=False)]
    numbers = {"": [str(number) for number in range(1, len(table) + 1)]}
    values = {head: list(column) for head, column in zip(heads, zip(*cells, strict=True), strict=True)}
    labels, paths = {first: table["job"].astype(str)}, {"run": table["run"].astype(str)}
    # a terminal's width would break the paths of a pipe
    shown = terminal.console(10_000)
    whole = _build_table((numbers if numbered else {}) | labels | values | (paths if numbered else {}))
    if shown.measure(whole, options=shown.options.update(width=10_000)).maximum <= shown.width:
        shown.print(whole)
        return
    shown.print(_build_table(numbers | values))
    for number, label, path in zip(numbers[""], labels[first], paths["run"], strict=True):
        typer.echo(terminal.hang(f" {number}  ", label))
        if numbered:
            typer.echo(f"    {path}")


def _build_table(columns: Mapping[str, Iterable[str]]) -> Table:
    """A table of columns by their heads."""
    out = Table(box=None)
    for head in columns:
        out.add_column(head, justify="right" if head in comparison.HEAD else "left", no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        out.add_row(*map(Text, row))
    return out


def runs_in(path: Path) -> list[Run]:
    """Find the run of a folder, the runs below it, or the runs of its sweep or race, one at least."""
    runs = find_runs(path)
    if not runs and certificates_in(path):
        raise ConfigError(
            f"{path}: this is a certificate, not a run; expected runs (smcmc diagnose {path} shows the certificate)"
        )
    if not runs:
        raise ConfigError(
            f"{path}: no run here; expected a folder that smcmc run, sweep, race or certify printed, or a folder "
            "above it"
        )
    return runs


def certificates_in(path: Path) -> list[Path]:
    """The folders of certificates at or below a folder without runs."""
    return [] if find_runs(path) else find_certificates(path)


def show_certificates(paths: list[Path]) -> list[Path]:
    """Print the certificates among some folders, and return the other folders."""
    found = [(path, certificates_in(path)) for path in paths]
    for each in (each for _, certificates in found for each in certificates):
        typer.echo(f"{each} (certificate)")
        show_certificate(open_certificate(each))
    return [path for path, certificates in found if not certificates]


def show_certificate(certificate: Certificate) -> None:
    """Print the lines of a certificate, and the posterior means."""
    for line in certificate.lines():
        print_line(line)
    shown = certificate.shown_estimates()
    if len(shown):
        table = Table("posterior mean of", "estimate", "95 % interval", box=None)
        for row in shown:
            table.add_row(*row)
        terminal.console(160).print(table)
