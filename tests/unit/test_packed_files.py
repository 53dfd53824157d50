"""Packed files, JSON lines, and files of other programs, which name the command that converts them."""

import bz2
import gzip
import io
import json
import lzma
import os
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from splitmerge_cli.api.recognition import recognise
from splitmerge_cli.data import opening
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds.documents.readers.files import corpus
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.received import DataError

TABLE = "x,y\n" + "".join(f"{i},{i * i % 7}.5\n" for i in range(30))
TEXTS = "the cat sat on the mat\na dog ate the big bone\nthe cat and a dog play\n"
TIES = "source,target\nann,bob\nbob,cid\ncid,dan\n"


def zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


def make_zip(*members: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
    ".zip": lambda data: make_zip(("folder/", b""), ("folder/t.csv", data), ("__MACOSX/folder/._t.csv", b"x")),
}


@pytest.mark.parametrize("ending", PACK)
def test_packed_files_are_read(tmp_path: Path, ending: str) -> None:
    def write(name: str, text: str) -> Path:
        path = tmp_path / f"{name}{ending}"
        path.write_bytes(PACK[ending](text.encode()))
        return path

    table, ties = write("t.csv", TABLE), write("e.csv", TIES)
    assert csv(table, "points").values[3].tolist() == [3.0, 2.5]
    assert recognise(table).data == "csv" and recognise(ties).data == "edges"
    assert edges(ties).names == ["ann", "bob", "cid", "dan"]
    plain = tmp_path / "d.csv"
    plain.write_text(f"text\n{TEXTS}")
    read, unpacked = corpus(write("d.csv", f"text\n{TEXTS}")), corpus(plain)
    assert read.values.tokens.J == unpacked.values.tokens.J == 3 and read.columns == unpacked.columns
    # a file that is cut, and one that is no such file
    for data in (table.read_bytes()[:20], b"no"):
        table.write_bytes(data)
        with pytest.raises(DataError, match=r"t\.csv\.\w+: cannot be read: "):
            csv(table, "points")


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_packed_standard_input_is_known_by_its_first_bytes(monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PACK[ending](TABLE.encode()))))
    assert csv(opening.SIGN, "points").N == 30


@pytest.mark.parametrize("ending", PACK)
def test_what_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(PACK[ending](b"0,0\n" * 1_000_000))
    with opening.limit_bytes(100_000), pytest.raises(DataError, match="more than 100000 bytes unpacked"):
        csv(path, "points")


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([], "a zip of 0 files"),
        ([("a.csv", b"1\n"), ("b.csv", b"2\n")], "a zip of 2 files"),
        ([("a.csv.gz", gzip.compress(b"1\n"))], "a zip of a packed file, 'a.csv.gz'"),
        ([("a.tar", b"1\n")], "a zip of a packed file, 'a.tar'"),
        ([("a.zip", make_zip(("b.csv", b"1\n")))], "a zip of a packed file, 'a.zip'"),
        ([("../../a.csv", b"1\n")], "which leads out of its folder"),
        ([("/etc/a.csv", b"1\n")], "which leads out of its folder"),
        ([("..\\a.csv", b"1\n")], "which leads out of its folder"),
        ([(f"{i}.csv", b"1\n") for i in range(1001)], "a zip of more than 1000 files"),
    ],
)
def test_other_zips_are_refused(tmp_path: Path, members: list[tuple[str, bytes]], said: str) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(make_zip(*members))
    with pytest.raises(DataError, match=said.replace("\\", "\\\\")):
        csv(path, "points")
    assert os.listdir(tmp_path) == ["a.zip"]


def test_a_zip_with_a_password_is_refused(tmp_path: Path) -> None:
    data = bytearray(make_zip(("a.csv", b"1\n")))
    for magic, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(magic) + place] |= 1
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(DataError, match="a zip with a password; expected one file of data"):
        csv(tmp_path / "a.zip", "points")


# JSON lines


