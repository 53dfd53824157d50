"""An outcome that is regressed on effects within each cluster: a part of ``mixed.pyx`` (``model.outcome``).

    normal      y ~ N(a + b'e, v),   v ~ InvGamma(a0, b0),  a | v ~ N(m0, v / kappa0),  b_j | v ~ N(0, v / w)
    binary      y = 1 if u > 0,      u ~ N(a + b'e, 1),     a ~ N(0, 1),                b_j ~ N(0, 1 / w)

The effects e, real ones standardised, are given: they have no density. The coefficients are integrated out. With n
observed outcomes in a cluster, effects and outcome are one vector (e, y), of which it has the sums and the sums of
products, whole numbers. Let S be their scatter plus kappa0 n / (kappa0 + n) times the square of (mean - (0, m0)), plus
w on the diagonal entries of the effects and 2 b0 on the entry of the outcome. The last pivot of the Cholesky factor of
S is 2 b_n, and the product of the others times kappa0 + n is the determinant of the coefficients' posterior precision
(docs/derivations.md, "An outcome"), so that the likelihood is

    log m = -n/2 log(2 pi) + (log kappa0 + p log w - log(kappa0 + n) - log of the p pivots) / 2
            + log Gamma(a_n) - log Gamma(a0) + a0 log b0 - a_n log b_n,         a_n = a0 + n / 2

A power zeta multiplies n and the scatter. The predictive of one more outcome follows from a forward substitution with
the factor: h, the variance of its mean over v, and r, how far it is from its mean.

The latent outcomes u of a binary one are a part of the state: ``refresh`` draws the coefficients given them, then each
u given these and y, and forgets the coefficients (Albert and Chib 1993). Given u the model is a regression with v = 1.
"""
cimport cython
from libc.math cimport M_PI, erfc, exp, lgamma, log, log1p, rint, sqrt
from libc.string cimport memcpy

import numpy as np

from splitmerge_cli.core.memory cimport bytes_of, doubles_of
from splitmerge_cli.core.sums cimport BY_COLUMN, INTS, BY_LANE, LONGS, ROOM, STALE, WHOLES, Sums
from splitmerge_cli.kinds.tables.models.gaussian_full cimport factorise

from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.core.shared import share

cdef extern from "cross_sums.h":
    void count_full(int64_t *sum, whole *square, const double *x, Py_ssize_t D, int64_t sign) noexcept nogil
    void moments_full(const int64_t *sum, const whole *square, Py_ssize_t D, int64_t n, double inverse, double *mean,
                      double *scatter) noexcept nogil

cdef extern from "simd_math.h":
    pass

cdef extern from *:
    """
    static inline void add_products(int64_t *sum, whole *square, const int64_t *more, const whole *more_square,
                                    ptrdiff_t D, int64_t sign)
    {
        for (ptrdiff_t d = 0; d < D; d++)
            sum[d] += sign * more[d];
        for (ptrdiff_t d = 0; d < D * (D + 1) / 2; d++)
            square[d] += sign * more_square[d];
    }

    /* Adds the log predictive of an outcome in eight clusters. A block holds means by dimension, eight lanes each, then
       the rows of the factor, then level, 1 / (kappa0 + n), gain, base and degree. */
    static inline void score_outcome(const double *block, const double *x, ptrdiff_t D, double zeta, int is_latent,
                                     double *work, double *power)
    {
        EACH_LANE(h) {
            const double *row = block + 8 * D + h;
            double *u = work + h;
            const double *level = row + 4 * D * (D + 1);
            lanes spread = LANES_AT(level + 8), off = {0};
            for (ptrdiff_t r = 0; r < D; r++, row += 8 * r) {
                off = x[r] - LANES_AT(block + 8 * r + h);
                for (ptrdiff_t c = 0; c < r; c++)
                    off -= LANES_AT(row + 8 * c) * LANES_AT(u + 8 * c);
                if (r < D - 1) {
                    const lanes v = off * LANES_AT(row + 8 * r);
                    LANES_TO(u + 8 * r) = v;
                    spread += v * v;
                }
            }
            const lanes widened = 1.0 + zeta * spread, q = LANES_AT(level + 16) * off * off / widened;
            lanes total = LANES_AT(power + h) + LANES_AT(level) - 0.5 * lanes_log(widened);
            if (is_latent)
                total -= q;
            else
                total -= LANES_AT(level + 32) * lanes_log(LANES_AT(level + 24) + q);
            LANES_TO(power + h) = total;
        }
    }

    /* h of one cluster, and how far the outcome is from its mean. */
    static inline double place_outcome(const double *block, const double *x, ptrdiff_t D, double *u, double *off)
    {
        const double *row = block + 8 * D;
        double spread = row[4 * D * (D + 1) + 8];
        for (ptrdiff_t r = 0; r < D; r++, row += 8 * r) {
            *off = x[r] - block[8 * r];
            for (ptrdiff_t c = 0; c < r; c++)
                *off -= row[8 * c] * u[c];
            if (r < D - 1) {
                u[r] = *off * row[8 * r];
                spread += u[r] * u[r];
            }
        }
        return spread;
    }
    """
    void add_products(int64_t *sum, whole *square, const int64_t *more, const whole *more_square, Py_ssize_t D,
                      int64_t sign) noexcept nogil
    void score_outcome(const double *block, const double *x, Py_ssize_t D, double zeta, bint is_latent, double *work,
                       double *power) noexcept nogil
    double place_outcome(const double *block, const double *x, Py_ssize_t D, double *u, double *off) noexcept nogil

