/* Gamma draws of a shape of 1 at most, eight at a time (Ahrens and Dieter 1974, algorithm GS). Of p = b u, u uniform and
   b = 1 + shape/e: if p <= 1, x = p^(1/shape), accepted with probability exp(-x); else x = -log((b - p)/shape), accepted
   with probability x^(shape - 1). A word of 64 bits holds u, its 52 high bits, and of a second uniform the 12 highest
   bits, which decide nearly always, 1 - x being a bound of exp(-x). Of shape 1: -log(u). */
#pragma once
#include <math.h>
#include "philox.h"
#include "simd_math.h"

#define GAMMA_E 2.718281828459045

/* x[t]: the draw of a word, or -1 where the word alone does not decide */
static inline void gammas_begun(double shape, const uint64_t *words, double *x)
{
    const double b = 1.0 + shape / GAMMA_E;
    EACH_LANE(h) {
        lanes p;
        for (int t = 0; t < LANES; t++)
            p[t] = (shape == 1.0 ? 1.0 : b) * philox_double(words[h + t]);
        if (shape == 1.0) {
            p = -lanes_log(p);
            for (int t = 0; t < LANES; t++)
                x[h + t] = p[t];
            continue;
        }
        const lanes y = lanes_exp(lanes_log(p) / shape);
        for (int t = 0; t < LANES; t++) {
            const double second = (double)((words[h + t] & 0xfff) + 1) * (1.0 / 4096.0);
            x[h + t] = p[t] <= 1.0 && second <= 1.0 - y[t] ? y[t] : -1.0;
        }
    }
}

/* The same with a further uniform, the bits of the second from the 13th on; -1 when it is rejected. */
static inline double gamma_finished(double shape, uint64_t word, double u)
{
    const double b = 1.0 + shape / GAMMA_E;
    const double second = ((double)(word & 0xfff) + u) * (1.0 / 4096.0);
    lanes p = (lanes){0} + 1.0;
    p[0] = b * philox_double(word);
    if (p[0] <= 1.0) {
        const lanes y = lanes_exp(lanes_log(p) / shape);
        return second <= exp(-y[0]) ? y[0] : -1.0;
    }
    const double x = -log((b - p[0]) / shape);
    return second <= exp((shape - 1.0) * log(x)) ? x : -1.0;
}