def write_lines(path: Path, rows: list[object]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


def test_json_lines_are_a_table(tmp_path: Path) -> None:
    rows = [{"n": i, "x": i / 2, "w": "uv"[i % 2], "b": i % 3 == 0, "tags": ["a"]} for i in range(20)]
    path = write_lines(tmp_path / "t.jsonl", [*rows, {"w": "u", "x": None}])
    dataset = csv(path, "mixed", columns=["n", "x", "w", "b"])
    assert dataset.N == 21 and dataset.types is not None
    assert [one.type for one in dataset.types] == ["count", "real", "binary", "binary"]
    assert dataset.values[20, 2] == 0 and pd.isna(dataset.values[20, [0, 1, 3]]).all()
    note = f"{path}: 'tags': left out, as rows hold lists of it"
    assert note in dataset.meta["notes"]


def test_a_list_of_json_objects_is_read_as_lines_of_them_are(tmp_path: Path) -> None:
    rows: list[object] = [{"n": i, "x": i / 2, "w": "uv"[i % 2]} for i in range(20)]
    lines = csv(write_lines(tmp_path / "t.jsonl", rows), "mixed")
    for name, text in {"a.json": json.dumps(rows), "b.json": "\n" + json.dumps(rows, indent=2)}.items():
        (tmp_path / name).write_text(text)
        listed = csv(tmp_path / name, "mixed")
        assert (listed.values == lines.values).all() and listed.types == lines.types
    assert (csv(write_lines(tmp_path / "c.json", rows), "mixed").values == lines.values).all()


@pytest.mark.parametrize("written", ["columns", "index", "split", "table", "lists", "answer", "indented"])
def test_a_json_object_holds_a_table_as_pandas_and_services_write_it(tmp_path: Path, written: str) -> None:
    frame = pd.DataFrame({"x": [i / 2 for i in range(20)], "w": ["uv"[i % 2] for i in range(20)]})
    rows = frame.to_dict("records")
    others: dict[str, Any] = {
        "lists": json.dumps(frame.to_dict("list")),
        "answer": json.dumps({"count": 20, "next": None, "results": rows}),
        "indented": frame.to_json(orient="columns", indent=2),
    }
    path = tmp_path / "t.json"
    path.write_text(others.get(written) or frame.to_json(orient=written))
    dataset, lines = csv(path, "mixed", columns=["x", "w"]), csv(write_lines(tmp_path / "t.jsonl", rows), "mixed")
    assert (dataset.values == lines.values).all() and dataset.types == lines.types
    said = any("rows are the objects of the list 'results'" in note for note in dataset.meta["notes"])
    assert said == (written == "answer")


def test_json_objects_of_names_keep_these_and_objects_within_rows_are_columns(tmp_path: Path) -> None:
    by_name = {f"n{i}": {"x": i / 2, "at": {"lat": i * 1.5, "lon": -i * i / 7}} for i in range(9)}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(by_name))
    dataset = csv(path, "points")
    assert dataset.column_names == ["x", "at.lat", "at.lon"] and dataset.values[3].tolist() == [1.5, 4.5, -9 / 7]
    assert dataset.items is not None or "names of the items" in " ".join(dataset.meta["notes"])


def test_json_lines_are_documents_and_edges(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "d.ndjson", [{"text": text} for text in TEXTS.splitlines()])
    assert recognise(path).data == "corpus" and corpus(path).values.tokens.J == 3
    pairs = [line.split(",") for line in TIES.splitlines()[1:]]
    rows: list[object] = [{"source": a, "target": b} for a, b in pairs]
    path = write_lines(tmp_path / "e.jsonl", rows)
    assert recognise(path).data == "edges" and edges(path).N == 4
    path = tmp_path / "f.json"
    path.write_text(json.dumps(rows, indent=1))
    assert recognise(path).data == "edges" and edges(path).N == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"x": 1}\n[1]\n', "row 2: no object of JSON; expected one in each row"),
        ('{"x": 1}\n{"x": }\n', "row 2: .*; expected an object of JSON in each row"),
        ('{"x": 1, "x": 2}\n', "row 1: expected every key once"),
        ('{"a": {"b": 1}, "a.b": 2}\n', "row 1: two keys become one column"),
        ('{"x": [' + "1," * 20_000 + '1], "y": [2]}', "of cells"),
        ('{"x": NaN}\n', "row 1: NaN: expected a finite number"),
        ("[" * 100_000, "expected at most 64 levels; expected a list of objects"),
        ('{"x":' * 100_000, "row 1: expected at most 64 levels"),
        ('[{"x": 1}, 2]', "row 2: no object of JSON"),
        ('[{"x": 1}, {"x": 1, "x": 2}]', "expected every key once"),
        ("[]", "an empty list; expected objects"),
        ("[" + ",".join(['{"x": 1}'] * 20_000) + "]", "bytes of cells; expected at most 1000000 bytes"),
        ("\n".join(f'{{"k{i}": 1}}' for i in range(500)), "500 rows|bytes of cells; expected at most 1000000 bytes"),
    ],
)
def test_faulty_json_lines_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with opening.limit_bytes(1_000_000), pytest.raises(DataError, match=said):
        csv(path, "points")


