"""Base of mixtures of normal distributions, whether their points are dense or sparse: the prior's options, and the
factors of a likelihood and of a predictive that depend on a cluster's size alone.

(Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", for the marginal likelihoods.)
"""
from libc.math cimport M_PI, lgamma, log

import numpy as np
import scipy.sparse

from splitmerge_cli.core.memory cimport doubles_of
from splitmerge_cli.kinds.tables.models.scale_prior cimport Scaled

from splitmerge_cli import priors
from splitmerge_cli.core.options import (
    Choice, Flag, Gamma, Number, Numbers, NumbersOrGamma, PositiveOrGamma, Resolution, read_options,
)
from splitmerge_cli.core.shared import share
from splitmerge_cli.kinds.tables.models.real_columns import prior_options, resolutions_of, settle_resolution

COVARIANCES = ("diag", "iso", "full")
HIERARCHICAL = Gamma(0.5, 0.5)
"""Priors that the word stands for, b0 in units of the data's variance; chosen by held-out density (decision 17)."""


RESOLUTION = Resolution("resolution", "auto", "the step to which real columns are recorded, a number or one per column,"
                        " 0: none; auto: found in each column of a table of your own, 0 where no value occurs twice",
                        later=True)
POWER = Number("power", 1.0, "exponent of the likelihood (zeta of the coarsened posterior); 1 leaves it unchanged; "
               "smcmc run takes auto, which reads it from a calibration curve", least=1e-6, most=1.0, later=True)
"""Option of conjugate models whose likelihood is a product over items given the parameters of their cluster."""
TAILS = Choice("tails", "normal", "t: clusters have Student's t tails, by a weight for each row; the degrees of "
               "freedom are resampled", choices=("normal", "t"), later=True)
SELECT = Flag("select", False, "covariance=diag: a column may be the same in all clusters; which ones are is part "
              "of the posterior", later=True)


def _tables(cls, Py_ssize_t N, Py_ssize_t D, covariance, kappa0, a0, log_b0, log_units, zeta):
    """Tables of the factors that depend on a cluster's size alone, from 0 to N + 1 items."""
    cdef Py_ssize_t n
    cdef Normal m = cls.__new__(cls)
    cdef double[::1] inverse = np.zeros(N + 2), log_c = np.empty(N + 2), log_n = np.empty(N + 2)
    m._options(N, D, covariance, kappa0, a0, zeta)
    m.log_b0, m.log_units = log_b0, log_units
    for n in range(N + 2):
        inverse[n] = 1.0 / n if n else 0.0
        log_c[n] = m.predictive_constant(n, zeta)
        log_n[n] = m.likelihood_constant(n) - m.likelihood_constant(0) - zeta * n * m.log_units
    return {"inverse": np.asarray(inverse), "log_c": np.asarray(log_c), "log_n": np.asarray(log_n)}


