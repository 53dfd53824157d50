"""Verdicts follow from the samples by their rules, and the exact posterior of K agrees with brute force."""

from dataclasses import replace
from io import StringIO
from itertools import product
from math import exp, factorial, lgamma, log

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from splitmerge_cli.config import ConfigError
from splitmerge_cli.diagnostics import intervals
from splitmerge_cli.diagnostics.intervals import mean_interval, median_interval, share_interval
from splitmerge_cli.papers import claims, declaration
from splitmerge_cli.papers.sdds.exact import mean_K
from splitmerge_cli.papers.verdict_tables import (
    ROOMY,
    UNITS,
    VerdictTable,
    counts,
    expected_errors,
    frame,
    limit_to_quick,
    summarise,
    units_frame,
)
from splitmerge_cli.papers.verdicts import (
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REPRODUCED,
    UNDECIDED,
    Verdict,
    by_bound,
    by_distance,
    by_factor,
    by_majority,
    by_sign,
    exactly,
    untestable,
)

CLAIM = claims.Claim("sdds-fig5", "emm N=100", "rgsm", "split_acceptance", 0.1, "", "", tolerance=2.0)


@pytest.mark.parametrize(
    ("yes", "no", "verdict"),
    [
        (6, 0, REPRODUCED),
        (0, 6, NOT_REPRODUCED),
        (3, 3, UNDECIDED),
        # four of four equal samplers agree with probability 0.06
        (5, 0, UNDECIDED),
        (0, 5, UNDECIDED),
        # shares in [0.35, 0.94] and [0.06, 0.65]: on both sides of one half, though not of one third
        (5, 2, UNDECIDED),
        (2, 5, UNDECIDED),
        (0, 0, UNDECIDED),
    ],
)
def test_majority(yes, no, verdict):
    agrees = np.array([True] * yes + [False] * no)
    result = by_majority(CLAIM, np.where(agrees, 1.0, 0.0), agrees, "rule")
    assert result.verdict == verdict and result.n == yes + no


@pytest.mark.parametrize("above", [0.0, 0.5])
def test_a_tie_is_a_half_and_a_unit_of_several_chains_is_its_mean(above):
    """Equal samplers, whose units of four chains are often two against two, are as often judged better as worse."""
    draw, sets = np.random.default_rng(3), np.repeat(np.arange(110), 4)
    found = []
    for _ in range(100):
        scores = above + draw.choice([-0.5, 0.5], len(sets))
        one, other = (by_majority(CLAIM, x, x, "", units=sets, above=above) for x in (scores, 2 * above - scores))
        opposite = {REPRODUCED: NOT_REPRODUCED, NOT_REPRODUCED: REPRODUCED, UNDECIDED: UNDECIDED}
        assert other.verdict == opposite[one.verdict]
        found.append(one.verdict)
    assert found.count(NOT_REPRODUCED) <= 5 and found.count(REPRODUCED) <= 5
    few = by_majority(CLAIM, np.ones(24), [1, 1, 0, 0] * 6, "rule", units=np.repeat(np.arange(6), 4))
    assert few.verdict == UNDECIDED and few.n == 6 and "in 3 of 6" in few.reason


def test_a_short_run_gives_no_verdict_that_it_favours():
    agrees = np.ones(6, dtype=bool)
    short = (REPRODUCED, "too short")
    assert by_majority(CLAIM, agrees, agrees, "rule", short=short).verdict == UNDECIDED
    assert by_majority(CLAIM, agrees, ~agrees, "rule", short=short).verdict == NOT_REPRODUCED


SCORE = claims.Claim("triadic-table1", "lines", "triadic", "purity", 0.8, "", "", tolerance=0.05)
BOUND = replace(CLAIM, tolerance=1e-3)


@pytest.mark.parametrize(
    ("judge", "claim", "samples", "verdict"),
    [
        (by_factor, CLAIM, [0.09, 0.11, 0.1, 0.1], REPRODUCED),
        (by_factor, CLAIM, [0.061, 0.062, 0.063, 0.061], REPRODUCED),
        # the mean is within, the interval is not
        (by_factor, CLAIM, [0.051, 0.052, 0.049, 0.055], UNDECIDED),
        (by_factor, CLAIM, [0.01, 0.011, 0.012, 0.01], NOT_REPRODUCED),
        (by_factor, CLAIM, [0.5, 0.51, 0.52, 0.5], NOT_REPRODUCED),
        (by_factor, CLAIM, [0.0, 0.9, 0.0, 0.5], UNDECIDED),
        (by_factor, CLAIM, [0.1], UNDECIDED),
        (by_factor, CLAIM, [np.nan, np.nan], UNDECIDED),
        (by_distance, SCORE, [0.81, 0.82, 0.8], REPRODUCED),
        (by_distance, SCORE, [0.9, 0.91, 0.9], NOT_REPRODUCED),
        (by_distance, SCORE, [0.95, 0.8, 0.95], UNDECIDED),
        (by_distance, SCORE, [], UNDECIDED),
        (by_bound, BOUND, [0, 0, 1e-4, 0], REPRODUCED),
        (by_bound, BOUND, [0.1, 0.1, 0.11], NOT_REPRODUCED),
        (by_bound, BOUND, [0, 0.1, 0.1], UNDECIDED),
    ],
)
def test_verdicts_follow_from_samples(judge, claim, samples, verdict):
    result = judge(claim, samples, "reading")
    assert result.verdict == verdict and result.reading == "reading" and result.n == np.isfinite(samples).sum()
    # none is negative, and nor is the interval's end
    assert not (result.low < 0 or result.low > result.ours)


