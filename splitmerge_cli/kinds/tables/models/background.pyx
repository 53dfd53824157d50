"""A background of noise behind normal clusters: ``model.noise``, rows of no cluster, uniform over a box.

Each cluster has a kind of its own: with probability rho it is noise, its rows uniform over the box of the data, else
its rows are normal as in the model without noise. The kind is integrated out, so a cluster C of rows x_i has the
marginal likelihood

    m(C) = (1 - rho) f(C) + rho u(C),        u(C) = prod_{i in C} 1 / V_i

with f the likelihood of the normal model and V_i the volume of the box in the columns that row i has. It is a product
over clusters again, and the predictive of one more row is the mixture of both by the posterior odds of the kind,

    p(x | C) = P(normal | C) f(x | C) + P(noise | C) / V,        P(noise | C) = rho u(C) / m(C)

so every sampler of the partition is exact as it stands. Under the Chinese restaurant process (a Dirichlet process whose
base measure has an atom of weight rho at the noise) the share of noise is Beta(alpha rho, alpha (1 - rho)) a priori,
and what is no noise is a Chinese restaurant process of concentration alpha (1 - rho): docs/derivations.md, "A
background of noise". (Banfield and Raftery 1993; Coretto and Hennig 2016, both with one share for one uniform
component.)

``Background`` holds a model without noise, whose columns follow its own; ``TableBackground`` a table of several types.
There noise is uniform over the levels of a discrete column, and over the whole numbers of the box of a column of
counts: a box of half a step more on each side has the volume that their number is.
"""
from libc.math cimport INFINITY, exp, ldexp, log, log1p
from libc.stdint cimport int64_t

import numpy as np

from splitmerge_cli.core.memory cimport longs_of
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport ROOM, STALE, WHOLES
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian
from splitmerge_cli.kinds.tables.models.mixed cimport Mixed
from splitmerge_cli.kinds.tables.models.normal cimport Normal, Scaled

from splitmerge_cli.core.checks import Rows
from splitmerge_cli.core.options import read_options
from splitmerge_cli.core.shared import Prepared
from splitmerge_cli.data.values import is_sparse
from splitmerge_cli.kinds.tables.models.mixed_cells import APART, box_of_table, spikes_of, types_of
from splitmerge_cli.kinds.tables.models.normal import NOISE
from splitmerge_cli.kinds.tables.models.real_columns import box_of

cdef extern from "simd_math.h":
    pass

cdef extern from "fixed_point.h":
    ctypedef long long whole            # of 128 bits
    double whole_double(whole v) noexcept nogil

cdef extern from *:
    """
    /* power = log(exp(level + rest + power of the normal model) + exp(noise + area)) */
    static inline void mix_noise(const double *normal, const double *level, double rest, const double *noise,
                                 double area, double *power)
    {
        EACH_LANE(h) {
            const lanes x = LANES_AT(level + h) + (LANES_AT(normal + h) + rest), y = LANES_AT(noise + h) + area;
            const ilanes above = x > y;
            const lanes top = (lanes)(((ilanes)x & above) | ((ilanes)y & ~above));
            const lanes less = (lanes)(((ilanes)y & above) | ((ilanes)x & ~above)) - top;
            LANES_TO(power + h) = top + lanes_log(1.0 + lanes_exp(less));
        }
    }
    """
    void mix_noise(const double *normal, const double *level, double rest, const double *noise, double area,
                   double *power) noexcept nogil

# logarithms of a row's density as noise are multiples of 2^-49, whose sums are exact
cdef int FRACTION = 49
OUTSIDE = -1e4
"""Such a logarithm for a row outside of a box that is given."""


cdef inline double log_sum_of(whole areas) noexcept nogil:
    return ldexp(whole_double(areas), -FRACTION)


cdef inline double log_sum(double a, double b) noexcept nogil:
    return max(a, b) + log1p(exp(-abs(a - b)))


def log_noise_of(rows, box):
    """Log density of rows as noise, shape (n,); -inf outside of the box."""
    is_outside = ((rows < box[0]) | (rows > box[1])).any(axis=1)
    return np.where(is_outside, -INFINITY, np.where(np.isnan(rows), 0.0, -np.log(box[1] - box[0])).sum(axis=1))


