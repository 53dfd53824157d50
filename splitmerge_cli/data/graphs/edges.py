"""The user's own network: a list of edges in a text file or .parquet, or a graph in .graphml or .gml.

The network is made a simple undirected graph: directions are dropped, rows of one pair merged, their weights added up,
pairs that are not above the threshold and self-loops left out. What was merged or left out is counted in
``Dataset.meta``; nothing else is skipped or filled in.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.graphs import edge_rows
from splitmerge_cli.data.graphs.adjacency import (
    A_WEIGHT,
    NO_DIRECTIONS,
    NO_WEIGHTS,
    adjacency,
    check_kept,
    keep,
    losses,
    merge,
    read_weights,
    sizes,
)
from splitmerge_cli.data.graphs.edge_rows import NO_WEIGHT, WHOLE, Columns, Rows, are_whole
from splitmerge_cli.data.labels import numbered_labels
from splitmerge_cli.data.opening import check_rows, content, require_file
from splitmerge_cli.data.tables.columns import header_key, index, true_labels
from splitmerge_cli.data.tables.encoded import suffix_of
from splitmerge_cli.data.tables.free_text import SEPARATORS, read_list
from splitmerge_cli.data.tables.parquet import read_parquet
from splitmerge_cli.data.tables.table import MOST_COLUMNS, Table, quote
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.data.values import MAGNITUDE, notes_entry, require, require_number, require_size
from splitmerge_cli.received import DataError, reject_machine_error

if TYPE_CHECKING:
    import networkx

FORMATS = "text (.csv, .tsv, .txt and others, also .gz), .parquet, .graphml, .gml"
GRAPHS = (".graphml", ".gml")
FOREIGN = {".npy", ".npz", ".mat", ".xlsx", ".xls", ".gexf", ".net", ".mtx", ".json", ".pkl", ".zip", ".tar", ".bz2"}
"""Other formats of networks and tables, by the endings of their names."""
MOST_NODES = 10_000_000
NODE_BYTES = 150
"""Memory that a node without an edge takes while a network is read."""
GRAPH_TIMES = 16
"""How many times its size a .graphml or .gml file takes: every node and edge is an object of its own."""
NODE_WORDS = {"id", "ids", "node", "nodes", "node_id", "nodeid", "name", "names", "label", "vertex", "vertices"}
"""Names of columns that hold nodes."""


def edges(
    path: str | Path,
    source: str | int | None = None,
    target: str | int | None = None,
    weights: str | int | None = "auto",
    threshold: float = 0.0,
    header: str | bool = "auto",
    separator: str = "auto",
    comments: bool = True,
    nodes: str | Path | int | None = None,
    base: int | None = None,
    truth: str | int | None = None,
    scale: float = 1.0,
    N: int | None = None,
) -> Dataset:
    """Read a network: a row per edge, its two ends and perhaps a weight.

    Parameters
    ----------
    path : str or Path
        A text file (optionally .gz), .parquet, .graphml or .gml. Lines at the top that begin with # or % are comments.
    source, target : str or int, optional
        Columns of the two ends, by name or by number (1 the first, -1 the last); by default those named source and
        target where there are both, else the first two.
    weights : str or int, optional
        Column (.graphml, .gml: attribute of the edges) of the weights. ``auto``: the one named weight; in a file
        without names of columns the third, if it holds numbers. None: there are no weights, every row weighs 1.
    threshold : float
        Two nodes are tied if the weights of their rows, in both directions, add up to more.
    header : {"auto", True, False}
        Whether the first row of a text file names the columns. ``auto``: it does if it holds a name given as `source`,
        `target` or `weights`, if it holds common names of such columns (source, from, node1, ...), if it holds words
        and all rows below have whole numbers, or if it holds two words that stand nowhere else and names below repeat.
    separator : {"auto", "comma", "tab", "semicolon", "space"}
        What separates the cells of a text file; ``space``: any run of spaces and tabs. ``auto``: a comma in .csv, a tab
        in .tsv, else what the first row holds.
    comments : bool
        False: a line that begins with # or % is a row.
    nodes : str or int, optional
        A file whose first column names all nodes, each once, in their order (text or .parquet), or the number of nodes;
        needed where some nodes have no edge. By default the nodes are the ends of the edges: whole numbers ascending,
        other names in the order of their appearance. A number n: if the names are whole numbers from 0 to n - 1, or
        from 1 to n, the nodes are these (where they are both, `base` says which); else those without an edge follow the
        others and have no name.
    base : {0, 1}, optional
        The number of the first node, where the names of the nodes are whole numbers: with a number n of `nodes`, the
        nodes are `base` to `base` + n - 1; without, they are still those that end an edge, none of a lower number.
    truth : str or int, optional
        Column of the true clusters in the file `nodes` (.graphml, .gml: attribute of the nodes).
    scale : float
        Share of the nodes that are kept: the nodes of highest degree, as in Herlau et al. 2014.
    N : int, optional
        Number of nodes that are kept, in place of `scale`.

    Returns
    -------
    Dataset
        Kind ``graph``. Its notes say which columns were left out. ``meta``: rows; ``self_loops``, ``repeated`` and
        ``reversed`` rows; pairs ``below_threshold``; nodes, edges, ``isolated`` nodes.

    Raises
    ------
    DataError
        The file is missing, empty or not readable as such; a row is ragged, or lacks an end; a weight is negative or no
        number; a node that `nodes` does not name, or names twice, or that is none by `base`; the names of the nodes fit
        0 to n - 1 and 1 to n, and `base` is not given; no edge is left where `nodes` is not given; a column that is
        asked for is unknown.
    """
    header = header_key("data.header", header)
    known = ("auto", *SEPARATORS)
    require(separator in known, "data.separator", separator, f"one of {', '.join(known)}")
    require_number("data.threshold", threshold, 0, MAGNITUDE)
    for key, one, other in (("source", source, target), ("target", target, source)):
        require(one is not None or other is None, f"data.{key}", "null", "a column, as the other end has one")
    nodes = str(nodes) if isinstance(nodes, Path) else nodes
    if nodes is not None and not isinstance(nodes, str):
        require_size("data.nodes", nodes, MOST_NODES)
        check_rows(f"data.nodes={nodes}", nodes, NODE_BYTES, "nodes")
    whole = base is None or (isinstance(base, int) and not isinstance(base, bool) and base in (0, 1))
    require(whole, "data.base", base, "0 or 1, the number of the first node, or null")
    named = base is None or not isinstance(nodes, str)
    require(named, "data.base", base, "null with data.nodes=FILE, which names all nodes")
    check_kept(scale, N)
    path = require_file(path, f"a list of edges ({FORMATS})")
    suffix = suffix_of(path)
    if suffix in FOREIGN:
        raise DataError(f"{path}: unknown format '{suffix}'; expected one of {FORMATS}")
    if suffix in GRAPHS:
        options_given: dict[str, Any] = {"source": source, "target": target, "nodes": nodes, "base": base}
        options_given |= {
            key: value for key, value in (("header", header), ("separator", separator)) if value != "auto"
        }
        for key, value in options_given.items():
            require(value is None, f"data.{key}", value, f"its default: a {suffix} file contains this")
        rows, chosen = _graph_file(path, suffix, weights, truth)
    else:
        table = _read_table(path, separator, comments, nodes is not None)
        rows = Rows.empty(path) if table is None else Rows.from_table(table, Columns(source, target, weights), header)
        chosen = _chosen_nodes(rows, nodes, base, truth)
    ends = chosen.number[rows.codes]
    merged = merge(len(chosen.names), ends[:, 0], ends[:, 1], rows.weight, threshold)
    if not len(merged.i) and not chosen.given:
        counts = merged.counts
        left_out = f"; self-loops: {counts['self_loops']}, pairs not above the threshold: {counts['below_threshold']}"
        raise DataError(
            f"{path}: no edge (rows: {len(rows)}{left_out if len(rows) else ''}); expected at least one, or "
            "data.nodes, which lists the nodes"
        )
    matrix = adjacency(len(chosen.names), merged.i, merged.j)
    notes = [*(rows.table[0].notes if rows.table else []), *chosen.notes, *_merging(rows, merged.counts, threshold)]
    meta = {"path": str(path), "rows": len(rows)} | merged.counts | sizes(matrix) | notes_entry(notes)
    graph = Dataset(path.name.split(".")[0], "graph", matrix, chosen.truth, names=chosen.names, meta=meta)
    return keep(graph, scale, N)


def _read_table(path: Path, separator: str, comments: bool, empty: bool = False) -> Table | None:
    if suffix_of(path) == ".parquet":
        return read_parquet(path, MOST_COLUMNS)
    return read_list(path, separator, comments, empty)


def _merging(rows: Rows, counts: Mapping[str, int], threshold: float) -> Iterator[str]:
    """Yield notes on rows that a graph without directions and weights does not tell apart."""
    if counts["self_loops"]:
        yield f"{rows.path}: rows that tie a node to itself: {counts['self_loops']}; they are left out"
    if counts["repeated"] or counts["reversed"]:
        yield (
            f"{rows.path}: further rows of a pair: {counts['repeated']} in the direction of its first row, "
            f"{counts['reversed']} in the other; {NO_DIRECTIONS}, and a pair is one edge"
        )
    elif rows.directed:
        yield f"{rows.path}: {losses(True, False, 0, 0)[0]}"
    if rows.weight is not None:
        yield (
            f"{rows.path}: a pair is an edge if the weights of its rows add up to more than {threshold:g} "
            f"(data.threshold); {NO_WEIGHTS}"
        )


@dataclass(frozen=True)
class _Nodes:
    """The nodes of a network: their names, empty if one is known by its number alone; the node of every name that
    the rows hold; true labels; whether the user says which nodes there are; notes on how they were read.
    """

    names: list[str]
    number: NDArray[np.int64]
    truth: NDArray[np.int32] | None = None
    given: bool = True
    notes: list[str] = field(default_factory=list)


def _chosen_nodes(rows: Rows, nodes: str | int | None, base: int | None, truth: str | int | None) -> _Nodes:
    """The nodes of a list of edges, as the options say."""
    if isinstance(nodes, str):
        return _listed_nodes(
            rows, require_file(nodes, "a file with the names of the nodes (data.nodes), or their number"), truth
        )
    require(truth is None, "data.truth", truth, "null, or a column of data.nodes=FILE")
    value = [int(name) for name in rows.names if WHOLE.fullmatch(name)]
    whole = len(value) == len(rows.names)
    if base is not None:
        _check_numbers(rows, base, nodes)
    if nodes is not None and whole:
        low, high = min(value, default=0), max(value, default=0)
        fits = [first for first in (0, 1) if first <= low and high < nodes + first] if base is None else [base]
        if len(fits) > 1:
            raise DataError(
                f"data.nodes={nodes}: the nodes that {rows.path} names, {low} to {high}, may be of 0 to {nodes - 1} or "
                f"of 1 to {nodes}; expected data.base=0 or data.base=1 as well"
            )
        if fits:
            number = np.array(value, dtype=np.int64) - fits[0]
            return _Nodes([str(n) for n in range(fits[0], nodes + fits[0])], number)
    order = sorted(range(len(rows.names)), key=value.__getitem__) if whole else range(len(rows.names))
    names = [rows.names[k] for k in order]
    number = np.empty(len(names), dtype=np.int64)
    number[list(order)] = np.arange(len(names))
    if nodes is None:
        return _Nodes(names, number, given=False)
    require(nodes >= len(names), "data.nodes", nodes, f"at least {len(names)}, the nodes that {rows.path} names")
    return _Nodes(names + [""] * (nodes - len(names)), number)


def _check_numbers(rows: Rows, base: int, nodes: int | None) -> None:
    """Reject names of nodes that are no whole numbers from `base` on, or not among the first so many."""
    for k, name in enumerate(rows.names):
        good = WHOLE.fullmatch(name) and base <= int(name) < (math.inf if nodes is None else base + nodes)
        if not good:
            upto = (
                f"to {base + nodes - 1} (data.base={base}, data.nodes={nodes})" if nodes else f"on (data.base={base})"
            )
            raise rows.error(k, f"a whole number from {base} {upto}")


def _listed_nodes(rows: Rows, path: Path, truth: str | int | None) -> _Nodes:
    """The nodes that a file names, and their true clusters."""
    suffix = suffix_of(path)
    if suffix in FOREIGN or suffix in GRAPHS:
        raise DataError(f"{path}: unknown format '{suffix}'; expected a list of nodes in a text file or .parquet")
    table = _read_table(path, "auto", comments=True)
    assert table is not None
    if isinstance(table, Text) and _names_columns(table, truth, set(rows.names)):
        table.take_header()
        table.columns = [column.slice(1) for column in table.columns]
    if not table.columns or not len(table.columns[0]):
        raise DataError(f"{path}: no row of data; expected at least one node")
    unnamed = [j for j in table.unnamed_columns() if truth is None or j != index(table, "data.truth", truth)]
    first = next(j for j in range(table.width) if j not in unnamed)
    table.leave_out(
        [j for j in unnamed if j < first],
        "the names are in the next column",
        "the names of the nodes in the first column",
    )
    names = edge_rows.names_of(table, first).to_pylist()
    number = {name: k for k, name in reversed(list(enumerate(names)))}
    for k, name in enumerate(names):
        if name in edge_rows.MISSING:
            raise table.error(k, first, edge_rows.A_NODE)
        if number[name] != k:
            raise table.error(k, first, f"every node once: it is also in row {table.row(number[name])}")
    for k, name in enumerate(rows.names):
        if name not in number:
            raise rows.error(k, f"a node of {path}")
    labels = None if truth is None else true_labels(table, index(table, "data.truth", truth))
    numbers = np.array([number[name] for name in rows.names], dtype=np.int64)
    return _Nodes(names, numbers, labels, notes=table.notes)


def _names_columns(table: Text, truth: str | int | None, ends: set[str]) -> bool:
    """Whether the first row of a node list names the columns."""
    head = [cell.strip() for cell in table.top[0]]
    if (
        (isinstance(truth, str) and truth in head)
        or table.heads_index()
        or (head[0].lower() in NODE_WORDS and head[0] not in ends)
    ):
        return True
    below = pc.utf8_trim_whitespace(table.columns[0].slice(1))
    # a number above words that counts the columns is no node like the others
    like = WHOLE.fullmatch(head[0]) and (not table.counts_columns() or are_whole(below))
    if head[0] in ends or head[0] in edge_rows.MISSING or like:
        return False
    if len(table.top) > 1 and are_whole(below):
        return True
    raise DataError(
        f"{table.path}: row {table.row(0)}: {quote(head[0])} ends no edge; expected names of columns "
        "that begin with id, or a node that ends an edge (those without an edge may follow)"
    )


def _graph_file(path: Path, suffix: str, weights: str | int | None, truth: str | int | None) -> tuple[Rows, _Nodes]:
    """The edges and nodes of a .graphml or .gml file."""
    graph = _load_graph(path, suffix)
    names = [str(node) for node in graph]
    if not names:
        raise DataError(f"{path}: no node; expected at least one")
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise DataError(f"{path}: two nodes are called {quote(twice)}; expected another name for each")
    number = {node: k for k, node in enumerate(graph)}
    ties = list(graph.edges(data=True))
    ends = np.array([(number[a], number[b]) for a, b, _ in ties], dtype=np.int64).reshape(-1, 2)
    key = "weight" if weights == "auto" and any("weight" in attributes for *_, attributes in ties) else weights
    weight = None
    if key not in (None, "auto"):
        values = [attributes.get(key) for *_, attributes in ties]
        weight, bad = read_weights(values)
        if bad is not None:
            (a, b, _), value = ties[bad], values[bad]
            shown = "no such attribute" if value is None else quote(str(value))
            place = f"{path}: edge {bad + 1} ({quote(str(a))}, {quote(str(b))}), '{key}'"
            raise DataError(f"{place}: {shown}; expected {A_WEIGHT} ({NO_WEIGHT})")
    labels, notes = None, []
    if truth is not None:
        true = [attributes.get(truth) for _, attributes in graph.nodes(data=True)]
        labels = numbered_labels([None if label in (None, "") else str(label) for label in true])
        if (missing := int((labels < 0).sum())) == len(labels):
            raise DataError(f"{path}: no node has the attribute '{truth}'; expected data.truth on one at least")
        if missing:
            notes.append(
                f"{path}: {missing} of {len(labels)} nodes have no attribute '{truth}': scores are over the others"
            )
    rows = Rows(path, np.empty(0, dtype=np.int64), names, ends, weight, None, graph.is_directed())
    return rows, _Nodes(names, np.arange(len(names)), labels, notes=notes)


def _load_graph(path: Path, suffix: str) -> "networkx.Graph":
    """Load a graph file with networkx."""
    import networkx

    data = content(path, GRAPH_TIMES)
    try:
        if suffix == ".graphml":
            return networkx.read_graphml(BytesIO(data))
        try:
            return networkx.read_gml(BytesIO(data))
        except networkx.NetworkXError as error:
            if "has no 'label'" not in str(error):
                raise
            # nodes without labels are known by their ids
            return networkx.read_gml(BytesIO(data), label="id")
    except Exception as error:  # the readers raise all kinds on a damaged file
        reject_machine_error(error, path)
        raise DataError(f"{path}: not a readable {suffix} file: {error or type(error).__name__}") from error
