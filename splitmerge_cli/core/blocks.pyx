"""Models that score an item against eight clusters at a time, and weights of a scan from such scores.

A model implements ``settle``, what scores an item against a cluster, and ``score``. Where its log predictive is

    level + degree log prod_d factor(numbers of column d, x_d, turn)

it implements ``score_factors`` in the place of ``score``, with a macro of ``product_family.h``, and ``take_out_of``,
level, degree and turn that score an item which the cluster counts, given the others there. Factors are near 1 for an
item that tells a cluster little, and fall towards 0 for one of the cluster's own that it consists of. Scans, odds,
weights and densities of items that are left out follow.
"""
from libc.math cimport INFINITY, exp
from libc.string cimport memcpy

import numpy as np

from splitmerge_cli.core.sums cimport BY_LANE, COPIED, MARK, ROOM, STALE, Form

cdef extern from "product_family.h":
    void score_power(const double *level, const double *degree, const double *log_q, double *power) noexcept nogil

cdef extern from *:
    """
    static inline void weigh_block(const double *W, const double *power, double top, double *w)
    {
        EACH_LANE(h)
            LANES_TO(w + h) = LANES_AT(W + h) * lanes_exp(LANES_AT(power + h) - top);
    }
    """
    void weigh_block(const double *W, const double *power, double top, double *w) noexcept nogil


# An item's own share is taken out in closed form while the product keeps its digits, and by counting where it does not.
cdef double LEAST_LEFT = 1e-4


cdef void weigh_powers(Model model, double *power, Py_ssize_t own) noexcept nogil:
    """The weights of a scan, ``w`` of the model, from log predictives of an item in all clusters and in a new one;
    `own`: its cluster, whose log predictive is that given the others there, or -1. `power` is written over."""
    cdef Py_ssize_t k, m = model.K + 1, rest = model.size[own] - 1 if own >= 0 else -1
    cdef double top = -INFINITY, w_own = 0.0
    if own >= 0:
        if rest == 0:
            # alone, its own cluster stands for the new one
            power[own] = power[model.K]
        w_own = model.W[own]
        model.W[own] = model.scan_weight(rest)
    # not of a new cluster that the prior rules out: it may outweigh all others
    for k in range(m if model.new_cluster_weight > 0.0 else model.K):
        if power[k] > top:
            top = power[k]
    if not power[model.K] <= top:
        power[model.K] = top
    # what columns past the options hold may be beyond what an exponential takes
    for k in range(m, (m + 7) & ~7):
        power[k] = top
    for k in range(0, m, 8):
        weigh_block(model.W + k, power + k, top, model.w + k)
    if own >= 0:
        model.W[own] = w_own
        if rest == 0:
            model.w[m - 1] = 0.0


