"""Generated networks of planted blocks with directions, weights, degrees, layers, two kinds and columns of nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.labels import equal_sizes
from splitmerge_cli.data.values import require, require_number
from splitmerge_cli.kinds.networks.data import BINARY, COUNT, FORMS, LEVELS, REAL, Relation, Relations

Trials = Callable[[np.random.Generator, int, float], NDArray[np.int64]]
"""Draws which of so many trials succeed with a probability."""
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
            require(
                not (getattr(self, key) and self.bipartite), f"data.{key}", "true", "false with data.bipartite=true"
            )

    @property
    def form(self) -> str:
        """The form of the values of edges."""
        return self.values or BINARY


def plant(
    rng: np.random.Generator, N: int, blocks: int, p_in: float, p_out: float, planted: Planted, trials: Trials
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
                parts.append(
                    _draw(rng, groups[k], other, p_in if is_strong else p_out, is_strong, planted, theta, trials)
                )
        name = f"layer {number + 1}" if planted.layers > 1 else ""
        layers.append(_relation(rng, name, N, parts, sides, planted, trials))
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
    trials: Trials,
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
        numbers = trials(rng, pairs, p)
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
    trials: Trials,
) -> Relation:
    ends, value = np.concatenate([part for part, _ in parts]), np.concatenate([values for _, values in parts])
    code, first, times = np.unique(ends[:, 0] * N + ends[:, 1], return_index=True, return_counts=True)
    values = times.astype(np.float64) if planted.form == COUNT else value[first]
    unknown = trials(rng, N * N, planted.unknown)
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


def _columns(rng: np.random.Generator, truth: NDArray[np.int32], planted: Planted) -> Dataset | None:
    """A column of numbers and one of yes and no, which differ between blocks."""
    if not planted.columns:
        return None
    values: Any = np.column_stack([rng.normal(3.0 * truth, 1.0), rng.random(len(truth)) < 0.2 + 0.6 * (truth % 2)])
    types = (ColumnType("real"), ColumnType("binary", ("no", "yes")))
    return Dataset("nodes", "mixed", values, columns=["number", "answer"], types=types)
