"""The reference samplers of Luo & Shrivastava 2018 leave their target invariant, on tiny data with every random choice
enumerated, in exact fractions where the target is; what equations 3 to 6 leave out, and what the estimate of equation
11 is (docs/derivations.md).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from enumerated import ScriptedStream, canonical, remembering, row, states, target, transition_matrix
from often import often
from plain import Bernoulli, Mixture, State
from plain_continuous import CandidateLines, Gaussian, Lines
from plain_network import IRM
from reference_lshsm import LSHSM, SampledLikelihood, Tables

POINTS = np.array([[-1.0, 0.4], [0.5, 1.9], [2.0, -0.6], [1.0, 0.1], [-0.7, -1.5]])
ROWS = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]])
STAR = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 1], [1, 0, 1, 0]])  # the network of Herlau et al. 2014
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


def build(tables, proposal, reading, ref=LSHSM, mode="exact", likelihood=None):
    options = {"tables": tables, "proposal": proposal, "reading": reading, "likelihood": likelihood}
    return lambda state, stream: ref(state, stream, mode=mode, **options)


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
    model, tables = Weights(4, 5), Tables.drawn(POINTS[:4], *shape)
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
    """Of sums: X, P-diff and P+same against the enumerated proposals, as fractions."""
    model, tables = Weights(4, 5), Tables.drawn(POINTS[:4], *shape)
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
    P = transition_matrix(build(Tables.drawn(POINTS[:3], 1, 2, 1), proposal, "table"), model, all_states)
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


def stationary(P):
    """The stationary law by elimination of states (Grassmann, Taksar and Heyman), which subtracts nothing."""
    P, n = P.copy(), len(P)
    for s in range(n - 1, 0, -1):
        P[:s, s] /= P[s, :s].sum()
        P[:s, :s] += np.outer(P[:s, s], P[s, :s])
    law = np.zeros(n)
    law[0] = 1.0
    for s in range(1, n):
        law[s] = law[:s] @ P[:s, s]
    return law / law.sum()


def distance(p, q):
    """Total variation."""
    return 0.5 * np.abs(p - q).sum()


def stationary_distance(make_ref, model):
    """Total variation between the stationary law of a reference and the target."""
    return distance(stationary(transition_matrix(make_ref, MODELS[model], STATES[model])), PI[model])


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
    tables = Tables.drawn(vectors, 10, 10, 0)
    ref = LSHSM(State(Weights(1, 0), [0]), None, tables=tables, proposal="sums", reading="union")
    ref.model.N = 80
    A, B = list(range(40)), list(range(40, 80))
    assert ref.q_across(A, B, True) <= 1
    assert ref.printed_sum(A, B, True) > 5


# ---- Equation 11

GAUSSIANS = ["gaussian", "gaussian-uniform"]


def sampled(name, tables):
    return SampledLikelihood(MODELS[name], tables)


def plug_in(model, clusters):
    """Equation 9 with the densities that equation 11 samples."""
    return sum(model.log_plug_in(i, items) for items in clusters for i in items)


def test_plug_in_density_by_hand():
    """Of one item and of two: m_n, and b_n / a_n, which one item does not make 0."""
    model = Gaussian([[1.0, 5.0], [3.0, 5.0]], 1.0, "diag", m0=[0.0, 5.0], kappa0=1.0, a0=2.0, b0=0.5)
    mean, variance = model.plug_in([0])
    np.testing.assert_allclose(mean, [0.5, 5.0])
    np.testing.assert_allclose(variance, [0.75 / 2.5, 0.5 / 2.5])
    mean, variance = model.plug_in([0, 1])
    np.testing.assert_allclose(mean, [4 / 3, 5.0])
    # scatter 2 about the mean 2 of the two; 1 * 2 / 3 * 2^2 of that mean about m0
    np.testing.assert_allclose(variance, [(0.5 + 1 + 4 / 3) / 3, 0.5 / 3])
    shared = Gaussian([[1.0, 5.0], [3.0, 5.0]], 1.0, "iso", m0=[0.0, 5.0], kappa0=1.0, a0=2.0, b0=0.5)
    np.testing.assert_allclose(shared.plug_in([0, 1])[1], [(0.5 + 1 + 4 / 3) / 4] * 2)


@pytest.mark.parametrize("name", GAUSSIANS)
def test_the_plug_in_density_is_the_predictive_of_a_cluster_known_for_certain(name):
    """Student's t with the same mean, its scale wider by (kappa_n + 1) / kappa_n; a large cluster tells them apart
    no longer."""
    few = MODELS[name]
    x = np.tile(few.x, (5_000, 1)) + np.random.default_rng(0).normal(0, 0.1, (20_000, 2))
    many = Gaussian(x, 1.0, few.covariance, few.m0, few.kappa0, few.a0, few.b0)
    everything = list(range(20_000))
    for i in range(4):
        assert many.log_plug_in(i, everything) == pytest.approx(many.log_predictive(i, everything), abs=2e-3)
    assert abs(few.log_plug_in(0, [0]) - few.log_predictive(0, [0])) > 0.1


def test_estimate_by_hand():
    """Two tables of one bit, origin 0: the mean (1, .5) of 0 and 1 meets 0 in both tables, 1 in the second alone, and 2
    of another cluster in the first, which counts for nothing."""
    points = np.array([[2.0, 1.0], [-1.0, 0.5], [1.0, -1.0], [-1.0, -1.0]])
    model = Gaussian(points, 1.0, "diag", m0=[2.0, 0.0], kappa0=1.0, a0=2.0, b0=0.5)
    tables = Tables(points, np.eye(2), 1, centre=False)
    estimate = SampledLikelihood(model, tables)
    np.testing.assert_allclose(model.plug_in([0, 1])[0], [1.0, 0.5])
    assert tables.found_by([1.0, 0.5]) == [0, 1, 2]
    across = 1 - math.acos((-1 + 0.25) / 1.25) / math.pi
    expected = model.log_plug_in(0, [0, 1]) + model.log_plug_in(1, [0, 1]) / (1 - (1 - across) ** 2)
    assert estimate.of([0, 1]) == pytest.approx(expected, rel=1e-12)
    assert estimate.of([2, 3]) == sum(estimate.terms([2, 3]).values())
    assert estimate([[0, 1], [2, 3]]) == estimate.of([0, 1]) + estimate.of([2, 3])


def test_a_mean_without_a_direction_finds_nothing():
    """All items in one cluster, whose prior mean is theirs: nothing of the likelihood is left."""
    points = POINTS - POINTS.mean(axis=0) + 1000.3
    model = Gaussian(points, 1.0, "diag", m0=points.mean(axis=0), kappa0=0.1, a0=2.0, b0=0.5)
    estimate = SampledLikelihood(model, Tables.drawn(points, 1, 3, 0))
    assert estimate.of(list(range(5))) == 0.0
    assert estimate.of([0, 1]) != 0.0


def test_an_item_without_a_direction_is_found_by_no_mean():
    points = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    model = Gaussian(points, 1.0, "diag", m0=[0.3, 0.5], kappa0=0.4, a0=1.6, b0=0.7)
    estimate = SampledLikelihood(model, Tables.drawn(points, 1, 30, 0))
    assert set(estimate.terms([0, 1, 2, 3, 4])) == {0, 1, 3, 4}


def every_table(points, model, clusters, bits, tables):
    """All that directions in the plane can make of the items and of the clusters' means, with their probabilities."""
    at_right_angles = []
    for point in [*points, *(model.plug_in(items)[0] for items in clusters)]:
        x, y = point - points.mean(axis=0)
        at_right_angles += [math.atan2(x, -y) % (2 * math.pi), math.atan2(-x, y) % (2 * math.pi)]
    turns = sorted(at_right_angles)
    arcs = list(zip(turns, [*turns[1:], turns[0] + 2 * math.pi], strict=True))
    for chosen in itertools.product(arcs, repeat=bits * tables):
        middle = [(start + end) / 2 for start, end in chosen]
        directions = np.array([np.cos(middle), np.sin(middle)])
        yield math.prod((end - start) / (2 * math.pi) for start, end in chosen), Tables(points, directions, bits)


