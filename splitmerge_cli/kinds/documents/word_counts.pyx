"""Tokens n_kw of every word in every topic: lists of the topics that hold a word, or rows with the counts of all.

Lists take 11 bytes or so for each pair of a word and a topic that holds it, whatever K; rows 4 V K bytes. What stands
in them is the same, so nothing but the collapsed scan of ``hdp`` asks which they are.
"""
cimport cython
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from splitmerge_cli.core.memory cimport allocate_or_abort, doubles, ints


@cython.final
cdef class WordCounts:
    """Counts n_kw of a corpus, without any token at first."""

    def __dealloc__(self):
        free(self.used)
        free(self.room)
        free(self.first)
        free(self.pair)
        free(self.rows)

    cdef int prepare(self, Py_ssize_t V, const int32_t *tokens_of) except -1:
        """Lists without any pair."""
        self.V, self.tokens_of = V, tokens_of
        self.used, self.room, self.first = ints(V), ints(V), <int64_t *> doubles(V)
        return self.make_room()

    # -- lists
    cdef int make_room(self) except -1 nogil:
        """Lists with room for the pairs in use and a quarter more; what they hold is lost."""
        cdef Py_ssize_t w
        cdef int64_t total = 0
        for w in range(self.V):
            self.room[w] = min(self.tokens_of[w], self.used[w] + self.used[w] // 4 + 2)
            self.first[w] = total
            total += self.room[w]
        self.pairs_end = total
        total += total // 8
        free(self.rows)
        self.rows = NULL
        if self.pair == NULL or total > self.pairs or 2 * total < self.pairs:
            free(self.pair)
            self.pair = <int32_t *> malloc(8 * total + 8)
            self.pairs = total
            if self.pair == NULL:
                self.pairs = 0
                with gil:
                    raise MemoryError(f"{8 * total} bytes could not be allocated")
        return 0

    cdef void widen_list(self, Py_ssize_t w) noexcept nogil:
        """More room for the pairs of word w, behind all others; without room there all lists move."""
        cdef int32_t *old = self.pair
        cdef int64_t end = 0, begin
        cdef Py_ssize_t v
        cdef int32_t room = min(self.tokens_of[w], self.used[w] + self.used[w] // 2 + 2)
        if self.pairs_end + room > self.pairs:
            for v in range(self.V):
                end += min(self.tokens_of[v], self.used[v] + self.used[v] // 4 + 2)
            self.pairs = end + end // 8 + room
            self.pair = <int32_t *> allocate_or_abort(8 * self.pairs)
            end = 0
            for v in range(self.V):
                begin, self.first[v] = self.first[v], end
                memcpy(self.pair + 2 * end, old + 2 * begin, 8 * self.used[v])
                self.room[v] = min(self.tokens_of[v], self.used[v] + self.used[v] // 4 + 2)
                end += self.room[v]
            self.pairs_end = end
            free(old)
            if self.room[w] > self.used[w]:
                return
        memcpy(self.pair + 2 * self.pairs_end, self.pair + 2 * self.first[w], 8 * self.used[w])
        self.first[w], self.room[w] = self.pairs_end, room
        self.pairs_end += room

    cdef int to_lists(self, Py_ssize_t K) except -1 nogil:
        """Lists in the place of rows, K topics."""
        cdef Py_ssize_t w, k, e
        cdef int32_t *rows = self.rows
        cdef const int32_t *row
        cdef int32_t *of
        if rows == NULL:
            return 0
        for w in range(self.V):
            row = rows + w * self.stride
            e = 0
            for k in range(K):
                e += row[k] > 0
            self.used[w] = <int32_t> e
        # `make_room` would free them
        self.rows = NULL
        with gil:
            try:
                self.make_room()
            except MemoryError:
                self.rows = rows
                raise
        for w in range(self.V):
            row, of = rows + w * self.stride, self.pair + 2 * self.first[w]
            e = 0
            for k in range(K):
                if row[k]:
                    of[2 * e], of[2 * e + 1] = <int32_t> k, row[k]
                    e += 1
        free(rows)
        return 0

    # -- rows
    cdef int to_rows(self, Py_ssize_t K) except -1 nogil:
        """Rows in the place of lists, with columns for K topics."""
        cdef Py_ssize_t w, e
        cdef int32_t *row
        cdef const int32_t *of
        if self.rows != NULL:
            if K > self.stride:
                self.widen_rows(K)
            return 0
        self.stride = (K + 7) // 8 * 8
        with gil:
            self.rows = ints(self.V * self.stride)
        for w in range(self.V):
            row, of = self.rows + w * self.stride, self.pair + 2 * self.first[w]
            for e in range(self.used[w]):
                row[of[2 * e]] = of[2 * e + 1]
        free(self.pair)
        self.pair = NULL
        self.pairs = 0
        return 0

    cdef void widen_rows(self, Py_ssize_t K) noexcept nogil:
        """Columns for K topics and a quarter more."""
        cdef Py_ssize_t stride = (K + K // 4 + 7) // 8 * 8, w
        cdef int32_t *rows = <int32_t *> allocate_or_abort(4 * self.V * stride)
        for w in range(self.V):
            memcpy(rows + w * stride, self.rows + w * self.stride, 4 * self.stride)
            memset(rows + w * stride + self.stride, 0, 4 * (stride - self.stride))
        free(self.rows)
        self.rows, self.stride = rows, stride

    # -- both
    cdef void clear(self) noexcept nogil:
        """No token any more."""
        self.spread = 0
        memset(self.used, 0, self.V * sizeof(int32_t))
        if self.rows != NULL:
            memset(self.rows, 0, self.V * self.stride * sizeof(int32_t))

    cdef void count_spread(self) noexcept nogil:
        """After lists were written from outside."""
        cdef Py_ssize_t w
        self.spread = 0
        for w in range(self.V):
            self.spread += self.tokens_of[w] * <int64_t> self.used[w]

    cdef Py_ssize_t pairs_of(self, Py_ssize_t w, Py_ssize_t K, int32_t *out) noexcept nogil:
        """The pairs (topic, count) of a word, topics ascending, into out; returns their number, at most K."""
        cdef Py_ssize_t k, n = 0
        cdef const int32_t *row
        if self.rows == NULL:
            memcpy(out, self.pair + 2 * self.first[w], 8 * self.used[w])
            return self.used[w]
        row = self.rows + w * self.stride
        for k in range(K):
            out[2 * n], out[2 * n + 1] = <int32_t> k, row[k]
            n += row[k] > 0
        return n

    cdef void renumber(self, const int32_t *number, Py_ssize_t K) noexcept nogil:
        """Renumber topics: k < K becomes number[k]; topics without a number have no tokens."""
        cdef Py_ssize_t w, e, at
        cdef int32_t *of
        cdef int32_t k, n
        if self.rows != NULL:
            self.renumber_rows(number, K)
            return
        for w in range(self.V):
            of = self.pair + 2 * self.first[w]
            for e in range(self.used[w]):
                k, n = number[of[2 * e]], of[2 * e + 1]
                at = e
                while at and of[2 * at - 2] > k:
                    of[2 * at], of[2 * at + 1] = of[2 * at - 2], of[2 * at - 1]
                    at -= 1
                of[2 * at], of[2 * at + 1] = k, n

    cdef void renumber_rows(self, const int32_t *number, Py_ssize_t K) noexcept nogil:
        """A topic goes to the column of one that has no tokens: so the numbers are taken in any order."""
        cdef Py_ssize_t w, k
        cdef int32_t *row
        for k in range(K):
            if number[k] == k:
                continue
            for w in range(self.V):
                row = self.rows + w * self.stride
                if row[k]:
                    row[number[k]] = row[k]
                    row[k] = 0
