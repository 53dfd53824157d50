"""All cases of reading (`readings`): those of the tables in ``reading/*.yaml``, and here those that are computed."""

from pathlib import Path

import pandas as pd
import pytest
from readings import Case, check, load, read, refuse

WIDE = [[i + j / 4 for j in range(1500)] for i in range(2)]
BOOLS = pd.DataFrame({"a": [True, False], "b": ["yes", "no"]})
POINTS = pd.DataFrame({"x": [0.5, -1.25, 2.0], "y": [3.0, 0.125, 7.5]})
INDEXED = POINTS.set_axis([0, 5, 6])
UNCOUNTED = "…has no name and does not count the rows"


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


COMPUTED = {
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
