# Pairs of items that may belong together. See near_pairs.pyx.
from libc.stdint cimport int32_t, int64_t

from splitmerge_cli.core.rng cimport Rng


cdef class NearPairs:
    cdef readonly Py_ssize_t N      # items
    cdef readonly double share      # of the draws that are one of the pairs
    cdef readonly object pairs      # [P, 2] int32 ndarray, the smaller number first
    cdef readonly object begin      # [N + 1] int64 ndarray
    cdef readonly object other      # [2 P] int32 ndarray: the other items of each item's pairs
    cdef readonly object chances    # [2 P] float64 ndarray: of each of these pairs among the pairs
    cdef readonly object odds       # [P] float64 ndarray; None: all pairs are as likely
    cdef readonly Py_ssize_t moves  # of a pass over the pairs
    cdef object kept                # [P] the alias table
    cdef object aliases
    cdef Py_ssize_t P
    cdef const int32_t *pair        # the arrays; keep and alias NULL without odds
    cdef const int64_t *first
    cdef const int32_t *near
    cdef const double *chance
    cdef const double *keep
    cdef const int32_t *alias

    cdef void draw(self, Rng rng, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil
    cdef double weight(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
