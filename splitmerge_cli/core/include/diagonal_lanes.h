/* Points of independent normal columns against eight clusters at a time. */
#pragma once
#include <string.h>
#include "product_family.h"

/* A block holds mean and gain by column, eight lanes each. */
#define MEAN_AND_GAIN(b, x, t) ({ const lanes e = x - LANES_AT(b); 1.0 + t * LANES_AT((b) + 8) * e * e; })
PRODUCT_FAMILY(score_diag, 2, MEAN_AND_GAIN)

/* power = level + degree log q, what a next step waits for, from registers */
static inline void score_points(const double *block, const double *x, ptrdiff_t D, ptrdiff_t piece,
                                const double *turn, const double *level, const double *degree, double *log_q,
                                double *left, double *power)
{
    double q[8] __attribute__((aligned(64))), log_of[8] __attribute__((aligned(64)));
    score_diag(block, x, D, piece, turn, log_of, q);
    score_power(level, degree, log_of, power);
    memcpy(log_q, log_of, sizeof q);
    memcpy(left, q, sizeof q);
}

/* Mean and scatter of a column's cells, of this weight in all, become m_n and b_n; pull: kappa_0 weight / kappa. */
static inline void settle_column(double *mean, double *scatter, double m0, double b0, double grains, double weight,
                                 double kappa, double pull)
{
    const double off = *mean - m0;
    *scatter = b0 + 0.5 * (*scatter + grains + pull * off * off);
    *mean = m0 + weight * off / kappa;
}
