/* Sums of sparse items, column by column, of the columns that they have: open addressing with linear probing. A column
   whose sums are back at 0 is as good as absent, and goes when the table is rebuilt. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fixed_point.h"

typedef struct {
    int32_t *key;       /* [room] the column, -1: free */
    int64_t *sum;       /* [room] of x, in units */
    whole *square;      /* [room] of x^2; NULL where nobody asks by column */
    int64_t room;       /* a power of two, or 0 */
    int64_t used;       /* keys, those with sums 0 among them */
    int squared;
} columns;

static inline int64_t columns_place(const columns *c, int32_t d)
{
    int64_t at = (int64_t)(((uint32_t)d * UINT32_C(2654435769)) ^ ((uint32_t)d >> 7)) & (c->room - 1);
    while (c->key[at] != d && c->key[at] >= 0)
        at = (at + 1) & (c->room - 1);
    return at;
}

/* Where column d is; -1 if it is not there. */
static inline int64_t columns_find(const columns *c, int32_t d)
{
    int64_t at;
    if (!c->used)
        return -1;
    at = columns_place(c, d);
    return c->key[at] >= 0 ? at : -1;
}

static inline int64_t columns_sum(const columns *c, int32_t d)
{
    const int64_t at = columns_find(c, d);
    return at < 0 ? 0 : c->sum[at];
}

static inline void *columns_memory(size_t n, size_t size)
{
    void *p = malloc(n * size);
    if (!p) {
        /* in the midst of a move there is nobody to tell */
        fputs("smcmc: out of memory\n", stderr);
        abort();
    }
    return p;
}

static inline void columns_free(columns *c)
{
    free(c->key);
    free(c->sum);
    free(c->square);
    memset(c, 0, offsetof(columns, squared));
}

static void columns_make(columns *c, int64_t room)
{
    c->key = columns_memory(room, sizeof *c->key);
    c->sum = columns_memory(room, sizeof *c->sum);
    c->square = c->squared ? columns_memory(room, sizeof *c->square) : NULL;
    c->room = room;
    c->used = 0;
    memset(c->key, 255, room * sizeof *c->key);
}

static inline int columns_empty(const columns *c, int64_t at)
{
    return c->sum[at] == 0 && (!c->squared || c->square[at] == 0);
}

/* Make room for `more` further columns: at most half of it is in use; when it is rebuilt, at most three eighths, so
   that this happens seldom. */
static void columns_reserve(columns *c, int64_t more)
{
    columns old = *c;
    int64_t live = 0, room = 16;
    if (2 * (c->used + more) <= c->room)
        return;
    for (int64_t s = 0; s < old.room; s++)
        live += old.key[s] >= 0 && !columns_empty(&old, s);
    while (3 * room < 8 * (live + more))
        room *= 2;
    columns_make(c, room);
    for (int64_t s = 0; s < old.room; s++)
        if (old.key[s] >= 0 && !columns_empty(&old, s)) {
            const int64_t at = columns_place(c, old.key[s]);
            c->key[at] = old.key[s];
            c->sum[at] = old.sum[s];
            if (c->squared)
                c->square[at] = old.square[s];
            c->used++;
        }
    columns_free(&old);
}

static inline int64_t columns_enter(columns *c, int32_t d)
{
    const int64_t at = columns_place(c, d);
    if (c->key[at] < 0) {
        c->key[at] = d;
        c->sum[at] = 0;
        if (c->squared)
            c->square[at] = 0;
        c->used++;
    }
    return at;
}

/* Count an item of n entries, or take it out (sign -1). Returns the inner product of the item with the sums before. */
static inline whole columns_count(columns *c, const int32_t *index, const int64_t *value, int64_t n, int sign)
{
    whole inner = 0;
    columns_reserve(c, n);
    for (int64_t s = 0; s < n; s++) {
        const int64_t at = columns_enter(c, index[s]), v = value[s];
        inner += (whole)v * c->sum[at];
        c->sum[at] += sign * v;
        if (c->squared)
            c->square[at] += (whole)(sign * v) * v;
    }
    return inner;
}

/* Inner product of an item with the sums. */
static inline whole columns_inner(const columns *c, const int32_t *index, const int64_t *value, int64_t n)
{
    whole inner = 0;
    if (c->used)
        for (int64_t s = 0; s < n; s++) {
            const int64_t at = columns_place(c, index[s]);
            if (c->key[at] >= 0)
                inner += (whole)value[s] * c->sum[at];
        }
    return inner;
}

/* Inner product of the sums of two. */
static inline whole columns_both(const columns *a, const columns *b)
{
    const columns *few = a->used < b->used ? a : b, *many = few == a ? b : a;
    whole inner = 0;
    for (int64_t s = 0; s < few->room; s++)
        if (few->key[s] >= 0)
            inner += (whole)few->sum[s] * columns_sum(many, few->key[s]);
    return inner;
}

static inline void columns_clear(columns *c)
{
    /* a table that held many columns is rebuilt, so that clearing is cheap for users of few */
    if (c->room > 1024)
        columns_free(c);
    else if (c->used)
        memset(c->key, 255, c->room * sizeof *c->key);
    c->used = 0;
}

static inline void columns_copy(const columns *from, columns *to)
{
    if (to->room != from->room) {
        columns_free(to);
        if (from->room)
            columns_make(to, from->room);
    }
    if (from->room) {
        memcpy(to->key, from->key, from->room * sizeof *to->key);
        memcpy(to->sum, from->sum, from->room * sizeof *to->sum);
        if (to->squared)
            memcpy(to->square, from->square, from->room * sizeof *to->square);
    }
    to->used = from->used;
}

static inline void columns_absorb(columns *to, const columns *from)
{
    columns_reserve(to, from->used);
    for (int64_t s = 0; s < from->room; s++)
        if (from->key[s] >= 0) {
            const int64_t at = columns_enter(to, from->key[s]);
            to->sum[at] += from->sum[s];
            if (to->squared)
                to->square[at] += from->square[s];
        }
}
