"""Grids: expanded and checked as a whole, run once, continued where they stopped."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from command_line import check_same_as_joblib, children, parquet_bytes, wait_for

from splitmerge_cli import config, runs
from splitmerge_cli.runs.store import files, read
from splitmerge_cli.runs.sweeps import job
from splitmerge_cli.runs.sweeps.job import Task
from splitmerge_cli.runs.sweeps.sweep import check_jobs, expand, run_jobs

GRID = ["sampler=rm,sdds", "N=20,30", "iterations=50", "chains=1", "progress=none"]
ONE = ["sampler=rm", "N=20", *GRID[2:]]
LONG = ["sampler=sdds", "N=200", "chains=1", "iterations=40000", "thin=100", "progress=none"]


def states(out: str = "results") -> list[str]:
    return [run.status["state"] for run in read.find_runs(out)]


def test_expand() -> None:
    jobs = expand(["sampler=rm,sdds", "seed=range(3)", "N=20"])
    assert len(jobs) == 6
    assert jobs[0] == ["sampler=rm", "seed=0", "N=20"]
    assert jobs[-1] == ["sampler=sdds", "seed=2", "N=20"]
    assert expand(["schedule=[{sdds: 1}, {gibbs: 2}]"]) == [["schedule=[{sdds: 1}, {gibbs: 2}]"]]


def test_dry_run_writes_nothing(smcmc, tmp_path: Path) -> None:
    result = smcmc("sweep", "--dry-run", *GRID, status=0)
    assert result.stdout.count("to run  ") == 4
    assert not list(tmp_path.iterdir())


def test_only_missing_jobs_run(smcmc) -> None:
    smcmc("run", "sampler=rm", "N=20", *GRID[2:])
    result = smcmc("sweep", *GRID, "hydra/launcher=basic", status=0)
    assert "4 jobs: 3 done, 1 skipped" in result.stdout
    assert states() == ["done"] * 4
    assert "4 jobs: 4 skipped" in smcmc("sweep", *GRID).stdout


def test_failed_jobs_do_not_stop_the_others(smcmc) -> None:
    # a folder where a run needs a file fails that run alone
    table = smcmc("sweep", "--dry-run", *GRID).stdout
    path = Path(next(line.split()[-1] for line in table.splitlines() if "sampler=sdds N=20" in line))
    (path / "trace.parquet").mkdir(parents=True)
    result = smcmc("sweep", *GRID, "hydra/launcher=basic", status=1)
    assert "4 jobs: 3 done, 1 failed" in result.stdout
    assert "sampler=sdds N=20" in result.stderr
    assert sorted(states()) == ["done", "done", "done", "failed"]


def test_where_a_job_is_refused_none_runs(smcmc, tmp_path: Path) -> None:
    args = ["sampler=sdds", "N=20,2,3", "K0=5", *GRID[2:], "hydra/launcher=basic"]
    for how in ([], ["--dry-run"]):
        result = smcmc("sweep", *how, *args, status=2)
        assert result.stdout == ""
        rejected = result.stderr.splitlines()
        assert len(rejected) == 2
        assert "N=2 K0=5" in rejected[0]
        assert "K0=5: expected at most 2" in rejected[0]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["N=range(0)"], "N=range(0): no value"),
        (
            ["--dry-run", "seed=range(1000000000)"],
            "seed=range(1000000000): 1,000,000,000 jobs; expected at most 100,000",
        ),
        (["N=5,6", "seed=shuffle(range(99999))"], "seed=shuffle(range(99999)): 199,998 jobs; expected at most"),
        (["seed=range(0,5,0)"], "seed=range(0,5,0): expected range(START,STOP,STEP)"),
        (["seed=range(0,inf)"], "seed=range(0,inf): expected range(START,STOP,STEP)"),
        (["sampler=glob(zz*)"], "sampler=glob(zz*): no value"),
        (["experiment=sdds-fig33"], "Did you mean experiment=sdds-fig3?"),
        (["N=20,30", "hydra.launcher.n_jobs=0", *GRID[2:]], "n_jobs"),
        ([*GRID, "hydra.launcher.n_jobs=x"], "hydra.launcher.n_jobs=x: Value 'x' of type 'str'"),
        ([*GRID, "hydra.launcher.timeout=1"], "hydra.launcher.timeout: jobs are processes of smcmc; expected hydra.l"),
        ([*GRID, "hydra.launcher.nope=1"], "hydra.launcher.nope=1: Key 'nope'"),
        ([*GRID, "hydra.launcher=3"], "hydra.launcher=3: "),
        ([*GRID, "hydra/launcher=nope"], "hydra/launcher=nope: expected one of basic, dask, joblib"),
        ([*GRID, "hydra.launcher._target_=nope.Nope"], "hydra.launcher._target_=nope.Nope: cannot be imported"),
        ([*GRID, "hydra.launcher._target_=os.getpid"], "hydra.launcher._target_=os.getpid: "),
        (["--dry-run", *GRID, "hydra/launcher=nope"], "hydra/launcher=nope: expected one of"),
    ],
)
def test_sweeps_that_cannot_be(smcmc, tmp_path: Path, args: list[str], named: str) -> None:
    result = smcmc("sweep", *args, status=2)
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert named in result.stderr
    assert not list(tmp_path.iterdir())


def running(path: str = "results") -> list[Path]:
    """Folders of the runs that a process holds."""
    return [run.path for run in read.find_runs(path) if run.status["state"] == "running"]


def pids(path: str = "results") -> list[int]:
    """Processes that make jobs, by the numbers in their status."""
    return [run.status["pid"] for run in read.find_runs(path) if run.status["state"] == "running"]


@pytest.mark.parametrize(
    ("number", "send"),
    [
        (signal.SIGKILL, os.kill),
        pytest.param(signal.SIGHUP, os.killpg, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, os.kill, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, os.killpg, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, os.kill, marks=pytest.mark.slow),
    ],
)
def test_a_sweep_leaves_no_process_behind(
    smcmc, spawn, number: signal.Signals, send: Callable[[int, signal.Signals], None]
) -> None:
    args = ["sampler=sdds", "N=200", "seed=range(2)", "chains=1", "iterations=10000000", "thin=1000", "progress=none"]
    process = spawn("sweep", *args, "hydra.launcher.n_jobs=2")
    wait_for(lambda: len(list(Path("results").glob("*/*/work/*.npz"))) == 2, process)
    assert len(running()) == 2
    send(process.pid, number)
    # the processes of the jobs hold its pipes: this waits for them, too
    _, stderr = process.communicate(timeout=30)
    if number == signal.SIGKILL:
        assert stderr == ""
        assert process.returncode == -number
    else:
        assert stderr == "smcmc: interrupted: 2 to do; the same command continues the sweep\n"
        assert process.returncode == 130
    assert not running()
    assert states() == ["interrupted"] * 2


@pytest.mark.parametrize(
    ("victims", "reason"),
    [
        # the job's own process, as the system kills the largest when memory runs out
        (lambda pids: pids[:1], "its process was killed by SIGKILL"),
        pytest.param(lambda pids: pids, "its process was killed by SIGKILL", marks=pytest.mark.slow),
    ],
    ids=["job", "two"],
)
def test_a_killed_process_costs_its_own_job(
    smcmc, spawn, victims: Callable[[list[int]], list[int]], reason: str
) -> None:
    args = [*LONG, "seed=range(3)"]
    process = spawn("sweep", *args, "hydra.launcher.n_jobs=2")
    killed = victims(wait_for(lambda: len(found := pids()) == 2 and found, process))
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 1
    assert f"3 jobs: {3 - len(killed)} done, {len(killed)} failed" in stdout
    lines = stderr.splitlines()
    assert len(lines) == len(killed)
    assert all(reason in line and "the same command continues it" in line for line in lines)
    assert states().count("done") == 3 - len(killed)
    result = smcmc("sweep", *args, "hydra/launcher=basic")
    assert f"3 jobs: {len(killed)} done, {3 - len(killed)} skipped" in result.stdout


@pytest.mark.slow
def test_a_job_whose_process_is_killed_continues_to_the_same_draws(smcmc, spawn) -> None:
    args = [*LONG, "timing=false", "seed=0,1"]
    process = spawn("sweep", *args, "hydra.launcher.n_jobs=1")
    wait_for(lambda: list(Path("results").glob("*/*/work/*.npz")), process)
    os.kill(pids()[0], signal.SIGKILL)
    stdout, _ = process.communicate(timeout=60)
    assert "2 jobs: 1 done, 1 failed" in stdout
    assert smcmc("sweep", *args, "hydra.launcher.n_jobs=1").exit_code == 0
    assert smcmc("sweep", *args, "out=whole", "hydra/launcher=basic").exit_code == 0
    for run in read.find_runs("results"):
        assert parquet_bytes(run.path) == parquet_bytes(Path("whole", *run.path.parts[1:]))


@pytest.mark.parametrize(
    ("code", "status", "named"),
    [
        (-signal.SIGKILL, "failed", "SIGKILL (most likely by the system, because memory ran out)"),
        (-signal.SIGSEGV, "failed", "killed by SIGSEGV;"),
        (-63, "failed", "killed by signal 63;"),
        (3, "failed", "exit status 3"),
        (130, "interrupted", None),
    ],
)
def test_the_message_says_how_the_process_of_a_job_ended(code: int, status: str, named: str | None) -> None:
    ended = job._outcome_of_exit(code)
    assert ended[0] == status
    assert (ended[1] is None) if named is None else (named in ended[1])


@pytest.mark.slow
def test_a_job_that_fails_takes_its_process_with_it(smcmc) -> None:
    args = ["sampler=rm", "N=20,30,40", *GRID[2:], "hydra.launcher.n_jobs=1"]
    # a folder where a run needs a file
    (path_of(["sampler=rm", "N=30", *GRID[2:]]) / "trace.parquet").mkdir(parents=True)
    assert smcmc("sweep", *args).exit_code == 1
    status = {run.config["N"]: run.status for run in read.find_runs("results")}
    assert [status[N]["state"] for N in (20, 30, 40)] == ["done", "failed", "done"]
    assert status[20]["pid"] == status[30]["pid"] != status[40]["pid"]


def path_of(args: list[str]) -> Path:
    return runs.run_dir(config.compose(args))


@pytest.mark.slow
def test_what_another_process_makes_is_running_elsewhere_after_an_interruption(spawn) -> None:
    with files.lock_file(path_of(ONE) / files.WORK / files.LOCK):
        process = spawn("sweep", *GRID, "hydra/launcher=basic")
        assert process.stderr.readline() == "1 job is running elsewhere; waiting for the end\n"
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "4 jobs: 3 done, 1 running elsewhere" in stdout
    assert stderr == "smcmc: interrupted: 3 done, 1 running elsewhere; the same command continues the sweep\n"


def test_a_run_that_another_process_finishes_meanwhile_is_left_as_it_is() -> None:
    made = runs.run(config.compose(ONE))
    plan = runs.prepare(config.compose([*ONE, "out=other"]))
    waiting = threading.Thread(target=runs.run, args=[plan])
    with files.lock_file(plan.path / files.WORK / files.LOCK):
        waiting.start()
        # what the process does that holds the lock
        for file in made.iterdir():
            shutil.copy2(file, plan.path)
        time.sleep(0.1)
        shutil.rmtree(plan.path / files.WORK, ignore_errors=True)  # as a store does
    waiting.join()
    assert parquet_bytes(plan.path) == parquet_bytes(made)
    assert (plan.path / "status.json").read_bytes() == (made / "status.json").read_bytes()
    assert not (plan.path / files.WORK).exists()


def test_the_lock_of_a_removed_folder_keeps_nobody_out(tmp_path: Path) -> None:
    lock = tmp_path / "work" / "lock"
    with files.lock_file(lock):
        shutil.rmtree(lock.parent)
        assert not files.is_locked(lock)
        with files.lock_file(lock):
            assert files.is_locked(lock)


def test_run_jobs_runs_the_same_job_once() -> None:
    job = ["N=20", "iterations=20", "chains=1"]
    outcomes = run_jobs([config.specify(job), config.specify([*job, "workers=1"])], progress="none")
    assert [o.status for o in outcomes] == ["done", "done"]
    assert outcomes[0].path == outcomes[1].path


def test_jobs_that_differ_in_their_seed_are_planned_once(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their folders are those of runs that are made one by one."""
    planned = []
    real = runs.prepare

    def plan_it(cfg, **words):
        planned.append(cfg.seed)
        return real(cfg, **words)

    monkeypatch.setattr("splitmerge_cli.runs.sweeps.sweep.prepare", plan_it)
    jobs = list(map(config.specify, expand(["sampler=rm", "N=20,30", "seed=range(5)", "iterations=50", "chains=1"])))
    found = check_jobs(jobs)
    assert planned == [0, 0]
    assert [outcome.path for outcome in found] == [real(job).path for job in jobs]
    assert {outcome.status for outcome in found} == {"to run"}


