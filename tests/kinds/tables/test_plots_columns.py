"""Pictures of many columns: the columns they choose, directions, places of text."""

import doctest
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from splitmerge_cli.analysis.plots import style as writing
from splitmerge_cli.analysis.plots.style import COLOURS, MARKERS, shorten_names, style_of, write_apart
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.cluster_table import describe_clusters as summarise
from splitmerge_cli.kinds.tables.columns import statistics
from splitmerge_cli.kinds.tables.plots import columns
from splitmerge_cli.kinds.tables.plots.columns import Found, choose_columns, evenly, rows_of, standardise


def find_clusters(x: np.ndarray, labels: np.ndarray) -> Found:
    dataset = Dataset("own", "points", x, columns=[f"c{j}" for j in range(x.shape[1])])
    none = np.zeros(len(x), dtype=bool)
    looks = {int(k): style_of(int(k)) for k in np.unique(labels)}
    return Found(dataset, statistics(dataset, labels), np.arange(len(x)), labels, none, none, looks, list("123"))


def test_the_columns_are_those_that_the_summary_names() -> None:
    """First the one that it names first of each cluster, the largest cluster first; a constant one never."""
    rng = np.random.default_rng(0)
    z = np.repeat([0, 1, 2], [140, 100, 60])
    x = rng.normal(size=(300, 6)) + 5.0 * np.eye(3, 6, k=1)[z]
    x[:, 5] = 1.0
    found = find_clusters(x, z)
    named = [text.split(" = ")[0] for text in summarise(found.dataset, z)["telling"]]
    assert [f"c{j}" for j in choose_columns(found)[:3]] == named == ["c1", "c2", "c3"]
    assert len(choose_columns(found)) == 4 and 5 not in choose_columns(found)
    # rows of the map of means, too
    assert {f"c{j}" for j in rows_of(found.known, np.arange(3), most_rows=3)} == set(named)


def test_rows_alone_are_grey_in_the_histograms_as_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.repeat([0, 1, 2], [40, 30, 1])
    found = find_clusters(np.random.default_rng(0).normal(size=(71, 2)) + labels[:, None] * 4.0, labels)
    monkeypatch.setattr(Found, "from_run", lambda run: replace(found, alone=labels == 2))
    monkeypatch.setattr(columns, "subject", str)
    monkeypatch.setattr(columns, "state_of", lambda run: "")
    figure = columns.pairs("a run")
    bars = {to_hex(bar.get_facecolor()) for bar in figure.axes[0].patches}
    assert bars == {to_hex(colour) for colour in (*COLOURS[:2], writing.ALONE)}
    plt.close(figure)


def test_directions_are_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    x, z = load_iris(return_X_y=True)
    features, names = standardise(find_clusters(x, z))
    assert names == ["c0", "c1", "c2", "c3"]
    pca = PCA(2).fit(features)
    mine = columns.principal(features)
    np.testing.assert_allclose(mine.shares, pca.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(mine.places), np.abs(pca.transform(features)), atol=1e-9)
    np.testing.assert_allclose(
        mine.loadings[0], [np.corrcoef(mine.places[:, 0], column)[0, 1] for column in features.T]
    )
    monkeypatch.setattr(columns, "SHRINKAGE", 0.0)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(features, z)
    found = columns.discriminating(features, z)
    np.testing.assert_allclose(found.shares, lda.explained_variance_ratio_, rtol=1e-6)
    theirs = lda.transform(features)
    for axis in range(2):
        assert abs(np.corrcoef(found.places[:, axis], theirs[:, axis])[0, 1]) > 0.999999


def test_two_clusters_have_one_direction_that_separates() -> None:
    rng = np.random.default_rng(3)
    z = np.arange(100) % 2
    x = rng.normal(size=(100, 5))
    x[:, 2] += 8 * z
    found = columns.discriminating(x, z)
    assert found.shares.tolist() == [1.0, 0.0]
    assert abs(np.corrcoef(found.places[:, 0], z)[0, 1]) > 0.9
    assert abs(np.corrcoef(found.places[:, 1], z)[0, 1]) < 0.3


def test_rows_are_ordered_by_the_cluster_in_which_they_are_highest() -> None:
    rng = np.random.default_rng(4)
    z = np.arange(120) % 3
    x = rng.normal(size=(120, 6)) + 4 * (np.arange(6) % 3 == z[:, None])
    known = statistics(Dataset("own", "points", x), z)
    rows = rows_of(known, np.array([2, 0, 1]))
    assert [int(f) % 3 for f in rows] == [2, 2, 0, 0, 1, 1]
    assert len(rows_of(known, np.array([2, 0, 1]), most_rows=4)) == 4


def test_names_that_are_alike_are_told_apart() -> None:
    assert not doctest.testmod(writing).failed
    assert shorten_names(["a", "b"], 5) == ["a", "b"]
    assert shorten_names(["a long name"], 8) == ["a lon…me"]
    levels = ["q4=strongly agree", "q4=strongly disagree", "q4=agree"]
    assert shorten_names(levels, 17) == ["q4=strongly agree", "q4=strongly disa…", "q4=agree"]
    assert shorten_names(["measurement at site 1", "x", "measurement at site 2"], 12) == [
        "measurem…e 1",
        "x",
        "measurem…e 2",
    ]
    same = shorten_names(["petal length in cm", "petal width in cm", "petal"], 12)
    assert len(set(same)) == 3 and max(map(len, same)) <= 12


@pytest.mark.parametrize("marks", [0.0, 5.0])
def test_no_text_covers_another(marks: float) -> None:
    figure, ax = plt.subplots(figsize=(3, 3))
    places = np.random.default_rng(5).random((40, 2))
    ax.set(xlim=(0, 1), ylim=(0, 1))
    figure.canvas.draw()
    written = write_apart(ax, places, [f"name {k}" for k in range(40)], range(40), offset=3.0, marks=marks)
    boxes = [text.get_window_extent() for text in ax.texts]
    assert 3 < len(written) == len(boxes) < 40
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[k + 1 :])
    if marks:
        pixels = ax.transData.transform(places)
        assert not any(box.contains(*pixel) for box in boxes for pixel in pixels)
    plt.close(figure)


def test_styles_differ_in_colour_and_marker() -> None:
    styles = [style_of(k) for k in range(len(COLOURS) * len(MARKERS))]
    assert len(set(styles)) == len(styles)
    assert len({marker for _, marker in styles[:6]}) == 6


def test_evenly() -> None:
    assert evenly(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert len(evenly(10_001, 5_000)) <= 5_000
