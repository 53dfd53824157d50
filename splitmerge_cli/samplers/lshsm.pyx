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
    `likelihood=lss`: the clusters' log likelihoods are the estimates of equation 11 (`Estimates` in
    ``hash_tables.pyx``), a fixed function of the partition, since the tables are fixed; what they differ by is the term
    `estimate`.

The tables are fixed: they are part of the kernel, and all chains share them.

Cost, n items in the selected clusters and L tables: `paired` O(n D), a merge O(D); `paired_sequential` n pairs of
predictives; `sums` O(n (D + L) + K), by the union reading n unions of L buckets; after a change by another sampler
O(N L); as_printed: all pairs of the two sides, whose probabilities of collision are kept; lss: O(D K L) more for the
mean of a cluster. Memory: 8 to 16 bytes an item and table for all chains, 4 a bucket (table reading) or 12 an item
(union) for each.
"""
from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t

from splitmerge_cli.core.capabilities cimport PlugIn
from splitmerge_cli.samplers.hash_tables cimport Collisions, Estimates, HashSums, HashTables
from splitmerge_cli.samplers.split_merge cimport SplitMerge

from splitmerge_cli.core.checks import MOST_COUNT, check_count
from splitmerge_cli.core.options import Choice
from splitmerge_cli.samplers.hash_tables import BITS, CACHE, CENTRE, READING, SEED, TABLES, tables_of
from splitmerge_cli.samplers.split_merge import allocation_of

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
    cdef double nX                      # N X+-(A, B) of these
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
        cdef double log_x, log_dumb, total, sign = 1.0
        self.gather_sides(merging)
        log_x = self.log_pairs(n)
        if self.kind == UNLIKE:
            # unlike items of both sides; unlike items of two clusters, and two of K + 1
            total = self.total(-1)
            if not merging:
                total = self.total(self.sides.ci) + self.contribution(self.group, self.na)
                total += self.contribution(self.group + self.na, n - self.na)
            log_dumb = self.log_dumb_merge(total, K + 1)
            sign = -1.0
        else:
            # like items of both sides; like items of one cluster, one of K
            total = self.total(-1) + (self.nX if merging else 0.0)
            log_dumb = self.log_dumb_split(total, K)
        if self.as_printed:
            return sign * log_x - sign * log_dumb
        if merging:
            sign = -sign
        return self.term(PAIR, sign * log_x) + self.term(DUMB, -sign * log_dumb)

    cdef double log_pairs(self, Py_ssize_t n) noexcept nogil:
        """log X-(A, B) or log X+(A, B) of A = group[:na], B = group[na:n]; as printed, of equation 3 or 5."""
        cdef bint opposite = self.kind == UNLIKE
        if self.as_printed:
            return log_or_none(self.unions.sum_printed(self.chances, self.group, self.na, self.group + self.na,
                                                       n - self.na, opposite) / self.model.N)
        self.nX = self.sums.sum_between(self.group, self.na, self.group + self.na, n - self.na, opposite)
        return log_or_none(self.nX / self.model.N)

    cdef double log_dumb_merge(self, double total, Py_ssize_t M) noexcept nogil:
        """Unlike items of two clusters, `total` = N P-, and two of M clusters; as printed, equation 4."""
        cdef double log_two = -log(<double> M) - log(<double> (M - 1))
        if self.as_printed:
            return log_two
        return log_or_none(total / self.model.N) + LOG_2 + log_two

    cdef double log_dumb_split(self, double total, Py_ssize_t M) noexcept nogil:
        """Like items of one cluster, `total` = N P+, and one of M clusters; as printed, equation 6, which names the
        sides."""
        if self.as_printed:
            return -log(<double> M) - LOG_2
        return log_or_none(total / self.model.N) - log(<double> M)

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

    cdef double contribution(self, const int32_t *items, Py_ssize_t n) noexcept nogil:
        """Contribution of a cluster with these items to N P+ or N P-; the printed ratios have neither."""
        return self.contribution_of(self.kind, items, n)

    cdef double contribution_of(self, int kind, const int32_t *items, Py_ssize_t n) noexcept nogil:
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
        self.need_room(self.model.K + 1)
        if self.as_printed or self.version[self.kind] == self.model.version:
            return 0
        for k in range(self.model.K):
            n = self.model.members(k, k, self.group)
            self.of_cluster[self.kind][k] = self.contribution(self.group, n)
        self.version[self.kind] = self.model.version
        return 0

    cdef int need_room(self, Py_ssize_t clusters) except -1 nogil:
        cdef int kind
        if clusters > self.room:
            with gil:
                for kind in range(2):
                    self.of_cluster[kind] = <double *> self.memory.larger(self.of_cluster[kind], self.room * 8,
                                                                          2 * clusters * 8)
                self.room = 2 * clusters
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
                self.of_cluster[kind][c] = self.contribution_of(kind, self.group, n)
            else:
                self.of_cluster[kind][c] = self.contribution_of(kind, self.group, self.na)
                self.of_cluster[kind][self.model.K - 1] = self.contribution_of(kind, self.group + self.na, n - self.na)
            self.version[kind] = self.model.version
