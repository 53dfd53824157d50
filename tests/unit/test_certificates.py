"""The bound of the total variation distance and the unbiased estimates, from given meeting times and values."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from splitmerge_cli.diagnostics import certificates
from splitmerge_cli.diagnostics.certificates import bound, lag_terms, unbiased


def test_terms_of_the_bound() -> None:
    """By hand: a pair of lag 10 that meets at 35 is 25 iterations longer than its lag: 3 lags after 0, 1 after 15."""
    terms = lag_terms([10, 11, 35], 10, [0, 5, 15, 25])
    assert terms.tolist() == [[0, 1, 3], [0, 0, 2], [0, 0, 1], [0, 0, 0]]


def test_bound_is_a_mean_with_a_limit_above_it() -> None:
    rng = np.random.default_rng(0)
    tau = 5 + rng.geometric(0.1, size=200)
    found = bound(tau, 5, np.arange(100))
    assert np.all(found.estimate <= found.upper) and np.all(found.upper <= 1) and np.all(found.upper > 0)
    assert np.all(np.diff(found.estimate) <= 0)
    # where no pair took as long, no limit below 3 / pairs follows
    assert found.estimate[-1] == 0 and 1 - 0.05 ** (1 / 200) <= found.upper[-1] < 0.05
    at = found.first_below(0.25)
    assert at is not None and found.upper[at] <= 0.25 < found.upper[at - 1]
    assert found.first_below(0.001) is None


@pytest.mark.parametrize(("lag", "p", "pairs"), [(4, 0.2, 30), (10, 0.05, 100), (10, 0.3, 100)])
def test_limit_covers_the_expectation(lag: int, p: float, pairs: int) -> None:
    """Of 400 sets of pairs the limit is above the true expectation in 95 % of them, or nearly so."""
    rng = np.random.default_rng(1)
    t = np.array([0, 4, 8, 16, 30, 60])
    true = lag_terms(lag + rng.geometric(p, size=200_000), lag, t).mean(axis=1)
    above = [bound(lag + rng.geometric(p, size=pairs), lag, t).upper >= np.minimum(true, 1) for _ in range(400)]
    assert np.all(np.mean(above, axis=0) > 0.9)


@pytest.mark.parametrize(
    ("terms", "level", "students"),
    # much the same for all pairs; a few that are far longer
    [([0] * 20 + [1] * 8 + [2] * 5 + [3] * 2, 0.9, False), ([0] * 3000 + [1] * 300 + [40] * 20, 0.99, True)],
)
def test_limit_is_the_larger_of_two(terms: list[int], level: float, students: bool) -> None:
    """Clopper and Pearson's for the share of positive terms, times their mean and error; Student's for the mean."""
    found = bound(10 + 10 * np.array(terms), 10, [0], level)
    positive = np.array([term for term in terms if term])
    share = stats.binomtest(len(positive), len(terms)).proportion_ci(2 * level - 1, "exact").high
    one = share * (positive.mean() + stats.sem(positive))
    two = stats.t.interval(2 * level - 1, len(terms) - 1, np.mean(terms), stats.sem(terms))[1]
    assert (two > one) == students and max(one, two) < 1
    assert found.upper[0] == pytest.approx(max(one, two), rel=1e-12)
    assert found.estimate[0] == pytest.approx(np.mean(terms), rel=1e-12)


def test_a_limit_at_the_distance_is_small_enough() -> None:
    found = certificates.Bound(np.array([0, 7, 9]), np.zeros(3), np.array([0.5, 0.25, 0.1]))
    assert (found.first_below(0.5), found.first_below(0.25), found.first_below(0.2)) == (0, 7, 9)


LOGS = np.random.default_rng(4).normal(size=(6, 3))
"""Of densities of three items, by six pairs."""
VALUES = np.array(
    [[1.0, 2.0, 0.5], [1.5, -0.4, 1.0], [0.7, 1.0, 2.0], [1.0, 1.0, 1.0], [0.2, 3.0, 1.0], [2.0, 1.0, 0.1]]
)


@pytest.mark.parametrize("shift", [0.0, -900.0, 800.0])
def test_a_weighted_sum_of_densities(shift: float) -> None:
    """Weights of both signs, in an order in which the largest comes first, in the middle or last."""
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]):
        weights, logs = np.array([1.0, -0.3, 2.0, 0.5]), shift + np.array([[300.0], [0.0], [-800.0], [299.0]])
        total = certificates.DensitySum(1)
        for t in order:
            total.add(weights[t], logs[t])
        assert np.log(total.value) + total.log == pytest.approx(logsumexp(logs, axis=0, b=weights[:, None]), rel=1e-12)


@pytest.mark.parametrize("shift", [0.0, -900.0, 800.0])
def test_logarithms_of_means_over_pairs(shift: float) -> None:
    """From the densities themselves, whose means are moderate; a factor common to all adds its logarithm."""
    densities = VALUES * np.exp(LOGS)
    mean, error = certificates.log_of_mean(LOGS + shift, VALUES)
    np.testing.assert_allclose(mean, np.log(densities.mean(axis=0)) + shift, rtol=1e-12)
    np.testing.assert_allclose(error, stats.sem(densities) / densities.mean(axis=0), rtol=1e-10)
    of_all, error_of_all = certificates.log_of_mean_of_items(LOGS + shift, VALUES)
    assert of_all == pytest.approx(np.log(densities.mean(axis=0)).mean() + shift, rel=1e-12)
    left_out = [np.log(np.delete(densities, pair, axis=0).mean(axis=0)).mean() for pair in range(6)]
    assert error_of_all == pytest.approx(np.sqrt(5 / 6 * np.sum((left_out - np.mean(left_out)) ** 2)), rel=1e-10)


def test_a_mean_that_is_not_positive_has_no_logarithm() -> None:
    mean, error = certificates.log_of_mean(np.zeros((2, 2)), np.array([[1.0, 1.0], [-1.0, 2.0]]))
    assert np.isnan([mean[0], error[0]]).all() and mean[1] == pytest.approx(np.log(1.5))


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize(("k", "m"), [(0, 0), (2, 2), (0, 7), (4, 20)])
def test_unbiased_is_the_mean_of_its_definition(lag: int, k: int, m: int) -> None:
    rng = np.random.default_rng(2)
    tau = 17
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    means = []
    for t in range(k, m + 1):
        h, j = x[t].copy(), 1
        while t + j * lag < tau:
            h += x[t + j * lag] - y[t + (j - 1) * lag]
            j += 1
        means.append(h)
    np.testing.assert_allclose(unbiased(x, y, tau, lag, k, m), np.mean(means, axis=0), rtol=1e-12)


def test_unbiased_rejects_an_empty_range() -> None:
    with pytest.raises(ValueError, match="k=3, m=2"):
        unbiased(np.zeros(9), np.zeros(9), 5, 1, 3, 2)
