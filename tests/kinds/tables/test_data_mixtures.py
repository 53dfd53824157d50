"""Generators of points: lines and normal clouds, and the partitions that they share."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.values import crp, equal_sizes
from splitmerge_cli.kinds import lines as lines
from splitmerge_cli.kinds.tables.generated import gaussian, mixed

# partitions


def test_crp_of_four_items_has_the_probability_of_the_urn() -> None:
    """All 15 partitions of 4 items against their exact probabilities."""
    N, concentration, draws = 4, 0.7, 40_000
    probability = {}
    for labels in product(range(N), repeat=N):
        if all(label <= max(labels[:i], default=-1) + 1 for i, label in enumerate(labels)):
            p = 1.0
            for i, label in enumerate(labels):
                size = labels[:i].count(label)
                p *= (size or concentration) / (i + concentration)
            probability[labels] = p
    assert len(probability) == 15 and sum(probability.values()) == pytest.approx(1)
    rng = np.random.default_rng(5)
    seen = dict.fromkeys(probability, 0)
    for _ in range(draws):
        seen[tuple(crp(rng, N, concentration).tolist())] += 1
    expected = [draws * p for p in probability.values()]
    assert stats.chisquare(list(seen.values()), expected).pvalue > 0.001


@pytest.mark.parametrize(("concentration", "K"), [(1e-100, 1), (1e100, 300)])
def test_crp_at_its_ends(concentration: float, K: int) -> None:
    labels = crp(np.random.default_rng(0), 300, concentration)
    assert labels.dtype == np.int32 and labels.max() + 1 == K
    assert crp(np.random.default_rng(0), 1, concentration).tolist() == [0]


def test_equal_sizes_differ_by_one_at_most() -> None:
    sizes = np.bincount(equal_sizes(np.random.default_rng(0), 103, 10))
    assert sorted(sizes) == [10] * 7 + [11] * 3


# lines


def along_and_across(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of the points along and across their lines, from the foot of the intercept."""
    intercept, slope = data.meta["parameters"][data.truth].T
    x, y = data.values[:, 0], data.values[:, 1] - intercept
    h = np.hypot(1, slope)
    return (x + slope * y) / h, (y - slope * x) / h


def test_points_are_uniform_along_and_normal_across_their_line() -> None:
    data = lines.generate(20_000, lines=1, length=20.0, noise=0.02, seed=1)
    assert data.values.shape == (20_000, 2) and data.columns == ["x", "y"] and data.kind.name == "points"
    along, across = along_and_across(data)
    assert stats.kstest(along, stats.uniform(along.min(), 20.0).cdf).pvalue > 0.001
    assert stats.kstest(across, stats.norm(0, 0.02).cdf).pvalue > 0.001
    assert abs(np.corrcoef(along, across)[0, 1]) < 0.03


def test_the_defaults_look_like_the_published_sets() -> None:
    """Quantiles of the 100 published sets (5%, 25%, 50%, 75%, 95%) lie where those of 400 generated ones do."""
    published = {
        "angle": [-1.420, -0.780, 0.048, 0.653, 1.386],
        "distance": [-4.318, -1.382, 0.120, 1.725, 4.529],
        "span": [17.605, 19.090, 19.532, 19.753, 19.950],
        "size": [23, 40, 70.5, 115.75, 178.15],
    }
    made: dict[str, list[float]] = {name: [] for name in published}
    number, across = [], []
    for seed in range(400):
        data = lines.generate(seed=seed)
        parameters = data.meta["parameters"]
        number.append(len(parameters))
        made["angle"] += np.arctan(parameters[:, 1]).tolist()
        made["distance"] += (parameters[:, 0] / np.hypot(1, parameters[:, 1])).tolist()
        along, off = along_and_across(data)
        across.append(off.std())
        for k in range(len(parameters)):
            if np.sum(data.truth == k) > 20:
                made["size"].append(np.sum(data.truth == k))
                made["span"].append(np.ptp(along[data.truth == k]))
    assert np.mean(number) == pytest.approx(5.87, abs=0.5) and min(number) >= 1 and max(number) <= 16
    assert np.mean(across) == pytest.approx(0.02, rel=0.01)
    # a tail's quantile of some 200 published lines varies by a few percent of the lines
    for name, quantiles in published.items():
        shares = [np.mean(np.array(made[name]) <= q) for q in quantiles]
        np.testing.assert_allclose(shares, [0.05, 0.25, 0.5, 0.75, 0.95], atol=0.07, err_msg=name)


@pytest.mark.parametrize("sigma0", [0.0, 0.5, 10.0])
def test_lines_of_the_prior_of_the_model(sigma0: float) -> None:
    data = lines.generate(3000, lines=3000, sigma0=sigma0, seed=2)
    parameters = data.meta["parameters"]
    np.testing.assert_allclose(parameters.std(axis=0), sigma0, rtol=0.05)
    assert abs(np.corrcoef(parameters.T)[0, 1]) < 0.06 if sigma0 else not parameters.any()
    along, across = along_and_across(data)
    assert np.abs(along).max() < 10.001 + np.abs(parameters).max() and np.abs(across).max() < 0.1
    assert np.abs(data.values[:, 0]).max() <= 10.1


