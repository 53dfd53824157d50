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

`clusters=near`, for models with near pairs (``core/near_pairs.pyx``), chooses clusters through items, so that a move
costs what the neighbours of its items cost, however many clusters there are. N items, of which a are in A; s the share
of draws that are near pairs; e(A, B) near pairs between A and B, of P:

    what to split    dumb and smart   the cluster of any item; null if it is alone      n/N
    what to merge    dumb    the clusters of a pair of items that is drawn; null: one   s e(A, B)/P
                                                                                        + (1 - s) 2 a b/(N (N - 1))
                     smart   A of any item; B by r(B|A) with probability s, else of     a/N [s r(B|A) + (1 - s) b/N]
                             any item; null if that is A, or A has no candidates        + b/N [s r(A|B) + (1 - s) a/N]

r(B|A) is proportional to g(A u B)/g(B) among the clusters that share a near pair with A. 1 - s keeps every pair of
clusters possible.
"""
from libc.math cimport exp, fabs, log, log1p

from splitmerge_cli.core.log_scale cimport exp_weights, log_sum_exp
from splitmerge_cli.core.recording cimport NAMED

from splitmerge_cli.core.near_pairs import NoNearPairs
from splitmerge_cli.core.options import Choice

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

    OPTIONS = (
        Choice("clusters", "auto", "how clusters are chosen: all (among all K, as in the paper), near (through items "
               "and their near pairs) or auto (near for a model with near pairs, else all)",
               choices=("auto", "all", "near"), later=True),
        *SplitMerge.OPTIONS,
    )
    DIVIDES_WEIGHTS = True
    STAYS = ()                          # clusters are split and merged whether or not they are empty

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        able = self.model.near_pairs is not None and not self.model.allows_empty and not self.as_printed
        if self.options["clusters"] == "near" and not able:
            raise NoNearPairs("sampler.clusters=near: expected a model with near pairs and sampler.mode=exact; "
                              "sampler.clusters=all asks for neither")
        if able and self.options["clusters"] != "all":
            self.near, self.in_b = self.model.near_pairs, self.memory.flags(self.model.N)
        self.opened = -1
        self.allocation = self.sides_by = SmartAllocation()
        self.coupled = model if isinstance(model, Coupled) else None
        self.need(8)

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
        if self.near is not None:
            c = self.model.z[self.rng.draw_index(self.model.N)]
            return self.null() if self.model.size[c] == 1 else self.split(c, -1, -1)
        c = self.choose_split() if self.smart_split else self.draw_cluster(self.model.K)
        return self.split(c, -1, -1)

    cdef int propose_merge(self, int move) except -1 nogil:
        """Algorithm 2, lines 8 to 10; Algorithm 3, lines 3 to 5."""
        cdef Py_ssize_t i, j, K = self.model.K
        self.propose(move)
        if K == 1:
            return self.null()
        if self.near is not None:
            if self.smart_merge:
                i = self.model.z[self.rng.draw_index(self.model.N)]
                if self.rng.draw_coin(self.near.share):
                    self.need(K)
                    j = self.draw_candidate(i)
                else:
                    j = self.model.z[self.rng.draw_index(self.model.N)]
            else:
                self.near.draw(self.rng, &i, &j)
                i, j = self.model.z[i], self.model.z[j]
            if j < 0 or i == j:
                return self.null()
        elif self.smart_merge:
            i = self.draw_cluster(K)
            j = self.choose_partner(i)
        else:
            self.draw_two_clusters(K, &i, &j)
        return self.merge(i, j, -1, -1)

    cdef double log_anchors(self, bint merging) except? -1 nogil:
        cdef Py_ssize_t a = self.sides.ci, b = self.sides.cj, K = self.model.K - merging
        cdef double log_p
        if self.near is not None:
            return self.log_near(merging)
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

    # -- clusters=near
    cdef double log_near(self, bint merging) except? -1 nogil:
        """``log_anchors`` of clusters that are chosen through items and their near pairs."""
        cdef Py_ssize_t t, n = self.sides.n, a = self.sides.ci, b = self.sides.cj
        cdef double N = self.model.N, s = self.near.share, p, of_a, of_b
        self.need(self.model.K + 2)
        if merging:
            self.sides.gather()
        else:
            self.opened, a, b = a, self.model.K, self.model.K + 1
        for t in range(n):
            self.in_b[self.sides.items[t]] = self.sides.present[t] if merging else not self.sides.in_a[t]
        if self.smart_merge:
            of_a, of_b = self.model.size[a] / N, self.model.size[b] / N
            p = of_a * (s * self.chance(0, a, b) + (1.0 - s) * of_b)
            p += of_b * (s * self.chance(1, b, a) + (1.0 - s) * of_a)
        else:
            p = self.pair_chance(a, b)
        self.opened = -1
        return log(p) - log(n / N)

    cdef double pair_chance(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Probability that a pair of items that is drawn has one in side A and one in B, columns a and b."""
        cdef Py_ssize_t t, e
        cdef double N = self.model.N, s = self.near.share if self.near.P else 0.0, between = 0.0
        for t in range(self.sides.n):
            if not self.in_b[self.sides.items[t]]:
                for e in range(self.near.first[self.sides.items[t]], self.near.first[self.sides.items[t] + 1]):
                    if self.column_of(self.near.near[e]) == b:
                        between += self.near.chance[e]
        return (s * between + (1.0 - s) * 2.0 * self.model.size[a] * self.model.size[b] / (N * (N - 1.0)))

    cdef double chance(self, Py_ssize_t side, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """r(b given a) of the columns of a side (0: A) and of the other."""
        cdef Py_ssize_t t, m = self.weigh_candidates(self.sides.items, self.sides.n, side, a)
        for t in range(m):
            if self.candidate[t] == b:
                return exp(self.lw[t] - log_sum_exp(self.lw, m))
        return 0.0

    cdef Py_ssize_t draw_candidate(self, Py_ssize_t a) noexcept nogil:
        """A cluster by r(. given a); -1 without any."""
        cdef Py_ssize_t t, m = self.model.members(a, a, self.sides.items)
        m = self.weigh_candidates(self.sides.items, m, -1, a)
        if m == 0:
            return -1
        exp_weights(self.lw, m, self.lw + m)
        if self.model.name != NULL:
            for t in range(m):
                self.names[t] = self.model.name[self.candidate[t]]
        return self.candidate[self.rng.draw_option(NAMED, -1, self.lw + m, m,
                                                   NULL if self.model.name == NULL else self.names)]

    cdef Py_ssize_t weigh_candidates(self, const int32_t *items, Py_ssize_t n, Py_ssize_t side,
                                     Py_ssize_t a) noexcept nogil:
        """candidate[:m], lw[:m]: columns that share a near pair with column a, the items of a side (-1: all of these),
        and their log weights; returns m."""
        cdef Py_ssize_t t, e, k, m = 0
        for t in range(n):
            if side >= 0 and self.in_b[items[t]] != side:
                continue
            for e in range(self.near.first[items[t]], self.near.first[items[t] + 1]):
                k = self.column_of(self.near.near[e])
                if k != a and not self.taken[k]:
                    self.taken[k] = True
                    self.candidate[m] = <int32_t> k
                    m += 1
        for t in range(m):
            k = self.candidate[t]
            self.taken[k] = False
            self.lw[t] = self.log_pair_lik(a, k) - self.model.lik(k)
        return m

    cdef double log_pair_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Log marginal likelihood of clusters a and b as one, alone: g of their union."""
        return self.model.log_union(a, b) if self.coupled is None else self.coupled.log_pair_lik(a, b)

    cdef int need(self, Py_ssize_t clusters) except -1 nogil:
        """Room for the log weights of this many clusters, and columns for them in the model."""
        if 2 * clusters + 8 > self.lw_room:
            with gil:
                self.lw = <double *> self.memory.larger(self.lw, self.lw_room * 8, 2 * (2 * clusters + 8) * 8)
                if self.near is not None:
                    self.candidate = <int32_t *> self.memory.larger(self.candidate, 0, 8 * (2 * clusters + 8))
                    self.names = <int32_t *> self.memory.larger(self.names, 0, 8 * (2 * clusters + 8))
                    self.taken = <int8_t *> self.memory.larger(self.taken, 0, 2 * (2 * clusters + 8))
            self.lw_room = 2 * (2 * clusters + 8)
        return self.model.reserve(clusters)
