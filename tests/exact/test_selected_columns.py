"""Columns that tell clusters apart (model.select): every state of partition and indicators, the kernel that draws the
indicators, densities of items, and what a run says. Kernels of the partition are in the tests of every sampler.
"""

import itertools
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import scores
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp
from small_cases import check_resumption, check_walk_weights, usual_chain

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import ColumnType
from splitmerge_cli.kinds.tables.answers import ColumnAnswers
from splitmerge_cli.kinds.tables.models import gaussian, mixed
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.verify import paths, transitions
from splitmerge_cli.verify.continuous import gaussian_log_weight, mixed_log_weight, selected_log_weight
from splitmerge_cli.verify.enumerate import log_prior, normalise, partitions

POINTS = np.array([[0.1, 1.3, 4.0], [0.4, 0.9, -3.0], [-0.3, 1.1, 2.5], [2.6, -1.0, 3.5], [3.1, -0.2, -2.0]])
HYPER = {"m0": [0.5, 0.2, 0.0], "kappa0": 0.4, "a0": 1.5, "b0": [0.8, 0.5, 2.0]}
WAYS = list(itertools.product([0.0, 1.0], repeat=3))
FEATURES: dict[str, dict[str, Any]] = {
    "plain": {},
    "resolution": {"resolution": [0.5, 0.0, 1.5]},
    "power": {"power": 0.4},
    "both": {"power": 0.4, "resolution": [0.5, 0.0, 1.5]},
}


def build(points: NDArray[np.float64] = POINTS, known: int | None = None, **options: Any) -> Any:
    given: dict[str, Any] = {"resolution": "none", "concentration": 1.3, "select": True} | HYPER | options
    return gaussian.Gaussian(points, known, **given)


def column_log_lik(
    points: NDArray[np.float64], labels: NDArray[np.int32], resolution: Any = (0.0, 0.0, 0.0), power: float = 1.0
) -> NDArray[np.float64]:
    """Log likelihood of each column, by the dense formulas."""
    return _column_log_lik(points.tobytes(), tuple(labels.tolist()), tuple(resolution), power)


@cache
def _column_log_lik(
    points: bytes, labels: tuple[int, ...], resolution: tuple[float, ...], power: float
) -> NDArray[np.float64]:
    """Computed once for all indicators of a partition: this is what the tests of this module take time for."""
    columns = np.frombuffer(points).reshape(len(labels), 3).T
    hyper = zip(columns, HYPER["m0"], HYPER["b0"], resolution, strict=True)
    state = labels, max(labels) + 1
    rest = HYPER["kappa0"], HYPER["a0"]
    weights = [
        gaussian_log_weight(x[:, None], 1.0, "uniform", "diag", m0, *rest, b0, step, power) for x, m0, b0, step in hyper
    ]
    return np.array([weight(state) for weight in weights])


def log_joint(points: NDArray[np.float64], labels: NDArray[np.int32], way: Any, **options: Any) -> float:
    """Log joint density of partition, indicators and points, as docs/derivations.md has it."""
    inside, s, D = np.array(way), sum(way), len(way)
    apart = column_log_lik(points, labels, **options)
    whole = column_log_lik(points, np.zeros(len(points), dtype=np.int32), **options)
    log_way = gammaln(1 + s) + gammaln(1 + D - s) - gammaln(2 + D)
    N, c = len(points), 1.3
    crp = log_prior(c, "crp", labels) + gammaln(c) - gammaln(c + N)
    return float(inside @ apart + (1 - inside) @ whole + log_way + crp)


def states(N: int) -> list[NDArray[np.int32]]:
    return [np.array(labels, dtype=np.int32) for labels in partitions(N)]


def place(model: Any, labels: NDArray[np.int32], way: Any) -> None:
    model.set_labels(labels)
    model.set_parameters(np.array(way))


def place_state(model: Any, state: tuple[NDArray[np.int32], Any]) -> None:
    place(model, *state)


def check_log_joints(model: Any, expected: Callable[..., float], partitions: list[Any], ways: list[Any]) -> None:
    """In each state the log joint is the dense formula, and the parameters are the indicators."""
    for labels, way in itertools.product(partitions, ways):
        place(model, labels, way)
        assert model.log_joint() == pytest.approx(expected(labels, way), abs=1e-9)
        assert model.hyperparameter_values == {"informative": sum(way)}
        np.testing.assert_array_equal(model.parameters[:, 0], way)


