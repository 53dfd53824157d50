"""``smcmc columns``: show how a user's file is read."""

from collections.abc import Iterator

import numpy as np
import typer

from splitmerge_cli.cli.base import ConfigDir, Overrides, app, explain_errors, note
from splitmerge_cli.cli.files import with_file
from splitmerge_cli.config import ConfigError, RunSpecification, specify
from splitmerge_cli.data.dataset import READ_AS, Dataset
from splitmerge_cli.data.opening import limit_bytes
from splitmerge_cli.data.tables.mixed import RejectedColumns, describe_cells
from splitmerge_cli.diagnostics.cluster_table import shorten
from splitmerge_cli.kinds import get_kind
from splitmerge_cli.overrides import shell_word
from splitmerge_cli.runs.datasets import load_dataset
from splitmerge_cli.runs.identity import file_digests, of_data
from splitmerge_cli.runs.undecided import MIXED
from splitmerge_cli.terminal import WIDTH, one_line

LISTED = 12
"""Columns of a table that a run lists at most; of more, how many have each type."""
NAME = 24
"""Letters in the name of a column, at most."""


@app.command()
@explain_errors
def columns(overrides: Overrides = None, config_dir: ConfigDir = None) -> None:
    """Show how a file is read, column by column: smcmc columns FILE

    Nothing is run or changed. Keys are as in smcmc run: data.types={NAME:TYPE} changes how a column is read,
    data.drop=[NAME] leaves a column out, data.truth=NAME keeps true labels apart.
    """
    typed = overrides or []
    spec = specify(with_file(typed), config_dir, leave_to_data=True)
    if spec.data.values.get("path") is None:
        raise ConfigError(f"data={spec.data.name}: these data are not read from a file; expected smcmc columns FILE")
    dropped: list[str | int] = []
    try:
        dataset = _load(spec)
    except RejectedColumns as error:
        if not error.drop:
            raise
        note(str(error))
        dropped = error.drop
        dataset = _load(spec.with_({"data.drop": dropped}))
    place = spec.data.values["path"]
    typer.echo(f"{place}: {dataset.N:,} {dataset.kind.item}s")
    for line in table_lines(dataset.original) if dataset.types is not None else ():
        typer.echo(line)
    for line in dataset.notes:
        if READ_AS not in line:
            note(line)
    words = [*typed, *([f"data.drop=[{','.join(map(str, dropped))}]"] if dropped else [])]
    typer.echo(" ".join(["next: smcmc run", *map(shell_word, words)]))


def _load(spec: RunSpecification) -> Dataset:
    """Load the data as a table of any columns, or as the named model reads them."""
    kind = get_kind(MIXED) if spec.undecided or "model" in spec.to_choose else spec.model.kind
    data = spec.data.with_options(kind=kind.name) if kind.name == MIXED else spec.data
    data.check()
    with limit_bytes(data.max_bytes):
        return load_dataset(data, kind, of_data(file_digests(spec)))


def table_lines(dataset: Dataset) -> Iterator[str]:
    """Describe each column of a table in a line: its type, range or levels, and gaps."""
    types, scales = dataset.types or (), dataset.scales or [None] * len(dataset.column_names)
    rows = [("column", "read as", "values", "missing")]
    for name, type, scale, cells in zip(dataset.column_names, types, scales, dataset.values_in_units.T, strict=True):
        missing = int(np.isnan(cells).sum())
        read_as = type.type if scale is None else f"{type.type}, {scale}"
        held = one_line(describe_cells(cells, type))
        rows.append((shorten(one_line(str(name)), NAME), read_as, held, f"{missing:,}" if missing else ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[2] = min(widths[2], WIDTH - widths[0] - widths[1] - widths[3] - 8)
    for name, read_as, held, gaps in rows:
        if len(held) > widths[2]:  # the last levels that find no room are left out
            whole = held[: widths[2] - 5].rpartition(", ")[0]
            held = f"{whole}, ..." if whole else shorten(held, widths[2])
        cells = name.ljust(widths[0]), read_as.ljust(widths[1]), held.ljust(widths[2])
        yield f"  {'  '.join(cells)}  {gaps.rjust(widths[3])}".rstrip()
