"""What ``auto`` stands for: the model that reads a table, the covariance that predicts it best."""

from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest

import splitmerge_cli as sm
from splitmerge_cli.api import selection
from splitmerge_cli.config import ConfigError
from splitmerge_cli.results.read import Run

FEW: dict[str, Any] = {"iterations": 20, "chains": 2, "progress": "none", "options": {"trace.partitions": 2}}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FOLDS": 2, "ITERATIONS": 30}.items():
        monkeypatch.setattr(selection, name, value)


@pytest.fixture
def tilted() -> np.ndarray:
    x = np.random.default_rng(0).normal(size=60)
    return np.column_stack([x, x + np.random.default_rng(1).normal(scale=0.05, size=60)])


def test_the_covariance_that_predicts_best_is_taken(smcmc, tilted: np.ndarray, tmp_path: Path) -> None:
    pd.DataFrame(tilted, columns=["x", "y"]).to_csv(tmp_path / "points.csv", index=False)
    args = ["data=csv", "data.path=points.csv", "model=gaussian", "iterations=20", "chains=2", "progress=none"]
    result = smcmc("run", *args, "model.covariance=auto")
    assert "model.covariance=auto: full, by the log predictive density of held-out rows" in result.stderr
    assert Run(result.stdout.split()[-1]).config["model"]["covariance"] == "full"
    # the run is that of the word itself
    assert smcmc("run", *args, "model.covariance=full").stdout == result.stdout


def test_the_table_is_of_rows_that_were_held_out(tilted: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    found = sm.sample({"name": "gaussian", "covariance": "auto"}, tilted, **FEW)
    assert found.run.config["model"]["covariance"] == "full"
    said = capsys.readouterr().out.splitlines()
    best, worst = said[1].split(), said[3].split()
    assert best[0] == "full" and float(best[2]) == 0 and float(worst[2]) > 0.5
    # nothing predicts better than the truth does: .16, minus the entropy of its two normal variables
    assert -0.8 < float(best[1]) < 0.16


@pytest.mark.parametrize(
    ("table", "model"),
    [
        (pd.DataFrame({"a": [0, 1, 1, 0], "b": [1, 1, 0, 0]}), "bernoulli"),
        (pd.DataFrame({"a": [0.5, 1.25, 1.75, 0.125], "b": [1.5, 1, 7, 9.25]}), "gaussian"),
        (pd.DataFrame({"a": [0.5, 1.25, None, 0.125], "b": [1.5, 1, 7, 9.25]}), "mixed"),
        (pd.DataFrame({"a": [0.5, 1.25, 1.75, 0.125], "b": ["x", "y", "x", "y"]}), "mixed"),
        (networkx.path_graph(4), "irm"),
        (["a text", "of a few", "a text", "words"], "hdp"),
    ],
)
def test_the_model_that_reads_the_data(table: Any, model: str) -> None:
    assert selection.model_for_object(table) == model


@pytest.mark.slow
def test_scales_come_from_the_data(smcmc, tilted: np.ndarray) -> None:
    pd.DataFrame(tilted, columns=["x", "y"]).to_csv("points.csv", index=False)
    args = ["data=csv", "data.path=points.csv", "model=auto", "iterations=20", "chains=2", "progress=none"]
    model = Run(smcmc("run", *args).stdout.split()[-1]).config["model"]
    assert (model["name"], model["b0"], model["kappa0"]) == ("gaussian", "hierarchical", "hierarchical")
    kept = Run(smcmc("run", *args, "model.b0=0.5", "model.covariance=diag").stdout.split()[-1]).config["model"]
    assert (kept["covariance"], kept["b0"], kept["kappa0"]) == ("diag", 0.5, "hierarchical")
    of_array = sm.sample("auto", tilted, **FEW).run.config["model"]
    assert {key: of_array[key] for key in ("covariance", "b0", "kappa0")} == {
        key: model[key] for key in ("covariance", "b0", "kappa0")
    }


def test_a_table_of_ones_own(smcmc, tmp_path: Path) -> None:
    pd.DataFrame({"sex": ["f", "m"] * 10, "age": np.arange(20) + 0.5}).to_csv(tmp_path / "t.csv", index=False)
    result = smcmc("run", "data=csv", "data.path=t.csv", "model=auto", "iterations=20", "chains=2", "progress=none")
    assert "model=auto: model=mixed" in result.stderr and result.exit_code == 0
    assert Run(result.stdout.split()[-1]).config["model"]["name"] == "mixed"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["data=jain_neal", "model=bernoulli", "model.covariance=auto"], "model=bernoulli has no covariance to choose"),
        (["data=csv", "data.path=none.csv", "model=auto"], "none.csv: no such file"),
    ],
)
def test_what_cannot_be_chosen_is_said(smcmc, args: list[str], said: str) -> None:
    result = smcmc("run", *args)
    assert result.exit_code == 2 and said in result.stderr and not Path("results").exists()


def test_one_row_holds_nothing_out() -> None:
    with pytest.raises(ConfigError, match="1 row; expected two"):
        sm.sample({"name": "gaussian", "covariance": "auto"}, np.ones((1, 2)), **FEW)
