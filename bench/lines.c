/* Plain C for the chains on lines: sums of a cluster as doubles, its line derived from them whenever they change.

   L = [n + tau, Sx; Sx, Sxx + tau], line L^-1 (Sy, Sxy), leverage of x: h = (1, x) L^-1 (1, x)'. A point has the density
   N(r; 0, sigma1^2 (1 + h)) under a line that does not count it, and given the other points of its own cluster
   N(r / (1 - h); 0, sigma1^2 / (1 - h)). Choices in the order of docs/design.md. */
#include <stdlib.h>
#include <string.h>
#include "numpy/random/bitgen.h"
#include "stream.h"

double random_standard_normal(bitgen_t *);

typedef struct {
    double n, x, y, xx, xy, yy;   /* sums */
    double b0, b1, i00, i01, i11, det; /* line, L^-1, |L| */
    double lik;
    int known;
} cluster;

typedef struct {
    /* given by the caller */
    I N, K, cap;
    double concentration, sigma0, sigma1, beta;
    const double *xy;             /* [N, 2] */
    const double *log_gamma;      /* [N + 2] */
    double *theta;                /* [cap, 2] intercept, slope; NULL: integrated out */
    int32_t *z;                   /* [N] */
    uint64_t rng[4];
    /* made here */
    stream stream;
    bitgen_t bits;
    double tau, half;             /* half: 1 / (2 sigma1^2) */
    double *w, *fresh;            /* fresh [N] weight of a new cluster */
    cluster *c;
    int32_t *items;
    int8_t *side, *present;
} S;

/* ------------------------------------------------------------------------------------------------- statistics */

static inline void settle(const S *s, cluster *c)
{
    const double a = c->n + s->tau, b = c->xx + s->tau, det = a * b - c->x * c->x, inv = 1 / det;
    c->i00 = b * inv;
    c->i01 = -c->x * inv;
    c->i11 = a * inv;
    c->b0 = (b * c->y - c->x * c->xy) * inv;
    c->b1 = (a * c->xy - c->x * c->y) * inv;
    c->det = det;
    c->known = 0;
}

static inline void count(const S *s, cluster *c, I i, double one)
{
    const double x = s->xy[2 * i], y = s->xy[2 * i + 1];
    c->n += one;
    c->x += one * x;
    c->y += one * y;
    c->xx += one * x * x;
    c->xy += one * x * y;
    c->yy += one * y * y;
}

static inline void add(const S *s, cluster *c, I i, double one)
{
    count(s, c, i, one);
    settle(s, c);
}

static inline void clear(const S *s, cluster *c)
{
    memset(c, 0, sizeof *c);
    settle(s, c);
}

static inline cluster union_of(const S *s, const cluster *a, const cluster *b)
{
    cluster c = {a->n + b->n, a->x + b->x, a->y + b->y, a->xx + b->xx, a->xy + b->xy, a->yy + b->yy};
    settle(s, &c);
    return c;
}

static inline double lik(const S *s, cluster *c)
{
    if (!c->known) {
        c->lik = log(s->tau) - .5 * log(c->det) - c->n * log(sqrt(2 * M_PI) * s->sigma1)
                 - s->half * (c->yy - c->b0 * c->y - c->b1 * c->xy);
        c->known = 1;
    }
    return c->lik;
}

static inline double leverage(const cluster *c, double x) { return c->i00 + x * (2 * c->i01 + x * c->i11); }
static inline double residual(const cluster *c, double x, double y) { return y - c->b0 - c->b1 * x; }

static inline double log_prior(const S *s, const cluster *c)
{
    return log(s->concentration) + s->log_gamma[(I)c->n];
}

static inline void relabel(S *s, I from, I to)
{
    for (I i = 0; i < s->N; i++) s->z[i] = s->z[i] == from ? (int32_t)to : s->z[i];
}

static inline void swap_delete(S *s, I k)
{
    const I last = --s->K;
    if (k == last) return;
    s->c[k] = s->c[last];
    if (s->theta) memcpy(s->theta + 2 * k, s->theta + 2 * last, 16);
    relabel(s, last, k);
}

/* ------------------------------------------------------------------------------------------------------ Gibbs */

