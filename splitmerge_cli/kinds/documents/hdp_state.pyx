"""State of a hierarchical Dirichlet process: topics of the tokens, weights of the topics, and their probability.

The distribution is written down in ``hdp.pyx``. Here are the counts that follow the labels, the terms of the posterior
(equation 7 and its sums), the draws of tables, alpha0, gamma and weights given the labels (equations 9 and 10), and the
changes of the state. A scratch column, which stands for a side of a split or a merge, holds its numbers of words and of
documents densely.
"""
cimport cython
from libc.math cimport INFINITY, exp, lgamma, log, log1p
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np
from scipy.sparse import csr_array

from splitmerge_cli.core.log_scale cimport log_add, log_rising
from splitmerge_cli.core.memory cimport allocate_or_abort, doubles_of, ints_of, longs_of
from splitmerge_cli.core.sums cimport BY_COLUMN, ROOM, ROOM_INTS

from splitmerge_cli.core.checks import as_numbers, check_range
from splitmerge_cli.core.shared import as_array, as_frozen, share

cdef extern from "small_gammas.h" nogil:
    void gammas_begun(double shape, const uint64_t *words, double *x)
    double gamma_finished(double shape, uint64_t word, double u)

# the least and the largest value of a hyper-parameter
cdef double LEAST = 1e-6, MOST = 1e6
# by how much the logarithm of the weights' sum may be off 0, with what rounding leaves in sweep after sweep
cdef double WEIGHTS_OFF = 1e-3


cdef double log_rise(double a, Py_ssize_t n) noexcept nogil:
    """log <a>_n, which for a large `a` keeps the digits that a difference of two log gammas loses."""
    cdef double b = a + n
    if n < 16:
        return log_rising(a, n, NULL)
    if a < 50.0:
        return lgamma(b) - lgamma(a)
    # Stirling's series, the difference term by term
    return ((b - 0.5) * log1p(n / a) + n * (log(a) - 1.0) + (1.0 / b - 1.0 / a) / 12.0
            - (1.0 / (b * b * b) - 1.0 / (a * a * a)) / 360.0
            + (1.0 / (b * b * b * b * b) - 1.0 / (a * a * a * a * a)) / 1260.0)


def _prepare(words, starts, Py_ssize_t V):
    """Tokens by document; a ValueError for what is no corpus."""
    word, start = as_frozen(words, np.int32), as_frozen(starts, np.int64)
    N, J = len(word), len(start) - 1
    if word.ndim != 1 or start.ndim != 1 or N == 0 or J < 1 or start[0] != 0 or start[J] != N:
        raise ValueError("starts: expected 0, ..., the number of tokens, at least one")
    if (np.diff(start) < 0).any():
        raise ValueError("starts: expected them ascending")
    if np.min(words) < 0 or np.max(words) >= V:
        raise ValueError(f"words: expected 0 to {V - 1}")
    tokens_of = np.bincount(word, minlength=V)
    return {"word": word, "start": start, "longest": int(np.diff(start).max()),
            "tokens_of": tokens_of.astype(np.int32), "most": int(tokens_of.max())}


def _documents(starts):
    """The document of each token."""
    return {"doc": np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))}


def _tables(double eta, Py_ssize_t most):
    """log <eta>_n, n from 0 to most + 1."""
    cdef double[::1] log_eta = np.zeros(most + 2)
    log_rising(eta, most + 1, &log_eta[0])
    return {"log_eta": np.asarray(log_eta)}


cdef class Topics(Weighted):
    """Topics of the tokens of documents: token i is word w(i), a document has tokens in a row. Given the weights and
    the distributions phi of topics over words, documents are independent, and of the tokens of one

        P(z_i = k | the others) is proportional to (alpha0 beta_k + n_jk) phi_k(w(i))
    """

    cdef void draw_word(self, Rng rng, Py_ssize_t w, double *row) noexcept nogil:
        """row[k], k below K: phi_k(w) given the tokens of topic k, up to a factor of the topic: its sum over all words.
        Called once for every word; safe in several threads, on different words."""
        pass

    cdef void count_topics(self, Py_ssize_t w, const int32_t *counts) noexcept nogil:
        """Word w will have counts[k] tokens in topic k: its present ones may be forgotten; safe in several threads,
        on different words. Called for every word, then ``make_room``, then ``set_counts`` for every word."""
        pass

    cdef int make_room(self) except -1 nogil:
        return 0

    cdef void set_counts(self, Py_ssize_t w, const int32_t *counts) noexcept nogil:
        """Set the same counts; safe in several threads, on different words."""
        pass

    cdef void take_labels(self) noexcept nogil:
        """`z`, `size` and the counts of all words belong to new labels; K is as before and no topic is empty: bring
        what else follows them up to date."""
        pass


