"""Missing cells of jointly normal columns: a part of the state, drawn by a Gibbs step given the partition.

(docs/derivations.md, "Missing cells of jointly normal columns".)
"""
cimport cython
from libc.math cimport fabs, rint, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

import numpy as np

from splitmerge_cli.core.memory cimport doubles_of, ints_of
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport ROOM_INTS, Sums
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian, whole
from splitmerge_cli.kinds.tables.models.packed_factor cimport draw_factor, factorise

cdef extern from *:
    """
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
    """
    void change_cell(int64_t *sum, whole *square, double *x, Py_ssize_t D, Py_ssize_t c, double to) noexcept nogil


@cython.final
cdef class MissingCells(Sums):
    """The cells that rows lack, as ``dense_points.prepare`` found them, and what they are at present."""

    def __init__(self, data, Py_ssize_t D):
        cdef Py_ssize_t g
        cdef const double *x = doubles_of(data.x)
        self.D, self.rows = D, data.gaps
        self.row_of, self.item, self.begin = ints_of(data.gap_of), ints_of(data.gap_item), ints_of(data.gap_begin)
        self.column, self.reach = ints_of(data.gap_column), doubles_of(data.reach)
        self.n = self.begin[self.rows]
        self.filled, self.next = self.memory.doubles(self.rows * D), self.memory.ints(self.rows)
        self.keep(&self.first, ROOM_INTS)
        self.draws = self.memory.doubles(7 * D * D + 9 * D + self.rows)
        for g in range(self.rows):
            memcpy(self.filled + g * D, x + self.item[g] * D, 8 * D)

    cdef void draw(self, DenseGaussian model, Rng rng, const int32_t *z, Py_ssize_t K) noexcept nogil:
        """Draw mean and covariance of each cluster that has missing cells given its points, then these cells given
        them, row by row, and forget the former. Then the cells of each column of which most are missing in the cluster,
        all at once: row by row their mean would move by a step of a point in as many as there are."""
        cdef Py_ssize_t k, g, r, c, s, n, D = self.D
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
            for c in range(D):
                self.draw_column(model, rng, k, c)
            model.stale[k] = True

    cdef void draw_column(self, DenseGaussian model, Rng rng, Py_ssize_t k, Py_ssize_t c) noexcept nogil:
        """Draw the missing cells of a column in a cluster from their joint distribution given all other cells, where
        they are most of the column there: mean and covariance given the rows that have the cell and the grain of every
        row, of which the regression of the column on the others is used alone, then each cell given its row. A draw
        beyond the reach is a rejected proposal of all."""
        cdef Py_ssize_t d, s, t, g, n, D = self.D, lacking = 0
        cdef double *mean = self.draws
        cdef double *F = mean + D + 2 * model.n_squares
        cdef double *precision = mean + 3 * model.n_squares + 5 * D
        cdef double *old = mean + 7 * D * D + 9 * D
        cdef double *x
        cdef double v
        cdef bint is_within = True
        g = self.first[k]
        while g >= 0:
            lacking += self.lacks(g, c)
            g = self.next[g]
        if 2 * lacking <= model.size[k]:
            return
        g = self.first[k]
        while g >= 0:
            if self.lacks(g, c):
                model.count(k, self.filled + g * D, -1)
            g = self.next[g]
        # the grain of the rows that lack the cell weighs the regression, too
        n = model.size[k] - lacking
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
