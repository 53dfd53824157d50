"""Mixture of finite mixtures: a prior of the number of components, and weights that are Dirichlet given it.

    p(z) = V_N(K) prod_k Gamma(n_k + gamma) / Gamma(gamma)
    V_N(K) = sum_{m >= K} p(m) m! / (m - K)! Gamma(gamma m) / Gamma(gamma m + N)

with m components, each of the weights' Dirichlet parameter gamma (``model.concentration``), of which K have items.
Source: Miller and Harrison (2018), section 3; Frühwirth-Schnatter et al. (2021), section 2. How the sum is computed and
its rest bounded: docs/derivations.md.
"""
from libc.math cimport INFINITY, NAN, exp, fabs, isnan, lgamma, log, log1p
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from functools import cache
from types import SimpleNamespace

import numpy as np

from splitmerge_cli.core.memory cimport doubles
from splitmerge_cli.core.prior cimport Prior
from splitmerge_cli.core.rng cimport Rng

from splitmerge_cli.core.checks import check_positive
from splitmerge_cli.core.hyperpriors import CountPriorOption
from splitmerge_cli.core.hyperpriors import draw_hyperparameter, log_density as log_hyperprior, to_line
from splitmerge_cli.core.options import Gamma
from splitmerge_cli.core.shared import share

cdef enum:
    POISSON, GEOMETRIC, BNB, UNIFORM
    # components beyond K whose terms are added one by one; farther out the sum is an integral with corrections
    DIRECT = 2000
    NODES = 16

DISTRIBUTIONS = {"poisson": POISSON, "geometric": GEOMETRIC, "bnb": BNB, "uniform": UNIFORM}

# log of the share of the sum that may be left out
cdef double REST = -40.0

cdef double[NODES] node
cdef double[NODES] node_weight
for _t, (_x, _w) in enumerate(zip(*np.polynomial.legendre.leggauss(NODES))):
    node[_t], node_weight[_t] = _x, _w


cdef inline double stirling_rest(double x) noexcept nogil:
    """log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2, for x >= 16."""
    cdef double y = 1.0 / (x * x)
    return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y / 1188)))) / x


cdef double log_gamma_rise(double a, double n) noexcept nogil:
    """log Gamma(a + n) - log Gamma(a) for positive a and a + n, to the digits of the difference."""
    cdef double product = 1.0
    if n == 0.0:
        return 0.0
    while a < 16.0 or a + n < 16.0:
        product *= a / (a + n)
        a += 1.0
    return (n * log(a + n) + (a - 0.5) * log1p(n / a) - n + stirling_rest(a + n) - stirling_rest(a) + log(product))


cdef struct Sum:
    double top          # total is in units of its exponential
    double total


cdef inline void add(Sum *s, double log_term, double factor) noexcept nogil:
    if log_term > s.top:
        s.total = s.total * exp(s.top - log_term) + factor
        s.top = log_term
    elif log_term > -INFINITY:
        s.total += factor * exp(log_term - s.top)


def _tables(Py_ssize_t N, double gamma):
    """Weights and log factors of clusters with 0 to N + 1 items."""
    cdef Py_ssize_t n
    cdef double[::1] log_size = np.zeros(N + 2)
    for n in range(1, N + 2):
        log_size[n] = log_gamma_rise(gamma, n)
    weight = np.arange(N + 2, dtype=np.float64)
    weight[1:] += gamma
    return {"weight": weight, "log_size": np.asarray(log_size)}


