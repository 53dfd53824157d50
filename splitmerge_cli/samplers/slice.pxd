# Slice sampling. See slice.pyx.
from libc.stdint cimport int32_t

from splitmerge_cli.core.capabilities cimport DrawnParameters
from splitmerge_cli.core.sampler cimport Sampler


cdef struct component_t:
    double log_weight
    double drop                         # by what share of its weight it is above the next one
    int32_t slot                        # below K a cluster, else one without items; its parameters stand there


cdef class Slice(Sampler):
    cdef DrawnParameters parameters
    cdef component_t *components        # [room] those that are known, the heaviest first
    cdef Py_ssize_t n, room
    cdef double shape, left             # of the gamma distributions: g, and r of what is left
    cdef double log_rest                # log of the weight of all components that are not known
    cdef double *log_weight             # [weight_room] by cluster
    cdef Py_ssize_t weight_room
    cdef double *theta                  # [room, size]
    cdef double *score                  # [room, TILE_ITEMS]
    cdef double *chance                 # [room]
    cdef int32_t *number                # [room]
    cdef double *least                  # [N] log of the least weight above each item's threshold
    cdef int32_t *label                 # [N] new components
    cdef int32_t *order                 # [N] items by cluster
    cdef component_t *running           # [room] components that are not far from a tile
    cdef double *tile
    cdef double *floor                  # [TILE_ITEMS] what is too far below the best
    cdef double *best                   # [TILE_ITEMS]
    cdef double *lowest                 # [TILE_ITEMS] `least` of the items of a tile
    cdef double *allowed                # [TILE_ITEMS]
    cdef double *work

    cdef int need(self, Py_ssize_t components) except -1 nogil
    cdef int draw_weights(self) except -1 nogil
    cdef int add_component(self, double log_weight) except -1 nogil
    cdef int sort_components(self) except -1 nogil
    cdef int break_stick(self) except -1 nogil
    cdef Py_ssize_t count_above(self, double log_weight, Py_ssize_t n) noexcept nogil
    cdef void compare_to_next(self, Py_ssize_t t) noexcept nogil
    cdef double draw_threshold(self, double log_weight) except? -1.0 nogil
    cdef void order_items(self) noexcept nogil
    cdef Py_ssize_t draw_labels(self) noexcept nogil
    cdef void draw_tile(self, const int32_t *items, Py_ssize_t n) noexcept nogil
    cdef void allow(self, double log_weight) noexcept nogil
    cdef int renumber(self) except -1 nogil
