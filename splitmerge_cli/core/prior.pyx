"""Priors of partitions: what an item weighs in a cluster of n others, and what a partition of these sizes weighs.

Every prior here is of the form

    p(partition) proportional to  f(K) prod_k g(n_k)

with a factor f of the number K of clusters and a factor g of the size of each: exchangeable, as all models assume. The
weight of joining a cluster of n items is g(n + 1) / g(n); the weight of a new one is f(K + 1) g(1) / f(K).

A prior of its own is one file in ``splitmerge_cli/priors``; it supports every mixture (``model.prior=NAME``). The short
way is a `TablePrior`, which needs log g and log f as two arrays, in Python.
"""
from libc.math cimport INFINITY, NAN, exp, lgamma

from functools import lru_cache
from types import SimpleNamespace

import numpy as np

from splitmerge_cli.core.log_scale cimport log_rising
from splitmerge_cli.core.memory cimport doubles_of

from splitmerge_cli.core.hyperpriors import (
    HYPERPRIORS,
    draw_hyperparameter,
    from_line,
    log_density as log_hyperprior,
    start_of,
    to_line,
)
from splitmerge_cli.core.shared import Prepared, share


cdef enum:
    # items of which TablePrior.draw counts the partitions, and of which it is checked that their probabilities sum to 1
    MOST_COUNTED = 512
    FEW = 6


def _draw_by_logs(generator, log_weights):
    """An index with probability proportional to exp(log_weights)."""
    p = np.exp(log_weights - log_weights.max())
    return int(generator.choice(len(p), p=p / p.sum()))


@lru_cache(8)
def _with_items(prior_class, N, given):
    return prior_class(N, **dict(given))


def _log_share(log_size):
    """log g(m) / (m - 1)!, m from 1 to N."""
    N = len(log_size) - 2
    return log_size[1:N + 1] - np.array([lgamma(m) for m in range(1, N + 1)])


def _log_parts(log_size):
    """[K, n]: log of 1 / n! times the sum over partitions of n items into K clusters of prod g."""
    cdef Py_ssize_t K, N = len(log_size) - 2
    parts, log_shares = np.full((N + 1, N + 1), -np.inf), _log_share(log_size)
    parts[0, 0] = 0.0
    n, m = np.ogrid[1:N + 1, 1:N + 1]
    for K in range(1, N + 1):
        # the first item's cluster, of m
        terms = np.where(m <= n, log_shares + parts[K - 1][np.maximum(n - m, 0)], -np.inf)
        parts[K, 1:] = np.logaddexp.reduce(terms, axis=1) - np.log(n[:, 0])
    return parts


