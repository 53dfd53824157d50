"""Arrays, matrices and columnar files that are refused, one a row, with the message for each; texts that are refused
stand in ``reading/*.yaml``.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from refusals import check_refusal

from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds.documents.readers.files import corpus
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.received import DataError

NOT_SPARSE = "not a readable sparse matrix of real numbers, as scipy.sparse.save_npz writes it: "
PATH = "a,b\nb,c\n"

BINARY: list[Any] = [
    ("0,1\n" + "x" * 200_000 + ",0\n", {}, "row 2, column 1: 'xxxxx"),
    (np.zeros((2, 2, 2)), {}, "array of 3 dimensions"),
    (np.zeros((0, 2)), {}, "no rows"),
    (np.array([[0, 1], [0, 3]]), {}, "row 2, column 2: '3'"),
    (np.array([["0", "1"]]), {}, "column 1 holds string; expected numbers"),
]
TOKENS: list[Any] = [
    (pa.table({"x": [[1], [2]]}), {}, "column 1 ('x') holds list<element: int64>; expected strings or integers"),
    (np.array([0.5, 1.0]), {}, "row 1, column 1: '0.5'; expected a token"),
    (np.array([1.0, np.nan]), {}, "row 2, column 1: 'nan'; expected a token"),
    (np.array([1j]), {}, "array of complex128; expected numbers or strings"),
    (np.array([2.0, 9.3e18]), {}, "row 2, column 1: '9.3e+18'; expected a token"),
    ({}, {}, "a sparse matrix is read as points"),
]
POINTS: list[Any] = [
    ({"shape": [2, 2_000_000_000]}, {}, "2000000000 columns; expected at most"),
    (np.array([[0.0, 1.0], [-np.inf, 1.0]]), {}, "row 2, column 1: '-inf'; expected a number of magnitude"),
    (np.array([[1e101]]), {}, "row 1, column 1: '1e+101'; expected a number of magnitude"),
    (np.zeros((2, 0)), {}, "no rows or no columns"),
    (np.array(1.0), {}, "array of 0 dimensions"),
    (np.array(["1", "2"]), {}, "column 1 holds string; expected numbers"),
    (np.array(["2020-01-01"], dtype="M8[s]"), {}, "column 1 holds timestamp[s]; expected numbers"),
    (np.zeros(2, dtype=[("x", float), ("y", float)]), {}, "array of [('x', '<f8'), ('y', '<f8')]; expected numbers"),
    (np.array([1, "a", None], dtype=object), {}, "not a readable .npy file of plain numbers or strings"),
    (np.ones(2, dtype=np.longdouble), {}, "array of float"),
    (pa.table({"x": ["1", "2"]}), {}, "column 1 ('x') holds string; expected numbers (data.columns and data.drop"),
    (pa.table({"x": [[1.0], [2.0]]}), {}, "column 1 ('x') holds list"),
    (pa.table({"x": [1e101, 1.0]}), {}, "row 1, column 1 ('x'): '1e+101'; expected a number of magnitude"),
    ({"data": [np.nan, 1]}, {}, "row 1, column 1: 'nan'; expected a number"),
    ({"data": [1, -np.inf]}, {}, "row 2, column 2: '-inf'; expected a number of magnitude"),
    ({"data": [1, 1e31]}, {}, "row 2, column 2: '1e+31'; expected a number of magnitude"),
    ({"data": [1j, 1]}, {}, f"{NOT_SPARSE}it holds complex128"),
    ({"data": ["a", "b"]}, {}, NOT_SPARSE),
    ({"data": np.array([1, None], dtype=object)}, {}, f"{NOT_SPARSE}it holds Python objects"),
    ({"format": "xyz"}, {}, NOT_SPARSE),
    ({"format": None}, {}, NOT_SPARSE),
    ({"data": None}, {}, NOT_SPARSE),
    ({"indices": [0, 2]}, {}, NOT_SPARSE),
    ({"indices": [0, -1]}, {}, NOT_SPARSE),
    ({"indptr": [0, 2, 1]}, {}, NOT_SPARSE),
    ({"indptr": [0, 1, 9]}, {}, NOT_SPARSE),
    ({"shape": [2, 2**40]}, {}, NOT_SPARSE),
    ({"shape": [0, 2], "data": [], "indices": np.zeros(0, int), "indptr": [0]}, {}, "no rows or no columns"),
    ({"shape": [2, 0], "data": [], "indices": np.zeros(0, int), "indptr": [0, 0, 0]}, {}, "no rows or no columns"),
    ("FEA1" + "\0" * 50, {"name": "x.feather"}, "a file of Feather's version 1; expected version 2"),
]
EDGES: list[Any] = [
    (pa.table({"source": ["a"], "target": ["b"], "weight": [[1]]}), {}, "column 3 ('weight') holds list<"),
]


@pytest.fixture(autouse=True)
def _change_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("kind", "content", "options", "message"),
    [
        *(("binary", *row) for row in BINARY),
        *(("tokens", *row) for row in TOKENS),
        *(("points", *row) for row in POINTS),
        ("numbers", "0,1\n", {}, "data.kind=numbers"),
        ("binary", {}, {}, "row 2, column 2: '2'; expected 0 or 1"),
        ("graph", PATH, {}, "data.kind=graph: data=csv reads tables; expected data=edges data.path="),
    ],
)
def test_tables(kind: str, content: Any, options: dict[str, Any], message: str) -> None:
    check_refusal(csv, content, {"kind": kind} | options, message, "x.csv")


@pytest.mark.parametrize(("content", "options", "message"), EDGES)
def test_networks(content: Any, options: dict[str, Any], message: str) -> None:
    check_refusal(edges, content, options, message, "e.csv")


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (partial(csv, kind="binary"), "a table"),
        (edges, "a list of edges"),
        (partial(corpus, format="tokens"), "a table of document and word"),
    ],
)
def test_what_is_no_file(read: Any, expected: str) -> None:
    with pytest.raises(DataError, match=f"^none.csv: no such file; expected {expected}"):
        read("none.csv")
    with pytest.raises(DataError, match="folder; expected a"):
        read(".")
