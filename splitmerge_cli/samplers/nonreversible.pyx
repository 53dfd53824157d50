"""Lifted moves of items between two clusters, in one direction until one is rejected (Ascolani and Zanella 2025).

A step draws a pair of clusters, a direction, and a number of lifted moves, uniformly from 1 to `moves`; makes these; and
forgets the direction. A lifted move draws an item of the cluster that the direction leads out of, uniformly among its
n_from, and proposes to put it into the other, of n_to:

    R = pi'/pi  n_from / (n_to + 1)

Accepted, the direction stays; rejected, it is reversed. Where the item would be the last one of its cluster (where empty
clusters are kept: where there is none) it is reversed with nothing drawn.

The pair is the cluster of an item drawn uniformly, and another one drawn uniformly, as in the paper: its probability
depends on K and on the number of items of the two together, which no lifted move changes. So a lifted move leaves the
posterior of state and direction as it is, and a step that of the state (docs/derivations.md). The paper keeps a
direction for each pair of clusters from step to step; here it lasts for a step, so that it is no part of the state.

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
    Term `sizes`: the choice of the item among those of its cluster, there and back.
    """

    OPTIONS = (
        Count("moves", 0, "the most lifted moves of a step, how many is drawn uniformly; 0: twice as many as the two "
              "clusters have items"),
        *Sampler.OPTIONS,
    )
    MOVES = ("move",)
    TERMS = ("target", "sizes")
    FORMS = {"exact": ({"moves": 1}, {"moves": 3})}

    cdef int moves_given
    cdef int32_t *items                 # [N] of cluster a, then of cluster b
    cdef Py_ssize_t a, b                # the two clusters
    cdef Py_ssize_t na, n               # items of a, and of both

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.model.keep_lists()
        self.moves_given = self.options["moves"]
        self.items = ints(max(self.model.N, 1))

    def __dealloc__(self):
        free(self.items)

    @classmethod
    def small_options(cls, model):
        """One lifted move: dict."""
        return {"moves": 1}

    @classmethod
    def invariants(cls, model, **options):
        """Clusters are neither opened nor closed; where empty ones are kept, items come into them: frozenset of str."""
        return super().invariants(model) - {EMPTY} | {CLUSTERS}

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t made, moves
        cdef bint to_b
        if self.model.K < 2:
            self.propose(MOVE)
            return self.null()
        self.a = self.model.z[self.rng.draw_index(self.model.N)]
        self.b = self.draw_other_cluster(self.model.K, self.a)
        to_b = self.rng.draw_index(2) == 1
        self.na = self.model.members(self.a, self.a, self.items)
        self.n = self.na + self.model.members(self.b, self.b, self.items + self.na)
        self.model.reserve(self.model.K)
        self.model.begin_scan()
        moves = self.moves_given if self.moves_given else 2 * self.n
        moves = 1 + self.rng.draw_index(moves)
        for made in range(moves):
            if self.rng.is_halted:
                break
            if not self.lift(to_b):
                to_b = not to_b
        return 0

    cdef bint lift(self, bint to_b) except -1 nogil:
        """Propose to move an item from a to b, or from b to a; returns whether it was accepted."""
        cdef Py_ssize_t n = self.na if to_b else self.n - self.na, t, i
        cdef Py_ssize_t origin = self.a if to_b else self.b, to = self.b if to_b else self.a
        cdef double odds, log_odds
        self.propose(MOVE)
        if n <= (not self.model.allows_empty):
            self.null()
            return False
        t = self.rng.draw_index(n) + (0 if to_b else self.na)
        i = self.items[t]
        odds = self.model.odds(i, origin, to, origin, True)
        log_odds = log(odds) if 1e-280 < odds < 1e280 else self.model.log_odds(i, origin, to, origin, True)
        if not self.decide(self.term(TARGET, log_odds) + self.term(SIZES, log(n / (self.n - n + 1.0)))):
            return False
        self.model.move(i, to)
        # the item changes places with the one at the border, which it then crosses
        self.na -= to_b
        self.items[t], self.items[self.na] = self.items[self.na], self.items[t]
        self.na += not to_b
        return True
