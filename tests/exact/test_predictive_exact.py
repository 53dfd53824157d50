"""Predictive densities of new items against enumeration of all partitions, with and without the new item."""

import itertools
from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import pandas
import pandas as pd
import pytest
import scores
from scipy import stats
from scipy.sparse import csr_array
from scipy.special import gammaln, logsumexp
from small_priors import PACKAGE

import smcmc
from splitmerge_cli.analysis.alternatives import FEWEST, leave_one_out, smooth_tails
from splitmerge_cli.analysis.predictive import Following, by_state, predict
from splitmerge_cli.config import Component, ConfigError, choice, classes, component, read_component
from splitmerge_cli.core.simulation import Given
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.kinds.tables.models.gamma_poisson import GammaPoisson
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.multinomial import Multinomial
from splitmerge_cli.kinds.tables.simulated import simulate_rates
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.draws import State
from splitmerge_cli.verify.cases import small_case, variants_of
from splitmerge_cli.verify.continuous import gaussian_log_weight
from splitmerge_cli.verify.enumerate import partitions

GENERATOR = np.random.default_rng(3)
POINTS = GENERATOR.normal(size=(5, 2)) * [1.0, 20.0] + [0.0, 100.0]
BITS = GENERATOR.integers(2, size=(5, 4))
GRAPH = networkx.Graph([(0, 1), (0, 2), (1, 2), (3, 4), (2, 3)])
ANSWERS = (ColumnType("ordinal", ("low", "middle", "high")), ColumnType("ordinal", ("0", "1", "2", "3")))
CASES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "diag": ({"name": "gaussian"}, POINTS, [[0.3, 95.0], [9.0, -40.0]]),
    "iso": ({"name": "gaussian", "covariance": "iso"}, POINTS, [[0.3, 95.0], [9.0, -40.0]]),
    "full": ({"name": "gaussian", "covariance": "full", "concentration": 0.3}, POINTS, [[0.3, 95.0], [9.0, -40.0]]),
    "bernoulli": ({"name": "bernoulli", "concentration": 2.5}, BITS, [[0, 1, 1, 0], [1, 1, 1, 1]]),
    "diag-missing": (
        {"name": "gaussian"},
        np.where(np.arange(10).reshape(5, 2) % 7 == 3, np.nan, POINTS),
        [[0.3, np.nan], [np.nan, np.nan], [9.0, -40.0]],
    ),
    "diag-complete": ({"name": "gaussian", "kappa0": 0.6}, POINTS, [[0.3, np.nan], [np.nan, 120.0]]),
    "bernoulli-missing": (
        {"name": "bernoulli", "beta1": 0.7},
        np.where(np.arange(20).reshape(5, 4) % 6 == 1, np.nan, BITS),
        [[0, np.nan, 1, 0], [1, 1, 1, 1]],
    ),
    "bernoulli-complete": ({"name": "bernoulli"}, BITS, [[0, np.nan, 1, 0], [np.nan] * 4]),
    "lines": ({"name": "lines"}, POINTS[:, ::-1] / 10, [[1.0, 2.0]]),
    "mixed": (
        {"name": "mixed"},
        pandas.DataFrame(
            {"sex": ["f", "m", "f", "f", None], "n": [1, 5, 2, 900, 3], "x": [1.5, -2.0, np.nan, 9.0, 3.25]}
        ),
        pandas.DataFrame({"sex": ["m", None], "n": [3, 700], "x": [2.0, 7.5]}),
    ),
    "ordinal": (
        {"name": "mixed"},
        Dataset("answers", "mixed", np.array([[0, 3], [2, 1], [np.nan, 1], [1, 0], [2, 3.0]]), types=ANSWERS),
        pandas.DataFrame({"a": ["high", None], "b": [2, 0]}),
    ),
    "irm": ({"name": "irm"}, GRAPH, [[1, 1, 0, 0, 0], [0, 0, 0, 0, 0]]),
}


def read(options: dict[str, Any]) -> Component:
    return read_component("model", options["name"], choice("model", options["name"]) | options)


def build(options: dict[str, Any], data: Dataset, whole: Dataset) -> Any:
    model = read(options)
    return model.target.from_data(whole, **model.target.with_defaults_of(data, **model.options)), model


def log_joints(model: Any) -> tuple[list[np.ndarray], np.ndarray]:
    states = [np.array(labels, dtype=np.int32) for labels in partitions(model.N)]
    return states, scores.log_joints(model, states)


