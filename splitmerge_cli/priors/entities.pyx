"""Prior of the entity/mention model (paper 000, section 3.1): a number of entities, empty ones among them, and for each
mention one of these, uniformly.

    pi(K, S) = P(K) K^-N,    P(K) a log-normal density in K, on 1..kmax, normalised
"""
from libc.math cimport INFINITY, lgamma, log
from libc.stdlib cimport free

import numpy as np

from splitmerge_cli.core.memory cimport doubles
from splitmerge_cli.core.prior cimport Prior

from splitmerge_cli.core.options import Choice, Count, Number, Positive

MOST = 10_000_000
"""Largest kmax."""


cdef class Entities(Prior):
    """Prior of entities.

    Parameters
    ----------
    N : int
    mu, sigma : float
    kmax : int
    label_prior : {'labelled', 'partition', 'as_printed'}
        See ``OPTIONS``. Source: docs/decisions/0002.
    """

    NAME = "entities"
    OPTIONS = (
        Number("mu", 2.302585092994046, "location of log K; the default is ln 10"),
        Positive("sigma", 1.0, "scale of log K"),
        Count("kmax", 100, "largest number of entities", least=1, most=MOST),
        Choice("label_prior", "labelled", "how a state of K entities is counted: as the model defines it; divided by K! "
               "(partition); times 2^K / K!, what the paper's ratio amounts to (as_printed)",
               choices=("labelled", "partition", "as_printed")),
    )

    cdef Py_ssize_t kmax
    cdef double *log_number             # [kmax + 1] log P(K) - N log K + how labels count

    def __init__(self, Py_ssize_t N, mu, sigma, kmax, label_prior):
        cdef Py_ssize_t n, k
        cdef double total, law
        self.kmax = kmax
        for n in range(N + 2):
            self.weight[n] = 1.0
        self.log_number = doubles(kmax + 1)
        p = np.arange(1, kmax + 1)
        total = np.logaddexp.reduce(-np.log(p) - (np.log(p) - mu) ** 2 / (2 * sigma ** 2))
        for k in range(1, kmax + 1):
            law = 0.0
            if label_prior != "labelled":
                law -= lgamma(k + 1.0)
            if label_prior == "as_printed":
                law += k * log(2.0)
            self.log_number[k] = -log(k) - (log(k) - mu) ** 2 / (2 * sigma ** 2) - total - N * log(k) + law

    def __dealloc__(self):
        free(self.log_number)

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        return -INFINITY if K < 1 or K > self.kmax else self.log_number[K]

    def draw(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int. How labels count is part of the
        prior of K."""
        log_p = np.array([self.log_number[k] + self.N * log(k) for k in range(1, self.kmax + 1)])
        p = np.exp(log_p - np.logaddexp.reduce(log_p))
        K = 1 + int(generator.choice(self.kmax, p=p / p.sum()))
        return generator.integers(K, size=self.N).astype(np.int32), K
