/* Log marginal likelihoods of what joins two blocks, or is within one, in multiples of their unit.

   A cell holds sums of whole numbers over the pairs of nodes of two blocks: for every part (a relation, or one direction
   of it) the number of edges, of unknown pairs, and what their values add up to. Each number that is computed from a
   cell is rounded once, so that sums and differences of them are exact, whatever their order.

   Rising factorials are read from tables. Past the end of a table, which only networks of more than some 2,800 nodes
   reach, an entry is computed. No entry is read that does not exist, not even where its value would not count: a block
   that a row leaves out is left out of its loop. */
#pragma once
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "simd_math.h"

#define FAR_BITS 16
/* of a number of pairs of nodes */
#define PAIR_BITS 40
#define MOST_SLOTS 128
/* so far Stirling's series is moved */
#define SHIFT 8
/* parts from which on those without entries are left out of sums */
#define MANY_PARTS 4

/* gathers of eight table entries at a time are slower than loads one by one */
#if defined(__GNUC__) && !defined(__clang__)
#define SCALAR __attribute__((optimize("no-tree-vectorize")))
#else
#define SCALAR
#endif

enum { EXACT_EDGES, RATES, SCATTERED }; /* how edges come about: Bernoulli, Poisson, or negative binomial */
enum { NO_VALUES, REAL_VALUES, LEVELS }; /* what an edge has besides */

typedef struct {
    int64_t m, value;
} far_t;

typedef struct {
    far_t *far;       /* [1 << FAR_BITS] entries past the end, by a hash of m; m = 0: none */
    int64_t filled;   /* how often it was filled again, in units of the first bit of m that is none of m */
    const int64_t *at; /* [length] log of b (b + 1) ... (b + m - 1), in units */
    int64_t length;
    long double base; /* log Gamma(b) */
    long double b;
    long double per;  /* units in one */
} rise_t;

/* the beta distribution of a share of edges */
typedef struct {
    rise_t edge, gap, pair; /* of beta1, beta0 and their sum */
    double mean, weight;    /* of one that is learned */
    int near;               /* whether no index lies past a table */
} beta_t;

typedef struct {
    int edges, values;
    int slot;          /* of the number of edges in a cell; sums of values follow */
    int unknown;       /* slot of unknown pairs, -1 none */
    int n_levels;
    int first;         /* the only direction, or the one that counts what is within a block */
    int directed, loops, corrected;
    int log_row;       /* of counts whose pairs are all known: which row of kept logarithms has theirs; else -1 */
    beta_t between, within; /* Bernoulli: of two blocks, and of one */
    rise_t rise;       /* Poisson: of the shape */
    double shape, rate, offset, exposure; /* shape log rate; what one of m counts as: half a pair where degrees
                                             are corrected, else a pair */
    double precision;  /* negative binomial: its shape; then offset is that of a cell of no pair */
    double per;        /* units in one */
    /* values */
    const double *half; /* [edges + 2] log Gamma(a0 + n / 2) - log Gamma(a0) + a0 log b0 - n / 2 log 2 pi */
    double kappa0, a0, b0, step, square; /* a sum counts steps, a sum of squares their squares */
    rise_t level, all_levels;
} part_t;

typedef struct {
    part_t *part;       /* [n] */
    int n, V;           /* parts, and numbers of a cell */
    int sided;          /* two kinds of nodes */
    int plain;          /* a cell is a number of Bernoulli edges without a direction */
} form_t;

/* log Gamma(x) by Stirling's series: of x > 2^19 what is left out is below 1e-32 */
static inline long double log_gamma_far(long double x)
{
    const long double half_log_2pi = 0.918938533204672741780329736405617639861L;
    return (x - 0.5L) * logl(x) - x + half_log_2pi + 1 / (12 * x) - 1 / (360 * x * x * x);
}

static int64_t rise_far(const rise_t *t, int64_t m)
{
    far_t *kept = t->far + ((uint64_t)m * 0x9e3779b97f4a7c15u >> (64 - FAR_BITS));
    if (kept->m != m + t->filled) {
        kept->value = llrintl(t->per * (log_gamma_far(m + t->b) - t->base));
        kept->m = m + t->filled;
    }
    return kept->value;
}

