"""Mixture of tables with columns of several types, independent within a cluster, parameters integrated out.

    binary        x ~ Bernoulli(p), p ~ Beta(beta1, beta0)
    categorical   x ~ Categorical(p), p ~ Dirichlet(alpha, ..., alpha)
    count         x ~ Poisson(r), r ~ Gamma(shape, rate)
    real          x ~ N(mu, v), v ~ InvGamma(a0, b0), mu | v ~ N(m0, v / kappa0)

The likelihood of a cluster is the product over its columns of the marginal likelihood of the cells that are there: a
missing cell has no factor, and n below is the number of observed cells of the column in the cluster. With n_v of them
at level v, s their sum, and b_n as in ``gaussian.pyx``, the predictive of one more cell is

    binary, categorical   (n_v + alpha_v) / (n + sum of alpha)
    count                 ((rate + n) / (rate + n + 1))^A (A)_x / (x! (rate + n + 1)^x),   A = shape + s
    real                  level_n b_n^(-1/2) (1 + g (x - m_n)^2)^-(a_n + 1/2)

(derivation: docs/derivations.md). A likelihood to the power zeta (``model.power``) has zeta times the counts, sums and
squares ("A power of the likelihood" there): what was a logarithm of n + a is that of Gamma(a + zeta (n + 1)) over
Gamma(a + zeta n), and rates, kappa0, a0 and b0 are held over zeta, as in ``gaussian.pyx``. b0 and kappa0 of the real
columns are numbers, or have gamma priors (``scale_prior.pyx``) and are resampled. The mixtures of binary and of real
columns alone, ``bernoulli.pyx`` and ``gaussian.pyx`` with covariance=diag, leave tables with missing cells to this one.
Source: Gelman et al. 2013, *Bayesian Data Analysis*, sections 2.4, 2.6, 3.3, 3.4.
"""
cimport cython
from libc.math cimport INFINITY, M_PI, exp, lgamma, log, log1p, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np

from splitmerge_cli.core.capabilities cimport TILE_ITEMS, DrawnParameters, Shards
from splitmerge_cli.core.log_scale cimport log_rising
from splitmerge_cli.core.memory cimport bytes_of, doubles, doubles_of, ints_of, larger, longs_of
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.models.gaussian cimport Gaussian
from splitmerge_cli.models.scale_prior cimport ScalePrior, Scaled

from splitmerge_cli import priors
from splitmerge_cli.core.fixed_point import resolution
from splitmerge_cli.core.options import (
    Choice, Gamma, Number, Numbers, NumbersOrGamma, Positive, PositiveOrGamma, read_options,
)
from splitmerge_cli.core.rows import Rows
from splitmerge_cli.core.shared import Prepared, as_array, freeze, share
from splitmerge_cli.models.normal import (
    HIERARCHICAL, POWER, RESOLUTION, prior_of, resolutions_of, settle_resolution, unit_of, variance_of, with_unit,
)
from splitmerge_cli.models.scale_prior import LEAST_SCALE
from splitmerge_cli.models.simulation import simulate_table

TYPES = ("binary", "categorical", "count", "real")
MOST_COUNT = 2**31 - 1
JOINT = "joint"
"""What a real column is to the others where the real columns are jointly normal."""
LONGEST_TABLE = 1 << 16
"""Entries of the table of rising factorials of `shape`: larger sums of counts are worth two logarithms, and a longer
table would hold numbers with fewer digits after the point."""

cdef extern from "simd_math.h":
    pass

cdef extern from "tiles.h":
    pass

cdef extern from "fixed_point.h":
    ctypedef struct whole:
        pass

cdef extern from "log_rise.h":
    pass

cdef extern from *:
    """
    /* Log predictive of an item's cells in the eight clusters of a block, but for what is the same in all of them. The
       rows of a block, eight lanes each: one of zeros, which a missing discrete cell reads; one for each level of each
       discrete column; for each column of counts a constant, a slope, the sum (a whole number) and two logs that score
       an item which the cluster counts; for the real columns without missing cells a common level and degree, then mean
       and gain of each; for those with missing cells mean, gain, level and degree. */
    static inline void score_mixed(const double *block, const int32_t *code, ptrdiff_t C, ptrdiff_t levels,
                                   const int32_t *tally, ptrdiff_t P, const double *rise, int64_t length, double zeta,
                                   double shape, const double *x, ptrdiff_t complete, ptrdiff_t R, ptrdiff_t piece,
                                   double *power)
    {
        EACH_LANE(h) {
            const double *row = block + h;
            lanes total = {0}, more = {0};
            ptrdiff_t c = 0;
            #define ROW(r) LANES_AT(row + 8 * (r))
            for (; c + 2 <= C; c += 2) {
                total += ROW(code[c]);
                more += ROW(code[c + 1]);
            }
            if (c < C)
                total += ROW(code[c]);
            total += more;
            row += 8 * levels;
            for (ptrdiff_t p = 0; p < P; p++, row += 40) {
                const int64_t n = tally[p];
                if (n < 0)
                    continue;
                const ilanes sum = *(const ilanes *)(row + 16), at = sum + n, far = at >= length;
                lanes found;
                int64_t any = 0;
                for (int l = 0; l < LANES; l++)
                    any |= far[l];
                if (any)
                    for (int l = 0; l < LANES; l++)
                        /* the constant is short by what the table holds of the sum, where it does */
                        found[l] = (sum[l] < length ? rise[sum[l]] : 0.0)
                                   + log_rise(rise, length, zeta, shape, sum[l], n);
                else
                    for (int l = 0; l < LANES; l++)
                        found[l] = rise[at[l]];
                total += ROW(0) + (double)n * ROW(1) + found;
            }
            if (complete) {
                const lanes level = ROW(0), degree = ROW(1);
                lanes log_q = {0};
                row += 16;
                for (ptrdiff_t from = 0; from < complete; from += piece) {
                    const ptrdiff_t to = from + piece < complete ? from + piece : complete;
                    lanes q = (lanes){0} + 1.0;
                    for (ptrdiff_t d = from; d < to; d++, row += 16) {
                        const lanes e = x[d] - ROW(0);
                        q *= 1.0 + ROW(1) * e * e;
                    }
                    log_q += lanes_log(q);
                }
                total += level + degree * log_q;
            }
            for (ptrdiff_t d = complete; d < R; d++, row += 32)
                if (x[d] == x[d]) {
                    const lanes e = x[d] - ROW(0);
                    total += ROW(2) + ROW(3) * lanes_log(1.0 + ROW(1) * e * e);
                }
            LANES_TO(power + h) = total;
        }
    }

    static inline void weigh_mixed(const double *W, const double *power, double top, double *w)
    {
        EACH_LANE(h)
            LANES_TO(w + h) = LANES_AT(W + h) * lanes_exp(LANES_AT(power + h) - top);
    }

    /* Log density of the items of a tile (tiles.h) given drawn parameters: the log probability of each level, 0 of a
       missing cell; log rate and rate of each column of counts; mean, root and log root of the precision of each real
       column. */
    static void tile_mixed(const double *theta, ptrdiff_t C, ptrdiff_t levels, ptrdiff_t P, ptrdiff_t R,
                           const double *x, double log_weight, double *out)
    {
        const double *rate = theta + levels, *real = rate + 2 * P;
        for (ptrdiff_t t = 0; t < TILE; t++)
            out[t] = log_weight;
        for (ptrdiff_t c = 0; c < C; c++, x += TILE)
            for (ptrdiff_t t = 0; t < TILE; t++)
                out[t] += theta[(ptrdiff_t)x[t]];
        for (ptrdiff_t p = 0; p < P; p++, x += TILE, rate += 2)
            for (ptrdiff_t t = 0; t < TILE; t++)
                out[t] += x[t] < 0.0 ? 0.0 : x[t] * rate[0] - rate[1];
        for (ptrdiff_t d = 0; d < R; d++, x += TILE, real += 3)
            for (ptrdiff_t t = 0; t < TILE; t++) {
                const double e = (x[t] - real[0]) * real[1];
                out[t] += e == e ? real[2] - 0.5 * e * e : 0.0;
            }
    }

    /* Sums of the real cells of an item, in units. */
    static inline void count_reals(int64_t *sum, whole *square, const double *x, ptrdiff_t R, int64_t sign)
    {
        for (ptrdiff_t d = 0; d < R; d++)
            if (x[d] == x[d]) {
                const int64_t v = (int64_t)x[d];
                sum[d] += sign * v;
                square[d] += (whole)v * (sign * v);
            }
    }

    static inline void absorb_squares(whole *square, const whole *more, ptrdiff_t R)
    {
        for (ptrdiff_t d = 0; d < R; d++)
            square[d] += more[d];
    }

    /* b_n of one real column from its sums less the value v (0: nothing), n cells in all; the posterior mean in `mean`.
       inverse: 1 / n, shrunk: 1 / kappa_n, by n. */
    static inline double posterior_scale(int64_t sum, whole square, int64_t v, int64_t n, const double *inverse,
                                         const double *shrunk, double kappa0, double m0, double b0, double *mean)
    {
        double e;
        *mean = m0;
        if (!n)
            return b0;
        sum -= v;
        square -= (whole)v * v;
        e = (double)sum * inverse[n] - m0;
        *mean += n * shrunk[n] * e;
        return b0 + 0.5 * (whole_double(whole_scatter(n, square, sum, sum)) * inverse[n]
                           + kappa0 * n * shrunk[n] * e * e);
    }

    static inline double scale_of(const int64_t *sum, const whole *square, ptrdiff_t d, int64_t v, int64_t n,
                                  const double *inverse, const double *shrunk, double kappa0, double m0, double b0,
                                  double *mean)
    {
        return posterior_scale(sum[d], square[d], v, n, inverse, shrunk, kappa0, m0, b0, mean);
    }

    static inline double scale_of_both(const int64_t *sum, const whole *square, const int64_t *sum2,
                                       const whole *square2, ptrdiff_t d, int64_t n, const double *inverse,
                                       const double *shrunk, double kappa0, double m0, double b0)
    {
        double mean;
        return posterior_scale(sum[d] + sum2[d], square[d] + square2[d], 0, n, inverse, shrunk, kappa0, m0, b0, &mean);
    }
    """
    double log_rise(const double *rise, int64_t length, double zeta, double shape, int64_t s, int64_t x) noexcept nogil
    double log_rise_far(double a, double x) noexcept nogil
    void log_rising_by(double a, double zeta, Py_ssize_t n, double *out) noexcept nogil
    void score_mixed(const double *block, const int32_t *code, Py_ssize_t C, Py_ssize_t levels, const int32_t *tally,
                     Py_ssize_t P, const double *rise, int64_t length, double zeta, double shape, const double *x,
                     Py_ssize_t complete, Py_ssize_t R, Py_ssize_t piece, double *power) noexcept nogil
    void tile_mixed(const double *theta, Py_ssize_t C, Py_ssize_t levels, Py_ssize_t P, Py_ssize_t R, const double *x,
                    double log_weight, double *out) noexcept nogil
    void weigh_mixed(const double *W, const double *power, double top, double *w) noexcept nogil
    void count_reals(int64_t *sum, whole *square, const double *x, Py_ssize_t R, int64_t sign) noexcept nogil
    void absorb_squares(whole *square, const whole *more, Py_ssize_t R) noexcept nogil
    double scale_of(const int64_t *sum, const whole *square, Py_ssize_t d, int64_t v, int64_t n, const double *inverse,
                    const double *shrunk, double kappa0, double m0, double b0, double *mean) noexcept nogil
    double scale_of_both(const int64_t *sum, const whole *square, const int64_t *sum2, const whole *square2,
                         Py_ssize_t d, int64_t n, const double *inverse, const double *shrunk, double kappa0,
                         double m0, double b0) noexcept nogil

