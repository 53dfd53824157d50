"""Points like the protein data of KDD Cup 2004, with the truth that these lack.

Luo & Shrivastava 2018 use the published set (section 4.2.2, see `splitmerge_cli.kinds.tables.kdd`), which has as many
rows and columns.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.values import LARGEST, require_number, require_range, require_seed, require_size
from splitmerge_cli.kinds.tables.generated.gaussian import move, require_dtype, standard_normal

ROWS = 145_751
FEATURES = 74


def kdd_like(
    N: int = ROWS,
    components: int = 2000,
    D: int = FEATURES,
    separation: float = 1.0,
    spreads: Sequence[float] = (0.5, 1.5),
    exponent: float = 1.0,
    scales: Sequence[float] = (1.0, 1000.0),
    dtype: str = "float64",
    seed: int = 0,
) -> Dataset:
    """Points of many normal distributions of very uneven size, a scale of its own for each column.

    The set has max(N, 145,751) points in random order, of which the first N are made: a smaller N gives the first rows
    of the same data, with fewer of the components.

    Parameters
    ----------
    N : int
        Number of points.
    components : int
        Number of components of the whole set.
    D : int
        Number of columns.
    separation : float
        Standard deviation of the means in each dimension, in units of the columns' scales.
    spreads : sequence of two floats
        Range from which the standard deviation of each component is drawn uniformly, in the same units.
    exponent : float
        The k-th largest component has a share proportional to k^-exponent, and one point at least: with 1 from some
        17,600 points down to 9, with 0 all have the same size.
    scales : sequence of two floats
        Range from which the logarithm of each column's scale is drawn uniformly.
    dtype : {"float64", "float32"}
        Type of the numbers; with float32 they are the same, rounded.
    seed : int
        Seed of the data, independent of the seed of the chains.

    Returns
    -------
    Dataset
        Kind ``points``, ``[N, D]`` of `dtype`; the truth is the component, numbered by first appearance.
        ``meta["means"]``: float64 ``[K, D]``, ``meta["deviations"]``: float64 ``[K]``, of the components that appear;
        ``meta["column_scales"]``: float64 ``[D]``. A point is column_scales (mean + deviation standard normal).

    Raises
    ------
    DataError
        A parameter out of range.
    """
    require_size("N", N)
    whole = max(N, ROWS)
    require_size("data.components", components, whole)
    require_size("data.D", D, LARGEST // max(N, components))
    require_number("data.separation", separation, 0, 1e12)
    require_range("data.spreads", spreads, 0, 1e12)
    require_number("data.exponent", exponent, 0, 10)
    require_range("data.scales", scales, 1e-12, 1e12)
    require_dtype(dtype)
    require_seed(seed)
    rng = np.random.default_rng(seed)
    column_scales = np.exp(rng.uniform(np.log(scales[0]), np.log(scales[1]), size=D))
    means = separation * rng.standard_normal((components, D))
    deviations = rng.uniform(spreads[0], spreads[1], size=components)
    sizes = uneven_sizes(whole, components, exponent)
    order = rng.permutation(np.repeat(np.arange(components, dtype=np.int32), sizes))
    codes, appear = pd.factorize(order[:N])
    truth, means, deviations = codes.astype(np.int32), means[appear], deviations[appear]
    x = standard_normal(rng, N, D, dtype)
    move(x, truth, means, deviations)
    x *= column_scales
    meta = {"means": means, "deviations": deviations, "column_scales": column_scales, "components": components, "D": D}
    meta |= {"separation": separation, "spreads": spreads, "exponent": exponent, "scales": scales}
    meta |= {"dtype": dtype, "seed": seed}
    return Dataset("kdd_like", "points", x, truth, meta=meta)


def uneven_sizes(N: int, K: int, exponent: float) -> NDArray[np.int64]:
    """int64 ``[K]``: sizes that add up to N, one each and the rest in proportion to k^-exponent, k = 1 .. K."""
    share = np.arange(1, K + 1, dtype=np.float64) ** -exponent
    upto = np.round((N - K) * np.cumsum(share) / share.sum()).astype(np.int64)
    upto[-1] = N - K
    return 1 + np.diff(upto, prepend=0)
