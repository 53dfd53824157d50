"""Tables of entities, pairs and pairs for a person, and the way back of the labelled ones."""

import csv
import re
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import smcmc
from splitmerge_cli.analysis.pages import runs as pages
from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.tables.files import csv as read_csv
from splitmerge_cli.diagnostics.small_clusters import find_linked_pairs
from splitmerge_cli.kinds.records import entities, pictures
from splitmerge_cli.received import DataError

NAMES = ("ann", "anne", "bob")


def records(names: list[str] | None = None) -> Dataset:
    """Four records of a name and a town, one cell missing."""
    values = np.array([[0, 0], [1, 0], [2, 1], [2, -1]], dtype=np.int32)
    types = (ColumnType("string", NAMES), ColumnType("categorical", ("x", "y")))
    return Dataset("four", "records", values, columns=["name", "town"], types=types, names=names)


DRAWS = {0: [[0, 0, 1, 1], [0, 0, 1, 2]], 1: [[0, 1, 2, 2], [0, 0, 1, 1]]}


def test_pairs_are_sorted_and_have_errors() -> None:
    labels = np.array([0, 0, 1, 1], dtype=np.int32)
    table = entities.list_pairs(records(list("abcd")), find_linked_pairs(DRAWS), labels, 0.0)
    assert table.to_dict("list") == {
        "row": [1, 3],
        "other": [2, 4],
        "name": ["a", "c"],
        "other_name": ["b", "d"],
        "probability": [0.75, 0.75],
        "standard_error": [0.25, 0.25],
        "together": [1, 1],
    }
    assert len(entities.list_pairs(records(), find_linked_pairs(DRAWS), labels, 0.8)) == 0


def test_a_person_gets_the_most_uncertain_pairs_with_both_records() -> None:
    draws = {0: [[0, 0, 1, 1]] * 5 + [[0, 1, 2, 2]] * 5, 1: [[0, 0, 1, 1]] * 3 + [[0, 1, 2, 3]] * 7}
    labelled = np.array([[0, 3]]), np.array([False])
    table = entities.list_review(records(), find_linked_pairs(draws), labelled=labelled)
    assert table[["row", "other", "same"]].values.tolist() == [[1, 4, "0"], [1, 2, ""], [3, 4, ""]]
    assert table["probability"].tolist()[1:] == [0.4, 0.65]
    assert table[["name", "name (other)", "town", "town (other)"]].values.tolist() == [
        ["ann", "bob", "x", ""], ["ann", "anne", "x", "x"], ["bob", "bob", "y", ""]
    ]  # fmt: skip
    assert len(entities.list_review(records(), find_linked_pairs(draws), most=1)) == 1


def test_a_person_gets_one_pair_of_two_groups() -> None:
    """Records 0 and 1 surely belong together: one of their pairs with record 2 says what the other would."""
    draws = {0: [[0, 0, 0, 1]] * 5 + [[0, 0, 1, 2]] * 5, 1: [[0, 0, 1, 1]] * 4 + [[0, 0, 1, 2]] * 6}
    table = entities.list_review(records(), find_linked_pairs(draws))
    assert table[["row", "other"]].values.tolist() == [[1, 3], [3, 4]]


REVIEW = "row,other,same,probability,name,name (other)\n1,2,1,0.5,ann,anne\n2,3,,0.4,anne,bob\n1,4,0,0.45,ann,bob\n"


def read(folder: Path, review: str, **options: Any) -> Dataset:
    """Numbers with the links of a reviewed file; the format is no matter of records."""
    (folder / "t.csv").write_text("x,y\n1,2\n3,1\n5,6\n7,5\n")
    (folder / "review.csv").write_text(review)
    links = {key: str(folder / "review.csv") for key in ("must_link", "cannot_link")}
    return read_csv(folder / "t.csv", "points", **(links | options))


def test_a_person_gets_no_empty_record() -> None:
    draws = {0: [[0, 0, 1, 1]] * 5 + [[0, 1, 2, 2]] * 5, 1: [[0, 0, 1, 1]] * 3 + [[0, 1, 2, 3]] * 7}
    data = records()
    data.values[0] = -1
    table = entities.list_review(data, find_linked_pairs(draws))
    assert table[["row", "other"]].values.tolist() == [[3, 4]]


