/* Gibbs sweeps of a mixture with state S, whose file defines `weights_of`, `tell` and `copy` before it includes this. */
void gibbs(S *s, I scans)
{
    for (I t = 0; t < scans * s->N; t++) {
        const I i = t % s->N, own = s->z[i], k = categorical(&s->stream, s->w, weights_of(s, i));
        if (k == own) continue;
        if (k == s->K) {
            if (++s->K >= s->cap) abort();
            copy(s, -1, s->K);
        }
        tell(s, own, i, -1);
        tell(s, k, i, 1);
        s->z[i] = (int32_t)k;
        if (s->size[own] > 0) continue;
        const I last = --s->K;
        if (own != last) {
            copy(s, last, own);
            for (I j = 0; j < s->N; j++) s->z[j] = s->z[j] == last ? (int32_t)own : s->z[j];
        }
        copy(s, -1, last);
    }
}

I state_bytes(void) { return sizeof(S); }

I weights(S *s, I i, double *w)
{
    const I m = weights_of(s, i);
    memcpy(w, s->w, m * sizeof(double));
    return m;
}
