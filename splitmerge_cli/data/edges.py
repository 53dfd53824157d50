"""The user's own network: a list of edges in a text file or .parquet, or a graph in .graphml or .gml.

The network is made a simple undirected graph: directions are dropped, rows of one pair merged, their weights added up,
pairs that are not above the threshold and self-loops left out. What was merged or left out is counted in
``Dataset.meta``; nothing else is skipped or filled in.
"""

import csv as csv_module
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.base import MAGNITUDE, DataError, Dataset, require, require_number, require_size
from splitmerge_cli.data.graphs import Nodes, adjacency, check_kept, keep, merge, sizes
from splitmerge_cli.data.tables import (
    NUMBER,
    Table,
    Text,
    codes,
    existing,
    header_key,
    index,
    numbers,
    position,
    quoted,
    read_parquet,
    read_text,
    suffix_of,
    words,
)

if TYPE_CHECKING:
    import networkx

FORMATS = "text (.csv, .tsv, .txt and others, also .gz), .parquet, .graphml, .gml"
GRAPHS = (".graphml", ".gml")
FOREIGN = {".npy", ".npz", ".mat", ".xlsx", ".xls", ".gexf", ".net", ".mtx", ".json", ".pkl", ".zip", ".tar", ".bz2"}
"""Other formats of networks and tables, by the endings of their names."""
SEPARATORS = {"comma": ",", "tab": "\t", "semicolon": ";", "space": "\t"}
"""What ends a cell; runs of spaces are read as tabs."""
ENDS = ("source", "target")
HEADER_WORDS = {
    *ENDS,
    *("src", "dst", "from", "to", "node1", "node2", "node_1", "node_2", "from_node", "to_node", "from_id", "to_id"),
    *("fromnodeid", "tonodeid", "id1", "id2", "id_1", "id_2", "sender", "receiver", "ego", "alter", "tail", "head"),
}
"""Names of columns that hold the ends of edges."""
NODE_WORDS = {"id", "ids", "node", "nodes", "node_id", "nodeid", "name", "names", "label", "vertex", "vertices"}
"""Names of columns that hold nodes."""
MISSING = ("", "nan", "NaN")
A_NODE = "the name of a node"
NOT_NEGATIVE = "a number, at least 0 (data.weight=null reads no weights)"
WHOLE = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)


