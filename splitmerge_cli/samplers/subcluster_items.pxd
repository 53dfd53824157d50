# What `subcluster` does with the items, pass by pass. See subcluster_items.pyx.
from libc.stdint cimport int8_t, int32_t, uint64_t

from splitmerge_cli.core.capabilities cimport TILE_ITEMS, DrawnParameters
from splitmerge_cli.core.memory cimport Memory
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.threads cimport Stream, Threads
from splitmerge_cli.samplers.coupled_clusters cimport CoupledClusters

cdef extern from "fixed_point.h":
    ctypedef struct whole:
        pass

cdef class Items
cdef class Worker

ctypedef void (*pass_t)(Items items, Worker w, Py_ssize_t task) noexcept nogil
# those that others run, too: weight and parameters of cluster `task`; the same to expect of side task % 2 of block
# task // 2
cdef void draw_cluster(Items self, Worker w, Py_ssize_t task) noexcept nogil
cdef void expect(Items self, Worker w, Py_ssize_t task) noexcept nogil

cdef enum:                              # purposes of the streams of a key
    OF_CLUSTER = 1
    OF_ITEM = 2
    OF_SIDE = 3
    OF_PAIR = 4
    OF_COIN = 5                         # 6: in coupled_clusters.pyx

cdef enum:
    BATCH = 64                          # pairs that are drawn at the same time


cdef class Worker:
    cdef Memory memory                  # of its arrays
    cdef Items items
    cdef Stream stream
    cdef double *tile
    cdef double *best                   # [TILE_ITEMS] largest log weight of each item
    cdef double *least                  # [TILE_ITEMS] what is not computed is below it
    cdef double *allowed                # [TILE_ITEMS] 1 where the cluster at hand may be taken
    cdef double *first                  # [TILE_ITEMS] log weights for the cluster of the first item; u
    cdef int32_t[TILE_ITEMS] own        # clusters of the items of a tile
    cdef uint64_t nearest               # the least of `reach`
    cdef uint64_t[TILE_ITEMS] reach     # clusters founded before this may be taken by an item; 0 of a founder
    cdef double *work
    cdef double *theta                  # [parameters.size]
    cdef Py_ssize_t number
    cdef double *weights                # [room, TILE_ITEMS] of the clusters in the running
    cdef int32_t *clusters              # [room] which these are
    cdef int32_t *names                 # [room] their names, where chains are coupled
    cdef double *chances                # [room] what they weigh for one item
    cdef int32_t *others                # [near] items among which a neighbour is found
    cdef Py_ssize_t room

    cdef int need(self, Py_ssize_t clusters) except -1


