"""A background of noise (model.noise): the likelihood beside a sum over all kinds of clusters, mutants, densities of
items. Kernels are in the tests of every sampler, and of pairs of features; ranks of the noise in the calibration.
"""

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
import scores
from numpy.typing import NDArray
from scipy.special import logsumexp

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.tables.cases import noise_log_weight, noisy_points_log_weight
from splitmerge_cli.kinds.tables.models import gaussian, mixed
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.verify import continuous, transitions
from splitmerge_cli.verify.enumerate import State, normalise, partitions

POINTS = np.array([[0.1, 1.3], [0.4, 0.9], [-0.3, 1.1], [2.6, -1.0], [9.0, -0.2]])
GAPPED = np.where([[0, 0], [0, 1], [0, 0], [1, 0], [0, 0]], np.nan, POINTS)
BOX = np.array([[-1.0, -2.0], [4.0, 2.0]])
"""The last row is outside."""
HYPER: dict[str, Any] = {"m0": 0.5, "kappa0": 0.4, "a0": 1.5, "b0": 0.8}
RHO = 0.3
STATES: list[State] = [(labels, max(labels) + 1) for labels in partitions(5)]
FORMS: dict[str, tuple[NDArray[np.float64], dict[str, Any]]] = {
    "diag": (POINTS, {"covariance": "diag"}),
    "iso, power": (POINTS, {"covariance": "iso", "power": 0.4}),
    "full, resolution": (POINTS, {"covariance": "full", "resolution": [0.5, 0.2]}),
    "diag, gaps": (GAPPED, {"covariance": "diag", "resolution": [0.5, 0.0], "power": 0.4}),
}


def build(points: NDArray[np.float64], known: int | None = None, **options: Any) -> Any:
    given = {"concentration": 1.3, "noise": RHO, "box": BOX.T.ravel().tolist(), "resolution": "none"} | HYPER | options
    return gaussian.Gaussian.from_data(
        Dataset("small", "points", points), **given, **({} if known is None else {"known": known})
    )


def rest_of(options: dict[str, Any]) -> tuple[Any, ...]:
    step = np.asarray(options.get("resolution", 0.0))
    return options["covariance"], *HYPER.values(), step, options.get("power", 1.0)


@pytest.mark.parametrize("name", FORMS)
def test_log_lik_is_the_sum_over_kinds_in_every_partition(name: str) -> None:
    """And where no cluster is noise, where a row is outside of the box, and where the columns grow."""
    points, options = FORMS[name]
    model = build(points, **options)
    weigh = noisy_points_log_weight(points, 1.0, "uniform", RHO, BOX, *rest_of(options))
    for labels, K in STATES:
        model.set_labels(np.array(labels, dtype=np.int32))
        assert model.log_lik_total() == pytest.approx(weigh((labels, K)), abs=1e-10)
    p = model.noise_probabilities
    assert ((p >= 0.0) & (p <= 1.0)).all()
    assert p[model.labels[4]] == 0.0


@pytest.mark.parametrize("name", FORMS)
def test_mutants_of_the_background_are_found(name: str) -> None:
    """A Gibbs kernel is stationary for the posterior, and for none with an error in the background."""
    points, options = FORMS[name]
    model, rest = build(points, **options), rest_of(options)
    rng = Rng(0)
    P = transitions.transition_matrix(model, rng, Gibbs(model, rng, scan="site"), STATES)

    def pi(weigh: Any) -> NDArray[np.float64]:
        return normalise([weigh(state) for state in STATES])

    assert transitions.stationarity_defect(P, pi(noisy_points_log_weight(points, 1.3, "crp", RHO, BOX, *rest))) < 1e-12
    wide = np.array([[-1.0, -2.0], [10.0, 2.0]])
    mutants = {
        "no noise": continuous.gaussian_log_weight(points, 1.3, "crp", *rest),
        "kinds turned round": noisy_points_log_weight(points, 1.3, "crp", 1.0 - RHO, BOX, *rest),
        "another volume": noisy_points_log_weight(points, 1.3, "crp", RHO, 2.0 * BOX, *rest),
        "a row outside that may be noise": noisy_points_log_weight(points, 1.3, "crp", RHO, wide, *rest),
        "the power left out": noisy_points_log_weight(points, 1.3, "crp", RHO, BOX, *rest[:-1], 1.0),
    }
    for mutant, weigh in mutants.items():
        if mutant != "the power left out" or rest[-1] != 1.0:
            assert transitions.stationarity_defect(P, pi(weigh)) > 1e-4, mutant


