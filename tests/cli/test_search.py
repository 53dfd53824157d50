"""Starts by search: crossed partitions, and a population that finds what single chains miss."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.config import compose
from splitmerge_cli.config.specification import command_of
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.diagnostics.partition_losses import by_appearance
from splitmerge_cli.kinds.networks.start import FEW
from splitmerge_cli.kinds.tables import start
from splitmerge_cli.runs import initial, judgement, prepare, starts
from splitmerge_cli.runs.store.read import Run


def test_the_meet_keeps_together_what_both_have_together() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(4, size=60).astype(np.int32), rng.integers(3, size=60).astype(np.int32)
    found = starts.meet(first, second)
    together = (first[:, None] == first) & (second[:, None] == second)
    assert np.array_equal(found[:, None] == found, together)
    assert set(found) == set(range(found.max() + 1))


def test_the_worse_half_starts_from_the_better(smcmc: Any) -> None:
    """Four chains stand at known partitions; the two that are lower become meets of the other two."""
    plan = prepare(compose(["data=jain_neal", "N=12", "iterations=4", "chains=2"]))
    given = np.repeat([[0, 0, 0, 1, 1, 1]], 4, axis=0).repeat(2, axis=1).astype(np.int32)
    given[1] = np.tile([0, 1], 6)
    models = [initial.build_model(plan.spec.model, plan.dataset) for _ in given]
    for model, labels in zip(models, given, strict=True):
        model.set_labels(labels)
    chains: Any = [type("Held", (), {"model": model})() for model in models]
    starts._cross(chains, np.array([1, 0, 3, 2]), np.random.default_rng(1))
    expected = starts.meet(given[0], given[1])
    for number in (2, 3):
        assert len(np.unique(np.stack([expected, models[number].labels]), axis=1).T) == expected.max() + 1
    for number in (0, 1):
        assert np.array_equal(models[number].labels, given[number])


def test_a_run_of_open_length_ends_where_chains_stay_apart(smcmc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It then names the search, or after a search the modes; a run that has a length goes on."""
    monkeypatch.setattr(starts, "APART_AFTER", 300)
    monkeypatch.setattr(starts, "EARLY_MOST", 0)
    monkeypatch.setattr(judgement, "FIRST", 200)
    monkeypatch.setattr(initial, "LEAST", 900)
    monkeypatch.setattr(initial, "MOST", 900)
    monkeypatch.setattr(
        judgement, "look", lambda plan, chains, upto: judgement.Look(upto, False, 1.7, "log_lik", 5.0, "log_lik")
    )
    monkeypatch.setattr(starts, "ROUNDS", 1)
    words = ["data=jain_neal", "N=12", "chains=2", "progress=none"]

    said: list[str] = []

    def lengths(*more: str) -> list[int]:
        ended = smcmc("run", *words, *more, status=0)
        said.append(" ".join(ended.stderr.split()))
        return list(Run(ended.stdout.strip().splitlines()[-1]).summary["iterations"])

    assert lengths() == [300, 300]
    assert lengths("init=search") == [300, 300]
    assert lengths("iterations=600", "until.rhat=1.01") == [600, 600]
    # chains whose modes are far from each other end sooner
    monkeypatch.setattr(starts, "APART_AFTER", 600)
    monkeypatch.setattr(start, "FAR_AFTER", 400)
    monkeypatch.setattr(start, "APART_SHARE", 1)
    for seed, (distance, iterations) in enumerate([(start.FAR, 450), (0.9 * start.FAR, 675), (None, 450)], 2):
        far = judgement.Look(0, False, 1.7, "log_lik", 5.0, "log_lik", classic=distance)
        monkeypatch.setattr(judgement, "look", lambda plan, chains, upto, far=far: replace(far, iterations=upto))
        assert lengths(f"seed={seed}") == [iterations] * 2
    # and where chains make few iterations
    monkeypatch.setattr(start, "APART_SHARE", 4)
    assert lengths("seed=5") == [300, 300]
    monkeypatch.setattr(starts, "APART_AFTER", 300)
    # chains of large data end sooner, and also where they are too large to start by search
    monkeypatch.setattr(starts, "EARLY_MOST", 900)
    monkeypatch.setattr(starts, "LARGE", 0)
    assert lengths("seed=1") == [200, 200]
    assert not any("ended after" in text for text in said)  # the chains agree: only the looks were replaced
    monkeypatch.setattr(judgement, "are_apart", lambda plan, found: True)
    assert lengths("seed=6") == [30, 30]
    assert "ended after 30 iterations, because the chains lie in different modes, which are rarely left: " in said[-1]