static inline int64_t entry(const rise_t *t, int64_t m, int near)
{
    assert(m >= 0 && (!near || m < t->length));
    return near || m < t->length ? t->at[m] : rise_far(t, m);
}

/* One logarithm, the same bits as among others. */
static inline double log_one(double x)
{
    const lanes all = x - (lanes){0};
    return lanes_log(all)[0];
}

/* log Gamma(x), Stirling's series from 16 on: what is left out is below 1e-15 */
static inline double log_gamma(double x)
{
    if (x < 16) return lgamma(x);
    const double y = 1 / (x * x);
    return (x - 0.5) * log_one(x) - x + 0.91893853320467274178
           + (1. / 12 - y * (1. / 360 - y * (1. / 1260 - y * (1. / 1680 - y / 1188)))) / x;
}

/* of the values of n edges, s: their sums */
static inline int64_t value_lik(const part_t *p, int64_t n, const int64_t *s)
{
    if (p->values == REAL_VALUES) {
        const double sum = s[0] * p->step, weight = p->kappa0 + n;
        const double scatter = s[1] * p->square - sum * sum / weight;
        return llrint(p->per * (p->half[n] - (p->a0 + 0.5 * n) * log_one(p->b0 + 0.5 * (scatter > 0 ? scatter : 0))
                                - 0.5 * log_one(weight / p->kappa0)));
    }
    int64_t total = -entry(&p->all_levels, n, 0);
    for (int v = 0; v < p->n_levels; v++)
        total += entry(&p->level, s[v], 0);
    return total;
}

/* of e Bernoulli edges among m pairs */
static inline int64_t exact_lik(const beta_t *p, int64_t e, int64_t m, int near)
{
    return entry(&p->edge, e, near) + entry(&p->gap, m - e, near) - entry(&p->pair, m, near);
}

/* of a sum s of Poisson counts, log_rate: log(rate + m) of m pairs */
static inline int64_t rate_lik(const part_t *p, int64_t s, double log_rate)
{
    return entry(&p->rise, s, 0) - llrint(p->per * ((p->shape + s) * log_rate - p->offset));
}

/* of the sums s and t of both directions, rounded once */
static inline int64_t rates_lik(const part_t *p, int64_t s, int64_t t, double log_rate)
{
    return entry(&p->rise, s, 0) + entry(&p->rise, t, 0)
           - llrint(p->per * ((2 * p->shape + (s + t)) * log_rate - 2 * p->offset));
}

static inline double rate_of(const part_t *p, int64_t m)
{
    return p->rate + p->exposure * m;
}

/* what Stirling's series adds to (x - 1/2) log x - x */
static inline lanes series(lanes x)
{
    const lanes y = 1 / (x * x);
    return (1. / 12 - y * (1. / 360 - y * (1. / 1260 - y * (1. / 1680 - y / 1188)))) / x;
}

/* log Gamma(x + n) - log Gamma(x) of x > 0 by Stirling's series SHIFT further on, where what is left out is below 1e-13;
   where x is large its digits are kept */
static inline lanes log_rises(lanes x, lanes n)
{
    const lanes end = x + n, a = x + SHIFT, b = end + SHIFT;
    lanes above = end, below = x;
    for (int j = 1; j < SHIFT; j++) {
        above *= end + j;
        below *= x + j;
    }
    return (a - 0.5) * lanes_log(b / a) + n * lanes_log(b) - n + series(b) - series(a) - lanes_log(above / below);
}

/* One of them, the same bits as among others. */
static inline double log_rising(double x, double n)
{
    return log_rises(x - (lanes){0}, n - (lanes){0})[0];
}

