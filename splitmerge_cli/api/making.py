"""Make a run of the library: settle, plan and drive it, in a named or temporary folder."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from splitmerge_cli import runs
from splitmerge_cli.config import Component, RunSpecification
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.fits.cautions import DataNote, warn, warn_of_data
from splitmerge_cli.runs.errors import Interrupted
from splitmerge_cli.runs.starts import start_of
from splitmerge_cli.runs.store.read import Run

Made = tuple[Run, Dataset | None, str | None, Component]


class Settled(NamedTuple):
    """A run without ``auto``, and how covariance and power were chosen, for its summary; None without a request for
    that."""

    spec: RunSpecification
    chosen: dict[str, Any] | None


def make(settle_in: Callable[[str], tuple[Settled, Dataset | None]], store: str | Path | None) -> Made:
    """Make a run.

    Parameters
    ----------
    settle_in : callable
        What the run computes, and its data set where that is held, given the folder that receives it.
    store : str or Path, optional
        That folder; by default a temporary one, removed with the sample.

    Returns
    -------
    run : Run
    dataset : Dataset or None
        Its data, where they are held.
    temporary : str or None
        The folder, where it is a temporary one.
    model : Component
        Model of the run.
    """
    temporary = tempfile.mkdtemp(prefix="smcmc-") if store is None else None
    try:
        settled, dataset = settle_in(str(store or temporary))
        # as of a sampler that nobody names: a program finds it in the configuration of the run
        plan = runs.prepare(start_of(settled.spec).choose(lambda line: None))
        warn_of_data(plan.dataset)
        if plan.growing:
            warn(plan.growing, DataNote)
        run = runs.make(replace(plan, chosen=settled.chosen))
    except Interrupted as interruption:
        run = Run(interruption.path)
    except BaseException:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        raise
    return run, dataset, temporary, settled.spec.model


def choose_progress(progress: str) -> str:
    """Choose bars in a notebook, too, where stderr is no terminal."""
    if progress == "auto":
        return "bars" if Console().is_jupyter else "auto"
    return progress
