"""Moves of few items about two that are drawn, whatever the state is.

Chaperones (Miller et al. 2015; Zanella et al. 2016): Gibbs updates among the clusters of two items that are drawn.

Two items i and j are drawn, by a distribution that does not depend on the state. The items of their clusters are then
updated in turn, `scans` times, each among few of the partitions that a Gibbs update could reach:

    another item m, i and j apart       the cluster of i, or of j
    another item m, i and j together    no choice
    i, together with j or alone         the cluster of j, or a cluster of its own
    i, apart from j and not alone       no choice
    j                                   as i

by the prior's weight times the predictive there. What each may choose among is the same from all of them, so every
update leaves the posterior as it is, and the items that are visited stay the items of the two clusters. The acceptance
probability is 1. Where empty clusters are kept, a cluster of its own is any of the empty ones.

Cost: `scans` pairs of predictives for each item of the two clusters, however many clusters there are.

Exchange of two items between two clusters: sizes stay, partners change.

Two items i and j are drawn, where the model has near pairs mostly one of these, and which of them is i by a coin. They
are in two clusters. An item r is drawn from the others in the cluster of i. Proposed: j in the place of r, and r in
the place of j; where j is alone, r is then. From there the same move draws i and r, then j. Exact log ratio:

    target + log p(i, r) - log p(i, j)

p is the probability that a pair is drawn (term `anchors`; 0 where any two items are as likely). A split and a merge
would pass a partition with three items in a cluster, which is hardly probable where clusters hold two at most.

Cost: the statistics of two items in two clusters, and the members of the cluster of i.
"""
from libc.math cimport log
from libc.stdint cimport int32_t

from splitmerge_cli._kernels cimport RESTRICTED
from splitmerge_cli.core.capabilities cimport Coupled
from splitmerge_cli.core.near_pairs cimport NearPairs
from splitmerge_cli.core.sampler cimport Sampler
from splitmerge_cli.samplers.hash_tables cimport HashTables

from splitmerge_cli.core.near_pairs import NoNearPairs
from splitmerge_cli.core.options import Choice, Count
from splitmerge_cli.core.sampler import CLUSTERS
from splitmerge_cli.samplers.hash_tables import BITS, SEED, TABLES, tables_of

cdef enum:
    TARGET, ANCHORS                     # TERMS of Exchange


cdef class PairMoves(Sampler):
    """Moves about two items; an abstract class."""

    cdef NearPairs near                 # of which the two are mostly one; None
    cdef bint coupled                   # clusters' likelihoods depend on each other
    cdef int32_t *items                 # [N] of a cluster or two, in item order
    cdef Py_ssize_t i, j                # the two

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.model.keep_lists()
        self.near = model.near_pairs
        self.coupled = isinstance(model, Coupled)
        self.items = self.memory.ints(self.model.N)

    cdef int make_ready(self, bint for_scans) except -1 nogil:
        """Make ready for single items in any cluster and in a new one; `for_scans`: with the weights of all options,
        which would cost more than a step."""
        self.model.reserve(self.model.K + 1)
        if for_scans:
            self.model.begin_scan()
        else:
            self.model.scratch(self.model.K)
        return 0


