/* Plain C for Gibbs sweeps of mixtures on vectors of counts: multinomials with Dirichlet priors, or Poisson distributions
   with gamma priors. All rows are contiguous over clusters; logarithms come from tables of the caller.

   The item's own cluster is scored in the same statistics, which count it. Of the Poisson model a cluster that has
   changed is settled anew: what it makes of an item without counts, and the logarithms that an item's counts multiply.
   Overdispersed rows are counts of tables with an exposure each (splitmerge_cli/kinds/tables/models/overdispersed_multinomial.pyx):
   a logarithm more for each cluster. */
#include <stdlib.h>
#include <string.h>
#include "stream.h"

typedef struct {
    /* given by the caller */
    I N, K, cap, D, poisson;
    double concentration, shape;
    double precision_shape, precision_rate;
    const int64_t *start;        /* [N + 1] */
    const int32_t *column;       /* [entries] of counts that are not 0 */
    const int32_t *value;        /* [entries] */
    const double *rise;          /* log of the rising factorials of alpha or shape, 0 .. the largest sum */
    const double *rise_all;      /* of D alpha, 0 .. the sum of all counts; NULL of Poissons. Overdispersed rows: over
                                    those of precision_shape */
    const double *exposure;      /* [N] of overdispersed rows; NULL of others */
    const double *growth;        /* [N + 2, D] log (rate + n); NULL of multinomials */
    const double *step;          /* [N + 2, D] log (1 + 1 / (rate + n)); NULL of multinomials */
    int32_t *z;                  /* [N] */
    uint64_t rng[4];
    /* made here */
    stream stream;
    int64_t *size, *sum, *all;   /* [cap], [D, cap], [cap] */
    int64_t *total;              /* [N] */
    double *slope;               /* [D, cap] */
    double *level, *own_level;   /* [cap] with the cluster's size, and one item less */
    double *exposed;             /* [cap] sum of exposures */
    double *w, *e;
} S;

static inline void settle(S *s, I k)
{
    const I D = s->D, cap = s->cap, n = s->size[k];
    const double *now = s->step + n * D, *before = now - (n > 0) * D, *growth = s->growth + (n + 1) * D;
    double level = 0, own_level = 0;
    if (s->exposure) s->level[k] = (s->precision_shape + s->all[k]) * log(s->precision_rate + s->exposed[k]);
    if (!s->poisson) return;
    for (I d = 0; d < D; d++) {
        const double a = s->shape + s->sum[d * cap + k];
        level -= a * now[d];
        own_level -= a * before[d];
        s->slope[d * cap + k] = growth[d];
    }
    s->level[k] = level;
    s->own_level[k] = own_level;
}

static inline void tell(S *s, I k, I i, I one)
{
    s->size[k] += one;
    s->all[k] += one * s->total[i];
    if (s->exposure) s->exposed[k] += one * s->exposure[i];
    for (I t = s->start[i]; t < s->start[i + 1]; t++) s->sum[s->column[t] * s->cap + k] += one * s->value[t];
    settle(s, k);
}

/* log predictive of item i in cluster k, which counts it */
static inline double log_own(const S *s, I k, I i)
{
    double total = s->poisson ? s->own_level[k] : 0;
    for (I t = s->start[i]; t < s->start[i + 1]; t++) {
        const I sum = s->sum[s->column[t] * s->cap + k], x = s->value[t];
        total += s->rise[sum] - s->rise[sum - x];
        if (s->poisson) total -= x * s->growth[(s->size[k] - 1) * s->D + s->column[t]];
    }
    if (s->poisson) return total;
    if (s->exposure)
        total += (s->precision_shape + s->all[k] - s->total[i])
                     * log(s->precision_rate + s->exposed[k] - s->exposure[i]) - s->level[k];
    return total - s->rise_all[s->all[k]] + s->rise_all[s->all[k] - s->total[i]];
}

static inline I weights_of(S *s, I i)
{
    const I own = s->z[i], alone = s->size[own] == 1, m = s->K + 1;
    double *restrict e = s->e, top = -INFINITY;
    if (s->poisson)
        for (I k = 0; k < m; k++) e[k] = s->level[k];
    else
        for (I k = 0; k < m; k++) e[k] = s->rise_all[s->all[k]] - s->rise_all[s->all[k] + s->total[i]];
    if (s->exposure) {
        const double shape = s->precision_shape + s->total[i], rate = s->precision_rate + s->exposure[i];
        for (I k = 0; k < m; k++) e[k] += s->level[k] - (shape + s->all[k]) * log(rate + s->exposed[k]);
    }
    for (I t = s->start[i]; t < s->start[i + 1]; t++) {
        const I x = s->value[t];
        const int64_t *restrict sum = s->sum + s->column[t] * s->cap;
        const double *restrict slope = s->slope + s->column[t] * s->cap;
        if (s->poisson)
            for (I k = 0; k < m; k++) e[k] += s->rise[sum[k] + x] - s->rise[sum[k]] - x * slope[k];
        else
            for (I k = 0; k < m; k++) e[k] += s->rise[sum[k] + x] - s->rise[sum[k]];
    }
    e[own] = log_own(s, own, i);
    for (I k = 0; k < m; k++) top = e[k] > top ? e[k] : top;
    for (I k = 0; k < m; k++) {
        const I n = s->size[k] - (k == own);
        s->w[k] = (n > 0 ? n : s->concentration) * exp(e[k] - top);
    }
    if (alone) s->w[m - 1] = 0;
    return m;
}

/* Cluster `to` becomes what cluster `from` is, or empty (-1). */
static inline void copy(S *s, I from, I to)
{
    s->size[to] = from < 0 ? 0 : s->size[from];
    s->all[to] = from < 0 ? 0 : s->all[from];
    s->exposed[to] = from < 0 ? 0 : s->exposed[from];
    for (I d = 0; d < s->D; d++) s->sum[d * s->cap + to] = from < 0 ? 0 : s->sum[d * s->cap + from];
    settle(s, to);
}

#include "sweep.h"

/* ------------------------------------------------------------------------------------------------------ set up */

/* Count everything afresh from z; called once. */
void prepare(S *s)
{
    s->stream = stream_at(s->rng);
    s->size = calloc(s->cap, 8);
    s->all = calloc(s->cap, 8);
    s->sum = calloc(s->cap * s->D, 8);
    s->total = calloc(s->N, 8);
    s->slope = calloc(s->cap * s->D, 8);
    s->level = calloc(s->cap, 8);
    s->own_level = calloc(s->cap, 8);
    s->exposed = calloc(s->cap, 8);
    s->w = calloc(s->cap, 8);
    s->e = calloc(s->cap, 8);
    for (I i = 0; i < s->N; i++)
        for (I t = s->start[i]; t < s->start[i + 1]; t++) s->total[i] += s->value[t];
    for (I k = 0; k <= s->K; k++) settle(s, k);
    for (I i = 0; i < s->N; i++) tell(s, s->z[i], i, 1);
}
