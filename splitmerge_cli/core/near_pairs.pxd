# Pairs of items that may belong together. See near_pairs.pyx.
from libc.stdint cimport int32_t, int64_t

from splitmerge_cli.core.rng cimport Rng


cdef class NearPairs:
    cdef readonly Py_ssize_t N      # items
    cdef readonly double share      # of the draws that are one of the pairs
    cdef readonly object pairs      # [P, 2] int32 ndarray, the smaller number first
    cdef readonly object begin      # [N + 1] int64 ndarray
    cdef readonly object other      # [2 P] int32 ndarray: the other items of each item's pairs
    cdef Py_ssize_t P
    cdef const int32_t *pair        # the three arrays
    cdef const int64_t *first
    cdef const int32_t *near

    cdef void draw(self, Rng rng, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil
