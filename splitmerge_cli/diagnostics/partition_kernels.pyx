"""Loops over partitions: the search for a point estimate (items that pairs of partitions share, moves of blocks).

Design. A move is judged by counts alone: for each cluster of each sampled partition, how many of its items lie in each
cluster of the estimate (`table`, a row a sampled cluster, uint16 where N allows it, so that it stays in the cache). The
cost of block i in cluster k reads one row of `table` for each sampled partition; it depends on column k alone, so it is
kept, with the number of changes that column k had seen, and read again until the column changes. Sums run in one order:
a stored cost equals the cost that would be computed again.
"""
import numpy as np

from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memset

ctypedef fused count_t:
    uint16_t
    int32_t


def shared_terms(const int32_t[:, ::1] rows, const int64_t[::1] size, const int64_t[::1] widths,
                 const double[::1] weight, const double[::1] f):
    """Mean over sampled partitions of sum_kl f(n_kl), for each of them: float64 ``[M]``, n_kl being the items that
    cluster k of the one and cluster l of the other share.

    `rows`: sampled partitions of the blocks ``[M, A]``, clusters from 0; `size`: items of every block ``[A]``;
    `widths`: clusters of every partition ``[M]``; `weight`: share of every partition ``[M]``, they sum to 1; `f`: cost
    of a number of items ``[N + 1]``, f(0) = 0. Source: Wade and Ghahramani 2018, section 2.
    """
    cdef Py_ssize_t M = rows.shape[0], A = rows.shape[1], x, m, a, cells, most = 0
    cdef double total
    cdef Py_ssize_t wide
    for m in range(M):
        most = max(most, widths[m])
    cdef int32_t[::1] counts = np.zeros(most * most, dtype=np.int32)
    cdef double[::1] found = np.zeros(M)
    with nogil:
        for x in range(M):
            for m in range(x, M):
                wide = widths[m]
                cells = widths[x] * wide
                for a in range(A):
                    counts[rows[x, a] * wide + rows[m, a]] += <int32_t> size[a]
                total = 0.0
                if cells <= 2 * A:
                    for a in range(cells):
                        total += f[counts[a]]
                    memset(&counts[0], 0, cells * sizeof(int32_t))
                else:
                    # a cell is empty once it is counted, and f(0) = 0
                    for a in range(A):
                        total += f[counts[rows[x, a] * wide + rows[m, a]]]
                        counts[rows[x, a] * wide + rows[m, a]] = 0
                found[x] += weight[m] * total
                if m > x:
                    found[m] += weight[x] * total
    return np.asarray(found)


def cross_terms(const int32_t[:, ::1] rows, const int32_t[:, ::1] others, const double[::1] f):
    """sum_kl f(n_kl) of every pair of partitions ``[A, N]`` and ``[B, N]``, clusters from 0: float64 ``[A, B]``, n_kl
    being the items that cluster k of the one and cluster l of the other share; `f` as of `shared_terms`."""
    cdef Py_ssize_t A = rows.shape[0], B = others.shape[0], N = rows.shape[1], a, b, i, k, t, first
    cdef int32_t most = max(int(np.max(rows)), int(np.max(others))) + 1
    cdef int32_t[::1] begins = np.empty(most + 1, dtype=np.int32)
    cdef int32_t[::1] order = np.empty(N, dtype=np.int32)
    cdef int32_t[::1] counts = np.zeros(most, dtype=np.int32)
    cdef double[:, ::1] found = np.empty((A, B))
    cdef double total
    with nogil:
        for a in range(A):
            # items by their cluster, so that one row of counts is enough
            memset(&begins[0], 0, (most + 1) * sizeof(int32_t))
            for i in range(N):
                begins[rows[a, i] + 1] += 1
            for k in range(most):
                begins[k + 1] += begins[k]
            for i in range(N):
                order[begins[rows[a, i]]] = <int32_t> i
                begins[rows[a, i]] += 1
            for b in range(B):
                total = 0.0
                first = 0
                for k in range(most):
                    if first == N:
                        break
                    for t in range(first, begins[k]):
                        counts[others[b, order[t]]] += 1
                    for t in range(first, begins[k]):
                        # a cell is empty once it is counted, and f(0) = 0
                        total += f[counts[others[b, order[t]]]]
                        counts[others[b, order[t]]] = 0
                    first = begins[k]
                found[a, b] = total
    return np.asarray(found)


