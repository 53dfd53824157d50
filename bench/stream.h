/* NumPy's PCG64DXSM, inlined, and the choices of docs/design.md made from its doubles. */
#ifndef SMCMC_BENCH_STREAM_H
#define SMCMC_BENCH_STREAM_H
#include <math.h>
#include <stdint.h>

typedef int64_t I;

typedef struct { unsigned __int128 pcg, inc; } stream;

static inline stream stream_at(const uint64_t *rng)
{
    const stream s = {(unsigned __int128)rng[0] << 64 | rng[1], (unsigned __int128)rng[2] << 64 | rng[3]};
    return s;
}

static inline uint64_t next_bits(stream *s)
{
    const uint64_t mul = 0xda942042e4dd58b5ULL;
    uint64_t hi = (uint64_t)(s->pcg >> 64), lo = (uint64_t)s->pcg | 1;
    hi = (hi ^ (hi >> 32)) * mul;
    hi = (hi ^ (hi >> 48)) * lo;
    s->pcg = s->pcg * mul + s->inc;
    return hi;
}

static inline double next(stream *s) { return (next_bits(s) >> 11) * 0x1p-53; }
static inline I draw_index(stream *s, I n) { return (I)(next(s) * n); }
static inline int accept(stream *s, double r) { return r >= -1e-12 || next(s) < exp(r); }

static inline I categorical(stream *s, const double *w, I m)
{
    double total = 0, c = 0, u;
    for (I k = 0; k < m; k++) total += w[k];
    u = next(s) * total;
    for (I k = 0; k < m; k++)
        if (u < (c += w[k])) return k;
    return m - 1;
}

/* log of a product of probabilities: a product until it is small */
#define SCORE(p) do { prod *= (p); if (prod < 1e-20) { total += log(prod); prod = 1; } } while (0)
#endif
