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
So pairs of items are drawn, the second the likeliest with the first among some at random, which does not depend on
the partition. Two of different clusters call for their merge, with probability 1 - s, two of one cluster for a split by
fair coins that parts them, with probability s, unless a pair before has called upon one of these clusters. With n items
the log ratio of a split is

    target + (n - 2) log 2 + log [(1 - s) / s]

which is `allocation` and `blocks`. The same pairs call upon the same sets of items from the next state. A merge takes
no look at any item.

Chang and Fisher (2013), "Parallel sampling of DP mixture models using sub-cluster splits", whose idea this is, keep the
labels of sub-clusters from one iteration to the next, and count a merge against a random split that is never proposed;
here every ratio belongs to the actual proposal (docs/derivations.md).

*Two chains that are coupled* (``core/coupled.pyx``) have one key a step, so one order of the items and, for clusters
that are matched, one stream of numbers. Where a model knows densities of its parameters, the chain that follows takes
the parameters and weights of all matched clusters from the other with as large a probability as can be, and else their
reflection (docs/derivations.md). Labels are coupled item by item.

Cost: a scan O(N K) densities, fewer if the densities of a cluster are far below the best after some coordinates; a
round 2 (t + 1) densities an item. Memory: 22 bytes an item, and the drawn parameters.
"""
from libc.math cimport log
from libc.stdint cimport int8_t, int32_t, uint64_t
from libc.string cimport memset

from splitmerge_cli.core.capabilities cimport DrawnParameters
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport ALONE
from splitmerge_cli.core.sampler cimport Sampler
from splitmerge_cli.samplers.subcluster_items cimport BATCH, Items, expect

from splitmerge_cli.core.options import Count, Flag, Number
from splitmerge_cli.core.sampler import CLUSTERS

cdef enum:
    SCAN, SPLIT, MERGE                  # MOVES

cdef enum:
    TARGET, ALLOCATION, BLOCKS          # TERMS

# of two items of one cluster: the probability that their cluster is to be split by coins
cdef double PARTED = 0.02
cdef double LOG_2 = log(2.0)


cdef class Subcluster(Sampler):
    """Labels of all items given drawn parameters, then splits and merges by sub-clusters. The move `scan` counts items
    as proposed and those that changed their cluster as accepted. What a step does depends neither on ``threads`` nor on
    which thread does what."""

    OPTIONS = (
        Flag("scan", True, "whether a step begins with a draw of all labels"),
        Count("t", 10, "largest number of scans of a launch state", most=10_000),
        Count("rounds", 1, "number of rounds of splits and merges after a draw of the labels"),
        Number("splits", 0.8, "share of the clusters that a round tries to split", least=0.01, most=0.99),
        Count("pairs", 10_000, "largest number of pairs of neighbours that a step draws; fewer once they have used "
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
    cdef public Items items             # the items of the model, or in shards
    cdef Py_ssize_t room
    cdef int32_t *candidate             # [room] clusters that are to be merged
    cdef int8_t *called                 # [room] whether a pair of neighbours has called upon a cluster
    cdef double *threshold              # [room] log u of the decision on a block
    cdef Py_ssize_t *founders           # [room, 2] items that found the sides of a block, by their rank in it

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.scan = self.options["scan"]
        self.t, self.rounds, self.splits = self.options["t"], self.options["rounds"], self.options["splits"]
        self.pairs, self.near = self.options["pairs"], self.options["near"]
        self.scans = 0
        self.items = Items(self.model, self.rng, self.near)

    @classmethod
    def invariants(cls, model, **options):
        """A scan of the labels opens and closes no cluster: frozenset of str."""
        fixed = options.get("rounds") == options.get("pairs") == 0
        return super().invariants(model) | ({CLUSTERS} if fixed else set())

    @classmethod
    def supports(cls, model):
        """Whether parameters and weights of clusters can be drawn: (bool, reason)."""
        able, reason = super().supports(model)
        if able and model.capability(DrawnParameters) is None:
            return False, "the model draws no parameters of a cluster given its items"
        if able and not (<Model> model).prior.draws_weights:
            return False, f"model.prior={(<Model> model).prior.NAME} draws no weights of clusters"
        return able, reason

    cdef int need(self, Py_ssize_t clusters) except -1 nogil:
        """Room for this many clusters."""
        cdef Py_ssize_t old = self.room, room = 2 * clusters
        if clusters > old:
            with gil:
                self.candidate = <int32_t *> self.memory.larger(self.candidate, 4 * old, 4 * room)
                self.called = <int8_t *> self.memory.larger(self.called, old, room)
                self.threshold = <double *> self.memory.larger(self.threshold, 8 * old, 8 * room)
                self.founders = <Py_ssize_t *> self.memory.larger(self.founders, 16 * old, 16 * room)
            self.room = room
        return self.items.need(clusters)

    # -- a step
    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t r
        self.begin_step()
        if self.scan:
            self.propose(SCAN)
            self.need(self.model.K)
            r = self.items.draw_labels()
            if self.rng.is_halted:
                return 0
            self.proposed[SCAN] += self.items.N - 1
            self.accepted[SCAN] += r
        for r in range(self.rounds):
            self.round(r)
        self.merge_neighbours()
        return 0

    cdef int begin_step(self) except -1 nogil:
        cdef int s
        self.items.threads = self.threads
        if not self.rng.scripted:
            for s in range(2):
                self.items.key[s] = self.draw_word()
        return self.items.begin()

    cdef uint64_t draw_word(self) noexcept nogil:
        """64 bits for a key; of chains that are coupled 53, the same in both: a uniform number."""
        if self.rng.role == ALONE:
            return self.rng.bg.next_uint64(self.rng.bg.state)
        return <uint64_t> (self.rng.draw_beta(1.0, 1.0) * 9007199254740992.0)

    # -- the same of chains that are coupled: clusters are matched before each part
    cdef Py_ssize_t parts(self) noexcept nogil:
        """Parameters, or the key alone; labels of some items each; rounds; neighbours."""
        return 1 + (self.items.label_parts() if self.scan else 0) + self.rounds + 1

    cdef int make_part(self, Py_ssize_t part) except -1 nogil:
        cdef Py_ssize_t labels = self.items.label_parts() if self.scan else 0
        if part == 0:
            self.begin_step()
            if self.scan:
                self.propose(SCAN)
                self.need(self.model.K)
                self.items.begin_labels()
        elif part <= labels:
            self.items.draw_part(part - 1)
            if part == labels:
                self.proposed[SCAN] += self.items.N - 1
                self.accepted[SCAN] += self.items.end_labels()
        elif part <= labels + self.rounds:
            self.round(part - labels - 1)
        else:
            self.merge_neighbours()
        return 0

    # -- a round of splits and merges
    cdef int round(self, Py_ssize_t number) except -1 nogil:
        cdef Py_ssize_t K = self.model.K, k, b, c, candidates = 0, left, n
        if self.rng.is_halted:
            return 0
        self.need(K)
        self.rng.begin_clusters(self.model.name, K)
        for c in range(K):
            k = self.rng.cluster_in_turn(self.model.name, c)
            self.items.turn[c] = <int32_t> k
            if self.rng.draw_coin(self.splits):
                self.items.block[k] = -2
            else:
                self.candidate[candidates] = <int32_t> k
                candidates += 1
        self.rng.end_clusters()
        self.items.blocks = 0
        n = candidates
        while n > 1:
            if n & 1:
                # one is left over
                left = self.rng.draw_index(n)
                self.items.block[self.candidate[left]] = -1
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
            self.items.block[self.candidate[0]] = -1
        for c in range(K):
            k = self.items.turn[c]
            if self.items.block[k] == -2:
                self.items.block[k] = -1
                self.propose(SPLIT)
                if self.model.size[k] < 2:
                    self.null()
                    continue
                self.items.block[k] = <int32_t> self.items.blocks
                self.items.first[2 * self.items.blocks] = <int32_t> k
                self.items.first[2 * self.items.blocks + 1] = -1
                if not self.rng.directed:
                    self.threshold[self.items.blocks] = log(self.rng.next())
                self.items.blocks += 1
        if self.items.blocks == 0:
            return 0
        self.items.gather()
        self.launch(number)
        if self.rng.is_halted:
            return 0
        self.items.begin_changes()
        for c in range(self.items.blocks):
            # by first item: an order by kind of move would not be the same from the next state
            b = self.items.turn[c]
            if self.items.first[2 * b + 1] >= 0:
                candidates -= 2 * self.decide_merge(b, candidates)
            else:
                candidates += 2 * self.decide_split(b, candidates)
        self.items.end_changes()
        self.model.begin_scan()
        return 0

    cdef void open_pair(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t m) noexcept nogil:
        """A block of clusters i and j, unless their merge is rejected whatever the sides weigh, and with as many as m
        clusters to be merged, which is when all splits of the round are accepted before it."""
        cdef double log_bound
        self.items.block[i] = self.items.block[j] = -1
        self.propose(MERGE)
        if not self.rng.directed:
            log_bound = self.log_merge_ratio(i, j) - self.log_blocks(m - 2)
            self.threshold[self.items.blocks] = log(self.rng.next())
            if (self.on[TARGET] and self.on[ALLOCATION] and self.on[BLOCKS]
                    and self.threshold[self.items.blocks] >= log_bound):
                self.last_log_ratio = log_bound
                self.rejected_early = True
                return
        self.items.block[i] = self.items.block[j] = <int32_t> self.items.blocks
        self.items.first[2 * self.items.blocks] = <int32_t> i
        self.items.first[2 * self.items.blocks + 1] = <int32_t> j
        self.items.blocks += 1

    cdef double log_blocks(self, Py_ssize_t m) noexcept nogil:
        """log ratio of block probabilities, after a split over before it, with m clusters to be merged before."""
        cdef double p = self.splits
        return log((1.0 - p) * (1.0 - p) / p) - log(<double> (m + 2 if m & 1 else m + 1))

    cdef int launch(self, Py_ssize_t number) except -1 nogil:
        """The launch state of every block, and from it the sides: drawn of a split, scored of a merge."""
        cdef Py_ssize_t b, scan
        cdef bint going
        for b in range(self.items.blocks):
            self.rng.draw_two(self.items.start[b + 1] - self.items.start[b], self.founders + 2 * b,
                              self.founders + 2 * b + 1)
        self.items.found_sides(self.founders)
        for scan in range(self.t + 1):
            self.items.run(expect, 2 * self.items.blocks)
            if scan == self.t or self.rng.is_halted:
                break
            self.items.send_to_sides()
            going = False
            for b in range(2 * self.items.blocks):
                going |= self.items.changed[b]
            if not going:
                break
        return self.items.draw_sides(number)

    # -- neighbours
    cdef int merge_neighbours(self) except -1 nogil:
        cdef Py_ssize_t c, batch, held = 0
        if self.rng.is_halted or self.items.N < 2 or self.pairs == 0:
            return 0
        self.need(self.model.K)
        memset(self.called, 0, self.model.K)
        self.items.drawn = self.items.blocks = 0
        while self.items.drawn < self.pairs and 2 * held < self.items.N:
            # choices that follow a script are made for pairs that are used, alone
            batch = 1 if self.rng.scripted else min(BATCH, self.pairs - self.items.drawn)
            self.items.draw_pairs(batch)
            if self.rng.is_halted:
                return 0
            self.items.begin_changes()
            for c in range(batch):
                if 2 * held < self.items.N:
                    held += self.call_upon(c)
            self.items.end_changes()
            self.items.drawn += batch
        self.model.begin_scan()
        return 0

    cdef Py_ssize_t call_upon(self, Py_ssize_t t) except -1 nogil:
        """Propose to merge the clusters of pair t, or to part them; returns how many items these clusters have, 0 where
        one has been called upon before."""
        cdef Py_ssize_t a = self.items.cluster_of(2 * t), b = self.items.cluster_of(2 * t + 1), n
        cdef double log_r
        if self.called[a] or self.called[b]:
            return 0
        self.called[a] = self.called[b] = True
        n = self.model.size[a]
        if a == b:
            if self.rng.draw_coin(PARTED):
                self.part(a, t)
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
            self.called[max(a, b)] = self.called[self.model.K - 1]
            self.items.take_merge(a, b)
            self.called[min(a, b)] = True
        return n

    cdef int part(self, Py_ssize_t c, Py_ssize_t t) except -1 nogil:
        """Propose to split cluster c by fair coins, one item of pair t on one side, one on the other."""
        cdef Py_ssize_t n = self.model.size[c], K = self.model.K
        cdef double log_r
        self.propose(SPLIT)
        self.items.part(c, t)
        log_r = self.term(TARGET, self.log_split_ratio(c, K, K + 1))
        log_r += self.term(ALLOCATION, (n - 2) * LOG_2) + self.term(BLOCKS, log((1.0 - PARTED) / PARTED))
        if self.decide(log_r):
            self.need(K + 1)
            self.called[K] = True
            return self.items.take_part(c)
        return 0

    # -- decisions
    cdef bint decide_merge(self, Py_ssize_t b, Py_ssize_t candidates) except -1 nogil:
        cdef Py_ssize_t i = self.items.now[self.items.first[2 * b]], j = self.items.now[self.items.first[2 * b + 1]]
        cdef double log_r
        self.begin(MERGE)
        log_r = self.term(TARGET, self.log_merge_ratio(i, j))
        log_r += self.term(BLOCKS, -self.log_blocks(candidates - 2))
        log_r += self.term(ALLOCATION, self.items.log_q_of(b))
        if not self.decide_block(b, log_r):
            return False
        self.items.take_merge(i, j)
        return True

    cdef bint decide_split(self, Py_ssize_t b, Py_ssize_t candidates) except -1 nogil:
        cdef Py_ssize_t c = self.items.now[self.items.first[2 * b]], a = self.items.column + 2 * b
        cdef double log_r
        self.begin(SPLIT)
        if self.model.size[a] == 0 or self.model.size[a + 1] == 0:
            self.null()
            return False
        log_r = self.term(TARGET, self.log_split_ratio(c, a, a + 1))
        log_r += self.term(BLOCKS, self.log_blocks(candidates))
        log_r += self.term(ALLOCATION, -self.items.log_q_of(b))
        if not self.decide_block(b, log_r):
            return False
        self.items.take_split(b)
        return True

    cdef void begin(self, int move) noexcept nogil:
        """Take up a move that was proposed when its block was opened."""
        self.proposed[move] -= 1
        self.propose(move)

    cdef bint decide_block(self, Py_ssize_t b, double log_r) noexcept nogil:
        if self.rng.directed:
            return self.decide(log_r)
        self.last_log_ratio = log_r
        if self.threshold[b] < log_r:
            self.accepted[self.move] += 1
            return True
        return False
