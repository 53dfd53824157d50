"""Independent real columns of a table, any cell of which may be missing: the columns of ``mixed.pyx``, and the points
of ``gaussian.py`` with covariance=diag of which cells are missing.

A missing cell has no factor, and n is the number of observed cells of the column in the cluster. With b_n as in
``dense_gaussian.pyx``, the predictive of one more cell is

    level_n b_n^(-1/2) (1 + g (x - m_n)^2)^-(a_n + 1/2)

Columns without missing cells share level and degree: of these a cluster has one product. What a table's other columns
add to a score comes first: the methods take that sum and go on with it.
"""
cimport cython
from libc.math cimport M_PI, lgamma, log, log1p, sqrt

import numpy as np

from splitmerge_cli.core.memory cimport doubles_of, ints_of
from splitmerge_cli.core.sums cimport BY_COLUMN, BY_LANE, LONGS, ROOM, WHOLES, Sums

from splitmerge_cli.core.options import Gamma
from splitmerge_cli.core.shared import share
from splitmerge_cli.kinds.tables.models.real_columns import LEAST_SCALE

cdef extern from *:
    """
    /* Sums of the real cells of an item, in units. */
    static inline void count_reals(int64_t *sum, whole *square, const double *x, ptrdiff_t R, int64_t sign)
    {
        for (ptrdiff_t d = 0; d < R; d++)
            if (x[d] == x[d]) {
                const int64_t v = (int64_t)x[d];
                sum[d] += sign * v;
                square[d] += (whole)v * (sign * v);
            }
    }
    """
    void count_reals(int64_t *sum, whole *square, const double *x, Py_ssize_t R, int64_t sign) noexcept nogil

# A cell's own share is taken out in closed form while that keeps its digits, and by counting where it does not.
cdef double LEAST_LEFT = 1e-4


def _tables(Py_ssize_t N, double kappa0, double a0, double zeta):
    """The factors that depend on a number of cells, 0 to N + 1; kappa0 and a0 over zeta."""
    cdef Py_ssize_t n
    # b_n is held over zeta
    cdef double a, kappa, log_two_pi = log(2.0 * M_PI * zeta)
    cdef double[::1] log_c = np.empty(N + 2), log_n = np.empty(N + 2), inverse = np.zeros(N + 2)
    cdef double[::1] shrunk = np.empty(N + 3)
    for n in range(N + 2):
        kappa, a = kappa0 + n, zeta * (a0 + 0.5 * n)
        inverse[n] = 1.0 / n if n else 0.0
        shrunk[n] = 1.0 / kappa
        log_c[n] = lgamma(a + 0.5 * zeta) - lgamma(a) + 0.5 * (log(kappa / (kappa + 1.0)) - zeta * log_two_pi)
        log_n[n] = lgamma(a) - lgamma(zeta * a0) - 0.5 * (log(kappa / kappa0) + zeta * n * log_two_pi)
    shrunk[N + 2] = 1.0 / (kappa0 + N + 2)
    return {"log_c": np.asarray(log_c), "log_n": np.asarray(log_n), "inverse": np.asarray(inverse),
            "shrunk": np.asarray(shrunk)}


