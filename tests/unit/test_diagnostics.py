"""Mixing diagnostics against their definitions and known processes; scores against hand-worked cases."""

import arviz_stats
import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from rich.console import Console
from scipy.special import ndtri, stdtrit
from sklearn import metrics

from splitmerge_cli.diagnostics import agreement, convergence, mixing, point_estimate, restarts, summary


def ar1(phi, n, seed, chains=1):
    """Autoregressions of variance 1 / (1 - phi^2): [chains, n]."""
    e = np.random.default_rng(seed).normal(size=(chains, n))
    x = np.empty_like(e)
    x[:, 0] = e[:, 0] / np.sqrt(1 - phi**2)
    for t in range(1, n):
        x[:, t] = phi * x[:, t - 1] + e[:, t]
    return x


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["correlated", "ties", "two values", "apart", "one stuck", "drifting"])
def test_measures_are_those_of_arviz(kind: str) -> None:
    generator = np.random.default_rng(3)
    for _ in range(60):
        chains, n = generator.integers(1, 6), generator.integers(4, 200)
        x = ar1(generator.uniform(-0.95, 0.99), n, int(generator.integers(1000)), chains=chains).reshape(chains, n)
        if kind == "ties":
            x = np.round(x)
        elif kind == "two values":
            x = (x > generator.normal()).astype(float)
        elif kind == "apart":
            x = x + 3 * generator.normal(size=(chains, 1))
        elif kind == "one stuck":
            x[generator.integers(chains)] = 1.0
        elif kind == "drifting":
            x = np.cumsum(x, axis=1)
        axes = {"chain_axis": 0, "draw_axis": 1}
        assert np.isfinite(mixing.rhat(x)) == (mixing.why_no_rhat(x) is None), x
        assert np.isfinite(mixing.rhat_classic(x)) == (mixing.why_no_rhat(x, split=False) is None), x
        if mixing.why_no_rhat(x) is None:
            assert mixing.rhat(x) == pytest.approx(array_stats.rhat(x, **axes, method="rank"), rel=1e-12)
            classic = array_stats.rhat(x, **axes, method="identity")
            assert mixing.rhat_classic(x) == pytest.approx(classic, rel=1e-12)
        if mixing.why_no_ess(x) is None:
            assert mixing.ess(x) == pytest.approx(array_stats.ess(x, **axes, method="bulk"), rel=1e-12)
            tail = array_stats.ess(x, **axes, method="tail", prob=(0.05, 0.95))
            assert mixing.ess_tail(x) == pytest.approx(tail, rel=1e-12)


def test_scores_are_those_of_scikit_learn() -> None:
    generator = np.random.default_rng(4)
    others = {
        "nmi": metrics.normalized_mutual_info_score,
        "ari": metrics.adjusted_rand_score,
        "rand": metrics.rand_score,
    }
    for t in range(300):
        N = generator.integers(1, 60)
        truth, labels = (generator.integers(generator.integers(1, 9), size=N) for _ in range(2))
        labels = truth if t % 5 == 0 else np.arange(N) if t % 7 == 0 else labels
        for name, other in others.items():
            assert agreement.SCORES[name](truth, labels) == pytest.approx(other(truth, labels), abs=1e-12)


def test_no_measure_depends_on_the_scale():
    x = ar1(0.5, 200, 8, chains=2)
    large = x * 1e250
    for measure in (mixing.rhat, mixing.rhat_classic, mixing.ess, mixing.ess_tail):
        # the two in the middle are as far from the median but for rounding, which orders them
        assert measure(large) == pytest.approx(measure(x), rel=1e-4)
    assert mixing.autocorrelation_times(large) == pytest.approx(mixing.autocorrelation_times(x), rel=1e-10)


def test_what_is_defined_and_what_is_not():
    four = ar1(0.1, 4, 4, chains=2)
    assert mixing.why_no_rhat(four) is None and mixing.why_no_ess(four) is None
    # constant in second halves alone
    settled = np.hstack([ar1(0.1, 20, 5, chains=2), np.ones((2, 20))])
    assert mixing.why_no_rhat(settled) is None and np.isfinite(mixing.rhat(settled))
    # each half keeps its distance from the median, which is not the mean
    apart = np.array([[-1.0, 1, 1, 1] * 2, [-2.0, -2, -2, 2] * 2])
    assert np.median(apart) == 0 != apart.mean() and mixing.why_no_rhat(apart) == mixing.DISTANCES_DIFFER
    assert not np.isfinite(mixing.rhat(apart)) and mixing.why_no_rhat(apart, split=False) is None


