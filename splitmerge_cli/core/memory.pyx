"""Zeroed, aligned memory of the compiled classes."""
from libc.stdio cimport fprintf, stderr
from libc.stdlib cimport abort, free, realloc
from libc.string cimport memcpy, memset

import numpy as np

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

cdef extern from *:
    """
    #include <stdlib.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif
    /* Blocks of some megabytes on large pages, where the system has them: of tables that are read here and there every
       read would look for its page, too. */
    static int smcmc_memalign(void **out, size_t size)
    {
        const int large = size >= ((size_t)4 << 20);
        const int failed = posix_memalign(out, large ? (size_t)2 << 20 : 64, size);
    #if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (large && !failed)
            (void)madvise(*out, size, MADV_HUGEPAGE);
    #endif
        return failed;
    }
    """
    int smcmc_memalign(void **out, size_t size) nogil


cdef void *allocate_aligned(Py_ssize_t n, size_t size) except NULL:
    """Allocate zeroed memory for n things of this size, on a cache-line boundary. Raises MemoryError."""
    cdef void *p = NULL
    cdef size_t nbytes
    if n < 0 or <size_t> n > (PY_SSIZE_T_MAX >> 1) // size:
        raise MemoryError(f"{n} numbers are more than any memory holds")
    nbytes = n * size if n else 64
    if smcmc_memalign(&p, nbytes) != 0 or p == NULL:
        raise MemoryError(f"{nbytes} bytes could not be allocated")
    memset(p, 0, nbytes)
    return p


cdef double *doubles(Py_ssize_t n) except NULL:
    return <double *> allocate_aligned(n, sizeof(double))


cdef int32_t *ints(Py_ssize_t n) except NULL:
    return <int32_t *> allocate_aligned(n, sizeof(int32_t))


cdef int8_t *flags(Py_ssize_t n) except NULL:
    return <int8_t *> allocate_aligned(n, 1)


cdef void *allocate_or_abort(size_t nbytes) noexcept nogil:
    """Allocate aligned memory that holds anything, for moves that cannot raise: without memory the process ends with a
    message. Saved results stay."""
    cdef void *p = NULL
    if smcmc_memalign(&p, nbytes if nbytes else 64) != 0 or p == NULL:
        fprintf(stderr, "smcmc: out of memory: %zu bytes could not be allocated\n", nbytes)
        abort()
    return p


cdef void *larger(void *old, size_t old_bytes, size_t new_bytes) except NULL:
    """A zeroed aligned block that begins with the old one's content; the old one is freed."""
    cdef void *p = allocate_aligned(new_bytes, 1)
    copy_rows(p, new_bytes, old, old_bytes, 1)
    free(old)
    return p


cdef void copy_rows(void *to, size_t to_bytes, const void *rows, size_t row_bytes, Py_ssize_t n) noexcept nogil:
    """Copy n rows of `row_bytes` to the beginnings of n rows of `to_bytes`; nothing while `rows` is NULL."""
    cdef Py_ssize_t r
    if rows != NULL:
        for r in range(n):
            memcpy(<char *> to + r * to_bytes, <const char *> rows + r * row_bytes, row_bytes)


cdef class Memory:
    """The arrays of an object, which are freed with it."""

    def __dealloc__(self):
        cdef Py_ssize_t t
        for t in range(self.n):
            free(self.held[t])
        free(self.held)

    cdef double *doubles(self, Py_ssize_t n) except NULL:
        return <double *> self.hold(allocate_aligned(n, sizeof(double)), NULL)

    cdef int32_t *ints(self, Py_ssize_t n) except NULL:
        return <int32_t *> self.hold(allocate_aligned(n, sizeof(int32_t)), NULL)

    cdef int8_t *flags(self, Py_ssize_t n) except NULL:
        return <int8_t *> self.hold(allocate_aligned(n, 1), NULL)

    cdef void *larger(self, void *old, size_t old_bytes, size_t new_bytes) except NULL:
        """A block that begins with the content of an old one, which is freed; NULL: there was none."""
        return self.larger_rows(old, old_bytes, new_bytes, 1, 1)

    cdef void *larger_rows(self, void *old, size_t old_bytes, size_t new_bytes, Py_ssize_t old_rows,
                           Py_ssize_t rows) except NULL:
        """`larger` for rows of these lengths, one behind the other."""
        cdef void *p = allocate_aligned(rows * new_bytes, 1)
        copy_rows(p, new_bytes, old, old_bytes, old_rows)
        return self.hold(p, old)

    cdef void *hold(self, void *p, void *old) except NULL:
        """Hold a block in the place of an old one, which is freed, or in addition to all others."""
        cdef Py_ssize_t t = 0
        cdef void *held
        while t < self.n and (old == NULL or self.held[t] != old):
            t += 1
        if t == self.n:
            held = realloc(self.held, (self.n + 1) * sizeof(void *))
            if held == NULL:
                free(p)
                raise MemoryError("the list of an object's arrays could not grow")
            self.held = <void **> held
            self.n += 1
        else:
            free(old)
        self.held[t] = p
        return p


ctypedef fused number:
    double
    int32_t
    int64_t
    uint8_t


cdef const number *first_of(const number[::1] row) except NULL:
    if row.shape[0] == 0:
        raise ValueError("an array of no numbers; expected one at least")
    return &row[0]


cdef flat(array):
    """All numbers of a row-by-row array in a row, not copied."""
    if not array.flags.c_contiguous:
        raise ValueError("an array whose numbers do not stand row by row")
    return array.reshape(-1)


cdef copy_ints(const int32_t *numbers, Py_ssize_t n):
    """These n numbers as an ndarray of int32."""
    out = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] v = out
    if n:
        memcpy(&v[0], numbers, n * sizeof(int32_t))
    return out


cdef const double *doubles_of(array) except NULL:
    return first_of[double](flat(array))


cdef const int32_t *ints_of(array) except NULL:
    return first_of[int32_t](flat(array))


cdef const int64_t *longs_of(array) except NULL:
    return first_of[int64_t](flat(array))


cdef const uint8_t *bytes_of(array) except NULL:
    return first_of[uint8_t](flat(array))
