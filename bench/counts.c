/* Plain C for the same chains: what the samplers would cost without model and sampler classes.

   One layout serves both models. An item has D fields; field d holds a value that selects one of R counts of a cluster:
   Bernoulli D attributes, count 2 d + x_d of R = 2 D; EMM one field, the token, R = L. Then pred(i | k) is
   prod_d (count[k][index[i][d]] + beta) / (n_k + B)^D and log g(k) = sum_r rise[count[k][r]] - D rise_all[n_k].
   Tables that depend on a count alone come from the caller. The generator is NumPy's PCG64DXSM, inlined, and the choices
   are made in the order of docs/design.md, so that a baseline and the sampler it stands beside walk through the same states. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "stream.h"

typedef double lanes __attribute__((vector_size(64)));

typedef struct {
    /* given by the caller */
    I N, D, R, K, cap;
    const uint8_t *index;        /* [N, D] */
    const double *beta;          /* [R] pseudo-count of each count */
    const double *alloc;         /* [N + 2] prior's weight of joining n items */
    const double *power;         /* [N + 2] (n + B)^-D */
    const double *rise;          /* [2, N + 2] log of beta_v (beta_v + 1) ...; v = r mod 2 */
    const double *rise_all;      /* [N + 2] D times the log of B (B + 1) ... */
    const double *prior_size;    /* [N + 2] log prior of a cluster of n items */
    const double *prior_K;       /* [cap] log prior of K clusters */
    const int32_t *truth;        /* [N] for the trace's NMI and ARI */
    const double *nlogn;         /* [N + 1] */
    I T;                         /* true clusters */
    int32_t *z;                  /* [N] */
    uint64_t rng[4];             /* state high, low; increment high, low */
    /* made here */
    int32_t *size, *items;
    double *count, *table, *ll, *w, *lw, *fresh;  /* count [cap, R] with beta inside; table = alloc * power;
                                                   fresh [N] weight of a new cluster */
    int32_t *known, *side, *present;
    stream stream;
    int changed;
    /* the trace's last row */
    double log_lik, log_joint, seconds, nmi, ari, best, largest[5];
    int32_t *best_z, *cells;
    I occupied;
} S;

/* ------------------------------------------------------------------------------------------------- statistics */

static inline void clear(S *s, I k)
{
    memcpy(s->count + k * s->R, s->beta, s->R * sizeof(double));
    s->size[k] = 0;
    s->known[k] = 0;
}

static inline void add(S *s, I i, I k, double one, const I D)
{
    double *c = s->count + k * s->R;
    const uint8_t *x = s->index + i * D;
    for (I d = 0; d < D; d++) c[x[d]] += one;
    s->size[k] += (int32_t)one;
    s->known[k] = 0;
}

/* prod_d (count + beta - own), two partial products */
static inline double product(const S *s, I i, I k, double own, const I D)
{
    const double *c = s->count + k * s->R;
    const uint8_t *x = s->index + i * D;
    double p = 1, q = 1;
    I d = 0;
    for (; d + 1 < D; d += 2) {
        p *= c[x[d]] - own;
        q *= c[x[d + 1]] - own;
    }
    if (d < D) p *= c[x[d]] - own;
    return p * q;
}

static inline double log_lik_of(const S *s, const double *a, const double *b, I n)
{
    double total = -s->rise_all[n];
    for (I r = 0; r < s->R; r++)  /* b: minus beta, so that its pseudo-counts go once */
        total += s->rise[(r & 1) * (s->N + 2) + (I)(a[r] + (b ? b[r] - s->beta[r] : 0) - s->beta[r] + .5)];
    return total;
}

static inline double lik(S *s, I k)
{
    if (!s->known[k]) {
        s->ll[k] = log_lik_of(s, s->count + k * s->R, NULL, s->size[k]);
        s->known[k] = 1;
    }
    return s->ll[k];
}

static inline double log_union(const S *s, I a, I b)
{
    return log_lik_of(s, s->count + a * s->R, s->count + b * s->R, s->size[a] + s->size[b]);
}

static void copy(S *s, I from, I to)
{
    memcpy(s->count + to * s->R, s->count + from * s->R, s->R * sizeof(double));
    s->size[to] = s->size[from];
    s->ll[to] = s->ll[from];
    s->known[to] = s->known[from];
}

static void swap_delete(S *s, I k)
{
    I last = --s->K;
    if (k == last) return;
    copy(s, last, k);
    for (I i = 0; i < s->N; i++) s->z[i] = s->z[i] == last ? (int32_t)k : s->z[i];
}

