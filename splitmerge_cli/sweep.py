"""Grids of runs: expanded and composed by Hydra, run by one of its launchers, only what is missing."""

import multiprocessing.resource_tracker
import os
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hydra._internal.callbacks import Callbacks
from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, RunMode
from hydra_plugins.hydra_joblib_launcher.joblib_launcher import JoblibLauncher
from joblib.externals.loky.backend import resource_tracker
from joblib.externals.loky.backend.process import LokyProcess
from omegaconf.errors import OmegaConfBaseException

from splitmerge_cli import runner
from splitmerge_cli.config import (
    ConfigError,
    compose,
    compose_raw,
    hydra_session,
    load,
    quote_priors,
    rewrite,
    search_path_overrides,
    unreadable,
)
from splitmerge_cli.data.base import DataError
from splitmerge_cli.interrupts import AnsweredBy, interrupt
from splitmerge_cli.job import Ended, Recorded, Sweep, blocked, in_process, isolated, read_records
from splitmerge_cli.progress import SweepProgress
from splitmerge_cli.results.files import DamagedRun
from splitmerge_cli.results.read import Run
from splitmerge_cli.results.store import STATUS
from splitmerge_cli.runner import RunError, dataset_of, open_run

LOOK = 0.2
"""Seconds between two looks at runs that another process makes."""


@dataclass(frozen=True)
class JobOutcome:
    """What became of one job.

    Attributes
    ----------
    overrides : list of str
        The job.
    status : str
        done, skipped (finished before), to run (dry run), refused (bad input), failed, interrupted (or not begun, when
        the sweep was interrupted), or running elsewhere (by another process, when the sweep was interrupted).
    path : Path or None
        Folder of the run; None where it was refused.
    error : str or None
        Why it was refused or failed.
    notes : list of str
        What is to be said of how its data were read.
    elsewhere : bool
        Whether it was done by another process while the sweep ran.
    """

    overrides: list[str]
    status: str
    path: Path | None = None
    error: str | None = None
    notes: list[str] = field(default_factory=list)
    elsewhere: bool = False

    @property
    def complete(self) -> bool:
        """Whether the run is there, whole."""
        return self.status in ("done", "skipped")

    @property
    def begun(self) -> bool:
        """Whether anything of the run is there."""
        return self.path is not None and (self.path / STATUS).is_file()


def interruption(outcomes: Sequence[JobOutcome]) -> str | None:
    """One line on what an interrupted sweep has done and left to do; None where it was not interrupted."""
    counts = Counter(o.status for o in outcomes)
    if not counts.keys() & {"interrupted", "running elsewhere"}:
        return None
    told = {key: counts[key] for key in ("done", "skipped", "failed", "running elsewhere")}
    told["to do"] = counts["interrupted"]
    return "interrupted: " + ", ".join(f"{number} {what}" for what, number in told.items() if number)


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


