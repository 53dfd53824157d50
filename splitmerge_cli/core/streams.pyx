"""Random numbers by counter, so that what is drawn for an item or a cluster does not depend on which thread draws it.

Philox4x64-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"). A step that works in
several threads draws one key from its chain's generator; every item, cluster and purpose has counters of its own.
"""
from libc.stdint cimport uint32_t, uint64_t

cdef extern from "philox.h":
    uint64_t philox_next(void *state) noexcept nogil
    uint32_t philox_next32(void *state) noexcept nogil
    double philox_next_double(void *state) noexcept nogil


cdef class Stream:
    """A generator with many streams for each key, set to the beginning of one."""

    def __cinit__(self):
        self.bits.state = &self.state
        self.bits.next_uint64 = philox_next
        self.bits.next_uint32 = philox_next32
        self.bits.next_double = philox_next_double
        self.bits.next_raw = philox_next
        self.rng = Rng(0)
        # this stream in the place of its own, which is never read
        self.rng.bg = &self.bits

    cdef void begin(self, const uint64_t *key, uint64_t number, uint64_t purpose) noexcept nogil:
        """Go to the beginning of stream `number` for this purpose."""
        self.state.key[0], self.state.key[1] = key[0], key[1]
        self.state.counter[0] = 0
        self.state.counter[1] = number
        self.state.counter[2] = purpose
        self.state.counter[3] = 0
        self.state.left = 0
