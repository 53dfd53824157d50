"""What a race says: targets, times to them, who is first and when that is not decided."""

import numpy as np
import pytest

from splitmerge_cli.diagnostics import race
from splitmerge_cli.diagnostics.partition_losses import all_distances, distances
from splitmerge_cli.diagnostics.race import Target, Track, Trial


def track(sampler: str = "a", joint=(), distance=(), seconds=None, accepted: float = 0.0) -> Track:
    joint = np.asarray(joint, dtype=float)
    seconds = np.arange(1.0, len(joint) + 1) if seconds is None else np.asarray(seconds, dtype=float)
    trial = Trial("one_cluster", 0)
    return Track(sampler, trial, seconds, joint, np.ones(len(joint)), seconds, accepted, np.asarray(distance, float))


def test_the_target_needs_both_the_density_and_a_partition_near() -> None:
    target = Target(log_joint=0.0, distance=0.5, best=track(joint=[0.0]), chains=1)
    assert race.hitting_time(track(joint=[-9, 1, -3, 2], distance=[2, 2, 0.4, 0.3]), target) == 3
    assert race.hitting_time(track(joint=[-9, -1, -3, 2], distance=[0.1, 2, 2, 2]), target) == 4
    assert race.hitting_time(track(joint=[-9, 1, 2, 2], distance=[2, 2, 2, 2]), target) == np.inf
    assert race.hitting_time(track(joint=[-9, -1, -2, -2], distance=[0, 0, 0, 0]), target) == np.inf


def test_chains_of_another_place_are_no_reference() -> None:
    noise = np.random.default_rng(0).normal(size=(3, 400))
    high, as_high, low = (track(joint=x + shift) for x, shift in zip(noise, (0.0, 0.1, -30.0), strict=True))
    best, level, chosen = race.agreeing([high, as_high, low])
    assert best is as_high and chosen == [0, 1]
    assert -2.5 < level < -1.0


def test_the_target_is_where_most_reference_draws_are() -> None:
    rng = np.random.default_rng(1)
    joint = rng.normal(size=2000)
    reference = np.array([[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 1], [0, 1, 1, 1]])
    target = race.target_of([track(joint=joint)], reference)
    assert target.log_joint == pytest.approx(np.quantile(joint[1000:], 0.05))
    among = [distances(row, np.delete(reference, k, axis=0)).mean() for k, row in enumerate(reference)]
    assert target.distance == pytest.approx(np.quantile(among, 0.95))


def test_draws_of_a_chain_that_is_elsewhere_count_nothing() -> None:
    rng = np.random.default_rng(2)
    target = Target(0.0, 0.5, track(joint=[0.0]), 1)
    there = track(joint=rng.normal(size=800) + 2, distance=rng.uniform(0, 0.6, size=800))
    found = race.ess_per_second(there, target)
    assert 0.7 < found["log_joint"] < 1.3 and 0.7 < found["partition"] < 1.3 and np.isnan(found["n_clusters"])
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


def test_what_is_not_decided_says_how_many_trials_would_do() -> None:
    rng = np.random.default_rng(4)
    times = {"a": np.exp(rng.normal(0.0, 1.0, 10)), "b": np.exp(rng.normal(0.3, 1.0, 10))}
    found = race.result_of(times, {name: np.full(10, 1e9) for name in times})
    assert found is not None and not found.decided and found.needed is not None and found.needed > 10
    assert f"some {found.needed:,} would decide it" in str(found)


def test_few_trials_decide_nothing() -> None:
    times = {"a": np.array([1.0, 1.1]), "b": np.array([5.0, 5.2])}
    found = race.result_of(times, {name: np.full(2, 1e9) for name in times})
    assert found is not None and not found.decided and found.needed == race.FEWEST
    one = race.result_of({k: v[:1] for k, v in times.items()}, {name: np.full(1, 1e9) for name in times})
    assert one is not None and not one.decided and one.needed == race.FEWEST


def test_a_chain_that_never_gets_there_counts_with_all_its_time() -> None:
    times = {"a": np.full(8, 1.0), "b": np.array([1.0, 1.0, 1.0, 1.0, np.inf, np.inf, np.inf, np.inf])}
    found = race.result_of(times, {name: np.full(8, 100.0) for name in times})
    assert found is not None and found.decided and found.first == "a"
    assert found.others[0].ratio == pytest.approx(10.0)
    nobody = {name: np.full(8, np.inf) for name in times}
    assert race.result_of(nobody, {name: np.full(8, 100.0) for name in times}) is None


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_losses_between_lists_of_partitions(loss: str) -> None:
    rng = np.random.default_rng(5)
    rows, others = rng.integers(6, size=(5, 30)), rng.integers(12, size=(4, 30))
    f = (lambda n: n * np.log(n)) if loss == "vi" else (lambda n: n * (n - 1) / 2)
    scale = 30 if loss == "vi" else 30 * 29 / 2

    def of(*labels) -> float:
        return float(sum(f(n) for n in np.unique(np.stack(labels), axis=1, return_counts=True)[1]))

    plain = [[(of(x) + of(y) - 2 * of(x, y)) / scale for y in others] for x in rows]
    assert all_distances(rows, others, loss) == pytest.approx(np.array(plain))
    with pytest.raises(ValueError, match="others: expected"):
        all_distances(rows, others[:, :7], loss)