/* Fill the table of a model alone for another b. */
static void fill_rise(rise_t *t, double b)
{
    int64_t *at = (int64_t *)t->at;
    long double total = 0;
    for (int64_t first = 0; first < t->length; first += 8) {
        double x[8] __attribute__((aligned(64)));
        for (int h = 0; h < 8; h++)
            x[h] = b + (first + h);
        EACH_LANE(h) LANES_TO(x + h) = lanes_log(LANES_AT(x + h));
        for (int h = 0; h < 8 && first + h < t->length; h++) {
            at[first + h] = llrintl(t->per * total);
            total += x[h];
        }
    }
    t->b = b;
    t->base = lgammal(b);
    /* what is kept is of the one before */
    t->filled += (int64_t)1 << PAIR_BITS;
}

/* of a sum s of negative binomial counts of m pairs, which all have one success probability, beta distributed */
static inline int64_t scattered_lik(const part_t *p, int64_t s, int64_t m)
{
    return entry(&p->rise, s, 0)
           - llrint(p->per * (log_rising(1 + p->precision * rate_of(p, m), p->shape + s) - p->offset));
}

/* of a part whose edges are among m pairs; `own`: of one block */
static inline int64_t part_lik(const part_t *p, const int64_t *cell, int64_t m, int own)
{
    const int64_t *s = cell + p->slot;
    int64_t total;
    if (p->unknown >= 0) m -= cell[p->unknown];
    if (p->edges == EXACT_EDGES)
        total = exact_lik(own ? &p->within : &p->between, s[0], m, 0);
    else if (p->edges == RATES)
        total = rate_lik(p, s[0], log_one(rate_of(p, m)));
    else
        total = scattered_lik(p, s[0], m);
    if (p->values != NO_VALUES && s[0]) total += value_lik(p, s[0], s + 1);
    return total;
}

/* pairs of nodes of two blocks, of a0 and b0 nodes of the one kind, a1 and b1 of the other */
static inline int64_t pairs_between(int64_t a0, int64_t a1, int64_t b0, int64_t b1, int sided)
{
    return sided ? a0 * b1 + a1 * b0 : a0 * b0;
}

/* Whether a part and the next are both directions of counts, all of whose pairs are known. */
static inline int is_pair(const part_t *part)
{
    return part->log_row >= 0 && part->first && part->directed;
}

/* of some parts of a cell of two blocks with m pairs */
static inline int64_t parts_lik(const part_t *parts, int n, const int64_t *cell, int64_t m)
{
    int64_t total = 0;
    for (int p = 0; p < n; p++) {
        const part_t *part = parts + p;
        if (is_pair(part)) {
            const double log_rate = log_one(rate_of(part, m << part->corrected));
            total += rates_lik(part, cell[part->slot], cell[part[1].slot], log_rate);
            p++;
        } else
            total += part_lik(part, cell, m << part->corrected, 0);
    }
    return total;
}

/* of a cell of two blocks */
static inline int64_t cell_lik(const form_t *f, const int64_t *cell, int64_t m)
{
    return f->plain ? exact_lik(&f->part->between, *cell, m, f->part->between.near) : parts_lik(f->part, f->n, cell, m);
}

/* of the pairs within a block of n0 and n1 nodes */
static inline int64_t within_lik(const form_t *f, const int64_t *cell, int64_t n0, int64_t n1)
{
    int64_t total = 0;
    if (f->plain)
        return exact_lik(&f->part->within, *cell, n0 * (n0 - 1) / 2 + (f->part->loops ? n0 : 0),
                         f->part->within.near);
    for (int p = 0; p < f->n; p++) {
        const part_t *part = f->part + p;
        if (!part->first) continue;
        int64_t m;
        if (f->sided)
            m = n0 * n1 << part->corrected;
        else if (part->corrected)
            m = part->directed ? 2 * n0 * n0 : n0 * n0;
        else
            m = (part->directed ? n0 * (n0 - 1) : n0 * (n0 - 1) / 2) + (part->loops ? n0 : 0);
        total += part_lik(part, cell, m, 1);
    }
    return total;
}

/* Blocks k < K but a and b, against one other: of n0[k] + d0 and n1[k] + d1 nodes of either kind, the other of b0 and
   b1; their cell is row[k], and `add` besides: one cell for all, or with `every` that of each block. */
