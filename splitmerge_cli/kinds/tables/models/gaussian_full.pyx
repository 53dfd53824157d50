"""Mixture of normal distributions with a covariance matrix per cluster, model.covariance=full: the formulas are in
``dense_gaussian.pyx``. Cost: a point against K clusters O(D^2 K); a change of a cluster O(D^3).

Cells of a row may be missing: they are a part of the state, drawn by a Gibbs step given the partition
(docs/derivations.md, "Missing cells of jointly normal columns"). Factors of matrices are lower triangular, row after
row without what is above the diagonal.
"""
cimport cython
from libc.math cimport M_PI, fabs, log, rint, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

import numpy as np

from splitmerge_cli.core.memory cimport doubles_of, ints_of
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.sums cimport ROOM_INTS, Sums
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian, numbers_at, whole
from splitmerge_cli.kinds.tables.models.gaussian_independent cimport DenseParameters

from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.kinds.tables.models.gaussian_independent import DenseShards

cdef extern from "simd_math.h":
    pass

cdef extern from "tiles.h":
    void tile_full(const double *theta, Py_ssize_t D, const double *x, double log_weight, const double *floor,
                   double *out) noexcept nogil
    Py_ssize_t tile_factor_size(Py_ssize_t D) noexcept nogil
    void tile_pack_factor(const double *factor, const double *mean, Py_ssize_t D, double *packed) noexcept nogil

