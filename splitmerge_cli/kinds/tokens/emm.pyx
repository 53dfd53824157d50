"""The entity/mention model, dictionaries integrated out (Wang & Russell 2015, section 3.1). Empty entities are in the
state.

Target, labelled: pi(K, S) = P(K) K^-N prod_k g(C_k), with g(n) = B(alpha + n) / B(alpha) and P(K) a discretised
log-normal on 1..kmax.
"""
from libc.math cimport INFINITY, lgamma, log
from libc.stdint cimport int32_t

import numpy as np

from splitmerge_cli.core.log_scale cimport log_rising
from splitmerge_cli.core.memory cimport doubles_of, ints_of
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.prior cimport Prior
from splitmerge_cli.core.sums cimport COPIED, DOUBLES

from splitmerge_cli.core.options import Choice, Count, Number, Positive, read_options
from splitmerge_cli.core.shared import as_array, as_frozen, share
from splitmerge_cli.core.simulation import draw_words

MOST = 10_000_000
"""Largest vocabulary."""
MOST_ENTITIES = 10_000_000
"""Largest kmax."""


def _prior_tables(Py_ssize_t N, mu, sigma, Py_ssize_t kmax, label_prior):
    """Weights and log factors, 1 and 0, of entities with 0 to N + 1 mentions; log factors of 0 to kmax entities."""
    cdef Py_ssize_t k
    cdef double total, log_labelling
    cdef double[::1] log_number = np.zeros(kmax + 1)
    p = np.arange(1, kmax + 1)
    total = np.logaddexp.reduce(-np.log(p) - (np.log(p) - mu) ** 2 / (2 * sigma ** 2))
    for k in range(1, kmax + 1):
        log_labelling = 0.0
        if label_prior != "labelled":
            log_labelling -= lgamma(k + 1.0)
        if label_prior == "as_printed":
            log_labelling += k * log(2.0)
        log_number[k] = -log(k) - (log(k) - mu) ** 2 / (2 * sigma ** 2) - total - N * log(k) + log_labelling
    return {"weight": np.ones(N + 2), "log_size": np.zeros(N + 2), "log_number": np.asarray(log_number)}


