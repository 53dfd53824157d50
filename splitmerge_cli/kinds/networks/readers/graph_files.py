"""Files of graphs, by their endings: GraphML, GML, GEXF; Pajek (.net): arcs, edges, lists and matrices of them, two
modes, several relations; Graphviz (.dot, .gv): nodes, edges and their attributes, subgraphs flattened; node-link JSON,
as networkx writes it and D3 reads it; and lists of neighbours, a node a line.
"""

import re
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from splitmerge_cli.data.opening import check_rows, content, readable, unpack
from splitmerge_cli.data.tables import separators, table
from splitmerge_cli.kinds.networks.readers.conversions import Attributed, as_number, as_pairs, rows_of_graph
from splitmerge_cli.kinds.networks.readers.listed import Listed, Use
from splitmerge_cli.received import DataError, parse_json, reject_machine_error

NODE_BYTES = 300
LAYER = "relation"
"""Attribute of edges that holds the relation of a file with several."""
_CELL = re.compile(r'"([^"]*)"|(\S+)')


def parse_pajek(path: Path, text: str) -> Attributed:
    """Read the text of a .net file; raises a `DataError` that names the row."""
    reader = _Reader(path)
    for number, line in enumerate(text.splitlines(), 1):
        reader.row = number
        if (line := line.strip()) and line[0] != "%":
            reader.read(line)
    if not reader.names:
        raise DataError(f"{path}: no node; expected *Vertices and their number")
    ends, edges = as_pairs(reader.ends), reader.edges
    if reader.directed and reader.both_ways:
        # among arcs an edge stands for two of them
        ends = np.concatenate([ends, ends[reader.both_ways, ::-1]])
        edges = [*edges, *(edges[k] for k in reader.both_ways)]
    sides = None
    if reader.first:
        sides = (np.arange(len(reader.names)) >= reader.first).astype(np.int8)
    return Attributed(reader.names, [{} for _ in reader.names], ends, edges, reader.directed, sides, usual=1.0)


class _Reader:
    """Reads a file, section by section; `first`: how many nodes the first of two modes has."""

    def __init__(self, path: Path) -> None:
        self.path, self.row, self.section, self.relation = path, 0, "", ""
        self.names: list[str] = []
        self.first, self.filled = 0, 0
        self.ends: list[tuple[int, int]] = []
        self.edges: list[dict[str, Any]] = []
        self.both_ways: list[int] = []
        self.directed = False

    def error(self, cell: str, expected: str) -> DataError:
        return DataError(f"{self.path}: row {self.row}: {table.quote(cell)}; expected {expected}")

    def read(self, line: str) -> None:
        if line[0] == "*":
            self.open(line)
            return
        cells = [quoted or plain for quoted, plain in _CELL.findall(line)]
        {
            "vertices": self.vertex,
            "arcs": self.edge,
            "edges": self.edge,
            "arcslist": self.edges_of,
            "edgeslist": self.edges_of,
            "matrix": self.matrix_row,
        }.get(self.section, lambda cells: None)(cells)

    def open(self, line: str) -> None:
        """A line that begins a section."""
        word, *rest = line[1:].split(None, 1)
        self.section, rest_text = word.lower().split(":")[0], " ".join(rest)
        self.filled = 0
        if self.section == "vertices":
            numbers = rest_text.split()
            if not numbers or not all(re.fullmatch(r"\d{1,9}", n) for n in numbers):
                raise self.error(line, "*Vertices and their number")
            check_rows(self.path, int(numbers[0]), NODE_BYTES, "nodes")
            self.names = [str(k + 1) for k in range(int(numbers[0]))]
            self.first = int(numbers[1]) if len(numbers) > 1 else 0
        elif self.section in ("arcs", "arcslist", "matrix"):
            self.directed = self.directed or not self.first
        if relation := re.search(r':\s*(\d+)\s*(?:"([^"]*)")?', line):
            self.relation = relation[2] or relation[1]

    def node(self, cell: str) -> int:
        if not re.fullmatch(r"\d{1,9}", cell) or not 1 <= int(cell) <= len(self.names):
            raise self.error(cell, f"a node from 1 to {len(self.names)}")
        return int(cell) - 1

    def vertex(self, cells: list[str]) -> None:
        node = self.node(cells[0])
        if len(cells) > 1:
            self.names[node] = cells[1]

    def add(self, i: int, j: int, weight: str | None) -> None:
        """An edge of the open section."""
        attributes: dict[str, Any] = {} if weight is None else {"weight": as_number(weight)}
        if self.relation:
            attributes[LAYER] = self.relation
        if self.section.startswith("edges") and i != j:
            self.both_ways.append(len(self.ends))
        self.ends.append((i, j))
        self.edges.append(attributes)

    def edge(self, cells: list[str]) -> None:
        if len(cells) < 2:
            raise self.error(" ".join(cells), "two nodes, and perhaps a weight")
        self.add(self.node(cells[0]), self.node(cells[1]), cells[2] if len(cells) > 2 else None)

    def edges_of(self, cells: list[str]) -> None:
        source = self.node(cells[0])
        for cell in cells[1:]:
            self.add(source, self.node(cell), None)

    def matrix_row(self, cells: list[str]) -> None:
        across = len(self.names) - self.first
        if len(cells) != across or self.filled >= (self.first or across):
            raise self.error(" ".join(cells)[:20], f"{self.first or across} rows of {across} numbers")
        for j, cell in enumerate(cells):
            if cell not in ("0", "0.0"):
                self.add(self.filled, self.first + j, cell)
        self.filled += 1


