"""Checks of numbers that come from outside, each with a message that names its key; the resolution at which data become
whole numbers, so that sums of them are exact in any order; rows of a table of which others are elsewhere, in other
shards, and what is known of all."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_positive(key, value):
    """Reject what is no number from 1e-100 to 1e100, beyond which products of probabilities leave a double."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1e-100 <= value <= 1e100:
        raise ValueError(f"{key}: expected a positive number from 1e-100 to 1e100, got {value}")


def check_range(key, value, least, largest):
    """Reject what is no number from `least` to `largest`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= largest:
        raise ValueError(f"{key}: expected a number from {least:g} to {largest:g}, got {value}")


def as_numbers(key, values, n=None):
    """These values as a contiguous array of float64; if there have to be `n`, of shape (n,). A ValueError, which names
    `key`: they are no real numbers, or not `n`."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iuf":
        raise ValueError(f"{key}: expected numbers, got {numbers.dtype}")
    if n is not None and numbers.size != n:
        raise ValueError(f"{key}: expected {n} numbers, got {numbers.size}")
    return np.ascontiguousarray(numbers if n is None else numbers.reshape(-1), dtype=np.float64)


def check_count(key, value, least, largest):
    """Reject what is no whole number from `least` to `largest`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= largest:
        raise ValueError(f"{key}: expected a whole number from {least} to {largest}, got {value}")


# of what a stored state may hold
MOST_COUNT = 1 << 62
MOST_SECONDS = 1e100


def resolution(widest, N, terms=1):
    """The least power of two of which `widest`, the largest magnitude of N values (or such magnitudes of columns), is
    at most 2^48 multiples, and few enough that n times a sum of n terms stays below 2^126 (``fixed_point.h``); 1 for
    values that are all 0. A ValueError for more than 2^30 values."""
    if N > 1 << 30:
        raise ValueError(f"{N} items; expected at most 2^30")
    digits = min(48, 62 - math.ceil(math.log2(N) + 0.5 * math.log2(terms)))
    # squares of the resolution stay numbers, too
    power = np.maximum(np.frexp(widest)[1] - digits, -250)
    return np.where(np.asarray(widest) > 0.0, np.ldexp(1.0, power), 1.0)[()]


@dataclass(frozen=True)
class Rows:
    """Rows of a table that stand in for it in the constructor of a model."""

    values: np.ndarray
    """``[n, D]``, the rows that are here, perhaps none. The model may write into them."""
    total: int
    """Rows for which the model keeps tables by the size of a cluster."""
    summary: Any = None
    """Facts about all rows that the model's class needs; None: it needs none."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table whose rows are in shards, arrays ``[D]``: the same whatever the shards are."""

    rows: int
    """All of them."""
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    """Least and largest values; inf and -inf of a column without any."""
    observed: NDArray[np.int64]
    """Cells that are not missing."""
    whole: NDArray[np.bool_]
    """Whether all values are whole numbers."""
    sums: NDArray[np.int64]
    """Sum of each column that holds whole numbers from 0 to 2^31; 0 for other columns."""
    types: tuple[str, ...] = ()
    """For a table with columns of several types, the type of each."""
    mean: NDArray[np.float64] | None = None
    variance: NDArray[np.float64] | None = None
    """Means from the middle of each column, and variances; by default as of a uniform distribution, for a shard, whose
    prior is not used."""

    @classmethod
    def from_rows(cls, values: NDArray[np.float64]) -> "Columns":
        """Summarise the columns of some rows, shape (n, D); NaN where a cell is missing."""
        n, D = values.shape
        low, high = np.full(D, np.inf), np.full(D, -np.inf)
        observed, sums, whole = np.zeros(D, dtype=np.int64), np.zeros(D, dtype=np.int64), np.ones(D, dtype=bool)
        for d in range(D):
            # one column at a time: the arrays made here are small compared with the rows
            cells = values[:, d]
            cells = cells[~np.isnan(cells)]
            observed[d] = len(cells)
            if len(cells):
                low[d], high[d] = cells.min(), cells.max()
                whole[d] = (cells == np.floor(cells)).all()
                if whole[d] and low[d] >= 0 and high[d] < 2**31:
                    sums[d] = int(cells.sum(dtype=np.int64))
        return cls(n, low, high, observed, whole, sums)

    @classmethod
    def join(cls, parts: "Sequence[Columns]") -> "Columns":
        """Summarise the columns of all parts together."""
        return cls(
            sum(part.rows for part in parts),
            np.min([part.low for part in parts], axis=0),
            np.max([part.high for part in parts], axis=0),
            np.sum([part.observed for part in parts], axis=0),
            np.all([part.whole for part in parts], axis=0),
            np.sum([part.sums for part in parts], axis=0),
        )

    def with_types(self, types: Sequence[str]) -> "Columns":
        return replace(self, types=tuple(types))

    def part(self, where: Sequence[bool]) -> "Columns":
        """Some of the columns, without types."""
        mean, variance = (None if of is None else of[where] for of in (self.mean, self.variance))
        low, high, whole = self.low[where], self.high[where], self.whole[where]
        return Columns(self.rows, low, high, self.observed[where], whole, self.sums[where], (), mean, variance)

    def with_moments(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> "Columns":
        return replace(self, mean=mean, variance=variance)

    def widest(self, j: int) -> float:
        """Largest distance of a value in column j from the middle of the column."""
        if not self.observed[j]:
            return 0.0
        centre = self.low[j] / 2 + self.high[j] / 2
        return float(max(abs(self.low[j] - centre), abs(self.high[j] - centre)))

    def moments(self, j: int) -> tuple[float, float, float, float, float]:
        """Summary of column j: middle, mean from there, variance, range, and `widest`; zeros where it has no values."""
        if not self.observed[j]:
            return 0.0, 0.0, 0.0, 0.0, 0.0
        centre = self.low[j] / 2 + self.high[j] / 2
        span = float((self.high[j] - centre) - (self.low[j] - centre))
        mean = 0.0 if self.mean is None else float(self.mean[j])
        variance = span**2 / 12 if self.variance is None else float(self.variance[j])
        return float(centre), mean, variance, span, self.widest(j)
