"""Networks as they are written, a row for each edge, and the data sets that are made of them.

`simple` makes the simple undirected network and notes what else is there;
`splitmerge_cli.kinds.networks.readers.relational` keeps what the user asks for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import AS_NETWORK, Dataset
from splitmerge_cli.data.values import notes_entry, require
from splitmerge_cli.kinds.networks.data import BINARY, COUNT, FORMS
from splitmerge_cli.kinds.networks.readers.adjacency import adjacency, distinct, merge, sizes
from splitmerge_cli.kinds.networks.readers.edge_values import describe_values

Command = Callable[[Mapping[str, Any]], str]
"""Writes the command, or the call, that reads the network with other options."""


@dataclass(frozen=True)
class Use:
    """Parts of a network that are read beyond the simple undirected one, as the keys of the same names say."""

    directed: bool = False
    values: str | None = None
    loops: bool = False
    layer: str | int | None = None
    bipartite: bool | str | int = False
    unknown: Any = None
    columns: Sequence[str | int] | None = None
    types: Mapping[str | int, str | Sequence[str]] | None = None

    def __post_init__(self) -> None:
        require(self.values in (None, *FORMS), "data.values", self.values, f"null, {', '.join(FORMS[:-1])} or levels")
        for key in ("directed", "loops"):
            value = getattr(self, key)
            require(isinstance(value, bool), f"data.{key}", value, "true or false")
            require(not (value and self.two_kinds), f"data.{key}", "true", "false with data.bipartite")
        require(self.columns is None or len(self.columns) > 0, "data.columns", self.columns, "at least one column")
        if self.types is not None:
            require(self.columns is not None, "data.types", self.types, "null without data.columns")

    @property
    def two_kinds(self) -> bool:
        """Whether nodes are of two kinds."""
        return self.bipartite is not False

    @property
    def form(self) -> str:
        """The form of the values of edges."""
        return self.values or BINARY

    @property
    def is_simple(self) -> bool:
        """Whether the simple undirected network is all that is read."""
        return self == Use()


@dataclass(frozen=True)
class Listed:
    """A network as it is written: a row for each edge, which may repeat others.

    Attributes
    ----------
    place : str
        The file, or ``data``.
    name : str
        For titles.
    names : list of str or None
        Names of the nodes.
    N : int
        Number of nodes.
    ends : numpy.ndarray
        int64 ``[rows, 2]``: source and target of each row.
    weight : numpy.ndarray or None
        float64 ``[rows]``: the value of each row, NaN if it is missing; codes where there are `levels`.
    layer : numpy.ndarray or None
        int64 ``[rows]``: position among `layers` of each row.
    sides : numpy.ndarray or None
        int8 ``[N]``: which of two kinds each node is.
    side_names : tuple of str
        Names of these kinds.
    directed : bool or None
        Whether the source says that edges have directions; None: it does not say.
    may_be_directed : bool
        Whether it names the ends of an edge source and target.
    truth, columns
        As of the `Dataset` and of `Relations`.
    is_matrix : bool
        Whether rows are entries of a matrix, in which an edge without a direction stands twice.
    other_values : sequence or None
        Values of the rows that are not read: what a column or attribute holds.
    other_layers : str
        Name of a column or attribute that holds layers and is not read.
    node_columns : list of str
        Names of columns of the nodes that are not read.
    notes : list of str
        What is to be said of how the network was read.
    """

    place: str
    name: str
    names: list[str] | None
    N: int
    ends: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None
    levels: tuple[str, ...] = ()
    layer: NDArray[np.int64] | None = None
    layers: tuple[str, ...] = ("",)
    sides: NDArray[np.int8] | None = None
    side_names: tuple[str, str] = ("row", "column")
    directed: bool | None = None
    truth: NDArray[np.int32] | None = None
    columns: Dataset | None = None
    other_values: Any = None
    other_layers: str = ""
    node_columns: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_matrix: bool = False
    may_be_directed: bool = False

    def title(self, node: int) -> str:
        """A node as messages name it."""
        return f"'{self.names[node]}'" if self.names else str(node + 1)


def both_ways(ends: NDArray[np.int64], weight: NDArray[np.float64] | None, N: int) -> bool:
    """Whether every edge stands in both directions, once each, with the same value: as in a symmetric matrix."""
    apart = ends[:, 0] != ends[:, 1]
    i, j = ends[apart].T
    if i.sum() != j.sum():  # most networks end here, without an order of their edges
        return False
    forth, back = i * N + j, j * N + i
    order, other = np.argsort(forth), np.argsort(back)
    if not len(forth) or not np.array_equal(forth[order], back[other]) or (np.diff(forth[order]) == 0).any():
        return False
    return weight is None or np.array_equal(weight[apart][order], weight[apart][other], equal_nan=True)


def simple(listed: Listed, threshold: float, command: Command) -> tuple[Dataset, dict[str, int]]:
    """The simple undirected network, with notes of what else is written; and what was merged or left out."""
    merged = merge(listed.N, listed.ends[:, 0], listed.ends[:, 1], listed.weight, threshold)
    matrix, counts = adjacency(listed.N, merged.i, merged.j), merged.counts
    size = sizes(matrix)
    read = f"{listed.place}: {AS_NETWORK}{size['nodes']} nodes and {size['edges']} edges, simple and undirected"
    notes = [read, *listed.notes, *note_rest(listed, Use(), command, counts)]
    if below := counts["below_threshold"]:
        limit = "of weight 0" if threshold == 0 else f"of weights up to {threshold:g} (data.threshold)"
        notes.append(f"{listed.place}: pairs {limit}: {below}; they are no edges")
    meta = counts | size | notes_entry(notes)
    return Dataset(listed.name, "graph", matrix, listed.truth, names=listed.names, meta=meta), counts


def note_rest(listed: Listed, use: Use, command: Command, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield what is written and not used, with the command that uses it.

    `counts`: rows of ``self_loops``, further rows of a pair in the direction of its first one (``repeated``) and in the
    other (``reversed``).
    """
    parts, options = [], dict[str, Any]()
    ends, weight, further = listed.ends, listed.weight, counts["repeated"]
    if not (use.two_kinds or use.directed):
        may_be_twice = counts["reversed"] > 0 or (listed.is_matrix and len(ends) > 0)
        is_twice = may_be_twice and both_ways(ends, weight, listed.N)
        if listed.sides is not None or (listed.directed is not True and _are_two_kinds(ends, listed.N)):
            parts.append("two kinds of nodes")
            options["bipartite"] = True
        elif listed.directed or (listed.directed is None and may_be_twice and not is_twice):
            parts.append("directions")
            options["directed"] = True
        elif listed.directed is None and listed.may_be_directed and not is_twice:
            parts.append("directions, if the edges have some")
            options["directed"] = True
        elif not is_twice:
            further += counts["reversed"]
    if use.values is None:
        cells = listed.other_values if weight is None else weight
        if cells is not None and (described := describe_values(cells)) is not None:
            options["values"], words = described
            parts.append(words)
        elif further and weight is None and not listed.other_layers:
            options["values"] = COUNT
            parts.append(f"{further} further edges of a pair")
    if counts["self_loops"] and not (use.two_kinds or "bipartite" in options):
        parts.append(f"edges of a node to itself: {counts['self_loops']}")
        options["loops"] = True
    if listed.other_layers and use.layer is None:
        parts.append(f"layers ('{listed.other_layers}')")
        options["layer"] = listed.other_layers
    if parts:
        yield f"{listed.place}: left out: {', '.join(parts)}; this uses them: {command(options)}"
    if listed.node_columns and use.columns is None:
        shown = ", ".join(listed.node_columns[:5])
        yield f"{listed.place}: columns of nodes that are not read: {shown} (data.columns=[NAME] reads them)"


def _are_two_kinds(ends: NDArray[np.int64], N: int) -> bool:
    """Whether no node is both source and target, in a network that is no mere forest."""
    roles = np.zeros((N, 2), dtype=bool)
    roles[ends[:, 0], 0] = roles[ends[:, 1], 1] = True
    if len(ends) < N or roles.sum(axis=0).min() < 2 or roles.all(axis=1).any():
        return False
    return len(distinct(ends[:, 0] * N + ends[:, 1])) >= N
