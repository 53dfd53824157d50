/* Plain C for Gibbs sweeps of a mixture of tables with binary, categorical, count and real columns and missing cells;
   all rows are contiguous over clusters, so that the compiler vectorises what is no logarithm; sums as doubles.

   Jointly normal columns (full.h) stand beside the others; with missing cells a Gibbs step on these ends a sweep.

   Ordinal columns have a prior on a grid of points: a change of a cluster weighs the points anew, and sums over them give
   the log shares of its levels (splitmerge_cli/kinds/tables/models/ordered_levels.pyx).

   A cluster that has changed is settled anew: log shares of all levels, constants of the counts, mean and gain of the
   reals. Real columns without missing cells come first and share one logarithm; the item's own cluster is scored by a
   closed form in the same statistics (splitmerge_cli/kinds/tables/models/mixed.pyx).

   An outcome may be regressed on effects within clusters, by the factor of the joint normal columns
   (splitmerge_cli/kinds/tables/models/regression.pyx).

   Rows may have weights for their real columns: Student's t given these (splitmerge_cli/kinds/tables/models/gaussian_independent.pyx). */
#include <stdlib.h>
#include <string.h>
#include "full.h"
#include "stream.h"

typedef struct {
    /* given by the caller */
    I N, K, cap, C, P, R, complete, levels, joint; /* joint: jointly normal columns */
    I ordinal, points;            /* ordinal columns, the last of C; points of their grid, a multiple of 8 */
    double concentration, shape, kappa0, a0;
    const int32_t *code;          /* [N, C] row of the level; -1 missing */
    const int32_t *tally;         /* [N, P] -1 missing */
    const double *x;              /* [N, R] NaN missing */
    const int32_t *first;         /* [C + 1] */
    const double *pseudo;         /* [levels] */
    const double *total;          /* [C] sum of a column's pseudo-counts */
    const double *rate;           /* [P] */
    const double *m0, *b0;        /* [R] */
    const double *weight;         /* [N] of rows; NULL: 1; then no column counts as complete */
    const double *log_prior, *log_q, *level_q, *inverse; /* [points], [levels of ordinal columns, points]: log q, q, 1 / q */
    const double *log_gamma;      /* log Gamma(shape + s), s = 0 .. the largest sum */
    const double *log_c;          /* [N + 2] the part of a real cell's predictive that depends on n alone */
    double *joint_x;              /* of the jointly normal columns, as in full.h */
    const double *joint_m0, *joint_b0, *joint_log_c;
    const int64_t *gap;
    const int32_t *column;
    I regressed;                  /* effects and an outcome, none of them missing; 0: no outcome */
    double *design;               /* [N, regressed] */
    const double *design_m0, *design_b0, *outcome_log_c; /* half the weights of the effects, b0 of the outcome */
    int32_t *z;                   /* [N] */
    uint64_t rng[4];
    /* made here, all [rows, cap] */
    stream stream;
    normals normals, outcomes;
    int32_t *size, *count, *seen; /* seen: C + P + R rows */
    int64_t *sum;                 /* P rows */
    double *sx, *sxx, *mass;      /* R rows, about m0; sums of the weights of cells */
    double *share, *base, *slope, *mean, *gain, *level, *degree;
    double *own;                  /* log share of an item that the cluster counts, of ordinal columns */
    int8_t *own_is_stale;         /* [cap] */
    double *point;                /* weights of the points */
    double *w, *e, *q;
} S;

/* log b of a real column with n cells of sums sx, sxx about m0; b itself in *b */
static inline double scale(const S *s, I d, double n, double sx, double sxx)
{
    return s->b0[d] + .5 * (sxx - sx * sx / (s->kappa0 + n));
}

/* Sum of products over the points, in eight lanes. */
static inline double over_points(const S *s, const double *restrict w, const double *restrict q)
{
    double p[8] = {0};
    for (I g = 0; g < s->points; g += 8)
        for (I l = 0; l < 8; l++) p[l] += w[g + l] * q[g + l];
    return ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
}

/* Log shares of the levels of ordinal columns: means of q over the points, or of an item that the cluster counts, the
   inverse of the mean of 1 / q. */
static inline void settle_ordinal(S *s, I k, double *to, int own)
{
    const I G = s->points, before = s->first[s->C - s->ordinal];
    double *restrict w = s->point;
    for (I c = s->C - s->ordinal; c < s->C; c++) {
        double top = -INFINITY, total = 0;
        memcpy(w, s->log_prior, G * sizeof(double));
        for (I r = s->first[c]; r < s->first[c + 1]; r++) {
            const double n = s->count[r * s->cap + k], *restrict log_q = s->log_q + (r - before) * G;
            if (n > 0)
                for (I g = 0; g < G; g++) w[g] += n * log_q[g];
        }
        for (I g = 0; g < G; g++) top = w[g] > top ? w[g] : top;
        for (I g = 0; g < G; g++) total += w[g] = exp(w[g] - top);
        for (I r = s->first[c]; r < s->first[c + 1]; r++) {
            const double *q = (own ? s->inverse : s->level_q) + (r - before) * G, sum = over_points(s, w, q);
            to[r * s->cap + k] = own ? log(total / sum) : log(sum / total);
        }
    }
}