@pytest.mark.parametrize(("yes", "no"), [(3, 0), (4, 2), (0, 2), (9, 5)])
def test_as_many_units_as_are_said_to_be_needed_decide_a_share(yes, no):
    needed = intervals.units_for_share(yes, yes + no)
    share = yes / (yes + no)
    for n, decided in ((needed, True), (needed - 1, False)):
        low, high = share_interval(round(share * n), n)
        assert (low > 0.5 or high < 0.5) == decided
    assert intervals.units_for_share(2, 4) is None and intervals.units_for_share(0, 0) is None


def test_one_verdict_is_counted_and_other_readings_stand_below():
    claim = claims.Claim("sdds-fig5", "emm N=100", "rgsm", "split_acceptance", 0.1, "", "", "as printed", tolerance=2.0)
    other = by_factor(claim, [0.5, 0.5, 0.5], "as defined")
    own = by_factor(claim, [0.1, 0.1, 0.1], "as printed")
    table = frame([other, own], [claim], "quick")
    assert table["counted"].tolist() == [True, False]
    assert table["verdict"].tolist() == [REPRODUCED, NOT_REPRODUCED]
    assert counts([table]).tolist() == [1, 0, 0, 0, 0]
    assert expected_errors(table) == pytest.approx(0.025)
    missing = frame([other], [claim], "quick")
    assert missing["verdict"].tolist() == [UNDECIDED, NOT_REPRODUCED] and missing["counted"].tolist() == [True, False]
    with pytest.raises(ValueError, match="two verdicts"):
        frame([own, own], [claim], "quick")


def test_an_unknown_rule_is_named(tmp_path, monkeypatch):
    (tmp_path / "claims.csv").write_text("id,data,sampler,metric,value,unit,statement\nsdds-fig1,a,b,c,,,d\n")
    (tmp_path / "readings.csv").write_text(
        "id,data,sampler,metric,reading,statistic,rule,tolerance,because\nsdds-fig1,,,,,s,guess,,b\n"
    )
    paper = replace(declaration.paper_of("sdds-fig1"), folder=tmp_path)
    monkeypatch.setattr(claims, "paper_of", lambda figure: paper)
    with pytest.raises(ConfigError, match=r"readings.csv: rule=guess: expected one of exact, "):
        claims.published_claims("sdds-fig1")


def test_a_rule_that_needs_a_tolerance_asks_for_it():
    with pytest.raises(ConfigError, match=r"readings.csv: sdds-fig5: emm N=100, rgsm, split_acceptance: expect"):
        by_factor(replace(CLAIM, tolerance=np.nan), [0.1, 0.1])


def test_splits_that_overlap_have_wider_intervals():
    """Nadeau & Bengio (2003): a variance of 1/n + 0.2/0.8 in the place of 1/n."""
    x = np.array([1.0, 2.0, 4.0, 5.0, 3.0, 3.5])
    mean, low, high = mean_interval(x)
    same, lower, higher = intervals.overlapping_interval(0.2)(x)
    assert same == mean
    assert (mean - lower) / (mean - low) == pytest.approx(np.sqrt((1 / 6 + 0.25) / (1 / 6)))
    assert higher - mean == pytest.approx(mean - lower) and high < higher


def test_the_jackknife_of_a_mean_is_the_t_interval():
    x = np.array([1.0, 2.0, 4.0, 5.0])
    whole, without = intervals.leave_one_out(lambda kept: float(x[kept].mean()), 4)
    assert intervals.jackknife_interval(whole, without) == pytest.approx(mean_interval(x))
    assert np.isnan(intervals.jackknife_interval(*intervals.leave_one_out(lambda kept: float(x[kept].mean()), 2))[1])


def test_the_jackknife_of_an_rhat_stays_above_1():
    """On the raw scale this interval reaches below 1, where no R-hat is."""
    whole, without = 2.2, np.array([1.4, 2.3, 2.6, 2.5])
    assert intervals.jackknife_interval(whole, without)[1] < 1
    centre, low, high = intervals.jackknife_interval(whole, without, intervals.excess_interval)
    assert centre == whole and 1 < low < whole < high