cdef class HDPState(Topics):
    """Labels of the tokens, counts, weights and hyper-parameters."""

    cdef int take_corpus(self, words, starts, V, double eta) except -1:
        """Take the corpus; a ValueError for what is none."""
        cdef Py_ssize_t s
        data = share(_prepare, as_array(words), as_array(starts), V)
        by_count = share(_tables, eta, data.most)
        self._hold(data)
        self._hold(by_count)
        self.eta, self.mass, self.V, self.J = eta, V * eta, V, len(data.start) - 1
        self.word, self.start = ints_of(data.word), longs_of(data.start)
        self.longest, self.log_eta = data.longest, doubles_of(by_count.log_eta)
        self.counts = WordCounts()
        self.counts.prepare(V, ints_of(data.tokens_of))
        self.log_alpha0 = self.memory.doubles(self.longest + 2)
        self.longer = self.memory.ints(self.longest + 2)
        for s in range(SLOTS):
            self.side_word[s], self.words_seen[s] = self.memory.ints(V), self.memory.ints(V)
            self.side_doc[s], self.docs_seen[s] = self.memory.ints(self.J), self.memory.ints(self.J)
            self.word_seen[s], self.doc_seen[s] = self.memory.flags(V), self.memory.flags(self.J)
            self.rise[s] = self.memory.doubles(self.longest + 2)
        self.keep(&self.log_beta, ROOM)
        self.keep(&self.total, ROOM)
        self.keep(&self.here, ROOM_INTS)
        self.keep(&self.topics, ROOM_INTS)
        self.keep(&self.number, ROOM_INTS)
        self.keep(&self.pairs, ROOM_INTS, 2, BY_COLUMN)
        self.lists_later = True
        self.paired = self.held_version = -1
        return len(data.word)

    def __dealloc__(self):
        free(self.n_doc)
        free(self.buffer)

    # ------------------------------------------------------------------------------------------- room, members

    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef Py_ssize_t old = self.cap
        self.n_doc_start = <int64_t *> self.memory.larger(self.n_doc_start, (old + 1) * 8 if old else 0, (cap + 1) * 8)
        return Topics.grow(self, cap)

    # -- lists of members
    cdef int keep_lists(self) except -1:
        if self.after == NULL:
            documents = share(_documents, self.shared[0].start)
            self._hold(documents)
            self.doc = ints_of(documents.doc)
            self.before, self.after = self.memory.ints(self.N), self.memory.ints(self.N)
        return 0

    cdef void relist(self) noexcept nogil:
        if not self.listed and self.after != NULL:
            self.listed = True
            self.link_all()

    cdef void link(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        if self.listed:
            Topics.link(self, i, k)
        else:
            self.z[i] = <int32_t> k

    cdef void unlink(self, Py_ssize_t i) noexcept nogil:
        if self.listed:
            Topics.unlink(self, i)

    # ------------------------------------------------------------------------------------------- statistics of columns

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t s = k - self.K, t
        for t in range(self.n_words[s]):
            self.side_word[s][self.words_seen[s][t]] = 0
            self.word_seen[s][self.words_seen[s][t]] = False
        for t in range(self.n_docs[s]):
            self.side_doc[s][self.docs_seen[s][t]] = 0
            self.doc_seen[s][self.docs_seen[s][t]] = False
        self.n_words[s] = self.n_docs[s] = 0
        if s == SLOTS - 1:
            self.held_version = -1

    cdef void add(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t s = k - self.K
        cdef int32_t w = self.word[i], j
        if s < 0:
            self.counts.gain(w, k)
            return
        j = <int32_t> self.document(i)
        if not self.word_seen[s][w]:
            self.word_seen[s][w] = True
            self.words_seen[s][self.n_words[s]] = w
            self.n_words[s] += 1
        if not self.doc_seen[s][j]:
            self.doc_seen[s][j] = True
            self.docs_seen[s][self.n_docs[s]] = j
            self.n_docs[s] += 1
        self.side_word[s][w] += 1
        self.side_doc[s][j] += 1

    cdef void remove(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t s = k - self.K
        if s < 0:
            self.counts.lose(self.word[i], k)
        else:
            self.side_word[s][self.word[i]] -= 1
            self.side_doc[s][self.document(i)] -= 1

    @cython.final
    cdef void count_topic(self, Py_ssize_t k, Py_ssize_t column) noexcept nogil:
        """Count the tokens of live topic k in a scratch column, which gets its weight too."""
        cdef Py_ssize_t t, n
        if self.size[k] > self.buffer_room:
            self.buffer_room = min(self.N, self.size[k] + self.size[k] // 4)
            free(self.buffer)
            self.buffer = <int32_t *> allocate_or_abort(4 * self.buffer_room)
        n = self.members(k, k, self.buffer)
        self.scratch(column)
        for t in range(n):
            self.join(self.buffer[t], column)
        self.set_weight(column, self.log_beta[k])

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t s = k - self.K
        cdef int32_t n = self.counts.count(self.word[i], k) if s < 0 else self.side_word[s][self.word[i]]
        return log((self.eta + n) / (self.mass + self.size[k]))

    cdef double log_weight(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Equation 7: log(alpha0 beta_k + n_jk)."""
        cdef Py_ssize_t s = k - self.K, t, j = self.document(i)
        cdef double n = 0.0
        if s >= 0:
            return log(self.side_prior[s] + self.side_doc[s][j])
        for t in range(self.start[j], self.start[j + 1]):
            n += t != i and self.z[t] == k
        return log(self.alpha0 * exp(self.log_beta[k]) + n)

    cdef void log_scan(self, Py_ssize_t i) noexcept nogil:
        """Equation 8, by definition; a topic that token i holds alone stays on offer with its own weight."""
        cdef Py_ssize_t k, own = self.z[i]
        if own >= 0:
            self.leave(i, own)
        for k in range(self.K):
            self.w[k] = self.log_pred(i, k) + self.log_weight(i, k)
        self.w[self.K] = log(self.alpha0 / self.V) + self.log_unseen
        if own >= 0:
            self.join(i, own)

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k
        self.log_scan(i)
        for k in range(self.K + 1):
            self.w[k] = exp(self.w[k])

    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef Py_ssize_t sa = a - self.K, sb = b - self.K
        cdef Py_ssize_t w = self.word[i], j = self.document(i)
        cdef double of_a, of_b, r
        if sa < 0 or sb < 0:
            return exp(self.log_odds(i, a, b, own, sized))
        of_a, of_b = own == a, own == b
        r = ((self.eta + (self.side_word[sb][w] - of_b)) * (self.mass + (self.size[a] - of_a))
             / ((self.eta + (self.side_word[sa][w] - of_a)) * (self.mass + (self.size[b] - of_b))))
        if sized:
            r *= ((self.side_prior[sb] + (self.side_doc[sb][j] - of_b))
                  / (self.side_prior[sa] + (self.side_doc[sa][j] - of_a)))
        return r

    @cython.final
    cdef double log_words(self, Py_ssize_t n) noexcept nogil:
        """The part of log DM that depends on the number of tokens alone."""
        return -log_rise(self.mass, n)

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        """log DM(k). Live topics are all brought up to date in one pass over the counts, words ascending, so that the
        sums do not depend on what was moved before."""
        cdef Py_ssize_t s = k - self.K, t, w, n
        cdef double total = 0.0
        if s >= 0:
            for t in range(self.n_words[s]):
                total += self.log_eta[self.side_word[s][self.words_seen[s][t]]]
            return total + self.log_words(self.size[k])
        memset(self.total, 0, self.K * sizeof(double))
        for w in range(self.V):
            n = self.counts.pairs_of(w, self.K, self.pairs)
            for t in range(n):
                self.total[self.pairs[2 * t]] += self.log_eta[self.pairs[2 * t + 1]]
        for t in range(self.K):
            if not self.is_valid[t]:
                self.ll[t] = self.total[t] + self.log_words(self.size[t])
                self.is_valid[t] = True
        return self.ll[k]

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """log DM of both as one: b's, and what the words of a change in it."""
        cdef Py_ssize_t s = a - self.K, t, w, last = self.K + SLOTS - 1
        cdef double total
        cdef int32_t n
        if s < 0:
            # one topic after the other is asked for its union with a
            if not (self.held == a and self.held_version == self.version):
                self.count_topic(a, last)
                self.held, self.held_version = a, self.version
            s = SLOTS - 1
        total = self.lik(b) - self.log_words(self.size[b])
        for t in range(self.n_words[s]):
            w = self.words_seen[s][t]
            n = self.counts.count(w, b) if b < self.K else self.side_word[b - self.K][w]
            total += self.log_eta[n + self.side_word[s][w]] - self.log_eta[n]
        return total + self.log_words(self.size[a] + self.size[b])

    # ------------------------------------------------------------------------------------------------- weights

    cdef void set_alpha0(self, double value) noexcept nogil:
        cdef Py_ssize_t j
        self.alpha0 = value
        log_rising(value, self.longest, self.log_alpha0)
        self.log_documents = 0.0
        for j in range(self.J):
            self.log_documents += self.log_alpha0[self.start[j + 1] - self.start[j]]

    cdef void set_weight(self, Py_ssize_t k, double log_beta) noexcept nogil:
        """Set the weight of a scratch column."""
        self.log_beta[k] = log_beta
        self.side_prior[k - self.K] = self.alpha0 * exp(log_beta)

    cdef void stage(self, const int32_t *clusters, Py_ssize_t m, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Empty sides with equal parts of the clusters' weight: the paper's "simple allocation"."""
        cdef Py_ssize_t s
        cdef double both = self.log_beta[clusters[0]]
        for s in range(1, m):
            if clusters[s] != clusters[0]:
                both = log_add(both, self.log_beta[clusters[s]])
        for s in range(n):
            self.scratch(first + s)
            self.set_weight(first + s, both - log(<double> n))

    cdef bint divide(self, Rng rng, Py_ssize_t c, Py_ssize_t a, double p, double q) noexcept nogil:
        cdef double u = rng.draw_beta(p, q)
        if not 0.0 < u < 1.0:
            return False
        self.set_weight(a, self.log_beta[c] + log(u))
        self.set_weight(a + 1, self.log_beta[c] + log1p(-u))
        return True

    cdef double expected_tables(self, Py_ssize_t k, double log_beta) noexcept nogil:
        """sum over documents j and t < n_jk of a/(a + t), a = alpha0 times the weight."""
        cdef Py_ssize_t s = k - self.K, t, n
        cdef double a = self.alpha0 * exp(log_beta), total = 0.0
        cdef double *expected = self.rise[0]
        n = self.most_in_a_document(s)
        for t in range(n):
            expected[t + 1] = (1.0 if t == 0 else expected[t] + a / (a + t))
        for t in range(self.n_docs[s]):
            n = self.side_doc[s][self.docs_seen[s][t]]
            if n:
                total += expected[n]
        return total

    cdef Py_ssize_t most_in_a_document(self, Py_ssize_t s) noexcept nogil:
        cdef Py_ssize_t t, n = 0
        for t in range(self.n_docs[s]):
            n = max(n, self.side_doc[s][self.docs_seen[s][t]])
        return n

    cdef void rises(self, double log_beta, Py_ssize_t n, double *out) noexcept nogil:
        """out[t] = log <alpha0 beta>_t, t = 0..n; alpha0 beta may be less than any double."""
        cdef Py_ssize_t t
        cdef double log_a = log(self.alpha0) + log_beta, a = exp(log_a)
        out[0] = 0.0
        for t in range(n):
            out[t + 1] = log_a if t == 0 else out[t] + log(a + t)

    cdef double log_divided_prior(self, double log_beta) noexcept nogil:
        """log ratio of the density with scratch columns K, K + 1 to that with their union, of this weight, in their
        place, times the volume beta: gamma beta^2/(beta_1 beta_2) . prod_j <..>_{n_j1} <..>_{n_j2}/<..>_{n_j}."""
        cdef Py_ssize_t t, j, n = self.most_in_a_document(0) + self.most_in_a_document(1)
        cdef double total
        n = min(n, self.longest)
        self.rises(self.log_beta[self.K], n, self.rise[0])
        self.rises(self.log_beta[self.K + 1], n, self.rise[1])
        self.rises(log_beta, n, self.rise[2])
        total = log(self.gamma) + 2.0 * log_beta - self.log_beta[self.K] - self.log_beta[self.K + 1]
        for t in range(self.n_docs[0]):
            j = self.docs_seen[0][t]
            total += (self.rise[0][self.side_doc[0][j]] + self.rise[1][self.side_doc[1][j]]
                      - self.rise[2][self.side_doc[0][j] + self.side_doc[1][j]])
        for t in range(self.n_docs[1]):
            j = self.docs_seen[1][t]
            if not self.doc_seen[0][j]:
                total += self.rise[1][self.side_doc[1][j]] - self.rise[2][self.side_doc[1][j]]
        return total

    cdef double log_split_prior(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return self.log_divided_prior(self.log_beta[c])

    cdef double log_merge_prior(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        self.reserve(self.K)
        self.count_topic(i, self.K)
        self.count_topic(j, self.K + 1)
        return -self.log_divided_prior(log_add(self.log_beta[i], self.log_beta[j]))

    cdef void count_documents(self) noexcept nogil:
        """n_doc: the numbers n_jk > 0, topic by topic."""
        cdef Py_ssize_t j, k, t
        if self.paired == self.version:
            return
        self.paired = self.version
        memset(self.n_doc_start, 0, (self.K + 1) * sizeof(int64_t))
        for j in range(self.J):
            self.enter(j)
            for t in range(self.n_topics):
                k = self.topics[t]
                self.n_doc_start[k + 1] += 1
                self.here[k] = 0
        for k in range(self.K):
            self.n_doc_start[k + 1] += self.n_doc_start[k]
        # labels at random, as chains begin with, need many times what they need later
        if self.n_doc_start[self.K] > self.n_doc_room or 2 * self.n_doc_start[self.K] < self.n_doc_room:
            self.n_doc_room = min(<int64_t> self.N, self.n_doc_start[self.K] + self.n_doc_start[self.K] // 8)
            free(self.n_doc)
            self.n_doc = <int32_t *> allocate_or_abort(4 * self.n_doc_room)
        for j in range(self.J):
            self.enter(j)
            for t in range(self.n_topics):
                k = self.topics[t]
                self.n_doc[self.n_doc_start[k]] = self.here[k]
                self.n_doc_start[k] += 1
                self.here[k] = 0
        for k in range(self.K, 0, -1):
            self.n_doc_start[k] = self.n_doc_start[k - 1]
        self.n_doc_start[0] = 0

    cdef void enter(self, Py_ssize_t j) noexcept nogil:
        """here and topics: of document j; the topics not in order. `here` was all 0."""
        cdef Py_ssize_t i
        cdef int32_t k
        self.n_topics = 0
        for i in range(self.start[j], self.start[j + 1]):
            k = self.z[i]
            if self.here[k] == 0:
                self.topics[self.n_topics] = k
                self.n_topics += 1
            self.here[k] += 1

    cdef Py_ssize_t tally(self, Py_ssize_t k) noexcept nogil:
        """longer[t] = documents with t tokens of topic k; returns the most tokens."""
        cdef int64_t p
        cdef Py_ssize_t most = 0
        for p in range(self.n_doc_start[k], self.n_doc_start[k + 1]):
            self.longer[self.n_doc[p]] += 1
            most = max(most, self.n_doc[p])
        return most

    cdef double log_risings(self) noexcept nogil:
        """Sum over topics and documents of log <alpha0 beta_k>_{n_jk}."""
        cdef Py_ssize_t k, t, most
        cdef int64_t more
        cdef double log_a, a, total = 0.0
        self.count_documents()
        for k in range(self.K):
            log_a = log(self.alpha0) + self.log_beta[k]
            a = exp(log_a)
            more = self.n_doc_start[k + 1] - self.n_doc_start[k]
            total += more * log_a
            most = self.tally(k)
            for t in range(1, most + 1):
                # so many documents have more than t tokens of the topic
                more -= self.longer[t]
                self.longer[t] = 0
                if more:
                    total += more * log(a + t)
        return total

    cdef double log_prior_all(self) noexcept nogil:
        cdef Py_ssize_t k
        cdef double total = self.K * log(self.gamma) + (self.gamma - 1.0) * self.log_unseen
        for k in range(self.K):
            total -= self.log_beta[k]
        return total + self.log_risings() - self.log_documents

    cdef double log_configuration(self) noexcept nogil:
        """Equation 11, as printed: topics in list order, beta_{u_k} what is left from the k-th on."""
        cdef Py_ssize_t k
        cdef double rest = self.log_unseen, total = self.K * log(self.alpha0)
        for k in range(self.K - 1, -1, -1):
            rest = log_add(rest, self.log_beta[k])
            total += rest
        return total + self.log_risings() - self.log_documents

    cdef double log_extra(self) noexcept nogil:
        """log density of random hyper-parameters."""
        cdef double total = 0.0
        if self.gamma_shape > 0.0:
            total += (self.gamma_shape * log(self.gamma_rate) - lgamma(self.gamma_shape)
                      + (self.gamma_shape - 1.0) * log(self.gamma) - self.gamma_rate * self.gamma)
        if self.alpha0_shape > 0.0:
            total += (self.alpha0_shape * log(self.alpha0_rate) - lgamma(self.alpha0_shape)
                      + (self.alpha0_shape - 1.0) * log(self.alpha0) - self.alpha0_rate * self.alpha0)
        return total

    # ------------------------------------------------------------------------------------ equations 9 and 10

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """Tables, alpha0, gamma (the weights integrated out), weights."""
        cdef int64_t tables = self.draw_tables(rng)
        if self.alpha0_shape > 0.0:
            self.draw_alpha0(rng, tables)
        if self.gamma_shape > 0.0:
            self.draw_gamma(rng, tables)
        self.draw_weights(rng)
        return self.K

    cdef void refresh_weights(self, Rng rng) noexcept nogil:
        self.draw_tables(rng)
        self.draw_weights(rng)

    cdef int64_t draw_tables(self, Rng rng) noexcept nogil:
        """Equation 9: total[k] = the tables that support topic k; returns their sum. Token after token opens a table or
        not."""
        cdef Py_ssize_t k, t, _one, most
        cdef int64_t more, m, tables = 0
        cdef double a, p
        self.count_documents()
        for k in range(self.K):
            a = self.alpha0 * exp(self.log_beta[k])
            more = self.n_doc_start[k + 1] - self.n_doc_start[k]
            m = more
            most = self.tally(k)
            for t in range(1, most + 1):
                more -= self.longer[t]
                self.longer[t] = 0
                p = a / (a + t)
                for _one in range(more):
                    m += rng.draw_coin(p)
            self.total[k] = m
            tables += m
        return tables

    cdef void draw_alpha0(self, Rng rng, int64_t tables) noexcept nogil:
        """Teh, Jordan, Beal and Blei (2006), appendix A."""
        cdef Py_ssize_t j, n
        cdef double shape = self.alpha0_shape + tables, rate = self.alpha0_rate, w
        for j in range(self.J):
            n = self.start[j + 1] - self.start[j]
            if n:
                w = rng.draw_beta(self.alpha0 + 1.0, n)
                rate -= log(w if w > 1e-300 else 1e-300)
                shape -= rng.draw_coin(n / (n + self.alpha0))
        self.set_alpha0(min(max(rng.draw_gamma(shape) / rate, LEAST), MOST))

    cdef void draw_gamma(self, Rng rng, int64_t tables) noexcept nogil:
        """Escobar and West (1995), with tables for items and topics for clusters."""
        cdef double x = rng.draw_beta(self.gamma + 1.0, tables), rate, odds, shape = self.gamma_shape + self.K
        rate = self.gamma_rate - log(x if x > 1e-300 else 1e-300)
        odds = (shape - 1.0) / (tables * rate)
        if not rng.draw_coin(odds / (1.0 + odds)):
            shape -= 1.0
        self.gamma = min(max(rng.draw_gamma(shape) / rate, LEAST), MOST)

    cdef void draw_weights(self, Rng rng) noexcept nogil:
        """Equation 10: Dirichlet(total[0], ..., total[K - 1], gamma), in logs."""
        cdef Py_ssize_t k
        cdef double g, top, sum_of = 0.0
        for k in range(self.K):
            g = rng.draw_gamma(self.total[k])
            self.log_beta[k] = log(g if g > 1e-300 else 1e-300)
        # a gamma of a small shape underflows: shape + 1, times a power of a uniform
        self.log_unseen = log(rng.draw_gamma(self.gamma + 1.0)) + log1p(-rng.next()) / self.gamma
        top = self.log_unseen
        for k in range(self.K):
            top = max(top, self.log_beta[k])
        for k in range(self.K):
            sum_of += exp(self.log_beta[k] - top)
        sum_of = top + log(sum_of + exp(self.log_unseen - top))
        for k in range(self.K):
            self.log_beta[k] -= sum_of
        self.log_unseen -= sum_of

    # ----------------------------------------------------------------------- words drawn, labels drawn at once

    cdef void draw_word(self, Rng rng, Py_ssize_t w, double *row) noexcept nogil:
        """Draw from the posteriors Dirichlet(eta + n_k1, ..., eta + n_kV): row[k] is a gamma of shape eta + n_kw."""
        cdef const int32_t *of
        cdef Py_ssize_t k, e
        cdef double[8] x
        cdef uint64_t[8] words
        cdef double u
        if rng.scripted or self.eta > 1.0:
            for k in range(self.K):
                row[k] = rng.draw_gamma(self.eta)
        else:
            # most topics do not hold the word
            for k in range(self.K):
                if k % 8 == 0:
                    for e in range(8):
                        words[e] = rng.bg.next_uint64(rng.bg.state)
                    gammas_begun(self.eta, words, x)
                row[k] = x[k % 8]
                if row[k] < 0.0:
                    u = rng.next()
                    row[k] = gamma_finished(self.eta, words[k % 8], u)
                    if row[k] < 0.0:
                        row[k] = rng.draw_gamma(self.eta)
        # of several threads at a time: no scratch of the model's
        if self.counts.rows != NULL:
            of = self.counts.rows + w * self.counts.stride
            for k in range(self.K):
                if of[k]:
                    row[k] = rng.draw_gamma(self.eta + of[k])
        else:
            of = self.counts.pair + 2 * self.counts.first[w]
            for e in range(self.counts.used[w]):
                row[of[2 * e]] = rng.draw_gamma(self.eta + of[2 * e + 1])

    cdef void count_topics(self, Py_ssize_t w, const int32_t *counts) noexcept nogil:
        cdef Py_ssize_t k, n = 0
        for k in range(self.K):
            n += counts[k] > 0
        self.counts.used[w] = <int32_t> n

    cdef int make_room(self) except -1 nogil:
        return self.counts.make_room()

    cdef void set_counts(self, Py_ssize_t w, const int32_t *counts) noexcept nogil:
        cdef int32_t *of = self.counts.pair + 2 * self.counts.first[w]
        cdef Py_ssize_t k, e = 0
        for k in range(self.K):
            if counts[k]:
                of[2 * e], of[2 * e + 1] = <int32_t> k, counts[k]
                e += 1

    cdef void take_labels(self) noexcept nogil:
        memset(self.is_valid, 0, self.K)
        self.counts.count_spread()
        self.version += 1
        self.listed = False

    # ------------------------------------------------------------------------------------------- changes of the state

    cdef void link_all(self) noexcept nogil:
        """The lists of members, afresh."""
        cdef Py_ssize_t i, k
        for k in range(self.K):
            self.head[k] = -1
        for i in range(self.N):
            self.link(i, self.z[i])

    cdef int append_empty(self) except -1 nogil:
        """One more topic, which takes the share of beta_u to expect, 1/(1 + gamma)."""
        self.reserve(self.K + 1)
        self.head[self.K] = -1
        self.size[self.K] = 0
        self.is_valid[self.K] = False
        self.log_beta[self.K] = self.log_unseen - log1p(self.gamma)
        self.log_unseen += log(self.gamma) - log1p(self.gamma)
        self.K += 1
        self.version += 1
        return 0

    cdef void begin_scan(self) noexcept nogil:
        pass

    cdef bint take_number(self, Py_ssize_t k) noexcept nogil:
        """The last topic takes the number k of one without tokens, but for its tokens; whether it is another."""
        cdef Py_ssize_t last = self.K - 1
        self.log_unseen = log_add(self.log_unseen, self.log_beta[k])
        if k != last:
            self.size[k] = self.size[last]
            self.ll[k] = self.ll[last]
            self.is_valid[k] = self.is_valid[last]
            self.log_beta[k] = self.log_beta[last]
            self.topics[k] = self.topics[last]
        self.head[last] = -1
        self.size[last] = 0
        self.K = last
        self.version += 1
        return k != last

    cdef void renumber(self, Py_ssize_t K) noexcept nogil:
        """Tokens and counts of topic k < K move to number[k]."""
        cdef Py_ssize_t i
        for i in range(self.N):
            self.z[i] = self.number[self.z[i]]
        self.counts.renumber(self.number, K)

    cdef void delete(self, Py_ssize_t k) noexcept nogil:
        """Delete topic k, which has no tokens; the last topic takes its number. Its weight, if it has any, goes back to
        beta_u."""
        cdef Py_ssize_t last = self.K - 1, t
        cdef int32_t i
        if k != last and self.listed:
            i = self.head[last]
            self.head[k] = i
            while i >= 0:
                self.counts.lose(self.word[i], last)
                self.counts.gain(self.word[i], k)
                self.z[i] = <int32_t> k
                i = self.after[i]
        if self.take_number(k) and not self.listed:
            for t in range(last):
                self.number[t] = <int32_t> t
            self.number[last] = <int32_t> k
            self.renumber(last + 1)

    cdef int commit_split(self, Py_ssize_t c, const int32_t *to_b, Py_ssize_t n) except -1 nogil:
        cdef Py_ssize_t t, b = self.K
        cdef double of_a = self.log_beta[b], of_b = self.log_beta[b + 1]
        self.reserve(self.K + 1)
        self.K += 1
        self.head[b] = -1
        self.size[b] = <int32_t> n
        self.size[c] -= <int32_t> n
        self.log_beta[c], self.log_beta[b] = of_a, of_b
        self.is_valid[c] = self.is_valid[b] = False
        for t in range(n):
            self.hand_over(to_b[t], c, b)
        self.version += 1
        return 0

    cdef void hand_over(self, Py_ssize_t i, Py_ssize_t old, Py_ssize_t k) noexcept nogil:
        """Token i, of topic `old`, belongs to topic k; the sizes are counted already."""
        self.counts.lose(self.word[i], old)
        self.counts.gain(self.word[i], k)
        self.unlink(i)
        self.link(i, k)

    cdef void commit_merge(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef Py_ssize_t keep = i if i < j else j, gone = j if i < j else i, t
        self.log_beta[keep] = log_add(self.log_beta[keep], self.log_beta[gone])
        self.log_beta[gone] = -INFINITY
        self.size[keep] += self.size[gone]
        self.is_valid[keep] = False
        if self.listed:
            while self.head[gone] >= 0:
                self.hand_over(self.head[gone], gone, keep)
        else:
            for t in range(self.N):
                if self.z[t] == gone:
                    self.hand_over(t, gone, keep)
        self.size[gone] = 0
        self.delete(gone)

    cdef int reset(self, const int32_t *labels, Py_ssize_t K) except -1 nogil:
        """Make this the partition, with equal weights for all topics and what is unseen; a token of a negative number
        is not placed."""
        cdef Py_ssize_t i, k
        self.reserve(K)
        self.counts.clear()
        memset(self.size, 0, self.cap * sizeof(int32_t))
        memset(self.is_valid, 0, self.cap)
        self.K = K
        for i in range(self.N):
            self.z[i] = labels[i]
            if labels[i] >= 0:
                self.size[labels[i]] += 1
                self.counts.gain(self.word[i], labels[i])
        self.listed = False
        for k in range(K):
            self.log_beta[k] = -log(K + 1.0)
        self.log_unseen = -log(K + 1.0)
        self.version += 1
        return 0

    # ------------------------------------------------------------------------------------------------- Python side

    @property
    def hyperparameters(self):
        """tuple of str: gamma and alpha0, if they are resampled."""
        return ("gamma",) * (self.gamma_shape > 0) + ("alpha0",) * (self.alpha0_shape > 0)

    cdef Py_ssize_t write_hyperparameters(self, double *out) noexcept nogil:
        cdef Py_ssize_t t = 0
        if self.gamma_shape > 0.0:
            out[t] = self.gamma
            t += 1
        if self.alpha0_shape > 0.0:
            out[t] = self.alpha0
            t += 1
        return t

    @property
    def log_weights(self):
        """ndarray of float64, shape (K + 1,): log beta_1, ..., log beta_K, log beta_u, a copy."""
        return np.array([*(self.log_beta[k] for k in range(self.K)), self.log_unseen])

    @property
    def weights(self):
        """ndarray of float64, shape (K + 1,): beta_1, ..., beta_K, beta_u; beta_u may underflow to 0."""
        return np.exp(self.log_weights)

    @property
    def parameters(self):
        """ndarray of float64, shape (K + 3, 1): log beta_1, ..., log beta_K, log beta_u, gamma, alpha0."""
        return np.array([*self.log_weights, self.gamma, self.alpha0])[:, None]

    def set_parameters(self, values):
        """Set the weights and hyper-parameters, as ``parameters`` gives them. A ValueError: another number of values,
        weights that do not sum to 1, or a hyper-parameter out of range."""
        given = as_numbers("parameters", values, self.K + 3)
        weights = given[:self.K + 1]
        # -inf is how a sweep marks a topic that lost its tokens
        if not np.isfinite(weights).all() or not abs(np.logaddexp.reduce(weights)) < WEIGHTS_OFF:
            raise ValueError("parameters: expected the finite logarithms of weights that sum to 1")
        for key, value in (("gamma", given[self.K + 1]), ("alpha0", given[self.K + 2])):
            check_range(f"parameters: {key}", value, LEAST, MOST)
        cdef double[::1] v = given
        memcpy(self.log_beta, &v[0], self.K * sizeof(double))
        self.log_unseen, self.gamma = v[self.K], v[self.K + 1]
        self.set_alpha0(v[self.K + 2])

    def start_parameters(self, Rng rng not None):
        """Draw the weights given the partition: the start of a chain."""
        self.refresh_weights(rng)

    def word_topics(self):
        """Counts n_kw: scipy.sparse.csr_array of int32, shape (V, K), indices of a row ascending."""
        cdef Py_ssize_t w, e, n
        cdef int64_t at = 0
        indptr = np.zeros(self.V + 1, dtype=np.int64)
        cdef int64_t[::1] begin = indptr
        for w in range(self.V):
            begin[w + 1] = begin[w] + self.counts.pairs_of(w, self.K, self.pairs)
        indices = np.empty(begin[self.V], dtype=np.int32)
        data = np.empty(begin[self.V], dtype=np.int32)
        cdef int32_t[::1] topic = indices, number = data
        for w in range(self.V):
            n = self.counts.pairs_of(w, self.K, self.pairs)
            for e in range(n):
                topic[at], number[at] = self.pairs[2 * e], self.pairs[2 * e + 1]
                at += 1
        return csr_array((data, indices, indptr), shape=(self.V, self.K))
