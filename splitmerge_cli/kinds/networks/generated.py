"""Networks that are generated: planted blocks, also with directions, weights, degrees, layers, two kinds and columns of
nodes; a regular grid without borders, on which a split or a merge alone cannot keep the number of blocks; a random
graph. And the four networks of Herlau et al. 2014 (`splitmerge_cli.data.downloads`: what they are, and where they come
from).

Source: Herlau et al., section 3.3 (the grid with a translation-invariant boundary; networks prepared by adding the
transpose and dropping what is not above 0, and the diagonal; a smaller one keeps the nodes of highest degree).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.data import dataset, downloads
from splitmerge_cli.data.opening import content
from splitmerge_cli.data.values import equal_sizes, require, require_number, require_seed, require_size
from splitmerge_cli.kinds.networks import data
from splitmerge_cli.kinds.networks.data import BINARY, COUNT, FORMS, LEVELS, REAL, Nodes, Relation, Relations
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.received import DataError

RATE = 4.0
"""Mean count of a pair, over the probability of an edge."""
SIGNS = ("-", "+")
MOST_LAYERS = 100


@dataclass(frozen=True)
class Planted:
    """Parts of planted blocks beyond a simple undirected network, as the options of the same names say."""

    directed: bool = False
    values: str | None = None
    loops: bool = False
    degrees: float = 0.0
    layers: int = 1
    bipartite: bool = False
    unknown: float = 0.0
    columns: bool = False

    def __post_init__(self) -> None:
        require(self.values in (None, *FORMS), "data.values", self.values, f"null, {', '.join(FORMS[:-1])} or levels")
        require_number("data.degrees", self.degrees, 0, 10)
        require_number("data.unknown", self.unknown, 0, 1)
        good = isinstance(self.layers, int) and 1 <= self.layers <= MOST_LAYERS
        require(good, "data.layers", self.layers, f"a whole number from 1 to {MOST_LAYERS}")
        for key in ("directed", "loops"):
            both = getattr(self, key) and self.bipartite
            require(not both, f"data.{key}", "true", "false with data.bipartite=true")

    @property
    def form(self) -> str:
        """The form of the values of edges."""
        return self.values or BINARY


def plant(
    rng: np.random.Generator, N: int, blocks: int, p_in: float, p_out: float, planted: Planted
) -> tuple[Relations, NDArray[np.int32]]:
    """Relations of planted blocks, and the block of each node.

    With two kinds of nodes half is of each kind, and each has so many `blocks`. In layer t, from 0, a block has
    many edges to the block t places on, and with directions also to the next one.
    """
    kinds = 2 if planted.bipartite else 1
    sides = (np.arange(N) >= (N + 1) // 2).astype(np.int8) if planted.bipartite else None
    sizes = [N] if sides is None else [N - int(sides.sum()), int(sides.sum())]
    require(blocks <= min(sizes), "data.blocks", blocks, f"a whole number from 1 to {min(sizes)}")
    truth = np.concatenate([kind * blocks + equal_sizes(rng, n, blocks) for kind, n in enumerate(sizes)])
    groups = [np.flatnonzero(truth == block) for block in range(kinds * blocks)]
    theta = np.ones(N)
    if planted.degrees > 0:
        # a small shape underflows
        theta = np.maximum(rng.gamma(planted.degrees**-2, planted.degrees**2, N), 1e-12)
    layers = []
    for number in range(planted.layers):
        parts = []
        for k in range(blocks):
            for m in range(blocks) if planted.directed or planted.bipartite else range(k, blocks):
                steps = {number % blocks, (number + planted.directed) % blocks}
                is_strong = (m - k) % blocks in steps or (not planted.directed and (k - m) % blocks in steps)
                other = groups[m + blocks * (kinds - 1)]
                parts.append(_draw(rng, groups[k], other, p_in if is_strong else p_out, is_strong, planted, theta))
        name = f"layer {number + 1}" if planted.layers > 1 else ""
        layers.append(_relation(rng, name, N, parts, sides, planted))
    names = ("row", "column")
    return Relations(N, tuple(layers), sides, names, _columns(rng, truth, planted)), truth.astype(np.int32)


def _draw(
    rng: np.random.Generator,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    p: float,
    is_strong: bool,
    planted: Planted,
    theta: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Edges from the nodes of one block to another's, and their values."""
    inner = a is b
    pairs = len(a) * len(b)
    if planted.form == COUNT or planted.degrees > 0:
        # ends of a Poisson number of edges; the same pair may be drawn several times
        rate = (RATE if planted.form == COUNT else 1.0) * p / (2 if inner and not planted.directed else 1)
        mass_a, mass_b = theta[a].sum(), theta[b].sum()
        drawn = int(rng.poisson(rate * mass_a * mass_b))
        i, j = rng.choice(a, drawn, p=theta[a] / mass_a), rng.choice(b, drawn, p=theta[b] / mass_b)
    else:
        numbers = _successes(rng, pairs, p)
        i, j = a[numbers // len(b)], b[numbers % len(b)]
        if inner and not planted.directed:
            i, j = i[i <= j], j[i <= j]
    ends = np.stack([i, j], axis=1)
    ends = ends if planted.directed or planted.bipartite else np.sort(ends, axis=1)
    ends = ends if planted.loops else ends[ends[:, 0] != ends[:, 1]]
    if planted.form == REAL:
        return ends, rng.normal(2.0 * is_strong, 1.0, len(ends))
    if planted.form == LEVELS:
        return ends, (rng.random(len(ends)) < (0.9 if is_strong else 0.2)).astype(np.float64)
    return ends, np.ones(len(ends))


def _relation(
    rng: np.random.Generator,
    name: str,
    N: int,
    parts: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]],
    sides: NDArray[np.int8] | None,
    planted: Planted,
) -> Relation:
    ends, value = np.concatenate([part for part, _ in parts]), np.concatenate([values for _, values in parts])
    code, first, times = np.unique(ends[:, 0] * N + ends[:, 1], return_index=True, return_counts=True)
    values = times.astype(np.float64) if planted.form == COUNT else value[first]
    unknown = _successes(rng, N * N, planted.unknown)
    i, j = np.divmod(unknown, N)
    fits = (i != j) | planted.loops
    if sides is not None:
        fits = (sides[i] == 0) & (sides[j] == 1)
    elif not planted.directed:
        fits &= i <= j
    unknown = unknown[fits]
    known = ~np.isin(code, unknown)
    return Relation(
        name,
        np.stack(np.divmod(code[known], N), axis=1).astype(np.int32),
        planted.form,
        None if planted.form == BINARY else values[known],
        SIGNS if planted.form == LEVELS else (),
        planted.directed,
        planted.loops,
        np.stack(np.divmod(unknown, N), axis=1).astype(np.int32),
    )


