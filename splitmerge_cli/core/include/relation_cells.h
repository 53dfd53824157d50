/* Log marginal likelihoods of what joins two blocks, or is within one, in multiples of their unit.

   A cell holds sums of whole numbers over the pairs of nodes of two blocks: for every part (a relation, or one direction
   of it) the number of edges, of unknown pairs, and what their values add up to. Each number that is computed from a
   cell is rounded once, so that sums and differences of them are exact, whatever their order. */
#ifndef SMCMC_RELATIONS_H
#define SMCMC_RELATIONS_H
#include "block_sums.h"
#include "simd_math.h"

#define MOST_SLOTS 128
/* parts from which on those without entries are left out of sums */
#define MANY_PARTS 4

enum { EXACT_EDGES, RATES };           /* how edges come about: Bernoulli, or Poisson */
enum { NO_VALUES, REAL_VALUES, LEVELS }; /* what an edge has besides */

typedef struct {
    int edges, values;
    int slot;          /* of the number of edges in a cell; sums of values follow */
    int unknown;       /* slot of unknown pairs, -1 none */
    int n_levels;
    int first;         /* the only direction, or the one that counts what is within a block */
    int directed, loops, corrected;
    int log_row;       /* of counts whose pairs are all known: which row of kept logarithms has theirs; else -1 */
    tables_t tables;   /* Bernoulli */
    rise_t rise;       /* Poisson: of the shape */
    double shape, rate, offset, exposure; /* shape log rate; what one of m counts as: half a pair where degrees
                                             are corrected, else a pair */
    double per;        /* units in one */
    /* values */
    const double *half; /* [edges + 2] log Gamma(a0 + n / 2) - log Gamma(a0) + a0 log b0 - n / 2 log 2 pi */
    double kappa0, a0, b0, step, square; /* a sum counts steps, a sum of squares their squares */
    rise_t level, all_levels;
} part_t;

/* One logarithm, the same bits as among others. */
static inline double log_one(double x)
{
    const lanes all = x - (lanes){0};
    return lanes_log(all)[0];
}

static inline int64_t entry(const rise_t *t, int64_t m)
{
    return m < t->length ? t->at[m] : rise_far(t, m);
}

/* of the values of n edges, s: their sums */
static inline int64_t value_lik(const part_t *p, int64_t n, const int64_t *s)
{
    if (p->values == REAL_VALUES) {
        const double sum = s[0] * p->step, weight = p->kappa0 + n;
        const double scatter = s[1] * p->square - sum * sum / weight;
        return llrint(p->per * (p->half[n] - (p->a0 + 0.5 * n) * log_one(p->b0 + 0.5 * (scatter > 0 ? scatter : 0))
                                - 0.5 * log_one(weight / p->kappa0)));
    }
    int64_t total = -entry(&p->all_levels, n);
    for (int v = 0; v < p->n_levels; v++)
        total += entry(&p->level, s[v]);
    return total;
}

/* of e Bernoulli edges among m pairs */
static inline int64_t exact_lik(const part_t *p, int64_t e, int64_t m)
{
    return entry(&p->tables.edge, e) + entry(&p->tables.gap, m - e) - entry(&p->tables.pair, m);
}

/* of a sum s of Poisson counts, log_rate: log(rate + m) of m pairs */
static inline int64_t rate_lik(const part_t *p, int64_t s, double log_rate)
{
    return entry(&p->rise, s) - llrint(p->per * ((p->shape + s) * log_rate - p->offset));
}

/* of the sums s and t of both directions, rounded once */
static inline int64_t rates_lik(const part_t *p, int64_t s, int64_t t, double log_rate)
{
    return entry(&p->rise, s) + entry(&p->rise, t)
           - llrint(p->per * ((2 * p->shape + (s + t)) * log_rate - 2 * p->offset));
}

static inline double rate_of(const part_t *p, int64_t m)
{
    return p->rate + p->exposure * m;
}

/* of a part whose edges are among m pairs */
static inline int64_t part_lik(const part_t *p, const int64_t *cell, int64_t m)
{
    const int64_t *s = cell + p->slot;
    int64_t total;
    if (p->unknown >= 0) m -= cell[p->unknown];
    total = p->edges == EXACT_EDGES ? exact_lik(p, s[0], m) : rate_lik(p, s[0], log_one(rate_of(p, m)));
    if (p->values != NO_VALUES && s[0]) total += value_lik(p, s[0], s + 1);
    return total;
}

/* pairs of nodes of two blocks, of a0 and b0 nodes of the one kind, a1 and b1 of the other */
static inline int64_t pairs_between(int64_t a0, int64_t a1, int64_t b0, int64_t b1, int sided)
{
    return sided ? a0 * b1 + a1 * b0 : a0 * b0;
}

/* Whether a part and the next are both directions of counts, all of whose pairs are known. */
static inline int is_pair(const part_t *part)
{
    return part->log_row >= 0 && part->first && part->directed;
}

/* of a cell of two blocks with m pairs */
static inline int64_t cell_lik(const part_t *parts, int n, const int64_t *cell, int64_t m)
{
    int64_t total = 0;
    for (int p = 0; p < n; p++) {
        const part_t *part = parts + p;
        if (is_pair(part)) {
            const double log_rate = log_one(rate_of(part, m << part->corrected));
            total += rates_lik(part, cell[part->slot], cell[part[1].slot], log_rate);
            p++;
        } else
            total += part_lik(part, cell, m << part->corrected);
    }
    return total;
}

