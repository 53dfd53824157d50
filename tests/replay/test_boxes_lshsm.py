"""The boxes of paper 001 leave their target invariant, on tiny data with every random choice walked, in exact fractions
where the target is; and what equations 3 to 6 leave out (docs/derivations.md).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from boxes_lshsm import LSHSM, Tables
from plain import Bernoulli, Mixture, State
from plain_continuous import CandidateLines, Gaussian, Lines
from plain_network import IRM
from walked import ScriptedStream, canonical, remembering, row, states, target, transition_matrix

POINTS = np.array([[-1.0, 0.4], [0.5, 1.9], [2.0, -0.6], [1.0, 0.1], [-0.7, -1.5]])
ROWS = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]])
STAR = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 1], [1, 0, 1, 0]])  # the network of paper 003
MODELS = {
    "gaussian": Gaussian(POINTS[:4], 1.2, "diag", m0=[0.3, 0.5], kappa0=0.4, a0=1.6, b0=0.7),
    "gaussian-uniform": Gaussian(POINTS[:4], 1.0, "iso", m0=[0.3, 0.5], kappa0=0.4, a0=1.6, b0=0.7, prior="uniform"),
    "lines": Lines(POINTS[:4], 0.8, 3.0, 0.7),
    "bernoulli": Bernoulli(ROWS, concentration=1.3, beta1=0.4, beta0=0.6),
    "irm": IRM(STAR),
}
VECTORS = {"bernoulli": ROWS, "irm": STAR}
MODELS = {name: remembering(model) if name != "irm" else model for name, model in MODELS.items()}
STATES = {name: list(states(model)) for name, model in MODELS.items()}
PI = {name: target(model, STATES[name]) for name, model in MODELS.items()}

PROPOSALS = ("paired", "paired_sequential", "sums")
READINGS = ("table", "union")
KINDS = list(itertools.product(PROPOSALS, READINGS))
# (bits, tables, seed)
TABLES = [(1, 1, 0), (1, 2, 1), (1, 4, 2), (2, 3, 3), (3, 4, 4)]


def tables_for(name, bits, tables, seed):
    return Tables.drawn(VECTORS.get(name, POINTS[: MODELS[name].N]), bits, tables, seed)


def build(tables, proposal, reading, box=LSHSM, mode="exact"):
    return lambda state, stream: box(state, stream, mode=mode, tables=tables, proposal=proposal, reading=reading)


# ---- The tables


@pytest.mark.parametrize("shape", TABLES, ids=str)
@pytest.mark.parametrize("reading", READINGS)
def test_probabilities_of_a_query(shape, reading):
    """They add up to one, or nothing is found; an item never finds itself, and is found by those that it finds."""
    tables = Tables.drawn(POINTS, *shape)
    for opposite in (False, True):
        q = tables.probabilities(opposite, reading)
        for u in range(5):
            assert sum(q[u]) == (1 if tables.query(u, opposite) else 0)
            assert q[u][u] == 0
            assert [p > 0 for p in q[u]] == [q[v][u] > 0 for v in range(5)]


def test_table_reading_by_hand():
    """Two tables of one bit: in the first item 0 is with 1 and 2, in the second with 1 alone."""
    points = [[2.0, 1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
    tables = Tables(points, np.eye(2), 1, centre=False)
    assert tables.query(0, False) == [[1, 2], [1]]
    assert tables.query(0, True) == [[3], [2, 3]]
    assert tables.row(0, False, "table") == [0, Fraction(3, 4), Fraction(1, 4), 0]
    assert tables.row(0, True, "table") == [0, 0, Fraction(1, 4), Fraction(3, 4)]
    assert tables.row(0, True, "union") == [0, 0, Fraction(1, 2), Fraction(1, 2)]


def test_an_item_at_the_centre_is_in_no_bucket():
    points = [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    tables = Tables.drawn(points, 1, 3, 0)
    assert tables.codes[2] is None
    for opposite in (False, True):
        assert tables.query(2, opposite) == []
        assert all(row[2] == 0 for row in tables.probabilities(opposite, "table"))


def test_an_empty_bucket_counts_for_no_table():
    points = [[1.0, 1.0], [2.0, 0.5], [1.0, -0.1]]
    tables = Tables(points, np.eye(2), 1, centre=False)
    assert tables.query(0, True) == [[2]]
    assert tables.row(0, True, "table") == [0, 0, 1]
    assert tables.query(2, False) == [[0, 1]]


# ---- Exactness


class FractionStream(ScriptedStream):
    """Every probability a fraction; that of an acceptance is the fraction that its logarithm stands for."""

    def choose(self, probabilities):
        if self.depth == 0:
            self.probability = Fraction(1)
        return super().choose(probabilities)

    def index(self, n):
        return self.choose([Fraction(1, n)] * n)

    def coin(self, p):
        return self.choose([Fraction(p), 1 - Fraction(p)]) == 0

    def accept(self, log_r):
        r = Fraction(math.exp(log_r)).limit_denominator(10**7)
        return r >= 1 or self.coin(r)


class Weights(Mixture):
    """A target whose partitions have weights that nobody chose, small whole numbers."""

    def __init__(self, N, seed):
        super().__init__(N, 1.0)
        rng = np.random.default_rng(seed)
        self.weights = {canonical(c): int(rng.integers(1, 9)) for c in states(self)}

    def log_joint(self, clusters):
        return math.log(self.weights[canonical(clusters)])


def paths(make_box, model, clusters):
    """The box after every walk from a state, and the walk's probability."""
    stream = FractionStream()
    for _ in stream.paths():
        state = State(model, [0] * model.N)
        state.clusters = list(clusters)
        box = make_box(state, stream)
        box.step()
        yield box, stream.probability


