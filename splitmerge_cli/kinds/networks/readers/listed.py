"""Networks as they are written, a row for each edge, and the data sets that are made of them.

`simple` makes the simple undirected network and notes what else is there; `relational` keeps what the user asks for:
directions, weights, layers, unknown pairs, two kinds of nodes.

There rows of one pair, and of both directions where edges have none, are merged: counts add up, numbers are averaged,
and of levels the first holds. A network that has every edge in both directions with the same value, as a symmetric
matrix has, has it once. A row whose value is missing makes its pair unknown, unless another row has a value; a pair
that the user lists is unknown in any case.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import AS_NETWORK, Dataset
from splitmerge_cli.data.values import notes_entry, require
from splitmerge_cli.kinds.networks import data
from splitmerge_cli.kinds.networks.data import BINARY, COUNT, FORMS, LEVELS, REAL, Relation, Relations
from splitmerge_cli.kinds.networks.readers.edge_values import FEW_LEVELS, describe_values, read_values
from splitmerge_cli.received import DataError

SHOWN = "shown"
"""Entry of ``Dataset.meta`` with the options that a run takes unless somebody names one; stored nowhere."""
HAS_DIRECTIONS = "has_directions"
"""Entry of ``Dataset.meta`` if the file itself says that edges have directions, or if some pairs are written in both
and others are not, and the directions follow from no order of the nodes; stored nowhere."""
ORDERED = 0.95
"""Share of edges that lead from a node to one behind it in an order, from which on the order may be why."""

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
    encoding: str = "utf-8"

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

    @property
    def record(self) -> dict[str, Any]:
        """Options that are used, by the names of the keys, for the record of a run."""
        return {key: value for key, value in vars(self).items() if key != "unknown" and value != getattr(Use, key)}


@dataclass(frozen=True)
class Listed:
    """A network as it is written: a row for each edge, which may repeat others."""

    place: str
    """The file, or ``data``."""
    name: str
    """For titles."""
    names: list[str] | None
    """Names of the nodes."""
    N: int
    """Number of nodes."""
    ends: NDArray[np.int64]
    """int64 ``[rows, 2]``: source and target of each row."""
    weight: NDArray[np.float64] | None = None
    """float64 ``[rows]``: the value of each row, NaN if it is missing; codes where there are `levels`."""
    levels: tuple[str, ...] = ()
    layer: NDArray[np.int64] | None = None
    """int64 ``[rows]``: position among `layers` of each row."""
    layers: tuple[str, ...] = ("",)
    sides: NDArray[np.int8] | None = None
    """int8 ``[N]``: which of two kinds each node is."""
    side_names: tuple[str, str] = ("row", "column")
    """Names of these kinds."""
    directed: bool | None = None
    """Whether the source says that edges have directions; None: it does not say."""
    truth: NDArray[np.int32] | None = None
    columns: Dataset | None = None
    """As of the `Dataset` and of `Relations`."""
    other_values: Any = None
    """Values of the rows that are not read: what a column or attribute holds."""
    other_layers: str = ""
    """Name of a column or attribute that holds layers and is not read."""
    node_columns: list[str] = field(default_factory=list)
    """Names of columns that describe nodes and are not read."""
    notes: list[str] = field(default_factory=list)
    """Notes on how the network was read."""
    is_matrix: bool = False
    """Whether rows are entries of a matrix, in which an edge without a direction stands twice."""
    may_be_directed: bool = False
    """Whether it names the ends of an edge source and target."""

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
    i, j, counts = data.merge(listed.N, listed.ends[:, 0], listed.ends[:, 1], listed.weight, threshold)
    matrix = data.adjacency(listed.N, i, j)
    size = data.sizes(matrix)
    read = f"{listed.place}: {AS_NETWORK}{size['nodes']} nodes and {size['edges']} edges, simple and undirected"
    notes = [read, *listed.notes, *note_rest(listed, Use(), command, counts)]
    if below := counts["below_threshold"]:
        limit = "of weight 0" if threshold == 0 else f"of weights up to {threshold:g} (data.threshold)"
        notes.append(f"{listed.place}: pairs {limit}: {below}; they are no edges")
    meta = counts | size | notes_entry(notes)
    parts, options = _left_out(listed, Use(), counts)
    are_mixed = "directions" in parts and counts["reversed"] > 0
    if "directions" in parts and (listed.directed or (are_mixed and not _follow_an_order(listed))):
        meta[HAS_DIRECTIONS] = True
    if shown := _find_shown(listed, options):
        meta[SHOWN] = ({"directed": True} if are_mixed else {}) | shown
    return Dataset(listed.name, "graph", matrix, listed.truth, names=listed.names, meta=meta), counts


def _follow_an_order(listed: Listed) -> bool:
    """Whether nearly all edges lead to the node that comes later, or earlier, as nodes are numbered or by their names:
    a list of edges without directions may be written so."""
    orders = [np.arange(listed.N)]
    if listed.names:
        try:
            names = np.array(listed.names, dtype=float)
        except ValueError:
            names = np.array(listed.names)
        orders.append(np.argsort(np.argsort(names)))
    i, j = listed.ends[listed.ends[:, 0] != listed.ends[:, 1]].T
    shares = [float((place[i] < place[j]).mean()) for place in orders]
    return max(max(share, 1.0 - share) for share in shares) >= ORDERED


def _find_shown(listed: Listed, options: Mapping[str, Any]) -> dict[str, Any]:
    """The `options` without which a simple network would be spoilt: few levels, some of them below 0 or words,
    and layers."""
    if listed.levels or listed.sides is not None or "bipartite" in options:
        return {}
    cells = listed.other_values if listed.weight is None else listed.weight
    if options.get("values") == LEVELS and len(read_values(cells, LEVELS).levels) > FEW_LEVELS:
        return {}
    return {key: options[key] for key in ("values", "layer") if options.get(key) not in (None, COUNT, REAL)}


def note_rest(listed: Listed, use: Use, command: Command, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield what is written and not used, with the command that uses it.

    `counts`: rows of ``self_loops``, further rows of a pair in the direction of its first one (``repeated``) and in the
    other (``reversed``).
    """
    parts, options = _left_out(listed, use, counts)
    if parts:
        yield f"{listed.place}: left out: {', '.join(parts)}; this uses them: {command(options)}"
    if listed.node_columns and use.columns is None:
        shown = ", ".join(listed.node_columns[:5])
        yield f"{listed.place}: columns of nodes that are not read: {shown} (data.columns=[NAME] reads them)"


