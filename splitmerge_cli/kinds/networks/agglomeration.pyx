"""Steps of a start by agglomeration (Peixoto 2014): blocks that become one, and nodes that move to another block.

Both are greedy, and raise the profile log likelihood of Poisson edges (Karrer and Newman 2011), which has no prior:

    L = sum_v (1/2 sum_kl e_kl^v log e_kl^v - sum_k d_k^v log m_k^v),    d_k^v = sum_l e_kl^v

where e_kl^v counts the entries of type v from nodes of block k to block l (an undirected edge has two, one from each
end; a directed one has two as well, of two types), and m_k^v is the number of nodes of block k, or d_k^v where degrees
are corrected. A step costs the entries of a node or of a block, however many blocks there are. The prior of block
probabilities, by which the exact model makes many blocks dear, decides later how many there are.

Nothing here is a step of a chain: this only finds where one begins.
"""
from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

import numpy as np

from splitmerge_cli.core.rng cimport Rng

from splitmerge_cli.core.model import draw_permutation

cdef enum:
    # blocks with which each block, or node, is compared
    TRIES = 16
    # log e and e log e are looked up below this number
    KNOWN = 1 << 14

cdef double[KNOWN] LOG
cdef double[KNOWN] XLOGX
for _n in range(KNOWN):
    LOG[_n] = log(<double> _n) if _n else 0.0
    XLOGX[_n] = _n * LOG[_n]


cdef inline double xlogx(int64_t x) noexcept nogil:
    return XLOGX[x] if x < KNOWN else x * log(<double> x)


cdef inline double of_degree(int64_t d, int64_t n, bint corrected) noexcept nogil:
    """d log m for a block of n nodes; an empty block has no degree."""
    if corrected:
        return xlogx(d)
    return d * (LOG[n] if n < KNOWN else log(<double> n))


cdef inline int64_t draw_entry(Rng rng, const int64_t *start, Py_ssize_t i) noexcept nogil:
    """An entry of i; -1: it has none."""
    return start[i] + rng.draw_index(start[i + 1] - start[i]) if start[i + 1] > start[i] else -1


def best_merges(rows, sizes, sides, bint corrected, Rng rng not None):
    """For each block the best of some others to become one with, by the growth of L.

    `rows`: entries between blocks, as `Entries.between` returns them; `sizes`, `sides`: int32 ``[K]``, nodes of a block
    and their kind, which a pair shares. Returns int32 and float64, each ``[K]``: the partner, and the growth, never
    above 0; a block without one has itself, at -inf.
    """
    cdef const int64_t[::1] start = rows.start
    cdef const int32_t[::1] other = rows.neighbour
    cdef const int32_t[::1] type_ = rows.type
    cdef const int64_t[::1] weight = rows.weight
    cdef const int32_t[::1] mirror = rows.mirror
    cdef const int32_t[::1] size = sizes
    cdef const int32_t[::1] side = sides
    cdef Py_ssize_t K = len(sizes), V = len(rows.mirror), a, b, t, n, x, s
    cdef int64_t entry
    cdef double growth
    cdef int64_t[::1] row = np.zeros(K * V, dtype=np.int64)
    degrees = np.zeros(K * V, dtype=np.int64)
    cdef int64_t[::1] degree = degrees
    partner, growths = np.arange(K, dtype=np.int32), np.full(K, -INFINITY)
    cdef int32_t[::1] best = partner
    cdef double[::1] most = growths
    cdef int32_t[TRIES] seen
    cdef int64_t[::1] within = np.zeros(K * V, dtype=np.int64)
    with nogil:
        for a in range(K):
            for x in range(start[a], start[a + 1]):
                degree[a * V + type_[x]] += weight[x]
                if other[x] == a:
                    within[a * V + type_[x]] = weight[x]
        for a in range(K):
            for x in range(start[a], start[a + 1]):
                row[other[x] * V + type_[x]] = weight[x]
            n = 0
            for t in range(TRIES if K > TRIES else K):
                if K <= TRIES:
                    b = t
                else:
                    # a neighbour, one of its neighbours, or any
                    entry = draw_entry(rng, &start[0], a)
                    if entry < 0 or t % 8 == 0:
                        b = rng.draw_index(K)
                    else:
                        b = other[entry]
                        if t % 2:
                            b = other[draw_entry(rng, &start[0], b)]
                for s in range(n):
                    if seen[s] == b:
                        break
                else:
                    seen[n] = <int32_t> b
                    n += 1
                    if b != a and side[a] == side[b]:
                        growth = merge_growth(a, b, &row[0], &start[0], &other[0], &type_[0], &weight[0], &mirror[0],
                                              V, &degree[0], &within[0], size[a], size[b], corrected)
                        if growth > most[a]:
                            most[a], best[a] = growth, <int32_t> b
            for x in range(start[a], start[a + 1]):
                row[other[x] * V + type_[x]] = 0
    return partner, growths