typedef struct {
    const int64_t *row, *add;
    int every;
    const int32_t *n0, *n1;
    ptrdiff_t K, a, b;
    int64_t d0, d1, b0, b1;
} row_t;

static inline int64_t pairs_of(const form_t *f, const row_t *r, ptrdiff_t k)
{
    return pairs_between(r->n0[k] + r->d0, r->n1[k] + r->d1, r->b0, r->b1, f->sided);
}

/* `term` of every block of a row but those left out, where a cell is a number; what it is given is constant. */
#define EACH(near, term) \
    for (ptrdiff_t k = 0; k < K; k++) \
        if (k != a && k != b) { \
            term(near) \
        }
#define EACH_PLAIN(term) \
    if (edges->near) { \
        EACH(1, term) \
    } else { \
        EACH(0, term) \
    }

/* Edges that are Bernoulli, and all known. */
#define PLAIN(near) out[k] += exact_lik(edges, row[k] + add[k * step], (n0[k] + d0) * b0, near);
SCALAR static void add_exact(const form_t *f, const part_t *part, row_t r, int64_t *restrict out)
{
    const beta_t *edges = &part->between;
    const ptrdiff_t K = r.K, a = r.a, b = r.b, V = f->V, step = r.every ? V : 0;
    const int64_t *restrict row = r.row + part->slot, *restrict add = r.add + part->slot;
    const int32_t *restrict n0 = r.n0;
    const int64_t d0 = r.d0, b0 = r.b0;
    if (!f->plain) {
        for (ptrdiff_t k = 0; k < K; k++)
            if (k != a && k != b)
                out[k] += exact_lik(edges, row[k * V] + add[k * step], pairs_of(f, &r, k) << part->corrected, 0);
    } else
        EACH_PLAIN(PLAIN)
}

/* The logarithms of the rates of eight blocks from `first` on, up to the last. */
static inline void fill_lanes(const form_t *f, const part_t *part, const row_t *r, ptrdiff_t first, double *restrict x)
{
    for (ptrdiff_t h = 0; h < 8; h++)
        x[h] = rate_of(part, pairs_of(f, r, first + h < r->K ? first + h : first) << part->corrected);
    EACH_LANE(h) LANES_TO(x + h) = lanes_log(LANES_AT(x + h));
}

/* All logarithms of a row that are kept; `logs`: rows of `cap`, a multiple of 8. */
static void fill_logs(const form_t *f, const row_t *r, double *restrict logs, ptrdiff_t cap)
{
    for (int p = 0; p < f->n; p++)
        if (f->part[p].log_row >= 0 && f->part[p].first)
            for (ptrdiff_t first = 0; first < r->K; first += 8)
                fill_lanes(f, f->part + p, r, first, logs + f->part[p].log_row * cap + first);
}

/* Edges that are counts, and all pairs known; `logs`: those of the row, NULL where they are not kept. Returns whether
   the next part, the other direction, is counted, too. */
static int add_rates(const form_t *f, const part_t *part, row_t r, const double *restrict logs, ptrdiff_t cap,
                     int64_t *restrict out)
{
    const int both = is_pair(part), V = f->V;
    const ptrdiff_t step = r.every ? V : 0, K = r.K, a = r.a, b = r.b;
    const int64_t *restrict s = r.row + part->slot, *restrict t = r.row + part[both].slot;
    const int64_t *restrict more = r.add + part->slot, *restrict back = r.add + part[both].slot;
    for (ptrdiff_t first = 0; first < K; first += 8) {
        double x[8] __attribute__((aligned(64)));
        const int width = K - first < 8 ? (int)(K - first) : 8;
        const double *log_rates = logs + part->log_row * cap + first;
        if (!logs) {
            fill_lanes(f, part, &r, first, x);
            log_rates = x;
        }
        for (int h = 0; h < width; h++) {
            const ptrdiff_t k = first + h;
            if (k == a || k == b) continue;
            out[k] += both ? rates_lik(part, s[k * V] + more[k * step], t[k * V] + back[k * step], log_rates[h])
                           : rate_lik(part, s[k * V] + more[k * step], log_rates[h]);
        }
    }
    return both;
}

