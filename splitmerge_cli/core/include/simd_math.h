/* Logarithm and exponential of several doubles at a time, in plain vector arithmetic: the same bits on every instruction
   set, within one unit in the last place. Polynomials: the classic ones of fdlibm (Sun Microsystems, 1993).

   Data lie in rows of eight columns. A vector is as wide as a register, since one of several registers would be kept in
   memory: a loop over a row (EACH_LANE) has one, two or four turns. Every lane rounds alike; only how many there are in a
   register differs. */
#pragma once
#include <stdint.h>
#include <stddef.h>

#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif

typedef double lanes __attribute__((vector_size(8 * LANES), aligned(8 * LANES)));
typedef int64_t ilanes __attribute__((vector_size(8 * LANES), aligned(8 * LANES)));
typedef uint64_t ulanes __attribute__((vector_size(8 * LANES), aligned(8 * LANES)));

/* the first of the lanes h that are made at a time, in a row of eight columns */
#define EACH_LANE(h) for (ptrdiff_t h = 0; h < 8; h += LANES)
/* LANES numbers from an address on, to read and to write */
#define LANES_AT(p) (*(const lanes *)(p))
#define LANES_TO(p) (*(lanes *)(p))

#define LANES_MAGIC 6755399441055744.0 /* 1.5 * 2^52: adding it leaves a rounded integer in the low bits */

/* log of positive, normal, finite numbers */
static inline lanes lanes_log(lanes x)
{
    const ilanes bits = (ilanes)x, from = bits - 0x3fe6a09e667f3bcdLL; /* mantissa in [sqrt(1/2), sqrt(2)) */
    /* an arithmetic shift, of which AVX2 has only the logical form */
    const ilanes k = (ilanes)((ulanes)(from + 0x4000000000000000LL) >> 52) - 0x400;
    const lanes n = (lanes)(k + 0x4338000000000000LL) - LANES_MAGIC;
    const lanes f = (lanes)(bits - (k << 52)) - 1.0;
    const lanes s = f / (2.0 + f), z = s * s, w = z * z, half = 0.5 * f * f;
    const lanes even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const lanes odd = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01
                            + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    return n * 6.93147180369123816490e-01 - ((half - (s * (half + even + odd) + n * 1.90821492927058770002e-10)) - f);
}

/* exp of numbers up to 700; 0 below -700 */
static inline lanes lanes_exp(lanes x)
{
    const ilanes in_range = x > -700.0;
    const lanes y = (lanes)((ilanes)x & in_range);
    const lanes shifted = y * 1.44269504088896338700e+00 + LANES_MAGIC, n = shifted - LANES_MAGIC;
    const lanes high = y - n * 6.93147180369123816490e-01, low = n * 1.90821492927058770002e-10, r = high - low;
    const lanes t = r * r;
    const lanes c = r - t * (1.66666666666666019037e-01 + t * (-2.77777777770155933842e-03
                         + t * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06
                         + t * 4.13813679705723846039e-08))));
    const lanes e = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
    return (lanes)(((ilanes)e + ((ilanes)shifted << 52)) & in_range);
}
