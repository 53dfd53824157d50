"""Records: the kind, its generator and its reader."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds import get_kind
from splitmerge_cli.kinds.records.generated import FIELDS, generate
from splitmerge_cli.kinds.records.similar_values import words_of
from splitmerge_cli.received import DataError

PEOPLE = """rec_id,given,dob,postcode,sex,age,entity
r1,Ann,1964-02-29,0800,f,31,a
r2,ann ,1964-02-28,0801,f,32,a
r3,Bob,1971-12-01,2000,m,NA,b
r4,,1971-01-12,2000,m,45,b
r5,Carla  Maria,1980-05-05,2010,f,7,c
r6,carla maria,1980-05-05,2010,f,8,c
"""


def read(tmp_path: Path, text: str, name: str = "people.csv", **options: object) -> Dataset:
    path = tmp_path / name
    path.write_text(text)
    return csv(path, "records", **options)  # type: ignore[arg-type]


def rows_of(dataset: Dataset) -> list[tuple[str | None, ...]]:
    return list(zip(*words_of(dataset), strict=True))


# -- generator


def test_errors_of_generated_records_have_their_shares() -> None:
    N, K = 20_000, 9_000
    dataset = generate(N, entities=K, distortion=0.2, slips=0.5, missing=0.1, seed=4)
    clean = generate(N, entities=K, distortion=0.0, missing=0.0, seed=4)
    assert dataset.truth is not None and len(np.unique(dataset.truth)) == K
    assert (dataset.truth == clean.truth).all()
    for cells, true_cells, type in zip(words_of(dataset), words_of(clean), FIELDS.values(), strict=True):
        known = [(cell, true) for cell, true in zip(cells, true_cells, strict=True) if cell is not None]
        assert len(known) / N == pytest.approx(0.9, abs=0.01)
        # a wrong value, and a replaced letter or digit, may be the true one
        assert 0.17 < np.mean([cell != true for cell, true in known]) < 0.205, type


def test_one_entity_has_the_same_cells_without_errors() -> None:
    dataset = generate(200, entities=50, distortion=0.0, missing=0.0)
    assert dataset.truth is not None
    assert all(len(np.unique(dataset.values[dataset.truth == k], axis=0)) == 1 for k in range(50))
    assert len(np.unique(dataset.values, axis=0)) > 40


@pytest.mark.parametrize("sources", [2, 3])
def test_files_hold_an_entity_once(sources: int) -> None:
    dataset = generate(300, entities=160, sources=sources, seed=2)
    assert dataset.sources is not None and dataset.truth is not None
    assert set(dataset.sources) == set(range(sources))
    assert len(set(zip(dataset.truth, dataset.sources, strict=True))) == 300
    assert len(np.unique(dataset.truth)) == 160


def test_generated_records_have_duplicates_by_default() -> None:
    truth = generate(1000).truth
    assert truth is not None and len(np.unique(truth)) == 700
    assert (generate(100, seed=1).values == generate(100, seed=1).values).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entities": 11}, "data.entities=11: expected a whole number from 1 to 10"),
        ({"entities": 4, "sources": 2}, "data.entities=4: expected at least 5: a person has one record of each file"),
        ({"distortion": 1.5}, "data.distortion=1.5: expected a number from 0 to 1"),
        ({"sources": 0}, "data.sources=0: expected a whole number"),
    ],
)
def test_options_out_of_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        generate(10, **options)  # type: ignore[arg-type]


# -- kind


def test_the_kind_checks_codes_and_levels() -> None:
    field = (ColumnType("string", ("a", "b")),)
    Dataset("d", "records", np.array([[0], [-1], [1]], dtype=np.int32), types=field)
    for codes, message in (([0, 0], "no record has the value 'b'"), ([0, 2], "row 2, column 1: 2; expected a code")):
        with pytest.raises(DataError, match=message):
            Dataset("d", "records", np.array([codes], dtype=np.int32).T, types=field)
    with pytest.raises(DataError, match="type real; expected one of categorical, string, number, date"):
        Dataset("d", "records", np.zeros((2, 1), dtype=np.int32), types=(ColumnType("real", ("a",)),))
    with pytest.raises(DataError, match="sources; expected int32"):
        values = np.array([[0], [1]], dtype=np.int32)
        Dataset("d", "records", values, types=field, sources=np.zeros(3, dtype=np.int32))


def test_some_records_keep_their_words() -> None:
    dataset = generate(40, sources=2, seed=7)
    part = dataset.take(np.array([3, 5, 8]))
    assert rows_of(part) == [rows_of(dataset)[i] for i in (3, 5, 8)]
    assert part.sources is not None and dataset.sources is not None
    assert (part.sources == dataset.sources[[3, 5, 8]]).all()


def test_new_records_have_levels_of_their_own() -> None:
    kind = get_kind("records")
    dataset = generate(30, seed=1)
    new = kind.as_given(generate(20, seed=2))
    assert rows_of(kind.stack(dataset, kind.new_items(dataset, new))) == rows_of(dataset) + rows_of(
        generate(20, seed=2)
    )


# -- reader


def test_types_are_inferred(tmp_path: Path) -> None:
    dataset = read(tmp_path, PEOPLE, truth="entity")
    assert dataset.columns == ["given", "dob", "postcode", "sex", "age"]
    assert dataset.types is not None
    assert [field.type for field in dataset.types] == ["string", "date", "string", "string", "number"]
    assert rows_of(dataset)[1] == ("ann", "1964-02-28", "0801", "f", "32")
    assert rows_of(dataset)[3] == (None, "1971-01-12", "2000", "m", "45")
    assert dataset.types[4].levels == ("7", "8", "31", "32", "45")
    assert dataset.names == ["r1", "r2", "r3", "r4", "r5", "r6"]
    assert dataset.truth is not None and dataset.truth.tolist() == [0, 0, 1, 1, 2, 2]
    notes = "\n".join(dataset.notes)
    assert "column 1 ('rec_id') is left out: every value differs, and it is named as an id" in notes
    assert "capital letters and blanks tell no words apart: given" in notes
    assert "string: given (3), postcode (4), sex (2); date: dob (5); number: age (5) different values" in notes
    assert "missing cells: given 1, age 1" in notes


def test_few_words_that_repeat_are_categories(tmp_path: Path) -> None:
    rows = "".join(f"{'abc'[i % 3]},{'xyz'[i // 3 % 3] if i else 'q'},{i % 4 + 1}\n" for i in range(18))
    dataset = read(tmp_path, "u,v,w\n" + rows)
    assert dataset.types is not None
    # q stands once, as a typing error does
    assert [field.type for field in dataset.types] == ["categorical", "string", "number"]


@pytest.mark.parametrize(
    ("cells", "type"),
    [
        (["19640229", "19701231", "20010101"], "date"),
        (["19640229", "19701331", "20010132"], "string"),  # a day that the calendar lacks: a typing error
        (["31/12/1990", "01/02/1991", "05/06/1992"], "date"),
        (["12345", "99999", "10000"], "string"),
        (["1234", "9999", "20"], "number"),
        (["1.5", "2.25", "3"], "number"),
        (["0042", "12", "13"], "string"),
        (["x1", "2", "3"], "string"),
    ],
)
def test_the_type_of_a_column(tmp_path: Path, cells: list[str], type: str) -> None:
    dataset = read(tmp_path, "a,b\n" + "".join(f"{cell},k{i % 2}\n" for i, cell in enumerate(cells)))
    assert dataset.types is not None and dataset.types[0].type == type


def test_names_and_numbers_are_no_ids(tmp_path: Path) -> None:
    rows = "".join(f"n{i},{40 - i * i % 37},{7 * i},{100 - i}\n" for i in range(12))
    dataset = read(tmp_path, "name,house_number,personId,row\n" + rows)
    assert dataset.columns == ["name", "house_number"] and dataset.names == [str(7 * i) for i in range(12)]
    assert read(tmp_path, "name,personId\na,5\nb,9\n", columns=["personId"]).columns == ["personId"]


def test_numbers_of_customers_are_no_fields(tmp_path: Path) -> None:
    rows = "".join(f"{1000 + 7 * i},n{i},{50 - i * i % 11}\n" for i in range(12))
    dataset = read(tmp_path, "customer,name,age\n" + rows)
    assert dataset.columns == ["name", "age"] and dataset.names == [str(1000 + 7 * i) for i in range(12)]
    assert "column 1 ('customer') is left out: whole numbers that ascend from row to row" in dataset.notes[0]
    shuffled = "customer,name\n" + "".join(f"{1000 + 7 * i * i % 101},n{i}\n" for i in range(12))
    assert read(tmp_path, shuffled).columns == ["customer", "name"]


def test_rows_counted_in_each_file_are_no_field(tmp_path: Path) -> None:
    rows = [f"{i + 1},n{i},{i * i % 7}\n" for i in range(12)]
    other = tmp_path / "other.csv"
    other.write_text("nr,name,age\n" + "".join(rows[:9]))
    dataset = read(tmp_path, "nr,name,age\n" + "".join(rows), other=str(other))
    assert dataset.columns == ["name", "age"]
    assert any("column 1 ('nr') is left out: it counts the rows of each file" in note for note in dataset.notes)
    # numbers that both files share are a field, sorted or not
    other.write_text("nr,name,age\n" + "".join(f"1{row}" for row in rows[:9]))
    dataset = read(tmp_path, "nr,name,age\n" + "".join(f"1{row}" for row in rows), other=str(other))
    assert dataset.columns == ["nr", "name", "age"]


def test_names_of_columns_in_two_files_may_be_spelt_differently(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("Name,First_Name,%\nmeyer,ann,1\n")
    dataset = read(tmp_path, "name,first name,#\nmeyer,anne,1\nkoch,bo,2\n", other=str(other))
    assert dataset.columns == ["name", "first name"] and rows_of(dataset)[2] == ("meyer", "ann")
    assert any("rows 1 to 2 are of " in note and "the next 1 of " in note for note in dataset.notes)


def test_a_column_alone_is_noted(tmp_path: Path) -> None:
    for rows, noted in (("name,entity\nann,1\nanne,1\n", True), ("name,town\nann,x\nanne,y\n", False)):
        notes = read(tmp_path, rows, truth="entity" if noted else None).notes
        assert any("column 1 ('name'): it alone is compared" in note for note in notes) == noted


def test_mostly_dates_are_noted(tmp_path: Path) -> None:
    days = [f"1990-01-{day:02d}" for day in range(1, 20)] + ["1990-02-31"]
    dataset = read(tmp_path, "born,b\n" + "".join(f"{day},k{i % 2}\n" for i, day in enumerate(days)))
    assert dataset.types is not None and dataset.types[0].type == "string"
    note = "its dates are read as words: row 21: '1990-02-31'; expected a day of the calendar"
    assert any(one.endswith(note) for one in dataset.notes)


def test_types_may_be_named(tmp_path: Path) -> None:
    named = {"rec_id": "string", "postcode": "number", "age": "skip", "sex": "categorical"}
    dataset = read(tmp_path, PEOPLE, truth="entity", types=named)
    assert dataset.columns == ["rec_id", "given", "dob", "postcode", "sex"] and dataset.types is not None
    assert [field.type for field in dataset.types] == ["string", "string", "date", "number", "categorical"]
    assert rows_of(dataset)[0][3] == "800"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"types": {"given": "number"}}, r"row 2, column 2 \('given'\): 'Ann'; expected a number \(data.types\)"),
        ({"types": {"given": "date"}}, r"row 2, column 2 \('given'\): 'Ann'; expected a date \(data.types\)"),
        ({"types": {"given": "real"}}, "data.types.given=real: expected one of categorical, string, number, date"),
        ({"files": "nobody"}, "data.files=nobody: .* has no such column"),
        ({"duplicates": True}, "data.duplicates=true: expected false without data.other and data.files"),
        ({"columns": ["given"], "files": "given"}, "data.columns=given: .* data.files not at all"),
        ({"other": "absent.csv"}, "absent.csv"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        read(tmp_path, PEOPLE, **options)
    assert "\n" not in str(raised.value)


def test_only_records_come_from_several_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(PEOPLE)
    with pytest.raises(DataError, match=r"data.files=sex: expected model=records, which alone takes it, not mixed"):
        csv(tmp_path / "a.csv", "mixed", files="sex")


def test_two_files(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("age;given;dob;extra\n31;anne;1964-02-29;1\n9;carla maria;1980-05-05;2\n")
    dataset = read(tmp_path, PEOPLE, other=str(other))
    assert dataset.columns == ["given", "dob", "age"] and dataset.N == 8
    assert dataset.sources is not None and dataset.sources.tolist() == [0] * 6 + [1] * 2
    assert rows_of(dataset)[-1] == ("carla maria", "1980-05-05", "9")
    lacking = f"left out: {tmp_path}/people.csv has no extra; {other} has no rec_id, postcode, sex, entity ("
    assert any(lacking in note for note in dataset.notes)
    assert read(tmp_path, PEOPLE, other=str(other), duplicates=True).sources is None


def test_a_cell_of_the_other_file_is_named(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("age,given\n31,anne\nold,carla\n")
    with pytest.raises(DataError, match=r"other.csv: row 3, column 1 \('age'\): 'old'; expected a number"):
        read(tmp_path, PEOPLE, other=str(other), types={"age": "number"})
    other.write_text("colour\nred\nblue\n")
    expected = r"data.other: .*other.csv: no column is one of .*people.csv: .* has no colour; .* has no rec_id, given, "
    with pytest.raises(DataError, match=expected):
        read(tmp_path, PEOPLE, other=str(other))


OTHER = "given_name;year;PLZ\nanne;1964;0801\nbob;1971;2000\n"
FIRST = "First name,born,post code\nAnn,1964,0800\nBob,1971,2000\nCarla,1980,2010\n"


def test_columns_with_other_names_are_read_as_those_of_the_first_file(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(OTHER)
    names = {"year": "born", 3: "post code"}
    dataset = read(tmp_path, FIRST, other=str(other), names=names)
    assert dataset.columns == ["First name", "born", "post code"] and dataset.sources is not None
    assert rows_of(dataset)[3:] == [("anne", "1964", "0801"), ("bob", "1971", "2000")]
    renamed = f"{other}: columns are read by the names of {tmp_path}/people.csv: given_name as First name, year as born"
    assert any(note.startswith(renamed) for note in dataset.notes)
    # new records may come from either file
    for frame in (pd.DataFrame([["Ann", 1964, "2010"]], columns=dataset.columns), pd.read_csv(other, sep=";")):
        assert dataset.kind.new_items(dataset, frame).columns == dataset.columns
    # the names of two columns change places
    other.write_text("born,First name\nann,1964\n")
    swapped = read(tmp_path, FIRST, other=str(other), names={"born": "First name", "First name": "born"})
    assert rows_of(swapped)[3] == ("ann", "1964")


def test_columns_that_lack_in_a_file_are_named_with_what_reads_them(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(OTHER)
    a = tmp_path / "people.csv"
    lacking = f"left out: {a} has no year, PLZ; {other} has no born, post code ("
    reads = f"\"data.names={{year: born,PLZ: 'post code'}}\" reads columns of {other} as columns of {a})"
    dataset = read(tmp_path, FIRST, other=str(other))
    assert any(note.endswith(f"{lacking}{reads}") for note in dataset.notes) and dataset.columns == ["First name"]
    assert len(read(tmp_path, FIRST, other=str(other), names={"year": "born", "PLZ": "post code"}).columns or ()) == 3
    # ids of two files are no pair of columns
    ids = tmp_path / "ids.csv"
    ids.write_text("id,First name,year,PLZ\n71,ann,1964,2010\n")
    (tmp_path / "skus.csv").write_text("sku,First name,born,post code\nA1,ann,1964,2010\nA2,bob,1970,3011\n")
    skus = csv(tmp_path / "skus.csv", "records", other=str(ids))
    assert any("data.names={year: born,PLZ: 'post code'}" in note for note in skus.notes)
    other.write_text("zz,born\nann,1964\n")
    with pytest.raises(DataError, match=r"no column is left for the data .*data\.names="):
        read(tmp_path, FIRST, other=str(other), truth="born")


def test_a_column_of_files(tmp_path: Path) -> None:
    text = "file,name,year\nx,ann,1990\ny,ann,1990\nx,bob,1991\ny,rob,1991\n"
    dataset = read(tmp_path, text, files="file")
    assert dataset.columns == ["name", "year"]
    assert dataset.sources is not None and dataset.sources.tolist() == [0, 1, 0, 1]
    assert read(tmp_path, text, files="file", duplicates=True).sources is None
    apart = "file,name,last,surname\nx,ann,lee,\ny,ann,,lee\nx,bob,may,\ny,rob,,may\n"
    noted = "last, surname: values in one file alone, so that no two are compared"
    assert any(noted in note for note in read(tmp_path, apart, files="file").notes)
    assert not any("one file alone" in note for note in dataset.notes)
    with pytest.raises(DataError, match=r"data.files=file: .*'x' in every row; expected two files"):
        read(tmp_path, text.replace("\ny", "\nx"), files="file")
    with pytest.raises(DataError, match="an empty cell; expected the name of a file"):
        read(tmp_path, text.replace("\ny,rob", "\n,rob"), files="file")


def test_frames() -> None:
    frame = pd.DataFrame(
        {
            "name": ["Ann", "Anne", None, "Bob"],
            "born": pd.to_datetime(["1990-01-02", "1990-02-01", "1991-05-05", None]),
            "height": [1.7, 1.71, np.nan, 1.9],
            "file": ["a", "b", "a", "b"],
        },
        index=["p", "q", "r", "s"],
    )
    dataset = from_object(frame, "records", files="file", types={"height": "number"})
    assert dataset.columns == ["name", "born", "height"] and dataset.names == ["p", "q", "r", "s"]
    assert rows_of(dataset)[:2] == [("ann", "1990-01-02", "1.7"), ("anne", "1990-02-01", "1.71")]
    assert rows_of(dataset)[3] == ("bob", None, "1.9")
    assert dataset.sources is not None and dataset.sources.tolist() == [0, 1, 0, 1]
    assert from_object(frame, "records", columns=["name", "height"]).columns == ["name", "height"]


def test_a_table_without_fields_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no column is left for the data \(column 1 \('a'\): every value is 'x'"):
        read(tmp_path, "a,id\nx,1\nx,2\nx,3\n")


@pytest.mark.parametrize(
    "name",
    [
        *("source", "Notes", "created", "created_at", "last update", "imported_from", "last_modified_by"),
        *("batch id", "filename"),
    ],
)
def test_what_describes_a_record_is_not_compared(tmp_path: Path, name: str) -> None:
    rows = "".join(f"n{i % 5},{'xyzw'[i * i % 4]}{i % 3}\n" for i in range(12))
    dataset = read(tmp_path, f"name,{name}\n" + rows)
    assert dataset.columns == ["name"]
    assert f"('{name}') is left out: its name says that it describes the record" in dataset.notes[0]
    assert read(tmp_path, f"name,{name}\n" + rows, types={name: "string"}).columns == ["name", name]
    assert read(tmp_path, f"name,{name}\n" + rows, columns=["name", name]).columns == ["name", name]


def test_one_zero_in_front_changes_no_type(tmp_path: Path) -> None:
    def type_of(name: str, cells: list[str]) -> str:
        rows = "".join(f"{cell},k{i % 2}\n" for i, cell in enumerate(cells))
        dataset = read(tmp_path, f"{name},b\n" + rows)
        assert dataset.types is not None
        assert ("with a 0 in front" in " ".join(dataset.notes)) == (name == "born" and "0953" in cells)
        return dataset.types[0].type

    years = [str(1930 + 7 * i % 60) for i in range(40)]
    assert type_of("born", years) == type_of("born", [*years, "0953"]) == "number"
    for name in ("postcode", "zip_code", "Home Phone", "plz"):
        assert type_of(name, years) == type_of(name, [*years, "0953"]) == "string"