def _left_out(listed: Listed, use: Use, counts: Mapping[str, int]) -> tuple[list[str], dict[str, Any]]:
    """Words for what is written and not used, and the options that use it; `counts` as of `note_rest`."""
    parts, options = list[str](), dict[str, Any]()
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
            parts.append(f"{further} further edge{'s' * (further != 1)} of a pair")
    if counts["self_loops"] and not (use.two_kinds or "bipartite" in options):
        parts.append(f"edges of a node to itself: {counts['self_loops']}")
        options["loops"] = True
    if listed.other_layers and use.layer is None:
        parts.append(f"layers ('{listed.other_layers}')")
        options["layer"] = listed.other_layers
    return parts, options


def _are_two_kinds(ends: NDArray[np.int64], N: int) -> bool:
    """Whether no node is both source and target, in a network that is no mere forest."""
    roles = np.zeros((N, 2), dtype=bool)
    roles[ends[:, 0], 0] = roles[ends[:, 1], 1] = True
    if len(ends) < N or roles.sum(axis=0).min() < 2 or roles.all(axis=1).any():
        return False
    return len(data.distinct(ends[:, 0] * N + ends[:, 1])) >= N


Pairs = NDArray[np.int64]
"""int64 ``[pairs, 2]``: two nodes each."""


@dataclass(frozen=True)
class UnknownPairs:
    """Pairs of which it is not known whether they are edges: their ends, and the position of the layer of each, -1 for
    all of them."""

    ends: Pairs
    layer: NDArray[np.int64]


