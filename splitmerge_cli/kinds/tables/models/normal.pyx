"""What mixtures with real columns share, whether these are dense, sparse, or cells of a table: weights of rows with the
tails of Student's t, gamma priors of scales, and of normal distributions the options of the prior, and the factors of a
likelihood and of a predictive that depend on a cluster's size alone.

(Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", for the marginal likelihoods.)
"""
cimport cython
from libc.math cimport M_PI, exp, ldexp, lgamma, log, rint
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memset

import numpy as np

from splitmerge_cli.core.memory cimport doubles_of
from splitmerge_cli.core.model cimport Model

from splitmerge_cli import priors
from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.core.options import (
    Choice, Flag, Gamma, Number, Numbers, NumbersOrGamma, PositiveOrGamma, Resolution, read_options,
)
from splitmerge_cli.core.shared import share
from splitmerge_cli.data.values import is_sparse, variances_of
from splitmerge_cli.kinds.tables.models.real_columns import (
    MOST_SCALE, box_of, moments_of_sparse, prior_options, resolutions_of, settle_resolution, start_value,
)

cdef extern from "simd_math.h":
    pass

cdef extern from *:
    """
    /* Sum over n squared distances d, a multiple of eight, of log(1 + d / nu). */
    static inline double sum_log_tails(const double *distance, ptrdiff_t n, double nu)
    {
        double sum[8] __attribute__((aligned(64))) = {0.0}, total = 0.0;
        const double inverse = 1.0 / nu;
        for (ptrdiff_t i = 0; i < n; i += 8)
            EACH_LANE(h)
                LANES_TO(sum + h) += lanes_log(1.0 + inverse * LANES_AT(distance + i + h));
        for (int h = 0; h < 8; h++)
            total += sum[h];
        return total;
    }

    /* The same, each logarithm times nu and the columns of its row. */
    static inline double sum_weighed_tails(const double *distance, const double *cells, ptrdiff_t n, double nu)
    {
        double sum[8] __attribute__((aligned(64))) = {0.0}, total = 0.0;
        const double inverse = 1.0 / nu;
        for (ptrdiff_t i = 0; i < n; i += 8)
            EACH_LANE(h)
                LANES_TO(sum + h) += (nu + LANES_AT(cells + i + h))
                                     * lanes_log(1.0 + inverse * LANES_AT(distance + i + h));
        for (int h = 0; h < 8; h++)
            total += sum[h];
        return total;
    }
    """
    double sum_log_tails(const double *distance, Py_ssize_t n, double nu) noexcept nogil
    double sum_weighed_tails(const double *distance, const double *cells, Py_ssize_t n, double nu) noexcept nogil

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
NOISE = (
    Number("noise", 0.0, "share of the rows that are expected to be noise, uniform over model.box: a cluster is noise "
           "with this probability; 0: none; smcmc run takes auto: 0.01 if that predicts rows better", least=0.0,
           most=0.5, later=True),
    Numbers("box", None, "model.noise: lowest and highest value of each column of numbers, one after another; null: "
            "those of the data", optional=True, least=-1e30, most=1e30, each="end of a column", later=True),
)
"""Options of a background of noise, which ``gaussian.py`` adds to a model."""
MOST_BITS = 28
"""A weight is at most 2^28 units, that is 64."""
DEGREES = 2.0 ** (0.5 * np.arange(15))
"""Degrees of freedom, of which each is as probable as the others: 1, the square root of 2, 2, ..., 128."""
START = 8.0
"""Degrees of freedom at the start; weights are then 1."""

cdef int64_t LARGEST = 1 << MOST_BITS
cdef const double *GRID = doubles_of(DEGREES)
cdef Py_ssize_t CHOICES = len(DEGREES)
# range of kappa0
cdef double LEAST_WEIGHT = 1e-9, MOST_WEIGHT = 1e9


