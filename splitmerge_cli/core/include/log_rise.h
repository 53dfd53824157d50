/* Logarithms of rising factorials a (a + 1) ... (a + x - 1), for sums of counts; of a likelihood to the power zeta,
   which weights counts, of Gamma(a + zeta x) / Gamma(a). */
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* log Gamma(a + x) - log Gamma(a): Stirling's series where a is large, not a difference of two large numbers. */
static double log_rise_far(double a, double x)
{
    const double b = a + x;
    if (a < 64.0)
        return lgamma(b) - lgamma(a);
    return (a - 0.5) * log1p(x / a) + x * (log(b) - 1.0)
           + (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / (b * b)) / (b * b)) / b
           - (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / (a * a)) / (a * a)) / a;
}

/* out[s] = log Gamma(a + zeta s) - log Gamma(a), s = 0 .. n, zeta below 1: a running sum keeps its digits. */
static inline void log_rising_by(double a, double zeta, ptrdiff_t n, double *out)
{
    long double total = 0.0L;
    for (ptrdiff_t s = 0; s <= n; s++) {
        out[s] = (double)total;
        total += log_rise_far(a + zeta * s, zeta);
    }
}

/* The same for a = shape + zeta s, from the table of shape as far as it goes. */
static inline double log_rise(const double *rise, int64_t length, double zeta, double shape, int64_t s, int64_t x)
{
    return s + x < length ? rise[s + x] - rise[s] : log_rise_far(shape + zeta * s, zeta * x);
}

/* out[k] += log of the rising factorial of a + zeta sum[k], for m neighbouring clusters; `whole`: the table has them all. */
static inline void add_log_rises(const double *rise, int64_t length, int whole, double zeta, double a,
                                 const int64_t *restrict sum, int64_t x, ptrdiff_t m, double *restrict out)
{
    if (whole)
        for (ptrdiff_t k = 0; k < m; k++)
            out[k] += rise[sum[k] + x] - rise[sum[k]];
    else
        for (ptrdiff_t k = 0; k < m; k++)
            out[k] += log_rise(rise, length, zeta, a, sum[k], x);
}

/* out[k] -= x row[k], for m neighbouring clusters */
static inline void subtract_multiple(double x, const double *restrict row, ptrdiff_t m, double *restrict out)
{
    for (ptrdiff_t k = 0; k < m; k++)
        out[k] -= x * row[k];
}
