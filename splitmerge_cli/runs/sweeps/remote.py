"""Jobs on other machines: what every engine that runs them has in common.

A job is sent as text (`Task`); a worker hands it to a process of its own, as ``sweeps/job.py`` does here. Its run is
written to the folder `out`, which all machines have to share: the sweep follows the runs there. Whether they do, and
whether locks hold between them, is looked at by every job before it begins.
"""

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from splitmerge_cli.config import RunSpecification
from splitmerge_cli.runs.store.files import is_locked, lock_file
from splitmerge_cli.runs.sweeps.job import Ended, Task, make_here, task_of


@dataclass(frozen=True)
class RemoteTask:
    """A job for another machine.

    Attributes
    ----------
    task : Task
    path : Path
        Folder of the run, as the sweep has it.
    out : str
        Folder of the results, as the jobs name it.
    version : str
        Of this package, where the sweep is.
    mark : str or None
        A file in the run's `out` that the sweep holds a lock on; None: the job may begin when the sweep is gone.
    """

    task: Task
    path: Path
    out: str
    version: str
    mark: str | None


class Engine(Protocol):
    """Runs jobs somewhere.

    Attributes
    ----------
    waits : bool
        Whether jobs begin only while the sweep is there.
    """

    waits: bool

    def run(self, tasks: Sequence[RemoteTask]) -> list[Ended]:
        """Make all jobs; return how each ended, in their order. Raises where the engine cannot run jobs: nothing is
        known of any."""
        ...


def make_remotely(engine: Engine, jobs: Mapping[Path, RunSpecification]) -> Iterator[tuple[Path, Ended]]:
    """Make jobs by an engine, by the folders of their runs; how each ended, in their order."""
    outs = {path: str(path.parents[1]) for path in jobs}
    with _mark_folders(set(outs.values()) if engine.waits else set()) as marks:
        sent = [
            RemoteTask(task_of(job, os.getcwd()), path.resolve(), outs[path], version("smcmc"), marks.get(outs[path]))
            for path, job in jobs.items()
        ]
        yield from zip(jobs, engine.run(sent), strict=True)


@contextmanager
def _mark_folders(folders: set[str]) -> Iterator[dict[str, str]]:
    """In each of these folders a file with a lock that this process holds."""
    marks = {folder: Path(folder).resolve() / f".sweep-{uuid4().hex}" for folder in folders}
    with ExitStack() as stack:
        for mark in marks.values():
            stack.callback(mark.unlink, missing_ok=True)
            stack.enter_context(lock_file(mark))
        yield {folder: str(mark) for folder, mark in marks.items()}


def on_worker(remote: RemoteTask) -> Ended:
    """Make a job here, in a process of its own, or say why this machine cannot."""
    if reason := _unfit(remote):
        return "failed", f"{reason}; the same command continues it"
    task = remote.task
    if not Path(task.folder).is_dir() and not Path(remote.out).is_absolute():
        return "failed", f"worker {socket.gethostname()} has no folder {task.folder}; expected out= with a whole path"
    return make_here(task)


def _unfit(remote: RemoteTask) -> str | None:
    """Why a run that is made here would not be the sweep's; None: nothing stands against it."""
    here = socket.gethostname()
    if (local_version := version("smcmc")) != remote.version:
        return f"worker {here} has smcmc {local_version}, the sweep {remote.version}"
    if remote.mark is None:
        return None
    mark = Path(remote.mark)
    with suppress(OSError):
        # a network file system may show a new file late: listing its folder asks again
        list(mark.parent.iterdir())
    if not mark.exists():
        return f"worker {here} does not share the folder {mark.parent}; expected out= in one that all machines have"
    if not is_locked(mark):
        return (
            f"locks in {mark.parent} do not hold between machines (worker {here}); expected a file system with locks, "
            "such as NFS 4, or NFS 3 with its lock service"
        )
    return None
