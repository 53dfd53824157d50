"""Priors of partitions: what an item weighs in a cluster of n others, and what a partition of these sizes weighs.

Every prior here is of the form

    p(partition) proportional to  f(K) prod_k g(n_k)

with a factor f of the number K of clusters and a factor g of the size of each: exchangeable, as all models assume. The
weight of joining a cluster of n items is g(n + 1) / g(n), that of a new one f(K + 1) g(1) / f(K).

A prior of its own is one file in ``splitmerge_cli/priors``; it supports every mixture (``model.prior=NAME``). The short
way is a `TablePrior`, which needs log g and log f as two arrays, in Python.
"""
from libc.math cimport INFINITY, NAN, exp, lgamma

import numpy as np

from splitmerge_cli.core.memory cimport doubles_of

from splitmerge_cli.core.shared import shared


cdef enum:
    # items of which TablePrior.draw counts the partitions
    MOST_COUNTED = 512


def _draw_by_logs(generator, log_weights):
    """An index with probability proportional to exp(log_weights)."""
    p = np.exp(log_weights - log_weights.max())
    return int(generator.choice(len(p), p=p / p.sum()))


cdef class Prior:
    """A prior of partitions of N items; an abstract class.

    A prior's constructor calls ``set_tables``; it supplies ``log_count`` and ``new_weight``, and one with a random
    concentration ``resample`` and ``log_density``, too.

    Parameters
    ----------
    N : int
        Number of items.
    """

    NAME = ""
    """What ``model.prior`` calls it; empty where a model has it for itself, and of an abstract class."""
    OPTIONS = ()
    """Its options beside the concentration; see ``core/options.py``."""
    TAKES_CONCENTRATION = True
    """Whether it has a concentration that may be given a gamma prior."""

    def __cinit__(self, Py_ssize_t N, *args, **kwargs):
        self.N = N
        self.concentration = NAN

    cdef int set_tables(self, prepared) except -1:
        """Take ``weight`` and ``log_size`` of these arrays, which `shared` prepared from options alone."""
        for name in ("weight", "log_size"):
            if getattr(prepared, name).shape != (self.N + 2,):
                raise ValueError(f"prior {type(self).__name__}: {name}: expected {self.N + 2} numbers")
        self.shared = prepared
        self.weight, self.log_size = doubles_of(prepared.weight), doubles_of(prepared.log_size)
        return 0

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        """log f(K), up to a constant; -inf where there cannot be so many."""
        return NAN

    cdef double new_weight(self, Py_ssize_t K) noexcept nogil:
        """Linear weight of a new cluster beside K others, on the scale of ``weight``."""
        return NAN

    cdef double log_cluster_weight(self, Rng rng, Py_ssize_t n) noexcept nogil:
        """log of the weight of a cluster of n items: a draw, or without a generator what to expect.

        A prior supplies it (``draws_weights``) where f(K + 1) / f(K) is the same for all K, and g(n) is the n-th moment
        of a measure a on the positive numbers, g(n) = int w^n a(dw): then labels are independent given weights, each in
        proportion to its cluster's, and weights are independent given labels, of density w^n a(dw) / g(n).
        """
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

        One item after the other, by the weights: exact where their sum depends on the number of items alone.

        Parameters
        ----------
        generator : numpy.random.Generator
        """
        cdef Py_ssize_t i, k, K = 0
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

    @classmethod
    def log_probability(cls, sizes, concentration, **options):
        """log probability, up to a constant, of a partition with clusters of these sizes, by a formula of its own: what
        the enumeration of small cases goes by, so that no table or weight of the class proves itself.

        Parameters
        ----------
        sizes : ndarray of int, shape (K,)
        concentration : float
        **options
            The prior's own.
        """
        raise TypeError(f"prior {cls.NAME} defines no log_probability: its small cases cannot be enumerated")

    # For tests: the pieces, one call each.
    def _log_prob(self, sizes):
        cdef int32_t[::1] v = np.ascontiguousarray(sizes, dtype=np.int32)
        return self.log_prob(&v[0], v.shape[0], v.shape[0])

    def _weights(self, sizes):
        """Weights of joining each of these clusters, and of a new one."""
        return [self.weight[<Py_ssize_t> n] for n in sizes], self.new_weight(len(sizes))


cdef class TablePrior(Prior):
    """A prior from two tables.

    A subclass, which may be written in Python, defines ``tables``, which must depend on N and the options alone: the
    models of a run share what it returns.

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
        if not isinstance(concentration, (int, float)):
            raise ValueError(f"model.concentration: prior={self.NAME} does not resample it; expected a number")
        self.concentration = concentration
        self.set_tables(shared(type(self)._checked_tables, N, concentration, *sorted(options.items())))
        self.log_number = doubles_of(self.shared.log_number)
        self.by_count = True

    @classmethod
    def _checked_tables(cls, Py_ssize_t N, concentration, *options):
        """Weights and log factors from the subclass's tables."""
        alone = cls.__new__(cls, N)
        given = [np.array(t, dtype=np.float64) for t in alone.tables(concentration, **dict(options))]
        for name, table in zip(("log g", "log f"), given, strict=True):
            if table.shape != (N + 1,):
                raise ValueError(f"prior {cls.NAME}: {name}: expected {N + 1} numbers, for 0 to N, got {table.shape}")
        log_g, log_f = given
        if not np.isfinite(log_g[1:]).all():
            raise ValueError(f"prior {cls.NAME}: expected log g(n) finite")
        # the weights of a scan go from K to K + 1: they cannot pass a number of clusters that is impossible
        most = int(np.isfinite(log_f[1:]).sum())
        if most == 0 or not np.isfinite(log_f[1:most + 1]).all() or not (log_f[most + 1:] == -np.inf).all():
            raise ValueError(f"prior {cls.NAME}: expected log f(K) finite from 1 to some K, and -inf beyond it")
        weight, log_size = np.zeros(N + 2), np.zeros(N + 2)
        log_size[1:N + 1] = log_g[1:]
        weight[1:N] = np.exp(np.diff(log_g[1:]))
        return {"weight": weight, "log_size": log_size, "log_number": log_f}

    def tables(self, concentration, **options):
        """log g(n) and log f(K), each ndarray of float64 of shape (N + 1,); entry 0 is not read. log f may be -inf
        beyond a largest K."""
        raise TypeError(f"{type(self).__name__} defines no tables")

    def draw(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int.

        Exact for up to 512 items: the number of clusters from its distribution, then the cluster of the first item
        left, one after the other. Beyond, one item after the other by the weights, as ``Prior.draw``: a start of a
        chain.
        """
        cdef Py_ssize_t N = self.N, n, m, k
        if N > MOST_COUNTED:
            return Prior.draw(self, generator)
        parts = self._log_parts()
        labels, left = np.full(N, -1, dtype=np.int32), np.arange(N)
        K = 1 + _draw_by_logs(generator, np.asarray(self.shared.log_number)[1:] + parts[1:, N])
        for k in range(K):
            n = len(left)
            # sizes of the cluster of the first item left: n - m others fill K - k - 1 clusters
            m = 1 + _draw_by_logs(generator, self._log_share()[:n] + parts[K - k - 1, n - 1::-1])
            others = generator.permutation(n - 1)[:m - 1] + 1
            labels[left[np.r_[0, others]]] = k
            left = np.delete(left, np.r_[0, others])
        return labels, K

    def _log_share(self):
        """log g(m) / (m - 1)!, m from 1 to N."""
        m = np.arange(1, self.N + 1)
        return np.asarray(self.shared.log_size)[1:self.N + 1] - np.array([lgamma(v) for v in m])

    def _log_parts(self):
        """[K, n]: log of 1 / n! times the sum over partitions of n items into K clusters of prod g."""
        cdef Py_ssize_t K, N = self.N
        parts, share = np.full((N + 1, N + 1), -np.inf), self._log_share()
        parts[0, 0] = 0.0
        n, m = np.ogrid[1:N + 1, 1:N + 1]
        for K in range(1, N + 1):
            # the first item's cluster, of m
            terms = np.where(m <= n, share + parts[K - 1][np.maximum(n - m, 0)], -np.inf)
            parts[K, 1:] = np.logaddexp.reduce(terms, axis=1) - np.log(n[:, 0])
        return parts

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        return self.log_number[K]

    cdef double new_weight(self, Py_ssize_t K) noexcept nogil:
        if K >= self.N or self.log_number[K + 1] == -INFINITY:
            return 0.0
        if K == 0:
            return 1.0
        return exp(self.log_number[K + 1] - self.log_number[K] + self.log_size[1])
