"""Starts by agglomeration: merges and moves are the best by the profile likelihood, counted anew from all edges."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from splitmerge_cli.config import compose
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.kinds.networks.agglomeration import Blocks, best_merges
from splitmerge_cli.kinds.networks.data import COUNT, LEVELS, Relation, Relations, network_of
from splitmerge_cli.kinds.networks.generated import generate
from splitmerge_cli.kinds.networks.layout import prepare
from splitmerge_cli.kinds.networks.start import Entries, NetworkStart, agglomerate, find_transitivity, join_best, merge
from splitmerge_cli.runs import judgement, starts
from splitmerge_cli.runs import prepare as plan_of
from splitmerge_cli.runs.initial import build_model
from splitmerge_cli.runs.starts import start_of


def layers(rng: np.random.Generator, N: int = 24) -> Relations:
    """Directed counts with loops and unknown pairs, and undirected signs."""
    pairs = np.array([(i, j) for i in range(N) for j in range(N)], dtype=np.int32)
    directed = pairs[rng.random(len(pairs)) < 0.2]
    undirected = np.array([p for p in combinations(range(N), 2) if rng.random() < 0.2], dtype=np.int32)
    free = {*map(tuple, pairs.tolist())} - {*map(tuple, directed.tolist())}
    unknown = np.array(sorted(free)[:20], dtype=np.int32)
    counts = rng.integers(1, 40_000, len(directed)).astype(float)
    signs = rng.integers(2, size=len(undirected)).astype(float)
    return Relations(
        N,
        (
            Relation("a", directed, COUNT, counts, directed=True, loops=True, unknown=unknown),
            Relation("b", undirected, LEVELS, signs, ("-", "+")),
        ),
    )


def profile(relations: Relations, labels: NDArray[np.int64], corrected: bool) -> float:
    """The profile log likelihood: Poisson counts of both layers, each sign a relation of its own."""
    K, total = int(labels.max()) + 1, 0.0
    n = np.bincount(labels, minlength=K).astype(float)
    counts, signs = relations.layers
    for layer, chosen in ((counts, slice(None)), (signs, signs.value == 0), (signs, signs.value == 1)):
        ends, weight = layer.ends[chosen], layer.weights[chosen]
        apart = ends[:, 0] != ends[:, 1]
        e = np.zeros((K, K))
        np.add.at(e, tuple(labels[ends[apart]].T), weight[apart])
        e = e if layer.directed else e + e.T
        rows, columns = (e.sum(axis=1), e.sum(axis=0)) if corrected else (n, n)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(e > 0, e * np.log(e / np.outer(rows, columns)), 0.0)
        total += terms.sum() * (1.0 if layer.directed else 0.5)
    return float(total)


@pytest.mark.parametrize("corrected", [False, True])
def test_a_merge_is_the_best_of_all(corrected: bool) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        relations = layers(rng)
        labels = np.append(np.arange(8), rng.integers(8, size=16)).astype(np.int32)
        sides = np.zeros(8, dtype=np.int32)
        rows = Entries.from_relations(relations).join_blocks(labels, 8)
        partner, growth = best_merges(rows, np.bincount(labels).astype(np.int32), sides, corrected, Rng(seed))
        before = profile(relations, labels, corrected)
        for a in range(8):
            after = {b: profile(relations, np.where(labels == a, b, labels), corrected) for b in range(8) if b != a}
            # a block that is left empty has no part in the sum
            best = max(after, key=lambda b: after[b])
            assert growth[a] == pytest.approx(after[best] - before, abs=1e-4)
            assert after[partner[a]] == pytest.approx(after[best], abs=1e-4)


@pytest.mark.parametrize("corrected", [False, True])
def test_after_sweeps_no_node_has_a_better_block(corrected: bool) -> None:
    """The counts that moves change are those of the blocks that result."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        relations = layers(rng)
        labels = (np.arange(24) % 6).astype(np.int32)
        blocks = Blocks(Entries.from_relations(relations), labels, np.zeros(6, dtype=np.int32), corrected)
        before = profile(relations, labels, corrected)
        while blocks.sweep(Rng(seed)):
            pass
        found = profile(relations, blocks.labels, corrected)
        assert found > before
        for i in range(24):
            for k in range(6):
                other = blocks.labels.copy()
                other[i] = k
                if len(np.unique(other)) == 6:
                    assert profile(relations, other, corrected) < found + 1e-4