/* Edges that are negative binomial counts, and all pairs known. */
static void add_scattered(const form_t *f, const part_t *part, row_t r, int64_t *restrict out)
{
    const ptrdiff_t step = r.every ? f->V : 0, K = r.K, a = r.a, b = r.b, V = f->V;
    const int64_t *restrict s = r.row + part->slot, *restrict more = r.add + part->slot;
    for (ptrdiff_t first = 0; first < K; first += 8) {
        double x[8] __attribute__((aligned(64))), n[8] __attribute__((aligned(64)));
        const int width = K - first < 8 ? (int)(K - first) : 8;
        for (int h = 0; h < 8; h++) {
            const ptrdiff_t k = h < width ? first + h : first;
            x[h] = 1 + part->precision * rate_of(part, pairs_of(f, &r, k));
            n[h] = part->shape + (s[k * V] + more[k * step]);
        }
        EACH_LANE(h) LANES_TO(x + h) = log_rises(LANES_AT(x + h), LANES_AT(n + h));
        for (int h = 0; h < width; h++) {
            const ptrdiff_t k = first + h;
            if (k == a || k == b) continue;
            out[k] += entry(&part->rise, s[k * V] + more[k * step], 0) - llrint(part->per * (x[h] - part->offset));
        }
    }
}

/* out[k] += of each block of a row; `logs`: rows of `cap` kept logarithms, NULL for none */
static void add_row(const form_t *f, const row_t *r, const double *logs, ptrdiff_t cap, int64_t *restrict out)
{
    const int V = f->V;
    for (int p = 0; p < f->n; p++) {
        const part_t *part = f->part + p;
        if (part->values != NO_VALUES || part->unknown >= 0) {
            for (ptrdiff_t k = 0; k < r->K; k++) {
                if (k == r->a || k == r->b) continue;
                int64_t cell[MOST_SLOTS];
                for (int v = 0; v < V; v++)
                    cell[v] = r->row[k * V + v] + r->add[(r->every ? k * V : 0) + v];
                out[k] += part_lik(part, cell, pairs_of(f, r, k) << part->corrected, 0);
            }
        } else if (part->edges == EXACT_EDGES)
            add_exact(f, part, *r, out);
        else if (part->edges == SCATTERED)
            add_scattered(f, part, *r, out);
        else
            p += add_rates(f, part, *r, logs, cap, out);
    }
}

/* out[k] = of each block of a row, 0 of those that it leaves out */
static void fill_row(const form_t *f, const row_t *r, const double *logs, ptrdiff_t cap, int64_t *restrict out)
{
    memset(out, 0, r->K * sizeof *out);
    add_row(f, r, logs, cap, out);
}

/* ``sum_row`` where a cell is a number. */
#define SUM(near) total += exact_lik(edges, row[k] + add[k * step], n0[k] * b0, near);
SCALAR static int64_t sum_plain(const form_t *f, const row_t *r)
{
    const beta_t *edges = &f->part->between;
    const ptrdiff_t K = r->K, a = r->a, b = r->b, step = r->every;
    const int64_t *row = r->row, *add = r->add;
    const int32_t *n0 = r->n0;
    const int64_t b0 = r->b0;
    int64_t total = 0;
    EACH_PLAIN(SUM)
    return total;
}

/* The sum of ``fill_row`` for blocks as they are; `room`: of K numbers. */
static int64_t sum_row(const form_t *f, const row_t *r, int64_t *restrict room)
{
    int64_t total = 0;
    if (f->plain) return sum_plain(f, r);
    fill_row(f, r, NULL, 0, room);
    for (ptrdiff_t k = 0; k < r->K; k++)
        total += room[k];
    return total;
}

