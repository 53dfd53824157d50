"""Columns that others determine are left out, with a note that says how; columns that are only near are data."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.config import ConfigError, RunSpecification, specify
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.data.tables.notes import find_determined
from splitmerge_cli.kinds.tables.models.outcome_cells import place_columns
from splitmerge_cli.runs import drive
from splitmerge_cli.runs.identity import finished_run

RNG = np.random.default_rng(3)
N = 60
A, B = RNG.normal(170.0, 9.0, N).round(1), RNG.gamma(3.0, 20.0, N).round(2)
WORDS = RNG.choice(["low", "middle", "high"], N)
CASES = {
    "units": ((A / 2.54).round(1), "0.394 * a says the same, but for rounding"),
    "rounded units": ((A * 1.8 + 32).round(), "* a + 3"),
    "copy": (A, "a says the same, but for rounding"),
    "sum": (A + B, "a + b says the same, but for rounding"),
    "difference": ((A - 0.5 * B).round(1), "a - 0.5 * b says the same, but for rounding"),
    "complement": (300.0 - A, "300 - a says the same, but for rounding"),
    "logarithm": (np.log(B).round(3), "log(b) says the same, but for rounding"),
    "single precision": (np.log(B).astype(np.float32), "log(b) says the same, but for rounding"),
    "power": (B**2, "2 * log(b) says the same as its logarithm, but for rounding"),
    "code": (pd.Series(WORDS).map({"low": 1, "middle": 2, "high": 5}), "words says the same in other words"),
}


def table(**columns: object) -> pd.DataFrame:
    """A table of two measurements, a category, and other columns."""
    return pd.DataFrame({"a": A, "b": B, "words": WORDS} | columns)


def notes_of(data: Dataset) -> list[str]:
    """The notes on columns that are left out."""
    return [note for note in data.meta["notes"] if "left out" in note]


@pytest.mark.parametrize("name", CASES)
def test_a_column_that_others_determine_is_left_out(name: str) -> None:
    column, why = CASES[name]
    data = from_object(table(other=column), "mixed")
    assert data.columns == ["a", "b", "words"]
    [note] = notes_of(data)
    assert "column 4 ('other') is left out" in note
    assert why in note


@pytest.mark.parametrize("name", [name for name in CASES if name != "code"])
def test_points_have_no_such_column_either(name: str) -> None:
    data = from_object(table(other=CASES[name][0]).drop(columns="words"), "points")
    assert data.columns == ["a", "b"]
    assert CASES[name][1] in notes_of(data)[0]


@pytest.mark.parametrize(
    "column",
    [
        A + RNG.normal(0, 0.3, N).round(1),
        (A - A.mean()) ** 2,
        np.log(B) + RNG.normal(0, 0.02, N),
        (A / 30).round(),
        RNG.permutation(A),
        np.where(np.arange(N) == 7, 1.0, 0.0),
    ],
)
def test_a_column_that_is_only_near_is_data(column: np.ndarray) -> None:
    assert from_object(table(other=column), "mixed").columns == ["a", "b", "words", "other"]


def test_the_column_with_the_most_missing_cells_follows() -> None:
    gaps = np.where(np.arange(N) % 7 == 0, np.nan, A / 2)
    assert from_object(table(other=gaps)[["other", "a", "b"]], "points").columns == ["a", "b"]
    # each has cells that the other lacks
    known = np.where(np.arange(N) % 5 == 0, np.nan, A)
    assert from_object(pd.DataFrame({"a": known, "other": gaps, "b": B}), "points").columns == ["a", "other", "b"]


def test_rare_flags_may_agree_by_chance() -> None:
    flag = np.where(np.arange(N) == 7, "yes", "no")
    assert len(from_object(table(one=flag, other=flag == "yes"), "mixed").columns or ()) == 5
    flag = np.where(np.arange(N) % 3 == 0, "yes", "no")
    assert len(from_object(table(one=flag, other=flag == "yes"), "mixed").columns or ()) == 4


def test_parts_of_a_whole_lose_the_last() -> None:
    parts = RNG.dirichlet(np.ones(5), 200)
    found = find_determined((100 * parts).round(1), list("abcde"))
    assert found == {4: "a linear function of a, b, c and 1 more says the same, but for rounding"}


@pytest.mark.parametrize("rows", [300, 3000])
def test_the_column_of_far_fewer_values_goes(rows: int) -> None:
    """A class of a school is school.class: nothing says the class once it is left out. In inches there are as many
    values as in centimetres, so that the later column goes."""
    rng = np.random.default_rng(0)
    school = rng.integers(1, 41, rows).astype(float)
    x = np.column_stack([school, school + rng.integers(1, 4, rows) / 10])
    assert find_determined(x, ["school", "class"]) == {0: "class says the same, but for rounding"}
    assert find_determined(x[:, ::-1], ["class", "school"]) == {1: "class says the same, but for rounding"}
    assert find_determined(np.column_stack([school, school / 2.54]), ["cm", "inch"]).keys() == {1}
    # a number of the rows is no finer
    pupil = 1000 * school + np.arange(rows) * 900 // rows
    found = find_determined(np.column_stack([school, pupil]), ["school", "pupil"])
    assert found[1].endswith("* school says the same, but for rounding")
    group = 100 * school + np.arange(rows) // 7 % 3
    assert find_determined(np.column_stack([school, group]), ["school", "group"]).keys() == {0}
    twice = find_determined(np.column_stack([x, 2 * x[:, 1]]), ["school", "class", "twice"])
    assert twice == {0: "class says the same, but for rounding", 2: "2 * class says the same, but for rounding"}


def test_products_ratios_and_powers_say_the_same() -> None:
    rng = np.random.default_rng(0)
    hours, rate = rng.integers(1, 41, 150).astype(float), rng.lognormal(3, 0.4, 150).round(2)
    found = find_determined(np.column_stack([hours, rate, (hours * rate).round(2)]), ["hours", "rate", "amount"])
    assert found == {2: "log(hours) + log(rate) says the same as its logarithm, but for rounding"}
    weight, height = rng.normal(75, 12, 150).round(1), rng.normal(172, 9, 150).round(0)
    body = np.column_stack([rng.integers(-9, 9, 150), weight, height, (weight / (height / 100) ** 2).round(1)])
    found = find_determined(body, ["change", "weight", "height", "bmi"])
    assert found.keys() == {3} and "log(weight) + 9.2" in found[3] and "- 2 * log(height)" in found[3]
    # a weight of another day; as many factors as nobody multiplies
    other_day = (weight + rng.normal(0, 0.8, 150)).round(1)
    assert find_determined(np.column_stack([other_day, body[:, 1:]])[:, [0, 2, 3]], list("whb")) == {}
    factors = rng.lognormal(0, 1, (150, 5)).round(3)
    assert find_determined(np.column_stack([factors, factors.prod(axis=1)]), list("abcdef")) == {}
    assert find_determined(np.column_stack([factors, factors[:, :3].prod(axis=1)]), list("abcdef")).keys() == {5}


def test_a_product_is_zero_where_a_factor_is() -> None:
    rng = np.random.default_rng(4)
    price, off = rng.choice([1.79, 1.99, 2.19, 2.49], 200), rng.choice([0.0, 0.0, 0.1, 0.24, 0.4], 200)
    share = (off / price).round(6)
    found = find_determined(np.column_stack([price, off, share]), ["price", "off", "share"])
    assert found == {2: "log(off) - log(price) says the same as its logarithm, but for rounding"}
    # a zero of its own, and one of which the divisor is 0
    for other in (np.where(np.arange(200) % 9, share, 0), np.where(off, price / np.maximum(off, 0.1), 0).round(4)):
        assert find_determined(np.column_stack([price, off, other]), ["price", "off", "other"]) == {}


def test_levels_that_are_numbers_are_terms() -> None:
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {f"item{j}": rng.integers(1, 6, 300) for j in range(5)} | {"word": rng.choice(list("ab"), 300)}
    )
    data = from_object(table.assign(total=table.iloc[:, :5].sum(axis=1)), "mixed")
    [note] = notes_of(data)
    assert "column 7 ('total') is left out: a linear function of item0, item1, item2 and 2 more" in note
    assert not any("'total'" in other for other in data.meta["notes"] if other != note)
    # two levels each have four rows, which are a function of anything
    table = pd.DataFrame({"x": rng.integers(0, 2, 300), "y": rng.integers(0, 2, 300), "z": rng.normal(size=300)})
    assert not notes_of(from_object(table.assign(either=table.x + 2 * table.y), "mixed"))


def test_a_constant_has_the_digits_that_rounding_leaves() -> None:
    asleep = np.random.default_rng(0).uniform(2, 20, 80).round(1)
    awake = 24 - asleep + np.where(np.arange(80) % 4 == 0, 0.05, 0.0)
    found = find_determined(np.column_stack([asleep, awake.round(2)]), ["asleep", "awake"])
    assert found == {1: "24 - asleep says the same, but for rounding"}
    found = find_determined(np.column_stack([asleep, 24.0625 - asleep]), ["asleep", "awake"])
    assert found[1].startswith("24.1 - asleep")
    exact = np.random.default_rng(0).normal(size=80)
    assert find_determined(np.column_stack([exact, 24.0625 - exact]), ["a", "b"])[1].startswith("24.0625 - a")


def test_measurements_that_correlate_are_data() -> None:
    rng = np.random.default_rng(0)
    for seed in range(20):
        common = rng.normal(0, 1, (43, 1))
        scores = (7 + common + rng.normal(0, 0.2, (43, 12))).round(1)
        assert find_determined(scores, [str(d) for d in range(12)]) == {}, seed


def test_a_column_that_is_asked_for_stays_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    table(other=2 * A).to_csv(path, index=False)
    data = csv(path, "mixed", types={"other": "real"})
    assert data.columns == ["a", "b", "words", "other"]
    assert any("column 4 ('other') counts twice: 2 * a says the same" in note for note in data.meta["notes"])
    for kind in ("mixed", "points"):
        data = csv(path, kind, columns=["a", "other"])
        assert data.columns == ["a", "other"]
        assert any("counts twice: 2 * a" in note for note in data.meta["notes"])


def test_an_outcome_that_is_left_out_is_told() -> None:
    data = from_object(table(other=2 * A), "mixed")
    with pytest.raises(ValueError, match=r"no column other; expected one of a, b, words; .*2 \* a says the same"):
        place_columns(data, {"outcome": "other"})


def run_as_before(spec: RunSpecification, monkeypatch: pytest.MonkeyPatch, read: dict[str, str]) -> Path:
    """Make a run again as another version stores it, which says of what it has `read` no more than this."""
    store = drive.RunStore

    def older(path: Path, known: dict[str, Any], *rest: Any) -> Any:
        kept = {key: value for key, value in known.items() if key not in ("read_sha256", "reading")}
        return store(path, kept | read, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(drive, "RunStore", older)
        return drive.run(spec.with_({"resume": False}))


@pytest.fixture
def spec(tmp_path: Path) -> RunSpecification:
    """A short run of a table."""
    path = tmp_path / "t.csv"
    table().drop(columns="words").to_csv(path, index=False)
    keys = [f"data.path={path}", f"out={tmp_path}", "iterations=20", "chains=1", "progress=none"]
    return specify(["data=csv", "model=gaussian", "sampler=sams", *keys])


def test_a_run_of_other_columns_is_not_taken_for_this_one(
    spec: RunSpecification, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(other=2 * A).drop(columns="words").to_csv(str(spec.data.values["path"]), index=False)
    for read in ({}, {"read_sha256": "0" * 64}):
        run_as_before(spec, monkeypatch, read)
        assert finished_run(spec) is None
        with pytest.raises(ConfigError, match=r"this run read its file in another way.*resume=false makes it again"):
            drive.run(spec)
    drive.run(spec.with_({"resume": False}))
    assert finished_run(spec) is not None


def test_a_run_of_the_same_columns_is_found(spec: RunSpecification, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = run_as_before(spec, monkeypatch, {}) / "trace.parquet"
    written = trace.stat().st_mtime_ns
    drive.run(spec)
    assert trace.stat().st_mtime_ns == written


def test_of_many_rows_a_part_is_looked_at_first() -> None:
    x = RNG.normal(size=(5000, 3)).round(3)
    x = np.column_stack([x, x[:, 0] + x[:, 1], 2 * x[:, 2]])
    names = list("abcde")
    assert find_determined(x, names).keys() == {3, 4}
    # one cell between the rows of the part
    x[1, 4] += 1.0
    assert find_determined(x, names).keys() == {3}


def test_only_columns_that_say_something_are_named() -> None:
    """Percentages that add up to 100, beside a total and nearly all of it, whose coefficients are large for nothing."""
    rng = np.random.default_rng(0)
    shares = (100 * rng.dirichlet(np.ones(5), 300)).round(7)
    total = np.exp(rng.normal(11, 2, 300)).round()
    frame = pd.DataFrame(shares, columns=list("abcde")).assign(t=total, u=total - rng.poisson(3, 300))
    [note] = notes_of(from_object(frame[list("tuabcde")], "mixed"))
    assert "'e') is left out: a linear function of a, b, c and 1 more says the same, but for rounding" in note


COUNTRIES = {"Lyon": "France", "Nice": "France", "Rome": "Italy", "Bari": "Italy", "Kyiv": "Ukraine", "Lviv": "Ukraine"}
CITY = pd.Series(RNG.choice([*COUNTRIES], N))


def follow_notes(data: Dataset) -> list[str]:
    """The notes on levels that follow from others."""
    return [note for note in data.meta["notes"] if "levels follow" in note]


def test_levels_that_follow_from_others_are_noted() -> None:
    country, has_coast = CITY.map(COUNTRIES), CITY.isin(["Nice", "Bari"]).map({True: "coast", False: "inland"})
    data = from_object(table(city=CITY, country=country, where=has_coast), "mixed")
    assert data.columns == ["a", "b", "words", "city", "country", "where"]
    assert data.meta["followers"] == ["country", "where"]
    [note] = follow_notes(data)
    assert "levels follow from others (country from city, where from city): they count twice" in note
    assert "(data.drop=[country,where] leaves out what follows)" in note
    # without them a code of theirs would be data
    code = country.str[:2]
    data = from_object(table(city=CITY, country=country, code=code), "mixed")
    assert "code" not in (data.columns or []) and data.meta["followers"] == ["country", "code"]
    assert "(country from city): they count twice" in follow_notes(data)[0]
    # of a city that is not known nothing follows
    unknown = CITY.where(country != "France", None)
    assert not follow_notes(from_object(table(city=unknown, country=country), "mixed"))
    known = country.where(np.arange(N) > 3, None)
    assert follow_notes(from_object(table(city=CITY, country=known), "mixed"))


def test_ranges_of_a_number_are_levels_that_follow() -> None:
    rng = np.random.default_rng(6)
    age, daily = rng.integers(18, 80, 200), np.where(rng.random(200) < 0.6, 0, rng.integers(5, 40, 200))
    group = pd.cut(age, [0, 30, 45, 60, 99], labels=["young", "early", "late", "old"]).astype(str)
    smokes, income = np.where(daily > 0, "yes", "no"), rng.lognormal(10, 1, 200)
    frame = pd.DataFrame({"age": age + 0.0, "group": group, "daily": daily, "smokes": smokes, "income": income})
    frame["rich"] = np.where(income > 3e4, "yes", "no")
    data = from_object(frame, "mixed")
    assert "(group from age, smokes from daily, rich from income)" in follow_notes(data)[0]
    assert data.meta["followers"] == ["group", "smokes", "rich"] and len(data.columns or []) == 6
    # levels that the part looked at first lacks, and words that Python reads as numbers
    rare = pd.DataFrame({"x": rng.normal(size=5_000), "flag": np.where(np.arange(5_000) % 500 == 1, "yes", "no")})
    rare["word"] = rng.choice(["inf", "nil", "zero"], 5_000)
    assert not follow_notes(from_object(rare, "mixed"))
    assert not notes_of(from_object(rare.assign(word=rng.choice(["inf", "infinity"], 5_000)), "mixed"))
    # one of other rows, and two kinds that a number tells apart
    other = frame.assign(group=np.where(np.arange(200) == 7, "old", group)).drop(columns=["smokes", "rich"])
    assert not follow_notes(from_object(other, "mixed"))
    petal = np.append(rng.normal(1.4, 0.2, 100), rng.normal(4.2, 0.4, 100)).round(1)
    kinds = pd.DataFrame({"petal": petal, "kind": np.repeat(["setosa", "versicolor"], 100), "w": rng.normal(size=200)})
    assert not follow_notes(from_object(kinds, "mixed"))


@pytest.mark.parametrize(
    "column",
    [
        CITY.map(COUNTRIES).where(np.arange(N) != 7, "Spain"),
        pd.Series(RNG.choice(["x", "y"], N)),
    ],
)
def test_levels_that_may_follow_by_chance_are_not(column: pd.Series) -> None:
    assert not follow_notes(from_object(table(city=CITY, other=column), "mixed"))


def test_a_level_in_one_row_follows_from_anything() -> None:
    rare = np.where(np.arange(N) == 7, "x", "y")
    city = CITY.where(np.arange(N) != 7, "Oslo")
    assert not follow_notes(from_object(table(city=city, other=rare), "mixed"))
