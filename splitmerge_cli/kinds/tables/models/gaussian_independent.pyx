"""Mixtures of normal distributions whose columns are independent given the cluster: a variance per dimension,
model.covariance=diag, or one for all, iso; and what they can be asked for: parameters drawn, sums of shards, a plug-in
density. The formulas are in ``dense_gaussian.pyx``. Cost: a point against K clusters O(D K); a change of a cluster
O(D).

``real_cells.pyx`` has the density of diag once more, by another arithmetic. There a column may lack cells: its number
of cells, level and degree are its own, and tables by a number of cells belong to one column. Here all columns have
n cells, and tables, level and degree belong to D columns together. One arithmetic for both would change the last
digits of stored chains of one model or the other.
"""
cimport cython
from libc.math cimport M_PI, exp, ldexp, lgamma, log, log10, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

import numpy as np

from splitmerge_cli.core.capabilities cimport TILE_ITEMS, DrawnParameters, PlugIn, Shards
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport (
    DenseGaussian, count_weighted, moments_weighted, whole, whole_double,
)
from splitmerge_cli.kinds.tables.models.normal cimport DIAG, LOG_FRACTION

cdef extern from "product_family.h":
    pass

cdef extern from *:
    """
    /* diag: a block holds mean and gain by dimension, eight lanes each. */
    #define MEAN_AND_GAIN(b, x, t) ({ const lanes e = x - LANES_AT(b); 1.0 + t * LANES_AT((b) + 8) * e * e; })
    PRODUCT_FAMILY(score_diag, 2, MEAN_AND_GAIN)

    /* log of b_n of a cluster and n points together over b_n of the cluster, summed over dimensions; of the points the
       mean and the scatter. turn: kappa n / (kappa + n), rest: 1, each over shrink. */
    static inline void unite_diag(const double *block, const double *mean, const double *scatter, ptrdiff_t D,
                                  ptrdiff_t piece, const double *turn, const double *rest, double *log_q)
    {
        EACH_LANE(h) {
            const lanes t = LANES_AT(turn + h), r = LANES_AT(rest + h), one = (lanes){0} + 1.0;
            lanes total = {0};
            for (ptrdiff_t from = 0; from < D; from += piece) {
                const ptrdiff_t to = from + piece < D ? from + piece : D;
                lanes p = one;
                for (ptrdiff_t d = from; d < to; d++) {
                    const double *b = block + 16 * d + h;
                    const lanes e = mean[d] - LANES_AT(b);
                    p *= 1.0 + LANES_AT(b + 8) * (r * scatter[d] + t * e * e);
                }
                total += lanes_log(p);
            }
            LANES_TO(log_q + h) = total;
        }
    }

    /* `step`: 1, or 0 where all dimensions have one sum of squares. */
    static inline void count_point(int64_t *sum, whole *square, const double *x, ptrdiff_t D, ptrdiff_t step,
                                   int64_t sign)
    {
        for (ptrdiff_t d = 0; d < D; d++) {
            const int64_t v = (int64_t)x[d], signed_v = sign * v;
            sum[d] += signed_v;
            square[step * d] += (whole)v * signed_v;
        }
    }

    static inline void moments_diag(const int64_t *sum, const whole *square, ptrdiff_t D, int64_t n, double inverse,
                                    double *mean, double *scatter)
    {
        for (ptrdiff_t d = 0; d < D; d++) {
            mean[d] = (double)sum[d] * inverse;
            scatter[d] = whole_double(whole_scatter(n, square[d], sum[d], sum[d])) * inverse;
        }
    }

    /* iso: a block holds means by dimension, eight lanes each. */
    static inline void score_iso(const double *block, const double *x, ptrdiff_t D, const double *gain,
                                 const double *turn, double *log_q, double *left)
    {
        EACH_LANE(h) {
            lanes s = {0};
            for (ptrdiff_t d = 0; d < D; d++) {
                const lanes e = x[d] - LANES_AT(block + 8 * d + h);
                s += e * e;
            }
            const lanes q = 1.0 + LANES_AT(turn + h) * LANES_AT(gain + h) * s;
            LANES_TO(log_q + h) = lanes_log(q);
            LANES_TO(left + h) = q;
        }
    }

    /* The scatter of all dimensions is one number. */
    static inline void moments_iso(const int64_t *sum, const whole *square, ptrdiff_t D, int64_t n, double inverse,
                                   double *mean, double *scatter)
    {
        whole all = *square * n;
        for (ptrdiff_t d = 0; d < D; d++) {
            mean[d] = (double)sum[d] * inverse;
            all -= (whole)sum[d] * sum[d];
        }
        *scatter = whole_double(all) * inverse;
    }
    """
    void score_diag(const double *block, const double *x, Py_ssize_t D, Py_ssize_t piece, const double *turn,
                    double *log_q, double *left) noexcept nogil
    void unite_diag(const double *block, const double *mean, const double *scatter, Py_ssize_t D, Py_ssize_t piece,
                    const double *turn, const double *rest, double *log_q) noexcept nogil
    void count_point(int64_t *sum, whole *square, const double *x, Py_ssize_t D, Py_ssize_t step,
                     int64_t sign) noexcept nogil
    void moments_diag(const int64_t *sum, const whole *square, Py_ssize_t D, int64_t n, double inverse, double *mean,
                      double *scatter) noexcept nogil
    void score_iso(const double *block, const double *x, Py_ssize_t D, const double *gain, const double *turn,
                   double *log_q, double *left) noexcept nogil
    void moments_iso(const int64_t *sum, const whole *square, Py_ssize_t D, int64_t n, double inverse, double *mean,
                     double *scatter) noexcept nogil

