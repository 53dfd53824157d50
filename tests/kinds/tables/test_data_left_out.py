"""Columns that are no data, and directions and weights of edges: left out with the same words of files and objects."""

import gzip
import time
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import splitmerge_cli as sm
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.opening import Limit, limit_bytes, memory
from splitmerge_cli.data.tables import text
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds import get_kind
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.received import DataError

N = 12
X = np.random.default_rng(0).normal(size=(N, 2))


def table(**more: Any) -> pd.DataFrame:
    columns = {"id": np.arange(N)[::-1] * 7, "row": np.arange(1, N + 1), "u": X[:, 0], "one": 1.0, "v": X[:, 1]}
    return pd.DataFrame(columns | more)


@pytest.mark.parametrize("kind", ["points", "mixed"])
def test_a_file_and_a_frame_leave_out_the_same(tmp_path: Path, kind: str) -> None:
    frame = table(who=[f"w{i}" for i in range(N)], when=pd.date_range("2020-01-31", periods=N).astype(str))
    frame.to_csv(tmp_path / "t.csv", index=False)
    read, passed = csv(tmp_path / "t.csv", kind), from_object(frame, kind)
    assert read.columns == passed.columns == ["u", "v"] and read.names == passed.names == frame["who"].to_list()
    np.testing.assert_array_equal(read.values, passed.values)
    told = [[note.partition(": ")[2] for note in data.notes if "left out" in note] for data in (read, passed)]
    assert told[0] == told[1] and len(told[0]) == 5
    for why in (
        "column 1 ('id') is left out: every value differs",
        "column 2 ('row') is left out: it counts the rows from 1",
        "column 4 ('one') is left out: every value is '1'",
        "column 6 ('who') is left out: every value differs: they are the names of the items",
        "column 7 ('when') is left out: it holds dates, as '2020-01-31'",
    ):
        assert any(note.startswith(why) for note in told[0]), why


def test_cells_are_whole_numbers_once_the_missing_ones_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n" + "0,,1\n1,,0\n" * 6)
    data = csv(tmp_path / "t.csv", "binary")
    assert data.values.dtype == np.uint8 and data.columns == ["a", "c"]


def test_nothing_is_left() -> None:
    with pytest.raises(
        DataError, match=r"data: no column is left for the data \(column 1, column 2 are left out: they cou"
    ):
        from_object(np.column_stack([np.arange(N), np.arange(N)]), "points")
    chosen = from_object(np.column_stack([np.arange(N), np.arange(N)]), "points", columns=[2])
    assert chosen.values.shape == (N, 1) and chosen.notes == []


def test_texts_of_numbers_are_numbers() -> None:
    data = from_object(table(price=[f"${1000 + i:,}.50" for i in range(N)]), "points")
    assert data.columns == ["u", "v", "price"] and data.values[0, 2] == 1000.5
    assert get_kind("points").new_items(data, table(price=["$7"] * N)).values[0, 2] == 7


NAMES = ["Jon Smith", "John Smith", "Mary Jones", "Marie Jones", "Ada King", "Alan Poe", "Al Poe"] + [
    f"{first} {last}" for first in ("Tom", "Ann") for last in ("Stone", "Brook", "Hill", "Field")
]


@pytest.mark.parametrize(
    ("words", "name", "told"),
    [
        (NAMES, "c", True),
        ([word.lower() for word in NAMES], "customer_name", True),
        ([f"{i} {word.split()[1]} Street" for i, word in enumerate(NAMES)], "c", True),
        ([f"{word.split()[0].lower()}@mail{i}.org" for i, word in enumerate(NAMES)], "c", True),
        ([word.lower() for word in NAMES], "c", False),
        ([f"item {i}" for i in range(20)], "c", False),
    ],
)
def test_names_and_addresses_are_told_of(tmp_path: Path, words: list[str], name: str, told: bool) -> None:
    said = "it looks like names or addresses: only model=records compares letters"
    pd.DataFrame({name: [*words, *words[:3]]}).to_csv(tmp_path / "t.csv", index=False)
    notes = [csv(tmp_path / "t.csv", "tokens", header=True).notes]
    frame = pd.DataFrame({name: [*words, *words[:3]], "x": 0.5 + np.arange(len(words) + 3) ** 2})
    notes += [from_object(frame, "mixed", types=types).notes for types in ({name: "categorical"}, None)]
    for noted in notes:
        assert any(said in note for note in noted) == told
    assert from_object(frame, "mixed").columns == ["x"]


