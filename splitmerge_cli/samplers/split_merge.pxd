# Split-merge moves: anchors x allocation, and their frame. See split_merge.pyx.
from libc.stdint cimport int8_t, int32_t

from splitmerge_cli.core.capabilities cimport Uncollapsed, Weighted
from splitmerge_cli.core.memory cimport Memory
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sampler cimport Sampler


cdef enum:
    SPLIT, MERGE                        # MOVES of the frame
    TARGET = 0, ORDERS, ANCHORS, ALLOCATION, PRINTED    # the first TERMS of every split-merge sampler


cdef class Sides:
    cdef Memory memory                  # of its arrays
    cdef readonly Model model
    cdef readonly Rng rng
    # -- the move
    cdef Py_ssize_t ci, cj              # the clusters that the move changes; a split has ci = cj
    cdef Py_ssize_t i, j                # anchors: items on side A and on side B; -1 of a move without
    cdef Py_ssize_t n                   # items to allocate: the items of the clusters except the anchors
    cdef Py_ssize_t a                   # scratch column of side A; B is the next
    # -- the items
    cdef int32_t *items                 # [N] the items to allocate, in item order unless put in another
    cdef int8_t *in_a                   # [N] whether items[t] goes to side A
    cdef int8_t *present                # [N] 0: items[t] is in the cluster ci now; 1: not
    cdef int32_t *order                 # [N] swaps of an order drawn

    cdef int open(self, Py_ssize_t ci, Py_ssize_t cj, Py_ssize_t i, Py_ssize_t j) except -1 nogil
    cdef void gather(self) noexcept nogil
    cdef void draw_order(self) noexcept nogil
    cdef void put_in_order(self) noexcept nogil
    cdef void stage(self) noexcept nogil
    cdef void take_present(self) noexcept nogil
    cdef bint side_empty(self) noexcept nogil


cdef class Anchors:
    cdef bint draw(self, Rng rng, Model model, Py_ssize_t *i, Py_ssize_t *j) except -1 nogil


cdef class UniformPair(Anchors):
    pass


cdef class Allocation:
    cdef double draw(self, Sides s) noexcept nogil
    cdef void prepare(self, Sides s) noexcept nogil
    cdef double score(self, Sides s) noexcept nogil


cdef class Coins(Allocation):
    pass


cdef class Sequential(Allocation):
    cdef bint shuffled                  # in a uniform order, not in item order
    cdef bint sized                     # the prior's weights count


cdef class RestrictedGibbs(Allocation):
    cdef readonly int t                 # scans of the launch state
    cdef bint sequential                # the first of them adds the items to the anchors alone

    cdef void launch(self, Sides s) noexcept nogil


cdef class SplitMerge(Sampler):
    cdef Sides sides
    cdef Anchors anchors
    cdef Allocation allocation
    cdef Uncollapsed uncollapsed        # the model, where it keeps parameters; else None
    cdef Weighted weighted              # the model, where its clusters have weights; else None

    cdef int split(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j) except -1 nogil
    cdef int merge(self, Py_ssize_t ci, Py_ssize_t cj, Py_ssize_t i, Py_ssize_t j) except -1 nogil
    cdef int split_or_merge(self) except -1 nogil
    # -- what an algorithm defines in addition to its anchors and its allocation
    cdef double log_anchors(self, bint merging) except? -1 nogil
    cdef double log_own(self, bint merging) noexcept nogil
    cdef double log_printed(self, Py_ssize_t K, double log_q) noexcept nogil
    cdef void after_commit(self, bint merging) noexcept nogil
    # -- pieces
    cdef bint survives_without_q(self, double log_bound) noexcept nogil
    cdef bint divide_weight(self) noexcept nogil
    cdef double log_orders(self, Py_ssize_t clusters) noexcept nogil
    cdef double log_label_count(self, Py_ssize_t K) noexcept nogil
    cdef int accept_split(self) except -1 nogil