cdef enum:
    # of a column in a cluster: square, sum, weight and its logarithm as of weighted points, and the number of cells
    LOG = 3, CELLS, KEPT
    # rows of a block for each column
    MEAN = 0, GAIN, LEVEL, DEGREE, WEIGHT, ROWS

cdef extern from *:
    """
    static inline void score_cells(const double *block, const double *x, const double *grain, ptrdiff_t D,
                                   double kappa0, double w, double *power)
    {
        EACH_LANE(h) {
            const double *row = block + h;
            lanes total = {0}, product = (lanes){0} + 1.0;
            for (ptrdiff_t d = 0; d < D; d++, row += 40) {
                if (x[d] != x[d])
                    continue;
                const lanes kappa = kappa0 + LANES_AT(row + 32), s = w * kappa / (kappa + w), e = x[d] - LANES_AT(row);
                product *= s;
                /* four factors, however light a row far away is, do not leave the range of a double */
                if (d % 4 == 3)
                    total += 0.5 * lanes_log(product), product = (lanes){0} + 1.0;
                total += LANES_AT(row + 16)
                         + LANES_AT(row + 24) * lanes_log(1.0 + LANES_AT(row + 8) * (s * e * e + w * grain[d]));
            }
            LANES_TO(power + h) = total + 0.5 * lanes_log(product);
        }
    }
    """
    void score_cells(const double *block, const double *x, const double *grain, Py_ssize_t D, double kappa0, double w,
                     double *power) noexcept nogil

cdef extern from "tiles.h":
    void tile_diag(const double *theta, Py_ssize_t D, const double *x, double log_weight, const double *floor,
                   double *out) noexcept nogil

cdef extern from *:
    void __builtin_prefetch(const void *p) noexcept nogil

# points before the one that is read
cdef enum:
    AHEAD = 8


cdef inline double middle_of(double shape) noexcept nogil:
    """A number whose log is about the mean log of a gamma number, and its inverse about the variance of that log."""
    return shape - 0.5 if shape > 1.0 else shape


