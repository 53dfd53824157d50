"""How jobs of a sweep are launched: by processes here, by an engine of other machines, or by a launcher that Hydra
knows; and jobs in the queue of Slurm, through submitit: ``hydra/launcher=submitit_slurm`` (and ``submitit_local``).

Hydra's plugin defines the options. A job that is preempted or comes to its time limit is queued again by
submitit and goes on from its last checkpoint. A job that is submitted is noted in a file, so that the same command,
given again, waits for it and does not submit it twice.

Submitit hands jobs over as pickles, which run code when they are read. So every submission has a folder of its own,
which nobody can have filled before; and what became of a job is read from a sealed file, never from its pickle.
"""

import os
import secrets
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from splitmerge_cli.config import ConfigError, RunSpecification, hydra_adapter, load
from splitmerge_cli.config.errors import one_line
from splitmerge_cli.runs import identity, interrupts
from splitmerge_cli.runs.store.files import STATUS, DamagedRun, report_damage
from splitmerge_cli.runs.store.manifest import read_sealed, write_sealed
from splitmerge_cli.runs.sweeps.job import (
    Ended,
    RemoteTask,
    make_alone,
    make_beside,
    make_composed,
    make_remotely,
    on_worker,
    text_of,
)

Jobs = Mapping[Path, RunSpecification]
"""Jobs by the folders of their runs."""
Maker = Callable[[Jobs], Iterator[tuple[Path, Ended]]]
"""Makes jobs; yields how each ended."""


@dataclass(frozen=True)
class Launch:
    """How jobs are launched: by Hydra's own `overrides`, so many `workers` at the same time (None: one per processor);
    `detach`: whether jobs are left to the queue of a cluster."""

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
        except (ConfigError, interrupts.RunError, DamagedRun):
            raise
        except Exception as error:  # whatever the launcher does
            message = f"hydra.launcher: {one_line(error) or type(error).__name__}"
            if any((path / STATUS).is_file() for path in jobs):
                raise interrupts.RunError(f"{message}; the same command continues the sweep") from error
            raise ConfigError(message) from error


def _make_by_hydra(launcher: Any, jobs: Jobs) -> Iterator[tuple[Path, Ended]]:
    """Make jobs by a launcher of Hydra's, which takes each as the text of one key where it runs."""
    job_words = [[f"+job={hydra_adapter.encode(hydra_adapter.protect(text_of(job)))}"] for job in jobs.values()]
    returned = launcher.launch(job_words, initial_job_idx=0)
    yield from zip(jobs, (one.return_value for one in returned), strict=True)


LOOK = 2.0
"""Seconds between two looks at the queue."""
KILLED = 300.0
"""Seconds that Slurm may take to kill a job after its first signal."""
LATE = 30.0
"""Seconds that a shared file system may take to show the result of a job that has left the queue."""
UNLOCKED = 15
"""Looks in a row that have to see a run written without a lock, before that is believed."""
RECENT = 20.0
"""Seconds since a run was written to."""
SUBMITTED = ".submitted"
"""Folder in `out` of the notes on jobs that were submitted."""
REQUEUED = 1_000
"""Default number of times that a job at its time limit is queued again."""
ENDS = ("done", "elsewhere", "locked", "failed")
"""Ends that a job may write."""
_AT_START = ("max_num_timeout",)
_COMMON = (
    "timeout_min", "cpus_per_task", "gpus_per_node", "tasks_per_node", "mem_gb", "nodes", "name", "stderr_to_stdout"
)  # fmt: skip


REMEDY = "remove it once its job has left the queue (squeue --me)"
"""Advice about a damaged note."""


