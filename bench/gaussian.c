/* Plain C for Gibbs sweeps of a mixture of normal distributions, statistics as doubles.

   diag  per dimension sums of x and x^2; log q = log prod_d (1 + g_d (x_d - m_d)^2), one log and one exp a cluster
   full  the Cholesky factor of Psi_n, by rank-one updates and downdates; q = 1 + g |L^-1 (x - m)|^2

   The predictive is c_n |b_n|^(-1/2) q^(-a), and that of a cluster's own point a closed form in the same statistics
   (splitmerge_cli/models/gaussian.pyx). */
#include <stdlib.h>
#include <string.h>
#include "stream.h"

typedef struct {
    /* given by the caller */
    I N, D, K, cap, full;
    double concentration, kappa0, a0;
    const double *x;              /* [N, D] */
    const double *m0, *b0;        /* [D] */
    const double *log_c;          /* [N + 2] the part of a predictive that depends on n alone */
    int32_t *z;                   /* [N] */
    uint64_t rng[4];
    /* made here */
    stream stream;
    I stride;                     /* numbers of a cluster: 4 D; full: 2 D + D D */
    int32_t *size;
    double *c;                    /* [cap, stride] diag: sums, squares, mean, gain; full: mean,
                                     1 / diagonal, columns of L */
    double *log_det;              /* [cap] sum of log b_n; log |Psi_n| */
    double *w, *e, *work;
} S;

/* ------------------------------------------------------------------------------------------------------- diag */

static inline void settle_diag(S *s, I k)
{
    const I D = s->D;
    double *c = s->c + k * s->stride, product = 1, total = 0;
    const double n = s->size[k], kappa = s->kappa0 + n, shrink = .5 * kappa / (kappa + 1), inv = 1 / kappa;
    for (I d = 0; d < D; d++) {
        /* sums about m0 */
        const double b = s->b0[d] + .5 * (c[D + d] - c[d] * c[d] * inv);
        c[2 * D + d] = s->m0[d] + c[d] * inv;
        c[3 * D + d] = shrink / b;
        s->work[d] = b;
    }
    for (I d = 0; d < D; d++) {
        product *= s->work[d];
        if (product < 1e-200 || product > 1e200) total += log(product), product = 1;
    }
    s->log_det[k] = total + log(product);
}

static inline void add_diag(S *s, I k, I i, double one)
{
    double *c = s->c + k * s->stride;
    const double *x = s->x + i * s->D;
    for (I d = 0; d < s->D; d++) {
        const double v = x[d] - s->m0[d];
        c[d] += one * v;
        c[s->D + d] += one * v * v;
    }
    s->size[k] += (int32_t)one;
    settle_diag(s, k);
}

/* log q, and q; turn: 1, or -(kappa + 1) / (kappa - 1) for the point's own cluster */
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

/* ------------------------------------------------------------------------------------------------------- full */

static inline void settle_full(S *s, I k)
{
    double product = 1, total = 0, *inv = s->c + k * s->stride + s->D;
    const double *L = inv + s->D;
    for (I r = 0; r < s->D; r++) {
        product *= L[r * s->D + r];
        inv[r] = 1 / L[r * s->D + r];
        if (product < 1e-200 || product > 1e200) total += log(product), product = 1;
    }
    s->log_det[k] = 2 * (total + log(product));
}

/* Psi += one * f v v', v = x - mean; columns of L are stored as rows so that the update runs along memory. */
static inline void add_full(S *s, I k, I i, double one)
{
    const I D = s->D;
    double *restrict mean = s->c + k * s->stride, *L = mean + 2 * D, *restrict v = s->work;
    const double *x = s->x + i * D;
    const double kappa = s->kappa0 + s->size[k], after = kappa + one, root = sqrt(kappa / after);
    for (I d = 0; d < D; d++) {
        v[d] = x[d] - mean[d];
        mean[d] += one * v[d] / after;
        v[d] *= root;
    }
    for (I r = 0; r < D; r++) {
        double *restrict col = L + r * D;
        const double l = col[r], rho = sqrt(l * l + one * v[r] * v[r]), cos = rho / l, sin = v[r] / l, inv = l / rho;
        col[r] = rho;
        for (I d = r + 1; d < D; d++) {
            col[d] = (col[d] + one * sin * v[d]) * inv;
            v[d] = cos * v[d] - sin * col[d];
        }
    }
    s->size[k] += (int32_t)one;
    settle_full(s, k);
}

