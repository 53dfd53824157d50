"""The split of a cluster by a pair of its items, and the merge that reverses it (paper 004, sections 2.1 and 2.2).

Items i and j stand on different sides; the n = N_v - 2 other items of the clusters at stake are allocated to the sides

    random   by fair coins                                          q = 2^-n                  (equation 8)
    sams     one after the other, in a random order, with probability proportional to the side's size times the
             predictive of the item given those there               q = product of the steps  (section 2.2; Dahl 2003)
    gibbs    by t restricted Gibbs scans from a random launch state and a last one that is scored (Jain and Neal 2004)

and a merge evaluates q of the present sides in the same way. Exact log ratio of a split (a merge is the inverse):

    log R_P R_L - log q        plus log (K + 1) where empty clusters are kept                             (equation 3)

Parameters that are kept, not integrated out: i's side draws new ones from their prior, j's side keeps those of the
cluster, and a merged cluster those of j's. The prior density cancels; R_L is that given the parameters.

What is forced draws nothing but its order, and its log q is at most 0: the ratio without it is an upper bound, and a
move that the acceptance draw refuses already by that bound is not evaluated further (`refused`, `settled`).

As printed (`mode=literal`) the ratio of q is 2^n whatever the allocation (`q_ratio=formula`, equation 9), or left out
(`one`). For `random` equation 9 is exact.
"""
from libc.math cimport exp, log
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from splitmerge_cli._kernels cimport Model, Rng, SplitMerge, flags, ints

from splitmerge_cli._kernels import check_count

ALLOCATIONS = ("random", "sams", "gibbs")
Q_RATIOS = ("formula", "one")

cdef double LOG_2 = log(2.0)


