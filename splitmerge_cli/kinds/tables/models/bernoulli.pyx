"""Mixture of products of Bernoulli attributes with Beta priors, probabilities integrated out.

p(x | z) = prod_k prod_d B(n_kd1 + beta1, n_kd0 + beta0) / B(beta1, beta0); z ~ Chinese restaurant process, or uniform
over partitions. ``mixed.pyx`` handles rows with missing cells, and likelihoods to a power. Sources: Wang and
Russell 2015, section 5.2; Herlau et al. 2014, section 3.1.
"""
cimport cython
from libc.math cimport exp, fabs, lgamma, log, log1p, log10, sqrt
from libc.stdint cimport int32_t, uint8_t

import numpy as np

from splitmerge_cli.core.blocks cimport weigh_powers
from splitmerge_cli.core.capabilities cimport TILE_ITEMS, DrawnParameters, Shards
from splitmerge_cli.core.log_scale cimport log_rising
from splitmerge_cli.core.memory cimport bytes_of, doubles_of
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport DOUBLES, ROOM

from splitmerge_cli import priors
from splitmerge_cli.core.options import Positive, read_options
from splitmerge_cli.core.checks import Rows
from splitmerge_cli.core.shared import as_array, as_frozen, share
from splitmerge_cli.kinds.tables.models.normal import POWER
from splitmerge_cli.kinds.tables.simulated import simulate_bits

cdef extern from "tiles.h":
    void tile_binary(const double *theta, Py_ssize_t D, const double *x, double log_weight, const double *floor,
                     double *out) noexcept nogil

cdef extern from *:
    """
    #include <stdint.h>
    #include <stddef.h>
    #include <string.h>
    /* prod_d (count[2 d + x_d][l] + beta[x_d][l]), in several partial products to hide the latency of a multiplication.
       A column that counts the item itself has one less in `beta`. Each lane rounds alike on every instruction set. A
       value selects its row by a multiplication: a branch on data is unpredictable. */
    #include "simd_math.h"
    typedef double pair_t __attribute__((vector_size(16), aligned(16)));

    /* Eight columns from `count`; beta is [2, 8]. */
    static inline void product_of_lanes(const double *count, const uint8_t *x, ptrdiff_t D, ptrdiff_t cap,
                                        const double *beta, double *out)
    {
        const ptrdiff_t step = 2 * cap;
        EACH_LANE(h) {
            const double *at = count + h, *b = beta + h;
            lanes p0 = (lanes){0} + 1.0, p1 = p0, p2 = p0, p3 = p0;
            ptrdiff_t d = 0;
            #define TERM(d, row) (LANES_AT(at + (row) * step + x[d] * cap) + LANES_AT(b + 8 * x[d]))
            for (; d + 4 <= D; d += 4, at += 4 * step) {
                p0 *= TERM(d, 0);
                p1 *= TERM(d + 1, 1);
                p2 *= TERM(d + 2, 2);
                p3 *= TERM(d + 3, 3);
            }
            for (; d < D; d++, at += step)
                p0 *= TERM(d, 0);
            LANES_TO(out + h) = (p0 * p1) * (p2 * p3);
        }
    }

    /* The logarithm of the same, by products of `piece` attributes. */
    static inline void log_of_lanes(const double *count, const uint8_t *x, ptrdiff_t D, ptrdiff_t piece, ptrdiff_t cap,
                                    const double *beta, double *out)
    {
        double product[8] __attribute__((aligned(64)));
        memset(out, 0, sizeof product);
        for (ptrdiff_t from = 0; from < D; from += piece) {
            const ptrdiff_t n = from + piece < D ? piece : D - from;
            product_of_lanes(count + 2 * from * cap, x + from, n, cap, beta, product);
            EACH_LANE(h)
                LANES_TO(out + h) += lanes_log(LANES_AT(product + h));
        }
    }

    /* The columns at `ca` and `cb`; beta is [2, 2]. */
    static inline void product_of_pair(const double *ca, const double *cb, const uint8_t *x, ptrdiff_t D,
                                       ptrdiff_t cap, const double *beta, double *out)
    {
        const pair_t *b = (const pair_t *)beta;
        const ptrdiff_t step = 2 * cap;
        pair_t p0 = {1, 1}, p1 = p0;
        ptrdiff_t d = 0, at = 0;
        #define PAIR(d, at) ((pair_t){ca[(at) + x[d] * cap], cb[(at) + x[d] * cap]} + b[x[d]])
        for (; d + 2 <= D; d += 2, at += 2 * step) {
            p0 *= PAIR(d, at);
            p1 *= PAIR(d + 1, at + step);
        }
        if (d < D)
            p0 *= PAIR(d, at);
        *(pair_t *)out = p0 * p1;
    }
    """
    void product_of_lanes(const double *count, const uint8_t *x, Py_ssize_t D, Py_ssize_t cap,
                          const double *beta, double *out) noexcept nogil
    void log_of_lanes(const double *count, const uint8_t *x, Py_ssize_t D, Py_ssize_t piece, Py_ssize_t cap,
                      const double *beta, double *out) noexcept nogil
    void product_of_pair(const double *ca, const double *cb, const uint8_t *x, Py_ssize_t D, Py_ssize_t cap,
                         const double *beta, double *out) noexcept nogil


def _prepare(values, bint shard):
    """The table of 0 and 1 as uint8, itself where it is such and read-only; a ValueError for any other."""
    if shard and not len(values):
        # no pointer leads into an empty array
        return {"x": np.zeros((1, values.shape[1]), dtype=np.uint8)}
    if values.ndim != 2 or values.size == 0:
        raise ValueError("x: expected a table of 0 and 1 with at least one row and one column")
    # of bytes, without a second table
    if not (values.max() <= 1 if values.dtype == np.uint8 else ((values == 0) | (values == 1)).all()):
        raise ValueError("x: a value is neither 0 nor 1")
    return {"x": as_frozen(values, np.uint8)}


def _tables(Py_ssize_t N, Py_ssize_t D, Py_ssize_t piece, double beta1, double beta0):
    """Factors that depend on a count from 0 to N + 1."""
    cdef Py_ssize_t n
    cdef double both = beta1 + beta0
    cdef double[::1] log_den = np.empty(N + 2), power = np.empty(N + 2)
    cdef double[::1] log_rise1 = np.empty(N + 2), log_rise0 = np.empty(N + 2), log_rise_all = np.empty(N + 2)
    for n in range(N + 2):
        log_den[n] = log(n + both)
        power[n] = (n + both) ** -<double> min(D, piece)
    log_rising(beta1, N + 1, &log_rise1[0])
    log_rising(beta0, N + 1, &log_rise0[0])
    log_rising(both, N + 1, &log_rise_all[0])
    return {"log_den": np.asarray(log_den), "power": np.asarray(power), "log_rise1": np.asarray(log_rise1),
            "log_rise0": np.asarray(log_rise0), "log_rise_all": np.asarray(log_rise_all)}