# ---- Sweeps on Dask: a cluster of this machine, and a real scheduler with workers that are killed.

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
    smcmc("sweep", *asked, status=0)
    check_same_as_joblib(smcmc, args)


def test_without_a_scheduler_one_line_says_so(smcmc) -> None:
    asked = [
        "hydra/launcher=dask",
        f"hydra.launcher.address=tcp://127.0.0.1:{free_port()}",
        "hydra.launcher.patience=1",
    ]
    result = smcmc("sweep", *JOBS, "iterations=10", "seed=0,1", *asked, status=2)
    assert result.stderr.startswith("smcmc: hydra.launcher.address=tcp://127.0.0.1:") and "no worker" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(read.find_runs("results"))


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


def task(tmp_path: Path, mark: Path | None, version: str | None = None) -> job.RemoteTask:
    return job.RemoteTask(
        Task({}, str(tmp_path)),
        tmp_path / "run",
        "results",
        version or job.version("smcmc"),
        None if mark is None else str(mark),
    )


def test_a_worker_that_does_not_share_the_folder_says_so(tmp_path: Path) -> None:
    """A folder that is not there, locks that do not hold, another version."""
    mark = tmp_path / "mark"
    assert "does not share the folder" in str(job._unfit(task(tmp_path, mark)))
    mark.touch()
    assert "do not hold between machines" in str(job._unfit(task(tmp_path, mark)))
    holder = "import sys, time; from splitmerge_cli.runs.store.files import lock_file\n"
    holder += "from pathlib import Path\nwith lock_file(Path(sys.argv[1])):\n print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", holder, str(mark)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        assert job._unfit(task(tmp_path, mark)) is None
        process.kill()
    assert "has smcmc" in str(job._unfit(task(tmp_path, None, "0.0.0")))
    end = job.on_worker(task(tmp_path, None, "0.0.0"))
    assert end[0] == "failed" and "the same command continues it" in str(end[1])


