"""Mixture of Dirichlet-multinomial distributions: each row has its own shares, drawn around the shares of its cluster.

Row i of cluster k has counts x_i1, ..., x_iD with total n_i: x_i ~ Multinomial(n_i, p_i), p_i ~ Dirichlet(a_k1, ...,
a_kD). The sum A_k of the a_kd is the cluster's precision: A_k ~ Gamma(shape, rate), a_k / A_k ~ Dirichlet(alpha, ...,
alpha). Two auxiliary variables of a row make the likelihood of a cluster a closed form (docs/derivations.md, "Rows with
shares of their own"): the number t_id of tables at which x_id customers of a Chinese restaurant with concentration a_kd
sit, and the exposure e_i = - log eta_i, eta_i ~ Beta(A_k, n_i). With T_kd and E_k their sums over a cluster:

    p(x, t, e | z) = prod_i c_i  prod_k prod_d (alpha)_(T_kd) / (D alpha)_(T_k)
                                 (shape)_(T_k) rate^shape / (rate + E_k)^(shape + T_k)

so given t and e a cluster of counts is one of tables. ``refresh`` draws a_k given t and e, then each row's t and e
given a_k, and forgets a_k.
"""
from libc.math cimport INFINITY, exp, fabs, llrint, log, log1p
from libc.stdint cimport int32_t, int64_t

import zlib

import numpy as np
from scipy.special import gammaln, logsumexp

from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport BY_COLUMN, COPIED, ROOM
from splitmerge_cli.kinds.tables.models.count_vectors cimport CountVectors, GivenTotals, log_rise, log_rise_far

from splitmerge_cli import priors
from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.core.checks import resolution
from splitmerge_cli.core.options import Positive, read_options
from splitmerge_cli.kinds.tables.models.count_vectors import PSEUDO_COUNT
from splitmerge_cli.kinds.tables.simulated import draw_pseudo_counts, simulate_scattered_shares

cdef extern from "simd_math.h":
    pass

cdef extern from *:
    """
    /* out[k]: what the exposures of clusters and the numbers of their tables make of an item with x tables, for m
       clusters in rows of eight. */
    static inline void score_exposed(const double *up, const double *down, const int64_t *sum, int64_t x,
                                     double exposure, const double *level, const double *shape, const double *rate,
                                     ptrdiff_t m, double *out)
    {
        for (ptrdiff_t k = 0; k < m; k += 8) {
            for (ptrdiff_t h = k; h < k + 8; h++)
                out[h] = level[h] + (up[sum[h] + x] - up[sum[h]]) - (down[sum[h] + x] - down[sum[h]]);
            EACH_LANE(h)
                LANES_TO(out + k + h) -=
                    ((double)x + LANES_AT(shape + k + h)) * lanes_log(exposure + LANES_AT(rate + k + h));
        }
    }
    """
    void score_exposed(const double *up, const double *down, const int64_t *sum, int64_t x, double exposure,
                       const double *level, const double *shape, const double *rate, Py_ssize_t m,
                       double *out) noexcept nogil

# unit of exposures, and the largest in it
cdef double GRAIN = 2.0 ** -30
cdef int64_t LONGEST_EXPOSURE = 1 << 42
# customers up to this one are seated one by one, and so are all while fewer than so many join each new table: a search
# for the next new table takes as long
cdef int32_t FEW_CUSTOMERS = 32
cdef double MANY_JOIN = 200.0
# largest a_kd whose rising factorials are multiplied
cdef double MOST_MULTIPLIED = 1e5
# least a_kd: its logarithm is a number
cdef double LEAST = 1e-300
cdef double LOG_2 = log(2.0)
MOST_RESEATED = 200
"""Rows whose cluster is drawn in a refresh."""
PRIOR_DRAWS = 200
"""Draws of an importance sample for the density of a row in a cluster of its own."""


cpdef int32_t draw_tables(Rng rng, double a, int32_t x) noexcept nogil:
    """Draw the number of tables of x customers, at least 1, in a restaurant of concentration a."""
    cdef int32_t tables = 1, seated = 1, low, high, middle
    cdef double log_u, start
    while seated < x:
        if seated < FEW_CUSTOMERS or seated < MANY_JOIN * a:
            tables += rng.draw_coin(a / (a + seated))
            seated += 1
            continue
        # the next customer at a new table, by inversion: nobody up to m with probability
        # Gamma(m) Gamma(a + seated) / (Gamma(seated) Gamma(a + m))
        log_u, start = -rng.draw_gamma(1.0), log_rise_far(seated, a)
        low, high = seated, x
        if start - log_rise_far(x, a) >= log_u:
            break
        while high - low > 1:
            middle = low + (high - low) // 2
            if start - log_rise_far(middle, a) >= log_u:
                low = middle
            else:
                high = middle
        tables += 1
        seated = high
    return tables


cdef inline double log_rise_of(double a, int32_t x) noexcept nogil:
    """log of a (a + 1) ... (a + x - 1); with few factors the log of their product, which is between 1e-300 and
    1e160."""
    cdef double product = a
    cdef int32_t j
    if x > FEW_CUSTOMERS or a > MOST_MULTIPLIED:
        return log_rise_far(a, x)
    for j in range(1, x):
        product *= a + j
    return log(product)


cdef double sum_of(const double *a, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t d
    cdef double total = 0.0
    for d in range(n):
        total += a[d]
    return total


class _Rows:
    """Rows of ``prepare_counts`` from `first` on, for densities that are no part of a chain."""

    def __init__(self, data, first):
        entries = slice(data.start[first], data.start[len(data.total)])
        self.n, self.ways = data.total[first:], data.constant[first:] * data.unit
        self.row = np.repeat(np.arange(len(self.n)), np.diff(data.start[first:]))
        self.column, self.count = data.column[entries], data.value[entries]

    def sum(self, of_entries):
        return np.bincount(self.row, of_entries, len(self.n))

    def log_density(self, a, precision):
        """ndarray of float64, shape (n,): log Dirichlet-multinomial probability of each row; `a`: of each count
        that is not 0."""
        total = self.ways + gammaln(precision) - gammaln(precision + self.n)
        return total + self.sum(gammaln(a + self.count) - gammaln(a))

    def log_density_alone(self, rng, tables, exposure, D, alpha, shape, rate):
        """Log probabilities with a integrated out over its prior: importance sampling, by halves from the prior and
        given these tables and exposures, whatever they are."""
        t, own = self.sum(tables), np.bincount(self.row, minlength=len(self.n))
        log_z = (self.sum(gammaln(alpha + tables) - gammaln(alpha)) + gammaln(D * alpha) - gammaln(D * alpha + t)
                 + gammaln(shape + t) - gammaln(shape) + shape * np.log(rate) - (shape + t) * np.log(rate + exposure))
        draws = []
        for number in range(PRIOR_DRAWS):
            given = number % 2
            precision = rng.gamma(shape + given * t) / (rate + given * exposure)
            of_columns = rng.gamma(alpha + given * tables)
            all_shares = self.sum(of_columns) + rng.gamma(alpha * (D - own) + LEAST)
            a = np.maximum(precision[self.row] * of_columns / all_shares[self.row], LEAST)
            log_ratio = self.sum(tables * np.log(a)) - exposure * precision - log_z
            draws.append(self.log_density(a, precision) - np.logaddexp(0.0, log_ratio) + np.log(2.0))
        return logsumexp(draws, axis=0) - np.log(PRIOR_DRAWS)


cdef inline int32_t first_tables(int32_t x) noexcept nogil:
    """About what is to be expected of x customers with a_kd = 1."""
    return 1 + <int32_t> log(<double> x)


cdef class OverdispersedMultinomial(GivenTotals):
    """Mixture of Dirichlet-multinomial distributions: clusters differ in their shares and in how far rows scatter.

    Cost: an item against K clusters O(K) for each of its counts that is not 0; a cluster's likelihood O(D); a step of
    ``refresh`` O(K D) and for each count x that is not 0 about log x draws. Memory: 16 D (K + 3) for the sums and
    draws, 12 bytes a count that is not 0, 40 an item, at most 2 MB of tables, which models of the same data share.
    """

    OPTIONS = (
        *priors.OPTIONS,
        PSEUDO_COUNT,
        Positive("shape", 1.0, "shape of the gamma prior of a cluster's precision"),
        Positive("rate", 0.01, "rate of that prior"),
    )
    simulate = staticmethod(simulate_scattered_shares)
    CALIBRATION = {"": {"options": {"concentration": "gamma(2,2)", "rate": 0.1}, "D": 4}}

    cdef readonly double shape, rate
    cdef const double *rise_shape       # [length_all] log of shape (shape + 1) ...
    # -- of a cluster, where it is settled
    cdef double *level                  # [cap] shape_now times the log of rate_now
    cdef double *shape_now              # [cap] of the posterior of its precision, given tables and exposures
    cdef double *rate_now               # [cap]
    cdef const int32_t *count           # [entries] the data, of which `value` holds the tables
    cdef const int64_t *n               # [N] totals of the data; `total` holds the totals of tables
    cdef const int64_t *ways            # [N] log number of orders of a row, in multiples of `ways_unit`
    cdef double ways_unit
    cdef int32_t *tables                # [entries] what `value`, `total` and `constant` point to
    cdef int64_t *all_tables            # [N]
    cdef int64_t *log_terms             # [N]
    cdef double *drawn                  # [cap, D] a_kd of the live clusters, in the course of a refresh
    cdef Py_ssize_t reseated            # rows whose cluster is drawn in a refresh
    cdef object data                    # of ``prepare_counts``
    cdef dict alone                     # by the first item: log densities in clusters of their own, once computed

    def __init__(self, x, **options):
        given = read_options("model", self.OPTIONS, options)
        data = self.take_table(x, given, 1.0)
        cdef Py_ssize_t i, N = len(data.total), entries = data.start[N]
        cdef int64_t t
        self.shape, self.rate, self.data, self.alone = given["shape"], given["rate"], data, {}
        self.rise_shape = self.rising_table(self.shape, self.length_all)
        self.count, self.n, self.ways, self.ways_unit = self.value, self.total, self.constant, self.unit
        # two clusters of all rows have terms that are far from the ends of int64
        self.unit = resolution(1e4 * (1.0 + data.total.max()), N)
        self.tables = self.memory.ints(entries + 1)
        self.all_tables = <int64_t *> self.memory.doubles(N)
        self.log_terms = <int64_t *> self.memory.doubles(N)
        self.exposure = <int64_t *> self.memory.doubles(N)
        self.value, self.total, self.constant = self.tables, self.all_tables, self.log_terms
        for i in range(N):
            # what is to be expected where every a_kd is 1
            for t in range(self.start[i], self.start[i + 1]):
                self.tables[t] = first_tables(self.count[t])
            self.set_row(i, self.first_exposure(i), NULL)
        self.reseated = min(N, MOST_RESEATED)
        self.keep(&self.level, ROOM)
        self.keep(&self.shape_now, ROOM)
        self.keep(&self.rate_now, ROOM)
        # a cluster may take another's number in the course of a refresh
        self.keep(&self.drawn, COPIED, self.D, BY_COLUMN)
        self._allocate(N, N)
        self._set_prior(given["prior"].build(N, given["concentration"]))
        self._start()

    @classmethod
    def most_parameters(cls, data):
        return 2 * data.N + np.count_nonzero(data.values)

    @classmethod
    def reference_log_lik(cls, values, labels, *, alpha, shape, rate, state, **options):
        """float: log likelihood of counts and of the auxiliary variables of a `state`, as ``parameters`` has it, by
        adding the rows one after the other, for tests."""
        N, total = len(values), 0.0
        exposure, log_term, tables = state[:N, 0], state[N:2 * N, 0], np.zeros(values.shape)
        tables[values > 0] = state[2 * N:, 0]
        for k in set(labels):
            urn, a, b = np.full(values.shape[1], alpha), shape, rate
            for row, e, term in zip(tables[labels == k], exposure[labels == k], log_term[labels == k]):
                total += term + gammaln(urn.sum()) - gammaln(urn).sum() + a * np.log(b) - gammaln(a)
                urn, a, b = urn + row, a + row.sum(), b + e
                total += gammaln(urn).sum() - gammaln(urn.sum()) + gammaln(a) - a * np.log(b)
        return total

    cdef double first_exposure(self, Py_ssize_t i) noexcept nogil:
        return log1p(self.n[i] / <double> self.D)

    cdef void set_row(self, Py_ssize_t i, double exposure, const double *a) noexcept nogil:
        """Take the exposure of row i, which is in no cluster, and set what follows from it, the row's tables, and the
        a_kd given which they were drawn; NULL: all are 1."""
        cdef int64_t t
        cdef double precision = self.D if a == NULL else sum_of(a, self.D)
        self.all_tables[i] = self.exposure[i] = self.log_terms[i] = 0
        if not self.n[i]:
            return
        # a draw beyond the ends is put there: the density so far out is practically 0
        self.exposure[i] = <int64_t> min(max(exposure / GRAIN, 1.0), <double> LONGEST_EXPOSURE)
        exposure = self.log_density(i, a) + GRAIN * self.exposure[i] * precision
        for t in range(self.start[i], self.start[i + 1]):
            self.all_tables[i] += self.tables[t]
            if a != NULL:
                exposure -= self.tables[t] * log(a[self.column[t]])
        self.log_terms[i] = llrint(exposure / self.unit)

    cdef double log_density(self, Py_ssize_t i, const double *a) noexcept nogil:
        """log Dirichlet-multinomial probability of row i; NULL: every a_kd is 1."""
        cdef int64_t t
        cdef double total = self.ways[i] * self.ways_unit
        total -= log_rise_far(self.D if a == NULL else sum_of(a, self.D), self.n[i])
        for t in range(self.start[i], self.start[i + 1]):
            total += log_rise_of(1.0 if a == NULL else a[self.column[t]], self.count[t])
        return total

    # -- probabilities
    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        self.shape_now[k] = self.shape + self.total_sum[k]
        self.rate_now[k] = self.rate + GRAIN * self.exposure_sum[k]
        self.level[k] = self.shape_now[k] * log(self.rate_now[k])
        self.stale[k] = False

    cdef double log_rest(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil:
        cdef int64_t x = self.total[i], s = self.total_sum[k] - counted * x
        cdef double own = GRAIN * self.exposure[i], shape = self.shape + s
        cdef double log_rises = (log_rise(self.rise_shape, self.length_all, 1.0, self.shape, s, x)
                                 - log_rise(self.rise_all, self.length_all, 1.0, self.all_alpha, s, x))
        if self.stale[k]:
            self.settle(k)
        if counted:
            own = self.rate + GRAIN * (self.exposure_sum[k] - self.exposure[i])
            return log_rises + shape * log(own) - self.level[k]
        return log_rises + self.level[k] - (shape + x) * log(self.rate_now[k] + own)

    cdef void log_rests(self, Py_ssize_t i, Py_ssize_t m, double *out) noexcept nogil:
        cdef Py_ssize_t k
        if not self.is_whole_all:
            CountVectors.log_rests(self, i, m, out)
            return
        for k in range(m):
            if self.stale[k]:
                self.settle(k)
        score_exposed(self.rise_shape, self.rise_all, self.total_sum, self.total[i], GRAIN * self.exposure[i],
                      self.level, self.shape_now, self.rate_now, m, out)

    cdef double log_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef double t = self.total_sum[a] + (self.total_sum[b] if b >= 0 else 0)
        cdef double own = GRAIN * (self.exposure_sum[a] + (self.exposure_sum[b] if b >= 0 else 0))
        return (self.log_column_terms(a, b) + log_rise_far(self.shape, t) - log_rise_far(self.all_alpha, t)
                - self.shape * log1p(own / self.rate) - t * log(self.rate + own))

    # -- auxiliary variables
    cdef void scale_shares(self, Rng rng, Py_ssize_t k, double tables, double exposure) noexcept nogil:
        """Turn gamma draws of shares, row k of `drawn`, into a_kd, given tables and exposure of the cluster."""
        cdef Py_ssize_t d
        cdef double *a = self.drawn + k * self.D
        cdef double scale = rng.draw_gamma(self.shape + tables) / ((self.rate + exposure) * sum_of(a, self.D))
        for d in range(self.D):
            a[d] = max(a[d] * scale, LEAST)

    cdef void propose_cluster(self, Rng rng, Py_ssize_t i) noexcept nogil:
        """Draw a_kd for row i alone, after the live clusters': by a coin from the prior, or as if tables and
        exposure of the row were the initial ones, a distribution that does not depend on the state."""
        cdef Py_ssize_t d
        cdef int64_t t
        cdef bint given = rng.draw_coin(0.5)
        cdef double tables = 0.0
        cdef double *a = self.drawn + self.K * self.D
        for d in range(self.D):
            a[d] = self.alpha
        for t in range(self.start[i], self.start[i + 1]):
            a[self.column[t]] += given * first_tables(self.count[t])
            tables += given * first_tables(self.count[t])
        for d in range(self.D):
            a[d] = rng.draw_gamma(a[d])
        self.scale_shares(rng, self.K, tables, given * self.first_exposure(i))

    cdef double log_prior_over_proposal(self, Py_ssize_t i, const double *a) noexcept nogil:
        """log density of a_kd under their prior, over the density of ``propose_cluster``."""
        cdef int64_t t
        cdef int32_t one
        cdef double tables = 0.0, own = self.first_exposure(i), total = own * sum_of(a, self.D)
        for t in range(self.start[i], self.start[i + 1]):
            one = first_tables(self.count[t])
            tables += one
            total += log_rise_far(self.alpha, one) - one * log(a[self.column[t]])
        total += (log_rise_far(self.shape, tables) - log_rise_far(self.all_alpha, tables)
                  - self.shape * log1p(own / self.rate) - tables * log(self.rate + own))
        # over the other half of the proposal alone; with the prior as the first half
        return LOG_2 + min(total, 0.0) - log1p(exp(-fabs(total)))

    cdef bint reseat(self, Rng rng, Py_ssize_t i) noexcept nogil:
        """Draw the cluster of row i given the a_kd of all clusters, tables and exposures integrated out: Neal's
        algorithm 8 with one new cluster, drawn by ``propose_cluster``. Returns whether it changed."""
        cdef Py_ssize_t k, own = self.z[i], options = self.K
        cdef double top = -INFINITY
        cdef bint alone = self.size[own] == 1
        if not alone and self.has_room():
            self.propose_cluster(rng, i)
            options += 1
        self.leave(i, own)
        for k in range(options):
            self.w[k] = self.log_weight(i, k) + self.log_density(i, self.drawn + k * self.D)
            if k == (own if alone else self.K):
                self.w[k] += self.log_prior_over_proposal(i, self.drawn + k * self.D)
            top = max(top, self.w[k])
        self.join(i, own)
        for k in range(options):
            self.w[k] = exp(self.w[k] - top)
        k = rng.draw_categorical(self.w, options)
        if k == own:
            return False
        self.move(i, k)
        return True

    cdef void draw_row(self, Rng rng, Py_ssize_t i) noexcept nogil:
        """Draw tables and exposure of row i given the a_kd of its cluster."""
        cdef int64_t t
        cdef Py_ssize_t k = self.z[i]
        cdef const double *a = self.drawn + k * self.D
        cdef double log_odds
        self.leave(i, k)
        for t in range(self.start[i], self.start[i + 1]):
            self.tables[t] = draw_tables(rng, a[self.column[t]], self.count[t])
        # e = - log (u / (u + v)), of gamma variables u and v
        log_odds = log(rng.draw_gamma(max(1.0, <double> self.n[i]))) - rng.draw_log_gamma(sum_of(a, self.D))
        self.set_row(i, max(log_odds, 0.0) + log1p(exp(-fabs(log_odds))), a)
        self.join(i, k)

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """Draw the a_kd of all clusters; given these, clusters of some rows, and tables and exposures of all; then
        forget the a_kd."""
        cdef Py_ssize_t i, k, d, changed = self.K
        for k in range(self.K):
            for d in range(self.D):
                self.drawn[k * self.D + d] = rng.draw_gamma(self.alpha + self.sums[d * self.cap + k])
            self.scale_shares(rng, k, self.total_sum[k], GRAIN * self.exposure_sum[k])
        self.begin_scan()
        i = rng.draw_index(self.N)
        for k in range(self.reseated):
            self.reseat(rng, (i + k) % self.N)
        for i in range(self.N):
            self.draw_row(rng, i)
        return changed

    def start_parameters(self, Rng rng not None):
        self.refresh_parameters(rng)

    @property
    def why_not_coupled(self):
        """str: numbers of tables are drawn."""
        return ("model=overdispersed_multinomial: draws of tables of counts cannot be coupled; expected another model"
                if self.start[self.N] else "")

    @property
    def refreshes(self):
        """bool: tables and exposures are a part of the state."""
        return True

    @property
    def parameters(self):
        """ndarray of float64, shape (2 N + entries, 1), a copy: exposures, then logs of the rows' terms of the
        likelihood, then tables of the counts that are not 0, row by row."""
        cdef Py_ssize_t i
        cdef int64_t t
        cdef double[::1] found = np.empty(2 * self.N + self.start[self.N])
        for i in range(self.N):
            found[i], found[self.N + i] = GRAIN * self.exposure[i], self.unit * self.log_terms[i]
        for t in range(self.start[self.N]):
            found[2 * self.N + t] = self.tables[t]
        return np.asarray(found)[:, None]

    def set_parameters(self, values):
        """Set tables and exposures, as ``parameters`` gives them: of all items, or of the first ones. A ValueError for
        another number of values, one that is not finite, an exposure out of range, or tables that are no whole number
        from 1 to their count."""
        given = as_numbers("parameters", values).reshape(-1)
        cdef const double[::1] v = given
        cdef Py_ssize_t i, n = -1
        cdef int64_t t
        for i in range(self.N + 1):
            if 2 * i + self.start[i] == len(given):
                n = i
        if n < 0:
            raise ValueError(f"parameters: {len(given)} numbers; expected {2 * self.N + self.start[self.N]}")
        for t in range(self.start[n]):
            if not (1.0 <= v[2 * n + t] <= self.count[t] and v[2 * n + t] == <int32_t> v[2 * n + t]):
                raise ValueError(f"parameters: {v[2 * n + t]:g} tables of {self.count[t]} customers")
        if not ((given[:n] >= 0.0) & (given[:n] <= GRAIN * LONGEST_EXPOSURE)).all() or not np.isfinite(given).all():
            raise ValueError("parameters: expected finite numbers, and exposures from 0 on")
        for i in range(n):
            self.leave(i, self.z[i])
            for t in range(self.start[i], self.start[i + 1]):
                self.tables[t] = <int32_t> v[2 * n + t]
            self.set_row(i, v[i], NULL)
            self.log_terms[i] = llrint(v[n + i] / self.unit)
            self.join(i, self.z[i])

    # -- densities of rows whose tables and exposures are integrated out
    def _densities(self, Py_ssize_t first, Py_ssize_t K):
        """Log densities of the rows from `first` on in the first K clusters, given a draw of their a_k, and in clusters
        of their own: ndarray of float64, shape (N - first, K + 1)."""
        rows, options = _Rows(self.data, first), {"alpha": self.alpha, "shape": self.shape, "rate": self.rate}
        tables = self.statistics()["sums"][:K]
        exposure = np.array([GRAIN * self.exposure_sum[k] for k in range(K)])
        # a draw that follows from the state
        rng = np.random.default_rng(zlib.crc32(exposure.tobytes()))
        a = draw_pseudo_counts(rng, tables, exposure, options)
        if first not in self.alone:
            state = self.parameters[:, 0]
            of_rows = state[first:self.N], state[2 * self.N + self.start[first]:]
            self.alone[first] = rows.log_density_alone(rng, *of_rows[::-1], self.D, **options)
        return np.stack([*(rows.log_density(own[rows.column], own.sum()) for own in a), self.alone[first]], axis=1)

    def log_densities(self, Py_ssize_t first):
        return self._densities(first, self.K - 1)

    def left_out_densities(self):
        """A row's own a_k stays as it is drawn given all rows: with a_k a part of the state the harmonic mean of what
        this gives is the density given the other rows, too."""
        log_density = self._densities(0, self.K)
        sizes = np.bincount(self.labels, minlength=self.K)
        log_density[np.flatnonzero(sizes[self.labels] == 1), self.labels[sizes[self.labels] == 1]] = -np.inf
        return log_density
