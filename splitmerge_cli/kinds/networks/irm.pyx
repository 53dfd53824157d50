"""Infinite relational model of an undirected simple graph, edge probabilities integrated out (Herlau et al. 2014).

    p(A | z) = prod_{k <= l} B(N+_kl + beta1, N-_kl + beta0) / B(beta1, beta0)            (section 3.2)

N+_kl and N-_kl count the edges and the missing edges between blocks k and l, each pair of nodes once. The product runs
over k <= l; the printed k < l leaves out the pairs within a block.

The likelihood of a block depends on the others: the model is *coupled*. For a block alone it counts the pairs within
it. Scratch columns are staged in the place of live ones: what is counted in them has edges to the other live blocks and
to the staged columns, and no other.

Log likelihoods are exact sums of multiples of their unit (``block_sums.h``), so that labels are the whole state.
"""
from libc.math cimport INFINITY, exp, frexp, log
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from pkgutil import resolve_name

import numpy as np
import scipy.sparse

from splitmerge_cli.kinds.networks.data import network_of
from splitmerge_cli.core.capabilities cimport Coupled
from splitmerge_cli.core.memory cimport doubles, ints_of, longs_of
from splitmerge_cli.core.model cimport Model

from splitmerge_cli.core.options import read_options
from splitmerge_cli.core.shared import as_array, share
from splitmerge_cli.kinds.networks.layout import OPTIONS, PLAIN, Sizes, rises
from splitmerge_cli.kinds.networks.simulated import simulate_network

cdef extern from "<math.h>" nogil:
    long double lgammal(long double x)

cdef extern from "block_sums.h":
    enum:
        FAR_BITS
    ctypedef struct far_t:
        int64_t m
    ctypedef struct rise_t:
        far_t *far
        const int64_t *at
        int64_t length
        long double base
        long double b
        long double per
    ctypedef struct tables_t:
        rise_t edge
        rise_t gap
        rise_t pair
        int wide
    int64_t block_lik(const tables_t *t, int64_t e, int64_t m) noexcept nogil
    int64_t gained(const tables_t *t, int64_t e, int64_t c, int64_t m, int64_t d, int wide) noexcept nogil
    int64_t sum_gained(const tables_t *t, const int32_t *e, const int32_t *held, const int32_t *c, const int32_t *size,
                       Py_ssize_t start, Py_ssize_t end, int64_t n, int64_t w) noexcept nogil
    int64_t sum_lik(const tables_t *t, const int32_t *e, const int32_t *f, const int32_t *size, Py_ssize_t start,
                    Py_ssize_t end, int64_t n) noexcept nogil
    int64_t edges_added(const tables_t *t, int64_t e, int64_t m, int64_t c, int wide) noexcept nogil
    void fill_grown(const tables_t *t, const int32_t *e, const int32_t *size, Py_ssize_t start, Py_ssize_t end,
                    int64_t m, int64_t *grown) noexcept nogil
    void add_edges(const tables_t *t, const int32_t *e, const int32_t *size, Py_ssize_t start, Py_ssize_t end,
                   Py_ssize_t l, int64_t m, int64_t c, int64_t *score) noexcept nogil
    void add_row(const int64_t *row, Py_ssize_t K, int64_t *score) noexcept nogil
    int64_t add_own(const tables_t *t, const int32_t *e, const int32_t *edges, const int32_t *size,
                    const int64_t *grown, Py_ssize_t K, Py_ssize_t own, int64_t m, int64_t c,
                    int64_t *score) noexcept nogil
    Py_ssize_t count_neighbours(const int32_t *neighbour, Py_ssize_t n, const int32_t *z, int32_t *count,
                                int32_t *touched) noexcept nogil

cdef enum:
    # entries of a table at the most: 32 MiB; of more than MANY nodes 4 MiB, as most of what they need is past its end
    LONGEST = 1 << 22
    SHORTER = 1 << 19
    MANY = 1 << 16
    # blocks, the scratch ones included: 1.25 GiB of counts and sums
    MOST_BLOCKS = 1 << 13
    # columns behind the live ones that a sampler may use
    SCRATCH = 6


