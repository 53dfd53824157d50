# What some models have beside a partition: parameters that are kept, weights of clusters, means to hash.
from libc.stdint cimport int32_t, int64_t

from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng


cdef class Uncollapsed(Model):
    cdef void draw_parameters(self, Rng rng, Py_ssize_t k) noexcept nogil
    cdef void copy_parameters(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil


cdef class Weighted(Model):
    cdef double *log_beta               # [cap] log weight of each cluster, scratch included
    cdef double log_unseen              # log weight of all that no cluster holds

    cdef bint divide(self, Rng rng, Py_ssize_t c, Py_ssize_t a, double p, double q) noexcept nogil
    cdef void set_weight(self, Py_ssize_t k, double log_beta) noexcept nogil
    cdef double expected_tables(self, Py_ssize_t k, double log_beta) noexcept nogil
    cdef void refresh_weights(self, Rng rng) noexcept nogil
    cdef double log_configuration(self) noexcept nogil


cdef class Topics(Weighted):
    cdef readonly Py_ssize_t V, J       # words of the vocabulary, documents
    cdef const int32_t *word            # [N]
    cdef const int64_t *start           # [J + 1] tokens of document j begin here
    cdef readonly double alpha0         # concentration of the documents' mixtures

    cdef void draw_word(self, Rng rng, Py_ssize_t w, double *row) noexcept nogil
    cdef void count_topics(self, Py_ssize_t w, const int32_t *counts) noexcept nogil
    cdef int make_room(self) except -1 nogil
    cdef void set_counts(self, Py_ssize_t w, const int32_t *counts) noexcept nogil
    cdef void labels_drawn(self) noexcept nogil


cdef class PlugIn(Model):
    cdef readonly bint plug_in          # whether the clusters of these data have a mean among the vectors

    cdef void locate(self, Py_ssize_t k, double *mean) noexcept nogil
    cdef double log_plug_in(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
