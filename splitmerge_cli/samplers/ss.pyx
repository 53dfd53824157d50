"""Smart-smart split-merge (Wang & Russell 2015, sections 4, 5.1): Algorithm 2's split, Algorithm 3's merge.

The exact log ratio of a split K -> K+1 of cluster c into (A, B) is log Delta + log reverse - log forward; a merge is
its inverse:

    forward                     reverse, EMM        reverse, no empty clusters
    2 f_split(c) p_seq(A, B)    f(B|A) + f(A|B)     [f(B|A) + f(A|B)] / (K+1)

The paper introduces it to show how the two smart proposals defeat each other. Terms, cost, derivation as in ``sdds``.
"""
from splitmerge_cli.samplers.smart cimport SmartMoves

cdef enum:
    SMART_SPLIT, SMART_MERGE


cdef class SS(SmartMoves):
    """Smart-smart sampler."""

    MOVES = ("smart_split", "smart_merge")

    cdef int make_step(self) except -1 nogil:
        """Line 2 of Algorithms 2 and 3: split or merge."""
        self.use(True, True)
        if self.rng.draw_index(2) == 1:
            return self.propose_merge(SMART_MERGE)
        return self.propose_split(SMART_SPLIT)
