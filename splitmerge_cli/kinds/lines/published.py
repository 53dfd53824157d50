"""The sets that van Rossum et al. published (see `splitmerge_cli.data.published.sets` for their provenance)."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.published import sets
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.data.values import require

SETS = 100
FILE = "points.csv.gz"


def lines(dataset: int = 0, N: int | None = None) -> Dataset:
    """One of the 100 published sets of 200 points on lines.

    Parameters
    ----------
    dataset : int
        Which one, 0 to 99.
    N : int, optional
        Take the first N points; all by default.

    Returns
    -------
    Dataset
        Kind ``points``, columns x and y; the truth is the line, numbered by first appearance.

    Raises
    ------
    DataError
        A parameter out of range; the file is absent or not the published one.
    """
    known = isinstance(dataset, int) and 0 <= dataset < SETS
    require(known, "data.dataset", dataset, f"a whole number from 0 to {SETS - 1}")
    table = csv(sets.locate("noparama_lines", FILE), "points", truth="cluster", columns=["x", "y", "dataset"])
    rows = table.values[:, 2] == dataset
    assert table.truth is not None
    return _dataset("noparama_lines", table.values[rows, :2], table.truth[rows], N, {"dataset": dataset})


def two_gaussians(N: int | None = None) -> Dataset:
    """The published set of 100 points from N((0,0), I), then 100 from N((5,5), I).

    Parameters
    ----------
    N : int, optional
        Take the first N points; all by default.

    Returns
    -------
    Dataset
        Kind ``points``, columns x and y; the truth is the distribution.

    Raises
    ------
    DataError
        N out of range; the file is absent or not the published one.
    """
    table = csv(sets.locate("noparama_twogaussians", FILE), "points", truth="cluster", columns=["x", "y"])
    assert table.truth is not None
    return _dataset("noparama_twogaussians", table.values, table.truth, N, {})


def _dataset(
    name: str, x: NDArray[np.float64], truth: NDArray[np.int32], N: int | None, meta: dict[str, Any]
) -> Dataset:
    require(N is None or 1 <= N <= len(x), "N", N, f"a whole number from 1 to {len(x)}, the number of points, or null")
    codes = pd.factorize(truth[:N])[0].astype(np.int32)
    return Dataset(name, "points", x[:N], codes, columns=["x", "y"], meta=meta)
