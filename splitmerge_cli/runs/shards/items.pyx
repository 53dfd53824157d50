"""The items of `subcluster` in shards: `ShardItems`, where they are, and `RemoteItems`, who asks.

Both are `Items`, and do in several processes what it does in one: so a chain is the same, draw by draw, however the
items are divided (tests/exact/test_shards.py). What goes to the shards are keys of streams, parameters, weights and
numbers of clusters; what comes back are sums of whole numbers, the least of some places, and of the pairs of
neighbours their clusters. No item does, but that the first of each pair, and the two that found the sides of a block,
are the statistics of a cluster of one item.

Messages are methods of `ShardItems` with arrays: who sends them, in whatever process, is a `Shards`
(``source.py``).
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from splitmerge_cli.core.capabilities cimport Shards
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.samplers.subcluster_items cimport BATCH, OF_PAIR, Items, Worker, draw_cluster, whole

from splitmerge_cli.samplers.subcluster import Subcluster

cdef extern from "log_sums.h":
    void log_sum_join(whole *sum, const whole *more) noexcept nogil


cdef double[:, ::1] parameters_of(Items items, Py_ssize_t n):
    """The parameters of the first n clusters, or sides, not copied."""
    return <double[:n, :items.parameters.size]> items.theta


cdef class ShardItems(Items):
    """Items of a chain that one shard holds: `model` is theirs, as ``Shards.build_shard`` makes it; `offset` items are
    in the shards before, `total` in all; a pass may use so many `threads`."""

    cdef Shards statistics              # statistics of its clusters, packed

    def __init__(self, Model model not None, Py_ssize_t offset, Py_ssize_t total, Py_ssize_t near, int threads=1):
        super().__init__(model, Rng(0), near)
        self.statistics = model.capability(Shards)
        self.offset, self.N, self.threads = offset, total, threads
        self._need(1)

    cdef void set_label(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        # no lists of members here: nothing asks for them
        self.model.z[i] = <int32_t> k

    def _pack(self, Py_ssize_t first, Py_ssize_t n):
        """Sizes and statistics of columns first, ..., first + n - 1."""
        cdef Py_ssize_t k
        sizes = np.empty(n, dtype=np.int64)
        # what fills up to the boundary is the same everywhere, too
        packed = np.zeros((n, self.statistics.column_bytes), dtype=np.uint8)
        cdef unsigned char[:, ::1] to = packed
        cdef long[::1] size = sizes
        for k in range(n):
            size[k] = self.model.size[first + k]
            self.statistics.write_column(first + k, <char *> &to[k, 0])
        return sizes, packed

    def begin(self, key):
        """A step begins, with this key of its streams."""
        self.key[0], self.key[1] = key

    def set_labels(self, labels, Py_ssize_t K):
        """Put the items into these clusters of all shards, none of which need be here; returns sizes and statistics."""
        found = np.ascontiguousarray(labels, dtype=np.int32)
        cdef int32_t[::1] given = found
        if len(found) != self.model.N or not 0 <= found.min(initial=0) <= found.max(initial=0) < K:
            raise ValueError(f"labels: expected {self.model.N} numbers below {K}")
        self.need(K)
        self.model.reset(&given[0] if given.shape[0] else NULL, K)
        return self._pack(0, K)

    def count_all(self):
        """Count all items in one cluster, as a model begins: ndarray of uint8."""
        return self._pack(0, 1)[1]

    def add_statistics(self, const unsigned char[:, ::1] packed):
        """Add up these statistics, each of one column: ndarray of uint8."""
        cdef Py_ssize_t r, K = self.model.K
        self.model.reserve(K + 1)
        self.model.scratch(K)
        for r in range(packed.shape[0]):
            self.statistics.add_column(K, <const char *> &packed[r, 0])
        return self._pack(K, 1)[1]

    def labels(self):
        """The cluster of each item, ndarray of int32, a copy."""
        return self.model.labels if self.model.N else np.empty(0, dtype=np.int32)

    # -- labels
    def founders(self):
        """Place of the first item here, by cluster."""
        self.need(self.model.K)
        with nogil:
            self.find_founders(self.model.K)
        return np.asarray(<uint64_t[:self.model.K]> self.founder).copy()

    def relabel_items(self, const uint64_t[::1] founder, const double[:, ::1] theta, const double[::1] log_weight):
        """Draw the labels; returns how many changed, sizes and statistics."""
        cdef Py_ssize_t K = self.model.K, moved
        memcpy(self.founder, &founder[0], K * sizeof(uint64_t))
        self._take(theta, log_weight)
        with nogil:
            moved = self.relabel(K)
        return moved, *self._pack(0, K)

    def _take(self, const double[:, ::1] theta, const double[::1] log_weight):
        cdef Py_ssize_t n = theta.shape[0]
        if n > 2 * self.room:
            raise ValueError(f"{n} parameters; expected at most {2 * self.room}")
        memcpy(self.theta, &theta[0, 0], n * self.parameters.size * sizeof(double))
        memcpy(self.log_weight, &log_weight[0], n * sizeof(double))

    # -- a round
    def gather_blocks(self, const int32_t[::1] block, const int32_t[::1] first):
        """Gather the items by block; returns how many each has here, and the number of its first."""
        cdef Py_ssize_t b
        self.blocks = first.shape[0] // 2
        memcpy(self.block, &block[0], self.model.K * sizeof(int32_t))
        memcpy(self.first, &first[0], 2 * self.blocks * sizeof(int32_t))
        with nogil:
            self.gather()
        memset(self.side, 0, self.model.N)
        self.counted = False
        for b in range(2 * self.blocks):
            self.changed[b] = True
        starts = np.asarray(<Py_ssize_t[:self.blocks + 1]> self.start)
        firsts = np.array([self.offset + self.order[self.start[b]] if self.start[b] < self.start[b + 1]
                           else np.iinfo(np.int64).max for b in range(self.blocks)])
        return np.diff(starts), firsts

    def founding(self, sides, ranks):
        """Statistics of the items that found sides, each by its rank among the items of the block in this shard."""
        cdef Py_ssize_t s, r, column = self.column
        packed = []
        for s, r in zip(sides, ranks):
            self.model.scratch(column)
            self.model.join(self.order[self.start[s // 2] + r], column)
            packed.append(self._pack(column, 1)[1])
        return np.concatenate(packed)

    def send_items(self, const double[:, ::1] theta, const double[::1] log_weight, changed):
        """Send every item to the likelier side; returns which blocks changed here, and sizes and statistics of sides
        that `changed` marks."""
        self._sides(theta, log_weight, changed)
        with nogil:
            self.send_to_sides()
        now = np.array([self.changed[s] for s in range(0, 2 * self.blocks, 2)], dtype=bool)
        return now, *self._pack_sides(np.flatnonzero(changed))

    def _sides(self, theta, log_weight, changed):
        cdef Py_ssize_t s
        self._take(theta, log_weight)
        for s in range(2 * self.blocks):
            self.changed[s] = changed[s]

    def _pack_sides(self, sides):
        sizes, packed = self._pack(self.column, 2 * self.blocks)
        return sizes[sides], packed[sides]

    def drawn_sides(self, Py_ssize_t number, const double[:, ::1] theta, const double[::1] log_weight):
        """Draw the sides, or score those that there are; returns their log probabilities, and of the splits sizes and
        statistics of the sides."""
        cdef Py_ssize_t b
        self._take(theta, log_weight)
        with nogil:
            self.draw_sides(number)
        cdef Py_ssize_t nbytes = 2 * self.blocks * sizeof(whole)
        log_q = np.asarray(<unsigned char[:nbytes]> <unsigned char *> self.log_q).copy()
        return log_q, *self._pack_sides(np.array([s for b in range(self.blocks) if self.first[2 * b + 1] < 0
                                                  for s in (2 * b, 2 * b + 1)], dtype=np.intp))

    # -- neighbours
    def first_of_pairs(self, items):
        """Clusters of items that are here, by their numbers among all, and statistics of each alone."""
        cdef Py_ssize_t K = self.model.K, i
        self.model.reserve(K + 1)
        clusters, packed = [], [np.empty((0, self.statistics.column_bytes), dtype=np.uint8)]
        for i in items:
            clusters.append(self.model.z[i - self.offset])
            self.model.scratch(K)
            self.model.join(i - self.offset, K)
            packed.append(self._pack(K, 1)[1])
        return np.array(clusters, dtype=np.int32), np.concatenate(packed)

    def nearest(self, const double[:, ::1] theta, lists):
        """For each pair, the likeliest of its others: log density, place, cluster; `lists` has those that are here,
        (places among the others, numbers among all). -inf and the first where none is likelier than nothing, and
        place -1 where none is here."""
        cdef Worker w = self.pool.workers[0]
        cdef int32_t[::1] items
        cdef double top
        cdef Py_ssize_t t, at
        found = []
        for t, (places, numbers) in enumerate(lists):
            top, at = -INFINITY, -1
            if len(places):
                items = (np.asarray(numbers) - self.offset).astype(np.int32)
                at = self.likeliest(w, &theta[t, 0], &items[0], items.shape[0], &top)
                at = max(at, 0)
            found.append((top, places[at] if at >= 0 else -1, self.model.z[items[at]] if at >= 0 else -1))
        return found

    def part_cluster(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j):
        """Part cluster c by coins, item i on the first side, j on the second; returns sizes and statistics."""
        cdef Py_ssize_t t, K = self.model.K
        self.model.reserve(K + 2)
        self.model.scratch(K)
        self.model.scratch(K + 1)
        for t in range(self.model.N):
            if self.model.z[t] == c:
                self.model.join(t, K + self._to_b(t, i, j))
        return self._pack(K, 2)

    cdef bint _to_b(self, Py_ssize_t t, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef Py_ssize_t number = self.offset + t
        if number == i or number == j:
            return number == j
        return self.coin_of(t)

    # -- changes
    def change_clusters(self, const int32_t[::1] now, Py_ssize_t K, parts):
        """Change the clusters to these, then the second sides of the blocks, -1 none, or the sides of `parts`:
        (cluster, item, item). Now there are K."""
        cdef Py_ssize_t before = self.model.K, k, b, t, e, new, i, j
        cdef Py_ssize_t base = max(before, K) + 3, second = now.shape[0] - before
        cdef bint of_blocks = not parts
        if of_blocks and second:
            base = max(base, self.column + 2 * second)
        self.model.reserve(base + K)
        for k in range(K):
            self.model.scratch(base + k)
        for k in range(before):
            b = self.block[k] if of_blocks and second else -1
            if b >= 0 and now[before + b] >= 0:
                self.model.absorb(base + now[k], self.column + 2 * b, 1)
                self.model.absorb(base + now[before + b], self.column + 2 * b + 1, 1)
            else:
                self.model.absorb(base + now[k], k, 1)
        for e in range(len(parts)):
            k, i, j = parts[e]
            new = now[before + e]
            for t in range(self.model.N):
                if self.model.z[t] == k and self._to_b(t, i, j):
                    self.model.remove(t, base + now[k])
                    self.model.add(t, base + new)
                    # past all clusters until the others have their numbers
                    self.model.z[t] = <int32_t> (before + e)
        for t in range(self.model.N):
            self.model.z[t] = now[self.model.z[t]]
        for b in range(second if of_blocks else 0):
            if now[before + b] >= 0:
                for t in range(self.start[b], self.start[b + 1]):
                    if self.side[t]:
                        self.model.z[self.order[t]] = now[before + b]
        self.need(K)
        self.model.K = K
        for k in range(K):
            self.model.copy(base + k, k)
            self.model.size[k] = 0
            self.model.is_valid[k] = False
        for t in range(self.model.N):
            self.model.size[self.model.z[t]] += 1


cdef class RemoteItems(Items):
    """Items that are in shards: `model` is of their clusters, as ``Shards.build_whole`` makes it; `shards` sends
    messages to them; `sizes` are the items of each shard, in their order."""

    cdef Shards statistics              # statistics of its clusters, packed
    cdef readonly object shards
    cdef object ends                    # [shards] items before the end of each
    cdef object counts                  # [shards, blocks] items of each block in each shard
    cdef int32_t[2 * BATCH] of_pair     # clusters of the items of the pairs, by their numbers before the changes
    cdef list parts                     # (cluster, item, item) that were parted in this batch
    cdef tuple parted                   # the same of a proposal

    def __init__(self, Model model not None, Rng rng not None, Py_ssize_t near, shards, sizes):
        super().__init__(model, rng, near)
        self.statistics = model.capability(Shards)
        self.shards = shards
        self.ends = np.cumsum(sizes)
        self.N = int(self.ends[len(sizes) - 1])
        self.parts = []

    def settle(self, labels, Py_ssize_t K):
        """Put the items of each shard into these clusters."""
        self.need(K)
        self.model.reset(NULL, K)
        self._set(range(K), self.shards.each("set_labels", [(given, K) for given in labels]))
        self.model.begin_scan()

    def _set(self, columns, answers):
        """Make columns the sums of what the shards answered, (sizes, statistics)."""
        cdef Py_ssize_t t, k
        cdef const unsigned char[:, ::1] packed
        for k in columns:
            self.model.scratch(k)
        for sizes, given in answers:
            packed = given
            for t, k in enumerate(columns):
                self.model.size[k] += <int32_t> sizes[t]
                self.statistics.add_column(k, <const char *> &packed[t, 0])

    cdef int begin(self) except -1 with gil:
        self.shards.all("begin", (self.key[0], self.key[1]))
        return 0

    cdef Py_ssize_t draw_labels(self) except -1 with gil:
        cdef Py_ssize_t K = self.model.K, moved
        with nogil:
            self.run(draw_cluster, K)
        founder = np.min(self.shards.all("founders"), axis=0)
        answers = self.shards.all("relabel_items", founder, np.array(parameters_of(self, K)),
                                  np.array(<double[:K]> self.log_weight))
        moved = sum(answer[0] for answer in answers)
        self._set(range(K), [answer[1:] for answer in answers])
        self.model.begin_scan()
        self.model.version += 1
        return moved

    # -- a round
    cdef int gather(self) except -1 with gil:
        cdef Py_ssize_t b
        answers = self.shards.all("gather_blocks", np.array(<int32_t[:self.model.K]> self.block),
                                  np.array(<int32_t[:2 * self.blocks]> self.first))
        self.counts = np.array([answer[0] for answer in answers])
        ends = np.concatenate([[0], np.cumsum(self.counts.sum(axis=0))])
        order = np.argsort(np.min([answer[1] for answer in answers], axis=0), kind="stable")
        for b in range(self.blocks):
            self.start[b], self.turn[b] = ends[b], order[b]
        self.start[self.blocks] = ends[self.blocks]
        self.column = self.model.K + self.blocks + 3
        return self.model.reserve(self.column + 2 * self.blocks)

    cdef int found_sides(self, const Py_ssize_t *founders) except -1 with gil:
        cdef Py_ssize_t s
        before = np.concatenate([np.zeros((1, self.blocks), dtype=np.int64), np.cumsum(self.counts, axis=0)])
        wanted = [([], []) for _ in self.ends]
        for s in range(2 * self.blocks):
            shard = int(np.searchsorted(before[1:, s // 2], founders[s], side="right"))
            wanted[shard][0].append(s)
            wanted[shard][1].append(founders[s] - before[shard, s // 2])
        asked = [shard for shard, (sides, _) in enumerate(wanted) if sides]
        for shard, packed in zip(asked, self.shards.each("founding", [wanted[shard] for shard in asked], asked)):
            for t, s in enumerate(wanted[shard][0]):
                self._set([self.column + s], [([1], packed[t:t + 1])])
        for s in range(2 * self.blocks):
            self.changed[s] = True
        self.counted = False
        return 0

    cdef int send_to_sides(self) except -1 with gil:
        cdef Py_ssize_t s, n = 2 * self.blocks
        changed = np.array([self.changed[s] for s in range(n)], dtype=bool)
        parameters = np.array(parameters_of(self, n))
        answers = self.shards.all("send_items", parameters, np.array(<double[:n]> self.log_weight),
                                  changed)
        now = np.any([answer[0] for answer in answers], axis=0)
        self._set([self.column + s for s in np.flatnonzero(changed)], [answer[1:] for answer in answers])
        if self.counted:
            for s in range(n):
                self.changed[s] = now[s // 2] and changed[s]
        self.counted = True
        return 0

    cdef int draw_sides(self, Py_ssize_t number) except -1 with gil:
        cdef Py_ssize_t n = 2 * self.blocks, s
        cdef const unsigned char[::1] q
        answers = self.shards.all("drawn_sides", number, np.array(parameters_of(self, n)),
                                  np.array(<double[:n]> self.log_weight))
        memset(self.log_q, 0, n * sizeof(whole))
        for answer in answers:
            q = np.require(answer[0], requirements=["ALIGNED"])
            for s in range(n):
                log_sum_join(self.log_q + s, <const whole *> &q[s * sizeof(whole)])
        self._set([self.column + s for s in range(n) if self.first[s | 1] < 0], [answer[1:] for answer in answers])
        return 0

    # -- neighbours
    cdef int draw_pairs(self, Py_ssize_t batch) except -1 with gil:
        cdef Worker w = self.pool.workers[0]
        cdef Py_ssize_t t, n, k = self.model.K + 3, P = self.parameters.size
        cdef double[:, ::1] theta = np.zeros((batch, P))
        self.model.reserve(k + 1)
        firsts, others = [], []
        for t in range(batch):
            w.stream.begin(self.key, self.drawn + t, OF_PAIR)
            n = self.draw_others(w.stream.rng, self.pair + 2 * t, w.others)
            firsts.append(self.pair[2 * t])
            others.append(np.array(<int32_t[:n]> w.others))
        owner = np.searchsorted(self.ends, firsts, side="right")
        asked = np.unique(owner).tolist()
        for shard, (clusters, packed) in zip(asked, self.shards.each(
                "first_of_pairs", [([firsts[t] for t in np.flatnonzero(owner == shard)],) for shard in asked], asked)):
            for at, t in enumerate(np.flatnonzero(owner == shard)):
                self.of_pair[2 * t] = clusters[at]
                if len(others[t]) > 1:
                    self._set([k], [([1], packed[at:at + 1])])
                    self.parameters.draw_posterior(None, k, &theta[t, 0], w.work)
        lists = []
        for shard, end in enumerate(self.ends):
            begin = self.ends[shard - 1] if shard else 0
            here = [np.flatnonzero((items >= begin) & (items < end)) for items in others]
            lists.append((np.asarray(theta), [(places, items[places]) for places, items in zip(here, others)]))
        answers = self.shards.each("nearest", lists)
        for t in range(batch):
            found = [answer[t] for answer in answers if answer[t][1] >= 0]
            # the first of the likeliest; of none that is likelier than nothing the first of all
            best = min([(-top, place, cluster) for top, place, cluster in found])
            self.pair[2 * t + 1] = others[t][best[1]]
            self.of_pair[2 * t + 1] = best[2]
        return 0

    cdef Py_ssize_t cluster_of(self, Py_ssize_t t) noexcept nogil:
        return self.now[self.of_pair[t]]

    cdef int part(self, Py_ssize_t c, Py_ssize_t t) except -1 with gil:
        cdef Py_ssize_t k = 0
        # not parted and not merged in this batch: one of those before
        while self.now[k] != c:
            k += 1
        # one that is taken goes to the parts
        self.parted = (k, self.pair[2 * t], self.pair[2 * t + 1])
        self._set([self.model.K, self.model.K + 1], self.shards.all("part_cluster", *self.parted))
        return 0

    cdef int take_part(self, Py_ssize_t c) except -1 with gil:
        self.need(self.model.K + 1)
        self.now[self.before_changes + self.blocks] = <int32_t> self.model.K
        self.blocks += 1
        self.parts.append(self.parted)
        return self.model.commit_split(c, NULL, 0)

    # -- changes
    cdef int put_sides(self, Py_ssize_t b) except -1 nogil:
        return self.model.commit_split(self.now[self.first[2 * b]], NULL, 0)

    cdef int end_changes(self) except -1 with gil:
        cdef Py_ssize_t n = self.before_changes + self.blocks
        now = np.array(<int32_t[:n]> self.now)
        if (now[:self.before_changes] != np.arange(self.before_changes)).any() or (now[self.before_changes:]
                                                                                   >= 0).any():
            self.shards.all("change_clusters", now, self.model.K, self.parts)
        if self.parts:
            self.parts, self.blocks = [], 0
        return 0


def sharded_subcluster(Model model not None, Rng rng not None, shards, sizes, **options):
    """Return a `Subcluster` with these options on items in shards, and the items; parameters as of `RemoteItems`."""
    sampler = Subcluster(model, rng, **options)
    sampler.items = RemoteItems(model, rng, sampler.near, shards, sizes)
    return sampler, sampler.items
