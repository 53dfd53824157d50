/* A tile of items against the parameters of one cluster, items in the lanes: out[t] = log_weight + log density of item t,
   up to a term of the item alone. A tile holds, row by row, one number of each of its TILE items. Densities fall with
   every row that is taken in; when all are below `floor` the rest is left out and all are -inf: such a cluster weighs
   less than 2^-60 of another, which no draw of 52 bits can tell from nothing.

   Lanes are as wide as a register (simd_math.h). */
#pragma once
#include <math.h>
#include <stddef.h>

#include "simd_math.h"

#define TILE 32
/* rows between two looks at the floor */
#define TILE_LOOK 8

/* out[t] = level + factor sum[t]; whether all are below their floor, and then -inf */
static inline int tile_ends(double level, double factor, const double *sum, const double *floor, double *out)
{
    int above = 0;
    for (ptrdiff_t t = 0; t < TILE; t++) {
        out[t] = level + factor * sum[t];
        above |= out[t] >= floor[t];
    }
    if (above)
        return 0;
    for (ptrdiff_t t = 0; t < TILE; t++)
        out[t] = -INFINITY;
    return 1;
}

/* Fills `out` with level + factor times the sum over rows of TERM, an expression in the numbers v of the row and in
   theta[2 d] and theta[2 d + 1]. */
#define TILE_ROWS(level, factor, TERM)                                                                                 \
    double sum[TILE] __attribute__((aligned(64))) = {0.0};                                                             \
    for (ptrdiff_t from = 0; from < D; from += TILE_LOOK) {                                                            \
        const ptrdiff_t to = from + TILE_LOOK < D ? from + TILE_LOOK : D;                                              \
        for (ptrdiff_t t = 0; t < TILE; t += 4 * LANES) {                                                              \
            lanes *s = (lanes *)(sum + t), a = s[0], b = s[1], c = s[2], e = s[3];                                     \
            for (ptrdiff_t d = from; d < to; d++) {                                                                    \
                const lanes *row = (const lanes *)(x + TILE * d + t);                                                  \
                const double one = theta[2 * d], two = theta[2 * d + 1];                                               \
                a += TERM(row[0]);                                                                                     \
                b += TERM(row[1]);                                                                                     \
                c += TERM(row[2]);                                                                                     \
                e += TERM(row[3]);                                                                                     \
            }                                                                                                          \
            s[0] = a;                                                                                                  \
            s[1] = b;                                                                                                  \
            s[2] = c;                                                                                                  \
            s[3] = e;                                                                                                  \
        }                                                                                                              \
        if (tile_ends(level, factor, sum, floor, out))                                                                 \
            return;                                                                                                    \
    }

#define SQUARED(v) (((v) - one) * two) * (((v) - one) * two)
#define CHOSEN(v) (one + (v) * two)

/* theta: log density at the mean, then mean and root of the precision of each row */
static inline void tile_diag(const double *theta, ptrdiff_t D, const double *x, double log_weight, const double *floor,
                             double *out)
{
    const double level = *theta++ + log_weight;
    TILE_ROWS(level, -0.5, SQUARED)
}

/* theta: of each row the log probability of 0, and of 1 less the log probability of 0 */
static inline void tile_binary(const double *theta, ptrdiff_t D, const double *x, double log_weight, const double *floor,
                               double *out)
{
    TILE_ROWS(log_weight, 1.0, CHOSEN)
}

#define TILE_GROUP 6 /* rows of a factor that are taken together */

/* Numbers of a packed lower triangular factor of D rows. */
static inline ptrdiff_t tile_factor_size(ptrdiff_t D)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t r = 0; r < D; r += TILE_GROUP)
        n += TILE_GROUP * ((r + TILE_GROUP < D ? r + TILE_GROUP : D) + 1);
    return n;
}

/* Pack a lower triangular factor F, rows of r + 1 numbers, and a mean: groups of rows, of each the numbers -F mean, then
   column after column. Rows beyond the last are 0. */
static inline void tile_pack_factor(const double *factor, const double *mean, ptrdiff_t D, double *packed)
{
    for (ptrdiff_t r = 0; r < D; r += TILE_GROUP) {
        const ptrdiff_t columns = r + TILE_GROUP < D ? r + TILE_GROUP : D;
        for (ptrdiff_t g = 0; g < TILE_GROUP; g++) {
            const double *row = factor + (r + g) * (r + g + 1) / 2;
            double at = 0.0;
            for (ptrdiff_t c = 0; c < columns; c++) {
                const double v = r + g < D && c <= r + g ? row[c] : 0.0;
                packed[TILE_GROUP * (c + 1) + g] = v;
                if (v != 0.0)
                    at += v * mean[c];
            }
            packed[g] = -at;
        }
        packed += TILE_GROUP * (columns + 1);
    }
}

