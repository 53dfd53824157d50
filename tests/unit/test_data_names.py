"""Numbers that look like names and names that look like numbers: pandas' index, headers and columns of numbers."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, save_npz

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables import files
from splitmerge_cli.data.tables import text as text_files
from splitmerge_cli.kinds.documents import ONE_DOCUMENT
from splitmerge_cli.kinds.documents.readers.files import corpus
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.received import DataError

POINTS = pd.DataFrame({"x": [0.5, -1.25, 2.0], "y": [3.0, 0.125, 7.5]})
ASKED = "may name the columns or be the first row of data; expected data.header=true or false"
INDEX = "has no name and counts the rows from 0: it is left out (data.columns would read it)"


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Dataset]:
    """``read(content, kind, **options)``: a table of that text, or of that frame as pandas writes it, read."""

    def read_table(content: str | pd.DataFrame, kind: str = "points", name: str = "t.csv", **options: Any) -> Dataset:
        path = tmp_path / name
        if isinstance(content, str):
            path.write_text(content)
        elif name.endswith(".parquet"):
            content.to_parquet(path)
        else:
            content.to_csv(path, sep="\t" if "tsv" in name else ",")
        return files.csv(path, kind, **options)

    return read_table


def notes_of(data: Dataset) -> list[str]:
    """The notes, without the file that they begin with."""
    return [note.partition(": ")[2] for note in data.notes]


# the numbers of the rows


@pytest.mark.parametrize("kind", ["points", "mixed", "binary"])
def test_a_column_of_classes_is_named(read: Callable[..., Dataset], kind: str) -> None:
    x = np.arange(24) % 2 if kind == "binary" else np.arange(24) / 7
    frame = pd.DataFrame({"x": x, "Class": np.arange(24) % 2, "classic": np.arange(24) % 2})
    [note] = [note for note in notes_of(read(frame, kind=kind)) if "data.truth=" in note]
    assert note.startswith("column 3 ('Class') has only 2 values. If it is a label, add data.truth=Class (left out")
    for asked in ({"truth": "Class"}, {"drop": ["Class"]}, {"columns": ["x", "Class"]}):
        assert "data.truth=" not in " ".join(notes_of(read(frame, kind=kind, **asked)))
    # as what a program passes is
    assert f"data: {note}".replace("column 3", "column 2") in from_object(frame, kind).notes


@pytest.mark.parametrize(
    ("tokens", "noted"),
    [
        (["name", "roy", "li", "roy"], True),
        (["author", *"abcabcabcabc"], True),
        (["name", "roy", "name"], False),
        (["roy", "li", "roy"], False),
        (["d", *"abcabcabcabe"], False),
    ],
)
def test_a_token_that_may_be_a_name_is_noted(read: Callable[..., Dataset], tokens: list[str], noted: bool) -> None:
    text = "\n".join(tokens) + "\n"
    assert any("is read as a token (data.header=true" in note for note in notes_of(read(text, kind="tokens"))) == noted
    assert notes_of(read(text, kind="tokens", header=False)) == []


@pytest.mark.parametrize(
    ("text", "row", "cell"),
    [
        (",x\n0,1\n5,2\n", 3, "'5'"),
        (",x\n2,1\n3,2\n", 2, "'2'"),
        (",x\n0,1\n1,2\n0,3\n", 4, "'0'"),
        (",x\na,1\na,2\n", 2, "'a'"),
        (",x\na,1\n7,2\n", 2, "'a'"),
        (",x\na,1\nNA,2\n", 2, "'a'"),
        (",x\n0.5,1\n1.5,2\n", 2, "'0.5'"),
        ("Unnamed: 0,x\n1,1\n1,2\n", 3, "'1'"),
        (",x\n0,1\n,2\n", 3, "an empty cell"),
    ],
)
def test_a_column_without_a_name_that_does_not_count_is_asked_about(
    read: Callable[..., Dataset], text: str, row: int, cell: str
) -> None:
    expected = r"expected data.drop=\[1\], which leaves it out, or data.columns, which lists what is read"
    name = re.escape(text.partition(",")[0])
    message = rf"t.csv: row {row}, column 1 \('{name}'\): {cell}: the column has no name and does not .*; {expected}$"
    with pytest.raises(DataError, match=message):
        read(text)
    assert read(text, drop=[1]).values.shape[1] == 1


@pytest.mark.parametrize(
    ("kind", "rows"), [("points", ["1", "2", "3"]), ("mixed", [".5", "1.5", ".25"]), ("binary", ["0", "1", "1"])]
)
def test_a_column_of_words_without_a_name_names_the_items(
    read: Callable[..., Dataset], kind: str, rows: list[str]
) -> None:
    """As R writes the names of rows."""
    text = ",x\n" + "".join(f"{name},{cell}\n" for name, cell in zip(("ann", "bob", "cid"), rows, strict=True))
    data = read(text, kind=kind)
    assert data.names == ["ann", "bob", "cid"] and data.values.tolist() == [[float(cell)] for cell in rows]
    assert "column 1 ('') has no name and a different value in every row, the names of the items" in data.notes[0]
    assert read(text, kind=kind, N=2).names == ["ann", "bob"]
    assert read(text, kind=kind, drop=[1]).names is None


@pytest.mark.parametrize("kind", ["points", "mixed"])
@pytest.mark.parametrize(
    "names",
    [
        ["100% Bran", *map(str, range(1, 10))],
        [f"198{i}-Pit {i}" for i in range(10)],
        [f"{1962 + i / 4}" for i in range(10)],
    ],
    ids=["shares", "codes", "quarters"],
)
def test_values_that_differ_in_a_column_without_a_name_name_the_items(
    read: Callable[..., Dataset], kind: str, names: list[str]
) -> None:
    """As R writes names of rows that begin with digits (MASS's UScereal, rrcov's soil, freeny)."""
    rows = "".join(f'"{name}",{i / 2}\n' for i, name in enumerate(names))
    data = read(f'"","x"\n{rows}', kind=kind)
    assert data.names == names and data.values.shape[1] == 1
    with pytest.raises(DataError, match="has no name and does not count the rows"):
        read(f'"","x"\n{rows}"{names[3]}",.25\n', kind=kind)


@pytest.mark.parametrize("start", [0, 1])
def test_an_index_that_counts_more_than_once_is_left_out(read: Callable[..., Dataset], start: int) -> None:
    """As pandas writes tables that it has put one below the other."""
    counts = [*range(start, start + 7), *range(start, start + 5)]
    data = read(",x\n" + "".join(f"{count},{i / 2}\n" for i, count in enumerate(counts)))
    assert data.values.shape == (12, 1) and data.names is None
    assert (
        f"column 1 ('') has no name and counts the rows from {start}, more than once: it is left out" in data.notes[0]
    )
    with pytest.raises(DataError, match="has no name and does not count the rows"):
        read(",x\n" + "".join(f"{count % 2},{i / 2}\n" for i, count in enumerate(counts)))


def test_an_index_that_stops_counting_far_down(read: Callable[..., Dataset]) -> None:
    rows = "".join(f"{i},{i / 2}\n" for i in range(3000))
    assert read(f",x\n{rows}").values.shape == (3000, 1)
    with pytest.raises(DataError, match=r"row 3002, column 1 \(''\): '7': the column has no name"):
        read(f",x\n{rows}7,1\n")


def test_a_missing_value_is_no_index(read: Callable[..., Dataset]) -> None:
    for text in (",1\n5,2\n", ",1,2\n0,3,4\n2,3,4\n"):
        with pytest.raises(DataError, match=r"may name the columns or be the first row of data; expected data.header="):
            read(text)
        assert read(text, header=False).missing == 1
    assert read(",1.5\n5,2\n").missing == 1


def test_the_index_of_a_parquet_file(read: Callable[..., Dataset], tmp_path: Path) -> None:
    assert read(POINTS, name="t.parquet").notes == []
    data = read(POINTS.set_axis([0, 5, 6]), name="t.parquet")
    assert data.columns == ["x", "y"] and data.values.tolist() == POINTS.to_numpy().tolist()
    why = "is the index of pandas: it is left out (data.columns would read it)"
    assert notes_of(data) == [f"column 3 ('__index_level_0__') {why}"]
    asked = files.csv(tmp_path / "t.parquet", "points", columns=["x", "__index_level_0__"])
    assert asked.values.tolist() == [[0.5, 0], [-1.25, 5], [2, 6]] and asked.notes == []
    labelled = files.csv(tmp_path / "t.parquet", "points", truth="__index_level_0__")
    assert labelled.values.shape == (3, 2) and labelled.truth is not None and labelled.notes == []


@pytest.mark.parametrize("name", ["t.csv", "t.npy", "t.npz"])
def test_a_first_column_that_counts_is_said_where_no_column_has_a_name(tmp_path: Path, name: str) -> None:
    def notes(x: np.ndarray, **options: Any) -> list[str]:
        path = tmp_path / name
        if name.endswith("csv"):
            path.write_text("".join(f"{int(row[0])},{row[1]}\n" for row in x.tolist()))
        elif name.endswith("npy"):
            np.save(path, x)
        else:
            save_npz(path, csr_array(x))
        return notes_of(files.csv(path, "points", **options))

    x = np.column_stack([np.arange(10), np.arange(10) ** 2 / 8])
    for first in (0, 1):
        why = f"column 1 is left out: it counts the rows from {first} (data.columns would read it)"
        assert notes(x + first) == [why]
    assert notes(x + 2) == ["column 1 is left out: it counts up by one from 2 (data.columns would read it)"]
    assert notes(x, drop=[1]) == notes(x, columns=[1, 2]) == notes(x, truth=1) == notes(x[:9]) == []
    x[1, 0] = 4
    assert notes(x) == []


# names of columns that are numbers


@pytest.mark.parametrize(
    ("text", "start", "rows"),
    [
        ("0,1\n0.5,2.25\n1.0,3.5\n", 0, [[0.5, 2.25], [1, 3.5]]),
        ("0,1,2\n.5,2.,1e3\n", 0, [[0.5, 2, 1000]]),
        ("1,2,3\n0.5,2.25,-1.0\n", 1, [[0.5, 2.25, -1]]),
    ],
)
def test_a_header_of_numbers_is_recognised_and_said(
    read: Callable[..., Dataset], text: str, start: int, rows: list[list[float]]
) -> None:
    data = read(text)
    assert data.values.tolist() == rows and data.columns == text.split("\n")[0].split(",")
    told = f"row 1 counts the columns from {start}: it is read as their names (data.header=false reads it as data)"
    assert notes_of(data) == [told]
    whole = read(text, header=False)
    assert whole.values.shape == (len(rows) + 1, len(rows[0])) and whole.notes == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1990,1991\n0.5,0.25\n1.5,2.0\n", "points"),
        ("2,1\n0.5,0.25\n1.5,2.0\n", "points"),
        ("1,2\n0.5,0.25\n1.5,2.0\n", "points"),
        ("0,1\n5,6\n7,8\n", "points"),
        ("0,1\n5,0.5\n7,1.5\n", "points"),
        ("0,1,2\n5,6,7\n", "points"),
        ("0,1,2\n.5,2.,1000\n", "points"),
        ("0\n0.5\n1.5\n", "points"),
        ("0,1\n1,1\n0,0\n", "binary"),
        ("0,1\n0,1\n", "binary"),
        ("1,2\n1,1\n0,0\n", "binary"),
        ("0\ncat\ndog\n", "tokens"),
    ],
)
def test_a_first_row_that_may_be_either_is_asked_about(read: Callable[..., Dataset], text: str, kind: str) -> None:
    with pytest.raises(DataError, match=rf"t.csv: row 1: '.*' {ASKED}$"):
        read(text, kind)
    lines = text.count("\n")
    assert lines == read(text, kind, header=True).N + 1
    if kind != "binary" or not re.search("[29]", text):
        assert lines == read(text, kind, header=False).N


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # whole numbers above whole numbers
        ("5,3\n4,9\n7,1\n", "points"),
        ("1,2\n3,4\n5,6\n", "points"),
        ("1990,1991\n1992,1993\n5,6\n", "points"),
        ("0\n1\n2\n", "points"),
        ("0,0\n1,1\n2,2\n", "points"),
        # a whole number where others have a point, once or among others
        ("5,3\n4.9,1\n7.5,1\n", "points"),
        ("7\n0.5\n1.5\n", "points"),
        ("1\n0.5\n1.5\n", "points"),
        ("5,3\n4.9,1.5\n7,1.5\n2.5,2\n", "points"),
        ("5,3\n4.9,1.5\n", "points"),
        ("0.0,1.0\n0.5,0.5\n2.5,3.5\n", "points"),
        ("-1,2\n0.5,0.5\n2.5,3.5\n", "points"),
        ("5,5\n0.5,0.5\n2.5,3.5\n", "points"),
        ("0,1\n", "points"),
        ("1,0\n0,1\n", "binary"),
        ("0,0,1\n0,1,1\n", "binary"),
        ("0\n1\n", "binary"),
        ("1\ncat\ndog\n", "tokens"),
        ("0\n7\ndog\n", "tokens"),
        ("3\n4\n3\n", "tokens"),
    ],
)
def test_a_first_row_of_numbers_is_data(read: Callable[..., Dataset], text: str, kind: str) -> None:
    assert text.count("\n") == read(text, kind).N


def test_a_header_of_numbers_that_cannot_be_binary(read: Callable[..., Dataset]) -> None:
    data = read("0,1,2\n0,1,1\n1,0,0\n", "binary")
    assert data.values.tolist() == [[0, 1, 1], [1, 0, 0]] and data.columns == ["0", "1", "2"] and len(data.notes) == 1
    # other errors are reported as ever
    with pytest.raises(DataError, match="row 1, column 3: '2'; expected 0 or 1"):
        read("0,1,2\n0,1,1\n1,0,5\n", "binary")
    with pytest.raises(DataError, match="row 3, column 2: 'x'; expected a number"):
        read("0,1\n0.5,0.5\n0.5,x\n")
    with pytest.raises(DataError, match="row 3: cells: 1; expected 2"):
        read("0,1\n0.5,0.5\n0.5\n")


def test_the_rows_that_are_looked_at_are_few(read: Callable[..., Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "LOOKED_AT", 2)
    assert read("0,1\n0.5,0.5\n1.5,1.5\n7,7\n").values.tolist() == [[0.5, 0.5], [1.5, 1.5], [7, 7]]
    assert read("0,1\n0.5,0.5\n1.5,1.5\n7,7\n", header=False).N == 4


def test_columns_that_are_not_read_do_not_tell(read: Callable[..., Dataset]) -> None:
    text = "0,1,2\n0.5,0.25,cat\n1.5,2.0,dog\n"
    data = read(text, truth=3)
    assert data.columns == ["0", "1"] and data.truth is not None and data.truth.tolist() == [0, 1]
    assert read("7,0.5,0.25\n8,1.5,2.0\n", drop=[1]).N == 2


def test_a_number_that_is_the_name_of_another_column_is_asked_about(read: Callable[..., Dataset]) -> None:
    text = "0,1,2\n7.5,8.5,9.5\n"
    why = r"data.drop=1: .*t.csv: column 2 \('1'\) has that name, but column 1 \('0'\) that number; "
    with pytest.raises(
        DataError, match=rf"^{why}expected '1' in quotes, the name, or -3, the number from the other end$"
    ):
        read(text, drop=[1])
    assert read(text, drop=["1"]).values.tolist() == [[7.5, 9.5]]
    assert read(text, drop=[-3]).values.tolist() == [[8.5, 9.5]]
    # a number that can be one of the two alone
    assert read(text, drop=[0]).values.tolist() == [[8.5, 9.5]] == read(text, drop=["0"]).values.tolist()
    assert read(text, drop=[3]).values.tolist() == [[7.5, 8.5]]
    assert read("1,2,3\n7.5,8.5,9.5\n", drop=[1]).values.tolist() == [[8.5, 9.5]]
    assert read("2019,2020\n1,2\n", columns=[2020], header=True).values.tolist() == [[2]]
    for key in ("truth", "columns"):
        with pytest.raises(DataError, match=rf"^data.{key}=2: .* has that name"):
            read(text, **{key: 2})


# other separators


def test_tokens_that_hold_another_separator_are_said(read: Callable[..., Dataset]) -> None:
    data = read("id;word\n1;cat\n2;dog\n", "tokens")
    assert data.N == 3 and "every row holds a semicolon, which is read as part of the token" in data.notes[0]
    assert read("a;b\nc\n", "tokens").notes == [] == read("a;b\nc;d;e\n", "tokens").notes
    assert "holds a comma" in read("a,b\nc,d\n", "tokens", name="t.txt").notes[0]
    assert "(data.separator=semicolon lets it end a cell)" in data.notes[0]
    with pytest.raises(DataError, match=r"row 2: cells: 2; expected 1, as in row 1 \(a comma ends a cell; data.sep"):
        read("x;y\n1,5\n")


# networks and corpora


def write(path: Path, content: str | pd.DataFrame, **options: Any) -> Path:
    if isinstance(content, str):
        path.write_text(content)
    else:
        content.to_csv(path, **options)
    return path


def test_the_index_of_a_list_of_edges(tmp_path: Path) -> None:
    ties = pd.DataFrame({"from": [5, 6, 7], "to": [6, 7, 5], "n": [1, 1, 1]})
    graph = edges(write(tmp_path / "e.csv", ties))
    assert graph.names == ["5", "6", "7"] and graph.meta["edges"] == 3
    left_out = "has no name and counts the rows from 0: it is left out (data.source and data.target would read it)"
    assert notes_of(graph)[1] == f"column 1 ('') {left_out}" and notes_of(graph)[2].startswith("left out: directions;")
    # where names say which columns are read nothing else is looked at
    ties.columns = pd.Index(["source", "target", "weight"])
    assert not any("has no name" in note for note in notes_of(edges(write(tmp_path / "e.csv", ties))))
    assert edges(tmp_path / "e.csv", source=1, target=2, weights=None).names == ["0", "1", "2", "5", "6", "7"]
    # of columns without names of their own
    graph = edges(write(tmp_path / "e.csv", pd.DataFrame([[5, 6], [6, 7]])))
    assert graph.names == ["5", "6", "7"] and len(graph.notes) == 2
    ties.index = pd.Index([4, 7, 9])
    ties.columns = pd.Index(["from", "to", "n"])
    with pytest.raises(DataError, match=r"row 2, column 1 \(''\): '4': the column has .*; expected data.source"):
        edges(write(tmp_path / "e.csv", ties))
    with pytest.raises(DataError, match=r"row 2, column 1 \(''\): '4': the column has no name"):
        edges(write(tmp_path / "e.csv", ",from,to\n4,a,b\n7,b,c\n"))
    with pytest.raises(DataError, match="columns with a name: 1; expected two"):
        edges(write(tmp_path / "e.csv", ",to\n0,6\n1,7\n"))


@pytest.mark.parametrize(
    "text", ["0,1\n5,6\n6,7\n", "0,1,2\n5,6,7\n6,7,1\n", "1,2,3\n5,6,7\n6,7,1\n", "0,1\na,b\nb,c\n"]
)
def test_a_list_of_edges_that_may_begin_with_names(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "e.csv", text)
    with pytest.raises(DataError, match=rf"e.csv: row 1: '.*' {ASKED}"):
        edges(path)
    assert edges(path, header=True).meta["rows"] == 2 and edges(path, header=False).meta["rows"] == 3


@pytest.mark.parametrize(
    "text", ["0,1\n1,2\n2,5\n", "0,1\n2,3\n", "1,2\n3,4\n5,6\n", "0,1,1\n1,2,1\n", "0 2\n3 4\n5 6\n"]
)
def test_a_list_of_edges_that_begins_with_an_edge(tmp_path: Path, text: str) -> None:
    graph = edges(write(tmp_path / "e.txt", text))
    assert graph.meta["rows"] == text.count("\n")


def test_the_index_of_a_list_of_nodes(tmp_path: Path) -> None:
    path, nodes = write(tmp_path / "e.csv", "1,2\n2,3\n"), tmp_path / "n.csv"
    write(nodes, pd.DataFrame({"id": [3, 1, 2], "side": ["a", "b", "b"]}))
    graph = edges(path, nodes=str(nodes), truth="side")
    assert graph.names == ["3", "1", "2"] and graph.truth is not None and graph.truth.tolist() == [0, 1, 1]
    assert len(graph.notes) == 2 and "n.csv: column 1 ('') has no name and counts the rows from 0" in graph.notes[1]
    write(nodes, "0,1\na,x\nb,x\n")
    with pytest.raises(DataError, match=r"n.csv: row 1: '0' ends no edge; expected names of columns"):
        edges(write(tmp_path / "w.csv", "a,b\n"), nodes=str(nodes), header=False)
    # a node without an edge
    assert edges(path, nodes=str(write(nodes, "0,1\n1,1\n2,2\n3,2\n"))).names == ["0", "1", "2", "3"]


def test_the_index_of_a_table_of_words(tmp_path: Path) -> None:
    rows = pd.DataFrame({"doc": ["a", "a", "b"], "word": ["x", "y", "x"], "count": [1, 2, 1]})
    for frame in (rows, rows[["doc", "word"]], rows.set_axis([0, 1, 2], axis=1), rows.set_axis(list("pqr"), axis=1)):
        made = corpus(write(tmp_path / "t.csv", frame))
        assert made.vocabulary == ["x", "y"] and made.values.documents == ["a", "b"]
        assert notes_of(made)[0] == f"column 1 ('') {INDEX}"
        assert made.notes[1:] == [ONE_DOCUMENT]
        assert corpus(tmp_path / "t.csv", heldout=0.5, heldout_by="word").notes == made.notes
    assert corpus(tmp_path / "t.csv", columns=[2, 3]).notes == [ONE_DOCUMENT]
    rows.index = pd.Index([3, 5, 6])
    with pytest.raises(DataError, match=r"row 2, column 1 \(''\): '3': the column has no name .* data.columns="):
        corpus(write(tmp_path / "t.csv", rows))


def test_a_table_of_words_that_may_begin_with_names(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "0,1,2\na,x,3\nb,x,1\n")
    with pytest.raises(DataError, match=rf"t.csv: row 1: '0, 1, 2' {ASKED}"):
        corpus(path)
    assert corpus(path, header=True).vocabulary == ["x"] and corpus(path, header=False).vocabulary == ["1", "x"]
    assert corpus(write(path, "0,1,2\n0,5,3\nb,x,1\n")).vocabulary == ["1", "5", "x"]


@pytest.mark.parametrize(
    "ending", ["csv", "semicolon.csv", "tsv", "txt", "data", "csv.gz", "parquet", "feather", "xlsx"]
)
@pytest.mark.parametrize("others", [True, False])
def test_texts_of_a_table_are_read_as_the_message_says(tmp_path: Path, ending: str, others: bool) -> None:
    """`data=csv` on a column of texts names the column that `data=corpus` reads, whatever the format."""
    words = ["coffee tea milk sugar cup morning"] * 6 + ["goal match ball team coach season"] * 6
    texts = pd.DataFrame(
        {"stars": range(1, 13), "text": [f"{words[i]} number {'abcdefghijkl'[i]}{i}" for i in range(12)]}
    )
    table, path = texts if others else texts[["text"]], tmp_path / f"t.{ending}"
    if ending in ("parquet", "feather"):
        getattr(table, f"to_{ending}")(path)
    elif ending == "xlsx":
        table.to_excel(path, index=False)
    else:
        ends = {"semicolon.csv": ";", "tsv": "\t", "txt": "\t"}.get(ending, ",")
        table.to_csv(path, sep=ends, index=False)
    with pytest.raises(DataError, match="reads it as documents") as found:
        files.csv(path, kind="mixed")
    column = re.search(r"data\.path=\S+ data=corpus 'data\.columns=\[(\w+)\]' reads it", str(found.value))
    assert column is not None and column[1] == "text"
    assert corpus(path, columns=[column[1]]).values.tokens.J == 12


def test_texts_in_the_first_of_several_columns_end_where_they_end(tmp_path: Path) -> None:
    """A column that is asked for by its number is there whatever ends the cells."""
    (tmp_path / "t.csv").write_text("".join(f"some words;{i}\n" for i in range(12)))
    read = corpus(tmp_path / "t.csv", columns=[1], stop_words="none")
    assert read.vocabulary == ["some", "words"]
    assert f"{tmp_path / 't.csv'}: a semicolon ends a cell (data.separator)" in read.notes


def test_several_sheets_of_texts_are_asked_about(tmp_path: Path) -> None:
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        for name in ("a", "b"):
            pd.DataFrame({"text": ["some words"]}).to_excel(book, sheet_name=name, index=False)
    with pytest.raises(
        DataError, match=r"sheets that hold cells: a, b; expected one sheet; save the sheet of the texts as"
    ):
        corpus(tmp_path / "t.xlsx", columns=["text"])


def test_lines_of_text_stay_documents_where_they_are_asked_for_by_number(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("".join(f"some words of line number {i}\n" for i in range(12)))
    assert corpus(tmp_path / "t.txt", columns=[1]).values.tokens.J == corpus(tmp_path / "t.txt").values.tokens.J == 12
