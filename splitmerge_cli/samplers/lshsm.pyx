"""Split-merge by locality-sensitive sampling, LSHSM (Luo & Shrivastava 2018, Algorithm 1): a hash table proposes which
items belong apart, or together.

An item u is drawn, and from the hash tables (``hash_tables.pyx``) an item v unlike it (query -u) or like it (query u).

    paired, paired_sequential
        u and v decide, as the pair of a dyadic move does: in one cluster it is split between them, in two these are
        merged. The probability of (u, v) does not depend on the state, so it cancels, and the ratio is the ratio of the
        dyadic move (``split_merge.pyx``), with the other items allocated by coins or one after the other.
    sums
        Algorithm 1: unlike items of one cluster, a smart split by coins; unlike items of two clusters, a dumb merge of
        any two; like items of two clusters, their smart merge; like items of one, a dumb split of any cluster. The
        ratio needs the sums of q over all pairs that lead to the same proposal:

        R_split = pi'/pi  P-(x') 2 / (M' (M' - 1))  /  (2^-(n-2) X-(A, B))             in place of equations 3 and 4
        R_merge = pi'/pi  P+(x') 2^(1-n) / M'  /  X+(A, B)                             in place of equations 5 and 6

        n items in the two clusters A, B, of M' in the proposal x'; X+-(A, B): that u and v come from A and B, either
        way round; P-: that -u finds an item of another cluster, P+: that u finds one of its own. A dumb move has the
        inverse ratio of the smart one that undoes it.

    As printed (`mode=as_printed`, equations 3 to 6): 1 - (1 - p^K)^L, which holds on average over tables that are
    drawn, times the share of S_u that is in the other cluster, summed over v once more; u from the first cluster alone;
    no P+, no P-, and no factor 2 for the two ways to draw a pair of clusters or to name the sides (term `printed`).
    `likelihood=lss`: the clusters' log likelihoods are the estimates of equation 11 (`Estimates`), a
    fixed function of the partition, since the tables are fixed; what they differ by is the term
    `estimate`.

The tables are fixed: they are part of the kernel, and all chains share them.

Cost, n items in the selected clusters and L tables: `paired` O(n D), a merge O(D); `paired_sequential` n pairs of
predictives; `sums` O(n (D + L) + K), by the union reading n unions of L buckets; after a change by another sampler
O(N L); as_printed: all pairs of the two sides, whose probabilities of collision are kept; lss: O(D K L) more for the
mean of a cluster. Memory: 8 to 16 bytes an item and table for all chains, 4 a bucket (table reading) or 12 an item
(union) for each.
"""
from libc.math cimport INFINITY, M_PI, acos, expm1, log, log1p, pow, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np
import scipy.sparse

from splitmerge_cli.core.capabilities cimport PlugIn
from splitmerge_cli.core.memory cimport Memory
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.samplers.hash_tables cimport HashTables, project, write_codes
from splitmerge_cli.samplers.split_merge cimport SplitMerge

from splitmerge_cli.core.checks import MOST_COUNT, check_count
from splitmerge_cli.core.options import Choice, Count, Flag
from splitmerge_cli.samplers.hash_tables import BITS, READING, SEED, TABLES, tables_of
from splitmerge_cli.samplers.split_merge import allocation_of

CENTRE = Flag("centre", True, "hash items after subtracting their mean")
CACHE = Count("cache", 1 << 20, "mode=as_printed: number of collision probabilities to keep", least=1, most=1 << 30)

cdef double LOG_2 = log(2.0)

cdef enum:
    SMART_SPLIT, DUMB_MERGE, SMART_MERGE, DUMB_SPLIT    # MOVES

cdef enum:
    PAIR = 5                            # TERMS after SplitMerge's
    DUMB
    ESTIMATE

cdef enum:
    ALIKE, UNLIKE                       # sums over the clusters: P+, P-


cdef double log_or_none(double x) noexcept nogil:
    return log(x) if x > 0.0 else -INFINITY


cdef class HashSums:
    """Draws by a reading, and sums of q over the pairs of items from two sets.

    Memory: 4 bytes a bucket (table) or 12 an item (union).
    """

    cdef Memory memory                  # of its arrays
    cdef readonly HashTables tables
    cdef readonly bint united           # the union reading
    cdef int32_t *count                 # [buckets] table reading: items of a set in each bucket
    cdef int32_t *seen                  # [N] union reading: the last query that found the item
    cdef int32_t *within                # [N] the last set that holds it
    cdef int32_t *found                 # [N] items of the union of a query
    cdef int32_t queries, sets

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


