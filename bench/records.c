/* Plain C for Gibbs sweeps of records with distorted cells: the values of each field of a cluster as sorted lists, sums
   over true values near these, log likelihoods of fields kept (splitmerge_cli/kinds/records/model.pyx). */
#include <stdlib.h>
#include <string.h>
#include "stream.h"

#define VALUES 16                 /* values of a field in a cluster, at most */

typedef struct {
    /* given by the caller */
    I N, K, cap, F;
    double concentration;
    const int32_t *value;         /* [N, F] number of a value; -1 missing */
    const double *phi, *norm;     /* [U] how often a value is true; 1 / the weights of slips of it, 0 in a field without */
    const int64_t *near_begin;    /* [U + 1] */
    const int32_t *near;          /* [M] values near each, ascending */
    const double *alike;          /* [M] their weights */
    const double *log_base, *same, *alone; /* [U] log(theta phi); P(x | x)/(theta phi); log likelihood of a lone value */
    const double *far, *lam;      /* [F] factor of far values; slips */
    int32_t *z;                   /* [N] */
    uint64_t rng[4];
    /* made here */
    stream stream;
    int32_t *size, *m;            /* [cap], [cap, F] values of a field */
    int32_t *x, *n;               /* [cap, F, VALUES] values, ascending, and how many records have each */
    double *lik;                  /* [cap, F] */
    double *w;
} S;

static inline double power(double r, I n)
{
    double p = 1;
    for (I t = 0; t < n; t++) p *= r;
    return p;
}

/* Weight of x among the values near y; 0 if it is not near. */
static inline double weight_near(const S *s, int32_t y, int32_t x)
{
    I low = s->near_begin[y], high = s->near_begin[y + 1];
    while (low < high) {
        const I middle = (low + high) >> 1;
        if (s->near[middle] < x) low = middle + 1;
        else high = middle;
    }
    return low < s->near_begin[y + 1] && s->near[low] == x ? s->alike[low] : 0;
}

/* Product over the values of P(x | y), over theta phi(x); -1 if one before the place `before` is y or near it. */
static inline double product(const S *s, I f, int32_t y, const int32_t *x, const int32_t *n, I m, I before)
{
    double total = 1;
    for (I t = 0; t < m; t++) {
        double r;
        if (x[t] == y) r = s->same[y];
        else {
            r = weight_near(s, y, x[t]);
            if (r > 0) r = s->lam[f] * r * s->norm[y] / s->phi[x[t]] + s->far[f];
        }
        if (r == 0) r = s->far[f];
        else if (t < before) return -1;
        total *= power(r, n[t]);
    }
    return total;
}

/* The same for a value near x[own]: places in the lists of the other values only ascend, as those near x[own] do. */
static inline double product_near(const S *s, I f, int32_t y, const int32_t *x, const int32_t *n, I m, I own, double alike,
                                  I *place)
{
    double total = power(s->lam[f] * alike * s->norm[y] / s->phi[x[own]] + s->far[f], n[own]);
    for (I t = 0; t < m; t++) {
        if (t == own) continue;
        const I end = s->near_begin[x[t] + 1];
        double r = s->far[f];
        if (x[t] != y)
            while (place[t] < end && s->near[place[t]] < y) place[t]++;
        if (x[t] == y) r = s->same[y];
        else if (place[t] < end && s->near[place[t]] == y)
            r = s->lam[f] * s->alike[place[t]] * s->norm[y] / s->phi[x[t]] + s->far[f];
        else {
            total *= power(r, n[t]);
            continue;
        }
        if (t < own) return -1;
        total *= power(r, n[t]);
    }
    return total;
}

/* Log likelihood of m values of a field. */
static inline double log_lik(const S *s, I f, const int32_t *x, const int32_t *n, I m)
{
    if (m == 0) return 0;
    if (m == 1 && n[0] == 1) return s->alone[x[0]];
    double left = 1, total = 0, base = 0;
    I records = 0;
    for (I t = 0; t < m; t++) base += n[t] * s->log_base[x[t]], records += n[t];
    for (I t = 0; t < m; t++) {
        I place[VALUES + 1];
        for (I r = 0; r < m; r++) place[r] = s->near_begin[x[r]];
        for (I e = s->near_begin[x[t]] - 1; e < s->near_begin[x[t] + 1]; e++) {
            const int own = e < s->near_begin[x[t]];
            const int32_t y = own ? x[t] : s->near[e];
            const double p = own ? product(s, f, y, x, n, m, t) : product_near(s, f, y, x, n, m, t, s->alike[e], place);
            if (p < 0) continue;
            left -= s->phi[y];
            total += p * s->phi[y];
        }
    }
    if (left > 1e-12) total += left * power(s->far[f], records);
    return base + log(total);
}

