"""Birth and death of a cluster (Wang & Russell 2015, section 3.3: "they lead to very slow mixing").

With empty clusters kept (EMM): a birth appends an empty cluster, a death removes one of the E empty ones. Exact ratio
of a birth K -> K+1, E counted before it:

    Delta (K+1) / (E+1)

Without (docs/decisions/0005): a birth makes item i, chosen uniformly, a cluster of its own; a death puts a lone item
into another cluster, chosen uniformly. Exact ratio of a birth:

    Delta / K

A death is the inverse. With empty clusters the move alone leaves the items where they are: combine it with Gibbs scans.
Cost: O(K); without empty clusters the statistics of O(1) items.
"""
from libc.math cimport log

from splitmerge_cli.samplers.split_merge cimport ANCHORS, ORDERS, PRINTED, TARGET, SplitMerge

from splitmerge_cli.core.sampler import PARTITION

cdef enum:
    BIRTH, DEATH                        # MOVES


cdef class BirthDeath(SplitMerge):
    """Birth-death sampler. Term `anchors`: the choice of the cluster, or of the item and its new cluster."""

    MOVES = ("birth", "death")
    STAYS = (PARTITION,)                # empty clusters alone are born and die

    cdef int make_step(self) except -1 nogil:
        cdef bint death = self.rng.draw_index(2) == 1
        self.propose(DEATH if death else BIRTH)
        if self.model.allows_empty:
            return self.death_of_empty() if death else self.birth_of_empty()
        return self.death_of_lone_item() if death else self.birth_of_lone_item()

    cdef Py_ssize_t count_empty(self) noexcept nogil:
        cdef Py_ssize_t k, n = 0
        for k in range(self.model.K):
            n += self.model.size[k] == 0
        return n

    cdef double log_prior_of(self, Py_ssize_t K) noexcept nogil:
        return self.model.log_prior(self.model.size, 0, K)

    cdef int birth_of_empty(self) except -1 nogil:
        cdef Py_ssize_t K = self.model.K
        cdef double r
        if K == self.model.kmax:
            return self.null()
        r = (self.term(TARGET, self.log_prior_of(K + 1) - self.log_prior_of(K))
             + self.term(PRINTED, self.log_label_count(K))
             + self.term(ORDERS, self.log_orders(K + 1))
             + self.term(ANCHORS, -log(self.count_empty() + 1.0)))
        if self.decide(r):
            self.model.append_empty()
        return 0

    cdef int death_of_empty(self) except -1 nogil:
        cdef Py_ssize_t K = self.model.K, E = self.count_empty(), e, k = -1
        cdef double r
        if E == 0 or K == 1:
            return self.null()
        e = self.rng.draw_index(E)
        while e >= 0:
            k += 1
            e -= self.model.size[k] == 0
        r = (self.term(TARGET, self.log_prior_of(K - 1) - self.log_prior_of(K))
             + self.term(PRINTED, -self.log_label_count(K - 1))
             + self.term(ORDERS, -self.log_orders(K))
             + self.term(ANCHORS, log(<double> E)))
        if self.decide(r):
            self.model.delete(k)
        return 0

    cdef int birth_of_lone_item(self) except -1 nogil:
        cdef Py_ssize_t i = self.rng.draw_index(self.model.N), c = self.model.z[i], K = self.model.K
        cdef double r
        if self.model.size[c] == 1:
            return self.null()
        self.model.reserve(K)
        self.model.begin_scan()
        r = (self.term(TARGET, self.model.log_odds(i, c, K, c, True))
             + self.term(PRINTED, self.log_label_count(K))
             + self.term(ANCHORS, -log(<double> K)))
        if self.decide(r):
            self.model.move(i, K)
        return 0

    cdef int death_of_lone_item(self) except -1 nogil:
        cdef Py_ssize_t i = self.rng.draw_index(self.model.N), c = self.model.z[i], k, K = self.model.K
        cdef double r
        if self.model.size[c] != 1 or K == 1:
            return self.null()
        k = self.draw_other_cluster(K, c)
        r = (self.term(TARGET, self.log_merge_ratio(c, k))
             + self.term(PRINTED, -self.log_label_count(K - 1))
             + self.term(ANCHORS, log(K - 1.0)))
        if self.decide(r):
            self.model.commit_merge(c, k)
        return 0
