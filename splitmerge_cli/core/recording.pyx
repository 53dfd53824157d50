"""The draws of a chain in one step, recorded for a chain that is coupled with it.

The leading chain makes its step and records each draw: the options' weights and the one taken. The other then makes its
own step, and couples draws of its own with those recorded (``Rng``). Both are still draws of their own chain, because

(a) a recorded draw is used once at the most, and never after a later one: given all that the following chain has used,
    it still has its law;
(b) whether it is used is known before it is drawn. Of the draw that comes next, only its kind is looked at. A decision
    is looked for past others, which are then never used. In a block, which items it has is announced before.
"""
cimport cython
from libc.stdint cimport int32_t
from libc.stdlib cimport abort, free, realloc
from libc.string cimport memcpy

from splitmerge_cli.core.memory cimport doubles, ints


cdef void *grown(void *old, Py_ssize_t *room, Py_ssize_t needed, size_t size) noexcept nogil:
    if needed > room[0]:
        room[0] = 2 * needed + 64
        old = realloc(old, room[0] * size)
        if old == NULL:
            abort()
    return old


@cython.final
cdef class Recording:
    """Draws of one step.

    Parameters
    ----------
    N : int
        Items, or clusters where there may be more of these.

    Notes
    -----
    Memory: 28 bytes an item, and 12 bytes for each option of each draw of a step.
    """

    def __init__(self, Py_ssize_t N):
        cdef Py_ssize_t i
        self.N = N
        self.where = ints(N)
        self.list = ints(N)
        self.by_name = doubles(2 * N)
        for i in range(N):
            self.where[i] = -1

    def __dealloc__(self):
        free(self.draws)
        free(self.weights)
        free(self.names)
        free(self.where)
        free(self.list)
        free(self.by_name)

    cdef void clear(self) noexcept nogil:
        """Forget all draws."""
        self.n = self.at = self.weights_used = self.names_used = self.block_end = 0

    cdef draw_t *add(self, int kind, Py_ssize_t key, const double *w, Py_ssize_t m, double total,
                     const int32_t *names, Py_ssize_t taken) noexcept nogil:
        cdef draw_t *r
        self.draws = <draw_t *> grown(self.draws, &self.room, self.n + 1, sizeof(draw_t))
        r = self.draws + self.n
        self.n += 1
        r.kind, r.key, r.m, r.taken, r.total = kind, <int32_t> key, <int32_t> m, <int32_t> taken, total
        r.weights = r.names = -1
        if w != NULL:
            self.weights = <double *> grown(self.weights, &self.weights_room, self.weights_used + m, sizeof(double))
            r.weights = self.weights_used
            memcpy(self.weights + r.weights, w, m * sizeof(double))
            self.weights_used += m
        if names != NULL:
            self.names = <int32_t *> grown(self.names, &self.names_room, self.names_used + m, sizeof(int32_t))
            r.names = self.names_used
            memcpy(self.names + r.names, names, m * sizeof(int32_t))
            self.names_used += m
        return r

    cdef draw_t *find(self, int kind, Py_ssize_t key, Py_ssize_t m) noexcept nogil:
        """The recorded draw that one of this kind is coupled with; NULL: none."""
        cdef draw_t *r
        cdef Py_ssize_t t
        if kind == OF_ITEM:
            t = self.where[key] if self.block_end else -1
            if t < self.at:
                return NULL
            self.at = t + 1
            return self.draws + t
        if kind == DECISION:
            while self.at < self.n:
                self.at += 1
                if self.draws[self.at - 1].kind == DECISION:
                    return self.draws + self.at - 1
            return NULL
        if self.at == self.n:
            return NULL
        r = self.draws + self.at
        if r.kind != kind or r.key != key or (kind == PLAIN and r.m != m):
            return NULL
        self.at += 1
        return r

    cdef void open_block(self, int kind, const int32_t *items, Py_ssize_t n, Py_ssize_t skip) noexcept nogil:
        """Announce a draw for each of these items but `skip`, in this order."""
        cdef Py_ssize_t t, m = 0
        for t in range(n):
            if items[t] != skip:
                self.list[m] = items[t]
                m += 1
        self.add(BLOCK, kind, NULL, m, 0.0, self.list, -1)

    cdef void follow_block(self, int kind) noexcept nogil:
        """Couple the draws for items with those of the block that comes next, if it is of this kind."""
        cdef draw_t *r = self.find(BLOCK, kind, 0)
        cdef Py_ssize_t t
        self.block_end = 0
        if r == NULL:
            return
        for t in range(r.m):
            self.where[self.names[r.names + t]] = <int32_t> (self.at + t)
        self.block_end = self.at + r.m

    cdef void close_block(self) noexcept nogil:
        cdef draw_t *r
        cdef Py_ssize_t t
        if not self.block_end:
            return
        t = self.block_end
        self.at = t
        while t > 0 and self.draws[t - 1].kind == OF_ITEM:
            t -= 1
        r = self.draws + t - 1
        for t in range(r.m):
            self.where[self.names[r.names + t]] = -1
        self.block_end = 0

    cdef Py_ssize_t common_order(self, const draw_t *r, const int32_t *items, Py_ssize_t n) noexcept nogil:
        """Those of these items that a recorded order has, in its order, in `list`, and then the others; returns how
        many are common."""
        cdef Py_ssize_t t, common = 0, other
        cdef int32_t i
        for t in range(n):
            self.where[items[t]] = 0
        for t in range(r.m):
            i = self.names[r.names + t]
            if self.where[i] == 0:
                self.list[common] = i
                self.where[i] = 1
                common += 1
        other = common
        for t in range(n):
            i = items[t]
            if self.where[i] == 0:
                self.list[other] = i
                other += 1
            self.where[i] = -1
        return common

    cdef void swaps_of(self, const int32_t *items, Py_ssize_t n, int32_t *order) noexcept nogil:
        """The swaps (``Sides.put_in_order``) that bring these items into the order of `list`, which is lost."""
        cdef Py_ssize_t t, s
        cdef int32_t i
        # place of each item; the item at each place stands in `order` until its swap is known
        for t in range(n):
            self.where[items[t]] = <int32_t> t
            order[t] = items[t]
        for t in range(n - 1, 0, -1):
            i = self.list[t]
            s = self.where[i]
            # items[t] takes the place of i
            self.where[order[t]] = <int32_t> s
            order[s] = order[t]
            self.where[i] = -1
            order[t] = <int32_t> s
        if n:
            self.where[self.list[0]] = -1