def test_a_reviewed_file_is_read_as_links(tmp_path: Path) -> None:
    bundles = read(tmp_path, REVIEW).bundles
    assert bundles is not None
    assert bundles.items.tolist() == [0, 0, 1, 2] and bundles.apart.tolist() == [[0, 2]]
    alone = read(tmp_path, REVIEW, cannot_link=None).bundles
    assert alone is not None and alone.items.tolist() == [0, 0, 1, 2] and not len(alone.apart)
    zeros = read(tmp_path, REVIEW.replace("1,2,1", "1,2,0")).bundles
    assert zeros is not None and zeros.items.tolist() == [0, 1, 2, 3] and zeros.apart.tolist() == [[0, 1], [0, 3]]


@pytest.mark.parametrize(
    ("review", "message"),
    [
        (
            REVIEW.replace("1,2,1", "1,2,yes"),
            r"review.csv: row 2, column 3 \('same'\): 'yes'; expected 1 .*, 0 .* or an",
        ),
        (REVIEW.replace("1,2,1", "1,9,1"), r"review.csv: row 2, column 2 \('other'\): '9'; expected a row from 1 to 4"),
        (REVIEW.replace("1,2,1", "1,2,").replace("1,4,0", "1,4,"), "no row has 1 or 0 in the column 'same'"),
        (REVIEW + "2,4,1,0.5,anne,bob\n", r"review.csv: row 4: .*review.csv"),
    ],
)
def test_a_wrong_or_contradictory_row_is_named(tmp_path: Path, review: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, review)


PEOPLE = {
    "name": ["anna smith", "anna smth", "robert jones", "robert jones", "carla meyer", "dora winter"],
    "street": ["high street", "high street", "low road", "low raod", "mill lane", "church hill"],
}


def test_a_run_of_records_leaves_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = smcmc.sample(
        "records", PEOPLE, truth=[0, 0, 1, 1, 2, 3], iterations=400, chains=2, progress="none", store=tmp_path
    )
    run = found.run
    entry = run.summary["entities"]
    assert {"entities.csv", "pairs.csv"} <= set(run.manifest.names) and "review.csv" not in run.manifest.names
    assert "cluster_summary.csv" not in run.manifest.names
    table = list(csv.DictReader(StringIO(run.content("entities.csv").decode())))
    assert sum(int(row["records"]) for row in table) == len(PEOPLE["name"])
    assert [row["name"] for row in table] == found.entities()["name"].tolist()
    by_entity = {row["entity"]: row["name"] for row in table}
    assert {by_entity[str(k)] for k in run.clusters()["cluster"]} == set(by_entity.values())
    pairs = list(csv.DictReader(StringIO(run.content("pairs.csv").decode())))
    listed = found.pairs()
    assert [float(row["probability"]) for row in pairs] == pytest.approx(listed["probability"].tolist(), abs=1e-5)
    assert [int(row["row"]) for row in pairs] == (listed["row"] + 1).tolist()
    similarity = found.similarity()
    for row in listed.itertuples():
        assert similarity[row.row, row.other] == pytest.approx(row.probability)
    assert entry["agreement"].keys() == {"precision", "recall", "f1"}
    assert sum(n * count for n, count in entry["sizes"]) == len(PEOPLE["name"])
    assert {"rhat/pairs", "rhat/n_clusters"} <= set(run.diagnostics()["quantity"])
    assert "rhat/largest" not in set(run.diagnostics()["quantity"])
    lines = list(entities.Entities.lines(run))
    assert lines[0].startswith(f"{run.summary['point_estimate']['n_clusters']} entit")
    assert any(line.startswith("pairs.csv: ") for line in lines)
    # the page speaks of records and entities, as the terminal does
    monkeypatch.setattr(pages, "_pictures", lambda *of_page: iter(()))
    text = re.sub(r"<style>.*?</style>|<[^>]*>", " ", pages.page_of([run]), flags=re.S)
    assert f"{lines[0].partition(',')[0]}." in text and "Number of entities" in text and "pairs.csv: " in text
    assert not re.search(r"\b(items?|Entities\.csv|Pairs\.csv|within 0 nats|--columns)\b", text)
    figure = pictures.sizes(run)
    low, high = figure.axes[0].get_xlim()
    assert 0 < low < 1 and high > max(n for n, _ in entry["sizes"])
    plt.close(figure)


