# A model that scores an item against eight clusters at a time. See blocks.pyx.
from libc.stdint cimport int8_t

from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.sums cimport Form


cdef class Blocks(Model):
    cdef int8_t *stale                  # [cap] whether what scores an item is behind the statistics
    cdef double *power                  # [cap] log predictive of the item at hand, but for what all clusters share
    # -- of a product of factors: power = level + degree log prod_d factor(row_d, x_d, turn)
    cdef Py_ssize_t rows                # rows of eight numbers in a block of `at`
    cdef double *at                     # [cap / 8, rows, 8]
    cdef double *level                  # [cap]
    cdef double *degree                 # [cap]
    cdef double *left                   # [cap] the product for the item at hand
    cdef double *lane                   # [5, 8] turn of no lane; of a turned one turn, level, degree; log product

    cdef int keep_blocks(self, Py_ssize_t rows, Form form=*) except -1
    cdef void settle(self, Py_ssize_t k) noexcept nogil
    cdef void score(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil
    cdef void score_factors(self, Py_ssize_t i, Py_ssize_t block, const double *turn, double *log_q) noexcept nogil
    cdef void take_out_of(self, Py_ssize_t k, double *turn, double *level, double *degree) noexcept nogil
    cdef void keep_digits(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil
    cdef void count_out(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil
    cdef void forget_scores(self) noexcept nogil

    cdef inline double *block_of(self, Py_ssize_t k) noexcept nogil:
        """The lane of cluster k in what scores an item."""
        return self.at + (k >> 3) * 8 * self.rows + (k & 7)


cdef void weigh_powers(Model model, double *power, Py_ssize_t own) noexcept nogil
