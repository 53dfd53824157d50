"""Documents given one state of the hierarchical Dirichlet process: held-out tokens, by which samplers are compared, and
new documents, the model's own prediction (docs/derivations-perplexity.md).

`log_likelihoods`: the topics' word distributions stand at their posterior means, phi_kw = (eta +
n_kw) / (V eta + n_k), and all topics without tokens are one more, phi_uw = 1/V. A document mixes these K + 1 with theta
~ Dirichlet(a), a = alpha0 beta; of a training document, whose other tokens have their topics, a_k = alpha0 beta_k +
n_jk. How far that is the model's own prediction, and what the methods converge to, is derived there.

`read_new_documents`: everything but the state is integrated out, the words' distributions too. The tokens of the
document count in them, and it may open topics of its own. The particle filter goes over the topics of the tokens, one
after the other: its log likelihood is unbiased before the logarithm.

One document at a time: memory is 8 (K + 1) bytes for each of its different words, and the memory of the particles, 8 (K
+ tokens) bytes each in the filter.
"""
cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport expm1, log, log1p
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

from splitmerge_cli.core.memory cimport Memory, doubles, ints
from splitmerge_cli.core.rng cimport Rng

from splitmerge_cli.core.checks import check_count

METHODS = ("completion", "left_to_right", "sequential", "fold_in")

cdef enum:
    LANES = 8


cdef class Documents:
    """Reads one document after another given one state; an abstract class. A class supplies ``fill``."""
    cdef Memory memory                  # of its arrays
    cdef Rng rng
    cdef Py_ssize_t K, V, longest       # topics; words; tokens of the longest document
    cdef double eta, alpha0, mass       # mass: V eta
    cdef const int64_t[::1] indptr      # n_kw by word
    cdef const int32_t[::1] topic, count
    cdef const double[::1] beta         # [K + 1]
    cdef const int64_t[::1] topic_size  # [K] n_k
    cdef int32_t *row_of                # [V] row of a word of the present document, -1 if not yet in it
    # -- the document under way
    cdef Py_ssize_t n                   # tokens
    cdef int32_t *row                   # [longest] row of each token
    cdef double *words                  # [rows, stride] what is kept of each of its words
    cdef Py_ssize_t rows, stride

    def __cinit__(self, word_topics, weights, double alpha0, double eta, Rng rng not None, Py_ssize_t longest, *args):
        _check_state(word_topics.shape[1], weights, alpha0=alpha0, eta=eta)
        self.memory = Memory()
        self.V, self.K = word_topics.shape
        self.rng, self.longest, self.alpha0, self.eta, self.mass = rng, longest, alpha0, eta, self.V * eta
        self.indptr = word_topics.indptr.astype(np.int64)
        self.topic, self.count = (np.append(x, 0).astype(np.int32) for x in (word_topics.indices, word_topics.data))
        self.beta = np.ascontiguousarray(weights, dtype=np.float64)
        self.topic_size = np.asarray(word_topics.sum(axis=0)).ravel().astype(np.int64)
        self.row, self.row_of = self.memory.ints(longest), self.memory.ints(self.V)
        memset(self.row_of, -1, self.V * sizeof(int32_t))

    def __dealloc__(self):
        free(self.words)

    cdef void fill(self, Py_ssize_t w, double *row) noexcept nogil:
        """Write what is kept of a word into its row."""
        pass

    cdef int take_words(self, const int32_t[::1] words) except -1:
        """Take a document; returns how many different words it has."""
        cdef Py_ssize_t t, w, rows = 0
        self.n = words.shape[0]
        for t in range(self.n):
            w = words[t]
            if self.row_of[w] < 0:
                self.row_of[w] = <int32_t> rows
                rows += 1
            self.row[t] = self.row_of[w]
        if rows > self.rows:
            free(self.words)
            self.words, self.rows = NULL, 0
            self.words = doubles(rows * self.stride)
            self.rows = rows
        for t in range(self.n):
            w = words[t]
            if self.row_of[w] >= 0:
                self.fill(w, self.words + self.row_of[w] * self.stride)
                self.row_of[w] = -1
        return rows


