# Gamma priors of what the prior of means and variances takes as known. See scale_prior.pyx.
cimport cython

from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.tables.models.row_weights cimport RowWeights


@cython.final
cdef class ScalePrior:
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


cdef class Scaled(Model):
    cdef readonly double kappa0, a0     # kappa0: the present one
    cdef ScalePrior scale_prior         # of b0 and kappa0; None where both are fixed
    cdef RowWeights weights             # of the rows; None: normal tails
    cdef double shape0                  # of the prior of one variance
    cdef Py_ssize_t n_means             # of a cluster

    cdef void draw_cluster(self, Rng rng, Py_ssize_t k) noexcept nogil
    cdef void scales_changed(self) noexcept nogil
    cdef void weights_changed(self) noexcept nogil
