# Numbers of clusters, a column each: sums over items, and room beside them. See sums.pyx.
cimport cython
from libc.stdint cimport int8_t

from splitmerge_cli.core.memory cimport Memory


cdef enum Form:
    INTS, LONGS, DOUBLES, WHOLES        # sums of whole numbers, of 4, 8, 8 and 16 bytes
    COPIED                              # doubles that are copied with a column
    ROOM, ROOM_INTS                     # room, of 8 and 4 bytes, which no change of a column reaches
    MARK                                # a flag, set with every change of the sums and copied with a column
    STALE                               # a flag, set with every change and every copy

cdef enum Layout:
    BY_ROW                                # [numbers, cap]
    BY_COLUMN                             # [cap, numbers]
    BY_LANE                               # [cap / 8, numbers, 8]

cdef enum:
    MOST_BLOCKS = 24
    MOST_MARKS = 2

cdef struct block_t:
    void **at                           # where its owner keeps the address
    Py_ssize_t numbers                  # of a column
    int form                            # a Form
    int layout                          # a Layout


cdef class Sums:
    cdef Memory memory                  # of its arrays
    cdef Py_ssize_t cap                 # columns allocated: live clusters and scratch; a multiple of 8
    cdef block_t[MOST_BLOCKS] block
    cdef Py_ssize_t n_blocks
    cdef int8_t **mark[MOST_MARKS]      # where the addresses of the marks are
    cdef Py_ssize_t n_marks

    cdef int keep(self, void *at, Form form, Py_ssize_t numbers=*, Layout layout=*) except -1
    cdef int widen(self, Py_ssize_t cap) except -1
    cdef int grow(self, Py_ssize_t cap) except -1
    cdef void clear(self, Py_ssize_t k) noexcept nogil
    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil
    cdef void add(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef void remove(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil
    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil
    cdef Py_ssize_t packed_bytes(self) noexcept nogil
    cdef void pack(self, Py_ssize_t k, char *to) noexcept nogil
    cdef void add_packed(self, Py_ssize_t k, const char *packed) noexcept nogil

    @cython.final
    cdef inline void mark_changed(self, Py_ssize_t k) noexcept nogil:
        """Set the marks of column k."""
        cdef Py_ssize_t t
        for t in range(self.n_marks):
            self.mark[t][0][k] = True
