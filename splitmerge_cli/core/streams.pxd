# Random numbers by counter: a stream for every item, cluster and pass. See streams.pyx.
from libc.stdint cimport uint64_t
from splitmerge_cli.core.rng cimport Rng, bitgen_t

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
