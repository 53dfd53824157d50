"""Uniform prior: every partition has the same probability."""

import numpy as np

from splitmerge_cli.core.prior cimport Prior
from splitmerge_cli.core.rng cimport Rng

from splitmerge_cli.core.shared import share


def _tables(Py_ssize_t N):
    """Weights and log factors of clusters with 0 to N + 1 items: 1 and 0."""
    return {"weight": np.ones(N + 2), "log_size": np.zeros(N + 2)}


cdef class Uniform(Prior):
    """Uniform over partitions. `concentration` is not used."""

    NAME = "uniform"
    TAKES_CONCENTRATION = False

    def __init__(self, Py_ssize_t N, concentration=1.0):
        if not isinstance(concentration, (int, float)):
            raise ValueError("model.concentration: prior=uniform has none to resample; expected a number")
        self.concentration = concentration
        self.set_tables(share(_tables, N))
        self.draws_weights = True

    cdef double log_cluster_weight(self, Rng rng, Py_ssize_t n) noexcept nogil:
        """1: g(n) = 1."""
        return 0.0

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        return 0.0

    cdef double new_weight(self, Py_ssize_t K) noexcept nogil:
        return 1.0

    def draw(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int.

        Exactly, by Stam's urns: k urns with probability proportional to k^N / k!, an urn for each item, empty ones
        dropped.
        """
        from scipy.special import gammaln
        k = np.arange(1, self.N + 200)
        log_p = self.N * np.log(k) - gammaln(k + 1)
        p = np.exp(log_p - np.logaddexp.reduce(log_p))
        urns = generator.integers(generator.choice(k, p=p / p.sum()), size=self.N)
        _, first, labels = np.unique(urns, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[labels].astype(np.int32), len(first)
