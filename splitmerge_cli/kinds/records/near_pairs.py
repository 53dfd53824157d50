"""Read-only tables of the model of records: how often each value of a field occurs, and which values are near it.

Pairs of records that may be of one entity, without a comparison of all pairs: records that agree in a few fields, one
of them exactly or nearly, the most likely ones first.
"""

import heapq
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.core.near_pairs import NearPairs
from splitmerge_cli.diagnostics.partition_losses import find_components
from splitmerge_cli.kinds.records.similar_values import near_values, slip_norms


def prepare(
    values: NDArray[np.int32], fields: Sequence[tuple[str, Sequence[str]]], similarity: str, strength: float
) -> dict[str, Any]:
    """Tables of the values in all fields, numbered through: values of field f begin at ``begin[f]``.

    `values`: int32 of shape (N, F), codes of a field's values, from 0; -1 where missing. `fields`: for each its type
    and its levels, the words that the codes stand for. A ValueError for a field without a known cell. The tables:
    ``value`` int32 ``[N F]``, numbers of values, -1 where missing; ``begin`` int32 ``[F + 1]``; ``share`` float64
    ``[U]``, of the records whose cell is known; ``near_begin`` int64 ``[U + 1]``, ``near`` int32 and ``alike`` float64
    ``[M]``: the values near each and the weights of these, symmetric; ``norm`` float64 ``[U]``: 1 over the sum of a
    value's weights and the unseen slips' weight, 0 in a field without near values; ``known`` int64 ``[F]``: known
    cells.
    """
    begin, share, starts, near, alike, norm = [0], [], [np.zeros(1, dtype=np.int64)], [], [], []
    known = (values >= 0).sum(axis=0)
    for f, (kind, levels) in enumerate(fields):
        if not known[f]:
            raise ValueError(f"field {f + 1}: no known cell; expected one at least")
        n = len(levels)
        share.append(np.bincount(values[values[:, f] >= 0, f], minlength=n) / known[f])
        first, other, weight = near_values(levels, kind, similarity, strength)
        starts.append(first[1:] + starts[-1][-1])
        near.append(other + begin[-1])
        alike.append(weight)
        norm.append(slip_norms(kind, first, weight, strength))
        begin.append(begin[-1] + n)
    near_begin = np.concatenate(starts)
    first_of = np.array(begin[:-1], dtype=np.int32)
    return {
        "value": np.where(values >= 0, values + first_of, -1).astype(np.int32).ravel(),
        "begin": np.array(begin, dtype=np.int32),
        "share": np.concatenate(share),
        "near_begin": near_begin,
        # one more entry: there may be none
        "near": np.concatenate([*near, np.zeros(1)]).astype(np.int32),
        "alike": np.concatenate([*alike, np.zeros(1)]),
        "norm": np.concatenate(norm),
        "known": known.astype(np.int64),
    }


def vectors_of(values: NDArray[np.int32], data: Any) -> dict[str, Any]:
    """Records as ``vectors`` whose cosines say how much they agree: for each value the root of - log share."""
    known = values >= 0
    numbers = (values + data.begin[:-1])[known]
    starts = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    weights = np.sqrt(np.maximum(-np.log(data.share[numbers]), 0.0))
    return {"vectors": csr_array((weights, numbers, starts), shape=(len(values), int(data.begin[-1])))}


Pairs = NDArray[np.int64]
"""int64 ``[P]``: the smaller record times N, plus the larger one."""
MOST_FIELDS = 4
"""Fields that a blocking key has, at most."""
PLACES = 10
"""Records of one key that are paired with a record, at most: those next to it by number."""
PER_RECORD = 3.0
"""Pairs of a key, by record, at most: where it has more, its rare values make pairs, and others need one more field."""
MOST_NEAR = 100
"""Near values in two fields that are looked up, by record, at most."""
MOST = 20
"""Pairs that are kept, by record, at most."""
LEAST, FIRST = -7.0, -12.0
"""Log odds of a pair, at least; and by the first scores, which know nothing of the fields."""
DISTORTED, SIMILAR = 0.1, 0.5
"""Shares of distorted cells, and of similar ones among these, in the first scores."""
SURE, PRIOR = 0.0, 10.0
"""Log odds from which on a pair tells how often its fields differ; and how many pairs the first shares count for."""
_CHUNK = 1 << 20


