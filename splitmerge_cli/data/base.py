"""The data set that every generator and reader returns, and checks of its values."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.received import DataError as DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST = 2**31 - 1
"""Largest size or count: labels and codes are int32."""
MAGNITUDE = 1e30
"""Largest magnitude of a coordinate that the models read."""
BLOCK = 1 << 20
"""Numbers that are checked at the same time: what a check takes besides data that may be larger than memory."""

COLUMN_TYPES = ("binary", "categorical", "count", "real")
"""Types of columns in a mixed table."""


@dataclass(frozen=True)
class ColumnType:
    """Type of a column in a mixed table, and the values behind its codes.

    Attributes
    ----------
    type : {"binary", "categorical", "count", "real"}
    levels : tuple of str
        ``binary``, ``categorical``: the value that each code stands for, code 0 first; empty for the others.
    """

    type: str
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Copies:
    """Rows of a table, each different one of which is read once.

    Attributes
    ----------
    items : numpy.ndarray
        int32 ``[rows]``: the item that each row is, numbered by first appearance.
    names : list of str or None
        Names of the rows, where the data give one.
    """

    items: NDArray[np.int32]
    names: list[str] | None = None


@dataclass(frozen=True)
class Dataset:
    """Observations, and their true clusters where known.

    Attributes
    ----------
    name : str
        Short name for files and titles.
    kind : str
        Name of the kind of data (`splitmerge_cli.kinds`); a model reads one.
    values : numpy.ndarray, scipy.sparse.csr_array or Corpus
        As the class of the kind says: one item in each row (``documents``: in each training token).
    truth : numpy.ndarray or None
        int32 ``[N]``, true cluster of each item, -1 where it is not known; ``documents``: true topic of each token.
    vocabulary : list of str or None
        ``tokens``: the token of each code; ``documents``: the words.
    columns : list of str or None
        ``binary``, ``points``, ``mixed``: name of each column, where the file gives one.
    positions : tuple of int or None
        Place of each column in its table, from 0, where columns of that are left out, or in another order.
    types : tuple of ColumnType or None
        ``mixed``: the type of each column.
    names : list of str or None
        Name of each item, where the data give one.
    meta : dict
        How the data came about: parameters of the generator, or the file. ``notes``, where there is something to tell
        the user of how the data were read: list of str, a line each (see `notes`).
    copies : Copies or None
        The rows of the table, where rows that repeat others are read once.
    is_recorded : bool
        Whether the numbers are of a table of the user's own, which records real columns to some step (the option
        `resolution` of models of such columns). Generated and published data are taken as they are.

    Raises
    ------
    DataError
        An unknown kind; values that are not as it says; no items; another number of true labels or of names than of
        items.
    """

    name: str
    kind: str
    values: Any
    truth: NDArray[np.int32] | None = None
    vocabulary: list[str] | None = None
    columns: list[str] | None = None
    types: tuple[ColumnType, ...] | None = None
    names: list[str] | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    is_recorded: bool = False
    positions: tuple[int, ...] | None = None
    copies: Copies | None = None

    def __post_init__(self) -> None:
        from splitmerge_cli.kinds import get_kind

        get_kind(self.kind).check(self)
        if self.N == 0:
            raise DataError(f"{self.name}: no items; expected at least one")
        if self.truth is not None and len(self.truth) != self.N:
            raise DataError(f"{self.name}: {len(self.truth)} true labels for {self.N} items")
        if self.names is not None and len(self.names) != self.N:
            raise DataError(f"{self.name}: {len(self.names)} names for {self.N} items")

    @property
    def column_names(self) -> list[str]:
        """Names of the columns; without any, their numbers in the table, as notes have them."""
        if self.columns:
            return list(self.columns)
        return [f"column {j + 1}" for j in self.positions or range(self.values.shape[1])]

    def place(self, i: int, j: int) -> str:
        """A cell as messages name it."""
        return place_of(i, j, self.columns, self.positions)

    def read_columns(self, cells: NDArray[Any]) -> NDArray[Any]:
        """New rows without names of columns: of a table as wide as that of the data, the columns that are read."""
        whole = self.positions is None or cells.ndim != 2 or cells.shape[1] != self.meta.get("width")
        return cells if whole else cells[:, list(self.positions or ())]

    @property
    def N(self) -> int:
        """Number of items."""
        return int(self.values.shape[0])

    @cached_property
    def missing(self) -> int:
        """Number of missing cells; 0 for data that are no table."""
        x = self.values
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            return 0
        return sum(int(np.isnan(block).sum()) for _, block in blocks(x) if np.isnan(block.min()))

    @property
    def first_missing(self) -> str:
        """The first missing cell and the number of them, for messages; at least one must be missing."""
        i = next(
            start + int(np.isnan(block).any(axis=1).argmax())
            for start, block in blocks(self.values)
            if np.isnan(block.min())
        )
        place = self.place(i, int(np.isnan(self.values[i]).argmax()))
        return f"{place}: a missing cell" + (f", one of {self.missing}" if self.missing > 1 else "")

    def take(self, rows: NDArray[np.int64] | slice) -> "Dataset":
        """These rows of a table alone, without true labels and names."""
        return replace(self, values=self.values[rows], truth=None, names=None, copies=None)

    @property
    def notes(self) -> list[str]:
        """Notes for the user on how the data were read, a line each, which a run prints and stores."""
        return list(self.meta.get("notes", ()))

    @property
    def n_tokens(self) -> int:
        """Size of the vocabulary (0 for data that are not tokens)."""
        return len(self.vocabulary) if self.vocabulary is not None else 0


def notes_entry(notes: Sequence[str]) -> dict[str, Any]:
    """Entry of ``Dataset.meta`` that holds these notes; empty without notes."""
    return {"notes": list(notes)} if notes else {}


def numbered_labels(labels: Any) -> NDArray[np.int32]:
    """Labels of any type, numbered by first appearance; -1 for None and NaN."""
    import pandas as pd

    if not isinstance(labels, pd.Series) and (listed := getattr(labels, "to_pylist", getattr(labels, "to_list", None))):
        labels = listed()  # of Arrow and polars
    # whole numbers of a list, or of pandas, would become floats beside a gap
    if isinstance(labels, list | tuple):
        given = pd.Series(labels, dtype=object)
    else:
        exact = isinstance(labels, pd.Series | pd.api.extensions.ExtensionArray)
        given = pd.Series(labels if exact else np.asarray(labels))
    return pd.factorize(given)[0].astype(np.int32)


def place_of(i: int, j: int, columns: Sequence[str] | None, positions: Sequence[int] | None = None) -> str:
    """A cell as messages name it, row and column from 1; `positions`: of the columns in their table."""
    number = 1 + (j if positions is None else positions[j])
    return f"row {i + 1}, column {number}" + (f" ('{columns[j]}')" if columns else "")


def positions_in(columns: Sequence[int], width: int) -> tuple[int, ...] | None:
    """`Dataset.positions` of some columns of a table with `width` columns."""
    return None if list(columns) == list(range(width)) else tuple(columns)


def width_entry(columns: Sequence[int], width: int) -> dict[str, int]:
    """Entry of ``Dataset.meta`` for the width of the table, where `Dataset.positions` need it."""
    return {} if positions_in(columns, width) is None else {"width": width}


FINITE = f"a number of magnitude {MAGNITUDE:g} at most"


def blocks(x: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield an array in parts of `BLOCK` numbers, a row at least, each with the number of its first row."""
    step = max(1, BLOCK // max(1, x.size // len(x))) if x.size else 1
    for start in range(0, len(x) if x.size else 0, step):
        yield start, x[start : start + step]


def has_nan(x: NDArray[np.floating]) -> bool:
    """Whether an array holds a NaN, without a second array of its size."""
    return any(np.isnan(block.min()) for _, block in blocks(x))


def first_not_finite(x: NDArray[Any], missing: bool = False) -> int | None:
    """Flat position of the first value that is infinite, larger than `MAGNITUDE` or, unless `missing`, NaN; None if all
    are well."""
    for start, block in blocks(x):
        # no temporary array where all is well; a NaN makes both NaN
        if not (block.min() >= -MAGNITUDE and block.max() <= MAGNITUDE):
            good = np.abs(block) <= MAGNITUDE
            if missing:
                good |= np.isnan(block)
            if not good.all():
                return start * (x.size // len(x)) + int(np.argmin(good))
    return None


def place_not_finite(x: "NDArray[Any] | csr_array", missing: bool = False) -> tuple[int, int] | None:
    """Row and column, from 0, of the first such value of dense or sparse points; None if all are well."""
    if isinstance(x, np.ndarray):
        bad = first_not_finite(x, missing)
        return None if bad is None else divmod(bad, x.shape[1])
    bad = first_not_finite(x.data)
    return None if bad is None else _place_of(x, bad)


def first_entry(x: "csr_array", what: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> tuple[int, int] | None:
    """Row and column, from 0, of the first stored entry for which `what` holds; None if it holds for none."""
    for start in range(0, x.nnz, BLOCK):
        found = what(x.data[start : start + BLOCK])
        if found.any():
            return _place_of(x, start + int(np.argmax(found)))
    return None


def _place_of(x: "csr_array", entry: int) -> tuple[int, int]:
    return int(np.searchsorted(x.indptr, entry, side="right")) - 1, int(x.indices[entry])


def check_rows(name: str, x: "csr_array") -> None:
    """Raise a `DataError` that begins with `name` unless the indices of every row are in range and ascend strictly."""
    try:
        x.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{name}: {error}; expected a sparse matrix of shape {x.shape}") from error
    for start in range(0, x.nnz - 1, BLOCK):
        at = x.indices[start : start + BLOCK + 1]
        # where the next entry has no larger index, a row must begin
        falls = start + 1 + np.flatnonzero(at[1:] <= at[:-1])
        begins = np.searchsorted(x.indptr, falls)
        if (x.indptr[begins] != falls).any():
            i = _place_of(x, int(falls[np.argmax(x.indptr[begins] != falls)]))[0]
            raise DataError(f"{name}: row {i + 1}: indices out of order; expected them ascending, each once")


def require(condition: bool, key: str, value: object, expected: str) -> None:
    """Raise a `DataError` that names the configuration key unless `condition` holds."""
    if not condition:
        raise DataError(f"{key}={value}: expected {expected}")


def require_size(key: str, value: int, largest: int = LARGEST) -> None:
    """Raise a `DataError` that names the configuration key unless `value` is a whole number from 1 to `largest`."""
    require(isinstance(value, int) and 1 <= value <= largest, key, value, f"a whole number from 1 to {largest}")


def require_number(key: str, value: float, least: float, most: float) -> None:
    """Raise a `DataError` that names the configuration key unless `value` is a number from `least` to `most`."""
    require(least <= value <= most, key, value, f"a number from {least:g} to {most:g}")


def require_range(key: str, value: Sequence[float], least: float, most: float) -> None:
    """Raise a `DataError` that names the configuration key unless `value` is two ascending numbers within bounds."""
    numbers = isinstance(value, list | tuple) and len(value) == 2 and all(type(v) in (int, float) for v in value)
    good = numbers and least <= value[0] <= value[1] <= most
    require(good, key, value, f"two numbers, such as [1,2], ascending, from {least:g} to {most:g}")


def require_seed(seed: int) -> None:
    """Raise a `DataError` unless NumPy takes the seed of the data."""
    require(isinstance(seed, int) and seed >= 0, "data.seed", seed, "a whole number, at least 0")


def crp(rng: np.random.Generator, N: int, concentration: float) -> NDArray[np.int32]:
    """Clusters of `N` items from a Chinese restaurant process.

    Item i opens a cluster with probability concentration / (i + concentration), i = 0, 1, ..., and else joins that of
    one of the i items before it, drawn uniformly (Blackwell & MacQueen's urn). All items draw at once; the chains of
    joined items are then followed to the item that opened their cluster, twice as far in each pass.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of N doubles.
    N : int
        Number of items.
    concentration : float
        Concentration, greater than 0.

    Returns
    -------
    numpy.ndarray
        int32 ``[N]``, clusters numbered by first appearance.
    """
    item = np.arange(N)
    drawn = rng.random(N) * (item + concentration)
    opens = drawn >= item
    joined = np.where(opens, item, np.minimum(drawn, item)).astype(np.int32)
    while not np.array_equal(joined, further := joined[joined]):
        joined = further
    number = np.cumsum(opens, dtype=np.int32) - 1
    return number[joined].astype(np.int32)


def equal_sizes(rng: np.random.Generator, N: int, K: int) -> NDArray[np.int32]:
    """int32 ``[N]``: clusters 0 .. K - 1 of N / K items each (the first N mod K one more), in random order."""
    return rng.permutation(np.arange(N, dtype=np.int32) % np.int32(K))
