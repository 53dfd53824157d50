"""``until``: chains end when they have run long enough, at the same iteration whatever happens on the way."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from typer.testing import CliRunner

from splitmerge_cli.cli import app
from splitmerge_cli.config import compose
from splitmerge_cli.runs import initial, judgement, run_id, starts
from splitmerge_cli.runs.store.read import Run

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
    assert "not long enough after 1,000 iterations: largest R-hat 1.0" in text
    assert "not long enough after 1,200 iterations: largest R-hat 1.0" in text and ", target 1" in text
    # what was missed is no sign that the chains agree
    assert "targets not reached, though no R-hat is 1.1 or more: largest R-hat 1.0" in text
    assert "no sign of non-convergence" not in text
    run = Run(Path(text.strip().splitlines()[-1]))
    assert not run.summary["until"]["reached"] and run.summary["iterations"] == [1200] * 4


def test_chains_that_learn_from_each_other_end_together(tmp_path: Path) -> None:
    run = run_of("sampler=arm", *ARGS[1:], "until.rhat=1.2", "iterations=4000", f"out={tmp_path}")
    assert len(set(run.summary["iterations"])) == 1 and run.summary["until"]["reached"]


def test_ids_of_other_runs_are_what_they_were(tmp_path: Path) -> None:
    """The key came after runs were stored."""
    assert run_id(compose(["sampler=sdds", "data=jain_neal"])) != run_id(
        compose(["sampler=sdds", "data=jain_neal", "until.ess=9"])
    )


def test_where_no_length_is_named_chains_run_until_it_is_enough(tmp_path: Path) -> None:
    args = [key for key in ARGS if not key.startswith("progress")]
    text = ran(*args, "progress=lines", f"out={tmp_path}")
    assert text.startswith("running until R-hat <= 1.05, ESS >= 100 and Monte Carlo error <= 0.02, at most 100,000 it")
    run = Run(Path(text.strip().splitlines()[-1]))
    found = run.summary["until"]
    assert found["reached"] and found["rhat"] <= 1.05 and found["ess"] >= 100 and found["mcse"] <= 0.02
    assert run.config["iterations"] is None and run.config["until"] == {"rhat": 1.05, "ess": 100.0, "mcse": 0.02}
    assert f"no sign of non-convergence after {found['iterations']:,} iterations: largest R-hat" in text
    assert "stopped" not in text and "targets" not in text
    # already finished: the length that the data set is no part of the identity
    assert "already finished" in ran(*args, f"out={tmp_path}")


def test_a_limit_that_was_too_low_is_lifted_by_the_command_that_is_advised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(initial, "LEAST", 300)
    monkeypatch.setattr(initial, "MOST", 300)
    args = [*(key for key in ARGS if not key.startswith("progress")), "progress=lines", f"out={tmp_path}"]
    text = ran(*args)
    assert Run(Path(text.splitlines()[-1])).summary["iterations"] == [300] * 4 and "not long enough" in text
    step = next(line for line in text.splitlines() if line.startswith("next: "))
    again = ran(*shlex.split(step)[3:], "progress=lines")
    assert "continues after the 300 iterations" in again
    longer, alone = (Run(Path(ran(*shlex.split(step)[3:], *more).splitlines()[-1])) for more in ([], ["out=alone"]))
    for name in TABLES:
        assert (longer.path / f"{name}.parquet").read_bytes() == (alone.path / f"{name}.parquet").read_bytes()


def test_runs_of_a_named_length_are_those_that_they_were() -> None:
    sdds = ["sampler=sdds", "data=emm", "N=500"]
    # the default before chains ran until it is enough
    assert run_id(compose([*sdds, "iterations=10000"])) == run_id(compose(sdds).with_fixed_length()) == "74afa31e4abd"
    assert not compose(["experiment=sdds-fig1"]).is_open and compose([*sdds, "chains=1"]).iterations == 10_000
    assert compose([*sdds, "until.rhat=1.05"]).iterations == 1_000_000
    assert compose([*sdds, "budget=3"]).until.rhat is None


@pytest.mark.parametrize(
    ("args", "most"),
    [
        (["data=jain_neal", "N=40"], 100_000),
        (["data=gaussian", "model=gaussian", "N=25000", "data.D=16"], 625),
        (["data=docs200", "N=10", "sampler=smag"], 10_000),
        (["data=network", "N=30", "sampler=arm"], 10_000),
        (["data=jain_neal", "N=40", "tempering.levels=3"], 25_000),
    ],
)
def test_the_most_iterations_follow_from_the_data(args: list[str], most: int) -> None:
    spec = compose(args)
    dataset = initial.load_dataset(spec.data, spec.model.kind, {})
    assert initial.most_iterations(spec, dataset) == most
    plan = SimpleNamespace(stopping_rule=spec.until, is_open=spec.is_open, iterations=most)
    found = list(judgement.looks(plan))
    early = judgement.EARLY if most <= starts.EARLY_MOST else ()
    assert found[-1] == most and found[: len(early)] == list(early)
    assert found[len(early)] == max(200, min(400, most // 50))


APART = ["model=gaussian", "data=gaussian", "data.D=12", "data.components=3", "data.separation=8", "N=60"]
TEN = ["model=emm", "data=emm", "N=500", "schedule.moves=5"]


@pytest.mark.parametrize(("data", "agree"), [(APART, True), (TEN, False)])
def test_chains_that_keep_one_number_are_compared_with_two_from_both_ends(
    data: list[str], agree: bool, tmp_path: Path
) -> None:
    """Groups far apart are found from everywhere. Five entities become ten, and so many stay; a hundred stay, too."""
    args = [*data, "sampler=sams", "timing=false"]
    text = ran(*args, "progress=lines", "workers=1", f"out={tmp_path}")
    assert "all chains keep one number of clusters: two more chains, from both ends, check it" in text
    run = Run(Path(text.splitlines()[-1]))
    summary = run.summary
    fewest, most = summary["both_ends"]
    assert (fewest["start"], most["start"]) == (1, 60 if agree else 100)
    assert summary["convergence"]["converged"] is agree and summary["until"]["reached"] is agree
    rows = run.diagnostics().set_index("quantity")["value"]
    if agree:
        assert fewest["n_clusters"] == most["n_clusters"] == summary["point_estimate"]["n_clusters"] == 3
        assert "two more chains, from 1 and 60 clusters, agree with them" in text
        assert "no sign of non-convergence: " in text
        # the run's own chains had come from more alone
        assert rows["arrivals/from_fewer"] >= 1 and rows["arrivals/from_more"] >= 1
    else:
        assert most["n_clusters"] > 50
        assert "two more chains, from 1 and 100 clusters, ended at" in text and "not converged: R-hat of " in text
        assert "arrivals/clusters" not in rows and run.clusters()["certainty"].isna().all()
    # they are evidence alone: no table holds their draws, and the worker count changes nothing
    assert set(run.trace()["chain"]) == set(run.diagnostics()["chain"].dropna()) == set(range(4))
    other = Run(Path(ran(*args, "progress=none", "workers=2", f"out={tmp_path / 'two'}").splitlines()[-1]))
    for name in ("summary.json", *(f"{table}.parquet" for table in TABLES)):
        assert (other.path / name).read_bytes() == (run.path / name).read_bytes()