SMALL_SHAPES = [(1, 1), (1, 2), (2, 1)]


def expectations(name, clusters, bits, tables, of):
    """Exact expectations over tables drawn anew."""
    model = MODELS[name]
    drawn = every_table(model.x, model, clusters, bits, tables)
    return sum(p * np.array(of(SampledLikelihood(model, made))) for p, made in drawn)


@pytest.mark.parametrize("shape", SMALL_SHAPES, ids=str)
@pytest.mark.parametrize("name", GAUSSIANS)
def test_over_tables_drawn_anew_the_logarithm_is_unbiased_and_the_likelihood_is_not(name, shape):
    """Every partition of four points: E[L-hat] is the plug-in log likelihood; E[exp L-hat] exceeds its exponential, by
    a factor that differs between partitions: tables drawn anew would not give the law of exp(L) either."""
    ratios = []
    for clusters in STATES[name]:
        exact = plug_in(MODELS[name], clusters)
        total, mean, ratio = expectations(
            name, clusters, *shape, lambda e, c=clusters, L=exact: (1.0, e(c), math.exp(e(c) - L))
        )
        assert total == pytest.approx(1.0, abs=1e-12)
        assert mean == pytest.approx(exact, abs=1e-10)
        ratios.append(ratio)
    assert min(ratios) > 1.0
    assert max(ratios) > 1.5 * min(ratios)


