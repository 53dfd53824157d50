"""Simulation-based calibration of every model, in small; the page docs/calibration.md has it in large.

What fails when a prior factor is wrong: `WRONG` fits the same data with one option other than the one that they were
drawn with.
"""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import predictive_calibration as held_out
import pytest
from calibration import DRAWS, SETS, SETTINGS, bin_ranks, calibrate, draw_data, rank_of, uniformity
from scipy.stats import chisquare

from splitmerge_cli.analysis.predictive import by_state, predict
from splitmerge_cli.config import choices
from splitmerge_cli.kinds.documents import corpus, stored
from splitmerge_cli.runs.checks import options_of
from splitmerge_cli.runs.draws import State

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
    "noise": ("gaussian diag, noise", {"noise": 0.02}, "noise"),
    "entities": ("emm", {"label_prior": "partition"}, "K with empty ones"),
}


def with_weights(weigh):
    """Predictions of states whose clusters are joined with other probabilities."""

    def predictions(*given):
        for state, density, weight in by_state(*given):
            yield state, density, weigh(weight)

    return predictions


WRONG_PREDICTIONS = {
    "shape": ("gaussian diag", {"a0": 6}, by_state, "new item's density"),
    "pseudo-counts": ("bernoulli", {"beta1": 3}, by_state, "new pairs"),
    "weights": ("bernoulli", None, with_weights(lambda w: np.full(len(w), -np.log(len(w)))), "new pairs"),
    "alone": (
        "gamma_poisson",
        None,
        with_weights(lambda w: np.log(np.append(np.full(len(w) - 1, 1e-9), 1))),
        "new pairs",
    ),
}


def measure(
    name: str, sets: int, fitted: dict | None = None, look=calibrate, draws: int = DRAWS
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """P values by quantity, and for each set of level 0.95 which data sets are covered."""
    setting = SETTINGS[name]
    spec = setting.specify()
    other = setting.specify(fitted) if fitted else None
    found = [look(setting, number, spec, other) for number in range(sets)]
    names = dict.fromkeys(quantity for one in found for quantity in one.ranks)
    ranks = {name: [one.ranks[name] for one in found if name in one.ranks] for name in names}
    p = {name: uniformity(bin_ranks(each, draws)) for name, each in ranks.items()}
    return p, {name: [one.randomised[name] for one in found] for name in found[0].randomised}


def assert_level(covered: dict[str, list[float]]) -> None:
    for quantity, each in covered.items():
        error = max(np.std(each), 0.1) / np.sqrt(len(each))
        assert abs(np.mean(each) - 0.95) < 4 * error, quantity


def test_every_model_is_calibrated() -> None:
    """But records, whose levels are the values that occur: data drawn from the model have others."""
    assert {setting.model for setting in SETTINGS.values()} == set(choices("model")) - {"auto", "records"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) for n in SETTINGS] + ["bernoulli"])
def test_ranks_are_uniform_and_sets_cover(name, request) -> None:
    sets = 150 if request.node.get_closest_marker("slow") else 25
    p, covered = measure(name, sets)
    assert min(p.values()) * len(p) > LEAST, p
    assert set(covered) == set(SETS)
    assert_level(covered)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) for n in SETTINGS] + ["emm"])
def test_held_out_items_are_like_predicted_ones(name, request) -> None:
    sets = 150 if request.node.get_closest_marker("slow") else 25
    p, covered = measure(name, sets, look=held_out.calibrate_predictions, draws=held_out.DRAWS)
    assert set(p) == {"new item", "new item's density"}
    assert min(p.values()) * len(p) > LEAST, p
    assert_level(covered)


@pytest.mark.parametrize("case", [pytest.param(c, marks=pytest.mark.slow) for c in WRONG_PREDICTIONS] + ["alone"])
def test_a_wrong_prediction_is_found(case, request) -> None:
    name, fitted, wrong, quantity = WRONG_PREDICTIONS[case]

    def look(*given):
        return held_out.calibrate_predictions(*given, by_state=wrong)

    sets = 300 if request.node.get_closest_marker("slow") else 20
    p, covered = measure(name, sets, fitted, look, held_out.DRAWS)
    if quantity in p:
        assert p[quantity] * len(p) < LEAST, p
    else:
        off = np.mean(covered[quantity]) - 0.95
        assert abs(off) > 4 * np.std(covered[quantity]) / np.sqrt(sets), off


