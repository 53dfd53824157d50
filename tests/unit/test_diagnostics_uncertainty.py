"""Losses of partitions, co-clustering and credible balls, against their definitions and all partitions of few items."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from small_cases import noisy, partitions_of

from splitmerge_cli.diagnostics import around_estimate, mixing, partition_losses, point_estimate, similarity, summary
from splitmerge_cli.diagnostics.convergence import ONE_CHAIN, convergence
from splitmerge_cli.diagnostics.partition_losses import LOSSES, by_appearance, check_partitions, distances
from splitmerge_cli.diagnostics.point_estimate import minimise_expected_loss, most_partitions
from splitmerge_cli.runs import answers, recorders


def f_of(loss):
    return (lambda n: n * np.log(np.maximum(n, 1))) if loss == "vi" else (lambda n: n * (n - 1) / 2)


def plain_distances(rows, loss):
    """Between all pairs of partitions, by tables of intersections: [B, B]."""
    n = rows.shape[1]
    hot = (rows[:, None, :] == np.arange(n)[:, None]).astype(float)
    f, scale = f_of(loss), n if loss == "vi" else max(1, n * (n - 1) / 2)
    shared = np.stack([f(np.einsum("kn,bln->bkl", one, hot)).sum(axis=(1, 2)) for one in hot])
    sizes = f(hot.sum(axis=2)).sum(axis=1)
    return np.maximum(0, sizes[:, None] + sizes - 2 * shared) / scale


# ---- losses


@pytest.mark.parametrize("loss", LOSSES)
def test_distances_are_those_of_the_tables(loss):
    rows = partitions_of(6)
    whole = plain_distances(rows, loss)
    for at in range(0, len(rows), 17):
        np.testing.assert_allclose(distances(rows[at] + 5, rows, loss), whole[at], atol=1e-12)
    # many clusters: without a table of all cells
    rng = np.random.default_rng(2)
    a, b = rng.permutation(400), rng.integers(300, size=400)
    small = distances(a, [b], loss).item()
    assert small == pytest.approx(distances(b, [a], loss).item(), abs=1e-12)


def test_losses_that_are_none():
    with pytest.raises(ValueError, match="expected one of vi, binder"):
        distances([0], [[0]], "ari")
    with pytest.raises(ValueError, match="loss"):
        minimise_expected_loss([[0, 1]], "rand")
    with pytest.raises(ValueError, match="labels: expected"):
        distances([0, 1], [[0]])
    with pytest.raises(ValueError, match="partitions: expected"):
        distances([0], [0])
    with pytest.raises(ValueError, match="others: expected"):
        partition_losses.all_distances([[0, 1]], [[0]])
    assert distances([0], [[0]], "binder").tolist() == [0.0]
    assert minimise_expected_loss([[0]]).loss == "vi"


@pytest.mark.parametrize("labels", [[0, 1, 0], [1, 0], [0, 2], [3, 3], [0, 1, 3, 2], [-1, 0], [0.5, 2.0]])
def test_numbers_by_appearance(labels):
    found = by_appearance(labels)
    assert list(dict.fromkeys(found.tolist())) == list(range(found.max() + 1))
    assert all((labels[i] == labels[j]) == (found[i] == found[j]) for i in range(len(labels)) for j in range(i))


# ---- the search


def draw_numbers(n, kind, rng, rows, near):
    """Numbers of sampled partitions: a few, many, or those near one."""
    if kind == "near":
        weights = np.exp(-4 * near[rng.integers(len(rows))])
        return rng.choice(len(rows), size=200, p=weights / weights.sum())
    return rng.integers(len(rows), size=5 if kind == "few" else 250)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["few", "many", "near"])
@pytest.mark.parametrize("n", range(1, 8))
def test_the_least_of_all_partitions_is_found(n, kind, loss, monkeypatch):
    """By the search alone, and where all partitions are compared."""
    rows = partitions_of(n)
    d = plain_distances(rows, loss)
    near = d if loss == "vi" else n * d / 2
    rng = np.random.default_rng([n, len(kind)])
    for _ in range(10):
        at = draw_numbers(n, kind, rng, rows, near)
        expected = d[:, at].mean(axis=1)
        with monkeypatch.context() as patch:
            patch.setattr(point_estimate, "FEW", 0)
            found = minimise_expected_loss(rows[at], loss)
        assert found.expected_loss == pytest.approx(expected.min(), abs=1e-10)
        assert found.expected_loss == pytest.approx(distances(found.labels, rows[at], loss).mean(), abs=1e-10)
        assert minimise_expected_loss(rows[at], loss).expected_loss == pytest.approx(expected.min(), abs=1e-10)


# ---- co-clustering


def test_co_clustering_is_its_definition(monkeypatch):
    rows, _ = noisy(30, 4, 50, seed=4)
    whole = (rows[:, :, None] == rows[:, None, :]).mean(axis=0)
    np.testing.assert_allclose(similarity.co_clustering(rows), whole, atol=1e-12)
    monkeypatch.setattr(similarity, "_CELLS", 200)
    np.testing.assert_allclose(similarity.co_clustering(rows), whole, atol=1e-12)
    for cost in (0.0, np.inf):
        # pairs of every partition one by one, or products alone
        monkeypatch.setattr(similarity, "_PAIR_COST", cost)
        np.testing.assert_allclose(similarity.co_clustering(rows), whole, atol=1e-12)
    np.testing.assert_allclose(similarity.co_clustering_rows(rows, [5, 2, 29]), whole[[5, 2, 29]], atol=1e-12)
    # items that are never separated, too
    twins = np.repeat(rows, 2, axis=1)
    np.testing.assert_allclose(similarity.co_clustering(twins), np.kron(whole, np.ones((2, 2))), atol=1e-12)
    monkeypatch.setattr(similarity, "MAX_DENSE", 29)
    with pytest.raises(similarity.TooManyItems, match="30 items"):
        similarity.co_clustering(rows)


@pytest.mark.parametrize(("cells", "few"), [(2**24, 16), (40, 0)])
def test_membership_is_its_definition(monkeypatch, cells, few):
    monkeypatch.setattr(similarity, "_CELLS", cells)
    monkeypatch.setattr(similarity, "_FEW_CELLS", few)
    rows, own = noisy(30, 4, 50, seed=7, noise=0.5)
    own = by_appearance(np.append(own[:-1], 99))  # the last one alone
    whole, N, K = (rows[:, :, None] == rows[:, None, :]).mean(axis=0), 30, own.max() + 1
    found = similarity.membership(rows, own)
    means = np.empty((N, K))
    for i in range(N):
        for k in range(K):
            others = [j for j in range(N) if own[j] == k and j != i]
            alone = np.mean([(row == row[i]).sum() == 1 for row in rows])
            means[i, k] = whole[i, others].mean() if others else alone
        assert found.certainty[i] == pytest.approx(means[i, own[i]], abs=1e-12)
        # a random other member of its own cluster, a random member of another: the item is with the second alone
        instead = {}
        for k in set(range(K)) - {own[i]}:
            events = []
            for row in rows:
                mine = [j for j in range(N) if own[j] == own[i] and j != i]
                theirs = [j for j in range(N) if own[j] == k]
                apart = np.mean([row[j] != row[i] for j in mine]) if mine else (row == row[i]).sum() > 1
                events.append(apart * np.mean([row[j] == row[i] for j in theirs]))
            instead[k] = np.mean(events)
        assert found.second_probability[i] == pytest.approx(max(instead.values()), abs=1e-12)
        assert instead[found.second[i]] == pytest.approx(max(instead.values()), abs=1e-12)
    assert (found.certainty + found.second_probability <= 1 + 1e-12).all()
    assert (means.max(axis=1) + np.sort(means)[:, -2] > 1).any()
    blocks = similarity.block_means(rows, own)
    for a in range(K):
        for b in range(K):
            pairs = [whole[i, j] for i in range(N) for j in range(N) if i != j and own[i] == a and own[j] == b]
            assert blocks[a, b] == pytest.approx(np.mean(pairs) if pairs else 1.0, abs=1e-12)
    some = dict(zip(*next(iter(similarity.mean_co_clustering(rows, own))), strict=True))
    np.testing.assert_allclose(some[7], means[7], atol=1e-12)


def test_equal_means_are_equal_whatever_their_rounding():
    """An item is with each of 3 others in 1 partition of 3, and with each of 5 others, too: 3/3/3 and 5/3/5."""
    assert 3 / 3 / 3 < 5 / 3 / 5
    rows = [[0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 1, 1, 1, 2, 2, 2, 2, 2], [0, 1, 1, 1, 2, 2, 2, 2, 2]]
    found = similarity.membership(rows, [0, 1, 1, 1, 2, 2, 2, 2, 2])
    assert found.second[0] == 1 and found.second_probability[0] == pytest.approx(1 / 3)


def test_partitions_that_leave_a_number_out_are_numbered_anew():
    assert check_partitions([[0, 2, 1, 1], [0, 0, 1, 1]]).tolist() == [[0, 1, 2, 2], [0, 0, 1, 1]]
    assert by_appearance([0, 2, 1, 1]).tolist() == [0, 1, 2, 2]


def test_membership_of_the_least_partitions():
    one = similarity.membership([[0, 0], [0, 1]], [0, 0])
    assert one.certainty.tolist() == [0.5, 0.5]
    assert one.second.tolist() == [-1, -1] and np.isnan(one.second_probability).all()
    single = similarity.membership([[0]], [0])
    assert single.certainty.tolist() == [1.0]
    # 0.5 alone, 0.25 with each of two others: the first of equals
    third = similarity.membership([[0, 1, 2], [0, 1, 2], [0, 1, 0], [0, 1, 1]], [0, 1, 2])
    assert third.certainty[2] == 0.5 and third.second[2] == 0 and third.second_probability[2] == 0.25
    for wrong in ([0, 0], [0, 0, 2], [-1, 0, 1]):
        with pytest.raises(ValueError, match="labels: expected"):
            similarity.membership([[0, 0, 1]], wrong)


def test_no_matrix_of_all_pairs_where_rows_are_asked_for():
    """A million pairs a row would be the whole matrix: 3.2 GB at 20,000 items."""
    rows, truth = noisy(20_000, 6, 6, seed=6)
    tracemalloc.start()
    similarity.membership(rows, truth)
    similarity.block_means(rows, truth)
    assert similarity.co_clustering_rows(rows, [0, 1]).shape == (2, 20_000)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 200e6


# ---- credible ball


def test_a_ball_by_hand():
    centre = [0, 0, 1, 1]
    rows = [centre] * 15 + [[0, 0, 1, 2]] * 3 + [[0, 0, 0, 0], [0, 1, 2, 3]]
    ball = around_estimate.credible_ball(centre, rows, 0.9, "binder")
    # distances: 0 (15 times), 1/6 (3), 4/6, 2/6: the 18th of 20 is 1/6
    assert ball.radius == pytest.approx(1 / 6) and ball.share == 0.9 and ball.partitions == 20
    assert ball.horizontal.partitions.tolist() == [[0, 0, 1, 2]] and ball.horizontal.first == 15
    assert ball.lower.n_clusters == 3 and ball.lower.distance == pytest.approx(1 / 6)
    assert ball.upper.partitions.tolist() == [centre] and ball.upper.distance == 0
    wider = around_estimate.credible_ball(centre, rows, 0.95, "binder")
    assert wider.radius == pytest.approx(2 / 6) and wider.lower.partitions.tolist() == [[0, 1, 2, 3]]
    whole = around_estimate.credible_ball(centre, rows, 1.0, "binder")
    assert whole.share == 1 and whole.upper.n_clusters == 1 and whole.horizontal.distance == pytest.approx(4 / 6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("level", [0.05, 0.5, 0.8, 0.95, 1.0])
def test_a_ball_is_the_smallest_that_holds_its_level(loss, level):
    # 97 rows: no level but 1 is a share of them
    rows, truth = noisy(12, 4, 97, seed=7, noise=0.3)
    ball, d = around_estimate.credible_ball(truth, rows, level, loss), distances(truth, rows, loss)
    assert (d <= ball.radius + 1e-9).mean() == ball.share >= level
    assert (d < ball.radius - 1e-9).mean() < level
    K = np.array([len(set(row)) for row in rows])
    inside = d <= ball.radius + 1e-9
    assert ball.upper.n_clusters == K[inside].min() and ball.lower.n_clusters == K[inside].max()
    for bound, among in [
        (ball.horizontal, inside),
        (ball.upper, inside & (min(K[inside]) == K)),
        (ball.lower, inside & (max(K[inside]) == K)),
    ]:
        assert bound.distance == pytest.approx(d[among].max(), abs=1e-12)
        np.testing.assert_allclose(distances(truth, bound.partitions, loss), bound.distance, atol=1e-9)
        np.testing.assert_array_equal(by_appearance(rows[bound.first]), bound.partitions[0])


def test_a_level_is_a_whole_number_of_partitions():
    """0.55 of 100 is 55, though the product of doubles is above."""
    assert 0.55 * 100 > 55
    ball = around_estimate.credible_ball([0, 0, 1], [[0, 0, 1]] * 55 + [[0, 0, 0]] * 45, 0.55)
    assert ball.radius == 0 and ball.share == 0.55


def test_distances_that_differ_by_rounding_are_the_same():
    """Sizes of the clusters in other orders are summed in other orders."""
    sizes = [[1, 2, 3, 5, 7, 11], [11, 7, 5, 3, 2, 1], [5, 1, 11, 2, 7, 3], [7, 11, 1, 5, 3, 2], [2, 7, 5, 11, 1, 3]]
    rows = [np.repeat(np.arange(6), order) for order in sizes]
    found = distances(np.zeros(29, dtype=int), rows)
    assert 0 < np.ptp(found) < 1e-12
    ball = around_estimate.credible_ball(np.zeros(29, dtype=int), rows, 0.2)
    assert ball.share == 1 and len(ball.horizontal.partitions) == 5


def test_levels_that_are_none():
    for level in (0, -1, 1.01, float("nan")):
        with pytest.raises(ValueError, match="level="):
            around_estimate.credible_ball([0], [[0]], level)


# ---- convergence


def diagnosis_rows(chains, **rhat):
    """Rows of a diagnosis: R-hat, or the reason for its absence."""
    rows = [("mean/K", c, 1.0, None) for c in range(chains)]
    for name, value in rhat.items():
        said = isinstance(value, str)
        rows.append((f"rhat/{name}", None, np.nan if said else value, value if said else None))
    return rows


@pytest.mark.parametrize(
    ("rhat", "expected"),
    [
        ({"K": 1.01, "log_joint": 1.05}, (True, "log_joint", 1.05)),
        ({"K": 1.01, "largest": 1.1}, (False, "largest", 1.1)),
        ({"K": 1.01, "log_joint": mixing.STUCK}, (False, "log_joint", None)),
        ({"K": mixing.HALVES_DIFFER, "log_joint": 3.0}, (False, "K", None)),
        ({"K": mixing.DISTANCES_DIFFER, "log_joint": 1.0}, (False, "K", None)),
        ({"K": "constant: the same value in every draw of every chain", "log_lik": 1.0}, (True, "log_lik", 1.0)),
        ({"K": mixing.TOO_FEW}, (None, None, None)),
    ],
)
def test_the_largest_r_hat_decides(rhat, expected):
    found = convergence(diagnosis_rows(2, **rhat))
    assert (found.converged, found.quantity, found.rhat) == expected
    assert found.quantity is None or found.description.startswith(f"R-hat of {found.quantity}: ")


def test_one_chain_cannot_show_convergence():
    found = convergence(diagnosis_rows(1, K="one chain: R-hat compares chains"))
    assert found.converged is None and found.note == ONE_CHAIN
    # two are compared, were they longer
    assert convergence(diagnosis_rows(2, K=mixing.TOO_FEW)).note == mixing.TOO_FEW


def test_the_smallest_effective_sample_size_is_that_of_all_chains_together():
    rows = diagnosis_rows(2, K=1.01)
    sizes = [("ess/K", None, 90.0), ("ess/log_joint", None, 70.0), ("ess/log_lik", None, np.nan), ("ess/K", 1, 3.0)]
    found = convergence([*rows, *((*row, None) for row in sizes)])
    assert (found.ess, found.ess_of) == (70.0, "log_joint")


@pytest.mark.parametrize("chains", [1, 3])
@pytest.mark.parametrize("values", ["same", "other"])
def test_a_hyper_parameter_that_no_move_changes_is_not_sampled(chains, values):
    """Whatever R-hat of the rest: it is unknown, and its draws are not of its posterior."""
    rng, n = np.random.default_rng(0), 40
    trace = pd.DataFrame({"chain": np.repeat(range(chains), n), "iteration": np.tile(range(n), chains), "seconds": 0.0})
    trace["log_joint"], trace["n_clusters"] = rng.normal(size=n * chains), rng.integers(2, 5, n * chains)
    trace["b0"], trace["concentration"] = rng.gamma(2, size=n * chains), 2.0 + (values == "other") * trace["chain"]
    found = convergence(summary.diagnose(trace, []))
    assert (found.converged, found.not_sampled) == (False, ("concentration",))
    assert found.description == "not sampled: concentration"
    # a number of components, or degrees of freedom on a grid, may have all probability at one value
    of_few = trace.drop(columns="concentration")
    for name in ("components", "nu"):
        found = convergence(summary.diagnose(of_few.assign(**{name: 3.0}), []))
        assert found.not_sampled == () and found.converged == (None if chains == 1 else True)
        # each chain at a value of its own is no agreement
        found = convergence(summary.diagnose(of_few.assign(**{name: 3.0 + trace["chain"]}), []))
        assert found.not_sampled == () and found.converged == (None if chains == 1 else False)


# ---- which partitions are recorded


@pytest.mark.parametrize("every", [1, 2, 3, 7, 10, 100])
@pytest.mark.parametrize("N", [6, 60, 40_000])
def test_late_draws_weigh_the_same_and_half_of_the_most_remain(every: int, N: int):
    for length in (2, 399, 400, 1_023, 4_097, 60_000, 99_999, 300_000):
        recorded = np.arange(every, length + 1, every)
        late = np.flatnonzero(recorded > length / 2)
        chosen = answers.late_rows(recorded, length, N)
        assert np.isin(chosen, late).all()
        assert len(np.unique(np.diff(recorded[chosen]))) <= 1
        assert 2 * len(chosen) >= min(len(late), most_partitions(N)) and len(chosen) <= most_partitions(N)
        # what an estimate averages is not thinned again
        np.testing.assert_array_equal(answers.of_one_spacing(chosen, recorded), chosen)


@pytest.mark.parametrize(
    ("recorded", "chosen"),
    [([4, 8, 12, 16, 24, 32], [8, 16, 24, 32]), ([7, 14, 21, 30, 40, 50], [7, 14, 30, 40, 50]), ([5], [5]), ([], [])],
)
def test_rows_of_one_spacing(recorded: list[int], chosen: list[int]):
    rows = answers.of_one_spacing(np.arange(len(recorded)), np.array(recorded, dtype=np.int64))
    assert np.array(recorded)[rows].tolist() == chosen


def test_a_doubled_spacing_keeps_its_share_of_any_second_half():
    spacing = recorders.Spacing(4, 50)
    for last in (3, 40, 200, 399, 1000, 12345, 10**6):
        handed_out = np.arange(0, last + 1, 4)
        kept = handed_out[spacing.is_recorded(handed_out)]
        assert kept[0] == 0
        assert len(kept) <= 50 + 25 * max(0, last // 200).bit_length() + 1
        late = kept[kept > last / 2]
        if last >= 200:
            assert len(late[late % np.diff(late).max() == 0]) >= 12
    # in any batches the same
    whole = np.arange(0, 4000, 4)
    parts = np.concatenate([spacing.is_recorded(part) for part in np.array_split(whole, 7)])
    np.testing.assert_array_equal(parts, spacing.is_recorded(whole))
    rows = {"iteration": whole, "partition_iteration": whole, "partition_K": whole}
    thinned = spacing.thin(rows)
    assert len(thinned["iteration"]) == len(whole) > len(thinned["partition_K"]) == parts.sum()
    assert recorders.Spacing(4).thin(rows) is rows
    assert spacing.on_average(None) == 4 and spacing.on_average(10**6) > 1000
    assert recorders.Spacing(7).on_average(10**6) == 7
