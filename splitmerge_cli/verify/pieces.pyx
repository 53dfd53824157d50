"""Pieces of models that a reader of a sampler wants to see, one call each."""
from libc.stdint cimport int32_t

import numpy as np

from splitmerge_cli.core.model cimport Model


def scan(Model model not None, Py_ssize_t i):
    """Weights of item i in each cluster and a new one: ndarray of float64."""
    model.begin_scan()
    model.scan(i)
    return np.array([model.w[k] for k in range(model.options())])


def allocation_steps(Model model not None, items, sides):
    """Probability of each step, given those before, when items are allocated one by one to sides 0 and 1, which begin
    empty: list of float. Source: Wang & Russell 2015, equation 5 and Table 1."""
    cdef int32_t[::1] order = np.asarray(items, dtype=np.int32)
    cdef Py_ssize_t t, a = model.K, b = model.K + 1
    cdef double o
    cdef int32_t c = model.z[order[0]]
    model.reserve(model.K)
    model.stage(&c, 1, a, 2)
    out = []
    for t in range(order.shape[0]):
        o = model.odds(order[t], a, b, -1, False)
        out.append(1.0 / (1.0 + o) if sides[t] == 0 else 1.0 / (1.0 + 1.0 / o))
        model.join(order[t], a if sides[t] == 0 else b)
    return out