cdef class Prior:
    """A prior distribution on the partitions of N items; an abstract class.

    A prior's constructor calls ``set_tables``; it supplies ``log_count`` and ``new_weight``. One with hyper-parameters
    that are resampled calls ``name_hyperparameters``, keeps their present values in ``value``, and supplies
    ``resample``, ``set_value`` and ``log_density``, too.
    """

    NAME = ""
    """Its name in ``model.prior``; empty if a model has it for itself, and of an abstract class."""
    OPTIONS = ()
    """Its options in addition to the concentration; see ``core/options.py``."""
    TAKES_CONCENTRATION = True
    """Whether it has a concentration that may be given a gamma prior."""

    def __cinit__(self, Py_ssize_t N, *args, **kwargs):
        self.N = N
        self.concentration = NAN
        self.hyperparameters = ()

    cdef int set_tables(self, tables) except -1:
        """Take ``weight`` and ``log_size`` of these arrays: what `share` prepared from options alone, or tables of its
        own, which change with hyper-parameters."""
        for name in ("weight", "log_size"):
            if getattr(tables, name).shape != (self.N + 2,):
                raise ValueError(f"prior {type(self).__name__}: {name}: expected {self.N + 2} numbers")
        self.held = tables
        self.shared = tables if isinstance(tables, Prepared) else None
        self.weight, self.log_size = doubles_of(tables.weight), doubles_of(tables.log_size)
        return 0

    cdef int name_hyperparameters(self, tuple names) except -1:
        """Say which hyper-parameters are resampled."""
        if len(names) > MAX_HYPERPARAMETERS:
            raise ValueError(f"prior {self.NAME}: more than {MAX_HYPERPARAMETERS} hyper-parameters to resample")
        self.hyperparameters, self.n_hyperparameters = names, len(names)
        return 0

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        """log f(K), up to a constant; -inf where there cannot be so many."""
        return NAN

    cdef double new_weight(self, Py_ssize_t K) noexcept nogil:
        """Linear weight of a new cluster next to K others, on the scale of ``weight``."""
        return NAN

    cdef double log_cluster_weight(self, Rng rng, Py_ssize_t n) noexcept nogil:
        """log weight of a cluster with n items: a draw, or without a generator the expected value. A prior supplies it
        (``draws_weights``) where f(K + 1) / f(K) is the same for all K, and g(n) is the n-th moment of a measure a on
        the positive numbers, g(n) = int w^n a(dw): then labels are independent given weights, each in proportion to its
        cluster's, and weights are independent given labels, of density w^n a(dw) / g(n)."""
        return NAN

    def gamma_weights(self, Py_ssize_t K):
        """Shapes (g, r) of gamma distributed weights of components, given a partition into K clusters: a cluster with n
        items has a gamma weight of shape n + g, and all components without items have one of shape r together, of which
        the next takes a share beta(1 + g, r - g), whereupon r is r - g. None if the prior has no such components."""
        return None

    cdef int resample(self, Rng rng, Py_ssize_t t, const int32_t *sizes, Py_ssize_t K) except -1 nogil:
        """Draw the t-th hyper-parameter given the sizes of the K clusters and the other hyper-parameters."""
        return 0

    cdef double log_density(self) noexcept nogil:
        """log density of the present values of the hyper-parameters that are resampled."""
        return 0.0

    @property
    def values(self):
        """dict of str to float: present values of the hyper-parameters that are resampled."""
        return {name: self.value[t] for t, name in enumerate(self.hyperparameters)}

    def set_value(self, str name, double value):
        """Set the present value of a hyper-parameter that is resampled; a ValueError for one out of range."""
        raise ValueError(f"prior {type(self).__name__} resamples no {name}")

    @property
    def present(self):
        """dict: options with which a prior without hyper-parameters to resample is this one at its present values."""
        return {"concentration": self.concentration}

    def with_items(self, N):
        """The prior of N items at the present values of the hyper-parameters: Prior."""
        return _with_items(type(self), N, tuple(sorted(self.present.items())))

    def draw(self, generator):
        """A draw from the prior by a numpy.random.Generator: (labels, K), ndarray of int32 of shape (N,) and int. One
        item after the other, by the weights: exact where their sum depends on the number of items alone."""
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
        """log probability, up to a constant, of a partition with clusters of these sizes, ndarray of int of shape (K,),
        by a formula of its own: what the enumeration of small cases goes by, so that no table or weight of the class
        proves itself. `options`: the prior's own."""
        raise TypeError(f"prior {cls.NAME} defines no log_probability: its small cases cannot be enumerated")


