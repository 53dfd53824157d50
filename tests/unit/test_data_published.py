"""Published sets: found by SMCMC_DATA, read only if they are the published ones, described, fetched where possible."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from splitmerge_cli.data import downloads
from splitmerge_cli.data.downloads import SETS
from splitmerge_cli.kinds import lines as noparama
from splitmerge_cli.received import DataError

LINES = "dataset,x,y,cluster\n0,1.5,2,1\n0,3,4,2\n7,5,6,2\n7,7,8,4\n7,9,0,2\n"
GAUSSIANS = "x,y,cluster\n0,1,0\n2,3,0\n4,5,1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(downloads.VARIABLE, str(tmp_path))
    return tmp_path


def test_a_set_of_lines(publish: Callable[..., Path]) -> None:
    publish("noparama_lines", {noparama.FILE: LINES})
    data = noparama.lines(7)
    assert data.values.tolist() == [[5, 6], [7, 8], [9, 0]] and data.columns == ["x", "y"]
    assert data.truth is not None and data.truth.tolist() == [0, 1, 0] and data.truth.dtype == np.int32
    assert data.kind.name == "points" and data.meta == {"dataset": 7}
    assert noparama.lines(0).values.tolist() == [[1.5, 2], [3, 4]]
    assert noparama.lines(7, N=1).values.tolist() == [[5, 6]]


def test_two_gaussians(publish: Callable[..., Path]) -> None:
    publish("noparama_twogaussians", {noparama.FILE: GAUSSIANS})
    data = noparama.two_gaussians()
    assert data.values.tolist() == [[0, 1], [2, 3], [4, 5]] and data.columns == ["x", "y"]
    assert data.truth is not None and data.truth.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"dataset": -1}, r"data.dataset=-1: expected a whole number from 0 to 99"),
        ({"dataset": 100}, r"data.dataset=100: expected a whole number from 0 to 99"),
        ({"dataset": 7, "N": 4}, r"N=4: expected a whole number from 1 to 3, the number of points, or null"),
        ({"dataset": 7, "N": 0}, r"N=0: expected a whole number from 1 to 3"),
    ],
)
def test_options_out_of_range(publish: Callable[..., Path], kwargs: dict[str, int], message: str) -> None:
    publish("noparama_lines", {noparama.FILE: LINES})
    with pytest.raises(DataError, match=message):
        noparama.lines(**kwargs)


def test_another_file_than_the_published_one_is_not_read(publish: Callable[..., Path]) -> None:
    path = publish("noparama_lines", {noparama.FILE: LINES}) / noparama.FILE
    path.write_bytes(gzip.compress(LINES.replace("1.5", "1.6").encode()))
    for read in (lambda: noparama.lines(0), lambda: downloads.fetch("noparama_lines")):
        with pytest.raises(DataError, match=r"points.csv.gz: SHA-256 [0-9a-f]{64}; expected [0-9a-f]{64}"):
            read()


def test_the_folder_is_the_users_cache_unless_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for unset in (
        lambda: monkeypatch.delenv(downloads.VARIABLE, raising=False),
        lambda: monkeypatch.setenv("SMCMC_DATA", ""),
    ):
        unset()
        assert downloads.folder().name == "smcmc"
    monkeypatch.setenv(downloads.VARIABLE, str(tmp_path / "here"))
    assert downloads.folder() == tmp_path / "here"


@pytest.mark.parametrize("name", SETS)
def test_every_set_is_described(folder: Path, name: str) -> None:
    text = downloads.describe(name)
    assert "absent" in text and str(folder) in text and "SMCMC_DATA" in text
    for file in SETS[name].files:
        assert file.name in text
        assert file.sha256 is None or (len(file.sha256) == 64 and file.sha256 in text)
    for of in (SETS[name].what, SETS[name].paper, SETS[name].source, SETS[name].terms):
        assert of and of in text
        assert "\n" not in of
    for file in SETS[name].files:
        downloads.place(name).mkdir(exist_ok=True)
        (downloads.place(name) / file.name).touch()
    assert "present" in downloads.describe(name)


@pytest.mark.parametrize("name", ["noparama_lines", "noparama_twogaussians"])
def test_what_has_no_address_says_where_it_comes_from(folder: Path, name: str) -> None:
    with pytest.raises(
        DataError, match=rf"^{name}: .* cannot be downloaded; .*github.com/mrquincle/noparama-datasets"
    ) as info:
        downloads.fetch(name)
    assert str(folder / name) in str(info.value) and str(SETS[name].files[0].sha256) in str(info.value)
    assert not list(folder.iterdir())
