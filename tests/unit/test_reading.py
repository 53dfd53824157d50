"""All cases of reading (`readings`): those of the tables in ``reading/*.yaml``, and those that are computed here, such
as arrays, matrices and columnar files.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from readings import Case, check, load, read, refuse

from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds.documents.readers.files import corpus
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.received import DataError

WIDE = [[i + j / 4 for j in range(1500)] for i in range(2)]
BOOLS = pd.DataFrame({"a": [True, False], "b": ["yes", "no"]})
POINTS = pd.DataFrame({"x": [0.5, -1.25, 2.0], "y": [3.0, 0.125, 7.5]})
INDEXED = POINTS.set_axis([0, 5, 6])
UNCOUNTED = "…has no name and does not count the rows"
NOT_SPARSE = "not a readable sparse matrix of real numbers, as scipy.sparse.save_npz writes it: "
PAIRS = pa.table({"source": ["a"], "target": ["b"], "weight": [[1]]})
BINARY: list[tuple[Any, str]] = [
    ("0,1\n" + "x" * 200_000 + ",0\n", "row 2, column 1: 'xxxxx"),
    (np.zeros((2, 2, 2)), "array of 3 dimensions"),
    (np.zeros((0, 2)), "no rows"),
    (np.array([[0, 1], [0, 3]]), "row 2, column 2: '3'"),
    (np.array([["0", "1"]]), "column 1 holds string; expected numbers"),
]
TOKENS: list[tuple[Any, str]] = [
    (pa.table({"x": [[1], [2]]}), "column 1 ('x') holds list<element: int64>; expected strings or integers"),
    (np.array([0.5, 1.0]), "row 1, column 1: '0.5'; expected a token"),
    (np.array([1.0, np.nan]), "row 2, column 1: 'nan'; expected a token"),
    (np.array([1j]), "array of complex128; expected numbers or strings"),
    (np.array([2.0, 9.3e18]), "row 2, column 1: '9.3e+18'; expected a token"),
    ({}, "a sparse matrix is read as points"),
]
NUMBERS: list[tuple[Any, str]] = [
    ({"shape": [2, 2_000_000_000]}, "2000000000 columns; expected at most"),
    (np.array([[0.0, 1.0], [-np.inf, 1.0]]), "row 2, column 1: '-inf'; expected a number of magnitude"),
    (np.array([[1e101]]), "row 1, column 1: '1e+101'; expected a number of magnitude"),
    (np.zeros((2, 0)), "no rows or no columns"),
    (np.array(1.0), "array of 0 dimensions"),
    (np.array(["1", "2"]), "column 1 holds string; expected numbers"),
    (np.array(["2020-01-01"], dtype="M8[s]"), "column 1 holds timestamp[s]; expected numbers"),
    (np.zeros(2, dtype=[("x", float), ("y", float)]), "array of [('x', '<f8'), ('y', '<f8')]; expected numbers"),
    (np.array([1, "a", None], dtype=object), "not a readable .npy file of plain numbers or strings"),
    (np.ones(2, dtype=np.longdouble), "array of float"),
    (pa.table({"x": ["1", "2"]}), "column 1 ('x') holds string; expected numbers (data.columns and data.drop"),
    (pa.table({"x": [[1.0], [2.0]]}), "column 1 ('x') holds list"),
    (pa.table({"x": [1e101, 1.0]}), "row 1, column 1 ('x'): '1e+101'; expected a number of magnitude"),
    ({"data": [np.nan, 1]}, "row 1, column 1: 'nan'; expected a number"),
    ({"data": [1, -np.inf]}, "row 2, column 2: '-inf'; expected a number of magnitude"),
    ({"data": [1, 1e31]}, "row 2, column 2: '1e+31'; expected a number of magnitude"),
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
    ({"shape": [0, 2], "data": [], "indices": np.zeros(0, int), "indptr": [0]}, "no rows or no columns"),
    ({"shape": [2, 0], "data": [], "indices": np.zeros(0, int), "indptr": [0, 0, 0]}, "no rows or no columns"),
]


def counted_table(counts: list[int]) -> str:
    """A table whose first column, which has no name, has these numbers."""
    return ",x\n" + "".join(f"{count},{i / 2}\n" for i, count in enumerate(counts))


def differing(names: list[str]) -> list[Case]:
    """Names of rows that begin with digits, as R writes them (MASS's UScereal, rrcov's soil, freeny)."""
    text, both = '"","x"\n' + "".join(f'"{name}",{i / 2}\n' for i, name in enumerate(names)), "points mixed"
    return [
        read(text, kind=both, expect={"names": names, "width": 1}),
        refuse(f'{text}"{names[3]}",.25\n', UNCOUNTED, kind=both),
    ]


def refuse_each(kind: str, rows: list[tuple[Any, str]]) -> list[Case]:
    """Contents with their messages; each has the ending of what it holds."""
    endings = {np.ndarray: "npy", pa.Table: "parquet", dict: "npz"}
    return [refuse(what, said, kind=kind, name=f"x.{endings.get(type(what), 'csv')}") for what, said in rows]


COMPUTED = {
    "what is no table of 0 and 1": [
        *refuse_each("binary", [*BINARY, ({}, "row 2, column 2: '2'; expected 0 or 1")]),
        *refuse_each("graph", [(PAIRS, "column 3 ('weight') holds list<")]),
        refuse("0,1\n", "data.kind=numbers", kind="numbers"),
    ],
    "what is no column of tokens": refuse_each("tokens", TOKENS),
    "what are no points": [
        *refuse_each("points", NUMBERS),
        refuse("FEA1" + "\0" * 50, "a file of Feather's version 1; expected version 2", name="x.feather"),
    ],
    "a cell in a blank column far down": [
        refuse("x,y,\n" + "1.5,2,\n" * 1500 + "1.5,2,9\n", "row 1502, column 3 (''): '9': the column has no name;")
    ],
    "a decimal comma in wide tables": [
        read("\n".join(";".join(f"{x:.2f}".replace(".", ",") for x in row) for row in WIDE), (), WIDE, header=False)
    ],
    "truth values of typed tables": [
        read(BOOLS, (), [[1, 1], [0, 0]], kind="binary", name="t.parquet t.feather t.xlsx")
    ],
    "an index that counts": [
        # more than once, as pandas writes tables that it has put one below the other
        *(
            read(
                counted_table([*range(start, start + 7), *range(start, start + 5)]),
                note,
                expect={"width": 1, "names": None},
            )
            for start in (0, 1)
            for note in [f"column 1 ('') has no name and counts the rows from {start}, more than once: it is left out"]
        ),
        *(refuse(counted_table([i % 2 for i in [*range(s, s + 7), *range(s, s + 5)]]), UNCOUNTED) for s in (0, 1)),
        read(counted_table(list(range(3000))), expect={"rows": 3000, "width": 1}),
        refuse(counted_table([*range(3000), 7]), "row 3002, column 1 (''): '7': the column has no name"),
    ],
    "the index of a parquet file": [
        read(POINTS, name="t.parquet", expect={"notes": []}),
        read(
            INDEXED,
            "column 3 ('__index_level_0__') is the index of pandas: it is left out (data.columns would read it)",
            POINTS,
            name="t.parquet",
            expect={"columns": ["x", "y"]},
        ),
        read(
            INDEXED,
            (),
            [[0.5, 0], [-1.25, 5], [2, 6]],
            name="t.parquet",
            columns=["x", "__index_level_0__"],
            expect={"notes": []},
        ),
        read(
            INDEXED, name="t.parquet", truth="__index_level_0__", expect={"width": 2, "labels": [0, 1, 2], "notes": []}
        ),
    ],
    "shares name the items": differing(["100% Bran", *map(str, range(1, 10))]),
    "codes name the items": differing([f"198{i}-Pit {i}" for i in range(10)]),
    "quarters name the items": differing([f"{1962 + i / 4}" for i in range(10)]),
}
FILES = sorted((Path(__file__).parent / "reading").glob("*.yaml"))
TABLES = {f"{file.stem}: {group}": cases for file in FILES for group, cases in load(file).items()}
ROWS = [
    pytest.param(case, id=f"{group}-{number}")
    for group, cases in (TABLES | COMPUTED).items()
    for number, case in enumerate(cases, 1)
]


@pytest.mark.parametrize("case", ROWS)
def test_reading(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case)


@pytest.mark.parametrize(
    ("reader", "expected"),
    [
        (partial(csv, kind="binary"), "a table"),
        (edges, "a list of edges"),
        (partial(corpus, format="tokens"), "a table of document and word"),
    ],
)
def test_what_is_no_file(reader: Any, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=f"^none.csv: no such file; expected {expected}"):
        reader("none.csv")
    with pytest.raises(DataError, match="folder; expected a"):
        reader(".")
