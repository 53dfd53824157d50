"""Dyadic split-merge (paper 004, section 2.1; Jain and Neal 2004), and SAMS, its sequentially allocated form (section
2.2; Dahl 2003): two random items decide between a split and a merge.

The moves, their exact ratios and the printed ones are in ``_dyadic.pyx``, since the triadic sampler makes them too:

    log ratio of a split = log R_P R_L - log q,    of a merge its negative.

Cost of a step, n items in the clusters at stake: `random` O(n), `sams` n pairs of predictives, `gibbs` (t + 1) n pairs.
"""
from splitmerge_cli._dyadic cimport PairMoves

cdef enum:
    SPLIT, MERGE                        # MOVES


cdef class Dyadic(PairMoves):
    """Dyadic split-merge.

    Parameters
    ----------
    model : Model
    rng : Rng
    allocation : {'sams', 'random', 'gibbs'}
        How the items are allocated to the two sides.
    t : int
        gibbs: restricted scans of the launch state, at least 0.
    mode : {'exact', 'literal'}
    q_ratio : {'formula', 'one'}
        literal: the ratio of allocation probabilities.
    """

    MOVES = ("split", "merge")
    DIVIDES_WEIGHTS = True

    cdef int make_step(self) except -1 nogil:
        """Steps (1) to (6) of section 2.1."""
        cdef Py_ssize_t i, j
        self.propose(SPLIT)
        if self.model.N < 2:
            return self.null()
        i = self.rng.draw_index(self.model.N)
        j = self.rng.draw_index(self.model.N - 1)
        j += j >= i
        if self.model.z[i] == self.model.z[j]:
            return self.split_pair(i, j, 0.0)
        self.proposed[SPLIT] -= 1
        self.propose(MERGE)
        return self.merge_pair(i, j, 0.0)