def test_constant_series_and_single_chains_are_undefined():
    flat = np.ones((3, 50))
    assert np.isnan(mixing.autocorrelation_times(flat[0]))
    assert np.isnan(mixing.ess(flat)) and "constant" in mixing.why_no_ess(flat)
    assert np.isnan(mixing.rhat(flat)) and "same value" in mixing.why_no_rhat(flat)
    stuck = flat * np.arange(3)[:, None]
    assert np.isnan(mixing.rhat(stuck)) and "not mixed" in mixing.why_no_rhat(stuck)
    stepped = np.repeat([[0.0, 1.0], [0.0, 0.0]], 20, axis=1)
    assert np.isnan(mixing.rhat(stepped)) and "half chain" in mixing.why_no_rhat(stepped)
    # the odd draw in the middle belongs to neither half
    assert np.isnan(mixing.rhat(np.insert(stepped, 20, 7.0, axis=1)))
    single = ar1(0.1, 50, 4)
    assert np.isnan(mixing.rhat(single)) and "one chain" in mixing.why_no_rhat(single)
    assert "fewer than 4" in mixing.why_no_rhat(ar1(0.1, 3, 4, chains=2))


def test_of_a_long_trace_every_mth_draw_is_looked_at(monkeypatch):
    rng = np.random.default_rng(3)
    x = np.repeat(rng.normal(size=600), 20)
    trace = pd.DataFrame({"chain": 0, "iteration": np.arange(len(x)), "seconds": 0.0, "log_joint": x})
    moves = [{"chain": 0, "move": "split", "proposed": 1, "accepted": 0, "null": 0}]

    def quantities() -> dict[str, float]:
        return {quantity: value for quantity, _, value, _ in summary.diagnose(trace, moves)}

    whole = quantities()
    monkeypatch.setattr(summary, "LONGEST", 1_000)
    thinned = quantities()
    assert thinned["ess/log_joint"] == pytest.approx(whole["ess/log_joint"], rel=0.1)
    assert thinned["tau/log_joint"] == pytest.approx(whole["tau/log_joint"], rel=0.2)
    assert thinned["mean/log_joint"] == whole["mean/log_joint"]
    notes = {quantity: note for quantity, chain, _, note in summary.diagnose(trace, moves) if chain is None}
    assert "every 6-th" in notes["ess/log_joint"]


def test_scores_of_many_singletons_take_no_table_of_all():
    N = 200_000
    truth = np.arange(N) % 2_000
    assert agreement.accuracy(truth, np.arange(N)) == pytest.approx(2_000 / N)
    assert agreement.accuracy(np.arange(N), truth) == pytest.approx(2_000 / N)
    assert agreement.purity(truth, np.arange(N)) == 1


def test_scores_by_hand():
    truth = [0, 0, 0, 1, 1, 1]
    labels = [5, 5, 2, 2, 2, 2]
    assert agreement.purity(truth, labels) == pytest.approx(5 / 6)
    assert agreement.accuracy(truth, labels) == pytest.approx(5 / 6)
    # singletons are pure, but only one of each true cluster can be matched
    assert agreement.purity(truth, range(6)) == 1
    assert agreement.accuracy(truth, range(6)) == pytest.approx(2 / 6)
    for score in agreement.SCORES.values():
        assert score(truth, [3, 3, 3, 0, 0, 0]) == pytest.approx(1)


def frames(chains=2, n=400, constant=False):
    rng = np.random.default_rng(5)
    trace = pd.concat(
        [
            pd.DataFrame(
                {
                    "chain": c,
                    "iteration": np.arange(n + 1),
                    "seconds": np.arange(n + 1) * 0.5,
                    "log_joint": -1.0 if constant else rng.normal(size=n + 1) + c,
                    "log_lik": rng.normal(size=n + 1),
                    "n_clusters": rng.integers(3, 6, size=n + 1),
                    "K": rng.integers(3, 6, size=n + 1),
                    "largest": [list(row) for row in rng.dirichlet(np.ones(5), size=n + 1)],
                }
            )
            for c in range(chains)
        ],
        ignore_index=True,
    )
    moves = pd.DataFrame(
        {
            "chain": [0, 0, 1, 1][: 2 * chains],
            "move": ["split", "merge"] * chains,
            "proposed": [10, 0, 30, 0][: 2 * chains],
            "accepted": [1, 0, 9, 0][: 2 * chains],
            "null": [2, 0, 2, 0][: 2 * chains],
        }
    )
    return trace, moves.to_dict("records")