def test_rows_that_may_be_of_one_person_are_told_of() -> None:
    """Two columns that are left out for their many words, each with two nearly equal ones; not one, nor codes."""
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), size=9)) for _ in range(116)]
    first, last = ["annabella", "annabelle", *words[:58]], ["meierhofer", "meyerhofer", *words[58:]]
    frame = pd.DataFrame({"f": first + first[:20], "l": last[20:40] + last, "by": 1950.5 + np.arange(80) ** 2})
    said = "column 1 ('f') with 'annabella' and 'annabelle', column 2 ('l') with 'meierhofer' and 'meyerhofer'. If rows"
    codes = frame.assign(f=[f"code {i % 60}" for i in range(80)])
    for table, told in ((frame, True), (frame[["f", "by"]], False), (codes, False)):
        notes = from_object(table, "mixed").notes
        assert any("left out: 60 different words" in note for note in notes)
        assert any(said in note for note in notes) == any("nearly equal" in note for note in notes) == told


def test_a_frame_has_calls_in_place_of_commands(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    words = ["".join(rng.choice(list("abcdefgh"), 9)) for _ in range(300)]
    texts = [" ".join(rng.choice(words, 30)) for _ in range(300)]
    frame = pd.DataFrame({"name": words, "town": words[::-1], "text": texts, "x": rng.normal(size=300)})
    frame.loc[0, ["name", "town"]] = [words[1][:-1] + "z", words[2][:-1] + "z"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    held, read = (" ".join(made.notes) for made in (from_object(frame, "mixed"), csv(tmp_path / "t.csv", kind="mixed")))
    assert 'sample("hdp", data["text"]) reads it' in held and "smcmc run" not in held
    assert "data=corpus data.columns=" in read.replace("'", "") and "sample(" not in read


def test_directions_and_weights_of_graphs_are_told_of(tmp_path: Path) -> None:
    directed = networkx.DiGraph([("a", "b"), ("b", "c")])
    weighted = networkx.Graph([("a", "b", {"weight": 2}), ("b", "c", {"weight": 3})])
    plain = networkx.path_graph(3)
    for graph, lost, words in [
        (directed, "directions", "directed=True"),
        (networkx.to_numpy_array(directed), "directions", "directed=True"),
        (weighted, "weights (2 values, 2 to 3)", "values='count'"),
        (networkx.to_scipy_sparse_array(weighted), "weights (2 values, 2 to 3)", "values='count'"),
        (networkx.MultiGraph([(0, 1), (1, 0)]), "1 further edge of a pair", "values='count'"),
        (networkx.Graph([(0, 0), (0, 1)]), "edges of a node to itself: 1", "loops=True"),
        (plain, "", ""),
        (networkx.to_numpy_array(plain), "", ""),
    ]:
        note = f"data: left out: {lost}; this uses them: smcmc.sample(data, {words})"
        assert from_object(graph, "graph").notes[1:] == [note] * bool(lost)
    networkx.write_gml(directed, tmp_path / "g.gml")
    assert edges(tmp_path / "g.gml").notes[1].endswith("g.gml data.directed=true")


def test_a_program_is_warned_and_may_say_otherwise() -> None:
    keys: Any = {"chains": 1, "iterations": 5, "progress": "none"}
    with pytest.warns(sm.DataNote, match=r"column 2 \('row'\) is left out: it counts the rows from 1"):
        left = sm.sample("gaussian", table(), **keys)
    assert left.dataset.columns == ["u", "v"]
    chosen = sm.sample("gaussian", table(), options={"data.columns": ["row", "v"]}, **keys)
    assert chosen.dataset.columns == ["row", "v"]
    few = table(year=[2007, 2008] * 6)[["u", "v", "year"]]
    read = sm.sample("mixed", few, options={"data.types": {"year": "real"}}, **keys)
    assert [column.type for column in read.dataset.types or ()] == ["real"] * 3
    assert from_object(few, "mixed").types[-1].levels == ("2007", "2008")  # type: ignore[index]
    with pytest.raises(DataError, match=r"data.types=.*: expected null: only model=mixed takes it, not points"):
        sm.sample("gaussian", few, options={"data.types": {"year": "real"}}, **keys)


def test_an_estimator_leaves_out_what_a_run_does() -> None:
    with pytest.warns(sm.DataNote, match=r"column 1 \('id'\) is left out: every value differs"):
        fitted = sm.SplitMergeClustering("gaussian", iterations=5, chains=1, random_state=0).fit(table())
    assert fitted.posterior_.dataset.columns == ["u", "v"] and fitted.n_features_in_ == 5
    assert fitted.predict(table().head(3)).shape == (3,)


# ---- Wide tables: what is read of them is what their columns would give one by one.

COLUMNS = 1200


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(7, COLUMNS)) * np.logspace(-20, 20, COLUMNS)


def put(path: Path, rows: np.ndarray, names: bool = False, end: str = "\n", spaces: str = "") -> Path:
    lines = [",".join(f"{spaces}{cell!r}" for cell in row) for row in rows.tolist()]
    head = [",".join(f'"c{j}"' for j in range(rows.shape[1]))] if names else []
    path.write_bytes(end.join([*head, *lines, ""]).encode())
    return path


def by_column(monkeypatch: pytest.MonkeyPatch, path: Path, kind: str = "points", **options: object) -> object:
    with monkeypatch.context() as patch:
        patch.setattr(text, "WIDE", 10**9)
        return csv(path, kind, **options)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("names", [False, True])
def test_cells_are_read_as_columns_are(
    rows: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: bool, end: str
) -> None:
    path = put(tmp_path / "x.csv", rows, names, end, spaces=" ")
    for options in [{}, {"N": 3}, {"drop": [1, 5]}, {"columns": [9, 2, -1]}, {"columns": [4, 3], "truth": 1}]:
        monkeypatch.setattr(text, "_BLOCK", 100_000)
        wide, usual = csv(path, "points", **options), by_column(monkeypatch, path, **options)
        assert np.array_equal(wide.values, usual.values)
        assert wide.values.dtype == usual.values.dtype and wide.columns == usual.columns
        assert np.array_equal(wide.truth, usual.truth) if "truth" in options else wide.truth is None
    assert np.array_equal(csv(path, "points").values, rows)


@pytest.mark.parametrize("one", ["1", "1.0"])
def test_zeros_and_ones_are_read_as_columns_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"0,{one}," * COLUMNS + "a\n" + f"{one},0," * COLUMNS + "b")
    wide, usual = csv(path, "binary", truth=-1), by_column(monkeypatch, path, "binary", truth=-1)
    assert wide.values.shape == (2, 2 * COLUMNS) and wide.values.dtype == np.uint8
    assert np.array_equal(wide.values, usual.values) and wide.truth.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("cell", "kind"), [("x", "points"), ("none", "points"), ("1e31", "points"), ("2", "binary"), ("x", "binary")]
)
def test_a_faulty_cell_is_named_as_in_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str, kind: str
) -> None:
    path = tmp_path / "x.csv"
    lines = [["0"] * COLUMNS for _ in range(3)]
    lines[1][700] = cell
    path.write_text("\n".join(map(",".join, lines)))
    with pytest.raises(DataError) as usual:
        by_column(monkeypatch, path, kind)
    with pytest.raises(DataError, match=r"x.csv: row 2, column 701: ") as wide:
        csv(path, kind)
    assert str(wide.value) == str(usual.value)


