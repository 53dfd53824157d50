"""A partition of items: labels, lists of members, and the changes that a sampler commits.

(a) *Columns.* What is known of a cluster stands in a column: its size, its statistics, its likelihood, its weight in a
    scan. Columns 0..K-1 are the live clusters; the columns behind them are scratch, where proposals are built. A
    rejected proposal needs no undo.
(b) *Order.* Items of a cluster are visited in item order. The linked lists of members support relabelling only: nothing
    reads their order, so that labels and generator state are the whole state of a chain.
"""
from libc.math cimport NAN
from libc.stdlib cimport qsort
from libc.string cimport memset

import numpy as np

from splitmerge_cli.core.memory cimport copy_ints
from splitmerge_cli.core.recording cimport AUXILIARIES


cdef int compare_ints(const void *a, const void *b) noexcept nogil:
    return (<const int32_t *> a)[0] - (<const int32_t *> b)[0]


cdef class Partition(Sums):
    """A partition of N items into clusters 0..K-1, with a column of statistics for each; an abstract class.

    A model supplies the statistics, as `Sums` or by hand (``grow``, ``clear``, ``add``, ``remove``, ``copy``,
    ``absorb``), and the log likelihood, ``log_of``.
    """

    def __cinit__(self, *args, **kwargs):
        self.version = 1

    cdef int _allocate(self, Py_ssize_t n_items, Py_ssize_t kmax) except -1:
        """Allocate the state for `n_items` items; called once by a model's constructor."""
        self.N = n_items
        self.total = max(self.total, n_items)
        self.kmax = kmax
        # a shard, or who asks the shards, may have no items
        self.z = self.memory.ints(max(n_items, 1))
        if not self.lists_later:
            self.after = self.memory.ints(max(n_items, 1))
            self.before = self.memory.ints(max(n_items, 1))
        self._reserve(1)
        return 0

    # -- what a model supplies
    cdef double log_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Log marginal likelihood of cluster a, joined with cluster b unless b is -1."""
        return NAN

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        return self.log_of(k, -1)

    cdef void count_changed(self) noexcept nogil:
        """Called after every change of the number K of clusters."""
        pass

    # -- room
    cdef int reserve(self, Py_ssize_t clusters) except -1 nogil:
        """Make sure of columns for this many live clusters and three scratch ones."""
        if clusters + 3 > self.cap:
            with gil:
                self._reserve(clusters)
        return 0

    cdef int _reserve(self, Py_ssize_t clusters) except -1:
        cdef Py_ssize_t cap = self.cap if self.cap else 8, old = self.cap, k
        while clusters + 3 > cap:
            cap *= 2
        if cap == self.cap:
            return 0
        self.widen(cap)
        self.size = <int32_t *> self.memory.larger(self.size, old * 4, cap * 4)
        self.head = <int32_t *> self.memory.larger(self.head, old * 4, cap * 4)
        self.ll = <double *> self.memory.larger(self.ll, old * 8, cap * 8)
        self.is_valid = <int8_t *> self.memory.larger(self.is_valid, old, cap)
        self.numbers = <int32_t *> self.memory.larger(self.numbers, old * 4, cap * 4)
        self.W = <double *> self.memory.larger(self.W, old * 8, cap * 8)
        self.w = <double *> self.memory.larger(self.w, old * 8, cap * 8)
        if self.name != NULL:
            self.name = <int32_t *> self.memory.larger(self.name, old * 4, cap * 4)
            for k in range(old, cap):
                self.name[k] = -1
        for k in range(old, cap):
            self.head[k] = -1
            self.numbers[k] = <int32_t> k
        return 0

    # -- membership
    cdef void link(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef int32_t first = self.head[k]
        self.z[i] = <int32_t> k
        self.before[i] = -1
        self.after[i] = first
        if first >= 0:
            self.before[first] = <int32_t> i
        self.head[k] = <int32_t> i

    cdef void unlink(self, Py_ssize_t i) noexcept nogil:
        cdef int32_t prev = self.before[i], then = self.after[i]
        if prev >= 0:
            self.after[prev] = then
        else:
            self.head[self.z[i]] = then
        if then >= 0:
            self.before[then] = prev

    cdef int keep_lists(self) except -1:
        """Called by what asks for members, or reads the lists after ``relist``: where they are not kept from the
        beginning they are from here on."""
        return 0

    cdef void relist(self) noexcept nogil:
        """Bring the lists up to date where they are not always."""
        pass

    cdef Py_ssize_t members(self, Py_ssize_t a, Py_ssize_t b, int32_t *items) noexcept nogil:
        """Items of clusters a and b (the same twice for one cluster), in item order; returns how many."""
        cdef Py_ssize_t i, n = self.size[a], bits = 1
        cdef int32_t k
        if b != a:
            n += self.size[b]
        while (1 << bits) < n:
            bits += 1
        if self.after == NULL or 8 * n * bits >= self.N:
            # One pass over all labels; the position is written whether it stays or not, so the loop does not branch.
            # It stops at the last member, before it could write past the items of the two clusters.
            bits = 0
            i = 0
            while bits < n:
                items[bits] = <int32_t> i
                bits += (self.z[i] == a) | (self.z[i] == b)
                i += 1
            return n
        self.relist()
        n = 0
        for i in range(2 if b != a else 1):
            k = self.head[b if i else a]
            while k >= 0:
                items[n] = k
                n += 1
                k = self.after[k]
        qsort(items, n, sizeof(int32_t), compare_ints)
        return n

    # -- names of clusters, where two chains are coupled (``core/coupled.pyx``)
    cdef int name_clusters(self) except -1:
        """From here on clusters have names, of 0, 1, ...; N + i is the one that item i founds, 2 N + t is auxiliary."""
        cdef Py_ssize_t k
        if self.name == NULL:
            self.name = self.memory.ints(self.cap)
            for k in range(self.cap):
                self.name[k] = -1
        return 0

    cdef void name_options(self, Py_ssize_t i) noexcept nogil:
        """A new cluster has the name of item i, and so has the item's own where it is alone."""
        cdef Py_ssize_t own = self.z[i]
        if self.allows_empty:
            return
        self.name[self.K] = <int32_t> (self.N + i)
        if self.size[own] == 1:
            self.name[self.K] = -1
            self.name[own] = <int32_t> (self.N + i)

    cdef void name_auxiliaries(self, Py_ssize_t m) noexcept nogil:
        """Name the first of m auxiliary clusters."""
        cdef Py_ssize_t t
        if self.name != NULL:
            for t in range(m):
                self.name[self.K + t] = <int32_t> (2 * self.N + t) if t < AUXILIARIES else -1

    # -- changes of the state
    cdef void take_out(self, Py_ssize_t i) noexcept nogil:
        """Take item i out of the partition: it is not placed, z[i] = -1, until ``put``. Its cluster may become
        empty."""
        cdef Py_ssize_t k = self.z[i]
        self.leave(i, k)
        self.unlink(i)
        self.z[i] = -1
        self.update_prior_weight(k)
        self.version += 1

    cdef void put(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Put item i, which is not placed, into live cluster k."""
        self.join(i, k)
        self.link(i, k)
        self.update_prior_weight(k)
        self.version += 1

    cdef int reset(self, const int32_t *labels, Py_ssize_t K) except -1 nogil:
        """Make this the partition and count all statistics afresh."""
        cdef Py_ssize_t i, k, columns = max(K, self.K)
        self.reserve(K)
        self.K = K
        self.count_changed()
        memset(self.W, 0, self.cap * sizeof(double))
        memset(self.z, 255, self.N * sizeof(int32_t))
        for k in range(columns):
            self.scratch(k)
            self.head[k] = -1
        for i in range(self.N):
            self.join(i, labels[i])
            self.link(i, labels[i])
        self.begin_scan()
        self.version += 1
        return 0

    cdef void begin_scan(self) noexcept nogil:
        """Make ready for ``scan``: an empty column behind the clusters, and the prior weights of all options. W[k] is 0
        for every k > K at any time, so a scan may run over whole blocks of eight columns."""
        cdef Py_ssize_t k
        if not self.allows_empty:
            self.scratch(self.K)
        for k in range(self.K):
            self.update_prior_weight(k)
        self.W[self.K] = self.new_cluster_weight

    cdef int move(self, Py_ssize_t i, Py_ssize_t k) except -1 nogil:
        """Put item i into cluster k; k = K opens a new one. Without empty clusters an emptied cluster is deleted."""
        cdef Py_ssize_t old = self.z[i]
        if k == self.K:
            self.append_empty()
            if self.name != NULL:
                self.name[k] = <int32_t> (self.N + i)
        self.leave(i, old)
        self.unlink(i)
        self.join(i, k)
        self.link(i, k)
        self.update_prior_weight(old)
        self.update_prior_weight(k)
        self.version += 1
        if self.size[old] == 0 and not self.allows_empty:
            self.delete(old)
        return 0

    cdef int append_empty(self) except -1 nogil:
        """One more cluster, with no items, behind the others."""
        self.reserve(self.K + 1)
        self.scratch(self.K)
        self.head[self.K] = -1
        if self.name != NULL:
            self.name[self.K] = -1
        self.K += 1
        self.count_changed()
        self.update_prior_weight(self.K - 1)
        # The column behind is the next "new cluster" of a scan that is under way.
        self.scratch(self.K)
        self.W[self.K] = self.new_cluster_weight
        self.version += 1
        return 0

    cdef void delete(self, Py_ssize_t k) noexcept nogil:
        """Delete cluster k, which has no members; the last cluster takes its number."""
        cdef Py_ssize_t last = self.K - 1
        cdef int32_t i
        if k != last:
            self.copy_column(last, k)
            self.W[k] = self.W[last]
            self.head[k] = self.head[last]
            if self.name != NULL:
                self.name[k] = self.name[last]
            i = self.head[k]
            while i >= 0:
                self.z[i] = <int32_t> k
                i = self.after[i]
        self.W[self.K] = 0.0
        self.K = last
        self.count_changed()
        self.head[last] = -1
        self.scratch(last)
        self.W[last] = self.new_cluster_weight
        self.version += 1

    cdef int commit_split(self, Py_ssize_t c, const int32_t *to_b, Py_ssize_t n) except -1 nogil:
        """Put scratch column K (side A) in the place of cluster c; scratch column K + 1 (side B), which holds the n
        items `to_b`, becomes cluster K."""
        cdef Py_ssize_t a = self.K, t
        self.reserve(self.K + 1)
        self.copy_column(a, c)
        self.copy_column(a + 1, a)
        self.head[a] = -1
        if self.name != NULL:
            self.name[a] = -1
        self.K += 1
        self.count_changed()
        for t in range(n):
            self.unlink(to_b[t])
            self.link(to_b[t], a)
        self.version += 1
        return 0

    cdef void commit_merge(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Clusters i and j become one, numbered min(i, j)."""
        cdef Py_ssize_t keep = i if i < j else j, gone = j if i < j else i
        cdef int32_t t
        self.absorb_column(keep, gone, 1)
        while self.head[gone] >= 0:
            t = self.head[gone]
            self.unlink(t)
            self.link(t, keep)
        self.delete(gone)

    cdef int commit_sides(self, const int32_t *clusters, Py_ssize_t m, const int32_t *items, const int8_t *side,
                          Py_ssize_t n) except -1 nogil:
        """Scratch columns K, ..., K + m - 1 take the place of these m clusters, the last of which may be K (a new one);
        items[t] goes to clusters[side[t]]."""
        cdef Py_ssize_t t, s, k, scratch = self.K
        self.reserve(self.K + 1)
        for s in range(m):
            k = clusters[s]
            if k == scratch:
                self.K += 1
                self.count_changed()
                self.head[k] = -1
                if self.name != NULL:
                    self.name[k] = -1
            self.copy_column(scratch + s, k)
        for t in range(n):
            self.unlink(items[t])
            self.link(items[t], clusters[side[t]])
        self.version += 1
        return 0

    cdef int32_t five_largest(self, double *top) noexcept nogil:
        """Fractions of the items in the five largest clusters; returns the number of clusters that hold items."""
        cdef Py_ssize_t k
        cdef int s
        cdef int32_t n, swap, occupied = 0
        cdef int32_t best[LARGEST]
        for s in range(LARGEST):
            best[s] = 0
        for k in range(self.K):
            n = self.size[k]
            occupied += n > 0
            if n > best[LARGEST - 1]:
                for s in range(LARGEST):
                    if n > best[s]:
                        swap = best[s]
                        best[s] = n
                        n = swap
        for s in range(LARGEST):
            top[s] = <double> best[s] / self.N
        return occupied

    # -- Python side
    @property
    def n_clusters(self):
        """int: clusters that hold items."""
        cdef Py_ssize_t k, n = 0
        for k in range(self.K):
            n += self.size[k] > 0
        return n

    @property
    def labels(self):
        """ndarray of int32, shape (N,): cluster number of each item, a copy."""
        return copy_ints(self.z, self.N)

    @property
    def sizes(self):
        """ndarray of int32, shape (K,): items in each cluster, a copy."""
        return copy_ints(self.size, self.K)

    def set_labels(self, labels, K=None):
        """Set the partition, integers from 0 of shape (N,), and count all statistics afresh. Numbers that no item has
        are closed up, except where the model keeps empty clusters; there `K` is the number of clusters, these included,
        by default the largest number plus one. A ValueError for a wrong length, a negative number, or more clusters
        than ``kmax``."""
        given = np.asarray(labels)
        if given.shape != (self.N,) or not np.issubdtype(given.dtype, np.integer):
            raise ValueError(f"labels: expected {self.N} integers, got shape {given.shape} of {given.dtype}")
        if given.min() < 0:
            raise ValueError("labels: a cluster number is negative")
        if not self.allows_empty:
            filled, given = np.unique(given, return_inverse=True)
            if K is not None and K != len(filled):
                raise ValueError(
                    f"K: this model keeps no empty clusters, the labels have {len(filled)} clusters, not {K}"
                )
        count = int(given.max()) + 1
        if K is not None:
            if isinstance(K, bool) or not isinstance(K, (int, np.integer)):
                raise ValueError(f"K: expected a whole number, got {K!r}")
            if K < count:
                raise ValueError(f"K: {K} clusters, but the labels use {count}")
            count = K
        if count > self.kmax:
            raise ValueError(f"K: {count} clusters, but the model allows at most {self.kmax}")
        cdef int32_t[::1] v = np.ascontiguousarray(given, dtype=np.int32)
        self.reset(&v[0], count)