def relational(
    listed: Listed, use: Use, command: Command, threshold: float = 0.0, unknown: UnknownPairs | None = None
) -> Dataset:
    """The data set of a network with `relations`, by what is used of it."""
    if use.directed and listed.directed is False:
        problem = "its edges have no direction; expected data.directed=false"
        raise DataError(f"data.directed=true: {listed.place}: {problem}")
    counts: Counter[str] = Counter()
    layers = [_layer(listed, number, use, threshold, unknown, counts) for number in range(len(listed.layers))]
    sides = listed.sides if use.two_kinds else None
    relations = Relations(listed.N, tuple(layers), sides, listed.side_names, listed.columns)
    values = data.simple_graph(relations)
    size = data.sizes(values) | {"edges": sum(len(layer.ends) for layer in layers)}
    notes = [f"{listed.place}: {_describe(relations, use)}", *listed.notes, *_merging(listed, counts, use)]
    of_pairs = {"self_loops": counts["self_loops"], "repeated": counts["repeated"], "reversed": 0}
    if not (use.directed or use.two_kinds):
        # edges whose pair is an edge in the other direction, too
        i, j = listed.ends[listed.ends[:, 0] != listed.ends[:, 1]].T
        back = np.isin(data.distinct(j * listed.N + i), i * listed.N + j)
        if both := int(back.sum()) // 2:
            of_pairs |= {"reversed": both, "repeated": 0}
    notes += note_rest(listed, use, command, of_pairs)
    meta = {"use": use.record} | size | notes_entry(notes)
    names = listed.names
    if sides is not None and names is not None:
        # where nodes of both kinds share a name, the kind stands behind it
        twice, kinds = {name for name, times in Counter(names).items() if times > 1}, relations.side_names
        pairs = zip(names, sides, strict=True)
        names = [f"{name} ({kinds[side]})" if name in twice else name for name, side in pairs]
    return Dataset(listed.name, "graph", values, listed.truth, names=names, meta=meta, relations=relations)


def _orient(listed: Listed, ends: Pairs, use: Use) -> Pairs:
    """The ends of edges in the order of `Relation`."""
    if use.directed or not len(ends):
        return ends
    if not use.two_kinds:
        return np.sort(ends, axis=1)
    assert listed.sides is not None
    of_ends = listed.sides[ends]
    same = of_ends[:, 0] == of_ends[:, 1]
    if same.any():
        a, b = ends[int(np.argmax(same))]
        kind = listed.side_names[int(listed.sides[a])]
        raise DataError(
            f"data.bipartite: {listed.place}: an edge between {listed.title(a)} and {listed.title(b)}, both of kind "
            f"'{kind}'; expected edges between nodes of two kinds"
        )
    return np.where(of_ends[:, :1] == 0, ends, ends[:, ::-1])


def _layer(
    listed: Listed, number: int, use: Use, threshold: float, unknown: UnknownPairs | None, counts: "Counter[str]"
) -> Relation:
    """One relation of its rows; what is merged or left out is added to the `counts`."""
    rows = slice(None) if listed.layer is None else listed.layer == number
    written, weight = listed.ends[rows], None if listed.weight is None else listed.weight[rows]
    written_weight, ends, unsure = weight, _orient(listed, written, use), np.empty((0, 2), dtype=np.int64)
    if unknown is not None:
        unsure = _orient(listed, unknown.ends[(unknown.layer < 0) | (unknown.layer == number)], use)
    N, form = listed.N, use.form
    if form == LEVELS and not listed.levels:  # no edge has a value
        form = BINARY
    if not use.loops and not use.two_kinds:
        is_loop = ends[:, 0] == ends[:, 1]
        counts["self_loops"] += int(is_loop.sum())
        ends, weight = ends[~is_loop], None if weight is None else weight[~is_loop]
        unsure = unsure[unsure[:, 0] != unsure[:, 1]]
    unsure_code = unsure[:, 0] * N + unsure[:, 1]
    without = ends[:0]
    if weight is not None and (absent := np.isnan(weight)).any():
        without, ends, weight = ends[absent], ends[~absent], weight[~absent]
    code, first, which, times = np.unique(
        ends[:, 0] * N + ends[:, 1], return_index=True, return_inverse=True, return_counts=True
    )
    total = np.bincount(which, weight, len(code)).astype(np.float64)
    repeated = int((times - 1).sum())
    value: NDArray[np.float64] | None = total
    undirected = not use.directed and not use.two_kinds
    if repeated and undirected and both_ways(written, written_weight, N):
        loops = code // N == code % N
        # sums and means of two equal numbers
        value = total if form in (BINARY, REAL) else np.where(loops, total, total / 2)
        counts["twice"] += repeated
        repeated = 0
    counts["repeated"] += repeated
    if form == REAL:
        assert value is not None
        value = value / times
    elif form == LEVELS:
        assert weight is not None
        value = weight[first]
        counts["differ"] += len(np.unique(which[weight != value[which]]))
    if form in (BINARY, COUNT):
        assert value is not None
        is_edge = value > (threshold if form == BINARY else 0)
        counts["no_edge"] += int((~is_edge).sum())
        code, value = code[is_edge], None if form == BINARY else value[is_edge]
    # a pair of which another row has a value is known; one that the user lists is not
    if len(unsure_code) or len(without):
        unsure_code = np.union1d(unsure_code, np.setdiff1d(without[:, 0] * N + without[:, 1], code))
        hidden = np.isin(code, unsure_code)
        counts["hidden"] += int(hidden.sum())
        code, value = code[~hidden], None if value is None else value[~hidden]
    return Relation(
        listed.layers[number],
        np.stack(np.divmod(code, N), axis=1).astype(np.int32),
        form,
        value,
        listed.levels if form == LEVELS else (),
        use.directed,
        use.loops,
        np.stack(np.divmod(unsure_code, N), axis=1).astype(np.int32),
    )


