/* Philox4x64-10, the counter-based generator of Salmon, Moraes, Dror and Shaw (2011): four 64-bit words from a counter
   and a key, so that every item has a stream of its own, whoever asks for it and when. */
#pragma once
#include <stdint.h>

static inline void philox(const uint64_t key[2], const uint64_t counter[4], uint64_t out[4])
{
    uint64_t a = counter[0], b = counter[1], c = counter[2], d = counter[3], k = key[0], l = key[1];
    for (int round = 0; round < 10; round++) {
        const unsigned __int128 p = (unsigned __int128)0xD2E7470EE14C6C93ULL * a;
        const unsigned __int128 q = (unsigned __int128)0xCA5A826395121157ULL * c;
        a = (uint64_t)(q >> 64) ^ b ^ k;
        b = (uint64_t)q;
        c = (uint64_t)(p >> 64) ^ d ^ l;
        d = (uint64_t)p;
        k += 0x9E3779B97F4A7C15ULL;
        l += 0xBB67AE8584CAA73BULL;
    }
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}

/* in (0, 1), never at an end */
static inline double philox_double(uint64_t word)
{
    return ((double)(word >> 12) + 0.5) * (1.0 / 4503599627370496.0);
}

/* A stream of words: what a bitgen_t reads. */
typedef struct {
    uint64_t key[2], counter[4], words[4];
    int left;
} philox_t;

static inline uint64_t philox_next(void *state)
{
    philox_t *s = (philox_t *)state;
    if (!s->left) {
        philox(s->key, s->counter, s->words);
        s->counter[0]++;
        s->left = 4;
    }
    return s->words[4 - s->left--];
}

static inline uint32_t philox_next32(void *state)
{
    return (uint32_t)(philox_next(state) >> 32);
}

static inline double philox_next_double(void *state)
{
    return (double)(philox_next(state) >> 11) * (1.0 / 9007199254740992.0);
}
