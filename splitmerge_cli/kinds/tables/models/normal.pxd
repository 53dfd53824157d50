# What mixtures of normal distributions share, dense or sparse. See docs/design.md.
cimport cython

from splitmerge_cli.kinds.tables.models.scale_prior cimport Scaled


cdef enum:
    DIAG, ISO, FULL                     # COVARIANCES


cdef class Normal(Scaled):
    cdef readonly Py_ssize_t D
    cdef readonly str covariance
    cdef int shape_of                   # DIAG, ISO, FULL
    cdef Py_ssize_t per                 # dimensions that share a variance: iso D, else 1
    cdef double freedom                 # full: (D - 1) / 2, else 0
    cdef double log_twos                # full: log of det(Psi0) over det of b0, else 0
    cdef readonly double zeta           # power of the likelihood; kappa0, a_n and b_n are then those over zeta
    cdef double log_units              # sum of the logs of the columns' units
    cdef double log_b0                  # sum over dimensions of log b0, in units^2
    cdef const double *inverse          # [N + 2] 1 / n, 0 at 0
    cdef const double *log_c            # [N + 2] the part of a predictive that depends on n alone
    cdef const double *log_n            # [N + 2] the part of a likelihood that depends on n alone

    cdef int _options(self, Py_ssize_t N, Py_ssize_t D, covariance, kappa0, a0, double zeta=*) except -1
    cdef int _constants(self) except -1
    cdef double predictive_constant(self, Py_ssize_t n, double step)
    cdef double likelihood_constant(self, Py_ssize_t n)

    @cython.final
    cdef inline double a_n(self, Py_ssize_t n) noexcept nogil:
        """Half the degrees of freedom over zeta; full: of Psi_n, nu_n / 2."""
        return self.a0 + 0.5 * n * self.per + self.freedom
