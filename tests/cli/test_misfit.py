"""Last lines of a run whose model does not describe the data, and the command that they name."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import run_path

from splitmerge_cli.runs.store.read import Run

pytestmark = pytest.mark.usefixtures("all_replications")

QUICK = ["iterations=600", "chains=2", "progress=none"]
MODEL = "the model does not describe these data"


def write(name: str, x: Any, columns: list[str]) -> list[str]:
    pd.DataFrame(x, columns=columns).to_csv(name, index=False)
    return ["data=csv", f"data.path={name}"]


@pytest.mark.parametrize("shape", ["lognormal", "counts", "zeros"])
def test_other_shapes_are_named(smcmc: Any, shape: str) -> None:
    rng = np.random.default_rng(101)
    if shape == "lognormal":
        x, model = np.exp(rng.normal(size=(400, 3))), "gaussian"
    elif shape == "counts":  # shares of each row's own
        shares = rng.dirichlet(20 * rng.dirichlet(np.ones(12)), 120)
        x, model = np.array([rng.multinomial(800, p) for p in shares]), "multinomial"
    else:
        rates = np.array([[4, 8, 3, 10], [9, 3, 7, 4]])[rng.integers(2, size=400)]
        x, model = rng.poisson(rates) * (rng.random((400, 4)) > 0.3), "gamma_poisson"
    result = smcmc("run", *write("x.csv", x, [f"c{j}" for j in range(x.shape[1])]), f"model={model}", *QUICK)
    assert result.exit_code == 0 and MODEL in result.stderr, result.stderr
    assert "one group may be several clusters" in result.stderr


def test_data_of_the_model_leave_nothing_and_the_record_is_the_same_each_time(smcmc: Any) -> None:
    rng = np.random.default_rng(3)
    words = write("two.csv", rng.normal(size=(200, 3)) + 6.0 * (np.arange(200) % 2)[:, None], ["a", "b", "c"])
    results = [smcmc("run", *words, "model=gaussian", *QUICK, f"out={out}") for out in ("one", "other")]
    assert MODEL not in results[0].stderr and "the clusters overlap" not in results[0].stderr
    one, other = (json.loads((run_path(each) / "summary.json").read_text())["fit"] for each in results)
    assert one == other and one["draws"] == 100 and one["unlike"] == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["model.power=0.5"], "model.power=0.5 allows for data that the model does not describe"),
        (["trace.partitions=0"], "no partitions are recorded: trace.partitions=10 records some"),
    ],
)
def test_why_nothing_is_checked_is_kept(smcmc: Any, words: list[str], why: str) -> None:
    x = np.exp(np.random.default_rng(4).normal(size=(100, 2)))
    result = smcmc("run", *write("x.csv", x, ["a", "b"]), "model=gaussian", *QUICK, *words)
    assert Run(run_path(result)).summary["fit"]["unchecked"] == why and MODEL not in result.stderr