cdef extern from "cross_sums.h":
    void count_full(int64_t *sum, whole *square, const double *x, Py_ssize_t D, int64_t sign) noexcept nogil
    void moments_full(const int64_t *sum, const whole *square, Py_ssize_t D, int64_t n, double inverse, double *mean,
                      double *scatter) noexcept nogil

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

    /* Coordinate c of a point that is counted becomes another. */
    static inline void change_cell(int64_t *sum, whole *square, double *x, ptrdiff_t D, ptrdiff_t c, double to)
    {
        const int64_t from = (int64_t)x[c], now = (int64_t)to, off = now - from;
        whole *row = square + c * (c + 1) / 2;
        sum[c] += off;
        for (ptrdiff_t d = 0; d < c; d++)
            row[d] += (whole)off * (int64_t)x[d];
        row[c] += (whole)now * now - (whole)from * from;
        for (ptrdiff_t d = c + 1; d < D; d++) {
            row += d;
            row[c] += (whole)off * (int64_t)x[d];
        }
        x[c] = to;
    }

    /* Sum of products, in four partial sums to hide the latency of an addition. */
    static inline double inner(const double *a, const double *b, ptrdiff_t n)
    {
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
        ptrdiff_t r = 0;
        for (; r + 4 <= n; r += 4) {
            s0 += a[r] * b[r];
            s1 += a[r + 1] * b[r + 1];
            s2 += a[r + 2] * b[r + 2];
            s3 += a[r + 3] * b[r + 3];
        }
        for (; r < n; r++)
            s0 += a[r] * b[r];
        return (s0 + s1) + (s2 + s3);
    }
    """
    void score_full(const double *block, const double *x, Py_ssize_t D, const double *gain, const double *turn,
                    double *work, double *log_q, double *left) noexcept nogil
    void change_cell(int64_t *sum, whole *square, double *x, Py_ssize_t D, Py_ssize_t c, double to) noexcept nogil
    double inner(const double *a, const double *b, Py_ssize_t n) noexcept nogil


cdef double factorise(double *a, Py_ssize_t D) noexcept nogil:
    """Cholesky factor of a packed positive definite matrix, in place, reciprocals on its diagonal; returns the log of
    the determinant."""
    cdef Py_ssize_t r, c
    cdef double total = 0.0, product = 1.0, v
    cdef double *row = a
    cdef double *col
    for r in range(D):
        col = a
        for c in range(r):
            row[c] = (row[c] - inner(row, col, c)) * col[c]
            col += c + 1
        v = row[r] - inner(row, row, r)
        product *= v
        if not 1e-200 < product < 1e200:
            total += log(product)
            product = 1.0
        row[r] = 1.0 / sqrt(v)
        row += r + 1
    return total + log(product)


cdef void solve_rows(const double *a, Py_ssize_t D, double[:, ::1] rows) noexcept nogil:
    """Put L^-1 r in place of each row r, the lower triangular L as `factorise` leaves it in `a`.

    No library: one that solves for a few rows with several threads waits for these a hundred times as long.
    """
    cdef Py_ssize_t n, i, j
    cdef const double *row
    cdef double total
    for n in range(rows.shape[0]):
        row = a
        for i in range(D):
            total = rows[n, i]
            for j in range(i):
                total = total - row[j] * rows[n, j]
            rows[n, i] = total * row[i]
            row = row + i + 1


cdef double draw_factor(Rng rng, Py_ssize_t D, double a, double kappa, double *work) noexcept nogil:
    """A lower triangular F with F'F the inverse of a covariance matrix, and a mean: work[:D] in place of m_n, F behind
    it, L and L^-1, of D (D + 1) / 2 numbers each. Returns the sum of the logs of the diagonal of F.

    F = A' L^-1, L the Cholesky factor of Psi_n in `work`, A upper triangular: on the diagonal roots of chi-squares
    of 2 a - D + 1, ..., 2 a degrees of freedom, above it standard normals (Bartlett 1933, from the last
    coordinate to the first). The mean is m_n + F^-1 z / sqrt(kappa). Without a generator what to expect.
    """
    cdef Py_ssize_t r, c, s, squares = D * (D + 1) // 2
    cdef double *mean = work
    cdef double *L = work + D
    cdef double *inverse = L + squares
    cdef double *F = inverse + squares
    cdef double *v = F + squares
    cdef double *row
    cdef double *into
    cdef double weight, total = 0.0
    for r in range(D):
        into = inverse + r * (r + 1) // 2
        row = L + r * (r + 1) // 2
        for c in range(r):
            into[c] = 0.0
        for s in range(r):
            for c in range(s + 1):
                into[c] -= row[s] * inverse[s * (s + 1) // 2 + c]
        for c in range(r):
            into[c] *= row[r]
        into[r] = row[r]
    for r in range(D):
        into = F + r * (r + 1) // 2
        weight = a - 0.5 * (D - 1 - r)
        weight = sqrt(2.0 * (weight if rng is None else rng.draw_gamma(weight)))
        for c in range(r + 1):
            into[c] = weight * inverse[r * (r + 1) // 2 + c]
        if rng is not None:
            for s in range(r):
                weight = rng.draw_normal()
                for c in range(s + 1):
                    into[c] += weight * inverse[s * (s + 1) // 2 + c]
        total += log(into[r])
    if rng is not None:
        for r in range(D):
            row = F + r * (r + 1) // 2
            v[r] = (rng.draw_normal() - inner(row, v, r)) / row[r]
        for r in range(D):
            mean[r] += v[r] / sqrt(kappa)
    return total


cdef enum:
    MOST_COLUMNS = 8                    # columns that most points of a cluster lack, drawn at once in a refresh


@cython.final
cdef class MissingCells(Sums):
    """The cells that rows lack, as ``real_columns.prepare`` found them, and what they are at present."""

    def __init__(self, data, Py_ssize_t D):
        cdef Py_ssize_t g
        cdef const double *x = doubles_of(data.x)
        self.D, self.rows = D, data.gaps
        self.row_of, self.item, self.begin = ints_of(data.gap_of), ints_of(data.gap_item), ints_of(data.gap_begin)
        self.column, self.reach = ints_of(data.gap_column), doubles_of(data.reach)
        self.n = self.begin[self.rows]
        self.filled, self.next = self.memory.doubles(self.rows * D), self.memory.ints(self.rows)
        self.lacking = self.memory.ints(D)
        self.keep(&self.first, ROOM_INTS)
        self.draws = self.memory.doubles(7 * D * D + 9 * D + self.rows)
        for g in range(self.rows):
            memcpy(self.filled + g * D, x + self.item[g] * D, 8 * D)

    cdef void draw(self, DenseGaussian model, Rng rng, const int32_t *z, Py_ssize_t K) noexcept nogil:
        """Draw mean and covariance of each cluster that has missing cells given its points, then these cells given
        them, row by row, and forget the former. Then the cells of a column of which most are missing in the cluster,
        all at once: row by row their mean would move by a step of a point in as many as there are. Each of these
        columns, or, of more, any `MOST_COLUMNS`: each takes as long as all rows."""
        cdef Py_ssize_t k, g, r, c, s, n, D = self.D, wanted, left
        cdef double *work = self.draws
        cdef double *precision = work + 3 * model.n_squares + 5 * D
        cdef double *F
        for k in range(K):
            self.first[k] = -1
        for g in range(self.rows - 1, -1, -1):
            k = z[self.item[g]]
            self.next[g] = self.first[k]
            self.first[k] = <int32_t> g
        for k in range(K):
            g = self.first[k]
            if g < 0:
                continue
            n = model.size[k]
            model.posterior(model.sums_of(k), model.squares_of(k), n, work, work + D)
            draw_factor(rng, D, model.a_n(n), model.kappa0 + n, work)
            F = work + D + 2 * model.n_squares
            for r in range(D):
                for c in range(r + 1):
                    precision[r * D + c] = 0.0
                    for s in range(r, D):
                        precision[r * D + c] += F[s * (s + 1) // 2 + r] * F[s * (s + 1) // 2 + c]
                    precision[c * D + r] = precision[r * D + c]
            while g >= 0:
                self.draw_row(model, rng, g, k, work, precision, precision + D * D)
                g = self.next[g]
            left = self.count_lacking(k, n)
            wanted = min(left, MOST_COLUMNS)
            for c in range(D):
                if 2 * self.lacking[c] <= n:
                    continue
                if wanted == left or rng.draw_coin(<double> wanted / left):
                    self.draw_column(model, rng, k, c)
                    wanted -= 1
                left -= 1
            model.stale[k] = True

    cdef Py_ssize_t count_lacking(self, Py_ssize_t k, Py_ssize_t n) noexcept nogil:
        """lacking: how many of the n points of cluster k lack the cell of each column. Returns how many columns most of
        them lack."""
        cdef Py_ssize_t c, t, found = 0
        cdef int32_t g = self.first[k]
        for c in range(self.D):
            self.lacking[c] = 0
        while g >= 0:
            for t in range(self.begin[g], self.begin[g + 1]):
                self.lacking[self.column[t]] += 1
            g = self.next[g]
        for c in range(self.D):
            found += 2 * self.lacking[c] > n
        return found

    cdef void draw_column(self, DenseGaussian model, Rng rng, Py_ssize_t k, Py_ssize_t c) noexcept nogil:
        """Draw the missing cells of a column in a cluster from their joint distribution given all other cells: mean and
        covariance given the rows that have the cell and the grain of every row, of which the regression of the column
        on the others is used alone, then each cell given its row. A draw beyond the reach is a rejected proposal of
        all."""
        cdef Py_ssize_t d, s, t, g, n, D = self.D
        cdef double *mean = self.draws
        cdef double *F = mean + D + 2 * model.n_squares
        cdef double *precision = mean + 3 * model.n_squares + 5 * D
        cdef double *old = mean + 7 * D * D + 9 * D
        cdef double *x
        cdef double v
        cdef bint is_within = True
        g = self.first[k]
        while g >= 0:
            if self.lacks(g, c):
                model.count(k, self.filled + g * D, -1)
            g = self.next[g]
        # the grain of the rows that lack the cell weighs the regression, too
        n = model.size[k] - self.lacking[c]
        model.posterior_with(model.sums_of(k), model.squares_of(k), n, model.size[k], mean, mean + D)
        draw_factor(rng, D, model.a_n(n), model.kappa0 + n, mean)
        for d in range(D):
            precision[d] = 0.0
            for s in range(max(c, d), D):
                precision[d] += F[s * (s + 1) // 2 + c] * F[s * (s + 1) // 2 + d]
        t = 0
        g = self.first[k]
        while g >= 0:
            if self.lacks(g, c):
                x = self.filled + g * D
                v = 0.0
                for d in range(D):
                    if d != c:
                        v += precision[d] * (x[d] - mean[d])
                old[t] = x[c]
                x[c] = rint(mean[c] - v / precision[c] + rng.draw_normal() / sqrt(precision[c]))
                is_within &= fabs(x[c]) <= self.reach[c]
                t += 1
            g = self.next[g]
        t = 0
        g = self.first[k]
        while g >= 0:
            if self.lacks(g, c):
                x = self.filled + g * D
                if not is_within:
                    x[c] = old[t]
                model.count(k, x, 1)
                t += 1
            g = self.next[g]

    cdef void draw_row(self, DenseGaussian model, Rng rng, Py_ssize_t row, Py_ssize_t k, const double *mean,
                       const double *precision, double *work) noexcept nogil:
        """Draw the missing cells of a row of cluster k given the others: normal, of precision the block of these
        cells, P, and of mean the cluster's less P^-1 times the other block times how far the others are from
        theirs. A draw beyond the reach is a rejected proposal."""
        cdef Py_ssize_t r, c, s, D = self.D, m = self.begin[row + 1] - self.begin[row]
        cdef const int32_t *column = self.column + self.begin[row]
        cdef double *x = self.filled + row * D
        cdef double *block = work
        cdef double *u = work + model.n_squares
        cdef double *off = u + D
        cdef double v
        for c in range(D):
            off[c] = x[c] - mean[c]
        for r in range(m):
            off[column[r]] = 0.0
        for r in range(m):
            for c in range(r + 1):
                block[r * (r + 1) // 2 + c] = precision[column[r] * D + column[c]]
            v = 0.0
            for c in range(D):
                v -= precision[column[r] * D + c] * off[c]
            u[r] = v
        factorise(block, m)
        for r in range(m):
            v = u[r]
            for c in range(r):
                v -= block[r * (r + 1) // 2 + c] * u[c]
            u[r] = v * block[r * (r + 1) // 2 + r]
        for r in range(m):
            u[r] += rng.draw_normal()
        for r in range(m - 1, -1, -1):
            v = u[r]
            for s in range(r + 1, m):
                v -= block[s * (s + 1) // 2 + r] * u[s]
            u[r] = v * block[r * (r + 1) // 2 + r]
        for r in range(m):
            u[r] = rint(mean[column[r]] + u[r])
            if not fabs(u[r]) <= self.reach[column[r]]:
                return
        for r in range(m):
            change_cell(model.sums_of(k), model.squares_of(k), x, D, column[r], u[r])

    cdef bint equals(self, MissingCells other) noexcept nogil:
        """Whether the cells are the same."""
        cdef Py_ssize_t t
        for t in range(self.rows * self.D):
            if self.filled[t] != other.filled[t]:
                return False
        return True

    cdef object in_data_units(self, const double *units, bint reaches):
        """The cells, or how far each may be, from the middle of their columns, row by row: ndarray of float64."""
        cdef Py_ssize_t g, t, c
        cdef double[::1] found = np.empty(self.n)
        for g in range(self.rows):
            for t in range(self.begin[g], self.begin[g + 1]):
                c = self.column[t]
                found[t] = (self.reach[c] if reaches else self.filled[g * self.D + c]) * units[c]
        return np.asarray(found)

    cdef object in_units(self, values, const double *units):
        """Cells as ``in_data_units`` gives them, in units; a ValueError if one is out of reach."""
        cdef Py_ssize_t t, c
        cdef double[::1] cells = np.array(values)
        for t in range(self.n):
            c = self.column[t]
            # NaN fails, too
            if not fabs(cells[t] / units[c]) <= self.reach[c]:
                raise ValueError(f"parameters: a missing cell of {cells[t]:g}, out of reach")
            cells[t] = rint(cells[t] / units[c])
        return np.asarray(cells)

    cdef int set(self, DenseGaussian model, values, const int32_t *z) except -1:
        """Set the cells of points that are in these clusters."""
        cdef Py_ssize_t g, t, k
        cdef const double[::1] cells = values
        for g in range(self.rows):
            k = z[self.item[g]]
            model.remove(self.item[g], k)
            for t in range(self.begin[g], self.begin[g + 1]):
                self.filled[g * self.D + self.column[t]] = cells[t]
            model.add(self.item[g], k)
        return 0


@cython.final
cdef class FullParameters(DenseParameters):
    """Mean and covariance matrix; their densities are not known."""

    def __init__(self, DenseGaussian model not None):
        super().__init__(model)
        self.size, self.posterior_size, self.dimension = 1 + tile_factor_size(model.D), 0, 0

    cdef void draw_posterior(self, Rng rng, Py_ssize_t k, double *theta, double *work) noexcept nogil:
        """Mean and factor as ``tile_full`` reads them; of a power as ``DenseParameters`` says."""
        cdef Py_ssize_t d, c, n = self.model.size[k], D = self.model.D
        cdef double *F = work + D + 2 * self.model.n_squares
        cdef double zeta = self.model.zeta
        self.model.posterior(self.model.sums_of(k), self.model.squares_of(k), n, work, work + D)
        theta[0] = zeta * draw_factor(rng, D, zeta * self.model.a_n(n), self.model.kappa_of(k), work)
        theta[0] -= D * (0.5 * zeta * log(zeta))
        if self.model.coarse:
            for d in range(D):
                for c in range(d + 1):
                    theta[0] -= 0.5 * self.model.grain[c] * F[d * (d + 1) // 2 + c] ** 2
        tile_pack_factor(F, work, D, theta + 1)

    cdef void score_tile(self, const double *tile, const double *theta, double log_weight, const double *floor,
                         double *out) noexcept nogil:
        tile_full(theta, self.model.D, tile, log_weight, floor, out)


def by_pattern(absent):
    """Yield the rows that lack the same cells, and the columns that they have: they share the matrices of these."""
    patterns, pattern_of_row = np.unique(absent, axis=0, return_inverse=True)
    for p, missing in enumerate(patterns):
        yield np.flatnonzero(pattern_of_row.ravel() == p), np.flatnonzero(~missing)


def log_det_of(block):
    """Log determinants of positive definite matrices ``[clusters, D, D]``, shape (clusters, 1)."""
    return np.linalg.slogdet(block)[1][:, None]


def distances(block, off):
    """off' block^-1 off of each point ``[clusters, points, D]``, in each cluster its own."""
    return (off * np.linalg.solve(block, off.swapaxes(1, 2)).swapaxes(1, 2)).sum(axis=2)


