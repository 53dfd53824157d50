"""Wide tables: what is read of them is what their columns would give one by one."""

import gzip
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from splitmerge_cli.core.fixed_point import resolution
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import Limit, limit_bytes, memory
from splitmerge_cli.data.tables import repeats, separators, text
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds.tables import support
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.real_columns import find_resolution
from splitmerge_cli.received import DataError

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


def test_a_message_lists_some_names_alone(rows: np.ndarray, tmp_path: Path) -> None:
    path = put(tmp_path / "x.csv", rows, names=True)
    with pytest.raises(DataError, match=r"expected one of c0, .*, c19, \.\.\., or a number from 1 to 1200") as raised:
        csv(path, "points", truth="none")
    assert len(str(raised.value)) < 300 + len(str(path))


def test_units_of_columns_are_those_of_each() -> None:
    widest = np.array([0.0, 1e-300, 1.0, 1.5, 2.0**40, 1e30])
    assert resolution(widest, 1000, 3).tolist() == [resolution(w, 1000, 3) for w in widest]
    assert resolution(0.0, 5) == 1.0 and resolution(1.0, 5) == 2.0**-47


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


def test_wide_tables_are_looked_at_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time by column was two thirds of a run of 30,000 columns that ended in one component."""
    calls = []
    monkeypatch.setattr(support, "find_resolution", lambda cells: calls.append(1) or find_resolution(cells))
    x = np.random.default_rng(0).normal(size=(20, 3_000))
    assert not support.has_steps(table_of(x)) and not calls
    assert support.has_steps(table_of(x.round(1))) and len(calls) == 1
    # as column by column, also with missing cells
    for digits in (0, 1, 2, 3):
        some = x[:, :5].round(digits)
        some[digits, 0] = np.nan
        steps = [find_resolution(cells) > support.FINE * np.nanstd(cells) for cells in some.T]
        assert support.has_steps(table_of(some)) == any(steps)
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


def table_of(x: np.ndarray) -> Dataset:
    return Dataset("t", "points", x, is_recorded=True)
