"""Mixtures of normal distributions whose columns are independent given the cluster: a variance per dimension,
model.covariance=diag, or one for all, iso. The formulas are in ``dense_gaussian.pyx``. Cost: a point against K clusters
O(D K); a change of a cluster O(D).

``real_cells.pyx`` has the density of diag once more, by another arithmetic. There a column may lack cells: its number
of cells, level and degree are its own, and tables by a number of cells belong to one column. Here all columns have
n cells, and tables, level and degree belong to D columns together. One arithmetic for both would change the last
digits of stored chains of one model or the other.
"""
cimport cython
from libc.math cimport log, log10
from libc.stdint cimport int64_t

import numpy as np

from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian, whole

from splitmerge_cli.kinds.tables.models.dense_capabilities import DenseParameters, DensePlugIn, DenseShards

cdef extern from "simd_math.h":
    pass

cdef extern from *:
    """
    /* diag: a block holds mean and gain by dimension, eight lanes each. */
    static inline void score_diag(const double *block, const double *x, ptrdiff_t D, ptrdiff_t piece,
                                  const double *turn, double *log_q, double *left)
    {
        EACH_LANE(h) {
            const lanes t = LANES_AT(turn + h), one = (lanes){0} + 1.0;
            lanes all = one, total = {0};
            for (ptrdiff_t from = 0; from < D; from += piece) {
                const ptrdiff_t to = from + piece < D ? from + piece : D;
                lanes p = one, q = one;
                ptrdiff_t d = from;
                #define FACTOR(d) ({ const double *b = block + 16 * (d) + h; \\
                                     const lanes e = x[d] - LANES_AT(b); 1.0 + t * LANES_AT(b + 8) * e * e; })
                for (; d + 2 <= to; d += 2) {
                    p *= FACTOR(d);
                    q *= FACTOR(d + 1);
                }
                if (d < to)
                    p *= FACTOR(d);
                p *= q;
                all *= p;
                total += lanes_log(p);
            }
            LANES_TO(log_q + h) = total;
            LANES_TO(left + h) = all;
        }
    }

    /* log of b_n of a cluster and n points together over b_n of the cluster, summed over dimensions; of the points the
       mean and the scatter. turn: kappa n / (kappa + n), rest: 1, each over shrink. */
    static inline void unite_diag(const double *block, const double *mean, const double *scatter, ptrdiff_t D,
                                  ptrdiff_t piece, const double *turn, const double *rest, double *log_q)
    {
        EACH_LANE(h) {
            const lanes t = LANES_AT(turn + h), r = LANES_AT(rest + h), one = (lanes){0} + 1.0;
            lanes total = {0};
            for (ptrdiff_t from = 0; from < D; from += piece) {
                const ptrdiff_t to = from + piece < D ? from + piece : D;
                lanes p = one;
                for (ptrdiff_t d = from; d < to; d++) {
                    const double *b = block + 16 * d + h;
                    const lanes e = mean[d] - LANES_AT(b);
                    p *= 1.0 + LANES_AT(b + 8) * (r * scatter[d] + t * e * e);
                }
                total += lanes_log(p);
            }
            LANES_TO(log_q + h) = total;
        }
    }

    /* `step`: 1, or 0 where all dimensions have one sum of squares. */
    static inline void count_point(int64_t *sum, whole *square, const double *x, ptrdiff_t D, ptrdiff_t step,
                                   int64_t sign)
    {
        for (ptrdiff_t d = 0; d < D; d++) {
            const int64_t v = (int64_t)x[d], signed_v = sign * v;
            sum[d] += signed_v;
            square[step * d] += (whole)v * signed_v;
        }
    }

    static inline void moments_diag(const int64_t *sum, const whole *square, ptrdiff_t D, int64_t n, double inverse,
                                    double *mean, double *scatter)
    {
        for (ptrdiff_t d = 0; d < D; d++) {
            mean[d] = (double)sum[d] * inverse;
            scatter[d] = whole_double(whole_scatter(n, square[d], sum[d], sum[d])) * inverse;
        }
    }

    /* iso: a block holds means by dimension, eight lanes each. */
    static inline void score_iso(const double *block, const double *x, ptrdiff_t D, const double *gain,
                                 const double *turn, double *log_q, double *left)
    {
        EACH_LANE(h) {
            lanes s = {0};
            for (ptrdiff_t d = 0; d < D; d++) {
                const lanes e = x[d] - LANES_AT(block + 8 * d + h);
                s += e * e;
            }
            const lanes q = 1.0 + LANES_AT(turn + h) * LANES_AT(gain + h) * s;
            LANES_TO(log_q + h) = lanes_log(q);
            LANES_TO(left + h) = q;
        }
    }

    /* The scatter of all dimensions is one number. */
    static inline void moments_iso(const int64_t *sum, const whole *square, ptrdiff_t D, int64_t n, double inverse,
                                   double *mean, double *scatter)
    {
        whole all = *square * n;
        for (ptrdiff_t d = 0; d < D; d++) {
            mean[d] = (double)sum[d] * inverse;
            all -= (whole)sum[d] * sum[d];
        }
        *scatter = whole_double(all) * inverse;
    }
    """
    void score_diag(const double *block, const double *x, Py_ssize_t D, Py_ssize_t piece, const double *turn,
                    double *log_q, double *left) noexcept nogil
    void unite_diag(const double *block, const double *mean, const double *scatter, Py_ssize_t D, Py_ssize_t piece,
                    const double *turn, const double *rest, double *log_q) noexcept nogil
    void count_point(int64_t *sum, whole *square, const double *x, Py_ssize_t D, Py_ssize_t step,
                     int64_t sign) noexcept nogil
    void moments_diag(const int64_t *sum, const whole *square, Py_ssize_t D, int64_t n, double inverse, double *mean,
                      double *scatter) noexcept nogil
    void score_iso(const double *block, const double *x, Py_ssize_t D, const double *gain, const double *turn,
                   double *log_q, double *left) noexcept nogil
    void moments_iso(const int64_t *sum, const whole *square, Py_ssize_t D, int64_t n, double inverse, double *mean,
                     double *scatter) noexcept nogil


