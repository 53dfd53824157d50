/* Plain C for Gibbs sweeps of the infinite relational model: adjacency lists, counts of edges between blocks, log
   likelihoods as doubles from tables.

   F(e, m) is the log likelihood of e edges among m pairs. A node with d[l] edges to block l adds to block k, which does
   not count it, the sum over l of F(e_kl + d[l], (n_k + 1) n_l) - F(e_kl, n_k n_l), and within k alike.

   gibbs        takes the node out, runs over all K x K pairs of blocks, and puts it in; F(e_kl, n_k n_l) is kept
   gibbs_kept   keeps what a node without edges adds, too, so that a node runs over the blocks it has edges to alone; its
                own block is corrected for, not changed, since most nodes stay */
#include <stdlib.h>
#include <string.h>
#include "stream.h"

typedef struct {
    /* given by the caller */
    I N, K, cap;
    double concentration;
    const int32_t *start;         /* [N + 1] */
    const int32_t *neighbour;     /* [edges, both ways] */
    const double *edge, *gap, *pair; /* log rising factorials of beta1, beta0 and their sum */
    int32_t *z;                   /* [N] */
    uint64_t rng[4];
    /* made here */
    stream stream;
    I touched;
    int32_t *size, *d, *list;     /* list[:touched]: blocks with d > 0 */
    int32_t *e;                   /* [cap, cap] edges between blocks, within on the diagonal */
    double *f;                    /* [cap, cap] F(e_kl, n_k n_l) */
    double *grown, *base;         /* [cap, cap] grown[l, k]: what a node without edges adds to k against l; [cap] its sum */
    double *w;
} S;

static inline double lik(const S *s, I e, I m) { return s->edge[e] + s->gap[m - e] - s->pair[m]; }
static inline I within(I n) { return n * (n - 1) / 2; }

static inline void look(S *s, I i)
{
    for (I t = 0; t < s->touched; t++) s->d[s->list[t]] = 0;
    s->touched = 0;
    for (I t = s->start[i]; t < s->start[i + 1]; t++) {
        const int32_t l = s->z[s->neighbour[t]];
        if (s->d[l]++ == 0) s->list[s->touched++] = l;
    }
}

/* Count the node looked at in block k, or no longer. */
static inline void count(S *s, I k, int sign)
{
    int32_t *row = s->e + k * s->cap;
    for (I t = 0; t < s->touched; t++) {
        const I l = s->list[t];
        row[l] += sign * s->d[l];
        if (l != k) s->e[l * s->cap + k] += sign * s->d[l];
    }
    s->size[k] += sign;
}

static inline double fixed(const S *s, I k, I l)
{
    const I n = s->size[k];
    return lik(s, s->e[k * s->cap + l], k == l ? within(n) : n * s->size[l]);
}

/* What depends on block k, after a change of it. */
static inline void settle(S *s, I k)
{
    for (I l = 0; l < s->K; l++) s->f[k * s->cap + l] = s->f[l * s->cap + k] = fixed(s, k, l);
}

static inline void settle_kept(S *s, I k)
{
    const I cap = s->cap, n = s->size[k];
    double total = 0;
    for (I l = 0; l < s->K; l++) {
        const I e = s->e[k * cap + l], m = s->size[l];
        const double f = fixed(s, k, l), here = lik(s, e, l == k ? within(n + 1) : (n + 1) * m) - f;
        const double there = l == k ? here : lik(s, e, n * (m + 1)) - f;
        s->f[k * cap + l] = s->f[l * cap + k] = f;
        s->base[l] += there - s->grown[k * cap + l];
        s->grown[k * cap + l] = there;
        s->grown[l * cap + k] = here;
        total += here;
    }
    s->base[k] = total;
}

/* Delete block k, which is empty; the last one takes its number. */
static inline void swap_delete(S *s, I k, int kept)
{
    const I last = --s->K, cap = s->cap;
    if (k != last) {
        for (I i = 0; i < s->N; i++) s->z[i] = s->z[i] == last ? (int32_t)k : s->z[i];
        s->size[k] = s->size[last];
        for (I l = 0; l < s->K; l++)
            s->e[k * cap + l] = s->e[l * cap + k] = s->e[(l == k ? last : l) * cap + last];
    }
    for (I l = 0; l <= last; l++) {
        s->f[last * cap + l] = 0;
        s->e[last * cap + l] = s->e[l * cap + last] = 0;
        if (kept && l < last) s->base[l] -= s->grown[last * cap + l];
        s->grown[last * cap + l] = s->grown[l * cap + last] = 0;
    }
    s->size[last] = 0;
    s->base[last] = 0;
    if (k != last) kept ? settle_kept(s, k) : settle(s, k);
}

/* From log likelihoods w[:K + 1] to weights; `own` counts the node (out: it does not, and is empty if the node was
   alone). */
static inline I weigh(S *s, I own, int out)
{
    double top = -INFINITY;
    for (I k = 0; k <= s->K; k++) top = s->w[k] > top ? s->w[k] : top;
    for (I k = 0; k < s->K; k++) {
        const I n = s->size[k] - (k == own && !out);
        s->w[k] = exp(s->w[k] - top) * (n ? n : s->concentration);
    }
    s->w[s->K] = s->size[own] > !out ? exp(s->w[s->K] - top) * s->concentration : 0;
    return s->K + 1;
}

