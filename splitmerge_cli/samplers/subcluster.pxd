# Split-merge by sub-clusters: what is decided about clusters. See subcluster.pyx.
from libc.stdint cimport int8_t, int32_t, uint64_t

from splitmerge_cli.core.sampler cimport Sampler
from splitmerge_cli.samplers.subcluster_items cimport Items


cdef class Subcluster(Sampler):
    cdef readonly bint scan
    cdef readonly int t, rounds, pairs, near
    cdef readonly double splits
    cdef Items items
    cdef Py_ssize_t room
    cdef int32_t *candidate             # [room] clusters that are to be merged
    cdef int8_t *called                 # [room] whether a pair of neighbours has called upon a cluster
    cdef double *threshold              # [room] log u of the decision on a block
    cdef Py_ssize_t *founders           # [room, 2] items that found the sides of a block, by their rank in it

    cdef int need(self, Py_ssize_t clusters) except -1 nogil
    cdef int _need(self, Py_ssize_t room) except -1
    cdef int begin_step(self) except -1 nogil
    cdef uint64_t draw_word(self) noexcept nogil
    cdef int round(self, Py_ssize_t number) except -1 nogil
    cdef void open_pair(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t m) noexcept nogil
    cdef double log_blocks(self, Py_ssize_t m) noexcept nogil
    cdef int launch(self, Py_ssize_t number) except -1 nogil
    cdef int merge_neighbours(self) except -1 nogil
    cdef Py_ssize_t call_upon(self, Py_ssize_t t) except -1 nogil
    cdef int part(self, Py_ssize_t c, Py_ssize_t t) except -1 nogil
    cdef bint decide_merge(self, Py_ssize_t b, Py_ssize_t candidates) except -1 nogil
    cdef bint decide_split(self, Py_ssize_t b, Py_ssize_t candidates) except -1 nogil
    cdef void begin(self, int move) noexcept nogil
    cdef bint decide_block(self, Py_ssize_t b, double log_r) noexcept nogil