static inline I members(S *s, I a, I b)
{
    I n = 0;
    for (I i = 0; i < s->N; i++) {
        s->items[n] = (int32_t)i;
        n += (s->z[i] == a) | (s->z[i] == b);
    }
    return n;
}

static void commit_split(S *s, I c, I n, I extra)
{
    I K = s->K++;
    if (s->K + 3 > s->cap) abort();
    copy(s, K, c);
    copy(s, K + 1, K);
    for (I t = 0; t < n; t++)
        if (!s->side[t]) s->z[s->items[t]] = (int32_t)K;
    if (extra >= 0) s->z[extra] = (int32_t)K;
    s->changed = 1;
}

static void commit_merge(S *s, I i, I j)
{
    I keep = i < j ? i : j, gone = i < j ? j : i;
    for (I r = 0; r < s->R; r++) s->count[keep * s->R + r] += s->count[gone * s->R + r] - s->beta[r];
    s->size[keep] += s->size[gone];
    s->known[keep] = 0;
    for (I t = 0; t < s->N; t++) s->z[t] = s->z[t] == gone ? (int32_t)keep : s->z[t];
    swap_delete(s, gone);
    s->changed = 1;
}

/* ------------------------------------------------------------------------------------------------------ Gibbs */

static inline I weights_of(S *s, I i, const I D, const int empties)
{
    I K = s->K, own = s->z[i];
    for (I k = 0; k < own; k++) s->w[k] = product(s, i, k, 0, D) * s->table[s->size[k]];
    s->w[own] = product(s, i, own, 1, D) * s->table[s->size[own] - 1];
    for (I k = own + 1; k < K; k++) s->w[k] = product(s, i, k, 0, D) * s->table[s->size[k]];
    if (empties) return K;
    s->w[K] = s->size[own] == 1 ? 0 : s->fresh[i];
    return K + 1;
}

static inline void site(S *s, I i, const I D, const int empties)
{
    I k = categorical(&s->stream, s->w, weights_of(s, i, D, empties)), own = s->z[i];
    if (k == own) return;
    if (k == s->K) {
        if (++s->K + 3 > s->cap) abort();
        clear(s, k);
    }
    add(s, i, own, -1, D);
    add(s, i, k, 1, D);
    s->z[i] = (int32_t)k;
    s->changed = 1;
    if (!empties && s->size[own] == 0) swap_delete(s, own);
}

/* Weights of item i's options into `w`; returns how many. */
I weights(S *s, I i, double *w)
{
    I m = s->D == 1 ? weights_of(s, i, 1, 1) : weights_of(s, i, s->D, 0);
    memcpy(w, s->w, m * sizeof(double));
    return m;
}

void gibbs(S *s, I scans)
{
    for (I n = 0; n < scans * s->N; n++) site(s, n % s->N, s->D, 0);
}

/* Clusters as lanes: counts [R, C], C columns in blocks of eight. The item's own lane is corrected by masks, not by stores
   of single lanes, which a load of the whole vector would have to wait for. */
