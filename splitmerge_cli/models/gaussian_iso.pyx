"""Mixture of normal distributions with one variance for all dimensions, model.covariance=iso: the formulas are in
``dense_gaussian.pyx``. Cost: a point against K clusters O(D K); a change of a cluster O(D)."""
cimport cython
from libc.math cimport log
from libc.stdint cimport int64_t

from splitmerge_cli.models.dense_gaussian cimport DenseGaussian, whole

import numpy as np

from splitmerge_cli.models.dense_capabilities import DenseParameters, DensePlugIn, DenseShards

cdef extern from "simd_math.h":
    pass

cdef extern from *:
    """
    /* A block holds means by dimension, eight lanes each. */
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

    static inline void count_iso(int64_t *sum, whole *square, const double *x, ptrdiff_t D, int64_t sign)
    {
        for (ptrdiff_t d = 0; d < D; d++) {
            const int64_t v = (int64_t)x[d], signed_v = sign * v;
            sum[d] += signed_v;
            *square += (whole)v * signed_v;
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
    void score_iso(const double *block, const double *x, Py_ssize_t D, const double *gain, const double *turn,
                   double *log_q, double *left) noexcept nogil
    void count_iso(int64_t *sum, whole *square, const double *x, Py_ssize_t D, int64_t sign) noexcept nogil
    void moments_iso(const int64_t *sum, const whole *square, Py_ssize_t D, int64_t n, double inverse, double *mean,
                     double *scatter) noexcept nogil


@cython.final
cdef class IsotropicGaussian(DenseGaussian):
    """Mixture of normal distributions of points, one variance for all dimensions."""

    SHAPE = "iso"
    CAPABILITIES = (DenseParameters, DenseShards, DensePlugIn)

    cdef void measure(self) noexcept nogil:
        self.n_squares, self.rows, self.step = 1, self.D, 8

    cdef void count(self, Py_ssize_t k, const double *x, int sign) noexcept nogil:
        count_iso(self.sums_of(k), self.squares_of(k), x, self.D, sign)

    cdef void moments(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                      double *scatter) noexcept nogil:
        moments_iso(sum, square, self.D, n, self.inverse[n], mean, scatter)

    cdef double posterior_with(self, const int64_t *sum, const whole *square, Py_ssize_t n, double times, double *mean,
                               double *scatter) noexcept nogil:
        cdef Py_ssize_t d
        cdef double kappa = self.kappa0 + n, pull = self.kappa0 * n / kappa, total
        moments_iso(sum, square, self.D, n, self.inverse[n], mean, scatter)
        total = scatter[0]
        for d in range(self.D):
            mean[d] -= self.m0[d]
            total += pull * mean[d] * mean[d]
            mean[d] = self.m0[d] + n * mean[d] / kappa
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
