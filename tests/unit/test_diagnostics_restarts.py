"""Diagnostics of restarts against their definitions, written out plainly."""

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.diagnostics import mixing, restarts


def series(restarts_: int = 4, S: int = 3, draws: int = 200, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(restarts_, S, draws)).cumsum(axis=2) * 0.1 + rng.normal(size=(restarts_, S, draws))


def plain_rhat(chains: np.ndarray) -> float:
    """sqrt(((n-1)/n W + B/n)/W) in loops."""
    n = len(chains[0])
    means = [sum(c) / n for c in chains]
    overall = sum(means) / len(means)
    between = n * sum((m - overall) ** 2 for m in means) / (len(means) - 1)
    within = sum(sum((v - m) ** 2 for v in c) / (n - 1) for c, m in zip(chains, means, strict=True)) / len(chains)
    return float((((n - 1) / n * within + between / n) / within) ** 0.5)


def plain_time(x: np.ndarray) -> float:
    """1 + 2 sum r, in pairs r(2m) + r(2m+1) while these are positive."""
    n, d = len(x), np.asarray(x, dtype=float) - np.mean(x)
    r = [float((d[: n - lag] * d[lag:]).sum() / (d * d).sum()) for lag in range(n)]
    total = 0.0
    for m in range(n // 2):
        pair = r[2 * m] + r[2 * m + 1]
        if pair <= 0:
            break
        total += pair
    return 2 * total - 1


def test_rhat_compares_the_same_chain_of_each_restart() -> None:
    x = series()
    x[:, 1] += np.arange(4)[:, None]
    found = restarts.between_restarts(x)
    assert found.classic == pytest.approx([plain_rhat(x[:, s]) for s in range(3)], rel=1e-10)
    assert found.ranked == pytest.approx([mixing.rhat(x[:, s]) for s in range(3)])
    assert found.mean == pytest.approx(np.mean(found.classic)) and found.spread == pytest.approx(
        np.std(found.classic, ddof=1)
    )
    assert not found.undefined and not found.constant


def test_chains_of_one_restart_are_never_pooled() -> None:
    """Chains of a restart that agree with each other, apart from those of the others, must not look mixed."""
    x = series()
    shared = x + 50 * np.arange(4)[:, None, None]
    assert (restarts.between_restarts(shared).classic > 10).all()
    # nor does what separates the chains within every restart count
    apart = x + 50 * np.arange(3)[None, :, None]
    assert restarts.between_restarts(apart).classic == pytest.approx(restarts.between_restarts(x).classic)


def test_constant_series_are_counted_and_named() -> None:
    x = series()
    x[:, 0] = 1.0
    x[:, 2] = np.arange(4)[:, None]
    x[2, 1] = 5.0
    found = restarts.between_restarts(x)
    assert np.isnan(found.classic).tolist() == [True, False, True]
    assert "same value" in found.undefined[0] and "chains differ" in found.undefined[2] and len(found.undefined) == 2
    assert found.constant == [(0, 0), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2), (3, 0), (3, 2)]
    assert found.mean == pytest.approx(plain_rhat(x[:, 1])) and np.isnan(found.spread)
    nothing = restarts.between_restarts(np.ones((2, 2, 9)))
    assert np.isnan(nothing.mean) and np.isnan(nothing.spread) and len(nothing.undefined) == 2


def test_a_step_in_the_middle_leaves_the_classic_one_defined() -> None:
    x = np.zeros((2, 1, 40))
    x[0, 0, 20:] = 1.0
    found = restarts.between_restarts(x)
    assert found.classic == pytest.approx([plain_rhat(x[:, 0])]) and np.isnan(found.ranked[0]) and not found.undefined


def test_one_restart_has_no_rhat() -> None:
    found = restarts.between_restarts(series(restarts_=1))
    assert np.isnan(found.classic).all() and "one chain" in found.undefined[0]
    with pytest.raises(ValueError, match="expected \\[restarts, S, draws\\]"):
        restarts.between_restarts(np.zeros((3, 4)))


def trace(values: np.ndarray) -> pd.DataFrame:
    """A trace of log joint densities ``[S, iterations + 1]``."""
    frames = [
        pd.DataFrame(
            {
                "chain": s,
                "iteration": np.arange(len(x)),
                "log_joint": x,
                "largest": [[v, 0.0, 0.0, 0.0, 0.0] for v in np.abs(x)],
            }
        )
        for s, x in enumerate(values)
    ]
    return pd.concat(frames, ignore_index=True)


