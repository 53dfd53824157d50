# Tasks on several threads, and random numbers by counter. See threads.pyx.
from libc.stdint cimport uint64_t

from splitmerge_cli.core.rng cimport Rng, bitgen_t

cdef extern from "tasks.h":
    ctypedef void (*task_t)(void *worker, Py_ssize_t task) noexcept nogil

cdef extern from "philox.h":
    ctypedef struct philox_t:
        uint64_t key[2]
        uint64_t counter[4]
        int left

    void philox(const uint64_t *key, const uint64_t *counter, uint64_t *out) noexcept nogil
    double philox_double(uint64_t word) noexcept nogil


cdef class Stream:
    cdef readonly Rng rng               # draws from this stream
    cdef bitgen_t bits
    cdef philox_t state

    cdef void begin(self, const uint64_t *key, uint64_t number, uint64_t purpose) noexcept nogil


cdef class Threads:
    cdef list workers
    cdef void **contexts                # [MOST_THREADS] the same
    cdef readonly Py_ssize_t n          # workers that there are

    cdef bint lack(self, Py_ssize_t threads) noexcept nogil
    cdef int add(self, worker) except -1
    cdef void run(self, task_t task, Py_ssize_t threads, Py_ssize_t tasks) noexcept nogil
