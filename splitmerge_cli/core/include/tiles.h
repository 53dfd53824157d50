/* A tile of items against the parameters of one cluster, items in the lanes: out[t] = log_weight + log density of item t,
   up to a term of the item alone. A tile holds, row by row, one number of each of its TILE items. Densities fall with
   every row that is taken in; when all are below `floor` the rest is left out and all are -inf: such a cluster weighs
   less than 2^-64 of another, which no draw of 52 bits can tell from nothing.

   Every lane rounds alike on every instruction set; only how many lanes there are in a register differs. */
#ifndef SMCMC_TILES_H
#define SMCMC_TILES_H
#include <math.h>
#include <stddef.h>
#include <string.h>

#define TILE 32
#if defined(__AVX512F__)
#define TILE_LANES 8
#elif defined(__AVX__)
#define TILE_LANES 4
#else
#define TILE_LANES 2
#endif

typedef double tile_lanes __attribute__((vector_size(8 * TILE_LANES), aligned(8 * TILE_LANES)));

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

/* theta: log density at the mean, then mean and root of the precision of each row */
static inline void tile_diag(const double *theta, ptrdiff_t D, const double *x, double log_weight, const double *floor,
                             double *out)
{
    const double level = theta[0] + log_weight;
    double sum[TILE] __attribute__((aligned(64))) = {0.0};
    theta++;
    for (ptrdiff_t from = 0; from < D; from += TILE_LOOK) {
        const ptrdiff_t to = from + TILE_LOOK < D ? from + TILE_LOOK : D;
        for (ptrdiff_t t = 0; t < TILE; t += 4 * TILE_LANES) {
            tile_lanes *s = (tile_lanes *)(sum + t), a = s[0], b = s[1], c = s[2], e = s[3];
            for (ptrdiff_t d = from; d < to; d++) {
                const tile_lanes *v = (const tile_lanes *)(x + TILE * d + t);
                const double mean = theta[2 * d], root = theta[2 * d + 1];
                const tile_lanes f = (v[0] - mean) * root, g = (v[1] - mean) * root;
                const tile_lanes h = (v[2] - mean) * root, i = (v[3] - mean) * root;
                a += f * f;
                b += g * g;
                c += h * h;
                e += i * i;
            }
            s[0] = a;
            s[1] = b;
            s[2] = c;
            s[3] = e;
        }
        if (tile_ends(level, -0.5, sum, floor, out))
            return;
    }
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

/* theta: log density at the mean, then a packed factor F: the squared distance is that of F x from F mean */
static inline void tile_full(const double *theta, ptrdiff_t D, const double *x, double log_weight, const double *floor,
                             double *out)
{
    const double level = theta[0] + log_weight;
    double sum[TILE] __attribute__((aligned(64))) = {0.0};
    theta++;
    for (ptrdiff_t r = 0; r < D; r += TILE_GROUP) {
        const ptrdiff_t columns = r + TILE_GROUP < D ? r + TILE_GROUP : D;
        for (ptrdiff_t t = 0; t < TILE; t += 2 * TILE_LANES) {
            #define ROW(g) tile_lanes a##g = theta[g] + (tile_lanes){0}, b##g = a##g;
            ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5)
            #undef ROW
            const double *l = theta + TILE_GROUP, *from = x + t;
            for (ptrdiff_t c = 0; c < columns; c++, l += TILE_GROUP, from += TILE) {
                const tile_lanes v = *(const tile_lanes *)from, w = *(const tile_lanes *)(from + TILE_LANES);
                #define ROW(g) { const tile_lanes m = l[g] + (tile_lanes){0}; a##g += v * m; b##g += w * m; }
                ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5)
                #undef ROW
            }
            tile_lanes *s = (tile_lanes *)(sum + t);
            s[0] += ((a0 * a0 + a1 * a1) + (a2 * a2 + a3 * a3)) + (a4 * a4 + a5 * a5);
            s[1] += ((b0 * b0 + b1 * b1) + (b2 * b2 + b3 * b3)) + (b4 * b4 + b5 * b5);
        }
        theta += TILE_GROUP * (columns + 1);
        if (tile_ends(level, -0.5, sum, floor, out))
            return;
    }
}

/* theta: of each row the log probability of 0, and of 1 less that of 0 */
static inline void tile_binary(const double *theta, ptrdiff_t D, const double *x, double log_weight, const double *floor,
                               double *out)
{
    double sum[TILE] __attribute__((aligned(64))) = {0.0};
    for (ptrdiff_t from = 0; from < D; from += TILE_LOOK) {
        const ptrdiff_t to = from + TILE_LOOK < D ? from + TILE_LOOK : D;
        for (ptrdiff_t t = 0; t < TILE; t += 4 * TILE_LANES) {
            tile_lanes *s = (tile_lanes *)(sum + t), a = s[0], b = s[1], c = s[2], e = s[3];
            for (ptrdiff_t d = from; d < to; d++) {
                const tile_lanes *v = (const tile_lanes *)(x + TILE * d + t);
                const double zero = theta[2 * d], one = theta[2 * d + 1];
                a += zero + v[0] * one;
                b += zero + v[1] * one;
                c += zero + v[2] * one;
                e += zero + v[3] * one;
            }
            s[0] = a;
            s[1] = b;
            s[2] = c;
            s[3] = e;
        }
        if (tile_ends(log_weight, 1.0, sum, floor, out))
            return;
    }
}
#endif
