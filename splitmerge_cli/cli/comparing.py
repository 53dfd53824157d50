"""``smcmc compare``, and the table that it shares with ``smcmc sweep``."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.table import Table
from rich.text import Text

from splitmerge_cli.analysis import comparison
from splitmerge_cli.cli.base import ConfigDir, app, console, explain_errors
from splitmerge_cli.cli.folders import runs_in
from splitmerge_cli.runs import open_run


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
        _print_distances(distances, len(opened))
    if apart:
        typer.echo("no distance, because the items differ:")
        for line in apart:
            typer.echo(f"  {line}")


def print_table(table: pd.DataFrame, first: str, numbered: bool = False) -> None:
    """Print a row for each run of `splitmerge_cli.analysis.comparison.compare`, its label under `first`."""
    truth = bool(table["ari"].notna().any())
    out = Table(box=None)
    heads = [
        *([""] if numbered else []),
        first,
        *(comparison.HEAD if truth else comparison.HEAD[:-1]),
        *(["run"] if numbered else []),
    ]
    for head in heads:
        out.add_column(head, justify="right" if head in comparison.HEAD else "left", no_wrap=True)
    for number, row in enumerate(table.itertuples(index=False), 1):
        texts = [str(row.job), *comparison.cells(row, truth)]
        out.add_row(*map(Text, [str(number), *texts, str(row.run)] if numbered else texts))
    # a terminal's width would break the paths of a pipe
    console(10_000).print(out)


def _print_distances(distances: pd.DataFrame, number: int) -> None:
    """Print the distances between runs as a matrix: variation of information below the diagonal, ARI above it."""
    typer.echo(
        "distances between estimates: variation of information (nats) below the diagonal, adjusted Rand index above"
    )
    out = Table(box=None)
    for head in ["", *(str(k + 1) for k in range(number))]:
        out.add_column(head, justify="right")
    for k, cells in enumerate(comparison.distance_rows(distances, number), 1):
        out.add_row(str(k), *cells)
    console(10_000).print(out)