@cache
def _sum_in_plain_order(distribution, K, N, gamma):
    """log V_N(K) by another hand: 20,000 terms as products, and the rest of a heavy tail by Gauss's rule."""
    m = np.arange(K, K + 20_000, dtype=float)
    terms = distribution.log_probabilities(K + 20_000 - 1)[K - 1:]
    if distribution.distribution == "bnb":
        # of log m, in 500 intervals of the length 1
        nodes, shares = np.polynomial.legendre.leggauss(8)
        places = np.log(K + 20_000 - 0.5) + np.add.outer(np.arange(500), 0.5 * (nodes + 1.0)).ravel()
        m = np.r_[m, np.exp(places)]
        terms = np.r_[terms, distribution.log_probability(np.exp(places)) + np.log(np.tile(0.5 * shares, 500)) + places]
    for t in range(K):
        terms = terms + np.log(m - t)
    for t in range(N):
        terms = terms - np.log(gamma * m + t)
    top = terms.max()
    return top if np.isneginf(top) else top + np.log(np.exp(terms - top).sum())


cdef class MixtureOfFiniteMixtures(Prior):
    """Mixture of finite mixtures, with the Dirichlet parameter the same for all numbers of components (static).
    `concentration`: gamma, the Dirichlet parameter of a component's weight, or a `Gamma`, under which it is resampled;
    `components`: prior of their number.

    Examples
    --------
    With uniform weights of one or two components, two items are together with probability 1/2 + 1/2 * 2/3.

    >>> from splitmerge_cli.priors import specification
    >>> prior = specification("mfm(components=uniform(2))").build(2, 1.0)
    >>> type(prior).log_probability([2], 1.0, **dict(specification("mfm(components=uniform(2))").options)).round(12)
    np.float64(-0.182321556794)
    """

    NAME = "mfm"
    OPTIONS = (
        CountPriorOption("components", "bnb(1,4,3)", "prior of the number of components: poisson(rate) and "
                         "bnb(alpha,a,b) of all but one, geometric(share), uniform(most)"),
    )

    cdef object components              # CountPrior
    cdef int distribution
    cdef double[3] number               # of the distribution
    cdef double constant                # of its log probability
    cdef double *log_number             # [N + 2] log V_N(K) where it has been needed, else nan
    cdef object hyperprior              # Gamma of the concentration, where it is resampled

    def __init__(self, Py_ssize_t N, concentration=1.0, components="bnb(1,4,3)"):
        cdef Py_ssize_t t
        components = self.OPTIONS[0].read(components, f"model.prior={self.NAME}")
        self.components = components
        self.distribution = DISTRIBUTIONS[components.distribution]
        for t, value in enumerate(components.numbers):
            self.number[t] = value
        if self.distribution == BNB:
            alpha, a, b = components.numbers
            self.constant = lgamma(alpha + a) - lgamma(alpha) - lgamma(a) - lgamma(b) + lgamma(a + b)
        self.by_count = True
        self.log_number = doubles(N + 2)
        if isinstance(concentration, Gamma):
            self.hyperprior = concentration
            self.name_hyperparameters(("concentration",))
            self.set_tables(SimpleNamespace(**_tables(N, concentration.mean)))
            self.set(concentration.mean)
        else:
            self.set_tables(share(_tables, N, float(concentration)))
            self.set(concentration)

    def __dealloc__(self):
        free(self.log_number)

    cdef void set(self, double gamma) noexcept nogil:
        cdef Py_ssize_t k
        self.concentration = self.value[0] = gamma
        for k in range(self.N + 2):
            self.log_number[k] = NAN

    cdef int take(self, double gamma) except -1:
        """Take this concentration, and all that follows from it."""
        if gamma != self.concentration:
            for key, table in _tables(self.N, gamma).items():
                getattr(self.held, key)[:] = table
            self.set(gamma)
        return 0

    def set_value(self, str name, double value):
        """Set the present concentration; a ValueError for a value that is not positive."""
        if self.hyperprior is None or name != "concentration":
            raise ValueError(f"prior {self.NAME} resamples no {name}")
        check_positive("concentration", value)
        to_line(self.hyperprior, value)
        self.take(value)

    @property
    def present(self):
        """dict: options with which a prior without hyper-parameters to resample is this one at its present values."""
        return {"concentration": self.concentration, "components": self.components}

    # -- the number of components
    cdef double log_components(self, double m) noexcept nogil:
        """log p(m)."""
        if self.distribution == POISSON:
            return (m - 1.0) * log(self.number[0]) - self.number[0] - lgamma(m)
        if self.distribution == GEOMETRIC:
            return log(self.number[0]) + (m - 1.0) * log1p(-self.number[0])
        if self.distribution == UNIFORM:
            return -log(self.number[0]) if m <= self.number[0] else -INFINITY
        return (self.constant + log_gamma_rise(m, self.number[0] - 1.0)
                - log_gamma_rise(m - 1.0 + self.number[2], self.number[0] + self.number[1]))

    cdef double log_ways(self, double gamma, double K, double m) noexcept nogil:
        """log of h(m) = m! / (m - K)! Gamma(gamma m) / Gamma(gamma m + N)."""
        return log_gamma_rise(m - K + 1.0, K) - log_gamma_rise(gamma * m, <double> self.N)

    cdef double log_term(self, double gamma, double K, double m) noexcept nogil:
        return self.log_ways(gamma, K, m) + self.log_components(m)

    cdef double log_rest(self, double gamma, double K, double m, double ways) noexcept nogil:
        """Bound the log of all terms from m + 1 components on, where h(m) is at hand; inf without a bound.

        p(m + 1) / p(m) does not grow for Poisson and geometric, and h(m + 1) / h(m) < (m + 1) / (m + 1 - K): a
        geometric series. Once h falls it falls for ever, and the probabilities of all m sum to 1.
        """
        cdef double next_ways, ratio, bound = INFINITY
        if self.distribution == UNIFORM and m >= self.number[0]:
            return -INFINITY
        next_ways = self.log_ways(gamma, K, m + 1.0)
        if next_ways <= ways:
            bound = next_ways
        if self.distribution == POISSON or self.distribution == GEOMETRIC:
            ratio = self.number[0] / (m + 1.0) if self.distribution == POISSON else 1.0 - self.number[0]
            ratio *= (m + 2.0) / (m + 2.0 - K)
            if ratio < 1.0:
                bound = min(bound, next_ways + self.log_components(m + 1.0) - log1p(-ratio))
        return bound

    cdef double sum_components(self, double gamma, Py_ssize_t K) noexcept nogil:
        """log V_N(K)."""
        cdef Sum s
        cdef double m = K, ways
        s.top, s.total = -INFINITY, 0.0
        while m < K + DIRECT or self.distribution == UNIFORM:
            ways = self.log_ways(gamma, K, m)
            add(&s, ways + self.log_components(m), 1.0)
            if s.total == 0.0 or self.log_rest(gamma, K, m, ways) < s.top + log(s.total) + REST:
                return s.top + (log(s.total) if s.total > 0.0 else 0.0)
            m += 1.0
        self.add_tail(&s, gamma, K, m)
        return s.top + log(s.total)

    cdef void add_tail(self, Sum *s, double gamma, double K, double m) noexcept nogil:
        """Add the terms from m on, by the formula of Euler and Maclaurin: the integral over log m, half the first, and
        its odd derivatives by differences. Panels are as long as a term changes by e^4."""
        cdef double first = self.log_term(gamma, K, m), at = log(m), slope, width, x, term
        cdef double[5] near
        cdef Py_ssize_t t
        for t in range(5):
            near[t] = exp(self.log_term(gamma, K, m + t - 2.0) - first)
        add(s, first, 0.5 - (near[0] - 8.0 * near[1] + 8.0 * near[3] - near[4]) / 144.0
            + (near[4] - 2.0 * near[3] + 2.0 * near[1] - near[0]) / 1440.0)
        while at < 600.0:
            x = exp(at)
            # of a term times m
            slope = 1.0 + 1e4 * (self.log_term(gamma, K, x * (1.0 + 1e-4)) - self.log_term(gamma, K, x))
            if slope < 0.0 and self.log_term(gamma, K, x) + at - log(-slope) < s.top + log(s.total) + REST:
                return
            width = 0.5 * min(0.5, 4.0 / max(fabs(slope), 1.0))
            for t in range(NODES):
                x = at + width * (1.0 + node[t])
                term = self.log_term(gamma, K, exp(x)) + x
                add(s, term, width * node_weight[t])
            at += 2.0 * width

    # -- what every prior supplies
    cdef double log_count(self, Py_ssize_t K) noexcept nogil:
        if K < 1 or K > self.N or (self.distribution == UNIFORM and K > self.number[0]):
            return -INFINITY
        if isnan(self.log_number[K]):
            self.log_number[K] = self.sum_components(self.concentration, K)
        return self.log_number[K]

    cdef double new_weight(self, Py_ssize_t K) noexcept nogil:
        if K == 0:
            # the first item's weight is a factor of all partitions
            return 1.0
        # a sampler may take items out of more clusters than the prior allows
        if self.log_count(K + 1) == -INFINITY:
            return 0.0
        return self.concentration * exp(self.log_count(K + 1) - self.log_count(K))

    cdef double log_density(self) noexcept nogil:
        if not self.n_hyperparameters:
            return 0.0
        with gil:
            return log_hyperprior(self.hyperprior, self.concentration)

    cdef int resample(self, Rng rng, Py_ssize_t t, const int32_t *sizes, Py_ssize_t K) except -1 nogil:
        """Slice sampling (Neal 2003) of the concentration, its density being its prior times the probability of the
        partition."""
        with gil:
            self._resample(rng, [sizes[k] for k in range(K)])
        return 0

    def _resample(self, Rng rng, list sizes):
        self.take(draw_hyperparameter(self.hyperprior, self.concentration,
                                      lambda gamma: self._log_probability_at(gamma, sizes), lambda: rng.beta(1.0, 1.0)))

    def _log_probability_at(self, double gamma, list sizes):
        """log probability of a partition at another concentration."""
        cdef double total = self.sum_components(gamma, len(sizes))
        for n in sizes:
            total += log_gamma_rise(gamma, n)
        return total

    def log_numbers(self):
        """ndarray of float64, shape (N + 1,): log V_N(K) for K from 0 to N, nan for 0; all are computed."""
        return np.array([self.log_count(K) if K else np.nan for K in range(self.N + 1)])

    def draw(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int. The number of components is
        drawn, then items join one after the other, an earlier item's component or any of all."""
        cdef Py_ssize_t i
        first, second, third = self.number[0], self.number[1], self.number[2]
        if self.distribution == POISSON:
            m = 1 + int(generator.poisson(first))
        elif self.distribution == GEOMETRIC:
            m = int(generator.geometric(first))
        elif self.distribution == UNIFORM:
            m = 1 + int(generator.integers(int(first)))
        else:
            odds = generator.gamma(second) / generator.gamma(third)
            # the negative binomial as a Poisson number of gamma rate; beyond 1e15 components are as good as infinite
            m = 1 + int(generator.poisson(min(generator.gamma(first) / max(odds, 1e-300), 1e15)))
        component = np.empty(self.N, dtype=np.int64)
        for i in range(self.N):
            u = generator.random() * (i + self.concentration * m)
            component[i] = component[int(u)] if u < i else generator.integers(m)
        _, begin, labels = np.unique(component, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(begin))[labels].astype(np.int32), len(begin)

    @classmethod
    def log_probability(cls, sizes, concentration, components="bnb(1,4,3)"):
        """The number of components summed out in plain order, products written out."""
        distribution = cls.OPTIONS[0].read(components, f"model.prior={cls.NAME}")
        within = sum(np.log(concentration + t) for n in sizes for t in range(n))
        return float(_sum_in_plain_order(distribution, len(sizes), int(np.sum(sizes)), concentration) + within)