def _columns(rng: np.random.Generator, truth: NDArray[np.int32], planted: Planted) -> dataset.Dataset | None:
    """A column of numbers and one of yes and no, which differ between blocks."""
    if not planted.columns:
        return None
    values: Any = np.column_stack([rng.normal(3.0 * truth, 1.0), rng.random(len(truth)) < 0.2 + 0.6 * (truth % 2)])
    types = (dataset.ColumnType("real"), dataset.ColumnType("binary", ("no", "yes")))
    return dataset.Dataset("nodes", "mixed", values, columns=["number", "answer"], types=types)


STRUCTURES = ("blocks", "grid", "random")
MOST_EDGES = 10**9
"""Most edges that are expected of a generated network: each takes some 50 bytes while it is made."""


def generate(
    N: int,
    structure: str = "blocks",
    blocks: int = 5,
    p_in: float = 0.5,
    p_out: float = 0.05,
    p: float = 0.1,
    dimensions: int = 2,
    sides: Sequence[int] | None = None,
    seed: int = 0,
    directed: bool = False,
    values: str | None = None,
    loops: bool = False,
    degrees: float = 0.0,
    layers: int = 1,
    bipartite: bool = False,
    unknown: float = 0.0,
    columns: bool = False,
) -> dataset.Dataset:
    """A network: simple and undirected, unless planted blocks have more.

    Options: ``conf/data/network.yaml``. The truth is the planted block; blocks are in random order, the first N mod
    `blocks` have one node more. In a grid with wrap-around every node has 2 neighbours per dimension; `sides` are 3 at
    least, and take the place of `dimensions`. Of `values`, ``count`` has mean 4 times the probability; ``real`` mean 2
    where edges are many, else 0, and standard deviation 1; ``levels`` +, with probability 0.9 where edges are many,
    else 0.2, and -. In each of `layers` a block has many edges to a block one place further on.

    A `DataError`: an option out of range, more blocks than nodes, or no grid of N nodes.
    """
    require_size("N", N)
    require_seed(seed)
    require(structure in STRUCTURES, "data.structure", structure, f"one of {', '.join(STRUCTURES)}")
    rng = np.random.default_rng(seed)
    planted = Planted(directed, values, loops, degrees, layers, bipartite, unknown, columns)
    is_simple = planted == Planted()
    if structure != "blocks":
        require(is_simple, "data.structure", structure, "blocks with directions, values or what else blocks may have")
    truth = relations = None
    meta: dict[str, Any] = {"structure": structure}
    if structure == "blocks":
        require_size("data.blocks", blocks, N)
        for key, value in (("p_in", p_in), ("p_out", p_out)):
            require_number(f"data.{key}", value, 0, 1)
        meta |= {"blocks": blocks, "p_in": p_in, "p_out": p_out, "seed": seed}
        if is_simple:
            truth = equal_sizes(rng, N, blocks)
            i, j = _planted_edges(rng, truth, p_in, p_out)
        else:
            for key, value in (("p_in", p_in), ("p_out", p_out), ("unknown", unknown)):
                require(value * N * N <= MOST_EDGES, f"data.{key}", value, f"at most {MOST_EDGES:g} pairs")
            relations, truth = plant(rng, N, blocks, p_in, p_out, planted)
    elif structure == "random":
        require_number("data.p", p, 0, 1)
        i, j = _edges_within(rng, np.array([N]), p, "data.p")
        meta |= {"p": p, "seed": seed}
    else:
        sides = _sides(N, dimensions) if sides is None else _check_sides(N, sides)
        i, j = _grid(sides)
        meta |= {"sides": list(sides)}
    matrix = data.adjacency(N, i, j) if relations is None else data.simple_graph(relations)
    return dataset.Dataset("network", "graph", matrix, truth, meta=meta, relations=relations)


