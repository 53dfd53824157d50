/* Draws among the topics that hold a word, a list of them in ascending order. */
#ifndef SMCMC_TOPICS_H
#define SMCMC_TOPICS_H
#include <stdint.h>
#include <stddef.h>

/* The first of n ascending sums that exceeds u, or n. Counted, not searched: a unpredictable branch costs
   more than a few sums. */
static inline ptrdiff_t topics_place(const double *total, ptrdiff_t n, double u)
{
    ptrdiff_t passed = 0;
    if (n > 64) {
        ptrdiff_t low = 0, high = n;
        while (low < high) {
            const ptrdiff_t middle = (low + high) >> 1;
            if (total[middle] <= u) low = middle + 1; else high = middle;
        }
        return low;
    }
    for (ptrdiff_t b = 0; b < n; b++) passed += total[b] <= u;
    return passed;
}

/* A list of n pairs (topic, count), topics ascending, topic `own` with one less and the share `mine`: total[e] becomes
   the sum over the pairs up to e. Returns the sum of all. */
static inline double topics_list(const double *share, const int32_t *pair, ptrdiff_t n, ptrdiff_t own, double mine,
                                 double *total)
{
    double sum = 0.0;
    for (ptrdiff_t e = 0; e < n; e++) {
        const int is_own = pair[2 * e] == own;
        const double x = share[pair[2 * e]];
        sum += (is_own ? mine : x) * (pair[2 * e + 1] - is_own);
        total[e] = sum;
    }
    return sum;
}
#endif