# what a tile of real columns is scored above: anything
cdef double[TILE_ITEMS] NO_FLOOR
for _t in range(TILE_ITEMS):
    NO_FLOOR[_t] = -INFINITY

# A real cell's own share is taken out in closed form while that keeps its digits, and by counting where it does not.
cdef double LEAST_LEFT = 1e-4


def _flat(array, dtype):
    """Return the numbers of an array in a row; one 0 for an empty array, since no pointer leads into one."""
    array = np.ascontiguousarray(array, dtype=dtype).reshape(-1)
    return array if array.size else np.zeros(1, dtype=dtype)


def _types_of(values, types, columns=None):
    """Type and number of levels of every column; `columns`: a `Columns` of all rows, of which these are a part."""
    kinds, levels = [], []
    if len(types) != values.shape[1]:
        raise ValueError(f"types: expected one for each of {values.shape[1]} columns, got {len(types)}")
    for j, column in enumerate(types):
        kind = column if isinstance(column, str) else column.type
        if kind not in TYPES:
            raise ValueError(f"types: {kind}: expected one of {', '.join(TYPES)}")
        n = 2 if kind == "binary" else 0
        if kind == "categorical":
            # at least one, so that a column without cells has a proper prior
            largest = np.nanmax(values[:, j], initial=-1.0) if columns is None else max(columns.high[j], -1.0)
            n = max(1, 1 + int(largest) if isinstance(column, str) else len(column.levels))
        kinds.append(kind)
        levels.append(n)
    return tuple(kinds), tuple(levels)


def _per_column(str key, value, Py_ssize_t columns, str kind):
    """A number or one per column of a type as an array; None and a `Gamma` stay."""
    if value is None or isinstance(value, Gamma):
        return value
    given = np.array(value, dtype=np.float64)
    if given.shape not in ((), (columns,)):
        raise ValueError(f"{key}: expected a number, or one for each of {columns} {kind} columns, got {value}")
    return np.broadcast_to(given, (columns,)).astype(np.float64)


def _by_kind(kinds, with_missing):
    """Numbers of the discrete columns, of those of counts, of reals, and the order in which reals stand: those without
    missing cells first, since they share what depends on the number of cells."""
    discrete, counts, reals = ([j for j, kind in enumerate(kinds) if kind in of]
                               for of in (("binary", "categorical"), ("count",), ("real",)))
    return discrete, counts, reals, sorted(range(len(reals)), key=lambda d: bool(with_missing[reals[d]]))


def _prepare(values, kinds, levels, double shape, rate, m0, b0, steps, double zeta, columns=None):
    """The cells by type, reals in units from their column's middle, and the prior, over zeta, with them; a ValueError
    for a cell that its column cannot hold, or a prior out of range. `columns`: a `Columns` of all rows, of which these
    are a part."""
    cdef Py_ssize_t N = values.shape[0], D = values.shape[1], j, total = N if columns is None else columns.rows
    there = ~np.isnan(values)
    for j in range(D):
        # a copy of one column, at a time
        cells = values[there[:, j], j]
        if kinds[j] in ("real", JOINT):
            good = np.abs(cells) <= 1e30
        else:
            good = (cells >= 0) & (cells <= (MOST_COUNT if kinds[j] == "count" else levels[j] - 1))
            good &= cells == np.floor(cells)
        if not good.all():
            raise ValueError(f"x: column {j + 1}: {cells[~good][0]:g} cannot be in a {kinds[j]} column")
    with_missing = ~there.all(axis=0) if columns is None else columns.observed < total
    slot = np.where(with_missing, np.cumsum(with_missing) - 1, -1)
    discrete, counts, reals, order = _by_kind(kinds, with_missing)

    first = np.cumsum([1, *(levels[j] for j in discrete)])
    totals = sorted({levels[j] for j in discrete if kinds[j] == "categorical"})
    table_of, total_of = [0], []
    for j in discrete:
        table_of += [0, 1] if kinds[j] == "binary" else levels[j] * [2]
        total_of.append(0 if kinds[j] == "binary" else 1 + totals.index(levels[j]))
    code = np.zeros((N, len(discrete)), dtype=np.int32)
    for c, j in enumerate(discrete):
        code[:, c] = np.where(there[:, j], np.nan_to_num(values[:, j]) + first[c], 0)

    tally = np.empty((N, len(counts)), dtype=np.int32)
    means, largest = np.zeros(len(counts)), 0
    constant = np.zeros(N)
    for p, j in enumerate(counts):
        tally[:, p] = np.where(there[:, j], np.nan_to_num(values[:, j]), -1)
        seen = tally[there[:, j], p].astype(np.int64)
        constant[there[:, j]] -= _log_factorials(seen)
        if columns is not None and columns.observed[j]:
            means[p] = columns.sums[j] / columns.observed[j]
            largest = max(largest, int(columns.sums[j]) + int(columns.high[j]))
        elif seen.size:
            means[p] = seen.mean()
            largest = max(largest, int(seen.sum()) + int(seen.max()))
    rates = _per_column("model.rate", rate, len(counts), "count")
    if rates is None:
        rates = shape / np.where(means > 0.0, means, 1.0)

    R = len(reals)
    centre, mean, variance, span, widest = (np.zeros(R) for _ in range(5))
    x = np.full((N, R), np.nan)
    for d, j in enumerate(reals):
        cells = values[there[:, j], j]
        if columns is not None:
            centre[d], mean[d], variance[d], span[d], widest[d] = columns.moments(j)
        elif cells.size:
            # the middle as a number that loses no digit of cells near it
            centre[d] = cells.min() / 2 + cells.max() / 2
            cells -= centre[d]
            mean[d], variance[d], span[d], widest[d] = cells.mean(), cells.var(), np.ptp(cells), np.abs(cells).max()
    units = np.ones(R)
    steps = resolutions_of(steps, R, None if columns is not None else (values[:, j] for j in reals), "real columns")
    location, scale, unit = np.zeros(R), np.ones(R), np.ones(R)
    if R:
        units = resolution(widest, total)
        given = [_per_column(f"model.{key}", value, R, "real") for key, value in (("m0", m0), ("b0", b0))]
        location, scale = prior_of("diag", *given, mean, variance, span, centre)
        unit = unit_of("diag", b0, variance)
        for d, j in enumerate(reals):
            x[:, d] = np.rint((values[:, j] - centre[d]) / units[d])
            constant[there[:, j]] -= np.log(units[d])
    # the widest factor of a product over real columns
    narrowest = (LEAST_SCALE * unit if isinstance(b0, Gamma) else scale) / zeta
    factor = 1.0 + ((widest + np.abs(location)) / units) ** 2 * 2.0 / (narrowest / units ** 2)
    if columns is None:
        largest_constant = np.abs(constant).max()
    else:
        # no less than that of any row
        largest_constant = sum(lgamma(columns.high[j] + 1.0) for j in counts if columns.observed[j])
        largest_constant += np.abs(np.log(units)).sum()
    constant_unit = float(resolution(largest_constant, total))
    return {
        "code": _flat(code, np.int32), "tally": _flat(tally, np.int32), "x": _flat(x[:, order], np.float64),
        "there": _flat(there[:, with_missing], np.uint8),
        "constant": _flat(np.rint(constant / constant_unit), np.int64), "constant_unit": constant_unit,
        "C": len(discrete), "P": len(counts), "R": R, "complete": int(sum(not with_missing[j] for j in reals)),
        "S": int(with_missing.sum()), "levels": int(first[len(discrete)]),
        "first": _flat(first, np.int32), "table_of": _flat(table_of, np.int32), "total_of": _flat(total_of, np.int32),
        "totals": tuple(totals), "slot": _flat(slot, np.int32),
        "slot_discrete": _flat(slot[discrete], np.int32), "slot_count": _flat(slot[counts], np.int32),
        "slot_real": _flat(slot[[reals[d] for d in order]], np.int32),
        "rate": _flat(rates / zeta, np.float64), "largest": largest,
        "m0": _flat((location / units)[order], np.float64), "b0": _flat((scale / zeta / units ** 2)[order], np.float64),
        "grain": _flat(((steps / units) ** 2 / 12.0)[order], np.float64), "coarse": bool(steps.any()),
        "log_b0": _flat(np.log(scale / zeta / units ** 2)[order], np.float64), "real": _flat(order, np.int32),
        "start": scale / units ** 2, "unit": unit / units ** 2, "square": units ** 2,
        "log_unit": float(np.log(unit).sum()),
        "piece": max(1, min(max(R, 1), int(300.0 / max(np.log10(factor).max(initial=0.0), 0.01)))),
    }


