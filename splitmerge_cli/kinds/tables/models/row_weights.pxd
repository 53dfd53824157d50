# Weights of rows, by which normal clusters have the tails of Student's t. See row_weights.pyx.
cimport cython
from libc.stdint cimport int64_t

from splitmerge_cli.core.rng cimport Rng


cdef enum:
    FRACTION = 22                       # a weight is a multiple of 2^-22
    LOG_FRACTION = 48                   # its logarithm one of 2^-48


@cython.final
cdef class RowWeights:
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
    cdef int set_cells(self, cells) except -1
    cdef double log_odds(self, double nu) noexcept nogil
    cdef void draw(self, Rng rng) noexcept nogil
    cdef bint propose(self, Rng rng, double nu) noexcept nogil
    cdef bint equals(self, RowWeights other) noexcept nogil
    cdef double log_density(self) noexcept nogil
