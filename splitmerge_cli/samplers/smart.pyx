"""Smart and dumb proposals of Wang & Russell 2015, which SDDS and SS combine: clusters as anchors, and no anchor items.

    what to split    dumb   any cluster                                          1/K
                     smart  cluster c, proportional to 1/g(c)                    f_split(c)
    what to merge    dumb   any two clusters                                     2/(K (K - 1))
                     smart  any cluster A, then B proportional to g(A u B)/g(A)  [f(B|A) + f(A|B)]/K
    the sides        dumb   coins, no side empty                                 2^-(n-1)
                     smart  sequential, in item order, from two empty sides      2 p_seq(A, B)

g(C) is the marginal likelihood of the items of C, P(m_E | E) in the paper. A forward choice draws; its reverse is
computed in the state that the move would lead to. The sides {A, B} come in two orders, and a pair of clusters is drawn
in two.
"""
from libc.math cimport exp, fabs, log, log1p

from splitmerge_cli.core.capabilities cimport Coupled
from splitmerge_cli.core.log_scale cimport exp_weights, log_sum_exp
from splitmerge_cli.samplers.allocations cimport Coins, Sequential
from splitmerge_cli.samplers.split_merge cimport Sides, SplitMerge

from splitmerge_cli.core.sampler import EMPTY

cdef double LOG_2 = log(2.0)


cdef class SmartAllocation(Allocation):
    """Sequential allocation in item order, by the predictive alone; or coins."""

    def __init__(self):
        self.sequential, self.coins = Sequential(shuffled=False, sized=False), Coins()

    cdef double draw(self, Sides s) noexcept nogil:
        return self.sequential.draw(s) if self.smart else self.coins.draw(s)

    cdef double score(self, Sides s) noexcept nogil:
        return self.sequential.score(s) if self.smart else self.coins.score(s)


cdef class SmartMoves(SplitMerge):
    """Smart and dumb splits and merges; an abstract class."""

    DIVIDES_WEIGHTS = True

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.allocation = self.sides_by = SmartAllocation()
        self.coupled = model if isinstance(model, Coupled) else None
        self.need(8)

    @classmethod
    def invariants(cls, model, **options):
        """Clusters are split and merged whether or not they are empty: frozenset of str."""
        return super().invariants(model) - {EMPTY}

    cdef void use(self, bint smart_split, bint smart_merge) noexcept nogil:
        """Say which kernel the next move is of."""
        self.smart_split, self.smart_merge = smart_split, smart_merge
        self.sides_by.smart = smart_split

    cdef int propose_split(self, int move) except -1 nogil:
        """Algorithm 2, lines 3 to 7; Algorithm 3, lines 6 to 9."""
        cdef Py_ssize_t c
        self.propose(move)
        if self.model.K == self.model.kmax:
            return self.null()
        c = self.choose_split() if self.smart_split else self.draw_cluster(self.model.K)
        return self.split(c, -1, -1)

    cdef int propose_merge(self, int move) except -1 nogil:
        """Algorithm 2, lines 8 to 10; Algorithm 3, lines 3 to 5."""
        cdef Py_ssize_t i, j, K = self.model.K
        self.propose(move)
        if K == 1:
            return self.null()
        if self.smart_merge:
            i = self.draw_cluster(K)
            j = self.choose_partner(i)
        else:
            self.draw_two_clusters(K, &i, &j)
        return self.merge(i, j, -1, -1)

    cdef double log_anchors(self, bint merging) except? -1 nogil:
        cdef Py_ssize_t a = self.sides.ci, b = self.sides.cj, K = self.model.K - merging
        cdef double log_p
        # of K clusters in the merged state, K + 1 in the split one
        if not self.smart_merge:
            log_p = LOG_2 - log(<double> K)
        elif merging:
            log_p = self.log_f_merge_both(a, b, self.log_pair_lik(a, b), -1)
        else:
            log_p = self.log_f_merge_both(K, K + 1, self.model.lik(a), a)
        log_p -= log(<double> (K + 1))
        if not self.smart_split:
            return log_p + log(<double> K)
        return log_p - (self.log_f_split_of_union(a, b) if merging else self.log_f)

    cdef Py_ssize_t choose_split(self) except -1 nogil:
        """Algorithm 2, line 5: a cluster c with probability proportional to 1/g(c)."""
        cdef Py_ssize_t k, c, K = self.model.K
        cdef double log_W
        self.need(K)
        for k in range(K):
            self.lw[k] = -self.model.lik(k)
        log_W = exp_weights(self.lw, K, self.lw + K)
        c = self.draw_cluster_by(self.lw + K, K)
        self.log_f = self.lw[c] - log_W
        return c

    cdef double log_f_split_of_union(self, Py_ssize_t i, Py_ssize_t j) except? -1 nogil:
        """log f_split for the union of clusters i and j in the state where they are merged."""
        cdef Py_ssize_t k, n = 0
        self.need(self.model.K)
        for k in range(self.model.K):
            if k != i and k != j:
                self.lw[n] = -self.model.lik(k)
                n += 1
        self.lw[n] = -self.log_pair_lik(i, j)
        return self.lw[n] - log_sum_exp(self.lw, n + 1)

    cdef Py_ssize_t choose_partner(self, Py_ssize_t i) except -1 nogil:
        """Algorithm 3, line 5: cluster j with probability proportional to g(i u j)/g(i)."""
        cdef Py_ssize_t k, n = 0
        cdef double *w
        self.need(self.model.K)
        w = self.lw + self.model.K
        for k in range(self.model.K):
            if k != i:
                self.lw[n] = self.log_pair_lik(i, k)
                n += 1
        exp_weights(self.lw, n, w)
        n = self.model.K - 1
        while n > i:
            w[n] = w[n - 1]
            n -= 1
        w[i] = 0.0
        return self.draw_cluster_by(w, self.model.K)

    cdef double log_f_merge_both(self, Py_ssize_t a, Py_ssize_t b, double log_union_ab,
                                 Py_ssize_t skip) except? -1 nogil:
        """log [f(b given a) + f(a given b)] in the state of all clusters but `skip`, together with a and b (which may
        be scratch)."""
        cdef Py_ssize_t k, side, n, s
        cdef double r[2]
        self.need(self.model.K)
        for side in range(2):
            s = b if side else a
            self.lw[0] = log_union_ab
            n = 1
            for k in range(self.model.K):
                if k != a and k != b and k != skip:
                    self.lw[n] = self.log_pair_lik(s, k)
                    n += 1
            r[side] = log_union_ab - log_sum_exp(self.lw, n)
        return max(r[0], r[1]) + log1p(exp(-fabs(r[0] - r[1])))

    cdef double log_pair_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Log marginal likelihood of clusters a and b as one, alone: g of their union."""
        return self.model.log_union(a, b) if self.coupled is None else self.coupled.log_pair_lik(a, b)

    cdef int need(self, Py_ssize_t clusters) except -1 nogil:
        """Room for the log weights of this many clusters, and columns for them in the model."""
        if 2 * clusters + 8 > self.lw_room:
            with gil:
                self.lw = <double *> self.memory.larger(self.lw, self.lw_room * 8, 2 * (2 * clusters + 8) * 8)
            self.lw_room = 2 * (2 * clusters + 8)
        return self.model.reserve(clusters)
