"""Weights of a scan from log predictives of an item in eight clusters at a time."""
from libc.math cimport INFINITY

from splitmerge_cli.core.model cimport Model

cdef extern from "simd_math.h":
    pass

cdef extern from *:
    """
    static inline void weigh_block(const double *W, const double *power, double top, double *w)
    {
        EACH_LANE(h)
            LANES_TO(w + h) = LANES_AT(W + h) * lanes_exp(LANES_AT(power + h) - top);
    }
    """
    void weigh_block(const double *W, const double *power, double top, double *w) noexcept nogil


cdef void weigh_powers(Model model, double *power, Py_ssize_t own) noexcept nogil:
    """The weights of a scan, ``w`` of the model, from log predictives of an item in all clusters and in a new one;
    `own`: its cluster, whose log predictive is that given the others there, or -1. `power` is written over."""
    cdef Py_ssize_t k, m = model.K + 1, rest = model.size[own] - 1 if own >= 0 else -1
    cdef double top = -INFINITY, w_own = 0.0
    if own >= 0:
        if rest == 0:
            # alone, its own cluster stands for the new one
            power[own] = power[model.K]
        w_own = model.W[own]
        model.W[own] = model.scan_weight(rest)
    # not of a new cluster that the prior rules out: it may outweigh all others
    for k in range(m if model.new_cluster_weight > 0.0 else model.K):
        if power[k] > top:
            top = power[k]
    if not power[model.K] <= top:
        power[model.K] = top
    # what columns past the options hold may be beyond what an exponential takes
    for k in range(m, (m + 7) & ~7):
        power[k] = top
    for k in range(0, m, 8):
        weigh_block(model.W + k, power + k, top, model.w + k)
    if own >= 0:
        model.W[own] = w_own
        if rest == 0:
            model.w[m - 1] = 0.0