/* theta: log density at the mean, then a packed factor F: the squared distance between F x and F mean */
static inline void tile_full(const double *theta, ptrdiff_t D, const double *x, double log_weight, const double *floor,
                             double *out)
{
    const double level = theta[0] + log_weight;
    double sum[TILE] __attribute__((aligned(64))) = {0.0};
    theta++;
    for (ptrdiff_t r = 0; r < D; r += TILE_GROUP) {
        const ptrdiff_t columns = r + TILE_GROUP < D ? r + TILE_GROUP : D;
        for (ptrdiff_t t = 0; t < TILE; t += 2 * LANES) {
            #define ROW(g) lanes a##g = theta[g] + (lanes){0}, b##g = a##g;
            ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5)
            #undef ROW
            const double *l = theta + TILE_GROUP, *from = x + t;
            for (ptrdiff_t c = 0; c < columns; c++, l += TILE_GROUP, from += TILE) {
                const lanes v = *(const lanes *)from, w = *(const lanes *)(from + LANES);
                #define ROW(g) { const lanes m = l[g] + (lanes){0}; a##g += v * m; b##g += w * m; }
                ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5)
                #undef ROW
            }
            lanes *s = (lanes *)(sum + t);
            s[0] += ((a0 * a0 + a1 * a1) + (a2 * a2 + a3 * a3)) + (a4 * a4 + a5 * a5);
            s[1] += ((b0 * b0 + b1 * b1) + (b2 * b2 + b3 * b3)) + (b4 * b4 + b5 * b5);
        }
        theta += TILE_GROUP * (columns + 1);
        if (tile_ends(level, -0.5, sum, floor, out))
            return;
    }
}

#define TILE_EACH(t) for (ptrdiff_t t = 0; t < TILE; t++)

/* log weights this far below the best count as nothing: a draw of 52 bits could not distinguish them */
#define TILE_FAR 42.0

/* whether a row is -inf throughout: its cluster is too far from all items of the tile */
static inline int tile_is_far(const double *row)
{
    for (int t = 0; t < TILE; t++)
        if (row[t] != -INFINITY) return 0;
    return 1;
}

/* best: the largest so far where the cluster may be taken; least: what is too far below it */
static inline void tile_raise(const double *restrict row, const double *restrict allowed, double *restrict best,
                              double *restrict least)
{
    TILE_EACH(t) {
        const double v = allowed[t] != 0.0 ? row[t] : -INFINITY;
        best[t] = v > best[t] ? v : best[t];
        least[t] = best[t] - TILE_FAR;
    }
}

/* Weights for one cluster: exp(log weight - best), 0 where it may not be taken or is too far below: also where other
   items of the tile keep the cluster in the running, so that nothing depends on which items these are. */
static inline void tile_weights(const double *allowed, const double *best, double *row)
{
    for (ptrdiff_t t = 0; t < TILE; t += LANES) {
        const lanes off = LANES_AT(row + t) - LANES_AT(best + t);
        /* one that may not be taken may be better than the best */
        const lanes x = (lanes)((ilanes)off & (off < 0.0));
        const lanes w = (lanes)((ilanes)lanes_exp(x) & (x >= -TILE_FAR));
        LANES_TO(row + t) = LANES_AT(allowed + t) * w;
    }
}

/* pick[t]: the first of m options, a row of weights each, whose cumulated weights exceed u[t] times their sum */
static inline void tile_pick(const double *restrict weights, ptrdiff_t m, double *restrict u, double *restrict sum,
                             double *restrict pick)
{
    TILE_EACH(t)
        sum[t] = 0.0;
    for (ptrdiff_t k = 0; k < m; k++)
        TILE_EACH(t)
            sum[t] += weights[TILE * k + t];
    TILE_EACH(t) {
        u[t] *= sum[t];
        sum[t] = pick[t] = 0.0;
    }
    for (ptrdiff_t k = 0; k < m; k++)
        TILE_EACH(t) {
            sum[t] += weights[TILE * k + t];
            pick[t] += u[t] < sum[t] ? 0.0 : 1.0;
        }
    /* u rounded up to the sum: the last option that has any weight */
    TILE_EACH(t)
        if (pick[t] >= m) {
            pick[t] = m - 1;
            while (pick[t] > 0.0 && weights[TILE * (ptrdiff_t)pick[t] + t] == 0.0)
                pick[t]--;
        }
}