static inline I weights_of(S *s, I i)
{
    const double x = s->xy[2 * i], y = s->xy[2 * i + 1];
    const I K = s->K, own = s->z[i];
    double total = 0;
    for (I k = 0; k < K; k++) {
        const cluster *c = s->c + k;
        double r = residual(c, x, y), h = leverage(c, x), q = 1 / (1 + h), f = c->n * sqrt(q);
        if (k == own) {
            if (c->n == 1) {
                total += s->w[k] = s->fresh[i];
                continue;
            }
            q = 1 / (1 - h);
            f = (c->n - 1) * sqrt(1 - h);
            if (1 - h < 1e-3) {
                cluster rest = *c;
                add(s, &rest, i, -1);
                r = residual(&rest, x, y);
                q = 1 / (1 + leverage(&rest, x));
                f = rest.n * sqrt(q);
            }
        }
        total += s->w[k] = f * exp(-s->half * r * r * q);
    }
    total += s->w[K] = s->c[own].n == 1 ? 0 : s->fresh[i];
    if (total < 1e-280) abort();  /* no point is so far from every line */
    return K + 1;
}

I weights(S *s, I i, double *w)
{
    const I m = weights_of(s, i);
    memcpy(w, s->w, m * sizeof(double));
    return m;
}

void gibbs(S *s, I scans)
{
    while (scans-- > 0)
        for (I i = 0; i < s->N; i++) {
            const I own = s->z[i], k = categorical(&s->stream, s->w, weights_of(s, i));
            if (k == own) continue;
            if (k == s->K) clear(s, s->c + s->K++);
            add(s, s->c + own, i, -1);
            add(s, s->c + k, i, 1);
            s->z[i] = (int32_t)k;
            if (s->c[own].n == 0) swap_delete(s, own);
        }
}

/* Algorithm 8 with m auxiliary components and parameters, then a draw of the parameters given the points. */
static inline void draw_line(S *s, double *theta)
{
    theta[0] = s->sigma0 * random_standard_normal(&s->bits);
    theta[1] = s->sigma0 * random_standard_normal(&s->bits);
}

static inline void neal8_site(S *s, I i, I m)
{
    const double x = s->xy[2 * i], y = s->xy[2 * i + 1], each = s->concentration / m;
    const I K = s->K, own = s->z[i], alone = s->c[own].n == 1, options = K + m - alone;
    double total = 0;
    for (I k = K; k < options; k++) draw_line(s, s->theta + 2 * k);
    for (I k = 0; k < options; k++) {
        const double r = y - s->theta[2 * k] - s->theta[2 * k + 1] * x;
        const double f = k >= K ? each : k != own ? s->c[k].n : alone ? each : s->c[k].n - 1;
        total += s->w[k] = f * exp(-s->half * r * r);
    }
    if (total < 1e-280) {  /* far from every line */
        double top = -INFINITY, e;
        for (int pass = 0; pass < 2; pass++)
            for (I k = 0; k < options; k++) {
                const double r = y - s->theta[2 * k] - s->theta[2 * k + 1] * x;
                const double f = k >= K ? each : k != own ? s->c[k].n : alone ? each : s->c[k].n - 1;
                e = -s->half * r * r;
                if (pass)
                    s->w[k] = f * exp(e - top);
                else
                    top = e > top ? e : top;
            }
    }
    I k = categorical(&s->stream, s->w, options);
    if (k == own) return;
    if (k >= K) {
        memmove(s->theta + 2 * K, s->theta + 2 * k, 16);
        memset(s->c + K, 0, sizeof(cluster));
        k = s->K++;
    }
    count(s, s->c + own, i, -1);
    count(s, s->c + k, i, 1);
    s->z[i] = (int32_t)k;
    if (s->c[own].n == 0) swap_delete(s, own);
}

void neal8(S *s, I scans, I m)
{
    while (scans-- > 0) {
        for (I i = 0; i < s->N; i++) neal8_site(s, i, m);
        for (I k = 0; k < s->K; k++) {
            cluster *c = s->c + k;
            const double a = c->n + s->tau;
            settle(s, c);
            double *t = s->theta + 2 * k;
            t[1] = c->b1 + s->sigma1 * random_standard_normal(&s->bits) * sqrt(c->i11);
            t[0] = (c->y - t[1] * c->x) / a + s->sigma1 * random_standard_normal(&s->bits) / sqrt(a);
        }
    }
}

/* ------------------------------------------------------------------------------------------------ split-merge */

/* The items of clusters a, b, c but i and j, and their present sides. */
static inline I gather(S *s, I a, I b, I c, I i, I j)
{
    I n = 0;
    for (I t = 0; t < s->N; t++) {
        s->items[n] = (int32_t)t;
        s->present[n] = s->z[t] == a ? 0 : s->z[t] == b ? 1 : 2;
        n += ((s->z[t] == a) | (s->z[t] == b) | (s->z[t] == c)) & (t != i) & (t != j);
    }
    return n;
}

static inline void shuffle(S *s, I n)
{
    for (I t = n - 1; t > 0; t--) {
        const I u = draw_index(&s->stream, t + 1);
        const int32_t item = s->items[t];
        const int8_t side = s->present[t];
        s->items[t] = s->items[u], s->present[t] = s->present[u];
        s->items[u] = item, s->present[u] = side;
    }
}