def _real_columns(values, kinds):
    return {"values": np.ascontiguousarray(values[:, [j for j, kind in enumerate(kinds) if kind == "real"]])}


def _drop_missing(column):
    return column[~np.isnan(column)]


def _log_factorials(const int64_t[::1] counts):
    """log x! of counts, ndarray of float of the same shape."""
    cdef Py_ssize_t i
    cdef double[::1] out = np.empty(counts.shape[0])
    for i in range(counts.shape[0]):
        out[i] = lgamma(counts[i] + 1.0)
    return np.asarray(out)


def _tables(Py_ssize_t N, double beta0, double beta1, double alpha, totals, double kappa0, double a0, double zeta):
    """Logarithms that depend on a number of cells, 0 to N + 1: of it plus each pseudo-count and plus each sum of them,
    of their rising factorials, and of the factors of real columns; kappa0 and a0 over zeta."""
    cdef Py_ssize_t n, t
    # b_n is held over zeta
    cdef double b, a, kappa, log_two_pi = log(2.0 * M_PI * zeta)
    pseudo = [beta0, beta1, alpha]
    sums = [beta0 + beta1, *(alpha * levels for levels in totals)]
    cdef double[:, ::1] log_of = np.empty((len(pseudo) + len(sums), N + 2)), rise = np.empty_like(log_of)
    cdef double[::1] log_c = np.empty(N + 2), log_n = np.empty(N + 2), inverse = np.zeros(N + 2)
    cdef double[::1] shrunk = np.empty(N + 3)
    for t in range(log_of.shape[0]):
        b = (pseudo + sums)[t]
        for n in range(N + 2):
            log_of[t, n] = log(n + b) if zeta == 1.0 else log_rise_far(b + zeta * n, zeta)
        if zeta == 1.0:
            log_rising(b, N + 1, &rise[t, 0])
        else:
            log_rising_by(b, zeta, N + 1, &rise[t, 0])
    for n in range(N + 2):
        kappa, a = kappa0 + n, zeta * (a0 + 0.5 * n)
        inverse[n] = 1.0 / n if n else 0.0
        shrunk[n] = 1.0 / kappa
        log_c[n] = lgamma(a + 0.5 * zeta) - lgamma(a) + 0.5 * (log(kappa / (kappa + 1.0)) - zeta * log_two_pi)
        log_n[n] = lgamma(a) - lgamma(zeta * a0) - 0.5 * (log(kappa / kappa0) + zeta * n * log_two_pi)
    shrunk[N + 2] = 1.0 / (kappa0 + N + 2)
    return {"log_of": np.asarray(log_of), "rise": np.asarray(rise), "log_c": np.asarray(log_c),
            "log_n": np.asarray(log_n), "inverse": np.asarray(inverse), "shrunk": np.asarray(shrunk)}


def _rising(double shape, Py_ssize_t length, double zeta):
    """log of shape (shape + 1) ... (shape + s - 1) for s below `length`; of Gamma(shape + zeta s) / Gamma(shape)."""
    cdef double[::1] rise = np.empty(length)
    if zeta == 1.0:
        log_rising(shape, length - 1, &rise[0])
    else:
        log_rising_by(shape, zeta, length - 1, &rise[0])
    return {"rise": np.asarray(rise)}


def of_one_type(values, str type, **options):
    """The mixture of a table whose columns are all of one type: options of the others are not wanted.

    Parameters
    ----------
    values : ndarray of float, shape (N, D)
        NaN where a cell is missing.
    type : str
        A word of ``TYPES``.
    **options
        See ``Mixed.OPTIONS``.
    """
    freeze(values)
    return Mixed(values, (type,) * values.shape[1], **options)


# for the calibration: a prior that does not depend on the data, columns that are not recorded to a resolution
_FIXED = {"concentration": "gamma(2,2)", "m0": 0, "b0": 1, "resolution": 0, "rate": 0.3}


