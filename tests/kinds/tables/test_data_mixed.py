"""Mixed tables: what each column is read as, what is missing, what is left out and what is rejected."""

import datetime
import re
import shlex
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import smcmc
from splitmerge_cli.analysis.predictive import items_of
from splitmerge_cli.cli import app
from splitmerge_cli.config import specify
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.fits import candidates
from splitmerge_cli.kinds import get_kind
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.identity import file_digests
from splitmerge_cli.runs.initial import load_dataset


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
        # as the years of a study and its doses
        ([2007, 2008, 2009] * 5, "categorical", ("2007", "2008", "2009")),
        ([0.5, 1, 2] * 5, "categorical", ("0.5", "1", "2")),
        ([-1, 0, 1, 0, 1] * 5, "categorical", ("-1", "0", "1")),
        ([1.5, 2.5] * 5, "binary", ("1.5", "2.5")),
        (list(range(1, 13)) * 5, "categorical", tuple(map(str, range(1, 13)))),
        # rare values at an end, or too many of them
        ([2007] * 40 + [2008] * 40 + [2009] * 4, "real", ()),
        ([2007, 2008, 2009] * 4, "real", ()),
        (list(range(30, 43)) * 9, "real", ()),
        # Poisson, mean 1; a scale from 0
        ([0] * 37 + [1] * 37 + [2] * 18 + [3] * 6 + [4] * 2, "count", ()),
        ([0, 1, 2, 3, 4] * 6, "categorical", ("0", "1", "2", "3", "4")),
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


LONG = "a remark of some length that goes on and on, as remarks will do now and then"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["$5", "7.50 €", "$9"], r"row 3, column 1 \('c'\): '7.50 €'; expected one currency, as in '\$5'"),
        (["1.200 €", "3.400 €", "7 €"], "'1.200 €'; expected a cell that shows .*: data.types={c:real} reads points"),
        (["52 kg", "150 cm", "60 kg"], r"row 3, column 1 \('c'\): '150 cm'; expected a unit that .* converted to kg"),
        (["158 cm", "159", "1.61 m"], "'159'; expected a unit in every cell or in none, as in '158 cm'"),
        (["10 mg", "none", "20 mg"], r"'none'; expected a number: data.missing=\[none\] reads it as missing, or data"),
        (["10 mg", "NA mg", "20 mg"], r"'NA mg'; expected a number: data.missing=\['NA mg'\] reads it as missing"),
        (["12%", "15 %", "20"], "'20'; expected percent signs in all cells or in none"),
        (["1,200", "3,400", "9,000 for two"], "'9,000 for two'; expected a number"),
        ([1, 2, "abc", 7], r"row 4, column 1 \('c'\): 'abc'; expected a number, as in 3 of 4 rows: data.missing=\[abc"),
        ([1.5, 2.5, "inf", 7], "'inf'; expected a number, as in 3 of 4 rows"),
        ([1.5, 1e31, 7], r"row 3, column 1 \('c'\): '1e\+31'; expected a number of magnitude"),
    ],
)
def test_what_is_rejected_says_what_would_work(tmp_path: Path, cells: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as info:
        column(tmp_path, cells)
    assert "\n" not in str(info.value) and "data.drop=[c] leaves it out" in str(info.value)
    assert column(tmp_path, cells, drop=["c"]).columns == ["x"]


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([f"{LONG} {i}" for i in range(20)], "free text, 20 different"),
        ([f"w{i % 101}" for i in range(300)], "101 different words in 300 rows"),
        ([f"w{i % 15}" for i in range(20)], "15 different words in 20 rows"),
    ],
)
def test_texts_of_too_many_words_are_left_out_unless_chosen(tmp_path: Path, cells: list[str], why: str) -> None:
    data = column(tmp_path, cells)
    assert data.columns == ["x"] and "column 1 ('c') is left out: " in data.notes[0] and why in data.notes[0]
    with pytest.raises(DataError, match=rf"row 2, column 1 \('c'\): .*{why}.*; expected .*data.columns=\[x\]"):
        column(tmp_path, cells, columns=["c", "x"])
    assert column(tmp_path, cells, types={"c": "categorical"}).columns == ["c", "x"]


def test_words_that_hardly_repeat_name_the_rows(tmp_path: Path) -> None:
    """As animals of a zoo, two of which are called frog: no names of people, which model=records compares."""
    animals = [f"{a}{b}" for a in ("ant", "bea", "cow", "dove", "emu", "fox") for b in ("", "xy", "zu", "wir", "lop")]
    data = column(tmp_path, [*animals, "cow"], name="name")
    assert data.names == [*animals, "cow (row 32)"] and data.columns == ["x"]
    (note, *others) = data.notes
    assert "'name') is left out: 30 different words in 31 rows, more than 15: they are the names of the items" in note
    assert not any("records" in other for other in others)
    # a tenth of the cells repeat others
    assert column(tmp_path, [*animals, *animals[:3]]).names is not None
    often = column(tmp_path, [*animals, *animals[:4]])
    assert often.names is None and "more than 17 (data.types={c:categorical}" in often.notes[0]


