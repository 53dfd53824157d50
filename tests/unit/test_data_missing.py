"""Missing cells of points and of 0 and 1: in texts, other files and objects; notes and errors."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.data.tables.table import WRITTEN
from splitmerge_cli.data.tables.text import WIDE
from splitmerge_cli.received import DataError

NAN = np.nan


def read(tmp_path: Path, text: str, kind: str = "points", **options: object) -> Dataset:
    (tmp_path / "t.csv").write_text(text)
    return csv(tmp_path / "t.csv", kind, **options)


@pytest.mark.parametrize("kind", ["points", "binary"])
@pytest.mark.parametrize("around", ["", " "])
@pytest.mark.parametrize("cell", WRITTEN)
def test_every_form_is_read_alike(tmp_path: Path, kind: str, around: str, cell: str) -> None:
    data = read(tmp_path, f"x,y\n1,0\n0,{around}{cell}{around}\n1,1\n", kind)
    np.testing.assert_array_equal(data.values, [[1, 0], [0, NAN], [1, 1]])
    assert data.missing == 1 and data.values.dtype == np.float64
    assert data.notes == [f"{tmp_path}/t.csv: missing cells: y 1"]


@pytest.mark.parametrize("kind", ["points", "binary"])
def test_rows_and_columns_without_cells(tmp_path: Path, kind: str) -> None:
    data = read(tmp_path, "x,y,z\n1,0,\n,,\n0,1,?\n", kind)
    np.testing.assert_array_equal(data.values, [[1, 0, NAN], [NAN] * 3, [0, 1, NAN]])
    assert "missing cells: x 1, y 1, z 3; rows without any value: 1" in data.notes[0]


def test_other_forms_are_said(tmp_path: Path) -> None:
    text = "x,y\n1,-99\n0,unknown\n-99.0,1\n"
    data = read(tmp_path, text, missing=[-99, "unknown"])
    np.testing.assert_array_equal(data.values, [[1, NAN], [0, NAN], [NAN, 1]])
    np.testing.assert_array_equal(read(tmp_path, text, "binary", missing=[-99, "unknown"]).values, data.values)
    np.save(tmp_path / "x.npy", np.array([[1.0, -99.0], [0.0, 1.0]]))
    for kind in ("points", "binary"):
        found = csv(tmp_path / "x.npy", kind, missing=-99).values
        np.testing.assert_array_equal(found, [[1, NAN], [0, 1]])
    with pytest.raises(DataError, match=r"data.missing=x: expected null: tokens have no missing cells"):
        read(tmp_path, "a\nb\n", "tokens", missing="x")


def test_words_of_truth_beside_missing_cells(tmp_path: Path) -> None:
    data = read(tmp_path, "x,y\nyes,no\n,TRUE\nfalse,-\n", "binary")
    np.testing.assert_array_equal(data.values, [[1, 0], [NAN, 1], [0, NAN]])


def test_decimal_commas_and_quotes(tmp_path: Path) -> None:
    data = read(tmp_path, 'x;y\n1,5;2\n" ";"2,5"\n -3,5 ; NA \n')
    np.testing.assert_array_equal(data.values, [[1.5, 2], [NAN, 2.5], [-3.5, NAN]])


@pytest.mark.parametrize("cell", ["", " NA"])
def test_wide_texts(tmp_path: Path, cell: str) -> None:
    rows = [["1.5"] * WIDE for _ in range(3)]
    rows[1][700] = cell
    data = read(tmp_path, "\n".join(map(",".join, rows)))
    assert data.values.shape == (3, WIDE) and data.missing == 1 and np.isnan(data.values[1, 700])


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.xlsx"])
def test_other_files(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame({"x": [1.0, None, 0.0], "y": pd.array([1, 0, None], dtype="Int64")})
    getattr(frame, {"t.parquet": "to_parquet", "t.feather": "to_feather"}.get(name, "to_excel"))(
        tmp_path / name, **({"index": False} if name == "t.xlsx" else {})
    )
    for kind in ("points", "binary"):
        data = csv(tmp_path / name, kind)
        np.testing.assert_array_equal(data.values, [[1, 1], [NAN, 0], [0, NAN]])


@pytest.mark.parametrize("kind", ["points", "binary"])
def test_a_column_of_nothing_in_a_file_whose_note_is_damaged(tmp_path: Path, kind: str) -> None:
    table = pa.table({"x": [1.0, 0.0], "y": [None, None]}).replace_schema_metadata({"pandas": "["})
    pq.write_table(table, tmp_path / "t.parquet")
    np.testing.assert_array_equal(csv(tmp_path / "t.parquet", kind, columns=[1, 2]).values, [[1, NAN], [0, NAN]])


def test_a_complete_table_of_0_and_1_stays_in_bytes(tmp_path: Path) -> None:
    assert read(tmp_path, "1,0\n0,1\n", "binary").values.dtype == np.uint8
    assert from_object([[True, False]], "binary").values.dtype == np.uint8


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ([[1, None], [0, 1]], "points"),
        ([[1, None], [0, 1]], "binary"),
        (pd.DataFrame({"x": [True, False], "y": pd.array([None, True], dtype="boolean")}), "binary"),
        (pd.DataFrame({"x": [1, 0], "y": pd.array([None, 1], dtype="Int64")}), "points"),
        (np.array([[1, NAN], [0, 1]], dtype=np.float32), "points"),
    ],
)
def test_objects(data: object, kind: str) -> None:
    found = from_object(data, kind)
    np.testing.assert_array_equal(found.values, [[1, NAN], [0, 1]])
    assert found.missing == 1 and found.values.dtype in (np.float64, np.float32)


def test_sparse_points_have_none() -> None:
    with pytest.raises(DataError, match="row 1, column 2: nan"):
        Dataset("made", "points", csr_array(np.array([[0.0, NAN]])))


def test_new_items_with_missing_cells_are_stacked() -> None:
    data = from_object([[0, 1], [1, 1]], "binary")
    whole = data.kind.stack(data, data.kind.new_items(data, [[1, None]]))
    np.testing.assert_array_equal(whole.values, [[0, 1], [1, 1], [1, NAN]])
    assert data.kind.stack(data, data.kind.new_items(data, [[1, 0]])).values.dtype == np.uint8
