"""Random mixing (Pasula et al. 2003; paper 000, sections 3.3 and 5.1): two clusters' items redistributed over two.

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

from splitmerge_cli._kernels cimport Model, Rng, SplitMerge

cdef double LOG2 = log(2.0)

cdef enum:
    SPLIT, MERGE, REMIX                 # MOVES

cdef enum:
    TARGET, LABELS, PAIR, SPREAD        # TERMS


cdef class RM(SplitMerge):
    """Random mixing sampler.

    Parameters
    ----------
    model : Model
    rng : Rng
    redistribution : {'cut', 'coin'}
    mode : {'exact', 'literal'}
    """

    MOVES = ("split", "merge", "remix")
    TERMS = ("target", "labels", "pair", "spread")

    cdef readonly bint cut

    def __init__(self, Model model not None, Rng rng not None, str redistribution="cut", str mode="exact"):
        super().__init__(model, rng, mode)
        if redistribution not in ("cut", "coin"):
            raise ValueError(f"sampler.redistribution: expected cut or coin, got {redistribution!r}")
        self.cut = redistribution == "cut"

    cdef double log_spread(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """log r(a, b)."""
        if self.cut:
            return lgamma(a + 1.0) + lgamma(b + 1.0) - lgamma(a + b + 2.0)
        return -(a + b) * LOG2

    cdef double log_pair(self, Py_ssize_t K) noexcept nogil:
        """log of the pair choice's part of a split from K clusters."""
        cdef double r = LOG2 + 2 * log(K / (K + 1.0))
        return r + log(K + 1.0) if self.model.allows_empty else r

    cdef void redistribute(self, Py_ssize_t n) noexcept nogil:
        """Sides of items[:n]; `cut` leaves the items shuffled."""
        cdef Py_ssize_t t, s
        if self.cut:
            for t in range(n - 1, 0, -1):
                s = self.rng.draw_index(t + 1)
                self.items[t], self.items[s] = self.items[s], self.items[t]
            s = self.rng.draw_index(n + 1)
            for t in range(n):
                self.in_a[t] = t < s
        else:
            for t in range(n):
                self.in_a[t] = self.rng.draw_coin(0.5)

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t K = self.model.K, e1, e2, t, n, a, b, na = 0
        cdef int32_t both[2]
        cdef double r
        e1 = self.rng.draw_index(K)
        e2 = self.rng.draw_index(K)
        if e1 == e2:
            self.propose(SPLIT)
            if K == self.model.kmax:
                return self.null()
        else:
            self.propose(REMIX)
            if self.model.size[e1] == 0 or self.model.size[e2] == 0:
                return self.null()
        self.model.reserve(K)
        n = self.model.members(e1, e2, self.items)
        self.redistribute(n)
        for t in range(n):
            na += self.in_a[t]
        if e1 != e2 and (na == 0 or na == n):
            self.proposed[REMIX] -= 1
            self.propose(MERGE)
            r = (self.term(TARGET, self.log_merge_ratio(e1, e2))
                 - self.term(LABELS, self.log_label_term(K - 1))
                 - self.term(PAIR, self.log_pair(K - 1))
                 - self.term(SPREAD, self.log_spread(n, 0) - self.log_spread(self.model.size[e1], self.model.size[e2])))
            if self.decide(r):
                self.model.commit_merge(e1, e2)
            return 0
        if na == 0 or na == n:
            return self.null()
        a, b = K, K + 1
        self.stage_two(e1, e2)
        for t in range(n):
            self.model.join(self.items[t], a if self.in_a[t] else b)
        if e1 == e2:
            r = (self.term(TARGET, self.log_split_ratio(e1, a, b))
                 + self.term(LABELS, self.log_label_term(K))
                 + self.term(PAIR, self.log_pair(K))
                 + self.term(SPREAD, self.log_spread(n, 0) - self.log_spread(na, n - na)))
            if self.decide(r):
                self.accept_split(e1, n, -1)
        else:
            r = (self.term(TARGET, self.log_remix_ratio(e1, e2, a, b))
                 + self.term(SPREAD, (self.log_spread(self.model.size[e1], self.model.size[e2])
                                      - self.log_spread(na, n - na))))
            if self.decide(r):
                both[0], both[1] = <int32_t> min(e1, e2), <int32_t> max(e1, e2)
                for t in range(n):
                    self.in_a[t] = not self.in_a[t]
                self.model.commit_sides(both, 2, self.items, self.in_a, n)
        return 0

    cdef double log_remix_ratio(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """log pi'/pi of putting scratch columns a, b in the place of clusters i, j."""
        cdef int32_t ks[4]
        cdef int32_t sizes[4]
        cdef int t
        ks[0], ks[1], ks[2], ks[3] = <int32_t> a, <int32_t> b, <int32_t> i, <int32_t> j
        for t in range(4):
            sizes[t] = self.model.size[ks[t]]
        return (self.model.log_lik(ks, 2) - self.model.log_lik(ks + 2, 2)
                + self.model.log_prior(sizes, 2, self.model.K) - self.model.log_prior(sizes + 2, 2, self.model.K))
