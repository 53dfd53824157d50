"""Columns without names have the numbers that they have in their table, wherever some of its columns are left out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import splitmerge_cli as sm
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.data.values import digest_of
from splitmerge_cli.kinds import get_kind
from splitmerge_cli.kinds.tables.columns import statistics
from splitmerge_cli.kinds.tables.plots import columns as pictures
from splitmerge_cli.received import DataError


@pytest.fixture
def cells() -> np.ndarray:
    """Four columns, of which the second has one value."""
    x = np.random.default_rng(0).normal(size=(40, 4)).round(3)
    x[:20, 3] += 6.0
    x[:, 1] = 2.0
    return x


def as_csv(cells: np.ndarray, folder: Path) -> Path:
    np.savetxt(folder / "t.csv", cells, delimiter=",", fmt="%.3f")
    return folder / "t.csv"


def as_npy(cells: np.ndarray, folder: Path) -> Path:
    np.save(folder / "t.npy", cells)
    return folder / "t.npy"


@pytest.fixture(params=["csv", "npy", "array", "list"])
def source(request: pytest.FixtureRequest, cells: np.ndarray, tmp_path: Path) -> Any:
    """The cells without names of columns, as a file or an object."""
    return {"csv": lambda: as_csv(cells, tmp_path), "npy": lambda: as_npy(cells, tmp_path), "array": lambda: cells}.get(
        request.param, cells.tolist
    )()


def read(source: Any, kind: str, **options: Any) -> Dataset:
    return csv(source, kind, **options) if isinstance(source, Path) else from_object(source, kind, **options)


@pytest.mark.parametrize("kind", ["points", "mixed"])
def test_new_rows_are_as_wide_as_the_table(source: Any, cells: np.ndarray, kind: str) -> None:
    """New rows without names have the columns that were read, or all columns of the table."""
    data = read(source, kind)
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
    options: Any = {"chains": 1, "iterations": 5, "progress": "none"}
    with pytest.warns(sm.NotConverged):
        posterior = sm.sample("gaussian", as_csv(cells, tmp_path), **options)
        assert posterior.predict(cells[:3]).shape == (3,)
        assert "column 4 = " in " ".join(posterior.cluster_summary()["telling"])
