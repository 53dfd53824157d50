/* Sums over pairs of blocks for the infinite relational model, in multiples of their unit.

   F(e, m) is the log marginal likelihood of e edges among m pairs, and the tables hold its three log rising factorials,
   each rounded once: sums and differences of F are then exact, whatever their order. Past the end of the tables, which
   only graphs of more than some 2,800 nodes reach, an entry is computed. No entry is read that does not exist, not even
   where its value would not count: a block that a sum leaves out is left out of its loop. */
#ifndef SMCMC_BLOCKS_H
#define SMCMC_BLOCKS_H
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define FAR_BITS 16

/* gathers of eight table entries at a time are slower than loads one by one */
#if defined(__GNUC__) && !defined(__clang__)
#define SCALAR __attribute__((optimize("no-tree-vectorize")))
#else
#define SCALAR
#endif

typedef struct {
    int64_t m, value;
} far_t;

typedef struct {
    far_t *far;       /* [1 << FAR_BITS] entries past the end, by a hash of m; m = 0: none */
    const int64_t *at; /* [length] log of b (b + 1) ... (b + m - 1), in units */
    int64_t length;
    long double base; /* log Gamma(b) */
    long double b;
    long double per;  /* units in one */
} rise_t;

typedef struct {
    rise_t edge, gap, pair; /* of beta1, beta0 and their sum */
    int wide;               /* whether an index may lie past a table */
} tables_t;

/* log Gamma(x) by Stirling's series: of x > 2^19 what is left out is below 1e-32 */
static inline long double log_gamma_far(long double x)
{
    const long double half_log_2pi = 0.918938533204672741780329736405617639861L;
    return (x - 0.5L) * logl(x) - x + half_log_2pi + 1 / (12 * x) - 1 / (360 * x * x * x);
}

static int64_t rise_far(const rise_t *t, int64_t m)
{
    far_t *kept = t->far + ((uint64_t)m * 0x9e3779b97f4a7c15u >> (64 - FAR_BITS));
    if (kept->m != m) {
        kept->value = llrintl(t->per * (log_gamma_far(m + t->b) - t->base));
        kept->m = m;
    }
    return kept->value;
}

static inline int64_t rise(const rise_t *t, int64_t m, int wide)
{
    assert(m >= 0 && (wide || m < t->length));
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

/* F(e + c, m) - F(e, m) */
static inline int64_t edges_added(const tables_t *t, int64_t e, int64_t m, int64_t c, int wide)
{
    return rise(&t->edge, e + c, wide) - rise(&t->edge, e, wide) + rise(&t->gap, m - e - c, wide)
           - rise(&t->gap, m - e, wide);
}

/* score[k] += what c edges to block l, of m items, add to that, for k = from .. to - 1 but l. */
#define ADD_EDGES(wide, first, last) \
    for (ptrdiff_t k = first; k < last; k++) \
        score[k] += edges_added(t, e[k], (size[k] + 1) * m, c, wide);
SCALAR static void add_edges(const tables_t *t, const int32_t *restrict e, const int32_t *restrict size, ptrdiff_t from,
                      ptrdiff_t to, ptrdiff_t l, int64_t m, int64_t c, int64_t *restrict score)
{
    if (t->wide) {
        ADD_EDGES(1, from, l)
        ADD_EDGES(1, l + 1, to)
    } else {
        ADD_EDGES(0, from, l)
        ADD_EDGES(0, l + 1, to)
    }
}

/* score[k] += what an item of block `own` adds to block k < K against the rest of its own, of m items with c edges to
   the item, less what grown[k] counts of that; k = own left out. edges[k]: of the item to block k. Returns the sum over
   these k of what the item adds to the rest of its own block against block k. */
#define ADD_OWN(wide, first, last) \
    for (ptrdiff_t k = first; k < last; k++) { \
        const int64_t pairs = size[k] * m, rest = e[k] - edges[k]; \
        const int64_t without = rise(&t->edge, rest, wide) + rise(&t->gap, pairs - rest, wide) \
                                - rise(&t->pair, pairs, wide); \
        const int64_t with = rise(&t->edge, e[k], wide) + rise(&t->gap, pairs + size[k] - e[k], wide) \
                             - rise(&t->pair, pairs + size[k], wide); \
        score[k] += rise(&t->edge, rest + c, wide) + rise(&t->gap, pairs + m - rest - c, wide) \
                    - rise(&t->pair, pairs + m, wide) - without - grown[k]; \
        stay += with - without; \
    }
SCALAR static int64_t add_own(const tables_t *t, const int32_t *restrict e, const int32_t *restrict edges,
                       const int32_t *restrict size, const int64_t *restrict grown, ptrdiff_t K, ptrdiff_t own,
                       int64_t m, int64_t c, int64_t *restrict score)
{
    int64_t stay = 0;
    if (t->wide) {
        ADD_OWN(1, 0, own)
        ADD_OWN(1, own + 1, K)
    } else {
        ADD_OWN(0, 0, own)
        ADD_OWN(0, own + 1, K)
    }
    return stay;
}

/* Count the items neighbour[:n] by their columns z, those with z < 0 left out; returns how many columns were `touched`.
   The columns' counts are 0 before. */
static ptrdiff_t count_neighbours(const int32_t *restrict neighbour, ptrdiff_t n, const int32_t *restrict z,
                                  int32_t *restrict count, int32_t *restrict touched)
{
    ptrdiff_t found = 0;
    for (ptrdiff_t t = 0; t < n; t++) {
        const int32_t k = z[neighbour[t]];
        if (k < 0) continue;
        /* no branch on whether k is new, which is often mistaken */
        touched[found] = k;
        found += count[k] == 0;
        count[k]++;
    }
    return found;
}

/* score[k] += row[k] for k < K */
static void add_row(const int64_t *restrict row, ptrdiff_t K, int64_t *restrict score)
{
    for (ptrdiff_t k = 0; k < K; k++)
        score[k] += row[k];
}
#endif
