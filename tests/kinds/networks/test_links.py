"""Probabilities of edges and densities of their values, compared with integrals and draws of the parameters."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from link_cases import FORMS, LABELS, OPTIONS, SIDES, draw_relation, list_pairs
from scipy import integrate, stats
from scipy.special import gammaln

from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds import networks as block_summary
from splitmerge_cli.kinds.networks import links
from splitmerge_cli.kinds.networks.data import COUNT, LEVELS, REAL, BlockTable, Relation, Relations, simple_graph
from splitmerge_cli.kinds.networks.link_scores import Links, links_of, remove_edges, score_links
from splitmerge_cli.kinds.networks.links import name_links, predict_links, probable_pairs
from splitmerge_cli.runs.summaries import edge_lines


@pytest.mark.parametrize("name", FORMS)
def test_blocks_are_counted_pair_by_pair(name: str) -> None:
    relation = draw_relation(1, COUNT, **FORMS[name])
    sides, both = FORMS[name].get("sides"), not relation.directed and "sides" not in FORMS[name]
    edges, total, pairs = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    unknown = set(map(tuple, relation.unknown.tolist()))
    known = dict(zip(map(tuple, relation.ends.tolist()), relation.weights, strict=True))
    for i, j in list_pairs(sides, relation.directed, relation.loops):
        if (i, j) in unknown:
            continue
        for k, m in {(LABELS[i], LABELS[j]), (LABELS[j], LABELS[i])} if both else [(LABELS[i], LABELS[j])]:
            pairs[k, m] += 1
            edges[k, m] += (i, j) in known
            total[k, m] += known.get((i, j), 0.0)
    table: BlockTable = relation.block_table(LABELS, sides)
    assert np.array_equal(table.pairs, pairs)
    assert np.array_equal(table.edges, edges)
    assert np.array_equal(table.total, total)
    assert table.sources.sum() == relation.weights.sum() * (1 if relation.directed else 2)


@pytest.mark.parametrize("kept", [0.9, 0.3])
def test_an_edge_that_was_removed_has_the_probability_of_the_integral(kept: float) -> None:
    """A density q of the whole network with density r = kept q of the rest: r has a beta distribution below kept."""
    relation = draw_relation(2)
    table, pair = relation.block_table(LABELS), np.array([[0, 3]], dtype=np.int32)
    a, b = OPTIONS["beta1"] + table.edges[0, 1], OPTIONS["beta0"] + table.pairs[0, 1] - table.edges[0, 1]

    def weigh(r: float) -> float:
        return float(r ** (a - 1) * (1 - r) ** (b - 1))

    lacking = integrate.quad(lambda r: weigh(r) * r / kept * (1 - kept) / (1 - r), 0, kept)[0]
    one = Links(relation, LABELS, OPTIONS)
    assert one.probability(pair, kept)[0] == pytest.approx(lacking / integrate.quad(weigh, 0, kept)[0])
    assert one.probability(pair)[0] == pytest.approx(a / (a + b))


def test_counts_have_their_negative_binomial() -> None:
    relation, pair = draw_relation(3, COUNT, directed=True), np.array([[0, 3]], dtype=np.int32)
    one = Links(relation, LABELS, OPTIONS)
    shape, rate = OPTIONS["shape"] + one.table.total[0, 1], OPTIONS["rate"] + one.table.pairs[0, 1]
    more = 0.1 / 0.9
    number = stats.nbinom(shape, rate / (rate + more))
    got = [one.log_number(pair, np.array([float(n)]), 0.9)[0] for n in range(4)]
    assert got == pytest.approx(number.logpmf(np.arange(4)))
    assert one.probability(pair, 0.9)[0] == pytest.approx(-np.expm1(number.logpmf(0)))
    assert one.log_density(pair, np.array([2.0]), 0.9)[0] == pytest.approx(got[2] - np.log(-np.expm1(got[0])))
    assert one.mean(pair)[0] == pytest.approx(shape / rate)


@pytest.mark.parametrize(
    ("kept", "number", "shape"), [(0.9, 0, 0.8), (0.9, 4, 0.8), (0.3, 2, 0.8), (0.02, 30, 0.8), (0.3, 0, 0.05)]
)
def test_counts_that_scatter_have_the_probability_of_the_integral(kept: float, number: int, shape: float) -> None:
    """A pair's rate in the rest is gamma distributed given the share of success p, which is beta distributed. A block
    without edges has the prior's shape, with which a logit of p is far from normal."""
    relation, options = draw_relation(3, COUNT, directed=True), OPTIONS | {"precision": 1.7, "shape": shape}
    one, r = Links(relation, LABELS, options), 1.7
    count = dict(zip(map(tuple, relation.ends.tolist()), relation.weights, strict=True))
    pairs = [(0, 3), (0, 4), (1, 3), (3, 0)]
    assert 0 < sum(pair in count for pair in pairs) < len(pairs)
    empty = np.argwhere((one.table.total == 0) & (one.table.pairs > 0))
    for pair in [*pairs, *[tuple(np.flatnonzero(k == LABELS)[0] for k in cell) for cell in empty.tolist()]]:
        cell = LABELS[list(pair)]
        A = options["shape"] + one.table.total[*cell]
        B = 1 + r * (options["rate"] + one.table.pairs[*cell])
        x = count.get(pair, 0.0)

        def weigh(p: float, n: float, x: float = x) -> float:
            """Probability of n more, given x."""
            return float(stats.nbinom.pmf(n, r + x, 1 / (1 + p * (1 - kept) / kept)))

        expected = integrate.quad(lambda p, A=A, B=B: stats.beta.pdf(p, A, B) * weigh(p, number), 0, 1)[0]
        # the share of success given the count of the pair is part of the posterior of all
        at = np.array([pair], dtype=np.int32)
        assert np.exp(one.log_number(at, np.array([float(number)]), kept)[0]) == pytest.approx(expected, rel=1e-4)
        none = integrate.quad(lambda p, A=A, B=B: stats.beta.pdf(p, A, B) * (1 - p) ** r, 0, 1)[0]
        assert one.probability(at)[0] == pytest.approx(1 - none)
        assert one.mean(at)[0] == pytest.approx(r * A / (B - 1))
        assert one.probability(at, kept)[0] == pytest.approx(-np.expm1(one.log_without(at, kept)[0]))


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("degrees", ["plain", "corrected"])
def test_a_rate_that_is_left_to_the_data_is_that_of_the_known_pairs(name: str, degrees: str) -> None:
    """Shape over their mean count; with corrected degrees a node may have edges with itself."""
    form, options = FORMS[name], OPTIONS | {"degrees": degrees}
    relation, sides = draw_relation(3, COUNT, **form), form.get("sides")
    pairs = list_pairs(sides, relation.directed, relation.loops or degrees == "corrected")
    known = set(pairs) - set(map(tuple, relation.unknown.tolist()))
    rate = OPTIONS["shape"] * len(known) / relation.weights.sum()
    left = Links(relation, LABELS, options | {"rate": None}, sides).gamma
    np.testing.assert_allclose(left, Links(relation, LABELS, options | {"rate": rate}, sides).gamma)


