"""Types, checks, scales and labels of the values of data.

Checks of values and of the options that choose them; parts of messages that name a cell. Scales of real columns: a
column that models read as its logarithm, its square root, or a power, and the way back. Labels of items: numbered, or
drawn at random; names of generated tokens.
"""

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice, product
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.received import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

COLUMN_TYPES = ("binary", "categorical", "ordinal", "count", "real")
"""Types of columns in a mixed table."""


@dataclass(frozen=True)
class ColumnType:
    """Type of a column in a mixed table, one of `COLUMN_TYPES`, and the values (levels) that the codes of a ``binary``,
    ``categorical`` or ``ordinal`` one stand for, code 0 first."""

    type: str
    levels: tuple[str, ...] = ()
    spike: tuple[float, float] | None = field(default=None, repr=False, compare=False)
    """The one number, on the scale of a real column, that many of its cells hold, and the step, in the units of the
    data, to which the column is recorded; None without such a number."""


@dataclass(frozen=True)
class Copies:
    """Rows of a table, each different one of which is read once: the item that each row is (int32 ``[rows]``, numbered
    by first appearance), and names of the rows, where the data give one."""

    items: NDArray[np.int32]
    names: list[str] | None = None


LARGEST = 2**31 - 1
"""Largest size or count: labels and codes are int32."""
MAGNITUDE = 1e30
"""Largest magnitude of a coordinate that the models read."""
EXACT = 2**53
"""The whole numbers up to this one are all float64."""
A_WEIGHT = f"a number, at least 0 and at most {MAGNITUDE:g}"
"""The weight of an edge in a file or an object, for messages; 0: no edge."""
FINITE = f"a number of magnitude {MAGNITUDE:g} at most"
"""Description of such a coordinate, for messages."""
BLOCK = 1 << 20
"""Numbers that are checked at the same time: what a check takes besides data that may be larger than memory."""


def first_rounded(whole: NDArray[np.integer]) -> int | None:
    """Flat position of the first whole number that float64 does not hold; None if it holds all."""
    if not whole.size or (int(whole.min()) >= -EXACT and int(whole.max()) <= EXACT):
        return None
    rounded = whole.astype(np.float64)
    # beyond its type a number has no whole number to be compared with
    inside = rounded < 2.0 ** (64 if whole.dtype.kind == "u" else 63)
    lost = ~inside | (np.where(inside, rounded, 0.0).astype(whole.dtype) != whole)
    return int(lost.argmax()) if lost.any() else None


def variances_of(x: NDArray[np.floating]) -> NDArray[np.float64]:
    """Variances of columns ``[N, D]``, or of one; 0 where all cells are equal, whose mean may be off by a rounding."""
    return np.where(x.max(axis=0) > x.min(axis=0), x.var(axis=0, dtype=np.float64), 0.0)


