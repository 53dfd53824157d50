"""Log likelihood of held-out tokens, given one state of the hierarchical Dirichlet process
(docs/derivations-perplexity.md).

The topics' word distributions stand at their posterior means, phi_kw = (eta + n_kw) / (V eta + n_k), and all topics
without tokens are one more, phi_uw = 1/V. A document mixes these K + 1 with theta ~ Dirichlet(a), a = alpha0 beta; of a
training document, whose other tokens have their topics, a_k = alpha0 beta_k + n_jk. How far that is the model's own
prediction, and what the methods converge to, is derived there.

    completion     each predicted token by itself given the tokens that may be seen
    left_to_right  all tokens jointly, unbiased: particles that draw all earlier topics anew before each token
    sequential     the same without drawing them anew: linear in the document's length in place of quadratic
    fold_in        the tokens that theta was fitted to, scored once more: no held-out likelihood, far too good

One document at a time: memory is that of the rows of phi of its own words, 8 (K + 1) bytes each, and of the particles.
"""
cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

cdef extern from "simd_math.h":
    """
    /* w = (a + n) phi, eight topics at a time; lane[l] = sum of w[l], w[l + 8], ... Returns the sum of all. */
    static inline double weigh_topics(const double *a, const double *n, const double *phi, ptrdiff_t width, double *w,
                                      double *lane)
    {
        EACH_LANE(h) {
            lanes sums = {0};
            for (ptrdiff_t k = h; k < width; k += 8) {
                const lanes v = (LANES_AT(a + k) + LANES_AT(n + k)) * LANES_AT(phi + k);
                LANES_TO(w + k) = v;
                sums += v;
            }
            LANES_TO(lane + h) = sums;
        }
        return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
    """
    double weigh_topics(const double *a, const double *n, const double *phi, Py_ssize_t width, double *w,
                        double *lane) noexcept nogil

import numpy as np

from splitmerge_cli.core.memory cimport Memory, doubles
from splitmerge_cli.core.rng cimport Rng

from splitmerge_cli.core.checks import check_count

METHODS = ("completion", "left_to_right", "sequential", "fold_in")

cdef enum:
    LANES = 8