def test_log_density_is_that_of_the_mean_density() -> None:
    """Two states whose densities of an item differ."""
    data = from_object(POINTS, "points")
    items = data.kind.new_items(data, np.array([[0.3, 95.0], [9.0, -40.0]]))
    states = [State(np.array(labels, dtype=np.int32), K, {}) for labels, K in (([0] * 5, 1), (range(5), 5))]
    options = component("model", "gaussian")
    each = [logsumexp(density + weight, axis=1) for _, density, weight in by_state(options, data, items, states)]
    found = predict(options, data, items, states, states[0].labels).log_density
    np.testing.assert_allclose(found, np.log(np.exp(each).mean(axis=0)), rtol=1e-12)
    # the mean of the logarithms is another number
    assert np.all(found > np.mean(each, axis=0) + 1e-4)


@pytest.mark.parametrize("name", CASES)
def test_density_is_the_ratio_of_the_evidences(name: str) -> None:
    """p(new | data) = p(data, new) / p(data), each a sum over all partitions."""
    options, given, new = CASES[name]
    data = from_object(given, component("model", options["name"]).kind.name)
    items = data.kind.new_items(data, new)
    model, configured = build(options, data, data)
    labels, joint = log_joints(model)
    states = [State(z, int(z.max()) + 1, {}) for z in labels]
    found = [logsumexp(density + weight, axis=1) for _, density, weight in by_state(configured, data, items, states)]
    mixed = logsumexp(np.stack(found) + (joint - logsumexp(joint))[:, None], axis=0)
    for i in range(items.N):
        one = replace(items, values=items.values[i : i + 1], names=None)
        whole = data.kind.stack(data, one)
        _, with_it = log_joints(build(options, data, whole)[0])
        assert mixed[i] == pytest.approx(logsumexp(with_it) - logsumexp(joint), abs=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_probabilities_are_of_the_clusters_that_are_joined(name: str) -> None:
    """Every weighted partition of data and new item, and where its items are in a given partition."""
    options, given, new = CASES[name]
    data = from_object(given, component("model", options["name"]).kind.name)
    items = data.kind.new_items(data, new)
    of_data, configured = build(options, data, data)
    point = np.array([0, 0, 1, 1, 1], dtype=np.int32)
    # two equally probable states, of which the new item makes one the more probable
    states = [State(np.array(z, dtype=np.int32), K, {}) for z, K in (([0, 1, 1, 2, 0], 3), ([0, 0, 0, 1, 1], 2))]
    # share of each cluster of a state that is in the two of `point`; of a new one nothing
    shares = [[[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]], [[2 / 3, 1 / 3, 0], [0, 1, 0], [0, 0, 1]]]
    found = predict(configured, data, items, states, point)
    np.testing.assert_allclose(found.probability.sum(axis=1), 1)
    for i in range(items.N):
        one = replace(items, values=items.values[i : i + 1], names=None)
        whole = data.kind.stack(data, one)
        model, _ = build(options, data, whole)
        joint = []
        for state in states:
            of_data.set_labels(state.labels)
            for k in range(state.K + 1):
                model.set_labels(np.append(state.labels, np.int32(k)))
                joint.append(model.log_joint() - of_data.log_joint())
        p = np.exp(joint - logsumexp(joint))
        np.testing.assert_allclose(found.probability[i], p @ np.concatenate(shares), atol=1e-10)


@pytest.mark.parametrize("kind", ["points", "mixed", "sparse", "gaps"])
@pytest.mark.parametrize("options", [{}, {"select": True}, {"noise": 0.2}], ids=str)
def test_a_column_of_equal_numbers_has_no_variance(kind: str, options: dict[str, Any]) -> None:
    """Their mean may be off by a rounding, of 0.1 as of 0.7: its scale is that of a variance of 1."""
    if kind == "sparse" and options:
        return
    points = np.column_stack([np.arange(6.0) ** 2, np.full(6, 0.1), np.full(6, 0.7)])
    points[1, 2] = np.nan if kind == "gaps" else 0.7
    x = csr_array(points) if kind == "sparse" else points
    name, types = ("mixed", (ColumnType("real"),) * 3) if kind == "mixed" else ("gaussian", None)
    data = Dataset("t", "mixed" if types else "points", x, types=types)
    items = replace(data, values=x[2:4])
    state = State(np.array([0, 0, 0, 1, 1, 1], dtype=np.int32), 2, {}, np.ones(3) if "select" in options else None)
    means = {"m0": np.nanmean(points, axis=0).tolist()}
    scales = {"b0": [0.1 * points[:, 0].var(), 0.1, 0.1]}
    found = [next(by_state(read({"name": name} | options | one), data, items, [state])) for one in ({}, means | scales)]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9)
    if kind == "sparse":
        joints = [log_joints(build({"name": name} | one, data, data)[0])[1] for one in ({}, means | scales)]
        np.testing.assert_allclose(*joints, rtol=1e-12)
        own = [Gaussian(x, **one) for one in ({}, means | scales)]
        np.testing.assert_allclose(*(scores.log_joints(model, [state.labels]) for model in own), rtol=1e-12)


