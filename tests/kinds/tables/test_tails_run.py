"""Runs whose rows have weights (``model.tails=t``): what they write, print and predict, and how they go on."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import splitmerge_cli as sm
from splitmerge_cli.analysis.coupled_pairs import check_coupling
from splitmerge_cli.api.selection import options_for
from splitmerge_cli.config import ConfigError, specify
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.runs.store.read import Run

pytestmark = pytest.mark.usefixtures("commands", "all_replications")

GENERATOR = np.random.default_rng(1)
POINTS = (GENERATOR.normal(size=(150, 2)) / np.sqrt(GENERATOR.chisquare(2, (150, 1)) / 2)).round(3)
MODEL = {"name": "gaussian", "tails": "t", "covariance": "diag"}
SHORT: dict[str, Any] = {"iterations": 400, "chains": 2, "progress": "none", "options": {"trace.partitions": 5}}


def test_a_run_names_the_rows_that_lie_far_away(smcmc, tmp_path: Path) -> None:
    pd.DataFrame(POINTS, columns=["x", "y"]).to_csv(tmp_path / "far.csv", index=False)
    keys = ["model=gaussian", "model.tails=t", "chains=2", "iterations=400", "trace.partitions=5", "progress=none"]
    result = smcmc("run", "data=csv", "data.path=far.csv", *keys)
    run = Run(result.stdout.split()[-1])
    weights = run.clusters()["weight"]
    far = (np.flatnonzero(weights < 0.2) + 1).tolist()
    assert 2 <= len(far) <= 10
    line = f"{len(far)} rows lie far from the middle of a cluster (weight below 0.2): {', '.join(map(str, far))}"
    assert line in result.stderr
    # those are rows far from the middle of all
    assert np.linalg.norm(POINTS[np.array(far) - 1], axis=1).min() > np.quantile(np.linalg.norm(POINTS, axis=1), 0.8)
    assert {"nu"} < set(run.trace().columns)
    # a state is degrees of freedom, then weights, of which means are written
    states = np.stack(run.partitions()["parameters"])
    assert states.shape[1] == 1 + len(POINTS)
    posterior = sm.sample(MODEL, POINTS, **SHORT)
    np.testing.assert_array_equal(np.stack(posterior.run.partitions()["parameters"]), states)


def test_densities_of_rows_and_checks_of_the_model() -> None:
    """New rows, rows left out, and replications."""
    posterior = sm.sample(MODEL, POINTS, **SHORT)
    assert np.isfinite(posterior.log_predictive(np.array([[0.0, 0.0], [1e3, -1e6]]))).all()
    left_out = posterior.leave_one_out(states=40).log_density
    assert np.argmin(left_out) == np.linalg.norm(POINTS, axis=1).argmax()
    assert posterior.run.summary["fit"]["draws"] > 0


def test_what_does_not_go_together_ends_with_one_message(smcmc, tmp_path: Path) -> None:
    frame = pd.DataFrame(POINTS.round(1), columns=["x", "y"])
    frame.to_csv(tmp_path / "whole.csv", index=False)
    frame.iloc[2, 1] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    frame.assign(word=["a", "b", "c"] * 50).to_csv(tmp_path / "words.csv", index=False)
    told = ["model=gaussian", "model.tails=t", "iterations=20", "chains=2", "progress=none"]
    for path, keys, message in (
        (
            "gaps.csv",
            ["model.covariance=full"],
            "row 3, column 2 ('y'): a missing cell; expected model.covariance=diag,",
        ),
        ("words.csv", ["model=mixed", "model.covariance=full"], "model.tails=t: model.covariance=full and a real cell"),
        ("words.csv", ["model=mixed", "model.power=0.5"], "model.tails=t: model.power=0.5; expected model.power=1"),
        ("words.csv", ["model=mixed", "model.select=true"], "model.select=true: expected model.tails=normal, got t"),
        ("whole.csv", ["model.power=0.5"], "model.tails=t: model.power=0.5; expected model.power=1"),
        (
            "whole.csv",
            ["model.resolution=0.1", "model.covariance=full"],
            "model.tails=t: model.covariance=full and a column has a resolution",
        ),
        ("whole.csv", ["sampler=subcluster"], "sampler=subcluster"),
    ):
        result = smcmc("run", "data=csv", f"data.path={path}", *told, *keys)
        assert result.exit_code == 2
        assert message in result.stderr
    # values that repeat are read without their resolution
    smcmc("run", "data=csv", "data.path=whole.csv", *told)
    spec = specify([*told[:2], "data=gaussian", "N=20", "iterations=20"])
    with pytest.raises(ConfigError, match="draws of row weights cannot be coupled"):
        check_coupling(spec)


def test_auto_takes_the_tails_of_the_higher_density(
    smcmc, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three groups with heavy tails are three clusters, of a table with words and a missing cell, too."""
    monkeypatch.setattr("splitmerge_cli.fits.candidates.ROUNDS", (100,))
    centres = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])[np.arange(150) % 3]
    frame = pd.DataFrame(POINTS + centres, columns=["x", "y"])
    found = sm.sample({"name": "gaussian", "tails": "auto"}, frame, **SHORT)
    assert found.run.config["model"]["tails"] == "t"
    table = found.run.summary["chosen"]["model.tails"]
    assert [row["tails"] for row in table] == ["t", "normal"] and table[1]["difference"] > 0
    assert "model.tails=auto: t; normal is 0." in capsys.readouterr().out
    assert (np.bincount(found.labels) > 20).sum() == 3
    frame.iloc[2, 1] = np.nan
    keys = {"name": "gaussian", "covariance": "full", "tails": "auto"}
    assert sm.sample(keys, frame, **SHORT).run.config["model"]["tails"] == "normal"
    assert (
        "model.tails=auto: normal, since t is not possible: model.tails=t, model.covariance=full: row 3, column 2"
        in (capsys.readouterr().out)
    )
    frame["word"] = np.array(["a", "b", "c"])[np.arange(150) % 3]
    assert options_for("mixed", from_object(frame, "mixed"), {})["tails"] == "auto"
    found = sm.sample({"name": "mixed", "tails": "auto"}, frame, **SHORT)
    assert found.run.config["model"]["tails"] == "t"
    assert (np.bincount(found.labels) > 20).sum() == 3
    # what a run with weights is asked for: which rows lie far away, and rows that it has not seen
    weights = found.run.clusters()["weight"]
    assert 2 <= (weights < 0.2).sum() <= 20
    new = pd.DataFrame({"x": [12.0, np.nan], "y": [0.2, 1e4], "word": ["b", None]})
    assert found.predict(new)[0] == found.labels[1]
    assert (
        np.isfinite(found.log_predictive(new)).all() and np.isfinite(found.leave_one_out(states=40).log_density).all()
    )
    assert found.run.summary["fit"]["draws"] > 0
    result = smcmc("run", "model=bernoulli", "model.tails=auto", "data=jain_neal", "iterations=20")
    assert result.exit_code == 2 and "model.tails" in result.stderr
