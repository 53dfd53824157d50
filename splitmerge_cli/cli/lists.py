"""Lists of samplers, models, data sets, schedules and figures, each with its options."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from splitmerge_cli.cli.base import ConfigDir, app, complain, console, explain_errors, print_entries

data_app = typer.Typer(help="Data sets: list, info NAME, fetch NAME.", no_args_is_help=True)
app.add_typer(data_app, name="data")


model_app = typer.Typer(help="Models: list, info NAME.", no_args_is_help=True)
sampler_app = typer.Typer(help="Samplers: list, info NAME.", no_args_is_help=True)
for _app, _name in ((model_app, "model"), (sampler_app, "sampler")):
    app.add_typer(_app, name=_name)
    app.add_typer(_app, name=f"{_name}s", hidden=True)

_LISTED = {"samplers": "sampler", "models": "model", "data": "data", "schedules": "schedule"}
_ALL = ("samplers", "models", "priors", "data", "schedules", "figures")


@app.command("list")
@explain_errors
def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[samplers|models|priors|data|schedules|figures]", help="Which list; all of them by default."
        ),
    ] = None,
    config_dir: ConfigDir = None,
) -> None:
    """List samplers, models, priors, data sets, schedules or figures; without a name, all of them."""
    from splitmerge_cli.config import ConfigError

    if what is None:
        for name in _ALL:
            typer.echo(f"{name}\n{'-' * len(name)}")
            print_entries(_entries(name, config_dir))
            typer.echo()
        return
    if f"{what}s" in _ALL:
        what = f"{what}s"
    if what not in _ALL:
        raise ConfigError(f"list {what}: expected {', '.join(_ALL[:-1])} or {_ALL[-1]}")
    if config_dir is not None and what != "figures":
        raise ConfigError(f"--config-dir {config_dir}: expected list figures; the other lists are those of the package")
    print_entries(_entries(what, config_dir))


def _entries(what: str, config_dir: str | None = None) -> Sequence[tuple[str, ...]]:
    """Name and meaning of all that there is of a kind; of figures also the paper."""
    if what == "figures":
        from splitmerge_cli.papers.discovery import paper_names, unusable
        from splitmerge_cli.papers.experiments import list_figures

        names = paper_names(config_dir)
        found = [(name, names[name], title) for name, title in list_figures(config_dir)]
        return [*found, *((name, "", why) for name, why in unusable().items())]
    if what == "priors":
        return _priors()
    from splitmerge_cli.config import describe

    return describe(_LISTED[what])


def _priors() -> list[tuple[str, ...]]:
    """How a prior is written, and the first line of its module."""
    import inspect
    import sys

    from splitmerge_cli.priors import priors, unusable

    entries: list[tuple[str, ...]] = []
    for name, cls in sorted(priors().items()):
        options = ",".join(f"{option.name}={option.default}" for option in cls.OPTIONS)
        said = inspect.getdoc(sys.modules[cls.__module__]) or ""
        entries.append((f"{name}({options})" if options else name, said.splitlines()[0].rstrip(".:")))
    return [*entries, *unusable().items()]


@model_app.command("list")
@explain_errors
def model_list() -> None:
    """List the models."""
    print_entries(_entries("models"))


@sampler_app.command("list")
@explain_errors
def sampler_list() -> None:
    """List the samplers."""
    print_entries(_entries("samplers"))


Named = Annotated[str, typer.Argument(metavar="NAME", help="As smcmc list shows it.")]


@model_app.command("info")
@explain_errors
def model_info(name: Named) -> None:
    """Show what a model is, its options with their defaults, and which samplers support it."""
    from splitmerge_cli.config import component, usable_choices
    from splitmerge_cli.runs.support import example, support

    _show_options("model", name)
    model = example(name)
    found = {sampler: support(sampler, model) for sampler in usable_choices("sampler")}
    _show_facts([("reads", component("model", name).kind.name)], "samplers that support it", found)


@sampler_app.command("info")
@explain_errors
def sampler_info(name: Named) -> None:
    """Show what a sampler is, its moves, its options with their defaults, and which models it supports."""
    from splitmerge_cli.config import component, usable_choices
    from splitmerge_cli.runs.support import example, support

    _show_options("sampler", name)
    cls = component("sampler", name).target
    found = {model: support(name, example(model)) for model in usable_choices("model")}
    facts = [("moves", ", ".join(cls.MOVES)), ("terms of the ratio", ", ".join(getattr(cls, "TERMS", ())))]
    _show_facts(facts, "models that it supports", found)


def _show_options(group: str, name: str) -> None:
    """Print the table of a choice's options."""
    from rich.table import Table
    from rich.text import Text

    from splitmerge_cli.config.info import option_rows, title

    rows = option_rows(group, name)
    table = Table("option", "default", "expected", "help", title=f"{group}={name}: {title(group, name)}")
    table.title_justify = "left"
    for row in rows:
        table.add_row(*(Text(cell) for cell in (row.key, row.default, row.expected, row.help)))
    console().print(table)