THREE = np.array([[0.2, 1.3], [0.9, -0.8], [3.1, 0.4]])
B0, KAPPA0 = (2.0, 3.0), (2.5, 4.0)
LOG_NODES = np.arange(-9.0, 5.0, 0.35)
SCALES: dict[str, tuple[dict[str, Any], np.ndarray, list[list[float]], int]] = {
    # options, data, new items, how many numbers are resampled
    "diag": ({"covariance": "diag", "b0": B0}, THREE, [[0.5, 0.0], [np.nan, 3.0]], 2),
    "diag-kappa0": ({"covariance": "diag", "b0": B0, "kappa0": KAPPA0}, THREE[:, :1], [[0.5], [-7.0]], 2),
    "diag-missing": ({"covariance": "diag", "b0": B0}, np.where(THREE == 0.9, np.nan, THREE), [[0.5, 0.0]], 2),
    "iso": ({"covariance": "iso", "b0": B0, "kappa0": KAPPA0}, THREE, [[0.5, 0.0], [-7.0, 9.0]], 2),
    "full": ({"covariance": "full", "b0": B0}, THREE, [[0.5, 0.0], [-7.0, 9.0]], 2),
}


@pytest.mark.parametrize("name", SCALES)
def test_density_with_resampled_scales(name: str) -> None:
    """p(new | data) again, b0 and kappa0 integrated out: of the states by a grid of their values, each weighted by its
    posterior; of the evidences by the reference's own quadrature. New items do not change what b0 is measured in."""
    chosen, given, new, resampled = SCALES[name]
    written = {key: "gamma({},{})".format(*value) for key, value in chosen.items() if key in ("b0", "kappa0")}
    options = {"name": "gaussian", "m0": 0.3, "a0": 1.6, "concentration": 1.2} | chosen | written
    data = from_object(given, "points")
    items = data.kind.new_items(data, new)
    model, configured = build(options, data, data)
    states, log_weight = [], []
    for labels in (np.array(z, dtype=np.int32) for z in partitions(3)):
        model.set_labels(labels)
        for t in itertools.product(LOG_NODES, repeat=resampled):
            model.set_parameters(np.exp(t)[:, None])
            states.append(State(labels, int(labels.max()) + 1, {}, np.exp(t)))
            log_weight.append(model.log_joint() + sum(t) + resampled * np.log(0.35))
    spread = np.nanvar(given, axis=0)
    b0 = B0[0], B0[1] / (np.atleast_1d(spread.mean()) if name == "iso" else spread)

    def evidence(x: np.ndarray) -> float:
        of_prior = 1.2, "crp", options["covariance"], 0.3, chosen.get("kappa0", 0.1), 1.6, b0
        log_p = gaussian_log_weight(x, *of_prior)
        weights = [log_p((tuple(z), max(z) + 1)) for z in partitions(len(x))]
        return float(logsumexp(weights) + gammaln(1.2) - gammaln(1.2 + len(x)))

    assert logsumexp(log_weight) == pytest.approx(evidence(given), abs=1e-6)
    density = np.stack([logsumexp(d + w, axis=1) for _, d, w in by_state(configured, data, items, states)])
    found = logsumexp(density + (np.array(log_weight) - logsumexp(log_weight))[:, None], axis=0)
    for i, row in enumerate(new):
        expected = evidence(np.vstack([given, [row]])) - evidence(given)
        assert found[i] == pytest.approx(expected, abs=1e-6)
        # with the scales at one value it is another
        assert density[len(states) // 2, i] != pytest.approx(expected, abs=1e-3)


def test_a_new_item_is_where_members_of_its_cluster_are() -> None:
    """By their numbers: of three members two are in one cluster of the given partition, one in the other."""
    data = from_object(POINTS, "points")
    configured = choice("model", "gaussian") | {"name": "gaussian"}
    state, point = State(np.array([0, 0, 0, 1, 1], dtype=np.int32), 2, {}), np.array([0, 0, 1, 1, 2], dtype=np.int32)
    items = data.kind.new_items(data, [[0.3, 95.0], [9.0, -40.0]])
    ((_, density, weight),) = by_state(read(configured), data, items, [state])
    joint = density + weight
    p = np.exp(joint - logsumexp(joint, axis=1)[:, None])
    expected = p @ [[2 / 3, 1 / 3, 0, 0], [0, 1 / 2, 1 / 2, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(predict(read(configured), data, items, [state], point).probability, expected, atol=1e-12)


def test_a_chain_is_followed_with_all_that_it_resamples() -> None:
    """Concentration and scales are those of the present state, of recorded states as of the chain's own."""
    data = from_object(THREE, "points")
    written = {"concentration": "gamma(2,1)", "b0": "gamma(2,3)", "kappa0": "gamma(2.5,4)"}
    configured = choice("model", "gaussian") | {"name": "gaussian"} | written
    items = data.kind.new_items(data, [[0.5, 0.0], [-7.0, 9.0]])
    chain, _ = build(configured, data, data)
    densities = Following(read(configured), data, items, chain)
    for labels, concentration, scales in [([0, 1, 0], 3.0, [0.7, 2.0, 0.2]), ([0, 0, 0], 0.4, [5.0, 0.1, 1.5])]:
        chain.set_labels(np.array(labels, dtype=np.int32))
        chain.set_prior_values({"concentration": concentration})
        chain.set_parameters(np.array(scales)[:, None])
        # the same numbers as options, not as states
        fixed = configured | {"concentration": concentration, "b0": scales[:2], "kappa0": scales[2]}
        states = [
            State(chain.labels, chain.K, {}),
            State(chain.labels, chain.K, {"concentration": concentration}, scales),
        ]
        for options, state in zip((fixed, configured), states, strict=True):
            ((_, density, weight),) = by_state(read(options), data, items, [state])
            sizes = np.append(np.bincount(labels), concentration) / (3 + concentration)
            np.testing.assert_allclose(np.exp(weight), sizes, rtol=1e-12)
            np.testing.assert_allclose(densities(), logsumexp(density + weight, axis=1), rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"name": "gaussian", "b0": "hierarchical"}, r"recorded without b0 and kappa0.*resume=false"),
        ({"name": "lines", "conjugate": False}, r"^model.conjugate=false: .*expected model.conjugate=true"),
    ],
)
def test_states_that_lack_parameters_are_refused_with_what_works(model: dict[str, Any], message: str) -> None:
    data, state = from_object(THREE, "points"), State(np.zeros(3, dtype=np.int32), 1, {})
    configured = choice("model", model["name"]) | model
    with pytest.raises(ConfigError, match=message):
        predict(read(configured), data, data.kind.new_items(data, THREE), [state], state.labels)


