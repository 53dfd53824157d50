# The draws of a chain, recorded for another one that is coupled with it. See recording.pyx.
cimport cython
from libc.stdint cimport int32_t, int64_t

from splitmerge_cli.core.memory cimport Memory


cdef enum:                              # kinds of recorded draws
    PLAIN                               # among options that have a number
    NAMED                               # among options that have names: clusters of both chains
    DECISION                            # of Metropolis and Hastings
    OF_ITEM                             # for an item of the block that is open
    BLOCK                               # none itself: draws for these items follow, one each
    ORDER                               # an order of items
    MARK                                # none itself: draws for a cluster follow, or the block of clusters ends
    BETA, GAMMA, NORMAL                 # from a continuous distribution
    GAMMA_OF, NORMAL_OF, LOG_NORMAL     # of a rate, or of a mean and a standard deviation


cdef enum:                              # how draws of a cluster by two chains are coupled
    MAXIMAL                             # they are of matched clusters as often as can be
    COMMON                              # by one uniform number, options in the order of their names
    TRANSPORT                           # so that the partitions that follow are near each other


cdef enum:
    CLUSTERS = -2                       # key of a block of clusters
    BLOCK_END = -3                      # key of the MARK that ends it
    AUXILIARIES = 64                    # auxiliary clusters of algorithm 8 that have names: 2 N, 2 N + 1, ...
    PART = 64                           # items of a part of a scan


ctypedef struct draw_t:
    int32_t kind
    int32_t key                         # NAMED, OF_ITEM: the item; BLOCK: its kind; MARK: name of the cluster
    int32_t m                           # options; BLOCK and ORDER: items
    int32_t taken                       # the option taken
    double total                        # sum of the weights; of a continuous draw the value
    Py_ssize_t weights                  # where they begin; -1: all alike. Parameters of a continuous draw
    Py_ssize_t names                    # where names, or items, begin; -1: none


ctypedef struct cell_t:
    int64_t key                         # cluster of X times clusters of Y, plus cluster of Y
    int64_t items                       # that they have in common


@cython.final
cdef class Recording:
    cdef Memory memory                  # of its arrays, but those that grow
    cdef readonly Py_ssize_t N
    cdef draw_t *draws
    cdef double *weights
    cdef int32_t *names
    cdef Py_ssize_t n, room, weights_used, weights_room, names_used, names_room
    # -- of the chain that follows
    cdef Py_ssize_t at                  # the next draw that may be used
    cdef Py_ssize_t block_end           # past the last draw of the open block; 0: none is open
    cdef int32_t *where                 # [N] place of an item in a block or an order; -1: not in it
    cdef double *by_name                # [2 N + AUXILIARIES] scratch, 0 between uses
    cdef int32_t *list                  # [N] scratch
    cdef int64_t *keys                  # [keys_room] scratch
    cdef Py_ssize_t keys_room
    # -- of a block of clusters
    cdef int32_t *turn                  # [N] clusters in the order of their names, those without behind
    cdef bint in_clusters, apart        # a block is open; in it, the cluster under way is not one of the other chain
    # -- of the coupling of draws of a cluster
    cdef readonly int how               # MAXIMAL, COMMON or TRANSPORT
    cdef bint tabled                    # the tables below hold what the two chains have in common
    cdef Py_ssize_t n_names             # clusters of both chains have names below
    cdef int32_t *common_items          # [n_names, n_names] of a cluster of X and one of Y, by name
    cdef Py_ssize_t common_room
    cdef int32_t *size_x                # [N] by name
    cdef int32_t *size_y
    cdef int32_t *name_x                # [N] by item: name of its cluster
    cdef int32_t *name_y
    cdef double *left                   # [left_room] scratch
    cdef Py_ssize_t left_room

    cdef void clear(self) noexcept nogil
    cdef draw_t *add(self, int kind, Py_ssize_t key, const double *w, Py_ssize_t m, double total,
                     const int32_t *names, Py_ssize_t taken) noexcept nogil
    cdef draw_t *find(self, int kind, Py_ssize_t key, Py_ssize_t m) noexcept nogil
    cdef void open_block(self, int kind, const int32_t *items, Py_ssize_t n, Py_ssize_t skip) noexcept nogil
    cdef void follow_block(self, int kind) noexcept nogil
    cdef void close_block(self) noexcept nogil
    cdef Py_ssize_t common_order(self, const draw_t *r, const int32_t *items, Py_ssize_t n) noexcept nogil
    cdef void swaps_of(self, const int32_t *items, Py_ssize_t n, int32_t *order) noexcept nogil
    cdef void order_clusters(self, const int32_t *names, Py_ssize_t K) noexcept nogil
    cdef void follow_cluster(self, int32_t name) noexcept nogil
    cdef void leave_clusters(self) noexcept nogil
    cdef void sort_options(self, int64_t *keys, const int32_t *names, Py_ssize_t m) noexcept nogil
    cdef double joint(self, const draw_t *r, const double *w, Py_ssize_t m, double total, const int32_t *names,
                      double *part) noexcept nogil
    cdef void common_uniforms(self, const draw_t *r, const double *w, Py_ssize_t m, double total, const int32_t *names,
                              double *part) noexcept nogil
    cdef void transport(self, const draw_t *r, const double *w, Py_ssize_t m, double total, const int32_t *names,
                        double *part) noexcept nogil
    cdef void tabulate(self, const cell_t *cells, Py_ssize_t n, const int32_t *names_x, const int32_t *sizes_x,
                       const int32_t *z_x, Py_ssize_t K_x, const int32_t *names_y, const int32_t *sizes_y,
                       const int32_t *z_y, Py_ssize_t K_y, Py_ssize_t N) noexcept nogil
    cdef int64_t cost(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b) noexcept nogil

    @cython.final
    cdef inline double probability(self, const draw_t *r, Py_ssize_t k) noexcept nogil:
        return (self.weights[r.weights + k] if r.weights >= 0 else 1.0) / r.total
