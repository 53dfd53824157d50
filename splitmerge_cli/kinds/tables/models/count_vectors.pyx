"""Vectors of counts, their sums by cluster, and the loops that mixtures of them share.

A model of such vectors implements three methods in addition to these loops: ``log_of``, the log likelihood of a cluster
or of two as one, ``log_rest``, the part of an item's log predictive other than the terms of its columns (for speed also
``log_rests``, the same for a row of clusters), and ``log_rest_density``, the same of a density that is reported. A
likelihood to the power zeta (``model.power``) weights every count, and every item, by it (docs/derivations.md, "A power
of the likelihood"). Items are held as their counts that are not 0, so that words, species or genes of which most are
absent cost nothing.
"""
from libc.math cimport NAN, lgamma, log

import numpy as np

from splitmerge_cli.core.blocks cimport weigh_powers
from splitmerge_cli.core.log_scale cimport log_rising
from splitmerge_cli.core.memory cimport doubles_of, ints_of, longs_of
from splitmerge_cli.core.sums cimport LONGS, ROOM, STALE

from splitmerge_cli.core.checks import resolution
from splitmerge_cli.core.options import Positive
from splitmerge_cli.core.shared import as_array, share
from splitmerge_cli.data.values import is_sparse

LONGEST_TABLE = 1 << 16
"""Entries of the table of rising factorials; larger sums are worth two logarithms."""
LONGEST_TOTALS = 1 << 18
"""Entries of the table of rising factorials of totals; a difference of two entries is rounded by less than 1e-9 (for
D alpha up to 1e13). Larger totals take two logarithms."""

cdef extern from "log_rise.h":
    void log_rising_by(double a, double zeta, Py_ssize_t n, double *out) noexcept nogil
    void add_log_rises(const double *rise, int64_t length, bint whole, double zeta, double a, const int64_t *sum,
                       int64_t x, Py_ssize_t m, double *out) noexcept nogil


def _prepare(values, bint ordered, rates):
    """Entries that are not 0, row by row, with the total and the constant term of each row, as ``prepare_counts``
    describes it."""
    from scipy.special import gammaln  # a table of real columns does without

    if is_sparse(values):
        row = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
        column, value = values.indices, values.data
    else:
        row, column = np.nonzero(values)
        value = values[row, column]
    N = values.shape[0]
    total = np.bincount(row, value, N).astype(np.int64)
    # of no counts at all bincount makes whole numbers
    constant = -np.bincount(row, gammaln(value + 1.0), N).astype(np.float64)
    if ordered:
        constant += gammaln(total + 1.0)
    if rates:
        constant -= np.bincount(row, value * np.log(rates)[column], N)
    unit = float(resolution(max(np.abs(constant).max(), 1.0), N))
    by_column = np.bincount(column, value, values.shape[1]) if len(column) else np.zeros(1)
    return {
        "start": np.searchsorted(row, np.arange(N + 1)).astype(np.int64),
        # no pointer leads into an empty array
        "column": np.append(column, 0).astype(np.int32), "value": np.append(value, 0).astype(np.int32),
        "total": total, "constant": np.rint(constant / unit).astype(np.int64), "unit": unit,
        "largest": int(by_column.max() + value.max(initial=0)), "all": int(total.sum()), "D": values.shape[1],
    }


def rising_of(double a, Py_ssize_t length, double zeta):
    """Log rising factorials of a, of 0 to length - 1 factors; of a power as in log_rise.h."""
    cdef double[::1] rise = np.empty(length)
    if zeta == 1.0:
        log_rising(a, length - 1, &rise[0])
    else:
        log_rising_by(a, zeta, length - 1, &rise[0])
    return {"rise": np.asarray(rise)}


def log_factorials(const int64_t[::1] counts):
    """log x! of counts, ndarray of float of the same shape."""
    cdef Py_ssize_t i
    cdef double[::1] out = np.empty(counts.shape[0])
    for i in range(counts.shape[0]):
        out[i] = lgamma(counts[i] + 1.0)
    return np.asarray(out)


