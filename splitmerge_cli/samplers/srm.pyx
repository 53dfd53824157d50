"""Simplified reconfiguration moves, sRM (Herlau et al. 2014, Algorithm 2): no blocks, no history.

A random pair i, j is parted or joined; all items of their clusters are placed again, one by one, among all
clusters, and items of other clusters may join i or j. The number of clusters may change in any direction. The walk, its
probability and the ratio are in ``reconfiguration.pyx``.

As printed it is exact, if the reverse recomputes everything from z* and both share one relabelling.
Cost: a move visits every item twice: O(N) restricted choices and O(n) full ones, n the items of the two clusters.
"""
from splitmerge_cli.samplers.reconfiguration cimport SPLIT, Reconfiguration


cdef class SRM(Reconfiguration):
    """Simplified reconfiguration moves."""

    cdef int make_step(self) except -1 nogil:
        self.propose(SPLIT)
        if self.model.N < 2:
            return self.null()
        self.rng.draw_two(self.model.N, &self.i, &self.j)
        return self.reconfigure()

    cdef void choose_launch(self, bint split) noexcept nogil:
        """Lines 3 and 4: all but i and j are taken out."""
        cdef Py_ssize_t h
        for h in range(self.model.N):
            self.launched[h] = 0
        self.launched[self.i] = 1
        self.launched[self.j] = 2
