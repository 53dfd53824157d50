"""Reconfiguration moves (Herlau et al. 2014, Algorithms 2 and 3): a walk, drawn forward and forced in reverse.

Items i and j are in one cluster (a split) or in two (a merge). *Inside* are the items of these clusters. The walk

1. launches: of the inside items some begin with i and with j, apart in a split, together in a merge; the others are
   taken out (lines 2-4);
2. Algorithm 3: puts the blocks of items that are out back in, each as a whole; the item of least rank is the block's
   earmark, and moves no more (lines 5-8);
3. visits every other item but i and j by rank (lines 9-20, Algorithm 2 lines 5-16). An inside one goes to any cluster
   or a new one. An outside one stays, or goes to i or j; but the last of its cluster's own items stays with
   probability 1 when others have come in (equation 17): without this rule two paths lead to one partition.

The path from z to z* is unique, so T(z* | z) is the product of its steps' probabilities, and the reverse is the same
walk from z*, with everything recomputed from z*, forced to z. One relabelling (the ranks) supports both. Exact ratio:

    q(z*) T(z | z*) / (q(z) T(z* | z))                                                     (equation 8)

The forced walk takes an inside unit, by the cluster of its earmark in z: to i or j; else to the cluster that holds an
item outside both unions; else to the cluster that an earlier unit opened; else to a new one. Where z cannot be reached
T is 0.

What is forced draws nothing, and log T falls with every step: once the acceptance draw rejects what is left of the
ratio the walk ends.

Simplified moves, sRM (Algorithm 2), have no blocks and no history: a random pair i, j is parted or joined; all items of
their clusters are placed again, one by one, among all clusters, and items of other clusters may join i or j. The number
of clusters may change in any direction. As printed it is exact, if the reverse recomputes everything from z* and both
share one relabelling.

Adaptive moves, ARM and sARM (Algorithm 3): chains' disagreements move. Two partitions z_a and z_b of the chains'
history (``core/history.pyx``), and two items i, j that one of them joins and the other parts. c is the coarsest common
refinement of z_a, z_b and z: what all three keep together inside the clusters of i and j. The block of i and the block
of j launch the split or the merge; every other block goes, as a whole, to any cluster or a new one; then single items
follow. As printed it is exact for fixed (i, j, z_a, z_b), if the reverse recomputes c and all else from z*, both share
one relabelling, and equation 17 is kept. `variant=sarm` (section 3.6.2) launches alike and moves no blocks.

Cost: a move visits every item twice: O(N) restricted choices and O(n) full ones, n the items of the two clusters; a
block of the n is scored as a whole.
"""
from libc.math cimport INFINITY, log
from libc.stdint cimport int8_t, int32_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from splitmerge_cli.core.history cimport AdaptiveProposal, History
from splitmerge_cli.core.log_scale cimport exp_weights
from splitmerge_cli.core.sampler cimport Sampler

from splitmerge_cli.core.history import ADAPTATION
from splitmerge_cli.core.options import Choice, Flag

cdef enum:
    SPLIT, MERGE                        # MOVES

cdef enum:
    TARGET, FORWARD, REVERSE            # TERMS


