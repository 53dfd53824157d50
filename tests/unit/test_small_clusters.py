"""Estimates, memberships and agreement of many small clusters equal those that look at everything."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from splitmerge_cli.diagnostics import agreement, point_estimate, similarity, small_clusters
from splitmerge_cli.diagnostics.partition_losses import ExpectedLoss, by_appearance, check_partitions


def draw_partitions(rng: np.random.Generator, N: int, M: int, moving: float = 0.3) -> NDArray[np.int32]:
    """Partitions that keep near one partition of small clusters."""
    truth = rng.integers(max(1, N // 2), size=N)
    rows = np.tile(truth, (M, 1))
    moved = rng.random((M, N)) < moving
    rows[moved] = rng.integers(N, size=int(moved.sum()))
    return check_partitions(rows)


def count_pairs_by_force(rows: NDArray[np.int32]) -> dict[tuple[int, int], int]:
    N = rows.shape[1]
    counts = {(i, j): int((rows[:, i] == rows[:, j]).sum()) for i in range(N) for j in range(i + 1, N)}
    return {pair: count for pair, count in counts.items() if count}


@pytest.mark.parametrize("seed", range(5))
def test_linked_pairs_are_those_that_share_a_cluster(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    chains = {c: draw_partitions(rng, 12, 5 + c) for c in range(3)}
    monkeypatch.setattr(small_clusters, "_HELD", 3)
    pairs = small_clusters.find_linked_pairs(chains)
    every = count_pairs_by_force(np.concatenate(list(chains.values())))
    assert list(map(tuple, pairs.ends.tolist())) == list(every)
    assert pairs.counts.sum(axis=0).tolist() == list(every.values())
    for c, rows in chains.items():
        own = count_pairs_by_force(rows)
        assert pairs.counts[c].tolist() == [own.get(tuple(pair), 0) for pair in pairs.ends.tolist()]
    means = np.array([pairs.counts[c] / len(rows) for c, rows in chains.items()])
    np.testing.assert_allclose(pairs.standard_error, means.std(axis=0, ddof=1) / np.sqrt(3))
    np.testing.assert_allclose(pairs.spread, means.max(axis=0) - means.min(axis=0))


def test_one_chain_has_no_standard_error() -> None:
    assert np.isnan(small_clusters.find_linked_pairs({0: [[0, 0, 1]]}).standard_error).all()


def test_singletons_have_no_pairs() -> None:
    pairs = small_clusters.find_linked_pairs({0: [[0, 1, 2]]})
    assert pairs.ends.shape == (0, 2) and pairs.components.tolist() == [0, 1, 2]
    assert small_clusters.minimise_by_components([[0, 1, 2]]).labels.tolist() == [0, 1, 2]


def test_large_clusters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_clusters, "MOST_PAIRS", 5)
    with pytest.raises(point_estimate.TooManyClusters, match="clusters are too large to list their 6 pairs"):
        small_clusters.find_linked_pairs({0: [[0, 0, 0, 0]]})


@pytest.mark.parametrize("loss", ["vi", "binder"])
@pytest.mark.parametrize("a", [0.6, 1.0, 1.1])
def test_the_minimum_by_components_is_the_minimum_of_all_partitions(loss: str, a: float) -> None:
    rng = np.random.default_rng(7)
    separated = refused = 0
    for N in (1, 2, 3, 5, 6, 7, 7, 7):
        rows = draw_partitions(rng, N, 6, 0.1)
        estimate = small_clusters.minimise_by_components(rows, loss, a)
        # every partition of the items, not of blocks: nothing of the components is used
        every = ExpectedLoss(check_partitions([*rows, np.arange(N)]), loss, 2**24, a, times=np.array([1] * 6 + [0]))
        linked = (rows[:, :, None] == rows[:, None, :]).any(axis=0)
        allowed = [z for z in point_estimate._all_partitions(N) if linked[z[:, None] == z].all()]
        refused += len(allowed) < len(list(point_estimate._all_partitions(N)))
        least = min(every(by_appearance(labels)[np.argsort(every.block)]) for labels in allowed)
        got = every(estimate.labels[np.argsort(every.block)].astype(np.int64))
        assert got == pytest.approx(least, abs=1e-12)
        assert estimate.expected_loss == pytest.approx(least, abs=1e-12)
        separated += small_clusters.find_linked_pairs({0: rows}).components.max() > 0
    assert separated >= 3 and refused >= 3


def test_components_of_many_items_have_the_minimum_of_each() -> None:
    rng = np.random.default_rng(3)
    parts = [draw_partitions(rng, n, 9) for n in (6, 2, 7, 1, 5)]
    width = np.cumsum([0, *(part.shape[1] for part in parts)])
    joined = np.concatenate([part + 100 * k for k, part in enumerate(parts)], axis=1)
    order = rng.permutation(width[-1])
    whole = small_clusters.minimise_by_components(joined[:, order], "vi", 1.1)
    labels = np.empty(width[-1], dtype=np.int64)
    labels[order] = whole.labels
    for k, part in enumerate(parts):
        own = small_clusters.minimise_by_components(part, "vi", 1.1)
        assert by_appearance(labels[width[k] : width[k + 1]]).tolist() == own.labels.tolist()


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_a_component_of_rare_links_is_cut(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty pairs of items that are nearly always together, and in each partition two of the pairs, by chance, as
    one: a component of all items."""
    rng = np.random.default_rng(11)
    rows = np.tile(np.repeat(np.arange(30), 2), (200, 1))
    for row in rows:
        first, second = rng.choice(30, 2, replace=False)
        row[row == second] = first
        row[rng.integers(60)] = 99
    assert small_clusters.find_linked_pairs({0: rows}).components.max() == 0
    whole = small_clusters.minimise_by_components(rows, loss, 1.1)
    assert whole.labels.tolist() == np.repeat(np.arange(30), 2).tolist()
    monkeypatch.setattr(small_clusters.point_estimate, "MAX_CELLS", 200 * 6**2)
    pieces: list[int] = []
    minimise = small_clusters._minimise
    monkeypatch.setattr(
        small_clusters, "_minimise", lambda *given: pieces.append(given[0].shape[1]) or minimise(*given)
    )
    cut = small_clusters.minimise_by_components(rows, loss, 1.1)
    assert cut.labels.tolist() == whole.labels.tolist() and len(pieces) > 5 and max(pieces) <= 6
    assert cut.expected_loss == pytest.approx(whole.expected_loss, rel=1e-12)


