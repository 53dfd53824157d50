"""The estimate of equation 11 by Luo & Shrivastava 2018: unbiased over tables drawn anew, another likelihood
with fixed ones (docs/derivations.md).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from cases_lshsm import MODELS, PI, POINTS, READINGS, STATES, TABLES, build, distance, stationary_distance, tables_for
from enumerated import transition_matrix
from plain_continuous import Gaussian
from reference_lshsm import SampledLikelihood, Tables

GAUSSIANS = ["gaussian", "gaussian-uniform"]


def estimate_for(name, tables):
    return SampledLikelihood(MODELS[name], tables)


def plug_in(model, clusters):
    """Equation 9 with the densities that equation 11 samples."""
    return sum(model.log_plug_in(i, items) for items in clusters for i in items)


def test_plug_in_density_by_hand():
    """Means for one item and for two: m_n, and b_n / a_n, which one item does not make 0."""
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
    """Two tables of one bit, origin 0: the mean (1, 0.5) of 0 and 1 meets 0 in both tables, 1 in the second alone, and
    2 of another cluster in the first, which counts for nothing."""
    points = np.array([[2.0, 1.0], [-1.0, 0.5], [1.0, -1.0], [-1.0, -1.0]])
    model = Gaussian(points, 1.0, "diag", m0=[2.0, 0.0], kappa0=1.0, a0=2.0, b0=0.5)
    tables = Tables(points, np.eye(2), 1, centre=False)
    estimate = SampledLikelihood(model, tables)
    np.testing.assert_allclose(model.plug_in([0, 1])[0], [1.0, 0.5])
    assert tables.items_near([1.0, 0.5]) == [0, 1, 2]
    across = 1 - math.acos((-1 + 0.25) / 1.25) / math.pi
    expected = model.log_plug_in(0, [0, 1]) + model.log_plug_in(1, [0, 1]) / (1 - (1 - across) ** 2)
    assert estimate.log_lik([0, 1]) == pytest.approx(expected, rel=1e-12)
    assert estimate.log_lik([2, 3]) == sum(estimate.terms([2, 3]).values())
    assert estimate([[0, 1], [2, 3]]) == estimate.log_lik([0, 1]) + estimate.log_lik([2, 3])


def test_a_mean_without_a_direction_finds_nothing():
    """All items in one cluster, whose prior mean is theirs: nothing of the likelihood is left."""
    points = POINTS - POINTS.mean(axis=0) + 1000.3
    model = Gaussian(points, 1.0, "diag", m0=points.mean(axis=0), kappa0=0.1, a0=2.0, b0=0.5)
    estimate = SampledLikelihood(model, Tables.draw(points, 1, 3, 0))
    assert estimate.log_lik(list(range(5))) == 0.0
    assert estimate.log_lik([0, 1]) != 0.0


def test_an_item_without_a_direction_is_found_by_no_mean():
    points = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    model = Gaussian(points, 1.0, "diag", m0=[0.3, 0.5], kappa0=0.4, a0=1.6, b0=0.7)
    estimate = SampledLikelihood(model, Tables.draw(points, 1, 30, 0))
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
    a factor that differs between partitions: tables drawn anew would not give the distribution of exp(L) either."""
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
    """Return the expected value of equation 11."""
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
        total += sum(
            share[i] * estimate.model.log_plug_in(i, items) / estimate.tables.probability_near(mean, i) for i in items
        )
    return total


def found_terms(estimate, items):
    """log p, the probability of being found and that of one bit, of what is found."""
    mean, tables = estimate.model.plug_in(items)[0], estimate.tables
    for i in estimate.terms(items):
        bit = tables.same_bit(mean - tables.origin, tables.deviations[i])
        yield estimate.model.log_plug_in(i, items), tables.probability_near(mean, i), bit


@pytest.mark.parametrize("shape", SMALL_SHAPES, ids=str)
@pytest.mark.parametrize("other", [second_line, by_one_bit, by_one_draw])
def test_other_readings_of_the_equation_are_biased(other, shape):
    """Only the probability of being in the union S makes it unbiased; one bit's is that where there is one bit."""
    clusters = [[0, 1], [2, 3]]
    exact = plug_in(MODELS["gaussian"], clusters)
    (mean,) = expectations("gaussian", clusters, *shape, lambda e: (other(e, clusters),))
    assert (abs(mean - exact) < 1e-10) == (other is by_one_bit and shape == (1, 1))
    assert abs(mean - exact) < 1e-10 or abs(mean - exact) > 0.3


def normalise(log_weights):
    weights = np.exp(np.array(log_weights) - max(log_weights))
    return weights / weights.sum()


def sampled_distribution(name, estimate):
    """prior times exp(L-hat), normalised."""
    return normalise([estimate.log_weight(clusters) for clusters in STATES[name]])


@pytest.mark.parametrize("shape", TABLES, ids=str)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("name", GAUSSIANS)
def test_frozen_tables_average_nothing(name, reading, shape):
    """One fixed function of the partition: exact proposals keep prior times exp(L-hat), far from the posterior."""
    tables = tables_for(name, *shape)
    estimate = estimate_for(name, tables)
    distribution = sampled_distribution(name, estimate)
    P = transition_matrix(build(tables, "sums", reading, likelihood=estimate), MODELS[name], STATES[name])
    flow = distribution[:, None] * P
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)
    assert distance(distribution, PI[name]) > 0.3


def test_other_tables_are_another_likelihood():
    distributions = [
        sampled_distribution("gaussian", estimate_for("gaussian", tables_for("gaussian", 2, 3, seed)))
        for seed in range(4)
    ]
    assert min(distance(p, q) for p, q in itertools.combinations(distributions, 2)) > 0.02


def test_with_ever_more_tables_it_is_the_plug_in_likelihood_and_that_is_no_posterior():
    model = MODELS["gaussian"]
    plugged = normalise([model.log_prior(c) + plug_in(model, c) for c in STATES["gaussian"]])
    shapes = [(1, tables, 0) for tables in (1, 10, 1000)]
    far = [
        distance(sampled_distribution("gaussian", estimate_for("gaussian", tables_for("gaussian", *s))), plugged)
        for s in shapes
    ]
    assert far[0] > 0.05
    assert far[2] < 1e-3
    assert distance(plugged, PI["gaussian"]) > 0.3


@pytest.mark.parametrize("shape", TABLES, ids=str)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("name", GAUSSIANS)
def test_as_printed_reference_with_the_sampled_likelihood_is_further_off(name, reading, shape):
    tables = tables_for(name, *shape)
    estimate = estimate_for(name, tables)
    with_estimate, as_printed = (
        stationary_distance(build(tables, "sums", reading, mode="as_printed", likelihood=likelihood), name)
        for likelihood in (estimate, None)
    )
    assert 0.25 < with_estimate < 0.45
    assert as_printed < 0.25
    assert with_estimate > as_printed + 0.05