class Call:
    """Makes a job on a node, and writes to a file what became of it. Submitit calls `checkpoint` when the node is about
    to be taken away."""

    def __call__(self, remote: RemoteTask, result: Path) -> None:
        try:
            status, error = on_worker(remote)
        except Exception as failure:  # as submitit's own, of a job that came to its time limit too often
            status, error = "failed", f"{type(failure).__name__}: {failure}"
        if status == "interrupted":
            # a signal to all processes of the job: it is about to be killed, perhaps to be queued again, and has no
            # result
            time.sleep(KILLED)
            status, error = "failed", "ended by a signal; the same command continues it"
        write_sealed(result, {"status": status, "error": error})

    def checkpoint(self, remote: RemoteTask, result: Path) -> Any:
        """Queue this call again: the run goes on from its own checkpoint."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, remote, result)


class QueuedJobs:
    """An engine of `splitmerge_cli.runs.sweeps.job`, on the `cluster` ``slurm`` or ``local``; a `ConfigError` if
    it is not there.

    `options` belong to Hydra's plugin; the user `named` some of them. `detach`: submit, and do not wait.
    """

    waits = False

    def __init__(self, cluster: str, options: Mapping[str, Any], named: Sequence[str], detach: bool = False) -> None:
        named_options = {key: value for key, value in options.items() if value is not None}
        if "max_num_timeout" in named_options and "max_num_timeout" not in named:
            named_options["max_num_timeout"] = REQUEUED
        self.cluster, self.detach = cluster, detach
        self.folder = Path(str(named_options.pop("submitit_folder"))).resolve()
        self._at_start = {f"{cluster}_{key}": named_options.pop(key) for key in _AT_START if key in named_options}
        self._rest = {key if key in _COMMON else f"{cluster}_{key}": value for key, value in named_options.items()}
        try:
            self._executor(self.folder)
        except (RuntimeError, ValueError, NameError, TypeError, AssertionError) as error:
            raise ConfigError(f"submitit_{cluster}: {one_line(error)}") from error
        if cluster == "slurm" and (reason := _ask_queue()[1]):
            raise ConfigError(f"submitit_slurm: no Slurm answers: {reason}")

    def _executor(self, folder: Path) -> Any:
        import submitit

        # nothing is imported from the working directory
        at_start = {f"{self.cluster}_python": f"{shlex.quote(sys.executable)} -P", **self._at_start}
        executor = submitit.AutoExecutor(folder=folder, cluster=self.cluster, **at_start)
        executor.update_parameters(**self._rest)
        return executor

    def _new_folder(self) -> Path:
        """The folder of a submission, which nobody else has written to; beneath it what the options ask for."""
        base = _own(self.folder)
        folder = base / secrets.token_hex(16)
        base.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        return folder / self.folder.relative_to(base)

    def run(self, tasks: Sequence[RemoteTask]) -> list[Ended]:
        """How each job ended, in their order."""
        notes = [note_of(task.path) for task in tasks]
        waiting = [self._waiting(note) for note in notes]
        new = [number for number, job in enumerate(waiting) if job is None]
        if new:
            folder = self._new_folder()
            results = [_result_of(folder, notes[number]) for number in new]
            try:
                jobs = self._executor(folder).map_array(Call(), [tasks[number] for number in new], results)
            except Exception as error:  # sbatch says what it does not like
                raise ConfigError(f"submitit_{self.cluster}: {one_line(error)}") from error
            for number, job, result in zip(new, jobs, results, strict=True):
                waiting[number] = job, result
                notes[number].parent.mkdir(parents=True, exist_ok=True)
                write_sealed(notes[number], {"job": job.job_id, "cluster": self.cluster, "folder": str(folder)})
        if self.detach:
            return [("submitted", None)] * len(tasks)
        queued, noted = zip(*(each for each in waiting if each is not None), strict=True)
        return self._ends(queued, noted, tasks)

    def _waiting(self, note: Path) -> tuple[Any, Path] | None:
        """The job of an earlier command that is still in the queue, and where its result will be, or None; a
        `DamagedRun` if the note is not what was written."""
        from submitit import SlurmJob

        if self.cluster != "slurm" or not note.is_file():
            return None
        stored = read_sealed(note, REMEDY)
        with report_damage(note, REMEDY):
            job_id, folder = str(stored["job"]), Path(str(stored["folder"]))
        # a note says which job is waited for, and cancelled on Ctrl-C: one that the queue knows by its folder
        if job_id not in in_queue([job_id], folder):
            return None
        return SlurmJob(folder=folder, job_id=job_id), _result_of(folder, note)

    def _ends(self, jobs: Sequence[Any], results: Sequence[Path], tasks: Sequence[RemoteTask]) -> list[Ended]:
        paths = [task.path for task in tasks]
        ended: dict[int, Ended] = {}
        gone: dict[int, float] = {}
        unlocked: Counter[int] = Counter()
        is_slurm = self.cluster == "slurm"
        try:
            while open_jobs := [number for number in range(len(jobs)) if number not in ended]:
                if is_slurm:
                    alive = in_queue([jobs[number].job_id for number in open_jobs])
                else:
                    alive = {jobs[number].job_id for number in open_jobs if not jobs[number].done()}
                for number in open_jobs:
                    job = jobs[number]
                    if results[number].exists():
                        ended[number] = _read_result(results[number])
                    elif job.job_id in alive:
                        gone.pop(number, None)
                        unlocked[number] = unlocked[number] + 1 if _writes_unlocked(paths[number]) else 0
                        if is_slurm and unlocked[number] == UNLOCKED:
                            raise interrupts.RunError(
                                f"{paths[number]}: job {job.job_id} writes it, and no lock is seen: locks do not hold "
                                "between these machines; expected out= on a file system with locks, such as NFS 4, or "
                                "NFS 3 with its lock service"
                            )
                    elif time.monotonic() > gone.setdefault(number, time.monotonic()) + LATE:
                        left = f"job {job.job_id} left the queue without a result (its log: {job.paths.stderr})"
                        ended[number] = "failed", f"{left}; the same command continues it"
                    if number in ended:
                        forget(paths[number])
                if len(ended) < len(jobs):
                    time.sleep(LOOK if is_slurm else 0.2)
        except KeyboardInterrupt:
            for number, job in enumerate(jobs):
                if number not in ended:
                    with suppress(Exception):
                        job.cancel(check=False)
                    forget(paths[number])
            raise
        return [ended[number] for number in range(len(jobs))]


def _writes_unlocked(path: Path) -> bool:
    """Whether a run has been written to in the last seconds, and nobody holds its lock."""
    with suppress(OSError):
        return time.time() - (path / STATUS).stat().st_mtime < RECENT and not identity.is_written(path)
    return False


def _ask_queue(*options: str) -> tuple[str, str | None]:
    """Ask squeue about the user's jobs; returns its answer, and its message if no Slurm answers, else None."""
    call = ["squeue", "--noheader", *options, "--me"]
    try:
        answer = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    *_, last = ["", *answer.stderr.strip().splitlines()]
    return answer.stdout, (last or f"exit status {answer.returncode}") if answer.returncode else None


