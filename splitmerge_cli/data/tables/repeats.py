"""Rows of a table that repeat others: which they are, whether chance makes them, each read once, folds that keep copies
together."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.base import Copies, DataError, Dataset, notes_entry, require
from splitmerge_cli.kinds import get_kind

KEEP, ONCE = "keep", "once"
MOST_ROWS = 100_000
"""Rows that are looked at to tell whether chance makes copies: the first."""
MOST_COUNTED = 10_000_000
"""Rows up to which copies are counted, which takes some 50 bytes a row."""
MOST_COLUMNS = 64
"""Columns of which one at a time is left out for that, evenly spaced."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


def items_of_rows(x: NDArray[Any]) -> NDArray[np.int64]:
    """Number the different rows of an array by first appearance; missing cells are equal.

    Examples
    --------
    >>> items_of_rows(np.array([[0.5, 1.0], [0.5, 2.0], [0.5, 1.0]])).tolist()
    [0, 1, 0]
    """
    return _by_appearance(sum((_hash(x[:, d], d) for d in range(x.shape[1])), np.zeros(len(x), dtype=np.uint64)), x)


def _hash(column: NDArray[Any], d: int) -> NDArray[np.uint64]:
    """Numbers of 64 bits, equal for equal cells of column `d`."""
    cells = column.astype(np.float64) + 0.0  # -0 is 0
    bits = np.where(np.isnan(cells), np.nan, cells).view(np.uint64)
    with np.errstate(over="ignore"):
        for shift in (29, 32, 30):
            bits = (bits ^ (bits >> np.uint64(shift)) ^ np.uint64(d)) * _MIX
    return bits


def _by_appearance(hashes: NDArray[np.uint64], x: NDArray[Any] | None = None) -> NDArray[np.int64]:
    """Number different hashes by first appearance; with `x`, check that their rows are equal."""
    import pandas as pd

    codes, found = pd.factorize(hashes)
    if x is not None and len(found) < len(x):
        first = np.unique(codes, return_index=True)[1]
        for d in range(x.shape[1]):
            cells = x[:, d]
            if not np.array_equal(cells, cells[first][codes], equal_nan=cells.dtype.kind == "f"):
                raise DataError("two rows have one hash of 64 bits; expected data.repeated=keep")
    return codes.astype(np.int64)


def _pairs(codes: NDArray[np.int64]) -> float:
    """Pairs of rows that are equal, given the number of each."""
    counts = np.bincount(codes).astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


def are_copies(x: NDArray[Any], items: NDArray[np.int64]) -> bool:
    """Whether rows are equal as chance does not make them: more pairs of rows agree in all columns than in all but one.

    Values that are recorded to a step agree by chance, in one column and in the next; rows then agree in all but one
    column more often than in all.

    Parameters
    ----------
    x : numpy.ndarray
        ``[N, D]``.
    items : numpy.ndarray
        As `items_of_rows` has them.
    """
    if len(x) > MOST_ROWS:
        x, items = x[:MOST_ROWS], items_of_rows(x[:MOST_ROWS])
    equal, N = _pairs(items), len(x)
    different = x[np.unique(items, return_index=True)[1]]
    U, D = different.shape
    if U == N or (D == 1 and equal <= U * (U - 1) / 2):
        return False
    hashes = np.zeros(U, dtype=np.uint64)
    of_column = {}
    looked_at = set(np.linspace(0, D - 1, min(D, MOST_COLUMNS)).astype(int).tolist())
    for d in range(D):
        hashed = _hash(different[:, d], d)
        hashes += hashed
        if d in looked_at:
            of_column[d] = hashed
    near = 0.0
    for hashed in of_column.values():
        near += _pairs(_by_appearance(hashes - hashed)) if D > 1 else 0.0
        if near >= equal:
            return False
    return True


def copies_in(dataset: Dataset) -> NDArray[np.int64] | None:
    """Number the rows of a table as `items_of_rows`, if some repeat others as chance does not make them; else None.

    A table without real columns is none: what is counted, or of a few levels, repeats by chance.
    """
    x = dataset.values
    kind = get_kind(dataset.kind)
    if not (dataset.is_recorded and kind.has_columns and isinstance(x, np.ndarray)):
        return None
    if not any(column.type == "real" for column in kind.types_of(dataset)):
        return None
    items = items_of_rows(x)
    return items if items.max() + 1 < len(x) and are_copies(x, items) else None


def read_repeated(dataset: Dataset, repeated: str) -> Dataset:
    """A table with its rows as they are, and a note where they repeat others as chance does not make them; or with
    each different row once.

    Parameters
    ----------
    repeated : {"keep", "once"}
        The option data.repeated.

    Raises
    ------
    DataError
        Another option; ``once`` of data whose rows are no items, or of a sparse matrix.
    """
    require(repeated in (KEEP, ONCE), "data.repeated", repeated, f"{KEEP} or {ONCE}")
    place = dataset.meta.get("path", "data")
    if repeated == KEEP:
        if dataset.N > MOST_COUNTED or (items := copies_in(dataset)) is None:
            return dataset
        N, U = dataset.N, int(items.max()) + 1
        way = f"data.repeated={ONCE} reads each of the {U:,} different rows once"
        note = f"{place}: {_count(N, U)}, more than chance makes: no density describes copies ({way})"
        return _with_note(dataset, note, N, U)
    kind = get_kind(dataset.kind)
    tables = kind.has_columns and isinstance(dataset.values, np.ndarray)
    require(tables, "data.repeated", repeated, f"{KEEP}: a table of columns alone is read so")
    items = items_of_rows(dataset.values)
    first = np.unique(items, return_index=True)[1]
    N, U = dataset.N, len(first)
    notes = [f"{place}: {_count(N, U)}: each of the {U:,} different rows is one item (data.repeated)"]
    truth = dataset.truth
    if truth is not None and (other := int((truth != truth[first][items]).sum())):
        notes.append(
            f"{place}: {other:,} row{'s' * (other > 1)} with another true label than the row that they repeat, whose "
            "label counts"
        )
    names = [str(i + 1) for i in first] if dataset.names is None else [dataset.names[i] for i in first]
    copies = Copies(items.astype(np.int32), dataset.names)
    truth = None if truth is None else truth[first]
    once = replace(dataset, values=dataset.values[first], truth=truth, names=names, copies=copies)
    for note in notes:
        once = _with_note(once, note, N, U)
    return once


def _count(N: int, U: int) -> str:
    return f"{N - U:,} of {N:,} rows repeat{'s' * (N - U == 1)} another row"


def _with_note(dataset: Dataset, note: str, N: int, U: int) -> Dataset:
    repeated = {"rows": N, "different": U, "read": ONCE if dataset.copies is not None else KEEP}
    return replace(dataset, meta=dataset.meta | notes_entry([*dataset.notes, note]) | {"repeated": repeated})


def folds(dataset: Dataset, rows: NDArray[np.int64], n: int) -> Iterator[NDArray[np.int64]]:
    """Split rows, in their order, into `n` folds at most; copies stay together.

    Parameters
    ----------
    rows : numpy.ndarray
        Different ones.
    """
    together = keep_together(dataset, rows)
    for part in np.array_split(np.arange(len(together)), min(n, len(together))):
        yield np.concatenate([together[k] for k in part])


def keep_together(dataset: Dataset, rows: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
    """Split rows into groups of copies, by their first rows; without copies every row is a group."""
    items = copies_in(dataset.take(rows))
    if items is None:
        return list(rows[:, None])
    return np.split(rows[np.argsort(items, kind="stable")], np.cumsum(np.bincount(items))[:-1])
