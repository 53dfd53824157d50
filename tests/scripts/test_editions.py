"""Editions of the reproduction: seeds, rules, verdicts side by side, and verdicts from their units alone."""

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import check_names
import correct_verdicts
import count_habits
import edition_pages
import judge_by_words
import judge_edition_5
import numpy as np
import pandas as pd
import pytest
import recompute_verdicts
import yaml
from editions import added, kept, overview, rules

from splitmerge_cli.diagnostics import intervals
from splitmerge_cli.papers import claims, declaration, experiments, reproduce, verdict_tables, verdicts
from splitmerge_cli.papers.verdicts import REPRODUCED, UNDECIDED, VERDICTS
from splitmerge_cli.runs.store.manifest import sha256_of, write_sealed

KEPT = Path(__file__).parents[2] / "docs" / "reproduction"
EXACT = ["sdds-fig1", "sdds-table1"]


# seeds


@pytest.mark.slow
def test_every_seed_of_an_edition_is_new_and_all_else_stays(tmp_path: Path) -> None:
    for name in declaration.figures():
        first = experiments.jobs(name, "paper", tmp_path)
        later = experiments.jobs(name, "paper", tmp_path, edition=3)
        assert len(first) == len(later)
        for one, other in zip(first, later, strict=True):
            a, b = (dict(override.partition("=")[::2] for override in job) for job in (one, other))
            changed = {key for key in a.keys() | b.keys() if a.get(key) != b.get(key)}
            assert "seed" in changed and changed <= set(experiments.SEEDS), one
            assert all(int(b[key]) - int(a.get(key, 0)) == 2 * experiments.SHIFT for key in changed), one


def test_timed_jobs_of_an_edition_are_among_its_jobs(tmp_path: Path) -> None:
    jobs = {tuple(job) for job in experiments.jobs("triadic-table1", "paper", tmp_path, edition=2)}
    timed = experiments.timed_jobs("triadic-table1", "paper", tmp_path, edition=2)
    assert timed and timed < jobs


def test_a_seed_that_follows_another_and_data_that_stand_in_stay(tmp_path: Path) -> None:
    job = ["data=kdd_like", "data.seed=${seed}", "seed=3"]
    assert experiments.shift_seeds(job, 2, 0) == ["data=kdd_like", "data.seed=${seed}", "seed=1000003"]
    assert experiments.shift_seeds(job, 1, 0) == job
    stood_in = experiments.jobs("arm-table4", "quick", tmp_path, stand_in=True, edition=2)
    assert {o for job in stood_in for o in job if o.startswith("data.seed=")} == {f"data.seed={k}" for k in (1, 2, 3)}


def test_folders_of_editions(tmp_path: Path) -> None:
    for name in ("edition-3", "edition-2", "edition-x", "edition-1"):
        (tmp_path / name).mkdir()
    assert kept.kept_editions(tmp_path) == [2, 3]
    assert kept.kept_folder(tmp_path, 1) == tmp_path and experiments.figures_folder(1) == "figures"


# rules


def test_one_digest_of_all_rules_and_the_names_of_what_changed(tmp_path: Path) -> None:
    files = rules.rule_files()
    papers = [f"{paper.key}/{name}" for paper in declaration.papers() for name in ("claims.csv", "readings.csv")]
    figures = [f"experiment/{name}.yaml" for name in declaration.figures()]
    assert {*papers, *figures, *rules.OF_CODE} <= set(files)
    now = rules.rules()
    assert now == rules.rules() and list(now["files"]) == sorted(files)
    assert rules.changes(now, now) == []
    other = now | {"files": now["files"] | {"arm/readings.csv": "0", "arm/new.csv": "1"}}
    del other["files"]["arm/claims.csv"]
    assert rules.changes(now, other) == ["arm/claims.csv (gone)", "arm/new.csv (new)", "arm/readings.csv (changed)"]


def test_a_rule_is_what_it_makes_of_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(rules.JUDGES) == set(claims.RULES)
    now = rules.rules()
    moved = now | {"files": now["files"] | dict.fromkeys(rules.OF_CODE, "0")}
    assert rules.changes(moved, now) == []
    without = {key: value for key, value in moved.items() if key != "judgements"}
    assert rules.changes(without, now) == [f"{name} (changed)" for name in sorted(rules.OF_CODE)]
    monkeypatch.setattr(verdicts, "MIXED", 1.15)
    assert rules.changes(now, rules.rules()) == ["rule mixing (changed)"]
    monkeypatch.setitem(claims.RULES, "most", "another")
    assert rules.changes(now, rules.rules()) == ["rule mixing (changed)", "rule most (changed)"]


