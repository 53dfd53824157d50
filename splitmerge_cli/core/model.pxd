# A partition with a likelihood of the items in its clusters and a prior. See docs/design.md.
#
# A model must implement three methods, and name the arrays of its statistics (``keep``, ``core/sums.pxd``):
#     tell                an item in the statistics of a cluster
#     log_of, log_pred    log marginal likelihood of a cluster, or of two as one; log predictive of an item
# It may override the others, which are right and slow (`odds` and `scan` first), or do nothing.
# What else a model can do, or is, it declares as a capability (``capabilities.pxd``).
cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from splitmerge_cli.core.near_pairs cimport NearPairs
from splitmerge_cli.core.partition cimport Partition
from splitmerge_cli.core.prior cimport Prior
from splitmerge_cli.core.rng cimport Rng


cdef class Model(Partition):
    cdef readonly Prior prior       # of the partition; None if the state holds weights in its place (HDP)
    cdef readonly bint conjugate    # parameters integrated out
    cdef readonly bint scans_itself  # has a full Gibbs scan of its own
    cdef readonly NearPairs near_pairs  # items that may belong together: anchors are drawn among them; None: among all
    cdef readonly object vectors    # the items as vectors, [N, D] dense or sparse, as they were given; None without
    cdef Py_ssize_t auxiliaries     # components that stand for "a new cluster" in a scan: 1, in algorithm 8 more
    cdef readonly tuple shared      # of Prepared: read-only data and tables, which models of the same data share
    cdef const double *alloc        # [N + 2] the prior's weight by the size of the cluster joined, linear scale;
    # entry 0 is not read; NULL where it depends on more
    cdef const double *factor       # [N + 2] of `scan_table` over `alloc`; NULL: 1
    cdef double *own_table          # [N + 2] `scan_table`, where the prior's tables change; else NULL
    cdef double weight_alone        # weight of a cluster which a lone item leaves: a new one, next to the others; or of
    # an empty one that is kept
    cdef double weight_new          # weight of a new cluster next to all present ones
    cdef double log_lik_aside       # log likelihood that no cluster changes: of columns that are the same in all
    cdef double unit                # scan_alone / weight_alone

    # -- must implement. `k` may be a scratch cluster.
    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    # -- may override, where clusters depend on each other
    cdef double log_lik(self, const int32_t *ks, Py_ssize_t m) noexcept nogil
    cdef void stage(self, const int32_t *clusters, Py_ssize_t m, Py_ssize_t first, Py_ssize_t n) noexcept nogil
    # -- may override, where the state holds more than the partition or clusters have weights
    cdef double log_prior(self, const int32_t *sizes, Py_ssize_t m, Py_ssize_t K) noexcept nogil
    cdef double log_weight(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef double log_prior_all(self) noexcept nogil
    cdef double log_lik_all(self) noexcept nogil
    cdef double log_split_prior(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double log_merge_prior(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil
    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil
    cdef Py_ssize_t write_hyperparameters(self, double *out) noexcept nogil
    cdef double log_extra(self) noexcept nogil
    # -- may override, for speed: an item against clusters
    cdef void log_unions(self, Py_ssize_t b, Py_ssize_t first, Py_ssize_t m, double *out) noexcept nogil
    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil
    cdef double log_odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil
    cdef void scan(self, Py_ssize_t i) noexcept nogil
    cdef void log_scan(self, Py_ssize_t i) noexcept nogil
    cdef void choice(self, Py_ssize_t i, const int32_t *clusters, Py_ssize_t m, double *w) noexcept nogil
    cdef void log_choice(self, Py_ssize_t i, const int32_t *clusters, Py_ssize_t m, double *lw) noexcept nogil
    cdef void weigh(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t m, double *w) noexcept nogil
    cdef Py_ssize_t own_scan(self, Rng rng, Py_ssize_t first, Py_ssize_t n) except -1 nogil
    cdef int place_all(self, Rng rng, const int32_t *order) except -1 nogil

    cdef bint stands_for_option(self, Py_ssize_t k) noexcept nogil

    # -- of every model
    cdef int _set_prior(self, Prior prior) except -1
    cdef int _start(self) except -1
    cdef int _scale_scan_table(self, by_size, str name, double unit) except -1
    cdef int _hold(self, prepared) except -1
    cdef void prior_changed(self) noexcept nogil
    cdef void tables_changed(self) noexcept nogil
    cdef int resample_hyperparameter(self, Rng rng, Py_ssize_t t) except -1 nogil

    @cython.final
    cdef inline double weight_of(self, Py_ssize_t k, bint counted) noexcept nogil:
        """The prior's weight of an item in column k, which counts it or not."""
        cdef Py_ssize_t n = self.size[k] - counted
        if n:
            return self.alloc[n]
        return self.weight_new if k >= self.K else self.weight_alone

    @cython.final
    cdef inline double scan_weight_of(self, Py_ssize_t k, bint counted) noexcept nogil:
        """`weight_of` on the scale of W; not where empty clusters are kept."""
        cdef Py_ssize_t n = self.size[k] - counted
        if n:
            return self.scan_table[n]
        return self.new_cluster_weight if k >= self.K else self.scan_alone

    @cython.final
    cdef inline bint has_room(self) noexcept nogil:
        """Whether model and prior allow one more cluster."""
        return self.K < self.kmax and (self.prior is None or self.prior.log_count(self.K + 1) > -INFINITY)

    @cython.final
    cdef inline Py_ssize_t options(self) noexcept nogil:
        """Options of a Gibbs draw: the clusters and, without empty clusters, a new one (algorithm 8: several)."""
        return self.K if self.allows_empty else self.K + self.auxiliaries
