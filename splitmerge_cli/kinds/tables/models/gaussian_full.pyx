"""Mixture of normal distributions with a covariance matrix per cluster, model.covariance=full: the formulas are in
``dense_gaussian.pyx``. Cells of a row may be missing: they are a part of the state (``missing_cells.pyx``). Cost: a
point against K clusters O(D^2 K); a change of a cluster O(D^3)."""
cimport cython
from libc.math cimport M_PI, lgamma, log, sqrt
from libc.stdint cimport int32_t, int64_t

import numpy as np

from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian, numbers_at, whole
from splitmerge_cli.kinds.tables.models.missing_cells cimport MissingCells
from splitmerge_cli.kinds.tables.models.packed_factor cimport factorise, solve_rows

from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.kinds.tables.models.dense_capabilities import DenseShards, FullParameters

cdef extern from "simd_math.h":
    pass

cdef extern from *:
    """
    /* A block holds means by dimension, eight lanes each, then the rows of the Cholesky factor of Psi_n, the
       reciprocals of its diagonal on the diagonal. */
    static inline void score_full(const double *block, const double *x, ptrdiff_t D, const double *gain,
                                  const double *turn, double *work, double *log_q, double *left)
    {
        EACH_LANE(h) {
            const double *row = block + 8 * D + h;
            double *u = work + h;
            lanes s = {0};
            for (ptrdiff_t r = 0; r < D; r++) {
                lanes e = x[r] - LANES_AT(block + 8 * r + h), f = {0}, g = f, k = f;
                ptrdiff_t c = 0;
                for (; c + 4 <= r; c += 4) {
                    e -= LANES_AT(row + 8 * c) * LANES_AT(u + 8 * c);
                    f += LANES_AT(row + 8 * c + 8) * LANES_AT(u + 8 * c + 8);
                    g += LANES_AT(row + 8 * c + 16) * LANES_AT(u + 8 * c + 16);
                    k += LANES_AT(row + 8 * c + 24) * LANES_AT(u + 8 * c + 24);
                }
                for (; c < r; c++)
                    e -= LANES_AT(row + 8 * c) * LANES_AT(u + 8 * c);
                e = (e - (f + (g + k))) * LANES_AT(row + 8 * r);
                LANES_TO(u + 8 * r) = e;
                s += e * e;
                row += 8 * (r + 1);
            }
            const lanes q = 1.0 + LANES_AT(turn + h) * LANES_AT(gain + h) * s;
            LANES_TO(log_q + h) = lanes_log(q);
            LANES_TO(left + h) = q;
        }
    }
    """
    void score_full(const double *block, const double *x, Py_ssize_t D, const double *gain, const double *turn,
                    double *work, double *log_q, double *left) noexcept nogil

cdef extern from "cross_sums.h":
    void count_full(int64_t *sum, whole *square, const double *x, Py_ssize_t D, int64_t sign) noexcept nogil
    void moments_full(const int64_t *sum, const whole *square, Py_ssize_t D, int64_t n, double inverse, double *mean,
                      double *scatter) noexcept nogil


