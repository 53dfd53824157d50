"""The enumerated posteriors against brute force: parameters integrated numerically on tiny data, and sum rules."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import gammaln, logsumexp

from splitmerge_cli.verify.continuous import candidates_log_weight, gaussian_log_weight, lines_log_weight
from splitmerge_cli.verify.enumerate import (
    bernoulli_log_weight,
    candidates_states,
    irm_log_weight,
    log_prior,
    mixture_states,
    state_of,
)

POINTS = np.array([[0.5, 1.2], [-1.0, -0.3], [2.0, 2.2], [0.0, -1.5]])
BELL = {1: 1, 2: 2, 3: 5, 4: 15}
WIDE = np.linspace(-1, 1, 1201)


def one_cluster(n):
    return (0,) * n, 1


def log_integral(log_f, *axes):
    """log of the integral of exp(log_f) over a box by the trapezoidal rule, exact for what vanishes at the edges."""
    grid = np.meshgrid(*axes, indexing="ij")
    values = log_f(*grid)
    top = values.max()
    total = np.exp(values - top)
    for axis in reversed(axes):
        total = integrate.trapezoid(total, axis)
    return top + math.log(total)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_line_of_known_noise_integrates_intercept_and_slope(n):
    x, y = POINTS[:n].T
    sigma0, sigma1 = 1.5, 0.7

    def log_f(intercept, slope):
        total = stats.norm.logpdf(intercept, 0, sigma0) + stats.norm.logpdf(slope, 0, sigma0)
        return total + sum(stats.norm.logpdf(b, intercept + slope * a, sigma1) for a, b in zip(x, y, strict=True))

    weight = lines_log_weight(POINTS[:n], 1.0, sigma0, sigma1, "known", 2.0, "uniform")
    assert weight(one_cluster(n)) == pytest.approx(log_integral(log_f, 15 * WIDE, 15 * WIDE), abs=1e-9)


@pytest.mark.parametrize("n", [1, 3])
def test_line_of_unknown_noise_integrates_the_variance(n):
    """Given the variance it is the line of known noise, whose sigma0 grows with it in proportion."""
    sigma0, sigma1, a0 = 2.0, 0.5, 2.5
    b0 = sigma1**2 * (a0 - 1)

    def f(log_v):
        s = math.exp(log_v / 2)
        known = lines_log_weight(POINTS[:n], 1.0, sigma0 / sigma1 * s, s, "known", a0, "uniform")
        prior = stats.invgamma.logpdf(s * s, a0, scale=b0)
        return math.exp(known(one_cluster(n)) + prior + log_v)

    weight = lines_log_weight(POINTS[:n], 1.0, sigma0, sigma1, "nig", a0, "uniform")
    total, _ = integrate.quad(f, -12, 12, epsabs=0, epsrel=1e-10, limit=400)
    assert weight(one_cluster(n)) == pytest.approx(math.log(total), abs=1e-8)


@pytest.mark.parametrize("covariance", ["diag", "iso"])
@pytest.mark.parametrize("n", [1, 2])
def test_gaussian_integrates_mean_and_variance(covariance, n):
    m0, kappa0, a0 = np.array([0.3, -0.2]), 0.6, 2.2
    b0 = np.array([0.8, 0.8 if covariance == "iso" else 0.4])

    def log_density(y, d):
        """Log density of column d given the log variance, the mean integrated out."""

        def log_f(mean, log_v):
            s = np.exp(log_v / 2)
            lik = sum(stats.norm.logpdf(v, mean, s) for v in y[:, d])
            return stats.norm.logpdf(mean, m0[d], s / math.sqrt(kappa0)) + lik

        return log_f

    def log_prior(log_v, d):
        return stats.invgamma.logpdf(np.exp(log_v), a0, scale=b0[d]) + log_v

    y, means, log_v = POINTS[:n], 120 * np.linspace(-1, 1, 6001), np.linspace(-6, 8, 281)
    if covariance == "diag":
        expected = sum(
            log_integral(lambda m, v, d=d: log_density(y, d)(m, v) + log_prior(v, d), means, log_v) for d in (0, 1)
        )
    else:
        given = [[log_integral(lambda m, v=v, d=d: log_density(y, d)(m, v), means) for v in log_v] for d in (0, 1)]
        expected = log_integral(lambda v: np.array(given[0]) + np.array(given[1]) + log_prior(v, 0), log_v)
    weight = gaussian_log_weight(y, 1.0, "uniform", covariance, m0, kappa0, a0, b0)
    assert weight(one_cluster(n)) == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("covariance", ["diag", "iso", "full"])
def test_gaussian_integrates_gamma_priors_of_scale_and_weight(covariance):
    """Against the fixed weights, summed over a grid of logarithms: the scales of two columns, or scale and kappa0."""
    x, labels, a0, (shape, rates) = POINTS, ((0, 0, 1, 2), 3), 2.2, (0.9, [0.7, 1.1])
    log_b, log_other = np.arange(-11, 5, 0.4), np.arange(-13, 5, 0.4)

    def density(t, of_shape, rate):
        return stats.gamma.logpdf(math.exp(t), of_shape, scale=1 / rate) + t + math.log(0.4)

    total = []
    for s, t in itertools.product(log_b, log_other):
        if covariance == "iso":
            given = math.exp(t), a0, math.exp(s)
            priors = density(s, shape, rates[0]) + density(t, 1.5, 2.0)
        else:
            given = 0.6, a0, np.exp([s, t])
            priors = density(s, shape, rates[0]) + density(t, shape, rates[1])
        total.append(priors + gaussian_log_weight(x, 1.3, "crp", covariance, 0.2, *given)(labels))
    resampled = ((1.5, 2.0), a0, (shape, rates[0])) if covariance == "iso" else (0.6, a0, (shape, rates))
    weight = gaussian_log_weight(x, 1.3, "crp", covariance, 0.2, *resampled)
    assert weight(labels) == pytest.approx(np.logaddexp.reduce(total), abs=1e-6)


def test_full_gaussian_is_the_product_of_its_predictives():
    """The predictive of the full Gaussian is a multivariate t (Murphy 2007, equation 258)."""
    m0, kappa0, a0, b0 = np.array([0.3, -0.2]), 0.6, 2.2, np.array([0.8, 0.4])
    D, nu, kappa, mean, psi = 2, 2 * a0 + 1, kappa0, m0, 2 * np.diag(b0)
    total = 0.0
    for y in POINTS:
        shape = psi * (kappa + 1) / (kappa * (nu - D + 1))
        total += stats.multivariate_t.logpdf(y, mean, shape, df=nu - D + 1)
        psi = psi + kappa / (kappa + 1) * np.outer(y - mean, y - mean)
        mean, kappa, nu = (kappa * mean + y) / (kappa + 1), kappa + 1, nu + 1
    weight = gaussian_log_weight(POINTS, 1.0, "uniform", "full", m0, kappa0, a0, b0)
    assert weight(one_cluster(4)) == pytest.approx(total, abs=1e-10)


def test_candidates_sum_to_the_mixture_over_lines():
    candidates = [[0.0, 1.0], [1.0, -0.5], [0.3, 0.2]]
    weight = candidates_log_weight(POINTS, 1.4, 0.8, "crp", candidates)
    states = candidates_states(4, candidates)
    assert len(states) == len(set(states)) == 3 + 7 * 9 + 6 * 27 + 81
    for labels, K in mixture_states(4):
        expected = K * math.log(1.4)
        for k in range(K):
            x, y = POINTS[np.array(labels) == k].T
            lik = [stats.norm.pdf(y, a + b * x, 0.8).prod() for a, b in candidates]
            expected += gammaln(len(y)) + math.log(np.mean(lik))
        total = sum(math.exp(weight(s)) for s in states if s[0] == labels)
        assert math.log(total) == pytest.approx(expected, abs=1e-12)


STAR = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 1], [1, 0, 1, 0]])


@pytest.mark.parametrize("labels", [(0, 0, 0, 0), (0, 1, 0, 1), (0, 1, 2, 0), (0, 1, 2, 3)])
def test_network_is_an_urn_for_every_pair_of_blocks(labels):
    """Each pair of nodes once, edges and missing ones added to their blocks' counts one after the other."""
    beta1, beta0, counts, expected = 0.4, 1.7, {}, 0.0
    for a, b in itertools.combinations(range(4), 2):
        urn = counts.setdefault(tuple(sorted((labels[a], labels[b]))), [beta0, beta1])
        expected += math.log(urn[STAR[a, b]] / sum(urn))
        urn[STAR[a, b]] += 1
    K = max(labels) + 1
    weight = irm_log_weight(STAR, 1.0, beta1, beta0, "uniform")
    assert weight((labels, K)) == pytest.approx(expected, abs=1e-13)
    prior = K * math.log(2.5) + gammaln(np.bincount(labels)).sum()
    crp = irm_log_weight(STAR, 2.5, beta1, beta0, "crp")
    assert crp((labels, K)) == pytest.approx(expected + prior, abs=1e-13)