def share_of(options, values, *problems):
    """The options of a background, which are taken out of `options`: `noise` and `box`. A ValueError where one is asked
    for, and one of the `problems` says that the model takes none: whether it has it, what it is, what is expected."""
    given = read_options("model", NOISE, {option.name: options.pop(option.name, option.default) for option in NOISE})
    for has, problem, expected in (
        (is_sparse(values), "the points are sparse", "dense points"),
        (isinstance(values, Rows), "the rows are in shards", "rows in one place"),
        *problems,
    ):
        if given["noise"] and has:
            raise ValueError(f"model.noise={given['noise']:g}: {problem}; expected {expected}, or model.noise=0")
    return given["noise"], given["box"]


def add_to_points(make, values, known, options):
    """The model that `make` makes of the options, with a background of noise if they ask for one."""
    share, box = share_of(
        options, values, (options.get("select"), "model.select=true", "model.select=false"),
        (options.get("tails") == "t", "model.tails=t, which describes rows far away, too", "model.tails=normal"))
    inner = make(values, known=known, **options)
    if not share:
        return inner
    points = np.asarray(values)
    return Background(inner, points, box_of(points[:known], box, options.get("resolution", "none")), share)


def add_to_table(make, values, types, known, options):
    """The table of several types that `make` makes of the options, with a background of noise."""
    kinds, levels = types_of(values, types)
    is_full = options.get("covariance") == "full" and kinds.count("real") > 1
    absent = is_full and np.isnan(values[:, [kind == "real" for kind in kinds]]).any()
    spikes = zip(kinds, spikes_of(kinds, types), strict=True)
    has_spikes = options.get("zeros") == APART and any(kind == "real" and spike is not None for kind, spike in spikes)
    share, box = share_of(
        options, values, (options.get("select"), "model.select=true", "model.select=false"),
        (options.get("tails") == "t", "model.tails=t, which describes rows far away, too", "model.tails=normal"),
        (options.get("outcome") is not None, "model.outcome, which noise has no effects on", "no model.outcome"),
        (absent, "model.covariance=full, and cells of real columns are missing", "model.covariance=diag"),
        (has_spikes, "model.zeros=apart of real columns, which noise has a density in", "model.zeros=poisson"))
    inner = make(values, types, known, **options)
    ends = box_of_table(values[:known], kinds, levels, box, options.get("resolution", "none"))
    return TableBackground(inner, values, ends, share)


