"""Sizes of errors in the papers that the reference implementations show: each test prints what `errata.csv` states.

``python -m pytest -s -q tests/replay/test_errata_sizes.py -k NAME`` shows the numbers of one.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from enumerated import canonical, states, target, transition_matrix
from enumerated_topics import corpus
from plain import Clusters, swap_delete
from reference_lshsm import LSHSM, SampledLikelihood, Tables
from test_reference_smag import FEW, MANY, as_printed, on_nodes, posterior, topics_in

from splitmerge_cli.verify import continuous, transitions
from splitmerge_cli.verify.enumerate import bernoulli_log_weight, irm_log_weight, state_of


class Target:
    """A posterior by its log weights (`splitmerge_cli.verify.enumerate`)."""

    def __init__(self, N: int, log_weight) -> None:
        self.N, self.log_weight = N, cache(log_weight)

    def log_joint(self, clusters: Clusters) -> float:
        labels = [next(k for k, items in enumerate(clusters) if i in items) for i in range(self.N)]
        return self.log_weight(state_of(labels, len(clusters)))


# ---- Luo & Shrivastava 2018


class Gaussian(Target):
    """Columns with means and variances of their own, which are integrated out."""

    def __init__(self, x, concentration: float, m0, kappa0: float, a0: float, b0: float) -> None:
        prior = np.array(m0), kappa0, a0, np.full(len(m0), b0)
        super().__init__(len(x), continuous.gaussian_log_weight(x, concentration, "crp", "diag", *prior))
        self.x, self.prior = x, prior

    def plug_in(self, items: list[int]):
        """Mean m_n and variances b_n / a_n, the inverse of the posterior mean of the precisions."""
        m0, kappa0, a0, b0 = self.prior
        y, n = self.x[items], len(items)
        mean = (kappa0 * m0 + y.sum(axis=0)) / (kappa0 + n)
        b = b0 + 0.5 * (((y - mean) ** 2).sum(axis=0) + kappa0 * (m0 - mean) ** 2)
        return mean, b / (a0 + n / 2)

    def log_plug_in(self, i: int, items: list[int]) -> float:
        """Log density of item i under the normal distribution that a cluster's items give (equation 10)."""
        mean, variance = self.plug_in(items)
        return float(-0.5 * (np.log(2 * math.pi * variance) + (self.x[i] - mean) ** 2 / variance).sum())


POINTS = np.array([[-1.0, 0.4], [0.5, 1.9], [2.0, -0.6], [1.0, 0.1]])
ROWS = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]])
STAR = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 1], [1, 0, 1, 0]])  # the network of Herlau et al. 2014
GAUSSIAN = Gaussian(POINTS, 1.2, m0=[0.3, 0.5], kappa0=0.4, a0=1.6, b0=0.7)
MODELS = {
    "gaussian": (POINTS, GAUSSIAN),
    "bernoulli": (ROWS, Target(4, bernoulli_log_weight(ROWS, 1.3, 0.4, 0.6, "crp"))),
    "irm": (STAR, Target(4, irm_log_weight(STAR, 1.0, 1.0, 1.0, "crp"))),
}


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


SIZES = {
    LSHSM: (0.0, 0.0, 0.0),
    TablesOnAverage: (0.064, 0.084, 0.050),
    OneOrientation: (0.100, 0.050, 0.057),
    NoQueryOfTheDumbMove: (0.111, 0.073, 0.062),
    OneOrderOfTwo: (0.141, 0.120, 0.091),
}
NAMES = ["none", "average", "orientation", "dumb", "order"]


@pytest.mark.parametrize(("ref", "sizes"), SIZES.items(), ids=NAMES)
def test_equations_3_to_6_with_one_error(ref, sizes):
    """One error in the exact sampler, which has none; four items, two tables of one bit, union reading."""
    found = []
    for vectors, model in MODELS.values():
        tables, all_states = Tables.draw(vectors, 1, 2, 1), list(states(model))
        P = transition_matrix(lambda *given, t=tables: ref(*given, tables=t), model, all_states)
        found.append(transitions.total_variation(transitions.stationary_distribution(P), target(model, all_states)))
    name = NAMES[list(SIZES).index(ref)]
    print(f"\n{name}: " + ", ".join(f"{model} {distance:.3f}" for model, distance in zip(MODELS, found, strict=True)))
    assert found == pytest.approx(sizes, abs=6e-4)


def every_table(clusters, bits, tables):
    """All that directions in the plane can make of the items and of the clusters' means, with their probabilities."""
    at_right_angles = []
    for point in [*POINTS, *(GAUSSIAN.plug_in(items)[0] for items in clusters)]:
        x, y = point - POINTS.mean(axis=0)
        at_right_angles += [math.atan2(x, -y) % (2 * math.pi), math.atan2(-x, y) % (2 * math.pi)]
    turns = sorted(at_right_angles)
    arcs = list(zip(turns, [*turns[1:], turns[0] + 2 * math.pi], strict=True))
    for chosen in itertools.product(arcs, repeat=bits * tables):
        middle = [(start + end) / 2 for start, end in chosen]
        directions = np.array([np.cos(middle), np.sin(middle)])
        yield math.prod((end - start) / (2 * math.pi) for start, end in chosen), Tables(POINTS, directions, bits)


