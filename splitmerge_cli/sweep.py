"""Grids of runs: expanded and composed by Hydra, run by one of its launchers, only what is missing."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.callbacks import Callbacks
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from splitmerge_cli import runner
from splitmerge_cli.config import (
    ConfigError,
    compose,
    finish,
    hydra_session,
    rewrite,
    search_path_overrides,
)
from splitmerge_cli.data.base import DataError
from splitmerge_cli.progress import Reporter, SweepProgress
from splitmerge_cli.results.read import Run
from splitmerge_cli.results.store import STATUS


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
    """

    overrides: list[str]
    status: str
    path: Path | None = None
    error: str | None = None

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
        Overrides that cannot be read, or an unknown experiment.
    """
    args = [arg for arg in args if not _is_hydra(arg)]
    search_path = search_path_overrides(config_dir)
    with hydra_session():
        loader = GlobalHydra.instance().config_loader()
        parser = OverridesParser.create(config_loader=loader)
        try:
            experiments = [a for a in args if a.startswith("experiment=")]
            rest = [a for a in args if not a.startswith("experiment=")]
            chosen = BasicSweeper.split_arguments(parser.parse_overrides(experiments), None)[0]
            jobs: list[list[str]] = []
            for experiment in chosen:
                composed = hydra.compose("config", overrides=[*experiment, *search_path], return_hydra_config=True)
                params = [f"{key}={value}" for key, value in (composed.hydra.sweeper.params or {}).items()]
                grid = BasicSweeper.split_arguments(parser.parse_overrides([*params, *rest]), None)[0]
                jobs += [experiment + job for job in grid]
        except HydraException as error:
            raise ConfigError(" ".join(line for line in str(error).splitlines() if "hydra.cc" not in line)) from error
    return jobs


def compose_job(overrides: Sequence[str], config_dir: str | Path | None = None) -> DictConfig:
    """The resolved configuration of one job, checked down to its data and the parameters of model and samplers.

    Raises
    ------
    ConfigError, DataError
        The job cannot be run; the message names the key or the file.
    """
    cfg = compose(overrides, config_dir)
    runner.prepare(cfg)
    return cfg


def check_jobs(jobs: Sequence[Sequence[str]], config_dir: str | Path | None = None) -> list[JobOutcome]:
    """Compose and check every job, run none: ``skipped``, ``to run`` or ``refused``."""
    outcomes = []
    with hydra_session():
        for job in jobs:
            try:
                cfg = compose_job(job, config_dir)
            except (ConfigError, DataError) as error:
                outcomes.append(JobOutcome(list(job), "refused", error=str(error)))
                continue
            path = runner.run_dir(cfg)
            skip = cfg.resume and runner.is_done(path)
            outcomes.append(JobOutcome(list(job), "skipped" if skip else "to run", path))
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
        One per job, in their order. A job that fails does not stop the others; after Ctrl-C those that are not complete
        are ``interrupted``.
    """
    outcomes = check_jobs(jobs, config_dir)
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
            task_function=partial(_job, chain_workers=None if sequential else 1),
            config=config,
        )
    except HydraException as error:
        raise ConfigError(" ".join(str(error).split("\nConfig search path")[0].split())) from error
    try:
        returns = engine.launch([rewrite(job) for job in jobs], initial_job_idx=0)
    except KeyboardInterrupt:
        return [("done" if runner.is_done(path) else "interrupted", None) for path in paths]
    return [r.return_value for r in returns]


def _job(composed: DictConfig, chain_workers: int | None) -> tuple[str, str | None]:
    """One job in its process; its status and error. Raises on Ctrl-C alone, so that the others go on."""
    try:
        if chain_workers is not None and composed.workers is None:
            composed.workers = chain_workers
        runner.run(finish(composed, HydraConfig.get()), Reporter())
    except runner.Interrupted as error:
        raise KeyboardInterrupt from error
    except Exception as error:  # whatever fails one job must not stop the others; the table says what it was
        return "failed", f"{type(error).__name__}: {error}"
    return "done", None


def _poll(paths: Sequence[Path]) -> tuple[int, float]:
    """How many runs are complete, and the sum of the shares done."""
    complete, share = 0, 0.0
    for path in paths:
        if (path / STATUS).is_file():
            status: dict[str, Any] = Run(path).status
            complete += status["state"] == "done"
            share += status.get("share", 0.0)
    return complete, share


def _is_hydra(arg: str) -> bool:
    return arg.lstrip("+~").startswith(("hydra.", "hydra/"))


def split_hydra(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate the overrides of the jobs from those of Hydra itself (launcher and so on)."""
    own = [arg for arg in args if _is_hydra(arg)]
    return [arg for arg in args if not _is_hydra(arg)], own