def test_a_ragged_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(",".join(["0"] * COLUMNS) + "\n" + ",".join(["0"] * (COLUMNS + 1)) + "\n0")
    with pytest.raises(DataError, match=rf"x.csv: row 2: cells: {COLUMNS + 1}; expected {COLUMNS}, as in row 1"):
        csv(path, "points")


def test_columns_do_not_cost_the_parser_one_by_one(
    rows: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / "x.csv", rows)
    parse, asked = text.Text._parse, []
    monkeypatch.setattr(text.Text, "_parse", lambda *args: asked.append(len(args[3])) or parse(*args))
    csv(path, "points")
    assert asked == [1]


@pytest.mark.parametrize("N", [1, 9, 300])
def test_columns_are_prepared_alike_alone_and_together(N: int) -> None:
    """A model with all columns has the densities of models with one column each."""
    x = np.random.default_rng(N).normal(size=(N, 5)) * [1, 1e-9, 1e9, 3, 0]
    labels = (np.arange(N) % 2).astype(np.int32)

    def log_lik(points: np.ndarray) -> float:
        model = Gaussian(points)
        model.set_labels(labels)
        return model.log_lik_total()

    assert log_lik(x) == pytest.approx(sum(log_lik(x[:, [d]]) for d in range(5)), rel=1e-12)
    assert log_lik(np.asfortranarray(x)) == log_lik(x)


def test_the_default_limit_is_a_share_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Limit.current().size == memory() // 4
    with limit_bytes(7):
        assert (Limit.current().size, Limit.current(2).size) == (7, 3)
    assert Limit.current().size == memory() // 4


def test_text_of_two_bytes_a_character_is_checked_in_parts(tmp_path: Path) -> None:
    # the parts end within a character
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(("x" + "é" * (1 << 20) + "\nend\n").encode()))
    assert csv(path, "tokens").n_tokens == 2
    path.write_bytes(gzip.compress(("x" + "é" * (1 << 20) + "\nend\n").encode() + b"\xc3"))
    with pytest.raises(DataError, match="row 3: byte 0xc3; expected UTF-8 text"):
        csv(path, "tokens")


def test_a_column_is_found_by_its_number() -> None:
    """To search for each among all took two minutes for 300,000 columns."""
    width = 40_000
    table = text.Text(Path("x.csv"), ("0,1," * (width // 2))[:-1].encode(), ",")
    table.parse([dict.fromkeys(range(width), pa.int64())])
    began = time.process_time()
    assert sum(table.cells(j)[0].as_py() for j in range(width - 2000, width)) == 1000
    assert time.process_time() - began < 0.3
