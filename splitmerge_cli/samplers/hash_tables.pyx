"""Locality-sensitive hash tables of the items' vectors, from which similar or dissimilar items are drawn (Luo &
Shrivastava 2018, section 2.1).

Signed random projections (equation 1): bit b of table l is set where the projection of x - mean on a normal direction
is not negative; the bits of a table make a code, the items of one code a bucket. A query u looks into its own bucket of
each table, without u itself; a query -u, whose projections have the opposite signs, into the bucket of the complemented
code. The tables are built once, so that the probability q(v | +-u) of drawing v is a number, in two readings of
section 2.1.1:

    table    a table is drawn among the L_u whose bucket is not empty, then one of its items:
             q = 1/L_u sum_l 1[v in B_l(u)] / |B_l(u)|
    union    an item of the union S_u of the buckets: q = 1[v in S_u] / |S_u|

An item equal to the mean has no direction: it is in no bucket, and its queries find nothing.
"""
import os
import threading
import weakref

from libc.math cimport M_PI, acos, expm1, log1p, pow, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np
import scipy.sparse

from splitmerge_cli.core.memory cimport Memory, doubles

from splitmerge_cli.core.options import Choice, Count, Flag

MOST_BITS = 30

ctypedef fused number:
    float
    double
    uint8_t


READING = Choice("reading", "table", "how an item is drawn: table (from one table's bucket) or union (from the "
                 "buckets of all tables)", choices=("table", "union"))
BITS = Count("bits", 10, "K of the paper: bits of a table's code", least=1, most=MOST_BITS)
TABLES = Count("tables", 10, "L of the paper", least=1)
CENTRE = Flag("centre", True, "hash items after subtracting their mean")
SEED = Count("tables_seed", 0, "seed of the projections, fixed because the tables are part of the kernel", most=1 << 62)
CACHE = Count("cache", 1 << 20, "mode=as_printed: number of collision probabilities to keep", least=1, most=1 << 30)


