"""The point estimate against its definition, unequal costs, given numbers of clusters, levels, representatives and
cores: against brute force; against all partitions of few items see also `test_diagnostics_uncertainty`.
"""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_cases import noisy, pairs_or_entropies, partitions_of

from splitmerge_cli.diagnostics import around_estimate, partition_losses, point_estimate
from splitmerge_cli.diagnostics.partition_kernels import shared_terms
from splitmerge_cli.diagnostics.partition_losses import LOSSES, all_distances, by_appearance, by_size, distances
from splitmerge_cli.runs import grouping, summaries

DOCS = Path(__file__).resolve().parents[2] / "docs"


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
    assert expected_loss(labels) == pytest.approx(distances(labels, rows, loss).mean(), rel=1e-12)


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
        expected_losses = [distances(row, rows, loss).mean() for row in rows]
        best = found.best_sampled()
        assert found(best) == pytest.approx(min(expected_losses), abs=1e-12)
        assert distances(best[found.block], rows, loss).mean() == pytest.approx(min(expected_losses), abs=1e-12)


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
    assert found.expected_loss == pytest.approx(distances(found.labels, rows, "vi").mean(), rel=1e-9)
    assert found.expected_loss <= min(distances(row, rows, "vi").mean() for row in rows) + 1e-12
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


# ---- Unequal costs, and what is around the estimate.


def draw_near(n, rng, draws=60):
    """Draws near one partition of `n` items."""
    rows = partitions_of(n)
    weights = np.exp(-rng.uniform(2, 8) * distances(rows[rng.integers(len(rows))], rows))
    return rows[rng.choice(len(rows), size=draws, p=weights / weights.sum())]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("a", [0.4, 1.0, 1.25, 1.7])
def test_unequal_costs_and_given_numbers_of_clusters(loss, a, monkeypatch) -> None:
    """The least of all partitions that join what all draws join, by the definition of the loss."""
    rng = np.random.default_rng(int(10 * a))
    for n in (5, 6):
        rows, draws = partitions_of(n), draw_near(n, rng)
        found, at = np.unique(draws, axis=0, return_counts=True)
        errors = np.array([[pairs_or_entropies(row, one, loss) for one in found] for row in rows])
        expected = ((a * errors[:, :, 0] + (2 - a) * errors[:, :, 1]) * at).sum(axis=1) / at.sum()
        K = rows.max(axis=1) + 1
        sampled = np.unique(draws.max(axis=1) + 1)
        # those of all draws are the blocks
        together = (draws[:, :, None] == draws[:, None, :]).all(axis=0)
        joins = np.array([(row[:, None] == row)[together].all() for row in rows])
        for clusters in (None, (sampled[0], sampled[0]), (sampled[-1], n), (sampled[0], sampled[-1])):
            allowed = joins if clusters is None else joins & (clusters[0] <= K) & (clusters[1] >= K)
            for few in (0, point_estimate.FEW):
                monkeypatch.setattr(point_estimate, "FEW", few)
                best = point_estimate.minimise_expected_loss(draws, loss, a, clusters)
                at_best = (rows == best.labels).all(axis=1)
                assert allowed[at_best].item()
                assert best.expected_loss == pytest.approx(expected[at_best].item(), abs=1e-10)
                # single moves may end at another minimum where the number of clusters is given
                slack = 1e-10 if few or clusters is None else 0.2
                assert best.expected_loss <= expected[allowed].min() + slack
    with pytest.raises(ValueError, match=r"a=2\.5: expected from 0 to 2"):
        point_estimate.minimise_expected_loss(draws, loss, 2.5)
    with pytest.raises(ValueError, match="expected some between"):
        point_estimate.minimise_expected_loss(draws, loss, a, (n + 1, n + 2))


