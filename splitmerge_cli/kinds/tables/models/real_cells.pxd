# Independent real columns of a table, any cell of which may be missing. See real_cells.pyx.
cimport cython
from libc.stdint cimport int32_t, int64_t

from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport Sums
from splitmerge_cli.kinds.tables.models.normal cimport ScalePrior


cdef extern from "fixed_point.h":
    ctypedef long long whole            # of 128 bits
    double whole_double(whole v) noexcept nogil
    whole whole_scatter(int64_t n, whole xy, int64_t x, int64_t y) noexcept nogil

cdef extern from "real_lanes.h":
    void score_reals(const double *block, const double *x, Py_ssize_t complete, Py_ssize_t R, Py_ssize_t piece,
                     double *power) noexcept nogil


@cython.final
cdef class RealCells(Sums):
    cdef Py_ssize_t R                   # columns
    cdef Py_ssize_t complete            # those without missing cells: the first ones
    cdef Py_ssize_t rows                # rows of eight numbers in a block of `at`
    cdef Py_ssize_t piece               # columns whose product cannot leave the range of a double
    cdef Py_ssize_t M                   # entries of a table by number of cells
    cdef double zeta                    # power of the likelihood; kappa0, a0, b0 and what follows are over it
    cdef double kappa0, a0
    cdef ScalePrior scale_prior         # of b0 and kappa0; None where both are fixed
    # -- the data and the prior; shared
    cdef const double *x                # [N, R] less their column's middle, multiples of its unit; NaN: missing
    cdef const int32_t *slot            # [R] number among the columns with missing cells, -1: none is missing
    cdef const int32_t *real            # [R] number of a column of `x` among the real columns of the table
    cdef const double *m0               # [R] in units, from the middle
    cdef const double *b0               # [R] in units^2
    cdef const double *log_b0           # [R]
    cdef const double *grain            # [R] what a cell adds to the squares, in units^2 (``dense_gaussian.pyx``)
    cdef bint coarse                    # whether any is not 0
    cdef const double *inverse          # [M] 1 / n, 0 at 0
    cdef const double *shrunk           # [M + 1] 1 / kappa_n
    cdef const double *log_c            # [M] the part of a cell's predictive that depends on n alone
    cdef const double *log_n            # [M] the part of a column's likelihood that depends on n alone
    cdef readonly tuple shared          # what these lead into
    # -- b0 or kappa0 resampled: what follows the present ones, of this model alone
    cdef double *own                    # [2 R + 3 M + 1] b0, log_b0, shrunk, log_c, log_n
    cdef const double *free_c           # [M] log_c and log_n with the kappa0 of the start; shared
    cdef const double *free_n
    cdef double kappa_start
    # -- of a cluster
    cdef int64_t *sum                   # [cap, R] in units
    cdef whole *square                  # [cap, R]
    cdef double *at                     # [cap / 8, rows, 8] what scores an item: see score_reals

    # `n`, `seen`: items of a cluster, and observed cells of each column with missing ones
    cdef void settle(self, Py_ssize_t k, Py_ssize_t n, const int32_t *seen) noexcept nogil
    cdef bint add_own_score(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t n, const int32_t *seen,
                            double *total) noexcept nogil
    cdef double log_lik(self, Py_ssize_t a, Py_ssize_t n, const int32_t *seen, Py_ssize_t b, Py_ssize_t n2,
                        const int32_t *seen2, double total) noexcept nogil
    cdef double log_density(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t n, const int32_t *seen,
                            double total) noexcept nogil
    cdef void draw_precisions(self, Rng rng, Py_ssize_t k, Py_ssize_t n, const int32_t *seen) noexcept nogil
    cdef void draw_parameters(self, Rng rng, Py_ssize_t k, Py_ssize_t n, const int32_t *seen,
                              double *theta) noexcept nogil
    cdef void scales_changed(self) noexcept nogil
    cdef double scale_of(self, Py_ssize_t c, int64_t sum, whole square, Py_ssize_t n, double *mean) noexcept nogil
    cdef double scale(self, Py_ssize_t k, Py_ssize_t c, int64_t v, Py_ssize_t n, double *mean) noexcept nogil

    cdef inline int64_t *sums_of(self, Py_ssize_t k) noexcept nogil:
        return self.sum + k * self.R

    cdef inline whole *squares_of(self, Py_ssize_t k) noexcept nogil:
        return self.square + self.R * k

    cdef inline Py_ssize_t cells(self, Py_ssize_t c, Py_ssize_t n, const int32_t *seen) noexcept nogil:
        """Observed cells of a column."""
        return n if self.slot[c] < 0 else seen[self.slot[c]]

    cdef inline double shrink(self, Py_ssize_t n) noexcept nogil:
        """kappa_n / (kappa_n + 1)"""
        return (self.kappa0 + n) * self.shrunk[n + 1]

    cdef inline double grain_in(self, const double *row, Py_ssize_t c, Py_ssize_t n) noexcept nogil:
        """Half the grain of a cell of column c over b_n with it."""
        return self.grain[c] * row[8] / self.shrink(n)

    cdef inline double left_in(self, const double *row, double x, Py_ssize_t c, Py_ssize_t n) noexcept nogil:
        """b of the other cells of column c over b_n of all n, of which x is one."""
        cdef double share = (self.kappa0 + n + 1.0) * self.shrunk[n - 1] * row[8] * (x - row[0]) * (x - row[0]), grain
        if not self.coarse:
            return 1.0 - share
        # `row` is over b_n with another grain
        grain = self.grain_in(row, c, n)
        return 1.0 - (share + grain) / (1.0 - grain)

    cdef inline void add_scores(self, Py_ssize_t i, Py_ssize_t block, double *power) noexcept nogil:
        """Add the log predictive of item i in the eight clusters from `block` on."""
        score_reals(self.at + block * self.rows, self.x + i * self.R, self.complete, self.R, self.piece, power)