cdef class Chaperones(PairMoves):
    """The chaperones algorithm. The move `chaperones` counts updates of an item that had a choice as proposed, those
    that moved it as accepted, and steps without any choice as null."""

    OPTIONS = (
        Choice("pairs", "auto", "how the two items are drawn: uniform, hashed (every second pair from one bucket of a "
               "hash table, which similar items share), near (mostly one of the model's near pairs) or auto (near for "
               "a model with near pairs, else uniform)", choices=("auto", "uniform", "hashed", "near")),
        Count("scans", 2, "scans of the items of the two clusters", least=1),
        BITS, TABLES, SEED,
        *Sampler.OPTIONS,
    )
    MOVES = ("chaperones",)
    SMALL = {"scans": 1, "bits": 1, "tables": 2}
    STAYS = (CLUSTERS,)
    FORMS = {"exact": ({"pairs": "uniform"}, {"pairs": "hashed"}, {"pairs": "near"})}

    cdef readonly HashTables tables     # pairs=hashed; else None
    cdef int rounds

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        options = self.options
        self.rounds = options["scans"]
        if options["pairs"] not in ("auto", "near"):
            self.near = None
        if options["pairs"] == "near" and self.near is None:
            raise NoNearPairs("sampler.pairs=near: expected a model with near pairs; "
                              "sampler.pairs=uniform asks for none")
        if options["pairs"] == "hashed":
            if model.vectors is None:
                raise ValueError("sampler.pairs=hashed: expected items that are vectors without missing cells, which "
                                 "can be hashed; sampler.pairs=uniform asks for none")
            self.tables = tables_of(model.vectors, options["bits"], options["tables"], True, options["tables_seed"])

    def report(self):
        """dict: what a run's summary says of the hash tables."""
        return {"hash_tables": self.tables.statistics()} if self.tables is not None else {}

    cdef int make_step(self) except -1 nogil:
        """Steps 1 and 2 of the algorithm."""
        cdef Py_ssize_t t, n, choices = 0, moved = 0
        self.move = 0
        self.last_log_ratio = 0.0
        if self.model.N < 2:
            return self.null()
        self.draw_pair()
        self.make_ready(self.near is None or self.coupled)
        n = self.model.members(self.model.z[self.i], self.model.z[self.j], self.items)
        for _scan in range(self.rounds):
            self.rng.begin_items(RESTRICTED, self.items, n, -1)
            for t in range(n):
                if self.rng.is_halted:
                    break
                self.update(self.items[t], &choices, &moved)
            self.rng.end_items()
        self.proposed[0] += choices
        self.accepted[0] += moved
        return 0 if choices else self.null()

    cdef void draw_pair(self) noexcept nogil:
        """Draw the chaperones, whatever the state is."""
        cdef Py_ssize_t N = self.model.N
        if self.near is not None:
            self.near.draw(self.rng, &self.i, &self.j)
            return
        self.i, self.j = self.rng.draw_index(N), -1
        if self.tables is not None and self.rng.draw_index(2) == 1:
            self.j = self.tables.draw(self.rng, self.i, False)
        if self.j < 0:
            self.j = self.rng.draw_index(N - 1)
            self.j += self.j >= self.i

    cdef int update(self, Py_ssize_t m, Py_ssize_t *choices, Py_ssize_t *moved) except -1 nogil:
        """Update item m of the two clusters."""
        cdef Py_ssize_t cluster = self.model.z[m], to = self.model.z[self.j if m == self.i else self.i]
        cdef Py_ssize_t other, unused, apart = 1
        cdef bint together = cluster == to
        if m != self.i and m != self.j:
            other = self.model.z[self.j] if together else to
        elif together:
            other = self.model.K
            apart = self.count_apart(&other)
        elif self.model.size[cluster] == 1:
            other = to
            if self.model.allows_empty:
                apart = 1 + self.count_apart(&unused)
        else:
            other = cluster
        # an item without a choice draws a coin, too, so that in two chains that are coupled each item has one
        if other == cluster or apart == 0:
            self.rng.draw_coin_of(m, 1.0)
            return 0
        choices[0] += 1
        if self.rng.draw_coin_of(m, self.chance(m, cluster, other, apart, together)) != together:
            self.model.move(m, other)
            moved[0] += 1
        return 0

    cdef double chance(self, Py_ssize_t m, Py_ssize_t cluster, Py_ssize_t other, Py_ssize_t apart,
                       bint together) noexcept nogil:
        """Probability that item m is then with i, or i with j; `together`: it is now. `apart`: options that stand for
        the other of the two."""
        cdef double odds = self.model.odds(m, cluster, other, cluster, True)
        if together:
            return 1.0 / (1.0 + odds * apart)
        return 1.0 / (1.0 + apart / odds) if odds > 0.0 else 0.0

    cdef Py_ssize_t count_apart(self, Py_ssize_t *k) noexcept nogil:
        """Clusters that a chaperone could have for itself: a new one, or the empty ones, of which k is the last."""
        cdef Py_ssize_t c, n = 0
        if not self.model.allows_empty:
            return self.model.has_room()
        for c in range(self.model.K):
            if self.model.size[c] == 0:
                k[0] = c
                n += 1
        return n


cdef class Exchange(PairMoves):
    """Exchange of two items."""

    MOVES = ("exchange",)
    NOT_WITH_EMPTY = "; the move exchanges items of two clusters that have some"
    TERMS = ("target", "anchors")

    @classmethod
    def invariants(cls, model, **options):
        """The sizes of clusters stay, and so does their number: frozenset of str."""
        return super().invariants(model) | {CLUSTERS}

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t i, j, r, a, b, t, n
        cdef double log_target, log_anchors = 0.0
        self.propose(0)
        if self.model.N < 3:
            return self.null()
        if self.near is not None:
            self.near.draw(self.rng, &i, &j)
        else:
            self.rng.draw_two(self.model.N, &i, &j)
        if self.rng.draw_index(2) == 1:
            i, j = j, i
        a, b = self.model.z[i], self.model.z[j]
        if a == b or self.model.size[a] == 1 or (self.model.size[b] == 1 and not self.model.has_room()):
            return self.null()
        n = self.model.members(a, a, self.items)
        t = self.rng.draw_index(n - 1)
        # i is none of those that are drawn
        r = self.items[t] if self.items[t] < i else self.items[t + 1]
        if self.near is not None:
            log_anchors = log(self.near.weight(i, r) / self.near.weight(i, j))
        self.make_ready(self.coupled)
        log_target = self.exchange(r, j, a, b)
        if not self.decide(self.term(TARGET, log_target) + self.term(ANCHORS, log_anchors)):
            self.model.take_out(j)
            self.model.take_out(r)
            self.model.put(r, a)
            self.model.put(j, b)
        return 0

    cdef double exchange(self, Py_ssize_t r, Py_ssize_t j, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Put r of cluster a and j of cluster b in each other's place; returns log pi'/pi."""
        # an empty column b is like the one behind the clusters
        cdef Py_ssize_t at = b if self.model.size[b] > 1 else self.model.K
        cdef double log_ratio
        self.model.take_out(j)
        log_ratio = -self.log_place(j, at)
        self.model.take_out(r)
        log_ratio += self.log_place(j, a) - self.log_place(r, a)
        self.model.put(j, a)
        log_ratio += self.log_place(r, at)
        self.model.put(r, b)
        return log_ratio

    cdef double log_place(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """log of what item i, which is not placed, adds to the target in cluster k."""
        return self.model.log_pred(i, k) + self.model.log_weight(i, k)
