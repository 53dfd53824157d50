/* Sums of log probabilities that are the same in any order: whole numbers of 2^-52, 128 bits. */
#pragma once
#include "fixed_point.h"

#define LOG_UNIT 0x1p-52
/* the least that counts, of one item; what is not a number counts as this, too */
#define LOG_LEAST -0x1p32

static inline void log_sum_add(whole *sum, double log_p)
{
    *sum += (whole)((log_p > LOG_LEAST ? log_p : LOG_LEAST) / LOG_UNIT);
}

static inline void log_sum_join(whole *sum, const whole *more)
{
    *sum += *more;
}

static inline double log_sum_value(const whole *sum)
{
    return whole_double(*sum) * LOG_UNIT;
}
