/* Sums over pairs of blocks for the infinite relational model, in whole numbers of quanta.

   F(e, m) is the log marginal likelihood of e edges among m pairs, and the tables hold its three log rising factorials,
   each rounded once: sums and differences of F are then exact, whatever their order. Past the end of the tables, which
   only graphs of more than some 2,800 nodes reach, an entry is computed. */
#ifndef SMCMC_BLOCKS_H
#define SMCMC_BLOCKS_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t *at;      /* [length] log of b (b + 1) ... (b + m - 1), in quanta */
    int64_t length;
    long double base; /* log Gamma(b) */
    long double b;
    long double per;  /* quanta in one */
} rise_t;

typedef struct {
    rise_t edge, gap, pair; /* of beta1, beta0 and their sum */
    int wide;               /* whether an index may lie past a table */
} tables_t;

static int64_t rise_far(const rise_t *t, int64_t m)
{
    return llrintl(t->per * (lgammal(m + t->b) - t->base));
}

static inline int64_t rise(const rise_t *t, int64_t m, int wide)
{
    return wide && m >= t->length ? rise_far(t, m) : t->at[m];
}

static inline int64_t block_lik(const tables_t *t, int64_t e, int64_t m)
{
    return rise(&t->edge, e, t->wide) + rise(&t->gap, m - e, t->wide) - rise(&t->pair, m, t->wide);
}

/* F(e + c, m + d) - F(e, m) */
static inline int64_t gained(const tables_t *t, int64_t e, int64_t c, int64_t m, int64_t d, int wide)
{
    return rise(&t->edge, e + c, wide) - rise(&t->edge, e, wide) + rise(&t->gap, m + d - e - c, wide)
           - rise(&t->gap, m - e, wide) - rise(&t->pair, m + d, wide) + rise(&t->pair, m, wide);
}

/* Sum over blocks l = from .. to - 1 of what w more items with c[l] edges to block l add to a block of n items, which
   has e[l] - held[l] edges to it (held: NULL for none). */
#define SUM_GAINED(wide) \
    if (held) \
        for (ptrdiff_t l = from; l < to; l++) \
            total += gained(t, e[l] - held[l], c[l], n * size[l], w * size[l], wide); \
    else \
        for (ptrdiff_t l = from; l < to; l++) \
            total += gained(t, e[l], c[l], n * size[l], w * size[l], wide);
static int64_t sum_gained(const tables_t *t, const int32_t *e, const int32_t *held, const int32_t *c,
                          const int32_t *size, ptrdiff_t from, ptrdiff_t to, int64_t n, int64_t w)
{
    int64_t total = 0;
    if (t->wide) {
        SUM_GAINED(1)
    } else {
        SUM_GAINED(0)
    }
    return total;
}

/* Sum over blocks l = from .. to - 1 of F(e[l] + f[l], n size[l]) (f: NULL for none). */
static int64_t sum_lik(const tables_t *t, const int32_t *e, const int32_t *f, const int32_t *size, ptrdiff_t from,
                       ptrdiff_t to, int64_t n)
{
    int64_t total = 0;
    for (ptrdiff_t l = from; l < to; l++)
        total += block_lik(t, f ? e[l] + f[l] : e[l], n * size[l]);
    return total;
}

/* What one more item without edges to block l, of m items, adds to each block k = from .. to - 1: grown[k]. */
#define FILL_GROWN(wide) \
    for (ptrdiff_t k = from; k < to; k++) \
        grown[k] = gained(t, e[k], 0, size[k] * m, m, wide);
static void fill_grown(const tables_t *t, const int32_t *e, const int32_t *size, ptrdiff_t from, ptrdiff_t to, int64_t m,
                       int64_t *grown)
{
    if (t->wide) {
        FILL_GROWN(1)
    } else {
        FILL_GROWN(0)
    }
}

/* score[k] += what c edges to block l, of m items, add to that, for k = from .. to - 1. */
#define ADD_EDGES(wide) \
    for (ptrdiff_t k = from; k < to; k++) { \
        const int64_t gap = (size[k] + 1) * m - e[k]; \
        score[k] += rise(&t->edge, e[k] + c, wide) - rise(&t->edge, e[k], wide) + rise(&t->gap, gap - c, wide) \
                    - rise(&t->gap, gap, wide); \
    }
static void add_edges(const tables_t *t, const int32_t *e, const int32_t *size, ptrdiff_t from, ptrdiff_t to, int64_t m,
                      int64_t c, int64_t *score)
{
    if (t->wide) {
        ADD_EDGES(1)
    } else {
        ADD_EDGES(0)
    }
}

/* score[k] += what an item of block `own` adds to block k against the rest of its own, of m items with c edges to the
   item, for k = from .. to - 1; less what grown[k] counts of that. edges[k]: of the item to block k. */
#define ADD_OWN(wide) \
    for (ptrdiff_t k = from; k < to; k++) \
        score[k] += gained(t, e[k] - edges[k], c, size[k] * m, m, wide) - grown[k];
static void add_own(const tables_t *t, const int32_t *e, const int32_t *edges, const int32_t *size,
                    const int64_t *grown, ptrdiff_t from, ptrdiff_t to, int64_t m, int64_t c, int64_t *score)
{
    if (t->wide) {
        ADD_OWN(1)
    } else {
        ADD_OWN(0)
    }
}
#endif
