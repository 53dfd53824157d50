"""Simulation-based calibration of every model, in small; the page docs/calibration.md has it in large.

What fails when a prior factor is wrong: `WRONG` fits the same data with one option other than the one that they were
drawn with.
"""

import csv
from pathlib import Path

import numpy as np
import pytest

from splitmerge_cli.config import choices
from splitmerge_cli.studies.calibration import (
    DRAWS,
    SETS,
    SETTINGS,
    bin_ranks,
    calibrate,
    draw_data,
    rank_of,
    uniformity,
)

DOCS = Path(__file__).resolve().parents[2] / "docs"
KEPT, PAGE = DOCS / "calibration.csv", DOCS / "calibration.md"
LEAST = 1e-3
"""Bound for the p value times the number of quantities, on data sets that are the same every time."""
WRONG = {
    "concentration": ("gaussian diag", {"concentration": "gamma(2,0.7)"}, "concentration"),
    "prior": ("bernoulli", {"concentration": 3}, "K"),
    "a0": ("gaussian diag", {"a0": 4}, "log likelihood"),
    "covariance": ("gaussian full", {"covariance": "diag"}, "log likelihood"),
    "pseudo-counts": ("irm", {"beta1": 2, "beta0": 2}, "log likelihood"),
    "entities": ("emm", {"label_prior": "partition"}, "K with empty ones"),
}


def measure(name: str, sets: int, fitted: dict | None = None) -> tuple[dict[str, float], dict[str, list[float]]]:
    """P values by quantity, and for each set of level 0.95 which data sets are covered."""
    setting = SETTINGS[name]
    spec = setting.specify()
    other = setting.specify(fitted) if fitted else None
    found = [calibrate(setting, number, spec, other) for number in range(sets)]
    names = dict.fromkeys(quantity for one in found for quantity in one.ranks)
    ranks = {name: [one.ranks[name] for one in found if name in one.ranks] for name in names}
    p = {name: uniformity(bin_ranks(each)) for name, each in ranks.items()}
    return p, {name: [one.randomised[name] for one in found] for name in SETS}


def test_every_model_is_calibrated() -> None:
    assert {setting.model for setting in SETTINGS.values()} == set(choices("model")) - {"auto"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) for n in SETTINGS] + ["bernoulli"])
def test_ranks_are_uniform_and_sets_cover(name, request) -> None:
    sets = 150 if request.node.get_closest_marker("slow") else 25
    p, covered = measure(name, sets)
    assert min(p.values()) * len(p) > LEAST, p
    for quantity, each in covered.items():
        error = max(np.std(each), 0.1) / np.sqrt(sets)
        assert abs(np.mean(each) - 0.95) < 4 * error, quantity


@pytest.mark.parametrize("case", [pytest.param(c, marks=pytest.mark.slow) for c in WRONG] + ["prior"])
def test_a_wrong_prior_factor_is_found(case, request) -> None:
    name, fitted, quantity = WRONG[case]
    sets = 300 if request.node.get_closest_marker("slow") else 30
    p, _ = measure(name, sets, fitted)
    assert p[quantity] * len(p) < LEAST, p


def test_data_are_those_of_the_prior() -> None:
    """Means over data sets, which follow from the options alone."""
    setting, rng = SETTINGS["gamma_poisson"], np.random.default_rng(1)
    spec = setting.specify()
    made = [draw_data(setting, spec, rng) for _ in range(600)]
    cells = np.array([one.dataset.values[0, 0] for one in made])
    assert cells.mean() == pytest.approx(1 / 0.3, abs=4 * cells.std() / np.sqrt(600))
    concentration = np.array([one.hyperparameters["concentration"] for one in made])
    assert concentration.mean() == pytest.approx(1.0, abs=4 * concentration.std() / np.sqrt(600))
    # of two items: E 1 / (1 + concentration) by the same draws
    together, expected = np.mean([one.labels[0] == one.labels[1] for one in made]), np.mean(1 / (1 + concentration))
    assert together == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(600))


def test_ranks_among_equal_draws_are_uniform() -> None:
    rng = np.random.default_rng(2)
    ranks = [rank_of(rng.integers(2), rng.integers(2, size=DRAWS), rng) for _ in range(4000)]
    assert uniformity(bin_ranks(ranks)) > 0.01
    assert uniformity(bin_ranks(np.clip(np.array(ranks) + 5, 0, DRAWS).tolist())) < 1e-3


def test_p_values_are_uniform() -> None:
    rng = np.random.default_rng(3)
    p = [uniformity(rng.multinomial(200, np.full(20, 0.05))) for _ in range(200)]
    assert 0.3 < np.mean(p) < 0.7 and min(p) > 1e-3


def test_the_kept_table_holds_what_it_is_said_to_show() -> None:
    """docs/calibration.md: no rank deviates, given how many are looked at; sets of 0.95 cover 93 to 97 %."""
    with KEPT.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["setting"] for row in rows} == set(SETTINGS)
    p = [float(row["p"]) for row in rows if row["p"]]
    assert min(p) * len(p) > 0.05
    shares = {(row["setting"], row["quantity"]): float(row["randomised"]) for row in rows if row["randomised"]}
    assert len(shares) == 3 * len(SETTINGS)
    assert all(0.93 <= share <= 0.97 for share in shares.values()), shares
    text = PAGE.read_text(encoding="utf-8")
    for (name, quantity), share in shares.items():
        (line,) = (line for line in text.splitlines() if line.startswith(f"| {name} |"))
        assert f" {share:.3f} " in line, (name, quantity)
