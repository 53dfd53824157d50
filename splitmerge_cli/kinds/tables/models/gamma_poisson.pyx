"""Mixture of products of Poisson distributions with gamma priors, rates integrated out.

x_id ~ Poisson(r_kd), r_kd ~ Gamma(shape, rate_d). With s_kd the sum of column d over the n items of cluster k:

    p(x | z) = prod_i prod_d 1 / x_id!  prod_k prod_d rate_d^shape (shape)_(s_kd) / (rate_d + n)^(shape + s_kd)

and (rate_d + n)^(shape + s_kd) = rate_d^(shape + s_kd) (1 + n / rate_d)^(shape + s_kd). Of the first factor
rate_d^shape cancels; the rest is a product over single counts, whatever the partition. With a power zeta
s_kd and n are zeta times as large, and 1 / x! has the power; (1 + zeta n / rate) is held for rate / zeta.

Rows with exposures e_i have x_id ~ Poisson(e_i r_kd): the sum of the exposures of a cluster is in the place of n, and
each count has a factor e_i, whatever the partition.
"""
cimport cython
from libc.math cimport llrint, log, log1p
from libc.stdint cimport int64_t
from libc.string cimport memcpy

import numpy as np
from scipy.special import betaln, gammaln

from splitmerge_cli.core.memory cimport doubles_of
from splitmerge_cli.core.sums cimport ROOM
from splitmerge_cli.kinds.tables.models.count_vectors cimport CountVectors

from splitmerge_cli import priors
from splitmerge_cli.core.options import Number, Numbers, read_options
from splitmerge_cli.core.checks import resolution
from splitmerge_cli.core.shared import freeze, share
from splitmerge_cli.kinds.tables.models.count_vectors import check_counts, prepare_counts
from splitmerge_cli.kinds.tables.models.mixed_cells import APART, ZEROS, default_rates
from splitmerge_cli.kinds.tables.models.normal import POWER
from splitmerge_cli.kinds.tables.simulated import simulate_rates


cdef extern from "log_rise.h":
    void subtract_multiple(double x, const double *row, Py_ssize_t m, double *out) noexcept nogil

LARGEST_TABLE = 1 << 20
"""Entries of each table of logarithms by size and column; for larger sizes they are computed."""


def _tables(rates, Py_ssize_t sizes):
    """The rate of each column, and log(1 + n / rate) and log(1 + 1 / (rate + n)) for n below `sizes`."""
    rate, n = np.array(rates), np.arange(sizes, dtype=np.float64)[:, None]
    return {"rate": rate, "growth": np.log1p(n / rate), "step": np.log1p(1.0 / (rate + n))}


def find_rates(values, shape, rate, exposure=None):
    """Return the rate of each column's prior, a list of D floats. `values` and `shape`: as of the model; `rate`: None,
    a number, or one for each column; None: `shape` over the mean of each column, 1 for a column of zeros, with
    `exposure` (of the rows) a mean by unit."""
    D = values.shape[1]
    if rate is None:
        rows = values.shape[0] if exposure is None else exposure.sum()
        mean = np.asarray(values.sum(axis=0), dtype=np.float64).reshape(-1) / rows
        return (shape / np.where(mean > 0.0, mean, shape)).tolist()
    given = np.atleast_1d(np.asarray(rate, dtype=np.float64))
    if len(given) not in (1, D):
        raise ValueError(f"model.rate: {len(given)} numbers; expected one, or one for each of the {D} columns")
    return np.broadcast_to(given, D).tolist()