OF_RELATIONS = "splitmerge_cli.kinds.networks.relations:Relations"
"""The model of networks as they are."""


cdef inline int64_t count_pairs(int64_t n) noexcept nogil:
    """Pairs of n nodes."""
    return n * (n - 1) // 2


def csr(adjacency):
    """The graph as a symmetric csr_array of int8 with an empty diagonal; a ValueError for anything but an undirected
    simple graph of 0 and 1."""
    graph = scipy.sparse.csr_array(adjacency, copy=True)
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1] or graph.shape[0] == 0:
        raise ValueError(f"adjacency: expected a square table with at least one row, got shape {graph.shape}")
    graph.sum_duplicates()
    graph.eliminate_zeros()
    if not (graph.data == 1).all():
        raise ValueError("adjacency: a value is neither 0 nor 1")
    if graph.diagonal().any():
        raise ValueError(f"adjacency: node {int(np.flatnonzero(graph.diagonal())[0])} has an edge to itself")
    if (graph != graph.T).nnz:
        raise ValueError("adjacency: expected a symmetric table: edges have no direction")
    return graph


def _prepare(adjacency):
    """The graph, and its edges as rows of neighbours; a ValueError for any but an undirected simple graph."""
    graph = csr(adjacency)
    return {"graph": graph, "start": np.ascontiguousarray(graph.indptr, dtype=np.int32),
            # one more entry: there may be no edge
            "neighbour": np.append(graph.indices.astype(np.int32), np.int32(-1))}