def test_a_token_joins_entities_that_are_empty_too() -> None:
    """The entity/mention model: the number of entities is part of the state, and none is founded."""
    data = from_object(["a", "b", "a", "c"], "tokens")
    configured = choice("model", "emm") | {"name": "emm", "alpha": 0.5}
    state = State(np.array([0, 1, 0, 1], dtype=np.int32), 3, {})
    items = data.kind.new_items(data, ["a"])
    ((_, density, weight),) = by_state(read(configured), data, items, [state])
    np.testing.assert_allclose(np.exp(weight), [1 / 3, 1 / 3, 1 / 3, 0])
    np.testing.assert_allclose(np.exp(density[0, :3]), [2.5 / 3.5, 0.5 / 3.5, 0.5 / 1.5])
    found = predict(read(configured), data, items, [state], state.labels)
    joined = np.array([2.5 / 3.5, 0.5 / 3.5, 1 / 3])
    np.testing.assert_allclose(found.probability[0], joined / joined.sum())


@pytest.mark.parametrize("covariance", ["diag", "iso", "full"])
@pytest.mark.parametrize("b0", ["hierarchical", 1e-8])
def test_new_items_may_be_anywhere(covariance: str, b0: str | float) -> None:
    """A state that a chain visits predicts whatever comes, without losing digits: Student's t of each cluster."""
    x = np.random.default_rng(0).normal(size=(12, 3)) * [1.0, 1.0, 1e-3]
    data = from_object(x, "points")
    configured = choice("model", "gaussian") | {"name": "gaussian", "covariance": covariance, "b0": b0, "m0": 0.0}
    scale = 1e-8 if b0 != "hierarchical" else 1e-7
    kept = None if b0 != "hierarchical" else np.full(1 if covariance == "iso" else 3, scale)
    new = np.array([[0.5, 0.5, 0.0], [1e3, -1e3, 1.0], [1e9, -1e9, 1e9], [-1e15, 1.0, 1e15]])
    z = np.repeat([0, 1], 6).astype(np.int32)
    ((_, density, _),) = by_state(read(configured), data, data.kind.new_items(data, new), [State(z, 2, {}, kept)])
    for k in (0, 1):
        here, n, D = x[z == k], 6, 3
        mean, kappa, a = here.sum(axis=0) / (n + 0.1), n + 0.1, 2.0 + n / 2
        scatter = here.T @ here - np.outer(mean, mean) * kappa
        sum_b, wide = scale + scatter.diagonal() / 2, (kappa + 1) / kappa
        if covariance == "diag":
            expected = sum(stats.t.logpdf(new[:, d], 2 * a, mean[d], np.sqrt(wide * sum_b[d] / a)) for d in range(D))
        elif covariance == "iso":
            a = 2.0 + n * D / 2
            of_all = scale + scatter.trace() / 2
            expected = stats.multivariate_t.logpdf(new, mean, wide * of_all / a * np.eye(D), 2 * a)
        else:
            psi, nu = scatter + 2 * scale * np.eye(D), 2 * 2.0 + D - 1 + n
            expected = stats.multivariate_t.logpdf(new, mean, wide * psi / (nu - D + 1), nu - D + 1)
        np.testing.assert_allclose(density[:, k], expected, rtol=1e-8)


