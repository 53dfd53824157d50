# Mixtures of normal distributions of dense points, which `mixed` has for the real columns of a table. See gaussian.pyx.
cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t

from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.models.normal cimport Normal


cdef extern from "fixed_point.h":
    ctypedef struct whole:
        pass


@cython.final
cdef class Gaussian(Normal):
    cdef const double *x                # [N, D] points less their column's middle, multiples of their unit
    # -- rows with missing cells (full): their cells are a part of the state
    cdef readonly Py_ssize_t n_imputed    # missing cells
    cdef Py_ssize_t gaps                # rows that have any
    cdef const int32_t *gap_of          # [N] number of a row among these, or -1
    cdef const int32_t *gap_item        # [gaps]
    cdef const int32_t *gap_begin       # [gaps + 1] of a row's missing cells in gap_column
    cdef const int32_t *gap_column      # [n_imputed]
    cdef const double *reach            # [D] largest magnitude of such a cell, in units
    cdef double *filled                 # [gaps, D] these rows, missing cells as they are at present; of this model
    cdef int32_t *gap_first             # [cap] first such row of a cluster, -1 none
    cdef int32_t *gap_next              # [gaps] next one of the same
    cdef double *draws                  # [7 D^2 + 9 D + gaps] scratch of a draw
    cdef object given                   # the points as they were given
    cdef const double *middle           # [D] of the columns, in the data's units
    cdef const double *units           # [D]
    cdef const double *m0               # [D] in units, from the middle
    cdef const double *b0               # [D] in units^2; iso: one
    cdef const double *grain            # [D] what a point adds to the squares, in units^2: a twelfth of r^2
    cdef double grains                  # their sum
    cdef bint coarse                    # whether any is not 0
    cdef Py_ssize_t n_squares           # sums of squares or products of a cluster
    cdef Py_ssize_t rows                # rows of eight numbers in a block of `at`
    cdef Py_ssize_t piece               # dimensions whose product cannot leave the range of a double
    cdef int64_t *sum                   # [cap, D]
    cdef whole *square                  # [cap, n_squares]
    cdef double *at                     # [cap / 8, rows, 8] what scores a point
    cdef double *gain                   # [cap] iso, full: factor of the distance
    cdef double *level                  # [cap]
    cdef double *degree                 # [cap]
    cdef double *log_det                # [cap] sum over dimensions of log b_n; full: log det Psi_n
    cdef double *power                  # [cap] log predictive of the point at hand
    cdef double *left                   # [cap] q of the point at hand
    cdef int8_t *stale                  # [cap] whether all these are behind the sums
    # -- what scores a point that its cluster counts, where columns have a resolution
    cdef double *own_scatter            # [cap, max(n_squares, D)] b_n or factor of Psi_n, less one grain
    cdef double *own_level              # [cap]
    cdef int8_t *stale_own              # [cap]
    cdef double *work                   # [8 D] solution of a triangular system
    cdef double *mean                   # [D] of the cluster that is settled
    cdef double *scatter                # [max(n_squares, D)]
    cdef int64_t *both_sum              # [D] of a union
    cdef whole *both_square             # [n_squares]
    cdef double *lane                   # [5, 8] turn of no lane; of a turned one turn, level, degree; log q
    # -- b0 or kappa0 resampled: tables of this model alone
    cdef double *free_c                 # [N + 2] log_c and log_n without what depends on b0 and kappa0
    cdef double *free_n
    cdef double *own_c                  # [N + 2] with the present ones: log_c, log_n
    cdef double *own_n
    cdef double *own_b0                 # [D] the present ones over zeta; iso: one

    cdef int _take(self, data) except -1
    cdef int _own_tables(self) except -1
    cdef int64_t *sums_of(self, Py_ssize_t k) noexcept nogil
    cdef whole *squares_of(self, Py_ssize_t k) noexcept nogil
    cdef double posterior(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                          double *scatter) noexcept nogil
    cdef double posterior_with(self, const int64_t *sum, const whole *square, Py_ssize_t n, double times, double *mean,
                               double *scatter) noexcept nogil
    cdef void settle(self, Py_ssize_t k) noexcept nogil
    cdef void settle_own(self, Py_ssize_t k) noexcept nogil
    cdef double score_counted(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef void score(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil
    cdef double log_lik_of(self, Py_ssize_t n, double log_det) noexcept nogil
    cdef void draw_inverse_covariance(self, Rng rng, double a, double noise) noexcept nogil
    cdef double draw_factor(self, Rng rng, Py_ssize_t n, double *work) noexcept nogil
    cdef void impute(self, Rng rng, const int32_t *z, Py_ssize_t K) noexcept nogil
    cdef void impute_column(self, Rng rng, Py_ssize_t k, Py_ssize_t c) noexcept nogil
    cdef int take_parameters(self, values, const int32_t *z) except -1
    cdef void impute_row(self, Rng rng, Py_ssize_t row, Py_ssize_t k, const double *mean, const double *precision,
                         double *work) noexcept nogil

    @cython.final
    cdef inline bint lacks(self, Py_ssize_t row, Py_ssize_t c) noexcept nogil:
        """Whether a row with missing cells lacks that of a column."""
        cdef Py_ssize_t t
        for t in range(self.gap_begin[row], self.gap_begin[row + 1]):
            if self.gap_column[t] == c:
                return True
        return False

    @cython.final
    cdef inline const double *point(self, Py_ssize_t i) noexcept nogil:
        """The coordinates of a point, in units."""
        if self.gaps and self.gap_of[i] >= 0:
            return self.filled + self.gap_of[i] * self.D
        return self.x + i * self.D