cdef class Entities(Prior):
    """Prior of entities (section 3.1): a number of them, empty ones among them, and for each mention one of these,
    uniformly. See ``OPTIONS``; source of `label_prior`: docs/decisions/0002.

        pi(K, S) = P(K) K^-N,    P(K) a log-normal density in K, on 1..kmax, normalised
    """

    OPTIONS = (
        Number("mu", 2.302585092994046, "location of log K; the default is ln 10"),
        Positive("sigma", 1.0, "scale of log K"),
        Count("kmax", 100, "largest number of entities", least=1, most=MOST_ENTITIES),
        Choice("label_prior", "labelled", "how a state of K entities is counted: as the model defines it; divided by "
               "K! (partition); times 2^K / K!, what the paper's ratio amounts to (as_printed)",
               choices=("labelled", "partition", "as_printed")),
    )

    cdef Py_ssize_t kmax
    cdef const double *log_number       # [kmax + 1] log P(K) - N log K + how labels count

    def __init__(self, Py_ssize_t N, mu, sigma, kmax, label_prior):
        self.kmax = kmax
        self.set_tables(share(_prior_tables, N, mu, sigma, kmax, label_prior))
        self.log_number = doubles_of(self.shared.log_number)

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        return -INFINITY if K < 1 or K > self.kmax else self.log_number[K]

    def draw(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int. How labels count is part of the
        prior of K."""
        log_p = np.array([self.log_number[k] + self.N * log(k) for k in range(1, self.kmax + 1)])
        p = np.exp(log_p - np.logaddexp.reduce(log_p))
        K = 1 + int(generator.choice(self.kmax, p=p / p.sum()))
        return generator.integers(K, size=self.N).astype(np.int32), K


def _prepare(values):
    """The tokens as int32, themselves where they are such and read-only, and the largest; a ValueError for others."""
    if values.ndim != 1 or values.size == 0 or not np.issubdtype(values.dtype, np.integer):
        raise ValueError("tokens: expected a non-empty row of integers")
    if values.min() < 0:
        raise ValueError("tokens: a token is negative")
    return {"token": as_frozen(values, np.int32), "largest": int(values.max())}


def _tables(Py_ssize_t N, Py_ssize_t L, double alpha):
    """Factors that depend on a count from 0 to N + 1."""
    cdef Py_ssize_t n
    cdef double[::1] inverse = np.empty(N + 2), log_rise = np.empty(N + 2), log_rise_all = np.empty(N + 2)
    for n in range(N + 2):
        inverse[n] = 1.0 / (n + L * alpha)
    log_rising(alpha, N + 1, &log_rise[0])
    log_rising(L * alpha, N + 1, &log_rise_all[0])
    return {"inverse": np.asarray(inverse), "log_rise": np.asarray(log_rise), "log_rise_all": np.asarray(log_rise_all)}


def simulate_tokens(rng, given):
    """Tokens drawn from entities, int32 ``[N]`` (`splitmerge_cli.core.simulation`)."""
    return draw_words(rng, given, given.data.values, given.options["n_tokens"], given.options["alpha"])


cdef class EMM(Model):
    """Entity/mention model. `tokens`: of each mention, from 0, int of shape (N,).

    Cost: an item against K entities O(K), one row of counts; an entity's likelihood O(L). Memory: 8 L (K + 3) bytes and
    12 bytes an item; shared by the models of the same data, 44 bytes an item.
    Source: Wang & Russell 2015, section 3.1; equation 5 for the predictive.
    """

    kind = "tokens"
    simulate = staticmethod(simulate_tokens)
    CALIBRATION = {
        "": {"options": {"n_tokens": 6, "alpha": 0.2, "mu": 1.0, "sigma": 0.7, "kmax": 12}, "D": 6, "thin": 32}
    }
    OPTIONS = (
        Count("n_tokens", None, "size of the vocabulary; null: as in the data", optional=True, least=1, most=MOST),
        Positive("alpha", 0.001, "symmetric Dirichlet concentration of the dictionaries"),
        *Entities.OPTIONS,
    )

    cdef readonly Py_ssize_t L
    cdef readonly double alpha
    cdef const int32_t *token           # [N]
    cdef double *count                  # [L, cap] mentions of a token in an entity; whole numbers
    cdef const double *inverse          # [N + 2] 1 / (n + L alpha)
    cdef double *scale                  # [cap] inverse[size[k]]
    cdef const double *log_rise         # [N + 1] log of alpha (alpha + 1) ... (alpha + n - 1)
    cdef const double *log_rise_all     # [N + 1] the same of L alpha

    def __init__(self, tokens, **options):
        given = read_options("model", self.OPTIONS, options)
        values = as_array(tokens)
        data = share(_prepare, values)
        n_tokens = given.pop("n_tokens")
        self.L = data.largest + 1 if n_tokens is None else n_tokens
        if data.largest >= self.L:
            raise ValueError(f"model.n_tokens: {self.L} tokens, but the data hold token {data.largest}")
        self.alpha = given.pop("alpha")
        cdef Py_ssize_t N = values.size
        self.allows_empty = True
        self.keep(&self.count, DOUBLES, self.L)
        self.keep(&self.scale, COPIED)
        self._allocate(N, given["kmax"])
        self._set_prior(Entities(N, **given))
        by_count = share(_tables, N, self.L, self.alpha)
        self._hold(data)
        self._hold(by_count)
        self.token, self.inverse = ints_of(data.token), doubles_of(by_count.inverse)
        self.log_rise, self.log_rise_all = doubles_of(by_count.log_rise), doubles_of(by_count.log_rise_all)
        self.set_labels(np.zeros(N, dtype=np.int32), 1)

    @classmethod
    def from_data(cls, data, n_tokens=None, **params):
        """The model of a Dataset of tokens; the vocabulary is the data's unless `n_tokens` is given."""
        if n_tokens is None:
            n_tokens = data.n_tokens
        return super().from_data(data, n_tokens=n_tokens, **params)

    @classmethod
    def with_defaults_of(cls, data, **params):
        n_tokens = params.get("n_tokens")
        return params | {"n_tokens": data.n_tokens if n_tokens is None else n_tokens}

    @classmethod
    def with_new(cls, data, whole, **params):
        # the new items are one cluster more than a state may have
        kmax = read_options("model", cls.OPTIONS, params)["kmax"]
        return super().with_new(data, whole, **(params | {"kmax": min(kmax + 1, MOST_ENTITIES)}))

    # -- statistics
    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        Model.clear(self, k)
        self.scale[k] = self.inverse[0]

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        self.count[self.token[i] * self.cap + k] += sign
        self.scale[k] = self.inverse[self.size[k]]

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        Model.absorb(self, dst, src, sign)
        self.scale[dst] = self.inverse[self.size[dst] + sign * self.size[src]]

    # -- probabilities
    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Equation 5, log scale."""
        return log((self.count[self.token[i] * self.cap + k] + self.alpha) * self.scale[k])

    cdef void weigh(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t m, double *w) noexcept nogil:
        cdef double *row = self.count + self.token[i] * self.cap + first
        cdef double *scale = self.scale + first
        cdef Py_ssize_t s
        for s in range(m):
            w[s] = (row[s] + self.alpha) * scale[s]

    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        # Sizes carry no weight in this model, so `sized` makes no difference.
        cdef double *row = self.count + self.token[i] * self.cap
        cdef double na = row[a] + self.alpha, nb = row[b] + self.alpha, sa = self.scale[a], sb = self.scale[b]
        if own == a:
            na -= 1.0
            sa = self.inverse[self.size[a] - 1]
        elif own == b:
            nb -= 1.0
            sb = self.inverse[self.size[b] - 1]
        return nb * sb / (na * sa)

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        """Equation of section 3.2, the mention itself left out of the counts."""
        cdef double *row = self.count + self.token[i] * self.cap
        cdef double *w = self.w
        cdef double *scale = self.scale
        cdef double alpha = self.alpha
        cdef Py_ssize_t k, own = self.z[i]
        for k in range((self.K + 7) & ~7):
            w[k] = (row[k] + alpha) * scale[k]
        if own >= 0:
            w[own] = (row[own] - 1.0 + alpha) * self.inverse[self.size[own] - 1]

    cdef double log_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """log g(C_a), of both as one log g(C_a + C_b)."""
        cdef Py_ssize_t _token
        cdef double *row = self.count
        cdef double total = -self.log_rise_all[self.size[a] + (self.size[b] if b >= 0 else 0)]
        for _token in range(self.L):
            total += self.log_rise[<Py_ssize_t> (row[a] + (row[b] if b >= 0 else 0.0))]
            row += self.cap
        return total

    def statistics(self):
        """dict of ndarray: counts, shape (K, L), a copy."""
        return {"counts": np.array([[self.count[t * self.cap + k] for t in range(self.L)] for k in range(self.K)])}
