"""Restricted Gibbs split-merge from launch states of three kinds (in the manner of Peixoto 2020, section III).

As RGSM (Jain and Neal 2004), but the launch state is drawn in one of three ways, each with probability 1/3: by fair
coins; all items beside the first anchor; or one item after the other, in a uniform order, by its predictive beside
those already there. It depends on the set of items and the anchors alone, not on where the items are, so split and
merge have the same, and the exact ratio is that of RGSM given the launch state. t restricted scans follow, and the last
one that is proposed or scored.

Cost of a try: (t + 1) n predictives, a third of the time n more.
"""
from splitmerge_cli._kernels cimport sequential_allocation
from splitmerge_cli.samplers.allocations cimport RestrictedGibbs
from splitmerge_cli.samplers.anchors cimport UniformPair
from splitmerge_cli.samplers.split_merge cimport Sides, SplitMerge

from splitmerge_cli.samplers.allocations import SCANS

cdef enum:
    SPLIT, MERGE                        # MOVES

cdef enum:
    COINS, TOGETHER, SEQUENTIAL, KINDS


cdef class StagedGibbs(RestrictedGibbs):
    """Restricted Gibbs scans from a launch state of one of three kinds."""

    cdef void launch(self, Sides s) noexcept nogil:
        cdef Py_ssize_t t, kind = s.rng.draw_index(KINDS)
        if kind == COINS:
            RestrictedGibbs.launch(self, s)
        elif kind == TOGETHER:
            for t in range(s.n):
                s.in_a[t] = True
            self.join(s)
        else:
            s.draw_order()
            s.put_in_order()
            sequential_allocation(s.model, s.rng, s.items, s.n, s.a, s.a + 1, s.in_a, False, True)


cdef class Staged(SplitMerge):
    """Restricted Gibbs split-merge: any two items, launch states of three kinds."""

    OPTIONS = (SCANS, *SplitMerge.OPTIONS)
    MOVES = ("split", "merge")
    DIVIDES_WEIGHTS = True

    cdef UniformPair anchors

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.anchors = UniformPair()
        self.allocation = StagedGibbs(self.options["t"])

    @classmethod
    def small_options(cls, model):
        """One restricted scan: dict."""
        return {"t": 1}

    cdef int make_step(self) except -1 nogil:
        return self.split_or_merge(self.anchors, SPLIT, MERGE)
