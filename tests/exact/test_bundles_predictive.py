"""Predictions given bundled rows: weights predict as repeated rows, new units as the product of their rows."""

import numpy as np
import pytest

from splitmerge_cli.analysis.predictive import by_state, each_alone, predict
from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.bundles import Bundles
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.fits.candidates import model_of
from splitmerge_cli.runs import draws, initial

COUNTS = np.array([2, 1, 3, 1, 2, 1])
LABELS = np.array([0, 0, 1, 1, 0, 2], dtype=np.int32)
ROWS = np.arange(6, dtype=np.int32)
MODELS = {
    "gaussian": ("points", {"covariance": "full"}),
    "gaussian-power": ("points", {"name": "gaussian", "covariance": "diag", "power": 0.5}),
    "multinomial": ("counts", {}),
    "gamma_poisson": ("counts", {}),
    "bernoulli": ("binary", {}),
}


def tables(kind: str) -> tuple[Dataset, Dataset]:
    rng = np.random.default_rng(1)
    values = {
        "points": rng.normal(size=(8, 2)),
        "counts": rng.integers(0, 5, (8, 3)).astype(np.int32),
        "binary": rng.integers(0, 2, (8, 3)).astype(np.uint8),
    }[kind]
    return Dataset("t", kind, values[:6]), Dataset("n", kind, values[6:])


def with_bundles(data: Dataset, bundles: Bundles) -> Dataset:
    return Dataset("t", data.kind, data.values, bundles=bundles)


def predict_state(options: dict, data: Dataset, new: Dataset, labels: np.ndarray):
    model = model_of({"concentration": 1.3} | options)
    ((_, log_density, log_weight),) = by_state(model, data, new, [draws.State(labels, 3, {})])
    return log_density, log_weight


@pytest.mark.parametrize("name", MODELS)
def test_weights_predict_as_repeated_rows(name: str) -> None:
    kind, options = MODELS[name]
    options = {"name": name} | options
    data, new = tables(kind)
    rows = np.repeat(ROWS, COUNTS)
    weighed = predict_state(options, with_bundles(data, Bundles(ROWS, COUNTS)), new, LABELS)
    repeated = predict_state(options, data.take(rows), new, LABELS[rows])
    for ours, theirs in zip(weighed, repeated, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9)
    # where the prior counts items, as many items are in each cluster
    of_items = predict_state(options, with_bundles(data, Bundles(ROWS, COUNTS, prior_counts="items")), new, LABELS)
    assert of_items[0] == pytest.approx(repeated[0], abs=1e-9)
    assert np.exp(of_items[1]) == pytest.approx(np.array([3, 2, 1, 1.3]) / 7.3)


def test_fractions_are_powers_of_the_data_and_not_of_new_rows() -> None:
    data, new = tables("points")
    options = {"name": "gaussian", "covariance": "diag", "m0": [0.0, 0.0], "b0": 1.0}
    halves = predict_state(options, with_bundles(data, Bundles(ROWS, COUNTS, 0.5, "items")), new, LABELS)
    rows = np.repeat(ROWS, COUNTS)
    power = predict_state(options | {"power": 0.5}, data.take(rows), new, LABELS[rows])
    assert halves[0] == pytest.approx(power[0], abs=1e-9)


def test_a_new_unit_has_the_density_of_its_rows_together() -> None:
    data, new = tables("points")
    options = {"name": "gaussian", "covariance": "full", "m0": [0.0, 0.0], "b0": 1.0}
    unit = with_bundles(new, Bundles(np.zeros(2, dtype=np.int32)))
    known = with_bundles(data, Bundles(np.array([0, 0, 1, 1, 2, 3], dtype=np.int32), prior_counts="items"))
    labels = np.array([0, 0, 1, 1, 0, 2], dtype=np.int32)
    log_density, log_weight = predict_state(options, known, unit, labels)
    assert np.exp(log_weight) == pytest.approx(np.array([2, 1, 1, 1.3]) / 5.3)
    for k in range(3):
        first = predict_state(options, known, new.take(slice(0, 1)), labels)[0][0, k]
        more = Dataset("t", "points", np.concatenate([data.values, new.values[:1]]))
        second = predict_state(options, more, new.take(slice(1, 2)), np.append(labels, np.int32(k)))[0][0, k]
        assert log_density[:, k] == pytest.approx([first + second] * 2, abs=1e-9)
    # new rows alone, and new units in data without bundles
    both = predict(model_of(options), data, unit, [draws.State(labels, 3, {})], labels)
    assert np.ptp(both.log_density) == 0 and both.probability.sum(axis=1) == pytest.approx(1.0)


