"""Verdicts follow from the samples by their rules, and the exact posterior of K agrees with brute force."""

from io import StringIO
from itertools import product
from math import exp, factorial, lgamma, log

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from splitmerge_cli.papers import claims
from splitmerge_cli.papers.experiments import list_figures
from splitmerge_cli.papers.sdds.posterior import mean_K

CLAIM = claims.Claim("sdds-fig5", "emm N=100", "rgsm", "split_acceptance", 0.1, "", "")


def test_every_claim_belongs_to_a_figure_and_every_figure_has_claims():
    names = [name for name, _ in list_figures()]
    counts = {name: len(claims.published(name)) for name in names}
    assert all(counts.values()), counts
    with pytest.raises(StopIteration):
        next(iter(claims.published("sdds-fig99")))


def test_published_values_are_numbers_or_words():
    values = {c.metric: c.value for c in claims.published("sdds-fig1") + claims.published("sdds-table1")}
    assert values["allocation_probability_step_4"] == 0.714
    assert np.isnan(values["smart_split_prefers_AA_BB"])


@pytest.mark.parametrize(
    ("yes", "no", "verdict"),
    [
        (6, 0, claims.REPRODUCED),
        (0, 6, claims.NOT_REPRODUCED),
        (3, 3, claims.NOT_TESTABLE),
        # shares in [0.35, 0.94] and [0.06, 0.65]: on both sides of one half, though not of one third
        (5, 2, claims.NOT_TESTABLE),
        (2, 5, claims.NOT_TESTABLE),
        (0, 0, claims.NOT_TESTABLE),
    ],
)
def test_majority(yes, no, verdict):
    agrees = np.array([True] * yes + [False] * no)
    result = claims.by_majority(CLAIM, np.where(agrees, 1.0, 0.0), agrees, "rule")
    assert result.verdict == verdict and result.chains == yes + no


def test_a_short_run_gives_no_verdict_that_it_favours():
    agrees = np.ones(6, dtype=bool)
    short = (claims.REPRODUCED, "too short")
    assert claims.by_majority(CLAIM, agrees, agrees, "rule", short=short).verdict == claims.NOT_TESTABLE
    assert claims.by_majority(CLAIM, agrees, ~agrees, "rule", short=short).verdict == claims.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        ([0.09, 0.11, 0.1, 0.1], claims.REPRODUCED),
        ([0.051, 0.052, 0.053, 0.051], claims.REPRODUCED),
        ([0.01, 0.011, 0.012, 0.01], claims.NOT_REPRODUCED),
        ([0.5, 0.51, 0.52, 0.5], claims.NOT_REPRODUCED),
        ([0.0, 0.9, 0.0, 0.5], claims.NOT_TESTABLE),
        ([np.nan, np.nan], claims.NOT_TESTABLE),
    ],
)
def test_factor(samples, verdict):
    assert claims.by_factor(CLAIM, samples).verdict == verdict


def test_reasons_of_what_a_longer_run_may_decide():
    few = claims.by_majority(CLAIM, [1, 0], [True, False], "rule")
    other = claims.untestable(CLAIM, [1.0], "another machine")
    reasons = claims.frame([few, other], "quick")["reason"].tolist()
    assert reasons[0].startswith("undecided at this scale: run --scale paper; rule in 1 of 2") and few.undecided
    assert reasons[1] == "another machine"
    assert claims.frame([few], "paper")["reason"].tolist() == [few.reason]


def test_by_factor_takes_the_median_of_times():
    times = [0.1, 0.1, 0.1, 0.1, 0.1, 100.0]
    assert claims.by_factor(CLAIM, times).verdict != claims.REPRODUCED
    assert claims.by_factor(CLAIM, times, summary=claims.median_interval).verdict == claims.REPRODUCED


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_a_terminal_cuts_no_number_and_no_verdict(width):
    claim = claims.Claim("sdds-fig5", "emm N=500 K0=10", "rgsm/sdds", "exact_posterior_mean_K", 488.63, "ms", "")
    verdict = claims.Verdict(
        claim, "move and [full] scan", 0.001234, 0.001012, 0.002023, 6, claims.NOT_REPRODUCED, "why"
    )
    console = Console(width=width, file=StringIO())
    console.print(claims.table(claims.frame([verdict], "quick")))
    text = console.file.getvalue()
    assert "…" not in text and "[full]" in text
    assert all(word in text for word in ("488.6 ms", "0.001234 ms", "not reproduced"))
    assert ("[0.001012, 0.002023]" in text) == (width >= claims.ROOMY)