@cython.final
cdef class Reader(Documents):
    """Held-out tokens under the topics of one state. Kept of a word is its row of phi: one number for each of the K
    topics, the unseen one, and zeros up to a multiple of eight."""
    cdef double *prior                  # [width] alpha0 beta
    cdef double *denominator            # [width] V eta + n_k
    cdef double *blank                  # [width] row of phi of a word that no topic holds
    # -- the document under way
    cdef double *base                   # [width] a
    cdef double total                   # a_1 + ... + a_u
    cdef int32_t *seen                  # [longest] the positions that theta is fitted to
    cdef Py_ssize_t n_seen
    # -- scratch
    cdef Py_ssize_t width, particles    # of a row; particles
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

    def __cinit__(self, word_topics, weights, double alpha0, double eta, Rng rng not None, Py_ssize_t longest,
                  Py_ssize_t particles, bint keep_topics):
        cdef Py_ssize_t k
        self.particles = particles
        self.width = self.stride = (self.K + LANES) // LANES * LANES
        self.prior, self.base = self.memory.doubles(self.width), self.memory.doubles(self.width)
        self.blank, self.denominator = self.memory.doubles(self.width), self.memory.doubles(self.width)
        for k in range(self.K + 1):
            self.prior[k] = self.alpha0 * self.beta[k]
        for k in range(self.K):
            self.denominator[k] = self.mass + self.topic_size[k]
            self.blank[k] = self.eta / self.denominator[k]
        self.blank[self.K] = 1.0 / self.V
        self.seen = self.memory.ints(longest)
        self.w, self.mean = self.memory.doubles(self.width), self.memory.doubles(self.width)
        self.lane = self.memory.doubles(LANES)
        self.p, self.up_to = self.memory.doubles(particles), self.memory.doubles(particles)
        self.ancestor = self.memory.ints(particles)
        self.counts = self.memory.doubles(particles * self.width)
        self.next_counts = self.memory.doubles(particles * self.width)
        if keep_topics:
            self.topics = self.memory.ints(particles * longest)
            self.next_topics = self.memory.ints(particles * longest)

    cdef void fill(self, Py_ssize_t w, double *row) noexcept nogil:
        cdef Py_ssize_t s
        memcpy(row, self.blank, self.width * sizeof(double))
        for s in range(self.indptr[w], self.indptr[w + 1]):
            row[self.topic[s]] = (self.eta + self.count[s]) / self.denominator[self.topic[s]]

    cdef int begin(self, const int32_t[::1] words, const int32_t[::1] fixed) except -1:
        """Take a document: its words, and the topics of its fixed tokens."""
        cdef Py_ssize_t t
        memcpy(self.base, self.prior, self.width * sizeof(double))
        for t in range(fixed.shape[0]):
            self.base[fixed[t]] += 1.0
        self.total = self.alpha0 + fixed.shape[0]
        self.take_words(words)
        return 0

    cdef double weigh(self, const double *counts, Py_ssize_t t) noexcept nogil:
        """Set w[k] = (a_k + n_k) phi_k at the word of token t; return their sum."""
        return weigh_topics(self.base, counts, self.words + self.row[t] * self.width, self.width, self.w, self.lane)

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
        """Sum over the predicted tokens: log probability of each alone, given the seen ones."""
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
        What is averaged are the probabilities with which topics are drawn, not the draws."""
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
        """p of token t in every particle, the topics before it drawn again on request; returns their mean, not divided
        by the sum of a and the tokens before."""
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
        """Particles by p: each stays with probability p / max p, else it becomes one of all, drawn by p: on average R
        p[r] / sum p copies of particle r, as multinomial selection has it; where all p agree none changes."""
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


@cython.final
cdef class Filter(Documents):
    """Particles with a topic for every token of a new document. Kept of a word are its n_kw.

    Columns 0 .. K - 1 are the topics of the state, K, K + 1, ... those that a particle has opened.
    """
    cdef Py_ssize_t R, width            # particles; columns
    cdef double gamma
    cdef double unseen                  # alpha0 beta_u
    cdef double *prior                  # [K] alpha0 beta_k
    cdef double *size                   # [K] V eta + n_k
    cdef int32_t *same                  # [longest] the token before of the same word; of the first one, the last
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

    def __cinit__(self, word_topics, weights, double alpha0, double eta, Rng rng not None, Py_ssize_t longest,
                  double gamma, Py_ssize_t R):
        cdef Py_ssize_t k
        self.R, self.gamma, self.stride, self.width = R, gamma, self.K, self.K + longest
        self.prior, self.size = self.memory.doubles(self.K), self.memory.doubles(self.K)
        for k in range(self.K):
            self.prior[k] = alpha0 * self.beta[k]
            self.size[k] = self.mass + self.topic_size[k]
        self.unseen = alpha0 * self.beta[self.K]
        self.same = self.memory.ints(longest)
        self.z, self.next_z = self.memory.ints(R * longest), self.memory.ints(R * longest)
        self.tokens, self.next_tokens = self.memory.doubles(R * self.width), self.memory.doubles(R * self.width)
        self.stick, self.next_stick = self.memory.doubles(R * longest), self.memory.doubles(R * longest)
        self.rest, self.next_rest = self.memory.doubles(R), self.memory.doubles(R)
        self.opened, self.next_opened = self.memory.ints(R), self.memory.ints(R)
        self.w, self.extra = self.memory.doubles(self.width + 1), self.memory.doubles(self.width)
        self.weight, self.mean = self.memory.doubles(R), self.memory.doubles(self.K + 1)

    cdef void fill(self, Py_ssize_t w, double *row) noexcept nogil:
        cdef Py_ssize_t s
        memset(row, 0, self.K * sizeof(double))
        for s in range(self.indptr[w], self.indptr[w + 1]):
            row[self.topic[s]] = self.count[s]

    cdef int begin(self, const int32_t[::1] words) except -1:
        """Take a document."""
        cdef Py_ssize_t t, rows = self.take_words(words)
        cdef int32_t *last = ints(rows)
        memset(last, -1, rows * sizeof(int32_t))
        for t in range(self.n):
            self.same[t] = last[self.row[t]]
            last[self.row[t]] = <int32_t> t
        for t in range(self.n):
            if self.same[t] < 0:
                self.same[t] = last[self.row[t]]
        free(last)
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
        cdef const double *held = self.words + self.row[t] * self.K
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


def log_likelihoods(word_topics, weights, alpha0, eta, corpus_tokens, heldout, labels, method, particles, seed):
    """Log likelihood of the held-out tokens of every document, given one state.

    The state: `word_topics`, csr_array of int32, shape (V, K), n_kw, every topic holding some; `weights` ``[K + 1]``,
    beta_1 .. beta_K and beta_u, linear scale, which sum to 1; alpha0 and eta. `heldout`: by word, the tokens held out
    of every training document (`corpus_tokens`, whose topics are `labels`; otherwise these are not read); by document,
    whole documents, of which `completion` sees the tokens marked `observed`. `method`:

        completion     predicts the unobserved tokens, each alone given the observed ones. Words held out: exact, no
                       draw. Else theta's mean over `particles` Gibbs scans after as many of burn-in
        left_to_right  all tokens of a document together, unbiased (before the logarithm), from `particles` particles
                       that draw all earlier topics again before each token: O(particles K n^2)
        sequential     the same with topics drawn once: O(particles K n), a larger variance for as many particles
        fold_in        theta fitted to all tokens, by scans as in completion, then the same tokens scored with it: no
                       held-out likelihood, far too good

    The draws come from ``PCG64DXSM(SeedSequence(seed))``, or go on in the stream of an Rng. Returns float64 ``[D, 2]``:
    for every document with tokens to predict, in order, the log likelihood (natural) of these tokens, and their number.
    A ValueError: an unknown method, particles not from 1 to 1,000,000, arrays that do not fit together.

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


