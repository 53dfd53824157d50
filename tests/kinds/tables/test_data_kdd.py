"""The data of Luo & Shrivastava 2018: S1 to S3, many clusters of uneven size, and the reader of the published file."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from splitmerge_cli import runs
from splitmerge_cli.config import compose
from splitmerge_cli.data import downloads
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.tables import generated
from splitmerge_cli.kinds.tables.generated import gaussian, kdd_like, uneven_sizes
from splitmerge_cli.received import DataError

# generated


def test_kdd_like_has_the_size_of_the_published_set() -> None:
    data = kdd_like()
    assert data.kind.name == "points" and data.values.shape == (145_751, 74) and data.values.dtype == np.float64
    assert data.truth is not None and data.truth.dtype == np.int32
    sizes = np.sort(np.bincount(data.truth))[::-1]
    assert len(sizes) == 2000 and sizes[0] / sizes[-1] > 1000 and sizes[-1] == 9
    # every column has a scale of its own, from 1 to 1,000
    spread = data.values.std(axis=0)
    assert len(set(spread)) == 74 and spread.max() / spread.min() > 100
    np.testing.assert_allclose(spread / data.meta["column_scales"], np.sqrt(1 + 13 / 12), rtol=0.3)
    for k in (0, 1):
        points = data.values[data.truth == k] / data.meta["column_scales"] - data.meta["means"][k]
        points /= data.meta["deviations"][k]
        assert stats.kstest(points.ravel(), "norm").pvalue > 0.001


def test_fewer_points_are_the_first_of_the_same_data() -> None:
    few, more = kdd_like(200), kdd_like(3000)
    assert np.array_equal(few.values, more.values[:200]) and np.array_equal(few.truth, more.truth[:200])
    for data in (few, more):
        K = len(np.unique(data.truth))
        assert data.truth.max() + 1 == K == len(data.meta["means"]) == len(data.meta["deviations"]) < 2000
    assert kdd_like(1).truth.tolist() == [0]


@pytest.mark.parametrize(
    ("N", "K", "exponent", "sizes"),
    [
        (7, 7, 1.0, [1] * 7),
        (12, 3, 0.0, [4, 4, 4]),
        (14, 3, 1.0, [7, 4, 3]),
        (1000, 3, 10.0, [997, 2, 1]),
        (5, 1, 1.0, [5]),
    ],
)
def test_uneven_sizes(N: int, K: int, exponent: float, sizes: list[int]) -> None:
    assert uneven_sizes(N, K, exponent).tolist() == sizes


@pytest.mark.parametrize(
    "generate",
    [
        lambda **kwargs: kdd_like(70_000, components=30, D=3, **kwargs),
        lambda **kwargs: gaussian(70_000, D=3, spreads=[0.5, 1.5], sizes="crp", **kwargs),
    ],
)
def test_points_of_half_the_memory_are_the_same(generate: Callable[..., Dataset]) -> None:
    double, single = generate(), generate(dtype="float32")
    assert double.values.dtype == np.float64 and single.values.dtype == np.float32
    assert np.array_equal(double.truth, single.truth)
    assert np.array_equal(double.meta["deviations"], single.meta["deviations"])
    np.testing.assert_allclose(single.values, double.values, rtol=1e-5, atol=1e-6 * np.abs(double.values).max())


# S1 to S3


def test_spreads_of_components() -> None:
    data = gaussian(100_000, components=5, D=4, separation=3.0, spread=2.0, spreads=[0.5, 1.5], seed=2)
    deviations = data.meta["deviations"]
    assert len(set(deviations)) == 5 and (deviations >= 0.5).all() and (deviations <= 1.5).all()
    for k in range(5):
        points = data.values[data.truth == k]
        np.testing.assert_allclose(points.std(axis=0), deviations[k], rtol=0.03)
    # the unit of the distances stays `spread`
    means = [gaussian(500, 500, 4, 3.0, 2.0, spreads).meta["means"] for spreads in (None, [0.5, 1.5])]
    assert np.array_equal(*means)


@pytest.mark.parametrize(("name", "N"), [("s1", 100), ("s2", 1000), ("s3", 10_000)])
def test_the_named_sets_of_paper_001(name: str, N: int) -> None:
    cfg = compose([f"data={name}"])
    assert cfg.N == N and cfg.model.name == "gaussian"
    data = runs.prepare(cfg).dataset
    assert data.values.shape == (N, 25) and np.bincount(data.truth).tolist() == [N // 10] * 10
    assert len(set(data.meta["deviations"])) == 10
    assert compose([f"data={name}", "N=50"]).data.options["N"] == 50


def test_the_defaults_are_the_data_they_always_were() -> None:
    data = gaussian(4, components=2, seed=0)
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.arange(4) % 2)
    means = 5.0 * rng.standard_normal((2, 2))
    assert np.array_equal(data.truth, truth)
    assert np.array_equal(data.values, rng.standard_normal((4, 2)) + means[truth])


# the published set

ROW = " ".join(f"{d / 4 - 3:.2f}" for d in range(generated.FEATURES))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the file belongs, for a set of three rows."""
    monkeypatch.setenv(downloads.VARIABLE, str(tmp_path))
    monkeypatch.setattr(generated, "ROWS", 3)
    (tmp_path / "kddcup04bio").mkdir()
    return tmp_path / "kddcup04bio" / generated.FILE


