"""Adaptive reconfiguration moves, ARM and sARM (Herlau et al. 2014, Algorithm 3): chains' disagreements move.

Two partitions z_a and z_b of the chains' history, and two items i, j that one of them joins and the other parts. c is
the coarsest common refinement of z_a, z_b and z: what all three keep together inside the clusters of i and j. The block
of i and the block of j launch the split or the merge; every other block goes, as a whole, to any cluster or a new one;
then single items follow. The walk, its probability and the ratio are in ``reconfiguration.pyx``, the history in
``core/history.pyx``.

As printed it is exact for fixed (i, j, z_a, z_b), if the reverse recomputes c and all else from z*, both share one
relabelling, and equation 17 is kept. `variant=sarm` (section 3.6.2) launches alike and moves no blocks.
Cost: the walk visits every item twice, O(N) restricted choices and O(n) full ones; a block of the n inside items is
scored as a whole.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from splitmerge_cli.core.history cimport History, AdaptiveProposal
from splitmerge_cli.samplers.reconfiguration cimport SPLIT, Reconfiguration

from splitmerge_cli.core.history import ADAPTATION
from splitmerge_cli.core.options import Choice

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
        self.adaptive = AdaptiveProposal(N, self.options["adaptation"], self.options["freeze"])
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
