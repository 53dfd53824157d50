"""Weights of rows, by which normal clusters have the tails of Student's t: ``model.tails=t``.

    x_i | cluster k ~ N(mu_k, S_k / w_i),        w_i ~ Gamma(nu / 2, nu / 2)

so that x_i is Student's t with nu degrees of freedom about mu_k. nu is uniform over `DEGREES`. The weights and nu are a
part of the state. Given means and covariances of all clusters, which the model draws and forgets, nu is drawn with the
weights integrated out, then the weights given nu (docs/derivations.md, "Heavy tails"):

    P(nu | .) ~ prod_i t(d_i; nu),        w_i | . ~ Gamma((nu + D) / 2, (nu + d_i) / 2)

with d_i the squared distance of row i from the mean of its cluster, (x_i - mu_k)' S_k^-1 (x_i - mu_k). Where cells of
independent columns are missing, d_i and D count the cells that row i has.

A weight is a whole number of 2^-22, at least one and at most 2^28 of them; a draw beyond is a rejected proposal. Sums
of weights, and of rows times weights, are sums of whole numbers.
"""
cimport cython
from libc.math cimport exp, ldexp, lgamma, log, rint
from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libc.string cimport memcmp

import numpy as np

from splitmerge_cli.core.memory cimport doubles, doubles_of
from splitmerge_cli.core.rng cimport Rng

from splitmerge_cli.core.checks import as_numbers

cdef extern from "simd_math.h":
    pass

cdef extern from *:
    """
    /* Sum over n squared distances d, a multiple of eight, of log(1 + d / nu). */
    static inline double sum_log_tails(const double *distance, ptrdiff_t n, double nu)
    {
        double sum[8] __attribute__((aligned(64))) = {0.0}, total = 0.0;
        const double inverse = 1.0 / nu;
        for (ptrdiff_t i = 0; i < n; i += 8)
            EACH_LANE(h)
                LANES_TO(sum + h) += lanes_log(1.0 + inverse * LANES_AT(distance + i + h));
        for (int h = 0; h < 8; h++)
            total += sum[h];
        return total;
    }

    /* The same, each logarithm times nu and the columns of its row. */
    static inline double sum_weighed_tails(const double *distance, const double *cells, ptrdiff_t n, double nu)
    {
        double sum[8] __attribute__((aligned(64))) = {0.0}, total = 0.0;
        const double inverse = 1.0 / nu;
        for (ptrdiff_t i = 0; i < n; i += 8)
            EACH_LANE(h)
                LANES_TO(sum + h) += (nu + LANES_AT(cells + i + h))
                                     * lanes_log(1.0 + inverse * LANES_AT(distance + i + h));
        for (int h = 0; h < 8; h++)
            total += sum[h];
        return total;
    }
    """
    double sum_log_tails(const double *distance, Py_ssize_t n, double nu) noexcept nogil
    double sum_weighed_tails(const double *distance, const double *cells, Py_ssize_t n, double nu) noexcept nogil

MOST_BITS = 28
"""A weight is at most 2^28 units, that is 64."""
DEGREES = 2.0 ** (0.5 * np.arange(15))
"""Degrees of freedom, of which each is as probable as the others: 1, the square root of 2, 2, ..., 128."""
START = 8.0
"""Degrees of freedom at the start; weights are then 1."""

cdef int64_t LARGEST = 1 << MOST_BITS
cdef const double *GRID = doubles_of(DEGREES)
cdef Py_ssize_t CHOICES = len(DEGREES)