/* |L^-1 (x - m)|^2, column by column */
static inline double distance(const S *s, I k, const double *x, double *restrict v)
{
    const I D = s->D;
    const double *mean = s->c + k * s->stride, *inv = mean + D, *L = inv + D;
    double total = 0;
    for (I d = 0; d < D; d++) v[d] = x[d] - mean[d];
    for (I r = 0; r < D; r++) {
        const double *restrict col = L + r * D;
        const double u = v[r] * inv[r];
        total += u * u;
        for (I d = r + 1; d < D; d++) v[d] -= col[d] * u;
    }
    return total;
}

/* ------------------------------------------------------------------------------------------------------ sweep */

static inline void clear(S *s, I k, const int full)
{
    double *c = s->c + k * s->stride;
    memset(c, 0, s->stride * sizeof(double));
    s->size[k] = 0;
    if (full) {
        memcpy(c, s->m0, s->D * sizeof(double));
        for (I r = 0; r < s->D; r++) c[2 * s->D + r * s->D + r] = sqrt(2 * s->b0[r]);
        settle_full(s, k);
    } else
        settle_diag(s, k);
}

static inline void add(S *s, I k, I i, double one, const int full)
{
    if (full)
        add_full(s, k, i, one);
    else
        add_diag(s, k, i, one);
}

/* log predictive of a point; `own`: of the point that cluster k counts, given the others. `left`: q, for `own`. */
static inline double log_pred(const S *s, I k, const double *x, int own, double *left, const int full)
{
    const double n = s->size[k], kappa = s->kappa0 + n, turn = own ? -(kappa + 1) / (kappa - 1) : 1;
    const double a = s->a0 + .5 * n + (full ? .5 * (s->D - 1) : 0), degree = own ? a - .5 : -(a + .5);
    double log_q;
    if (full) {
        *left = 1 + turn * kappa / (kappa + 1) * distance(s, k, x, s->work);
        log_q = log(*left);
    } else {
        log_q = log_q_diag(s, k, x, turn, left);
    }
    return s->log_c[(I)n - own] - .5 * s->log_det[k] + degree * log_q;
}

static inline I weights_of(S *s, I i, const int full)
{
    const I K = s->K, own = s->z[i], alone = s->size[own] == 1;
    const double *x = s->x + i * s->D;
    double top = -INFINITY, left;
    for (I k = 0; k <= K; k++) {
        s->e[k] = alone && k == own ? 0 : log_pred(s, k, x, k == own, &left, full);
        if (k == own && !alone && !(left > 1e-4)) {
            add(s, own, i, -1, full);
            s->e[k] = log_pred(s, k, x, 0, &left, full);
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
            memcpy(s->c + own * s->stride, s->c + last * s->stride, s->stride * sizeof(double));
            s->size[own] = s->size[last];
            s->log_det[own] = s->log_det[last];
            for (I j = 0; j < s->N; j++) s->z[j] = s->z[j] == last ? (int32_t)own : s->z[j];
        }
        clear(s, last, full);
    }
}

void gibbs_diag(S *s, I scans) { sweep(s, scans, 0); }
void gibbs_full(S *s, I scans) { sweep(s, scans, 1); }

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
    s->stride = s->full ? s->D * (s->D + 2) : 4 * s->D;
    s->size = calloc(s->cap, 4);
    s->c = calloc(s->cap * s->stride, 8);
    s->log_det = calloc(s->cap, 8);
    s->w = calloc(s->cap, 8);
    s->e = calloc(s->cap, 8);
    s->work = calloc(s->D, 8);
    for (I k = 0; k <= s->K; k++) clear(s, k, s->full != 0);
    for (I i = 0; i < s->N; i++) add(s, s->z[i], i, 1, s->full != 0);
}