def _planted_edges(
    rng: np.random.Generator, truth: NDArray[np.int32], p_in: float, p_out: float
) -> tuple[Nodes, Nodes]:
    """Draw the edges of planted blocks."""
    by_block = np.argsort(truth, kind="stable")
    inner = _edges_within(rng, np.bincount(truth), p_in, "data.p_in")
    # pairs are independent: pairs of a random graph that lie across blocks
    outer = _edges_within(rng, np.array([len(truth)]), p_out, "data.p_out")
    across = truth[outer[0]] != truth[outer[1]]
    i, j = (np.concatenate([by_block[a], b[across]]) for a, b in zip(inner, outer, strict=True))
    return i, j


def _edges_within(rng: np.random.Generator, groups: NDArray[np.int64], p: float, key: str) -> tuple[Nodes, Nodes]:
    """Draw every pair of nodes within a group with probability `p`; `groups`: their sizes, one after the other."""
    pairs = groups * (groups - 1) // 2
    end = np.cumsum(pairs)
    require(p * int(end[-1]) <= MOST_EDGES, key, p, f"a probability that makes {MOST_EDGES:g} edges at most")
    drawn = _successes(rng, int(end[-1]), p)
    group = np.searchsorted(end, drawn, side="right")
    j, i = _pair(drawn - (end - pairs)[group])
    start = np.cumsum(groups) - groups
    return i + start[group], j + start[group]


def _successes(rng: np.random.Generator, trials: int, p: float) -> NDArray[np.int64]:
    """Numbers of the trials, 0 .. trials - 1, that succeed with probability `p` each, ascending.

    The gaps between them are geometric, so the work grows with the successes (Batagelj & Brandes 2005).
    """
    parts, last = [np.empty(0, dtype=np.int64)], -1
    while p > 0 and last < trials:
        expected = p * (trials - last)
        gaps = rng.geometric(p, size=int(expected + 4 * np.sqrt(expected)) + 8)
        # a gap beyond the end counts as the end, so that the sum stays an int64
        trials_at = last + np.cumsum(np.minimum(gaps, trials + 1))
        parts.append(trials_at[trials_at < trials])
        last = int(trials_at[-1])
    return np.concatenate(parts)


