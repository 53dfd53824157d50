"""Mixing diagnostics against their definitions and known processes; scores against hand-worked cases."""

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from rich.console import Console
from scipy.optimize import linear_sum_assignment
from sklearn import metrics

from splitmerge_cli.diagnostics import agreement, diagnosis_tables, mixing, summary


def ar1(phi, n, seed, chains=1):
    e = np.random.default_rng(seed).normal(size=(chains, n))
    x = np.empty_like(e)
    x[:, 0] = e[:, 0] / np.sqrt(1 - phi**2)
    for t in range(1, n):
        x[:, t] = phi * x[:, t - 1] + e[:, t]
    return x


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_autocorrelation_time_and_ess_of_an_autoregression(phi):
    x = ar1(phi, 50_000, 3)[0]
    tau = (1 + phi) / (1 - phi)
    assert float(mixing.autocorrelation_times(x)) == pytest.approx(tau, rel=0.15)
    assert mixing.ess(x) == pytest.approx(len(x) / tau, rel=0.15)


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


@pytest.mark.parametrize("seed", range(30))
def test_accuracy_is_that_of_the_whole_table(seed):
    """Clusters of one true cluster alone are dropped but for the largest, and the other way round."""
    rng = np.random.default_rng(seed)
    truth, labels = (rng.integers(rng.integers(1, 30), size=60) for _ in range(2))
    table = np.zeros((30, 30))
    np.add.at(table, (truth, labels), 1)
    matched = linear_sum_assignment(table, maximize=True)
    assert agreement.accuracy(truth, labels) == pytest.approx(table[matched].sum() / 60, abs=1e-12)


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
    d = diagnosis_tables.as_frame(summary.diagnose(trace, moves) + summary.score(clusterings, truth))
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


def test_diagnosis_says_why_a_value_is_missing():
    d = diagnosis_tables.as_frame(summary.diagnose(*frames(constant=True)))
    assert np.isnan(value(d, "rhat/log_joint").value) and "constant" in value(d, "rhat/log_joint").note
    assert np.isnan(value(d, "tau/log_joint").value) and "0 of 2" in value(d, "tau/log_joint").note
    single = diagnosis_tables.as_frame(summary.diagnose(*frames(chains=1)))
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
    d = diagnosis_tables.as_frame(summary.diagnose(trace[trace["iteration"] == 0], moves))
    assert "fewer than 4" in value(d, "rhat/K").note
    assert np.isnan(value(d, "seconds_per_iteration").value)


def test_terminal_table_shows_values_and_notes():
    console = Console(width=160, record=True)
    console.print(
        diagnosis_tables.table(diagnosis_tables.as_frame(summary.diagnose(*frames(constant=True))), title="run")
    )
    text = console.export_text()
    assert "rhat/log_joint" in text and "constant" in text and "chain 1" in text and "0.25" in text


def test_terminal_table_says_the_note_of_a_subject_once():
    labels = [0, 1, 1]
    clusterings = {
        name: summary.Clustering({0: labels}, labels, f"the note of {name}") for name in ("last", "best_lik", "point")
    }
    console = Console(width=80, record=True)
    rows = summary.diagnose(*frames()) + summary.score(clusterings, labels)
    console.print(diagnosis_tables.table(diagnosis_tables.as_frame(rows)))
    text = console.export_text()
    assert text.count("the note of last") == text.count("the note of point") == 1
    # nothing is cut, only folded
    assert "…" not in text