def test_membership_by_pairs_is_membership(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        rows = draw_partitions(rng, int(rng.integers(2, 25)), 6)
        labels = by_appearance(rows[0])
        if labels.max() == 0:
            continue
        expected = similarity.membership(rows, labels)
        with monkeypatch.context() as few:
            few.setattr(similarity, "_MANY_CLUSTERS", 1)
            few.setattr(small_clusters, "count_pairs", lambda row: 0.0)
            few.setattr(similarity, "_CELLS", 10)
            found = similarity.membership(rows, labels)
        np.testing.assert_allclose(found.certainty, expected.certainty, atol=1e-12)
        np.testing.assert_array_equal(found.second, expected.second)
        np.testing.assert_allclose(found.second_probability, expected.second_probability, atol=1e-12)


@pytest.mark.parametrize("few", [3, 6, agreement.FEW_CELLS])
def test_accuracy_by_parts_is_the_best_match(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(few)
    monkeypatch.setattr(agreement, "FEW_CELLS", few)
    for _ in range(100):
        N = int(rng.integers(1, 60))
        a = rng.integers(int(rng.integers(1, 20)), size=N)
        b = np.where(rng.random(N) < 0.4, rng.integers(20, size=N), a)
        table = np.zeros((20, 20))
        np.add.at(table, (a, b), 1)
        assert agreement.accuracy(a, b) == pytest.approx(table[linear_sum_assignment(-table)].sum() / N)


def test_pair_scores() -> None:
    assert agreement.pair_scores([0, 0, 0, 1], [0, 0, 1, 1]) == {"precision": 0.5, "recall": 1 / 3, "f1": 0.4}
    assert agreement.pair_scores([0, 1, 2], [0, 1, 2]) == {"precision": 1.0, "recall": 1.0, "f1": 1.0}


def test_unions_of_clusters_are_named_without_a_table_of_all() -> None:
    # as many clusters as would make a table of 10^10 cells
    one = np.arange(100_000) // 2
    other = one.copy()
    other[other == 7] = 9
    other[:2] = 10**6, 10**6 + 1
    said = agreement.describe_difference(one, other)
    assert said == "clusters of 2 and 2 items of the first are one in the second"
