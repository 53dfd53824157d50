"""``smcmc verify`` and ``smcmc bench``: the checks and measurements of the code."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from splitmerge_cli.cli.base import ConfigDir, app, explain_errors, fail
from splitmerge_cli.config import ConfigError
from splitmerge_cli.verify.command import verify as verify_command


@app.command()
@explain_errors
def verify(
    args: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", show_default=False, help="What to check, as in the examples."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print a table for every small data set.")] = False,
    config_dir: ConfigDir = None,
) -> None:
    """Compare samplers with the enumerated posterior of small data.

    A line for each model names the samplers that are exact. If a sampler is not exact, the line shows the transition
    that is furthest from balance, its move, and the correction that its ratio needs.

    smcmc verify sampler=sdds,ss model=emm mode=both size=4 seed=0 iterations=200000 sampler.kernel=ssdm model.alpha=0.1

    sampler and model default to all. mode is exact, as_printed or both. size is the number of items. iterations is the
    length of a sampled check in addition to the exact one (0: none). The exit status is 1 if a sampler that claims to
    be exact is not.

    smcmc verify 'schedule=[{sams: 1}, {gibbs: 1}]' model=bernoulli 'model.concentration=gamma(2,1)'

    With a schedule, as in `smcmc run`, its iterations are checked instead of the samplers alone.
    """
    pairs = [arg.partition("=") for arg in args or []]
    for key, equals, value in pairs:
        if not key or not equals or not value:
            raise ConfigError(f"{key}{equals}{value}: expected KEY=VALUE")
    raise typer.Exit(verify_command({key: value for key, _, value in pairs}, config_dir, everything))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@explain_errors
def bench(
    ctx: typer.Context,
    scaling: Annotated[bool, typer.Option("--scaling", help="Measure the growth of time with N, D and K.")] = False,
) -> None:
    """Measure kernels and whole iterations against a plain C baseline.

    Needs a checkout of the repository.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / "bench" / "__main__.py").is_file():
        fail("bench: the benchmarks are in the repository, not in the package; run it in a checkout", 2)
    command = [sys.executable, "-m", "bench", *["--scaling"] * scaling, *ctx.args]
    raise typer.Exit(subprocess.run(command, cwd=root, check=False).returncode)