cdef class HashTables:
    """Buckets of the items in several tables. `vectors`, of shape (N, D): dense float32, float64 or uint8, or sparse;
    kept, not copied. `bits`: directions of a table (K of the paper), 1 to 30; `tables`: their number (L of the paper);
    `centre`: project x - mean; without it, data of one sign have nothing in opposite buckets; `seed`: of the
    directions. A ValueError for a parameter out of range, or more than 2^31 entries.

    Built in O(bits tables) times the entries of the vectors. Memory: 8 bytes an item and table and 8 a bucket, so at
    most 16 an item and table; directions 4 bits tables D. Source: Luo & Shrivastava 2018, sections 2.1 and 3.2.
    """

    def __init__(self, vectors, bits=10, tables=10, centre=True, seed=0):
        sparse = scipy.sparse.issparse(vectors)
        if not sparse:
            vectors = np.ascontiguousarray(vectors)
            if vectors.dtype not in (np.float32, np.float64, np.uint8):
                vectors = vectors.astype(np.float64)
        if len(vectors.shape) != 2 or 0 in vectors.shape:
            raise ValueError(f"vectors: expected an array of shape (N, D), got {vectors.shape}")
        self.N, self.D = vectors.shape
        for option, value in ((BITS, bits), (TABLES, tables), (SEED, seed)):
            option.read(value, "sampler")
        if self.N * tables >= 1 << 31:
            raise ValueError(f"sampler.tables={tables}: {self.N} items in {tables} tables; "
                             f"expected at most {(1 << 31) // self.N} tables, for 2^31 entries in all")
        _check_room(16 * self.N * tables + 4 * self.D * bits * tables, bits, tables)
        self.vectors, self.bits, self.tables, self.seed = vectors, bits, tables, seed
        generator = np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(seed)))
        self.directions = generator.standard_normal((self.D, bits * tables), dtype=np.float32)
        self.mean = np.asarray(vectors.sum(axis=0, dtype=np.float64)).ravel() / self.N if centre else None
        self._fill(self.codes)

    @property
    def codes(self):
        """ndarray of int32, shape (N, tables): the items' codes, hashed again; -1 if an item has no direction."""
        codes = np.empty((self.N, self.tables), dtype=np.int32)
        mean = np.zeros(self.D) if self.mean is None else self.mean
        if scipy.sparse.issparse(self.vectors):
            x = self.vectors
            offset = -(mean @ self.directions.astype(np.float64))
            hash_sparse(x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data.astype(np.float64), mean, offset,
                        self.directions, self.bits, codes)
        elif self.vectors.dtype == np.float64:
            hash_dense[double](self.vectors, mean, self.directions, self.bits, codes)
        elif self.vectors.dtype == np.float32:
            hash_dense[float](self.vectors, mean, self.directions, self.bits, codes)
        else:
            hash_dense[uint8_t](self.vectors, mean, self.directions, self.bits, codes)
        return codes

    def _fill(self, codes):
        """Buckets of all tables; `codes` becomes the items' buckets."""
        mask = (1 << self.bits) - 1
        opposite, starts, members, n_buckets, n_members = [], [], [], 0, 0
        for column in codes.T:
            placed = np.flatnonzero(column >= 0).astype(np.int32)
            order = placed[np.argsort(column[placed], kind="stable")]
            of_item = column[order]
            first = np.flatnonzero(np.diff(of_item, prepend=-1))
            code = of_item[first]
            nearest = np.minimum(np.searchsorted(code, code ^ mask), len(code) - 1) if len(code) else code
            opposite.append(np.where(code[nearest] == code ^ mask, nearest + n_buckets, -1).astype(np.int32))
            starts.append((first + n_members).astype(np.int32))
            members.append(order)
            column[order] = np.repeat(np.arange(len(first)) + n_buckets, np.diff(np.r_[first, len(order)]))
            n_buckets += len(first)
            n_members += len(order)
        self.bucket = codes
        # one more entry: there may be none
        both = np.append(np.concatenate(opposite), np.int32(-1)), np.append(np.concatenate(members), np.int32(-1))
        self.opposite, self.members = both[0][:n_buckets], both[1][:n_members]
        self.starts = np.append(np.concatenate(starts), np.int32(n_members))
        cdef const int32_t[:, ::1] bucket_of = codes
        cdef const int32_t[::1] opposite_of = both[0]
        cdef const int32_t[::1] member_of = both[1]
        cdef const int32_t[::1] start_of = self.starts
        self._bucket, self._starts = &bucket_of[0, 0], &start_of[0]
        self._opposite, self._members = &opposite_of[0], &member_of[0]

    @property
    def nbytes(self):
        """int: memory of the tables in bytes, without the vectors."""
        return sum(array.nbytes for array in (self.bucket, self.opposite, self.starts, self.members, self.directions))

    def statistics(self):
        """How the items spread over the buckets, a dict of bits, tables; buckets, of all tables; mean_size and largest,
        items of a bucket; mean_shared, items of an item's own bucket; without_direction, items in no bucket; empty and
        empty_opposite, share of the queries u, and -u, that no table answers; nbytes."""
        cdef Py_ssize_t u, empty = 0, empty_opposite = 0
        if self.known is not None:
            return dict(self.known)
        sizes = np.diff(self.starts)
        for u in range(self.N):
            empty += self.answers(u, False) == 0
            empty_opposite += self.answers(u, True) == 0
        self.known = {
            "bits": self.bits,
            "tables": self.tables,
            "buckets": len(sizes),
            "mean_size": float(sizes.mean()) if len(sizes) else 0.0,
            "mean_shared": float((sizes.astype(np.float64) ** 2).sum() / max(1, sizes.sum())),
            "largest": int(sizes.max(initial=0)),
            "without_direction": int((self.bucket[:, 0] < 0).sum()),
            "empty": <double> empty / self.N,
            "empty_opposite": <double> empty_opposite / self.N,
            "nbytes": self.nbytes,
        }
        return dict(self.known)

    def probability(self, Py_ssize_t u, Py_ssize_t v, bint opposite=False, str reading="table"):
        """q(v | u), or q(v | -u) with `opposite`: the probability that the query draws v, in O(tables) by the table
        reading."""
        cdef Py_ssize_t t, b, size, answered = 0
        cdef double total = 0.0
        union = set()
        if not (0 <= u < self.N and 0 <= v < self.N):
            raise ValueError(f"u={u}, v={v}: expected items from 0 to {self.N - 1}")
        READING.read(reading, "sampler")
        for t in range(self.tables):
            b = self.query(u, t, opposite, &size)
            if b >= 0:
                answered += 1
                if v != u and self._bucket[v * self.tables + t] == b:
                    total += 1.0 / size
                if reading == "union":
                    union.update(self.members[self._starts[b]:self._starts[b + 1]].tolist())
        if not answered:
            return 0.0
        union.discard(u)
        return total / answered if reading == "table" else float(v in union) / len(union)

    cdef Py_ssize_t query(self, Py_ssize_t u, Py_ssize_t table, bint opposite, Py_ssize_t *size) noexcept nogil:
        """Bucket that a query finds in one table, and its number of items but u; -1 if it has no others."""
        cdef Py_ssize_t b = self._bucket[u * self.tables + table]
        if b >= 0 and opposite:
            b = self._opposite[b]
        if b < 0:
            return -1
        size[0] = self._starts[b + 1] - self._starts[b] - (not opposite)
        return b if size[0] else -1

    cdef Py_ssize_t answers(self, Py_ssize_t u, bint opposite) noexcept nogil:
        """L_u: the tables that answer a query."""
        cdef Py_ssize_t t, size, n = 0
        for t in range(self.tables):
            n += self.query(u, t, opposite, &size) >= 0
        return n

    cdef Py_ssize_t draw(self, Rng rng, Py_ssize_t u, bint opposite) noexcept nogil:
        """An item by the table reading; -1 if no table answers."""
        cdef Py_ssize_t t, b, r, size, low, high, n = self.answers(u, opposite)
        cdef const int32_t *items
        if n == 0:
            return -1
        n = rng.draw_index(n)
        for t in range(self.tables):
            b = self.query(u, t, opposite, &size)
            if b >= 0:
                if n == 0:
                    break
                n -= 1
        r = rng.draw_index(size)
        items = self._members + self._starts[b]
        if not opposite:
            # the items are in order; u is left out
            low, high = 0, size
            while low < high:
                n = (low + high) // 2
                if items[n] < u:
                    low = n + 1
                else:
                    high = n
            r += r >= low
        return items[r]


