"""The draws of a chain in one step, recorded for a chain that is coupled with it.

The leading chain makes its step and records each draw: the options' weights and the one taken. The other then makes its
own step, and couples draws of its own with those recorded (``Rng``). Both are still draws of their own chain, because

(a) a recorded draw is used once at the most, and never after a later one: given all that the following chain has used,
    it still has its distribution;
(b) whether it is used is known before it is drawn. Of the draw that comes next, only its kind is looked at. A decision
    is looked for past others, which are then never used. In a block, which items or clusters it has is announced
    before.
"""
cimport cython
from libc.stdlib cimport abort, free, qsort, realloc
from libc.string cimport memcpy, memset


COUPLINGS = ("maximal", "common", "transport")
"""Names of the ways to couple draws of a cluster."""
cdef enum:
    MOST_NAMES = 1024                   # most clusters whose draws are coupled by transport; beyond, maximally


# of the numbers of options: behind all names; powers of two above them
cdef int32_t LAST = 2147483647
cdef int64_t SIDE = 1 << 20, SQUARE = 1 << 40
# a probability that is the rounding of larger ones
cdef double ROUNDING = 1e-14


cdef int by_key(const void *a, const void *b) noexcept nogil:
    cdef int64_t p = (<const int64_t *> a)[0], q = (<const int64_t *> b)[0]
    return (p > q) - (p < q)


cdef void *enlarge(void *old, Py_ssize_t *room, Py_ssize_t needed, size_t size) noexcept nogil:
    if needed > room[0]:
        room[0] = 2 * needed + 64
        old = realloc(old, room[0] * size)
        if old == NULL:
            abort()
    return old


