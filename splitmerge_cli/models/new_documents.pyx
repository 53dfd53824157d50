"""New documents given one state of the hierarchical Dirichlet process: the probability of their words, their mixtures
of topics (docs/derivations-perplexity.md).

Everything but the state is integrated out, the words' distributions too: the tokens of the new document count in them,
and it may open topics of its own. That is exact where `splitmerge_cli.models.heldout`, which lets these distributions
stand at their means, is an approximation, a convention by which samplers are compared.

    log_lik    a particle filter over the topics of the tokens, one after the other: unbiased before the logarithm
    mixture    Gibbs scans of the topics of the tokens

One document at a time: memory is 8 K bytes for each of its different words, and 8 (K + tokens) for each particle.
"""
cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport expm1, log, log1p
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np

from splitmerge_cli.core.memory cimport Memory, doubles, ints
from splitmerge_cli.core.rng cimport Rng

from splitmerge_cli.core.checks import check_count


@cython.final
cdef class Filter:
    """Particles with a topic for every token, one document after another.

    Columns 0 .. K - 1 are the topics of the state, K, K + 1, ... those that a particle has opened.
    """
    cdef Memory memory                  # of its arrays
    cdef Rng rng
    cdef Py_ssize_t K, V, R, longest, width
    cdef double eta, alpha0, gamma, mass  # mass: V eta
    cdef double unseen                  # alpha0 beta_u
    cdef const int64_t[::1] indptr      # n_kw by word
    cdef const int32_t[::1] topic, count
    cdef double *prior                  # [K] alpha0 beta_k
    cdef double *size                   # [K] V eta + n_k
    cdef int32_t *row_of                # [V] row of a word of the present document, -1 if not in it
    # -- the document under way
    cdef Py_ssize_t n
    cdef int32_t *row                   # [longest] row of `held` of each token
    cdef int32_t *same                  # [longest] the token before of the same word; of the first one, the last
    cdef double *held                   # [rows, K] n_kw of its words
    cdef Py_ssize_t rows
    # -- particles
    cdef int32_t *z                     # [R, longest] column of each token
    cdef double *tokens                 # [R, width] tokens of each column
    cdef double *stick                  # [R, longest] alpha0 times the weight of each opened topic; 0: free
    cdef double *rest                   # [R] alpha0 times the weight of what is unseen still
    cdef int32_t *opened                # [R] columns behind K that are in use, free ones among them
    cdef int32_t *next_z
    cdef double *next_tokens
    cdef double *next_stick
    cdef double *next_rest
    cdef int32_t *next_opened
    # -- scratch
    cdef double *w                      # [width + 1] weights of a draw
    cdef double *extra                  # [width] tokens of the present word by column, all 0 between draws
    cdef double *weight                 # [R] weights of the particles, of sum R
    cdef double *mean                   # [K + 1] expected tokens of each topic; of the opened ones together

    def __cinit__(self, word_topics, weights, double alpha0, double gamma, double eta, Rng rng not None,
                  Py_ssize_t longest, Py_ssize_t R):
        self.memory = Memory()
        cdef Py_ssize_t k
        self.V, self.K = word_topics.shape
        self.rng, self.R, self.longest, self.width = rng, R, longest, self.K + longest
        self.alpha0, self.gamma, self.eta, self.mass = alpha0, gamma, eta, self.V * eta
        cdef const double[::1] beta = np.ascontiguousarray(weights, dtype=np.float64)
        cdef const int64_t[::1] sizes = np.asarray(word_topics.sum(axis=0)).ravel().astype(np.int64)
        self.indptr = word_topics.indptr.astype(np.int64)
        self.topic, self.count = (np.append(x, 0).astype(np.int32) for x in (word_topics.indices, word_topics.data))
        self.prior, self.size = self.memory.doubles(self.K), self.memory.doubles(self.K)
        self.row_of = self.memory.ints(self.V)
        for k in range(self.K):
            self.prior[k] = alpha0 * beta[k]
            self.size[k] = self.mass + sizes[k]
        self.unseen = alpha0 * beta[self.K]
        memset(self.row_of, -1, self.V * sizeof(int32_t))
        self.row, self.same = self.memory.ints(longest), self.memory.ints(longest)
        self.z, self.next_z = self.memory.ints(R * longest), self.memory.ints(R * longest)
        self.tokens, self.next_tokens = self.memory.doubles(R * self.width), self.memory.doubles(R * self.width)
        self.stick, self.next_stick = self.memory.doubles(R * longest), self.memory.doubles(R * longest)
        self.rest, self.next_rest = self.memory.doubles(R), self.memory.doubles(R)
        self.opened, self.next_opened = self.memory.ints(R), self.memory.ints(R)
        self.w, self.extra = self.memory.doubles(self.width + 1), self.memory.doubles(self.width)
        self.weight, self.mean = self.memory.doubles(R), self.memory.doubles(self.K + 1)

    def __dealloc__(self):
        free(self.held)

    cdef int begin(self, const int32_t[::1] words) except -1:
        """Take a document."""
        cdef Py_ssize_t t, s, w, rows = 0
        cdef int32_t *last
        self.n = words.shape[0]
        for t in range(self.n):
            w = words[t]
            if self.row_of[w] < 0:
                self.row_of[w] = <int32_t> rows
                rows += 1
            self.row[t] = self.row_of[w]
        if rows > self.rows:
            free(self.held)
            self.held, self.rows = NULL, 0
            self.held = doubles(rows * self.K)
            self.rows = rows
        memset(self.held, 0, rows * self.K * sizeof(double))
        last = ints(rows)
        memset(last, -1, rows * sizeof(int32_t))
        for t in range(self.n):
            self.same[t] = last[self.row[t]]
            last[self.row[t]] = <int32_t> t
        for t in range(self.n):
            if self.same[t] < 0:
                self.same[t] = last[self.row[t]]
        free(last)
        for t in range(self.n):
            w = words[t]
            if self.row_of[w] < 0:
                continue
            for s in range(self.indptr[w], self.indptr[w + 1]):
                self.held[self.row[t] * self.K + self.topic[s]] = self.count[s]
            self.row_of[w] = -1
        return 0

    cdef void clear(self) noexcept nogil:
        """No token has a topic yet, in any particle."""
        cdef Py_ssize_t r
        memset(self.tokens, 0, self.R * self.width * sizeof(double))
        for r in range(self.R):
            self.rest[r] = self.unseen
            self.opened[r] = 0

    cdef double weigh(self, Py_ssize_t r, Py_ssize_t t, bint whole) noexcept nogil:
        """w[c], not divided by alpha0 and the tokens that count, of token t in every column of particle r, the last one
        a new topic; their sum. What counts are the tokens before, or all others (`whole`)."""
        cdef Py_ssize_t c, s = self.same[t], end = self.K + self.opened[r]
        cdef const int32_t *z = self.z + r * self.longest
        cdef const double *tokens = self.tokens + r * self.width
        cdef const double *stick = self.stick + r * self.longest
        cdef const double *held = self.held + self.row[t] * self.K
        cdef double total = 0.0
        while s < t or (whole and s != t):
            self.extra[z[s]] += 1.0
            if self.same[s] >= s and not whole:
                break
            s = self.same[s]
        for c in range(self.K):
            self.w[c] = (self.prior[c] + tokens[c]) * (self.eta + held[c] + self.extra[c]) / (self.size[c] + tokens[c])
            total += self.w[c]
        for c in range(self.K, end):
            self.w[c] = (stick[c - self.K] + tokens[c]) * (self.eta + self.extra[c]) / (self.mass + tokens[c])
            total += self.w[c]
        self.w[end] = self.rest[r] / self.V
        total += self.w[end]
        s = self.same[t]
        while s < t or (whole and s != t):
            self.extra[z[s]] = 0.0
            if self.same[s] >= s and not whole:
                break
            s = self.same[s]
        return total

    cdef void seat(self, Py_ssize_t r, Py_ssize_t t) noexcept nogil:
        """Draw the topic of token t by the last ``weigh``; a new one takes the share Beta(1, gamma) of the rest."""
        cdef Py_ssize_t end = self.K + self.opened[r], k = self.rng.draw_categorical(self.w, end + 1), c = self.K
        cdef double *stick = self.stick + r * self.longest
        cdef double log_rest
        if k == end:
            while c < end and stick[c - self.K] > 0.0:
                c += 1
            k = c
            if k == end:
                self.opened[r] += 1
            log_rest = log1p(-self.rng.next()) / self.gamma
            # a share that rounds to 0 would be a free column
            stick[k - self.K] = max(-expm1(log_rest) * self.rest[r], 1e-300)
            self.rest[r] *= 1.0 + expm1(log_rest)
            self.tokens[r * self.width + k] = 0.0
        self.z[r * self.longest + t] = <int32_t> k
        self.tokens[r * self.width + k] += 1.0

    cdef double log_likelihood(self) noexcept nogil:
        """Log of an unbiased estimate: the probability of all tokens together."""
        cdef Py_ssize_t t, r
        cdef double log_lik = 0.0, total, squares
        self.clear()
        for r in range(self.R):
            self.weight[r] = 1.0
        for t in range(self.n):
            total = squares = 0.0
            for r in range(self.R):
                self.weight[r] *= self.weigh(r, t, False) / (self.alpha0 + t)
                total += self.weight[r]
            log_lik += log(total / self.R)
            if t + 1 == self.n:
                break
            for r in range(self.R):
                self.weight[r] *= self.R / total
                squares += self.weight[r] * self.weight[r]
            if 2 * self.R < squares:
                self.select(t)
            for r in range(self.R):
                self.weigh(r, t, False)
                self.seat(r, t)
        return log_lik

    cdef void select(self, Py_ssize_t t) noexcept nogil:
        """Systematic selection of particles by weight, which are equal after it."""
        cdef Py_ssize_t r, a = 0, width = self.width, longest = self.longest
        cdef double u = self.rng.next(), upto = self.weight[0]
        for r in range(self.R):
            while upto < u + r and a + 1 < self.R:
                a += 1
                upto += self.weight[a]
            memcpy(self.next_z + r * longest, self.z + a * longest, t * sizeof(int32_t))
            memcpy(self.next_tokens + r * width, self.tokens + a * width, width * sizeof(double))
            memcpy(self.next_stick + r * longest, self.stick + a * longest, longest * sizeof(double))
            self.next_rest[r], self.next_opened[r] = self.rest[a], self.opened[a]
        for r in range(self.R):
            self.weight[r] = 1.0
        self.z, self.next_z = self.next_z, self.z
        self.tokens, self.next_tokens = self.next_tokens, self.tokens
        self.stick, self.next_stick = self.next_stick, self.stick
        self.rest, self.next_rest = self.next_rest, self.rest
        self.opened, self.next_opened = self.next_opened, self.opened

    cdef void mix(self, Py_ssize_t scans) noexcept nogil:
        """mean[k]: expected tokens of each topic, over Gibbs scans after as many of burn-in. What is averaged are the
        probabilities with which topics are drawn, not the draws."""
        cdef Py_ssize_t s, t, c
        cdef double total, known
        cdef int32_t k
        self.clear()
        memset(self.mean, 0, (self.K + 1) * sizeof(double))
        for t in range(self.n):
            self.weigh(0, t, False)
            self.seat(0, t)
        for s in range(2 * scans):
            for t in range(self.n):
                k = self.z[t]
                self.tokens[k] -= 1.0
                if k >= self.K and self.tokens[k] == 0.0:
                    self.rest[0] += self.stick[k - self.K]
                    self.stick[k - self.K] = 0.0
                total = self.weigh(0, t, True)
                if s >= scans:
                    known = 0.0
                    for c in range(self.K):
                        self.mean[c] += self.w[c] / (total * scans)
                        known += self.w[c]
                    self.mean[self.K] += max(0.0, 1.0 - known / total) / scans
                self.seat(0, t)


