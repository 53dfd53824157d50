"""Tables with binary, categorical, count and real columns, and missing cells: a mixture whose components differ in all
columns, which are independent within a component.
"""

from typing import Any

import numpy as np

from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.labels import equal_sizes
from splitmerge_cli.data.values import LARGEST, require, require_number, require_seed, require_size

MOST_LEVELS = 1000
MEAN_COUNT = 5.0
LARGEST_RATE = 1e6


def generate(
    N: int,
    components: int = 5,
    binary: int = 3,
    categorical: int = 3,
    count: int = 3,
    real: int = 3,
    levels: int = 4,
    separation: float = 2.0,
    missing: float = 0.05,
    seed: int = 0,
) -> Dataset:
    """Rows of a few components, in random order.

    Parameters
    ----------
    N : int
        Number of rows.
    components : int
        Number of components, of N / components rows each (the first N mod components one more).
    binary, categorical, count, real : int
        Number of columns of each type; in this order, one at least.
    levels : int
        Number of levels of a categorical column.
    separation : float
        Standard deviation, over the components, of what tells them apart: the mean of a real column, whose cells have
        standard deviation 1; the logit of a binary one; the unnormalised log probability of each level; four times the
        log rate of a count column, whose median over the components is 5 (rates are 10^6 at most).
    missing : float
        Probability that a cell is missing, independently of the others.
    seed : int
        Seed of the data, independent of the seed of the chains.

    Returns
    -------
    Dataset
        Kind ``mixed``, float64 ``[N, D]``, NaN where a cell is missing; the truth is the component. Names of columns:
        the type and a number from 1.

    Raises
    ------
    DataError
        A parameter out of range, no columns, or more components than rows.
    """
    require_size("N", N)
    require_seed(seed)
    require_size("data.components", components, N)
    numbers = {"binary": binary, "categorical": categorical, "count": count, "real": real}
    for key, value in numbers.items():
        good = isinstance(value, int) and 0 <= value <= LARGEST // N
        require(good, f"data.{key}", value, f"a whole number from 0 to {LARGEST // N}")
    D = sum(numbers.values())
    require(1 <= D <= LARGEST // N, "data.real", real, f"1 to {LARGEST // N} columns in all")
    good = isinstance(levels, int) and 2 <= levels <= MOST_LEVELS
    require(good, "data.levels", levels, f"a whole number from 2 to {MOST_LEVELS}")
    require_number("data.separation", separation, 0, 100)
    require_number("data.missing", missing, 0, 1)
    rng = np.random.default_rng(seed)
    truth = equal_sizes(rng, N, components)
    x = np.empty((N, D))
    types: list[ColumnType] = []
    columns: list[str] = []
    for type, number in numbers.items():
        names = {"binary": ("no", "yes"), "categorical": tuple(f"level{v + 1}" for v in range(levels))}
        for j in range(number):
            x[:, len(types)] = _column(rng, type, truth, components, levels, separation)
            types.append(ColumnType(type, names.get(type, ())))
            columns.append(f"{type}{j + 1}")
    for j in range(D):
        x[rng.random(N) < missing, j] = np.nan
    meta: dict[str, Any] = {"components": components, **numbers, "levels": levels, "separation": separation}
    meta |= {"missing": missing, "seed": seed}
    return Dataset("mixed", "mixed", x, truth, columns=columns, types=tuple(types), meta=meta)


def _column(rng: np.random.Generator, type: str, truth: Any, components: int, levels: int, separation: float) -> Any:
    """Cells of one column: ndarray of shape (N,)."""
    if type == "categorical":
        logits = separation * rng.standard_normal((components, levels))
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        bounds = np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)[:, :-1]
        return (rng.random(len(truth))[:, None] >= bounds[truth]).sum(axis=1)
    centres = separation * rng.standard_normal(components)
    if type == "binary":
        return rng.random(len(truth)) < (1 / (1 + np.exp(-centres)))[truth]
    if type == "count":
        return rng.poisson(np.minimum(MEAN_COUNT * np.exp(centres / 4), LARGEST_RATE)[truth])
    return centres[truth] + rng.standard_normal(len(truth))