@pytest.mark.parametrize("name", FORMS)
def test_corrected_links_average_over_propensities_and_rates(name: str) -> None:
    """Propensities and rates drawn from their posterior, each apart from the others."""
    rng, n = np.random.default_rng(0), 20_000
    form = FORMS[name]
    sides = form.get("sides")
    labels = LABELS if sides is None else np.array([0, 0, 2, 1, 1, 2])
    relation = draw_relation(4, COUNT, **form)
    one = Links(relation, labels, OPTIONS | {"degrees": "corrected"}, sides)
    table, c = one.table, OPTIONS["propensity"]
    own = [[0, 0]] if relation.loops else []
    pairs = np.array([[0, 3], [0, 1], *own] if sides is None else [[0, 3]], dtype=np.int32)
    shape, rate = one.gamma

    def draw(degree: Any, k: int) -> dict[int, Any]:
        here = np.flatnonzero(labels == k)
        drawn = rng.dirichlet(c + degree[here], n) * len(here)
        return {int(node): drawn[:, place] for place, node in enumerate(here)}

    for (i, j), probability in zip(pairs.tolist(), one.probability(pairs), strict=True):
        k, m = labels[i], labels[j]
        out = draw(table.sources, k)
        into = out if k == m and not relation.directed else draw(table.targets, m)
        expected = out[i] * into[j] * rng.gamma(shape[k, m], 1 / rate[k, m], n)
        if i == j and not relation.directed:
            expected /= 2
        assert probability == pytest.approx(-np.expm1(-expected).mean(), abs=0.015)
        assert one.rates(np.array([[i, j]]))[0] / one.rates(np.array([[i, j]]))[1] == pytest.approx(
            expected.mean(), rel=0.03
        )


