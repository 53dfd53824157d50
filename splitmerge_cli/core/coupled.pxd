# Two chains that are coupled. See coupled.pyx.
from libc.stdint cimport int32_t, int64_t

from splitmerge_cli.core.memory cimport Memory
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.recording cimport cell_t
from splitmerge_cli.core.rng cimport Rng


cdef class CoupledChains:
    cdef Memory memory                  # of its arrays
    cdef readonly Model x, y
    cdef readonly Rng rng
    cdef readonly list samplers_x, samplers_y
    cdef readonly list models_x, models_y  # of the chain, then of its replicas
    cdef readonly int64_t lag, iteration, meeting
    cdef void **steps_x
    cdef void **steps_y
    cdef double *weights                # [n_drawn]
    cdef Py_ssize_t n_steps
    cdef void **levels_x                # [n_levels] models
    cdef void **levels_y
    cdef Py_ssize_t n_levels
    cdef int32_t *level                 # [n_steps] which model a sampler works on
    cdef Py_ssize_t n_drawn             # of the first so many samplers one, drawn by weight, makes a step; 0: each does
    cdef bint begun                     # the start was recorded
    cdef Py_ssize_t columns             # of a row
    cdef int32_t *dense                 # [4 N + 64, kmax at least] items in common, where clusters are few
    cdef int64_t *keys                  # [N]
    cdef cell_t *cells                  # [N]
    cdef int32_t *match_of_x            # [room] cluster of Y, or -1
    cdef int32_t *match_of_y
    cdef Py_ssize_t match_room
    cdef double *together               # [N (N - 1) / 2] weighted sums of what is together; NULL: not asked for
    cdef int64_t k, m                   # of the estimates in `together`

    cdef Py_ssize_t count_common(self, Model x, Model y) noexcept nogil
    cdef int match(self, Model x, Model y) except -1 nogil
    cdef int _grow(self, Py_ssize_t clusters) except -1
    cdef bint equal(self) noexcept nogil
    cdef bint are_equal(self, Model x, Model y) noexcept nogil
    cdef double share_apart(self) noexcept nogil
    cdef int step_together(self, Py_ssize_t t) except -1 nogil
    cdef int step_alone(self, Py_ssize_t t) except -1 nogil
    cdef int iterate(self) except -1 nogil
    cdef void record(self, double *row) noexcept nogil
    cdef void weigh(self, int64_t k, int64_t m, double *of_x, double *of_y) noexcept nogil
    cdef void add_together(self) noexcept nogil
