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
zeta: kappa_n, a_n and b_n are zeta times those of the prior kappa0 / zeta, a0 / zeta, b0 / zeta (docs/derivations.md,
"A power of the likelihood"). The model keeps these, so that q is what it is without a power, and multiplies degrees and
log b_n by zeta.

b0 and kappa0 are numbers, or have gamma priors (Richardson and Green 1997; ``scale_prior.pyx``) and are resampled.
"""
cimport cython
from libc.math cimport INFINITY, M_PI, exp, fabs, lgamma, log, rint, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np
import scipy.sparse
from scipy.special import gammaincinv, stdtrit

from splitmerge_cli.core.capabilities cimport TILE_ITEMS, DrawnParameters, PlugIn, Shards
from splitmerge_cli.core.memory cimport doubles, doubles_of, ints_of, larger
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.models.normal cimport DIAG, FULL, ISO, Normal
from splitmerge_cli.models.scale_prior cimport Scaled, ScalePrior

from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.core.fixed_point import resolution
from splitmerge_cli.core.options import Gamma, read_options
from splitmerge_cli.core.rows import Rows
from splitmerge_cli.core.shared import Prepared, as_array, share
from splitmerge_cli.models.normal import POWER, prior_of, resolutions_of, settle_resolution, unit_of
from splitmerge_cli.models.scale_prior import LEAST_SCALE
from splitmerge_cli.models.simulation import simulate_points

# options that say how the data are prepared
_OF_DATA = ("covariance", "kappa0", "m0", "b0", "resolution", "power", "a0")
# for the calibration: a prior that does not depend on the data, columns that are not recorded to a resolution
_FIXED = {"concentration": "gamma(2,2)", "m0": 0, "b0": 1, "resolution": 0}
COLUMNS = 1 << 17
"""Numbers of the data that are prepared at the same time, a column at least."""
REACH = 8.0
"""A missing cell is within so many times the half range of its column of the middle, or where the prior puts it, if
that is farther: sums have room for that."""
BEYOND = 1e-4
"""Prior probability of a cell beyond the reach, b0 and kappa0 at their numbers or at such quantiles of their priors as
`UNLIKELY` says."""
UNLIKELY = 0.01
MOST_SCALES = 1e3
"""The reach is no more than so many scales from the prior's mean, which a0 below 0.6 would make it."""

cdef extern from "simd_math.h":
    pass

cdef extern from "tiles.h":
    void tile_diag(const double *theta, Py_ssize_t D, const double *x, double log_weight, const double *floor,
                   double *out) noexcept nogil
    void tile_full(const double *theta, Py_ssize_t D, const double *x, double log_weight, const double *floor,
                   double *out) noexcept nogil
    Py_ssize_t tile_factor_size(Py_ssize_t D) noexcept nogil
    void tile_pack_factor(const double *factor, const double *mean, Py_ssize_t D, double *packed) noexcept nogil

cdef extern from *:
    """
    /* Scores of a point against eight clusters. `turn` is 1, or minus (kappa_n + 1) / (kappa_n - 1) in the lane of the
       cluster that counts the point. A block holds mean, gain (diag) or mean (iso, full) by dimension, eight lanes
       each; full: then the rows of the Cholesky factor of Psi_n, the reciprocals of its diagonal on the diagonal. */

    static inline void score_diag(const double *block, const double *x, ptrdiff_t D, ptrdiff_t piece,
                                  const double *turn, double *log_q, double *left)
    {
        EACH_LANE(h) {
            const lanes t = LANES_AT(turn + h), one = (lanes){0} + 1.0;
            lanes all = one, total = {0};
            for (ptrdiff_t from = 0; from < D; from += piece) {
                const ptrdiff_t to = from + piece < D ? from + piece : D;
                lanes p = one, q = one;
                ptrdiff_t d = from;
                #define FACTOR(d) ({ const double *b = block + 16 * (d) + h; \\
                                     const lanes e = x[d] - LANES_AT(b); 1.0 + t * LANES_AT(b + 8) * e * e; })
                for (; d + 2 <= to; d += 2) {
                    p *= FACTOR(d);
                    q *= FACTOR(d + 1);
                }
                if (d < to)
                    p *= FACTOR(d);
                p *= q;
                all *= p;
                total += lanes_log(p);
            }
            LANES_TO(log_q + h) = total;
            LANES_TO(left + h) = all;
        }
    }

    /* The lanes from h on. */
    static inline void score_distance(ptrdiff_t h, lanes distance, const double *gain, const double *turn,
                                      double *log_q, double *left)
    {
        const lanes q = 1.0 + LANES_AT(turn + h) * LANES_AT(gain + h) * distance;
        LANES_TO(log_q + h) = lanes_log(q);
        LANES_TO(left + h) = q;
    }

    static inline void score_iso(const double *block, const double *x, ptrdiff_t D, const double *gain,
                                 const double *turn, double *log_q, double *left)
    {
        EACH_LANE(h) {
            lanes s = {0};
            for (ptrdiff_t d = 0; d < D; d++) {
                const lanes e = x[d] - LANES_AT(block + 8 * d + h);
                s += e * e;
            }
            score_distance(h, s, gain, turn, log_q, left);
        }
    }

    static inline void score_full(const double *block, const double *x, ptrdiff_t D, const double *gain,
                                  const double *turn, double *work, double *log_q, double *left)
    {
        EACH_LANE(h) {
            const double *row = block + 8 * D + h;
            double *u = work + h;
            lanes s = {0};
            for (ptrdiff_t r = 0; r < D; r++) {
                lanes e = x[r] - LANES_AT(block + 8 * r + h), f = {0}, g = f, k = f;
                ptrdiff_t c = 0;
                for (; c + 4 <= r; c += 4) {
                    e -= LANES_AT(row + 8 * c) * LANES_AT(u + 8 * c);
                    f += LANES_AT(row + 8 * c + 8) * LANES_AT(u + 8 * c + 8);
                    g += LANES_AT(row + 8 * c + 16) * LANES_AT(u + 8 * c + 16);
                    k += LANES_AT(row + 8 * c + 24) * LANES_AT(u + 8 * c + 24);
                }
                for (; c < r; c++)
                    e -= LANES_AT(row + 8 * c) * LANES_AT(u + 8 * c);
                e = (e - (f + (g + k))) * LANES_AT(row + 8 * r);
                LANES_TO(u + 8 * r) = e;
                s += e * e;
                row += 8 * (r + 1);
            }
            score_distance(h, s, gain, turn, log_q, left);
        }
    }

    /* power = level + degree log q */
    static inline void score_power(const double *level, const double *degree, const double *log_q, double *power)
    {
        EACH_LANE(h)
            LANES_TO(power + h) = LANES_AT(level + h) + LANES_AT(degree + h) * LANES_AT(log_q + h);
    }

    static inline void score_weigh(const double *W, const double *power, double top, double *w)
    {
        EACH_LANE(h)
            LANES_TO(w + h) = LANES_AT(W + h) * lanes_exp(LANES_AT(power + h) - top);
    }

    /* Sums of x and of its squares (diag), of all squares (iso), of all products (full), in units. */
    enum { DIAG, ISO, FULL };       /* as in normal.pxd */

    static inline void gauss_count(int64_t *sum, whole *square, const double *x, ptrdiff_t D, int kind, int64_t sign)
    {
        for (ptrdiff_t d = 0; d < D; d++) {
            const int64_t v = (int64_t)x[d], signed_v = sign * v;
            sum[d] += signed_v;
            if (kind == FULL)
                for (ptrdiff_t c = 0; c <= d; c++)
                    *square++ += (whole)signed_v * (int64_t)x[c];
            else
                square[kind == DIAG ? d : 0] += (whole)v * signed_v;
        }
    }

    /* full: coordinate c of a point that is counted becomes another. */
    static inline void gauss_change(int64_t *sum, whole *square, double *x, ptrdiff_t D, ptrdiff_t c, double to)
    {
        const int64_t from = (int64_t)x[c], now = (int64_t)to, off = now - from;
        whole *row = square + c * (c + 1) / 2;
        sum[c] += off;
        for (ptrdiff_t d = 0; d < c; d++)
            row[d] += (whole)off * (int64_t)x[d];
        row[c] += (whole)now * now - (whole)from * from;
        for (ptrdiff_t d = c + 1; d < D; d++) {
            row += d;
            row[c] += (whole)off * (int64_t)x[d];
        }
        x[c] = to;
    }

    static inline void gauss_absorb(int64_t *sum, whole *square, const int64_t *more, const whole *more_square,
                                    ptrdiff_t D, ptrdiff_t n_squares)
    {
        for (ptrdiff_t d = 0; d < D; d++)
            sum[d] += more[d];
        for (ptrdiff_t r = 0; r < n_squares; r++)
            square[r] += more_square[r];
    }

    /* Sum of products, in four partial sums to hide the latency of an addition. */
    static inline double inner(const double *a, const double *b, ptrdiff_t n)
    {
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
        ptrdiff_t r = 0;
        for (; r + 4 <= n; r += 4) {
            s0 += a[r] * b[r];
            s1 += a[r + 1] * b[r + 1];
            s2 += a[r + 2] * b[r + 2];
            s3 += a[r + 3] * b[r + 3];
        }
        for (; r < n; r++)
            s0 += a[r] * b[r];
        return (s0 + s1) + (s2 + s3);
    }

    /* Means of n points, and their scatter about them: D numbers (diag), one (iso), or D (D + 1) / 2 (full). */
    static inline void gauss_moments(const int64_t *sum, const whole *square, ptrdiff_t D, int kind, int64_t n,
                                     double inverse, double *mean, double *scatter)
    {
        whole all = kind == ISO ? *square * n : 0;
        for (ptrdiff_t d = 0; d < D; d++) {
            mean[d] = (double)sum[d] * inverse;
            if (kind == DIAG)
                scatter[d] = whole_double(whole_scatter(n, square[d], sum[d], sum[d])) * inverse;
            else if (kind == ISO)
                all -= (whole)sum[d] * sum[d];
            else
                for (ptrdiff_t c = 0; c <= d; c++, square++)
                    *scatter++ = whole_double(whole_scatter(n, *square, sum[d], sum[c])) * inverse;
        }
        if (kind == ISO)
            *scatter = whole_double(all) * inverse;
    }
    """
    void score_diag(const double *block, const double *x, Py_ssize_t D, Py_ssize_t piece, const double *turn,
                    double *log_q, double *left) noexcept nogil
    void score_iso(const double *block, const double *x, Py_ssize_t D, const double *gain, const double *turn,
                   double *log_q, double *left) noexcept nogil
    void score_full(const double *block, const double *x, Py_ssize_t D, const double *gain, const double *turn,
                    double *work, double *log_q, double *left) noexcept nogil
    void score_power(const double *level, const double *degree, const double *log_q, double *power) noexcept nogil
    void score_weigh(const double *W, const double *power, double top, double *w) noexcept nogil
    void gauss_count(int64_t *sum, whole *square, const double *x, Py_ssize_t D, int kind, int64_t sign) noexcept nogil
    void gauss_change(int64_t *sum, whole *square, double *x, Py_ssize_t D, Py_ssize_t c, double to) noexcept nogil
    void gauss_absorb(int64_t *sum, whole *square, const int64_t *more, const whole *more_square, Py_ssize_t D,
                      Py_ssize_t n_squares) noexcept nogil
    double inner(const double *a, const double *b, Py_ssize_t n) noexcept nogil
    void __builtin_prefetch(const void *p) noexcept nogil
    void gauss_moments(const int64_t *sum, const whole *square, Py_ssize_t D, int kind, int64_t n, double inverse,
                       double *mean, double *scatter) noexcept nogil

