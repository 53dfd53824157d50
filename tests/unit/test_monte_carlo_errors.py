"""Monte Carlo errors are what the means of repeated samples differ by."""

import arviz_stats
import numpy as np
import pytest

from splitmerge_cli.diagnostics import monte_carlo_errors
from splitmerge_cli.diagnostics.monte_carlo_errors import FEWEST, mean_error, quantile_error, report_errors

PARTITIONS = np.array([[0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 2], [0, 0, 1, 1, 1, 1]], dtype=np.int32)
SHARES = (0.6, 0.3, 0.1)
"""Posterior probabilities of these partitions."""
REPEATS = 300


def autoregressive(rng: np.random.Generator, chains: int, draws: int, rho: float) -> np.ndarray:
    x = rng.normal(size=(chains, draws))
    for t in range(1, draws):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * x[:, t]
    return x


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_means_of_repeated_samples_differ_by_their_error(rho: float) -> None:
    rng = np.random.default_rng(3)
    samples = [autoregressive(rng, 4, 400, rho) for _ in range(REPEATS)]
    spread = np.sqrt(np.mean([x.mean() ** 2 for x in samples]))
    assert np.sqrt(np.mean([mean_error(x) ** 2 for x in samples])) == pytest.approx(spread, rel=0.12)
    assert mean_error(samples[0]) == pytest.approx(float(arviz_stats.mcse(samples[0])), rel=0.02)


def test_the_error_of_a_quantile_is_that_of_its_probability() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(4, 1000))
    known = float(arviz_stats.mcse(x, method="quantile", prob=0.025))
    assert quantile_error(x, 0.025) == pytest.approx(known, rel=0.15)
    # of whole numbers: either end of the step
    counts = np.where(rng.random((4, 100)) < 0.025, 2.0, 3.0)
    assert quantile_error(counts, 0.025) == 0.5
    assert quantile_error(counts, 0.975) == quantile_error(np.full((4, 100), 3.0), 0.025) == 0.0


def test_what_is_reported_differs_by_its_error() -> None:
    """Independent draws from three partitions have known certainties and a known mean number of clusters."""
    rng = np.random.default_rng(5)
    actual, stated = [], []
    for _ in range(REPEATS):
        which = rng.choice(3, p=SHARES, size=(4, 60))
        drawn = PARTITIONS[which]
        counts = drawn.max(axis=2) + 1.0
        rows = {name: value for name, _, value, _ in report_errors(counts, dict(enumerate(drawn)))}
        share = np.bincount(which.ravel(), minlength=3) / which.size - SHARES
        # certainties of the first partition, the most central: items 2, 3 and 4 join others together; of five clusters
        # and fewer the error is a share of five
        together = np.array([[1, 0.5, 0.5], [1, 0.5, 0.5], [1, 0, 0], [1, 1, 1], [1, 1, 1], [1, 1, 0]]) @ share
        actual.append((np.mean(together**2), (share[2] / 5) ** 2))
        stated.append((rows["mcse/certainty"] ** 2, rows["mcse/n_clusters"] ** 2))
    assert np.sqrt(np.mean(stated, axis=0)) == pytest.approx(np.sqrt(np.mean(actual, axis=0)), rel=0.1)


def test_chains_in_different_partitions_have_a_large_error() -> None:
    """A chain that keeps its partition has one draw, not as many as it records."""
    drawn = dict(enumerate(np.repeat(PARTITIONS[[0, 0, 1, 1], None], 50, axis=1)))
    rows = dict(row[:1] + row[2:3] for row in report_errors(np.full((4, 50), 3.0), drawn))
    assert rows["mcse/n_clusters"] == rows["mcse/interval_low"] == 0
    assert rows["mcse/certainty"] > 0.1 and rows["mcse/expected_loss"] > 0.1


def test_too_few_draws_have_no_error() -> None:
    assert report_errors(np.full((4, 3), 2.0), {}) == []
    few = dict(enumerate(np.repeat(PARTITIONS[[0, 1], None], FEWEST - 1, axis=1)))
    rows = dict(row[:1] + row[2:3] for row in report_errors(np.full((2, 50), 3.0), few))
    assert np.isnan(rows["mcse/certainty"]) and rows["mcse/n_clusters"] == 0
    assert set(rows) == {
        f"mcse/{x}" for x in ("n_clusters", "interval_low", "interval_high", "expected_loss", "certainty")
    }
    assert len(report_errors(np.full((2, 50), 3.0), {})) == 3


def test_of_many_items_errors_are_those_of_more_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where fewer partitions are kept, no longer chain has more of them."""
    drawn = dict(enumerate(PARTITIONS[np.random.default_rng(6).choice(3, p=SHARES, size=(4, 25))]))
    whole = report_errors(np.full((4, 25), 3.0), drawn)
    monkeypatch.setattr(monte_carlo_errors, "most_partitions", lambda N: 25)
    few = report_errors(np.full((4, 25), 3.0), drawn)
    assert [row[2] for row in few[-2:]] == pytest.approx([row[2] / 2 for row in whole[-2:]])
    assert {type(row[2]) for row in (*few, *whole)} == {float}  # NumPy's numbers make bools that no JSON takes
    assert few[-1][3] == "as for 400 partitions: 100 are kept with so many items" and whole[-1][3] is None