@pytest.mark.parametrize("name", [name for name, (_, options) in FORMS.items() if "power" not in options])
def test_densities_of_new_rows_are_ratios_of_likelihoods(name: str) -> None:
    points, options = FORMS[name]
    new = np.array([[0.4, -0.8], [20.0, 0.3]])
    model = build(np.vstack([points, new]), 5, **options)
    alone = noisy_points_log_weight(points, 1.0, "uniform", RHO, BOX, *rest_of(options))
    for labels, K in (STATES[3], STATES[30]):
        model.set_labels(np.append(labels, [K, K]).astype(np.int32))
        found, _ = model.log_predictive(5)
        for i, k in itertools.product(range(2), range(K + 1)):
            rows = np.vstack([points, new[i]])
            weigh = noisy_points_log_weight(rows, 1.0, "uniform", RHO, BOX, *rest_of(options))
            ratio = weigh(((*labels, k), max(K, k + 1))) - alone((labels, K))
            assert found[i, k] == pytest.approx(ratio, abs=1e-9)


OF_LEVELS: tuple[tuple[str, ...], ...] = (("0", "1"), ("a", "b", "c"), (), (), ())
TYPES, LEVELS = ("binary", "categorical", "count", "real", "real"), (2, 3, 0, 0, 0)
CELLS = np.array([[0, 2, 3, 0.1, 1.3], [1, 0, 0, 0.4, np.nan], [0, 1, np.nan, -0.3, 1.1], [1, 2, 5, 2.6, -1.0]])
CELLS = np.vstack([CELLS, [0, 0, 9, 3.0, 0.2]])
ENDS = np.array([[-0.5, 1.5], [-0.5, 2.5], [-0.5, 6.5], *BOX.T]).T
"""The count of the last row is outside."""
OF_TABLE: dict[str, dict[str, Any]] = {
    "diag": {},
    "full, power": {"covariance": "full", "power": 0.4},
    "resolution": {"resolution": [0.5, 0.2]},
}


def build_table(options: dict[str, Any], cells: NDArray[np.float64], known: int | None = None) -> Any:
    of_table = {"concentration": 1.3, "rate": 0.5, "noise": RHO, "box": ENDS[:, 2:].T.ravel().tolist()} | HYPER
    dataset = Dataset("small", "mixed", cells, types=[ColumnType(*of) for of in zip(TYPES, OF_LEVELS, strict=True)])
    return mixed.Mixed.build(dataset.values, dataset.types, known, of_table | {"resolution": "none"} | options)


def weigh_cells(options: dict[str, Any], rows: Any, concentration: float, prior: str) -> Any:
    of_table = {"beta1": 0.5, "beta0": 0.5, "alpha": 0.5, "shape": 1.0, "rate": 0.5} | HYPER
    return continuous.mixed_log_weight(rows, TYPES, LEVELS, concentration, prior=prior, **of_table, **options)


def complete(name: str) -> NDArray[np.float64]:
    """The cells of a case; jointly normal columns have no missing ones."""
    return np.where(np.isnan(CELLS), [0, 0, np.nan, 0, 0.7], CELLS) if name.startswith("full") else CELLS


@pytest.mark.parametrize("name", OF_TABLE)
def test_noise_behind_a_table_of_several_types(name: str) -> None:
    """Likelihoods are sums over kinds, a Gibbs kernel is stationary for the posterior, and for no mutant."""
    cells, options = complete(name), OF_TABLE[name]
    model, power = build_table(options, cells), options.get("power", 1.0)
    weigh = partial(weigh_cells, options)
    alone = noise_log_weight(cells, 1.0, "uniform", RHO, ENDS, weigh, power)
    for labels, K in STATES:
        model.set_labels(np.array(labels, dtype=np.int32))
        assert model.log_lik_total() == pytest.approx(alone((labels, K)), abs=1e-10)
    assert model.noise_probabilities[model.labels[4]] == 0.0
    rng = Rng(0)
    P = transitions.transition_matrix(model, rng, Gibbs(model, rng, scan="site"), STATES)

    def defect(ends: NDArray[np.float64], rho: float = RHO, weigh: Any = weigh) -> float:
        log_weight = noise_log_weight(cells, 1.3, "crp", rho, ends, weigh, power)
        return transitions.stationarity_defect(P, normalise([log_weight(state) for state in STATES]))

    assert defect(ENDS) < 1e-12
    one_less, no_levels, wide = ENDS.copy(), ENDS.copy(), ENDS.copy()
    one_less[1, 2], no_levels[1, 0], wide[1, 2] = 5.5, 2.5, 9.5
    mutants = {"counts to 5": one_less, "three levels for two": no_levels, "a row outside that may be noise": wide}
    for mutant, ends in mutants.items():
        assert defect(ends) > 1e-4, mutant
    assert defect(ENDS, 1.0 - RHO) > 1e-4
    assert defect(ENDS, RHO, partial(weigh_cells, options | {"power": 0.9 * power})) > 1e-4


