# Normal mixtures with a covariance matrix per cluster, and their missing cells. See gaussian_full.pyx.
cimport cython
from libc.stdint cimport int32_t

from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport Sums
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian

cdef double factorise(double *a, Py_ssize_t D) noexcept nogil


@cython.final
cdef class MissingCells(Sums):
    cdef readonly Py_ssize_t n          # missing cells
    cdef Py_ssize_t D
    cdef Py_ssize_t rows                # rows that have any
    cdef const int32_t *row_of          # [N] number of a row among these, or -1
    cdef const int32_t *item            # [rows]
    cdef const int32_t *begin           # [rows + 1] of a row's missing cells in `column`
    cdef const int32_t *column          # [n]
    cdef const double *reach            # [D] largest magnitude of such a cell, in units
    cdef double *filled                 # [rows, D] these rows, missing cells as they are at present
    cdef int32_t *first                 # [cap] first such row of a cluster, -1 none
    cdef int32_t *next                  # [rows] next one of the same
    cdef int32_t *lacking               # [D] points of a cluster that lack each column's cell, while it is drawn
    cdef double *draws                  # [7 D^2 + 9 D + rows] scratch of a draw

    cdef void draw(self, DenseGaussian model, Rng rng, const int32_t *z, Py_ssize_t K) noexcept nogil
    cdef Py_ssize_t count_lacking(self, Py_ssize_t k, Py_ssize_t n) noexcept nogil
    cdef void draw_column(self, DenseGaussian model, Rng rng, Py_ssize_t k, Py_ssize_t c) noexcept nogil
    cdef void draw_row(self, DenseGaussian model, Rng rng, Py_ssize_t row, Py_ssize_t k, const double *mean,
                       const double *precision, double *work) noexcept nogil
    cdef bint equals(self, MissingCells other) noexcept nogil
    cdef object in_data_units(self, const double *units, bint reaches)
    cdef object in_units(self, values, const double *units)
    cdef int set(self, DenseGaussian model, values, const int32_t *z) except -1

    cdef inline bint lacks(self, Py_ssize_t row, Py_ssize_t c) noexcept nogil:
        """Whether a row lacks the cell of a column."""
        cdef Py_ssize_t t
        for t in range(self.begin[row], self.begin[row + 1]):
            if self.column[t] == c:
                return True
        return False


@cython.final
cdef class FullGaussian(DenseGaussian):
    cdef MissingCells cells             # missing cells, a part of the state; None: no cell is missing

    cdef void impute(self, Rng rng, const int32_t *z, Py_ssize_t K) noexcept nogil
    cdef int take_parameters(self, values, const int32_t *z) except -1