cdef class Reconfiguration(Sampler):
    """Base of `srm` and `arm`.

    Memory: 33 bytes an item.
    """

    OPTIONS = (
        Flag("relabel", True, "visit the items in a new random order in every move, not in item order"),
        *Sampler.OPTIONS,
    )
    MOVES = ("split", "merge")
    NOT_WITH_EMPTY = "; the move opens and closes clusters with their items"
    TERMS = ("target", "forward", "reverse")

    cdef readonly bint relabel
    cdef public bint record             # keep the plates of every move
    cdef readonly list plates
    cdef Py_ssize_t i, j                # the pair
    # one relabelling for a move and its reverse
    cdef int32_t *order                 # [N] item of each rank
    cdef int32_t *rank                  # [N]
    # the walk under way
    cdef int32_t *origin                # [N] cluster of each item at its start
    cdef int32_t *left                  # [N] items of each of these clusters that did not go to the pair
    cdef int8_t *inside                 # [N] whether an item began in a cluster of the pair
    cdef int8_t *settled                # [N] whether an item moves no more: the pair, earmarks
    cdef int8_t *launched               # [N] 1, 2: inside item that begins with i, with j; 0: taken out
    cdef const int32_t *target          # labels to be reached, NULL: draw
    cdef int32_t *guide                 # [N] by label of the target: an item that stands where it is to be, -1 none
    cdef double log_T, product          # log probability so far, but for a factor kept apart
    cdef double rest                    # the log ratio without what the reverse walk counts
    # both ends
    cdef int32_t *start                 # [N] labels before the move
    cdef int32_t *reached               # [N] labels of the proposal
    cdef double *lw                     # [room] log weights, and behind them weights
    cdef Py_ssize_t room

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        cdef Py_ssize_t N = self.model.N
        self.relabel = self.options["relabel"]
        self.plates = []
        self.order = self.memory.ints(N)
        self.rank = self.memory.ints(N)
        self.origin = self.memory.ints(N)
        self.left = self.memory.ints(N)
        self.guide = self.memory.ints(N)
        self.start = self.memory.ints(N)
        self.reached = self.memory.ints(N)
        self.inside = self.memory.flags(N)
        self.settled = self.memory.flags(N)
        self.launched = self.memory.flags(N)
        self.need(2)

    @classmethod
    def small_options(cls, model):
        """Items in their own order where their relabellings are many: dict."""
        return {"relabel": False} if model.N > 4 else {}

    @property
    def pair(self):
        """tuple of int: i and j of the last move."""
        return self.i, self.j

    cdef int need(self, Py_ssize_t clusters) except -1 nogil:
        """Room for the log weights of this many clusters and a new one, and columns for them in the model."""
        if 2 * clusters + 8 > self.room:
            with gil:
                self.lw = <double *> self.memory.larger(self.lw, self.room * 8, 4 * (2 * clusters + 8) * 8)
                self.room = 2 * (2 * clusters + 8)
        return self.model.reserve(clusters)

    cdef int keep_plate(self, str name) except -1:
        self.plates.append((name, self.model.labels))
        return 0

    # -- what an algorithm of its own fills in
    cdef void choose_launch(self, bint split) noexcept nogil:
        """Set `launched` of the inside items, and mark as settled those that move no more, the pair apart."""
        pass

    cdef int move_blocks(self) except -1 nogil:
        """Step 2; none in Algorithm 2."""
        return 0

    # -- the move
    cdef int reconfigure(self) except -1 nogil:
        """Propose from the pair (i, j), decide, and end in the new state or, label for label, in the old one."""
        cdef Py_ssize_t K = self.model.K, K_reached
        cdef double log_q, log_r
        if self.model.z[self.i] != self.model.z[self.j]:
            self.turn_to(MERGE)
        self.draw_relabelling()
        memcpy(self.start, self.model.z, self.model.N * sizeof(int32_t))
        log_q = self.model.log_lik(self.model.numbers, K) + self.model.log_prior(self.model.size, K, K)
        if self.record:
            with gil:
                self.plates = []
                self.keep_plate("state")
        self.walk(NULL)
        K_reached = self.model.K
        memcpy(self.reached, self.model.z, self.model.N * sizeof(int32_t))
        log_r = (self.term(TARGET, self.model.log_lik(self.model.numbers, K_reached)
                           + self.model.log_prior(self.model.size, K_reached, K_reached) - log_q)
                 + self.term(FORWARD, -self.log_T))
        self.rest = log_r
        self.log_T = 0.0
        self.product = 1.0
        if self.still_alive():
            self.walk(self.start)
        if not self.rejected_early and self.decide(log_r + self.term(REVERSE, self.log_T)):
            self.model.reset(self.reached, K_reached)
        else:
            self.model.reset(self.start, K)
        return 0

    cdef bint still_alive(self) noexcept nogil:
        """Whether the proposal survives what is known of its log ratio: log T falls with every step."""
        if self.rejected_early or not self.on[REVERSE]:
            return not self.rejected_early
        return self.survives(self.rest + self.log_T + log(self.product))

    cdef void draw_relabelling(self) noexcept nogil:
        """Section 2.4: a uniform order of the items."""
        cdef Py_ssize_t t, s
        for t in range(self.model.N):
            self.order[t] = <int32_t> t
        if self.relabel:
            for t in range(self.model.N - 1, 0, -1):
                s = self.rng.draw_index(t + 1)
                self.order[t], self.order[s] = self.order[s], self.order[t]
        for t in range(self.model.N):
            self.rank[self.order[t]] = <int32_t> t

    cdef int walk(self, const int32_t *target) except -1 nogil:
        """From the present state to a drawn one, or to the partition `target`; log_T becomes its log probability."""
        cdef Py_ssize_t t, h, split, N = self.model.N
        cdef int32_t ci = self.model.z[self.i], cj = self.model.z[self.j]
        split = ci == cj
        self.target = target
        self.log_T = 0.0
        self.product = 1.0
        memcpy(self.origin, self.model.z, N * sizeof(int32_t))
        memcpy(self.left, self.model.size, self.model.K * sizeof(int32_t))
        for h in range(N):
            self.inside[h] = self.origin[h] == ci or self.origin[h] == cj
        memset(self.settled, 0, N)
        self.settled[self.i] = self.settled[self.j] = True
        if target != NULL:
            memset(self.guide, 255, N * sizeof(int32_t))
            for h in range(N):
                if not self.inside[h]:
                    self.guide[target[h]] = <int32_t> h
            self.guide[target[self.i]] = <int32_t> self.i
            self.guide[target[self.j]] = <int32_t> self.j
        self.choose_launch(split)
        self.launch(split)
        if target == NULL and self.record:
            with gil:
                self.keep_plate("launch")
        self.move_blocks()
        for t in range(N):
            h = self.order[t]
            if self.settled[h]:
                continue
            if target != NULL and not self.still_alive():
                break
            if self.inside[h]:
                self.move_inside(h)
            else:
                self.move_outside(h, split)
        if target == NULL and self.record:
            with gil:
                self.keep_plate("singles")
        self.log_T += log(self.product)
        self.product = 1.0
        if target != NULL and not self.rejected_early and self.log_T > -INFINITY and not self.has_arrived():
            self.log_T = -INFINITY
        return 0

    cdef int launch(self, bint split) except -1 nogil:
        """Lines 2 to 4."""
        cdef Py_ssize_t h, gone = self.model.z[self.j]
        for h in range(self.model.N):
            if self.inside[h] and self.launched[h] != 1:
                self.model.take_out(h)
        if split:
            self.model.append_empty()
        for h in range(self.model.N):
            if self.inside[h] and self.launched[h] == 2:
                self.model.put(h, self.model.K - 1 if split else self.model.z[self.i])
        if not split:
            self.model.delete(gone)
        self.model.begin_scan()
        return 0

    cdef int move_inside(self, Py_ssize_t h) except -1 nogil:
        """Lines 6 and 7 (Algorithm 3: 10 and 11): any cluster, or a new one."""
        cdef Py_ssize_t k, m, forced = self.guided_cluster(h)
        self.need(self.model.K + 1)
        m = self.model.options()
        self.model.scan(h)
        k = self.choose(self.model.w, m, forced)
        if k < 0:
            self.model.log_scan(h)
            memcpy(self.lw, self.model.w, m * sizeof(double))
            k = self.choose_by_logs(m, forced)
        if self.model.z[h] < 0:
            if k == self.model.K:
                self.model.append_empty()
            self.model.put(h, k)
        elif k != self.model.z[h]:
            self.model.move(h, k)
        if self.target != NULL and self.guide[self.target[h]] < 0:
            self.guide[self.target[h]] = <int32_t> h
        return 0

    cdef int move_outside(self, Py_ssize_t h, bint split) except -1 nogil:
        """Lines 8 to 15 (Algorithm 3: 12 to 19): its own cluster, or the cluster of i or of j."""
        cdef int32_t[3] options
        cdef Py_ssize_t chosen, forced = -1, m = 3 if split else 2
        cdef int32_t cluster = self.model.z[h]
        options[0], options[1], options[2] = cluster, self.model.z[self.i], self.model.z[self.j]
        if self.target != NULL:
            forced = 0
            if self.target[h] == self.target[self.i]:
                forced = 1
            elif self.target[h] == self.target[self.j]:
                forced = 2 if split else 1
        if self.left[self.origin[h]] == 1 and self.model.size[cluster] >= 2:
            # equation 17: the last of the cluster's own items, and others have come in
            if forced > 0:
                self.count_log(-INFINITY)
            return 0
        self.model.choice(h, options, m, self.lw)
        chosen = self.choose(self.lw, m, forced)
        if chosen < 0:
            self.model.log_choice(h, options, m, self.lw)
            chosen = self.choose_by_logs(m, forced)
        if chosen > 0:
            self.left[self.origin[h]] -= 1
            self.model.move(h, options[chosen])
        return 0

    cdef Py_ssize_t guided_cluster(self, Py_ssize_t h) noexcept nogil:
        """Cluster to which the forced walk takes the inside item h, K for a new one; -1 when the walk is drawn."""
        cdef int32_t g
        if self.target == NULL:
            return -1
        g = self.guide[self.target[h]]
        return self.model.K if g < 0 else self.model.z[g]

    cdef Py_ssize_t choose(self, const double *w, Py_ssize_t m, Py_ssize_t forced) noexcept nogil:
        """An option by the weights w[:m], drawn unless it is forced, its probability counted; -1, with nothing drawn,
        if they leave the range of a double."""
        cdef Py_ssize_t t, k = forced
        cdef double total = 0.0
        for t in range(m):
            total += w[t]
        if not (0.0 < total < INFINITY and (forced < 0 or w[forced] > 1e-280 * total)):
            return -1
        if forced < 0:
            k = self.rng.draw_categorical(w, m)
        self.product *= w[k] / total
        if self.product < 1e-20:
            self.count_log(0.0)
        return k

    cdef Py_ssize_t choose_by_logs(self, Py_ssize_t m, Py_ssize_t forced) noexcept nogil:
        """Choose by the log weights lw[:m]."""
        cdef double log_total = exp_weights(self.lw, m, self.lw + m)
        cdef Py_ssize_t k = forced if forced >= 0 else self.rng.draw_categorical(self.lw + m, m)
        self.count_log(self.lw[k] - log_total)
        return k

    cdef void count_log(self, double log_p) noexcept nogil:
        self.log_T += log_p + log(self.product)
        self.product = 1.0

    cdef bint has_arrived(self) noexcept nogil:
        """Whether the present partition is the target."""
        cdef Py_ssize_t h, k, N = self.model.N
        cdef int32_t *back = self.guide
        for k in range(N):
            back[k] = -1
        # clusters and labels of the target must be one to one
        for h in range(N):
            if back[self.target[h]] < 0:
                back[self.target[h]] = self.model.z[h]
            elif back[self.target[h]] != self.model.z[h]:
                return False
        memset(self.left, 255, self.model.K * sizeof(int32_t))
        for h in range(N):
            k = self.model.z[h]
            if self.left[k] < 0:
                self.left[k] = self.target[h]
            elif self.left[k] != self.target[h]:
                return False
        return True