cdef double merge_growth(Py_ssize_t a, Py_ssize_t b, const int64_t *row, const int64_t *start, const int32_t *other,
                         const int32_t *type_, const int64_t *weight, const int32_t *mirror, Py_ssize_t V,
                         const int64_t *degree, const int64_t *within, int64_t na, int64_t nb,
                         bint corrected) noexcept nogil:
    """Growth of L where blocks a and b become one; `row` holds the entries of a, `within` entries that stay in
    a block."""
    cdef double total = 0.0
    cdef Py_ssize_t x, v
    cdef int64_t e, f, back, own
    for x in range(start[b], start[b + 1]):
        if other[x] != a and other[x] != b:
            e, f = weight[x], row[other[x] * V + type_[x]]
            if f:
                total += xlogx(e + f) - xlogx(e) - xlogx(f)
    for v in range(V):
        # entries of b to a are entries of a to b, seen from there
        own, f, back, e = within[b * V + v], row[b * V + v], row[b * V + mirror[v]], row[a * V + v]
        total += 0.5 * (xlogx(e + f + back + own) - xlogx(e) - xlogx(f) - xlogx(back) - xlogx(own))
        total -= of_degree(degree[a * V + v] + degree[b * V + v], na + nb, corrected)
        total += of_degree(degree[a * V + v], na, corrected) + of_degree(degree[b * V + v], nb, corrected)
    return total


