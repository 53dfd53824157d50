"""The reference samplers of Luo & Shrivastava 2018 leave their target invariant, on tiny data with every random choice
enumerated, in exact fractions where the target is (docs/derivations.md).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from cases_lshsm import KINDS, MODELS, PI, POINTS, READINGS, STATES, TABLES, Weights, build, tables_for
from enumerated import ScriptedStream, canonical, remembering, row, states, target, transition_matrix
from often import often
from plain import State
from plain_continuous import CandidateLines
from reference_lshsm import LSHSM, Tables


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


def paths(make_ref, model, clusters):
    """The reference after every walk from a state, and the walk's probability."""
    stream = FractionStream()
    for _ in stream.paths():
        state = State(model, [0] * model.N)
        state.clusters = list(clusters)
        ref = make_ref(state, stream)
        ref.step()
        yield ref, stream.probability


@pytest.mark.parametrize("shape", [(1, 1, 0), (1, 2, 1), (2, 3, 3)], ids=str)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("proposal", ["paired", "sums"])
def test_detailed_balance_in_fractions(proposal, reading, shape):
    """For a target of whole numbers nothing is rounded: the flows are equal, entry by entry."""
    model, tables = Weights(4, 5), Tables.draw(POINTS[:4], *shape)
    flow: dict[tuple, Fraction] = {}
    for clusters in states(model):
        x, total = canonical(clusters), Fraction(0)
        for ref, p in paths(build(tables, proposal, reading), model, clusters):
            y = canonical(ref.state.clusters)
            flow[x, y] = flow.get((x, y), Fraction(0)) + model.weights[x] * p
            total += p
        assert total == 1
    assert sum(x != y for x, y in flow) >= 40
    assert all(p == flow.get((y, x), 0) for (x, y), p in flow.items())


@pytest.mark.parametrize("shape", [(1, 2, 1), (2, 3, 3)], ids=str)
@pytest.mark.parametrize("reading", READINGS)
def test_probabilities_of_proposals_are_those_that_are_made(reading, shape):
    """X, P-diff and P+same of `sums` equal the enumerated proposals, as fractions."""
    model, tables = Weights(4, 5), Tables.draw(POINTS[:4], *shape)
    made: dict[tuple, Fraction] = {}

    class Proposals(LSHSM):
        def decide(self, proposal, log_r):
            key = self.move, canonical(self.state.clusters), canonical(proposal)
            made[key] = made.get(key, Fraction(0)) + self.stream.probability

    for clusters in states(model):
        for _ in paths(build(tables, "sums", reading, Proposals), model, clusters):
            pass
    ref = LSHSM(State(model, [0] * 4), None, tables=tables, proposal="sums", reading=reading)
    checked = 0
    for small, big in itertools.permutations(states(model), 2):
        if len(big) != len(small) + 1 or sum(c in small for c in big) != len(small) - 1:
            continue
        A, B = (c for c in big if c not in small)
        x, y = canonical(small), canonical(big)
        for split, merge, opposite in [("smart_split", "dumb_merge", True), ("dumb_split", "smart_merge", False)]:
            q_split, q_merge = ref.q(small, big, A, B, opposite)
            # the type of the query is one of two
            assert 2 * made.get((split, x, y), 0) == q_split
            assert 2 * made.get((merge, y, x), 0) == q_merge
            checked += 1
    assert checked == 62


@pytest.mark.parametrize("shape", often(TABLES, [(1, 2, 1), (2, 3, 3)]))
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("proposal", "reading"), KINDS)
def test_exact_reference_is_reversible(proposal, reading, model, shape):
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
    P = transition_matrix(build(Tables.draw(POINTS[:3], 1, 2, 1), proposal, "table"), model, all_states)
    np.testing.assert_allclose(pi[:, None] * P, (pi[:, None] * P).T, atol=1e-15)


@pytest.mark.parametrize(("proposal", "reading"), KINDS)
def test_no_reference_reads_the_numbering(proposal, reading):
    model, all_states = MODELS["gaussian"], STATES["gaussian"]
    make_ref = build(tables_for("gaussian", 1, 2, 1), proposal, reading)
    position = {canonical(c): s for s, c in enumerate(all_states)}
    for clusters in all_states:
        rows = [row(make_ref, model, order, position) for order in itertools.permutations(clusters)]
        np.testing.assert_allclose(rows, np.broadcast_to(rows[0], np.shape(rows)), atol=1e-14)


def pieces(joined):
    """Return the number of connected pieces in a small graph."""
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
