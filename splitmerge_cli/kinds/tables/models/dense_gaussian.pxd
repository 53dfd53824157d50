# Mixtures of normal distributions of dense points: what all covariances share. See dense_gaussian.pyx.
cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t

from splitmerge_cli.core.capabilities cimport DrawnParameters
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.tables.models.normal cimport Normal


cdef extern from "fixed_point.h":
    ctypedef long long whole            # of 128 bits
    double whole_double(whole v) noexcept nogil

cdef extern from "weighted_sums.h":
    void count_weighted(whole *square, const double *x, Py_ssize_t D, Py_ssize_t n_squares, bint is_iso, int64_t parts,
                        int64_t logs) noexcept nogil
    double moments_weighted(const whole *square, Py_ssize_t D, Py_ssize_t n_squares, bint is_iso, double *work,
                            double *mean, double *scatter) noexcept nogil


cdef class DenseGaussian(Normal):
    cdef Py_ssize_t stride              # columns of `x`: D, and behind these those that are scored cell by cell
    cdef Py_ssize_t gapped              # diag: how many these are
    cdef const int32_t *order           # [stride] number of a column of `x` among the columns that were given
    cdef const double *x                # [N, stride] points less their column's middle, multiples of their unit
    cdef const int32_t *gap_of          # [N] number of a row among those with missing cells, or -1
    cdef const double *filled           # [rows with gaps, D] these rows as they are now; NULL: no cell is missing
    cdef object given                   # the points as they were given
    cdef const double *middle           # [stride] of the columns, in the data's units
    cdef const double *units            # [stride]
    cdef const double *m0               # [stride] in units, from the middle
    cdef const double *b0               # [stride] in units^2; iso: one
    cdef const double *grain            # [stride] what a point adds to the squares, in units^2: a twelfth of r^2
    cdef double grains                  # their sum
    cdef bint coarse                    # whether any is not 0
    cdef Py_ssize_t n_squares           # sums of squares or products of a cluster
    cdef Py_ssize_t width               # numbers in its row of `square`
    cdef Py_ssize_t step                # numbers from the mean of a coordinate in a block to the mean of the next
    cdef Py_ssize_t piece               # dimensions whose product cannot leave the range of a double
    cdef int64_t *sum                   # [cap, D]
    cdef whole *square                  # [cap, width] with weights sums, the weight and its log behind the squares
    cdef double *gain                   # [cap] iso, full: factor of the distance
    cdef double *log_det                # [cap] sum over dimensions of log b_n; full: log det Psi_n
    # -- what scores a point that its cluster counts, where columns have a resolution
    cdef double *own_scatter            # [cap, max(n_squares, D)] b_n or factor of Psi_n, less one grain
    cdef double *own_level              # [cap]
    cdef int8_t *stale_own              # [cap]
    cdef double *work                   # [8 D] solution of a triangular system
    cdef double *mean                   # [D] of the cluster that is settled
    cdef double *scatter                # [max(n_squares, D)]
    cdef int64_t *both_sum              # [D] of a union
    cdef whole *both_square             # [width]
    # -- tails=t
    cdef double *weight                 # [cap] sum over a cluster
    cdef DrawnParameters own_parameters  # draws a cluster's parameters, for the weights given them
    cdef double *theta                  # scratch of that: parameters, a draw's, a tile
    cdef double *draft
    cdef double *tile
    # -- b0, kappa0 or weights resampled: tables of this model alone
    cdef double *free_c                 # [N + 2] log_c and log_n without what depends on b0 and kappa0
    cdef double *free_n
    cdef double *own_c                  # [N + 2] with the present ones: log_c, log_n
    cdef double *own_n
    cdef double *own_b0                 # [stride] the present ones over zeta; iso: one

    # -- of each covariance
    cdef void measure(self) noexcept nogil
    cdef void count(self, Py_ssize_t k, const double *x, int sign) noexcept nogil
    cdef void moments(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                      double *scatter) noexcept nogil
    cdef double posterior_with(self, const int64_t *sum, const whole *square, Py_ssize_t n, double times, double *mean,
                               double *scatter) noexcept nogil
    cdef void write_scatter(self, Py_ssize_t k, double *block, double shrink) noexcept nogil
    cdef void score_block(self, const double *x, Py_ssize_t block, const double *turn, double *log_q) noexcept nogil
    cdef double log_q_counted(self, const double *x, Py_ssize_t k, double turn) noexcept nogil
    cdef object log_q_of(self, off, double shrink)

    cdef void draw_cells(self, Rng rng, Py_ssize_t k, double *theta) noexcept nogil

    # -- of all
    cdef double posterior(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                          double *scatter) noexcept nogil
    cdef double gather(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                       double *scatter) noexcept nogil
    cdef void count_row(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil
    cdef double weight_in(self, const whole *square) noexcept nogil
    cdef double log_weights_of(self, const whole *square) noexcept nogil
    cdef void score_weighted(self, const double *x, double w, Py_ssize_t block, Py_ssize_t own) noexcept nogil
    cdef void integrate_weight(self, const double *x, double *out) noexcept nogil
    cdef void refresh_weights(self, Rng rng) noexcept nogil
    cdef void measure_distances(self, Rng rng, Py_ssize_t k) noexcept nogil
    cdef Py_ssize_t columns_in(self, const double *x) noexcept nogil
    cdef double log_units_of(self, Py_ssize_t i) noexcept nogil
    cdef double kappa_of(self, Py_ssize_t k) noexcept nogil
    cdef void settle_own(self, Py_ssize_t k) noexcept nogil
    cdef double score_counted(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef double log_lik_of(self, Py_ssize_t n, double log_det) noexcept nogil
    cdef object given_points(self, Py_ssize_t first, Py_ssize_t last)
    cdef object densities_in(self, points, Py_ssize_t k)
    cdef object density_of(self, points, Py_ssize_t n, double constant, double shrink, double log_det, double log_next)

    @cython.final
    cdef inline int64_t *sums_of(self, Py_ssize_t k) noexcept nogil:
        return self.sum + self.D * k

    @cython.final
    cdef inline whole *squares_of(self, Py_ssize_t k) noexcept nogil:
        return self.square + self.width * k

    @cython.final
    cdef inline const double *point(self, Py_ssize_t i) noexcept nogil:
        """The coordinates of a point, in units."""
        if self.filled != NULL and self.gap_of[i] >= 0:
            return self.filled + self.gap_of[i] * self.D
        return self.x + i * self.stride


cdef object numbers_at(const double *p, Py_ssize_t n)
