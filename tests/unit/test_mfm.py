"""Mixtures of finite mixtures: the coefficients V_N(K), the distribution of the number of clusters, and a resampled
concentration; the dynamic ones and their number of components."""

import numpy as np
import pytest
from compiled import pieces
from scipy.special import gammaln

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.priors import specification
from splitmerge_cli.verify.cases import small_case
from splitmerge_cli.verify.enumerate import log_prior

DISTRIBUTIONS = (
    "poisson(1)",
    "poisson(30)",
    "geometric(0.1)",
    "geometric(0.9)",
    "bnb(1,4,3)",
    "bnb(0.4,0.3,2)",
    "bnb(1,0.2,3)",
    "uniform(30)",
)


def build(distribution, N, gamma):
    return specification(f"mfm(components={distribution})").build(N, gamma)


def probability_of(distribution, most):
    components = dict(specification(f"mfm(components={distribution})").options)["components"]
    return np.exp(components.log_probability(np.arange(1, most + 1)))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize(("N", "gamma"), [(1, 1.0), (5, 3.5), (30, 1.0), (82, 0.05), (150, 1e-4)])
def test_one_item_more(distribution, N, gamma):
    """V_N(K) = gamma V_{N+1}(K + 1) + (N + gamma K) V_{N+1}(K), which follows from adding an item and says nothing of
    how the sums are computed. Source: Miller and Harrison (2018), section 3."""
    fewer, more = build(distribution, N, gamma).log_numbers(), build(distribution, N + 1, gamma).log_numbers()
    for K in {K for K in (1, 2, N // 2, N - 1, N) if 1 <= K <= N and fewer[K] > -np.inf}:
        found = np.logaddexp(np.log(gamma) + more[K + 1], np.log(N + gamma * K) + more[K])
        assert found == pytest.approx(fewer[K], rel=1e-13, abs=2e-13)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_sums_in_plain_order(distribution):
    """The reference of ``smcmc verify``, also of a heavy tail."""
    made, options = build(distribution, 5, 1.3), dict(specification(f"mfm(components={distribution})").options)
    for sizes in ([5], [3, 2], [1] * 5):
        expected = type(made).log_probability(sizes, 1.3, **options)
        assert pieces.log_prob(made, sizes) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("distribution", ["poisson(2)", "geometric(0.3)", "uniform(6)"])
def test_the_distribution_of_the_number_of_clusters(distribution):
    """By adding one component after the other, with as many items as it may have: no coefficient and no partition."""
    N, gamma, most = 12, 0.7, 100
    n = np.arange(N + 1)
    share = np.exp(gammaln(n + gamma) - gammaln(gamma) - gammaln(n + 1))
    p, expected = probability_of(distribution, most), np.zeros(N + 1)
    # [K, n]: weight of m components, K of which have n items in all
    weight = np.zeros((N + 1, N + 1))
    weight[0, 0] = 1.0
    for m in range(1, most + 1):
        added = np.zeros_like(weight)
        for K in range(N + 1):
            for size in range(N + 1):
                added[min(K + (size > 0), N), size:] += weight[K, : N + 1 - size] * share[size]
        weight = added
        expected += p[m - 1] * weight[:, N] / np.exp(gammaln(N + gamma * m) - gammaln(gamma * m) - gammaln(N + 1))
    log_v = build(distribution, N, gamma).log_numbers()
    # weights of partitions into K blocks, by the block of the first item
    blocks = np.full((N + 1, N + 1), -np.inf)
    blocks[0, 0] = 0.0
    for K in range(1, N + 1):
        for items in range(1, N + 1):
            others = np.arange(items)
            ways = gammaln(items) - gammaln(others + 1) - gammaln(items - others)
            size = gammaln(items - others + gamma) - gammaln(gamma)
            blocks[K, items] = np.logaddexp.reduce(ways + size + blocks[K - 1, others])
    found = np.exp(log_v + blocks[:, N])
    np.testing.assert_allclose(found[1:], expected[1:], rtol=1e-11, atol=1e-16)
    assert found[1:].sum() == pytest.approx(1.0, abs=1e-12)


def test_far_fewer_items_than_components():
    """With ever more components it is the Chinese restaurant of concentration gamma m."""
    found = build("uniform(10000)", 4, 1e-3).log_numbers()[1:]
    m = np.arange(1, 10_001)
    for K in range(1, 5):
        terms = gammaln(m + 1.0) - gammaln(np.maximum(m - K, -0.5) + 1.0) + np.where(m < K, -np.inf, 0.0)
        terms -= sum(np.log(1e-3 * m + t) for t in range(4))
        assert found[K - 1] == pytest.approx(np.log(np.exp(terms - terms.max()).mean()) + terms.max(), rel=1e-9)


def test_values_that_are_set():
    model = Bernoulli(np.eye(5, dtype=np.uint8), prior="mfm", concentration="gamma(2,1)")
    fixed = Bernoulli(np.eye(5, dtype=np.uint8), prior="mfm", concentration=0.3)
    model.set_prior_values({"concentration": 0.3})
    for labels in ([0, 0, 0, 0, 0], [0, 1, 2, 1, 0], [0, 1, 2, 3, 4]):
        model.set_labels(np.array(labels))
        fixed.set_labels(np.array(labels))
        # gamma(2,1) at 0.3
        assert model.log_joint() == pytest.approx(fixed.log_joint() + np.log(0.3) - 0.3, abs=1e-12)
    with pytest.raises(ValueError, match="positive"):
        model.set_prior_values({"concentration": -1.0})
    with pytest.raises(ValueError, match="resamples no"):
        fixed.prior.set_value("concentration", 1.0)


# -- dynamic
SIZES = [4, 2, 1]


def dynamic_log_probability(sizes, alpha, m):
    """log p(z | m), by gamma functions."""
    K, N = len(sizes), sum(sizes)
    total = gammaln(m + 1) - gammaln(m - K + 1) + gammaln(alpha) - gammaln(alpha + N)
    return total + sum(gammaln(n + alpha / m) - gammaln(alpha / m) for n in sizes)


def test_partitions_are_those_of_weights_that_are_drawn():
    """The definition: components, their weights, then an item's component each; no formula of a partition."""
    rng, alpha, draws = np.random.default_rng(4), 0.9, 20_000
    counts = np.zeros(5)
    for _ in range(draws):
        m = rng.geometric(0.4)
        component = rng.choice(m, size=4, p=rng.dirichlet(np.full(m, alpha / m)))
        counts[len(set(component.tolist()))] += 1
    case = small_case(Bernoulli, 4, 0, {"prior": "dynamic_mfm(components=geometric(0.4))", "concentration": alpha})
    expected, terms = np.zeros(5), np.arange(1, 400)
    for labels, K in case.states:
        possible = terms[terms >= K]
        log_p = dynamic_log_probability(np.bincount(labels).tolist(), alpha, possible)
        expected[K] += np.exp(log_p + np.log(0.4) + (possible - 1) * np.log(0.6)).sum()
    assert expected.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(counts / draws, expected, atol=0.015)
    # what the enumeration goes by
    for sizes in ([4], [3, 1], [1, 1, 1, 1]):
        possible = terms[len(sizes) - 1 :]
        log_p = dynamic_log_probability(sizes, alpha, possible)
        direct = np.logaddexp.reduce(log_p + np.log(0.4) + (possible - 1) * np.log(0.6))
        z = np.repeat(np.arange(len(sizes)), sizes)
        assert log_prior(alpha, "dynamic_mfm(components=geometric(0.4))", z) == pytest.approx(direct, abs=1e-12)


@pytest.mark.parametrize("distribution", ["uniform(6)", "bnb(1,4,3)"])
def test_the_number_of_components_is_drawn_from_its_conditional(distribution):
    """Shares of 4,000 updates."""
    made, rng = specification(f"dynamic_mfm(components={distribution})").build(7, 1.4), Rng(3)
    draws = []
    for _ in range(4_000):
        pieces.resample_prior(made, rng, 0, SIZES)
        draws.append(made.values["components"])
    m = np.arange(3, 2_000)
    log_p = np.log(np.maximum(probability_of(distribution, 1_999), 1e-300))[2:] + dynamic_log_probability(SIZES, 1.4, m)
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    for value in range(3, 7):
        batches = (np.array(draws) == value).reshape(40, -1).mean(axis=1)
        assert abs(batches.mean() - p[value - 3]) < 4.5 * batches.std(ddof=1) / np.sqrt(40)


def test_ever_more_components_are_the_chinese_restaurant():
    made, crp = build_dynamic(6), specification("crp").build(6, 0.7)
    made.set_value("components", 1e9)
    differ = [pieces.log_prob(made, sizes) - pieces.log_prob(crp, sizes) for sizes in ([6], [3, 2, 1], [1] * 6)]
    np.testing.assert_allclose(differ, differ[0], atol=1e-7)
    made.set_value("components", 3.0)
    assert pieces.log_prob(made, [3, 2, 1]) > -np.inf == pieces.log_prob(made, [3, 1, 1, 1])


def build_dynamic(N, components="bnb(1,4,3)"):
    return specification(f"dynamic_mfm(components={components})").build(N, 0.7)


def test_components_at_the_start_and_out_of_range():
    assert build_dynamic(9).values == {"components": 9.0}
    made = build_dynamic(9, "uniform(4)")
    assert made.values == {"components": 4.0}
    for value in (0.0, 2.5, 5.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"expected a value within the range of uniform\(4\)"):
            made.set_value("components", value)
