/* Jointly normal columns of clusters in plain C: the Cholesky factor of Psi_n by rank-one updates and downdates,
   q = 1 + g |L^-1 (x - m)|^2, and a Gibbs step on missing cells (splitmerge_cli/kinds/tables/models/gaussian_full.pyx).

   The step draws mean and precision matrix P of a cluster (Bartlett), then each row's missing cells given the others.
   What the drawn cells add to the products of all columns, (d s' + s d') / 2 with d the change and s the sum of both
   rows, is gathered over the rows of a cluster, and its factor made anew once. */
#ifndef SMCMC_BENCH_FULL_H
#define SMCMC_BENCH_FULL_H
#include <stdlib.h>
#include <string.h>
#include "numpy/random/bitgen.h"
#include "stream.h"

double random_standard_normal(bitgen_t *);
double random_standard_gamma(bitgen_t *, double);

typedef struct {
    I D, stride;                  /* numbers of a cluster: 2 D + D D */
    double kappa0, a0;
    const double *m0, *b0;        /* [D] */
    const double *log_c;          /* [N + 2] the part of a predictive that depends on n alone */
    double *x;                    /* [N, D] missing cells as they are at present */
    const double *weight;         /* [N] of rows, with normal distributions of their own variance over it; NULL: 1 */
    const int64_t *gap;           /* [N + 1] where a row's missing cells begin in `column`; NULL: none */
    const int32_t *column;
    double *c;                    /* [cap, stride] mean, 1 / diagonal, columns of L */
    double *log_det;              /* [cap] log |Psi_n| */
    double *work;
    bitgen_t bits;
    int32_t *row, *first;         /* [N], [cap + 1] rows with missing cells, by cluster */
} normals;

static inline void settle_full(normals *s, I k)
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

/* Psi += one * f v v', v = x - mean; columns of L are stored as rows so that the update runs along memory. `n`: weight
   of the cluster before; `part`: that of the point, negative where it leaves. */
