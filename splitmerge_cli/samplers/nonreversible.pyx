"""Lifted moves of items between two clusters, in one direction until one is rejected (Ascolani et al. 2025).

A step draws a pair of clusters, a direction, and a number of lifted moves, uniformly from 1 to `moves`; makes these;
and forgets the direction. A lifted move draws an item of the cluster that the direction leads out of, uniformly among
its n_from, and proposes to put it into the other, of n_to:

    R = pi'/pi  n_from / (n_to + 1)

Accepted, the direction stays; rejected, it is reversed; where there is no item to move it is reversed with nothing
drawn. One of the two clusters may be empty, in the end as in the beginning: the two are then one.

The first cluster of the pair is that of an item drawn uniformly. Where empty clusters are kept, the second is any other
one, uniformly. Elsewhere, of K clusters, it is each other one with probability 1/K, none (a new one) with 1/(K + 1),
and else the step is null: so a pair has the same probability after its two clusters were made one, or one was made two.
As no lifted move changes that probability, and a lifted move leaves the posterior of state and direction as it is, a
step leaves the posterior of the state as it is (docs/derivations.md). The paper keeps a direction for each pair of
clusters from step to step; here it lasts for a step, so that it is no part of the state.

Cost: a pair of predictives for each lifted move.
"""
from libc.math cimport log
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from splitmerge_cli.core.memory cimport ints
from splitmerge_cli.core.sampler cimport Sampler

from splitmerge_cli.core.options import Count
from splitmerge_cli.core.sampler import CLUSTERS, EMPTY

cdef enum:
    MOVE                                # MOVES

cdef enum:
    TARGET, SIZES                       # TERMS


cdef class Nonreversible(Sampler):
    """Lifted moves between two clusters.

    Notes
    -----
    Term `sizes`: the choice of the item among those of its cluster, there and back. A lifted move without an item to
    move counts as null.
    """

    OPTIONS = (
        Count("moves", 0, "the most lifted moves of a step, how many is drawn uniformly; 0: twice as many as the two "
              "clusters have items"),
        *Sampler.OPTIONS,
    )
    MOVES = ("move",)
    TERMS = ("target", "sizes")
    FORMS = {"exact": ({"moves": 1}, {"moves": 3})}

    cdef int most
    cdef int32_t *items                 # [N] of the first cluster, then of the second
    cdef Py_ssize_t n, first            # items of both, of the first
    cdef Py_ssize_t a, b                # the two, where empty clusters are kept

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.model.keep_lists()
        self.most = self.options["moves"]
        self.items = ints(max(self.model.N, 1))

    def __dealloc__(self):
        free(self.items)

    @classmethod
    def small_options(cls, model):
        """One lifted move: dict."""
        return {"moves": 1}

    @classmethod
    def invariants(cls, model, **options):
        """Where empty clusters are kept, items move among those that there are: frozenset of str."""
        return super().invariants(model) - {EMPTY} | ({CLUSTERS} if model.allows_empty else set())

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t _made, moves
        cdef bint forward
        self.propose(MOVE)
        if not self.draw_pair():
            return self.null()
        # the first lifted move counts itself
        self.proposed[MOVE] -= 1
        forward = self.rng.draw_index(2) == 1
        moves = 1 + self.rng.draw_index(self.most if self.most else 2 * self.n)
        self.model.reserve(self.model.K + 1)
        self.model.begin_scan()
        for _made in range(moves):
            if self.rng.is_halted:
                break
            if not self.lift(forward):
                forward = not forward
        return 0

    cdef bint draw_pair(self) noexcept nogil:
        """Draw the two clusters and gather their items; False for a null step."""
        cdef Py_ssize_t K = self.model.K
        if self.model.N < 2:
            return False
        self.a = self.b = self.model.z[self.rng.draw_index(self.model.N)]
        if self.model.allows_empty:
            if K < 2:
                return False
            self.b = self.draw_other_cluster(K, self.a)
        elif not self.rng.draw_coin(1.0 / K):
            self.b = self.draw_other_cluster(K, self.a)
        elif not self.rng.draw_coin(K / (K + 1.0)):
            return False
        self.n = self.first = self.model.members(self.a, self.a, self.items)
        if self.b != self.a:
            self.n += self.model.members(self.b, self.b, self.items + self.first)
        return self.n > 1

    cdef bint lift(self, bint forward) except -1 nogil:
        """Propose to move an item from the first cluster to the second, or back; returns whether it was accepted."""
        cdef Py_ssize_t n = self.first if forward else self.n - self.first, t, i, origin, to
        cdef double odds, log_odds
        self.propose(MOVE)
        if n == 0 or (n == self.n and not self.model.allows_empty and self.model.K == self.model.kmax):
            self.null()
            return False
        t = self.rng.draw_index(n) + (0 if forward else self.first)
        i = self.items[t]
        origin = self.model.z[i]
        if self.model.allows_empty:
            to = self.b if forward else self.a
        elif n == self.n:
            to = self.model.K
        else:
            to = self.model.z[self.items[self.first if forward else 0]]
        odds = self.model.odds(i, origin, to, origin, True)
        log_odds = log(odds) if 1e-280 < odds < 1e280 else self.model.log_odds(i, origin, to, origin, True)
        if not self.decide(self.term(TARGET, log_odds) + self.term(SIZES, log(n / (self.n - n + 1.0)))):
            return False
        self.model.move(i, to)
        # the item changes places with the one at the border, which it then crosses
        self.first -= forward
        self.items[t], self.items[self.first] = self.items[self.first], self.items[t]
        self.first += not forward
        return True
