# Ordinal columns of a table. See ordered_levels.pyx.
cimport cython
from libc.stdint cimport int32_t

from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport Sums


@cython.final
cdef class OrderedLevels(Sums):
    cdef object shared                  # what the pointers lead into
    cdef Py_ssize_t n                   # ordinal columns
    cdef Py_ssize_t before              # rows of what scores an item before theirs
    cdef Py_ssize_t levels              # of all of them
    cdef const int32_t *first           # [n + 1] row of a column's level 0
    cdef const double *log_prior        # [POINTS]
    cdef const double *log_q            # [levels, POINTS] log probability of a level at a point, times the power
    cdef const double *q                # [levels, POINTS] its exponential
    cdef const double *inverse_q        # [levels, POINTS] and one over it
    cdef const double *density          # [levels, POINTS] the probability itself
    cdef double *own                    # [cap, levels] log predictive of an item that the cluster counts
    cdef double *weights                # [cap, n, POINTS] posterior weights of the points, and
    cdef double *totals                 # [cap, n] their sum, as ``settle`` found them

    cdef double weigh(self, Py_ssize_t c, const int32_t *count, const int32_t *more, double *w,
                      double *sum) noexcept nogil
    cdef double log_level(self, const double *w, double total, const double *q, Py_ssize_t r) noexcept nogil
    cdef void predict(self, Py_ssize_t c, const int32_t *count, double *w, double *total, double *row,
                      Py_ssize_t stride) noexcept nogil
    cdef double log_density(self, const int32_t *count, const int32_t *code) noexcept nogil
    cdef void settle(self, Py_ssize_t k, const int32_t *count, double *row) noexcept nogil
    cdef void settle_own(self, Py_ssize_t k, const int32_t *count) noexcept nogil
    cdef double own_score(self, Py_ssize_t k, const int32_t *code) noexcept nogil
    cdef double log_lik(self, const int32_t *count, const int32_t *more) noexcept nogil
    cdef void draw(self, Rng rng, const int32_t *count, double *theta) noexcept nogil
