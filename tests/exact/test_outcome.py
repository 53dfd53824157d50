"""An outcome that is regressed on effects within clusters (model.outcome of mixed): the chain of latent outcomes
against the posterior in which they are integrated out, densities of new rows, coefficients, and what goes together.
Kernels given latent outcomes, and of a normal outcome, are in the tests of every sampler."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from calibration import Setting
from compiled import pieces
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln, log_ndtr
from small_cases import check_resumption, usual_chain

from splitmerge_cli.analysis.predictive import by_state, predict
from splitmerge_cli.config import ConfigError, component
from splitmerge_cli.core import simulation
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.bundles import Bundles
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.tables.scaled import read_scales
from splitmerge_cli.kinds.tables.cases import design_matrix, log_latent, log_orthant, log_regression
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.kinds.tables.outcomes import find_effects, outcome_densities, predict_outcome
from splitmerge_cli.runs.draws import State
from splitmerge_cli.runs.plan import Builder
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.verify import cases, kernel, transitions
from splitmerge_cli.verify.enumerate import log_prior, mixture_states, normalise

nan = np.nan
TYPES, LEVELS = ("binary", "categorical", "count", "real", "real"), (2, 3, 0, 0, 0)
COLUMNS = tuple(ColumnType(kind, tuple("abc")[:n]) for kind, n in zip(TYPES, LEVELS, strict=True))
ROWS = np.array(
    [
        [1, 0, 2, 0.3, 0.9],
        [0, 1, 5, 1.1, nan],
        [1, 2, 0, -0.7, 2.2],
        [0, 0, 1, 2.4, -0.4],
        [nan, 1, 3, 0.2, 0.1],
        [1, 2, 8, -1.5, 3.0],
    ]
)
PRIOR: dict[str, Any] = {"m0": 0.5, "kappa0": 0.4, "a0": 1.5, "b0": 0.8, "shape": 1.4, "rate": 0.5}
NORMAL: dict[str, Any] = {"outcome": "y", "effects": ("e", "c")}
BINARY: dict[str, Any] = {"outcome": "b", "effects": ("e", "c")}
LABELS = np.array([0, 0, 1, 1, 0, 1], dtype=np.int32)
UNIT = Bundles(np.zeros(2, dtype=np.int32), prior_counts="items")


def dataset(rows: NDArray[np.float64] = ROWS) -> Dataset:
    return Dataset("t", "mixed", rows, columns=["b", "c", "n", "e", "y"], types=COLUMNS)


def build(rows: NDArray[np.float64] = ROWS, **options: Any) -> Any:
    return Mixed.from_data(dataset(rows), **{"concentration": 1.3, "resolution": "none"} | PRIOR | options)


def design(rows: NDArray[np.float64] = ROWS) -> NDArray[np.float64]:
    found: NDArray[np.float64] = design_matrix(rows, TYPES, LEVELS, [3, 1])
    return found


def orthants(rows: NDArray[np.float64], states: list[Any], weight: float, **of_others: Any) -> NDArray[np.float64]:
    """Posterior of partitions, the latent outcomes integrated out: probabilities of orthants."""
    X, y = design(rows), rows[:, 0]
    # without the outcome and its effects
    other = Mixed(rows[:, [2, 4]], ("count", "real"), resolution="none", concentration=1.3, **PRIOR | of_others)
    log_p = []
    for labels, K in states:
        z = np.array(labels, dtype=np.int32)
        other.set_labels(z)
        total = other.log_lik_total() + log_prior(1.3, "crp", z)
        for k in range(K):
            here = (z == k) & ~np.isnan(y)
            total += log_orthant(y[here], X[here], np.append(1.0, np.full(3, weight)))
        log_p.append(total)
    return normalise(log_p)


def test_latent_outcomes_are_integrated_out_by_the_chain() -> None:
    """Frequencies of partitions against probabilities of orthants; a mutant, without the effects, is found."""
    states = [(labels, K) for labels, K, *_ in mixture_states(4)]
    model = build(ROWS[:4], **BINARY, slope_weight=0.5)
    pi = orthants(ROWS[:4], states, 0.5)
    case, rng = cases.Case(model, build, states, pi, ""), Rng(3)
    samplers = [Gibbs(model, rng), Refresh(model, rng)]
    frequencies, noise = kernel.sampled_frequencies(case, samplers, rng, 40_000)
    assert transitions.total_variation(frequencies, pi) < 3 * noise
    assert transitions.total_variation(frequencies, orthants(ROWS[:4], states, 1e6)) > 6 * noise


def test_draws_of_latent_outcomes_far_from_their_mean() -> None:
    """Mean and square of the latent outcome of the one row that is 0 among many that are 1, by quadrature over the
    intercept: no row has an effect."""
    rows = np.array([[1.0, 0.0, 1.0, 0.0, 0.0]] * 24 + [[0.0, 0.0, 1.0, 0.0, 0.0]])
    model, rng = build(rows, outcome="b", effects=("c",)), Rng(6)
    model.set_labels(np.zeros(25, dtype=np.int32))
    refresh, drawn = Refresh(model, rng), np.empty(20_000)
    for t in range(len(drawn)):
        refresh.step()
        drawn[t] = model.parameters[-1, 0]
    alpha = np.linspace(-3.0, 5.0, 801)
    weight = normalise(stats.norm.logpdf(alpha) + 24 * log_ndtr(alpha) + log_ndtr(-alpha))
    mean = alpha - np.exp(stats.norm.logpdf(alpha) - log_ndtr(-alpha))
    for values, expected in ((drawn, mean), (drawn**2, 1.0 + alpha * mean)):
        batches = values.reshape(20, -1).mean(axis=1)
        assert abs(batches.mean() - weight @ expected) < 4 * batches.std() / np.sqrt(20)


def with_new(new: NDArray[np.float64], **options: Any) -> Any:
    params = {"concentration": 1.3, "resolution": "none"} | PRIOR | options
    model = Mixed.with_new(dataset(), dataset(np.vstack([ROWS, new])), **params)
    model.set_labels(np.append(LABELS, np.full(len(new), 2)).astype(np.int32))
    return model


def test_densities_of_new_rows() -> None:
    """Ratios of dense likelihoods, with effects standardised as the data are; densities under a power sum to one."""
    new = np.array([[1.0, 2.0, 4.0, 9.0, 1.7], [nan, 0.0, nan, -3.0, nan]])
    X = design()
    mean, deviation = ROWS[:, 3].mean(), ROWS[:, 3].std()
    X_new = np.column_stack([np.ones(2), (new[:, 3] - mean) / deviation, new[:, [1]] == [1, 2]])
    for options in ({}, {"resolution": [0.7]}):
        without = with_new(new * [1, 1, 1, 1, nan], **NORMAL, **options).log_predictive(6)[0]
        found = with_new(new, **NORMAL, **options).log_predictive(6)[0] - without
        prior = np.full(4, 0.4), 0.5, 1.5, 0.8, 1.0, options.get("resolution", [0.0])[0]
        for k in range(3):
            here = (k == LABELS) & ~np.isnan(ROWS[:, 4])
            y, joined = ROWS[here, 4], np.vstack([X[here], X_new[:1]])
            expected = log_regression(np.append(y, 1.7), joined, *prior) - log_regression(y, X[here], *prior)
            assert found[0, k] == pytest.approx(expected, abs=1e-9)
        np.testing.assert_allclose(found[1], 0.0, atol=1e-12)
    grid = np.linspace(-60.0, 60.0, 2401)
    rows = np.tile([nan, 2.0, nan, 1.0, 0.0], (len(grid), 1))
    rows[:, 4] = grid
    density = np.exp(with_new(rows, **NORMAL, power=0.6).log_predictive(6)[0])
    np.testing.assert_allclose(density.sum(axis=0) * 0.05, 1.0, atol=2e-3)


def test_probabilities_of_binary_outcomes() -> None:
    """New rows, and rows that are left out: by normal equations given the latent outcomes."""
    new = np.array([[1.0, 2.0, nan, 9.0, nan], [0.0, 2.0, nan, 9.0, nan], [nan, 0.0, nan, -3.0, nan]])
    model = with_new(new, **BINARY)
    known = ~np.isnan(ROWS[:, 0])
    u = np.where(ROWS[:, 0] == 1, 1.3, -0.4) * np.linspace(0.8, 1.2, 6)
    model.set_parameters(u[known])
    found = model.log_predictive(6)[0]
    np.testing.assert_allclose(np.exp(found[:2]).sum(axis=0), 1.0, rtol=1e-10)
    np.testing.assert_allclose(found[2], 0.0, atol=1e-12)
    X = design()
    mean, deviation = ROWS[:, 3].mean(), ROWS[:, 3].std()
    x = np.array([1.0, (9.0 - mean) / deviation, 0.0, 1.0])

    def log_p(here: NDArray[np.bool_], x: NDArray[np.float64]) -> float:
        precision = np.eye(4) + X[here].T @ X[here]
        h = x @ np.linalg.solve(precision, x)
        return float(log_ndtr(x @ np.linalg.solve(precision, X[here].T @ u[here]) / np.sqrt(1 + h)))

    for k in range(3):
        assert found[0, k] == pytest.approx(log_p((k == LABELS) & known, x), abs=1e-9)
    alone = build(**BINARY)
    alone.set_labels(LABELS)
    alone.set_parameters(u[known])
    rest = Mixed(ROWS[:, [2, 4]], ("count", "real"), resolution="none", concentration=1.3, **PRIOR)
    rest.set_labels(LABELS)
    left = alone.left_out_predictive()[0] - rest.left_out_predictive()[0]
    here = (LABELS == 0) & known
    here[0] = False
    assert left[0, 0] == pytest.approx(log_p(here, X[0]), abs=1e-9)
    assert left[4] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("far", "step"), [(3e6, 0.0), (1.4, 0.7)])
def test_odds_of_an_outcome_by_dense_likelihoods(far: float, step: float) -> None:
    """The odds of two clusters: where nearly all scatter of one is the outcome's own, which takes digits, and with
    outcomes that are recorded to a resolution."""
    y = np.array([0.3, -0.2, 0.5, 0.1, far, -0.4, 0.2, -0.6, 0.9])
    rows = np.array([[nan, i % 3, nan, nan, value] for i, value in enumerate(y)])
    model = build(rows, outcome="y", effects=["c"], resolution=[0.0, step])
    labels = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1], dtype=np.int32)
    model.set_labels(labels)
    X, prior = design_matrix(rows, TYPES, LEVELS, [1]), (np.full(3, 0.4), 0.5, 1.5, 0.8, 1.0, step)
    expected = []
    for k in (0, 1):
        without = np.flatnonzero((labels == k) & (np.arange(9) != 4))
        whole = np.append(without, 4)
        gain = log_regression(y[whole], X[whole], *prior) - log_regression(y[without], X[without], *prior)
        expected.append(np.log(len(without)) + gain)
    weight = pieces.scan(model, 4)
    assert np.log(weight[0] / weight[1]) == pytest.approx(expected[0] - expected[1], abs=1e-4)


def test_an_outcome_that_is_all_but_impossible() -> None:
    """The tail of a normal distribution, where it underflows: 24 rows of one latent outcome, and none of an effect."""
    rows = np.array([[1.0, 0.0, 1.0, 0.0, 0.0]] * 24 + [[0.0, 0.0, 1.0, 0.0, 0.0]])
    log_p = []
    for answer in (0.0, nan):
        whole = dataset(np.vstack([rows[:24], [[answer, *rows[24, 1:]]]]))
        options = {"concentration": 1.3, "resolution": "none", "outcome": "b", "effects": ("c",)} | PRIOR
        model = Mixed.with_new(dataset(rows[:24]), whole, **options)
        model.set_labels(np.array([0] * 24 + [1], dtype=np.int32))
        model.set_parameters(np.full(24, 40.0))
        log_p.append(model.log_predictive(24)[0][0, 0])
    expected = log_ndtr(-24 * 40 / 25 / np.sqrt(1 + 1 / 25))
    assert log_p[0] - log_p[1] == pytest.approx(expected, abs=1e-5) and expected < -700


@pytest.mark.parametrize(
    ("options", "power"), [(NORMAL, 1.0), (NORMAL, 0.6), (BINARY, 1.0)], ids=["normal", "power", "binary"]
)
def test_predictive_distributions_and_coefficients(options: dict[str, Any], power: float) -> None:
    """Against normal equations, in which every row counts as much as the power says; draws of coefficients by their
    mean and covariance."""
    new = np.array([[nan, 2.0, nan, 1.0, 1.7]])
    model = with_new(new, **options, power=power)
    outcome = 4 if options is NORMAL else 0
    here = (LABELS == 1) & ~np.isnan(ROWS[:, outcome])
    mean, deviation = ROWS[:, 3].mean(), ROWS[:, 3].std()
    X, x = design(), np.array([1.0, (1.0 - mean) / deviation, 0.0, 1.0])
    kappa0, m0 = (0.4, 0.5) if options is NORMAL else (1.0, 0.0)
    y = ROWS[:, 4] if options is NORMAL else np.where(ROWS[:, 0] == 1, 1.0, -1.0)
    precision = kappa0 * np.eye(4) + power * X[here].T @ X[here]
    beta = np.linalg.solve(precision, power * X[here].T @ (y[here] - m0))
    residual = y[here] - m0 - X[here] @ beta
    b = 0.8 + 0.5 * (power * residual @ residual + kappa0 * beta @ beta)
    a = 1.5 + 0.5 * power * here.sum()
    variance = b / a if options is NORMAL else 1.0
    location, scale, freedom = model.regression.predictive(6, [0, 1, 3])
    assert location[0, 1] == pytest.approx(m0 + x @ beta)
    assert scale[0, 1] == pytest.approx(np.sqrt(variance * (1 + x @ np.linalg.solve(precision, x))))
    assert freedom[1] == (2 * a if options is NORMAL else np.inf)
    assert location[0, 2] == pytest.approx(m0)
    rng = Rng(1)
    drawn = np.array([model.regression.draw(rng, 2)[1] for _ in range(20_000)]) * [1, deviation, 1, 1]
    spread = (b / (a - 1) if options is NORMAL else 1.0) * np.linalg.inv(precision)
    error = np.sqrt(np.diag(spread) / 20_000)
    assert (np.abs(drawn.mean(axis=0) - beta - [m0, 0, 0, 0]) < 4 * error).all()
    unit = np.sqrt(np.outer(np.diag(spread), np.diag(spread)))
    np.testing.assert_allclose(np.cov(drawn.T) / unit, spread / unit, atol=0.08)
    if options is BINARY:
        return
    widened = 1 + x @ np.linalg.solve(precision, x)
    for step in (0.0, 0.7):
        found, without = (
            with_new(new * [1, 1, 1, 1, known], **NORMAL, power=power, resolution=[step]).log_predictive(6)[0][0, 1]
            for known in (1.0, nan)
        )
        b_n, off = b + power * here.sum() * step**2 / 24, (1.7 - location[0, 1]) ** 2 / widened + step**2 / 12
        constant = gammaln(a + 0.5) - gammaln(a) - 0.5 * np.log(2 * np.pi * b_n * widened)
        assert found - without == pytest.approx(constant - (a + 0.5) * np.log1p(0.5 * off / b_n), abs=1e-9)


GAPS = np.array([[1, 0, 2, nan, 0.9], [0, 1, 5, 1.1, 0.2], [1, 2, 0, -0.7, nan], [0, 0, 1, 2.4, -0.4]])
TOGETHER: dict[str, dict[str, Any]] = {
    "full, gaps": {"covariance": "full"},
    "t": {"tails": "t"},
    "b0 of others": {"beta1": 0.7, "alpha": 0.9},
}


@pytest.mark.parametrize("name", TOGETHER)
def test_other_parts_are_what_they_are_alone(name: str) -> None:
    """The likelihood is the likelihood without the outcome and its effects, given the same parameters, times that of
    the latent outcomes; parameters come back as they were set."""
    options = TOGETHER[name]
    model = build(GAPS, outcome="b", effects=["c"], **options)
    other = Mixed(GAPS[:, 2:], TYPES[2:], None, concentration=1.3, resolution="none", **PRIOR | options)
    rng = Rng(2)
    model.set_labels(np.array([0, 0, 1, 0], dtype=np.int32))
    for _ in range(3):
        Refresh(model, rng).step()
    held = model.parameters
    u = held[:4, 0]
    assert ((u > 0) == (GAPS[:, 0] == 1)).all()
    other.set_labels(model.labels)
    if len(held) > 4:
        other.set_parameters(held[4:, 0])
    X = design_matrix(GAPS, TYPES, LEVELS, [1])
    expected = sum(log_latent(u[here], X[here], np.ones(3)) for here in (model.labels == 0, model.labels == 1))
    assert model.log_lik_total() - other.log_lik_total() == pytest.approx(expected, abs=1e-9)
    again = build(GAPS, outcome="b", effects=["c"], **options)
    again.set_labels(model.labels)
    again.set_parameters(held)
    np.testing.assert_array_equal(again.parameters, held)
    assert again.log_joint() == pytest.approx(model.log_joint(), abs=1e-9)


def test_a_real_outcome_stands_apart_from_jointly_normal_columns() -> None:
    rows = np.array(
        [[0, 1.2, 0.3, 1.0], [1, -0.4, nan, 0.2], [2, 0.9, 1.5, 2.0], [0, nan, -0.8, 0.1], [1, 2.0, 0.4, 0.6]]
    )
    columns = (COLUMNS[1], *[ColumnType("real")] * 3)
    options = PRIOR | {"covariance": "full", "resolution": "none", "concentration": 1.3}
    model, other = Mixed(rows, columns, outcome=2, effects=[1], **options), Mixed(rows[:, 2:], columns[2:], **options)
    z = np.array([0, 0, 1, 1, 0], dtype=np.int32)
    for own in (model, other):
        own.set_labels(z)
    other.set_parameters(model.parameters)
    X, there = design_matrix(rows, ("categorical",), (3,), [0]), ~np.isnan(rows[:, 1])
    prior = np.full(3, 0.4), 0.5, 1.5, 0.8
    expected = sum(log_regression(rows[here, 1], X[here], *prior) for here in ((z == 0) & there, (z == 1) & there))
    assert model.log_lik_total() - other.log_lik_total() == pytest.approx(expected, abs=1e-9)


def test_resuming_goes_on_as_if_never_stopped() -> None:
    check_resumption(lambda: usual_chain(build(np.repeat(ROWS, 5, axis=0), **BINARY), 8), 60)


def test_without_effects_the_outcome_is_a_column() -> None:
    for name in ("b", "c", "n", "y"):
        one, other = build(), build(outcome=name)
        for model in (one, other):
            model.set_labels(LABELS)
        assert one.log_joint() == pytest.approx(other.log_joint(), abs=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outcome": "z"}, "model.outcome: no column z; expected one of b, c, n, e, y"),
        ({"outcome": "e", "effects": ["y"]}, "model.effects: row 2, column 5 .'y'.: a missing cell; expected none"),
        ({"outcome": "n", "effects": ["e"]}, "model.effects: an outcome of type count has no effects"),
        ({"outcome": "e", "effects": ["e"]}, "expected different columns, none of them model.outcome"),
        ({"outcome": True}, "model.outcome=true: expected the name of a column"),
        ({"outcome": 9}, "model.outcome: no column 9"),
    ],
)
def test_refusals_name_the_key(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(**options)
    empty = np.where(np.arange(5) == 4, nan, ROWS)
    with pytest.raises(ValueError, match=r"model\.outcome=y: all cells are missing; expected a column"):
        build(empty, outcome="y")
    with pytest.raises(ValueError, match="positive where the outcome is 1"):
        build(**BINARY).set_parameters(np.ones(5))


# ---- Answers of two draws

STATES = [State(LABELS, 2, {}), State(np.array([0, 0, 0, 1, 2, 1], dtype=np.int32), 3, {})]
NEW = np.array([[1.0, 2.0, 4.0, 0.9, 1.7], [0.0, 0.0, 9.0, -1.0, 0.2]])


def shares_of(at: int, **options: Any) -> list[tuple[Any, NDArray[np.float64]]]:
    """The model in each draw, and the joint weights of the other columns of `NEW` and its clusters, ``[n, K + 1]``."""
    new = np.array(NEW)
    new[:, at] = nan
    found = []
    for state in STATES:
        model = with_new(new, **options)
        model.set_labels(np.append(state.labels, np.full(2, state.K)).astype(np.int32))
        found.append((model, np.exp(sum(model.log_predictive(6)))))
    return found


def test_predictions_of_a_number_are_of_the_mixture_over_draws_and_clusters() -> None:
    model = component("model", "mixed", **{"resolution": "none", "concentration": 1.3}, **PRIOR, **NORMAL)
    found = predict_outcome(model, dataset(), dataset(NEW), STATES, 0.8)
    cdf, total, mean, density = np.zeros((2, 2)), np.zeros(2), np.zeros(2), np.zeros(2)
    for own, weight in shares_of(4, **NORMAL):
        K = weight.shape[1] - 1
        location, scale, freedom = own.regression.predictive(6, [*range(K), K + 1])
        spread = stats.t(freedom, location, scale)
        total += weight.sum(axis=1)
        mean += (weight * location).sum(axis=1)
        density += (weight * spread.pdf(NEW[:, [4]])).sum(axis=1)
        for at, end in enumerate((found.low, found.high)):
            assert end is not None
            cdf[at] += (weight * spread.cdf(end[:, None])).sum(axis=1)
    np.testing.assert_allclose(found.mean, mean / total, rtol=1e-10)
    np.testing.assert_allclose(cdf / total, [[0.1, 0.1], [0.9, 0.9]], atol=0.02)
    np.testing.assert_allclose(
        outcome_densities(model, dataset(), dataset(NEW), STATES), np.log(density / total), atol=1e-9
    )


@pytest.mark.parametrize("options", [{"outcome": "c"}, BINARY | {"effects": ("e",)}, {"outcome": "n"}])
def test_predictions_of_levels_and_counts(options: dict[str, Any]) -> None:
    """Ratios of the joint densities of row and outcome; a density of the outcome is the probability of its level."""
    model = component("model", "mixed", **{"resolution": "none", "concentration": 1.3}, **PRIOR, **options)
    states = STATES
    if "effects" in options:
        u = np.array([1.2, -0.3, 0.8, -1.1, 0.4])
        states = [replace(state, parameters=u) for state in STATES]
    found = predict_outcome(model, dataset(), dataset(NEW), states)
    density = np.exp(outcome_densities(model, dataset(), dataset(NEW), states))
    if options["outcome"] == "n":
        own, total, mean = 0.0, np.zeros(2), np.zeros(2)
        x, weights = ROWS[:, 2], shares_of(2, **options)
        for (_, weight), state in zip(weights, states, strict=True):
            n = np.bincount(state.labels, minlength=state.K + 1)
            shape, rate = 1.4 + np.bincount(state.labels, x, state.K + 1), 0.5 + n
            total += weight.sum(axis=1)
            mean += weight @ (shape / rate)
            own = own + (weight * stats.nbinom.pmf(NEW[:, [2]], shape, rate / (rate + 1))).sum(axis=1)
        np.testing.assert_allclose(found.mean, mean / total, rtol=1e-10)
        np.testing.assert_allclose(density, own / total, rtol=1e-9)
        return
    probability = found.probability
    assert probability is not None
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    observed = NEW[:, 1 if options["outcome"] == "c" else 0].astype(int)
    np.testing.assert_allclose(probability[[0, 1], observed], density, rtol=1e-9)


def test_rows_of_a_new_unit_have_effects_as_the_data_are_standardised() -> None:
    """The joint density of both outcomes, by a dense regression."""
    model = component(
        "model", "mixed", **{"resolution": "none", "concentration": 1.3}, **PRIOR, outcome="y", effects=("e",)
    )
    data = replace(dataset(), bundles=Bundles(np.array([0, 1, 2, 3, 4, 4], dtype=np.int32), prior_counts="items"))
    labels = np.array([0, 0, 1, 1, 0, 0], dtype=np.int32)
    new = np.array(NEW)
    new[:, 3] = 7.0, 9.0
    masked = np.array(new)
    masked[:, 4] = nan
    joint, rest = (
        next(iter(by_state(model, data, replace(dataset(each), bundles=UNIT), [State(labels, 2, {})])))[1][0, 0]
        for each in (new, masked)
    )
    mean, deviation = ROWS[:, 3].mean(), ROWS[:, 3].std()
    X, X_new = (np.column_stack([np.ones(len(each)), (each[:, 3] - mean) / deviation]) for each in (ROWS, new))
    here, prior = (labels == 0) & ~np.isnan(ROWS[:, 4]), (np.full(2, 0.4), 0.5, 1.5, 0.8)
    expected = log_regression(np.append(ROWS[here, 4], new[:, 4]), np.vstack([X[here], X_new]), *prior)
    assert joint - rest == pytest.approx(expected - log_regression(ROWS[here, 4], X[here], *prior), abs=1e-9)


def test_an_outcome_of_levels_is_predicted_by_all_rows_of_a_new_unit() -> None:
    """As densities of both rows together say, without the other outcome; a table without any outcome works, too."""
    model = component("model", "mixed", **{"resolution": "none", "concentration": 1.3}, **PRIOR, outcome="c")
    masked = np.array(NEW)
    masked[:, 1] = nan
    found = predict_outcome(model, dataset(), replace(dataset(masked), bundles=UNIT), STATES).probability
    assert found is not None
    for row in (0, 1):
        density = []
        for level in range(3):
            rows = np.array(masked)
            rows[row, 1] = level
            unit = replace(dataset(rows), bundles=UNIT)
            density.append(predict(model, dataset(), unit, STATES, LABELS).log_density[0])
        np.testing.assert_allclose(found[row], normalise(density), atol=1e-12)


def test_a_new_row_without_an_effect_is_refused() -> None:
    new = np.array(NEW)
    new[1, 3] = nan
    model = component("model", "mixed", **{"resolution": "none"}, **PRIOR, **NORMAL)
    with pytest.raises(ConfigError, match=r"model.effects: new items: row 2, column 4 .'e'.: a missing cell"):
        predict_outcome(model, dataset(), dataset(new), STATES)


def test_an_outcome_and_an_effect_on_a_scale() -> None:
    """The density of an outcome is one in its units, an effect has none; the mean is the mean on the scale."""
    rows, new = np.array(ROWS), np.array(NEW)
    for table in (rows, new):
        table[:, 3:] = np.exp(table[:, 3:])
    scaled = read_scales(dataset(rows), {"e": "log", "y": "log"})
    model = component("model", "mixed", **{"resolution": "none"}, **PRIOR, **NORMAL)
    items = scaled.kind.new_items(scaled, dataset(new))
    ours, logs = (
        next(iter(by_state(model, *tables, STATES)))[1] for tables in ((scaled, items), (dataset(), dataset(NEW)))
    )
    np.testing.assert_allclose(ours - logs, np.tile(-NEW[:, [4]], 3), atol=1e-12)
    one, other = (predict_outcome(model, *t, STATES) for t in ((scaled, items), (dataset(), dataset(NEW))))
    for name in ("mean", "low", "high"):
        np.testing.assert_allclose(getattr(one, name), np.exp(getattr(other, name)), rtol=1e-12)


def test_a_constant_effect_is_no_effect() -> None:
    """Also where the mean of equal numbers is rounded."""
    log_joint = []
    for value in (0.0, 0.1):
        rows = np.array(ROWS)
        rows[:, 3] = value
        model = build(rows, outcome="y", effects=["e"])
        model.set_labels(LABELS)
        log_joint.append(model.log_joint())
    assert log_joint[0] == log_joint[1] and np.full(6, 0.1).std() > 0.0


def test_effects_of_a_partition_do_not_depend_on_numbers_of_clusters() -> None:
    model = component("model", "mixed", **{"resolution": "none", "concentration": 1.3}, **PRIOR, **NORMAL)
    turned = [replace(state, labels=(state.K - 1 - state.labels).astype(np.int32)) for state in STATES]
    one, other = (find_effects(model, dataset(), each * 2_000, LABELS) for each in (STATES, turned))
    assert [row[1] for row in one["rows"][:4]] == ["intercept", "e", "c=b", "c=c"]
    first, second = (np.array([row[2:] for row in found["rows"]]) for found in (one, other))
    np.testing.assert_allclose(first[:, 0], second[:, 0], atol=0.12)
    assert (first[:, 1] < first[:, 0]).all() and (first[:, 0] < first[:, 2]).all()
    for name, terms in (("b", ["P(b)"]), ("c", ["P(a)", "P(b)", "P(c)"]), ("n", ["rate"])):
        own = component("model", "mixed", outcome=name, **PRIOR)
        rows = find_effects(own, dataset(), STATES * 100, LABELS)["rows"]
        assert [row[1] for row in rows if row[0] == 0] == terms


def test_rows_that_count_twice_are_two_rows_in_effects() -> None:
    """Whole weights, and halves that are a power of the likelihood; latent outcomes do not go with weights."""
    model = component("model", "mixed", **{"resolution": "none", "concentration": 1.3}, **PRIOR, **NORMAL)
    weights = np.array([1, 2, 1, 1, 3, 1])
    bundles = Bundles(np.arange(6, dtype=np.int32), weights)
    rows = np.repeat(np.arange(6), weights)
    weighted = find_effects(model, replace(dataset(), bundles=bundles), STATES * 5, LABELS)
    repeated = [replace(state, labels=state.labels[rows]) for state in STATES]
    assert weighted == find_effects(model, dataset(ROWS[rows]), repeated * 5, LABELS[rows])
    # also where the data say what the rate's prior is
    for own in (model, component("model", "mixed", outcome="n", resolution="none")):
        alone = predict_outcome(own, dataset(ROWS[rows]), dataset(NEW), repeated)
        counted = predict_outcome(own, replace(dataset(), bundles=bundles), dataset(NEW), STATES)
        np.testing.assert_allclose(counted.mean, alone.mean, rtol=1e-10)
        np.testing.assert_array_equal(counted.low, alone.low)
    halves = find_effects(model, replace(dataset(), bundles=replace(bundles, unit=0.5)), STATES * 5, LABELS)
    powered = component("model", "mixed", power=0.5, resolution="none", concentration=1.3, **PRIOR, **NORMAL)
    assert halves == find_effects(powered, dataset(ROWS[rows]), repeated * 5, LABELS[rows])
    assert build().why_not_added == "" and "latent" in build(**BINARY).why_not_added


# ---- Simulation-based calibration of predictions

CALIBRATED: dict[str, dict[str, Any]] = {"normal": {"outcome": 4, "effects": [5, 2]}, "count": {"outcome": 3}}
SETS = 300


def draw_and_predict(options: dict[str, Any], **fitted: Any) -> tuple[NDArray[np.float64], list[Any]]:
    """Draw the outcome of an unseen row, and its prediction, for each of `SETS` data sets of prior and model."""
    known = {"concentration": 2.0, "m0": 0.0, "b0": 1.0, "resolution": 0.0, "rate": 0.3, "kappa0": 0.4} | options
    setting = Setting("mixed", known)
    spec, of_chain = setting.specify(), setting.specify(fitted)
    y, predictions = [], []
    for number in range(SETS):
        rng, outline = np.random.default_rng([23, number]), spec.model.kind.outline(31, 2)
        outline.values[:, 4], outline.values[:, 1] = rng.normal(size=31), rng.integers(3, size=31)
        labels = spec.model.target.from_data(outline, **spec.model.options).prior_labels(rng)[0]
        values = spec.model.target.simulate(rng, simulation.Given(outline, labels, spec.model.options, None, known=0))
        table, new = replace(outline, values=values[:30]), replace(outline, values=values[30:])
        rows = Builder(of_chain, table, None, False, 10).chain(number).advance(1_500)
        # latent outcomes
        parameters = rows.get("partition_parameters", [None] * len(rows["partition_labels"]))
        states = [
            State(z, int(z.max()) + 1, {}, held) for z, held in zip(rows["partition_labels"], parameters, strict=True)
        ]
        y.append(values[30, known["outcome"] - 1])
        predictions.append(predict_outcome(of_chain.model, table, new, states[30:]))
    return np.array(y), predictions


def count_covered(y: NDArray[np.float64], predictions: list[Any]) -> int:
    return sum(bool(one.low[0] <= value <= one.high[0]) for value, one in zip(y, predictions, strict=True))


@pytest.mark.slow  # 300 chains each
@pytest.mark.parametrize("name", CALIBRATED)
def test_intervals_cover_as_often_as_they_say(name: str) -> None:
    """Intervals of 90 %, those of whole numbers at least as often; with a wrong prior they cover too often."""
    covered = count_covered(*draw_and_predict(CALIBRATED[name]))
    assert stats.binom.cdf(covered, SETS, 0.9) > 1e-3
    if name == "normal":
        assert stats.binom.sf(covered - 1, SETS, 0.9) > 1e-3
        wrong = count_covered(*draw_and_predict(CALIBRATED[name], b0=9.0))
        assert stats.binom.sf(wrong - 1, SETS, 0.9) < 1e-3


@pytest.mark.slow  # 300 chains
def test_probabilities_of_outcomes_are_calibrated() -> None:
    """On average, and where they are large and small."""
    y, found = draw_and_predict({"outcome": 1, "effects": [5]})
    p = np.array([one.probability[0, 1] for one in found])
    for lean in (np.ones(SETS), p - 0.5):
        assert abs(((y - p) * lean).sum()) < 3.0 * np.sqrt((p * (1 - p) * lean**2).sum())