@cython.final
cdef class Mixed(Scaled):
    """Mixture of tables with binary, categorical, count and real columns, any of whose cells may be missing.

    Parameters
    ----------
    x : array_like of float, shape (N, D)
        NaN where a cell is missing. Codes from 0 (binary, categorical), whole numbers from 0 (count), numbers (real).
    types : sequence of length D
        Of each column a word of ``TYPES``, or an object with `type` and `levels` (``data.base.ColumnType``). With the
        word ``categorical`` alone, the largest code is the last level.
    **options
        See ``OPTIONS``. By default the mean of the rates' prior is that of a column's counts, and the prior of real
        columns spreads over the data as that of ``gaussian``; a column without spread counts as one of variance 1.

    Raises
    ------
    ValueError
        For a cell that its column cannot hold, or a parameter out of range.

    Notes
    -----
    Cost: an item against K clusters O(D K), in blocks of eight clusters; a change of a cluster O(D + levels). Memory:
    12 bytes an item; a cluster 12 bytes a level, 48 a column of counts, 56 a real column; shared by the models of the
    same data, 4 bytes a discrete or count cell, 8 a real one and 100 an item; b0 or kappa0 resampled: 40 bytes an item
    more. Sums of reals are exact (docs/decisions/0006), and so is that of the log x! of counts, rounded to multiples of
    a unit. A resampled scale stays between 1e-10 and 1e10 of the variance of its column.
    """

    kind = "mixed"
    READS_MISSING = True
    CAPABILITIES = (MixedParameters, MixedShards)
    simulate = staticmethod(simulate_table)
    CALIBRATION = {
        "diag": {"options": _FIXED | {"covariance": "diag"}},
        "full": {"options": _FIXED | {"covariance": "full"}},
        "diag, gaps": {"options": _FIXED, "gaps": 0.15},
        "diag, b0": {"options": _FIXED | {"b0": "gamma(4,4)"}},
    }
    OPTIONS = (
        *priors.OPTIONS,
        Positive("beta1", 0.5, "binary columns: pseudo-count of code 1"),
        Positive("beta0", 0.5, "binary columns: pseudo-count of code 0"),
        Positive("alpha", 0.5, "categorical columns: pseudo-count of every level"),
        Number("shape", 1.0, "count columns: shape of the rates' gamma prior", least=1e-3, most=1e6),
        Numbers("rate", None, "count columns: rate of that prior, a number or one per count column; null: shape over "
                "the column's mean", optional=True, least=1e-9, most=1e9),
        Numbers("m0", None, "real columns: prior mean of the means, a number or one per real column; null: that of "
                "the data", optional=True, least=-1e100, most=1e100),
        PositiveOrGamma("kappa0", 0.1, "real columns: the prior's weight on m0, in cells; gamma(shape,rate): resampled",
                        least=1e-9, most=1e9, hierarchical=HIERARCHICAL),
        Choice("covariance", "diag", "real columns: diag: independent; full: jointly normal within a cluster; smcmc "
               "run and sample take auto, the one that predicts held-out rows best", choices=("diag", "full"),
               later=True),
        Number("a0", 2.0, "real columns: shape of the variances' prior", least=1e-3, most=1e6),
        NumbersOrGamma("b0", None, "real columns: scale of the variances' prior, a number or one per real column; null:"
                       " a tenth of the data's variance; gamma(shape,rate), in units of that variance: resampled",
                       optional=True, least=1e-100, most=1e100, hierarchical=HIERARCHICAL),
        RESOLUTION,
        POWER,
    )

    cdef readonly Py_ssize_t D
    cdef readonly double zeta           # power of the likelihood; rates, kappa0, a0, b0 and what follows are over it
    cdef double log_zeta
    cdef readonly tuple types           # [D] words of TYPES
    cdef readonly str covariance        # of the real columns
    cdef Gaussian joint                 # statistics and scores of the real columns where it is full, its sizes those
    # of the clusters here, its labels of no meaning; None: they are among the columns below
    cdef bint apart                     # the likelihood is asked for without them
    cdef readonly double beta1, beta0, alpha, shape
    cdef Py_ssize_t C, P, R             # discrete, count and real columns
    cdef Py_ssize_t complete            # real columns without missing cells: the first ones
    cdef Py_ssize_t S                   # columns with missing cells
    cdef Py_ssize_t levels              # 1 + levels of all discrete columns
    cdef Py_ssize_t sums                # P + R + 1
    cdef Py_ssize_t rows                # rows of eight numbers in a block of `at`
    cdef Py_ssize_t piece               # real columns whose product cannot leave the range of a double
    cdef Py_ssize_t length              # of the table of rising factorials
    # -- the data; shared
    cdef const int32_t *code            # [N, C] row of the cell's level, from 1; 0: missing
    cdef const int32_t *tally           # [N, P] counts; -1: missing
    cdef const double *x                # [N, R] less their column's middle, multiples of its unit; NaN: missing
    cdef const uint8_t *there           # [N, S] 1 where the cell of a column with missing ones is observed
    cdef const int64_t *constant        # [N] log of what an item's predictive has in every cluster, in units
    cdef double constant_unit
    # -- the columns; shared
    cdef const int32_t *slot            # [D] number among the columns with missing cells, -1: none is missing
    cdef const int32_t *slot_discrete   # [C]
    cdef const int32_t *slot_count      # [P]
    cdef const int32_t *slot_real       # [R]
    cdef const int32_t *first           # [C + 1] row of a column's level 0
    cdef const int32_t *table_of        # [levels] table of a level's pseudo-count
    cdef const int32_t *total_of        # [C] table of the sum of a column's pseudo-counts
    cdef const double *rate             # [P]
    cdef const double *m0               # [R] in units, from the middle
    cdef const double *b0               # [R] in units^2
    cdef const double *log_b0           # [R]
    cdef const double *grain            # [R] what a cell adds to the squares, in units^2 (``gaussian.pyx``)
    cdef bint coarse                    # whether any is not 0
    cdef const int32_t *real            # [R] number of a column of `x` among the real columns of the table
    # -- tables; shared
    cdef const double *log_add          # [3, N + 2] log(n + beta0), of beta1, of alpha
    cdef const double *log_all          # [totals, N + 2] log(n + sum of a column's pseudo-counts)
    cdef const double *rise_add         # [3, N + 2] log rising factorials of the same
    cdef const double *rise_all         # [totals, N + 2]
    cdef const double *inverse          # [N + 2] 1 / n, 0 at 0
    cdef const double *shrunk           # [N + 3] 1 / kappa_n
    cdef const double *rise             # [length] of `shape`
    cdef const double *log_c            # [N + 2] the part of a real cell's predictive that depends on n alone
    cdef const double *log_n            # [N + 2] the part of a real column's likelihood that depends on n alone
    # -- b0 or kappa0 resampled: what follows the present ones, of this model alone
    cdef double *own                    # [2 R + 3 (N + 2) + 1] b0, log_b0, shrunk, log_c, log_n
    cdef const double *free_c           # [N + 2] log_c and log_n with the kappa0 of the start; shared
    cdef const double *free_n
    cdef double kappa_start
    # -- statistics of a cluster, one after another
    cdef int32_t *count                 # [cap, levels] cells of each level; the first: missing ones
    cdef int32_t *seen                  # [cap, S] observed cells
    cdef int64_t *sum                   # [cap, P + R + 1] of counts, of reals in units, of `constant`
    cdef whole *square                  # [cap, R]
    # -- what follows from them
    cdef double *at                     # [cap / 8, rows, 8] what scores an item: see score_mixed
    cdef int8_t *stale                  # [cap] whether that is behind the statistics
    cdef int8_t *stale_own              # [cap] whether what scores an item of the cluster itself is
    cdef double *power                  # [cap] log predictive of the item at hand, but for `constant`

    def __init__(self, x, types, known=None, **options):
        given = read_options("model", self.OPTIONS, {"resolution": "none"} | options)
        values, columns = (x.values, x.summary) if isinstance(x, Rows) else (as_array(x), None)
        if values.ndim != 2 or not values.size and columns is None:
            raise ValueError(f"x: expected a table of shape (N, D), got {values.shape}")
        if values.dtype != np.float64:
            values = values.astype(np.float64)
        kinds, levels = _types_of(values, types, columns)
        self.covariance = given["covariance"]
        of_reals = [given[key] for key in ("m0", "b0", "resolution")]
        self.zeta = given["power"]
        self.log_zeta = log(self.zeta)
        # of one column both are one model, which needs no missing cells drawn
        if self.covariance == "full" and kinds.count("real") > 1:
            if columns is not None:
                raise ValueError("model.covariance=full: expected diag of rows in shards")
            reals = share(_real_columns, values, kinds)
            self._hold(reals)
            self.joint = Gaussian(reals.values, known, **{
                key: given[key] for key in ("covariance", "m0", "kappa0", "a0", "b0", "resolution", "power")})
            kinds, of_reals = tuple(JOINT if kind == "real" else kind for kind in kinds), [None, None, "none"]
        prepared = values, kinds, levels, given["shape"], given["rate"], *of_reals, self.zeta
        data = share(_prepare, *prepared) if columns is None else Prepared(_prepare(*prepared, columns))
        cdef Py_ssize_t N = values.shape[0] if columns is None else x.total
        self.D, self.types = values.shape[1], tuple("real" if kind == JOINT else kind for kind in kinds)
        self.beta1, self.beta0, self.alpha = given["beta1"], given["beta0"], given["alpha"]
        self.shape, self.a0 = given["shape"], given["a0"] / self.zeta
        self._hold(data)
        self._take(data)
        self._scales(data, given["b0"], given["kappa0"])
        self.total = N
        self._allocate(values.shape[0], N)
        self._set_prior(given["prior"].build(N, given["concentration"]))
        by_count = share(_tables, N, self.beta0, self.beta1, self.alpha, data.totals, self.kappa0, self.a0,
                         self.zeta)
        self._hold(by_count)
        self.log_add, self.rise_add = doubles_of(by_count.log_of), doubles_of(by_count.rise)
        self.log_all, self.rise_all = self.log_add + 3 * (N + 2), self.rise_add + 3 * (N + 2)
        self.log_c, self.log_n = doubles_of(by_count.log_c), doubles_of(by_count.log_n)
        self.inverse, self.shrunk = doubles_of(by_count.inverse), doubles_of(by_count.shrunk)
        self.length = min(data.largest + 1, LONGEST_TABLE)
        by_sum = share(_rising, self.shape, self.length, self.zeta)
        self._hold(by_sum)
        self.rise = doubles_of(by_sum.rise)
        if self.scale_prior is not None and self.joint is None:
            self._own_tables()
        self._start()

    cdef int _scales(self, data, b0, kappa0) except -1:
        """Take b0 and kappa0, or the priors of those that are resampled."""
        self.shape0, self.n_means = self.zeta * self.a0, self.R
        if self.joint is not None:
            self.scale_prior, self.kappa0 = self.joint.scale_prior, self.joint.kappa0
            self.shape0, self.n_means = self.joint.shape0, self.joint.n_means
            return 0
        if isinstance(b0, Gamma) or isinstance(kappa0, Gamma):
            if not self.R:
                key, value = ("b0", b0) if isinstance(b0, Gamma) else ("kappa0", kappa0)
                raise ValueError(f"model.{key}={value}: expected a number: the table has no real column")
            self.scale_prior = ScalePrior(b0, kappa0, data.start, data.unit, data.square, data.log_unit, LEAST_SCALE)
            kappa0 = self.scale_prior.kappa0
        self.kappa0 = kappa0 / self.zeta
        return 0

    cdef int _own_tables(self) except -1:
        """Tables that follow b0 and kappa0, beside those of the start, which the models of a run share."""
        cdef Py_ssize_t M = self.total + 2
        self.own = doubles(2 * self.R + 3 * M + 1)
        self.free_c, self.free_n, self.kappa_start = self.log_c, self.log_n, self.kappa0
        self.b0, self.log_b0 = self.own, self.own + self.R
        self.shrunk = self.own + 2 * self.R
        self.log_c, self.log_n = self.own + 2 * self.R + M + 1, self.own + 2 * self.R + 2 * M + 1
        self.scales_changed()
        return 0

    cdef int _take(self, data) except -1:
        """Take what ``_prepare`` made."""
        self.C, self.P, self.R, self.complete, self.S = data.C, data.P, data.R, data.complete, data.S
        self.levels, self.piece, self.constant_unit = data.levels, data.piece, self.zeta * data.constant_unit
        self.sums = self.P + self.R + 1
        self.rows = self.levels + 5 * self.P + 4 * self.R - 2 * self.complete + (2 if self.complete else 0)
        self.code, self.tally, self.x = ints_of(data.code), ints_of(data.tally), doubles_of(data.x)
        self.there, self.constant = bytes_of(data.there), longs_of(data.constant)
        self.slot, self.slot_discrete = ints_of(data.slot), ints_of(data.slot_discrete)
        self.slot_count, self.slot_real = ints_of(data.slot_count), ints_of(data.slot_real)
        self.first, self.table_of, self.total_of = ints_of(data.first), ints_of(data.table_of), ints_of(data.total_of)
        self.rate, self.m0, self.b0 = doubles_of(data.rate), doubles_of(data.m0), doubles_of(data.b0)
        self.log_b0, self.real = doubles_of(data.log_b0), ints_of(data.real)
        self.grain, self.coarse = doubles_of(data.grain), data.coarse
        return 0

    @classmethod
    def from_data(cls, data, **params):
        """The model of a Dataset, whose values become read-only: all models of it share them."""
        cls._require(data)
        freeze(data.values)
        return cls(data.values, data.types, **settle_resolution(data, params))

    @classmethod
    def with_new(cls, data, whole, **params):
        cls._require(whole)
        freeze(whole.values)
        return cls(whole.values, whole.types, data.N, **cls.with_defaults_of(data, **params))

    @classmethod
    def with_defaults_of(cls, data, **params):
        params = settle_resolution(data, params)
        given = read_options("model", cls.OPTIONS, params)
        kinds, _ = _types_of(data.values, data.types)
        of = {kind: [_drop_missing(data.values[:, j]) for j in range(len(kinds)) if kinds[j] == kind] for kind in TYPES}
        found = dict(params)
        if given["rate"] is None:
            means = [cells.mean() if cells.size else 0.0 for cells in of["count"]]
            found["rate"] = [given["shape"] / (mean if mean > 0.0 else 1.0) for mean in means] or None
        reals = [cells if cells.size else np.zeros(1) for cells in of["real"]]
        if reals:
            mean, variance = np.array([[cells.mean(), cells.var()] for cells in reals]).T
            numbers = [_per_column(f"model.{key}", given[key], len(reals), "real") for key in ("m0", "b0")]
            m0, b0 = prior_of("diag", *numbers, mean, variance, np.zeros(len(reals)), np.zeros(len(reals)))
            steps = resolutions_of(given["resolution"], len(reals), reals, "real columns")
            found |= {"resolution": steps.tolist(), "m0": m0.tolist(), "b0": b0.tolist()}
            if isinstance(given["b0"], Gamma):
                found["b0"] = with_unit(given["b0"], variance_of("diag", variance))
        return found

    def __dealloc__(self):
        free(self.own)
        free(self.count)
        free(self.seen)
        free(self.sum)
        free(self.square)
        free(self.at)
        free(self.stale)
        free(self.stale_own)
        free(self.power)

    # -- statistics
    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef Py_ssize_t old = self.cap, k, row = self.rows * sizeof(double)
        self.count = <int32_t *> larger(self.count, 4 * self.levels * old, 4 * self.levels * cap)
        self.seen = <int32_t *> larger(self.seen, 4 * self.S * old, 4 * self.S * cap)
        self.sum = <int64_t *> larger(self.sum, 8 * self.sums * old, 8 * self.sums * cap)
        self.square = <whole *> larger(self.square, 16 * self.R * old, 16 * self.R * cap)
        self.at = <double *> larger(self.at, old * row, cap * row)
        self.stale = <int8_t *> larger(self.stale, old, cap)
        self.stale_own = <int8_t *> larger(self.stale_own, old, cap)
        self.power = <double *> larger(self.power, 8 * old, 8 * cap)
        for k in range(old, cap):
            self.stale[k] = True
        if self.joint is not None:
            self.joint._reserve(cap - 3)
        return 0

    cdef whole *squares_of(self, Py_ssize_t k) noexcept nogil:
        return <whole *> (<char *> self.square + 16 * self.R * k)

    cdef inline Py_ssize_t cells(self, Py_ssize_t k, int32_t slot) noexcept nogil:
        """Observed cells of a column in cluster k."""
        return self.size[k] if slot < 0 else self.seen[k * self.S + slot]

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        memset(self.count + k * self.levels, 0, 4 * self.levels)
        memset(self.seen + k * self.S, 0, 4 * self.S)
        memset(self.sum + k * self.sums, 0, 8 * self.sums)
        memset(self.squares_of(k), 0, 16 * self.R)
        if self.joint is not None:
            self.joint.scratch(k)
        self.stale[k] = True

    cdef void add(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        self.tell(i, k, 1)

    cdef void remove(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        self.tell(i, k, -1)

    cdef inline void tell(self, Py_ssize_t i, Py_ssize_t k, int32_t sign) noexcept nogil:
        """Count the cells of item i in cluster k, or take them out."""
        cdef Py_ssize_t c
        cdef int32_t *count = self.count + k * self.levels
        cdef int32_t *seen = self.seen + k * self.S
        cdef int64_t *sum = self.sum + k * self.sums
        cdef const int32_t *code = self.code + i * self.C
        cdef const int32_t *tally = self.tally + i * self.P
        cdef const uint8_t *there = self.there + i * self.S
        for c in range(self.C):
            count[code[c]] += sign
        for c in range(self.S):
            seen[c] += sign * there[c]
        for c in range(self.P):
            if tally[c] > 0:
                sum[c] += sign * <int64_t> tally[c]
        count_reals(sum + self.P, self.squares_of(k), self.x + i * self.R, self.R, sign)
        sum[self.sums - 1] += sign * self.constant[i]
        if self.joint is not None:
            if sign > 0:
                self.joint.join(i, k)
            else:
                self.joint.leave(i, k)
        self.stale[k] = True

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        memcpy(self.count + dst * self.levels, self.count + src * self.levels, 4 * self.levels)
        memcpy(self.seen + dst * self.S, self.seen + src * self.S, 4 * self.S)
        memcpy(self.sum + dst * self.sums, self.sum + src * self.sums, 8 * self.sums)
        memcpy(self.squares_of(dst), self.squares_of(src), 16 * self.R)
        if self.joint is not None:
            self.joint.copy(src, dst)
            self.joint.size[dst] = self.joint.size[src]
        self.stale[dst] = True

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src) noexcept nogil:
        cdef Py_ssize_t c
        for c in range(self.levels):
            self.count[dst * self.levels + c] += self.count[src * self.levels + c]
        for c in range(self.S):
            self.seen[dst * self.S + c] += self.seen[src * self.S + c]
        for c in range(self.sums):
            self.sum[dst * self.sums + c] += self.sum[src * self.sums + c]
        absorb_squares(self.squares_of(dst), self.squares_of(src), self.R)
        if self.joint is not None:
            self.joint.absorb(dst, src)
            self.joint.size[dst] = self.joint.size[dst] + self.joint.size[src]
        self.stale[dst] = True

    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        """Bring what scores an item against cluster k up to date: the rows of ``score_mixed``."""
        cdef Py_ssize_t c, r, n, M = self.total + 2
        cdef double *row = self.at + (k >> 3) * 8 * self.rows + (k & 7)
        cdef const int32_t *count = self.count + k * self.levels
        cdef const int64_t *sum = self.sum + k * self.sums
        cdef const whole *square = self.squares_of(k)
        cdef const double *log_all
        cdef double rate, scale, product = 1.0, level = 0.0, rise = 0.0, next
        cdef double *common
        self.stale[k] = False
        self.stale_own[k] = True
        if self.joint is not None and self.joint.stale[k]:
            self.joint.settle(k)
        for c in range(self.C):
            log_all = self.log_all + self.total_of[c] * M + self.cells(k, self.slot_discrete[c])
            for r in range(self.first[c], self.first[c + 1]):
                row[8 * r] = self.log_add[self.table_of[r] * M + count[r]] - log_all[0]
        row += 8 * self.levels
        for c in range(self.P):
            rate = self.rate[c] + self.cells(k, self.slot_count[c])
            row[0] = -(self.shape + self.zeta * sum[c]) * log1p(1.0 / rate)
            if sum[c] < self.length:
                row[0] -= self.rise[sum[c]]
            row[8] = -self.zeta * (log(rate + 1.0) + self.log_zeta)
            (<int64_t *> row)[16] = sum[c]
            row += 40
        sum += self.P
        if self.complete:
            n = self.size[k]
            common = row
            row += 16
            for c in range(self.complete):
                scale = self.scale(sum, square, c, 0, n, row)
                next = scale + 0.5 * self.grain[c]
                row[8] = 0.5 * self.shrink(n) / next
                row += 16
                if self.coarse:
                    rise += log(next / scale)
                level += self.log_b0[c]
                product *= scale / self.b0[c]
                if not product < 1e150:
                    level += log(product)
                    product = 1.0
            common[0] = self.complete * self.log_c[n] - 0.5 * self.zeta * (level + log(product))
            common[8] = -self.zeta * (self.a0 + 0.5 * n + 0.5)
            # what scores another cell has its grain, too
            common[0] += common[8] * rise
        for c in range(self.complete, self.R):
            n = self.cells(k, self.slot_real[c])
            scale = self.scale(sum, square, c, 0, n, row)
            next = scale + 0.5 * self.grain[c]
            row[8] = 0.5 * self.shrink(n) / next
            row[16] = self.log_c[n] - 0.5 * self.zeta * log(scale)
            row[24] = -self.zeta * (self.a0 + 0.5 * n + 0.5)
            if self.coarse:
                row[16] += row[24] * log(next / scale)
            row += 32

    cdef inline double scale(self, const int64_t *sum, const whole *square, Py_ssize_t c, int64_t v, Py_ssize_t n,
                             double *mean) noexcept nogil:
        """b_n of real column c from its sums less the value v (0: nothing), n cells in all; the posterior mean."""
        return scale_of(sum, square, c, v, n, self.inverse, self.shrunk, self.kappa0, self.m0[c],
                        self.b0[c] + 0.5 * n * self.grain[c], mean)

    cdef inline double shrink(self, Py_ssize_t n) noexcept nogil:
        """kappa_n / (kappa_n + 1)"""
        return (self.kappa0 + n) * self.shrunk[n + 1]

    # -- b0 and kappa0 resampled
    cdef void scales_changed(self) noexcept nogil:
        cdef Py_ssize_t c, n, M = self.total + 2
        cdef double *shrunk = self.own + 2 * self.R
        cdef double *log_c = shrunk + M + 1
        cdef double *log_n = log_c + M
        cdef double start, kappa
        if self.joint is not None:
            self.joint.scales_changed()
            self.kappa0 = self.joint.kappa0
            self.real_columns_changed()
            return
        self.kappa0 = self.scale_prior.kappa0 / self.zeta
        for c in range(self.R):
            self.own[c] = self.scale_prior.b0[self.real[c]] / self.zeta
            self.own[self.R + c] = log(self.own[c])
        for n in range(M):
            start, kappa = self.kappa_start + n, self.kappa0 + n
            shrunk[n] = 1.0 / kappa
            log_c[n] = self.free_c[n] + 0.5 * (log(kappa / (kappa + 1.0)) - log(start / (start + 1.0)))
            log_n[n] = self.free_n[n] - 0.5 * (log(kappa / self.kappa0) - log(start / self.kappa_start))
        shrunk[M] = 1.0 / (self.kappa0 + M)
        for n in range(self.cap):
            self.stale[n] = True
            self.is_valid[n] = False

    cdef void real_columns_changed(self) noexcept nogil:
        """Take over that what the jointly normal columns hold of the clusters has changed."""
        cdef Py_ssize_t k
        for k in range(self.cap):
            self.stale[k] = True
            self.is_valid[k] = False

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        """The scales, then the missing cells of jointly normal columns."""
        if self.scale_prior is not None:
            Scaled.refresh_parameters(self, rng)
        if self.joint is not None and self.joint.n_imputed:
            self.joint.impute(rng, self.z, self.K)
            self.real_columns_changed()
        return self.K

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        if self.joint is not None:
            return self.joint.same_parameters((<Mixed> other).joint, twin)
        return Scaled.same_parameters(self, other, twin)

    @property
    def n_imputed(self):
        """int: missing cells that are a part of the state."""
        return 0 if self.joint is None else self.joint.n_imputed

    @property
    def reaches(self):
        """ndarray of float64: how far from the middle of its column each missing cell that is a part of the state may
        be."""
        return np.empty(0) if self.joint is None else self.joint.reaches

    @property
    def refreshes(self):
        """bool: whether the state holds more than the partition."""
        return self.n_imputed > 0 or bool(self.hyperparameters)

    @property
    def parameters(self):
        """ndarray of float64, shape (P, 1): the scales, then the missing cells, as a ``Gaussian`` gives them."""
        return Scaled.parameters.__get__(self) if self.joint is None else self.joint.parameters

    def set_parameters(self, values):
        """Set what ``parameters`` gives; errors as there."""
        if not self.n_imputed:
            Scaled.set_parameters(self, values)
            return
        self.joint.take_parameters(values, self.z)
        self.kappa0 = self.joint.kappa0
        self.real_columns_changed()

    cdef void draw_cluster(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """For each real column its precision, then, where kappa0 is resampled, its mean: given the cells that are
        there; from their prior where there is none."""
        cdef Py_ssize_t c, n
        cdef const int64_t *sum = self.sum + k * self.sums + self.P
        cdef double precision, mean, off
        if self.joint is not None:
            self.joint.draw_cluster(rng, k)
        for c in range(self.R):
            n = self.cells(k, self.slot_real[c])
            precision = self.scale(sum, self.squares_of(k), c, 0, n, &mean)
            precision = rng.draw_gamma(self.zeta * (self.a0 + 0.5 * n)) / (self.zeta * precision)
            self.scale_prior.count_precision(self.real[c], precision)
            if self.scale_prior.of_kappa0:
                # how far the drawn mean is from m0, in standard deviations of a cell
                off = sqrt(precision) * (mean - self.m0[c]) + sqrt(self.shrunk[n] / self.zeta) * rng.draw_normal()
                self.scale_prior.count_distance(off)

    cdef double pseudo_count(self, Py_ssize_t r) noexcept nogil:
        """Pseudo-count of a level, by its row."""
        cdef int32_t table = self.table_of[r]
        return self.beta0 if table == 0 else self.beta1 if table == 1 else self.alpha

    # -- probabilities
    cdef inline void score(self, Py_ssize_t i, Py_ssize_t block) noexcept nogil:
        """power[k] of item i for the eight clusters from `block` on."""
        cdef Py_ssize_t lane
        score_mixed(self.at + block * self.rows, self.code + i * self.C, self.C, self.levels, self.tally + i * self.P,
                    self.P, self.rise, self.length, self.zeta, self.shape, self.x + i * self.R, self.complete, self.R,
                    self.piece, self.power + block)
        if self.joint is not None:
            self.joint.score(i, block, -1)
            for lane in range(8):
                self.power[block + lane] += self.joint.power[block + lane]

    cdef double joint_score(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil:
        """Log predictive of the jointly normal columns of item i in cluster k, which counts it or not, in units."""
        cdef double found
        if self.joint.stale[k]:
            self.joint.settle(k)
        if counted and self.joint.size[k] > 1:
            self.joint.score(i, k & ~7, k)
            if self.joint.left[k] >= LEAST_LEFT:
                return self.joint.power[k]
        if counted:
            self.joint.leave(i, k)
            self.joint.settle(k)
        self.joint.score(i, k & ~7, -1)
        found = self.joint.power[k]
        if counted:
            self.joint.join(i, k)
            self.joint.settle(k)
        return found

    cdef double direct(self, Py_ssize_t i, Py_ssize_t k, bint counted) noexcept nogil:
        """Log predictive of item i in cluster k, which counts it or not, but for `constant`: from the statistics."""
        cdef Py_ssize_t c, n, M = self.total + 2
        cdef const int32_t *count = self.count + k * self.levels
        cdef const int32_t *code = self.code + i * self.C
        cdef const int64_t *sum = self.sum + k * self.sums
        cdef const whole *square = self.squares_of(k)
        cdef const double *x = self.x + i * self.R
        cdef int64_t v, s
        cdef double rate, scale, next, mean, total = 0.0
        for c in range(self.C):
            if code[c]:
                n = self.cells(k, self.slot_discrete[c]) - counted
                total += (self.log_add[self.table_of[code[c]] * M + count[code[c]] - counted]
                          - self.log_all[self.total_of[c] * M + n])
        for c in range(self.P):
            v = self.tally[i * self.P + c]
            if v >= 0:
                s = sum[c] - (v if counted else 0)
                rate = self.rate[c] + self.cells(k, self.slot_count[c]) - counted
                total += (log_rise(self.rise, self.length, self.zeta, self.shape, s, v)
                          - (self.shape + self.zeta * s) * log1p(1.0 / rate)
                          - v * self.zeta * (log(rate + 1.0) + self.log_zeta))
        sum += self.P
        for c in range(self.R):
            if x[c] == x[c]:
                n = self.cells(k, self.slot_real[c]) - counted
                scale = self.scale(sum, square, c, <int64_t> x[c] if counted else 0, n, &mean)
                next = scale + 0.5 * self.grain[c]
                total += (self.log_c[n] - 0.5 * self.zeta * log(scale) - self.zeta * (self.a0 + 0.5 * n + 0.5)
                          * log(next / scale + 0.5 * self.shrink(n) / scale * (x[c] - mean) * (x[c] - mean)))
        if self.joint is not None:
            total += self.joint_score(i, k, counted)
        return total

    cdef void settle_own(self, Py_ssize_t k) noexcept nogil:
        """Bring the rows that score an item which cluster k counts up to date; ``settle`` has been called."""
        cdef Py_ssize_t c
        cdef double rate
        cdef double *row = self.at + (k >> 3) * 8 * self.rows + (k & 7) + 8 * self.levels
        self.stale_own[k] = False
        for c in range(self.P):
            rate = self.rate[c] + self.cells(k, self.slot_count[c]) - 1.0
            # of no observed cell nobody asks
            row[24] = log1p(1.0 / rate) if rate > 0.0 else 0.0
            row[32] = self.zeta * (log(rate + 1.0) + self.log_zeta) if rate > -1.0 else 0.0
            row += 40

    cdef double score_own(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Log predictive of item i in cluster k, which counts it, given the others there, but for `constant`: in closed
        form from the rows of ``score_mixed``. Where that would lose digits, from the statistics."""
        cdef Py_ssize_t c, n = self.size[k], M = self.total + 2
        cdef const int32_t *count = self.count + k * self.levels
        cdef const int32_t *code = self.code + i * self.C
        cdef const int64_t *sum = self.sum + k * self.sums
        cdef const double *x = self.x + i * self.R
        cdef const double *row = self.at + (k >> 3) * 8 * self.rows + (k & 7) + 8 * self.levels
        cdef int64_t v, s
        cdef double kappa, turn, left, product = 1.0, log_q = 0.0, total = 0.0
        if self.coarse:
            # the rows have one grain more than the others
            return self.direct(i, k, True)
        if self.stale_own[k]:
            self.settle_own(k)
        for c in range(self.C):
            if code[c]:
                total += (self.log_add[self.table_of[code[c]] * M + count[code[c]] - 1]
                          - self.log_all[self.total_of[c] * M + self.cells(k, self.slot_discrete[c]) - 1])
        for c in range(self.P):
            v = self.tally[i * self.P + c]
            if v >= 0:
                s = sum[c] - v
                total += (log_rise(self.rise, self.length, self.zeta, self.shape, s, v)
                          - (self.shape + self.zeta * s) * row[24] - v * row[32])
            row += 40
        if self.complete:
            kappa = self.kappa0 + n
            turn = (kappa + 1.0) * self.shrunk[n - 1]
            total += row[0] - self.complete * (self.log_c[n] - self.log_c[n - 1])
            row += 16
            for c in range(self.complete):
                left = 1.0 - turn * row[8] * (x[c] - row[0]) * (x[c] - row[0])
                if not left >= LEAST_LEFT:
                    return self.direct(i, k, True)
                product *= left
                if product < 1e-150:
                    log_q += log(product)
                    product = 1.0
                row += 16
            total += self.zeta * (self.a0 + 0.5 * n - 0.5) * (log_q + log(product))
        for c in range(self.complete, self.R):
            if x[c] == x[c]:
                n = self.cells(k, self.slot_real[c])
                turn = (self.kappa0 + n + 1.0) * self.shrunk[n - 1]
                left = 1.0 - turn * row[8] * (x[c] - row[0]) * (x[c] - row[0])
                if not left >= LEAST_LEFT:
                    return self.direct(i, k, True)
                total += (row[16] - self.log_c[n] + self.log_c[n - 1]
                          + self.zeta * (self.a0 + 0.5 * n - 0.5) * log(left))
            row += 32
        if self.joint is not None:
            total += self.joint_score(i, k, True)
        return total

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef double units = 0.0 if self.joint is None else self.zeta * self.joint.log_units
        return self.direct(i, k, False) + self.constant[i] * self.constant_unit - units

    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef Py_ssize_t block = a & ~7
        cdef double r
        if self.stale[a]:
            self.settle(a)
        if self.stale[b]:
            self.settle(b)
        self.score(i, block)
        if (b & ~7) != block:
            self.score(i, b & ~7)
        if own >= 0:
            self.power[own] = self.score_own(i, own) if self.size[own] > 1 else self.direct(i, own, True)
        r = exp(self.power[b] - self.power[a])
        return r * self.weight_of(b, own == b) / self.weight_of(a, own == a) if sized else r

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, own = self.z[i], m = self.K + 1
        cdef double top = -INFINITY, w_own = 0.0
        for k in range(m):
            if self.stale[k]:
                self.settle(k)
        for k in range(0, m, 8):
            self.score(i, k)
        if own >= 0:
            # alone, its own cluster stands for the new one
            self.power[own] = self.score_own(i, own) if self.size[own] > 1 else self.power[self.K]
            w_own = self.W[own]
            self.W[own] = self.scan_weight(self.size[own] - 1)
        # not of a new cluster that the prior rules out: it may outweigh all others
        for k in range(m if self.new_cluster_weight > 0.0 else self.K):
            if self.power[k] > top:
                top = self.power[k]
        if not self.power[self.K] <= top:
            self.power[self.K] = top
        # what columns past the options hold may be beyond what an exponential takes
        for k in range(m, (m + 7) & ~7):
            self.power[k] = top
        for k in range(0, m, 8):
            weigh_mixed(self.W + k, self.power + k, top, self.w + k)
        if own >= 0:
            self.W[own] = w_own
            if self.size[own] == 1:
                self.w[m - 1] = 0.0

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        return self.log_lik_of(k, -1)

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return self.log_lik_of(a, b)

    cdef double log_lik_of(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Log marginal likelihood of cluster a, joined with cluster b unless b is -1."""
        cdef Py_ssize_t c, r, n, M = self.total + 2
        cdef bint both = b >= 0
        # without a second cluster the first stands in, and nothing of it is read twice
        cdef Py_ssize_t e = b if both else a
        cdef const int32_t *count = self.count + a * self.levels
        cdef const int32_t *count2 = self.count + e * self.levels
        cdef const int64_t *sum = self.sum + a * self.sums
        cdef const int64_t *sum2 = self.sum + e * self.sums
        cdef int64_t s = sum[self.sums - 1] + (sum2[self.sums - 1] if both else 0)
        cdef double scale, mean, rate, ratio = 1.0, log_ratio = 0.0, total = s * self.constant_unit
        for c in range(self.C):
            n = self.cells(a, self.slot_discrete[c]) + (self.cells(e, self.slot_discrete[c]) if both else 0)
            total -= self.rise_all[self.total_of[c] * M + n]
            for r in range(self.first[c], self.first[c + 1]):
                total += self.rise_add[self.table_of[r] * M + count[r] + (count2[r] if both else 0)]
        for c in range(self.P):
            n = self.cells(a, self.slot_count[c]) + (self.cells(e, self.slot_count[c]) if both else 0)
            s = sum[c] + (sum2[c] if both else 0)
            rate = self.rate[c]
            # (rate / (rate + n))^shape / (rate + n)^s
            total += (log_rise(self.rise, self.length, self.zeta, self.shape, 0, s) - self.shape * log1p(n / rate)
                      - s * self.zeta * (log(rate + n) + self.log_zeta))
        sum += self.P
        sum2 += self.P
        for c in range(self.R):
            n = self.cells(a, self.slot_real[c])
            if both:
                n += self.cells(e, self.slot_real[c])
                scale = scale_of_both(sum, self.squares_of(a), sum2, self.squares_of(e), c, n, self.inverse,
                                      self.shrunk, self.kappa0, self.m0[c], self.b0[c] + 0.5 * n * self.grain[c])
            else:
                scale = self.scale(sum, self.squares_of(a), c, 0, n, &mean)
            total += self.log_n[n] - 0.5 * self.zeta * n * self.log_b0[c]
            if c >= self.complete:
                total -= self.zeta * (self.a0 + 0.5 * n) * log(scale / self.b0[c])
                continue
            ratio *= scale / self.b0[c]
            if not ratio < 1e150:
                log_ratio += log(ratio)
                ratio = 1.0
        if self.complete:
            n = self.size[a] + (self.size[e] if both else 0)
            total -= self.zeta * (self.a0 + 0.5 * n) * (log_ratio + log(ratio))
        if self.joint is not None and not self.apart:
            total += self.joint.log_union(a, e) if both else self.joint.cluster_log_lik(a)
        return total

    def log_densities(self, Py_ssize_t first):
        """In closed form where columns are jointly normal, from the points as they were given. Under a power the
        density itself, not its power, with the parameters' posterior under the power."""
        cdef Py_ssize_t i, k
        cdef double[:, ::1] density = np.empty((self.N - first, self.K))
        if self.zeta == 1.0:
            self.apart = True
            try:
                found = super().log_densities(first)
            finally:
                self.apart = False
        else:
            self.begin_scan()
            for i in range(first, self.N):
                for k in range(self.K):
                    # the last of the clusters are the new items; behind it stands an empty column
                    density[i - first, k] = self.log_density_of(i, k + (k == self.K - 1))
            found = np.asarray(density)
        if self.joint is None:
            return found
        self.joint.K = self.K
        return found + self.joint.log_densities(first)

    cdef double log_density_of(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Log predictive density of item i in cluster k, which does not count it, but for jointly normal columns; the
        posterior of the parameters has the power."""
        cdef Py_ssize_t c, r, n
        cdef const int32_t *code = self.code + i * self.C
        cdef const int64_t *sum = self.sum + k * self.sums
        cdef const double *x = self.x + i * self.R
        cdef double mean, b, a, shrink, of_all, total = self.constant[i] * self.constant_unit / self.zeta
        for c in range(self.C):
            if code[c]:
                of_all = self.zeta * self.cells(k, self.slot_discrete[c])
                for r in range(self.first[c], self.first[c + 1]):
                    of_all += self.pseudo_count(r)
                total += log((self.pseudo_count(code[c]) + self.zeta * self.count[k * self.levels + code[c]])
                             / of_all)
        for c in range(self.P):
            n = self.tally[i * self.P + c]
            if n >= 0:
                a = self.shape + self.zeta * sum[c]
                b = self.zeta * (self.rate[c] + self.cells(k, self.slot_count[c]))
                total += log_rise_far(a, n) - a * log1p(1.0 / b) - n * log(b + 1.0)
        sum += self.P
        for c in range(self.R):
            if x[c] == x[c]:
                n = self.cells(k, self.slot_real[c])
                a = self.zeta * (self.a0 + 0.5 * n)
                b = self.zeta * self.scale(sum, self.squares_of(k), c, 0, n, &mean)
                # kappa_n / (kappa_n + 1)
                shrink = self.zeta * (self.kappa0 + n) / (self.zeta * (self.kappa0 + n) + 1.0)
                total += (lgamma(a + 0.5) - lgamma(a) + 0.5 * log(shrink / (2.0 * M_PI * b))
                          - (a + 0.5) * log1p(0.5 * (self.grain[c] + shrink * (x[c] - mean) * (x[c] - mean)) / b))
        return total

    def statistics(self):
        """dict of ndarray of int, one row a cluster, copies: counts (K, levels), of all discrete columns one after
        another; seen (K, D), observed cells; sums (K, P + R + 1), of counts, of real cells in units, those of columns
        without missing cells first, and of the logs that an item has in every cluster; squares (K, R, 2), of real
        cells in units^2, low and high 64 bits; joint, of jointly normal columns, as a ``Gaussian`` gives
        them."""
        cdef Py_ssize_t k, c, K = self.K
        if self.joint is not None:
            self.joint.K = K
        return ({} if self.joint is None else {"joint": self.joint.statistics()["counts"]}) | {
            "counts": np.array([[self.count[k * self.levels + c] for c in range(1, self.levels)] for k in range(K)]),
            "seen": np.array([[self.cells(k, self.slot[c]) for c in range(self.D)] for k in range(K)]),
            "sums": np.array([[self.sum[k * self.sums + c] for c in range(self.sums)] for k in range(K)]),
            "squares": np.array([[[(<int64_t *> self.squares_of(k))[2 * c + h] for h in range(2)]
                                  for c in range(self.R)] for k in range(K)], dtype=np.int64),
        }


@cython.final
cdef class MixedParameters(DrawnParameters):
    """Parameters of a cluster that are drawn given its items, and forgotten."""

    cdef Mixed model
    cdef DrawnParameters joint          # of the jointly normal columns, or None

    def __init__(self, Mixed model not None):
        self.model = model
        self.size = model.levels + 2 * model.P + 3 * model.R
        self.tile_rows = model.C + model.P + model.R
        if model.joint is not None:
            self.joint = model.joint.capability(DrawnParameters)
            self.size += self.joint.size
            self.tile_rows += self.joint.tile_rows
            self.work_size = self.joint.work_size

    cdef void draw_posterior(self, Rng rng, Py_ssize_t k, double *theta, double *work) noexcept nogil:
        """theta: what ``tile_mixed`` reads, Dirichlet probabilities, gamma rates, normal means and precisions; of a
        power such that a cell's density has it."""
        cdef Py_ssize_t c, r, n
        cdef double zeta = self.model.zeta, pseudo
        cdef const int32_t *count = self.model.count + k * self.model.levels
        cdef const int64_t *sum = self.model.sum + k * self.model.sums
        cdef double shape, rate, mean, precision, top, total
        theta[0] = 0.0
        for c in range(self.model.C):
            top = -INFINITY
            for r in range(self.model.first[c], self.model.first[c + 1]):
                pseudo = self.model.pseudo_count(r) + zeta * count[r]
                theta[r] = log(pseudo) if rng is None else rng.draw_log_gamma(pseudo)
                top = max(top, theta[r])
            total = 0.0
            for r in range(self.model.first[c], self.model.first[c + 1]):
                total += exp(theta[r] - top)
            for r in range(self.model.first[c], self.model.first[c + 1]):
                theta[r] = zeta * (theta[r] - (top + log(total)))
        theta += self.model.levels
        for c in range(self.model.P):
            shape = self.model.shape + zeta * sum[c]
            rate = zeta * (self.model.rate[c] + self.model.cells(k, self.model.slot_count[c]))
            theta[0] = (log(shape) if rng is None else rng.draw_log_gamma(shape)) - log(rate)
            theta[1] = zeta * exp(theta[0])
            theta[0] *= zeta
            theta += 2
        for c in range(self.model.R):
            n = self.model.cells(k, self.model.slot_real[c])
            precision = self.model.scale(sum + self.model.P, self.model.squares_of(k), c, 0, n, &mean)
            # zeta times the precision, as b_n is over zeta
            shape = zeta * (self.model.a0 + 0.5 * n)
            precision = (shape if rng is None else rng.draw_gamma(shape)) / precision
            if rng is not None:
                mean += rng.draw_normal() * sqrt(self.model.shrunk[n] / precision)
            theta[0], theta[1] = mean, sqrt(precision)
            theta[2] = 0.5 * (zeta * (log(precision) - self.model.log_zeta) - self.model.grain[c] * precision)
            theta += 3
        if self.joint is not None:
            self.joint.draw_posterior(rng, k, theta, work)

    cdef void load_tile(self, const int32_t *items, Py_ssize_t n, double *tile) noexcept nogil:
        cdef Py_ssize_t t, c, i, C = self.model.C, P = self.model.P, R = self.model.R
        for t in range(TILE_ITEMS):
            i = items[min(t, n - 1)]
            for c in range(C):
                tile[TILE_ITEMS * c + t] = self.model.code[i * C + c]
            for c in range(P):
                tile[TILE_ITEMS * (C + c) + t] = self.model.tally[i * P + c]
            for c in range(R):
                tile[TILE_ITEMS * (C + P + c) + t] = self.model.x[i * R + c]
        if self.joint is not None:
            self.joint.load_tile(items, n, tile + TILE_ITEMS * (C + P))

    cdef void score_tile(self, const double *tile, const double *theta, double log_weight, const double *floor,
                         double *out) noexcept nogil:
        cdef Py_ssize_t t
        cdef double[TILE_ITEMS] more
        tile_mixed(theta, self.model.C, self.model.levels, self.model.P, self.model.R, tile, log_weight, out)
        if self.joint is not None:
            # R is 0
            self.joint.score_tile(tile + TILE_ITEMS * (self.model.C + self.model.P),
                                  theta + self.model.levels + 2 * self.model.P, 0.0, NO_FLOOR, more)
            for t in range(TILE_ITEMS):
                out[t] += more[t]

    cdef void count_items(self, const int32_t *items, Py_ssize_t n, Py_ssize_t k, double *work) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(n):
            self.model.add(items[t], k)


@cython.final
cdef class MixedShards(Shards):
    """Rows in shards."""

    cdef Mixed model

    @classmethod
    def suits(cls, model):
        """Whether the real columns are independent: bool."""
        return model.covariance == "diag"

    def __init__(self, Mixed model not None):
        self.model = model
        self.column_bytes = (16 * model.R + 8 * model.sums + 4 * model.levels + 4 * model.S + 15) // 16 * 16

    @classmethod
    def build_shard(cls, values, columns, **params):
        # nobody asks a shard for the prior
        return Mixed(Rows(values, len(values), columns), columns.types)

    @classmethod
    def build_whole(cls, columns, packed, **params):
        _discrete, counts, reals, order = _by_kind(columns.types, columns.observed < columns.rows)
        words = np.frombuffer(bytes(packed)[:16 * len(reals) + 8 * (len(counts) + len(reals))], dtype=np.int64).tolist()
        mean, variance = np.zeros(len(columns.types)), np.zeros(len(columns.types))
        for at, d in enumerate(order):
            # whole numbers until the division, so that it does not depend on what the shards are
            j, n = reals[d], max(1, int(columns.observed[reals[d]]))
            square = (words[2 * at + 1] << 64) + (words[2 * at] & 0xFFFFFFFFFFFFFFFF)
            v = words[2 * len(reals) + len(counts) + at]
            unit = float(resolution(columns.widest(j), columns.rows))
            mean[j], variance[j] = v / n * unit, (n * square - v * v) / n ** 2 * unit ** 2
        rows = Rows(np.empty((0, len(columns.types))), columns.rows, columns.with_moments(mean, variance))
        return Mixed(rows, columns.types, **params)

    cdef void write_column(self, Py_ssize_t k, char *to) noexcept nogil:
        memcpy(to, self.model.squares_of(k), 16 * self.model.R)
        to += 16 * self.model.R
        memcpy(to, self.model.sum + k * self.model.sums, 8 * self.model.sums)
        to += 8 * self.model.sums
        memcpy(to, self.model.count + k * self.model.levels, 4 * self.model.levels)
        memcpy(to + 4 * self.model.levels, self.model.seen + k * self.model.S, 4 * self.model.S)

    cdef void add_column(self, Py_ssize_t k, const char *packed) noexcept nogil:
        cdef Py_ssize_t c
        cdef const int64_t *sum = <const int64_t *> (packed + 16 * self.model.R)
        cdef const int32_t *count = <const int32_t *> (sum + self.model.sums)
        cdef int64_t *own_sum = self.model.sum + k * self.model.sums
        cdef int32_t *own_count = self.model.count + k * self.model.levels
        cdef int32_t *own_seen = self.model.seen + k * self.model.S
        absorb_squares(self.model.squares_of(k), <const whole *> packed, self.model.R)
        for c in range(self.model.sums):
            own_sum[c] += sum[c]
        for c in range(self.model.levels):
            own_count[c] += count[c]
        for c in range(self.model.S):
            own_seen[c] += count[self.model.levels + c]
        self.model.stale[k] = True