/* ``add_gains`` where a cell is a number. */
#define GAINS(near) out[k] += exact_lik(edges, row[k] + more, (n0[k] + d0) * b0, near) - zero[k];
SCALAR static void add_plain(const form_t *f, const row_t *r, const int64_t *restrict zero, int64_t *restrict out)
{
    const beta_t *edges = &f->part->between;
    const ptrdiff_t K = r->K, a = r->a, b = r->b;
    const int64_t *restrict row = r->row;
    const int32_t *restrict n0 = r->n0;
    const int64_t d0 = r->d0, b0 = r->b0, more = *r->add;
    EACH_PLAIN(GAINS)
}

/* out[k] += of each block of a row, less zero[k], which is that without `add`, one cell for all. Of many parts most
   have nothing to add: those alone that have, with it less without it. */
static void add_gains(const form_t *f, const row_t *r, const int64_t *restrict zero, const double *logs, ptrdiff_t cap,
                      int64_t *restrict out)
{
    const int V = f->V;
    if (f->plain) {
        add_plain(f, r, zero, out);
        return;
    }
    if (f->n < MANY_PARTS) {
        add_row(f, r, logs, cap, out);
        for (ptrdiff_t k = 0; k < r->K; k++)
            out[k] -= k != r->a && k != r->b ? zero[k] : 0;
        return;
    }
    for (int p = 0, width; p < f->n; p += width) {
        const part_t *part = f->part + p;
        width = 1 + is_pair(part);
        const int first = part->slot, end = p + width < f->n ? part[width].slot : V;
        int v = first;
        while (v < end && !r->add[v]) v++;
        if (v == end) continue;
        for (ptrdiff_t k = 0; k < r->K; k++) {
            if (k == r->a || k == r->b) continue;
            const int64_t m = pairs_of(f, r, k);
            int64_t cell[MOST_SLOTS];
            for (v = first; v < end; v++)
                cell[v] = r->row[k * V + v] + r->add[v];
            out[k] += parts_lik(part, width, cell, m) - parts_lik(part, width, r->row + k * V, m);
        }
    }
}

/* Where a cell is a number: score[k] += what an item of block `a` adds to each other block against the rest of its own,
   of m nodes, which it has c edges to, less what now[k] and zero[k] count of that. row[k]: edges of its block,
   with_item[k]: of the item. Returns the sum over these k of what the item adds to the rest of its own block. */
#define OWN(near) \
    const int64_t pairs = n0[k] * m, rest = row[k] - with_item[k]; \
    const int64_t without = exact_lik(edges, rest, pairs, near); \
    score[k] += exact_lik(edges, rest + c, pairs + m, near) - without + now[k] - zero[k]; \
    stay += now[k] - without;
SCALAR static int64_t add_own(const form_t *f, const int64_t *restrict row, const int64_t *restrict with_item,
                              const int32_t *restrict n0, ptrdiff_t K, ptrdiff_t a, int64_t m, int64_t c,
                              const int64_t *restrict now, const int64_t *restrict zero, int64_t *restrict score)
{
    const beta_t *edges = &f->part->between;
    const ptrdiff_t b = a;
    int64_t stay = 0;
    EACH_PLAIN(OWN)
    return stay;
}

/* Count the items neighbour[:n] by their columns z, those with z < 0 left out; returns how many columns were touched,
   which are listed. The columns' counts are 0 before. */
static ptrdiff_t count_neighbours(const int32_t *restrict neighbour, ptrdiff_t n, const int32_t *restrict z,
                                  int64_t *restrict count, int32_t *restrict touched)
{
    ptrdiff_t found = 0;
    for (ptrdiff_t t = 0; t < n; t++) {
        const int32_t k = z[neighbour[t]];
        if (k < 0) continue;
        /* no branch on whether k is new, which is often mistaken */
        touched[found] = k;
        found += count[k] == 0;
        count[k]++;
    }
    return found;
}

/* score[k] += row[k] for k < K */
static inline void add_numbers(const int64_t *restrict row, ptrdiff_t K, int64_t *restrict score)
{
    for (ptrdiff_t k = 0; k < K; k++)
        score[k] += row[k];
}
