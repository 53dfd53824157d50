"""Races: targets, times to them, who is first and when that is not decided."""

import numpy as np
import pytest

from splitmerge_cli.analysis import race
from splitmerge_cli.diagnostics import mixing, partition_losses


def track(sampler: str = "a", joint=(), distance=(), seconds=None, accepted: float = 0.0, at=None) -> race.Track:
    joint = np.asarray(joint, dtype=float)
    seconds = np.arange(1.0, len(joint) + 1) if seconds is None else np.asarray(seconds, dtype=float)
    trial = race.Trial("one_cluster", 0)
    at = seconds if at is None else np.asarray(at, dtype=float)
    return race.Track(sampler, trial, seconds, joint, np.ones(len(joint)), at, accepted, np.asarray(distance, float))


def test_the_target_needs_both_the_density_and_a_partition_near() -> None:
    target = race.Target(log_joint=0.0, distance=0.5, best=track(joint=[0.0]), chains=1)
    assert race.hitting_time(track(joint=[-9, 1, -3, 2], distance=[2, 2, 0.4, 0.3]), target) == 3
    assert race.hitting_time(track(joint=[-9, -1, -3, 2], distance=[0.1, 2, 2, 2]), target) == 4
    assert race.hitting_time(track(joint=[-9, 1, 2, 2], distance=[2, 2, 2, 2]), target) == np.inf
    assert race.hitting_time(track(joint=[-9, -1, -2, -2], distance=[0, 0, 0, 0]), target) == np.inf


def test_the_target_is_reached_at_its_bounds_and_by_the_clock_of_each_record() -> None:
    """As much as the target is enough; partitions are recorded at seconds of their own."""
    target = race.Target(log_joint=1.0, distance=0.5, best=track(joint=[0.0]), chains=1)
    assert race.hitting_time(track(joint=[0, 1, 0, 0], distance=[0.6, 0.5], at=[2.5, 3.5]), target) == 3.5


def test_reference_partitions_are_those_of_second_halves() -> None:
    chains = [np.arange(400)[:, None] * np.ones((1, 3), dtype=np.int32), 1000 + np.arange(10)[:, None] * [[1, 1, 1]]]
    reference = race.reference_of(chains)
    assert len(reference) == 55 and reference.min() >= 200
    assert sorted(set(reference[reference >= 1000])) == [1005, 1006, 1007, 1008, 1009]
    assert np.diff(np.unique(reference[reference < 1000])).tolist() == [4] * 49
    rows, others = np.array([[0, 0, 1], [0, 1, 2]]), np.array([[0, 0, 1], [0, 0, 0], [0, 1, 1]])
    expected = [np.mean(partition_losses.distances(row, others)) for row in rows]
    assert race.expected_distances(rows, others) == pytest.approx(expected)


def test_chains_agree_by_their_second_halves() -> None:
    noise = np.random.default_rng(6).normal(size=(2, 400))
    noise[:, :200] -= 50.0
    assert race.agreeing_chains([track(joint=x) for x in noise])[2] == [0, 1]


def test_chains_of_another_place_are_no_reference() -> None:
    noise = np.random.default_rng(0).normal(size=(3, 400))
    high, as_high, low = (track(joint=x + shift) for x, shift in zip(noise, (0.0, 0.1, -30.0), strict=True))
    best, level, chosen = race.agreeing_chains([high, as_high, low])
    assert best is as_high and chosen == [0, 1]
    assert -2.5 < level < -1.0


def test_the_target_is_where_most_reference_draws_are() -> None:
    rng = np.random.default_rng(1)
    joint = rng.normal(size=2000)
    reference = np.array([[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 1], [0, 1, 1, 1]])
    target = race.target_of([track(joint=joint)], reference)
    assert target.log_joint == pytest.approx(np.quantile(joint[1000:], 0.05))
    among = [partition_losses.distances(row, np.delete(reference, k, axis=0)).mean() for k, row in enumerate(reference)]
    assert target.distance == pytest.approx(np.quantile(among, 0.95))


def test_draws_of_a_chain_that_is_elsewhere_count_nothing() -> None:
    rng = np.random.default_rng(2)
    target = race.Target(0.0, 0.5, track(joint=[0.0]), 1)
    there = track(joint=rng.normal(size=800) + 2, distance=rng.uniform(0, 0.6, size=800))
    found = race.ess_per_second(there, target)
    assert 0.7 < found["log_joint"] < 1.3 and 0.7 < found["partition"] < 1.3 and np.isnan(found["n_clusters"])
    late = slice(400, None)
    assert found["partition"] == pytest.approx(mixing.ess(there.distance[late]) / 399, rel=1e-12)
    assert found["log_joint"] == pytest.approx(mixing.ess(there.log_joint[late]) / 399, rel=1e-12)
    away = track(joint=rng.normal(size=800) - 20, distance=rng.uniform(0, 0.6, size=800))
    assert set(race.ess_per_second(away, target).values()) == {0.0}


