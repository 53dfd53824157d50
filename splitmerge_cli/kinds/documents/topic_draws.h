/* Draws of a token's topic. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* -- among the topics that hold a word, a list of them in ascending order */
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

/* -- by the products share[k] row[k], eight topics at a time. Topics stand in blocks of eight, with
   zeros behind the last. The options are offered by place in their block, then by block: so eight sums are enough.
   Vectors of four, because compilers take vectors of eight apart through memory if the processor has none; plain
   arithmetic, so the same bits on every instruction set. */
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

/* -- by the products share[k] (eta + n[k]) of all topics, in blocks of eight: the collapsed scan where
   few topics are live. Vectors of four, plain arithmetic: the same bits on every instruction set. */
typedef double count_lanes __attribute__((vector_size(32), aligned(32)));
typedef int64_t count_numbers __attribute__((vector_size(32), aligned(32)));
typedef int32_t count_whole __attribute__((vector_size(16), aligned(16)));

/* share[k] = (mass[k] + here[k]) per[k] */
static inline void lanes_begin(const double *mass, const int32_t *here, const double *per, ptrdiff_t blocks, double *share)
{
    for (ptrdiff_t t = 0; t < 2 * blocks; t++)
        ((count_lanes *)share)[t] = (((const count_lanes *)mass)[t]
                                     + __builtin_convertvector(((const count_whole *)here)[t], count_lanes))
                                    * ((const count_lanes *)per)[t];
}

/* run[8 b + t]: sum of the products at place t of the blocks up to b; the token's own topic has `mine` in place of its
   product. to[t]: the sum over the first t + 1 places. Returns the sum of all. */
static inline double lanes_sums(const double *share, const int32_t *n, ptrdiff_t blocks, double eta, int64_t own,
                                double mine, double *run, double *to)
{
    const count_numbers self = {own, own, own, own};
    const count_numbers instead = (count_numbers)(count_lanes){mine, mine, mine, mine};
    count_numbers low = {0, 1, 2, 3}, high = {4, 5, 6, 7};
    count_lanes sum_low = {0.0}, sum_high = {0.0};
    for (ptrdiff_t b = 0; b < blocks; b++) {
        count_lanes x = ((const count_lanes *)share)[2 * b]
                        * (eta + __builtin_convertvector(((const count_whole *)n)[2 * b], count_lanes));
        count_lanes y = ((const count_lanes *)share)[2 * b + 1]
                        * (eta + __builtin_convertvector(((const count_whole *)n)[2 * b + 1], count_lanes));
        count_numbers is = low == self;
        x = (count_lanes)(((count_numbers)x & ~is) | (instead & is));
        is = high == self;
        y = (count_lanes)(((count_numbers)y & ~is) | (instead & is));
        ((count_lanes *)run)[2 * b] = sum_low += x;
        ((count_lanes *)run)[2 * b + 1] = sum_high += y;
        low += 8;
        high += 8;
    }
    const double first = sum_low[0] + sum_low[1], second = sum_low[2] + sum_low[3], third = sum_high[0] + sum_high[1],
                 half = first + second, most = half + third;
    to[0] = sum_low[0];
    to[1] = first;
    to[2] = first + sum_low[2];
    to[3] = half;
    to[4] = half + sum_high[0];
    to[5] = most;
    to[6] = most + sum_high[2];
    to[7] = most + (sum_high[2] + sum_high[3]);
    return to[7];
}

/* The topic at u, at least 0 and below to[7], in the order place by place, then block by block. Sums are counted, not
   searched: an unpredictable branch costs more than a few sums. */
static inline ptrdiff_t lanes_place(const double *run, const double *to, ptrdiff_t blocks, double u)
{
    ptrdiff_t place = 0, block = 0;
    for (ptrdiff_t t = 0; t < 7; t++)
        place += to[t] <= u;
    if (place)
        u -= to[place - 1];
    for (ptrdiff_t b = 0; b < blocks - 1; b++)
        block += run[8 * b + place] <= u;
    /* rounding may lead past the last that has any weight */
    while (block && !(run[8 * block + place] > run[8 * (block - 1) + place]))
        block--;
    return 8 * block + place;
}
