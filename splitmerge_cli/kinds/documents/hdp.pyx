"""Hierarchical Dirichlet process of words in documents, by direct assignment (Rana et al. 2013, sections 3.1 and 3.2).

Items are the tokens i = 1..N, each a word w(i) in a document j(i); clusters are topics. Topics' distributions over
words, Dirichlet(eta), and documents' mixtures of topics are integrated out; the weights beta_1, ..., beta_K of the
topics, and beta_u, the weight of all topics without tokens, are part of the state:

    pi(z, beta) = gamma^K beta_u^(gamma - 1) prod_k 1/beta_k . prod_j [prod_k <alpha0 beta_k>_{n_jk} / <alpha0>_{n_j}]
                  . prod_k DM(k)                                                      (docs/derivations-topics.md)
    DM(k) = prod_w <eta>_{n_kw} / <V eta>_{n_k},   <a>_n = a (a + 1) ... (a + n - 1)

Equation 11 is not this: it counts the token that opens a topic twice and leaves out the density of beta.

``hdp_state.pyx`` holds the state and its probability, and draws tables (equation 9), alpha0, gamma and weights (10);
here are the model's options, its scans and its starts. A scan draws the topic of a token by equation 8: topic k with
probability proportional to (alpha0 beta_k + n_jk)(eta + n_kw)/(V eta + n_k), a new one with alpha0 beta_u/V. There are
two exact ways. By *lists* the sum is taken in parts: topics that hold the word, those in the document, all of them. In
*lanes* all topics are weighed, eight at a time, which takes less where words are held by many of them. A topic that
loses its last token gives its weight back at once and keeps its number until the end of the scan, unless a new topic
takes it.

Cost of a token: topics that hold the word (at most its tokens), topics of the document now and then, O(K) once for
every K tokens; or all K topics, where that takes less. Memory: 4 bytes a token (label), some 11 for each pair of a word
and a topic that holds it (or 4 V K, at most 24 a token), some 4 for each pair of a document and a topic in it, whatever
K; 27 (V + J) for proposals; shared by the models of the same corpus, 4 bytes a token (word). Samplers that ask for the
members of a topic: 8 bytes a token more (lists), 4 shared (document), and the tokens of the largest topic that was
merged.
"""
cimport cython
from libc.math cimport INFINITY, exp, expm1, log, log1p
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memmove, memset

import numpy as np

from splitmerge_cli.core.log_scale cimport log_add
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport ROOM
from splitmerge_cli.kinds.documents.hdp_state cimport LEAST, MOST, HDPState

from splitmerge_cli.core.model import draw_permutation
from splitmerge_cli.core.options import Gamma, Number, PositiveOrGamma, read_options
from splitmerge_cli.core.shared import freeze
from splitmerge_cli.kinds.documents.generated import simulate_words

cdef extern from "topic_draws.h" nogil:
    double topics_list(const double *share, const int32_t *pair, Py_ssize_t n, Py_ssize_t own, double mine,
                       double *total)
    Py_ssize_t topics_place(const double *total, Py_ssize_t n, double u)
    void __builtin_prefetch(const void *p)
    void lanes_begin(const double *mass, const int32_t *here, const double *per, Py_ssize_t blocks, double *share)
    double lanes_sums(const double *share, const int32_t *n, Py_ssize_t blocks, double eta, int64_t own, double mine,
                      double *run, double *to)
    Py_ssize_t lanes_place(const double *run, const double *to, Py_ssize_t blocks, double u)

cdef enum:                              # measured: docs/speed.md
    # of a scan
    LANES_PER_PAIR = 6                  # topics to weigh in the time that one of a list takes
    LANES_ROOM = 6                      # cells of the table for each token of a scan in lanes, at most
    AHEAD = 4                           # tokens, whose rows are fetched before they are read
    # of a sequential start
    SETTLED = 1_000_000                 # tokens that begin at random, at most
    FIRST_TOPICS = 100
    FIRST_SCANS = 150

# the least u of a stick log(1 - b) = log(u)/gamma, so that b > 0
cdef double TINY = 2.0 ** -54


def hyper_prior(value):
    """Present value, shape and rate of a hyper-parameter, a float or a `Gamma`: shape 0 of a number."""
    if isinstance(value, Gamma):
        return min(max(value.mean, LEAST), MOST), value.shape, value.rate
    return value, 0.0, 0.0


