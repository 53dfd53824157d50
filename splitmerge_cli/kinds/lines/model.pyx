"""Mixture of straight lines, y = intercept + slope x + noise, of unknown number (van Rossum et al. 2018, section 3).

y_c ~ N(0, sigma1^2 I + sigma0^2 X X'), X = [1, x], with the line of a cluster integrated out; or its intercept and
slope kept as parameters theta_c ~ N(0, sigma0^2 I); z ~ Chinese restaurant process, or uniform over partitions. The
noise is known, or has an inverse-gamma prior in every cluster.

With tau = sigma1^2 / sigma0^2, n points of means xm, ym and centred sums of squares Cxx, Cxy, Cyy:

    rho = n tau / (n + tau)        B = Cxx + rho xm^2 + tau        slope = (Cxy + rho xm ym) / B
    Q = Cyy + rho ym^2 - slope^2 B        the least penalised sum of squares
    h(x) = 1 / (n + tau) + (x - xc)^2 / B,  xc = n xm / (n + tau)        leverage of a point at x
    r = y - n ym / (n + tau) - slope (x - xc)        its residual

    p(y | c) = N(r; 0, sigma1^2 (1 + h)), and of a point of c given the others N(r / (1 - h); 0, sigma1^2 / (1 - h))

(unknown noise: Student's t of 2 a_n degrees of freedom in place of the normal, b_n = b0 + Q / 2).
"""
cimport cython
from libc.math cimport INFINITY, M_PI, exp, lgamma, log, log1p, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memcmp, memcpy, memset

import numpy as np
import scipy.sparse

from splitmerge_cli.core.capabilities cimport Uncollapsed
from splitmerge_cli.core.log_scale cimport exp_weights
from splitmerge_cli.core.memory cimport doubles_of
from splitmerge_cli.core.model cimport Model
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.core.sums cimport BY_COLUMN, COPIED, MARK, ROOM

from splitmerge_cli import priors
from splitmerge_cli.core.checks import as_numbers
from splitmerge_cli.core.checks import resolution
from splitmerge_cli.core.options import Choice, Count, Flag, Number, Option, read_options
from splitmerge_cli.core.shared import as_array, share
from splitmerge_cli.kinds.lines import simulate_lines

cdef extern from "simd_math.h":
    pass

cdef extern from "fixed_point.h":
    pass

