"""Values of the fields of records: distinct ones in order, with their codes; and which are near each other: which
values a typing error, a swapped day and month or a small difference may turn into each other.

The search is exact: two strings within d edits have a part in common that d deletions leave of each, so that a sort of
such parts finds them, without a comparison of all pairs.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA, JaroWinkler
from rapidfuzz.process import cpdist

from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.records.forms import find_short_forms


def code_fields(
    columns: Sequence[Sequence[str | None]], types: Sequence[str]
) -> tuple[NDArray[np.int32], tuple[ColumnType, ...]]:
    """Code the cells of each field, None where one is missing: numbers in ascending order, words in alphabetical order.

    >>> values, types = code_fields([["ann", None, "bo"], ["7", "12", "7"]], ["string", "number"])
    >>> values.tolist(), types[1].levels
    ([[0, 0], [-1, 1], [1, 0]], ('7', '12'))
    """
    values = np.full((len(columns[0]), len(columns)), -1, dtype=np.int32)
    fields = []
    for j, (cells, type) in enumerate(zip(columns, types, strict=True)):
        levels = sorted({cell for cell in cells if cell is not None}, key=float if type == "number" else None)
        code = {level: k for k, level in enumerate(levels)}
        values[:, j] = [-1 if cell is None else code[cell] for cell in cells]
        fields.append(ColumnType(type, tuple(levels)))
    return values, tuple(fields)


def words_of(dataset: Dataset) -> list[list[str | None]]:
    """The cells of each field as words, None where one is missing."""
    fields = zip(dataset.types or (), dataset.values.T, strict=True)
    return [[None if code < 0 else field.levels[code] for code in codes] for field, codes in fields]


Pairs = NDArray[np.int64]
"""int64 ``[P, 2]``: positions of two values, the smaller first, ascending."""
SIMILARITIES = ("edit", "jaro_winkler")
LIMITS = (2, 5)
"""Lengths from which on a string may have one and two edits; a pair has the limit of its shorter string."""
PREFIX = 4
"""Characters that two strings have in common to be near by Jaro-Winkler alone."""
LEAST_SIMILARITY = 0.9
"""Jaro-Winkler similarity from which on such strings are near."""
EDIT = 0.05
"""Difference in Jaro-Winkler similarity that weighs as one edit."""
DAYS = 3
"""Days between two dates that are near."""
RANKS = 3
"""Places between two numbers, in their order, that may be near."""
CLOSE = 0.01
"""Difference of near numbers that are not whole, in standard deviations."""
MOST_PARTS = 80
"""Parts of a string that are sorted, at most; in a longer string the parts of its beginning."""
MOST_CANDIDATES = (60, 8_000_000)
"""Pairs that share a part: so many a value, or in all. A field that has more of both has a lower limit of edits."""
MOST_NEAR = 40
"""Near values of a value within one edit, on average; of more, or of half as many within two, a field has a lower
limit of edits."""
MANY = 1000
"""Values from which on a field is large enough for that."""
UNSEEN = {"string": (1, 2), "number": (1, 2), "date": (15, 1)}
"""Slips of a value that no record shows, by type: how many, and at which distance. More dates are possible than
occur: with as few as for words, dates that are near by chance pass for slips (half of generated dates were distorted
then, in truth a fifth)."""
_CHUNK = 1 << 20


def near_values(
    levels: Sequence[str], type: str, similarity: str = "edit", strength: float = 2.0
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Find the near values of all values in a field, with their weights.

    docs/models/records.md says which values are near, and at which distance: its first table and "`similarity`". A
    date with day and month swapped, or some days off, and a close number are as far as one edit.

    `levels`: the distinct values, dates as YYYY-MM-DD, numbers as text; `type`: of the field; `similarity`: how strings
    are compared; the weight is exp(-`strength` x distance). Returns where the near values of each value begin, int64 of
    shape (V + 1,); these, int32 of shape (M,), ascending for each value, without the value itself, symmetric; and their
    weights, float64 of shape (M,), positive.

    >>> begin, other, weight = near_values(["smith", "smyth", "jones"], "string", strength=1.0)
    >>> begin.tolist(), other.tolist(), weight.round(3).tolist()
    ([0, 1, 2, 2], [1, 0], [0.368, 0.368])
    """
    V = len(levels)
    pairs, distance = np.empty((0, 2), dtype=np.int64), np.empty(0)
    if type == "string":
        pairs, distance = _within_edits(levels, len(LIMITS))
        if similarity == "jaro_winkler":
            pairs, distance = _by_jaro_winkler(levels, pairs)
        if len(short := find_short_forms(levels)):
            pairs, distance = _join((pairs, distance), (short, 1.0))
    elif type == "date":
        digits = [level.replace("-", "") for level in levels]
        pairs, distance = _join(_within_edits(digits, len(LIMITS)), (_near_dates(levels), 1.0))
    elif type == "number":
        numbers = np.array(levels, dtype=np.float64)
        most = 1.0 if (numbers == np.floor(numbers)).all() else CLOSE * float(numbers.std())
        pairs, distance = _join(_within_edits(levels, 1), (_neighbours(numbers, most, RANKS), 1.0))
    both = np.concatenate((pairs, pairs[:, ::-1]))
    order = np.lexsort((both[:, 1], both[:, 0]))
    begin = np.concatenate(([0], np.cumsum(np.bincount(both[:, 0], minlength=V)))).astype(np.int64)
    weight = np.exp(-strength * np.concatenate((distance, distance)))
    return begin, both[order, 1].astype(np.int32), np.maximum(weight[order], np.finfo(float).tiny)


