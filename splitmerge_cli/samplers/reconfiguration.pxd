# The walk of a reconfiguration move, which srm and arm share.
from libc.stdint cimport int8_t, int32_t

from splitmerge_cli.core.sampler cimport Sampler


cdef enum:
    SPLIT, MERGE                        # MOVES

cdef enum:
    TARGET, FORWARD, REVERSE            # TERMS


cdef class Reconfiguration(Sampler):
    cdef readonly bint relabel
    cdef public bint record             # keep the plates of every move
    cdef readonly list plates
    cdef Py_ssize_t i, j                # the pair
    # one relabelling for a move and its reverse
    cdef int32_t *order                 # [N] item of each rank
    cdef int32_t *rank                  # [N]
    # the walk under way
    cdef int32_t *origin                # [N] cluster of each item at its start
    cdef int32_t *left                  # [N] items of each of these clusters that did not go to the pair
    cdef int8_t *inside                 # [N] whether an item began in a cluster of the pair
    cdef int8_t *settled                # [N] whether an item moves no more: the pair, earmarks
    cdef int8_t *launched               # [N] 1, 2: inside item that begins with i, with j; 0: taken out
    cdef const int32_t *target          # labels to be reached, NULL: draw
    cdef int32_t *guide                 # [N] by label of the target: an item that stands where it is to be, -1 none
    cdef double log_T, product          # log probability so far, but for a factor kept apart
    cdef double rest                    # the log ratio without what the reverse walk counts
    # both ends
    cdef int32_t *start                 # [N] labels before the move
    cdef int32_t *reached               # [N] labels of the proposal
    cdef double *lw                     # [room] log weights, and behind them weights
    cdef Py_ssize_t room

    cdef int reconfigure(self) except -1 nogil
    cdef void draw_relabelling(self) noexcept nogil
    cdef void choose_launch(self, bint split) noexcept nogil
    cdef int move_blocks(self) except -1 nogil
    cdef int walk(self, const int32_t *target) except -1 nogil
    cdef int launch(self, bint split) except -1 nogil
    cdef int move_inside(self, Py_ssize_t h) except -1 nogil
    cdef int move_outside(self, Py_ssize_t h, bint split) except -1 nogil
    cdef bint has_arrived(self) noexcept nogil
    cdef bint still_alive(self) noexcept nogil
    cdef void count_log(self, double log_p) noexcept nogil
    cdef Py_ssize_t choose(self, const double *w, Py_ssize_t m, Py_ssize_t forced) noexcept nogil
    cdef Py_ssize_t choose_by_logs(self, Py_ssize_t m, Py_ssize_t forced) noexcept nogil
    cdef Py_ssize_t guided_cluster(self, Py_ssize_t h) noexcept nogil
    cdef int need(self, Py_ssize_t clusters) except -1 nogil
    cdef int keep_plate(self, str name) except -1