cdef extern from *:
    """
    typedef struct { int64_t x, y; whole xx, xy, yy; } line_sums;

    static inline void line_count(line_sums *s, int64_t x, int64_t y, int64_t sign)
    {
        s->x += sign * x;
        s->y += sign * y;
        s->xx += (whole)x * (sign * x);
        s->xy += (whole)x * (sign * y);
        s->yy += (whole)y * (sign * y);
    }

    static inline void line_absorb(line_sums *s, const line_sums *t, int64_t sign)
    {
        s->x += sign * t->x;
        s->y += sign * t->y;
        s->xx += sign * t->xx;
        s->xy += sign * t->xy;
        s->yy += sign * t->yy;
    }

    /* Means, and centred sums of squares and products, in units. */
    typedef struct { double x, y, xx, xy; long double lxx, lxy, lyy; } moments;

    static inline moments line_moments(const line_sums *s, int64_t n, double inverse)
    {
        const whole xx = whole_scatter(n, s->xx, s->x, s->x), xy = whole_scatter(n, s->xy, s->x, s->y);
        moments m;
        m.x = (double)s->x * inverse;
        m.y = (double)s->y * inverse;
        m.xx = whole_double(xx) * inverse;
        m.xy = whole_double(xy) * inverse;
        m.lxx = n ? whole_long(xx) / n : 0.0L;
        m.lxy = n ? whole_long(xy) / n : 0.0L;
        m.lyy = n ? whole_long(whole_scatter(n, s->yy, s->y, s->y)) / n : 0.0L;
        return m;
    }

    /* What scores a point against the regression of n points: xc, yc, numerator of the slope, B, 1 / (n + tau). */
    static inline void line_settle(const line_sums *s, int64_t n, double inverse, double h0, double tau, double qx,
                                   double qy, double *at, ptrdiff_t cap)
    {
        const double x = (double)s->x * qx, y = (double)s->y * qy, shrink = tau * h0 * inverse;
        const double xx = whole_double(whole_scatter(n, s->xx, s->x, s->x)) * (inverse * (qx * qx));
        const double xy = whole_double(whole_scatter(n, s->xy, s->x, s->y)) * (inverse * (qx * qy));
        at[0] = x * h0;
        at[cap] = y * h0;
        at[2 * cap] = xy + shrink * x * y;
        at[3 * cap] = xx + shrink * x * x + tau;
        at[4 * cap] = h0;
    }

    /* A point against eight regressions, known noise (line_residual: lanes from `at` on). turn: 1, or -1 in the lane
       of the cluster that counts the point. `power`: the exponent; `front`: the factor before it, up to a constant;
       `left`: share that is left, 1 - h. */
    static inline lanes line_residual(const double *at, ptrdiff_t cap, double x, double y, lanes sign, double *front,
                                      double *left)
    {
        const lanes B = LANES_AT(at + 3 * cap), d = x - LANES_AT(at);
        const lanes t = B + sign * (LANES_AT(at + 4 * cap) * B + d * d), inverse = 1.0 / (B * t);
        const lanes e = (y - LANES_AT(at + cap)) * B - LANES_AT(at + 2 * cap) * d;
        const lanes turned = (1.0 - sign) * 0.5, of = B + turned * (t - B);
        lanes root;
        for (int l = 0; l < LANES; l++)
            root[l] = sqrt(inverse[l]);
        LANES_TO(front) = LANES_AT(at + 6 * cap) * of * root;
        LANES_TO(left) = t / B;
        return e * e * inverse * LANES_AT(at + 5 * cap);
    }

    static inline void line_normal(const double *at, ptrdiff_t cap, double x, double y, const double *turn,
                                   double *power, double *front, double *left)
    {
        EACH_LANE(h)
            LANES_TO(power + h) = -line_residual(at + h, cap, x, y, LANES_AT(turn + h), front + h, left + h);
    }

    /* The same, unknown noise; `degree` is a_n + 1/2, or minus a of the other points. */
    static inline void line_student(const double *at, ptrdiff_t cap, double x, double y, const double *turn,
                                    const double *degree, double *power, double *front, double *left)
    {
        EACH_LANE(h) {
            const lanes sign = LANES_AT(turn + h);
            const lanes q = 1.0 + sign * line_residual(at + h, cap, x, y, sign, front + h, left + h);
            for (int l = 0; l < LANES; l++)
                left[h + l] = q[l] < left[h + l] ? q[l] : left[h + l];
            LANES_TO(power + h) = -LANES_AT(degree + h) * lanes_log(q);
        }
    }

    /* A point against eight lines that are kept: yc, slope, scale and front of each. */
    static inline void line_kept(const double *at, ptrdiff_t cap, double x, double y, double *power, double *front)
    {
        EACH_LANE(h) {
            const double *from = at + h;
            const lanes r = y - LANES_AT(from + cap) - LANES_AT(from + 2 * cap) * x;
            LANES_TO(power + h) = -r * r * LANES_AT(from + 5 * cap);
            LANES_TO(front + h) = LANES_AT(from + 6 * cap);
        }
    }

    static inline void line_weigh(const double *W, const double *power, const double *front, double top, double *w)
    {
        EACH_LANE(h)
            LANES_TO(w + h) = LANES_AT(W + h) * LANES_AT(front + h) * lanes_exp(LANES_AT(power + h) - top);
    }
    """
    ctypedef struct line_sums:
        pass
    void line_count(line_sums *s, int64_t x, int64_t y, int64_t sign) noexcept nogil
    void line_absorb(line_sums *s, const line_sums *t, int64_t sign) noexcept nogil
    ctypedef struct moments:
        double x, y, xx, xy
        long double lxx, lxy, lyy
    void line_settle(const line_sums *s, int64_t n, double inverse, double h0, double tau, double qx, double qy,
                     double *at, Py_ssize_t cap) noexcept nogil
    moments line_moments(const line_sums *s, int64_t n, double inverse) noexcept nogil
    void line_kept(const double *at, Py_ssize_t cap, double x, double y, double *power, double *front) noexcept nogil
    void line_normal(const double *at, Py_ssize_t cap, double x, double y, const double *turn, double *power,
                     double *front, double *left) noexcept nogil
    void line_student(const double *at, Py_ssize_t cap, double x, double y, const double *turn, const double *degree,
                      double *power, double *front, double *left) noexcept nogil
    void line_weigh(const double *W, const double *power, const double *front, double top, double *w) noexcept nogil

cdef enum:
    # rows of `at`: what scores a point, one column a cluster; NUMERATOR of the slope, whose denominator is B. With
    # parameters: YC the intercept, NUMERATOR the slope.
    XC, YC, NUMERATOR, B, H0, SCALE, FRONT, WIDTH, N_ROWS
    # parameters of a cluster
    INTERCEPT = 0
    GRADIENT = 1
    VARIANCE = 2

# A point's own share is taken out in closed form while 1 - h keeps its digits, and by counting where it does not.
cdef double LEAST_LEFT = 1e-3
# standard deviations of a step of the Metropolis walk, of two numbers and of one
cdef double STEP2 = 1.7
cdef double STEP1 = 2.4

cdef double LOG_2PI = log(2.0 * M_PI)
cdef double HALF_LOG_PI = 0.5 * log(M_PI)


cdef inline double bounded_exp(double x) noexcept nogil:
    """exp, without the library's slow way to 0 and to infinity."""
    if -700.0 < x < 700.0:
        return exp(x)
    return 0.0 if x < 0.0 else INFINITY


cdef struct Score:
    double power, square, inverse, left, least