def check_jobs(
    jobs: Sequence[Sequence[str]], config_dir: str | Path | None = None, launcher: Sequence[str] = ()
) -> list[JobOutcome]:
    """Compose and check every job, down to its data and the parameters of model and samplers; run none.

    Their status is ``skipped``, ``to run``, ``refused`` or, where what is there of a run is damaged, ``failed``.

    Raises
    ------
    ConfigError
        There is no such launcher, or it has no such options.
    """
    outcomes = []
    with hydra_session():
        if launcher:
            _Launch(launcher, None, config_dir).launcher(len(jobs), Path())
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
        One per job, in their order. Where one is ``refused`` none runs. A job that fails, or whose process is killed,
        does not stop the others. Runs that another process writes are waited for, and made here where it leaves them
        unfinished. After Ctrl-C, SIGTERM or SIGHUP those that are not complete are ``interrupted``, or ``running
        elsewhere``.

    Raises
    ------
    ConfigError
        There is no such launcher, it has no such options, or it cannot launch.
    RunError
        The launcher failed on the way; what was stored is intact.
    """
    outcomes = check_jobs(jobs, config_dir, launcher)
    if any(o.status == "refused" for o in outcomes):
        return outcomes
    # the same run may be asked for twice
    missing = {o.path: o.overrides for o in reversed(outcomes) if o.status == "to run" and o.path}
    missing = dict(reversed(missing.items()))
    if missing:
        # one job alone gains nothing from a process, but its chains from threads
        own = launcher or ["hydra/launcher=basic"] * (len(missing) == 1)
        launch = _Launch(own, workers, config_dir)
        with (
            hydra_session(),
            SweepProgress(progress, len(missing), partial(_poll, list(missing))) as told,
            _joblib_told_of_signals(),
        ):
            ended = _make(missing, launch, told.say)
        for i, outcome in enumerate(outcomes):
            if outcome.status == "to run" and outcome.path:
                status, error = ended[outcome.path]
                elsewhere = status == "elsewhere"
                outcomes[i] = replace(outcome, status="done" if elsewhere else status, error=error, elsewhere=elsewhere)
    return outcomes


def _make(missing: Mapping[Path, list[str]], launch: "_Launch", say: Callable[[str], None]) -> dict[Path, Ended]:
    """Make the missing runs, those first that nobody else writes; what became of each."""
    ended: dict[Path, Ended] = {}
    left = list(missing)
    waiting = False
    try:
        with AnsweredBy(interrupt):
            while left:
                if free := [path for path in left if not runner.is_written(path)]:
                    launch.make({path: missing[path] for path in free}, ended)
                else:
                    if not waiting:
                        say(f"{len(left)} {_jobs(left)} running elsewhere; waiting for the end")
                    waiting = True
                    time.sleep(LOOK)
                left = [path for path in left if path not in ended]
    except KeyboardInterrupt:
        return {path: _interrupted(path) for path in missing} | ended
    return ended


@contextmanager
def _joblib_told_of_signals() -> Iterator[None]:
    """Let the processes that joblib starts take signals to their group as those of jobs do: without a word.

    Those of its pool would print a traceback on Ctrl-C while they begin, and resource trackers would end on SIGHUP
    before what they track; that of joblib, too, prints what it tidies up when the sweep was killed. To kill its pool
    joblib asks psutil or pgrep; where neither is there it calls what its processes lack.
    """
    start, kill = LokyProcess.start, LokyProcess.kill

    def start_deaf(process: LokyProcess) -> None:
        with blocked(signal.SIGINT):
            start(process)

    options = list(sys.warnoptions)
    LokyProcess.start, LokyProcess.kill = start_deaf, LokyProcess.terminate
    try:
        sys.warnoptions.append("ignore:resource_tracker:UserWarning")  # a new interpreter takes these over
        with blocked(signal.SIGHUP):
            # first: while it starts, Python's own lets Ctrl-C in
            multiprocessing.resource_tracker.ensure_running()
            resource_tracker.ensure_running()
        sys.warnoptions[:] = options
        with warnings.catch_warnings():
            # it says then that what its processes have started is left; ours end with them
            warnings.filterwarnings("ignore", category=UserWarning, module="joblib")
            yield
    finally:
        sys.warnoptions[:] = options
        LokyProcess.start, LokyProcess.kill = start, kill


def _jobs(counted: Sequence[object]) -> str:
    return "job is" if len(counted) == 1 else "jobs are"


def _interrupted(path: Path) -> Ended:
    """What became of a run when the sweep was interrupted."""
    if runner.is_written(path):
        return "running elsewhere", None
    return ("done" if runner.is_done(path) else "interrupted"), None


@dataclass
class _Launch:
    """How jobs are launched.

    Attributes
    ----------
    overrides : sequence of str
        Hydra's own overrides.
    workers : int or None
        Jobs that run at the same time; None: one per processor.
    config_dir : str, Path or None
        A folder with the user's own groups.
    in_vain : int
        How often in a row the launcher broke before any job came to its end.
    """

    overrides: Sequence[str]
    workers: int | None
    config_dir: str | Path | None
    in_vain: int = 0

    def launcher(self, jobs: int, records: Path) -> Launcher:
        """The launcher of so many jobs, which leave their records in the folder `records`.

        Raises
        ------
        ConfigError
            There is none, or it has no such options.
        """
        own = list(self.overrides)
        if not any(o.startswith("hydra/launcher=") and not o.endswith("=joblib") for o in own):
            own = [f"hydra.launcher.n_jobs={min(self.workers or os.cpu_count() or 1, jobs)}", *own]
        instance = GlobalHydra.instance().hydra
        assert instance is not None
        try:
            config = instance.compose_config(
                "config",
                [*own, *search_path_overrides(self.config_dir)],
                run_mode=RunMode.MULTIRUN,
                from_shell=False,
                with_log_configuration=False,
            )
            target = config.hydra.launcher._target_
            load(target)  # for its message
            sweep = Sweep(os.getpid(), os.getcwd(), records, parental=target == _name(JoblibLauncher))
            return Plugins.instance().instantiate_launcher(
                hydra_context=HydraContext(config_loader=instance.config_loader, callbacks=Callbacks(config)),
                task_function=in_process if target == _name(BasicLauncher) else partial(isolated, sweep=sweep),
                config=config,
            )
        except ConfigError as error:
            raise ConfigError(f"hydra.launcher.{error}") from error
        except Exception as error:  # the module of a launcher may raise anything
            raise ConfigError(_no_launcher(error, self.overrides)) from error

    def make(self, jobs: Mapping[Path, list[str]], ended: dict[Path, Ended]) -> None:
        """Make jobs, and add to `ended` what became of those that are not to be made again.

        Raises
        ------
        ConfigError, RunError
            See `run_jobs`.
        """
        paths = list(jobs)

        def told(by_number: Mapping[int, Ended]) -> None:
            ended.update({paths[number]: end for number, end in by_number.items() if end[0] != "locked"})

        with TemporaryDirectory(prefix="smcmc-sweep-") as folder:
            records = Path(folder)
            launcher = self.launcher(len(jobs), records)
            try:
                returned = launcher.launch([rewrite(job) for job in jobs.values()], initial_job_idx=0)
                told(dict(enumerate([one.return_value for one in returned])))
            except KeyboardInterrupt:
                told(read_records(records).ended)
                raise
            except BrokenProcessPool as error:
                told(self._ended(read_records(records), error))
            except Exception as error:  # whatever the launcher does
                if read_records(records).begun:
                    raise RunError(f"{_launcher_says(error)}; the same command continues the sweep") from error
                raise ConfigError(_launcher_says(error)) from error

    def _ended(self, recorded: Recorded, error: Exception) -> dict[int, Ended]:
        """What became of jobs, by their numbers, when a process of the launcher was killed; the others go on."""
        ended = dict(recorded.ended)
        # joblib then kills its other processes, and what they have started before them: a job that outlived its process
        # tells that this one was killed by somebody else. Where no job tells it, all go on
        if recorded.killed or len(recorded.orphaned) == 1:
            reason = "the process that launched it was killed; the same command continues it"
            ended |= dict.fromkeys(recorded.orphaned, ("failed", reason))
        self.in_vain = 0 if ended else self.in_vain + 1
        if self.in_vain == 2:
            raise RunError(f"{_launcher_says(error)}; the same command continues the sweep") from error
        return ended


def _name(launcher: type[Launcher]) -> str:
    # Hydra imports its plugins anew in every session: classes of one name are not the same
    return f"{launcher.__module__}.{launcher.__qualname__}"


def _no_launcher(error: Exception, own: Sequence[str]) -> str:
    """What is wrong with Hydra's own overrides."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options is not None:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return f"{group}={name}: expected one of {', '.join(sorted(error.options))}"
    if isinstance(error, OverrideParseException):
        return unreadable(str(error.override))
    # Hydra names the override alone where OmegaConf knows what is wrong with its value
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    reason = str(cause).split("\nConfig search path")[0].split("\n    full_key")[0]
    return f"{' '.join(own)}: {' '.join(reason.split())}"


def _launcher_says(error: Exception) -> str:
    return f"hydra.launcher: {' '.join(str(error).split()) or type(error).__name__}"


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
