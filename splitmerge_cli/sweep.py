"""Grids of runs: expanded and composed by Hydra, run by one of its launchers, only what is missing."""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from hydra._internal.callbacks import Callbacks
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, OverrideParseException
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from splitmerge_cli import runner
from splitmerge_cli.config import (
    ConfigError,
    compose,
    compose_raw,
    finish,
    hydra_session,
    quote_priors,
    rewrite,
    search_path_overrides,
    unreadable,
)
from splitmerge_cli.data.base import DataError
from splitmerge_cli.progress import Reporter, SweepProgress
from splitmerge_cli.results.files import DamagedRun
from splitmerge_cli.results.read import Run
from splitmerge_cli.results.store import STATUS
from splitmerge_cli.runner import dataset_of, open_run


@dataclass(frozen=True)
class JobOutcome:
    """What became of one job.

    Attributes
    ----------
    overrides : list of str
        The job.
    status : str
        done, skipped (finished before), to run (dry run), refused (bad input), failed, or interrupted.
    path : Path or None
        Folder of the run; None where it was refused.
    error : str or None
        Why it was refused or failed.
    notes : list of str
        What is to be said of how its data were read.
    """

    overrides: list[str]
    status: str
    path: Path | None = None
    error: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether the run is there, whole."""
        return self.status in ("done", "skipped")


def expand(args: Sequence[str], config_dir: str | Path | None = None) -> list[list[str]]:
    """The jobs of a grid.

    Parameters
    ----------
    args : sequence of str
        Overrides; ``KEY=A,B``, ``KEY=range(3)`` and ``KEY=glob(*)`` make a grid. An experiment adds its
        ``hydra.sweeper.params``, and `args` override those.
    config_dir : str or Path, optional
        A folder with the user's own groups.

    Returns
    -------
    list of list of str
        The overrides of each job, keys of Hydra itself left out.

    Raises
    ------
    ConfigError
        Overrides that cannot be read, an unknown experiment, or a grid without a job.
    """
    args = [arg for arg in args if not _is_hydra(arg)]
    experiments = [a for a in args if a.startswith("experiment=")]
    rest = [a for a in args if not a.startswith("experiment=")]
    with hydra_session():
        try:
            jobs: list[list[str]] = []
            for experiment in _grid(experiments):
                composed = compose_raw(experiment, config_dir)
                params = [f"{key}={value}" for key, value in (composed.hydra.sweeper.params or {}).items()]
                jobs += [experiment + job for job in _grid([*params, *rest])]
        except OverrideParseException as error:
            raise ConfigError(unreadable(str(error.override))) from error
        except HydraException as error:
            raise ConfigError(" ".join(line for line in str(error).splitlines() if "hydra.cc" not in line)) from error
    return jobs


def _grid(args: Sequence[str]) -> list[list[str]]:
    """The product of the values of all keys."""
    parser = OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())
    overrides = parser.parse_overrides([quote_priors(arg) for arg in args])
    for arg, override in zip(args, overrides, strict=True):
        try:
            split = BasicSweeper.split_arguments([override], None)[0]
        except OmegaConfBaseException as error:  # one sweep within another
            raise ConfigError(unreadable(arg)) from error
        if not split:
            raise ConfigError(f"{arg}: no value, so there is no job; expected at least one")
    jobs: list[list[str]] = BasicSweeper.split_arguments(overrides, None)[0]
    return jobs


def find_job(overrides: Sequence[str], config_dir: str | Path | None = None) -> Path | None:
    """The folder of a finished job; None where it is not finished. Cheap: neither data nor model is built."""
    path = runner.run_dir(compose(overrides, config_dir))
    return path if runner.is_done(path) else None


def check_jobs(jobs: Sequence[Sequence[str]], config_dir: str | Path | None = None) -> list[JobOutcome]:
    """Compose and check every job, down to its data and the parameters of model and samplers; run none.

    Their status is ``skipped``, ``to run``, ``refused`` or, where what is there of a run is damaged, ``failed``.
    """
    outcomes = []
    with hydra_session():
        for job in jobs:
            try:
                plan = runner.prepare(compose(job, config_dir))
                status = "skipped" if plan.done else "to run"
                outcomes.append(JobOutcome(list(job), status, plan.path, notes=plan.dataset.notes))
            except (ConfigError, DataError) as error:
                outcomes.append(JobOutcome(list(job), "refused", error=str(error)))
            except DamagedRun as error:
                outcomes.append(JobOutcome(list(job), "failed", plan.path, str(error)))
    return outcomes


def run_jobs(
    jobs: Sequence[Sequence[str]],
    workers: int | None = None,
    progress: str = "auto",
    launcher: Sequence[str] = (),
    config_dir: str | Path | None = None,
) -> list[JobOutcome]:
    """Run what is missing of the given jobs, at the same time where the machine allows.

    Parameters
    ----------
    jobs : sequence of sequences of str
        The overrides of each job.
    workers : int, optional
        Jobs that run at the same time; by default one per processor.
    progress : str
        auto, bars, lines or none.
    launcher : sequence of str
        Hydra's own overrides, such as ``hydra/launcher=basic``; Joblib's processes by default.
    config_dir : str or Path, optional
        A folder with the user's own groups.

    Returns
    -------
    list of JobOutcome
        One per job, in their order. Where one is ``refused`` none runs. A job that fails does not stop the others;
        after Ctrl-C or SIGTERM those that are not complete are ``interrupted``.
    """
    outcomes = check_jobs(jobs, config_dir)
    if any(o.status == "refused" for o in outcomes):
        return outcomes
    # the same run may be asked for twice
    missing = list({o.path: i for i, o in reversed(list(enumerate(outcomes))) if o.status == "to run"}.values())[::-1]
    if missing:
        paths = [path for i in missing if (path := outcomes[i].path)]
        with hydra_session(), SweepProgress(progress, len(missing), partial(_poll, paths)):
            results = _launch([outcomes[i].overrides for i in missing], paths, workers, launcher, config_dir)
        by_path = dict(zip(paths, results, strict=True))
        for i, outcome in enumerate(outcomes):
            if outcome.status == "to run" and outcome.path:
                status, error = by_path[outcome.path]
                outcomes[i] = replace(outcome, status=status, error=error)
    return outcomes


def _launch(
    jobs: list[list[str]],
    paths: Sequence[Path],
    workers: int | None,
    launcher: Sequence[str],
    config_dir: str | Path | None,
) -> list[tuple[str, str | None]]:
    """Hand the jobs to Hydra's launcher; status and error of each."""
    processors = workers or os.cpu_count() or 1
    own = list(launcher)
    # one job alone gains nothing from a process, but its chains from threads
    if len(jobs) == 1 and not own:
        own = ["hydra/launcher=basic"]
    if not any(o.startswith("hydra/launcher=") and not o.endswith("=joblib") for o in own):
        own = [f"hydra.launcher.n_jobs={min(processors, len(jobs))}", *own]
    sequential = "hydra/launcher=basic" in own
    instance = GlobalHydra.instance().hydra
    assert instance is not None
    try:
        config = instance.compose_config(
            "config",
            [*own, *search_path_overrides(config_dir)],
            run_mode=RunMode.MULTIRUN,
            from_shell=False,
            with_log_configuration=False,
        )
        engine = Plugins.instance().instantiate_launcher(
            hydra_context=HydraContext(config_loader=instance.config_loader, callbacks=Callbacks(config)),
            task_function=partial(_job, parent=None if sequential else os.getpid()),
            config=config,
        )
    except HydraException as error:
        raise ConfigError(" ".join(str(error).split("\nConfig search path")[0].split())) from error
    try:
        with _terminable():
            returns = engine.launch([rewrite(job) for job in jobs], initial_job_idx=0)
    except KeyboardInterrupt:
        return [("done" if runner.is_done(path) else "interrupted", None) for path in paths]
    except BrokenProcessPool:
        reason = "a process of the sweep was killed; the same command continues it"
        return [("done", None) if runner.is_done(path) else ("failed", reason) for path in paths]
    except ValueError as error:
        raise ConfigError(f"hydra.launcher: {error}") from error
    return [r.return_value for r in returns]


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _job(composed: DictConfig, parent: int | None) -> tuple[str, str | None]:
    """One job; its status and error. Raises on Ctrl-C alone, so that the others go on.

    Parameters
    ----------
    composed : DictConfig
        What Hydra made of its overrides.
    parent : int or None
        Id of the process of the sweep, where the job has a process of its own: its chains then share one thread, and it
        is interrupted when the sweep is gone, however that died.
    """
    try:
        if parent is not None and composed.workers is None:
            composed.workers = 1
        with _orphan_interrupted(parent):
            runner.run(finish(composed, HydraConfig.get()), Reporter())
    except runner.Interrupted as error:
        if parent is not None and os.getppid() != parent:
            os._exit(130)  # nobody is left to tell: the pool would wait for its next job
        raise KeyboardInterrupt from error
    except Exception as error:  # whatever fails one job must not stop the others; the table says what it was
        return "failed", f"{type(error).__name__}: {error}"
    return "done", None


@contextmanager
def _orphan_interrupted(parent: int | None) -> Iterator[None]:
    """Interrupt this process when it has another parent than `parent`."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(1.0):
            if os.getppid() != parent:
                os.kill(os.getpid(), signal.SIGTERM)
                return

    if parent is None:
        yield
        return
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _poll(paths: Sequence[Path]) -> tuple[int, float]:
    """How many runs are complete, and the sum of the shares done."""
    complete, share = 0, 0.0
    for path in paths:
        if (path / STATUS).is_file():
            with suppress(DamagedRun):  # it is written anew at once
                status: dict[str, Any] = Run(path).status
                complete += status["state"] == "done"
                share += status["share"]
    return complete, share


def _is_hydra(arg: str) -> bool:
    return arg.lstrip("+~").startswith(("hydra.", "hydra/"))


def split_hydra(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate the overrides of the jobs from those of Hydra itself (launcher and so on)."""
    own = [arg for arg in args if _is_hydra(arg)]
    return [arg for arg in args if not _is_hydra(arg)], own


__all__ = [
    "JobOutcome",
    "check_jobs",
    "dataset_of",
    "expand",
    "find_job",
    "open_run",
    "run_jobs",
    "split_hydra",
]