cdef class Bernoulli(Model):
    """Mixture of products of Bernoulli attributes. `x`: 0 and 1, shape (N, D).

    Cost: an item against K clusters O(D K), in blocks of eight clusters; a cluster's likelihood O(D). Memory: 12 bytes
    an item, 16 D (K + 3) for the counts; shared by the models of the same data, the data and 72 bytes an item. A
    product over attributes is a plain product while it cannot leave the range of a double (35 attributes at N =
    10,000); beyond that the logs of such products are added. Rows of which cells are missing, NaN, or a
    power below 1: ``from_data``. Source: Wang & Russell 2015, section 5.2; Herlau et al. 2014, section 3.1.
    """

    kind = "binary"
    why_not_added = ""
    READS_MISSING = True
    CAPABILITIES = (BernoulliParameters, BernoulliShards)
    simulate = staticmethod(simulate_bits)
    CALIBRATION = {"": {"options": {"concentration": "gamma(2,2)", "beta1": 0.5, "beta0": 0.5}, "D": 4}}
    OPTIONS = (
        *priors.OPTIONS,
        Positive("beta1", 0.1, "pseudo-count of ones in every attribute"),
        Positive("beta0", 0.1, "pseudo-count of zeros in every attribute"),
        POWER,
    )

    cdef readonly Py_ssize_t D
    cdef readonly double beta1, beta0
    cdef const uint8_t *x               # [N, D]
    cdef double *count                  # [D, 2, cap] items of a cluster with value v of attribute d; whole numbers
    cdef double beta[2]
    cdef const double *power            # [N + 2] (n + beta1 + beta0)^-D, where products are plain; else to the -piece
    cdef const double *log_den          # [N + 2] log(n + beta1 + beta0)
    cdef const double *log_rise1        # [N + 2] log of beta1 (beta1 + 1) ... (beta1 + n - 1)
    cdef const double *log_rise0
    cdef const double *log_rise_all     # [N + 2] the same of beta1 + beta0
    cdef double *lanes                  # [2] odds: the two products
    cdef double *log_power              # [cap] log predictives of a scan in pieces
    cdef double *lane_beta              # [9, 2, 8] beta by value and lane: entry l one less in lane l, entry 8 as it is
    cdef double *pair_beta              # [3, 2, 2] the same of a pair: as it is, one less in the first, in the second
    cdef Py_ssize_t piece               # attributes whose product cannot leave the range of a double

    def __init__(self, x, **options):
        given = read_options("model", self.OPTIONS, options)
        if given["power"] != 1.0:
            raise ValueError(f"model.power={given['power']:g}: expected 1 of rows in shards")
        values = x.values if isinstance(x, Rows) else as_array(x)
        if isinstance(x, Rows):
            self.total = x.total
        data = share(_prepare, values, isinstance(x, Rows))
        cdef double beta1 = given["beta1"], beta0 = given["beta0"]
        cdef Py_ssize_t n, N = max(self.total, len(values))
        cdef double both = beta1 + beta0, widest
        self.D = values.shape[1]
        self.vectors = values
        self.beta1, self.beta0 = beta1, beta0
        self.beta[0], self.beta[1] = beta0, beta1
        widest = max(fabs(log10(N + both)), fabs(log10(beta1)), fabs(log10(beta0)), fabs(log10(both)), 0.01)
        self.piece = max(1, <Py_ssize_t> (140.0 / widest))
        self.keep(&self.count, DOUBLES, 2 * self.D)
        self.keep(&self.log_power, ROOM)
        self._allocate(len(values), N)
        self._set_prior(given["prior"].build(N, given["concentration"]))
        by_count = share(_tables, N, self.D, self.piece, beta1, beta0)
        self._hold(data)
        self._hold(by_count)
        self.x = bytes_of(data.x)
        self.power, self.log_den = doubles_of(by_count.power), doubles_of(by_count.log_den)
        self.log_rise_all = doubles_of(by_count.log_rise_all)
        self.log_rise1, self.log_rise0 = doubles_of(by_count.log_rise1), doubles_of(by_count.log_rise0)
        self.lanes = self.memory.doubles(2)
        self.lane_beta = self.memory.doubles(144)
        for n in range(144):
            self.lane_beta[n] = self.beta[n // 8 % 2] - (n // 16 == n % 8)
        self.pair_beta = self.memory.doubles(12)
        for n in range(12):
            self.pair_beta[n] = self.beta[n // 2 % 2] - (n // 4 == 1 + n % 2)
        if self.D <= self.piece:
            self._scale_scan_table(by_count, "power", self.power[0])
        self._start()

    @classmethod
    def from_data(cls, data, **params):
        """The model of a Dataset: a ``Mixed`` of rows with missing cells, or with a power below 1."""
        cls._require(data)
        if data.missing or read_options("model", cls.OPTIONS, params)["power"] != 1.0:
            # alone: most tables miss nothing
            from splitmerge_cli.kinds.tables.models.mixed import of_one_type
            return of_one_type(data.values, "binary", **{o.name: o.default for o in cls.OPTIONS} | params)
        return super().from_data(data, **params)

    # -- statistics
    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        cdef Py_ssize_t d, cap = self.cap
        cdef const uint8_t *x = self.x + i * self.D
        cdef double *row = self.count + k
        for d in range(self.D):
            row[x[d] * cap] += sign
            row += 2 * cap

    # -- probabilities
    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d, end, start = 0
        cdef const uint8_t *x = self.x + i * self.D
        cdef double *row = self.count + k
        cdef double p, total = -self.D * self.log_den[self.size[k]]
        while start < self.D:
            p = 1.0
            end = min(start + self.piece, self.D)
            for d in range(start, end):
                p *= row[self.cap if x[d] else 0] + self.beta[x[d]]
                row += 2 * self.cap
            total += log(p)
            start = end
        return total

    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef Py_ssize_t na = self.size[a] - (own == a), nb = self.size[b] - (own == b)
        cdef double *beta = self.pair_beta + 4 * ((own == a) + 2 * (own == b))
        cdef double *p = self.lanes
        cdef double r
        cdef Py_ssize_t start = 0, length
        if self.D <= self.piece:
            product_of_pair(self.count + a, self.count + b, self.x + i * self.D, self.D, self.cap, beta, p)
            if sized:
                return p[1] * self.scan_weight_of(b, own == b) / (p[0] * self.scan_weight_of(a, own == a))
            return p[1] * self.power[nb] / (p[0] * self.power[na])
        r = self.weight_of(b, own == b) / self.weight_of(a, own == a) if sized else 1.0
        while start < self.D:
            length = min(self.piece, self.D - start)
            product_of_pair(self.count + 2 * start * self.cap + a, self.count + 2 * start * self.cap + b,
                            self.x + i * self.D + start, length, self.cap, beta, p)
            if length == self.piece:
                r *= p[1] * self.power[nb] / (p[0] * self.power[na])
            else:
                r *= p[1] / p[0] * exp(length * (self.log_den[na] - self.log_den[nb]))
            if not 1e-150 < r < 1e150:
                return Model.odds(self, i, a, b, own, sized)
            start += length
        return r

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, own = self.z[i], block = own & ~7
        cdef const uint8_t *x = self.x + i * self.D
        cdef double *w = self.w
        cdef double *W = self.W
        cdef double p
        if self.D > self.piece:
            # without the item, not less it: beta may be too small to be left of a difference
            if own >= 0:
                self.leave(i, own)
            for k in range(0, self.K + 1, 8):
                log_of_lanes(self.count + k, x, self.D, self.piece, self.cap, self.lane_beta + 128, self.log_power + k)
            for k in range(self.K + 1):
                self.log_power[k] -= self.D * self.log_den[self.size[k]]
            if own >= 0:
                self.join(i, own)
            weigh_powers(self, self.log_power, own)
            return
        # The item's own cluster is scored without it, which saves taking it out and putting it back.
        for k in range(0, self.K + 1, 8):
            product_of_lanes(self.count + k, x, self.D, self.cap,
                             self.lane_beta + 16 * (own - block if k == block else 8), w + k)
        p = w[max(own, 0)]
        for k in range((self.K + 8) & ~7):
            w[k] *= W[k]
        if own >= 0:
            w[own] = p * self.scan_weight(self.size[own] - 1)
            if self.size[own] == 1:
                w[self.K] = 0.0

    cdef double log_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t _d
        cdef bint both = b >= 0
        cdef double *row = self.count + a
        cdef double *more = self.count + b
        cdef double total = -self.D * self.log_rise_all[self.size[a] + (self.size[b] if both else 0)]
        for _d in range(self.D):
            total += (self.log_rise0[<Py_ssize_t> (row[0] + (more[0] if both else 0.0))]
                      + self.log_rise1[<Py_ssize_t> (row[self.cap] + (more[self.cap] if both else 0.0))])
            row += 2 * self.cap
            more += 2 * self.cap
        return total

    def statistics(self):
        """dict of ndarray: counts, shape (K, D, 2), a copy."""
        return {"counts": np.array([[[self.count[(2 * d + v) * self.cap + k] for v in range(2)] for d in range(self.D)]
                                    for k in range(self.K)])}


@cython.final
cdef class BernoulliParameters(DrawnParameters):
    """Parameters of a cluster that are drawn given its items, and forgotten."""

    cdef Bernoulli model

    def __init__(self, Bernoulli model not None):
        self.model = model
        self.size, self.tile_rows, self.work_size = 2 * model.D, model.D, model.D
        self.posterior_size, self.dimension = 2 * model.D, model.D

    cdef void draw_posterior(self, Rng rng, Py_ssize_t k, double *theta, double *work) noexcept nogil:
        """theta: the log probability of 0 in each attribute, and the log odds of 1."""
        cdef Py_ssize_t d
        cdef double one, zero
        cdef double *row = self.model.count + k
        for d in range(self.model.D):
            zero, one = row[0] + self.model.beta0, row[self.model.cap] + self.model.beta1
            if rng is None:
                zero, one = log(zero), log(one)
            else:
                zero, one = rng.draw_log_gamma(zero), rng.draw_log_gamma(one)
            # log(1 + exp(one - zero)), whichever is the larger
            theta[2 * d + 1] = one - zero
            theta[2 * d] = -(log1p(exp(one - zero)) if one < zero else one - zero + log1p(exp(zero - one)))
            row += 2 * self.model.cap

    cdef void write_posterior(self, Py_ssize_t k, double *posterior, double *work) noexcept nogil:
        """The two shapes of each attribute's beta distribution, the shape of 0 first."""
        cdef Py_ssize_t d
        cdef double *row = self.model.count + k
        for d in range(self.model.D):
            posterior[2 * d], posterior[2 * d + 1] = row[0] + self.model.beta0, row[self.model.cap] + self.model.beta1
            row += 2 * self.model.cap

    cdef double log_density(self, const double *posterior, const double *theta) noexcept nogil:
        """In the logits."""
        cdef Py_ssize_t d
        cdef double zero, one, total = 0.0
        for d in range(self.model.D):
            zero, one = posterior[2 * d], posterior[2 * d + 1]
            total += lgamma(zero + one) - lgamma(zero) - lgamma(one)
            total += (zero + one) * theta[2 * d] + one * theta[2 * d + 1]
        return total

    cdef double to_normal(self, const double *posterior, const double *theta, double *zeta) noexcept nogil:
        """Logits, by about their means and variances."""
        cdef Py_ssize_t d
        cdef double root, total = 0.0
        for d in range(self.model.D):
            root = sqrt(1.0 / posterior[2 * d] + 1.0 / posterior[2 * d + 1])
            zeta[d] = (theta[2 * d + 1] - log(posterior[2 * d + 1] / posterior[2 * d])) / root
            total -= log(root)
        return total

    cdef double from_normal(self, const double *posterior, const double *zeta, double *theta) noexcept nogil:
        cdef Py_ssize_t d
        cdef double root, logit, total = 0.0
        for d in range(self.model.D):
            root = sqrt(1.0 / posterior[2 * d] + 1.0 / posterior[2 * d + 1])
            logit = log(posterior[2 * d + 1] / posterior[2 * d]) + zeta[d] * root
            theta[2 * d + 1] = logit
            theta[2 * d] = -(log1p(exp(logit)) if logit < 0.0 else logit + log1p(exp(-logit)))
            total -= log(root)
        return total

    cdef void load_tile(self, const int32_t *items, Py_ssize_t n, double *tile) noexcept nogil:
        cdef Py_ssize_t t, d, D = self.model.D
        cdef const uint8_t *x
        for t in range(TILE_ITEMS):
            x = self.model.x + items[min(t, n - 1)] * D
            for d in range(D):
                tile[TILE_ITEMS * d + t] = x[d]

    cdef void score_tile(self, const double *tile, const double *theta, double log_weight, const double *floor,
                         double *out) noexcept nogil:
        tile_binary(theta, self.model.D, tile, log_weight, floor, out)

    cdef void count_items(self, const int32_t *items, Py_ssize_t n, Py_ssize_t k, double *work) noexcept nogil:
        cdef Py_ssize_t t, d, D = self.model.D, cap = self.model.cap
        cdef const uint8_t *x
        cdef double *row = self.model.count + k
        # sums of a thread's own: neighbouring columns share lines of the cache
        for d in range(D):
            work[d] = 0.0
        for t in range(n):
            x = self.model.x + items[t] * D
            for d in range(D):
                work[d] += x[d]
        for d in range(D):
            row[0] += n - work[d]
            row[cap] += work[d]
            row += 2 * cap


@cython.final
cdef class BernoulliShards(Shards):
    """Rows in shards."""

    @classmethod
    def build_shard(cls, values, columns, **params):
        return Bernoulli(Rows(values, len(values)), **params)

    @classmethod
    def build_whole(cls, columns, packed, **params):
        if not (np.isin(columns.low, (0, 1)) & np.isin(columns.high, (0, 1))).all():
            raise ValueError("x: a value is neither 0 nor 1")
        return Bernoulli(Rows(np.empty((0, len(columns.low)), dtype=np.uint8), columns.rows), **params)
