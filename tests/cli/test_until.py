"""``until``: chains end when they have run long enough, at the same iteration whatever happens on the way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from splitmerge_cli.cli import app
from splitmerge_cli.results.read import Run

ARGS = ["sampler=sams", "model=bernoulli", "data=jain_neal", "N=40", "timing=false", "progress=none"]
TABLES = ("trace", "moves", "partitions", "diagnostics")


def ran(*args: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, ["run", *args])
    assert result.exit_code == status, result.output
    return result.output


def run_of(*args: str) -> Run:
    return Run(Path(ran(*args).strip().splitlines()[-1]))


def test_chains_end_when_they_have_run_long_enough(tmp_path: Path) -> None:
    run = run_of(*ARGS, "until.rhat=1.05", "until.ess=200", f"out={tmp_path}")
    found = run.summary["until"]
    assert found["reached"] and found["rhat"] <= 1.05 and found["ess"] >= 200
    # looked at after 1,000 iterations, and each time half as many more
    looks = [int(1000 * 1.5**k) for k in range(12)]
    assert run.summary["iterations"] == [found["iterations"]] * 4 and found["iterations"] in looks
    # what the run itself says of its second halves
    rows = pd.read_parquet(run.path / "diagnostics.parquet")
    largest = rows.loc[rows["quantity"].str.startswith("rhat/"), "value"].max()
    assert largest <= found["rhat"] + 1e-12


@pytest.mark.slow
def test_neither_workers_nor_an_interruption_change_the_end(tmp_path: Path) -> None:
    asked = [*ARGS, "until.rhat=1.02", "until.ess=1000"]
    one, two = (run_of(*asked, f"out={tmp_path / str(w)}", f"workers={w}") for w in (1, 2))
    args = [*asked, f"out={tmp_path / 'killed'}"]
    command = [sys.executable, "-m", "splitmerge_cli", "run", *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not list((tmp_path / "killed").rglob("lock")) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 130
    again = run_of(*args)
    for name in TABLES:
        content = (one.path / f"{name}.parquet").read_bytes()
        assert (two.path / f"{name}.parquet").read_bytes() == content
        assert (again.path / f"{name}.parquet").read_bytes() == content
    assert one.summary["until"]["iterations"] > 1000


def test_what_is_not_reached_is_said(tmp_path: Path) -> None:
    args = [key for key in ARGS if not key.startswith("progress")]
    text = ran(*args, "progress=lines", "until.rhat=1.0000001", "iterations=1200", f"out={tmp_path}")
    assert "not long enough after 1,000 iterations: R-hat at most" in text
    assert "not long enough after 1,200 iterations: R-hat at most" in text and "asked for 1" in text
    run = Run(Path(text.strip().splitlines()[-1]))
    assert not run.summary["until"]["reached"] and run.summary["iterations"] == [1200] * 4


def test_chains_that_learn_from_each_other_end_together(tmp_path: Path) -> None:
    run = run_of("sampler=arm", *ARGS[1:], "until.rhat=1.2", "iterations=4000", f"out={tmp_path}")
    assert len(set(run.summary["iterations"])) == 1 and run.summary["until"]["reached"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["until.rhat=0.9"], "until.rhat=0.9: expected"),
        (["until.ess=0"], "until.ess=0: expected"),
        (["until.rhat=1.01", "chains=1"], "until.rhat: expected chains of at least 2"),
        (["until=1.01"], "until=1.01: expected until.rhat=VALUE or until.ess=VALUE"),
    ],
)
def test_bad_values_are_rejected(args: list[str], message: str, tmp_path: Path) -> None:
    assert message in ran(*ARGS, *args, f"out={tmp_path}", status=2)
    assert not list(tmp_path.iterdir())


def test_ids_of_other_runs_are_what_they_were(tmp_path: Path) -> None:
    """The key came after runs were stored."""
    from splitmerge_cli.config import compose
    from splitmerge_cli.runs.identity import run_id

    assert run_id(compose(["sampler=sdds", "data=jain_neal"])) != run_id(
        compose(["sampler=sdds", "data=jain_neal", "until.ess=9"])
    )
