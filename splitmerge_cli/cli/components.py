"""``smcmc model`` and ``smcmc sampler``: options, and which models and samplers go together."""

from collections.abc import Mapping
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from splitmerge_cli.cli.base import app, console, explain_errors, print_entries
from splitmerge_cli.config import component, describe, usable_choices
from splitmerge_cli.config.info import option_rows, title
from splitmerge_cli.runs.support import example, support

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