@cython.final
cdef class Reader:
    """Reads one document after another under the topics of one state.

    A row holds one number for each of the K topics, the unseen one, and zeros up to a multiple of eight.
    """
    cdef Memory memory                  # of its arrays
    cdef Rng rng
    cdef Py_ssize_t K, width            # topics; length of a row
    cdef double eta, alpha0
    cdef const int64_t[::1] indptr      # n_kw by word
    cdef const int32_t[::1] topic, count
    cdef double *prior                  # [width] alpha0 beta
    cdef double *denominator            # [width] V eta + n_k
    cdef double *blank                  # [width] row of phi of a word that no topic holds
    cdef int32_t *row_of                # [V] row of phi of a word of the present document, -1 if not yet in it
    # -- the document under way
    cdef Py_ssize_t n                   # tokens
    cdef double *base                   # [width] a
    cdef double total                   # a_1 + ... + a_u
    cdef double *phi                    # [phi_rows, width] of the document's words
    cdef Py_ssize_t phi_rows
    cdef int32_t *row                   # [longest] row of phi of each token
    cdef int32_t *seen                  # [longest] the positions that theta is fitted to
    cdef Py_ssize_t n_seen
    # -- scratch
    cdef Py_ssize_t longest, particles
    cdef double *w                      # [width] weights of the last draw
    cdef double *lane                   # [8] their sums by lane
    cdef double *mean                   # [width] expected number of tokens of each topic
    cdef double *counts                 # [particles, width] tokens of each topic
    cdef double *next_counts
    cdef int32_t *topics                # [particles, longest] topic of each token
    cdef int32_t *next_topics
    cdef double *p                      # [particles] probability of the next token
    cdef double *up_to                  # [particles] sums of the first 1, 2, ... of them
    cdef int32_t *ancestor              # [particles] which particle each goes on from

    def __cinit__(self, word_topics, weights, alpha0, eta, Rng rng not None, Py_ssize_t longest, Py_ssize_t particles,
                  bint keep_topics):
        self.memory = Memory()
        cdef Py_ssize_t V = word_topics.shape[0], k, K = word_topics.shape[1]
        _check_state(K, weights, alpha0, eta)
        cdef const double[::1] beta = np.ascontiguousarray(weights, dtype=np.float64)
        cdef const int64_t[::1] size = np.asarray(word_topics.sum(axis=0)).ravel().astype(np.int64)
        self.rng, self.K, self.eta, self.alpha0, self.longest, self.particles = rng, K, eta, alpha0, longest, particles
        self.width = (K + LANES) // LANES * LANES
        self.indptr = word_topics.indptr.astype(np.int64)
        self.topic, self.count = (np.append(x, 0).astype(np.int32) for x in (word_topics.indices, word_topics.data))
        self.prior, self.base = self.memory.doubles(self.width), self.memory.doubles(self.width)
        self.blank, self.denominator = self.memory.doubles(self.width), self.memory.doubles(self.width)
        for k in range(K + 1):
            self.prior[k] = self.alpha0 * beta[k]
        for k in range(K):
            self.denominator[k] = V * self.eta + size[k]
            self.blank[k] = self.eta / self.denominator[k]
        self.blank[K] = 1.0 / V
        self.row_of = self.memory.ints(V)
        memset(self.row_of, -1, V * sizeof(int32_t))
        self.row, self.seen = self.memory.ints(longest), self.memory.ints(longest)
        self.w, self.mean = self.memory.doubles(self.width), self.memory.doubles(self.width)
        self.lane = self.memory.doubles(LANES)
        self.p, self.up_to = self.memory.doubles(particles), self.memory.doubles(particles)
        self.ancestor = self.memory.ints(particles)
        self.counts = self.memory.doubles(particles * self.width)
        self.next_counts = self.memory.doubles(particles * self.width)
        if keep_topics:
            self.topics = self.memory.ints(particles * longest)
            self.next_topics = self.memory.ints(particles * longest)

    def __dealloc__(self):
        free(self.phi)

    cdef int begin(self, const int32_t[::1] words, const int32_t[::1] fixed) except -1:
        """Take a document: its words, and the topics of its fixed tokens."""
        cdef Py_ssize_t t, s, w, rows = 0
        cdef double *row
        memcpy(self.base, self.prior, self.width * sizeof(double))
        for t in range(fixed.shape[0]):
            self.base[fixed[t]] += 1.0
        self.total = self.alpha0 + fixed.shape[0]
        self.n = words.shape[0]
        for t in range(self.n):
            w = words[t]
            if self.row_of[w] < 0:
                self.row_of[w] = <int32_t> rows
                rows += 1
            self.row[t] = self.row_of[w]
        if rows > self.phi_rows:
            free(self.phi)
            self.phi, self.phi_rows = NULL, 0
            self.phi = doubles(rows * self.width)
            self.phi_rows = rows
        for t in range(self.n):
            w = words[t]
            if self.row_of[w] < 0:
                continue
            row = self.phi + self.row_of[w] * self.width
            memcpy(row, self.blank, self.width * sizeof(double))
            for s in range(self.indptr[w], self.indptr[w + 1]):
                row[self.topic[s]] = (self.eta + self.count[s]) / self.denominator[self.topic[s]]
            self.row_of[w] = -1
        return 0

    cdef double weigh(self, const double *counts, Py_ssize_t t) noexcept nogil:
        """Set w[k] = (a_k + n_k) phi_k at the word of token t; return their sum."""
        return weigh_topics(self.base, counts, self.phi + self.row[t] * self.width, self.width, self.w, self.lane)

    cdef Py_ssize_t draw(self, double total) noexcept nogil:
        """A topic by the weights of the last ``weigh``: first its lane."""
        cdef Py_ssize_t k, _step, lane = 0
        cdef double u, c
        if self.rng.scripted:
            return self.rng.scripted_choice(self.w, self.width, total)
        u = self.rng.next() * total
        while lane < LANES - 1 and u >= self.lane[lane]:
            u -= self.lane[lane]
            lane += 1
        k, c = lane, self.w[lane]
        while k + LANES < self.width and u >= c:
            k += LANES
            c += self.w[k]
        for _step in range(self.width):
            if self.w[k] > 0.0:
                break
            # u rounded up to the end of its lane: the next topic below that has any weight
            k = k - 1 if k else self.width - 1
        return k

    cdef Py_ssize_t seat(self, double *counts, Py_ssize_t t) noexcept nogil:
        """Draw the topic of token t given the counted ones, and count it."""
        cdef Py_ssize_t k = self.draw(self.weigh(counts, t))
        counts[k] += 1.0
        return k

    # -- completion and folding in
    cdef double complete(self, const uint8_t[::1] seen, const uint8_t[::1] predicted, Py_ssize_t scans) except? 1.0:
        """Sum over the predicted tokens: log probability of each by itself, given the seen ones."""
        cdef Py_ssize_t t
        cdef double log_lik = 0.0
        with nogil:
            self.n_seen = 0
            for t in range(self.n):
                if seen[t]:
                    self.seen[self.n_seen] = <int32_t> t
                    self.n_seen += 1
            self.fit(scans)
            for t in range(self.n):
                if predicted[t]:
                    log_lik += log(self.weigh(self.mean, t) / (self.total + self.n_seen))
        return log_lik

    cdef void fit(self, Py_ssize_t scans) noexcept nogil:
        """mean[k]: expected number of the seen tokens in topic k, averaged over Gibbs scans after as many of burn-in.

        What is averaged are the probabilities with which topics are drawn, not the draws.
        """
        cdef Py_ssize_t s, t, k
        cdef double total, scale
        cdef double *mean = self.mean
        cdef const double *w = self.w
        memset(self.counts, 0, self.width * sizeof(double))
        memset(mean, 0, self.width * sizeof(double))
        for s in range(self.n_seen):
            self.topics[s] = <int32_t> self.seat(self.counts, self.seen[s])
        for t in range(2 * scans if self.n_seen else 0):
            for s in range(self.n_seen):
                self.counts[self.topics[s]] -= 1.0
                total = self.weigh(self.counts, self.seen[s])
                if t >= scans:
                    scale = 1.0 / (total * scans)
                    for k in range(self.width):
                        mean[k] += w[k] * scale
                k = self.draw(total)
                self.topics[s] = <int32_t> k
                self.counts[k] += 1.0

    # -- from left to right
    cdef double left_to_right(self, bint redraw) except? 1.0:
        """Log of an unbiased estimate: the probability of all tokens together."""
        cdef Py_ssize_t t
        cdef double log_lik = 0.0
        with nogil:
            memset(self.counts, 0, self.particles * self.width * sizeof(double))
            for t in range(self.n):
                log_lik += log(self.predict(t, redraw) / (self.total + t))
                if t + 1 < self.n:
                    self.select(t, redraw)
                    self.append(t, redraw)
                if t % 64 == 63:
                    with gil:
                        PyErr_CheckSignals()
        return log_lik

    cdef double predict(self, Py_ssize_t t, bint redraw) noexcept nogil:
        """p of token t in every particle, the topics before it drawn anew if asked for; returns their mean.

        Not divided by the sum of a and the tokens before.
        """
        cdef Py_ssize_t r, s
        cdef double *counts
        cdef int32_t *topics
        cdef double total = 0.0
        for r in range(self.particles):
            counts = self.counts + r * self.width
            if redraw:
                topics = self.topics + r * self.longest
                for s in range(t):
                    counts[topics[s]] -= 1.0
                    topics[s] = <int32_t> self.seat(counts, s)
            self.p[r] = self.weigh(counts, t)
            total += self.p[r]
        return total / self.particles

    cdef void append(self, Py_ssize_t t, bint keep) noexcept nogil:
        """Draw the topic of token t in every particle."""
        cdef Py_ssize_t r, k
        for r in range(self.particles):
            k = self.seat(self.counts + r * self.width, t)
            if keep:
                self.topics[r * self.longest + t] = <int32_t> k

    cdef void select(self, Py_ssize_t t, bint redraw) noexcept nogil:
        """Particles by p: each stays with probability p / max p, else it becomes one of all, drawn by p.

        On average R p[r] / sum p copies of particle r, as multinomial selection has it; where all p agree none changes.
        """
        cdef Py_ssize_t r, a, R = self.particles, width = self.width
        cdef bint changed = False
        cdef double top = 0.0, total = 0.0
        for r in range(R):
            top = max(top, self.p[r])
            total += self.p[r]
            self.up_to[r] = total
        for r in range(R):
            a = r
            if self.p[r] < top and not self.rng.draw_coin(self.p[r] / top):
                a = self.pick()
            self.ancestor[r] = <int32_t> a
            changed |= a != r
        if not changed:
            return
        for r in range(R):
            a = self.ancestor[r]
            memcpy(self.next_counts + r * width, self.counts + a * width, width * sizeof(double))
            if redraw:
                memcpy(self.next_topics + r * self.longest, self.topics + a * self.longest, t * sizeof(int32_t))
        self.counts, self.next_counts = self.next_counts, self.counts
        self.topics, self.next_topics = self.next_topics, self.topics

    cdef Py_ssize_t pick(self) noexcept nogil:
        """A particle by p."""
        cdef Py_ssize_t low = 0, high = self.particles - 1, middle
        cdef double total = self.up_to[high], u
        if self.rng.scripted:
            return self.rng.scripted_choice(self.p, self.particles, total)
        u = self.rng.next() * total
        while low < high:
            middle = (low + high) // 2
            if u < self.up_to[middle]:
                high = middle
            else:
                low = middle + 1
        return low


