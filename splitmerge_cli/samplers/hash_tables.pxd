# Hash tables of the items' vectors. See hash_tables.pyx.
from libc.stdint cimport int32_t

from splitmerge_cli.core.rng cimport Rng


cdef class HashTables:
    cdef readonly Py_ssize_t N, D
    cdef readonly int bits, tables
    cdef readonly object vectors        # what was hashed
    cdef public object source           # what it was made of, where that is another object
    cdef readonly object seed
    cdef readonly object directions     # float32 [D, tables * bits]
    cdef readonly object mean           # float64 [D], or None
    cdef readonly object bucket         # int32 [N, tables]
    cdef readonly object opposite       # int32 [buckets]
    cdef readonly object starts         # int32 [buckets + 1]
    cdef readonly object members        # int32 [items in buckets]
    cdef object known                   # the statistics
    # the same, to be read without Python
    cdef const int32_t *_bucket
    cdef const int32_t *_opposite
    cdef const int32_t *_starts
    cdef const int32_t *_members
    cdef object __weakref__

    cdef Py_ssize_t query(self, Py_ssize_t u, Py_ssize_t table, bint opposite, Py_ssize_t *size) noexcept nogil
    cdef Py_ssize_t answers(self, Py_ssize_t u, bint opposite) noexcept nogil
    cdef Py_ssize_t draw(self, Rng rng, Py_ssize_t u, bint opposite) noexcept nogil


cdef bint project(const double *x, const double *mean, const float *directions, Py_ssize_t D, Py_ssize_t J,
                  double *sums) noexcept nogil
cdef void write_codes(const double *sums, bint directed, int bits, Py_ssize_t tables, int32_t *codes) noexcept nogil