@cython.final
cdef class RealCells(Sums):
    """Statistics and scores of the columns. `data`: of ``mixed_cells.prepare``; `N`: items that a cluster may come to
    hold; b0 and kappa0: as configured."""

    def __init__(self, data, Py_ssize_t N, b0, kappa0, double a0, double zeta):
        self.R, self.complete, self.piece, self.M = data.R, data.complete, data.piece, N + 2
        self.rows = 4 * self.R - 2 * self.complete + (3 if self.complete else 0)
        self.keep(&self.square, WHOLES, self.R, BY_COLUMN)
        self.keep(&self.sum, LONGS, self.R, BY_COLUMN)
        self.keep(&self.at, ROOM, self.rows, BY_LANE)
        self.x, self.slot, self.real = doubles_of(data.x), ints_of(data.slot_real), ints_of(data.real)
        self.m0, self.b0, self.log_b0 = doubles_of(data.m0), doubles_of(data.b0), doubles_of(data.log_b0)
        self.grain, self.coarse = doubles_of(data.grain), data.coarse
        if isinstance(b0, Gamma) or isinstance(kappa0, Gamma):
            self.scale_prior = ScalePrior(b0, kappa0, data.start, data.unit, data.square, data.log_unit, LEAST_SCALE)
            kappa0 = self.scale_prior.kappa0
        self.zeta, self.kappa0, self.a0 = zeta, kappa0 / zeta, a0 / zeta
        by_count = share(_tables, N, self.kappa0, self.a0, zeta)
        self.shared = data, by_count
        self.log_c, self.log_n = doubles_of(by_count.log_c), doubles_of(by_count.log_n)
        self.inverse, self.shrunk = doubles_of(by_count.inverse), doubles_of(by_count.shrunk)
        if self.scale_prior is not None:
            self.own = self.memory.doubles(2 * self.R + 3 * self.M + 1)
            self.free_c, self.free_n, self.kappa_start = self.log_c, self.log_n, self.kappa0
            self.b0, self.log_b0 = self.own, self.own + self.R
            self.shrunk = self.own + 2 * self.R
            self.log_c, self.log_n = self.shrunk + self.M + 1, self.shrunk + 2 * self.M + 1
            self.scales_changed()

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        count_reals(self.sums_of(k), self.squares_of(k), self.x + i * self.R, self.R, sign)

    cdef double scale_of(self, Py_ssize_t c, int64_t sum, whole square, Py_ssize_t n, double *mean) noexcept nogil:
        """b_n of column c from the sums of its n cells; the posterior mean."""
        cdef double e, b0 = self.b0[c] + 0.5 * n * self.grain[c]
        mean[0] = self.m0[c]
        if not n:
            return b0
        e = <double> sum * self.inverse[n] - self.m0[c]
        mean[0] += n * self.shrunk[n] * e
        return b0 + 0.5 * (whole_double(whole_scatter(n, square, sum, sum)) * self.inverse[n]
                           + self.kappa0 * n * self.shrunk[n] * e * e)

    cdef double scale(self, Py_ssize_t k, Py_ssize_t c, int64_t v, Py_ssize_t n, double *mean) noexcept nogil:
        """``scale_of`` from the sums of cluster k less the value v (0: nothing), n cells in all."""
        return self.scale_of(c, self.sums_of(k)[c] - v, self.squares_of(k)[c] - <whole> v * v, n, mean)

    # -- b0 and kappa0 resampled
    cdef void scales_changed(self) noexcept nogil:
        """Take over b0 and kappa0 of the ``scale_prior``, and set all that depends on them."""
        cdef Py_ssize_t c, n
        cdef double *shrunk = self.own + 2 * self.R
        cdef double *log_c = shrunk + self.M + 1
        cdef double *log_n = log_c + self.M
        cdef double start, kappa
        self.kappa0 = self.scale_prior.kappa0 / self.zeta
        for c in range(self.R):
            self.own[c] = self.scale_prior.b0[self.real[c]] / self.zeta
            self.own[self.R + c] = log(self.own[c])
        for n in range(self.M):
            start, kappa = self.kappa_start + n, self.kappa0 + n
            shrunk[n] = 1.0 / kappa
            log_c[n] = self.free_c[n] + 0.5 * (log(kappa / (kappa + 1.0)) - log(start / (start + 1.0)))
            log_n[n] = self.free_n[n] - 0.5 * (log(kappa / self.kappa0) - log(start / self.kappa_start))
        shrunk[self.M] = 1.0 / (self.kappa0 + self.M)

    cdef void draw_precisions(self, Rng rng, Py_ssize_t k, Py_ssize_t n, const int32_t *seen) noexcept nogil:
        """For each column its precision, then, where kappa0 is resampled, its mean: given the cells that are there;
        from their prior where there is none. They are added to the sums of the ``scale_prior``."""
        cdef Py_ssize_t c, m
        cdef double precision, mean, off
        for c in range(self.R):
            m = self.cells(c, n, seen)
            precision = self.scale(k, c, 0, m, &mean)
            precision = rng.draw_gamma(self.zeta * (self.a0 + 0.5 * m)) / (self.zeta * precision)
            self.scale_prior.count_precision(self.real[c], precision)
            if self.scale_prior.of_kappa0:
                # how far the drawn mean is from m0, in standard deviations of a cell
                off = sqrt(precision) * (mean - self.m0[c]) + sqrt(self.shrunk[m] / self.zeta) * rng.draw_normal()
                self.scale_prior.count_distance(off)

    cdef void draw_parameters(self, Rng rng, Py_ssize_t k, Py_ssize_t n, const int32_t *seen,
                              double *theta) noexcept nogil:
        """Mean, root and log root of the precision of each column; without a generator what to expect."""
        cdef Py_ssize_t c, m
        cdef double shape, precision, mean, log_zeta = log(self.zeta)
        for c in range(self.R):
            m = self.cells(c, n, seen)
            precision = self.scale(k, c, 0, m, &mean)
            # zeta times the precision, as b_n is over zeta
            shape = self.zeta * (self.a0 + 0.5 * m)
            precision = (shape if rng is None else rng.draw_gamma(shape)) / precision
            if rng is not None:
                mean += rng.draw_normal() * sqrt(self.shrunk[m] / precision)
            theta[3 * c], theta[3 * c + 1] = mean, sqrt(precision)
            theta[3 * c + 2] = 0.5 * (self.zeta * (log(precision) - log_zeta) - self.grain[c] * precision)

    # -- probabilities
    cdef void settle(self, Py_ssize_t k, Py_ssize_t n, const int32_t *seen) noexcept nogil:
        """Bring what scores an item against cluster k up to date: the rows of ``score_reals``."""
        cdef Py_ssize_t c, m
        cdef double *row = self.at + (k >> 3) * 8 * self.rows + (k & 7)
        cdef double *common = row
        cdef double scale, next, product = 1.0, level = 0.0, rise = 0.0
        if self.complete:
            row += 24
            for c in range(self.complete):
                scale = self.scale(k, c, 0, n, row)
                next = scale + 0.5 * self.grain[c]
                row[8] = 0.5 * self.shrink(n) / next
                row += 16
                if self.coarse:
                    rise += log(next / scale)
                level += self.log_b0[c]
                product *= scale / self.b0[c]
                if not product < 1e150:
                    level += log(product)
                    product = 1.0
            common[16] = -0.5 * self.zeta * (level + log(product))
            common[8] = -self.zeta * (self.a0 + 0.5 * n + 0.5)
            # what scores another cell has its grain, too
            common[0] = self.complete * self.log_c[n] + common[16] + common[8] * rise
        for c in range(self.complete, self.R):
            m = self.cells(c, n, seen)
            scale = self.scale(k, c, 0, m, row)
            next = scale + 0.5 * self.grain[c]
            row[8] = 0.5 * self.shrink(m) / next
            row[16] = self.log_c[m] - 0.5 * self.zeta * log(scale)
            row[24] = -self.zeta * (self.a0 + 0.5 * m + 0.5)
            if self.coarse:
                row[16] += row[24] * log(next / scale)
            row += 32

    cdef bint add_own_score(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t n, const int32_t *seen,
                            double *total) noexcept nogil:
        """Add the log predictive of item i in cluster k, which counts it, given the others there, in closed form from
        the rows of ``score_reals``; False where that would lose digits."""
        cdef Py_ssize_t c, m
        cdef const double *x = self.x + i * self.R
        cdef const double *row = self.at + (k >> 3) * 8 * self.rows + (k & 7)
        cdef double left, product = 1.0, log_q = 0.0
        if self.complete:
            total[0] += self.complete * self.log_c[n - 1] + row[16]
            row += 24
            for c in range(self.complete):
                left = self.left_in(row, x[c], c, n)
                if not left >= LEAST_LEFT:
                    return False
                product *= left
                if product < 1e-150:
                    log_q += log(product)
                    product = 1.0
                row += 16
            total[0] += self.zeta * (self.a0 + 0.5 * n - 0.5) * (log_q + log(product))
        for c in range(self.complete, self.R):
            if x[c] == x[c]:
                m = self.cells(c, n, seen)
                left = self.left_in(row, x[c], c, m)
                if not left >= LEAST_LEFT:
                    return False
                total[0] += (row[16] - self.log_c[m] + self.log_c[m - 1]
                             + self.zeta * (self.a0 + 0.5 * m - 0.5) * log(left))
                if self.coarse:
                    # the level of another cell has its grain, too
                    total[0] += row[24] * log(1.0 - self.grain_in(row, c, m))
            row += 32
        return True

    cdef double log_lik(self, Py_ssize_t a, Py_ssize_t n, const int32_t *seen, Py_ssize_t b, Py_ssize_t n2,
                        const int32_t *seen2, double total) noexcept nogil:
        """`total` and the log marginal likelihood of cluster a, joined with cluster b unless b is -1."""
        cdef Py_ssize_t c, m
        cdef double scale, mean, ratio = 1.0, log_ratio = 0.0
        for c in range(self.R):
            m = self.cells(c, n, seen)
            if b >= 0:
                m += self.cells(c, n2, seen2)
                scale = self.scale_of(c, self.sums_of(a)[c] + self.sums_of(b)[c],
                                      self.squares_of(a)[c] + self.squares_of(b)[c], m, &mean)
            else:
                scale = self.scale(a, c, 0, m, &mean)
            total += self.log_n[m] - 0.5 * self.zeta * m * self.log_b0[c]
            if c >= self.complete:
                total -= self.zeta * (self.a0 + 0.5 * m) * log(scale / self.b0[c])
                continue
            ratio *= scale / self.b0[c]
            if not ratio < 1e150:
                log_ratio += log(ratio)
                ratio = 1.0
        if self.complete:
            n += n2 if b >= 0 else 0
            total -= self.zeta * (self.a0 + 0.5 * n) * (log_ratio + log(ratio))
        return total

    cdef double log_density(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t n, const int32_t *seen,
                            double total) noexcept nogil:
        """`total` and the log predictive density of item i in cluster k, which does not count it; the posterior of the
        parameters has the power."""
        cdef Py_ssize_t c, m
        cdef const double *x = self.x + i * self.R
        cdef double mean, b, a, shrink
        for c in range(self.R):
            if x[c] == x[c]:
                m = self.cells(c, n, seen)
                a = self.zeta * (self.a0 + 0.5 * m)
                b = self.zeta * self.scale(k, c, 0, m, &mean)
                # kappa_n / (kappa_n + 1)
                shrink = self.zeta * (self.kappa0 + m) / (self.zeta * (self.kappa0 + m) + 1.0)
                total += (lgamma(a + 0.5) - lgamma(a) + 0.5 * log(shrink / (2.0 * M_PI * b))
                          - (a + 0.5) * log1p(0.5 * (self.grain[c] + shrink * (x[c] - mean) * (x[c] - mean)) / b))
        return total
