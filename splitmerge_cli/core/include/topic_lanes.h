/* Draws of a token's topic by the products share[k] row[k], eight topics at a time. Topics stand in blocks of eight, with
   zeros behind the last. The options are offered by place in their block, then by block: so eight sums are enough.
   Vectors of four, because compilers take vectors of eight apart through memory if the processor has none; plain
   arithmetic, so the same bits on every instruction set. */
#ifndef SMCMC_TOPIC_LANES_H
#define SMCMC_TOPIC_LANES_H
#include <stddef.h>
#include <stdint.h>

typedef double topic_lanes __attribute__((vector_size(32), aligned(32)));

/* by_place[t]: sum over the blocks of the products at place t. */
static inline void topic_sums(const double *share, const double *row, ptrdiff_t blocks, double *by_place)
{
    topic_lanes sum[4] = {{0.0}};
    const topic_lanes *a = (const topic_lanes *)share, *b = (const topic_lanes *)row;
    ptrdiff_t t = 0;
    /* two blocks at a time: a sum waits for the one before */
    for (; t + 4 <= 2 * blocks; t += 4) {
        sum[0] += a[t] * b[t];
        sum[1] += a[t + 1] * b[t + 1];
        sum[2] += a[t + 2] * b[t + 2];
        sum[3] += a[t + 3] * b[t + 3];
    }
    if (t < 2 * blocks) {
        sum[0] += a[t] * b[t];
        sum[1] += a[t + 1] * b[t + 1];
    }
    ((topic_lanes *)by_place)[0] = sum[0] + sum[2];
    ((topic_lanes *)by_place)[1] = sum[1] + sum[3];
}

/* Sum of share[k] row[k]. */
static inline double topic_product(const double *share, const double *row, ptrdiff_t blocks)
{
    double by_place[8] __attribute__((aligned(32)));
    topic_sums(share, row, blocks, by_place);
    return ((by_place[0] + by_place[1]) + (by_place[2] + by_place[3]))
         + ((by_place[4] + by_place[5]) + (by_place[6] + by_place[7]));
}

/* The topic at u, at least 0 and below 1, by share[k] row[k]; -1 where all are 0. rest: how far into its weight u leads,
   uniform between 0 and that. Sums are counted, not searched: an unpredictable branch costs more than a few sums. */
static inline ptrdiff_t topic_draw(const double *share, const double *row, ptrdiff_t blocks, double u, double *rest)
{
    double by_place[8] __attribute__((aligned(32))), total, c = 0.0, below = 0.0;
    ptrdiff_t place = 0, block = 0;
    topic_sums(share, row, blocks, by_place);
    total = ((by_place[0] + by_place[1]) + (by_place[2] + by_place[3]))
          + ((by_place[4] + by_place[5]) + (by_place[6] + by_place[7]));
    u *= total;
    for (ptrdiff_t t = 0; t < 8; t++) {
        c += by_place[t];
        const int passed = c <= u;
        place += passed;
        below = passed ? c : below;
    }
    if (place < 8) {
        u -= below;
        c = below = 0.0;
        for (ptrdiff_t t = 0; t < blocks; t++) {
            c += share[8 * t + place] * row[8 * t + place];
            const int passed = c <= u;
            block += passed;
            below = passed ? c : below;
        }
        *rest = u - below;
        if (block < blocks)
            return 8 * block + place;
    }
    /* rounding led past the last: the last that has any weight */
    *rest = 0.0;
    for (ptrdiff_t k = 8 * blocks - 1; k >= 0; k--)
        if (share[k] * row[k] > 0.0)
            return k;
    return -1;
}
#endif
