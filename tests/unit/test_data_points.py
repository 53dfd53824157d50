"""Tables of numbers: what is read, how columns are chosen, and one clear message for each kind of bad file."""

import gzip
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix, random_array, save_npz

from splitmerge_cli.data import base
from splitmerge_cli.data.base import DataError, Dataset
from splitmerge_cli.data.tables import files, matrices


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
    monkeypatch.setattr(base, "BLOCK", block)
    x = np.zeros((7, 3), dtype=dtype)
    assert Dataset("made", "points", x).values is x
    for i, j in np.ndindex(*x.shape):
        bad = x.copy()
        bad[i, j], bad[-1, -1] = -np.inf, np.inf
        with pytest.raises(DataError, match=rf"^made: row {i + 1}, column {j + 1}: "):
            Dataset("made", "points", bad)
        bad[i, j] = np.nan
        assert base.first_not_finite(bad) == 3 * i + j
        assert base.first_not_finite(bad, missing=True) == (20 if 3 * i + j < 20 else None)
        bad[-1, -1] = 0.0 if 3 * i + j < 20 else np.nan
        data = Dataset("made", "points", bad)
        assert data.missing == 1 and data.first_missing == f"row {i + 1}, column {j + 1}: a missing cell"
    assert base.first_not_finite(x.ravel()) is None and base.first_not_finite(x[:0]) is None


@pytest.mark.parametrize("block", [1, 2, 3, 1 << 20])
def test_sparse_points_are_checked_as_dense_ones(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(base, "BLOCK", block)
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
    monkeypatch.setattr(base, "BLOCK", block)
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


def test_parquet_columns_of_any_plain_number(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, -1e-12], "c": [True, False], "d": [Decimal("1.25"), Decimal("-3")]})
    frame.to_parquet(tmp_path / "x.parquet")
    data = files.csv(tmp_path / "x.parquet", "points")
    assert data.values.tolist() == [[1, 0.5, 1, 1.25], [2, -1e-12, 0, -3]]
    assert data.columns == ["a", "b", "c", "d"]


def test_the_folder_of_a_parquet_file_adds_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    pd.DataFrame({"x": [1.0], "y": [2.0]}).to_parquet(folder / "x.parquet")
    assert files.csv(folder / "x.parquet", "points").columns == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "kwargs", "rows"),
    [
        ("7", {}, [[7]]),
        ("x\n7\n", {}, [[7]]),
        ("1,2\n", {}, [[1, 2]]),
        ("1,2\n1,2\n1,2\n", {}, [[1, 2]] * 3),
        ("\ufeffx,y\r\n1,2\r\n\r\n", {}, [[1, 2]]),
        ("\ufeff1,2\n", {}, [[1, 2]]),
        ("1e-12,1e12\n-1e-12,-1e12\n", {}, [[1e-12, 1e12], [-1e-12, -1e12]]),
        ("1e-400,1e30\n", {}, [[0, 1e30]]),
        ("9007199254740993,0\n", {}, [[9007199254740992, 0]]),
        ('"1","-2"\n', {}, [[1, -2]]),
        ("1,2\n3,4\n", {"header": True}, [[3, 4]]),
        ("1,2\n3,4\n5,6\n", {"N": 2}, [[1, 2], [3, 4]]),
        # choosing columns
        ("who,x,y\na,1,2\n", {"columns": ["y", "x"]}, [[2, 1]]),
        ("who,x,y\na,1,2\n", {"columns": [3, "x"]}, [[2, 1]]),
        ("who,x,y\na,1,2\n", {"columns": "x"}, [[1]]),
        ("who,x,y\na,1,2\n", {"columns": -1}, [[2]]),
        ("who,x,y\na,1,2\n", {"drop": ["who"]}, [[1, 2]]),
        ("who,x,y\na,1,2\n", {"drop": "who", "truth": "who"}, [[1, 2]]),
        ("who,x,y\na,1,2\n", {"columns": ["x"], "truth": "who"}, [[1]]),
        (",x,y\n0,1,2\n1,3,4\n", {"drop": [1]}, [[1, 2], [3, 4]]),
        ("a,1,2\nb,3,4\n", {"columns": [2, 3]}, [[1, 2], [3, 4]]),
        ("a,1,2\nb,3,4\n", {"drop": [1]}, [[1, 2], [3, 4]]),
        ("a,1,2\nb,3,4\n", {"truth": 1}, [[1, 2], [3, 4]]),
        ("2019,2020\n1,2\n", {"columns": ["2020"]}, [[2]]),
        ("x,y,note\n1,2,\n3,4,?\n", {"drop": ["note"]}, [[1, 2], [3, 4]]),
    ],
)
def test_points(tmp_path: Path, text: str, kwargs: dict[str, object], rows: list[list[float]]) -> None:
    assert files.csv(table(tmp_path, text), "points", **kwargs).values.tolist() == rows