cdef class GammaPoisson(CountVectors):
    """Mixture of products of Poisson distributions: clusters differ in the rate of every column, so in totals, too. By
    default the mean of a rate's prior is the mean of its column. `exposure`, float64 of shape (N,), positive: what the
    counts of a row are per unit of.

    Cost: an item against K clusters O(K) for each of its counts that is not 0, and O(D) for each cluster that has
    changed; a cluster's likelihood O(D). All are additions and look-ups while a cluster has less than 2^20 / D items,
    beyond that logarithms. Memory: 16 D (K + 3) for the sums and the columns' logarithms; shared by the models of the
    same data, 8 bytes a count that is not 0, 24 an item and at most 17 MB of tables.
    """

    why_not_added = ""
    simulate = staticmethod(simulate_rates)
    CALIBRATION = {
        "": {"options": {"concentration": "gamma(2,2)", "rate": 0.3}},
        "zeros": {"options": {"concentration": "gamma(2,2)", "rate": 0.3, "zeros": APART}},
    }
    OPTIONS = (
        *priors.OPTIONS,
        Number("shape", 1.0, "shape of the rates' gamma prior", least=1e-3, most=1e6),
        Numbers("rate", None, "rate of that prior, a number or one per column; null: shape over the column's mean",
                optional=True, least=1e-9, most=1e9),
        POWER,
        ZEROS,
    )

    cdef readonly double shape
    TAKES_EXPOSURE = True

    cdef const double *rate             # [D] over zeta
    cdef int64_t *with_exposure         # [N] `constant` with the factors of the exposures
    cdef double grain                   # unit of exposures
    cdef Py_ssize_t sizes               # rows of the tables
    cdef const double *growth           # [sizes, D] log(1 + n / rate)
    cdef const double *step             # [sizes, D] log(1 + 1 / (rate + n))
    # -- of a cluster, where it is settled
    cdef double *level                  # [cap] log predictive of an item without counts
    cdef double *own_level              # [cap] the same, had the cluster one item less and these sums
    cdef double *slope                  # [D, cap] log(1 + (n + 1) / rate), by which a count lowers `level`
    cdef int64_t *until_slope           # [cap] counts to look up one by one before `slope` is filled; 0 or less: it is

    def __init__(self, x, exposure=None, **options):
        given = read_options("model", self.OPTIONS, options)
        if given["zeros"] == APART:
            raise ValueError("model.zeros=apart: expected GammaPoisson.from_data, which makes such models")
        self.shape = given["shape"]
        self.vectors = check_counts(x)
        rates = tuple(find_rates(self.vectors, self.shape, given["rate"], exposure))
        data = prepare_counts(self.vectors, False, rates)
        cdef Py_ssize_t N = len(data.total)
        self.sizes = min(N + 2, max(1, LARGEST_TABLE // data.D))
        tables = share(_tables, tuple(rate / given["power"] for rate in rates), self.sizes)
        self._hold(tables)
        self.rate = doubles_of(tables.rate)
        self.growth, self.step = doubles_of(tables.growth), doubles_of(tables.step)
        self.take_counts(data, self.shape, given["power"])
        if exposure is not None:
            self.take_exposures(data, np.ascontiguousarray(exposure, dtype=np.float64))
        self.keep(&self.level, ROOM)
        self.keep(&self.own_level, ROOM)
        self.keep(&self.slope, ROOM, self.D)
        self.keep(&self.until_slope, ROOM)
        self._allocate(N, N)
        self._set_prior(given["prior"].build(N, given["concentration"]))
        self._start()

    def take_exposures(self, data, const double[::1] exposure):
        """Hold exposures of the rows as whole numbers, and their factors in the rows' constant terms."""
        cdef Py_ssize_t i, N = len(data.total)
        if exposure.shape[0] != N or not (np.asarray(exposure) > 0.0).all() or not np.isfinite(exposure).all():
            raise ValueError(f"exposure: expected {N} positive numbers")
        self.grain = resolution(np.max(exposure), N)
        self.exposure = <int64_t *> self.memory.doubles(N)
        self.with_exposure = <int64_t *> self.memory.doubles(N)
        for i in range(N):
            self.exposure[i] = llrint(exposure[i] / self.grain)
            self.with_exposure[i] = self.constant[i] + llrint(
                self.total[i] * log(exposure[i]) * self.zeta / self.unit)
        self.constant = self.with_exposure

    @classmethod
    def from_data(cls, data, **params):
        """The model of a Dataset: a ``Mixed`` of counts where zeros have a probability of their own."""
        cls._require(data)
        freeze(data.values)
        given = read_options("model", cls.OPTIONS, params)
        if given["zeros"] == APART:
            if data.exposure is not None:
                raise ValueError("model.zeros=apart: expected poisson with data.exposure")
            # alone: most tables have no need of it
            from splitmerge_cli.kinds.tables.models.mixed import of_one_type
            values = np.asarray(data.values, dtype=np.float64)
            return of_one_type(values, "count", **{o.name: o.default for o in cls.OPTIONS} | params)
        return cls(data.values, exposure=data.exposure, **params)

    @classmethod
    def with_defaults_of(cls, data, **params):
        given = read_options("model", cls.OPTIONS, params)
        if given["zeros"] == APART:
            return params | {"rate": default_rates(data.values.T, given)}
        return params | {"rate": find_rates(data.values, given["shape"], given["rate"], data.exposure)}

    @classmethod
    def reference_log_lik(cls, values, labels, *, shape, rate, power=1.0, exposure=None, zeros="poisson", **options):
        """float: log likelihood by the predictives of the items one after the other, for tests; column by column where
        zeros have a probability of their own."""
        if zeros == APART:
            rates = default_rates(values.T, {"shape": shape, "rate": rate, "zeros": zeros})
            found, above_0 = 0.0, values > 0
            for d in range(values.shape[1]):
                there = above_0[:, d]
                if there.any():
                    found += cls.reference_log_lik(
                        values[there, d:d + 1] - 1, labels[there], shape=shape, rate=rates[d], power=power)
                for k in set(labels):
                    n = power * np.bincount(there[labels == k], minlength=2)
                    found += betaln(0.5 + n[0], 0.5 + n[1]) - betaln(0.5, 0.5)
            return found
        total, rate = 0.0, np.asarray(find_rates(values, shape, rate, exposure))
        exposure = np.ones(len(values)) if exposure is None else exposure
        for k in set(labels):
            total_shape, total_rate = np.full(values.shape[1], shape), rate.copy()
            for row, e in zip(values[labels == k], exposure[labels == k]):
                total += power * row.sum() * np.log(e)
                # of power 1 the negative binomial distribution
                total += (total_shape * np.log(total_rate) - gammaln(total_shape) - power * gammaln(row + 1)).sum()
                total_shape += power * row
                total_rate += power * e
                total += (gammaln(total_shape) - total_shape * np.log(total_rate)).sum()
        return total

    # -- logarithms by size and column
    @cython.final
    cdef inline double log_growth(self, Py_ssize_t n, Py_ssize_t d) noexcept nogil:
        return self.growth[n * self.D + d] if n < self.sizes else log1p(n / self.rate[d])

    @cython.final
    cdef inline double log_step(self, Py_ssize_t n, Py_ssize_t d) noexcept nogil:
        return self.step[n * self.D + d] if n < self.sizes else log1p(1.0 / (self.rate[d] + n))

    # -- probabilities
    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        """level: - sum_d (shape + s_kd) log((rate_d + n + 1) / (rate_d + n)); own_level: the same of n - 1 items."""
        cdef Py_ssize_t d, n = self.size[k]
        cdef double level = 0.0, own_level = 0.0, a
        for d in range(self.D):
            a = self.shape + self.zeta * self.sums[d * self.cap + k]
            level -= a * self.log_step(n, d)
            own_level -= a * self.log_step(max(n - 1, 0), d)
        self.level[k], self.own_level[k] = level, own_level
        self.stale[k] = False
        self.until_slope[k] = self.D

    cdef void set_slope(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        for d in range(self.D):
            self.slope[d * self.cap + k] = self.log_growth(self.size[k] + 1, d)

    cdef double log_rest_by_exposure(self, Py_ssize_t i, Py_ssize_t k, bint counted, double power) noexcept nogil:
        """``log_rest`` if rows have exposures; its row has this power, the model's or 1."""
        cdef Py_ssize_t d
        cdef int64_t t
        cdef double own = self.grain * self.exposure[i] * power / self.zeta, total = 0.0
        cdef double others = self.grain * (self.exposure_sum[k] - counted * self.exposure[i])
        for d in range(self.D):
            total -= (self.shape + self.zeta * self.sums[d * self.cap + k]) * log1p(own / (self.rate[d] + others))
        for t in range(self.start[i], self.start[i + 1]):
            d = self.column[t]
            total -= power * self.value[t] * log1p((own + others) / self.rate[d])
            if counted:
                total += self.zeta * self.value[t] * log1p(own / (self.rate[d] + others))
        return total

    cdef double log_rest(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil:
        cdef int64_t t
        if self.exposure != NULL:
            return self.log_rest_by_exposure(i, k, counted, self.zeta)
        # `own_level` has the item's counts in its sums: log(1 + n / rate) in place of log(1 + (n - 1) / rate)
        cdef Py_ssize_t n = self.size[k] - 1 if counted else self.size[k] + 1
        cdef double total
        if self.stale[k]:
            self.settle(k)
        total = self.own_level[k] if counted else self.level[k]
        for t in range(self.start[i], self.start[i + 1]):
            total -= self.zeta * self.value[t] * self.log_growth(n, self.column[t])
        return total

    cdef void log_rests(self, Py_ssize_t i, Py_ssize_t m, double *out) noexcept nogil:
        cdef Py_ssize_t k
        cdef int64_t t, counts = self.start[i + 1] - self.start[i]
        cdef bint has_all = True
        if self.exposure != NULL:
            CountVectors.log_rests(self, i, m, out)
            return
        for k in range(m):
            if self.stale[k]:
                self.settle(k)
            if self.until_slope[k] > 0:
                self.until_slope[k] -= counts
                if self.until_slope[k] <= 0:
                    self.set_slope(k)
                else:
                    has_all = False
        memcpy(out, self.level, 8 * m)
        for t in range(self.start[i], self.start[i + 1]):
            subtract_multiple(self.zeta * self.value[t], self.slope + self.column[t] * self.cap, m, out)
        if has_all:
            return
        for k in range(m):
            if self.until_slope[k] > 0:
                out[k] = self.log_rest(i, k, False)

    cdef double log_rest_density(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        cdef int64_t t
        if self.exposure != NULL:
            return self.log_rest_by_exposure(i, k, False, 1.0)
        # the constant has the rate of each count
        cdef double total = 0.0, n = self.zeta * self.size[k]
        for d in range(self.D):
            total -= ((self.shape + self.zeta * self.sums[d * self.cap + k])
                      * log1p(1.0 / (self.zeta * self.rate[d] + n)))
        for t in range(self.start[i], self.start[i + 1]):
            total -= self.value[t] * log1p((n + 1.0) / (self.zeta * self.rate[self.column[t]]))
        return total

    cdef double log_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t d, n = self.size[a] + (self.size[b] if b >= 0 else 0)
        cdef double total = self.log_column_terms(a, b), exposure = 0.0
        cdef const int64_t *row = self.sums
        if self.exposure != NULL:
            exposure = self.grain * (self.exposure_sum[a] + (self.exposure_sum[b] if b >= 0 else 0))
        for d in range(self.D):
            total -= ((self.shape + self.zeta * (row[a] + (row[b] if b >= 0 else 0)))
                      * (self.log_growth(n, d) if self.exposure == NULL else log1p(exposure / self.rate[d])))
            row += self.cap
        return total
