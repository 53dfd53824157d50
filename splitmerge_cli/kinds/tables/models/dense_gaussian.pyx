"""Mixture of normal distributions, means and covariances integrated out, an unknown number of clusters.

    diag   x_d ~ N(mu_d, v_d), v_d ~ InvGamma(a0, b0_d), mu_d | v_d ~ N(m0_d, v_d / kappa0)
    iso    the same with one v for all dimensions
    full   x ~ N(mu, S), S ~ InvWishart(nu0, Psi0), mu | S ~ N(m0, S / kappa0);  nu0 = 2 a0 + D - 1, Psi0 = 2 diag(b0)

so that all three are one model when D = 1. z ~ Chinese restaurant process, or uniform over partitions. With n points of
mean xm and scatter C about it: kappa_n = kappa0 + n, a_n = a0 + n / 2 (iso: a0 + n D / 2), nu_n = nu0 + n,

    m_n = (kappa0 m0 + n xm) / kappa_n          b_n = b0 + C / 2 + kappa0 n (xm - m0)^2 / (2 kappa_n),  Psi_n = 2 b_n

A point's predictive, and that of a point of the cluster given the others, are one form in the statistics of the whole
cluster: log p = level + degree log q, with q a product over dimensions (diag), or of one factor

    another point   q = prod 1 + g (x - m_n)^2,   g = kappa_n / (2 b_n (kappa_n + 1)),   degree = -(a_n + 1/2)
    its own point   q = prod 1 - g (kappa_n + 1) / (kappa_n - 1) (x - m_n)^2,            degree = a_n - 1/2

(Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", for the marginal likelihoods.)

A column recorded to a resolution r has the log density that a point has on average over its interval, from x - r / 2 to
x + r / 2: at most the log of the interval's probability over its length (Jensen's inequality; docs/derivations.md, "A
resolution of real columns"). With grain r^2 / 12 of each column every point adds it to the squares:

    b_n = b0 + C / 2 + n grain / 2 + ...

so that a predictive has b_n + grain / 2 where b_n stood, and the factor (b_n / (b_n + grain / 2))^(a_n + 1/2) in level.

A likelihood to the power zeta (``model.power``; Miller and Dunson 2019) has the statistics n, sum and squares times
zeta: kappa_n, a_n and b_n are zeta times their values under the prior kappa0 / zeta, a0 / zeta, b0 / zeta
(docs/derivations.md, "A power of the likelihood"). The model keeps these, so that q is what it is without a power, and
multiplies degrees and log b_n by zeta.

b0 and kappa0 are numbers, or have gamma priors (Richardson and Green 1997; ``normal.pyx``) and are resampled.

With ``model.tails=t`` a row has a weight w (``normal.pyx``), its covariance is over w. A cluster's statistics are
then weighted: W = sum of w in the place of n, but in a_n and nu_n, which count rows. A predictive has

    another point   q = prod 1 + s (x - m_n)^2 / (2 b_n),   s = w kappa_n / (kappa_n + w),   and the factor s^(D/2)
    its own point   q = prod 1 - s (x - m_n)^2 / (2 b_n),   s = w kappa_n / (kappa_n - w)

with kappa_n = kappa0 + W, and in the second line the factor (w (kappa_n - w) / kappa_n)^(D/2).

Here is what the three share; what a covariance has of its own is in ``gaussian_independent.pyx`` (diag and iso) and
``gaussian_full.pyx``.
"""
from libc.math cimport INFINITY, NAN, exp, ldexp, lgamma, log, log1p, sqrt
from libc.string cimport memcpy

import numpy as np

from splitmerge_cli.core.capabilities cimport TILE_ITEMS, DrawnParameters
from splitmerge_cli.core.memory cimport doubles_of, ints_of
from splitmerge_cli.core.sums cimport BY_COLUMN, COPIED, LONGS, ROOM, STALE, WHOLES
from splitmerge_cli.kinds.tables.models.normal cimport (
    FRACTION, ISO, LOG_FRACTION, Normal, RowWeights, Scaled, ScalePrior,
)

