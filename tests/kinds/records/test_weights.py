"""Weights of pairs, thresholds, the page for labels and its way back, and two runs compared."""

import csv
import json
import re
import shutil
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import smcmc
from splitmerge_cli.analysis.pages import runs as pages
from splitmerge_cli.config import ConfigError, specify
from splitmerge_cli.diagnostics.small_clusters import find_linked_pairs
from splitmerge_cli.kinds.records import entities, labelling, pictures, weights
from splitmerge_cli.received import DataError

PEOPLE = {
    "name": ["anna smith", "anna smth", "robert jones", "robert jones", "carla meyer", "dora winter", "anna smit"],
    "street": ["high street", "high street", "low road", "low raod", "mill lane", "church hill", "low road"],
    "born": ["1980-01-02", "1980-01-02", "1975-07-30", "1975-07-30", "1991-11-11", "1969-03-05", "1980-01-02"],
}
KEYS: dict[str, Any] = {"iterations": 400, "chains": 2, "seed": 1, "progress": "none"}
DRAWS = {
    0: np.array([[0, 0, 0, 1, 2], [0, 0, 1, 2, 2], [0, 0, 0, 1, 1]], dtype=np.int32),
    1: np.array([[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]], dtype=np.int32),
}


def test_weights_add_up_to_the_posterior_and_are_drawn(tmp_path: Path) -> None:
    found = smcmc.sample("records", PEOPLE, store=tmp_path, **KEYS)
    table = found.match_weights([[0, 1], [0, 6], [4, 5]])
    assert list(table) == ["row", "other", "probability", "prior", "name", "street", "born", "the rest", "posterior"]
    np.testing.assert_allclose(table.iloc[:, 3:-1].sum(axis=1), table["posterior"])
    draws, p = len(found.partitions), table["probability"].to_numpy()
    np.testing.assert_allclose(table["posterior"], np.log2((p * draws + 0.5) / (draws - p * draws + 0.5)))
    listed = found.pairs(0.0)
    both = listed.merge(table, on=["row", "other"], suffixes=("", " of weights"))
    assert len(both) >= 2 and both["probability"].tolist() == both["probability of weights"].tolist()
    # of the stored run, which reads its data again, and at other rows
    again = weights.weights_of_run(found.run, np.array([[0, 1], [0, 6], [4, 5]]))
    np.testing.assert_allclose(again.iloc[:, 2:], table.iloc[:, 2:])
    assert again["row"].tolist() == [1, 1, 5]
    figure = pictures.match_weights(found.run)
    bars = [patch.get_width() for patch in figure.axes[0].patches]
    ends = pictures.shown_pairs(found.run, 1)
    np.testing.assert_allclose(bars, weights.weights_of_run(found.run, ends).iloc[0, 3:].astype(float))
    plt.close(figure)
    for wrong in ([[0, 0]], [[0, 7]], [0, 1], [[-1, 2]], [[0.0, 1.0]]):
        with pytest.raises(ConfigError, match=r"pairs: expected positions of two different records from 0 to 6"):
            found.match_weights(wrong)


def test_originals_have_a_term_of_their_own() -> None:
    found = smcmc.sample({"name": "records", "original": 0.5}, PEOPLE, **KEYS)
    table = found.match_weights([[0, 1]])
    assert "copies" in table and table["copies"].iloc[0] > 0.0


def test_thresholds_expect_what_draws_taken_for_the_truth_have() -> None:
    linked = find_linked_pairs(DRAWS)
    expected = weights.list_thresholds(linked)
    truths = [weights.list_thresholds(linked, row) for row in np.concatenate(list(DRAWS.values()))]
    for name in ("pairs", "precision"):
        mean = np.mean([table[f"true_{name}" if name == "precision" else name] for table in truths], axis=0)
        np.testing.assert_allclose(mean, expected[name], atol=1e-6)
    row = expected.set_index("probability").loc[0.6]
    # pairs 0-1 (4 of 5 draws), 0-2 and 1-2 (3 of 5); of all pairs 2.4 are expected
    assert (row["pairs"], row["precision"]) == (3, pytest.approx(2 / 3, abs=1e-6))
    assert row["recall"] == pytest.approx(2.0 / 2.4, abs=1e-6) and row["f1"] == pytest.approx(4.0 / 5.4, abs=1e-6)
    partly = weights.list_thresholds(linked, np.array([0, 0, -1, 1, 1]))
    assert partly[["true_precision", "true_recall"]].iloc[5].tolist() == [1.0, 0.5]