def second_line(estimate, clusters):
    """Of equation 11."""
    terms = (t for items in clusters for t in found_terms(estimate, items))
    return sum(log_p - math.log(p) for log_p, p, _ in terms)


def by_one_bit(estimate, clusters):
    """The first line with the Pr that the text names, equation 2."""
    return sum(log_p / bit for items in clusters for log_p, _, bit in found_terms(estimate, items))


def by_one_draw(estimate, clusters):
    """The mean of the first line where S is what section 2.1.1 draws: one item of one bucket that is not empty."""
    total = 0.0
    for items in clusters:
        mean = estimate.model.plug_in(items)[0]
        codes = estimate.tables.code(mean - estimate.tables.origin)
        buckets = [[v for v in range(4) if estimate.tables.codes[v][t] == code] for t, code in enumerate(codes)]
        buckets = [bucket for bucket in buckets if bucket]
        share = {i: sum((i in b) / len(b) for b in buckets) / max(len(buckets), 1) for i in items}
        total += sum(share[i] * estimate.model.log_plug_in(i, items) / estimate.tables.found(mean, i) for i in items)
    return total


def found_terms(estimate, items):
    """log p, the probability of being found and that of one bit, of what is found."""
    mean, tables = estimate.model.plug_in(items)[0], estimate.tables
    for i in estimate.terms(items):
        bit = tables.same_bit(mean - tables.origin, tables.deviations[i])
        yield estimate.model.log_plug_in(i, items), tables.found(mean, i), bit


@pytest.mark.parametrize("shape", SMALL_SHAPES, ids=str)
@pytest.mark.parametrize("other", [second_line, by_one_bit, by_one_draw])
def test_other_readings_of_the_equation_are_biased(other, shape):
    """Only the probability of being in the union S makes it unbiased; one bit's is that where there is one bit."""
    clusters = [[0, 1], [2, 3]]
    exact = plug_in(MODELS["gaussian"], clusters)
    (mean,) = expectations("gaussian", clusters, *shape, lambda e: (other(e, clusters),))
    assert (abs(mean - exact) < 1e-10) == (other is by_one_bit and shape == (1, 1))
    assert abs(mean - exact) < 1e-10 or abs(mean - exact) > 0.3


def law_of(log_weights):
    weights = np.exp(np.array(log_weights) - max(log_weights))
    return weights / weights.sum()


def sampled_law(name, estimate):
    """prior times exp(L-hat), normalised."""
    return law_of([estimate.log_weight(clusters) for clusters in STATES[name]])


@pytest.mark.parametrize("shape", TABLES, ids=str)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("name", GAUSSIANS)
def test_frozen_tables_average_nothing(name, reading, shape):
    """One fixed function of the partition: exact proposals keep prior times exp(L-hat), far from the posterior."""
    tables = tables_for(name, *shape)
    estimate = sampled(name, tables)
    law = sampled_law(name, estimate)
    P = transition_matrix(build(tables, "sums", reading, likelihood=estimate), MODELS[name], STATES[name])
    flow = law[:, None] * P
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)
    assert distance(law, PI[name]) > 0.3


def test_other_tables_are_another_likelihood():
    laws = [sampled_law("gaussian", sampled("gaussian", tables_for("gaussian", 2, 3, seed))) for seed in range(4)]
    assert min(distance(p, q) for p, q in itertools.combinations(laws, 2)) > 0.02


def test_with_ever_more_tables_it_is_the_plug_in_likelihood_and_that_is_no_posterior():
    model = MODELS["gaussian"]
    plugged = law_of([model.log_prior(c) + plug_in(model, c) for c in STATES["gaussian"]])
    shapes = [(1, tables, 0) for tables in (1, 10, 1000)]
    far = [distance(sampled_law("gaussian", sampled("gaussian", tables_for("gaussian", *s))), plugged) for s in shapes]
    assert far[0] > 0.05
    assert far[2] < 1e-3
    assert distance(plugged, PI["gaussian"]) > 0.3


@pytest.mark.parametrize("shape", TABLES, ids=str)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("name", GAUSSIANS)
def test_as_printed_reference_with_the_sampled_likelihood_is_further_off(name, reading, shape):
    tables = tables_for(name, *shape)
    estimate = sampled(name, tables)
    with_estimate, as_printed = (
        stationary_distance(build(tables, "sums", reading, mode="as_printed", likelihood=likelihood), name)
        for likelihood in (estimate, None)
    )
    assert 0.25 < with_estimate < 0.45
    assert as_printed < 0.25
    assert with_estimate > as_printed + 0.05
