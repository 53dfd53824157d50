# Parameters and weights of clusters that two coupled chains draw. See coupled_clusters.pyx.
from libc.stdint cimport uint64_t

from splitmerge_cli.core.capabilities cimport DrawnParameters
from splitmerge_cli.core.memory cimport Memory
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.threads cimport Stream


cdef class CoupledClusters:
    cdef Memory memory                  # of its arrays
    cdef Model model
    cdef DrawnParameters parameters
    cdef Rng rng
    cdef Py_ssize_t room                # clusters
    cdef int weights                    # how weights are distributed
    cdef double *posterior              # [room, posterior_size] how parameters are
    cdef double *note                   # [2 + posterior_size + size] size, log weight, distribution, parameters
    cdef const double **theirs          # [room] the note on the cluster of the other chain; NULL: not shared
    cdef double *zeta                   # [room, dimension + 1] parameters and log weights, about standard normal
    cdef double *axis                   # [room, dimension + 1] the direction in which the chains differ, a unit vector
    cdef double *image                  # [room, size] parameters of the other chain
    cdef double *image_weight           # [room] log weights of it
    cdef double *theta                  # [K, size] drawn parameters of this chain, of the caller
    cdef double *log_weight             # [K] their log weights

    cdef int need(self, Py_ssize_t clusters) except -1 nogil
    cdef int _kind_of_weights(self) except -1
    cdef void couple(self, Stream stream, const uint64_t *key, double *work, double *theta,
                     double *log_weight) noexcept nogil
    cdef void write_notes(self, double *work) noexcept nogil
    cdef bint match_posteriors(self, double *work) noexcept nogil
    cdef bint reflect_theirs(self, Rng rng, double below) noexcept nogil
    cdef bint is_of_rest(self, Rng rng) noexcept nogil
    cdef void reflect(self) noexcept nogil
    cdef double log_density(self, bint by_this_chain, const double *theta, const double *log_weight) noexcept nogil
    cdef double to_normal(self, bint by_this_chain, const double *theta, const double *log_weight) noexcept nogil
    cdef double from_normal(self, bint by_this_chain, double *theta, double *log_weight) noexcept nogil
