/* Draws among the topics of a word: a row of counts eight topics at a time, or a list of those that hold the word. The
   options are the topics in ascending order; the same bits on every instruction set. */
#ifndef SMCMC_TOPICS_H
#define SMCMC_TOPICS_H
#include <stdint.h>
#include <stddef.h>

typedef double topics8 __attribute__((vector_size(64), aligned(64)));
typedef int32_t counts8 __attribute__((vector_size(32), aligned(32)));
typedef int64_t order8 __attribute__((vector_size(64)));

static inline double topics_sum(topics8 x)
{
    x += __builtin_shuffle(x, (order8){4, 5, 6, 7, 0, 1, 2, 3});
    x += __builtin_shuffle(x, (order8){2, 3, 0, 1, 6, 7, 4, 5});
    return x[0] + x[1];
}

/* w[k] = share[k] * row[k] of 8 * blocks topics, but `instead` of topic `own`; total[b] becomes the sum over the blocks up
   to b. Returns the sum of all. (What share and row hold for `own` is put right later: a vector that is read right after
   one of its numbers was written has to wait.) */
static inline double topics_row(const double *share, const int32_t *row, ptrdiff_t blocks, ptrdiff_t own, double instead,
                                double *w, double *total)
{
    const order8 lane = (order8){0, 1, 2, 3, 4, 5, 6, 7} == (own & 7);
    double sum = 0.0;
    for (ptrdiff_t b = 0; b < blocks; b++) {
        topics8 x = ((const topics8 *)share)[b] * __builtin_convertvector(((const counts8 *)row)[b], topics8);
        if (b == own >> 3) x = (topics8)(((order8)x & ~lane) | ((order8)(x * 0.0 + instead) & lane));
        ((topics8 *)w)[b] = x;
        sum += topics_sum(x);
        total[b] = sum;
    }
    return sum;
}

/* The first of n ascending sums that exceeds u, or n. Counted, not searched: a branch that nobody can foresee costs
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

/* Of eight weights the first whose running sum from `sum` exceeds u, or 8. */
static inline ptrdiff_t topics_among(topics8 x, double sum, double u)
{
    const topics8 none = {0};
    order8 passed;
    x += __builtin_shuffle(x, none, (order8){8, 0, 1, 2, 3, 4, 5, 6});
    x += __builtin_shuffle(x, none, (order8){8, 8, 0, 1, 2, 3, 4, 5});
    x += __builtin_shuffle(x, none, (order8){8, 8, 8, 8, 0, 1, 2, 3});
    passed = sum + x <= u;
    return -(passed[0] + passed[1] + passed[2] + passed[3] + passed[4] + passed[5] + passed[6] + passed[7]);
}

/* The topic at u of what topics_row weighed; -1 if nothing has weight. */
static inline ptrdiff_t topics_pick(const double *w, const double *total, ptrdiff_t blocks, double u)
{
    ptrdiff_t b = topics_place(total, blocks, u), k;
    if (b < blocks) {
        k = topics_among(((const topics8 *)w)[b], b ? total[b - 1] : 0.0, u);
        if (k < 8 && w[8 * b + k] > 0.0) return 8 * b + k;
    } else {
        b = blocks - 1;
    }
    /* u rounded up to the end of the block: the last topic up to there that has any weight */
    for (k = 8 * b + 7; k >= 0; k--)
        if (w[k] > 0.0) return k;
    return -1;
}

/* A list of n pairs (topic, count), topics ascending: total[e] becomes the sum over the pairs up to e. Returns the sum
   of all. */
static inline double topics_list(const double *share, const int32_t *pair, ptrdiff_t n, double *total)
{
    double sum = 0.0;
    for (ptrdiff_t e = 0; e < n; e++) {
        sum += share[pair[2 * e]] * pair[2 * e + 1];
        total[e] = sum;
    }
    return sum;
}
#endif
