"""Restricted Gibbs split-merge RGSM(t, r, g) (Jain and Neal 2004): the competitor in papers 000, 001 and 003 ("SM").

Two anchors, i and j. In one cluster: split it; in two: merge them. The launch state puts the other items by fair coins
beside i or j, then t restricted Gibbs scans; the proposed split is one more scan, whose probability is q; a merge
scores the scan that would lead back to the present split. Exact ratio of a split K -> K+1; a merge is the inverse:

    Delta (K+1) / q(A, B given launch)    EMM, predictive alone
    Delta       / q(A, B given launch)    no empty clusters, predictive times size

r tries are made in a step; g is the number of full Gibbs scans that the schedule `sweep` adds.
Cost of a try: (t + 1) n predictives.
"""
from libc.stdint cimport int8_t, int32_t
from libc.stdlib cimport free

from splitmerge_cli._kernels cimport Model, Rng, SplitMerge, flags

from splitmerge_cli._kernels import check_count

cdef enum:
    SPLIT, MERGE                        # MOVES

cdef enum:
    TARGET, LABELS, ORDERS, SCAN        # TERMS


cdef class RGSM(SplitMerge):
    """Restricted Gibbs split-merge.

    Parameters
    ----------
    model : Model
    rng : Rng
    t : int
        Restricted scans of the launch state, at least 0.
    r : int
        Split-merge tries in a step, at least 1.
    g : int
        Full Gibbs scans that follow under the schedule `sweep`, at least 0.
    mode : {'exact', 'literal'}
    """

    MOVES = ("split", "merge")
    TERMS = ("target", "labels", "orders", "scan")
    DIVIDES_WEIGHTS = True

    cdef readonly int t, r, g
    cdef int8_t *present                # [N] merge: the present sides

    def __init__(self, Model model not None, Rng rng not None, t=5, r=1, g=1, str mode="exact"):
        super().__init__(model, rng, mode)
        for name, value, least in (("t", t, 0), ("r", r, 1), ("g", g, 0)):
            check_count(f"sampler.{name}", value, least, 10_000)
        self.t, self.r, self.g = t, r, g
        self.scans = g
        self.present = flags(model.N)

    def __dealloc__(self):
        free(self.present)

    cdef int make_step(self) except -1 nogil:
        cdef int _try
        for _try in range(self.r):
            self.split_merge()
        return 0

    cdef int split_merge(self) except -1 nogil:
        """One try: anchors, launch state, scored scan, decision."""
        cdef Py_ssize_t i, j, t, _scan, n, k, a, b, K = self.model.K, ci, cj
        cdef bint split
        cdef double log_q, r
        self.propose(SPLIT)
        if self.model.N < 2:
            return self.null()
        i = self.rng.draw_index(self.model.N)
        j = self.rng.draw_index(self.model.N - 1)
        j += j >= i
        ci, cj = self.model.z[i], self.model.z[j]
        split = ci == cj
        if not split:
            self.proposed[SPLIT] -= 1
            self.propose(MERGE)
        elif K == self.model.kmax:
            return self.null()
        self.model.reserve(K)
        a, b = K, K + 1
        n = 0
        for t in range(self.model.members(ci, cj, self.items)):
            k = self.items[t]
            if k != i and k != j:
                self.items[n] = <int32_t> k
                self.present[n] = self.model.z[k] == ci
                n += 1
        # the launch state: anchors, fair coins, t restricted scans
        self.stage_two(ci, cj)
        self.model.join(i, a)
        self.model.join(j, b)
        for t in range(n):
            self.in_a[t] = self.rng.draw_coin(0.5)
            self.model.join(self.items[t], a if self.in_a[t] else b)
        for _scan in range(self.t):
            self.restricted_scan(n, a, b, NULL, False)
        # the scored scan: free for a split, forced to the present sides for a merge
        log_q = self.restricted_scan(n, a, b, NULL if split else self.present, True)
        if split:
            r = (self.term(TARGET, self.log_split_ratio(ci, a, b))
                 + self.term(LABELS, self.log_label_term(K))
                 + self.term(ORDERS, self.log_orders(K + 1))
                 - self.term(SCAN, log_q))
            if self.decide(r):
                self.accept_split(ci, n, j)
        else:
            r = (self.term(TARGET, self.log_merge_ratio(ci, cj))
                 - self.term(LABELS, self.log_label_term(K - 1))
                 - self.term(ORDERS, self.log_orders(K))
                 + self.term(SCAN, log_q))
            if self.decide(r):
                self.model.commit_merge(ci, cj)
        return 0
