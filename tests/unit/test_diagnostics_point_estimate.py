"""The point estimate against its definition; against all partitions of few items see `test_diagnostics_uncertainty`."""

import numpy as np
import pytest
from small_cases import noisy, pairs_or_entropies

from splitmerge_cli.diagnostics import partition_losses, point_estimate
from splitmerge_cli.diagnostics.partition_kernels import shared_terms
from splitmerge_cli.diagnostics.partition_losses import distances as distances_between


def vi(a, b):
    """Variation of information."""
    return sum(pairs_or_entropies(a, b, "vi"))


def expected(labels, rows):
    return np.mean([vi(labels, row) for row in rows])


def test_numbers_and_order_do_not_matter():
    rows, _ = noisy(40, 5, 50, seed=2, noise=0.4)
    found = point_estimate.minimise_expected_loss(rows)
    rng = np.random.default_rng(3)
    renamed = np.stack([rng.permutation(100)[row] for row in rows[rng.permutation(len(rows))]])
    again = point_estimate.minimise_expected_loss(renamed)
    np.testing.assert_array_equal(again.labels, found.labels)
    assert again.expected_loss == found.expected_loss
    # a partition that came up twice weighs twice
    doubled = point_estimate.minimise_expected_loss(np.concatenate([rows, rows]))
    np.testing.assert_array_equal(doubled.labels, found.labels)
    assert found.labels.dtype == np.int32
    assert list(dict.fromkeys(found.labels)) == list(range(found.labels.max() + 1))


def test_items_never_separated_move_as_one():
    rows, _ = noisy(12, 3, 40, seed=4, noise=0.4)
    twins = np.repeat(rows, 5, axis=1)
    found = point_estimate.minimise_expected_loss(twins).labels.reshape(12, 5)
    assert (found == found[:, :1]).all()
    # five of each item: the same distances, and so the same partition
    np.testing.assert_array_equal(found[:, 0], point_estimate.minimise_expected_loss(rows).labels)


def test_the_least_posteriors():
    assert point_estimate.minimise_expected_loss([[7]]).labels.tolist() == [0]
    same = point_estimate.minimise_expected_loss([[3, 3, 1, 2]] * 9)
    assert same.labels.tolist() == [0, 0, 1, 2] and same.expected_loss == 0
    assert point_estimate.minimise_expected_loss([[0, 1, 2]]).labels.tolist() == [0, 1, 2]
    # two against one
    two = point_estimate.minimise_expected_loss([[0, 0, 1], [0, 0, 1], [0, 1, 1]])
    assert two.labels.tolist() == [0, 0, 1]
    for empty in ([], [[]], [0, 1]):
        with pytest.raises(ValueError, match=r"labels \[M, N\]"):
            point_estimate.minimise_expected_loss(empty)