def test_expected_numbers_of_corrected_links_add_up_to_the_edges_of_a_block() -> None:
    """With a weak prior the expected degrees are the degrees."""
    weak = OPTIONS | {"degrees": "corrected", "shape": 1e-6, "rate": 1e-6, "propensity": 1e-6}
    relation = draw_relation(5, COUNT, directed=True, loops=True)
    pairs = np.array(list_pairs(None, True, True), dtype=np.int32)
    expected = Links(relation, LABELS, weak).mean(pairs)
    assert np.bincount(pairs[:, 0], expected) == pytest.approx(np.bincount(relation.ends[:, 0], relation.value, 6))


def test_values_have_the_densities_of_their_integrals() -> None:
    pair = np.array([[0, 3]], dtype=np.int32)
    levels = Links(draw_relation(6, LEVELS), LABELS, OPTIONS)
    shares = [np.exp(levels.log_density(pair, np.array([code]))[0]) for code in (0.0, 1.0, 2.0)]
    assert sum(shares) == pytest.approx(1.0)
    counts = np.bincount(
        levels.relation.value[(LABELS[levels.relation.ends] == [0, 1]).all(axis=1)].astype(int), minlength=3
    )
    assert shares == pytest.approx((OPTIONS["alpha"] + counts) / (3 * OPTIONS["alpha"] + counts.sum()))

    same = replace(draw_relation(7, REAL), value=np.full(len(draw_relation(7, REAL).ends), 2.5))
    assert np.isfinite(Links(same, LABELS, OPTIONS).log_density(pair, np.array([2.5]))).all()
    reals = Links(draw_relation(7, REAL), LABELS, OPTIONS)
    middle, scale, kappa, mean, a, b = reals.normal_posterior()
    at = stats.t(2 * a[0, 1], mean[0, 1], np.sqrt(b[0, 1] * (kappa[0, 1] + 1) / (kappa[0, 1] * a[0, 1])))
    assert reals.log_density(pair, np.array([2.5]))[0] == pytest.approx(
        at.logpdf((2.5 - middle) / scale) - np.log(scale)
    )
    x = (reals.relation.value[(LABELS[reals.relation.ends] == [0, 1]).all(axis=1)] - middle) / scale

    def weigh(v: float) -> float:
        """Density of the values given a variance, the mean integrated out."""
        prior = stats.invgamma(OPTIONS["a0"], scale=OPTIONS["b0"]).pdf(v)
        joint = stats.multivariate_normal(np.zeros(len(x)), v * (np.eye(len(x)) + 1 / OPTIONS["kappa0"])).pdf(x)
        return float(prior * joint)

    evidence = integrate.quad(weigh, 0, np.inf)[0]
    a0, b0, kappa0 = (OPTIONS[option] for option in ("a0", "b0", "kappa0"))
    closed = gammaln(a[0, 1]) - gammaln(a0) + a0 * np.log(b0) - a[0, 1] * np.log(b[0, 1])
    closed += 0.5 * np.log(kappa0 / kappa[0, 1]) - len(x) / 2 * np.log(2 * np.pi)
    assert np.log(evidence) == pytest.approx(closed)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("form", ["binary", COUNT, REAL])
def test_the_rest_and_what_was_removed_are_the_network(name: str, form: str) -> None:
    more = dict(FORMS[name])
    sides = more.get("sides")
    relation = draw_relation(8, form, **more)
    relations = Relations(6, (relation,), sides)
    held = remove_edges(relations, 0.4, 0)
    rest, scored = held.rest.layers[0], held.scored[0]
    gone = scored.removed > 0
    assert gone.any()
    before = dict(zip(map(tuple, relation.ends.tolist()), relation.weights, strict=True))
    after = dict(zip(map(tuple, rest.ends.tolist()), rest.weights, strict=True))
    for pair, number in zip(map(tuple, scored.pairs[gone].tolist()), scored.removed[gone], strict=True):
        assert before[pair] == after.get(pair, 0) + number
    pairs = list_pairs(sides, relation.directed, relation.loops)
    unknown = set(map(tuple, relation.unknown.tolist()))
    apart = set(map(tuple, scored.pairs[gone].tolist())) | unknown
    apart |= set() if form == COUNT else set(before)
    assert set(map(tuple, scored.pairs[~gone].tolist())) == set(pairs) - apart
    assert scored.weight.sum() == len(scored.pairs)


