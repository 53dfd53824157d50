# What a sampler may ask of a model. See docs/design.md.
cimport cython
from libc.stdint cimport int32_t

from splitmerge_cli.core.partition cimport Partition
from splitmerge_cli.core.prior cimport Prior
from splitmerge_cli.core.rng cimport Rng


cdef enum:
    TILE_ITEMS = 32                     # items of a tile, TILE of tiles.h


cdef class Model(Partition):
    cdef readonly Prior prior       # of the partition; None where the state holds weights in its place (HDP)
    cdef readonly bint conjugate    # parameters integrated out
    cdef readonly bint coupled      # the likelihood of a cluster depends on the others (IRM)
    cdef readonly bint scans_itself  # has a full Gibbs scan of its own
    cdef readonly object vectors    # the items as vectors, [N, D] dense or sparse, as they were given; None without
    cdef readonly Py_ssize_t n_parameters  # numbers that the drawn parameters of one cluster take; 0: none can be drawn
    cdef Py_ssize_t tile_rows       # numbers of an item in a tile
    cdef readonly Py_ssize_t column_bytes  # that the statistics of one cluster take where they are sent; 0: cannot be
    cdef Py_ssize_t work_size       # numbers of scratch that a draw of parameters takes, and a count of items
    cdef Py_ssize_t auxiliaries     # components that stand for "a new cluster" in a scan: 1, in algorithm 8 more
    cdef readonly tuple shared      # of Prepared: read-only data and tables, which models of the same data share
    cdef const double *alloc        # [N + 2] the prior's weight by the size of the cluster joined, linear scale;
    # shared, entry 0 is not read; NULL where it depends on more
    cdef double weight_alone        # that of a cluster which a lone item leaves: a new one, beside the others; or of
    # an empty one that is kept
    cdef double weight_new          # that of a new cluster beside all present ones
    cdef double unit                # scan_alone / weight_alone

    # -- likelihood. `k` may be a scratch cluster.
    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double log_lik(self, const int32_t *ks, Py_ssize_t m) noexcept nogil
    # -- of a coupled model
    cdef void stage(self, const int32_t *clusters, Py_ssize_t m, Py_ssize_t first, Py_ssize_t n) noexcept nogil
    cdef double log_pair_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    # -- prior
    cdef double log_prior(self, const int32_t *sizes, Py_ssize_t m, Py_ssize_t K) noexcept nogil
    cdef double log_weight(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef double log_prior_all(self) noexcept nogil
    cdef double log_split_prior(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double log_merge_prior(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil
    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil
    cdef void resample_hyperparameters(self, Rng rng) noexcept nogil
    cdef void traced(self, double *out) noexcept nogil
    cdef double log_extra(self) noexcept nogil
    # -- parameters that are drawn given a cluster, and forgotten; safe in several threads, on different columns
    cdef void draw_posterior(self, Rng rng, Py_ssize_t k, double *theta, double *work) noexcept nogil
    cdef void load_tile(self, const int32_t *items, Py_ssize_t n, double *tile) noexcept nogil
    cdef void score_tile(self, const double *tile, const double *theta, double log_weight, const double *floor,
                         double *out) noexcept nogil
    cdef void count_items(self, const int32_t *items, Py_ssize_t n, Py_ssize_t k, double *work) noexcept nogil
    # -- statistics that are sent from shard to shard
    cdef void write_column(self, Py_ssize_t k, char *to) noexcept nogil
    cdef void add_column(self, Py_ssize_t k, const char *packed) noexcept nogil
    # -- an item against clusters
    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil
    cdef double log_odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil
    cdef void scan(self, Py_ssize_t i) noexcept nogil
    cdef void log_scan(self, Py_ssize_t i) noexcept nogil
    cdef void choice(self, Py_ssize_t i, const int32_t *clusters, Py_ssize_t m, double *w) noexcept nogil
    cdef void log_choice(self, Py_ssize_t i, const int32_t *clusters, Py_ssize_t m, double *lw) noexcept nogil
    cdef void weigh(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t m, double *w) noexcept nogil
    cdef Py_ssize_t own_scan(self, Rng rng, Py_ssize_t first, Py_ssize_t n) except -1 nogil
    cdef int place_all(self, Rng rng, const int32_t *order) except -1 nogil

    cdef int _set_prior(self, Prior prior) except -1
    cdef int _start(self) except -1
    cdef int _set_scan_table(self, table, double unit) except -1
    cdef int _hold(self, prepared) except -1
    cdef void prior_changed(self) noexcept nogil

    @cython.final
    cdef inline double weight_of(self, Py_ssize_t k, bint counted) noexcept nogil:
        """The prior's weight of an item in column k, which counts it or not."""
        cdef Py_ssize_t n = self.size[k] - counted
        if n:
            return self.alloc[n]
        return self.weight_new if k >= self.K else self.weight_alone

    @cython.final
    cdef inline double scan_weight_of(self, Py_ssize_t k, bint counted) noexcept nogil:
        """The same on the scale of W; not where empty clusters are kept."""
        cdef Py_ssize_t n = self.size[k] - counted
        if n:
            return self.scan_table[n]
        return self.new_cluster_weight if k >= self.K else self.scan_alone

    @cython.final
    cdef inline Py_ssize_t options(self) noexcept nogil:
        """Options of a Gibbs draw: the clusters and, without empty clusters, a new one (algorithm 8: several)."""
        return self.K if self.allows_empty else self.K + self.auxiliaries
