"""How tables are written: separators, decimals, encodings, truth values, blank rows and columns; other formats."""

import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from refusals import make_numpy_error
from scipy.sparse import csr_array, save_npz

from splitmerge_cli.data import opening
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.opening import limit_bytes, sha256
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.data.tables.separators import layout
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.received import DataError, reject_machine_error


def read(tmp_path: Path, text: str | bytes, kind: str = "points", name: str = "t.csv", **options: Any) -> Dataset:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return csv(path, kind, **options)


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("name x y\nann 1.5 2\nbob NA 3\n", "space"),
        ('"name" "x"  "y"\n"a b" 1.5 2\n"c" 2 3\n', "space"),
        ('"x" "y"\n"a b" u 2\n"c" v 3\n', "space"),
        ("the old cat\na big dog\nmy red hen\n", "tab"),  # texts of so many words
        ("1 the cat\n2 a dog\n", "tab"),  # numbers without a name
        ("x y\nann NA\nbob NA\n", "tab"),
        ("x y\na b 1 2\nc d 1 2\n", "tab"),
    ],
)
def test_spaces_separate_words_beside_a_column_of_numbers(text: str, separator: str) -> None:
    assert layout(text.encode(), "tab").separator == separator


# feather and spreadsheets


def frame() -> pd.DataFrame:
    return pd.DataFrame({"x": [1.5, 2.5, -3.0], "y": [1, 2, 3], "who": ["a", "b", "a"]})


def test_feather_that_unpacks_to_more_than_the_limit(tmp_path: Path) -> None:
    table = pa.table({"x": np.zeros(1_000_000)})
    pyarrow.feather.write_feather(table, tmp_path / "t.feather", compression="zstd")
    with (
        limit_bytes(1_000_000),
        pytest.raises(DataError, match=r"t.feather: \d+ bytes unpacked; expected at most 1000000 bytes"),
    ):
        csv(tmp_path / "t.feather", "points")


def test_damaged_feather_files_are_refused_or_read(tmp_path: Path) -> None:
    out = io.BytesIO()
    pyarrow.feather.write_feather(frame(), out, compression="zstd")
    rng, rejected = np.random.default_rng(0), 0
    for _ in range(150):
        damaged = bytearray(out.getvalue())
        for place in rng.integers(len(damaged), size=2):
            damaged[place] = rng.integers(256)
        try:
            read(tmp_path, bytes(damaged), "mixed", "t.feather")
        except DataError as error:
            rejected += 1
            assert "\n" not in str(error)
    assert 0 < rejected < 150


def patched_feather(size: int) -> bytes:
    """A feather file whose first packed column claims to hold so many bytes."""
    out = io.BytesIO()
    pyarrow.feather.write_feather(pd.DataFrame({"x": np.zeros(1000)}), out, compression="zstd")
    content = bytearray(out.getvalue())
    frame = content.index(b"\x28\xb5\x2f\xfd")
    content[frame - 8 : frame] = size.to_bytes(8, "little")
    return bytes(content)


def patched_npz(size: int) -> bytes:
    """A sparse matrix whose `data` claim so many numbers, in their header and in the zip."""
    out, header = io.BytesIO(), io.BytesIO()
    save_npz(out, csr_array(np.eye(3)))
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (size,)})
    claimed = io.BytesIO()
    with zipfile.ZipFile(out) as old, zipfile.ZipFile(claimed, "w") as new:
        for name in old.namelist():
            new.writestr(name, header.getvalue() if name == "data.npy" else old.read(name))
        new.getinfo("data.npy").file_size = len(header.getvalue()) + 8 * size
    return claimed.getvalue()


def patched_npy(size: int) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": (size, 2)})
    return out.getvalue() + bytes(16)


def patched_matrix(form: str) -> Callable[[int], bytes]:
    """A Matrix Market file of two entries that claims 100 million times more."""
    head, numbers = ("array real symmetric", "") if form == "array" else ("coordinate real general", "1 1 ")
    claimed = "100000000 100000000" if form == "array" else "2 2 10000000000000000"
    return lambda _: f"%%MatrixMarket matrix {head}\n{claimed}\n{numbers}1\n{numbers}1\n".encode()


