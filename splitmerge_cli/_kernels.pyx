"""The allocation and likelihood loops that samplers share, over any model: full Gibbs scans, allocation by coins,
sequential allocation, restricted Gibbs scans.

Items that are allocated are counted in scratch columns of the model; labels and lists stay. A probability is
accumulated as a product, taken to its logarithm before it leaves the range of a double. A side whose own probability
leaves that range is scored on the log scale (``log_odds``).

``begin_items``, ``end_items`` and the names of options say which draws two coupled chains share
(``core/recording.pyx``); for a single chain they do nothing.
"""
from libc.math cimport fabs, log

from splitmerge_cli.core.log_scale cimport log_sum_exp
from splitmerge_cli.core.recording cimport OF_ITEM

cdef enum:
    SIDES = 3                           # most columns that items are allocated among


# below this a probability is scored on the log scale; below the next a product is taken to its logarithm
cdef double TINY = 1e-280
cdef double SMALL = 1e-20


cdef Py_ssize_t full_scan(Model model, Rng rng, Py_ssize_t first, Py_ssize_t n) except -1 nogil:
    """Gibbs updates of items first, ..., first + n - 1 in turn; returns how many changed their cluster."""
    cdef Py_ssize_t i, k, changed = 0
    if model.scans_itself:
        return model.own_scan(rng, first, n)
    model.begin_scan()
    for i in range(first, first + n):
        if rng.is_halted:
            break
        model.scan(i)
        k = draw_label(model, rng, i)
        if k != model.z[i]:
            model.move(i, k)
            changed += 1
    return changed


cdef void draw_sides(Rng rng, const int32_t *items, Py_ssize_t n, int8_t *in_a) noexcept nogil:
    """in_a: sides of items[:n] by fair coins; no item is put into a column."""
    cdef Py_ssize_t t
    rng.begin_items(LAUNCH, items, n, -1)
    for t in range(n):
        in_a[t] = rng.draw_coin_of(items[t], 0.5)
    rng.end_items()


cdef void coin_allocation(Model model, Rng rng, const int32_t *items, Py_ssize_t n, Py_ssize_t a, Py_ssize_t b,
                          int8_t *in_a) noexcept nogil:
    """Put items[:n], in order, into columns a and b by fair coins; in_a becomes the sides."""
    cdef Py_ssize_t t
    rng.begin_items(COINS, items, n, -1)
    for t in range(n):
        in_a[t] = rng.draw_coin_of(items[t], 0.5)
        model.join(items[t], a if in_a[t] else b)
    rng.end_items()


cdef double sequential_allocation(Model model, Rng rng, const int32_t *items, Py_ssize_t n, Py_ssize_t a, Py_ssize_t b,
                                  int8_t *in_a, bint forced, bint sized) noexcept nogil:
    """Put items[:n], in order, into columns a and b by their predictive given those already there, with `sized` times
    the prior's weights; returns the log probability of the sides taken. in_a: whether items[t] goes to column a,
    followed where `forced` (nothing is drawn), else drawn."""
    cdef Py_ssize_t t, i
    cdef double o, p, product = 1.0, total = 0.0
    cdef double side[2]
    if not forced:
        rng.begin_items(SEQUENTIAL, items, n, -1)
    for t in range(n):
        i = items[t]
        o = model.odds(i, a, b, -1, sized)
        side[1] = 1.0 / (1.0 + o)
        side[0] = o * side[1] if o < 1e300 else 1.0
        if not forced:
            in_a[t] = rng.draw_coin_of(i, side[1])
        p = side[in_a[t]]
        if p < TINY:
            # p is the odds themselves
            total -= fabs(model.log_odds(i, a, b, -1, sized))
        else:
            product *= p
            if product < SMALL:
                total += log(product)
                product = 1.0
        model.join(i, a if in_a[t] else b)
    if not forced:
        rng.end_items()
    return total + log(product)


cdef double sequential_allocation_among(Model model, Rng rng, const int32_t *items, Py_ssize_t n, Py_ssize_t first,
                                        Py_ssize_t m, int8_t *side, Py_ssize_t anchor, bint forced) noexcept nogil:
    """Put items[:n], in order, into the m columns from `first` on, at most 3, by predictive times the prior's weight;
    returns the log probability of the sides taken. side[:n]: the column of each, less `first`, followed where `forced`,
    else drawn. `anchor`: an item among these that stands in the last column already."""
    cdef Py_ssize_t t, s, i
    cdef double[SIDES] w
    cdef double p, of_all, product = 1.0, total = 0.0
    if not forced:
        rng.begin_items(SEQUENTIAL + m, items, n, anchor)
    for t in range(n):
        i = items[t]
        if i == anchor:
            side[t] = <int8_t> (m - 1)
            continue
        model.weigh(i, first, m, w)
        s = side[t] if forced else rng.draw_option(OF_ITEM, i, w, m, NULL)
        side[t] = <int8_t> s
        of_all = w[0]
        for s in range(1, m):
            of_all += w[s]
        p = w[side[t]] / of_all
        if p < TINY:
            for s in range(m):
                w[s] = model.log_pred(i, first + s) + model.log_weight(i, first + s)
            total += w[side[t]] - log_sum_exp(w, m)
        else:
            product *= p
            if product < SMALL:
                total += log(product)
                product = 1.0
        model.join(i, first + side[t])
    if not forced:
        rng.end_items()
    return total + log(product)


cdef double restricted_scan(Model model, Rng rng, const int32_t *items, Py_ssize_t n, Py_ssize_t a, Py_ssize_t b,
                            int8_t *in_a, const int8_t *target, bint scored) noexcept nogil:
    """One restricted Gibbs scan of items[:n] over columns a and b, which hold them already; returns the log probability
    of the sides taken where it is `scored`, else 0. in_a: whether items[t] is in column a. `target`: NULL, or sides to
    force, whereupon nothing is drawn."""
    cdef Py_ssize_t t, i, own
    cdef bint to_a
    cdef double o, p, product = 1.0, total = 0.0
    cdef double side[2]
    if target == NULL:
        rng.begin_items(RESTRICTED, items, n, -1)
    for t in range(n):
        if rng.is_halted:
            break
        i = items[t]
        own = a if in_a[t] else b
        o = model.odds(i, a, b, own, True)
        side[1] = 1.0 / (1.0 + o)
        to_a = rng.draw_coin_of(i, side[1]) if target == NULL else target[t]
        if scored:
            side[0] = o * side[1] if o < 1e300 else 1.0
            p = side[to_a]
            if p < TINY:
                total -= fabs(model.log_odds(i, a, b, own, True))
            else:
                product *= p
                if product < SMALL:
                    total += log(product)
                    product = 1.0
        if to_a != in_a[t]:
            model.leave(i, own)
            model.join(i, a if to_a else b)
            in_a[t] = to_a
    if target == NULL:
        rng.end_items()
    return total + log(product)