def test_a_state_of_as_many_entities_as_there_may_be_predicts() -> None:
    data = from_object(["a", "b", "a", "c"], "tokens")
    configured = choice("model", "emm") | {"name": "emm", "kmax": 2}
    state = State(np.array([0, 1, 0, 1], dtype=np.int32), 2, {})
    ((_, _, weight),) = by_state(read(configured), data, data.kind.new_items(data, ["a"]), [state])
    np.testing.assert_allclose(np.exp(weight), [0.5, 0.5, 0.0])


# ---- Leave-one-out densities: the harmonic mean of the Gibbs normaliser over the enumerated posterior is the ratio of
# the evidences with and without the item (docs/derivations.md, "Leave-one-out densities").

OF_ROWS = [name for name in CASES if name != "irm"]


def evidence_ratio(options: dict[str, Any], data: Any, i: int) -> float:
    """log p(x_i | x_-i): both evidences by enumeration, what defaults to the data's scale the same in both."""
    rest = np.setdiff1d(np.arange(data.N), [i])
    _, of_all = log_joints(build(options, data, data)[0])
    _, of_rest = log_joints(build(options, data, data.take(rest))[0])
    return float(logsumexp(of_all) - logsumexp(of_rest))


@pytest.mark.parametrize("name", OF_ROWS)
def test_harmonic_mean_is_the_ratio_of_the_evidences(name: str) -> None:
    options, given, _ = CASES[name]
    data = from_object(given, component("model", options["name"]).kind.name)
    found, _ = scores.harmonic_means(build(options, data, data)[0], partitions(data.N))
    expected = [evidence_ratio(options, data, i) for i in range(data.N)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("prior", PACKAGE)
def test_harmonic_mean_under_every_prior(prior: str) -> None:
    """A prior of N items need not be that of N - 1: the evidence without x_i is under the prior of all N."""
    points = np.random.default_rng(4).normal(size=(5, 2)) * 2
    options = {"prior": prior, "m0": 0.0, "b0": 1.0}
    model = Gaussian(points, **options)
    states, _ = log_joints(model)
    found, evidence = scores.harmonic_means(model, states)
    for i in range(5):
        kept = [j for j in range(5) if j != i]
        rest, without = Gaussian(points[kept], **options), []
        for labels in states:
            model.set_labels(labels)
            rest.set_labels(np.unique(labels[kept], return_inverse=True)[1].astype(np.int32))
            without.append(model.log_prior_total() + rest.log_lik_total())
        assert found[i] == pytest.approx(evidence - logsumexp(without), abs=1e-9)


@pytest.mark.parametrize("name", ["full", "mixed"])
def test_missing_cells_of_joint_columns_are_integrated_out(name: str) -> None:
    """Quadrature over the cell of the item itself; cells of other rows stand at their present values."""
    points = np.random.default_rng(5).normal(size=(6, 3)) * [1.0, 20.0, 3.0]
    gaps = [(1, 2), (4, 0), (5, 1)]
    for cell in gaps:
        points[cell] = np.nan
    options = {"covariance": "full", "m0": 0.0, "b0": 1.0, "resolution": "none"}
    sexes = ["f", "m", "f", None, "m", "m"]
    labels = np.array([0, 0, 1, 1, 0, 2], dtype=np.int32)

    def left_out(values: np.ndarray) -> Any:
        if name == "full":
            model = build({"name": "gaussian"} | options, *[from_object(values, "points")] * 2)[0]
        else:
            table = from_object(pd.DataFrame(values, columns=["x", "y", "z"]).assign(sex=sexes), "mixed")
            model = build({"name": "mixed"} | options, table, table)[0]
        model.set_labels(labels)
        log_density, log_weight = model.left_out_predictive()
        return model, logsumexp(log_density + log_weight, axis=1)

    model, found = left_out(points)
    # cells are held from the middles of their columns
    middle = (np.nanmin(points, axis=0) + np.nanmax(points, axis=0)) / 2
    filled = points.copy()
    for cell, value in zip(gaps, model.parameters.ravel(), strict=True):
        filled[cell] = middle[cell[1]] + value
    complete = np.setdiff1d(np.arange(6), [row for row, _ in gaps])
    np.testing.assert_allclose(found[complete], left_out(filled)[1][complete], atol=1e-8)
    for row, column in gaps:
        # tan spreads equal steps over the whole line
        angles = (np.arange(100) + 0.5) / 100 * np.pi - np.pi / 2
        integral = []
        for angle in angles:
            varied = filled.copy()
            varied[row, column] = 10 * np.tan(angle)
            integral.append(left_out(varied)[1][row] + np.log(10 / np.cos(angle) ** 2 * np.pi / 100))
        assert found[row] == pytest.approx(logsumexp(integral), abs=1e-3)


def test_what_has_no_density_of_single_items_is_refused() -> None:
    options, given, _ = CASES["irm"]
    network = from_object(given, "graph")
    with pytest.raises(ValueError, match="no predictive density"):
        build(options, network, network)[0].left_out_predictive()
    for model in classes("model").values():
        for variant in variants_of(model) if model.has_powers() and model.kind != "graph" else ():
            try:
                small = small_case(model, 4, 0, variant | {"power": 0.4})
            except ValueError as error:
                assert "power" in str(error)
                continue
            with pytest.raises(ValueError, match="a power of the likelihood"):
                small.model.left_out_predictive()


def test_densities_of_draws() -> None:
    """From exact draws, as many of each partition as its probability says, the mean is the harmonic one."""
    options, given, _ = CASES["diag"]
    data = from_object(given, "points")
    model, configured = build(options, data, data)
    states, joint = log_joints(model)
    p = np.exp(joint - logsumexp(joint))
    drawn = np.random.default_rng(0).choice(len(states), size=4_000, p=p)
    found = leave_one_out(configured, data, [State(states[s], int(states[s].max()) + 1, {}) for s in drawn])
    assert np.all(found.shape < 0.7)
    np.testing.assert_allclose(found.log_density, scores.harmonic_means(model, states)[0], atol=0.05)


def test_tails_are_smoothed() -> None:
    """Ratios of a Pareto distribution of shape 1/2: the fit finds it, and the mean of the weights is nearer."""
    generator = np.random.default_rng(1)
    ratios = np.log(generator.pareto(2.0, size=(2_000, 40)) + 1.0)
    weights, shape = smooth_tails(ratios)
    assert abs(shape.mean() - 0.5) < 0.1
    ordered = np.take_along_axis(weights, np.argsort(ratios, axis=0), axis=0)
    assert np.all(weights <= 0) and np.all(np.diff(ordered, axis=0) >= 0)
    np.testing.assert_array_equal(smooth_tails(np.zeros((100, 2)))[1], -np.inf)
    few = ratios[: 5 * FEWEST - 1, :3]
    np.testing.assert_array_equal(smooth_tails(few)[0], few - few.max(axis=0))


# ---- Rows of counts with exposures: equalities, new rows, rows left out, and runs.
# Kernels are enumerated with the other cases of ``gamma_poisson``.

X = np.array([[3, 0, 1], [1, 1, 0], [0, 4, 2], [7, 1, 1], [0, 0, 0]], dtype=np.int32)
E = np.array([1.5, 0.25, 3.0, 2.0, 0.7])
OPTIONS = {"shape": 1.3, "rate": 0.5}


def test_a_mutant_without_exposures_is_told_apart():
    z = np.array([0, 0, 1, 1, 0], dtype=np.int32)
    model = GammaPoisson(X, exposure=E, **OPTIONS)
    model.set_labels(z)
    assert abs(model.log_lik_total() - GammaPoisson.reference_log_lik(X, z, **OPTIONS)) > 0.1


def test_equal_exposures_are_another_rate():
    """Exposures of c each: the rates' prior in units of c, and unit exposures: no change at all."""
    z = np.array([0, 1, 1, 0, 2], dtype=np.int32)
    for c in (1.0, 4.0):
        exposed, plain = (
            GammaPoisson(X, exposure=np.full(5, c), shape=1.3, rate=0.5),
            GammaPoisson(X, shape=1.3, rate=0.5 / c),
        )
        exposed.set_labels(z)
        plain.set_labels(z)
        assert exposed.log_lik_total() == pytest.approx(plain.log_lik_total(), abs=1e-9)


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_density_of_new_rows(power):
    """Negative binomial given the sums of the cluster."""
    data = Dataset("t", "counts", X, exposure=E)
    new = Dataset("n", "counts", np.array([[2, 0, 5], [0, 1, 0]], dtype=np.int32), exposure=np.array([0.5, 6.0]))
    model = GammaPoisson.with_new(data, data.kind.stack(data, new), power=power, **OPTIONS)
    z = np.array([0, 0, 1, 1, 1, 2, 2], dtype=np.int32)
    model.set_labels(z)
    found = model.log_predictive(5)[0]
    for i, e in enumerate(new.exposure):
        for k in range(3):
            of = z[:5] == k
            shape, rate = 1.3 + power * X[of].sum(axis=0), 0.5 + power * E[of].sum()
            expected = stats.nbinom.logpmf(new.values[i], shape, rate / (rate + e)).sum()
            assert found[i, k] == pytest.approx(expected, abs=1e-9)


def test_left_out_density_is_a_ratio_of_evidences():
    model = GammaPoisson(X, exposure=E, **OPTIONS)
    found, evidence = scores.harmonic_means(model, partitions(5))
    for i in range(5):
        rest = np.delete(np.arange(5), i)
        _, of_rest = log_joints(GammaPoisson(X[rest], exposure=E[rest], **OPTIONS))
        assert found[i] == pytest.approx(evidence - logsumexp(of_rest), abs=1e-9)


def test_simulated_rows_have_their_exposures():
    data = Dataset("t", "counts", np.full((4_000, 2), 3, dtype=np.int32), exposure=np.repeat([1.0, 10.0], 2_000))
    given = Given(data, np.zeros(4_000, dtype=np.int64), {"shape": 1.0, "rate": 1.0})
    made = simulate_rates(np.random.default_rng(1), given)
    ratio = made[2_000:].mean() / made[:2_000].mean()
    assert ratio == pytest.approx(10.0, rel=0.1)
    assert made[:2_000].mean() == pytest.approx(24_001 / 22_000 / 2, rel=0.06)


FRAME = pd.DataFrame({"a": X[:4, 0], "hours": E[:4], "b": X[:4, 1], "c": X[:4, 2]})


def test_another_model_has_no_exposures():
    with pytest.raises(ValueError, match=r"data\.exposure is for model=gamma_poisson"):
        Multinomial.from_data(from_object(X, "counts", exposure=E))


def test_a_run_with_exposures_predicts_new_rows():
    posterior = smcmc.sample(
        "gamma_poisson", FRAME, chains=2, iterations=50, seed=1, options={"data.exposure": "hours"}
    )
    twice = pd.concat([FRAME, FRAME]).assign(hours=np.repeat([1.0, 30.0], 4))
    density = posterior.log_predictive(twice)
    assert len(density) == 8 and not np.allclose(density[:4], density[4:])
    with pytest.raises(DataError, match="no exposures"):
        posterior.log_predictive(FRAME.drop(columns="hours"))