def tables_of(Py_ssize_t N, double beta0, double beta1, double alpha, totals, double zeta):
    """Logarithms that depend on a number of cells, 0 to N + 1: of it plus each pseudo-count and plus each sum of them,
    and of their rising factorials."""
    cdef Py_ssize_t n, t
    cdef double b
    pseudo = [beta0, beta1, alpha]
    sums = [beta0 + beta1, *(alpha * levels for levels in totals)]
    cdef double[:, ::1] log_of = np.empty((len(pseudo) + len(sums), N + 2)), rise = np.empty_like(log_of)
    for t in range(log_of.shape[0]):
        b = (pseudo + sums)[t]
        for n in range(N + 2):
            log_of[t, n] = log(n + b) if zeta == 1.0 else log_rise_far(b + zeta * n, zeta)
        if zeta == 1.0:
            log_rising(b, N + 1, &rise[t, 0])
        else:
            log_rising_by(b, zeta, N + 1, &rise[t, 0])
    return {"log_of": np.asarray(log_of), "rise": np.asarray(rise)}


def check_counts(x):
    """Return a table of counts as an array or csr_array, not copied where it is one; a ValueError for one that is not
    [N, D] whole numbers from 0 to 2^31 - 1."""
    values = x if is_sparse(x) else as_array(x)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError("x: expected a table of counts with at least one row and one column")
    cells = values.data if is_sparse(values) else values
    if not ((cells >= 0) & (cells <= 2**31 - 1) & (cells == np.floor(cells))).all():
        raise ValueError("x: a value is no whole number from 0 to 2^31 - 1")
    return values


def prepare_counts(values, ordered, rates=()):
    """Return the `Prepared` of a table of counts, which all models of it share. `values`: as ``check_counts`` returns
    them. `ordered`: an item's constant term counts the orders of a multinomial. `rates`, one for each column or none:
    the constant term has each count's in its denominator."""
    return share(_prepare, values, ordered, rates)