def test_a_sample_of_pairs_stands_for_all() -> None:
    ends = np.array([[i, i + 1] for i in range(199)], dtype=np.int32)
    held = remove_edges(Relations(200, (Relation("", ends),)), 0.1, 1, most=500)
    scored = held.scored[0]
    assert len(scored.pairs) == 20 + 500
    assert scored.weight.sum() == pytest.approx(200 * 199 / 2 - 179)
    assert (scored.pairs[:, 0] < scored.pairs[:, 1]).all()


def test_log_scores_of_huge_counts_are_finite() -> None:
    layer = replace(draw_relation(3, COUNT), unknown=np.zeros((0, 2), dtype=np.int32))
    held = remove_edges(Relations(6, (replace(layer, value=layer.weights * 1e8),)), 0.1, 0)
    scores = score_links(held, [(np.zeros(6, dtype=np.int64), OPTIONS)] * 3)
    assert np.isfinite(scores.log_score)
    assert not scores.reliability.isna().any(axis=None)


def test_scores_tell_a_good_partition_from_a_bad_one() -> None:
    """Two groups of thirty nodes, tied within; probabilities of the right partition are calibrated."""
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1], 30)
    p = np.where(labels[:, None] == labels, 0.4, 0.05)
    i, j = np.nonzero(np.triu(rng.random((60, 60)) < p, 1))
    relations = Relations(60, (Relation("", np.stack([i, j], axis=1).astype(np.int32)),))
    held = remove_edges(relations, 0.2, 0)
    good, bad = (score_links(held, [(one, OPTIONS)]) for one in (labels, rng.permutation(labels)))
    ahead = good.contributions - bad.contributions
    spread = np.sqrt(((good.weight * (ahead - np.average(ahead, weights=good.weight))) ** 2).sum())
    assert good.weight @ ahead > 3 * spread > 0
    assert good.auc > 0.65 > 0.6 > bad.auc
    table = good.reliability
    assert (np.abs(table["observed"] - table["expected"]) < 4 * table["error"]).all()
    assert table["expected"].sum() == pytest.approx(table["observed"].sum(), rel=0.35)
    assert good.log_score * good.removed == pytest.approx(good.per_pair * good.weight.sum())
    assert np.isnan(good.value_density)
    lines = str(good).splitlines()
    assert lines[0].startswith(
        f"{good.removed} edges held out: AUC {good.auc:.3f}, log score {good.log_score:.3f} nats"
    )
    assert len(lines) == 2 + len(table) and "contributions" not in repr(good)


def make_network() -> Dataset:
    """Six nodes with names; a directed layer of counts, and a binary one."""
    layers = (draw_relation(9, COUNT, directed=True), draw_relation(10, REAL))
    relations = Relations(6, tuple(replace(layer, name=name) for layer, name in zip(layers, ("a", "b"), strict=True)))
    return Dataset("made", "graph", simple_graph(relations), names=list("uvwxyz"), relations=relations)


def test_every_layer_has_its_rate() -> None:
    relations = Relations(6, (draw_relation(9, COUNT), draw_relation(10, COUNT)))
    for one, rate in zip(links_of(relations, LABELS, OPTIONS | {"rate": [0.5, 2.0]}), (0.5, 2.0), strict=True):
        np.testing.assert_array_equal(one.gamma[1], rate + one.table.pairs)


