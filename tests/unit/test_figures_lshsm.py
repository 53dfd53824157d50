"""Figures and the table of Luo & Shrivastava 2018: which runs, who leads whom, what is scored, what is drawn."""

from types import SimpleNamespace

import numpy as np
import pytest
from figure_runs import draw, make_runs, options

from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.papers import claims
from splitmerge_cli.papers.drawing import Climb
from splitmerge_cli.papers.lshsm import runs as lshsm_runs
from splitmerge_cli.papers.lshsm import table as lshsm_table
from splitmerge_cli.papers.lshsm.runs import Climbs, Lead, lead
from splitmerge_cli.papers.verdicts import NOT_TESTABLE, REPRODUCED, UNDECIDED

pytestmark = pytest.mark.usefixtures("coarse_pictures")

SHORT = {"budget": 600, "iterations": 40, "thin": 1}
"""Runs end by a number of iterations, not by their time."""


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory):
    """The runs of Figure 1 on S1, two data sets."""
    out = tmp_path_factory.mktemp("results")
    jobs = [j for j in options("lshsm-fig1", "quick", out) if j["seed"] in "01" and j["data"] == "s1"]
    return make_runs(jobs, **SHORT, N=60)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The runs of Figure 3 on generated data in place of the published ones."""
    out = tmp_path_factory.mktemp("results")
    return make_runs(options("lshsm-fig3", "quick", out, stand_in=True), **SHORT, N=80)


# which runs


# who leads


def climb(*log_joint: float, every: float = 1.0) -> Climb:
    """A chain that records every iteration, each of so many seconds."""
    n = np.arange(len(log_joint), dtype=float)
    x = np.array(log_joint, dtype=float)
    return Climb(n, every * n, x, x)


FAST, SLOW = climb(0, 5, 10, 10, every=3.0), climb(0, 2, 4, 8, 10)
NEVER, STUCK = climb(0, 1, 2, 3, 4), climb(0, 0, 0)
LEADS = {
    "fewer iterations": (FAST, SLOW, "iteration", (2, True, False, False)),
    "but more seconds": (FAST, SLOW, "seconds", (4 / 6, False, False, False)),
    "one that never reaches the level counts with all its time": (
        *(climb(0, 10), NEVER, "iteration"),
        (4, True, True, False),
    ),
    "so it is behind": (NEVER, climb(0, 10), "iteration", (0.25, False, True, False)),
    "it made less than the other needed: the bound is no lead": (
        *(climb(0, 1, 1, 10), climb(0, 0), "iteration"),
        (1, True, True, False),
    ),
    "a start that nobody improves on is no race": (climb(10, 9), SLOW, "seconds", (np.nan, False, True, True)),
    # 98 % of 4: at iterations 2 and 3
    "where neither reaches it the level is what both reach": (
        *(climb(0, 3, 4), climb(0, 1, 2, 9), "iteration"),
        (1.5, True, False, True),
    ),
    "one that never leaves its start is behind": (climb(0, 3, 4), STUCK, "iteration", (2, True, True, True)),
    "nor does the other": (STUCK, STUCK, "iteration", (np.nan, False, True, True)),
}
"""Two chains, an axis, and the ratio, who is ahead, whether it is a bound, whether the level is lower than 10."""


@pytest.mark.parametrize("case", LEADS)
def test_who_leads(case):
    first, second, axis, expected = LEADS[case]
    found = lead(first, second, 10, axis)
    told = [found.ratio, found.ahead, float(found.bound), float(found.lower)]
    assert told == pytest.approx([float(value) for value in expected], nan_ok=True)


def test_level_is_that_of_the_best_of_all_starts(synthetic):
    climbs = Climbs(synthetic)
    for data, seed in (("S1", 0), ("S1", 1)):
        own = [r for r in synthetic if lshsm_runs.data_of(r) == data and r.config["seed"] == seed]
        best = max(r.trace()["log_joint"].max() for r in own)
        first = next(r for r in own if r.config["init"] == "one_cluster").trace()["log_joint"].iloc[0]
        level = climbs.level(data, "one_cluster", seed)
        assert level == pytest.approx(best - lshsm_runs.TOLERANCE * (best - first))


def test_ratios_are_judged_by_their_geometric_mean():
    claim = claims.Claim("lshsm-fig2", "S1", "lshsm", "times_faster", 5.0, "", "", tolerance=2.0)
    leads = [Lead(3.6, True, False, True), Lead(4.4, True, True, False), Lead(np.nan, False, True, True)]
    verdict = lshsm_runs.judge_ratio(claim, leads, "from one cluster")
    # two data sets: the interval of their mean is far wider than a factor 2
    assert verdict.ours == pytest.approx(np.sqrt(3.6 * 4.4)) and verdict.verdict == UNDECIDED and verdict.needed > 2
    more = lshsm_runs.judge_ratio(claim, [Lead(3.6, True, False, True), Lead(4.4, True, True, False)] * 4, "")
    assert more.verdict == REPRODUCED
    assert (
        "over 2 data sets; on 1 neither reached it" in verdict.reason and "1 of the ratios are bounds" in verdict.reason
    )
    none = lshsm_runs.judge_ratio(claim, leads[2:], "from one cluster")
    assert none.verdict == UNDECIDED and "left its start" in none.reason


# figures


def test_fig1_and_fig2_judge_every_claim_from_both_starts(synthetic):
    with use_style():
        fig1, fig2 = lshsm_runs.fig1(synthetic), lshsm_runs.fig2(synthetic)
    for drawing, name in ((fig1, "lshsm-fig1"), (fig2, "lshsm-fig2")):
        judged = {(v.claim.data, v.claim.metric, v.claim.sampler) for v in drawing.verdicts}
        assert judged == {(c.data, c.metric, c.sampler) for c in claims.published_claims(name) if c.data == "S1"}
        assert {v.reading.partition(",")[0] for v in drawing.verdicts} == set(lshsm_runs.STARTS.values())
        assert "coins" in drawing.notes
    assert set(fig1.plotted["method"]) == set(lshsm_runs.METHODS) - {"gibbs"}
    # coins leave one cluster in no form
    stuck = fig1.plotted.query("method == 'sums' and start == 'one_cluster'")
    assert stuck.groupby("data")["median"].nunique().tolist() == [1]
    # seen from the best state of each data set
    assert fig1.plotted["median"].max() < 100 and (fig1.plotted["chains"] == 2).all()


def test_fig3_says_what_stands_for_what(large):
    drawing = draw(lshsm_runs.fig3, large)
    rows = " ".join(ax.get_ylabel() for ax in drawing.figure.axes)
    assert "kdd_like (N = 80)\nfor KDDCUP04Bio" in rows and "generated (N = 80)\nfor PubMed" in rows
    judged = {(v.claim.data, v.claim.metric, v.claim.sampler) for v in drawing.verdicts}
    assert judged == {(c.data, c.metric, c.sampler) for c in claims.published_claims("lshsm-fig3")}
    times = [v for v in drawing.verdicts if v.claim.metric == "time_to_converge"]
    assert all(v.verdict == NOT_TESTABLE and "another" not in v.reason and "other data" in v.reason for v in times)
    assert set(drawing.plotted["axis"]) == {"iteration", "seconds"}


def test_fig3_gives_the_numbers_of_what_stands_in_where_a_chain_leads(large):
    climbs = Climbs([])
    for method, chain in {"sums": climb(0, 10), "sdds": climb(0, 1, 2, 10), "rgsm": climb(0, 0, 1, 2, 10)}.items():
        climbs.chains["KDDCUP04Bio", "singletons", method] = {0: chain}
    climbs.best["KDDCUP04Bio", 0] = 10.0
    verdicts = lshsm_runs._fig3_verdicts(climbs, large)
    faster = next(v for v in verdicts if v.claim.metric == "times_faster" and v.claim.data == "KDDCUP04Bio")
    assert faster.ours == pytest.approx(3) and faster.is_counted and faster.verdict == NOT_TESTABLE
    assert faster.claim in claims.published_claims("lshsm-fig3")


def test_nmi_is_by_the_geometric_mean():
    # I = H(one) = log 2, the other has entropy log 4
    assert lshsm_table.geometric_nmi([0, 0, 1, 1], [0, 1, 2, 3]) == pytest.approx(
        np.log(2) / np.sqrt(np.log(2) * np.log(4))
    )


def test_table1_scores_what_has_labels(synthetic, large):
    drawing = draw(lshsm_table.table1, [*synthetic, *large])
    words = [t.get_text() for t in drawing.figure.axes[0].texts]
    assert "0.96 / 0.95" in words and words.count("–") >= 2 * 9 and "LSHSM as printed" in words
    assert set(drawing.plotted["data"]) == {"S1", "kdd_like", "ohsumed23"}
    without = [v for v in drawing.verdicts if v.claim.data in lshsm_table.NO_LABELS]
    assert len(without) == 12 and all(np.isnan(v.ours) and v.verdict == NOT_TESTABLE for v in without)
    assert all("no run" not in v.reason for v in without)
    run = next(r for r in synthetic if lshsm_runs.method_of(r) == "sams")
    row = lshsm_table.scores([run]).iloc[0]
    assert row["accuracy"] == run.summary["diagnostics"]["accuracy/best"] and row["data"] == "S1"
    # geometric means are never above the arithmetic ones
    assert row["nmi"] >= run.summary["diagnostics"]["nmi/best"] - 1e-12


def test_speed_compares_in_every_cell(tmp_path):
    jobs = [j for j in options("lshsm-speed", "quick", tmp_path) if j["data.D"] == "5"]
    small, larger = (
        make_runs([j for j in jobs if j["N"] == n], **SHORT, N=m) for n, m in (("1000", 40), ("10000", 80))
    )
    drawing = draw(lshsm_table.speed, [*small, *larger])
    assert len(drawing.plotted) == 2 * 2 * 4 and set(drawing.plotted["N"]) == {40, 80}
    assert {v.claim.metric for v in drawing.verdicts} == {c.metric for c in claims.published_claims("lshsm-speed")}
    assert any(v.reading == "against SAMS, from singletons" for v in drawing.verdicts)
    assert "LSHSM reaches the level first" in drawing.notes


def run_of(data: str, start: str, iterations: int, share: float, seed: int = 0) -> SimpleNamespace:
    """Return a summary with a cache, as a figure reads it."""
    config = {"data": {"name": data, "seed": seed}, "init": start, "K0": 20}
    config["sampler"] = {"name": "lshsm", "mode": "as_printed", "proposal": "sums", "cache": 1 << 20}
    counts = {"looked_up": [1000], "served": [int(1000 * share)], "pairs": [10]}
    return SimpleNamespace(config=config, summary={"N": 200, "iterations": [iterations], "cache": counts})


def test_cache_is_shown_against_iterations():
    runs = [run_of("kdd_like", "random", t, s) for t, s in ((100, 0.5), (1000, 0.9))]
    runs += [run_of("kdd_like", "singletons", 100, 0.2, seed=lshsm_runs.STOOD_IN)]
    drawing = draw(lshsm_table.cache, runs)
    assert drawing.plotted["share"].tolist() == [0.5, 0.9, 0.2]
    kdd, pubmed = drawing.verdicts
    assert kdd.ours == 0.9 and "by iteration 1,000" in kdd.reason and kdd.reading == "from random clusters"
    assert pubmed.ours == 0.2 and "below the published share" in pubmed.reason
    assert all(v.verdict == NOT_TESTABLE for v in drawing.verdicts)
    assert [ax.get_title(loc="left") for ax in drawing.figure.axes] == [
        "kdd_like for KDDCUP04Bio",
        "generated, for PubMed",
    ]
