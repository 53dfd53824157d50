"""Readers of tables: what they return where a table of cases (`test_reading`) cannot say it."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest

from splitmerge_cli.data.tables import files
from splitmerge_cli.received import DataError


def write(path, text):
    path.write_text(text)
    return path


def test_parquet_and_npy(tmp_path):
    x = np.array([[0, 1, 5], [1, 1, 7], [0, 0, 5]])
    pd.DataFrame(x, columns=["a", "b", "who"]).to_parquet(tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", x)
    for path, truth in [("x.parquet", "who"), ("x.parquet", 3), ("x.npy", 3), ("x.npy", -1), ("x.npy", "3")]:
        data = files.csv(tmp_path / path, "binary", truth=truth)
        assert data.values.tolist() == x[:, :2].tolist() and data.truth.tolist() == [0, 1, 0]
    np.save(tmp_path / "t.npy", np.array(["b", "a", "b"]))
    assert files.csv(tmp_path / "t.npy", "tokens").vocabulary == ["b", "a"]
    np.save(tmp_path / "f.npy", np.array([2.0, 1.0, 2.0]))
    assert files.csv(tmp_path / "f.npy", "tokens").values.tolist() == [0, 1, 0]


def test_a_column_may_change_its_notation_late(tmp_path):
    """The parser guesses types from the first megabyte; a float after it must not matter."""
    path = write(tmp_path / "b.csv", "1,0\n" * 400_000 + "0.0,1\n")
    assert files.csv(path, "binary").N == 400_001
    path = write(tmp_path / "b.csv", "1,0\n" * 400_000 + "0,x\n")
    with pytest.raises(DataError, match=r"row 400001, column 2: 'x'; expected 0 or 1"):
        files.csv(path, "binary")


def test_an_archive_of_arrays_is_no_array(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.ones(3))
    (tmp_path / "x.npz").rename(tmp_path / "x.npy")
    with pytest.raises(DataError, match=r"not a readable .npy file .* archive"):
        files.csv(tmp_path / "x.npy", "binary")


def test_line_breaks_in_quotes_wherever_the_parser_cuts(tmp_path):
    """More than the parser's block of a megabyte, which by default is cut in the middle of cells."""
    data = files.csv(write(tmp_path / "t.csv", "".join(f'"x{i % 7}\ny"\n' for i in range(200_000))), "tokens")
    assert data.vocabulary == [f"x{i}\ny" for i in range(7)]
    assert np.array_equal(data.values, np.arange(200_000) % 7)


def test_cells_and_rows_longer_than_the_parser_expects(tmp_path):
    word = "a" * 200_000
    assert files.csv(write(tmp_path / "t.csv", f"{word}\nb\n"), "tokens").vocabulary == [word, "b"]
    wide = files.csv(write(tmp_path / "b.csv", (",".join(["0." + "0" * 2000] * 700) + "\n") * 2), "binary")
    assert wide.values.shape == (2, 700)


def test_encoded_columns_are_read_as_what_they_hold(tmp_path):
    pd.DataFrame({"t": pd.Categorical(["b", "a", "b"])}).to_parquet(tmp_path / "t.parquet")
    assert files.csv(tmp_path / "t.parquet", "tokens").vocabulary == ["b", "a"]
    view = pa.table({"t": pa.array(["b", "a", "b"], pa.string_view())})
    # early versions of pyarrow cannot write them as parquet
    pyarrow.feather.write_feather(view, tmp_path / "v.feather", compression="uncompressed")
    assert files.csv(tmp_path / "v.feather", "tokens").vocabulary == ["b", "a"]
    np.save(tmp_path / "x.npy", np.array([[0, 1], [1, 1]], dtype=">i4"))
    assert files.csv(tmp_path / "x.npy", "binary").values.tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize("kind", ["points", "mixed"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("labels", "truth"),
    [
        (["a", None, "b", "b"], [0, -1, 1, 1]),
        ([None, 2.0, 1.0, 2.0], [-1, 0, 1, 0]),
        (["-", "+", "?", ""], [0, 1, 2, -1]),
        (["x", "-99", "y", "x"], [0, -1, 1, 0]),
    ],
)
def test_rows_without_a_true_label_are_kept(tmp_path, kind, suffix, labels, truth):
    frame = pd.DataFrame({"x": [0.5, 1.25, 2.5, 7.125], "cls": pd.Series(labels)})
    path = tmp_path / f"t.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    data = files.csv(path, kind, truth="cls", missing=[-99])
    assert data.truth.tolist() == truth and data.N == 4 and data.columns == ["x"]
    assert any("column 2 ('cls') has no true label in 1 of 4 rows" in note for note in data.notes)


@pytest.mark.parametrize(
    ("labels", "noted"), [("a b 1.5 c", False), ("1.0 2.0 3.0 3.0", False), ("1.5 -2.25 3 4.5", True)]
)
def test_a_quantity_in_the_place_of_true_labels_is_noted(tmp_path, labels, noted):
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": [0.5, 1.25, 2.5, 7.125], "cls": labels.split()}).to_csv(path, index=False)
    note = "column 2 ('cls'): true labels are 4 different numbers, such as 1.5: "
    assert any(note in found for found in files.csv(path, "points", truth="cls").notes) == noted
