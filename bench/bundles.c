/* Plain C for Gibbs sweeps of items that are bundles of rows: normal columns, independent within a cluster, sums as
   doubles. An item against a cluster is the likelihood of both together over the likelihood of the cluster. */
#include <stdlib.h>
#include <string.h>
#include "stream.h"

typedef struct {
    /* given by the caller */
    I N, D, K, cap;
    double concentration, kappa0, a0;
    const double *item;           /* [N, 2 D] sums of x and of x^2 about m0 */
    const double *b0;             /* [D] */
    const double *log_n;          /* [rows + 2] the part of a likelihood that depends on n alone, and the prior's */
    const int64_t *mass;          /* [N] rows of an item */
    int32_t *z;                   /* [N] */
    uint64_t rng[4];
    /* made here */
    stream stream;
    int32_t *size;
    int64_t *rows;                /* [cap] */
    double *c;                    /* [cap, 2 D] sums */
    double *lik;                  /* [cap] */
    double *w, *e;
} S;

/* log likelihood of a cluster and `sign` times item i */
static inline double likelihood(const S *s, I k, const double *item, double sign, I n)
{
    const I D = s->D;
    const double *c = s->c + k * 2 * D, inv = 1 / (s->kappa0 + n);
    double product = 1, total = 0;
    if (!n) return 0;
    for (I d = 0; d < D; d++) {
        const double sum = c[d] + sign * item[d], square = c[D + d] + sign * item[D + d];
        product *= s->b0[d] + .5 * (square - sum * sum * inv);
        if (product < 1e-200 || product > 1e200) total += log(product), product = 1;
    }
    return s->log_n[n] - (s->a0 + .5 * n) * (total + log(product));
}

static inline void tell(S *s, I k, I i, double one)
{
    const double *item = s->item + i * 2 * s->D;
    double *c = s->c + k * 2 * s->D;
    for (I d = 0; d < 2 * s->D; d++) c[d] += one * item[d];
    s->size[k] += (int32_t)one;
    s->rows[k] += (I)one * s->mass[i];
    s->lik[k] = likelihood(s, k, item, 0, s->rows[k]);
}

static inline void copy(S *s, I from, I to)
{
    if (from < 0) {
        memset(s->c + to * 2 * s->D, 0, 16 * s->D);
        s->size[to] = 0, s->rows[to] = 0, s->lik[to] = 0;
        return;
    }
    memcpy(s->c + to * 2 * s->D, s->c + from * 2 * s->D, 16 * s->D);
    s->size[to] = s->size[from], s->rows[to] = s->rows[from], s->lik[to] = s->lik[from];
}

static inline I weights_of(S *s, I i)
{
    const I K = s->K, own = s->z[i], alone = s->size[own] == 1;
    const double *item = s->item + i * 2 * s->D;
    double top = -INFINITY;
    for (I k = 0; k <= K; k++) {
        const I m = s->mass[i], n = s->rows[k];
        s->e[k] = k == own ? s->lik[k] - likelihood(s, k, item, -1, n - m) : likelihood(s, k, item, 1, n + m) - s->lik[k];
        top = s->e[k] > top ? s->e[k] : top;
    }
    for (I k = 0; k <= K; k++) s->w[k] = exp(s->e[k] - top) * (k == K || (k == own && alone) ? s->concentration : 1);
    if (alone) s->w[K] = 0;
    return K + 1;
}

#include "sweep.h"

/* Count everything afresh from z; called once. */
void prepare(S *s)
{
    s->stream = stream_at(s->rng);
    s->size = calloc(s->cap, 4);
    s->rows = calloc(s->cap, 8);
    s->c = calloc(s->cap * 2 * s->D, 8);
    s->lik = calloc(s->cap, 8);
    s->w = calloc(s->cap, 8);
    s->e = calloc(s->cap, 8);
    for (I i = 0; i < s->N; i++) tell(s, s->z[i], i, 1);
}