_TOKEN = re.compile(
    r'(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)|"(?P<quoted>(?:[^"\\]|\\.)*)"'
    r"|(?P<sign>->|--|[{}\[\];,=:])|(?P<word>-?\.?\w+(?:\.\w*)*)",
    re.DOTALL,
)
_WORDS = ("node", "edge", "graph")
"""Words that set the looks of all nodes or edges below."""


class _Tokens:
    """The signs and words of a text, one at a time."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text, self.row = path, text, 1
        self.tokens = self.read()
        self.kind, self.now = next(self.tokens)

    def read(self) -> Iterator[tuple[str, str]]:
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise self.error(self.text[at], "a word, a text in quotes or a sign of the language of Graphviz")
            kind = str(match.lastgroup)
            if kind != "blank":
                yield kind, match[kind].replace('\\"', '"')
            self.row += match[0].count("\n")
            at = match.end()
        while True:
            yield "end", ""

    def error(self, cell: str, expected: str) -> DataError:
        return DataError(f"{self.path}: row {self.row}: {table.quote(cell)}; expected {expected}")

    def skip(self, sign: str) -> bool:
        """Go beyond a sign if it is the present one."""
        if is_here := self.kind == "sign" and self.now == sign:
            self.kind, self.now = next(self.tokens)
        return is_here

    def name(self, expected: str = "a name") -> str:
        """The present word or text, beyond which the tokens go."""
        if self.kind not in ("word", "quoted"):
            raise self.error(self.now, expected)
        word = self.now
        self.kind, self.now = next(self.tokens)
        return word

    def attributes(self) -> dict[str, Any]:
        """``[key=value, ...]``, perhaps several or none."""
        attributes = {}
        while self.skip("["):
            while not self.skip("]"):
                key = self.name("an attribute, key=value")
                attributes[key] = as_number(self.name("a value")) if self.skip("=") else "true"
                _ = self.skip(",") or self.skip(";")
        return attributes


def parse_dot(path: Path, text: str) -> Attributed:
    """Read the text of a .dot file; raises a `DataError` that names the row."""
    tokens = _Tokens(path, text)
    word = tokens.name("graph or digraph").lower()
    word = tokens.name("graph or digraph").lower() if word == "strict" else word
    if word not in ("graph", "digraph"):
        raise tokens.error(word, "graph or digraph")
    if tokens.kind != "sign":
        tokens.name()
    if not tokens.skip("{"):
        raise tokens.error(tokens.now, "{")
    number: dict[str, int] = {}
    nodes: list[dict[str, Any]] = []
    ends: list[tuple[int, int]] = []
    edges: list[dict[str, Any]] = []

    def node(name: str) -> int:
        if name not in number:
            number[name] = len(nodes)
            nodes.append({})
        if tokens.skip(":"):
            tokens.name("a port")
        return number[name]

    depth = 1
    while depth:
        if tokens.skip("}"):
            depth -= 1
        elif tokens.skip("{"):
            depth += 1
        elif not (tokens.skip(";") or tokens.skip(",")):
            name = tokens.name("a node, or }")
            if name.lower() == "subgraph" and tokens.kind != "sign":
                tokens.name()
            elif name.lower() in _WORDS:
                tokens.attributes()
            elif tokens.skip("="):
                tokens.name("a value")
            elif name.lower() != "subgraph":
                path_of_nodes = [node(name)]
                while tokens.skip("->") or tokens.skip("--"):
                    path_of_nodes.append(node(tokens.name("a node: edges of groups in braces are not read")))
                attributes = tokens.attributes()
                if len(path_of_nodes) == 1:
                    nodes[path_of_nodes[0]].update(attributes)
                for pair in pairwise(path_of_nodes):
                    ends.append(pair)
                    edges.append(attributes)
    if not nodes:
        raise DataError(f"{path}: no node; expected at least one")
    return Attributed(list(number), nodes, as_pairs(ends), edges, word == "digraph", usual=1.0)


NODE_LINK = "node-link .json"
_LINKS = ("links", "edges")
_ENDS = {"from": "source", "to": "target"}
"""Keys of the list of edges: D3 and older versions of networkx write the first."""
_IS_NODE_LINK = re.compile(rb'\s*\{.*?"(?:nodes|links|edges)"\s*:\s*\[', re.DOTALL)
HEAD = 1 << 16
"""Bytes of a .json file that show what it holds."""


def parse_node_link(path: Path, text: str) -> Attributed:
    """Read an object of JSON with a list of nodes and one of links; raises a `DataError` that names the node or link.

    The ends of a link are ids of nodes, else their names, else their positions from 0, as D3 counts them.
    """
    try:
        graph = parse_json(text)
    except ValueError as error:
        raise DataError(f"{path}: {error}; expected one object of JSON with nodes and links") from error
    graph = graph.get("elements", graph)  # of Cytoscape
    found = [key for key in _LINKS if key in graph]
    if "nodes" not in graph or not found:
        raise DataError(f"{path}: no key '{'links' if 'nodes' in graph else 'nodes'}'; expected a list")
    nodes, links = _objects(path, graph, "nodes"), _objects(path, graph, found[0])
    if all("from" in link and "to" in link and "source" not in link for link in links):
        links = [{_ENDS.get(name, name): value for name, value in link.items()} for link in links]
    key = next((key for key in ("id", "name") if all(key in node for node in nodes)), None)
    written = [node[key] for node in nodes] if key is not None else list(range(len(nodes)))
    named = list(map(str, written))
    number = {name: k for k, name in enumerate(named)}
    joined = [link.get(end) for link in links for end in ("source", "target")]
    # 1 and "1" are one node where all ends are names then
    if not all(str(end) in number for end in joined) and set(written).isdisjoint(joined):
        number = {str(k): k for k in range(len(nodes))}
    ends = []
    for k, link in enumerate(links, 1):
        for end in ("source", "target"):
            if str(link.get(end)) not in number or end not in link:
                shown = table.quote(str(link[end])) if end in link else "none"
                raise DataError(f"{path}: {found[0]}: {k}: '{end}': {shown}; expected a node")
        ends.append((number[str(link["source"])], number[str(link["target"])]))
    edges = [{name: value for name, value in link.items() if name not in ("source", "target")} for link in links]
    directed = graph.get("directed")
    return Attributed(named, nodes, as_pairs(ends), edges, directed if isinstance(directed, bool) else None)


def _objects(path: Path, graph: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects of a list, without what they hold in lists and objects of their own, other than ``data``."""
    rows = graph[key]
    if not isinstance(rows, list):
        raise DataError(f"{path}: '{key}': no list; expected a list of objects")
    check_rows(path, len(rows), NODE_BYTES, key)
    for k, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise DataError(f'{path}: {key}: {k}: {table.quote(str(row))}; expected an object, such as {{"id": "a"}}')
    flat = [row | row["data"] if isinstance(row.get("data"), dict) else row for row in rows]
    return [{name: value for name, value in row.items() if not isinstance(value, dict | list)} for row in flat]


