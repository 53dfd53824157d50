"""Telephone numbers in other forms, first and last names in each other's columns, short forms of first names."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables.files import csv as read_csv
from splitmerge_cli.kinds.records import forms
from splitmerge_cli.kinds.records.reader import RecordsReading
from splitmerge_cli.kinds.records.similar_values import near_values, words_of

ROWS = {
    "first_name": ["john", "john", "mary", "mary", "smith", "bill", "jones", "anna", "zoe"],
    "surname": ["smith", "smith", "jones", "jones", "john", "jones", "mary", "berg", "quist"],
    "phone": [
        *("030 123-4567", "+49 (30) 1234567", "0301234567", "0049 30 7654321", "(030) 7654321", "", "030/2224444"),
        *("030-2224444 ext. 12", "030.555.6666"),
    ],
    "town": ["ulm", "ulm", "bonn", "bonn", "ulm", "kiel", "bonn", "kiel", "ulm"],
}


def read(
    folder: Path, rows: dict[str, list[str]] = ROWS, **options: object
) -> tuple[Dataset, dict[str, list[str | None]]]:
    pd.DataFrame(rows).to_csv(folder / "people.csv", index=False)
    data = read_csv(folder / "people.csv", "records", **options)  # type: ignore[arg-type]
    return data, dict(zip(data.column_names, words_of(data), strict=True))


def test_telephone_numbers_are_read_in_one_form(tmp_path: Path) -> None:
    data, words = read(tmp_path)
    number = ["301234567"] * 3 + ["307654321"] * 2 + [None] + ["302224444"] * 2 + ["305556666"]
    assert words["phone"] == number
    assert any("('phone'): telephone numbers are compared by their last 9 digits" in note for note in data.notes)
    kept, words = read(tmp_path, types={"phone": "string"})
    assert words["phone"][:2] == ["030 123-4567", "+49 (30) 1234567"]
    assert not any("telephone numbers are compared" in note for note in kept.notes)


def test_telephone_numbers_of_new_records_are_read_in_the_form_of_the_data(tmp_path: Path) -> None:
    data, _ = read(tmp_path)
    new = pd.DataFrame({key: cells[:1] for key, cells in ROWS.items()} | {"phone": ["+49-30-765 43 21"]})
    reading = RecordsReading(data.kind)
    both = reading.stack(data, reading.align(data, new))
    assert words_of(both)[2][-1] == "307654321" == words_of(both)[2][3]


@pytest.mark.parametrize(
    "cells",
    [
        ["5551234567", "5557654321", "5550000000"],
        ["555-1234", "555-1235", "lost"],
        ["high street 1", "low road 2", "5551234567"],
        [None, None],
    ],
    ids=["one form", "words", "other cells", "empty"],
)
def test_other_columns_are_no_telephone_numbers(cells: list[str | None]) -> None:
    assert forms.read_phones(cells) is None


def test_exchanged_names_return_to_their_columns(tmp_path: Path) -> None:
    data, words = read(tmp_path)
    assert words["first_name"] == ["john", "john", "mary", "mary", "john", "bill", "mary", "anna", "zoe"]
    assert words["surname"] == ["smith", "smith", "jones", "jones", "smith", "jones", "jones", "berg", "quist"]
    note = next(note for note in data.notes if "names are exchanged" in note)
    assert "first and last names are exchanged in 2 rows: 5, 7 (data.types={first_name:string} leaves" in note
    for named in ("first_name", "surname"):
        kept, words = read(tmp_path, types={named: "string"})
        assert words["first_name"] == ROWS["first_name"] and not any(
            "names are exchanged" in note for note in kept.notes
        )
    # no two columns of names
    _, words = read(tmp_path, {("street" if name == "surname" else name): cells for name, cells in ROWS.items()})
    assert words["first_name"] == ROWS["first_name"]


@pytest.mark.parametrize(
    ("first", "last", "town", "expected"),
    [
        # one other record has both names the other way round and agrees elsewhere: the later one is taken
        (["ada", "berg", "cleo"], ["berg", "ada", "dahl"], ["ulm", "ulm", "kiel"], [1]),
        # or one of the names
        (["ada", "berg", "cleo"], ["berg", "eve", "dahl"], ["ulm", "ulm", "kiel"], [1]),
        # without agreement there is no evidence of it
        (["ada", "berg", "cleo"], ["berg", "ada", "dahl"], ["ulm", "bonn", "kiel"], []),
        # kelly ross and ross moss of one town: others have these names in these columns
        (["kelly"] * 4 + ["ross"] * 4, ["ross"] * 4 + ["moss"] * 4, [*"abcdaefg"], []),
        # names that are as common in either column
        (["kim", "lee", "kim", "lee"], ["lee", "kim", "lee", "kim"], ["ulm", "bonn", "kiel", "jena"], []),
        ([None, "berg"], ["berg", "ada"], ["ulm", "ulm"], []),
    ],
)
def test_rows_are_exchanged_where_others_say_so(
    first: list[str | None], last: list[str | None], town: list[str], expected: list[int]
) -> None:
    assert forms.find_exchanged(first, last, [town]) == expected


def test_short_forms_are_as_near_as_one_edit() -> None:
    levels = ["anna", "bill", "robert", "will", "william"]
    begin, other, weight = near_values(levels, "string", strength=2.0)
    near = {(levels[k], levels[j]) for k in range(5) for j in other[begin[k] : begin[k + 1]]}
    assert {("bill", "william"), ("will", "william"), ("william", "bill")} <= near
    assert not any("anna" in pair or "robert" in pair for pair in near)
    place = begin[1] + list(other[begin[1] : begin[2]]).index(4)
    assert weight[place] == pytest.approx(np.exp(-2.0))
    assert all(near_values(levels, kind)[1].size == 0 for kind in ("categorical",))
    assert len({name for names in forms.SHORT_FORMS for name in names[:1]}) == len(forms.SHORT_FORMS)
