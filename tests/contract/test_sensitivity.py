"""How verdicts depend on settings: the list is complete, the file is what it says, the page shows both."""

import csv
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import classes
import measure_sensitivity as measure
import numpy as np
import pandas as pd
import pytest
import sensitivity
import yaml
from editions import overview

from splitmerge_cli.diagnostics import mixing
from splitmerge_cli.papers import claims, declaration
from splitmerge_cli.papers.verdicts import VERDICTS

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
    assert {row[name] for row in rows for name in ("verdict", "chosen_verdict")} <= set(VERDICTS)


MORE = "number of restarts or data sets"
EDITION_2 = measure.DOCS / "reproduction" / "edition-2"


def test_the_page_counts_what_more_restarts_or_data_sets_decide() -> None:
    table = pd.read_csv(measure.MEASURED, keep_default_na=False)
    rows = table[table["setting"] == MORE]
    pairs = Counter(zip(rows["chosen_verdict"], rows["verdict"], strict=True))
    before, open_still = (rows["chosen_verdict"] == "undecided").sum(), pairs["undecided", "undecided"]
    lost = sum(n for (one, two), n in pairs.items() if one != "undecided" == two)
    said = (
        f"They decide {before - open_still} of {before} undecided claims of {rows['figure'].nunique()} figures: "
        f"{pairs['undecided', 'reproduced']} are reproduced, {pairs['undecided', 'not reproduced']} are not. "
        f"{lost} of {len(rows) - before} that were decided become undecided, {sensitivity.count_reversed(rows)} are "
        "reversed."
    )
    kept = {name: pd.read_csv(EDITION_2 / f"{name}-claims.csv") for name in rows["figure"].unique()}
    for row in rows.itertuples():
        own = kept[row.figure]
        found = own[own["counted"] & (own[measure.CLAIM] == [row.data, row.sampler, row.metric]).all(axis=1)]
        assert found["verdict"].tolist() == [row.chosen_verdict], row
    page = (measure.DOCS / "figures.md").read_text(encoding="utf-8")
    assert said in " ".join(page.split())


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


def test_the_page_counts_verdicts_and_gives_reasons(tmp_path: Path) -> None:
    assert sensitivity.read(tmp_path) == {}
    assert sensitivity.summarise("x", None) == "x"
    row = dict.fromkeys(measure.COLUMNS, "") | {"paper": "a", "setting": "start", "figure": "a-fig1", "scale": "quick"}
    row |= {"metric": "K", "chosen_verdict": "reproduced", "verdict": "reproduced", "chosen_ours": 1.0, "ours": -2.0}
    rows = [
        row | {"value": "b=1"},
        row | {"value": "b=1", "metric": "L_m", "verdict": "undecided"},
        row | {"value": "b=2"},
        row | {"value": "b=2", "metric": "M", "verdict": "not reproduced"},
    ]
    pd.DataFrame(rows).to_csv(tmp_path / f"{sensitivity.NAME}.csv", index=False)
    listed = {"settings": [{"paper": "a", "setting": "version", "reason": "a text"}, {"paper": "a", "setting": "b"}]}
    (tmp_path / f"{sensitivity.NAME}.yaml").write_text(yaml.safe_dump(listed))
    found = sensitivity.read(tmp_path)
    assert sensitivity.summarise("not measured", found["a", "version"]) == "not measured: a text"
    assert sensitivity.summarise("in part", found["a", "b"]) == "in part; listed, and not run yet"
    said = "1 of 3 verdicts move under 2 other values; 1 reversed"
    assert sensitivity.summarise("not measured", found["a", "start"]) == said
    assert sensitivity.summarise("in part", found["a", "start"]) == f"in part; measured since: {said}"


def test_each_claim_that_is_not_reproduced_has_one_class() -> None:
    kept = overview.latest_claims(overview.latest_figures(measure.DOCS / "reproduction"))
    rows = classes.classify(kept.values(), measure.DOCS).set_index("class")
    assert set(rows.index) == set(classes.CLASSES)
    assert len(rows) == overview.total(kept).verdicts["not reproduced"]
    assert rows.loc[classes.NOT_OURS, "decides"].str.match("reproduced: |undecided: ").all()
    assert rows.loc[classes.CONTRADICTED, "decides"].str.fullmatch(r"[1-9]\d* tried").all()
    assert set(rows.loc[classes.INPUT, "data"]) == {"usair scale=0.7"}
    assert (rows.loc[classes.ALONE, "decides"] == "").all()


@pytest.mark.parametrize(
    ("rule", "published", "tolerance", "low", "high", "of_class", "ground"),
    [
        ("factor", 10.0, 2.0, 30.0, 35.0, classes.CONTRADICTED, classes.OUR_RULE),
        ("factor", 10.0, 2.0, 45.0, 50.0, classes.CONTRADICTED, classes.SOLID),
        ("factor", 10.0, 2.0, 30.0, 35.0, classes.NOT_OURS, classes.UNKNOWN),
        ("mixing", 1.01, 2.0, 1.3, 1.5, classes.ALONE, classes.OUR_RULE),
        ("mixing", 1.01, 2.0, 1.5, 1.7, classes.ALONE, classes.SOLID),
        ("distance", 0.9, 0.05, 0.7, 0.81, classes.ALONE, classes.OUR_RULE),
        ("at_most", 0.0, 0.1, 0.15, 0.3, classes.ALONE, classes.OUR_RULE),
        ("at_least", 0.0, 10.0, 1.0, 4.0, classes.ALONE, classes.SOLID),
        ("exact", 0.5, 0.0, np.nan, np.nan, classes.ALONE, classes.SOLID),
        ("most", np.nan, np.nan, 0.1, 0.2, classes.INPUT, classes.UNKNOWN),
    ],
)
def test_what_a_verdict_rests_on(
    rule: str, published: float, tolerance: float, low: float, high: float, of_class: str, ground: str
) -> None:
    row = {"rule": rule, "published": published, "tolerance": tolerance, "low": low, "high": high, "class": of_class}
    assert classes._ground(row) == ground
