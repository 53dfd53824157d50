"""Split-merge by locality-sensitive sampling, LSHSM (paper 001, Algorithm 1): a hash table proposes which items belong
apart, or together.

An item u is drawn, and from the hash tables (``_hashing.pyx``) an item v unlike it (query -u) or like it (query u).

    paired, paired_sequential
        u and v decide, as the pair of a dyadic move does: in one cluster it is split between them, in two these are
        merged. The probability of (u, v) does not depend on the state, so it cancels, and the ratio is that of the
        dyadic move (``_dyadic.pyx``), with the other items allocated by coins or one after the other.
    sums
        Algorithm 1: unlike items of one cluster, a smart split by coins; unlike items of two clusters, a dumb merge of
        any two; like items of two clusters, their smart merge; like items of one, a dumb split of any cluster. The
        ratio needs the sums of q over all pairs that lead to the same proposal:

        R_split = pi'/pi  P-(x') 2 / (M' (M' - 1))  /  (2^-(n-2) X-(A, B))             in place of equations 3 and 4
        R_merge = pi'/pi  P+(x') 2^(1-n) / M'  /  X+(A, B)                             in place of equations 5 and 6

        n items in the two clusters A, B, of M' in the proposal x'; X+-(A, B): that u and v come from A and B, either
        way round; P-: that -u finds an item of another cluster, P+: that u finds one of its own. A dumb move has the
        inverse ratio of the smart one that undoes it.

    As printed (`mode=literal`, equations 3 to 6): 1 - (1 - p^K)^L, which holds on average over tables that are drawn,
    times the share of S_u that is in the other cluster, summed over v once more; u from the first cluster alone; no P+,
    no P-, and no factor 2 for the two ways to draw a pair of clusters or to name the sides (term `printed`).
    `likelihood=lss`: the clusters' log likelihoods are the estimates of equation 11 (`Estimates` in ``_hashing.pyx``),
    a fixed function of the partition, since the tables are fixed; what they differ by is the term `estimate`.

The tables are fixed: they are part of the kernel, and all chains share them.

Cost, n items in the clusters at stake and L tables: `paired` O(n D), a merge O(D); `paired_sequential` n pairs of
predictives; `sums` O(n (D + L) + K), by the union reading n unions of L buckets; after a change by another sampler
O(N L); literal: all pairs of the two sides, whose probabilities of collision are kept; lss: O(D K L) more for the mean
of a cluster. Memory: 8 to 16 bytes an item and table for all chains, 4 a bucket (table reading) or 12 an item (union)
for each.
"""
from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from splitmerge_cli._dyadic cimport ALLOCATION, PRINTED, TARGET, PairMoves
from splitmerge_cli._hashing cimport Collisions, Estimates, HashSums, HashTables
from splitmerge_cli._kernels cimport Model, Rng, doubles, larger

from splitmerge_cli._hashing import tables_of
from splitmerge_cli._kernels import MOST_COUNT, check_count

PROPOSALS = ("paired", "paired_sequential", "sums")
LIKELIHOODS = ("marginal", "lss")

cdef double LOG_2 = log(2.0)

cdef enum:
    SMART_SPLIT, DUMB_MERGE, SMART_MERGE, DUMB_SPLIT    # MOVES

cdef enum:
    PAIR = 4                            # TERMS behind those of PairMoves
    DUMB
    ESTIMATE

cdef enum:
    ALIKE, UNLIKE                       # sums over the clusters: P+, P-


cdef double log_or_none(double x) noexcept nogil:
    return log(x) if x > 0.0 else -INFINITY