@pytest.mark.parametrize("edition", [2, 3, 4, 5, 6])
def test_no_rule_changed_since_an_edition_except_those_that_were_corrected(edition: int) -> None:
    index = kept.read_index(KEPT / f"edition-{edition}")
    listed = yaml.safe_load(correct_verdicts.FILE.read_text("utf-8"))
    # edition 2 is older than added.csv
    changed = [line for line in sorted(listed["changed"]) if edition > 2 or "/added.csv" not in line]
    changed = changed if edition < correct_verdicts.EDITION else []
    # since edition 5: parts of the papers that were built; in it: rows that it judges, and what the clock decides
    later = [f"{paper}/settings.csv (changed)" for paper in ("arm", "smag") if edition < 6]
    later += [f"{paper}/added.csv (changed)" for paper in ("arm", "sdds", "triadic") if 2 < edition < 6]
    later += ["triadic/settings.csv (changed)"] * (edition < 5)
    if edition in (3, 4):
        later += ["lshsm/added.csv (changed)"]
        later += ["arm/readings.csv (changed)"]
    changed = sorted({*changed, *later})
    assert kept.rule_changes(index, list(index["figures"])) == changed
    for name, digest in index.get("fixed by", {}).items():
        assert sha256_of(KEPT.parent / name) == digest


def test_the_check_of_words_asks_for_no_change_of_files_that_editions_fix() -> None:
    indexes = [kept.read_index(folder) for folder in sorted(KEPT.glob("edition-*"))]
    fixed = {f"docs/{name}" for index in indexes for name in index.get("fixed by", {})}
    assert fixed == check_names.SEALED and not fixed & {*check_names.list_files(["docs"])}
    assert not any(map(count_habits.find_place, fixed))