void gibbs_lanes(S *s, I scans)
{
    const I C = (s->cap + 7) & ~7, D = s->D, R = s->R;
    double *v = aligned_alloc(64, R * C * 8), *W = aligned_alloc(64, C * 8), *w = aligned_alloc(64, C * 8);
    lanes unit[9], one;
    memset(unit, 0, sizeof unit);
    for (I k = 0; k < 8; k++) unit[k][k] = one[k] = 1;
    for (I r = 0; r < R; r++)
        for (I k = 0; k < C; k++) v[r * C + k] = k < s->K ? s->count[k * R + r] : s->beta[r];
    for (I k = 0; k < C; k++) W[k] = k < s->K ? s->table[s->size[k]] : k == s->K ? s->table[0] : 0;
    for (I n = 0; n < scans * s->N; n++) {
        const I i = n % s->N, own = s->z[i], K = s->K;
        const uint8_t *x = s->index + i * D;
        const double left = s->table[s->size[own] - 1], fresh = s->size[own] == 1 ? 0 : 1;
        double total = 0, u;
        I k = 0, d;
        for (I block = 0; block <= K; block += 8) {
            const double *c = v + block;
            const lanes own_lane = unit[(uint64_t)(own - block) < 8 ? own - block : 8];
            const lanes new_lane = unit[(uint64_t)(K - block) < 8 ? K - block : 8];
            lanes p0 = one, p1 = one, p2 = one, p3 = one;
            for (d = 0; d + 4 <= D; d += 4) {
                p0 *= *(const lanes *)(c + x[d] * C) - own_lane;
                p1 *= *(const lanes *)(c + x[d + 1] * C) - own_lane;
                p2 *= *(const lanes *)(c + x[d + 2] * C) - own_lane;
                p3 *= *(const lanes *)(c + x[d + 3] * C) - own_lane;
            }
            for (; d < D; d++) p0 *= *(const lanes *)(c + x[d] * C) - own_lane;
            *(lanes *)(w + block) = (p0 * p1) * (p2 * p3)
                * ((*(const lanes *)(W + block) * (one - own_lane) + own_lane * left) * (one + new_lane * (fresh - 1)));
        }
        for (I j = 0; j <= K; j++) w[j] = total += w[j];
        u = next(&s->stream) * total;
        for (I j = 0; j <= K; j++) k += u >= w[j];
        k = k > K ? K : k;
        if (k == own) continue;
        for (I d = 0; d < D; d++) {
            v[x[d] * C + own] -= 1;
            v[x[d] * C + k] += 1;
        }
        W[own] = s->table[--s->size[own]];
        if (k == K) {
            if (++s->K + 3 > s->cap) abort();
            s->size[k] = 0;
            W[k + 1] = s->table[0];
        }
        W[k] = s->table[++s->size[k]];
        s->z[i] = (int32_t)k;
        if (s->size[own] == 0) {
            const I last = --s->K;
            for (I r = 0; r < R; r++) {
                v[r * C + own] = v[r * C + last];
                v[r * C + last] = s->beta[r];
            }
            s->size[own] = s->size[last];
            W[own] = W[last];
            W[last] = s->table[0];
            W[last + 1] = 0;
            if (own != last)
                for (I t = 0; t < s->N; t++) s->z[t] = s->z[t] == last ? (int32_t)own : s->z[t];
        }
    }
    for (I k = 0; k < s->K; k++) {
        for (I r = 0; r < R; r++) s->count[k * R + r] = v[r * C + k];
        s->known[k] = 0;
    }
    free(v), free(W), free(w);
}

/* ------------------------------------------------------------------------------------------------ split-merge */

static inline double allocate(S *s, I n, I a, I b, int forced, const I D)
{
    double prod = 1, total = 0;
    for (I t = 0; t < n; t++) {
        I i = s->items[t];
        double pa = product(s, i, a, 0, D) * s->power[s->size[a]], pb = product(s, i, b, 0, D) * s->power[s->size[b]];
        if (!forced) s->side[t] = next(&s->stream) * (pa + pb) < pa;
        SCORE((s->side[t] ? pa : pb) / (pa + pb));
        add(s, i, s->side[t] ? a : b, 1, D);
    }
    return total + log(prod);
}

static inline double restricted_scan(S *s, I n, I a, I b, const int32_t *target, int scored, const I D)
{
    double prod = 1, total = 0;
    for (I t = 0; t < n; t++) {
        I i = s->items[t], in_a = s->side[t];
        double pa = product(s, i, a, in_a ? 1 : 0, D) * s->table[s->size[a] - in_a];
        double pb = product(s, i, b, in_a ? 0 : 1, D) * s->table[s->size[b] - !in_a];
        I to_a = target ? target[t] : next(&s->stream) * (pa + pb) < pa;
        if (scored) SCORE((to_a ? pa : pb) / (pa + pb));
        if (to_a != in_a) {
            add(s, i, in_a ? a : b, -1, D);
            add(s, i, in_a ? b : a, 1, D);
            s->side[t] = (int32_t)to_a;
        }
    }
    return total + log(prod);
}

static inline double log_split(S *s, I c, I a, I b)
{
    return lik(s, a) + lik(s, b) - lik(s, c) + s->prior_K[s->K + 1] - s->prior_K[s->K] + s->prior_size[s->size[a]]
           + s->prior_size[s->size[b]] - s->prior_size[s->size[c]];
}

static inline double log_merge(S *s, I i, I j, double joined)
{
    return joined - lik(s, i) - lik(s, j) + s->prior_K[s->K - 1] - s->prior_K[s->K]
           + s->prior_size[s->size[i] + s->size[j]] - s->prior_size[s->size[i]] - s->prior_size[s->size[j]];
}

/* lw[0..m) to weights w, lw[.] - log sum exp of it for option c */
static inline double to_weights(S *s, I m)
{
    double top = -INFINITY, total = 0;
    for (I k = 0; k < m; k++) top = s->lw[k] > top ? s->lw[k] : top;
    for (I k = 0; k < m; k++) total += s->w[k] = exp(s->lw[k] - top);
    return top + log(total);
}

