"""The small networks that come with networkx: known from textbooks, and here without a download."""

import numpy as np
import pandas as pd

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.graphs.adjacency import adjacency, check_kept, keep, sizes
from splitmerge_cli.data.values import require

GRAPHS = {
    "karate": ("karate_club_graph", "club"),
    "davis": ("davis_southern_women_graph", "bipartite"),
    "florentine": ("florentine_families_graph", None),
    "les_miserables": ("les_miserables_graph", None),
}
"""Functions of networkx that return them, and the attribute of their nodes that is taken for the truth."""


def network(graph: str = "karate", scale: float = 1.0, N: int | None = None) -> Dataset:
    """A network that networkx holds; weights are left out.

    Parameters
    ----------
    graph : {"karate", "davis", "florentine", "les_miserables"}
        ``karate``: 34 members of a karate club, 78 ties; the truth is the club that each joined when it broke apart
        (Zachary 1977). ``davis``: 18 women and 14 events, 89 attendances; the truth is women or events (Davis et al.
        1941). ``florentine``: 15 families, 20 marriages (Padgett & Ansell 1993). ``les_miserables``: 77 characters of
        the novel, 254 pairs that appear together (Knuth 1993).
    scale : float
        Share of the nodes that are kept: the nodes of highest degree, as in Herlau et al. 2014.
    N : int, optional
        Number of nodes that are kept, in place of `scale`.

    Returns
    -------
    Dataset
        Kind ``graph``, with the names of the nodes.

    Raises
    ------
    DataError
        Another graph; `scale` or `N` out of range.
    """
    require(graph in GRAPHS, "data.graph", graph, f"one of {', '.join(GRAPHS)}")
    check_kept(scale, N)
    import networkx

    function, side = GRAPHS[graph]
    networkx_graph = getattr(networkx, function)()
    number = {node: k for k, node in enumerate(networkx_graph)}
    ends = np.array([(number[a], number[b]) for a, b in networkx_graph.edges], dtype=np.int64)
    matrix = adjacency(len(number), ends[:, 0], ends[:, 1])
    truth = None
    if side is not None:
        truth = pd.factorize(
            np.array([str(attributes[side]) for _, attributes in networkx_graph.nodes(data=True)], dtype=object)
        )[0]
        truth = truth.astype(np.int32)
    names = [str(node) for node in networkx_graph]
    return keep(Dataset(graph, "graph", matrix, truth, names=names, meta={"graph": graph} | sizes(matrix)), scale, N)