cdef inline void shift(count_t[:, ::1] table, const int32_t *rows, Py_ssize_t M, Py_ssize_t k,
                       int32_t by) noexcept nogil:
    """Add `by` to column k of M rows of the table."""
    cdef Py_ssize_t m
    for m in range(M):
        table[rows[m], k] = <count_t> (table[rows[m], k] + by)


cdef void add_single(count_t[:, ::1] table, const int32_t *rows, Py_ssize_t M, Py_ssize_t width, const double *weight,
                     const double *grown, double *sums) noexcept nogil:
    """Add to sums[k] what the clusters of a block of one item gain by it in column k, for all columns."""
    cdef Py_ssize_t m, k
    cdef double w
    cdef const count_t *row
    for m in range(M):
        w = weight[m]
        row = &table[rows[m], 0]
        for k in range(width):
            sums[k] += w * grown[row[k]]


cdef void add_any(count_t[:, ::1] table, const int32_t *rows, Py_ssize_t M, Py_ssize_t width, const double *weight,
                  const double *f, Py_ssize_t s, double *sums) noexcept nogil:
    """Add the terms of `add_single` for a block of s items."""
    cdef Py_ssize_t m, k
    cdef double w
    cdef const count_t *row
    for m in range(M):
        w = weight[m]
        row = &table[rows[m], 0]
        for k in range(width):
            sums[k] += w * (f[row[k] + s] - f[row[k]])


cdef void add_some(count_t[:, ::1] table, const int32_t *rows, Py_ssize_t M, const Py_ssize_t *columns, Py_ssize_t n,
                   const double *weight, const double *f, Py_ssize_t s, double *sums) noexcept nogil:
    """Add the terms of `add_any` for n columns of the table, to sums[:n]."""
    cdef Py_ssize_t m, k
    cdef double w
    cdef const count_t *row
    for m in range(M):
        w = weight[m]
        row = &table[rows[m], 0]
        for k in range(n):
            sums[k] += w * (f[row[columns[k]] + s] - f[row[columns[k]]])


