"""Quantities that ``until`` looks at, on chains made up for the purpose."""

from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from splitmerge_cli.config.schema import Until
from splitmerge_cli.diagnostics.summary import measure
from splitmerge_cli.kinds.records.entities import Entities
from splitmerge_cli.runs.continuation import _is_stricter
from splitmerge_cli.runs.stopping import describe_look, look
from splitmerge_cli.runs.store import schema

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
        spec=SimpleNamespace(chains=2, until=until, is_open=False),
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
    asked.spec.until = Until(rhat=1.1, ess=50, mcse=0.02)
    found = look(asked, chains, DRAWS)
    assert found.reached and found.mcse == 0
    asked.spec.until = Until(rhat=1.1, ess=1e6, mcse=0.02)
    found = look(asked, chains, DRAWS)
    assert not found.reached and found.mcse is None
    line = describe_look(asdict(found), asdict(asked.spec.until))
    assert line.startswith("not long enough after 400 iterations: largest R-hat ") and "Monte Carlo" not in line
    alone = describe_look(asdict(found), {"rhat": None, "ess": None, "mcse": 0.02})
    assert alone == "not long enough after 400 iterations: Monte Carlo error undefined, target 0.02"
    asked.spec.until = Until(rhat=1.1, ess=50, mcse=1e-9)
    K = np.random.default_rng(3).integers(2, 4, (2, DRAWS))
    chains = [chain(c, [0, 0, 1, 1], c, K=K[c]) for c in (0, 1)]
    line = describe_look(asdict(look(asked, chains, DRAWS)), asdict(asked.spec.until))
    assert "; largest Monte Carlo error 0.0" in line and line.endswith(", target 1e-09")


def test_soon_only_chains_without_a_difference_end() -> None:
    chains, asked = [chain(0, [0, 0, 1, 1], 1), chain(1, [0, 0, 1, 1], 2)], plan()
    asked.spec.until, asked.spec.is_open = Until(rhat=1.5, ess=5, mcse=0.5), True
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
