"""Graphs whose nodes and edges have attributes: files of graphs, graphs of networkx and igraph."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset, get_kind
from splitmerge_cli.data.tables.table import NUMBER, quote
from splitmerge_cli.data.values import A_WEIGHT, numbered_labels
from splitmerge_cli.kinds.networks.data import BINARY, COUNT
from splitmerge_cli.kinds.networks.readers.adjacency import read_weights
from splitmerge_cli.kinds.networks.readers.edge_values import EXPECTED, LAYER_WORDS, VALUE_WORDS, read_values
from splitmerge_cli.kinds.networks.readers.listed import Listed, Use
from splitmerge_cli.received import DataError

SIDES = ("bipartite", "type")
"""Attributes of nodes that tell two kinds of them apart, as networkx and igraph name them."""
NO_COLUMNS = {*SIDES, "label", "id", "name", "x", "y", "z", "pos", "shape", "graphics"}
"""Attributes of nodes that describe no node, or how it is drawn."""
HOW = "data.weights=null reads none, data.values=real or levels negative ones"


class Attributed(NamedTuple):
    """A graph as it is written: names of the nodes, ends of the edges, and what each has.

    ``sides``, ``side_names``: where the format has two kinds of nodes. ``directed`` None: the format does not say.
    ``usual``: the weight of an edge without one, in formats that define it.
    """

    names: list[str] | None
    nodes: Sequence[dict[str, Any]]
    ends: NDArray[np.int64]
    edges: Sequence[dict[str, Any]]
    directed: bool | None
    sides: NDArray[np.int8] | None = None
    side_names: tuple[str, str] = ("row", "column")
    usual: float | None = None


def as_number(text: str) -> float | str:
    """The number that a text is; the text, if it is none."""
    return float(text) if NUMBER.fullmatch(text) else text


Wrong = Callable[[int, str, Any], str]
"""Names the edge of that position, its attribute and the value of it, as messages begin."""


def rows_of_graph(
    graph: Attributed,
    place: str,
    name: str,
    use: Use,
    wrong: Wrong,
    weights: str | int | None = "auto",
    truth: str | int | None = None,
    default: Any = None,
) -> Listed:
    """The rows of a graph with attributes; `default`: the weight of an edge without one in a simple network."""
    key = _values_key(graph, weights, use)
    weight, other, levels = None, None, tuple[str, ...]()
    if key is not None:
        cells = [attributes.get(key, default if use.is_simple else graph.usual) for attributes in graph.edges]
        if use.is_simple:
            weight, bad = read_weights(cells)
            expected = f"{A_WEIGHT} ({HOW})"
        else:
            weight, levels, bad = read_values(cells, use.form)
            expected = EXPECTED[use.form]
        if bad is not None:
            raise DataError(f"{wrong(bad, key, cells[bad])}; expected {expected}")
    elif use.values not in (None, BINARY, COUNT):
        raise DataError(f"data.values={use.values}: {place}: edges have no weights; expected data.weights=ATTRIBUTE")
    elif use.values is None and (key := _single_key(graph.edges, VALUE_WORDS)) is not None and weights is not None:
        other = [attributes.get(key) for attributes in graph.edges]
    layer, layers = _layers(graph, place, use)
    sides, side_names = _sides(graph, place, use)
    notes: list[str] = []
    return Listed(
        place,
        name,
        graph.names,
        len(graph.nodes),
        graph.ends,
        weight,
        levels,
        layer,
        layers,
        sides,
        side_names,
        graph.directed,
        None if truth is None else _true_labels(graph, place, truth, notes),
        None if use.columns is None else _columns(graph, place, use),
        other,
        _single_key(graph.edges, LAYER_WORDS) or "",
        [] if use.columns is not None else _node_columns(graph, truth),
        notes,
    )


def _single_key(rows: Sequence[dict[str, Any]], words: set[str]) -> str | None:
    """The only attribute with one of these names that rows have; None without one."""
    keys = {key for attributes in rows for key in attributes if key.lower() in words}
    return keys.pop() if len(keys) == 1 else None


def _values_key(graph: Attributed, weights: str | int | None, use: Use) -> Any:
    if weights != "auto" or any("weight" in attributes for attributes in graph.edges):
        return "weight" if weights == "auto" else weights
    if use.values in (None, BINARY):
        return None
    keys = {key for attributes in graph.edges for key in attributes if key not in ("id", "key", use.layer)}
    return _single_key(graph.edges, VALUE_WORDS) or (keys.pop() if len(keys) == 1 else None)


def _layers(graph: Attributed, place: str, use: Use) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    if use.layer is None:
        return None, ("",)
    names = [attributes.get(str(use.layer)) for attributes in graph.edges]
    for k, layer in enumerate(names):
        if layer is None:
            a, b = (quote(graph.names[node]) if graph.names else str(node + 1) for node in graph.ends[k])
            raise DataError(
                f"data.layer={use.layer}: {place}: edge {k + 1} ({a}, {b}) has no such attribute; expected one of each"
            )
    layers = tuple(dict.fromkeys(map(str, names)))
    number = {layer: k for k, layer in enumerate(layers)}
    return np.array([number[str(layer)] for layer in names], dtype=np.int64), layers or ("",)


def _sides(graph: Attributed, place: str, use: Use) -> tuple[NDArray[np.int8] | None, tuple[str, str]]:
    """Which of two kinds each node is, by the format, an attribute of the nodes or the ends of the edges."""
    keys = SIDES if use.bipartite in (True, False) else (str(use.bipartite),)
    for key in () if graph.sides is not None else keys:
        kinds = [attributes.get(key) for attributes in graph.nodes]
        names = sorted({str(kind) for kind in kinds if kind is not None})
        if None not in kinds and len(names) == 2:
            return np.array([names.index(str(kind)) for kind in kinds], dtype=np.int8), (names[0], names[1])
        if key not in SIDES:
            kinds_listed = ", ".join(names[:5]) or "none"
            raise DataError(
                f"data.bipartite={key}: {place}: nodes of kinds {kinds_listed}; expected an attribute of two values "
                "that every node has"
            )
    if graph.sides is None and use.two_kinds:
        what = "no node attribute 'bipartite' or 'type'; expected one, data.bipartite=ATTRIBUTE, or edges that go from "
        return sides_of_ends(graph.ends, len(graph.nodes), f"{place}: {what}"), graph.side_names
    return graph.sides, graph.side_names


def sides_of_ends(ends: NDArray[np.int64], N: int, otherwise: str) -> NDArray[np.int8]:
    """The kind of each node, 0 for sources and 1 for targets; a `DataError` if a node is both or none."""
    roles = np.zeros((N, 2), dtype=bool)
    roles[ends[:, 0], 0] = roles[ends[:, 1], 1] = True
    if (roles.sum(axis=1) != 1).any():
        raise DataError(f"{otherwise}one kind of node to the other")
    return roles[:, 1].astype(np.int8)


def _true_labels(graph: Attributed, place: str, truth: str | int, notes: list[str]) -> NDArray[np.int32]:
    true = [attributes.get(str(truth)) for attributes in graph.nodes]
    labels = numbered_labels([None if label in (None, "") else str(label) for label in true])
    if (missing := int((labels < 0).sum())) == len(labels):
        raise DataError(f"{place}: no node has the attribute '{truth}'; expected data.truth on one at least")
    if missing:
        notes.append(
            f"{place}: {missing} of {len(labels)} nodes have no attribute '{truth}': scores are over the others"
        )
    return labels


def _columns(graph: Attributed, place: str, use: Use) -> Dataset:
    """Attributes of nodes as a mixed table."""
    columns = [str(column) for column in use.columns or ()]
    for column in columns:
        if not any(column in attributes for attributes in graph.nodes):
            known = ", ".join(dict.fromkeys(key for attributes in graph.nodes for key in attributes)) or "none"
            raise DataError(f"data.columns={column}: {place}: nodes have no such attribute; expected one of {known}")
    table = {key: [attributes.get(key) for attributes in graph.nodes] for key in columns}
    return get_kind("mixed").from_object(table, None, place, whole=True, types=use.types)


def _node_columns(graph: Attributed, truth: str | int | None) -> list[str]:
    """Attributes of nodes that could describe them: some of them share a value."""
    keys = dict.fromkeys(key for attributes in graph.nodes for key in attributes)
    left = [key for key in keys if str(key).lower() not in NO_COLUMNS and key != truth]
    return [key for key in left if 1 < len({str(node.get(key)) for node in graph.nodes}) < len(graph.nodes)]