@pytest.mark.parametrize("n", BELL)
def test_weights_of_the_prior_sum_to_a_rising_factorial(n):
    """Points without information: sum of concentration^K prod Gamma(n_k) = concentration rising n."""
    x = np.zeros((n, 1), dtype=np.uint8)
    states = mixture_states(n)
    assert len(states) == BELL[n]

    def total(concentration):
        weight = bernoulli_log_weight(x[:, :0], concentration, 1.0, 1.0, "crp")
        return sum(math.exp(weight(s)) for s in states)

    assert total(1.7) == pytest.approx(math.prod(1.7 + i for i in range(n)), rel=1e-13)
    assert total((1.7, 0.4)) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("shape", "rate"), [(1.0, 1.0), (0.05, 2.0), (300.0, 150.0), (2.0, 1e-3), (3.0, 1e4)])
def test_random_concentration_is_integrated(shape, rate):
    weight = bernoulli_log_weight(np.zeros((4, 0), dtype=np.uint8), (shape, rate), 1.0, 1.0, "crp")
    for state in mixture_states(4):
        sizes = np.bincount(state[0])

        def f(log_c, sizes=sizes):
            c = math.exp(log_c)
            crp = c ** (len(sizes) - 1) / math.prod(c + i for i in range(1, 4)) * math.exp(gammaln(sizes).sum())
            return crp * math.exp(shape * (log_c + math.log(rate)) - rate * c - math.lgamma(shape))

        middle = math.log(shape / rate)
        edges = [middle - 60 / min(shape, 1), middle - 4 / math.sqrt(shape), middle + 4 / math.sqrt(shape), middle + 9]
        total = sum(
            integrate.quad(f, *ends, epsabs=0, epsrel=1e-11, limit=500)[0] for ends in itertools.pairwise(edges)
        )
        assert math.exp(weight(state)) == pytest.approx(total, rel=1e-9)


