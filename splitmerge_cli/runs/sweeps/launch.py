"""How jobs are launched: by processes here, or by an engine of other machines."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from splitmerge_cli.config import ConfigError, hydra_adapter, load, places
from splitmerge_cli.config.composition import compose_words, rewrite
from splitmerge_cli.runs.errors import RunError
from splitmerge_cli.runs.store.files import DamagedRun
from splitmerge_cli.runs.sweeps.job import Ended, Recorded, Sweep, in_process, read_records, run_isolated
from splitmerge_cli.runs.sweeps.queued_jobs import QueuedJobs
from splitmerge_cli.runs.sweeps.remote import Engine, Remote


@dataclass
class Launch:
    """How jobs are launched: by Hydra's own `overrides`, so many `workers` at the same time (None: one per processor),
    with the user's own groups of `config_dir`.

    Attributes
    ----------
    detach : bool
        Whether jobs are left to the queue of a cluster.
    in_vain : int
        How often in a row the launcher broke before any job came to its end.
    """

    overrides: Sequence[str]
    workers: int | None
    config_dir: str | Path | None
    detach: bool = False
    in_vain: int = 0

    def launcher(self, paths: Sequence[Path], records: Path) -> Any:
        """The launcher of jobs with these folders, which leave their records in the folder `records`; a `ConfigError`
        where there is none, or it has no such options."""
        own = list(self.overrides)
        if not any(o.startswith("hydra/launcher=") and not o.endswith("=joblib") for o in own):
            own = [f"hydra.launcher.n_jobs={min(self.workers or os.cpu_count() or 1, len(paths))}", *own]
        try:
            chosen = hydra_adapter.launching(own, places(self.config_dir))
            found = load(chosen.target)  # for its message
            sweep = Sweep(os.getpid(), os.getcwd(), records, parental=chosen.joblib)
            if (engine := self._engine(chosen, found)) is not None:
                return Remote(engine, lambda job: compose_words(job, self.config_dir), sweep, paths)
            if self.detach:
                raise ConfigError("--detach: its jobs end with the sweep; expected hydra/launcher=submitit_slurm")
            return chosen.make(in_process if chosen.basic else partial(run_isolated, sweep=sweep))
        except ConfigError as error:
            own_key = "" if str(error).startswith("--") else "hydra.launcher."
            raise ConfigError(f"{own_key}{error}") from error
        except Exception as error:  # the module of a launcher may raise anything
            raise ConfigError(hydra_adapter.explain_launcher(error, self.overrides)) from error

    def _engine(self, chosen: hydra_adapter.Launching, found: Any) -> Engine | None:
        """Engine that runs jobs on other machines; None for launchers of processes here."""
        if chosen.target.startswith("splitmerge_cli."):
            if self.detach:
                raise ConfigError("--detach: its jobs end with the sweep; expected hydra/launcher=submitit_slurm")
            engine: Engine = found(**chosen.options)
            return engine
        if chosen.target.startswith("hydra_plugins.hydra_submitit_launcher."):
            named = [o.split("=")[0].removeprefix("hydra.launcher.").lstrip("+") for o in self.overrides]
            cluster = "slurm" if chosen.target.endswith(".SlurmLauncher") else "local"
            return QueuedJobs(cluster, chosen.options, named, self.detach)
        return None

    def make(self, jobs: Mapping[Path, list[str]], ended: dict[Path, Ended]) -> None:
        """Make jobs, and add to `ended` what became of those that are not to be made again; errors as of `run_jobs`."""
        paths = list(jobs)

        def add(by_number: Mapping[int, Ended]) -> None:
            ended.update({paths[number]: end for number, end in by_number.items() if end[0] != "locked"})

        with TemporaryDirectory(prefix="smcmc-sweep-") as folder:
            records = Path(folder)
            launcher = self.launcher(paths, records)
            try:
                # Hydra reads what its own launchers are given
                given = (
                    jobs.values()
                    if isinstance(launcher, Remote)
                    else [rewrite(job, self.config_dir) for job in jobs.values()]
                )
                returned = launcher.launch(list(given), initial_job_idx=0)
                add(dict(enumerate([one.return_value for one in returned])))
            except KeyboardInterrupt:
                add(read_records(records).ended)
                raise
            except (ConfigError, RunError, DamagedRun):
                raise
            except BrokenProcessPool as error:
                add(self._find_outcomes(read_records(records), error))
            except Exception as error:  # whatever the launcher does
                if read_records(records).has_begun:
                    raise RunError(f"{_launcher_says(error)}; the same command continues the sweep") from error
                raise ConfigError(_launcher_says(error)) from error

    def _find_outcomes(self, recorded: Recorded, error: Exception) -> dict[int, Ended]:
        """Find how jobs ended, by their numbers, when a process of the launcher was killed; the others go on."""
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


def _launcher_says(error: Exception) -> str:
    return f"hydra.launcher: {' '.join(str(error).split()) or type(error).__name__}"
