"""A run's description of its clusters: files, the table at its end, ``smcmc summary``."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.calls import run_path
from splitmerge_cli import runs, terminal
from splitmerge_cli.config import compose
from splitmerge_cli.diagnostics import convergence
from splitmerge_cli.runs import summaries
from splitmerge_cli.runs.store.read import Run

OPTIONS = ["sampler=sams", "chains=2", "iterations=800", "progress=none"]
TABLE = ["data=csv", "data.path=people.csv", "model=mixed", *OPTIONS]


@pytest.fixture
def people(tmp_path: Path) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    z = np.arange(60) % 2
    frame = pd.DataFrame(
        {
            "name": [f"Person {i}" for i in range(60)],
            "age": rng.normal(30 + 30 * z, 3).round(2),
            "town": np.where(rng.random(60) < 0.1 + 0.8 * z, "Bonn", "Rome"),
        }
    )
    frame.loc[[3, 8], "age"] = np.nan
    frame.to_csv(tmp_path / "people.csv", index=False)
    return frame


def test_a_table(smcmc, people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    result = smcmc("run", *TABLE)
    run = Run(run_path(result))
    assert {"cluster_summary.csv", "column_summary.csv"} <= set(run.manifest.names)
    clusters, columns, items = run.cluster_summary(), run.column_summary(), run.clusters()
    assert clusters["size"].tolist() == items["cluster"].value_counts().tolist() == [30, 30]
    most_certain = items.loc[items.groupby("cluster")["certainty"].idxmax()].set_index("cluster")["name"]
    assert clusters["prototype"].tolist() == most_certain[clusters["cluster"]].tolist()
    age = columns[columns["column"] == "age"].set_index("cluster")["mean"]
    expected = people["age"].groupby(items["cluster"].to_numpy()).mean()
    np.testing.assert_allclose(age, expected, rtol=1e-5)
    # on stderr: stdout is the folder alone
    assert "2 clusters of 60 rows" in result.stderr and result.stdout.count("\n") == 1
    assert all(line in result.stderr for line in summaries.lines(run, 10))
    again = smcmc("run", *TABLE)
    assert "already finished" in again.stderr and "2 clusters of 60 rows" in again.stderr
    monkeypatch.setattr(terminal, "WIDTH", 80)
    whole = smcmc("summary", "--columns", str(run.path))
    assert whole.exit_code == 0 and max(map(len, whole.stdout.splitlines())) <= 80
    assert "Person" in whole.stdout and "town=Rome" in whole.stdout
    # a run that was made before there were these files
    monkeypatch.setattr(Run, "has_cluster_summary", False)
    older = smcmc("summary", "--columns", str(run.path))
    assert older.stdout == whole.stdout


def test_what_is_not_the_users_own_is_not_described(smcmc) -> None:
    generated = ["data=gaussian", "model=gaussian", "N=40", *OPTIONS]
    result = smcmc("run", *generated)
    run = Run(run_path(result))
    assert not run.has_cluster_summary and "of 40 rows" not in result.stderr
    # but the command shows it
    shown = smcmc("summary", str(run.path))
    assert shown.exit_code == 0 and "of 40 rows" in shown.stdout and "column 1 = " in shown.stdout


def test_a_network(smcmc) -> None:
    result = smcmc("run", "data=networkx", "data.graph=les_miserables", "model=irm", *OPTIONS)
    run = Run(run_path(result))
    clusters = run.cluster_summary()
    assert clusters["telling"].str.contains("Valjean").any() and clusters["density"].max() > 0.5
    assert not (run.path / "column_summary.csv").exists()
    assert "nodes of most ties" in result.stderr
    refused = smcmc("summary", "--columns", str(run.path))
    assert refused.exit_code == 2 and "--columns" in refused.stderr


def test_tokens(smcmc, tmp_path: Path) -> None:
    (tmp_path / "mentions.csv").write_text("token\n" + "Weber\nRoy\nWeber\nRoy\n" * 5)
    result = smcmc("run", "data=csv", "data.path=mentions.csv", "model=emm", "model.label_prior=partition", *OPTIONS)
    assert Run(run_path(result)).cluster_summary()["telling"].str.contains(r"Weber \(10\)").any()


def test_chains_that_have_not_converged(smcmc, people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convergence, "NOT_CONVERGED", 0.5)
    result = smcmc("run", *TABLE)
    run = Run(run_path(result))
    assert run.summary["convergence"]["converged"] is False
    assert "of the best state: the chains have not converged (R-hat" in result.stderr
    table = run.cluster_summary()
    assert table["certainty"].isna().all() and (table["prototype"] == "").all()
    assert table["size"].sum() == 60


def test_experiments_are_not_described(people: pd.DataFrame) -> None:
    assert summaries.is_described(runs.prepare(compose(TABLE)))
    plan = runs.prepare(compose(TABLE))
    figure = replace(plan.spec, experiment="sdds-fig3")
    assert not summaries.is_described(replace(plan, spec=figure))