@pytest.mark.parametrize("name", ["emm", "bernoulli", "irm"])
def test_items_are_drawn_from_the_density(name) -> None:
    """Chi squared; the density of one state, which sums to 1 over all items."""
    setting, rng = replace(SETTINGS[name], N=5, D=6 if name == "emm" else 3), np.random.default_rng(4)
    spec = setting.specify()
    whole = draw_data(setting, spec, rng, 1).dataset
    dataset, new = held_out._split(whole, 5)
    every = np.arange(6) if name == "emm" else np.array(list(np.ndindex(*(2,) * (5 if name == "irm" else 3))))
    state = State(np.array([0, 0, 1, 1, 1], dtype=np.int32), 2, {"concentration": 0.7} if name != "emm" else {})
    held = held_out._Held(spec.model, whole, dataset, new, by_state)
    items = replace(new, values=every.astype(new.values.dtype))
    ((_, _, weight),) = held.densities([state], new)
    density = np.exp(predict(spec.model, dataset, items, [state], state.labels).log_density)
    assert density.sum() == pytest.approx(1)
    options = options_of(spec.model, dataset)
    drawn = np.concatenate([held_out._draw_item(rng, held, options, state, weight) for _ in range(500)])
    counts = np.array([(drawn == item).reshape(500, -1).all(axis=1).sum() for item in every])
    assert chisquare(counts, 500 * density).pvalue > 1e-3


def test_words_are_drawn_from_the_density() -> None:
    """Documents of two words from one state of topics, beside a filter of many particles."""
    setting, rng = SETTINGS["hdp"], np.random.default_rng(5)
    spec = setting.specify()
    made = draw_data(setting, spec, rng)
    state = State(made.labels, made.K, {"alpha0": 0.8, "gamma": 1.3})
    (topics,) = stored.topic_states(spec.model, made.dataset, [state], 1)
    pairs = np.array(list(np.ndindex(5, 5)), dtype=np.int32)
    documents = corpus.Tokens(pairs.ravel(), np.arange(0, 51, 2, dtype=np.int64))
    density = np.exp(
        stored.predict_documents(spec.model, made.dataset, documents, [state], state.labels, 1, 4000, 0).log_density
    )
    assert density.sum() == pytest.approx(1, abs=0.01)
    drawn = np.array([held_out._draw_words(rng, topics, 2) for _ in range(1500)])
    counts = np.bincount(drawn @ [5, 1], minlength=25)
    assert chisquare(counts, 1500 * density / density.sum()).pvalue > 1e-3


@pytest.mark.parametrize("case", [pytest.param(c, marks=pytest.mark.slow) for c in WRONG] + ["prior"])
def test_a_wrong_prior_factor_is_found(case, request) -> None:
    name, fitted, quantity = WRONG[case]
    sets = 600 if request.node.get_closest_marker("slow") else 30
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
    """docs/calibration.md: no rank deviates, given how many are looked at; sets of 0.95 cover 93 to 97 % of 1,000."""
    with KEPT.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["setting"] for row in rows} == set(SETTINGS)
    p = [float(row["p"]) for row in rows if row["p"]]
    assert min(p) * len(p) > 0.05
    shares = {(row["setting"], row["quantity"]): float(row["randomised"]) for row in rows if row["randomised"]}
    assert len(shares) == 5 * len(SETTINGS) - sum(setting.model == "hdp" for setting in SETTINGS.values())
    sets = {(row["setting"], row["quantity"]): int(row["data sets"]) for row in rows}
    assert min(sets.values()) >= 300
    # of 1,000 data sets; fewer have wider bounds
    assert all(abs(share - 0.95) <= 0.02 * (1000 / sets[key]) ** 0.5 for key, share in shares.items()), shares
    text = PAGE.read_text(encoding="utf-8")
    for (name, quantity), share in shares.items():
        (line,) = (line for line in text.splitlines() if line.startswith(f"| {name} |"))
        assert f" {share:.3f} " in line, (name, quantity)