from splitmerge_cli.core.options import Gamma, read_options
from splitmerge_cli.core.checks import Rows
from splitmerge_cli.core.shared import Prepared, as_array, share
from splitmerge_cli.kinds.tables.models.real_columns import COLUMNS, prepare
from splitmerge_cli.kinds.tables.models.normal import NOISE, POWER, SELECT, TAILS

# options that say how the data are prepared
_OF_DATA = ("covariance", "kappa0", "m0", "b0", "resolution", "power", "a0", "tails")

cdef extern from "product_family.h":
    void score_power(const double *level, const double *degree, const double *log_q, double *power) noexcept nogil

cdef extern from *:
    """
    static inline void absorb_sums(int64_t *sum, whole *square, const int64_t *more, const whole *more_square,
                                   ptrdiff_t D, ptrdiff_t n_squares, int64_t sign)
    {
        for (ptrdiff_t d = 0; d < D; d++)
            sum[d] += sign * more[d];
        for (ptrdiff_t r = 0; r < n_squares; r++)
            square[r] += sign * more_square[r];
    }

    /* s = w kappa / (kappa + w) and level + half log s, kappa = kappa0 + weight. */
    static inline void weigh_lanes(const double *weight, const double *level, double kappa0, double w, double half,
                                   double *turn, double *weighed)
    {
        EACH_LANE(h) {
            const lanes kappa = kappa0 + LANES_AT(weight + h), s = w * kappa / (kappa + w);
            LANES_TO(turn + h) = s;
            LANES_TO(weighed + h) = LANES_AT(level + h) + half * lanes_log(s);
        }
    }
    """
    void absorb_sums(int64_t *sum, whole *square, const int64_t *more, const whole *more_square, Py_ssize_t D,
                     Py_ssize_t n_squares, int64_t sign) noexcept nogil
    void weigh_lanes(const double *weight, const double *level, double kappa0, double w, double half, double *turn,
                     double *weighed) noexcept nogil


