"""Sweeps on Slurm, with real daemons: ``scripts/local_slurm.sh start FOLDER`` and SLURM_CONF as it says.

Jobs that are cancelled, come to their time limit, or lose their sweep or their node's daemon are there in the end, with
the bytes of a sweep without Slurm.
"""

import json
import os
import pickle
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command_line import check_same_as_joblib, wait_for

from splitmerge_cli.runs.store.read import find_runs
from splitmerge_cli.runs.sweeps.queued_jobs import in_queue

JOBS = ["sampler=sdds", "data=emm", "N=200", "chains=1", "timing=false", "progress=none"]
SLURM = ["hydra/launcher=submitit_slurm", "hydra.launcher.timeout_min=10"]
ROOT = Path(__file__).parents[2]


def answers() -> bool:
    """Whether a Slurm with a node is here."""
    try:
        found = subprocess.run(["sinfo", "-h", "-o", "%t"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return found.returncode == 0 and any(state in found.stdout for state in ("idle", "mix", "alloc"))


cluster = pytest.mark.skipif(not answers(), reason="no daemon of Slurm answers: scripts/local_slurm.sh start FOLDER")
pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("slurm")]


def queue() -> list[str]:
    found = subprocess.run(["squeue", "-h", "-r", "-o", "%i"], capture_output=True, text=True, check=True)
    return found.stdout.split()


def has_started(number: int) -> bool:
    return len(list(Path("results").glob("*/*/work/*.npz"))) >= number


def job_of(overrides: str) -> str:
    """The number in the queue of the job whose run has these overrides."""
    run = next(run for run in find_runs("results") if overrides in json.dumps(run.config))
    note = Path("results", ".submitted", f"{run.path.parent.name}-{run.path.name}.json")
    return str(json.loads(note.read_text())["job"])


@cluster
def test_a_job_that_is_cancelled_costs_itself_alone(smcmc, spawn) -> None:
    args = [*JOBS, "iterations=60000", "seed=range(4)"]
    process = spawn("sweep", *args, *SLURM)
    wait_for(lambda: has_started(2), process, 60)
    subprocess.run(["scancel", job_of('"seed": 0')], check=True)
    stdout, stderr = process.communicate(timeout=180)
    assert process.returncode == 1
    assert "4 jobs: 3 done, 1 failed" in stdout, stdout + stderr
    assert "the same command continues it" in stderr
    result = smcmc("sweep", *args, *SLURM)
    assert "4 jobs: 1 done, 3 skipped" in result.stdout, result.output
    check_same_as_joblib(smcmc, args)


@cluster
def test_a_sweep_that_is_killed_leaves_its_jobs_to_the_queue(smcmc, spawn) -> None:
    args = [*JOBS, "iterations=60000", "seed=range(4)"]
    process = spawn("sweep", *args, *SLURM)
    wait_for(lambda: has_started(1), process, 60)
    process.kill()
    process.communicate()
    notes = Path("results", ".submitted")
    submitted = {json.loads(path.read_text())["job"] for path in notes.glob("*.json")}
    assert len(submitted) == 4
    left = set(queue())
    smcmc("sweep", *args, *SLURM, status=0)
    # none was submitted twice: submitit has a folder for each array of jobs
    assert left <= submitted and len({path.name.split("_")[0] for path in Path(".submitit").glob("*/*/*.out")}) == 1
    check_same_as_joblib(smcmc, args)


@cluster
def test_detached_jobs_are_collected(smcmc) -> None:
    args = [*JOBS, "iterations=8000", "seed=range(3)"]
    result = smcmc("sweep", *args, *SLURM, "--detach")
    assert result.exit_code == 0 and "3 jobs: 3 submitted" in result.stdout
    notes = {path.name: path.read_text() for path in Path("results", ".submitted").glob("*.json")}
    assert len(notes) == 3
    smcmc("sweep", *args, *SLURM, "--detach", status=0)
    assert {
        path.name: path.read_text() for path in Path("results", ".submitted").glob("*.json")
    }.items() <= notes.items()
    assert smcmc("sweep", *args, *SLURM).exit_code == 0
    check_same_as_joblib(smcmc, args)


@cluster
def test_interrupted_jobs_are_cancelled(smcmc, spawn) -> None:
    args = [*JOBS, "iterations=200000", "seed=range(3)"]
    process = spawn("sweep", *args, *SLURM)
    wait_for(lambda: has_started(1), process, 60)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130 and stderr.startswith("smcmc: interrupted: "), stderr
    end = time.monotonic() + 60
    while queue() and time.monotonic() < end:
        time.sleep(0.5)
    assert not queue()


@cluster
@pytest.mark.slow
def test_a_job_at_its_time_limit_goes_on_in_another(smcmc) -> None:
    args = [*JOBS, "iterations=1500000", "thin=100", "seed=0,1"]
    asked = ["hydra/launcher=submitit_slurm", "hydra.launcher.timeout_min=1", "hydra.launcher.signal_delay_s=40"]
    result = smcmc("sweep", *args, *asked)
    assert "2 jobs: 2 done" in result.stdout, result.output
    logs = [path.read_text() for path in Path(".submitit").glob("*/*/*.err")]
    assert any("requeue" in log.lower() for log in logs)
    check_same_as_joblib(smcmc, args)


@cluster
@pytest.mark.slow
def test_a_daemon_that_is_killed_and_comes_back(smcmc, spawn) -> None:
    script, folder = ROOT / "scripts" / "local_slurm.sh", Path(os.environ["SLURM_CONF"]).parent
    args = [*JOBS, "iterations=200000", "seed=range(4)"]
    process = spawn("sweep", *args, *SLURM)
    wait_for(lambda: has_started(2), process, 60)
    subprocess.run([script, "kill-slurmd", folder], check=True)
    time.sleep(3)
    subprocess.run([script, "start-slurmd", folder], check=True)
    stdout, stderr = process.communicate(timeout=300)
    assert "4 jobs: 4 done" in stdout, stdout + stderr
    check_same_as_joblib(smcmc, args)


def test_the_queue_is_believed_only_where_it_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are in the queue until it says that they are not."""
    asked = ["7_0", "7_1", "8"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert in_queue(asked) == set(asked)
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\nexit 1\n")
    squeue.chmod(0o755)
    assert in_queue(asked) == set(asked)
    squeue.write_text(
        "#!/bin/sh\necho '7_0 RUNNING /a/b c/x.sh'\necho '7_1 TIMEOUT /a/x.sh'\necho '9 PENDING /a/x.sh'\n"
    )
    assert in_queue(asked) == in_queue(asked, Path("/a/b c/%j")) == {"7_0"}
    # a job of that number, of another submission
    assert in_queue(asked, Path("/a/d/%j")) == set()


SBATCH = """#!/bin/sh
echo "Submitted batch job 7"
touch queued
(sleep 1; SLURM_JOB_ID=7 SLURM_PROCID=0 sh "$1"; rm queued) > /dev/null 2>&1 &
"""
SRUN = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do case $1 in --output|--error) shift;; esac; shift; done
exec "$@"
"""
SQUEUE = """#!/bin/sh
[ ! -e queued ] || echo "7 RUNNING $PWD/.submitit/x.sh"
"""


class Code:
    """A pickle that runs a command when it is read."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (self.command,)


@pytest.fixture
def like_slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands of Slurm, which make the next job here, as number 7."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    Path("bin").mkdir()
    for name, script in {"sbatch": SBATCH, "srun": SRUN, "squeue": SQUEUE}.items():
        Path("bin", name).write_text(script)
        Path("bin", name).chmod(0o755)


@pytest.mark.skipif(answers(), reason="a Slurm is here")
@pytest.mark.slow
def test_nothing_that_lies_in_the_folder_is_run_by_a_sweep(smcmc, like_slurm) -> None:
    """Neither pickles in the folder that submitit would give the job, nor modules in the working directory."""
    Path(".submitit/7").mkdir(parents=True)
    for name in ("7_0_result.pkl", "7_submitted.pkl"):
        Path(".submitit/7", name).write_bytes(pickle.dumps(("success", Code(f"touch {name}.read"))))
    for name in ("submitit", "numpy", "joblib", "multiprocessing"):
        Path(f"{name}.py").write_text(f"open('{name}.read', 'w')\nraise ImportError")
    result = smcmc("sweep", *JOBS, "iterations=50", "seed=0", *SLURM)
    assert "1 job: 1 done" in result.stdout, result.output
    result = smcmc("sweep", *JOBS, "iterations=50", "seed=1,2", "hydra.launcher.n_jobs=2")
    assert "2 jobs: 2 done" in result.stdout, result.output
    assert not list(Path().glob("*.read"))
    submission = next(path for path in Path(".submitit").iterdir() if path.name != "7")
    assert submission.stat().st_mode & 0o777 == 0o700 and len(submission.name) == 32
    assert not Path("results/.submitted").exists()


@pytest.mark.slow
@pytest.mark.skipif(answers(), reason="a Slurm is here")
def test_notes_of_what_was_collected_are_removed_and_damaged_ones_named(smcmc, like_slurm) -> None:
    asked = ["sweep", *JOBS, "iterations=50", "seed=0", *SLURM]
    assert "1 submitted" in smcmc(*asked, "--detach").stdout
    note = next(Path("results/.submitted").glob("*.json"))
    end = time.monotonic() + 60
    while Path("queued").exists() and time.monotonic() < end:
        time.sleep(0.1)
    whole = note.read_text()
    assert "1 skipped" in smcmc(*asked).stdout and not note.parent.exists()
    # of a job that is to be made, a note that is damaged may hide one that waits in the queue: none is submitted
    note.parent.mkdir()
    note.write_text(whole.replace('"7"', '"8"'))
    result = smcmc(*asked, "resume=false")
    assert result.exit_code == 1 and result.stderr.count("\n") == 1
    assert f"{note}: damaged; remove it once its job has left the queue (squeue --me)" in result.stderr


@pytest.mark.skipif(answers(), reason="a Slurm is here")
def test_without_slurm_one_line_says_so(smcmc) -> None:
    result = smcmc("sweep", *JOBS, "iterations=10", "seed=0,1", *SLURM, status=2)
    assert result.stderr.startswith("smcmc: hydra.launcher.submitit_slurm: ") and result.stderr.count("\n") == 1
    assert not list(find_runs("results"))