@cython.final
cdef class RowWeights:
    """Weights of rows, by which normal clusters have the tails of Student's t: ``model.tails=t``.

        x_i | cluster k ~ N(mu_k, S_k / w_i),        w_i ~ Gamma(nu / 2, nu / 2)

    so that x_i is Student's t with nu degrees of freedom about mu_k. nu is uniform over `DEGREES`. The weights and nu
    are a part of the state. Given means and covariances of all clusters, which the model draws and forgets, nu is drawn
    with the weights integrated out, then the weights given nu (docs/derivations.md, "Heavy tails"):

        P(nu | .) ~ prod_i t(d_i; nu),        w_i | . ~ Gamma((nu + D) / 2, (nu + d_i) / 2)

    with d_i the squared distance of row i from the mean of its cluster, (x_i - mu_k)' S_k^-1 (x_i - mu_k). Where cells
    of independent columns are missing, d_i and D count the cells that row i has.

    A weight is a whole number of 2^-22, at least one and at most 2^28 of them; a draw beyond is a rejected proposal.
    Sums of weights, and of rows times weights, are sums of whole numbers.

    N rows with D columns: the first n are data; the others, new ones, keep a weight of 1.
    """

    def __init__(self, Py_ssize_t N, Py_ssize_t n, Py_ssize_t D):
        cdef Py_ssize_t i
        self.n, self.nu, self.D = n, START, D
        self.memory = Memory()
        self.parts, self.logs = <int64_t *> self.memory.doubles(N), <int64_t *> self.memory.doubles(N)
        self.weight, self.drawn = self.memory.doubles(N), self.memory.doubles(N)
        self.distance = self.memory.doubles(N + 7)
        for i in range(N):
            self.put(i, 1 << FRACTION)

    def set_cells(self, cells):
        """Take how many columns each row has: ndarray, shape (N,)."""
        cdef Py_ssize_t i
        self.cells, self.having = self.memory.doubles(len(cells) + 7), self.memory.doubles(self.D + 1)
        for i in range(len(cells)):
            self.cells[i] = cells[i]
            if i < self.n:
                self.having[<Py_ssize_t> cells[i]] += 1.0

    cdef double log_odds(self, double nu) noexcept nogil:
        """log p(nu | squared distances of all rows), up to a constant."""
        cdef Py_ssize_t m
        cdef double total = 0.0
        if self.cells == NULL:
            return (self.n * (lgamma(0.5 * (nu + self.D)) - lgamma(0.5 * nu) - 0.5 * self.D * log(nu))
                    - 0.5 * (nu + self.D) * sum_log_tails(self.distance, (self.n + 7) & ~7, nu))
        for m in range(self.D + 1):
            total += self.having[m] * (lgamma(0.5 * (nu + m)) - lgamma(0.5 * nu) - 0.5 * m * log(nu))
        return total - 0.5 * sum_weighed_tails(self.distance, self.cells, (self.n + 7) & ~7, nu)

    cdef void put(self, Py_ssize_t i, int64_t parts) noexcept nogil:
        """Set the weight of row i, in units."""
        self.parts[i], self.weight[i] = parts, ldexp(<double> parts, -FRACTION)
        self.logs[i] = <int64_t> rint(ldexp(log(self.weight[i]), LOG_FRACTION))

    cdef void draw(self, Rng rng) noexcept nogil:
        """Draw nu, then the weights, given the squared distances of all rows. Weights are 2^-22 to 64. Nu is drawn with
        weights of any size integrated out, so nu and all weights together are a proposal, rejected if a weight is out
        of range: within it the proposal's density is the target's but for a constant, and the ratio is 1. After a
        rejection each weight is proposed given nu as it is, by the same argument: whether the first proposal is
        rejected does not depend on the present nu and weights."""
        cdef double[32] odds
        cdef double top = 0.0, nu
        cdef Py_ssize_t i, t
        for t in range(CHOICES):
            odds[t] = self.log_odds(GRID[t])
            if t == 0 or odds[t] > top:
                top = odds[t]
        for t in range(CHOICES):
            odds[t] = exp(odds[t] - top)
        nu = GRID[rng.draw_categorical(odds, CHOICES)]
        if self.propose(rng, nu):
            self.nu = nu
        else:
            self.propose(rng, self.nu)
        for i in range(self.n):
            if 1.0 <= self.drawn[i] <= LARGEST:
                self.put(i, <int64_t> self.drawn[i])

    cdef bint propose(self, Rng rng, double nu) noexcept nogil:
        """Draw weights given nu; whether all are in range."""
        cdef double cells
        cdef bint are_within = True
        cdef Py_ssize_t i
        for i in range(self.n):
            cells = self.D if self.cells == NULL else self.cells[i]
            self.drawn[i] = rint(ldexp(rng.draw_gamma(0.5 * (nu + cells)) / (0.5 * (nu + self.distance[i])), FRACTION))
            are_within &= 1.0 <= self.drawn[i] <= LARGEST
        return are_within

    cdef bint equals(self, RowWeights other) noexcept nogil:
        """Whether nu and the weights are the same."""
        return self.nu == other.nu and not memcmp(self.parts, other.parts, self.n * sizeof(int64_t))

    cdef double log_density(self) noexcept nogil:
        """log prior density of nu and the weights."""
        cdef double half = 0.5 * self.nu, total = 0.0
        cdef Py_ssize_t i
        for i in range(self.n):
            total += (half - 1.0) * ldexp(<double> self.logs[i], -LOG_FRACTION) - half * self.weight[i]
        return total + self.n * (half * log(half) - lgamma(half)) - log(<double> CHOICES)

    @property
    def values(self):
        """ndarray of float64, shape (1 + n,): nu, then the weights; a copy."""
        cdef Py_ssize_t i
        return np.array([self.nu, *(self.weight[i] for i in range(self.n))])

    def set_values(self, values):
        """Set nu and the weights, as ``values`` gives them; a ValueError for what a chain cannot visit."""
        cdef Py_ssize_t i
        given = as_numbers("parameters", values, 1 + self.n)
        parts = np.rint(np.ldexp(given[1:], FRACTION))
        if given[0] not in DEGREES or not ((parts >= 1.0) & (parts <= LARGEST)).all():
            raise ValueError("parameters: expected degrees of freedom among "
                             f"{', '.join(f'{nu:.4g}' for nu in DEGREES)}, then weights from 2^-22 to 64")
        cdef const int64_t[::1] units = parts.astype(np.int64)
        self.nu = given[0]
        for i in range(self.n):
            self.put(i, units[i])


