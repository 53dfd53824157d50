"""Networks drawn from the model of relations: their expected numbers of edges are the predictive ones."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from link_cases import FORMS, LABELS, OPTIONS, draw_relation, list_pairs

from splitmerge_cli.core.simulation import Given
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.fits.candidates import model_of
from splitmerge_cli.kinds.networks import simulated as simulated_relations
from splitmerge_cli.kinds.networks.data import COUNT, LEVELS, REAL, Relation, Relations, simple_graph
from splitmerge_cli.kinds.networks.link_scores import Links, remove_edges, score_links
from splitmerge_cli.kinds.networks.quantities import CLOSED, RECIPROCITY, SPREAD, measure_relations
from splitmerge_cli.kinds.networks.simulated import simulate_relations
from splitmerge_cli.runs.checks import DISPERSION, SKEWNESS, check_fit
from splitmerge_cli.runs.draws import State

DRAWS = 150


def draw(
    relation: Relation,
    sides: Any,
    options: dict[str, Any],
    known: int | None = None,
    labels: Any = LABELS,
    draws: int = DRAWS,
) -> list[Relation]:
    relations, rng = Relations(len(LABELS), (relation,), sides), np.random.default_rng(0)
    dataset = Dataset("made", "graph", simple_graph(relations), relations=relations)
    given = Given(dataset, labels.astype(np.int64), options, known=known)
    return [simulate_relations(rng, given).layers[0] for _ in range(draws)]


def test_of_a_small_network_every_pair_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges are drawn cell by cell only if a network has more than `MOST_PAIRS` pairs, which 60 nodes do not."""
    monkeypatch.setattr(simulated_relations._Layer, "_pairs_at", None)
    ends = np.array([[0, 1], [1, 2]], dtype=np.int32)
    relations = Relations(60, (Relation("", ends, directed=True),))
    dataset = Dataset("made", "graph", simple_graph(relations), relations=relations)
    given = Given(dataset, np.arange(60) // 30, OPTIONS, known=None)
    assert len(simulate_relations(np.random.default_rng(0), given).layers[0].ends)


def sum_by_pair(drawn: list[Relation]) -> tuple[Any, Any]:
    """Share of the draws with an edge, and mean count of each pair."""
    edges, total = np.zeros((6, 6)), np.zeros((6, 6))
    for one in drawn:
        edges[tuple(one.ends.T)] += 1
        total[tuple(one.ends.T)] += one.weights
    return edges / DRAWS, total / DRAWS


@pytest.mark.parametrize(
    ("form", "degrees"), [("binary", "plain"), (COUNT, "plain"), (COUNT, "corrected"), (COUNT, "scattered")]
)
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("is_large", [False, True])
def test_edges_have_their_predictive_probabilities(
    is_large: bool, name: str, form: str, degrees: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large:
        monkeypatch.setattr(simulated_relations, "MOST_PAIRS", 0)  # edges are drawn, not every pair
    if degrees == "corrected":
        monkeypatch.setattr(simulated_relations, "MOST_ENDS", 0)  # counts are drawn by pair
    sides, options = FORMS[name].get("sides"), OPTIONS | {"degrees": degrees}
    if degrees == "scattered":
        options = OPTIONS | {"precision": 0.8, "shape": 3.0}
    labels = LABELS if sides is None else np.array([0, 0, 2, 1, 1, 2])
    relation = draw_relation(11, form, **FORMS[name])
    if degrees == "corrected":
        relation = replace(relation, unknown=relation.unknown[:0])
    edges, total = sum_by_pair(draw(relation, sides, options, labels=labels))
    unknown = set(map(tuple, relation.unknown.tolist()))
    pairs = np.array([p for p in list_pairs(sides, relation.directed, relation.loops) if p not in unknown])
    links = Links(relation, labels, options, sides)
    assert edges.sum() == pytest.approx(edges[tuple(pairs.T)].sum())  # no other pair
    probability = links.probability(pairs.astype(np.int32))
    assert np.abs(edges[tuple(pairs.T)] - probability).max() < 4.5 * 0.5 / np.sqrt(DRAWS)
    if form == COUNT:
        expected = links.mean(pairs.astype(np.int32))
        assert total[tuple(pairs.T)].sum() == pytest.approx(expected.sum(), rel=0.12)


def test_without_known_nodes_probabilities_come_from_their_prior() -> None:
    edges, _ = sum_by_pair(draw(draw_relation(12, directed=True), None, OPTIONS, known=0))
    assert edges.sum() / 28 == pytest.approx(0.35, abs=0.05)


def test_values_have_their_predictive_moments() -> None:
    relation = draw_relation(13, REAL)
    drawn = draw(relation, None, OPTIONS | {"a0": 4.0})
    middle, scale, _, mean, _, _ = Links(relation, LABELS, OPTIONS).normal_posterior()
    value = [x for one in drawn for x, pair in zip(one.value, LABELS[one.ends].tolist(), strict=True) if pair == [0, 1]]
    assert np.mean(value) == pytest.approx(middle + scale * mean[0, 1], abs=0.25 * scale)

    relation = draw_relation(14, LEVELS, directed=True)
    drawn = draw(relation, None, OPTIONS)
    links = Links(relation, LABELS, OPTIONS)
    codes = [x for one in drawn for x, pair in zip(one.value, LABELS[one.ends].tolist(), strict=True) if pair == [1, 0]]
    shares = np.exp([links.log_density(np.array([[3, 0]], dtype=np.int32), np.array([code]))[0] for code in range(3)])
    assert np.bincount(np.array(codes, dtype=int), minlength=3) / len(codes) == pytest.approx(shares, abs=0.08)


def test_pairs_are_numbered_once() -> None:
    """A full relation: every pair is drawn, whatever its blocks."""
    for directed, loops in ((False, False), (False, True), (True, False), (True, True)):
        pairs = np.array(list_pairs(None, directed, loops), dtype=np.int32)
        relation = Relation("", pairs, directed=directed, loops=loops)
        drawn = draw(relation, None, OPTIONS | {"beta1": 1e6, "beta0": 1e-6}, draws=1)[0]
        assert sorted(map(tuple, drawn.ends.tolist())) == sorted(map(tuple, pairs.tolist()))


def test_quantities_of_relations_are_counted_pair_by_pair() -> None:
    ends = np.array([[0, 1], [1, 0], [0, 2], [3, 4], [1, 4]], dtype=np.int32)
    one = Relation("a", ends, COUNT, np.array([1.0, 2.0, 3.0, 4.0, 6.0]), directed=True)
    two = Relation("b", np.array([[0, 1], [0, 2], [1, 2], [2, 3]], dtype=np.int32))
    found = measure_relations(Relations(6, (one, two)), LABELS, True)
    assert found["a: edges", "number"] == 5
    assert found["a: edges", RECIPROCITY] == pytest.approx(2 / 5)
    out = np.array([4.0, 8.0, 0.0, 4.0, 0.0, 0.0])
    within = out - np.array([4.0, 4.0, 4.0, 2.0, 2.0, 0.0])
    assert found["a: degrees out", SPREAD] == pytest.approx(np.sqrt((within**2).mean()))
    assert found["a: degrees in", "largest"] == 10
    assert found["a: degrees", "nodes without an edge"] == 1
    assert found["a: counts", "largest"] == 6
    # three pairs of blocks with counts: 1, 2, 3 of six pairs; 6 of six; 4 of two
    squares = [14 - 36 / 6, 36 - 36 / 6, 16 - 16 / 2]
    means = [1, 1, 2]
    ratio = sum(square / mean for square, mean in zip(squares, means, strict=True)) / 14
    assert found["a: counts", DISPERSION] == pytest.approx(ratio)
    assert found["b: edges", CLOSED] == pytest.approx(6 / 10)
    assert ("a: edges", CLOSED) not in found

    real = Relation("", ends, REAL, np.array([1.0, 2.0, 4.0, 0.0, 7.0]), directed=True)
    found = measure_relations(Relations(6, (real,)), LABELS, False)
    x = np.array([1.0, 2.0, 4.0]) - 7 / 3
    assert found["values", SKEWNESS] == pytest.approx((x**3).mean() / (x**2).mean() ** 1.5)
    assert ("degrees", "nodes without an edge") not in found


@pytest.mark.parametrize("form", ["binary", COUNT, REAL, LEVELS])
def test_networks_without_edges_have_the_same_quantities(form: str) -> None:
    layer = draw_relation(16, form)
    empty = replace(layer, ends=layer.ends[:0], value=None if layer.value is None else layer.value[:0])
    found, of_empty = (measure_relations(Relations(6, (one,)), LABELS, True) for one in (layer, empty))
    assert found.keys() == of_empty.keys()


def test_networks_are_checked_in_their_own_form() -> None:
    """Relations stay relations; a simple network stays a matrix, whatever its degrees."""
    relations = Relations(6, (draw_relation(15, COUNT, directed=True),))
    dataset = Dataset("made", "graph", simple_graph(relations), relations=relations)
    states = [State(LABELS.astype(np.int32), 3, {})]
    for data, degrees in ((dataset, "plain"), (replace(dataset, relations=None), "corrected")):
        model = model_of({"name": "irm", "degrees": degrees})
        fit = check_fit(model, data, states, draws=20)
        spread = [check for check in fit.checks if check.quantity == SPREAD]
        assert len(spread) == (2 if data.relations else 1)
        assert all(check.low <= check.median <= check.high for check in spread)


@pytest.mark.parametrize("name", FORMS)
def test_probabilities_of_removed_edges_are_calibrated(name: str) -> None:
    """Networks of 60 nodes that the model makes: as many removed edges as expected, given the true blocks."""
    labels, sides = np.repeat([0, 1, 2, 3], 15), None
    fields = {key: value for key, value in FORMS[name].items() if key != "sides"}
    if name == "two kinds":
        sides = (labels % 2).astype(np.int8)
    for form, degrees in (("binary", "plain"), (COUNT, "plain"), (COUNT, "corrected")):
        options = OPTIONS | {"degrees": degrees, "shape": 2.0, "rate": 4.0}
        value = np.zeros(0) if form == COUNT else None
        empty = Relations(60, (Relation("", np.zeros((0, 2), dtype=np.int32), form, value, **fields),), sides)
        dataset = Dataset("made", "graph", simple_graph(empty), relations=empty)
        distance = []
        for seed in range(4):
            given = Given(dataset, labels, options, known=0)
            held = remove_edges(simulate_relations(np.random.default_rng(seed), given), 0.2, seed)
            table = score_links(held, [(labels, options)]).reliability
            distance.append((table["observed"].sum() - table["expected"].sum()) / np.sqrt((table["error"] ** 2).sum()))
        # the number of removed edges is fixed, which varies less
        assert abs(np.mean(distance)) < 4.0 / np.sqrt(4), (form, degrees)
        assert np.std(distance) < 2.0, (form, degrees)


@pytest.mark.parametrize("fields", [{"loops": True}, {"directed": True}])
def test_counts_of_a_thousand_million_are_drawn(fields: dict[str, Any]) -> None:
    layer = draw_relation(4, COUNT, **fields)
    large = replace(layer, value=layer.weights * 4e8)
    (huge,) = draw(large, None, OPTIONS, draws=1)
    assert 0.5 < huge.weights.sum() / large.weights.sum() < 2.0