def _pair(number: NDArray[np.int64]) -> tuple[Nodes, Nodes]:
    """The pair (larger, smaller) of that number: (1, 0), (2, 0), (2, 1), (3, 0), ..."""
    larger = ((1 + np.sqrt(1 + 8.0 * number)) / 2).astype(np.int64)
    # the root is rounded
    larger -= larger * (larger - 1) // 2 > number
    larger += larger * (larger + 1) // 2 <= number
    return larger, number - larger * (larger - 1) // 2


def _check_sides(N: int, sides: Sequence[int]) -> list[int]:
    listed = isinstance(sides, Sequence) and not isinstance(sides, str) and len(sides) > 0
    good = listed and all(type(side) is int and side >= 3 for side in sides)
    require(good, "data.sides", sides, "a list of whole numbers, at least 3 each, such as [10,10]")
    require(prod(sides) == N, "data.sides", list(sides), f"numbers whose product is N={N}, not {prod(sides)}")
    return list(sides)


def _sides(N: int, dimensions: int) -> list[int]:
    """Sides of a grid for N nodes, the largest as small as possible."""
    require_size("data.dimensions", dimensions, 20)
    divisors = [d for d in range(3, int(N**0.5) + 1) if N % d == 0]
    divisors = sorted({*divisors, *(N // d for d in divisors), N} - {0, 1, 2})

    @cache
    def best(rest: int, count: int, largest: int) -> list[int] | None:
        if count == 1:
            return [rest] if 3 <= rest <= largest else None
        found = [
            [side, *others]
            for side in divisors
            if side <= largest and rest % side == 0 and (others := best(rest // side, count - 1, side)) is not None
        ]
        return min(found, default=None)

    sides = best(N, dimensions, N)
    product = f"a product of {dimensions} whole numbers of at least 3 (the sides of data.structure=grid)"
    require(sides is not None, "N", N, product)
    return sides or []


def _grid(sides: Sequence[int]) -> tuple[Nodes, Nodes]:
    """Edges of a grid with wrap-around, its nodes numbered row by row."""
    node = np.arange(prod(sides)).reshape(sides)
    ends = [(node.ravel(), np.roll(node, -1, axis).ravel()) for axis in range(node.ndim)]
    i, j = (np.concatenate(part) for part in zip(*ends, strict=True))
    return i, j


EDGES = "edges.csv.gz"
NODES = "nodes.csv.gz"


def _reader(name: str, label: str | None, description: str, names: str) -> Callable[..., dataset.Dataset]:
    """Build the function that reads a network; column `label` of the file of nodes holds the names."""

    def read(scale: float = 1.0, N: int | None = None) -> dataset.Dataset:
        data.check_kept(scale, N)
        path = downloads.locate(name, EDGES)
        nodes = None if label is None else downloads.locate(name, NODES)
        graph = edges(path, header=True, nodes=None if nodes is None else str(nodes))
        names_read = graph.names
        if nodes is not None:
            table = pd.read_csv(BytesIO(content(nodes)), dtype=str, keep_default_na=False)
            if label not in table:
                raise DataError(f"{nodes}: columns {', '.join(table.columns)}; expected one named {label}")
            names_read = table[label].tolist()
        meta = {key: value for key, value in graph.meta.items() if key != "path"}
        return data.keep(replace(graph, name=name, names=names_read, meta=meta), scale, N)

    failing = "A `DataError`: an option out of range; a file is absent or not the published one."
    read.__doc__ = f"{description}\n\nKind ``graph``{names}. Options: ``conf/data/{name}.yaml``. {failing}"
    return read


usair97 = _reader(
    "usair97",
    "name",
    "332 airports of the United States; two are tied if a company flew between them in 1997.",
    ", with the names of the airports",
)
caltech36 = _reader(
    "caltech36",
    None,
    "769 people at Caltech, tied if they were friends on Facebook in 2005.",
    "; the names are the numbers of the source, from 0",
)
nips234 = _reader(
    "nips234",
    "name",
    "The 234 authors of NIPS 1 to 17 with most co-authors, tied if they wrote a paper together.",
    ", with the names of the authors",
)
hagmann998 = _reader(
    "hagmann998",
    "region",
    "998 places of the human cortex; two are tied if fibres were traced between them (Hagmann et al. 2008).",
    "; the name of a node is its region, which others share",
)
