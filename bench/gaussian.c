/* Plain C for Gibbs sweeps of a mixture of normal distributions, statistics as doubles.

   diag  per dimension sums of x and x^2; log q = log prod_d (1 + g_d (x_d - m_d)^2), one log and one exp a cluster
   full  full.h; with missing cells a Gibbs step on these after each sweep

   Rows may have weights: Student's t given these.

   The predictive is c_n |b_n|^(-1/2) q^(-a), and that of a cluster's own point a closed form in the same statistics
   (splitmerge_cli/kinds/tables/models/gaussian.pyx). */
#include <stdlib.h>
#include <string.h>
#include "full.h"
#include "stream.h"

typedef struct {
    /* given by the caller */
    I N, D, K, cap, full;
    double concentration, kappa0, a0;
    double *x;                    /* [N, D] full: missing cells as they are at present */
    const double *m0, *b0;        /* [D] */
    const double *log_c;          /* [N + 2] the part of a predictive that depends on n alone */
    const double *weight;         /* as in full.h */
    const int64_t *gap;
    const int32_t *column;
    int32_t *z;                   /* [N] */
    uint64_t rng[4];
    /* made here */
    stream stream;
    normals normals;              /* full */
    I stride;                     /* numbers of a cluster: 4 D */
    int32_t *size;
    double *c;                    /* [cap, stride] diag: sums, squares, mean, gain */
    double *log_det;              /* [cap] diag: sum of log b_n */
    double *mass;                 /* [cap] sum of weights */
    double *w, *e, *work;
} S;

/* ------------------------------------------------------------------------------------------------------- diag */

static inline void settle_diag(S *s, I k)
{
    const I D = s->D;
    double *c = s->c + k * s->stride, product = 1, total = 0;
    const double inv = 1 / (s->kappa0 + s->mass[k]);
    for (I d = 0; d < D; d++) {
        /* sums about m0 */
        const double b = s->b0[d] + .5 * (c[D + d] - c[d] * c[d] * inv);
        c[2 * D + d] = s->m0[d] + c[d] * inv;
        c[3 * D + d] = .5 / b;
        s->work[d] = b;
    }
    for (I d = 0; d < D; d++) {
        product *= s->work[d];
        if (product < 1e-200 || product > 1e200) total += log(product), product = 1;
    }
    s->log_det[k] = total + log(product);
}

/* The weight of a point, 1 where all are. */
static inline double weight_of(const S *s, I i) { return s->weight ? s->weight[i] : 1; }

static inline void add_diag(S *s, I k, I i, double part)
{
    double *c = s->c + k * s->stride;
    const double *x = s->x + i * s->D;
    for (I d = 0; d < s->D; d++) {
        const double v = x[d] - s->m0[d];
        c[d] += part * v;
        c[s->D + d] += part * v * v;
    }
    settle_diag(s, k);
}

/* log q, and q; turn: w kappa / (kappa + w), or -w kappa / (kappa - w) for the point's own cluster */
static inline double log_q_diag(const S *s, I k, const double *x, double turn, double *least)
{
    const double *mean = s->c + k * s->stride + 2 * s->D, *gain = mean + s->D;
    double p[8] = {1, 1, 1, 1, 1, 1, 1, 1}, all;
    I d = 0;
    for (; d + 8 <= s->D; d += 8)
        for (I l = 0; l < 8; l++) {
            const double v = x[d + l] - mean[d + l];
            p[l] *= 1 + turn * gain[d + l] * v * v;
        }
    for (; d < s->D; d++) {
        const double v = x[d] - mean[d];
        p[d & 7] *= 1 + turn * gain[d] * v * v;
    }
    all = ((p[0] * p[1]) * (p[2] * p[3])) * ((p[4] * p[5]) * (p[6] * p[7]));
    *least = all;
    return log(all);
}

/* ------------------------------------------------------------------------------------------------------ sweep */

static inline void clear(S *s, I k, const int full)
{
    s->size[k] = 0;
    s->mass[k] = 0;
    if (full) {
        clear_full(&s->normals, k);
        return;
    }
    memset(s->c + k * s->stride, 0, s->stride * sizeof(double));
    settle_diag(s, k);
}

static inline void add(S *s, I k, I i, double one, const int full)
{
    const double part = one * weight_of(s, i), before = s->mass[k];
    s->size[k] += (int32_t)one;
    s->mass[k] += part;
    if (full) add_full(&s->normals, k, before, i, part);
    else add_diag(s, k, i, part);
}

