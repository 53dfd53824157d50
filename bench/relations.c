/* Plain C for Gibbs sweeps of the infinite relational model of directed counts: adjacency lists, sums of counts between
   blocks in both directions, log likelihoods as doubles. What a node without edges adds is kept, so that a node runs
   over the blocks it has edges to alone; its own block is corrected for, not changed, since most nodes stay.

   A pair of blocks with m pairs of nodes and sums a, b of the two directions has G(a) + G(b) - (2 shape + a + b)
   log(rate + m) + 2 shape log rate, with G from a table; within a block there is one direction. */
#include <stdlib.h>
#include <string.h>
#include "stream.h"

typedef struct {
    /* given by the caller */
    I N, K, cap;
    double concentration, shape, rate;
    const int64_t *start;         /* [N + 1] */
    const int32_t *neighbour;     /* [entries] */
    const int32_t *into;          /* [entries] 0: an edge to the neighbour, 1: from it */
    const int64_t *count;         /* [entries] */
    const double *gammas;         /* [sum + 2] log Gamma(shape + s) - log Gamma(shape) */
    int32_t *z;                   /* [N] */
    uint64_t rng[4];
    /* made here */
    stream stream;
    I touched;
    int32_t *size, *list;         /* list[:touched]: blocks with edges */
    int32_t *d;                   /* [cap, 2] edges of the node to and from each block */
    int32_t *e;                   /* [cap, cap, 2] edges between blocks, to and from; within on the diagonal, to alone */
    double *f;                    /* [cap, cap] likelihood of two blocks */
    double *grown, *base;         /* [cap, cap] grown[l, k]: what a node without edges adds to k against l; [cap] its sum */
    double *w;
} S;

static inline double lik(const S *s, I a, I b, I m)
{
    return s->gammas[a] + s->gammas[b] - (2 * s->shape + a + b) * log(s->rate + m) + 2 * s->shape * log(s->rate);
}

static inline double inside(const S *s, I a, I n)
{
    return s->gammas[a] - (s->shape + a) * log(s->rate + n * (n - 1)) + s->shape * log(s->rate);
}

static inline void look(S *s, I i)
{
    for (I t = 0; t < s->touched; t++) s->d[2 * s->list[t]] = s->d[2 * s->list[t] + 1] = 0;
    s->touched = 0;
    for (I t = s->start[i]; t < s->start[i + 1]; t++) {
        const int32_t l = s->z[s->neighbour[t]];
        if (s->d[2 * l] + s->d[2 * l + 1] == 0) s->list[s->touched++] = l;
        s->d[2 * l + s->into[t]] += s->count[t];
    }
}

/* Count the node looked at in block k, or no longer. */
static inline void count(S *s, I k, int sign)
{
    for (I t = 0; t < s->touched; t++) {
        const I l = s->list[t];
        int32_t *here = s->e + 2 * (k * s->cap + l), *there = s->e + 2 * (l * s->cap + k);
        if (l == k) {
            here[0] += sign * (s->d[2 * l] + s->d[2 * l + 1]);
            continue;
        }
        here[0] += sign * s->d[2 * l];
        here[1] += sign * s->d[2 * l + 1];
        there[0] += sign * s->d[2 * l + 1];
        there[1] += sign * s->d[2 * l];
    }
    s->size[k] += sign;
}

static inline double fixed(const S *s, I k, I l)
{
    const int32_t *e = s->e + 2 * (k * s->cap + l);
    return k == l ? inside(s, e[0], s->size[k]) : lik(s, e[0], e[1], (I)s->size[k] * s->size[l]);
}

static inline void settle(S *s, I k)
{
    const I cap = s->cap, n = s->size[k];
    double total = 0;
    for (I l = 0; l < s->K; l++) {
        const int32_t *e = s->e + 2 * (k * cap + l);
        const I m = s->size[l];
        const double f = fixed(s, k, l);
        const double here = (l == k ? inside(s, e[0], n + 1) : lik(s, e[0], e[1], (n + 1) * m)) - f;
        const double there = l == k ? here : lik(s, e[0], e[1], n * (m + 1)) - f;
        s->f[k * cap + l] = s->f[l * cap + k] = f;
        s->base[l] += there - s->grown[k * cap + l];
        s->grown[k * cap + l] = there;
        s->grown[l * cap + k] = here;
        total += here;
    }
    s->base[k] = total;
}

