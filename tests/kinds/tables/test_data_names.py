"""Numbers that look like names and names that look like numbers; the numbers of columns without names."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, save_npz

import splitmerge_cli as sm
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables import files
from splitmerge_cli.data.tables import text as text_files
from splitmerge_cli.data.values import digest_of
from splitmerge_cli.kinds import get_kind
from splitmerge_cli.kinds.documents.readers.files import corpus
from splitmerge_cli.kinds.tables.columns import statistics
from splitmerge_cli.kinds.tables.plots import columns as pictures
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


@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_first_or_last_column_without_a_name_may_hold_classes(read: Callable[..., Dataset], place: int) -> None:
    """As files of archives without names of columns have them; not one of several with few values."""
    x = np.random.default_rng(3).normal(size=(40, 3)).round(3).astype(object)
    table = np.insert(x, place, np.arange(40) % 3, axis=1)
    for classes, is_noted in ((table, place != 1), (np.insert(table, 2, np.arange(40) % 4, axis=1), False)):
        text = "\n".join(",".join(map(str, row)) for row in classes)
        noted = [note for note in notes_of(read(text, kind="mixed")) if "data.truth=" in note]
        assert [note.startswith(f"column {place + 1} has 3 values") for note in noted] == [True] * is_noted


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


def test_the_rows_that_are_looked_at_are_few(read: Callable[..., Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "LOOKED_AT", 2)
    assert read("0,1\n0.5,0.5\n1.5,1.5\n7,7\n").values.tolist() == [[0.5, 0.5], [1.5, 1.5], [7, 7]]
    assert read("0,1\n0.5,0.5\n1.5,1.5\n7,7\n", header=False).N == 4


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


# columns without names: they have the numbers that they have in their table, wherever some are left out


@pytest.fixture
def cells() -> np.ndarray:
    """Four columns, of which the second has one value."""
    x = np.random.default_rng(0).normal(size=(40, 4)).round(3)
    x[:20, 3] += 6.0
    x[:, 1] = 2.0
    return x


@pytest.fixture(params=["csv", "npy", "array", "list"])
def source(request: pytest.FixtureRequest, cells: np.ndarray, tmp_path: Path) -> Any:
    """The cells without names of columns, as a file or an object."""
    np.save(tmp_path / "t.npy", cells)
    np.savetxt(tmp_path / "t.csv", cells, delimiter=",", fmt="%.3f")
    return {"array": cells, "list": cells.tolist()}.get(request.param, tmp_path / f"t.{request.param}")


@pytest.mark.parametrize("kind", ["points", "mixed"])
def test_new_rows_are_as_wide_as_the_table(source: Any, cells: np.ndarray, kind: str) -> None:
    """New rows without names have the columns that were read, or all columns of the table."""
    data = (files.csv if isinstance(source, Path) else from_object)(source, kind)
    for new in (cells[:3], cells[:3][:, [0, 2, 3]]):
        found = get_kind(kind).new_items(data, new)
        assert np.array_equal(found.values, cells[:3][:, [0, 2, 3]])
    with pytest.raises(DataError, match="new items: 2 columns; expected 3"):
        get_kind(kind).new_items(data, cells[:3, :2])


def test_data_of_other_columns_are_other_data(cells: np.ndarray) -> None:
    """A run prints the numbers of columns, so its data differ by them."""
    whole = from_object(cells[:, [0, 2, 3]], "points")
    assert whole.positions is None and digest_of(whole) != digest_of(from_object(cells, "points"))


def test_pictures_number_columns_as_tables_do(cells: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    """The widest columns alone are described of very wide data; each is drawn with its own cells."""
    data = from_object(cells * [1.0, 1.0, 1e-6, 1.0], "points")
    monkeypatch.setattr("splitmerge_cli.kinds.tables.columns.MOST_CELLS", 4)
    labels = np.repeat([0, 1], 20)
    known = statistics(data, labels)
    assert known.columns == ["column 1", "column 4"]
    place = {name: j for j, name in enumerate(data.column_names)}
    assert [place[name] for name in known.columns] == [0, 2]
    assert pictures.column(data, place["column 4"], np.arange(40)).tolist() == data.values[:, 2].tolist()


def test_a_run_predicts_whole_rows(cells: np.ndarray, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "t.csv", cells, delimiter=",", fmt="%.3f")
    with pytest.warns(sm.NotConverged):
        posterior = sm.sample("gaussian", tmp_path / "t.csv", chains=1, iterations=5, progress="none")
        assert posterior.predict(cells[:3]).shape == (3,)
        assert "column 4 = " in " ".join(posterior.cluster_summary()["telling"])
