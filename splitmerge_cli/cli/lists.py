"""``smcmc list`` and ``sys-info``: what there is."""

import inspect
import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from splitmerge_cli.cli.base import ConfigDir, app, explain_errors, print_entries
from splitmerge_cli.config import ConfigError, describe
from splitmerge_cli.runs.store import provenance

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
    if f"{what}s" in _ALL:
        what = f"{what}s"
    if what not in _ALL:
        raise ConfigError(f"list {what}: expected {', '.join(_ALL[:-1])} or {_ALL[-1]}")
    if config_dir is not None and what != "figures":
        raise ConfigError(f"--config-dir {config_dir}: expected list figures; the other lists show only the package")
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

    return describe(_LISTED[kind])


@app.command("sys-info")
@explain_errors
def sys_info() -> None:
    """Show versions, commit and machine, for a report of a problem."""
    info = {"versions": provenance.versions(), "commit": provenance.commit(), "machine": provenance.machine()}
    typer.echo(json.dumps(info, indent=2))