@pytest.mark.parametrize("loss", partition_losses.LOSSES)
def test_the_expected_loss_of_many_clusters(loss):
    """Whose intersections make no dense table; partitions of other weights."""
    rows = partition_losses.check_partitions([range(600)] * 3 + [np.arange(600) // 2] + [np.arange(600) // 3] * 2)
    expected_loss = partition_losses.ExpectedLoss(rows, loss, 2**24)
    labels = (np.arange(600) + 1) // 2
    labels[[1, 5]] = labels[[0, 4]]
    labels = np.unique(labels, return_inverse=True)[1]
    assert len(expected_loss.cluster_weight) * (labels.max() + 1) > 4 * max(expected_loss.cluster.size, 2**16)
    assert expected_loss(labels) == pytest.approx(distances_between(labels, rows, loss).mean(), rel=1e-12)


def test_the_first_of_equals_is_taken_and_numbered_by_first_appearance():
    rows = partition_losses.check_partitions([[0, 0], [0, 1]])
    expected_loss = partition_losses.ExpectedLoss(rows, "vi", 2**24)
    tried = [found.copy() for found in point_estimate.candidates(expected_loss, 2**32)]
    least = min(map(expected_loss, tried))
    first = next(found for found in tried if expected_loss(found) < least + 1e-12)
    assert len({tuple(found) for found in tried if expected_loss(found) < least + 1e-12}) > 1
    assert point_estimate.minimise_expected_loss(rows).labels.tolist() == first[expected_loss.block].tolist()
    # blocks are in another order than their items
    assert point_estimate.minimise_expected_loss([[0, 1, 2]] * 3 + [[0, 1, 0]]).labels.tolist() == [0, 1, 2]


def test_few_partitions_that_all_fit_are_enough(monkeypatch):
    monkeypatch.setattr(point_estimate, "MAX_CELLS", 18)
    assert point_estimate.minimise_expected_loss([[0, 1, 2], [0, 1, 1]]).partitions == 2


def test_thinning_is_even():
    assert point_estimate.evenly_spaced(5, 9).tolist() == [0, 1, 2, 3, 4]
    assert point_estimate.evenly_spaced(10, 5).tolist() == [1, 3, 5, 7, 9]
    assert point_estimate.evenly_spaced(7, 3).tolist() == [1, 3, 5]
    assert point_estimate.evenly_spaced(0, 3).tolist() == []
    assert point_estimate.most_partitions(100) == point_estimate.MAX_PARTITIONS
    assert point_estimate.most_partitions(100_000) == 40
    rows, truth = noisy(30, 3, 600, seed=5)
    found = point_estimate.minimise_expected_loss(rows)
    assert found.partitions == point_estimate.MAX_PARTITIONS
    assert vi(found.labels, truth) == pytest.approx(0, abs=1e-12)


def test_a_small_table_thins_and_limits(monkeypatch):
    rows, _ = noisy(60, 4, 100, seed=6, noise=0.5)
    monkeypatch.setattr(point_estimate, "MAX_CELLS", 20 * 4**2)
    found = point_estimate.minimise_expected_loss(rows)
    assert found.partitions == 20
    assert found.labels.max() < 4
    assert found.expected_loss == pytest.approx(
        expected(found.labels, rows[point_estimate.evenly_spaced(100, 20)]), rel=1e-12
    )
    monkeypatch.setattr(point_estimate, "MAX_CELLS", 7 * 4**2)
    with pytest.raises(point_estimate.TooManyClusters, match="4 clusters"):
        point_estimate.minimise_expected_loss(rows)


def test_a_costly_search_makes_fewer_starts(monkeypatch):
    rows, truth = noisy(60, 4, 50, seed=7)
    monkeypatch.setattr(point_estimate, "MAX_WORK", 0)
    assert vi(point_estimate.minimise_expected_loss(rows).labels, truth) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("loss", partition_losses.LOSSES)
def test_the_best_sampled_partition_is_the_one_of_least_expected_loss(loss):
    # few clusters, and so many that cells outnumber items
    for seed, clusters in enumerate((3, 40)):
        rows, _ = noisy(50, clusters, 30, seed, noise=0.5)
        rows = np.concatenate([rows, rows[:5]])
        found = partition_losses.ExpectedLoss(partition_losses.check_partitions(rows), loss, 2**20)
        expected_losses = [distances_between(row, rows, loss).mean() for row in rows]
        best = found.best_sampled()
        assert found(best) == pytest.approx(min(expected_losses), abs=1e-12)
        assert distances_between(best[found.block], rows, loss).mean() == pytest.approx(min(expected_losses), abs=1e-12)


def test_shared_terms_are_their_definition():
    rows = np.array([[0, 0, 1, 2], [0, 1, 1, 0], [0, 0, 0, 0]], dtype=np.int32)
    size, weight = np.array([1, 3, 2, 5]), np.array([0.5, 0.2, 0.3])
    f = np.arange(12.0) ** 2
    table = [[np.bincount(4 * a + b, weights=size).astype(int) for b in rows] for a in rows]
    wanted = [sum(w * f[cells].sum() for w, cells in zip(weight, row, strict=True)) for row in table]
    np.testing.assert_allclose(shared_terms(rows, size, rows.max(axis=1).astype(np.int64) + 1, weight, f), wanted)


@pytest.mark.parametrize("items", [1, 3])
def test_costs_that_are_kept_change_nothing(items, monkeypatch):
    rows, _ = noisy(120, 8, 90, seed=8, noise=0.6)
    rows = np.repeat(rows, items, axis=1)
    for loss in partition_losses.LOSSES:
        kept = point_estimate.minimise_expected_loss(rows, loss)
        with monkeypatch.context() as patch:
            patch.setattr(point_estimate, "MOST_KEPT", 0)
            anew = point_estimate.minimise_expected_loss(rows, loss)
        np.testing.assert_array_equal(kept.labels, anew.labels)
        assert kept.expected_loss == anew.expected_loss


def test_more_items_than_a_small_count_holds():
    # counts of 70,000 items in a cluster need more than 16 bits
    rows = np.zeros((9, 70_000), dtype=np.int32)
    for m, row in enumerate(rows):
        row[65_537 + 300 * m :] = 1
        row[:3] = [0, 1, 0]
    found = point_estimate.minimise_expected_loss(rows)
    assert found.expected_loss == pytest.approx(distances_between(found.labels, rows, "vi").mean(), rel=1e-9)
    assert found.expected_loss <= min(distances_between(row, rows, "vi").mean() for row in rows) + 1e-12
    assert found.labels.max() == 1


def test_pairs_that_no_partition_joins_stay_apart() -> None:
    """Two items that are alike: each partition has one of them with the others, and the other one alone."""
    one, other = [0, 1, *[1] * 8], [1, 0, *[1] * 8]
    joined = point_estimate.minimise_expected_loss([one, other] * 5, "vi", 1.1)
    assert joined.labels[0] == joined.labels[1]
    estimate = point_estimate.minimise_expected_loss(
        [one, other] * 5, "vi", 1.1, apart=np.array([[0, 1]], dtype=np.int32)
    )
    assert estimate.labels[0] != estimate.labels[1] and estimate.expected_loss > joined.expected_loss
