"""Exchange of two items between two clusters: sizes stay, partners change.

Two items i and j are drawn, where the model has near pairs mostly one of these, and which of them is i by a coin. They
are in two clusters. An item r is drawn from the others in the cluster of i. Proposed: j in the place of r, and r in
the place of j; where j is alone, r is then. From there the same move draws i and r, then j. Exact log ratio:

    target + log p(i, r) - log p(i, j)

p is the probability that a pair is drawn (term `anchors`; 0 where any two items are as likely). A split and a merge
would pass a partition with three items in a cluster, which is hardly probable where clusters hold two at most.

Cost: the statistics of two items in two clusters, and the members of the cluster of i.
"""
from libc.math cimport log
from libc.stdint cimport int32_t

from splitmerge_cli.core.capabilities cimport Coupled
from splitmerge_cli.core.near_pairs cimport NearPairs
from splitmerge_cli.core.sampler cimport Sampler

from splitmerge_cli.core.sampler import CLUSTERS

cdef enum:
    TARGET, ANCHORS                     # TERMS


cdef class Exchange(Sampler):
    """Exchange of two items."""

    MOVES = ("exchange",)
    NOT_WITH_EMPTY = "; the move exchanges items of two clusters that have some"
    TERMS = ("target", "anchors")

    cdef NearPairs near                 # of the model; None
    cdef bint coupled                   # clusters' likelihoods depend on each other
    cdef int32_t *items                 # [N] of the cluster of i

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.model.keep_lists()
        self.near = model.near_pairs
        self.coupled = isinstance(model, Coupled)
        self.items = self.memory.ints(self.model.N)

    @classmethod
    def invariants(cls, model, **options):
        """The sizes of clusters stay, and so does their number: frozenset of str."""
        return super().invariants(model) | {CLUSTERS}

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t i, j, r, a, b, t, n
        cdef double log_target, log_anchors = 0.0
        self.propose(0)
        if self.model.N < 3:
            return self.null()
        if self.near is not None:
            self.near.draw(self.rng, &i, &j)
        else:
            self.rng.draw_two(self.model.N, &i, &j)
        if self.rng.draw_index(2) == 1:
            i, j = j, i
        a, b = self.model.z[i], self.model.z[j]
        if a == b or self.model.size[a] == 1 or (self.model.size[b] == 1 and not self.model.has_room()):
            return self.null()
        n = self.model.members(a, a, self.items)
        t = self.rng.draw_index(n - 1)
        # i is none of those that are drawn
        r = self.items[t] if self.items[t] < i else self.items[t + 1]
        if self.near is not None:
            log_anchors = log(self.near.weight(i, r) / self.near.weight(i, j))
        self.model.reserve(self.model.K + 1)
        if self.coupled:
            self.model.begin_scan()
        else:
            # all that is read of what a scan prepares
            self.model.scratch(self.model.K)
        log_target = self.exchange(r, j, a, b)
        if not self.decide(self.term(TARGET, log_target) + self.term(ANCHORS, log_anchors)):
            self.model.take_out(j)
            self.model.take_out(r)
            self.model.put(r, a)
            self.model.put(j, b)
        return 0

    cdef double exchange(self, Py_ssize_t r, Py_ssize_t j, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Put r of cluster a and j of cluster b in each other's place; returns log pi'/pi."""
        # an empty column b is like the one behind the clusters
        cdef Py_ssize_t at = b if self.model.size[b] > 1 else self.model.K
        cdef double log_ratio
        self.model.take_out(j)
        log_ratio = -self.log_place(j, at)
        self.model.take_out(r)
        log_ratio += self.log_place(j, a) - self.log_place(r, a)
        self.model.put(j, a)
        log_ratio += self.log_place(r, at)
        self.model.put(r, b)
        return log_ratio

    cdef double log_place(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """log of what item i, which is not placed, adds to the target in cluster k."""
        return self.model.log_pred(i, k) + self.model.log_weight(i, k)
