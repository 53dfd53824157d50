"""Predictive densities of new items against enumeration of all partitions, with and without the new item."""

from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import pandas
import pytest
from scipy.special import logsumexp

from splitmerge_cli.config import choice, locate
from splitmerge_cli.data.base import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.stacking import new_items, node_added, stacked
from splitmerge_cli.runs.predictive import State, by_state, predict
from splitmerge_cli.verify.enumerate import partitions

GENERATOR = np.random.default_rng(3)
POINTS = GENERATOR.normal(size=(5, 2)) * [1.0, 20.0] + [0.0, 100.0]
BITS = GENERATOR.integers(2, size=(5, 4))
GRAPH = networkx.Graph([(0, 1), (0, 2), (1, 2), (3, 4), (2, 3)])
CASES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "diag": ({"name": "gaussian"}, POINTS, [[0.3, 95.0], [9.0, -40.0]]),
    "iso": ({"name": "gaussian", "covariance": "iso"}, POINTS, [[0.3, 95.0], [9.0, -40.0]]),
    "full": ({"name": "gaussian", "covariance": "full", "concentration": 0.3}, POINTS, [[0.3, 95.0], [9.0, -40.0]]),
    "bernoulli": ({"name": "bernoulli", "concentration": 2.5}, BITS, [[0, 1, 1, 0], [1, 1, 1, 1]]),
    "lines": ({"name": "lines"}, POINTS[:, ::-1] / 10, [[1.0, 2.0]]),
    "mixed": (
        {"name": "mixed"},
        pandas.DataFrame(
            {"sex": ["f", "m", "f", "f", None], "n": [1, 5, 2, 900, 3], "x": [1.5, -2.0, np.nan, 9.0, 3.25]},
        ),
        pandas.DataFrame({"sex": ["m", None], "n": [3, 700], "x": [2.0, 7.5]}),
    ),
    "irm": ({"name": "irm"}, GRAPH, [[1, 1, 0, 0, 0], [0, 0, 0, 0, 0]]),
}


def build(options: dict[str, Any], data: Dataset, whole: Dataset) -> Any:
    configured = choice("model", options["name"]) | options
    cls = locate(configured["_target_"])
    given = {key: value for key, value in configured.items() if key not in ("name", "_target_")}
    return cls.from_data(whole, **cls.with_defaults_of(data, **given)), configured


def log_joints(model: Any) -> tuple[list[np.ndarray], np.ndarray]:
    states = [np.array(labels, dtype=np.int32) for labels in partitions(model.N)]
    found = []
    for labels in states:
        model.set_labels(labels)
        found.append(model.log_joint())
    return states, np.array(found)


@pytest.mark.parametrize("name", CASES)
def test_density_is_the_ratio_of_the_evidences(name: str) -> None:
    """p(new | data) = p(data, new) / p(data), each a sum over all partitions."""
    options, given, new = CASES[name]
    data = from_object(given, locate(choice("model", options["name"])["_target_"]).kind)
    items = new_items(data, new)
    model, configured = build(options, data, data)
    labels, joint = log_joints(model)
    states = [State(z, int(z.max()) + 1, {}) for z in labels]
    found = [logsumexp(density + weight, axis=1) for _, density, weight in by_state(configured, data, items, states)]
    mixed = logsumexp(np.stack(found) + (joint - logsumexp(joint))[:, None], axis=0)
    for i, row in enumerate(items.values):
        one = replace(items, values=items.values[i : i + 1], names=None)
        whole = node_added(data, row) if data.kind == "graph" else stacked(data, one)
        _, with_it = log_joints(build(options, data, whole)[0])
        assert mixed[i] == pytest.approx(logsumexp(with_it) - logsumexp(joint), abs=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_probabilities_are_of_the_clusters_that_are_joined(name: str) -> None:
    """Every weighted partition of data and new item, and where its items are in a given partition."""
    options, given, new = CASES[name]
    data = from_object(given, locate(choice("model", options["name"])["_target_"]).kind)
    items = new_items(data, new)
    _, configured = build(options, data, data)
    point = np.array([0, 0, 1, 1, 1], dtype=np.int32)
    z = np.array([0, 1, 1, 2, 0], dtype=np.int32)
    found = predict(configured, data, items, [State(z, 3, {})], point)
    np.testing.assert_allclose(found.probability.sum(axis=1), 1)
    for i, row in enumerate(items.values):
        one = replace(items, values=items.values[i : i + 1], names=None)
        whole = node_added(data, row) if data.kind == "graph" else stacked(data, one)
        model, _ = build(options, data, whole)
        joint = []
        for k in range(4):
            model.set_labels(np.append(z, np.int32(k)))
            joint.append(model.log_joint())
        p = np.exp(joint - logsumexp(joint))
        expected = [p[0] / 2 + p[1] / 2, p[0] / 2 + p[1] / 2 + p[2], p[3]]
        np.testing.assert_allclose(found.probability[i], expected, atol=1e-10)


def test_a_token_joins_entities_that_are_empty_too() -> None:
    """The entity/mention model: the number of entities is part of the state, and none is founded."""
    data = from_object(["a", "b", "a", "c"], "tokens")
    configured = choice("model", "emm") | {"name": "emm", "alpha": 0.5}
    state = State(np.array([0, 1, 0, 1], dtype=np.int32), 3, {})
    items = new_items(data, ["a"])
    ((_, density, weight),) = by_state(configured, data, items, [state])
    np.testing.assert_allclose(np.exp(weight), [1 / 3, 1 / 3, 1 / 3, 0])
    np.testing.assert_allclose(np.exp(density[0, :3]), [2.5 / 3.5, 0.5 / 3.5, 0.5 / 1.5])
    found = predict(configured, data, items, [state], state.labels)
    joined = np.array([2.5 / 3.5, 0.5 / 3.5, 1 / 3])
    np.testing.assert_allclose(found.probability[0], joined / joined.sum())