cdef class IRM(Coupled):
    """Infinite relational model. `adjacency`: sparse or dense array of 0 and 1, shape (N, N), symmetric, with an empty
    diagonal. A MemoryError: more than some 8,000 blocks at a time.

    Cost: an item against all K blocks O(degree + K touched), touched being the number of blocks that hold neighbours of
    it (at most the degree); a change of the partition O(degree + K); an item against a given block O(degree + K); a set
    of items against all blocks O(degrees + K^2). Memory: 20 bytes a block and block; shared by the models of the same
    graph, 8 bytes an edge and three tables of at most N (N - 1) / 2 numbers (N <= 2,800; beyond, 100 MB).
    Source: Herlau et al. 2014, section 3.2; mathematics: docs/derivations.md.
    """

    kind = "graph"
    simulate = staticmethod(simulate_network)
    CALIBRATION = {"": {"options": {"concentration": "gamma(2,2)", "beta1": 0.5, "beta0": 0.5}, "thin": 16}}
    OPTIONS = OPTIONS

    cdef readonly double beta1, beta0
    cdef const int32_t *start           # [N + 1]
    cdef const int32_t *neighbour       # [edges, both ways]
    cdef tables_t tables
    cdef double one                     # 1 / units in one
    cdef int32_t *edges                 # [cap, cap] edges between columns; a scratch row is its own truth
    # what one more node without edges adds to a block
    cdef int64_t *grown                 # [cap, cap] grown[l, k]: to block k, against block l
    cdef int64_t *base                  # [cap] its sum over l
    # and what one edge more between two blocks then adds to that
    cdef int64_t *single                # [cap, cap] single[l, k]: of an item of block k; 0 on the diagonal
    cdef int64_t new_block              # what a node without edges adds as a block of its own
    cdef int64_t *score                 # [cap] of a scan
    cdef int8_t *changed                # [cap] row and column of `grown` to be recomputed
    cdef int8_t *listed                 # [cap] row and column of `grown` are counted in `base`
    cdef bint any_changed
    # the edges of one item
    cdef Py_ssize_t counted             # which item, -1 none
    cdef int32_t *count                 # [cap] its neighbours in each column
    cdef int32_t *touched               # [cap] columns where that is not 0
    cdef Py_ssize_t n_touched
    # scratch columns that stand in the place of live ones
    cdef bint staged
    cdef Py_ssize_t span                # columns there are: live ones, and the staged ones behind
    cdef int32_t *staged_size           # [cap] size of each, 0 of those whose place is taken
    cdef int32_t *spot                  # [N] staged column of an item, -1 none
    cdef int32_t *placed                # [N] items that have one
    cdef Py_ssize_t n_placed

    def __init__(self, adjacency, **options):
        given = read_options("model", self.OPTIONS, options)
        if given["degrees"] != PLAIN:
            raise ValueError(f"model.degrees={given['degrees']}: expected IRM.from_data, which returns such a model")
        if not scipy.sparse.issparse(adjacency):
            adjacency = as_array(adjacency)
        elif adjacency.format != "csr":
            adjacency = scipy.sparse.csr_array(adjacency)
        data = share(_prepare, adjacency)
        self.vectors = adjacency if scipy.sparse.issparse(adjacency) else data.graph
        cdef Py_ssize_t N = len(data.start) - 1
        self.beta1, self.beta0 = given["beta1"], given["beta0"]
        self.counted = -1
        self._hold(data)
        self.start, self.neighbour = ints_of(data.start), ints_of(data.neighbour)
        self._fill_tables(N)
        self.spot = self.memory.ints(N)
        self.placed = self.memory.ints(N)
        memset(self.spot, 255, N * sizeof(int32_t))
        self._allocate(N, N)
        self._set_prior(given["prior"].build(N, given["concentration"]))
        self.set_labels(np.zeros(N, dtype=np.int32))

    @classmethod
    def from_data(cls, data, **params):
        """The model of a Dataset; ``Relations`` if it has relations, or with corrected degrees."""
        if cls.is_simple(data, params):
            return super().from_data(data, **params)
        cls._require(data)
        return resolve_name(OF_RELATIONS)(network_of(data), data.values, **params)

    @classmethod
    def with_more(cls, data, whole, **params):
        if not cls.is_simple(data, params):
            raise ValueError("new nodes: expected a simple undirected network and model.degrees=plain; of others only "
                             "pairs of nodes that are there are predicted")
        return super().with_more(data, whole, **params)

    @staticmethod
    def is_simple(data, params):
        """Whether the model reads the simple network of a Dataset."""
        return (data.relations is None and params.get("degrees", PLAIN) == PLAIN
                and params.get("density") is None)

    @classmethod
    def with_defaults_of(cls, data, **params):
        if cls.is_simple(data, params):
            return params
        given = read_options("model", cls.OPTIONS, params)
        sizes = Sizes(network_of(data), given)
        return {**params, "rate": sizes.rates, "density": [beta1 / (beta1 + beta0) for beta1, beta0 in sizes.betas]}

    def temper(self, power):
        """Raise the likelihood of every partition to a power, for a replica of a chain (`core/tempering.py`)."""
        self.one *= power

    cdef int _fill_tables(self, int64_t N) except -1:
        cdef int64_t pairs = count_pairs(N), length = min(pairs + 2 * N + 8, LONGEST if N <= MANY else SHORTER)
        cdef double widest = (pairs + 1.0) * (log(N + 2.0) * 2 + log(self.beta1 + self.beta0 + 2.0) + 16.0)
        cdef int e
        frexp(3.0 * widest, &e)
        # sums of all terms stay below 2^60
        self.one = 2.0 ** -min(60 - e, 54)
        self.tables.wide = length < pairs + 2 * N + 8
        self._fill(&self.tables.edge, self.beta1, length)
        self._fill(&self.tables.gap, self.beta0, length)
        self._fill(&self.tables.pair, self.beta1 + self.beta0, length)
        return 0

    cdef int _fill(self, rise_t *table, double b, int64_t length) except -1:
        held = share(rises, b, self.one, length)
        self._hold(held)
        table.at = longs_of(held.at)
        table.length = length
        if self.tables.wide:
            table.far = <far_t *> doubles(2 << FAR_BITS)
        table.b = b
        table.base = lgammal(b)
        table.per = 1.0 / self.one
        return 0

    def __dealloc__(self):
        free(self.tables.edge.far)
        free(self.tables.gap.far)
        free(self.tables.pair.far)

    # -- the edges of one item
    cdef void look(self, Py_ssize_t i) noexcept nogil:
        """Count the neighbours of item i in every column."""
        cdef Py_ssize_t t
        cdef int32_t k
        if self.counted == i:
            return
        for t in range(self.n_touched):
            self.count[self.touched[t]] = 0
        self.counted = i
        if not self.staged:
            self.n_touched = count_neighbours(self.neighbour + self.start[i], self.start[i + 1] - self.start[i], self.z,
                                              self.count, self.touched)
            return
        self.n_touched = 0
        for t in range(self.start[i], self.start[i + 1]):
            k = self.z[self.neighbour[t]]
            if k >= 0 and self.staged_size[k] != 0:
                self.touch(k)
            k = self.spot[self.neighbour[t]]
            if k >= 0:
                self.touch(k)

    cdef inline void touch(self, int32_t k) noexcept nogil:
        if self.count[k] == 0:
            self.touched[self.n_touched] = k
            self.n_touched += 1
        self.count[k] += 1

    # -- statistics
    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef Py_ssize_t old = self.cap
        if cap > MOST_BLOCKS:
            raise MemoryError(f"more than {MOST_BLOCKS - SCRATCH} blocks at a time")
        self.edges = <int32_t *> self.memory.larger_rows(self.edges, old * 4, cap * 4, old, cap)
        self.grown = <int64_t *> self.memory.larger_rows(self.grown, old * 8, cap * 8, old, cap)
        self.single = <int64_t *> self.memory.larger_rows(self.single, old * 8, cap * 8, old, cap)
        self.base = <int64_t *> self.memory.larger(self.base, old * 8, cap * 8)
        self.score = <int64_t *> self.memory.larger(self.score, old * 8, cap * 8)
        self.changed = <int8_t *> self.memory.larger(self.changed, old, cap)
        self.listed = <int8_t *> self.memory.larger(self.listed, old, cap)
        self.count = <int32_t *> self.memory.larger(self.count, old * 4, cap * 4)
        self.touched = <int32_t *> self.memory.larger(self.touched, old * 4, cap * 4)
        self.staged_size = <int32_t *> self.memory.larger(self.staged_size, old * 4, cap * 4)
        return 0

    cdef inline int32_t *row(self, Py_ssize_t k) noexcept nogil:
        return self.edges + k * self.cap

    cdef inline void change(self, Py_ssize_t k) noexcept nogil:
        self.changed[k] = True
        self.any_changed = True

    cdef void unstage(self) noexcept nogil:
        cdef Py_ssize_t t
        if self.staged:
            for t in range(self.n_placed):
                self.spot[self.placed[t]] = -1
            self.n_placed = 0
            self.staged = False
            self.counted = -1

    cdef void stage(self, const int32_t *clusters, Py_ssize_t m, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t t
        self.unstage()
        self.staged = True
        self.counted = -1
        self.span = first + n
        memcpy(self.staged_size, self.size, self.K * sizeof(int32_t))
        memset(self.staged_size + self.K, 0, (self.span - self.K) * sizeof(int32_t))
        for t in range(m):
            self.staged_size[clusters[t]] = 0
        for t in range(n):
            self.scratch(first + t)

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t x, end = min(self.K + SCRATCH, self.cap)
        self.counted = -1
        memset(self.row(k), 0, self.cap * sizeof(int32_t))
        for x in range(end):
            self.row(x)[k] = 0
        if self.listed[k]:
            self.listed[k] = False
            for x in range(end):
                self.base[x] -= self.grown[k * self.cap + x]
                self.grown[k * self.cap + x] = 0
                self.grown[x * self.cap + k] = 0
            self.base[k] = 0
        self.changed[k] = k < self.K
        self.any_changed |= k < self.K

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        cdef Py_ssize_t t
        cdef int32_t other
        cdef int32_t *row = self.row(k)
        cdef bint live = k < self.K
        if live:
            self.unstage()
            self.change(k)
        self.look(i)
        for t in range(self.n_touched):
            other = self.touched[t]
            row[other] += sign * self.count[other]
            if other != k and (live or other >= self.K):
                self.row(other)[k] += sign * self.count[other]
        if self.staged:
            self.staged_size[k] = self.size[k]
            if sign > 0:
                if self.spot[i] == -1:
                    self.placed[self.n_placed] = <int32_t> i
                    self.n_placed += 1
                self.spot[i] = <int32_t> k
            else:
                # in the list still: it comes back at once
                self.spot[i] = -2

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        """Column `dst` gets the edges of `src`, whose row is right."""
        cdef Py_ssize_t x, end = min(self.K + SCRATCH, self.cap)
        cdef int32_t inside = self.row(src)[src]
        self.unstage()
        self.counted = -1
        for x in range(end):
            self.row(dst)[x] = self.row(src)[x]
            self.row(x)[dst] = self.row(src)[x]
        self.row(dst)[dst] = inside
        self.change(dst)

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        cdef Py_ssize_t x
        cdef int32_t inside = self.row(dst)[dst] + self.row(src)[src] + self.row(dst)[src]
        self.unstage()
        self.counted = -1
        for x in range(self.K):
            self.row(dst)[x] += self.row(src)[x]
            self.row(x)[dst] = self.row(dst)[x]
        self.row(dst)[dst] = inside
        self.change(dst)

    cdef void begin_scan(self) noexcept nogil:
        self.unstage()
        Model.begin_scan(self)

    # -- probabilities
    cdef inline const int32_t *sizes_seen(self, Py_ssize_t k, Py_ssize_t *end) noexcept nogil:
        """Sizes of the columns that column k has edges to, itself included, and where they end."""
        if k < self.K or not self.staged:
            end[0] = self.K
            return self.size
        end[0] = self.span
        return self.staged_size

    cdef int64_t gain(self, Py_ssize_t k, Py_ssize_t own) noexcept nogil:
        """Log likelihood that the item looked at adds in column k, in units; `own`, unless -1, is the column
        that counts it, and is taken without it."""
        cdef Py_ssize_t end, low, high
        cdef const int32_t *size = self.sizes_seen(k, &end)
        cdef const int32_t *row = self.row(k)
        cdef const int32_t *held = self.count if k == own else NULL
        cdef const int32_t *c = self.count
        cdef int64_t n = size[k] - (k == own) if k < end else 0, total, m
        if k >= end:
            # an empty column behind the live ones
            low = high = end
        else:
            low, high = k, k
        if own >= 0 and own != k:
            low, high = min(k, own), max(k, own)
        total = sum_gained(&self.tables, row, held, c, size, 0, min(low, end), n, 1)
        if high > low:
            total += sum_gained(&self.tables, row, held, c, size, low + 1, min(high, end), n, 1)
        total += sum_gained(&self.tables, row, held, c, size, min(high + 1, end), end, n, 1)
        if own >= 0 and own != k:
            m = size[own] - 1
            total += gained(&self.tables, row[own] - c[k], c[own], n * m, m, self.tables.wide)
        if k < end:
            total += gained(&self.tables, row[k] - (c[k] if k == own else 0), c[k], count_pairs(n), n, self.tables.wide)
        return total

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        self.look(i)
        return self.gain(k, -1) * self.one

    cdef double log_odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef double r
        self.look(i)
        r = (self.gain(b, own) - self.gain(a, own)) * self.one
        if sized:
            r += log(self.weight_of(b, own == b)) - log(self.weight_of(a, own == a))
        return r

    cdef void choice(self, Py_ssize_t i, const int32_t *clusters, Py_ssize_t m, double *w) noexcept nogil:
        cdef Py_ssize_t t
        self.log_choice(i, clusters, m, w)
        for t in range(1, m):
            w[t] = exp(w[t] - w[0])
        w[0] = 1.0

    cdef void log_choice(self, Py_ssize_t i, const int32_t *clusters, Py_ssize_t m, double *lw) noexcept nogil:
        cdef Py_ssize_t t, k, own = self.z[i]
        cdef int64_t gain
        self.unstage()
        if self.any_changed:
            self.renew()
        self.look(i)
        for t in range(m):
            k = clusters[t]
            gain = self.gain(k, own) if k == own else self.score_one(k, own)
            lw[t] = gain * self.one + log(self.weight_of(k, k == own))

    cdef void renew(self) noexcept nogil:
        """Recompute the changed part of `grown`."""
        cdef Py_ssize_t d, k, cap = self.cap
        cdef int64_t *column
        cdef int64_t v, total
        for d in range(self.K):
            if not self.changed[d]:
                continue
            self.changed[d] = False
            column = self.grown + d * cap
            for k in range(self.K):
                self.base[k] -= column[k]
            fill_grown(&self.tables, self.row(d), self.size, 0, d, self.size[d], column)
            fill_grown(&self.tables, self.row(d), self.size, d + 1, self.K, self.size[d], column)
            memset(self.single + d * cap, 0, self.K * sizeof(int64_t))
            add_edges(&self.tables, self.row(d), self.size, 0, self.K, d, self.size[d], 1, self.single + d * cap)
            column[d] = gained(&self.tables, self.row(d)[d], 0, count_pairs(self.size[d]), self.size[d],
                               self.tables.wide)
            for k in range(self.K):
                self.base[k] += column[k]
            total = column[d]
            for k in range(self.K):
                if k != d:
                    v = gained(&self.tables, self.row(d)[k], 0, <int64_t> self.size[d] * self.size[k], self.size[k],
                               self.tables.wide)
                    self.grown[k * cap + d] = v
                    total += v
                    self.single[k * cap + d] = edges_added(
                        &self.tables, self.row(k)[d], (<int64_t> self.size[d] + 1) * self.size[k], 1, self.tables.wide)
            self.base[d] = total
            self.listed[d] = True
        self.new_block = 0
        for k in range(self.K):
            self.new_block += block_lik(&self.tables, 0, self.size[k])
        self.any_changed = False

    cdef int64_t score_all(self, Py_ssize_t i) noexcept nogil:
        """Fill `score` with what item i adds to each block that does not count it, in units; returns what it adds as
        a block of its own."""
        cdef Py_ssize_t t, b, own = self.z[i], K = self.K
        cdef int64_t n, new_block, stay
        cdef int64_t *score = self.score
        cdef const int32_t *c = self.count
        if self.any_changed:
            self.renew()
        self.look(i)
        memcpy(score, self.base, K * sizeof(int64_t))
        new_block = self.new_block
        for t in range(self.n_touched):
            b = self.touched[t]
            if b == own:
                continue
            if c[b] == 1:
                add_row(self.single + b * self.cap, K, score)
            else:
                add_edges(&self.tables, self.row(b), self.size, 0, K, b, self.size[b], c[b], score)
            score[b] += gained(&self.tables, self.row(b)[b], c[b], count_pairs(self.size[b]), self.size[b],
                               self.tables.wide) - self.grown[b * self.cap + b]
            new_block += gained(&self.tables, 0, c[b], self.size[b], 0, self.tables.wide)
        if own >= 0:
            # against its own block, without the item
            n = self.size[own] - 1
            new_block += block_lik(&self.tables, c[own], n) - block_lik(&self.tables, 0, n + 1)
            score[own] = gained(&self.tables, self.row(own)[own] - c[own], c[own], count_pairs(n), n, self.tables.wide)
            stay = add_own(&self.tables, self.row(own), c, self.size, self.grown + own * self.cap, K, own, n, c[own],
                           score)
            score[own] += stay
        return new_block

    cdef int64_t score_one(self, Py_ssize_t k, Py_ssize_t own) noexcept nogil:
        """`score_all` for one block k other than `own`, of the item looked at."""
        cdef Py_ssize_t t, b
        cdef int64_t total = self.base[k], n = self.size[own] - 1
        cdef const int32_t *c = self.count
        for t in range(self.n_touched):
            b = self.touched[t]
            if b == k:
                total += gained(&self.tables, self.row(k)[k], c[k], count_pairs(self.size[k]), self.size[k],
                                self.tables.wide) - self.grown[k * self.cap + k]
            elif b != own and c[b] == 1:
                total += self.single[b * self.cap + k]
            elif b != own:
                total += edges_added(&self.tables, self.row(b)[k], (<int64_t> self.size[k] + 1) * self.size[b], c[b],
                                     self.tables.wide)
        return total - self.grown[own * self.cap + k] + gained(
            &self.tables, self.row(own)[k] - c[k], c[own], self.size[k] * n, n, self.tables.wide)

    cdef void log_scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, own = self.z[i], K = self.K
        cdef int64_t new_block
        self.unstage()
        new_block = self.score_all(i)
        for k in range(K):
            self.w[k] = self.score[k] * self.one + log(self.weight_of(k, k == own))
        self.w[K] = -INFINITY if own >= 0 and self.size[own] == 1 else new_block * self.one + log(self.weight_new)

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        self.weigh_scores(self.z[i], self.score, self.score_all(i), self.one)

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        return block_lik(&self.tables, self.row(k)[k], count_pairs(self.size[k])) * self.one

    cdef double log_pair_lik(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef int64_t e = <int64_t> self.row(a)[a] + self.row(b)[b] + self.row(max(a, b))[min(a, b)]
        return block_lik(&self.tables, e, count_pairs(<int64_t> self.size[a] + self.size[b])) * self.one

    cdef double log_lik(self, const int32_t *ks, Py_ssize_t m) noexcept nogil:
        cdef Py_ssize_t s, t, k, end
        cdef int64_t total = 0
        cdef const int32_t *size
        for s in range(m):
            k = ks[s]
            size = self.sizes_seen(k, &end)
            total += block_lik(&self.tables, self.row(k)[k], count_pairs(self.size[k]))
            if ks == self.numbers and m == self.K:
                total += sum_lik(&self.tables, self.row(k), NULL, size, 0, k, self.size[k])
                continue
            total += sum_lik(&self.tables, self.row(k), NULL, size, 0, min(k, end), self.size[k])
            total += sum_lik(&self.tables, self.row(k), NULL, size, min(k + 1, end), end, self.size[k])
            # pairs among them once
            for t in range(s):
                total -= block_lik(&self.tables, self.row(k)[ks[t]], <int64_t> self.size[k] * self.size[ks[t]])
        return total * self.one

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t low = min(a, b), high = max(a, b), end
        cdef const int32_t *size = self.sizes_seen(high, &end)
        cdef const int32_t *e = self.row(low)
        cdef const int32_t *f = self.row(high)
        cdef int64_t n = <int64_t> self.size[a] + self.size[b]
        cdef int64_t total = block_lik(&self.tables, <int64_t> e[low] + f[high] + f[low], count_pairs(n))
        total += sum_lik(&self.tables, e, f, size, 0, low, n)
        total += sum_lik(&self.tables, e, f, size, low + 1, min(high, end), n)
        total += sum_lik(&self.tables, e, f, size, min(high + 1, end), end, n)
        return total * self.one

    def statistics(self):
        """dict of ndarray: `edges`, int64 of shape (K, K), edges between blocks (within: on the diagonal), a copy."""
        return {"edges": np.array([[self.row(k)[j] for j in range(self.K)] for k in range(self.K)], dtype=np.int64)}
