"""The reference samplers of Herlau et al. 2014 leave their target invariant, for every fixed (i, j, z_a, z_b) and
relabelling alone, on tiny data with every random choice enumerated; and what the paper's conditions are for
(docs/derivations.md).
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference_arm
from enumerated import canonical, partitions, remembering, row, states, target, transition_matrix
from plain import Bernoulli
from plain_network import IRM

STAR = [[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 1], [1, 0, 1, 0]]  # the paper's network of four nodes
FIVE = [[0, 1, 1, 0, 0], [1, 0, 1, 0, 1], [1, 1, 0, 1, 0], [0, 0, 1, 0, 1], [0, 1, 0, 1, 0]]
ROWS = [[1, 1], [1, 0], [0, 1], [0, 0], [1, 1]]
MODELS = {
    "irm": IRM(STAR),
    "irm-uniform": IRM(STAR, beta1=0.4, beta0=1.7, prior="uniform"),
    "irm-five": IRM(FIVE, 1.3, 0.8, 1.1),
    "bernoulli": remembering(Bernoulli(ROWS, 1.4, 0.6, 0.9)),
}
STATES = {name: list(states(model)) for name, model in MODELS.items()}
PI = {name: target(model, STATES[name]) for name, model in MODELS.items()}
# (z_a, z_b, i, j): many agreements, few, none
PHIS = {
    4: [
        ([0, 0, 0, 0], [0, 0, 1, 1], 0, 3),
        ([0, 0, 1, 1], [0, 1, 0, 1], 2, 0),
        ([0, 0, 0, 1], [0, 0, 0, 0], 1, 3),
        ([0, 1, 2, 3], [0, 0, 0, 0], 3, 1),
    ],
    5: [([0, 0, 0, 0, 0], [0, 0, 1, 1, 1], 1, 4), ([0, 0, 1, 1, 0], [0, 0, 1, 0, 0], 2, 3)],
}
ORDERS = {4: [[0, 1, 2, 3], [3, 1, 0, 2], [2, 0, 3, 1]], 5: [[4, 1, 3, 0, 2]]}


class Ranked:
    """Fixes the relabelling, forward and in reverse."""

    rank = back = None

    def relabelling(self):
        return self.rank

    def reverse_relabelling(self, rank):
        return self.back or rank


class RankedSRM(Ranked, reference_arm.SRM):
    def step(self):
        self.reconfigure(*self.learner_pair, None)


class RankedARM(Ranked, reference_arm.ARM):
    pass


def build(name, phi, rank, back=None, walk=reference_arm.Walk, **options):
    """Makes the reference of a move for one phi and relabelling."""

    def make(state, stream):
        if name == "srm":
            ref = RankedSRM(state, stream)
            ref.learner_pair = phi[2:]
        else:
            ref = RankedARM(state, stream, variant=name, **options)
            ref.adaptive.fixed = phi
        ref.rank, ref.back, ref.walk = rank, back, walk
        return ref

    return make


def build_bsm(phi, t, mode="exact"):
    def make(state, stream):
        ref = reference_arm.BSM(state, stream, mode=mode, t=t)
        ref.adaptive.fixed = phi
        return ref

    return make


def flow(make_ref, name):
    """pi(x) P(x, y): symmetric for a reversible kernel."""
    P = transition_matrix(make_ref, MODELS[name], STATES[name])
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-13)
    return PI[name][:, None] * P


def defect(make_ref, name):
    f = flow(make_ref, name)
    return abs(f - f.T).max()


CASES = [(name, phi, rank) for name, m in MODELS.items() for phi in PHIS[m.N] for rank in ORDERS[m.N]]


@pytest.mark.parametrize(("model", "phi", "rank"), CASES, ids=str)
@pytest.mark.parametrize("name", ["srm", "sarm", "arm"])
def test_reconfiguration_is_reversible_for_fixed_phi(name, model, phi, rank):
    """The reference itself sees to it that no partition is reached by two walks."""
    assert defect(build(name, phi, rank), model) < 1e-15


@pytest.mark.parametrize(
    ("model", "t"), [("irm", 0), ("irm", 1), ("irm-uniform", 1), ("irm-five", 0), ("bernoulli", 0)]
)
def test_bsm_is_reversible_for_fixed_phi(model, t):
    for phi in PHIS[MODELS[model].N]:
        assert defect(build_bsm(phi, t), model) < 1e-15


@pytest.mark.parametrize(("t", "size"), [(0, 0.038), (1, 0.011)])
def test_as_printed_bsm_is_not(t, size):
    """A launch state that reads the present partition has one distribution before a split and another after it."""
    phi = [0, 0, 0, 0], [0, 1, 0, 0], 0, 1
    assert defect(build_bsm(phi, t, "as_printed"), "irm") == pytest.approx(size, abs=1e-3)


@pytest.mark.parametrize("name", ["srm", "sarm", "arm"])
def test_drawn_relabelling_and_pair(name):
    """As the moves are made: the relabelling drawn anew, and (i, j) from the two partitions or uniform."""

    def make(state, stream):
        if name == "srm":
            return reference_arm.SRM(state, stream)
        ref = reference_arm.ARM(state, stream, variant=name)
        ref.adaptive.fixed = ([0, 0, 1], [0, 1, 1], -1, -1)
        return ref

    model = IRM([[0, 1, 0], [1, 0, 0], [0, 0, 0]], 0.7)
    all_states = list(states(model))
    f = target(model, all_states)[:, None] * transition_matrix(make, model, all_states)
    np.testing.assert_allclose(f, f.T, atol=1e-16)


@pytest.mark.parametrize("name", ["srm", "sarm", "arm", "bsm"])
def test_no_reference_reads_the_numbering(name):
    phi, all_states = PHIS[4][0], STATES["irm"]
    make = build_bsm(phi, 0) if name == "bsm" else build(name, phi, [3, 1, 0, 2])
    position = {canonical(c): s for s, c in enumerate(all_states)}
    for clusters in all_states:
        rows = [row(make, MODELS["irm"], order, position) for order in itertools.permutations(clusters)]
        np.testing.assert_allclose(rows, np.broadcast_to(rows[0], np.shape(rows)), atol=1e-14)


class Unconstrained(reference_arm.Walk):
    """Equation 17 left out; the reverse follows the first of the walks that lead back."""

    def must_stay(self, cluster, h):
        return False

    def walks_to(self, goal):
        yield next(super().walks_to(goal))


class Stricter(reference_arm.Walk):
    """Section 2.1.1's wording: once an item has come, none of those from the start may leave."""

    def must_stay(self, cluster, h):
        return any(self.label[g] != self.label[h] for g in cluster)


