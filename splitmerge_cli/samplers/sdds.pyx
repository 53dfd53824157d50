"""Smart-dumb/dumb-smart split-merge (paper 000, Algorithms 2 and 3).

The exact log ratio of a split K -> K+1 of cluster c (n items) into (A, B) is log Delta + log reverse - log forward; a
merge is its inverse, evaluated from the merged state:

    kernel                      forward                   reverse, EMM        reverse, no empty clusters
    smart split / dumb merge    f_split(c) p_seq(A, B)    1/K                 1/(K (K+1))
    dumb split / smart merge    2^-(n-1) / K              f(B|A) + f(A|B)     [f(B|A) + f(A|B)] / (K+1)

g(C) is the marginal likelihood of the items of C, P(m_E | E) in the paper; Delta is pi'/pi; f_split(c) is
proportional to 1/g(c); p_seq is the probability of the sequential allocation from two empty sides; f(B|A) is
proportional to g(A u B)/g(A) over all other clusters of the split state. A split gives {A, B} in two orders and a pair
is drawn in two: the first kernel's two factors 2 cancel, the second's is in 2^-(n-1). The paper's 2/(K(K-1)) of a dumb
merge is, seen from the split, 2/((K+1)K). Where empty clusters are kept, a state with K+1 clusters has K+1 labellings
for every one of a state with K: that factor is in `reverse`. In mode `literal` the term `labels` counts as the paper
does (docs/decisions/0002).

Derivation: docs/derivations.md. Cost of a move: O(n) predictives and O(K) likelihoods; a smart merge, and the reverse
of a dumb split, O(K) unions.
"""
from libc.math cimport log

from splitmerge_cli._kernels cimport Model, Rng
from splitmerge_cli._smart cimport FORWARD, LABELS, REVERSE, TARGET, SmartMoves

cdef double LOG2 = log(2.0)

cdef enum:
    SMART_SPLIT, DUMB_MERGE, DUMB_SPLIT, SMART_MERGE


cdef class SDDS(SmartMoves):
    """Smart-dumb/dumb-smart sampler.

    Parameters
    ----------
    model : Model
    rng : Rng
    kernel : {'both', 'ssdm', 'smds'}
        Smart split/dumb merge, smart merge/dumb split, or one of the two chosen uniformly in each step.
    mode : {'exact', 'literal'}
    """

    MOVES = ("smart_split", "dumb_merge", "dumb_split", "smart_merge")

    cdef readonly str kernel
    cdef int which                      # 0 both, 1 ssdm, 2 smds

    def __init__(self, Model model not None, Rng rng not None, str kernel="both", str mode="exact"):
        super().__init__(model, rng, mode)
        if kernel not in ("both", "ssdm", "smds"):
            raise ValueError(f"sampler.kernel: expected both, ssdm or smds, got {kernel!r}")
        self.kernel = kernel
        self.which = ("both", "ssdm", "smds").index(kernel)

    cdef int make_step(self) except -1 nogil:
        """Section 5.1: one of the two kernels; line 2 of its algorithm: split or merge.

        The lines on the acceptance ratio (12-13 and 11-12) are the sum of terms and ``decide`` of each move.
        """
        cdef bint smart_merges = self.rng.draw_index(2) == 1 if self.which == 0 else self.which == 2
        cdef bint merge = self.rng.draw_index(2) == 1
        if smart_merges:
            return self.smart_merge() if merge else self.dumb_split()
        return self.dumb_merge() if merge else self.smart_split()

    cdef int smart_split(self) except -1 nogil:
        """Algorithm 2, lines 3-7."""
        cdef Py_ssize_t c, n, K = self.model.K
        cdef double log_q, r
        self.propose(SMART_SPLIT)
        if K == self.model.kmax:
            return self.null()
        c = self.draw_smart_split(&n, &log_q)
        if c < 0:
            return self.null()
        r = (self.term(TARGET, self.log_split_ratio(c, K, K + 1))
             + self.term(LABELS, self.log_label_term(K))
             - self.term(FORWARD, log_q)
             + self.term(REVERSE, self.log_orders(K + 1) - log(<double> K) - log(<double> (K + 1))))
        if self.decide(r):
            self.accept_split(c, n, -1)
        return 0

    cdef int dumb_merge(self) except -1 nogil:
        """Algorithm 2, lines 8-10."""
        cdef Py_ssize_t i, j, K = self.model.K
        cdef double r
        self.propose(DUMB_MERGE)
        if K == 1:
            return self.null()
        i = self.rng.draw_index(K)
        j = self.rng.draw_index(K - 1)
        j += j >= i
        r = (self.term(TARGET, self.log_merge_ratio(i, j))
             - self.term(LABELS, self.log_label_term(K - 1))
             + self.term(FORWARD, self.log_f_split_of_union(i, j) + self.log_p_seq_of_pair(i, j))
             - self.term(REVERSE, self.log_orders(K) - log(<double> (K - 1)) - log(<double> K)))
        if self.decide(r):
            self.model.commit_merge(i, j)
        return 0

    cdef int smart_merge(self) except -1 nogil:
        """Algorithm 3, lines 3-5."""
        cdef Py_ssize_t i, j, n, K = self.model.K
        cdef double r
        self.propose(SMART_MERGE)
        if K == 1:
            return self.null()
        i = self.rng.draw_index(K)
        j = self.choose_partner(i)
        n = self.model.size[i] + self.model.size[j]
        r = (self.term(TARGET, self.log_merge_ratio(i, j))
             - self.term(LABELS, self.log_label_term(K - 1))
             + self.term(FORWARD, -(n - 1) * LOG2 - log(<double> (K - 1)))
             - self.term(REVERSE, self.log_orders(K) - log(<double> K)
                         + self.log_f_merge_both(i, j, self.model.log_pair_lik(i, j), -1)))
        if self.decide(r):
            self.model.commit_merge(i, j)
        return 0

    cdef int dumb_split(self) except -1 nogil:
        """Algorithm 3, lines 6-9."""
        cdef Py_ssize_t c, t, n, a, b, K = self.model.K
        cdef double r
        self.propose(DUMB_SPLIT)
        if K == self.model.kmax:
            return self.null()
        c = self.rng.draw_index(K)
        self.need(K)
        a, b = K, K + 1
        self.stage_two(c, c)
        n = self.model.members(c, c, self.items)
        for t in range(n):
            self.in_a[t] = self.rng.draw_coin(0.5)
            self.model.join(self.items[t], a if self.in_a[t] else b)
        if self.side_empty(a, b):
            return self.null()
        r = (self.term(TARGET, self.log_split_ratio(c, a, b))
             + self.term(LABELS, self.log_label_term(K))
             - self.term(FORWARD, -(n - 1) * LOG2 - log(<double> K))
             + self.term(REVERSE, self.log_orders(K + 1) - log(<double> (K + 1))
                         + self.log_f_merge_both(a, b, self.model.lik(c), c)))
        if self.decide(r):
            self.accept_split(c, n, -1)
        return 0