NEIGHBOURS = ".adjlist"
_FEWEST_LINES = 5


def parse_neighbours(path: Path, text: str) -> Attributed:
    """Read a node in each line and its neighbours behind it: between spaces, or behind a colon, perhaps with commas
    between them. Raises a `DataError` that names the row of a node that has two."""
    number: dict[str, int] = {}
    ends, first = list[tuple[int, int]](), dict[str, int]()
    for row, names in _lines_of_neighbours(text):
        if not names:
            raise DataError(f"{path}: row {row}: no name; expected a node, and its neighbours behind it")
        if (node := names[0]) in first:
            raise DataError(
                f"{path}: row {row}: {table.quote(node)} begins row {first[node]}, too; expected a row for each node"
            )
        first[node] = row
        i, *js = (number.setdefault(name, len(number)) for name in names)
        ends += [(i, j) for j in js]
    return Attributed(list(number), [{} for _ in number], as_pairs(ends), [{} for _ in ends], None, usual=1.0)


def _lines_of_neighbours(text: str) -> Iterator[tuple[int, list[str]]]:
    """The names in each line, without comments, and its row."""
    lines = [(row, line) for row, line in enumerate(text.splitlines(), 1) if line.strip() and line[0] not in "#%"]
    has_commas, has_colons = ("," in text), all(":" in line for _, line in lines)
    for row, line in lines:
        node, _, rest = line.partition(":") if has_colons else ("", "", line)
        names = rest.split(",") if has_commas else rest.split()
        yield row, [name.strip() for name in ([node] if has_colons else []) + names if name.strip()]


