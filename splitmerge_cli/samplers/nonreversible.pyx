"""Lifted moves of items between two clusters, in one direction until one is rejected (Ascolani et al. 2025).

A step draws a pair of clusters, a direction, and a number of lifted moves, uniformly from 1 to `moves`; makes these;
and forgets the direction. A lifted move draws an item of the cluster that the direction leads out of, uniformly among
its n_from, and proposes to put it into the other, of n_to:

    R = pi'/pi  n_from / (n_to + 1)

Accepted, the direction stays; rejected, it is reversed; where there is no item to move it is reversed with nothing
drawn. One of the two clusters may be empty, in the end as in the beginning: the two are then one.

The first cluster of the pair holds an item drawn uniformly. Where empty clusters are kept, the second is any other
one, uniformly. Elsewhere, of K clusters, it is each other one with probability 1/K, none (a new one) with 1/(K + 1),
and else the step is null: so a pair has the same probability after its two clusters were made one, or one was made two.
As no lifted move changes that probability, and a lifted move leaves the posterior of state and direction as it is, a
step leaves the posterior of the state as it is (docs/derivations.md).

The paper keeps a direction for each pair of clusters from step to step, and turns it with a small probability besides.
With `directions` above 0 the state is a partition and as many directions, uniform and independent of it. A pair finds
its own by a hash of its two least items, which follow from the partition alone, whatever the numbers of the clusters;
where they change in a step, the two directions of the old and the new place are exchanged. Pairs of the same hash
share one. It is turned with probability 1/N before each lifted move.

Cost: a pair of predictives for each lifted move.
"""
from libc.math cimport log
from libc.stdint cimport int32_t, uint8_t, uint64_t

import numpy as np

from splitmerge_cli.core.sampler cimport Sampler

from splitmerge_cli.core.options import Count
from splitmerge_cli.core.sampler import CLUSTERS

cdef enum:
    MOVE                                # MOVES

cdef enum:
    TARGET, SIZES                       # TERMS


cdef uint64_t mix(uint64_t x) noexcept nogil:
    """A hash: the last step of SplitMix64."""
    x = (x ^ x >> 30) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ x >> 27) * <uint64_t> 0x94D049BB133111EB
    return x ^ x >> 31


cdef class Nonreversible(Sampler):
    """Lifted moves between two clusters. Term `sizes`: the choice of the item within its cluster, there and back. A
    lifted move without an item to move counts as null."""

    OPTIONS = (
        Count("moves", 0, "largest number of lifted moves of a step, drawn uniformly; 0: twice the items of the two "
              "clusters"),
        Count("directions", 0, "number of directions kept between steps, which pairs of clusters share by a hash; 0: "
              "none, each step draws its own", most=2**24, later=True),
        *Sampler.OPTIONS,
    )
    MOVES = ("move",)
    TERMS = ("target", "sizes")
    SMALL = {"moves": 1}
    STAYS = (CLUSTERS,)
    FORMS = {"exact": ({"moves": 1}, {"moves": 3})}

    cdef int most
    cdef int32_t *items                 # [N] of the first cluster, then of the second
    cdef Py_ssize_t n, first            # items of both, of the first
    cdef Py_ssize_t a, b                # the two, where empty clusters are kept
    cdef uint8_t[::1] kept              # [directions] 1: from the cluster of the smaller least item to the other one

    def __init__(self, model, rng, **options):
        cdef Py_ssize_t t
        super().__init__(model, rng, **options)
        self.model.keep_lists()
        self.most = self.options["moves"]
        self.items = self.memory.ints(max(self.model.N, 1))
        self.kept = np.zeros(self.options["directions"], dtype=np.uint8)
        for t in range(self.kept.shape[0]):
            self.kept[t] = mix(t) & 1

    def couples(self):
        """Not where directions are kept: (bool, reason)."""
        if self.options["directions"]:
            return False, "the state also holds directions, which do not meet; expected sampler.directions=0"
        return super().couples()

    def enumerates(self):
        """Whether a step depends on the state of the model alone: bool."""
        return not self.options["directions"]

    def own_state(self):
        """dict: the directions that are kept, as bits in hexadecimal digits; None if a step draws its own."""
        return {"directions": np.packbits(self.kept).tobytes().hex()} if len(self.kept) else None

    def set_own_state(self, value):
        """Take up a state that ``own_state`` gave; a ValueError for anything else."""
        if not len(self.kept):
            super().set_own_state(value)
            return
        if not isinstance(value, dict) or not isinstance(value.get("directions"), str):
            raise ValueError(f"state of nonreversible: expected {len(self.kept)} directions")
        packed = np.frombuffer(bytes.fromhex(value["directions"]), dtype=np.uint8)
        if len(packed) != (len(self.kept) + 7) // 8:
            raise ValueError(f"state of nonreversible: expected {len(self.kept)} directions, got {8 * len(packed)}")
        self.kept = np.unpackbits(packed, count=len(self.kept))

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t _made, moves, before = 0, after
        cdef bint forward, turned, keeps = self.kept.shape[0] > 0
        self.propose(MOVE)
        if not self.draw_pair():
            return self.null()
        # the first lifted move counts itself
        self.proposed[MOVE] -= 1
        if keeps:
            before = self.find_direction(&turned)
            forward = self.kept[before] != turned
        else:
            forward = self.rng.draw_index(2) == 1
        moves = 1 + self.rng.draw_index(self.most if self.most else 2 * self.n)
        self.model.reserve(self.model.K + 1)
        self.model.begin_scan()
        for _made in range(moves):
            if self.rng.is_halted:
                break
            if keeps and self.rng.draw_coin(1.0 / self.model.N):
                forward = not forward
            if not self.lift(forward):
                forward = not forward
        if keeps:
            # another place than before: no direction is lost, so that all stay uniform
            after = self.find_direction(&turned)
            self.kept[before] = self.kept[after]
            self.kept[after] = forward != turned
        return 0

    cdef Py_ssize_t find_direction(self, bint *turned) noexcept nogil:
        """Where the direction of the two clusters is kept; turned: the first has the larger least item, N for none."""
        cdef uint64_t least[2]
        cdef Py_ssize_t t
        least[0] = least[1] = self.model.N
        for t in range(self.n):
            if <uint64_t> self.items[t] < least[t >= self.first]:
                least[t >= self.first] = self.items[t]
        turned[0] = least[0] > least[1]
        return mix(least[turned[0]] << 32 | least[not turned[0]]) % <uint64_t> self.kept.shape[0]

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
