# What scores an item against blocks of eight clusters. See table.pyx.
from libc.stdint cimport int8_t

from splitmerge_cli.kinds.tables.models.scale_prior cimport Scaled


cdef class Table(Scaled):
    cdef int8_t *stale                  # [cap] whether what scores an item is behind the statistics
    cdef double *power                  # [cap] log predictive of the item at hand, but for what all clusters share

    cdef void settle(self, Py_ssize_t k) noexcept nogil
    cdef void score(self, Py_ssize_t i, Py_ssize_t block) noexcept nogil
    cdef double score_own(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef double direct(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil
