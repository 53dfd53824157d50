"""Pairs of items that may belong together, such as records that agree in a few fields: anchors where nearly all pairs
of items belong apart.

A draw is one of the pairs with probability `share`, each as likely as another, and else any two items. It does not
depend on the state, so it cancels from a ratio as a uniform pair does, and every pair of items keeps a positive
probability: the list makes no partition impossible.
"""
import numpy as np

from splitmerge_cli.core.memory cimport ints_of, longs_of


cdef class NearPairs:
    """Pairs of items that may belong together.

    Parameters
    ----------
    pairs : array_like of int, shape (P, 2)
        Two different items each; one that occurs twice, either way round, counts once.
    N : int
        Number of items.
    share : float
        Share of the draws that are one of the pairs, above 0 and below 1.

    Raises
    ------
    ValueError
        Items that are not from 0 to N - 1 or a pair of the same item; a `share` out of range.

    Examples
    --------
    >>> near = NearPairs([[2, 0], [1, 2], [0, 2]], 4)
    >>> near.pairs.tolist(), near.begin.tolist(), near.other.tolist()
    ([[0, 2], [1, 2]], [0, 1, 2, 4, 4], [2, 2, 0, 1])
    """

    def __init__(self, pairs, Py_ssize_t N, double share=0.9):
        two = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        low, high = two.min(axis=1), two.max(axis=1)
        if two.size and (low.min() < 0 or high.max() >= N or (low == high).any()):
            raise ValueError(f"pairs: expected two different items from 0 to {N - 1} each")
        if not 0.0 < share < 1.0:
            raise ValueError(f"share={share!r}: expected a number above 0 and below 1")
        keys = np.unique(low * N + high)
        self.N, self.P, self.share = N, len(keys), share
        self.pairs = np.column_stack([keys // max(N, 1), keys % max(N, 1)]).astype(np.int32)
        both = np.sort(np.concatenate([keys, self.pairs[:, 1] * np.int64(N) + self.pairs[:, 0]]))
        self.begin = np.searchsorted(both, np.arange(N + 1) * np.int64(N))
        self.other = (both % max(N, 1)).astype(np.int32)
        for array in (self.pairs, self.begin, self.other):
            array.flags.writeable = False
        self.first = longs_of(self.begin)
        if self.P:
            self.pair, self.near = ints_of(self.pairs), ints_of(self.other)

    def __len__(self):
        return self.P

    cdef void draw(self, Rng rng, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil:
        """Draw two different items; N is at least 2."""
        cdef Py_ssize_t t
        if self.P and rng.draw_coin(self.share):
            t = rng.draw_index(self.P)
            i[0], j[0] = self.pair[2 * t], self.pair[2 * t + 1]
        else:
            rng.draw_two(self.N, i, j)