@pytest.mark.parametrize("shape", [(1, 1, 0), (1, 2, 1), (2, 3, 3)], ids=str)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("proposal", ["paired", "sums"])
def test_detailed_balance_in_fractions(proposal, reading, shape):
    """For a target of whole numbers nothing is rounded: the flows are equal, entry by entry."""
    model, tables = Weights(4, 5), Tables.drawn(POINTS[:4], *shape)
    flow: dict[tuple, Fraction] = {}
    for clusters in states(model):
        x, total = canonical(clusters), Fraction(0)
        for box, p in paths(build(tables, proposal, reading), model, clusters):
            y = canonical(box.state.clusters)
            flow[x, y] = flow.get((x, y), Fraction(0)) + model.weights[x] * p
            total += p
        assert total == 1
    assert sum(x != y for x, y in flow) >= 40
    assert all(p == flow.get((y, x), 0) for (x, y), p in flow.items())


@pytest.mark.parametrize("shape", [(1, 2, 1), (2, 3, 3)], ids=str)
@pytest.mark.parametrize("reading", READINGS)
def test_probabilities_of_proposals_are_those_that_are_made(reading, shape):
    """Of sums: X, P-diff and P+same against the walked proposals, as fractions."""
    model, tables = Weights(4, 5), Tables.drawn(POINTS[:4], *shape)
    made: dict[tuple, Fraction] = {}

    class Proposals(LSHSM):
        def decide(self, proposal, log_r):
            key = self.move, canonical(self.state.clusters), canonical(proposal)
            made[key] = made.get(key, Fraction(0)) + self.stream.probability

    for clusters in states(model):
        for _ in paths(build(tables, "sums", reading, Proposals), model, clusters):
            pass
    box = LSHSM(State(model, [0] * 4), None, tables=tables, proposal="sums", reading=reading)
    checked = 0
    for small, big in itertools.permutations(states(model), 2):
        if len(big) != len(small) + 1 or sum(c in small for c in big) != len(small) - 1:
            continue
        A, B = (c for c in big if c not in small)
        x, y = canonical(small), canonical(big)
        for split, merge, opposite in [("smart_split", "dumb_merge", True), ("dumb_split", "smart_merge", False)]:
            q_split, q_merge = box.q(small, big, A, B, opposite)
            # the type of the query is one of two
            assert 2 * made.get((split, x, y), 0) == q_split
            assert 2 * made.get((merge, y, x), 0) == q_merge
            checked += 1
    assert checked == 62


@pytest.mark.parametrize("shape", TABLES, ids=str)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("proposal", "reading"), KINDS)
def test_exact_box_is_reversible(proposal, reading, model, shape):
    P = transition_matrix(build(tables_for(model, *shape), proposal, reading), MODELS[model], STATES[model])
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-13)
    np.testing.assert_allclose(PI[model] @ P, PI[model], atol=1e-15)
    flow = PI[model][:, None] * P
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)


@pytest.mark.parametrize("proposal", ["paired", "paired_sequential"])
def test_pairs_with_parameters(proposal):
    """A model whose clusters keep parameters: u's side draws new ones."""
    model = remembering(CandidateLines(POINTS[:3], 1.2, 3.0, 0.9, candidates=[[0.2, 0.9], [1.0, -0.8]]))
    all_states = list(states(model))
    pi = target(model, all_states)
    P = transition_matrix(build(Tables.drawn(POINTS[:3], 1, 2, 1), proposal, "table"), model, all_states)
    np.testing.assert_allclose(pi[:, None] * P, (pi[:, None] * P).T, atol=1e-15)


