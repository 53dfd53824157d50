"""The bound of the total variation distance and the unbiased estimates, from given meeting times and values."""

import numpy as np
import pytest

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
