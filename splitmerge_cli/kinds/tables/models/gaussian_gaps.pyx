"""Rows of independent normal columns with weights, any of whose cells may be missing, or recorded to a resolution:
``model.tails=t`` with covariance=diag. The formulas are in ``dense_gaussian.pyx`` and ``row_weights.pyx``.

A missing cell has no factor. A cell that is recorded to a resolution adds w times the column's grain to the squares.
Column d of a cluster has n_d cells, of rows whose weights have the sum W_d, and thus kappa_n = kappa0 + W_d,
a_n = a0 + n_d / 2 and m_n, b_n of its own. A row that has D_i cells has one weight for these:

    log p(x_i | .) = sum over its cells of
                         level_d + log(s_d) / 2 + degree_d log(1 + (s_d (x - m_n)^2 + w_i grain_d) / (2 b_n))

Cost: a row against K clusters O(D K), a logarithm a cell; a change of a cluster O(D).
"""
cimport cython
from libc.math cimport M_PI, ldexp, lgamma, log, sqrt
from libc.stdint cimport int32_t, int64_t

import numpy as np

from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian, whole
from splitmerge_cli.kinds.tables.models.row_weights cimport LOG_FRACTION

cdef extern from "simd_math.h":
    pass

cdef extern from "weighted_sums.h":
    void count_weighted(whole *square, const double *x, Py_ssize_t D, Py_ssize_t n_squares, bint is_iso, int64_t parts,
                        int64_t logs) noexcept nogil
    double moments_weighted(const whole *square, Py_ssize_t D, Py_ssize_t n_squares, bint is_iso, double *work,
                            double *mean, double *scatter) noexcept nogil

cdef enum:
    # of a column in a cluster: square, sum, weight and its logarithm as of weighted points, and the number of cells
    LOG = 3, CELLS, KEPT
    # rows of a block for each column
    MEAN = 0, GAIN, LEVEL, DEGREE, WEIGHT, ROWS

cdef extern from *:
    """
    static inline void count_cell(whole *column, int sign)
    {
        column[4] += sign;
    }

    static inline double number_at(const whole *column, ptrdiff_t t)
    {
        return whole_double(column[t]);
    }

    static inline void absorb_columns(whole *to, const whole *a, const whole *b, ptrdiff_t width)
    {
        for (ptrdiff_t t = 0; t < width; t++)
            to[t] = a[t] + b[t];
    }

    static inline void score_cells(const double *block, const double *x, const double *grain, ptrdiff_t D,
                                   double kappa0, double w, double *power)
    {
        EACH_LANE(h) {
            const double *row = block + h;
            lanes total = {0}, product = (lanes){0} + 1.0;
            for (ptrdiff_t d = 0; d < D; d++, row += 40) {
                if (x[d] != x[d])
                    continue;
                const lanes kappa = kappa0 + LANES_AT(row + 32), s = w * kappa / (kappa + w), e = x[d] - LANES_AT(row);
                product *= s;
                /* four factors, however light a row far away is, do not leave the range of a double */
                if (d % 4 == 3)
                    total += 0.5 * lanes_log(product), product = (lanes){0} + 1.0;
                total += LANES_AT(row + 16)
                         + LANES_AT(row + 24) * lanes_log(1.0 + LANES_AT(row + 8) * (s * e * e + w * grain[d]));
            }
            LANES_TO(power + h) = total + 0.5 * lanes_log(product);
        }
    }
    """
    void count_cell(whole *column, int sign) noexcept nogil
    double number_at(const whole *column, Py_ssize_t t) noexcept nogil
    void absorb_columns(whole *to, const whole *a, const whole *b, Py_ssize_t width) noexcept nogil
    void score_cells(const double *block, const double *x, const double *grain, Py_ssize_t D, double kappa0, double w,
                     double *power) noexcept nogil