cdef class TablePrior(Prior):
    """A prior for partitions of N items, by two tables; `concentration` as given for the model, `options` that are its
    own as read by ``OPTIONS``.

    A subclass, which may be written in Python, defines ``tables``, which must depend on N and the options alone: the
    models of a run share what it returns.

    The concentration, or an option, whose value is a prior (``gamma(2,1)``, ``beta(1,1)``, ``poisson(3)``) is a
    hyper-parameter: it is resampled by slice sampling of its conditional density, prior times the probability of the
    partition. The tables then describe a prior whose probabilities sum to 1.

    Examples
    --------
    >>> class Uniform(TablePrior):
    ...     NAME = "uniform"
    ...     def tables(self, concentration, **options):
    ...         return np.zeros(self.N + 1), np.zeros(self.N + 1)
    """

    def __init__(self, Py_ssize_t N, concentration=1.0, **options):
        given = {"concentration": concentration, **options}
        self.hyperpriors = {name: value for name, value in given.items() if isinstance(value, HYPERPRIORS)}
        if "concentration" in self.hyperpriors and not self.TAKES_CONCENTRATION:
            raise ValueError(f"model.concentration: prior={self.NAME} has none to resample; expected a number")
        self.options = {name: start_of(value, N) if name in self.hyperpriors else value
                        for name, value in given.items()}
        self.concentration = self.options["concentration"]
        self.by_count = True
        if self.hyperpriors:
            self._check_sum()
            self.set_tables(SimpleNamespace(**type(self)._build_tables(N, *sorted(self.options.items()))))
            self.name_hyperparameters(tuple(self.hyperpriors))
            for name in self.hyperpriors:
                self.take(name, self.options[name])
        else:
            self.set_tables(share(type(self)._build_tables, N, *sorted(given.items())))
        self.log_number = doubles_of(self.held.log_number)

    def _check_sum(self):
        """Check that all partitions of a few items have a total probability of 1, at two values of the
        hyper-parameters; raise a ValueError unless they do."""
        for step in (0.0, 0.7):
            values = {name: from_line(prior, to_line(prior, start_of(prior, FEW)) + step)
                      for name, prior in self.hyperpriors.items()}
            tables = type(self)._build_tables(FEW, *sorted((self.options | values).items()))
            parts = _log_parts(tables["log_size"])
            total = np.logaddexp.reduce(tables["log_number"][1:] + parts[1:, FEW]) + lgamma(FEW + 1)
            if not abs(total) < 1e-6:
                named = " and ".join(self.hyperpriors)
                raise ValueError(f"model.prior={self.NAME}: {named}: expected a number, since the probabilities of all "
                                 "partitions by its tables do not sum to 1, as they must where it is resampled")

    @classmethod
    def _build_tables(cls, Py_ssize_t N, *options):
        """Weights and log factors from the subclass's tables, checked."""
        alone = cls.__new__(cls, N)
        given = [np.array(t, dtype=np.float64) for t in alone.tables(**dict(options))]
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

    @property
    def present(self):
        """dict: options with which a prior without hyper-parameters to resample is this one at its present values."""
        return self.options

    def log_density_of(self, sizes, concentration, **options):
        """log probability of a partition with clusters of these sizes (ndarray of int, shape (K,)) at other values of
        concentration and options: from the tables. A subclass whose hyper-parameters are resampled may supply what
        takes less time than its tables."""
        log_g, log_f = self.tables(concentration, **options)
        return log_f[len(sizes)] + np.asarray(log_g)[sizes].sum()

    def log_rise(self, double a):
        """float: log of a (a + 1) ... (a + N - 1)."""
        return log_rising(a, self.N, NULL)

    def draw(self, generator):
        """A draw from the prior, as ``Prior.draw``. Exact for up to 512 items: the number of clusters from its
        distribution, then the cluster of the first item left, one after the other. Beyond, one item after the other by
        the weights: a start of a chain."""
        cdef Py_ssize_t N = self.N, n, m, k
        if N > MOST_COUNTED:
            return Prior.draw(self, generator)
        parts, log_shares = _log_parts(self.held.log_size), _log_share(self.held.log_size)
        labels, left = np.full(N, -1, dtype=np.int32), np.arange(N)
        K = 1 + _draw_by_logs(generator, self.held.log_number[1:] + parts[1:, N])
        for k in range(K):
            n = len(left)
            # sizes of the cluster of the first item left: n - m others fill K - k - 1 clusters
            m = 1 + _draw_by_logs(generator, log_shares[:n] + parts[K - k - 1, n - 1::-1])
            others = generator.permutation(n - 1)[:m - 1] + 1
            labels[left[np.r_[0, others]]] = k
            left = np.delete(left, np.r_[0, others])
        return labels, K

    cdef int take(self, str name, double value) except -1:
        """Take this value of a hyper-parameter, and all that follows from it."""
        if value != self.options[name]:
            self.options[name] = value
            for key, table in type(self)._build_tables(self.N, *sorted(self.options.items())).items():
                getattr(self.held, key)[:] = table
        self.value[self.hyperparameters.index(name)] = value
        self.concentration = self.options["concentration"]
        self.log_hyper = sum(log_hyperprior(prior, self.options[key]) for key, prior in self.hyperpriors.items())
        return 0

    def set_value(self, str name, double value):
        """Set the present value of a hyper-parameter that is resampled; a ValueError for one out of range."""
        if name not in self.hyperpriors:
            raise ValueError(f"prior {self.NAME} resamples no {name}")
        to_line(self.hyperpriors[name], value)
        self.take(name, value)

    cdef int resample(self, Rng rng, Py_ssize_t t, const int32_t *sizes, Py_ssize_t K) except -1 nogil:
        with gil:
            self._resample(rng, self.hyperparameters[t], np.frombuffer((<const char *> sizes)[:4 * K], dtype=np.int32))
        return 0

    def _resample(self, Rng rng, str name, sizes):
        """Update a hyper-parameter by slice sampling, its density being its prior times the partition's probability."""
        cdef TablePrior alone = type(self).__new__(type(self), self.N)

        self.take(name, draw_hyperparameter(
            self.hyperpriors[name], self.options[name],
            lambda value: alone.log_density_of(sizes, **self.options | {name: value}), lambda: rng.beta(1.0, 1.0)))

    cdef double log_density(self) noexcept nogil:
        return self.log_hyper

    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        return self.log_number[K]

    cdef double new_weight(self, Py_ssize_t K) noexcept nogil:
        if K >= self.N or self.log_number[K + 1] == -INFINITY:
            return 0.0
        if K == 0:
            return 1.0
        return exp(self.log_number[K + 1] - self.log_number[K] + self.log_size[1])
