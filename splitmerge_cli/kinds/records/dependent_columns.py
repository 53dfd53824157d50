"""Columns of records that follow from another one, as a town does from a postcode: their agreement counts twice.

Two measures, both above what chance makes:

* Rows: in how many the cell of one column is a part of the cell of the other, as a year is of a date.
* Pairs of records with the same value in one column: how many agree in the other. Duplicates agree in every column,
  whether or not one follows from another, so that a mixture of duplicates and different entities is fitted by all
  columns, and the share of the latter is compared with the share of duplicates, which have errors, too.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import ColumnType

LEAST_SHARE = 0.4
"""Share of a column that follows from another, from which on it is left out."""
MOST_PAIRS, MOST_ROWS = 5000, 1000
"""Pairs of records that are looked at for each column, and rows."""
LEAST_RECORDS = 10
"""Fewest records that share their values with others; twice as many rows."""
DIFFERENT = 0.1
"""Fewest pairs of different entities among those with the same value: of fewer, most may be duplicates with errors."""
KEPT, LEAST_KEPT = 0.9, 0.6
"""Share of duplicates that agree in a column: at first, and at the least."""
LEAST_GAIN = 4.0
"""Log likelihood that is lost at the least if half of `LEAST_SHARE` follows."""
COVERED = 0.8
"""Share of the letters of a text in its parts, from which on it holds nothing else."""


class Follows(NamedTuple):
    """The columns `of` which one is a function, and for what share of rows, or of pairs with the same value, it is."""

    of: list[int]
    share: float


def find_followers(values: NDArray[np.int32], types: tuple[ColumnType, ...]) -> dict[int, Follows]:
    """Find the columns that follow from others, by the codes ``[N, F]`` and types of the fields; two columns alone are
    not compared, since none is left that shows whether records are of one entity."""
    N, F = values.shape
    if N < 2 * LEAST_RECORDS or F < 3:
        return {}
    rng = np.random.default_rng(0)
    found = _find_parts(values[rng.permutation(N)[:MOST_ROWS]], types)
    shares = [np.bincount(x[x >= 0]) / (x >= 0).sum() for x in values.T]
    entropy = [float(-(p * np.log(p)).sum()) for p in shares]
    by_chance = np.array([(p**2).sum() for p in shares]) * (1.0 - 1e-6)
    # a chain of columns is taken apart from its coarse end
    for parent in sorted(set(range(F)) - set(found), key=lambda f: (entropy[f], -f)):
        pairs = draw_pairs(values[:, parent], rng)
        for child in range(F):
            left = [f for f in range(F) if f not in (parent, child, *found)]
            if child not in found and (entropy[child], -child) < (entropy[parent], -parent) and left:
                share = _share_given(values, pairs, by_chance, [parent, child, *left])
                if share >= LEAST_SHARE:
                    found[child] = Follows([parent], share)
    return found


def _find_parts(values: NDArray[np.int32], types: tuple[ColumnType, ...]) -> dict[int, Follows]:
    """Find columns whose cells are parts of another one's, or of which others are all parts."""
    words = [[str(field.levels[x]) if x >= 0 else "" for x in values[:, f]] for f, field in enumerate(types)]
    length = [sum(c.isalnum() for c in "".join(column)) / max(sum(map(bool, column)), 1) for column in words]
    found: dict[int, Follows] = {}
    # the longest first; of two copies the first stays
    order = sorted(range(len(types)), key=lambda f: (-length[f], f))
    for rank, whole in enumerate(order):
        later = [f for f in order[rank + 1 :] if f not in found and whole not in found]
        shares = {f: _share_within(words[f], words[whole], types[whole].type == "date") for f in later}
        parts = [f for f in sorted(later) if shares[f] >= LEAST_SHARE]
        if len(parts) > 1 and sum(length[f] for f in parts) >= COVERED * length[whole]:
            found[whole] = Follows(parts, min(shares[f] for f in parts))
        else:
            found |= {f: Follows([whole], shares[f]) for f in parts}
    return found


