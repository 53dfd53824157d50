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
from splitmerge_cli.kinds.documents.readers.files import corpus
from splitmerge_cli.received import DataError


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
    assert note.startswith("column 3 ('Class') has 2 values. If it is a label, add data.truth=Class (left out")
    for asked in ({"truth": "Class"}, {"drop": ["Class"]}, {"columns": ["x", "Class"]}):
        assert "data.truth=" not in " ".join(notes_of(read(frame, kind=kind, **asked)))
    # as what a program passes is
    assert f"data: {note}".replace("column 3", "column 2") in from_object(frame, kind).notes


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


def test_the_rows_that_are_looked_at_are_few(read: Callable[..., Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "LOOKED_AT", 2)
    assert read("0,1\n0.5,0.5\n1.5,1.5\n7,7\n").values.tolist() == [[0.5, 0.5], [1.5, 1.5], [7, 7]]
    assert read("0,1\n0.5,0.5\n1.5,1.5\n7,7\n", header=False).N == 4


# other separators


# networks and corpora


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