def find_pairs(
    values: NDArray[np.int32], data: Any, sources: NDArray[np.int32] | None = None, most: float = MOST
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find pairs of records that may be of one entity.

    A blocking key is a set of fields, at most `MOST_FIELDS`, in which records agree rarely, as they do in no part of
    it; where a key has too many pairs, its rarest values make some. Records of one key are a pair, and so are records
    that agree except in one field, where their values are near, and records whose values in two fields are near. A
    pair's score is its log odds of one entity over two, field by field, as if truths were one of the two values. Pairs
    that are sure by a first score show how often each field differs, which the second score uses: a field that differs
    in all of them speaks against no pair. Pairs whose odds are below exp(`LEAST`) are left out.

    `values`: int32 of shape (N, F), codes of a field's values, -1 where missing; `data`: of ``record_tables.prepare``;
    two records of one of the `sources`, int32 of shape (N,), are no pair; `most`: pairs by record, at most; the most
    likely ones stay. Returns the pairs, int32 of shape (P, 2), the smaller record first, ascending, and their log odds.
    """
    N = len(values)
    numbers = np.where(values >= 0, values + data.begin[:-1], -1)
    # what a value adds to a key; -1, missing, is the last
    code = np.random.default_rng(1).integers(1 << 63, size=int(data.begin[-1]) + 1, dtype=np.uint64)
    F = numbers.shape[1]
    score = _Score(numbers, data, np.full(F, DISTORTED), np.full(F, SIMILAR))
    found: list[Pairs] = [np.empty(0, dtype=np.int64)]
    scores: list[NDArray[np.float64]] = [np.empty(0)]
    for pairs in _candidates(numbers, code, data):
        if sources is not None:
            pairs = pairs[sources[pairs // N] != sources[pairs % N]]
        for start in range(0, len(pairs), _CHUNK):
            chunk = pairs[start : start + _CHUNK]
            odds = score(chunk // N, chunk % N)
            found.append(chunk[odds > FIRST])
            scores.append(odds[odds > FIRST])
    pairs, first = np.unique(np.concatenate(found), return_index=True)
    sure = pairs[np.concatenate(scores)[first] > SURE]
    score = _Score(numbers, data, *score.learn(sure // N, sure % N))
    odds = score(pairs // N, pairs % N)
    pairs, odds = pairs[odds > LEAST], odds[odds > LEAST]
    if len(pairs) > most * N:
        kept = np.sort(np.argsort(-odds, kind="stable")[: int(most * N)])
        pairs, odds = pairs[kept], odds[kept]
    return np.column_stack([pairs // N, pairs % N]).astype(np.int32), odds


def _candidates(numbers: NDArray[np.int64], code: NDArray[np.uint64], data: Any) -> Iterator[Pairs]:
    """Pairs of each key, which may come again."""
    N, F = numbers.shape
    chosen: list[tuple[int, ...]] = []
    for size in range(1, min(F, MOST_FIELDS) + 1):
        for key in combinations(range(F), size):
            if any(set(part) <= set(key) for part in chosen):
                continue
            complete = np.flatnonzero((numbers[:, key] >= 0).all(axis=1))
            keys = code[numbers[complete][:, np.array(key)]].sum(axis=1, dtype=np.uint64)
            order = np.argsort(keys, kind="stable")
            keys, records = keys[order], complete[order]
            pairs = _pairs_within(keys, records, N)
            if len(pairs) > PER_RECORD * N and size < F:
                yield _of_rare(keys, records, N)
                continue
            chosen.append(key)
            yield pairs
            for f in key:
                yield _nearly(keys, records, numbers[records, f], code, data, N)
    for f, g in combinations(range(F), 2):
        complete = np.flatnonzero((numbers[:, (f, g)] >= 0).all(axis=1))
        yield _nearly_both(complete, numbers[complete, f], numbers[complete, g], data, N)


def _pairs_within(keys: NDArray[np.uint64], records: NDArray[np.int64], N: int) -> Pairs:
    """Pairs of records with one key, at most `PLACES` places apart; the keys are sorted, and their records."""
    here, found = np.arange(len(keys)), [np.empty(0, dtype=np.int64)]
    for step in range(1, PLACES + 1):
        here = here[here + step < len(keys)]
        here = here[keys[here] == keys[here + step]]
        found.append(records[here] * N + records[here + step])
    return np.concatenate(found)


def _of_rare(keys: NDArray[np.uint64], records: NDArray[np.int64], N: int) -> Pairs:
    """`_pairs_within` of the keys that the fewest records have, about `PER_RECORD` pairs by record; keys are sorted."""
    start = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.empty(0, dtype=np.int64)
    sizes = np.diff(np.append(start, len(keys)))
    by_size = np.bincount(sizes, minlength=1)
    counts = np.arange(len(by_size))
    pairs = np.cumsum(by_size * counts * np.minimum(counts - 1, 2 * PLACES) / 2.0)
    most = int(np.searchsorted(pairs, PER_RECORD * N, side="right")) - 1
    here = np.repeat(sizes <= most, sizes)
    return _pairs_within(keys[here], records[here], N)


def _nearly_both(records: NDArray[np.int64], x: NDArray[np.int64], y: NDArray[np.int64], data: Any, N: int) -> Pairs:
    """Pairs of records whose values `x` and `y` of two fields are near in both; none if these are too many."""
    U = int(data.begin[-1])
    degree_x, degree_y = (data.near_begin[v + 1] - data.near_begin[v] for v in (x, y))
    both = degree_x * degree_y
    if both.sum() > MOST_NEAR * N:
        return np.empty(0, dtype=np.int64)
    row = np.repeat(np.arange(len(x)), both)
    place = np.arange(len(row)) - np.repeat(np.cumsum(both) - both, both)
    wanted = data.near[data.near_begin[x][row] + place // degree_y[row]].astype(np.int64) * U
    wanted += data.near[data.near_begin[y][row] + place % degree_y[row]]
    # once for each pair
    later = wanted > (x * U + y)[row]
    keys = x * U + y
    order = np.argsort(keys, kind="stable")
    return _look_up(keys[order], records[order], records[row[later]], wanted[later], N)


def _nearly(
    keys: NDArray[np.uint64],
    records: NDArray[np.int64],
    x: NDArray[np.int64],
    code: NDArray[np.uint64],
    data: Any,
    N: int,
) -> Pairs:
    """Pairs of records with the same key but for a field whose values `x` are near."""
    degree = data.near_begin[x + 1] - data.near_begin[x]
    row = np.repeat(np.arange(len(x)), degree)
    entry = np.arange(len(row)) - np.repeat(np.cumsum(degree) - degree, degree) + data.near_begin[x][row]
    near = data.near[entry]
    # once for each pair
    row, near = row[near > x[row]], near[near > x[row]]
    return _look_up(keys, records, records[row], keys[row] - code[x[row]] + code[near], N)


def _look_up(
    keys: NDArray[Any], records: NDArray[np.int64], a: NDArray[np.int64], wanted: NDArray[Any], N: int
) -> Pairs:
    """Pairs of each record in `a` and those that have the key it wants, at most `PLACES`; keys are sorted, and their
    records."""
    first, end = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")
    found = [np.empty(0, dtype=np.int64)]
    for step in range(PLACES):
        there = first + step < end
        a, first, end = a[there], first[there], end[there]
        b = records[first + step]
        found.append(np.minimum(a, b) * N + np.maximum(a, b))
    return np.concatenate(found)


def near_pairs_of(
    values: NDArray[np.int32], data: Any, sources: NDArray[np.int32] | None = None
) -> dict[str, NearPairs]:
    """Near pairs of the model: ``near_pairs``, of `find_pairs`."""
    pairs, odds = find_pairs(values, data, sources)
    return {"near_pairs": NearPairs(pairs, len(values), odds=odds)}


def most_alike(values: NDArray[np.int32], data: Any, pairs: NDArray[np.int32]) -> int:
    """The most fields in which two records, one of the `pairs` ``[P, 2]``, have equal or near values."""
    numbers = np.where(values >= 0, values + data.begin[:-1], -1)
    shares, alike = np.full(values.shape[1], 0.5), np.zeros(len(pairs), dtype=int)
    for _, known, a, b, place in _Score(numbers, data, shares, shares)._compare(*pairs.T):
        alike[known] += (a == b) | (place >= 0)
    return int(alike.max(initial=0))


def find_blocks(pairs: NDArray[np.int32], odds: NDArray[np.float64], N: int, blocks: int) -> NDArray[np.int32]:
    """Divide records into blocks of about one size that no near pair joins: components of the pairs, packed together.

    Pairs are left out, the least likely ones first, until no component has more records than a block. Returns the block
    of each record, int32 of shape (N,).

    >>> find_blocks(np.array([[0, 1], [1, 2], [3, 4]]), np.array([2.0, -1.0, 3.0]), 6, 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    order, low, high = np.argsort(-odds, kind="stable"), 0, len(odds)
    while low < high:
        middle = (low + high + 1) // 2
        first, second = pairs[order[:middle]].T
        fits = np.bincount(find_components(first, second, N)).max() <= -(-N // blocks)
        low, high = (middle, high) if fits else (low, middle - 1)
    first, second = pairs[order[:low]].T
    component = find_components(first, second, N)
    sizes, block = np.bincount(component), np.zeros(N, dtype=np.int32)
    room = [(0, b) for b in range(blocks)]
    for k in np.argsort(-sizes, kind="stable").tolist():
        used, b = room[0]
        block[k] = b
        heapq.heapreplace(room, (used + int(sizes[k]), b))
    return block[component]


class _Score:
    """Log odds that pairs of records are one entity, by each field's share of distorted cells and of similar ones among
    these."""

    def __init__(
        self, numbers: NDArray[np.int64], data: Any, distorted: NDArray[np.float64], similar: NDArray[np.float64]
    ) -> None:
        self.numbers, self.data, self.U = numbers, data, int(data.begin[-1])
        self.keys = np.repeat(np.arange(self.U), np.diff(data.near_begin)) * self.U + data.near[: data.near_begin[-1]]
        self.apart = np.log(1.0 - (1.0 - distorted) ** 2)
        theta, slip = (np.repeat(shares, np.diff(data.begin)) for shares in (distorted, similar))
        clean = (1.0 - theta) ** 2
        self.equal = np.log(clean / data.share + 1.0 - clean)
        a, b = self.keys // max(self.U, 1), self.keys % max(self.U, 1)
        slips = data.alike[: len(a)] * (data.norm[a] / data.share[b] + data.norm[b] / data.share[a])
        self.near = np.log(((1.0 - theta) * theta * slip)[a] * slips + 1.0 - clean[a])

    def __call__(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        total = np.full(len(i), -np.log(2.5 * len(self.numbers)))
        for f, known, a, b, place in self._compare(i, j):
            term = np.where(a == b, self.equal[a], self.apart[f])
            term[place >= 0] = self.near[place[place >= 0]]
            total[known] += term
        return total

    def learn(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Each field's share of distorted cells, and of similar ones among these, in pairs that are one entity."""
        distorted, similar = np.empty((2, self.numbers.shape[1]))
        agreed = PRIOR * (1.0 - DISTORTED) ** 2
        for f, _, a, b, place in self._compare(i, j):
            differ = np.count_nonzero(a != b) + PRIOR - agreed
            distorted[f] = 1.0 - np.sqrt(1.0 - differ / (len(a) + PRIOR))
            similar[f] = (np.count_nonzero(place >= 0) + SIMILAR * (PRIOR - agreed)) / differ
        return distorted, similar

    def _compare(
        self, i: NDArray[np.int64], j: NDArray[np.int64]
    ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """For each field: the pairs whose cells are known, their values, and where these are near the place of the two
        among all near values; -1."""
        for f in range(self.numbers.shape[1]):
            a, b = self.numbers[i, f], self.numbers[j, f]
            known = np.flatnonzero((a >= 0) & (b >= 0))
            a, b = a[known], b[known]
            found = np.full(len(a), -1)
            if self.data.near_begin[self.data.begin[f]] < self.data.near_begin[self.data.begin[f + 1]]:
                other = np.flatnonzero(a != b)
                wanted = a[other] * self.U + b[other]
                place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
                hit = self.keys[place] == wanted
                found[other[hit]] = place[hit]
            yield f, known, a, b, found
