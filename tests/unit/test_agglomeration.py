"""Starts by agglomeration: merges and moves are the best by the profile likelihood, counted anew from all edges."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from splitmerge_cli.config import compose
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.networks import start as start_module
from splitmerge_cli.kinds.networks.agglomeration import Blocks, best_merges, exact_partners, exact_sweep
from splitmerge_cli.kinds.networks.data import COUNT, LEVELS, Relation, Relations, network_of
from splitmerge_cli.kinds.networks.generated import generate
from splitmerge_cli.kinds.networks.layout import prepare
from splitmerge_cli.kinds.networks.start import (
    Entries,
    NetworkStart,
    agglomerate,
    cross,
    join_best,
    kind_of_blocks,
    merge,
    own_sides,
    refine,
)
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
        rows = Entries.of(relations).between(labels, 8)
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
        blocks = Blocks(Entries.of(relations), labels, np.zeros(6, dtype=np.int32), corrected)
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
    found = list(agglomerate(Entries.of(relations), sides, False, Rng(1)))
    assert int(found[-1].max()) == 1
    for labels in found:
        assert all(len(np.unique(sides[labels == k])) == 1 for k in range(int(labels.max()) + 1))


def test_entries_between_blocks_are_those_of_their_nodes() -> None:
    relations = layers(np.random.default_rng(3))
    entries, labels = Entries.of(relations), np.arange(24, dtype=np.int32) % 5
    between, V = entries.between(labels, 5), len(prepare(relations)["mirror"])
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
        model, entries = build_model(plan.spec.model, plan.dataset), Entries.of(network_of(plan.dataset))
        heights = []
        network = network_of(plan.dataset)
        (_, merged), _ = merge(entries, model, own_sides(network), "degrees" in options, Rng(seed, 0))
        for labels in (merged, np.unique(plan.dataset.truth, return_inverse=True)[1].astype(np.int32)):
            model.set_labels(labels)
            heights.append(model.log_joint())
        assert heights[0] > heights[1] - 10.0, (seed, heights)


def test_a_small_simple_network_starts_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def init(*words: str) -> str:
        return start_of(compose(["data=network", *words])).choose(said.append).init

    assert init("N=60") == init("N=60", "init=random") == "random"
    assert init("N=200", "K0=3") == "random" and not said
    assert init("N=200") == init("N=200", "data.directed=true") == init("N=200", "model.degrees=corrected") == "best"
    assert all(line.startswith("init=best, because no initial state is named") for line in said)
    # small ones whose modes are far apart
    assert init("N=60", "data.directed=true") == init("N=60", "model.degrees=corrected") == "search"
    monkeypatch.setattr("splitmerge_cli.kinds.networks.start.MANY", 10)
    assert init("N=201") == "random"


FORMS: tuple[dict[str, Any], ...] = (
    {},
    {"directed": True},
    {"bipartite": True},
    {"degrees": 0.7},
    {"layers": 2, "values": "levels"},
    {"values": "count"},
)


def built(options: dict[str, Any], N: int = 60, *more: str) -> tuple[Any, Any]:
    """The model of a generated network, and its relations."""
    words = ["data=network", f"N={N}", "data.blocks=5", "data.p_in=0.4", "init=best", *more]
    words += [f"data.{key}={str(value).lower()}" for key, value in options.items()]
    words += ["model.degrees=corrected"] if "degrees" in options else []
    plan = plan_of(compose(words))
    return build_model(plan.spec.model, plan.dataset), network_of(plan.dataset)


@pytest.mark.parametrize("options", FORMS)
def test_an_exact_merge_is_the_best_of_all_by_the_log_joint_density(options: dict[str, Any]) -> None:
    model, network = built(options)
    rng = np.random.default_rng(5)
    labels = (np.append(np.arange(7), rng.integers(7, size=53)) + 7 * own_sides(network)).astype(np.int32)
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    model.set_labels(labels)
    kind, before = kind_of_blocks(labels, own_sides(network)), model.log_joint()
    partner, growth = exact_partners(model, kind)
    for a in range(len(kind)):
        after = {}
        for b in np.flatnonzero(kind == kind[a]).tolist():
            if a != b:
                joined = np.where(labels == a, b, labels)
                model.set_labels(np.unique(joined, return_inverse=True)[1].astype(np.int32))
                after[b] = model.log_joint()
        best = max(after, key=lambda b: after[b])
        assert growth[a] == pytest.approx(after[best] - before, abs=1e-6)
        assert after[int(partner[a])] == pytest.approx(after[best], abs=1e-6)


@pytest.mark.parametrize("options", FORMS)
def test_after_exact_sweeps_no_node_is_better_elsewhere(options: dict[str, Any]) -> None:
    model, _ = built(options, 40)
    model.set_labels(model.keep_apart((np.arange(40) % 6).astype(np.int32)))
    before = model.log_joint()
    while exact_sweep(model, Rng(3)):
        pass
    labels, found = model.labels, model.log_joint()
    assert found > before
    for i in range(40):
        for k in range(int(labels.max()) + 2):
            other = labels.copy()
            other[i] = k
            model.set_labels(np.unique(other, return_inverse=True)[1].astype(np.int32))
            assert model.log_joint() < found + 1e-6, (i, k)


def test_refining_is_the_best_state_of_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """From twice as many blocks as were planted to these, and what it returns is a state and its density."""
    model, network = built({}, 200)
    truth = np.arange(200, dtype=np.int32)
    height, labels = refine(model, truth % 20, own_sides(network), Rng(1))
    model.set_labels(labels)
    assert model.log_joint() == height
    model.set_labels(truth % 20)
    assert height > model.log_joint() + 100.0
    # without patience it ends at the first round that is no better
    monkeypatch.setattr(start_module, "PATIENCE", -1)
    model.set_labels(truth % 20)
    stopped = refine(model, truth % 20, own_sides(network), Rng(1))
    assert stopped[0] == -np.inf


def test_a_cross_takes_the_place_of_the_worse_and_never_of_the_best() -> None:
    model, network = built({}, 200)
    entries, sides, rng = Entries.of(network), own_sides(network), Rng(2)
    found = []
    for k in (2, 3, 4):
        labels = (np.arange(200) // (200 // k + 1)).astype(np.int32)
        model.set_labels(labels)
        found.append((model.log_joint(), labels))
    before = sorted(height for height, _ in found)
    best = cross(found, entries, model, sides, False, rng)
    after = sorted(height for height, _ in found)
    assert best[0] == after[-1] > before[-1] and all(np.array(after) >= np.array(before))
    assert len({round(height, 6) for height in after}) == 3
    # what has too many blocks for all pairs is merged first
    alone = [found[0]]
    assert cross(alone, entries, model, sides, False, rng) == found[0]


def test_a_meet_of_more_blocks_than_are_compared_is_merged_first(monkeypatch: pytest.MonkeyPatch) -> None:
    model, network = built({}, 120)
    entries, sides, compared = Entries.of(network), own_sides(network), []

    def record(own: Any, kind: Any) -> Any:
        compared.append(len(kind))
        return exact_partners(own, kind)

    monkeypatch.setattr(start_module, "MOST_EXACT", 9)
    monkeypatch.setattr(start_module, "exact_partners", record)
    rng = np.random.default_rng(1)
    found = [(-1e9 - k, np.append(np.arange(6), rng.integers(6, size=114)).astype(np.int32)) for k in range(2)]
    best = cross(found, entries, model, sides, False, Rng(0))
    assert best[0] > -1e9 and compared[0] <= 9


def test_chains_from_crossed_partitions_that_lie_apart_end_sooner() -> None:
    def after(*words: str) -> int | None:
        spec = compose(["data=network", "N=200", *words])
        return start_of(spec).apart_after(plan_of(spec).dataset, 30_000, 2.0)

    assert after("init=best") == 2_000 and after("init=search") == 4_000


def test_merged_blocks_are_no_more_than_the_prior_allows() -> None:
    plan = plan_of(compose(["data=network", "N=60", "data.blocks=6", 'model.prior="mfm(components=uniform(4))"']))
    model = build_model(plan.spec.model, plan.dataset)
    NetworkStart(plan.spec.with_(init="best")).start_best(model, plan.dataset, Rng(0, 0))
    assert model.K <= 4


def test_a_network_without_edges_starts() -> None:
    from scipy.sparse import csr_array

    plan = plan_of(compose(["data=network", "N=12", "data.blocks=2"]))
    empty = Dataset("empty", plan.dataset.kind, csr_array((12, 12), dtype=np.uint8))
    model = build_model(plan.spec.model, empty)
    NetworkStart(plan.spec.with_(init="best")).start_best(model, empty, Rng(0, 0))
    assert np.isfinite(model.log_joint())