def value(diagnosis, quantity, chain=None):
    rows = diagnosis[diagnosis["quantity"] == quantity]
    rows = rows[rows["chain"].isna()] if chain is None else rows[rows["chain"] == chain]
    assert len(rows) == 1
    return rows.iloc[0]


def test_diagnosis_of_a_run():
    trace, moves = frames()
    truth = np.array([0, 0, 1, 1])
    labels = {0: np.array([0, 0, 0, 0]), 1: np.array([1, 1, 0, 0])}
    clusterings = {
        "best": summary.Clustering(labels, labels[1], "chain 1"),
        "point": summary.Clustering({0: labels[0]}, None, "none at all"),
    }
    d = restarts.as_frame(summary.diagnose(trace, moves) + summary.score(clusterings, truth))
    kept = trace[trace["iteration"] > 200]
    by_chain = [g["log_joint"].to_numpy() for _, g in kept.groupby("chain")]
    assert value(d, "rhat/log_joint").value == pytest.approx(mixing.rhat(np.stack(by_chain)))
    assert value(d, "mean/largest", 1).value == pytest.approx(
        np.mean([row[0] for row in kept.loc[kept["chain"] == 1, "largest"]])
    )
    assert value(d, "tau/K", 0).value == pytest.approx(
        mixing.autocorrelation_times(kept.loc[kept["chain"] == 0, "K"].to_numpy())
    )
    assert value(d, "acceptance/split").value == pytest.approx(0.25)
    assert value(d, "acceptance/split", 0).value == pytest.approx(0.1)
    assert value(d, "null/split", 0).value == pytest.approx(0.2)
    assert np.isnan(value(d, "acceptance/merge").value) and value(d, "acceptance/merge").note == "never proposed"
    assert value(d, "seconds_per_iteration").value == pytest.approx(0.5)
    for score in agreement.SCORES:
        assert value(d, f"{score}/best").value == value(d, f"{score}/best", 1).value == pytest.approx(1)
        assert value(d, f"{score}/best").note == "chain 1"
        assert value(d, f"{score}/best", 0).value < 1
        assert np.isnan(value(d, f"{score}/point").value) and value(d, f"{score}/point").note == "none at all"
        assert not ((d["quantity"] == f"{score}/point") & (d["chain"] == 1)).any()
    assert value(d, "nmi/point", 0).value == pytest.approx(0)


def test_short_lines_leave_out_updates_that_a_model_has_nothing_for() -> None:
    shares = {"split": 0.25, "merge": np.nan, "parameters": 1.0, "concentration": np.nan}
    rows = [(f"acceptance/{name}", None, share, None) for name, share in shares.items()]
    lines = list(restarts.short_lines(pd.DataFrame(rows, columns=summary.COLUMNS)))
    assert lines == ["accepted: split 25.00%, merge never proposed, parameters 100.00%"]


def test_diagnosis_says_why_a_value_is_missing():
    d = restarts.as_frame(summary.diagnose(*frames(constant=True)))
    assert np.isnan(value(d, "rhat/log_joint").value) and "constant" in value(d, "rhat/log_joint").note
    assert np.isnan(value(d, "tau/log_joint").value) and "0 of 2" in value(d, "tau/log_joint").note
    single = restarts.as_frame(summary.diagnose(*frames(chains=1)))
    assert np.isnan(value(single, "rhat/K").value) and "one chain" in value(single, "rhat/K").note
    assert not (d["quantity"] == "nmi/best").any()


def test_chains_of_different_length_are_cut_to_the_shortest():
    trace, _ = frames()
    short = trace[(trace["chain"] == 0) | (trace["iteration"] <= 100)]
    x = summary.second_half(short)["K"]
    assert x.shape == (2, 50)
    assert x[0].tolist() == trace.loc[(trace["chain"] == 0), "K"].tolist()[-50:]


def test_a_run_of_no_iterations_has_its_start_state_only():
    trace, moves = frames()
    d = restarts.as_frame(summary.diagnose(trace[trace["iteration"] == 0], moves))
    assert "fewer than 4" in value(d, "rhat/K").note
    assert np.isnan(value(d, "seconds_per_iteration").value)