cdef class DiagonalGaussian(DenseGaussian):
    """Mixture of normal distributions of points, a variance per dimension."""

    SHAPE = "diag"
    CAPABILITIES = (DenseParameters, DenseShards, DensePlugIn)

    cdef void measure(self) noexcept nogil:
        self.n_squares, self.rows, self.step = self.D, 2 * self.D, 16

    cdef void count(self, Py_ssize_t k, const double *x, int sign) noexcept nogil:
        count_point(self.sums_of(k), self.squares_of(k), x, self.D, 1, sign)

    cdef void moments(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                      double *scatter) noexcept nogil:
        moments_diag(sum, square, self.D, n, self.inverse[n], mean, scatter)

    cdef double posterior_with(self, const int64_t *sum, const whole *square, Py_ssize_t n, double times, double *mean,
                               double *scatter) noexcept nogil:
        cdef Py_ssize_t d
        cdef double weight = self.gather(sum, square, n, mean, scatter), kappa = self.kappa0 + weight
        cdef double pull = self.kappa0 * weight / kappa, total = 0.0, off = 1.0
        for d in range(self.D):
            mean[d] -= self.m0[d]
            scatter[d] = self.b0[d] + 0.5 * (scatter[d] + times * self.grain[d] + pull * mean[d] * mean[d])
            mean[d] = self.m0[d] + weight * mean[d] / kappa
        for d in range(self.D):
            off *= scatter[d] / self.b0[d]
            if not 1e-200 < off < 1e200:
                total += log(off)
                off = 1.0
        return total + log(off) + self.log_b0

    cdef void write_scatter(self, Py_ssize_t k, double *block, double shrink) noexcept nogil:
        cdef Py_ssize_t d
        for d in range(self.D):
            block[16 * d + 8] = 0.5 * shrink / self.scatter[d]

    cdef void score_block(self, const double *x, Py_ssize_t block, const double *turn, double *log_q) noexcept nogil:
        score_diag(self.at + block * self.rows, x, self.D, self.piece, turn, log_q, self.left + block)

    cdef void log_unions(self, Py_ssize_t b, Py_ssize_t first, Py_ssize_t m, double *out) noexcept nogil:
        """The posterior of a cluster is the prior for column b."""
        cdef Py_ssize_t k, d, lane, n, of_b = self.size[b], block
        cdef double *turn = self.lane + 8
        cdef double *rest = turn + 8
        cdef double *log_q = rest + 8
        cdef double kappa, shrink, log_det
        # a factor of several points is at most 4 n times the factor of one
        cdef Py_ssize_t piece = max(1, <Py_ssize_t> (1.0 / (1.0 / self.piece + log10(4.0 * of_b) / 280.0)))
        if self.weights is not None:
            DenseGaussian.log_unions(self, b, first, m, out)
            return
        for k in range(first, first + m):
            if self.stale[k]:
                self.settle(k)
        self.moments(self.sums_of(b), self.squares_of(b), of_b, self.mean, self.scatter)
        if self.coarse:
            for d in range(self.D):
                # what scores a point counts one grain
                self.scatter[d] += (of_b - 1) * self.grain[d]
        for block in range(first & ~7, first + m, 8):
            for lane in range(8):
                k = block + lane
                n = self.size[k] if first <= k < first + m else 0
                kappa = self.kappa0 + n
                shrink = kappa / (kappa + 1.0)
                turn[lane], rest[lane] = kappa * of_b / (kappa + of_b) / shrink, 1.0 / shrink
            unite_diag(self.at + block * self.rows, self.mean, self.scatter, self.D, piece, turn, rest, log_q)
            for k in range(max(block, first), min(block + 8, first + m)):
                n = self.size[k]
                log_det = self.log_det[k]
                if self.coarse:
                    log_det += (self.level[k] - self.log_c[n] + 0.5 * self.zeta * log_det) / self.degree[k]
                out[k - first] = self.log_lik_of(n + of_b, log_det + log_q[k - block])

    cdef double log_q_counted(self, const double *x, Py_ssize_t k, double turn) noexcept nogil:
        cdef Py_ssize_t d
        cdef const double *mean = self.block_of(k)
        cdef const double *scatter = self.own_scatter + k * self.D
        cdef double e, log_q = 0.0, q = 1.0
        for d in range(self.D):
            e = x[d] - mean[16 * d]
            q *= 1.0 - 0.5 * turn * e * e / scatter[d]
            if q < 1e-150:
                log_q += log(q)
                q = 1.0
        return log_q + log(q)

    cdef object log_q_of(self, off, double shrink):
        cdef double[:] scatter = <double[:self.D]> self.scatter
        return np.log1p(0.5 * shrink / np.asarray(scatter) * off ** 2).sum(axis=1)


