# Tokens n_kw of every word in every topic.
cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memmove


@cython.final
cdef class WordCounts:
    cdef Py_ssize_t V                   # words of the vocabulary
    cdef const int32_t *tokens_of       # [V] of the word: it stands in so many topics at most
    cdef int64_t spread                 # sum over words of their tokens times the topics that hold them
    # -- lists: pairs (topic, count) of the topics that hold the word
    cdef int64_t *first                 # [V] its first pair
    cdef int32_t *used                  # [V] pairs in use, topics ascending
    cdef int32_t *room                  # [V] pairs that have room
    cdef int32_t *pair                  # [pairs, 2]; NULL while there are rows
    cdef int64_t pairs
    cdef int64_t pairs_end              # behind the last that has been given away
    # -- rows: the counts of all topics
    cdef int32_t *rows                  # [V, stride]; NULL while there are lists
    cdef Py_ssize_t stride              # a multiple of 8

    cdef int prepare(self, Py_ssize_t V, const int32_t *tokens_of) except -1
    cdef int make_room(self) except -1 nogil
    cdef int to_lists(self, Py_ssize_t K) except -1 nogil
    cdef int to_rows(self, Py_ssize_t K) except -1 nogil
    cdef void clear(self) noexcept nogil
    cdef void count_spread(self) noexcept nogil
    cdef void renumber_rows(self, const int32_t *number, Py_ssize_t K) noexcept nogil
    cdef void renumber(self, const int32_t *number, Py_ssize_t K) noexcept nogil
    cdef Py_ssize_t pairs_of(self, Py_ssize_t w, Py_ssize_t K, int32_t *out) noexcept nogil
    cdef void widen_list(self, Py_ssize_t w) noexcept nogil
    cdef void widen_rows(self, Py_ssize_t K) noexcept nogil

    cdef inline Py_ssize_t place(self, const int32_t *of, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
        """Where topic k stands, or would stand, among n pairs."""
        cdef Py_ssize_t e = 0, low
        if n > 16:
            low = 0
            while n - low > 8:
                e = (low + n) >> 1
                if of[2 * e] < k:
                    low = e + 1
                else:
                    n = e
            e = low
        while e < n and of[2 * e] < k:
            e += 1
        return e

    cdef inline int32_t count(self, Py_ssize_t w, Py_ssize_t k) noexcept nogil:
        """n_kw."""
        cdef const int32_t *of
        cdef Py_ssize_t e
        if self.rows != NULL:
            return self.rows[w * self.stride + k]
        of = self.pair + 2 * self.first[w]
        e = self.place(of, self.used[w], k)
        return of[2 * e + 1] if e < self.used[w] and of[2 * e] == k else 0

    cdef inline void gain(self, Py_ssize_t w, Py_ssize_t k) noexcept nogil:
        """One more token of word w in topic k."""
        cdef int32_t *of
        cdef Py_ssize_t e, n
        if self.rows != NULL:
            if k >= self.stride:
                self.widen_rows(k + 1)
            of = self.rows + w * self.stride + k
            self.spread += self.tokens_of[w] * <int64_t> (of[0] == 0)
            of[0] += 1
            return
        n = self.used[w]
        of = self.pair + 2 * self.first[w]
        e = self.place(of, n, k)
        if e < n and of[2 * e] == k:
            of[2 * e + 1] += 1
            return
        self.spread += self.tokens_of[w]
        if n == self.room[w]:
            self.widen_list(w)
            of = self.pair + 2 * self.first[w]
        memmove(of + 2 * e + 2, of + 2 * e, (n - e) * 8)
        of[2 * e] = <int32_t> k
        of[2 * e + 1] = 1
        self.used[w] += 1

    cdef inline void lose(self, Py_ssize_t w, Py_ssize_t k) noexcept nogil:
        """One token of word w less in topic k."""
        cdef int32_t *of
        cdef Py_ssize_t e, n
        if self.rows != NULL:
            of = self.rows + w * self.stride + k
            of[0] -= 1
            self.spread -= self.tokens_of[w] * <int64_t> (of[0] == 0)
            return
        n = self.used[w]
        of = self.pair + 2 * self.first[w]
        e = self.place(of, n, k)
        of[2 * e + 1] -= 1
        if of[2 * e + 1] == 0:
            self.spread -= self.tokens_of[w]
            memmove(of + 2 * e, of + 2 * e + 2, (n - e - 1) * 8)
            self.used[w] -= 1
