"""The one judgement of a run's chains, on chains made up for the purpose."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.diagnostics.convergence import NOT_CONVERGED, Convergence, convergence
from splitmerge_cli.diagnostics.summary import DISTANCE, FEW_DISTANCES, TRIED, measure
from splitmerge_cli.runs.judgement import evidence, judgement_of

DRAWS = 400


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