def slip_norms(
    type: str, begin: NDArray[np.int64], weight: NDArray[np.float64], strength: float = 2.0
) -> NDArray[np.float64]:
    """Factors that make weights of near values probabilities of slips, with a rest for slips that no record shows.
    `begin` and `weight`: of `near_values`. Returns 1 / (sum of the value's weights + weight of `UNSEEN` slips), float64
    of shape (V,); 0 if no value is near another."""
    if not len(weight):
        return np.zeros(len(begin) - 1)
    total = np.diff(np.concatenate(([0.0], np.cumsum(weight)))[begin])
    number, distance = UNSEEN[type]
    unseen = number * np.maximum(np.exp(-strength * distance), np.finfo(float).tiny)
    return np.asarray(1.0 / (total + unseen))


def _within_edits(words: Sequence[str], most: int) -> tuple[Pairs, NDArray[np.float64]]:
    """The pairs of strings within their limits, which are `most` edits or fewer, and their numbers of edits."""
    if most == 0 or len(words) < 2:
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    lengths = np.array([len(word) for word in words])
    limits = np.minimum(np.searchsorted(LIMITS, lengths, side="right"), most)
    texts = np.array(words, dtype=object)
    found: list[Pairs] = []
    edits: list[NDArray[np.float64]] = []
    for d in range(1, most + 1):
        # a string with a higher limit is the longer one of a pair that has this one
        chosen = np.flatnonzero(limits >= d)
        near = np.flatnonzero(limits[chosen] == d)
        if len(near) == 0:
            continue
        longest = int(lengths[chosen[near]].max()) + d
        chosen = chosen[lengths[chosen] <= longest]
        candidates = _share_a_part(texts[chosen].tolist(), d)
        if candidates is None:
            return _within_edits(words, d - 1)
        candidates = chosen[candidates]
        candidates = candidates[limits[candidates].min(axis=1) == d]
        for start in range(0, len(candidates), _CHUNK):
            a, b = texts[candidates[start : start + _CHUNK].T]
            distance = cpdist(a, b, scorer=OSA.distance, score_cutoff=d, dtype=np.int32)
            found.append(candidates[start : start + _CHUNK][distance <= d])
            edits.append(distance[distance <= d].astype(np.float64))
        if 2 * d * sum(map(len, found)) > MOST_NEAR * max(len(words), MANY):
            return _within_edits(words, d - 1)
    return np.concatenate(found or [np.empty((0, 2), dtype=np.int64)]), np.concatenate(edits or [np.empty(0)])


def _share_a_part(words: Sequence[str], d: int) -> Pairs | None:
    """Pairs of different strings of which at most d deletions leave the same; None if these are too many.

    Strings within d edits have such a part, and their beginnings of one length have one, too: edits that shift the rest
    push as many letters out of the longer beginning as they bring into it.
    """
    longest = max(p for p in range(1, MOST_PARTS) if sum(comb(p, k) for k in range(d + 1)) <= MOST_PARTS)
    # the upper bits of the hash, and the number of the string below them: one sort
    bits = np.uint64(max(len(words) - 1, 1).bit_length())
    keys: list[NDArray[np.uint64]] = []
    lengths = np.array([min(len(word), longest) for word in words])
    for length in map(int, np.unique(lengths)):
        here = np.flatnonzero(lengths == length)
        letters = np.array([list(map(ord, words[i][:length])) for i in here.tolist()], dtype=np.uint64)
        owner = here.astype(np.uint64)
        keys += [(hash >> bits << bits) | owner for hash in _parts(letters.reshape(len(here), length), d)]
    both = _distinct(np.concatenate(keys))
    return _pairs_within(both >> bits, (both & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64), len(words))