def _share_within(part: list[str], whole: list[str], is_date: bool) -> float:
    """The share of the rows with a `part` in which it is within the `whole`, above that of other rows."""

    def is_within(word: str, text: str) -> bool:
        return word in text if not is_date else word.lstrip("0") in [number.lstrip("0") for number in text.split("-")]

    present = [i for i, word in enumerate(part) if word.strip("0")]
    if len(present) < 2 * LEAST_RECORDS:
        return 0.0
    rate = sum(is_within(part[i], whole[i]) for i in present) / len(present)
    by_chance = sum(is_within(part[i], whole[i - len(whole) // 2]) for i in present) / len(present)
    return (rate - by_chance) / (1.0 - by_chance) if rate > by_chance else 0.0


def draw_pairs(codes: NDArray[np.signedinteger[Any]], rng: np.random.Generator) -> NDArray[np.int64]:
    """Pairs of records ``[pairs, 2]`` with the same value of a column."""
    records = rng.permutation(np.flatnonzero(codes >= 0))
    records = records[np.argsort(codes[records], kind="stable")]
    codes, found, size = codes[records], [np.empty((0, 2), dtype=np.int64)], 0
    for step in range(1, len(codes)):
        here = np.flatnonzero(codes[step:] == codes[:-step])
        found.append(np.column_stack((records[here], records[here + step])))
        size += len(here)
        if not len(here) or size > 2 * MOST_PAIRS:
            break
    return rng.permutation(np.concatenate(found))[:MOST_PAIRS]


def _share_given(
    values: NDArray[np.int32], pairs: NDArray[np.int64], by_chance: NDArray[np.float64], columns: list[int]
) -> float:
    """The share of the second of the `columns` that follows from the first, whose values agree in the `pairs`; the
    others show which are duplicates. 0 where it is not certain."""
    parent, child = columns[:2]
    pairs = pairs[(values[pairs, child] >= 0).all(axis=1)]
    if not len(pairs):
        return 0.0
    one, other = values[pairs.T][:, :, columns[1:]]
    both, alike, base = (one >= 0) & (other >= 0), (one == other) & (one >= 0), by_chance[columns[1:]]
    known = float((values[values[:, child] >= 0, parent] >= 0).mean())
    records = len(np.unique(pairs)) - len(np.unique(values[pairs, parent]))
    room = 1.0 - base[0]
    # what follows agrees in all pairs, of duplicates or not
    if records < LEAST_RECORDS or known * (alike[:, 0].mean() - base[0]) < LEAST_SHARE * LEAST_KEPT * room:
        return 0.0
    free, rate, kept, different = _fit_pairs(both, alike, base)
    least = _fit_pairs(both, alike, base, base[0] + room * LEAST_SHARE / 2)[0]
    # pairs of the same records are not independent
    if different < DIFFERENT or (free - least) * min(records / len(pairs), 1.0) < LEAST_GAIN:
        return 0.0
    return known * min(float((rate - base[0]) / max(kept - base[0], 1e-9)), 1.0)


def _fit_pairs(
    both: NDArray[np.bool_], alike: NDArray[np.bool_], base: NDArray[np.float64], rate: float | None = None
) -> tuple[float, float, float, float]:
    """Fit a mixture of duplicates and different entities to pairs ``[pairs, columns]``, in 30 steps of EM. Columns of
    different entities agree as by chance (`base`), the first one at a `rate` of its own. Returns the log likelihood,
    this rate, that of duplicates, and the share of pairs of different entities."""
    agrees, differs = alike.astype(float), (both & ~alike).astype(float)
    same, chance, duplicates = np.full(len(base), KEPT), base.copy(), 0.5
    chance[0] = KEPT if rate is None else rate
    for _step in range(30):
        of_same = agrees @ np.log(same) + differs @ np.log1p(-same) + np.log(duplicates)
        of_chance = agrees @ np.log(chance) + differs @ np.log1p(-chance) + np.log1p(-duplicates)
        total = np.logaddexp(of_same, of_chance)
        weight = np.exp(of_same - total)
        duplicates = float(np.clip(weight.mean(), 0.001, 0.999))
        same = np.clip((weight @ agrees + KEPT) / (weight @ (agrees + differs) + 1.0), LEAST_KEPT, 0.999)
        if rate is None:
            chance[0] = np.clip((1.0 - weight) @ agrees[:, 0] / max((1.0 - weight).sum(), 1e-9), base[0], 0.999)
    return float(total.sum()), float(chance[0]), float(same[0]), 1.0 - duplicates
