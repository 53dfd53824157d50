"""Columns that describe a record and not its entity: its number, where it comes from, when it was made, notes on it.

Records that agree in every column of names and places are of one entity, where so many coincidences have no other
cause. A column describes the record if these agree in it hardly more than others do.

No measure can distinguish a family of different people from one person with several records and a name that changes. So
only columns are examined whose cells look like codes, days, categories or notes, and the others have to agree.
"""

from collections.abc import Collection, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from splitmerge_cli.data.dataset import ColumnType
from splitmerge_cli.kinds.records.dependent_columns import LEAST_RECORDS, draw_pairs, find_followers

YEARS = 25
"""Years that days are spread over, from which on they are of people's lives, not of entries."""
NEARLY_ALL = 0.9
"""Share of different cells, and of those with a digit, from which on a column may number records."""
WORDS = 5.0
"""Words of a cell, on average, from which on a column may hold notes."""
ALIKE_CODES, ALIKE_NOTES = 0.8, 0.6
"""Similarity from which on two codes are alike, but for typing errors, and share of the words of notes."""
LEAST_RECURS = 0.2
"""Share of the pairs of one entity that agree in a column, above chance, up to which it describes no entity; twice as
many must be excluded by two standard errors."""
NO_CHANCE = 3.0
"""Log of how many times rarer than one among all pairs of records a coincidence is that shows one entity."""
MOST_CROSSED = 6
"""Columns, those with the most information, each two of which are searched for pairs that may be of one entity."""
MOST_COMPARED = 1000
"""Pairs that are compared in a column."""


def find_differing(
    values: NDArray[np.int32], types: Sequence[ColumnType], exempt: Collection[int] = ()
) -> dict[int, float]:
    """Find columns in which records of one entity differ, by the codes ``[N, F]`` and types of the fields.

    The columns that are `exempt` are not examined. Returns the share of pairs of one entity that agree in each column.
    """
    N, F = values.shape
    asked = [f for f in range(F) if f not in exempt and _may_describe_records(values[:, f], types[f])]
    others = [f for f in range(F) if f not in asked]
    # what follows from another column is no further coincidence
    following = find_followers(values[:, others], tuple(types[f] for f in others))
    names = [f for d, f in enumerate(others) if d not in following]
    if not asked or len(names) < 2:
        return {}
    rng = np.random.default_rng(0)
    rarity = [-np.log(np.bincount(x[x >= 0]) / max((x >= 0).sum(), 1)) for x in values.T]
    crossed = sorted(names, key=lambda f: -float((rarity[f] * np.exp(-rarity[f])).sum()))[:MOST_CROSSED]
    pairs = np.concatenate([draw_pairs(_cross(values[:, f], values[:, g]), rng) for f, g in combinations(crossed, 2)])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    one, other = values[pairs.T]
    known, equal = (one >= 0) & (other >= 0), (one == other) & (one >= 0)
    pairs, equal, one = (part[~(known & ~equal)[:, names].any(axis=1)] for part in (pairs, equal, one))
    information = np.column_stack([np.where(equal[:, f], rarity[f][one[:, f]], 0.0) for f in (*names, *asked)])
    enough = np.log(max(N * (N - 1) / 2, 1.0)) + NO_CHANCE
    found = {}
    for d, f in enumerate(asked, len(names)):
        certain = pairs[np.delete(information, d, axis=1).sum(axis=1) >= enough]
        certain = certain[(values[certain, f] >= 0).all(axis=1)]
        if len(certain) < 2 * LEAST_RECORDS or len(np.unique(certain)) < 2 * LEAST_RECORDS:
            continue
        by_chance = rng.choice(np.flatnonzero(values[:, f] >= 0), (MOST_COMPARED, 2))
        by_chance = by_chance[by_chance[:, 0] != by_chance[:, 1]]
        share, base = (
            _share_alike(values[rows, f], types[f]) for rows in (rng.permutation(certain)[:MOST_COMPARED], by_chance)
        )
        least = base + 2.0 * LEAST_RECURS * (1.0 - base)
        # records of one entity give pairs that are not independent
        error = np.sqrt(least * (1.0 - least) / (len(np.unique(certain)) / 2))
        if share <= min(least - 2.0 * error, base + LEAST_RECURS * (1.0 - base)):
            found[f] = share
    return found


def _may_describe_records(codes: NDArray[np.int32], field: ColumnType) -> bool:
    """Whether cells look like codes that number records, days, categories or notes."""
    if field.type == "date":
        years = [int(str(level)[:4]) for level in field.levels]
        return bool(np.subtract(*np.quantile(years, (0.95, 0.05))) < YEARS)
    if field.type == "categorical" or _are_notes(field):
        return True
    digits = np.mean([any(c.isdigit() for c in level) for level in map(str, field.levels)])
    return bool(min(digits, len(field.levels) / max((codes >= 0).sum(), 1)) >= NEARLY_ALL)


def _are_notes(field: ColumnType) -> bool:
    return field.type == "string" and sum(len(str(level).split()) for level in field.levels) >= WORDS * len(
        field.levels
    )


def _cross(one: NDArray[np.int32], other: NDArray[np.int32]) -> NDArray[np.int64]:
    """Codes of the pairs of values of two columns, -1 where one of them is missing."""
    crossed: NDArray[np.int64] = one.astype(np.int64) * (int(other.max(initial=0)) + 1) + other
    return np.where((one >= 0) & (other >= 0), crossed, -1)


def _share_alike(codes: NDArray[np.int32], field: ColumnType) -> float:
    """The share of pairs ``[pairs, 2]`` of cells that are equal but for typing errors, or a few words of notes."""
    notes = _are_notes(field)
    alike = 0
    for a, b in codes.tolist():
        one, other = str(field.levels[a]), str(field.levels[b])
        if a == b or field.type in ("categorical", "date"):
            alike += a == b
        elif notes:
            first, second = set(one.split()), set(other.split())
            alike += len(first & second) >= ALIKE_NOTES * len(first | second)
        else:
            alike += Levenshtein.normalized_similarity(one, other) >= ALIKE_CODES
    return alike / max(len(codes), 1)
