"""Gibbs sampling, one item at a time (Wang & Russell 2015, Algorithm 1; Neal's algorithm 3 without empty clusters).

An item is put into cluster k with probability proportional to the prior's weight times its predictive there, its own
contribution excluded. The acceptance probability is 1, and the printed formula is this one: mode `as_printed` changes
nothing. Cost: an item O(K) predictives (EMM O(K), Bernoulli O(D K)); a scan N of them.
"""
from splitmerge_cli._kernels cimport full_scan
from splitmerge_cli.core.sampler cimport Sampler

from splitmerge_cli.core.options import Choice
from splitmerge_cli.core.sampler import CLUSTERS, EMPTY


cdef class Gibbs(Sampler):
    """Gibbs sampler.

    Notes
    -----
    The move `gibbs` counts updates of an item as proposed and those that moved it as accepted.
    """

    OPTIONS = (
        Choice("scan", "full", "full: a step updates every item in turn; site: one item, drawn uniformly",
               choices=("full", "site")),
        *Sampler.OPTIONS,
    )
    MOVES = ("gibbs",)
    DIVIDES_WEIGHTS = True

    cdef readonly bint full

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.full = self.options["scan"] == "full"
        self.scans = 0

    @classmethod
    def invariants(cls, model, **options):
        """Where empty clusters are kept, items move among those that there are: frozenset of str."""
        return super().invariants(model) - {EMPTY} | ({CLUSTERS} if model.allows_empty else set())

    cdef int make_step(self) except -1 nogil:
        """Algorithm 1, lines 6-8, or line 7 for one item."""
        if self.full:
            return self.update(0, self.model.N)
        return self.update(self.rng.draw_index(self.model.N), 1)

    cdef Py_ssize_t parts(self) noexcept nogil:
        return 1 + (self.model.N - 1) // self.rng.part() if self.full else 1

    cdef int make_part(self, Py_ssize_t part) except -1 nogil:
        cdef Py_ssize_t items = self.rng.part()
        if not self.full:
            return self.make_step()
        return self.update(part * items, min(items, self.model.N - part * items))

    cdef int update(self, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
        """Items first, ..., first + n - 1."""
        cdef Py_ssize_t changed = full_scan(self.model, self.rng, first, n)
        self.move = 0
        self.last_log_ratio = 0.0
        self.proposed[0] += n
        self.accepted[0] += changed
        return 0
