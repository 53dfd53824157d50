"""Round clouds of points: a mixture of normal distributions that differ in their means alone."""

import numpy as np

from splitmerge_cli.data.base import (
    LARGEST,
    Dataset,
    crp,
    equal_sizes,
    require,
    require_number,
    require_seed,
    require_size,
)

SIZES = ("equal", "crp")
BLOCK = 1 << 16
"""Rows that are moved to their means at the same time: what the sum takes besides the data."""


def generate(
    N: int,
    components: int = 5,
    D: int = 2,
    separation: float = 5.0,
    spread: float = 1.0,
    sizes: str = "equal",
    concentration: float = 1.0,
    seed: int = 0,
) -> Dataset:
    """Points of a few normal distributions, in random order.

    Parameters
    ----------
    N : int
        Number of points.
    components : int
        Number of components; not looked at with ``sizes=crp``.
    D : int
        Number of dimensions.
    separation : float
        Standard deviation of the means in each dimension, in units of `spread`: means of two components lie about
        separation sqrt(2 D) spreads apart.
    spread : float
        Standard deviation of the points about their mean, in each dimension.
    sizes : {"equal", "crp"}
        ``equal``: N / components points each (the first N mod components one more). ``crp``: components and their
        sizes from a Chinese restaurant process.
    concentration : float
        Concentration of that process.
    seed : int
        Seed of the data, apart from that of the chains.

    Returns
    -------
    Dataset
        Kind ``points``, float64 ``[N, D]``; the truth is the component. ``meta["means"]``: float64 ``[components, D]``.

    Raises
    ------
    DataError
        A parameter out of range, or more components than points.
    """
    require_size("N", N)
    require_size("data.D", D, LARGEST // N)
    require_seed(seed)
    require_number("data.separation", separation, 0, 1e12)
    require_number("data.spread", spread, 0, 1e15)
    require(sizes in SIZES, "data.sizes", sizes, f"one of {', '.join(SIZES)}")
    rng = np.random.default_rng(seed)
    if sizes == "equal":
        require_size("data.components", components, N)
        truth = equal_sizes(rng, N, components)
    else:
        require_number("data.concentration", concentration, 1e-100, 1e100)
        truth = crp(rng, N, concentration)
    means = separation * spread * rng.standard_normal((int(truth.max()) + 1, D))
    x = rng.standard_normal((N, D))
    x *= spread
    for start in range(0, N, BLOCK):
        x[start : start + BLOCK] += means[truth[start : start + BLOCK]]
    meta = {
        "means": means,
        "components": len(means),
        "D": D,
        "separation": separation,
        "spread": spread,
        "sizes": sizes,
        "concentration": concentration,
        "seed": seed,
    }
    return Dataset("gaussian", "points", x, truth, meta=meta)
