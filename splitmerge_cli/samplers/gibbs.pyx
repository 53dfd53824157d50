"""Gibbs sampling, one item at a time (Wang & Russell 2015, Algorithm 1; Neal's algorithm 3 without empty clusters).

An item is put into cluster k with probability proportional to the prior's weight times its predictive there, its own
contribution excluded. The acceptance probability is 1, and the printed formula is this one: mode `as_printed` changes
nothing. Cost: an item O(K) predictives (EMM O(K), Bernoulli O(D K)); a scan N of them.
"""
from splitmerge_cli._kernels cimport full_scan
from splitmerge_cli.core.sampler cimport ItemUpdates


cdef class Gibbs(ItemUpdates):
    """Gibbs sampler. The move `gibbs` counts updates of an item as proposed and those that moved it as accepted."""

    MOVES = ("gibbs",)
    DIVIDES_WEIGHTS = True

    cdef Py_ssize_t update_items(self, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
        """Algorithm 1, lines 6-8."""
        return full_scan(self.model, self.rng, first, n)