def test_the_estimate_of_a_run_has_as_many_clusters_as_the_posterior() -> None:
    """Independent draws of items whose joining costs least: one cluster, which no draw has."""
    rng = np.random.default_rng(3)
    true = rng.integers(6, size=200)
    draws = np.where(rng.random((100, 200)) < 0.6, rng.integers(8, size=(100, 200)), true)
    low, high = point_estimate.interval_of_counts([len(set(row)) for row in draws.tolist()])
    assert point_estimate.minimise_expected_loss(draws).n_clusters < low
    found = point_estimate.estimate_partition(draws)
    assert low <= found.n_clusters <= high
    # most draws have eight clusters of more than three items, and so has the estimate
    assert np.bincount(found.labels).min() > 3 and found.n_clusters == 8
    # an estimate that lies within is the least of all
    clear = np.where(rng.random((100, 200)) < 0.02, rng.integers(6, size=(100, 200)), true)
    least = point_estimate.minimise_expected_loss(clear, a=point_estimate.COST).labels
    found = point_estimate.estimate_partition(clear).labels
    assert by_appearance(found).tolist() == least.tolist()
    # numbered by size
    assert (np.diff(np.bincount(found)) <= 0).all()


@pytest.mark.parametrize(("K", "said"), [(1, "joining these costs less"), (9, "would be separated"), (4, "")])
def test_a_number_outside_the_interval_is_said_with_why(K, said) -> None:
    estimate = {"n_clusters": 4, "expected_vi": 0.5, "partitions": 9}
    summary = {"chains": 4, "point_estimate": estimate, "least_expected_vi": {"n_clusters": K}}
    first, *lines = summaries.describe_interval((3, 5), summary)
    assert first == "95 % interval of the number of clusters: 3 to 5 (second halves of 4 chains)"
    # one number: of clusters and outliers, or of clusters
    sizes = summary | {"point_estimate": estimate | {"labels": [0] * 60 + [1] * 60 + [2, 2, 3]}}
    sizes["as_the_estimate"] = 0.5
    named = first.replace("clusters:", "clusters and outliers:")
    assert next(summaries.describe_interval((3, 5), sizes)) == f"{named}; 50% of the draws have 4, as the estimate"
    apart, named = sizes | {"outliers_apart": True}, first.replace("clusters:", "clusters without outliers:")
    assert (
        next(summaries.describe_interval((2, 5), apart))
        == f"{named.replace('3 to', '2 to')}; 50% of the draws have 2, as the estimate"
    )
    line = next(summaries.describe_interval((3, 5), summary | {"as_the_estimate": 0.62}))
    assert line == f"{first}; 62% of the draws have 4, as the estimate"
    line = next(summaries.describe_interval((4, 4), summary | {"as_the_estimate": 0.996}))
    assert line == "number of clusters: 4 in more than 99% of the draws (second halves of 4 chains)"
    assert len(lines) == bool(said)
    # an estimate of entities is not bound to the interval
    outside = [*summaries.describe_interval((5, 6), summary)][1:]
    assert "the estimate has 4 clusters, outside" in outside[0] and "best within" not in "".join(outside)
    assert not said or "the estimate is the best within the interval" in lines[0]
    assert not said or (f"has {K} cluster" in lines[0] and said in lines[0])


@pytest.mark.parametrize("K", [2, 3, 5, 6])
@pytest.mark.parametrize("averages", [True, False])
def test_an_estimate_outside_the_interval_is_said_with_why(K, averages) -> None:
    chosen = {"n_clusters": K} | ({"expected_vi": 0.5, "partitions": 9} if averages else {})
    summary = {"chains": 1, "point_estimate": chosen, "least_expected_vi": None}
    first, *lines = summaries.describe_interval((3, 5), summary, "topic")
    assert first.endswith("(second halves of 1 chain)")
    assert len(lines) == (K not in (3, 5))
    why = "too few of them have as many topics" if averages else "the state of highest log joint density"
    assert not lines or (f"the estimate has {K} topics, outside" in lines[0] and why in lines[0])


