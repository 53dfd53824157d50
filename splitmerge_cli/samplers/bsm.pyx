"""Split-merge from an informed launch state, bSM (paper 003, section 3.6.2).

As split-merge with restricted Gibbs scans (Jain and Neal 2004), but i and j, and where the launch state puts some of
the items, come from two partitions z_a and z_b of the chains' past: items that both put with i begin on i's side, those
that both put with j on j's; the rest by fair coins. Then t restricted scans, and one that is scored.

    c_i = z_a(i) n z_b(i) n (z(i) u z(j))        exact: the same for the split and for its merge
    c_i = z_a(i) n z_b(i) n z(i)                 as printed ("c is the coarsest common refinement"): in the merged state
                                                 z(i) is another set than in the split one, and the move is not
                                                 reversible (`mode=literal`, the term `launch`)
Cost of a move: (t + 1) n predictives.
"""
from splitmerge_cli._dyadic cimport PairMoves
from splitmerge_cli._kernels cimport Model, Rng
from splitmerge_cli._past cimport Learner, Past

cdef enum:
    SPLIT, MERGE                        # MOVES

cdef enum:
    LAUNCH = 4                          # TERMS


cdef class BSM(PairMoves):
    """Split-merge from a launch state that the chains' past suggests.

    Parameters
    ----------
    model : Model
    rng : Rng
    t : int
        Restricted scans of the launch state, at least 0.
    adaptation : {'paper', 'frozen', 'population'}
        Which partitions of the past are drawn; see ``_past.pyx``.
    freeze : int
        frozen: the iteration after which nothing new is learnt.
    mode : {'exact', 'literal'}
    """

    MOVES = ("split", "merge")
    TERMS = ("target", "orders", "allocation", "printed", "launch")
    LITERAL_TERM = "launch"
    NEEDS_CONJUGATE = True

    cdef readonly Learner learner

    def __init__(self, Model model not None, Rng rng not None, t=5, str adaptation="paper", freeze=1000,
                 str mode="exact"):
        super().__init__(model, rng, allocation="gibbs", t=t, mode=mode)
        self.omit("printed")
        self.learner = Learner(model.N, adaptation, freeze)

    @classmethod
    def supports(cls, model):
        """Whether clusters open and close with their items, and parameters are integrated out: (bool, reason)."""
        if model.allows_empty:
            return False, "the model keeps its empty clusters; the past compares partitions"
        return super().supports(model)

    def learn_from(self, Past past, Py_ssize_t chain):
        """Learn from this past, as the chain of this number."""
        self.learner.learn_from(past, chain)

    def fix(self, za=None, zb=None, Py_ssize_t i=-1, Py_ssize_t j=-1):
        """Use these partitions, and this pair unless i is -1, in place of drawn ones; with no arguments draw again."""
        self.learner.fix(za, zb, i, j)

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t i, j
        self.propose(SPLIT)
        if not self.learner.draw(self.rng, &i, &j):
            return self.null()
        if self.model.z[i] == self.model.z[j]:
            return self.split_pair(i, j, 0.0)
        self.proposed[SPLIT] -= 1
        self.propose(MERGE)
        return self.merge_pair(i, j, 0.0)

    cdef void launch_sides(self, Py_ssize_t n, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """in_a of items[:n] in the launch state."""
        cdef Py_ssize_t t
        for t in range(n):
            if self.kept_with(self.items[t], i):
                self.in_a[t] = True
            elif self.kept_with(self.items[t], j):
                self.in_a[t] = False
            else:
                self.in_a[t] = self.rng.draw_coin(0.5)

    cdef bint kept_with(self, Py_ssize_t h, Py_ssize_t i) noexcept nogil:
        """Whether item h, of the clusters at stake, is in c_i."""
        return (self.learner.za[h] == self.learner.za[i] and self.learner.zb[h] == self.learner.zb[i]
                and (not self.on[LAUNCH] or self.model.z[h] == self.model.z[i]))
