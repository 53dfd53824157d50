from splitmerge_cli._kernels cimport SplitMerge


cdef enum:
    TARGET, LABELS, FORWARD, REVERSE    # indices into TERMS


cdef class SmartMoves(SplitMerge):
    cdef Py_ssize_t choose_split(self, double *log_f) except -1 nogil
    cdef Py_ssize_t draw_smart_split(self, Py_ssize_t *n, double *log_q) except -2 nogil
    cdef double log_f_split_of_union(self, Py_ssize_t i, Py_ssize_t j) except? -1 nogil
    cdef double log_p_seq_of_pair(self, Py_ssize_t i, Py_ssize_t j) except? -1 nogil
    cdef Py_ssize_t choose_partner(self, Py_ssize_t i) except -1 nogil
    cdef double log_f_merge_both(self, Py_ssize_t a, Py_ssize_t b, double log_union_ab,
                                 Py_ssize_t skip) except? -1 nogil
    cdef bint side_empty(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
