"""Rows that repeat others: the run says that no model describes them, and the command that it prints gets there."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.api.posterior import Posterior
from splitmerge_cli.config import specify, specify_stored
from splitmerge_cli.runs.store.read import Run

pytestmark = pytest.mark.usefixtures("commands")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two groups of 50 points, each row five times."""
    x = np.random.default_rng(0).normal(size=(100, 2))
    x[50:] += 6.0
    pd.DataFrame(np.repeat(x, 5, axis=0), columns=["x", "y"]).to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def clusters(result) -> int:
    return Run(Path(result.stdout.splitlines()[-1])).summary["point_estimate"]["n_clusters"]


def test_a_chosen_covariance_is_chosen_again(smcmc, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("splitmerge_cli.fits.short_fits.ITERATIONS", 20)
    args = ["data=csv", f"data.path={path}", "model=gaussian", "model.covariance=auto", "iterations=50"]
    said = smcmc("run", *args).stderr
    command = next(line for line in said.splitlines() if line.startswith("next: smcmc run"))
    assert "data.repeated=once" in command and "model.covariance=auto" in command


def test_few_copies_are_reported_alone(smcmc, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(100, 2))
    pd.DataFrame(np.concatenate([x, x[:2]]), columns=["x", "y"]).to_csv(tmp_path / "t.csv", index=False)
    said = smcmc("run", "data=csv", f"data.path={tmp_path / 't.csv'}", "model=gaussian", "iterations=50").stderr
    assert "2 of 102 rows repeat another row" in said
    assert "does not describe" not in said and "next: smcmc run" in said and "each different row once" not in said


def test_runs_that_were_made_before_keep_their_identity(path: Path) -> None:
    """The option is new: at its default it tells no runs apart, and stored configurations do without it."""
    given = ["data=csv", f"data.path={path}", "model=gaussian"]
    spec, once = specify(given), specify([*given, "data.repeated=once"])
    assert "repeated" not in spec.identity["data"] and once.identity["data"]["repeated"] == "once"
    values = {key: dict(value) if key == "data" else value for key, value in spec.values.items()}
    del values["data"]["repeated"]
    assert specify_stored(values, path).identity == spec.identity


def test_the_command_that_is_printed_finds_the_groups(smcmc, path: Path) -> None:
    result = smcmc("run", "data=csv", f"data.path={path}", "model=gaussian", "iterations=1000", "seed=1")
    said = result.stderr
    assert "400 of 500 rows repeat another row, more than by chance: no density describes copies" in said
    assert "the model does not describe these data: 400 of 500 rows repeat another row" in said
    assert "each different row once:\n" in said
    judged = smcmc("diagnose", result.stdout.splitlines()[-1]).stdout
    for text in (said, judged, repr(Posterior.load(Path(result.stdout.splitlines()[-1])))):
        words = " ".join(text.split())
        assert 0 <= words.rindex("the model does not describe these data: 400 of 500 ") < words.index("no sign of non-")
    command = next(line for line in said.splitlines() if line.startswith("next: smcmc run"))
    assert "data.repeated=once" in command
    result = smcmc(*shlex.split(command.removeprefix("next: smcmc ")))
    assert result.exit_code == 0 and clusters(result) == 2
    assert "each of the 100 different rows is one item" in result.stderr
    assert "does not describe" not in result.stderr and "data.repeated=once" not in result.stderr
