"""Mixtures of normal distributions whose columns are independent given the cluster: a variance per dimension,
model.covariance=diag, or one for all, iso; and what they can be asked for: parameters drawn, sums of shards, a plug-in
density. The formulas are in ``dense_gaussian.pyx``. Cost: a point against K clusters O(D K); a change of a cluster
O(D).

A column of diag may lack cells: a missing one, NaN, has no factor. Its number of cells, level and degree are then its
own, while columns without missing ones have theirs in common, and an item has one product of them.
Cell by cell are also scored rows that have weights, where a column lacks cells or is recorded to a resolution. With W_d
the sum of the weights of a column's n_d cells, 1 each where there are none, kappa_n = kappa0 + W_d, a_n = a0 + n_d / 2:

    log p(x_i | .) = sum over its cells of
                         level_d + log(s_d) / 2 + degree_d log(1 + (s_d (x - m_n)^2 + w_i grain_d) / (2 b_n))

with s_d = w_i kappa_n / (kappa_n + w_i); a cell adds w_i times the column's grain to the squares.
"""
cimport cython
from libc.math cimport INFINITY, M_PI, exp, ldexp, lgamma, log, log10, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

import numpy as np

from splitmerge_cli.core.capabilities cimport TILE_ITEMS, DrawnParameters, PlugIn, Shards
from splitmerge_cli.core.memory cimport doubles_of
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport (
    DenseGaussian, count_weighted, moments_weighted, numbers_at, whole, whole_double,
)
from splitmerge_cli.kinds.tables.models.normal cimport DIAG, LOG_FRACTION

from splitmerge_cli.core.shared import share

