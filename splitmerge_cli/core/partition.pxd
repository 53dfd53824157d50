# A partition of items, and columns that follow its clusters. See docs/design.md.
cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t

from splitmerge_cli.core.sums cimport Sums


cdef enum:
    LARGEST = 5                         # clusters whose sizes are recorded


cdef class Partition(Sums):
    # -- sizes
    cdef readonly Py_ssize_t N      # items
    cdef readonly Py_ssize_t total  # items that a cluster may come to hold: N, or the items of all shards
    cdef readonly Py_ssize_t K      # clusters kept (EMM: with the empty ones); numbered 0..K-1
    cdef readonly object items      # [rows] int32 ndarray: the item of each row, where items are bundles of rows; None
    cdef readonly Py_ssize_t kmax   # the most clusters allowed
    cdef readonly bint allows_empty  # empty clusters are part of the state (EMM)
    # -- the state
    cdef int32_t *z                 # [N] cluster of each item; -1: not placed, in the course of a move
    cdef int32_t *size              # [cap] items in each cluster, scratch included
    cdef int32_t *head              # [cap] first member of each live cluster, -1 none (order: history, read by nothing)
    cdef int32_t *after             # [N] next member of the same cluster, -1 none; NULL where no lists are kept
    cdef int32_t *before            # [N] previous member, -1 none
    cdef bint lists_later           # lists are not kept before `keep_lists`
    cdef int64_t version            # grows with every change of the partition
    cdef int32_t *name              # [cap] what a cluster is called where two chains are coupled, -1 nothing; or NULL
    # -- what follows the clusters, column by column
    cdef double *ll                 # [cap] log marginal likelihood of a cluster, where is_valid[k]
    cdef int8_t *is_valid           # [cap]
    cdef int32_t *numbers           # [cap] 0, 1, 2, ...: "all clusters" for log_lik
    cdef const double *scan_table   # [N + 2] prior weight by size, times what of the likelihood depends on the size
    # alone; shared, entry 0 is not read; NULL where there is no such table
    cdef double scan_alone          # the same of a cluster that loses its last item: a new one, next to the others
    cdef double new_cluster_weight  # the same of a new cluster next to all present ones; 0 where empty ones are kept
    cdef double *W                  # [cap] scan_weight(size[k]) of the options of a scan, 0 past them
    cdef double *w                  # [cap] weights of the last scan

    # -- what a model supplies: statistics of a cluster, a column each (``core/sums.pxd``), and their likelihood; of
    # scratch clusters, too
    cdef double log_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil
    cdef void count_changed(self) noexcept nogil

    cdef int name_clusters(self) except -1
    cdef void name_options(self, Py_ssize_t i) noexcept nogil
    cdef void name_auxiliaries(self, Py_ssize_t m) noexcept nogil

    cdef int _allocate(self, Py_ssize_t n_items, Py_ssize_t kmax) except -1
    cdef int reserve(self, Py_ssize_t clusters) except -1 nogil
    cdef int _reserve(self, Py_ssize_t clusters) except -1
    # -- membership
    cdef void link(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef void unlink(self, Py_ssize_t i) noexcept nogil
    cdef int keep_lists(self) except -1
    cdef void relist(self) noexcept nogil
    cdef Py_ssize_t members(self, Py_ssize_t a, Py_ssize_t b, int32_t *items) noexcept nogil
    cdef int32_t five_largest(self, double *top) noexcept nogil
    # -- changes of the state
    cdef int reset(self, const int32_t *labels, Py_ssize_t K) except -1 nogil
    cdef void begin_scan(self) noexcept nogil
    cdef void take_out(self, Py_ssize_t i) noexcept nogil
    cdef void put(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef int move(self, Py_ssize_t i, Py_ssize_t k) except -1 nogil
    cdef int append_empty(self) except -1 nogil
    cdef void delete(self, Py_ssize_t k) noexcept nogil
    cdef int commit_split(self, Py_ssize_t c, const int32_t *to_b, Py_ssize_t n) except -1 nogil
    cdef void commit_merge(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef int commit_sides(self, const int32_t *clusters, Py_ssize_t m, const int32_t *items, const int8_t *side,
                          Py_ssize_t n) except -1 nogil

    @cython.final
    cdef inline const int32_t *option_names(self, Py_ssize_t i) noexcept nogil:
        """Names of the clusters to which a Gibbs update may move item i; NULL where clusters have no names."""
        if self.name != NULL:
            self.name_options(i)
        return self.name

    @cython.final
    cdef inline void update_prior_weight(self, Py_ssize_t k) noexcept nogil:
        """Bring W[k] up to date with the size of cluster k."""
        if self.scan_table != NULL:
            self.W[k] = self.scan_weight(self.size[k])

    @cython.final
    cdef inline double scan_weight(self, Py_ssize_t n) noexcept nogil:
        """The prior's weight of a live cluster of n other items, on the scale of W."""
        return self.scan_table[n] if n else self.scan_alone

    @cython.final
    cdef inline void scratch(self, Py_ssize_t k) noexcept nogil:
        """Make column k an empty cluster."""
        self.size[k] = 0
        self.is_valid[k] = False
        self.clear(k)

    @cython.final
    cdef inline void copy_column(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        """Make column dst what column src is."""
        self.copy(src, dst)
        self.size[dst] = self.size[src]
        self.ll[dst] = self.ll[src]
        self.is_valid[dst] = self.is_valid[src]

    @cython.final
    cdef inline void absorb_column(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        """Add what column src is to column dst, or with a `sign` of -1 take it out."""
        self.absorb(dst, src, sign)
        self.size[dst] += sign * self.size[src]
        self.is_valid[dst] = False

    @cython.final
    cdef inline void join(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Count item i in the statistics of cluster k (labels and lists stay)."""
        self.size[k] += 1
        self.is_valid[k] = False
        self.tell(i, k, 1)
        self.mark_changed(k)

    @cython.final
    cdef inline void leave(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Take item i out of the statistics of cluster k (labels and lists stay)."""
        self.size[k] -= 1
        self.is_valid[k] = False
        self.tell(i, k, -1)
        self.mark_changed(k)

    @cython.final
    cdef inline double lik(self, Py_ssize_t k) noexcept nogil:
        """Log marginal likelihood of cluster k, kept until the cluster changes."""
        if not self.is_valid[k]:
            self.ll[k] = self.cluster_log_lik(k)
            self.is_valid[k] = True
        return self.ll[k]
