"""Smart-dumb/dumb-smart split-merge (Wang & Russell 2015, Algorithms 2 and 3).

Two kernels, of clusters as anchors (``smart.pyx``):

    ssdm     smart split, by f_split(c) and p_seq(A, B)      dumb merge of any two clusters
    smds     dumb split of any cluster, by coins             smart merge, by f(B|A)

The exact log ratio of a split K -> K+1 of cluster c (n items) into (A, B) is log Delta + log reverse - log forward; a
merge is its inverse, evaluated from the merged state:

    kernel                      forward                   reverse, EMM        reverse, no empty clusters
    smart split / dumb merge    f_split(c) p_seq(A, B)    1/K                 1/(K (K+1))
    dumb split / smart merge    2^-(n-1) / K              f(B|A) + f(A|B)     [f(B|A) + f(A|B)] / (K+1)

Delta is pi'/pi. The paper's 2/(K(K-1)) of a dumb merge is, seen from the split, 2/((K+1)K). Where empty clusters are
kept, a state with K+1 clusters has K+1 labellings for every one of a state with K: that factor, the term `orders`, is
in `reverse` here. As printed (mode=as_printed) labels count as in the paper (docs/decisions/0002).

Derivation: docs/derivations.md. Cost of a move: O(n) predictives and O(K) likelihoods; a smart merge, and the reverse
of a dumb split, O(K) unions.
"""
from splitmerge_cli.samplers.smart cimport SmartMoves

from splitmerge_cli.core.options import Choice

cdef enum:
    SMART_SPLIT, DUMB_MERGE, DUMB_SPLIT, SMART_MERGE

KERNELS = ("both", "ssdm", "smds")


cdef class SDDS(SmartMoves):
    """Smart-dumb/dumb-smart sampler."""

    OPTIONS = (
        Choice("kernel", "both", "ssdm: only smart split/dumb merge; smds: only smart merge/dumb split; both: one of "
               "the two, uniformly, in each step", choices=KERNELS),
        *SmartMoves.OPTIONS,
    )
    MOVES = ("smart_split", "dumb_merge", "dumb_split", "smart_merge")

    cdef int which                      # 0 both, 1 ssdm, 2 smds

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.which = KERNELS.index(self.options["kernel"])

    cdef int make_step(self) except -1 nogil:
        """Section 5.1: one of the two kernels; line 2 of its algorithm: split or merge."""
        cdef bint smart_merges = self.rng.draw_index(2) == 1 if self.which == 0 else self.which == 2
        cdef bint merge = self.rng.draw_index(2) == 1
        self.use(not smart_merges, smart_merges)
        if merge:
            return self.propose_merge(SMART_MERGE if smart_merges else DUMB_MERGE)
        return self.propose_split(DUMB_SPLIT if smart_merges else SMART_SPLIT)