cdef class DenseGaussian(Normal):
    """A normal mixture for dense points; an abstract class.

    A covariance supplies ``measure``, the sizes of what is kept of a cluster; ``count`` and ``moments``, its sums;
    ``posterior_with``; ``write_scatter`` and ``score_block``, what scores a point against eight clusters, and
    ``log_q_counted`` and ``log_q_of``, the same of a point that its cluster counts, and of new points.

    `x`: float of shape (N, D); float32 and float64 arrays are kept as they are. `known`: points that are data; those
    behind them are new: only ``log_predictive`` asks for them, however far they are.
    """

    SHAPE = ""
    """Its word of the option `covariance`."""
    READS_GAPS = False
    """Whether cells may be missing."""
    OPTIONS = (*Normal.OPTIONS, POWER, TAILS, SELECT, *NOISE)

    def __init__(self, x, known=None, **options):
        given = read_options("model", self.OPTIONS, {"resolution": "none"} | options | {"covariance": self.SHAPE})
        b0, kappa0, zeta = given["b0"], given["kappa0"], given["power"]
        points = x.values if isinstance(x, Rows) else as_array(x)
        how = [*(given[key] for key in _OF_DATA), self.READS_GAPS]
        if isinstance(x, Rows):
            self.total = x.total
            data = Prepared(prepare(points, *how, known, x.summary))
        else:
            data = share(prepare, points, *how, known)
        if data.points is not None:
            points = data.points
        cdef Py_ssize_t N = points.shape[0], n = 1 if self.SHAPE == "iso" else points.shape[1]
        self.stride = points.shape[1]
        if zeta != 1.0 and data.gaps:
            raise ValueError(f"model.power={zeta:g}: a real cell is missing; expected 1 or model.covariance=diag, or a "
                             "table without missing cells")
        if given["tails"] == "t":
            for problem, expected in (
                    (zeta != 1.0 and f"model.power={zeta:g}", "model.power=1"),
                    (data.coarse and f"model.covariance={self.SHAPE} and a column has a "
                     "resolution", "model.resolution=none"),
                    (data.gaps and f"model.covariance={self.SHAPE} and a real cell is missing",
                     "model.covariance=diag, a table without missing cells"),
                    (isinstance(x, Rows) and "the rows are in shards", "rows in one place")):
                if problem:
                    raise ValueError(f"model.tails=t: {problem}; expected {expected}, or model.tails=normal")
            self.weights = RowWeights(N, N if known is None else known, self.stride)
        if isinstance(b0, Gamma) or isinstance(kappa0, Gamma):
            self.scale_prior = ScalePrior(b0, kappa0, data.start[:n], data.unit[:n], data.square[:n], data.log_unit,
                                          data.least)
            kappa0 = self.scale_prior.kappa0
        # half of nu0 has a0 and half of D - 1
        freedom = 0.5 * (self.stride - 1) if self.SHAPE == "full" else 0.0
        a0 = given["a0"] if zeta == 1.0 else (given["a0"] + freedom) / zeta - freedom
        self._options(N, data.complete, self.SHAPE, kappa0 / zeta, a0, zeta)
        self.n_means, self.gapped = self.stride, self.stride - self.D
        self.given = None if isinstance(x, Rows) else points
        self.vectors = None if data.gaps or self.gapped else self.given
        self.measure()
        if not self.width:
            self.width = self.n_squares if self.weights is None else self.n_squares + self.D + 2
        self._hold(data)
        self._take(data)
        self._allocate(N, N)
        self._set_prior(given["prior"].build(self.total, given["concentration"]))
        self._constants()
        if self.scale_prior is not None or self.weights is not None:
            self._own_tables()
        if self.weights is not None:
            self.keep_lists()
            self._make_room()
        self._start()

    @property
    def why_not_added(self):
        """str: rows with weights of their own, or with missing cells, are a part of the state."""
        if self.weights is not None:
            return "model.tails=t: each row has a weight of its own; expected model.tails=normal"
        if getattr(self, "n_imputed", 0):
            return ("model.covariance=full: missing cells are drawn row by row; expected model.covariance=diag, or a "
                    "table without missing cells")
        return ""

    def _make_room(self):
        """Make room for what draws weights of rows."""
        self.own_parameters = self.find_capability(DrawnParameters)(self)
        self.theta = self.memory.doubles(self.own_parameters.size)
        self.draft = self.memory.doubles(self.own_parameters.work_size)
        self.tile = self.memory.doubles((self.own_parameters.tile_rows + 2) * TILE_ITEMS)

    def _take(self, data):
        """Take what ``prepare`` made, and room for the work with it."""
        cdef Py_ssize_t D = self.stride
        self.order = ints_of(data.order)
        self.x, self.middle, self.units = doubles_of(data.x), doubles_of(data.middle), doubles_of(data.units)
        self.m0, self.b0 = doubles_of(data.m0), doubles_of(data.b0)
        self.grain, self.coarse, self.grains = doubles_of(data.grain), data.coarse, data.grain.sum()
        self.log_units, self.log_b0, self.piece = data.log_units, data.log_b0, data.piece
        self.keep(&self.square, WHOLES, self.width, BY_COLUMN)
        # no pointer leads into an empty array
        self.keep(&self.sum, LONGS, max(1, self.D), BY_COLUMN)
        self.keep_blocks(self.rows, COPIED)
        self.keep(&self.gain, COPIED)
        self.keep(&self.weight, COPIED)
        self.keep(&self.log_det, COPIED)
        self.keep(&self.stale_own, STALE)
        if self.coarse:
            self.keep(&self.own_scatter, ROOM, max(D, self.n_squares), BY_COLUMN)
            self.keep(&self.own_level, ROOM)
        self.work = self.memory.doubles(8 * D)
        self.mean = self.memory.doubles(D)
        self.scatter = self.memory.doubles(max(D, self.n_squares))
        self.both_sum = <int64_t *> self.memory.doubles(D)
        self.both_square = <whole *> self.memory.doubles(2 * self.width)

    def _own_tables(self):
        """Tables that follow b0 and kappa0, from the tables of the start, which the models of a run share. With weights
        the factors of kappa_n are left to a cluster."""
        cdef Py_ssize_t n, room = self.total + 2
        cdef double half = 0.5 * self.D, kappa
        self.free_c, self.free_n = self.memory.doubles(room), self.memory.doubles(room)
        self.own_c, self.own_n = self.memory.doubles(room), self.memory.doubles(room)
        for n in range(room):
            kappa = self.kappa0 + n
            self.free_c[n] = self.log_c[n] - half * (log(kappa) - log(kappa + 1.0))
            self.free_n[n] = (self.log_n[n] + half * (log(kappa) - log(self.kappa0))
                              + 0.5 * self.zeta * n * self.log_b0)
        self.log_c, self.log_n = self.own_c, self.own_n
        if self.scale_prior is not None:
            self.b0 = self.own_b0 = self.memory.doubles(self.scale_prior.n)
        self.scales_changed()

    # -- of each covariance
    cdef void measure(self) noexcept nogil:
        """Set `n_squares`, `rows` and `step`."""
        pass

    cdef void count(self, Py_ssize_t k, const double *x, int sign) noexcept nogil:
        """Add a point to the sums of cluster k, or take it out."""
        pass

    cdef void moments(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                      double *scatter) noexcept nogil:
        """Means of n points, and their scatter about them."""
        pass

    cdef double posterior_with(self, const int64_t *sum, const whole *square, Py_ssize_t n, double times, double *mean,
                               double *scatter) noexcept nogil:
        """``posterior`` with so many times the grain, of which n points have n."""
        return NAN

    cdef void write_scatter(self, Py_ssize_t k, double *block, double shrink) noexcept nogil:
        """Put what scores a point beside the means into the lane of cluster k: from ``scatter``; `shrink`: kappa_n
        over kappa_n + 1."""
        pass

    cdef void score_block(self, const double *x, Py_ssize_t block, const double *turn, double *log_q) noexcept nogil:
        """log q of a point against the eight clusters from `block` on, and q itself in `left`. `turn` is 1, or minus
        (kappa_n + 1) / (kappa_n - 1) in the lane of the cluster that counts the point."""
        pass

    cdef double log_q_counted(self, const double *x, Py_ssize_t k, double turn) noexcept nogil:
        """log q of a point that cluster k counts, given the others; `turn`: kappa_n / (kappa_n - 1)."""
        return NAN

    cdef object log_q_of(self, off, double shrink):
        """log q of new points, `off` from the mean, which may be written over, of the posterior in ``scatter``."""
        return None

    cdef void draw_cells(self, Rng rng, Py_ssize_t k, double *theta) noexcept nogil:
        """Parameters of the columns that are scored cell by cell."""
        pass

    # -- statistics
    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        if self.weights is None:
            self.count(k, self.point(i), sign)
        else:
            self.count_row(i, k, sign)

    cdef void count_row(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        """Add a row by its weight to the sums of cluster k, or take it out."""
        count_weighted(self.squares_of(k), self.point(i), self.D, self.n_squares, self.shape_of == ISO,
                       sign * self.weights.parts[i], sign * self.weights.logs[i])

    cdef double gather(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                       double *scatter) noexcept nogil:
        """``moments`` of n points; returns how much they count: n, or their weight."""
        if self.weights is None:
            self.moments(sum, square, n, mean, scatter)
            return n
        return moments_weighted(square, self.D, self.n_squares, self.shape_of == ISO, self.work, mean, scatter)

    cdef double weight_in(self, const whole *square) noexcept nogil:
        return ldexp(whole_double(square[self.n_squares + self.D]), -FRACTION)

    cdef double kappa_of(self, Py_ssize_t k) noexcept nogil:
        """kappa_n of cluster k."""
        return self.kappa0 + (self.size[k] if self.weights is None else self.weight_in(self.squares_of(k)))

    # -- posterior of one cluster
    cdef double posterior(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                          double *scatter) noexcept nogil:
        """mean[:D]: m_n; scatter: b_n (full: the Cholesky factor of Psi_n), in units. Returns the sum over dimensions
        of log b_n (full: log det Psi_n)."""
        return self.posterior_with(sum, square, n, n, mean, scatter)

    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        """Bring what scores a point against cluster k up to date."""
        cdef Py_ssize_t d, n = self.size[k]
        cdef double *block = self.block_of(k)
        cdef double shrink = (self.kappa0 + n) / (self.kappa0 + n + 1.0), log_next = 0.0
        self.stale[k] = False
        self.stale_own[k] = True
        self.log_det[k] = self.posterior(self.sums_of(k), self.squares_of(k), n, self.mean, self.scatter)
        if self.coarse:
            # what scores another point has its grain, too
            log_next = self.posterior_with(self.sums_of(k), self.squares_of(k), n, n + 1.0, self.mean, self.scatter)
        for d in range(self.D):
            block[self.step * d] = self.mean[d]
        if self.weights is not None:
            self.weight[k] = self.weight_in(self.squares_of(k))
            # the weight of a point decides
            shrink = 1.0
        self.write_scatter(k, block, shrink)
        self.level[k] = self.log_c[n] - 0.5 * self.zeta * self.log_det[k]
        self.degree[k] = self.zeta * (-self.a_n(n) - 0.5 * self.per)
        if self.coarse:
            self.level[k] += self.degree[k] * (log_next - self.log_det[k]) / self.per

    cdef void settle_own(self, Py_ssize_t k) noexcept nogil:
        """Bring what scores a point that cluster k counts up to date: the others have one grain less."""
        cdef Py_ssize_t n = self.size[k]
        cdef double *scatter = self.own_scatter + k * max(self.D, self.n_squares)
        cdef double log_det = self.posterior_with(self.sums_of(k), self.squares_of(k), n, n - 1.0, self.mean, scatter)
        self.stale_own[k] = False
        self.own_level[k] = self.log_c[n - 1] + self.zeta * (self.a_n(n - 1) * log_det
                                                             - self.a_n(n) * self.log_det[k]) / self.per

    cdef double score_counted(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Log predictive of point i in cluster k, which counts it, given the others; left[k]."""
        cdef Py_ssize_t n = self.size[k]
        cdef double log_q
        if self.stale_own[k]:
            self.settle_own(k)
        log_q = self.log_q_counted(self.point(i), k, (self.kappa0 + n) / (self.kappa0 + n - 1.0))
        self.left[k] = exp(log_q)
        return self.own_level[k] + self.zeta * self.a_n(n - 1) * log_q

    # -- b0 and kappa0 resampled
    cdef void scales_changed(self) noexcept nogil:
        cdef Py_ssize_t n, d
        cdef double half = 0.5 * self.D, log_first, log_kappa, log_next
        if self.scale_prior is not None:
            self.kappa0 = self.scale_prior.kappa0 / self.zeta
            self.log_b0 = 0.0
            for d in range(self.scale_prior.n):
                self.own_b0[d] = self.scale_prior.b0[self.order[d]] / self.zeta
                self.log_b0 += log(self.b0[d]) if d < self.D else 0.0
            self.log_b0 *= self.per
        log_first = log_kappa = log(self.kappa0)
        for n in range(self.total + 2):
            log_next = log(self.kappa0 + n + 1.0)
            self.own_c[n] = self.free_c[n] + half * (log_kappa - log_next)
            self.own_n[n] = self.free_n[n] - half * (log_kappa - log_first) - 0.5 * self.zeta * n * self.log_b0
            if self.weights is not None:
                self.own_c[n] = self.free_c[n]
                self.own_n[n] = self.free_n[n] + half * log_first - 0.5 * n * self.log_b0
            log_kappa = log_next
        self.forget_scores()

    cdef void draw_cluster(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """For each variance the precision, then the means of its columns; means only where kappa0 is resampled."""
        cdef Py_ssize_t d, n = self.size[k]
        cdef double a = self.zeta * self.a_n(n), noise = 1.0 / sqrt(self.zeta * self.kappa_of(k)), precision = 0.0, off
        self.posterior(self.sums_of(k), self.squares_of(k), n, self.mean, self.scatter)
        for d in range(self.D):
            if d % self.per == 0:
                precision = rng.draw_gamma(a) / (self.zeta * self.scatter[d])
                self.scale_prior.count_precision(self.order[d], precision)
            if self.scale_prior.of_kappa0:
                # how far the drawn mean is from m0, in standard deviations of a point
                off = sqrt(precision) * (self.mean[d] - self.m0[d]) + noise * rng.draw_normal()
                self.scale_prior.count_distance(off)

    # -- weights of rows
    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        if self.scale_prior is not None:
            Scaled.refresh_parameters(self, rng)
        if self.weights is not None:
            self.refresh_weights(rng)
        return self.K

    cdef void refresh_weights(self, Rng rng) noexcept nogil:
        """Draw mean and covariance of each cluster given its rows, nu and all weights given these, and forget them."""
        cdef Py_ssize_t k
        self.relist()
        for k in range(self.K):
            self.measure_distances(rng, k)
        self.weights.draw(rng)
        self.weights_changed()

    cdef void measure_distances(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """Draw mean and covariance of cluster k, and set the squared distances of its rows."""
        cdef Py_ssize_t t, n
        cdef int32_t i
        cdef int32_t[TILE_ITEMS] items
        cdef double *out = self.tile + self.own_parameters.tile_rows * TILE_ITEMS
        cdef double *floor = out + TILE_ITEMS
        for t in range(TILE_ITEMS):
            floor[t] = -INFINITY
        self.own_parameters.draw_posterior(rng, k, self.theta, self.draft)
        i = self.head[k]
        while i >= 0:
            n = 0
            while i >= 0 and n < TILE_ITEMS:
                items[n] = i
                n += 1
                i = self.after[i]
            self.own_parameters.load_tile(items, n, self.tile)
            # the first number is the log of the density at the mean
            self.own_parameters.score_tile(self.tile, self.theta, 0.0, floor, out)
            for t in range(n):
                self.weights.distance[items[t]] = max(0.0, 2.0 * (self.theta[0] - out[t]))

    cdef void weights_changed(self) noexcept nogil:
        cdef Py_ssize_t i, k
        for k in range(self.K):
            self.clear(k)
            self.is_valid[k] = False
        for i in range(self.N):
            if self.z[i] >= 0:
                self.count_row(i, self.z[i], 1)

    def capability(self, kind):
        """As of every model; none where rows have weights, which the parameters of a cluster do not hold."""
        return None if self.weights is not None else Normal.capability(self, kind)

    # -- probabilities
    cdef void score_factors(self, Py_ssize_t i, Py_ssize_t block, const double *turn, double *log_q) noexcept nogil:
        self.score_block(self.point(i), block, turn, log_q)

    cdef void take_out_of(self, Py_ssize_t k, double *turn, double *level, double *degree) noexcept nogil:
        cdef Py_ssize_t n = self.size[k] - 1
        cdef double kappa = self.kappa0 + n
        turn[0], degree[0] = -(kappa + 2.0) / kappa, self.zeta * self.a_n(n)
        level[0] = self.log_c[n] - 0.5 * self.zeta * self.log_det[k]

    cdef void score(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        if self.weights is not None:
            self.score_weighted(self.point(i), self.weights.weight[i], block, own)
        else:
            Normal.score(self, i, block, -1 if self.coarse else own)
            if self.coarse and own >= 0:
                self.power[own] = self.score_counted(i, own)
        if own >= 0 and (self.coarse or self.weights is not None):
            self.keep_digits(i, block, own)

    cdef void score_weighted(self, const double *x, double w, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        """``score`` of a point with this weight."""
        cdef double *turn = self.lane + 8
        cdef double *level = turn + 8
        cdef double *degree = level + 8
        cdef Py_ssize_t lane, n
        cdef double rest
        weigh_lanes(self.weight + block, self.level + block, self.kappa0, w, 0.5 * self.D, turn, level)
        memcpy(degree, self.degree + block, 8 * sizeof(double))
        if own >= 0:
            lane = own - block
            n = self.size[own] - 1
            rest = self.kappa0 + (self.weight[own] - w)
            turn[lane] = -w * (rest + w) / rest
            level[lane] = self.log_c[n] - 0.5 * self.log_det[own] + 0.5 * self.D * log(w * rest / (rest + w))
            degree[lane] = self.a_n(n)
        self.score_block(x, block, turn, degree + 8)
        score_power(level, degree, degree + 8, self.power + block)

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        return Normal.log_pred(self, i, k) - self.zeta * self.log_units_of(i)

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        if self.stale[k]:
            self.settle(k)
        return self.log_lik_of(self.size[k], self.log_det[k]) + self.log_weights_of(self.squares_of(k))

    cdef double log_weights_of(self, const whole *square) noexcept nogil:
        """Terms of the log marginal likelihood of a cluster that depend on its weights alone; 0 without."""
        if self.weights is None:
            return 0.0
        return 0.5 * self.D * (ldexp(whole_double(square[self.n_squares + self.D + 1]), -LOG_FRACTION)
                               - log(self.kappa0 + self.weight_in(square)))

    cdef double log_lik_of(self, Py_ssize_t n, double log_det) noexcept nogil:
        return self.log_n[n] - self.zeta * self.a_n(n) * (log_det - (self.log_b0 + self.log_twos)) / self.per

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t n = self.size[a] + self.size[b]
        memcpy(self.both_sum, self.sums_of(a), 8 * self.D)
        memcpy(self.both_square, self.squares_of(a), 16 * self.width)
        absorb_sums(self.both_sum, self.both_square, self.sums_of(b), self.squares_of(b), self.D, self.width, 1)
        return (self.log_lik_of(n, self.posterior(self.both_sum, self.both_square, n, self.mean, self.scatter))
                + self.log_weights_of(self.both_square))

    def log_densities(self, Py_ssize_t first):
        """In closed form, from the points as they were given: no factorisation holds a new one, which may be so far
        away that it leaves no digits of the others. Of a row with missing cells (full), that of the others. Under a
        power the density itself, not its power, with the parameters' posterior under the power."""
        cdef Py_ssize_t k, m = self.K - 1, start
        cdef double[::1] x, found
        density = np.empty((self.N - first, m + 1))
        if self.weights is not None:
            self.begin_scan()
            found = np.empty(2 * self.cap)
            for start in range(first, self.N):
                x = self.given_points(start, start + 1)[0]
                self.integrate_weight(&x[0], &found[0])
                density[start - first] = np.delete(found[:m + 2], m) - self.log_units_of(start)
            return density
        step = max(1, COLUMNS // self.stride)
        self.begin_scan()
        for start in range(first, self.N, step):
            points = self.given_points(start, start + step)
            for k in range(m + 1):
                # the last of the clusters are the new items; behind it stands an empty column
                density[start - first:start - first + step, k] = self.densities_in(points, k if k < m else m + 1)
        return density

    def left_out_densities(self):
        if self.weights is None:
            return Normal.left_out_densities(self)
        cdef Py_ssize_t i, k, own
        cdef double[:, ::1] density = np.full((self.N, self.K + 1), -INFINITY)
        cdef double[::1] found = np.empty(2 * self.cap)
        self.begin_scan()
        for i in range(self.N):
            own = self.z[i]
            self.leave(i, own)
            self.integrate_weight(self.point(i), &found[0])
            for k in range(self.K + (not self.allows_empty)):
                if self.stands_for_option(k):
                    density[i, k] = found[k] - self.log_units_of(i)
            self.join(i, own)
        return np.asarray(density)

    cdef void integrate_weight(self, const double *x, double *out) noexcept nogil:
        """out[:K + 1], of a length of 2 cap: log predictive of a point, in units, that no column counts, its weight
        integrated out: by the trapezoidal rule in the logarithm of the weight, from above what the prior of weights
        allows downwards until no column gains. The integrand is smooth and falls fast, so the rule is nearly exact.
        A point far from a mean that is hardly known has a second hump, below the weight of this mean."""
        cdef double nu = self.weights.nu, shape = 0.5 * (nu + self.columns_in(x)), step = 1.1 / sqrt(shape + 1.0)
        cdef double half = 0.5 * nu
        cdef double t = log(shape / half * (1.0 + 8.0 / sqrt(shape) + 25.0 / shape)), mass, term
        cdef double constant = half * log(half) - lgamma(half) + log(step), lowest = log(self.kappa0) - 3.0
        cdef double *before = out + self.cap
        cdef Py_ssize_t k, block
        cdef bint gains = True
        for k in range(self.K + 1):
            out[k] = before[k] = -INFINITY
            if self.stale[k]:
                self.settle(k)
        while gains:
            gains = t > lowest
            mass = constant + half * (t - exp(t))
            for block in range(0, self.K + 1, 8):
                self.score_weighted(x, exp(t), block, -1)
            for k in range(self.K + 1):
                term = mass + self.power[k]
                gains |= term > out[k] - 30.0 or term > before[k]
                before[k] = term
                out[k] = max(term, out[k]) + log1p(exp(-abs(term - out[k])))
            t -= step

    cdef Py_ssize_t columns_in(self, const double *x) noexcept nogil:
        """Cells of a row that are there."""
        return self.stride

    cdef double log_units_of(self, Py_ssize_t i) noexcept nogil:
        """The logs of units to subtract from the log density of row i."""
        return self.log_units

    cdef object given_points(self, Py_ssize_t first, Py_ssize_t last):
        """Points as they were given, from the columns' middles, in units, their columns in the order of ``x``."""
        points = np.asarray(self.given[first:last], dtype=np.float64)
        if self.gapped:
            points = points[:, [self.order[d] for d in range(self.stride)]]
        return (points - numbers_at(self.middle, self.stride)) / numbers_at(self.units, self.stride)

    cdef object densities_in(self, points, Py_ssize_t k):
        """Log densities of new points in column k."""
        cdef Py_ssize_t n = self.size[k]
        cdef double log_det, log_next, kappa = self.zeta * (self.kappa0 + n)
        constant = self.log_c[n] if self.zeta == 1.0 else self.predictive_constant(n, 1.0)
        log_det = self.posterior(self.sums_of(k), self.squares_of(k), n, self.mean, self.scatter)
        log_next = self.posterior_with(self.sums_of(k), self.squares_of(k), n, n + 1.0 / self.zeta,
                                       self.mean, self.scatter) if self.coarse else log_det
        # over zeta, since b_n is
        return self.density_of(points, n, constant, kappa / (kappa + 1.0) / self.zeta, log_det, log_next)

    cdef object density_of(self, points, Py_ssize_t n, double constant, double shrink, double log_det, double log_next):
        """Log densities of new points in a cluster of n, whose posterior is in ``mean`` and ``scatter``."""
        cdef double degree = self.zeta * self.a_n(n) + 0.5 * self.per
        log_q = self.log_q_of(points - numbers_at(self.mean, self.D), shrink)
        return constant - 0.5 * log_det - degree * log_q - self.log_units - degree * (log_next - log_det) / self.per

    def statistics(self):
        """dict of ndarray: size, mean (from the columns' middles, in units) and scatter of every cluster, shape
        (K, 1 + D + squares), a copy."""
        cdef Py_ssize_t k
        rows = []
        for k in range(self.K):
            self.gather(self.sums_of(k), self.squares_of(k), self.size[k], self.mean, self.scatter)
            rows.append([self.size[k], *numbers_at(self.mean, self.D), *numbers_at(self.scatter, self.n_squares)])
        return {"counts": np.array(rows)}


cdef object numbers_at(const double *p, Py_ssize_t n):
    """An array of n numbers that are here: a view."""
    cdef double[:] view
    if not n:
        return np.empty(0)
    view = <double[:n]> <double *> p
    return np.asarray(view)