/* log predictive of point i; `own`: of the point that cluster k counts, given the others. `left`: q, for `own`. */
static inline double log_pred(const S *s, I k, I i, int own, double *left, const int full)
{
    const double n = s->size[k], kappa = s->kappa0 + s->mass[k], w = weight_of(s, i), rest = own ? kappa - w : kappa;
    const double turn = own ? -w * kappa / rest : w * kappa / (kappa + w);
    const double a = s->a0 + .5 * n, degree = own ? a - .5 : -(a + .5), *x = s->x + i * s->D;
    if (full) return log_full(&s->normals, k, s->size[k], s->mass[k], x, w, own, left);
    return s->log_c[(I)n - own] - .5 * s->log_det[k] + degree * log_q_diag(s, k, x, turn, left)
           + (s->weight ? .5 * s->D * log(w * rest / (rest + w)) : 0);
}

static inline I weights_of(S *s, I i, const int full)
{
    const I K = s->K, own = s->z[i], alone = s->size[own] == 1;
    double top = -INFINITY, left;
    for (I k = 0; k <= K; k++) {
        s->e[k] = alone && k == own ? 0 : log_pred(s, k, i, k == own, &left, full);
        if (k == own && !alone && !(left > 1e-4)) {
            add(s, own, i, -1, full);
            s->e[k] = log_pred(s, k, i, 0, &left, full);
            add(s, own, i, 1, full);
        }
    }
    if (alone) s->e[own] = s->e[K];
    for (I k = 0; k <= K; k++) top = s->e[k] > top ? s->e[k] : top;
    for (I k = 0; k <= K; k++) {
        const double n = s->size[k] - (k == own);
        s->w[k] = (n > 0 ? n : s->concentration) * exp(s->e[k] - top);
    }
    if (alone) s->w[K] = 0;
    return K + 1;
}

static inline void sweep(S *s, I scans, const int full)
{
    for (I t = 0; t < scans * s->N; t++) {
        const I i = t % s->N, own = s->z[i], k = categorical(&s->stream, s->w, weights_of(s, i, full));
        if (k == own) continue;
        if (k == s->K) {
            if (++s->K >= s->cap) abort();
            clear(s, s->K, full);
        }
        add(s, own, i, -1, full);
        add(s, k, i, 1, full);
        s->z[i] = (int32_t)k;
        if (s->size[own] > 0) continue;
        const I last = --s->K;
        if (own != last) {
            s->size[own] = s->size[last];
            s->mass[own] = s->mass[last];
            if (full) copy_full(&s->normals, last, own);
            else {
                memcpy(s->c + own * s->stride, s->c + last * s->stride, s->stride * sizeof(double));
                s->log_det[own] = s->log_det[last];
            }
            for (I j = 0; j < s->N; j++) s->z[j] = s->z[j] == last ? (int32_t)own : s->z[j];
        }
        clear(s, last, full);
    }
}

void gibbs_diag(S *s, I scans) { sweep(s, scans, 0); }
void gibbs_full(S *s, I scans) { sweep(s, scans, 1); }

/* Each sweep with a Gibbs step on the missing cells behind it. */
void gibbs_gaps(S *s, I scans)
{
    for (I t = 0; t < scans; t++) {
        sweep(s, 1, 1);
        impute(&s->normals, s->z, s->size, s->N, s->K);
    }
}

/* ------------------------------------------------------------------------------------------------------ set up */

I state_bytes(void) { return sizeof(S); }

I weights(S *s, I i, double *w)
{
    const I m = weights_of(s, i, s->full != 0);
    memcpy(w, s->w, m * sizeof(double));
    return m;
}

/* Count everything afresh from z; called once. */
void prepare(S *s)
{
    s->stream = stream_at(s->rng);
    s->normals = (normals){.D = s->D, .kappa0 = s->kappa0, .a0 = s->a0, .m0 = s->m0, .b0 = s->b0, .log_c = s->log_c,
                           .x = s->x, .weight = s->weight, .gap = s->gap, .column = s->column};
    if (s->full) prepare_full(&s->normals, &s->stream, s->N, s->cap);
    s->stride = 4 * s->D;
    s->size = calloc(s->cap, 4);
    s->c = calloc(s->cap * s->stride, 8);
    s->log_det = calloc(s->cap, 8);
    s->mass = calloc(s->cap, 8);
    s->w = calloc(s->cap, 8);
    s->e = calloc(s->cap, 8);
    s->work = calloc(s->D, 8);
    for (I k = 0; k <= s->K; k++) clear(s, k, s->full != 0);
    for (I i = 0; i < s->N; i++) add(s, s->z[i], i, 1, s->full != 0);
}