def _are_neighbours(head: str, is_whole: bool) -> bool:
    """Whether lines hold a node each and its neighbours, which have lines of their own; `head` may be cut."""
    rows = [names for _, names in _lines_of_neighbours(head)]
    rows = rows if is_whole else rows[:-1]
    first, others = {names[0] for names in rows if names}, {name for names in rows for name in names[1:]}
    if len(first) < max(len(rows), _FEWEST_LINES) or len({len(names) for names in rows}) < 2 or not others:
        return False
    return len(others - first) <= (0 if is_whole else len(others) // 2)


def graph_suffix(path: Path, suffix: str) -> str:
    """The ending by which a file is read: a .json file with nodes and links, and a text of neighbours, have one of
    their own.

    >>> graph_suffix(Path("friends.csv"), ".csv")
    '.csv'
    """
    if suffix not in (".json", ".txt", ""):
        return suffix
    with readable(path) as file:
        head = unpack(path, file).read(HEAD)
    if suffix == ".json":
        return NODE_LINK if _IS_NODE_LINK.match(head) else suffix
    return NEIGHBOURS if _are_neighbours(head.decode("utf-8", "replace"), len(head) < HEAD) else suffix


WRITTEN = {".net": parse_pajek, ".pajek": parse_pajek, ".dot": parse_dot, ".gv": parse_dot}
WRITTEN |= dict.fromkeys((".cyjs", NODE_LINK), parse_node_link) | {NEIGHBOURS: parse_neighbours}
"""Readers of texts."""
GRAPHS = (".graphml", ".gml", ".gexf", *WRITTEN)
MATRICES = (".npy", ".npz", ".mtx")
FORMATS = f"text (.csv, .tsv, .txt and others, also .gz), .xlsx, .parquet, {', '.join((*GRAPHS, *MATRICES))}"
FOREIGN = (".mat", ".xls", ".pkl", ".tar")
"""Other formats of networks and tables, by the endings of their names."""
OTHER_TYPES = re.compile(rb'attr\.type="(?!(?:boolean|int|long|float|double|string)")\w+"')
"""Types of attributes that GraphML does not have."""
GRAPH_TIMES = 16
"""How many times its size a graph takes: every node and edge is an object of its own."""


def read_graph(path: Path, suffix: str, use: Use, weights: str | int | None, truth: str | int | None) -> Listed:
    """The edges in a file, a row each."""
    if suffix in WRITTEN:
        content(path, GRAPH_TIMES)  # the limit of memory
        graph = WRITTEN[suffix](path, separators.read_text(path, use.encoding).decode())
    else:
        graph = _load(path, suffix)
    names = graph.names or []
    if not names:
        raise DataError(f"{path}: no node; expected at least one")
    if len(set(names)) < len(names) and graph.sides is None:
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise DataError(f"{path}: two nodes are called {table.quote(twice)}; expected another name for each")

    def wrong(k: int, key: str, value: Any) -> str:
        a, b = (table.quote(names[node]) for node in graph.ends[k])
        shown = "no such attribute" if value is None else table.quote(str(value))
        return f"{path}: edge {k + 1} ({a}, {b}), '{key}': {shown}"

    return rows_of_graph(graph, str(path), path.name.split(".")[0], use, wrong, weights, truth, graph.usual)


def _load(path: Path, suffix: str) -> Attributed:
    """Load a file with networkx."""
    import networkx

    # graph-tool writes types of its own, such as vector_float
    data = OTHER_TYPES.sub(b'attr.type="string"', content(path, GRAPH_TIMES))
    try:
        if suffix != ".gml":
            graph = (networkx.read_graphml if suffix == ".graphml" else networkx.read_gexf)(BytesIO(data))
        else:
            try:
                graph = networkx.read_gml(BytesIO(data))
            except networkx.NetworkXError as error:
                if "has no 'label'" not in str(error):
                    raise
                # nodes without labels are known by their ids
                graph = networkx.read_gml(BytesIO(data), label="id")
    except Exception as error:  # the readers raise all kinds on a damaged file
        reject_machine_error(error, path)
        raise DataError(f"{path}: not a readable {suffix} file: {error or type(error).__name__}") from error
    return of_networkx(graph)


def of_networkx(graph: Any) -> Attributed:
    """A graph of networkx."""
    number = {node: k for k, node in enumerate(graph)}
    edges = list(graph.edges(data=True))
    ends = as_pairs([(number[a], number[b]) for a, b, _ in edges])
    nodes = [attributes for _, attributes in graph.nodes(data=True)]
    return Attributed(list(map(str, graph)), nodes, ends, [attributes for *_, attributes in edges], graph.is_directed())
