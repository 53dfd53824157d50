"""Clusters without a gap of density between them are joined, draw by draw."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import multivariate_normal

from splitmerge_cli.diagnostics import small_clusters
from splitmerge_cli.diagnostics.partition_losses import by_appearance
from splitmerge_cli.diagnostics.small_clusters import join_clusters


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(54)


def join(x: np.ndarray, labels: np.ndarray, *others: np.ndarray, gap: float = 0.25) -> list[int]:
    """The group of each cluster of `labels`, in a density that is averaged over this partition and others."""
    (joined,) = join_clusters(x, [labels, *others], [gap])
    return [int(joined[0][labels == k][0]) for k in range(labels.max() + 1)]


def _normals(rng: np.random.Generator, distance: float) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat([0, 1], 150)
    return rng.normal(size=(300, 3)) + distance * labels[:, None] * [1, 0, 0], labels


def _lognormal(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One lognormal group, cut by its first column as a mixture of normal distributions cuts it."""
    x = np.exp(rng.normal(size=(400, 2)))
    return x, by_appearance(np.searchsorted([1.0, 3.0], x[:, 0]))


@pytest.mark.parametrize(("distance", "groups"), [(6, [0, 1]), (4, [0, 1]), (1.5, [0, 0])])
def test_normal_groups_are_joined_where_they_have_one_mode(rng, distance, groups) -> None:
    assert join(*_normals(rng, distance)) == groups


def test_the_fall_between_two_normals_is_that_of_their_density() -> None:
    """Equal normals 2 c standard deviations apart fall by log((1 + exp(-2 c^2)) / 2) + c^2 / 2 from mean to middle:
    0.25 nats at about 2.71 standard deviations, 1 nat at about 3.68."""
    shape = ndtri(np.linspace(0, 1, 2002)[1:-1])
    labels = np.repeat([0, 1], len(shape))
    for distance, gap, groups in ((2.6, 0.25, [0, 0]), (2.8, 0.25, [0, 1]), (3.6, 1.0, [0, 0]), (3.8, 1.0, [0, 1])):
        x = np.concatenate([shape, shape + distance])[:, None]
        c = distance / 2
        fall = c**2 / 2 - np.log(2 / (1 + np.exp(-2 * c**2)))
        assert (fall < gap) == (groups == [0, 0])
        assert join(x, labels, gap=gap) == groups


def test_the_density_is_that_of_normal_distributions(rng) -> None:
    roots = rng.normal(size=(3, 2, 2))
    mixture = small_clusters._Normals(
        np.array([0.2, 0.3, 0.5]), rng.normal(size=(3, 2)), roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(2)
    )
    points = rng.normal(size=(50, 2))
    each = zip(mixture.share, mixture.mean, mixture.covariance, strict=True)
    expected = np.log(sum(share * multivariate_normal(*normal).pdf(points) for share, *normal in each))
    np.testing.assert_allclose(mixture.log_density(points) - np.log(2 * np.pi), expected, atol=1e-9)


def test_a_lognormal_group_is_one(rng) -> None:
    x, labels = _lognormal(rng)
    others = [by_appearance(np.searchsorted(cuts, x[:, 0])) for cuts in ([0.7, 2.5], [1.3, 4.0], [2.0])]
    assert labels.max() == 2 and join(x, labels, *others) == [0, 0, 0]


def test_the_path_between_clusters_is_curved() -> None:
    """Two arms of an L, one long in x and one in y: the straight line between their means leaves the data, the
    ridgeline goes by the corner."""
    rng = np.random.default_rng(1)
    long, thin = 2.4 + 2 * rng.normal(size=300), 0.4 * rng.normal(size=300)
    x = np.concatenate([np.stack([long, thin], 1), np.stack([thin, long], 1)])
    assert join(x, np.repeat([0, 1], 300)) == [0, 0]


