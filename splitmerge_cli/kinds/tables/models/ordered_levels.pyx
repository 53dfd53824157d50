"""Ordinal columns of a table (``mixed.pyx``): answers on a scale, the levels of which have an order.

A cluster's answers are a normal number that is cut into levels: level v has the probability

    q_v(m, s) = Phi((c_(v+1) - m) / s) - Phi((c_v - m) / s)

The cuts c (``model.cuts``) are by default those at which the whole column is standard normal: they depend on how often
each level occurs. Mean m and standard deviation s of a cluster have a prior on ``POINTS`` points, so that the marginal
likelihood of n_v answers at level v is the sum over points of prior times the product of q_v^n_v, and the predictive is
a mean of q_v under the posterior weights of the points. An item that is counted leaves by the harmonic mean
(docs/derivations.md, "Ordinal columns"). Cost: a change of a cluster O(levels POINTS), an item as in a categorical
column.
"""
cimport cython
from libc.math cimport log

import numpy as np

from splitmerge_cli.core.memory cimport doubles_of, ints_of
from splitmerge_cli.core.sums cimport BY_COLUMN, ROOM, Sums

cdef extern from "simd_math.h":
    pass

cdef extern from *:
    """
    enum { POINTS = 216 };

    static inline lanes lanes_from(const double *p)
    {
        lanes v;
        memcpy(&v, p, sizeof v);
        return v;
    }

    /* Sum of eight partial sums, in an order that does not depend on the machine. */
    static inline double sum_eight(const double *part)
    {
        return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
    }

    /* Posterior weights of the points given counts of levels, and `more` unless that is NULL; their sum is
       exp(log Z - top), log Z is returned. */
    static inline double weigh_points(const double *log_prior, const double *log_q, ptrdiff_t L, const int32_t *count,
                                      const int32_t *more, double *w, double *sum)
    {
        double top = -INFINITY, part[8] __attribute__((aligned(64)));
        /* lane by lane: compilers leave the largest of many numbers to one comparison after another */
        lanes largest = lanes_from(log_prior) - INFINITY;
        for (ptrdiff_t g = 0; g < POINTS; g += 3 * LANES) {
            lanes at[3] = {lanes_from(log_prior + g), lanes_from(log_prior + g + LANES),
                           lanes_from(log_prior + g + 2 * LANES)};
            for (ptrdiff_t v = 0; v < L; v++) {
                const double n = count[v] + (more ? more[v] : 0);
                if (n > 0.0)
                    for (ptrdiff_t t = 0; t < 3; t++)
                        at[t] += n * lanes_from(log_q + v * POINTS + g + t * LANES);
            }
            for (ptrdiff_t t = 0; t < 3; t++) {
                const ilanes larger = at[t] > largest;
                largest = (lanes)(((ilanes)at[t] & larger) | ((ilanes)largest & ~larger));
                LANES_TO(w + g + t * LANES) = at[t];
            }
        }
        for (ptrdiff_t h = 0; h < LANES; h++)
            if (largest[h] > top)
                top = largest[h];
        EACH_LANE(h) {
            lanes total = {0};
            for (ptrdiff_t g = h; g < POINTS; g += 8) {
                LANES_TO(w + g) = lanes_exp(LANES_AT(w + g) - top);
                total += LANES_AT(w + g);
            }
            LANES_TO(part + h) = total;
        }
        *sum = sum_eight(part);
        return top + log(*sum);
    }

    /* Sum over points of weight times q. */
    static inline double sum_points(const double *w, const double *q)
    {
        double part[8] __attribute__((aligned(64)));
        EACH_LANE(h) {
            lanes a = {0}, b = {0}, c = {0};
            for (ptrdiff_t g = h; g < POINTS; g += 24) {
                a += LANES_AT(w + g) * lanes_from(q + g);
                b += LANES_AT(w + g + 8) * lanes_from(q + g + 8);
                c += LANES_AT(w + g + 16) * lanes_from(q + g + 16);
            }
            LANES_TO(part + h) = a + (b + c);
        }
        return sum_eight(part);
    }

    typedef struct { double w[POINTS] __attribute__((aligned(64))); } point_weights;
    """
    enum:
        POINTS
    ctypedef struct point_weights:
        double *w
    double weigh_points(const double *log_prior, const double *log_q, Py_ssize_t L, const int32_t *count,
                        const int32_t *more, double *w, double *sum) noexcept nogil
    double sum_points(const double *w, const double *q) noexcept nogil

MEANS = np.linspace(-2.4, 2.4, 27)
"""Points of m."""
DEVIATIONS = 2.0 ** (np.arange(-5, 3) / 3.0)
"""Points of s."""
LEAST = 1e-6
"""Least probability of a level: an answer that no normal distribution explains."""


def tables_of_levels(cuts, double zeta):
    """Probabilities of the levels at the points, from the cuts of each ordinal column."""
    from scipy.special import ndtr

    m, s = (grid.ravel() for grid in np.meshgrid(MEANS, DEVIATIONS, indexing="ij"))
    blocks = []
    for of_column in cuts:
        at = np.reshape(of_column, (-1, 1))
        below = np.vstack([np.zeros_like(m), ndtr((at - m) / s), np.ones_like(m)])
        block = np.maximum(np.diff(below, axis=0), LEAST)
        blocks.append(block / block.sum(axis=0))
    density = np.vstack(blocks)
    log_q, log_prior = zeta * np.log(density), -0.5 * m**2
    return {"density": density.ravel(), "log_q": log_q.ravel(), "q": np.exp(log_q).ravel(),
            "inverse_q": np.exp(-log_q).ravel(), "log_prior": log_prior - np.log(np.exp(log_prior).sum())}