def log_likelihoods(word_topics, weights, alpha0, eta, corpus_tokens, heldout, labels, method, particles, seed):
    """Log likelihood of the held-out tokens of every document, given one state.

    Parameters
    ----------
    word_topics : scipy.sparse.csr_array of int32, shape (V, K)
        n_kw: tokens of each word in each topic; every topic holds some.
    weights : ndarray of float64, shape (K + 1,)
        beta_1 .. beta_K and beta_u, linear scale; they sum to 1.
    alpha0, eta : float
        Concentration of the documents; parameter of the topics' symmetric Dirichlet prior.
    corpus_tokens : Tokens
        Of the training documents. Read where words are held out.
    heldout : Heldout
        `by` word: the tokens held out of every training document; theta of a document is that of its own state.
        `by` document: whole documents, of which `completion` sees the tokens marked `observed`.
    labels : ndarray of int32, shape (N,), or None
        Topics of the training tokens. Read where words are held out.
    method : str
        ``completion``: predicts what is not observed, each token by itself given what is. Words held out: exact, no
        draw. Else theta's mean over `particles` Gibbs scans after as many of burn-in.
        ``left_to_right``: all tokens of a document together, unbiased (before the logarithm), from `particles`
        particles that draw all earlier topics anew before each token: O(particles K n^2).
        ``sequential``: the same with topics drawn once: unbiased, O(particles K n), a larger variance for as many
        particles.
        ``fold_in``: theta fitted to all tokens, by scans as in completion, then the same tokens scored with it.
    particles : int
        Scans or particles, 1 to 1,000,000.
    seed : int, sequence of int, or Rng
        The draws come from ``PCG64DXSM(SeedSequence(seed))``, or go on in the stream of an Rng.

    Returns
    -------
    ndarray of float64, shape (D, 2)
        For every document with tokens to predict, in order: log likelihood (natural) of these tokens, and their number.
        Perplexity is exp(-sum of the first / sum of the second).

    Raises
    ------
    ValueError
        An unknown method, particles out of range, arrays that do not fit together.

    Notes
    -----
    Source: Wallach, Murray, Salakhutdinov, Mimno 2009, algorithm 3, whose product of means is unbiased only with the
    selection of particles that is made here (docs/derivations-perplexity.md).
    """
    cdef Reader reader
    if method not in METHODS:
        raise ValueError(f"perplexity.method: expected one of {', '.join(METHODS)}, got {method!r}")
    check_count("perplexity.particles", particles, 1, 1_000_000)
    words, starts, observed = heldout.tokens.words, heldout.tokens.starts, heldout.observed
    _check_numbers("held-out words", words, word_topics.shape[0])
    fixed, fixed_starts = _fixed_topics(corpus_tokens, heldout, labels, word_topics.shape[1])
    filtered = method in ("left_to_right", "sequential")
    if method == "completion":
        seen, predicted = observed, ~observed
    else:
        seen = predicted = np.ones(len(words), dtype=bool)
    rng = seed if isinstance(seed, Rng) else _stream(seed)
    reader = Reader(word_topics, weights, alpha0, eta, rng, int(np.diff(starts).max(initial=0)),
                    particles if filtered else 1, method != "sequential")
    numbers = np.diff(np.append(0, np.cumsum(predicted))[starts])
    found = np.column_stack([np.zeros(len(numbers)), numbers])
    for j in np.flatnonzero(numbers):
        PyErr_CheckSignals()
        tokens = slice(starts[j], starts[j + 1])
        reader.begin(words[tokens], fixed[fixed_starts[j]:fixed_starts[j + 1]])
        if filtered:
            found[j, 0] = reader.left_to_right(method == "left_to_right")
        else:
            found[j, 0] = reader.complete(seen[tokens], predicted[tokens], particles)
    return found[numbers > 0]


