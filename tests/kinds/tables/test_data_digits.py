"""Whole numbers of many digits, and codes of digits: read digit by digit, the same from every kind of table."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import splitmerge_cli as sm
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.data.tables.table import long_digits
from splitmerge_cli.kinds import get_kind

CODES = [6221890000000000101, 6221890000000000102, 6221890000000000203, 6221890000000000304, 6221890000000000405]
Reader = Callable[..., Dataset]


def as_text(table: pa.Table) -> pd.DataFrame:
    """The table as it is written: spreadsheets keep 15 digits of a number."""
    return pd.DataFrame({name: [str(cell) for cell in table[name].to_pylist()] for name in table.column_names})


def from_csv(table: pa.Table, folder: Path) -> Reader:
    as_text(table).replace("None", "").to_csv(folder / "t.csv", index=False)
    return lambda kind, **options: csv(folder / "t.csv", kind, **options)


def from_xlsx(table: pa.Table, folder: Path) -> Reader:
    as_text(table).replace("None", None).to_excel(folder / "t.xlsx", index=False)
    return lambda kind, **options: csv(folder / "t.xlsx", kind, **options)


def from_parquet(table: pa.Table, folder: Path) -> Reader:
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    return lambda kind, **options: csv(folder / "t.parquet", kind, **options)


def from_feather(table: pa.Table, folder: Path) -> Reader:
    pyarrow.feather.write_feather(table, str(folder / "t.feather"))
    return lambda kind, **options: csv(folder / "t.feather", kind, **options)


def of_object(convert: Callable[[pa.Table], Any]) -> Callable[[pa.Table, Path], Reader]:
    return lambda table, _: lambda kind, **options: from_object(convert(table), kind, **options)


TABLES: dict[str, Callable[[pa.Table, Path], Reader]] = {
    "csv": from_csv,
    "xlsx": from_xlsx,
    "parquet": from_parquet,
    "feather": from_feather,
    "pandas": of_object(lambda table: table.to_pandas(integer_object_nulls=True)),
    "pandas, nullable": of_object(
        lambda table: table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}.get)
    ),
    "pandas, of Arrow": of_object(lambda table: table.to_pandas(types_mapper=pd.ArrowDtype)),
    "polars": of_object(pl.from_arrow),
    "Arrow": of_object(lambda table: table),
}
every_table = pytest.mark.parametrize("source", TABLES)


def table_of(cells: list[Any], type: pa.DataType | None = None) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table({"c": pa.array(cells, type), "x": rng.normal(size=len(cells)).round(3)})


def codes_of(data: Dataset) -> list[str | None]:
    assert data.types is not None
    return [None if np.isnan(code) else data.types[0].levels[int(code)] for code in data.values[:, 0]]


CASES = {
    "19 digits": ([CODES[i % 5] for i in range(100)], pa.int64()),
    "19 digits, negative ones": ([-CODES[i % 5] for i in range(100)], pa.int64()),
    "19 digits, gaps": ([None if i % 7 == 3 else CODES[i % 5] for i in range(100)], pa.int64()),
    "beyond 63 bits": ([2**63 + 1 + i % 3 for i in range(100)], pa.uint64()),
    "beyond 63 bits, gaps": ([None if i % 7 == 3 else 2**63 + 1 + i % 3 for i in range(100)], pa.uint64()),
    "16 digits": ([2**53 + i % 4 for i in range(100)], pa.int64()),
    "two codes": ([2**53 + i % 2 for i in range(100)], pa.int64()),
    "30 digits": ([Decimal(10**29 + i % 3) for i in range(100)], pa.decimal128(38, 0)),
    "more codes than numbers that are categories": ([2**53 + i % 40 for i in range(100)], pa.int64()),
    "words": ([f"m{CODES[i % 5]}" for i in range(100)], pa.string()),
    "zeros in front": ([f"{i % 4:03d}" for i in range(100)], pa.string()),
}


@every_table
@pytest.mark.parametrize("case", CASES)
def test_codes_are_read_digit_by_digit(tmp_path: Path, source: str, case: str) -> None:
    """Every kind of table is read as the same levels and cells."""
    cells, type = CASES[case]
    data = TABLES[source](table_of(cells, type), tmp_path)("mixed")
    assert codes_of(data) == [None if cell is None else str(cell) for cell in cells]


@every_table
def test_codes_that_are_asked_for_are_read_digit_by_digit(tmp_path: Path, source: str) -> None:
    cells = [2**53 + i for i in range(40)]
    read = TABLES[source](table_of(cells, pa.int64()), tmp_path)
    assert codes_of(read("mixed", types={"c": "categorical"})) == list(map(str, cells))
    # codes that all differ name the items, as words do
    data = read("mixed")
    assert data.columns == ["x"] and data.names == list(map(str, cells))
    rounded = read("mixed", types={"c": "real"})
    assert rounded.values[:, 0].tolist() == [float(cell) for cell in cells]
    assert "column 1 ('c'): whole numbers such as '9007199254740992' are rounded, 9007199254740992" in rounded.notes[0]


@every_table
def test_long_digits_are_no_numbers(tmp_path: Path, source: str) -> None:
    read = TABLES[source](table_of([CODES[i % 5] for i in range(50)], pa.int64()), tmp_path)
    data = read("points")
    assert data.columns == ["x"] and data.names is None
    assert data.notes[0].partition(": ")[2] == (
        "column 1 ('c') is left out: it holds whole numbers of more digits than a number keeps, as codes do, such as "
        "'6221890000000000101' (data.columns would read it, rounded)"
    )
    asked = read("points", columns=["c", "x"])
    assert asked.values[:, 0].tolist() == [float(CODES[i % 5]) for i in range(50)]
    cells = [2**53 + 1 + i for i in range(50)]
    assert TABLES[source](table_of(cells, pa.int64()), tmp_path)("points").names == list(map(str, cells))
    gaps = table_of([None if i % 9 == 0 else CODES[i % 5] for i in range(50)], pa.int64())
    data = TABLES[source](gaps, tmp_path)("points")
    assert data.columns == ["x"] and data.names is None and "such as '6221890000000000102'" in data.notes[0]


def test_a_wide_table_and_a_missing_code(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [[str(CODES[i % 5]), *(f"{x:.3f}" for x in rng.normal(size=1001))] for i in range(12)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(["c", *(f"x{j}" for j in range(1001))]), *map(",".join, rows)]))
    assert csv(path, "points").columns == [f"x{j}" for j in range(1001)]
    assert "column 1 ('c'): whole numbers such as" in csv(path, "points", columns=["c", "x1"]).notes[0]
    # a sentinel is no code
    path.write_text("c,x\n" + "".join(f"{9999999999999999999 if i == 3 else i / 2},{i * i + 1}\n" for i in range(30)))
    for kind in ("points", "mixed"):
        data = csv(path, kind, missing=[9999999999999999999])
        assert data.columns == ["c", "x"] and np.isnan(data.values[3, 0]) and data.values[4, 0] == 2.0


@every_table
def test_an_id_that_repeats(tmp_path: Path, source: str) -> None:
    table = table_of([CODES[i % 5] for i in range(60)], pa.int64()).rename_columns(["user_id", "x"])
    data = TABLES[source](table, tmp_path)("mixed")
    assert data.columns == ["x"]
    assert "it is an id that repeats (6221890000000000101 stands in 12 rows)" in data.notes[0]


@pytest.mark.parametrize("cells", [["007", "7", "008"], CODES, ["1.1", "1.10", "1"]])
def test_new_items_have_the_levels_of_the_data(tmp_path: Path, cells: list[Any]) -> None:
    cells = list(map(str, cells))
    read = from_csv(table_of(cells * 10), tmp_path)
    data = read("mixed", types={"c": "categorical"})
    kind = get_kind("mixed")
    new = kind.new_items(data, pd.DataFrame({"c": cells, "x": 0.0}))
    assert codes_of(new) == cells
    numbers = [int(cell) if cell.isdecimal() and cell[0] != "0" else cell for cell in cells]
    assert codes_of(kind.new_items(data, pd.DataFrame({"c": pd.Series(numbers, dtype=object), "x": 0.0}))) == cells
    other = kind.new_items(data, pd.DataFrame({"c": ["6221890000000000000", "zero"], "x": 0.0}))
    assert codes_of(other) == [None, None]


@every_table
def test_true_labels_and_tokens_of_a_table(tmp_path: Path, source: str) -> None:
    cells = [CODES[i % 5] for i in range(30)]
    read = TABLES[source](table_of(cells, pa.int64()).select(["c"]), tmp_path)
    assert read("tokens").vocabulary == list(map(str, CODES))
    assert read("tokens").values.tolist() == [i % 5 for i in range(30)]
    if source in ("csv", "xlsx", "parquet", "feather"):
        data = TABLES[source](table_of(cells, pa.int64()), tmp_path)("points", truth="c")
        assert data.truth is not None and data.truth.tolist() == [i % 5 for i in range(30)]


def test_tokens_of_a_list() -> None:
    for words in ([1, 2**63 + 1, 2**63 + 3], [2**53, 2**53 + 1, 0.5], [CODES[0], CODES[1], 10**30]):
        assert from_object(words, "tokens").vocabulary == list(map(str, words))


def test_decimal_numbers_of_a_file(tmp_path: Path) -> None:
    table = pa.table({"c": pa.array([Decimal(CODES[i % 5]) for i in range(30)]), "x": np.arange(30.0)})
    read = from_parquet(table, tmp_path)
    data = read("points", truth="c")
    assert data.truth is not None and data.truth.tolist() == [i % 5 for i in range(30)]


def test_what_a_spreadsheet_or_a_float_has_lost_is_said(tmp_path: Path) -> None:
    table = pd.DataFrame({"c": [CODES[i % 5] for i in range(30)], "x": np.arange(30.0) ** 2})
    table.to_excel(tmp_path / "t.xlsx", index=False)
    notes = csv(tmp_path / "t.xlsx", "mixed").notes
    assert "a spreadsheet keeps 15 digits of a number, and there are longer ones, such as '6.22189e+18'" in notes[0]
    lost = "if it held longer whole numbers, their last digits were already lost; write codes as text"
    assert f"is left out: every value is '6.22189e+18'; {lost}" in notes[1]
    frame = pd.DataFrame({"c": pd.Series([None, *CODES] * 6, dtype="float64"), "x": np.arange(36.0) ** 2})
    assert lost in from_object(frame, "mixed").notes[0]


@pytest.mark.parametrize("framed", [True, False])
def test_an_estimator_reads_no_codes(framed: bool) -> None:
    rng = np.random.default_rng(0)
    cells = np.column_stack([[CODES[i % 5] for i in range(40)], rng.integers(0, 50, size=(40, 2))])
    table = pd.DataFrame(cells, columns=["c", "x", "y"]) if framed else cells
    model = sm.SplitMergeClustering("gaussian", iterations=20, chains=2, random_state=0)
    with pytest.warns(UserWarning):
        fitted = model.fit(table)
    assert fitted.posterior_.dataset.values.tolist() == cells[:, 1:].tolist()
    assert fitted.predict(table[:3]).shape == (3,)


def test_long_digits_at_the_ends_of_their_types() -> None:
    exact = [0, 2**53, -(2**53), 2**62, -(2**63)]
    assert long_digits(pa.chunked_array([pa.array(exact)])) is None
    for cell in (2**53 + 1, -(2**53) - 1, 2**63 - 1):
        assert long_digits(pa.chunked_array([pa.array([1, None, cell])])) is not None
    assert long_digits(pa.chunked_array([pa.array([2**63], pa.uint64())])) is None
    assert long_digits(pa.chunked_array([pa.array([2**64 - 1], pa.uint64())])) is not None
    assert long_digits(pa.chunked_array([["9" * 5000]])) is not None
    assert long_digits(pa.chunked_array([pa.array([], pa.int64())])) is None
