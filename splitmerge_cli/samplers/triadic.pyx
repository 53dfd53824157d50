"""Triadic split-merge (van Rossum et al. 2018, section 2.3): moves between 1, 2 and 3 clusters.

Line numbers refer to the paper's box. One cluster: a split 1-2. Two: with probability beta a merge 2-1, else a
split 2-3. Three: a merge 3-2. In a 2-3 move items i, j, k stand on three sides and the other N_v - 3 items of the
selected clusters are allocated to these with probability q3; its reverse allocates k and the others, N_v - 2 items, to
the sides of i and j with probability q2, both in one uniform order:

    random   q2 = 2^-(N_v - 2), q3 = 3^-(N_v - 3)        sams   product of n_c p(y | c) / sum over the sides c

Exact ratios; a merge is the inverse of the split, evaluated from the merged side:

    form           1 -> 2                       2 -> 3
    symmetrised    (3 beta / 2) R_P R_L / q2    (2/3) q2 / ((1 - beta) q3) R_P R_L
    ordered        beta R_P R_L / q2            q2 / ((1 - beta) q3) R_P R_L

symmetrised: k is any of the three when they are in one or three clusters, either of the pair when in two; ordered: k is
the third, and it is a null proposal when i and j share one of two clusters. Terms: `target` R_P R_L; `branch` beta or 1
/ (1 - beta) (equations 12, 14); `dropped` 3/2 or 2/3; `allocation` the q; `orders` K + 1 where empty clusters are kept.

As printed (`mode=as_printed`): no `dropped`; the ratio of q is the ratio of random allocation (equations 9, 15) or left
out (`q_ratio=one`); and lines 11 and 13 call the dyadic sampler on the whole state, so it draws its own pair
(`redraw`). This is biased: the sub-call's probability depends on the state.

Uncollapsed models: k's side draws new ones from their prior in a 2-3 split and loses them in the merge; i's and
j's sides keep the items of their clusters. Cost: N_v triples of predictives.
"""
from libc.math cimport log
from libc.stdint cimport int8_t, int32_t
from libc.string cimport memcpy

from splitmerge_cli._kernels cimport sequential_allocation, sequential_allocation_among
from splitmerge_cli.samplers.split_merge cimport ALLOCATION, ORDERS, PRINTED, TARGET, SplitMerge

from splitmerge_cli.core.options import Choice, Flag, Number
from splitmerge_cli.samplers.split_merge import Q_RATIO, allocation_of, allocation_option

cdef enum:
    SPLIT_1_2, MERGE_2_1, SPLIT_2_3, MERGE_3_2  # MOVES

cdef enum:
    BRANCH = PRINTED + 1                # TERMS after SplitMerge's
    DROPPED

cdef double LOG_2 = log(2.0)
cdef double LOG_3 = log(3.0)