# points before the one that is read
cdef enum:
    AHEAD = 8

# A point's own share is taken out in closed form while q keeps its digits, and by counting where it does not.
cdef double LEAST_LEFT = 1e-4


class PointsSummary:
    """Facts about all points that the model of a part of them, or of none, needs.

    Parameters
    ----------
    N : int
        Points.
    low, high : array_like of float, shape (D,)
        Least and largest coordinates.
    covariance : str
    mean, variance : array_like of float, shape (D,), optional
        Means from the middle of each column, and variances; by default those of a uniform
        distribution, for a shard, whose prior is not used.
    """

    def __init__(self, Py_ssize_t N, low, high, str covariance, mean=None, variance=None):
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        if not ((low >= -1e30) & (high <= 1e30)).all():
            raise ValueError("x: a coordinate is not a finite number of magnitude at most 1e30")
        self.N, self.centre = N, low / 2 + high / 2
        self.span = (high - self.centre) - (low - self.centre)
        self.widest = np.maximum(np.abs(low - self.centre), np.abs(high - self.centre))
        self.units = _units(self.widest, N, covariance)
        self.mean = np.zeros(len(low)) if mean is None else np.asarray(mean, dtype=np.float64)
        self.variance = self.span ** 2 / 12 if variance is None else np.asarray(variance, dtype=np.float64)


def _units(widest, Py_ssize_t N, str covariance):
    units = resolution(widest, N)
    if covariance == "iso":
        units[:] = resolution(widest.max(), N, len(widest))
    return units


def _reach_of(half, location, scale, b0, kappa0, double a0):
    """How far from the middle of its column a missing cell may be, ndarray of float of shape (D,); `scale`: b0 and the
    grain of a cell."""
    if isinstance(b0, Gamma):
        scale = scale * gammaincinv(b0.shape, 1.0 - UNLIKELY) / b0.shape
    if isinstance(kappa0, Gamma):
        kappa0 = max(gammaincinv(kappa0.shape, UNLIKELY) / kappa0.rate, 1e-9)
    # a cell of a cluster without others has a t distribution
    quantile = min(stdtrit(2.0 * a0, 1.0 - 0.5 * BEYOND), MOST_SCALES)
    farthest = np.abs(location) + quantile * np.sqrt(scale / a0 * (1.0 + 1.0 / kappa0))
    return np.maximum(REACH * np.where(half > 0.0, half, 1.0), farthest)


