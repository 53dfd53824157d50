# Smart choices of what to split and what to merge. See smart.pyx.
cimport cython
from libc.stdint cimport int8_t, int32_t

from splitmerge_cli.core.capabilities cimport Coupled
from splitmerge_cli.core.near_pairs cimport NearPairs
from splitmerge_cli.samplers.split_merge cimport Allocation, Coins, Sequential, Sides, SplitMerge


cdef class SmartAllocation(Allocation):
    cdef bint smart                     # one item after the other; else by coins
    cdef Sequential sequential
    cdef Coins coins


cdef class SmartMoves(SplitMerge):
    cdef SmartAllocation sides_by
    cdef bint smart_split, smart_merge  # of the kernel under way: whether its split, and its merge, is smart
    cdef Coupled coupled                # the model, where its clusters depend on each other; else None
    cdef double log_f                   # log f_split of the cluster that was chosen
    cdef double *lw                     # [lw_room] log weights over clusters, and behind them weights
    cdef Py_ssize_t lw_room
    # -- clusters=near
    cdef NearPairs near                 # pairs through which clusters are chosen; None: among all
    cdef int8_t *in_b                   # [N] side of an item of the move
    cdef Py_ssize_t opened              # the cluster whose items are on the sides of a split; -1: none
    cdef int32_t *candidate             # [lw_room] clusters near a side
    cdef int32_t *names                 # [lw_room] and their names
    cdef int8_t *taken                  # [lw_room] by column: whether it is among them

    cdef void use(self, bint smart_split, bint smart_merge) noexcept nogil
    cdef int propose_split(self, int move) except -1 nogil
    cdef int propose_merge(self, int move) except -1 nogil
    cdef double log_pair_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef int need(self, Py_ssize_t clusters) except -1 nogil
    cdef double log_near(self, bint merging) except? -1 nogil
    cdef double chance(self, Py_ssize_t side, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double pair_chance(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef Py_ssize_t draw_candidate(self, Py_ssize_t a) noexcept nogil
    cdef Py_ssize_t weigh_candidates(self, const int32_t *items, Py_ssize_t n, Py_ssize_t side,
                                     Py_ssize_t a) noexcept nogil
    cdef Py_ssize_t column_of(self, Py_ssize_t i) noexcept nogil

    @cython.final
    cdef inline Py_ssize_t column_of(self, Py_ssize_t i) noexcept nogil:
        """The column of item i: of a split under way its side's, else its cluster."""
        return self.model.K + self.in_b[i] if self.model.z[i] == self.opened else self.model.z[i]

    cdef Py_ssize_t choose_split(self) except -1 nogil
    cdef double log_f_split_of_union(self, Py_ssize_t i, Py_ssize_t j) except? -1 nogil
    cdef Py_ssize_t choose_partner(self, Py_ssize_t i) except -1 nogil
    cdef double log_f_merge_both(self, Py_ssize_t a, Py_ssize_t b, double log_union_ab,
                                 Py_ssize_t skip) except? -1 nogil
