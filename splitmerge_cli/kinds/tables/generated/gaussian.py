"""Round clouds of points: a mixture of normal distributions that differ in their means, and in their spreads if asked.

Source: Luo & Shrivastava 2018, section 4.2.1 (S1 to S3: 10 components that differ in mean and variance, D = 25, 100 to
10,000 points); it gives neither the distances nor the spreads.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.labels import crp, equal_sizes
from splitmerge_cli.data.values import LARGEST, require, require_number, require_range, require_seed, require_size

SIZES = ("equal", "crp")
DTYPES = ("float64", "float32")
LARGEST_SPREAD = 1e15
BLOCK = 1 << 16
"""Rows that are drawn, or moved to their means, at the same time: what is taken besides the data."""


def generate(
    N: int,
    components: int = 5,
    D: int = 2,
    separation: float = 5.0,
    spread: float = 1.0,
    spreads: Sequence[float] | None = None,
    sizes: str = "equal",
    concentration: float = 1.0,
    dtype: str = "float64",
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
    spreads : sequence of two floats, optional
        Range from which the standard deviation of each component is drawn uniformly; by default all have `spread`,
        which also remains the unit of `separation`.
    sizes : {"equal", "crp"}
        ``equal``: N / components points each (the first N mod components one more). ``crp``: components and their
        sizes from a Chinese restaurant process.
    concentration : float
        Concentration of that process.
    dtype : {"float64", "float32"}
        Type of the numbers; with float32 they are the same, rounded.
    seed : int
        Seed of the data, independent of the seed of the chains.

    Returns
    -------
    Dataset
        Kind ``points``, ``[N, D]`` of `dtype`; the truth is the component. ``meta["means"]``: float64
        ``[components, D]``; ``meta["deviations"]``: float64 ``[components]``, the standard deviations.

    Raises
    ------
    DataError
        A parameter out of range, or more components than points.
    """
    require_size("N", N)
    require_size("data.D", D, LARGEST // N)
    require_seed(seed)
    require_number("data.separation", separation, 0, 1e12)
    require_number("data.spread", spread, 0, LARGEST_SPREAD)
    if spreads is not None:
        require_range("data.spreads", spreads, 0, LARGEST_SPREAD)
    require(sizes in SIZES, "data.sizes", sizes, f"one of {', '.join(SIZES)}")
    require_dtype(dtype)
    rng = np.random.default_rng(seed)
    if sizes == "equal":
        require_size("data.components", components, N)
        truth = equal_sizes(rng, N, components)
    else:
        require_number("data.concentration", concentration, 1e-100, 1e100)
        truth = crp(rng, N, concentration)
    means = separation * spread * rng.standard_normal((int(truth.max()) + 1, D))
    x = standard_normal(rng, N, D, dtype)
    least, largest = (spread, spread) if spreads is None else spreads
    deviations = rng.uniform(least, largest, size=len(means))
    move(x, truth, means, deviations)
    meta = {"means": means, "deviations": deviations, "components": len(means), "D": D, "separation": separation}
    meta |= {"spread": spread, "spreads": spreads, "sizes": sizes, "concentration": concentration}
    meta |= {"dtype": dtype, "seed": seed}
    return Dataset("gaussian", "points", x, truth, meta=meta)


def require_dtype(dtype: str) -> None:
    """Raise a `DataError` unless points can have the type."""
    require(dtype in DTYPES, "data.dtype", dtype, f"one of {', '.join(DTYPES)}")


def standard_normal(rng: np.random.Generator, N: int, D: int, dtype: str) -> NDArray[np.floating]:
    """``[N, D]`` of `dtype`: standard normal numbers, the same but for their rounding whatever the type."""
    x = np.empty((N, D), dtype=dtype)
    for start in range(0, N, BLOCK):
        block = x[start : start + BLOCK]
        block[:] = rng.standard_normal(block.shape)
    return x


def move(
    x: NDArray[np.floating], truth: NDArray[np.int32], means: NDArray[np.float64], deviations: NDArray[np.float64]
) -> None:
    """Turn standard normal points `x` into points of their components, in place: x deviations + means of each
    component.
    """
    for start in range(0, len(x), BLOCK):
        block, component = x[start : start + BLOCK], truth[start : start + BLOCK]
        block *= deviations[component, None]
        block += means[component]
