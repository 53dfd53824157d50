"""The entity/mention model of paper 000, section 3.1, dictionaries integrated out; empty entities are in the state.

Target, labelled: pi(K, S) = P(K) K^-N prod_k g(C_k), with g(n) = B(alpha + n) / B(alpha) and P(K) a discretised
log-normal on 1..kmax.
"""
from libc.math cimport INFINITY, lgamma, log
from libc.stdint cimport int32_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from splitmerge_cli._kernels cimport Model, copy_rows, doubles, ints, larger, log_rising, release

from splitmerge_cli._kernels import check_count, check_positive

LABELS = ("labelled", "partition", "literal")

MOST = 10_000_000
"""Largest kmax and vocabulary."""


cdef class EMM(Model):
    """Entity/mention model.

    Parameters
    ----------
    tokens : array_like of int, shape (N,)
        Token of each mention, from 0.
    n_tokens : int, optional
        Size L of the vocabulary; default: the largest token plus one.
    alpha : float
        Concentration of every entity's symmetric Dirichlet dictionary, positive.
    mu, sigma : float
        Location and scale of log K in P(K), proportional to exp(-(log K - mu)^2 / (2 sigma^2)) / K.
    kmax : int
        The most entities allowed.
    labels : {'labelled', 'partition', 'literal'}
        How a state with K entities is counted: as the model defines it; divided by K! (the multiplicity of labels
        ignored); times 2^K / K! (what the paper's acceptance ratio amounts to). Source: docs/decisions/0002.

    Raises
    ------
    ValueError
        For a token outside the vocabulary or a parameter out of range.

    Notes
    -----
    Cost: an item against K entities O(K), one row of counts; an entity's likelihood O(L). Memory: 8 L (K + 3) bytes and
    56 bytes an item.
    Source: paper 000, section 3.1; equation 5 for the predictive.
    """

    kind = "tokens"

    cdef readonly Py_ssize_t L
    cdef readonly double alpha, mu, sigma
    cdef readonly str label_law
    cdef int32_t *token                 # [N]
    cdef double *count                  # [L, cap] mentions of a token in an entity; whole numbers
    cdef double *inverse                # [N + 2] 1 / (n + L alpha)
    cdef double *scale                  # [cap] inverse[size[k]]
    cdef double *log_rise               # [N + 1] log of alpha (alpha + 1) ... (alpha + n - 1)
    cdef double *log_rise_all           # [N + 1] the same of L alpha
    cdef double *log_prior_K            # [kmax + 1] log P(K) - N log K + the label law

    def __init__(self, tokens, n_tokens=None, alpha=0.001, mu=2.302585092994046, sigma=1.0, kmax=100,
                 labels="labelled"):
        values = np.ascontiguousarray(tokens)
        if values.ndim != 1 or values.size == 0 or not np.issubdtype(values.dtype, np.integer):
            raise ValueError("tokens: expected a non-empty row of integers")
        if values.min() < 0:
            raise ValueError("tokens: a token is negative")
        if n_tokens is not None:
            check_count("model.n_tokens", n_tokens, 1, MOST)
        self.L = int(values.max()) + 1 if n_tokens is None else n_tokens
        if values.max() >= self.L:
            raise ValueError(f"model.n_tokens: {self.L} tokens, but the data hold token {values.max()}")
        check_positive("model.alpha", alpha)
        check_positive("model.sigma", sigma)
        if isinstance(mu, bool) or not isinstance(mu, (int, float)) or not abs(mu) <= 1e100:
            raise ValueError(f"model.mu: expected a number from -1e100 to 1e100, got {mu}")
        check_count("model.kmax", kmax, 1, MOST)
        if labels not in LABELS:
            raise ValueError(f"model.labels: expected one of {', '.join(LABELS)}, got {labels!r}")
        cdef Py_ssize_t n, k, N = values.size
        cdef double total, law
        self.allows_empty = True
        self.alpha, self.mu, self.sigma = alpha, mu, sigma
        self.label_law = labels
        self._allocate(N, kmax)
        cdef int32_t[::1] v = values.astype(np.int32)
        self.token = ints(N)
        memcpy(self.token, &v[0], N * sizeof(int32_t))
        self.inverse = doubles(N + 2)
        self.log_rise = doubles(N + 2)
        self.log_rise_all = doubles(N + 2)
        self.log_prior_K = doubles(kmax + 1)
        for n in range(N + 2):
            self.alloc[n] = 1.0
            self.scan_table[n] = 1.0
            self.inverse[n] = 1.0 / (n + self.L * self.alpha)
        log_rising(self.alpha, N + 1, self.log_rise)
        log_rising(self.L * self.alpha, N + 1, self.log_rise_all)
        p = np.arange(1, kmax + 1)
        total = np.logaddexp.reduce(-np.log(p) - (np.log(p) - mu) ** 2 / (2 * sigma ** 2))
        for k in range(1, kmax + 1):
            law = 0.0
            if labels != "labelled":
                law -= lgamma(k + 1.0)
            if labels == "literal":
                law += k * log(2.0)
            self.log_prior_K[k] = -log(k) - (log(k) - mu) ** 2 / (2 * sigma ** 2) - total - N * log(k) + law
        self.set_labels(np.zeros(N, dtype=np.int32), 1)

    def __dealloc__(self):
        free(self.token)
        free(self.count)
        free(self.scale)
        free(self.inverse)
        free(self.log_rise)
        free(self.log_rise_all)
        free(self.log_prior_K)

    @classmethod
    def from_data(cls, data, n_tokens=None, **params):
        """The model of a Dataset of tokens; the vocabulary is the data's unless `n_tokens` is given."""
        if n_tokens is None and data.kind == cls.kind:
            n_tokens = data.n_tokens
        return super().from_data(data, n_tokens=n_tokens, **params)

    # -- statistics
    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef double *count = doubles(self.L * cap)
        self.scale = <double *> larger(self.scale, self.cap * sizeof(double), cap * sizeof(double))
        copy_rows(count, cap * sizeof(double), self.count, self.cap * sizeof(double), self.L)
        release(self.count)
        self.count = count
        return 0

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t token
        for token in range(self.L):
            self.count[token * self.cap + k] = 0.0
        self.scale[k] = self.inverse[0]

    cdef void add(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        self.count[self.token[i] * self.cap + k] += 1.0
        self.scale[k] = self.inverse[self.size[k]]

    cdef void remove(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        self.count[self.token[i] * self.cap + k] -= 1.0
        self.scale[k] = self.inverse[self.size[k]]

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        cdef Py_ssize_t token
        for token in range(self.L):
            self.count[token * self.cap + dst] = self.count[token * self.cap + src]
        self.scale[dst] = self.scale[src]

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src) noexcept nogil:
        cdef Py_ssize_t token
        for token in range(self.L):
            self.count[token * self.cap + dst] += self.count[token * self.cap + src]
        self.scale[dst] = self.inverse[self.size[dst] + self.size[src]]

    # -- probabilities
    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Equation 5, log scale."""
        return log((self.count[self.token[i] * self.cap + k] + self.alpha) * self.scale[k])

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

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        """log g(C_k)."""
        cdef Py_ssize_t token
        cdef double total = -self.log_rise_all[self.size[k]]
        for token in range(self.L):
            total += self.log_rise[<Py_ssize_t> self.count[token * self.cap + k]]
        return total

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t _token
        cdef double *row = self.count
        cdef double total = -self.log_rise_all[self.size[a] + self.size[b]]
        for _token in range(self.L):
            total += self.log_rise[<Py_ssize_t> (row[a] + row[b])]
            row += self.cap
        return total

    cdef double log_prior(self, const int32_t *sizes, Py_ssize_t m, Py_ssize_t K) noexcept nogil:
        if K < 1 or K > self.kmax:
            return -INFINITY
        return self.log_prior_K[K]

    def prior_labels(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int. The label law is part of the
        prior of K."""
        log_p = np.array([self.log_prior_K[k] + self.N * log(k) for k in range(1, self.kmax + 1)])
        p = np.exp(log_p - np.logaddexp.reduce(log_p))
        K = 1 + int(generator.choice(self.kmax, p=p / p.sum()))
        return generator.integers(K, size=self.N).astype(np.int32), K

    def statistics(self):
        """dict of ndarray: counts, shape (K, L), a copy."""
        return {"counts": np.array([[self.count[t * self.cap + k] for t in range(self.L)] for k in range(self.K)])}