@pytest.mark.parametrize("name", FEATURES)
def test_log_joint_is_the_dense_formula_in_every_state(name: str) -> None:
    options = FEATURES[name]
    check_log_joints(build(**options), partial(log_joint, POINTS, **options), states(5), WAYS)


def test_the_enumeration_sums_over_the_indicators() -> None:
    weight = selected_log_weight(POINTS, 1.3, "crp", *(HYPER[key] for key in ("m0", "kappa0", "a0", "b0")), 0.0)
    by_hand = [logsumexp([log_joint(POINTS, labels, way) for way in WAYS]) for labels in states(5)]
    found = [weight((tuple(labels.tolist()), int(labels.max()) + 1)) for labels in states(5)]
    np.testing.assert_allclose(normalise(found), normalise(by_hand), rtol=1e-9)


def refresh_matrix(model: Any, labels: NDArray[np.int32], ways: list[tuple[float, ...]]) -> NDArray[np.float64]:
    """Transition matrix of the indicators at a partition, by enumeration of all execution paths."""
    rng = Rng(0)
    refresh, P = Refresh(model, rng), np.zeros((len(ways), len(ways)))
    for t, way in enumerate(ways):
        found = paths.execution_paths(model, rng, refresh, labels, int(labels.max()) + 1, np.array(way))
        for probability, end in zip(found["probability"], found["parameters"], strict=True):
            P[t, ways.index(tuple(end[:, 0]))] += probability
        assert (found["labels"] == labels).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    return P


# what one of a resolution and a power changes is in the case of both
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in ("resolution", "power") else ()) for name in FEATURES]
)
def test_indicators_alone_are_exact(name: str) -> None:
    """Stationary at every partition; each mutant of the conditional, a factor left out or turned round, is not."""
    model, options = build(**FEATURES[name]), FEATURES[name]
    worst = dict.fromkeys(("prior", "likelihood", "one row less"), 0.0)
    for labels in states(5):
        P = refresh_matrix(model, labels, WAYS)
        pi = normalise([log_joint(POINTS, labels, way, **options) for way in WAYS])
        assert transitions.stationarity_defect(P, pi) < 1e-11
        ways = np.array(WAYS)
        gain = ways @ (column_log_lik(POINTS, labels, **options) - column_log_lik(POINTS, 0 * labels, **options))
        s = ways.sum(axis=1)
        mutants = {"prior": gain, "likelihood": gammaln(1 + s) + gammaln(4 - s) - gain, "one row less": 0.8 * gain}
        for mutant, log_p in mutants.items():
            worst[mutant] = max(worst[mutant], transitions.stationarity_defect(P, normalise(log_p)))
    assert min(worst.values()) > 1e-3


def test_chain_has_the_posterior_of_partitions_and_indicators() -> None:
    model, rng = build(), Rng(4)
    samplers = [Dyadic(model, rng, allocation="sams"), Gibbs(model, rng), Refresh(model, rng)]
    found = Chain(model, rng, samplers, partitions=1).advance(40_000)
    index = {(tuple(labels.tolist()), way): t for t, (labels, way) in enumerate(itertools.product(states(5), WAYS))}
    pi = normalise([log_joint(POINTS, np.array(labels, dtype=np.int32), way) for labels, way in index])
    rows = zip(found["partition_labels"].tolist(), found["partition_parameters"].tolist(), strict=True)
    counts = np.bincount([index[tuple(labels), tuple(way)] for labels, way in rows], minlength=len(pi))
    assert transitions.total_variation(counts / counts.sum(), pi) < 0.05
    np.testing.assert_array_equal(found["informative"], found["partition_parameters"].sum(axis=1))


