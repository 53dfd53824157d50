"""Predictive densities of new items against enumeration of all partitions, with and without the new item."""

import itertools
from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import pandas
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

from splitmerge_cli.analysis.predictive import Following, by_state, predict
from splitmerge_cli.config import Component, ConfigError, choice, component, read_component
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.runs.draws import State
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
            {"sex": ["f", "m", "f", "f", None], "n": [1, 5, 2, 900, 3], "x": [1.5, -2.0, np.nan, 9.0, 3.25]},
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
    found = []
    for labels in states:
        model.set_labels(labels)
        found.append(model.log_joint())
    return states, np.array(found)


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


def test_states_without_their_scales_are_refused() -> None:
    data = from_object(THREE, "points")
    configured = choice("model", "gaussian") | {"name": "gaussian", "b0": "hierarchical"}
    state = State(np.zeros(3, dtype=np.int32), 1, {})
    with pytest.raises(ConfigError, match=r"recorded without b0 and kappa0.*resume=false"):
        predict(read(configured), data, data.kind.new_items(data, THREE), [state], state.labels)


def test_parameters_that_are_kept_are_refused_with_the_option_that_works() -> None:
    data = from_object(THREE, "points")
    configured = choice("model", "lines") | {"name": "lines", "conjugate": False}
    state = State(np.zeros(3, dtype=np.int32), 1, {})
    with pytest.raises(ConfigError, match=r"^model.conjugate=false: .*expected model.conjugate=true"):
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
