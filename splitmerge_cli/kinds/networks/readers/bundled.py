"""The small networks that come with networkx: known from textbooks, and here without a download."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.values import require
from splitmerge_cli.kinds.networks.readers.adjacency import check_kept, keep
from splitmerge_cli.kinds.networks.readers.attributed import rows_of_graph
from splitmerge_cli.kinds.networks.readers.graph_files import of_networkx
from splitmerge_cli.kinds.networks.readers.listed import Use, relational, simple
from splitmerge_cli.overrides import write

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

    Parameters
    ----------
    graph : {"karate", "davis", "florentine", "les_miserables"}
        ``karate``: 34 members of a karate club, 78 ties; the truth is the club that each joined when it broke apart
        (Zachary 1977). ``davis``: 18 women and 14 events, 89 attendances; the truth is women or events (Davis et al.
        1941). ``florentine``: 15 families, 20 marriages and 15 business ties (Padgett & Ansell 1993).
        ``les_miserables``: 77 characters of the novel, 254 pairs that appear together (Knuth 1993).
    scale : float
        Share of the nodes that are kept: the nodes of highest degree, as in Herlau et al. 2014.
    N : int, optional
        Number of nodes that are kept, in place of `scale`.
    values : {"binary", "count", "real", "levels"}, optional
        What weights are (``karate``: activities that two members share; ``les_miserables``: chapters).
    bipartite : bool
        ``davis``: whether women and events are two kinds of nodes.
    layer : {"relation"}, optional
        ``florentine``: marriages and business as two relations. None: marriages.

    Returns
    -------
    Dataset
        Kind ``graph``, with the names of the nodes.

    Raises
    ------
    DataError
        Another graph; `scale` or `N` out of range; what the network has not.
    """
    require(graph in GRAPHS, "data.graph", graph, f"one of {', '.join(GRAPHS)}")
    check_kept(scale, N)
    in_layers = graph == "florentine"
    require(
        layer is None or (in_layers and layer == RELATION), "data.layer", layer, f"null, or {RELATION} of florentine"
    )
    import networkx

    function, side = GRAPHS[graph]
    networkx_graph = getattr(networkx, function)()
    if layer is not None:
        networkx_graph = networkx.MultiGraph(networkx_graph)
        networkx.set_edge_attributes(networkx_graph, "marriage", RELATION)
        networkx_graph.add_edges_from((*ends.split(), {RELATION: "business"}) for ends in BUSINESS)
    use, name = Use(values=values, bipartite=bipartite, layer=layer), f"data.graph={graph}"
    listed = rows_of_graph(of_networkx(networkx_graph), name, graph, use, lambda k, key, value: name, truth=side)
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
