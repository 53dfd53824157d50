"""Mixture of normal distributions of sparse points, such as weighted words of documents: the model of
``dense_gaussian.pyx``, whose notation this file keeps, at a cost that grows with what is not 0.

iso     b_n asks for sums over all columns only: |x|^2, m0.x, and s.x with the sum s of the cluster's points, of which
        the columns that x has are looked up. With n points and all of this whole numbers,

            kappa_n^2 |x - m_n|^2 = |n x - s|^2 + 2 kappa0 (n x - s).(x - m0) + kappa0^2 |x - m0|^2

diag    where the cluster has nothing in column d, b_nd / b0_d = 1 + r_n m0_d^2 / (2 b0_d), r_n = kappa0 n / kappa_n:
        the sum of the logs over all columns, Z(n), is worked out once for each n that occurs. To it the cluster adds a
        term for each column that it has, and the point one for each that it has. Terms of a cluster are added as whole
        numbers, so that the sum does not depend on where the columns are in memory.

A point and a cluster: O(entries of the point). A change of a cluster: iso O(entries of the point), diag O(columns of
the cluster) when the cluster is next asked for.
"""
cimport cython
from libc.math cimport NAN, exp, isnan, llrint, log, log1p
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np

from splitmerge_cli.core.memory cimport bytes_of, doubles_of, ints_of, larger, longs_of
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.sums cimport ROOM, STALE
from splitmerge_cli.kinds.tables.models.normal cimport DIAG, ISO, Normal

from splitmerge_cli.core.checks import resolution
from splitmerge_cli.core.options import Gamma, read_options
from splitmerge_cli.core.shared import share
from splitmerge_cli.data.values import is_csr, is_sparse
from splitmerge_cli.kinds.tables.models.normal import POWER, TAILS
from splitmerge_cli.kinds.tables.models.real_columns import moments_of_sparse, prior_of

cdef extern from "fixed_point.h":
    ctypedef long long whole            # of 128 bits

cdef extern from "column_sums.h":
    ctypedef struct columns:
        int32_t *key
        int64_t *sum
        whole *square
        int64_t room
        int64_t used
        int squared
    int64_t columns_find(const columns *c, int32_t d) noexcept nogil
    void columns_free(columns *c) noexcept nogil
    void columns_clear(columns *c) noexcept nogil
    void columns_copy(const columns *source, columns *to) noexcept nogil
    void columns_absorb(columns *to, const columns *source) noexcept nogil

cdef extern from *:
    """
    /* iso: of a cluster or a point, sums over all columns */
    typedef struct {
        whole square;       /* of x^2 */
        whole norm;         /* of s^2, s the sums by column; of a point |x|^2 once more */
        whole pull;         /* m0.s */
    } totals;

    static inline totals totals_of(const int64_t *value, const int32_t *index, int64_t n, const int64_t *m0)
    {
        totals t = {0, 0, 0};
        for (int64_t s = 0; s < n; s++) {
            t.square += (whole)value[s] * value[s];
            t.pull += (whole)value[s] * m0[index[s]];
        }
        t.norm = t.square;
        return t;
    }

    /* Totals of a cluster and, sign 1 or -1, a point or another cluster; inner: of their sums, before. */
    static inline totals totals_with(totals a, totals b, whole inner, int sign)
    {
        a.square += sign * b.square;
        a.norm += 2 * sign * inner + b.norm;
        a.pull += sign * b.pull;
        return a;
    }

    /* 2 (b_n - b0) of n points. */
    static inline double totals_spread(totals t, int64_t n, double kappa0, whole m00)
    {
        const whole scatter = t.square * n - t.norm, away = t.norm - 2 * t.pull * n + m00 * n * n;
        if (n == 0)
            return 0.0;
        return whole_double(scatter) / n + kappa0 / (kappa0 + n) * (whole_double(away) / n);
    }

    /* |x - m_n|^2, of a point and a cluster of n that does not count it. */
    static inline double totals_distance(totals t, totals x, whole inner, int64_t n, double kappa0, whole m00)
    {
        const whole aa = x.square * n * n - 2 * n * inner + t.norm;
        const whole ab = x.square * n - x.pull * n - inner + t.pull;
        const whole bb = x.square - 2 * x.pull + m00;
        const double d = whole_double(aa) + kappa0 * (2.0 * whole_double(ab) + kappa0 * whole_double(bb));
        return d > 0.0 ? d / ((kappa0 + n) * (kappa0 + n)) : 0.0;
    }

    /* diag: b_nd / b0_d of n points with these sums in column d; of sums that n points cannot have, as if there were
       none. */
    static inline double share_of(int64_t n, int64_t sum, whole square, double m0, double b0, double r)
    {
        const whole scatter = whole_scatter(n, square, sum, sum);
        double away;
        if (n == 0)
            return 1.0;
        if (scatter < 0)
            return 1.0 + 0.5 * r * m0 * m0 / b0;
        away = (double)sum / n - m0;
        return 1.0 + 0.5 * (whole_double(scatter) / n + r * away * away) / b0;
    }

    static inline double share_with(const columns *c, int64_t at, int64_t n, int64_t value, int sign, double m0,
                                    double b0, double r)
    {
        const int64_t sum = at < 0 ? 0 : c->sum[at];
        const whole square = at < 0 ? 0 : c->square[at];
        return share_of(n, sum + sign * value, square + (whole)(sign * value) * value, m0, b0, r);
    }

    static inline double share_both(const columns *a, int64_t at_a, const columns *b, int64_t at_b, int64_t n,
                                    double m0, double b0, double r)
    {
        const int64_t sum = (at_a < 0 ? 0 : a->sum[at_a]) + (at_b < 0 ? 0 : b->sum[at_b]);
        const whole square = (at_a < 0 ? 0 : a->square[at_a]) + (at_b < 0 ? 0 : b->square[at_b]);
        return share_of(n, sum, square, m0, b0, r);
    }

    /* Logarithms as whole numbers of 2^-50: added in any order the sum is the same. */
    typedef struct { whole total; } logs;

    static inline void logs_add(logs *l, double ratio)
    {
        l->total += llrint(log(ratio) * 0x1p50);
    }

    static inline double logs_sum(logs l)
    {
        return whole_double(l.total) * 0x1p-50;
    }
    """
    ctypedef struct totals:
        whole square
    ctypedef struct logs:
        pass
    whole columns_count(columns *c, const int32_t *index, const int64_t *value, int64_t n, int sign) noexcept nogil
    whole columns_inner(const columns *c, const int32_t *index, const int64_t *value, int64_t n) noexcept nogil
    whole columns_both(const columns *a, const columns *b) noexcept nogil
    totals totals_of(const int64_t *value, const int32_t *index, int64_t n, const int64_t *m0) noexcept nogil
    totals totals_with(totals a, totals b, whole inner, int sign) noexcept nogil
    double totals_spread(totals t, int64_t n, double kappa0, whole m00) noexcept nogil
    double totals_distance(totals t, totals x, whole inner, int64_t n, double kappa0, whole m00) noexcept nogil
    double share_with(const columns *c, int64_t at, int64_t n, int64_t value, int sign, double m0, double b0,
                      double r) noexcept nogil
    double share_both(const columns *a, int64_t at_a, const columns *b, int64_t at_b, int64_t n, double m0, double b0,
                      double r) noexcept nogil
    void logs_add(logs *l, double ratio) noexcept nogil
    double logs_sum(logs l) noexcept nogil
    totals NO_TOTALS "((totals){0, 0, 0})"
    logs NO_LOGS "((logs){0})"


cdef enum:
    # log determinants that are kept, by the number of points
    KEPT = 1 << 13


def _canonical(x):
    """The points as csr_array whose columns of a row ascend, None if they are such; a ValueError for what are no
    points."""
    from scipy.sparse import csr_array  # dense points do without

    points = csr_array(x)
    if len(points.shape) != 2 or 0 in points.shape:
        raise ValueError(f"x: expected points, an array of shape (N, D), got {points.shape}")
    entries = points.data
    if len(entries) and not (entries.min() >= -1e30 and entries.max() <= 1e30):
        raise ValueError("x: a coordinate is not a finite number of magnitude at most 1e30")
    if not points.has_canonical_format:
        points = points.copy()
        points.sum_duplicates()
    elif is_csr(x):
        return {"points": None}
    return {"points": points}


def _prepare(points, str covariance, m0, b0):
    """Entries in units, and the prior with them."""
    cdef Py_ssize_t N = points.shape[0], D = points.shape[1], entries = points.nnz, i, s, d
    column, value = points.indices, points.data.astype(np.float64)
    mean, variance, least, most = moments_of_sparse(points)
    location, scale = prior_of(covariance, m0, b0, mean, variance, most - least, np.zeros(D))
    widest = np.maximum(np.maximum(-least, most), np.abs(location))
    if covariance == "iso":
        # 16: four products are added up
        units = np.full(D, resolution(widest.max(), N, 16 * D))
    else:
        units = resolution(widest, N)
    # one number more: there may be no entry
    index, whole_value = np.zeros(entries + 1, dtype=np.int32), np.zeros(entries + 1, dtype=np.int64)
    index[:entries], whole_value[:entries] = column, np.rint(value / units[column])
    starts = points.indptr.astype(np.int64)
    made = {"starts": starts, "index": index, "value": whole_value, "b0": scale / units ** 2,
            "log_units": float(np.log(units).sum()), "log_b0": float(np.log(scale / units ** 2).sum())}
    cdef double[::1] m0_v = location / units
    cdef const double[::1] b0_v = made["b0"]
    if covariance == "diag":
        at_zero = np.empty(D)
        for d in range(D):
            at_zero[d] = 0.5 * m0_v[d] * m0_v[d] / b0_v[d]
        return {**made, "m0": np.asarray(m0_v), "at_zero": at_zero}
    cdef const int64_t[::1] starts_v = starts, value_v = whole_value
    cdef const int32_t[::1] index_v = index, every = np.arange(D, dtype=np.int32)
    cdef int64_t[::1] m0_whole = np.empty(D, dtype=np.int64)
    for d in range(D):
        m0_whole[d] = llrint(m0_v[d])
        m0_v[d] = <double> m0_whole[d]
    of_item, origin = np.empty(N * sizeof(totals), dtype=np.uint8), np.empty(sizeof(totals), dtype=np.uint8)
    cdef totals *out = <totals *> bytes_of(origin)
    cdef totals t = totals_of(&m0_whole[0], &every[0], D, &m0_whole[0])
    memcpy(out, &t, sizeof(totals))
    out = <totals *> bytes_of(of_item)
    for i in range(N):
        s = starts_v[i]
        t = totals_of(&value_v[0] + s, &index_v[0] + s, starts_v[i + 1] - s, &m0_whole[0])
        memcpy(out + i, &t, sizeof(totals))
    return {**made, "m0": np.asarray(m0_v), "of_item": of_item, "origin": origin}


@cython.final
cdef class SparseGaussian(Normal):
    """Mixture of normal distributions, for sparse points. `x`: sparse array of shape (N, D), CSR or what becomes it.
    It has the options of ``Gaussian``; covariance=full, D^2 numbers a cluster, is rejected, and so are a power below 1
    and gamma priors of b0 and kappa0.

    Cost: a point against K clusters O(K entries of the point); a change of a cluster: iso O(entries), diag O(columns of
    the cluster). Memory: 12 bytes a point; a cluster 24 (diag 56) bytes a column that its points have, or less; shared
    by the models of the same data, the data, 12 bytes an entry and 48 (iso: 96) a point. Sums are exact
    (docs/decisions/0006), and so is m0, rounded to a multiple of their unit (iso). What is 0 stays 0, so a column is
    not moved to its middle: one far from 0 for its spread, by 1e9 say, loses digits that ``Gaussian`` keeps.
    """

    OPTIONS = (*Normal.OPTIONS, POWER, TAILS)

    cdef const int64_t *starts          # [N + 1] of the points' entries
    cdef const int32_t *index           # [entries] column
    cdef const int64_t *value           # [entries] in units
    cdef const double *m0               # [D] in units
    cdef const double *b0               # [D] in units^2; iso: one number
    cdef columns *table                 # [cap] sums by column
    cdef double *det                    # [cap, 3] diag: sum of log b_md / b0_d with m = n - 1, n, n + 1; nan: unknown
    # diag
    cdef double *Z                      # [KEPT] that sum of a cluster of n without a column, at n % KEPT
    cdef int64_t *kept                  # [KEPT] of which n, -1 none
    cdef const double *at_zero          # [D] m0^2 / (2 b0)
    # iso
    cdef totals origin                  # of m0
    cdef const totals *of_item          # [N]
    cdef totals *of_cluster             # [cap]

    def __init__(self, x, **options):
        given = read_options("model", self.OPTIONS, options)
        if given["power"] != 1.0:
            raise ValueError(f"model.power={given['power']:g}: the points are sparse; expected 1, which is all that "
                             "such data have")
        if given["tails"] != "normal":
            raise ValueError(f"model.tails={given['tails']}: the points are sparse; expected normal, which is all that "
                             "such data have")
        if not is_sparse(x) or x.format != "csr":
            from scipy.sparse import csr_array

            x = csr_array(x)
        as_csr = share(_canonical, x)
        self._hold(as_csr)
        points = x if as_csr.points is None else as_csr.points
        cdef Py_ssize_t N = points.shape[0], D = points.shape[1]
        if given["covariance"] == "full":
            raise ValueError("model.covariance: expected diag or iso of sparse points, got full: a cluster would take "
                             f"{D * (D + 1) // 2} numbers")
        for key in ("kappa0", "b0"):
            if isinstance(given[key], Gamma):
                raise ValueError(f"model.{key}: expected numbers of sparse points, got {given[key]}: only dense points "
                                 "have it resampled")
        if not isinstance(given["resolution"], str):
            raise ValueError("model.resolution: expected auto or none of sparse points, which are read as they are")
        self._options(N, D, given["covariance"], given["kappa0"], given["a0"])
        self.vectors = points
        data = share(_prepare, points, self.covariance, given["m0"], given["b0"])
        self._hold(data)
        self.starts, self.index, self.value = longs_of(data.starts), ints_of(data.index), longs_of(data.value)
        self.m0, self.b0 = doubles_of(data.m0), doubles_of(data.b0)
        self.log_units, self.log_b0 = data.log_units, data.log_b0
        if self.shape_of == ISO:
            self.of_item = <const totals *> bytes_of(data.of_item)
            self.origin = (<const totals *> bytes_of(data.origin))[0]
        else:
            self.at_zero = doubles_of(data.at_zero)
            self.Z = self.memory.doubles(KEPT)
            self.kept = <int64_t *> self.memory.doubles(KEPT)
            memset(self.kept, 255, KEPT * sizeof(int64_t))
        self.keep(&self.power, ROOM)
        self.keep(&self.stale, STALE)
        self._allocate(N, N)
        self._set_prior(given["prior"].build(N, given["concentration"]))
        self._constants()
        self.set_labels(np.zeros(N, dtype=np.int32))

    cdef double predictive_constant(self, Py_ssize_t n, double step):
        """The constant of predictives whose determinants are relative to the prior's."""
        return Normal.predictive_constant(self, n, step) - (0.5 * self.log_b0 + self.log_units)

    def __dealloc__(self):
        cdef Py_ssize_t k
        if self.table != NULL:
            for k in range(self.cap):
                columns_free(&self.table[k])
        free(self.table)

    # -- statistics
    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef Py_ssize_t old = self.cap, k
        self.table = <columns *> larger(self.table, old * sizeof(columns), cap * sizeof(columns))
        self.of_cluster = <totals *> self.memory.larger(self.of_cluster, old * sizeof(totals), cap * sizeof(totals))
        self.det = <double *> self.memory.larger(self.det, 24 * old, 24 * cap)
        for k in range(old, cap):
            self.table[k].squared = self.shape_of == DIAG
            self.forget(k)
        return Normal.grow(self, cap)

    cdef void forget(self, Py_ssize_t k) noexcept nogil:
        self.det[3 * k] = self.det[3 * k + 1] = self.det[3 * k + 2] = NAN

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        columns_clear(&self.table[k])
        self.of_cluster[k] = NO_TOTALS
        self.forget(k)

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        cdef int64_t s = self.starts[i]
        cdef whole inner = columns_count(&self.table[k], self.index + s, self.value + s, self.starts[i + 1] - s, sign)
        if self.shape_of == ISO:
            self.of_cluster[k] = totals_with(self.of_cluster[k], self.of_item[i], inner, sign)
        self.forget(k)

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        columns_copy(&self.table[src], &self.table[dst])
        self.of_cluster[dst] = self.of_cluster[src]
        memcpy(self.det + 3 * dst, self.det + 3 * src, 24)

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        if self.shape_of == ISO:
            self.of_cluster[dst] = totals_with(self.of_cluster[dst], self.of_cluster[src],
                                               columns_both(&self.table[dst], &self.table[src]), 1)
        columns_absorb(&self.table[dst], &self.table[src])
        self.forget(dst)

    # -- log determinants, relative to the prior's: iso log b_n / b0, diag the sum over columns of log b_nd / b0_d
    cdef double of_totals(self, totals t, Py_ssize_t n) noexcept nogil:
        return log1p(0.5 * totals_spread(t, n, self.kappa0, self.origin.square) / self.b0[0])

    cdef double without_columns(self, Py_ssize_t n) noexcept nogil:
        """Z(n)."""
        cdef Py_ssize_t d
        cdef double r = self.kappa0 * n / (self.kappa0 + n), product = 1.0, total = 0.0
        cdef Py_ssize_t at = n % KEPT
        if self.kept[at] != n:
            for d in range(self.D):
                product *= 1.0 + r * self.at_zero[d]
                if product > 1e200:
                    total += log(product)
                    product = 1.0
            self.Z[at] = total + log(product)
            self.kept[at] = n
        return self.Z[at]

    cdef double determinant(self, Py_ssize_t k, int more) noexcept nogil:
        """Log determinant of cluster k; diag: with -1, 0 or 1 more points of which nothing is known but that they have
        nothing in the columns that count."""
        cdef Py_ssize_t n = self.size[k] + more, s
        cdef double r = self.kappa0 * n / (self.kappa0 + n)
        cdef columns *c = &self.table[k]
        cdef int32_t d
        cdef logs total = NO_LOGS
        if not isnan(self.det[3 * k + 1 + more]):
            return self.det[3 * k + 1 + more]
        if self.shape_of == ISO:
            self.det[3 * k + 1] = self.of_totals(self.of_cluster[k], n)
            return self.det[3 * k + 1]
        for s in range(c.room):
            d = c.key[s]
            if d >= 0:
                logs_add(&total, share_with(c, s, n, 0, 1, self.m0[d], self.b0[d], r) / (1.0 + r * self.at_zero[d]))
        self.det[3 * k + 1 + more] = self.without_columns(n) + logs_sum(total)
        return self.det[3 * k + 1 + more]

    cdef double determinant_with(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        """diag: of cluster k with (sign 1) or without (-1) point i."""
        cdef Py_ssize_t s, n = self.size[k] + sign
        cdef double r = self.kappa0 * n / (self.kappa0 + n), product = 1.0, total
        cdef columns *c = &self.table[k]
        cdef int64_t at
        cdef int32_t d
        if n == 0:
            return 0.0
        total = self.determinant(k, sign)
        for s in range(self.starts[i], self.starts[i + 1]):
            d = self.index[s]
            at = columns_find(c, d)
            product *= (share_with(c, at, n, self.value[s], sign, self.m0[d], self.b0[d], r)
                        / share_with(c, at, n, 0, 1, self.m0[d], self.b0[d], r))
            if not 1e-100 < product < 1e100:
                total += log(product)
                product = 1.0
        return total + log(product)

    cdef double determinant_both(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """diag: of clusters a and b as one."""
        cdef Py_ssize_t n = self.size[a] + self.size[b], s, turn
        cdef double r = self.kappa0 * n / (self.kappa0 + n)
        cdef columns *here = &self.table[a]
        cdef columns *there = &self.table[b]
        cdef columns *other
        cdef int64_t at
        cdef int32_t d
        cdef logs total = NO_LOGS
        for turn in range(2):
            for s in range(here.room):
                d = here.key[s]
                if d < 0:
                    continue
                at = columns_find(there, d)
                if turn and at >= 0:
                    continue
                logs_add(&total, share_both(here, s, there, at, n, self.m0[d], self.b0[d], r)
                         / (1.0 + r * self.at_zero[d]))
            other = here
            here = there
            there = other
        return self.without_columns(n) + logs_sum(total)

    # -- probabilities
    cdef double predictive(self, Py_ssize_t n, double det, double more) noexcept nogil:
        """log predictive of a point that makes log det `more` larger, of a cluster of n."""
        cdef double half = 0.5 * self.per
        return self.log_c[n] - (self.a_n(n) + half) * more - half * det

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return self.score_in(i, k, False)

    cdef double score_in(self, Py_ssize_t i, Py_ssize_t k, bint own) noexcept nogil:
        """log predictive of point i in cluster k, which counts it (`own`) or not."""
        cdef Py_ssize_t n = self.size[k] - own
        cdef double det
        if self.shape_of == ISO:
            return self.score_iso(i, k, own)
        if own:
            det = self.determinant_with(i, k, -1)
            return self.predictive(n, det, self.determinant(k, 0) - det)
        det = self.determinant(k, 0)
        return self.predictive(n, det, self.determinant_with(i, k, 1) - det)

    cdef double score_iso(self, Py_ssize_t i, Py_ssize_t k, bint own) noexcept nogil:
        cdef Py_ssize_t n = self.size[k] - own, s = self.starts[i]
        cdef totals t = self.of_cluster[k]
        cdef totals x = self.of_item[i]
        cdef whole inner = columns_inner(&self.table[k], self.index + s, self.value + s, self.starts[i + 1] - s)
        cdef double kappa = self.kappa0 + n, det, distance
        if own:
            t = totals_with(t, x, inner, -1)
            inner -= x.square
            det = self.of_totals(t, n)
        else:
            det = self.determinant(k, 0)
        distance = totals_distance(t, x, inner, n, self.kappa0, self.origin.square)
        return self.predictive(n, det, log1p(0.5 * kappa / (kappa + 1.0) * distance / (self.b0[0] * exp(det))))

    cdef void score(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        """Score the clusters and a new one."""
        cdef Py_ssize_t k
        for k in range(block, min(block + 8, self.K + 1)):
            self.power[k] = self.score_in(i, k, k == own)

    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        return exp(self.log_odds(i, a, b, own, sized))

    cdef double log_odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef double r = self.score_in(i, b, own == b) - self.score_in(i, a, own == a)
        if sized:
            r += log(self.weight_of(b, own == b)) - log(self.weight_of(a, own == a))
        return r

    cdef void weigh(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t m, double *w) noexcept nogil:
        Model.weigh(self, i, first, m, w)

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        return self.log_lik_of(self.size[k], self.determinant(k, 0))

    cdef double log_lik_of(self, Py_ssize_t n, double det) noexcept nogil:
        return self.log_n[n] - self.a_n(n) * det

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t n = self.size[a] + self.size[b]
        if self.shape_of == ISO:
            return self.log_lik_of(n, self.of_totals(
                totals_with(self.of_cluster[a], self.of_cluster[b],
                            columns_both(&self.table[a], &self.table[b]), 1), n))
        return self.log_lik_of(n, self.determinant_both(a, b))

    def statistics(self):
        """dict of ndarray: size, sums by column in the data's units and log determinant of every cluster, shape
        (K, 2 + D), a copy."""
        cdef Py_ssize_t k, s
        out = np.zeros((self.K, 2 + self.D))
        for k in range(self.K):
            out[k, 0], out[k, 1] = self.size[k], self.determinant(k, 0)
            for s in range(self.table[k].room):
                if self.table[k].key[s] >= 0:
                    out[k, 2 + self.table[k].key[s]] = self.table[k].sum[s]
        return {"counts": out}