@cython.final
cdef class ScalePrior:
    """Gamma priors of the scales b0 of the variances' prior and of the weight kappa0 of the means' prior.

        b0_d ~ Gamma(shape, rate / s_d),  s_d the variance of column d of the data;        kappa0 ~ Gamma(shape, rate)

    (Richardson and Green 1997, section 2.2, for b0; they fix the means' prior.) Given the means and variances of all
    clusters both are gamma again (docs/derivations.md, "Scales with a gamma prior"):

        b0_d | . ~ Gamma(shape + K a, rate / s_d + sum_k p_kd),        kappa0 | . ~ Gamma(shape + K D / 2, rate + Q / 2)

    with a = a0 (full: a0 + (D - 1) / 2), p_kd the precision of column d in cluster k (full: entry d, d of the inverse
    covariance matrix; iso: of all columns) and Q the sum over clusters of (mu_k - m0)' S_k^-1 (mu_k - m0). The model
    draws means and variances given the partition, adds them up here, and forgets them: they stay integrated out of all
    else.

    Held are present values of b0 and kappa0, of which one at least is resampled, and their priors. `b0`: prior of b0_d
    over `unit`, a `Gamma`, or None: b0 is fixed; `kappa0`: `Gamma` or float. Held, float64 of shape (n,): `start`, b0
    at the start, and `unit`, variances of the columns, in units^2; `square`, the squares of the columns' units, powers
    of two. `log_unit`: sum of the logs of `unit` in the data's units; `least`: least multiple of `unit` that b0 may be.

    The priors are cut off outside their ranges: a draw beyond them is a rejected proposal, and the value stays.
    """

    def __init__(self, b0, kappa0, start, unit, square, double log_unit, double least):
        cdef Py_ssize_t d
        cdef const double[::1] begin = start
        self.n, self.log_unit, self.least, self.most = len(start), log_unit, least, MOST_SCALE
        self.held, self.memory = (unit, square), Memory()
        self.unit = doubles_of(unit)
        self.b0, self.precision = self.memory.doubles(self.n), self.memory.doubles(self.n)
        for d in range(self.n):
            self.b0[d] = begin[d]
        self.of_b0, self.of_kappa0 = isinstance(b0, Gamma), isinstance(kappa0, Gamma)
        if self.of_b0:
            self.b0_shape, self.b0_rate = b0.shape, b0.rate
        if self.of_kappa0:
            self.kappa0_shape, self.kappa0_rate = kappa0.shape, kappa0.rate
        self.kappa0 = start_value(kappa0, LEAST_WEIGHT, MOST_WEIGHT)

    cdef void begin(self) noexcept nogil:
        """Start the sums over clusters."""
        memset(self.precision, 0, self.n * sizeof(double))
        self.distance = 0.0

    cdef void draw(self, Rng rng, double shapes, double means) noexcept nogil:
        """Draw the scales, column by column, then kappa0, given the sums. `shapes`: K times the shape of one variance's
        prior; `means`: K D."""
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


cdef class Scaled(Blocks):
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
        if data.missing:
            cells = [x[~np.isnan(x[:, d]), d].astype(np.float64) for d in range(x.shape[1])]
            mean, variance = np.array([[of.mean(), variances_of(of)] if of.size else [0.0, 0.0] for of in cells]).T
        elif is_sparse(x):
            mean, variance = moments_of_sparse(x)[:2]
        else:
            mean, variance = x.mean(axis=0, dtype=np.float64), variances_of(x)
        params = settle_resolution(data, params)
        given = read_options("model", cls.OPTIONS, params)
        found = params | prior_options(given["covariance"], given["m0"], given["b0"], mean, variance)
        if not is_sparse(x):
            found["resolution"] = resolutions_of(given["resolution"], x.shape[1], x.T).tolist()
            if given.get("noise"):
                found["box"] = box_of(x, given["box"], found["resolution"]).T.ravel().tolist()
        return found

    def _options(self, Py_ssize_t N, Py_ssize_t D, covariance, kappa0, a0, double zeta=1.0):
        """Keep the options of the prior on means and variances; of a power zeta kappa0 and a0 as they are over it."""
        self.zeta = zeta
        self.D, self.covariance, self.kappa0, self.a0 = D, covariance, kappa0, a0
        self.shape_of = COVARIANCES.index(covariance)
        self.per = D if self.shape_of == ISO else 1
        self.freedom = 0.5 * (D - 1) if self.shape_of == FULL else 0.0
        self.log_twos = D * log(2.0) if self.shape_of == FULL else 0.0
        self.shape0, self.n_means = zeta * self.a_n(0), D

    def _constants(self):
        """Fill what depends on a cluster's size alone."""
        by_size = share(_tables, type(self), self.total, self.D, self.covariance, self.kappa0, self.a0, self.log_b0,
                        self.log_units, self.zeta)
        self._hold(by_size)
        self.inverse = doubles_of(by_size.inverse)
        self.log_c, self.log_n = doubles_of(by_size.log_c), doubles_of(by_size.log_n)

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
