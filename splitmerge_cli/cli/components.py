"""Commands on components: ``smcmc list``, ``sys-info``, ``data``, ``model`` and ``sampler``, and what goes together."""

import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from splitmerge_cli import config, terminal
from splitmerge_cli.cli.base import ConfigDir, app, complain, explain_errors, print_entries

_LISTED = {"samplers": "sampler", "models": "model", "data": "data", "schedules": "schedule"}
_ALL = ("samplers", "models", "priors", "data", "schedules", "figures")


@app.command("list")
@explain_errors
def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[samplers|models|priors|data|schedules|figures]", help="The list to show. Default: all."
        ),
    ] = None,
    config_dir: ConfigDir = None,
) -> None:
    """List samplers, models, priors, data sets, schedules or figures.

    Without a name, all of them.
    """
    if what is None:
        for name in _ALL:
            typer.echo(f"{name}\n{'-' * len(name)}")
            print_entries(_entries(name, config_dir))
            typer.echo()
        return
    what = f"{what}s" if f"{what}s" in _ALL else what
    if what not in _ALL:
        raise config.ConfigError(f"list {what}: expected {', '.join(_ALL[:-1])} or {_ALL[-1]}")
    if config_dir is not None and what != "figures":
        raise config.ConfigError(
            f"--config-dir {config_dir}: expected list figures; the other lists show only the package"
        )
    print_entries(_entries(what, config_dir))


def _entries(kind: str, config_dir: str | None = None) -> Sequence[tuple[str, ...]]:
    """Read the entries of a list, each with its meaning; figures also have their paper."""
    if kind == "figures":
        from splitmerge_cli.papers import declaration
        from splitmerge_cli.papers.experiments import list_figures

        names = declaration.paper_names(config_dir)
        listed = [(name, names[name], title) for name, title in list_figures(config_dir)]
        return [*listed, *((name, "", why) for name, why in declaration.unusable().items())]
    if kind == "priors":
        from splitmerge_cli.priors import priors, unusable

        entries: list[tuple[str, ...]] = []
        for name, cls in sorted(priors().items()):
            options = ",".join(f"{option.name}={option.default}" for option in cls.OPTIONS)
            doc = inspect.getdoc(sys.modules[cls.__module__]) or ""
            entries.append((f"{name}({options})" if options else name, doc.splitlines()[0].rstrip(".:")))
        return [*entries, *unusable().items()]

    return config.describe(_LISTED[kind])


@app.command("sys-info")
@explain_errors
def sys_info() -> None:
    """Show versions, commit and machine, for a report of a problem."""
    from splitmerge_cli import version

    info = {"versions": version.versions(), "commit": version.commit(), "machine": version.machine()}
    typer.echo(json.dumps(info, indent=2))


model_app = typer.Typer(help="Models: list, info NAME.", no_args_is_help=True)
sampler_app = typer.Typer(help="Samplers: list, info NAME.", no_args_is_help=True)
app.add_typer(model_app, name="model")
app.add_typer(sampler_app, name="sampler")

Named = Annotated[str, typer.Argument(metavar="NAME", help="A name from smcmc list.")]


@model_app.command("list")
@explain_errors
def model_list() -> None:
    """List the models."""
    print_entries(config.describe("model"))


@sampler_app.command("list")
@explain_errors
def sampler_list() -> None:
    """List the samplers."""
    print_entries(config.describe("sampler"))


@model_app.command("info")
@explain_errors
def model_info(name: Named) -> None:
    """Describe a model: its options with defaults, and the samplers that support it."""
    _show_options("model", name)
    support_by_sampler = {sampler: _support(sampler, name) for sampler in config.usable_choices("sampler")}
    _show_facts([("reads", config.component("model", name).kind.name)], "samplers that support it", support_by_sampler)


@sampler_app.command("info")
@explain_errors
def sampler_info(name: Named) -> None:
    """Describe a sampler: its moves, its options with defaults, and the models that it supports."""
    _show_options("sampler", name)
    cls = config.component("sampler", name).target
    support_by_model = {model: _support(name, model) for model in config.usable_choices("model")}
    facts = [("moves", ", ".join(cls.MOVES)), ("terms of the ratio", ", ".join(getattr(cls, "TERMS", ())))]
    _show_facts(facts, "models that it supports", support_by_model)