@pytest.mark.parametrize("name", ["plain", "resolution"])
def test_densities_of_new_rows_are_ratios_of_likelihoods(name: str) -> None:
    options, new = FEATURES[name], np.array([[0.4, -0.8, 5.0], [9.0, 0.3, -1.0]])
    model = build(np.vstack([POINTS, new]), 5, **options)
    one = np.zeros(6, dtype=np.int32)
    for labels, way in itertools.product([states(5)[7], states(5)[30]], WAYS):
        K, inside = int(labels.max()) + 1, np.array(way)
        place(model, np.append(labels, [K, K]).astype(np.int32), way)
        found, _ = model.log_predictive(5)
        for i, k in itertools.product(range(2), range(K + 1)):
            points = np.vstack([POINTS, new[i]])
            ratio = column_log_lik(points, np.append(labels, np.int32(k)), **options) - column_log_lik(
                POINTS, labels, **options
            )
            of_all = column_log_lik(points, one, **options) - column_log_lik(POINTS, one[:5], **options)
            assert found[i, k] == pytest.approx(inside @ ratio + (1 - inside) @ of_all, abs=1e-8)


def test_a_density_under_a_power_integrates_to_one() -> None:
    x = np.sinh(np.linspace(-9.0, 9.0, 3001))
    points = np.vstack([POINTS[:, :1], x[:, None]])
    for way in (0.0, 1.0):
        model = build(points, 5, power=0.4, m0=0.5, b0=0.8)
        place(model, np.append([0, 0, 0, 1, 1], np.full(len(x), 2)).astype(np.int32), [way])
        density = np.exp(model.log_predictive(5)[0])
        np.testing.assert_allclose(np.trapezoid(density, x, axis=0), 1.0, atol=1e-3)


def test_harmonic_mean_is_the_ratio_of_the_evidences() -> None:
    found, evidence = scores.harmonic_means(build(), itertools.product(states(5), WAYS), place_state)
    for i in range(5):
        rest = np.delete(POINTS, i, axis=0)
        without = [log_joint(rest, labels, way) for labels, way in itertools.product(states(4), WAYS)]
        assert found[i] == pytest.approx(evidence - logsumexp(without), abs=1e-9)


def test_room_for_more_clusters_keeps_all_columns() -> None:
    """Columns of statistics grow while few of the data's columns are in."""
    points = np.random.default_rng(1).normal(size=(40, 6)) * 3
    model = build(points, m0=0.0, b0=1.0)
    model.set_parameters(np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0]))
    labels = np.arange(40, dtype=np.int32)
    model.set_labels(labels)
    model.set_parameters(np.ones(6))
    plain = gaussian.Gaussian(points, resolution="none", concentration=1.3, m0=0.0, kappa0=0.4, a0=1.5, b0=1.0)
    plain.set_labels(labels)
    assert model.log_lik_total() == pytest.approx(plain.log_lik_total(), abs=1e-9)
    model.set_parameters(np.zeros(6))
    plain.set_labels(0 * labels)
    assert model.log_lik_total() == pytest.approx(plain.log_lik_total(), abs=1e-9)


@pytest.mark.parametrize("values", [[1.0, 0.0], [1.0, 0.5, 0.0], [1.0, np.nan, 0.0]])
def test_other_indicators_are_rejected(values: list[float]) -> None:
    with pytest.raises(ValueError, match="expected 3 numbers, each 0 or 1"):
        build().set_parameters(np.array(values))


def test_lines_about_columns() -> None:
    def line(probability: dict[str, float] | None) -> list[str]:
        return list(ColumnAnswers.further_lines({"informative": probability}, 1))

    assert line(None) == []
    assert line({"a": 0.2, "b": 0.1}) == ["none of 2 columns tell the clusters apart"]
    assert line({"a": 0.2, "b": 0.9}) == ["1 of 2 columns tells the clusters apart: b"]
    many = line({f"c{j}": 1.0 - j / 100 for j in range(12)})
    assert many == ["12 of 12 columns tell the clusters apart: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, and 2 more"]


# ---- Columns of several types that tell clusters apart (model.select of mixed): every state of partition and
# indicators, the kernel that draws the indicators, densities of items; columns of reals are those of ``gaussian``.
# Kernels of the partition are in the tests of every sampler.

