"""Triadic split-merge (paper 004, section 2.3): three random items decide among moves between 1, 2 and 3 clusters.

Line numbers are those of the paper's box. One cluster: a split 1-2. Two: with probability beta a merge 2-1, else a
split 2-3. Three: a merge 3-2. In a 2-3 move items i, j, k stand on three sides and the other N_v - 3 items of the
clusters at stake are allocated to these with probability q3; its reverse allocates k and the others, N_v - 2 items, to
the sides of i and j with probability q2, both in one uniform order:

    random   q2 = 2^-(N_v - 2), q3 = 3^-(N_v - 3)        sams   product of n_c p(y | c) / sum over the sides c

Exact ratios; a merge is the inverse of the split, evaluated from the merged side:

    form           1 -> 2                       2 -> 3
    symmetrised    (3 beta / 2) R_P R_L / q2    (2/3) q2 / ((1 - beta) q3) R_P R_L
    ordered        beta R_P R_L / q2            q2 / ((1 - beta) q3) R_P R_L

symmetrised: k is any of the three when they are in one or three clusters, either of the pair when in two; ordered: k is
the third, and the move is void when i and j share one of two clusters.
Terms: `target` R_P R_L; `branch` beta or 1 / (1 - beta) (equations 12, 14); `dropped` 3/2 or 2/3; `allocation` the q;
`orders` K + 1 where empty clusters are kept.

As printed (`mode=literal`): no `dropped`; the ratio of q is that of random allocation (equations 9, 15) or left out
(`q_ratio=one`); and lines 11 and 13 call the dyadic sampler on the whole state, so it draws its own pair (`redraw`).
This is biased: the sub-call's probability depends on the state.

Parameters that are kept: k's side draws new ones from their prior in a 2-3 split and loses them in the merge; i's and
j's sides keep those of their clusters. Cost: N_v triples of predictives.
"""
from libc.math cimport log
from libc.stdint cimport int8_t, int32_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from splitmerge_cli._dyadic cimport ALLOCATION, ORDERS, PRINTED, RANDOM, TARGET, PairMoves
from splitmerge_cli._kernels cimport Model, Rng, flags, ints, log_sum_exp

cdef enum:
    SPLIT_1_2, MERGE_2_1, SPLIT_2_3, MERGE_3_2  # MOVES

cdef enum:
    BRANCH = PRINTED + 1                # TERMS
    DROPPED

FORMS = ("symmetrised", "ordered")

cdef double LOG_2 = log(2.0)
cdef double LOG_3 = log(3.0)


