"""Split-merge of topics as Rana et al. 2013 prints it (Algorithm 1): not the exact sampler of ``smag.pyx``.

All weights are drawn anew by equations 9 and 10 within the proposal, and count in equation 11 alone; equation 11 counts
the token that opens a topic twice; the choices of topics and tokens are not counted. `form`:

    text   a merge is weighed against the present state (section 3.3)
    box    against a dummy split drawn for it, so that the present sides never enter (the box of Algorithm 1)

It works on the state itself: O(N) a move.
"""
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from splitmerge_cli._kernels cimport sequential_allocation
from splitmerge_cli.samplers.split_merge cimport PRINTED, SplitMerge

from splitmerge_cli.core.options import Choice


cdef class TopicsAsPrinted(SplitMerge):
    """The moves as printed; `SMAG` is the sampler."""

    OPTIONS = (
        Choice("form", "text", "mode=as_printed: text (section 3.3) or box (Algorithm 1's dummy split)",
               choices=("text", "box")),
        *SplitMerge.OPTIONS,
    )
    DIVIDES_WEIGHTS = True

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.box = self.options["form"] == "box"
        if self.as_printed:
            self.kept = self.memory.ints(self.model.N)

    cdef void two_of(self, Py_ssize_t c, Py_ssize_t *i, Py_ssize_t *j) noexcept nogil:
        """Two different tokens of topic c, in random order."""
        cdef Py_ssize_t a, b, n = self.model.members(c, c, self.sides.items)
        self.rng.draw_two(n, &a, &b)
        i[0], j[0] = self.sides.items[a], self.sides.items[b]

    cdef int split_as_printed(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Algorithm 1, "If split"."""
        cdef double log_r = -self.log_of_state(), log_q
        self.keep()
        log_q = self.make_split(c, i, j)
        log_r += self.log_of_state() - log_q
        if not self.decide(self.term(PRINTED, log_r)):
            self.go_back()
        return 0

    cdef int merge_as_printed(self, Py_ssize_t c, Py_ssize_t d) except -1 nogil:
        """Algorithm 1, "if merge": weighed against the present state (text), or against a dummy split (box)."""
        cdef Py_ssize_t i, j, a, union_of = min(c, d)
        cdef double before = self.log_of_state(), merged, log_q
        self.keep()
        self.model.commit_merge(c, d)
        self.weighted.refresh_weights(self.rng)
        merged = self.log_of_state()
        a = self.model.K
        if self.box:
            self.keep_weights(self.kept_room // 2)
            self.two_of(union_of, &i, &j)
            log_q = self.make_split(union_of, i, j)
            before = self.log_of_state()
            self.model.commit_merge(union_of, a)
            self.take_weights(self.kept_room // 2)
        else:
            i = self.one_kept(c)
            j = self.one_kept(d)
            self.sides.open(union_of, union_of, i, j)
            self.sides.gather()
            self.sides.draw_order()
            self.sides.put_in_order()
            for a in range(self.sides.n):
                self.sides.in_a[a] = self.kept[self.sides.items[a]] == c
            self.sides.stage()
            log_q = self.allocate(True)
        if not self.decide(self.term(PRINTED, log_q + merged - before)):
            self.go_back()
        return 0

    cdef double make_split(self, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j) except? -1 nogil:
        """Split topic c of the state itself by equations 16 and 17, and draw all weights; returns log q_alloc."""
        cdef double log_q
        self.sides.open(c, c, i, j)
        self.sides.gather()
        self.sides.stage()
        self.sides.draw_order()
        self.sides.put_in_order()
        log_q = self.allocate(False)
        self.accept_split()
        self.weighted.refresh_weights(self.rng)
        return log_q

    cdef double allocate(self, bint forced) noexcept nogil:
        """Equations 16 and 17; returns log q_alloc."""
        return sequential_allocation(self.model, self.rng, self.sides.items, self.sides.n, self.sides.a,
                                     self.sides.a + 1, self.sides.in_a, forced, True)

    cdef double log_of_state(self) noexcept nogil:
        """Equations 11 (12, 13) and 14 (15): log P(C | beta) + log L(C | x)."""
        return self.weighted.log_configuration() + self.model.log_lik(self.model.numbers, self.model.K)

    cdef int keep(self) except -1 nogil:
        """Remember the state."""
        memcpy(self.kept, self.model.z, self.model.N * sizeof(int32_t))
        self.kept_K = self.model.K
        if 2 * self.kept_K + 4 > self.kept_room:
            with gil:
                self.kept_weights = <double *> self.memory.larger(self.kept_weights, 0, 8 * (4 * self.kept_K + 8))
                self.kept_room = 4 * self.kept_K + 8
        self.keep_weights(0)
        return 0

    cdef void keep_weights(self, Py_ssize_t at) noexcept nogil:
        memcpy(self.kept_weights + at, self.weighted.log_beta, self.model.K * sizeof(double))
        self.kept_weights[at + self.model.K] = self.weighted.log_unseen

    cdef void take_weights(self, Py_ssize_t at) noexcept nogil:
        memcpy(self.weighted.log_beta, self.kept_weights + at, self.model.K * sizeof(double))
        self.weighted.log_unseen = self.kept_weights[at + self.model.K]

    cdef int go_back(self) except -1 nogil:
        """To the state that was kept, label for label."""
        self.model.reset(self.kept, self.kept_K)
        self.take_weights(0)
        return 0

    cdef Py_ssize_t one_kept(self, Py_ssize_t c) noexcept nogil:
        """A token of what was topic c."""
        cdef Py_ssize_t t, n = 0
        for t in range(self.model.N):
            if self.kept[t] == c:
                self.sides.items[n] = <int32_t> t
                n += 1
        return self.sides.items[self.rng.draw_index(n)]
