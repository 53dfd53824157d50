"""Jobs of the papers' figures, runs of them that tests make shorter, and figures drawn of these."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from splitmerge_cli import config, runs
from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.papers import experiments
from splitmerge_cli.runs.store.read import Run


@cache
def options(name: str, scale: str, out: Path, **kind: bool) -> list[dict[str, str]]:
    """The jobs of a figure, each as its overrides by key."""
    return [dict(override.split("=", 1) for override in job) for job in experiments.jobs(name, scale, out, **kind)]


def make_runs(jobs: Iterable[Mapping[str, str]], **more: object) -> list[Run]:
    """The runs of jobs, with other values of some keys."""
    values = [{**job, "progress": "none", **more} for job in jobs]
    composed = [config.compose([f"{key}={value}" for key, value in job.items()]) for job in values]
    return [Run(runs.run(one)) for one in composed]


def draw(figure: Callable[..., Any], *args: Any) -> Any:
    """Draw by a function, in the style of the papers."""
    with use_style():
        return figure(*args)
