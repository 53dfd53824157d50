"""Pairs of items that may belong together, such as records that agree in a few fields: anchors where nearly all pairs
of items belong apart.

A draw is one of the pairs with probability `share`, and else any two items. Pairs may have log odds, a guess made
before the chain starts: those that are least certain are drawn most often, since a move changes nothing about a pair
that surely belongs together or apart. A draw does not depend on the state, so it cancels from a ratio as a uniform pair
does, and every pair of items keeps a positive probability: the list makes no partition impossible.
"""
import numpy as np


from splitmerge_cli.core.memory cimport doubles_of, ints_of, longs_of

LIKELY = 0.05
"""Weight of a pair with odds above 1, at least: a chain from single items has to join it."""


class NoNearPairs(ValueError):
    """An option needs a model with near pairs. Who knows the models (`splitmerge_cli.runs.initial`) adds which have."""


cdef class NearPairs:
    """Pairs of items that may belong together: `pairs`, int of shape (P, 2), of `N` items, two different ones each; a
    pair that occurs twice, either way round, counts once. `share`: of the draws that are one of the pairs, above 0 and
    below 1. `odds`, float of shape (P,): log odds that the two belong together. A pair's weight is 1 / cosh(odds / 2),
    proportional to the standard deviation of a coin with these odds, or `LIKELY` where that is more. Without odds all
    pairs are as likely. A ValueError: an item, a share, a number of odds, or odds that are not as said.

    >>> near = NearPairs([[2, 0], [1, 2], [0, 2]], 4)
    >>> near.pairs.tolist(), near.begin.tolist(), near.other.tolist()
    ([[0, 2], [1, 2]], [0, 1, 2, 4, 4], [2, 2, 0, 1])
    """

    def __init__(self, pairs, Py_ssize_t N, double share=0.9, odds=None):
        two = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        low, high = two.min(axis=1), two.max(axis=1)
        if two.size and (low.min() < 0 or high.max() >= N or (low == high).any()):
            raise ValueError(f"pairs: expected two different items from 0 to {N - 1} each")
        if not 0.0 < share < 1.0:
            raise ValueError(f"share={share!r}: expected a number above 0 and below 1")
        keys, which = np.unique(low * N + high, return_inverse=True)
        self.N, self.P, self.share = N, len(keys), share
        self.pairs = np.column_stack([keys // max(N, 1), keys % max(N, 1)]).astype(np.int32)
        weight = np.ones(self.P)
        if odds is not None:
            log_odds = np.asarray(odds, dtype=np.float64)
            if log_odds.shape != (len(two),) or not np.isfinite(log_odds).all():
                raise ValueError(f"odds: expected {len(two)} finite numbers")
            self.odds = np.full(self.P, -np.inf)
            np.maximum.at(self.odds, which, log_odds)
            weight = 1.0 / np.cosh(np.clip(0.5 * self.odds, -300.0, 300.0))
            weight[self.odds > 0.0] = np.maximum(weight[self.odds > 0.0], LIKELY)
            self.odds.flags.writeable = False
        # a pass has a move for each of the heaviest pairs
        self.moves = max(int(np.ceil(weight.sum())), 1)
        weight /= max(weight.sum(), 1e-300)
        both = np.concatenate([keys, self.pairs[:, 1] * np.int64(N) + self.pairs[:, 0]])
        order = np.argsort(both, kind="stable")
        self.begin = np.searchsorted(both[order], np.arange(N + 1) * np.int64(N))
        self.other = (both[order] % max(N, 1)).astype(np.int32)
        self.chances = np.concatenate([weight, weight])[order]
        for array in (self.pairs, self.begin, self.other, self.chances):
            array.flags.writeable = False
        self.first = longs_of(self.begin)
        if self.P:
            self.pair, self.near, self.chance = ints_of(self.pairs), ints_of(self.other), doubles_of(self.chances)
        if self.odds is not None and self.P:
            self.kept, self.aliases = alias_table(weight)
            self.keep, self.alias = doubles_of(self.kept), ints_of(self.aliases)

    def __len__(self):
        return self.P

    @property
    def likely(self):
        """ndarray of int32, shape (Q, 2): the pairs with odds above 1; without odds all."""
        return self.pairs if self.odds is None else self.pairs[self.odds > 0.0]

    cdef void draw(self, Rng rng, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil:
        """Draw two different items; N is at least 2."""
        cdef Py_ssize_t t
        if self.P and rng.draw_coin(self.share):
            t = rng.draw_index(self.P)
            if self.keep != NULL and not rng.draw_coin(self.keep[t]):
                t = self.alias[t]
            i[0], j[0] = self.pair[2 * t], self.pair[2 * t + 1]
        else:
            rng.draw_two(self.N, i, j)

    cdef double weight(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """The probability that `draw` draws items i and j, in any order; N is at least 2."""
        cdef int64_t low = self.first[i], end = self.first[i + 1], high = end, middle
        cdef double total = 2.0 / (<double> self.N * (self.N - 1))
        if not self.P:
            return total
        total *= 1.0 - self.share
        while low < high:
            middle = (low + high) >> 1
            if self.near[middle] < j:
                low = middle + 1
            else:
                high = middle
        return total + self.share * self.chance[low] if low < end and self.near[low] == j else total


def alias_table(double[::1] chance):
    """Walker's alias table: a number t is drawn uniformly, and kept with probability ``keep[t]`` or else replaced by
    ``alias[t]``, so that every number has its chance. `chance`: float64 of shape (P,), of sum 1.

    Vose (1991), A linear algorithm for generating random numbers with a given distribution.
    """
    cdef Py_ssize_t P = chance.shape[0], t, small = 0, large = P
    cdef int32_t low, high
    keep_array, alias_array = np.empty(P), np.arange(P, dtype=np.int32)
    cdef double[::1] keep = keep_array
    cdef int32_t[::1] alias = alias_array
    # below `small` those with less than 1/P, from `large` on those with more
    cdef int32_t[::1] stack = np.empty(P, dtype=np.int32)
    for t in range(P):
        keep[t] = chance[t] * P
        if keep[t] < 1.0:
            stack[small] = <int32_t> t
            small += 1
        else:
            large -= 1
            stack[large] = <int32_t> t
    while small and large < P:
        small -= 1
        low, high = stack[small], stack[large]
        alias[low] = high
        keep[high] -= 1.0 - keep[low]
        if keep[high] < 1.0:
            large += 1
            stack[small] = high
            small += 1
    # what rounding leaves has 1/P each
    for t in range(small):
        keep[stack[t]] = 1.0
    for t in range(large, P):
        keep[stack[t]] = 1.0
    return keep_array, alias_array
