"""Split-merge by sub-clusters, all clusters at the same time, in several threads.

Parameters and weights of all clusters are drawn given the partition; then labels are independent of each other. A step
forgets them when it is done: what it leaves invariant is the collapsed posterior of the partition. It is a scan of the
labels, and rounds of splits and merges.

*Scan.* Weights w_k and parameters theta_k given the items of each cluster; a uniform order of the items; in each
cluster the item that is first in it, the founder, stays. Any other item i chooses among the clusters whose founder
comes before it:

    P(z_i = k) proportional to  w_k p(x_i | theta_k)

No cluster loses its founder or gains an earlier item, so the founders are the same afterwards and no cluster is empty:
given order, founders, weights and parameters it is a Gibbs draw of all labels. New clusters come from splits alone.
Without the founders a draw among K clusters that empties one could not be undone, and had to be rejected.

*Round.* Each cluster, with probability p, is to be split; the others are paired at random, one may be left, and each
pair is to be merged. A block is such a cluster or pair. Its launch state depends on the set of its items alone: two of
them at random, then t scans in which every item takes the side of the larger density given what to expect of the
parameters of the two sides, or fewer when nothing changes. From there each item takes a side with probability q_i,
independently: the sub-clusters. Log ratio of a split from a state where m clusters are to be merged; a merge is the
inverse:

    target      log pi'/pi
    allocation  - log [prod q_i + prod (1 - q_i)]: the two sides in either order
    blocks      log [(1 - p)^2 / p] - log [m + 1], m odd: log [m + 2]: the probability of the blocks

There are M(m) = (m - 1)!! or, m odd, m!! pairings, all of the same probability, and M(m + 2) / M(m) is m + 1 or m + 2.
Blocks have no item in common, so all are proposed at the same time; they are decided one after the other, in the order
of their first items, which the decisions do not change. A merge that is rejected whatever its allocation needs no
launch state.

*Neighbours.* Two clusters in the place of one are seldom a random pair, and their items stand in either as coins fall.
So pairs of items are drawn, the second the likeliest beside the first among some at random, which does not depend on
the partition. Two of different clusters call for their merge, with probability 1 - s, two of one cluster for a split by
fair coins that parts them, with probability s, unless a pair before has called upon one of these clusters. With n items
the log ratio of a split is

    target + (n - 2) log 2 + log [(1 - s) / s]

which is `allocation` and `blocks`. The same pairs call upon the same sets of items from the next state. A merge takes
no look at any item.

Chang and Fisher (2013), "Parallel sampling of DP mixture models using sub-cluster splits", whose idea this is, keep the
labels of sub-clusters from one iteration to the next, and count a merge against a random split that is never proposed;
here every ratio is that of what is proposed (docs/derivations.md).

Cost: a scan O(N K) densities, fewer where those of a cluster are far below the best after some coordinates; a round
2 (t + 1) densities an item. Memory: 22 bytes an item, and the drawn parameters.
"""
from libc.math cimport INFINITY, exp, fabs, log, log1p
from libc.stdint cimport int8_t, int32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from splitmerge_cli.core.memory cimport doubles, flags, ints, larger
from splitmerge_cli.core.model cimport TILE_ITEMS, Model
from splitmerge_cli.core.recording cimport PLAIN
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sampler cimport Sampler
from splitmerge_cli.core.streams cimport Stream, philox, philox_double

from splitmerge_cli.core.options import Count, Flag, Number

cdef extern from "tiles.h":
    void tile_raise(const double *row, const double *allowed, double far, double *best, double *least) noexcept nogil
    void tile_weights(const double *allowed, const double *best, double *row) noexcept nogil
    void tile_pick(const double *weights, Py_ssize_t m, double *u, double *sum, double *pick) noexcept nogil

cdef extern from "tasks.h":
    ctypedef void (*task_t)(void *context, Py_ssize_t task) noexcept nogil
    enum:
        MOST_THREADS
    void tasks_run(task_t task, void **contexts, Py_ssize_t threads, Py_ssize_t tasks) noexcept nogil

cdef enum:
    SCAN, SPLIT, MERGE                  # MOVES

cdef enum:
    TARGET, ALLOCATION, BLOCKS          # TERMS

cdef enum:                              # what the tasks of a pass do
    DRAW                                # founder, weight and parameters of a cluster
    LABELS                              # labels of some tiles of items
    RECOUNT                             # statistics of a cluster after the labels changed
    PAIRS                               # a pair of items
    EXPECT                              # weight and parameters to expect of a side of a block
    SEND                                # each item of a run to the side of the larger density
    SIDES                               # a side drawn for each item of a run, or the present one scored
    COUNT_SIDE                          # statistics of a side of a block

cdef enum:                              # purposes of the streams of a key
    OF_CLUSTER = 1
    OF_ITEM = 2
    OF_SIDE = 3
    OF_PAIR = 4

cdef enum:
    TILES = 16                          # of a task of LABELS
    RUN = 256                           # items of a task of a round, at most
    BATCH = 64                          # pairs that are drawn at the same time

# log weights this far below the best are not computed: a draw of 52 bits cannot tell them from nothing
cdef double FAR = 42.0
# of two items of one cluster: the probability that their cluster is to be split by coins
cdef double PARTED = 0.02
cdef double LOG_2 = log(2.0)


