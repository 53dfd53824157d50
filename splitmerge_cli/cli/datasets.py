"""``smcmc data``: data sets, where they come from, and their options."""

import inspect

import typer

from splitmerge_cli import terminal
from splitmerge_cli.cli.base import ConfigDir, app, complain, explain_errors, print_entries
from splitmerge_cli.cli.components import Named
from splitmerge_cli.config import DataSource, choice, compose, describe, import_beside, places, shared_options, show
from splitmerge_cli.data.dataset import kinds
from splitmerge_cli.data.published import sets
from splitmerge_cli.data.transfer import show_progress

data_app = typer.Typer(help="Data sets: list, info NAME, fetch NAME.", no_args_is_help=True)
app.add_typer(data_app, name="data")


@data_app.command("list")
@explain_errors
def data_list(config_dir: ConfigDir = None) -> None:
    """List the data sets: name, kind, number of items, where they are, what they are."""
    beside = places(config_dir)
    import_beside(beside)
    head = ("name", "kind", "N", "where", "what")
    listed = describe("data", beside)
    print_entries([head, *((name, *_data_facts(name, config_dir), title) for name, title in listed)])


def _data_facts(name: str, config_dir: str | None) -> tuple[str, str, str]:
    """Kind, number of items and place of a data set."""
    if name in sets.SETS:
        published = sets.SETS[name]
        return published.kind, published.N, sets.describe_place(name)
    options = choice("data", name, places(config_dir))
    if "path" in options:
        # a table is of the kind that the model reads
        kind = next((kind for kind in kinds().values() if kind.reader == name and "kind" not in options), None)
        named, item = ("the model's", "row") if kind is None else (kind.name, kind.item)
        return named, f"{item}s of the file", "data.path=FILE"
    data = compose([f"data={name}"], config_dir).data
    generated = data.options.get("N") is not None
    if generated:
        data = data.with_options(N=min(data.options["N"], 100))  # enough to tell the kind
    dataset = data.function(**data.options)
    return (dataset.kind.name, "any", "generated") if generated else (dataset.kind.name, str(dataset.N), "here")


@data_app.command("info")
@explain_errors
def data_info(name: Named, config_dir: ConfigDir = None) -> None:
    """Describe a data set: its source if it was published, and its options with defaults."""
    beside = places(config_dir)
    import_beside(beside)
    options = choice("data", name, beside) | shared_options("data")
    typer.echo(inspect.getdoc(DataSource({"name": name} | options).function))
    del options["_target_"]
    if name in sets.SETS:
        typer.echo("\nThe published set\n-----------------")
        for line in sets.describe(name).splitlines():
            typer.echo(terminal.hang(line[:9], line[9:]))
    typer.echo(f"\nOptions of data={name}\n" + "-" * len(f"Options of data={name}"))
    for key, value in options.items():
        if key != "name":
            typer.echo(f"data.{key}=FILE (needed)" if value == "???" else f"data.{key}={show(value)}")


@data_app.command("fetch")
@explain_errors
def data_fetch(name: Named) -> None:
    """Download a published data set to the folder SMCMC_DATA (default: your cache)."""
    options = choice("data", name)
    if name in sets.SETS:
        with show_progress() as report:
            path = sets.fetch(name, report)
        for note in sets.verification_notes(name):
            complain(f"note: {note}")
        typer.echo(path)
    elif "path" in options:
        typer.echo(f"{name} reads your own file (data.path=FILE); there is nothing to fetch")
    else:
        typer.echo(f"{name} comes with the package or is generated; there is nothing to fetch")
