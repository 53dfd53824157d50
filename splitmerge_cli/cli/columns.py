"""``smcmc columns``: show how a user's file is read."""

import typer

from splitmerge_cli.cli.base import ConfigDir, Overrides, app, explain_errors, note, table_lines
from splitmerge_cli.cli.files import with_file
from splitmerge_cli.config import ConfigError, RunSpecification, specify
from splitmerge_cli.data.dataset import READ_AS, Dataset, get_kind
from splitmerge_cli.data.opening import limit_bytes
from splitmerge_cli.data.tables.mixed import RejectedColumns
from splitmerge_cli.overrides import shell_word
from splitmerge_cli.runs import identity, initial
from splitmerge_cli.runs.undecided import MIXED


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
        return initial.load_dataset(data, kind, identity.file_digests(data))
