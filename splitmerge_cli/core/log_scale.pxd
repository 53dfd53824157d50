# Sums of numbers that are held as logarithms.
from libc.math cimport INFINITY, exp, log1p


cdef inline double log_add(double a, double b) noexcept nogil:
    """log(exp(a) + exp(b))."""
    cdef double top = a if a > b else b
    if top == -INFINITY:
        return top
    return top + log1p(exp((b if a > b else a) - top))


cdef double log_rising(double a, Py_ssize_t n, double *out) noexcept nogil
cdef double log_sum_exp(const double *lw, Py_ssize_t m) noexcept nogil
cdef double exp_weights(const double *lw, Py_ssize_t m, double *w) noexcept nogil
