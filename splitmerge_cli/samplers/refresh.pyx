"""Updates of the state other than the partition: parameters of clusters, hyper-parameters of the prior.

*parameters*: of every cluster, given its items: an exact draw, or Metropolis steps, as the model says (the last
step of Neal's algorithm 8; Jain and Neal 2007). In normal mixtures with b0 or kappa0 resampled: of every cluster
are drawn, then b0 and kappa0 given them, and they are forgotten (``kinds/tables/models/normal.pyx``).
*concentration* of the Chinese restaurant process: Escobar and West (1995), section 6:

    eta ~ Beta(alpha + 1, N)
    alpha ~ p Gamma(a + K, b - log eta) + (1 - p) Gamma(a + K - 1, b - log eta)
    p / (1 - p) = (a + K - 1) / (N (b - log eta))

Another prior's hyper-parameters are resampled as it says, one after the other (``core/prior.pyx``), each a move of its
name. An iteration ends with a step of this where the model has anything to refresh and the schedule does not name it.
"""
from splitmerge_cli.core.prior cimport MAX_HYPERPARAMETERS
from splitmerge_cli.core.sampler cimport Sampler

from splitmerge_cli.core.sampler import CLUSTERS, EMPTY, PARTITION

cdef enum:
    PARAMETERS                          # the first of `moves`; behind it hyper-parameters


cdef class Refresh(Sampler):
    """Update the parameters, or the scales of their prior, and the prior's hyper-parameters. The move `parameters`
    counts clusters as proposed, and those that changed theirs as accepted."""

    MOVES = ("parameters", "concentration")
    NEEDS_CONJUGATE = False
    DIVIDES_WEIGHTS = True

    cdef bint parameters                # whether the model has any to update
    cdef Py_ssize_t n_hyperparameters
    cdef int[MAX_HYPERPARAMETERS] move_of  # the move of each of the prior's hyper-parameters

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.scans = 0
        self.parameters = model.parameters is not None
        names = () if model.prior is None else model.prior.hyperparameters
        self.moves = (*self.MOVES, *(name for name in names if name not in self.MOVES))
        self.n_hyperparameters = len(names)
        for t, name in enumerate(names):
            self.move_of[t] = self.moves.index(name)

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
        cdef Py_ssize_t t
        self.last_log_ratio = 0.0
        if self.parameters:
            self.move = PARAMETERS
            self.proposed[PARAMETERS] += self.model.K
            self.accepted[PARAMETERS] += self.model.refresh_parameters(self.rng)
        for t in range(self.n_hyperparameters):
            self.move = self.move_of[t]
            self.proposed[self.move] += 1
            self.accepted[self.move] += 1
            self.model.resample_hyperparameter(self.rng, t)
        return 0