def test_long_whole_numbers_keep_their_digits(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [{"n": 10**20 + i % 2} for i in range(10)])
    assert csv(path, "tokens").values.tolist() == [0, 1] * 5


# files of other programs


def convert_file(path: Path, read: Callable[[Path], object]) -> Path:
    """Run the command that the error for a file prints, and return the file that it writes."""
    with pytest.raises(DataError, match="unknown format") as caught:
        read(path)
    command = shlex.split(str(caught.value).partition(": python ")[2])
    subprocess.run([sys.executable, *command], check=True)
    return Path(f"{path}.csv")


@pytest.mark.parametrize("name", ["t.dta", "it's one.dta", "t.arff", "t.sav", "t.rds", "t.svmlight"])
@pytest.mark.filterwarnings("ignore")
def test_the_command_that_converts_a_file(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame({"x": [1.5, 2.5, 4.0], "y": [0.0, 1.0, 0.5]})
    path = tmp_path / name
    if path.suffix == ".dta":
        frame.to_stata(path, write_index=False)
    elif path.suffix == ".arff":
        cells = "\n".join(f"{x},{y}" for x, y in frame.to_numpy())
        path.write_text(f"@relation t\n@attribute x numeric\n@attribute y numeric\n@data\n{cells}\n")
    elif path.suffix == ".svmlight":
        path.write_text("".join(f"{y} 1:{x}\n" for x, y in frame.to_numpy()))
        # as long as sentences are
        (tmp_path / "t.txt").write_text("1 1:.5 2:1 3:2 4:1 5:1.5 6:2\n-1 1:1 3:2.5 4:1 5:.5 6:2 7:1\n" * 3)
        assert recognise(path).data == recognise(tmp_path / "t.txt").data == "csv"
    elif path.suffix == ".sav":
        pytest.importorskip("pyreadstat").write_sav(frame, path)
    else:
        pytest.importorskip("pyreadr").write_rds(path, frame)
    written = convert_file(path, lambda path: csv(path, "points"))
    assert csv(written, "points").values.tolist() == frame.to_numpy().tolist()


def test_the_command_that_converts_a_sparse_matrix(tmp_path: Path) -> None:
    path = tmp_path / "t.mm"
    path.write_text("%%MatrixMarket matrix coordinate real general\n3 4 5\n1 1 2\n1 2 1\n2 2 3\n3 1 1\n3 4 2\n")
    assert recognise(path).data == "csv"
    convert_file(path, lambda path: csv(path, "points"))
    assert csv(tmp_path / "t.mm.npz", "points").values.shape == (3, 4)


def test_a_zip_whose_file_is_named_as_the_zip_is(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.5, 2.5], "y": [0.25, 1.0]})
    for name in ("t.zip", "t.csv.zip"):
        (tmp_path / name).write_bytes(make_zip((name, frame.to_csv(index=False).encode())))
        assert csv(tmp_path / name, "points").values.tolist() == frame.to_numpy().tolist()
    (tmp_path / "n.zip").write_bytes(make_zip(("n.zip", make_zip(("t.csv", TABLE.encode())))))
    with pytest.raises(DataError, match=r"a zip of a packed file, .n\.zip."):
        csv(tmp_path / "n.zip", "points")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a.pdf", "pdftotext a.pdf a.pdf.txt"),
        ("my text.docx", "pandoc --to=plain --output='my text.docx.txt' 'my text.docx'"),
    ],
)
def test_texts_in_other_formats_name_a_converter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(b"%PDF-1.7\n\xe2\xe3 binary\n")
    assert recognise(name).data == "corpus"
    with pytest.raises(DataError) as caught:
        corpus(name)
    assert str(caught.value).endswith(f"To convert it: {command}") and "latin-1" not in str(caught.value)
