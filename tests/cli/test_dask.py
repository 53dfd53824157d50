"""Sweeps on Dask: a cluster of this machine, and a real scheduler with workers that are killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cli.calls import check_same_as_joblib, children, wait_for
from splitmerge_cli.runs.store.files import lock_file
from splitmerge_cli.runs.store.read import find_runs
from splitmerge_cli.runs.sweeps import remote
from splitmerge_cli.runs.sweeps.job import Task

pytest.importorskip("distributed", reason="Dask is not installed")

JOBS = ["sampler=sdds", "data=emm", "N=200", "chains=1", "timing=false", "progress=none"]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def scheduler(workers: int, folder: Path) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """A scheduler and workers of one thread each, by the commands that users start them with."""
    address = f"tcp://127.0.0.1:{free_port()}"
    call = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    port = address.rpartition(":")[2]
    started = [
        subprocess.Popen([*call, "scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"], **quiet),  # type: ignore[call-overload]
        *(
            subprocess.Popen(  # type: ignore[call-overload]
                [*call, "worker", address, "--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--no-dashboard"],
                **quiet,
            )
            for _ in range(workers)
        ),
    ]
    try:
        yield address, started[1:]
    finally:
        for process in started:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()


@pytest.mark.slow  # Dask waits for a worker that is gone
def test_a_killed_workers_job_moves_to_another(smcmc, spawn, tmp_path: Path) -> None:
    args = [*JOBS, "iterations=12000", "seed=range(5)"]
    with scheduler(3, tmp_path) as (address, workers):
        process = spawn("sweep", *args, "hydra/launcher=dask", f"hydra.launcher.address={address}")
        wait_for(lambda: len(list(Path("results").glob("*/*/work/*.npz"))) >= 2, process)
        busy = [worker for worker in workers if children(worker.pid)]
        assert busy
        os.kill(busy[0].pid, signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert "5 jobs: 5 done" in stdout and stderr == ""
    check_same_as_joblib(smcmc, args)


@pytest.mark.slow
def test_a_cluster_of_this_machine_is_interrupted_and_continued(smcmc, spawn) -> None:
    args = [*JOBS, "iterations=25000", "seed=range(3)"]
    asked = [*args, "hydra/launcher=dask", "hydra.launcher.n_workers=2"]
    process = spawn("sweep", *asked)
    wait_for(lambda: list(Path("results").glob("*/*/work/*.npz")), process)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.startswith("smcmc: interrupted: ") and stderr.count("\n") == 1, stderr
    result = smcmc("sweep", *asked)
    assert result.exit_code == 0, result.output
    check_same_as_joblib(smcmc, args)


def test_without_a_scheduler_one_line_says_so(smcmc) -> None:
    asked = [
        "hydra/launcher=dask",
        f"hydra.launcher.address=tcp://127.0.0.1:{free_port()}",
        "hydra.launcher.patience=1",
    ]
    result = smcmc("sweep", *JOBS, "iterations=10", "seed=0,1", *asked)
    assert result.exit_code == 2
    assert result.stderr.startswith("smcmc: hydra.launcher.address=tcp://127.0.0.1:") and "no worker" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(find_runs("results"))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["hydra.launcher.n_workers=0"], "hydra.launcher.n_workers=0: expected a whole number of at least 1"),
        (["hydra.launcher.n_workers=two"], "hydra.launcher.n_workers=two: expected a whole number"),
        (["hydra.launcher.patience=-1"], "hydra.launcher.patience=-1: expected a positive number"),
        (["hydra.launcher.address=3"], "hydra.launcher.address=3: expected one such as tcp://"),
        (["hydra.launcher.nope=1"], "hydra.launcher.nope=1: Key 'nope'"),
        (["--detach"], "--detach: its jobs end with the sweep; expected hydra/launcher=submitit_slurm"),
    ],
)
def test_what_dask_does_not_take_is_said(smcmc, args: list[str], message: str) -> None:
    result = smcmc("sweep", *JOBS, "iterations=10", "seed=0,1", "hydra/launcher=dask", *args)
    assert result.exit_code == 2 and message in result.stderr


def task(tmp_path: Path, mark: Path | None, version: str | None = None) -> remote.RemoteTask:
    return remote.RemoteTask(
        Task({}, str(tmp_path)),
        tmp_path / "run",
        "results",
        version or remote.version("smcmc"),
        None if mark is None else str(mark),
    )


def test_a_worker_that_does_not_share_the_folder_says_so(tmp_path: Path) -> None:
    """A folder that is not there, locks that do not hold, another version."""
    mark = tmp_path / "mark"
    assert "does not share the folder" in str(remote._unfit(task(tmp_path, mark)))
    mark.touch()
    assert "do not hold between machines" in str(remote._unfit(task(tmp_path, mark)))
    holder = "import sys, time; from splitmerge_cli.runs.store.files import lock_file\n"
    holder += "from pathlib import Path\nwith lock_file(Path(sys.argv[1])):\n print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", holder, str(mark)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        assert remote._unfit(task(tmp_path, mark)) is None
        process.kill()
    assert "has smcmc" in str(remote._unfit(task(tmp_path, None, "0.0.0")))
    end = remote.on_worker(task(tmp_path, None, "0.0.0"))
    assert end[0] == "failed" and "the same command continues it" in str(end[1])


def test_marks_are_held_and_removed(tmp_path: Path) -> None:
    with remote._mark_folders({str(tmp_path)}) as marks:
        mark = Path(marks[str(tmp_path)])
        assert mark.exists()
        time.sleep(0)
        with pytest.raises(RuntimeError), lock_file(mark, patience=0.0):
            pass
    assert not mark.exists()