/* ------------------------------------------------------------------------------------------------ K x K a node */

static inline I weights_of(S *s, I own)
{
    const I K = s->K;
    const int32_t *d = s->d, *size = s->size;
    for (I k = 0; k <= K; k++) {
        const int32_t *e = s->e + k * s->cap;
        const double *f = s->f + k * s->cap;
        const I n = k < K ? size[k] + 1 : 1;
        double total = k < K ? lik(s, e[k] + d[k], within(n)) - f[k] : 0;
        for (I l = 0; l < k; l++) total += lik(s, e[l] + d[l], n * size[l]) - f[l];
        for (I l = k + 1; l < K; l++) total += lik(s, e[l] + d[l], n * size[l]) - f[l];
        s->w[k] = total;
    }
    return weigh(s, own, 1);
}

void gibbs(S *s, I scans)
{
    while (scans-- > 0)
        for (I i = 0; i < s->N; i++) {
            const I own = s->z[i];
            look(s, i);
            count(s, own, -1);
            settle(s, own);
            const I k = categorical(&s->stream, s->w, weights_of(s, own));
            s->z[i] = (int32_t)k;
            if (k == s->K) s->K++;
            count(s, k, 1);
            settle(s, k);
            if (s->size[own] == 0) swap_delete(s, own, 0);
        }
}

/* -------------------------------------------------------------------------------------- sums without edges kept */

static inline I weights_kept(S *s, I own)
{
    const I K = s->K, cap = s->cap, n = s->size[own] - 1, c = s->d[own];
    const int32_t *d = s->d, *size = s->size, *mine = s->e + own * cap;
    const double *grown = s->grown + own * cap;
    double *w = s->w, fresh = lik(s, c, n), stay = lik(s, mine[own], within(n + 1)) - lik(s, mine[own] - c, within(n));
    for (I k = 0; k < K; k++) {
        const I e = mine[k] - d[k], m = n * size[k];
        const double without = k == own ? 0 : lik(s, e, m);
        w[k] = s->base[k] + lik(s, e + c, m + n) - without - grown[k];
        stay += k == own ? 0 : s->f[own * cap + k] - without;
        fresh += k == own ? 0 : lik(s, d[k], size[k]);
    }
    for (I t = 0; t < s->touched; t++) {
        const I l = s->list[t], x = d[l];
        const int32_t *e = s->e + l * cap;
        if (l == own) continue;
        for (I k = 0; k < K; k++) {
            const I gap = (I)(size[k] + 1) * size[l] - e[k];
            if (k != l) w[k] += s->edge[e[k] + x] - s->edge[e[k]] + s->gap[gap - x] - s->gap[gap];
        }
        w[l] += lik(s, e[l] + x, within(size[l] + 1)) - s->f[l * cap + l] - s->grown[l * cap + l];
    }
    w[own] = stay;
    w[K] = fresh;
    return weigh(s, own, 0);
}

void gibbs_kept(S *s, I scans)
{
    for (I k = 0; k < s->K; k++) settle_kept(s, k);
    while (scans-- > 0)
        for (I i = 0; i < s->N; i++) {
            const I own = s->z[i];
            look(s, i);
            const I k = categorical(&s->stream, s->w, weights_kept(s, own));
            if (k == own) continue;
            s->z[i] = (int32_t)k;
            if (k == s->K) s->K++;
            count(s, own, -1);
            count(s, k, 1);
            settle_kept(s, own);
            settle_kept(s, k);
            if (s->size[own] == 0) swap_delete(s, own, 1);
        }
}

/* ------------------------------------------------------------------------------------------------------ set up */

I state_bytes(void) { return sizeof(S); }

I weights(S *s, I i, double *w)
{
    const I own = s->z[i];
    look(s, i);
    count(s, own, -1);
    settle(s, own);
    const I m = weights_of(s, own);
    memcpy(w, s->w, m * sizeof(double));
    count(s, own, 1);
    settle(s, own);
    return m;
}

/* Count everything afresh from z; called once. */
void prepare(S *s)
{
    s->stream = stream_at(s->rng);
    s->touched = 0;
    s->size = calloc(s->cap, 4);
    s->d = calloc(s->cap, 4);
    s->list = calloc(s->cap, 4);
    s->e = calloc(s->cap * s->cap, 4);
    s->f = calloc(s->cap * s->cap, 8);
    s->grown = calloc(s->cap * s->cap, 8);
    s->base = calloc(s->cap, 8);
    s->w = calloc(s->cap, 8);
    for (I i = 0; i < s->N; i++) {
        s->size[s->z[i]]++;
        for (I t = s->start[i]; t < s->start[i + 1]; t++) {
            const I j = s->neighbour[t];
            if (j < i) {
                s->e[s->z[i] * s->cap + s->z[j]]++;
                if (s->z[i] != s->z[j]) s->e[s->z[j] * s->cap + s->z[i]]++;
            }
        }
    }
    for (I k = 0; k < s->K; k++) settle(s, k);
}