cdef class HashSums:
    """Draws by a reading, and sums of q over the pairs of items from two sets.

    Memory: 4 bytes a bucket (table) or 12 an item (union).
    """

    def __init__(self, HashTables tables not None, str reading="table"):
        self.memory = Memory()
        READING.read(reading, "sampler")
        self.tables, self.united = tables, reading == "union"
        if self.united:
            self.seen = self.memory.ints(tables.N)
            self.within = self.memory.ints(tables.N)
            self.found = self.memory.ints(tables.N)
        else:
            self.count = self.memory.ints(len(tables.opposite))

    cdef Py_ssize_t draw(self, Rng rng, Py_ssize_t u, bint opposite) noexcept nogil:
        """An item; -1 if no table answers."""
        cdef Py_ssize_t n
        if not self.united:
            return self.tables.draw(rng, u, opposite)
        n = self.unite(u, opposite)
        return self.found[rng.draw_index(n)] if n else -1

    cdef Py_ssize_t unite(self, Py_ssize_t u, bint opposite) noexcept nogil:
        """Set found[:n] to the items in the buckets that a query finds, u left out, by first appearance; return n."""
        cdef Py_ssize_t t, b, size, n = 0
        self.begin_union()
        self.seen[u] = self.queries
        for t in range(self.tables.tables):
            b = self.tables.query(u, t, opposite, &size)
            if b >= 0:
                n = self.join_bucket(b, n)
        return n

    cdef void begin_union(self) noexcept nogil:
        self.queries += 1
        if self.queries == 0x7fffffff:
            memset(self.seen, 0, self.tables.N * sizeof(int32_t))
            self.queries = 1

    cdef Py_ssize_t join_bucket(self, Py_ssize_t b, Py_ssize_t n) noexcept nogil:
        """Add the items of bucket b to the union found[:n]. Returns how many it then has."""
        cdef Py_ssize_t s, v
        for s in range(self.tables._starts[b], self.tables._starts[b + 1]):
            v = self.tables._members[s]
            if self.seen[v] != self.queries:
                self.seen[v] = self.queries
                self.found[n] = <int32_t> v
                n += 1
        return n

    cdef void mark(self, const int32_t *items, Py_ssize_t n) noexcept nogil:
        """Begin a set of these items, for ``count_marked``."""
        cdef Py_ssize_t s
        self.sets += 1
        if self.sets == 0x7fffffff:
            memset(self.within, 0, self.tables.N * sizeof(int32_t))
            self.sets = 1
        for s in range(n):
            self.within[items[s]] = self.sets

    cdef Py_ssize_t count_marked(self, Py_ssize_t n) noexcept nogil:
        """Number of items of found[:n] that are in the set."""
        cdef Py_ssize_t t, hits = 0
        for t in range(n):
            hits += self.within[self.found[t]] == self.sets
        return hits

    cdef double sum_between(self, const int32_t *a, Py_ssize_t na, const int32_t *b, Py_ssize_t nb,
                            bint opposite) noexcept nogil:
        """sum of q(v | +-u) over u in a, v in b and over u in b, v in a, of two disjoint sets: N times X+-."""
        return self.sum(a, na, b, nb, opposite, False) + self.sum(b, nb, a, na, opposite, False)

    cdef double sum(self, const int32_t *a, Py_ssize_t na, const int32_t *b, Py_ssize_t nb, bint opposite,
                    bint outside) noexcept nogil:
        """sum over u in a of the probability that +-u draws an item of b (`outside`: one that is not in b); a is b, or
        disjoint from it. O((na + nb) tables) by the table reading."""
        cdef const int32_t *bucket = self.tables._bucket
        cdef Py_ssize_t s, t, k, size, hits, answered, L = self.tables.tables
        cdef double total = 0.0, share
        if self.united:
            return self.united_sum(a, na, b, nb, opposite, outside)
        for s in range(nb):
            for t in range(L):
                k = bucket[b[s] * L + t]
                if k >= 0:
                    self.count[k] += 1
        for s in range(na):
            share = 0.0
            answered = 0
            for t in range(L):
                k = self.tables.query(a[s], t, opposite, &size)
                if k >= 0:
                    answered += 1
                    hits = self.count[k] - (a == b and not opposite)
                    share += <double> (size - hits if outside else hits) / size
            if answered:
                total += share / answered
        for s in range(nb):
            for t in range(L):
                k = bucket[b[s] * L + t]
                if k >= 0:
                    self.count[k] = 0
        return total

    cdef double united_sum(self, const int32_t *a, Py_ssize_t na, const int32_t *b, Py_ssize_t nb, bint opposite,
                           bint outside) noexcept nogil:
        """``sum`` by the union reading: O(na) unions."""
        cdef Py_ssize_t s, n, hits
        cdef double total = 0.0
        self.mark(b, nb)
        for s in range(na):
            n = self.unite(a[s], opposite)
            hits = self.count_marked(n)
            if n:
                total += <double> (n - hits if outside else hits) / n
        return total

    cdef double sum_printed(self, Collisions chances, const int32_t *a, Py_ssize_t na, const int32_t *b, Py_ssize_t nb,
                            bint opposite) noexcept nogil:
        """N times the sums of equation 3 (`opposite`; without its coins) or 5, of u in a and v in b; by the union
        reading."""
        cdef Py_ssize_t s, t, n, hits
        cdef double total = 0.0, sum_v
        self.mark(b, nb)
        for s in range(na):
            n = self.unite(a[s], opposite)
            hits = self.count_marked(n)
            if hits == 0:
                continue
            sum_v = 0.0
            for t in range(nb):
                sum_v += chances.chance(a[s], b[t], opposite)
            total += sum_v * hits / n
        return total


