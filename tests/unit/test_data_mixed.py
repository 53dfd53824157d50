"""Mixed tables: what each column is read as, what is missing, what is left out and what is rejected."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.data.base import ColumnType, DataError, Dataset
from splitmerge_cli.data.tables.files import csv

CATEGORICAL = ColumnType("categorical")


def column(tmp_path: Path, cells: list[Any], name: str = "c", **options: Any) -> Dataset:
    """A table of a column beside one of numbers, whatever they are."""
    path = tmp_path / "t.csv"
    rows = [f'"{cell}",{i + 0.5}\n' for i, cell in enumerate(cells)]
    path.write_text(f"{name},x\n" + "".join(rows), encoding="utf-8")
    return csv(path, "mixed", **options)


def types_of(data: Dataset) -> dict[str, str]:
    assert data.types is not None and data.columns is not None
    return {name: type.type for name, type in zip(data.columns, data.types, strict=True)}


@pytest.mark.parametrize(
    ("cells", "type", "levels"),
    [
        (["no", "yes", "no", "no"], "binary", ("no", "yes")),
        (["True", "False", "True"], "binary", ("False", "True")),
        (["f", "m", "f", ""], "binary", ("f", "m")),
        ([0, 1, 1, 0], "binary", ("0", "1")),
        ([5, 3, 3, "NA"], "binary", ("3", "5")),
        (["red", "blue", "red", "green"], "categorical", ("blue", "green", "red")),
        ([f"w{i % 30:02d}" for i in range(60)], "categorical", tuple(f"w{i:02d}" for i in range(30))),
        ([1, 2, 3, 1, 2, 3], "categorical", ("1", "2", "3")),
        ([0, 2, 3, 0, 2, 3], "categorical", ("0", "2", "3")),
        (["01", "02", "03", "02"], "categorical", ("01", "02", "03")),
        ([0, 1, 2, 3, 4, 7] * 3, "count", ()),
        ([1, 3, 4], "count", ()),
        ([12, 0, 3, 0, 150, 2, 7], "count", ()),
        ([25, 31, 40, 31, 25, 40], "real", ()),
        ([1, 2, 3, -1, 2], "real", ()),
        ([1.5, 2.5, 1.5, 2.5], "real", ()),
        ([1, 2, 3, 1001, 7], "real", ()),
        (["1e3", "2.5", "-.5"], "real", ()),
        ([3.0, "", 4.0, 9.0], "count", ()),
    ],
)
def test_rules(tmp_path: Path, cells: list[Any], type: str, levels: tuple[str, ...]) -> None:
    data = column(tmp_path, cells)
    assert data.types is not None
    assert data.columns == ["c", "x"] and data.types[0] == ColumnType(type, levels)
    present = [i for i, cell in enumerate(cells) if cell not in ("", "NA")]
    assert np.isnan(data.values[:, 0]).sum() == len(cells) - len(present)
    expected = [levels.index(str(cells[i])) if levels else float(cells[i]) for i in present]
    assert data.values[present, 0].tolist() == expected


@pytest.mark.parametrize(
    ("cells", "name", "why"),
    [
        (["kg"] * 4, "c", "column 1 ('c') is left out: every value is 'kg'"),
        (["", "NA", "?"], "c", "column 1 ('c') is left out: it holds no value"),
        ([3, "", 3], "c", "is left out: every value is '3'"),
        ([17, 4, 9, 2], "id", "column 1 ('id') is left out: every value differs (data.types={id:categorical}"),
        ([17, 4, 9, 2], "patient_id", "is left out: every value differs"),
        ([1, 2, 3, 4], "rank", "column 1 ('rank') is left out: it counts the rows"),
        ([0, 1, 2, 3], "c", "it counts the rows"),
    ],
)
def test_what_is_left_out_is_said(tmp_path: Path, cells: list[Any], name: str, why: str) -> None:
    data = column(tmp_path, cells, name)
    assert data.columns == ["x"] and data.names is None
    assert why in data.notes[0]


def test_words_that_all_differ_name_the_items(tmp_path: Path) -> None:
    data = column(tmp_path, ["Ann", "Bob", "Cy"])
    assert data.names == ["Ann", "Bob", "Cy"] and data.columns == ["x"]
    assert "every value differs: they are the names of the items" in data.notes[0]
    # an item without a name is none of these
    assert column(tmp_path, ["Ann", "", "Cy", "Di"]).names is None
    assert column(tmp_path, ["Ann", "Bob", "Cy"], N=2).names is None
    # asked for, they are data
    assert types_of(column(tmp_path, ["Ann", "Bob", "Cy"], types={"c": "categorical"}))["c"] == "categorical"
    assert types_of(column(tmp_path, [1, 2, 3], "id", columns=["id", "x"]))["id"] == "count"


LONG = "a remark of some length that goes on and on, as remarks will do now and then"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["2020-01-31", "2020-02-01"], r"row 2, column 1 \('c'\): '2020-01-31': no model reads dates: data.drop=\[c\]"),
        (["1/2/2020", "2/2/2020", ""], "no model reads dates"),
        (["12:30", "9:15:00"], "no model reads dates"),
        (["3 Jan 2020", "Feb 4, 2021", "7.5.2020"], "no model reads dates"),
        (["2020-01-31T12:00:00Z", "2020-01-31 12:00", "unknown"], "no model reads dates"),
        ([f"{LONG} {i}" for i in range(20)], "free text, 20 different ones; expected words of a few kinds"),
        ([f"w{i % 101}" for i in range(300)], "101 different words in 300 rows; expected at most 100: data.types="),
        ([f"w{i % 15}" for i in range(20)], r"15 different words in 20 rows; expected at most 10: .*data.drop=\[c\]"),
        (["$5", "$7.50", "$9"], r"row 2, column 1 \('c'\): '\$5'; expected numbers alone, without percent signs"),
        (["1.5 kg", "2 kg", "7 kg"], "'1.5 kg'; expected numbers alone, without the unit 'kg'"),
        (["(200)", "300", "(150)"], r"'\(200\)'; expected numbers alone"),
        (["12%", "15 %", "20"], "'12%'; expected numbers alone"),
        (["1,200", "3,400", "900"], "'1,200'; expected numbers alone"),
        (
            [1, 2, "abc", 7],
            r"row 4, column 1 \('c'\): 'abc'; expected a number, as in 3 of 4 rows: data.missing=\[abc",
        ),
        ([1.5, 2.5, "inf", 7], "'inf'; expected a number, as in 3 of 4 rows"),
        ([1.5, 1e31, 7], r"row 3, column 1 \('c'\): '1e\+31'; expected a number of magnitude"),
    ],
)
def test_what_is_rejected_says_what_would_work(tmp_path: Path, cells: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as info:
        column(tmp_path, cells)
    assert "\n" not in str(info.value) and "data.drop=[c] leaves it out" in str(info.value)
    assert column(tmp_path, cells, drop=["c"]).columns == ["x"]


def test_an_id_that_repeats_is_asked_about(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"row 2, column 1 \('user_id'\): '17'; expected an id that differs"):
        column(tmp_path, [17, 23, 17, 9], "user_id")


def test_all_columns_that_cannot_be_read_are_left_out_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("born,a b,x,other\n2020-01-01,5%,1.5,u\n2020-01-02,6%,2.5,u\n2020-01-03,7%,4,v\n")
    with pytest.raises(DataError, match=r"data.drop=\[other,born,2\] leaves all 2 columns that cannot be read out"):
        csv(path, "mixed", drop=["other"])
    assert csv(path, "mixed", drop=["other", "born", 2]).columns == ["x"]
    with pytest.raises(DataError, match=r"data.columns=\[x\] reads the others"):
        csv(path, "mixed", columns=["born", "x"])


def test_missing_cells(tmp_path: Path) -> None:
    forms = ["", " ", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "-", ".", "<NA>", "#N/A"]
    data = column(tmp_path, [*forms, "none", "some", "none"])
    assert types_of(data)["c"] == "binary" and np.isnan(data.values[:, 0]).tolist() == [True] * len(forms) + [False] * 3
    assert f"missing cells: c {len(forms)}" in data.notes[-1]
    data = column(tmp_path, [-99, "-99.0", 1.5, "unknown", 2.5], missing=[-99, "unknown"])
    assert np.isnan(data.values[:, 0]).tolist() == [True, True, False, True, False] and types_of(data)["c"] == "real"
    assert types_of(column(tmp_path, [-99, 1.5, 2.5], missing=-99))["c"] == "real"
    with pytest.raises(DataError, match=r"data.missing=\[\[1\]\]: expected what stands in missing cells"):
        column(tmp_path, [1], missing=[[1]])


def test_rows_without_any_value_are_kept_and_counted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1.5,u\n,\n2.5,v\n")
    data = csv(tmp_path / "t.csv", "mixed")
    assert data.N == 3 and np.isnan(data.values[1]).all() and "rows without any value: 1" in data.notes[-1]


def test_the_reading_is_one_note(tmp_path: Path) -> None:
    rows = pd.DataFrame({"sex": list("fmm") * 4, "age": range(20, 32), "town": [f"t{i % 8}" for i in range(12)]})
    rows.to_csv(tmp_path / "t.csv", index=False)
    data = csv(tmp_path / "t.csv", "mixed")
    assert data.notes == [
        f"{tmp_path / 't.csv'}: columns are read as binary: sex (f 4, m 8); categorical: town (8 levels: t0 2, t1 2, "
        "t2 2, t3 2, t4 1, t5 1, ...); real: age (20 to 31) (data.types={NAME:TYPE} says otherwise)"
    ]


def test_types_may_be_said(tmp_path: Path) -> None:
    cells = [1, 2, 3, 1, 2, 3]
    for said, type in (("real", "real"), ("count", "count"), ("ordinal", "categorical")):
        assert types_of(column(tmp_path, cells, types={"c": said}))["c"] == type
    assert types_of(column(tmp_path, cells, types={1: "real"}))["c"] == "real"
    assert column(tmp_path, cells, types={"c": "skip"}).columns == ["x"]


@pytest.mark.parametrize(
    ("cells", "type", "message"),
    [
        (["a", 2, 3], "real", r"row 2, column 1 \('c'\): 'a'; expected a number \(data.types\)"),
        ([1, -2, 3], "count", r"row 3, column 1 \('c'\): '-2'; expected a whole number from 0 \(data.types\)"),
        ([1, 2.5, 3], "count", r"row 3, column 1 \('c'\): '2.5'; expected a whole number from 0"),
        ([1, 2, 3], "binary", r"column 1 \('c'\): 3 values \(1, 2, 3\); expected 2 \(data.types\)"),
        ([1, 2, 3], "number", "data.types.c=number: expected one of binary, categorical, count, real, ordinal, skip"),
    ],
)
def test_types_that_a_column_does_not_fit(tmp_path: Path, cells: list[Any], type: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        column(tmp_path, cells, types={"c": type})


def test_types_of_columns_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data.types=age: .* has no such column; expected one of c, x"):
        column(tmp_path, [1, 2], types={"age": "real"})
    with pytest.raises(DataError, match=r"data.types=real: expected columns and their types"):
        column(tmp_path, [1, 2], types="real")
    with pytest.raises(DataError, match="expected null: only model=mixed takes it, not points"):
        csv(tmp_path / "t.csv", "points", types={"c": "real"})


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_typed_tables(tmp_path: Path, suffix: str) -> None:
    rows = pd.DataFrame(
        {
            "flag": pd.array([True, None, False, True], dtype="boolean"),
            "code": pd.Categorical([10, 20, 30, None]),
            "n": pd.array([0, 400, None, 3], dtype="Int64"),
            "x": [1.5, np.nan, 2.5, 3.5],
            "word": ["a", None, "b", "a"],
            "who": ["p", "q", "r", "s"],
        }
    )
    path = tmp_path / f"t.{suffix}"
    rows.to_parquet(path) if suffix == "parquet" else rows.to_feather(path)
    data = csv(path, "mixed")
    assert types_of(data) == {"flag": "binary", "code": "categorical", "n": "count", "x": "real", "word": "binary"}
    assert data.types is not None and data.types[0].levels == ("false", "true")
    assert data.types[1].levels == ("10", "20", "30") and data.names == ["p", "q", "r", "s"]
    assert np.isnan(data.values).sum(axis=0).tolist() == [1, 1, 1, 1, 1]
    rows["when"] = pd.Timestamp("2020-01-01")
    rows["list"] = [[1]] * 4
    rows.to_parquet(path) if suffix == "parquet" else rows.to_feather(path)
    with pytest.raises(DataError, match=r"no model reads dates: data.drop=\[when,list\] leaves all 2 columns"):
        csv(path, "mixed")
    with pytest.raises(DataError, match=r"the column holds list<"):
        csv(path, "mixed", drop=["when"])


def test_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.array([[1.5, 0], [np.nan, 1], [2.5, 1]]))
    data = csv(tmp_path / "t.npy", "mixed")
    assert data.types is not None and [type.type for type in data.types] == ["real", "binary"]
    assert "column 1 (1.5 to 2.5)" in data.notes[0]


def test_tables_without_names(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("5.1,3.5,setosa\n4.9,3,setosa\n6.1,2.9,versicolor\n")
    data = csv(path, "mixed")
    assert data.N == 3 and data.columns is None and data.values[0].tolist() == [5.1, 3.5, 0]
    # years may be names of columns
    path.write_text("land,2019,2020\na,1.5,2\nb,2.5,3\n")
    with pytest.raises(DataError, match=r"row 1: 'land, 2019, 2020' may name the columns or be the first row of data"):
        csv(path, "mixed")
    assert csv(path, "mixed", header=True).names is None  # two words are binary
    path.write_text("a,7\n1.5,2\n2.5,3\n")
    with pytest.raises(DataError, match=r"row 1: 'a' beside numbers; expected names alone or numbers alone"):
        csv(path, "mixed")


def test_true_labels_are_no_data(tmp_path: Path) -> None:
    data = column(tmp_path, ["u", "v", "u"], truth="c")
    assert data.columns == ["x"] and data.truth is not None and data.truth.tolist() == [0, 1, 0]


def test_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\nu,\nu,NA\n")
    with pytest.raises(DataError, match=r"no column is left for the data \(column 1 \('a'\) is left out: every value"):
        csv(tmp_path / "t.csv", "mixed")


def test_a_large_table(tmp_path: Path) -> None:
    """Types of columns are found without looking at cells one by one."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"x": rng.normal(size=200_000), "n": rng.poisson(2, 200_000), "s": rng.choice(["a", "b"], 200_000)}
    )
    rows.to_csv(tmp_path / "t.csv", index=False)
    data = csv(tmp_path / "t.csv", "mixed")
    assert types_of(data) == {"x": "real", "n": "count", "s": "binary"} and np.array_equal(data.values[:, 0], rows["x"])