def test_rows_of_quoted_text_are_numbered_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes, lines = [], Text.lines
    monkeypatch.setattr(Text, "lines", lambda text: passes.append(1) or lines(text))
    # each tenth name comes a second time; a name may have a line break
    names = [f"Film {i - i % 10 % 2 * (i % 10 == 1)}{chr(10) * (i == 5)}" for i in range(300)]
    (tmp_path / "t.csv").write_text("title,x\n" + "".join(f'"{name}",{i % 7}.{i}\n' for i, name in enumerate(names)))
    data = csv(tmp_path / "t.csv", "mixed", types={"x": "real"})
    assert data.names is not None and data.names[1] == "Film 0 (row 3)" and data.names[11] == "Film 10 (row 14)"
    assert len(passes) < 12


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["2020-01-31", "2020-02-01"], [18292, 18293]),
        (["1/2/2020", "13/2/2020", ""], [18293, 18305, np.nan]),
        (["2/1/2020", "2/13/2020"], [18293, 18305]),
        (["3 Jan 2020", "Feb 4, 2021", "7.5.70"], [18264, 18662, 126]),
        (["2020-01-31T12:00:00Z", "2020-01-31 6:00 PM", "NA"], [18292.5, 18292.75, np.nan]),
    ],
)
def test_dates_are_left_out_or_days(tmp_path: Path, cells: list[str], days: list[float]) -> None:
    data = column(tmp_path, cells)
    way = "(data.types={c:date} reads it as days since 1970-01-01)"
    assert data.columns == ["x"] and f"is left out: it holds dates, as '{cells[0]}' {way}" in data.notes[0]
    with pytest.raises(
        DataError, match=r"row 2, column 1 \('c'\): .*: no model reads dates: data.types={c:date} reads"
    ):
        column(tmp_path, cells, columns=["c", "x"])
    asked = column(tmp_path, cells, types={"c": "date"})
    assert types_of(asked)["c"] == "real" and "dates are days since 1970-01-01" in asked.notes[0]
    np.testing.assert_allclose(asked.values[:, 0], days)
    # new rows are read as the data were, whichever they are
    kind = get_kind("mixed")
    np.testing.assert_allclose(kind.new_items(asked, pd.DataFrame({"c": cells, "x": 0.5})).values[:, 0], days)
    assert kind.reader_options(asked)["types"] == {"c": "date", "x": "real"}


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["$1,200.50", "-$3", "($7)"], [1200.5, -3, -7]),
        (["1.200,50 €", "3 €", "", "4 €"], [1200.5, 3, np.nan, 4]),
        (["12%", "15.5 %", "0%"], [12, 15.5, 0]),
        (["1,200", "3,400", "900"], [1200, 3400, 900]),
        (["1 200", "1'200.5", "7"], None),
        (["1\xa0200,5", "7", "8"], [1200.5, 7, 8]),
        (["(200)", "300", "(150)"], [-200, 300, -150]),
        (["1.234.567", "2.000", "10"], [1234567, 2000, 10]),
    ],
)
def test_currencies_percentages_and_thousands(tmp_path: Path, cells: list[str], values: list[float] | None) -> None:
    if values is None:  # two signs between thousands are two ways, both of them numbers
        values = [1200, 1200.5, 7]
    data = column(tmp_path, cells)
    assert types_of(data)["c"] == "real" and f"cells such as '{cells[0]}' are read as numbers" in data.notes[0]
    np.testing.assert_array_equal(data.values[:, 0], values)
    new = get_kind("mixed").new_items(data, pd.DataFrame({"c": cells, "x": 0.5}))
    np.testing.assert_array_equal(new.values[:, 0], values)
    assert types_of(column(tmp_path, cells, types={"c": "real"}))["c"] == "real"


