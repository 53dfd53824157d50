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
    ("text", "name", "rows", "note"),
    [
        ("x;y\n1;2\n3;4\n", "t.csv", [[1, 2], [3, 4]], "a semicolon ends a cell (data.separator)"),
        (
            "x;y\n1,5;2\n3;4,25\n",
            "t.csv",
            [[1.5, 2], [3, 4.25]],
            "a semicolon ends a cell (data.separator) and numbers ",
        ),
        ("1,5;2,5\n3,5;4,5\n", "t.csv", [[1.5, 2.5], [3.5, 4.5]], "numbers have a decimal comma"),
        ("x;y\n1.5;2\n3;4\n", "t.txt", [[1.5, 2], [3, 4]], "a semicolon"),
        ("x\ty\n1.5\t2\n", "t.csv", [[1.5, 2]], "a tab ends a cell"),
        ("x,y\n1.5,2\n", "t.tsv", [[1.5, 2]], "a comma ends a cell"),
        ("x,y\n1.5,2\n", "t.txt", [[1.5, 2]], "a comma ends a cell"),
        ("x y\n1.5  2\n", "t.txt", [[1.5, 2]], "a run of spaces ends a cell"),
        ("1.5 2\n2.5 3\n", "t.csv", [[1.5, 2], [2.5, 3]], "a run of spaces"),
        ("x|y\n1.5|2\n", "t.csv", [[1.5, 2]], "a vertical bar ends a cell"),
        ("1.5,2\n2.5,3\n", "t.data", [[1.5, 2], [2.5, 3]], ""),
        ("1.5 2\n2.5 3\n", "t", [[1.5, 2], [2.5, 3]], "a run of spaces"),
        ("# made by hand\n# x and y\nx,y\n1.5,2\n", "t.csv", [[1.5, 2]], "rows that begin with # or % at the top: 2"),
        ("# x,y\n1.5,2\n", "t.csv", [[1.5, 2]], ""),
        ("sep=;\nx;y\n1,5;2\n", "t.csv", [[1.5, 2]], "decimal comma"),
        ("\n\nx,y\n1.5,2\n", "t.csv", [[1.5, 2]], "rows without any cell at the top: 2"),
        ("x,y\n1.5,2\n,\n , \r\n", "t.csv", [[1.5, 2]], "rows without any cell at the end: 2"),
        ('"x" "y"\n"a b" 1.5 2\n"c" 2 3\n', "t.txt", [[1.5, 2], [2, 3]], "row 1 has one cell fewer than the others"),
        ("x y\n1 1.5 2\n2 2 3\n", "t.tsv", [[1.5, 2], [2, 3]], "row 1 has one cell fewer than the others"),
        ("x,y\na,1.5,2\nc,2,3\n", "t.csv", [[1.5, 2], [2, 3]], "row 1 has one cell fewer than the others"),
        ("x,y,\n1.5,2,\n2,3,\n", "t.csv", [[1.5, 2], [2, 3]], "column 3 ('') has neither a name nor a value"),
        ("x,,y\n1.5,,2\n", "t.csv", [[1.5, 2]], "column 2 ('') has neither a name nor a value"),
    ],
)
def test_rows_tell_how_they_are_written(
    tmp_path: Path, text: str, name: str, rows: list[list[float]], note: str
) -> None:
    data = read(tmp_path, text, name=name)
    assert data.values.tolist() == rows
    assert note in " ".join(data.notes)


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x,y\n1,2,3\n1,2\n", "row 2: cells: 3; expected 2"),  # rows that differ among themselves
        ("1,2\n1,2,3\n1,2,3\n", "row 2: cells: 3; expected 2"),  # a first row of numbers names nothing
    ],
)
def test_what_is_no_table_of_named_rows(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(tmp_path, text)


def test_a_decimal_comma_in_wide_tables(tmp_path: Path) -> None:
    rows = [[i + j / 4 for j in range(1500)] for i in range(2)]
    text = "\n".join(";".join(f"{x:.2f}".replace(".", ",") for x in row) for row in rows)
    assert read(tmp_path, text, header=False).values.tolist() == rows


def test_separator_and_decimal_may_be_said(tmp_path: Path) -> None:
    assert read(tmp_path, "1,5\n2,5\n", separator="tab", decimal="comma").values.tolist() == [[1.5], [2.5]]
    assert read(tmp_path, "x\ty\n1,5\t2\n", name="t.tsv", decimal="comma").values.tolist() == [[1.5, 2]]
    assert read(tmp_path, "a,b;c\n1,2\n3,4\n", separator="comma").columns == ["a", "b;c"]
    with pytest.raises(DataError, match=r"row 2, column 1 \('x'\): '1,5'; expected .*; data.decimal=comma reads"):
        read(tmp_path, "x\ty\n1,5\t2\n", name="t.tsv")
    with pytest.raises(
        DataError, match=r"data.separator=dash: expected one of auto, comma, semicolon, tab, pipe, space"
    ):
        read(tmp_path, "1\n", separator="dash")
    with pytest.raises(DataError, match=r"data.decimal=dot: expected one of auto, point, comma"):
        read(tmp_path, "1\n", decimal="dot")


def test_a_cell_in_a_blank_column_far_down_is_named(tmp_path: Path) -> None:
    text = "x,y,\n" + "1.5,2,\n" * 1500 + "1.5,2,9\n"
    with pytest.raises(DataError, match=r"row 1502, column 3 \(''\): '9': the column has no name; expected data.drop"):
        read(tmp_path, text)


def test_text_in_other_encodings(tmp_path: Path) -> None:
    for encoding, other in (("latin-1", "latin-1"), ("utf-16", "utf-16")):
        data = "town\nKöln\nUlm\nKöln\n".encode(encoding)
        with pytest.raises(DataError, match=rf"byte 0x\w\w; expected UTF-8 text \(data.encoding={other} may read it"):
            read(tmp_path, data, "tokens", header=True)
        assert read(tmp_path, data, "tokens", header=True, encoding=encoding).vocabulary == ["Köln", "Ulm"]
    with pytest.raises(DataError, match=r"data.encoding=klingon: expected the name of an encoding"):
        read(tmp_path, "a\n", encoding="klingon")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\nTrue,yes\nFALSE,No\n", [[1, 1], [0, 0]]),
        ("a,b\n1,yes\n0.0, no \n", [[1, 1], [0, 0]]),
        ("true,false\nfalse,true\n", [[1, 0], [0, 1]]),
        ("y,n\n1,0\n", [[1, 0]]),
    ],
)
def test_truth_values_are_binary(tmp_path: Path, text: str, rows: list[list[int]]) -> None:
    assert read(tmp_path, text, "binary").values.tolist() == rows


