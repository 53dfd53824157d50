/* Log marginal likelihoods of what joins two blocks, or is within one, in multiples of their unit.

   A cell holds sums of whole numbers over the pairs of nodes of two blocks: for every part (a relation, or one direction
   of it) the number of edges, of unknown pairs, and what their values add up to. Each number that is computed from a
   cell is rounded once, so that sums and differences of them are exact, whatever their order. */
#ifndef SMCMC_RELATIONS_H
#define SMCMC_RELATIONS_H
#include "block_sums.h"

#define MOST_SLOTS 128

enum { EXACT_EDGES, RATES };           /* how edges come about: Bernoulli, or Poisson */
enum { NO_VALUES, REAL_VALUES, LEVELS }; /* what an edge has besides */

typedef struct {
    int edges, values;
    int slot;          /* of the number of edges in a cell; sums of values follow */
    int unknown;       /* slot of unknown pairs, -1 none */
    int n_levels;
    int first;         /* the only direction, or the one that counts what is within a block */
    int directed, loops, corrected;
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
        return llrint(p->per * (p->half[n] - (p->a0 + 0.5 * n) * log(p->b0 + 0.5 * (scatter > 0 ? scatter : 0))
                                - 0.5 * log(weight / p->kappa0)));
    }
    int64_t total = -entry(&p->all_levels, n);
    for (int v = 0; v < p->n_levels; v++)
        total += entry(&p->level, s[v]);
    return total;
}

/* of the edges of a part among m pairs, s: its slots */
static inline int64_t part_lik(const part_t *p, const int64_t *cell, int64_t m)
{
    const int64_t *s = cell + p->slot;
    int64_t total;
    if (p->unknown >= 0) m -= cell[p->unknown];
    if (p->edges == EXACT_EDGES)
        total = entry(&p->tables.edge, s[0]) + entry(&p->tables.gap, m - s[0]) - entry(&p->tables.pair, m);
    else
        total = entry(&p->rise, s[0])
                - llrint(p->per * ((p->shape + s[0]) * log(p->rate + p->exposure * m) - p->offset));
    if (p->values != NO_VALUES && s[0]) total += value_lik(p, s[0], s + 1);
    return total;
}

/* pairs of nodes of two blocks, of a0 and b0 nodes of the one kind, a1 and b1 of the other */
static inline int64_t pairs_between(int64_t a0, int64_t a1, int64_t b0, int64_t b1, int sided)
{
    return sided ? a0 * b1 + a1 * b0 : a0 * b0;
}

/* of a cell of two blocks with m pairs */
static inline int64_t cell_lik(const part_t *parts, int n, const int64_t *cell, int64_t m)
{
    int64_t total = 0;
    for (int p = 0; p < n; p++)
        total += part_lik(parts + p, cell, m << parts[p].corrected);
    return total;
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