def test_uniform_prior_has_no_concentration():
    one, other = (lines_log_weight(POINTS, c, 2.0, 1.0, "known", 2.0, "uniform") for c in (0.5, (1.0, 1.0)))
    assert [one(s) for s in mixture_states(4)] == [other(s) for s in mixture_states(4)]


def test_state_of_numbers_clusters_and_parameters_by_first_appearance():
    labels = np.array([2, 0, 2, 1], dtype=np.int32)
    assert state_of(labels, 3) == ((0, 1, 0, 2), 3)
    parameters = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    assert state_of(labels, 3, parameters) == ((0, 1, 0, 2), 3, ((3.0, 30.0), (1.0, 10.0), (2.0, 20.0)))
    assert state_of([0, 0], 3) == ((0, 0), 3)


def log_integral_over_gamma(shape, rate, log_f):
    """log of the integral of exp(log_f(c)) against a gamma density by Gauss and Legendre's rule in c, on intervals that
    halve towards 0."""
    x, w = np.polynomial.legendre.leggauss(24)
    ends = np.concatenate([[0.0], 2.0 ** np.arange(-60 / shape, 8.01)])
    half, middle = np.diff(ends)[:, None] / 2, (ends[1:] + ends[:-1])[:, None] / 2
    c, log_w = (half * x + middle).ravel(), np.log(half * w).ravel()
    log_density = shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(c) - rate * c
    return logsumexp(log_w + log_density + log_f(c))


def log_rise(c, n):
    return np.log(np.asarray(c)[..., None] + np.arange(n)).sum(axis=-1)


@pytest.mark.parametrize(("shape", "rate"), [(2.0, 1.5), (0.5, 0.5), (30.0, 4.0)])
@pytest.mark.parametrize(
    "prior", ["crp", "pitman_yor(discount=0.2)", "mfm(components=geometric(0.4))", "dynamic_mfm(components=poisson(2))"]
)
def test_a_concentration_is_integrated_to_twelve_digits(prior, shape, rate):
    off = []
    for sizes in ([5], [4, 1], [3, 1, 1], [1, 1, 1, 1, 1]):
        K = len(sizes)
        M = np.arange(K, 120.0)[:, None]
        ways = gammaln(M + 1) - gammaln(M - K + 1)

        def log_f(c, sizes=sizes, K=K, M=M, ways=ways):
            if prior == "crp":
                return K * np.log(c) - log_rise(c, 5) + gammaln(sizes).sum()
            if prior.startswith("pitman_yor"):
                joined = sum(np.log(1 - 0.2 + np.arange(n - 1)).sum() for n in sizes)
                return np.log(c[:, None] + 0.2 * np.arange(K)).sum(axis=1) - log_rise(c, 5) + joined
            if prior.startswith("mfm"):
                log_q = np.log(0.4) + (M - 1) * np.log(0.6)
                return logsumexp(log_q + ways - log_rise(c * M, 5) + sum(log_rise(c, n) for n in sizes), axis=0)
            log_q = (M - 1) * np.log(2) - 2 - gammaln(M)
            return logsumexp(log_q + ways + sum(log_rise(c / M, n) for n in sizes), axis=0) - log_rise(c, 5)

        z = np.repeat(np.arange(K), sizes)
        off.append(log_prior((shape, rate), prior, z) - log_integral_over_gamma(shape, rate, log_f))
    assert np.ptp(off) < 1e-12
