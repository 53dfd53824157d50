"""Levels above the blocks of a network: their description beside an enumeration, the search beside all partitions, what
a run says and draws of them."""

import csv
from itertools import product

import numpy as np
import pytest
from command_line import run_path

from splitmerge_cli.kinds.networks.data import Relation, Relations
from splitmerge_cli.kinds.networks.hierarchy import Counts, find_levels
from splitmerge_cli.kinds.networks.start import Entries
from splitmerge_cli.verify.enumerate import partitions


def counts_between(table: np.ndarray, directed: bool, sides: list[int] | None = None) -> Counts:
    """Blocks with these counts of edges between them; undirected: `table` is symmetric."""
    between = [table, table.T] if directed else [table + np.diag(np.diag(table))]
    cells = [(i, j, v, of[i, j]) for v, of in enumerate(between) for i, j in np.argwhere(of > 0).tolist()]
    node, other, type_, weight = np.array(sorted(cells), dtype=np.int64).reshape(-1, 4).T.copy()
    start = np.append(0, np.cumsum(np.bincount(node, minlength=len(table))))
    mirror = np.array([1, 0] if directed else [0], dtype=np.int32)
    entries = Entries(start, other.astype(np.int32), type_.astype(np.int32), weight, mirror, np.full_like(mirror, -1))
    return Counts(entries, np.array(sides or [0] * len(table), dtype=np.int32))


@pytest.mark.parametrize("directed", [False, True])
def test_the_descriptions_of_all_tables_are_probabilities(directed: bool) -> None:
    """Over all partitions of three blocks, with their groups in any order, and all tables of three edges, exp(-nats)
    adds up to 1: nothing is counted twice or left out."""
    B, E = 3, 3
    cells = [(i, j) for i in range(B) for j in range(B) if directed or i <= j]
    total = 0.0
    for edges in product(range(E + 1), repeat=len(cells)):
        if sum(edges) != E:
            continue
        table = np.zeros((B, B), dtype=np.int64)
        for (i, j), e in zip(cells, edges, strict=True):
            table[i, j] = e
            table[j, i] = e if not directed else table[j, i]
        counts = counts_between(table, directed)
        for labels in partitions(B):
            K = max(labels) + 1
            total += np.exp(-counts.measure(np.array(labels, dtype=np.int32))) * np.prod(range(1, K + 1))
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize("form", ["undirected", "directed", "two kinds"])
def test_the_search_finds_the_groups_of_least_description(form: str) -> None:
    """Seven blocks with up to three groups, against all partitions."""
    directed, found_more = form == "directed", 0
    sides = [0, 0, 0, 0, 1, 1, 1] if form == "two kinds" else None
    for seed in range(6):
        generator = np.random.default_rng(seed)
        truth = generator.integers(0, 3, 7)
        table = generator.poisson(generator.gamma(0.3, 80.0, (3, 3))[np.ix_(truth, truth)])
        table = table if directed else np.triu(table) + np.triu(table, 1).T
        if sides is not None:
            table *= np.not_equal.outer(sides, sides)
        counts = counts_between(table, directed, sides)
        allowed = [
            labels
            for labels in map(np.array, partitions(7))
            if sides is None or all(len(set(np.array(sides)[labels == k])) == 1 for k in range(max(labels) + 1))
        ]
        least = min(counts.measure(labels.astype(np.int32)) for labels in allowed)
        found = counts.find_groups()
        assert counts.measure(found) == pytest.approx(least), seed
        found_more += found.max() > (0 if sides is None else 1)
    assert found_more >= (3 if sides is None else 1)


@pytest.mark.parametrize("directed", [False, True])
def test_edges_within_blocks_lead_no_search_astray(directed: bool) -> None:
    """Forty blocks with hundreds of edges within and few between: agglomerations read edges between blocks alone."""
    generator = np.random.default_rng(0)
    table = generator.poisson(0.3, (40, 40)) + np.diag(generator.poisson(400, 40))
    counts = counts_between(table if directed else np.triu(table) + np.triu(table, 1).T, directed)
    found = counts.find_groups()
    assert counts.measure(found) <= counts.measure(np.zeros(40, dtype=np.int32))
    assert (counts.entries.neighbour != np.repeat(np.arange(40), np.diff(counts.entries.start))).all()


def plant(groups: int, blocks: int, size: int, shares: tuple[float, float, float], seed: int = 1) -> Relations:
    """A network of blocks in groups; `shares` of pairs that are tied: in a block, in a group, elsewhere."""
    label = np.arange(groups * blocks * size) // size
    i, j = np.triu_indices(len(label), 1)
    share = np.where(label[i] == label[j], shares[0], np.where(label[i] // blocks == label[j] // blocks, *shares[1:]))
    tied = np.random.default_rng(seed).random(len(i)) < share
    return Relations(len(label), (Relation("", np.stack([i, j], axis=1)[tied].astype(np.int32)),), is_simple=True)


def test_planted_levels_are_found_and_blocks_without_any_have_none() -> None:
    """Three groups of four blocks; twelve blocks that are tied to all others alike; two blocks."""
    labels = np.arange(240) // 20
    assert find_levels(plant(3, 4, 20, (0.6, 0.15, 0.01)), labels) == [[0] * 4 + [1] * 4 + [2] * 4]
    assert find_levels(plant(12, 1, 20, (0.5, 0.05, 0.05)), labels) == []
    assert find_levels(plant(2, 1, 20, (0.5, 0.05, 0.05)), labels[:40] // 1) == []


@pytest.mark.usefixtures("commands")
def test_a_run_lists_draws_and_writes_its_levels(smcmc, tmp_path) -> None:
    """The group of most nodes is the first, and the file has the cluster and the group of every node."""
    ends = plant(2, 4, 12, (0.9, 0.3, 0.01)).layers[0].ends
    with open(tmp_path / "ties.csv", "w") as file:
        csv.writer(file).writerows([("source", "target"), *((f"n{i}", f"n{j}") for i, j in ends.tolist())])
    result = smcmc("run", "data=edges", "data.path=ties.csv", "iterations=60", "chains=2", "seed=1", "init=best")
    path = run_path(result)
    assert "clusters 1 to 8 in 2 groups, by the edges between them (hierarchy.csv):" in result.output
    assert "  group 1, 48 nodes: clusters " in result.output
    rows, listed = (list(csv.DictReader((path / name).open())) for name in ("hierarchy.csv", "clusters.csv"))
    assert [row["cluster"] for row in rows] == [row["cluster"] for row in listed]
    of_group = {(row["level_2"], int(row["name"][1:]) // 48) for row in rows}
    assert len(of_group) == 2, of_group
    assert smcmc("plot", "--only", "tree", str(path)).exit_code == 0
    assert (path / "tree.png").exists()
