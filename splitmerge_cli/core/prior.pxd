# Priors of partitions. See docs/design.md.
cimport cython
from libc.stdint cimport int32_t

from splitmerge_cli.core.rng cimport Rng


cdef enum:
    MAX_HYPERPARAMETERS = 6


cdef class Prior:
    cdef readonly Py_ssize_t N
    cdef readonly bint by_count         # the weight of a new cluster depends on the number of clusters
    cdef readonly tuple hyperparameters  # names of those that have a prior of their own and are resampled
    cdef Py_ssize_t n_hyperparameters
    cdef double[MAX_HYPERPARAMETERS] value  # their present values
    cdef readonly bint draws_weights    # `log_cluster_weight` is supplied
    cdef readonly double concentration  # present value; nan where there is none
    cdef readonly object shared         # Prepared: the tables, which priors of the same options share; None if they
    # change with hyper-parameters
    cdef object held                    # the tables
    cdef const double *weight           # [N + 2] linear weight of an item for joining a cluster of n; entry 0 is read
    # where empty clusters are kept only
    cdef const double *log_size         # [N + 2] log factor of a cluster of n items

    cdef int set_tables(self, tables) except -1
    cdef int name_hyperparameters(self, tuple names) except -1
    cdef double log_count(self, Py_ssize_t K) noexcept nogil
    cdef double new_weight(self, Py_ssize_t K) noexcept nogil
    cdef double log_cluster_weight(self, Rng rng, Py_ssize_t n) noexcept nogil
    cdef int resample(self, Rng rng, Py_ssize_t t, const int32_t *sizes, Py_ssize_t K) except -1 nogil
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
    cdef readonly dict options          # present values of all options, the concentration among them
    cdef readonly dict hyperpriors      # priors of those that are resampled
    cdef double log_hyper               # log density of these

    cdef int take(self, str name, double value) except -1
