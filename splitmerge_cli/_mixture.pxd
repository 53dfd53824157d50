# The prior that mixtures without empty clusters share. See docs/design.md.
from splitmerge_cli._kernels cimport Model, Rng


cdef class Mixture(Model):
    cdef readonly str prior             # 'crp' or 'uniform'
    cdef bint is_uniform
    cdef double *log_gamma              # [N + 2] log Gamma(n), n >= 1
    cdef double log_normaliser          # log of concentration (concentration + 1) ...: the prior's normaliser
    cdef double unit                    # scan_table[0] at concentration 1
    cdef double shape, rate             # of the concentration's gamma prior

    cdef int _prior(self, concentration, prior) except -1
    cdef void _price(self, double concentration) noexcept nogil
