"""Hierarchical Dirichlet process of words in documents, by direct assignment (Rana et al. 2013, sections 3.1 and 3.2).

Items are the tokens i = 1..N, each a word w(i) in a document j(i); clusters are topics. Topics' distributions over
words, Dirichlet(eta), and documents' mixtures of topics are integrated out; the weights beta_1, ..., beta_K of the
topics, and beta_u, that of all topics without tokens, are part of the state:

    pi(z, beta) = gamma^K beta_u^(gamma - 1) prod_k 1/beta_k . prod_j [prod_k <alpha0 beta_k>_{n_jk} / <alpha0>_{n_j}]
                  . prod_k DM(k)                                                      (docs/derivations-topics.md)
    DM(k) = prod_w <eta>_{n_kw} / <V eta>_{n_k},   <a>_n = a (a + 1) ... (a + n - 1)

Equation 11 is not this: it counts the token that opens a topic twice and leaves out the density of beta.

Gibbs (equations 8 to 10). A token goes to topic k with probability proportional to (alpha0 beta_k + n_jk)(eta +
n_kw)/(V eta + n_k), to a new one with alpha0 beta_u/V. Where words are held by many of the topics, all are weighed,
eight at a time; elsewhere the sum is taken in parts: topics that hold the word, those in the document, all of them.
Both are exact. ``refresh`` draws tables (9), alpha0, gamma and weights (10).

Cost of a token: topics that hold the word (at most its tokens), those of the document now and then, O(K) once for every
K tokens; or all K topics, where that takes less.
Memory: 4 bytes a token (label), some 11 for each pair of a word and a topic that holds it (or 4 V K, at most 24 a
token), some 4 for each pair of a document and a topic in it, whatever K; 27 (V + J) for proposals; shared by the
models of the same corpus, 4 bytes a token (word). Samplers that ask for the members of a topic: 8 bytes a token more
(lists), 4 shared (document), and the tokens of the largest topic that was merged.
"""
cimport cython
from libc.math cimport INFINITY, exp, expm1, lgamma, log, log1p
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memmove, memset

import numpy as np
from scipy.sparse import csr_array

from splitmerge_cli.core.capabilities cimport Topics
from splitmerge_cli.core.log_scale cimport log_add, log_rising
from splitmerge_cli.core.memory cimport allocate_or_abort, doubles, doubles_of, flags, ints, ints_of, larger, longs_of
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.models.word_counts cimport WordCounts

from splitmerge_cli.core.checks import as_numbers, check_range
from splitmerge_cli.core.model import draw_permutation
from splitmerge_cli.core.options import Gamma, Number, PositiveOrGamma, read_options
from splitmerge_cli.core.shared import as_array, as_frozen, freeze, share
from splitmerge_cli.models.simulation import simulate_words

cdef extern from "topic_draws.h" nogil:
    double topics_list(const double *share, const int32_t *pair, Py_ssize_t n, Py_ssize_t own, double mine,
                       double *total)
    Py_ssize_t topics_place(const double *total, Py_ssize_t n, double u)
    void __builtin_prefetch(const void *p)

cdef extern from "count_lanes.h" nogil:
    void lanes_begin(const double *mass, const int32_t *here, const double *per, Py_ssize_t blocks, double *share)
    double lanes_sums(const double *share, const int32_t *n, Py_ssize_t blocks, double eta, int64_t own, double mine,
                      double *run, double *to)
    Py_ssize_t lanes_place(const double *run, const double *to, Py_ssize_t blocks, double u)

cdef extern from "small_gammas.h" nogil:
    void gammas_begun(double shape, const uint64_t *words, double *x)
    double gamma_finished(double shape, uint64_t word, double u)

cdef enum:
    SLOTS = 3                           # scratch columns
    # when a scan weighs all topics of every token (measured: docs/speed.md)
    LANES_PER_PAIR = 6                  # topics to weigh in the time that one of a list takes
    LANES_ROOM = 6                      # cells of the table for each token of the scan, at most
    AHEAD = 4                           # tokens, whose rows are fetched before they are read
    # a sequential start (measured: docs/speed.md)
    SETTLED = 1_000_000                 # tokens that begin at random, at most
    FIRST_TOPICS = 100
    FIRST_SCANS = 150

