"""Notes on how a run read its data: a line on stderr, and the same in its files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from splitmerge_cli import runs
from splitmerge_cli.config import compose

RUN = ["sampler=gibbs", "iterations=5", "chains=1", "progress=none"]
ALONE = "next: smcmc run data="
NOTE = "t.csv: column 1 ('') has no name and counts the rows from 0: it is left out (data.columns would read it)"


def summary_of(stdout: str) -> dict[str, Any]:
    return dict(json.loads((Path(stdout.strip().splitlines()[-1]) / "summary.json").read_text()))


def test_a_run_says_what_is_left_out(smcmc) -> None:
    Path("t.csv").write_text(",x,y\n0,1.5,2\n1,3.5,4\n")
    args = ["run", "data=csv", "data.path=t.csv", "model=gaussian", *RUN]
    result = smcmc(*args)
    lines = result.stderr.splitlines()
    assert result.exit_code == 0 and lines[0] == f"smcmc: note: {NOTE}" and lines[-1].startswith(ALONE)
    assert summary_of(result.stdout)["notes"] == [NOTE]
    # a run that was finished before prints it too
    assert smcmc(*args).stderr.splitlines()[0] == f"smcmc: note: {NOTE}"
    asked = smcmc(*args, "data.drop=1")
    assert "note:" not in asked.stderr and "notes" not in summary_of(asked.stdout)


def test_a_sweep_says_it_once(smcmc) -> None:
    Path("t.csv").write_text(",x,y\n0,1.5,2\n1,3.5,4\n")
    result = smcmc("sweep", "--dry-run", "data=csv", "data.path=t.csv", "model=gaussian", *RUN, "seed=1,2")
    assert result.exit_code == 0 and result.stderr.count(NOTE) == 1 and "2 jobs" in result.stdout


def test_full_covariances_of_many_columns_are_said_to_take_long(smcmc) -> None:
    values = np.random.default_rng(0).normal(size=(70, 30))
    pd.DataFrame(values).to_csv("t.csv", index=False)
    args = ["run", "data=csv", "data.path=t.csv", "model=gaussian", "model.covariance=full", *RUN]
    said = "smcmc: note: full covariances of 30 columns take long; data.reduce=pca is faster"
    assert said in smcmc(*args).stderr.splitlines()
    for other in ("data.reduce=pca", "model.covariance=diag"):
        assert said not in smcmc(*args, other).stderr


def test_a_prior_whose_clusters_grow_is_noted_for_records(smcmc) -> None:
    args = ["run", "data=records", "N=30", "iterations=5", "chains=1", "progress=none"]
    said = "smcmc: note: with model.prior=crp clusters grow"
    assert said in smcmc(*args, "model.prior=crp").stderr
    assert said not in smcmc(*args).stderr


def test_networks_and_corpora_say_it_too(smcmc) -> None:
    Path("e.csv").write_text(",from,to\n0,a,b\n1,b,c\n")
    result = smcmc("run", "data=edges", "data.path=e.csv", *RUN)
    assert result.exit_code == 0 and "smcmc: note: e.csv: column 1 ('') has no name" in result.stderr
    summary = summary_of(result.stdout)
    assert "notes" not in summary["graph"] and summary["graph"]["nodes"] == 3 and len(summary["notes"]) == 3
    # a command reads what is left out
    command = "smcmc run data=edges data.path=e.csv data.directed=true"
    assert f"e.csv: left out: directions; this uses them: {command}" in summary["notes"]
    again = smcmc(*command.split()[1:], *RUN)
    assert "read as a network of 3 nodes and 2 edges, directed" in again.stderr and again.exit_code == 0
    # a key that networks alone have says what a table is
    Path("f.csv").write_text("x,y\na,b\nb,c\na,c\n")
    assert (
        "f.csv: read as a network (the key data.directed)" in smcmc("run", "f.csv", "data.directed=true", *RUN).stderr
    )
    Path("t.csv").write_text(",doc,word\n0,a,x\n1,b,y\n")
    result = smcmc("run", "data=corpus", "data.path=t.csv", *RUN)
    assert result.exit_code == 0 and result.stderr.startswith(f"smcmc: note: {NOTE}\n")


def test_the_name_of_a_column_that_is_a_number_is_given_in_quotes() -> None:
    Path("t.csv").write_text("0,1,2\n7.5,.5,1.5\n8.5,2.5,3.5\n")
    for args, first in ("data.columns=['1']", 0.5), ("data.columns=[-3]", 7.5), ("data.drop='0'", 0.5):
        plan = runs.prepare(compose(["data=csv", "data.path=t.csv", "model=gaussian", "sampler=gibbs", args]))
        assert plan.dataset.values[0, 0] == first