def _describe(relations: Relations, use: Use) -> str:
    """Describe what is read, in one line."""
    layers, N = relations.layers, relations.N
    nodes = f"{N} nodes"
    if relations.sides is not None:
        of_second = int(relations.sides.sum())
        (one, other), n = relations.side_names, N - of_second
        nodes = f"{N} nodes, {n} of kind '{one}' and {of_second} of kind '{other}',"
    edges = sum(len(layer.ends) for layer in layers)
    parts = [
        f"{AS_NETWORK}{nodes} and {edges} edges",
        "between the kinds" if use.two_kinds else "directed" if use.directed else "undirected",
    ]
    of_all = [layer.value for layer in layers if layer.value is not None and len(layer.value)]
    if use.form == LEVELS:
        kept = [levels for layer in layers for levels in layer.levels]
        parts.append(f"levels {', '.join(dict.fromkeys(kept))}")
    elif of_all:
        low, high = min(value.min() for value in of_all), max(value.max() for value in of_all)
        parts.append(f"{'counts' if use.form == COUNT else 'numbers'} {low:g} to {high:g}")
    if use.loops:
        loops = sum(int((layer.ends[:, 0] == layer.ends[:, 1]).sum()) for layer in layers)
        parts.append(f"edges of a node to itself: {loops}")
    if len(layers) > 1 or layers[0].name:
        parts.append(f"layers: {', '.join(f'{layer.name} ({len(layer.ends)})' for layer in layers)}")
    if unknown := sum(len(layer.unknown) for layer in layers):
        parts.append(f"unknown pairs: {unknown}")
    if relations.columns is not None:
        columns = zip(relations.columns.column_names, relations.columns.types or (), strict=True)
        parts.append(f"columns of nodes: {', '.join(f'{name} ({type.type})' for name, type in columns)}")
    return ", ".join(parts)


def _merging(listed: Listed, counts: "Counter[str]", use: Use) -> Iterator[str]:
    """Yield notes on rows that are merged or left out."""
    place = listed.place
    if (twice := counts["twice"]) and not listed.is_matrix:
        yield f"{place}: {twice} edges are written in both directions with the same value: each is one edge"
    if repeated := counts["repeated"]:
        how = {
            BINARY: "a pair is one edge",
            COUNT: "counts of a pair add up",
            REAL: "a pair has the mean of its numbers",
            LEVELS: "a pair has its first level",
        }[use.form]
        differ = f"; the levels of {counts['differ']} pairs differ" if counts["differ"] else ""
        yield f"{place}: further rows of a pair: {repeated}; {how}{differ}"
    if hidden := counts["hidden"]:
        yield f"{place}: edges that data.unknown lists: {hidden}; their pairs are unknown"
    if no_edge := counts["no_edge"]:
        what = "count 0" if use.form == COUNT else "a weight not above data.threshold"
        yield f"{place}: pairs of {what}: {no_edge}; they are no edges"