@pytest.mark.slow("three runs of 400 generated records")
def test_thresholds_are_calibrated_on_generated_records() -> None:
    tables = []
    for seed in range(3):
        overrides = ["data=records", "N=400", "data.entities=300", "data.distortion=0.3", f"data.seed={seed}"]
        data = specify([*overrides, "model=records"]).data
        tables.append(
            smcmc.sample("records", data.function(**data.options), seed=seed, progress="none").thresholds().to_numpy()
        )
    _, _, precision, recall, _, true_precision, true_recall = np.mean(tables, axis=0).T
    # in six such sets they differed by 0.017 and 0.024 at most
    assert np.abs(precision - true_precision).max() < 0.03 and np.abs(recall - true_recall).max() < 0.04


def test_a_label_reduces_the_variance_of_pairs_that_depend_on_it() -> None:
    linked = find_linked_pairs(DRAWS)
    rows = np.concatenate(list(DRAWS.values()))
    chosen = np.arange(len(linked.ends))
    gain = weights.reduce_variance(linked, DRAWS, chosen)
    x = np.array([rows[:, i] == rows[:, j] for i, j in linked.ends]).astype(float)
    component = linked.components[linked.ends[:, 0]]
    for k, told in enumerate(x):
        # by the definition: variances of the pairs, less their mean within the draws of either label
        own = x[component == component[k]]
        within = sum((told == word).mean() * own[:, told == word].var(axis=1).sum() for word in np.unique(told))
        assert gain[k] == pytest.approx(own.var(axis=1).sum() - within)
    assert len(set(component)) == 2 and len(x) == 4
    assert weights.reduce_variance(linked, DRAWS, chosen[:0]).tolist() == []


def make_page() -> tuple[str, pd.DataFrame]:
    """A page of three pairs, one labelled, whose cells hold what HTML, scripts and CSV have signs for."""
    names = ["row", "other", "same", "probability", "name", "name (other)", "town", "town (other)"]
    rows = [
        [1, 2, "1", np.nan, "a", "b", "</script><b>", ""],
        [3, 4, "", 0.5, 'say "x"', "x, y", "l\u00fcbeck", "L"],
        [5, 6, "", 0.25, "<!--", "p\nq", "", ""],
    ]
    table = pd.DataFrame(rows, columns=names)
    return labelling.page_of_pairs(table, "Pairs <of> people"), table


def test_the_page_loads_nothing_and_ends_no_script_early() -> None:
    page, table = make_page()
    assert page.count("</script>") == 1 and "&lt;of&gt;" in page and "<!--" not in page
    assert not re.search(r"https?:|src=|href=|@import|url\(", page.replace("link.href = URL", ""))
    held = json.loads(re.search(r"const data = (\{.*\});", page)[1])  # type: ignore[index]
    assert held["head"] == list(table) and held["fields"] == ["name", "town"]
    assert held["rows"][0] == ["1", "2", "1", "", "a", "b", "</script><b>", ""]
    assert {key for _, _, key in labelling._BUTTONS} == set(re.findall(r"(\w): \"", re.search(r"keys = .*", page)[0]))  # type: ignore[index]


DOCUMENT = """
const made = () => ({children: [], set textContent(t) { this.t = t; }, get textContent() { return this.t; },
  append(...c) { this.children.push(...c); }, replaceChildren() { this.children = []; }, setAttribute() {},
  addEventListener(name, act) { this.act = act; }, get firstElementChild() { return {style: {}}; }, click() {}});
const elements = {}, listeners = {};
const document = {getElementById: id => elements[id] ??= made(), createElement: made,
  addEventListener: (name, act) => { listeners[name] = act; }};
const window = {addEventListener() {}};
const Blob = class { constructor(parts) { console.log(JSON.stringify(parts[0])); } };
const URL = {createObjectURL: () => "", revokeObjectURL() {}};
"""
"""Objects of a browser that the script of the page needs."""


@pytest.mark.skipif(shutil.which("node") is None, reason="no program that runs scripts")
@pytest.mark.parametrize(
    ("keys", "same"), [("mnd", "110"), ("bnmsd", "01"), ("mbnMd", "101"), ("nnnbd", "100"), ("xd", "1")]
)
def test_keys_label_pairs_and_save_them(keys: str, same: str) -> None:
    """The first pair is labelled, so the page begins at the second; beyond the last no key labels."""
    page, table = make_page()
    script = re.search(r"<script>(.*)</script>", page, re.S)[1]  # type: ignore[index]
    pressed = f"for (const key of {json.dumps(keys)}) listeners.keydown({{key, preventDefault() {{}}}});"
    done = subprocess.run(["node", "-e", DOCUMENT + script + pressed], capture_output=True, text=True, check=True)
    rows = list(csv.reader(StringIO(json.loads(done.stdout), newline="")))
    assert rows[0] == list(table) and [row[4:] for row in rows[1:]] == table.iloc[:, 4:].values.tolist()
    assert "".join(row[2] for row in rows[1:]) == same


LABELS = "row,other,same\n1,2,0\n1,7,1\n4,5,\n"