def test_outliers_fill_a_square_and_are_clusters_of_their_own() -> None:
    data = lines.generate(1000, lines=3, outliers=0.2, seed=4)
    sizes = np.bincount(data.truth)
    assert sorted(sizes)[-3:] == [266, 267, 267] and (sizes == 1).sum() == 200
    stray = data.truth >= 3
    on_line, off = data.values[~stray], data.values[stray]
    side = np.ptp(on_line, axis=0).max()
    centre = (on_line.min(axis=0) + on_line.max(axis=0)) / 2
    assert np.all(np.abs(off - centre) <= side / 2)
    assert stats.kstest((off - centre).ravel() / side + 0.5, "uniform").pvalue > 0.001
    # their places in the table do not tell them
    assert 0.3 < np.flatnonzero(stray).mean() / 1000 < 0.7


@pytest.mark.parametrize("kwargs", [{}, {"lines": 1}, {"outliers": 0.999}, {"sigma0": 1.0}])
def test_one_point(kwargs: dict[str, float]) -> None:
    data = lines.generate(1, **kwargs)
    assert data.values.shape == (1, 2) and data.truth is not None and data.truth.tolist() == [0]


def test_no_noise_and_other_scales() -> None:
    for scale in (1e-12, 1.0, 1e12):
        data = lines.generate(50, lines=2, length=20 * scale, noise=0.0, spread=scale, seed=3)
        _, across = along_and_across(data)
        assert np.abs(across).max() < 1e-12 * scale
        assert 10 * scale < np.ptp(data.values, axis=0).max() < 60 * scale


# normal clouds


def test_normal_clouds_have_their_means_and_spread() -> None:
    data = gaussian(200_000, components=4, D=3, separation=6.0, spread=0.5, seed=1)
    assert data.values.shape == (200_000, 3) and data.values.dtype == np.float64 and data.kind.name == "points"
    means = data.meta["means"]
    assert means.shape == (4, 3)
    for k in range(4):
        points = data.values[data.truth == k] - means[k]
        assert len(points) == 50_000
        np.testing.assert_allclose(points.mean(axis=0), 0, atol=0.015)
        np.testing.assert_allclose(points.std(axis=0), 0.5, rtol=0.02)
        assert stats.kstest(points[:, 0] / 0.5, "norm").pvalue > 0.001


def test_separation_is_counted_in_spreads() -> None:
    means = gaussian(5000, components=5000, D=4, separation=6.0, spread=0.5, seed=1).meta["means"]
    np.testing.assert_allclose(means.std(axis=0), 3.0, rtol=0.05)


# mixed


def test_columns_of_mixed_tables_are_of_their_component() -> None:
    data = mixed(200_000, components=4, binary=1, categorical=2, count=1, real=2, levels=3, missing=0.1, seed=1)
    assert data.types is not None and data.truth is not None and data.columns is not None
    assert [column.type for column in data.types] == ["binary", *["categorical"] * 2, "count", *["real"] * 2]
    assert data.columns == ["binary1", "categorical1", "categorical2", "count1", "real1", "real2"]
    assert [len(column.levels) for column in data.types] == [2, 3, 3, 0, 0, 0]
    missing = np.isnan(data.values)
    np.testing.assert_allclose(missing.mean(axis=0), 0.1, atol=0.005)
    # missing cells say nothing of the component
    np.testing.assert_allclose([missing[data.truth == k].mean() for k in range(4)], 0.1, atol=0.005)
    for k in range(4):
        rows = data.values[data.truth == k]
        np.testing.assert_allclose(np.nanstd(rows[:, 4:], axis=0), 1.0, atol=0.02)
        mean = np.nanmean(rows[:, 3])
        assert np.nanvar(rows[:, 3]) == pytest.approx(mean, rel=0.05)
        # columns are independent within a component
        both = rows[~np.isnan(rows[:, [0, 4]]).any(axis=1)][:, [0, 4]]
        assert abs(np.corrcoef(both.T)[0, 1]) < 0.02
    many = mixed(100_000, components=500, binary=0, categorical=0, count=1, real=1, missing=0.0)
    means = np.array([many.values[many.truth == k].mean(axis=0) for k in range(500)])
    assert np.log(means[:, 0]).std() == pytest.approx(2.0 / 4, rel=0.1)
    assert np.median(means[:, 0]) == pytest.approx(5.0, rel=0.1)
    assert means[:, 1].std() == pytest.approx(2.0, rel=0.1)
    alike = mixed(200_000, components=4, separation=0.0, seed=1)
    for k in range(4):
        np.testing.assert_allclose(
            np.nanmean(alike.values[alike.truth == k], axis=0), np.nanmean(alike.values, axis=0), atol=0.05
        )


def test_all_cells_of_a_mixed_table_may_be_missing() -> None:
    assert np.isnan(mixed(5, missing=1.0).values).all()
    assert np.isfinite(mixed(50, separation=100.0, missing=0.0).values).all()


# both


def test_the_largest_parameters_make_points() -> None:
    largest = {"length": 1e25, "noise": 1e25, "spread": 1e25}
    assert np.isfinite(lines.generate(50, **largest).values).all()
    assert np.isfinite(lines.generate(50, length=1e25, noise=1e25, sigma0=1e25).values).all()
    assert np.isfinite(gaussian(50, separation=1e12, spread=1e15).values).all()
