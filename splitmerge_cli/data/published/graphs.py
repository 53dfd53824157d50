"""The four networks of Herlau et al. 2014 (see `splitmerge_cli.data.published.sets` for their provenance).

Prepared as the paper has it (section 3.3): the transpose added, what is not above 0 and the diagonal dropped. A smaller
network keeps the nodes of highest degree, those of equal degree by descending number, in the order in which they were.
"""

from dataclasses import replace
from io import BytesIO

import pandas as pd

from splitmerge_cli.data.base import DataError, Dataset
from splitmerge_cli.data.graphs.adjacency import check_kept, keep
from splitmerge_cli.data.graphs.edges import edges
from splitmerge_cli.data.opening import content
from splitmerge_cli.data.published import sets

EDGES = "edges.csv.gz"
NODES = "nodes.csv.gz"


def usair97(scale: float = 1.0, N: int | None = None) -> Dataset:
    """332 airports of the United States; those are tied between which a company flew in 1997.

    Parameters
    ----------
    scale : float
        Share of the nodes that are kept: the round(scale n) of highest degree.
    N : int, optional
        Number of nodes that are kept, in place of `scale`.

    Returns
    -------
    Dataset
        Kind ``graph``, with the names of the airports.

    Raises
    ------
    DataError
        A parameter out of range; a file is absent or not the published one.
    """
    return _network("usair97", "name", scale, N)


def caltech36(scale: float = 1.0, N: int | None = None) -> Dataset:
    """769 people at Caltech and who of them were friends on Facebook in 2005.

    Parameters
    ----------
    scale : float
        Share of the nodes that are kept: the round(scale n) of highest degree.
    N : int, optional
        Number of nodes that are kept, in place of `scale`.

    Returns
    -------
    Dataset
        Kind ``graph``; the names are the numbers of the source, from 0.

    Raises
    ------
    DataError
        A parameter out of range; a file is absent or not the published one.
    """
    return _network("caltech36", None, scale, N)


def nips234(scale: float = 1.0, N: int | None = None) -> Dataset:
    """The 234 authors of NIPS 1 to 17 with most co-authors, and who of them wrote together.

    Parameters
    ----------
    scale : float
        Share of the nodes that are kept: the round(scale n) of highest degree.
    N : int, optional
        Number of nodes that are kept, in place of `scale`.

    Returns
    -------
    Dataset
        Kind ``graph``, with the names of the authors.

    Raises
    ------
    DataError
        A parameter out of range; a file is absent or not the published one.
    """
    return _network("nips234", "name", scale, N)


def hagmann998(scale: float = 1.0, N: int | None = None) -> Dataset:
    """998 places of the human cortex; those are tied between which fibres were traced (Hagmann et al. 2008).

    Parameters
    ----------
    scale : float
        Share of the nodes that are kept: the round(scale n) of highest degree.
    N : int, optional
        Number of nodes that are kept, in place of `scale`.

    Returns
    -------
    Dataset
        Kind ``graph``; the name of a node is that of its region, which others share.

    Raises
    ------
    DataError
        A parameter out of range; a file is absent or not the published one.
    """
    return _network("hagmann998", "region", scale, N)


def _network(name: str, label: str | None, scale: float, N: int | None) -> Dataset:
    """Read a network; column `label` of the file of nodes holds the names."""
    check_kept(scale, N)
    path = sets.locate(name, EDGES)
    nodes = None if label is None else sets.locate(name, NODES)
    graph = edges(path, header=True, nodes=None if nodes is None else str(nodes))
    names = graph.names
    if nodes is not None:
        table = pd.read_csv(BytesIO(content(nodes)), dtype=str, keep_default_na=False)
        if label not in table:
            raise DataError(f"{nodes}: columns {', '.join(table.columns)}; expected one named {label}")
        names = table[label].tolist()
    meta = {key: value for key, value in graph.meta.items() if key != "path"}
    return keep(replace(graph, name=name, names=names, meta=meta), scale, N)
