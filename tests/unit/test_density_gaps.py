"""Groups of clusters without a gap of density between them."""

import numpy as np
import pytest
from scipy.special import ndtri

from splitmerge_cli.diagnostics.density_gaps import density_groups
from splitmerge_cli.diagnostics.partition_losses import by_appearance


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(54)


def _normals(rng: np.random.Generator, distance: float) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat([0, 1], 150)
    return rng.normal(size=(300, 3)) + distance * labels[:, None] * [1, 0, 0], labels


def _lognormal(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One lognormal group, cut by its first column as a mixture of normal distributions cuts it."""
    x = np.exp(rng.normal(size=(400, 2)))
    return x, by_appearance(np.searchsorted([1.0, 3.0], x[:, 0]))


@pytest.mark.parametrize(("distance", "groups"), [(6, [0, 1]), (4, [0, 1]), (1.5, [0, 0])])
def test_normal_groups_are_joined_where_they_have_one_mode(rng, distance, groups) -> None:
    x, labels = _normals(rng, distance)
    assert density_groups(x, labels, [labels]).tolist() == groups


def test_the_fall_between_two_normals_is_that_of_their_density() -> None:
    """Equal normals 2 c standard deviations apart fall by log((1 + exp(-2 c^2)) / 2) + c^2 / 2 from mean to middle:
    0.25 nats at about 2.71 standard deviations."""
    quantiles = np.linspace(0, 1, 2002)[1:-1]
    shape = ndtri(quantiles)
    labels = np.repeat([0, 1], len(shape))
    for distance, groups in ((2.6, [0, 0]), (2.8, [0, 1])):
        x = np.concatenate([shape, shape + distance])[:, None]
        assert density_groups(x, labels, [labels]).tolist() == groups


def test_a_lognormal_group_is_one(rng) -> None:
    x, labels = _lognormal(rng)
    assert labels.max() == 2 and density_groups(x, labels, [labels]).tolist() == [0, 0, 0]


def test_the_path_between_clusters_is_curved() -> None:
    """Two arms of an L, one long in x and one in y: the straight line between their means leaves the data, the
    ridgeline goes by the corner."""
    rng = np.random.default_rng(1)
    long, thin = 2.4 + 2 * rng.normal(size=300), 0.4 * rng.normal(size=300)
    x = np.concatenate([np.stack([long, thin], 1), np.stack([thin, long], 1)])
    labels = np.repeat([0, 1], 300)
    assert density_groups(x, labels, [labels]).tolist() == [0, 0]


def test_units_order_and_numbers_change_nothing(rng) -> None:
    far, labels_far = _normals(rng, 6)
    skewed, labels_skewed = _lognormal(rng)
    x = np.concatenate([np.hstack([skewed, rng.normal(size=(400, 1))]), far + 40])
    labels = np.concatenate([labels_skewed, labels_far + 3])
    expected = [0, 0, 0, 1, 2]
    assert density_groups(x, labels, [labels]).tolist() == expected
    turned = x @ np.array([[2.0, 1, 0], [0, 300, 0], [-1, 0, 0.01]]) + 7
    assert density_groups(turned, labels, [labels]).tolist() == expected
    order = rng.permutation(len(x))
    renumbered = np.array([3, 0, 4, 1, 2])
    found = density_groups(x[order], renumbered[labels[order]], [labels[order]])
    assert by_appearance(found[renumbered]).tolist() == expected


def test_the_density_is_averaged_over_draws(rng) -> None:
    """Two halves of one group: the draws that do not cut it decide."""
    x = np.concatenate([rng.uniform(0, 1, size=(200, 1)), rng.uniform(1, 2, size=(200, 1))])
    labels = np.repeat([0, 1], 200)
    assert density_groups(x, labels, [labels]).tolist() == [0, 1]
    assert density_groups(x, labels, [labels, 0 * labels, 0 * labels]).tolist() == [0, 0]


def test_clusters_that_stand_alone_join_nothing(rng) -> None:
    x, labels = _normals(rng, 1.5)
    assert density_groups(x, labels, [labels], [False, True]).tolist() == [0, 1]
    # one that has no rows left
    assert density_groups(x, 2 * labels, [labels], [False, True, False]).tolist() == [0, 1, 0]


def test_what_has_no_density_is_refused(rng) -> None:
    x, labels = _normals(rng, 6)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        density_groups(np.hstack([x, x[:, :1] + x[:, 1:2]]), labels, [labels])
    with pytest.raises(ValueError, match="300 clusters in 3 columns are too many"):
        density_groups(x, np.arange(300), [labels])