/* Count a value `by` times more in a list of m values; returns its new length. */
static inline I changed(int32_t *x, int32_t *n, I m, int32_t value, int by)
{
    I t = 0;
    while (t < m && x[t] < value) t++;
    if (t < m && x[t] == value) {
        if (n[t] += by) return m;
        memmove(x + t, x + t + 1, 4 * (m - t - 1));
        memmove(n + t, n + t + 1, 4 * (m - t - 1));
        return m - 1;
    }
    if (m == VALUES) abort();
    memmove(x + t + 1, x + t, 4 * (m - t));
    memmove(n + t + 1, n + t, 4 * (m - t));
    x[t] = value, n[t] = by;
    return m + 1;
}

/* Log likelihood of a field of cluster k with one value more, or less. */
static inline double with(const S *s, I k, I f, int32_t value, int by)
{
    int32_t x[VALUES + 1], n[VALUES + 1];
    const I at = k * s->F + f, m = s->m[at];
    memcpy(x, s->x + at * VALUES, 4 * m);
    memcpy(n, s->n + at * VALUES, 4 * m);
    return log_lik(s, f, x, n, changed(x, n, m, value, by));
}

static inline void tell(S *s, I k, I i, int sign)
{
    for (I f = 0; f < s->F; f++) {
        const int32_t value = s->value[i * s->F + f];
        const I at = k * s->F + f;
        if (value < 0) continue;
        s->m[at] = (int32_t)changed(s->x + at * VALUES, s->n + at * VALUES, s->m[at], value, sign);
        s->lik[at] = log_lik(s, f, s->x + at * VALUES, s->n + at * VALUES, s->m[at]);
    }
    s->size[k] += sign;
}

static inline void copy(S *s, I from, I to)
{
    if (from < 0) {
        s->size[to] = 0;
        memset(s->m + to * s->F, 0, 4 * s->F);
        memset(s->lik + to * s->F, 0, 8 * s->F);
        return;
    }
    s->size[to] = s->size[from];
    memcpy(s->m + to * s->F, s->m + from * s->F, 4 * s->F);
    memcpy(s->lik + to * s->F, s->lik + from * s->F, 8 * s->F);
    memcpy(s->x + to * s->F * VALUES, s->x + from * s->F * VALUES, 4 * s->F * VALUES);
    memcpy(s->n + to * s->F * VALUES, s->n + from * s->F * VALUES, 4 * s->F * VALUES);
}

static inline I weights_of(S *s, I i)
{
    const I own = s->z[i], K = s->K;
    const int32_t *value = s->value + i * s->F;
    double top = -INFINITY, fresh = 0;
    for (I f = 0; f < s->F; f++)
        if (value[f] >= 0) fresh += s->alone[value[f]];
    for (I k = 0; k <= K; k++) {
        double total = 0;
        if (k == K || (k == own && s->size[own] == 1)) total = fresh;
        else
            for (I f = 0; f < s->F; f++) {
                const I at = k * s->F + f;
                if (value[f] < 0) continue;
                if (k == own) total += s->lik[at] - with(s, k, f, value[f], -1);
                else total += s->m[at] ? with(s, k, f, value[f], 1) - s->lik[at] : s->alone[value[f]];
            }
        s->w[k] = total;
        top = total > top ? total : top;
    }
    for (I k = 0; k < K; k++) {
        const I n = s->size[k] - (k == own);
        s->w[k] = exp(s->w[k] - top) * (n ? n : s->concentration);
    }
    s->w[K] = s->size[own] > 1 ? exp(s->w[K] - top) * s->concentration : 0;
    return K + 1;
}

void prepare(S *s)
{
    const I cap = s->cap, F = s->F;
    s->stream = stream_at(s->rng);
    s->size = calloc(cap, 4);
    s->m = calloc(cap * F, 4);
    s->x = calloc(cap * F * VALUES, 4);
    s->n = calloc(cap * F * VALUES, 4);
    s->lik = calloc(cap * F, 8);
    s->w = calloc(cap + 1, 8);
    for (I i = 0; i < s->N; i++) tell(s, s->z[i], i, 1);
}

#include "sweep.h"