@cython.final
cdef class GappedGaussian(DenseGaussian):
    """Mixture of normal rows that have weights, a variance per column; NaN where a cell is missing."""

    SHAPE = "diag"
    READS_GAPS = True
    WEIGHS_STEPS = True

    cdef double[::1] log_unit           # [D] logs of the columns' units

    cdef int _make_room(self) except -1:
        cdef Py_ssize_t i
        self.theta = self.memory.doubles(2 * self.D)
        self.log_unit = np.array([log(self.units[d]) for d in range(self.D)])
        return self.weights.set_cells([self.columns_in(self.point(i)) for i in range(self.N)])

    # -- statistics
    cdef void measure(self) noexcept nogil:
        self.n_squares, self.rows, self.step, self.width = self.D, ROWS * self.D, 8 * ROWS, KEPT * self.D

    cdef inline whole *column(self, const whole *square, Py_ssize_t d) noexcept nogil:
        return <whole *> (<char *> square + 16 * KEPT * d)

    cdef inline Py_ssize_t cells(self, const whole *column) noexcept nogil:
        return <Py_ssize_t> number_at(column, CELLS)

    cdef void count_row(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        cdef Py_ssize_t d
        cdef const double *x = self.point(i)
        cdef int64_t parts = sign * self.weights.parts[i], logs = sign * self.weights.logs[i]
        for d in range(self.D):
            if x[d] == x[d]:
                count_weighted(self.column(self.squares_of(k), d), x + d, 1, 1, False, parts, logs)
                count_cell(self.column(self.squares_of(k), d), sign)

    cdef double gather(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                       double *scatter) noexcept nogil:
        cdef Py_ssize_t d
        for d in range(self.D):
            moments_weighted(self.column(square, d), 1, 1, False, self.work, mean + d, scatter + d)
        return n

    cdef double posterior_of(self, const whole *column, Py_ssize_t d, double *mean, double *scatter) noexcept nogil:
        """m_n and b_n of a column in a cluster; returns kappa_n."""
        cdef double weight = moments_weighted(column, 1, 1, False, self.work, mean, scatter)
        cdef double kappa = self.kappa0 + weight, off = mean[0] - self.m0[d]
        scatter[0] = self.b0[d] + 0.5 * (scatter[0] + weight * self.grain[d] + self.kappa0 * weight / kappa * off * off)
        mean[0] = self.m0[d] + weight * off / kappa
        return kappa

    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d, n
        cdef double *row = self.block_of(k)
        cdef const whole *column
        self.stale[k] = False
        for d in range(self.D):
            column = self.column(self.squares_of(k), d)
            n = self.cells(column)
            row[8 * WEIGHT] = self.posterior_of(column, d, row, self.scatter) - self.kappa0
            row[8 * GAIN] = 0.5 / self.scatter[0]
            row[8 * LEVEL] = self.log_c[n] - 0.5 * log(self.scatter[0])
            row[8 * DEGREE] = -self.a_n(n) - 0.5
            row += 8 * ROWS

    # -- tables of one column
    cdef int _own_tables(self) except -1:
        cdef Py_ssize_t n, room = self.total + 2
        self.own_c, self.own_n = self.memory.doubles(room), self.memory.doubles(room)
        for n in range(room):
            self.own_c[n] = lgamma(self.a_n(n) + 0.5) - lgamma(self.a_n(n)) - 0.5 * log(2.0 * M_PI)
            self.own_n[n] = lgamma(self.a_n(n)) - lgamma(self.a_n(0)) - 0.5 * n * log(2.0 * M_PI)
        self.log_c, self.log_n = self.own_c, self.own_n
        if self.scale_prior is not None:
            self.b0 = self.own_b0 = self.memory.doubles(self.scale_prior.n)
            self.scales_changed()
        return 0

    cdef void scales_changed(self) noexcept nogil:
        cdef Py_ssize_t d, k
        self.kappa0 = self.scale_prior.kappa0
        for d in range(self.D):
            self.own_b0[d] = self.scale_prior.b0[d]
        for k in range(self.cap):
            self.stale[k] = True
            self.is_valid[k] = False

    cdef void draw_cluster(self, Rng rng, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        cdef double kappa, precision
        cdef const whole *column
        for d in range(self.D):
            column = self.column(self.squares_of(k), d)
            kappa = self.posterior_of(column, d, self.mean, self.scatter)
            precision = rng.draw_gamma(self.a_n(self.cells(column))) / self.scatter[0]
            self.scale_prior.count_precision(d, precision)
            if self.scale_prior.of_kappa0:
                # how far the drawn mean is from m0, in standard deviations of a cell
                self.scale_prior.count_distance(sqrt(precision) * (self.mean[0] - self.m0[d])
                                                + rng.draw_normal() / sqrt(kappa))

    # -- weights of rows
    cdef void measure_distances(self, Rng rng, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        cdef double kappa, total, off
        cdef double *mean = self.theta
        cdef double *precision = self.theta + self.D
        cdef const whole *column
        cdef const double *x
        cdef int32_t i = self.head[k]
        for d in range(self.D):
            column = self.column(self.squares_of(k), d)
            kappa = self.posterior_of(column, d, mean + d, self.scatter)
            precision[d] = rng.draw_gamma(self.a_n(self.cells(column))) / self.scatter[0]
            mean[d] += rng.draw_normal() / sqrt(kappa * precision[d])
        while i >= 0:
            x, total = self.point(i), 0.0
            for d in range(self.D):
                if x[d] == x[d]:
                    off = x[d] - mean[d]
                    total += precision[d] * (off * off + self.grain[d])
            self.weights.distance[i] = total
            i = self.after[i]

    cdef Py_ssize_t columns_in(self, const double *x) noexcept nogil:
        cdef Py_ssize_t d, n = 0
        for d in range(self.D):
            n += x[d] == x[d]
        return n

    cdef double log_units_of(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t d
        cdef const double *x = self.point(i)
        cdef double total = 0.0
        for d in range(self.D):
            if x[d] == x[d]:
                total += self.log_unit[d]
        return total

    # -- probabilities
    cdef void score_weighted(self, const double *x, double w, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        cdef Py_ssize_t d, n
        cdef double rest, q, e, product = 1.0
        cdef const double *row
        score_cells(self.at + block * self.rows, x, self.grain, self.D, self.kappa0, w, self.power + block)
        if own < 0:
            return
        self.power[own], self.left[own] = 0.0, 1.0
        row = self.block_of(own)
        for d in range(self.D):
            if x[d] == x[d]:
                n = self.cells(self.column(self.squares_of(own), d))
                rest = self.kappa0 + (row[8 * WEIGHT] - w)
                e = x[d] - row[0]
                q = 1.0 - row[8 * GAIN] * w * ((rest + w) / rest * e * e + self.grain[d])
                self.left[own] = min(self.left[own], q)
                product *= w * rest / (rest + w)
                if d % 4 == 3:
                    self.power[own] += 0.5 * log(product)
                    product = 1.0
                self.power[own] += row[8 * LEVEL] - self.log_c[n] + self.log_c[n - 1] + self.a_n(n - 1) * log(q)
            row += 8 * ROWS
        self.power[own] += 0.5 * log(product)

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        return self.log_lik_of_columns(self.squares_of(k))

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        absorb_columns(self.both_square, self.squares_of(a), self.squares_of(b), self.width)
        return self.log_lik_of_columns(self.both_square)

    cdef double log_lik_of_columns(self, const whole *square) noexcept nogil:
        """Log marginal likelihood of the cells with these sums."""
        cdef Py_ssize_t d, n
        cdef double kappa, total = 0.0
        cdef const whole *column
        for d in range(self.D):
            column = self.column(square, d)
            n = self.cells(column)
            kappa = self.posterior_of(column, d, self.mean, self.scatter)
            total += (self.log_n[n] - self.a_n(n) * log(self.scatter[0] / self.b0[d])
                      - n * (0.5 * log(self.b0[d]) + self.log_unit[d])
                      + 0.5 * (ldexp(number_at(column, LOG), -LOG_FRACTION) + log(self.kappa0 / kappa)))
        return total