def test_who_is_first_and_by_how_much() -> None:
    rng = np.random.default_rng(3)
    hard = np.exp(rng.normal(0, 1.5, size=40))  # some trials are harder, for all samplers
    times = {"slow": hard * 2.0 * np.exp(rng.normal(0, 0.2, 40)), "fast": hard * np.exp(rng.normal(0, 0.2, 40))}
    found = race.result_of(times, {name: np.full(40, 1e9) for name in times})
    assert found is not None and found.decided and found.first == "fast"
    (other,) = found.others
    assert other.low < 2.0 < other.high and other.high / other.low < 1.3
    assert str(found).startswith("fast is first: slow takes ")


def test_samplers_of_equal_times_stay_in_their_order() -> None:
    same = dict.fromkeys("caebdf", np.array([2.0, 3.0]))
    result = race.result_of(same, same)
    assert result is not None and "".join([result.first, *(one.sampler for one in result.others)]) == "caebdf"
    # no number of equal trials decides it
    assert str(result) == "not decided (2 trials): c has the smallest mean, " + ", ".join(
        f"{name} takes as long" for name in "aebdf"
    )


def test_an_interval_that_decides_is_shown_to_exclude_1() -> None:
    result = race.Result("a", [race.Comparison("b", 1.002, 1.0004, 1.004)], 8, True, None)
    assert str(result) == "a is first: b takes 1.002 [1.0004, 1.004] times as long (8 trials)"


def test_what_is_not_decided_says_how_many_trials_would_do() -> None:
    rng = np.random.default_rng(4)
    times = {"a": np.exp(rng.normal(0.0, 1.0, 10)), "b": np.exp(rng.normal(0.3, 1.0, 10))}
    found = race.result_of(times, {name: np.full(10, 1e9) for name in times})
    assert found is not None and not found.decided and found.needed is not None and found.needed > 10
    assert f"about {found.needed:,} would decide it" in str(found)


@pytest.mark.parametrize(("a", "first"), [([1.0, 1.0, 1.0, 30.0], "a"), ([0.1, 90.0, 90.0, 90.0], "b")])
def test_the_first_has_the_smallest_geometric_mean(a: list[float], first: str) -> None:
    """Neither the smallest mean nor the smallest time."""
    times = {"a": np.array(a), "b": np.full(4, 4.0)}
    found = race.result_of(times, {name: np.full(4, 1e9) for name in times})
    assert found is not None and found.first == first


def test_intervals_have_their_level_and_six_trials_may_decide() -> None:
    logs = np.random.default_rng(7).normal(0.5, 1.0, size=400)
    times = {"a": np.ones(400), "b": np.exp(logs)}
    (other,) = race.result_of(times, {name: np.full(400, 1e9) for name in times}).others
    half = 1.96 * logs.std() / 20
    assert np.log([other.low, other.high]) == pytest.approx([logs.mean() - half, logs.mean() + half], abs=0.08 * half)
    six = {"a": np.ones(6), "b": np.linspace(4.0, 5.0, 6)}
    assert race.result_of(six, {name: np.full(6, 1e9) for name in six}).decided


def test_trials_that_decide_are_those_of_the_closest_pair() -> None:
    rng = np.random.default_rng(8)
    times = {name: np.exp(rng.normal(shift, 1.0, 12)) for name, shift in (("a", 0.0), ("b", 0.2), ("c", 0.5))}
    ends = {name: np.full(12, 1e9) for name in times}
    all_of_them = race.result_of(times, ends)
    pairs = [
        race.result_of({all_of_them.first: times[all_of_them.first], o.sampler: times[o.sampler]}, ends)
        for o in all_of_them.others
    ]
    needed = [pair.needed for pair in pairs]
    assert len(set(needed)) == 2 and all_of_them.needed == max(needed)


def test_few_trials_decide_nothing() -> None:
    times = {"a": np.array([1.0, 1.1]), "b": np.array([5.0, 5.2])}
    found = race.result_of(times, {name: np.full(2, 1e9) for name in times})
    assert found is not None and not found.decided and found.needed == race.FEWEST
    one = race.result_of({k: v[:1] for k, v in times.items()}, {name: np.full(1, 1e9) for name in times})
    assert one is not None and not one.decided and one.needed == race.FEWEST
    assert "(1 trial; " in str(one) and "nan" not in str(one)


def test_a_chain_that_never_gets_there_counts_with_all_its_time() -> None:
    times = {"a": np.full(8, 1.0), "b": np.array([1.0, 1.0, 1.0, 1.0, np.inf, np.inf, np.inf, np.inf])}
    found = race.result_of(times, {name: np.full(8, 100.0) for name in times})
    assert found is not None and found.decided and found.first == "a"
    assert found.others[0].ratio == pytest.approx(10.0)
    nobody = {name: np.full(8, np.inf) for name in times}
    assert race.result_of(nobody, {name: np.full(8, 100.0) for name in times}) is None