cdef double of_cosine(double cosine) noexcept nogil:
    """p = 1 - angle / pi (equation 2)."""
    return 1.0 - acos(min(1.0, max(-1.0, cosine))) / M_PI


cdef class Collisions:
    """Probability 1 - (1 - p^K)^L that two items share a bucket in one of L fresh tables, each with K bits.

    p of equation 2 is stored for as many pairs as there is room for (section 3.2.2).

    Memory: 8 bytes a value of dense items, 12 an entry of sparse ones, for a copy of them, and up to 32 a pair.
    """

    cdef Memory memory                  # of its arrays
    cdef readonly HashTables tables
    cdef double *unit                   # [N, D] centred items of length 1; dense items
    cdef object rows                    # sparse items: the arrays behind the next three
    cdef const int64_t *first           # [N + 1]
    cdef const int32_t *column          # [entries]
    cdef const double *entry            # [entries]
    cdef double *length                 # [N] of the centred item
    cdef double *on_mean                # [N] inner product with the mean
    cdef double of_mean                 # square of the mean's length
    cdef int64_t *keys                  # [slots] pair of items, -1: free
    cdef double *kept                   # [slots] their p
    cdef Py_ssize_t slots
    cdef readonly Py_ssize_t filled     # pairs that are kept
    cdef public Py_ssize_t looked_up, served  # probabilities asked for, and found

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


cdef class Estimates:
    """Equation 11: the log likelihood of a cluster from the items that its mean finds in the tables,

        sum over i in S of log p(x_i) / Pr_i,        Pr_i = 1 - (1 - p^K)^L of x_i and the mean,

    S the union of the buckets into which the mean falls. (The second line of the equation, log p - log Pr, is another
    number.) The tables stay as they are: the same cluster has the same estimate whenever it is asked for.

    Dense items. Memory: 4 bytes a bucket and 12 an item.
    """

    cdef Memory memory                  # of its arrays
    cdef readonly Collisions chances
    cdef readonly HashTables tables
    cdef HashSums unions
    cdef object codes, firsts           # the arrays behind the next two
    cdef const int32_t *code            # [buckets] ascending within a table
    cdef const int32_t *first           # [tables + 1] buckets of each table
    cdef object centre, directions
    cdef const double *mean_of_all      # [D]
    cdef const float *direction         # [D, tables * bits]
    cdef double *mean                   # [D] of the cluster
    cdef double *sums                   # [tables * bits]
    cdef int32_t *query                 # [tables] codes of the mean

    def __init__(self, Collisions chances not None):
        self.memory = Memory()
        cdef HashTables tables = chances.tables
        self.chances, self.tables = chances, tables
        self.unions = HashSums(tables, "union")
        held = tables.starts[:-1]
        # a bucket has the code of any of its items; the buckets of a table follow the previous table's
        member = tables.members[held]
        table = np.searchsorted(np.cumsum((tables.bucket >= 0).sum(axis=0)), held, side="right")
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