cdef class CountVectors(Model):
    """Base class for mixtures on count vectors: statistics, and the loops over clusters. `x`: array or csr_array of
    whole numbers from 0, shape (N, D)."""

    kind = "counts"

    cdef const double *rising_table(self, double a, Py_ssize_t length) except NULL:
        """Log rising factorials of a, of 0 to length - 1 factors, which are held."""
        table = share(rising_of, a, length, self.zeta)
        self._hold(table)
        return doubles_of(table.rise)

    def take_counts(self, data, double pseudo_count, double zeta):
        """Take what ``prepare_counts`` returned, the power, and the table of rising factorials of `pseudo_count`."""
        self.D, self.zeta, self.unit, self.pseudo_count = data.D, zeta, zeta * data.unit, pseudo_count
        self._hold(data)
        self.start, self.column, self.value = longs_of(data.start), ints_of(data.column), ints_of(data.value)
        self.total, self.constant = longs_of(data.total), longs_of(data.constant)
        # a scan adds an item's counts to the sums of its own cluster, too
        self.length = min(data.largest + 1, LONGEST_TABLE)
        self.is_whole = data.largest < self.length
        self.rise = self.rising_table(pseudo_count, self.length)
        self.keep(&self.sums, LONGS, self.D)
        self.keep(&self.total_sum, LONGS)
        self.keep(&self.constant_sum, LONGS)
        self.keep(&self.exposure_sum, LONGS)
        self.keep(&self.stale, STALE)
        self.keep(&self.row, ROOM)

    # -- statistics
    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        cdef int64_t t
        for t in range(self.start[i], self.start[i + 1]):
            self.sums[self.column[t] * self.cap + k] += sign * self.value[t]
        self.total_sum[k] += sign * self.total[i]
        self.constant_sum[k] += sign * self.constant[i]
        if self.exposure != NULL:
            self.exposure_sum[k] += sign * self.exposure[i]

    # -- to be implemented
    cdef double log_rest(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil:
        """The terms of ``log_pred_of`` other than the constant and the columns' rising factorials."""
        return NAN

    cdef void log_rests(self, Py_ssize_t i, Py_ssize_t m, double *out) noexcept nogil:
        """out[k]: ``log_rest`` of item i in column k, which does not count it, for the first m columns; that for the
        item's own cluster is not read."""
        cdef Py_ssize_t k
        for k in range(m):
            out[k] = self.log_rest(i, k, False)

    cdef double log_rest_density(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Further terms of a reported density, which has no power: item i, which column k does not count."""
        return NAN

    # -- probabilities
    cdef double log_column_terms(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Constant terms and log rising factorials of all columns, of the items in cluster a and, unless b is -1, b."""
        cdef Py_ssize_t _d
        cdef const int64_t *row = self.sums
        cdef double total = (self.constant_sum[a] + (self.constant_sum[b] if b >= 0 else 0)) * self.unit
        for _d in range(self.D):
            total += log_rise(self.rise, self.length, self.zeta, self.pseudo_count, 0,
                              row[a] + (row[b] if b >= 0 else 0))
            row += self.cap
        return total

    cdef double log_pred_of(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil:
        """Log predictive of item i given the others in column k, which counts it or not."""
        cdef int64_t t, sum
        cdef double total = self.constant[i] * self.unit
        for t in range(self.start[i], self.start[i + 1]):
            sum = self.sums[self.column[t] * self.cap + k] - counted * self.value[t]
            total += log_rise(self.rise, self.length, self.zeta, self.pseudo_count, sum, self.value[t])
        return total + self.log_rest(i, k, counted)

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return self.log_pred_of(i, k, False)

    cdef double log_odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef double r = self.log_pred_of(i, b, b == own) - self.log_pred_of(i, a, a == own)
        return r + log(self.weight_of(b, b == own) / self.weight_of(a, a == own)) if sized else r

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, own = self.z[i], m = self.K + 1
        cdef int64_t t
        for k in range(m):
            self.w[k] = self.constant[i] * self.unit
        for t in range(self.start[i], self.start[i + 1]):
            add_log_rises(self.rise, self.length, self.is_whole, self.zeta, self.pseudo_count,
                          self.sums + self.column[t] * self.cap, self.value[t], m, self.w)
        self.log_rests(i, m, self.row)
        for k in range(m):
            self.row[k] += self.w[k]
        if own >= 0:
            self.row[own] = self.log_pred_of(i, own, True)
        weigh_powers(self, self.row, own)

    def log_densities(self, Py_ssize_t first):
        """Under a power the density itself, not its power, with the parameters' posterior under the power."""
        cdef Py_ssize_t i, k, column
        cdef int64_t t
        cdef double[:, ::1] density = np.empty((self.N - first, self.K))
        if self.zeta == 1.0:
            return super().log_densities(first)
        self.begin_scan()
        for i in range(first, self.N):
            for k in range(self.K):
                # the last of the clusters are the new items; behind it stands an empty column
                column = k + (k == self.K - 1)
                density[i - first, k] = (self.constant[i] * self.unit / self.zeta + self.log_rest_density(i, column))
                for t in range(self.start[i], self.start[i + 1]):
                    density[i - first, k] += log_rise_far(
                        self.pseudo_count + self.zeta * self.sums[self.column[t] * self.cap + column], self.value[t])
        return np.asarray(density)

    def statistics(self):
        """dict of ndarray: sums, shape (K, D), a copy."""
        return {"sums": np.array([[self.sums[d * self.cap + k] for d in range(self.D)] for k in range(self.K)])}


PSEUDO_COUNT = Positive("alpha", 0.5, "pseudo-count of every column")


cdef class GivenTotals(CountVectors):
    """Base class for mixtures on rows of given totals: clusters differ in the shares of the columns, Dirichlet(alpha,
    ..., alpha)."""

    HAS_GIVEN_TOTALS = True
    QUANTITIES = "splitmerge_cli.kinds.tables.quantities:Shares"

    def take_table(self, x, dict given, double zeta):
        """Take counts and the option `alpha`; returns what ``prepare_counts`` does."""
        data = prepare_counts(check_counts(x), True)
        self.vectors, self.alpha = x, given["alpha"]
        self.all_alpha = data.D * self.alpha
        self.take_counts(data, self.alpha, zeta)
        longest = data.all + data.total.max() + 1
        self.length_all = min(longest, LONGEST_TOTALS)
        self.is_whole_all = longest == self.length_all
        self.rise_all = self.rising_table(self.all_alpha, self.length_all)
        return data