static inline void add_full(normals *s, I k, double n, I i, double part)
{
    const I D = s->D;
    double *restrict mean = s->c + k * s->stride, *L = mean + 2 * D, *restrict v = s->work;
    const double *x = s->x + i * D;
    const double kappa = s->kappa0 + n, after = kappa + part, one = part < 0 ? -1 : 1;
    const double root = sqrt(one * part * kappa / after);
    for (I d = 0; d < D; d++) {
        v[d] = x[d] - mean[d];
        mean[d] += part * v[d] / after;
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
    settle_full(s, k);
}

/* |L^-1 (x - m)|^2, column by column */
static inline double distance(const normals *s, I k, const double *x, double *restrict v)
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

static inline void clear_full(normals *s, I k)
{
    double *c = s->c + k * s->stride;
    memset(c, 0, s->stride * sizeof(double));
    memcpy(c, s->m0, s->D * sizeof(double));
    for (I r = 0; r < s->D; r++) c[2 * s->D + r * s->D + r] = sqrt(2 * s->b0[r]);
    settle_full(s, k);
}

static inline void copy_full(normals *s, I from, I to)
{
    memcpy(s->c + to * s->stride, s->c + from * s->stride, s->stride * sizeof(double));
    s->log_det[to] = s->log_det[from];
}

/* log predictive of a point in cluster k of n points, whose weights add to `mass`; `own`: the cluster counts it, and the
   others are given. `left`: q. `w`: its weight; where all are 1, `log_c` has the factor of that. */
static inline double log_full(const normals *s, I k, I n, double mass, const double *x, double w, int own, double *left)
{
    const double kappa = s->kappa0 + mass, rest = own ? kappa - w : kappa;
    const double a = s->a0 + 0.5 * n + 0.5 * (s->D - 1), degree = own ? a - 0.5 : -(a + 0.5);
    const double level = s->log_c[n - own] - 0.5 * s->log_det[k];
    *left = 1 + (own ? -w * kappa / rest : w * kappa / (kappa + w)) * distance(s, k, x, s->work);
    return level + degree * log(*left) + (s->weight ? 0.5 * s->D * log(w * rest / (rest + w)) : 0);
}

/* Sum of products, in eight lanes. */
static inline double dot(const double *restrict a, const double *restrict b, I n)
{
    double p[8] = {0}, total = 0;
    I d = 0;
    for (; d + 8 <= n; d += 8)
        for (I l = 0; l < 8; l++) p[l] += a[d + l] * b[d + l];
    for (; d < n; d++) total += a[d] * b[d];
    return total + ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
}

/* Draw the missing cells of row i given the others; `e`, `block`, `u`: scratch. */
static inline void impute_row(normals *s, I i, const double *mean, const double *P, double *restrict G, double *e,
                              double *block, double *u)
{
    const I D = s->D, m = s->gap[i + 1] - s->gap[i];
    const int32_t *at = s->column + s->gap[i];
    double *x = s->x + i * D;
    for (I d = 0; d < D; d++) e[d] = x[d] - mean[d];
    for (I r = 0; r < m; r++) e[at[r]] = 0;
    for (I r = 0; r < m; r++) {
        const double *p = P + at[r] * D;
        double v = -dot(p, e, D);
        for (I c = 0; c <= r; c++) {
            double sum = p[at[c]];
            for (I t = 0; t < c; t++) sum -= block[r * D + t] * block[c * D + t];
            if (c < r)
                v -= (block[r * D + c] = sum * block[c * D + c]) * u[c];
            else
                block[r * D + r] = 1 / sqrt(sum);
        }
        u[r] = v * block[r * D + r];
    }
    for (I r = 0; r < m; r++) u[r] += random_standard_normal(&s->bits);
    for (I r = m; r-- > 0;) {
        for (I t = r + 1; t < m; t++) u[r] -= block[t * D + r] * u[t];
        u[r] *= block[r * D + r];
    }
    /* the sum of both rows, from m0 */
    for (I d = 0; d < D; d++) e[d] = 2 * (x[d] - s->m0[d]);
    for (I r = 0; r < m; r++) {
        const double now = mean[at[r]] + u[r], change = now - x[at[r]];
        e[at[r]] += change;
        u[r] = change;
        x[at[r]] = now;
    }
    for (I r = 0; r < m; r++) {
        double *restrict g = G + at[r] * D;
        for (I d = 0; d < D; d++) g[d] += u[r] * e[d];
    }
}

/* Draw the missing cells of all rows. */
static void impute(normals *s, const int32_t *z, const int32_t *size, I N, I K)
{
    const I D = s->D;
    double *mean = s->work, *e = mean + D, *u = e + D, *v = u + D, *inverse = v + D, *F = inverse + D * D;
    double *P = F + D * D, *G = P + D * D, *block = G + D * D;
    memset(s->first, 0, (K + 1) * sizeof(int32_t));
    for (I i = 0; i < N; i++) s->first[z[i] + 1] += s->gap[i + 1] > s->gap[i];
    for (I k = 0; k < K; k++) s->first[k + 1] += s->first[k];
    for (I i = 0; i < N; i++)
        if (s->gap[i + 1] > s->gap[i]) s->row[s->first[z[i]]++] = (int32_t)i;
    for (I k = 0; k < K; k++) {
        /* each has moved on to where the next begins */
        const I begin = k ? s->first[k - 1] : 0, end = s->first[k];
        const double kappa = s->kappa0 + size[k], a = s->a0 + 0.5 * size[k] + 0.5 * (D - 1);
        double *c = s->c + k * s->stride, *inv = c + D, *L = inv + D;
        if (begin == end) continue;
        memset(inverse, 0, D * D * sizeof(double));
        for (I r = 0; r < D; r++) {
            double *restrict to = inverse + r * D;
            for (I t = 0; t < r; t++) {
                const double l = L[t * D + r], *restrict from = inverse + t * D;
                for (I d = 0; d <= t; d++) to[d] -= l * from[d];
            }
            for (I d = 0; d < r; d++) to[d] *= inv[r];
            to[r] = inv[r];
        }
        memset(P, 0, D * D * sizeof(double));
        for (I r = 0; r < D; r++) {
            double *restrict f = F + r * D, w = sqrt(2 * random_standard_gamma(&s->bits, a - 0.5 * (D - 1 - r)));
            for (I d = 0; d < D; d++) f[d] = w * inverse[r * D + d];
            for (I t = 0; t < r; t++) {
                const double *restrict from = inverse + t * D;
                w = random_standard_normal(&s->bits);
                for (I d = 0; d <= t; d++) f[d] += w * from[d];
            }
            for (I t = 0; t <= r; t++) {
                double *restrict p = P + t * D;
                for (I d = 0; d <= r; d++) p[d] += f[t] * f[d];
            }
        }
        for (I r = 0; r < D; r++) v[r] = (random_standard_normal(&s->bits) - dot(F + r * D, v, r)) / F[r * D + r];
        for (I d = 0; d < D; d++) mean[d] = c[d] + v[d] / sqrt(kappa);
        memset(G, 0, D * D * sizeof(double));
        memset(v, 0, D * sizeof(double));
        for (I t = begin; t < end; t++) {
            const I i = s->row[t];
            impute_row(s, i, mean, P, G, e, block, u);
            for (I r = 0; r < s->gap[i + 1] - s->gap[i]; r++) v[s->column[s->gap[i] + r]] += u[r];
        }
        /* Psi_n = L L' + kappa_n (m m' - m* m*') + (G + G') / 2, m and m* before and after, from m0 */
        for (I d = 0; d < D; d++) e[d] = c[d] - s->m0[d], v[d] = e[d] + v[d] / kappa, c[d] = s->m0[d] + v[d];
        for (I r = 0; r < D; r++)
            for (I d = 0; d < D; d++) {
                double sum = 0.5 * (G[r * D + d] + G[d * D + r]) + kappa * (e[r] * e[d] - v[r] * v[d]);
                P[r * D + d] = sum;
            }
        for (I t = 0; t < D; t++)
            for (I r = t; r < D; r++)
                for (I d = t; d < D; d++) P[r * D + d] += L[t * D + r] * L[t * D + d];
        for (I r = 0; r < D; r++) {
            const double root = sqrt(P[r * D + r]);
            L[r * D + r] = root;
            for (I d = r + 1; d < D; d++) L[r * D + d] = P[r * D + d] / root;
            for (I t = r + 1; t < D; t++)
                for (I d = t; d < D; d++) P[t * D + d] -= L[r * D + t] * L[r * D + d];
        }
        settle_full(s, k);
    }
}

static uint64_t bits64(void *s) { return next_bits(s); }
static uint32_t bits32(void *s) { return (uint32_t)next_bits(s); }
static double bits_double(void *s) { return next(s); }

/* What the caller has not given; `cap`: clusters. */
static void prepare_full(normals *s, stream *bits, I N, I cap)
{
    const I D = s->D;
    s->bits = (bitgen_t){bits, bits64, bits32, bits_double, bits64};
    s->stride = D * (D + 2);
    s->c = calloc(cap * s->stride + 1, 8);
    s->log_det = calloc(cap, 8);
    s->work = calloc(5 * D * D + 4 * D + 1, 8);
    s->row = calloc(N, 4);
    s->first = calloc(cap + 1, 4);
}
#endif
