"""Tables of numbers: what is read, how columns are chosen, and one clear message for each kind of bad file."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix, random_array, save_npz

from splitmerge_cli.data import values as checks
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables import files, repeats, scaled, separators
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.data.tables.text import WIDE
from splitmerge_cli.kinds.tables import choice
from splitmerge_cli.kinds.tables.models.real_columns import find_resolution
from splitmerge_cli.received import DataError


def table(folder: Path, text: str, name: str = "p.csv") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


# the data set


def test_points_must_be_finite_and_of_two_dimensions() -> None:
    x = np.array([[0.0, 1.0], [2.0, np.inf]])
    with pytest.raises(DataError, match=r"^made: row 2, column 2 \('y'\): inf; expected a number of magnitude 1e\+30"):
        Dataset("made", "points", x, columns=["x", "y"])
    for bad, shown in [(np.inf, "inf"), (-np.inf, "-inf"), (1.1e30, r"1.1e\+30"), (-1e200, r"-1e\+200")]:
        with pytest.raises(DataError, match=f"row 1, column 1: {shown};"):
            Dataset("made", "points", np.array([[bad], [np.nan]]))
    for values in (np.zeros(3), np.zeros((3, 2), dtype=np.float16), np.zeros((3, 2), dtype=int), np.zeros((3, 0))):
        with pytest.raises(DataError, match="expected float64"):
            Dataset("made", "points", values)
    assert Dataset("made", "points", np.array([[1e30, -1e30]])).N == 1
    with pytest.raises(DataError, match=r"^made: _Listed; expected an array or a csr_array"):
        Dataset("made", "points", _Listed([[1.0]]))


class _Listed(list[list[float]]):
    shape = (1, 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("block", [1, 4, 5, 1 << 20])
def test_numbers_are_checked_block_by_block(monkeypatch: pytest.MonkeyPatch, dtype: type, block: int) -> None:
    monkeypatch.setattr(checks, "BLOCK", block)
    x = np.zeros((7, 3), dtype=dtype)
    assert Dataset("made", "points", x).values is x
    for i, j in np.ndindex(*x.shape):
        bad = x.copy()
        bad[i, j], bad[-1, -1] = -np.inf, np.inf
        with pytest.raises(DataError, match=rf"^made: row {i + 1}, column {j + 1}: "):
            Dataset("made", "points", bad)
        bad[i, j] = np.nan
        assert checks.first_not_finite(bad) == 3 * i + j
        assert checks.first_not_finite(bad, missing=True) == (20 if 3 * i + j < 20 else None)
        bad[-1, -1] = 0.0 if 3 * i + j < 20 else np.nan
        data = Dataset("made", "points", bad)
        assert data.missing == 1 and data.first_missing == f"row {i + 1}, column {j + 1}: a missing cell"
    assert checks.first_not_finite(x.ravel()) is None and checks.first_not_finite(x[:0]) is None


@pytest.mark.parametrize("block", [1, 2, 3, 1 << 20])
def test_sparse_points_are_checked_as_dense_ones(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(checks, "BLOCK", block)
    dense = np.array([[0, 1.5, 2], [0, 0, 0], [0, 0, -1], [4, 5, 0]])
    x = csr_array(dense)
    assert Dataset("made", "points", x).values is x and Dataset("made", "points", x).N == 4
    for at in range(x.nnz):
        i, j = int(np.searchsorted(x.indptr, at, side="right")) - 1, x.indices[at]
        for value, shown in [
            (np.nan, "nan"),
            (-np.inf, "-inf"),
            (2e30, r"2e\+30"),
            (0.0, "a stored zero; expected none"),
        ]:
            bad = x.copy()
            bad.data[at] = value
            with pytest.raises(DataError, match=rf"^made: row {i + 1}, column {j + 1} \('{'abc'[j]}'\): {shown}"):
                Dataset("made", "points", bad, columns=["a", "b", "c"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (csr_array(np.ones((2, 2), dtype=np.float32)), r"float32 of shape \(2, 2\); expected a csr_array of float64"),
        (csr_array(np.ones((2, 2), dtype=np.int64)), "int64 of shape .* expected a csr_array of float64"),
        (csr_array((2, 0)), "float64 of shape .* expected a csr_array of float64 .*, D at least 1"),
        (csr_array((0, 2)), "no items"),
        (csr_matrix(np.ones((2, 2))), "csr_matrix; expected an array or a csr_array"),
        (coo_array(np.ones((2, 2))), "coo_array; expected an array or a csr_array"),
        (csr_array((np.ones(3), [0, 1, 0], [0, 1, 3]), shape=(2, 2)), "row 2: indices out of order; expected them asc"),
        (csr_array((np.ones(3), [0, 1, 1], [0, 1, 3]), shape=(2, 2)), "row 2: indices out of order; .* each once"),
        (csr_array((np.ones(3), [1, 0, 1], [0, 2, 3]), shape=(2, 2)), "row 1: indices out of order"),
    ],
)
@pytest.mark.parametrize("block", [1, 2, 1 << 20])
def test_sparse_points_that_are_refused(
    monkeypatch: pytest.MonkeyPatch, values: object, message: str, block: int
) -> None:
    monkeypatch.setattr(checks, "BLOCK", block)
    with pytest.raises(DataError, match=f"^made: {message}"):
        Dataset("made", "points", values)


def test_sparse_points_with_indices_out_of_range() -> None:
    for at, index in ((0, -1), (2, 9)):
        x = csr_array((np.ones(3), [0, 0, 1], [0, 1, 3]), shape=(2, 2))
        x.indices[at] = index
        with pytest.raises(DataError, match=r"^made: .*ind.*; expected a sparse matrix of shape \(2, 2\)"):
            Dataset("made", "points", x)


# what is read


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.tsv", "p.tsv.gz", "p.txt"])
def test_text_formats_agree(tmp_path: Path, name: str) -> None:
    """Names of columns and of the data set, true labels and types, which fuzzing does not look at."""
    text = "x,y,who\n-1.5,2e-3,b\n 1 ,+.5,a\n3,4.,b\n"
    path = table(tmp_path, text if "csv" in name else text.replace(",", "\t"), name)
    data = files.csv(path, "points", truth="who")
    assert data.values.dtype == np.float64 and data.values.tolist() == [[-1.5, 0.002], [1.0, 0.5], [3.0, 4.0]]
    assert data.truth is not None and data.truth.tolist() == [0, 1, 0]
    assert data.columns == ["x", "y"] and data.kind.name == "points" and data.name == "p"


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f8", "i8", "u1", "?", "u8"])
def test_arrays_of_any_plain_number(tmp_path: Path, dtype: str) -> None:
    x = np.array([[0, 1], [1, 1], [1, 0]], dtype=dtype)
    np.save(tmp_path / "x.npy", x)
    data = files.csv(tmp_path / "x.npy", "points")
    assert data.values.dtype == (np.float32 if dtype == "f4" else np.float64)
    assert data.values.flags.c_contiguous and np.array_equal(data.values, x)
    np.save(tmp_path / "one.npy", x[:, 0])
    assert files.csv(tmp_path / "one.npy", "points").values.shape == (3, 1)


def test_the_folder_of_a_parquet_file_adds_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    pd.DataFrame({"x": [1.0], "y": [2.0]}).to_parquet(folder / "x.parquet")
    assert files.csv(folder / "x.parquet", "points").columns == ["x", "y"]


def test_the_nearest_double_is_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 3)) * 10.0 ** rng.integers(-300, 29, (500, 3))
    path = table(tmp_path, "".join(",".join(map(repr, row)) + "\n" for row in x.tolist()))
    assert np.array_equal(files.csv(path, "points").values, x)


# what is rejected


def test_a_bad_cell_far_down_is_named(tmp_path: Path) -> None:
    """The parser works in blocks of a megabyte, and several at the same time."""
    path = table(tmp_path, "x,y\n" + "1.25,2.5\n" * 300_000 + "1,inf\n" + "1,2\n" * 300_000)
    with pytest.raises(DataError, match=r"row 300002, column 2 \('y'\): 'inf'; expected a number"):
        files.csv(path, "points")


# arrays that are kept as they are


def test_columns_of_an_array(tmp_path: Path) -> None:
    x = np.arange(20, dtype=np.float32).reshape(5, 4) / 2
    x[:, 1] = [7, 7, -1, 7, 3]
    np.save(tmp_path / "x.npy", x)
    data = files.csv(tmp_path / "x.npy", "points", truth=2, drop=1, N=4)
    assert data.values.dtype == np.float32 and data.values.flags.c_contiguous
    assert np.array_equal(data.values, x[:4, 2:]) and data.truth.tolist() == [0, 0, 1, 0]
    assert np.array_equal(files.csv(tmp_path / "x.npy", "points", columns=[4, 1]).values, x[:, [3, 0]])
    np.save(tmp_path / "x.npy", np.where(x == 3, np.inf, x))
    with pytest.raises(DataError, match=r"x.npy: row 2, column 3: 'inf'; expected a number"):
        files.csv(tmp_path / "x.npy", "points", truth=1, columns=[4, 3])
    np.save(tmp_path / "x.npy", x + np.float32(0.25))
    with pytest.raises(DataError, match=r"x.npy: row 1, column 2: '7.25'; expected a true label"):
        files.csv(tmp_path / "x.npy", "points", truth=2)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_large_arrays_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    monkeypatch.setattr(scaled, "MAPPED", 1)
    x = np.arange(12, dtype=dtype).reshape(4, 3)
    np.save(tmp_path / "x.npy", x)
    for N in (None, 2):
        values = files.csv(tmp_path / "x.npy", "points", N=N).values
        assert type(values) is np.ndarray and not values.flags.writeable and not values.flags.owndata
        assert values.dtype == dtype and np.array_equal(values, x[:N])
    # in another order or byte order they are copied
    for other in (np.asfortranarray(x), x.astype(f">{dtype}")):
        np.save(tmp_path / "x.npy", other)
        values = files.csv(tmp_path / "x.npy", "points").values
        assert values.flags.c_contiguous and values.dtype == dtype and np.array_equal(values, x)
    x[3, 1] = np.nan
    np.save(tmp_path / "x.npy", x)
    data = files.csv(tmp_path / "x.npy", "points")
    assert data.missing == 1 and not data.values.flags.owndata and "missing cells: column 2 1" in data.notes[0]
    x[3, 1] = np.inf
    np.save(tmp_path / "x.npy", x)
    with pytest.raises(DataError, match=r"x.npy: row 4, column 2: 'inf'; expected a number"):
        files.csv(tmp_path / "x.npy", "points")


# sparse matrices


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "?"])
def test_sparse_matrices_of_any_format(tmp_path: Path, form: str, dtype: str) -> None:
    x = random_array((9, 7), density=0.3, rng=np.random.default_rng(1)) * 9
    x = x.tocsr().astype(dtype)
    save_npz(tmp_path / "x.npz", x.asformat(form))
    data = files.csv(tmp_path / "x.npz", "points")
    assert isinstance(data.values, csr_array) and data.values.dtype == np.float64
    assert np.array_equal(data.values.toarray(), x.toarray()) and (data.values.data != 0).all()
    assert data.meta == {"path": str(tmp_path / "x.npz"), "rows": 9, "nonzeros": np.count_nonzero(x.toarray())}
    assert np.array_equal(files.csv(tmp_path / "x.npz", "points", N=2).values.toarray(), x.toarray()[:2])


def test_columns_of_a_sparse_matrix(tmp_path: Path) -> None:
    x = np.array([[0, 2, 0, 1.5], [1, 0, 0, 0], [3, 2, 0, -1]])
    save_npz(tmp_path / "x.npz", csr_matrix(x))
    data = files.csv(tmp_path / "x.npz", "points", truth=2, columns=[4, 1])
    assert np.array_equal(data.values.toarray(), x[:, [3, 0]]) and data.truth.tolist() == [0, 1, 0]
    assert data.values.has_sorted_indices
    assert np.array_equal(files.csv(tmp_path / "x.npz", "points", drop=-1).values.toarray(), x[:, :3])


def test_entries_of_one_place_are_added_up(tmp_path: Path) -> None:
    twice = coo_array((np.array([100, 100, 5, -5], dtype=np.int8), ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
    save_npz(tmp_path / "x.npz", twice)
    data = files.csv(tmp_path / "x.npz", "points")
    assert data.values.toarray().tolist() == [[0, 200], [0, 0]] and data.values.nnz == 1


# ---- A level that is called None is no missing cell, unless the table has it among numbers, or data.missing names it.

ANSWERS = ["None", "Some", "Many", " None", "Some", "None"] * 5
X = np.random.default_rng(0).normal(size=30).round(3).tolist()


def _read(tmp_path: Path, columns: dict[str, Any], form: str, **options: Any) -> Dataset:
    frame = pd.DataFrame(columns, dtype=object)
    frame = frame.assign(**{name: frame[name].astype(float) for name in frame if name == "x"})
    if form == "frame":
        return from_object(frame, "mixed")
    if form == "categories":
        return from_object(frame.assign(a=frame["a"].str.strip().astype("category")), "mixed")
    path = tmp_path / f"t.{form}"
    write = {"csv": frame.to_csv, "parquet": frame.to_parquet, "feather": frame.to_feather, "xlsx": frame.to_excel}
    write[form](path, **({} if form == "feather" else {"index": False}))
    return csv(path, "mixed", **options)


def _levels(data: Dataset) -> dict[str, tuple[str, ...] | None]:
    return dict(zip(data.columns or (), [column.levels for column in data.types or ()], strict=True))


@pytest.mark.parametrize("form", ["csv", "parquet", "feather", "xlsx", "frame", "categories"])
def test_a_level_called_none_is_kept(tmp_path: Path, form: str) -> None:
    data = _read(tmp_path, {"a": ANSWERS, "x": X}, form)
    assert _levels(data)["a"] == ("Many", "None", "Some") and not np.isnan(data.values).any()
    said = [note.partition(": ")[2] for note in data.notes]
    assert "None is a level of a (data.missing=[None] reads it as missing)" in said


@pytest.mark.parametrize("form", ["csv", "parquet", "feather"])
def test_an_option_makes_it_missing(tmp_path: Path, form: str) -> None:
    data = _read(tmp_path, {"a": ANSWERS, "x": X}, form, missing=["None"])
    assert _levels(data)["a"] == ("Many", "Some") and np.isnan(data.values[:, 0]).sum() == 15
    assert "None is" not in str(data.notes)


OTHERS = {
    "numbers": [None if i % 7 else 1.5 + i for i in range(30)],
    "dates": ["2024-01-02", "2024-02-03", "None"] * 10,
    "truth": ["True", "None", "False"] * 10,
    "prices": ["$1.50", "None", "$2.75"] * 10,
}


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("other", OTHERS)
def test_it_is_missing_where_the_table_has_it_among_others(tmp_path: Path, other: str, form: str) -> None:
    cells = [str(cell) for cell in OTHERS[other]]
    data = _read(tmp_path, {"a": ANSWERS, "b": cells, "x": X}, form)
    assert _levels(data)["a"] == ("Many", "Some") and np.isnan(data.values[:, 0]).sum() == 15
    said = [note.partition(": ")[2] for note in data.notes]
    assert "None is a missing cell in columns of words, too, as in b" in said


@pytest.mark.parametrize("form", ["csv", "frame"])
def test_numbers_have_no_such_level(tmp_path: Path, form: str) -> None:
    """Nor have names of items, of which each is another one."""
    cells = [str(cell) for cell in OTHERS["numbers"]]
    names = ["None" if i in (3, 5) else f"item {i}" for i in range(30)]
    data = _read(tmp_path, {"b": cells, "name": names, "x": X}, form)
    assert data.columns == ["b", "x"] and np.isnan(data.values[:, 0]).sum() == cells.count("None")
    assert "None is" not in str(data.notes)


# ---- Missing cells of points and of 0 and 1: in texts, other files and objects; notes and errors.

NAN = np.nan


def read(tmp_path: Path, text: str, kind: str = "points", **options: object) -> Dataset:
    (tmp_path / "t.csv").write_text(text)
    return csv(tmp_path / "t.csv", kind, **options)


@pytest.mark.parametrize("cell", ["", " NA"])
def test_wide_texts(tmp_path: Path, cell: str) -> None:
    rows = [["1.5"] * WIDE for _ in range(3)]
    rows[1][700] = cell
    data = read(tmp_path, "\n".join(map(",".join, rows)))
    assert data.values.shape == (3, WIDE) and data.missing == 1 and np.isnan(data.values[1, 700])


@pytest.mark.parametrize("kind", ["points", "binary"])
def test_a_column_of_nothing_in_a_file_whose_note_is_damaged(tmp_path: Path, kind: str) -> None:
    table = pa.table({"x": [1.0, 0.0], "y": [None, None]}).replace_schema_metadata({"pandas": "["})
    pq.write_table(table, tmp_path / "t.parquet")
    np.testing.assert_array_equal(csv(tmp_path / "t.parquet", kind, columns=[1, 2]).values, [[1, NAN], [0, NAN]])


def test_a_complete_table_of_0_and_1_stays_in_bytes(tmp_path: Path) -> None:
    assert read(tmp_path, "1,0\n0,1\n", "binary").values.dtype == np.uint8
    assert from_object([[True, False]], "binary").values.dtype == np.uint8


def test_new_items_with_missing_cells_are_stacked() -> None:
    data = from_object([[0, 1], [1, 1]], "binary")
    whole = data.kind.stack(data, data.kind.new_items(data, [[1, None]]))
    np.testing.assert_array_equal(whole.values, [[0, 1], [1, 1], [1, NAN]])
    assert data.kind.stack(data, data.kind.new_items(data, [[1, 0]])).values.dtype == np.uint8


def _recorded_points(x: np.ndarray) -> Dataset:
    return Dataset("t", "points", x, is_recorded=True)


def test_wide_tables_are_looked_at_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time by column was two thirds of a run of 30,000 columns that ended in one component."""
    calls = []
    monkeypatch.setattr(choice.real_columns, "find_resolution", lambda cells: calls.append(1) or find_resolution(cells))
    x = np.random.default_rng(0).normal(size=(20, 3_000))
    assert not choice.has_steps(_recorded_points(x)) and not calls
    assert choice.has_steps(_recorded_points(x.round(1))) and len(calls) == 1
    # as column by column, also with missing cells
    for digits in (0, 1, 2, 3):
        some = x[:, :5].round(digits)
        some[digits, 0] = np.nan
        steps = [find_resolution(cells) > choice.FINE * np.nanstd(cells) for cells in some.T]
        assert choice.has_steps(_recorded_points(some)) == any(steps)
    monkeypatch.setattr(separators, "_is_whole", lambda cell, others: pytest.fail(cell))
    assert separators.layout(b"a,b\n1,2\n", "comma").separator == "comma"


@pytest.mark.parametrize("block", [1, 50, 1 << 20])
def test_rows_are_numbered_alike_in_blocks_of_any_width(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(repeats, "BLOCK", block)
    x = np.random.default_rng(1).integers(0, 2, (40, 4)).astype(float)
    _, first, place = np.unique(x, axis=0, return_index=True, return_inverse=True)
    expected = np.argsort(np.argsort(first))[place.ravel()]
    assert repeats.items_of_rows(x).tolist() == expected.tolist()
    assert repeats._hash_rows(x).tolist() == sum(repeats._hash(x[:, d], d) for d in range(4)).tolist()