def _show_facts(facts: list[tuple[str, str]], what: str, found: Mapping[str, tuple[bool, str]]) -> None:
    """Print facts, and which samplers or models go with a choice; of the others why not."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False)
    fits = (what, ", ".join(one for one, (supported, _) in found.items() if supported))
    others = ((f"not {one}", reason) for one, (supported, reason) in found.items() if not supported)
    for key, value in [*facts, fits, *others]:
        if value:
            table.add_row(Text(key), Text(value))
    console().print(table)


@data_app.command("list")
@explain_errors
def data_list(config_dir: ConfigDir = None) -> None:
    """List the data sets: name, kind, number of items, where they are, what they are."""
    from splitmerge_cli.config import describe, import_beside, places

    beside = places(config_dir)
    import_beside(beside)
    head = ("name", "kind", "N", "where", "what")
    listed = describe("data", beside)
    print_entries([head, *((name, *_data_facts(name, config_dir), title) for name, title in listed)])


def _data_facts(name: str, config_dir: str | None) -> tuple[str, str, str]:
    """Kind, number of items and place of a data set."""
    from splitmerge_cli.config import choice, compose, places
    from splitmerge_cli.data.published import sets
    from splitmerge_cli.kinds import kinds

    if name in sets.SETS:
        of = sets.SETS[name]
        return of.kind, of.N, sets.describe_place(name)
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
    made = data.function(**data.options)
    return (made.kind.name, "any", "generated") if generated else (made.kind.name, str(made.N), "here")


@data_app.command("info")
@explain_errors
def data_info(name: Named, config_dir: ConfigDir = None) -> None:
    """Show what a data set is, where a published one comes from, and its options with their defaults."""
    import inspect

    from splitmerge_cli.config import DataSource, choice, import_beside, places, shared_options, show
    from splitmerge_cli.data.published import sets

    beside = places(config_dir)
    import_beside(beside)
    options = choice("data", name, beside) | shared_options("data")
    typer.echo(inspect.getdoc(DataSource({"name": name} | options).function))
    del options["_target_"]
    if name in sets.SETS:
        typer.echo("\nThe published set\n-----------------\n" + sets.describe(name))
    typer.echo(f"\nOptions of data={name}\n" + "-" * len(f"Options of data={name}"))
    for key, value in options.items():
        if key != "name":
            typer.echo(f"data.{key}=FILE (needed)" if value == "???" else f"data.{key}={show(value)}")


@data_app.command("fetch")
@explain_errors
def data_fetch(name: Named) -> None:
    """Download a published data set to the folder SMCMC_DATA (default: the user's cache)."""
    from splitmerge_cli.config import choice
    from splitmerge_cli.data.published import sets
    from splitmerge_cli.data.transfer import show_progress

    options = choice("data", name)
    if name in sets.SETS:
        with show_progress() as report:
            path = sets.fetch(name, report)
        for note in sets.verification_notes(name):
            complain(f"note: {note}")
        typer.echo(path)
    elif "path" in options:
        typer.echo(f"{name}: reads a file of yours (data.path=FILE); there is nothing to fetch")
    else:
        typer.echo(f"{name}: is here or generated; there is nothing to fetch")


@app.command("sys-info")
@explain_errors
def sys_info() -> None:
    """Show versions, commit and machine: what a report of a problem should contain."""
    import json

    from splitmerge_cli.results import provenance

    info = {"versions": provenance.versions(), "commit": provenance.commit(), "machine": provenance.machine()}
    typer.echo(json.dumps(info, indent=2))