def fold_in(word_topics, weights, alpha0, gamma, eta, words, starts, seed, particles=0, scans=0):
    """Log likelihoods and mixtures of new documents, each by itself, given one state.

    Parameters
    ----------
    word_topics : scipy.sparse.csr_array of int32, shape (V, K)
        n_kw: tokens of each word in each topic; every topic holds some.
    weights : ndarray of float64, shape (K + 1,)
        beta_1 .. beta_K and beta_u, linear scale; they sum to 1.
    alpha0, gamma, eta : float
        Concentrations of documents and of topics; parameter of the topics' symmetric Dirichlet prior.
    words : ndarray of int32, shape (n,)
        Word of each token, 0 .. V - 1, documents one after the other.
    starts : ndarray of int64, shape (D + 1,)
        Tokens of document d are those from starts[d] to before starts[d + 1].
    seed : sequence of int
        Every document has the draws of ``PCG64DXSM(SeedSequence(seed))`` from its beginning, so that what comes out
        does not depend on the others.
    particles : int
        Of the filter; 0: no log likelihoods.
    scans : int
        Gibbs scans that are averaged, after as many of burn-in; 0: no mixtures.

    Returns
    -------
    log_lik : ndarray of float64, shape (D,)
        Natural logarithm of the probability of the words of each document in their order; 0 of an empty one; NaN
        without particles.
    mixture : ndarray of float64, shape (D, K + 1)
        Expected proportions of the topics and, last, of all topics that no training token has; rows sum to 1. NaN
        without scans.

    Raises
    ------
    ValueError
        Particles or scans out of range, arrays that do not fit together.

    Examples
    --------
    One topic that holds word 0 three times: a new document of it has 1/2 . 3.5/4 + 1/2 . 1/2.

    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> state = csr_array(np.array([[3], [0]], dtype=np.int32)), np.array([0.5, 0.5]), 1.0, 1.0, 0.5
    >>> words, starts = np.array([0], dtype=np.int32), np.array([0, 1])
    >>> float(np.exp(fold_in(*state, words, starts, [0], particles=2)[0][0]).round(4))
    0.6875

    Notes
    -----
    Source: the particle filter with look-ahead of one token (Pitt and Shephard 1999), systematic selection where the
    effective number of particles falls below half; Gibbs of Rana et al. 2013, equation 8, on one document.
    """
    cdef Filter reader
    cdef Py_ssize_t n_scans = scans
    check_count("particles", particles, 0, 1_000_000)
    check_count("scans", scans, 0, 1_000_000)
    V, K = word_topics.shape
    if np.shape(weights) != (K + 1,) or not np.isclose(np.sum(weights), 1.0) or np.min(weights) < 0.0:
        raise ValueError(f"weights: expected {K + 1} numbers of at least 0 that sum to 1, got {weights}")
    for name, value in (("alpha0", alpha0), ("gamma", gamma), ("eta", eta)):
        if not 0.0 < value < np.inf:
            raise ValueError(f"{name}: expected a positive number, got {value}")
    if len(words) and not (words.min() >= 0 and words.max() < V):
        raise ValueError(f"words: expected numbers from 0 to {V - 1}, got {words.min()} to {words.max()}")
    if len(starts) < 1 or starts[0] != 0 or starts[-1] != len(words) or (np.diff(starts) < 0).any():
        raise ValueError(f"starts: expected them ascending from 0 to {len(words)}, the tokens")
    rng = Rng(0)
    stream = np.random.PCG64DXSM(np.random.SeedSequence(seed)).state
    reader = Filter(word_topics, weights, alpha0, gamma, eta, rng, int(np.diff(starts).max(initial=0)),
                    max(particles, 1))
    D = len(starts) - 1
    log_lik = np.full(D, np.nan if not particles else 0.0)
    mixture = np.full((D, K + 1), np.nan)
    for d in range(D):
        PyErr_CheckSignals()
        n = int(starts[d + 1] - starts[d])
        reader.begin(np.ascontiguousarray(words[starts[d]:starts[d + 1]], dtype=np.int32))
        if particles and n:
            rng.state = stream
            log_lik[d] = _log_likelihood(reader)
        if scans:
            rng.state = stream
            with nogil:
                reader.mix(n_scans)
            expected = np.array([reader.mean[k] for k in range(K + 1)])
            mixture[d] = (alpha0 * np.asarray(weights) + expected) / (alpha0 + n)
    return log_lik, mixture


cdef double _log_likelihood(Filter reader) except? 1.0:
    cdef double log_lik
    with nogil:
        log_lik = reader.log_likelihood()
    return log_lik