cdef class DenseParameters(DrawnParameters):
    """Means and variances of a cluster that are drawn given its items, and forgotten."""

    def __init__(self, DenseGaussian model not None):
        self.model = model
        self.size, self.tile_rows, self.work_size = 1 + 2 * model.D, model.D, 3 * model.n_squares + 5 * model.D
        self.posterior_size, self.dimension = 2 + model.D + model.n_squares, model.D + model.n_squares

    cdef void draw_posterior(self, Rng rng, Py_ssize_t k, double *theta, double *work) noexcept nogil:
        """The precision of a column, then its mean, as ``tile_diag`` reads them."""
        cdef Py_ssize_t d, n = self.model.size[k]
        cdef double *mean = work
        cdef double *scatter = work + self.model.D
        # of zeta times the precisions, as b_n is over zeta; a point's density to the power zeta has these
        cdef double zeta = self.model.zeta, a = zeta * self.model.a_n(n), precision = 0.0
        cdef double scaled = 0.5 * zeta * log(zeta)
        self.model.posterior(self.model.sums_of(k), self.model.squares_of(k), n, mean, scatter)
        theta[0] = -self.model.D * scaled
        for d in range(self.model.D):
            if d % self.model.per == 0:
                precision = (a if rng is None else rng.draw_gamma(a)) / scatter[d]
            theta[0] += 0.5 * (zeta * log(precision) - self.model.grain[d] * precision)
            theta[1 + 2 * d] = mean[d]
            theta[2 + 2 * d] = sqrt(precision)
            if rng is not None:
                theta[1 + 2 * d] += rng.draw_normal() / sqrt(self.model.kappa_of(k) * precision)

    cdef void write_posterior(self, Py_ssize_t k, double *posterior, double *work) noexcept nogil:
        """Shape of the precisions; precision of a mean over the precision of its column; means; rates."""
        cdef Py_ssize_t n = self.model.size[k]
        posterior[0], posterior[1] = self.model.zeta * self.model.a_n(n), self.model.kappa0 + n
        self.model.posterior(self.model.sums_of(k), self.model.squares_of(k), n, posterior + 2, work)
        memcpy(posterior + 2 + self.model.D, work, self.model.n_squares * sizeof(double))

    cdef double log_density(self, const double *posterior, const double *theta) noexcept nogil:
        """In the logarithms of the precisions, and the means."""
        cdef Py_ssize_t d, D = self.model.D, n = self.model.n_squares
        cdef double precision, off, total = -n * lgamma(posterior[0]) + 0.5 * D * log(posterior[1] / (2.0 * M_PI))
        for d in range(D):
            precision, off = theta[2 + 2 * d] * theta[2 + 2 * d], theta[1 + 2 * d] - posterior[2 + d]
            total += 0.5 * (log(precision) - posterior[1] * precision * off * off)
            if d < n:
                total += posterior[0] * log(posterior[2 + D + d] * precision) - posterior[2 + D + d] * precision
        return total

    cdef double to_normal(self, const double *posterior, const double *theta, double *zeta) noexcept nogil:
        """A mean exactly; log precisions by about their means and variances."""
        cdef Py_ssize_t d, D = self.model.D, n = self.model.n_squares
        cdef double a = middle_of(posterior[0]), precision, total = 0.5 * (n * log(a) + D * log(posterior[1]))
        for d in range(D):
            precision = theta[2 + 2 * d] * theta[2 + 2 * d]
            zeta[d] = (theta[1 + 2 * d] - posterior[2 + d]) * sqrt(posterior[1] * precision)
            total += 0.5 * log(precision)
            if d < n:
                zeta[D + d] = sqrt(a) * log(precision * posterior[2 + D + d] / a)
        return total

    cdef double from_normal(self, const double *posterior, const double *zeta, double *theta) noexcept nogil:
        cdef Py_ssize_t d, D = self.model.D, n = self.model.n_squares
        cdef double a = middle_of(posterior[0]), precision = 0.0, total = 0.5 * (n * log(a) + D * log(posterior[1]))
        theta[0] = -0.5 * D * self.model.zeta * log(self.model.zeta)
        for d in range(D):
            if d < n:
                precision = a / posterior[2 + D + d] * exp(zeta[D + d] / sqrt(a))
            total += 0.5 * log(precision)
            theta[0] += 0.5 * (self.model.zeta * log(precision) - self.model.grain[d] * precision)
            theta[1 + 2 * d] = posterior[2 + d] + zeta[d] / sqrt(posterior[1] * precision)
            theta[2 + 2 * d] = sqrt(precision)
        return total

    cdef void load_tile(self, const int32_t *items, Py_ssize_t n, double *tile) noexcept nogil:
        cdef Py_ssize_t t, d, D = self.model.D
        cdef const double *x
        for t in range(min(n, AHEAD)):
            self.fetch(items[t])
        for t in range(TILE_ITEMS):
            if t + AHEAD < n:
                self.fetch(items[t + AHEAD])
            x = self.model.point(items[min(t, n - 1)])
            for d in range(D):
                tile[TILE_ITEMS * d + t] = x[d]

    cdef inline void fetch(self, Py_ssize_t i) noexcept nogil:
        """Ask for the coordinates of point i before they are read: points of a cluster are far from each other."""
        cdef Py_ssize_t d
        for d in range(0, self.model.D, 8):
            __builtin_prefetch(self.model.x + i * self.model.D + d)

    cdef void score_tile(self, const double *tile, const double *theta, double log_weight, const double *floor,
                         double *out) noexcept nogil:
        tile_diag(theta, self.model.D, tile, log_weight, floor, out)

    cdef void count_items(self, const int32_t *items, Py_ssize_t n, Py_ssize_t k, double *work) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(n):
            if t + AHEAD < n:
                self.fetch(items[t + AHEAD])
            self.model.add(items[t], k)


