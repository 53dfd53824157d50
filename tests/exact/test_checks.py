"""Replications of posterior predictive checks: a new item of a cluster is distributed as the model predicts.

A replicated cell, given the partition, is a draw from the posterior predictive distribution of one more item of its
cluster, which the models integrate in closed form. Parameters that are drawn and those that are integrated out share no
code.
"""

import numpy as np
import pytest

from splitmerge_cli.config import component
from splitmerge_cli.data.base import ColumnType, Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.studies import checks
from splitmerge_cli.studies.predictive import State, by_state

DRAWS = 2500
LABELS = np.array([0, 0, 1, 0, 1, 1, 1], dtype=np.int32)
TYPES = (
    ColumnType("real"),
    ColumnType("count"),
    ColumnType("categorical", ("a", "b", "c")),
    ColumnType("binary", ("n", "y")),
)
CELLS = np.array(
    [
        [1.2, 0, 0, 1],
        [2.0, 3, 1, 1],
        [-4.0, 1, 2, 0],
        [1.1, 0, 0, 1],
        [-3.1, 7, 2, 0],
        [np.nan, 2, 1, np.nan],
        [-5.5, 0, 2, 1],
    ]
)


def replicate(model, dataset: Dataset, state: State, draws: int = DRAWS) -> np.ndarray:
    """Replications of all cells, ``[draws, N, D]``."""
    rng = np.random.default_rng(1)
    prior = checks.replicate_parameters(model, checks.prior_of(model, dataset), state)
    of = checks._table(model, dataset)
    return np.stack([of.draw(rng, state.labels.astype(np.int64), prior) for _ in range(draws)])


def predict_densities(model, dataset: Dataset, state: State, new: np.ndarray) -> np.ndarray:
    """Densities of new rows in each cluster, ``[n, K]``."""
    whole = Dataset("new", dataset.kind, new, columns=dataset.columns, types=dataset.types)
    (_, log_density, _), *_ = by_state(model, dataset, whole, [state])
    return np.exp(log_density[:, :-1])


@pytest.mark.parametrize("scales", [{}, {"b0": "gamma(2,1)", "kappa0": "gamma(1,1)"}])
def test_a_replicated_cell_is_a_draw_from_the_predictive(scales) -> None:
    model = component("model", "mixed", **scales)
    dataset = Dataset("t", "mixed", CELLS, columns=["r", "c", "l", "b"], types=TYPES)
    state = State(LABELS, 2, {}, np.array([0.7, 0.3]) if scales else None)
    made = replicate(model, dataset, state)
    assert (np.isnan(made) == np.isnan(CELLS)).all()
    for j, (column, first) in enumerate(zip(TYPES, ("real", "count", "categorical", "binary"), strict=True)):
        assert column.type == first
        values = np.arange(-60, 60, 0.01) if first == "real" else np.arange(len(column.levels) or 60.0)
        new = np.full((len(values), 4), np.nan)
        new[:, j] = values
        density = predict_densities(model, dataset, state, new) * (0.01 if first == "real" else 1.0)
        for k in range(2):
            cells = made[:, k == LABELS, j][:, 0]
            assert density[:, k].sum() == pytest.approx(1.0, abs=0.02)
            for at in np.quantile(values, [0.3, 0.48, 0.5, 0.52]) if first == "real" else values[:4]:
                expected = density[values <= at, k].sum()
                assert (cells <= at).mean() == pytest.approx(expected, abs=4.5 * 0.5 / np.sqrt(DRAWS))


@pytest.mark.parametrize("covariance", ["diag", "iso", "full"])
def test_a_replicated_point_is_a_draw_from_the_predictive(covariance) -> None:
    model = component("model", "gaussian", covariance=covariance)
    points = np.array([[0.0, 0.2], [1.0, 1.1], [8.0, 1.0], [2.0, 1.6], [9.0, 0.0], [7.5, 2.0], [8.2, 0.7]])
    dataset = from_object(points, "points")
    state = State(LABELS, 2, {}, None)
    made = replicate(model, dataset, state)
    step = 0.2
    grid = np.stack(np.meshgrid(np.arange(-40, 50, step), np.arange(-25, 30, step), indexing="ij"), axis=-1).reshape(
        -1, 2
    )
    density = predict_densities(model, dataset, state, grid) * step**2
    for k in range(2):
        cells = made[:, k == LABELS][:, 0]
        assert density[:, k].sum() == pytest.approx(1.0, abs=0.01)
        for direction, at in (
            ([1, 0], 3.1),
            ([0, 1], 1.1),
            ([1, -1], 1.5),
            ([1, 1], 6.1),
        ):  # between points of the grid
            expected = density[grid @ direction <= at, k].sum()
            assert (cells @ direction <= at).mean() == pytest.approx(expected, abs=4.5 * 0.5 / np.sqrt(DRAWS))