static inline void settle(S *s, I k)
{
    const I cap = s->cap;
    double product = 1, all = 0;
    if (s->ordinal) {
        settle_ordinal(s, k, s->share, 0);
        s->own_is_stale[k] = 1;
    }
    for (I c = 0; c < s->C - s->ordinal; c++) {
        const double inv = 1 / (s->seen[c * cap + k] + s->total[c]);
        for (I r = s->first[c]; r < s->first[c + 1]; r++)
            s->share[r * cap + k] = log((s->count[r * cap + k] + s->pseudo[r]) * inv);
    }
    for (I p = 0; p < s->P; p++) {
        const double rate = s->rate[p] + s->seen[(s->C + p) * cap + k];
        const I sum = s->sum[p * cap + k];
        s->base[p * cap + k] = -(s->shape + sum) * log1p(1 / rate) - s->log_gamma[sum];
        s->slope[p * cap + k] = -log(rate + 1);
    }
    for (I d = 0; d < s->R; d++) {
        const I at = d * cap + k;
        const double n = s->seen[(s->C + s->P + d) * cap + k], mass = s->weight ? s->mass[at] : n;
        const double kappa = s->kappa0 + mass, b = scale(s, d, mass, s->sx[at], s->sxx[at]);
        s->mean[at] = s->m0[d] + s->sx[at] / kappa;
        s->gain[at] = .5 * (s->weight ? 1 : kappa / (kappa + 1)) / b;
        s->degree[at] = -(s->a0 + .5 * n + .5);
        if (d >= s->complete) {
            s->level[at] = s->log_c[(I)n] - .5 * log(b);
            continue;
        }
        product *= b;
        if (product < 1e-200 || product > 1e200) all += log(product), product = 1;
        s->level[k] = s->complete * s->log_c[(I)n] - .5 * (all + log(product));
    }
}

/* log predictive of an outcome: L^-1 (effects, outcome) but for the last division, whose divisor squared is 2 b. */
static inline double log_outcome(S *s, I k, I i, int own)
{
    const I D = s->regressed;
    const double *x = s->design + i * D, *mean = s->outcomes.c + k * s->outcomes.stride, *inv = mean + D, *L = inv + D;
    const double n = s->size[k], a = s->a0 + .5 * n, b = .5 * L[D * D - 1] * L[D * D - 1];
    double h = 1 / (s->kappa0 + n), *restrict v = s->outcomes.work;
    for (I d = 0; d < D; d++) v[d] = x[d] - mean[d];
    for (I r = 0; r < D - 1; r++) {
        const double *restrict col = L + r * D;
        const double u = v[r] * inv[r];
        h += u * u;
        for (I d = r + 1; d < D; d++) v[d] -= col[d] * u;
    }
    const double off = v[D - 1] * v[D - 1];
    if (!own)
        return s->outcome_log_c[(I)n] - .5 * log(b * (1 + h)) - (a + .5) * log(1 + .5 * off / (b * (1 + h)));
    const double left = 1 - h, rest = b - .5 * off / left;
    if (!(left > 1e-4 && rest > 1e-4 * b)) return NAN;
    return s->outcome_log_c[(I)n - 1] + .5 * log(left) + (a - .5) * log(rest) - a * log(b);
}

static inline void tell(S *s, I k, I i, int one)
{
    const I cap = s->cap;
    if (s->regressed) add_full(&s->outcomes, k, s->size[k], i, one);
    if (s->joint) add_full(&s->normals, k, s->size[k], i, one);
    s->size[k] += one;
    for (I c = 0; c < s->C; c++) {
        const I r = s->code[i * s->C + c];
        if (r < 0) continue;
        s->count[r * cap + k] += one;
        s->seen[c * cap + k] += one;
    }
    for (I p = 0; p < s->P; p++) {
        const I n = s->tally[i * s->P + p];
        if (n < 0) continue;
        s->sum[p * cap + k] += one * n;
        s->seen[(s->C + p) * cap + k] += one;
    }
    for (I d = 0; d < s->R; d++) {
        const double v = s->x[i * s->R + d] - s->m0[d], w = one * (s->weight ? s->weight[i] : 1);
        if (v != v) continue;
        s->sx[d * cap + k] += w * v;
        s->sxx[d * cap + k] += w * v * v;
        s->mass[d * cap + k] += w;
        s->seen[(s->C + s->P + d) * cap + k] += one;
    }
    settle(s, k);
}