def test_reasons_of_what_more_data_may_decide():
    few = by_majority(CLAIM, [1, 1, 0], [True, True, False], "rule")
    other = untestable(CLAIM, [1.0], "another machine")
    assert few.verdict == UNDECIDED and few.explanation.startswith("rule in 2 of 3 data sets (share in [")
    assert few.explanation.endswith(f"; some {few.needed} data sets would decide it")
    assert other.explanation == "another machine" and other.verdict == NOT_TESTABLE


def test_by_factor_takes_the_median_of_times():
    times = [0.1] * 9 + [100.0]
    assert by_factor(CLAIM, times).verdict != REPRODUCED
    assert by_factor(CLAIM, times, summary=median_interval).verdict == REPRODUCED


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_a_terminal_cuts_no_number_and_no_verdict(width):
    claim = claims.Claim(
        "sdds-fig5", "emm N=500 K0=10", "rgsm/sdds", "exact_posterior_mean_K", 488.63, "ms", "", "move and [full] scan"
    )
    verdict = Verdict(claim, "move and [full] scan", 0.001234, 0.001012, 0.002023, 6, NOT_REPRODUCED, "why")
    console = Console(width=width, file=StringIO())
    console.print(VerdictTable(frame([verdict], [claim], "quick")))
    text = console.file.getvalue()
    assert "…" not in text and "[full]" in text
    assert all(word in text for word in ("488.6 ms", "0.001234 ms", "not reproduced"))
    assert ("[0.001012, 0.002023]" in text) == (width >= ROOMY)


def test_a_summary_counts_all_claims_and_lists_the_doubtful_ones() -> None:
    texts = [claims.Claim("f-1", f"set {k}", "sdds", "mean_K", 10.0, "ms", f"sentence {k}") for k in range(9)]
    kinds = [REPRODUCED, UNDECIDED, NOT_REPRODUCED, *[UNDECIDED] * 5, NOT_TESTABLE]
    verdicts = [Verdict(claim, "", 12.0, 11.0, 13.0, 6, kind, "why") for claim, kind in zip(texts, kinds, strict=True)]
    other = Verdict(texts[0], "another reading", 99.0, 98.0, 100.0, 6, NOT_REPRODUCED, "why")
    lines = summarise(frame([*verdicts, other], texts, "quick"), "Figure 1 of A 2020, quick scale")
    assert lines[:2] == [
        "Figure 1 of A 2020, quick scale",
        "9 claims: 1 reproduced, 1 not reproduced, 6 undecided, 1 not testable (paper scale decides more)",
    ]
    assert lines[2:5] == [
        "not reproduced  set 2, sdds: mean K",
        "                paper 10 ms   here 12 ms [11, 13], 6 data sets",
        "                sentence 2",
    ]
    # the four undecided ones that fit, in order, and how many do not
    assert [line for line in lines if line.startswith("undecided")] == [
        f"undecided       set {k}, sdds: mean K" for k in (1, 3, 4, 5)
    ]
    assert lines[-1] == "                ... 2 more (--all lists them)" and "99" not in "".join(lines)
    one = summarise(frame(verdicts[:1], texts[:1], "quick"), "t")
    assert one == ["t", "1 claim: 1 reproduced"]
    exact = Verdict(texts[2], "", 12.0, np.nan, np.nan, 0, NOT_REPRODUCED, "why")
    assert summarise(frame([exact], texts[2:3], "paper"), "t")[1:4] == [
        "1 claim: 1 not reproduced",
        "not reproduced  set 2, sdds: mean K",
        "                paper 10 ms   here 12 ms, exact",
    ]


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ([1.0, 1.1, 0.9], [2.0, 2.1, 1.9], REPRODUCED),
        ([1.0, 1.1, 0.9], [-2.0, -2.1, -1.9], NOT_REPRODUCED),
        ([1.0, 1.1, 0.9], [-1.0, 1.1, 0.2], UNDECIDED),
        ([1.0], [1.0], UNDECIDED),
    ],
)
def test_signs_of_paired_differences(first, second, verdict):
    result = by_sign(SCORE, {"a - b": first, "b - c": second})
    assert result.verdict == verdict and result.n == len(first)
    assert result.ours == min(np.mean(first), np.mean(second))
    assert "a - b" in result.reason and f"paired over {len(first)} data sets" in result.reason


def test_exact_values():
    printed = replace(CLAIM, tolerance=0.0005)
    assert exactly(printed, 0.1004).verdict == REPRODUCED
    assert exactly(printed, 0.101).verdict == NOT_REPRODUCED


