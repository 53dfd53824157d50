"""Sums of numbers that are held as logarithms."""
from libc.math cimport INFINITY, exp, log


cdef double log_rising(double a, Py_ssize_t n, double *out) noexcept nogil:
    """log of the rising factorial a (a + 1) ... (a + n - 1); out[0..n], unless NULL, receives the logs of its
    beginnings.

    A running sum, which unlike a difference of two log gammas keeps its digits for a large a.
    """
    cdef Py_ssize_t i
    cdef long double total = 0.0
    for i in range(n + 1):
        if out != NULL:
            out[i] = <double> total
        if i < n:
            total += log(a + i)
    return <double> total

cdef double log_sum_exp(const double *lw, Py_ssize_t m) noexcept nogil:
    """log sum_k exp(lw[k]); -inf for no terms."""
    cdef Py_ssize_t k
    cdef double top = -INFINITY, total = 0.0
    for k in range(m):
        if lw[k] > top:
            top = lw[k]
    if top == -INFINITY:
        return top
    for k in range(m):
        total += exp(lw[k] - top)
    return top + log(total)


cdef double exp_weights(const double *lw, Py_ssize_t m, double *w) noexcept nogil:
    """w[k] = exp(lw[k] - max(lw)), linear weights with no overflow; returns log sum_k exp(lw[k])."""
    cdef Py_ssize_t k
    cdef double top = -INFINITY, total = 0.0
    for k in range(m):
        if lw[k] > top:
            top = lw[k]
    for k in range(m):
        w[k] = exp(lw[k] - top)
        total += w[k]
    return top + log(total)
