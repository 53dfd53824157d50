"""Vectors of counts from a few clusters, which differ in the shares of the columns."""

import numpy as np

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.labels import equal_sizes
from splitmerge_cli.data.values import LARGEST, require_number, require_seed, require_size


def generate(
    N: int, clusters: int = 5, columns: int = 20, total: float = 50.0, concentration: float = 0.5, seed: int = 0
) -> Dataset:
    """Multinomial counts of a few clusters, in random order.

    Parameters
    ----------
    N : int
        Number of items.
    clusters : int
        Number of clusters, of N / clusters items each (the first N mod clusters one more).
    columns : int
        Number of columns.
    total : float
        Mean of an item's total, which is Poisson distributed; an item without counts gets one.
    concentration : float
        Concentration of the Dirichlet distribution from which the shares of a cluster's columns are drawn: the smaller,
        the farther apart the clusters.
    seed : int
        Seed of the data, independent of the seed of the chains.

    Returns
    -------
    Dataset
        Kind ``counts``, int32 ``[N, columns]``; the truth is the cluster.

    Raises
    ------
    DataError
        A parameter out of range, or more clusters than items.

    Examples
    --------
    >>> generate(100, clusters=3, columns=8).values.shape
    (100, 8)
    """
    require_size("N", N)
    require_seed(seed)
    require_size("data.clusters", clusters, N)
    require_size("data.columns", columns, LARGEST // N)
    require_number("data.total", total, 1e-3, 1e6)
    require_number("data.concentration", concentration, 1e-3, 1e6)
    rng = np.random.default_rng(seed)
    truth = equal_sizes(rng, N, clusters)
    shares = rng.dirichlet(np.full(columns, concentration), size=clusters)
    totals = np.maximum(1, rng.poisson(total, size=N))
    x = rng.multinomial(totals, shares[truth]).astype(np.int32)
    names = [f"column{j + 1}" for j in range(columns)]
    meta = {"clusters": clusters, "total": total, "concentration": concentration, "seed": seed}
    return Dataset("counts", "counts", x, truth=truth, columns=names, meta=meta)