def read_new_documents(word_topics, weights, alpha0, gamma, eta, words, starts, seed, particles=0, scans=0):
    """Log likelihoods and mixtures of new documents, each alone, given one state as of `log_likelihoods`, and gamma.

    `words` ``[n]``: word of each token, 0 .. V - 1; document d has the words from starts[d] to before starts[d + 1].
    `seed`: every document has the draws of ``PCG64DXSM(SeedSequence(seed))`` from its beginning, so that what comes out
    does not depend on the others. `particles`: of the filter, 0: no log likelihoods; `scans`: Gibbs scans that are
    averaged, after as many of burn-in, 0: no mixtures; 1,000,000 of either at most, or a ValueError, as for arrays that
    do not fit together. Returns

        log_lik   float64 [D], natural logarithm of the probability of the words of each document in their order; 0 of
                  an empty one; NaN without particles
        mixture   float64 [D, K + 1], expected proportions of the topics and, last, of all topics that no training token
                  has; rows sum to 1. NaN without scans

    Source: the particle filter with look-ahead of one token (Pitt and Shephard 1999), systematic selection where the
    effective number of particles falls below half; Gibbs of Rana et al. 2013, equation 8, on one document.
    """
    cdef Filter reader
    cdef Py_ssize_t n_scans = scans
    cdef double value
    check_count("particles", particles, 0, 1_000_000)
    check_count("scans", scans, 0, 1_000_000)
    V, K = word_topics.shape
    _check_state(K, weights, alpha0=alpha0, gamma=gamma, eta=eta)
    _check_numbers("words", words, V)
    if len(starts) < 1 or starts[0] != 0 or starts[len(starts) - 1] != len(words) or (np.diff(starts) < 0).any():
        raise ValueError(f"starts: expected them ascending from 0 to {len(words)}, the tokens")
    rng = _stream(seed)
    stream = rng.state
    reader = Filter(word_topics, weights, alpha0, eta, rng, int(np.diff(starts).max(initial=0)), gamma,
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
            with nogil:
                value = reader.log_likelihood()
            log_lik[d] = value
        if scans:
            rng.state = stream
            with nogil:
                reader.mix(n_scans)
            expected = np.array([reader.mean[k] for k in range(K + 1)])
            mixture[d] = (alpha0 * np.asarray(weights) + expected) / (alpha0 + n)
    return log_lik, mixture


def _stream(seed):
    """Return an Rng at the beginning of this seed's stream."""
    rng = Rng(0)
    rng.state = np.random.PCG64DXSM(np.random.SeedSequence(seed)).state
    return rng


def _check_state(K, weights, **parameters):
    """Reject weights that do not belong to K topics, and parameters that are not positive."""
    if np.shape(weights) != (K + 1,) or not np.isclose(np.sum(weights), 1.0) or np.min(weights) < 0.0:
        raise ValueError(f"weights: expected {K + 1} numbers of at least 0 that sum to 1, got {weights}")
    for name, value in parameters.items():
        if not 0.0 < value < np.inf:
            raise ValueError(f"{name}: expected a positive number, got {value}")


def _check_numbers(name, numbers, n):
    """Reject what is not 0 .. n-1."""
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < n):
        raise ValueError(f"{name}: expected numbers from 0 to {n - 1}, got {numbers.min()} to {numbers.max()}")


def _fixed_topics(corpus_tokens, heldout, labels, K):
    """Topics of the fixed tokens, for every held-out document. Returns int32, one document after the other, and where
    they start, int64 of shape (D + 1,)."""
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
