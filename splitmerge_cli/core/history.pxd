# The partitions that the chains of a run went through, for samplers that learn from them.
from libc.stdint cimport int32_t, int64_t

from splitmerge_cli.core.memory cimport Memory
from splitmerge_cli.core.rng cimport Rng


cdef enum:
    CHUNK = 4096
    CHUNKS = 1 << 16


cdef class History:
    cdef readonly Py_ssize_t S, N
    cdef int64_t *made                  # [S] states recorded of each chain, the start among them
    cdef int64_t *kept                  # [S] the first that is still kept
    cdef void ****state                 # [S, CHUNKS, CHUNK] each a width in bytes and N labels
    cdef readonly int64_t freeze        # nothing is recorded after this iteration; -1: all is
    cdef readonly bint present_only     # no more than the last state is kept
    cdef readonly bint weighs           # each has its log likelihood

    cdef int record(self, Py_ssize_t chain, const int32_t *labels, double log_lik) except -1 nogil
    cdef const char *find(self, Py_ssize_t chain, int64_t t) except NULL nogil
    cdef double log_lik(self, Py_ssize_t chain, int64_t t) except? -1.0 nogil
    cdef int64_t end(self, Py_ssize_t chain) noexcept nogil
    cdef int64_t oldest(self, int64_t end) noexcept nogil
    cdef int read(self, Py_ssize_t chain, int64_t t, int32_t *out) except -1 nogil
    cdef void drop(self, Py_ssize_t chain, int64_t t) noexcept nogil
    cdef void **place(self, Py_ssize_t chain, int64_t t) except NULL nogil


cdef class AdaptiveProposal:
    cdef Memory memory                  # of its arrays
    cdef readonly History history             # None: nothing to learn from
    cdef readonly Py_ssize_t chain, N
    cdef readonly str adaptation
    cdef int64_t freeze
    cdef bint population, by_likelihood
    cdef bint fixed                     # za and zb are given
    cdef Py_ssize_t fixed_i, fixed_j    # and so is the pair, unless -1
    cdef int32_t *za                    # [N] labels by first appearance
    cdef int32_t *zb
    cdef int32_t *first                 # [N] first item of a block of za
    cdef int32_t *then                  # [N] next item of the same block of za
    cdef int32_t *seen                  # [N] items of that block in each block of zb
    cdef int32_t *size_a                # [N]
    cdef int32_t *size_b
    cdef int32_t *disagree              # [N] items about which za and zb disagree with this one
    cdef double *lw                     # [2 room] log weights of past states, and behind them weights
    cdef Py_ssize_t room

    cdef int draw(self, Rng rng, Py_ssize_t *i, Py_ssize_t *j) except -1 nogil
    cdef int draw_partitions(self, Rng rng) except -1 nogil
    cdef int draw_two_chains(self, Rng rng, Py_ssize_t *a, Py_ssize_t *b) except -1 nogil
    cdef int read_state(self, Rng rng, Py_ssize_t first, Py_ssize_t chains, int64_t begin, int64_t window,
                        int32_t *out) except -1 nogil
    cdef int make_room(self, Py_ssize_t m) except -1 nogil
    cdef Py_ssize_t draw_weighed(self, Rng rng, Py_ssize_t m) noexcept nogil
    cdef bint draw_pair(self, Rng rng, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil
