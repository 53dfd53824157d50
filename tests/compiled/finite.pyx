"""A mixture and topics with parameters and weights from finite sets, so that samplers which draw them are enumerated.

    theta_k  one of M candidates, with probabilities `base`;  p(x_i | theta = m) = exp(table[i, m])
    w_k      one of V values, g(n) = sum_v mass_v value_v^n;   f(K) = concentration^K
    phi_k    one of M candidate distributions over words, with probabilities `base`
"""
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t
from libc.stdlib cimport free
from libc.string cimport memset

import numpy as np
from scipy import special

from splitmerge_cli.core.capabilities cimport TILE_ITEMS, DrawnParameters
from splitmerge_cli.core.log_scale cimport log_sum_exp
from splitmerge_cli.core.memory cimport doubles, doubles_of, ints_of, larger, longs_of
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.prior cimport Prior
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.documents.hdp_state cimport Topics
from splitmerge_cli.samplers.slice cimport Slice

from splitmerge_cli.core.shared import share


def _tables(Py_ssize_t N, values, masses):
    n = np.arange(N + 3)[:, None]
    g = (np.array(masses) * np.array(values) ** n).sum(axis=1)
    return {"weight": g[1:] / g[:N + 2], "log_size": np.log(g[:N + 2])}


cdef class FiniteWeights(Prior):
    """A prior whose clusters have weights from a finite set.

    Parameters
    ----------
    N : int
    values, masses : tuple of float
        Positive.
    concentration : float
    """

    NAME = "finite"

    cdef const double *value
    cdef const double *mass
    cdef double *chance                 # [V]
    cdef Py_ssize_t V
    cdef object given

    def __init__(self, Py_ssize_t N, values, masses, double concentration=1.0):
        self.given = np.array(values, dtype=np.float64), np.array(masses, dtype=np.float64)
        self.value, self.mass = doubles_of(self.given[0]), doubles_of(self.given[1])
        self.V = len(values)
        self.chance = doubles(self.V)
        self.concentration = concentration
        self.set_tables(share(_tables, N, tuple(values), tuple(masses)))
        self.draws_weights = True

    def __dealloc__(self):
        free(self.chance)

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        return K * log(self.concentration)

    cdef double new_weight(self, Py_ssize_t K) noexcept nogil:
        return self.concentration * exp(self.log_size[1])

    cdef double log_cluster_weight(self, Rng rng, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t v, _n
        for v in range(self.V):
            self.chance[v] = self.mass[v]
            for _n in range(n):
                self.chance[v] *= self.value[v]
        if rng is None:
            return self.log_size[n + 1] - self.log_size[n]
        return log(self.value[rng.draw_categorical(self.chance, self.V)])


cdef class FiniteMixture(Model):
    """A mixture whose clusters have parameters from a finite set, integrated out.

    Parameters
    ----------
    table : array_like of float, shape (N, M)
        Log densities of the items given each candidate, rounded to multiples of 2^-20, so that sums are exact.
    base : array_like of float, shape (M,)
        Probabilities of the candidates.
    prior : Prior
    """

    CAPABILITIES = (FiniteParameters,)

    cdef const double *table
    cdef const double *log_base
    cdef double *sum                    # [cap, M] log densities of a cluster's items
    cdef double *both                   # [M]
    cdef Py_ssize_t M
    cdef object given

    def __init__(self, table, base, Prior prior not None):
        self.given = np.round(np.array(table, dtype=np.float64) * 2.0**20) / 2.0**20, np.log(base)
        self.table, self.log_base = doubles_of(self.given[0]), doubles_of(self.given[1])
        N, self.M = self.given[0].shape
        self.both = doubles(self.M)
        self._allocate(N, N)
        self._set_prior(prior)
        self.set_labels(np.zeros(N, dtype=np.int32))

    def __dealloc__(self):
        free(self.sum)
        free(self.both)

    def log_posterior(self, state):
        """log posterior of (labels, K), up to a constant, by sums of its own."""
        labels = np.asarray(state[0])
        cdef Py_ssize_t K = state[1]
        of = [self.given[0][labels == k].sum(axis=0) + self.given[1] for k in range(K)]
        cdef int32_t[::1] sizes = np.bincount(labels, minlength=K).astype(np.int32)
        return self.prior.log_prob(&sizes[0], K, K) + sum(np.logaddexp.reduce(row) for row in of)

    cdef int grow(self, Py_ssize_t cap) except -1:
        self.sum = <double *> larger(self.sum, 8 * self.M * self.cap, 8 * self.M * cap)
        return 0

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t m
        for m in range(self.M):
            self.sum[k * self.M + m] = 0.0

    cdef void add(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t m
        for m in range(self.M):
            self.sum[k * self.M + m] += self.table[i * self.M + m]

    cdef void remove(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t m
        for m in range(self.M):
            self.sum[k * self.M + m] -= self.table[i * self.M + m]

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        cdef Py_ssize_t m
        for m in range(self.M):
            self.sum[dst * self.M + m] = self.sum[src * self.M + m]

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        cdef Py_ssize_t m
        for m in range(self.M):
            self.sum[dst * self.M + m] += sign * self.sum[src * self.M + m]

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t m
        for m in range(self.M):
            self.both[m] = self.sum[k * self.M + m] + self.log_base[m]
        return log_sum_exp(self.both, self.M)

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t m
        for m in range(self.M):
            self.both[m] = self.sum[a * self.M + m] + self.sum[b * self.M + m] + self.log_base[m]
        return log_sum_exp(self.both, self.M)

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef double before = self.cluster_log_lik(k), after
        self.add(i, k)
        after = self.cluster_log_lik(k)
        self.remove(i, k)
        return after - before


cdef class FiniteParameters(DrawnParameters):
    """The candidate of a cluster, drawn given its items."""

    cdef FiniteMixture model

    def __init__(self, FiniteMixture model not None):
        self.model = model
        self.size, self.tile_rows = 1, model.M

    cdef void draw_posterior(self, Rng rng, Py_ssize_t k, double *theta, double *work) noexcept nogil:
        """The number of a candidate; without a generator the most probable one."""
        cdef Py_ssize_t m
        cdef double top = self.model.cluster_log_lik(k)
        theta[0] = 0.0
        for m in range(self.model.M):
            self.model.both[m] = exp(self.model.sum[k * self.model.M + m] + self.model.log_base[m] - top)
            if self.model.both[m] > self.model.both[<Py_ssize_t> theta[0]]:
                theta[0] = m
        if rng is not None:
            theta[0] = rng.draw_categorical(self.model.both, self.model.M)

    cdef void load_tile(self, const int32_t *items, Py_ssize_t n, double *tile) noexcept nogil:
        cdef Py_ssize_t t, m
        for t in range(TILE_ITEMS):
            for m in range(self.model.M):
                tile[TILE_ITEMS * m + t] = self.model.table[items[min(t, n - 1)] * self.model.M + m]

    cdef void score_tile(self, const double *tile, const double *theta, double log_weight, const double *floor,
                         double *out) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(TILE_ITEMS):
            out[t] = log_weight + tile[TILE_ITEMS * <Py_ssize_t> theta[0] + t]

    cdef void count_items(self, const int32_t *items, Py_ssize_t n, Py_ssize_t k, double *work) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(n):
            self.model.add(items[t], k)


cdef class FiniteSlice(Slice):
    """Slice sampling of M components whose weights are from a finite set.

    Parameters
    ----------
    model, rng
        As of every sampler.
    components : int
    values, masses : tuple of float
        Of the weight of each component.
    thresholds : bool
        Whether there are any: without them every component is open to every item, which is not exact.
    """

    cdef const double *value
    cdef const double *mass
    cdef double *weights                # [V]
    cdef Py_ssize_t M, V
    cdef bint thresholds
    cdef object given

    def __init__(self, model, rng, components, values, masses, thresholds=True):
        super().__init__(model, rng)
        self.given = np.array(values, dtype=np.float64), np.array(masses, dtype=np.float64)
        self.value, self.mass = doubles_of(self.given[0]), doubles_of(self.given[1])
        self.M, self.V, self.thresholds = components, len(values), thresholds
        self.weights = doubles(self.V)

    def __dealloc__(self):
        free(self.weights)

    @classmethod
    def supports(cls, model):
        """Any model with parameters from a finite set: (bool, reason)."""
        return True, ""

    cdef int draw_weights(self) except -1 nogil:
        cdef Py_ssize_t k, v, _n
        self.n = 0
        for k in range(self.M):
            for v in range(self.V):
                self.weights[v] = self.mass[v]
                for _n in range(self.model.size[k] if k < self.model.K else 0):
                    self.weights[v] *= self.value[v]
            self.add_component(log(self.value[self.rng.draw_categorical(self.weights, self.V)]))
        self.log_rest = -INFINITY
        return self.sort_components()

    cdef double draw_threshold(self, double log_weight) except? -1.0 nogil:
        return Slice.draw_threshold(self, log_weight) if self.thresholds else -INFINITY


cdef class SliceWeights(Slice):
    """The slice sampler, whose weights can be read."""

    def draw_all_weights(self):
        """Draw all weights, of finitely many components: ndarray of float64, clusters first."""
        self.draw_weights()
        while self.left > 0.5 * self.shape:
            self.break_stick()
        return np.exp([weight for _, weight in sorted([
            (self.components[t].slot, self.components[t].log_weight) for t in range(self.n)])])


cdef class FiniteTopics(Topics):
    """Topics whose distributions over words are from a finite set, integrated out, with weights that stay as they are.

    Parameters
    ----------
    words : array_like of int, shape (N,)
    starts : array_like of int, shape (J + 1,)
    candidates : array_like of float, shape (M, V)
        Distributions over words.
    base : array_like of float, shape (M,)
        Their probabilities.
    alpha0 : float
    """

    cdef const double *candidate
    cdef const double *log_base
    cdef int32_t *count                 # [cap, V] n_kw
    cdef int32_t *taken                 # [cap] candidates that were drawn
    cdef double *both                   # [M]
    cdef Py_ssize_t M
    cdef object given

    def __init__(self, words, starts, candidates, base, double alpha0):
        self.given = (np.array(words, dtype=np.int32), np.array(starts, dtype=np.int64),
                      np.array(candidates, dtype=np.float64), np.log(base))
        self.word, self.start = ints_of(self.given[0]), longs_of(self.given[1])
        self.candidate, self.log_base = doubles_of(self.given[2]), doubles_of(self.given[3])
        self.M, self.V = self.given[2].shape
        self.J, self.alpha0 = len(starts) - 1, alpha0
        self.both = doubles(self.M)
        self._allocate(len(words), len(words))
        self.set_labels(np.zeros(self.N, dtype=np.int32))

    def __dealloc__(self):
        free(self.count)
        free(self.taken)
        free(self.both)

    @property
    def parameters(self):
        """ndarray of float64, shape (K, 1): logarithms of the weights."""
        return np.array([self.log_beta[k] for k in range(self.K)])[:, None]

    def set_parameters(self, values):
        """Set the logarithms of the weights."""
        for k, value in enumerate(np.asarray(values)[:, 0]):
            self.log_beta[k] = value

    def log_posterior(self, state):
        """log posterior of (labels, K, logarithms of the weights) given the weights, up to a constant, by sums of its
        own."""
        words, starts, candidates, log_base = self.given
        z = np.asarray(state[0])
        total = 0.0
        for k in range(state[1]):
            n = np.bincount(words[z == k], minlength=self.V)
            total += np.logaddexp.reduce(log_base + (n * np.log(candidates)).sum(axis=1))
            a = self.alpha0 * np.exp(state[2][k][0])
            in_documents = np.array([(z[b:e] == k).sum() for b, e in zip(starts, starts[1:])])
            total += (special.gammaln(a + in_documents) - special.gammaln(a)).sum()
        return total

    @property
    def words(self):
        """ndarray of int32, shape (N,): the word of each token."""
        return self.given[0]

    def count_words(self):
        """Return the words of each topic: ndarray of int32, shape (K, V), a copy."""
        return np.array([[self.count[k * self.V + v] for v in range(self.V)] for k in range(self.K)], dtype=np.int32)

    cdef int grow(self, Py_ssize_t cap) except -1:
        self.count = <int32_t *> larger(self.count, 4 * self.V * self.cap, 4 * self.V * cap)
        self.taken = <int32_t *> larger(self.taken, 4 * self.cap, 4 * cap)
        self.log_beta = <double *> self.memory.larger(self.log_beta, 8 * self.cap, 8 * cap)
        return 0

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        memset(self.count + k * self.V, 0, self.V * sizeof(int32_t))

    cdef void add(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        self.count[k * self.V + self.word[i]] += 1

    cdef void draw_word(self, Rng rng, Py_ssize_t w, double *row) noexcept nogil:
        """With the first word the candidates of all topics are drawn."""
        cdef Py_ssize_t k
        for k in range(self.K):
            if w == 0:
                self.taken[k] = <int32_t> self.draw_candidate(rng, k)
            row[k] = self.candidate[self.taken[k] * self.V + w]

    cdef Py_ssize_t draw_candidate(self, Rng rng, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t m, v
        cdef double top
        for m in range(self.M):
            self.both[m] = self.log_base[m]
            for v in range(self.V):
                self.both[m] += self.count[k * self.V + v] * log(self.candidate[m * self.V + v])
        top = log_sum_exp(self.both, self.M)
        for m in range(self.M):
            self.both[m] = exp(self.both[m] - top)
        return rng.draw_categorical(self.both, self.M)

    cdef void set_counts(self, Py_ssize_t w, const int32_t *counts) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.K):
            self.count[k * self.V + w] = counts[k]