def test_columns_that_share_a_name_are_told_apart(tmp_path: Path) -> None:
    frame = pd.DataFrame([[0.5, 7.5, 0.5], [1.5, 2.5, 1.5], [4.5, 9.5, 4.5]], columns=["a", "a", "a"])
    (tmp_path / "t.csv").write_text(frame.to_csv(index=False))
    for kind in ("mixed", "points"):
        for data in (csv(tmp_path / "t.csv", kind), from_object(frame, kind)):
            assert data.columns == ["a.1", "a.2"]
            said = " ".join(data.notes)
            assert "columns 1, 2, 3 are all called 'a': they are read as 'a.1', 'a.2', 'a.3'" in said
            assert "column 3 ('a.3') holds the cells of column 1 ('a.1'): it is left out" in said
            assert get_kind(kind).new_items(data, frame).values.tolist() == frame.iloc[:, :2].to_numpy().tolist()
        assert csv(tmp_path / "t.csv", kind, columns=["a.3"]).values.tolist() == [[0.5], [1.5], [4.5]]
        with pytest.raises(DataError, match=r"data.drop=a: .* 3 columns with that name; expected a.1, a.2, a.3"):
            csv(tmp_path / "t.csv", kind, drop=["a"])


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("pidnum", [1000 + 7 * i % 89 for i in range(60)], "every value differs"),
        ("patient no", [1000 + 7 * i % 89 for i in range(60)], "every value differs"),
        ("rownames", [3 * i for i in range(60)], "every value differs"),
        ("family", [i // 4 for i in range(60)], "it numbers groups of 4 rows from 0"),
        ("g", [1 + i // 2 for i in range(60)], "it numbers groups of 2 rows from 1"),
        ("individual", [i * 7 % 20 for i in range(60)], "it is an id that repeats"),
        ("week", [i // 4 for i in range(60)], None),  # a measurement of time
        ("g", [i // 4 + (i > 30) for i in range(60)], None),
        ("persons", [i * 7 % 6 for i in range(60)], None),
        ("humidity", [1000 + 7 * i % 89 for i in range(60)], None),
    ],
)
def test_numbers_that_name_rows_or_groups_of_rows_are_left_out(
    tmp_path: Path, name: str, values: list[int], said: str | None
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"x,{name}\n" + "".join(f"{0.5 * (i * i % 17)},{value}\n" for i, value in enumerate(values)))
    read = csv(path, "mixed")
    assert (read.columns == ["x", name]) == (said is None)
    assert said is None or any(f"column 2 ('{name}') is left out: {said}" in note for note in read.notes)
    assert csv(path, "mixed", types={2: "real"}).columns == ["x", name]


def test_a_number_that_many_rows_hold_is_said(tmp_path: Path) -> None:
    spiked = [0.0] * 25 + [0.37 * i * i for i in range(1, 76)]
    assert any(
        "25% of the rows hold 0: model=auto compares whether that number has a probability of its own" in n
        for n in column(tmp_path, spiked).notes
    )
    assert not any("of the rows hold" in note for note in column(tmp_path, [0.5, *spiked[14:]]).notes)


def test_classes_that_the_file_names_and_frequencies_are_noted(tmp_path: Path) -> None:
    rows = "".join(f"{'uvw'[i % 3]}\t{(i * 7) % 11 + 0.5}\n" for i in range(30))
    for role, is_noted in (("class", True), ("", False)):
        notes = csv(write(tmp_path, f"kind\tx\nd\tc\n{role}\t\n{rows}"), "mixed").notes
        assert any("column 1 ('kind') has 3 values. If it is a label" in note for note in notes) == is_noted
    cells = "".join(f"{'uvw'[i % 3]},{'ab'[i % 2]},{2 + i * i}\n" for i in range(30))
    assert any(
        "data.weights=Freq counts rows so" in n for n in csv(write(tmp_path, f"e,s,Freq\n{cells}"), "mixed").notes
    )


def test_successive_years_are_names_of_columns(tmp_path: Path) -> None:
    rows = "".join(f"c{i},k,{i}.5,{i % 7}.25,\n" for i in range(30))
    read = csv(write(tmp_path, f"Country,Kind,1990,1995,2000\n{rows}"), "mixed")
    assert "its words and years, 1990 to 2000, are read as names of columns" in " ".join(read.notes)
    without = csv(write(tmp_path, f"Country,Kind,1990,1995,2000\n{rows}"), "mixed", drop=[2, 3, 5])
    assert (without.N, without.column_names) == (30, ["1995"])
    for years in ("1990,1995,2001", "2000,1995,1990"):
        with pytest.raises(DataError, match=r"data.header=true or false"):
            csv(write(tmp_path, f"Country,Kind,{years}\n{rows}"), "mixed")


def write(folder: Path, text: str) -> Path:
    path = folder / "years.csv"
    path.write_text(text)
    return path


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
    with pytest.raises(DataError, match=r"the column holds list<.*: data.drop=\[list\] leaves it out"):
        csv(path, "mixed")
    data = csv(path, "mixed", drop=["list"], types={"when": "date"})
    assert data.columns is not None and data.columns[-1] == "when" and set(data.values[:, -1]) == {18262}


def test_a_large_table(tmp_path: Path) -> None:
    """Types of columns are found without looking at cells one by one."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"x": rng.normal(size=200_000), "n": rng.poisson(2, 200_000), "s": rng.choice(["a", "b"], 200_000)}
    )
    rows.to_csv(tmp_path / "t.csv", index=False)
    data = csv(tmp_path / "t.csv", "mixed")
    assert types_of(data) == {"x": "real", "n": "count", "s": "binary"} and np.array_equal(data.values[:, 0], rows["x"])


SPECIES = np.random.default_rng(1).negative_binomial(0.4, np.linspace(0.1, 0.9, 12), (40, 12))
"""Abundances: of a few common and many rare species."""
ANSWERS = np.random.default_rng(2).choice(4, (200, 9), p=[0.55, 0.25, 0.13, 0.07]) * (np.arange(9) > 3)
ANSWERS[:, :4] = np.random.default_rng(3).choice(4, (200, 4), p=[0.78, 0.15, 0.05, 0.02])


def neighbours(tmp_path: Path, columns: np.ndarray, *others: tuple[str, Any]) -> Dataset:
    frame = pd.DataFrame(columns, columns=[f"s{j}" for j in range(columns.shape[1])])
    frame.assign(**dict(others), x=np.arange(len(frame)) + 0.5).to_csv(tmp_path / "t.csv", index=False)
    return csv(tmp_path / "t.csv", "mixed")


@pytest.mark.parametrize(("columns", "type", "word"), [(SPECIES, "count", "counts"), (ANSWERS, "categorical", "categ")])
def test_columns_that_are_alike_are_read_alike(tmp_path, columns, type, word):
    alone = {types_of(neighbours(tmp_path, columns[:, [j]]))["s0"] for j in range(columns.shape[1])}
    assert len(alone) > 1
    data = neighbours(tmp_path, columns)
    assert {types_of(data)[f"s{j}"] for j in range(columns.shape[1])} == {type}
    (note,) = [note for note in data.notes if "judged together" in note]
    assert word in note and len(note.removeprefix(f"{tmp_path}/")) <= 80


def test_large_numbers_are_counts_where_the_totals_of_rows_differ(tmp_path):
    rng = np.random.default_rng(6)
    shares, totals = rng.dirichlet(np.ones(6), 60), rng.integers(400, 3001, 60)
    samples = np.stack([rng.multinomial(n, p) for n, p in zip(totals, shares, strict=True)])
    assert set(types_of(neighbours(tmp_path, samples)).values()) == {"count", "real"}
    # beyond what a count may be none is one
    beyond = types_of(neighbours(tmp_path, samples * 10_000_000))
    assert len(beyond) == 7 and set(beyond.values()) == {"real"}
    # rows of one total, and four columns
    equal = np.stack([rng.multinomial(1200, p) for p in shares])
    for others in (equal, samples[:, :4]):
        assert set(types_of(neighbours(tmp_path, others)).values()) == {"real"}


def test_columns_that_differ_are_read_as_they_are_alone(tmp_path):
    """A flag that half of the rows hold, words, years, and an age are no counts, though species stand around them."""
    flag, age = np.arange(40) % 2, np.random.default_rng(4).integers(200, 900, 40)
    others = {"flag": flag, "rating": np.arange(40) % 5 + 901, "age": age + 0.0, "rare": np.arange(40) == 3}
    types = types_of(neighbours(tmp_path, SPECIES, *others.items()))
    assert types["rare"] == "binary"
    assert (types["flag"], types["rating"], types["age"], types["s0"]) == ("binary", "categorical", "real", "count")
    # between two columns of words there are too few; nor are categories alone counts
    few = neighbours(tmp_path, SPECIES[:, [0, 11, 10]])
    assert types_of(few)["s1"] != "count"
    codes = np.random.default_rng(5).choice(3, (40, 12), p=[0.6, 0.3, 0.1])
    assert set(types_of(neighbours(tmp_path, codes)).values()) == {"categorical", "real"}
    # what is named stays
    named = csv(tmp_path / "t.csv", "mixed", types={"s3": "real"})
    assert types_of(named)["s3"] == "real"


def test_columns_that_became_categories_for_one_reason_have_one_note() -> None:
    years = {f"year{k}": np.roll([1990 + k] * 20 + [2001] * 20 + [2012] * 20, 7 * k) for k in range(3)}
    frame = pd.DataFrame({"x": np.linspace(0, 1, 60)} | years)
    notes = [note for note in from_object(frame, "mixed").notes if "different numbers" in note]
    assert len(notes) == 1 and "('year0'): 3 different numbers, each in 20 rows" in notes[0]
    assert notes[0].endswith("; likewise column 3 ('year1'), column 4 ('year2')")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_are_seconds_and_nanoseconds_are_dates(tmp_path: Path, unit: str) -> None:
    seconds = np.array([75.0, 3600.0, np.nan, 90.0, 61.0])
    last = pd.Series(pd.to_timedelta(seconds, unit="s")).astype(f"timedelta64[{unit}]")
    when = pd.Series(pd.to_datetime([1472588086377577680] * 5)).astype(f"datetime64[{unit}]")
    frame = pd.DataFrame({"last": last, "when": when, "x": [1.5, 2.5, 3.5, 4.5, 5.5]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.feather")
    kind = get_kind("mixed")
    objects = [frame, frame.astype({"last": object}), pl.from_pandas(frame), pa.Table.from_pandas(frame)]
    for data in [
        *(from_object(each, "mixed", types={"when": "date"}) for each in objects),
        *(csv(tmp_path / f"t.{suffix}", "mixed", types={"when": "date"}) for suffix in ("parquet", "feather")),
    ]:
        assert types_of(data) == {"last": "real", "when": "real", "x": "real"}
        np.testing.assert_array_equal(data.values[:, 0], seconds)
        np.testing.assert_allclose(data.values[:, 1], 17043.84, atol=0.01)
        assert "durations are read as seconds" in " ".join(data.notes)
        new = kind.new_items(data, frame.assign(last=last[::-1].to_numpy()))
        np.testing.assert_array_equal(new.values[:, 0], seconds[::-1])
    plain = from_object(frame[["last", "x"]], "points")
    np.testing.assert_array_equal(plain.values[:, 0], seconds)
    np.testing.assert_array_equal(get_kind("points").new_items(plain, frame).values, plain.values)
    array = from_object(frame[["last"]].to_numpy().repeat(2, axis=1), "points")
    np.testing.assert_array_equal(array.values[:, 1], seconds)
    assert array.notes[-1] == "data: durations are read as seconds"


def test_auto_says_what_it_leaves_out() -> None:
    r = np.random.default_rng(0)
    frame = pd.DataFrame({"x": r.normal(size=30), "at": [datetime.time(i % 24, 5) for i in range(30)]})
    with pytest.warns(smcmc.DataNote, match=r"column 2 \('at'\) is left out: it holds times, as '00:05:00'"):
        smcmc.sample(frame, iterations=20, chains=2, progress="none")


@pytest.mark.parametrize(
    ("cells", "values", "unit"),
    [
        (["1.5 kg", "2 kg", "7 kg", "3 kg"], [1.5, 2, 7, 3], "kg"),
        (["152 cm", "1.58 m", "150cm", "1.5 m", "161 cm"], [152, 158, 150, 150, 161], "cm"),
        (["158 CM", "1.6 M", "1.7 m", "160.5 cm", ""], [158, 160, 170, 160.5, np.nan], "CM"),
        (["1,58 m", "158 cm", "1,6 m"], [1.58, 1.58, 1.6], "m"),
        (["100 lbs", "50 kg", "120 lb", "NA"], [100, 110.231131092, 120, np.nan], "lbs"),
        (["20 °C", "68 °F", "-5 °C", "−2 °C"], [20, 20, -5, -2], "°C"),
        (["68 F", "20 C", "70.5 F"], [68, 68, 70.5], "F"),
        (["90 min", "1.5 h", "2 hours", "45 min"], [90, 90, 120, 45], "min"),
        (["18 km/h", "5 m/s", "20.5 km/h"], [18, 18, 20.5], "km/h"),
        (["512 MB", "1.5 GB", "256 MB"], [512, 1500, 256], "MB"),
        (["300 K", "310 K", "305 K"], [300, 310, 305], "K"),
        (["1 µg", "2 mg", "3 mg"], [0.001, 2, 3], "mg"),
        (["5'7\"", "5 ft 11 in", "6′0.5″", "5ft2", "6'"], [67, 71, 72.5, 62, 72], "in"),
        (["170 cm", "5 feet 7 inches", "6’1”", "181 cm", "160 cm"], [170, 170.18, 185.42, 181, 160], "cm"),
        (["586k", "1.5M", "950", "1,200", "2.1m"], [586e3, 1.5e6, 950, 1200, 2.1e6], ""),
        (["$586k", "$1.5M", "$950"], [586e3, 1.5e6, 950], ""),
        (["1,5 Mio. €", "586k €", "3 Mio. €"], [1.5e6, 586e3, 3e6], ""),
        (["50K", "60K", "81K"], [50e3, 60e3, 81e3], ""),
    ],
)
def test_units_are_converted_and_factors_multiplied(
    tmp_path: Path, cells: list[str], values: list[float], unit: str
) -> None:
    rows = len(cells)
    frame = pd.DataFrame({"c": cells, "x": np.arange(rows) + 0.5})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for kind in ("mixed", "points"):
        for data in (csv(tmp_path / "t.csv", kind), from_object(frame, kind)):
            assert data.columns == ["c", "x"] and data.meta.get("units", {}).get(0, "") == unit
            np.testing.assert_array_equal(data.values[:, 0], values)
            shown = next(note for note in data.notes if "are read as numbers, " in note)
            assert shown.startswith(f"{data.meta.get('path', 'data')}: column 1 ('c'): cells such as ")
            assert shown.endswith(f" {unit}".rstrip()) or not unit
            # new rows are read in the unit of the data, whichever they have
            again = get_kind(kind).new_items(data, get_kind(kind).as_given(data))
            np.testing.assert_array_equal(again.values, data.values)
        for i in (0, 1):
            new = get_kind(kind).new_items(data, pd.DataFrame({"x": [0.5], "c": [cells[i]]}))
            np.testing.assert_array_equal(new.values[:, 0], values[i])
            new = get_kind(kind).new_items(data, [[cells[i], 0.5]])
            np.testing.assert_array_equal(new.values[:, 0], values[i])
        assert get_kind(kind).new_items(data, pd.DataFrame({"c": [7.5], "x": [0.5]})).values.tolist() == [[7.5, 0.5]]
    if unit and unit != "°C":
        with pytest.raises(DataError, match=f"'12 acres'; expected a unit that can be converted to {unit}"):
            get_kind("mixed").new_items(from_object(frame, "mixed"), pd.DataFrame({"c": ["12 acres"], "x": 0.5}))


@pytest.mark.parametrize("kind", ["mixed", "points"])
def test_units_in_all_formats(tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame({"h": ["152 cm", "1.58 m", "161 cm"], "n": ["2k", "950", "1.5M"], "p": ["$5", "$7.5", "$6"]})
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.feather")
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    files = [csv(tmp_path / f"t.{suffix}", kind) for suffix in ("tsv", "parquet", "feather", "xlsx")]
    for data in (*files, from_object(pl.from_pandas(frame), kind), from_object(pa.Table.from_pandas(frame), kind)):
        assert data.values.tolist() == [[152, 2000, 5], [158, 950, 7.5], [161, 1.5e6, 6]] and data.columns == [
            "h",
            "n",
            "p",
        ]
        assert data.meta["units"] == {0: "cm"} and sum("are read as numbers" in note for note in data.notes) == 3


def test_doses_are_categories_and_rooms_counts_as_without_their_unit(tmp_path: Path) -> None:
    doses = column(tmp_path, ["5 mg", "20 mg", "10 mg"] * 8)
    assert doses.types is not None and doses.types[0] == ColumnType("categorical", ("5", "10", "20"))
    new = pd.DataFrame({"c": ["0.01 g", "20 mg", "5", "7 mg"], "x": 0.5})
    np.testing.assert_array_equal(get_kind("mixed").new_items(doses, new).values[:, 0], [1, 2, 0, np.nan])
    again = get_kind("mixed").new_items(doses, get_kind("mixed").as_given(doses))
    np.testing.assert_array_equal(again.values, doses.values)
    assert types_of(column(tmp_path, ["3 rooms", "14 rooms", "2 rooms", "4 rooms"]))["c"] == "count"


def test_words_in_an_order(tmp_path: Path) -> None:
    order = ["never", "rarely", "often", "always"]
    cells = ["often", "never", "rarely", "Rarely", "", "NEVER", "often"] * 3
    categories = pd.Categorical([word.lower() or None for word in cells], order, ordered=True)
    frame = pd.DataFrame({"c": categories, "x": np.arange(21) + 0.5})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=5)
    frame.to_feather(tmp_path / "t.feather")
    words = frame.assign(c=cells)
    enum = pl.DataFrame(
        {"c": pl.Series([word.lower() or None for word in cells], dtype=pl.Enum(order)), "x": frame["x"]}
    )
    for data in [
        column(tmp_path, cells, types={"c": order}),
        from_object(words, "mixed", types={"c": order}),
        *(from_object(each, "mixed") for each in (frame, enum, pa.Table.from_pandas(frame))),
        *(csv(tmp_path / f"t.{suffix}", "mixed") for suffix in ("parquet", "feather")),
    ]:
        assert data.types is not None and data.types[0] == ColumnType("ordinal", ("never", "rarely", "often"))
        np.testing.assert_array_equal(data.values[:7, 0], [2, 0, 1, 1, np.nan, 0, 2])
        assert "levels that no row holds: always" in data.notes[0]
        np.testing.assert_array_equal(get_kind("mixed").new_items(data, words).values, data.values)
    grades = from_object(frame.assign(c=pd.Categorical([3, 1, 2] * 7, ordered=True)), "mixed")
    assert grades.types is not None and grades.types[0] == ColumnType("ordinal", ("1", "2", "3"))
    assert types_of(column(tmp_path, ["no", "yes"] * 3, types={"c": ["yes", "no"]}))["c"] == "binary"


def test_the_order_of_words_is_a_key_of_the_command_line(tmp_path: Path) -> None:
    column(tmp_path, ["often", "never", "rarely"] * 3)
    run = CliRunner().invoke(app, ["columns", str(tmp_path / "t.csv"), "data.types={c:[never,rarely,often]}"])
    assert "c       ordinal  never 3, rarely 3, often 3" in run.output


@pytest.mark.parametrize(
    ("cells", "levels", "codes", "note"),
    [
        (
            ["yes", "YES", "Y", "no", "No", "n", "yes"],
            ("No", "yes"),
            [1, 1, 1, 0, 0, 0, 1],
            "'Y', 'YES', 'yes' are one",
        ),
        (["M", "male", "F", "f", "Female", "female"], None, [1, 1, 0, 0, 0, 0], "'M', 'male' are one level"),
        (
            ["Rome", "rome", "Ulm", "Bonn", "ROME"],
            ("Bonn", "ROME", "Ulm"),
            [1, 1, 2, 0, 1],
            "'ROME', 'Rome', 'rome' are",
        ),
        (["AA", "Aa", "aa", "AA", "Aa"], ("AA", "Aa", "aa"), [0, 1, 2, 0, 1], ""),
        (["a", "ab", "b", "a", "ab"], ("a", "ab", "b"), [0, 1, 2, 0, 1], ""),
    ],
)
def test_spellings_of_one_word_are_one_level(
    tmp_path: Path, cells: list[str], levels: tuple[str, ...] | None, codes: list[int], note: str
) -> None:
    data = column(tmp_path, cells * 3)
    assert data.types is not None and levels in (None, data.types[0].levels)
    assert data.values[: len(cells), 0].tolist() == codes
    said = " ".join(data.notes)
    assert note in said and ("(data.types={c:categorical} reads words as they are written)" in said) == bool(note)
    np.testing.assert_array_equal(
        get_kind("mixed").new_items(data, pd.DataFrame({"c": cells, "x": 0.5})).values[:, 0], codes
    )
    assert data.types[0].levels != column(tmp_path, cells * 3, types={"c": "categorical"}).types[0].levels or not note


@pytest.mark.parametrize("model", ["gaussian", "mixed"])
def test_units_of_a_file_of_new_rows_become_those_of_the_data(tmp_path: Path, model: str) -> None:
    (tmp_path / "t.csv").write_text("h,w\n152 cm,1.5 kg\n1.58 m,2 kg\n161 cm,7 kg\n")
    (tmp_path / "new.csv").write_text("w,h\n500 g,1.75 m\n3 kg,1.6 m\n")
    spec = specify(["data=csv", f"data.path={tmp_path / 't.csv'}", f"model={model}"])
    data = load_dataset(spec.data, spec.model.kind, file_digests(spec.data))
    assert items_of(spec.data, data, str(tmp_path / "new.csv")).values.tolist() == [[175, 0.5], [160, 3]]


def test_a_reading_is_simpler_that_has_fewer_parameters() -> None:
    """Ages from 1 to 9 have eight shares as categories, two parameters as numbers or in their order."""
    frame = pd.DataFrame({"age": [*range(1, 10)] * 4})
    parameters = {
        type: candidates._count_parameters({"name": "mixed"}, from_object(frame, "mixed", types={"age": type}))
        for type in ("ordinal", "real", "categorical")
    }
    assert parameters == {"ordinal": 2, "real": 2, "categorical": 8}


def test_notes_that_differ_in_numbers_are_one_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    free = {
        name: np.where(rng.random(100) < share, at, rng.normal(size=100))
        for name, share, at in (("a", 0.5, 0.0), ("b", 0.5, -2.5), ("c", 0.9, 7.0))
    }
    years = {name: 2000 + rng.permutation(np.arange(100) % n) for name, n in (("d", 5), ("e", 5), ("f", 4))}
    first, second, *_ = from_object(pd.DataFrame(free | years), "mixed").notes
    assert "of the rows hold 0: " in first and "data.drop='[a]' leaves the column out" in first
    assert first.endswith("; likewise, with other numbers, column 2 ('b'), column 3 ('c')")
    assert second.endswith("; likewise, with other numbers, column 5 ('e'), column 6 ('f')")
    alike, *_ = from_object(pd.DataFrame({"x": rng.normal(size=100)} | {k: years[k] for k in "de"}), "mixed").notes
    assert alike.endswith("; likewise column 3 ('e')")


def test_weights_and_ids_that_repeat_are_told_from_measurements(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40, 9, 60).round(1), "weight": rng.normal(70, 9, 60).round(1)})
    frame = frame.assign(**{"final wgt": rng.gamma(2, 900, 60).round(3), "person_id": np.arange(60) // 3 + 100})
    frame.to_csv(tmp_path / "t.csv", index=False)
    notes = csv(tmp_path / "t.csv", "mixed").notes
    (weights,) = [note for note in notes if "stands for" in note]
    assert "column 3 ('final wgt'): if it says" in weights
    assert "'data.drop=[3]' leaves it out, data.weights=3 counts" in weights
    assert any("data.group=person_id makes one item of the rows of each id (" in note for note in notes)
    named = csv(tmp_path / "t.csv", "mixed", weights=3, group="person_id")
    assert named.N == 60 and not any("stands for" in note for note in named.notes)


def test_columns_of_units_are_named_as_a_command_takes_them(tmp_path):
    frame = pd.DataFrame({"unit": np.arange(40) // 4, "born in": np.arange(40) // 4 % 3, "x": np.arange(40) ** 1.5})
    frame.to_csv(tmp_path / "t.csv", index=False)
    notes = csv(tmp_path / "t.csv", "mixed", group="unit").notes
    (constant,) = [note for note in notes if "one value of" in note]
    (words,) = re.findall(r"single units \((.*)\)$", constant)
    assert shlex.split(words) == ["data.drop=['born in']"]


def test_orders_of_words_are_one_note_where_the_words_are_the_same(tmp_path):
    rng, moods = np.random.default_rng(0), ["low", "high", "medium"]
    words = {"age": ["18-24", "25-34", "35+"], "u": moods, "v": moods, "w": ["10-20", "20-30", "30-40"]}
    frame = pd.DataFrame({key: rng.choice(levels, 40) for key, levels in words.items()})
    frame.to_csv(tmp_path / "t.csv", index=False)
    orders = [note.partition(": ")[2] for note in csv(tmp_path / "t.csv", "mixed").notes if "have an order" in note]
    assert len(orders) == 3 and "likewise column 3 ('v')" in orders[1] and "10-20 to 30-40" in orders[2]
    assert all("likewise" not in note for note in (orders[0], orders[2]))


def test_words_that_all_stand_in_as_many_rows_may_be_measured_again(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"firm": np.repeat([f"F{i}" for i in range(15)], 4), "x": rng.normal(size=60).round(3)})
    for rows, is_said in ((frame, True), (frame.iloc[:-1], False), (frame.iloc[:40], False)):
        rows.to_csv(tmp_path / "t.csv", index=False)
        found = [note for note in csv(tmp_path / "t.csv", "mixed").notes if "data.group=firm keeps" in note]
        assert len(found) == is_said and all("each of 15 words stands in 4 rows" in note for note in found)


def test_days_of_eight_digits_in_a_frame_are_dates():
    frame = pd.DataFrame({"day": [20240131, 20231205, 20240229, 20240105], "x": [0.5, 1.5, 0.25, 4.0]})
    data = from_object(frame, "mixed", types={"day": "date"})
    assert data.values[:, 0].tolist() == [19753, 19696, 19782, 19727]
    assert from_object(frame, "mixed").columns == ["x"]


def test_intervals_periods_and_what_arrow_does_not_take_are_read():
    """Each ended in a message of Arrow's."""
    n = 30
    ages = pd.cut(np.linspace(18, 80, n), [0, 30, 50, 100])
    frame = pd.DataFrame({"cut": ages, "bin": ages.astype(pd.IntervalDtype(np.int64)), "x": np.arange(n) ** 0.5})
    frame["month"] = pd.period_range("2000-01", periods=n, freq="M")
    frame["mixed"] = [1, "a", None, "a", "a"] * 6
    frame["path"] = [Path("a"), Path("b"), Path("c")] * 10
    frame["big"] = [2**70, 2**70 + 1, 2**70 + 2] * 9 + [2**70] * 3
    data = from_object(frame, "mixed", types={"month": "date"})
    types = dict(zip(data.columns or (), data.types or (), strict=True))
    levels = ("(0, 30]", "(30, 50]", "(50, 100]")
    assert types["cut"] == ColumnType("ordinal", levels) and "bin" not in types  # it says the same as cut
    assert types["month"].type == "real" and data.values[:2, [*types].index("month")].tolist() == [10957.0, 10988.0]
    assert types["mixed"].levels == ("1", "a") and types["path"].levels == ("a", "b", "c")
    assert types["big"].levels == tuple(str(2**70 + k) for k in range(3))
    ids = [uuid.UUID(int=k) for k in range(n)]
    assert from_object(frame[["x"]].assign(uid=ids), "mixed").names == [*map(str, ids)]
    alone = from_object(frame[["bin", "x"]], "mixed")
    assert (alone.types or ())[0] == ColumnType("ordinal", levels)
    left_out = from_object(frame[["x", "month"]], "mixed").notes
    assert any("'month') is left out: it holds dates, as '2000-01-01" in note for note in left_out)


def test_distances_in_any_form_are_noted(tmp_path):
    x = np.random.default_rng(0).normal(size=(6, 2))
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    np.save(tmp_path / "t.npy", distances)
    frame = pd.DataFrame(distances, columns=[*"abcdef"])
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    frame.to_csv(tmp_path / "t.csv", index=False)
    read = [csv(tmp_path / f"t.{end}", kind) for end in ("npy", "xlsx", "csv") for kind in ("points", "mixed")]
    read += [from_object(distances, "points"), from_object(frame, "mixed")]
    said = "its numbers are a symmetric matrix: if it holds distances or correlations, its rows are no measurements"
    assert all(any(said in note for note in data.notes) for data in read)
    others = frame.iloc[:5], frame.iloc[:, :5], frame.assign(a=frame["b"]), frame.iloc[:4, :4]
    assert not any("symmetric" in note for one in others for note in from_object(one, "points").notes)


def test_numbers_of_groups_of_rows_may_be_the_items():
    frame = pd.DataFrame({"subject": np.repeat(np.arange(1, 21), 3), "y": np.random.default_rng(0).normal(size=60)})
    (note,) = [note for note in from_object(frame, "mixed").notes if "groups of 3 rows" in note]
    assert note.endswith("(data.group=subject makes one item of the rows of each)")
    bundled = from_object(frame, "points", group="subject")
    assert bundled.items is not None and len(np.unique(bundled.items)) == 20