def test_densities_of_new_rows_of_a_table_are_ratios_of_likelihoods() -> None:
    new = np.array([[1, 1, 2, 0.4, -0.8], [1, 1, 20, 0.4, np.nan]])
    model, weigh = build_table({}, np.vstack([CELLS, new]), 5), partial(weigh_cells, {})
    alone = noise_log_weight(CELLS, 1.0, "uniform", RHO, ENDS, weigh)
    for labels, K in (STATES[3], STATES[30]):
        model.set_labels(np.append(labels, [K, K]).astype(np.int32))
        found, _ = model.log_predictive(5)
        for i, k in itertools.product(range(2), range(K + 1)):
            together = noise_log_weight(np.vstack([CELLS, new[i]]), 1.0, "uniform", RHO, ENDS, weigh)
            ratio = together(((*labels, k), max(K, k + 1))) - alone((labels, K))
            assert found[i, k] == pytest.approx(ratio, abs=1e-9)


def test_a_density_under_a_power_integrates_to_one() -> None:
    x = np.sinh(np.linspace(-9.0, 9.0, 6001))
    points = np.vstack([POINTS[:, :1], x[:, None]])
    model = build(points, 5, covariance="diag", power=0.4, box=[-1.0, 4.0])
    model.set_labels(np.append([0, 0, 0, 1, 1], np.full(len(x), 2)).astype(np.int32))
    density = np.exp(model.log_predictive(5)[0])
    np.testing.assert_allclose(np.trapezoid(density, x, axis=0), 1.0, atol=2e-3)


def test_harmonic_mean_is_the_ratio_of_the_evidences() -> None:
    """Densities of rows that are left out."""
    found, evidence = scores.harmonic_means(build(POINTS, covariance="diag"), partitions(5))
    for i in range(5):
        without = build(np.delete(POINTS, i, axis=0), covariance="diag")
        of_rest = scores.log_joints(without, partitions(4))
        assert found[i] == pytest.approx(evidence - logsumexp(of_rest), abs=1e-9)


def test_the_share_is_beta_under_the_chinese_restaurant_process() -> None:
    """Rows in noisy clusters of the prior: mean rho, variance rho (1 - rho) (1 + c / N) / (1 + c)."""
    rng, N, c = np.random.default_rng(3), 30, 1.3
    shares = []
    model = gaussian.Gaussian(rng.normal(size=(N, 1)), concentration=c, noise=RHO)
    for _ in range(4_000):
        labels, K = model.prior_labels(rng)
        shares.append((rng.random(K) < RHO)[labels].mean())
    variance = RHO * (1 - RHO) * (1 + c / N) / (1 + c)
    assert np.mean(shares) == pytest.approx(RHO, abs=4 * np.sqrt(variance / 4_000))
    assert np.var(shares) == pytest.approx(variance, rel=0.1)


def test_the_box_of_the_data() -> None:
    """Half a step beyond the values; a column without spread has a range of 1; new rows do not change it."""
    points = np.array([[0.0, 3.0], [2.0, 3.0], [1.0, 3.0]])
    for known, rows in ((None, points), (3, np.vstack([points, [9.0, 9.0]]))):
        model = gaussian.Gaussian(rows, known, noise=0.5, resolution=[1.0, 0.0], b0=1e-3, kappa0=1e-9)
        model.set_labels(np.arange(len(rows), dtype=np.int32))
        # the density of a lone row as a cluster of its own is noise, as its normal one is tiny
        assert model.left_out_predictive()[0][0, -1] == pytest.approx(np.log(0.5 / 3.0), abs=1e-3)
    options = gaussian.Gaussian.with_defaults_of(Dataset("small", "points", points), noise=0.5, resolution=[1.0, 0.0])
    assert options["box"] == [-0.5, 2.5, 2.5, 3.5]