def _prepare(given, str covariance, kappa0, m0, b0, steps, double zeta, double a0, known=None, summary=None):
    """Points in units from their column's middle, and the prior with them, some columns at a time, so that no other
    array of the data's size is made; a ValueError for what are no points, or a prior out of range. Of the points the
    first `known` say what these are; new ones beyond their range are put on its edge. With a `PointsSummary`, of which
    these are a part, they are written over."""
    resampled, absent = isinstance(b0, Gamma), None
    points = np.asarray(given, dtype=None if given.dtype == np.float32 and summary is None else np.float64)
    cdef Py_ssize_t N = points.shape[0] if points.ndim else 0, D, d, first, step
    if summary is None:
        if points.ndim != 2 or not points.size:
            raise ValueError(f"x: expected points, an array of shape (N, D), got {points.shape}")
        absent = np.isnan(points) if covariance == "full" and np.isnan(points.min()) else None
        # a NaN fails both
        seen = points if absent is None else points[~absent]
        if seen.size and not (seen.min() >= -1e30 and seen.max() <= 1e30):
            raise ValueError("x: a coordinate is not a finite number of magnitude at most 1e30")
    elif not N:
        # no pointer leads into an empty array
        points = np.zeros((1, points.shape[1]))
    D = points.shape[1]
    step = max(1, COLUMNS // max(N, 1))
    centre, mean, variance, widest = np.empty(D), np.empty(D), np.empty(D), np.empty(D)
    span, x = np.empty(D), np.empty(points.shape) if summary is None else points
    for first in range(0, D if summary is None else 0, step):
        # a column is a row here: its sum is the same whether it stands alone or not
        part = np.array(points[:known, first:first + step].T, dtype=np.float64, order="C")
        here = slice(first, first + len(part))
        if absent is not None:
            # missing cells as the middle, which the others alone determine
            for d in range(len(part)):
                cells = part[d][~np.isnan(part[d])]
                middle = cells.min() / 2 + cells.max() / 2 if cells.size else 0.0
                cells = cells - middle if cells.size else np.zeros(1)
                centre[first + d], mean[first + d], variance[first + d] = middle, cells.mean(), cells.var()
                span[first + d], widest[first + d] = np.ptp(cells), np.abs(cells).max()
            continue
        # the middle as a number that loses no digit of points near it
        centre[here] = part.min(axis=1) / 2 + part.max(axis=1) / 2
        part -= centre[here, None]
        mean[here], variance[here], span[here] = part.mean(axis=1), part.var(axis=1), np.ptp(part, axis=1)
        widest[here] = np.abs(part).max(axis=1)
    if summary is not None:
        N, centre, mean, variance = summary.N, summary.centre, summary.mean, summary.variance
        span, widest = summary.span, summary.widest
    location, scale = prior_of(covariance, m0, b0, mean, variance, span, centre)
    found = resolutions_of(steps, D, (points[:known, d] for d in range(D)) if summary is None else None)
    usual, rare = widest, np.zeros(D)
    if absent is not None:
        # room for what is drawn in place of missing cells
        gapped = absent[:known].any(axis=0)
        reach = _reach_of(widest, location, scale + found ** 2 / 24.0, b0, kappa0, a0)
        usual = np.where(gapped, REACH * np.where(widest > 0.0, widest, 1.0), widest)
        widest = np.where(gapped, reach, widest)
        # a single cell there, which is all that is likely to be
        rare = np.where(gapped, (widest + np.abs(location)) ** 2, 0.0)
    units = _units(widest, N, covariance)
    if known is not None:
        N = known
    scale, kappa0 = scale / zeta, kappa0 if isinstance(kappa0, Gamma) else kappa0 / zeta
    unit = unit_of(covariance, b0, variance)
    # the least multiple of the variance that a resampled scale may become
    least = LEAST_SCALE
    if covariance == "full" and D > 1:
        # a factorisation loses what the scatter exceeds the prior's by
        most = N if isinstance(kappa0, Gamma) else min(kappa0, N)
        largest = N * variance + np.maximum(most * (usual + np.abs(location)) ** 2, min(most, 1.0) * rare)
        least = max(least, zeta * 5e-11 * (largest / unit).max())
        narrow = 2.0 * scale < 1e-10 * largest
        if narrow.any():
            d = int(narrow.argmax())
            found = f"a prior of mean {zeta * scale[d]:.3g}" if resampled else f"{zeta * scale[d]:.3g}"
            raise ValueError(f"model.b0: expected at least {zeta * 5e-11 * largest[d]:.3g} in column {d + 1} with "
                             f"covariance=full and this model.m0, got {found}: less leaves no digits of the "
                             "covariances")
    for first in range(0, D, step):
        here = slice(first, min(first + step, D))
        x[:, here] = np.rint((np.array(points[:, here], dtype=np.float64, order="C") - centre[here]) / units[here])
    if absent is not None:
        np.copyto(x, np.rint(mean / units), where=absent)
    if known is not None:
        np.clip(x[known:], -widest / units, widest / units, out=x[known:])
    # the widest factor of a product over dimensions
    narrowest = least * unit / zeta if resampled else scale
    factor = 1.0 + ((widest + np.abs(location)) / units) ** 2 * 2.0 / (narrowest / units ** 2)
    return {"x": x, "middle": centre, "units": units, "m0": location / units, "b0": scale / units ** 2,
            "grain": (found / units) ** 2 / 12.0, "coarse": bool(found.any()),
            "log_units": float(np.log(units).sum()), "log_b0": float(np.log(scale / units ** 2).sum()),
            "piece": max(1, min(D, int(300.0 / max(np.log10(factor).max(), 0.01)))),
            "unit": unit / units ** 2, "log_unit": float(np.log(unit[:1 if covariance == "iso" else D]).sum()),
            "least": float(least),
            "points": None if summary is not None or points.dtype == given.dtype else points,
            **_gaps(absent if known is None or absent is None else absent[:known], len(x), widest / units)}


def _gaps(absent, Py_ssize_t N, reach):
    """Rows with missing cells among those that are data, and these cells."""
    if absent is None or not absent.any():
        return {"gaps": 0}
    rows, columns = np.nonzero(absent)
    items, begin = np.unique(rows, return_index=True)
    gap_of = np.full(N, -1, dtype=np.int32)
    gap_of[items] = np.arange(len(items))
    return {"gaps": len(items), "gap_of": gap_of, "gap_item": items.astype(np.int32), "reach": reach,
            "gap_begin": np.append(begin, len(rows)).astype(np.int32), "gap_column": columns.astype(np.int32)}


def _without_power(params, str why):
    """A model's options less its power, for models that have none; a ValueError where it is not 1."""
    zeta = POWER.read(params.get("power", 1.0), "model")
    if zeta != 1.0:
        raise ValueError(f"model.power={zeta:g}: {why}; expected 1, which is all that such data have")
    return {key: value for key, value in params.items() if key != "power"}


@cython.final
cdef class Gaussian(Normal):
    """Mixture of normal distributions.

    Parameters
    ----------
    x : array_like of float, shape (N, D)
        Points; float32 and float64 arrays are kept as they are (for sparse ones see ``sparse_gaussian.pyx``).
    known : int, optional
        Points that are data; those behind them are new: only ``log_predictive`` asks for them, however far they are.
    **options
        See ``OPTIONS``. By default b0 is such that with a0 = 2 and kappa0 = 0.1 the prior spreads over the data; a
        column without spread counts as one of variance 1 (iso: of their mean).

    Raises
    ------
    ValueError
        For points that are not finite or out of range, or a parameter out of range.

    Notes
    -----
    Cost: a point against K clusters O(D K), full O(D^2 K), in blocks of eight clusters; a change of a cluster O(D),
    full O(D^3). Memory: 12 bytes a point; a cluster 40 D + 150, full 12 D^2; shared by the models of the same data, the
    data and 8 D + 40 bytes a point; b0 or kappa0 resampled: 32 bytes a point more. Sums are exact
    (docs/decisions/0006). A resampled scale stays between 1e-10 and 1e10 of the variance of its column (full: the lower
    end higher for many points, 5e-11 of the largest scatter). Points of which cells are missing, NaN: ``from_data``.
    """

    READS_MISSING = True
    OPTIONS = (*Normal.OPTIONS, POWER)
    CAPABILITIES = (GaussianParameters, GaussianShards, GaussianPlugIn)
    simulate = staticmethod(simulate_points)
    CALIBRATION = {
        "diag": {"options": _FIXED | {"covariance": "diag"}},
        "iso": {"options": _FIXED | {"covariance": "iso"}},
        "full": {"options": _FIXED | {"covariance": "full"}},
        "diag, mfm": {"options": _FIXED | {"concentration": 1, "prior": "mfm"}},
        "diag, dynamic_mfm": {"options": _FIXED | {"prior": "dynamic_mfm"}, "thin": 4},
        "diag, kappa0": {"options": _FIXED | {"kappa0": "gamma(2,10)"}},
        "diag, b0": {"options": _FIXED | {"b0": "gamma(4,4)"}},
        "diag, resolution": {"options": _FIXED | {"resolution": 0.5}},
        "full, gaps": {"options": _FIXED | {"covariance": "full"}, "gaps": 0.15},
        "diag, sparse": {"options": _FIXED | {"covariance": "diag", "resolution": "none"}, "is_sparse": True},
    }

    def __init__(self, x, known=None, **options):
        given = read_options("model", self.OPTIONS, {"resolution": "none"} | options)
        if scipy.sparse.issparse(x):
            raise ValueError("x: sparse points; expected an array (SparseGaussian takes them)")
        b0, kappa0, zeta = given["b0"], given["kappa0"], given["power"]
        points, how = x.values if isinstance(x, Rows) else as_array(x), [given[key] for key in _OF_DATA]
        if isinstance(x, Rows):
            self.total = x.total
            data = Prepared(_prepare(points, *how, known, x.summary))
        else:
            data = share(_prepare, points, *how, known)
        if data.points is not None:
            points = data.points
        cdef Py_ssize_t N = points.shape[0], D = points.shape[1]
        if zeta != 1.0 and data.gaps:
            raise ValueError(f"model.power={zeta:g}: a real cell is missing; expected 1 or model.covariance=diag, or a "
                             "table without missing cells")
        if isinstance(b0, Gamma) or isinstance(kappa0, Gamma):
            n = 1 if given["covariance"] == "iso" else D
            self.scale_prior = ScalePrior(b0, kappa0, zeta * data.b0[:n], data.unit[:n], data.units[:n] ** 2,
                                          data.log_unit, data.least)
            kappa0 = self.scale_prior.kappa0
        # half of nu0 has a0 and half of D - 1
        freedom = 0.5 * (D - 1) if given["covariance"] == "full" else 0.0
        a0 = given["a0"] if zeta == 1.0 else (given["a0"] + freedom) / zeta - freedom
        self._options(N, D, given["covariance"], kappa0 / zeta, a0, zeta)
        self.given = None if isinstance(x, Rows) else points
        self.vectors = None if data.gaps else self.given
        self.n_squares = D if self.shape_of == DIAG else 1 if self.shape_of == ISO else D * (D + 1) // 2
        self.rows = 2 * D if self.shape_of == DIAG else D if self.shape_of == ISO else D + self.n_squares
        self._hold(data)
        self._take(data)
        self._allocate(N, N)
        self._set_prior(given["prior"].build(self.total, given["concentration"]))
        self._constants()
        if self.scale_prior is not None:
            self._own_tables()
        self._start()

    @classmethod
    def from_data(cls, data, **params):
        """The model of a Dataset: a ``SparseGaussian`` of sparse points, a ``Mixed`` of points with missing cells."""
        cls._require(data)
        if scipy.sparse.issparse(data.values):
            from splitmerge_cli.models.sparse_gaussian import SparseGaussian
            return SparseGaussian(data.values, **_without_power(params, "the points are sparse"))
        params = settle_resolution(data, params)
        if data.missing:
            covariance = read_options("model", cls.OPTIONS, params)["covariance"]
            if covariance == "full":
                return super().from_data(data, **params)
            if covariance != "diag":
                raise ValueError(f"model.covariance={covariance}: {data.first_missing}; expected a table without "
                                 "missing cells, or model.covariance=diag or full, which read such tables")
            # alone: most tables miss nothing
            from splitmerge_cli.models.mixed import of_one_type
            return of_one_type(data.values, "real", **{k: v for k, v in params.items() if k != "covariance"})
        return super().from_data(data, **params)

    @classmethod
    def with_new(cls, data, whole, **params):
        full = params.get("covariance") == "full"
        if scipy.sparse.issparse(whole.values) or whole.missing and not full:
            return super().with_new(data, whole, **params)
        return super().from_data(whole, known=data.N, **settle_resolution(data, params))

    cdef int _take(self, data) except -1:
        """Take what ``_prepare`` made, and room for the work with it."""
        cdef Py_ssize_t d, D = self.D
        self.x, self.middle, self.units = doubles_of(data.x), doubles_of(data.middle), doubles_of(data.units)
        self.m0, self.b0 = doubles_of(data.m0), doubles_of(data.b0)
        self.grain, self.coarse, self.grains = doubles_of(data.grain), data.coarse, data.grain.sum()
        self.log_units, self.log_b0, self.piece = data.log_units, data.log_b0, data.piece
        self.work = doubles(8 * D)
        self.mean = doubles(D)
        self.scatter = doubles(max(D, self.n_squares))
        self.both_sum = <int64_t *> doubles(D)
        self.both_square = <whole *> doubles(2 * self.n_squares)
        self.lane = doubles(40)
        for d in range(8):
            self.lane[d] = 1.0
        self.gaps = data.gaps
        if self.gaps:
            self.gap_of, self.gap_item, self.gap_begin = (ints_of(data.gap_of), ints_of(data.gap_item),
                                                          ints_of(data.gap_begin))
            self.gap_column, self.reach = ints_of(data.gap_column), doubles_of(data.reach)
            self.n_imputed = self.gap_begin[self.gaps]
            self.filled = doubles(self.gaps * D)
            self.gap_next = <int32_t *> doubles(self.gaps)
            self.draws = doubles(7 * D * D + 9 * D + self.gaps)
            for d in range(self.gaps):
                memcpy(self.filled + d * D, self.x + self.gap_item[d] * D, 8 * D)
        return 0

    cdef int _own_tables(self) except -1:
        """Tables that follow b0 and kappa0, from those of the start, which the models of a run share."""
        cdef Py_ssize_t n, room = self.total + 2
        self.own_b0 = doubles(self.scale_prior.n)
        cdef double half = 0.5 * self.D, kappa
        self.free_c, self.free_n, self.own_c, self.own_n = doubles(room), doubles(room), doubles(room), doubles(room)
        for n in range(room):
            kappa = self.kappa0 + n
            self.free_c[n] = self.log_c[n] - half * (log(kappa) - log(kappa + 1.0))
            self.free_n[n] = (self.log_n[n] + half * (log(kappa) - log(self.kappa0))
                              + 0.5 * self.zeta * n * self.log_b0)
        self.log_c, self.log_n = self.own_c, self.own_n
        self.b0 = self.own_b0
        self.scales_changed()
        return 0

    def __dealloc__(self):
        free(self.free_c)
        free(self.free_n)
        free(self.own_c)
        free(self.own_n)
        free(self.own_b0)
        free(self.sum)
        free(self.square)
        free(self.at)
        free(self.gain)
        free(self.level)
        free(self.degree)
        free(self.log_det)
        free(self.power)
        free(self.left)
        free(self.stale)
        free(self.own_scatter)
        free(self.own_level)
        free(self.stale_own)
        free(self.work)
        free(self.mean)
        free(self.scatter)
        free(self.both_sum)
        free(self.both_square)
        free(self.lane)
        free(self.filled)
        free(self.gap_first)
        free(self.gap_next)
        free(self.draws)

    # -- statistics
    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef Py_ssize_t old = self.cap, k, row = self.rows * sizeof(double)
        self.sum = <int64_t *> larger(self.sum, 8 * self.D * old, 8 * self.D * cap)
        self.square = <whole *> larger(self.square, 16 * self.n_squares * old, 16 * self.n_squares * cap)
        self.at = <double *> larger(self.at, old * row, cap * row)
        self.gain = <double *> larger(self.gain, 8 * old, 8 * cap)
        self.level = <double *> larger(self.level, 8 * old, 8 * cap)
        self.degree = <double *> larger(self.degree, 8 * old, 8 * cap)
        self.log_det = <double *> larger(self.log_det, 8 * old, 8 * cap)
        self.power = <double *> larger(self.power, 8 * old, 8 * cap)
        self.left = <double *> larger(self.left, 8 * old, 8 * cap)
        self.stale = <int8_t *> larger(self.stale, old, cap)
        self.stale_own = <int8_t *> larger(self.stale_own, old, cap)
        if self.gaps:
            self.gap_first = <int32_t *> larger(self.gap_first, 4 * old, 4 * cap)
        if self.coarse:
            row = 8 * max(self.D, self.n_squares)
            self.own_scatter = <double *> larger(self.own_scatter, old * row, cap * row)
            self.own_level = <double *> larger(self.own_level, 8 * old, 8 * cap)
        for k in range(old, cap):
            self.stale[k] = True
        return 0

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        memset(self.sums_of(k), 0, 8 * self.D)
        memset(self.squares_of(k), 0, 16 * self.n_squares)
        self.stale[k] = True

    cdef void add(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        gauss_count(self.sums_of(k), self.squares_of(k), self.point(i), self.D, self.shape_of, 1)
        self.stale[k] = True

    cdef void remove(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        gauss_count(self.sums_of(k), self.squares_of(k), self.point(i), self.D, self.shape_of, -1)
        self.stale[k] = True

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        cdef Py_ssize_t r
        cdef double *here = self.at + (src >> 3) * 8 * self.rows + (src & 7)
        cdef double *there = self.at + (dst >> 3) * 8 * self.rows + (dst & 7)
        memcpy(self.sums_of(dst), self.sums_of(src), 8 * self.D)
        memcpy(self.squares_of(dst), self.squares_of(src), 16 * self.n_squares)
        self.stale[dst] = self.stale[src]
        self.stale_own[dst] = True
        if self.stale[src]:
            return
        for r in range(self.rows):
            there[8 * r] = here[8 * r]
        self.gain[dst] = self.gain[src]
        self.level[dst] = self.level[src]
        self.degree[dst] = self.degree[src]
        self.log_det[dst] = self.log_det[src]

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src) noexcept nogil:
        gauss_absorb(self.sums_of(dst), self.squares_of(dst), self.sums_of(src), self.squares_of(src), self.D,
                     self.n_squares)
        self.stale[dst] = True

    cdef int64_t *sums_of(self, Py_ssize_t k) noexcept nogil:
        return self.sum + self.D * k

    cdef whole *squares_of(self, Py_ssize_t k) noexcept nogil:
        return <whole *> (<char *> self.square + 16 * self.n_squares * k)

    # -- posterior of one cluster
    cdef double posterior(self, const int64_t *sum, const whole *square, Py_ssize_t n, double *mean,
                          double *scatter) noexcept nogil:
        """mean[:D]: m_n; scatter: b_n (full: the Cholesky factor of Psi_n), in units. Returns the sum over dimensions
        of log b_n (full: log det Psi_n)."""
        return self.posterior_with(sum, square, n, n, mean, scatter)

    cdef double posterior_with(self, const int64_t *sum, const whole *square, Py_ssize_t n, double times, double *mean,
                               double *scatter) noexcept nogil:
        """``posterior`` with so many times the grain, of which n points have n."""
        cdef Py_ssize_t d, c, at = 0, D = self.D
        cdef double kappa = self.kappa0 + n, pull = self.kappa0 * n / kappa, total = 0.0, off
        gauss_moments(sum, square, D, self.shape_of, n, self.inverse[n], mean, scatter)
        if self.shape_of == ISO:
            total = scatter[0]
        for d in range(D):
            mean[d] -= self.m0[d]
            if self.shape_of == DIAG:
                scatter[d] = self.b0[d] + 0.5 * (scatter[d] + times * self.grain[d] + pull * mean[d] * mean[d])
            elif self.shape_of == ISO:
                total += pull * mean[d] * mean[d]
            else:
                for c in range(d + 1):
                    scatter[at + c] += pull * mean[d] * mean[c]
                scatter[at + d] += 2.0 * self.b0[d] + times * self.grain[d]
                at += d + 1
        for d in range(D):
            mean[d] = self.m0[d] + n * mean[d] / kappa
        if self.shape_of == ISO:
            scatter[0] = self.b0[0] + 0.5 * (total + times * self.grains)
            return D * log(scatter[0])
        if self.shape_of == FULL:
            return factorise(scatter, D)
        off = 1.0
        for d in range(D):
            off *= scatter[d] / self.b0[d]
            if not 1e-200 < off < 1e200:
                total += log(off)
                off = 1.0
        return total + log(off) + self.log_b0

    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        """Bring what scores a point against cluster k up to date."""
        cdef Py_ssize_t d, n = self.size[k], D = self.D
        cdef double *block = self.at + (k >> 3) * 8 * self.rows + (k & 7)
        cdef double kappa = self.kappa0 + n, shrink = kappa / (kappa + 1.0), log_next = 0.0
        self.stale[k] = False
        self.stale_own[k] = True
        self.log_det[k] = self.posterior(self.sums_of(k), self.squares_of(k), n, self.mean, self.scatter)
        if self.coarse:
            # what scores another point has its grain, too
            log_next = self.posterior_with(self.sums_of(k), self.squares_of(k), n, n + 1.0, self.mean, self.scatter)
        if self.shape_of == DIAG:
            for d in range(D):
                block[16 * d] = self.mean[d]
                block[16 * d + 8] = 0.5 * shrink / self.scatter[d]
        else:
            for d in range(D):
                block[8 * d] = self.mean[d]
            self.gain[k] = 0.5 * shrink / self.scatter[0] if self.shape_of == ISO else shrink
        if self.shape_of == FULL:
            block += 8 * D
            for d in range(self.n_squares):
                block[8 * d] = self.scatter[d]
        self.level[k] = self.log_c[n] - 0.5 * self.zeta * self.log_det[k]
        self.degree[k] = self.zeta * (-self.a_n(n) - (0.5 * D if self.shape_of == ISO else 0.5))
        if self.coarse:
            self.level[k] += self.degree[k] * (log_next - self.log_det[k]) / (D if self.shape_of == ISO else 1)

    cdef void settle_own(self, Py_ssize_t k) noexcept nogil:
        """Bring what scores a point that cluster k counts up to date: the others have one grain less."""
        cdef Py_ssize_t n = self.size[k], per = self.D if self.shape_of == ISO else 1
        cdef double *scatter = self.own_scatter + k * max(self.D, self.n_squares)
        cdef double log_det = self.posterior_with(self.sums_of(k), self.squares_of(k), n, n - 1.0, self.mean, scatter)
        self.stale_own[k] = False
        self.own_level[k] = self.log_c[n - 1] + self.zeta * (self.a_n(n - 1) * log_det
                                                             - self.a_n(n) * self.log_det[k]) / per

    cdef double score_counted(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Log predictive of point i in cluster k, which counts it, given the others; left[k]."""
        cdef Py_ssize_t d, c, n = self.size[k], step = 16 if self.shape_of == DIAG else 8, at = 0
        cdef const double *x = self.point(i)
        cdef const double *mean = self.at + (k >> 3) * 8 * self.rows + (k & 7)
        cdef const double *scatter = self.own_scatter + k * max(self.D, self.n_squares)
        cdef double turn = (self.kappa0 + n) / (self.kappa0 + n - 1.0), e, total = 0.0, log_q = 0.0, q = 1.0
        if self.stale_own[k]:
            self.settle_own(k)
        for d in range(self.D):
            e = x[d] - mean[step * d]
            if self.shape_of == DIAG:
                q *= 1.0 - 0.5 * turn * e * e / scatter[d]
                if q < 1e-150:
                    log_q += log(q)
                    q = 1.0
                continue
            if self.shape_of == FULL:
                for c in range(d):
                    e -= scatter[at + c] * self.work[c]
                e *= scatter[at + d]
                self.work[d] = e
                at += d + 1
            total += e * e
        if self.shape_of == ISO:
            q = 1.0 - 0.5 * turn * total / scatter[0]
        elif self.shape_of == FULL:
            q = 1.0 - turn * total
        log_q += log(q)
        self.left[k] = exp(log_q)
        return self.own_level[k] + self.zeta * self.a_n(n - 1) * log_q

    # -- b0 and kappa0 resampled
    cdef void scales_changed(self) noexcept nogil:
        cdef Py_ssize_t n, d
        cdef double half = 0.5 * self.D, log_first, log_kappa, log_next
        self.kappa0 = self.scale_prior.kappa0 / self.zeta
        self.log_b0 = 0.0
        for d in range(self.scale_prior.n):
            self.own_b0[d] = self.scale_prior.b0[d] / self.zeta
            self.log_b0 += log(self.b0[d])
        if self.shape_of == ISO:
            self.log_b0 *= self.D
        log_first = log_kappa = log(self.kappa0)
        for n in range(self.total + 2):
            log_next = log(self.kappa0 + n + 1.0)
            self.own_c[n] = self.free_c[n] + half * (log_kappa - log_next)
            self.own_n[n] = self.free_n[n] - half * (log_kappa - log_first) - 0.5 * self.zeta * n * self.log_b0
            log_kappa = log_next
        for n in range(self.cap):
            self.stale[n] = True
            self.is_valid[n] = False

    cdef void draw_cluster(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """diag: for each column its precision, then its mean; iso: the precision of all, then the means; full:
        Bartlett's decomposition. Means only where kappa0 is resampled."""
        cdef Py_ssize_t d, n = self.size[k]
        cdef double a = self.zeta * self.a_n(n), noise = 1.0 / sqrt(self.zeta * (self.kappa0 + n)), precision = 0.0, off
        self.posterior(self.sums_of(k), self.squares_of(k), n, self.mean, self.scatter)
        if self.shape_of == FULL:
            self.draw_inverse_covariance(rng, a, noise)
            return
        for d in range(self.D):
            if d == 0 or self.shape_of == DIAG:
                precision = rng.draw_gamma(a) / (self.zeta * self.scatter[d])
                self.scale_prior.count_precision(d, precision)
            if self.scale_prior.of_kappa0:
                # how far the drawn mean is from m0, in standard deviations of a point
                off = sqrt(precision) * (self.mean[d] - self.m0[d]) + noise * rng.draw_normal()
                self.scale_prior.count_distance(off)

    cdef void draw_inverse_covariance(self, Rng rng, double a, double noise) noexcept nogil:
        """The inverse of a covariance matrix, M M' with M = L'^-1 A: L the Cholesky factor of Psi_n, in self.scatter
        that over the root of zeta, A lower triangular, column after column: the root of a chi-square of 2 a - c degrees
        of freedom, c from 0, then standard normals (Bartlett 1933)."""
        cdef Py_ssize_t r, c, s, D = self.D
        cdef double *column = self.work
        cdef double *u = self.work + D
        cdef double *solved = self.work + 2 * D
        cdef double *row = self.scatter
        cdef double v, off, root = sqrt(self.zeta)
        # u = L^-1 (m_n - m0)
        for r in range(D):
            v = self.mean[r] - self.m0[r]
            for s in range(r):
                v -= row[s] * u[s]
            u[r] = v * row[r]
            row += r + 1
        for r in range(D):
            u[r] /= root
        for c in range(D):
            for r in range(D):
                if r < c:
                    column[r] = 0.0
                else:
                    column[r] = rng.draw_normal() if r > c else sqrt(2.0 * rng.draw_gamma(a - 0.5 * c))
            if self.scale_prior.of_kappa0:
                off = noise * rng.draw_normal()
                for r in range(c, D):
                    off += column[r] * u[r]
                self.scale_prior.count_distance(off)
            for r in range(D - 1, -1, -1):
                v = column[r]
                for s in range(r + 1, D):
                    v -= self.scatter[s * (s + 1) // 2 + r] * solved[s]
                solved[r] = v * self.scatter[r * (r + 1) // 2 + r]
                self.scale_prior.count_precision(r, solved[r] * solved[r] / self.zeta)

    # -- probabilities
    cdef void score(self, Py_ssize_t i, Py_ssize_t block, Py_ssize_t own) noexcept nogil:
        """power[k] and left[k] of point i for the eight columns from `block` on; `own` of them, or -1, counts it."""
        cdef double *turn = self.lane
        cdef double *level = self.level + block
        cdef double *degree = self.degree + block
        cdef double *log_q = self.lane + 32
        cdef const double *x = self.point(i)
        cdef double *at = self.at + block * self.rows
        cdef Py_ssize_t lane, n
        cdef double kappa
        if own >= 0 and not self.coarse:
            lane = own - block
            n = self.size[own] - 1
            kappa = self.kappa0 + n
            turn = self.lane + 8
            memcpy(turn, self.lane, 8 * sizeof(double))
            memcpy(turn + 8, level, 8 * sizeof(double))
            memcpy(turn + 16, degree, 8 * sizeof(double))
            level = turn + 8
            degree = turn + 16
            turn[lane] = -(kappa + 2.0) / kappa
            level[lane] = self.log_c[n] - 0.5 * self.zeta * self.log_det[own]
            degree[lane] = self.zeta * self.a_n(n)
        if self.shape_of == DIAG:
            score_diag(at, x, self.D, self.piece, turn, log_q, self.left + block)
        elif self.shape_of == ISO:
            score_iso(at, x, self.D, self.gain + block, turn, log_q, self.left + block)
        else:
            score_full(at, x, self.D, self.gain + block, turn, self.work, log_q, self.left + block)
        score_power(level, degree, log_q, self.power + block)
        if own >= 0 and self.coarse:
            self.power[own] = self.score_counted(i, own)

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        if self.stale[k]:
            self.settle(k)
        self.score(i, k & ~7, -1)
        return self.power[k] - self.zeta * self.log_units

    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef Py_ssize_t block = a & ~7
        cdef double r
        if self.stale[a]:
            self.settle(a)
        if self.stale[b]:
            self.settle(b)
        self.score(i, block, own if own >= 0 and (own & ~7) == block else -1)
        if (b & ~7) != block:
            self.score(i, b & ~7, own if own == b else -1)
        if own >= 0 and not self.left[own] >= LEAST_LEFT:
            return Model.odds(self, i, a, b, own, sized)
        r = exp(self.power[b] - self.power[a])
        return r * self.weight_of(b, own == b) / self.weight_of(a, own == a) if sized else r

    cdef void weigh(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t m, double *w) noexcept nogil:
        cdef Py_ssize_t k, last = first + m - 1
        cdef double top = -INFINITY
        for k in range(first, last + 1):
            if self.stale[k]:
                self.settle(k)
        for k in range(first & ~7, last + 1, 8):
            self.score(i, k, -1)
        for k in range(first, last + 1):
            w[k - first] = self.weight_of(k, False)
            if self.power[k] > top and w[k - first] > 0.0:
                top = self.power[k]
        for k in range(first, last + 1):
            w[k - first] *= exp(self.power[k] - top) if w[k - first] > 0.0 else 1.0

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, own = self.z[i], m = self.K + 1, n, mine = own & ~7
        cdef double top = -INFINITY, w_own
        if own < 0:
            self.weigh(i, 0, m, self.w)
            return
        n = self.size[own] - 1
        w_own = self.W[own]
        for k in range(m):
            if self.stale[k]:
                self.settle(k)
        for k in range(0, m, 8):
            self.score(i, k, own if k == mine and n else -1)
        if n and not self.left[own] >= LEAST_LEFT:
            self.leave(i, own)
            self.settle(own)
            self.score(i, mine, -1)
            self.join(i, own)
        if n == 0:
            # its own cluster stands for the new one
            self.power[own] = self.power[self.K]
        # not of a new cluster that the prior rules out: it may outweigh all others
        for k in range(m if self.new_cluster_weight > 0.0 else self.K):
            if self.power[k] > top:
                top = self.power[k]
        if not self.power[self.K] <= top:
            self.power[self.K] = top
        self.W[own] = self.scan_weight(n)
        for k in range(0, m, 8):
            score_weigh(self.W + k, self.power + k, top, self.w + k)
        self.W[own] = w_own
        if n == 0:
            self.w[m - 1] = 0.0

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        if self.stale[k]:
            self.settle(k)
        return self.log_lik_of(self.size[k], self.log_det[k])

    cdef double log_lik_of(self, Py_ssize_t n, double log_det) noexcept nogil:
        cdef double prior = self.log_b0
        if self.shape_of == FULL:
            prior += self.D * log(2.0)
        return self.log_n[n] - self.zeta * self.a_n(n) * (log_det - prior) / (self.D if self.shape_of == ISO else 1)

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t n = self.size[a] + self.size[b]
        memcpy(self.both_sum, self.sums_of(a), 8 * self.D)
        memcpy(self.both_square, self.squares_of(a), 16 * self.n_squares)
        gauss_absorb(self.both_sum, self.both_square, self.sums_of(b), self.squares_of(b), self.D, self.n_squares)
        return self.log_lik_of(n, self.posterior(self.both_sum, self.both_square, n, self.mean, self.scatter))

    def log_densities(self, Py_ssize_t first):
        """In closed form, from the points as they were given: no factorisation holds a new one, which may be so far
        away that it leaves no digits of the others. Of a row with missing cells (full), that of the others. Under a
        power the density itself, not its power, with the parameters' posterior under the power."""
        cdef Py_ssize_t k, n, column, m = self.K - 1, D = self.D, start
        cdef double kappa, shrink, log_det, log_next
        cdef double[:] given_middle = <double[:D]> <double *> self.middle
        cdef double[:] given_units = <double[:D]> <double *> self.units
        cdef double[:] posterior_mean = <double[:D]> self.mean
        cdef double[:] posterior_scatter = <double[:self.n_squares]> self.scatter
        density = np.empty((self.N - first, m + 1))
        middle, units = np.asarray(given_middle), np.asarray(given_units)
        mean, scatter = np.asarray(posterior_mean), np.asarray(posterior_scatter)
        step = max(1, COLUMNS // D)
        self.begin_scan()
        for start in range(first, self.N, step):
            rows = slice(start - first, start - first + step)
            points = (np.asarray(self.given[start:start + step], dtype=np.float64) - middle) / units
            for k in range(m + 1):
                # the last of the clusters are the new items; behind it stands an empty column
                column = k if k < m else m + 1
                n = self.size[column]
                kappa = self.zeta * (self.kappa0 + n)
                # over zeta, since b_n is
                shrink = kappa / (kappa + 1.0) / self.zeta
                constant = self.log_c[n] if self.zeta == 1.0 else self.predictive_constant(n, 1.0)
                log_det = self.posterior(self.sums_of(column), self.squares_of(column), n, self.mean, self.scatter)
                log_next = self.posterior_with(self.sums_of(column), self.squares_of(column), n, n + 1.0 / self.zeta,
                                               self.mean, self.scatter) if self.coarse else log_det
                off = points - mean
                if self.shape_of == FULL:
                    absent = np.isnan(points)
                    if absent.any():
                        factor = np.zeros((D, D))
                        factor[np.tril_indices(D)] = scatter
                        # posterior leaves the reciprocals of the diagonal there
                        factor[np.diag_indices(D)] = 1.0 / factor[np.diag_indices(D)]
                        density[rows, k] = self.log_marginals(points, absent, mean, factor @ factor.T, n)
                        continue
                    solve_rows(self.scatter, D, off)
                    log_q = np.log1p(shrink * (off ** 2).sum(axis=1))
                elif self.shape_of == ISO:
                    log_q = np.log1p(0.5 * shrink / scatter[0] * (off ** 2).sum(axis=1))
                else:
                    log_q = np.log1p(0.5 * shrink / scatter * off ** 2).sum(axis=1)
                degree = self.zeta * self.a_n(n) + (0.5 * D if self.shape_of == ISO else 0.5)
                density[rows, k] = constant - 0.5 * log_det - degree * log_q - self.log_units
                density[rows, k] -= degree * (log_next - log_det) / (D if self.shape_of == ISO else 1)
        return density

    def log_marginals(self, points, absent, mean, psi, Py_ssize_t n):
        """Log predictive densities of points with missing cells: a block of an inverse Wishart matrix has the degrees
        of freedom less those of the other columns. `psi`: Psi_n with the grain of one more point."""
        cdef Py_ssize_t d
        cdef double kappa = self.kappa0 + n
        units = np.array([self.units[d] for d in range(self.D)])
        grain = np.array([self.grain[d] for d in range(self.D)])
        found = np.zeros(len(points))
        for pattern in np.unique(absent, axis=0):
            here, there = (absent == pattern).all(axis=1), ~pattern
            d = int(there.sum())
            if not d:
                continue
            a, off = self.a_n(n) - 0.5 * (self.D - d), (points[here] - mean)[:, there]
            block = psi[np.ix_(there, there)]
            before, after = np.linalg.slogdet(block - np.diag(grain[there]))[1], np.linalg.slogdet(block)[1]
            distance = (off * np.linalg.solve(block, off.T).T).sum(axis=1)
            found[here] = (lgamma(a + 0.5) - lgamma(a + 0.5 - 0.5 * d) - 0.5 * d * log(M_PI)
                           + 0.5 * d * log(kappa / (kappa + 1.0)) + a * before - (a + 0.5) * after
                           - (a + 0.5) * np.log1p(kappa / (kappa + 1.0) * distance) - np.log(units[there]).sum())
        return found

    cdef double draw_factor(self, Rng rng, Py_ssize_t n, double *work) noexcept nogil:
        """A lower triangular F with F'F the inverse of a covariance matrix, and a mean: work[:D] in place of m_n, F
        behind it, L and L^-1, of n_squares numbers each. Returns the sum of the logs of the diagonal of F.

        F = A' L^-1, L the Cholesky factor of Psi_n in `work`, A upper triangular: on the diagonal roots of chi-squares
        of nu_n - D + 1, ..., nu_n degrees of freedom, above it standard normals (Bartlett 1933, from the last
        coordinate to the first). The mean is m_n + F^-1 z / sqrt(kappa_n). Without a generator what to expect.
        """
        cdef Py_ssize_t r, c, s, D = self.D
        cdef double *mean = work
        cdef double *L = work + D
        cdef double *inverse = L + self.n_squares
        cdef double *F = inverse + self.n_squares
        cdef double *v = F + self.n_squares
        cdef double *row
        cdef double *into
        cdef double a = self.zeta * self.a_n(n), weight, total = 0.0
        for r in range(D):
            into = inverse + r * (r + 1) // 2
            row = L + r * (r + 1) // 2
            for c in range(r):
                into[c] = 0.0
            for s in range(r):
                for c in range(s + 1):
                    into[c] -= row[s] * inverse[s * (s + 1) // 2 + c]
            for c in range(r):
                into[c] *= row[r]
            into[r] = row[r]
        for r in range(D):
            into = F + r * (r + 1) // 2
            weight = a - 0.5 * (D - 1 - r)
            weight = sqrt(2.0 * (weight if rng is None else rng.draw_gamma(weight)))
            for c in range(r + 1):
                into[c] = weight * inverse[r * (r + 1) // 2 + c]
            if rng is not None:
                for s in range(r):
                    weight = rng.draw_normal()
                    for c in range(s + 1):
                        into[c] += weight * inverse[s * (s + 1) // 2 + c]
            total += log(into[r])
        if rng is not None:
            for r in range(D):
                row = F + r * (r + 1) // 2
                v[r] = (rng.draw_normal() - inner(row, v, r)) / row[r]
            for r in range(D):
                mean[r] += v[r] / sqrt(self.kappa0 + n)
        return total

    # -- missing cells (full): a Gibbs step on them, given the partition
    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        cdef Py_ssize_t k
        if self.scale_prior is not None:
            Scaled.refresh_parameters(self, rng)
        if self.gaps:
            self.impute(rng, self.z, self.K)
            for k in range(self.K):
                self.is_valid[k] = False
        return self.K

    cdef void impute(self, Rng rng, const int32_t *z, Py_ssize_t K) noexcept nogil:
        """Draw mean and covariance of each cluster that has missing cells given its points, then these cells given
        them, row by row, and forget the former. Then the cells of each column of which most are missing in the cluster,
        all at once: row by row their mean would move by a step of a point in as many as there are."""
        cdef Py_ssize_t k, g, r, c, s, D = self.D
        cdef double *work = self.draws
        cdef double *precision = work + 3 * self.n_squares + 5 * D
        cdef double *F
        for k in range(K):
            self.gap_first[k] = -1
        for g in range(self.gaps - 1, -1, -1):
            k = z[self.gap_item[g]]
            self.gap_next[g] = self.gap_first[k]
            self.gap_first[k] = <int32_t> g
        for k in range(K):
            g = self.gap_first[k]
            if g < 0:
                continue
            self.posterior(self.sums_of(k), self.squares_of(k), self.size[k], work, work + D)
            self.draw_factor(rng, self.size[k], work)
            F = work + D + 2 * self.n_squares
            for r in range(D):
                for c in range(r + 1):
                    precision[r * D + c] = 0.0
                    for s in range(r, D):
                        precision[r * D + c] += F[s * (s + 1) // 2 + r] * F[s * (s + 1) // 2 + c]
                    precision[c * D + r] = precision[r * D + c]
            while g >= 0:
                self.impute_row(rng, g, k, work, precision, precision + D * D)
                g = self.gap_next[g]
            for c in range(D):
                self.impute_column(rng, k, c)
            self.stale[k] = True

    cdef void impute_column(self, Rng rng, Py_ssize_t k, Py_ssize_t c) noexcept nogil:
        """Draw the missing cells of a column in a cluster from their joint distribution given all other cells, where
        they are most of the column there: mean and covariance given the rows that have the cell and the grain of every
        row, of which the regression of the column on the others is used alone, then each cell given its row. A draw
        beyond the reach is a rejected proposal of all."""
        cdef Py_ssize_t d, s, t, g, D = self.D, lacking = 0
        cdef double *mean = self.draws
        cdef double *F = mean + D + 2 * self.n_squares
        cdef double *precision = mean + 3 * self.n_squares + 5 * D
        cdef double *old = mean + 7 * D * D + 9 * D
        cdef double *x
        cdef double v
        cdef bint is_within = True
        g = self.gap_first[k]
        while g >= 0:
            lacking += self.lacks(g, c)
            g = self.gap_next[g]
        if 2 * lacking <= self.size[k]:
            return
        g = self.gap_first[k]
        while g >= 0:
            if self.lacks(g, c):
                gauss_count(self.sums_of(k), self.squares_of(k), self.filled + g * D, D, FULL, -1)
            g = self.gap_next[g]
        # the grain of the rows that lack the cell weighs the regression, too
        self.posterior_with(self.sums_of(k), self.squares_of(k), self.size[k] - lacking, self.size[k], mean, mean + D)
        self.draw_factor(rng, self.size[k] - lacking, mean)
        for d in range(D):
            precision[d] = 0.0
            for s in range(max(c, d), D):
                precision[d] += F[s * (s + 1) // 2 + c] * F[s * (s + 1) // 2 + d]
        t = 0
        g = self.gap_first[k]
        while g >= 0:
            if self.lacks(g, c):
                x = self.filled + g * D
                v = 0.0
                for d in range(D):
                    if d != c:
                        v += precision[d] * (x[d] - mean[d])
                old[t] = x[c]
                x[c] = rint(mean[c] - v / precision[c] + rng.draw_normal() / sqrt(precision[c]))
                is_within &= fabs(x[c]) <= self.reach[c]
                t += 1
            g = self.gap_next[g]
        t = 0
        g = self.gap_first[k]
        while g >= 0:
            if self.lacks(g, c):
                x = self.filled + g * D
                if not is_within:
                    x[c] = old[t]
                gauss_count(self.sums_of(k), self.squares_of(k), x, D, FULL, 1)
                t += 1
            g = self.gap_next[g]

    cdef void impute_row(self, Rng rng, Py_ssize_t row, Py_ssize_t k, const double *mean, const double *precision,
                         double *work) noexcept nogil:
        """Draw the missing cells of a row of cluster k given the others: normal, of precision the block of these
        cells, P, and of mean that of the cluster less P^-1 times the other block times how far the others are from
        theirs. A draw beyond the reach is a rejected proposal."""
        cdef Py_ssize_t r, c, s, D = self.D, m = self.gap_begin[row + 1] - self.gap_begin[row]
        cdef const int32_t *column = self.gap_column + self.gap_begin[row]
        cdef double *x = self.filled + row * D
        cdef double *block = work
        cdef double *u = work + self.n_squares
        cdef double *off = u + D
        cdef double v
        for c in range(D):
            off[c] = x[c] - mean[c]
        for r in range(m):
            off[column[r]] = 0.0
        for r in range(m):
            for c in range(r + 1):
                block[r * (r + 1) // 2 + c] = precision[column[r] * D + column[c]]
            v = 0.0
            for c in range(D):
                v -= precision[column[r] * D + c] * off[c]
            u[r] = v
        factorise(block, m)
        for r in range(m):
            v = u[r]
            for c in range(r):
                v -= block[r * (r + 1) // 2 + c] * u[c]
            u[r] = v * block[r * (r + 1) // 2 + r]
        for r in range(m):
            u[r] += rng.draw_normal()
        for r in range(m - 1, -1, -1):
            v = u[r]
            for s in range(r + 1, m):
                v -= block[s * (s + 1) // 2 + r] * u[s]
            u[r] = v * block[r * (r + 1) // 2 + r]
        for r in range(m):
            u[r] = rint(mean[column[r]] + u[r])
            if not fabs(u[r]) <= self.reach[column[r]]:
                return
        for r in range(m):
            gauss_change(self.sums_of(k), self.squares_of(k), x, D, column[r], u[r])

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(self.gaps * self.D):
            if self.filled[t] != (<Gaussian> other).filled[t]:
                return False
        return Scaled.same_parameters(self, other, twin)

    @property
    def reaches(self):
        """ndarray of float64, shape (n_imputed,): how far from the middle of its column each missing cell may be."""
        cdef Py_ssize_t t
        return np.array([self.reach[self.gap_column[t]] * self.units[self.gap_column[t]]
                         for t in range(self.n_imputed)])

    @property
    def refreshes(self):
        """bool: whether the state holds more than the partition."""
        return self.n_imputed > 0 or bool(self.hyperparameters)

    @property
    def parameters(self):
        """ndarray of float64, shape (P, 1): those of the scales that are resampled, then the missing cells, row by row,
        from the middle of their column; None without any. Units are powers of two, so no bit is lost."""
        cdef Py_ssize_t g, t
        scales = [] if self.scale_prior is None else self.scale_prior.values
        cells = [self.filled[g * self.D + self.gap_column[t]] * self.units[self.gap_column[t]]
                 for g in range(self.gaps) for t in range(self.gap_begin[g], self.gap_begin[g + 1])]
        found = np.array([*scales, *cells])
        return found[:, None] if found.size else None

    def set_parameters(self, values):
        """Set what ``parameters`` gives.

        Raises
        ------
        ValueError
            For another number of values, a scale that is not finite and positive, or a cell out of reach.
        """
        cdef Py_ssize_t k
        if not self.n_imputed:
            Scaled.set_parameters(self, values)
            return
        self.take_parameters(values, self.z)
        for k in range(self.K):
            self.is_valid[k] = False

    cdef int take_parameters(self, values, const int32_t *z) except -1:
        """``set_parameters`` where the points are in these clusters."""
        cdef Py_ssize_t g, t, k, c
        given = as_numbers("parameters", values).reshape(-1)
        scales = 0 if self.scale_prior is None else len(self.scale_prior.values)
        if given.shape != (scales + self.n_imputed,):
            raise ValueError(f"parameters: expected {scales + self.n_imputed} numbers, got {given.size}")
        cdef const double[::1] cells = np.ascontiguousarray(given[scales:])
        for t in range(self.n_imputed):
            c = self.gap_column[t]
            # NaN fails, too
            if not fabs(cells[t] / self.units[c]) <= self.reach[c]:
                raise ValueError(f"parameters: a missing cell of {cells[t]:g}, out of reach")
        if scales:
            self.scale_prior.set_values(given[:scales])
            self.scales_changed()
        for g in range(self.gaps):
            k = z[self.gap_item[g]]
            self.remove(self.gap_item[g], k)
            for t in range(self.gap_begin[g], self.gap_begin[g + 1]):
                c = self.gap_column[t]
                self.filled[g * self.D + c] = rint(cells[t] / self.units[c])
            self.add(self.gap_item[g], k)
        return 0

    def statistics(self):
        """dict of ndarray: size, mean (from the columns' middles, in units) and scatter of every cluster, shape
        (K, 1 + D + squares), a copy."""
        cdef Py_ssize_t k, d
        rows = []
        for k in range(self.K):
            gauss_moments(self.sums_of(k), self.squares_of(k), self.D, self.shape_of, self.size[k],
                          self.inverse[self.size[k]], self.mean, self.scatter)
            rows.append([self.size[k], *(self.mean[d] for d in range(self.D)),
                         *(self.scatter[d] for d in range(self.n_squares))])
        return {"counts": np.array(rows)}


cdef inline double middle_of(double shape) noexcept nogil:
    """A number whose log is about the mean log of a gamma number, and its inverse about the variance of that log."""
    return shape - 0.5 if shape > 1.0 else shape


@cython.final
cdef class GaussianParameters(DrawnParameters):
    """Parameters of a cluster that are drawn given its items, and forgotten."""

    cdef Gaussian model

    def __init__(self, Gaussian model not None):
        self.model = model
        self.size = 1 + (tile_factor_size(model.D) if model.shape_of == FULL else 2 * model.D)
        self.tile_rows, self.work_size = model.D, 3 * model.n_squares + 5 * model.D
        if model.shape_of != FULL:
            self.posterior_size, self.dimension = 2 + model.D + model.n_squares, model.D + model.n_squares

    cdef void draw_posterior(self, Rng rng, Py_ssize_t k, double *theta, double *work) noexcept nogil:
        """diag and iso: the precision of a column, then its mean, as ``tile_diag`` reads them; full: mean and factor as
        ``tile_full`` does."""
        cdef Py_ssize_t d, c, n = self.model.size[k]
        cdef double *mean = work
        cdef double *scatter = work + self.model.D
        cdef double *F
        # of zeta times the precisions, as b_n is over zeta; a point's density to the power zeta has these
        cdef double zeta = self.model.zeta, a = zeta * self.model.a_n(n), precision = 0.0
        cdef double scaled = 0.5 * zeta * log(zeta)
        self.model.posterior(self.model.sums_of(k), self.model.squares_of(k), n, mean, scatter)
        if self.model.shape_of == FULL:
            theta[0] = zeta * self.model.draw_factor(rng, n, work) - self.model.D * scaled
            F = scatter + 2 * self.model.n_squares
            if self.model.coarse:
                for d in range(self.model.D):
                    for c in range(d + 1):
                        theta[0] -= 0.5 * self.model.grain[c] * F[d * (d + 1) // 2 + c] ** 2
            tile_pack_factor(F, mean, self.model.D, theta + 1)
            return
        theta[0] = -self.model.D * scaled
        for d in range(self.model.D):
            if d == 0 or self.model.shape_of == DIAG:
                precision = (a if rng is None else rng.draw_gamma(a)) / scatter[d]
            theta[0] += 0.5 * (zeta * log(precision) - self.model.grain[d] * precision)
            theta[1 + 2 * d] = mean[d]
            theta[2 + 2 * d] = sqrt(precision)
            if rng is not None:
                theta[1 + 2 * d] += rng.draw_normal() / sqrt((self.model.kappa0 + n) * precision)

    cdef void write_posterior(self, Py_ssize_t k, double *posterior, double *work) noexcept nogil:
        """The shape of the precisions, what the precision of a mean is over that of its column; means; rates."""
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
        if self.model.shape_of == FULL:
            tile_full(theta, self.model.D, tile, log_weight, floor, out)
        else:
            tile_diag(theta, self.model.D, tile, log_weight, floor, out)

    cdef void count_items(self, const int32_t *items, Py_ssize_t n, Py_ssize_t k, double *work) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(n):
            if t + AHEAD < n:
                self.fetch(items[t + AHEAD])
            self.model.add(items[t], k)


@cython.final
cdef class GaussianShards(Shards):
    """Rows in shards."""

    cdef Gaussian model

    def __init__(self, Gaussian model not None):
        self.model = model
        self.column_bytes = 16 * model.n_squares + 16 * ((model.D + 1) // 2)

    @classmethod
    def build_shard(cls, values, columns, **params):
        # nobody asks a shard for the prior
        options = {key: value for key, value in params.items() if key == "covariance"}
        covariance = read_options("model", Gaussian.OPTIONS, options)["covariance"]
        summary = PointsSummary(columns.rows, columns.low, columns.high, covariance)
        return Gaussian(Rows(values, len(values), summary), **options)

    @classmethod
    def build_whole(cls, columns, packed, **params):
        cdef Py_ssize_t d, D = len(columns.low), total = columns.rows
        covariance = read_options("model", Gaussian.OPTIONS, params)["covariance"]
        summary = PointsSummary(total, columns.low, columns.high, covariance)
        words = np.frombuffer(bytes(packed), dtype=np.int64).tolist()
        n_squares = D if covariance == "diag" else 1 if covariance == "iso" else D * (D + 1) // 2
        squares = [(high << 64) + (low & 0xFFFFFFFFFFFFFFFF) for low, high in zip(words[:2 * n_squares:2],
                                                                                  words[1:2 * n_squares:2])]
        sums = words[2 * n_squares:2 * n_squares + D]
        # whole numbers until the division, so that it does not depend on what the shards are
        if covariance == "iso":
            scatter = D * [(total * squares[0] - sum(v * v for v in sums)) / (D * total ** 2)]
        else:
            own = squares if covariance == "diag" else [squares[d * (d + 1) // 2 + d] for d in range(D)]
            scatter = [(total * square - v * v) / total ** 2 for square, v in zip(own, sums)]
        mean = [v / total for v in sums] * summary.units
        scatter = np.array(scatter) * summary.units ** 2
        summary = PointsSummary(total, columns.low, columns.high, covariance, mean, scatter)
        return Gaussian(Rows(np.empty((0, D)), total, summary), **params)

    cdef void write_column(self, Py_ssize_t k, char *to) noexcept nogil:
        memcpy(to, self.model.squares_of(k), 16 * self.model.n_squares)
        memcpy(to + 16 * self.model.n_squares, self.model.sums_of(k), 8 * self.model.D)

    cdef void add_column(self, Py_ssize_t k, const char *packed) noexcept nogil:
        cdef Py_ssize_t n_squares = self.model.n_squares
        gauss_absorb(self.model.sums_of(k), self.model.squares_of(k), <const int64_t *> (packed + 16 * n_squares),
                     <const whole *> packed, self.model.D, n_squares)
        self.model.stale[k] = True


@cython.final
cdef class GaussianPlugIn(PlugIn):
    """diag and iso: the normal density with mean m_n and variances b_n / a_n, the inverses of the posterior means of
    the precisions; of a power its log times zeta."""

    cdef Gaussian model

    def __init__(self, Gaussian model not None):
        self.model = model

    @classmethod
    def suits(cls, model):
        """Whether the covariances are diagonal: bool."""
        return model.covariance != "full"

    cdef void locate(self, Py_ssize_t k, double *mean) noexcept nogil:
        cdef Py_ssize_t d, step = 16 if self.model.shape_of == DIAG else 8
        cdef double *block = self.model.at + (k >> 3) * 8 * self.model.rows + (k & 7)
        if self.model.stale[k]:
            self.model.settle(k)
        for d in range(self.model.D):
            mean[d] = self.model.middle[d] + self.model.units[d] * block[step * d]

    cdef double log_plug_in(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t d, n = self.model.size[k], step = 16 if self.model.shape_of == DIAG else 8
        cdef double *block = self.model.at + (k >> 3) * 8 * self.model.rows + (k & 7)
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


cdef double factorise(double *a, Py_ssize_t D) noexcept nogil:
    """Cholesky factor of a packed positive definite matrix, in place, reciprocals on its diagonal; returns the log of
    the determinant."""
    cdef Py_ssize_t r, c
    cdef double total = 0.0, product = 1.0, v
    cdef double *row = a
    cdef double *col
    for r in range(D):
        col = a
        for c in range(r):
            row[c] = (row[c] - inner(row, col, c)) * col[c]
            col += c + 1
        v = row[r] - inner(row, row, r)
        product *= v
        if not 1e-200 < product < 1e200:
            total += log(product)
            product = 1.0
        row[r] = 1.0 / sqrt(v)
        row += r + 1
    return total + log(product)


cdef void solve_rows(const double *a, Py_ssize_t D, double[:, ::1] rows) noexcept nogil:
    """Put L^-1 r in place of each row r, the lower triangular L as `factorise` leaves it in `a`.

    No library: one that solves for a few rows with several threads waits for these a hundred times as long.
    """
    cdef Py_ssize_t n, i, j
    cdef const double *row
    cdef double total
    for n in range(rows.shape[0]):
        row = a
        for i in range(D):
            total = rows[n, i]
            for j in range(i):
                total = total - row[j] * rows[n, j]
            rows[n, i] = total * row[i]
            row = row + i + 1
