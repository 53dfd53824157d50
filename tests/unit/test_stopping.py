"""Quantities that ``until`` looks at, on chains made up for the purpose."""

import math
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from splitmerge_cli.config import specify
from splitmerge_cli.config.schema import Until
from splitmerge_cli.diagnostics.agreement import chain_groups, describe_difference, draw_groups
from splitmerge_cli.diagnostics.convergence import NOT_CONVERGED, Convergence, convergence
from splitmerge_cli.diagnostics.summary import DISTANCE, FEW_DISTANCES, TRIED, measure
from splitmerge_cli.kinds.records.entities import Entities
from splitmerge_cli.papers import experiments
from splitmerge_cli.runs.continuation import _is_stricter
from splitmerge_cli.runs.judgement import describe_look, evidence, judgement_of, look
from splitmerge_cli.runs.progress import FAR, ChainProgress, Lines, SweepProgress, SweepState
from splitmerge_cli.runs.store import schema
from splitmerge_cli.runs.store.manifest import write_sealed
from splitmerge_cli.runs.sweeps import sweep

DRAWS = 400


def chain(number: int, labels: list[int], seed: int, K: Any = 2) -> SimpleNamespace:
    """A chain whose trace is noise and whose partition never changes."""
    noise = np.random.default_rng(seed).normal(size=DRAWS)
    at = np.arange(1, DRAWS + 1)
    trace = pd.DataFrame(
        {"chain": number, "iteration": at, "seconds": 0.0, "K": K, "n_clusters": K, "log_joint": noise}
    )
    trace["largest"] = [[0.5, 0.5, 0.0, 0.0, 0.0]] * DRAWS
    partitions = pd.DataFrame({"chain": number, "iteration": at, "labels": [labels] * DRAWS})
    tables = {schema.TRACE: pa.Table.from_pandas(trace), schema.PARTITIONS: pa.Table.from_pandas(partitions)}
    return SimpleNamespace(table=lambda name, _: tables[name])


def plan() -> SimpleNamespace:
    until = Until(rhat=1.1, ess=50)
    streamed = [SimpleNamespace(table=name) for name in (schema.TRACE, schema.PARTITIONS)]
    return SimpleNamespace(
        n_chains=2,
        stopping_rule=until,
        is_open=False,
        recorder=SimpleNamespace(streamed_tables=streamed, not_estimated=None),
        dataset=SimpleNamespace(N=4, kind=SimpleNamespace(has_small_clusters=False, answers="")),
        iterations=DRAWS,
    )


@pytest.mark.parametrize(("labels", "reached"), [([0, 0, 1, 1], True), ([0, 1, 0, 1], False)])
def test_chains_of_other_partitions_do_not_agree(labels: list[int], reached: bool) -> None:
    """As many clusters, as large, at the same density: only the distance between partitions tells them apart."""
    found = look(plan(), [chain(0, [0, 0, 1, 1], 1), chain(1, labels, 2)], DRAWS)
    assert found.reached == reached
    assert found.ess_of == "log_joint"
    if not reached:
        assert found.rhat_of == "distance" and found.rhat is None


