"""Runs on bundled rows: lines, files, estimators and routing of their arguments."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import smcmc as sm
from cli.calls import read_rejection
from splitmerge_cli.analysis.pages.runs import _count_certain
from splitmerge_cli.analysis.plots.runs import subject
from splitmerge_cli.analysis.predictive import items_of
from splitmerge_cli.config import ConfigError, specify_keys
from splitmerge_cli.runs import prepare
from splitmerge_cli.runs.store.read import Run

UNITS = 12


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    """Several visits of subjects from two groups; `w` says how often a row counts."""
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(UNITS), rng.integers(2, 6, UNITS))
    x = 8.0 * (subject % 2) + rng.normal(size=len(subject))
    return pd.DataFrame({"subject": [f"s{s}" for s in subject], "x": x, "y": rng.normal(size=len(x)), "w": subject % 3})


def test_a_run_of_units_is_described_by_units(smcmc, visits: pd.DataFrame, tmp_path: Path) -> None:
    visits.drop(columns="w").to_csv(tmp_path / "t.csv", index=False)
    words = ["data=csv", f"data.path={tmp_path / 't.csv'}", "model=gaussian", "data.group=subject", "iterations=60"]
    result = smcmc("run", *words, "seed=1")
    assert result.exit_code == 0, result.stderr
    assert f"clusters of {UNITS} units ({len(visits)} rows)" in result.stderr
    run = Run(Path(result.stdout.splitlines()[-1]))
    clusters = run.clusters()
    assert clusters["unit"].tolist() == visits["subject"].tolist()
    assert (clusters.groupby("unit")[["cluster", "certainty"]].nunique() == 1).all(axis=None)
    assert run.cluster_summary()["size"].sum() == UNITS and run.summary["bundles"]["items"] == UNITS
    assert f"of {UNITS} units (" in str(_count_certain(run)) and f"N = {UNITS} units ({len(visits)} rows)" in subject(
        run
    )


def test_bad_links_write_nothing(smcmc, visits: pd.DataFrame, tmp_path: Path) -> None:
    visits.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "c.csv").write_text("1,1\n")
    before = sorted(Path().iterdir())
    words = ["data=csv", f"data.path={tmp_path / 't.csv'}", "model=gaussian", "data.columns=[x,y]"]
    result = smcmc("run", *words, f"data.cannot_link={tmp_path / 'c.csv'}")
    assert result.exit_code == 2 and sorted(Path().iterdir()) == before
    assert result.stderr == f"smcmc: {tmp_path / 'c.csv'}: row 1: row 1 twice; expected two rows that stay apart\n"


@pytest.mark.filterwarnings("ignore")
def test_estimators_pass_weights_and_groups_through_pipelines(visits: pd.DataFrame) -> None:
    X, of_fit = visits[["x", "y"]], {"iterations": 30, "chains": 2, "random_state": 1}
    with sklearn.config_context(enable_metadata_routing=True):
        clustering = sm.SplitMergeClustering("gaussian", **of_fit).set_fit_request(sample_weight=True, groups=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clustering)
        pipeline.fit(X, sample_weight=visits["w"], groups=visits["subject"])
    fitted = pipeline[-1]
    assert len(fitted.labels_) == len(X) and fitted.posterior_.dataset.bundles.n_items == 8
    assert (pd.Series(fitted.labels_).groupby(visits["subject"][visits["w"] > 0]).nunique() == 1).all()
    known = np.where(np.arange(len(X)) < 1, 0, np.where(np.arange(len(X)) == len(X) - 1, 1, -1))
    labels = sm.SplitMergeClustering("gaussian", **of_fit).fit(X, labels=known, must_link=[[0, 1]]).labels_
    assert labels[0] == labels[1] != labels[-1]


@pytest.mark.filterwarnings("ignore")
def test_new_units_of_a_frame_are_predicted_as_one(visits: pd.DataFrame) -> None:
    posterior = sm.sample(
        "gaussian", visits[["subject", "x", "y"]], groups="subject", iterations=30, chains=2, progress="none"
    )
    new = visits[["subject", "x", "y"]].head(3).assign(subject=["a", "a", "b"])
    together, alone = posterior.log_predictive(new), posterior.log_predictive(new[["x", "y"]])
    assert together[0] == together[1] < alone[0] and together[2] == pytest.approx(alone[2])
    assert posterior.membership()["unit"].tolist() == visits["subject"].tolist()
    with pytest.raises(ConfigError, match="update: rows have weights, units"):
        posterior.update(new)


def test_new_rows_of_a_file_need_no_names_and_have_no_links(tmp_path: Path) -> None:
    """A cell that looks like the number of a column makes no header of the first row."""
    (tmp_path / "t.csv").write_text("5.5,1,2\n1,2,1\n4,3,3\n")
    (tmp_path / "c.csv").write_text("1,2\n")
    keys = {"data": "csv", "data.path": str(tmp_path / "t.csv"), "model": "gaussian", "data.weights": 3}
    plan = prepare(specify_keys(keys | {"data.cannot_link": str(tmp_path / "c.csv")}))
    new = items_of(plan.spec, plan.dataset, str(tmp_path / "t.csv"))
    assert new.values.tolist() == [[5.5, 1.0], [1.0, 2.0], [4.0, 3.0]] and new.bundles is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["data.group=subject", "init=truth", "data.truth=w"], "init=truth: rows 1 and 3 stay together; expected one"),
        (
            ["data.labels=subject", 'model.prior="mfm(components=uniform(11))"'],
            "model.prior=mfm(components=uniform(11)): at most 11 clusters, but an item stays apart from 11 others; "
            "expected a prior of 12 clusters or more",
        ),
    ],
)
def test_a_start_that_no_partition_has_is_refused(smcmc, visits: pd.DataFrame, words: list[str], message: str) -> None:
    rows = visits.assign(w=0)
    rows.loc[2, "w"] = 1
    rows.to_csv("t.csv", index=False)
    words = [*words, "model=gaussian", *([] if "data.truth=w" in words else ["data.drop=[w]"])]
    assert message in read_rejection(smcmc, "run", "t.csv", *words)
