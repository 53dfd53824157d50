"""Tables that are read as records without a key: those of one entity that agree but for typing errors."""

import csv
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import run_path

from splitmerge_cli.api.recognition import recognise_named
from splitmerge_cli.api.selection import model_for_object
from splitmerge_cli.fits.objects import DataNote
from splitmerge_cli.kinds.records.generated import generate

FIRST = ["anna", "berta", "carla", "dora", "emma", "frieda", "gerda", "heidi", "ilse", "jutta"]
LAST = [
    "albrecht",
    "brandner",
    "cramer",
    "dietrich",
    "ebersbach",
    "fuchsberger",
    "gruber",
    "hofmann",
    "imhof",
    "jansen",
]


def as_rows(dataset) -> list[list[str]]:
    """The cells of records as text, below the names of their columns."""
    rows = [
        ["" if k < 0 else str(t.levels[k]) for k, t in zip(row, dataset.types, strict=True)] for row in dataset.values
    ]
    return [dataset.columns, *rows]


def people(copies: int) -> list[list[str]]:
    """A hundred people, so many of whom stand there once more, with an error in the last name."""
    rows = [[a + b[-2:], b + a[:2], f"{b[:3]}{a} road", b[0]] for a in FIRST for b in LAST]
    return [["first", "last", "street", "area"], *rows, *([a, b[:-1] + "x", *c] for a, b, *c in rows[:copies])]


def households() -> list[list[str]]:
    """Three people of each last name and street."""
    rows = [[FIRST[(i + 3 * j) % 10] + str(i), b, f"{b} road"] for i, b in enumerate(LAST * 4) for j in range(3)]
    return [["first", "last", "street"], *([a, f"{b}{i // 3}", f"{c} {i // 3}"] for i, (a, b, c) in enumerate(rows))]


def seasons() -> list[list[str]]:
    """Players in three seasons each: names that are equal to the letter, and numbers that differ."""
    rows = [[f"{a} {b}", f"{b} town", f"{a} college", str(year), str(i * year % 97)]
            for i, (a, b) in enumerate((a, b) for a in FIRST for b in LAST) for year in (1, 2, 3)]  # fmt: skip
    return [["player", "town", "college", "year", "points"], *rows]


def measurements() -> list[list[str]]:
    """People, copies with errors, and eight measurements of each."""
    head, *rows = people(30)
    numbers = np.random.default_rng(0).normal(size=(len(rows), 8)).round(3).astype(str)
    return [[*head, *(f"x{d}" for d in range(8))], *([*row, *own] for row, own in zip(rows, numbers, strict=True))]


def save(rows: list[list[str]], path: Path) -> Path:
    with path.open("w") as file:
        csv.writer(file).writerows(rows)
    return path


def accents() -> list[list[str]]:
    """People, a fifth of whom are written again without the accents that all of their names have."""
    head, *rows = people(0)
    marked = [[*(cell.replace("a", "á").replace("e", "é") for cell in row)] for row in rows]
    return [head, *marked, *rows[: len(rows) // 5]]


RECORDS = {
    "accents": accents,
    "generated": lambda: as_rows(generate(200, seed=1)),
    "few copies": lambda: people(10),
    "many errors": lambda: as_rows(generate(300, distortion=0.2, seed=2)),
}
TABLES = {"no copies": lambda: people(0), "households": households, "seasons": seasons, "measurements": measurements}


@pytest.mark.parametrize("name", RECORDS | TABLES)
def test_records_are_recognised_in_every_form_and_no_other_table_is(name: str, tmp_path: Path) -> None:
    rows = (RECORDS | TABLES)[name]()
    model = "records" if name in RECORDS else ""
    frame = pd.DataFrame(rows[1:], columns=rows[0])
    assert recognise_named(save(rows, tmp_path / "a.csv"), {"seed": 1}).model == model
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet")
    assert recognise_named(tmp_path / "a.parquet", {}).model == model
    with pytest.warns(DataNote, match="rows agree but") if model else nullcontext():
        assert (model_for_object(frame)[0] == "records") == bool(model)
    assert model_for_object(frame, {"repeated": "once"})[0] != "records"
    # missing cells of pandas' own types are neither equal to anything nor different
    gaps = frame.astype("string")
    gaps.iloc[7::50] = pd.NA
    with pytest.warns(DataNote, match="rows agree but") if model else nullcontext():
        assert (model_for_object(gaps)[0] == "records") == bool(model)


@pytest.mark.usefixtures("commands")
def test_one_column_is_no_columns(smcmc) -> None:
    Path("one.csv").write_text("price\n" + "".join(f"{3 * i}.5\n" for i in range(20)))
    said = smcmc("run", "one.csv", "model=records", "iterations=20", "chains=1", "progress=none").stderr
    assert "one.csv: 20 rows, 1 column\n" in said


@pytest.mark.parametrize("key", ["model", "data.types", "data.weights", "sampler", "gap", "init"])
def test_a_key_that_chooses_keeps_a_table(key: str, tmp_path: Path) -> None:
    path = save(people(30), tmp_path / "a.csv")
    assert recognise_named(path, {"iterations": 5, "data.truth": "x"}).model == "records"
    # as the notes on records print them
    for types in ("{last:string}", {"last": "string"}, "{last:skip}", "{last: categorical,first:date}"):
        assert recognise_named(path, {"data.types": types}).model == "records"
    for named in ({"data.drop": ["last"]}, {"data.columns": ["first", "last", "street"]}, {"data.missing": "x"}):
        assert recognise_named(path, named).model == "records"
    for types in ("{last:real}", {"last": ["a", "b"]}, "{last:skip,first:ordinal}"):
        assert recognise_named(path, {"data.types": types}).model == ""
    assert recognise_named(path, {key: "auto"})[:3] == ("csv", "", "")


@pytest.mark.usefixtures("commands")
def test_a_run_says_that_it_reads_records(smcmc, tmp_path: Path) -> None:
    save(people(20), Path("people.csv"))
    result = smcmc("run", "people.csv", "iterations=40", "chains=2")
    assert (
        "people.csv: read as records of entities (rows agree but for typing errors, such as rows 2 and 102); "
        in result.output
    )
    assert "model=auto data.path=people.csv as a table" in result.output
    assert " entities of 120 records" in result.output
    assert (run_path(result) / "entities.csv").exists()
