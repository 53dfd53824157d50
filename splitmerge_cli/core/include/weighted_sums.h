/* Sums of rows that have weights (normal.pyx). */
#pragma once
#include <math.h>
#include <stddef.h>
#include "fixed_point.h"

/* Squares or products of a point of this weight, and behind them point, weight and log of the weight: added, or
   taken out with the sign of the last two. */
static inline void count_weighted(whole *square, const double *x, ptrdiff_t D, ptrdiff_t n_squares, int is_iso,
                                  int64_t parts, int64_t logs)
{
    whole *sum = square + n_squares;
    const int is_full = !is_iso && n_squares > D;
    for (ptrdiff_t d = 0; d < D; d++) {
        const whole v = (whole)parts * (int64_t)x[d];
        sum[d] += v;
        for (ptrdiff_t c = is_full ? 0 : d; c <= d; c++)
            *square += v * (int64_t)x[c], square += !is_iso;
    }
    sum[D] += parts;
    sum[D + 1] += logs;
}

/* Mean and scatter of weighted points, and their weight. The scatter is first about a whole number near the mean,
   exactly: what is left are numbers smaller than it. `work`: 2 D numbers. */
static inline double moments_weighted(const whole *square, ptrdiff_t D, ptrdiff_t n_squares, int is_iso,
                                      double *work, double *mean, double *scatter)
{
    const whole *sum = square + n_squares, all = sum[D];
    const double v = whole_double(all), unit = 0x1p-22;
    const int is_full = !is_iso && n_squares > D;
    for (ptrdiff_t d = 0; d < D; d++) {
        work[d] = all ? rint(whole_double(sum[d]) / v) : 0.0;
        work[D + d] = whole_double(sum[d] - (int64_t)work[d] * all);
        mean[d] = all ? work[d] + work[D + d] / v : 0.0;
    }
    whole of_all = *square;
    double rest = 0.0;
    for (ptrdiff_t d = 0; d < D; d++) {
        const int64_t a = (int64_t)work[d];
        for (ptrdiff_t c = is_full ? 0 : d; c <= d; c++) {
            const int64_t b = (int64_t)work[c];
            const whole off = a * (b * all - sum[c]) - b * sum[d];
            const double product = all ? work[D + d] * work[D + c] / v : 0.0;
            if (is_iso)
                of_all += off, rest += product;
            else
                *scatter++ = unit * (whole_double(*square++ + off) - product);
        }
    }
    if (is_iso)
        *scatter = unit * (whole_double(of_all) - rest);
    return unit * v;
}