def test_a_replicated_network_has_the_ties_that_are_expected() -> None:
    edges = np.zeros((6, 6), dtype=np.uint8)
    for a, b in ((0, 1), (1, 2), (0, 2), (3, 4), (2, 3)):
        edges[a, b] = edges[b, a] = 1
    of = checks._network(component("model", "irm"), from_object(edges, "graph"))
    labels, rng = np.array([0, 0, 0, 1, 1, 1]), np.random.default_rng(2)
    made = np.mean([of.draw(rng, labels, {"beta1": 0.5, "beta0": 2.0}) for _ in range(DRAWS)], axis=0)
    # three ties of three pairs; one of three; one of nine
    for place, expected in (((0, 1), 3.5 / 5.5), ((3, 5), 1.5 / 5.5), ((0, 4), 1.5 / 11.5)):
        assert made[place] == pytest.approx(expected, abs=4.5 * 0.5 / np.sqrt(DRAWS))
    assert not np.tril(made).any()


def test_replicated_words_are_drawn_from_the_predictive_of_their_topic() -> None:
    words, documents = np.array([0, 0, 1, 2, 2, 2, 0]), np.array([0, 0, 0, 0, 1, 1, 1])
    of, labels, rng = checks._Corpus(words, documents, 4), np.array([0, 0, 0, 1, 1, 1, 1]), np.random.default_rng(3)
    made = np.stack([of.draw(rng, labels, {"eta": 0.5}) for _ in range(DRAWS)])
    for k, counts in enumerate(([2, 1, 0, 0], [1, 0, 3, 0])):
        expected = (np.array(counts) + 0.5) / (sum(counts) + 2.0)
        found = np.bincount(made[:, labels == k][:, 0], minlength=4) / DRAWS
        assert found == pytest.approx(expected, abs=4.5 * 0.5 / np.sqrt(DRAWS))
    # topic 0 is in one document; in topic 1: 1 of 4 tokens is word 2 of document 0, 2 of document 1, 1 word 0 of it
    within = np.log(0.25 / (0.75 * 0.25)) * 0.25 + np.log(0.5 / 0.5625) * 0.5 + np.log(0.25 / 0.1875) * 0.25
    assert of._information(words, labels) == pytest.approx(4 * within / 7)


def test_data_of_the_model_pass_and_others_do_not() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 150).astype(np.int32)
    good = rng.normal(size=(300, 2)) + 6 * labels[:, None]
    tied = good.copy()
    tied[:, 1] = 6 * labels + 0.8 * (good[:, 0] - 6 * labels) + 0.6 * (good[:, 1] - 6 * labels)
    tied[:, 0] = 6 * labels + np.exp(rng.normal(size=300))
    states = [State(labels, 2, {}, None)] * 100
    model = component("model", "gaussian", covariance="diag")
    assert not [each for each in checks.check_fit(model, from_object(good, "points"), states).checks if each.is_unlike]
    found = {(c.subject, c.quantity): c for c in checks.check_fit(model, from_object(tied, "points"), states).checks}
    assert found["1", "skewness within clusters"].is_unlike
    assert not found["2", "skewness within clusters"].is_unlike
    tied[:, 0] = good[:, 0]
    found = {(c.subject, c.quantity): c for c in checks.check_fit(model, from_object(tied, "points"), states).checks}
    assert found["1 and 2", "residual tie within clusters"].is_unlike
    # which a full covariance describes
    full = component("model", "gaussian", covariance="full")
    found = {(c.subject, c.quantity): c for c in checks.check_fit(full, from_object(tied, "points"), states).checks}
    assert not found["1 and 2", "residual tie within clusters"].is_unlike