/* Delete block k, which is empty; the last one takes its number. */
static inline void swap_delete(S *s, I k)
{
    const I last = --s->K, cap = s->cap;
    if (k != last) {
        for (I i = 0; i < s->N; i++) s->z[i] = s->z[i] == last ? (int32_t)k : s->z[i];
        s->size[k] = s->size[last];
        for (I l = 0; l < s->K; l++)
            for (int to = 0; to < 2; to++) {
                const I source = l == k ? last : l;
                s->e[2 * (k * cap + l) + to] = s->e[2 * (last * cap + source) + to];
                s->e[2 * (l * cap + k) + (l == k ? to : 1 - to)] = s->e[2 * (last * cap + source) + to];
            }
    }
    for (I l = 0; l <= last; l++) {
        s->f[last * cap + l] = 0;
        memset(s->e + 2 * (last * cap + l), 0, 8);
        memset(s->e + 2 * (l * cap + last), 0, 8);
        if (l < last) s->base[l] -= s->grown[last * cap + l];
        s->grown[last * cap + l] = s->grown[l * cap + last] = 0;
    }
    s->size[last] = 0;
    s->base[last] = 0;
    if (k != last) settle(s, k);
}

/* From log likelihoods w[:K + 1] to weights; `own` counts the node. */
static inline I weigh(S *s, I own)
{
    double top = -INFINITY;
    for (I k = 0; k <= s->K; k++) top = s->w[k] > top ? s->w[k] : top;
    for (I k = 0; k < s->K; k++) {
        const I n = s->size[k] - (k == own);
        s->w[k] = exp(s->w[k] - top) * (n ? n : s->concentration);
    }
    s->w[s->K] = s->size[own] > 1 ? exp(s->w[s->K] - top) * s->concentration : 0;
    return s->K + 1;
}

static inline I weights_of(S *s, I own)
{
    const I K = s->K, cap = s->cap, n = s->size[own] - 1;
    const int32_t *d = s->d, *size = s->size, *mine = s->e + 2 * own * cap;
    const I to = d[2 * own], from = d[2 * own + 1];
    const double *grown = s->grown + own * cap;
    double *w = s->w, fresh = lik(s, to, from, n);
    double stay = s->f[own * cap + own] - inside(s, mine[2 * own] - to - from, n);
    for (I k = 0; k < K; k++) {
        if (k == own) continue;
        const I a = mine[2 * k] - d[2 * k], b = mine[2 * k + 1] - d[2 * k + 1], m = n * size[k];
        const double without = lik(s, a, b, m);
        w[k] = s->base[k] + lik(s, a + from, b + to, m + n) - without - grown[k];
        stay += s->f[own * cap + k] - without;
        fresh += lik(s, d[2 * k], d[2 * k + 1], size[k]);
    }
    for (I t = 0; t < s->touched; t++) {
        const I l = s->list[t], x = d[2 * l], y = d[2 * l + 1];
        const int32_t *e = s->e + 2 * l * cap;
        if (l == own) continue;
        for (I k = 0; k < K; k++) {
            const I a = e[2 * k], b = e[2 * k + 1];
            if (k != l && k != own)
                w[k] += s->gammas[a + y] - s->gammas[a] + s->gammas[b + x] - s->gammas[b]
                        - (x + y) * log(s->rate + (I)(size[k] + 1) * size[l]);
        }
        w[l] += inside(s, e[2 * l] + x + y, size[l] + 1) - s->f[l * cap + l] - s->grown[l * cap + l];
    }
    w[own] = stay;
    w[K] = fresh;
    return weigh(s, own);
}

void gibbs(S *s, I scans)
{
    for (I k = 0; k < s->K; k++) settle(s, k);
    while (scans-- > 0)
        for (I i = 0; i < s->N; i++) {
            const I own = s->z[i];
            look(s, i);
            const I k = categorical(&s->stream, s->w, weights_of(s, own));
            if (k == own) continue;
            s->z[i] = (int32_t)k;
            if (k == s->K) s->K++;
            count(s, own, -1);
            count(s, k, 1);
            settle(s, own);
            settle(s, k);
            if (s->size[own] == 0) swap_delete(s, own);
        }
}

/* ------------------------------------------------------------------------------------------------------ set up */

I state_bytes(void) { return sizeof(S); }

I weights(S *s, I i, double *w)
{
    look(s, i);
    const I m = weights_of(s, s->z[i]);
    memcpy(w, s->w, m * sizeof(double));
    return m;
}

/* Count everything afresh from z; called once. */
void prepare(S *s)
{
    s->stream = stream_at(s->rng);
    s->touched = 0;
    s->size = calloc(s->cap, 4);
    s->d = calloc(2 * s->cap, 4);
    s->list = calloc(s->cap, 4);
    s->e = calloc(2 * s->cap * s->cap, 4);
    s->f = calloc(s->cap * s->cap, 8);
    s->grown = calloc(s->cap * s->cap, 8);
    s->base = calloc(s->cap, 8);
    s->w = calloc(s->cap, 8);
    for (I i = 0; i < s->N; i++) {
        const I k = s->z[i];
        s->size[k]++;
        for (I t = s->start[i]; t < s->start[i + 1]; t++) {
            const I l = s->z[s->neighbour[t]];
            if (k != l || !s->into[t]) s->e[2 * (k * s->cap + l) + (k == l ? 0 : s->into[t])] += s->count[t];
        }
    }
    for (I k = 0; k < s->K; k++) settle(s, k);
}
