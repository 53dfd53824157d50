"""Dyadic split-merge (van Rossum et al. 2018, section 2.1; Jain and Neal 2004), and SAMS, its sequentially allocated
form (section 2.2; Dahl 2003): two random items decide between a split and a merge.

Items i and j stand on different sides; the n = N_v - 2 other items of the selected clusters are allocated to the sides

    random   by fair coins                                          q = 2^-n                  (equation 8)
    sams     one after the other, in a random order, with probability proportional to the side's size times the
             predictive of the item given those there               q = product of the steps  (section 2.2; Dahl 2003)
    gibbs    by t restricted Gibbs scans from a random launch state and a last one that is scored (Jain and Neal 2004)

and a merge evaluates q of the present sides in the same way. Exact log ratio of a split (a merge is the inverse):

    log R_P R_L - log q        plus log (K + 1) where empty clusters are kept                             (equation 3)

As printed (`mode=as_printed`) the ratio of q is 2^n whatever the allocation (`q_ratio=formula`, equation 9), or left
out (`one`). For `random` equation 9 is exact.

Cost of a step, n items in the selected clusters: `random` O(n), `sams` n pairs of predictives, `gibbs` (t + 1) n pairs.
"""
from libc.math cimport log

from splitmerge_cli.samplers.split_merge cimport SplitMerge

from splitmerge_cli.core.options import Choice
from splitmerge_cli.samplers.split_merge import SCANS, allocation_of, allocation_option

cdef double LOG_2 = log(2.0)

Q_RATIO = Choice("q_ratio", "formula", "mode=as_printed: the printed ratio of allocation probabilities: formula (as "
                 "for coins, whatever the allocation) or one", choices=("formula", "one"))


cdef class Dyadic(SplitMerge):
    """Dyadic split-merge: any two items, an allocation of choice."""

    OPTIONS = (allocation_option("random"), SCANS, Q_RATIO, *SplitMerge.OPTIONS)
    NEEDS_CONJUGATE = False
    DIVIDES_WEIGHTS = True

    cdef bint formula

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.allocation = allocation_of(self.options["allocation"], self.options["t"])
        self.formula = self.options["q_ratio"] == "formula"

    cdef double log_printed(self, Py_ssize_t K, double log_q) noexcept nogil:
        return log_q + (self.sides.n * LOG_2 if self.formula else 0.0)
