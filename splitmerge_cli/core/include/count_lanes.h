/* Draws of a token's topic by the products share[k] (eta + n[k]) of all topics, in blocks of eight: the collapsed scan where
   few topics are live. Vectors of four, plain arithmetic: the same bits on every instruction set. */
#ifndef SMCMC_COUNT_LANES_H
#define SMCMC_COUNT_LANES_H
#include <stddef.h>
#include <stdint.h>

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
#endif