cdef class Normal(Scaled):
    """A mixture of normal distributions; an abstract class.

    A model calls ``_options`` first, then ``_allocate`` and ``_set_prior``, and ``_constants`` when log_units and
    log_b0 are known.
    """

    kind = "points"
    OPTIONS = (
        *priors.OPTIONS,
        Choice("covariance", "diag", "diag: a variance per dimension; iso: one for all; full: a covariance matrix; "
               "smcmc run and sample also take auto: the one that predicts held-out rows best", choices=COVARIANCES),
        Numbers("m0", None, "prior mean of the means, a number or one per column; null: the mean of the data",
                optional=True, least=-1e100, most=1e100),
        PositiveOrGamma("kappa0", 0.1, "the prior's weight on m0, in points; gamma(shape,rate): resampled", least=1e-9,
                        most=1e9, hierarchical=HIERARCHICAL),
        Number("a0", 2.0, "shape of the variances' prior", least=1e-3, most=1e6),
        NumbersOrGamma("b0", None, "scale of the variances' prior, a number or one per column; null: a tenth of the "
                       "data's variance; gamma(shape,rate), in units of that variance: resampled", optional=True,
                       least=1e-100, most=1e100, hierarchical=HIERARCHICAL),
        RESOLUTION,
    )

    @classmethod
    def with_defaults_of(cls, data, **params):
        x = data.values
        mean = np.asarray(x.mean(axis=0), dtype=np.float64).ravel()
        if data.missing:
            cells = [x[~np.isnan(x[:, d]), d].astype(np.float64) for d in range(x.shape[1])]
            mean, variance = np.array([[of.mean(), of.var()] if of.size else [0.0, 0.0] for of in cells]).T
        elif scipy.sparse.issparse(x):
            variance = np.asarray(x.multiply(x).mean(axis=0), dtype=np.float64).ravel() - mean ** 2
        else:
            variance = x.var(axis=0, dtype=np.float64)
        params = settle_resolution(data, params)
        given = read_options("model", cls.OPTIONS, params)
        found = params | prior_options(given["covariance"], given["m0"], given["b0"], mean, variance)
        if not scipy.sparse.issparse(x):
            found["resolution"] = resolutions_of(given["resolution"], x.shape[1], x.T).tolist()
        return found

    cdef int _options(self, Py_ssize_t N, Py_ssize_t D, covariance, kappa0, a0, double zeta=1.0) except -1:
        """Keep the options of the prior on means and variances; of a power zeta kappa0 and a0 as they are over it."""
        self.zeta = zeta
        self.D, self.covariance, self.kappa0, self.a0 = D, covariance, kappa0, a0
        self.shape_of = COVARIANCES.index(covariance)
        self.per = D if self.shape_of == ISO else 1
        self.freedom = 0.5 * (D - 1) if self.shape_of == FULL else 0.0
        self.log_twos = D * log(2.0) if self.shape_of == FULL else 0.0
        self.shape0, self.n_means = zeta * self.a_n(0), D
        return 0

    cdef int _constants(self) except -1:
        """Fill what depends on a cluster's size alone."""
        by_size = share(_tables, type(self), self.total, self.D, self.covariance, self.kappa0, self.a0, self.log_b0,
                        self.log_units, self.zeta)
        self._hold(by_size)
        self.inverse = doubles_of(by_size.inverse)
        self.log_c, self.log_n = doubles_of(by_size.log_c), doubles_of(by_size.log_n)
        return 0

    cdef double predictive_constant(self, Py_ssize_t n, double step):
        """log of those predictive factors that depend on n alone, in units, the point's density to the power `step`:
        zeta in a chain, 1 where a density is reported."""
        cdef double kappa = self.zeta * (self.kappa0 + n), a = self.zeta * self.a_n(n), half = 0.5 * self.D
        cdef double shrink = half * log(kappa / (kappa + step)) - step * half * log(self.zeta), total = 0.0
        cdef Py_ssize_t d
        if self.shape_of == DIAG:
            return self.D * (lgamma(a + 0.5 * step) - lgamma(a)) - step * half * log(2.0 * M_PI) + shrink
        if self.shape_of == ISO:
            return lgamma(a + step * half) - lgamma(a) - step * half * log(2.0 * M_PI) + shrink
        if step == 1.0:
            return lgamma(a + 0.5) - lgamma(a + 0.5 - half) - half * log(M_PI) + shrink
        for d in range(self.D):
            total += lgamma(a + 0.5 * step - 0.5 * d) - lgamma(a - 0.5 * d)
        return total - step * half * log(M_PI) + shrink

    cdef double likelihood_constant(self, Py_ssize_t n):
        """log of those marginal likelihood factors that depend on n alone, in units, up to one for all n."""
        cdef double kappa = self.kappa0 + n, a = self.zeta * self.a_n(n), half = 0.5 * self.D, total
        cdef double times = self.zeta * n
        cdef Py_ssize_t d
        total = -half * log(kappa) - times * half * log(self.zeta)
        if self.shape_of == FULL:
            for d in range(self.D):
                total += lgamma(a - 0.5 * d)
            # of Psi0 beside det(Psi_n / Psi0)^-a: Psi0 = 2 diag(b0)
            return total - times * half * log(M_PI) - 0.5 * times * (self.log_b0 + self.log_twos)
        if self.shape_of == ISO:
            return total + lgamma(a) - times * half * log(2.0 * M_PI) - 0.5 * times * self.log_b0
        return total + self.D * lgamma(a) - times * half * log(2.0 * M_PI) - 0.5 * times * self.log_b0