@pytest.mark.parametrize("n", [6, 10, 20])
def test_median_interval_covers_as_promised(n):
    rng = np.random.default_rng(n)
    samples = rng.exponential(size=(4000, n))
    bounds = np.array([median_interval(row)[1:] for row in samples])
    covered = (bounds[:, 0] <= log(2)) & (log(2) <= bounds[:, 1])
    assert covered.mean() > 0.94
    assert np.isnan(median_interval(samples[0][:5])[1])


def test_means_of_units_are_over_what_is_finite():
    samples, units = [1.0, 2.0, 6.0, np.nan, 5.0, np.inf], ["b", "b", "b", "b", "a", "c"]
    assert intervals.by_unit(samples, units).tolist() == [5.0, 3.0]
    assert intervals.by_unit(samples, None).tolist() == [1.0, 2.0, 6.0, 5.0]


@pytest.mark.parametrize(
    ("of", "samples", "least", "most"),
    [
        (mean_interval, [1.0, 2.0, 4.0, 5.0], 1.0, np.inf),
        (mean_interval, [1.0, 2.0, 4.0, 5.0], 2.2, 30.0),
        (intervals.geometric_interval, [1.0, 2.0, 8.0, 30.0], 1.5, 60.0),
        (intervals.excess_interval, [1.01, 1.1, 1.3, 2.0], -np.inf, 1.2),
        (intervals.overlapping_interval(0.2), [1.0, 2.0, 4.0, 5.0, 2.0, 4.0], 0.5, np.inf),
    ],
)
def test_needed_is_the_smallest_number_that_decides(of, samples, least, most):
    """With the same centre and spread on the scale: m units decide, m - 1 do not."""
    n = len(samples)
    m = of.units_needed(of(samples), n, least, most)
    assert m > n
    y = of.to_scale(np.array(samples))
    centre, gap = y.mean(), min(abs(y.mean() - of.to_scale(end)) for end in (least, most) if np.isfinite(end))
    for units, decides in ((m, True), (m - 1, False)):
        half = stats.t.ppf(0.975, units - 1) * y.std(ddof=1) * np.sqrt(1 / units + of.floor)
        assert (half <= gap) == decides, (units, centre)


def test_no_number_of_overlapping_splits_takes_their_overlap_away():
    of, samples = intervals.overlapping_interval(0.2), [-1.0, 2.0, 0.5, 3.0, -0.5, 1.0]
    assert of.units_needed(of(samples), 6, 0.0, np.inf) == np.inf
    assert mean_interval.units_needed(mean_interval(samples), 6, 0.0, np.inf) < 30


def test_units_that_cannot_be_had_are_not_asked_for():
    few = by_distance(SCORE, [0.95, 0.8, 0.93, 0.7], unit="data sets")
    all_there_are = by_distance(SCORE, [0.7, 0.99] * 50, unit="published data sets")
    assert few.verdict == all_there_are.verdict == UNDECIDED
    assert np.isfinite(few.needed) and all_there_are.needed == np.inf
    assert all_there_are.explanation.endswith("; cannot be decided by this design (only 100 published data sets)")
    table = frame([replace(all_there_are, reading=SCORE.reading)], [SCORE], "quick")
    assert table["needed"].tolist() == [np.inf]


def test_the_units_of_a_verdict_are_named():
    rows = units_frame([by_factor(CLAIM, [0.2, 0.4, 0.1, 0.1], units=["b", "b", "a", "a"])])
    assert list(rows) == list(UNITS)
    assert rows[["unit", "value", "interval", "of"]].to_numpy().tolist() == [
        ["a", 0.1, "mean", "data sets"],
        ["b", pytest.approx(0.3), "mean", "data sets"],
    ]


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


def test_quick_scale_gives_no_verdict_from_other_data_short_series_or_no_run():
    claim = replace(CLAIM, metric="autocorrelation_time_trace", value=100.0, unit="iterations")
    texts = [claim, replace(claim, data="b"), replace(claim, data="c"), replace(claim, data="d", metric="rate")]
    found = [
        by_factor(claim, [99.0, 100.0, 101.0]),
        replace(by_factor(texts[1], [100.0, 101.0, 102.0]), on="generated"),
    ]
    found.append(by_factor(texts[3], [100.0, 101.0, 102.0]))
    table = frame(found, texts, "quick")
    assert limit_to_quick(table, 5000)["verdict"].tolist() == [REPRODUCED, NOT_TESTABLE, NOT_TESTABLE, REPRODUCED]
    short = limit_to_quick(table, 4999)
    assert short["verdict"].tolist() == [NOT_TESTABLE, NOT_TESTABLE, NOT_TESTABLE, REPRODUCED]
    lines = summarise(short, "t")
    assert lines[1] == "4 claims: 1 reproduced, 3 not testable; 3 not testable at quick scale" and len(lines) == 2
    # a comparison across papers claims nothing
    assert limit_to_quick(frame([], [], "quick"), 5000).empty
