"""Last lines of a run whose model does not describe the data, and the command that they name."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import run_path

import splitmerge_cli as sm
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


def test_columns_that_go_together_are_named_and_the_next_command_ends_it(smcmc: Any) -> None:
    rng = np.random.default_rng(100)
    height = rng.normal(172, 9, 300)
    words = write("height.csv", np.column_stack([height, height / 2.54 + rng.normal(0, 0.2, 300)]), ["cm", "inches"])
    first = smcmc("run", *words, "model=gaussian", *QUICK)
    path, lines = run_path(first), first.stderr.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(f"{MODEL} (cm and inches: residual dependence"))
    assert "; no sign of non-convergence: " in lines[at] or "; cannot tell whether" in lines[at]
    assert lines[-1].startswith("next: smcmc run") and lines[-1].endswith("model.covariance=full")
    # what is kept is what every command shows
    assert lines[at] in smcmc("diagnose", str(path)).output
    found = sm.Posterior.load(path)
    assert found.misfit.loc[0, "subject"] == "cm and inches" and "cm and inches" in repr(found)
    again = smcmc(*shlex.split(lines[-1])[2:])
    summary = Run(run_path(again)).summary
    assert MODEL not in again.stderr and summary["point_estimate"]["n_clusters"] == 1
    assert summary["fit"]["checks"] == 7 and not summary["fit"]["unlike"]


def test_ties_that_close_triangles_are_named(smcmc: Any) -> None:
    """Points in a square with ties to those nearby, and one block of as many ties at random."""
    rng = np.random.default_rng(1)
    places = rng.random((120, 2))
    near = ((places[:, None] - places) ** 2).sum(axis=2) < 0.18**2
    for name, tied in (("near", near), ("block", rng.random((120, 120)) < near.mean())):
        ties = np.argwhere(np.triu(tied, 1))
        pd.DataFrame(ties, columns=["from", "to"]).map("n{}".format).to_csv(f"{name}.csv", index=False)
    # many small blocks, which a learned prior finds, close triangles, too
    given = [*QUICK, "data=edges", "model.density=null"]
    results = {name: smcmc("run", f"data.path={name}.csv", *given) for name in ("near", "block")}
    assert MODEL not in results["block"].stderr and Run(run_path(results["block"])).summary["fit"]["draws"] == 100
    assert (
        MODEL in results["near"].stderr
        and "ties: share of paths of two ties that a third closes" in results["near"].stderr
    )


def test_words_that_come_in_bursts_are_named(smcmc: Any) -> None:
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(200, 0.1), 4)
    for name in ("bursts", "plain"):
        texts = []
        for j in range(60):
            shares = rng.dirichlet(60 * topics[j % 4] + 1e-3) if name == "bursts" else topics[j % 4]
            texts.append(" ".join(f"w{word}" for word in rng.choice(200, size=80, p=shares)))
        Path(f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    words = ["run", "data=corpus", "data.stop_words=none", "iterations=60", "chains=2", "progress=none"]
    results = {name: smcmc(*words, f"data.path={name}.txt") for name in ("bursts", "plain")}
    assert MODEL not in results["plain"].stderr and Run(run_path(results["plain"])).summary["fit"]["checks"] == 2
    assert f"{MODEL} (documents" in results["bursts"].stderr and "parts of one group" not in results["bursts"].stderr