def in_queue(jobs: Sequence[str], folder: Path | None = None) -> set[str]:
    """Return the jobs that wait or run; where a folder is given, those by a script in it. Where the queue does not
    answer, all of them: nothing is known."""
    listed, no_answer = _ask_queue("--array", "--format=%i %T %o")
    if no_answer is not None:
        return set(jobs)
    over = {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"}
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    alive = [row for row in rows if len(row) == 3 and row[1] not in over]
    return {job for job, _, script in alive if folder is None or _own(folder) in Path(script).parents} & set(jobs)


def _own(folder: Path) -> Path:
    """The folder of a submission, in which the folder of jobs has a different name for each."""
    from submitit.core.utils import JobPaths

    return Path(JobPaths.get_first_id_independent_folder(folder))


def _read_result(file: Path) -> Ended:
    """Read how a job ended from its note."""
    try:
        ended = read_sealed(file, "the same command continues it")
        with report_damage(file, "the same command continues it"):
            error = ended["error"]
            return ENDS[ENDS.index(ended["status"])], None if error is None else str(error)
    except DamagedRun as damage:
        return "failed", str(damage)


def _result_of(folder: Path, note: Path) -> Path:
    """Where a job writes what became of it."""
    return _own(folder) / note.name


def note_of(run: Path) -> Path:
    """Where it is noted that the job of a run was submitted: OUT/.submitted/SAMPLER-DATA-ID.json."""
    return run.parent.parent / SUBMITTED / f"{run.parent.name}-{run.name}.json"


def forget(run: Path) -> None:
    """Remove the note on the job of a run, which has come to its end."""
    note = note_of(run)
    with suppress(OSError):
        note.unlink(missing_ok=True)
        note.parent.rmdir()  # unless it holds others
