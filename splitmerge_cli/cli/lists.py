"""What there is: samplers, models, data sets, schedules, figures, each with its options."""

from typing import Annotated

import typer

from splitmerge_cli.cli.base import app, complain, explained, print_entries

data_app = typer.Typer(help="Data sets: list, info NAME, fetch NAME.", no_args_is_help=True)
app.add_typer(data_app, name="data")


@app.command("list")
@explained
def list_(what: Annotated[str, typer.Argument(metavar="samplers|models|data|figures|schedules")]) -> None:
    """List samplers, models, data sets, schedules or figures."""
    from splitmerge_cli.config import ConfigError, describe

    groups = {"samplers": "sampler", "models": "model", "data": "data", "schedules": "schedule"}
    if what == "figures":
        from splitmerge_cli.figures.engine import list_figures

        entries = list(list_figures())
    elif what in groups:
        entries = describe(groups[what])
    else:
        raise ConfigError(f"list {what}: expected samplers, models, data, figures or schedules")
    print_entries(entries)


@data_app.command("list")
@explained
def data_list() -> None:
    """List the data sets: name, kind, number of items, where they are, what they are."""
    from splitmerge_cli.config import describe

    head = ("name", "kind", "N", "where", "what")
    print_entries([head, *((name, *_data_facts(name), title) for name, title in describe("data"))])


def _data_facts(name: str) -> tuple[str, str, str]:
    """Kind, number of items and place of a data set."""
    from splitmerge_cli.config import choice, compose, locate, plain, unshared
    from splitmerge_cli.data import published

    if name in published.SETS:
        of = published.SETS[name]
        return of.kind, of.N, published.listed(name)
    options = choice("data", name)
    if "path" in options:
        # a table is of the kind that the model reads
        kind, items = ("the model's", "rows of the file") if "kind" in options else ("documents", "those of the file")
        if "nodes" in options:
            kind, items = "graph", "nodes of the file"
        return kind, items, "data.path=FILE"
    given = unshared("data", plain(compose([f"data={name}"]).data))
    generated = given.get("N") is not None
    if generated:
        given["N"] = min(given["N"], 100)  # enough to tell the kind
    made = locate(given.pop("_target_"))(**{key: value for key, value in given.items() if key != "name"})
    return (made.kind, "any", "generated") if generated else (made.kind, str(made.N), "here")


@data_app.command("info")
@explained
def data_info(name: str) -> None:
    """Show what a data set is, where a published one comes from, and its options with their defaults."""
    import inspect

    from splitmerge_cli.config import choice, locate, shared, show
    from splitmerge_cli.data import published

    options = choice("data", name) | shared("data")
    typer.echo(inspect.getdoc(locate(options.pop("_target_"))))
    if name in published.SETS:
        typer.echo("\nThe published set\n-----------------\n" + published.describe(name))
    typer.echo(f"\nOptions of data={name}\n" + "-" * len(f"Options of data={name}"))
    for key, value in options.items():
        if key != "name":
            typer.echo(f"data.{key}=FILE (needed)" if value == "???" else f"data.{key}={show(value)}")


@data_app.command("fetch")
@explained
def data_fetch(name: str) -> None:
    """Download a published data set to the folder SMCMC_DATA (default: the user's cache)."""
    from splitmerge_cli.config import choice
    from splitmerge_cli.data import published
    from splitmerge_cli.data.transfer import shown

    options = choice("data", name)
    if name in published.SETS:
        with shown() as report:
            path = published.fetch(name, report)
        for note in published.unverified(name):
            complain(f"note: {note}")
        typer.echo(path)
    elif "path" in options:
        typer.echo(f"{name}: reads a file of yours (data.path=FILE); there is nothing to fetch")
    else:
        typer.echo(f"{name}: is here or generated; there is nothing to fetch")


@app.command("sys-info")
@explained
def sys_info() -> None:
    """Show versions, commit and machine: what a report of a problem should contain."""
    import json

    from splitmerge_cli.results import provenance

    info = {"versions": provenance.versions(), "commit": provenance.commit(), "machine": provenance.machine()}
    typer.echo(json.dumps(info, indent=2))