def test_terminal_table_says_the_note_of_a_subject_once():
    labels = [0, 1, 1]
    clusterings = {
        name: summary.Clustering({0: labels}, labels, f"the note of {name}") for name in ("last", "best_lik", "point")
    }
    console = Console(width=80, record=True)
    rows = summary.diagnose(*frames()) + summary.score(clusterings, labels)
    console.print(restarts.table(restarts.as_frame(rows)))
    text = console.export_text()
    assert text.count("the note of last") == text.count("the note of point") == 1
    # nothing is cut, only folded
    assert "…" not in text


# ---- Diagnostics of restarts against their definitions, written out plainly.


def series(restarts_: int = 4, S: int = 3, draws: int = 200, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(restarts_, S, draws)).cumsum(axis=2) * 0.1 + rng.normal(size=(restarts_, S, draws))


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
    assert found.classic == pytest.approx([mixing.rhat_classic(x[:, s]) for s in range(3)], rel=1e-10)
    assert found.ranked == pytest.approx([mixing.rhat(x[:, s]) for s in range(3)])
    assert found.mean == pytest.approx(np.mean(found.classic)) and found.spread == pytest.approx(
        np.std(found.classic, ddof=1)
    )
    assert not found.undefined and not found.constant


def test_constant_series_are_counted_and_named() -> None:
    x = series()
    x[:, 0] = 1.0
    x[:, 2] = np.arange(4)[:, None]
    x[2, 1] = 5.0
    found = restarts.between_restarts(x)
    assert np.isnan(found.classic).tolist() == [True, False, True]
    assert "same value" in found.undefined[0] and "chains differ" in found.undefined[2] and len(found.undefined) == 2
    assert found.constant == [(0, 0), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2), (3, 0), (3, 2)]
    assert found.mean == pytest.approx(mixing.rhat_classic(x[:, 1])) and np.isnan(found.spread)
    nothing = restarts.between_restarts(np.ones((2, 2, 9)))
    assert np.isnan(nothing.mean) and np.isnan(nothing.spread) and len(nothing.undefined) == 2


def test_a_step_in_the_middle_leaves_the_classic_one_defined() -> None:
    x = np.zeros((2, 1, 40))
    x[0, 0, 20:] = 1.0
    found = restarts.between_restarts(x)
    assert (
        found.classic == pytest.approx([mixing.rhat_classic(x[:, 0])])
        and np.isnan(found.ranked[0])
        and not found.undefined
    )


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


# ---- Monte Carlo errors are what the means of repeated samples differ by.

PARTITIONS = np.array([[0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 2], [0, 0, 1, 1, 1, 1]], dtype=np.int32)
SHARES = (0.6, 0.3, 0.1)
"""Posterior probabilities of these partitions."""
REPEATS = 300


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_means_of_repeated_samples_differ_by_their_error(rho: float) -> None:
    rng = np.random.default_rng(3)
    samples = [ar1(rho, 400, rng, chains=4) for _ in range(REPEATS)]
    spread = np.sqrt(np.mean([x.mean() ** 2 for x in samples]))
    assert np.sqrt(np.mean([convergence.mean_error(x) ** 2 for x in samples])) == pytest.approx(spread, rel=0.12)
    assert convergence.mean_error(samples[0]) == pytest.approx(float(arviz_stats.mcse(samples[0])), rel=0.02)


def test_the_error_of_a_quantile_is_that_of_its_probability() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(4, 1000))
    known = float(arviz_stats.mcse(x, method="quantile", prob=0.025))
    assert convergence.quantile_error(x, 0.025) == pytest.approx(known, rel=0.15)
    # of whole numbers: either end of the step
    counts = np.where(rng.random((4, 100)) < 0.025, 2.0, 3.0)
    assert convergence.quantile_error(counts, 0.025) == 0.5
    assert convergence.quantile_error(counts, 0.975) == convergence.quantile_error(np.full((4, 100), 3.0), 0.025) == 0.0


