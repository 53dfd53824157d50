"""The refreshing references draw from continuous distributions, which cannot be enumerated: here they are checked
against those distributions; and the plain models of continuous data against themselves.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference_refresh
from enumerated import states, target, transition_matrix
from plain import Mixture, State, Stream
from plain_continuous import CandidateLines, Gaussian, KeptLines, Lines
from scipy import stats

POINTS = np.array([[-1.0, 0.4], [0.5, 1.9], [2.0, -0.6], [1.0, 0.1]])
NOISES = ["known", "nig"]


def kept_lines(noise, refresh="draw"):
    return KeptLines(POINTS, 1.2, 2.0, 0.6, noise=noise, a0=1.7, refresh=refresh)


def one_cluster(model):
    theta = (0.3, -0.2, 0.5)[: 3 if model.noise == "nig" else 2]
    return State(model, [0] * len(POINTS), 1, [theta])


class Recorded(Stream):
    """A stream that keeps what it gave."""

    def __init__(self, seed):
        super().__init__(seed)
        self.normals, self.gammas = [], []

    def normal(self):
        self.normals.append(super().normal())
        return self.normals[-1]

    def gamma(self, shape):
        self.gammas.append((shape, super().gamma(shape)))
        return self.gammas[-1][1]


MARGINALS = {
    **{f"lines-{noise}": Lines(POINTS, 1.0, 2.0, 0.6, noise=noise, a0=1.7) for noise in NOISES},
    **{
        f"gaussian-{covariance}": Gaussian(POINTS, 1.0, covariance, [0.2, -0.3], 0.4, 1.6, b0)
        for covariance, b0 in [("diag", [0.5, 0.9]), ("iso", 0.5), ("full", [0.5, 0.9])]
    },
}


@pytest.mark.parametrize("model", MARGINALS.values(), ids=MARGINALS)
def test_predictives_multiply_to_the_marginal_likelihood(model):
    order = [2, 0, 3, 1]
    total = sum(model.log_predictive(i, order[:t]) for t, i in enumerate(order))
    assert total == pytest.approx(model.log_g(order), abs=1e-11)


@pytest.mark.parametrize("noise", NOISES)
def test_prior_draw_has_the_density_H(noise):
    """log H(theta) is the density of the draw, up to the same constant for every draw."""
    model, stream, constants = kept_lines(noise), Recorded(3), []
    for _ in range(5):
        theta = model.draw_theta(stream)
        log_q = sum(stats.norm.logpdf(stream.normals[-2:])) - math.log(model.variance(theta))
        if noise == "nig":
            assert stream.gammas[-1][0] == model.a0
            log_q += stats.invgamma.logpdf(theta[2], model.a0, scale=model.b0)
        constants.append(model.log_H(theta) - log_q)
    np.testing.assert_allclose(constants, math.log(model.tau), atol=1e-11)


@pytest.mark.parametrize("noise", NOISES)
def test_drawn_parameters_have_their_conditional_density(noise):
    model, stream, constants = kept_lines(noise), Recorded(4), []
    state = one_cluster(model)
    ref = reference_refresh.Refresh(state, stream)
    _, covariance, a, b = model.posterior(state.clusters[0])
    for _ in range(5):
        ref.step()
        theta = state.clusters[0].theta
        log_q = sum(stats.norm.logpdf(stream.normals[-2:])) - math.log(model.variance(theta))
        log_q -= 0.5 * math.log(np.linalg.det(covariance))
        if noise == "nig":
            assert stream.gammas[-1][0] == a
            log_q += stats.invgamma.logpdf(theta[2], a, scale=b)
        constants.append(model.log_joint(state.clusters) - log_q)
    np.testing.assert_allclose(constants, constants[0], atol=1e-11)
    marginal = Lines(POINTS, 1.2, 2.0, 0.6, noise=noise, a0=1.7)
    assert constants[0] == pytest.approx(marginal.log_joint(state.clusters), abs=1e-11)


@pytest.mark.parametrize("noise", NOISES)
def test_metropolis_steps_keep_the_conditional(noise):
    """Means over a run, in units of their deviation; without the Jacobian that of log v would be 0.4 away."""
    model = kept_lines(noise, refresh="metropolis")
    model.steps = 1
    state = one_cluster(model)
    ref = reference_refresh.Refresh(state, Stream(8))
    mean, covariance, a, b = model.posterior(state.clusters[0])
    visited = []
    for _ in range(4000):
        ref.step()
        visited.append(state.clusters[0].theta)
    visited = np.array(visited)
    s2 = b / (a - 1) if noise == "nig" else model.sigma1**2
    deviation = np.sqrt(s2 * np.diag(covariance))
    np.testing.assert_allclose(visited[:, :2].mean(axis=0) / deviation, mean / deviation, atol=0.15)
    np.testing.assert_allclose(visited[:, :2].std(axis=0) / deviation, 1, atol=0.15)
    if noise == "nig":
        distribution = stats.invgamma(a, scale=b)
        expected = distribution.expect(np.log)
        assert np.log(visited[:, 2]).mean() == pytest.approx(expected, abs=0.08)
    rate = ref.accepted / (4000 * (2 if noise == "nig" else 1))
    assert 0.25 < rate < 0.6


@pytest.mark.parametrize("refresh", ["draw", "metropolis"])
@pytest.mark.parametrize("prior", ["crp", "uniform"])
def test_candidates_are_refreshed_exactly(prior, refresh):
    lines = [[0.2, 0.9], [1.0, -0.8], [0.0, 0.3]]
    options = {"candidates": lines, "prior": prior, "refresh": refresh, "steps": 1}
    model = CandidateLines(POINTS[:3], 1.2, 3.0, 0.9, **options)
    all_states = list(states(model))
    pi, P = target(model, all_states), transition_matrix(reference_refresh.Refresh, model, all_states)
    np.testing.assert_allclose(pi @ P, pi, atol=1e-14)
    np.testing.assert_allclose(pi[:, None] * P, (pi[:, None] * P).T, atol=1e-14)


class OneConcentrationStep:
    """Stands in for the stream: eta is given, and what is asked is written down."""

    def __init__(self, eta):
        self.eta = eta

    def beta(self, a, b):
        self.asked = a, b
        return self.eta

    def coin(self, p):
        self.p = p
        return True

    def gamma(self, shape):
        self.shape = shape
        return 1.0


@pytest.mark.parametrize(("K", "N", "prior"), [(1, 4, (0.8, 0.5)), (3, 7, (2.0, 1.5))])
def test_concentration_step_keeps_its_conditional(K, N, prior):
    """The distribution of c given K is carried by one step to itself: both integrals by quadrature."""
    model = Mixture(N, prior)
    state = State(model, [k % K for k in range(N)])
    log_c = np.linspace(-16, 4, 2001)
    c, eta = np.exp(log_c), np.linspace(0, 1, 2003)[1:-1]
    log_pi = stats.gamma.logpdf(c, prior[0], scale=1 / prior[1]) + (K - 1) * log_c + log_c
    log_pi -= np.sum(np.log(c[:, None] + np.arange(1, N)), axis=1)
    pi = np.exp(log_pi - log_pi.max())
    pi /= pi.sum()
    out = np.zeros_like(pi)
    weights = np.array([pi @ stats.beta.pdf(e, c + 1, N) for e in eta])
    weights /= weights.sum()
    for e, weight in zip(eta, weights, strict=True):
        model.concentration = 0.7
        stream = OneConcentrationStep(e)
        reference_refresh.Refresh(state, stream).step()
        assert stream.asked == (1.7, N)
        assert stream.shape == prior[0] + K
        rate = 1 / model.concentration
        density = stream.p * stats.gamma.pdf(c, prior[0] + K, scale=1 / rate)
        if stream.p < 1:
            density += (1 - stream.p) * stats.gamma.pdf(c, prior[0] + K - 1, scale=1 / rate)
        out += weight * density * c * (log_c[1] - log_c[0])
    assert 0.5 * np.abs(out - pi).sum() < 2e-3
