"""Whole numbers that can be read in several ways: ratings, and counts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.values import LARGEST

COUNTS, REALS = "as counts", "as real numbers"
ORDERED, CATEGORIES = "in their order", "as categories"
READINGS: Mapping[str, Mapping[str, str]] = {
    "ratings": {ORDERED: "ordinal", CATEGORIES: "categorical", REALS: "real"},
    "counts": {COUNTS: "count", REALS: "real"},
}
"""The readings of ratings and counts, the simplest first, and the type that stands for each in ``data.types``."""
AS_READ = {"ratings": CATEGORIES, "counts": COUNTS}
"""How a table is read by default."""
FEWEST_LEVELS = 4
"""Fewest levels of a rating. With three levels an ordinal column has as many parameters as a categorical one."""
LARGEST_RATING = 10


def columns_of(reading: str, dataset: Dataset) -> list[str | int]:
    """The columns of a mixed table that are ratings or counts: their names, else their numbers, which are no text,
    since a cell of the first row that is the same would make that a row of names.

    Ratings are categories that are whole numbers without a gap, up to `LARGEST_RATING`.
    """
    if dataset.reduction is not None:  # densities of scores do not compare
        return []
    named: Sequence[str | int] = dataset.columns or []
    if len(set(named)) < dataset.values.shape[1]:
        named = [j + 1 for j in dataset.positions or range(dataset.values.shape[1])]
    is_one = {"ratings": _is_rating, "counts": lambda column: column.type == "count"}[reading]
    return [key for key, column in zip(named, dataset.types or (), strict=True) if is_one(column)]


def _is_rating(column: ColumnType) -> bool:
    n = len(column.levels)
    if column.type != "categorical" or n < FEWEST_LEVELS or not column.levels[0].isdecimal():
        return False
    first = int(column.levels[0])
    return first + n - 1 <= LARGEST_RATING and column.levels == tuple(map(str, range(first, first + n)))


def add_types(typed: Mapping[Any, str], reading: str, dataset: Dataset) -> dict[str, dict[Any, str]]:
    """Types of the ratings or counts that have none yet, by the name of a reading; empty without any."""
    named = [key for key in columns_of(reading, dataset) if str(key) not in map(str, typed)]
    return {name: dict(typed) | dict.fromkeys(named, type) for name, type in READINGS[reading].items()} if named else {}


def log_totals(totals: ArrayLike) -> NDArray[np.float64]:
    """Leave-one-out log probability of totals under a negative binomial distribution with mean and variance of the
    others.

    Examples
    --------
    >>> log_totals([3, 5, 4, 9]).round(2).tolist()
    [-2.32, -2.11, -2.21, -3.98]
    """
    n = np.asarray(totals, dtype=np.float64)
    mean = np.maximum((n.sum() - n) / (len(n) - 1), 1e-9)
    variance = ((n**2).sum() - n**2) / (len(n) - 1) - mean**2
    size = mean**2 / np.maximum(variance - mean, 1e-6 * mean)
    from scipy.special import gammaln  # real columns do without

    log_ways = gammaln(n + size) - gammaln(size) - gammaln(n + 1)
    return np.asarray(log_ways - size * np.log1p(mean / size) - n * np.log1p(size / mean))


def as_vectors(table: Dataset) -> Dataset | None:
    """A mixed table, three columns at least, as vectors of counts; None if a cell is no whole number from 0."""
    x, are_numbers = table.values, all(not one.levels or one.levels == ("0", "1") for one in table.types or ())
    if table.N < 3 or x.shape[1] < 3 or not are_numbers or not ((x >= 0) & (x <= LARGEST) & (x == np.floor(x))).all():
        return None
    return Dataset(table.name, "counts", x.astype(np.int32), columns=table.columns)
