"""Tables of logarithms of a mixed table: of factorials, of numbers of cells, of rising factorials."""
from libc.math cimport lgamma, log
from libc.stdint cimport int64_t

import numpy as np

from splitmerge_cli.core.log_scale cimport log_rising

cdef extern from "log_rise.h":
    double log_rise_far(double a, double x) noexcept nogil
    void log_rising_by(double a, double zeta, Py_ssize_t n, double *out) noexcept nogil


def log_factorials(const int64_t[::1] counts):
    """log x! of counts, ndarray of float of the same shape."""
    cdef Py_ssize_t i
    cdef double[::1] out = np.empty(counts.shape[0])
    for i in range(counts.shape[0]):
        out[i] = lgamma(counts[i] + 1.0)
    return np.asarray(out)


def tables_of(Py_ssize_t N, double beta0, double beta1, double alpha, totals, double zeta):
    """Logarithms that depend on a number of cells, 0 to N + 1: of it plus each pseudo-count and plus each sum of them,
    and of their rising factorials."""
    cdef Py_ssize_t n, t
    cdef double b
    pseudo = [beta0, beta1, alpha]
    sums = [beta0 + beta1, *(alpha * levels for levels in totals)]
    cdef double[:, ::1] log_of = np.empty((len(pseudo) + len(sums), N + 2)), rise = np.empty_like(log_of)
    for t in range(log_of.shape[0]):
        b = (pseudo + sums)[t]
        for n in range(N + 2):
            log_of[t, n] = log(n + b) if zeta == 1.0 else log_rise_far(b + zeta * n, zeta)
        if zeta == 1.0:
            log_rising(b, N + 1, &rise[t, 0])
        else:
            log_rising_by(b, zeta, N + 1, &rise[t, 0])
    return {"log_of": np.asarray(log_of), "rise": np.asarray(rise)}
