"""Monte Carlo standard errors of predictions, and the draws that they average over."""

import numpy as np
import pandas as pd
import pytest

import smcmc
from splitmerge_cli.analysis import predictive
from splitmerge_cli.analysis.predictive import Averages, are_small, predict
from splitmerge_cli.config import ConfigError, component
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.runs.draws import BATCHES, Draws, State, _halve, draws_of

POINTS = np.random.default_rng(4).normal(size=(12, 2)) + np.repeat([[3.0, 0.0], [0.0, 0.0]], 6, axis=0)
NEW = np.array([[0.0, 0.5], [1.5, 0.0], [3.0, 0.0]])
LISTS = [[0] * 12, [0] * 6 + [1] * 6, [0, 1] * 6, list(range(12)), [0] * 4 + [1] * 8]


def test_the_error_of_a_mean_density_counts_the_dependence_of_draws() -> None:
    """Log densities of an autoregression: the standard error is the spread over repetitions."""
    rng, repetitions, n = np.random.default_rng(0), 400, 1_000
    log_density = np.zeros((n, repetitions))
    for t in range(1, n):
        log_density[t] = 0.8 * log_density[t - 1] + rng.normal(0, 0.3, repetitions)
    averages = Averages(BATCHES, repetitions)
    for t in range(n):
        averages.add(t * BATCHES // n, log_density[t])
    np.testing.assert_allclose(averages.log_mean(), np.log(np.exp(log_density).mean(axis=0)), atol=1e-12)
    spread = averages.log_mean().std()
    # draws that are independent would have a third of it
    assert np.sqrt((averages.error() ** 2).mean()) == pytest.approx(spread, rel=0.12)
    assert spread > 2.5 * log_density.std() / np.sqrt(n)


def test_errors_of_densities_and_of_probabilities_are_their_spread() -> None:
    data = from_object(POINTS, "points")
    items = data.kind.new_items(data, NEW)
    model = component("model", "gaussian")
    of = [State(np.array(labels, dtype=np.int32), max(labels) + 1, {}) for labels in LISTS]
    rng = np.random.default_rng(1)
    found = [
        predict(model, data, items, [of[k] for k in rng.choice(5, 60, p=[0.3, 0.3, 0.2, 0.1, 0.1])], of[1].labels)
        for _ in range(150)
    ]
    for value, error in (("log_density", "log_density_error"), ("probability", "probability_error")):
        spread = np.std([getattr(one, value) for one in found], axis=0)
        stated = np.sqrt(np.mean([getattr(one, error) ** 2 for one in found], axis=0))
        np.testing.assert_allclose(stated, spread, rtol=0.25)
    assert {one.states for one in found} == {60}
    # one draw has no spread; draws that agree have none either
    alone = predict(model, data, items, of[:1], of[1].labels)
    assert np.isnan(alone.log_density_error).all() and np.isnan(alone.probability_error).all()
    agreeing = predict(model, data, items, of[:1] * 30, of[1].labels)
    assert (agreeing.log_density_error < 1e-12).all() and (agreeing.probability_error < 1e-12).all()


def test_either_of_density_and_probability_is_that_of_both() -> None:
    data = from_object(POINTS, "points")
    items = data.kind.new_items(data, NEW)
    of = [State(np.array(labels, dtype=np.int32), max(labels) + 1, {}) for labels in LISTS]
    both, density, probability = (
        predict(component("model", "gaussian"), data, items, of, of[1].labels, wanted)
        for wanted in (None, "density", "probability")
    )
    np.testing.assert_array_equal(density.log_density, both.log_density)
    np.testing.assert_array_equal(density.log_density_error, both.log_density_error)
    assert np.isnan(density.probability).all() and np.isnan(density.probability_error).all()
    np.testing.assert_array_equal(probability.probability, both.probability)
    np.testing.assert_allclose(both.probability.sum(axis=1), 1)


@pytest.mark.parametrize(("n", "first"), [(1, 1), (7, 2), (8, 2), (100, 7), (399, 200), (400, 200), (1001, 200)])
def test_draws_begin_evenly_spread_and_halve_their_space(n: int, first: int) -> None:
    order, looks = _halve(n, first)
    assert sorted(order.tolist()) == list(range(n))
    for look in looks:
        assert look >= min(first, n)
        assert np.ptp(np.diff(np.sort(order[:look]))) == 0
    assert not looks or looks[0] < 2 * first


@pytest.fixture(scope="module")
def posterior() -> "smcmc.Posterior":
    data = np.random.default_rng(0).normal(size=(30, 2)) * [1, 3]
    model = {"name": "gaussian", "concentration": 3.0}
    return smcmc.sample(
        model, data, chains=2, iterations=4_000, seed=1, options={"trace.partitions": 5}, progress="none"
    )


@pytest.mark.filterwarnings("ignore::smcmc.NotConverged")
def test_predictions_take_draws_until_their_error_is_small(posterior, monkeypatch) -> None:
    recorded = len(posterior.partitions)
    assert recorded == 800
    every, least = posterior.log_predictive(NEW, states=10**6, standard_error=True)
    few, error = posterior.log_predictive(NEW, states=50, standard_error=True)
    assert every.shape == least.shape == NEW.shape[:1] and (error > 0).all()
    assert (np.abs(few - every) < 5 * error).all() and (np.abs(few - every) > 0).any()
    # enough: as few as there are at first; never enough: all
    for enough, states in ((1e9, 200), (0.0, recorded)):
        monkeypatch.setattr(predictive, "ENOUGH", enough)
        for wanted in ("density", "probability"):
            assert posterior._predict(NEW, wanted, None).states == states
    np.testing.assert_allclose(posterior.log_predictive(NEW), every, rtol=1e-12)
    probability, spread = posterior.predict_proba(NEW, standard_error=True)
    assert probability.shape == spread.shape and (spread <= 0.5).all()
    monkeypatch.setattr(predictive, "ENOUGH", np.sort(error)[-1])
    found = posterior._predict(NEW, "density", None)
    assert found.states == recorded or are_small(found.log_density_error)
    assert posterior._predict(NEW, "density", 123).states == 123
    for wrong in (0, -1, 1.5, True, "many"):
        with pytest.raises(ConfigError, match=r"states: .*; expected a whole number from 1 on"):
            posterior.log_predictive(NEW, states=wrong)


def test_batches_are_successive_draws_of_one_chain(posterior) -> None:
    recorded = posterior._recorded_partitions
    draws = draws_of(posterior.run, None, recorded)
    assert isinstance(draws, Draws) and len(draws) == len(recorded) and draws.looks == (200, 400)
    frame = pd.DataFrame({"row": draws._rows, "batch": draws.batch, "chain": recorded["chain"].to_numpy()[draws._rows]})
    assert frame["batch"].nunique() == BATCHES
    for _, of in frame.groupby("batch"):
        assert of["chain"].nunique() == 1 and len(of) == 40 and np.ptp(of["row"]) == 39
    # what is looked at first has all batches alike
    assert (frame["batch"][:200].value_counts() == 10).all()