cdef class Worker:
    """What one thread works with."""

    cdef Subcluster sampler
    cdef Stream stream
    cdef double *tile
    cdef double *best                   # [TILE_ITEMS] largest log weight of each item
    cdef double *least                  # [TILE_ITEMS] what is not computed is below it
    cdef double *allowed                # [TILE_ITEMS] 1 where the cluster at hand may be taken
    cdef double *first                  # [TILE_ITEMS] log weights for the cluster of the first item; u
    cdef int32_t[TILE_ITEMS] own        # clusters of the items of a tile
    cdef uint64_t nearest               # the least of `reach`
    cdef uint64_t[TILE_ITEMS] reach     # clusters founded before this may be taken by an item; 0 of a founder
    cdef double *work
    cdef double *theta                  # [n_parameters]
    cdef Py_ssize_t number
    cdef double *weights                # [room, TILE_ITEMS] of the clusters in the running
    cdef int32_t *clusters              # [room] which these are
    cdef Py_ssize_t room

    def __cinit__(self, Subcluster sampler):
        cdef Model model = sampler.model
        self.sampler = sampler
        self.stream = Stream()
        self.tile = doubles(TILE_ITEMS * model.tile_rows)
        self.best, self.least = doubles(TILE_ITEMS), doubles(TILE_ITEMS)
        self.allowed, self.first = doubles(TILE_ITEMS), doubles(TILE_ITEMS)
        self.work, self.theta = doubles(model.work_size), doubles(model.n_parameters)
        self.number = len(sampler.workers)

    def __dealloc__(self):
        free(self.tile)
        free(self.best)
        free(self.least)
        free(self.allowed)
        free(self.first)
        free(self.work)
        free(self.theta)
        free(self.weights)
        free(self.clusters)

    cdef int need(self, Py_ssize_t clusters) except -1:
        if clusters > self.room:
            self.weights = <double *> larger(self.weights, 0, 8 * clusters * TILE_ITEMS)
            self.clusters = <int32_t *> larger(self.clusters, 0, 4 * clusters)
            self.room = clusters
        return 0


cdef void take_task(Worker w, Py_ssize_t task) noexcept nogil:
    w.sampler.work(w, task)


cdef task_t TAKE = <task_t> take_task