@cython.final
cdef class RowWeights:
    """The weights of N rows with D columns. The first n are data; the others, new ones, keep a weight of 1."""

    def __init__(self, Py_ssize_t N, Py_ssize_t n, Py_ssize_t D):
        cdef Py_ssize_t i
        self.n, self.nu, self.D = n, START, D
        self.parts, self.logs = <int64_t *> doubles(N), <int64_t *> doubles(N)
        self.weight, self.distance, self.drawn = doubles(N), doubles(N + 7), doubles(N)
        for i in range(N):
            self.put(i, 1 << FRACTION)

    def __dealloc__(self):
        free(self.parts)
        free(self.logs)
        free(self.weight)
        free(self.distance)
        free(self.cells)
        free(self.having)
        free(self.drawn)

    cdef int set_cells(self, cells) except -1:
        """Take how many columns each row has: ndarray, shape (N,)."""
        cdef Py_ssize_t i
        self.cells, self.having = doubles(len(cells) + 7), doubles(self.D + 1)
        for i in range(len(cells)):
            self.cells[i] = cells[i]
            if i < self.n:
                self.having[<Py_ssize_t> cells[i]] += 1.0
        return 0

    cdef double log_odds(self, double nu) noexcept nogil:
        """log p(nu | squared distances of all rows), up to a constant."""
        cdef Py_ssize_t m
        cdef double total = 0.0
        if self.cells == NULL:
            return (self.n * (lgamma(0.5 * (nu + self.D)) - lgamma(0.5 * nu) - 0.5 * self.D * log(nu))
                    - 0.5 * (nu + self.D) * sum_log_tails(self.distance, (self.n + 7) & ~7, nu))
        for m in range(self.D + 1):
            total += self.having[m] * (lgamma(0.5 * (nu + m)) - lgamma(0.5 * nu) - 0.5 * m * log(nu))
        return total - 0.5 * sum_weighed_tails(self.distance, self.cells, (self.n + 7) & ~7, nu)

    cdef void put(self, Py_ssize_t i, int64_t parts) noexcept nogil:
        """Set the weight of row i, in units."""
        self.parts[i], self.weight[i] = parts, ldexp(<double> parts, -FRACTION)
        self.logs[i] = <int64_t> rint(ldexp(log(self.weight[i]), LOG_FRACTION))

    cdef void draw(self, Rng rng) noexcept nogil:
        """Draw nu, then the weights, given the squared distances of all rows.

        Weights are 2^-22 to 64. Nu is drawn with weights of any size integrated out, so nu and all weights together are
        a proposal, rejected if a weight is out of range: within it the proposal's density is the target's but for a
        constant, and the ratio is 1. After a rejection each weight is proposed given nu as it is, by the same argument:
        whether the first proposal is rejected does not depend on the present nu and weights.
        """
        cdef double[32] odds
        cdef double top = 0.0, nu
        cdef Py_ssize_t i, t
        for t in range(CHOICES):
            odds[t] = self.log_odds(GRID[t])
            if t == 0 or odds[t] > top:
                top = odds[t]
        for t in range(CHOICES):
            odds[t] = exp(odds[t] - top)
        nu = GRID[rng.draw_categorical(odds, CHOICES)]
        if self.propose(rng, nu):
            self.nu = nu
        else:
            self.propose(rng, self.nu)
        for i in range(self.n):
            if 1.0 <= self.drawn[i] <= LARGEST:
                self.put(i, <int64_t> self.drawn[i])

    cdef bint propose(self, Rng rng, double nu) noexcept nogil:
        """Draw weights given nu; whether all are in range."""
        cdef double cells
        cdef bint are_within = True
        cdef Py_ssize_t i
        for i in range(self.n):
            cells = self.D if self.cells == NULL else self.cells[i]
            self.drawn[i] = rint(ldexp(rng.draw_gamma(0.5 * (nu + cells)) / (0.5 * (nu + self.distance[i])), FRACTION))
            are_within &= 1.0 <= self.drawn[i] <= LARGEST
        return are_within

    cdef bint equals(self, RowWeights other) noexcept nogil:
        """Whether nu and the weights are the same."""
        return self.nu == other.nu and not memcmp(self.parts, other.parts, self.n * sizeof(int64_t))

    cdef double log_density(self) noexcept nogil:
        """log prior density of nu and the weights."""
        cdef double half = 0.5 * self.nu, total = 0.0
        cdef Py_ssize_t i
        for i in range(self.n):
            total += (half - 1.0) * ldexp(<double> self.logs[i], -LOG_FRACTION) - half * self.weight[i]
        return total + self.n * (half * log(half) - lgamma(half)) - log(<double> CHOICES)

    @property
    def values(self):
        """ndarray of float64, shape (1 + n,): nu, then the weights; a copy."""
        cdef Py_ssize_t i
        return np.array([self.nu, *(self.weight[i] for i in range(self.n))])

    def set_values(self, values):
        """Set nu and the weights, as ``values`` gives them; a ValueError for what a chain cannot visit."""
        cdef Py_ssize_t i
        given = as_numbers("parameters", values, 1 + self.n)
        parts = np.rint(np.ldexp(given[1:], FRACTION))
        if given[0] not in DEGREES or not ((parts >= 1.0) & (parts <= LARGEST)).all():
            raise ValueError("parameters: expected degrees of freedom among "
                             f"{', '.join(f'{nu:.4g}' for nu in DEGREES)}, then weights from 2^-22 to 64")
        cdef const int64_t[::1] units = parts.astype(np.int64)
        self.nu = given[0]
        for i in range(self.n):
            self.put(i, units[i])