def is_sparse(x: object) -> bool:
    """Whether an object is a sparse matrix or array of SciPy, which is not imported to see that."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(x))


def is_csr(x: object) -> bool:
    """Whether values are a `scipy.sparse.csr_array`."""
    return is_sparse(x) and type(x).__name__ == "csr_array"


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


READING = 2
"""Version of the rules by which files are read: a run that was stored under others is compared with what is read now.
"""


def notes_entry(notes: Sequence[str]) -> dict[str, Any]:
    """Entry of ``Dataset.meta`` that holds these notes; empty without notes."""
    return {"notes": list(notes)} if notes else {}


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


def first_entry(x: "csr_array", condition: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> tuple[int, int] | None:
    """Row and column, from 0, of the first stored entry for which `condition` holds; None if it holds for none."""
    for start in range(0, x.nnz, BLOCK):
        hits = condition(x.data[start : start + BLOCK])
        if hits.any():
            return _place_of(x, start + int(np.argmax(hits)))
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
        indices = x.indices[start : start + BLOCK + 1]
        # where the next entry has no larger index, a row must begin
        falls = start + 1 + np.flatnonzero(indices[1:] <= indices[:-1])
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


def require_number(key: str, value: float, least: float, largest: float) -> None:
    """Raise a `DataError` that names the configuration key unless `value` is a number from `least` to `largest`."""
    require(least <= value <= largest, key, value, f"a number from {least:g} to {largest:g}")


def require_range(key: str, value: Sequence[float], least: float, largest: float) -> None:
    """Raise a `DataError` that names the configuration key unless `value` is two ascending numbers within bounds."""
    numbers = isinstance(value, list | tuple) and len(value) == 2 and all(type(v) in (int, float) for v in value)
    good = numbers and least <= value[0] <= value[1] <= largest
    require(good, key, value, f"two numbers, such as [1,2], ascending, from {least:g} to {largest:g}")


def require_seed(seed: int) -> None:
    """Raise a `DataError` unless NumPy takes the seed of the data."""
    require(isinstance(seed, int) and seed >= 0, "data.seed", seed, "a whole number, at least 0")


LOG, SQRT, YEO_JOHNSON = "log", "sqrt", "yeo-johnson"
LEAST_POWER, MOST_POWER = -5.0, 5.0
"""Powers of Yeo and Johnson that are taken: others leave no digits to tell values apart."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """A scale of a column, increasing in its values: ``log`` and ``sqrt`` take positive numbers, ``yeo-johnson`` (Yeo
    and Johnson 2000) any. The power 1 leaves a column as it is; lower ones draw in large values.

    >>> log = Scale("log")
    >>> y = log.read(np.array([1.0, 10.0]))
    >>> log.undo(y).round(6).tolist(), log.log_jacobian(y).round(3).tolist()
    ([1.0, 10.0], [-0.0, -2.303])
    """

    name: str
    power: float = 1.0

    def __str__(self) -> str:
        return f"{self.name}({self.power:g})" if self.name == YEO_JOHNSON else self.name

    @property
    def option(self) -> str | float:
        """The scale as ``data.scale`` names it."""
        return self.power if self.name == YEO_JOHNSON else self.name

    def read(self, x: Numbers) -> Numbers:
        """Values on this scale; NaN of missing cells, and of values that the scale does not take."""
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.name == LOG:
                return np.log(np.where(x > 0, x, np.nan))
            if self.name == SQRT:
                return np.sqrt(np.where(x > 0, x, np.nan))
        from scipy.special import boxcox1p

        own_power, other = self.power, 2.0 - self.power
        return np.asarray(np.sign(x) * np.where(x >= 0, boxcox1p(np.abs(x), own_power), boxcox1p(np.abs(x), other)))

    def undo(self, y: Numbers) -> Numbers:
        """Values in the units of the data; infinite beyond the ends of the scale."""
        y = np.asarray(y, dtype=np.float64)
        with np.errstate(over="ignore"):
            if self.name == LOG:
                return np.exp(y)
            if self.name == SQRT:
                return np.maximum(y, 0.0) ** 2
        from scipy.special import inv_boxcox1p

        power, size = np.where(y >= 0, self.power, 2.0 - self.power), np.abs(y)
        inside = ~(power * size <= -1.0)
        return np.asarray(np.sign(y) * np.where(inside, inv_boxcox1p(np.where(inside, size, 0.0), power), np.inf))

    def log_jacobian(self, y: Numbers) -> Numbers:
        """Log derivative of the scale by the values in the units of the data, at values on the scale: what is added to
        a log density on the scale to make one in the units of the data."""
        if self.name == LOG:
            return np.asarray(-y)
        if self.name == SQRT:
            return np.asarray(-np.log(2.0 * y))
        x = self.undo(y)
        return np.asarray((self.power - 1.0) * np.sign(x) * np.log1p(np.abs(x)))


def titles(columns: Sequence[str], scales: "Scales | None") -> list[str]:
    """Names of columns for pictures, with their scales.

    >>> titles(["x", "y"], (Scale("log"), None))
    ['x (log scale)', 'y']
    """
    pairs = zip(columns, scales or [None] * len(columns), strict=True)
    return [name if scale is None else f"{name} ({scale} scale)" for name, scale in pairs]


Scales = tuple[Scale | None, ...]
"""The scale of each column; None of a column that is read as it is."""


def on_scales(
    x: Numbers, scales: Scales, columns: Sequence[str] | None = None, positions: Sequence[int] | None = None
) -> Numbers:
    """Rows ``[N, D]`` on the scales of their columns; raises a `DataError` for a value that a scale does not take."""
    scaled = np.array(x, dtype=np.float64)
    for j, scale in enumerate(scales):
        if scale is None:
            continue
        scaled[:, j] = scale.read(x[:, j])
        bad = np.isnan(scaled[:, j]) & ~np.isnan(x[:, j])
        if bad.any():
            i = int(bad.argmax())
            place = place_of(i, j, columns, positions)
            instead = "; data.scale={NAME:0} (yeo-johnson) takes any number" if scale.name in (LOG, SQRT) else ""
            raise DataError(f"{place}: {x[i, j]:g}; expected a positive number, which a {scale} scale takes{instead}")
        large = np.abs(scaled[:, j]) > MAGNITUDE
        if large.any():
            i = int(large.argmax())
            place = place_of(i, j, columns, positions)
            found = f"{x[i, j]:g} is {scaled[i, j]:g} on the {scale} scale"
            raise DataError(f"{place}: {found}; expected {FINITE} (data.scale=none reads the columns as they are)")
    return scaled


def in_units(y: Numbers, scales: Scales) -> Numbers:
    """Rows ``[N, D]`` in the units of the data."""
    return np.column_stack([y[:, j] if scale is None else scale.undo(y[:, j]) for j, scale in enumerate(scales)])


def log_jacobian(y: Numbers, scales: Scales) -> Numbers:
    """Sum over the columns of `Scale.log_jacobian` for each row, ``[N]``; a missing cell adds nothing."""
    parts = [np.nan_to_num(scale.log_jacobian(y[:, j])) for j, scale in enumerate(scales) if scale is not None]
    return np.asarray(np.sum(parts, axis=0)) if parts else np.zeros(len(y))


def number_by_appearance(values: NDArray[Any]) -> NDArray[np.int64]:
    """Numbers of different values by first appearance: int64 ``[N]``, from 0."""
    _, first, place = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place]


def numbered_labels(labels: Any) -> NDArray[np.int32]:
    """Labels of any type, numbered by first appearance; -1 for None and NaN."""
    if isinstance(labels, list) and all(label is None or isinstance(label, str) for label in labels):
        known = dict.fromkeys(label for label in labels if label is not None)
        number_by_label = {label: k for k, label in enumerate(known)}
        return np.array([number_by_label.get(label, -1) for label in labels], dtype=np.int32)
    if not isinstance(labels, pd.Series) and (listed := getattr(labels, "to_pylist", getattr(labels, "to_list", None))):
        labels = listed()  # of Arrow and polars
    # whole numbers of a list, or of pandas, would become floats if one is missing
    if isinstance(labels, list | tuple):
        series = pd.Series(labels, dtype=object)
    else:
        exact = isinstance(labels, pd.Series | pd.api.extensions.ExtensionArray)
        series = pd.Series(labels if exact else np.asarray(labels))
    return pd.factorize(series)[0].astype(np.int32)


def crp(rng: np.random.Generator, N: int, concentration: float) -> NDArray[np.int32]:
    """Clusters of `N` items from a Chinese restaurant process: int32 ``[N]``, numbered by first appearance.

    Item i opens a cluster with probability concentration / (i + concentration), i = 0, 1, ..., or else joins the
    cluster of one of the i items before it, drawn uniformly (Blackwell & MacQueen's urn). All items draw at once, a
    double each; the chains of joined items are then followed to the item that opened their cluster, twice as far in
    each pass.
    """
    item = np.arange(N)
    drawn = rng.random(N) * (item + concentration)
    opens = drawn >= item
    joined = np.where(opens, item, np.minimum(drawn, item)).astype(np.int32)
    while not np.array_equal(joined, further := joined[joined]):
        joined = further
    number = np.cumsum(opens, dtype=np.int32) - 1
    return number[joined].astype(np.int32)


def draw_codes(
    rng: np.random.Generator, probabilities: NDArray[np.float64], rows: NDArray[np.int32]
) -> NDArray[np.int32]:
    """A column for each of the `rows`, by their probabilities ``[K, V]``, whose rows sum to 1 but for rounding."""
    u = rng.random(len(rows))
    codes = np.empty(len(rows), dtype=np.int32)
    order = np.argsort(rows, kind="stable")
    for k, items in enumerate(np.split(order, np.cumsum(np.bincount(rows, minlength=len(probabilities)))[:-1])):
        codes[items] = np.searchsorted(np.cumsum(probabilities[k]), u[items], side="right")
    # the rounded cumulative sum may end below 1: the last column that the row has takes what is left
    last = probabilities.shape[1] - 1 - np.argmax(probabilities[:, ::-1] > 0, axis=1)
    return np.minimum(codes, last[rows].astype(np.int32))


def equal_sizes(rng: np.random.Generator, N: int, K: int) -> NDArray[np.int32]:
    """int32 ``[N]``: clusters 0 .. K - 1 of N / K items each (the first N mod K one more), in random order."""
    return rng.permutation(np.arange(N, dtype=np.int32) % np.int32(K))


def token_names(n: int) -> list[str]:
    """Names of `n` tokens: A, B, ..., Z, AA, AB, ..."""
    names = ("".join(letters) for length in count(1) for letters in product(ascii_uppercase, repeat=length))
    return list(islice(names, n))


def digest_of(dataset: Any) -> str:
    """SHA-256 of all that a run may depend on: values, their kind and types, true labels, names."""
    digest = hashlib.sha256()
    for part in _parts(dataset):
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(f"{part!r};".encode())
    return digest.hexdigest()


def _parts(dataset: Any) -> Iterator[Any]:
    if dataset.reduction is not None:
        # scores that another library of linear algebra makes may differ in their last digits
        yield from (*_parts(dataset.original), dataset.meta["reduced"])
        return
    yield from (dataset.kind.name, dataset.vocabulary, dataset.columns, dataset.types, dataset.names, dataset.truth)
    if dataset.positions is not None:
        yield dataset.positions
    if dataset.copies is not None:
        yield from (dataset.copies.items, dataset.copies.names)
    yield from (part for part in (dataset.scales, dataset.exposure, dataset.sources) if part is not None)
    if (bundles := dataset.bundles) is not None:
        yield from (bundles.items, bundles.weights, bundles.unit, bundles.prior_counts, bundles.apart, bundles.classes)
        yield bundles.names
    if (relations := dataset.relations) is not None:
        for layer in relations.layers:
            yield from (layer.name, layer.ends, layer.form, layer.value, layer.levels, layer.directed, layer.loops)
            yield layer.unknown
        yield from (relations.sides, relations.side_names)
        if relations.columns is not None:
            yield from _parts(relations.columns)
    x = dataset.values
    if is_csr(x):
        yield from (x.shape, x.indptr, x.indices, x.data)
    elif isinstance(x, np.ndarray):
        yield x
    else:  # documents
        yield from (x.tokens.words, x.tokens.starts, x.V, x.documents, x.heldout is None)
        if x.heldout is not None:
            held = x.heldout
            yield from (held.by, held.tokens.words, held.tokens.starts, held.observed, held.documents)
