"""Split-merge from an informed launch state, bSM (Herlau et al. 2014, section 3.6.2).

As split-merge with restricted Gibbs scans (Jain and Neal 2004), but i and j, and where the launch state puts some of
the items, come from two partitions z_a and z_b of the chains' history: items that both put with i begin on i's side,
those that both put with j on j's; the rest by fair coins. Then t restricted scans, and one that is scored.

    c_i = z_a(i) n z_b(i) n (z(i) u z(j))        exact: the same for the split and for its merge
    c_i = z_a(i) n z_b(i) n z(i)                 as printed ("c is the coarsest common refinement"): in the merged state
                                                 z(i) is another set than in the split one, and the move is not
                                                 reversible (`mode=as_printed`)
Cost of a move: (t + 1) n predictives.
"""
from splitmerge_cli.core.history cimport History, AdaptiveProposal
from splitmerge_cli.samplers.allocations cimport RestrictedGibbs
from splitmerge_cli.samplers.anchors cimport HistoryPair
from splitmerge_cli.samplers.split_merge cimport Sides, SplitMerge

from splitmerge_cli.core.history import ADAPTATION
from splitmerge_cli.samplers.allocations import SCANS

cdef enum:
    SPLIT, MERGE                        # MOVES


cdef class InformedLaunch(RestrictedGibbs):
    """Restricted Gibbs scans from a launch state that two partitions suggest.

    Parameters
    ----------
    t : int
    adaptive : AdaptiveProposal
        Which has drawn them.
    as_printed : bool
        c_i within z(i).
    """

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


cdef class BSM(SplitMerge):
    """Split-merge from a launch state that the chain history suggests: a pair from the history, restricted Gibbs
    scans."""

    OPTIONS = (SCANS, *ADAPTATION, *SplitMerge.OPTIONS)
    MOVES = ("split", "merge")
    PRINTED_TERM = None

    cdef readonly AdaptiveProposal adaptive
    cdef HistoryPair anchors

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        # the printed launch state is another proposal, with the same ratio
        self.omit("printed")
        self.adaptive = AdaptiveProposal(self.model.N, self.options["adaptation"], self.options["freeze"])
        self.anchors = HistoryPair(self.adaptive)
        self.allocation = InformedLaunch(self.options["t"], self.adaptive, self.as_printed)

    @classmethod
    def supports(cls, model):
        """Whether clusters open and close with their items, and parameters are integrated out: (bool, reason)."""
        if model.allows_empty:
            return False, "the model keeps its empty clusters; the chain history compares partitions"
        return super().supports(model)

    def adapt_to(self, History history, Py_ssize_t chain):
        """Learn from this history, as the chain of this number."""
        self.adaptive.adapt_to(history, chain)

    def fix(self, za=None, zb=None, Py_ssize_t i=-1, Py_ssize_t j=-1):
        """Use these partitions, and this pair unless i is -1, in place of drawn ones; with no arguments draw again."""
        self.adaptive.fix(za, zb, i, j)

    @classmethod
    def small_options(cls, model):
        """One restricted scan: dict."""
        return {"t": 1}

    cdef int make_step(self) except -1 nogil:
        return self.split_or_merge(self.anchors, SPLIT, MERGE)
