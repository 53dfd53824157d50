"""Prior of the entity/mention model (Wang & Russell 2015, section 3.1): a number of entities, empty ones among them,
and for each mention one of these, uniformly.

    pi(K, S) = P(K) K^-N,    P(K) a log-normal density in K, on 1..kmax, normalised
"""
from libc.math cimport INFINITY, lgamma, log

import numpy as np

from splitmerge_cli.core.memory cimport doubles_of
from splitmerge_cli.core.prior cimport Prior

from splitmerge_cli.core.options import Choice, Count, Number, Positive
from splitmerge_cli.core.shared import share

MOST = 10_000_000
"""Largest kmax."""


def _tables(Py_ssize_t N, mu, sigma, Py_ssize_t kmax, label_prior):
    """Weights and log factors, 1 and 0, of entities with 0 to N + 1 mentions; log factors of 0 to kmax entities."""
    cdef Py_ssize_t k
    cdef double total, log_labelling
    cdef double[::1] log_number = np.zeros(kmax + 1)
    p = np.arange(1, kmax + 1)
    total = np.logaddexp.reduce(-np.log(p) - (np.log(p) - mu) ** 2 / (2 * sigma ** 2))
    for k in range(1, kmax + 1):
        log_labelling = 0.0
        if label_prior != "labelled":
            log_labelling -= lgamma(k + 1.0)
        if label_prior == "as_printed":
            log_labelling += k * log(2.0)
        log_number[k] = -log(k) - (log(k) - mu) ** 2 / (2 * sigma ** 2) - total - N * log(k) + log_labelling
    return {"weight": np.ones(N + 2), "log_size": np.zeros(N + 2), "log_number": np.asarray(log_number)}


cdef class Entities(Prior):
    """Prior of entities. See ``OPTIONS``; source of `label_prior`: docs/decisions/0002."""

    OPTIONS = (
        Number("mu", 2.302585092994046, "location of log K; the default is ln 10"),
        Positive("sigma", 1.0, "scale of log K"),
        Count("kmax", 100, "largest number of entities", least=1, most=MOST),
        Choice("label_prior", "labelled", "how a state of K entities is counted: as the model defines it; divided by "
               "K! (partition); times 2^K / K!, what the paper's ratio amounts to (as_printed)",
               choices=("labelled", "partition", "as_printed")),
    )

    cdef Py_ssize_t kmax
    cdef const double *log_number       # [kmax + 1] log P(K) - N log K + how labels count

    def __init__(self, Py_ssize_t N, mu, sigma, kmax, label_prior):
        self.kmax = kmax
        self.set_tables(share(_tables, N, mu, sigma, kmax, label_prior))
        self.log_number = doubles_of(self.shared.log_number)

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        return -INFINITY if K < 1 or K > self.kmax else self.log_number[K]

    def draw(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int. How labels count is part of the
        prior of K."""
        log_p = np.array([self.log_number[k] + self.N * log(k) for k in range(1, self.kmax + 1)])
        p = np.exp(log_p - np.logaddexp.reduce(log_p))
        K = 1 + int(generator.choice(self.kmax, p=p / p.sum()))
        return generator.integers(K, size=self.N).astype(np.int32), K