# An outcome's own share is taken out in closed form while that keeps its digits.
cdef double LEAST_LEFT = 1e-4
cdef double LOG_TWO_PI = log(2.0 * M_PI)


def _tables(Py_ssize_t N, data, double kappa0, double a0, double zeta):
    """The factors that depend on a number of outcomes, 0 to N + 1."""
    cdef Py_ssize_t n
    cdef double a, w, log_cell = 0.5 * LOG_TWO_PI, log_ridge = data.log_ridge
    cdef double[::1] inverse = np.zeros(N + 2), log_c = np.empty(N + 2), log_n = np.empty(N + 2)
    cdef bint is_latent = data.is_latent
    if not is_latent:
        # b0 is in units
        log_cell += log(data.unit)
    for n in range(N + 2):
        w = zeta * n
        a = a0 + 0.5 * w
        inverse[n] = 1.0 / n if n else 0.0
        log_c[n] = -zeta * log_cell
        log_n[n] = 0.5 * (log(kappa0) + log_ridge - log(kappa0 + w)) - w * log_cell
        if not is_latent:
            log_c[n] += lgamma(a + 0.5 * zeta) - lgamma(a)
            log_n[n] += lgamma(a) - lgamma(a0) + a0 * log(data.b0)
    return {"inverse": np.asarray(inverse), "log_c": np.asarray(log_c), "log_n": np.asarray(log_n)}


cdef double log_normal_tail(double t) noexcept nogil:
    """log of the standard normal probability above t."""
    if t < 25.0:
        return log(0.5 * erfc(t / sqrt(2.0)))
    return -0.5 * t * t - log(t) - 0.5 * LOG_TWO_PI + log1p(-1.0 / (t * t))


cdef double draw_positive(Rng rng, double mean) noexcept nogil:
    """A normal number of this mean and variance 1, given that it is positive (Robert 1995)."""
    cdef double value, rate
    if mean > -0.5:
        value = mean + rng.draw_normal()
        while value <= 0.0:
            value = mean + rng.draw_normal()
        return value
    rate = 0.5 * (sqrt(mean * mean + 4.0) - mean)
    while True:
        value = rng.draw_gamma(1.0) / rate
        if rng.draw_coin(exp(-0.5 * (value - mean - rate) * (value - mean - rate))):
            return value