cdef double LOG_2 = log(2.0)
# the least and the largest value of a hyper-parameter
cdef double LEAST = 1e-6, MOST = 1e6
# by how much the logarithm of the weights' sum may be off 0, with what rounding leaves in sweep after sweep
cdef double WEIGHTS_OFF = 1e-3
# the least u of a stick log(1 - b) = log(u)/gamma, so that b > 0
cdef double TINY = 2.0 ** -54


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


def hyper_prior(value):
    """Present value, shape and rate of a hyper-parameter, a float or a `Gamma`: shape 0 of a number."""
    if isinstance(value, Gamma):
        return min(max(value.mean, LEAST), MOST), value.shape, value.rate
    return value, 0.0, 0.0


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


cdef class HDP(Topics):
    """Topics of the tokens of documents.

    Parameters
    ----------
    words : array_like of int, shape (N,)
        Word of each token, 0 .. V-1, documents one after the other.
    starts : array_like of int, shape (J + 1,)
        Tokens of document j are those from starts[j] to before starts[j + 1]; a document may have none.
    V : int
        Words of the vocabulary.
    **options
        See ``OPTIONS``.

    Raises
    ------
    ValueError
        For a parameter out of range (the message names it), or words or starts that are not as said.
    """

    kind = "documents"
    simulate = staticmethod(simulate_words)
    CALIBRATION = {"": {"options": {"eta": 0.3}, "sampler": "smag", "N": 20, "D": 5, "thin": 20}}
    OPTIONS = (
        PositiveOrGamma("gamma", "gamma(1,1)", "concentration of the topics' weights: a number, or gamma(shape,rate): "
                        "resampled", least=LEAST, most=MOST),
        PositiveOrGamma("alpha0", "gamma(1,1)", "concentration of the documents' mixtures: likewise; small: few topics "
                        "a document", least=LEAST, most=MOST),
        Number("eta", 0.1, "pseudo-count of every word in a topic; small: topics of few words", least=LEAST, most=MOST),
    )

    # -- the corpus
    cdef const int32_t *doc             # [N], or NULL: then documents are searched for
    cdef Py_ssize_t longest             # tokens of the longest document
    cdef WordCounts counts              # n_kw
    cdef int32_t *pairs                 # [cap, 2] those of the word at hand
    # -- lists of members, of models with samplers that ask for them
    cdef bint listed                    # they are up to date
    # -- weights and hyper-parameters
    cdef readonly double gamma, eta
    cdef double gamma_shape, gamma_rate, alpha0_shape, alpha0_rate
    cdef double mass                    # V eta
    # -- tables: log <eta>_n; log <alpha0>_n, valid for the present alpha0
    cdef const double *log_eta          # [most tokens of a word + 1]
    cdef double *log_alpha0             # [longest + 1]
    cdef double log_documents           # sum over documents of log <alpha0>_{n_j}
    # -- numbers of tokens n_jk > 0, topic by topic, documents ascending; of the partition of version `paired`
    cdef int32_t *n_doc                 # [n_doc_room]
    cdef int64_t n_doc_room
    cdef int64_t *n_doc_start           # [cap + 1]
    cdef int64_t paired
    cdef int32_t *longer                # [longest + 2] zeros; documents by their number of tokens of a topic
    # -- the document at hand, in a scan
    cdef int32_t *here                  # [cap] n_jk
    cdef int32_t *topics                # [cap] topics of the document, ascending
    cdef int32_t *number                # [cap] new numbers of topics
    cdef double *run                    # [cap] running sums of a draw, place by place in the blocks of eight topics
    cdef Py_ssize_t n_topics
    cdef double *mass_of                  # [cap] alpha0 beta_k; 0 of an emptied topic
    cdef double *per                    # [cap] 1/(V eta + n_k)
    cdef double *share                  # [cap] (alpha0 beta_k + n_jk)/(V eta + n_k)
    cdef double *total                  # [cap] running sums of a draw
    cdef double unseen                  # alpha0 beta_u
    cdef double of_document             # sum of n_jk/(V eta + n_k)
    cdef double of_all                  # sum of alpha0 beta_k/(V eta + n_k)
    cdef Py_ssize_t emptied             # topics that lost their last token in this scan, still in the list
    # -- scratch columns K, K + 1, K + 2
    cdef int32_t *side_word[SLOTS]      # [V] n_w
    cdef int8_t *word_seen[SLOTS]       # [V]
    cdef int32_t *words_seen[SLOTS]     # [V] words that were counted, in the order of their first tokens
    cdef Py_ssize_t n_words[SLOTS]
    cdef int32_t *side_doc[SLOTS]       # [J] the same of documents
    cdef int8_t *doc_seen[SLOTS]
    cdef int32_t *docs_seen[SLOTS]
    cdef Py_ssize_t n_docs[SLOTS]
    cdef double side_prior[SLOTS]       # alpha0 times the weight
    cdef int32_t *buffer                # [buffer_room] members of a topic
    cdef Py_ssize_t buffer_room
    cdef Py_ssize_t held                # the topic that the last scratch column holds, in the partition of this version
    cdef int64_t held_version
    cdef double *rise[SLOTS]            # [longest + 1] log <a>_n of three weights

    def __init__(self, words, starts, V, **options):
        given = read_options("model", self.OPTIONS, options)
        cdef Py_ssize_t s
        data = share(_prepare, as_array(words), as_array(starts), V)
        N = len(data.word)
        self.gamma, self.gamma_shape, self.gamma_rate = hyper_prior(given["gamma"])
        self.alpha0, self.alpha0_shape, self.alpha0_rate = hyper_prior(given["alpha0"])
        cdef double eta = given["eta"]
        self.eta, self.mass, self.V, self.J = eta, V * eta, V, len(data.start) - 1
        by_count = share(_tables, eta, data.most)
        self._hold(data)
        self._hold(by_count)
        self.word, self.start = ints_of(data.word), longs_of(data.start)
        self.longest, self.log_eta = data.longest, doubles_of(by_count.log_eta)
        self.counts = WordCounts()
        self.counts.prepare(V, ints_of(data.tokens_of))
        self.log_alpha0 = doubles(self.longest + 2)
        self.longer = ints(self.longest + 2)
        for s in range(SLOTS):
            self.side_word[s], self.words_seen[s], self.word_seen[s] = ints(V), ints(V), flags(V)
            self.side_doc[s], self.docs_seen[s], self.doc_seen[s] = ints(self.J), ints(self.J), flags(self.J)
            self.rise[s] = doubles(self.longest + 2)
        self.scans_itself = self.lists_later = True
        self.paired = self.held_version = -1
        self._allocate(N, N)
        self.set_alpha0(self.alpha0)
        self.set_labels(np.zeros(N, dtype=np.int32))

    @classmethod
    def from_data(cls, data, **params):
        """Return the model for a Dataset with documents; raises as ``Model.from_data``."""
        cls._require(data)
        tokens = data.values.tokens
        freeze(tokens.words)
        freeze(tokens.starts)
        return cls(tokens.words, tokens.starts, data.values.V, **params)

    def __dealloc__(self):
        cdef Py_ssize_t s
        for s in range(SLOTS):
            free(self.side_word[s])
            free(self.word_seen[s])
            free(self.words_seen[s])
            free(self.side_doc[s])
            free(self.doc_seen[s])
            free(self.docs_seen[s])
            free(self.rise[s])
        free(self.pairs)
        free(self.log_alpha0)
        free(self.n_doc)
        free(self.n_doc_start)
        free(self.longer)
        free(self.here)
        free(self.topics)
        free(self.number)
        free(self.mass_of)
        free(self.per)
        free(self.share)
        free(self.run)
        free(self.total)
        free(self.buffer)

    # ------------------------------------------------------------------------------------------- room, members

    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef Py_ssize_t old = self.cap
        self.log_beta = <double *> larger(self.log_beta, old * 8, cap * 8)
        self.mass_of = <double *> larger(self.mass_of, old * 8, cap * 8)
        self.per = <double *> larger(self.per, old * 8, cap * 8)
        self.share = <double *> larger(self.share, old * 8, cap * 8)
        self.run = <double *> larger(self.run, 0, cap * 8)
        self.total = <double *> larger(self.total, old * 8, cap * 8)
        self.here = <int32_t *> larger(self.here, old * 4, cap * 4)
        self.topics = <int32_t *> larger(self.topics, old * 4, cap * 4)
        self.number = <int32_t *> larger(self.number, old * 4, cap * 4)
        self.pairs = <int32_t *> larger(self.pairs, 0, cap * 8)
        self.n_doc_start = <int64_t *> larger(self.n_doc_start, (old + 1) * 8 if old else 0, (cap + 1) * 8)
        return 0

    # -- lists of members
    cdef int keep_lists(self) except -1:
        if self.after == NULL:
            documents = share(_documents, self.shared[0].start)
            self._hold(documents)
            self.doc = ints_of(documents.doc)
            self.before, self.after = ints(self.N), ints(self.N)
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

    @cython.final
    cdef inline Py_ssize_t document(self, Py_ssize_t i) noexcept nogil:
        """The document of token i."""
        cdef Py_ssize_t low = 0, high = self.J - 1, middle
        if self.doc != NULL:
            return self.doc[i]
        while low < high:
            middle = (low + high) >> 1
            if self.start[middle + 1] <= i:
                low = middle + 1
            else:
                high = middle
        return low

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
        """here and topics: those of document j; the topics not in order. `here` was all 0."""
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

    # ------------------------------------------------------------------------------------------------- equation 8

    cdef Py_ssize_t own_scan(self, Rng rng, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
        """Equation 8, in buckets. A topic that loses its last token gives its weight back at once and keeps its number
        until the end of the sweep, unless a new topic takes it."""
        cdef Py_ssize_t i = first, end = first + n, until, j, changed = 0
        # whether lists are made anew when they are asked for, in the place of one change after the other
        cdef bint relink = 4 * n > self.N or not self.listed
        cdef int64_t since = 0
        if rng.scripted:
            rng.continuous = True
            return 0
        if self.lanes_pay(n):
            return self.scan_lanes(rng, first, n, relink)
        self.counts.to_lists(self.K)
        self.begin_sweep()
        j = self.document(i)
        while i < end and not rng.is_halted:
            if since >= self.K:
                self.sum_all()
                since = 0
            while self.start[j + 1] <= i:
                j += 1
            until = min(end, <Py_ssize_t> self.start[j + 1])
            self.enter(j)
            self.begin_document()
            since += until - i
            while i < until:
                changed += self.resample(rng, i, relink)
                i += 1
            self.end_document()
        self.end_sweep(relink)
        return changed

    cdef void end_sweep(self, bint relink) noexcept nogil:
        self.version += 1
        memset(self.is_valid, 0, self.K)
        if relink:
            self.listed = False
        self.delete_emptied()

    cdef void delete_emptied(self) noexcept nogil:
        """Delete the topics without tokens, the highest number first; the last takes its number each time."""
        cdef Py_ssize_t K = self.K, k = self.K - 1, last
        cdef bint moved = False
        if self.emptied == 0:
            return
        # topics[k]: which stood at k before
        for last in range(self.K):
            self.topics[last] = <int32_t> last
        while self.emptied:
            if self.size[k] == 0:
                self.emptied -= 1
                if self.listed:
                    self.delete(k)
                else:
                    moved |= self.take_number(k)
            k -= 1
        if moved:
            for k in range(self.K):
                self.number[self.topics[k]] = <int32_t> k
            self.renumber(K)

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
        """Tokens and counts of topic k < K become those of number[k]."""
        cdef Py_ssize_t i
        for i in range(self.N):
            self.z[i] = self.number[self.z[i]]
        self.counts.renumber(self.number, K)

    cdef void begin_sweep(self) noexcept nogil:
        cdef Py_ssize_t k
        self.unseen = self.alpha0 * exp(self.log_unseen)
        self.emptied = 0
        for k in range(self.K):
            self.mass_of[k] = self.alpha0 * exp(self.log_beta[k])
            self.per[k] = 1.0 / (self.mass + self.size[k])
            self.share[k] = self.mass_of[k] * self.per[k]
        memset(self.mass_of + self.K, 0, (self.cap - self.K) * sizeof(double))
        memset(self.share + self.K, 0, (self.cap - self.K) * sizeof(double))
        self.sum_all()

    cdef void sum_all(self) noexcept nogil:
        """Between documents: of_all afresh, without what rounding left."""
        cdef Py_ssize_t k
        self.of_all = 0.0
        for k in range(self.K):
            self.of_all += self.mass_of[k] * self.per[k]

    cdef void begin_document(self) noexcept nogil:
        cdef Py_ssize_t t, at
        cdef int32_t k
        self.of_document = 0.0
        for t in range(1, self.n_topics):
            k = self.topics[t]
            at = t
            while at and self.topics[at - 1] > k:
                self.topics[at] = self.topics[at - 1]
                at -= 1
            self.topics[at] = k
        for t in range(self.n_topics):
            k = self.topics[t]
            self.share[k] = (self.mass_of[k] + self.here[k]) * self.per[k]
            self.of_document += self.here[k] * self.per[k]

    cdef void end_document(self) noexcept nogil:
        cdef Py_ssize_t t
        cdef int32_t k
        for t in range(self.n_topics):
            k = self.topics[t]
            self.here[k] = 0
            self.share[k] = self.mass_of[k] * self.per[k]

    cdef int resample(self, Rng rng, Py_ssize_t i, bint relink) except -1 nogil:
        """Draw the topic of token i, of the document at hand; whether it changed. Nothing is written before it is known
        that the token leaves: what is read right after it was written has to wait."""
        cdef Py_ssize_t w = self.word[i], k, e, n = self.counts.used[w]
        cdef int32_t old = self.z[i], here = self.here[old] - 1
        cdef int32_t *of
        cdef double q, u, was_per = self.per[old], per = 1.0 / (self.mass + (self.size[old] - 1))
        cdef double part = (self.mass_of[old] + here) * per
        cdef double of_document = self.of_document + (here * per - (here + 1) * was_per)
        cdef double of_all = self.of_all + self.mass_of[old] * (per - was_per)
        if i + 1 < self.N:
            e = self.word[i + 1]
            __builtin_prefetch(self.counts.pair + 2 * self.counts.first[e])
        of = self.counts.pair + 2 * self.counts.first[w]
        q = topics_list(self.share, of, n, old, part, self.total)
        u = rng.next() * (q + self.eta * (of_document + of_all) + self.unseen / self.V)
        if u < q:
            k = of[2 * topics_place(self.total, n, u)]
        else:
            k = self.of_other_buckets((u - q) / self.eta, old, per, of_document, of_all)
        if k == old:
            return 0
        self.size[old] -= 1
        self.here[old] = here
        self.per[old], self.share[old] = per, part
        self.of_document, self.of_all = of_document, of_all
        self.counts.lose(w, old)
        if here == 0:
            self.leave_document(old)
        if k == self.K:
            k = self.open_topic(rng)
        self.came(w, k)
        self.follow_move(i, old, k, relink)
        return 1

    @cython.final
    cdef inline void came(self, Py_ssize_t w, Py_ssize_t k) noexcept nogil:
        """A token of word w, of the document at hand, has come to topic k, where lists are gone through."""
        cdef double was_per = self.per[k], per
        self.counts.gain(w, k)
        if self.here[k] == 0:
            self.enter_document(<int32_t> k)
        self.size[k] += 1
        self.here[k] += 1
        per = 1.0 / (self.mass + self.size[k])
        self.per[k] = per
        self.share[k] = (self.mass_of[k] + self.here[k]) * per
        self.of_document += self.here[k] * per - (self.here[k] - 1) * was_per
        self.of_all += self.mass_of[k] * (per - was_per)

    @cython.final
    cdef inline void follow_move(self, Py_ssize_t i, Py_ssize_t old, Py_ssize_t k, bint relink) noexcept nogil:
        """Token i has gone from topic `old` to topic k, and all counts know."""
        if self.size[old] == 0:
            self.close_topic(old)
        if relink:
            self.z[i] = <int32_t> k
        else:
            self.unlink(i)
            self.link(i, k)

    cdef Py_ssize_t of_other_buckets(self, double u, int32_t old, double per, double of_document,
                                     double of_all) noexcept nogil:
        """The topic at u/eta behind those that hold the word: in the document, any, or a new one, which is K. The
        token's own topic `old` has 1/(V eta + n_k) = `per` without it, the sums are given without it."""
        cdef Py_ssize_t t, k
        cdef double c = 0.0
        if u < of_document:
            for t in range(self.n_topics):
                k = self.topics[t]
                c += (self.here[k] - 1) * per if k == old else self.here[k] * self.per[k]
                if u < c:
                    return k
        u -= of_document
        c = 0.0
        if u < of_all:
            for k in range(self.K):
                c += self.mass_of[k] * (per if k == old else self.per[k])
                if u < c:
                    return k
        return self.K

    cdef void leave_document(self, int32_t k) noexcept nogil:
        cdef Py_ssize_t t = 0
        while self.topics[t] != k:
            t += 1
        self.n_topics -= 1
        memmove(self.topics + t, self.topics + t + 1, (self.n_topics - t) * sizeof(int32_t))

    cdef void enter_document(self, int32_t k) noexcept nogil:
        cdef Py_ssize_t t = self.n_topics
        while t and self.topics[t - 1] > k:
            self.topics[t] = self.topics[t - 1]
            t -= 1
        self.topics[t] = k
        self.n_topics += 1

    cdef Py_ssize_t open_topic(self, Rng rng) except -1 nogil:
        """A topic with the share b ~ Beta(1, gamma) of beta_u, after equation 8: the least number that is free, or the
        next."""
        cdef Py_ssize_t k = 0
        cdef double u = rng.next(), log_rest
        # a topic that the token at hand has left alone has its weight still
        while k < self.K and (self.emptied == 0 or self.log_beta[k] != -INFINITY):
            k += 1
        if k == self.K:
            self.reserve(self.K + 1)
            self.head[k] = -1
            self.K += 1
        else:
            self.emptied -= 1
        log_rest = log1p(-(u if u > TINY else TINY)) / self.gamma
        self.log_beta[k] = self.log_unseen + log(-expm1(log_rest))
        self.log_unseen += log_rest
        self.unseen = self.alpha0 * exp(self.log_unseen)
        self.mass_of[k] = self.alpha0 * exp(self.log_beta[k])
        self.size[k] = 0
        self.here[k] = 0
        self.per[k] = 1.0 / self.mass
        self.share[k] = self.mass_of[k] * self.per[k]
        self.of_all += self.share[k]
        return k

    cdef void close_topic(self, Py_ssize_t k) noexcept nogil:
        """Topic k has no token any more: its weight goes back."""
        self.of_all -= self.mass_of[k] * self.per[k]
        self.log_unseen = log_add(self.log_unseen, self.log_beta[k])
        self.unseen = self.alpha0 * exp(self.log_unseen)
        self.log_beta[k] = -INFINITY
        self.mass_of[k] = self.share[k] = 0.0
        self.emptied += 1

    # ------------------------------------------------------------------------ equation 8, all topics of every token

    cdef bint lanes_pay(self, Py_ssize_t n) noexcept nogil:
        """Whether a scan of n tokens weighs all topics of each, since words are held by many of them. By the state
        alone, not by what the counts stand in: a chain that goes on from a file does the same."""
        return self.K * self.N <= LANES_PER_PAIR * self.counts.spread and self.V * self.K <= LANES_ROOM * n

    cdef int scan_lanes(self, Rng rng, Py_ssize_t first, Py_ssize_t n, bint relink) except -1 nogil:
        cdef Py_ssize_t i = first, end = first + n, until, j = self.document(first), t, changed = 0
        self.counts.to_rows(self.K)
        self.begin_sweep()
        while i < end and not rng.is_halted:
            while self.start[j + 1] <= i:
                j += 1
            until = min(end, <Py_ssize_t> self.start[j + 1])
            for t in range(self.start[j], self.start[j + 1]):
                self.here[self.z[t]] += 1
            lanes_begin(self.mass_of, self.here, self.per, (self.K + 7) // 8, self.share)
            while i < until:
                changed += self.resample_lanes(rng, i, relink)
                i += 1
            memset(self.here, 0, self.K * sizeof(int32_t))
        self.end_sweep(relink)
        return changed

    @cython.final
    cdef inline int resample_lanes(self, Rng rng, Py_ssize_t i, bint relink) except -1 nogil:
        """Draw the topic of token i, of the document at hand; whether it changed. Nothing is written before it is known
        that the token leaves, as in ``resample``."""
        cdef Py_ssize_t w = self.word[i], k, t, blocks = (self.K + 7) // 8
        cdef int32_t old = self.z[i], here = self.here[old] - 1
        cdef int32_t *row = self.counts.rows + w * self.counts.stride
        cdef double per = 1.0 / (self.mass + (self.size[old] - 1)), part = (self.mass_of[old] + here) * per, total, u
        cdef double[8] to
        if i + AHEAD < self.N:
            t = self.word[i + AHEAD] * self.counts.stride
            for k in range(0, self.K, 16):
                __builtin_prefetch(self.counts.rows + t + k)
        total = lanes_sums(self.share, row, blocks, self.eta, old, part * (self.eta + (row[old] - 1)), self.run, to)
        u = rng.next() * (total + self.unseen / self.V)
        k = lanes_place(self.run, to, blocks, u) if u < total else self.K
        if k == old:
            return 0
        self.size[old] -= 1
        self.here[old] = here
        self.per[old], self.share[old] = per, part
        self.counts.lose(w, old)
        if k == self.K:
            # it may take the number of one that was emptied
            k = self.open_topic(rng)
        self.came_in_lanes(w, k)
        self.follow_move(i, old, k, relink)
        return 1

    @cython.final
    cdef inline void came_in_lanes(self, Py_ssize_t w, Py_ssize_t k) noexcept nogil:
        """``came`` where all topics are weighed."""
        self.counts.gain(w, k)
        self.size[k] += 1
        self.here[k] += 1
        self.per[k] = 1.0 / (self.mass + self.size[k])
        self.share[k] = (self.mass_of[k] + self.here[k]) * self.per[k]

    # ------------------------------------------------------------------- equation 8, of documents that have no topics

    cdef int place_documents(self, Rng rng, const int32_t *documents, Py_ssize_t n) except -1 nogil:
        """Put the tokens of these documents, which are not placed, into topics, one after the other, by equation 8
        given the weights and all tokens that are."""
        cdef Py_ssize_t t, i, j
        self.listed = False
        for t in range(n):
            # now and then, since counts grow: whether all topics are weighed
            if t & (t - 1) == 0:
                if self.lanes_pay(self.N):
                    self.counts.to_rows(self.K)
                else:
                    self.counts.to_lists(self.K)
                self.begin_sweep()
            j = documents[t]
            if self.counts.rows == NULL:
                self.sum_all()
                self.n_topics = 0
                self.begin_document()
                for i in range(self.start[j], self.start[j + 1]):
                    self.place(rng, i)
                self.end_document()
            else:
                lanes_begin(self.mass_of, self.here, self.per, (self.K + 7) // 8, self.share)
                for i in range(self.start[j], self.start[j + 1]):
                    self.place_in_lanes(rng, i)
                memset(self.here, 0, self.K * sizeof(int32_t))
        memset(self.is_valid, 0, self.K)
        self.version += 1
        return 0

    cdef int place(self, Rng rng, Py_ssize_t i) except -1 nogil:
        """Draw the topic of token i, of the document at hand, which has none."""
        cdef Py_ssize_t w = self.word[i], k, n = self.counts.used[w]
        cdef const int32_t *of = self.counts.pair + 2 * self.counts.first[w]
        cdef double q = topics_list(self.share, of, n, -1, 0.0, self.total), u
        u = rng.next() * (q + self.eta * (self.of_document + self.of_all) + self.unseen / self.V)
        if u < q:
            k = of[2 * topics_place(self.total, n, u)]
        else:
            k = self.of_other_buckets((u - q) / self.eta, -1, 0.0, self.of_document, self.of_all)
        if k == self.K:
            k = self.open_topic(rng)
        self.came(w, k)
        self.z[i] = <int32_t> k
        return 0

    cdef int place_in_lanes(self, Rng rng, Py_ssize_t i) except -1 nogil:
        """``place`` where all topics are weighed."""
        cdef Py_ssize_t w = self.word[i], k, blocks = (self.K + 7) // 8
        cdef const int32_t *row = self.counts.rows + w * self.counts.stride
        cdef double[8] to
        cdef double total = lanes_sums(self.share, row, blocks, self.eta, -1, 0.0, self.run, to), u
        u = rng.next() * (total + self.unseen / self.V)
        k = lanes_place(self.run, to, blocks, u) if u < total else self.K
        if k == self.K:
            k = self.open_topic(rng)
        self.came_in_lanes(w, k)
        self.z[i] = <int32_t> k
        return 0

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
        """tuple of str: those of gamma and alpha0 that are resampled."""
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
        """Set the weights and hyper-parameters, as ``parameters`` gives them.

        Raises
        ------
        ValueError
            For another number of values, weights that do not sum to 1, or a hyper-parameter out of range.
        """
        given = as_numbers("parameters", values).reshape(-1)
        if given.shape != (self.K + 3,):
            raise ValueError(f"parameters: expected {self.K + 3} numbers, got {given.size}")
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

    def start_sequentially(self, Rng rng not None, K0=None, settled=SETTLED):
        """Put the documents into topics, one after the other: a start for large corpora.

        Up to `settled` tokens: `K0` topics at random, then 150 collapsed scans, a refresh after each. Of a larger
        corpus a uniform sample of a quarter of the documents starts so, by itself; the tokens of the others follow, in
        a uniform order of the documents, each by equation 8 given the weights and all tokens placed before it; then
        scans, a third of those that the sample ended with.

        Parameters
        ----------
        rng : Rng
        K0 : int, optional
            Topics at random; default 100, or the tokens if they are less.
        settled : int

        Raises
        ------
        ValueError
            For more topics than tokens.

        Examples
        --------
        >>> from splitmerge_cli.core.rng import Rng
        >>> model = HDP([0, 0, 1, 1, 0, 0, 1, 1], [0, 2, 4, 6, 8], 2, eta=0.1)
        >>> model.start_sequentially(Rng(1), K0=2)
        >>> int(model.sizes.sum())
        8
        """
        if K0 is not None and not 1 <= K0 <= self.N:
            raise ValueError(f"K0={K0}: expected 1 to {self.N}, the number of tokens")
        self._settle(rng, K0, max(settled, 1))

    def _settle(self, Rng rng, K0, settled):
        """The start; returns the number of scans at its end."""
        cdef Py_ssize_t scans = FIRST_SCANS, _scan
        if self.N <= settled or np.count_nonzero(np.diff(self.shared[0].start)) == 1:
            first = min(self.N, FIRST_TOPICS if K0 is None else K0)
            self.set_labels(np.random.Generator(rng.bit_generator).integers(first, size=self.N, dtype=np.int32))
            self.start_parameters(rng)
        else:
            scans = self._start_from_sample(rng, K0, settled) // 3
        for _scan in range(scans):
            with nogil:
                self.own_scan(rng, 0, self.N)
                self.refresh_parameters(rng)
        return scans

    def _start_from_sample(self, Rng rng, K0, settled):
        """Start a quarter of the documents by itself, and place the others; returns the scans that the quarter ended
        with."""
        word, start = self.shared[0].word, self.shared[0].start
        order, lengths = draw_permutation(rng, self.J), np.diff(start)
        # one with tokens at least, and one is left
        n = min(int(np.searchsorted(np.cumsum(lengths[order]), max(1, self.N // 4))) + 1, self.J - 1)
        chosen = np.sort(order[:n])
        inside = np.append(0, np.cumsum(lengths[chosen]))
        tokens = np.arange(inside[-1]) + np.repeat(start[chosen] - inside[:-1], lengths[chosen])
        cdef HDP sample = HDP(word[tokens], inside, self.V, eta=self.eta,
                              gamma=Gamma(self.gamma_shape, self.gamma_rate) if self.gamma_shape else self.gamma,
                              alpha0=Gamma(self.alpha0_shape, self.alpha0_rate) if self.alpha0_shape else self.alpha0)
        scans = sample._settle(rng, K0, settled)
        labels = np.full(self.N, -1, dtype=np.int32)
        labels[tokens] = sample.labels
        self._place(rng, labels, sample.parameters, order[n:])
        return scans

    def _place(self, Rng rng not None, int32_t[::1] labels, parameters, int32_t[::1] documents):
        """Set parameters and these labels, -1 for tokens in the documents to place; then place those documents."""
        self.reset(&labels[0], len(parameters) - 3)
        self.set_parameters(parameters)
        with nogil:
            self.place_documents(rng, &documents[0], documents.shape[0])

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

    def prior_labels(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int.

        The weights are broken from the stick as topics are met; a token takes the topic of an earlier one of its
        document, or one by weight.
        """
        cdef Py_ssize_t i, j, at, K = 0
        cdef double u, rest = 1.0
        labels = np.empty(self.N, dtype=np.int32)
        uniform = generator.random(self.N)
        cdef int32_t[::1] z = labels
        cdef double[::1] draw = uniform
        beta: list = []
        for j in range(self.J):
            for i in range(self.start[j], self.start[j + 1]):
                u = draw[i] * (self.alpha0 + (i - self.start[j]))
                if u >= self.alpha0:
                    at = self.start[j] + <Py_ssize_t> (u - self.alpha0)
                    z[i] = z[min(at, i - 1)]
                    continue
                u /= self.alpha0
                at = 0
                while at < K and u >= beta[at]:
                    u -= beta[at]
                    at += 1
                if at == K:
                    beta.append(rest * generator.beta(1.0, self.gamma))
                    rest -= beta[K]
                    K += 1
                z[i] = <int32_t> at
        numbered = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        return numbered, int(numbered.max()) + 1
