"""``smcmc data``, ``model`` and ``sampler``: each of them, and what goes together."""

import inspect
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from splitmerge_cli import terminal
from splitmerge_cli.cli.base import ConfigDir, app, complain, console, explain_errors, print_entries
from splitmerge_cli.config import (
    DataSource,
    choice,
    component,
    compose,
    describe,
    import_beside,
    places,
    shared_options,
    show,
    usable_choices,
)
from splitmerge_cli.config.components import file_comments, option_rows, title
from splitmerge_cli.data import downloads
from splitmerge_cli.data.dataset import kinds
from splitmerge_cli.kinds.tables.rows import example, support

model_app = typer.Typer(help="Models: list, info NAME.", no_args_is_help=True)
sampler_app = typer.Typer(help="Samplers: list, info NAME.", no_args_is_help=True)
app.add_typer(model_app, name="model")
app.add_typer(sampler_app, name="sampler")

Named = Annotated[str, typer.Argument(metavar="NAME", help="A name from smcmc list.")]


@model_app.command("list")
@explain_errors
def model_list() -> None:
    """List the models."""
    print_entries(describe("model"))


@sampler_app.command("list")
@explain_errors
def sampler_list() -> None:
    """List the samplers."""
    print_entries(describe("sampler"))


@model_app.command("info")
@explain_errors
def model_info(name: Named) -> None:
    """Describe a model: its options with defaults, and the samplers that support it."""
    _show_options("model", name)
    model = example(name)
    support_by_sampler = {sampler: support(sampler, model) for sampler in usable_choices("sampler")}
    _show_facts([("reads", component("model", name).kind.name)], "samplers that support it", support_by_sampler)


@sampler_app.command("info")
@explain_errors
def sampler_info(name: Named) -> None:
    """Describe a sampler: its moves, its options with defaults, and the models that it supports."""
    _show_options("sampler", name)
    cls = component("sampler", name).target
    support_by_model = {model: support(name, example(model)) for model in usable_choices("model")}
    facts = [("moves", ", ".join(cls.MOVES)), ("terms of the ratio", ", ".join(getattr(cls, "TERMS", ())))]
    _show_facts(facts, "models that it supports", support_by_model)


def _show_options(group: str, name: str) -> None:
    """Print the table of a choice's options."""
    rows = option_rows(group, name)
    table = Table("option", "default", "expected", "help", title=f"{group}={name}: {title(group, name)}")
    table.title_justify = "left"
    for row in rows:
        table.add_row(*(Text(cell) for cell in (row.key, row.default, row.expected, row.help)))
    console().print(table)


def _show_facts(facts: list[tuple[str, str]], heading: str, support_by_name: Mapping[str, tuple[bool, str]]) -> None:
    """Print facts, the samplers or models that go with a choice, and why the others do not."""
    table = Table(box=None, show_header=False)
    fits = (heading, ", ".join(one for one, (supported, _) in support_by_name.items() if supported))
    others = ((f"not {one}", reason) for one, (supported, reason) in support_by_name.items() if not supported)
    for key, value in [*facts, fits, *others]:
        if value:
            table.add_row(Text(key), Text(value))
    console().print(table)


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
    if name in downloads.SETS:
        published = downloads.SETS[name]
        return published.kind, published.N, downloads.describe_place(name)
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
    described = inspect.getdoc(DataSource({"name": name} | options).function) or ""
    typer.echo(described)
    del options["_target_"]
    if name in downloads.SETS:
        typer.echo("\nThe published set\n-----------------")
        for line in downloads.describe(name).splitlines():
            typer.echo(terminal.hang(line[:9], line[9:]))
    typer.echo(f"\nOptions of data={name}\n" + "-" * len(f"Options of data={name}"))
    # a reader's docstring says what each option is
    meanings = {} if "\nParameters\n" in described else file_comments("data", name)
    for key, value in options.items():
        if key != "name":
            shown = f"data.{key}=FILE (needed)" if value == "???" else f"data.{key}={show(value)}"
            typer.echo(terminal.hang(f"{shown}  # ", meanings[key]) if key in meanings else shown)


@data_app.command("fetch")
@explain_errors
def data_fetch(name: Named) -> None:
    """Download a published data set to the folder SMCMC_DATA (default: your cache)."""
    options = choice("data", name)
    if name in downloads.SETS:
        with downloads.show_progress() as report:
            path = downloads.fetch(name, report)
        for note in downloads.verification_notes(name):
            complain(f"note: {note}")
        typer.echo(path)
    elif "path" in options:
        typer.echo(f"{name} reads your own file (data.path=FILE); there is nothing to fetch")
    else:
        typer.echo(f"{name} comes with the package or is generated; there is nothing to fetch")
