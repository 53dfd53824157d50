/* Logarithm and exponential of eight doubles at a time, in plain vector arithmetic: the same bits on every instruction
   set, within one unit in the last place. Polynomials: the classic ones of fdlibm (Sun Microsystems, 1993). */
#ifndef SMCMC_LANES_H
#define SMCMC_LANES_H
#include <stdint.h>
#include <stddef.h>

typedef double lanes8 __attribute__((vector_size(64), aligned(64)));
typedef int64_t ilanes8 __attribute__((vector_size(64), aligned(64)));
typedef uint64_t ulanes8 __attribute__((vector_size(64), aligned(64)));

#define LANES_MAGIC 6755399441055744.0 /* 1.5 * 2^52: adding it leaves a rounded integer in the low bits */

/* log of positive, normal, finite numbers */
static inline lanes8 lanes_log(lanes8 x)
{
    const ilanes8 bits = (ilanes8)x, from = bits - 0x3fe6a09e667f3bcdLL; /* mantissa in [sqrt(1/2), sqrt(2)) */
    /* an arithmetic shift, of which AVX2 has only the logical form */
    const ilanes8 k = (ilanes8)((ulanes8)(from + 0x4000000000000000LL) >> 52) - 0x400;
    const lanes8 n = (lanes8)(k + 0x4338000000000000LL) - LANES_MAGIC;
    const lanes8 f = (lanes8)(bits - (k << 52)) - 1.0;
    const lanes8 s = f / (2.0 + f), z = s * s, w = z * z, half = 0.5 * f * f;
    const lanes8 even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const lanes8 odd = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01
                            + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    return n * 6.93147180369123816490e-01 - ((half - (s * (half + even + odd) + n * 1.90821492927058770002e-10)) - f);
}

/* exp of numbers up to 700; 0 below -700 */
static inline lanes8 lanes_exp(lanes8 x)
{
    const ilanes8 in_range = x > -700.0;
    const lanes8 y = (lanes8)((ilanes8)x & in_range);
    const lanes8 shifted = y * 1.44269504088896338700e+00 + LANES_MAGIC, n = shifted - LANES_MAGIC;
    const lanes8 high = y - n * 6.93147180369123816490e-01, low = n * 1.90821492927058770002e-10, r = high - low;
    const lanes8 t = r * r;
    const lanes8 c = r - t * (1.66666666666666019037e-01 + t * (-2.77777777770155933842e-03
                         + t * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06
                         + t * 4.13813679705723846039e-08))));
    const lanes8 e = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
    return (lanes8)(((ilanes8)e + ((ilanes8)shifted << 52)) & in_range);
}
#endif