def test_what_the_end_judges_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of records is judged by its pairs, too: a look without them ended it before they were long enough."""
    slow = np.random.default_rng(4).normal(size=(2, DRAWS // 2)).cumsum(axis=1)
    monkeypatch.setattr(Entities, "judge", lambda partitions: measure("pairs", slow)[1])
    asked, chains = plan(), [chain(0, [0, 0, 1, 1], 1), chain(1, [0, 0, 1, 1], 2)]
    assert look(asked, chains, DRAWS).reached
    asked.dataset.kind.answers = "splitmerge_cli.kinds.records.entities:Entities"
    found = look(asked, chains, DRAWS)
    assert not found.reached and found.ess_of == "pairs"


def test_too_few_draws_reach_nothing() -> None:
    chains = [chain(0, [0, 0, 1, 1], 1), chain(1, [0, 0, 1, 1], 2)]
    assert not look(plan(), chains, 0).reached
    assert not look(plan(), chains, 4).reached


def test_errors_are_looked_at_when_r_hat_is_reached() -> None:
    chains, asked = [chain(0, [0, 0, 1, 1], 1), chain(1, [0, 0, 1, 1], 2)], plan()
    asked.stopping_rule = Until(rhat=1.1, ess=50, mcse=0.02)
    found = look(asked, chains, DRAWS)
    assert found.reached and found.mcse == 0
    asked.stopping_rule = Until(rhat=1.1, ess=1e6, mcse=0.02)
    found = look(asked, chains, DRAWS)
    assert not found.reached and found.mcse is None
    line = describe_look(asdict(found), asdict(asked.stopping_rule))
    assert line.startswith("not long enough after 400 iterations: largest R-hat ") and "Monte Carlo" not in line
    alone = describe_look(asdict(found), {"rhat": None, "ess": None, "mcse": 0.02})
    assert alone == "not long enough after 400 iterations: Monte Carlo error undefined, target 0.02"
    # a rounded figure reaches no target that it misses
    missed = asdict(found) | {"rhat": 1.01004, "ess": 399.7}
    line = describe_look(missed, {"rhat": 1.01, "ess": 400, "mcse": None})
    assert " R-hat 1.01004 " in line and " ESS 399.7 " in line
    infinite = describe_look(asdict(found) | {"rhat": None, "rhat_of": "K"}, {"rhat": 1.1, "ess": None, "mcse": None})
    assert infinite == "not long enough after 400 iterations: R-hat infinite, target 1.1"
    asked.stopping_rule = Until(rhat=1.1, ess=50, mcse=1e-9)
    K = np.random.default_rng(3).integers(2, 4, (2, DRAWS))
    chains = [chain(c, [0, 0, 1, 1], c, K=K[c]) for c in (0, 1)]
    line = describe_look(asdict(look(asked, chains, DRAWS)), asdict(asked.stopping_rule))
    assert "; largest Monte Carlo error 0.0" in line and line.endswith(", target 1e-09")


def test_soon_only_chains_without_a_difference_end() -> None:
    chains, asked = [chain(0, [0, 0, 1, 1], 1), chain(1, [0, 0, 1, 1], 2)], plan()
    asked.stopping_rule, asked.is_open = Until(rhat=1.5, ess=5, mcse=0.5), True
    assert look(asked, chains, 300).reached and not look(asked, chains, 120).reached


@pytest.mark.parametrize(
    ("until", "than", "is_stricter"),
    [
        (Until(1.05, 100, 0.01), Until(1.05, 100, 0.02), True),
        (Until(1.05, 100, 0.02), Until(1.05, 100, 0.01), False),
        (Until(1.01, 400), Until(1.05, 100, 0.02), False),
        (Until(1.05, 100, 0.02), Until(1.05, 100), True),
    ],
)
def test_a_run_goes_on_from_one_that_asked_for_less(until: Until, than: Until, is_stricter: bool) -> None:
    assert _is_stricter(until, than) == is_stricter


# ---- The one judgement of a run's chains, on chains made up for the purpose.


def trace(K: Any = 3, chains: int = 2, **columns: Any) -> pd.DataFrame:
    """Chains of noise with `K` clusters, the same number or one a row."""
    n = chains * (DRAWS + 1)
    noise = np.random.default_rng(1).normal(size=n)
    frame = pd.DataFrame({"chain": np.repeat(range(chains), DRAWS + 1), "iteration": list(range(DRAWS + 1)) * chains})
    return frame.assign(
        seconds=0.0, log_joint=noise, K=K, n_clusters=K, largest=[[0.5, 0.3, 0.2, 0.0, 0.0]] * n, **columns
    )


def numbers(K: int, others: dict[int, int]) -> np.ndarray:
    """`K` clusters in every row of two chains, but in some."""
    out = np.full(2 * (DRAWS + 1), K)
    out[list(others)] = list(others.values())
    return out


def count(move: str, chain: int, last: int, proposed: int = TRIED) -> dict[str, Any]:
    return {"move": move, "chain": chain, "proposed": proposed, "accepted": 9, "null": 0, "last_accepted": last}


def judge(table: pd.DataFrame, init: str = "random", moves: Any = (), partitions: Any = None) -> Convergence:
    return convergence(evidence(table, moves, partitions or {}, init))


def test_chains_that_keep_one_number_came_from_both_sides_or_show_nothing() -> None:
    stayed = judge(trace(K=3))
    assert stayed.converged is None and stayed.is_one_sided
    assert stayed.note == "all chains have 3 clusters throughout their second halves, and none ever had more or fewer"
    assert stayed.rhat is not None and stayed.rhat < NOT_CONVERGED
    # starts that each chain looks for by itself are apart
    assert judge(trace(K=3), init="search").converged
    second = DRAWS + 1  # the first row of the other chain
    for apart, missing in (({0: 4}, "fewer"), ({second + 5: 2}, "more"), ({0: 4, second: 2}, None)):
        found = judge(trace(K=numbers(3, apart)))
        assert found.converged is (None if missing else True) and found.is_one_sided == bool(missing)
        assert missing is None or found.note.endswith(f"none ever had {missing}")
    # a number that changes in a second half is sampled
    assert judge(trace(K=numbers(3, {DRAWS: 4}))).converged
    # no partition has fewer clusters than one, or more than model and prior allow
    assert judge(trace(K=numbers(1, {0: 2}))).converged
    for largest_K in (3, 4):
        found = convergence(evidence(trace(K=numbers(3, {0: 2})), (), {}, "random", largest_K))
        assert found.is_one_sided == (largest_K == 4)
    # known classes need as many clusters
    assert convergence(evidence(trace(K=numbers(3, {0: 4})), (), {}, "random", None, 3)).converged
    # of one chain nothing is known in any case
    assert judge(trace(K=3, chains=1)).note == "one chain cannot show it, because R-hat compares chains"


def test_chains_in_partitions_apart_have_not_converged() -> None:
    """As many clusters, as large, at the same density."""
    K = numbers(3, {0: 4, 1: 2})
    rows = np.repeat([[0, 0, 1, 1]], FEW_DISTANCES, axis=0).astype(np.int32)
    assert judge(trace(K=K), partitions={0: rows, 1: rows}).converged
    apart = judge(trace(K=K), partitions={0: rows, 1: rows[:, [0, 2, 1, 3]]})
    assert apart.converged is False and apart.quantity == DISTANCE and apart.rhat is None
    # of two chains one has recorded nothing: no distance
    assert judge(trace(K=K), partitions={0: rows}).quantity != DISTANCE


def test_few_distances_are_no_evidence_unless_chains_keep_apart() -> None:
    apart = np.array([[0.0], [1.0]])
    few = np.random.default_rng(2).normal(size=(2, FEW_DISTANCES - 1)) + apart
    (_, _, value, note), *_ = measure(DISTANCE, few)[1]
    assert np.isnan(value) and note == f"fewer than {FEW_DISTANCES} distances per chain"
    enough = np.random.default_rng(2).normal(size=(2, FEW_DISTANCES)) + apart
    rows = measure(DISTANCE, enough)[1]
    assert rows[0][2] > NOT_CONVERGED and convergence(rows).converged is False
    # chains that never leave places of their own differ, however few their draws are
    assert convergence(measure(DISTANCE, np.repeat(apart, 5, axis=1))[1]).converged is False


def test_moves_that_no_chain_accepts_in_its_second_half_are_named() -> None:
    half = DRAWS // 2
    moves = [count("split", 0, half), count("split", 1, half), count("merge", 0, half), count("merge", 1, half + 1)]
    moves += [count("gibbs", 0, 0, proposed=TRIED // 2 - 1), count("gibbs", 1, 0, proposed=TRIED // 2)]
    moves += [count("swap", chain, 0, proposed=TRIED // 2) for chain in range(2)]
    assert judge(trace(), moves=moves).never_accepted == ("split", "swap")
    # files do not say when a move was last accepted
    for move in moves:
        del move["last_accepted"]
    assert judge(trace(), moves=moves).never_accepted == ()


def test_tails_count() -> None:
    """Bulk draws are independent; now and then a chain stays far out for long."""
    series = np.random.default_rng(3).normal(size=(4, DRAWS))
    for chain, at in enumerate((20, 120, 220, 320)):
        series[chain, at : at + 15] = 8.0
    _, rows = measure("x", series)
    by_kind = {quantity.partition("/")[0]: value for quantity, _, value, _ in rows}
    assert by_kind["ess_tail"] < by_kind["ess"] / 2
    judged = convergence(rows)
    assert judged.ess == by_kind["ess_tail"]
    assert judged.reaches(None, by_kind["ess_tail"]) and not judged.reaches(None, by_kind["ess"])


def test_values_that_are_undefined_reach_nothing() -> None:
    alone = convergence(measure("x", np.random.default_rng(4).normal(size=(1, DRAWS)))[1])
    assert alone.rhat is None and alone.ess is not None
    assert not alone.reaches(1.1, None) and alone.reaches(None, 10) and not alone.reaches(1.1, 10)
    assert not Convergence(None).reaches(None, 10)
    few = convergence(measure("x", np.random.default_rng(4).normal(size=(2, 3)))[1])
    assert not few.reaches(None, None)
    constant = convergence(measure("x", np.ones((2, DRAWS)))[1])
    assert constant.is_constant and constant.reaches(1.01, 400)
    stuck = convergence(measure("x", np.array([[0.0] * 9, [1.0] * 9]))[1])
    assert stuck.converged is False and stuck.rhat is None and not stuck.reaches(1.1, None)


@pytest.mark.parametrize("stored", [{"converged": True, "rhat": 1.0, "quantity": "K", "note": None}, None])
def test_a_run_judged_by_less_is_judged_again(stored: dict[str, Any] | None) -> None:
    """Earlier versions looked neither at distances nor at where chains began."""
    table = trace(K=5)
    labels = pd.DataFrame({"chain": [0, 1], "iteration": [DRAWS] * 2, "labels": [[0, 0, 1, 1]] * 2})
    run: Any = SimpleNamespace(
        is_done=True,
        summary={"convergence": stored},
        config={"init": "random"},
        trace=lambda: table,
        partitions=lambda: labels,
        moves=lambda: pd.DataFrame(),
    )
    assert judgement_of(run).is_one_sided


def test_monte_carlo_errors_are_judged_with_the_others() -> None:
    known = [("rhat/K", None, 1.03, None), ("ess/K", None, 150.0, None)]
    errors = [("mcse/certainty", None, 0.015, None), ("mcse/interval_low", None, 0.09, None)]
    found = convergence([*known, *errors])
    # an end of the interval may have five times the error of a certainty
    assert (found.mcse, found.mcse_of) == (0.018, "interval_low")
    assert found.reaches(1.05, 100, 0.02) and not found.reaches(1.05, 100, 0.017)
    assert not found.reaches(1.02, 100, 0.02) and not found.reaches(1.05, 200, 0.02)
    # what is not known reaches nothing
    unknown = convergence([*known, ("mcse/certainty", None, float("nan"), "too few")])
    assert unknown.reaches(1.05, 100) and not unknown.reaches(1.05, 100, 0.02)


# ---- Groups of chains, and in what their partitions differ.

RNG = np.random.default_rng(0)
TEN, FIVE = np.repeat(np.arange(10), 20), np.repeat(np.arange(5), 40)


def near(labels: np.ndarray, share: float, draws: int = 30) -> np.ndarray:
    """Partitions with a share of the items put at random."""
    rows = np.tile(labels, (draws, 1))
    moved = RNG.random(rows.shape) < share
    rows[moved] = RNG.integers(labels.max() + 1, size=moved.sum())
    return rows


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1])
def test_chains_near_one_partition_are_a_group(share: float) -> None:
    chains = {0: near(TEN, share), 1: near(FIVE, share), 2: near(TEN, share), 3: near(FIVE, share)}
    assert chain_groups(chains) == [[0, 2], [1, 3]]
    assert chain_groups({c: near(TEN, share) for c in range(3)}) == [[0, 1, 2]]


def test_a_chain_that_visits_both_joins_them() -> None:
    both = np.concatenate([near(TEN, 0.01), near(FIVE, 0.01)])
    assert chain_groups({0: near(TEN, 0.01), 1: near(FIVE, 0.01), 2: both}) == [[0, 1, 2]]


def test_differences_are_named_by_clusters_that_are_one() -> None:
    said = describe_difference(TEN, FIVE)
    assert said.startswith("clusters of 20 and 20 items of the first are one in the second; ")
    assert said.endswith("; 3 more such unions")
    assert describe_difference(FIVE, TEN, "node", "block").startswith("blocks of 20 and 20 nodes of the second")
    assert "of the second are one in the first" in describe_difference(FIVE, TEN)
    crossed = np.tile(np.repeat([0, 1], 10), 2)
    assert describe_difference(np.repeat([0, 1], 20), crossed) == "20 items are in another cluster"
    assert describe_difference(TEN, TEN) == "0 items are in another cluster"


def test_kinds_of_draws_between_which_chains_move_seldom() -> None:
    both = np.concatenate([near(TEN, 0.05, 20), near(FIVE, 0.05, 40)])
    found = draw_groups({0: near(TEN, 0.05, 60), 1: both, 2: near(TEN, 0.05, 60)})
    assert found is not None
    assert not found[0].any() and not found[2].any()
    assert 18 <= int((found[1] == 0).sum()) <= 22 and set(found[1][25:]) == {1}
    assert draw_groups({c: near(TEN, 0.3, 60) for c in range(3)}) is None
    assert draw_groups({c: near(TEN, 0.0, 60) for c in range(3)}) is None


@pytest.mark.filterwarnings("error")
def test_draws_that_are_all_as_far_apart_are_of_no_kind() -> None:
    apart = np.eye(40, dtype=np.int32)
    assert draw_groups({0: apart, 1: apart}) is None


# ---- Lines of progress.


@pytest.mark.parametrize(
    ("fraction", "left", "end"), [(0.5, 90.4, "-6.0 to -5.0  0:01:30 left"), (0.5, FAR, "-6.0 to -5.0"), (1.0, 0.0, "")]
)
def test_one_line_says_how_long_all_chains_will_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fraction: float, left: float, end: str
) -> None:
    monkeypatch.setattr("splitmerge_cli.runs.progress.LINE_EVERY", 0.0)
    lines = Lines()
    lines.start(2)
    lines.update(0, ChainProgress(60, 1.0, 5.0, 6, -6.0, 0.0))
    capsys.readouterr()
    lines.update(1, ChainProgress(100, fraction, 10.0, 7, -5.0, left))
    line = capsys.readouterr().err
    assert bool(line) == (fraction < 1)  # nothing once all have ended
    assert not line or line.startswith(f"{(1 + fraction) / 2:4.0%}  160 iterations of 2 chains  15 it/s  K=6 to 7")
    assert line.endswith(f"{end}\n") or not line


def test_without_a_terminal_a_line_in_ten_seconds_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.start(4)
    for iteration in range(50):
        for chain in range(4):
            lines.update(chain, ChainProgress(iteration, iteration / 50, 10.0, 7, -5.0, 1.0))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("left", "end"), [(math.inf, "so far"), (3661.0, "so far  1:01:01 left")])
def test_a_line_says_how_long_the_sweep_will_take(left: float, end: str) -> None:
    line = SweepProgress("lines", 1449, lambda: SweepState(0, 0.0)).line(SweepState(259, 260.8, left))
    assert line == f"259 of 1449 jobs (18%)  0:00:00 {end}"


def store_status(folder: Path, name: str, state: str, seconds: float, share: float) -> None:
    """The status of a run."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    status = {"state": state, "share": share, "config_sha256": "", "started": begin.isoformat()}
    (folder / name).mkdir(parents=True)
    write_sealed(folder / name / "status.json", status | {"updated": (begin + timedelta(seconds=seconds)).isoformat()})


