"""The user's own network: a list of edges, a matrix of ties, or a graph with attributes, in a file.

By default the network is made a simple undirected graph: directions are dropped, rows of one pair merged, their weights
added up, pairs that are not above the threshold and self-loops left out. A note says what else the file holds, and the
command that reads it; what was merged or left out is counted in ``Dataset.meta``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import check_rows, require_file
from splitmerge_cli.data.tables.columns import header_key
from splitmerge_cli.data.tables.free_text import SEPARATORS
from splitmerge_cli.data.tables.separators import suffix_of
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.data.values import MAGNITUDE, require, require_number, require_size
from splitmerge_cli.kinds.networks.readers.adjacency import check_kept, keep
from splitmerge_cli.kinds.networks.readers.edge_rows import Columns, Rows
from splitmerge_cli.kinds.networks.readers.graph_files import (
    FOREIGN,
    FORMATS,
    GRAPHS,
    MATRICES,
    graph_suffix,
    read_graph,
)
from splitmerge_cli.kinds.networks.readers.listed import Listed, Use, relational, simple
from splitmerge_cli.kinds.networks.readers.nodes import chosen_nodes, listed_rows, read_table, unknown_pairs
from splitmerge_cli.kinds.networks.readers.tie_matrices import matrix_of_text, read_matrix
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
) -> Dataset:
    """Read a network: a row per edge, its two ends and perhaps a weight; a matrix of ties; or a graph.

    It is simple and undirected unless an option from `directed` to `unknown` asks for more.

    Options: ``conf/data/edges.yaml``. A graph is in .graphml, .gml, .gexf, .net (Pajek), .dot or .gv (Graphviz), or
    .json (nodes and links), a matrix in .npy, .npz (scipy.sparse) or .mtx (Matrix Market); columns of edges are
    attributes of a graph's edges, columns of nodes those of its nodes.

    ``weights=auto`` is the column named weight; in a file without names of columns the third, if it holds numbers; with
    `values` also a column with another common name (value, sign, rating, ...), or the only one left. Without weights
    every row weighs 1. A missing weight makes its pair unknown. Of rows of a pair counts add up, numbers are averaged,
    the first level holds; a count of 0 is no edge.

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
    matrix = header_key("data.matrix", matrix)
    use = Use(directed, values, loops, layer, bipartite, unknown, columns, types)
    check_kept(scale, N)
    path = require_file(path, f"a list of edges ({FORMATS})")
    suffix = graph_suffix(path, suffix_of(path))
    if suffix in FOREIGN:
        raise DataError(f"{path}: unknown format '{suffix}'; expected one of {FORMATS}")
    if suffix in (*GRAPHS, *MATRICES):
        for key in OF_LISTS:
            usual = signature(edges).parameters[key].default
            require(options[key] == usual, f"data.{key}", options[key], f"its default: a {suffix} file contains this")
    if suffix in GRAPHS:
        listed, is_whole = read_graph(path, suffix, use, weights, truth), True
    elif suffix in MATRICES:
        _check_matrix(use, truth)
        listed, is_whole = read_matrix(path, suffix, use), True
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
        unsure = None if unknown is None else unknown_pairs(unknown, listed)
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
    table = read_table(path, options["separator"], options["comments"], nodes is not None, use.bipartite is True)
    may_be_matrix = matrix is True or (nodes is None and options["source"] is None)
    ties = matrix_of_text(table, use, options["header"], matrix) if isinstance(table, Text) and may_be_matrix else None
    if ties is not None:
        _check_matrix(use, options["truth"])
        return ties, True
    require(matrix is not True, "data.matrix", "true", f"false: {path} is no text of three columns or more")
    columns = Columns(options["source"], options["target"], options["weights"], use.layer)
    two_kinds = use.bipartite is True and not isinstance(nodes, str)
    rows = Rows.empty(path) if table is None else Rows.from_table(table, columns, options["header"], use, two_kinds)
    chosen = chosen_nodes(rows, nodes, options["base"], options["truth"], use)
    return listed_rows(rows, chosen, str(path), path.name.split(".")[0]), chosen.given
