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

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np
import scipy.sparse

from splitmerge_cli.core.memory cimport doubles

from splitmerge_cli.core.options import Choice, Count

MOST_BITS = 30

READING = Choice("reading", "table", "how an item is drawn: table (from one table's bucket) or union (from the "
                 "buckets of all tables)", choices=("table", "union"))
BITS = Count("bits", 10, "K of the paper: bits of a table's code", least=1, most=MOST_BITS)
TABLES = Count("tables", 10, "L of the paper", least=1)
SEED = Count("tables_seed", 0, "seed of the projections, fixed because the tables are part of the kernel", most=1 << 62)


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
        else:
            for first in range(0, self.N, 4096):
                part = np.asarray(self.vectors[first:first + 4096], dtype=np.float64)
                hash_dense(part, mean, self.directions, self.bits, codes[first:])
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


cdef int hash_dense(const double[:, ::1] x, const double[::1] mean, const float[:, ::1] directions, int bits,
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


cdef bint project(const double *x, const double *mean, const float *directions, Py_ssize_t D, Py_ssize_t J,
                  double *sums) noexcept nogil:
    """sums[:J]: projections of x - mean. Returns whether it has a direction."""
    cdef Py_ssize_t d, j
    cdef const float *w
    cdef double v, norm = 0.0, least = 0.0
    memset(sums, 0, J * sizeof(double))
    for d in range(D):
        v = x[d] - mean[d]
        norm += v * v
        least += 1e-24 * (x[d] * x[d] + mean[d] * mean[d])
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