cdef class PairMoves(SplitMerge):
    """What a sampler of pairs is made of; its TERMS begin with these four."""

    TERMS = ("target", "orders", "allocation", "printed")
    LITERAL_TERM = "printed"
    NEEDS_CONJUGATE = False

    def __init__(self, Model model not None, Rng rng not None, str allocation="sams", t=5, str mode="exact",
                 str q_ratio="formula"):
        super().__init__(model, rng, mode)
        for key, value, offered in (("allocation", allocation, ALLOCATIONS), ("q_ratio", q_ratio, Q_RATIOS)):
            if value not in offered:
                raise ValueError(f"sampler.{key}: expected one of {', '.join(offered)}, got {value!r}")
        check_count("sampler.t", t, 0, 10_000)
        self.allocation, self.t, self.q_ratio = allocation, t, q_ratio
        self.how = ALLOCATIONS.index(allocation)
        self.formula = q_ratio == "formula"
        self.order = ints(model.N)
        self.present = flags(model.N)

    def __dealloc__(self):
        free(self.present)
        free(self.order)

    cdef int split_pair(self, Py_ssize_t i, Py_ssize_t j, double others) except -1 nogil:
        """Section 2.1.1: propose to split the cluster of i and j; `others` are further terms of the log ratio."""
        cdef Py_ssize_t K = self.model.K, c = self.model.z[i], n
        cdef double log_q
        self.bounded = False
        if K == self.model.kmax:
            return self.null()
        self.model.reserve(K)
        self.model.draw_parameters(self.rng, K)
        self.model.copy_parameters(c, K + 1)
        n = self.gather(c, c, i, j)
        log_q = self.sides(n, i, j, False)
        if self.decide(self.term(TARGET, self.log_split_ratio(c, K, K + 1))
                       + self.term(ORDERS, self.log_orders(K + 1))
                       - self.term(ALLOCATION, log_q)
                       + self.term(PRINTED, log_q + (n * LOG_2 if self.formula else 0.0))
                       + others):
            self.accept_split(c, n, j)
        return 0

    cdef int merge_pair(self, Py_ssize_t i, Py_ssize_t j, double others) except -1 nogil:
        """Section 2.1.2: propose to merge the clusters of i and j; `others` are further terms of a split's log
        ratio."""
        cdef Py_ssize_t K = self.model.K, ci = self.model.z[i], cj = self.model.z[j], n
        cdef double log_q, log_r
        self.bounded = False
        self.model.reserve(K)
        self.model.copy_parameters(ci, K)
        self.model.copy_parameters(cj, K + 1)
        n = self.model.size[ci] + self.model.size[cj] - 2
        log_r = self.term(TARGET, self.log_merge_ratio(ci, cj)) - self.term(ORDERS, self.log_orders(K)) - others
        if self.how == RANDOM:
            # whatever the sides are
            log_q = -n * LOG_2
        else:
            if self.how == SAMS:
                # all that the sides draw is their order: what it is matters only if the move is not refused already
                self.draw_order(n)
                if self.refused(log_r):
                    return 0
            self.gather(ci, cj, i, j)
            if self.how == SAMS:
                self.put_in_order(n)
            log_q = self.sides(n, i, j, True)
        log_r += (self.term(ALLOCATION, log_q) - self.term(PRINTED, log_q + (n * LOG_2 if self.formula else 0.0)))
        if self.settled(log_r):
            self.model.commit_merge(ci, cj)
        return 0

    cdef bint refused(self, double most) noexcept nogil:
        """Whether the proposal is refused already by an upper bound of its log ratio, where what is left to be
        evaluated draws nothing: the acceptance draw may as well come first. Else ``settled`` goes on."""
        self.drawn = self.bounded = False
        if self.rng.scripted or self.on[PRINTED] or not most < -1e-12:
            return False
        self.u = self.rng.next()
        self.last_log_ratio = most
        self.drawn = self.u < exp(most)
        self.bounded = not self.drawn
        return self.bounded

    cdef bint settled(self, double log_r) noexcept nogil:
        """``decide``, after ``refused`` said no."""
        if not self.drawn:
            return self.decide(log_r)
        self.drawn = False
        self.last_log_ratio = log_r
        if self.u < exp(log_r):
            self.accepted[self.move] += 1
            return True
        return False

    cdef Py_ssize_t gather(self, Py_ssize_t ci, Py_ssize_t cj, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """items[:n]: those of two clusters but i and j, in item order, and their present sides. Returns n."""
        cdef Py_ssize_t t, k, n = 0
        for t in range(self.model.members(ci, cj, self.items)):
            k = self.items[t]
            if k != i and k != j:
                self.items[n] = <int32_t> k
                self.present[n] = self.model.z[k] != ci
                n += 1
        return n

    cdef void draw_order(self, Py_ssize_t n) noexcept nogil:
        """Draw a uniform order of n items, for ``put_in_order``."""
        cdef Py_ssize_t t
        for t in range(n - 1, 0, -1):
            self.order[t] = <int32_t> self.rng.draw_index(t + 1)

    cdef void put_in_order(self, Py_ssize_t n) noexcept nogil:
        """The order drawn, of items[:n] with their present sides."""
        cdef Py_ssize_t t
        cdef int32_t s
        for t in range(n - 1, 0, -1):
            s = self.order[t]
            self.items[t], self.items[s] = self.items[s], self.items[t]
            self.present[t], self.present[s] = self.present[s], self.present[t]

    cdef void shuffle(self, Py_ssize_t n) noexcept nogil:
        """A uniform order of items[:n], with their present sides."""
        self.draw_order(n)
        self.put_in_order(n)

    cdef double sides(self, Py_ssize_t n, Py_ssize_t i, Py_ssize_t j, bint forced) noexcept nogil:
        """Allocate items[:n] to scratch columns K (with i) and K + 1 (with j), or, `forced`, follow their present
        sides; returns log q."""
        cdef Py_ssize_t t, _scan, a = self.model.K, b = a + 1
        self.stage_two(self.model.z[i], self.model.z[j])
        self.model.join(i, a)
        self.model.join(j, b)
        if self.how == SAMS:
            if forced:
                self.take_present(n)
            else:
                self.shuffle(n)
            return self.allocate(n, a, b, forced, True)
        self.launch_sides(n, i, j)
        for t in range(n):
            self.model.join(self.items[t], a if self.in_a[t] else b)
        if self.how == RANDOM:
            return -n * LOG_2
        for _scan in range(self.t):
            self.restricted_scan(n, a, b, NULL, False)
        if not forced:
            return self.restricted_scan(n, a, b, NULL, True)
        for t in range(n):
            self.present[t] = not self.present[t]
        return self.restricted_scan(n, a, b, self.present, True)

    cdef void launch_sides(self, Py_ssize_t n, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """in_a of items[:n], by fair coins: the sides of `random`, the launch state of `gibbs`."""
        cdef Py_ssize_t t
        for t in range(n):
            self.in_a[t] = self.rng.draw_coin(0.5)

    cdef void take_present(self, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(n):
            self.in_a[t] = self.present[t] == 0