cdef class DenseShards(Shards):
    """Sums of clusters whose points are in shards; models of these are built by ``gaussian.py``."""


@cython.final
cdef class DensePlugIn(PlugIn):
    """diag and iso: the normal density with mean m_n and variances b_n / a_n, the inverses of the posterior means of
    the precisions; of a power its log times zeta."""

    cdef DenseGaussian model

    def __init__(self, DenseGaussian model not None):
        self.model = model

    cdef void locate(self, Py_ssize_t k, double *mean) noexcept nogil:
        cdef Py_ssize_t d, step = self.model.step
        cdef double *block = self.model.block_of(k)
        if self.model.stale[k]:
            self.model.settle(k)
        for d in range(self.model.D):
            mean[d] = self.model.middle[d] + self.model.units[d] * block[step * d]

    cdef double log_plug_in(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d, n = self.model.size[k], step = self.model.step
        cdef double *block = self.model.block_of(k)
        cdef double a = self.model.a_n(n), kappa = self.model.kappa0 + n, shrink = kappa / (kappa + 1.0)
        cdef double total = 0.0, e, gain, grain
        if self.model.stale[k]:
            self.model.settle(k)
        for d in range(self.model.D):
            e = self.model.x[i * self.model.D + d] - block[step * d]
            # 1 / (2 b_n) times shrink
            gain = block[step * d + 8] if self.model.shape_of == DIAG else self.model.gain[k]
            if self.model.coarse:
                # there b_n has one grain more; the point has its own, too
                grain = self.model.grain[d] if self.model.shape_of == DIAG else self.model.grains
                gain = 0.5 * shrink / (0.5 * shrink / gain - 0.5 * grain)
                total += gain * self.model.grain[d]
            total += gain * e * e
        return self.model.zeta * (0.5 * self.model.D * (log(a) - log(2.0 * M_PI)) - 0.5 * self.model.log_det[k]
                                  - a / shrink * total - self.model.log_units)


cdef class DiagonalGaussian(DenseGaussian):
    """Mixture of normal distributions of points, a variance per dimension."""

    SHAPE = "diag"
    CAPABILITIES = (DenseParameters, DenseShards, DensePlugIn)

    cdef void measure(self) noexcept nogil:
        self.n_squares, self.rows, self.step = self.D, 2 * self.D, 16

    cdef void count(self, Py_ssize_t k, const double *x, int sign) noexcept nogil:
        count_point(self.sums_of(k), self.squares_of(k), x, self.D, 1, sign)

    cdef void moments(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                      double *scatter) noexcept nogil:
        moments_diag(sum, square, self.D, n, self.inverse[n], mean, scatter)

    cdef double posterior_with(self, const int64_t *sum, const whole *square, Py_ssize_t n, double times, double *mean,
                               double *scatter) noexcept nogil:
        cdef Py_ssize_t d
        cdef double weight = self.gather(sum, square, n, mean, scatter), kappa = self.kappa0 + weight
        cdef double pull = self.kappa0 * weight / kappa, total = 0.0, off = 1.0
        for d in range(self.D):
            mean[d] -= self.m0[d]
            scatter[d] = self.b0[d] + 0.5 * (scatter[d] + times * self.grain[d] + pull * mean[d] * mean[d])
            mean[d] = self.m0[d] + weight * mean[d] / kappa
        for d in range(self.D):
            off *= scatter[d] / self.b0[d]
            if not 1e-200 < off < 1e200:
                total += log(off)
                off = 1.0
        return total + log(off) + self.log_b0

    cdef void write_scatter(self, Py_ssize_t k, double *block, double shrink) noexcept nogil:
        cdef Py_ssize_t d
        for d in range(self.D):
            block[16 * d + 8] = 0.5 * shrink / self.scatter[d]

    cdef void score_block(self, const double *x, Py_ssize_t block, const double *turn, double *log_q) noexcept nogil:
        score_diag(self.at + block * self.rows, x, self.D, self.piece, turn, log_q, self.left + block)

    cdef void log_unions(self, Py_ssize_t b, Py_ssize_t first, Py_ssize_t m, double *out) noexcept nogil:
        """The posterior of a cluster is the prior for column b."""
        cdef Py_ssize_t k, d, lane, n, of_b = self.size[b], block
        cdef double *turn = self.lane + 8
        cdef double *rest = turn + 8
        cdef double *log_q = rest + 8
        cdef double kappa, shrink, log_det
        # a factor of several points is at most 4 n times the factor of one
        cdef Py_ssize_t piece = max(1, <Py_ssize_t> (1.0 / (1.0 / self.piece + log10(4.0 * of_b) / 280.0)))
        if self.weights is not None:
            DenseGaussian.log_unions(self, b, first, m, out)
            return
        for k in range(first, first + m):
            if self.stale[k]:
                self.settle(k)
        self.moments(self.sums_of(b), self.squares_of(b), of_b, self.mean, self.scatter)
        if self.coarse:
            for d in range(self.D):
                # what scores a point counts one grain
                self.scatter[d] += (of_b - 1) * self.grain[d]
        for block in range(first & ~7, first + m, 8):
            for lane in range(8):
                k = block + lane
                n = self.size[k] if first <= k < first + m else 0
                kappa = self.kappa0 + n
                shrink = kappa / (kappa + 1.0)
                turn[lane], rest[lane] = kappa * of_b / (kappa + of_b) / shrink, 1.0 / shrink
            unite_diag(self.at + block * self.rows, self.mean, self.scatter, self.D, piece, turn, rest, log_q)
            for k in range(max(block, first), min(block + 8, first + m)):
                n = self.size[k]
                log_det = self.log_det[k]
                if self.coarse:
                    log_det += (self.level[k] - self.log_c[n] + 0.5 * self.zeta * log_det) / self.degree[k]
                out[k - first] = self.log_lik_of(n + of_b, log_det + log_q[k - block])

    cdef double log_q_counted(self, const double *x, Py_ssize_t k, double turn) noexcept nogil:
        cdef Py_ssize_t d
        cdef const double *mean = self.block_of(k)
        cdef const double *scatter = self.own_scatter + k * self.D
        cdef double e, log_q = 0.0, q = 1.0
        for d in range(self.D):
            e = x[d] - mean[16 * d]
            q *= 1.0 - 0.5 * turn * e * e / scatter[d]
            if q < 1e-150:
                log_q += log(q)
                q = 1.0
        return log_q + log(q)

    cdef object log_q_of(self, off, double shrink):
        cdef double[:] scatter = <double[:self.D]> self.scatter
        return np.log1p(0.5 * shrink / np.asarray(scatter) * off ** 2).sum(axis=1)


@cython.final
cdef class IsotropicGaussian(DenseGaussian):
    """Mixture of normal distributions of points, one variance for all dimensions."""

    SHAPE = "iso"
    CAPABILITIES = (DenseParameters, DenseShards, DensePlugIn)

    cdef void measure(self) noexcept nogil:
        self.n_squares, self.rows, self.step = 1, self.D, 8

    cdef void count(self, Py_ssize_t k, const double *x, int sign) noexcept nogil:
        count_point(self.sums_of(k), self.squares_of(k), x, self.D, 0, sign)

    cdef void moments(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                      double *scatter) noexcept nogil:
        moments_iso(sum, square, self.D, n, self.inverse[n], mean, scatter)

    cdef double posterior_with(self, const int64_t *sum, const whole *square, Py_ssize_t n, double times, double *mean,
                               double *scatter) noexcept nogil:
        cdef Py_ssize_t d
        cdef double weight = self.gather(sum, square, n, mean, scatter), kappa = self.kappa0 + weight
        cdef double pull = self.kappa0 * weight / kappa, total
        total = scatter[0]
        for d in range(self.D):
            mean[d] -= self.m0[d]
            total += pull * mean[d] * mean[d]
            mean[d] = self.m0[d] + weight * mean[d] / kappa
        scatter[0] = self.b0[0] + 0.5 * (total + times * self.grains)
        return self.D * log(scatter[0])

    cdef void write_scatter(self, Py_ssize_t k, double *block, double shrink) noexcept nogil:
        self.gain[k] = 0.5 * shrink / self.scatter[0]

    cdef void score_block(self, const double *x, Py_ssize_t block, const double *turn, double *log_q) noexcept nogil:
        score_iso(self.at + block * self.rows, x, self.D, self.gain + block, turn, log_q, self.left + block)

    cdef double log_q_counted(self, const double *x, Py_ssize_t k, double turn) noexcept nogil:
        cdef Py_ssize_t d
        cdef const double *mean = self.block_of(k)
        cdef double e, total = 0.0
        for d in range(self.D):
            e = x[d] - mean[8 * d]
            total += e * e
        return log(1.0 - 0.5 * turn * total / self.own_scatter[k * self.D])

    cdef object log_q_of(self, off, double shrink):
        return np.log1p(0.5 * shrink / self.scatter[0] * (off ** 2).sum(axis=1))


@cython.final
cdef class GappedGaussian(DenseGaussian):
    """Rows of independent normal columns with weights, any of whose cells may be missing, or recorded to a resolution:
    ``model.tails=t`` with covariance=diag. The formulas are in ``dense_gaussian.pyx`` and ``normal.pyx``.

    A missing cell, NaN, has no factor. A cell that is recorded to a resolution adds w times the column's grain to the
    squares. Column d of a cluster has n_d cells, of rows whose weights have the sum W_d, and thus kappa_n = kappa0 +
    W_d, a_n = a0 + n_d / 2 and m_n, b_n of its own. A row that has D_i cells has one weight for these:

        log p(x_i | .) = sum over its cells of
                             level_d + log(s_d) / 2 + degree_d log(1 + (s_d (x - m_n)^2 + w_i grain_d) / (2 b_n))

    Cost: a row against K clusters O(D K), a logarithm a cell; a change of a cluster O(D).
    """

    SHAPE = "diag"
    READS_GAPS = True
    WEIGHS_STEPS = True

    cdef double[::1] log_unit           # [D] logs of the columns' units

    def _make_room(self):
        cdef Py_ssize_t i
        self.theta = self.memory.doubles(2 * self.D)
        self.log_unit = np.array([log(self.units[d]) for d in range(self.D)])
        self.weights.set_cells([self.columns_in(self.point(i)) for i in range(self.N)])

    # -- statistics
    cdef void measure(self) noexcept nogil:
        self.n_squares, self.rows, self.step, self.width = self.D, ROWS * self.D, 8 * ROWS, KEPT * self.D

    cdef inline whole *column(self, const whole *square, Py_ssize_t d) noexcept nogil:
        return <whole *> square + KEPT * d

    cdef inline Py_ssize_t cells(self, const whole *column) noexcept nogil:
        return <Py_ssize_t> column[CELLS]

    cdef void count_row(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        cdef Py_ssize_t d
        cdef const double *x = self.point(i)
        cdef int64_t parts = sign * self.weights.parts[i], logs = sign * self.weights.logs[i]
        for d in range(self.D):
            if x[d] == x[d]:
                count_weighted(self.column(self.squares_of(k), d), x + d, 1, 1, False, parts, logs)
                self.column(self.squares_of(k), d)[CELLS] += sign

    cdef double gather(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                       double *scatter) noexcept nogil:
        cdef Py_ssize_t d
        for d in range(self.D):
            moments_weighted(self.column(square, d), 1, 1, False, self.work, mean + d, scatter + d)
        return n

    cdef double posterior_of(self, const whole *column, Py_ssize_t d, double *mean, double *scatter) noexcept nogil:
        """m_n and b_n of a column in a cluster; returns kappa_n."""
        cdef double weight = moments_weighted(column, 1, 1, False, self.work, mean, scatter)
        cdef double kappa = self.kappa0 + weight, off = mean[0] - self.m0[d]
        scatter[0] = self.b0[d] + 0.5 * (scatter[0] + weight * self.grain[d] + self.kappa0 * weight / kappa * off * off)
        mean[0] = self.m0[d] + weight * off / kappa
        return kappa

    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d, n
        cdef double *row = self.block_of(k)
        cdef const whole *column
        self.stale[k] = False
        for d in range(self.D):
            column = self.column(self.squares_of(k), d)
            n = self.cells(column)
            row[8 * WEIGHT] = self.posterior_of(column, d, row, self.scatter) - self.kappa0
            row[8 * GAIN] = 0.5 / self.scatter[0]
            row[8 * LEVEL] = self.log_c[n] - 0.5 * log(self.scatter[0])
            row[8 * DEGREE] = -self.a_n(n) - 0.5
            row += 8 * ROWS

    # -- tables of one column
    def _own_tables(self):
        cdef Py_ssize_t n, room = self.total + 2
        self.own_c, self.own_n = self.memory.doubles(room), self.memory.doubles(room)
        for n in range(room):
            self.own_c[n] = lgamma(self.a_n(n) + 0.5) - lgamma(self.a_n(n)) - 0.5 * log(2.0 * M_PI)
            self.own_n[n] = lgamma(self.a_n(n)) - lgamma(self.a_n(0)) - 0.5 * n * log(2.0 * M_PI)
        self.log_c, self.log_n = self.own_c, self.own_n
        if self.scale_prior is not None:
            self.b0 = self.own_b0 = self.memory.doubles(self.scale_prior.n)
            self.scales_changed()

    cdef void scales_changed(self) noexcept nogil:
        cdef Py_ssize_t d, k
        self.kappa0 = self.scale_prior.kappa0
        for d in range(self.D):
            self.own_b0[d] = self.scale_prior.b0[d]
        for k in range(self.cap):
            self.stale[k] = True
            self.is_valid[k] = False

    cdef void draw_cluster(self, Rng rng, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        cdef double kappa, precision
        cdef const whole *column
        for d in range(self.D):
            column = self.column(self.squares_of(k), d)
            kappa = self.posterior_of(column, d, self.mean, self.scatter)
            precision = rng.draw_gamma(self.a_n(self.cells(column))) / self.scatter[0]
            self.scale_prior.count_precision(d, precision)
            if self.scale_prior.of_kappa0:
                # how far the drawn mean is from m0, in standard deviations of a cell
                self.scale_prior.count_distance(sqrt(precision) * (self.mean[0] - self.m0[d])
                                                + rng.draw_normal() / sqrt(kappa))

    # -- weights of rows
    cdef void measure_distances(self, Rng rng, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        cdef double kappa, total, off
        cdef double *mean = self.theta
        cdef double *precision = self.theta + self.D
        cdef const whole *column
        cdef const double *x
        cdef int32_t i = self.head[k]
        for d in range(self.D):
            column = self.column(self.squares_of(k), d)
            kappa = self.posterior_of(column, d, mean + d, self.scatter)
            precision[d] = rng.draw_gamma(self.a_n(self.cells(column))) / self.scatter[0]
            mean[d] += rng.draw_normal() / sqrt(kappa * precision[d])
        while i >= 0:
            x, total = self.point(i), 0.0
            for d in range(self.D):
                if x[d] == x[d]:
                    off = x[d] - mean[d]
                    total += precision[d] * (off * off + self.grain[d])
            self.weights.distance[i] = total
            i = self.after[i]

    cdef Py_ssize_t columns_in(self, const double *x) noexcept nogil:
        cdef Py_ssize_t d, n = 0
        for d in range(self.D):
            n += x[d] == x[d]
        return n

    cdef double log_units_of(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t d
        cdef const double *x = self.point(i)
        cdef double total = 0.0
        for d in range(self.D):
            if x[d] == x[d]:
                total += self.log_unit[d]
        return total

    # -- probabilities
    cdef void score_weighted(self, const double *x, double w, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        cdef Py_ssize_t d, n
        cdef double rest, q, e, product = 1.0
        cdef const double *row
        score_cells(self.at + block * self.rows, x, self.grain, self.D, self.kappa0, w, self.power + block)
        if own < 0:
            return
        self.power[own], self.left[own] = 0.0, 1.0
        row = self.block_of(own)
        for d in range(self.D):
            if x[d] == x[d]:
                n = self.cells(self.column(self.squares_of(own), d))
                rest = self.kappa0 + (row[8 * WEIGHT] - w)
                e = x[d] - row[0]
                q = 1.0 - row[8 * GAIN] * w * ((rest + w) / rest * e * e + self.grain[d])
                self.left[own] = min(self.left[own], q)
                product *= w * rest / (rest + w)
                if d % 4 == 3:
                    self.power[own] += 0.5 * log(product)
                    product = 1.0
                self.power[own] += row[8 * LEVEL] - self.log_c[n] + self.log_c[n - 1] + self.a_n(n - 1) * log(q)
            row += 8 * ROWS
        self.power[own] += 0.5 * log(product)

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        return self.log_lik_of_columns(self.squares_of(k))

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(self.width):
            self.both_square[t] = self.squares_of(a)[t] + self.squares_of(b)[t]
        return self.log_lik_of_columns(self.both_square)

    cdef double log_lik_of_columns(self, const whole *square) noexcept nogil:
        """Log marginal likelihood of the cells with these sums."""
        cdef Py_ssize_t d, n
        cdef double kappa, total = 0.0
        cdef const whole *column
        for d in range(self.D):
            column = self.column(square, d)
            n = self.cells(column)
            kappa = self.posterior_of(column, d, self.mean, self.scatter)
            total += (self.log_n[n] - self.a_n(n) * log(self.scatter[0] / self.b0[d])
                      - n * (0.5 * log(self.b0[d]) + self.log_unit[d])
                      + 0.5 * (ldexp(whole_double(column[LOG]), -LOG_FRACTION) + log(self.kappa0 / kappa)))
        return total