cdef struct Fit:
    double xc, yc, slope, h0, B
    long double Q


def _prepare(x):
    """Points in units, with their ranges; a ValueError for what are no points."""
    points = np.ascontiguousarray(x, dtype=np.float64)
    if points.ndim != 2 or not len(points) or points.shape[1] != 2:
        raise ValueError(f"x: expected an array of shape (N, 2), got {points.shape}")
    if not (np.abs(points) <= 1e30).all():
        raise ValueError("x: a coordinate is not a finite number of magnitude at most 1e30")
    farthest = np.abs(points).max(axis=0)
    units = np.array([resolution(farthest[d], len(points)) for d in range(2)])
    return {"xy": np.rint(points / units), "units": units, "spread": np.ptp(points, axis=0), "farthest": farthest,
            "points": None if np.may_share_memory(points, x) else points}


def _tables(Py_ssize_t N, double tau, double a0, bint student, bint conjugate):
    """Factors that depend on a cluster's size, 0 to N + 1, alone."""
    cdef Py_ssize_t n
    cdef double[::1] inverse = np.zeros(N + 2), h0 = np.zeros(N + 2)
    cdef double[::1] log_c = np.zeros(N + 2), log_rise = np.zeros(N + 2)
    cdef double[::1] own_share = np.empty(N + 2 if student and conjugate else 0)
    for n in range(N + 2):
        inverse[n] = 1.0 / n if n else 0.0
        h0[n] = 1.0 / (n + tau)
        if student:
            log_rise[n] = lgamma(a0 + 0.5 * n) - lgamma(a0)
            if conjugate:
                log_c[n] = lgamma(a0 + 0.5 * n + 0.5) - lgamma(a0 + 0.5 * n)
                own_share[n] = exp(log_c[n] - log_c[0])
    return {"inverse": np.asarray(inverse), "h0": np.asarray(h0), "log_c": np.asarray(log_c),
            "log_rise": np.asarray(log_rise), "share": np.asarray(own_share)}


