"""The four networks of Herlau et al. 2014 (see `splitmerge_cli.data.published.sets` for their provenance).

Prepared as the paper has it (section 3.3): the transpose added, what is not above 0 and the diagonal dropped. A smaller
network keeps the nodes of highest degree, equal degrees by descending number, in their original order.
"""

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO

import pandas as pd

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import content
from splitmerge_cli.data.published import sets
from splitmerge_cli.kinds.networks.readers.adjacency import check_kept, keep
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.received import DataError

EDGES = "edges.csv.gz"
NODES = "nodes.csv.gz"


DOCSTRING = """{what}

Parameters
----------
scale : float
    Share of the nodes that are kept: the round(scale n) of highest degree.
N : int, optional
    Number of nodes that are kept, in place of `scale`.

Returns
-------
Dataset
    Kind ``graph``{names}.

Raises
------
DataError
    A parameter out of range; a file is absent or not the published one.
"""


def _reader(name: str, label: str | None, description: str, names: str) -> Callable[..., Dataset]:
    """Build the function that reads a network; column `label` of the file of nodes holds the names."""

    def read(scale: float = 1.0, N: int | None = None) -> Dataset:
        check_kept(scale, N)
        path = sets.locate(name, EDGES)
        nodes = None if label is None else sets.locate(name, NODES)
        graph = edges(path, header=True, nodes=None if nodes is None else str(nodes))
        names_read = graph.names
        if nodes is not None:
            table = pd.read_csv(BytesIO(content(nodes)), dtype=str, keep_default_na=False)
            if label not in table:
                raise DataError(f"{nodes}: columns {', '.join(table.columns)}; expected one named {label}")
            names_read = table[label].tolist()
        meta = {key: value for key, value in graph.meta.items() if key != "path"}
        return keep(replace(graph, name=name, names=names_read, meta=meta), scale, N)

    read.__doc__ = DOCSTRING.format(what=description, names=names)
    return read


usair97 = _reader(
    "usair97",
    "name",
    "332 airports of the United States; two are tied if a company flew between them in 1997.",
    ", with the names of the airports",
)
caltech36 = _reader(
    "caltech36",
    None,
    "769 people at Caltech, tied if they were friends on Facebook in 2005.",
    "; the names are the numbers of the source, from 0",
)
nips234 = _reader(
    "nips234",
    "name",
    "The 234 authors of NIPS 1 to 17 with most co-authors, tied if they wrote a paper together.",
    ", with the names of the authors",
)
hagmann998 = _reader(
    "hagmann998",
    "region",
    "998 places of the human cortex; two are tied if fibres were traced between them (Hagmann et al. 2008).",
    "; the name of a node is its region, which others share",
)