SCORE = claims.Claim("triadic-table1", "lines", "triadic", "purity", 0.8, "", "")


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        ([0.84, 0.82, 0.83], claims.REPRODUCED),
        ([0.9, 0.91, 0.9], claims.NOT_REPRODUCED),
        ([0.95, 0.8, 0.95], claims.NOT_TESTABLE),
        ([], claims.NOT_TESTABLE),
    ],
)
def test_scores_within_a_distance(samples, verdict):
    result = claims.by_distance(SCORE, samples, 12, "reading")
    assert result.verdict == verdict and result.reading == "reading"
    assert result.undecided == (verdict == claims.NOT_TESTABLE)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ([1.0, 1.1, 0.9], [2.0, 2.1, 1.9], claims.REPRODUCED),
        ([1.0, 1.1, 0.9], [-2.0, -2.1, -1.9], claims.NOT_REPRODUCED),
        ([1.0, 1.1, 0.9], [-1.0, 1.1, 0.2], claims.NOT_TESTABLE),
        ([1.0], [1.0], claims.NOT_TESTABLE),
    ],
)
def test_signs_of_paired_differences(first, second, verdict):
    result = claims.by_sign(SCORE, {"a - b": first, "b - c": second}, 6)
    assert result.verdict == verdict and result.chains == 6
    assert result.ours == min(np.mean(first), np.mean(second))
    assert "a - b" in result.reason and f"paired over {len(first)} data sets" in result.reason


def test_bound_and_exact_values():
    assert claims.by_bound(CLAIM, [0, 0, 1e-4], 1e-3).verdict == claims.REPRODUCED
    assert claims.by_bound(CLAIM, [0, 0.1, 0.1], 1e-3).verdict == claims.NOT_REPRODUCED
    assert claims.exactly(CLAIM, 0.1004, 0.0005).verdict == claims.REPRODUCED
    assert claims.exactly(CLAIM, 0.101, 0.0005).verdict == claims.NOT_REPRODUCED


def test_mean_interval_is_students():
    x = np.array([1.0, 2.0, 4.0, 5.0])
    mean, low, high = claims.mean_interval(x)
    expected = stats.t.interval(0.95, 3, loc=3.0, scale=stats.sem(x))
    assert (mean, low, high) == pytest.approx((3.0, *expected))
    assert np.isnan(claims.mean_interval([1.0])[1])


@pytest.mark.parametrize("n", [6, 10, 20])
def test_median_interval_covers_as_promised(n):
    rng = np.random.default_rng(n)
    samples = rng.exponential(size=(4000, n))
    bounds = np.array([claims.median_interval(row)[1:] for row in samples])
    covered = (bounds[:, 0] <= log(2)) & (log(2) <= bounds[:, 1])
    assert covered.mean() > 0.94
    assert np.isnan(claims.median_interval(samples[0][:5])[1])


def test_share_interval():
    assert claims.share_interval(0, 8)[0] == 0 and claims.share_interval(8, 8)[1] == 1
    low, high = claims.share_interval(3, 10)
    assert (low, high) == pytest.approx(tuple(stats.beta.ppf([0.025, 0.975], 3.5, 7.5)))


def brute_mean_K(tokens, n_tokens, kmax, mu, sigma, power, alpha=1e-9):
    """E[K] by summing over all assignments, g from its definition at a tiny alpha; `power(K)` scales the target."""
    weights = np.zeros(kmax + 1)
    for K in range(1, kmax + 1):
        prior = exp(-((log(K) - mu) ** 2) / (2 * sigma**2)) / K * K ** -len(tokens) * power(K)
        for labels in product(range(K), repeat=len(tokens)):
            log_g = 0.0
            for k in set(labels):
                inside = [t for t, label in zip(tokens, labels, strict=True) if label == k]
                counts = [inside.count(t) for t in set(inside)]
                log_g += sum(lgamma(alpha + c) - lgamma(alpha) for c in counts)
                log_g += lgamma(n_tokens * alpha) - lgamma(n_tokens * alpha + len(inside))
            weights[K] += prior * exp(log_g)
    return (np.arange(kmax + 1) * weights).sum() / weights.sum()


@pytest.mark.parametrize(
    ("labels", "power"),
    [
        ("labelled", lambda K: 1.0),
        ("partition", lambda K: 1 / factorial(K)),
        ("as_printed", lambda K: 2**K / factorial(K)),
    ],
)
def test_exact_mean_of_K_against_all_assignments(labels, power):
    exact = mean_K(5, entities=2, n_tokens=3, kmax=5, mu=1.0, sigma=0.8, label_prior=labels)
    assert exact == pytest.approx(brute_mean_K([0, 0, 0, 1, 1], 3, 5, 1.0, 0.8, power), rel=1e-6)


def test_the_correct_posterior_is_not_ten():
    """The model as defined has not the E[K] = 10 that the paper takes for its posterior; the printed ratios have."""
    settings = {"entities": 10, "n_tokens": 10, "kmax": 100, "mu": log(10), "sigma": 1.0}
    assert [round(mean_K(N, **settings), 1) for N in (100, 200, 500)] == [62.7, 61.2, 22.7]
    assert [round(mean_K(N, label_prior="as_printed", **settings), 2) for N in (100, 200, 500)] == [10.07, 10.01, 10.0]
