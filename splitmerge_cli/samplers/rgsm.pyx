"""Restricted Gibbs split-merge RGSM(t, r, g) (Jain and Neal 2004).

The competitor ("SM") in Wang and Russell 2015, Luo and Shrivastava 2018 and Herlau et al. 2014.

Two anchors, i and j. In one cluster: split it; in two: merge them. The launch state puts the other items by fair coins
with i or j, then t restricted Gibbs scans; the proposed split is one more scan, whose probability is q; a merge
scores the scan that would lead back to the present split. Exact ratio of a split K -> K+1; a merge is the inverse:

    Delta (K+1) / q(A, B given launch)    EMM, predictive alone
    Delta       / q(A, B given launch)    no empty clusters, predictive times size

r tries are made in a step; g is the number of full Gibbs scans that the schedule `full_scan` adds.
Cost of a try: (t + 1) n predictives.
"""
from splitmerge_cli.samplers.split_merge cimport RestrictedGibbs, SplitMerge

from splitmerge_cli.core.options import Count
from splitmerge_cli.samplers.split_merge import SCANS


cdef class RGSM(SplitMerge):
    """Restricted Gibbs split-merge: any two items, restricted Gibbs scans."""

    OPTIONS = (
        SCANS,
        Count("r", 1, "number of split-merge tries in a step", least=1),
        Count("g", 1, "full Gibbs scans after a step, with schedule=full_scan"),
        *SplitMerge.OPTIONS,
    )
    DIVIDES_WEIGHTS = True
    SMALL = {"t": 1}

    cdef readonly int t, r, g

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.t, self.r, self.g = (self.options[name] for name in "trg")
        self.scans = self.g
        self.allocation = RestrictedGibbs(self.t)

    cdef int make_step(self) except -1 nogil:
        cdef int _try
        for _try in range(self.r):
            self.split_or_merge()
        return 0
