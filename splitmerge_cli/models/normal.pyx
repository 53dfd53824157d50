"""Base of mixtures of normal distributions, whether their points are dense or sparse: the prior's options, and the
factors of a likelihood and of a predictive that depend on a cluster's size alone.

(Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", for the marginal likelihoods.)
"""
from libc.math cimport M_PI, lgamma, log

import numpy as np
import scipy.sparse

from splitmerge_cli.core.memory cimport doubles_of
from splitmerge_cli.models.scale_prior cimport Scaled

from splitmerge_cli import priors
from splitmerge_cli.core.options import (
    Choice, Gamma, Number, Numbers, NumbersOrGamma, PositiveOrGamma, Resolution, read_options,
)
from splitmerge_cli.core.shared import share
from splitmerge_cli.models.scale_prior import LEAST_SCALE, MOST_SCALE, start_value

COVARIANCES = ("diag", "iso", "full")
HIERARCHICAL = Gamma(0.5, 0.5)
"""Priors that the word stands for, b0 in units of the data's variance; chosen by held-out density (decision 17)."""


RESOLUTION = Resolution("resolution", "auto", "the step to which real columns are recorded, a number or one per column,"
                        " 0: none; auto: found in each column of a table of your own, 0 where no value occurs twice",
                        later=True)
POWER = Number("power", 1.0, "zeta of the coarsened posterior: the likelihood is raised to it, 1: as it is; smcmc run "
               "takes auto, where a calibration curve levels off", least=1e-6, most=1.0, later=True)
"""Option of conjugate models whose likelihood is a product over items given the parameters of their cluster."""
SAME = 1e-9
"""Values that differ by less of the range of their column are one value with rounding errors."""
OFF_GRID = 0.01
"""Steps between a value and the nearest one of a grid that it is on."""


def find_resolution(column):
    """The step to which the values of a column are recorded: the least difference between values that occur at least
    twice; of one such value, to its nearest neighbour. Where fewer than half of the cells are on the grid of that step,
    values that repeat are too few to show it: the least difference between any.

    Parameters
    ----------
    column : array_like of float, shape (N,)
        NaN where a cell is missing.

    Returns
    -------
    float
        0 where no value occurs twice, or all are the same: a density has no ties.

    Examples
    --------
    >>> round(find_resolution([5.1, 4.9, 4.7, 5.1, 4.9, 6.05]), 9)
    0.2
    >>> find_resolution([0.31, 0.12, 0.73])
    0.0
    >>> round(find_resolution([2.104, 2.104, 7.215, 7.215, 3.117, 4.868, 4.869, 6.542, 5.391]), 9)
    0.001
    """
    cells = np.asarray(column, dtype=np.float64)
    cells = np.sort(cells[~np.isnan(cells)])
    span = np.ptp(cells) if len(cells) > 2 else 0.0
    if span == 0.0:
        return 0.0
    begins = np.flatnonzero(np.append(True, np.diff(cells) > SAME * span))
    values, tied = cells[begins], np.diff(np.append(begins, len(cells))) > 1
    if not tied.any():
        return 0.0
    at = int(tied.argmax())
    shown = values[tied] if tied.sum() > 1 else values[max(at - 1, 0):at + 2]
    step = np.diff(shown).min()
    steps = (cells - values[at]) / step
    is_on_grid = np.abs(steps - np.rint(steps)) < OFF_GRID
    return float(step if 2 * is_on_grid.sum() >= len(cells) else np.diff(values).min())


def settle_resolution(data, params):
    """Return a model's options with the resolution that the data ask for.

    ``auto``, the default, is ``none`` for data that are not a table of the user's own. A model of an array has none
    unless it is asked for.
    """
    if params.get("resolution", "auto") != "auto":
        return params
    return params | {"resolution": "auto" if data.is_recorded else "none"}