/* Sides 0 and 1 of items[:n] drawn, or followed where `forced` (2 counts as not 0: side 1); log of their probability. */
static inline double two_sides(S *s, I n, I i, I j, int forced)
{
    cluster *a = s->c + s->K, *b = a + 1;
    double prod = 1, total = 0;
    clear(s, a);
    clear(s, b);
    add(s, a, i, 1);
    add(s, b, j, 1);
    for (I t = 0; t < n; t++) {
        const I k = s->items[t];
        const double x = s->xy[2 * k], y = s->xy[2 * k + 1];
        const double ra = residual(a, x, y), rb = residual(b, x, y), sa = 1 + leverage(a, x), sb = 1 + leverage(b, x);
        const double inv = 1 / (sa * sb), e = s->half * inv * (ra * ra * sb - rb * rb * sa);
        const double o = exp(e) * sa * sqrt(inv) * b->n, pa = a->n / (a->n + o);
        const int side = forced ? s->present[t] != 0 : !(next(&s->stream) < pa);
        const double p = side ? (o < 1e300 ? o * (pa / a->n) : 1) : pa;
        s->side[t] = (int8_t)side;
        if (p < 1e-280)
            total -= fabs(e + log(sa * sqrt(inv) * b->n / a->n));
        else
            SCORE(p);
        add(s, side ? b : a, k, 1);
    }
    return total + log(prod);
}

/* The same for three sides; item k, one of items[:n], stands on side 2. */
static inline double three_sides(S *s, I n, I i, I j, I k, int forced)
{
    cluster *c = s->c + s->K;
    double prod = 1, total = 0, w[3], e[3];
    for (I t = 0; t < 3; t++) {
        clear(s, c + t);
        add(s, c + t, t == 0 ? i : t == 1 ? j : k, 1);
    }
    for (I t = 0; t < n; t++) {
        const I m = s->items[t];
        const double x = s->xy[2 * m], y = s->xy[2 * m + 1];
        if (m == k) {
            s->side[t] = 2;
            continue;
        }
        for (I v = 0; v < 3; v++) {
            const double r = residual(c + v, x, y), q = 1 / (1 + leverage(c + v, x));
            e[v] = -s->half * r * r * q;
            w[v] = c[v].n * sqrt(q);
        }
        const double top = fmax(e[0], fmax(e[1], e[2]));
        for (I v = 0; v < 3; v++) w[v] *= exp(e[v] - top);
        const I side = forced ? s->present[t] : categorical(&s->stream, w, 3);
        const double p = w[side] / (w[0] + w[1] + w[2]);
        s->side[t] = (int8_t)side;
        if (p < 1e-280)
            total += e[side] - top + .5 * log(1 / (1 + leverage(c + side, x))) + log(c[side].n / (w[0] + w[1] + w[2]));
        else
            SCORE(p);
        add(s, c + side, m, 1);
    }
    return total + log(prod);
}

/* log prior and likelihood of scratch clusters K .. K + m - 1 and of a list of live ones */
static inline double log_scratch(S *s, I m)
{
    double total = 0;
    for (I k = s->K; k < s->K + m; k++) total += lik(s, s->c + k) + log_prior(s, s->c + k);
    return total;
}

static inline double log_live(S *s, const I *k, I m)
{
    double total = 0;
    for (I t = 0; t < m; t++) total += lik(s, s->c + k[t]) + log_prior(s, s->c + k[t]);
    return total;
}

static inline void take(S *s, I n, const I *number, I m)
{
    const I scratch = s->K;
    for (I t = 0; t < n; t++) s->z[s->items[t]] = (int32_t)number[s->side[t]];
    for (I t = 0; t < m; t++) {
        s->K += number[t] == scratch;
        s->c[number[t]] = s->c[scratch + t];
    }
}

static inline void split_pair(S *s, I i, I j, double others)
{
    const I c = s->z[i], number[2] = {c, s->K};
    if (s->K == s->N) return;
    const I n = gather(s, c, c, c, i, j);
    shuffle(s, n);
    const double log_q = two_sides(s, n, i, j, 0);
    if (!accept(&s->stream, log_scratch(s, 2) - log_live(s, &c, 1) - log_q + others)) return;
    s->z[j] = (int32_t)s->K;
    take(s, n, number, 2);
}