def _support(sampler: str, model: str) -> tuple[bool, str]:
    """Whether a sampler supports a model, and why not."""
    from splitmerge_cli.kinds.tables.rows import example, support

    return support(sampler, example(model))


def _show_options(group: str, name: str) -> None:
    """Print the table of a choice's options."""
    table = Table("option", "default", "expected", "help", title=f"{group}={name}: {config.title(group, name)}")
    table.title_justify = "left"
    for row in config.option_rows(group, name):
        table.add_row(*map(Text, row))
    terminal.console(160).print(table)


def _show_facts(facts: list[tuple[str, str]], heading: str, support_by_name: Mapping[str, tuple[bool, str]]) -> None:
    """Print facts, the samplers or models that go with a choice, and why the others do not."""
    table = Table(box=None, show_header=False)
    fits = (heading, ", ".join(one for one, (supported, _) in support_by_name.items() if supported))
    others = ((f"not {one}", reason) for one, (supported, reason) in support_by_name.items() if not supported)
    for key, value in [*facts, fits, *others]:
        if value:
            table.add_row(Text(key), Text(value))
    terminal.console(160).print(table)


data_app = typer.Typer(help="Data sets: list, info NAME, fetch NAME.", no_args_is_help=True)
app.add_typer(data_app, name="data")


@data_app.command("list")
@explain_errors
def data_list(config_dir: ConfigDir = None) -> None:
    """List the data sets: name, kind, number of items, where they are, what they are."""
    beside = config.places(config_dir)
    config.import_beside(beside)
    head = ("name", "kind", "N", "where", "what")
    listed = config.describe("data", beside)
    print_entries([head, *((name, *_data_facts(name, config_dir), title) for name, title in listed)])


def _data_facts(name: str, config_dir: str | None) -> tuple[str, str, str]:
    """Kind, number of items and place of a data set."""
    from splitmerge_cli.data import downloads
    from splitmerge_cli.data.dataset import kinds

    if name in downloads.SETS:
        published = downloads.SETS[name]
        return published.kind, published.N, downloads.describe_place(name)
    options = config.choice("data", name, config.places(config_dir))
    if "path" in options:
        # a table is of the kind that the model reads
        kind = next((kind for kind in kinds().values() if kind.reader == name and "kind" not in options), None)
        named, item = ("the model's", "row") if kind is None else (kind.name, kind.item)
        return named, f"{item}s of the file", "data.path=FILE"
    data = config.compose([f"data={name}"], config_dir).data
    generated = data.options.get("N") is not None
    if generated:
        data = data.with_options(N=min(data.options["N"], 100))  # enough to tell the kind
    dataset = data.function(**data.options)
    return (dataset.kind.name, "any", "generated") if generated else (dataset.kind.name, str(dataset.N), "here")


@data_app.command("info")
@explain_errors
def data_info(name: Named, config_dir: ConfigDir = None) -> None:
    """Describe a data set: its source if it was published, and its options with defaults."""
    from splitmerge_cli.data import downloads

    beside = config.places(config_dir)
    config.import_beside(beside)
    options = config.choice("data", name, beside) | config.shared_options("data")
    described = inspect.getdoc(config.DataSource({"name": name} | options).function) or ""
    typer.echo(described)
    del options["_target_"]
    if name in downloads.SETS:
        typer.echo("\nThe published set\n-----------------")
        for line in downloads.describe(name).splitlines():
            typer.echo(terminal.hang(line[:9], line[9:]))
    typer.echo(f"\nOptions of data={name}\n" + "-" * len(f"Options of data={name}"))
    # a reader's docstring says what each option is
    meanings = {} if "\nParameters\n" in described else config.file_comments("data", name)
    for key, value in options.items():
        if key != "name":
            shown = f"data.{key}=FILE (needed)" if value == "???" else f"data.{key}={config.show(value)}"
            typer.echo(terminal.hang(f"{shown}  # ", meanings[key]) if key in meanings else shown)


@data_app.command("fetch")
@explain_errors
def data_fetch(name: Named) -> None:
    """Download a published data set to the folder SMCMC_DATA (default: your cache)."""
    from splitmerge_cli.data import downloads

    options = config.choice("data", name)
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
