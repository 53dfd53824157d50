# The split and merge of a pair of items, which dyadic and triadic share. See docs/design.md.
from libc.stdint cimport int8_t, int32_t

from splitmerge_cli._kernels cimport Model, Rng, SplitMerge

cdef enum:
    TARGET, ORDERS, ALLOCATION, PRINTED  # the first TERMS of both

cdef enum:
    RANDOM, SAMS, GIBBS                 # allocations


cdef class PairMoves(SplitMerge):
    cdef readonly str allocation        # 'random', 'sams', 'gibbs'
    cdef readonly str q_ratio           # literal: 'formula', 'one'
    cdef readonly int t                 # gibbs: scans of the launch state
    cdef int how                        # RANDOM, SAMS, GIBBS
    cdef bint formula                   # q_ratio == 'formula'
    cdef bint drawn                     # the acceptance draw was made, u, before the ratio was known
    cdef double u
    cdef readonly bint bounded          # last_log_ratio is an upper bound: the move was refused before all was known
    cdef int32_t *order                 # [N] swaps of an order drawn
    cdef int8_t *present                # [N] the present side of items[t]: 0 with i, 1 with j, 2 with k

    cdef int split_pair(self, Py_ssize_t i, Py_ssize_t j, double others) except -1 nogil
    cdef int merge_pair(self, Py_ssize_t i, Py_ssize_t j, double others) except -1 nogil
    cdef bint refused(self, double most) noexcept nogil
    cdef bint settled(self, double log_r) noexcept nogil
    cdef Py_ssize_t gather(self, Py_ssize_t ci, Py_ssize_t cj, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef void draw_order(self, Py_ssize_t n) noexcept nogil
    cdef void put_in_order(self, Py_ssize_t n) noexcept nogil
    cdef void shuffle(self, Py_ssize_t n) noexcept nogil
    cdef void launch_sides(self, Py_ssize_t n, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef void take_present(self, Py_ssize_t n) noexcept nogil
    cdef double sides(self, Py_ssize_t n, Py_ssize_t i, Py_ssize_t j, bint forced) noexcept nogil