cdef class LSHSM(PairMoves):
    """Split-merge by locality-sensitive sampling.

    Parameters
    ----------
    model : Model
        One whose items are vectors.
    rng : Rng
    proposal : {'paired_sequential', 'paired', 'sums'}
    reading : {'table', 'union'}
        Which q(v | u): an item of one drawn table's bucket, or of the union of the buckets (paper 001, section 2.1.1).
    bits, tables : int
        K and L of the paper.
    centre : bool
        Hash x less the mean of the items.
    tables_seed : int
        Of the projections.
    mode : {'exact', 'literal'}
        literal, of `sums` alone: the ratios of equations 3 to 6.
    likelihood : {'marginal', 'lss'}
        literal: of the clusters, exact or the estimate of equation 11 (dense points of ``gaussian``, diag or iso).
    cache : int
        literal: probabilities of collision to keep.
    """

    MOVES = ("smart_split", "dumb_merge", "smart_merge", "dumb_split")
    TERMS = (*PairMoves.TERMS, "pair", "dumb", "estimate")

    cdef readonly str proposal, likelihood
    cdef readonly HashTables tables
    cdef readonly HashSums sums
    cdef HashSums unions                # literal
    cdef readonly Collisions chances    # literal
    cdef Estimates estimates            # likelihood=lss
    cdef bint paired, literal
    cdef double nX                      # N X+-(A, B) of the last ``log_pairs``
    # [room] by cluster k, over its u: ALIKE, the sum of q(k | u); UNLIKE, of q(not k | -u)
    cdef double *of_cluster[2]
    cdef Py_ssize_t room
    cdef Py_ssize_t[2] version          # of the model's state for which they hold

    def __init__(self, Model model not None, Rng rng not None, str proposal="paired_sequential", str reading="table",
                 bits=10, tables=10, centre=True, tables_seed=0, str mode="exact", str likelihood="marginal",
                 cache=1 << 20):
        if proposal not in PROPOSALS:
            raise ValueError(f"sampler.proposal: expected one of {', '.join(PROPOSALS)}, got {proposal!r}")
        super().__init__(model, rng, allocation="sams" if proposal == "paired_sequential" else "random", mode=mode)
        if not isinstance(centre, bool):
            raise ValueError(f"sampler.centre: expected true or false, got {centre!r}")
        if likelihood not in LIKELIHOODS:
            raise ValueError(f"sampler.likelihood: expected {' or '.join(LIKELIHOODS)}, got {likelihood!r}")
        if likelihood == "lss" and mode != "literal":
            raise ValueError("sampler.likelihood=lss: expected sampler.mode=literal: it does not leave the posterior "
                             "as it is")
        if likelihood == "lss" and not model.plug_in:
            raise ValueError("sampler.likelihood=lss: expected dense points and model=gaussian with covariance=diag or "
                             "iso, whose clusters have means to hash")
        self.proposal, self.paired, self.likelihood = proposal, proposal != "sums", likelihood
        if not (self.paired or model.conjugate):
            raise ValueError("sampler.proposal=sums: needs the parameters integrated out (model.conjugate=true)")
        self.tables = tables_of(model.vectors, bits, tables, centre, tables_seed)
        self.literal = mode == "literal"
        if self.literal and self.paired:
            raise ValueError(f"sampler.mode=literal: expected sampler.proposal=sums, got {proposal}: the paper prints "
                             "no other")
        self.sums = HashSums(self.tables, reading)
        if self.literal:
            self.unions = HashSums(self.tables, "union")
            self.chances = Collisions(self.tables, cache)
        if likelihood == "lss":
            self.estimates = Estimates(self.chances)
        self.version[ALIKE] = self.version[UNLIKE] = -1
        self.of_cluster[ALIKE], self.of_cluster[UNLIKE] = doubles(8), doubles(8)
        self.room = 8

    def __dealloc__(self):
        free(self.of_cluster[ALIKE])
        free(self.of_cluster[UNLIKE])

    @classmethod
    def supports(cls, model):
        """Whether the items are vectors, which can be hashed: (bool, reason)."""
        if model.vectors is None:
            return False, "its items are no vectors, and there is nothing to hash"
        return super().supports(model)

    def report(self):
        """dict: what a run's summary says of the hash tables."""
        return {"hash_tables": self.tables.statistics()}

    def tally(self):
        """dict: literal, probabilities of collision asked for, those that the cache had, and pairs that it keeps. (A
        chain that goes on after an interruption begins with an empty cache.)"""
        if not self.literal:
            return {}
        return {"cache": {"looked_up": self.chances.looked_up, "served": self.chances.served,
                          "pairs": self.chances.filled}}

    def set_tally(self, tally):
        """Take up what ``tally`` gave; a ValueError for anything else."""
        if not self.literal:
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
        cdef Py_ssize_t u = self.rng.draw_index(self.model.N), v
        self.bounded = False
        self.propose(SMART_MERGE if alike else SMART_SPLIT)
        v = self.sums.draw(self.rng, u, not alike)
        if v < 0:
            return self.null()
        one = self.model.z[u] == self.model.z[v]
        if one == alike:
            # not what a smart move is for
            self.proposed[self.move] -= 1
            self.propose(DUMB_SPLIT if alike else DUMB_MERGE)
        if self.paired:
            return self.split_pair(u, v, 0.0) if one else self.merge_pair(u, v, 0.0)
        if alike:
            return self.dumb_split() if one else self.smart_merge(self.model.z[u], self.model.z[v])
        return self.smart_split(u, v) if one else self.dumb_merge()

    cdef int smart_split(self, Py_ssize_t u, Py_ssize_t v) except -1 nogil:
        """Section 3.2.1: the cluster of u and v, the other items by fair coins."""
        cdef Py_ssize_t K = self.model.K, c = self.model.z[u], n, t
        if K == self.model.kmax:
            return self.null()
        n = self.model.members(c, c, self.items)
        for t in range(n):
            self.in_a[t] = self.items[t] == u or (self.items[t] != v and self.rng.draw_coin(0.5))
        return self.split(c, n, UNLIKE)

    cdef int dumb_split(self) except -1 nogil:
        """Section 3.2.2: any cluster, all items by fair coins."""
        cdef Py_ssize_t K = self.model.K, c = self.rng.draw_index(K), n, t, na = 0
        n = self.model.members(c, c, self.items)
        for t in range(n):
            self.in_a[t] = self.rng.draw_coin(0.5)
            na += self.in_a[t]
        if na == 0 or na == n or K == self.model.kmax:
            return self.null()
        return self.split(c, n, ALIKE)

    cdef int dumb_merge(self) except -1 nogil:
        """Section 3.2.1: any two clusters."""
        cdef Py_ssize_t i = self.rng.draw_index(self.model.K), j = self.rng.draw_index(self.model.K - 1)
        j += j >= i
        return self.merge(i, j, UNLIKE)

    cdef int smart_merge(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Section 3.2.2: the clusters of u and v."""
        return self.merge(i, j, ALIKE)

    cdef int split(self, Py_ssize_t c, Py_ssize_t n, int kind) except -1 nogil:
        """Decide on the split of cluster c by in_a[:n]: a smart one of unlike items, a dumb one of like items."""
        cdef Py_ssize_t t, K = self.model.K, version = self.model.version, na
        cdef double log_r, log_x, total
        self.refresh(kind)
        na = self.part(n)
        log_x = self.log_pairs(kind, na, n)
        self.stage_two(c, c)
        for t in range(n):
            self.model.join(self.items[t], K if self.in_a[t] else K + 1)
        log_r = self.term(TARGET, self.log_split_ratio(c, K, K + 1)) + self.log_estimate(c, K, K + 1, na, n)
        if kind == UNLIKE:
            total = self.total(kind, c) + self.own(kind, self.order, na) + self.own(kind, self.order + na, n - na)
            log_r += self.log_dumb_merge(total, K + 1) - self.log_smart_split(log_x, n)
        else:
            log_r += log_x - self.log_dumb_split(self.total(kind, -1), K, n)
        if self.decide(log_r):
            self.accept_split(c, n, -1)
            self.keep_split(version, c, na, n)
        return 0

    cdef int merge(self, Py_ssize_t i, Py_ssize_t j, int kind) except -1 nogil:
        """Decide on the merge of two clusters: a dumb one against unlike items, a smart one of like items."""
        cdef Py_ssize_t K = self.model.K, version = self.model.version, n, t, na
        cdef double log_r, log_x
        self.refresh(kind)
        n = self.model.members(i, j, self.items)
        for t in range(n):
            self.in_a[t] = self.model.z[self.items[t]] == i
        na = self.part(n)
        log_x = self.log_pairs(kind, na, n)
        log_r = self.term(TARGET, self.log_merge_ratio(i, j))
        if self.estimates is not None:
            self.stage_two(i, j)
            for t in range(n):
                self.model.join(self.items[t], K)
            log_r -= self.log_estimate(K, i, j, na, n)
        if kind == UNLIKE:
            log_r += self.log_smart_split(log_x, n) - self.log_dumb_merge(self.total(kind, -1), K)
        else:
            log_r += self.log_dumb_split(self.total(kind, -1) + self.nX, K - 1, n) - log_x
        if self.decide(log_r):
            self.model.commit_merge(i, j)
            self.keep_merge(version, i, j, n)
        return 0

    # -- probabilities of the proposals
    cdef double log_pairs(self, int kind, Py_ssize_t na, Py_ssize_t n) noexcept nogil:
        """log X-(A, B) or log X+(A, B) of A = order[:na], B = order[na:n]; as printed, of equation 3 or 5."""
        cdef bint opposite = kind == UNLIKE
        if self.literal:
            return self.term(PRINTED, log_or_none(
                self.unions.printed(self.chances, self.order, na, self.order + na, n - na, opposite) / self.model.N))
        self.nX = self.sums.between(self.order, na, self.order + na, n - na, opposite)
        return self.term(PAIR, log_or_none(self.nX / self.model.N))

    cdef double log_estimate(self, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b, Py_ssize_t na,
                             Py_ssize_t n) noexcept nogil:
        """Equation 11: what its estimates of a split of c into a, of items order[:na], and b, of order[na:n], have more
        than the marginal likelihoods."""
        cdef double more
        if self.estimates is None:
            return 0.0
        more = (self.estimates.of_cluster(self.model, a, self.order, na)
                + self.estimates.of_cluster(self.model, b, self.order + na, n - na)
                - self.estimates.of_cluster(self.model, c, self.items, n))
        return self.term(ESTIMATE, more - (self.model.lik(a) + self.model.lik(b) - self.model.lik(c)))

    cdef double log_smart_split(self, double log_x, Py_ssize_t n) noexcept nogil:
        """Unlike items of both sides, and the other items' coins."""
        return log_x - self.term(ALLOCATION, (n - 2) * LOG_2)

    cdef double log_dumb_merge(self, double total, Py_ssize_t M) noexcept nogil:
        """Unlike items of two clusters, `total` = N P-, and two of M clusters; as printed, equation 4."""
        cdef double log_two = -log(<double> M) - log(<double> (M - 1))
        if self.literal:
            return self.term(PRINTED, log_two)
        return self.term(DUMB, log_or_none(total / self.model.N) + LOG_2 + log_two)

    cdef double log_dumb_split(self, double total, Py_ssize_t M, Py_ssize_t n) noexcept nogil:
        """Like items of one cluster, `total` = N P+, one of M clusters and its coins; as printed, equation 6."""
        if self.literal:
            return self.term(PRINTED, -log(<double> M) - n * LOG_2)
        return (self.term(DUMB, log_or_none(total / self.model.N) - log(<double> M))
                - self.term(ALLOCATION, (n - 1) * LOG_2))

    # -- P+ and P-, cluster by cluster, in item order: functions of the state, however it was reached
    cdef Py_ssize_t part(self, Py_ssize_t n) noexcept nogil:
        """order[:n]: items[:n] of side A, then those of side B, each in item order. Returns how many of A."""
        cdef Py_ssize_t t, na = 0, b = 0
        for t in range(n):
            na += self.in_a[t]
        b = na
        na = 0
        for t in range(n):
            if self.in_a[t]:
                self.order[na] = self.items[t]
                na += 1
            else:
                self.order[b] = self.items[t]
                b += 1
        return na

    cdef double own(self, int kind, const int32_t *items, Py_ssize_t n) noexcept nogil:
        """What a cluster of these items adds to N P+ or N P-; the printed ratios have neither."""
        if self.literal:
            return 0.0
        return self.sums.sum(items, n, items, n, kind == UNLIKE, kind == UNLIKE)

    cdef double total(self, int kind, Py_ssize_t but) noexcept nogil:
        """N P+ or N P- of the present state, without what one cluster adds."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        for k in range(self.model.K):
            if k != but:
                total += self.of_cluster[kind][k]
        return total

    cdef int refresh(self, int kind) except -1 nogil:
        """Make of_cluster[kind] hold for the present state, which other samplers may have changed."""
        cdef Py_ssize_t k, n
        self.need_room(self.model.K + 1)
        if self.literal or self.version[kind] == self.model.version:
            return 0
        for k in range(self.model.K):
            n = self.model.members(k, k, self.order)
            self.of_cluster[kind][k] = self.own(kind, self.order, n)
        self.version[kind] = self.model.version
        return 0

    cdef int need_room(self, Py_ssize_t clusters) except -1 nogil:
        cdef int kind
        if clusters > self.room:
            with gil:
                for kind in range(2):
                    self.of_cluster[kind] = <double *> larger(self.of_cluster[kind], self.room * 8, 2 * clusters * 8)
                self.room = 2 * clusters
        return 0

    cdef void keep_split(self, Py_ssize_t before, Py_ssize_t c, Py_ssize_t na, Py_ssize_t n) noexcept nogil:
        """After a split of cluster c into order[:na] and order[na:n], the new last cluster."""
        cdef int kind
        for kind in range(2):
            if self.version[kind] == before:
                self.of_cluster[kind][c] = self.own(kind, self.order, na)
                self.of_cluster[kind][self.model.K - 1] = self.own(kind, self.order + na, n - na)
                self.version[kind] = self.model.version

    cdef void keep_merge(self, Py_ssize_t before, Py_ssize_t i, Py_ssize_t j, Py_ssize_t n) noexcept nogil:
        """After a merge of clusters i and j, now items[:n]; the last cluster took the greater number."""
        cdef int kind
        for kind in range(2):
            if self.version[kind] == before:
                self.of_cluster[kind][max(i, j)] = self.of_cluster[kind][self.model.K]
                self.of_cluster[kind][min(i, j)] = self.own(kind, self.items, n)
                self.version[kind] = self.model.version