cdef class Collisions:
    """Probability 1 - (1 - p^K)^L that two items share a bucket in one of L fresh tables, each with K bits.

    p of equation 2 is stored for as many pairs as there is room for (section 3.2.2).

    Memory: 8 bytes a value of dense items, 12 an entry of sparse ones, for a copy of them, and up to 32 a pair.
    """

    def __init__(self, HashTables tables not None, cache=1 << 20):
        self.memory = Memory()
        CACHE.read(cache, "sampler")
        self.tables = tables
        if scipy.sparse.issparse(tables.vectors):
            self._keep_rows(tables.vectors)
        else:
            self._keep_units(tables.vectors)
        self.slots = 1 << int(cache - 1).bit_length() + 1
        self.keys = <int64_t *> self.memory.doubles(self.slots)
        self.kept = self.memory.doubles(self.slots)
        memset(self.keys, 255, self.slots * sizeof(int64_t))

    def _keep_units(self, vectors):
        """Dense items: centred, of length 1."""
        cdef double[:, ::1] unit = np.array(vectors, dtype=np.float64)
        x = np.asarray(unit)
        if self.tables.mean is not None:
            x -= self.tables.mean
        length = np.linalg.norm(x, axis=1)
        x /= np.where(length > 0.0, length, 1.0)[:, None]
        self.unit = self.memory.doubles(self.tables.N * self.tables.D)
        memcpy(self.unit, &unit[0, 0], self.tables.N * self.tables.D * sizeof(double))

    def _keep_rows(self, vectors):
        """Sparse items: as they are, with what makes centred ones of them."""
        cdef Py_ssize_t i, N = self.tables.N
        x = vectors.sorted_indices()
        mean = np.zeros(self.tables.D) if self.tables.mean is None else self.tables.mean
        on_mean = x @ mean
        squares = np.add.reduceat(np.append(x.data.astype(np.float64) ** 2, 0.0), x.indptr[:-1])
        squares[np.diff(x.indptr) == 0] = 0.0
        length = np.sqrt(np.maximum(squares - 2.0 * on_mean + mean @ mean, 0.0))
        # one more entry: there may be none
        self.rows = (x.indptr.astype(np.int64), np.append(x.indices, 0).astype(np.int32),
                     np.append(x.data, 0.0).astype(np.float64))
        cdef const int64_t[::1] first = self.rows[0]
        cdef const int32_t[::1] column = self.rows[1]
        cdef const double[::1] entry = self.rows[2]
        self.first, self.column, self.entry = &first[0], &column[0], &entry[0]
        self.of_mean = mean @ mean
        self.length, self.on_mean = self.memory.doubles(N), self.memory.doubles(N)
        for i in range(N):
            self.length[i], self.on_mean[i] = length[i], on_mean[i]

    cdef double chance(self, Py_ssize_t u, Py_ssize_t v, bint opposite) noexcept nogil:
        """1 - (1 - p^K)^L of u, or -u, and v."""
        cdef double p = self.similarity(u, v) if u < v else self.similarity(v, u)
        if opposite:
            p = 1.0 - p
        return self.of_similarity(p)

    cdef double of_similarity(self, double p) noexcept nogil:
        """1 - (1 - p^K)^L."""
        if p >= 1.0:
            return 1.0
        p = pow(p, <double> self.tables.bits)
        return -expm1(<double> self.tables.tables * log1p(-p))

    cdef double similarity(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil:
        """p = 1 - angle / pi of u < v (equation 2)."""
        cdef int64_t key = <int64_t> u * self.tables.N + v
        # Fibonacci hashing
        cdef uint64_t scattered = <uint64_t> key * <uint64_t> 0x9E3779B97F4A7C15ULL
        cdef Py_ssize_t slot = <Py_ssize_t> (scattered >> 20) & (self.slots - 1)
        cdef double p
        self.looked_up += 1
        while self.keys[slot] >= 0:
            if self.keys[slot] == key:
                self.served += 1
                return self.kept[slot]
            slot = (slot + 1) & (self.slots - 1)
        p = of_cosine(self.cosine(u, v))
        if 2 * self.filled < self.slots:
            self.keys[slot] = key
            self.kept[slot] = p
            self.filled += 1
        return p

    cdef double cosine(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil:
        """Probability of collision at the angle between two centred items; 0 where one has no direction."""
        cdef Py_ssize_t d, D = self.tables.D
        cdef double cosine = 0.0
        if self.unit == NULL:
            return self.sparse_cosine(u, v)
        for d in range(D):
            cosine += self.unit[u * D + d] * self.unit[v * D + d]
        return cosine

    cdef double sparse_cosine(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil:
        cdef int64_t s = self.first[u], t = self.first[v], end_s = self.first[u + 1], end_t = self.first[v + 1]
        cdef double inner = 0.0, lengths = self.length[u] * self.length[v]
        while s < end_s and t < end_t:
            if self.column[s] == self.column[t]:
                inner += self.entry[s] * self.entry[t]
                s += 1
                t += 1
            elif self.column[s] < self.column[t]:
                s += 1
            else:
                t += 1
        return (inner - self.on_mean[u] - self.on_mean[v] + self.of_mean) / lengths if lengths > 0.0 else 0.0


cdef double of_cosine(double cosine) noexcept nogil:
    """p = 1 - angle / pi (equation 2)."""
    return 1.0 - acos(min(1.0, max(-1.0, cosine))) / M_PI


cdef class Estimates:
    """Equation 11: the log likelihood of a cluster from the items that its mean finds in the tables,

        sum over i in S of log p(x_i) / Pr_i,        Pr_i = 1 - (1 - p^K)^L of x_i and the mean,

    S the union of the buckets into which the mean falls. (The second line of the equation, log p - log Pr, is another
    number.) The tables stay as they are: the same cluster has the same estimate whenever it is asked for.

    Dense items. Memory: 4 bytes a bucket and 12 an item.
    """

    def __init__(self, Collisions chances not None):
        self.memory = Memory()
        cdef HashTables tables = chances.tables
        self.chances, self.tables = chances, tables
        self.unions = HashSums(tables, "union")
        held = tables.starts[:-1]
        # a bucket has the code of any of its items; the buckets of a table follow the previous table's
        member = tables.members[held]
        table = np.searchsorted(np.cumsum(_members_by_table(tables)), held, side="right")
        self.firsts = np.searchsorted(table, np.arange(tables.tables + 1)).astype(np.int32)
        self.codes = np.append(tables.codes[member, table], 0).astype(np.int32)
        self.centre = np.zeros(tables.D) if tables.mean is None else tables.mean
        self.directions = tables.directions
        cdef const int32_t[::1] code = self.codes
        cdef const int32_t[::1] first = self.firsts
        cdef const double[::1] centre = self.centre
        cdef const float[:, ::1] direction = self.directions
        self.code, self.first, self.mean_of_all, self.direction = &code[0], &first[0], &centre[0], &direction[0, 0]
        self.mean, self.sums = self.memory.doubles(tables.D), self.memory.doubles(tables.tables * tables.bits)
        self.query = self.memory.ints(tables.tables)

    cdef double of_cluster(self, PlugIn densities, Py_ssize_t k, const int32_t *items, Py_ssize_t n) noexcept nogil:
        """Estimate of cluster (or scratch column) k, which has these items."""
        cdef Py_ssize_t t, d, b, i, D = self.tables.D, J = self.tables.tables * self.tables.bits, n_near = 0
        cdef double total = 0.0, length = 0.0, cosine, chance
        cdef double *unit
        densities.locate(k, self.mean)
        if not project(self.mean, self.mean_of_all, self.direction, D, J, self.sums):
            return 0.0
        write_codes(self.sums, True, self.tables.bits, self.tables.tables, self.query)
        self.unions.begin_union()
        for t in range(self.tables.tables):
            b = self.bucket_of(t, self.query[t])
            if b >= 0:
                n_near = self.unions.join_bucket(b, n_near)
        for d in range(D):
            self.mean[d] -= self.mean_of_all[d]
            length += self.mean[d] * self.mean[d]
        length = sqrt(length)
        for t in range(n):
            i = items[t]
            if self.unions.seen[i] != self.unions.queries:
                continue
            unit = self.chances.unit + i * D
            cosine = 0.0
            for d in range(D):
                cosine += unit[d] * self.mean[d]
            chance = self.chances.of_similarity(of_cosine(cosine / length))
            total += densities.log_plug_in(i, k) / chance
        return total

    cdef Py_ssize_t bucket_of(self, Py_ssize_t table, int32_t code) noexcept nogil:
        """Bucket of a code in a table; -1 if no item has the code."""
        cdef Py_ssize_t low = self.first[table], high = self.first[table + 1], end = high, middle
        while low < high:
            middle = (low + high) // 2
            if self.code[middle] < code:
                low = middle + 1
            else:
                high = middle
        return low if low < end and self.code[low] == code else -1


def _members_by_table(tables):
    """ndarray of int: items with a direction, for every table."""
    return (tables.bucket >= 0).sum(axis=0)


_lock = threading.Lock()
_shared = weakref.WeakValueDictionary()
_latest = []


def tables_of(vectors, bits, tables, centre, seed):
    """Hash tables of these vectors that all chains share: built once while somebody holds them, or the vectors were
    the last ones hashed."""
    key = (id(vectors), bits, tables, centre, seed)
    with _lock:
        shared = _shared.get(key)
        if shared is None:
            # the tables hold the vectors, so no others can have their number
            shared = _shared[key] = HashTables(vectors, bits, tables, centre, seed)
            shared.source = vectors
        _latest[:] = [shared]
        return shared


def _check_room(wanted, bits, tables):
    """Reject tables that the machine cannot hold before any of it is taken."""
    try:
        room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if wanted > room:
        raise ValueError(f"sampler.tables={tables}, sampler.bits={bits}: the hash tables would take "
                         f"{wanted / 2**30:.3g} GiB; expected less than the machine's {room / 2**30:.3g}")


cdef int hash_dense(const number[:, ::1] x, const double[::1] mean, const float[:, ::1] directions, int bits,
                    int32_t[:, ::1] codes) except -1:
    """Codes of dense vectors, item by item."""
    cdef Py_ssize_t i, N = x.shape[0], D = x.shape[1], J = directions.shape[1]
    cdef double *sums = doubles(J)
    with nogil:
        for i in range(N):
            write_codes(sums, project(&x[i, 0], &mean[0], &directions[0, 0], D, J, sums), bits, codes.shape[1],
                        &codes[i, 0])
    free(sums)
    return 0


cdef bint project(const number *x, const double *mean, const float *directions, Py_ssize_t D, Py_ssize_t J,
                  double *sums) noexcept nogil:
    """sums[:J]: projections of x - mean. Returns whether it has a direction."""
    cdef Py_ssize_t d, j
    cdef const float *w
    cdef double v, norm = 0.0, least = 0.0
    memset(sums, 0, J * sizeof(double))
    for d in range(D):
        v = x[d] - mean[d]
        norm += v * v
        least += 1e-24 * (<double> x[d] * x[d] + mean[d] * mean[d])
        w = directions + d * J
        for j in range(J):
            sums[j] += v * w[j]
    return norm > least


cdef int hash_sparse(const int64_t[::1] indptr, const int32_t[::1] indices, const double[::1] data,
                     const double[::1] mean, const double[::1] offset, const float[:, ::1] directions, int bits,
                     int32_t[:, ::1] codes) except -1:
    """Codes of sparse vectors, in time proportional to what is not 0."""
    cdef Py_ssize_t i, s, j, d, N = indptr.shape[0] - 1, J = directions.shape[1]
    cdef double *sums = doubles(J)
    cdef const float *w
    cdef double v, norm, least, of_mean = 0.0
    for d in range(mean.shape[0]):
        of_mean += mean[d] * mean[d]
    with nogil:
        for i in range(N):
            memcpy(sums, &offset[0], J * sizeof(double))
            norm = least = of_mean
            for s in range(indptr[i], indptr[i + 1]):
                d = indices[s]
                v = data[s]
                norm += v * (v - 2.0 * mean[d])
                least += v * v
                w = &directions[d, 0]
                for j in range(J):
                    sums[j] += v * w[j]
            # the sum of squares loses the digits that the mean's has
            write_codes(sums, norm > 1e-12 * least, bits, codes.shape[1], &codes[i, 0])
    free(sums)
    return 0


cdef void write_codes(const double *sums, bint directed, int bits, Py_ssize_t tables, int32_t *codes) noexcept nogil:
    cdef Py_ssize_t t, b
    for t in range(tables):
        codes[t] = 0 if directed else -1
        if directed:
            for b in range(bits):
                codes[t] |= <int32_t> (sums[t * bits + b] >= 0.0) << b