@pytest.mark.parametrize(
    "text",
    [
        f"{ROW}\n{ROW.replace('-3.00', '7')}\n{ROW}\n",
        f"  {ROW} \r\n{ROW.replace('-3.00', '7').replace(' ', '   ')}\r\n{ROW}",
        f"1\t2\t0\t{ROW}\n1\t3\t1\t{ROW.replace('-3.00', '7')}\n2 4 ? {ROW}\n".replace(" ", "\t"),
    ],
    ids=["plain", "spaces", "original"],
)
def test_the_published_file(place: Path, text: str) -> None:
    place.write_text(text)
    data = generated.kddcup04bio()
    assert data.kind.name == "points" and data.values.shape == (3, 74) and data.values.dtype == np.float64
    assert data.truth is None and "no labels" in data.meta["truth"]
    assert data.values[:, 0].tolist() == [-3, 7, -3]
    # columns that are constant are data like others
    assert data.values[:, 1:].tolist() == [[d / 4 - 3 for d in range(1, 74)]] * 3
    assert np.array_equal(generated.kddcup04bio(2).values, data.values[:2])


def test_the_published_file_is_said_to_be_unverified(place: Path) -> None:
    place.write_text(f"{ROW}\n" * 3)
    seen = downloads.sha256_of(place)
    said = f"{place}: unverified: no source states its SHA-256; "
    assert generated.kddcup04bio().notes == [f"{said}none was recorded, it has {seen}"]
    (place.parent / downloads.SUMS).write_text(f"{seen}  {generated.FILE}\n")
    assert generated.kddcup04bio().notes == [f"{said}{seen} was recorded when it was fetched"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{ROW}\n{ROW}\n", "2 rows; expected 3, as in the published set"),
        (f"{ROW}\n" * 4, "4 rows; expected 3"),
        (f"{ROW}\n{ROW}\n{ROW} 1\n", "row 3: cells: 75; expected 74, as in row 1"),
        (f"{ROW}\n\n{ROW}\n", "row 2, column 1: an empty cell; expected a number"),
        (f"{ROW}\n{ROW[:-6]}\n{ROW}\n", "row 2: cells: 73; expected 74"),
        (f"{ROW} 1\n" * 3, "row 1: cells: 75; expected 74, or 77 in the original file"),
        ("<html>\n", "row 1: cells: 1; expected 74, or 77"),
        (f"{ROW}\n{ROW}\n{ROW}".replace("15.25", "nan"), "row 1, column 74: 'nan'; expected a number"),
        (f"{ROW}\n{ROW.replace('-2.75', 'x')}\n{ROW}", r"row 2, column 2: 'x'; expected a number of magnitude 1e\+30"),
        (f"{ROW}\n{ROW.replace('-2.75', '?')}\n{ROW}", r"row 2, column 2: '\?'; expected a number"),
        (f"{ROW}\n{ROW.replace('-2.75', '1e31')}\n{ROW}", "row 2, column 2: '1e31'; expected a number of magnitude"),
        (f"{ROW}\n{ROW.replace('-2.75', '1,5')}\n{ROW}", "row 2, column 2: '1,5'; expected a number"),
        (f"1 2 0 {ROW}\n1 3 1 {ROW}\n1 4 0 {ROW.replace('-3.00', 'x')}", "row 3, column 4: 'x'; expected a number"),
        ("", "the file is empty"),
    ],
)
def test_what_is_refused(place: Path, text: str, message: str) -> None:
    place.write_text(text)
    with pytest.raises(DataError, match=rf"{generated.FILE}: {message}"):
        generated.kddcup04bio()


@pytest.mark.parametrize("N", [0, 4, -1])
def test_more_rows_than_there_are(place: Path, N: int) -> None:
    place.write_text(f"{ROW}\n" * 3)
    with pytest.raises(DataError, match=rf"^N={N}: expected a whole number from 1 to 3, the number of rows, or null"):
        generated.kddcup04bio(N)