def test_the_second_half_is_taken_and_cut_to_the_shortest() -> None:
    x = series(draws=101)
    late = restarts.late([trace(values) for values in x])
    np.testing.assert_array_equal(late, x[:, :, 51:])
    late = restarts.late([trace(x[0]), trace(x[1][:, :81])])
    np.testing.assert_array_equal(late, np.stack([x[0][:, 61:], x[1][:, 41:81]]))
    with pytest.raises(ValueError, match="chains of the restarts: 3, 2; expected as many in each"):
        restarts.late([trace(x[0]), trace(x[1][:2])])


@pytest.mark.parametrize("draws", [4, 5, 60, 301])
def test_many_autocorrelation_times_at_once(draws: int) -> None:
    x = series(draws=draws, seed=1)
    x[1, 2] = 3.0
    times = mixing.autocorrelation_times(x)
    assert times.shape == (4, 3) and np.isnan(times[1, 2]) and np.isnan(times).sum() == 1
    for k in np.ndindex(4, 3):
        if k != (1, 2):
            assert times[k] == pytest.approx(plain_time(x[k]), abs=1e-9)
            assert times[k] == mixing.autocorrelation_times(x[k])
    assert np.isnan(mixing.autocorrelation_times(x[..., :3])).all()


def test_time_of_the_largest_cluster() -> None:
    x = series(draws=100)[0]
    x[1] = 0.25
    times = restarts.largest_times(trace(x), after=20)
    assert (times.series, times.undefined) == (3, 1) and np.isnan(times.values[1])
    expected = [plain_time(np.abs(x[s, 21:])) for s in (0, 2)]
    assert times.values[[0, 2]] == pytest.approx(expected) and times.mean == pytest.approx(np.mean(expected))


def test_time_of_the_indicators_is_the_largest_of_the_defined_ones() -> None:
    rng = np.random.default_rng(4)
    labels = rng.integers(2, size=(3, 80, 4)).astype(np.int32)
    labels[0, :, 1] = labels[0, :, 0]  # together all the time
    labels[2] = 0  # a chain that never moves
    rows = [{"chain": c, "iteration": t, "labels": labels[c, t]} for c in range(3) for t in range(80)]
    pairs = np.array([[0, 1], [0, 2], [1, 3], [2, 3]])
    times = restarts.indicator_times(pd.DataFrame(rows), pairs, after=9)
    for c, defined in ((0, pairs[1:]), (1, pairs)):
        expected = max(plain_time(labels[c, 10:, i] == labels[c, 10:, j]) for i, j in defined)
        assert times.values[c] == pytest.approx(expected)
    assert np.isnan(times.values[2]) and (times.series, times.undefined) == (12, 5)
    assert times.mean == pytest.approx(times.values[:2].mean())


def test_planted_pairs() -> None:
    truth = np.array([7, 7, 7, 7, 2, 2, 2, 9, 9, 9, 9, 9])
    pairs = restarts.planted_pairs(truth, np.random.default_rng(1))
    items = np.unique(pairs)
    assert len(pairs) == len(np.unique(np.sort(pairs, axis=1), axis=0)) == 9 * 8 // 2 and len(items) == 9
    assert np.unique(truth[items], return_counts=True)[1].tolist() == [3, 3, 3]
    assert len(restarts.planted_pairs(np.arange(100) % 5, np.random.default_rng(1))) == 105
    with pytest.raises(ValueError, match="each=4: expected at most 3"):
        restarts.planted_pairs(truth, np.random.default_rng(1), each=4)


def test_standardised_iterations() -> None:
    rows = [(0, "split", 2.0), (0, "merge", 4.0), (0, "gibbs", 3.0), (1, "split", 1.0), (1, "gibbs", 1.0)]
    moves = pd.DataFrame(rows, columns=["chain", "move", "seconds"])
    assert restarts.standardised_iterations(moves, 1000).to_dict() == {0: 3000.0, 1: 2000.0}
    assert restarts.standardised_iterations(moves, {0: 10, 1: 100}).to_dict() == {0: 30.0, 1: 200.0}
    assert restarts.standardised_iterations(moves[moves["move"] == "gibbs"], 500).tolist() == [500.0, 500.0]
    # no sweeps, or no times
    assert np.isnan(restarts.standardised_iterations(moves[moves["move"] != "gibbs"], 500)).all()
    assert np.isnan(restarts.standardised_iterations(moves.assign(seconds=0.0), 500)).all()