def test_a_network_starts_from_many_blocks(smcmc: Any) -> None:
    """Both sides of a bipartite network have two groups, which chains from five random blocks seldom find."""
    rng = np.random.default_rng(4)
    z, w = np.arange(40) % 2, np.arange(40) // 20
    ties = np.argwhere(rng.random((40, 40)) < np.where(z[:, None] == w, 0.5, 0.1))
    pd.DataFrame({"from": [f"u{i}" for i, _ in ties], "to": [f"v{j}" for _, j in ties]}).to_csv("two.csv", index=False)
    plan = prepare(compose(["data=edges", "data.path=two.csv", "init=search"]))
    assert starts.start_of(plan.spec.with_(init="random")).may_go_on_by_search(80)
    assert not starts.start_of(plan.spec).may_go_on_by_search(80)
    model = initial.build_model(plan.spec.model, plan.dataset)
    for seed in range(3):
        starts.start_of(plan.spec).search(model, plan.dataset, Rng(seed, 0))
        assert model.K == 4


def test_a_network_that_started_at_random_goes_on_so(smcmc: Any) -> None:
    """Without the word, the command that continues a run would start other chains, by search."""
    words = ["data=edges", "data.path=two.csv", "init=random"]
    directed = compose([*words, "data.directed=true"])
    assert "init=random" in str(command_of(directed, starts.start_of(directed).keep(80)))
    assert not starts.start_of(compose(words)).keep(80)
    assert starts.start_of(compose(words)).keep(FEW)


def test_chains_start_in_each_of_two_modes_that_are_alike(smcmc: Any) -> None:
    """Nine items in a grid: the partitions by rows and by columns have one density (docs/tempering.md)."""
    one = np.eye(3, dtype=int)
    rows, columns = np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)
    x = np.hstack([np.repeat(one[rows], 24, axis=1), np.repeat(one[columns], 24, axis=1)])
    pd.DataFrame(x, columns=[f"x{j}" for j in range(144)]).to_csv("grid.csv", index=False)
    plan = prepare(
        compose(
            ["data=csv", "data.path=grid.csv", "model=bernoulli", "model.beta1=0.5", "model.beta0=0.5", "init=search"]
        )
    )
    model, kinds = initial.build_model(plan.spec.model, plan.dataset), set()
    for seed in range(8):
        starts.start_of(plan.spec).search(model, plan.dataset, Rng(seed, 0))
        kinds.add("rows" if np.array_equal(by_appearance(model.labels), rows) else "others")
    assert kinds == {"rows", "others"}


def test_a_search_finds_the_mode_of_nested_clusters(smcmc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every chain that searches ends at the partition that generated the data, its own draws alone deciding."""
    monkeypatch.setattr(starts.Start, "population", (6, 60))
    monkeypatch.setattr(starts, "ROUNDS", 4)
    rng = np.random.default_rng(3)
    scale = np.array([0.3, 3.0, 0.3, 3.0])[np.arange(120) % 4]
    x = rng.normal(size=(120, 2)) * scale[:, None] + np.array([[0, 0], [0, 0], [30, 0], [30, 0]])[np.arange(120) % 4]
    pd.DataFrame(x, columns=["u", "v"]).to_csv("nested.csv", index=False)
    words = ["data=csv", "data.path=nested.csv", "model=gaussian", "init=search", "iterations=20", "chains=2"]
    ended = smcmc("run", *words, "progress=none", "workers=1", status=0)
    run = Run(ended.stdout.strip().splitlines()[-1])
    again = smcmc("run", *words, "progress=none", "workers=2", "out=two")
    one, two = (pd.read_parquet(path / "trace.parquet") for path in (run.path, Run(again.stdout.split()[-1]).path))
    assert one["log_joint"].equals(two["log_joint"])  # whatever the workers
    plan = prepare(compose(words))
    model = initial.build_model(plan.spec.model, plan.dataset)
    starts.start_of(plan.spec).search(model, plan.dataset, Rng(0, 0))
    started = model.log_joint()
    model.set_labels(np.arange(120) % 4)
    assert started > model.log_joint() - 10.0
    first = one[one["iteration"] == one["iteration"].min()]
    assert (first["log_joint"] > model.log_joint() - 25.0).all()