/* `add_cells` where most of many parts have nothing to add: those alone that have, with it less without it. */
static void add_few_parts(const part_t *parts, int n, int V, const int64_t *restrict row, const int64_t *restrict add,
                          const int32_t *restrict n0, const int32_t *restrict n1, ptrdiff_t K, ptrdiff_t a,
                          ptrdiff_t b, int64_t d0, int64_t d1, int64_t b0, int64_t b1, int sided,
                          int64_t *restrict out)
{
    for (int p = 0, width; p < n; p += width) {
        const part_t *part = parts + p;
        width = 1 + is_pair(part);
        const int first = part->slot, end = p + width < n ? part[width].slot : V;
        int v = first;
        while (v < end && !add[v]) v++;
        if (v == end) continue;
        for (ptrdiff_t k = 0; k < K; k++) {
            if (k == a || k == b) continue;
            const int64_t m = pairs_between(n0[k] + d0, n1[k] + d1, b0, b1, sided);
            int64_t cell[MOST_SLOTS];
            for (v = first; v < end; v++)
                cell[v] = row[k * V + v] + add[v];
            out[k] += cell_lik(part, width, cell, m) - cell_lik(part, width, row + k * V, m);
        }
    }
}

/* out[k] += of block k and a block that sees it as row[k], with `add` in addition, less zero[k] (NULL: 0), for k < K but
   a and b; block k has n0[k] + d0 and n1[k] + d1 nodes of either kind, the other b0 and b1. `logs`: rows of `cap` kept
   logarithms, NULL for none. */
static void add_cells(const part_t *parts, int n, int V, const int64_t *restrict row, const int64_t *restrict add,
                      const int32_t *restrict n0, const int32_t *restrict n1, ptrdiff_t K, ptrdiff_t a, ptrdiff_t b,
                      int64_t d0, int64_t d1, int64_t b0, int64_t b1, int sided, const int64_t *restrict zero,
                      const double *restrict logs, ptrdiff_t cap, int64_t *restrict out)
{
    if (zero && n >= MANY_PARTS) {
        add_few_parts(parts, n, V, row, add, n0, n1, K, a, b, d0, d1, b0, b1, sided, out);
        return;
    }
#define PAIRS (pairs_between(n0[k] + d0, n1[k] + d1, b0, b1, sided) << part->corrected)
    for (int p = 0; p < n; p++) {
        const part_t *part = parts + p;
        const int64_t more = add[part->slot];
        const int64_t *s = row + part->slot;
        if (part->values != NO_VALUES || part->unknown >= 0) {
            for (ptrdiff_t k = 0; k < K; k++) {
                if (k == a || k == b) continue;
                int64_t cell[MOST_SLOTS];
                for (int v = 0; v < V; v++)
                    cell[v] = row[k * V + v] + add[v];
                out[k] += part_lik(part, cell, PAIRS);
            }
        } else if (part->edges == EXACT_EDGES) {
            for (ptrdiff_t k = 0; k < K; k++)
                if (k != a && k != b) out[k] += exact_lik(part, s[k * V] + more, PAIRS);
        } else {
            const int both = is_pair(part);
            const int64_t back = both ? add[part[1].slot] : 0, *t = row + part[both].slot;
            for (ptrdiff_t first = 0; first < K; first += 8) {
                double x[8] __attribute__((aligned(64)));
                const int width = K - first < 8 ? (int)(K - first) : 8;
                const double *log_rates = logs + part->log_row * cap + first;
                if (!logs) {
                    for (int h = 0; h < 8; h++) {
                        const ptrdiff_t k = first + (h < width ? h : 0);
                        x[h] = rate_of(part, PAIRS);
                    }
                    EACH_LANE(h) LANES_TO(x + h) = lanes_log(LANES_AT(x + h));
                    log_rates = x;
                }
                for (int h = 0; h < width; h++) {
                    const ptrdiff_t k = first + h;
                    if (k == a || k == b) continue;
                    out[k] += both ? rates_lik(part, s[k * V] + more, t[k * V] + back, log_rates[h])
                                   : rate_lik(part, s[k * V] + more, log_rates[h]);
                }
            }
            p += both;
        }
    }
    if (zero)
        for (ptrdiff_t k = 0; k < K; k++)
            out[k] -= k != a && k != b ? zero[k] : 0;
#undef PAIRS
}

/* log Gamma(x), Stirling's series from 16 on: what is left out is below 1e-15 */
static inline double log_gamma(double x)
{
    if (x < 16) return lgamma(x);
    const double y = 1 / (x * x);
    return (x - 0.5) * log_one(x) - x + 0.91893853320467274178
           + (1. / 12 - y * (1. / 360 - y * (1. / 1260 - y * (1. / 1680 - y / 1188)))) / x;
}

/* of the pairs within a block of n0 and n1 nodes */
static int64_t within_lik(const part_t *parts, int n, const int64_t *cell, int64_t n0, int64_t n1, int sided)
{
    int64_t total = 0;
    for (int p = 0; p < n; p++) {
        const part_t *part = parts + p;
        if (!part->first) continue;
        int64_t m;
        if (sided)
            m = n0 * n1 << part->corrected;
        else if (part->corrected)
            m = part->directed ? 2 * n0 * n0 : n0 * n0;
        else
            m = (part->directed ? n0 * (n0 - 1) : n0 * (n0 - 1) / 2) + (part->loops ? n0 : 0);
        total += part_lik(part, cell, m);
    }
    return total;
}
#endif
