# Parameters of independent normal columns that are drawn, and what scores points by them. See gaussian_independent.pyx.
from splitmerge_cli.core.capabilities cimport DrawnParameters
from splitmerge_cli.kinds.tables.models.dense_gaussian cimport DenseGaussian


cdef extern from "diagonal_lanes.h":
    void score_diag(const double *block, const double *x, Py_ssize_t D, Py_ssize_t piece, const double *turn,
                    double *log_q, double *left) noexcept nogil
    void score_points(const double *block, const double *x, Py_ssize_t D, Py_ssize_t piece, const double *turn,
                      const double *level, const double *degree, double *log_q, double *left,
                      double *power) noexcept nogil
    void settle_column(double *mean, double *scatter, double m0, double b0, double grains, double weight,
                       double kappa, double pull) noexcept nogil


cdef class DenseParameters(DrawnParameters):
    cdef DenseGaussian model

    cdef void fetch(self, Py_ssize_t i) noexcept nogil
