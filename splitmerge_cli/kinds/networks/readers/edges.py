"""The user's own network: a list of edges, a matrix of ties, or a graph with attributes, in a file; and the nodes of a
list: named by their edges, counted, or listed in a file with columns of their own.

By default the network is made a simple undirected graph: directions are dropped, rows of one pair merged, their weights
added up, pairs that are not above the threshold and self-loops left out. A note says what else the file holds, and the
command that reads it; what was merged or left out is counted in ``Dataset.meta``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data import dataset, opening
from splitmerge_cli.data.tables import formats, separators, text
from splitmerge_cli.data.tables.columns import Wanted, header_key, index, labels_in, true_labels
from splitmerge_cli.data.tables.table import MOST_COLUMNS, Table, quote
from splitmerge_cli.data.values import MAGNITUDE, require, require_number, require_size
from splitmerge_cli.kinds.networks.data import check_kept, keep
from splitmerge_cli.kinds.networks.readers import conversions, edge_rows, graph_files
from splitmerge_cli.kinds.networks.readers.listed import Listed, UnknownPairs, Use, relational, simple
from splitmerge_cli.overrides import path_word, shell_word, write
from splitmerge_cli.received import DataError

MOST_NODES = 10_000_000
NODE_BYTES = 150
"""Memory that a node without an edge takes while a network is read."""
OF_LISTS = ("source", "target", "header", "separator", "nodes", "base", "matrix")
"""Options of texts and .parquet."""


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
    directed: bool = False,
    values: str | None = None,
    loops: bool = False,
    layer: str | int | None = None,
    bipartite: bool | str | int = False,
    unknown: str | Path | None = None,
    columns: list[str | int] | None = None,
    types: Mapping[str | int, str | Sequence[str]] | None = None,
    matrix: str | bool = "auto",
    encoding: str = "utf-8",
) -> dataset.Dataset:
    """Read a network: a row per edge, its two ends and perhaps a weight; a matrix of ties; or a graph.

    It is simple and undirected unless an option from `directed` to `unknown` asks for more.

    Options: ``conf/data/edges.yaml``. A graph is in .graphml, .gml, .gexf, .net (Pajek), .dot or .gv (Graphviz), or
    .json (nodes and links), a matrix in .npy, .npz (scipy.sparse) or .mtx (Matrix Market); columns of edges are
    attributes of a graph's edges, columns of nodes attributes of its nodes.

    ``weights=auto`` is the column named weight, unless it has few whole numbers, some below 0; in a file without names
    of columns the third, if it holds numbers; with `values` also a column with another common name (value, sign,
    rating, ...), or the only one left. Without weights every row weighs 1. A missing weight makes its pair unknown. Of
    rows of a pair counts add up, numbers are averaged, the first level holds; a count of 0 is no edge.

    ``header=auto`` takes the first row for names if it holds a name given as `source`, `target` or `weights`, or common
    names of such columns (source, from, node1, ...), or words where all rows below have whole numbers, or two words
    that stand nowhere else and names below repeat. ``separator=auto`` is a comma in .csv, a tab in .tsv, else what the
    first row holds. ``matrix=auto`` reads a text or sheet as a matrix if its first row and column hold the same names,
    or it has as many rows as columns, 5 at least, of numbers; an empty cell is 0, with `values` an unknown pair.

    Without `nodes` these are the ends of the edges: whole numbers ascending, other names in the order of their
    appearance. With a number n of `nodes` whose names are whole numbers from 0 to n - 1, or from 1 to n, the nodes are
    these (where they are both, `base` says which); else those without an edge follow the others and have no name.
    Without `nodes`, `base` is a bound: no node has a lower number.

    `relations` of the data set hold what was asked for; its notes say what was left out. ``meta`` of a simple network:
    rows; ``self_loops``, ``repeated`` and ``reversed`` rows; pairs ``below_threshold``; nodes, edges, ``isolated``
    nodes.

    A `DataError`: the file is missing, empty or not readable as such; a row is ragged, or lacks an end; a weight is
    negative or no number; a node that `nodes` does not name, or names twice, or that is none by `base`; the names of
    the nodes fit 0 to n - 1 and 1 to n, and `base` is not given; no edge is left where `nodes` is not given; a column
    that is asked for is unknown.
    """
    options = {key: value for key, value in locals().items() if key != "path"}
    header = header_key("data.header", header)
    known = ("auto", *separators.LIST_SEPARATORS)
    require(separator in known, "data.separator", separator, f"one of {', '.join(known)}")
    require_number("data.threshold", threshold, 0, MAGNITUDE)
    for key, one, other in (("source", source, target), ("target", target, source)):
        require(one is not None or other is None, f"data.{key}", "null", "a column, as the other end has one")
    nodes = str(nodes) if isinstance(nodes, Path) else nodes
    if nodes is not None and not isinstance(nodes, str):
        require_size("data.nodes", nodes, MOST_NODES)
        opening.check_rows(f"data.nodes={nodes}", nodes, NODE_BYTES, "nodes")
    whole = base is None or (isinstance(base, int) and not isinstance(base, bool) and base in (0, 1))
    require(whole, "data.base", base, "0 or 1, the number of the first node, or null")
    named = base is None or not isinstance(nodes, str)
    require(named, "data.base", base, "null with data.nodes=FILE, which names all nodes")
    matrix = header_key("data.matrix", matrix)
    separators.require_encoding(encoding)
    use = Use(directed, values, loops, layer, bipartite, unknown, columns, types, encoding)
    check_kept(scale, N)
    path = opening.require_file(path, f"a list of edges ({graph_files.FORMATS})")
    suffix = graph_files.graph_suffix(path, separators.suffix_of(path))
    if suffix in graph_files.FOREIGN:
        raise DataError(f"{path}: unknown format '{suffix}'; expected one of {graph_files.FORMATS}")
    if suffix in (*graph_files.GRAPHS, *graph_files.MATRICES):
        for key in (*OF_LISTS, *["encoding"] * (suffix not in graph_files.WRITTEN)):
            usual = signature(edges).parameters[key].default
            require(options[key] == usual, f"data.{key}", options[key], f"its default: a {suffix} file contains this")
    if suffix in graph_files.GRAPHS:
        listed, is_whole = graph_files.read_graph(path, suffix, use, weights, truth), True
    elif suffix in graph_files.MATRICES:
        _check_matrix(use, truth)
        listed, is_whole = conversions.read_matrix(path, suffix, use), True
    else:
        listed, is_whole = _of_table(path, use, options | {"nodes": nodes, "header": header, "matrix": matrix})

    def command(further: Mapping[str, Any]) -> str:
        """The command that reads the file with these options, too."""
        usual = {key: parameter.default for key, parameter in signature(edges).parameters.items()}
        given = {key: value for key, value in options.items() if value != usual[key]} | dict(further)
        words = [shell_word(f"data.{key}={write(value)}") for key, value in given.items() if key != "N"]
        words += [f"N={N}"] * (N is not None)
        return " ".join(["smcmc run", "data=edges", path_word(str(path)), *words])

    n_rows, left_out = len(listed.ends), ""
    if use.is_simple and listed.N:
        graph, counts = simple(listed, threshold, command)
        left_out = f"; self-loops: {counts['self_loops']}, pairs not above the threshold: {counts['below_threshold']}"
    elif listed.N:
        unsure = None if unknown is None else unknown_pairs(unknown, listed, encoding)
        graph = relational(listed, use, command, threshold, unsure)
    if not is_whole and not (n_rows and graph.meta["edges"]):
        raise DataError(
            f"{path}: no edge (rows: {n_rows}{left_out if n_rows else ''}); expected at least one, or "
            "data.nodes, which lists the nodes"
        )
    return keep(replace(graph, meta={"path": str(path), "rows": n_rows} | graph.meta), scale, N)


def _check_matrix(use: Use, truth: str | int | None) -> None:
    """Reject options of columns, which a matrix has not."""
    for key, value in (("layer", use.layer), ("columns", use.columns), ("truth", truth)):
        require(value is None, f"data.{key}", value, "null: a matrix of ties has no such column")
    require(use.bipartite in (True, False), "data.bipartite", use.bipartite, "true or false for a matrix of ties")


def _of_table(path: Path, use: Use, options: Mapping[str, Any]) -> tuple[Listed, bool]:
    """The rows of a text or .parquet, and whether all of its nodes are known."""
    nodes, matrix = options["nodes"], options["matrix"]
    table = read_table(
        path, options["separator"], options["comments"], nodes is not None, use.bipartite is True, use.encoding
    )
    may_be_matrix = matrix is True or (nodes is None and options["source"] is None)
    ties = None
    if isinstance(table, text.Text) and may_be_matrix:
        ties = conversions.matrix_of_text(table, use, options["header"], matrix)
    elif table is not None and may_be_matrix and matrix == "auto":
        ties = conversions.matrix_of_columns(table, use)
    if ties is not None:
        _check_matrix(use, options["truth"])
        return ties, True
    require(matrix is not True, "data.matrix", "true", f"false: {path} is no text of three columns or more")
    columns = edge_rows.Columns(options["source"], options["target"], options["weights"], use.layer)
    two_kinds = use.bipartite is True and not isinstance(nodes, str)
    rows = (
        edge_rows.Rows.empty(path)
        if table is None
        else edge_rows.Rows.from_table(table, columns, options["header"], use, two_kinds)
    )
    place = str(path), path.name.split(".")[0]
    return list_edges(rows, *place, nodes, options["base"], options["truth"], use), nodes is not None


NODE_WORDS = {"id", "ids", "node", "nodes", "node_id", "nodeid", "name", "names", "label", "vertex", "vertices"}
"""Names of columns that hold nodes."""


def read_table(
    path: Path,
    separator: str,
    comments: bool,
    empty: bool = False,
    two_kinds: bool = False,
    encoding: str = "utf-8",
) -> Table | None:
    """The table of a text file in this `encoding`, .xlsx or .parquet."""
    suffix = separators.suffix_of(path)
    if suffix == ".parquet":
        return formats.read_parquet(path, MOST_COLUMNS)
    if suffix == ".xlsx":
        sheet = formats.read_sheet(path, ask="one sheet with cells: an .xlsx file of a network has no other")
        sheet.parse([{}])
        return sheet
    if suffix in formats.JSON:
        return formats.read_json(path)
    return separators.read_list(path, separator, comments, empty, two_kinds, encoding)


def list_edges(
    rows: edge_rows.Rows,
    place: str,
    name: str,
    nodes: str | int | None = None,
    base: int | None = None,
    truth: str | int | None = None,
    use: Use | None = None,
) -> Listed:
    """Edges in a list, between the nodes that the options say."""
    use = use or Use()

    def list_between(names: list[str], number: NDArray[np.int64], notes: Sequence[str] = (), **of_nodes: Any) -> Listed:
        """The edges between nodes of these `names`, empty where one is known by its number alone. `number`: the node of
        every name that the rows hold; `of_nodes`: fields of `Listed` about nodes."""
        of_nodes = {"side_names": edge_rows.ENDS} | of_nodes
        of_nodes |= {"N": len(names), "ends": number[rows.listed.ends], "notes": [*rows.listed.notes, *notes]}
        return replace(rows.listed, place=place, name=name, names=names, **of_nodes)

    if isinstance(nodes, str):
        file = opening.require_file(nodes, "a file with the names of the nodes (data.nodes), or their number")
        return list_between(**_listed_nodes(rows, file, truth, use))
    require(truth is None, "data.truth", truth, "null, or a column of data.nodes=FILE")
    require(use.columns is None, "data.columns", use.columns, "null, or columns of data.nodes=FILE")
    if use.two_kinds:
        require(use.bipartite is True, "data.bipartite", use.bipartite, "true, or a column of data.nodes=FILE")
        require(nodes is None and base is None, "data.nodes", nodes, "null or a file with data.bipartite=true")
        # in each kind whole numbers ascend, other names stand as they appear
        order: list[int] = []
        for codes in (range(rows.kinds or 0), range(rows.kinds or 0, len(rows.names))):
            whole = all(edge_rows.WHOLE.fullmatch(rows.names[k]) for k in codes)
            order += sorted(codes, key=lambda k: int(rows.names[k])) if whole else codes
        sides = (np.arange(len(order)) >= (rows.kinds or 0)).astype(np.int8)
        names = [rows.names[k] for k in order]
        return list_between(names, np.argsort(order), sides=sides, side_names=rows.listed.side_names)
    value = [int(name) for name in rows.names if edge_rows.WHOLE.fullmatch(name)]
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
            names = [str(n) for n in range(fits[0], nodes + fits[0])]
            return list_between(names, np.array(value, dtype=np.int64) - fits[0])
    order = sorted(range(len(rows.names)), key=value.__getitem__) if whole else list(range(len(rows.names)))
    names = [rows.names[k] for k in order]
    if nodes is not None:
        require(nodes >= len(names), "data.nodes", nodes, f"at least {len(names)}, the nodes that {rows.path} names")
        names += [""] * (nodes - len(names))
    return list_between(names, np.argsort(order))


def _check_numbers(rows: edge_rows.Rows, base: int, nodes: int | None) -> None:
    """Reject names of nodes that are no whole numbers from `base` on, or not among the first so many."""
    for k, name in enumerate(rows.names):
        good = edge_rows.WHOLE.fullmatch(name) and base <= int(name) < (math.inf if nodes is None else base + nodes)
        if not good:
            upto = f"to {base + nodes - 1} (data.base={base}, data.nodes={nodes})" if nodes else ""
            raise rows.error(k, f"a whole number from {base} {upto or f'on (data.base={base})'}")


def _listed_nodes(rows: edge_rows.Rows, path: Path, truth: str | int | None, use: Use) -> dict[str, Any]:
    """The nodes that a file names, with their true clusters, kinds and columns, as `list_edges` lists edges between."""
    suffix = separators.suffix_of(path)
    if suffix in (*graph_files.FOREIGN, *graph_files.GRAPHS, *graph_files.MATRICES):
        raise DataError(f"{path}: unknown format '{suffix}'; expected a list of nodes in a text file or .parquet")
    table = read_table(path, "auto", comments=True, encoding=use.encoding)
    assert table is not None
    mentioned = [truth, *(use.columns or ()), use.bipartite]
    if isinstance(table, text.Text) and _names_columns(table, mentioned, set(rows.names)):
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
    sides, side_names = None, rows.listed.side_names
    if use.bipartite is True:
        unsure = f"{path}: data.bipartite=true: expected data.bipartite=COLUMN of this file, or edges that go from "
        sides = conversions.sides_of_ends(numbers[rows.listed.ends], len(names), unsure)
    elif use.two_kinds:
        j = index(table, "data.bipartite", use.bipartite)
        kinds, words = labels_in(table, j, "one of two kinds of nodes", "two kinds of nodes")
        if len(words) != 2 or (kinds < 0).any():
            raise DataError(f"{path}: {table.column(j)}: kinds {', '.join(words[:5])}; expected two, one for each node")
        sides, side_names = kinds.astype(np.int8), (words[0], words[1])
        roles.add(j)
    columns = None
    if use.columns is not None:
        wanted = Wanted(dataset.get_kind("mixed"), None, list(use.columns), [], use.types)
        columns = dataset.get_kind("mixed").from_table(table, wanted, None, "auto")
        table.notes = list(dict.fromkeys([*columns.notes, *table.notes]))
    others = [] if columns is not None or not table.names else [j for j in range(table.width) if j not in roles]
    other_columns = [table.names[j] for j in others if j not in unnamed] if table.names else []
    of_nodes = {"names": names, "number": numbers, "truth": labels, "sides": sides, "side_names": side_names}
    return of_nodes | {"columns": columns, "node_columns": other_columns, "notes": table.notes}


def _names_columns(table: text.Text, mentioned: Sequence[Any], ends: set[str]) -> bool:
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
    like = edge_rows.WHOLE.fullmatch(head[0]) and (not table.counts_columns() or edge_rows.are_whole(below))
    if head[0] in ends or head[0] in edge_rows.MISSING or like:
        return False
    if len(table.top) > 1 and edge_rows.are_whole(below):
        return True
    raise DataError(
        f"{table.path}: row {table.row(0)}: {quote(head[0])} ends no edge; expected names of columns "
        "that begin with id, or a node that ends an edge (those without an edge may follow)"
    )


def unknown_pairs(file: str | Path, listed: Listed, encoding: str = "utf-8") -> UnknownPairs:
    """The pairs of nodes in a file, of which nothing is known; a third column names the layer of each, if there are
    several."""
    path = opening.require_file(file, "a list of unknown pairs, two nodes a row (data.unknown)")
    names = listed.names or [str(k + 1) for k in range(listed.N)]
    two_kinds = listed.sides is not None and len(set(names)) < len(names)
    sides = listed.sides if two_kinds and listed.sides is not None else np.zeros(listed.N, dtype=np.int8)
    number = {(name, int(side)): k for k, (name, side) in enumerate(zip(names, sides, strict=True))}
    table = read_table(path, "auto", True, encoding=encoding)
    assert table is not None
    in_layers = listed.layer is not None and table.width > 2
    header = False
    if isinstance(table, text.Text):
        head = [cell.strip() for cell in table.top[0]]
        header = all((name, end * two_kinds) not in number for end, name in enumerate(head[:2]))
    columns = edge_rows.Columns(1, 2, None, 3 if in_layers else None)
    rows = edge_rows.Rows.from_table(table, columns, header, two_kinds=two_kinds)
    numbers = []
    for k, name in enumerate(rows.names):
        side = int(rows.kinds is not None and k >= rows.kinds)
        if (name, side) not in number:
            raise rows.error(k, f"a node of {listed.place}")
        numbers.append(number[name, side])
    ends = np.array(numbers, dtype=np.int64)[rows.listed.ends]
    layer = np.full(len(ends), -1)
    if in_layers and rows.listed.layer is not None:
        for k, word in enumerate(rows.listed.layers):
            if word not in listed.layers:
                known = ", ".join(listed.layers)
                raise table.error(int(np.argmax(rows.listed.layer == k)), 2, f"a layer of {listed.place}: {known}")
        layer = np.array([listed.layers.index(word) for word in rows.listed.layers])[rows.listed.layer]
    return UnknownPairs(ends, layer)
