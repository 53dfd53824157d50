"""Gibbs scans of the tokens of documents (equation 8 of Rana et al. 2013), and the placing of documents without topics.

A token goes to topic k with probability proportional to (alpha0 beta_k + n_jk)(eta + n_kw)/(V eta + n_k), to a new one
with alpha0 beta_u/V. There are two exact ways. By *lists* the sum is taken in parts: topics that hold the word, those
in the document, all of them. In *lanes* all topics are weighed, eight at a time, which takes less where words are held
by many of them. A topic that loses its last token gives its weight back at once and keeps its number until the end of
the scan, unless a new topic takes it.
"""
cimport cython
from libc.math cimport INFINITY, exp, expm1, log, log1p
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memmove, memset

from splitmerge_cli.core.log_scale cimport log_add
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.models.hdp_state cimport HDPState

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

cdef enum:
    # when a scan weighs all topics of every token (measured: docs/speed.md)
    LANES_PER_PAIR = 6                  # topics to weigh in the time that one of a list takes
    LANES_ROOM = 6                      # cells of the table for each token of the scan, at most
    AHEAD = 4                           # tokens, whose rows are fetched before they are read

# the least u of a stick log(1 - b) = log(u)/gamma, so that b > 0
cdef double TINY = 2.0 ** -54


cdef class HDPScan(HDPState):
    """The state, and its scans."""

    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef Py_ssize_t old = self.cap
        self.mass_of = <double *> self.memory.larger(self.mass_of, old * 8, cap * 8)
        self.per = <double *> self.memory.larger(self.per, old * 8, cap * 8)
        self.share = <double *> self.memory.larger(self.share, old * 8, cap * 8)
        self.run = <double *> self.memory.larger(self.run, 0, cap * 8)
        return HDPState.grow(self, cap)

    cdef bint lanes_pay(self, Py_ssize_t n) noexcept nogil:
        """Whether a scan of n tokens weighs all topics of each, since words are held by many of them. By the state
        alone, not by what the counts stand in: a chain that goes on from a file does the same."""
        return self.K * self.N <= LANES_PER_PAIR * self.counts.spread and self.V * self.K <= LANES_ROOM * n

    cdef Py_ssize_t own_scan(self, Rng rng, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
        cdef Py_ssize_t i = first, end = first + n, until, j, changed = 0
        # whether lists are made anew when they are asked for, in the place of one change after the other
        cdef bint relink = 4 * n > self.N or not self.listed
        cdef bint lanes = self.lanes_pay(n)
        cdef int64_t since = 0
        if rng.scripted:
            rng.continuous = True
            return 0
        if lanes:
            self.counts.to_rows(self.K)
        else:
            self.counts.to_lists(self.K)
        self.begin_sweep()
        j = self.document(i)
        while i < end and not rng.is_halted:
            while self.start[j + 1] <= i:
                j += 1
            until = min(end, <Py_ssize_t> self.start[j + 1])
            if lanes:
                changed += self.scan_in_lanes(rng, j, i, until, relink)
            else:
                if since >= self.K:
                    self.sum_all()
                    since = 0
                since += until - i
                changed += self.scan_by_lists(rng, j, i, until, relink)
            i = until
        self.end_sweep(relink)
        return changed

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

    # ------------------------------------------------------------------------------------------------- by lists

    cdef int scan_by_lists(self, Rng rng, Py_ssize_t j, Py_ssize_t first, Py_ssize_t end, bint relink) except -1 nogil:
        """Tokens first, ..., end - 1, of document j; returns how many changed their topic."""
        cdef Py_ssize_t i, changed = 0
        self.enter(j)
        self.begin_document()
        for i in range(first, end):
            changed += self.resample(rng, i, relink)
        self.end_document()
        return changed

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

    # ------------------------------------------------------------------------------------------------- in lanes

    cdef int scan_in_lanes(self, Rng rng, Py_ssize_t j, Py_ssize_t first, Py_ssize_t end, bint relink) except -1 nogil:
        """``scan_by_lists`` where all topics are weighed."""
        cdef Py_ssize_t t, changed = 0
        for t in range(self.start[j], self.start[j + 1]):
            self.here[self.z[t]] += 1
        lanes_begin(self.mass_of, self.here, self.per, (self.K + 7) // 8, self.share)
        for t in range(first, end):
            changed += self.resample_lanes(rng, t, relink)
        memset(self.here, 0, self.K * sizeof(int32_t))
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
