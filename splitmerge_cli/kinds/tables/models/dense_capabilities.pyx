"""What mixtures of normal distributions of dense points can be asked for: parameters drawn, sums of shards, a plug-in
density."""
cimport cython
from libc.math cimport M_PI, exp, lgamma, log, sqrt
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from splitmerge_cli.core.capabilities cimport TILE_ITEMS, DrawnParameters, PlugIn, Shards
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian
from splitmerge_cli.kinds.tables.models.normal cimport DIAG
from splitmerge_cli.kinds.tables.models.packed_factor cimport draw_factor

cdef extern from "tiles.h":
    void tile_diag(const double *theta, Py_ssize_t D, const double *x, double log_weight, const double *floor,
                   double *out) noexcept nogil
    void tile_full(const double *theta, Py_ssize_t D, const double *x, double log_weight, const double *floor,
                   double *out) noexcept nogil
    Py_ssize_t tile_factor_size(Py_ssize_t D) noexcept nogil
    void tile_pack_factor(const double *factor, const double *mean, Py_ssize_t D, double *packed) noexcept nogil

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


@cython.final
cdef class FullParameters(DenseParameters):
    """Mean and covariance matrix; their densities are not known."""

    def __init__(self, DenseGaussian model not None):
        super().__init__(model)
        self.size, self.posterior_size, self.dimension = 1 + tile_factor_size(model.D), 0, 0

    cdef void draw_posterior(self, Rng rng, Py_ssize_t k, double *theta, double *work) noexcept nogil:
        """Mean and factor as ``tile_full`` reads them; of a power as ``DenseParameters`` says."""
        cdef Py_ssize_t d, c, n = self.model.size[k], D = self.model.D
        cdef double *F = work + D + 2 * self.model.n_squares
        cdef double zeta = self.model.zeta
        self.model.posterior(self.model.sums_of(k), self.model.squares_of(k), n, work, work + D)
        theta[0] = zeta * draw_factor(rng, D, zeta * self.model.a_n(n), self.model.kappa_of(k), work)
        theta[0] -= D * (0.5 * zeta * log(zeta))
        if self.model.coarse:
            for d in range(D):
                for c in range(d + 1):
                    theta[0] -= 0.5 * self.model.grain[c] * F[d * (d + 1) // 2 + c] ** 2
        tile_pack_factor(F, work, D, theta + 1)

    cdef void score_tile(self, const double *tile, const double *theta, double log_weight, const double *floor,
                         double *out) noexcept nogil:
        tile_full(theta, self.model.D, tile, log_weight, floor, out)


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