def test_the_estimate_keeps_to_the_interval_of_all_draws_where_some_partition_does() -> None:
    rng = np.random.default_rng(3)
    true = rng.integers(6, size=200)
    draws = np.where(rng.random((100, 200)) < 0.6, rng.integers(8, size=(100, 200)), true)
    K = draws.max(axis=1) + 1
    for k in np.unique(K).tolist():
        assert point_estimate.estimate_partition(draws, interval=(k, k)).n_clusters == k
    elsewhere = point_estimate.estimate_partition(draws, interval=(20, 30))
    assert elsewhere.labels.tolist() == point_estimate.estimate_partition(draws).labels.tolist()


@pytest.mark.parametrize("loss", LOSSES)
def test_levels_merge_the_pair_of_least_expected_loss(loss) -> None:
    rng = np.random.default_rng(5)
    true = rng.integers(6, size=30)
    draws = np.where(rng.random((50, 30)) < 0.3, rng.integers(8, size=(50, 30)), true)
    levels = around_estimate.merge_clusters(true, draws, loss)
    assert levels.n_clusters == 6
    for j, k in enumerate(range(6, 0, -1)):
        labels = levels.cut(k)
        assert labels.max() + 1 == k
        assert levels.expected_loss[j] == pytest.approx(distances(labels, draws, loss).mean(), abs=1e-10)
        if k > 1:
            merged = [np.where(labels == b, a, labels) for a, b in itertools.combinations(range(k), 2)]
            each = [distances(one, draws, loss).mean() for one in merged]
            assert levels.expected_loss[j + 1] == pytest.approx(min(each), abs=1e-10)
    for wrong in (0, 7):
        with pytest.raises(ValueError, match="expected from 1 to 6"):
            levels.cut(wrong)


def test_representatives_beside_all_pairs_of_partitions() -> None:
    rows, rng = partitions_of(5), np.random.default_rng(0)
    near, ratios = all_distances(rows, rows), []
    for _ in range(6):
        centres = near[rng.choice(52, size=2, replace=False)].min(axis=0)
        weights = np.exp(-4 * centres)
        draws = rows[rng.choice(52, size=80, p=weights / weights.sum())]
        best = min(np.minimum(*pair).mean() for pair in itertools.combinations(all_distances(rows, draws), 2))
        found = around_estimate.representatives(draws, 2)
        of = all_distances([one.labels for one in found], draws).min(axis=0)
        assert sum(one.weight * one.expected_loss for one in found) == pytest.approx(of.mean())
        assert sum(one.weight for one in found) == pytest.approx(1)
        assert found[0].weight >= found[-1].weight
        ratios.append(of.mean() / best)
    assert min(ratios) > 1 - 1e-9 and np.median(ratios) < 1 + 1e-9 and max(ratios) < 1.05
    one = around_estimate.representatives(draws, 1)
    least = by_size(point_estimate.minimise_expected_loss(draws).labels)
    assert one[0].labels.tolist() == least.tolist() and one[0].weight == 1
    # the largest cluster is number 0, wherever it begins
    assert around_estimate.representatives([[0, 1, 1, 1]], 1)[0].labels.tolist() == [1, 0, 0, 0]
    # no more than there are
    assert len(around_estimate.representatives([[0, 0, 1]] * 5, 3)) == 1
    with pytest.raises(ValueError, match="answers=0"):
        around_estimate.representatives(draws, 0)


@pytest.mark.parametrize("loss", LOSSES)
def test_representatives_are_better_than_any_draw(loss) -> None:
    """Two partitions of eight items, of which every draw has one item apart: the best two are none of the draws."""
    centres = np.array([[0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1]])
    draws = np.repeat(centres, 8, axis=0)
    draws[np.arange(16), np.tile(np.arange(8), 2)] = 2
    found = around_estimate.representatives(draws, 2, loss)
    assert sorted(one.labels.tolist() for one in found) == centres.tolist()
    pairs = itertools.combinations(all_distances(draws, draws, loss), 2)
    reached = sum(one.weight * one.expected_loss for one in found)
    assert reached < 0.8 * min(np.minimum(*pair).mean() for pair in pairs)


