# An outcome that is regressed on effects within each cluster. See regression.pyx.
cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t

from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport Sums

cdef extern from "fixed_point.h":
    ctypedef struct whole:
        pass


@cython.final
cdef class Regression(Sums):
    cdef readonly Py_ssize_t D          # effects, and the outcome
    cdef readonly Py_ssize_t n_latent   # latent outcomes that are a part of the state; 0: of a normal outcome
    cdef readonly bint is_latent        # binary outcome: a latent normal one of variance 1
    cdef readonly Py_ssize_t N          # rows
    cdef Py_ssize_t known, squares, rows
    cdef double zeta                    # power of the likelihood
    cdef double kappa0, a0, b0, grain   # b0 and grain in units^2 of the outcome
    cdef double unit                    # of the outcome
    cdef int64_t reach                  # of a latent outcome, in units
    cdef readonly object data           # what these lead into
    cdef tuple tables
    cdef double *x                      # [N, D] effects, then the outcome, in units; NaN: missing
    cdef const int8_t *answer           # [N] binary outcome, -1: missing
    cdef const double *m0               # [D] prior mean of the outcome, 0 of effects
    cdef const double *ridge            # [D] what the prior adds to the squares of the effects
    cdef const double *inverse          # [total + 2] 1 / n, 0 at 0
    cdef const double *log_c            # [total + 2] the part of an outcome's predictive that depends on n alone
    cdef const double *log_n            # [total + 2] the part of a cluster's likelihood that depends on n alone
    cdef double *work                   # [8 D] of scores
    cdef double *mean                   # [D] of the cluster at hand
    cdef double *scatter                # [squares]
    cdef int64_t *both_sums             # [D] of two clusters
    cdef whole *both_squares            # [squares]
    # -- of a cluster
    cdef int32_t *n                     # [cap] observed outcomes
    cdef int64_t *sum                   # [cap, D]
    cdef whole *square                  # [cap, squares]
    cdef double *at                     # [cap / 8, rows, 8] what scores an item: see score_outcome
    cdef int8_t *stale                  # [cap] whether that is behind the statistics
    cdef double *drawn                  # [cap, D] coefficients of a cluster, from a draw to its end

    cdef double factor(self, const int64_t *sum, const whole *square, Py_ssize_t n) noexcept nogil
    cdef double marginal(self, const int64_t *sum, const whole *square, Py_ssize_t n) noexcept nogil
    cdef void settle(self, Py_ssize_t k) noexcept nogil
    cdef void add_scores(self, Py_ssize_t i, Py_ssize_t block, double *power) noexcept nogil
    cdef double place(self, Py_ssize_t i, Py_ssize_t k, double *off) noexcept nogil
    cdef bint add_own_score(self, Py_ssize_t i, Py_ssize_t k, double *total) noexcept nogil
    cdef double log_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double log_density(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef double log_probability(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef void refresh(self, Rng rng, const int32_t *z, Py_ssize_t K) noexcept nogil
    cdef void draw_coefficients(self, Rng rng, Py_ssize_t k) noexcept nogil
    cdef void put(self, Py_ssize_t i, Py_ssize_t k, double value) noexcept nogil
    cdef bint equals(self, Regression other) noexcept nogil
    cdef int take_latent(self, values, const int32_t *z) except -1

    cdef inline int64_t *sums_of(self, Py_ssize_t k) noexcept nogil:
        return self.sum + k * self.D

    cdef inline whole *squares_of(self, Py_ssize_t k) noexcept nogil:
        return <whole *> (<char *> self.square + 16 * self.squares * k)

    cdef inline double *block_of(self, Py_ssize_t k) noexcept nogil:
        return self.at + (k >> 3) * 8 * self.rows + (k & 7)

    cdef inline double *level_of(self, Py_ssize_t k) noexcept nogil:
        """The numbers behind the factor in the block of cluster k."""
        return self.block_of(k) + 8 * (self.D + self.squares)

    cdef inline bint is_observed(self, Py_ssize_t i) noexcept nogil:
        cdef double y = self.x[i * self.D + self.D - 1]
        return y == y