def test_a_small_cluster_on_the_pass_is_no_bridge(rng) -> None:
    """It rises above none of its passes, so it joins the one side, and the other stays apart."""
    x, labels = _normals(rng, 5)
    x = np.concatenate([x, rng.normal([2.5, 0, 0], 0.7, size=(8, 3))])
    found = join(x, np.r_[labels, np.full(8, 2)])
    assert found[0] != found[1] and found[2] in found[:2]


def test_units_order_and_numbers_change_nothing(rng) -> None:
    far, labels_far = _normals(rng, 6)
    skewed, labels_skewed = _lognormal(rng)
    x = np.concatenate([np.hstack([skewed, rng.normal(size=(400, 1))]), far + 40])
    labels = np.concatenate([labels_skewed, labels_far + 3])
    (expected,) = join_clusters(x, [labels], [0.5])
    assert join(x, labels, gap=0.5) == [0, 0, 0, 1, 2]
    turned = x @ np.array([[2.0, 1, 0], [0, 300, 0], [-1, 0, 0.01]]) + 7
    assert np.array_equal(join_clusters(turned, [labels], [0.5])[0], expected)
    order = rng.permutation(len(x))
    (found,) = join_clusters(x[order], [np.array([3, 0, 4, 1, 2])[labels[order]]], [0.5])
    assert np.array_equal(found[0], by_appearance(expected[0][order]))


def test_the_density_is_averaged_over_draws(rng) -> None:
    """Two halves of one group: the draws that do not cut it decide."""
    x = np.concatenate([rng.uniform(0, 1, size=(200, 1)), rng.uniform(1, 2, size=(200, 1))])
    labels = np.repeat([0, 1], 200)
    assert join(x, labels) == [0, 1]
    assert join(x, labels, 0 * labels, 0 * labels) == [0, 0]


def test_rows_with_missing_cells_stay_with_their_cluster(rng) -> None:
    x, labels = _normals(rng, 1.5)
    x[:40, 1] = np.nan
    assert join(x, labels) == [0, 0]
    # without a complete row there is no density to join by
    x[labels == 1, 2] = np.nan
    assert join(x, labels) == [0, 1]
    x[:, 0] = np.nan
    with pytest.raises(ValueError, match="every row has a missing cell"):
        join(x, labels)


def test_what_has_no_density_is_refused(rng) -> None:
    x, labels = _normals(rng, 6)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        join(np.hstack([x, x[:, :1] + x[:, 1:2]]), labels)
    with pytest.raises(ValueError, match="150 clusters in 3 columns are too many"):
        join_clusters(x, [np.arange(300) // 2] * 20, [0.25])


def test_of_many_clusters_fewer_draws_are_joined(rng, monkeypatch) -> None:
    x, labels = _normals(rng, 6)
    monkeypatch.setattr(small_clusters, "MOST_WORK", 4e5)
    (joined,) = join_clusters(x, [labels] * 60, [0.25])
    assert small_clusters.LEAST_DRAWS <= len(joined) < 60


@pytest.mark.parametrize("seed", range(12))
def test_points_of_ridgelines_that_are_not_looked_at_join_no_clusters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    K, D, gap = int(rng.integers(2, 15)), int(rng.integers(1, 5)), float(rng.choice([0.05, 0.25, 0.9]))
    labels = np.r_[np.arange(K), rng.integers(0, K, 200)].astype(np.int32)
    means = rng.normal(0, rng.choice([1, 2, 5]), (K, D))
    fit = small_clusters._fit(means[labels] + rng.normal(size=(200 + K, D)), labels)
    peaks, passes, pairs = small_clusters._find_passes(fit, fit, gap)
    peaks_of_all, passes_of_all, _ = small_clusters._find_passes(fit, fit, np.inf)
    assert (passes >= passes_of_all - 1e-9).all() and np.array_equal(peaks, peaks_of_all)
    found, expected = (small_clusters._join(peaks, of, pairs, gap) for of in (passes, passes_of_all))
    assert np.array_equal(found, expected)
