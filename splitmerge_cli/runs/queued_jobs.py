"""Jobs in the queue of Slurm, through submitit: ``hydra/launcher=submitit_slurm`` (and ``submitit_local``).

The options are those of the plugin of Hydra. A job that is preempted or comes to its time limit is queued again by
submitit and goes on from its last checkpoint. A job that is submitted is noted in a file, so that the same command,
given again, waits for it and does not submit it twice.
"""

import json
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from splitmerge_cli.config import ConfigError
from splitmerge_cli.results.files import write_json
from splitmerge_cli.results.names import STATUS
from splitmerge_cli.runs.errors import RunError
from splitmerge_cli.runs.identity import is_written
from splitmerge_cli.runs.job import Ended
from splitmerge_cli.runs.remote import RemoteTask, on_worker

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
"""How often a job that comes to its time limit is queued again, unless it is said."""
_AT_START = ("max_num_timeout",)
_COMMON = (
    "timeout_min", "cpus_per_task", "gpus_per_node", "tasks_per_node", "mem_gb", "nodes", "name", "stderr_to_stdout"
)  # fmt: skip


class Call:
    """Makes a job on a node. Submitit calls `checkpoint` when the node is about to be taken away."""

    def __call__(self, remote: RemoteTask) -> Ended:
        ended = on_worker(remote)
        if ended[0] == "interrupted":
            # a signal to all processes of the job: it is about to be killed, perhaps to be queued again, and has no
            # result
            time.sleep(KILLED)
            return "failed", "ended by a signal; the same command continues it"
        return ended

    def checkpoint(self, remote: RemoteTask) -> Any:
        """The same call, to be queued again: the run goes on from its own checkpoint."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, remote)


class QueuedJobs:
    """An engine of `splitmerge_cli.runs.remote`.

    Parameters
    ----------
    cluster : str
        ``slurm`` or ``local``.
    options : mapping
        Of the plugin of Hydra.
    named : sequence of str
        Those of them that the user named.
    detach : bool
        Submit, and do not wait.

    Raises
    ------
    ConfigError
        The cluster is not there.
    """

    waits = False

    def __init__(self, cluster: str, options: Mapping[str, Any], named: Sequence[str], detach: bool = False) -> None:
        import submitit

        given = {key: value for key, value in options.items() if value is not None}
        if "max_num_timeout" in given and "max_num_timeout" not in named:
            given["max_num_timeout"] = REQUEUED
        folder = Path(str(given.pop("submitit_folder"))).resolve()
        at_start = {f"{cluster}_{key}": given.pop(key) for key in _AT_START if key in given}
        rest = {key if key in _COMMON else f"{cluster}_{key}": value for key, value in given.items()}
        try:
            self.executor = submitit.AutoExecutor(folder=folder, cluster=cluster, **at_start)
            self.executor.update_parameters(**rest)
        except (RuntimeError, ValueError, NameError, TypeError, AssertionError) as error:
            raise ConfigError(f"submitit_{cluster}: {' '.join(str(error).split())}") from error
        if cluster == "slurm" and (reason := _no_answer()):
            raise ConfigError(f"submitit_slurm: no Slurm answers: {reason}")
        self.cluster, self.folder, self.detach = cluster, folder, detach

    def run(self, tasks: Sequence[RemoteTask]) -> list[Ended]:
        """What became of each job, in their order."""
        notes = [_note_of(task) for task in tasks]
        jobs = [self._waiting(note) for note in notes]
        new = [number for number, job in enumerate(jobs) if job is None]
        if new:
            try:
                submitted = self.executor.map_array(Call(), [tasks[number] for number in new])
            except Exception as error:  # sbatch says what it does not like
                raise ConfigError(f"submitit_{self.cluster}: {' '.join(str(error).split())}") from error
            for number, job in zip(new, submitted, strict=True):
                jobs[number] = job
                notes[number].parent.mkdir(parents=True, exist_ok=True)
                write_json(notes[number], {"job": job.job_id, "cluster": self.cluster})
        if self.detach:
            return [("submitted", None)] * len(tasks)
        return self._ends(jobs, notes, [task.path for task in tasks])

    def _waiting(self, note: Path) -> Any:
        """The job of an earlier command that is still in the queue; None: there is none."""
        from submitit import SlurmJob

        if self.cluster != "slurm" or not note.is_file():
            return None
        with suppress(OSError, ValueError, KeyError, TypeError):
            job_id = str(json.loads(note.read_text(encoding="utf-8"))["job"])
            if job_id in in_queue([job_id]):
                return SlurmJob(folder=self.folder, job_id=job_id)
        return None

    def _ends(self, jobs: Sequence[Any], notes: Sequence[Path], paths: Sequence[Path]) -> list[Ended]:
        ended: dict[int, Ended] = {}
        gone: dict[int, float] = {}
        unlocked: Counter[int] = Counter()
        try:
            while len(ended) < len(jobs):
                left = [number for number in range(len(jobs)) if number not in ended]
                alive = self._alive([jobs[number] for number in left])
                for number in left:
                    job = jobs[number]
                    if job.paths.result_pickle.exists():
                        ended[number] = _result(job)
                    elif job.job_id in alive:
                        gone.pop(number, None)
                        unlocked[number] = unlocked[number] + 1 if _writes_unlocked(paths[number]) else 0
                        if self.cluster == "slurm" and unlocked[number] == UNLOCKED:
                            raise RunError(
                                f"{paths[number]}: job {job.job_id} writes it, and no lock is seen: locks do not hold "
                                "between these machines; expected out= on a file system with locks, such as NFS 4, or "
                                "NFS 3 with its lock service"
                            )
                    elif time.monotonic() > gone.setdefault(number, time.monotonic()) + LATE:
                        ended[number] = (
                            "failed",
                            f"job {job.job_id} left the queue without a result; the same command continues it",
                        )
                    if number in ended:
                        notes[number].unlink(missing_ok=True)
                if len(ended) < len(jobs):
                    time.sleep(LOOK if self.cluster == "slurm" else 0.2)
        except KeyboardInterrupt:
            for number, job in enumerate(jobs):
                if number not in ended:
                    with suppress(Exception):
                        job.cancel(check=False)
                    notes[number].unlink(missing_ok=True)
            raise
        return [ended[number] for number in range(len(jobs))]

    def _alive(self, jobs: Sequence[Any]) -> set[str]:
        if self.cluster == "slurm":
            return in_queue([job.job_id for job in jobs])
        return {job.job_id for job in jobs if not job.done()}


def _writes_unlocked(path: Path) -> bool:
    """Whether a run has been written to in the last seconds, and nobody holds its lock."""
    with suppress(OSError):
        return time.time() - (path / STATUS).stat().st_mtime < RECENT and not is_written(path)
    return False


def _no_answer() -> str | None:
    """What squeue says where no Slurm answers; None: one does."""
    try:
        answer = subprocess.run(
            ["squeue", "--noheader", "--me"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = answer.stderr.strip().splitlines()
    return (lines[-1] if lines else f"exit status {answer.returncode}") if answer.returncode else None


def in_queue(jobs: Sequence[str]) -> set[str]:
    """Those of these jobs that wait or run. Where the queue does not answer all of them: nothing is known."""
    call = ["squeue", "--noheader", "--array", "--format=%i %T", "--me"]
    try:
        answer = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return set(jobs)
    if answer.returncode:
        return set(jobs)
    over = {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"}
    rows = [line.split() for line in answer.stdout.splitlines()]
    return {row[0] for row in rows if len(row) == 2 and row[1] not in over} & set(jobs)


def _result(job: Any) -> Ended:
    try:
        status, error = job.result()
    except Exception as failure:  # whatever happened on the node, submitit hands it over
        lines = [line for line in str(failure).splitlines() if line.strip()]
        return "failed", f"job {job.job_id}: {lines[-1].strip() if lines else type(failure).__name__}"
    return str(status), None if error is None else str(error)


def _note_of(remote: RemoteTask) -> Path:
    """Where it is noted that the job of a run was submitted: OUT/.submitted/SAMPLER-DATA-ID.json."""
    run = remote.path
    return run.parent.parent / SUBMITTED / f"{run.parent.name}-{run.name}.json"
