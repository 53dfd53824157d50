"""Propose all clusters from scratch, whatever they are now: an independence sampler (Tierney 1994), between moves of
`sams`.

Where the number of clusters K is part of the state with a factor K^-N, as in the model of `emm`, clusters that
are one split or merge away from a mode may lie many nats below it, and so may all those between two modes. A move in
`share` of the steps therefore proposes a whole state: a number K' of 1, ..., D with probability proportional to 1/K', a
uniform order of the items, and one item after the other into K' empty clusters, each by its predictive there. With h_i
the probability of the cluster that item i takes,

    q(K', S') = prod_i h_i / (K' H),  H = 1 + 1/2 + ... + 1/D,  D = min(kmax, max(N, 1000))

and q(K, S) is the probability of the present state in the same order. Exact log ratio, the order being one of both
directions:

    target      log pi'/pi
    number      log K' - log K
    allocation  log prod h (present) - log prod h' (proposed)

There an allocation is near the posterior given K', so proposals to a mode with few clusters are accepted now and then,
from wherever the chain is. A state with more than D clusters is never proposed: null. Cost: N (K + K') predictives.
"""
from libc.math cimport lgamma, log
from libc.stdint cimport int32_t

from splitmerge_cli.core.capabilities cimport Coupled
from splitmerge_cli.samplers.split_merge cimport ALLOCATION, PRINTED, TARGET, Sequential, SplitMerge

from splitmerge_cli.core.options import Number
from splitmerge_cli.core.sampler import EMPTY

cdef double LOG_2 = log(2.0)
# below this a product of probabilities is taken as a logarithm
cdef double TINY = 1e-200

cdef enum:
    ALL = 2                             # MOVES, after the frame's

cdef enum:
    NUMBER = 5                          # TERMS, after the frame's

FEW = 1000
"""So many clusters are proposed however few items there are, where the model allows them."""


def _most(model):
    """D, the largest number of clusters that is proposed."""
    return min(model.kmax, max(model.N, FEW))


cdef class Independence(SplitMerge):
    """Independence proposals of all clusters and their number, between split-merge moves of two items. Memory: 8 bytes
    an item and 16 a cluster, and columns for the present clusters and the proposed ones."""

    OPTIONS = (
        Number("share", 0.2, "share of steps that propose all clusters from scratch; the others are sams moves",
               least=0.0, most=1.0),
        *SplitMerge.OPTIONS,
    )
    MOVES = (*SplitMerge.MOVES, "all")
    TERMS = (*SplitMerge.TERMS, "number")
    FORMS = {"exact": ({"share": 0.2}, {"share": 1.0})}

    cdef double share
    cdef Py_ssize_t most                # D
    cdef double *number                 # [most] 1, 1/2, 1/3, ...
    cdef double *w                      # [most] weights of an item by cluster
    cdef int32_t *label                 # [N] the proposed clusters

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        cdef Py_ssize_t k
        self.allocation = Sequential()
        self.share, self.most = self.options["share"], _most(model)
        self.number, self.w = self.memory.doubles(self.most), self.memory.doubles(self.most)
        self.label = self.memory.ints(model.N)
        for k in range(self.most):
            self.number[k] = 1.0 / (k + 1)

    @classmethod
    def supports(cls, model):
        """Whether empty clusters are kept, and do not depend on each other: (bool, reason)."""
        able, reason = super().supports(model)
        if able and not model.allows_empty:
            return False, "it proposes a number of clusters and then items for them: the model keeps no empty clusters"
        if able and isinstance(model, Coupled):
            return False, "clusters' likelihoods depend on each other"
        return able, reason

    @classmethod
    def invariants(cls, model, share=0.2, **options):
        """Splits and merges of two items keep the empty clusters; where some states are never proposed, these count as
        kept: frozenset of str."""
        reaches_all = share > 0.0 and _most(model) == model.kmax
        return super().invariants(model) - ({EMPTY} if reaches_all else set())

    cdef int make_step(self) except -1 nogil:
        if self.rng.draw_coin(self.share):
            return self.propose_all()
        return self.split_or_merge()

    cdef int propose_all(self) except -1 nogil:
        """Propose a number of clusters and all of them."""
        cdef Py_ssize_t t, K = self.model.K, other
        cdef double log_r
        self.propose(ALL)
        if K > self.most:
            return self.null()
        other = 1 + self.rng.draw_categorical(self.number, self.most)
        self.model.reserve(K + max(K, other))
        self.sides.n = self.model.N
        for t in range(self.sides.n):
            self.sides.items[t] = <int32_t> t
        self.sides.draw_order()
        self.sides.put_in_order()
        log_r = self.term(ALLOCATION, self.allocate(K, True) - self.allocate(other, False))
        log_r += self.term(NUMBER, log(<double> other / K))
        log_r += self.term(TARGET, self.model.log_lik(self.model.numbers + K, other)
                           - self.model.log_lik(self.model.numbers, K)
                           + self.model.log_prior(self.model.size + K, other, other)
                           - self.model.log_prior(self.model.size, K, K))
        # how the papers count labels, for each cluster more
        log_r += self.term(PRINTED, (other - K) * LOG_2 + lgamma(K + 1.0) - lgamma(other + 1.0))
        if self.decide(log_r):
            self.model.reset(self.label, other)
        return 0

    cdef double allocate(self, Py_ssize_t clusters, bint is_present) noexcept nogil:
        """Put all items, in their order, into this many columns behind the clusters, as they are now or by draws;
        returns the log probability of that."""
        cdef Py_ssize_t t, i, k, c, K = self.model.K
        cdef double total, p = 1.0, log_p = 0.0
        self.model.stage(self.model.numbers, K, K, clusters)
        for t in range(self.model.N):
            i = self.sides.items[t]
            self.model.weigh(i, K, clusters, self.w)
            c = self.model.z[i] if is_present else self.rng.draw_categorical(self.w, clusters)
            if not is_present:
                self.label[i] = <int32_t> c
            total = 0.0
            for k in range(clusters):
                total += self.w[k]
            p *= self.w[c] / total
            if p < TINY:
                log_p += log(p)
                p = 1.0
            self.model.join(i, K + c)
        return log_p + log(p)