def test_time_left_follows_from_the_durations_of_complete_runs_of_the_experiment(tmp_path: Path) -> None:
    names = ["short/a", "short/b", "short/c", "long/a", "long/b", "others/a"]
    jobs = {tmp_path / name: specify([f"N={len(name)}", f"seed={ord(name[-1])}"]) for name in names}
    first = dict(list(jobs.items())[:3])
    poll = sweep._Poll([(first, 2), ({path: job for path, job in jobs.items() if path not in first}, 1)])
    assert poll() == SweepState(0, 0.0)
    store_status(tmp_path, "short/a", "done", 10, 1.0)
    store_status(tmp_path, "long/a", "done", 100, 1.0)
    store_status(tmp_path, "short/b", "interrupted", 5, 0.5)
    at = poll()
    assert (at.complete, at.share) == (2, 2.5)
    # two short ones at a time, of one of which a half is left; then a long one, and one like the mean of all
    assert at.left == pytest.approx((0.5 * 10 + 10) / 2 + 100 + 55)


def test_time_left_knows_the_seconds_that_jobs_are_given(tmp_path: Path) -> None:
    jobs = {
        tmp_path / "fig" / f"{budget}{name}": specify([f"budget={budget}", f"seed={seed}"])
        for budget in (1, 30)
        for seed, name in enumerate("ab")
    }
    poll = sweep._Poll([(jobs, 1)])
    store_status(tmp_path, "fig/1a", "done", 3, 1.0)
    # each takes two seconds more than it is given
    assert poll().left == pytest.approx(3 + 32 + 32)
    store_status(tmp_path, "fig/30a", "done", 31, 1.0)
    assert poll().left == pytest.approx(3 + 31)


