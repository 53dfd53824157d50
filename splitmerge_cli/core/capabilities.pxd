# What some models are or can do in addition to holding a partition. See capabilities.pyx.
from libc.stdint cimport int32_t, int64_t

from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng


cdef enum:
    TILE_ITEMS = 32                     # items of a tile, TILE of tiles.h


# ---------------------------------------------------------------------------------- what a model is: its base class
cdef class Coupled(Model):
    cdef double log_pair_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef void weigh_scores(self, Py_ssize_t own, int64_t *score, int64_t new_block, double one) noexcept nogil


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


# ------------------------------------------------------------- what a model can do: an object that it is asked for
cdef class Capability:
    pass


cdef class DrawnParameters(Capability):
    cdef readonly Py_ssize_t size       # numbers that the parameters of one cluster take
    cdef Py_ssize_t tile_rows           # numbers of an item in a tile
    cdef Py_ssize_t work_size           # numbers of scratch that a draw takes, and a count of items
    cdef Py_ssize_t posterior_size            # numbers of the distribution of a cluster's parameters; 0: no densities
    cdef Py_ssize_t dimension           # free coordinates of the parameters, where densities are known

    # safe in several threads, on different columns
    cdef void draw_posterior(self, Rng rng, Py_ssize_t k, double *theta, double *work) noexcept nogil
    cdef void load_tile(self, const int32_t *items, Py_ssize_t n, double *tile) noexcept nogil
    cdef void score_tile(self, const double *tile, const double *theta, double log_weight, const double *floor,
                         double *out) noexcept nogil
    cdef void count_items(self, const int32_t *items, Py_ssize_t n, Py_ssize_t k, double *work) noexcept nogil
    # for chains that are coupled, where densities are known
    cdef void write_posterior(self, Py_ssize_t k, double *posterior, double *work) noexcept nogil
    cdef double log_density(self, const double *posterior, const double *theta) noexcept nogil
    cdef double to_normal(self, const double *posterior, const double *theta, double *zeta) noexcept nogil
    cdef double from_normal(self, const double *posterior, const double *zeta, double *theta) noexcept nogil


cdef class Shards(Capability):
    cdef Model model
    cdef readonly Py_ssize_t column_bytes  # that the statistics of one cluster take

    cdef void write_column(self, Py_ssize_t k, char *to) noexcept nogil
    cdef void add_column(self, Py_ssize_t k, const char *packed) noexcept nogil


cdef class PlugIn(Capability):
    cdef void locate(self, Py_ssize_t k, double *mean) noexcept nogil
    cdef double log_plug_in(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