cdef class Background(Scaled):
    """Mixture of normal clusters and a uniform background.

    `inner`: the model without noise, of dense points; `values`: the rows,
    float of shape (N, D), NaN where a cell is missing; `box`: float of shape (2, D); `rho`: the option ``noise``.

    Cost: as of the model without noise, and a logarithm and an exponential for each cluster that a row is scored
    against. Memory: 8 bytes a row more.
    """

    kind = "points"
    READS_MISSING = True
    OPTIONS = DenseGaussian.OPTIONS

    cdef Scaled inner
    cdef DenseGaussian points           # `inner`, where it has dense points
    cdef Mixed cells                    # `inner`, where it has columns of several types
    cdef readonly double zeta
    cdef double log_normal, log_noise   # log prior probabilities of the kinds
    cdef object values
    cdef readonly object box            # [2, D] lowest and highest value of each column
    cdef const int64_t *area            # [N] log density of a row as noise, to the power
    cdef whole *areas                   # [cap] sum over a cluster
    cdef double *odds                   # [cap] log odds that a cluster is normal
    cdef double *noise                  # [cap] log P(noise | C)

    def __init__(self, Scaled inner not None, values, box, double rho):
        self.inner, self.values, self.box = inner, values, box
        self.log_normal, self.log_noise = log1p(-rho), log(rho)
        if isinstance(inner, DenseGaussian):
            self.points, self.zeta = inner, (<Normal> inner).zeta
        else:
            self.cells, self.zeta = inner, (<Mixed> inner).zeta
        self.kappa0, self.a0, self.vectors = inner.kappa0, inner.a0, inner.vectors
        self.scale_prior, self.shape0, self.n_means = inner.scale_prior, inner.shape0, inner.n_means
        areas = self.zeta * np.maximum(log_noise_of(values, box), OUTSIDE)
        held = Prepared({"area": np.rint(np.ldexp(areas, FRACTION)).astype(np.int64)})
        self._hold(held)
        self.area = longs_of(held.area)
        self.keep(&self.areas, WHOLES)
        self.keep(&self.power, ROOM)
        self.keep(&self.odds, ROOM)
        self.keep(&self.level, ROOM)
        self.keep(&self.noise, ROOM)
        self.keep(&self.stale, STALE)
        self._allocate(inner.N, inner.total)
        self._set_prior(inner.prior)
        self._start()

    @property
    def why_not_added(self):
        """str: as of the model without noise."""
        return self.inner.why_not_added

    # -- statistics
    cdef int grow(self, Py_ssize_t cap) except -1:
        self.inner._reserve(cap - 3)
        return Scaled.grow(self, cap)

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        Scaled.clear(self, k)
        self.inner.scratch(k)

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        self.areas[k] += sign * self.area[i]
        if sign > 0:
            self.inner.join(i, k)
        else:
            self.inner.leave(i, k)

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        Scaled.copy(self, src, dst)
        self.inner.copy_column(src, dst)

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        Scaled.absorb(self, dst, src, sign)
        self.inner.absorb_column(dst, src, sign)

    # -- kinds of clusters
    cdef double log_odds_normal(self, Py_ssize_t k) noexcept nogil:
        """Log posterior odds that cluster k is normal."""
        return (self.log_normal + self.inner.cluster_log_lik(k)) - (self.log_noise + log_sum_of(self.areas[k]))

    cdef double log_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef double normal = self.inner.cluster_log_lik(a) if b < 0 else self.inner.log_union(a, b)
        cdef whole areas = self.areas[a]
        if b >= 0:
            areas += self.areas[b]
        return log_sum(self.log_normal + normal, self.log_noise + log_sum_of(areas))

    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        self.stale[k] = False
        if self.inner.stale[k]:
            self.inner.settle(k)
        self.odds[k] = self.log_odds_normal(k)
        self.level[k], self.noise[k] = -log1p(exp(-self.odds[k])), -log1p(exp(self.odds[k]))

    # -- probabilities
    cdef double log_rest(self, Py_ssize_t i) noexcept nogil:
        """The part of row i's log predictive that the model without noise leaves out of its scores."""
        return self.cells.log_rest(i) if self.points is None else -self.zeta * self.points.log_units_of(i)

    cdef void score(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        cdef double area = ldexp(<double> self.area[i], -FRACTION), normal, odds
        self.inner.score(i, block, own)
        mix_noise(self.inner.power + block, self.level + block, self.log_rest(i), self.noise + block, area,
                  self.power + block)
        if own >= 0:
            # the odds of the kind are those without the row
            normal = self.inner.power[own] + self.log_rest(i)
            odds = self.odds[own] - (normal - area)
            self.power[own] = log_sum(normal - log1p(exp(-odds)), area - log1p(exp(odds)))

    # -- b0 and kappa0 resampled
    cdef void draw_cluster(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """Draw the kind of cluster k. Noise has no means and variances: an empty cluster's are drawn."""
        cdef double odds = self.log_odds_normal(k)
        if not rng.draw_coin(1.0 / (1.0 + exp(-odds))):
            k = self.K
            self.scratch(k)
        self.inner.draw_cluster(rng, k)

    cdef void scales_changed(self) noexcept nogil:
        self.inner.scales_changed()
        self.kappa0 = self.inner.kappa0
        self.forget_scores()

    # -- the background
    @property
    def noise_probabilities(self):
        """ndarray of float64, shape (K,): posterior probability that each cluster is noise, given its rows."""
        from scipy.special import expit  # normal clusters alone do without

        return expit([-self.log_odds_normal(k) for k in range(self.K)])

    @property
    def log_uniform(self):
        """ndarray of float64, shape (N,): log density of each row as noise."""
        return log_noise_of(np.asarray(self.values, dtype=np.float64), self.box)

    # -- densities of items
    def log_densities(self, Py_ssize_t first):
        """As of the model without noise, and in the box as noise: the density itself under a power."""
        from scipy.special import log_expit  # normal clusters alone do without

        cdef Py_ssize_t k, n = self.K - 1
        rows = np.asarray(self.values[first:], dtype=np.float64)
        self.begin_scan()
        self.inner.K = self.K
        normal = self.inner.log_densities(first)
        # the last of the clusters are the new items; behind it stands an empty column
        odds = np.array([self.log_odds_normal(k if k < n else self.K) for k in range(self.K)])
        return np.logaddexp(normal + log_expit(odds), log_noise_of(rows, self.box)[:, None] + log_expit(-odds))


cdef class TableBackground(Background):
    """`Background` of a table with columns of several types; `values`: as a `Mixed` reads them."""

    kind = "mixed"
    OPTIONS = Mixed.OPTIONS