def test_truth_values_of_typed_tables(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [True, False], "b": ["yes", "no"]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.feather")
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    for name in ("t.parquet", "t.feather", "t.xlsx"):
        assert csv(tmp_path / name, "binary").values.tolist() == [[1, 1], [0, 0]]


def test_the_first_row_with_another_value_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"row 3, column 2 \('b'\): 'maybe'; expected 0 or 1 .*model=mixed"):
        read(tmp_path, "a,b\nyes,no\nno,maybe\nperhaps,no\n", "binary")


@pytest.mark.parametrize(("cell", "value"), [("12%", 12), ("$5", 5), ("1,200.50", 1200.5), ("5 €", 5), ("(7)", -7)])
def test_numbers_with_signs_are_converted(tmp_path: Path, cell: str, value: float) -> None:
    data = read(tmp_path, f'x,y\n"{cell}",1\n')
    assert data.values.tolist() == [[value, 1]]
    assert data.notes[0].endswith(f"column 1 ('x'): cells such as '{cell}' are read as numbers, {value:g}")
    with pytest.raises(DataError, match=r"row 2, column 1 \('x'\): .* expected a number (alone|with a decimal point)"):
        read(tmp_path, f'x,y\n"{cell}",1\nsome,1\nmore,2\n')


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
    with pytest.raises(DataError, match=r"t.csv: by its first bytes a .xlsx file|byte 0x"):
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


LINES = [f"p{i},{i}.25,{20 - i}.75\n" for i in range(12)]
ROWS = "".join(LINES)
X = [[i + 0.25, 20 - i + 0.75] for i in range(12)]