@cython.final
cdef class FullGaussian(DenseGaussian):
    """Mixture of normal distributions of points, a covariance matrix per cluster; NaN where a cell is missing."""

    SHAPE = "full"
    READS_GAPS = True
    CAPABILITIES = (FullParameters, DenseShards)

    cdef int _take(self, data) except -1:
        DenseGaussian._take(self, data)
        if data.gaps:
            self.cells = MissingCells(data, self.D)
            self.gap_of, self.filled = self.cells.row_of, self.cells.filled
        return 0

    cdef int grow(self, Py_ssize_t cap) except -1:
        if self.cells is not None:
            self.cells.widen(cap)
        return DenseGaussian.grow(self, cap)

    # -- the covariance
    cdef void measure(self) noexcept nogil:
        self.n_squares = self.D * (self.D + 1) // 2
        self.rows, self.step = self.D + self.n_squares, 8

    cdef void count(self, Py_ssize_t k, const double *x, int sign) noexcept nogil:
        count_full(self.sums_of(k), self.squares_of(k), x, self.D, sign)

    cdef void moments(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                      double *scatter) noexcept nogil:
        moments_full(sum, square, self.D, n, self.inverse[n], mean, scatter)

    cdef double posterior_with(self, const int64_t *sum, const whole *square, Py_ssize_t n, double times, double *mean,
                               double *scatter) noexcept nogil:
        cdef Py_ssize_t d, c, at = 0
        cdef double weight = self.gather(sum, square, n, mean, scatter), kappa = self.kappa0 + weight
        cdef double pull = self.kappa0 * weight / kappa
        for d in range(self.D):
            mean[d] -= self.m0[d]
            for c in range(d + 1):
                scatter[at + c] += pull * mean[d] * mean[c]
            scatter[at + d] += 2.0 * self.b0[d] + times * self.grain[d]
            at += d + 1
        for d in range(self.D):
            mean[d] = self.m0[d] + weight * mean[d] / kappa
        return factorise(scatter, self.D)

    cdef void write_scatter(self, Py_ssize_t k, double *block, double shrink) noexcept nogil:
        cdef Py_ssize_t d
        self.gain[k] = shrink
        block += 8 * self.D
        for d in range(self.n_squares):
            block[8 * d] = self.scatter[d]

    cdef void score_block(self, const double *x, Py_ssize_t block, const double *turn, double *log_q) noexcept nogil:
        score_full(self.at + block * self.rows, x, self.D, self.gain + block, turn, self.work, log_q, self.left + block)

    cdef double log_q_counted(self, const double *x, Py_ssize_t k, double turn) noexcept nogil:
        cdef Py_ssize_t d, c, at = 0
        cdef const double *mean = self.block_of(k)
        cdef const double *scatter = self.own_scatter + k * self.n_squares
        cdef double e, total = 0.0
        for d in range(self.D):
            e = x[d] - mean[8 * d]
            for c in range(d):
                e -= scatter[at + c] * self.work[c]
            e *= scatter[at + d]
            self.work[d] = e
            at += d + 1
            total += e * e
        return log(1.0 - turn * total)

    cdef object log_q_of(self, off, double shrink):
        solve_rows(self.scatter, self.D, off)
        return np.log1p(shrink * (off ** 2).sum(axis=1))

    cdef object density_of(self, points, Py_ssize_t n, double constant, double shrink, double log_det, double log_next):
        absent = np.isnan(points)
        if not absent.any():
            return DenseGaussian.density_of(self, points, n, constant, shrink, log_det, log_next)
        return self.log_marginals(points, absent, numbers_at(self.mean, self.D).copy(), self.psi(), n)

    def log_marginals(self, points, absent, mean, psi, Py_ssize_t n):
        """Log predictive densities of points with missing cells: a block of an inverse Wishart matrix has the degrees
        of freedom less the other columns' degrees. `psi`: Psi_n with the grain of one more point."""
        cdef double kappa = self.kappa0 + n
        found = np.empty(len(points))
        for rows in slices(len(points), self.D):
            there = ~absent[rows]
            off, block = np.where(there, points[rows] - mean, 0.0), blocks_of(psi, there)
            before = log_det_of(block - self.grain_blocks(there))
            after = log_det_of(block) + np.log1p(kappa / (kappa + 1.0) * distances(block, off))
            found[rows] = self.log_marginal(there, n, before, after)
        return found

    def log_left_out(self, points, absent, Py_ssize_t k):
        """Log predictive densities of points that column k counts given its others: without the point Psi is
        A - (kappa_n / kappa_(n-1)) r r', A the Psi_n of all less the grain of one, r from the mean of all."""
        cdef Py_ssize_t n = self.size[k] - 1
        cdef double kappa = self.kappa0 + n
        found = np.full(len(points), -np.inf)
        if n == 0 and not self.allows_empty:
            return found
        self.posterior(self.sums_of(k), self.squares_of(k), n + 1, self.mean, self.scatter)
        mean, psi = numbers_at(self.mean, self.D).copy(), self.psi()
        for rows in slices(len(points), self.D):
            there = ~absent[rows]
            off, block = np.where(there, points[rows] - mean, 0.0), blocks_of(psi, there)
            rest = block - self.grain_blocks(there)
            before = log_det_of(rest) + np.log1p(-(kappa + 1.0) / kappa * distances(rest, off))
            found[rows] = self.log_marginal(there, n, before, log_det_of(block))
        return found

    def log_marginal(self, there, Py_ssize_t n, before, after):
        """Log densities of the columns that are `there` of one more point beside n, from the log determinants of their
        blocks of Psi without and with it."""
        cdef Py_ssize_t d
        cdef double a, kappa = self.kappa0 + n
        known = there.sum(axis=1)
        a_of, constant = np.empty(self.D + 1), np.empty(self.D + 1)
        for d in range(self.D + 1):
            a = self.a_n(n) - 0.5 * (self.D - d)
            a_of[d] = a
            # of no column the density is 1
            constant[d] = (lgamma(a + 0.5) - lgamma(a + 0.5 - 0.5 * d) - 0.5 * d * log(M_PI)
                           + 0.5 * d * log(kappa / (kappa + 1.0))) if d else 0.0
        return (constant[known] + a_of[known] * before - (a_of[known] + 0.5) * after
                - there @ np.log(numbers_at(self.units, self.D)))

    cdef object grain_blocks(self, there):
        """The grain of one point, diagonal, in the columns that are `there`: an array [points, D, D]."""
        return np.where(there, numbers_at(self.grain, self.D), 0.0)[:, :, None] * np.eye(self.D)

    cdef object psi(self):
        """Psi, from the Cholesky factor in ``scatter``, with the reciprocals of its diagonal."""
        factor = np.zeros((self.D, self.D))
        factor[np.tril_indices(self.D)] = numbers_at(self.scatter, self.n_squares)
        factor[np.diag_indices(self.D)] = 1.0 / factor[np.diag_indices(self.D)]
        return factor @ factor.T

    def left_out_densities(self):
        """Missing cells of the item are integrated out; missing cells of the others are a part of the state."""
        return super().left_out_densities() if self.cells is None else self.left_out_closed(self.labels, self.K)

    def left_out_closed(self, labels, Py_ssize_t K):
        """`left_out_densities` of points whose `labels` in K clusters the statistics count, missing cells integrated
        out."""
        cdef Py_ssize_t k
        points = self.given_points(0, self.N)
        absent, density = np.isnan(points), np.empty((self.N, K + 1))
        for k in range(K + 1):
            density[:, k] = self.densities_in(points, k)
        for k in range(K):
            own = np.flatnonzero(labels == k)
            density[own, k] = self.log_left_out(points[own], absent[own], k)
        if self.allows_empty:
            density[:, K] = -np.inf
        return density

    # -- b0 and kappa0 resampled
    cdef void draw_cluster(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """The inverse of a covariance matrix, M M' with M = L'^-1 A: L the Cholesky factor of Psi_n, in ``scatter``
        that over the root of zeta, A lower triangular, column after column: the root of a chi-square of 2 a - c degrees
        of freedom, c from 0, then standard normals (Bartlett 1933)."""
        cdef Py_ssize_t r, c, s, D = self.D, n = self.size[k]
        cdef double a = self.zeta * self.a_n(n), noise = 1.0 / sqrt(self.zeta * self.kappa_of(k))
        cdef double *column = self.work
        cdef double *u = self.work + D
        cdef double *solved = self.work + 2 * D
        cdef double *row = self.scatter
        cdef double v, off, root = sqrt(self.zeta)
        self.posterior(self.sums_of(k), self.squares_of(k), n, self.mean, self.scatter)
        # u = L^-1 (m_n - m0)
        for r in range(D):
            v = self.mean[r] - self.m0[r]
            for s in range(r):
                v -= row[s] * u[s]
            u[r] = v * row[r]
            row += r + 1
        for r in range(D):
            u[r] /= root
        for c in range(D):
            for r in range(D):
                if r < c:
                    column[r] = 0.0
                else:
                    column[r] = rng.draw_normal() if r > c else sqrt(2.0 * rng.draw_gamma(a - 0.5 * c))
            if self.scale_prior.of_kappa0:
                off = noise * rng.draw_normal()
                for r in range(c, D):
                    off += column[r] * u[r]
                self.scale_prior.count_distance(off)
            for r in range(D - 1, -1, -1):
                v = column[r]
                for s in range(r + 1, D):
                    v -= self.scatter[s * (s + 1) // 2 + r] * solved[s]
                solved[r] = v * self.scatter[r * (r + 1) // 2 + r]
                self.scale_prior.count_precision(r, solved[r] * solved[r] / self.zeta)

    # -- missing cells
    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        cdef Py_ssize_t k
        DenseGaussian.refresh_parameters(self, rng)
        if self.cells is not None:
            self.impute(rng, self.z, self.K)
            for k in range(self.K):
                self.is_valid[k] = False
        return self.K

    cdef void impute(self, Rng rng, const int32_t *z, Py_ssize_t K) noexcept nogil:
        """Draw the missing cells of points that are in these clusters."""
        self.cells.draw(self, rng, z, K)

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        if self.cells is not None and not self.cells.equals((<FullGaussian> other).cells):
            return False
        return DenseGaussian.same_parameters(self, other, twin)

    @property
    def why_not_coupled(self):
        """str: missing cells are drawn."""
        return ("model.covariance=full: draws of missing cells cannot be coupled; expected model.covariance=diag, or a "
                "table without missing cells" if self.n_imputed else "")

    @property
    def n_imputed(self):
        """int: missing cells, which are a part of the state."""
        return 0 if self.cells is None else self.cells.n

    @property
    def reaches(self):
        """ndarray of float64, shape (n_imputed,): how far from the middle of its column each missing cell may be."""
        return np.empty(0) if self.cells is None else self.cells.in_data_units(self.units, True)

    @property
    def refreshes(self):
        """bool: whether the state holds more than the partition."""
        return self.cells is not None or bool(self.hyperparameters)

    @property
    def parameters(self):
        """ndarray of float64, shape (P, 1): the resampled scales, then the missing cells, row by row,
        from the middle of their column; None without any. Units are powers of two, so no bit is lost."""
        scales = DenseGaussian.parameters.__get__(self)
        if self.cells is None:
            return scales
        cells = self.cells.in_data_units(self.units, False)[:, None]
        return cells if scales is None else np.concatenate([scales, cells])

    def set_parameters(self, values):
        """Set what ``parameters`` gives. A ValueError for another number of values, a scale that is not finite and
        positive, or a cell out of reach."""
        cdef Py_ssize_t k
        if self.cells is None:
            DenseGaussian.set_parameters(self, values)
            return
        self.take_parameters(values, self.z)
        for k in range(self.K):
            self.is_valid[k] = False

    cdef int take_parameters(self, values, const int32_t *z) except -1:
        """``set_parameters`` where the points are in these clusters."""
        scales = 0 if self.scale_prior is None else len(self.scale_prior.values)
        given = as_numbers("parameters", values, scales + self.cells.n)
        cells = self.cells.in_units(given[scales:], self.units)
        if scales:
            self.scale_prior.set_values(given[:scales])
            self.scales_changed()
        self.cells.set(self, cells, z)
        return 0


def slices(Py_ssize_t n, Py_ssize_t D):
    """Yield n points in slices whose matrices [D, D] take 32 MB at most."""
    cdef Py_ssize_t start, step = max(1, (1 << 22) // (D * D))
    for start in range(0, n, step):
        yield slice(start, start + step)


def blocks_of(psi, there):
    """The blocks of a matrix whose columns are `there`, [points, D]; the identity in all other rows and columns."""
    return np.where(there[:, :, None] & there[:, None, :], psi, np.eye(len(psi)))


def log_det_of(block):
    """Log determinants of positive definite matrices."""
    return np.linalg.slogdet(block)[1]


def distances(block, off):
    """off' block^-1 off of each point."""
    return (off * np.linalg.solve(block, off[:, :, None])[:, :, 0]).sum(axis=1)
