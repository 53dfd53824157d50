"""``smcmc reproduce`` and ``smcmc plot``."""

from pathlib import Path
from typing import Annotated

import typer

from splitmerge_cli.cli.base import (
    ConfigDir,
    Edition,
    Figures,
    Out,
    Scale,
    Workers,
    app,
    complete_figure,
    explain_errors,
    fail,
)
from splitmerge_cli.config import ConfigError
from splitmerge_cli.papers import reproduce as papers

Everything = Annotated[
    bool, typer.Option("--all", help="Print every claim with its reason, and the verdicts under other readings.")
]


@app.command()
@explain_errors
def reproduce(
    ids: Figures,
    scale: Scale = "quick",
    out: Out = Path("results"),
    workers: Workers = None,
    edition: Edition = 1,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="KEY=VALUE",
            help="Replace a chosen setting in all runs that have the key. May be repeated.",
        ),
    ] = None,
    everything: Everything = False,
    config_dir: ConfigDir = None,
) -> None:
    """Make the runs of figures, draw the figures, check their claims.

    Runs that are done already are not made again.
    """
    chosen = overrides or ()
    raise typer.Exit(papers.reproduce(ids, checked_scale(scale), out, workers, config_dir, edition, chosen, everything))


@app.command()
@explain_errors
def plot(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="ID|PAPER|all|RUN ...",
            autocompletion=complete_figure,
            help="Names from smcmc list figures, or folders of runs.",
        ),
    ],
    scale: Scale = "quick",
    out: Out = Path("results"),
    show: Annotated[
        bool, typer.Option("--list", help="List the pictures that can be drawn of the runs; draw nothing.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="Draw only these pictures of the runs, such as pairs,projection."),
    ] = None,
    width: Annotated[
        str,
        typer.Option(
            "--width",
            help="Width: page (at most 183 mm) or column (89 mm; only pictures of runs that are readable at that "
            "width).",
        ),
    ] = "page",
    edition: Edition = 1,
    everything: Everything = False,
    config_dir: ConfigDir = None,
) -> None:
    """Draw the pictures of runs, or figures of the papers, from stored results.

    The data of a run are read again; nothing is sampled.
    """
    if show:
        papers.show_pictures(targets, config_dir)
        return
    if width not in ("page", "column"):
        fail(f"--width {width}: expected page or column", 2)
    names = None if only is None else only.split(",")
    raise typer.Exit(
        papers.plot(targets, checked_scale(scale), out, config_dir, names, edition, width == "column", everything)
    )


def checked_scale(scale: str) -> str:
    """Return the scale; raise a `ConfigError` for another word."""
    if scale not in ("quick", "paper"):
        raise ConfigError(f"--scale {scale}: expected quick or paper")
    return scale
