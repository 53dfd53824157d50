"""The nodes of a list of edges: named by their edges, counted, or listed in a file with columns of their own."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset, get_kind
from splitmerge_cli.data.opening import require_file
from splitmerge_cli.data.tables.columns import Wanted, index, labels_in, true_labels
from splitmerge_cli.data.tables.formats import JSON, read_json, read_parquet, read_sheet
from splitmerge_cli.data.tables.free_text import read_list
from splitmerge_cli.data.tables.separators import suffix_of
from splitmerge_cli.data.tables.table import MOST_COLUMNS, Table, quote
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.data.values import require
from splitmerge_cli.kinds.networks.readers import edge_rows
from splitmerge_cli.kinds.networks.readers.attributed import sides_of_ends
from splitmerge_cli.kinds.networks.readers.edge_rows import ENDS, WHOLE, Columns, Rows, are_whole
from splitmerge_cli.kinds.networks.readers.graph_files import FOREIGN, GRAPHS, MATRICES
from splitmerge_cli.kinds.networks.readers.listed import Listed, UnknownPairs, Use
from splitmerge_cli.received import DataError

NODE_WORDS = {"id", "ids", "node", "nodes", "node_id", "nodeid", "name", "names", "label", "vertex", "vertices"}
"""Names of columns that hold nodes."""


def read_table(
    path: Path, separator: str, comments: bool, empty: bool = False, two_kinds: bool = False
) -> Table | None:
    """The table of a text file, .xlsx or .parquet."""
    suffix = suffix_of(path)
    if suffix == ".parquet":
        return read_parquet(path, MOST_COLUMNS)
    if suffix == ".xlsx":
        sheet = read_sheet(path, ask="one sheet with cells: an .xlsx file of a network has no other")
        sheet.parse([{}])
        return sheet
    if suffix in JSON:
        return read_json(path)
    return read_list(path, separator, comments, empty, two_kinds)


@dataclass(frozen=True)
class Nodes:
    """The nodes of a network: their names, empty if one is known by its number alone; the node of every name that
    the rows hold; true labels; whether the user says which nodes there are; notes on how they were read.
    """

    names: list[str]
    number: NDArray[np.int64]
    truth: NDArray[np.int32] | None = None
    given: bool = True
    notes: list[str] = field(default_factory=list)
    sides: NDArray[np.int8] | None = None
    side_names: tuple[str, str] = ENDS
    columns: Dataset | None = None
    other_columns: list[str] = field(default_factory=list)


def chosen_nodes(
    rows: Rows, nodes: str | int | None, base: int | None, truth: str | int | None, use: Use | None = None
) -> Nodes:
    """The nodes of a list of edges, as the options say."""
    use = use or Use()
    if isinstance(nodes, str):
        file = require_file(nodes, "a file with the names of the nodes (data.nodes), or their number")
        return _listed_nodes(rows, file, truth, use)
    require(truth is None, "data.truth", truth, "null, or a column of data.nodes=FILE")
    require(use.columns is None, "data.columns", use.columns, "null, or columns of data.nodes=FILE")
    if use.two_kinds:
        require(use.bipartite is True, "data.bipartite", use.bipartite, "true, or a column of data.nodes=FILE")
        require(nodes is None and base is None, "data.nodes", nodes, "null or a file with data.bipartite=true")
        return _two_kinds(rows)
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
            return Nodes([str(n) for n in range(fits[0], nodes + fits[0])], number)
    order = sorted(range(len(rows.names)), key=value.__getitem__) if whole else range(len(rows.names))
    names = [rows.names[k] for k in order]
    number = np.empty(len(names), dtype=np.int64)
    number[list(order)] = np.arange(len(names))
    if nodes is None:
        return Nodes(names, number, given=False)
    require(nodes >= len(names), "data.nodes", nodes, f"at least {len(names)}, the nodes that {rows.path} names")
    return Nodes(names + [""] * (nodes - len(names)), number)


def _two_kinds(rows: Rows) -> Nodes:
    """Sources and targets as nodes of two kinds, in each whole numbers ascending, others as they appear."""
    kinds = rows.kinds or 0
    order: list[int] = []
    for codes in (range(kinds), range(kinds, len(rows.names))):
        whole = all(WHOLE.fullmatch(rows.names[k]) for k in codes)
        order += sorted(codes, key=lambda k: int(rows.names[k])) if whole else codes
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    sides = (np.arange(len(order)) >= kinds).astype(np.int8)
    names = [rows.names[k] for k in order]
    return Nodes(names, number, given=False, sides=sides, side_names=rows.side_names)


def _check_numbers(rows: Rows, base: int, nodes: int | None) -> None:
    """Reject names of nodes that are no whole numbers from `base` on, or not among the first so many."""
    for k, name in enumerate(rows.names):
        good = WHOLE.fullmatch(name) and base <= int(name) < (math.inf if nodes is None else base + nodes)
        if not good:
            upto = (
                f"to {base + nodes - 1} (data.base={base}, data.nodes={nodes})" if nodes else f"on (data.base={base})"
            )
            raise rows.error(k, f"a whole number from {base} {upto}")


def _listed_nodes(rows: Rows, path: Path, truth: str | int | None, use: Use) -> Nodes:
    """The nodes that a file names, their true clusters, kinds and columns."""
    suffix = suffix_of(path)
    if suffix in (*FOREIGN, *GRAPHS, *MATRICES):
        raise DataError(f"{path}: unknown format '{suffix}'; expected a list of nodes in a text file or .parquet")
    table = read_table(path, "auto", comments=True)
    assert table is not None
    mentioned = [truth, *(use.columns or ()), use.bipartite]
    if isinstance(table, Text) and _names_columns(table, mentioned, set(rows.names)):
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
    roles = {first} if truth is None else {first, index(table, "data.truth", truth)}
    labels = None if truth is None else true_labels(table, index(table, "data.truth", truth))
    numbers = np.array([number[name] for name in rows.names], dtype=np.int64)
    sides, side_names = None, rows.side_names
    if use.bipartite is True:
        unsure = f"{path}: data.bipartite=true: expected data.bipartite=COLUMN of this file, or edges that go from "
        sides = sides_of_ends(numbers[rows.codes], len(names), unsure)
    elif use.two_kinds:
        j = index(table, "data.bipartite", use.bipartite)
        kinds, words = labels_in(table, j, "one of two kinds of nodes", "two kinds of nodes")
        if len(words) != 2 or (kinds < 0).any():
            raise DataError(f"{path}: {table.column(j)}: kinds {', '.join(words[:5])}; expected two, one for each node")
        sides, side_names = kinds.astype(np.int8), (words[0], words[1])
        roles.add(j)
    columns = None
    if use.columns is not None:
        wanted = Wanted(get_kind("mixed"), None, list(use.columns), [], use.types)
        columns = get_kind("mixed").from_table(table, wanted, None, "auto")
        table.notes = list(dict.fromkeys([*columns.notes, *table.notes]))
    others = [] if columns is not None or not table.names else [j for j in range(table.width) if j not in roles]
    other_columns = [table.names[j] for j in others if j not in unnamed] if table.names else []
    return Nodes(names, numbers, labels, True, table.notes, sides, side_names, columns, other_columns)


def _names_columns(table: Text, mentioned: Sequence[Any], ends: set[str]) -> bool:
    """Whether the first row of a node list names the columns."""
    head = [cell.strip() for cell in table.top[0]]
    if (
        any(isinstance(column, str) and column in head for column in mentioned)
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


def listed_rows(rows: Rows, nodes: Nodes, place: str, name: str) -> Listed:
    """Edges in a list, between these nodes."""
    return Listed(
        place,
        name,
        nodes.names,
        len(nodes.names),
        nodes.number[rows.codes],
        rows.weight,
        rows.levels,
        rows.layer,
        rows.layers,
        nodes.sides,
        nodes.side_names,
        rows.directed,
        nodes.truth,
        nodes.columns,
        rows.other_values,
        rows.other_layers,
        nodes.other_columns,
        [*(rows.table[0].notes if rows.table else []), *nodes.notes],
        may_be_directed=rows.may_be_directed,
    )


def unknown_pairs(file: str | Path, listed: Listed) -> UnknownPairs:
    """The pairs of nodes in a file, of which nothing is known; a third column names the layer of each, if there are
    several."""
    path = require_file(file, "a list of unknown pairs, two nodes a row (data.unknown)")
    names = listed.names or [str(k + 1) for k in range(listed.N)]
    two_kinds = listed.sides is not None and len(set(names)) < len(names)
    sides = listed.sides if two_kinds and listed.sides is not None else np.zeros(listed.N, dtype=np.int8)
    number = {(name, int(side)): k for k, (name, side) in enumerate(zip(names, sides, strict=True))}
    table = read_table(path, "auto", True)
    assert table is not None
    in_layers = listed.layer is not None and table.width > 2
    header = False
    if isinstance(table, Text):
        head = [cell.strip() for cell in table.top[0]]
        header = all((name, end * two_kinds) not in number for end, name in enumerate(head[:2]))
    columns = Columns(1, 2, None, 3 if in_layers else None)
    rows = Rows.from_table(table, columns, header, two_kinds=two_kinds)
    numbers = []
    for k, name in enumerate(rows.names):
        side = int(rows.kinds is not None and k >= rows.kinds)
        if (name, side) not in number:
            raise rows.error(k, f"a node of {listed.place}")
        numbers.append(number[name, side])
    ends = np.array(numbers, dtype=np.int64)[rows.codes] if numbers else rows.codes
    layer = np.full(len(ends), -1)
    if in_layers and rows.layer is not None:
        for k, word in enumerate(rows.layers):
            if word not in listed.layers:
                known = ", ".join(listed.layers)
                raise table.error(int(np.argmax(rows.layer == k)), 2, f"a layer of {listed.place}: {known}")
        layer = np.array([listed.layers.index(word) for word in rows.layers])[rows.layer]
    return UnknownPairs(ends, layer)