def test_links_are_averaged_over_draws_and_named() -> None:
    dataset, draws = make_network(), [(LABELS, OPTIONS), (LABELS[::-1].copy(), OPTIONS)]
    pairs = np.array([[3, 0], [0, 3]])
    table = predict_links(dataset, draws, pairs)
    counts = [Links(dataset.relations.layers[0], labels, OPTIONS) for labels, _ in draws]
    assert table["probability"][:2].to_numpy() == pytest.approx(
        np.mean([one.probability(pairs) for one in counts], axis=0)
    )
    assert table["expected"][:2].to_numpy() == pytest.approx(np.mean([one.mean(pairs) for one in counts], axis=0))
    assert table["probability"][2] == table["probability"][3]  # undirected
    named = name_links(dataset, table, 1)
    assert named.iloc[0, :3].tolist() == ["x", "u", "a"]
    assert named.iloc[3, :3].tolist() == ["u", "x", "b"]
    assert name_links(replace(dataset, names=None), table, 1).iloc[0, :2].tolist() == [4, 1]


def test_the_most_probable_links_are_no_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, draws = make_network(), [(LABELS, OPTIONS)]
    table = probable_pairs(dataset, draws, 100)
    layers = dataset.relations.layers
    assert len(table) == 30 + 15 - sum(len(layer.ends) for layer in layers)
    assert table["probability"].is_monotonic_decreasing
    for n, layer in enumerate(layers):
        listed = set(map(tuple, table.loc[table["layer"] == n, ["source", "target"]].to_numpy().tolist()))
        assert not listed & set(map(tuple, layer.ends.tolist()))
        assert listed >= set(map(tuple, layer.unknown.tolist()))
    # a block of one node each: an unknown pair is the only one of its blocks
    alone = probable_pairs(dataset, [(np.arange(6), OPTIONS)], 100)
    assert len(alone) == len(table)
    monkeypatch.setattr(links, "MOST_CELLS", 12)
    few = probable_pairs(dataset, draws, 3)
    assert (few["probability"] <= table["probability"][:3]).all()
    assert len(few) == 3


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 6]], "a node beyond the 6 there are"),
        ([[1, 1]], "a node twice"),
        ([[0.5, 1]], r"float64 of shape \(1, 2\); expected whole numbers"),
        ([0, 1], r"of shape \(2,\)"),
    ],
)
def test_pairs_are_checked(pairs: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        predict_links(make_network(), [(LABELS, OPTIONS)], np.array(pairs))
    relations = Relations(6, (draw_relation(1, **FORMS["two kinds"]),), SIDES)
    with pytest.raises(ConfigError, match="two nodes of one kind"):
        links.order_pairs(relations, False, False, np.array([[0, 1]]))
    assert links.order_pairs(relations, False, False, np.array([[3, 0]])).tolist() == [[0, 3]]


def test_blocks_are_described_with_the_strongest_other() -> None:
    """Directions, values, layers and two kinds of nodes, in words."""
    ends = np.array([[0, 1], [0, 3], [1, 3], [2, 3], [0, 4], [4, 5]], dtype=np.int32)
    counts = Relation("mail", ends, COUNT, np.array([6.0, 1, 2, 3, 6, 1]), directed=True)
    signs = Relation("likes", ends, LEVELS, np.array([0.0, 1, 1, 1, 1, 0]), ("-", "+"))
    described = block_summary.describe_blocks(Relations(6, (counts, signs)), LABELS, 1, list("uvwxyz"))
    # the six pairs from block 1 to block 2, whose node of most edges is x, count 12; all 30 count 19
    assert described == [
        "mail: mean count within 1, to 2 (x) 2; likes: within 0.33 (100% -), with 2 (x) 0.67 (100% +)",
        "mail: mean count within 0, from 1 (u) 2; likes: within 0, with 1 (u) 0.67 (100% +)",
        "likes: with 2 (x) 0.5 (100% -)",
    ]
    heading = "share of pairs with an edge,{} within a cluster and with the strongest other:"
    for entry, counted in zip(described[1:], (" or mean count,", ""), strict=True):
        assert next(edge_lines([{"cluster": "1", "edges": entry}])) == heading.format(counted)
    sided = Relation("", np.array([[0, 3], [5, 3], [5, 4]], dtype=np.int32), REAL, np.array([1.0, 2.0, 4.0]))
    described = block_summary.describe_blocks(Relations(6, (sided,), SIDES), np.array([0, 0, 2, 1, 1, 2]), 0)
    assert described == ["", "with 2 0.5 (mean 3)", "with 1 0.5 (mean 3)"]