static inline void merge_pair(S *s, I i, I j, double others)
{
    const I old[2] = {s->z[i], s->z[j]}, keep = old[0] < old[1] ? old[0] : old[1], gone = old[0] + old[1] - keep;
    const I n = gather(s, old[0], old[1], old[1], i, j);
    shuffle(s, n);
    const double log_q = two_sides(s, n, i, j, 1);
    cluster both = union_of(s, s->c + old[0], s->c + old[1]);
    if (!accept(&s->stream, lik(s, &both) + log_prior(s, &both) - log_live(s, old, 2) + log_q - others)) return;
    s->c[keep] = both;
    relabel(s, gone, keep);
    swap_delete(s, gone);
}

static inline void pair_move(S *s, I i, I j, double others)
{
    if (s->z[i] == s->z[j])
        split_pair(s, i, j, others);
    else
        merge_pair(s, i, j, others);
}

void dyadic(S *s, I moves)
{
    while (moves-- > 0) {
        const I i = draw_index(&s->stream, s->N), j = draw_index(&s->stream, s->N - 1);
        pair_move(s, i, j + (j >= i), 0);
    }
}

static inline void split_2_3(S *s, I i, I j, I k)
{
    const I number[3] = {s->z[i], s->z[j], s->K};
    if (s->K == s->N) return;
    const I n = gather(s, number[0], number[1], number[1], i, j);
    shuffle(s, n);
    const double log_q2 = two_sides(s, n, i, j, 1), log_q3 = three_sides(s, n, i, j, k, 0);
    if (accept(&s->stream, log_scratch(s, 3) - log_live(s, number, 2) + log(2. / 3) - log1p(-s->beta) + log_q2 - log_q3))
        take(s, n, number, 3);
}

static inline void merge_3_2(S *s, I i, I j, I k)
{
    const I number[3] = {s->z[i], s->z[j], s->z[k]};
    const I n = gather(s, number[0], number[1], number[2], i, j);
    shuffle(s, n);
    const double log_q3 = three_sides(s, n, i, j, k, 1), log_q2 = two_sides(s, n, i, j, 0);
    if (!accept(&s->stream, log_scratch(s, 2) - log_live(s, number, 3) - log(2. / 3) + log1p(-s->beta) - log_q2 + log_q3))
        return;
    take(s, n, number, 2);
    swap_delete(s, number[2]);
}

/* The symmetrised form. */
void triadic(S *s, I moves)
{
    const double others = log(s->beta) + log(1.5);
    while (moves-- > 0) {
        const I N = s->N;
        I t[3], low, high, drop;
        t[0] = draw_index(&s->stream, N);
        t[1] = draw_index(&s->stream, N - 1);
        t[1] += t[1] >= t[0];
        low = t[0] < t[1] ? t[0] : t[1], high = t[0] + t[1] - low;
        t[2] = draw_index(&s->stream, N - 2);
        t[2] += t[2] >= low;
        t[2] += t[2] >= high;
        const I a = s->z[t[0]], b = s->z[t[1]], c = s->z[t[2]], clusters = 1 + (b != a) + (c != a && c != b);
        drop = draw_index(&s->stream, clusters == 2 ? 2 : 3);
        if (clusters == 2 && a != b) drop = a == c ? 2 * drop : 1 + drop;
        const I i = t[drop == 0], j = t[1 + (drop <= 1)], k = t[drop];
        if (clusters == 3)
            merge_3_2(s, i, j, k);
        else if (clusters == 2 && !(next(&s->stream) < s->beta))
            split_2_3(s, i, j, k);
        else
            pair_move(s, i, j, others);
    }
}

/* ------------------------------------------------------------------------------------------------------ set up */

I state_bytes(void) { return sizeof(S); }

static uint64_t bits64(void *s) { return next_bits(s); }
static uint32_t bits32(void *s) { return (uint32_t)next_bits(s); }
static double bits_double(void *s) { return next(s); }

/* Count everything afresh from z; called once. */
void prepare(S *s)
{
    s->stream = stream_at(s->rng);
    s->bits = (bitgen_t){&s->stream, bits64, bits32, bits_double, bits64};
    s->tau = s->sigma1 * s->sigma1 / (s->sigma0 * s->sigma0);
    s->half = .5 / (s->sigma1 * s->sigma1);
    s->w = calloc(s->cap, 8);
    s->fresh = calloc(s->N, 8);
    s->c = calloc(s->cap, sizeof(cluster));
    s->items = calloc(s->N + 1, 4);
    s->side = calloc(s->N + 1, 1);
    s->present = calloc(s->N + 1, 1);
    for (I i = 0; i < s->N; i++) {
        const double x = s->xy[2 * i], y = s->xy[2 * i + 1], q = 1 / (1 + (1 + x * x) / s->tau);
        count(s, s->c + s->z[i], i, 1);
        s->fresh[i] = s->concentration * sqrt(q) * exp(-s->half * y * y * q);
    }
    for (I k = 0; k < s->K; k++) settle(s, s->c + k);
}
