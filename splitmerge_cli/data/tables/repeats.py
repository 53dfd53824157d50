"""Rows of a table that repeat others: which they are, whether chance makes them, each read once, folds that keep copies
together."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Copies, Dataset
from splitmerge_cli.data.values import BLOCK, notes_entry, number_by_appearance, require
from splitmerge_cli.received import DataError

KEEP, ONCE = "keep", "once"
WEIGHTS = "weights"
"""Word of a summary for rows whose weights repeat them."""
MOST_ROWS = 100_000
"""Rows that are looked at to tell whether chance makes copies: the first."""
MOST_COUNTED = 10_000_000
"""Rows up to which copies are counted, which takes some 50 bytes a row."""
MOST_COLUMNS = 64
"""Real columns that are looked at for that, evenly spaced."""
SAME = 1e-8
"""Gaps between values are one if they differ by less, as a share of their range."""
ATOM = 0.05
"""Share of the rows from which on a value of a real column is one that many rows share, such as 0 or 40 hours."""
BY_CHANCE = 0.05
"""Expected rows that agree with a row by chance, from which on it is no copy."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


def items_of_rows(x: NDArray[Any]) -> NDArray[np.int64]:
    """Number the different rows of an array by first appearance; missing cells are equal.

    >>> items_of_rows(np.array([[0.5, 1.0], [0.5, 2.0], [0.5, 1.0]])).tolist()
    [0, 1, 0]
    """
    return _by_appearance(_hash_rows(x), x)