def edges(
    path: str | Path,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = "auto",
    threshold: float = 0.0,
    header: str | bool = "auto",
    separator: str = "auto",
    comments: bool = True,
    nodes: str | int | None = None,
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
    weight : str or int, optional
        Column (.graphml, .gml: attribute of the edges) of the weights. ``auto``: the one named weight; in a file
        without names of columns the third, if it holds numbers. None: there are no weights, every row weighs 1.
    threshold : float
        Two nodes are tied if the weights of their rows, in both directions, add up to more.
    header : {"auto", True, False}
        Whether the first row of a text file names the columns. ``auto``: it does if it holds a name given as `source`,
        `target` or `weight`, if it holds common names of such columns (source, from, node1, ...), or if it holds words
        and all rows below have whole numbers.
    separator : {"auto", "comma", "tab", "semicolon", "space"}
        What separates the cells of a text file; ``space``: any run of spaces and tabs. ``auto``: a comma in .csv, a tab
        in .tsv, else what the first row holds.
    comments : bool
        False: a line that begins with # or % is a row.
    nodes : str or int, optional
        A file whose first column names all nodes, each once, in their order (text or .parquet), or the number of nodes;
        needed where some nodes have no edge. By default the nodes are the ends of the edges: whole numbers ascending,
        other names in the order of their appearance. A number n: if the names are whole numbers from 0 to n - 1, or
        from 1 to n, the nodes are these; else those without an edge follow the others and have no name.
    truth : str or int, optional
        Column of the true clusters in the file `nodes` (.graphml, .gml: attribute of the nodes).
    scale : float
        Share of the nodes that are kept: those of highest degree, as paper 003 does.
    N : int, optional
        Number of nodes that are kept, in place of `scale`.

    Returns
    -------
    Dataset
        Kind ``graph``. ``meta``: rows; ``self_loops``, ``repeated`` and ``reversed`` rows; pairs ``below_threshold``;
        nodes, edges, ``isolated`` nodes.

    Raises
    ------
    DataError
        The file is missing, empty or not readable as such; a row is ragged, or lacks an end; a weight is negative or no
        number; a node that `nodes` does not name, or names twice; no edge is left where `nodes` is not given; a column
        that is asked for is unknown.
    """
    header = header_key("data.header", header)
    known = ("auto", *SEPARATORS)
    require(separator in known, "data.separator", separator, f"one of {', '.join(known)}")
    require_number("data.threshold", threshold, 0, MAGNITUDE)
    require(
        (source is None) == (target is None), "data.target", target, "a column beside data.source, or null for both"
    )
    if nodes is not None and not isinstance(nodes, str):
        require_size("data.nodes", nodes)
    check_kept(scale, N)
    path = existing(path, f"a list of edges ({FORMATS})")
    suffix = suffix_of(path)
    if suffix in FOREIGN:
        raise DataError(f"{path}: unknown format '{suffix}'; expected one of {FORMATS}")
    if suffix in GRAPHS:
        given = {"source": source, "target": target, "nodes": nodes}
        given |= {
            "header": None if header == "auto" else header,
            "separator": None if separator == "auto" else separator,
        }
        for key, value in given.items():
            require(value is None, f"data.{key}", value, f"its default: a {suffix} file says all that itself")
        rows, chosen = _graph_file(path, suffix, weight, truth)
    else:
        table = read_parquet(path) if suffix == ".parquet" else _text(path, separator, comments, nodes is not None)
        rows = _Rows.of(table, _Columns(source, target, weight), header) if table is not None else _Rows.none(path)
        chosen = _chosen_nodes(rows, nodes, truth)
    merged = merge(len(chosen.names), *rows.ends(chosen), rows.weight, threshold)
    if not len(merged.i) and not chosen.given:
        counts = merged.counts
        left_out = f"; self-loops: {counts['self_loops']}, pairs not above the threshold: {counts['below_threshold']}"
        raise DataError(
            f"{path}: no edge (rows: {len(rows)}{left_out if len(rows) else ''}); expected at least one, or "
            "data.nodes, which says what nodes there are"
        )
    matrix = adjacency(len(chosen.names), merged.i, merged.j)
    meta = {"path": str(path), "rows": len(rows)} | merged.counts | sizes(matrix)
    graph = Dataset(path.name.split(".")[0], "graph", matrix, chosen.truth, names=chosen.names, meta=meta)
    return keep(graph, scale, N)


# rows


@dataclass(frozen=True)
class _Columns:
    """Which columns of a list of edges are read, as the user says it."""

    source: str | int | None
    target: str | int | None
    weight: str | int | None

    @property
    def mentioned(self) -> list[str]:
        """Columns that are named."""
        return [c for c in (self.source, self.target, self.weight) if isinstance(c, str) and c != "auto"]

    def ends(self, names: Sequence[str] | None, width: int) -> tuple[int, int]:
        """Positions of the two ends as far as they can be told before the columns have names."""
        given = position(self.source, width), position(self.target, width)
        if given[0] is not None and given[1] is not None:
            return given[0], given[1]
        lower = [name.strip().lower() for name in names or []]
        if self.source is None and all(lower.count(end) == 1 for end in ENDS):
            return lower.index(ENDS[0]), lower.index(ENDS[1])
        return 0, 1

    def resolve(self, table: Table) -> tuple[int, int, int | None]:
        """Positions of the two ends and the weight."""
        if self.source is None or self.target is None:
            s, t = self.ends(table.names, table.width)
        else:
            s, t = index(table, "data.source", self.source), index(table, "data.target", self.target)
        require(s != t, "data.target", self.target, "another column than data.source")
        w = self._weight(table, s, t)
        require(w not in (s, t), "data.weight", self.weight, "another column than data.source and data.target")
        return s, t, w

    def _weight(self, table: Table, s: int, t: int) -> int | None:
        if self.weight is None:
            return None
        if self.weight != "auto":
            return index(table, "data.weight", self.weight)
        if table.names is None:
            third = table.width > 2 and 2 not in (s, t) and len(table.columns[2])
            return 2 if third and _is_numeric(table.columns[2][0].as_py()) else None
        named = [j for j, name in enumerate(table.names) if name.lower() == "weight" and j not in (s, t)]
        return named[0] if len(named) == 1 else None


@dataclass(frozen=True)
class _Rows:
    """The rows of a list of edges: names of both ends, and weights.

    Attributes
    ----------
    path : Path
        The file, for messages.
    first : numpy.ndarray
        int64 ``[names]``: where each name appears first, 2 row + (1 where it is the target), ascending.
    names : list of str
        Names of the ends in the order of their first appearance.
    codes : numpy.ndarray
        int64 ``[rows, 2]``: position in `names` of both ends.
    weight : numpy.ndarray or None
        float64 ``[rows]``.
    table : Table or None
        Where the rows come from, with the positions of the ends.
    """

    path: Path
    first: NDArray[np.int64]
    names: list[str]
    codes: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    table: tuple[Table, int, int] | None

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def none(cls, path: Path) -> "_Rows":
        """No rows."""
        return cls(path, np.empty(0, dtype=np.int64), [], np.empty((0, 2), dtype=np.int64), None, None)

    @classmethod
    def of(cls, table: Table, columns: _Columns, header: str | bool) -> "_Rows":
        """The rows of a table."""
        if table.width < 2:
            raise DataError(
                f"{table.path}: row {table.row(0)}: cells: {table.width}; expected at least 2, the ends of an edge "
                "(data.separator says what separates cells)"
            )
        if isinstance(table, Text) and (_has_header(table, columns) if header == "auto" else header):
            table.take_header()
            table.columns = [column.slice(1) for column in table.columns]
        s, t, w = columns.resolve(table)
        if not len(table.columns[s]):
            return cls.none(table.path)
        ends = [_names(table, j) for j in (s, t)]
        encoded = pc.dictionary_encode(pa.chunked_array([*ends[0].chunks, *ends[1].chunks])).combine_chunks()
        appeared = encoded.indices.to_numpy().astype(np.int64).reshape(2, -1).T.ravel()
        code, first = np.unique(appeared, return_index=True)
        order = np.argsort(first)
        rank = np.empty(len(code), dtype=np.int64)
        rank[code[order]] = np.arange(len(code))
        names = encoded.dictionary.take(pa.array(code[order])).to_pylist()
        rows = cls(
            table.path,
            first[order],
            names,
            rank[appeared].reshape(-1, 2),
            None if w is None else _weights(table, w),
            (table, s, t),
        )
        rows._check_names()
        return rows

    def error(self, name: int, expected: str) -> DataError:
        """What is said of the first cell that holds a name, where something else was `expected`."""
        assert self.table is not None
        table, s, t = self.table
        row, is_target = divmod(int(self.first[name]), 2)
        return table.error(row, t if is_target else s, expected)

    def _check_names(self) -> None:
        """Refuse names that are missing, or that stand for one node in two ways, such as 1 and 1.0."""
        known = set(self.names)
        for k, name in enumerate(self.names):
            if name in MISSING:
                raise self.error(k, A_NODE)
            if not name.isdigit() and NUMBER.fullmatch(name) and (value := float(name)) == round(value):
                other = str(int(value))
                if other != name and other in known:
                    raise self.error(k, f"one way to write a node: there is also '{other}'")

    def ends(self, nodes: "_Nodes") -> tuple[Nodes, Nodes]:
        """Numbers of the nodes of both ends."""
        numbered = nodes.number[self.codes]
        return numbered[:, 0], numbered[:, 1]


def _names(table: Table, j: int) -> pa.ChunkedArray:
    """Column `j` as names of nodes, without spaces around them."""
    column = pc.cast(words(table, j, A_NODE), pa.large_string())
    return pc.utf8_trim_whitespace(pc.fill_null(column, ""))


def _weights(table: Table, j: int) -> NDArray[np.float64]:
    """Column `j` as weights, checked."""
    column = table.columns[j]
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        trimmed = pc.utf8_trim_whitespace(column)
        good = pc.match_substring_regex(trimmed, f"(?i)^({NUMBER.pattern})$").to_numpy()
        if not good.all():
            raise table.error(int(np.argmin(good)), j, NOT_NEGATIVE)
        table.columns[j] = pc.cast(trimmed, pa.float64())
    values = numbers(table, j, "data.weight chooses")
    if (values < 0).any():
        raise table.error(int(np.argmax(values < 0)), j, NOT_NEGATIVE)
    return values


def _is_numeric(cell: Any) -> bool:
    """Whether a cell of text is a finite number."""
    return isinstance(cell, str) and NUMBER.fullmatch(cell.strip()) is not None


def _has_header(table: Text, columns: _Columns) -> bool:
    """Whether the first row names the columns."""
    head = [cell.strip() for cell in table.top[0]]
    if any(column in head for column in columns.mentioned):
        return True
    if len(table.top) == 1:
        return all(cell.lower() in HEADER_WORDS for cell in head[:2])
    s, t = columns.ends(head, table.width)
    if WHOLE.fullmatch(head[s]) or WHOLE.fullmatch(head[t]):
        return False
    below = [pc.utf8_trim_whitespace(table.columns[j].slice(1)) for j in (s, t)]
    if all(pc.all(pc.match_substring_regex(column, rf"^{WHOLE.pattern}$")).as_py() for column in below):
        return True
    w = position(columns.weight, table.width) if columns.weight != "auto" else 2
    if w is not None and w < table.width and not _is_numeric(head[w]) and _is_numeric(table.top[1][w]):
        return True
    seen = any(pc.any(pc.equal(column, end)).as_py() for column in below for end in (head[s], head[t]))
    if seen or "" in (head[s], head[t]):
        return False
    if head[s].lower() in HEADER_WORDS and head[t].lower() in HEADER_WORDS:
        return True
    raise DataError(
        f"{table.path}: row {table.row(0)}: {quoted(head[s])} and {quoted(head[t])} stand nowhere else; expected "
        "names of columns or of nodes (data.header=true or false says which)"
    )


# text


def _text(path: Path, separator: str, comments: bool, empty: bool = False) -> Text | None:
    """A parsed text file, every cell a string; None if it has comments alone and may be `empty`."""
    data = read_text(path)
    if (null := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, null) + 1
        raise DataError(f"{path}: row {line}: byte 0x00; expected UTF-8 text")
    start = 0
    while comments and data[start : start + 1] in (b"#", b"%", b"\n", b"\r"):
        end = data.find(b"\n", start) + 1 or len(data)
        _check_banner(path, data[start:end])
        start = end
    before, data = data.count(b"\n", 0, start), data[start:]
    if not data.strip() and start and empty:
        return None
    if data[:1] == b"*":
        raise DataError(f"{path}: row {before + 1}: a file of Pajek; expected a list of edges, two names a row")
    if comments and (late := re.search(rb"^[#%]", data, re.MULTILINE)):
        line = before + data.count(b"\n", 0, late.start()) + 1
        raise DataError(
            f"{path}: row {line}: a comment below the first row; expected comments at the top alone "
            "(data.comments=false takes such lines for rows)"
        )
    if separator == "auto":
        separator = {".csv": "comma", ".tsv": "tab"}.get(suffix_of(path)) or _separator(data)
    if separator == "space":
        data = _tabs(path, data, before)
    table = Text(path, data, SEPARATORS[separator], before)
    table.parse([{}])
    return table


def _check_banner(path: Path, comment: bytes) -> None:
    """Refuse what a first comment says to be something else."""
    if comment.startswith(b"%%MatrixMarket"):
        raise DataError(f"{path}: row 1: a file of Matrix Market; expected a list of edges, two names a row")
    if re.match(rb"%\s*bip\b", comment):
        raise DataError(
            f"{path}: row 1: a two-mode network, in which one number may stand for two nodes; expected a network with "
            "nodes of one kind, or other names in each column (without this comment)"
        )


def _separator(data: bytes) -> str:
    """What separates the cells of the first row."""
    end = data.find(b"\n")
    line = re.sub(r'"[^"]*"', "", data[: None if end < 0 else end].decode("utf-8"))
    if "\t" in line and not all(map(_is_numeric, line.split())):
        return "tab"
    return "comma" if "," in line else "semicolon" if ";" in line else "space"


def _tabs(path: Path, data: bytes, before: int) -> bytes:
    """Rows of cells that runs of spaces and tabs separate, with one tab between cells."""
    if b'"' not in data:
        tabs = re.sub(rb"[ \t]+", b"\t", data.replace(b"\r\n", b"\n"))
        return re.sub(rb"^\t|\t$", b"", tabs, flags=re.MULTILINE)
    text = data.decode("utf-8").replace("\t", " ")
    reader = csv_module.reader(StringIO(text, newline=""), delimiter=" ", skipinitialspace=True, strict=True)
    out = StringIO(newline="")
    writer = csv_module.writer(out, delimiter="\t", lineterminator="\n")
    try:
        for cells in reader:
            writer.writerow(cells[:-1] if cells and not cells[-1] else cells)
    except csv_module.Error as error:
        raise DataError(
            f"{path}: row {before + reader.line_num}: a quote that does not end its cell; expected quotes around whole "
            "cells"
        ) from error
    return out.getvalue().encode("utf-8").rstrip(b"\n")


# nodes


@dataclass(frozen=True)
class _Nodes:
    """The nodes of a network.

    Attributes
    ----------
    names : list of str
        Name of each; empty for a node that is known by its number alone.
    number : numpy.ndarray
        int64 ``[names of the rows]``: node of every name that the rows hold.
    truth : numpy.ndarray or None
        int32 ``[N]``.
    given : bool
        Whether the user says which nodes there are.
    """

    names: list[str]
    number: NDArray[np.int64]
    truth: NDArray[np.int32] | None = None
    given: bool = True


def _chosen_nodes(rows: _Rows, nodes: str | int | None, truth: str | int | None) -> _Nodes:
    """The nodes of a list of edges, as the options say."""
    if isinstance(nodes, str):
        return _listed_nodes(rows, existing(nodes, "a file that names the nodes (data.nodes), or their number"), truth)
    require(truth is None, "data.truth", truth, "null, or data.nodes=FILE beside it, whose column it is")
    value = [int(name) for name in rows.names if WHOLE.fullmatch(name)]
    whole = len(value) == len(rows.names)
    if nodes is not None and whole:
        for base in (0, 1):
            if all(base <= n < nodes + base for n in value):
                number = np.array(value, dtype=np.int64) - base
                return _Nodes([str(n) for n in range(base, nodes + base)], number)
    order = sorted(range(len(rows.names)), key=value.__getitem__) if whole else range(len(rows.names))
    names = [rows.names[k] for k in order]
    number = np.empty(len(names), dtype=np.int64)
    number[list(order)] = np.arange(len(names))
    if nodes is None:
        return _Nodes(names, number, given=False)
    require(nodes >= len(names), "data.nodes", nodes, f"at least {len(names)}, the nodes that {rows.path} names")
    return _Nodes(names + [""] * (nodes - len(names)), number)


def _listed_nodes(rows: _Rows, path: Path, truth: str | int | None) -> _Nodes:
    """The nodes that a file names, and their true clusters."""
    suffix = suffix_of(path)
    if suffix in FOREIGN or suffix in GRAPHS:
        raise DataError(f"{path}: unknown format '{suffix}'; expected a list of nodes in a text file or .parquet")
    table = read_parquet(path) if suffix == ".parquet" else _text(path, "auto", comments=True)
    assert table is not None
    if isinstance(table, Text) and _names_columns(table, truth, set(rows.names)):
        table.take_header()
        table.columns = [column.slice(1) for column in table.columns]
    if not table.columns or not len(table.columns[0]):
        raise DataError(f"{path}: no row of data; expected at least one node")
    names = _names(table, 0).to_pylist()
    number = {name: k for k, name in reversed(list(enumerate(names)))}
    for k, name in enumerate(names):
        if name in MISSING:
            raise table.error(k, 0, A_NODE)
        if number[name] != k:
            raise table.error(k, 0, f"every node once: it is also in row {table.row(number[name])}")
    for k, name in enumerate(rows.names):
        if name not in number:
            raise rows.error(k, f"a node of {path}")
    labels = None if truth is None else codes(table, index(table, "data.truth", truth), "a true label")[0]
    return _Nodes(names, np.array([number[name] for name in rows.names], dtype=np.int64), labels)


def _names_columns(table: Text, truth: str | int | None, ends: set[str]) -> bool:
    """Whether the first row of a list of nodes names its columns."""
    head = [cell.strip() for cell in table.top[0]]
    if (isinstance(truth, str) and truth in head) or (head[0].lower() in NODE_WORDS and head[0] not in ends):
        return True
    if head[0] in ends or head[0] in MISSING or WHOLE.fullmatch(head[0]):
        return False
    below = pc.utf8_trim_whitespace(table.columns[0].slice(1))
    if len(table.top) > 1 and pc.all(pc.match_substring_regex(below, rf"^{WHOLE.pattern}$")).as_py():
        return True
    raise DataError(
        f"{table.path}: row {table.row(0)}: {quoted(head[0])} ends no edge; expected names of columns "
        "that begin with id, or a node that ends an edge (those without an edge may follow)"
    )


# files of graphs


def _graph_file(path: Path, suffix: str, weight: str | int | None, truth: str | int | None) -> tuple[_Rows, _Nodes]:
    """The edges and nodes of a .graphml or .gml file."""
    graph = _loaded(path, suffix)
    names = [str(node) for node in graph]
    if not names:
        raise DataError(f"{path}: no node; expected at least one")
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise DataError(f"{path}: two nodes are called {quoted(twice)}; expected another name for each")
    number = {node: k for k, node in enumerate(graph)}
    ties = list(graph.edges(data=True))
    ends = np.array([(number[a], number[b]) for a, b, _ in ties], dtype=np.int64).reshape(-1, 2)
    key = "weight" if weight == "auto" and any("weight" in told for *_, told in ties) else weight
    weights = None
    if key not in (None, "auto"):
        weights = np.array([_weight_of(path, k, tie, key) for k, tie in enumerate(ties, start=1)])
    labels = None
    if truth is not None:
        for node, told in graph.nodes(data=True):
            if truth not in told:
                raise DataError(
                    f"{path}: node {quoted(str(node))} has no attribute '{truth}'; expected data.truth on all"
                )
        labels = pd.factorize(np.array([str(told[truth]) for _, told in graph.nodes(data=True)], dtype=object))[0]
        labels = labels.astype(np.int32)
    rows = _Rows(path, np.empty(0, dtype=np.int64), names, ends, weights, None)
    return rows, _Nodes(names, np.arange(len(names)), labels)


def _loaded(path: Path, suffix: str) -> "networkx.Graph":
    """What networkx reads of a file."""
    import networkx

    try:
        if suffix == ".graphml":
            return networkx.read_graphml(path)
        try:
            return networkx.read_gml(path)
        except networkx.NetworkXError as error:
            if "has no 'label'" not in str(error):
                raise
            # nodes without labels are known by their ids
            return networkx.read_gml(path, label="id")
    except Exception as error:  # the readers raise all kinds on a damaged file
        raise DataError(f"{path}: not a readable {suffix} file: {error or type(error).__name__}") from error


def _weight_of(path: Path, number: int, tie: tuple[Any, Any, dict[Any, Any]], key: str | int | None) -> float:
    """The weight of an edge."""
    a, b, told = tie
    value = told.get(key)
    good = isinstance(value, int | float) and 0 <= value <= MAGNITUDE
    if not good or value is None:
        found = "no such attribute" if value is None else quoted(str(value))
        raise DataError(
            f"{path}: edge {number} ({quoted(str(a))}, {quoted(str(b))}), '{key}': {found}; expected {NOT_NEGATIVE}"
        )
    return float(value)