@pytest.mark.parametrize(("proposal", "reading"), KINDS)
def test_no_box_reads_the_numbering(proposal, reading):
    model, all_states = MODELS["gaussian"], STATES["gaussian"]
    make_box = build(tables_for("gaussian", 1, 2, 1), proposal, reading)
    position = {canonical(c): s for s, c in enumerate(all_states)}
    for clusters in all_states:
        rows = [row(make_box, model, order, position) for order in itertools.permutations(clusters)]
        np.testing.assert_allclose(rows, np.broadcast_to(rows[0], np.shape(rows)), atol=1e-14)


def pieces(joined):
    """The number of connected pieces of a graph of few nodes."""
    left, count = set(range(len(joined))), 0
    while left:
        front, count = [left.pop()], count + 1
        while front:
            u = front.pop()
            near = {v for v in left if joined[u][v]}
            left -= near
            front += near
    return count


@pytest.mark.parametrize(("proposal", "reading"), KINDS)
def test_every_state_is_reached_if_the_pairs_that_may_be_drawn_connect_the_items(proposal, reading):
    """And only then: two groups of items that no query takes to one another are never joined, nor parted."""
    found = []
    for shape in [(1, 1, 0), *((bits, 1, seed) for bits in (2, 3) for seed in range(3)), (3, 4, 4)]:
        tables = tables_for("gaussian", *shape)
        there = [tables.probabilities(opposite, reading) for opposite in (False, True)]
        joined = [[any(q[u][v] > 0 for q in there) for v in range(4)] for u in range(4)]
        P = transition_matrix(build(tables, proposal, reading), MODELS["gaussian"], STATES["gaussian"])
        found.append(pieces(joined) == 1)
        assert (pieces(P > 0) == 1) == found[-1]
    assert set(found) == {True, False}


# ---- The printed equations


def stationary_distance(make_box, model):
    """Total variation between the stationary law of a box and the target."""
    pi, P = PI[model], transition_matrix(make_box, MODELS[model], STATES[model])
    n = len(pi)
    law = np.linalg.lstsq(np.vstack([P.T - np.eye(n), np.ones(n)]), np.eye(n + 1)[n], rcond=None)[0]
    return 0.5 * np.abs(law - pi).sum()


@pytest.mark.parametrize("shape", [(1, 2, 1), (1, 4, 2), (2, 3, 3)], ids=str)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("reading", READINGS)
def test_literal_box_is_biased(reading, model, shape):
    assert 0.02 < stationary_distance(build(tables_for(model, *shape), "sums", reading, mode="literal"), model) < 0.6


class OneOrientation(LSHSM):
    """Equations 3 and 5: u in C_u and v in C_v alone."""

    def q_across(self, A, B, opposite):
        return self.q_of([(u, v) for u in A for v in B], opposite)


class NoQueryOfTheDumbMove(LSHSM):
    """Equations 4 and 6: as if a dumb move were made whatever the query gives."""

    def q_apart(self, clusters):
        return Fraction(1)

    q_together = q_apart


class OneOrderOfTwo(LSHSM):
    """Equations 4 and 6: one of the two orders in which a dumb move names the same two clusters."""

    def q(self, small, big, A, B, opposite):
        q_split, q_merge = super().q(small, big, A, B, opposite)
        return (q_split, q_merge / 2) if opposite else (q_split / 2, q_merge)


class TablesOnAverage(LSHSM):
    """Equations 3 and 5: the probability over tables that are yet to be drawn, and the sum over v counted twice."""

    def q_across(self, A, B, opposite):
        return Fraction(self.printed_sum(A, B, opposite) + self.printed_sum(B, A, opposite))


FAULTS = {
    "orientation": OneOrientation,
    "dumb": NoQueryOfTheDumbMove,
    "order": OneOrderOfTwo,
    "average": TablesOnAverage,
}


@pytest.mark.parametrize("model", ["gaussian", "bernoulli", "irm"])
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_the_equations_is_a_bias(fault, model):
    make_box = build(tables_for(model, 1, 2, 1), "sums", "union", FAULTS[fault])
    assert stationary_distance(make_box, model) > 0.004


def test_the_printed_sum_is_no_probability():
    """It exceeds one where clusters are large: v is summed over, and over once more."""
    rng = np.random.default_rng(0)
    vectors = np.concatenate([rng.normal(3, 1, (40, 5)), rng.normal(-3, 1, (40, 5))])
    tables = Tables.drawn(vectors, 10, 10, 0)
    box = LSHSM(State(Weights(1, 0), [0]), None, tables=tables, proposal="sums", reading="union")
    box.model.N = 80
    A, B = list(range(40)), list(range(40, 80))
    assert box.q_across(A, B, True) <= 1
    assert box.printed_sum(A, B, True) > 5
