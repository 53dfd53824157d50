"""The two items that a split-merge move is about: any two, mostly near pairs of the model if it has any, or two about
which partitions of the chain history differ.

(Hashed pairs stand in ``lshsm.pyx``, choices among clusters in ``smart.pyx``.)
"""
from splitmerge_cli.core.history cimport AdaptiveProposal


cdef class UniformPair(Anchors):
    """Any two items; where the model has near pairs (``core/near_pairs.pyx``), mostly one of these."""

    cdef bint draw(self, Rng rng, Model model, Py_ssize_t *i, Py_ssize_t *j) except -1 nogil:
        if model.N < 2:
            return False
        if model.near_pairs is not None:
            model.near_pairs.draw(rng, i, j)
        else:
            rng.draw_two(model.N, i, j)
        return True


cdef class HistoryPair(Anchors):
    """Two items that one partition of the chain history joins and another parts."""

    def __init__(self, AdaptiveProposal adaptive not None):
        self.adaptive = adaptive

    cdef bint draw(self, Rng rng, Model model, Py_ssize_t *i, Py_ssize_t *j) except -1 nogil:
        return self.adaptive.draw(rng, i, j)
