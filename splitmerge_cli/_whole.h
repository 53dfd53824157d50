/* Exact sums of data: every value is a whole number of quanta, 2^-48 of the widest value of its column, and sums of
   values and of products are 128-bit integers. Adding and removing leave no trace, in any order, any number of times. */
#ifndef SMCMC_WHOLE_H
#define SMCMC_WHOLE_H
#include <stdint.h>
#include <math.h>

typedef __int128 whole;

static inline double whole_double(whole v)
{
    if (v == (int64_t)v)
        return (double)(int64_t)v;
    return (double)(int64_t)(v >> 64) * 18446744073709551616.0 + (double)(uint64_t)v;
}

static inline long double whole_long(whole v)
{
    if (v == (int64_t)v)
        return (long double)(int64_t)v;
    return (long double)(int64_t)(v >> 64) * 18446744073709551616.0L + (long double)(uint64_t)v;
}

/* Whole number nearest to the mean, and what is left of the sum. */
static inline int64_t whole_mean(whole sum, int64_t n, double inverse, int64_t *rest)
{
    const int64_t mean = (int64_t)nearbyint(whole_double(sum) * inverse);
    *rest = (int64_t)(sum - (whole)mean * n);
    return mean;
}

/* Sum of (x - mean x)(y - mean y) in quanta: the cancellation happens among whole numbers. */
static inline whole whole_about(whole xy, int64_t x_mean, int64_t x_rest, whole y_sum, int64_t y_mean)
{
    return xy - (whole)x_mean * y_sum - (whole)y_mean * x_rest;
}
#endif
