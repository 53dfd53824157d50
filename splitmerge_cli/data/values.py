"""Checks of the values of data, and of the options that choose them; parts of messages that name a cell."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.received import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ONE_DOCUMENT = (
    "a single document has two words or more, and one document cannot show topics, which are words that are in some "
    "documents and not in others; expected a line or a file for each document, such as the paragraphs of a text"
)
NO_TWO_WORDS = "no document has two words, so nothing shows which words share a topic"
EQUAL_DOCUMENTS = "all documents hold the same words as often, and equal documents cannot show topics"
CANNOT_SHOW = {
    ONE_DOCUMENT: "one document cannot show topics",
    NO_TWO_WORDS: "documents of one word cannot show topics",
    EQUAL_DOCUMENTS: "equal documents cannot show topics",
}
"""Notes on a corpus, which its answer repeats, and what its verdict says first."""
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