def test_columns_are_chosen_for_other_kinds_too(tmp_path: Path) -> None:
    path = table(tmp_path, "id,a,b,token\n7,0,1,cat\n8,1,1,dog\n")
    assert files.csv(path, "binary", columns=["b", "a"]).values.tolist() == [[1, 0], [1, 1]]
    assert files.csv(path, "tokens", columns=["token"]).vocabulary == ["cat", "dog"]


def test_the_nearest_double_is_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 3)) * 10.0 ** rng.integers(-300, 29, (500, 3))
    path = table(tmp_path, "".join(",".join(map(repr, row)) + "\n" for row in x.tolist()))
    assert np.array_equal(files.csv(path, "points").values, x)


# what is rejected


@pytest.mark.parametrize(
    ("text", "kwargs", "message"),
    [
        ("1,2\n3,x\n", {}, r"row 2, column 2: 'x'; expected a number \(data.columns and data.drop"),
        ("1,2\n3,inf\n", {}, r"row 2, column 2: 'inf'; expected a number of magnitude 1e\+30"),
        ("1,2\n3,-Infinity\n", {}, "row 2, column 2: '-Infinity'; expected a number of magnitude"),
        ("1,2\n3,1e999\n", {}, "row 2, column 2: '1e999'; expected a number of magnitude"),
        ("1,2\n3,-1.01e30\n", {}, "row 2, column 2: '-1.01e30'; expected a number of magnitude"),
        ("1,2\n3,1e999\n4,x\n", {}, "row 2, column 2: '1e999'; expected a number of magnitude"),
        ("1,2\nnan,1\n4,x\n", {}, "row 3, column 2: 'x'; expected a number"),
        ("1,2\n ,1\n4,none\n", {}, "row 3, column 2: 'none'; expected a number"),
        ('1,2\n"1,5",2\n', {}, "row 2, column 1: '1,5'; expected a number with a decimal point and without commas"),
        ('1,2\n"1,000,000.5",2\n"2.000,5",2\n', {}, "row 3, column 1: '2.000,5'; expected a number whose decimals"),
        ("1,2\n1.000.5,2\n", {}, "row 2, column 1: '1.000.5'; expected a number"),
        ("x;y\n1;2;3\n", {}, r"row 2: cells: 1; expected 1|row 2, column 1 \('x;y'\): '1;2;3'; expected a number \(ce"),
        ("1,2\n1_0,2\n", {}, "row 2, column 1: '1_0'; expected a number"),
        ("1,2\n0x10,2\n", {}, "row 2, column 1: '0x10'; expected a number"),
        ("1,2\n\u0661,2\n", {}, "row 2, column 1: '\u0661'; expected a number"),
        ("1,2\n1\u00a0,2\n", {}, "row 2, column 1: '1\u00a0'; expected a number"),
        ("1,2\n3\n", {}, "row 2: cells: 1; expected 2, as in row 1"),
        ("1,2\n3,4,5\n", {}, "row 2: cells: 3; expected 2"),
        ("1,x\n3,4\n", {}, r"row 1: 'x' beside numbers; expected names alone or numbers alone \(data.header=true"),
        ("1,x\n3,4\n", {"header": False}, "row 1, column 2: 'x'; expected a number"),
        ('"x\n",y\n1,2\n"3\n4",q\n', {}, r"row 4, column 1 \('x'\): '3 4'; expected a number"),
        ("x,y\n", {}, "a header and no row"),
        ("", {}, "the file is empty"),
        ("1,2\n", {"N": 2}, "N=2: expected at most 1, the number of rows"),
        # columns
        ("x,y\n1,2\n", {"columns": ["z"]}, "data.columns=z: .* no such column; expected one of x, y, or a number from"),
        ("1,2\n", {"columns": ["x", "y"]}, "data.columns=x: .* no such column; expected a number from 1 to 2"),
        ("x,y\n1,2\n", {"columns": [3]}, "data.columns=3: .* no such column"),
        ("x,y\n1,2\n", {"columns": [0]}, "data.columns=0: .* no such column"),
        ("x,x\n1,2\n", {"columns": ["x"]}, "data.columns=x: .* 2 columns of that name; expected x.1, x.2"),
        ("x,y\n1,2\n", {"columns": ["x", 1]}, "data.columns=x: .* expected each column once"),
        ("x,y\n1,2\n", {"columns": ["x", "y"], "truth": "y"}, "data.columns=y: .* data.truth not"),
        ("x,y\n1,2\n", {"columns": []}, r"data.columns=\[\]: expected at least one"),
        ("x,y\n1,2\n", {"columns": [1.5]}, r"data.columns=\[1.5\]: expected names or numbers of columns"),
        ("x,y\n1,2\n", {"columns": True}, "data.columns=True: expected names or numbers"),
        ("x,y\n1,2\n", {"columns": {"x": 1}}, "data.columns=.*: expected names or numbers"),
        ("x,y\n1,2\n", {"drop": [None]}, r"data.drop=\[None\]: expected names or numbers"),
        ("x,y\n1,2\n", {"drop": ["z"]}, "data.drop=z: .* no such column"),
        ("x,y\n1,2\n", {"drop": ["x", "y"]}, "no column is left for the data"),
        ("x,y\n1,2\n", {"drop": ["x"], "truth": "y"}, "no column is left for the data"),
        ("x,y\n1,2\n", {"drop": ["x"], "columns": ["y"]}, r"data.drop=\['x'\]: expected null beside data.columns"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, kwargs: dict[str, object], message: str) -> None:
    path = table(tmp_path, text)
    with pytest.raises(DataError, match=message) as info:
        files.csv(path, "points", **kwargs)
    assert "\n" not in str(info.value)
    assert str(path) in str(info.value) or "=" in str(info.value)


def test_decimal_commas_in_tables_with_tabs(tmp_path: Path) -> None:
    path = table(tmp_path, "x\ty\n1,5\t2\n", "p.tsv")
    with pytest.raises(DataError, match=r"row 2, column 1 \('x'\): '1,5'; expected a number with a decimal point"):
        files.csv(path, "points")


def test_a_bad_cell_far_down_is_named(tmp_path: Path) -> None:
    """The parser works in blocks of a megabyte, and several at the same time."""
    path = table(tmp_path, "x,y\n" + "1.25,2.5\n" * 300_000 + "1,inf\n" + "1,2\n" * 300_000)
    with pytest.raises(DataError, match=r"row 300002, column 2 \('y'\): 'inf'; expected a number"):
        files.csv(path, "points")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[0.0, 1.0], [-np.inf, 1.0]]), "row 2, column 1: '-inf'; expected a number of magnitude"),
        (np.array([[1e101]]), r"row 1, column 1: '1e\+101'; expected a number of magnitude"),
        (np.zeros((0, 2)), "no rows or no columns"),
        (np.zeros((2, 0)), "no rows or no columns"),
        (np.zeros((2, 2, 2)), "array of 3 dimensions"),
        (np.float64(1), "array of 0 dimensions"),
        (np.array([1j]), "array of complex128; expected numbers"),
        (np.array(["1", "2"]), "column 1 holds string; expected numbers"),
        (np.array(["2020-01-01"], dtype="M8[s]"), "column 1 holds timestamp.*; expected numbers"),
        (np.zeros(2, dtype=[("x", float), ("y", float)]), "array of .*; expected numbers or strings"),
        (np.array([1, "a", None], dtype=object), "not a readable .npy file of plain numbers or strings"),
        (np.ones(2, dtype=np.longdouble), "expected numbers or strings"),
    ],
)
def test_bad_arrays(tmp_path: Path, array: np.ndarray, message: str) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(DataError, match=message):
        files.csv(tmp_path / "x.npy", "points")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["1", "2"], r"column 1 \('x'\) holds string; expected numbers \(data.columns and data.drop choose\)"),
        ([[1.0], [2.0]], r"column 1 \('x'\) holds list"),
        ([1e101, 1.0], r"row 1, column 1 \('x'\): '1e\+101'; .* magnitude"),
    ],
)
def test_bad_parquet_columns(tmp_path: Path, column: list[object], message: str) -> None:
    pq.write_table(pa.table({"x": column}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=message):
        files.csv(tmp_path / "x.parquet", "points")


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
    with pytest.raises(DataError, match=r"data.columns=5: .*x.npy has no such column; expected a number from 1 to 4"):
        files.csv(tmp_path / "x.npy", "points", columns=[5])
    with pytest.raises(DataError, match=r"^N=6: expected at most 5, the number of rows of .*x.npy"):
        files.csv(tmp_path / "x.npy", "points", N=6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_large_arrays_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    monkeypatch.setattr(matrices, "MAPPED", 1)
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
    np.save(tmp_path / "x.npy", np.array([1, "a", None], dtype=object))
    with pytest.raises(DataError, match=r"not a readable .npy file of plain numbers or strings"):
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


NOT_SPARSE = r"x.npz: not a readable sparse matrix of real numbers, as scipy.sparse.save_npz writes it: "


def in_archive(path: Path, **arrays: object) -> None:
    """An .npz file of a CSR matrix ``[2, 2]``, in which some arrays are others."""
    given = {"format": "csr", "shape": [2, 2], "data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2]} | arrays
    np.savez(path, **{name: np.array(array) for name, array in given.items() if array is not None})


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"data": [np.nan, 1]}, "x.npz: row 1, column 1: 'nan'; expected a number"),
        ({"data": [1, -np.inf]}, "x.npz: row 2, column 2: '-inf'; expected a number of magnitude"),
        ({"data": [1, 1e31]}, r"x.npz: row 2, column 2: '1e\+31'; expected a number of magnitude"),
        ({"data": [1j, 1]}, f"{NOT_SPARSE}it holds complex128"),
        ({"data": ["a", "b"]}, NOT_SPARSE),
        ({"data": np.array([1, None], dtype=object)}, f"{NOT_SPARSE}it holds Python objects"),
        ({"format": "xyz"}, NOT_SPARSE),
        ({"format": None}, NOT_SPARSE),
        ({"data": None}, NOT_SPARSE),
        ({"indices": [0, 2]}, NOT_SPARSE),
        ({"indices": [0, -1]}, NOT_SPARSE),
        ({"indptr": [0, 2, 1]}, NOT_SPARSE),
        ({"indptr": [0, 1, 9]}, NOT_SPARSE),
        ({"shape": [2, 2**40]}, NOT_SPARSE),
        ({"shape": [0, 2], "data": [], "indices": np.zeros(0, int), "indptr": [0]}, "x.npz: no rows or no columns"),
        ({"shape": [2, 0], "data": [], "indices": np.zeros(0, int), "indptr": [0, 0, 0]}, "no rows or no columns"),
    ],
)
def test_bad_sparse_matrices(tmp_path: Path, arrays: dict[str, object], message: str) -> None:
    in_archive(tmp_path / "x.npz", **arrays)
    with pytest.raises(DataError, match=message) as info:
        files.csv(tmp_path / "x.npz", "points")
    assert "\n" not in str(info.value)


def test_what_is_no_sparse_matrix(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 2)))
    with pytest.raises(DataError, match=NOT_SPARSE):
        files.csv(tmp_path / "x.npz", "points")
    (tmp_path / "x.npz").write_text("1,2\n")
    with pytest.raises(DataError, match=NOT_SPARSE):
        files.csv(tmp_path / "x.npz", "points")
    in_archive(tmp_path / "x.npz")
    for kind in ("binary", "tokens"):
        with pytest.raises(DataError, match=rf"x.npz: a sparse matrix is read as points .* for kind {kind}"):
            files.csv(tmp_path / "x.npz", kind)