def found_terms(estimate, clusters):
    """log p, the probability of being found and that of one bit, of what is found."""
    for items in clusters:
        mean, tables = estimate.model.plug_in(items)[0], estimate.tables
        for i in estimate.terms(items):
            bit = tables.same_bit(mean - tables.origin, tables.deviations[i])
            yield estimate.model.log_plug_in(i, items), tables.probability_near(mean, i), bit


def test_readings_of_equation_11():
    """The mean estimate over newly drawn tables; four points in two clusters."""
    clusters = [[0, 1], [2, 3]]
    readings = {
        "first line": (lambda estimate: estimate(clusters), (1, 1)),
        "second line": (lambda e: sum(log_p - math.log(p) for log_p, p, _ in found_terms(e, clusters)), (1, 1)),
        "Pr of one code, two tables": (
            lambda e: sum(log_p / bit for log_p, _, bit in found_terms(e, clusters)),
            (1, 2),
        ),
    }
    exact = sum(GAUSSIAN.log_plug_in(i, items) for items in clusters for i in items)
    found = []
    for reading, (of, shape) in readings.items():
        found.append(sum(p * of(SampledLikelihood(GAUSSIAN, made)) for p, made in every_table(clusters, *shape)))
        print(f"\n{reading}: {found[-1]:.2f} of {exact:.2f}")
    assert found == pytest.approx([exact, -5.852, -8.603], abs=6e-4)


# ---- Herlau et al. 2014


FIVE = [[0, 1, 1, 0, 0], [1, 0, 1, 0, 1], [1, 1, 0, 1, 0], [0, 0, 1, 0, 1], [0, 1, 0, 1, 0]]


class Walk:
    """Where walks of sRM lead (Algorithm 2): from a state, for items i and j and an order of the others."""

    def __init__(self, model: Target, z: Clusters, i: int, j: int, order: list[int]) -> None:
        self.model, self.z, self.i, self.j, self.order = model, z, i, j, order
        self.label = {h: k for k, items in enumerate(z) for h in items}
        self.is_split = self.label[i] == self.label[j]

    def ends(self) -> set[tuple]:
        front = [self.launch()]
        for h in self.order:
            if h not in (self.i, self.j):
                front = [result for clusters in front for result in self.choices(clusters, h)]
        return {canonical(clusters) for clusters in front}

    def launch(self) -> Clusters:
        clusters = list(self.z)
        clusters[self.label[self.i]] = [self.i] if self.is_split else sorted([self.i, self.j])
        return [*clusters, [self.j]] if self.is_split else swap_delete(clusters, self.label[self.j])

    def choices(self, clusters: Clusters, h: int) -> list[Clusters]:
        """An item with i or j may go to any cluster or a new one; another stays, or goes to i or j."""
        own, with_i, with_j = (next((k for k, c in enumerate(clusters) if g in c), None) for g in (h, self.i, self.j))
        if own is None:
            return [self.put(clusters, h, k) for k in range(len(clusters) + 1)]
        return [
            self.put(clusters, h, k) for k in ({own} if self.must_stay(clusters[own], h) else {own, with_i, with_j})
        ]

    def must_stay(self, cluster: list[int], h: int) -> bool:
        """Equation 17: the last item that was in the cluster from the start, and others have come."""
        return [g for g in cluster if self.label[g] == self.label[h]] == [h] and len(cluster) >= 2

    def put(self, clusters: Clusters, h: int, target: int) -> Clusters:
        result = [[g for g in c if g != h] for c in [*clusters, []]]
        result[target] = sorted([*result[target], h])
        return [c for c in result if c]


class Stricter(Walk):
    """Section 2.1.1's wording: once an item has come, none of those from the start may leave."""

    def must_stay(self, cluster, h):
        return any(self.label[g] != self.label[h] for g in cluster)


def test_walks_without_a_way_back():
    """Section 2.1.1: one choice of (i, j) and the order, sRM on five nodes."""
    model = Target(5, irm_log_weight(FIVE, 1.3, 0.8, 1.1, "crp"))
    lost = {}
    for walk in (Walk, Stricter):
        there = {canonical(z): walk(model, z, 1, 4, [3, 1, 4, 2, 0]).ends() for z in states(model)}
        moves = sum(map(len, there.values()))
        lost[walk] = sum(x not in there[y] for x in there for y in there[x])
    print(f"\n{lost[Stricter]} of {moves} moves have no way back")
    assert lost[Walk] == 0 < lost[Stricter] < moves


# ---- Rana et al. 2013


@pytest.mark.parametrize(("form", "nodes"), [("text", 4), ("box", 3)])
def test_mean_number_of_topics_as_printed(form, nodes):
    """Algorithm 1 alone: a document of two words, by quadrature over the weights."""
    for gamma, alpha0 in (FEW, MANY):
        model = corpus(2, gamma, alpha0, docs=[0, 0], words=[0, 1])
        distribution, exact = topics_in(on_nodes(as_printed(form), model, nodes)), topics_in(posterior(model))
        print(f"\n{form}, gamma {gamma}, alpha0 {alpha0}: {distribution:.2f} topics, posterior {exact:.2f}")
        assert (distribution < exact - 0.1) if gamma > alpha0 else (distribution > exact + 0.1)
