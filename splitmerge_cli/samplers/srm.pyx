"""Simplified reconfiguration moves, sRM (paper 003, Algorithm 2): reconfiguration without blocks and without a history.

A random pair i, j is parted or joined; all items of their clusters find their place anew, one by one, among all
clusters, and items of other clusters may join i or j. The number of clusters may change in any direction. The walk, its
probability and the ratio are in ``_reconfigure.pyx``.

As printed it is exact, if the reverse computes everything anew from z* and both share one relabelling.
Cost: a move visits every item twice: O(N) restricted choices and O(n) full ones, n the items of the two clusters.
"""
from splitmerge_cli.samplers.reconfiguration cimport SPLIT, Reconfiguration


cdef class SRM(Reconfiguration):
    """Simplified reconfiguration moves."""

    cdef int make_step(self) except -1 nogil:
        self.propose(SPLIT)
        if self.model.N < 2:
            return self.null()
        self.i = self.rng.draw_index(self.model.N)
        self.j = self.rng.draw_index(self.model.N - 1)
        self.j += self.j >= self.i
        return self.reconfigure()

    cdef void choose_launch(self, bint split) noexcept nogil:
        """Lines 3 and 4: all but i and j are taken out."""
        cdef Py_ssize_t h
        for h in range(self.model.N):
            self.launched[h] = 0
        self.launched[self.i] = 1
        self.launched[self.j] = 2
