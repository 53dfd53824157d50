"""Gamma priors of the scales b0 of the variances' prior and of the weight kappa0 of the means' prior.

    b0_d ~ Gamma(shape, rate / s_d),  s_d the variance of column d of the data;        kappa0 ~ Gamma(shape, rate)

(Richardson and Green 1997, section 2.2, for b0; they fix the means' prior.) Given the means and variances of all
clusters both are gamma again (docs/derivations.md, "Scales with a gamma prior"):

    b0_d | . ~ Gamma(shape + K a, rate / s_d + sum_k p_kd),        kappa0 | . ~ Gamma(shape + K D / 2, rate + Q / 2)

with a = a0 (full: a0 + (D - 1) / 2), p_kd the precision of column d in cluster k (full: entry d, d of the inverse
covariance matrix; iso: of all columns) and Q the sum over clusters of (mu_k - m0)' S_k^-1 (mu_k - m0). The model
draws means and variances given the partition, adds them up here, and forgets them: they stay integrated out of all
else.
"""
cimport cython
from libc.math cimport exp, lgamma, log
from libc.stdint cimport int32_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memset

import numpy as np

from splitmerge_cli.core.memory cimport doubles, doubles_of
from splitmerge_cli.core.model cimport Model

from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.core.options import Gamma

LEAST_SCALE, MOST_SCALE = 1e-10, 1e10
"""b0 is between these multiples of the variance of its column: beyond the first, clusters of equal points have no
digits left to compare."""
# range of kappa0
cdef double LEAST_WEIGHT = 1e-9, MOST_WEIGHT = 1e9


def start_value(value, double least, double most):
    """Starting value of a chain: the value itself, or the mean of its `Gamma`, within the range."""
    return min(max(value.mean, least), most) if isinstance(value, Gamma) else value


@cython.final
cdef class ScalePrior:
    """Present values of b0 and kappa0, of which one at least is resampled, and their priors. `b0`: prior of b0_d over
    `unit`, a `Gamma`, or None: b0 is fixed; `kappa0`: `Gamma` or float. Held, float64 of shape (n,): `start`, b0 at the
    start, and `unit`, variances of the columns, in units^2; `square`, the squares of the columns' units, powers of two.
    `log_unit`: sum of the logs of `unit` in the data's units; `least`: least multiple of `unit` that b0 may be.

    The priors are cut off outside their ranges: a draw beyond them is a rejected proposal, and the value stays.
    """

    def __init__(self, b0, kappa0, start, unit, square, double log_unit, double least):
        cdef Py_ssize_t d
        cdef const double[::1] begin = start
        self.n, self.log_unit, self.least, self.most = len(start), log_unit, least, MOST_SCALE
        self.held = unit, square
        self.unit = doubles_of(unit)
        self.b0, self.precision = doubles(self.n), doubles(self.n)
        for d in range(self.n):
            self.b0[d] = begin[d]
        self.of_b0, self.of_kappa0 = isinstance(b0, Gamma), isinstance(kappa0, Gamma)
        if self.of_b0:
            self.b0_shape, self.b0_rate = b0.shape, b0.rate
        if self.of_kappa0:
            self.kappa0_shape, self.kappa0_rate = kappa0.shape, kappa0.rate
        self.kappa0 = start_value(kappa0, LEAST_WEIGHT, MOST_WEIGHT)

    def __dealloc__(self):
        free(self.b0)
        free(self.precision)

    cdef void begin(self) noexcept nogil:
        """Start the sums over clusters."""
        memset(self.precision, 0, self.n * sizeof(double))
        self.distance = 0.0

    cdef void draw(self, Rng rng, double shapes, double means) noexcept nogil:
        """Draw the scales, column by column, then kappa0, given the sums.

        `shapes`: K times the shape of one variance's prior; `means`: K D.
        """
        cdef Py_ssize_t d
        cdef double value
        if self.of_b0:
            for d in range(self.n):
                value = rng.draw_gamma_of(self.b0_shape + shapes, self.b0_rate / self.unit[d] + self.precision[d])
                if self.least * self.unit[d] <= value <= self.most * self.unit[d]:
                    self.b0[d] = value
        if self.of_kappa0:
            value = rng.draw_gamma_of(self.kappa0_shape + 0.5 * means, self.kappa0_rate + 0.5 * self.distance)
            if LEAST_WEIGHT <= value <= MOST_WEIGHT:
                self.kappa0 = value

    cdef bint equals(self, ScalePrior other) noexcept nogil:
        """Whether the present values are the same."""
        return self.kappa0 == other.kappa0 and not memcmp(self.b0, other.b0, self.n * sizeof(double))

    cdef double log_density(self) noexcept nogil:
        """log prior density of the present values, b0 in the data's units; up to what the cut leaves out."""
        cdef Py_ssize_t d
        cdef double total = 0.0, value
        if self.of_b0:
            total = self.n * (self.b0_shape * log(self.b0_rate) - lgamma(self.b0_shape)) - self.log_unit
            for d in range(self.n):
                value = self.b0[d] / self.unit[d]
                total += (self.b0_shape - 1.0) * log(value) - self.b0_rate * value
        if self.of_kappa0:
            total += (self.kappa0_shape * log(self.kappa0_rate) - lgamma(self.kappa0_shape)
                      + (self.kappa0_shape - 1.0) * log(self.kappa0) - self.kappa0_rate * self.kappa0)
        return total

    cdef double geometric_mean(self) noexcept nogil:
        """Geometric mean of the scales, each over the variance of its column."""
        cdef Py_ssize_t d
        cdef double total = 0.0
        for d in range(self.n):
            total += log(self.b0[d] / self.unit[d])
        return exp(total / self.n)

    @property
    def names(self):
        """tuple of str: what is resampled."""
        return ("b0",) * self.of_b0 + ("kappa0",) * self.of_kappa0

    @property
    def values(self):
        """ndarray of float64: present values of what is resampled, the scales in the data's units, then kappa0; a copy.
        What they are multiplied with are powers of two, so no bit is lost."""
        scales = [self.b0[d] * self.held[1][d] for d in range(self.n)] if self.of_b0 else []
        return np.array([*scales, *([self.kappa0] if self.of_kappa0 else [])])

    def set_values(self, values):
        """Set what is resampled, as ``values`` gives it. A ValueError for another number of values, or one that is not
        finite and positive."""
        cdef Py_ssize_t d, wanted = self.n * self.of_b0 + self.of_kappa0
        given = as_numbers("parameters", values, wanted)
        # whatever a chain may visit: a draw has the range of its own data
        if not (np.isfinite(given) & (given > 0.0)).all():
            raise ValueError(f"parameters: expected finite positive numbers, got {given}")
        if self.of_b0:
            given = given / np.append(self.held[1], [1.0] * self.of_kappa0)
        cdef const double[::1] v = given
        if self.of_b0:
            for d in range(self.n):
                self.b0[d] = v[d]
        if self.of_kappa0:
            self.kappa0 = v[wanted - 1]