def test_marks_are_held_and_removed(tmp_path: Path) -> None:
    with job._mark_folders({str(tmp_path)}) as marks:
        mark = Path(marks[str(tmp_path)])
        assert mark.exists()
        time.sleep(0)
        with pytest.raises(RuntimeError), files.lock_file(mark, patience=0.0):
            pass
    assert not mark.exists()


def test_interrupted_sweep_is_continued(smcmc, spawn) -> None:
    args = [*LONG[:3], "iterations=40000", *LONG[4:]]
    assert smcmc("run", *args, "seed=0").exit_code == 0
    args.append("seed=range(4)")
    process = spawn("sweep", *args, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    # with the first job just begun, three are left to interrupt
    wait_for(lambda: "running" in states(), process)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, (stdout, stderr, states())
    finished = states().count("done")
    assert 1 <= finished < 4
    done = f"{finished - 1} done, " * (finished > 1)
    left = f"{4 - finished} to do; the same command continues the sweep"
    assert stderr == f"smcmc: interrupted: {done}1 skipped, {left}\n"
    # the table lists what began
    assert stdout.count("sampler=sdds N=200") == len(states()) < 4
    assert "1 skipped" in stdout
    assert f"{4 - finished} interrupted" in stdout
    result = smcmc("sweep", *args, "hydra/launcher=basic")
    assert f"4 jobs: {4 - finished} done, {finished} skipped" in result.stdout
    assert states() == ["done"] * 4