@pytest.mark.parametrize(
    ("text", "options", "names", "note"),
    [
        ("Survey of 2024,,\nplot,x,y\n" + ROWS, {}, ["x", "y"], "row 1: 'Survey of 2024' is left out as a title"),
        ("Survey,,\nof 2024,,\nplot,x,y\n" + ROWS, {}, ["x", "y"], "row 2: 'of 2024' is left out as a title"),
        ("A,survey,\nplot,x,y\n" + ROWS, {"skip": 1}, ["x", "y"], ""),
        ("A survey\n\nplot,x,y\n" + ROWS, {"skip": 2}, ["x", "y"], ""),
        ("plot,x,y\n" + ROWS + "Source: us\n", {"skip": [0, 1]}, ["x", "y"], ""),
        ("A,survey\nplot,x,y\n" + ROWS + "Total,1,\nSource: us\n", {"skip": [1, 2]}, ["x", "y"], ""),
        (
            ",Size,Size\nplot,x,y\n" + ROWS,
            {},
            ["Size x", "Size y"],
            "rows 1 and 2 name the columns together, as 'plot',",
        ),
        (",Size,\nplot,x,y\n" + ROWS, {}, ["Size x", "Size y"], "(data.header=true takes the first alone)"),
        ("plot,x,y\n,cm,kg\n" + ROWS, {}, ["x cm", "y kg"], "rows 1 and 2"),
        ("T,,\n,Size,Size\nplot,x,y\n" + ROWS, {}, ["Size x", "Size y"], "rows 2 and 3 name the columns together"),
        ("T,,\n,Size,Size\nplot,x,y\n" + ROWS, {"skip": 1, "header": 2}, ["Size x", "Size y"], "rows 2 and 3 name"),
        (",A,B\n,u,v\n,,\n" + ROWS, {}, ["A u", "B v"], "rows 1 and 2"),
    ],
)
def test_titles_two_rows_of_names_and_footnotes(
    tmp_path: Path, text: str, options: dict[str, Any], names: list[str], note: str
) -> None:
    for kind in ("mixed", "points"):
        data = read(tmp_path, text, kind, **options)
        assert data.values.tolist() == X and data.columns == names and data.names == [f"p{i}" for i in range(12)]
        assert note in " ".join(data.notes)
    book = openpyxl.Workbook()
    cells = [line.split(",") for line in text.splitlines()]
    for row in cells:
        book.active.append([float(cell) if cell[:1].isdigit() else cell or None for cell in row])
    book.save(tmp_path / "t.xlsx")
    data = csv(tmp_path / "t.xlsx", "mixed", **options)
    assert data.values.tolist() == X and data.columns == names and note in " ".join(data.notes)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("A survey\nplot,x,y\n" + ROWS, {}, r"row 2: cells: 3; expected 1, .*data.skip=1 leaves out all up to row 1"),
        (
            "plot,x,y\n" + ROWS + "Source\n",
            {},
            r"row 14: cells: 1; expected 3, .*\(data.skip=\[0,1\] leaves out the last",
        ),
        ("x\n1\n", {"skip": [1, 9]}, r"data.skip=\[1,9\]: expected fewer than 2 rows"),
        ("x\n1\n", {"skip": -1}, r"data.skip=-1: expected a number of rows at the top, or \[TOP,BOTTOM\]"),
        ("x\n1\n", {"header": 3}, "data.header=3: expected auto, true or false, or 2, which joins two rows of names"),
    ],
)
def test_rows_that_are_no_data_are_named(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text, "mixed", **options)


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


def test_a_first_row_of_short_numbers_is_data_with_a_note(tmp_path: Path) -> None:
    rows = "".join(f"{i}.123,-{i}.456,{i}.789,0.321\n" for i in range(12))
    for kind in ("mixed", "points"):
        data = read(tmp_path, "0,-0.1,0,0.1\n" + rows, kind)
        assert data.N == 13 and "row 1: '0, -0.1, 0, 0.1' is read as data (data.header=true reads" in " ".join(
            data.notes
        )
        assert "is read as data" not in " ".join(read(tmp_path, rows, kind).notes)


def test_a_blank_row_leaves_the_items_their_names(tmp_path: Path) -> None:
    text = "".join(["plot,x,y\n", *LINES[:3], ",,\n", *LINES[3:]])
    for kind in ("mixed", "points"):
        for title in ("plot", ""):
            data = read(tmp_path, text.replace("plot", title), kind)
            assert data.names is not None and data.names[:5] == ["p0", "p1", "p2", "row 5", "p3"]
