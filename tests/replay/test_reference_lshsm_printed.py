"""Equations 3 to 6 of Luo & Shrivastava 2018 leave out a term, which is a bias (docs/derivations.md)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from cases_lshsm import MODELS, READINGS, Weights, build, stationary_distance, tables_for
from often import often
from plain import State
from reference_lshsm import LSHSM, Tables


@pytest.mark.parametrize("shape", often([(1, 2, 1), (1, 4, 2), (2, 3, 3)], [(1, 2, 1)]))
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("reading", READINGS)
def test_as_printed_reference_is_biased(reading, model, shape):
    assert 0.02 < stationary_distance(build(tables_for(model, *shape), "sums", reading, mode="as_printed"), model) < 0.6


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
    make_ref = build(tables_for(model, 1, 2, 1), "sums", "union", FAULTS[fault])
    assert stationary_distance(make_ref, model) > 0.004


def test_the_printed_sum_is_no_probability():
    """It exceeds one where clusters are large: v is summed over, and over once more."""
    rng = np.random.default_rng(0)
    vectors = np.concatenate([rng.normal(3, 1, (40, 5)), rng.normal(-3, 1, (40, 5))])
    tables = Tables.draw(vectors, 10, 10, 0)
    ref = LSHSM(State(Weights(1, 0), [0]), None, tables=tables, proposal="sums", reading="union")
    ref.model.N = 80
    A, B = list(range(40)), list(range(40, 80))
    assert ref.q_across(A, B, True) <= 1
    assert ref.printed_sum(A, B, True) > 5
