"""Random mixing (Pasula et al. 2003; Wang & Russell 2015, sections 3.3 and 5.1): redistribute two clusters' items.

Two clusters are chosen at random, perhaps the same one twice: then it is a split. A side that comes out empty: a merge.
Else: a re-mix at the same K. Exact ratios, r(a, b) the probability of one redistribution into a + b items:

    split of n items into a + b    Delta * 2 K^2 / (K+1)       r(n, 0) / r(a, b)    EMM
                                   Delta * 2 (K / (K+1))^2     r(n, 0) / r(a, b)    no empty clusters
    merge                          the inverse, from the merged state
    re-mix                         Delta * r(old) / r(new)

`redistribution` is "randomly chosen split point" read as: `cut`, shuffle then cut uniformly, r = a! b! / (n+1)!;
`coin`, section 3.3, r = 2^-n. A proposal with an empty old or new part is null, except the merge of two clusters that
hold items. Cost: O(n) statistics.
"""
from libc.math cimport lgamma, log
from libc.stdint cimport int32_t

from splitmerge_cli.samplers.split_merge cimport ALLOCATION, ANCHORS, MERGE, ORDERS, PRINTED, SPLIT, TARGET, SplitMerge

from splitmerge_cli.core.options import Choice

cdef double LOG_2 = log(2.0)

cdef enum:
    REMIX = 2                           # MOVES, after the frame's


cdef class RM(SplitMerge):
    """Random mixing sampler. Term `anchors`: the choice of the two clusters; `allocation`: r."""

    OPTIONS = (
        Choice("redistribution", "cut", "cut: shuffle, then a uniform split point; coin: a fair coin per item",
               choices=("cut", "coin")),
        *SplitMerge.OPTIONS,
    )
    MOVES = (*SplitMerge.MOVES, "remix")

    cdef bint cut

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.cut = self.options["redistribution"] == "cut"

    cdef double log_r(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """log r(a, b)."""
        if self.cut:
            return lgamma(a + 1.0) + lgamma(b + 1.0) - lgamma(a + b + 2.0)
        return -(a + b) * LOG_2

    cdef double log_pair(self, Py_ssize_t K) noexcept nogil:
        """log of the pair choice's part of a split from K clusters."""
        return LOG_2 + 2 * log(K / (K + 1.0))

    cdef void redistribute(self, Py_ssize_t n) noexcept nogil:
        """Sides of items[:n]; `cut` leaves the items shuffled."""
        cdef Py_ssize_t t, s
        if self.cut:
            self.sides.draw_order()
            self.sides.put_in_order()
            s = self.rng.draw_index(n + 1)
            for t in range(n):
                self.sides.in_a[t] = t < s
        else:
            for t in range(n):
                self.sides.in_a[t] = self.rng.draw_coin(0.5)

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t K = self.model.K, e1, e2, t, n, na = 0
        e1 = self.draw_cluster(K)
        e2 = self.draw_cluster(K)
        if e1 == e2:
            self.propose(SPLIT)
            if K == self.model.kmax:
                return self.null()
        else:
            self.propose(REMIX)
            if self.model.size[e1] == 0 or self.model.size[e2] == 0:
                return self.null()
        self.sides.open(e1, e2, -1, -1)
        self.sides.gather()
        n = self.sides.n
        self.redistribute(n)
        for t in range(n):
            na += self.sides.in_a[t]
        if e1 != e2 and (na == 0 or na == n):
            self.turn_to(MERGE)
            return self.decide_merge(e1, e2, n)
        if na == 0 or na == n:
            return self.null()
        self.sides.stage()
        for t in range(n):
            self.model.join(self.sides.items[t], K if self.sides.in_a[t] else K + 1)
        if e1 == e2:
            return self.decide_split(e1, na, n)
        return self.decide_remix(e1, e2, na, n)

    cdef int decide_split(self, Py_ssize_t c, Py_ssize_t na, Py_ssize_t n) except -1 nogil:
        cdef Py_ssize_t K = self.model.K
        if self.decide(self.term(TARGET, self.log_split_ratio(c, K, K + 1))
                       + self.term(ORDERS, self.log_orders(K + 1))
                       + self.term(ANCHORS, self.log_pair(K))
                       + self.term(ALLOCATION, self.log_r(n, 0) - self.log_r(na, n - na))
                       + self.term(PRINTED, self.log_label_count(K))):
            self.accept_split()
        return 0

    cdef int decide_merge(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t n) except -1 nogil:
        cdef Py_ssize_t K = self.model.K
        if self.decide(self.term(TARGET, self.log_merge_ratio(i, j))
                       + self.term(ORDERS, -self.log_orders(K))
                       + self.term(ANCHORS, -self.log_pair(K - 1))
                       + self.term(ALLOCATION, self.log_r(self.model.size[i], self.model.size[j]) - self.log_r(n, 0))
                       + self.term(PRINTED, -self.log_label_count(K - 1))):
            self.model.commit_merge(i, j)
        return 0

    cdef int decide_remix(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t na, Py_ssize_t n) except -1 nogil:
        cdef int32_t both[2]
        cdef Py_ssize_t t
        cdef int32_t[4] ks
        cdef Py_ssize_t K = self.model.K
        ks[0], ks[1], ks[2], ks[3] = <int32_t> K, <int32_t> (K + 1), <int32_t> i, <int32_t> j
        if self.decide(self.term(TARGET, self.log_ratio_of(ks, 2, 2))
                       + self.term(ALLOCATION, self.log_r(self.model.size[i], self.model.size[j])
                                   - self.log_r(na, n - na))):
            both[0], both[1] = <int32_t> min(i, j), <int32_t> max(i, j)
            for t in range(n):
                self.sides.in_a[t] = not self.sides.in_a[t]
            self.model.commit_sides(both, 2, self.sides.items, self.sides.in_a, n)
        return 0