cdef class Scaled(Model):
    """A mixture of normal variables whose b0 and kappa0 may have gamma priors; an abstract class.

    A model sets ``scale_prior``, ``shape0`` and ``n_means``, and supplies ``draw_cluster`` and ``scales_changed``.
    """

    cdef void draw_cluster(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """Draw means and variances of cluster k given its items, and add them to the sums of the ``scale_prior``."""
        pass

    cdef void scales_changed(self) noexcept nogil:
        """Take over b0 and kappa0 of the ``scale_prior``, and set all that depends on them."""
        pass

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """Draw means and variances of all clusters, b0 and kappa0 given these, and forget the former."""
        cdef Py_ssize_t t
        self.scale_prior.begin()
        rng.begin_clusters(self.name, self.K)
        for t in range(self.K):
            self.draw_cluster(rng, rng.cluster_in_turn(self.name, t))
        rng.end_clusters()
        self.scale_prior.draw(rng, self.K * self.shape0, <double> self.K * self.n_means)
        self.scales_changed()
        return self.K

    cdef void weights_changed(self) noexcept nogil:
        """Set all that depends on the weights of rows."""
        pass

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        return ((self.weights is None or self.weights.equals((<Scaled> other).weights))
                and (self.scale_prior is None or self.scale_prior.equals((<Scaled> other).scale_prior)))

    @property
    def row_weights(self):
        """ndarray of float64, shape (N,): present weights of the rows, 1 with normal tails; a copy."""
        return np.ones(self.N) if self.weights is None else self.weights.values[1:]

    @property
    def hyperparameters(self):
        """tuple of str: the prior's, b0 and kappa0 if they are resampled, and nu, the degrees of freedom, with
        ``tails=t``. The value of b0 is the geometric mean over columns, each over the variance of its column."""
        return (*self.prior.hyperparameters, *(() if self.scale_prior is None else self.scale_prior.names),
                *(() if self.weights is None else ("nu",)))

    cdef Py_ssize_t write_hyperparameters(self, double *out) noexcept nogil:
        cdef Py_ssize_t t = Model.write_hyperparameters(self, out)
        if self.scale_prior is not None and self.scale_prior.of_b0:
            out[t] = self.scale_prior.geometric_mean()
            t += 1
        if self.scale_prior is not None and self.scale_prior.of_kappa0:
            out[t] = self.scale_prior.kappa0
            t += 1
        if self.weights is not None:
            out[t] = self.weights.nu
            t += 1
        return t

    cdef double log_extra(self) noexcept nogil:
        cdef double total = Model.log_extra(self)
        if self.scale_prior is not None:
            total += self.scale_prior.log_density()
        if self.weights is not None:
            total += self.weights.log_density()
        return total

    @property
    def parameters(self):
        """ndarray of float64, shape (P, 1): the scales b0 in the order of the columns (iso: one), kappa0, those that
        are resampled; with ``tails=t`` nu and the weights of rows. None without any."""
        held = [part.values for part in (self.scale_prior, self.weights) if part is not None]
        return np.concatenate(held)[:, None] if held else None

    def set_parameters(self, values):
        """Set what ``parameters`` gives. A ValueError for another number of values, one out of range, or where nothing
        is resampled."""
        if self.scale_prior is None and self.weights is None:
            raise ValueError(f"model {type(self).__name__} keeps no parameters: b0 and kappa0 are fixed")
        scales = values
        if self.weights is not None:
            given = as_numbers("parameters", values).reshape(-1)
            n = 0 if self.scale_prior is None else len(self.scale_prior.values)
            self.weights.set_values(given[n:])
            scales = given[:n]
        if self.scale_prior is not None:
            self.scale_prior.set_values(scales)
            self.scales_changed()
        if self.weights is not None:
            self.weights_changed()