def share_that_agrees(draws, items):
    cut = np.stack([by_appearance(row[items]) for row in draws])
    found, at = np.unique(cut, axis=0, return_counts=True)
    return found[at.argmax()], at.max() / len(draws)


@pytest.mark.parametrize("level", [0.95, 0.7])
def test_no_core_of_that_level_has_more_items(level) -> None:
    rng = np.random.default_rng(7)
    for n in (5, 6, 7):
        for _ in range(4):
            draws = draw_near(n, rng)
            core = around_estimate.find_item_core(draws, level)
            inside = np.flatnonzero(core.labels >= 0)
            labels, share = share_that_agrees(draws, inside)
            assert core.labels[inside].tolist() == labels.tolist()
            assert core.probability == pytest.approx(share) and share >= level
            larger = itertools.combinations(range(n), core.n_items + 1)
            assert all(share_that_agrees(draws, list(items))[1] < level for items in larger)
    with pytest.raises(ValueError, match=r"core=1\.5: expected above 0"):
        around_estimate.find_item_core(draws, 1.5)


@pytest.mark.parametrize("seed", [7, 15, 29, 33])
def test_a_core_is_looked_for_from_many_starts(seed) -> None:
    """Draws without structure, where most starts end in a smaller core than the best of all sets of items."""
    draws = np.random.default_rng(seed).integers(3, size=(20, 8))
    sizes = [n for n in range(1, 9) for items in itertools.combinations(range(8), n)
             if share_that_agrees(draws, list(items))[1] >= 0.3]  # fmt: skip
    assert around_estimate.find_item_core(draws, 0.3).n_items == max(sizes)


def test_what_is_averaged_is_what_counts() -> None:
    rows = np.zeros((400, 3), dtype=int)
    rows[:, 2] = np.arange(400) % 2
    assert len(point_estimate.thin_partitions(rows)) == 256 and point_estimate.interval_of_counts([1, 2] * 200) == (
        1,
        2,
    )


def test_the_page_has_the_measured_table_and_the_rule_that_it_chooses() -> None:
    measured = pd.read_csv(DOCS / "estimates.csv")
    whole, page = measured[measured["data"] == "all"], (DOCS / "how-many.md").read_text(encoding="utf-8")
    for row in whole.itertuples():
        assert f"| {row.loss} | {row.a:g} | " in page and f" | {row.true_K:.3f} | {row.off:.2f} | " in page
    kept = whole[whole["ari_change"] >= -whole["ari_error"]]
    best = kept.loc[kept["true_K"].idxmax()]
    assert (best["loss"], best["a"], best["clusters"]) == ("vi", point_estimate.COST, "interval")
    sets = measured.groupby("data")["sets"].first()
    assert sets.pop("all") == sets.sum() and f"{sets.sum()} of these 300 runs converged" in page


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gaussian", ("row", "cluster")),
        ("bernoulli", ("row", "cluster")),
        ("irm", ("node", "cluster")),
        ("records", ("record", "entity")),
        ("hdp", ("token", "topic")),
        ("emm", ("token", "cluster")),
        ("not_at_hand", ("item", "cluster")),
    ],
)
def test_items_and_clusters_have_the_data_s_own_words(model: str, words: tuple[str, str]) -> None:
    assert grouping.nouns({"model": model, "N": 3}) == words
    assert grouping.describe_rows({"model": model, "N": 3}) == f"3 {words[0]}s"
    units = {"model": model, "N": 3, "bundles": {"units": True, "items": 2}}
    assert grouping.nouns(units) == ("unit", words[1]) and grouping.describe_rows(units) == "2 units (3 rows)"


@pytest.mark.parametrize(
    ("sizes", "words"),
    [((60, 40, 1), "2 clusters and 1 outlier"), ((60, 3, 2), "1 cluster and 5 outliers"), ((2, 1), "2 clusters")],
)
def test_outliers_are_counted_apart(sizes: tuple[int, ...], words: str) -> None:
    assert grouping.count_listed(np.repeat(np.arange(len(sizes)), sizes)) == words