static inline double merge_both(S *s, I a, I b, double joined, I skip)
{
    double r[2];
    for (int side = 0; side < 2; side++) {
        I m = 1;
        s->lw[0] = joined;
        for (I k = 0; k < s->K; k++)
            if (k != a && k != b && k != skip) s->lw[m++] = log_union(s, side ? b : a, k);
        r[side] = joined - to_weights(s, m);
    }
    return fmax(r[0], r[1]) + log1p(exp(-fabs(r[0] - r[1])));
}

/* kernel 0 both, 1 smart split/dumb merge */
static inline void sdds_step(S *s, int kernel, const I D, const int empties)
{
    int smart_merges = kernel == 0 && draw_index(&s->stream, 2) == 1, merge = draw_index(&s->stream, 2) == 1;
    const I K = s->K;
    if (merge) {
        if (K == 1) return;
        I i = draw_index(&s->stream, K), j;
        double joined, r;
        if (smart_merges) {
            for (I k = 0; k < K; k++) s->lw[k] = k == i ? -INFINITY : log_union(s, i, k);
            to_weights(s, K);
            j = categorical(&s->stream, s->w, K);
            joined = s->lw[j];
            r = log_merge(s, i, j, joined) - (s->size[i] + s->size[j] - 1) * M_LN2 - log(K - 1.) + log((double)K)
                - (empties ? log((double)K) : 0) - merge_both(s, i, j, joined, -1);
        } else {
            j = draw_index(&s->stream, K - 1);
            j += j >= i;
            joined = log_union(s, i, j);
            I m = 0, n = members(s, i, j);
            for (I k = 0; k < K; k++)
                if (k != i && k != j) s->lw[m++] = -lik(s, k);
            s->lw[m++] = -joined;
            r = log_merge(s, i, j, joined) - joined - to_weights(s, m) + log((double)K) + log(K - 1.) - (empties ? log((double)K) : 0);
            clear(s, K);
            clear(s, K + 1);
            for (I t = 0; t < n; t++) s->side[t] = s->z[s->items[t]] == i;
            r += allocate(s, n, K, K + 1, 1, D);
        }
        if (accept(&s->stream, r)) commit_merge(s, i, j);
        return;
    }
    if (K + 4 > s->cap) abort();
    double forward;
    I c, n;
    if (smart_merges) {
        c = draw_index(&s->stream, K);
    } else {
        for (I k = 0; k < K; k++) s->lw[k] = -lik(s, k);
        forward = -to_weights(s, K);
        c = categorical(&s->stream, s->w, K);
        forward += s->lw[c];
    }
    clear(s, K);
    clear(s, K + 1);
    n = members(s, c, c);
    if (smart_merges) {
        for (I t = 0; t < n; t++) {
            s->side[t] = next(&s->stream) < .5;
            add(s, s->items[t], K + !s->side[t], 1, D);
        }
        forward = -(n - 1) * M_LN2 - log((double)K);
    } else {
        forward += allocate(s, n, K, K + 1, 0, D);
    }
    if (!empties && (s->size[K] == 0 || s->size[K + 1] == 0)) return;
    double r = log_split(s, c, K, K + 1) - forward + (empties ? log(K + 1.) : 0) - log(K + 1.);
    r += smart_merges ? merge_both(s, K, K + 1, lik(s, c), c) : -log((double)K);
    if (accept(&s->stream, r)) commit_split(s, c, n, -1);
}

void sdds(S *s, I steps)
{
    while (steps-- > 0) sdds_step(s, 1, s->D, 0);
}

void rgsm(S *s, I steps, I scans)
{
    const I D = s->D;
    while (steps-- > 0) {
        I i = draw_index(&s->stream, s->N), j = draw_index(&s->stream, s->N - 1), K = s->K, n = 0, m;
        j += j >= i;
        I ci = s->z[i], cj = s->z[j], split = ci == cj;
        if (K + 4 > s->cap) abort();
        m = members(s, ci, cj);
        for (I t = 0; t < m; t++) {
            I k = s->items[t];
            s->items[n] = (int32_t)k;
            s->present[n] = s->z[k] == ci;
            n += (k != i) & (k != j);
        }
        clear(s, K);
        clear(s, K + 1);
        add(s, i, K, 1, D);
        add(s, j, K + 1, 1, D);
        for (I t = 0; t < n; t++) {
            s->side[t] = next(&s->stream) < .5;
            add(s, s->items[t], K + !s->side[t], 1, D);
        }
        for (I t = 0; t < scans; t++) restricted_scan(s, n, K, K + 1, NULL, 0, D);
        double q = restricted_scan(s, n, K, K + 1, split ? NULL : s->present, 1, D);
        if (split) {
            if (accept(&s->stream, log_split(s, ci, K, K + 1) - q)) commit_split(s, ci, n, j);
        } else if (accept(&s->stream, log_merge(s, ci, cj, log_union(s, ci, cj)) + q)) {
            commit_merge(s, ci, cj);
        }
    }
}

