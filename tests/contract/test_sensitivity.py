"""How verdicts depend on settings: the list is complete, the file is what it says, the page shows both."""

import csv
from fnmatch import fnmatchcase

import measure_sensitivity as measure
import numpy as np
import pandas as pd
import pytest
import yaml

from splitmerge_cli.diagnostics import mixing
from splitmerge_cli.papers import claims, declaration, verdicts

LISTED = yaml.safe_load(measure.LISTED.read_text(encoding="utf-8"))
ROWS = LISTED["settings"]
PAPERS = {paper.key: paper for paper in declaration.papers()}


def test_every_setting_that_was_not_measured_is_listed_with_values_or_a_reason() -> None:
    listed = {(row["paper"], row["setting"]) for row in ROWS}
    for key, paper in PAPERS.items():
        table = claims.settings(paper)
        missing = table.loc[table["sensitivity"].str.contains("not measured"), "setting"]
        assert {(key, name) for name in missing} <= listed
    for row in ROWS:
        ways = {"values", "variants", "readings", "editions", "reason"} & row.keys()
        assert len(ways) == 1, row
        assert "reason" in row or set(row["figures"]) <= set(declaration.figures()), row


def test_the_file_has_nothing_but_what_the_list_says() -> None:
    with measure.MEASURED.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert rows and list(rows[0]) == measure.COLUMNS
    listed = {key for row in ROWS for key in measure.keys(row)}
    assert {tuple(row[name] for name in measure.KEY) for row in rows} <= listed
    for row in rows:
        assert not any(fnmatchcase(row["metric"], pattern) for pattern in LISTED["clock"].get(row["figure"], ()))
    assert {row[name] for row in rows for name in ("verdict", "chosen_verdict")} <= set(verdicts.VERDICTS)


def test_jobs_of_a_design() -> None:
    jobs = [["N=100", "sampler=rm", "schedule=full_scan"], ["N=500", "sampler=rm"], ["N=100", "sampler=ss"]]
    assert measure.choose_jobs(jobs, {}) == jobs
    assert measure.choose_jobs(jobs, {"without": ["sampler=rm schedule"]}) == jobs[1:]
    assert measure.choose_jobs(jobs, {"below": {"N": 500}, "without": ["sampler=ss"]}) == jobs[:1]


def test_claims_beside_each_other_and_under_another_reading() -> None:
    own = {"data": "a", "sampler": "s", "metric": "m", "published": 1.0, "ours": 1.0, "low": 0.5, "high": 2.0, "n": 3}
    chosen = pd.DataFrame(
        [
            own | {"counted": True, "reading": "last state", "verdict": "reproduced"},
            own | {"counted": False, "reading": "likeliest state", "verdict": "undecided", "ours": 9.0},
            own | {"counted": True, "metric": "time", "reading": "", "verdict": "reproduced"},
            own | {"counted": True, "metric": "seconds", "reading": "", "verdict": "not testable"},
        ]
    )
    other = measure.reread(chosen, "last", "likeliest")
    both = measure.join_verdicts(chosen, other, None, ["time"])
    assert both[["chosen_verdict", "verdict", "chosen_ours", "ours"]].values.tolist() == [
        ["reproduced", "undecided", 1.0, 9.0]
    ]
    assert measure.join_verdicts(chosen, chosen, "other", []).empty


def test_other_ways_to_compute_a_number() -> None:
    draw = np.random.default_rng(0)
    noise = draw.standard_normal((4, 4000))
    series = np.zeros_like(noise)
    for t in range(1, noise.shape[1]):
        series[:, t] = 0.8 * series[:, t - 1] + noise[:, t]
    # of an autoregression with 0.8: (1 + 0.8) / (1 - 0.8)
    for times in (mixing.autocorrelation_times, measure.window_times, measure.threshold_times):
        assert times(series).mean() == pytest.approx(9.0, rel=0.25), times
    assert np.isnan(measure.window_times(np.ones(9)))
    apart = noise + np.arange(4)[:, None]
    for rhat in (measure.split_rhat, measure.ranked_rhat):
        assert rhat(noise) < 1.01 and rhat(apart) > 1.2
    with measure.replace_names({"diagnostics.mixing.rhat_classic": "=split_rhat", "papers.lshsm.runs.TOLERANCE": 0.1}):
        from splitmerge_cli.papers.lshsm import runs

        assert mixing.rhat_classic is measure.split_rhat and runs.TOLERANCE == 0.1
    assert mixing.rhat_classic is not measure.split_rhat