cdef class Blocks(Model):
    """A model that scores an item against blocks of eight clusters; an abstract class. It calls ``keep_blocks``, or
    keeps ``power`` and ``stale``."""

    cdef int keep_blocks(self, Py_ssize_t rows, Form form=ROOM) except -1:
        """Keep what scores an item by a product, so many numbers of each cluster in a block, before there are columns;
        `form`: ``COPIED``, or ``ROOM``, which is filled anew in a copy of a cluster."""
        cdef Py_ssize_t lane
        self.rows = rows
        self.keep(&self.at, form, rows, BY_LANE)
        self.keep(&self.level, form)
        self.keep(&self.degree, form)
        self.keep(&self.left, ROOM)
        self.keep(&self.power, ROOM)
        self.keep(&self.stale, MARK if form == COPIED else STALE)
        self.lane = self.memory.doubles(40)
        for lane in range(8):
            self.lane[lane] = 1.0
        return 0

    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        """Bring what scores an item against cluster k up to date, and take the mark ``stale`` away."""
        pass

    cdef void score_factors(self, Py_ssize_t i, Py_ssize_t block, const double *turn, double *log_q) noexcept nogil:
        """log_q[:8]: log of the product for item i in the eight clusters from `block` on, and the product in ``left``.
        `turn` is 1, or what ``take_out_of`` sets."""
        pass

    cdef void take_out_of(self, Py_ssize_t k, double *turn, double *level, double *degree) noexcept nogil:
        """Set what scores an item that cluster k counts, given the others there."""
        pass

    cdef void score(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        """power[k] of item i for the eight clusters from `block` on, which are settled; `own` of them, or -1, counts
        it, and scores it given the others there."""
        cdef double *turn = self.lane
        cdef double *level = self.level + block
        cdef double *degree = self.degree + block
        cdef double *log_q = self.lane + 32
        if own >= 0:
            turn = self.lane + 8
            memcpy(turn, self.lane, 8 * sizeof(double))
            memcpy(turn + 8, level, 8 * sizeof(double))
            memcpy(turn + 16, degree, 8 * sizeof(double))
            level, degree = turn + 8, turn + 16
            self.take_out_of(own, turn + own - block, level + own - block, degree + own - block)
        self.score_factors(i, block, turn, log_q)
        score_power(level, degree, log_q, self.power + block)
        if own >= 0:
            self.keep_digits(i, block, own)

    cdef void keep_digits(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        """``count_out`` where ``left`` says that the closed form leaves no digits."""
        if not self.left[own] >= LEAST_LEFT:
            self.count_out(i, block, own)

    cdef void count_out(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        """Score an item that cluster `own` counts, given the others there, by taking it out."""
        self.leave(i, own)
        self.settle(own)
        self.score(i, block, -1)
        self.join(i, own)
        self.settle(own)

    cdef void forget_scores(self) noexcept nogil:
        """Take over that parameters of all clusters have changed."""
        cdef Py_ssize_t k
        for k in range(self.cap):
            self.stale[k] = True
            self.is_valid[k] = False

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        if self.stale[k]:
            self.settle(k)
        self.score(i, k & ~7, -1)
        return self.power[k]

    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef Py_ssize_t block = a & ~7
        cdef double r
        if self.stale[a]:
            self.settle(a)
        if self.stale[b]:
            self.settle(b)
        self.score(i, block, own if own >= 0 and (own & ~7) == block else -1)
        if (b & ~7) != block:
            self.score(i, b & ~7, own if own == b else -1)
        r = exp(self.power[b] - self.power[a])
        return r * self.weight_of(b, own == b) / self.weight_of(a, own == a) if sized else r

    cdef void weigh(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t m, double *w) noexcept nogil:
        cdef Py_ssize_t k, last = first + m - 1
        cdef double top = -INFINITY
        for k in range(first, last + 1):
            if self.stale[k]:
                self.settle(k)
        for k in range(first & ~7, last + 1, 8):
            self.score(i, k, -1)
        for k in range(first, last + 1):
            w[k - first] = self.weight_of(k, False)
            if self.power[k] > top and w[k - first] > 0.0:
                top = self.power[k]
        for k in range(first, last + 1):
            w[k - first] *= exp(self.power[k] - top) if w[k - first] > 0.0 else 1.0

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, own = self.z[i], m = self.K + 1
        # alone, its own cluster stands for the new one
        cdef Py_ssize_t mine = own & ~7 if own >= 0 and self.size[own] > 1 else -1
        for k in range(m):
            if self.stale[k]:
                self.settle(k)
        for k in range(0, m, 8):
            self.score(i, k, own if k == mine else -1)
        weigh_powers(self, self.power, own)

    def left_out_densities(self):
        """As of any model, each cluster settled once: an item leaves its own in closed form."""
        cdef Py_ssize_t i, k, own, empty = self.K
        cdef double rest
        cdef double[:, ::1] log_density = np.empty((self.N, self.K + 1))
        if self.allows_empty:
            return super().left_out_densities()
        self.begin_scan()
        for k in range(empty + 1):
            if self.stale[k]:
                self.settle(k)
        for i in range(self.N):
            own = self.z[i]
            for k in range(0, empty + 1, 8):
                self.score(i, k, own if k == (own & ~7) and self.size[own] > 1 else -1)
            if self.size[own] == 1:
                self.power[own] = -INFINITY
            for k in range(empty + 1):
                log_density[i, k] = self.power[k]
            # `power` leaves out what all clusters share
            rest = self.log_pred(i, empty) - log_density[i, empty]
            for k in range(empty + 1):
                log_density[i, k] += rest
        return np.asarray(log_density)
