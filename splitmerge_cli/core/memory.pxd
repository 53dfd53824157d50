# Zeroed, aligned memory of the compiled classes.
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

cdef void *allocate_aligned(Py_ssize_t n, size_t size) except NULL
cdef double *doubles(Py_ssize_t n) except NULL
cdef int32_t *ints(Py_ssize_t n) except NULL
cdef int8_t *flags(Py_ssize_t n) except NULL
cdef void copy_rows(void *to, size_t to_bytes, const void *rows, size_t row_bytes, Py_ssize_t n) noexcept nogil
cdef void *larger(void *old, size_t old_bytes, size_t new_bytes) except NULL
cdef void *allocate_or_abort(size_t nbytes) noexcept nogil


cdef class Memory:
    cdef void **held
    cdef Py_ssize_t n

    cdef double *doubles(self, Py_ssize_t n) except NULL
    cdef int32_t *ints(self, Py_ssize_t n) except NULL
    cdef int8_t *flags(self, Py_ssize_t n) except NULL
    cdef void *larger(self, void *old, size_t old_bytes, size_t new_bytes) except NULL
    cdef void *larger_rows(self, void *old, size_t old_bytes, size_t new_bytes, Py_ssize_t old_rows,
                           Py_ssize_t rows) except NULL
    cdef void *hold(self, void *p, void *old) except NULL


# the numbers of an array, which must be held as long as they are read
cdef const double *doubles_of(array) except NULL
cdef const int32_t *ints_of(array) except NULL
cdef const int64_t *longs_of(array) except NULL
cdef const uint8_t *bytes_of(array) except NULL
cdef copy_ints(const int32_t *numbers, Py_ssize_t n)
