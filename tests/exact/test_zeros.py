"""Zeros of counts with a probability of their own in each cluster, ``model.zeros=apart``.

`test_feature_pairs.py` has the option with every other one; here are the integrals themselves, items of several rows,
new rows, and what is refused.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln

from splitmerge_cli.analysis.predictive import by_state
from splitmerge_cli.config import choice, read_component
from splitmerge_cli.core import bundles, simulation
from splitmerge_cli.data.bundles import Bundles
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.tables.scaled import put_on_scales
from splitmerge_cli.data.values import Scale
from splitmerge_cli.kinds.tables.models import mixed, mixed_cells
from splitmerge_cli.kinds.tables.models.gamma_poisson import GammaPoisson
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.runs.draws import State
from splitmerge_cli.verify.cases import small_case

COUNTS = np.array([[0.0, 3.0], [2.0, 0.0], [0.0, np.nan], [5.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
TYPES = (ColumnType("count"), ColumnType("count"))
OPTIONS = {"shape": 1.4, "rate": [0.5, 0.8], "beta1": 0.6, "beta0": 0.9, "zeros": "apart"}
LABELS = np.array([0, 1, 0, 1, 1, 0], dtype=np.int32)


def table(values=COUNTS, **fields) -> Dataset:
    return Dataset("t", "mixed", values, types=TYPES, **fields)


def integrate(cells: np.ndarray, rate: float, power: float) -> float:
    """The likelihood of a column in a cluster, to this power, over its probability of 0 and its rate, by quadrature."""
    n0, above = int((cells == 0).sum()), cells[cells > 0]
    of_zeros = quad(lambda p: (p**n0 * (1 - p) ** len(above)) ** power * stats.beta.pdf(p, 0.6, 0.9), 0, 1)[0]

    def of_rates(r: float) -> float:
        return np.exp(power * stats.poisson.logpmf(above - 1, r).sum()) * stats.gamma.pdf(r, 1.4, scale=1 / rate)

    return float(np.log(of_zeros) + np.log(quad(of_rates, 0, np.inf, epsabs=1e-14)[0]))


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_the_likelihood_is_an_integral(power: float) -> None:
    model = Mixed.from_data(table(), power=power, **OPTIONS)
    model.set_labels(LABELS)
    expected = 0.0
    for j, rate in enumerate(OPTIONS["rate"]):
        for k in range(2):
            cells = COUNTS[k == LABELS, j]
            expected += integrate(cells[~np.isnan(cells)], rate, power)
    assert model.log_lik_total() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("more", [{}, {"tails": "t"}, {"select": True}])
def test_densities_of_new_rows_add_up_to_one(more: dict) -> None:
    """In each cluster, and in a new one."""
    values, types = COUNTS[:, :1], TYPES[:1]
    if "tails" in more:
        values, types = np.column_stack([COUNTS[:, 0], [0.1, 0.9, 0.3, 2.0, 1.1, 0.4]]), (TYPES[0], ColumnType("real"))
    data = Dataset("t", "mixed", values, types=types)
    new = np.full((400, values.shape[1]), np.nan)
    new[:, 0] = np.arange(400)
    whole = Dataset("t", "mixed", np.concatenate([values, new]), types=types)
    model = Mixed.with_new(data, whole, **OPTIONS | {"rate": 0.5} | more)
    model.set_labels(np.append(LABELS, np.full(400, 2)).astype(np.int32))
    density, _ = model.log_predictive(6)
    # tails are integrated by quadrature where a row has no real cell
    assert np.exp(density).sum(axis=0) == pytest.approx(1.0, abs=1e-5 if "tails" in more else 1e-6)


def test_it_is_a_column_of_zeros_and_one_of_counts_above_0() -> None:
    """Draw by draw."""
    more = {key: value for key, value in OPTIONS.items() if key != "zeros"}
    apart = np.where(COUNTS > 0, COUNTS - 1, np.nan), np.where(np.isnan(COUNTS), np.nan, COUNTS == 0)
    by_hand = Mixed(np.column_stack(apart), ["count", "count", "binary", "binary"], **more)
    model = Mixed(COUNTS, ["count", "count"], **OPTIONS)
    for labels in (LABELS, np.arange(6), np.zeros(6)):
        for one in (model, by_hand):
            one.set_labels(labels.astype(np.int32))
        assert model.log_lik_total() == by_hand.log_lik_total() and model.log_joint() == by_hand.log_joint()


def test_the_default_rate_is_that_of_counts_above_0() -> None:
    """Also in new rows, which do not change what the rate means."""
    found = Mixed.with_defaults_of(table(), shape=2.0, zeros="apart")["rate"]
    assert found == [2.0 / np.mean([1, 4, 0]), 2.0 / np.mean([2, 0])]
    whole = np.nan_to_num(COUNTS).astype(np.int32)
    data = Dataset("t", "counts", whole)
    assert GammaPoisson.with_defaults_of(data, shape=2.0, zeros="apart")["rate"] == found
    assert GammaPoisson.with_defaults_of(data, rate=0.3, zeros="apart")["rate"] == [0.3, 0.3]
    own = (
        Mixed.from_data(table(), shape=2.0, zeros="apart"),
        Mixed.from_data(table(), rate=found, shape=2.0, zeros="apart"),
    )
    assert own[0].log_lik_total() == own[1].log_lik_total()


def test_counts_alone_are_the_same_model() -> None:
    whole = np.nan_to_num(COUNTS).astype(np.int32)
    options = {"shape": 1.4, "rate": [0.5, 0.8], "zeros": "apart"}
    model = GammaPoisson.from_data(Dataset("t", "counts", whole), **options)
    mixed_model = Mixed.from_data(table(np.nan_to_num(COUNTS)), **options)
    for one in (model, mixed_model):
        one.set_labels(LABELS)
    assert model.log_lik_total() == mixed_model.log_lik_total()
    expected = GammaPoisson.reference_log_lik(whole, LABELS, shape=1.4, rate=[0.5, 0.8], zeros="apart")
    assert model.log_lik_total() == pytest.approx(expected, abs=1e-9)


def test_rows_that_count_twice_are_two_rows() -> None:
    """Weights that are numbers of rows, and rows of one unit."""
    twice = np.concatenate([COUNTS, COUNTS[1:3]])
    weights = np.array([1, 2, 2, 1, 1, 1])
    of_weights = bundles.build(Mixed, table(bundles=Bundles(np.arange(6, dtype=np.int32), weights)), OPTIONS)
    items = np.array([0, 1, 2, 3, 4, 5, 1, 2], dtype=np.int32)
    of_units = bundles.build(Mixed, table(twice, bundles=Bundles(items)), OPTIONS)
    rows = Mixed.from_data(table(twice), **OPTIONS)
    of_weights.set_labels(LABELS)
    of_units.set_labels(LABELS[items])
    rows.set_labels(LABELS[items])
    assert of_weights.log_lik_total() == pytest.approx(rows.log_lik_total(), abs=1e-9)
    assert of_units.log_lik_total() == pytest.approx(rows.log_lik_total(), abs=1e-9)


def test_a_wrong_split_of_counts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: zeros that are counted twice; counts that are not shifted; spikes of reals among the other cells; their
    codes the wrong way round; missing cells that are no spikes, where nothing is known."""

    def twice(found: dict, values: np.ndarray) -> None:
        found["values"][:, 2] = np.where(values[:, 2] == 0, 0.0, found["values"][:, 2])

    def without_shift(found: dict, values: np.ndarray) -> None:
        found["values"][:, 2] += 1.0

    def left(found: dict, values: np.ndarray) -> None:
        found["values"][:, 3] = values[:, 3]

    def reversed_codes(found: dict, values: np.ndarray) -> None:
        found["values"][:, -1] = 1.0 - found["values"][:, -1]

    def no_spikes(found: dict, values: np.ndarray) -> None:
        found["values"][:, -2:] = np.nan_to_num(found["values"][:, -2:])

    right = small_case(Mixed, 4, 1, {"zeros": "apart", "spikes": True})
    for change in (None, twice, without_shift, left, reversed_codes, no_spikes):

        def part_and_change(values, kinds, levels, spikes, change=change) -> dict:
            found = mixed_cells.part_zeros(values, kinds, levels, spikes)
            if change is not None:
                change(found, values)
            return found

        monkeypatch.setattr(mixed, "part_zeros", part_and_change)
        model, log_joint = right.build(), []
        for labels, _ in right.states:
            model.set_labels(np.array(labels, dtype=np.int32))
            log_joint.append(model.log_joint())
        weight = np.exp(np.array(log_joint) - max(log_joint))
        worst = np.abs(weight / weight.sum() - right.pi).max()
        assert worst < 1e-9 if change is None else worst > 1e-3, change