@cython.final
cdef class Regression(Sums):
    """Statistics and scores of an outcome. `data`: of ``outcome_cells.prepare``; `N` rows, of which the first `known`
    are data: new ones have no latent outcome; `total`: rows that a cluster may come to hold."""

    def __init__(self, data, Py_ssize_t N, Py_ssize_t known, Py_ssize_t total, double kappa0, double a0, double zeta):
        cdef Py_ssize_t i
        self.data, self.D, self.N, self.known, self.zeta = data, data.D, N, known, zeta
        self.squares = self.D * (self.D + 1) // 2
        self.rows = self.D + self.squares + 5
        self.is_latent, self.unit, self.reach = data.is_latent, data.unit, data.reach
        self.b0, self.grain, self.kappa0, self.a0 = data.b0, data.grain, kappa0, a0
        self.answer = <const int8_t *> bytes_of(data.answer)
        self.m0, self.ridge = doubles_of(data.m0), doubles_of(data.ridge)
        by_count = share(_tables, total, data, kappa0, a0, zeta)
        self.tables = (by_count,)
        self.inverse, self.log_c, self.log_n = (
            doubles_of(by_count.inverse), doubles_of(by_count.log_c), doubles_of(by_count.log_n))
        self.work, self.mean = self.memory.doubles(8 * self.D), self.memory.doubles(self.D)
        self.scatter = self.memory.doubles(self.squares)
        self.both_sums = <int64_t *> self.memory.doubles(self.D)
        self.both_squares = <whole *> self.memory.doubles(2 * self.squares)
        self.x = self.memory.doubles(N * self.D)
        memcpy(self.x, doubles_of(data.x), 8 * N * self.D)
        self.keep(&self.square, WHOLES, self.squares, BY_COLUMN)
        self.keep(&self.sum, LONGS, self.D, BY_COLUMN)
        self.keep(&self.n, INTS)
        self.keep(&self.at, ROOM, self.rows, BY_LANE)
        self.keep(&self.stale, STALE)
        self.keep(&self.drawn, ROOM, self.D, BY_COLUMN)
        for i in range(known if self.is_latent else 0):
            self.n_latent += self.answer[i] >= 0

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        """Count the outcome of item i, if it has one."""
        if self.is_observed(i):
            self.n[k] += sign
            count_full(self.sums_of(k), self.squares_of(k), self.x + i * self.D, self.D, sign)
            self.stale[k] = True

    # -- probabilities
    cdef double factor(self, const int64_t *sum, const whole *square, Py_ssize_t n) noexcept nogil:
        """``mean`` and ``scatter``: posterior means and the factor of S, of n outcomes with these sums; the log of the
        product of all pivots."""
        cdef Py_ssize_t d, c, at = 0
        cdef double w = self.zeta * n, pull = self.kappa0 * w / (self.kappa0 + w)
        moments_full(sum, square, self.D, n, self.inverse[n], self.mean, self.scatter)
        for d in range(self.D):
            self.mean[d] -= self.m0[d]
            for c in range(d + 1):
                self.scatter[at + c] = self.zeta * self.scatter[at + c] + pull * self.mean[d] * self.mean[c]
            self.scatter[at + d] += self.ridge[d]
            at += d + 1
        self.scatter[at - 1] += w * self.grain
        for d in range(self.D):
            self.mean[d] = self.m0[d] + w * self.mean[d] / (self.kappa0 + w)
        return factorise(self.scatter, self.D)

    cdef double marginal(self, const int64_t *sum, const whole *square, Py_ssize_t n) noexcept nogil:
        """Log marginal likelihood of n outcomes with these sums."""
        cdef double log_det = self.factor(sum, square, n)
        cdef double last = self.scatter[self.squares - 1], log_last = -2.0 * log(last)
        cdef double total = self.log_n[n] - 0.5 * (log_det - log_last)
        if self.is_latent:
            return total - 0.5 * (self.unit * self.unit / (last * last) - 1.0)
        return total - (self.a0 + 0.5 * self.zeta * n) * (log_last - log(2.0))

    cdef double log_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Log marginal likelihood of cluster a, joined with cluster b unless b is -1."""
        if b < 0:
            return self.marginal(self.sums_of(a), self.squares_of(a), self.n[a])
        memcpy(self.both_sums, self.sums_of(a), 8 * self.D)
        memcpy(self.both_squares, self.squares_of(a), 16 * self.squares)
        add_products(self.both_sums, self.both_squares, self.sums_of(b), self.squares_of(b), self.D, 1)
        return self.marginal(self.both_sums, self.both_squares, self.n[a] + self.n[b])

    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        """Bring what scores an item against cluster k up to date."""
        cdef Py_ssize_t d, n = self.n[k]
        cdef double b
        cdef double *block = self.block_of(k)
        if not self.stale[k]:
            return
        self.stale[k] = False
        self.factor(self.sums_of(k), self.squares_of(k), n)
        for d in range(self.D):
            block[8 * d] = self.mean[d]
        for d in range(self.squares):
            block[8 * (self.D + d)] = self.scatter[d]
        block = self.level_of(k)
        b = 0.5 / (self.scatter[self.squares - 1] * self.scatter[self.squares - 1])
        block[0] = self.log_c[n]
        block[8] = 1.0 / (self.kappa0 + self.zeta * n)
        if self.is_latent:
            block[16] = 0.5 * self.unit * self.unit
            return
        block[0] -= 0.5 * self.zeta * log(b)
        block[16] = 0.5 * self.zeta / b
        block[24] = 1.0 + 0.5 * self.zeta * self.grain / b
        block[32] = self.a0 + 0.5 * self.zeta * (n + 1)

    cdef void add_scores(self, Py_ssize_t i, Py_ssize_t block, double *power) noexcept nogil:
        """Add the log predictive of item i in the eight clusters from `block` on, which have been settled."""
        if self.is_observed(i):
            score_outcome(self.at + block * self.rows, self.x + i * self.D, self.D, self.zeta, self.is_latent,
                          self.work, power)

    cdef double place(self, Py_ssize_t i, Py_ssize_t k, double *off) noexcept nogil:
        """Return h of item i in cluster k; and how far its outcome is from its mean there, in units."""
        self.settle(k)
        return place_outcome(self.block_of(k), self.x + i * self.D, self.D, self.work, off)

    cdef bint add_own_score(self, Py_ssize_t i, Py_ssize_t k, double *total) noexcept nogil:
        """Add the log predictive of item i in cluster k, which counts it, given the others there, in closed form; False
        where that would lose digits."""
        cdef double off, left, b, rest, a = self.a0 + 0.5 * self.zeta * self.n[k]
        if not self.is_observed(i):
            return True
        left = 1.0 - self.zeta * self.place(i, k, &off)
        if not left >= LEAST_LEFT:
            return False
        total[0] += self.log_c[self.n[k] - 1] + 0.5 * log(left)
        if self.is_latent:
            total[0] -= 0.5 * self.unit * self.unit * off * off / left
            return True
        b = 0.5 * self.zeta / self.level_of(k)[16]
        rest = b - 0.5 * self.zeta * (self.grain + off * off / left)
        if not rest >= LEAST_LEFT * b:
            return False
        total[0] += (a - 0.5 * self.zeta) * log(rest) - a * log(b)
        return True

    cdef double log_density(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Return the log predictive density of an outcome that cluster k does not count; the posterior of the
        parameters has the power."""
        cdef double off, b, widened, a = self.a0 + 0.5 * self.zeta * self.n[k]
        if not self.is_observed(i):
            return 0.0
        widened = 1.0 + self.place(i, k, &off)
        b = 0.5 * self.zeta / self.level_of(k)[16]
        return (lgamma(a + 0.5) - lgamma(a) - 0.5 * (LOG_TWO_PI + log(b * widened)) - log(self.unit)
                - (a + 0.5) * log1p(0.5 * (self.grain + off * off / widened) / b))

    cdef double log_probability(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Log probability of the binary outcome of item i in cluster k, which does not count it; 0: it is missing."""
        cdef double off, spread
        cdef double *y = self.x + (i + 1) * self.D - 1
        cdef double value = y[0]
        if self.answer[i] < 0:
            return 0.0
        y[0] = 0.0
        spread = self.place(i, k, &off)
        y[0] = value
        # `off` is minus the mean
        off *= self.unit / sqrt(1.0 + spread)
        return log_normal_tail(off if self.answer[i] else -off)

    # -- latent outcomes
    cdef void draw_coefficients(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """``drawn``: slopes of cluster k, then its intercept, in units, given its outcomes."""
        cdef Py_ssize_t r, s, n = self.n[k], p = self.D - 1
        cdef double *drawn = self.drawn + k * self.D
        cdef const double *row
        cdef double v, deviation = 1.0 / self.unit
        self.factor(self.sums_of(k), self.squares_of(k), n)
        # what the factor leaves of the outcome: its row over the effects' part, and the reciprocal root of 2 b_n
        row = self.scatter + p * (p + 1) // 2
        if not self.is_latent:
            deviation = sqrt(0.5 / rng.draw_gamma(self.a0 + 0.5 * self.zeta * n)) / row[p]
        for r in range(p - 1, -1, -1):
            v = row[r] + deviation * rng.draw_normal()
            for s in range(r + 1, p):
                v -= self.scatter[s * (s + 1) // 2 + r] * drawn[s]
            drawn[r] = v * self.scatter[r * (r + 1) // 2 + r]
        drawn[p] = self.mean[p] + deviation * rng.draw_normal() / sqrt(self.kappa0 + self.zeta * n)
        for r in range(p):
            drawn[p] -= drawn[r] * self.mean[r]

    cdef void refresh(self, Rng rng, const int32_t *z, Py_ssize_t K) noexcept nogil:
        """Draw the coefficients of all clusters, then the latent outcomes given these. A draw beyond the reach is a
        rejected proposal."""
        cdef Py_ssize_t i, k, d
        cdef const double *drawn
        cdef double mean, value
        for k in range(K):
            self.draw_coefficients(rng, k)
        for i in range(self.known):
            if self.answer[i] < 0 or z[i] < 0:
                continue
            drawn = self.drawn + z[i] * self.D
            mean = drawn[self.D - 1]
            for d in range(self.D - 1):
                mean += drawn[d] * self.x[i * self.D + d]
            mean *= self.unit
            value = draw_positive(rng, mean if self.answer[i] else -mean)
            value = max(1.0, rint(value / self.unit))
            if value <= self.reach:
                self.put(i, z[i], value if self.answer[i] else -value)

    cdef void put(self, Py_ssize_t i, Py_ssize_t k, double value) noexcept nogil:
        """Set the latent outcome of item i, which is in cluster k, or in none (-1)."""
        if k >= 0:
            self.tell(i, k, -1)
        self.x[(i + 1) * self.D - 1] = value
        if k >= 0:
            self.tell(i, k, 1)

    cdef bint equals(self, Regression other) noexcept nogil:
        """Whether the latent outcomes are the same."""
        cdef Py_ssize_t i
        for i in range(self.known if self.is_latent else 0):
            if self.answer[i] >= 0 and self.x[(i + 1) * self.D - 1] != other.x[(i + 1) * self.D - 1]:
                return False
        return True

    @property
    def latent(self):
        """ndarray of float64, shape (n_latent,): the latent outcomes of the rows whose outcome is known, a copy."""
        cdef Py_ssize_t i
        return np.array([self.x[(i + 1) * self.D - 1] * self.unit
                         for i in range(self.known if self.is_latent else 0) if self.answer[i] >= 0])

    cdef int take_latent(self, values, const int32_t *z) except -1:
        """Set the latent outcomes of rows in these clusters; a ValueError for what a chain cannot visit."""
        cdef Py_ssize_t i, t = 0
        given = np.rint(as_numbers("parameters", values, self.n_latent) / self.unit)
        cdef const double[::1] cells = given
        for i in range(self.known):
            if self.answer[i] >= 0:
                if not 1.0 <= (cells[t] if self.answer[i] else -cells[t]) <= self.reach:
                    raise ValueError("parameters: expected latent outcomes, positive where the outcome is 1")
                self.put(i, z[i], cells[t])
                t += 1
        return 0

    def left_out_probabilities(self, labels, Py_ssize_t K):
        """Log probabilities of the binary outcome of every item in clusters of these labels, and in column K, a new
        one, its own contribution excluded: ndarray of float64, shape (N, K + 1)."""
        cdef Py_ssize_t i, k
        cdef const int32_t[::1] z = labels
        cdef double[:, ::1] out = np.empty((len(labels), K + 1))
        for i in range(len(labels)):
            self.tell(i, z[i], -1)
            for k in range(K + 1):
                out[i, k] = self.log_probability(i, k)
            self.tell(i, z[i], 1)
        return np.asarray(out)

    # -- answers
    def predictive(self, Py_ssize_t first, columns):
        """Predict the outcomes of the items from `first` on in clusters of these numbers. Returns location and scale,
        of shape (N - first, len(columns)), in the units of the data, of a binary outcome of the latent one; and degrees
        of freedom of Student's t, of shape (len(columns),), infinite for a latent outcome."""
        cdef Py_ssize_t i, t, k
        cdef double off, spread, value, variance
        cdef double *y
        cdef double[:, ::1] location = np.empty((self.N - first, len(columns))), scale = np.empty_like(location)
        freedom = np.full(len(columns), np.inf)
        for t in range(len(columns)):
            k = columns[t]
            self.settle(k)
            variance = 1.0
            if not self.is_latent:
                freedom[t] = 2.0 * self.a0 + self.zeta * self.n[k]
                variance = self.zeta / self.level_of(k)[16] / freedom[t] * self.unit * self.unit
            for i in range(first, self.N):
                y = self.x + (i + 1) * self.D - 1
                value = y[0]
                y[0] = 0.0
                spread = self.place(i, k, &off)
                y[0] = value
                location[i - first, t] = self.data.centre - off * self.unit
                scale[i - first, t] = sqrt(variance * (1.0 + spread))
        return np.asarray(location), np.asarray(scale), freedom

    def draw(self, Rng rng not None, Py_ssize_t K):
        """Coefficients of clusters 0 to K - 1, drawn from their posterior: ndarray of float64, shape (K, D): the
        intercept, where real effects are at their means and others at their first level, then slopes, in the units of
        the data."""
        cdef Py_ssize_t k, d, p = self.D - 1
        cdef double[:, ::1] out = np.empty((K, self.D))
        cdef const double[::1] units = self.data.effect_units
        for k in range(K):
            self.draw_coefficients(rng, k)
            out[k, 0] = self.data.centre + self.unit * self.drawn[k * self.D + p]
            for d in range(p):
                out[k, 1 + d] = self.unit * self.drawn[k * self.D + d] / units[d]
        return np.asarray(out)