cdef class Blocks:
    """Nodes in blocks, and the entries between blocks. `entries`: an `Entries` of nodes; `labels`: int32 ``[N]``."""

    cdef const int64_t[::1] start
    cdef const int32_t[::1] neighbour
    cdef const int32_t[::1] type_
    cdef const int64_t[::1] weight
    cdef const int32_t[::1] mirror
    cdef const int32_t[::1] side        # [K] kind of the nodes of a block
    cdef int32_t[::1] z
    cdef int32_t[::1] size
    cdef int64_t[::1] between           # [K, K, V]
    cdef int64_t[::1] degree            # [K, V]
    cdef int64_t[::1] count             # [K, V] entries of a node
    cdef int32_t[::1] touched
    cdef int32_t[::1] block             # of each that is touched
    cdef double[::1] leaving            # what the growth of L has of each where the node leaves its block
    cdef double[::1] leaving_degree     # [V]
    cdef int64_t[::1] own               # [V] entries of a node in all
    cdef Py_ssize_t K, V, n_touched
    cdef bint corrected
    cdef readonly object labels

    def __init__(self, entries, labels, sides, bint corrected):
        cdef Py_ssize_t i, x
        self.start, self.neighbour, self.type_ = entries.start, entries.neighbour, entries.type
        self.weight, self.mirror, self.side = entries.weight, entries.mirror, sides
        self.labels = np.array(labels, dtype=np.int32)
        self.z, self.size = self.labels, np.bincount(self.labels).astype(np.int32)
        self.K, self.V, self.corrected = len(self.size), len(entries.mirror), corrected
        self.between = np.zeros(self.K * self.K * self.V, dtype=np.int64)
        self.degree = np.zeros(self.K * self.V, dtype=np.int64)
        self.count, self.own = np.zeros(self.K * self.V, dtype=np.int64), np.zeros(self.V, dtype=np.int64)
        self.touched, self.block = np.zeros((2, self.K * self.V), dtype=np.int32)
        self.leaving, self.leaving_degree = np.zeros(self.K * self.V), np.zeros(self.V)
        for i in range(len(self.z)):
            for x in range(self.start[i], self.start[i + 1]):
                self.between[(self.z[i] * self.K + self.z[self.neighbour[x]]) * self.V + self.type_[x]] += (
                    self.weight[x])
                self.degree[self.z[i] * self.V + self.type_[x]] += self.weight[x]

    cdef void look(self, Py_ssize_t i) noexcept nogil:
        """Count the entries of node i by block and type, and what leaving its block makes of L."""
        cdef Py_ssize_t x, t, v, r = self.z[i], V = self.V
        cdef const int64_t *row = &self.between[r * self.K * V]
        cdef int64_t c
        for t in range(self.n_touched):
            self.count[self.touched[t]] = 0
        memset(&self.own[0], 0, self.V * sizeof(int64_t))
        self.n_touched = 0
        for x in range(self.start[i], self.start[i + 1]):
            t = self.z[self.neighbour[x]] * self.V + self.type_[x]
            if self.count[t] == 0:
                self.touched[self.n_touched], self.block[self.n_touched] = <int32_t> t, self.z[self.neighbour[x]]
                self.n_touched += 1
            self.count[t] += self.weight[x]
            self.own[self.type_[x]] += self.weight[x]
        for t in range(self.n_touched):
            v = self.touched[t]
            c = self.count[v]
            self.leaving[t] = xlogx(row[v] - c) - xlogx(row[v]) if self.block[t] != r else 0.0
        for v in range(V):
            c = self.degree[r * V + v]
            self.leaving_degree[v] = (of_degree(c, self.size[r], self.corrected)
                                      - of_degree(c - self.own[v], self.size[r] - 1, self.corrected))

    cdef double growth(self, Py_ssize_t r, Py_ssize_t s) noexcept nogil:
        """Growth of L where the node looked at moves from block r to block s."""
        cdef Py_ssize_t t, v, w, V = self.V
        cdef int64_t c, k, rr, rs, sr, ss, to_r, to_s, from_r, from_s
        cdef const int64_t *row_r = &self.between[r * self.K * V]
        cdef const int64_t *row_s = &self.between[s * self.K * V]
        cdef double total = 0.0
        for t in range(self.n_touched):
            if self.block[t] == r or self.block[t] == s:
                continue
            v = self.touched[t]
            c = self.count[v]
            total += self.leaving[t] + xlogx(row_s[v] + c) - xlogx(row_s[v])
        for v in range(V):
            w = self.mirror[v]
            to_r, to_s = self.count[r * V + v], self.count[s * V + v]
            from_r, from_s = self.count[r * V + w], self.count[s * V + w]
            rr, rs, sr, ss = row_r[r * V + v], row_r[s * V + v], row_s[r * V + v], row_s[s * V + v]
            total += 0.5 * (xlogx(rr - to_r - from_r) - xlogx(rr) + xlogx(ss + to_s + from_s) - xlogx(ss)
                            + xlogx(rs - to_s + from_r) - xlogx(rs) + xlogx(sr + to_r - from_s) - xlogx(sr))
            k = self.own[v]
            total += (self.leaving_degree[v]
                      + of_degree(self.degree[s * V + v], self.size[s], self.corrected)
                      - of_degree(self.degree[s * V + v] + k, self.size[s] + 1, self.corrected))
        return total

    cdef void move(self, Py_ssize_t i, Py_ssize_t s) noexcept nogil:
        """Put node i, looked at, into block s."""
        cdef Py_ssize_t x, v, w, t, r = self.z[i], K = self.K, V = self.V
        for x in range(self.start[i], self.start[i + 1]):
            t, v = self.z[self.neighbour[x]], self.type_[x]
            w = self.mirror[v]
            self.between[(r * K + t) * V + v] -= self.weight[x]
            self.between[(t * K + r) * V + w] -= self.weight[x]
            self.between[(s * K + t) * V + v] += self.weight[x]
            self.between[(t * K + s) * V + w] += self.weight[x]
        for v in range(V):
            self.degree[r * V + v] -= self.own[v]
            self.degree[s * V + v] += self.own[v]
        self.size[r] -= 1
        self.size[s] += 1
        self.z[i] = <int32_t> s

    def sweep(self, Rng rng not None):
        """Move each node, in a uniform order, to the best of some blocks, unless its own would be left empty. Returns
        how many nodes moved."""
        cdef int32_t[::1] order = draw_permutation(rng, len(self.z))
        cdef Py_ssize_t t, i, s, best, n, own, try_, moved = 0
        cdef int64_t entry
        cdef double growth, most
        cdef int32_t[TRIES] seen
        with nogil:
            for t in range(len(order)):
                i = order[t]
                own = best = self.z[i]
                if self.size[own] == 1:
                    continue
                self.look(i)
                n, most = 0, 1e-9
                for try_ in range(TRIES if self.K > TRIES else self.K):
                    if self.K <= TRIES:
                        s = try_
                    else:
                        entry = draw_entry(rng, &self.start[0], i)
                        if entry < 0 or try_ % 8 == 0:
                            s = rng.draw_index(self.K)
                        else:
                            s = self.neighbour[entry]
                            if try_ % 2:
                                s = self.neighbour[draw_entry(rng, &self.start[0], s)]
                            s = self.z[s]
                    for entry in range(n):
                        if seen[entry] == s:
                            break
                    else:
                        seen[n] = <int32_t> s
                        n += 1
                        if s != own and self.side[s] == self.side[own]:
                            growth = self.growth(own, s)
                            if growth > most:
                                most, best = growth, s
                if best != own:
                    self.move(i, best)
                    moved += 1
        return moved