def _hash_rows(x: NDArray[Any]) -> NDArray[np.uint64]:
    """Sum the hashes of each row's cells."""
    width, whole = max(1, BLOCK // max(len(x), 1)), np.zeros(len(x), dtype=np.uint64)
    for d in range(0, x.shape[1], width):
        block = x[:, d : d + width]
        whole += _hash(block, np.arange(d, d + block.shape[1])).sum(axis=1, dtype=np.uint64)
    return whole


def _hash(cells: NDArray[Any], d: Any) -> NDArray[np.uint64]:
    """Numbers of 64 bits, equal for equal cells of column `d`, or of columns ``[N, D]`` of such numbers."""
    cells = cells.astype(np.float64) + 0.0  # -0 is 0
    return _mix(np.where(np.isnan(cells), np.nan, cells).view(np.uint64), d)


def _mix(bits: NDArray[np.uint64], d: Any) -> NDArray[np.uint64]:
    """Spread numbers of 64 bits, for the column `d`."""
    with np.errstate(over="ignore"):
        for shift in (29, 32, 30):
            bits = (bits ^ (bits >> np.uint64(shift)) ^ np.asarray(d, dtype=np.uint64)) * _MIX
    return bits


def _by_appearance(hashes: NDArray[Any], x: NDArray[Any] | None = None) -> NDArray[np.int64]:
    """Number different hashes by first appearance; with `x`, check that their rows are equal."""
    codes = number_by_appearance(hashes)
    if x is not None and codes.max(initial=-1) + 1 < len(x):
        first = np.unique(codes, return_index=True)[1]
        for d in range(x.shape[1]):
            cells = x[:, d]
            if not np.array_equal(cells, cells[first][codes], equal_nan=cells.dtype.kind == "f"):
                raise DataError("two rows share a hash of 64 bits; expected data.repeated=keep")
    return codes


def are_copies(x: NDArray[Any], items: NDArray[np.int64], reals: Sequence[int]) -> bool:
    """Whether rows ``[N, D]``, numbered by `items_of_rows`, are equal as chance does not make them.

    Values that are recorded to a step agree by chance, and as often two values differ by one step to one side. So more
    pairs of rows that are equal, than pairs that differ by one step in one real column and agree in all others, are
    copies. Where both are few, pairs that are equal have to be more by three standard deviations, unless no two
    different rows agree in any real column. Rows whose real cells are common ones, or missing, do not count.
    """
    if len(x) > MOST_ROWS:
        x, items = x[:MOST_ROWS], items_of_rows(x[:MOST_ROWS])
    reals = np.asarray(reals)[np.linspace(0, len(reals) - 1, min(len(reals), MOST_COLUMNS)).astype(int)]
    counts = np.bincount(items).astype(np.float64)
    different = x[np.unique(items, return_index=True)[1]]
    rare = _expected_by_chance(different[:, reals]) < BY_CHANCE
    equal = float((counts * (counts - 1.0))[rare].sum()) / 2.0
    if not equal:
        return False
    whole = _hash_rows(different)
    near, ties = 0.0, False
    for d in reals:
        cells = different[:, d].astype(np.float64)
        near += _one_step_apart(cells, whole - _hash(cells, d), counts)
        if near >= equal:
            return False
        present = cells[~np.isnan(cells)]
        ties = ties or len(np.unique(present)) < len(present)
    exact = not ties and len(reals) > 1
    return exact or bool(equal > near + 3.0 * np.sqrt(near + 1.0))


def _expected_by_chance(cells: NDArray[Any]) -> NDArray[np.float64]:
    """How many other rows are expected to hold the same real cells, by row: ``[U, D]`` to float64 ``[U]``. Columns are
    independent, but values that many rows share come together: of these the rarest counts. What is missing tells
    nothing."""
    product, shared = np.ones(len(cells)), np.ones(len(cells))
    for column in cells.T:
        _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        share = (counts[place] - 1.0) / max(np.count_nonzero(~np.isnan(column)) - 1.0, 1.0)
        share[np.isnan(column)] = 1.0
        product *= np.where(share < ATOM, share, 1.0)
        shared = np.minimum(shared, np.where(share < ATOM, 1.0, share))
    expected: NDArray[np.float64] = (len(cells) - 1.0) * product * shared
    return expected


def _one_step_apart(cells: NDArray[np.float64], others: NDArray[np.uint64], counts: NDArray[np.float64]) -> float:
    """Pairs of rows that differ by the step of a column (`cells`, in each different row), and agree in the `others`;
    `counts`: how often a row is there."""
    is_present = ~np.isnan(cells)
    values, place = np.unique(cells[is_present], return_inverse=True)
    if len(values) < 2:
        return 0.0
    gaps = np.diff(values)
    # the step is the commonest gap, but for rounding errors
    bins = np.rint(gaps / (SAME * (values[-1] - values[0]))).astype(np.int64)
    bins_found, often = np.unique(bins, return_counts=True)
    is_step = np.append(np.abs(bins - bins_found[np.argmax(often)]) <= 1, False)
    with np.errstate(over="ignore"):
        keys = others[is_present] + _mix(place.astype(np.uint64), len(cells))
        above = others[is_present] + _mix((place + 1).astype(np.uint64), len(cells))
    order = np.argsort(keys)
    positions = np.minimum(np.searchsorted(keys, above, sorter=order), len(keys) - 1)
    paired = is_step[place] & (keys[order[positions]] == above)
    counts_here = counts[is_present]
    return float((counts_here[paired] * counts_here[order[positions]][paired]).sum())


def copies_in(dataset: Dataset) -> NDArray[np.int64] | None:
    """Number the rows of a table as `items_of_rows`, if some repeat others as chance does not make them; else None, as
    for a table without real columns: what is counted, or of a few levels, repeats by chance."""
    x = dataset.values_in_units
    kind = dataset.kind
    if not (dataset.is_recorded and kind.has_columns and isinstance(x, np.ndarray)):
        return None
    reals = [d for d, column in enumerate(kind.types_of(dataset)) if column.type == "real"]
    if not reals:
        return None
    items = items_of_rows(x)
    return items if items.max() + 1 < len(x) and are_copies(x, items, reals) else None


def read_repeated(dataset: Dataset, repeated: str) -> Dataset:
    """A table with its rows as they are, and a note where they repeat others as chance does not make them (``keep``);
    or with each different row once (``once``), where rows are items and no sparse matrix."""
    require(repeated in (KEEP, ONCE), "data.repeated", repeated, f"{KEEP} or {ONCE}")
    bundled = dataset.bundles is not None
    require(not bundled or repeated == KEEP, "data.repeated", repeated, f"{KEEP} with weights, groups, labels or links")
    place = dataset.meta.get("path", "data")
    if repeated == KEEP:
        bundles = dataset.bundles
        weighted = bundles is not None and bundles.weights is not None and bundles.unit == 1.0
        if (bundled and not weighted) or dataset.N > MOST_COUNTED:
            return dataset
        whole = dataset if bundles is None or bundles.mass.sum() > MOST_COUNTED else dataset.with_repeats
        if (items := copies_in(whole)) is None:
            return dataset
        N, U = whole.N, int(items.max()) + 1
        way = f"data.repeated={ONCE} reads each of the {U:,} different rows once"
        if weighted:
            way = "data.weights_scale=rows reads weights as powers of the likelihood"
        note = f"{place}: {_count(N, U)}, more than by chance: no density describes copies ({way})"
        return _with_note(dataset, note, N, U)
    kind = dataset.kind
    tables = kind.has_columns and isinstance(dataset.values, np.ndarray)
    require(tables, "data.repeated", repeated, f"{KEEP}: a table of columns alone is read so")
    items = items_of_rows(dataset.values)
    first = np.unique(items, return_index=True)[1]
    N, U = dataset.N, len(first)
    notes = [f"{place}: {_count(N, U)}: each of the {U:,} different rows is one item (data.repeated)"]
    truth = dataset.truth
    if truth is not None and (other := int((truth != truth[first][items]).sum())):
        another = "with another true label than the row that they repeat, whose label counts"
        notes.append(f"{place}: {other:,} row{'s' * (other > 1)} {another}")
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
    read = ONCE if dataset.copies is not None else KEEP if dataset.bundles is None else WEIGHTS
    repeated = {"rows": N, "different": U, "read": read}
    return replace(dataset, meta=dataset.meta | notes_entry([*dataset.notes, note]) | {"repeated_rows": repeated})


def draw_rows(dataset: Dataset, seed: int, most_rows: int) -> NDArray[np.int64]:
    """Draw rows without replacement, in random order, `most_rows` at most; of items of several rows whole ones, two at
    least."""
    order = np.random.default_rng(seed).permutation(dataset.N)
    if (items := dataset.items) is None:
        return order[:most_rows]
    item, first = np.unique(items[order], return_index=True)
    drawn = item[np.argsort(first)]
    within = np.cumsum(np.bincount(items)[drawn]) <= most_rows
    within[:2] = True
    return order[np.isin(items[order], drawn[within])]


def folds(dataset: Dataset, rows: NDArray[np.int64], n: int) -> Iterator[NDArray[np.int64]]:
    """Split rows, different ones, in their order into `n` folds at most; copies and rows of one item stay together."""
    together = keep_together(dataset, rows)
    for part in np.array_split(np.arange(len(together)), min(n, len(together))):
        yield np.concatenate([together[k] for k in part])


def keep_together(dataset: Dataset, rows: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
    """Split rows into groups of copies, or of one item, by their first rows; without any every row is a group."""
    if dataset.items is not None:
        number: NDArray[np.int64] | None = _by_appearance(dataset.items[rows])
    else:
        number = copies_in(dataset.take(rows))
    if number is None:
        return list(rows[:, None])
    return np.split(rows[np.argsort(number, kind="stable")], np.cumsum(np.bincount(number))[:-1])
