"""What every generator and reader returns."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = ("tokens", "binary")
LARGEST = 2**31 - 1
"""Largest size or count: labels and codes are int32."""


class DataError(ValueError):
    """Data that cannot be used; the message (one line) names the file, row and column and what was expected."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.splitlines()))


@dataclass(frozen=True)
class Dataset:
    """Observations, and their true clusters where known.

    Attributes
    ----------
    name : str
        Short name for files and titles.
    kind : {"tokens", "binary"}
        What `values` holds; a model serves one kind.
    values : numpy.ndarray
        ``tokens``: int32 ``[N]``, codes 0 .. n_tokens - 1. ``binary``: uint8 ``[N, D]``, 0 or 1.
    truth : numpy.ndarray or None
        int32 ``[N]``, true cluster of each item.
    vocabulary : list of str or None
        ``tokens``: the token of each code.
    columns : list of str or None
        ``binary``: name of each attribute, where the file gives one.
    meta : dict
        How the data came about: parameters of the generator, or the file.
    """

    name: str
    kind: str
    values: NDArray[Any]
    truth: NDArray[np.int32] | None = None
    vocabulary: list[str] | None = None
    columns: list[str] | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(f"kind={self.kind}: expected one of {', '.join(KINDS)}")
        if len(self.values) == 0:
            raise DataError(f"{self.name}: no items; expected at least one")
        if self.truth is not None and len(self.truth) != len(self.values):
            raise DataError(f"{self.name}: {len(self.truth)} true labels for {len(self.values)} items")

    @property
    def N(self) -> int:
        """Number of items."""
        return len(self.values)

    @property
    def n_tokens(self) -> int:
        """Number of tokens of the vocabulary (0 for data that are not tokens)."""
        return len(self.vocabulary) if self.vocabulary is not None else 0


def require(condition: bool, key: str, value: object, expected: str) -> None:
    """Raise a `DataError` that names the configuration key unless `condition` holds."""
    if not condition:
        raise DataError(f"{key}={value}: expected {expected}")


def require_size(key: str, value: int, largest: int = LARGEST) -> None:
    """Raise a `DataError` that names the configuration key unless `value` is a whole number from 1 to `largest`."""
    require(isinstance(value, int) and 1 <= value <= largest, key, value, f"a whole number from 1 to {largest}")


def require_seed(seed: int) -> None:
    """Raise a `DataError` unless NumPy takes the seed of the data."""
    require(isinstance(seed, int) and seed >= 0, "data.seed", seed, "a whole number, at least 0")