@pytest.mark.parametrize(
    ("build_one", "message"),
    [
        (
            lambda: Mixed(np.ones((3, 1)), ["real"], zeros="apart"),
            "the table has no column of counts, and no real column with one number",
        ),
        (lambda: Mixed(COUNTS - 0.5, ["count"] * 2, zeros="apart"), "column 1: -0.5 cannot be in a count column"),
        (
            lambda: Mixed.from_data(table(), outcome=1, zeros="apart"),
            "expected poisson with a column of counts as model",
        ),
        (lambda: GammaPoisson(np.ones((3, 1), dtype=np.int32), zeros="apart"), "expected GammaPoisson.from_data"),
        (
            lambda: GammaPoisson.from_data(
                Dataset("t", "counts", np.eye(3, dtype=np.int32), exposure=np.ones(3)), zeros="apart"
            ),
            "expected poisson with data.exposure",
        ),
    ],
)
def test_what_does_not_go_together(build_one, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_one()


def test_a_column_of_zeros_or_without_any() -> None:
    """Neither has a mean to take a default from, nor a cell that is missing."""
    values = np.array([[0.0, 4.0], [0.0, 2.0], [0.0, 9.0]])
    model = Mixed.from_data(table(values), zeros="apart")
    expected = 2 * (gammaln(3.5) - gammaln(0.5) - gammaln(4.0)) + integrate_rates(values[:, 1] - 1)
    assert model.log_lik_total() == pytest.approx(expected, abs=1e-9)


def integrate_rates(counts: np.ndarray) -> float:
    """Log likelihood of a cluster's counts under the default prior, in closed form."""
    n, s, rate = len(counts), counts.sum(), 1 / counts.mean()
    return float(np.log(rate) + gammaln(1 + s) - (1 + s) * np.log(rate + n) - gammaln(counts + 1).sum())


SPIKE = (0.0, 0.1)
AMOUNTS = np.array([[0.0, 3.1], [2.4, 0.0], [0.0, np.nan], [np.nan, 1.2], [1.3, 0.0], [3.5, 2.2]])
REALS = (ColumnType("real", spike=SPIKE), ColumnType("real"))
PRIOR = {"m0": 1.0, "kappa0": 0.4, "a0": 1.5, "b0": 0.8, "beta1": 0.6, "beta0": 0.9}


def test_a_spike_is_integrated_out_apart_from_the_other_cells() -> None:
    """By quadrature over the probability of the spike, the mean and the variance of a cluster. A missing cell is
    neither; a 0 of a column without a spike is a number like others."""
    model = Mixed.from_data(Dataset("t", "mixed", AMOUNTS, types=REALS), zeros="apart", **PRIOR)
    model.set_labels(LABELS)
    expected = 0.0
    for j in range(2):
        for k in range(2):
            cells = AMOUNTS[k == LABELS, j]
            cells = cells[~np.isnan(cells)]
            n0, others = (int((cells == 0).sum()), cells[cells != 0]) if j == 0 else (0, cells)

            def of_variance(v: float, others=others) -> float:
                # the mean is integrated out: a normal vector with a common part
                covariance = v * (np.eye(len(others)) + 1 / PRIOR["kappa0"])
                density = stats.multivariate_normal(np.full(len(others), PRIOR["m0"]), covariance).pdf(others)
                return float(density * stats.invgamma.pdf(v, PRIOR["a0"], scale=PRIOR["b0"]))

            expected += np.log(quad(of_variance, 0, np.inf, epsabs=1e-13)[0]) if len(others) else 0.0
            if j == 0:
                likelihood = quad(lambda p: p**n0 * (1 - p) ** len(others) * stats.beta.pdf(p, 0.6, 0.9), 0, 1)[0]  # noqa: B023
                expected += np.log(likelihood)
    assert model.log_lik_total() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("scale", [None, Scale("yeo-johnson", 0.3)])
def test_densities_of_a_column_with_a_spike_add_up_to_one(scale) -> None:
    """Over the numbers off the spike, in the units of the data, and a step of the spike."""
    types, cells = REALS[:1], np.array([[0.0], [1.2], [0.0], [2.5], [0.9], [0.0]])
    data = put_on_scales(Dataset("t", "mixed", cells, types=types), None if scale is None else (scale,))
    grid = np.append(np.linspace(-60.0, 60.0, 24_000), 0.0)
    new = put_on_scales(Dataset("t", "mixed", grid[:, None], types=types), None if scale is None else (scale,))
    component = read_component("model", "mixed", choice("model", "mixed") | PRIOR | {"zeros": "apart"})
    state = State(np.array([0, 1, 0, 1, 1, 0], dtype=np.int32), 2, {}, None)
    _, log_density, _ = next(by_state(component, data, new, [state]))
    mass, density = np.exp(log_density[-1]) * SPIKE[1], np.exp(log_density[:-1])
    assert mass[0] == pytest.approx((0.6 + 3) / (1.5 + 3)) and mass[1] == pytest.approx(0.6 / (1.5 + 3))
    total = mass + np.trapezoid(density, grid[:-1], axis=0)
    assert total[:2] == pytest.approx(1.0, abs=2e-3)


def test_rows_that_are_drawn_have_the_spike_as_often() -> None:
    """Given many rows, of two clusters; the other cells are those of the clusters."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 300)
    x = np.where(
        rng.random(600) < np.where(labels == 0, 0.7, 0.2), 0.0, rng.normal(np.where(labels == 0, 5.0, 9.0), 1.0)
    )
    data = Dataset("t", "mixed", np.column_stack([x, rng.normal(0.0, 1.0, 600)]), types=REALS)
    options = {option.name: option.default for option in Mixed.OPTIONS} | {"zeros": "apart", "beta1": 0.5, "beta0": 0.5}
    options |= Mixed.with_defaults_of(data, **options)
    made = Mixed.simulate(rng, simulation.Given(data, labels, options))
    for k, (share, mean) in enumerate([(0.7, 5.0), (0.2, 9.0)]):
        cells = made[labels == k, 0]
        assert (cells == 0.0).mean() == pytest.approx(share, abs=0.1)
        assert cells[cells != 0.0].mean() == pytest.approx(mean, abs=0.4)
    assert not (made[:, 1] == 0.0).any()


def test_noise_takes_no_spikes() -> None:
    data = Dataset("t", "mixed", AMOUNTS, types=REALS)
    with pytest.raises(ValueError, match=r"model\.zeros=apart of real columns"):
        Mixed.from_data(data, zeros="apart", noise=0.1)
    assert Mixed.from_data(data, noise=0.1).N == 6
