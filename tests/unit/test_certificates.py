"""The bound of the total variation distance and the unbiased estimates, from given meeting times and values."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from scipy.stats import t as student

from splitmerge_cli.analysis.certificate import (
    APART,
    CO_CLUSTERING,
    LOG_PREDICTIVE,
    PARTITION,
    Certificate,
    Pair,
    Schedule,
    digest_of,
    write_estimates,
)
from splitmerge_cli.diagnostics import intervals


def test_terms_of_the_bound() -> None:
    """By hand: a pair of lag 10 that meets at 35 is 25 iterations longer than its lag: 3 lags after 0, 1 after 15."""
    terms = intervals.lag_terms([10, 11, 35], 10, [0, 5, 15, 25])
    assert terms.tolist() == [[0, 1, 3], [0, 0, 2], [0, 0, 1], [0, 0, 0]]


def test_bound_is_a_mean_with_a_limit_above_it() -> None:
    rng = np.random.default_rng(0)
    tau = 5 + rng.geometric(0.1, size=200)
    found = intervals.bound(tau, 5, np.arange(100))
    assert np.all(found.estimate <= found.upper) and np.all(found.upper <= 1) and np.all(found.upper > 0)
    assert np.all(np.diff(found.estimate) <= 0)
    # where no pair took as long, no limit below 3 / pairs follows
    assert found.estimate[-1] == 0 and 1 - 0.05 ** (1 / 200) <= found.upper[-1] < 0.05
    at = found.first_below(0.25)
    assert at is not None and found.upper[at] <= 0.25 < found.upper[at - 1]
    assert found.first_below(0.001) is None


@pytest.mark.parametrize(
    ("terms", "level", "students"),
    # much the same for all pairs; a few that are far longer
    [([0] * 20 + [1] * 8 + [2] * 5 + [3] * 2, 0.9, False), ([0] * 3000 + [1] * 300 + [40] * 20, 0.99, True)],
)
def test_limit_is_the_larger_of_two(terms: list[int], level: float, students: bool) -> None:
    """Clopper and Pearson's for the share of positive terms, times their mean and error; Student's for the mean."""
    found = intervals.bound(10 + 10 * np.array(terms), 10, [0], level)
    positive = np.array([term for term in terms if term])
    share = stats.binomtest(len(positive), len(terms)).proportion_ci(2 * level - 1, "exact").high
    one = share * (positive.mean() + stats.sem(positive))
    two = stats.t.interval(2 * level - 1, len(terms) - 1, np.mean(terms), stats.sem(terms))[1]
    assert (two > one) == students and max(one, two) < 1
    assert found.upper[0] == pytest.approx(max(one, two), rel=1e-12)
    assert found.estimate[0] == pytest.approx(np.mean(terms), rel=1e-12)


def test_a_limit_at_the_distance_is_small_enough() -> None:
    found = intervals.Bound(np.array([0, 7, 9]), np.zeros(3), np.zeros(3), np.array([0.5, 0.25, 0.1]))
    assert (found.first_below(0.5), found.first_below(0.25), found.first_below(0.2)) == (0, 7, 9)


def test_sums_of_distances() -> None:
    """Every lag-th distance from t + lag on; later the largest sum until the next."""
    for lag, n in ((1, 1), (3, 7), (10, 9), (7, 300), (40, 3000)):
        apart = np.random.default_rng(lag).random(n)
        sums = np.array([apart[t::lag].sum() for t in range(n)])
        times = [t for t in intervals.TIMES[:1000] if t < n]
        ends = [*times[1:], n]
        expected = [sums[t:end].max() for t, end in zip(times, ends, strict=True)]
        np.testing.assert_allclose(intervals.distance_terms(apart, lag), expected, rtol=1e-12)
        assert n > 256 or len(times) == n
    assert intervals.TIMES[254:260].tolist() == [254, 255, 256, 258, 260, 262]
    assert (np.diff(intervals.TIMES[256:]) / intervals.TIMES[256:-1] < 0.008).all()
    assert intervals.distance_terms(np.zeros(0), 4).size == 0


def test_chains_that_meet_at_once_are_at_no_distance() -> None:
    found = intervals.wasserstein_bound([np.zeros(0)] * 100)
    assert found.t.tolist() == [0] and found.estimate.tolist() == [0]
    assert found.upper[0] == pytest.approx(1 - 0.05 ** (1 / 100))


@pytest.mark.parametrize(("lag", "p", "pairs"), [(4, 0.2, 30), (10, 0.05, 100), (10, 0.3, 100)])
def test_limit_covers_the_expected_distance(lag: int, p: float, pairs: int) -> None:
    """In 91 % of sets of pairs and more (of 1,500; here of 100), by distances that fall while chains get near."""
    rng = np.random.default_rng(1)

    def draw(n: int) -> list[np.ndarray]:
        lengths = rng.geometric(p, size=n)
        return [
            intervals.distance_terms(rng.beta(1, 3) * rng.random(k) * np.exp(-np.arange(k) / 20), lag) for k in lengths
        ]

    times = np.array([0, 4, 8, 16, 30])

    def at(values: np.ndarray) -> np.ndarray:
        return np.pad(values, (0, 31))[times]

    true = np.mean([at(each) for each in draw(8_000)], axis=0)
    above = []
    for _ in range(100):
        upper = intervals.wasserstein_bound(draw(pairs)).upper
        above.append(np.pad(upper, (0, 31), mode="edge")[times] >= true)
    assert np.all(np.mean(above, axis=0) > 0.84)


LOGS = np.random.default_rng(4).normal(size=(6, 3))
"""Log densities of three items, by six pairs."""
VALUES = np.array(
    [[1.0, 2.0, 0.5], [1.5, -0.4, 1.0], [0.7, 1.0, 2.0], [1.0, 1.0, 1.0], [0.2, 3.0, 1.0], [2.0, 1.0, 0.1]]
)


@pytest.mark.parametrize("shift", [0.0, -900.0, 800.0])
def test_a_weighted_sum_of_densities(shift: float) -> None:
    """Weights of both signs, in an order in which the largest comes first, in the middle or last."""
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]):
        weights, logs = np.array([1.0, -0.3, 2.0, 0.5]), shift + np.array([[300.0], [0.0], [-800.0], [299.0]])
        total = intervals.DensitySum(1)
        for t in order:
            total.add(weights[t], logs[t])
        assert np.log(total.value) + total.log == pytest.approx(logsumexp(logs, axis=0, b=weights[:, None]), rel=1e-12)


@pytest.mark.parametrize("shift", [0.0, -900.0, 800.0])
def test_logarithms_of_means_over_pairs(shift: float) -> None:
    """From the densities themselves, whose means are moderate; a factor common to all adds its logarithm."""
    densities = VALUES * np.exp(LOGS)
    mean, error = intervals.log_of_mean(LOGS + shift, VALUES)
    np.testing.assert_allclose(mean, np.log(densities.mean(axis=0)) + shift, rtol=1e-12)
    np.testing.assert_allclose(error, stats.sem(densities) / densities.mean(axis=0), rtol=1e-10)
    of_all, error_of_all = intervals.log_of_mean_of_items(LOGS + shift, VALUES)
    assert of_all == pytest.approx(np.log(densities.mean(axis=0)).mean() + shift, rel=1e-12)
    left_out = [np.log(np.delete(densities, pair, axis=0).mean(axis=0)).mean() for pair in range(6)]
    assert error_of_all == pytest.approx(np.sqrt(5 / 6 * np.sum((left_out - np.mean(left_out)) ** 2)), rel=1e-10)


def test_a_mean_that_is_not_positive_has_no_logarithm() -> None:
    mean, error = intervals.log_of_mean(np.zeros((2, 2)), np.array([[1.0, 1.0], [-1.0, 2.0]]))
    assert np.isnan([mean[0], error[0]]).all() and mean[1] == pytest.approx(np.log(1.5))


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize(("k", "m"), [(0, 0), (2, 2), (0, 7), (4, 20)])
def test_unbiased_is_the_mean_of_its_definition(lag: int, k: int, m: int) -> None:
    rng = np.random.default_rng(2)
    tau = 17
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    means = []
    for t in range(k, m + 1):
        h, j = x[t].copy(), 1
        while t + j * lag < tau:
            h += x[t + j * lag] - y[t + (j - 1) * lag]
            j += 1
        means.append(h)
    np.testing.assert_allclose(intervals.unbiased_estimate(x, y, tau, lag, k, m), np.mean(means, axis=0), rtol=1e-12)


def test_unbiased_rejects_an_empty_range() -> None:
    with pytest.raises(ValueError, match="k=3, m=2"):
        intervals.unbiased_estimate(np.zeros(9), np.zeros(9), 5, 1, 3, 2)


TOGETHER = np.array([[0.5, 0.25, 1.0], [1.5, 0.0, 1.0], [0.25, 0.5, 1.0]])
"""Co-clustering of three items as three pairs estimate it; below, their estimates for the density of two new items."""
LOG, FACTOR = np.log([[2.0, 8.0], [4.0, 1.0], [1.0, 2.0]]), np.array([[1.0, 0.5], [2.0, 1.0], [3.0, -1.0]])


def certificate(path: Path, unchanged: tuple[list[str], ...] = ([], [], [])) -> Certificate:
    """Three pairs that have met after 12, 15 and 40 iterations, and what they estimate."""
    pairs = []
    for t, (meeting, K) in enumerate([(12, 2.0), (15, 2.5), (40, 4.5)]):
        digests = (
            write_estimates(path, CO_CLUSTERING, t, TOGETHER[t]),
            write_estimates(path, LOG_PREDICTIVE, t, np.array([LOG[t], FACTOR[t]])),
            write_estimates(path, APART, t, intervals.distance_terms(np.full(meeting - 10, 0.3), 10)),
        )
        estimates = {"n_clusters": K, "concentration": 10 * K}
        starts = (f"x{t}", f"y{t}"), (t + 1, t + 2)
        pairs.append(Pair(t, meeting, 50, 1.0, 0.0, (2, 2), *starts, unchanged[t], estimates, *digests))
    return Certificate(path, {"init": "mixture"}, Schedule(10, 10, 50, 1000), pairs)


def test_certificate_is_of_all_pairs(tmp_path: Path) -> None:
    """The bound, and the means of what the pairs estimate, by hand."""
    found = certificate(tmp_path)
    assert found.bound is not None
    # beyond the lag they are 2, 5 and 30 iterations longer
    assert found.bound.estimate[[0, 1, 4, 9, 29, 30]].tolist() == pytest.approx([1, 1, 1, 1, 1 / 3, 0])
    assert found.bound.estimate[10] == pytest.approx(2 / 3) and len(found.bound.t) == 31
    assert found.wasserstein is not None and len(found.wasserstein.t) == 31
    # at first 1, 1 and 3 terms of 0.3
    assert found.wasserstein.estimate[[0, 4, 9, 10, 29, 30]] == pytest.approx([0.5, 0.4, 0.3, 0.2, 0.1, 0])
    assert found.wasserstein.standard_error[0] == pytest.approx(stats.sem([0.3, 0.3, 0.9]))
    estimates = found.estimates()
    assert estimates["quantity"].tolist() == ["n_clusters", "concentration"] and set(estimates["pairs"]) == {3}
    error = np.sqrt((1 + 0.25 + 2.25) / 2 / 3)
    half = student.ppf(0.975, 2) * error
    assert estimates.iloc[0, 1:5].tolist() == pytest.approx([3, error, 3 - half, 3 + half])
    assert estimates.iloc[1, 1:5].tolist() == pytest.approx([30, 10 * error, 30 - 10 * half, 30 + 10 * half])
    together = found.co_clustering()
    assert together[["i", "j"]].to_numpy().tolist() == [[0, 1], [0, 2], [1, 2]]
    np.testing.assert_allclose(together["probability"], [0.75, 0.25, 1])
    np.testing.assert_allclose(together["standard_error"], [np.sqrt(0.4375 / 3), 0.25 / np.sqrt(3), 0], atol=1e-12)
    np.testing.assert_allclose(together["high"] - together["low"], 2 * student.ppf(0.975, 2) * together.standard_error)
    of_new = found.log_predictive()
    # densities of 2, 8 and 3, and of 4, 1 and -2
    np.testing.assert_allclose(of_new["log_density"], np.log([13 / 3, 1]), atol=1e-12)
    errors = [np.std([2, 8, 3], ddof=1) / np.sqrt(3) / (13 / 3), np.std([4, 1, -2], ddof=1) / np.sqrt(3)]
    np.testing.assert_allclose(of_new["standard_error"], errors)
    np.testing.assert_allclose(of_new["high"] - of_new["low"], 2 * student.ppf(0.975, 2) * np.array(errors))


@pytest.mark.parametrize("which", [0, 2])
def test_one_pair_that_has_not_met_leaves_nothing_known(tmp_path: Path, which: int) -> None:
    whole = certificate(tmp_path)
    whole.write()
    lost = replace(whole.pairs[which], meeting=None, distance=0.125, clusters=(2, 7), estimates={})
    found = replace(whole, pairs=[lost if t == which else pair for t, pair in enumerate(whole.pairs)])
    nothing_is_known(found)
    said = " ".join(found.lines())
    assert "1 of 3 pairs have not met within 1,000 iterations" in said and "12.5%, 2 clusters against 7" in said
    assert "a Wasserstein bound after 990 iterations is at least 0.042" in said


def nothing_is_known(found: Certificate) -> None:
    assert found.bound is None and found.wasserstein is None
    assert not len(found.estimates()) and not len(found.co_clustering()) and not len(found.log_predictive())
    said = " ".join(found.lines())
    assert "no bound: " in said and "estimated upper bound" not in said and "density" not in said
    found.write()
    assert not {"bound.parquet", "wasserstein.parquet", "co_clustering.parquet", "log_predictive.parquet"} & {
        file.name for file in found.path.iterdir()
    }


def test_what_never_changes_is_not_sampled(tmp_path: Path) -> None:
    names = [PARTITION, "concentration"]
    never = certificate(tmp_path, (names, names, ["concentration"]))
    never.write()
    assert never.not_sampled == ["concentration"]
    nothing_is_known(never)
    said = " ".join(never.lines())
    assert "3 of 3 pairs have met" in said and "not sampled: concentration (unknown, but constant in" in said
    # it changed in one pair
    assert certificate(tmp_path, (names, names, [])).bound is not None


@pytest.mark.parametrize(
    ("starts", "said"),
    [
        ("a", "all 100 chains start from one and the same partition of 3 clusters: a mode"),
        ("aaaab", "all 100 chains start from only 2 partitions of 3 clusters: a mode"),
        ("abcd", "only 4 partitions"),
        ("abcde", None),
    ],
)
def test_one_start_or_few_are_said(tmp_path: Path, starts: str, said: str | None) -> None:
    """Judged by the partitions, those of Y too, not by the name of the start."""
    found = certificate(tmp_path)
    of = starts * 100
    pair = replace(found.pairs[0], start_clusters=(3, 3), co_clustering=None, log_predictive=None, distances=None)
    pairs = [replace(pair, number=t, starts=(of[2 * t], of[2 * t + 1])) for t in range(50)]
    _, of_bound, *others = replace(found, config={"init": "prior"}, pairs=pairs).lines()
    several = "one and the same partition" if len(starts) == 1 else f"{len(set(starts))} partitions"
    assert f"(95 % limit), for chains from {several} of 3 clusters: 0.5 from" in of_bound
    cautions = [line for line in others if "is missed" in line]
    assert len(cautions) == (said is not None)
    assert said is None or (said in cautions[0] and "init=mixture starts apart" in cautions[0])


def test_pairs_of_an_earlier_version_have_no_distances(tmp_path: Path) -> None:
    """The other bound is as before."""
    found = certificate(tmp_path)
    pairs = [replace(pair, distances=None) for pair in found.pairs]
    earlier = replace(found, pairs=pairs)
    assert earlier.wasserstein is None and earlier.bound is not None and "Wasserstein" not in " ".join(earlier.lines())
    assert any("Wasserstein distance (95 % limit)" in line for line in replace(found, pairs=found.pairs * 99).lines())


def test_digest_is_of_the_partition() -> None:
    assert digest_of(np.array([2, 2, 0, 1])) == digest_of(np.array([0, 0, 1, 2])) != digest_of(np.array([0, 1, 1, 2]))