/* log predictive of item i in cluster k, which counts it; NaN where the closed form has no digits left */
static inline double log_own(S *s, I k, I i)
{
    const I cap = s->cap;
    double product = 1, total = 0, q = 1, degree = 0, s_all = 1, joint_left;
    if (s->joint) {
        total = log_full(&s->normals, k, s->size[k], s->size[k], s->joint_x + i * s->joint, 1, 1, &joint_left);
        if (!(joint_left > 1e-4)) return NAN;
    }
    if (s->regressed) {
        total += log_outcome(s, k, i, 1);
        if (total != total) return NAN;
    }
    if (s->ordinal && s->own_is_stale[k]) {
        settle_ordinal(s, k, s->own, 1);
        s->own_is_stale[k] = 0;
    }
    for (I c = 0; c < s->C; c++) {
        const I r = s->code[i * s->C + c];
        if (r < 0) continue;
        if (c >= s->C - s->ordinal) {
            total += s->own[r * cap + k];
            continue;
        }
        product *= (s->count[r * cap + k] - 1 + s->pseudo[r]) / (s->seen[c * cap + k] - 1 + s->total[c]);
        if (product < 1e-200) total += log(product), product = 1;
    }
    for (I p = 0; p < s->P; p++) {
        const I n = s->tally[i * s->P + p], sum = s->sum[p * cap + k];
        const double rate = s->rate[p] + s->seen[(s->C + p) * cap + k] - 1;
        if (n < 0) continue;
        total += s->log_gamma[sum] - s->log_gamma[sum - n] - (s->shape + sum - n) * log1p(1 / rate) - n * log(rate + 1);
    }
    for (I d = 0; d < s->R; d++) {
        const I at = d * cap + k;
        const double v = s->x[i * s->R + d] - s->mean[at], n = s->seen[(s->C + s->P + d) * cap + k];
        const double w = s->weight ? s->weight[i] : 1, rest = s->kappa0 + s->mass[at] - w, kappa = s->kappa0 + n;
        const double turn = s->weight ? w * (rest + w) / rest : (kappa + 1) / (kappa - 1);
        const double left = 1 - turn * s->gain[at] * v * v;
        if (v != v) continue;
        if (s->weight) s_all *= w * rest / (rest + w);
        if (!(left > 1e-4)) return NAN;
        if (d >= s->complete) {
            /* level counts the item's cell: of its own constants only the determinant stays */
            total += s->level[at] - s->log_c[(I)n] + s->log_c[(I)n - 1] + (s->a0 + .5 * n - .5) * log(left);
            continue;
        }
        q *= left;
        degree = s->a0 + .5 * n - .5;
        if (d == 0) total += s->level[k] - s->complete * (s->log_c[(I)n] - s->log_c[(I)n - 1]);
    }
    return total + log(product) + degree * log(q) + .5 * log(s_all);
}

static inline void scores(S *s, I i)
{
    const I m = s->K + 1, cap = s->cap;
    double *restrict e = s->e, *restrict q = s->q, left;
    for (I k = 0; k < m; k++)
        e[k] = s->joint ? log_full(&s->normals, k, s->size[k], s->size[k], s->joint_x + i * s->joint, 1, 0, &left) : 0;
    if (s->regressed)
        for (I k = 0; k < m; k++) e[k] += log_outcome(s, k, i, 0);
    for (I c = 0; c < s->C; c++) {
        const I r = s->code[i * s->C + c];
        const double *restrict share = s->share + r * cap;
        if (r < 0) continue;
        for (I k = 0; k < m; k++) e[k] += share[k];
    }
    for (I p = 0; p < s->P; p++) {
        const I n = s->tally[i * s->P + p];
        const double *restrict base = s->base + p * cap, *restrict slope = s->slope + p * cap;
        const int64_t *restrict sum = s->sum + p * cap;
        if (n < 0) continue;
        for (I k = 0; k < m; k++) e[k] += base[k] + n * slope[k] + s->log_gamma[sum[k] + n];
    }
    for (I k = 0; k < m; k++) q[k] = 1;
    for (I d = 0; d < s->R; d++) {
        const double v = s->x[i * s->R + d];
        const double *restrict mean = s->mean + d * cap, *restrict gain = s->gain + d * cap;
        const double *restrict level = s->level + d * cap, *restrict degree = s->degree + d * cap;
        if (v != v) continue;
        if (s->weight) {
            const double w = s->weight[i], *restrict mass = s->mass + d * cap;
            for (I k = 0; k < m; k++) {
                const double kappa = s->kappa0 + mass[k], turn = w * kappa / (kappa + w);
                q[k] *= turn;
                e[k] += level[k] + degree[k] * log(1 + turn * gain[k] * (v - mean[k]) * (v - mean[k]));
            }
        } else if (d >= s->complete)
            for (I k = 0; k < m; k++) e[k] += level[k] + degree[k] * log(1 + gain[k] * (v - mean[k]) * (v - mean[k]));
        else
            for (I k = 0; k < m; k++) q[k] *= 1 + gain[k] * (v - mean[k]) * (v - mean[k]);
    }
    if (s->weight)
        for (I k = 0; k < m; k++) e[k] += .5 * log(q[k]);
    if (s->complete)
        for (I k = 0; k < m; k++) e[k] += s->level[k] + s->degree[k] * log(q[k]);
}

