"""Networks of objects: graphs of networkx and igraph, data frames of edges, matrices of ties; and the small networks
that come with networkx, known from textbooks, and here without a download.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.sparse import block_array, csr_array, issparse

from splitmerge_cli.data.dataset import Dataset, Labels, get_kind
from splitmerge_cli.data.objects import as_pandas, table_of
from splitmerge_cli.data.reading import KindReading
from splitmerge_cli.data.tables.formats import from_arrow
from splitmerge_cli.data.values import place_of, require
from splitmerge_cli.kinds.networks.data import check_kept, keep
from splitmerge_cli.kinds.networks.readers import conversions, edge_rows, edges, graph_files
from splitmerge_cli.kinds.networks.readers.listed import Listed, UnknownPairs, Use, relational, simple
from splitmerge_cli.overrides import write
from splitmerge_cli.received import DataError

GRAPHS = {
    "karate": ("karate_club_graph", "club"),
    "davis": ("davis_southern_women_graph", "bipartite"),
    "florentine": ("florentine_families_graph", None),
    "les_miserables": ("les_miserables_graph", None),
}
"""Functions of networkx that return them, and the attribute of their nodes that is taken for the truth."""
RELATION = "relation"
BUSINESS = (
    *("Barbadori Castellani", "Barbadori Ginori", "Barbadori Medici", "Barbadori Peruzzi", "Bischeri Guadagni"),
    *("Bischeri Lamberteschi", "Bischeri Peruzzi", "Castellani Lamberteschi", "Castellani Peruzzi", "Ginori Medici"),
    *("Guadagni Lamberteschi", "Lamberteschi Peruzzi", "Medici Pazzi", "Medici Salviati", "Medici Tornabuoni"),
)
"""Business ties of the families of Florence, which networkx does not hold (Padgett & Ansell 1993)."""


def network(
    graph: str = "karate",
    scale: float = 1.0,
    N: int | None = None,
    values: str | None = None,
    bipartite: bool = False,
    layer: str | None = None,
) -> Dataset:
    """A network that networkx holds, simple and undirected unless an option asks for more.

    Options: ``conf/data/networkx.yaml``. ``karate``: 34 members of a karate club, 78 ties; the truth is the club that
    each joined when it broke apart (Zachary 1977); weights are activities that two share. ``davis``: 18 women and 14
    events, 89 attendances; the truth is women or events (Davis et al. 1941). ``florentine``: 15 families, 20 marriages
    and 15 business ties (Padgett & Ansell 1993). ``les_miserables``: 77 characters of the novel, 254 pairs that appear
    together, weights are chapters (Knuth 1993). A `DataError`: another graph; an option out of range; what the network
    has not.
    """
    require(graph in GRAPHS, "data.graph", graph, f"one of {', '.join(GRAPHS)}")
    check_kept(scale, N)
    in_layers = graph == "florentine"
    known = layer is None or (in_layers and layer == RELATION)
    require(known, "data.layer", layer, f"null, or {RELATION} of florentine")
    import networkx

    function, side = GRAPHS[graph]
    networkx_graph = getattr(networkx, function)()
    if layer is not None:
        networkx_graph = networkx.MultiGraph(networkx_graph)
        networkx.set_edge_attributes(networkx_graph, "marriage", RELATION)
        networkx_graph.add_edges_from((*ends.split(), {RELATION: "business"}) for ends in BUSINESS)
    use, name = Use(values=values, bipartite=bipartite, layer=layer), f"data.graph={graph}"
    listed = conversions.rows_of_graph(
        graph_files.of_networkx(networkx_graph), name, graph, use, lambda k, key, value: name, truth=side
    )
    if graph == "davis":
        # two kinds share no cluster: they are no truth
        listed = replace(listed, side_names=("woman", "event"), truth=None if bipartite else listed.truth)

    def command(further: Mapping[str, Any]) -> str:
        """The command that reads the network with these options, too."""
        options = {"graph": graph, "values": values, "bipartite": bipartite or None, "layer": layer} | dict(further)
        words = [f"data.{key}={write(value)}" for key, value in options.items() if value is not None]
        return " ".join(["smcmc run", "data=networkx", *words])

    if use.is_simple:
        dataset = simple(replace(listed, other_layers=RELATION * in_layers), 0.0, command)[0]
    else:
        dataset = relational(listed, use, command)
    return keep(replace(dataset, meta={"graph": graph} | dataset.meta), scale, N)


PLACE = "data"
"""Name of an object in messages."""
OF_COLUMNS = ("columns", "types")
"""Options of the columns of nodes, which a call has among its ``options``."""


class GraphReading(KindReading):
    """Reads networks, and new nodes that are tied to their nodes."""

    def from_object(self, data: Any, truth: Labels, name: str, nodes: Any = None, **options: Any) -> Dataset:
        """Convert a network, a data frame of edges, or a matrix of ties; `options` as of `Use`, `nodes`: a data frame
        of columns of the nodes."""
        if nodes is not None and options.get("columns") is None:
            options["columns"] = list(as_pandas(nodes).columns)
        use = Use(**options)
        listed = self._rows(data, name, use if nodes is None else replace(use, columns=None, types=None))
        listed = replace(listed, truth=truth)
        if nodes is not None:
            listed = replace(listed, columns=_columns_of(nodes, listed, use))

        def call(further: Mapping[str, Any]) -> str:
            """The call that reads the object with these options, too."""
            given = {key: repr(value) for key, value in (options | dict(further)).items() if key not in OF_COLUMNS}
            keys = OF_COLUMNS if nodes is None else OF_COLUMNS[1:]
            if of_columns := {f"data.{key}": options[key] for key in keys if options.get(key) is not None}:
                given["options"] = repr(of_columns)
            if nodes is not None:
                given["nodes"] = "nodes"
            return f"smcmc.sample(data, {', '.join(f'{key}={value}' for key, value in given.items())})"

        if use.is_simple:
            return simple(listed, 0.0, call)[0]
        unknown = use.unknown
        if unknown is not None:
            unknown = (edges.unknown_pairs if isinstance(unknown, str | Path) else _pairs)(unknown, listed)
        return relational(listed, use, call, 0.0, unknown)

    def _rows(self, data: Any, name: str, use: Use) -> Listed:
        if self.kind.recognises(data):
            graph = _of_igraph(data) if hasattr(data, "vcount") else graph_files.of_networkx(data)
            nodes = range(len(graph.nodes)) if hasattr(data, "vcount") else list(data)

            def wrong(k: int, key: str, value: Any) -> str:
                a, b = (nodes[node] for node in graph.ends[k])
                return f"{PLACE}: edge ({a!r}, {b!r}), '{key}': {value!r}"

            return conversions.rows_of_graph(graph, PLACE, name, use, wrong, default=1)
        data = as_pandas(data)
        if isinstance(data, pd.DataFrame) and edge_rows.names_ends(list(map(str, data.columns))):
            return _of_frame(data, name, use)
        values, names, row_names = table_of(data, "an adjacency matrix")
        for key, value in (("layer", use.layer), ("columns", use.columns)):
            require(value is None, f"data.{key}", value, "null: a matrix of ties has no such column")
        return conversions.listed_matrix(values, PLACE, name, use, row_names if use.two_kinds else None, names)

    def new_items(self, dataset: Dataset, new: Any) -> Dataset:
        """New nodes: an array or sparse matrix ``[n, N]``, not 0 where one is tied to a node of the data."""
        if dataset.relations is not None:
            raise DataError(
                "new nodes: expected data that are a simple undirected network; of others only pairs of nodes that are "
                "there are predicted (predict_links)"
            )
        values = np.atleast_2d(new.toarray() if issparse(new) else np.asarray(new))
        if values.ndim != 2 or values.shape[1] != dataset.N:
            raise DataError(
                f"new nodes: shape {values.shape}; expected [n, {dataset.N}], their ties to the nodes of the data"
            )
        # held in a data set of another kind: it is no graph
        ends, *_ = conversions.read_entries(values, None, lambda i, j: f"{PLACE}: {place_of(i, j, None)}")
        ties_found = np.zeros(values.shape, dtype=np.uint8)
        ties_found[ends[:, 0], ends[:, 1]] = 1
        return Dataset("new nodes", "binary", ties_found)

    def stack(self, dataset: Dataset, new: Dataset) -> Dataset:
        """The graph with new nodes behind the old ones, to which alone they are tied."""
        ties = csr_array(new.values)
        matrix = csr_array(block_array([[dataset.values, ties.T], [ties, None]]), dtype=np.uint8)
        matrix.sort_indices()
        return replace(dataset, values=matrix, truth=None, names=None)


def _of_igraph(graph: Any) -> conversions.Attributed:
    """A graph of igraph."""
    nodes = [vertex.attributes() for vertex in graph.vs]
    named = all(node.get("name") is not None for node in nodes)
    names = [str(node["name"]) if named else str(k) for k, node in enumerate(nodes)]
    return conversions.Attributed(
        names,
        nodes,
        conversions.as_pairs(graph.get_edgelist()),
        [edge.attributes() for edge in graph.es],
        graph.is_directed(),
    )


def _of_frame(data: pd.DataFrame, name: str, use: Use) -> Listed:
    """The rows of a data frame of edges."""
    require(use.bipartite in (True, False), "data.bipartite", use.bipartite, "true or false for a data frame of edges")
    table = from_arrow(PLACE, pa.Table.from_pandas(data.rename(columns=str), preserve_index=False))
    rows = edge_rows.Rows.from_table(
        table, edge_rows.Columns(None, None, "auto", use.layer), "auto", use, use.two_kinds
    )
    return edges.list_edges(rows, PLACE, name, use=use)


def _columns_of(nodes: Any, listed: Listed, use: Use) -> Dataset:
    """Columns of nodes, in a data frame, as a mixed table: by the names in its index, or in the order of the nodes."""
    frame = as_pandas(nodes)
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"nodes: {type(nodes).__name__}; expected a data frame with a row for each node")
    if not isinstance(frame.index, pd.RangeIndex) and listed.names is not None:
        frame = frame.set_axis(frame.index.map(str))
        if missing := [node for node in listed.names if node not in frame.index]:
            raise DataError(f"nodes: no row called {missing[0]!r}; expected a row for each node")
        if not frame.index.is_unique:
            raise DataError("nodes: two rows of one name; expected a row for each node")
        frame = frame.loc[listed.names]
    if len(frame) != listed.N:
        raise DataError(f"nodes: {len(frame)} rows; expected {listed.N}, one for each node")
    for column in use.columns or ():
        if column not in frame:
            raise DataError(f"data.columns={column}: nodes have no such column; expected one of {list(frame.columns)}")
    frame = frame[list(use.columns or ())].reset_index(drop=True)
    return get_kind("mixed").from_object(frame, None, PLACE, whole=True, types=use.types)


def _pairs(unknown: Iterable[Any], listed: Listed) -> UnknownPairs:
    """Unknown pairs of an object: pairs of names of nodes, or of their numbers from 0 where they have none."""
    names = listed.names or [str(k) for k in range(listed.N)]
    number = {name: k for k, name in enumerate(names)}
    ends = []
    for k, pair in enumerate(unknown):
        if len(pair) != 2 or any(str(node) not in number for node in pair):
            raise DataError(f"data.unknown: pair {k + 1}: {pair!r}; expected two nodes of the network")
        ends.append([number[str(node)] for node in pair])
    return UnknownPairs(conversions.as_pairs(ends), np.full(len(ends), -1))