TYPES, LEVELS = ("categorical", "ordinal", "count", "real"), (3, 3, 0, 0)
COLUMNS = [ColumnType(kind, tuple("abc")[:n]) for kind, n in zip(TYPES, LEVELS, strict=True)]
nan = np.nan
ROWS = np.array([[0.0, 0.0, 1.0, 0.1], [0.0, 1.0, 0.0, nan], [2.0, nan, 7.0, 2.6], [nan, 2.0, 9.0, 3.1]])
OPTIONS = {"alpha": 0.7, "shape": 1.4, "rate": 0.5, "m0": 0.5, "kappa0": 0.4, "a0": 1.5, "b0": 0.8}
MIXED_WAYS = list(itertools.product([0.0, 1.0], repeat=4))
STATES = [np.array(labels, dtype=np.int32) for labels in partitions(4)]
MIXED_FEATURES: dict[str, dict[str, Any]] = {"plain": {}, "power, resolution": {"power": 0.4, "resolution": [0.5]}}


def mixed_build(rows: NDArray[np.float64] = ROWS, known: int | None = None, **options: Any) -> Any:
    given: dict[str, Any] = {"concentration": 1.3, "select": True, "resolution": "none"} | OPTIONS | options
    return mixed.Mixed.build(rows, COLUMNS, known, given)


def mixed_column_log_lik(rows: NDArray[np.float64], labels: NDArray[np.int32], **options: Any) -> NDArray[np.float64]:
    """Log likelihood of each column, by the dense formulas."""
    state = tuple(labels.tolist()), int(labels.max()) + 1
    given = OPTIONS | {"prior": "uniform", "beta1": 0.5, "beta0": 0.5} | options
    found = []
    for j, kind in enumerate(TYPES):
        own = given if kind == "real" else {key: value for key, value in given.items() if key != "resolution"}
        found.append(mixed_log_weight(rows[:, [j]], (kind,), (LEVELS[j],), 1.0, **own)(state))
    return np.array(found)


def mixed_log_joint(rows: NDArray[np.float64], labels: NDArray[np.int32], way: Any, **options: Any) -> float:
    """Log joint density of partition, indicators and rows, as docs/derivations.md has it."""
    inside, s, N, c = np.array(way), sum(way), len(rows), 1.3
    apart, whole = (mixed_column_log_lik(rows, z, **options) for z in (labels, 0 * labels))
    log_way = gammaln(1 + s) + gammaln(5 - s) - gammaln(6)
    crp = log_prior(c, "crp", labels) + gammaln(c) - gammaln(c + N)
    return float(inside @ apart + (1 - inside) @ whole + log_way + crp)


@pytest.mark.parametrize("name", MIXED_FEATURES)
def test_log_joint_is_the_dense_formula_in_every_state_mixed(name: str) -> None:
    model, options = mixed_build(**MIXED_FEATURES[name]), MIXED_FEATURES[name]
    check_log_joints(model, partial(mixed_log_joint, ROWS, **options), STATES[::2], MIXED_WAYS[::3])
    check_walk_weights(model)


@pytest.mark.parametrize("name", MIXED_FEATURES)
def test_indicators_alone_are_exact_mixed(name: str) -> None:
    """Stationary at partitions; each mutant of the conditional, a factor left out or weakened, is not."""
    model, options = mixed_build(**MIXED_FEATURES[name]), MIXED_FEATURES[name]
    ways, s = np.array(MIXED_WAYS), np.sum(MIXED_WAYS, axis=1)
    worst = dict.fromkeys(("prior", "likelihood", "power"), 0.0)
    for labels in (STATES[3], STATES[8]):
        P = refresh_matrix(model, labels, MIXED_WAYS)
        gain = ways @ (
            mixed_column_log_lik(ROWS, labels, **options) - mixed_column_log_lik(ROWS, 0 * labels, **options)
        )
        log_way = gammaln(1 + s) + gammaln(5 - s)
        assert transitions.stationarity_defect(P, normalise(log_way + gain)) < 1e-11
        for mutant, log_p in {"prior": gain, "likelihood": log_way - gain, "power": log_way + 0.8 * gain}.items():
            worst[mutant] = max(worst[mutant], transitions.stationarity_defect(P, normalise(log_p)))
    assert min(worst.values()) > 1e-3


