/* Exact sums of data: every value is a multiple of their unit, at most 2^48 of them and few enough that the sum of all
   values is below 2^62; sums of products are 128-bit integers. Adding and removing leave no trace, in any order, any
   number of times, and the cancellation of a variance happens among whole numbers. */
#pragma once
#include <stdint.h>

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

/* n times the sum of (x - mean x)(y - mean y), from the sums of x y, x and y: exact. */
static inline whole whole_scatter(int64_t n, whole xy, int64_t x, int64_t y)
{
    return xy * n - (whole)x * y;
}