static inline I weights_of(S *s, I i)
{
    const I K = s->K, own = s->z[i], alone = s->size[own] == 1;
    double top = -INFINITY;
    scores(s, i);
    if (alone)
        s->e[own] = s->e[K];
    else {
        const double mine = log_own(s, own, i);
        s->e[own] = mine;
        if (mine != mine) {
            tell(s, own, i, -1);
            scores(s, i);
            tell(s, own, i, 1);
        }
    }
    for (I k = 0; k <= K; k++) top = s->e[k] > top ? s->e[k] : top;
    for (I k = 0; k <= K; k++) {
        const double n = s->size[k] - (k == own);
        s->w[k] = (n > 0 ? n : s->concentration) * exp(s->e[k] - top);
    }
    if (alone) s->w[K] = 0;
    return K + 1;
}

#define COLUMN(rows, array, from, to) \
    for (I r = 0; r < (rows); r++) s->array[r * s->cap + (to)] = (from) < 0 ? 0 : s->array[r * s->cap + (from)];

/* Cluster `to` becomes what cluster `from` is, or empty (-1). */
static inline void copy(S *s, I from, I to)
{
    s->size[to] = from < 0 ? 0 : s->size[from];
    COLUMN(s->levels, count, from, to)
    COLUMN(s->C + s->P + s->R, seen, from, to)
    COLUMN(s->P, sum, from, to)
    COLUMN(s->R, sx, from, to)
    COLUMN(s->R, sxx, from, to)
    COLUMN(s->R, mass, from, to)
    if (s->joint && from < 0) clear_full(&s->normals, to);
    else if (s->joint) copy_full(&s->normals, from, to);
    if (s->regressed && from < 0) clear_full(&s->outcomes, to);
    else if (s->regressed) copy_full(&s->outcomes, from, to);
    settle(s, to);
}

#include "sweep.h"

/* Each sweep with a Gibbs step on the missing cells of jointly normal columns behind it. */
void gibbs_gaps(S *s, I scans)
{
    for (I t = 0; t < scans; t++) {
        gibbs(s, 1);
        impute(&s->normals, s->z, s->size, s->N, s->K);
    }
}

/* ------------------------------------------------------------------------------------------------------ set up */

/* Count everything afresh from z; called once. */
void prepare(S *s)
{
    double **rows[] = {&s->sx, &s->sxx, &s->mass, &s->mean, &s->gain, &s->level, &s->degree};
    s->stream = stream_at(s->rng);
    s->size = calloc(s->cap, 4);
    s->count = calloc(s->cap * s->levels + 1, 4);
    s->seen = calloc(s->cap * (s->C + s->P + s->R), 4);
    s->sum = calloc(s->cap * s->P + 1, 8);
    s->share = calloc(s->cap * s->levels + 1, 8);
    s->base = calloc(s->cap * s->P + 1, 8);
    s->slope = calloc(s->cap * s->P + 1, 8);
    for (int t = 0; t < 7; t++) *rows[t] = calloc(s->cap * s->R + 1, 8);
    s->own = calloc(s->cap * s->levels + 1, 8);
    s->own_is_stale = calloc(s->cap, 1);
    s->point = aligned_alloc(64, (s->points + 8) * 8);
    s->w = calloc(s->cap, 8);
    s->e = calloc(s->cap, 8);
    s->q = calloc(s->cap, 8);
    s->normals = (normals){.D = s->joint, .kappa0 = s->kappa0, .a0 = s->a0, .m0 = s->joint_m0, .b0 = s->joint_b0,
                           .log_c = s->joint_log_c, .x = s->joint_x, .gap = s->gap, .column = s->column};
    prepare_full(&s->normals, &s->stream, s->N, s->cap);
    s->outcomes = (normals){.D = s->regressed, .kappa0 = s->kappa0, .a0 = s->a0, .m0 = s->design_m0,
                            .b0 = s->design_b0, .x = s->design};
    prepare_full(&s->outcomes, &s->stream, s->N, s->cap);
    for (I k = 0; k <= s->K; k++) copy(s, -1, k);
    for (I i = 0; i < s->N; i++) tell(s, s->z[i], i, 1);
}