CLAIMED: dict[str, tuple[Callable[[int], bytes], Callable[[Path], Any]]] = {
    "a.feather": (patched_feather, lambda path: csv(path, "points")),
    "a.npy": (patched_npy, lambda path: csv(path, "points")),
    "a.npz": (patched_npz, lambda path: csv(path, "points")),
    "array.mtx": (patched_matrix("array"), edges),
    "coordinate.mtx": (patched_matrix("coordinate"), edges),
}


@pytest.mark.parametrize("name", CLAIMED)
def test_a_size_beyond_what_the_file_can_hold_is_damage(tmp_path: Path, name: str) -> None:
    write, read_file = CLAIMED[name]
    for exponent in (44, 50, 53):
        (tmp_path / name).write_bytes(write(1 << exponent))
        with pytest.raises(DataError, match="not a readable") as raised:
            read_file(tmp_path / name)
        assert "data.max_bytes" not in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["a.feather", "a.parquet", "a.npy"])
def test_what_cannot_be_allocated_is_damage_or_a_lack_of_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(bytes(1000))
    for size in (1 << 20, 1 << 29):
        for error in (pa.ArrowMemoryError(f"malloc of size {size} failed"), make_numpy_error(size)):
            with pytest.raises(MemoryError, match="left as it is"):
                reject_machine_error(error, path)
    for size in (1 << 31, 7_900_000_000_000_000):
        for error in (pa.ArrowMemoryError(f"realloc of size {size} failed"), make_numpy_error(size)):
            reject_machine_error(error, path)


def workbook(path: Path, **sheets: pd.DataFrame) -> Path:
    with pd.ExcelWriter(path) as writer:
        for name, rows in sheets.items():
            rows.to_excel(writer, sheet_name=name.replace("_", " "), index=False)
    return path


def test_several_sheets_are_asked_about(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", old_data=frame(), new=frame() * 2)
    with pytest.raises(DataError, match=r"sheets that hold cells: old data, new; expected data.sheet=1, or another"):
        csv(path, "points")
    for sheet in ("new", 2, "2"):
        assert csv(path, "points", drop=["who"], sheet=sheet).values[0, 0] == 3
    with pytest.raises(DataError, match=r"data.sheet=3: .* has no such sheet; expected one of old data, new"):
        csv(path, "points", sheet=3)
    with pytest.raises(DataError, match=r"data.sheet=1: expected null: .* is no .xlsx file"):
        read(tmp_path, "1\n", sheet=1)


def test_cells_of_a_sheet_are_named_by_its_rows(tmp_path: Path) -> None:
    rows = pd.DataFrame([["x", "y"], [1.5, "two\nlines"], [2.5, "b"], ["oops", "b"], [4.5, "b"]])
    with pd.ExcelWriter(tmp_path / "t.xlsx") as writer:
        rows.to_excel(writer, startrow=3, index=False, header=False)
    with pytest.raises(DataError, match=r"t.xlsx: row 7, column 1 \('x'\): 'oops'; expected a number"):
        csv(tmp_path / "t.xlsx", "points", columns=["x"])


def test_formulas_that_were_never_computed_are_noted(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["x", "y"], [1.5, "=A2*2"], [2.5, "=A3*2"]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    data = csv(tmp_path / "t.xlsx", "mixed")
    assert data.columns == ["x"] and "formulas without a stored value are read as empty cells" in data.notes[0]


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"x,y\n1,2\n"])
def test_a_file_that_is_no_spreadsheet(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match=r"t.xlsx: not a readable .xlsx file: "):
        read(tmp_path, content, name="t.xlsx")