@cython.final
cdef class FullGaussian(DenseGaussian):
    """Mixture of normal distributions of points, a covariance matrix per cluster; NaN where a cell is missing."""

    SHAPE = "full"
    READS_GAPS = True
    CAPABILITIES = (FullParameters, DenseShards)

    def _take(self, data):
        DenseGaussian._take(self, data)
        if data.gaps:
            self.cells = MissingCells(data, self.D)
            self.gap_of, self.filled = self.cells.row_of, self.cells.filled

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
        mean, psi = numbers_at(self.mean, self.D)[None], self.psi()[None]
        return self.log_marginals(points, absent, mean, psi, np.array([float(n)]))[:, 0]

    def log_marginals(self, points, absent, mean, psi, n):
        """Log predictive densities ``[points, clusters]`` of points with missing cells in clusters of `n` points: a
        block of an inverse Wishart matrix has the degrees of freedom less the other columns' degrees. `psi`: Psi_n with
        the grain of one more point."""
        kappa, found = (self.kappa0 + n)[:, None], np.empty((len(points), len(n)))
        for rows, seen in by_pattern(absent):
            block = psi[:, seen[:, None], seen]
            far = distances(block, points[np.ix_(rows, seen)] - mean[:, None, seen])
            after = log_det_of(block) + np.log1p(kappa / (kappa + 1.0) * far)
            found[rows] = self.log_marginal(seen, n[:, None], log_det_of(block - self.grain_of(seen)), after).T
        return found

    def log_left_out(self, points, absent, labels, mean, psi, n):
        """Log predictive densities ``[points]`` of points in their clusters, which have `n` others: without the point
        Psi is A - (kappa_n / kappa_(n-1)) r r', A the Psi_n of all less the grain of one, r from the mean of all."""
        found = np.full(len(points), -np.inf)
        for rows, seen in by_pattern(absent):
            # a lone point leaves no cluster
            rows = rows[(n[labels[rows]] > 0) | self.allows_empty]
            own, block = labels[rows], psi[:, seen[:, None], seen]
            rest, kappa = block - self.grain_of(seen), self.kappa0 + n[own]
            far = distances(rest, points[np.ix_(rows, seen)] - mean[:, None, seen])[own, np.arange(len(rows))]
            before = log_det_of(rest)[own, 0] + np.log1p(-(kappa + 1.0) / kappa * far)
            found[rows] = self.log_marginal(seen, n[own], before, log_det_of(block)[own, 0])
        return found

    def log_marginal(self, seen, n, before, after):
        """Log densities of the columns `seen` of one more point beside n, from the log determinants of their block of
        Psi without and with it."""
        from scipy.special import gammaln  # a table without missing cells does without
        cdef Py_ssize_t d = len(seen)
        if not d:  # of no column the density is 1
            return np.zeros(after.shape)
        a, kappa = self.a0 + 0.5 * n * self.per + self.freedom - 0.5 * (self.D - d), self.kappa0 + n
        return (gammaln(a + 0.5) - gammaln(a + 0.5 - 0.5 * d) + 0.5 * d * np.log(kappa / (kappa + 1.0) / M_PI)
                + a * before - (a + 0.5) * after - np.log(numbers_at(self.units, self.D)[seen]).sum())

    def grain_of(self, seen):
        """The grain of one point, a diagonal matrix of the columns `seen`."""
        return np.diag(numbers_at(self.grain, self.D)[seen])

    def psi(self):
        """Psi, from the Cholesky factor in ``scatter``, with the reciprocals of its diagonal."""
        factor = np.zeros((self.D, self.D))
        factor[np.tril_indices(self.D)] = numbers_at(self.scatter, self.n_squares)
        factor[np.diag_indices(self.D)] = 1.0 / factor[np.diag_indices(self.D)]
        return factor @ factor.T

    def moments(self, Py_ssize_t K, Py_ssize_t more):
        """m_n and Psi_n of the first K clusters, with the grain of so many more points."""
        cdef Py_ssize_t k
        mean, psi = np.empty((K, self.D)), np.empty((K, self.D, self.D))
        for k in range(K):
            self.posterior_with(self.sums_of(k), self.squares_of(k), self.size[k], self.size[k] + more, self.mean,
                                self.scatter)
            mean[k], psi[k] = numbers_at(self.mean, self.D), self.psi()
        return mean, psi

    def left_out_densities(self):
        """Missing cells of the item are integrated out; missing cells of the others are a part of the state."""
        return super().left_out_densities() if self.cells is None else self.left_out_closed(self.labels, self.K)

    def left_out_closed(self, labels, Py_ssize_t K):
        """`left_out_densities` of points whose `labels` in K clusters the statistics count, missing cells integrated
        out."""
        points, labels, density = self.given_points(0, self.N), np.asarray(labels), np.empty((self.N, K + 1))
        absent, n = np.isnan(points), np.array([self.size[k] for k in range(K + 1)], dtype=float)
        mean, psi = self.moments(K + 1, 1)
        density[:] = self.log_marginals(points, absent, mean, psi, n)
        mean, psi = self.moments(K, 0)
        density[np.arange(self.N), labels] = self.log_left_out(points, absent, labels, mean, psi, n[:K] - 1)
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
