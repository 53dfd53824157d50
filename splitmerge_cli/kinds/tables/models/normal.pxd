# What mixtures with real columns share. See normal.pyx.
cimport cython
from libc.stdint cimport int64_t

from splitmerge_cli.core.blocks cimport Blocks
from splitmerge_cli.core.memory cimport Memory
from splitmerge_cli.core.rng cimport Rng


cdef enum:
    DIAG, ISO, FULL                     # COVARIANCES

cdef enum:
    FRACTION = 22                       # a weight is a multiple of 2^-22
    LOG_FRACTION = 48                   # its logarithm one of 2^-48


@cython.final
cdef class RowWeights:
    cdef Memory memory                  # of its arrays
    cdef readonly Py_ssize_t n          # rows that are data
    cdef readonly double nu             # degrees of freedom
    cdef int64_t *parts                 # [N] weight in units of 2^-22
    cdef int64_t *logs                  # [N] its logarithm in units of 2^-48
    cdef double *weight                 # [N]
    cdef double *distance               # [N, padded] squared distance of a row from its cluster, by drawn parameters
    cdef Py_ssize_t D                   # columns
    cdef double *cells                  # [N, padded] columns that a row has; NULL: all have D
    cdef double *having                 # [D + 1] data rows that have so many columns
    cdef double *drawn                  # [N] weights that are proposed, in units

    cdef void put(self, Py_ssize_t i, int64_t parts) noexcept nogil
    cdef double log_odds(self, double nu) noexcept nogil
    cdef void draw(self, Rng rng) noexcept nogil
    cdef bint propose(self, Rng rng, double nu) noexcept nogil
    cdef bint equals(self, RowWeights other) noexcept nogil
    cdef double log_density(self) noexcept nogil


@cython.final
cdef class ScalePrior:
    cdef Memory memory                  # of its arrays
    cdef readonly Py_ssize_t n          # scales: one a column; iso: one
    cdef readonly bint of_b0, of_kappa0  # which have a gamma prior and are resampled
    cdef double b0_shape, b0_rate, kappa0_shape, kappa0_rate
    cdef double *b0                     # [n] present values, in units^2
    cdef double kappa0
    cdef const double *unit             # [n] what b0 is measured in: the variance of the column, in units^2
    cdef double log_unit                # sum of the logs of these variances, in the data's units
    cdef double least, most             # b0 is between these multiples of `unit`
    cdef object held                    # the array of `unit`, and the array of the squares of the columns' units
    cdef double *precision              # [n] sum over clusters of what b0 multiplies in the density of their variances
    cdef double distance                # sum of what -kappa0 / 2 multiplies in the density of their means

    cdef void begin(self) noexcept nogil
    cdef void draw(self, Rng rng, double shapes, double means) noexcept nogil
    cdef bint equals(self, ScalePrior other) noexcept nogil
    cdef double log_density(self) noexcept nogil
    cdef double geometric_mean(self) noexcept nogil

    cdef inline void count_precision(self, Py_ssize_t d, double precision) noexcept nogil:
        """Add the precision of column d in one cluster."""
        self.precision[d] += precision

    cdef inline void count_distance(self, double off) noexcept nogil:
        """Add a coordinate of a cluster's mean, from m0 in standard deviations of a point."""
        self.distance += off * off


cdef class Scaled(Blocks):
    cdef readonly double kappa0, a0     # kappa0: the present one
    cdef ScalePrior scale_prior         # of b0 and kappa0; None where both are fixed
    cdef RowWeights weights             # of the rows; None: normal tails
    cdef double shape0                  # of the prior of one variance
    cdef Py_ssize_t n_means             # of a cluster

    cdef void draw_cluster(self, Rng rng, Py_ssize_t k) noexcept nogil
    cdef void scales_changed(self) noexcept nogil
    cdef void weights_changed(self) noexcept nogil


cdef class Normal(Scaled):
    cdef readonly Py_ssize_t D
    cdef readonly str covariance
    cdef int shape_of                   # DIAG, ISO, FULL
    cdef Py_ssize_t per                 # dimensions that share a variance: iso D, else 1
    cdef double freedom                 # full: (D - 1) / 2, else 0
    cdef double log_twos                # full: log of det(Psi0) over det of b0, else 0
    cdef readonly double zeta           # power of the likelihood; kappa0, a_n and b_n are then those over zeta
    cdef double log_units              # sum of the logs of the columns' units
    cdef double log_b0                  # sum over dimensions of log b0, in units^2
    cdef const double *inverse          # [N + 2] 1 / n, 0 at 0
    cdef const double *log_c            # [N + 2] the part of a predictive that depends on n alone
    cdef const double *log_n            # [N + 2] the part of a likelihood that depends on n alone

    cdef double predictive_constant(self, Py_ssize_t n, double step)
    cdef double likelihood_constant(self, Py_ssize_t n)

    @cython.final
    cdef inline double a_n(self, Py_ssize_t n) noexcept nogil:
        """Half the degrees of freedom over zeta; full: of Psi_n, nu_n / 2."""
        return self.a0 + 0.5 * n * self.per + self.freedom