@cython.final
cdef class OrderedLevels(Sums):
    """Scores of the columns; `count`, here and below, are a cluster's counts of all rows. `tables`: of
    ``tables_of_levels``; `data`: of ``mixed_cells.prepare``."""

    def __init__(self, tables, data):
        self.shared = tables, data
        self.n = len(data.cuts)
        self.first = ints_of(data.first)
        self.first += <Py_ssize_t> data.C - self.n
        self.before, self.levels = self.first[0], self.first[self.n] - self.first[0]
        self.keep(&self.own, ROOM, self.levels, BY_COLUMN)
        self.keep(&self.weights, ROOM, self.n * POINTS, BY_COLUMN)
        self.keep(&self.totals, ROOM, self.n, BY_COLUMN)
        self.log_prior, self.log_q = doubles_of(tables.log_prior), doubles_of(tables.log_q)
        self.q, self.inverse_q = doubles_of(tables.q), doubles_of(tables.inverse_q)
        self.density = doubles_of(tables.density)

    cdef double weigh(self, Py_ssize_t c, const int32_t *count, const int32_t *more, double *w,
                      double *sum) noexcept nogil:
        """Posterior weights of the points of column c, and their sum; the log marginal likelihood."""
        cdef const int32_t *of_more = NULL
        if more != NULL:
            of_more = more + self.first[c]
        return weigh_points(self.log_prior, self.log_q + (self.first[c] - self.before) * POINTS,
                            self.first[c + 1] - self.first[c], count + self.first[c], of_more, w, sum)

    cdef double log_level(self, const double *w, double total, const double *q, Py_ssize_t r) noexcept nogil:
        """Log of the posterior mean of level r in this table."""
        return log(sum_points(w, q + (r - self.before) * POINTS) / total)

    cdef void predict(self, Py_ssize_t c, const int32_t *count, double *w, double *total, double *row,
                      Py_ssize_t stride) noexcept nogil:
        """Write the log predictive of each level of column c, so many numbers apart; weights of the points as of
        ``weigh``."""
        cdef Py_ssize_t r
        self.weigh(c, count, NULL, w, total)
        for r in range(self.first[c], self.first[c + 1]):
            row[stride * (r - self.before)] = self.log_level(w, total[0], self.q, r)

    cdef void settle(self, Py_ssize_t k, const int32_t *count, double *row) noexcept nogil:
        """Write the log predictive of cluster k for each level from `row` on, eight numbers apart."""
        cdef Py_ssize_t c
        for c in range(self.n):
            self.predict(c, count, self.weights + (k * self.n + c) * POINTS, self.totals + k * self.n + c, row, 8)

    cdef void settle_own(self, Py_ssize_t k, const int32_t *count) noexcept nogil:
        """Bring ``own`` of cluster k up to date, of an answer that it counts, given the others, as Z(n - 1) / Z(n) is
        the posterior mean of 1 / q; ``settle`` has been called."""
        cdef Py_ssize_t c, r
        for c in range(self.n):
            for r in range(self.first[c], self.first[c + 1]):
                # of no observed answer nobody asks
                if count[r]:
                    self.own[k * self.levels + r - self.before] = -self.log_level(
                        self.weights + (k * self.n + c) * POINTS, self.totals[k * self.n + c], self.inverse_q, r)

    cdef double own_score(self, Py_ssize_t k, const int32_t *code) noexcept nogil:
        """Log predictive of an item that cluster k counts, given the others there; ``settle_own`` has been called."""
        cdef Py_ssize_t c
        cdef double total = 0.0
        for c in range(self.n):
            if code[c]:
                total += self.own[k * self.levels + code[c] - self.before]
        return total

    cdef double log_density(self, const int32_t *count, const int32_t *code) noexcept nogil:
        """Log predictive probability of an uncounted item's answers, for which the posterior has the power."""
        cdef point_weights points
        cdef Py_ssize_t c
        cdef double total, log_pred = 0.0
        for c in range(self.n):
            if code[c]:
                self.weigh(c, count, NULL, points.w, &total)
                log_pred += self.log_level(points.w, total, self.density, code[c])
        return log_pred

    cdef double log_lik(self, const int32_t *count, const int32_t *more) noexcept nogil:
        """Log marginal likelihood of a cluster, joined with another unless `more` is NULL."""
        cdef point_weights points
        cdef Py_ssize_t c
        cdef double total, log_lik = 0.0
        for c in range(self.n):
            log_lik += self.weigh(c, count, more, points.w, &total)
        return log_lik

    cdef void draw(self, Rng rng, const int32_t *count, double *theta) noexcept nogil:
        """Log probability of each level, times the power, at a point drawn given the counts; without a generator their
        predictive."""
        cdef point_weights points
        cdef Py_ssize_t c, r, g
        cdef double total
        for c in range(self.n):
            if rng is None:
                self.predict(c, count, points.w, &total, theta + self.before, 1)
                continue
            self.weigh(c, count, NULL, points.w, &total)
            g = rng.draw_categorical(points.w, POINTS)
            for r in range(self.first[c], self.first[c + 1]):
                theta[r] = self.log_q[(r - self.before) * POINTS + g]
