# Split-merge of topics as printed. See smag_as_printed.pyx.
from libc.stdint cimport int32_t

from splitmerge_cli.samplers.split_merge cimport SplitMerge


cdef class TopicsAsPrinted(SplitMerge):
    cdef bint box                       # form == 'box'
    cdef int32_t *kept                  # [N] topics of the tokens, to go back to
    cdef double *kept_weights           # [kept_room] and their log weights
    cdef Py_ssize_t kept_room, kept_K

    cdef int split_as_printed(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j) except -1 nogil
    cdef int merge_as_printed(self, Py_ssize_t c, Py_ssize_t d) except -1 nogil
    cdef void two_of(self, Py_ssize_t c, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil
    cdef double make_split(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j) except? -1 nogil
    cdef double allocate(self, bint forced) noexcept nogil
    cdef double log_of_state(self) noexcept nogil
    cdef int keep(self) except -1 nogil
    cdef void keep_weights(self, Py_ssize_t at) noexcept nogil
    cdef void take_weights(self, Py_ssize_t at) noexcept nogil
    cdef int go_back(self) except -1 nogil
    cdef Py_ssize_t one_kept(self, Py_ssize_t c) noexcept nogil