def place_blocks(const int64_t[::1] order, Py_ssize_t begin, int64_t[::1] labels, int64_t[::1] sizes,
                 count_t[:, ::1] table, const int32_t[:, ::1] cluster, const int64_t[::1] size,
                 const double[::1] weight, const double[::1] f, const double[::1] own_f, const double[::1] grown,
                 int64_t[::1] changes, double[:, ::1] kept, int64_t[:, ::1] kept_at, Py_ssize_t used,
                 Py_ssize_t fewest, Py_ssize_t most, double least_gain, int64_t allowed, int64_t step):
    """Put blocks order[begin:] in turn where the expected loss is least, until a further column is needed or the work
    is done. Returns how many blocks of `order` are done, columns in use, cells read, and whether a block moved.

    `labels`: column of every block ``[A]``, INOUT, -1: yet to be placed; `sizes`: items in every column ``[W]``, INOUT;
    `table`: items that each of C sampled clusters shares with each column ``[C, W]``, INOUT; `cluster`: rows of `table`
    of every block ``[A, M]``; `size`: items of every block ``[A]``; `weight`: share of every sampled partition ``[M]``.

    `f`, `own_f`: cost of the items that a sampled cluster shares with a column, and of the items of a column, ``[N +
    1]``; `grown`: f(n + 1) - f(n) ``[N]``. `changes`: how often every column has changed ``[W]``, INOUT, from 1.
    `kept`, `kept_at`: what the clusters of a block gain by it in each column ``[A, W]``, INOUT, and `changes` when it
    was found, 0: not yet. Of the column that a block is in, it is what they would gain if it were taken out and put
    back. Shape (1, W): nothing is kept.

    `used`: columns in front that hold items or held some; `fewest`: columns that no move leaves fewer of with items;
    `most`: columns that there may be; `least_gain`: what a move has to gain; `allowed`: cells that may be read, a block
    counts `step` more.
    """
    cdef Py_ssize_t W = table.shape[1], M = cluster.shape[1], at = begin, i, r, k, width, old, new, stale
    cdef bint keeps = kept.shape[0] > 1 or size.shape[0] == 1, moved = False
    cdef int64_t work = 0, s, n
    cdef Py_ssize_t filled = np.count_nonzero(sizes)
    cdef double cost, least, own
    cdef const int32_t *rows
    cdef double[::1] sums = np.empty(W)
    cdef Py_ssize_t[::1] columns = np.empty(W, dtype=np.intp)
    with nogil:
        while at < order.shape[0] and work <= allowed:
            i = order[at]
            at += 1
            s = size[i]
            r = i if keeps else 0
            rows = &cluster[i, 0]
            old = labels[i]
            if old >= 0 and sizes[old] == s and filled <= fewest:
                continue
            # the clusters that hold items, and one that is empty if there may be one more
            width = min(used + 1, W)
            stale = 0
            for k in range(width):
                if not keeps or kept_at[r, k] != changes[k]:
                    columns[stale] = k
                    stale += 1
            work += step
            if stale:
                if old >= 0:
                    shift(table, rows, M, old, -<int32_t> s)
                if 2 * stale > width:
                    # all of them, next to each other
                    stale = width
                    for k in range(width):
                        columns[k] = k
                        sums[k] = 0.0
                    if s == 1:
                        add_single(table, rows, M, width, &weight[0], &grown[0], &sums[0])
                    else:
                        add_any(table, rows, M, width, &weight[0], &f[0], s, &sums[0])
                else:
                    for k in range(stale):
                        sums[k] = 0.0
                    add_some(table, rows, M, &columns[0], stale, &weight[0], &f[0], s, &sums[0])
                for k in range(stale):
                    kept[r, columns[k]] = sums[k]
                    kept_at[r, columns[k]] = changes[columns[k]]
                work += stale * M
                if old >= 0:
                    shift(table, rows, M, old, <int32_t> s)
            new = -1
            least = own = 0.0
            for k in range(width):
                n = sizes[k] - (s if k == old else 0)
                cost = own_f[n + s] - own_f[n] - 2 * kept[r, k]
                if new < 0 or cost < least:
                    new, least = k, cost
                if k == old:
                    own = cost
            if new == old or (old >= 0 and least > own - least_gain):
                continue
            if old >= 0:
                shift(table, rows, M, old, -<int32_t> s)
                sizes[old] -= s
                if sizes[old] == 0:
                    filled -= 1
                changes[old] += 1
                # what was kept is of both columns without the block: of the old one as it is now
                kept_at[r, old] = changes[old]
            shift(table, rows, M, new, <int32_t> s)
            if sizes[new] == 0:
                filled += 1
            sizes[new] += s
            changes[new] += 1
            kept_at[r, new] = changes[new]
            labels[i] = new
            moved = True
            if new >= used:
                used = new + 1
                if used == W and W < most:
                    break
    return at, used, work, moved


def join_terms(const int32_t[:, ::1] table, const double[::1] weight, const double[::1] f, Py_ssize_t k):
    """Weighted mean of sum_c (f(n_ck + n_cl) - f(n_ck) - f(n_cl)) over the sampled clusters c, for every column l:
    float64 ``[K]``, whose entry k is not used.

    `table`: items that each of C sampled clusters shares with each column ``[C, K]``; `weight`: share of the sampled
    partition that each of them is of ``[C]``; `f` as of `shared_terms`.
    """
    cdef Py_ssize_t C = table.shape[0], K = table.shape[1], c, other
    cdef int32_t n
    cdef double[::1] found = np.zeros(K)
    with nogil:
        for c in range(C):
            n = table[c, k]
            # two columns that a cluster does not meet both gain nothing by it
            if n == 0:
                continue
            for other in range(K):
                if table[c, other]:
                    found[other] += weight[c] * (f[n + table[c, other]] - f[n] - f[table[c, other]])
    return np.asarray(found)
