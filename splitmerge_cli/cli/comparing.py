"""``smcmc compare``: finished runs beside each other; runs and certificates in the folders that a user names."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.table import Table
from rich.text import Text

from splitmerge_cli import config, terminal
from splitmerge_cli.analysis import comparison
from splitmerge_cli.analysis.certificate import Certificate, find_certificates, open_certificate
from splitmerge_cli.cli.base import ConfigDir, app, console, explain_errors, print_line
from splitmerge_cli.runs import open_run
from splitmerge_cli.runs.store.read import Run, find_runs


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
        # print the distances between runs as a matrix: variation of information below the diagonal, ARI above
        # it
        number = len(opened)
        print_line(
            "distances between estimates: variation of information (nats) below the diagonal, adjusted Rand index above"
        )
        out = Table(box=None)
        for head in ["", *(str(k + 1) for k in range(number))]:
            out.add_column(head, justify="right")
        for k, cells in enumerate(comparison.distance_rows(distances, number), 1):
            out.add_row(str(k), *cells)
        console(10_000).print(out)
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
    shown = console(10_000)
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
        raise config.ConfigError(
            f"{path}: this is a certificate, not a run; expected runs (smcmc diagnose {path} shows the certificate)"
        )
    if not runs:
        raise config.ConfigError(
            f"{path}: no run here; expected a folder that smcmc run, sweep, race or certify printed, or a folder "
            "above it"
        )
    return runs


def certificates_in(path: Path) -> list[Path]:
    """The folders of certificates at or below a folder without runs."""
    return [] if find_runs(path) else find_certificates(path)


def show_certificates(paths: list[Path]) -> list[Path]:
    """Print the certificates among some folders, and return the other folders."""
    others = []
    for path in paths:
        certificates = certificates_in(path)
        for each in certificates:
            typer.echo(f"{each} (certificate)")
            show_certificate(open_certificate(each))
        if not certificates:
            others.append(path)
    return others


def show_certificate(certificate: Certificate) -> None:
    """Print the lines of a certificate, and the posterior means."""
    for line in certificate.lines():
        print_line(line)
    shown = certificate.shown_estimates()
    if len(shown):
        table = Table("posterior mean of", "estimate", "95 % interval", box=None)
        for row in shown:
            table.add_row(*row)
        console().print(table)