def test_blocks_join_in_the_order_of_their_growth() -> None:
    partner, growth = np.array([1, 2, 3, 2, 0], dtype=np.int32), np.array([-2.0, -1.0, -4.0, -3.0, -np.inf])
    number, joined = join_best(partner, growth, 2)
    # the second joins the third; the first then joins that block; the last has no partner
    assert number.tolist() == [0, 0, 0, 1, 2] and joined == 2
    assert join_best(partner, growth, 9)[1] == 3


def test_nodes_of_two_kinds_share_no_block() -> None:
    dataset = generate(N=60, blocks=2, seed=1, bipartite=True)
    relations = network_of(dataset)
    assert relations.sides is not None
    sides = relations.sides.astype(np.int32)
    found = list(agglomerate(Entries.from_relations(relations), sides, False, Rng(1)))
    assert int(found[-1].max()) == 1
    for labels in found:
        assert all(len(np.unique(sides[labels == k])) == 1 for k in range(int(labels.max()) + 1))


def test_entries_between_blocks_are_those_of_their_nodes() -> None:
    relations = layers(np.random.default_rng(3))
    entries, labels = Entries.from_relations(relations), np.arange(24, dtype=np.int32) % 5
    between, V = entries.join_blocks(labels, 5), len(prepare(relations)["mirror"])
    assert len(entries.weight) == 2 * sum((one.ends[:, 0] != one.ends[:, 1]).sum() for one in relations.layers)
    dense = np.zeros((5, 5, V), dtype=np.int64)
    for k in range(5):
        here = slice(between.start[k], between.start[k + 1])
        dense[k, between.neighbour[here], between.type[here]] = between.weight[here]
    # each entry has one at the other end
    assert np.array_equal(dense, dense[:, :, entries.mirror].transpose(1, 0, 2))
    assert dense.sum() == entries.weight.sum()


@pytest.mark.parametrize("options", [{}, {"directed": True}, {"bipartite": True}, {"degrees": 0.7}])
def test_merged_blocks_are_as_probable_as_planted_ones(options: dict[str, Any]) -> None:
    words = ["data=network", "N=240", "data.blocks=8", "data.p_in=0.4", "init=best"]
    words += [f"data.{key}={str(value).lower()}" for key, value in options.items()]
    words += ["model.degrees=corrected"] if "degrees" in options else []
    for seed in range(3):
        plan = plan_of(compose([*words, f"data.seed={seed}"]))
        model, entries = build_model(plan.spec.model, plan.dataset), Entries.from_relations(network_of(plan.dataset))
        heights = []
        network = network_of(plan.dataset)
        merged = merge(entries, model, network.sides, "degrees" in options, Rng(seed, 0))[1]
        for labels in (merged, np.unique(plan.dataset.truth, return_inverse=True)[1].astype(np.int32)):
            model.set_labels(labels)
            heights.append(model.log_joint())
        assert heights[0] > heights[1] - 10.0, (seed, heights)


def test_a_small_simple_network_starts_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def init(*words: str) -> str:
        return start_of(compose(["data=network", *words])).choose(said.append).init

    assert init("N=60") == init("N=60", "init=random") == "random"
    assert all(line.startswith("model.density=learned") for line in said)
    said.clear()
    assert init("N=200", "K0=3") == "random" and not said
    assert init("N=200") == init("N=200", "data.directed=true") == init("N=200", "model.degrees=corrected") == "best"
    assert all(line.startswith("init=best, because no initial state is named") for line in said)
    # small ones whose modes are far apart
    assert init("N=60", "data.directed=true") == init("N=60", "model.degrees=corrected") == "search"
    monkeypatch.setattr("splitmerge_cli.kinds.networks.start.MANY", 10)
    assert init("N=201") == "random"