def test_a_spreadsheet_that_unpacks_to_more(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", a=pd.DataFrame({"x": np.zeros(9000)}))
    with limit_bytes(200_000), pytest.raises(DataError, match=r"t.xlsx: \d+ bytes unpacked; expected at most"):
        csv(path, "points")


def test_a_file_under_the_name_of_another_format(tmp_path: Path) -> None:
    workbook(tmp_path / "t.xlsx", a=frame()).rename(tmp_path / "t.csv")
    with pytest.raises(DataError, match=r"t.csv: a zip archive, as are .xlsx, which needs its ending"):
        csv(tmp_path / "t.csv", "points")


def test_formats_that_are_not_read_say_what_is(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"unknown format '.xls'; expected one of .*pip install xlrd\): python -c "):
        read(tmp_path, b"x", name="t.xls")


# standard input


def give_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("how", ["csv", "gz", "parquet", "feather", "xlsx"])
def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    out, rows = io.BytesIO(), frame()[["x", "y"]]
    if how in ("csv", "gz"):
        rows.to_csv(out, index=False, compression={"method": "gzip"} if how == "gz" else None)
    else:
        {"parquet": rows.to_parquet, "feather": rows.to_feather}.get(how, lambda to: rows.to_excel(to, index=False))(
            out
        )
    give_stdin(monkeypatch, out.getvalue())
    first = sha256("-")
    assert csv("-", "points").values.tolist() == [[1.5, 1], [2.5, 2], [-3, 3]]
    assert sha256("-") == first


def test_what_standard_input_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    give_stdin(monkeypatch, b"x,y\n1,2\n3\n")
    with pytest.raises(DataError, match=r"^standard input: row 3: cells: 1; expected 2"):
        csv("-", "points")
    give_stdin(monkeypatch, b"x" * 5000)
    with limit_bytes(1000), pytest.raises(DataError, match=r"^standard input: more than 1000 bytes"):
        csv("-", "tokens")
    give_stdin(monkeypatch, b"\x93NUMPY")
    with pytest.raises(DataError, match=r"an .npy file; expected text"):
        csv("-", "points")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match=r"data.path=-: standard input is closed"):
        csv("-", "points")

    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Terminal(b"1\n")))
    with pytest.raises(DataError, match=r"standard input is a terminal"):
        csv("-", "points")
    assert opening.path_of_input().name == "standard input"


def test_dev_stdin_is_answered_with_what_is_read() -> None:
    with pytest.raises(DataError, match=r"expected -, which stands for standard input, or a table"):
        csv("/dev/stdin", "points")


def test_a_last_row_of_sums_is_noted(tmp_path: Path) -> None:
    frame = pd.DataFrame({"shop": [f"s{i}" for i in range(9)], "x": [i + 0.5 for i in range(9)], "n": range(3, 21, 2)})
    frame.loc[9] = ["Total", frame["x"].sum(), frame["n"].sum()]
    frame.to_parquet(tmp_path / "t.parquet")
    note = "row 11, the last one, is the sum of the others in column 2 ('x'), column 3 ('n'): N=9 leaves it out"
    for kind in ("mixed", "points"):
        data = read(tmp_path, frame.to_csv(index=False), kind)
        assert note in " ".join(data.notes)
        assert "N=9 leaves it out" in " ".join(csv(tmp_path / "t.parquet", kind).notes)
        assert "is the sum of" not in " ".join(csv(tmp_path / "t.csv", kind, N=9).notes)
        assert "data.iloc[:-1] leaves it out" in " ".join(from_object(frame, kind).notes)
        assert "is the sum of" not in " ".join(from_object(frame.assign(n=4, x=0.0), "counts").notes)


def test_a_last_row_of_sums_of_numbers_before_they_were_rounded_is_noted(tmp_path: Path) -> None:
    x = np.random.default_rng(0).uniform(1000, 9000, (180, 2))
    rows = [f"s{i},{a:.2f},{b:.2f}\n" for i, (a, b) in enumerate(x)]
    total = x.sum(axis=0).round(2)
    assert (abs(total - x.round(2).sum(axis=0)) > 0.005).all()

    def notes(total: np.ndarray) -> str:
        return " ".join(
            read(tmp_path, f"shop,x,y\n{''.join(rows)}Total,{total[0]:.2f},{total[1]:.2f}\n", "mixed").notes
        )

    assert "row 182, the last one, is the sum of the others" in notes(total)
    assert "is the sum of the others" not in notes(total + 1)
    # a row of means, and a level that recurs
    of_means = "row 182, the last one, holds 'Total' and may be sums or means of the others: N=180 leaves it out"
    assert of_means in notes(total / 180)
    rows[7] = rows[7].replace("s7", "Total")
    assert "the last one" not in notes(total / 180)


def test_two_rows_of_names_stand_above_numbers_with_currencies_and_percent_signs(tmp_path: Path) -> None:
    rows = "".join(f"s{i},${i}20.00,{i % 7}.5%\n" for i in range(1, 20))
    data = read(tmp_path, ",Q1,Q1\nshop,sales,margin\n" + rows, "mixed")
    assert data.columns == ["Q1 sales", "Q1 margin"]
    assert "rows 1 and 2 name the columns together" in " ".join(data.notes)
    # a first row of data is none of names
    assert read(tmp_path, "shop,sales,margin\n" + rows, "mixed").columns == ["sales", "margin"]
