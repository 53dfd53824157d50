"""Columns of records that follow from others are left out; columns that do not are read."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds.records import columns as misleading_columns
from splitmerge_cli.kinds.records.columns import find_followers
from splitmerge_cli.kinds.records.similar_values import code_fields

LETTERS = list("abcdefghijklmnopqrstuvwxyz")
TOWNS = 25


def spell(rng: np.random.Generator, letters: int = 6) -> str:
    return "".join(rng.choice(LETTERS, size=letters))


def people(seed: int = 0, entities: int = 300, errors: float = 0.12, follows: float = 1.0) -> pd.DataFrame:
    """Records of people, whose town follows from the postcode for this share, with errors and duplicates."""
    rng = np.random.default_rng([75, seed])
    given, surname, town = ([spell(rng) for _ in range(n)] for n in (60, 150, TOWNS))
    rows = []
    for _person in range(entities):
        t = int(rng.integers(TOWNS))
        born = np.datetime64("1940-01-01") + int(rng.integers(22000))
        lives = t if rng.random() < follows else int(rng.integers(TOWNS))
        cells = {
            "given": str(rng.choice(given)),
            "surname": str(rng.choice(surname)),
            "born": str(born),
            "sex": str(rng.choice(["f", "m"])),
            "country": str(rng.choice(["at", "ch", "de"], p=[0.05, 0.05, 0.9])),
            "town": town[lives],
            "postcode": str(10000 + 300 * t + int(rng.integers(6))),
        }
        for _record in range(1 + rng.poisson(0.6)):
            wrong = dict(rows[int(rng.integers(len(rows)))]) if rows else cells
            rows.append({name: wrong[name] if rng.random() < errors else cell for name, cell in cells.items()})
    return pd.DataFrame(rows)


def columns_of(frame: pd.DataFrame, **options: Any) -> list[str]:
    return list(from_object(frame, "records", **options).columns or ())


def left_out(frame: pd.DataFrame) -> set[str]:
    return {*frame.columns} - {*columns_of(frame)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("errors", [0.0, 0.1, 0.2])
def test_the_weaker_of_two_columns_is_left_out(seed: int, errors: float) -> None:
    frame = people(seed, errors=errors)
    assert left_out(frame) == {"town"}
    # the order of the columns does not matter
    assert left_out(frame[frame.columns[::-1]]) == {"town"}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("follows", [0.0, 0.4])
def test_columns_that_do_not_follow_are_read(seed: int, follows: float) -> None:
    assert left_out(people(seed, follows=follows)) == set()
    assert left_out(people(seed).drop(columns="town")) == set()


def test_duplicates_alone_make_no_column_follow() -> None:
    rng = np.random.default_rng(0)
    # each person has a telephone and an address of mail, and one record in 25 has swapped names
    person = np.repeat(np.arange(200), 2)
    frame = pd.DataFrame(
        {name: [f"{name}{spell(rng)}" for _ in range(200)] for name in ("phone", "mail", "given", "x")}
    )
    frame = frame.iloc[person].reset_index(drop=True)
    swapped = rng.random(400) < 0.04
    frame.loc[swapped, ["given", "x"]] = frame.loc[swapped, ["x", "given"]].to_numpy()
    assert left_out(frame) == set()


@pytest.mark.parametrize("seed", range(3))
def test_no_column_follows_from_one_that_is_almost_unique_to_an_entity(seed: int) -> None:
    """Duplicates with a nickname and another form of the address look like people who share a telephone."""
    rng = np.random.default_rng([76, seed])
    surnames, streets = ([spell(rng) for _ in range(n)] for n in (60, 30))
    rows = []
    for person in range(300):
        address = f"{rng.integers(200)} {rng.choice(streets)}"
        given, nickname = rng.choice(LETTERS[:16], 2)
        cells = {
            "given": given * 4,
            "surname": rng.choice(surnames),
            "street": f"{address} street",
            "phone": f"p{person}",
        }
        rows.append(cells)
        if person % 4 == 0:
            rows.append(cells | {"given": nickname * 4, "street": f"{address} st"})
    assert left_out(pd.DataFrame(rows)) == set()


def test_the_share_is_that_of_the_pairs_of_which_both_follow() -> None:
    for follows, errors in ((1.0, 0.0), (1.0, 0.2), (0.8, 0.05)):
        frame = people(4, entities=1500, errors=errors, follows=follows)
        values, types = code_fields([frame[name].to_list() for name in frame], ["string"] * frame.shape[1])
        found = find_followers(values, types)
        town, postcode = frame.columns.get_loc("town"), frame.columns.get_loc("postcode")
        assert found.keys() == {town} and found[town].of == [postcode]
        # a wrong postcode is that of another town
        assert (follows * (1 - errors)) ** 2 - 0.05 < found[town].share < follows**2 + 0.05


@pytest.mark.parametrize("seed", range(3))
def test_a_column_that_rarely_agrees_does_not_show_alone_which_records_are_duplicates(seed: int) -> None:
    """Restaurants of two guides, which describe the kitchen in different words, and some share a hotel and telephone:
    address and telephone do not both go."""
    rng, rows = np.random.default_rng(seed), []
    for restaurant in range(700):
        hotel = restaurant % 100 if restaurant < 200 else restaurant
        phone = hotel if restaurant < 200 and rng.random() < 0.5 else 1000 + restaurant
        house = np.random.default_rng(1000 * seed + hotel)
        address, city = spell(house), f"city {int(house.integers(40))}"
        row = {"name": spell(rng), "addr": address, "city": city, "phone": f"1{phone}", "type": f"t{rng.integers(60)}"}
        rows.append(row)
        if restaurant % 4 == 0:
            wrong = {
                "name": (row["name"][:-1], 0.2),
                "addr": (f"{address}x", 0.2),
                "type": (f"t{rng.integers(60)}", 0.8),
            }
            rows.append(row | {name: cell for name, (cell, share) in wrong.items() if rng.random() < share})
    assert not {"addr", "phone"} <= left_out(pd.DataFrame(rows))


def test_a_note_names_both_columns_and_the_key_that_keeps_one(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    people().to_csv(path, index=False)

    def read(**options: Any) -> tuple[Dataset, str]:
        dataset = csv(path, "records", **options)
        return dataset, " ".join(dataset.notes)

    dataset, notes = read()
    assert "town" not in (dataset.columns or ())
    assert "column 6 ('town') is left out: it follows from column 7 ('postcode') (share 0." in notes
    assert "and would partly count twice (data.types={town:string} keeps it)" in notes
    for options in ({"types": {"town": "string"}}, {"columns": ["given", "surname", "born", "town", "postcode"]}):
        dataset, notes = read(**options)
        assert "town" in (dataset.columns or ()) and "they partly count twice" in notes
        assert "('data.types={town:skip}' leaves it out)" in notes
    dataset, notes = read(types={"town": "skip"})
    assert "town" not in (dataset.columns or ()) and "follows" not in notes
    assert not any("follows" in note for note in csv(path, "records", drop=["postcode"]).notes)


def test_missing_cells() -> None:
    frame = people(1, entities=500)
    rng = np.random.default_rng(1)
    assert left_out(frame.mask(rng.random(frame.shape) < 0.2)) == {"town"}
    # where the postcode is not known the town is
    frame = people(1, entities=2000, errors=0.02)
    assert left_out(frame.assign(postcode=frame["postcode"].where(rng.random(len(frame)) < 0.35))) == set()


def test_two_files() -> None:
    frame = people(2)
    frame["file"] = np.random.default_rng(2).choice(["a", "b"], size=len(frame))
    dataset = from_object(frame, "records", files="file")
    assert dataset.columns is not None and "town" not in dataset.columns and dataset.sources is not None


def test_a_column_that_follows_from_two_is_left_out_once() -> None:
    frame = people(3, entities=600)
    letter = {town: f"county {'abcdef'[i % 6]}" for i, town in enumerate(sorted(frame["town"].unique()))}
    frame["county"] = frame["town"].map(letter)
    dataset = from_object(frame, "records")
    assert {*frame.columns} - {*(dataset.columns or ())} == {"town", "county"}
    assert sum("('county') is left out" in note for note in dataset.notes) == 1


def test_parts_and_wholes() -> None:
    frame = people(5)
    born = pd.to_datetime(frame["born"])
    assert left_out(frame.assign(year=born.dt.year)) == {"town", "year"}
    # what its parts hold is read in parts
    of_date = {"year": born.dt.year, "month": born.dt.month, "day": born.dt.day}
    assert left_out(frame.assign(**of_date)) == {"town", "born"}
    assert left_out(frame.assign(name=frame["given"] + " " + frame["surname"])) == {"town", "name"}
    # one of two copies stays
    assert left_out(frame.assign(again=frame["given"])) == {"town", "again"}
    assert left_out(frame.assign(initial=frame["given"].str[:3])) == {"town", "initial"}


@pytest.mark.parametrize("seed", range(3))
def test_names_with_one_error_show_that_records_are_duplicates(seed: int) -> None:
    """Each second record has its street and telephone, and never the same name to the letter."""
    rng = np.random.default_rng(seed)
    places = [[spell(rng, 12), spell(rng, 12), spell(rng, 8), str(rng.choice(LETTERS[:3]))] for _ in range(120)]
    again = [[f"{name[:5]}q{name[6:]}", *rest] for name, *rest in places[:40]]
    for place in again[::3]:
        place[1] += " road"
    kinds = rng.choice(LETTERS[:4], len(places + again))
    frame = pd.DataFrame(places + again, columns=["name", "street", "telephone", "town"]).assign(kind=kinds)
    assert left_out(frame) == set()


def test_tables_without_dependence_are_read_whole() -> None:
    """Random small tables of few and many levels, with duplicates or without."""
    rng = np.random.default_rng(6)
    alarms = 0
    for _table in range(120):
        N, F = int(rng.choice([12, 50, 150])), int(rng.integers(3, 7))
        levels = rng.choice([2, 3, 10, 60], size=F)
        cells = (levels * rng.random((N, F)) ** 2).astype(int)
        same = np.where(rng.random(N) < rng.choice([0.0, 0.4]), rng.integers(N // 2, size=N), np.arange(N))
        cells = np.where(rng.random((N, F)) < 0.1, cells, cells[same])
        words = [[f"{'abcdef'[f] * 6}{cell:03d}" for cell in cells[:, f]] for f in range(F)]
        alarms += bool(find_followers(*code_fields(words, ["categorical"] * F)))
    assert alarms <= 1


def test_a_table_of_many_rows_is_measured_on_some(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    fit = misleading_columns._fit_pairs

    def count(both: Any, *rest: Any) -> Any:
        compared.append(len(both))
        return fit(both, *rest)

    monkeypatch.setattr(misleading_columns, "_fit_pairs", count)
    assert left_out(people(7, entities=8000)) == {"town"}
    assert 0 < max(compared) <= misleading_columns.MOST_PAIRS