def test_timed_runs_are_made_one_at_a_time_after_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[tuple[int | None, list[int]]] = []

    def make(launch: sweep.Launch, jobs: sweep.Jobs, ended: dict[Path, sweep.Ended]) -> None:
        made.append((launch.workers, [job.seed for job in jobs.values()]))
        ended.update(dict.fromkeys(jobs, ("done", None)))

    monkeypatch.setattr(sweep.Launch, "make", make)
    jobs = [specify(["N=10", "iterations=5", f"seed={seed}", f"out={tmp_path}"]) for seed in range(5)]
    outcomes = sweep.run_jobs(jobs, 3, timed=[jobs[0].words, jobs[2].words])
    assert made == [(3, [1, 3, 4]), (1, [0, 2])]
    assert [one.status for one in outcomes] == ["done"] * 5
    assert "2 of 5 jobs are timed: one at a time, after the others" in capsys.readouterr().err


def test_experiments_say_which_of_their_runs_are_timed(tmp_path: Path) -> None:
    jobs = {tuple(job) for job in experiments.jobs("triadic-table1", "paper", tmp_path)}
    timed = experiments.timed_jobs("triadic-table1", "paper", tmp_path)
    assert timed < jobs and timed == {job for job in jobs if any(part.startswith("budget=0") for part in job)}
    # a figure drawn from the runs of another
    shared = {tuple(job) for job in experiments.jobs("lshsm-fig2", "paper", tmp_path)}
    assert experiments.timed_jobs("lshsm-fig2", "paper", tmp_path) == shared
    assert not experiments.timed_jobs("triadic-table1", "quick", tmp_path)
    assert not experiments.timed_jobs("arm-table5", "paper", tmp_path)
