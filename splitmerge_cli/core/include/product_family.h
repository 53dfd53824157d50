/* log of prod_d FACTOR(b, x_d, t) of an item in eight clusters at a time, where b holds ROWS rows of eight numbers for
   column d, and t is 1, or what takes the item out of the cluster that counts it. `piece`: columns whose product stays
   in the range of a double. `left`: the product itself. */
#pragma once
#include "simd_math.h"

#define PRODUCT_FAMILY(NAME, ROWS, FACTOR)                                                                             \
    static inline void NAME(const double *block, const double *x, ptrdiff_t D, ptrdiff_t piece, const double *turn,    \
                            double *log_q, double *left)                                                               \
    {                                                                                                                  \
        EACH_LANE(h) {                                                                                                 \
            const lanes t = LANES_AT(turn + h), one = (lanes){0} + 1.0;                                                \
            lanes all = one, total = {0};                                                                              \
            for (ptrdiff_t from = 0; from < D; from += piece) {                                                        \
                const ptrdiff_t to = from + piece < D ? from + piece : D;                                              \
                lanes p = one, q = one;                                                                                \
                ptrdiff_t d = from;                                                                                    \
                for (; d + 2 <= to; d += 2) {                                                                          \
                    p *= FACTOR((block + 8 * ROWS * d + h), x[d], t);                                                  \
                    q *= FACTOR((block + 8 * ROWS * (d + 1) + h), x[d + 1], t);                                        \
                }                                                                                                      \
                if (d < to)                                                                                            \
                    p *= FACTOR((block + 8 * ROWS * d + h), x[d], t);                                                  \
                p *= q;                                                                                                \
                all *= p;                                                                                              \
                total += lanes_log(p);                                                                                 \
            }                                                                                                          \
            LANES_TO(log_q + h) = total;                                                                               \
            LANES_TO(left + h) = all;                                                                                  \
        }                                                                                                              \
    }

/* power = level + degree log q */
static inline void score_power(const double *level, const double *degree, const double *log_q, double *power)
{
    EACH_LANE(h)
        LANES_TO(power + h) = LANES_AT(level + h) + LANES_AT(degree + h) * LANES_AT(log_q + h);
}
