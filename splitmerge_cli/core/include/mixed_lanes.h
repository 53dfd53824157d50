/* Items of mixed tables against eight clusters at a time, or a tile of items (tiles.h) against one. */
#pragma once
#include "log_rise.h"
#include "tiles.h"

/* Adds the log predictive of an item's cells in the eight clusters of a block, but for what is the same in all of them.
   The rows of a block, eight lanes each: one of zeros, which a missing discrete cell reads; one for each level of each
   discrete column; for each column of counts a constant, a slope, the sum (a whole number) and two logs that score an
   item which the cluster counts. */
static inline void score_mixed(const double *block, const int32_t *code, ptrdiff_t C, ptrdiff_t levels,
                               const int32_t *tally, ptrdiff_t P, const double *rise, int64_t length, double zeta,
                               double shape, double *power)
{
    EACH_LANE(h) {
        const double *row = block + h;
        lanes total = LANES_AT(power + h), more = {0};
        ptrdiff_t c = 0;
        #define ROW(r) LANES_AT(row + 8 * (r))
        for (; c + 2 <= C; c += 2) {
            total += ROW(code[c]);
            more += ROW(code[c + 1]);
        }
        if (c < C)
            total += ROW(code[c]);
        total += more;
        row += 8 * levels;
        for (ptrdiff_t p = 0; p < P; p++, row += 40) {
            const int64_t n = tally[p];
            if (n < 0)
                continue;
            const ilanes sum = *(const ilanes *)(row + 16), at = sum + n, far = at >= length;
            lanes found;
            int64_t any = 0;
            for (int l = 0; l < LANES; l++)
                any |= far[l];
            if (any)
                for (int l = 0; l < LANES; l++)
                    /* the constant is short by what the table holds of the sum, where it does */
                    found[l] = (sum[l] < length ? rise[sum[l]] : 0.0)
                               + log_rise(rise, length, zeta, shape, sum[l], n);
            else
                for (int l = 0; l < LANES; l++)
                    found[l] = rise[at[l]];
            total += ROW(0) + (double)n * ROW(1) + found;
        }
        LANES_TO(power + h) = total;
    }
}

/* Log density of the items of a tile (tiles.h) given drawn parameters: the log probability of each level, 0 of a
   missing cell; log rate and rate of each column of counts. */
static inline void tile_mixed(const double *theta, ptrdiff_t C, ptrdiff_t levels, ptrdiff_t P, const double *x,
                              double log_weight, double *out)
{
    const double *rate = theta + levels;
    for (ptrdiff_t t = 0; t < TILE; t++)
        out[t] = log_weight;
    for (ptrdiff_t c = 0; c < C; c++, x += TILE)
        for (ptrdiff_t t = 0; t < TILE; t++)
            out[t] += theta[(ptrdiff_t)x[t]];
    for (ptrdiff_t p = 0; p < P; p++, x += TILE, rate += 2)
        for (ptrdiff_t t = 0; t < TILE; t++)
            out[t] += x[t] < 0.0 ? 0.0 : x[t] * rate[0] - rate[1];
}