def _stream(seed):
    """Return an Rng at the beginning of this seed's stream."""
    rng = Rng(0)
    rng.state = np.random.PCG64DXSM(np.random.SeedSequence(seed)).state
    return rng


def _check_state(K, weights, alpha0, eta):
    """Reject weights that are not those of K topics, and parameters that are not positive."""
    if np.shape(weights) != (K + 1,) or not np.isclose(np.sum(weights), 1.0) or np.min(weights) < 0.0:
        raise ValueError(f"weights: expected {K + 1} numbers of at least 0 that sum to 1, got {weights}")
    for name, value in (("alpha0", alpha0), ("eta", eta)):
        if not 0.0 < value < np.inf:
            raise ValueError(f"{name}: expected a positive number, got {value}")


def _check_numbers(name, numbers, n):
    """Reject what is not 0 .. n-1."""
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < n):
        raise ValueError(f"{name}: expected numbers from 0 to {n - 1}, got {numbers.min()} to {numbers.max()}")


def _fixed_topics(corpus_tokens, heldout, labels, K):
    """Topics of the fixed tokens, for every held-out document.

    Returns
    -------
    (ndarray of int32, ndarray of int64, shape (D + 1,))
        One document after the other, and where they start.
    """
    n = len(heldout.tokens.starts)
    if heldout.by == "document":
        return np.empty(0, dtype=np.int32), np.zeros(n, dtype=np.int64)
    starts = corpus_tokens.starts
    if len(starts) != n:
        raise ValueError(f"words held out of {n - 1} documents; expected the {len(starts) - 1} training documents")
    if labels is None or len(labels) != starts[n - 1]:
        raise ValueError(f"labels: expected the topics of the {starts[n - 1]} training tokens")
    fixed = np.ascontiguousarray(labels, dtype=np.int32)
    _check_numbers("labels", fixed, K)
    return fixed, starts
