"""Levels above the blocks of a network: groups of blocks by the edges between them, groups of these, and so on.

Many small blocks describe the ties best, and say little about the whole. The edges between B blocks are a network of B
nodes whose edges have counts, and a block model of it says which blocks are alike: the nested block model (Peixoto
2014, "Hierarchical block structures"; derivations.md, "Levels above the blocks"). With K groups of n_r blocks, and e_rs
edges between two groups, every table of counts between blocks with these sums is as probable as any other:

    sum_{r<s} log ((n_r n_s, e_rs)) + sum_r log ((n_r (n_r + 1) / 2, e_rr))

nats, where ((n, e)) = (n + e - 1)! / (e! (n - 1)!) counts the ways to place e edges in n pairs of blocks; directed
edges have all n_r n_s pairs. The groups themselves take

    log (B - 1)! / ((K - 1)! (B - K)!) + log B! / prod_r n_r! + log B

nats, and the table of e_rs what it takes with one group; the next level may describe it in fewer. A search looks for
the groups of least description, and there is a level if it beats one group.

The levels describe the blocks that a run lists, and are no part of its posterior.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.cluster_table import FIRST, number_clusters
from splitmerge_cli.kinds.networks.data import Relations, network_of
from splitmerge_cli.kinds.networks.start import Entries, agglomerate, sides_of_blocks
from splitmerge_cli.runs.store.store import RunStore

FILE, KEY = "hierarchy.csv", "hierarchy"
"""File of a run, and entry of its summary."""

Labels = NDArray[np.int32]
TRIALS, PER_TRIAL = 4, 25
"""Agglomerations that the search of a level goes on from, and one fewer for so many blocks, down to one."""
MOST_WORK = 100_000
"""Blocks times the cube of the groups from which on, down to one, groups are joined and blocks move by the description
itself."""
MOST_MOVED = 30_000_000
"""Blocks times the cube of the groups up to which blocks move from the best groups of an agglomeration."""
MOST_KNOWN = 4_000_000
"""Numbers whose factorials are looked up, at most."""
RANDOM = 20
"""Random groups that the search goes on from, too, where blocks are so few that it may begin at single ones."""
LISTED, NAMED = 12, 12
"""Groups that are listed, and clusters that are named of each, at most."""


class Counts:
    """Edges between B blocks, and how many nats the partitions of these blocks take to describe them."""

    def __init__(self, entries: Entries, sides: Labels) -> None:
        """`entries`: of the blocks; `sides`: int32 ``[B]``, the kind of nodes of each; blocks of a group share it."""
        self.B, V = len(sides), len(entries.mirror)
        node = np.repeat(np.arange(self.B), np.diff(entries.start))
        # an agglomeration reads no edges of a node to itself
        apart = node != entries.neighbour
        start = np.append(0, np.cumsum(apart))[entries.start]
        parts = {name: getattr(entries, name)[apart] for name in ("neighbour", "type", "weight")}
        self.entries, self.sides = replace(entries, start=start, **parts), sides
        # of two directions one is enough
        self.types = np.flatnonzero(np.arange(V) <= entries.mirror)
        self.is_directed = entries.mirror[self.types] != self.types
        chosen = np.isin(entries.type, self.types)
        self.type = np.searchsorted(self.types, entries.type[chosen])
        self.node, self.other, self.weight = node[chosen], entries.neighbour[chosen], entries.weight[chosen]
        self.between = self.sums(np.arange(self.B, dtype=np.int32), self.B)
        """int64 ``[types, B, B]``; an undirected edge within a block counts twice."""
        most = self.B * self.B + int(self.between.sum(axis=(1, 2)).max(initial=0))
        self.known = gammaln(np.arange(1.0, most + 2)) if most < MOST_KNOWN else None

    def log_factorial(self, n: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(gammaln(n + 1.0) if self.known is None else self.known[n])

    def ways(self, cells: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.float64]:
        """In how many ways edges lie in cells, as a logarithm; without cells there are no edges."""
        last = np.maximum(cells - 1, 0)
        return self.log_factorial(last + edges) - self.log_factorial(edges) - self.log_factorial(last)

    def sums(self, labels: Labels, K: int) -> NDArray[np.int64]:
        """Edges between groups, int64 ``[types, K, K]``."""
        cell = (self.type * K + labels[self.node]) * K + labels[self.other]
        sums = np.bincount(cell, self.weight, len(self.types) * K * K)
        return np.asarray(sums.reshape(-1, K, K).astype(np.int64))

    def describe(self, sums: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Nats that partitions take, float64 ``[...]``; `sums` ``[..., types, K, K]``, `sizes` ``[..., K]``."""
        groups, on = (sizes > 0).sum(axis=-1), np.arange(sizes.shape[-1])
        total = np.log(self.B) - self.log_factorial(groups - 1) - self.log_factorial(self.B - groups)
        total += self.log_factorial(np.array([self.B - 1, self.B])).sum() - self.log_factorial(sizes).sum(axis=-1)
        for has_directions in np.unique(self.is_directed):
            cells = sizes[..., :, None] * sizes[..., None, :]
            edges, square = sums[..., self.is_directed == has_directions, :, :], groups * groups
            if not has_directions:
                edges, square = edges.copy(), (square + groups) // 2
                edges[..., on, on] //= 2
                cells[..., on, on] = (cells[..., on, on] + sizes) // 2
            nats, inside = self.ways(cells[..., None, :, :], edges), edges.sum(axis=(-2, -1))
            of_types = nats.sum(axis=(-2, -1))
            if not has_directions:
                of_types = (of_types + nats[..., on, on].sum(axis=-1)) / 2
                inside = (inside + edges[..., on, on].sum(axis=-1)) // 2
            # last the table of the groups, by one group
            total = total + (of_types + self.ways(square[..., None], inside)).sum(axis=-1)
        return np.asarray(total)

    def measure(self, labels: Labels) -> float:
        K = int(labels.max()) + 1
        return float(self.describe(self.sums(labels, K), np.bincount(labels, minlength=K)))

    def move(self, labels: Labels) -> Labels:
        """Move blocks to the groups that describe them best, one after the other, until none moves."""
        labels, K = labels.copy(), int(labels.max()) + 1
        sums, sizes = self.sums(labels, K), np.bincount(labels, minlength=K)
        kind, moved = sides_of_blocks(labels, self.sides), True
        while moved:
            moved = False
            for i in range(self.B):
                r, own, is_in = labels[i], self.between[:, i, i], (labels[:, None] == np.arange(K)).astype(np.int64)
                out, into = self.between[:, i] @ is_in, self.between[:, :, i] @ is_in
                out[:, r] -= own
                into[:, r] -= own
                at, places = np.arange(K), np.repeat(sums[None], K, axis=0)
                places[:, :, r, :] -= out
                places[:, :, :, r] -= into
                places[:, :, r, r] -= own
                places[at, :, at, :] += out
                places[at, :, :, at] += into
                places[at, :, at, at] += own
                n = sizes - (at == r) + np.eye(K, dtype=np.int64)
                nats = np.where(kind == self.sides[i], self.describe(places, n), np.inf)
                best = int(nats.argmin())
                if nats[best] < nats[r] - 1e-9:
                    labels[i], sums, sizes, moved = best, places[best], n[best], True
        return np.unique(labels, return_inverse=True)[1].astype(np.int32)

    def join(self, labels: Labels) -> Labels | None:
        """Join the two groups whose union is described best; None: no two may be one."""
        kind = sides_of_blocks(labels, self.sides)
        pairs = [(a, b) for a, b in combinations(range(len(kind)), 2) if kind[a] == kind[b]]
        joined = [np.where(labels == b, a, labels - (labels > b)) for a, b in pairs]
        return min(joined, key=self.measure).astype(np.int32) if joined else None

    def find_groups(self) -> Labels:
        """The groups of least description that a search finds, int32 ``[B]``."""
        is_small = self.B**4 <= MOST_WORK
        found = [np.unique(self.sides, return_inverse=True)[1].astype(np.int32)]
        starts = [np.arange(self.B, dtype=np.int32)] * is_small
        generator = np.random.default_rng(0)
        for _ in range(RANDOM * is_small):
            drawn = generator.integers(0, generator.integers(2, self.B + 1), self.B) + self.B * self.sides
            starts.append(np.unique(drawn, return_inverse=True)[1].astype(np.int32))
        for trial in range(max(1, TRIALS - self.B // PER_TRIAL)):
            rounds = list(agglomerate(self.entries, self.sides, False, Rng(trial)))
            if rounds:
                best = min(rounds, key=self.measure)
                few = [labels for labels in rounds if self.B * (int(labels.max()) + 1) ** 3 <= MOST_WORK]
                starts += [best, *few[:1]]
        for start in starts:
            labels: Labels | None = start
            while labels is not None:
                work = self.B * (int(labels.max()) + 1) ** 3
                labels = self.move(labels) if work <= MOST_MOVED else labels
                found.append(labels)
                labels = self.join(labels) if work <= MOST_WORK else None
        return min(found, key=self.measure)


def find_levels(relations: Relations, labels: ArrayLike) -> list[list[int]]:
    """The levels above the blocks `labels`, ``[N]`` from 0, of a network: of each the group of every block (first
    level), or of every group of the level below; the group of most nodes is 0.

    >>> ends = [(i, j) for j in range(24) for i in range(j) if (i // 4 - j // 4) % 2 == 0]
    >>> from splitmerge_cli.kinds.networks.data import Relation
    >>> relations = Relations(24, (Relation("", np.array(ends, dtype=np.int32)),))
    >>> find_levels(relations, np.arange(24) // 4)
    [[0, 1, 0, 1, 0, 1]]
    """
    blocks = np.asarray(labels, dtype=np.int32)
    nodes = np.bincount(blocks)
    K, of_nodes = len(nodes), np.zeros(len(blocks), dtype=np.int8) if relations.sides is None else relations.sides
    sides = sides_of_blocks(blocks, of_nodes.astype(np.int32))
    entries, levels = Entries.from_relations(relations).join_blocks(blocks, K), list[list[int]]()
    while K > 2:
        groups = Counts(entries, sides).find_groups()
        nodes = np.bincount(groups, nodes)
        order = np.argsort(-nodes, kind="stable")
        if len(nodes) in (len(np.unique(sides)), K):
            break
        groups, nodes = np.argsort(order)[groups].astype(np.int32), nodes[order]
        K = len(nodes)
        entries, sides = entries.join_blocks(groups, K), sides_of_blocks(groups, sides)
        levels.append(groups.tolist())
    return levels


def write(store: RunStore, dataset: Dataset, labels: ArrayLike, first: int = FIRST) -> dict[str, Any]:
    """Write the levels above the clusters `labels`, ``[N]`` from 0, of a run, and return the entry of its summary."""
    if not (levels := find_levels(network_of(dataset), labels)):
        return {}
    group = np.asarray(labels)
    table: dict[str, Any] = {"row": range(1, dataset.N + 1)}
    table |= {} if dataset.names is None else {"name": dataset.names}
    table["cluster"] = number_clusters(group, first)
    for number, level in enumerate(levels, 2):
        group = np.asarray(level)[group]
        table[f"level_{number}"] = number_clusters(group, first)
    store.keep_columns(FILE, table)
    return {KEY: levels}


def describe(levels: Sequence[Sequence[int]], first: int) -> str:
    """Numbers of clusters and groups in words.

    >>> describe([[0, 0, 1, 1, 2], [0, 1, 1]], first=1)
    'clusters 1 to 5 in 3 groups, these in 2'
    """
    last, numbers = number_clusters(len(levels[0]) - 1, first), [max(level) + 1 for level in levels]
    return f"clusters {first} to {last} in {numbers[0]:,} groups" + "".join(f", these in {n:,}" for n in numbers[1:])


def lines(summary: Mapping[str, Any], first: int) -> Iterator[str]:
    """Describe the levels of a run, and the groups at the top."""
    if not (levels := summary.get(KEY)):
        return
    yield f"{describe(levels, first)}, by the edges between them ({FILE}):"
    member = np.arange(len(levels[0]))
    for level in levels:
        member = np.asarray(level)[member]
    nodes = np.bincount(member[np.asarray(summary["point_estimate"]["labels"])])
    for k, size in enumerate(nodes[:LISTED].tolist()):
        inside = number_clusters(np.flatnonzero(member == k), first).tolist()
        named = ", ".join([*map(str, inside[:NAMED]), *["..."] * (len(inside) > NAMED)])
        yield f"  group {number_clusters(k, first)}, {size:,} nodes: cluster{'s' * (len(inside) > 1)} {named}"
    if len(nodes) > LISTED:
        yield f"  {len(nodes) - LISTED} more groups"
