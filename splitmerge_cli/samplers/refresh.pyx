"""What a chain's state holds beside the partition: parameters of clusters, and a concentration with a prior of its own.

*parameters*: those of every cluster, given its items: an exact draw, or Metropolis steps, as the model says (the last
step of Neal's algorithm 8; Jain and Neal 2007). Of normal mixtures with b0 or kappa0 resampled: those of every cluster
are drawn, then b0 and kappa0 given them, and they are forgotten (``models/scale_prior.pyx``).
*concentration*: Escobar and West (1995), section 6:

    eta ~ Beta(alpha + 1, N)
    alpha ~ p Gamma(a + K, b - log eta) + (1 - p) Gamma(a + K - 1, b - log eta)
    p / (1 - p) = (a + K - 1) / (N (b - log eta))

An iteration ends with a step of this where the model has anything to refresh and the schedule does not name it.
"""
from splitmerge_cli.core.sampler cimport Sampler

from splitmerge_cli.core.sampler import CLUSTERS, EMPTY, PARTITION

cdef enum:
    PARAMETERS, CONCENTRATION           # MOVES


cdef class Refresh(Sampler):
    """Update of the parameters, or of the scales of their prior, and of the concentration.

    Notes
    -----
    The move `parameters` counts clusters as proposed, and those that changed theirs as accepted.
    """

    MOVES = ("parameters", "concentration")
    NEEDS_CONJUGATE = False
    DIVIDES_WEIGHTS = True

    cdef bint parameters, concentration  # whether the model has any to update

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.scans = 0
        self.parameters = model.parameters is not None
        self.concentration = model.random_concentration

    @classmethod
    def supports(cls, model):
        """Whether the model has anything to refresh: (bool, reason)."""
        if not model.refreshes:
            return False, "the partition is all of the model's state: there is nothing to refresh"
        return True, ""

    @classmethod
    def invariants(cls, model, **options):
        """The partition and all that follows from it: frozenset of str."""
        return frozenset((PARTITION, CLUSTERS, EMPTY))

    cdef int make_step(self) except -1 nogil:
        self.last_log_ratio = 0.0
        if self.parameters:
            self.move = PARAMETERS
            self.proposed[PARAMETERS] += self.model.K
            self.accepted[PARAMETERS] += self.model.refresh_parameters(self.rng)
        if self.concentration:
            self.move = CONCENTRATION
            self.proposed[CONCENTRATION] += 1
            self.accepted[CONCENTRATION] += 1
            self.model.resample_hyperparameters(self.rng)
        return 0