def write(folder: Path, labels: str = LABELS) -> list[str]:
    pd.DataFrame(PEOPLE).to_csv(folder / "people.csv", index=False)
    (folder / "labels.csv").write_text(labels)
    return ["data=csv", f"data.path={folder / 'people.csv'}", "model=records", f"data.labels={folder / 'labels.csv'}"]


def test_a_file_of_labels_is_both_links(tmp_path: Path) -> None:
    words = write(tmp_path)
    spec = specify(words)
    links = [f"data.{key}={tmp_path / 'labels.csv'}" for key in ("must_link", "cannot_link")]
    assert spec.data.values == specify([*words[:3], *links]).data.values
    bundles = spec.data.function(**spec.data.options | {"kind": "records"}).bundles
    assert bundles.items.tolist() == [0, 1, 2, 3, 4, 5, 0] and bundles.apart.tolist() == [[0, 1]]
    with pytest.raises(ConfigError, match=r"data\.must_link=.*: expected null with data\.labels="):
        specify([*words, links[0]])
    # a column is a column
    assert specify([*words[:3], "data.labels=name"]).data.values["labels"] == "name"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("row,other,same\n1,2,yes\n", r"labels\.csv: row 2, column 3 \('same'\): 'yes'; expected 1 "),
        ("row,other,same\n1,9,1\n", r"labels\.csv: row 2, column 2 \('other'\): '9'; expected a row from 1 to 7"),
        ("row,other,same\n1,2,1\n2,3,1\n1,3,0\n", r"labels\.csv: row 4: rows 1 and 3 through 2 .* are to be together"),
        ("a,b\n1,2\n", r"labels\.csv: row 1: expected the columns row, other and same, .* \(data\.labels\)"),
        (None, r"labels\.csv: no such file; expected a file of labelled pairs \(data\.labels\)"),
    ],
)
def test_a_bad_file_of_labels_has_one_message(tmp_path: Path, labels: str | None, message: str) -> None:
    data = specify(write(tmp_path, labels or "")).data
    if labels is None:
        (tmp_path / "labels.csv").unlink()
    with pytest.raises(DataError, match=message):
        data.function(**data.options | {"kind": "records"})


def test_two_runs_show_what_a_label_and_another_field_change(tmp_path: Path) -> None:
    write(tmp_path, "row,other,same\n5,6,1\n")
    path, keys = str(tmp_path / "people.csv"), KEYS | {"store": tmp_path}
    one = smcmc.sample("records", path, **keys).run
    told = smcmc.sample("records", path, options={"data.labels": str(tmp_path / "labels.csv")}, **keys).run
    gained, lost, found = weights.compare_pairs(one, told)
    assert gained >= 1 and lost == 0 and found[0].ends == (4, 5) and found[0].gained
    assert found[0].probability[1] == 1.0 and found[0].reasons[0][0] == "the rest"
    back = weights.compare_pairs(told, one)
    assert back[:2] == (lost, gained) and not back[2][0].gained
    less = smcmc.sample("records", path, options={"data.columns": ["name", "street"]}, **keys).run
    changed = weights.compare_pairs(one, less)[2]
    assert any(np.isnan(after) for pair in changed for name, _, after in pair.reasons if name == "born")
    table = entities.Entities.compare([entities.Entities.comparable(run) for run in (one, told)])
    cells = [list(column.cells) for column in table.columns]
    assert cells[1][0] == f"{gained} gained, 0 lost" and (cells[2][1], cells[3][1]) == ("5", "6")
    few = smcmc.sample("records", {key: cells[:5] for key, cells in PEOPLE.items()}, **keys).run
    assert "no pairs are compared with 7 others" in str(weights.compare_runs([one, few]))
    (tmp_path / "people.csv").unlink()
    assert "pairs are not compared" in str(weights.compare_runs([one, told]))


def test_the_page_of_a_run_has_the_table_by_threshold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = smcmc.sample("records", PEOPLE, truth=[0, 0, 1, 1, 2, 3, 0], store=tmp_path, **KEYS)
    kept = pd.read_csv(StringIO(found.run.content("thresholds.csv").decode()))
    pd.testing.assert_frame_equal(kept, pd.DataFrame(found.thresholds()), check_dtype=False)
    monkeypatch.setattr(pages, "_pictures", lambda *of_page: iter(()))
    text = re.sub(r"<style>.*?</style>|<[^>]*>", " ", pages.page_of([found.run]), flags=re.S)
    half = kept.set_index("probability").loc[0.5]
    shares = " +".join(f"{half[name]:.3f}" for name in ("precision", "recall", "f1", "true_precision", "true_recall"))
    assert re.search(rf"0\.5 +{half['pairs']:.0f} +{shares}", " ".join(text.split()))
    assert f"precision {half['precision']:.3f} and recall {half['recall']:.3f}" in text