cdef class LSHSM(SplitMerge):
    """Split-merge by locality-sensitive sampling: hashed anchors; coins or sequential allocation."""

    OPTIONS = (
        Choice("proposal", "paired_sequential", "the pair by hashing, the rest one by one; paired: by coins; sums: "
               "Algorithm 1", choices=("paired", "paired_sequential", "sums")),
        READING, BITS, TABLES, CENTRE, SEED,
        *SplitMerge.OPTIONS,
        Choice("likelihood", "marginal", "mode=as_printed: likelihood of the clusters: marginal (exact) or lss, the "
               "estimate of equation 11 (dense points of model=gaussian, diag or iso)", choices=("marginal", "lss")),
        CACHE,
    )
    MOVES = ("smart_split", "dumb_merge", "smart_merge", "dumb_split")
    TERMS = (*SplitMerge.TERMS, "pair", "dumb", "estimate")
    PRINTED_TERM = None
    NEEDS_CONJUGATE = False
    SMALL = {"bits": 1, "tables": 2}
    FORMS = {
        "exact": (
            {"proposal": "paired", "reading": "table"},
            {"proposal": "paired", "reading": "union"},
            {"proposal": "paired_sequential", "reading": "table"},
            {"proposal": "paired_sequential", "reading": "union"},
            {"proposal": "sums", "reading": "table"},
            {"proposal": "sums", "reading": "union"},
        ),
        "as_printed": (
            {"proposal": "sums", "reading": "table"},
            {"proposal": "sums", "reading": "union"},
            {"proposal": "sums", "reading": "table", "likelihood": "lss"},
        ),
    }

    cdef readonly HashTables tables
    cdef readonly HashSums sums
    cdef HashSums unions                # as printed
    cdef readonly Collisions chances    # as printed
    cdef Estimates estimates            # likelihood=lss
    cdef PlugIn estimated               # densities of the model, for these
    cdef bint paired
    cdef int kind                       # ALIKE or UNLIKE: of the move under way
    cdef int32_t *group                 # [N] items of side A, then of side B, each in item order
    cdef Py_ssize_t na                  # how many of side A
    # [room] by cluster k, over its u: ALIKE, the sum of q(k | u); UNLIKE, of q(not k | -u)
    cdef double *of_cluster[2]
    cdef Py_ssize_t room
    cdef Py_ssize_t[2] version          # of the model's state for which they hold
    cdef Py_ssize_t before              # version of the state that the move under way started from

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        options = self.options
        self.paired = options["proposal"] != "sums"
        if options["likelihood"] == "lss":
            if not self.as_printed:
                raise ValueError("sampler.likelihood=lss: expected sampler.mode=as_printed: it does not leave the "
                                 "posterior as it is")
            if model.capability(PlugIn) is None:
                raise ValueError("sampler.likelihood=lss: expected dense points and model=gaussian with "
                                 "covariance=diag or iso, whose clusters have means to hash")
        if not (self.paired or model.conjugate):
            raise ValueError("sampler.proposal=sums: needs the parameters integrated out (model.conjugate=true)")
        self.tables = tables_of(model.vectors, *(options[key] for key in ("bits", "tables", "centre", "tables_seed")))
        if self.as_printed and self.paired:
            raise ValueError(f"sampler.mode=as_printed: expected sampler.proposal=sums, got {options['proposal']}: the "
                             "paper prints no other")
        self.allocation = allocation_of("sams" if options["proposal"] == "paired_sequential" else "random")
        # a pair by hashing has the same probability in both states; the sums have terms of their own
        self.omit("printed")
        self.sums = HashSums(self.tables, options["reading"])
        if self.as_printed:
            self.unions = HashSums(self.tables, "union")
            self.chances = Collisions(self.tables, options["cache"])
        if options["likelihood"] == "lss":
            self.estimates, self.estimated = Estimates(self.chances), model.capability(PlugIn)
        self.group = self.memory.ints(self.model.N)
        self.version[ALIKE] = self.version[UNLIKE] = -1
        self.of_cluster[ALIKE], self.of_cluster[UNLIKE] = self.memory.doubles(8), self.memory.doubles(8)
        self.room = 8

    @classmethod
    def supports(cls, model):
        """Whether the items are vectors, which can be hashed: (bool, reason)."""
        if model.vectors is None:
            return False, "its items are no vectors, or have missing cells, and there is nothing to hash"
        return super().supports(model)

    def report(self):
        """dict: what a run's summary says of the hash tables."""
        return {"hash_tables": self.tables.statistics()}

    def tally(self):
        """dict: as_printed, probabilities of collision asked for, those that the cache had, and pairs that it keeps. (A
        chain that goes on after an interruption begins with an empty cache.)"""
        if not self.as_printed:
            return {}
        return {"cache": {"looked_up": self.chances.looked_up, "served": self.chances.served,
                          "pairs": self.chances.filled}}

    def set_tally(self, tally):
        """Take up what ``tally`` gave; a ValueError for anything else."""
        if not self.as_printed:
            return
        cache = tally.get("cache") if isinstance(tally, dict) else None
        if not isinstance(cache, dict) or not {"looked_up", "served"} <= cache.keys():
            raise ValueError("tally: expected the cache's looked_up and served")
        for name in ("looked_up", "served"):
            check_count(f"tally: {name}", cache[name], 0, MOST_COUNT)
        self.chances.looked_up, self.chances.served = cache["looked_up"], cache["served"]

    cdef int make_step(self) except -1 nogil:
        """Algorithm 1: the type, u, and v from the tables."""
        cdef bint alike = self.rng.draw_index(2) == 1, one
        cdef Py_ssize_t u = self.rng.draw_index(self.model.N), v, i, j
        self.propose(SMART_MERGE if alike else SMART_SPLIT)
        v = self.sums.draw(self.rng, u, not alike)
        if v < 0:
            return self.null()
        one = self.model.z[u] == self.model.z[v]
        if one == alike:
            # not what a smart move is for
            self.turn_to(DUMB_SPLIT if alike else DUMB_MERGE)
        if self.paired:
            return self.split(self.model.z[u], u, v) if one else self.merge(self.model.z[u], self.model.z[v], u, v)
        self.kind = ALIKE if alike else UNLIKE
        self.before = self.model.version
        self.refresh()
        if self.move == SMART_SPLIT:
            # section 3.2.1: the cluster of u and v, the other items by fair coins
            return self.split(self.model.z[u], u, v)
        if self.move == DUMB_SPLIT:
            # section 3.2.2: any cluster, all items by fair coins
            return self.split(self.draw_cluster(self.model.K), -1, -1)
        if self.move == SMART_MERGE:
            return self.merge(self.model.z[u], self.model.z[v], -1, -1)
        self.draw_two_clusters(self.model.K, &i, &j)
        # its reverse, a smart split, has anchors
        return self.merge(i, j, self.model.head[i], self.model.head[j])

    # -- probabilities of the proposals of `sums`
    cdef double log_anchors(self, bint merging) except? -1 nogil:
        """Equations 3 to 6 as printed; the exact ones are two terms of their own."""
        return self.log_hashed(merging) if self.as_printed and not self.paired else 0.0

    cdef double log_hashed(self, bint merging) noexcept nogil:
        """Term that hashing adds to the log ratio of a split; where `pair` and `dumb` are terms, of a merge, too."""
        cdef Py_ssize_t n = self.sides.n + (self.sides.i >= 0) + (self.sides.j >= 0), K = self.model.K - merging
        cdef Py_ssize_t nb
        cdef double log_x, log_dumb, total, nX, N = self.model.N, sign = 1.0
        cdef bint unlike = self.kind == UNLIKE
        cdef int32_t *b
        self.gather_sides(merging)
        b, nb = self.group + self.na, n - self.na
        # X-(A, B) or X+(A, B); as printed, of equation 3 or 5
        if self.as_printed:
            nX = self.unions.sum_printed(self.chances, self.group, self.na, b, nb, unlike)
        else:
            nX = self.sums.sum(self.group, self.na, b, nb, unlike, False)
            nX += self.sums.sum(b, nb, self.group, self.na, unlike, False)
        log_x = log_or_none(nX / N)
        if unlike:
            # unlike items of both sides; unlike items of two clusters, and two of K + 1
            total = self.total(-1)
            if not merging:
                total = self.total(self.sides.ci) + self.contribution(UNLIKE, self.group, self.na)
                total += self.contribution(UNLIKE, b, nb)
            log_dumb = -log(K + 1.0) - log(<double> K)
            # as printed, equation 4
            if not self.as_printed:
                log_dumb = log_or_none(total / N) + LOG_2 + log_dumb
            sign = -1.0
        elif self.as_printed:
            # equation 6, which names the sides
            log_dumb = -log(<double> K) - LOG_2
        else:
            # like items of both sides; like items of one cluster, one of K
            log_dumb = log_or_none((self.total(-1) + (nX if merging else 0.0)) / N) - log(<double> K)
        if self.as_printed:
            return sign * log_x - sign * log_dumb
        if merging:
            sign = -sign
        return self.term(PAIR, sign * log_x) + self.term(DUMB, -sign * log_dumb)

    cdef double log_own(self, bint merging) noexcept nogil:
        """Terms `pair` and `dumb`; by equation 11 `estimate`, too: a split by its estimates, over one by marginal
        likelihoods."""
        cdef Py_ssize_t t, a, b, c, n
        cdef int32_t[2] old
        cdef double more
        if not (self.paired or self.as_printed):
            return self.log_hashed(merging)
        if self.estimates is None:
            return 0.0
        n = self.sides.n + (self.sides.i >= 0) + (self.sides.j >= 0)
        self.gather_sides(merging)
        a, b, c = self.sides.a, self.sides.a + 1, self.sides.ci
        if merging:
            a, b, c = self.sides.ci, self.sides.cj, self.sides.a
            old[0], old[1] = <int32_t> a, <int32_t> b
            self.model.stage(old, 2, c, 1)
            for t in range(n):
                self.model.join(self.group[t], c)
        more = (self.estimate(a, self.group, self.na)
                + self.estimate(b, self.group + self.na, n - self.na) - self.estimate(c, self.group, n))
        return self.term(ESTIMATE, -more if merging else more)

    cdef double estimate(self, Py_ssize_t k, const int32_t *items, Py_ssize_t n) noexcept nogil:
        """Equation 11 of cluster k, of these items, less its marginal likelihood."""
        return self.estimates.of_cluster(self.estimated, k, items, n) - self.model.lik(k)

    # -- P+ and P-, cluster by cluster, in item order: functions of the state, however it was reached
    cdef void gather_sides(self, bint merging) noexcept nogil:
        """Set group to the items of side A, then of side B, including the anchors, each in item order."""
        cdef Py_ssize_t t, b, i = self.sides.i, j = self.sides.j
        cdef int32_t h
        if merging:
            self.na = self.model.members(self.sides.ci, self.sides.ci, self.group)
            self.model.members(self.sides.cj, self.sides.cj, self.group + self.na)
            return
        b = i >= 0
        for t in range(self.sides.n):
            b += self.sides.in_a[t]
        self.na = 0
        for t in range(self.sides.n):
            h = self.sides.items[t]
            if 0 <= i < h:
                self.group[self.na] = <int32_t> i
                self.na += 1
                i = -1
            if 0 <= j < h:
                self.group[b] = <int32_t> j
                b += 1
                j = -1
            if self.sides.in_a[t]:
                self.group[self.na] = h
                self.na += 1
            else:
                self.group[b] = h
                b += 1
        if i >= 0:
            self.group[self.na] = <int32_t> i
            self.na += 1
        if j >= 0:
            self.group[b] = <int32_t> j

    cdef double contribution(self, int kind, const int32_t *items, Py_ssize_t n) noexcept nogil:
        """Contribution of a cluster with these items to N P+ or N P-; the printed ratios have neither."""
        if self.as_printed:
            return 0.0
        return self.sums.sum(items, n, items, n, kind == UNLIKE, kind == UNLIKE)

    cdef double total(self, Py_ssize_t but) noexcept nogil:
        """N P+ or N P- of the present state, without what one cluster adds."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        for k in range(self.model.K):
            if k != but:
                total += self.of_cluster[self.kind][k]
        return total

    cdef int refresh(self) except -1 nogil:
        """Make of_cluster[kind] hold for the present state, which other samplers may have changed."""
        cdef Py_ssize_t k, n
        if self.model.K + 1 > self.room:
            with gil:
                for k in range(2):
                    self.of_cluster[k] = <double *> self.memory.larger(self.of_cluster[k], self.room * 8,
                                                                       2 * (self.model.K + 1) * 8)
            self.room = 2 * (self.model.K + 1)
        if self.as_printed or self.version[self.kind] == self.model.version:
            return 0
        for k in range(self.model.K):
            n = self.model.members(k, k, self.group)
            self.of_cluster[self.kind][k] = self.contribution(self.kind, self.group, n)
        self.version[self.kind] = self.model.version
        return 0

    cdef void after_commit(self, bint merging) noexcept nogil:
        """Bring the sums up to date: of a split into group[:na] and the rest, the new last cluster; or of a merge,
        after which the last cluster took the greater number."""
        cdef int kind
        cdef Py_ssize_t c = min(self.sides.ci, self.sides.cj), n
        if self.paired:
            return
        n = self.model.size[c] + (0 if merging else self.model.size[self.model.K - 1])
        if merging:
            self.model.members(c, c, self.group)
        for kind in range(2):
            if self.version[kind] != self.before:
                continue
            if merging:
                self.of_cluster[kind][max(self.sides.ci, self.sides.cj)] = self.of_cluster[kind][self.model.K]
                self.of_cluster[kind][c] = self.contribution(kind, self.group, n)
            else:
                self.of_cluster[kind][c] = self.contribution(kind, self.group, self.na)
                self.of_cluster[kind][self.model.K - 1] = self.contribution(kind, self.group + self.na, n - self.na)
            self.version[kind] = self.model.version