def test_chains_from_merged_blocks_move_connected_parts_where_ties_close_triangles(tmp_path: Path) -> None:
    said: list[str] = []
    # groups of five who all know each other, and a ring of them
    groups = [(f"p{5 * g + i}", f"p{5 * g + j}") for g in range(30) for i in range(5) for j in range(i)]
    ring = [(f"p{5 * g}", f"p{(5 * g + 6) % 150}") for g in range(30)]
    for name, rows in (("groups", groups + ring), ("ring", [(f"p{k}", f"p{(k + 1) % 150}") for k in range(150)])):
        pd.DataFrame(rows, columns=["source", "target"]).to_csv(tmp_path / f"{name}.csv", index=False)

    def parts(name: str, *words: str) -> int:
        spec = compose(["data=edges", f"data.path={tmp_path / name}.csv", *words])
        chosen: int = start_of(spec).choose(said.append).model.options["parts"]
        return chosen

    assert parts("ring") == parts("groups", "K0=3") == parts("groups", "sampler=gibbs") == 0
    assert parts("groups", "model.parts=0") == 0 and not any("model.parts" in line for line in said)
    assert parts("groups") == 8
    assert "move groups of tied nodes as a whole, because the ends of 79% of the paths of two ties" in said[-1]


def test_transitivity_is_that_of_networkx(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = networkx.les_miserables_graph()
    relations = network_of(from_object(networkx.Graph(graph.edges), "graph"))
    assert find_transitivity(relations) == pytest.approx(networkx.transitivity(graph))
    monkeypatch.setattr("splitmerge_cli.kinds.networks.start.MOST_PATHS", 10)
    assert find_transitivity(relations) == 0.0


def test_merged_blocks_are_no_more_than_the_prior_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NetworkStart, "trials", (2, 100))
    plan = plan_of(compose(["data=network", "N=60", "data.blocks=6", 'model.prior="mfm(components=uniform(4))"']))
    model = build_model(plan.spec.model, plan.dataset)
    NetworkStart(plan.spec.with_(init="best")).start_best(model, plan.dataset, Rng(0, 0))
    assert model.K <= 4


def test_a_network_without_edges_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.sparse import csr_array

    monkeypatch.setattr(NetworkStart, "trials", (2, 100))
    plan = plan_of(compose(["data=network", "N=12", "data.blocks=2"]))
    empty = Dataset("empty", plan.dataset.kind, csr_array((12, 12), dtype=np.uint8))
    model = build_model(plan.spec.model, empty)
    NetworkStart(plan.spec.with_(init="best")).start_best(model, empty, Rng(0, 0))
    assert np.isfinite(model.log_joint())


def test_chains_that_are_far_apart_end_sooner() -> None:
    spec = compose(["data=network", "N=200", "init=best"])
    begun, dataset = start_of(spec), start_of(spec).load()
    assert [begun.apart_after(dataset, 30_000, distance) for distance in (1.6, 2.9, 3.0, np.inf)] == [
        2_000, 2_000, 1_000, 1_000,
    ]  # fmt: skip
    # those of other starts go on
    by_search = start_of(compose(["data=network", "N=60", "init=search"]))
    assert by_search.apart_after(dataset, 30_000, np.inf) == starts.APART_AFTER > 2_000


def test_chains_of_many_blocks_end_when_they_have_compared_enough(smcmc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes times blocks count beside the ties that are visited; the run prints this, and advises to go on."""
    base = ["data=network", "N=120", "data.blocks=12", "data.p_in=0.3", "data.p_out=0.03", "chains=2", "workers=1"]
    monkeypatch.setattr(judgement, "COMPARED", 1e-9)
    result = smcmc("run", *base)
    assert result.exit_code == 0
    folder = Path(result.stdout.splitlines()[-1])
    until = json.loads((folder / "summary.json").read_text())["until"]
    assert until["ended_dear"] and not until["reached"]
    assert "each compares every item with many clusters" in " ".join(result.stderr.split())
    assert f"iterations={4 * until['iterations']}" in result.output
    monkeypatch.undo()
    assert not judgement.are_dear(plan_of(compose([*base, "iterations=50"])), 1e9, 50)