def test_what_is_reported_differs_by_its_error() -> None:
    """Independent draws from three partitions have known certainties and a known mean number of clusters."""
    rng = np.random.default_rng(5)
    actual, stated = [], []
    for _ in range(REPEATS):
        which = rng.choice(3, p=SHARES, size=(4, 60))
        drawn = PARTITIONS[which]
        counts = drawn.max(axis=2) + 1.0
        rows = {name: value for name, _, value, _ in convergence.report_errors(counts, dict(enumerate(drawn)))}
        share = np.bincount(which.ravel(), minlength=3) / which.size - SHARES
        # certainties of the first partition, the most central: items 2, 3 and 4 join others together; of five clusters
        # and fewer the error is a share of five
        together = np.array([[1, 0.5, 0.5], [1, 0.5, 0.5], [1, 0, 0], [1, 1, 1], [1, 1, 1], [1, 1, 0]]) @ share
        actual.append((np.mean(together**2), (share[2] / 5) ** 2))
        stated.append((rows["mcse/certainty"] ** 2, rows["mcse/n_clusters"] ** 2))
    assert np.sqrt(np.mean(stated, axis=0)) == pytest.approx(np.sqrt(np.mean(actual, axis=0)), rel=0.1)


def test_chains_in_different_partitions_have_a_large_error() -> None:
    """A chain that keeps its partition has one draw, not as many as it records."""
    drawn = dict(enumerate(np.repeat(PARTITIONS[[0, 0, 1, 1], None], 50, axis=1)))
    rows = dict(row[:1] + row[2:3] for row in convergence.report_errors(np.full((4, 50), 3.0), drawn))
    assert rows["mcse/n_clusters"] == rows["mcse/interval_low"] == 0
    assert rows["mcse/certainty"] > 0.1 and rows["mcse/expected_loss"] > 0.1


def test_too_few_draws_have_no_error() -> None:
    assert convergence.report_errors(np.full((4, 3), 2.0), {}) == []
    few = dict(enumerate(np.repeat(PARTITIONS[[0, 1], None], convergence.FEWEST - 1, axis=1)))
    rows = dict(row[:1] + row[2:3] for row in convergence.report_errors(np.full((2, 50), 3.0), few))
    assert np.isnan(rows["mcse/certainty"]) and rows["mcse/n_clusters"] == 0
    assert set(rows) == {
        f"mcse/{x}" for x in ("n_clusters", "interval_low", "interval_high", "expected_loss", "certainty")
    }
    assert len(convergence.report_errors(np.full((2, 50), 3.0), {})) == 3


def test_of_many_items_errors_are_those_of_more_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where fewer partitions are kept, no longer chain has more of them."""
    drawn = dict(enumerate(PARTITIONS[np.random.default_rng(6).choice(3, p=SHARES, size=(4, 25))]))
    whole = convergence.report_errors(np.full((4, 25), 3.0), drawn)
    monkeypatch.setattr(point_estimate, "most_partitions", lambda N: 25)
    few = convergence.report_errors(np.full((4, 25), 3.0), drawn)
    assert [row[2] for row in few[-2:]] == pytest.approx([row[2] / 2 for row in whole[-2:]])
    assert {type(row[2]) for row in (*few, *whole)} == {float}  # NumPy's numbers make bools that no JSON takes
    assert few[-1][3] == "as for 400 partitions: 100 are kept with so many items" and whole[-1][3] is None


# ---- Quantiles without SciPy are those of SciPy.


def test_normal_quantiles_have_fourteen_digits() -> None:
    shares = np.concatenate([np.random.default_rng(0).random(20_000), 10.0 ** -np.linspace(1, 17, 500), [0.5]])
    np.testing.assert_allclose(mixing.normal_quantile(shares), ndtri(shares), rtol=1e-14)
    assert mixing.normal_quantile(0.975).shape == () and mixing.normal_quantile(np.ones((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("p", [0.9, 0.975, 0.999])
def test_quantiles_of_t_have_ten_digits(p: float) -> None:
    for freedom in (np.arange(1.0, 150.0), np.array([[0.0, 2.5], [499.0, 501.0]]), np.array([1e4, 1e5, 1e6])):
        np.testing.assert_allclose(mixing.student_quantile(p, freedom), stdtrit(freedom, p), rtol=2e-9)


@pytest.mark.parametrize("freedom", [np.array([0.3, 2.0]), np.array([1.1]), np.arange(0.0, 400.0)])
def test_few_or_many_degrees_of_freedom_are_left_to_scipy(freedom: np.ndarray) -> None:
    np.testing.assert_array_equal(mixing.student_quantile(0.975, freedom), stdtrit(freedom, 0.975))
