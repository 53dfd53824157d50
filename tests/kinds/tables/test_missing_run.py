"""Runs with missing cells and with resampled scales, from the command line and from Python, and what they predict."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import splitmerge_cli as sm
from splitmerge_cli.config import ConfigError, compose
from splitmerge_cli.runs import prepare
from splitmerge_cli.runs.recorders import recorded_bytes
from splitmerge_cli.runs.store.read import Run

pytestmark = pytest.mark.usefixtures("commands")

GENERATOR = np.random.default_rng(1)
WHOLE = np.concatenate([GENERATOR.normal(-3, 1, (25, 2)), GENERATOR.normal(3, 1, (25, 2))])
HOLES = np.where(GENERATOR.random(WHOLE.shape) < 0.15, np.nan, WHOLE)
SHORT: dict[str, Any] = {"iterations": 200, "chains": 2, "progress": "none", "options": {"trace.partitions": 5}}
HIERARCHICAL = {"name": "gaussian", "b0": "hierarchical", "kappa0": "hierarchical"}


@pytest.mark.parametrize("model", [{"name": "gaussian"}, HIERARCHICAL, {"name": "bernoulli"}])
def test_a_file_with_missing_cells_is_the_run_of_the_table(smcmc, tmp_path: Path, model: dict[str, str]) -> None:
    table = np.where(np.isnan(HOLES), np.nan, HOLES > 0) if model["name"] == "bernoulli" else HOLES.round(3)
    frame = pd.DataFrame(table, columns=["x", "y"])
    frame.to_csv(tmp_path / "holes.csv", index=False, na_rep="?")
    keys = [f"model.{key}={value}" for key, value in model.items() if key != "name"]
    args = [f"model={model['name']}", *keys, "chains=2", "iterations=200", "trace.partitions=5", "progress=none"]
    result = smcmc("run", "data=csv", "data.path=holes.csv", *args)
    assert "missing cells: x " in result.stderr
    run = Run(result.stdout.split()[-1])
    posterior = sm.sample(model, frame, **SHORT)
    np.testing.assert_array_equal(np.stack(run.partitions()["labels"]), np.stack(posterior.run.partitions()["labels"]))


def test_every_summary_and_picture_takes_missing_cells() -> None:
    posterior = sm.sample({"name": "gaussian"}, pd.DataFrame(HOLES, columns=["x", "y"]), **SHORT)
    summary = posterior.column_summary()
    for (k, name), rows in summary.groupby(["cluster", "column"]):
        cells = HOLES[posterior.labels == k - 1, "xy".index(name)]
        assert rows["mean"].item() == pytest.approx(np.nanmean(cells), nan_ok=True)
    assert posterior.cluster_summary()["size"].sum() == 50
    figure = posterior.plot("points")
    # the ellipse of a cluster is that of the rows of which both cells are there
    assert all(np.isfinite(ellipse.get_corners()).all() for ellipse in figure.axes[0].patches)
    assert len(figure.axes[0].patches) >= 2
    assert f"{int(np.isnan(HOLES).any(axis=1).sum())} points with a missing cell are not drawn" in "".join(
        text.get_text() for text in figure.findobj(Text)
    )
    plt.close(figure)
    for name in ("traces", "n_clusters"):
        plt.close(posterior.plot(name))


def test_partitions_are_recorded_with_their_scales() -> None:
    """b0 by column and kappa0, as in the trace of the same iteration; a run with fixed scales has none."""
    posterior = sm.sample(HIERARCHICAL, HOLES, **SHORT)
    frame = posterior.run.partitions().merge(posterior.run.trace(), on=["chain", "iteration"])
    found = np.stack(frame["parameters"].to_list())
    assert found.shape == (len(frame), 3)
    np.testing.assert_array_equal(found[:, 2], frame["kappa0"])
    variance = np.nanvar(HOLES, axis=0)
    np.testing.assert_allclose(np.exp(np.log(found[:, :2] / variance).mean(axis=1)), frame["b0"], rtol=1e-9)
    assert "parameters" not in sm.sample({"name": "gaussian"}, HOLES, **SHORT).run.partitions()


@pytest.mark.parametrize("covariance", ["diag", "iso", "full"])
def test_predictions_with_resampled_scales(covariance: str) -> None:
    posterior = sm.sample(HIERARCHICAL | {"covariance": covariance}, WHOLE, **SHORT)
    # the last is far outside of what b0 may be of a variance that counted it
    new = [[-3.0, -3.0], [3.0, 3.0], [1e7, -1e7]]
    density, probability = posterior.log_predictive(new), posterior.predict_proba(new)
    assert np.isfinite(density).all() and density[0] > -6
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert posterior.predict(new)[:2].tolist() == [posterior.labels[0], posterior.labels[-1]]
    # a row's density does not depend on the others
    np.testing.assert_allclose(posterior.log_predictive(new[:1])[0], density[0], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("error::splitmerge_cli.NotConverged")  # its short runs are no posterior of the user's
def test_covariance_auto_with_resampled_scales(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("splitmerge_cli.fits.candidates.ROUNDS", (20, 40))
    x = GENERATOR.normal(size=60)
    tilted = np.column_stack([x, x + GENERATOR.normal(scale=0.05, size=60)])
    model = HIERARCHICAL | {"covariance": "auto"}
    assert sm.sample(model, tilted, **SHORT).run.config["model"]["covariance"] == "full"
    assert "diag" in capsys.readouterr().out
    tilted[3, 0] = np.nan
    assert sm.sample(model, tilted, **SHORT).run.config["model"]["covariance"] == "full"


def test_the_estimator_takes_missing_cells() -> None:
    made = sm.SplitMergeClustering({"name": "gaussian"}, iterations=200, random_state=1).fit(HOLES)
    assert made.labels_[0] != made.labels_[-1]
    assert made.predict([[-3.0, np.nan]]).tolist() == [made.labels_[0]]
    assert np.isfinite(made.score(HOLES))
    with pytest.raises(ConfigError, match=r"^model.covariance=iso: .*a missing cell, one of"):
        sm.SplitMergeClustering({"name": "gaussian", "covariance": "iso"}, iterations=10).fit(HOLES)


def test_the_disk_estimate_counts_the_scales() -> None:
    args = ["data=gaussian", "model=gaussian", "iterations=100", "trace.partitions=10", "N=40"]
    plans = [prepare(compose([*args, *more])) for more in ([], ["model.b0=hierarchical"])]
    fixed, resampled = (recorded_bytes(plan.spec, plan.recorder, plan.optional_columns) for plan in plans)
    D = prepare(compose(args)).dataset.values.shape[1]
    assert resampled["partitions"] - fixed["partitions"] == 4 * 11 * (8 * (D + 1) + 4)