@cython.final
cdef class Lines(Uncollapsed):
    """Mixture of straight lines. `x`: points x, y, float of shape (N, 2).

    Cost: a point against K clusters O(K), in blocks of eight; a cluster's likelihood O(1). Memory: 12 bytes a point,
    180 a cluster; shared by the models of the same data, 64 bytes a point (noise=nig: 80). Sums are exact (see
    docs/decisions/0006): the state is the labels and parameters alone. Source: van Rossum et al. 2018, 2.1.1 and 3.
    """

    kind = "points"
    simulate = staticmethod(simulate_lines)
    QUANTITIES = "splitmerge_cli.kinds.lines.quantities:Lines"
    CALIBRATION = {
        "": {"options": {"concentration": "gamma(2,2)", "sigma0": 3}},
        "nig": {"options": {"concentration": "gamma(2,2)", "sigma0": 3, "noise": "nig"}},
    }
    OPTIONS = (
        *priors.OPTIONS,
        Number("sigma0", 10.0, "standard deviation of intercept and slope, in units of y and of y / x (noise=nig: "
               "times the noise's standard deviation over sigma1)", least=1e-30, most=1e30),
        Number("sigma1", 1.0, "standard deviation of the noise; noise=nig: root of its mean variance", least=1e-30,
               most=1e30),
        Choice("noise", "known", "known, or nig: every cluster has its own variance, with an inverse gamma prior",
               choices=("known", "nig")),
        Number("a0", 2.0, "noise=nig: shape of the variance's prior", least=1.0 + 1e-12, most=1e6),
        Flag("conjugate", True, "true: lines are integrated out; false: intercept and slope are kept and updated"),
        Choice("refresh", "draw", "conjugate=false: draw them given their points, or metropolis",
               choices=("draw", "metropolis")),
        Count("steps", 5, "refresh=metropolis: steps of the random walk", least=1),
        Option("candidates", None, "conjugate=false: a finite base measure, [[intercept, slope], ...]", optional=True),
    )

    cdef readonly double sigma0, sigma1, a0, b0
    cdef readonly str noise, refresh
    cdef readonly int steps
    cdef bint student, walks            # noise == 'nig'; refresh == 'metropolis'
    cdef const double *xy               # [N, 2] points, multiples of their unit
    cdef double unit_x, unit_y
    cdef double tau                     # sigma1^2 / sigma0^2
    cdef double width, half, root_half  # 2 sigma1^2, its inverse, and the root of that
    cdef line_sums *sums                # [cap]
    cdef int8_t *stale                  # [cap] whether `at` is behind the sums
    cdef double *at                     # [N_ROWS, cap] what scores a point
    cdef double *theta                  # [cap, 3] parameters
    cdef double *turn                   # [9, 8] 1; row l: -1 in lane l
    cdef double *degree                 # [8] of a block
    cdef double *power                  # [cap]
    cdef double *front                  # [cap]
    cdef double *left                   # [cap]
    cdef const double *inverse          # [N + 2] 1 / n, 0 at 0
    cdef const double *h0               # [N + 2] 1 / (n + tau)
    cdef const double *log_c            # [N + 2] nig: lgamma(a_n + 1/2) - lgamma(a_n)
    cdef const double *log_rise         # [N + 2] nig: lgamma(a_n) - lgamma(a0)
    cdef double *candidate              # [n_candidates, 2]
    cdef double *chances                # [2 n_candidates] log weights, weights
    cdef readonly Py_ssize_t n_candidates

    @classmethod
    def accepts(cls, data):
        accepted, reason = super().accepts(data)
        if accepted and data.scales is not None:
            return False, "reads x and y as they are, not on a scale (data.scale)"
        if accepted and (scipy.sparse.issparse(data.values) or data.values.shape[1] != 2):
            sort = "sparse" if scipy.sparse.issparse(data.values) else data.values.shape[1]
            return False, f"reads dense points of two columns, x and y, not {sort}; data.columns=[x,y] chooses them"
        return accepted, reason

    def __init__(self, x, **options):
        given = read_options("model", self.OPTIONS, options)
        cdef double sigma0 = given["sigma0"], sigma1 = given["sigma1"], a0 = given["a0"]
        noise, refresh, conjugate = given["noise"], given["refresh"], given["conjugate"]
        candidates = given["candidates"]
        points = as_array(x)
        data = share(_prepare, points)
        if not 1e-12 <= sigma1 / sigma0 <= 1e12:
            raise ValueError(f"model.sigma1: expected 1e-12 to 1e12 times sigma0={sigma0:g}, got {sigma1:g}")
        self.vectors = points if data.points is None else data.points
        spread, farthest = data.spread, data.farthest
        # what the points are rounded to, across a line as steep as the data
        least = max(1e-7 * spread[1], 2e-10 * farthest[1],
                    2e-10 * farthest[0] * spread[1] / spread[0] if spread[0] > 0.0 else 0.0)
        if sigma1 < least:
            raise ValueError(f"model.sigma1: expected at least {least:.3g}, since the range of y is {spread[1]:.3g} "
                             f"and coordinates reach {farthest.max():.3g}, got {sigma1:g}: less leaves no digits to "
                             "compare lines")
        lines = None if candidates is None else self._candidates(candidates, noise, conjugate)
        cdef Py_ssize_t N = len(points), n, lane
        self.sigma0, self.sigma1, self.a0, self.noise, self.refresh = sigma0, sigma1, a0, noise, refresh
        # the sums are of numbers of two sizes
        self.keep(&self.sums, COPIED, sizeof(line_sums) // 8, BY_COLUMN)
        self.keep(&self.at, COPIED, N_ROWS)
        self.keep(&self.theta, COPIED, 3, BY_COLUMN)
        self.keep(&self.power, ROOM)
        self.keep(&self.front, ROOM)
        self.keep(&self.left, ROOM)
        self.keep(&self.stale, MARK)
        self._allocate(N, N)
        self._set_prior(given["prior"].build(N, given["concentration"]))
        self.conjugate = conjugate
        self.steps = given["steps"]
        self.b0 = sigma1 * sigma1 * (a0 - 1.0)
        self.student, self.walks = noise == "nig", refresh == "metropolis"
        self.tau = (sigma1 / sigma0) ** 2
        self.width = 2.0 * sigma1 * sigma1
        self.half = 1.0 / self.width
        self.root_half = sqrt(self.half)
        self.unit_x, self.unit_y = data.units
        by_size = share(_tables, N, self.tau, a0, self.student, conjugate)
        self._hold(data)
        self._hold(by_size)
        self.xy, self.inverse, self.h0 = doubles_of(data.xy), doubles_of(by_size.inverse), doubles_of(by_size.h0)
        self.log_c, self.log_rise = doubles_of(by_size.log_c), doubles_of(by_size.log_rise)
        if self.student and conjugate:
            self._scale_scan_table(by_size, "share", 1.0)
        self.turn = self.memory.doubles(72)
        for n in range(9):
            for lane in range(8):
                self.turn[8 * n + lane] = -1.0 if n == lane else 1.0
        self.degree = self.memory.doubles(8)
        if lines is not None:
            self.n_candidates = len(lines)
            self.candidate = self.memory.doubles(2 * self.n_candidates)
            self.chances = self.memory.doubles(2 * self.n_candidates)
            for n in range(self.n_candidates):
                self.candidate[2 * n], self.candidate[2 * n + 1] = lines[n]
        self.set_labels(np.zeros(N, dtype=np.int32))

    @property
    def why_not_added(self):
        """str: clusters that keep parameters take one row at a time."""
        return "" if self.conjugate else "model.conjugate=false: expected true for items of several rows"

    def _candidates(self, candidates, noise, conjugate):
        """The candidate lines as an array, checked."""
        if conjugate or noise != "known":
            raise ValueError("model.candidates: expected with conjugate=false and noise=known only")
        try:
            lines = np.array(candidates)
            lines = lines.astype(np.float64) if lines.dtype.kind in "if" else np.empty(0)
        except (TypeError, ValueError):
            lines = np.empty(0)
        if lines.ndim != 2 or lines.shape[1] != 2 or not len(lines) or not (np.abs(lines) <= 1e30).all():
            raise ValueError("model.candidates: expected a list of [intercept, slope], numbers up to 1e30 in magnitude")
        if len(np.unique(lines, axis=0)) != len(lines):
            raise ValueError("model.candidates: a line stands there twice")
        return lines

    # -- statistics
    cdef int grow(self, Py_ssize_t cap) except -1:
        cdef Py_ssize_t k
        Uncollapsed.grow(self, cap)
        for k in range(self.cap, cap):
            self.theta[3 * k + VARIANCE] = self.sigma1 * self.sigma1
        return 0

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        memset(self.sums + k, 0, sizeof(line_sums))
        self.stale[k] = True

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        line_count(self.sums + k, <int64_t> self.xy[2 * i], <int64_t> self.xy[2 * i + 1], sign)

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        line_absorb(self.sums + dst, self.sums + src, sign)
        self.stale[dst] = True

    cdef Fit fit(self, const line_sums *s, Py_ssize_t n) noexcept nogil:
        """The penalised regression of n points."""
        cdef Fit f
        cdef double rho = n * self.tau * self.h0[n], xx = self.unit_x * self.unit_x
        cdef double xy = self.unit_x * self.unit_y, yy = self.unit_y * self.unit_y
        cdef moments m = line_moments(s, n, self.inverse[n])
        cdef double xm = m.x * self.unit_x, ym = m.y * self.unit_y
        cdef long double b
        f.h0 = self.h0[n]
        f.B = m.xx * xx + rho * xm * xm + self.tau
        f.xc = n * xm * f.h0
        f.yc = n * ym * f.h0
        f.slope = (m.xy * xy + rho * xm * ym) / f.B
        # the sum of squares at the slope at hand: its rounding enters by its square alone
        b = f.slope
        f.Q = (m.lyy * yy - 2.0 * b * m.lxy * xy + b * b * m.lxx * xx
               + rho * (ym - b * xm) * (ym - b * xm) + self.tau * b * b)
        if f.Q < 0.0:
            f.Q = 0.0
        return f

    cdef void settle(self, Py_ssize_t k) noexcept nogil:
        """Bring what scores a point up to date."""
        cdef double *at = self.at + k
        cdef double *theta = self.theta + 3 * k
        cdef Py_ssize_t cap = self.cap, n = self.size[k]
        self.stale[k] = False
        at[SCALE * cap], at[FRONT * cap], at[WIDTH * cap] = self.half, self.root_half, self.width
        if not self.conjugate:
            at[YC * cap], at[NUMERATOR * cap] = theta[INTERCEPT], theta[GRADIENT]
        else:
            line_settle(self.sums + k, n, self.inverse[n], self.h0[n], self.tau, self.unit_x, self.unit_y, at,
                        cap)
        if self.student:
            at[WIDTH * cap] = 2.0 * (self.b0 + 0.5 * <double> self.fit(self.sums + k, n).Q if self.conjugate
                                     else theta[VARIANCE])
            at[SCALE * cap] = 1.0 / at[WIDTH * cap]
            at[FRONT * cap] = sqrt(at[SCALE * cap])

    # -- probabilities
    cdef inline Score score(self, Py_ssize_t i, Py_ssize_t k, bint own) noexcept nogil:
        """p(point i | column k) but for log_c and a constant; `own`: the column counts the point, whose share is taken
        out."""
        cdef Score score
        cdef double *at = self.at + k
        cdef Py_ssize_t cap = self.cap
        cdef double x = self.xy[2 * i] * self.unit_x, y = self.xy[2 * i + 1] * self.unit_y, d, b, t, e, inverse
        if self.stale[k]:
            self.settle(k)
        score.square, score.inverse = at[SCALE * cap], at[WIDTH * cap]
        if not self.conjugate:
            e = y - at[YC * cap] - at[NUMERATOR * cap] * x
            score.left, score.least = 1.0, 0.0
            score.power = -e * e * at[SCALE * cap]
            return score
        d, b = x - at[XC * cap], at[B * cap]
        t = at[H0 * cap] * b + d * d
        t = b - t if own else b + t
        e = (y - at[YC * cap]) * b - at[NUMERATOR * cap] * d
        inverse = 1.0 / (b * t)
        e *= e * inverse * at[SCALE * cap]
        # squared, without the root: 1 / (1 + h) is b / t, 1 - h is t / b
        score.square *= inverse * (t * t if own else b * b)
        score.inverse *= inverse * (b * b if own else t * t)
        score.left = t
        score.least = LEAST_LEFT * b
        score.power = -e
        if self.student:
            if own:
                score.left = min(t, (1.0 - e) * b)
                score.power = (self.a0 + 0.5 * (self.size[k] - 1)) * log1p(-e)
            else:
                score.power = -(self.a0 + 0.5 * self.size[k] + 0.5) * log1p(e)
        return score

    cdef double log_pred(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef Score score = self.score(i, k, False)
        return score.power + 0.5 * log(score.square) + self.log_c[self.size[k]] - HALF_LOG_PI

    cdef double odds(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b, Py_ssize_t own, bint sized) noexcept nogil:
        cdef Score at_a = self.score(i, a, own == a), at_b = self.score(i, b, own == b)
        cdef Py_ssize_t na = self.size[a] - (own == a), nb = self.size[b] - (own == b)
        cdef double r
        if own >= 0 and not (at_a.left >= at_a.least and at_b.left >= at_b.least) and self.conjugate:
            return Model.odds(self, i, a, b, own, sized)
        r = sqrt(at_b.square * at_a.inverse)
        if sized:
            r *= self.weight_of(b, own == b) / self.weight_of(a, own == a)
        return r * bounded_exp(at_b.power - at_a.power + self.log_c[nb] - self.log_c[na])

    cdef void weigh(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t m, double *w) noexcept nogil:
        cdef Score score
        cdef Py_ssize_t s, k
        cdef double top = -INFINITY, weight
        for s in range(m):
            k = first + s
            score = self.score(i, k, False)
            w[s] = score.power + self.log_c[self.size[k]]
            weight = self.weight_of(k, False)
            self.front[k] = weight * sqrt(score.square)
            # not of a new cluster that the prior rules out: it may outweigh all others
            if weight == 0.0:
                w[s] = -INFINITY
            if w[s] > top:
                top = w[s]
        for s in range(m):
            w[s] = self.front[first + s] * bounded_exp(w[s] - top)

    cdef void scan(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, s, own = self.z[i], m = self.K + self.auxiliaries, n, cap = self.cap
        cdef Py_ssize_t mine = own & ~7
        cdef bint alone
        cdef double x = self.xy[2 * i] * self.unit_x, y = self.xy[2 * i + 1] * self.unit_y, top = -INFINITY
        cdef double w_own
        cdef double *turn
        if own < 0:
            Model.scan(self, i)
            return
        n = self.size[own] - 1
        alone = n == 0
        for k in range(self.K, m):
            # a lone item's own cluster is one of them
            self.W[k] = (self.scan_alone if alone else self.new_cluster_weight) / self.auxiliaries
        for k in range(0, m, 8):
            for s in range(k, min(k + 8, m)):
                if self.stale[s]:
                    self.settle(s)
            turn = self.turn + 8 * (own - mine if k == mine else 8)
            if not self.conjugate:
                line_kept(self.at + k, cap, x, y, self.power + k, self.front + k)
            elif self.student:
                for s in range(8):
                    self.degree[s] = self.a0 + 0.5 * self.size[k + s] + 0.5
                if k == mine:
                    self.degree[own - mine] = -(self.a0 + 0.5 * n)
                line_student(self.at + k, cap, x, y, turn, self.degree, self.power + k, self.front + k, self.left + k)
            else:
                line_normal(self.at + k, cap, x, y, turn, self.power + k, self.front + k, self.left + k)
        if self.conjugate and not alone and not self.left[own] >= LEAST_LEFT:
            # the point decides the line of its own cluster: it is taken out and put back
            Model.scan(self, i)
            self.settle(own)
            return
        # not of a new cluster that the prior rules out: it may outweigh all others
        for k in range(m if self.W[self.K] > 0.0 else self.K):
            if self.power[k] > top and not (alone and k == (own if self.conjugate else m - 1)):
                top = self.power[k]
        if self.W[self.K] == 0.0:
            for k in range(self.K, m):
                self.power[k] = min(self.power[k], top)
        w_own = self.W[own]
        self.W[own] = self.scan_table[n] if n else self.scan_alone / self.auxiliaries
        for k in range(0, m, 8):
            line_weigh(self.W + k, self.power + k, self.front + k, top, self.w + k)
        self.W[own] = w_own
        for k in range(self.K + 1, m):
            self.W[k] = 0.0
        if alone:
            # its own cluster stands for the new one, or for the first of several
            if self.conjugate:
                self.w[own] = self.w[self.K]
            self.w[m - 1] = 0.0
        self.W[self.K] = self.new_cluster_weight

    cdef double log_lik_of(self, const line_sums *s, Py_ssize_t n, const double *theta) noexcept nogil:
        """log p(points), the line integrated out, or of this one."""
        cdef Fit f
        cdef double v
        if not self.conjugate:
            v = theta[VARIANCE]
            return -0.5 * n * (LOG_2PI + log(v)) - 0.5 * self.squares(s, n, theta) / v
        f = self.fit(s, n)
        v = -0.5 * (log((n + self.tau) / self.tau) + log(f.B / self.tau) + n * LOG_2PI)
        if self.student:
            return (v + self.log_rise[n] - 0.5 * n * log(self.b0)
                    - (self.a0 + 0.5 * n) * log1p(0.5 * <double> f.Q / self.b0))
        return v - n * log(self.sigma1) - 0.5 * <double> f.Q / (self.sigma1 * self.sigma1)

    cdef double squares(self, const line_sums *s, Py_ssize_t n, const double *theta) noexcept nogil:
        """Sum of squared residuals from a line."""
        cdef moments m = line_moments(s, n, self.inverse[n])
        cdef double r = m.y * self.unit_y - theta[INTERCEPT] - theta[GRADIENT] * m.x * self.unit_x
        cdef long double b = theta[GRADIENT] * (self.unit_x / self.unit_y)
        cdef double rest = <double> ((m.lyy - 2.0 * b * m.lxy + b * b * m.lxx) * self.unit_y * self.unit_y)
        return n * r * r + max(rest, 0.0)

    cdef double cluster_log_lik(self, Py_ssize_t k) noexcept nogil:
        return self.log_lik_of(self.sums + k, self.size[k], self.theta + 3 * k)

    cdef double log_union(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Log likelihood of two clusters together; with parameters, b's."""
        cdef line_sums s = self.sums[a]
        line_absorb(&s, self.sums + b, 1)
        return self.log_lik_of(&s, self.size[a] + self.size[b], self.theta + 3 * b)

    # -- parameters
    cdef void draw_parameters(self, Rng rng, Py_ssize_t k) noexcept nogil:
        cdef double *theta = self.theta + 3 * k
        cdef double s = self.sigma0
        cdef Py_ssize_t c
        if self.conjugate:
            return
        self.stale[k] = True
        self.is_valid[k] = False
        if self.n_candidates:
            c = rng.draw_index(self.n_candidates)
            theta[INTERCEPT], theta[GRADIENT] = self.candidate[2 * c], self.candidate[2 * c + 1]
            return
        if self.student:
            theta[VARIANCE] = self.b0 / rng.draw_gamma(self.a0)
            s *= sqrt(theta[VARIANCE]) / self.sigma1
        theta[INTERCEPT] = s * rng.draw_normal()
        theta[GRADIENT] = s * rng.draw_normal()

    cdef void copy_parameters(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        memcpy(self.theta + 3 * dst, self.theta + 3 * src, 3 * sizeof(double))
        if src != dst and not self.conjugate:
            self.stale[dst] = True
            self.is_valid[dst] = False

    cdef Py_ssize_t refresh_parameters(self, Rng rng) noexcept nogil:
        cdef Py_ssize_t t, k, changed = 0
        rng.begin_clusters(self.name, self.K)
        for t in range(self.K):
            k = rng.cluster_in_turn(self.name, t)
            changed += self.walk(rng, k) if self.walks else self.draw(rng, k)
        rng.end_clusters()
        return changed

    cdef bint same_parameters(self, Model other, const int32_t *twin) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(0 if self.conjugate else self.K):
            if memcmp(self.theta + 3 * k, (<Lines> other).theta + 3 * twin[k], 3 * sizeof(double)):
                return False
        return True

    cdef bint draw(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """Draw the parameters of cluster k given its points."""
        cdef double *theta = self.theta + 3 * k
        cdef Py_ssize_t c, n = self.size[k]
        cdef double s = self.sigma1
        cdef Fit f
        self.stale[k] = True
        self.is_valid[k] = False
        if self.n_candidates:
            for c in range(self.n_candidates):
                self.chances[c] = -0.5 * self.squares(self.sums + k, n, self.candidate + 2 * c) / theta[VARIANCE]
            exp_weights(self.chances, self.n_candidates, self.chances + self.n_candidates)
            c = rng.draw_categorical(self.chances + self.n_candidates, self.n_candidates)
            theta[INTERCEPT], theta[GRADIENT] = self.candidate[2 * c], self.candidate[2 * c + 1]
            return True
        f = self.fit(self.sums + k, n)
        if self.student:
            theta[VARIANCE] = (self.b0 + 0.5 * <double> f.Q) / rng.draw_gamma(self.a0 + 0.5 * n)
            s = sqrt(theta[VARIANCE])
        theta[GRADIENT] = f.slope + s * rng.draw_normal() / sqrt(f.B)
        theta[INTERCEPT] = f.yc - theta[GRADIENT] * f.xc + s * sqrt(f.h0) * rng.draw_normal()
        return True

    cdef bint walk(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """`steps` Metropolis steps from the parameters of cluster k; whether one was accepted."""
        cdef double *theta = self.theta + 3 * k
        cdef double[3] kept
        cdef double log_p = self.log_posterior(k), log_q, s, turned
        cdef Fit f = self.fit(self.sums + k, self.size[k])
        cdef Py_ssize_t _step, c
        cdef bint changed = False, varying
        cdef int part
        for _step in range(self.steps):
            for part in range(2 if self.student else 1):
                memcpy(kept, theta, 3 * sizeof(double))
                varying = part == 1
                if self.n_candidates:
                    c = rng.draw_index(self.n_candidates)
                    theta[INTERCEPT], theta[GRADIENT] = self.candidate[2 * c], self.candidate[2 * c + 1]
                elif varying:
                    theta[VARIANCE] = rng.draw_log_normal(theta[VARIANCE], STEP1, sqrt(self.a0 + 0.5 * self.size[k]))
                else:
                    s = STEP2 * sqrt(theta[VARIANCE])
                    theta[GRADIENT] = rng.draw_normal_of(theta[GRADIENT], 0.0, s, sqrt(f.B))
                    turned = -f.xc * (theta[GRADIENT] - kept[GRADIENT])
                    theta[INTERCEPT] = rng.draw_normal_of(theta[INTERCEPT], turned, s * sqrt(f.h0), 1.0)
                log_q = self.log_posterior(k)
                # the walk is on the variance's logarithm
                if rng.draw_accept(log_q - log_p + (log(theta[VARIANCE] / kept[VARIANCE]) if varying else 0.0)):
                    log_p = log_q
                    changed = True
                else:
                    memcpy(theta, kept, 3 * sizeof(double))
        self.stale[k] = True
        self.is_valid[k] = False
        return changed

    cdef double log_posterior(self, Py_ssize_t k) noexcept nogil:
        """log density of cluster k's parameters given its points, up to a constant."""
        return self.cluster_log_lik(k) + self.log_base(self.theta + 3 * k)

    cdef double log_base(self, const double *theta) noexcept nogil:
        """log density of a cluster's parameters under their prior."""
        cdef double v = self.sigma0 * self.sigma0, total = 0.0
        if self.n_candidates:
            return -log(<double> self.n_candidates)
        if self.student:
            v *= theta[VARIANCE] / (self.sigma1 * self.sigma1)
            total = (self.a0 * log(self.b0) - lgamma(self.a0) - (self.a0 + 1.0) * log(theta[VARIANCE])
                     - self.b0 / theta[VARIANCE])
        return total - LOG_2PI - log(v) - 0.5 * (theta[INTERCEPT] ** 2 + theta[GRADIENT] ** 2) / v

    cdef double log_extra(self) noexcept nogil:
        cdef double total = Model.log_extra(self)
        cdef Py_ssize_t k
        if not self.conjugate:
            for k in range(self.K):
                total += self.log_base(self.theta + 3 * k)
        return total

    def start_parameters(self, Rng rng not None):
        """Draw the parameters of every cluster given its points."""
        cdef Py_ssize_t k
        if not self.conjugate:
            for k in range(self.K):
                self.draw(rng, k)

    @property
    def parameters(self):
        """ndarray of float64, shape (K, P): intercept, slope and, where the noise is unknown, its variance; None if
        they are integrated out."""
        if self.conjugate:
            return None
        return np.array([[self.theta[3 * k + p] for p in range(3 if self.student else 2)] for k in range(self.K)])

    def set_parameters(self, values):
        """Set the parameters of every cluster, ndarray of shape (K, P). A ValueError where the lines are integrated
        out, or the values are no parameters."""
        cdef Py_ssize_t k, p, width = 3 if self.student else 2
        if self.conjugate:
            raise ValueError("parameters: this model integrates its lines out")
        given = as_numbers("parameters", values)
        if given.shape != (self.K, width) or not np.isfinite(given).all():
            raise ValueError(f"parameters: expected {self.K} rows of {width} finite numbers, got shape {given.shape}")
        if self.student and not (given[:, VARIANCE] > 0.0).all():
            raise ValueError(f"parameters: expected positive variances, got {given[:, VARIANCE].min():g}")
        cdef double[:, ::1] v = given
        for k in range(self.K):
            for p in range(width):
                self.theta[3 * k + p] = v[k, p]
            self.stale[k] = True
            self.is_valid[k] = False

    def fitted_lines(self):
        """ndarray of float64, shape (K, 2): intercept and slope of every cluster: the parameters, or their mean given
        the points."""
        cdef Py_ssize_t k
        cdef Fit f
        out = np.empty((self.K, 2))
        for k in range(self.K):
            f = self.fit(self.sums + k, self.size[k])
            out[k] = f.yc - f.slope * f.xc, f.slope
        return out if self.conjugate else self.parameters[:, :2]

    def statistics(self):
        """dict of ndarray: n, means and centred sums of squares xx, xy, yy of every cluster, shape (K, 6), a copy."""
        cdef Py_ssize_t k
        cdef moments m
        cdef double qx = self.unit_x, qy = self.unit_y
        rows = []
        for k in range(self.K):
            m = line_moments(self.sums + k, self.size[k], self.inverse[self.size[k]])
            rows.append([self.size[k], m.x * qx, m.y * qy, m.xx * qx * qx, m.xy * qx * qy, <double> m.lyy * qy * qy])
        return {"counts": np.array(rows)}
