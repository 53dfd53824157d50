"""Columns of several types that tell clusters apart (model.select of mixed): every state of partition and indicators,
the kernel that draws the indicators, densities of items; columns of reals are those of ``gaussian``. Kernels of the
partition are in the tests of every sampler."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp
from small_cases import check_resumption, check_walk_weights

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.samplers.dyadic import Dyadic
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.verify.continuous import mixed_log_weight
from splitmerge_cli.verify.enumerate import log_prior, normalise, partitions
from splitmerge_cli.verify.paths import execution_paths
from splitmerge_cli.verify.transitions import stationarity_defect

TYPES, LEVELS = ("categorical", "ordinal", "count", "real"), (3, 3, 0, 0)
COLUMNS = [ColumnType(kind, tuple("abc")[:n]) for kind, n in zip(TYPES, LEVELS, strict=True)]
nan = np.nan
ROWS = np.array([[0.0, 0.0, 1.0, 0.1], [0.0, 1.0, 0.0, nan], [2.0, nan, 7.0, 2.6], [nan, 2.0, 9.0, 3.1]])
OPTIONS = {"alpha": 0.7, "shape": 1.4, "rate": 0.5, "m0": 0.5, "kappa0": 0.4, "a0": 1.5, "b0": 0.8}
WAYS = list(itertools.product([0.0, 1.0], repeat=4))
STATES = [np.array(labels, dtype=np.int32) for labels in partitions(4)]
FEATURES: dict[str, dict[str, Any]] = {"plain": {}, "power, resolution": {"power": 0.4, "resolution": [0.5]}}


def build(rows: NDArray[np.float64] = ROWS, known: int | None = None, **options: Any) -> Any:
    given: dict[str, Any] = {"concentration": 1.3, "select": True, "resolution": "none"} | OPTIONS | options
    return Mixed.build(rows, COLUMNS, known, given)


def column_log_lik(rows: NDArray[np.float64], labels: NDArray[np.int32], **options: Any) -> NDArray[np.float64]:
    """Log likelihood of each column, by the dense formulas."""
    state = tuple(labels.tolist()), int(labels.max()) + 1
    given = OPTIONS | {"prior": "uniform", "beta1": 0.5, "beta0": 0.5} | options
    found = []
    for j, kind in enumerate(TYPES):
        own = given if kind == "real" else {key: value for key, value in given.items() if key != "resolution"}
        found.append(mixed_log_weight(rows[:, [j]], (kind,), (LEVELS[j],), 1.0, **own)(state))
    return np.array(found)


def log_joint(rows: NDArray[np.float64], labels: NDArray[np.int32], way: Any, **options: Any) -> float:
    """Log joint density of partition, indicators and rows, as docs/derivations.md has it."""
    inside, s, N, c = np.array(way), sum(way), len(rows), 1.3
    apart, whole = (column_log_lik(rows, z, **options) for z in (labels, 0 * labels))
    log_way = gammaln(1 + s) + gammaln(5 - s) - gammaln(6)
    crp = log_prior(c, "crp", labels) + gammaln(c) - gammaln(c + N)
    return float(inside @ apart + (1 - inside) @ whole + log_way + crp)


def place(model: Any, labels: NDArray[np.int32], way: Any) -> None:
    model.set_labels(labels)
    model.set_parameters(np.array(way))


@pytest.mark.parametrize("name", FEATURES)
def test_log_joint_is_the_dense_formula_in_every_state(name: str) -> None:
    model, options = build(**FEATURES[name]), FEATURES[name]
    for labels, way in itertools.product(STATES[::2], WAYS[::3]):
        place(model, labels, way)
        assert model.log_joint() == pytest.approx(log_joint(ROWS, labels, way, **options), abs=1e-9)
        assert model.hyperparameter_values == {"informative": sum(way)}
        np.testing.assert_array_equal(model.parameters[:, 0], way)
    check_walk_weights(model)


@pytest.mark.parametrize("name", FEATURES)
def test_indicators_alone_are_exact(name: str) -> None:
    """Stationary at partitions; each mutant of the conditional, a factor left out or weakened, is not."""
    model, options, rng = build(**FEATURES[name]), FEATURES[name], Rng(0)
    refresh, ways, s = Refresh(model, rng), np.array(WAYS), np.sum(WAYS, axis=1)
    worst = dict.fromkeys(("prior", "likelihood", "power"), 0.0)
    for labels in (STATES[3], STATES[8]):
        P = np.zeros((len(WAYS), len(WAYS)))
        for t, way in enumerate(WAYS):
            found = execution_paths(model, rng, refresh, labels, int(labels.max()) + 1, np.array(way))
            for probability, end in zip(found["probability"], found["parameters"], strict=True):
                P[t, WAYS.index(tuple(end[:, 0]))] += probability
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
        gain = ways @ (column_log_lik(ROWS, labels, **options) - column_log_lik(ROWS, 0 * labels, **options))
        log_way = gammaln(1 + s) + gammaln(5 - s)
        assert stationarity_defect(P, normalise(log_way + gain)) < 1e-11
        for mutant, log_p in {"prior": gain, "likelihood": log_way - gain, "power": log_way + 0.8 * gain}.items():
            worst[mutant] = max(worst[mutant], stationarity_defect(P, normalise(log_p)))
    assert min(worst.values()) > 1e-3


@pytest.mark.parametrize("name", FEATURES)
def test_densities_of_new_rows(name: str) -> None:
    """Ratios of likelihoods, of a column that is out those of all rows; under a power they sum to one."""
    options, new = FEATURES[name] | {"cuts": [-0.4, 0.5]}, np.array([[1.0, 0.0, 2.0, 9.0], [nan, 2.0, 0.0, nan]])
    new = np.array([[v, nan, nan, nan] for v in range(3)]) if "power" in options else new
    model, labels = build(np.vstack([ROWS, new]), 4, **options), np.array([0, 1, 1, 0], dtype=np.int32)

    def log_lik(rows: NDArray[np.float64], labels: NDArray[np.int32], way: Any) -> float:
        own = build(rows, **options)
        place(own, labels, way)
        return float(own.log_lik_total())

    for way in WAYS[::5]:
        place(model, np.append(labels, [2] * len(new)).astype(np.int32), way)
        found, _ = model.log_predictive(4)
        if "power" in options:
            np.testing.assert_allclose(np.exp(found).sum(axis=0), 1.0, rtol=1e-12)
            continue
        for i, k in itertools.product(range(2), range(3)):
            joined = log_lik(np.vstack([ROWS, new[i]]), np.append(labels, np.int32(k)), way)
            assert found[i, k] == pytest.approx(joined - log_lik(ROWS, labels, way), abs=1e-8)


def test_harmonic_mean_is_the_ratio_of_the_evidences() -> None:
    cuts = [-0.4, 0.5]
    model, inverse, joint = build(cuts=cuts), [], []
    for labels, way in itertools.product(STATES, WAYS):
        place(model, labels, way)
        log_density, log_weight = model.left_out_predictive()
        inverse.append(-logsumexp(log_density + log_weight, axis=1))
        joint.append(model.log_joint())
    found = -logsumexp(np.stack(inverse) + (np.array(joint) - logsumexp(joint))[:, None], axis=0)
    for i in (0, 3):
        rest, without = build(np.delete(ROWS, i, axis=0), cuts=cuts), []
        for labels, way in itertools.product(partitions(3), WAYS):
            place(rest, np.array(labels, dtype=np.int32), way)
            without.append(rest.log_joint())
        assert found[i] == pytest.approx(logsumexp(joint) - logsumexp(without), abs=1e-9)


def test_real_columns_are_those_of_gaussian() -> None:
    points = np.random.default_rng(1).normal(size=(30, 3)) * 3
    options = {"concentration": 1.3, "m0": 0.2, "kappa0": 0.4, "a0": 1.5, "b0": 1.0, "select": True}
    labels = np.arange(30, dtype=np.int32) % 4
    one, other = Gaussian(points, **options), Mixed.build(points, ("real",) * 3, None, options)
    # room for more clusters while few columns are in
    for z, way in ((labels, [1.0, 0.0, 1.0]), (np.arange(30, dtype=np.int32), [0.0, 1.0, 0.0]), (labels, [0.0] * 3)):
        for model in (one, other):
            model.set_parameters(np.array(way))
            model.set_labels(z)
        assert other.log_joint() == pytest.approx(one.log_joint(), abs=1e-9)
        np.testing.assert_allclose(other.left_out_predictive()[0], one.left_out_predictive()[0], atol=1e-8)


def test_resuming_goes_on_as_if_never_stopped() -> None:
    def make() -> Chain:
        model, rng = build(np.repeat(ROWS, 5, axis=0)), Rng(8)
        return Chain(model, rng, [Dyadic(model, rng), Gibbs(model, rng), Refresh(model, rng)])

    check_resumption(make, 60)


def test_refusals_name_the_key() -> None:
    data = Dataset("t", "mixed", ROWS, types=tuple(COLUMNS))
    for options, message in (
        ({"covariance": "full"}, "model.select=true: expected model.covariance=diag, got full"),
        ({"b0": "gamma(2,3)"}, "model.select=true: expected numbers for model.b0 and model.kappa0"),
    ):
        with pytest.raises(ValueError, match=message):
            Mixed.from_data(data, select=True, **options)
    with pytest.raises(ValueError, match=r"model\.select=true: expected Mixed\.build"):
        Mixed(ROWS, COLUMNS, select=True)
    with pytest.raises(ValueError, match="expected 4 numbers, each 0 or 1"):
        build().set_parameters(np.array([1.0, 0.5, 0.0, 0.0]))