cdef class SRM(Reconfiguration):
    """Simplified reconfiguration moves."""

    cdef int make_step(self) except -1 nogil:
        self.propose(SPLIT)
        if self.model.N < 2:
            return self.null()
        self.rng.draw_two(self.model.N, &self.i, &self.j)
        return self.reconfigure()

    cdef void choose_launch(self, bint split) noexcept nogil:
        """Lines 3 and 4: all but i and j are taken out."""
        cdef Py_ssize_t h
        for h in range(self.model.N):
            self.launched[h] = 0
        self.launched[self.i] = 1
        self.launched[self.j] = 2


cdef struct block_t:
    int32_t size
    int32_t rank                        # of the earmark, its item of least rank


cdef int larger_first(const void *a, const void *b) noexcept nogil:
    cdef const block_t *p = <const block_t *> a
    cdef const block_t *q = <const block_t *> b
    return q.size - p.size if q.size != p.size else p.rank - q.rank


cdef class ARM(Reconfiguration):
    """Adaptive reconfiguration moves."""

    OPTIONS = (
        Choice("variant", "arm", "arm, or sarm: the same without moves of whole blocks", choices=("arm", "sarm")),
        *ADAPTATION,
        *Reconfiguration.OPTIONS,
    )

    cdef readonly AdaptiveProposal adaptive
    cdef bint whole_blocks
    cdef Py_ssize_t n_blocks            # blocks that are out after the launch
    cdef block_t *blocks                # [N] of c, the inside ones
    cdef int32_t *block_of              # [N] block of an inside item, numbered as found
    cdef int32_t *next_of               # [N] next inside item, by rank, of the same block of z_a; then of c
    cdef int32_t *head_a                # [N] first inside item, by rank, of a block of z_a
    cdef int32_t *slot                  # [2 N] by block of z_b and side: block of c
    cdef int32_t *last_of               # [N] last item found of a block of c

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        cdef Py_ssize_t N = self.model.N
        self.whole_blocks = self.options["variant"] == "arm"
        self.adaptive = AdaptiveProposal(N, *[self.options[o.name] for o in ADAPTATION])
        self.blocks = <block_t *> self.memory.doubles(N)
        self.block_of = self.memory.ints(N)
        self.next_of = self.memory.ints(N)
        self.head_a = self.memory.ints(N)
        self.slot = self.memory.ints(2 * N)
        self.last_of = self.memory.ints(N)
        memset(self.head_a, 255, N * sizeof(int32_t))
        memset(self.slot, 255, 2 * N * sizeof(int32_t))

    def adapt_to(self, History history, Py_ssize_t chain):
        """Learn from this history, as the chain of this number."""
        self.adaptive.adapt_to(history, chain)

    def fix(self, za=None, zb=None, Py_ssize_t i=-1, Py_ssize_t j=-1):
        """Use these partitions, and this pair unless i is -1, in place of drawn ones; with no arguments draw again."""
        self.adaptive.fix(za, zb, i, j)

    cdef int make_step(self) except -1 nogil:
        self.propose(SPLIT)
        if not self.adaptive.draw(self.rng, &self.i, &self.j):
            return self.null()
        return self.reconfigure()

    cdef Py_ssize_t refine(self) noexcept nogil:
        """Line 1: the blocks of c among the inside items; returns how many. O(N)."""
        cdef const int32_t *za = self.adaptive.za
        cdef const int32_t *zb = self.adaptive.zb
        cdef int32_t cj = self.origin[self.j]
        cdef Py_ssize_t t, n = 0
        cdef int32_t h, g, b, s, then
        # items of a block of z_a in a list by rank
        for t in range(self.model.N - 1, -1, -1):
            h = self.order[t]
            if self.inside[h]:
                self.next_of[h] = self.head_a[za[h]]
                self.head_a[za[h]] = h
        for t in range(self.model.N):
            g = self.order[t]
            if not self.inside[g] or self.head_a[za[g]] != g:
                continue
            h = g
            while h >= 0:
                s = 2 * zb[h] + (self.origin[h] == cj)
                b = self.slot[s]
                if b < 0:
                    b = <int32_t> n
                    self.slot[s] = b
                    self.blocks[b].size = 0
                    self.blocks[b].rank = self.rank[h]
                    n += 1
                self.blocks[b].size += 1
                self.block_of[h] = b
                h = self.next_of[h]
            h = g
            while h >= 0:
                self.slot[2 * zb[h] + (self.origin[h] == cj)] = -1
                h = self.next_of[h]
            self.head_a[za[g]] = -1
        # items of a block of c in a list by rank
        memset(self.last_of, 255, n * sizeof(int32_t))
        for t in range(self.model.N):
            h = self.order[t]
            if self.inside[h]:
                b = self.block_of[h]
                then = self.last_of[b]
                if then >= 0:
                    self.next_of[then] = h
                self.last_of[b] = h
                self.next_of[h] = -1
        return n

    cdef void choose_launch(self, bint split) noexcept nogil:
        """Lines 1 and 4: c, of which the blocks of i and j launch."""
        cdef Py_ssize_t h, b, n = self.refine(), left = 0
        cdef int32_t bi = self.block_of[self.i], bj = self.block_of[self.j]
        for h in range(self.model.N):
            self.launched[h] = 0
            if self.inside[h]:
                self.launched[h] = 1 if self.block_of[h] == bi else 2 if self.block_of[h] == bj else 0
        if self.record and self.target == NULL:
            with gil:
                self.keep_refinement()
        if not self.whole_blocks:
            self.n_blocks = 0
            return
        for b in range(n):
            if b != bi and b != bj:
                self.blocks[left] = self.blocks[b]
                left += 1
        self.n_blocks = left
        qsort(self.blocks, left, sizeof(block_t), larger_first)

    cdef int keep_refinement(self) except -1:
        labels = self.model.labels
        for h in range(self.model.N):
            labels[h] = self.block_of[h] if self.inside[h] else -1
        self.plates.append(("refinement", labels))
        return 0

    cdef int move_blocks(self) except -1 nogil:
        """Lines 6 to 8: each block as a whole, the largest first."""
        cdef Py_ssize_t b
        if not self.whole_blocks:
            return 0
        for b in range(self.n_blocks):
            if self.target != NULL and not self.still_alive():
                return 0
            self.move_block(self.order[self.blocks[b].rank])
        self.model.begin_scan()
        if self.record and self.target == NULL:
            with gil:
                self.keep_plate("blocks")
        return 0

    cdef int move_block(self, Py_ssize_t earmark) except -1 nogil:
        """Line 7: the block of this earmark goes to any cluster, or a new one."""
        cdef Py_ssize_t k, K = self.model.K, forced = self.guided_cluster(earmark)
        cdef int32_t h = <int32_t> earmark, m = 0, n, live
        # clusters on the way may be more than the prior allows: their sizes alone count then
        cdef bint possible = self.model.log_prior(&m, 0, K) > -INFINITY
        cdef Py_ssize_t K_scored = K if possible else 1
        self.need(K + 1)
        self.model.stage(NULL, 0, K, 1)
        while h >= 0:
            self.model.join(h, K)
            h = self.next_of[h]
        m = self.model.size[K]
        for k in range(K):
            live = <int32_t> k
            n = self.model.size[k] + m
            self.lw[k] = (self.model.log_union(k, K) - self.model.log_lik(&live, 1)
                          + self.model.log_prior(&n, 1, K_scored)
                          - self.model.log_prior(self.model.size + k, 1, K_scored))
        live = <int32_t> K
        self.lw[K] = (self.model.log_lik(&live, 1) + self.model.log_prior(&m, 1, K + 1)
                      - self.model.log_prior(&m, 0, K)) if possible else -INFINITY
        k = self.choose_by_logs(K + 1, forced)
        if k == K:
            self.model.append_empty()
        h = <int32_t> earmark
        while h >= 0:
            self.model.put(h, k)
            h = self.next_of[h]
        self.settled[earmark] = True
        if self.target != NULL and self.guide[self.target[earmark]] < 0:
            self.guide[self.target[earmark]] = <int32_t> earmark
        return 0