@pytest.mark.parametrize("name", ["srm", "sarm", "arm"])
def test_without_equation_17_every_phi_is_biased(name):
    for phi in PHIS[4]:
        assert 1e-4 < defect(build(name, phi, ORDERS[4][0], walk=Unconstrained), "irm") < 0.014


@pytest.mark.parametrize("name", ["srm", "sarm"])
def test_the_stricter_wording_leaves_some_walks_without_a_way_back(name):
    """It stays reversible, since what cannot be undone is rejected; the last-original form loses no walk."""
    phi, rank = PHIS[5][0], ORDERS[5][0]
    za, zb, *pair = phi
    assert defect(build(name, phi, rank, walk=Stricter), "irm-five") < 1e-15
    lost, joined = {}, None if name == "srm" else lambda g, h: za[g] == za[h] and zb[g] == zb[h]
    for walk in (reference_arm.Walk, Stricter):
        there = [goals(walk(MODELS["irm-five"], z, *pair, rank, joined, False)) for z in STATES["irm-five"]]
        lost[walk] = sum(x not in there[y] for x in range(len(there)) for y in there[x])
    assert lost[reference_arm.Walk] == 0
    assert lost[Stricter] > 0


def goals(walk):
    """Every partition (by its place in the list of states) that a walk reaches."""
    reached, front = set(), [(walk.launch(), walk.units())]
    place = {canonical(c): s for s, c in enumerate(STATES["irm-five"])}
    while front:
        clusters, units = front.pop()
        if not units:
            reached.add(place[canonical(clusters)])
            continue
        results, _ = walk.choices(clusters, units[0])
        front += [(r, units[1:]) for r in results if r is not None]
    return reached


def test_a_relabelling_of_the_reverse_only_matters_when_it_is_not_drawn():
    """Two given relabellings, one forward and one in reverse, are biased. Drawn independently they are exact, as one
    drawn for both is: forward and back exchange them, and both are as likely."""
    phi = PHIS[4][1]
    orders = [list(p) for p in itertools.permutations(range(4))]
    flows = {(r, s): flow(build("arm", phi, orders[r], orders[s]), "irm") for r, s in [(0, 23), (23, 0)]}
    f = flows[0, 23]
    assert abs(f - f.T).max() > 1e-3
    both = f + flows[23, 0]
    np.testing.assert_allclose(both, both.T, atol=1e-15)


def test_partitions_are_all_of_them():
    assert len(list(partitions(4))) == 15  # the paper says 16
    assert len(list(partitions(5))) == 52