def test_fields_of_records_stand_below_each_other() -> None:
    records = [["ann", "", "1980", "a long street in a long town"], ["anna", "lee", "1981", ""]]
    for width in (20, 40, 80):
        lines = entities.align_records(records, width)
        places = [[k for k, letter in enumerate(line) if letter == "|"] for line in lines]
        assert places[0] == places[1] and len(places[0]) == 3 and max(map(len, lines)) <= width
    assert entities.align_records([["a", ""], ["", "b"]], 20) == ["a | –", "– | b"]


def test_the_truth_is_a_column_of_the_frame() -> None:
    keys: dict[str, Any] = {"iterations": 400, "chains": 2, "seed": 1, "progress": "none"}
    truth = [0, 0, 1, 1, 2, 3]
    named = smcmc.sample("records", pd.DataFrame(PEOPLE | {"person": truth}), truth="person", **keys)
    listed = smcmc.sample("records", pd.DataFrame(PEOPLE), truth=truth, **keys)
    assert named.run.summary["entities"] == listed.run.summary["entities"]
    with pytest.raises(DataError, match=r"data\.truth=nobody: no such column; expected one of a data frame"):
        smcmc.sample("records", pd.DataFrame(PEOPLE), truth="nobody", **keys)


@pytest.mark.parametrize(
    ("labels", "sources", "expected"),
    [
        ([0, 1, 2, 3], None, 2),
        ([0, 0, 1, 2], None, 0),
        ([0, 1, 2, 3], [0, 0, 1, 1], 0),
        ([0, 1, 2, 3], [0, 1, 1, 1], 2),
    ],
)
def test_equal_records_of_two_entities_are_counted(labels: list[int], sources: list[int] | None, expected: int) -> None:
    """Two equal records of one file are two entities; cells that are missing say nothing."""
    values = np.array([[0, 0], [0, 0], [1, -1], [1, -1]], dtype=np.int32)
    types = (ColumnType("string", NAMES[:2]), ColumnType("categorical", ("x",)))
    files = None if sources is None else np.array(sources, dtype=np.int32)
    dataset = Dataset("four", "records", values, types=types, sources=files)
    assert entities.count_equal_apart(dataset, np.array(labels, dtype=np.int32)) == expected


@pytest.mark.filterwarnings("ignore::splitmerge_cli.fits.objects.DataNote")
def test_a_run_says_that_equal_rows_are_of_two_entities() -> None:
    """One column of names that hardly repeat: what is equal may be so by chance."""
    names = [f"{a}{b}{a}{b}" for a in "abcdefgh" for b in "uvwxyz"]
    found = smcmc.sample("records", {"name": names + names[:20]}, iterations=400, chains=2, seed=1, progress="none")
    lines = list(entities.Entities.lines(found.run))
    assert any(line.startswith("40 records equal a record of another entity in every column") for line in lines)
    assert "equal a record" not in "".join(
        entities.Entities.lines(smcmc.sample("records", PEOPLE, iterations=400, chains=2, progress="none").run)
    )


def test_other_models_have_no_entities() -> None:
    found = smcmc.sample("gaussian", [[0.0], [0.1], [5.0]], iterations=20, chains=1, progress="none")
    for ask in (found.entities, found.pairs, found.review):
        with pytest.raises(ConfigError, match=r"model=gaussian has no entities; expected records"):
            ask()


@pytest.mark.parametrize("options", [{}, {"data.files": "shop"}])
def test_records_of_which_no_two_are_near_are_described(options: dict[str, str]) -> None:
    """Titles with their words in another order are not near, and near prices make no pair near."""
    things = [(f"maker{i % 7}", f"{chr(97 + i) * 6} {chr(122 - i) * 5}") for i in range(20)]
    rows = [(f"{maker} {thing}", 17.0 * i, "a") for i, (maker, thing) in enumerate(things)]
    rows += [(f"{thing} by {maker}", 17.0 * i + 170.01, "b") for i, (maker, thing) in enumerate(things)]
    frame = pd.DataFrame(rows, columns=["title", "price", "shop"])

    def lines(data: pd.DataFrame) -> str:
        keys: dict[str, Any] = {"iterations": 20, "chains": 2, "options": options}
        run = smcmc.sample("records", data if options else data.drop(columns="shop"), **keys).run
        return "\n".join(entities.Entities.lines(run))

    line = "no near pair of records agrees in more than one column, exactly or but for typing errors: words in another"
    assert line in lines(frame)
    assert line not in lines(pd.concat([frame, frame[:5].assign(shop="b")]))
