# Cholesky factors, their rows one after another, reciprocals on the diagonal. See packed_factor.pyx.
from splitmerge_cli.core.rng cimport Rng

cdef double factorise(double *a, Py_ssize_t D) noexcept nogil
cdef void solve_rows(const double *a, Py_ssize_t D, double[:, ::1] rows) noexcept nogil
cdef double draw_factor(Rng rng, Py_ssize_t D, double a, double kappa, double *work) noexcept nogil
