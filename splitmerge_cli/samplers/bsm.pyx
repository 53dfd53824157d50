"""Split-merge from an informed launch state, bSM (Herlau et al. 2014, section 3.6.2).

As split-merge with restricted Gibbs scans (Jain and Neal 2004), but i and j, and where the launch state puts some of
the items, come from two partitions z_a and z_b of the chains' history: items that both put with i begin on i's side,
those that both put with j on j's; the rest by fair coins. Then t restricted scans, and one that is scored.

    c_i = z_a(i) n z_b(i) n (z(i) u z(j))        exact: the same for the split and for its merge
    c_i = z_a(i) n z_b(i) n z(i)                 as printed ("c is the coarsest common refinement"): in the merged state
                                                 z(i) is another set than in the split one, and the move is not
                                                 reversible (`mode=as_printed`)
Cost of a move: (t + 1) n predictives.

With the same pair, the allocations of Dahl and Newcomb 2022: the pair is more likely the nearer its share of
co-clustering in the history is to 1/2, and the other items are put with i or j one after the other, in a uniform
order,

    sams         with probability proportional to the side's size times the predictive of the item   (Dahl 2003)
    similarity   with probability proportional to 1 + the sum, over the items of the side, of how many of z_a and z_b
                 join the item with them: twice the similarity, estimated from two draws. No predictives.

Neither reads z, so q is the probability of the present sides, and the ratio is the same as in `sams`.
"""
from libc.math cimport log
from libc.stdint cimport int32_t

from splitmerge_cli.core.history cimport History, AdaptiveProposal
from splitmerge_cli.core.memory cimport Memory
from splitmerge_cli.samplers.split_merge cimport Allocation, HistoryPair, RestrictedGibbs, Sequential, Sides, SplitMerge

from splitmerge_cli.core.history import ADAPTATION
from splitmerge_cli.core.options import Choice
from splitmerge_cli.samplers.split_merge import SCANS


cdef class InformedLaunch(RestrictedGibbs):
    """Restricted Gibbs scans from a launch state that two partitions suggest. `adaptive` has drawn them; `as_printed`:
    c_i within z(i)."""

    cdef AdaptiveProposal adaptive
    cdef bint as_printed

    def __init__(self, int t, AdaptiveProposal adaptive not None, bint as_printed):
        super().__init__(t)
        self.adaptive, self.as_printed = adaptive, as_printed

    cdef void launch(self, Sides s) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(s.n):
            if self.is_kept_with(s, s.items[t], s.i):
                s.in_a[t] = True
            elif self.is_kept_with(s, s.items[t], s.j):
                s.in_a[t] = False
            else:
                s.in_a[t] = s.rng.draw_coin(0.5)

    cdef bint is_kept_with(self, Sides s, Py_ssize_t h, Py_ssize_t i) noexcept nogil:
        """Whether item h, from the clusters of the move, is in c_i."""
        return (self.adaptive.za[h] == self.adaptive.za[i] and self.adaptive.zb[h] == self.adaptive.zb[i]
                and (not self.as_printed or s.model.z[h] == s.model.z[i]))


cdef class BySimilarity(Allocation):
    """One item after the other, by how often two partitions of the history join it with the items of a side. `adaptive`
    has drawn them.

    Memory: 16 bytes an item.
    """

    cdef Memory memory                  # of its arrays
    cdef AdaptiveProposal adaptive
    cdef int32_t *count                 # [4, N] items on side A and on side B, by block of z_a and then by block of z_b

    def __init__(self, AdaptiveProposal adaptive not None):
        self.memory = Memory()
        self.adaptive = adaptive
        self.count = self.memory.ints(4 * adaptive.N)

    cdef double draw(self, Sides s) noexcept nogil:
        s.gather()
        s.stage()
        s.draw_order()
        s.put_in_order()
        return self.allocate(s, False)

    cdef void prepare(self, Sides s) noexcept nogil:
        s.draw_order()

    cdef double score(self, Sides s) noexcept nogil:
        s.gather()
        s.put_in_order()
        s.take_present()
        return self.allocate(s, True)

    cdef double allocate(self, Sides s, bint forced) noexcept nogil:
        """Put the items on the sides drawn, or, `forced`, follow in_a; returns log q."""
        cdef Py_ssize_t t, h, N = self.adaptive.N
        cdef const int32_t *za = self.adaptive.za
        cdef const int32_t *zb = self.adaptive.zb
        cdef double a, b, log_q = 0.0
        for t in range(-2, s.n):
            h = s.i if t == -2 else s.j if t == -1 else s.items[t]
            self.count[za[h]] = self.count[N + za[h]] = self.count[2 * N + zb[h]] = self.count[3 * N + zb[h]] = 0
        self.put(s.i, True)
        self.put(s.j, False)
        for t in range(s.n):
            h = s.items[t]
            a = 1.0 + self.count[za[h]] + self.count[2 * N + zb[h]]
            b = 1.0 + self.count[N + za[h]] + self.count[3 * N + zb[h]]
            if not forced:
                s.in_a[t] = s.rng.draw_coin(a / (a + b))
                s.model.join(h, s.a if s.in_a[t] else s.a + 1)
            log_q += log((a if s.in_a[t] else b) / (a + b))
            self.put(h, s.in_a[t])
        return log_q

    cdef void put(self, Py_ssize_t h, bint in_a) noexcept nogil:
        cdef Py_ssize_t N = self.adaptive.N
        self.count[(0 if in_a else N) + self.adaptive.za[h]] += 1
        self.count[(2 * N if in_a else 3 * N) + self.adaptive.zb[h]] += 1


cdef class BSM(SplitMerge):
    """Split-merge of a pair that the chain history suggests: restricted Gibbs scans from a launch state that comes from
    it, too, or sequential allocation."""

    OPTIONS = (
        SCANS,
        Choice("allocation", "gibbs", "how items get to the sides: gibbs (restricted scans from the launch state), "
               "sams (sequential, Dahl 2003) or similarity (sequential, by co-clustering in the history, Dahl and "
               "Newcomb 2022)", choices=("gibbs", "sams", "similarity"), later=True),
        *ADAPTATION, *SplitMerge.OPTIONS,
    )
    PRINTED_TERM = None
    NOT_WITH_EMPTY = "; the chain history compares partitions"
    SMALL = {"t": 1}

    cdef readonly AdaptiveProposal adaptive

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        # the printed launch state is another proposal, with the same ratio
        self.omit("printed")
        self.adaptive = AdaptiveProposal(self.model.N, self.options["adaptation"], self.options["freeze"])
        self.anchors = HistoryPair(self.adaptive)
        if self.options["allocation"] == "sams":
            self.allocation = Sequential()
        elif self.options["allocation"] == "similarity":
            self.allocation = BySimilarity(self.adaptive)
        else:
            self.allocation = InformedLaunch(self.options["t"], self.adaptive, self.as_printed)

    def adapt_to(self, History history, Py_ssize_t chain):
        """Learn from this history, as the chain of this number."""
        self.adaptive.adapt_to(history, chain)

    def fix(self, za=None, zb=None, Py_ssize_t i=-1, Py_ssize_t j=-1):
        """Use these partitions, and this pair unless i is -1, in place of drawn ones; with no arguments draw again."""
        self.adaptive.fix(za, zb, i, j)
