"""Priors of partitions: what an item weighs in a cluster of n others, and what a partition of these sizes weighs.

Every prior here is of the form

    p(partition) proportional to  f(K) prod_k g(n_k)

with a factor f of the number K of clusters and a factor g of the size of each: exchangeable, as all models assume. The
weight of joining a cluster of n items is g(n + 1) / g(n), that of a new one f(K + 1) g(1) / f(K).

A prior of its own is one file in ``splitmerge_cli/priors``; it serves every mixture (``model.prior=NAME``). The short
way is a `TablePrior`, which needs log g and log f as two arrays, in Python.
"""
from libc.math cimport NAN, exp
from libc.stdlib cimport free

import numpy as np

from splitmerge_cli.core.memory cimport doubles


cdef class Prior:
    """A prior of partitions of N items; an abstract class.

    A prior fills ``weight`` and ``log_size`` and supplies ``log_count`` and ``new_weight``; one with a random
    concentration ``resample`` and ``log_density``, too.

    Parameters
    ----------
    N : int
        Number of items.
    """

    NAME = ""
    """What ``model.prior`` calls it."""
    OPTIONS = ()
    """Its options beside the concentration; see ``core/options.py``."""
    TAKES_CONCENTRATION = True
    """Whether it has a concentration that may be given a gamma prior."""

    def __cinit__(self, Py_ssize_t N, *args, **kwargs):
        self.N = N
        self.concentration = NAN
        self.weight = doubles(N + 2)
        self.log_size = doubles(N + 2)

    def __dealloc__(self):
        free(self.weight)
        free(self.log_size)

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        """log f(K), up to a constant; -inf where there cannot be so many."""
        return NAN

    cdef double new_weight(self, Py_ssize_t K) noexcept nogil:
        """Linear weight of a new cluster beside K others, on the scale of ``weight``."""
        return NAN

    cdef void resample(self, Rng rng, Py_ssize_t K) noexcept nogil:
        """Draw the concentration given the number of clusters."""
        pass

    cdef double log_density(self) noexcept nogil:
        """log density of a random concentration; 0 where it is fixed."""
        return 0.0

    def set_concentration(self, double value):
        """Set the present concentration.

        Raises
        ------
        ValueError
            For a prior without one, or a value that is not positive.
        """
        raise ValueError(f"prior {type(self).__name__} has no concentration")

    def draw(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int.

        Parameters
        ----------
        generator : numpy.random.Generator
        """
        cdef Py_ssize_t i, k, K = 0
        # one item after the other, by the weights; entry 0 of `weight` is the model's
        labels = np.zeros(self.N, dtype=np.int32)
        sizes: list = []
        for i in range(self.N):
            w = np.array([self.weight[<Py_ssize_t> n] for n in sizes] + [self.new_weight(K)])
            k = int(generator.choice(K + 1, p=w / w.sum()))
            if k == K:
                K += 1
                sizes.append(0)
            sizes[k] += 1
            labels[i] = k
        return labels, K

    # For tests: the pieces, one call each.
    def _log_prob(self, sizes):
        cdef int32_t[::1] v = np.ascontiguousarray(sizes, dtype=np.int32)
        return self.log_prob(&v[0], v.shape[0], v.shape[0])

    def _weights(self, sizes):
        """Weights of joining each of these clusters, and of a new one."""
        return [self.weight[<Py_ssize_t> n] for n in sizes], self.new_weight(len(sizes))


cdef class TablePrior(Prior):
    """A prior from two tables.

    A subclass, which may be written in Python, defines ``tables``.

    Parameters
    ----------
    N : int
    concentration : float
        As given for the model.
    **options
        The prior's own, as read by ``OPTIONS``.

    Examples
    --------
    >>> class Uniform(TablePrior):
    ...     NAME = "uniform"
    ...     def tables(self, concentration, **options):
    ...         return np.zeros(self.N + 1), np.zeros(self.N + 1)
    """

    def __init__(self, Py_ssize_t N, concentration=1.0, **options):
        cdef Py_ssize_t n
        if not isinstance(concentration, (int, float)):
            raise ValueError(f"model.concentration: prior={self.NAME} does not resample it; expected a number")
        self.concentration = concentration
        log_size, log_number = (np.asarray(t, dtype=np.float64) for t in self.tables(concentration, **options))
        for name, table in (("log g", log_size), ("log f", log_number)):
            if table.shape != (N + 1,):
                raise ValueError(f"prior {self.NAME}: {name}: expected {N + 1} numbers, for 0 to N, got {table.shape}")
        if not np.isfinite(log_size[1:]).all() or np.isnan(log_number[1:]).any():
            raise ValueError(f"prior {self.NAME}: expected log g finite, and log f a number or -inf")
        self.log_number = doubles(N + 2)
        for n in range(1, N + 1):
            self.log_size[n] = log_size[n]
            self.log_number[n] = log_number[n]
            if n < N:
                self.weight[n] = exp(log_size[n + 1] - log_size[n])
        self.by_count = True

    def __dealloc__(self):
        free(self.log_number)

    def tables(self, concentration, **options):
        """log g(n) and log f(K), each ndarray of float64 of shape (N + 1,); entry 0 is not read."""
        raise TypeError(f"{type(self).__name__} defines no tables")

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        return self.log_number[K]

    cdef double new_weight(self, Py_ssize_t K) noexcept nogil:
        if K >= self.N:
            return 0.0
        if K == 0:
            return 1.0
        return exp(self.log_number[K + 1] - self.log_number[K] + self.log_size[1])