def test_claims_may_be_added_and_change_no_rule() -> None:
    now = rules.rules()
    before = now | {"files": {name: of for name, of in now["files"].items() if not name.endswith("/added.csv")}}
    assert len(before["files"]) < len(now["files"]) and rules.changes(before, now) == []
    changed = now | {"files": now["files"] | {"arm/added.csv": "0"}}
    assert rules.changes(now, changed) == ["arm/added.csv (changed)"]
    for paper in declaration.papers():
        new = [claim for figure in paper.figures for claim in added.added_claims(figure.id)]
        assert new and all(claim.rule in claims.RULES and claim.because for claim in new)
        known = [claim for figure in paper.figures for claim in claims.published_claims(figure.id)]
        keys = [(claim.id, claim.data, claim.sampler, claim.metric) for claim in [*known, *new]]
        assert len(set(keys)) == len(keys)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two exact figures as edition 1, one of them as edition 2."""
    folder = tmp_path_factory.mktemp("editions")
    for edition, names in ((1, EXACT), (2, EXACT[:1])):
        assert reproduce.reproduce(names, out=folder / "results", edition=edition) == 0
        place = kept.kept_folder(folder / "kept", edition)
        assert kept.keep(names, "quick", folder / "results", place, edition=edition) == (names, [])
    return folder


def test_a_kept_edition_says_its_rules_and_how_it_is_made(original: Path) -> None:
    index = kept.read_index(original / "kept" / "edition-2")
    figure = index["figures"]["sdds-fig1"]
    assert index["edition"] == 2 and figure["command"] == "smcmc reproduce sdds-fig1 --scale quick --edition 2"
    assert figure["rules"] == rules.rules()["digest"] and list(index["rules"]) == [figure["rules"]]
    assert "sdds-fig1-units.csv" in figure["files"]
    assert not kept.rule_changes(index, ["sdds-fig1"])
    assert not list(kept.find_damage(original / "kept", kept.read_index(original / "kept"), whole=True))
    index["rules"][figure["rules"]]["files"]["sdds/readings.csv"] = "0" * 64
    assert kept.rule_changes(index, ["sdds-fig1"]) == ["sdds/readings.csv (changed)"]
    del figure["rules"]
    assert not kept.rule_changes(index, ["sdds-fig1"])


def test_a_check_names_the_rules_that_changed(run_script: Callable[..., Any], original: Path) -> None:
    folder = Path(shutil.copytree(original / "kept", "kept"))
    index = kept.read_index(folder)
    index["rules"][rules.rules()["digest"]]["files"]["sdds/readings.csv"] = "0" * 64
    write_sealed(folder / kept.INDEX, index)
    result = run_script("check", "sdds-fig1", "--kept", "kept")
    assert result.exit_code == 1 and "kept: rules: sdds/readings.csv (changed)" in result.stderr
    assert result.stdout.splitlines()[-1] == "sdds-fig1: 12 equal"
    result = run_script("check", "sdds-fig1", "--kept", "kept", "--edition", "2")
    assert result.exit_code == 0, result.output


def test_an_index_without_rules_can_be_read_and_checked(run_script: Callable[..., Any], original: Path) -> None:
    folder = Path(shutil.copytree(original / "kept", "kept"))
    index = kept.read_index(folder)
    index["format"] = 2
    for key in ("rules", "edition"):
        del index[key]
    for figure in index["figures"].values():
        del figure["rules"], figure["began"]
    write_sealed(folder / kept.INDEX, index)
    result = run_script("check", "sdds-fig1", "--kept", "kept")
    assert result.exit_code == 0, result.output
    assert "sdds-fig1: no rules were kept" in result.stderr
    assert overview.editions(folder)[0].rules == []


# side by side


def test_editions_side_by_side_and_what_was_not_made_again(original: Path) -> None:
    first, later = overview.editions(original / "kept")
    assert (first.number, later.number) == (1, 2) and overview.list_absent(first, later) == ["sdds-table1"]
    pairs = overview.pair_verdicts(first, later)
    assert len(pairs) == 6 and overview.list_moved(pairs).empty
    latest = overview.latest_figures(original / "kept")
    assert {name: figure.edition for name, figure in latest.items()} == {"sdds-fig1": 2, "sdds-table1": 1}
    assert set(overview.latest_claims(latest)) == set(latest)
    head, *rows = overview.editions_table([first, later])
    assert head[:3] == ["paper", "edition", "figures in all editions"]
    sdds = [row for row in rows if row[0] == "Wang & Russell 2015"]
    assert [row[1] for row in sdds] == ["1", "2"] and sdds[0][3:] == sdds[1][3:]
    assert sum(map(int, sdds[0][3:])) == 6
    frame = later.kept["sdds-fig1"].copy()
    one, another = frame.index[frame["counted"]][:2]
    frame.loc[one, "verdict"] = UNDECIDED
    frame.loc[another, ["verdict", "reading"]] = UNDECIDED, "another"
    moved = overview.list_moved(overview.pair_verdicts(first, replace(later, kept={"sdds-fig1": frame})))
    assert moved["after"].tolist() == [UNDECIDED] * 2 and moved["reread"].tolist() == [False, True]
    page = edition_pages.page([first, later], dict(experiments.list_figures()))
    assert "0 of 6 verdicts" in page and "(sdds-table1)" in page and rules.rules()["digest"] in page


# verdicts from units


def draw_verdicts(draw: np.random.Generator) -> list[verdicts.Verdict]:
    """A verdict by every rule on random numbers."""

    def claim(rule: str, value: float = np.nan, tolerance: float = np.nan) -> claims.Claim:
        return claims.Claim("a-fig1", "d", "s", f"{rule}", value, "", "", rule=rule, tolerance=tolerance)

    value, tolerance, size = float(draw.uniform(1.05, 2)), float(draw.uniform(1.1, 2)), int(draw.integers(1, 9))
    x = value * draw.gamma(40, 1 / 40, size) * draw.choice([0.4, 0.6, 1, 1.6, 3])
    summary = draw.choice([intervals.mean_interval, intervals.geometric_interval, intervals.median_interval])
    units = draw.integers(6, size=size)
    scales = [intervals.mean_interval, intervals.geometric_interval]
    scale = draw.choice([*scales, intervals.excess_interval] if x.min() > 1 else scales)
    without = intervals.leave_one_out(lambda kept: float(x[kept].mean()), size)[1]
    yes = x > draw.choice([0.1, value, 100])
    shares = intervals.share_interval(int(yes.sum()), size)
    shown = verdicts.Samples.build("it", "share", range(size), yes)
    withheld = (draw.choice(["", *VERDICTS[:2]]), "short")
    return [
        verdicts.by_factor(claim("factor", value, tolerance), x, summary=summary, units=units),
        verdicts.by_distance(claim("distance", value, tolerance / 4), x),
        verdicts.by_bound(claim("at_most", 0.0, tolerance), x),
        verdicts.by_sign(claim("positive"), {"a": x - 1, "b": x - 0.8}, summary=intervals.overlapping_interval(0.2)),
        verdicts.by_majority(claim("most"), x, yes, "rule", short=withheld, units=units),
        verdicts.by_rhat(
            claim("mixing", value, tolerance), verdicts.jackknife(float(x.mean()), without, scale, "restarts")
        ),
        verdicts.judge_interval(
            claim("at_least", np.nan, 0.5),
            verdicts.Estimate((0.5, *shares), size, "data sets", None, (shown,)),
            0.5,
            1.0,
            "",
            "at_least",
        ),
        verdicts.exactly(claim("exact", value, 0.3), float(x[0])),
        verdicts.holds(claim("holds"), float(x[0]), bool(x[0] > 1), ""),
        verdicts.untestable(claim("none"), x, ""),
        verdicts.no_run(claim("factor", value, tolerance)),
    ]


def keep_verdicts(found: list[verdicts.Verdict], folder: Path) -> None:
    """Write a folder of an edition and one of a paper."""
    (folder / "paper").mkdir(parents=True)
    of = [v.claim for v in found]
    verdict_tables.frame(found, of, "quick").to_csv(folder / "a-fig1-claims.csv", index=False)
    verdict_tables.units_frame(found).to_csv(folder / "a-fig1-units.csv", index=False)
    further = {"claims": "value unit statement", "readings": "reading statistic rule tolerance because"}
    for name, more in further.items():
        columns = ["id", "data", "sampler", "metric", *more.split()]
        rows = [[getattr(claim, column) for column in columns] for claim in of]
        pd.DataFrame(rows, columns=columns).to_csv(folder / "paper" / f"{name}.csv", index=False)


def test_every_rule_gives_the_same_verdict_from_the_units_alone(tmp_path: Path) -> None:
    draw, seen = np.random.default_rng(5), dict[str, set[str]]()
    for k in range(60):
        keep_verdicts(draw_verdicts(draw)[:-1], tmp_path / str(k))
        found, without = recompute_verdicts.recompute(tmp_path / str(k), tmp_path / str(k))
        assert not without and len(found) == 10
        assert found["kept"].tolist() == found["again"].tolist(), found.to_dict("records")
        for row in found.itertuples():
            seen.setdefault(row.rule, set()).add(row.kept)
    ruled_by_intervals = ("factor", "distance", "at_most", "at_least", "positive", "most", "mixing")
    assert {rule: seen[rule] for rule in ruled_by_intervals} == {key: set(VERDICTS[:3]) for key in ruled_by_intervals}


def test_a_claim_without_a_run_is_undecided_and_a_changed_unit_is_seen(tmp_path: Path) -> None:
    keep_verdicts([draw_verdicts(np.random.default_rng(1))[-1]], tmp_path / "none")
    assert recompute_verdicts.recompute(tmp_path / "none", tmp_path / "none")[0]["again"].tolist() == [UNDECIDED]
    claim = claims.Claim("a-fig1", "d", "s", "factor", 1.0, "", "", rule="factor", tolerance=2.0)
    verdict = verdicts.by_factor(claim, [1.0, 1.1, 0.9])
    assert verdict.verdict == REPRODUCED
    keep_verdicts([verdict], tmp_path / "run")
    units = tmp_path / "run" / "a-fig1-units.csv"
    units.write_text(units.read_text().replace(",0.9\n", ",4.9\n"))
    assert recompute_verdicts.recompute(tmp_path / "run", tmp_path / "run")[0]["again"].tolist() == [UNDECIDED]


def test_the_script_imports_nothing_of_the_package() -> None:
    text = Path(recompute_verdicts.__file__).read_text(encoding="utf-8")
    imported = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert imported and not any("splitmerge" in line for line in imported)


def test_the_units_of_computed_figures_give_their_verdicts(original: Path) -> None:
    found, without = recompute_verdicts.recompute(original / "kept", recompute_verdicts.PAPERS)
    assert not without and found["kept"].tolist() == found["again"].tolist() and len(found) == 18
    assert json.loads((original / "kept" / "index.json").read_text())["format"] == kept.FORMAT
    with (original / "kept" / "sdds-fig1-units.csv").open(newline="") as stream:
        assert next(csv.reader(stream)) == list(verdict_tables.UNITS)


# edition 5


def test_a_printed_rhat_is_reproduced_if_one_set_of_four_in_twenty_gives_it() -> None:
    claim = claims.Claim("arm-table3", "d", "arm", "rhat_T1000", 1.01, "", "", tolerance=2.0)
    kept_before = verdicts.Verdict(claim, "", 1.5, 1.3, 1.7, 12, verdicts.NOT_REPRODUCED, "before")
    rule = {"restarts": 4, "share": 0.05}
    names = [str(k) for k in range(100)]
    for low, expected in ((5, REPRODUCED), (4, verdicts.NOT_REPRODUCED)):
        values = [1.1] * low + [1.5] * (100 - low)
        now = judge_edition_5.place_share(kept_before, names, values, rule)
        assert now.verdict == expected and f"{low}.0% of the 100 sets" in now.reason
        units = verdict_tables.units_frame([now])
        assert recompute_verdicts.judge("mixing", claim.value, claim.tolerance, units) == expected
    wide = replace(kept_before, claim=replace(claim, value=1.5))
    assert judge_edition_5.place_share(wide, names, [1.1] * 96 + [2.9] * 4, rule).verdict == verdicts.NOT_REPRODUCED
    assert judge_edition_5.place_share(wide, names, [1.1] * 95 + [2.9] * 5, rule).verdict == REPRODUCED


@pytest.mark.parametrize(
    ("before", "needed", "expected"),
    [
        (UNDECIDED, 1_001, verdicts.AT_EDGE),
        (UNDECIDED, 1_000, UNDECIDED),
        (UNDECIDED, np.inf, verdicts.NOT_TESTABLE),
        (UNDECIDED, None, UNDECIDED),
        (REPRODUCED, 1_001, REPRODUCED),
    ],
)
def test_what_remains_undecided_has_a_class(before: str, needed: float | None, expected: str) -> None:
    claim = claims.Claim("arm-table3", "d", "arm", "m", 1.0, "", "", rule="positive")
    verdict = verdicts.Verdict(claim, "", 0.1, -1, 1, 9, before, "so", needed=needed)
    now = judge_edition_5.classify(verdict)
    assert now.verdict == expected and (now is verdict) == (expected == before)
    assert now.reason.startswith("not testable by this design") == (needed == np.inf)


def test_a_second_code_finds_the_classes_and_the_level_of_an_interval() -> None:
    """More units of the same centre and spread decide, or do not; 99 % is wider than 95 %."""
    x = np.r_[np.full(10, -1.0), np.full(12, 1.0)]
    claim = claims.Claim("arm-table3", "d", "arm", "m", 1.0, "", "", rule="positive")
    for shift, expected in ((0.0, UNDECIDED), (-0.09, "at the edge")):
        units = verdict_tables.units_frame([verdicts.by_sign(claim, {"gain": x + shift})])
        assert recompute_verdicts.judge("positive", 1.0, np.nan, units) == UNDECIDED
        assert recompute_verdicts.classify("positive", 1.0, np.nan, units) == expected
    units = verdict_tables.units_frame([verdicts.by_sign(claim, {"gain": x + 0.37})])
    assert recompute_verdicts.judge("positive", 1.0, np.nan, units) == REPRODUCED
    wider = units.assign(interval=units["interval"] + ", 99 %")
    assert recompute_verdicts.judge("positive", 1.0, np.nan, wider) == UNDECIDED


@pytest.mark.parametrize(("edition", "figure"), [(4, "smag-fig3"), (5, "smag-fig3"), (6, "lshsm-fig1")])
def test_the_words_of_the_page_give_the_kept_verdicts(edition: int, figure: str, tmp_path: Path) -> None:
    """A third code, which reads no rule of the papers; a number that is moved gives another verdict."""
    folder = KEPT / f"edition-{edition}"
    found = list(judge_by_words.compare(folder))
    assert len(found) > 500 and all(same for *_, same in found)
    for file in folder.glob(f"{figure}-*"):
        shutil.copy(file, tmp_path)
    (units_file,) = tmp_path.glob(f"{figure}-units.csv*")
    units = pd.read_csv(units_file)
    units.loc[units["quantity"] == "shows it", "value"] = 1.0 - units["value"]
    units.to_csv(units_file, index=False)
    assert judge_by_words.main([str(tmp_path)]) == 1