def test_a_member_counts_by_its_weight_in_probabilities() -> None:
    """Clusters of a draw cross clusters of the partition by members as the repeated table has them."""
    data, new = tables("points")
    model = model_of({"name": "gaussian", "m0": [0.0, 0.0], "b0": 1.0})
    states, partition = [draws.State(LABELS, 3, {})], np.array([0, 1, 1, 0, 1, 0], dtype=np.int32)
    rows = np.repeat(ROWS, COUNTS)
    ours = predict(model, with_bundles(data, Bundles(ROWS, COUNTS)), new, states, partition)
    theirs = predict(model, data.take(rows), new, [draws.State(LABELS[rows], 3, {})], partition[rows])
    assert ours.probability == pytest.approx(theirs.probability, abs=1e-12)


def test_where_the_prior_counts_rows_a_new_unit_counts_as_its_rows() -> None:
    """The prior's weights of two rows in one cluster, and of one row; an unlike number of rows in one call."""
    data, new = tables("points")
    three = Dataset("n", "points", np.concatenate([new.values, new.values[:1]]))
    units = with_bundles(three, Bundles(np.array([0, 0, 1], dtype=np.int32)))
    options = {"name": "gaussian", "m0": [0.0, 0.0], "b0": 1.0}
    _, log_weight = predict_state(options, with_bundles(data, Bundles(ROWS, COUNTS)), units, LABELS)
    sizes = np.bincount(LABELS, COUNTS)
    two = np.append(sizes * (sizes + 1), 1.3)
    assert np.exp(log_weight[0]) == pytest.approx(two / two.sum())
    assert np.exp(log_weight[2]) == pytest.approx(np.append(sizes, 1.3) / (sizes.sum() + 1.3))


def test_left_out_items_stay_apart() -> None:
    """The density of an item given all others has no share of a cluster that it cannot join."""
    data, _ = tables("points")
    apart = np.array([[0, 2]], dtype=np.int32)
    options = {"name": "gaussian", "m0": [0.0, 0.0], "b0": 1.0, "concentration": 1.3}
    built = initial.build_model(model_of(options), with_bundles(data, Bundles(ROWS, COUNTS, apart=apart)))
    built.set_labels(LABELS)
    weight = np.exp(built.left_out_predictive()[1])
    assert weight.sum(axis=1) == pytest.approx(1.0)
    # without row 1, which counts as 2: rows 2 and 5 of its cluster count as 3, row 6 as 1
    expected = np.array([3.0 * 4.0, 0.0, 1.0 * 2.0, 1.3])
    assert weight[0] == pytest.approx(expected / expected.sum())


def test_rows_of_a_new_unit_have_no_joint_density_under_a_power() -> None:
    data, new = tables("points")
    unit = with_bundles(new, Bundles(np.zeros(2, dtype=np.int32)))
    halves = with_bundles(data, Bundles(ROWS, COUNTS, 0.5, "items"))
    for options, table in (({}, halves), ({"power": 0.5}, data)):
        with pytest.raises(ConfigError, match=r"data.group: rows of a new unit have no joint density under a power"):
            predict_state({"name": "gaussian"} | options, table, unit, LABELS)
        model = model_of({"name": "gaussian"} | options)
        assert (
            each_alone(model, table, unit).items is None
            and each_alone(model_of({"name": "gaussian"}), data, unit) is unit
        )
