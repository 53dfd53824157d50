"""Starts of large data, and chains none of whose draws differ."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import splitmerge_cli as sm
from splitmerge_cli.config import ConfigError
from splitmerge_cli.diagnostics.convergence import convergence
from splitmerge_cli.diagnostics.summary import count_found, diagnose, without_rounding
from splitmerge_cli.kinds.networks import start
from splitmerge_cli.runs import starts
from splitmerge_cli.runs.initial import specification_of
from splitmerge_cli.runs.store.read import Run

QUICK = ["iterations=8", "chains=2", "progress=none"]


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """Six clusters of 50 rows; tables of 300 rows count as large, and 60 rows are a sample."""
    monkeypatch.setattr(starts, "LARGE", 300)
    monkeypatch.setattr(starts, "ROWS", 60)
    monkeypatch.setattr(starts, "ROW_BYTES", 1)
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 6
    x = rng.normal(0, 20, (6, 3))[truth] + rng.normal(size=(300, 3))
    pd.DataFrame(x, columns=["u", "v", "w"]).assign(truth=truth).to_csv("six.csv", index=False)
    return x


OWN = ["data=csv", "data.path=six.csv", "data.truth=truth", "model=gaussian"]


def test_a_large_table_starts_in_stages(smcmc: Any, table: np.ndarray) -> None:
    ended = smcmc("run", *OWN, *QUICK)
    assert "note: init=stages, because no initial state is named and 300 rows are 300 or more" in ended.stderr
    run = Run(ended.stdout.strip().splitlines()[-1])
    # what was chosen is in the folder, so a repeat needs no rows to choose by
    assert specification_of(run).init == "stages"
    assert "adjusted" not in ended.stderr and "ari 1.000" in ended.stderr
    assert "no sign of non-convergence: all 8 draws" in ended.stderr
    assert "already finished" in smcmc("run", *OWN, *QUICK).stderr
    named = smcmc("run", *OWN, *QUICK, "init=stages")
    assert "because no initial state is named" not in named.stderr and named.stdout.strip().splitlines()[-1] == str(
        run.path
    )
    for initial in ("init=random", "K0=3"):
        assert "init=stages" not in smcmc("run", *OWN, *QUICK, initial).stderr
    swept = smcmc("sweep", *OWN, *QUICK, "seed=0,1", "hydra/launcher=basic")
    assert swept.stderr.count("note: init=stages") == 1 and "1 skipped" in swept.stdout + swept.stderr


def test_smaller_tables_and_python(table: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    found = sm.sample("gaussian", table, iterations=8, chains=2, progress="none")
    assert found.run.config["init"] == "stages" and found.converged and np.isnan(found.rhat)
    monkeypatch.setattr(starts, "LARGE", 301)
    assert sm.sample("gaussian", table, iterations=8, chains=2, progress="none").run.config["init"] == "random"


def test_chains_draw_samples_of_their_own_and_go_on_from_what_is_stored(smcmc: Any, table: np.ndarray) -> None:
    paths, words = [], [*OWN, "iterations=40", "chains=2", "progress=none", "timing=false", "until.ess=1e9"]
    for workers, out in ((1, "one"), (2, "two")):
        ended = smcmc("run", *words, f"workers={workers}", f"out={out}")
        paths.append(Path(ended.stdout.strip().splitlines()[-1]))
    for name in ("trace", "partitions"):
        one, two = ((path / f"{name}.parquet").read_bytes() for path in paths)
        assert one == two


def test_a_network_starts_from_merged_blocks(smcmc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "FEW", 30)
    ended = smcmc("run", "data=networkx", "data.graph=karate", "model=irm", *QUICK)
    assert "note: init=best, because no initial state is named and 34 nodes are 30 or more" in ended.stderr
    assert Run(ended.stdout.strip().splitlines()[-1]).config["init"] == "best"
    assert "init=best" not in smcmc("run", "data=networkx", "data.graph=karate", "model=irm", "K0=5", *QUICK).stderr

    def fail(*given: Any) -> None:
        raise ConfigError("no start")

    # what takes minutes is announced before
    monkeypatch.setattr(start.NetworkStart, "start_best", fail)
    ended = smcmc("run", "data=networkx", "data.graph=karate", "model=irm", "seed=1", *QUICK, status=2)
    assert ended.stderr.index("short chains look for the start of each chain first") < ended.stderr.index("no start")


def trace_of(*chains: list[float]) -> pd.DataFrame:
    parts = [
        pd.DataFrame({"chain": c, "iteration": range(len(x)), "seconds": 0.0, "log_joint": x, "K": 2})
        for c, x in enumerate(chains)
    ]
    return pd.concat(parts)


def test_chains_at_one_state_are_judged_by_how_they_came_there() -> None:
    here, other = -0.3, -0.1 - 0.2  # one number but for rounding
    assert here != other
    moved = trace_of([-9.0, *[here] * 12], [-7.0, *[other] * 12])
    judged = convergence(diagnose(moved, [], count_found(moved, searches=False)))
    assert judged.converged and judged.rhat is None
    # 1 - 0.05^(1/12)
    assert "12 draws" in str(judged.note) and "at most 22.1% of the posterior" in str(judged.note)
    stayed = trace_of([here] * 13, [other] * 13)
    assert convergence(diagnose(stayed, [], count_found(stayed, searches=False))).converged is None
    assert convergence(diagnose(stayed, [], count_found(stayed, searches=True))).converged
    apart = trace_of([-9.0, *[here] * 12], [-7.0, *[here - 1e-6] * 12])
    assert count_found(apart, searches=True) == []
    assert convergence(diagnose(apart, [])).converged is False


def test_rounding_is_no_difference() -> None:
    x = np.array([[-1e5, -1e5 + 1e-10, -1e5 + 1e-3], [-np.inf, -1e5, -2.0]])
    expected = np.array([[-1e5, -1e5, -1e5 + 1e-3], [-np.inf, -1e5, -2.0]])
    np.testing.assert_array_equal(without_rounding("log_lik", x[:, :]), expected)
    assert without_rounding("K", x) is x