cdef class Subcluster(Sampler):
    """Labels of all items given drawn parameters, then splits and merges by sub-clusters.

    Notes
    -----
    The move `scan` counts items as proposed and those that changed their cluster as accepted. What a step does depends
    neither on ``threads`` nor on which thread does what.
    """

    OPTIONS = (
        Flag("scan", True, "whether a step begins with a draw of all labels"),
        Count("t", 10, "scans of a launch state, at the most", most=10_000),
        Count("rounds", 1, "rounds of splits and merges after a draw of the labels"),
        Number("splits", 0.8, "share of the clusters that a round tries to split", least=0.01, most=0.99),
        Count("pairs", 10_000, "pairs of neighbours that a step draws, at the most; fewer when they have called upon "
              "half of the items"),
        Count("near", 256, "items among which the neighbour of an item is found", least=1, most=65_536),
        *Sampler.OPTIONS,
    )
    MOVES = ("scan", "split", "merge")
    TERMS = ("target", "allocation", "blocks")
    DRAWS_FROM_CONTINUUM = True

    cdef readonly bint scan
    cdef readonly int t, rounds, pairs, near
    cdef readonly double splits
    cdef list workers
    cdef void **contexts                # [MOST_THREADS] the workers
    cdef Py_ssize_t n_workers
    cdef int pass_                      # what the tasks under way do
    cdef uint64_t[2] key                # of the streams of this step
    # -- items
    cdef int32_t *order                 # [N] by cluster, in item order; in a round by block
    cdef int32_t *other                 # [N] the same by the new clusters
    cdef int32_t *label                 # [N] new labels
    cdef uint64_t *place                # [N] of an item in the order, as a number that compares
    cdef int8_t *side                   # [N] of order[t] in a round
    cdef int8_t *before                 # [N] the side before
    # -- clusters, or sides of blocks
    cdef Py_ssize_t room
    cdef Py_ssize_t *start              # [room + 2] first of a cluster's, or a block's, in `order`
    cdef Py_ssize_t *next               # [room + 2] the same in `other`; in a round the first run of a block
    cdef uint64_t *founder              # [room] place of the founder
    cdef double *theta                  # [2 room, n_parameters]
    cdef double *log_weight             # [2 room]
    cdef int32_t *block                 # [room] of a cluster, -1 none
    cdef int32_t[2 * BATCH] pair        # items
    cdef Py_ssize_t drawn               # pairs before these
    cdef int32_t *candidate             # [room] clusters that are to be merged
    cdef int32_t *turn                  # [room] blocks in the order of their decisions
    cdef int32_t *first                 # [2 room] an item of the cluster, or the two clusters, of a block; -1
    cdef double *threshold              # [room] log u of the decision on a block
    cdef int8_t *changed                # [2 room] whether a side of a block changed in the last scan
    # -- a round
    cdef Py_ssize_t blocks
    cdef Py_ssize_t column              # of side 0 of block 0
    cdef Py_ssize_t number              # of the round
    cdef bint counted                   # the columns of the sides have been counted
    cdef Py_ssize_t runs
    cdef Py_ssize_t runs_room
    cdef Py_ssize_t *run_of             # [runs, 2] block of a run, its first item in `order`
    cdef double *log_q                  # [runs, 2] of the sides, and of the sides exchanged

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.scan = self.options["scan"]
        self.t, self.rounds, self.splits = self.options["t"], self.options["rounds"], self.options["splits"]
        self.pairs, self.near = self.options["pairs"], self.options["near"]
        self.scans = 0
        self.workers = []
        self.contexts = <void **> doubles(MOST_THREADS)
        N = self.model.N
        self.order, self.other, self.label = ints(N), ints(N), ints(N)
        self.place = <uint64_t *> doubles(N)
        self.side, self.before = flags(N), flags(N)
        self._need(1)

    def __dealloc__(self):
        free(self.contexts)
        free(self.order)
        free(self.other)
        free(self.label)
        free(self.place)
        free(self.side)
        free(self.before)
        free(self.start)
        free(self.next)
        free(self.founder)
        free(self.theta)
        free(self.log_weight)
        free(self.block)
        free(self.candidate)
        free(self.turn)
        free(self.first)
        free(self.threshold)
        free(self.changed)
        free(self.run_of)
        free(self.log_q)

    @classmethod
    def supports(cls, model):
        """Whether parameters and weights of clusters can be drawn: (bool, reason)."""
        able, reason = super().supports(model)
        if able and not (<Model?> model).n_parameters:
            return False, "the model draws no parameters of a cluster given its items"
        if able and not (<Model> model).prior.draws_weights:
            return False, f"model.prior={(<Model> model).prior.NAME} draws no weights of clusters"
        return able, reason

    def couples(self):
        """Whether two chains of this sampler can be coupled so that they meet: (bool, reason)."""
        return False, "labels are drawn all at once, given parameters that two chains do not share"

    # -- room
    cdef int need(self, Py_ssize_t clusters) except -1 nogil:
        """Room for this many clusters, and a worker for each thread."""
        cdef Py_ssize_t threads = min(max(self.threads, 1), MOST_THREADS)
        if clusters > self.room or self.n_workers < threads:
            with gil:
                self._need(clusters)
        return self.model.reserve(clusters)

    cdef int _need(self, Py_ssize_t clusters) except -1:
        cdef Py_ssize_t room = max(2 * clusters, self.room), P = self.model.n_parameters
        cdef Worker worker
        if clusters > self.room:
            self.start = <Py_ssize_t *> larger(self.start, 0, 8 * (room + 2))
            self.next = <Py_ssize_t *> larger(self.next, 0, 8 * (room + 2))
            self.founder = <uint64_t *> larger(self.founder, 0, 8 * room)
            self.theta = <double *> larger(self.theta, 0, 16 * room * P)
            self.log_weight = <double *> larger(self.log_weight, 0, 16 * room)
            self.block = <int32_t *> larger(self.block, 4 * self.room, 4 * room)
            self.candidate = <int32_t *> larger(self.candidate, 0, 4 * room)
            self.turn = <int32_t *> larger(self.turn, 0, 4 * room)
            self.first = <int32_t *> larger(self.first, 0, 8 * room)
            self.threshold = <double *> larger(self.threshold, 0, 8 * room)
            self.changed = <int8_t *> larger(self.changed, 0, 2 * room)
            self.room = room
        while len(self.workers) < min(max(self.threads, 1), MOST_THREADS):
            self.workers.append(Worker(self))
            self.contexts[self.n_workers] = <void *> self.workers[self.n_workers]
            self.n_workers += 1
        for worker in self.workers:
            worker.need(self.room)
        return 0

    cdef int need_runs(self, Py_ssize_t runs) except -1 nogil:
        if runs > self.runs_room:
            with gil:
                self.run_of = <Py_ssize_t *> larger(self.run_of, 0, 32 * runs)
                self.log_q = <double *> larger(self.log_q, 0, 32 * runs)
                self.runs_room = 2 * runs
        return 0

    # -- tasks
    cdef void run(self, int pass_, Py_ssize_t tasks) noexcept nogil:
        """Do the tasks of a pass; one after the other where choices follow a script."""
        self.pass_ = pass_
        tasks_run(TAKE, self.contexts, 1 if self.rng.scripted else min(self.threads, self.n_workers), tasks)

    cdef void work(self, Worker w, Py_ssize_t task) noexcept nogil:
        if self.rng.halted:
            return
        if self.pass_ == DRAW:
            self.draw_cluster(w, task)
        elif self.pass_ == LABELS:
            self.draw_labels(w, task)
        elif self.pass_ == RECOUNT:
            self.recount(w, task)
        elif self.pass_ == PAIRS:
            self.draw_pair(w, task)
        elif self.pass_ == EXPECT:
            self.expect(w, task)
        elif self.pass_ == SEND:
            self.send(w, task)
        elif self.pass_ == SIDES:
            self.draw_sides(w, task)
        else:
            self.count_side(w, task)

    # -- a step
    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t r
        if not self.rng.scripted:
            self.key[0] = self.rng.bg.next_uint64(self.rng.bg.state)
            self.key[1] = self.rng.bg.next_uint64(self.rng.bg.state)
        if self.scan:
            self.scan_labels()
        for r in range(self.rounds):
            self.round(r)
        self.merge_neighbours()
        return 0

    cdef void sort(self, const int32_t *key, int32_t *order, Py_ssize_t *start, Py_ssize_t keys) noexcept nogil:
        """order: the items with a key from 0 on, by key and in item order; start[k]: the first with key k."""
        cdef Py_ssize_t i, k, at
        memset(start, 0, (keys + 1) * sizeof(Py_ssize_t))
        for i in range(self.model.N):
            start[key[i] + 1] += 1
        for k in range(keys):
            start[k + 1] += start[k]
        # each cluster's place while it fills, then set back by one cluster
        for i in range(self.model.N):
            at = start[key[i]]
            order[at] = <int32_t> i
            start[key[i]] = at + 1
        for k in range(keys, 0, -1):
            start[k] = start[k - 1]
        start[0] = 0

    # -- the scan of the labels
    cdef int scan_labels(self) except -1 nogil:
        cdef Py_ssize_t K = self.model.K, i, k, moved = 0
        self.propose(SCAN)
        self.need(K)
        self.sort(self.model.z, self.order, self.start, K)
        if self.rng.scripted:
            # other[t]: the item that is t-th
            for i in range(self.model.N):
                self.label[i] = <int32_t> i
            self.rng.draw_order(self.label, self.model.N, self.other)
            for i in range(self.model.N - 1, 0, -1):
                k = self.other[i]
                self.label[i], self.label[k] = self.label[k], self.label[i]
            for i in range(self.model.N):
                self.place[self.label[i]] = i
        self.run(DRAW, K)
        self.run(LABELS, (self.model.N + TILES * TILE_ITEMS - 1) // (TILES * TILE_ITEMS))
        if self.rng.halted:
            return 0
        self.sort(self.label, self.other, self.next, K)
        self.run(RECOUNT, K)
        for i in range(self.model.N):
            if self.model.z[i] != self.label[i]:
                self.model.unlink(i)
                self.model.link(i, self.label[i])
                moved += 1
        self.model.begin_scan()
        self.model.version += 1
        self.proposed[SCAN] += self.model.N - 1
        self.accepted[SCAN] += moved
        return 0

    cdef inline void words_of(self, uint64_t item, uint64_t number, uint64_t purpose, uint64_t *words) noexcept nogil:
        """The four words that an item has for a purpose in this step; `number` tells rounds apart."""
        cdef uint64_t[4] counter
        counter[0], counter[1], counter[2], counter[3] = item, number, purpose, 0
        philox(self.key, counter, words)

    cdef void draw_cluster(self, Worker w, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t t, n = self.start[k + 1] - self.start[k]
        cdef const int32_t *items = self.order + self.start[k]
        cdef uint64_t first = ~(<uint64_t> 0)
        cdef uint64_t[4] words
        for t in range(n):
            if not self.rng.scripted:
                self.words_of(items[t], 0, OF_ITEM, words)
                self.place[items[t]] = words[0]
            first = min(first, self.place[items[t]])
        self.founder[k] = first
        w.stream.begin(self.key, k, OF_CLUSTER)
        if self.rng.scripted:
            self.draw_from(w, self.rng, k, n)
        else:
            self.draw_from(w, w.stream.rng, k, n)

    cdef void draw_from(self, Worker w, Rng rng, Py_ssize_t k, Py_ssize_t n) noexcept nogil:
        """Parameters and weight of cluster k, of n items."""
        self.model.draw_posterior(rng, k, self.theta + k * self.model.n_parameters, w.work)
        self.log_weight[k] = self.model.prior.log_cluster_weight(rng, n)

    cdef void draw_labels(self, Worker w, Py_ssize_t task) noexcept nogil:
        cdef Py_ssize_t at = task * TILES * TILE_ITEMS, end = min(at + TILES * TILE_ITEMS, self.model.N)
        while at < end and not self.rng.halted:
            self.draw_tile(w, self.order + at, min(TILE_ITEMS, end - at))
            at += TILE_ITEMS

    cdef void draw_tile(self, Worker w, const int32_t *items, Py_ssize_t n) noexcept nogil:
        """New labels of n items of `order`."""
        cdef Py_ssize_t t, k, c, i, running = 0, own = self.model.z[items[0]]
        cdef double *row
        cdef uint64_t farthest = 0
        cdef uint64_t[4] words
        self.model.load_tile(items, n, w.tile)
        w.nearest = ~(<uint64_t> 0)
        for t in range(TILE_ITEMS):
            w.best[t] = w.least[t] = -INFINITY
            i = items[min(t, n - 1)]
            w.own[t] = self.model.z[i]
            w.reach[t] = self.place[i] if self.place[i] != self.founder[w.own[t]] else 0
            w.nearest, farthest = min(w.nearest, w.reach[t]), max(farthest, w.reach[t])
        # the cluster of the first item first, as it is that of most, and of a large density; then as they are numbered
        for c in range(-1, self.model.K):
            k = own if c < 0 else c
            row = w.first if c < 0 else w.weights + running * TILE_ITEMS
            if c == own:
                memcpy(row, w.first, TILE_ITEMS * sizeof(double))
            else:
                if self.founder[k] >= farthest and not self.holds_any(w, k):
                    continue
                self.model.score_tile(w.tile, self.theta + k * self.model.n_parameters, self.log_weight[k], w.least,
                                      row)
                if row[0] == -INFINITY and self.all_far(row):
                    continue
                self.allow(w, k)
                tile_raise(row, w.allowed, FAR, w.best, w.least)
            if c >= 0:
                w.clusters[running] = <int32_t> k
                running += 1
        for c in range(running):
            self.allow(w, w.clusters[c])
            tile_weights(w.allowed, w.best, w.weights + c * TILE_ITEMS)
        if self.rng.scripted:
            for t in range(n):
                for c in range(running):
                    w.tile[c] = w.weights[c * TILE_ITEMS + t]
                self.label[items[t]] = w.clusters[self.rng.draw_option(PLAIN, -1, w.tile, running, NULL)]
            return
        for t in range(n):
            self.words_of(items[t], 0, OF_ITEM, words)
            w.first[t] = philox_double(words[1])
        tile_pick(w.weights, running, w.first, w.best, w.least)
        for t in range(n):
            self.label[items[t]] = w.clusters[<Py_ssize_t> w.least[t]]

    cdef void allow(self, Worker w, Py_ssize_t k) noexcept nogil:
        """w.allowed: which items of the tile may take cluster k."""
        cdef Py_ssize_t t
        if self.founder[k] < w.nearest:
            for t in range(TILE_ITEMS):
                w.allowed[t] = 1.0
        else:
            for t in range(TILE_ITEMS):
                w.allowed[t] = self.founder[k] < w.reach[t] or w.own[t] == k

    cdef bint holds_any(self, Worker w, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(TILE_ITEMS):
            if w.own[t] == k:
                return True
        return False

    cdef bint all_far(self, const double *row) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(TILE_ITEMS):
            if row[t] != -INFINITY:
                return False
        return True

    cdef void recount(self, Worker w, Py_ssize_t k) noexcept nogil:
        """Statistics of cluster k with the new labels; the old ones still stand in z."""
        cdef Py_ssize_t t, changes = 0, n = self.next[k + 1] - self.next[k]
        cdef const int32_t *old = self.order + self.start[k]
        cdef const int32_t *new = self.other + self.next[k]
        for t in range(self.start[k + 1] - self.start[k]):
            changes += self.label[old[t]] != k
        for t in range(n):
            changes += self.model.z[new[t]] != k
        if changes == 0:
            return
        self.model.is_valid[k] = False
        self.model.size[k] = <int32_t> n
        if 2 * changes >= n:
            self.model.clear(k)
            self.model.count_items(new, n, k, w.work)
            return
        for t in range(self.start[k + 1] - self.start[k]):
            if self.label[old[t]] != k:
                self.model.remove(old[t], k)
        for t in range(n):
            if self.model.z[new[t]] != k:
                self.model.add(new[t], k)

    # -- a round of splits and merges
    cdef int round(self, Py_ssize_t number) except -1 nogil:
        cdef Py_ssize_t K = self.model.K, k, b, c, candidates = 0, left, n
        if self.rng.halted:
            return 0
        self.need(K)
        for k in range(K):
            if self.rng.draw_coin(self.splits):
                self.block[k] = -2
            else:
                self.candidate[candidates] = <int32_t> k
                candidates += 1
        self.blocks = 0
        n = candidates
        while n > 1:
            if n & 1:
                # one is left over
                left = self.rng.draw_index(n)
                self.block[self.candidate[left]] = -1
                n -= 1
                self.candidate[left] = self.candidate[n]
                continue
            c = self.rng.draw_index(n - 1)
            n -= 1
            k = self.candidate[n]
            n -= 1
            b = self.candidate[c]
            self.candidate[c] = self.candidate[n]
            self.open_pair(b, k, 2 * K - candidates)
        if n == 1:
            self.block[self.candidate[0]] = -1
        for k in range(K):
            if self.block[k] == -2:
                self.block[k] = -1
                self.propose(SPLIT)
                if self.model.size[k] < 2:
                    self.null()
                    continue
                self.block[k] = <int32_t> self.blocks
                self.first[2 * self.blocks] = self.model.head[k]
                self.first[2 * self.blocks + 1] = -1
                if not self.rng.scripted:
                    self.threshold[self.blocks] = log(self.rng.next())
                self.blocks += 1
        if self.blocks == 0:
            return 0
        self.gather()
        self.launch(number)
        if self.rng.halted:
            return 0
        for c in range(self.blocks):
            b = self.turn[c]
            if self.first[2 * b + 1] >= 0:
                candidates -= 2 * self.decide_merge(b, candidates)
            else:
                candidates += 2 * self.decide_split(b, candidates)
        self.model.begin_scan()
        return 0

    cdef void open_pair(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t m) noexcept nogil:
        """A block of clusters i and j, unless their merge is rejected whatever the sides weigh, and with as many as m
        clusters to be merged, which is when all splits of the round are accepted before it."""
        cdef double log_bound
        self.block[i] = self.block[j] = -1
        self.propose(MERGE)
        if not self.rng.scripted:
            log_bound = self.log_merge_ratio(i, j) - self.log_blocks(m - 2)
            self.threshold[self.blocks] = log(self.rng.next())
            if self.on[TARGET] and self.on[ALLOCATION] and self.on[BLOCKS] and self.threshold[self.blocks] >= log_bound:
                self.last_log_ratio = log_bound
                self.rejected_early = True
                return
        self.block[i] = self.block[j] = <int32_t> self.blocks
        self.first[2 * self.blocks] = self.model.head[i]
        self.first[2 * self.blocks + 1] = self.model.head[j]
        self.blocks += 1

    cdef double log_blocks(self, Py_ssize_t m) noexcept nogil:
        """log ratio of the probabilities of the blocks after a split and before it, with m clusters to be merged
        before."""
        cdef double p = self.splits
        return log((1.0 - p) * (1.0 - p) / p) - log(<double> (m + 2 if m & 1 else m + 1))

    cdef int gather(self) except -1 nogil:
        """Items by block, runs of them, and columns for the sides."""
        cdef Py_ssize_t i, b, at, turns = 0, K = self.model.K
        # items of no block come last
        for b in range(self.blocks):
            self.changed[b] = False
        for i in range(self.model.N):
            b = self.block[self.model.z[i]]
            self.label[i] = <int32_t> (self.blocks if b < 0 else b)
            if b >= 0 and not self.changed[b]:
                # turns are by first item: an order by kind of move would not be the same from the next state
                self.changed[b] = True
                self.turn[turns] = <int32_t> b
                turns += 1
        self.sort(self.label, self.order, self.start, self.blocks + 1)
        self.need_runs(self.model.N // RUN + self.blocks)
        self.runs = 0
        for b in range(self.blocks):
            self.next[b] = self.runs
            at = self.start[b]
            while at < self.start[b + 1]:
                self.run_of[2 * self.runs], self.run_of[2 * self.runs + 1] = b, at
                self.runs += 1
                at += RUN
        self.next[self.blocks] = self.runs
        # behind all that splits may add
        self.column = K + self.blocks + 3
        return self.model.reserve(self.column + 2 * self.blocks)

    cdef void launch(self, Py_ssize_t number) noexcept nogil:
        """The launch state of every block, and from it the sides: drawn of a split, scored of a merge."""
        cdef Py_ssize_t b, s, scan, n, u, v
        cdef bint going
        for b in range(self.blocks):
            self.rng.draw_two(self.start[b + 1] - self.start[b], &u, &v)
            self.model.scratch(self.column + 2 * b)
            self.model.scratch(self.column + 2 * b + 1)
            self.model.join(self.order[self.start[b] + u], self.column + 2 * b)
            self.model.join(self.order[self.start[b] + v], self.column + 2 * b + 1)
            self.changed[2 * b] = self.changed[2 * b + 1] = True
        self.counted = False
        memset(self.side, 0, self.model.N)
        for scan in range(self.t + 1):
            self.run(EXPECT, 2 * self.blocks)
            if scan == self.t or self.rng.halted:
                break
            self.run(SEND, self.runs)
            self.run(COUNT_SIDE, 2 * self.blocks)
            self.counted = True
            going = False
            for b in range(2 * self.blocks):
                going |= self.changed[b]
            if not going:
                break
        self.number = number
        for b in range(self.blocks):
            if self.first[2 * b + 1] >= 0:
                s = self.model.z[self.first[2 * b]]
                for n in range(self.start[b], self.start[b + 1]):
                    self.side[n] = self.model.z[self.order[n]] != s
        self.run(SIDES, self.runs)
        for b in range(self.blocks):
            self.changed[2 * b] = self.changed[2 * b + 1] = self.first[2 * b + 1] < 0
        self.counted = False
        self.run(COUNT_SIDE, 2 * self.blocks)

    cdef void expect(self, Worker w, Py_ssize_t task) noexcept nogil:
        """What to expect of the parameters of side task % 2 of block task // 2."""
        cdef Py_ssize_t k = self.column + task
        if self.changed[task]:
            self.model.draw_posterior(None, k, self.theta + task * self.model.n_parameters, w.work)
            # an empty side as one of one item, or it would stay empty
            self.log_weight[task] = self.model.prior.log_cluster_weight(None, max(self.model.size[k], 1))

    cdef void score_sides(self, Worker w, Py_ssize_t b, const int32_t *items, Py_ssize_t n) noexcept nogil:
        """w.weights: log weights of n items on side 0, then on side 1."""
        cdef Py_ssize_t s
        self.model.load_tile(items, n, w.tile)
        for s in range(TILE_ITEMS):
            w.least[s] = -INFINITY
        for s in range(2):
            self.model.score_tile(w.tile, self.theta + (2 * b + s) * self.model.n_parameters,
                                  self.log_weight[2 * b + s], w.least, w.weights + s * TILE_ITEMS)

    cdef void send(self, Worker w, Py_ssize_t task) noexcept nogil:
        cdef Py_ssize_t b = self.run_of[2 * task], at = self.run_of[2 * task + 1], t, n
        cdef Py_ssize_t end = min(at + RUN, self.start[b + 1])
        # what one side loses the other gains: both have changed, or neither
        cdef bint going = self.changed[2 * b]
        while at < end:
            n = min(TILE_ITEMS, end - at)
            if going:
                self.score_sides(w, b, self.order + at, n)
            for t in range(n):
                self.before[at + t] = self.side[at + t]
                if going:
                    self.side[at + t] = w.weights[TILE_ITEMS + t] > w.weights[t]
            at += n

    cdef void draw_sides(self, Worker w, Py_ssize_t task) noexcept nogil:
        cdef Py_ssize_t b = self.run_of[2 * task], at = self.run_of[2 * task + 1], t, n
        cdef Py_ssize_t end = min(at + RUN, self.start[b + 1])
        cdef bint merging = self.first[2 * b + 1] >= 0
        cdef double more, log_0, log_1
        cdef double *log_q = self.log_q + 2 * task
        cdef uint64_t[4] words
        log_q[0] = log_q[1] = 0.0
        while at < end:
            n = min(TILE_ITEMS, end - at)
            self.score_sides(w, b, self.order + at, n)
            for t in range(n):
                more = w.weights[TILE_ITEMS + t] - w.weights[t]
                # log probabilities of the sides
                log_1 = -log1p(exp(-fabs(more)))
                log_0 = log_1 - fabs(more)
                if more < 0.0:
                    log_0, log_1 = log_1, log_0
                if self.rng.scripted and not merging:
                    self.side[at + t] = self.rng.draw_coin(exp(log_1))
                elif not merging:
                    self.words_of(self.order[at + t], self.number, OF_SIDE, words)
                    self.side[at + t] = philox_double(words[0]) < exp(log_1)
                log_q[0] += log_1 if self.side[at + t] else log_0
                log_q[1] += log_0 if self.side[at + t] else log_1
            at += n

    cdef void count_side(self, Worker w, Py_ssize_t task) noexcept nogil:
        """Statistics of side task % 2 of block task // 2."""
        cdef Py_ssize_t b = task // 2, k = self.column + task, t, n = 0, changes = 0, filled = 0
        cdef int8_t s = task & 1
        cdef int32_t[RUN] items
        if not self.changed[task]:
            return
        for t in range(self.start[b], self.start[b + 1]):
            n += self.side[t] == s
            changes += self.side[t] != self.before[t]
        if self.counted:
            self.changed[task] = changes > 0
        if self.counted and 2 * changes < n:
            for t in range(self.start[b], self.start[b + 1]):
                if self.side[t] != self.before[t]:
                    if self.side[t] == s:
                        self.model.add(self.order[t], k)
                    else:
                        self.model.remove(self.order[t], k)
        else:
            self.model.clear(k)
            for t in range(self.start[b], self.start[b + 1]):
                if self.side[t] == s:
                    items[filled] = self.order[t]
                    filled += 1
                    if filled == RUN:
                        self.model.count_items(items, filled, k, w.work)
                        filled = 0
            self.model.count_items(items, filled, k, w.work)
        self.model.size[k] = <int32_t> n
        self.model.is_valid[k] = False

    # -- neighbours
    cdef int merge_neighbours(self) except -1 nogil:
        cdef Py_ssize_t k, c, batch, held = 0
        if self.rng.halted or self.model.N < 2 or self.pairs == 0:
            return 0
        self.need(self.model.K)
        for k in range(self.model.K):
            self.block[k] = -1
        self.drawn = 0
        while self.drawn < self.pairs and 2 * held < self.model.N:
            self.need(self.model.K)
            self.model.reserve(self.model.K + 3 + self.n_workers)
            # choices that follow a script are made for pairs that are used, alone
            batch = 1 if self.rng.scripted else min(BATCH, self.pairs - self.drawn)
            self.run(PAIRS, batch)
            if self.rng.halted:
                return 0
            for c in range(batch):
                if 2 * held < self.model.N:
                    held += self.call_upon(self.pair[2 * c], self.pair[2 * c + 1])
            self.drawn += batch
        self.model.begin_scan()
        return 0

    cdef void draw_pair(self, Worker w, Py_ssize_t task) noexcept nogil:
        w.stream.begin(self.key, self.drawn + task, OF_PAIR)
        if self.rng.scripted:
            self.choose_pair(w, self.rng, self.pair + 2 * task)
        else:
            self.choose_pair(w, w.stream.rng, self.pair + 2 * task)

    cdef void choose_pair(self, Worker w, Rng rng, int32_t *pair) noexcept nogil:
        """An item, and of `near` others at random, or once in eight times of one, the likeliest beside it."""
        cdef Py_ssize_t N = self.model.N, k = self.model.K + 3 + w.number, n = self.near, m, t
        cdef int32_t[TILE_ITEMS] others
        cdef double top = -INFINITY
        cdef bint alone
        pair[0] = <int32_t> rng.draw_index(N)
        alone = n == 1 or rng.draw_coin(0.125)
        if alone:
            n = 1
        else:
            self.model.scratch(k)
            self.model.join(pair[0], k)
            self.model.draw_posterior(None, k, w.theta, w.work)
        for t in range(TILE_ITEMS):
            w.least[t] = -INFINITY
        while n > 0:
            m = min(n, TILE_ITEMS)
            for t in range(m):
                others[t] = <int32_t> rng.draw_index(N - 1)
                others[t] += others[t] >= pair[0]
            if top == -INFINITY:
                pair[1] = others[0]
            if alone:
                return
            self.model.load_tile(others, m, w.tile)
            self.model.score_tile(w.tile, w.theta, 0.0, w.least, w.best)
            for t in range(m):
                if w.best[t] > top:
                    top = w.best[t]
                    pair[1] = others[t]
            n -= m

    cdef Py_ssize_t call_upon(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Propose to merge the clusters of items i and j, or to part them; returns how many items these clusters have,
        0 where one has been called upon before."""
        cdef Py_ssize_t a = self.model.z[i], b = self.model.z[j], n, gone
        cdef double log_r
        if self.block[a] != -1 or self.block[b] != -1:
            return 0
        self.block[a] = self.block[b] = 0
        n = self.model.size[a]
        if a == b:
            if self.rng.draw_coin(PARTED):
                self.part(a, i, j)
            return n
        n += self.model.size[b]
        if self.rng.draw_coin(PARTED):
            return n
        self.propose(MERGE)
        log_r = self.term(TARGET, self.log_merge_ratio(a, b))
        log_r += self.term(ALLOCATION, -(n - 2) * LOG_2)
        log_r += self.term(BLOCKS, log(PARTED / (1.0 - PARTED)))
        if self.decide(log_r):
            # the last cluster takes the number of the one that goes
            gone = max(a, b)
            self.block[gone] = self.block[self.model.K - 1]
            self.model.commit_merge(a, b)
            self.block[min(a, b)] = 0
        return n

    cdef int part(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Propose to split cluster c by fair coins, item i on one side, j on the other."""
        cdef Py_ssize_t t, n = self.model.members(c, c, self.order), K = self.model.K, on_b = 0
        cdef double log_r
        cdef bint to_b
        self.propose(SPLIT)
        self.model.scratch(K)
        self.model.scratch(K + 1)
        for t in range(n):
            to_b = self.order[t] == j if self.order[t] == i or self.order[t] == j else self.rng.draw_coin(0.5)
            self.model.join(self.order[t], K + to_b)
            if to_b:
                self.other[on_b] = self.order[t]
                on_b += 1
        log_r = self.term(TARGET, self.log_split_ratio(c, K, K + 1))
        log_r += self.term(ALLOCATION, (n - 2) * LOG_2) + self.term(BLOCKS, log((1.0 - PARTED) / PARTED))
        if self.decide(log_r):
            self.need(K + 1)
            self.block[K] = 0
            return self.model.commit_split(c, self.other, on_b)
        return 0

    # -- decisions
    cdef double log_q_of(self, Py_ssize_t b) noexcept nogil:
        """log probability of the two sides of a block, in either order."""
        cdef Py_ssize_t r
        cdef double one = 0.0, two = 0.0
        for r in range(self.next[b], self.next[b + 1]):
            one += self.log_q[2 * r]
            two += self.log_q[2 * r + 1]
        return max(one, two) + log1p(exp(-fabs(one - two)))

    cdef bint decide_merge(self, Py_ssize_t b, Py_ssize_t candidates) except -1 nogil:
        cdef Py_ssize_t i = self.model.z[self.first[2 * b]], j = self.model.z[self.first[2 * b + 1]]
        cdef double log_r
        self.begin(MERGE)
        log_r = self.term(TARGET, self.log_merge_ratio(i, j))
        log_r += self.term(BLOCKS, -self.log_blocks(candidates - 2))
        log_r += self.term(ALLOCATION, self.log_q_of(b))
        if not self.decided(b, log_r):
            return False
        self.model.commit_merge(i, j)
        return True

    cdef bint decide_split(self, Py_ssize_t b, Py_ssize_t candidates) except -1 nogil:
        cdef Py_ssize_t c = self.model.z[self.first[2 * b]], a = self.column + 2 * b, t, n = 0, K = self.model.K
        cdef double log_r
        self.begin(SPLIT)
        if self.model.size[a] == 0 or self.model.size[a + 1] == 0:
            self.null()
            return False
        log_r = self.term(TARGET, self.log_split_ratio(c, a, a + 1))
        log_r += self.term(BLOCKS, self.log_blocks(candidates))
        log_r += self.term(ALLOCATION, -self.log_q_of(b))
        if not self.decided(b, log_r):
            return False
        for t in range(2):
            self.model.copy(a + t, K + t)
            self.model.size[K + t] = self.model.size[a + t]
            self.model.ll[K + t] = self.model.ll[a + t]
            self.model.is_valid[K + t] = self.model.is_valid[a + t]
        for t in range(self.start[b], self.start[b + 1]):
            if self.side[t]:
                self.other[n] = self.order[t]
                n += 1
        self.model.commit_split(c, self.other, n)
        return True

    cdef void begin(self, int move) noexcept nogil:
        """Take up a move that was proposed when its block was opened."""
        self.proposed[move] -= 1
        self.propose(move)

    cdef bint decided(self, Py_ssize_t b, double log_r) noexcept nogil:
        if self.rng.scripted:
            return self.decide(log_r)
        self.last_log_ratio = log_r
        if self.threshold[b] < log_r:
            self.accepted[self.move] += 1
            return True
        return False
