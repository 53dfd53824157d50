# The items that a split-merge move is about. See anchors.pyx.
from splitmerge_cli.core.history cimport AdaptiveProposal
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.samplers.split_merge cimport Anchors


cdef class UniformPair(Anchors):
    pass


cdef class HistoryPair(Anchors):
    cdef readonly AdaptiveProposal adaptive
