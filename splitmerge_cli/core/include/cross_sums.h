/* Exact sums of rows and of their products, of which a cluster with a covariance, or with a regression, consists. */
#pragma once
#include <stddef.h>
#include "fixed_point.h"

/* Adds a row of D numbers, or takes it out: sums, and products of columns as the rows of a lower triangle. */
static inline void count_full(int64_t *sum, whole *square, const double *x, ptrdiff_t D, int64_t sign)
{
    for (ptrdiff_t d = 0; d < D; d++) {
        const int64_t signed_v = sign * (int64_t)x[d];
        sum[d] += signed_v;
        for (ptrdiff_t c = 0; c <= d; c++)
            *square++ += (whole)signed_v * (int64_t)x[c];
    }
}

/* Means of n rows, and their scatter about them. */
static inline void moments_full(const int64_t *sum, const whole *square, ptrdiff_t D, int64_t n, double inverse,
                                double *mean, double *scatter)
{
    for (ptrdiff_t d = 0; d < D; d++) {
        mean[d] = (double)sum[d] * inverse;
        for (ptrdiff_t c = 0; c <= d; c++, square++)
            *scatter++ = whole_double(whole_scatter(n, *square, sum[d], sum[c])) * inverse;
    }
}
