"""Chaperones (Miller et al. 2015; Zanella et al. 2016): Gibbs updates among the clusters of two items that are drawn.

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
"""
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


cdef class Chaperones(Sampler):
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
    cdef NearPairs near                 # pairs=near; else None
    cdef bint coupled                   # clusters' likelihoods depend on each other
    cdef int rounds
    cdef int32_t *items                 # [N] of the two clusters, in item order
    cdef Py_ssize_t i, j                # the chaperones

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.model.keep_lists()
        options = self.options
        self.rounds = options["scans"]
        self.coupled = isinstance(model, Coupled)
        if options["pairs"] in ("auto", "near"):
            self.near = model.near_pairs
        if options["pairs"] == "near" and self.near is None:
            raise NoNearPairs("sampler.pairs=near: expected a model with near pairs; "
                              "sampler.pairs=uniform asks for none")
        if options["pairs"] == "hashed":
            if model.vectors is None:
                raise ValueError("sampler.pairs=hashed: expected items that are vectors without missing cells, which "
                                 "can be hashed; sampler.pairs=uniform asks for none")
            self.tables = tables_of(model.vectors, options["bits"], options["tables"], True, options["tables_seed"])
        self.items = self.memory.ints(self.model.N)

    def report(self):
        """dict: what a run's summary says of the hash tables."""
        return {"hash_tables": self.tables.statistics()} if self.tables is not None else {}

    cdef int make_step(self) except -1 nogil:
        """Steps 1 and 2 of the algorithm."""
        cdef Py_ssize_t t, n, K = self.model.K, choices = 0, moved = 0
        self.move = 0
        self.last_log_ratio = 0.0
        if self.model.N < 2:
            return self.null()
        self.draw_pair()
        self.model.reserve(K + 1)
        if self.near is None or self.coupled:
            self.model.begin_scan()
        else:
            # all that is read: a scan's weights of K clusters would cost more than the step
            self.model.scratch(K)
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