cdef class HDP(HDPState):
    """Topics of the tokens of documents. `words`: of each token, 0 .. V-1, documents one after the other, int of shape
    (N,); `starts`: tokens of document j are those from starts[j] to before starts[j + 1], maybe none, int of shape (J +
    1,); `V`: words of the vocabulary."""

    kind = "documents"
    simulate = staticmethod(simulate_words)
    CALIBRATION = {"": {"options": {"eta": 0.3}, "sampler": "smag", "N": 20, "D": 5, "thin": 20}}
    OPTIONS = (
        PositiveOrGamma("gamma", "gamma(1,1)", "concentration of the topics' weights: a number, or gamma(shape,rate): "
                        "resampled", least=LEAST, most=MOST),
        PositiveOrGamma("alpha0", "gamma(1,1)", "concentration of the documents' mixtures: likewise; small: few topics "
                        "a document", least=LEAST, most=MOST),
        Number("eta", 0.1, "pseudo-count of every word in a topic; small values: topics of few words", least=LEAST,
               most=MOST),
    )

    cdef double *mass_of                # [cap] alpha0 beta_k; 0 of an emptied topic
    cdef double *per                    # [cap] 1/(V eta + n_k)
    cdef double *share                  # [cap] (alpha0 beta_k + n_jk)/(V eta + n_k)
    cdef double *run                    # [cap] running sums of a draw, place by place in the blocks of eight topics
    cdef double unseen                  # alpha0 beta_u
    cdef double of_document             # sum of n_jk/(V eta + n_k), where lists are gone through
    cdef double of_all                  # sum of alpha0 beta_k/(V eta + n_k), where lists are gone through
    cdef Py_ssize_t emptied             # topics that lost their last token in this scan, still in the list

    def __init__(self, words, starts, V, **options):
        given = read_options("model", self.OPTIONS, options)
        self.gamma, self.gamma_shape, self.gamma_rate = hyper_prior(given["gamma"])
        self.alpha0, self.alpha0_shape, self.alpha0_rate = hyper_prior(given["alpha0"])
        N = self.take_corpus(words, starts, V, given["eta"])
        self.scans_itself = True
        self.keep(&self.mass_of, ROOM)
        self.keep(&self.per, ROOM)
        self.keep(&self.share, ROOM)
        self.keep(&self.run, ROOM)
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

    # -- scans
    @cython.final
    cdef bint lanes_pay(self, Py_ssize_t n) noexcept nogil:
        """Whether a scan of n tokens weighs all topics of each, since words are held by many of them. By the state
        alone, not by what the counts stand in: a chain that goes on from a file does the same."""
        return self.K * self.N <= LANES_PER_PAIR * self.counts.spread and self.V * self.K <= LANES_ROOM * n

    cdef Py_ssize_t own_scan(self, Rng rng, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
        cdef Py_ssize_t i = first, end = first + n, until, j, t, changed = 0
        # whether lists of members are rebuilt on request instead of changed step by step
        cdef bint relink = 4 * n > self.N or not self.listed
        cdef bint lanes
        cdef int64_t since = 0
        if rng.scripted:
            rng.continuous = True
            return 0
        lanes = self.begin_sweep(n)
        j = self.document(i)
        while i < end and not rng.is_halted:
            while self.start[j + 1] <= i:
                j += 1
            until = min(end, <Py_ssize_t> self.start[j + 1])
            if lanes:
                for t in range(self.start[j], self.start[j + 1]):
                    self.here[self.z[t]] += 1
            else:
                if since >= self.K:
                    self.sum_all()
                    since = 0
                since += until - i
                self.enter(j)
            self.begin_document(lanes)
            # a constant for the compiler, which makes two loops of one
            if lanes:
                for t in range(i, until):
                    changed += self.resample(rng, t, True, relink)
            else:
                for t in range(i, until):
                    changed += self.resample(rng, t, False, relink)
            self.end_document(lanes)
            i = until
        self.version += 1
        memset(self.is_valid, 0, self.K)
        if relink:
            self.listed = False
        self.delete_emptied()
        return changed

    @cython.final
    cdef bint begin_sweep(self, Py_ssize_t n) except -1 nogil:
        """Prepare a scan of n tokens; whether it weighs all topics of each."""
        cdef Py_ssize_t k
        cdef bint lanes = self.lanes_pay(n)
        if lanes:
            self.counts.to_rows(self.K)
        else:
            self.counts.to_lists(self.K)
        self.unseen = self.alpha0 * exp(self.log_unseen)
        self.emptied = 0
        for k in range(self.K):
            self.mass_of[k] = self.alpha0 * exp(self.log_beta[k])
            self.per[k] = 1.0 / (self.mass + self.size[k])
            self.share[k] = self.mass_of[k] * self.per[k]
        memset(self.mass_of + self.K, 0, (self.cap - self.K) * sizeof(double))
        memset(self.share + self.K, 0, (self.cap - self.K) * sizeof(double))
        self.sum_all()
        return lanes

    @cython.final
    cdef void sum_all(self) noexcept nogil:
        """Between documents: of_all afresh, without what rounding left."""
        cdef Py_ssize_t k
        self.of_all = 0.0
        for k in range(self.K):
            self.of_all += self.mass_of[k] * self.per[k]

    @cython.final
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

    @cython.final
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

    @cython.final
    cdef void close_topic(self, Py_ssize_t k) noexcept nogil:
        """Topic k has no token any more: its weight goes back."""
        self.of_all -= self.mass_of[k] * self.per[k]
        self.log_unseen = log_add(self.log_unseen, self.log_beta[k])
        self.unseen = self.alpha0 * exp(self.log_unseen)
        self.log_beta[k] = -INFINITY
        self.mass_of[k] = self.share[k] = 0.0
        self.emptied += 1

    # -- one document
    @cython.final
    cdef void begin_document(self, bint lanes) noexcept nogil:
        """Shares of the document whose tokens are counted in `here`, and in `topics` where lists are gone through."""
        cdef Py_ssize_t t, at
        cdef int32_t k
        if lanes:
            lanes_begin(self.mass_of, self.here, self.per, (self.K + 7) // 8, self.share)
            return
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

    @cython.final
    cdef void end_document(self, bint lanes) noexcept nogil:
        cdef Py_ssize_t t
        cdef int32_t k
        if lanes:
            memset(self.here, 0, self.K * sizeof(int32_t))
            return
        for t in range(self.n_topics):
            k = self.topics[t]
            self.here[k] = 0
            self.share[k] = self.mass_of[k] * self.per[k]

    @cython.final
    cdef inline int resample(self, Rng rng, Py_ssize_t i, bint lanes, bint relink) except -1 nogil:
        """Draw the topic of token i, of the document at hand; whether it changed. Nothing is written before it is known
        that the token leaves: what is read right after it was written has to wait."""
        cdef Py_ssize_t w = self.word[i], k
        cdef int32_t old = self.z[i], here = self.here[old] - 1
        cdef double was_per = self.per[old], per = 1.0 / (self.mass + (self.size[old] - 1))
        cdef double part = (self.mass_of[old] + here) * per
        cdef double of_document = self.of_document + (here * per - (here + 1) * was_per)
        cdef double of_all = self.of_all + self.mass_of[old] * (per - was_per)
        if lanes:
            k = self.draw_in_lanes(rng, i, old, part)
        else:
            k = self.draw_by_lists(rng, i, old, per, part, of_document, of_all)
        if k == old:
            return 0
        self.size[old] -= 1
        self.here[old] = here
        self.per[old], self.share[old] = per, part
        self.counts.lose(w, old)
        if not lanes:
            self.of_document, self.of_all = of_document, of_all
            if here == 0:
                self.leave_document(old)
        k = self.arrive(rng, w, k, lanes)
        if self.size[old] == 0:
            self.close_topic(old)
        if relink:
            self.z[i] = <int32_t> k
        else:
            self.unlink(i)
            self.link(i, k)
        return 1

    @cython.final
    cdef inline Py_ssize_t arrive(self, Rng rng, Py_ssize_t w, Py_ssize_t k, bint lanes) except -1 nogil:
        """A token of word w, of the document at hand, comes to topic k, a new one where that is K; returns which."""
        cdef double was_per, per
        if k == self.K:
            # it may take the number of one that was emptied
            k = self.open_topic(rng)
        self.counts.gain(w, k)
        if self.here[k] == 0 and not lanes:
            self.enter_document(<int32_t> k)
        self.size[k] += 1
        self.here[k] += 1
        was_per, per = self.per[k], 1.0 / (self.mass + self.size[k])
        self.per[k] = per
        self.share[k] = (self.mass_of[k] + self.here[k]) * per
        if not lanes:
            self.of_document += self.here[k] * per - (self.here[k] - 1) * was_per
            self.of_all += self.mass_of[k] * (per - was_per)
        return k

    @cython.final
    cdef inline Py_ssize_t draw_in_lanes(self, Rng rng, Py_ssize_t i, Py_ssize_t old, double part) noexcept nogil:
        """The topic that token i goes to, from topic `old`, whose share is `part` without it, or from none, -1."""
        cdef Py_ssize_t w = self.word[i], k, t, blocks = (self.K + 7) // 8
        cdef const int32_t *row = self.counts.rows + w * self.counts.stride
        cdef double own = part * (self.eta + (row[old] - 1)) if old >= 0 else 0.0, total, u
        cdef double[8] to
        if i + AHEAD < self.N:
            t = self.word[i + AHEAD] * self.counts.stride
            for k in range(0, self.K, 16):
                __builtin_prefetch(self.counts.rows + t + k)
        total = lanes_sums(self.share, row, blocks, self.eta, old, own, self.run, to)
        u = rng.next() * (total + self.unseen / self.V)
        return lanes_place(self.run, to, blocks, u) if u < total else self.K

    @cython.final
    cdef inline Py_ssize_t draw_by_lists(self, Rng rng, Py_ssize_t i, Py_ssize_t old, double per, double part,
                                         double of_document, double of_all) noexcept nogil:
        """``draw_in_lanes`` in parts; `per` and the sums are given without the token."""
        cdef Py_ssize_t w = self.word[i], n = self.counts.used[w]
        cdef const int32_t *of
        cdef double q, u
        if i + 1 < self.N:
            __builtin_prefetch(self.counts.pair + 2 * self.counts.first[self.word[i + 1]])
        of = self.counts.pair + 2 * self.counts.first[w]
        q = topics_list(self.share, of, n, old, part, self.total)
        u = rng.next() * (q + self.eta * (of_document + of_all) + self.unseen / self.V)
        if u < q:
            return of[2 * topics_place(self.total, n, u)]
        return self.of_other_buckets((u - q) / self.eta, old, per, of_document, of_all)

    @cython.final
    cdef Py_ssize_t of_other_buckets(self, double u, Py_ssize_t old, double per, double of_document,
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

    @cython.final
    cdef void leave_document(self, int32_t k) noexcept nogil:
        cdef Py_ssize_t t = 0
        while self.topics[t] != k:
            t += 1
        self.n_topics -= 1
        memmove(self.topics + t, self.topics + t + 1, (self.n_topics - t) * sizeof(int32_t))

    @cython.final
    cdef void enter_document(self, int32_t k) noexcept nogil:
        cdef Py_ssize_t t = self.n_topics
        while t and self.topics[t - 1] > k:
            self.topics[t] = self.topics[t - 1]
            t -= 1
        self.topics[t] = k
        self.n_topics += 1

    # -- equation 8, of documents that have no topics
    @cython.final
    cdef int place_documents(self, Rng rng, const int32_t *documents, Py_ssize_t n) except -1 nogil:
        """Put the tokens of these documents, which are not placed, into topics, one after the other, by equation 8
        given the weights and all tokens that are."""
        cdef Py_ssize_t t, i, j, k
        cdef bint lanes = False
        self.listed = False
        for t in range(n):
            # now and then, since counts grow: whether all topics are weighed
            if t & (t - 1) == 0:
                lanes = self.begin_sweep(self.N)
            j = documents[t]
            if not lanes:
                self.sum_all()
                self.n_topics = 0
            self.begin_document(lanes)
            for i in range(self.start[j], self.start[j + 1]):
                if lanes:
                    k = self.draw_in_lanes(rng, i, -1, 0.0)
                else:
                    k = self.draw_by_lists(rng, i, -1, 0.0, 0.0, self.of_document, self.of_all)
                self.z[i] = <int32_t> self.arrive(rng, self.word[i], k, lanes)
            self.end_document(lanes)
        memset(self.is_valid, 0, self.K)
        self.version += 1
        return 0

    # -- starts
    def start_sequentially(self, Rng rng not None, K0=None, settled=SETTLED):
        """Put the documents into topics, one after the other: a start for large corpora. Up to `settled` tokens: `K0`
        topics at random, then 150 collapsed scans, a refresh after each. Of a larger corpus a uniform sample of a
        quarter of the documents starts like this, alone; the tokens of the others follow, in a uniform order of the
        documents, each by equation 8 given the weights and all tokens placed before it; then scans, a third of those
        that the sample ended with. `K0`: default 100, or the tokens if they are less; a ValueError for more topics than
        tokens."""
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
        """Start a quarter of the documents alone, and place the others; returns the scans that the quarter ended
        with."""
        word, start = self.shared[0].word, self.shared[0].start
        order, lengths = draw_permutation(rng, self.J), np.diff(start)
        # one with tokens at least, and one is left
        n = min(int(np.searchsorted(np.cumsum(lengths[order]), max(1, self.N // 4))) + 1, self.J - 1)
        chosen = np.sort(order[:n])
        inside = np.append(0, np.cumsum(lengths[chosen]))
        before, total = inside[:len(chosen)], inside[len(chosen)]
        tokens = np.arange(total) + np.repeat(start[chosen] - before, lengths[chosen])
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

    def prior_labels(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int. The weights are broken from the
        stick as topics are met; a token takes the topic of an earlier one of its document, or one by weight."""
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