cdef extern from *:
    """
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

cdef extern from "tiles.h":
    void tile_diag(const double *theta, Py_ssize_t D, const double *x, double log_weight, const double *floor,
                   double *out) noexcept nogil

cdef enum:
    # of a column in a cluster that is scored cell by cell: square, sum, with weights the weight and its logarithm as of
    # weighted points, and last the number of cells
    SQUARE = 0, SUM, WEIGHT_SUM, LOG_SUM
    # rows of a block for each such column: its term is level + degree log(BASE + GAIN (x - mean)^2); with weights, of
    # which a row's own decides, BASE is W_d, GAIN 1 / (2 b_n)
    MEAN = 0, GAIN, LEVEL, DEGREE, BASE, ROWS

cdef extern from *:
    """
    /* Adds the log predictive of an item's cells. */
    static inline void add_cells(const double *block, const double *x, ptrdiff_t n, double *power)
    {
        EACH_LANE(h) {
            const double *row = block + h;
            lanes total = LANES_AT(power + h);
            for (ptrdiff_t d = 0; d < n; d++, row += 40)
                if (x[d] == x[d]) {
                    const lanes e = x[d] - LANES_AT(row);
                    total += LANES_AT(row + 16)
                             + LANES_AT(row + 24) * lanes_log(LANES_AT(row + 32) + LANES_AT(row + 8) * e * e);
                }
            LANES_TO(power + h) = total;
        }
    }

    /* The same of a row of weight w. */
    static inline void add_weighted(const double *block, const double *x, const double *grain, ptrdiff_t n,
                                    double kappa0, double w, double *power)
    {
        EACH_LANE(h) {
            const double *row = block + h;
            lanes total = LANES_AT(power + h), product = (lanes){0} + 1.0;
            for (ptrdiff_t d = 0; d < n; d++, row += 40) {
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

    static inline void count_cells(whole *square, const double *x, ptrdiff_t n, int sign)
    {
        for (ptrdiff_t d = 0; d < n; d++, square += 3)
            if (x[d] == x[d]) {
                const int64_t v = (int64_t)x[d];
                square[0] += (whole)v * (sign * v);
                square[1] += sign * v;
                square[2] += sign;
            }
    }

    /* Adds the log densities of the cells of a tile; theta: mean, root and log root of the precision of each column. */
    static inline void tile_cells(const double *theta, ptrdiff_t n, const double *x, double *out)
    {
        for (ptrdiff_t d = 0; d < n; d++, x += TILE, theta += 3)
            for (ptrdiff_t t = 0; t < TILE; t++) {
                const double e = (x[t] - theta[0]) * theta[1];
                out[t] += e == e ? theta[2] - 0.5 * e * e : 0.0;
            }
    }
    """
    void add_cells(const double *block, const double *x, Py_ssize_t n, double *power) noexcept nogil
    void add_weighted(const double *block, const double *x, const double *grain, Py_ssize_t n, double kappa0, double w,
                      double *power) noexcept nogil
    void count_cells(whole *square, const double *x, Py_ssize_t n, int sign) noexcept nogil
    void tile_cells(const double *theta, Py_ssize_t n, const double *x, double *out) noexcept nogil

cdef extern from *:
    void __builtin_prefetch(const void *p) noexcept nogil

# points before the one that is read
cdef enum:
    AHEAD = 8


cdef double[TILE_ITEMS] NO_FLOOR
for _t in range(TILE_ITEMS):
    NO_FLOOR[_t] = -INFINITY


cdef inline double middle_of(double shape) noexcept nogil:
    """A number whose log is about the mean log of a gamma number, and its inverse about the variance of that log."""
    return shape - 0.5 if shape > 1.0 else shape


cdef class DenseParameters(DrawnParameters):
    """Means and variances of a cluster that are drawn given its items, and forgotten."""

    def __init__(self, DenseGaussian model not None):
        self.model = model
        self.size, self.tile_rows = 1 + 2 * model.D + 3 * model.gapped, model.stride
        self.work_size = 3 * model.n_squares + 5 * model.stride
        if not model.gapped:
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
        if self.model.gapped:
            self.model.draw_cells(rng, k, theta + 1 + 2 * self.model.D)

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
        cdef Py_ssize_t t, d, D = self.model.stride
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
        for d in range(0, self.model.stride, 8):
            __builtin_prefetch(self.model.x + i * self.model.stride + d)

    cdef void score_tile(self, const double *tile, const double *theta, double log_weight, const double *floor,
                         double *out) noexcept nogil:
        cdef Py_ssize_t t, D = self.model.D
        if not self.model.gapped:
            tile_diag(theta, D, tile, log_weight, floor, out)
            return
        for t in range(TILE_ITEMS):
            out[t] = log_weight
        if D:
            # what the other columns add may be above 0
            tile_diag(theta, D, tile, log_weight, NO_FLOOR, out)
        tile_cells(theta + 1 + 2 * D, self.model.gapped, tile + TILE_ITEMS * D, out)

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

    @classmethod
    def suits(cls, model):
        """Whether no cell is missing: bool."""
        return not (<DenseGaussian> model).gapped

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
            e = self.model.point(i)[d] - block[step * d]
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


def _cell_tables(Py_ssize_t N, kappa0, double a0, double zeta):
    """The factors of one column that depend on its number of cells, 0 to N + 1, alone; kappa0, a0 and b_n over zeta.
    kappa0 None: without the factors of kappa_n."""
    cdef Py_ssize_t n
    cdef double a, constant = 0.5 * zeta * log(2.0 * M_PI * zeta)
    cdef double[::1] log_c = np.empty(N + 2), log_n = np.empty(N + 2)
    for n in range(N + 2):
        a = zeta * (a0 + 0.5 * n)
        log_c[n] = lgamma(a + 0.5 * zeta) - lgamma(a) - constant
        log_n[n] = lgamma(a) - lgamma(zeta * a0) - n * constant
        if kappa0 is not None:
            log_c[n] += 0.5 * log((kappa0 + n) / (kappa0 + n + 1.0))
    return {"log_c": np.asarray(log_c), "log_n": np.asarray(log_n)}


@cython.final
cdef class DiagonalGaussian(DenseGaussian):
    """Mixture of normal distributions of points, a variance per dimension; NaN where a cell is missing.

    Cost: a row against K clusters O(D K), a logarithm for each cell of a column that lacks some; a change of a cluster
    O(D).
    """

    SHAPE = "diag"
    READS_GAPS = True
    CAPABILITIES = (DenseParameters, DenseShards, DensePlugIn)

    cdef Py_ssize_t kept                # numbers of a column that is scored cell by cell, in a cluster
    cdef const double *free_cell_c      # [total + 2] the next without what depends on kappa0, where that is resampled
    cdef const double *cell_c           # [total + 2] of one column: the part of a predictive that its number of cells
    cdef const double *cell_n           # [total + 2] alone says, and of a likelihood
    cdef double *own_cell_c
    cdef double[::1] log_unit           # [stride] logs of the columns' units

    def _constants(self):
        DenseGaussian._constants(self)
        if self.gapped:
            is_free = self.weights is not None or self.scale_prior is not None
            by_cells = share(_cell_tables, self.total, None if is_free else self.kappa0, self.a0, self.zeta)
            self._hold(by_cells)
            self.free_cell_c = doubles_of(by_cells.log_c)
            self.cell_c, self.cell_n = doubles_of(by_cells.log_c), doubles_of(by_cells.log_n)
            if self.weights is None and self.scale_prior is not None:
                self.cell_c = self.own_cell_c = self.memory.doubles(self.total + 2)
            self.log_unit = np.log(numbers_at(self.units, self.stride))

    cdef void scales_changed(self) noexcept nogil:
        cdef Py_ssize_t n
        cdef double kappa
        DenseGaussian.scales_changed(self)
        if self.gapped and self.weights is None:
            for n in range(self.total + 2):
                kappa = self.kappa0 + n
                self.own_cell_c[n] = self.free_cell_c[n] + 0.5 * log(kappa / (kappa + 1.0))

    def _make_room(self):
        cdef Py_ssize_t i
        if not self.gapped:
            DenseGaussian._make_room(self)
            return
        self.theta = self.memory.doubles(3 * self.gapped)
        self.weights.set_cells([self.columns_in(self.point(i)) for i in range(self.N)])

    cdef void measure(self) noexcept nogil:
        self.n_squares, self.rows, self.step = self.D, 2 * self.D + ROWS * self.gapped, 16
        self.kept = SUM + 2 if self.weights is None else LOG_SUM + 2
        if self.gapped:
            self.width = self.D + self.kept * self.gapped

    # -- statistics
    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        if self.weights is None:
            self.count(k, self.point(i), sign)
        else:
            self.count_row(i, k, sign)

    cdef void count(self, Py_ssize_t k, const double *x, int sign) noexcept nogil:
        count_point(self.sums_of(k), self.squares_of(k), x, self.D, 1, sign)
        if self.gapped:
            count_cells(self.column(self.squares_of(k), 0), x + self.D, self.gapped, sign)

    cdef void count_row(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        cdef Py_ssize_t d
        cdef const double *x = self.point(i)
        cdef whole *column = self.squares_of(k)
        if not self.gapped:
            DenseGaussian.count_row(self, i, k, sign)
        for d in range(self.gapped):
            if x[d] == x[d]:
                count_weighted(column, x + d, 1, 1, False, sign * self.weights.parts[i], sign * self.weights.logs[i])
                column[self.kept - 1] += sign
            column += self.kept

    cdef inline whole *column(self, const whole *square, Py_ssize_t d) noexcept nogil:
        """The numbers of the d-th column that is scored cell by cell."""
        return <whole *> square + self.D + self.kept * d

    cdef inline Py_ssize_t cells(self, const whole *column) noexcept nogil:
        return <Py_ssize_t> column[self.kept - 1]

    cdef double posterior_of(self, const whole *column, Py_ssize_t d, double *mean, double *scatter) noexcept nogil:
        """m_n and b_n of a column in a cluster; returns kappa_n."""
        cdef Py_ssize_t n = self.cells(column)
        cdef int64_t sum = <int64_t> column[SUM]
        cdef double[2] work
        cdef double weight = n, off, kappa, pull
        if self.weights is None:
            moments_diag(&sum, column, 1, n, self.inverse[n], mean, scatter)
        else:
            weight = moments_weighted(column, 1, 1, False, work, mean, scatter)
        d += self.D
        off, kappa = mean[0] - self.m0[d], self.kappa0 + weight
        pull = weight / kappa
        scatter[0] = self.b0[d] + 0.5 * (scatter[0] + weight * self.grain[d] + self.kappa0 * pull * off * off)
        mean[0] = self.m0[d] + pull * off
        return kappa

    cdef void moments(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                      double *scatter) noexcept nogil:
        moments_diag(sum, square, self.D, n, self.inverse[n], mean, scatter)

    cdef double posterior_with(self, const int64_t *sum, const whole *square, Py_ssize_t n, double times, double *mean,
                               double *scatter) noexcept nogil:
        cdef Py_ssize_t d
        cdef double weight = n, kappa, pull, total = 0.0, off = 1.0
        if self.weights is None:
            self.moments(sum, square, n, mean, scatter)
        else:
            weight = self.gather(sum, square, n, mean, scatter)
        kappa = self.kappa0 + weight
        pull = self.kappa0 * weight / kappa
        for d in range(self.D):
            settle_column(mean + d, scatter + d, self.m0[d], self.b0[d], times * self.grain[d], weight, kappa, pull)
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

    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d, n
        cdef double kappa
        cdef double *row = self.block_of(k) + 16 * self.D
        cdef const whole *column = self.column(self.squares_of(k), 0)
        self.stale[k] = False
        if self.D:
            DenseGaussian.settle(self, k)
        for d in range(self.gapped):
            n = self.cells(column)
            kappa = self.posterior_of(column, d, row, self.scatter)
            row[8 * GAIN] = 0.5 / self.scatter[0]
            row[8 * LEVEL] = self.cell_c[n] - 0.5 * self.zeta * log(self.scatter[0])
            row[8 * DEGREE] = -self.zeta * (self.a_n(n) + 0.5)
            row[8 * BASE] = kappa - self.kappa0
            if self.weights is None:
                row[8 * BASE] = 1.0 + row[8 * GAIN] * self.grain[self.D + d]
                row[8 * GAIN] *= kappa / (kappa + 1.0)
            row += 8 * ROWS
            column += self.kept

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
        if self.weights is not None or self.gapped:
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
        return np.log1p(0.5 * shrink / numbers_at(self.scatter, self.D) * off ** 2).sum(axis=1)

    cdef void score(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        """As of any product of factors, without asking a class for its parts; then the columns cell by cell."""
        cdef double *turn = self.lane
        cdef double *log_q = self.lane + 32
        cdef double level = 0.0, degree = 0.0
        if self.weights is not None:
            DenseGaussian.score(self, i, block, own)
            return
        if self.D:
            if own >= 0 and not self.coarse:
                turn = self.lane + 8
                memcpy(turn, self.lane, 8 * sizeof(double))
                self.take_out_of(own, turn + own - block, &level, &degree)
            score_points(self.at + block * self.rows, self.point(i), self.D, self.piece, turn, self.level + block,
                         self.degree + block, log_q, self.left + block, self.power + block)
            if own >= 0:
                self.power[own] = (self.score_counted(i, own) if self.coarse
                                   else level + degree * log_q[own - block])
        else:
            self.forget_block(block)
        if self.gapped:
            self.score_cells(self.point(i) + self.D, 1.0, block, own)
        if own >= 0:
            self.keep_digits(i, block, own)

    # -- columns that are scored cell by cell
    cdef void score_weighted(self, const double *x, double w, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        if not self.gapped:
            DenseGaussian.score_weighted(self, x, w, block, own)
            return
        self.forget_block(block)
        self.score_cells(x, w, block, own)

    cdef void forget_block(self, Py_ssize_t block) noexcept nogil:
        """Score nothing, as of no columns."""
        cdef Py_ssize_t k
        for k in range(block, block + 8):
            self.power[k], self.left[k] = 0.0, 1.0

    cdef void score_cells(self, const double *x, double w, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        """Add these cells' scores to ``power``; where rows have weights, this one has weight w."""
        cdef Py_ssize_t d, n
        cdef double total = self.power[own] if own >= 0 else 0.0, rest, kappa, q, e, product = 1.0
        cdef const double *row = self.at + block * self.rows + 16 * self.D
        if self.weights is None:
            add_cells(row, x, self.gapped, self.power + block)
        else:
            add_weighted(row, x, self.grain, self.gapped, self.kappa0, w, self.power + block)
        if own < 0:
            return
        row += own - block
        for d in range(self.gapped):
            if x[d] == x[d]:
                n = self.cells(self.column(self.squares_of(own), d))
                e = x[d] - row[0]
                if self.weights is None:
                    kappa = self.kappa0 + n
                    q = 2.0 - row[8 * BASE] - row[8 * GAIN] * (kappa + 1.0) / (kappa - 1.0) * e * e
                else:
                    rest = self.kappa0 + (row[8 * BASE] - w)
                    q = 1.0 - row[8 * GAIN] * w * ((rest + w) / rest * e * e + self.grain[d])
                    product *= w * rest / (rest + w)
                    if d % 4 == 3:
                        total += 0.5 * log(product)
                        product = 1.0
                self.left[own] = min(self.left[own], q)
                total += row[8 * LEVEL] - self.cell_c[n] + self.cell_c[n - 1] + self.zeta * self.a_n(n - 1) * log(q)
            row += 8 * ROWS
        self.power[own] = total if self.weights is None else total + 0.5 * log(product)

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        cdef double total = DenseGaussian.cluster_log_lik(self, k) if self.D else 0.0
        return total + self.log_lik_of_cells(self.squares_of(k)) if self.gapped else total

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef double total = DenseGaussian.log_union(self, a, b)
        return total + self.log_lik_of_cells(self.both_square) if self.gapped else total

    cdef double log_weights_of(self, const whole *square) noexcept nogil:
        return 0.0 if self.gapped else DenseGaussian.log_weights_of(self, square)

    cdef double log_lik_of_cells(self, const whole *square) noexcept nogil:
        """Log marginal likelihood of the cells with these sums."""
        cdef Py_ssize_t d, n
        cdef double kappa, b0, mean, scatter, total = 0.0
        cdef const whole *column = self.column(square, 0)
        for d in range(self.gapped):
            n, b0 = self.cells(column), self.b0[self.D + d]
            kappa = self.posterior_of(column, d, &mean, &scatter)
            total += (self.cell_n[n] - self.zeta * (self.a_n(n) * log(scatter / b0)
                                                    + n * (0.5 * log(b0) + self.log_unit[self.D + d]))
                      + 0.5 * log(self.kappa0 / kappa))
            if self.weights is not None:
                total += 0.5 * ldexp(whole_double(column[LOG_SUM]), -LOG_FRACTION)
            column += self.kept
        return total

    cdef object densities_in(self, points, Py_ssize_t k):
        """As of all columns; a cell that is missing has none."""
        cdef Py_ssize_t d, n
        cdef double kappa, mean, b, a, shrink
        cdef const whole *column
        found = DenseGaussian.densities_in(self, points[:, :self.D], k)
        for d in range(self.gapped):
            column = self.column(self.squares_of(k), d)
            n = self.cells(column)
            kappa = self.zeta * self.posterior_of(column, d, &mean, &b)
            a, b, shrink = self.zeta * self.a_n(n), self.zeta * b, kappa / (kappa + 1.0)
            off = points[:, self.D + d] - mean
            found = found + np.where(np.isnan(off), 0.0, (
                lgamma(a + 0.5) - lgamma(a) + 0.5 * log(shrink / (2.0 * M_PI * b)) - self.log_unit[self.D + d]
                - (a + 0.5) * np.log1p(0.5 * (self.grain[self.D + d] + shrink * off ** 2) / b)))
        return found

    cdef double log_units_of(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t d
        cdef double total = self.log_units
        for d in range(self.D, self.stride):
            if self.point(i)[d] == self.point(i)[d]:
                total += self.log_unit[d]
        return total

    cdef Py_ssize_t columns_in(self, const double *x) noexcept nogil:
        cdef Py_ssize_t d, n = self.D
        for d in range(self.D, self.stride):
            n += x[d] == x[d]
        return n

    cdef void draw_cells(self, Rng rng, Py_ssize_t k, double *theta) noexcept nogil:
        """Draw each column's mean and the root and log root of its precision, as ``tile_cells`` reads them; without a
        generator what to expect."""
        cdef Py_ssize_t d
        cdef double kappa, shape, precision, scatter
        cdef const whole *column = self.column(self.squares_of(k), 0)
        for d in range(self.gapped):
            kappa = self.posterior_of(column, d, theta, &scatter)
            # zeta times the precision, as b_n is over zeta
            shape = self.zeta * self.a_n(self.cells(column))
            precision = (shape if rng is None else rng.draw_gamma(shape)) / scatter
            if rng is not None:
                theta[0] += rng.draw_normal() / sqrt(kappa * precision)
            theta[1] = sqrt(precision)
            theta[2] = 0.5 * (self.zeta * log(precision / self.zeta) - self.grain[self.D + d] * precision)
            theta += 3
            column += self.kept

    cdef void draw_cluster(self, Rng rng, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        cdef double kappa, precision, mean, scatter
        cdef const whole *column = self.column(self.squares_of(k), 0)
        DenseGaussian.draw_cluster(self, rng, k)
        for d in range(self.gapped):
            kappa = self.posterior_of(column, d, &mean, &scatter)
            precision = rng.draw_gamma(self.zeta * self.a_n(self.cells(column))) / (self.zeta * scatter)
            self.scale_prior.count_precision(self.order[self.D + d], precision)
            if self.scale_prior.of_kappa0:
                # how far the drawn mean is from m0, in standard deviations of a cell
                self.scale_prior.count_distance(sqrt(precision) * (mean - self.m0[self.D + d])
                                                + rng.draw_normal() / sqrt(self.zeta * kappa))
            column += self.kept

    cdef void measure_distances(self, Rng rng, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d
        cdef double total, off
        cdef const double *x
        cdef int32_t i = self.head[k]
        if not self.gapped:
            DenseGaussian.measure_distances(self, rng, k)
            return
        self.draw_cells(rng, k, self.theta)
        while i >= 0:
            x, total = self.point(i), 0.0
            for d in range(self.gapped):
                if x[d] == x[d]:
                    off = x[d] - self.theta[3 * d]
                    total += self.theta[3 * d + 1] * self.theta[3 * d + 1] * (off * off + self.grain[d])
            self.weights.distance[i] = total
            i = self.after[i]

    def statistics(self):
        """As of all dense points; behind these, of each column that is scored cell by cell the square, the sum and the
        number of its cells, with weights those of the weights, too."""
        cdef Py_ssize_t k, d
        found = DenseGaussian.statistics(self)["counts"]
        cells = [[<double> (self.squares_of(k)[d]) for d in range(self.D, self.width)] for k in range(self.K)]
        return {"counts": np.hstack([found, np.array(cells)]) if self.gapped else found}


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
