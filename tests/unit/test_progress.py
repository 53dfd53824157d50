"""Lines of progress."""

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from splitmerge_cli.config import specify
from splitmerge_cli.papers import experiments
from splitmerge_cli.runs.progress import FAR, ChainProgress, Lines, SweepProgress, SweepState
from splitmerge_cli.runs.store.manifest import write_sealed
from splitmerge_cli.runs.sweeps import sweep
from splitmerge_cli.runs.sweeps.sweep import _Poll


@pytest.mark.parametrize(
    ("fraction", "left", "end"),
    [(0.5, 90.4, "-6.0 to -5.0  0:01:30 left"), (0.5, FAR, "-6.0 to -5.0"), (1.0, 0.0, "")],
)
def test_one_line_says_how_long_all_chains_will_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fraction: float, left: float, end: str
) -> None:
    monkeypatch.setattr("splitmerge_cli.runs.progress.LINE_EVERY", 0.0)
    lines = Lines()
    lines.start(2)
    lines.update(0, ChainProgress(60, 1.0, 5.0, 6, -6.0, 0.0))
    capsys.readouterr()
    lines.update(1, ChainProgress(100, fraction, 10.0, 7, -5.0, left))
    line = capsys.readouterr().err
    assert bool(line) == (fraction < 1)  # nothing once all have ended
    assert not line or line.startswith(f"{(1 + fraction) / 2:4.0%}  160 iterations  15 it/s  K=6 to 7")
    assert line.endswith(f"{end}\n") or not line


def test_without_a_terminal_a_line_in_ten_seconds_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.start(4)
    for iteration in range(50):
        for chain in range(4):
            lines.update(chain, ChainProgress(iteration, iteration / 50, 10.0, 7, -5.0, 1.0))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("left", "end"), [(math.inf, "so far"), (3661.0, "so far  1:01:01 left")])
def test_a_line_says_how_long_the_sweep_will_take(left: float, end: str) -> None:
    line = SweepProgress("lines", 1449, lambda: SweepState(0, 0.0)).line(SweepState(259, 260.8, left))
    assert line == f"259 of 1449 jobs (18%)  0:00:00 {end}"


def store_status(folder: Path, name: str, state: str, seconds: float, share: float) -> None:
    """The status of a run."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    status = {"state": state, "share": share, "config_sha256": "", "started": begin.isoformat()}
    (folder / name).mkdir(parents=True)
    write_sealed(folder / name / "status.json", status | {"updated": (begin + timedelta(seconds=seconds)).isoformat()})


def test_time_left_follows_from_the_durations_of_complete_runs_of_the_experiment(tmp_path: Path) -> None:
    names = ["short/a", "short/b", "short/c", "long/a", "long/b", "others/a"]
    jobs = {tmp_path / name: specify([f"N={len(name)}", f"seed={ord(name[-1])}"]) for name in names}
    first = dict(list(jobs.items())[:3])
    poll = _Poll([(first, 2), ({path: job for path, job in jobs.items() if path not in first}, 1)])
    assert poll() == SweepState(0, 0.0)
    store_status(tmp_path, "short/a", "done", 10, 1.0)
    store_status(tmp_path, "long/a", "done", 100, 1.0)
    store_status(tmp_path, "short/b", "interrupted", 5, 0.5)
    at = poll()
    assert (at.complete, at.share) == (2, 2.5)
    # two short ones at a time, of one of which a half is left; then a long one, and one like the mean of all
    assert at.left == pytest.approx((0.5 * 10 + 10) / 2 + 100 + 55)


def test_time_left_knows_the_seconds_that_jobs_are_given(tmp_path: Path) -> None:
    jobs = {
        tmp_path / "fig" / f"{budget}{name}": specify([f"budget={budget}", f"seed={seed}"])
        for budget in (1, 30)
        for seed, name in enumerate("ab")
    }
    poll = _Poll([(jobs, 1)])
    store_status(tmp_path, "fig/1a", "done", 3, 1.0)
    # each takes two seconds more than it is given
    assert poll().left == pytest.approx(3 + 32 + 32)
    store_status(tmp_path, "fig/30a", "done", 31, 1.0)
    assert poll().left == pytest.approx(3 + 31)


def test_timed_runs_are_made_one_at_a_time_after_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[tuple[int | None, list[int]]] = []

    def make(launch: sweep.Launch, jobs: sweep.Jobs, ended: dict[Path, sweep.Ended]) -> None:
        made.append((launch.workers, [job.seed for job in jobs.values()]))
        ended.update(dict.fromkeys(jobs, ("done", None)))

    monkeypatch.setattr(sweep.Launch, "make", make)
    jobs = [specify(["N=10", "iterations=5", f"seed={seed}", f"out={tmp_path}"]) for seed in range(5)]
    outcomes = sweep.run_jobs(jobs, 3, timed=[jobs[0].words, jobs[2].words])
    assert made == [(3, [1, 3, 4]), (1, [0, 2])]
    assert [one.status for one in outcomes] == ["done"] * 5
    assert "2 of 5 jobs are timed: one at a time, after the others" in capsys.readouterr().err


def test_experiments_say_which_of_their_runs_are_timed(tmp_path: Path) -> None:
    jobs = {tuple(job) for job in experiments.jobs("triadic-table1", "paper", tmp_path)}
    timed = experiments.timed_jobs("triadic-table1", "paper", tmp_path)
    assert timed < jobs and timed == {job for job in jobs if any(part.startswith("budget=0") for part in job)}
    # a figure drawn from the runs of another
    shared = {tuple(job) for job in experiments.jobs("lshsm-fig2", "paper", tmp_path)}
    assert experiments.timed_jobs("lshsm-fig2", "paper", tmp_path) == shared
    assert not experiments.timed_jobs("triadic-table1", "quick", tmp_path)
    assert not experiments.timed_jobs("arm-table5", "paper", tmp_path)