def resolutions_of(given, Py_ssize_t D, columns, str what="columns"):
    """Resolutions of D columns, ndarray of float64, from the option; `columns`: an iterable of the cells of each,
    None where they are not at hand and ``auto`` finds none.

    Raises
    ------
    ValueError
        For another number of values.
    """
    if isinstance(given, str):
        if given == "none" or columns is None:
            return np.zeros(D)
        return np.array([find_resolution(cells) for cells in columns])
    found = np.array(given, dtype=np.float64)
    if found.shape not in ((), (D,)):
        raise ValueError(f"model.resolution: expected a number, or one for each of {D} {what}, got {given}")
    return np.broadcast_to(found, (D,)).astype(np.float64)


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
               "smcmc run and sample take auto, the one that predicts held-out rows best", choices=COVARIANCES),
        Numbers("m0", None, "prior mean of the means, a number or one per column; null: that of the data",
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
        span, centre = np.zeros_like(mean), np.zeros_like(mean)
        m0, b0 = prior_of(given["covariance"], given["m0"], given["b0"], mean, variance, span, centre)
        found = params | {"m0": m0.tolist()}
        if not scipy.sparse.issparse(x):
            found["resolution"] = resolutions_of(given["resolution"], x.shape[1], x.T).tolist()
        if isinstance(given["b0"], Gamma):
            return found | {"b0": with_unit(given["b0"], variance_of(given["covariance"], variance))}
        return found | {"b0": float(b0[0]) if given["covariance"] == "iso" else b0.tolist()}

    cdef int _options(self, Py_ssize_t N, Py_ssize_t D, covariance, kappa0, a0, double zeta=1.0) except -1:
        """Keep the options of the prior on means and variances; of a power zeta kappa0 and a0 as they are over it."""
        self.zeta = zeta
        self.D, self.covariance, self.kappa0, self.a0 = D, covariance, kappa0, a0
        self.shape_of = COVARIANCES.index(covariance)
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
            return total - times * half * log(M_PI) - 0.5 * times * (self.log_b0 + self.D * log(2.0))
        if self.shape_of == ISO:
            return total + lgamma(a) - times * half * log(2.0 * M_PI) - 0.5 * times * self.log_b0
        return total + self.D * lgamma(a) - times * half * log(2.0 * M_PI) - 0.5 * times * self.log_b0


def prior_of(str covariance, m0, b0, mean, variance, span, centre):
    """Location and scale of the prior, from the options or from the data.

    Parameters
    ----------
    covariance : str
    m0 : float, sequence of D floats, or None
        Of the configuration.
    b0 : float, sequence of D floats, Gamma, or None
        Of the configuration; a `Gamma`: the scale is that at the start.
    mean, variance, span : ndarray of float, shape (D,)
        Of the data: means from `centre`, variances, ranges.
    centre : ndarray of float, shape (D,)

    Returns
    -------
    location : ndarray of float, shape (D,)
        From the centre.
    scale : ndarray of float, shape (D,)
        iso: D times the same number.

    Raises
    ------
    ValueError
        A parameter out of range.
    """
    cdef Py_ssize_t D = len(mean)
    variance = unit_of(covariance, b0, variance)
    location = _numbers("model.m0", m0, D)
    location = mean if location is None else location - centre
    scale = None if isinstance(b0, Gamma) else _numbers("model.b0", b0, D)
    if isinstance(b0, Gamma):
        scale = start_value(b0, LEAST_SCALE, MOST_SCALE) * variance
    elif scale is None:
        scale = 0.1 * variance
    elif covariance == "iso" and np.ptp(scale) > 0.0:
        raise ValueError("model.b0: expected one number, since covariance=iso has one variance")
    least = 1e-24 * span ** 2
    if not ((scale >= 1e-100) & (scale <= 1e100)).all():
        raise ValueError(f"model.b0: expected positive numbers from 1e-100 to 1e100, got {scale.min():g}")
    if (scale < least).any():
        raise ValueError(f"model.b0: expected at least {least.max():.3g}, 1e-24 of the squared range of the data, "
                         f"got {scale.min():.3g}: less leaves no digits to compare clusters")
    if not (np.abs(location) <= 1e30).all():
        raise ValueError("model.m0: expected numbers of magnitude at most 1e30")
    return location, scale


def variance_of(str covariance, variance):
    """Units of scales, ndarray of float of shape (D,): the variances of the columns, iso their mean; of
    columns without spread 1."""
    if covariance == "iso":
        variance = np.full(len(variance), variance.mean())
    return np.where(variance == 0.0, 1.0, variance)


def unit_of(str covariance, b0, variance):
    """Units of a resampled b0, ndarray of float of shape (D,): as `variance_of` says, but where the prior
    has units of its own."""
    if isinstance(b0, Gamma) and b0.unit is not None:
        return np.array(b0.unit)
    return variance_of(covariance, variance)


def with_unit(b0, unit):
    """The prior of b0 with units of its own, so that it does not depend on the data of a model."""
    return Gamma(b0.shape, b0.rate, tuple(np.asarray(unit, dtype=np.float64).tolist()))


def _numbers(str key, value, Py_ssize_t D):
    """A number or one per column as an array of D; None stays."""
    if value is None:
        return None
    try:
        given = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty((0, 0))
    if isinstance(value, (bool, str)) or given.shape not in ((), (D,)) or not np.isfinite(given).all():
        raise ValueError(f"{key}: expected a number, or one for each of {D} columns, got {value}")
    return np.broadcast_to(given, (D,)).astype(np.float64)