def _distinct(keys: NDArray[Any]) -> NDArray[Any]:
    """The different keys, ascending. In place; `numpy.unique` takes ten times as long for many millions."""
    keys.sort()
    return keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]


def _parts(letters: NDArray[np.uint64], d: int) -> Iterator[NDArray[np.uint64]]:
    """Hashes of what is left of each row without any 0 to d of its letters."""
    length = letters.shape[1]
    for k in range(min(d, length) + 1):
        for gone in combinations(range(length), k):
            hash = np.ones(len(letters), dtype=np.uint64)
            for j in range(length):
                if j not in gone:
                    # the multiplier of Knuth's MMIX
                    hash = hash * np.uint64(6364136223846793005) + letters[:, j] + np.uint64(1)
                    hash ^= hash >> np.uint64(29)
            yield hash


def _pairs_within(keys: NDArray[np.uint64], owner: NDArray[np.int64], V: int) -> Pairs | None:
    """Pairs of owners with the same key, the keys sorted; None if these are too many."""
    sizes = np.diff(np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1], [True]))))
    if (sizes * (sizes - 1) // 2).sum() > max(MOST_CANDIDATES[0] * V, MOST_CANDIDATES[1]):
        return None
    found = [np.empty(0, dtype=np.int64)]
    here = np.arange(len(keys))
    for step in range(1, int(sizes.max())):
        here = here[here + step < len(keys)]
        here = here[keys[here] == keys[here + step]]
        a, b = owner[here], owner[here + step]
        found.append((np.minimum(a, b) << 32) | np.maximum(a, b))
    pairs = _distinct(np.concatenate(found))
    return np.column_stack((pairs >> 32, pairs & 0xFFFFFFFF))


def _by_jaro_winkler(levels: Sequence[str], pairs: Pairs) -> tuple[Pairs, NDArray[np.float64]]:
    """These pairs and the similar ones that begin alike, with their distances by Jaro-Winkler."""
    texts = np.array(levels, dtype=object)
    long = np.array([i for i, level in enumerate(levels) if len(level) >= PREFIX], dtype=np.int64)
    if len(long):
        keys = np.unique([levels[i][:PREFIX] for i in long], return_inverse=True)[1].astype(np.uint64)
        order = np.argsort(keys, kind="stable")
        alike = _pairs_within(keys[order], long[order], len(levels))
        if alike is not None and len(alike):
            similar = cpdist(*texts[alike.T], scorer=JaroWinkler.similarity, dtype=np.float64) >= LEAST_SIMILARITY
            pairs = _join((pairs, 1.0), (alike[similar], 1.0))[0]
    if len(pairs) == 0:
        return pairs, np.empty(0)
    return pairs, cpdist(*texts[pairs.T], scorer=JaroWinkler.distance, dtype=np.float64) / EDIT


def _near_dates(levels: Sequence[str]) -> Pairs:
    """Pairs of dates some days apart, or with day and month swapped."""
    days = np.array([date.fromisoformat(level).toordinal() for level in levels], dtype=np.int64)
    code = {level: i for i, level in enumerate(levels)}
    swapped = [(i, code.get(f"{level[:5]}{level[8:]}-{level[5:7]}", i)) for level, i in code.items()]
    both = np.array([p for p in swapped if p[0] < p[1]], dtype=np.int64).reshape(-1, 2)
    return np.concatenate((_neighbours(days.astype(float), DAYS, DAYS), both))


def _neighbours(numbers: NDArray[np.float64], most: float, ranks: int) -> Pairs:
    """Pairs of numbers that differ by `most` at most, and are so many places apart in their order."""
    order = np.argsort(numbers, kind="stable")
    ascending = numbers[order]
    found = [np.empty((0, 2), dtype=np.int64)]
    for step in range(1, min(ranks, len(numbers) - 1) + 1):
        close = np.flatnonzero(ascending[step:] - ascending[:-step] <= most)
        found.append(np.column_stack((order[close], order[close + step])))
    return np.sort(np.concatenate(found), axis=1)


def _join(*parts: tuple[Pairs, NDArray[np.float64] | float]) -> tuple[Pairs, NDArray[np.float64]]:
    """Pairs of several searches, each once, with their least distances."""
    pairs = np.concatenate([part[0] for part in parts])
    distance = np.concatenate([np.broadcast_to(part[1], len(part[0])) for part in parts])
    keys = (pairs[:, 0] << 32) | pairs[:, 1]
    order = np.lexsort((distance, keys))
    first = order[np.append(True, keys[order][1:] != keys[order][:-1])[: len(keys)]]
    return pairs[first], distance[first]