@cython.final
cdef class IsotropicGaussian(DenseGaussian):
    """Mixture of normal distributions of points, one variance for all dimensions."""

    SHAPE = "iso"
    CAPABILITIES = (DenseParameters, DenseShards, DensePlugIn)

    cdef void measure(self) noexcept nogil:
        self.n_squares, self.rows, self.step = 1, self.D, 8

    cdef void count(self, Py_ssize_t k, const double *x, int sign) noexcept nogil:
        count_point(self.sums_of(k), self.squares_of(k), x, self.D, 0, sign)

    cdef void moments(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                      double *scatter) noexcept nogil:
        moments_iso(sum, square, self.D, n, self.inverse[n], mean, scatter)

    cdef double posterior_with(self, const int64_t *sum, const whole *square, Py_ssize_t n, double times, double *mean,
                               double *scatter) noexcept nogil:
        cdef Py_ssize_t d
        cdef double weight = self.gather(sum, square, n, mean, scatter), kappa = self.kappa0 + weight
        cdef double pull = self.kappa0 * weight / kappa, total
        total = scatter[0]
        for d in range(self.D):
            mean[d] -= self.m0[d]
            total += pull * mean[d] * mean[d]
            mean[d] = self.m0[d] + weight * mean[d] / kappa
        scatter[0] = self.b0[0] + 0.5 * (total + times * self.grains)
        return self.D * log(scatter[0])

    cdef void write_scatter(self, Py_ssize_t k, double *block, double shrink) noexcept nogil:
        self.gain[k] = 0.5 * shrink / self.scatter[0]

    cdef void score_block(self, const double *x, Py_ssize_t block, const double *turn, double *log_q) noexcept nogil:
        score_iso(self.at + block * self.rows, x, self.D, self.gain + block, turn, log_q, self.left + block)

    cdef double log_q_counted(self, const double *x, Py_ssize_t k, double turn) noexcept nogil:
        cdef Py_ssize_t d
        cdef const double *mean = self.block_of(k)
        cdef double e, total = 0.0
        for d in range(self.D):
            e = x[d] - mean[8 * d]
            total += e * e
        return log(1.0 - 0.5 * turn * total / self.own_scatter[k * self.D])

    cdef object log_q_of(self, off, double shrink):
        return np.log1p(0.5 * shrink / self.scatter[0] * (off ** 2).sum(axis=1))
