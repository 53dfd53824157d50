"""An outcome (model.outcome) from the command line and the library: lines, effects, predictions, bad input."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import read_rejection, run_path

import smcmc as sm
from splitmerge_cli.api.selection import _choose_model
from splitmerge_cli.cli.running import _without_own
from splitmerge_cli.config import ConfigError, specify
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.fits.candidates import SCALES, scales_for
from splitmerge_cli.kinds.tables import Mixed
from splitmerge_cli.kinds.tables.answers import ColumnAnswers

pytestmark = pytest.mark.usefixtures("commands")

SLOPES = (2.0, -1.0)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Two groups, in which a dose has the effects `SLOPES` on y; `sick` follows the group."""
    rng = np.random.default_rng(1)
    group, dose = np.arange(80) % 2, rng.normal(2.0, 1.0, 80).round(2)
    y = (np.where(group == 0, *SLOPES) * dose + rng.normal(0.0, 0.3, 80)).round(2)
    marker = (6.0 * group + rng.normal(size=80)).round(2)
    return pd.DataFrame({"marker": marker, "dose": dose, "y": y, "sick": np.where(group == 0, "no", "yes")})


def test_a_run_has_the_effects_of_each_cluster(smcmc, table: pd.DataFrame, tmp_path: Path) -> None:
    table[["marker", "dose", "y"]].to_csv(tmp_path / "t.csv", index=False)
    words = [str(tmp_path / "t.csv"), "model=mixed", "model.outcome=y", "model.effects=[dose]", "seed=1"]
    result = smcmc("run", *words, "iterations=400", "progress=none")
    path = run_path(result)
    lines = result.stderr.splitlines()
    begin = lines.index("y within clusters (mean and 95 % interval):")
    assert all(
        line.startswith(f"  {k}: intercept") and "; dose " in line for k, line in enumerate(lines[begin + 1 :][:2], 1)
    )
    posterior = sm.Posterior.load(path)
    effects = posterior.effects()
    dose = effects[(effects["term"] == "dose") & (effects["cluster"] <= 2)].sort_values("mean")
    for (_, row), slope in zip(dose.iterrows(), sorted(SLOPES), strict=True):
        assert row["low"] < slope < row["high"] and row["high"] - row["low"] < 0.5
    new = pd.DataFrame({"marker": [0.0, 6.0], "dose": [3.0, 3.0]})
    predicted = posterior.predict_outcome(new)
    np.testing.assert_allclose(predicted["mean"], [6.0, -3.0], atol=0.3)
    assert (predicted["low"] < predicted["mean"]).all() and (predicted["mean"] < predicted["high"]).all()
    pd.testing.assert_frame_equal(predicted, posterior.predict_outcome(new.assign(y=9.0)))
    gain = smcmc("summary", "outcome=0.25", str(path))
    assert gain.exit_code == 0 and "held-out log density of y a row, over 20 rows" in " ".join(gain.stdout.split())
    assert read_rejection(smcmc, "summary", "outcome=2", str(path)) == (
        "smcmc: outcome=2: expected a share of the rows, between 0 and 1\n"
    )


def test_model_auto_takes_an_outcome_and_columns_on_scales(smcmc, table: pd.DataFrame, tmp_path: Path) -> None:
    """Priors that are resampled do not go with a regression; an effect has no resolution."""
    assert scales_for(from_object(table, "mixed"), {"outcome": "y"}) == {}
    assert scales_for(from_object(table, "mixed"), {"outcome": "sick"}) == SCALES
    assert scales_for(from_object(table, "mixed"), {"outcome": "sick", "effects": ["dose"]}) == {}
    table.assign(dose=table["dose"].abs() + 0.1).to_csv(tmp_path / "t.csv", index=False)
    words = ["model=mixed", "model.outcome=y", "model.effects=[dose]", "data.scale={dose: log}"]
    result = smcmc("run", str(tmp_path / "t.csv"), *words, "iterations=20", "chains=1", "progress=none")
    assert result.exit_code == 0 and "1: intercept " in result.stderr
    alone = smcmc("run", str(tmp_path / "t.csv"), "model=mixed", "model.outcome=y", "iterations=20", "progress=none")
    assert "1: mean " in alone.stderr and "intercept" not in alone.stderr
    # a table of real columns, of which `gaussian` is chosen without an outcome
    reals = specify(
        ["data=csv", f"data.path={tmp_path / 't.csv'}", "data.drop=[sick]", "model=auto", "model.outcome=y"],
        leave_to_data=True,
    )
    assert _choose_model(reals, None)["model"] == "mixed"
    # an outcome is no label
    (note,) = notes = ["t.csv: column 4 ('sick') has 2 values. If it is a label, add data.truth=sick (left out"]
    assert _without_own(notes, reals, Mixed()) == [note]
    of_sick = specify(["data=csv", "data.path=t.csv", "model=mixed", "model.outcome=sick"])
    assert _without_own(notes, of_sick, of_sick.model.kind) == []
    scaled = {"outcome": {"outcome": "y", "latent": False, "scale": "log", "rows": [[0, "intercept", 1.0, 0.5, 2.0]]}}
    assert next(ColumnAnswers.further_lines(scaled, 1)) == "y (log) within clusters (mean and 95 % interval):"


def test_an_outcome_that_separates_clusters_helps(table: pd.DataFrame) -> None:
    posterior = sm.sample(
        {"name": "mixed", "outcome": "sick"}, table[["marker", "sick"]], iterations=300, seed=1, progress="none"
    )
    probability = posterior.predict_outcome(pd.DataFrame({"marker": [0.0, 6.0]}))
    assert list(probability) == ["no", "yes"] and probability["no"][0] > 0.9 and probability["yes"][1] > 0.9
    assert posterior.outcome_gain().difference > -0.05
    units = sm.sample({"name": "mixed", "outcome": "sick"}, table[["marker", "sick"]].assign(who=np.arange(80) // 4),
                      groups="who", iterations=20, seed=1, progress="none")  # fmt: skip
    assert units.predict_outcome(table[["marker"]].assign(who=0)[:3]).shape == (3, 2)
    with pytest.raises(ConfigError, match="level: 2"):
        posterior.predict_outcome(table, level=2)
    with pytest.raises(ConfigError, match="held_out: nan"):
        posterior.outcome_gain(np.nan)
    plain = sm.sample("mixed", table[["marker", "sick"]], iterations=100, chains=2, seed=1, progress="none")
    for ask in (plain.effects, plain.outcome_gain, lambda: plain.predict_outcome(table)):
        with pytest.raises(ConfigError, match=r"model\.outcome=COLUMN"):
            ask()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model.outcome=z"], "model.outcome: no column z; expected one of marker, dose, y, sick"),
        (["model.outcome=y", "model.effects=[y]"], "expected different columns, none of them model.outcome"),
        (["model.outcome=y", "model.effects=dose"], "model.effects=dose: expected a list of columns"),
        (["model.outcome=sick", "model.effects=[dose]", "iterations=50"], "draws of latent outcomes cannot be coupled"),
        (["model.outcome=y", "model.select=true"], "model.select=true: expected no model.outcome"),
    ],
)
def test_bad_input_is_one_line(smcmc, table: pd.DataFrame, tmp_path: Path, words: list[str], message: str) -> None:
    table.to_csv(tmp_path / "t.csv", index=False)
    command = "certify" if message.startswith("draws") else "run"
    assert message in read_rejection(
        smcmc, command, "data=csv", f"data.path={tmp_path / 't.csv'}", "model=mixed", *words
    )
