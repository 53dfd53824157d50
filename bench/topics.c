/* Plain C for Gibbs sweeps over the tokens of documents with a fixed number of topics and fixed weights: dense counts of
   words, topics contiguous, the weights of all topics for every token.

   w_k = (prior_k + n_jk) (eta + n_kw) / (V eta + n_k), with share_k = (prior_k + n_jk) / (V eta + n_k) kept. The token's
   own topic is corrected for, not changed, until it is known that the token leaves.

   gibbs        one topic after the other
   gibbs_lanes  eight topics at a time */
#include <stdlib.h>
#include <string.h>
#include "stream.h"

typedef struct {
    /* given by the caller */
    I N, J, V, K, cap;            /* cap: K rounded up to whole lanes */
    double eta, mass;             /* mass = V eta */
    const int32_t *word;          /* [N] */
    const int64_t *first;         /* [J + 1] tokens of document j begin here */
    const double *prior;          /* [cap] alpha0 beta_k, 0 beyond K */
    int32_t *z;                   /* [N] */
    uint64_t rng[4];
    /* made here */
    stream stream;
    int32_t *count;               /* [V, cap] n_kw */
    int32_t *size;                /* [cap] n_k */
    int32_t *here;                /* [cap] n_jk of the document at hand */
    double *share, *w, *total;    /* [cap] */
} S;

/* of four, not of eight: without AVX-512, compilers take eight apart by way of memory */
typedef double lanes __attribute__((vector_size(32)));
typedef int32_t whole __attribute__((vector_size(16)));
typedef int64_t order __attribute__((vector_size(32)));

static inline double share_of(const S *s, I k, I without)
{
    return (s->prior[k] + (s->here[k] - without)) / (s->mass + (s->size[k] - without));
}

static inline void enter(S *s, I j)
{
    memset(s->here, 0, s->cap * sizeof(int32_t));
    for (I i = s->first[j]; i < s->first[j + 1]; i++) s->here[s->z[i]]++;
    for (I k = 0; k < s->K; k++) s->share[k] = share_of(s, k, 0);
}

static inline I draw_one(S *s, const int32_t *n, I own, double mine)
{
    const double *share = s->share, eta = s->eta;
    double *total = s->total, sum = 0;
    I low = 0, high = s->K - 1;
    for (I k = 0; k < s->K; k++) total[k] = sum += k == own ? mine : share[k] * (eta + n[k]);
    const double u = next(&s->stream) * sum;
    while (low < high) {
        const I middle = (low + high) >> 1;
        if (total[middle] <= u) low = middle + 1; else high = middle;
    }
    return low;
}

static inline double sum_of(lanes x)
{
    x += __builtin_shuffle(x, (order){2, 3, 0, 1});
    return x[0] + x[1];
}

static inline I draw_lanes(S *s, const int32_t *n, I own, double mine)
{
    const I blocks = s->cap / 8;
    const order lane = (order){0, 1, 2, 3} == (own & 3);
    double *w = s->w, *total = s->total, sum = 0;
    for (I b = 0; b < blocks; b++) {
        lanes x = ((const lanes *)s->share)[2 * b]
                  * (s->eta + __builtin_convertvector(((const whole *)n)[2 * b], lanes));
        lanes y = ((const lanes *)s->share)[2 * b + 1]
                  * (s->eta + __builtin_convertvector(((const whole *)n)[2 * b + 1], lanes));
        if (b == own >> 3) {
            lanes *z = own & 4 ? &y : &x;
            *z = (lanes)(((order)*z & ~lane) | ((order)(*z * 0.0 + mine) & lane));
        }
        ((lanes *)w)[2 * b] = x;
        ((lanes *)w)[2 * b + 1] = y;
        total[b] = sum += sum_of(x + y);
    }
    const double u = next(&s->stream) * sum;
    I b = 0, k;
    for (I t = 0; t < blocks - 1; t++) b += total[t] <= u;
    double c = b ? total[b - 1] : 0;
    for (k = 8 * b; k < 8 * b + 7 && k < s->K - 1; k++)
        if (u < (c += w[k])) break;
    return k;
}

#define SWEEPS(name, draw, how) how void name(S *s, I scans) \
{ \
    while (scans-- > 0) \
        for (I j = 0; j < s->J; j++) { \
            if (s->first[j] == s->first[j + 1]) continue; \
            enter(s, j); \
            for (I i = s->first[j]; i < s->first[j + 1]; i++) { \
                const I own = s->z[i]; \
                int32_t *n = s->count + s->word[i] * s->cap; \
                const I k = draw(s, n, own, share_of(s, own, 1) * (s->eta + (n[own] - 1))); \
                if (k == own) continue; \
                n[own]--, s->size[own]--, s->here[own]--; \
                n[k]++, s->size[k]++, s->here[k]++; \
                s->share[own] = share_of(s, own, 0); \
                s->share[k] = share_of(s, k, 0); \
                s->z[i] = (int32_t)k; \
            } \
        } \
}
SWEEPS(gibbs, draw_one, )
SWEEPS(gibbs_lanes, draw_lanes, )

/* ------------------------------------------------------------------------------------------------------ set up */

I state_bytes(void) { return sizeof(S); }

I weights(S *s, I i, double *w)
{
    const I own = s->z[i];
    const int32_t *n = s->count + s->word[i] * s->cap;
    I j = 0;
    while (s->first[j + 1] <= i) j++;
    enter(s, j);
    draw_lanes(s, n, own, share_of(s, own, 1) * (s->eta + (n[own] - 1)));
    memcpy(w, s->w, s->K * sizeof(double));
    return s->K;
}

static void *zeros(I n) { return memset(aligned_alloc(64, (n + 63) / 64 * 64), 0, (n + 63) / 64 * 64); }

/* Count everything afresh from z; called once. */
void prepare(S *s)
{
    s->stream = stream_at(s->rng);
    s->count = zeros(s->V * s->cap * 4);
    s->size = zeros(s->cap * 4);
    s->here = zeros(s->cap * 4);
    s->share = zeros(s->cap * 8);
    s->w = zeros(s->cap * 8);
    s->total = zeros(s->cap * 8);
    for (I i = 0; i < s->N; i++) {
        s->size[s->z[i]]++;
        s->count[s->word[i] * s->cap + s->z[i]]++;
    }
}

void release(S *s)
{
    free(s->count), free(s->size), free(s->here), free(s->share), free(s->w), free(s->total);
}