cdef class Triadic(PairMoves):
    """Triadic split-merge.

    Parameters
    ----------
    model : Model
    rng : Rng
    beta : float
        Probability of a merge when the three items are in two clusters, between 0 and 1.
    allocation : {'sams', 'random'}
    form : {'symmetrised', 'ordered'}
        Which of the three items is k; see above.
    mode : {'exact', 'literal'}
    q_ratio : {'formula', 'one'}
        literal: the ratio of allocation probabilities.
    redraw : bool
        literal: whether lines 11 and 13 draw a pair of their own.
    """

    MOVES = ("split_1_2", "merge_2_1", "split_2_3", "merge_3_2")
    TERMS = ("target", "orders", "allocation", "printed", "branch", "dropped")

    cdef readonly double beta
    cdef readonly str form
    cdef readonly bint redraw
    cdef bint ordered, literal
    cdef int8_t *chosen                 # [N] the sides drawn
    cdef int32_t *third                 # [N] items of the third cluster

    def __init__(self, Model model not None, Rng rng not None, beta=0.1, str allocation="sams",
                 str form="symmetrised", str mode="exact", str q_ratio="formula", redraw=True):
        if allocation == "gibbs":
            raise ValueError("sampler.allocation: expected random or sams, got 'gibbs'")
        super().__init__(model, rng, allocation=allocation, mode=mode, q_ratio=q_ratio)
        if isinstance(beta, bool) or not isinstance(beta, (int, float)) or not 0.0 < beta < 1.0:
            raise ValueError(f"sampler.beta: expected a number between 0 and 1, got {beta}")
        if form not in FORMS:
            raise ValueError(f"sampler.form: expected one of {', '.join(FORMS)}, got {form!r}")
        if not isinstance(redraw, bool):
            raise ValueError(f"sampler.redraw: expected true or false, got {redraw!r}")
        self.beta, self.form, self.redraw = beta, form, redraw
        self.ordered = form == "ordered"
        self.literal = mode == "literal"
        self.chosen = flags(model.N)
        self.third = ints(model.N)

    def __dealloc__(self):
        free(self.third)
        free(self.chosen)

    cdef int make_step(self) except -1 nogil:
        """Lines 1 to 37."""
        cdef Py_ssize_t clusters, drop, i, j, k
        cdef Py_ssize_t[3] triple
        self.propose(SPLIT_1_2)
        if self.model.N < 3:
            return self.null()
        self.draw_triple(triple)
        clusters = self.count_clusters(triple)
        if self.literal:
            drop = 2 if clusters != 2 or self.model.z[triple[2]] in (
                self.model.z[triple[0]], self.model.z[triple[1]]) else 1
        elif self.ordered:
            drop = 2
            if clusters == 2 and self.model.z[triple[0]] == self.model.z[triple[1]]:
                self.bounded = False
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
        if self.literal and self.redraw:
            i = self.rng.draw_index(self.model.N)
            j = self.rng.draw_index(self.model.N - 1)
            j += j >= i
        if self.model.z[i] == self.model.z[j]:
            return self.split_pair(i, j, self.log_one_two())
        self.turn_to(MERGE_2_1)
        return self.merge_pair(i, j, self.log_one_two())

    cdef void draw_triple(self, Py_ssize_t *triple) noexcept nogil:
        """Lines 2 to 4: three items, without replacement."""
        cdef Py_ssize_t low, high
        triple[0] = self.rng.draw_index(self.model.N)
        triple[1] = self.rng.draw_index(self.model.N - 1)
        triple[1] += triple[1] >= triple[0]
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

    cdef void turn_to(self, int move) noexcept nogil:
        """The move at hand is another than was announced."""
        self.proposed[SPLIT_1_2] -= 1
        self.propose(move)

    cdef double log_one_two(self) noexcept nogil:
        """Terms of a split 1-2 beside those of the pair."""
        cdef double dropped = 0.0 if self.ordered else LOG_3 - LOG_2
        return (self.term(BRANCH, log(self.beta)) + self.term(DROPPED, dropped) - self.term(PRINTED, dropped))

    cdef double log_two_three(self, Py_ssize_t n, double log_q2, double log_q3) noexcept nogil:
        """Terms of a split 2-3 beside target and orders; n = N_v - 2."""
        cdef double dropped = 0.0 if self.ordered else LOG_2 - LOG_3
        cdef double formula = (n - 1) * LOG_3 - n * LOG_2 if self.formula else 0.0
        return (-self.term(BRANCH, log(1.0 - self.beta)) + self.term(DROPPED, dropped)
                + self.term(ALLOCATION, log_q2 - log_q3) + self.term(PRINTED, formula - log_q2 + log_q3 - dropped))

    cdef int split_2_3(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k) except -1 nogil:
        """Lines 14 to 22: k founds a third cluster."""
        cdef Py_ssize_t K = self.model.K, ci = self.model.z[i], cj = self.model.z[j], n, t
        cdef int32_t[3] new
        cdef double log_q2, log_q3, log_r
        self.bounded = False
        self.turn_to(SPLIT_2_3)
        if K == self.model.kmax:
            return self.null()
        self.model.reserve(K + 3)
        self.model.draw_parameters(self.rng, K + 2)
        for t in range(K, K + 6, 3):
            self.model.copy_parameters(ci, t)
            self.model.copy_parameters(cj, t + 1)
        n = self.gather(ci, cj, i, j)
        if self.how != RANDOM:
            self.shuffle(n)
        log_q3 = self.three_sides(n, i, j, k, K, False)
        log_r = self.term(TARGET, self.log_spread_ratio(ci, cj)) + self.term(ORDERS, self.log_orders(K + 1))
        if self.refused(log_r + self.log_two_three(n, 0.0, log_q3)):
            return 0
        memcpy(self.chosen, self.in_a, n)
        log_q2 = self.two_sides(n, i, j, k, K + 3, True)
        memcpy(self.in_a, self.chosen, n)
        if self.settled(log_r + self.log_two_three(n, log_q2, log_q3)):
            new[0], new[1], new[2] = <int32_t> ci, <int32_t> cj, <int32_t> K
            self.model.commit_sides(new, 3, self.items, self.in_a, n)
        return 0

    cdef int merge_3_2(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k) except -1 nogil:
        """Lines 23 to 30: k's cluster is shared out to those of i and j."""
        cdef Py_ssize_t K = self.model.K, ci = self.model.z[i], cj = self.model.z[j], ck = self.model.z[k], n, t
        cdef int32_t[2] new
        cdef double log_q2, log_q3, log_r
        self.turn_to(MERGE_3_2)
        self.model.reserve(K + 3)
        for t in range(K, K + 6, 3):
            self.model.copy_parameters(ci, t)
            self.model.copy_parameters(cj, t + 1)
            self.model.copy_parameters(ck, t + 2)
        n = self.gather_three(ci, cj, ck, i, j)
        if self.how != RANDOM:
            self.shuffle(n)
        log_q2 = self.two_sides(n, i, j, k, K, False)
        log_r = self.term(TARGET, self.log_gather_ratio(ci, cj, ck)) - self.term(ORDERS, self.log_orders(K))
        if self.refused(log_r - self.log_two_three(n, log_q2, 0.0)):
            return 0
        memcpy(self.chosen, self.in_a, n)
        log_q3 = self.three_sides(n, i, j, k, K + 3, True)
        memcpy(self.in_a, self.chosen, n)
        if self.settled(log_r - self.log_two_three(n, log_q2, log_q3)):
            new[0], new[1] = <int32_t> ci, <int32_t> cj
            self.model.commit_sides(new, 2, self.items, self.in_a, n)
            self.model.delete(ck)
        return 0

    cdef Py_ssize_t gather_three(self, Py_ssize_t ci, Py_ssize_t cj, Py_ssize_t ck, Py_ssize_t i,
                                 Py_ssize_t j) noexcept nogil:
        """items[:n]: those of three clusters but i and j, in item order, and their present sides. Returns n."""
        cdef Py_ssize_t n = self.gather(ci, cj, i, j), t = n - 1, s = self.model.size[ck] - 1, at = n + s
        self.model.members(ck, ck, self.third)
        # merge from the back, in place
        while s >= 0:
            if t >= 0 and self.items[t] > self.third[s]:
                self.items[at], self.present[at] = self.items[t], self.present[t]
                t -= 1
            else:
                self.items[at], self.present[at] = self.third[s], 2
                s -= 1
            at -= 1
        return n + self.model.size[ck]

    cdef void stage_at(self, Py_ssize_t first, Py_ssize_t n, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k) noexcept nogil:
        """n empty sides from scratch column `first` on, in the place of the clusters of i, j and k."""
        cdef int32_t[3] old
        old[0], old[1], old[2] = self.model.z[i], self.model.z[j], self.model.z[k]
        self.model.stage(old, 3, first, n)

    cdef double two_sides(self, Py_ssize_t n, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k, Py_ssize_t a,
                          bint forced) noexcept nogil:
        """Line 25: allocate items[:n] to scratch columns K (with i) and K + 1 (with j), or, `forced`, follow their
        present sides; returns log q2."""
        cdef Py_ssize_t t, b = a + 1
        cdef double log_q = -n * LOG_2
        if forced and self.how == RANDOM:
            return log_q
        self.stage_at(a, 2, i, j, k)
        self.model.join(i, a)
        self.model.join(j, b)
        if self.how == RANDOM:
            for t in range(n):
                self.in_a[t] = self.rng.draw_coin(0.5)
                self.model.join(self.items[t], a if self.in_a[t] else b)
        else:
            if forced:
                self.take_present(n)
            log_q = self.allocate(n, a, b, forced, True)
        for t in range(n):
            self.in_a[t] = not self.in_a[t]
        return log_q

    cdef double three_sides(self, Py_ssize_t n, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k, Py_ssize_t a,
                            bint forced) noexcept nogil:
        """Line 17: allocate items[:n] but k to scratch columns K (with i), K + 1 (with j), K + 2 (with k), or,
        `forced`, follow their present sides; returns log q3. in_a: the side, 0, 1 or 2."""
        cdef Py_ssize_t t, m, side
        cdef double[3] w
        cdef double p, product = 1.0, total = 0.0
        if forced and self.how == RANDOM:
            return -(n - 1) * LOG_3
        self.stage_at(a, 3, i, j, k)
        self.model.join(i, a)
        self.model.join(j, a + 1)
        self.model.join(k, a + 2)
        for t in range(n):
            m = self.items[t]
            if m == k:
                self.in_a[t] = 2
                continue
            if self.how == RANDOM:
                self.in_a[t] = <int8_t> self.rng.draw_index(3)
            else:
                self.model.weigh(m, a, 3, w)
                side = self.present[t] if forced else self.rng.draw_categorical(w, 3)
                p = w[side] / (w[0] + w[1] + w[2])
                self.in_a[t] = <int8_t> side
                if p < 1e-280:
                    # off the range of a double
                    total += self.log_share(m, a, side)
                else:
                    product *= p
                    if product < 1e-20:
                        total += log(product)
                        product = 1.0
            self.model.join(m, a + self.in_a[t])
        return total + log(product) if self.how != RANDOM else -(n - 1) * LOG_3

    cdef double log_share(self, Py_ssize_t m, Py_ssize_t a, Py_ssize_t side) noexcept nogil:
        """log probability that item m goes to this side."""
        cdef double[3] lw
        cdef Py_ssize_t s
        for s in range(3):
            lw[s] = self.model.log_pred(m, a + s) + log(self.model.alloc[self.model.size[a + s]])
        return lw[side] - log_sum_exp(lw, 3)

    cdef double log_spread_ratio(self, Py_ssize_t ci, Py_ssize_t cj) noexcept nogil:
        """log R_P R_L of putting scratch columns K, K + 1, K + 2 in the place of two clusters (equations 16, 17)."""
        cdef int32_t[5] ks
        cdef int32_t[5] sizes
        cdef Py_ssize_t s, K = self.model.K
        ks[0], ks[1], ks[2] = <int32_t> K, <int32_t> (K + 1), <int32_t> (K + 2)
        ks[3], ks[4] = <int32_t> ci, <int32_t> cj
        for s in range(5):
            sizes[s] = self.model.size[ks[s]]
        return (self.model.log_lik(ks, 3) - self.model.log_lik(ks + 3, 2)
                + self.model.log_prior(sizes, 3, K + 1) - self.model.log_prior(sizes + 3, 2, K))

    cdef double log_gather_ratio(self, Py_ssize_t ci, Py_ssize_t cj, Py_ssize_t ck) noexcept nogil:
        """log R_P R_L of putting scratch columns K, K + 1 in the place of three clusters."""
        cdef int32_t[5] ks
        cdef int32_t[5] sizes
        cdef Py_ssize_t s, K = self.model.K
        ks[0], ks[1] = <int32_t> K, <int32_t> (K + 1)
        ks[2], ks[3], ks[4] = <int32_t> ci, <int32_t> cj, <int32_t> ck
        for s in range(5):
            sizes[s] = self.model.size[ks[s]]
        return (self.model.log_lik(ks, 2) - self.model.log_lik(ks + 2, 3)
                + self.model.log_prior(sizes, 2, K - 1) - self.model.log_prior(sizes + 2, 3, K))