cdef class Triadic(SplitMerge):
    """Triadic split-merge: any three items; coins or sequential allocation, to two sides or to three."""

    OPTIONS = (
        Number("beta", 0.1, "probability of a merge when the three items are in two clusters", least=0.0, most=1.0,
               inside=True),
        allocation_option("sams", ("random", "sams")),
        Choice("form", "symmetrised", "which of the three items is k: symmetrised or ordered (see the sampler's page)",
               choices=("symmetrised", "ordered")),
        *SplitMerge.OPTIONS,
        Q_RATIO,
        Flag("redraw", True, "mode=as_printed: the dyadic moves draw their own pair, as printed"),
    )
    MOVES = ("split_1_2", "merge_2_1", "split_2_3", "merge_3_2")
    TERMS = (*SplitMerge.TERMS, "branch", "dropped")
    NEEDS_CONJUGATE = False

    cdef double beta
    cdef bint ordered, redraw, formula, coins
    cdef int8_t *chosen                 # [N] the sides drawn
    cdef int32_t *third                 # [N] items of the third cluster

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        options = self.options
        self.beta, self.redraw = options["beta"], options["redraw"]
        self.ordered, self.formula = options["form"] == "ordered", options["q_ratio"] == "formula"
        self.coins = options["allocation"] == "random"
        self.allocation = allocation_of(options["allocation"])
        self.chosen = self.memory.flags(self.model.N)
        self.third = self.memory.ints(self.model.N)

    cdef int make_step(self) except -1 nogil:
        """Lines 1 to 37."""
        cdef Py_ssize_t clusters, drop, i, j, k
        cdef Py_ssize_t[3] triple
        self.propose(SPLIT_1_2)
        if self.model.N < 3:
            return self.null()
        self.draw_triple(triple)
        clusters = self.count_clusters(triple)
        if self.as_printed:
            drop = 2 if clusters != 2 or self.model.z[triple[2]] in (
                self.model.z[triple[0]], self.model.z[triple[1]]) else 1
        elif self.ordered:
            drop = 2
            if clusters == 2 and self.model.z[triple[0]] == self.model.z[triple[1]]:
                return self.null()
        elif clusters == 2:
            drop = self.one_of_the_pair(triple, self.rng.draw_index(2))
        else:
            drop = self.rng.draw_index(3)
        i, j, k = triple[drop == 0], triple[1 + (drop <= 1)], triple[drop]
        if clusters == 3:
            return self.merge_3_2(i, j, k)
        if clusters == 2 and not self.rng.draw_coin(self.beta):
            return self.split_2_3(i, j, k)
        if self.as_printed and self.redraw:
            self.rng.draw_two(self.model.N, &i, &j)
        if self.model.z[i] == self.model.z[j]:
            return self.split(self.model.z[i], i, j)
        self.turn_to(MERGE_2_1)
        return self.merge(self.model.z[i], self.model.z[j], i, j)

    cdef void draw_triple(self, Py_ssize_t *triple) noexcept nogil:
        """Lines 2 to 4: three items, without replacement."""
        cdef Py_ssize_t low, high
        self.rng.draw_two(self.model.N, triple, triple + 1)
        low, high = min(triple[0], triple[1]), max(triple[0], triple[1])
        triple[2] = self.rng.draw_index(self.model.N - 2)
        triple[2] += triple[2] >= low
        triple[2] += triple[2] >= high

    cdef Py_ssize_t count_clusters(self, const Py_ssize_t *triple) noexcept nogil:
        """Lines 5 to 8: N_S."""
        cdef int32_t a = self.model.z[triple[0]], b = self.model.z[triple[1]], c = self.model.z[triple[2]]
        return 1 + (b != a) + (c != a and c != b)

    cdef Py_ssize_t one_of_the_pair(self, const Py_ssize_t *triple, Py_ssize_t which) noexcept nogil:
        """Position of the first (0) or second (1) of the two that share a cluster."""
        cdef int32_t a = self.model.z[triple[0]], b = self.model.z[triple[1]], c = self.model.z[triple[2]]
        if a == b:
            return which
        return 2 * which if a == c else 1 + which

    # -- moves between one cluster and two: the frame's, with two more terms
    cdef double log_own(self, bint merging) noexcept nogil:
        cdef double sign = -1.0 if merging else 1.0
        return (self.term(BRANCH, sign * log(self.beta))
                + self.term(DROPPED, 0.0 if self.ordered else sign * (LOG_3 - LOG_2)))

    cdef double log_printed(self, Py_ssize_t K, double log_q) noexcept nogil:
        """Without `dropped`; the printed ratio of q."""
        return (log_q + (self.sides.n * LOG_2 if self.formula else 0.0)
                - (0.0 if self.ordered else LOG_3 - LOG_2))

    # -- moves between two clusters and three
    cdef double log_two_three(self, Py_ssize_t n, double log_q2, double log_q3, double sign) noexcept nogil:
        """Terms of a split 2-3 (sign 1) or of a merge 3-2 (-1) in addition to target and orders; n = N_v - 2."""
        cdef double dropped = 0.0 if self.ordered else LOG_2 - LOG_3
        cdef double formula = (n - 1) * LOG_3 - n * LOG_2 if self.formula else 0.0
        return (self.term(BRANCH, -sign * log(1.0 - self.beta)) + self.term(DROPPED, sign * dropped)
                + self.term(ALLOCATION, sign * (log_q2 - log_q3))
                + self.term(PRINTED, sign * (formula - log_q2 + log_q3 - dropped)))

    cdef int split_2_3(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k) except -1 nogil:
        """Lines 14 to 22: k founds a third cluster."""
        cdef Py_ssize_t K = self.model.K, ci = self.model.z[i], cj = self.model.z[j], n, t
        cdef int32_t[3] new
        cdef int32_t[5] ks
        cdef double log_q2, log_q3, log_r
        self.turn_to(SPLIT_2_3)
        if K == self.model.kmax:
            return self.null()
        self.model.reserve(K + 3)
        if self.uncollapsed is not None:
            self.uncollapsed.draw_parameters(self.rng, K + 2)
            for t in range(K, K + 6, 3):
                self.uncollapsed.copy_parameters(ci, t)
                self.uncollapsed.copy_parameters(cj, t + 1)
        self.sides.open(ci, cj, i, j)
        self.sides.gather()
        n = self.sides.n
        self.shuffle()
        log_q3 = self.three_sides(k, K, False)
        ks[0], ks[1], ks[2] = <int32_t> K, <int32_t> (K + 1), <int32_t> (K + 2)
        ks[3], ks[4] = <int32_t> ci, <int32_t> cj
        # equations 16, 17
        log_r = self.term(TARGET, self.log_ratio_of(ks, 3, 2)) + self.term(ORDERS, self.log_orders(K + 1))
        if not self.survives_without_q(log_r + self.log_two_three(n, 0.0, log_q3, 1.0)):
            return 0
        memcpy(self.chosen, self.sides.in_a, n)
        log_q2 = self.two_sides(k, K + 3, True)
        memcpy(self.sides.in_a, self.chosen, n)
        if self.decide(log_r + self.log_two_three(n, log_q2, log_q3, 1.0)):
            new[0], new[1], new[2] = <int32_t> ci, <int32_t> cj, <int32_t> K
            self.model.commit_sides(new, 3, self.sides.items, self.sides.in_a, n)
        return 0

    cdef int merge_3_2(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k) except -1 nogil:
        """Lines 23 to 30: k's cluster is shared out to the clusters of i and j."""
        cdef Py_ssize_t K = self.model.K, ci = self.model.z[i], cj = self.model.z[j], ck = self.model.z[k], n, t
        cdef int32_t[2] new
        cdef int32_t[5] ks
        cdef double log_q2, log_q3, log_r
        self.turn_to(MERGE_3_2)
        self.model.reserve(K + 3)
        if self.uncollapsed is not None:
            for t in range(K, K + 6, 3):
                self.uncollapsed.copy_parameters(ci, t)
                self.uncollapsed.copy_parameters(cj, t + 1)
                self.uncollapsed.copy_parameters(ck, t + 2)
        self.sides.open(ci, cj, i, j)
        self.gather_three(ck)
        n = self.sides.n
        self.shuffle()
        log_q2 = self.two_sides(k, K, False)
        ks[0], ks[1] = <int32_t> K, <int32_t> (K + 1)
        ks[2], ks[3], ks[4] = <int32_t> ci, <int32_t> cj, <int32_t> ck
        log_r = self.term(TARGET, self.log_ratio_of(ks, 2, 3)) + self.term(ORDERS, -self.log_orders(K))
        if not self.survives_without_q(log_r + self.log_two_three(n, log_q2, 0.0, -1.0)):
            return 0
        memcpy(self.chosen, self.sides.in_a, n)
        log_q3 = self.three_sides(k, K + 3, True)
        memcpy(self.sides.in_a, self.chosen, n)
        if self.decide(log_r + self.log_two_three(n, log_q2, log_q3, -1.0)):
            new[0], new[1] = <int32_t> ci, <int32_t> cj
            self.model.commit_sides(new, 2, self.sides.items, self.sides.in_a, n)
            self.model.delete(ck)
        return 0

    cdef void shuffle(self) noexcept nogil:
        if not self.coins:
            self.sides.draw_order()
            self.sides.put_in_order()

    cdef void gather_three(self, Py_ssize_t ck) noexcept nogil:
        """The items of the sides and of a third cluster, in item order, and their present sides."""
        cdef Py_ssize_t t, s, last
        self.sides.gather()
        t = self.sides.n - 1
        s = self.model.size[ck] - 1
        self.sides.n += self.model.size[ck]
        last = self.sides.n - 1
        self.model.members(ck, ck, self.third)
        # merge from the back, in place
        while s >= 0:
            if t >= 0 and self.sides.items[t] > self.third[s]:
                self.sides.items[last], self.sides.present[last] = self.sides.items[t], self.sides.present[t]
                t -= 1
            else:
                self.sides.items[last], self.sides.present[last] = self.third[s], 2
                s -= 1
            last -= 1

    cdef void stage_at(self, Py_ssize_t first, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
        """n sides from scratch column `first` on, with i, j (and k), in the place of the clusters of i, j and k."""
        cdef int32_t[3] old
        old[0], old[1], old[2] = self.model.z[self.sides.i], self.model.z[self.sides.j], self.model.z[k]
        self.model.stage(old, 3, first, n)
        self.model.join(self.sides.i, first)
        self.model.join(self.sides.j, first + 1)
        if n == 3:
            self.model.join(k, first + 2)

    cdef double two_sides(self, Py_ssize_t k, Py_ssize_t a, bint forced) noexcept nogil:
        """Line 25: allocate the items to scratch columns a (with i) and a + 1 (with j), or, `forced`, follow their
        present sides; returns log q2. in_a: the side, 0 or 1."""
        cdef Py_ssize_t t, n = self.sides.n
        cdef double log_q = -n * LOG_2
        if forced and self.coins:
            return log_q
        self.stage_at(a, 2, k)
        if self.coins:
            for t in range(n):
                self.sides.in_a[t] = self.rng.draw_coin(0.5)
                self.model.join(self.sides.items[t], a if self.sides.in_a[t] else a + 1)
        else:
            if forced:
                self.sides.take_present()
            log_q = sequential_allocation(self.model, self.rng, self.sides.items, n, a, a + 1, self.sides.in_a, forced,
                                          True)
        for t in range(n):
            self.sides.in_a[t] = not self.sides.in_a[t]
        return log_q

    cdef double three_sides(self, Py_ssize_t k, Py_ssize_t a, bint forced) noexcept nogil:
        """Line 17: allocate the items but k to scratch columns a (with i), a + 1 (with j), a + 2 (with k), or,
        `forced`, follow their present sides; returns log q3. in_a: the side, 0, 1 or 2."""
        cdef Py_ssize_t t, m, n = self.sides.n
        if not self.coins:
            self.stage_at(a, 3, k)
            if forced:
                memcpy(self.sides.in_a, self.sides.present, n)
            return sequential_allocation_among(self.model, self.rng, self.sides.items, n, a, 3, self.sides.in_a, k,
                                               forced)
        if not forced:
            self.stage_at(a, 3, k)
            for t in range(n):
                m = self.sides.items[t]
                if m == k:
                    self.sides.in_a[t] = 2
                    continue
                self.sides.in_a[t] = <int8_t> self.rng.draw_index(3)
                self.model.join(m, a + self.sides.in_a[t])
        return -(n - 1) * LOG_3