@pytest.mark.parametrize("name", MIXED_FEATURES)
def test_densities_of_new_rows(name: str) -> None:
    """Ratios of likelihoods, of a column that is out those of all rows; under a power they sum to one."""
    options, new = MIXED_FEATURES[name] | {"cuts": [-0.4, 0.5]}, np.array([[1.0, 0.0, 2.0, 9.0], [nan, 2.0, 0.0, nan]])
    new = np.array([[v, nan, nan, nan] for v in range(3)]) if "power" in options else new
    model, labels = mixed_build(np.vstack([ROWS, new]), 4, **options), np.array([0, 1, 1, 0], dtype=np.int32)

    def log_lik(rows: NDArray[np.float64], labels: NDArray[np.int32], way: Any) -> float:
        own = mixed_build(rows, **options)
        place(own, labels, way)
        return float(own.log_lik_total())

    for way in MIXED_WAYS[::5]:
        place(model, np.append(labels, [2] * len(new)).astype(np.int32), way)
        found, _ = model.log_predictive(4)
        if "power" in options:
            np.testing.assert_allclose(np.exp(found).sum(axis=0), 1.0, rtol=1e-12)
            continue
        for i, k in itertools.product(range(2), range(3)):
            joined = log_lik(np.vstack([ROWS, new[i]]), np.append(labels, np.int32(k)), way)
            assert found[i, k] == pytest.approx(joined - log_lik(ROWS, labels, way), abs=1e-8)


def test_harmonic_mean_is_the_ratio_of_the_evidences_mixed() -> None:
    cuts = [-0.4, 0.5]
    model = mixed_build(cuts=cuts)
    found, evidence = scores.harmonic_means(model, itertools.product(STATES, MIXED_WAYS), place_state)
    for i in (0, 3):
        rest = mixed_build(np.delete(ROWS, i, axis=0), cuts=cuts)
        without = scores.log_joints(rest, itertools.product(states(3), MIXED_WAYS), place_state)
        assert found[i] == pytest.approx(evidence - logsumexp(without), abs=1e-9)


def test_real_columns_are_those_of_gaussian() -> None:
    points = np.random.default_rng(1).normal(size=(30, 3)) * 3
    options = {"concentration": 1.3, "m0": 0.2, "kappa0": 0.4, "a0": 1.5, "b0": 1.0, "select": True}
    labels = np.arange(30, dtype=np.int32) % 4
    one, other = gaussian.Gaussian(points, **options), mixed.Mixed.build(points, ("real",) * 3, None, options)
    # room for more clusters while few columns are in
    for z, way in ((labels, [1.0, 0.0, 1.0]), (np.arange(30, dtype=np.int32), [0.0, 1.0, 0.0]), (labels, [0.0] * 3)):
        for model in (one, other):
            model.set_parameters(np.array(way))
            model.set_labels(z)
        assert other.log_joint() == pytest.approx(one.log_joint(), abs=1e-9)
        np.testing.assert_allclose(other.left_out_predictive()[0], one.left_out_predictive()[0], atol=1e-8)


@pytest.mark.parametrize("made", [build, lambda: mixed_build(np.repeat(ROWS, 5, axis=0))])
def test_resuming_goes_on_as_if_never_stopped(made: Callable[[], Any]) -> None:
    check_resumption(lambda: usual_chain(made(), 8), 60)


def test_refusals_name_the_key() -> None:
    with pytest.raises(ValueError, match=r"model\.select=true: expected Mixed\.build"):
        mixed.Mixed(ROWS, COLUMNS, select=True)
    with pytest.raises(ValueError, match="expected 4 numbers, each 0 or 1"):
        mixed_build().set_parameters(np.array([1.0, 0.5, 0.0, 0.0]))


def test_a_product_of_many_far_columns_stays_in_range() -> None:
    points = np.random.default_rng(0).normal(size=(9, 60))
    points[0] = 1e9
    hyper = {"concentration": 1.3, "m0": 0.0, "kappa0": 0.4, "a0": 1.5, "b0": 1e-3, "resolution": "none"}
    found, expected = [gaussian.Gaussian(points, covariance="diag", select=select, **hyper) for select in (True, False)]
    for model in (found, expected):
        model.set_labels(np.array([0, 0, 0, 1, 1, 1, 2, 2, 2], dtype=np.int32))
    np.testing.assert_allclose(found.left_out_densities(), expected.left_out_densities(), rtol=1e-9)
