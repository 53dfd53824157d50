"""Files of graphs: GraphML, GML, GEXF, Pajek and Graphviz, by their endings."""

import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from splitmerge_cli.data.opening import content
from splitmerge_cli.data.tables.encoded import read_text
from splitmerge_cli.data.tables.table import quote
from splitmerge_cli.kinds.networks.readers.attributed import Attributed, rows_of_graph
from splitmerge_cli.kinds.networks.readers.dot import parse_dot
from splitmerge_cli.kinds.networks.readers.listed import Listed, Use
from splitmerge_cli.kinds.networks.readers.pajek import parse_pajek
from splitmerge_cli.received import DataError, reject_machine_error

WRITTEN = {".net": parse_pajek, ".dot": parse_dot, ".gv": parse_dot}
"""Readers of texts."""
GRAPHS = (".graphml", ".gml", ".gexf", *WRITTEN)
MATRICES = (".npy", ".npz", ".mtx")
FORMATS = f"text (.csv, .tsv, .txt and others, also .gz), .xlsx, .parquet, {', '.join((*GRAPHS, *MATRICES))}"
FOREIGN = (".mat", ".xls", ".json", ".pkl", ".tar")
"""Other formats of networks and tables, by the endings of their names."""
OTHER_TYPES = re.compile(rb'attr\.type="(?!(?:boolean|int|long|float|double|string)")\w+"')
"""Types of attributes that GraphML does not have."""
GRAPH_TIMES = 16
"""How many times its size a graph takes: every node and edge is an object of its own."""


def read_graph(path: Path, suffix: str, use: Use, weights: str | int | None, truth: str | int | None) -> Listed:
    """The edges in a file, a row each."""
    if suffix in WRITTEN:
        content(path, GRAPH_TIMES)  # the limit of memory
        graph = WRITTEN[suffix](path, read_text(path).decode())
    else:
        graph = _load(path, suffix)
    names = graph.names or []
    if not names:
        raise DataError(f"{path}: no node; expected at least one")
    if len(set(names)) < len(names) and graph.sides is None:
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise DataError(f"{path}: two nodes are called {quote(twice)}; expected another name for each")

    def wrong(k: int, key: str, value: Any) -> str:
        a, b = (quote(names[node]) for node in graph.ends[k])
        shown = "no such attribute" if value is None else quote(str(value))
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
    ends = np.array([(number[a], number[b]) for a, b, _ in edges], dtype=np.int64).reshape(-1, 2)
    nodes = [attributes for _, attributes in graph.nodes(data=True)]
    return Attributed(list(map(str, graph)), nodes, ends, [attributes for *_, attributes in edges], graph.is_directed())
