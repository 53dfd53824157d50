"""Mixture of products of Poisson distributions with gamma priors, rates integrated out.

x_id ~ Poisson(r_kd), r_kd ~ Gamma(shape, rate_d). With s_kd the sum of column d over the n items of cluster k:

    p(x | z) = prod_i prod_d 1 / x_id!  prod_k prod_d rate_d^shape (shape)_(s_kd) / (rate_d + n)^(shape + s_kd)
"""
from libc.math cimport log, log1p
from libc.stdint cimport int8_t
from libc.stdlib cimport free

import numpy as np
from scipy.stats import nbinom

from splitmerge_cli.core.memory cimport doubles_of, larger
from splitmerge_cli.models.count_vectors cimport CountVectors

from splitmerge_cli import priors
from splitmerge_cli.core.options import Number, Numbers, read_options
from splitmerge_cli.core.shared import share
from splitmerge_cli.models.count_vectors import prepare_counts


def _rates(Py_ssize_t D, rate):
    """The rate of each column."""
    return {"rate": np.array(np.broadcast_to(rate, D), dtype=np.float64)}


def find_rates(values, shape, rate):
    """Return the rate of each column's prior.

    Parameters
    ----------
    values : ndarray or csr_array of int, shape (N, D)
    shape : float
    rate : None, float or sequence of float
        None: `shape` over the mean of each column, 1 for a column of zeros.

    Returns
    -------
    list of float, D of them

    Raises
    ------
    ValueError
        For another number of rates than of columns.

    Examples
    --------
    >>> find_rates(np.array([[1, 0], [3, 0]]), 1.0, None)
    [0.5, 1.0]
    """
    D = values.shape[1]
    if rate is None:
        mean = np.asarray(values.mean(axis=0), dtype=np.float64).reshape(-1)
        return (shape / np.where(mean > 0.0, mean, shape)).tolist()
    given = np.atleast_1d(np.asarray(rate, dtype=np.float64))
    if len(given) not in (1, D):
        raise ValueError(f"model.rate: {len(given)} numbers; expected one, or one for each of the {D} columns")
    return np.broadcast_to(given, D).tolist()


cdef class GammaPoisson(CountVectors):
    """Mixture of products of Poisson distributions: clusters differ in the rate of every column, so in totals, too.

    Parameters
    ----------
    x : array_like of int, or csr_array of int, shape (N, D)
        Whole numbers from 0.
    **options
        See ``OPTIONS``. By default the mean of a rate's prior is that of its column.

    Raises
    ------
    ValueError
        For data that are no counts or a parameter out of range.

    Notes
    -----
    Cost: an item against K clusters O(K) for each of its counts that is not 0, and O(D) for each cluster that has
    changed; a cluster's likelihood O(D). Memory: 8 D (K + 3) for the sums; shared by the models of the same data, 8
    bytes a count that is not 0 and 24 an item.
    """

    OPTIONS = (
        *priors.OPTIONS,
        Number("shape", 1.0, "shape of the rates' gamma prior", least=1e-3, most=1e6),
        Numbers("rate", None, "rate of that prior, a number or one per column; null: shape over the column's mean",
                optional=True, least=1e-9, most=1e9),
    )

    cdef readonly double shape
    cdef const double *rate             # [D]
    cdef double *level                  # [cap] log predictive of an item without counts
    cdef int8_t *stale                  # [cap] whether that is behind the statistics

    def __init__(self, x, **options):
        given = read_options("model", self.OPTIONS, options)
        data = prepare_counts(x, False)
        cdef Py_ssize_t N = len(data.total)
        self.shape = given["shape"]
        values = x if hasattr(x, "mean") else np.asarray(x)
        self.vectors = values
        rates = share(_rates, data.D, tuple(find_rates(values, self.shape, given["rate"])))
        self._hold(rates)
        self.rate = doubles_of(rates.rate)
        self.take_counts(data, self.shape)
        self._allocate(N, N)
        self._set_prior(given["prior"].build(N, given["concentration"]))
        self._start()

    @classmethod
    def with_defaults_of(cls, data, **params):
        given = read_options("model", cls.OPTIONS, params)
        return params | {"rate": find_rates(data.values, given["shape"], given["rate"])}

    @classmethod
    def reference_log_lik(cls, values, labels, *, shape, rate, **options):
        """float: log likelihood by negative binomial predictives of the items one after the other, for tests."""
        total, rate = 0.0, np.asarray(find_rates(values, shape, rate))
        for k in set(labels):
            total_shape, total_rate = np.full(values.shape[1], shape), rate.copy()
            for row in values[labels == k]:
                total += nbinom.logpmf(row, total_shape, total_rate / (total_rate + 1.0)).sum()
                total_shape += row
                total_rate += 1.0
        return total

    def __dealloc__(self):
        free(self.level)
        free(self.stale)

    # -- statistics: whatever changes a cluster leaves its level behind
    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef Py_ssize_t k, old = self.cap
        self.level = <double *> larger(self.level, 8 * old, 8 * cap)
        self.stale = <int8_t *> larger(self.stale, old, cap)
        for k in range(old, cap):
            self.stale[k] = True
        return CountVectors.grow(self, cap)

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        CountVectors.clear(self, k)
        self.stale[k] = True

    cdef void add(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        CountVectors.add(self, i, k)
        self.stale[k] = True

    cdef void remove(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        CountVectors.remove(self, i, k)
        self.stale[k] = True

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        CountVectors.copy(self, src, dst)
        self.stale[dst] = True

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src) noexcept nogil:
        CountVectors.absorb(self, dst, src)
        self.stale[dst] = True

    # -- probabilities
    cdef double find_level(self, Py_ssize_t k) noexcept nogil:
        """sum_d (shape + s_kd) log((rate_d + n) / (rate_d + n + 1))."""
        cdef Py_ssize_t d, n = self.size[k]
        cdef double total = 0.0
        cdef const long long *row = <const long long *> self.sums + k
        for d in range(self.D):
            total -= (self.shape + row[0]) * log1p(1.0 / (self.rate[d] + n))
            row += self.cap
        return total

    cdef void score_clusters(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t m, double *out) noexcept nogil:
        cdef Py_ssize_t k
        cdef long long t
        CountVectors.score_clusters(self, i, first, m, out)
        for k in range(first, first + m):
            if self.stale[k]:
                self.level[k] = self.find_level(k)
                self.stale[k] = False
            out[k - first] += self.level[k]
            for t in range(self.start[i], self.start[i + 1]):
                out[k - first] -= self.value[t] * log(self.rate[self.column[t]] + self.size[k] + 1)

    cdef double log_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Log likelihood of cluster a, joined with cluster b unless b is -1."""
        cdef Py_ssize_t d, n = self.size[a] + (self.size[b] if b >= 0 else 0)
        cdef double total = self.log_column_terms(a, b), s
        for d in range(self.D):
            s = self.sums[d * self.cap + a] + (self.sums[d * self.cap + b] if b >= 0 else 0)
            # (rate / (rate + n))^shape / (rate + n)^s
            total -= self.shape * log1p(n / self.rate[d]) + s * log(self.rate[d] + n)
        return total

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        return self.log_of(k, -1)

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return self.log_of(a, b)
