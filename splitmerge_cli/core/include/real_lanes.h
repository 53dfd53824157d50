/* Independent real cells of an item against eight clusters at a time. */
#ifndef SMCMC_REAL_LANES_H
#define SMCMC_REAL_LANES_H
#include "simd_math.h"

/* Adds the log predictive of an item's cells in the eight clusters of a block. The rows of a block, eight lanes
   each: for the columns without missing cells a common level, a degree and what scores a cell of the cluster's own, then
   mean and gain of each; for those with missing cells mean, gain, level and degree. */
static inline void score_reals(const double *block, const double *x, ptrdiff_t complete, ptrdiff_t R,
                               ptrdiff_t piece, double *power)
{
    EACH_LANE(h) {
        const double *row = block + h;
        lanes total = LANES_AT(power + h);
        #define REAL_ROW(r) LANES_AT(row + 8 * (r))
        if (complete) {
            const lanes level = REAL_ROW(0), degree = REAL_ROW(1);
            lanes log_q = {0};
            row += 24;
            for (ptrdiff_t from = 0; from < complete; from += piece) {
                const ptrdiff_t to = from + piece < complete ? from + piece : complete;
                lanes q = (lanes){0} + 1.0;
                for (ptrdiff_t d = from; d < to; d++, row += 16) {
                    const lanes e = x[d] - REAL_ROW(0);
                    q *= 1.0 + REAL_ROW(1) * e * e;
                }
                log_q += lanes_log(q);
            }
            total += level + degree * log_q;
        }
        for (ptrdiff_t d = complete; d < R; d++, row += 32)
            if (x[d] == x[d]) {
                const lanes e = x[d] - REAL_ROW(0);
                total += REAL_ROW(2) + REAL_ROW(3) * lanes_log(1.0 + REAL_ROW(1) * e * e);
            }
        LANES_TO(power + h) = total;
    }
}
#endif
