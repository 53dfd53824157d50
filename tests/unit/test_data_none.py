"""A level that is called None is no missing cell, unless the table has it among numbers, or data.missing names it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv

ANSWERS = ["None", "Some", "Many", " None", "Some", "None"] * 5
X = np.random.default_rng(0).normal(size=30).round(3).tolist()


def _read(tmp_path: Path, columns: dict[str, Any], form: str, **options: Any) -> Dataset:
    frame = pd.DataFrame(columns, dtype=object)
    frame = frame.assign(**{name: frame[name].astype(float) for name in frame if name == "x"})
    if form == "frame":
        return from_object(frame, "mixed")
    if form == "categories":
        return from_object(frame.assign(a=frame["a"].str.strip().astype("category")), "mixed")
    path = tmp_path / f"t.{form}"
    write = {"csv": frame.to_csv, "parquet": frame.to_parquet, "feather": frame.to_feather, "xlsx": frame.to_excel}
    write[form](path, **({} if form == "feather" else {"index": False}))
    return csv(path, "mixed", **options)


def _levels(data: Dataset) -> dict[str, tuple[str, ...] | None]:
    return dict(zip(data.columns or (), [column.levels for column in data.types or ()], strict=True))


@pytest.mark.parametrize("form", ["csv", "parquet", "feather", "xlsx", "frame", "categories"])
def test_a_level_called_none_is_kept(tmp_path: Path, form: str) -> None:
    data = _read(tmp_path, {"a": ANSWERS, "x": X}, form)
    assert _levels(data)["a"] == ("Many", "None", "Some") and not np.isnan(data.values).any()
    said = [note.partition(": ")[2] for note in data.notes]
    assert "None is a level of a (data.missing=[None] reads it as missing)" in said


@pytest.mark.parametrize("form", ["csv", "parquet", "feather"])
def test_an_option_makes_it_missing(tmp_path: Path, form: str) -> None:
    data = _read(tmp_path, {"a": ANSWERS, "x": X}, form, missing=["None"])
    assert _levels(data)["a"] == ("Many", "Some") and np.isnan(data.values[:, 0]).sum() == 15
    assert "None is" not in str(data.notes)


OTHERS = {
    "numbers": [None if i % 7 else 1.5 + i for i in range(30)],
    "dates": ["2024-01-02", "2024-02-03", "None"] * 10,
    "truth": ["True", "None", "False"] * 10,
    "prices": ["$1.50", "None", "$2.75"] * 10,
}


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("other", OTHERS)
def test_it_is_missing_where_the_table_has_it_among_others(tmp_path: Path, other: str, form: str) -> None:
    cells = [str(cell) for cell in OTHERS[other]]
    data = _read(tmp_path, {"a": ANSWERS, "b": cells, "x": X}, form)
    assert _levels(data)["a"] == ("Many", "Some") and np.isnan(data.values[:, 0]).sum() == 15
    said = [note.partition(": ")[2] for note in data.notes]
    assert "None is a missing cell in columns of words, too, as in b" in said


@pytest.mark.parametrize("form", ["csv", "frame"])
def test_numbers_have_no_such_level(tmp_path: Path, form: str) -> None:
    """Nor have names of items, of which each is another one."""
    cells = [str(cell) for cell in OTHERS["numbers"]]
    names = ["None" if i in (3, 5) else f"item {i}" for i in range(30)]
    data = _read(tmp_path, {"b": cells, "name": names, "x": X}, form)
    assert data.columns == ["b", "x"] and np.isnan(data.values[:, 0]).sum() == cells.count("None")
    assert "None is" not in str(data.notes)
