# The draws of a chain, recorded for another one that is coupled with it. See recording.pyx.
cimport cython
from libc.stdint cimport int32_t


cdef enum:                              # kinds of recorded draws
    PLAIN                               # among options that have a number
    NAMED                               # among options that have names: clusters of both chains
    DECISION                            # of Metropolis and Hastings
    OF_ITEM                             # for an item of the block that is open
    BLOCK                               # none itself: draws for these items follow, one each
    ORDER                               # an order of items
    BETA, GAMMA, NORMAL                 # from a continuous law


ctypedef struct draw_t:
    int32_t kind
    int32_t key                         # NAMED, OF_ITEM: the item; BLOCK: its kind
    int32_t m                           # options; BLOCK and ORDER: items
    int32_t taken                       # the option taken
    double total                        # sum of the weights; of a continuous law the value drawn
    Py_ssize_t weights                  # where they begin; -1: all alike. Parameters of a continuous law
    Py_ssize_t names                    # where names, or items, begin; -1: none


@cython.final
cdef class Recording:
    cdef readonly Py_ssize_t N
    cdef draw_t *draws
    cdef double *weights
    cdef int32_t *names
    cdef Py_ssize_t n, room, weights_used, weights_room, names_used, names_room
    # -- of the chain that follows
    cdef Py_ssize_t at                  # the next draw that may be used
    cdef Py_ssize_t block_end           # past the last draw of the open block; 0: none is open
    cdef int32_t *where                 # [N] place of an item in a block or an order; -1: not in it
    cdef double *by_name                # [2 N] scratch, 0 between uses
    cdef int32_t *list                  # [N] scratch

    cdef void clear(self) noexcept nogil
    cdef draw_t *add(self, int kind, Py_ssize_t key, const double *w, Py_ssize_t m, double total,
                     const int32_t *names, Py_ssize_t taken) noexcept nogil
    cdef draw_t *find(self, int kind, Py_ssize_t key, Py_ssize_t m) noexcept nogil
    cdef void open_block(self, int kind, const int32_t *items, Py_ssize_t n, Py_ssize_t skip) noexcept nogil
    cdef void follow_block(self, int kind) noexcept nogil
    cdef void close_block(self) noexcept nogil
    cdef Py_ssize_t common_order(self, const draw_t *r, const int32_t *items, Py_ssize_t n) noexcept nogil
    cdef void swaps_of(self, const int32_t *items, Py_ssize_t n, int32_t *order) noexcept nogil

    @cython.final
    cdef inline double probability(self, const draw_t *r, Py_ssize_t k) noexcept nogil:
        return (self.weights[r.weights + k] if r.weights >= 0 else 1.0) / r.total