/* -------------------------------------------------------------------------------------------- EMM with its trace */

static void agreement(S *s)
{
    double n, N = s->N, cells = 0, pairs = 0, ours = 0, our_pairs = 0, true_nlogn = 0, true_pairs = 0, h, top, expected;
    memset(s->cells, 0, (s->K + 1) * s->T * sizeof(int32_t));
    for (I i = 0; i < s->N; i++) s->cells[s->z[i] * s->T + s->truth[i]]++;
    for (I k = 0; k < s->K; k++)
        for (I t = 0; t < s->T; t++) {
            n = s->cells[k * s->T + t];
            s->cells[s->K * s->T + t] += (int32_t)n;
            cells += s->nlogn[(I)n];
            pairs += n * (n - 1) / 2;
        }
    for (I t = 0; t < s->T; t++) {
        n = s->cells[s->K * s->T + t];
        true_nlogn += s->nlogn[(I)n];
        true_pairs += n * (n - 1) / 2;
    }
    for (I k = 0; k < s->K; k++) {
        n = s->size[k];
        ours += s->nlogn[(I)n];
        our_pairs += n * (n - 1) / 2;
    }
    h = log(N) - ours / N + log(N) - true_nlogn / N;
    s->nmi = h < 1e-12 ? 1 : (log(N) + (cells - ours - true_nlogn) / N) / (.5 * h);
    expected = our_pairs * true_pairs / (N * (N - 1) / 2);
    top = .5 * (our_pairs + true_pairs);
    s->ari = top == expected ? 1 : (pairs - expected) / (top - expected);
    s->changed = 0;
}

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* `rows`: [iterations, 12] seconds, log_joint, log_lik, K, occupied, nmi, ari, the five largest */
void emm_run(S *s, I iterations, int with_site, double *rows)
{
    for (; iterations > 0; iterations--, rows += 12) {
        double start = now();
        sdds_step(s, 0, 1, 1);
        if (with_site) {
            double mid = now();
            s->seconds += mid - start;
            start = mid;
            site(s, draw_index(&s->stream, s->N), 1, 1);
        }
        s->seconds += now() - start;
        int32_t top[5] = {0};
        s->log_lik = s->occupied = 0;
        for (I k = 0; k < s->K; k++) {
            int32_t n = s->size[k], swap;
            s->log_lik += lik(s, k);
            s->occupied += n > 0;
            if (n > top[4])
                for (int t = 0; t < 5; t++)
                    if (n > top[t]) swap = top[t], top[t] = n, n = swap;
        }
        s->log_joint = s->log_lik + s->prior_K[s->K];
        if (s->changed) agreement(s);
        if (s->log_joint > s->best) {
            s->best = s->log_joint;
            memcpy(s->best_z, s->z, s->N * sizeof(int32_t));
        }
        rows[0] = s->seconds, rows[1] = s->log_joint, rows[2] = s->log_lik, rows[3] = s->K, rows[4] = s->occupied;
        rows[5] = s->nmi, rows[6] = s->ari;
        for (int t = 0; t < 5; t++) rows[7 + t] = (double)top[t] / s->N;
    }
}

/* ------------------------------------------------------------------------------------------------------ set up */

I state_bytes(void) { return sizeof(S); }

/* Count everything afresh from z; called once. */
void prepare(S *s)
{
    s->size = calloc(s->cap, 4);
    s->items = calloc(s->N + 1, 4);
    s->best_z = calloc(s->N, 4);
    s->cells = calloc((s->cap + 1) * (s->T + 1), 4);
    s->count = calloc(s->cap * s->R, 8);
    s->table = calloc(s->N + 2, 8);
    s->ll = calloc(s->cap, 8);
    s->w = calloc(s->cap, 8);
    s->lw = calloc(s->cap, 8);
    s->fresh = calloc(s->N, 8);
    s->known = calloc(s->cap, 4);
    s->side = calloc(s->N, 4);
    s->present = calloc(s->N, 4);
    s->stream = stream_at(s->rng);
    s->best = -INFINITY;
    s->changed = 1;
    for (I n = 0; n < s->N + 2; n++) s->table[n] = s->alloc[n] * s->power[n];
    for (I k = 0; k < s->cap; k++) clear(s, k);
    for (I i = 0; i < s->N; i++) {
        s->fresh[i] = product(s, i, s->K, 0, s->D) * s->table[0];
        add(s, i, s->z[i], 1, s->D);
    }
}
