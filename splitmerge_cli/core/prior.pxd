# Priors of partitions. See docs/design.md.
cimport cython
from libc.stdint cimport int32_t

from splitmerge_cli.core.rng cimport Rng


cdef class Prior:
    cdef readonly Py_ssize_t N
    cdef readonly bint by_count         # the weight of a new cluster depends on the number of clusters
    cdef readonly bint random           # the concentration has a prior of its own and is resampled
    cdef readonly bint draws_weights    # `log_cluster_weight` is supplied
    cdef readonly double concentration  # present value; nan where there is none
    cdef readonly object shared         # Prepared: the tables, which priors of the same options share
    cdef const double *weight           # [N + 2] linear weight of an item for joining a cluster of n; entry 0 is read
    # where empty clusters are kept only
    cdef const double *log_size         # [N + 2] log factor of a cluster of n items

    cdef int set_tables(self, prepared) except -1
    cdef double log_count(self, Py_ssize_t K) noexcept nogil
    cdef double new_weight(self, Py_ssize_t K) noexcept nogil
    cdef double log_cluster_weight(self, Rng rng, Py_ssize_t n) noexcept nogil
    cdef void resample(self, Rng rng, Py_ssize_t K) noexcept nogil
    cdef double log_density(self) noexcept nogil

    @cython.final
    cdef inline double log_prob(self, const int32_t *sizes, Py_ssize_t m, Py_ssize_t K) noexcept nogil:
        """The terms for clusters of these m sizes and for the number K of clusters: what changes when these clusters
        are replaced. Log scale."""
        cdef Py_ssize_t t
        cdef double total = self.log_count(K)
        for t in range(m):
            total += self.log_size[sizes[t]]
        return total


cdef class TablePrior(Prior):
    cdef const double *log_number       # [N + 1] log factor of K clusters
