# Vectors of counts, their sums by cluster, and what mixtures of them share.
from libc.stdint cimport int8_t, int32_t, int64_t

from splitmerge_cli.core.model cimport Model


cdef extern from "log_rise.h":
    double log_rise(const double *rise, int64_t length, double zeta, double a, int64_t s, int64_t x) noexcept nogil
    double log_rise_far(double a, double x) noexcept nogil


cdef class CountVectors(Model):
    cdef readonly Py_ssize_t D
    cdef const int64_t *start           # [N + 1] entries of item i begin here
    cdef const int32_t *column          # [entries] columns of counts that are not 0, ascending within an item
    cdef const int32_t *value           # [entries]
    cdef const int64_t *total           # [N] sum of an item's counts
    cdef const int64_t *constant        # [N] log of the term of an item alone, in multiples of `unit`
    cdef int64_t *exposure              # [N] of rows that have one, in the model's unit; NULL: none has
    cdef readonly double zeta           # power of the likelihood
    cdef double unit                    # times zeta
    cdef double pseudo_count            # what is added to every sum of a column
    cdef const double *rise             # [length] log of pseudo_count (pseudo_count + 1) ...; as in log_rise.h
    cdef Py_ssize_t length
    cdef bint is_whole                  # whether it has all sums that there can be, and a count more
    # -- statistics of a cluster
    cdef int64_t *sums                  # [D, cap] of the counts of a column
    cdef int64_t *total_sum             # [cap] of `total`
    cdef int64_t *constant_sum          # [cap] of `constant`
    cdef int64_t *exposure_sum          # [cap] of `exposure`
    cdef double *row                    # [cap] numbers for each cluster, in a scan
    cdef int8_t *stale                  # [cap] for a model that derives more of them: whether that is behind the sums

    cdef const double *rising_table(self, double a, Py_ssize_t length) except NULL
    cdef double log_column_terms(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double log_pred_of(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil
    cdef void log_rests(self, Py_ssize_t i, Py_ssize_t m, double *out) noexcept nogil
    # -- must implement
    cdef double log_rest(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil
    cdef double log_rest_density(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil


cdef class GivenTotals(CountVectors):
    cdef readonly double alpha          # pseudo-count of a column
    cdef double all_alpha               # of all columns together
    cdef Py_ssize_t length_all
    cdef bint is_whole_all              # whether the next has all totals that there can be, and a row's more
    cdef const double *rise_all         # [length_all] log of all_alpha (all_alpha + 1) ...
