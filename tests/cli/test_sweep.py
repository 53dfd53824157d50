"""Grids: expanded and checked as a whole, run once, continued where they stopped."""

import os
import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli.calls import wait_for
from splitmerge_cli.results.read import find_runs
from splitmerge_cli.sweep import expand, run_jobs

GRID = ["sampler=rm,sdds", "N=20,30", "iterations=50", "chains=1", "progress=none"]


def states(out: str = "results") -> list[str]:
    return [run.status["state"] for run in find_runs(out)]


def test_expand() -> None:
    jobs = expand(["sampler=rm,sdds", "seed=range(3)", "N=20"])
    assert len(jobs) == 6
    assert jobs[0] == ["sampler=rm", "seed=0", "N=20"]
    assert jobs[-1] == ["sampler=sdds", "seed=2", "N=20"]
    assert expand(["schedule=[{sdds: 1}, {gibbs: 2}]"]) == [["schedule=[{sdds:1},{gibbs:2}]"]]


def test_dry_run_writes_nothing(smcmc, tmp_path: Path) -> None:
    result = smcmc("sweep", "--dry-run", *GRID)
    assert result.exit_code == 0
    assert result.stdout.count("to run  ") == 4
    assert not list(tmp_path.iterdir())


def test_only_missing_jobs_run(smcmc) -> None:
    smcmc("run", "sampler=rm", "N=20", *GRID[2:])
    result = smcmc("sweep", *GRID, "hydra/launcher=basic")
    assert result.exit_code == 0, result.output
    assert "4 jobs: 3 done, 1 skipped" in result.stdout
    assert states() == ["done"] * 4
    assert "4 jobs: 4 skipped" in smcmc("sweep", *GRID).stdout


def test_joblib_makes_the_same_runs(smcmc) -> None:
    args = [*GRID, "timing=false"]
    assert smcmc("sweep", *args, "out=basic", "hydra/launcher=basic").exit_code == 0
    assert smcmc("sweep", *args, "out=joblib", "hydra/launcher=joblib").exit_code == 0
    files = list(Path("basic").rglob("*.parquet"))
    assert len(files) == 16
    for file in files:
        twin = Path("joblib", *file.parts[1:])
        assert pq.read_table(file, partitioning=None).equals(pq.read_table(twin, partitioning=None))


def test_failed_jobs_do_not_stop_the_others(smcmc) -> None:
    # a folder where a run needs a file fails that run alone
    table = smcmc("sweep", "--dry-run", *GRID).stdout
    path = Path(next(line.split()[-1] for line in table.splitlines() if "sampler=sdds N=20" in line))
    (path / "trace.parquet").mkdir(parents=True)
    result = smcmc("sweep", *GRID, "hydra/launcher=basic")
    assert result.exit_code == 1
    assert "4 jobs: 3 done, 1 failed" in result.stdout
    assert "sampler=sdds N=20" in result.stderr
    assert sorted(states()) == ["done", "done", "done", "failed"]


def test_where_a_job_is_refused_none_runs(smcmc, tmp_path: Path) -> None:
    args = ["sampler=sdds", "N=20,2,3", "K0=5", *GRID[2:], "hydra/launcher=basic"]
    for how in ([], ["--dry-run"]):
        result = smcmc("sweep", *how, *args)
        assert result.exit_code == 2
        assert result.stdout == ""
        refused = result.stderr.splitlines()
        assert len(refused) == 2
        assert "N=2 K0=5" in refused[0]
        assert "K0=5: expected at most 2" in refused[0]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["N=range(0)"], "N=range(0): no value"),
        (["sampler=glob(zz*)"], "sampler=glob(zz*): no value"),
        (["experiment=sdds-fig33"], "Did you mean experiment=sdds-fig3?"),
        (["N=20,30", "hydra.launcher.n_jobs=0", *GRID[2:]], "n_jobs"),
    ],
)
def test_sweeps_that_cannot_be(smcmc, tmp_path: Path, args: list[str], named: str) -> None:
    result = smcmc("sweep", *args)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert named in result.stderr
    assert not list(tmp_path.iterdir())


def running(path: str = "results") -> list[Path]:
    """Folders of the runs that a process holds."""
    return [run.path for run in find_runs(path) if run.status["state"] == "running"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_sweep_leaves_no_process_behind(smcmc, spawn, number: signal.Signals) -> None:
    args = ["sampler=sdds", "N=200", "seed=range(2)", "chains=1", "iterations=10000000", "thin=1000", "progress=none"]
    process = spawn("sweep", *args, "hydra.launcher.n_jobs=2")
    wait_for(lambda: len(list(Path("results").glob("*/*/work/*.npz"))) == 2, process)
    assert len(running()) == 2
    process.send_signal(number)
    # the processes of the jobs hold its pipes: this waits for them, too
    _, stderr = process.communicate(timeout=30)
    assert "Traceback" not in stderr
    assert process.returncode == (130 if number == signal.SIGTERM else -number)
    assert not running()
    assert states() == ["interrupted"] * 2


def test_interrupted_sweep_is_continued(smcmc, spawn) -> None:
    args = ["sampler=sdds", "N=200", "chains=1", "iterations=100000", "thin=100", "progress=none"]
    assert smcmc("run", *args, "seed=0").exit_code == 0
    args.append("seed=range(6)")
    process = spawn("sweep", *args, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    # with the first job just begun, five are left to interrupt
    wait_for(lambda: "running" in states(), process)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, (stdout, stderr, states())
    assert "Traceback" not in stderr
    assert "the same command continues the sweep" in stderr
    finished = states().count("done")
    assert 1 <= finished < 6
    assert "1 skipped" in stdout
    assert f"{6 - finished} interrupted" in stdout
    result = smcmc("sweep", *args, "hydra/launcher=basic")
    assert f"6 jobs: {6 - finished} done, {finished} skipped" in result.stdout
    assert states() == ["done"] * 6


def test_run_jobs_runs_the_same_job_once() -> None:
    job = ["N=20", "iterations=20", "chains=1"]
    outcomes = run_jobs([job, [*job, "workers=1"]], progress="none")
    assert [o.status for o in outcomes] == ["done", "done"]
    assert outcomes[0].path == outcomes[1].path