@cython.final
cdef class Recording:
    """Draws of one step. `N`: items, or clusters where there may be more of these; `how`: draws of a cluster are
    coupled, one of `COUPLINGS`. Memory: 48 bytes an item, and 12 bytes for each option of each draw of a step."""

    def __init__(self, Py_ssize_t N, str how="maximal"):
        cdef Py_ssize_t i
        if how not in COUPLINGS:
            raise ValueError(f"coupling: expected {', '.join(COUPLINGS)}, got {how!r}")
        self.N, self.how, self.memory = N, COUPLINGS.index(how), Memory()
        self.where, self.list, self.turn = self.memory.ints(N), self.memory.ints(N), self.memory.ints(N)
        self.by_name = self.memory.doubles(2 * N + AUXILIARIES)
        self.size_x, self.size_y = self.memory.ints(N), self.memory.ints(N)
        self.name_x, self.name_y = self.memory.ints(N), self.memory.ints(N)
        for i in range(N):
            self.where[i] = -1

    def __dealloc__(self):
        free(self.draws)
        free(self.weights)
        free(self.names)
        free(self.keys)
        free(self.common_items)
        free(self.left)

    cdef void clear(self) noexcept nogil:
        """Forget all draws."""
        self.n = self.at = self.weights_used = self.names_used = self.block_end = 0
        self.in_clusters = self.apart = False

    cdef draw_t *add(self, int kind, Py_ssize_t key, const double *w, Py_ssize_t m, double total,
                     const int32_t *names, Py_ssize_t taken) noexcept nogil:
        cdef draw_t *r
        self.draws = <draw_t *> enlarge(self.draws, &self.room, self.n + 1, sizeof(draw_t))
        r = self.draws + self.n
        self.n += 1
        r.kind, r.key, r.m, r.taken, r.total = kind, <int32_t> key, <int32_t> m, <int32_t> taken, total
        r.weights = r.names = -1
        if w != NULL:
            self.weights = <double *> enlarge(self.weights, &self.weights_room, self.weights_used + m, sizeof(double))
            r.weights = self.weights_used
            if m:
                # of no options there may be no memory yet
                memcpy(self.weights + r.weights, w, m * sizeof(double))
            self.weights_used += m
        if names != NULL:
            self.names = <int32_t *> enlarge(self.names, &self.names_room, self.names_used + m, sizeof(int32_t))
            r.names = self.names_used
            if m:
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
            while self.at < self.n and not self.apart and self.draws[self.at].kind != MARK:
                self.at += 1
                if self.draws[self.at - 1].kind == DECISION:
                    return self.draws + self.at - 1
            return NULL
        if self.at == self.n or self.apart:
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
        """Couple the draws for items with the draws of the next block, if it is of this kind."""
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
        """Put the items that a recorded order has, in its order, in `list`, and then the others; returns how
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

    # -- a block of clusters: draws for each of them, which do not depend on those for the others
    cdef void order_clusters(self, const int32_t *names, Py_ssize_t K) noexcept nogil:
        """Set `turn`."""
        cdef Py_ssize_t t
        self.keys = <int64_t *> enlarge(self.keys, &self.keys_room, K, sizeof(int64_t))
        self.sort_options(self.keys, names, K)
        for t in range(K):
            self.turn[t] = <int32_t> self.keys[t]

    cdef void follow_cluster(self, int32_t name) noexcept nogil:
        """Go to the draws for the cluster of this name; none are coupled where the other chain has none of it."""
        cdef Py_ssize_t t
        self.apart = True
        if not self.in_clusters or name < 0:
            return
        for t in range(self.at, self.n):
            if self.draws[t].kind != MARK:
                continue
            if self.draws[t].key == name:
                self.at, self.apart = t + 1, False
            if not 0 <= self.draws[t].key < name:
                return

    cdef void leave_clusters(self) noexcept nogil:
        self.apart = False
        if not self.in_clusters:
            return
        self.in_clusters = False
        while self.draws[self.at].kind != MARK or self.draws[self.at].key != BLOCK_END:
            self.at += 1
        self.at += 1

    # -- joint distributions of two draws of a cluster, but for the maximal one (``Rng.coupled_choice``)
    cdef void sort_options(self, int64_t *keys, const int32_t *names, Py_ssize_t m) noexcept nogil:
        """Numbers of m options in the order of their names, those without behind, in the low halves of keys[:m]."""
        cdef Py_ssize_t k
        for k in range(m):
            keys[k] = ((<int64_t> (names[k] if names[k] >= 0 else LAST)) << 32) | k
        qsort(keys, m, sizeof(int64_t), by_key)

    cdef double joint(self, const draw_t *r, const double *w, Py_ssize_t m, double total, const int32_t *names,
                      double *part) noexcept nogil:
        """part[:m]: probability of each option here together with the recorded one; returns their sum. What is rounding
        of other probabilities is left out, so that equal chains do not part."""
        cdef Py_ssize_t k, most = 0
        cdef double of_all = 0.0
        if self.how == COMMON:
            self.common_uniforms(r, w, m, total, names, part)
        else:
            self.transport(r, w, m, total, names, part)
        for k in range(m):
            if part[k] > part[most]:
                most = k
            of_all += part[k] if part[k] > ROUNDING else 0.0
        if not of_all > 0.0:
            of_all = part[most] = 1.0
        for k in range(m):
            if not part[k] > ROUNDING:
                part[k] = 0.0
        return of_all

    cdef void common_uniforms(self, const draw_t *r, const double *w, Py_ssize_t m, double total, const int32_t *names,
                              double *part) noexcept nogil:
        """Where [0, 1) is cut into intervals, one an option, in the order of names: what the interval of each option
        has in common with the recorded one's."""
        cdef Py_ssize_t t, k
        cdef double low = 0.0, high, at = 0.0, p
        self.keys = <int64_t *> enlarge(self.keys, &self.keys_room, r.m if r.m > m else m, sizeof(int64_t))
        self.sort_options(self.keys, self.names + r.names, r.m)
        for t in range(r.m):
            k = <int32_t> self.keys[t]
            if k == r.taken:
                break
            low += self.probability(r, k)
        high = low + self.probability(r, r.taken)
        self.sort_options(self.keys, names, m)
        for t in range(m):
            k = <int32_t> self.keys[t]
            p = (w[k] if w != NULL else 1.0) / total
            part[k] = (at + p if at + p < high else high) - (at if at > low else low)
            at += p

    cdef void transport(self, const draw_t *r, const double *w, Py_ssize_t m, double total, const int32_t *names,
                        double *part) noexcept nogil:
        """A plan in order of cost: pairs of options, the cheapest first, get as much as is left of both."""
        cdef Py_ssize_t t, n = 0, a, b
        cdef const int32_t *theirs = self.names + r.names
        cdef double *left
        cdef double flow
        self.left = <double *> enlarge(self.left, &self.left_room, r.m + m, sizeof(double))
        self.keys = <int64_t *> enlarge(self.keys, &self.keys_room, <Py_ssize_t> r.m * m, sizeof(int64_t))
        left = self.left
        for a in range(r.m):
            left[a] = self.probability(r, a)
        for b in range(m):
            left[r.m + b] = (w[b] if w != NULL else 1.0) / total
            part[b] = 0.0
        for a in range(r.m):
            for b in range(m):
                if left[a] > 0.0 and left[r.m + b] > 0.0:
                    self.keys[n] = self.cost(r.key, theirs[a], names[b]) * SQUARE + a * SIDE + b
                    n += 1
        qsort(self.keys, n, sizeof(int64_t), by_key)
        for t in range(n):
            a = (self.keys[t] % SQUARE) // SIDE
            b = self.keys[t] % SIDE
            flow = left[a] if left[a] < left[r.m + b] else left[r.m + b]
            left[a] -= flow
            left[r.m + b] -= flow
            if a == r.taken:
                part[b] += flow

    cdef int64_t cost(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Items that are with item i in one chain alone, if it goes to the clusters of these names; without an item,
        those in one of the clusters alone. Clusters that are new are empty."""
        cdef bint in_a = False, in_b = False
        cdef int64_t apart = 0
        if 0 <= a < self.n_names:
            in_a = i >= 0 and self.name_x[i] == a
            apart += self.size_x[a] - in_a
        if 0 <= b < self.n_names:
            in_b = i >= 0 and self.name_y[i] == b
            apart += self.size_y[b] - in_b
        if 0 <= a < self.n_names and 0 <= b < self.n_names:
            apart -= 2 * (self.common_items[a * self.n_names + b] - (in_a and in_b))
        return apart

    cdef void tabulate(self, const cell_t *cells, Py_ssize_t n, const int32_t *names_x, const int32_t *sizes_x,
                       const int32_t *z_x, Py_ssize_t K_x, const int32_t *names_y, const int32_t *sizes_y,
                       const int32_t *z_y, Py_ssize_t K_y, Py_ssize_t N) noexcept nogil:
        """Take over what `cost` needs: n pairs of clusters that have items in common, and of both chains the names and
        sizes of the clusters and the clusters of the items."""
        cdef Py_ssize_t t, k, names = K_x if K_x > K_y else K_y
        self.tabled = self.how == COMMON or self.how == TRANSPORT and names <= MOST_NAMES
        if self.how != TRANSPORT or not self.tabled:
            return
        self.n_names = names
        self.common_items = <int32_t *> enlarge(self.common_items, &self.common_room, names * names, sizeof(int32_t))
        memset(self.common_items, 0, names * names * sizeof(int32_t))
        memset(self.size_x, 0, names * sizeof(int32_t))
        memset(self.size_y, 0, names * sizeof(int32_t))
        for k in range(K_x):
            self.size_x[names_x[k]] = sizes_x[k]
        for k in range(K_y):
            self.size_y[names_y[k]] = sizes_y[k]
        for t in range(n):
            k = cells[t].key // K_y
            self.common_items[names_x[k] * names + names_y[cells[t].key - k * K_y]] = <int32_t> cells[t].items
        for t in range(N):
            self.name_x[t] = names_x[z_x[t]]
            self.name_y[t] = names_y[z_y[t]]
