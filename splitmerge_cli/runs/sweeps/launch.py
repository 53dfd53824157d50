"""How jobs are launched: by processes here, by an engine of other machines, or by a launcher that Hydra knows."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from splitmerge_cli.config import ConfigError, RunSpecification, hydra_adapter, load
from splitmerge_cli.config.composition import rewrite
from splitmerge_cli.runs.errors import RunError
from splitmerge_cli.runs.store.files import DamagedRun
from splitmerge_cli.runs.store.names import STATUS
from splitmerge_cli.runs.sweeps.job import Ended, make_alone, make_beside, make_composed
from splitmerge_cli.runs.sweeps.queued_jobs import QueuedJobs
from splitmerge_cli.runs.sweeps.remote import make_remotely

Jobs = Mapping[Path, RunSpecification]
"""Jobs by the folders of their runs."""
Maker = Callable[[Jobs], Iterator[tuple[Path, Ended]]]
"""Makes jobs; yields how each ended."""


@dataclass(frozen=True)
class Launch:
    """How jobs are launched: by Hydra's own `overrides`, so many `workers` at the same time (None: one per processor).

    Attributes
    ----------
    detach : bool
        Whether jobs are left to the queue of a cluster.
    """

    overrides: Sequence[str]
    workers: int | None = None
    detach: bool = False

    def maker(self, search_path: Sequence[str]) -> Maker:
        """Return the function that makes jobs whose choices are on this search path; a `ConfigError` if there is no
        such launcher, or it has no such options."""
        launcher_overrides = list(self.overrides)
        if not any(o.startswith("hydra/launcher=") and not o.endswith("=joblib") for o in launcher_overrides):
            launcher_overrides = [f"hydra.launcher.n_jobs={self.workers or os.cpu_count() or 1}", *launcher_overrides]
        try:
            chosen = hydra_adapter.launching(launcher_overrides, search_path)
            return self._maker(chosen, load(chosen.target))
        except ConfigError as error:
            own_key = "" if str(error).startswith(("--", "hydra")) else "hydra.launcher."
            raise ConfigError(f"{own_key}{error}") from error
        except Exception as error:  # the module of a launcher may raise anything
            raise ConfigError(hydra_adapter.explain_launcher(error, self.overrides)) from error

    def _maker(self, chosen: hydra_adapter.Launching, launcher: Any) -> Maker:
        named = [o.lstrip("+").split("=")[0].removeprefix("hydra.launcher.") for o in self.overrides]
        if chosen.target.startswith("hydra_plugins.hydra_submitit_launcher."):
            cluster = "slurm" if chosen.target.endswith(".SlurmLauncher") else "local"
            return partial(make_remotely, QueuedJobs(cluster, chosen.options, named, self.detach))
        if self.detach:
            raise ConfigError("--detach: its jobs end with the sweep; expected hydra/launcher=submitit_slurm")
        if chosen.target.startswith("hydra_plugins.hydra_joblib_launcher."):
            if strange := set(named) - {"n_jobs", "hydra/launcher"}:
                raise ConfigError(
                    f"{min(strange)}: jobs are processes of smcmc; expected hydra.launcher.n_jobs alone, and out=FOLDER"
                )
            return partial(make_beside, at_once=chosen.options["n_jobs"])
        if chosen.target.startswith("splitmerge_cli."):
            return partial(make_remotely, launcher(**chosen.options))
        if chosen.basic:
            return make_alone
        return partial(_make_by_hydra, chosen.make(partial(make_composed, folder=os.getcwd())))

    def make(self, jobs: Jobs, ended: dict[Path, Ended]) -> None:
        """Make jobs, and add to `ended` what became of those that are not to be made again; errors as of `run_jobs`."""
        make = self.maker(next(iter(jobs.values())).search_path)
        try:
            ended.update((path, end) for path, end in make(jobs) if end[0] != "locked")
        except (ConfigError, RunError, DamagedRun):
            raise
        except Exception as error:  # whatever the launcher does
            message = f"hydra.launcher: {' '.join(str(error).split()) or type(error).__name__}"
            if any((path / STATUS).is_file() for path in jobs):
                raise RunError(f"{message}; the same command continues the sweep") from error
            raise ConfigError(message) from error


def _make_by_hydra(launcher: Any, jobs: Jobs) -> Iterator[tuple[Path, Ended]]:
    """Make jobs by a launcher of Hydra's, which composes each again, of its words, where it runs."""
    job_words = [rewrite(job.words, job.config_dir) for job in jobs.values()]
    returned = launcher.launch(job_words, initial_job_idx=0)
    yield from zip(jobs, (one.return_value for one in returned), strict=True)