cdef class Items:
    cdef Memory memory                  # of its arrays
    cdef readonly Model model           # of the clusters; of these items
    cdef DrawnParameters parameters     # that it draws
    cdef readonly Rng rng
    cdef public int threads
    cdef Py_ssize_t N                   # items in all
    cdef Py_ssize_t offset              # items before these, in shards before this one
    cdef uint64_t[2] key                # of the streams of this step
    cdef Threads pool
    cdef pass_t task_of                 # what the tasks under way do
    cdef Py_ssize_t first_task          # of LABELS, number of the first of these
    # -- items
    cdef int32_t *order                 # [N] by cluster, in item order; in a round by block
    cdef int32_t *other                 # [N] the same by the new clusters
    cdef int32_t *label                 # [N] new labels
    cdef uint64_t *place                # [N] of an item in the order, as a number that compares
    cdef int8_t *side                   # [N] of order[t] in a round
    cdef int8_t *before                 # [N] the side before
    # -- clusters, or sides of blocks
    cdef Py_ssize_t room
    cdef Py_ssize_t *start              # [room + 2] first of a cluster's, or a block's, in `order`
    cdef Py_ssize_t *next               # [room + 2] the same in `other`; in a round the first run of a block
    cdef uint64_t *founder              # [room] place of the founder
    cdef double *theta                  # [2 room, parameters.size]
    cdef double *log_weight             # [2 room]
    cdef CoupledClusters coupled        # what of these chains that are coupled share
    # -- rounds
    cdef int32_t *block                 # [room] of a cluster, -1 none
    cdef int32_t *first                 # [2 room] the cluster, or the two clusters, of a block; -1
    cdef int32_t *turn                  # [room] blocks in the order of their first items
    cdef int8_t *changed                # [2 room] whether a side of a block changed in the last scan
    cdef whole *log_q                   # [room, 2] of the sides, and of the sides exchanged (``log_sums.h``)
    cdef Py_ssize_t before_changes      # clusters at the beginning of a round or batch
    cdef int32_t *now                   # [2 room] what number these have become, and the second side of each block
    # -- a round
    cdef Py_ssize_t blocks
    cdef Py_ssize_t column              # of side 0 of block 0
    cdef Py_ssize_t number              # of the round
    cdef bint counted                   # the columns of the sides have been counted
    cdef Py_ssize_t runs
    cdef Py_ssize_t runs_room
    cdef Py_ssize_t *run_of             # [runs, 2] block of a run, its first item in `order`
    cdef whole *run_log_q               # [runs, 2]
    # -- pairs of neighbours
    cdef Py_ssize_t near
    cdef Py_ssize_t drawn               # pairs before these
    cdef int32_t[2 * BATCH] pair        # items
    cdef Py_ssize_t on_b                # items of the second side of a part, in `other`

    cdef int need(self, Py_ssize_t clusters) except -1 nogil
    cdef int _need(self, Py_ssize_t clusters) except -1
    cdef int need_runs(self, Py_ssize_t runs) except -1 nogil
    cdef void run(self, pass_t task_of, Py_ssize_t tasks) noexcept nogil
    cdef void sort(self, const int32_t *key, int32_t *order, Py_ssize_t *start, Py_ssize_t keys) noexcept nogil
    cdef void words_of(self, Py_ssize_t item, uint64_t number, uint64_t purpose, uint64_t *words) noexcept nogil
    # -- what goes through all items; virtual, for items in shards
    cdef int begin(self) except -1 nogil
    cdef Py_ssize_t draw_labels(self) except -1 nogil
    cdef int gather(self) except -1 nogil
    cdef int found_sides(self, const Py_ssize_t *founders) except -1 nogil
    cdef int send_to_sides(self) except -1 nogil
    cdef int draw_sides(self, Py_ssize_t number) except -1 nogil
    cdef int draw_pairs(self, Py_ssize_t batch) except -1 nogil
    cdef Py_ssize_t cluster_of(self, Py_ssize_t t) noexcept nogil
    cdef int part(self, Py_ssize_t c, Py_ssize_t t) except -1 nogil
    # -- changes of the state
    cdef void begin_changes(self) noexcept nogil
    cdef int take_split(self, Py_ssize_t b) except -1 nogil
    cdef int take_part(self, Py_ssize_t c) except -1 nogil
    cdef int take_merge(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil
    cdef int end_changes(self) except -1 nogil
    cdef int put_sides(self, Py_ssize_t b) except -1 nogil
    cdef double log_q_of(self, Py_ssize_t b) noexcept nogil
    # -- labels of chains that are coupled, in parts
    cdef Py_ssize_t label_tasks(self) noexcept nogil
    cdef Py_ssize_t label_parts(self) noexcept nogil
    cdef int begin_labels(self) except -1 nogil
    cdef int draw_part(self, Py_ssize_t part) except -1 nogil
    cdef Py_ssize_t end_labels(self) except -1 nogil
    # -- pieces of these
    cdef int find_founders(self, Py_ssize_t K) except -1 nogil
    cdef Py_ssize_t relabel(self, Py_ssize_t K) except -1 nogil
    cdef void set_label(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    # -- tasks
    cdef void draw_from(self, Worker w, Rng rng, Py_ssize_t k) noexcept nogil
    cdef void draw_tile(self, Worker w, const int32_t *items, Py_ssize_t n) noexcept nogil
    cdef void allow(self, Worker w, Py_ssize_t k) noexcept nogil
    cdef bint holds_any(self, Worker w, Py_ssize_t k) noexcept nogil
    cdef int make_runs(self) except -1 nogil
    cdef void score_sides(self, Worker w, Py_ssize_t b, const int32_t *items, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t draw_others(self, Rng rng, int32_t *pair, int32_t *others) noexcept nogil
    cdef void choose_pair(self, Worker w, Rng rng, int32_t *pair) noexcept nogil
    cdef Py_ssize_t likeliest(self, Worker w, const double *theta, const int32_t *items, Py_ssize_t n,
                              double *top) noexcept nogil
    cdef bint coin_of(self, Py_ssize_t item) noexcept nogil
